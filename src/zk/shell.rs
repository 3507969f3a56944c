//! A client with nothing on top: it asks what somebody types, in the words of `zkCli.sh`.
//!
//! *Invariant: every request is answered, and the answer is told.*

use std::sync::Arc;

use super::cli::{Act, Cli};
use super::client::{Birth, Client, Config, Notice, State};
use super::ensemble::Address;
use super::path::Path;
use super::release::Release;
use super::reply::{Access, Answer, Error};
use super::request::{Create, Op, mode};
use super::settings::Switch;
use super::stat::{Bytes, SessionId};
use super::words::{Fact, Request, Words};
use super::zxid::Zxid;
use crate::sim::{Event, Outbox, Process};

/// The process of one such client: a library with its session, and the program that is typed to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shell {
    config: Config,
    /// What its server must take at least (`zkCli.sh -r`).
    least: Access,
    /// What it asks before anything else.
    first: Arc<[Op]>,
    client: Option<Client<Asked>>,
    /// The session that its last life has left behind, for those who look.
    left: SessionId,
    /// The last answer, for those who look.
    answer: Option<(Op, Result<Answer, Error>)>,
    cli: Cli,
    /// What it does once its session is closed.
    then: Then,
}

/// A request, and whom its answer is for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Asked {
    op: Op,
    by: By,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum By {
    Script,
    Program,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Then {
    Exit(u8),
    Stay,
    Open,
}

impl Shell {
    /// A shell that asks `first` whenever it gets a new session.
    pub fn new(config: Config, first: Arc<[Op]>) -> Shell {
        let names: Vec<String> = config.servers.iter().map(host).collect();
        let cli = Cli::new(&names.join(","), Switch::On);
        Shell {
            config,
            least: Access::ReadWrite,
            first,
            client: None,
            left: SessionId::NONE,
            answer: None,
            cli,
            then: Then::Exit(0),
        }
    }

    /// The same, content with a server that only serves reads if `least` is that.
    pub fn content_with(self, least: Access) -> Shell {
        Shell { least, ..self }
    }

    /// The same of another release.
    pub fn of_release(mut self, release: Release) -> Shell {
        self.cli = self.cli.of_release(release);
        self
    }

    /// The same without prompts.
    pub fn without_line_editing(mut self) -> Shell {
        self.cli = self.cli.without_line_editing();
        self
    }

    /// Its client, while it runs.
    pub fn client(&self) -> Option<&Client<Asked>> {
        self.client.as_ref()
    }

    /// The session that it has; once it is killed, the one that it had.
    pub fn session(&self) -> SessionId {
        self.client.as_ref().map_or(self.left, Client::session)
    }

    /// What was answered last, and to what.
    pub fn answer(&self) -> Option<(&Op, &Result<Answer, Error>)> {
        self.answer.as_ref().map(|(op, result)| (op, result))
    }

    /// The program that is typed to.
    pub fn cli(&self) -> &Cli {
        &self.cli
    }

    /// What stands before the next line.
    pub fn prompt(&self) -> String {
        self.cli.prompt(self.state())
    }

    fn state(&self) -> State {
        self.client.as_ref().map_or(State::Closed, Client::state)
    }

    fn begin(&mut self, out: &mut Outbox<'_, Words>) {
        let client = Client::new(self.config.clone());
        let mut client = match self.least {
            Access::ReadWrite => client,
            Access::ReadOnly => client.content_with_reads(),
        };
        client.open(out);
        self.client = Some(client);
    }

    fn ask(&mut self, op: Op, by: By, out: &mut Outbox<'_, Words>) {
        let Some(client) = &mut self.client else { return };
        let asked = Asked { op, by };
        if let Err(error) = client.request(asked.op.clone(), asked.clone(), out) {
            self.answered(asked, Zxid::ZERO, Err(error), out);
        }
    }

    fn take(&mut self, notices: Vec<Notice<Asked>>, out: &mut Outbox<'_, Words>) {
        notices.into_iter().for_each(|notice| self.notice(notice, out));
        while let Some(act) = self.cli.next(self.state()) {
            self.act(act, out);
        }
    }

    fn notice(&mut self, notice: Notice<Asked>, out: &mut Outbox<'_, Words>) {
        match notice {
            Notice::Reply { tag, zxid, result } => self.answered(tag, zxid, result, out),
            Notice::Watch { event, .. } => {
                self.cli.hear("SyncConnected", event.kind.name(), &event.path);
                out.tell(Fact::WatchHeard { kind: event.kind, path: event.path });
            }
            // Real: zkCli.sh stays without a session until one types `connect`; here a new one is
            // opened at once, as every program that lives on does.
            Notice::Expired => {
                self.cli.hear("Expired", "None", "null");
                self.begin(out);
            }
            Notice::Closed if self.state() == State::AuthFailed => {
                self.cli.hear("AuthFailed", "None", "null");
            }
            Notice::Closed => {
                if self.cli.release().closing_is_told() {
                    self.cli.hear("Closed", "None", "null");
                }
                self.closed(out);
            }
            Notice::Connected { birth, .. } => {
                self.cli.hear("SyncConnected", "None", "null");
                if birth == Birth::New {
                    self.first.clone().iter().for_each(|op| self.ask(op.clone(), By::Script, out));
                }
            }
            Notice::ConnectedReadOnly { .. } => self.cli.hear("ConnectedReadOnly", "None", "null"),
            Notice::Disconnected => self.cli.hear("Disconnected", "None", "null"),
            Notice::WatchRemoved { kind, path, .. } => {
                self.cli.hear("SyncConnected", kind.name(), &path);
            }
        }
    }

    fn answered(
        &mut self,
        asked: Asked,
        zxid: Zxid,
        result: Result<Answer, Error>,
        out: &mut Outbox<'_, Words>,
    ) {
        let Asked { op, by } = asked;
        let about = op.path().cloned().unwrap_or_else(|| Path::new("-"));
        out.tell(match &result {
            Ok(Answer::Path(path) | Answer::Created { path, .. }) => {
                Fact::Answered { op: op.name(), path: path.clone(), zxid }
            }
            Ok(_) => Fact::Answered { op: op.name(), path: about, zxid },
            Err(error) => Fact::Refused { op: op.name(), path: about, error: *error },
        });
        if by == By::Program {
            self.cli.answered(&op, result.clone());
        }
        self.answer = Some((op, result));
    }

    fn act(&mut self, act: Act, out: &mut Outbox<'_, Words>) {
        match act {
            Act::Ask(op) => self.ask(op, By::Program, out),
            Act::Authenticate(scheme, auth) => {
                if let Some(client) = &mut self.client {
                    client.authenticate(scheme, auth, out);
                }
            }
            Act::Close => self.close(Then::Stay, out),
            Act::Connect(server) => {
                self.point_to(server.as_deref());
                self.close(Then::Open, out);
            }
            Act::Quit(code) => self.close(Then::Exit(code), out),
            Act::Die(code) => out.exit(code),
        }
    }

    /// The servers that it will look for.
    fn point_to(&mut self, named: Option<&str>) {
        let all = self.config.servers.clone();
        let named = |server: &&Address| named.is_some_and(|named| named == host(server));
        if let Some(server) = all.iter().find(named) {
            self.config.servers = Arc::from([*server]);
        }
    }

    fn close(&mut self, then: Then, out: &mut Outbox<'_, Words>) {
        self.then = then;
        match &mut self.client {
            Some(client) if client.state().is_alive() => {
                let notices = client.close(out);
                notices.into_iter().for_each(|notice| self.notice(notice, out));
            }
            _ => self.closed(out),
        }
    }

    fn closed(&mut self, out: &mut Outbox<'_, Words>) {
        self.cli.done();
        match self.then {
            Then::Exit(code) => out.exit(code),
            Then::Stay => {}
            Then::Open => self.begin(out),
        }
        self.then = Then::Exit(0);
    }
}

/// A server as a connection string has it.
fn host(server: &Address) -> String {
    format!("{}:2181", server.id)
}

impl Process for Shell {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Boot => {
                self.cli.begin();
                self.begin(out);
            }
            Event::Request(Request::Ask(op)) => self.ask(op, By::Script, out),
            Event::Request(Request::Type(line)) => {
                self.cli.enter(line);
                self.take(Vec::new(), out);
            }
            Event::Request(Request::Stop) => self.close(Then::Exit(0), out),
            event => {
                let Some(client) = &mut self.client else { return };
                let notices = client.handle(event, out);
                self.take(notices, out);
            }
        }
    }

    fn crash(&mut self) {
        self.left = self.session();
        self.client = None;
        self.answer = None;
    }
}

