//! Plays what was recorded of the client library: whom it calls, and what it says of itself.
//! *Invariant: events of one client come in the recorded order; clients are not compared with each
//! other.*

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zootrope::sim::{Event, Moment, Network, Outbox, Process, ProcessId, Sim, Span, Trace};
use zootrope::zk::client::{Client, Config, Notice, State};
use zootrope::zk::client_watches::Watcher;
use zootrope::zk::ensemble::{Address, ServerId};
use zootrope::zk::path::Path;
use zootrope::zk::reply::{Answer, Error};
use zootrope::zk::request::{Create, Op, mode, watch_mode, watcher_type};
use zootrope::zk::server::Server;
use zootrope::zk::settings::Settings;
use zootrope::zk::stat::Bytes;

use super::super::{Played, Tally};
use super::words::heard;

/// How long a step takes, and how long a client needs to find a server again.
const SETTLING: Span = Span::ms(100);
const RETURN: Span = Span::secs(5);

/// Plays every case of the file.
pub fn play(recorded: &Value) -> Played {
    let Some(cases) = recorded.get("cases").and_then(Value::as_array) else {
        return Played::Unreadable("no cases".into());
    };
    let mut tally = Tally::default();
    for case in cases {
        let name = case.get("name").and_then(Value::as_str).unwrap_or("?");
        tally.case(play_case(case).map_err(|told| format!("{name}: {told}")));
    }
    Played::Counted(tally)
}

fn play_case(case: &Value) -> Result<(), String> {
    let mut play = Play::new();
    let steps = case.get("steps").and_then(Value::as_array).ok_or("no steps")?;
    for (place, step) in steps.iter().enumerate() {
        play.step(step).map_err(|told| format!("step {place}, {step}: {told}"))?;
    }
    Ok(())
}

/// What a program asks of its library.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Request {
    Call {
        watcher: Watcher,
        op: Op,
    },
    Auth {
        scheme: Path,
        auth: Bytes,
    },
    Close,
    /// To the server: forget everything when you are killed.
    Forget,
}

type Words = super::words::Words<Request>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Actor {
    Server { server: Box<Server>, forgets: bool },
    Program(Box<Program>),
}

/// A program that calls the library and writes down what it is told.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Program {
    client: Client<u32>,
    calls: u32,
    answers: Vec<Result<Answer, Error>>,
    told: Vec<Call>,
}

/// One call of watchers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Call {
    kind: &'static str,
    state: &'static str,
    path: Option<Path>,
    watchers: Vec<Watcher>,
}

impl Process for Actor {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match (self, heard(event)) {
            (Actor::Server { forgets, .. }, Err(_)) => *forgets = true,
            (Actor::Program(program), Err(request)) => program.asked(request, out),
            (Actor::Server { server, .. }, Ok(event)) => {
                out.embed(|out| server.handle(event, out));
            }
            (Actor::Program(program), Ok(event)) => {
                let before = program.everybody();
                let notices = out.embed(|out| program.client.handle(event, out));
                program.take(notices, before);
            }
        }
    }

    fn crash(&mut self) {
        if let Actor::Server { server, forgets } = self {
            server.crash();
            if *forgets {
                **server = Server::standalone(settings());
            }
        }
    }
}

impl Program {
    fn asked(&mut self, request: Request, out: &mut Outbox<'_, Words>) {
        let before = self.everybody();
        let notices = match request {
            Request::Call { watcher, op } => {
                let (call, client) = (self.calls, &mut self.client);
                self.calls += 1;
                let asked = out.embed(|out| client.request_for(watcher, op, call, out));
                if let Err(error) = asked {
                    self.answers.push(Err(error));
                }
                Vec::new()
            }
            Request::Auth { scheme, auth } => {
                out.embed(|out| self.client.authenticate(scheme, auth, out));
                Vec::new()
            }
            Request::Close => out.embed(|out| self.client.close(out)),
            Request::Forget => Vec::new(),
        };
        self.take(notices, before);
    }

    /// Whom a word about the connection goes to.
    fn everybody(&self) -> Vec<Watcher> {
        let mut all = self.client.watches().watchers();
        all.insert(Watcher::DEFAULT);
        all.into_iter().collect()
    }

    fn take(&mut self, notices: Vec<Notice<u32>>, everybody: Vec<Watcher>) {
        for notice in notices {
            let session = |state| (("None", state), None, everybody.clone());
            let ((kind, state), path, watchers) = match notice {
                Notice::Reply { result, .. } => {
                    self.answers.push(result);
                    continue;
                }
                Notice::Connected { .. } => session("SyncConnected"),
                Notice::ConnectedReadOnly { .. } => session("ConnectedReadOnly"),
                Notice::Disconnected => session("Disconnected"),
                Notice::Expired => session("Expired"),
                Notice::Closed if self.client.state() == State::AuthFailed => session("AuthFailed"),
                Notice::Closed => session("Closed"),
                Notice::Watch { event, watchers } => {
                    ((event.kind.name(), "SyncConnected"), Some(event.path), watchers)
                }
                Notice::WatchRemoved { kind, path, watchers } => {
                    ((kind.name(), "SyncConnected"), Some(path), watchers)
                }
            };
            self.told.push(Call { kind, state, path, watchers });
        }
    }
}

