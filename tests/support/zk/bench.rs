//! One simulated standalone server or an ensemble, and clients that speak the raw protocol to it.
//! A client is a process for each connection, as a socket would be; it hears, and answers nothing.
//! *Invariant: a connected client that is not quiet keeps its session alive by pings.*

use zootrope::sim::{Event, Moment, Network, Outbox, Power, Process, ProcessId, Sim, Span, Trace};
use zootrope::zk::client::ClientTimer;
use zootrope::zk::database::{Database, Disk};
use zootrope::zk::ensemble::{Ensemble, ServerId};
use zootrope::zk::request::Op;
use zootrope::zk::server::Server;
use zootrope::zk::settings::Settings;
use zootrope::zk::words::{self, Message, Timer, xid};

use super::words::heard;

/// A client's own timer, as the library has it.
const PING: Timer = Timer::Client(ClientTimer::Ping);

/// How long after each step the simulation runs until all have heard of it.
const SETTLING: Span = Span::ms(5);
const SETTLING_OF_ENSEMBLES: Span = Span::ms(20);

/// What a recorded client is made to do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    Send(Vec<Message>),
    HangUp,
    Quiet,
    /// Of a server: SIGTERM.
    Stop,
}

type Words = super::words::Words<Request>;

/// What a client has heard.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Heard {
    Message(Message),
    Closed,
}

/// One connection of a client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Socket {
    server: ProcessId,
    heard: Vec<Heard>,
    /// Pings go out this often, once the session is known.
    ping: Option<Span>,
    open: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Actor {
    Server(Box<Server>),
    Socket(Socket),
}

impl Process for Actor {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match self {
            Actor::Socket(socket) => socket.handle(event, out),
            Actor::Server(server) => {
                let event = match heard(event) {
                    Ok(event) => event,
                    Err(Request::Stop) => Event::Request(words::Request::Stop),
                    Err(_) => return,
                };
                out.embed(|out| server.handle(event, out));
            }
        }
    }

    fn crash(&mut self) {
        if let Actor::Server(server) = self {
            server.crash();
        }
    }
}

impl Socket {
    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Request(Request::Send(messages)) => {
                for message in messages {
                    out.send(self.server, message);
                }
            }
            Event::Request(Request::HangUp) => {
                self.open = false;
                out.disarm(PING);
                out.hangup(self.server);
            }
            Event::Request(Request::Quiet) => {
                self.ping = None;
                out.disarm(PING);
            }
            Event::Message { message, .. } => self.hear(message, out),
            Event::Hangup { .. } => {
                self.open = false;
                out.disarm(PING);
                self.heard.push(Heard::Closed);
            }
            Event::Timer(PING) => self.ping(out),
            _ => {}
        }
    }

    fn hear(&mut self, message: Message, out: &mut Outbox<'_, Words>) {
        match &message {
            Message::Reply(reply) if reply.xid == xid::PING => return,
            Message::ConnectReply(reply) if reply.timeout.0 > 0 => {
                self.ping = Some(Span::micros(reply.timeout.0.cast_unsigned() * 1000 / 3));
                self.arm(out);
            }
            _ => {}
        }
        self.heard.push(Heard::Message(message));
    }

    fn ping(&mut self, out: &mut Outbox<'_, Words>) {
        out.send(self.server, Message::Request { xid: xid::PING, op: Op::Ping });
        self.arm(out);
    }

    fn arm(&mut self, out: &mut Outbox<'_, Words>) {
        if let Some(ping) = self.ping {
            out.arm(PING, ping);
        }
    }
}

/// A simulation with one server, or several.
pub struct Bench {
    sim: Sim<Actor>,
    trace: Trace<Words>,
    /// The one that is meant.
    server: ProcessId,
    sockets: u32,
    settling: Span,
}

/// What may be done to a server.
pub enum Fate {
    Start,
    Kill,
    Stop,
    Pause,
    Resume,
}

impl Bench {
    /// Starts a server with these settings on this disk.
    pub fn new(settings: Settings, disk: Disk) -> Bench {
        let server = Server::on_disk(settings, disk);
        let mut bench = Bench::of_servers([(ServerId(1), server)], SETTLING);
        bench.start(bench.server);
        bench.settle();
        bench
    }