/// What can be typed.
pub const USAGE: &str = "create [-s] [-e] PATH [DATA] | set [-v VERSION] PATH DATA | \
    get [-w] PATH | ls [-w] PATH | stat [-w] PATH | delete [-v VERSION] PATH | sync PATH";

/// The request that is typed like this; else what is expected.
// Source: ZooKeeperMain, CreateCommand, SetCommand, GetCommand, LsCommand, StatCommand,
// DeleteCommand, SyncCommand.
pub fn parse(words: &[Arc<str>]) -> Result<Op, &'static str> {
    let (verb, words) = words.split_first().ok_or(USAGE)?;
    let mut typed = Typed { sequential: 0, ephemeral: 0, watch: false, version: -1, rest: vec![] };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match &**word {
            "-s" => typed.sequential = mode::PERSISTENT_SEQUENTIAL,
            "-e" => typed.ephemeral = mode::EPHEMERAL,
            "-w" => typed.watch = true,
            "-v" => {
                let version = words.next().and_then(|version| version.parse().ok());
                typed.version = version.ok_or("a version after -v")?;
            }
            _ => typed.rest.push(word),
        }
    }
    typed.op(verb)
}

struct Typed<'a> {
    sequential: i32,
    ephemeral: i32,
    watch: bool,
    version: i32,
    rest: Vec<&'a Arc<str>>,
}