fn settings() -> Settings {
    Settings { tick_time: Span::ms(200), ..Settings::default() }
}

const SERVER: ProcessId = ProcessId(0);

struct Play {
    sim: Sim<Actor>,
    trace: Trace<Words>,
    programs: BTreeMap<String, ProcessId>,
    /// How much of what each client was told has been compared.
    compared: BTreeMap<String, usize>,
    /// The names of watchers; a watcher's number is its place.
    watchers: Vec<String>,
}

impl Play {
    fn new() -> Play {
        let mut sim = Sim::new(1, Network::default());
        let server = Box::new(Server::standalone(settings()));
        sim.add("zk1", Actor::Server { server, forgets: false });
        let (trace, programs, compared) = Default::default();
        let watchers = vec!["default".to_owned()];
        let mut play = Play { sim, trace, programs, compared, watchers };
        play.sim.intervene(("start", None), &mut play.trace, |act| act.start(SERVER));
        play
    }

    fn run(&mut self, span: Span) {
        let moment = Moment::after(self.sim.now() + span);
        self.sim.advance_to(moment, &mut self.trace);
    }

    fn step(&mut self, step: &Value) -> Result<(), String> {
        let op = step.get("op").and_then(Value::as_str).ok_or("no op")?;
        let args: Vec<&str> = step["args"]
            .as_array()
            .map(|args| args.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        match step.get("client").and_then(Value::as_str) {
            Some(client) => {
                let result = self.call(client, op, &args)?;
                if step["result"] != json!(result) {
                    return Err(format!("came {result}"));
                }
            }
            None => self.mishap(op)?,
        }
        self.compare(step)
    }

    /// What happens to the server, or to a program.
    fn mishap(&mut self, what: &str) -> Result<(), String> {
        if what.starts_with("the client program is suspended") {
            let program = self.programs["a"];
            self.sim.intervene(("step", None), &mut self.trace, |act| act.freeze(program));
            self.run(Span::secs(4));
            self.sim.intervene(("step", None), &mut self.trace, |act| act.thaw(program));
        } else if what.starts_with("server restarts") {
            if what.contains("empty") {
                self.request(SERVER, Request::Forget);
                self.run(SETTLING);
            }
            self.sim.intervene(("step", None), &mut self.trace, |act| act.kill(SERVER));
            self.sim.intervene(("step", None), &mut self.trace, |act| act.start(SERVER));
            if what.contains("somebody") {
                self.meddle();
            }
        } else {
            return Err(format!("no such thing as {what}"));
        }
        self.run(RETURN);
        Ok(())
    }

    /// Somebody changes things before the clients are back.
    fn meddle(&mut self) {
        let somebody = self.program("somebody", Span::secs(4));
        let create = |path: &str| Op::Create(Create::new(path, "", mode::PERSISTENT).into());
        let set = Op::SetData { path: "/x".into(), data: "1".into(), version: -1 };
        let delete = Op::Delete { path: "/gone".into(), version: -1 };
        for op in [set, create("/x/c"), create("/new"), delete] {
            self.request(somebody, Request::Call { watcher: Watcher::DEFAULT, op });
        }
        self.run(SETTLING);
    }

    fn program(&mut self, name: &str, timeout: Span) -> ProcessId {
        let servers = [Address { id: ServerId(1), process: SERVER }].into();
        let client = Client::new(Config { servers, timeout });
        let program = Program { client, calls: 0, answers: Vec::new(), told: Vec::new() };
        let id = self.sim.add(name, Actor::Program(Box::new(program)));
        self.sim.intervene(("start", None), &mut self.trace, |act| act.start(id));
        id
    }

    fn request(&mut self, to: ProcessId, request: Request) {
        self.sim.intervene(("step", None), &mut self.trace, |act| act.request(to, request));
    }

    fn call(&mut self, client: &str, op: &str, args: &[&str]) -> Result<String, String> {
        if op == "connect" {
            let timeout = args.first().and_then(|ms| ms.parse().ok()).ok_or("no timeout")?;
            let id = self.program(client, Span::ms(timeout));
            self.programs.insert(client.to_owned(), id);
            self.run(SETTLING);
            return Ok("ok".into());
        }
        let id = *self.programs.get(client).ok_or("no such client")?;
        if op == "state" {
            return Ok(match self.at(id).client.state() {
                State::Connecting => "CONNECTING",
                State::Connected => "CONNECTED",
                State::ConnectedReadOnly => "CONNECTEDREADONLY",
                State::Closed | State::Expired => "CLOSED",
                State::AuthFailed => "AUTH_FAILED",
            }
            .into());
        }
        let request = match op {
            "close" => Request::Close,
            "auth" => {
                let (scheme, auth) = (args[0].into(), args[1].into());
                Request::Auth { scheme, auth }
            }
            op => match self.op(op, args) {
                Ok(request) => request,
                Err(Refused::ByLibrary(told)) => return Ok(told),
                Err(Refused::Unknown) => return Err(format!("no call {op}")),
            },
        };
        let answers = self.at(id).answers.len();
        let asks = matches!(request, Request::Call { .. });
        self.request(id, request);
        self.run(SETTLING);
        match self.at(id).answers.get(answers) {
            _ if !asks => Ok("ok".into()),
            None => Err("no answer".into()),
            Some(answer) => Ok(result(op, answer)),
        }
    }

    /// The call; or what the library says without asking the server.
    fn op(&mut self, op: &str, args: &[&str]) -> Result<Request, Refused> {
        let path = Path::new(args.first().copied().unwrap_or_default());
        if let Err(error) = path.validate() {
            let told = error.to_string();
            let whole = told.contains('@');
            let told = if whole {
                format!("Invalid path string \"{path}\" caused by {told}")
            } else {
                told
            };
            return Err(Refused::ByLibrary(format!("IllegalArgument {told}")));
        }
        let second = args.get(1).copied();
        let kind = |name: Option<&str>| match name {
            Some("Data") => watcher_type::DATA,
            Some("Children") => watcher_type::CHILDREN,
            _ => watcher_type::ANY,
        };
        let mut watcher = Watcher::DEFAULT;
        let mut watch = op == "get-default";
        if let (Some(name), true) =
            (second, matches!(op, "get" | "ls" | "exists" | "addwatch" | "rmwatch"))
        {
            watcher = self.watcher(name);
            watch = true;
        }
        let op = match op {
            "create" => {
                let ephemeral = second == Some("ephemeral");
                let flags = if ephemeral { mode::EPHEMERAL } else { mode::PERSISTENT };
                Op::Create(Create::new(path, "", flags).into())
            }
            "get" | "get-default" => Op::GetData { path, watch },
            "ls" => Op::GetChildren { path, watch },
            "exists" => Op::Exists { path, watch },
            "set" => Op::SetData { path, data: second.unwrap_or("").into(), version: -1 },
            "delete" => Op::Delete { path, version: -1 },
            "addwatch" => {
                let recursive = args.get(2) == Some(&"PERSISTENT_RECURSIVE");
                let mode = if recursive {
                    watch_mode::PERSISTENT_RECURSIVE
                } else {
                    watch_mode::PERSISTENT
                };
                Op::AddWatch { path, mode }
            }
            "rmwatch" => Op::CheckWatches { path, kind: kind(args.get(2).copied()) },
            "rmall" => Op::RemoveWatches { path, kind: kind(second) },
            _ => return Err(Refused::Unknown),
        };
        Ok(Request::Call { watcher, op })
    }

    fn watcher(&mut self, name: &str) -> Watcher {
        let known = self.watchers.iter().position(|known| known == name);
        let place = known.unwrap_or_else(|| {
            self.watchers.push(name.to_owned());
            self.watchers.len() - 1
        });
        Watcher(place as u32)
    }

    fn at(&self, id: ProcessId) -> &Program {
        match self.sim.process(id) {
            Actor::Program(program) => program,
            Actor::Server { .. } => panic!("a program is no server"),
        }
    }

    /// Compares what each client was told since the last step.
    fn compare(&mut self, step: &Value) -> Result<(), String> {
        let expected = step.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
        for (name, id) in self.programs.clone() {
            let told = self.at(id).told.clone();
            let before = self.compared.insert(name.clone(), told.len()).unwrap_or(0);
            let came: Vec<Value> =
                told[before..].iter().map(|call| self.shown(&name, call)).collect();
            let wanted: Vec<Value> =
                expected.iter().filter(|event| event["client"] == json!(name)).cloned().collect();
            if came != wanted {
                return Err(format!("{name} was told {}", Value::Array(came)));
            }
        }
        Ok(())
    }

    fn shown(&self, client: &str, call: &Call) -> Value {
        let mut watchers: Vec<&str> =
            call.watchers.iter().map(|watcher| &*self.watchers[watcher.0 as usize]).collect();
        watchers.sort_unstable();
        json!({
            "client": client, "type": call.kind, "state": call.state,
            "path": call.path.as_ref().map(|path| path.as_str()), "watchers": watchers,
        })
    }
}

enum Refused {
    ByLibrary(String),
    Unknown,
}

fn result(op: &str, answer: &Result<Answer, Error>) -> String {
    match (op, answer) {
        ("exists", Ok(_)) => "stat".into(),
        ("exists", Err(Error::NoNode)) => "null".into(),
        (_, Ok(_)) => "ok".into(),
        (_, Err(error)) => error.name().to_uppercase(),
    }
}
