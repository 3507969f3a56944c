//! Who plays in a story: our processes, a proxy between each of them and ZooKeeper, and a hand that
//! writes. Not here: what they are told (`teller`).
//! *Invariant: a proxy passes on what it gets, in order, and changes nothing; what it has heard is
//! what the recordings' proxies would have heard.*

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use zootrope::kafka::broker::Broker;
use zootrope::kafka::consumer::Consumer;
use zootrope::kafka::old_consumer::OldConsumer;
use zootrope::kafka::producer::Producer;
use zootrope::kafka::tools::Tool;
use zootrope::kafka::words::{Message, Request, Timer, Words, Write};
use zootrope::sim::{Event, Outbox, Process, ProcessId, SimTime, Span};
use zootrope::zk;
use zootrope::zk::client::{Client, Config, Notice};
use zootrope::zk::ensemble::{Address, ServerId};
use zootrope::zk::reply::Error;
use zootrope::zk::request::Op;
use zootrope::zk::server::Server;

/// One process of a story.
#[derive(Clone, Debug, Hash)]
pub enum Actor {
    ZooKeeper(Box<Server>),
    Proxy(Proxy),
    Broker(Box<Broker>),
    Tool(Box<Tool>),
    Consumer(Box<Consumer>),
    OldConsumer(Box<OldConsumer>),
    Producer(Box<Producer>),
    Hand(Box<Hand>),
}

impl Process for Actor {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match self {
            Actor::ZooKeeper(server) => {
                if let Some(event) = for_zookeeper(event) {
                    out.embed(|out| server.handle(event, out));
                }
            }
            Actor::Proxy(proxy) => proxy.handle(event, out),
            Actor::Broker(broker) => broker.handle(event, out),
            Actor::Tool(tool) => tool.handle(event, out),
            Actor::Consumer(consumer) => consumer.handle(event, out),
            Actor::OldConsumer(consumer) => consumer.handle(event, out),
            Actor::Producer(producer) => producer.handle(event, out),
            Actor::Hand(hand) => hand.handle(event, out),
        }
    }

    fn crash(&mut self) {
        match self {
            Actor::ZooKeeper(server) => server.crash(),
            Actor::Proxy(_) | Actor::Hand(_) => {}
            Actor::Broker(broker) => broker.crash(),
            Actor::Tool(tool) => tool.crash(),
            Actor::Consumer(consumer) => consumer.crash(),
            Actor::OldConsumer(consumer) => consumer.crash(),
            Actor::Producer(producer) => producer.crash(),
        }
    }
}

/// An event in the words of the `zk` floor, if it is one of its own.
fn for_zookeeper(event: Event<Words>) -> Option<Event<zk::words::Words>> {
    Some(match event {
        Event::Boot => Event::Boot,
        Event::Message { from, message: Message::Zk(message) } => Event::Message { from, message },
        Event::Hangup { peer } => Event::Hangup { peer },
        Event::Timer(Timer::Zk(timer)) => Event::Timer(timer),
        Event::Written(Write::Zk(write)) => Event::Written(write),
        Event::Request(Request::Zk(request)) => Event::Request(request),
        _ => return None,
    })
}

/// A proxy between one process and ZooKeeper. Killed, it cuts that process off; its links are TCP,
/// so connections break and new ones are refused.
#[derive(Clone, Debug)]
pub struct Proxy {
    server: ProcessId,
    client: ProcessId,
    /// What has passed, in order.
    heard: Vec<(SimTime, Heard)>,
}

/// One message that has passed.
#[derive(Clone, Debug)]
pub enum Heard {
    Asked(zk::words::Message),
    Answered(zk::words::Message),
}

impl Proxy {
    /// A proxy of `client`.
    pub fn new(server: ProcessId, client: ProcessId) -> Proxy {
        Proxy { server, client, heard: Vec::new() }
    }

    /// Who is behind it.
    pub fn client(&self) -> ProcessId {
        self.client
    }

    /// What has passed, in order.
    pub fn heard(&self) -> &[(SimTime, Heard)] {
        &self.heard
    }

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Message { from, message: Message::Zk(message) } if from == self.server => {
                self.heard.push((out.now(), Heard::Answered(message.clone())));
                out.send(self.client, message);
            }
            Event::Message { message: Message::Zk(message), .. } => {
                self.heard.push((out.now(), Heard::Asked(message.clone())));
                out.send(self.server, message);
            }
            Event::Hangup { peer } if peer == self.server => out.hangup(self.client),
            Event::Hangup { .. } => out.hangup(self.server),
            _ => {}
        }
    }
}

/// What a proxy has heard is no state of the cluster.
impl Hash for Proxy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.server, self.client).hash(state);
    }
}

/// Somebody who does one write by hand, in a session of its own.
#[derive(Clone, Debug, Hash)]
pub struct Hand {
    client: Client<()>,
    op: Op,
    said: Option<Result<(), Error>>,
}

impl Hand {
    /// Will do `op` through this proxy.
    pub fn new(proxy: ProcessId, timeout: Span, op: Op) -> Hand {
        let servers = Arc::from([Address { id: ServerId(1), process: proxy }]);
        Hand { client: Client::new(Config { servers, timeout }), op, said: None }
    }

    /// What came of it.
    pub fn said(&self) -> Option<Result<(), Error>> {
        self.said
    }

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        let Some(event) = for_zookeeper(event) else { return };
        let is_boot = matches!(event, Event::Boot);
        let mut notices = out.embed(|out| self.client.handle(event, out));
        if is_boot {
            let op = self.op.clone();
            let asked = out.embed(|out| self.client.request(op, (), out));
            asked.expect("the handle is new");
        }
        while let Some(notice) = notices.pop() {
            match notice {
                Notice::Reply { result, .. } => {
                    self.said = Some(result.map(|_| ()));
                    notices.extend(out.embed(|out| self.client.close(out)));
                }
                Notice::Closed => out.exit(0),
                _ => {}
            }
        }
    }
}