impl Typed<'_> {
    fn op(&self, verb: &str) -> Result<Op, &'static str> {
        let path = || Path::new(self.rest.first().map_or("", |path| path));
        if self.rest.is_empty() || path().validate().is_err() {
            return Err("a path like /brokers/ids");
        }
        let data = || self.rest.get(1).map_or(Bytes::default(), |data| Bytes::from(&***data));
        let most = if matches!(verb, "create" | "set") { 2 } else { 1 };
        if self.rest.len() > most {
            return Err("nothing more, or one word in quotes");
        }
        let (watch, version) = (self.watch, self.version);
        match verb {
            "create" => {
                let flags = self.sequential + self.ephemeral;
                Ok(Op::Create(Arc::new(Create::new(path(), data(), flags))))
            }
            "set" => Ok(Op::SetData { path: path(), data: data(), version }),
            "get" => Ok(Op::GetData { path: path(), watch }),
            "ls" => Ok(Op::GetChildren2 { path: path(), watch }),
            "stat" => Ok(Op::Exists { path: path(), watch }),
            "delete" => Ok(Op::Delete { path: path(), version }),
            "sync" => Ok(Op::Sync { path: path() }),
            _ => Err(USAGE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_becomes_a_request() {
        let typed = |text: &str| {
            let words: Vec<Arc<str>> = text.split(' ').map(Arc::from).collect();
            parse(&words)
        };
        let create = Op::Create(Arc::new(Create::new("/a", "b", mode::EPHEMERAL_SEQUENTIAL)));
        assert_eq!(typed("create -e -s /a b"), Ok(create));
        assert_eq!(typed("get -w /a"), Ok(Op::GetData { path: "/a".into(), watch: true }));
        let set = Op::SetData { path: "/a".into(), data: "x".into(), version: 3 };
        assert_eq!(typed("set -v 3 /a x"), Ok(set));
        assert_eq!(typed("ls a"), Err("a path like /brokers/ids"));
        assert_eq!(typed("set -v x /a"), Err("a version after -v"));
        assert_eq!(typed("ls / 1"), Err("nothing more, or one word in quotes"));
        assert_eq!(typed("rmr /a"), Err(USAGE));
    }
}