    /// An ensemble of which nobody runs yet.
    pub fn of_ensemble(ensemble: &Ensemble, settings: Settings) -> Bench {
        let servers = ensemble.addresses();
        let server = |id| Server::of_ensemble(id, ensemble.clone(), settings);
        let servers = servers.iter().map(|address| (address.id, server(address.id)));
        Bench::of_servers(servers, SETTLING_OF_ENSEMBLES)
    }

    fn of_servers(servers: impl IntoIterator<Item = (ServerId, Server)>, settling: Span) -> Bench {
        let us = Span::micros;
        let network = Network { latency: us(100)..us(200), disk: us(100)..us(200) };
        let mut sim = Sim::new(1, network);
        for (id, server) in servers {
            sim.add(&id.to_string(), Actor::Server(Box::new(server)));
        }
        Bench { sim, trace: Trace::default(), server: ProcessId(0), sockets: 0, settling }
    }

    /// From now on this server is meant.
    pub fn turn_to(&mut self, server: ServerId) {
        self.server = ProcessId(u16::from(server.0) - 1);
    }

    /// Does something to the server that is meant.
    pub fn befall(&mut self, fate: Fate) {
        let server = self.server;
        self.sim.intervene(("step", Some(server)), &mut self.trace, |act| match fate {
            Fate::Start => act.start(server),
            Fate::Kill => act.kill(server),
            Fate::Stop => act.request(server, Request::Stop),
            Fate::Pause => act.freeze(server),
            Fate::Resume => act.thaw(server),
        });
        self.settle();
    }

    /// Whether the server that is meant runs.
    pub fn power(&self) -> Power {
        self.sim.power(self.server)
    }

    /// A new connection, on which nothing was sent yet.
    pub fn socket(&mut self) -> ProcessId {
        self.sockets += 1;
        let socket = Socket { server: self.server, heard: Vec::new(), ping: None, open: true };
        let id = self.sim.add(&format!("socket{}", self.sockets), Actor::Socket(socket));
        self.start(id);
        id
    }

    /// Makes a client do something.
    pub fn request(&mut self, socket: ProcessId, request: Request) {
        let about = ("step", Some(socket));
        self.sim.intervene(about, &mut self.trace, |act| act.request(socket, request));
    }

    /// What a client has heard by now, in order.
    pub fn heard(&self, socket: ProcessId) -> &[Heard] {
        match self.sim.process(socket) {
            Actor::Socket(socket) => &socket.heard,
            Actor::Server(_) => panic!("only sockets hear"),
        }
    }

    /// Is the connection open on the client's side?
    pub fn is_open(&self, socket: ProcessId) -> bool {
        matches!(self.sim.process(socket), Actor::Socket(socket) if socket.open)
    }

    /// Stops the server as `kill -9` does, and starts it on its disk.
    pub fn restart(&mut self) {
        let server = self.server;
        self.sim.intervene(("kill", Some(server)), &mut self.trace, |act| act.kill(server));
        self.settle();
        self.start(server);
        self.settle();
    }

    /// Runs until everyone has heard of the last step.
    pub fn settle(&mut self) {
        self.run(self.settling);
    }

    /// Lets time pass.
    pub fn run(&mut self, span: Span) {
        let moment = Moment::after(self.sim.now() + span);
        self.sim.advance_to(moment, &mut self.trace);
    }

    /// Lets time pass until the server is as wanted, or `limit` is over; says which.
    pub fn run_until(&mut self, limit: Span, wanted: impl Fn(&Server) -> bool) -> bool {
        let end = self.sim.now() + limit;
        while !wanted(self.server()) {
            if self.sim.now() >= end || self.sim.step(&mut self.trace).is_none() {
                return false;
            }
        }
        true
    }

    /// The simulated time.
    pub fn now(&self) -> zootrope::sim::SimTime {
        self.sim.now()
    }

    /// The server.
    pub fn server(&self) -> &Server {
        match self.sim.process(self.server) {
            Actor::Server(server) => server,
            Actor::Socket(_) => panic!("the first process is the server"),
        }
    }

    /// What the server has in memory.
    pub fn database(&self) -> &Database {
        self.server().database().expect("the server runs between steps")
    }

    fn start(&mut self, id: ProcessId) {
        assert_eq!(self.sim.power(id), Power::Off, "a process is started once");
        self.sim.intervene(("start", Some(id)), &mut self.trace, |act| act.start(id));
    }
}
