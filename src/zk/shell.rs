//! A client with nothing on top: it asks what somebody types, in the words of `zkCli.sh`.
//!
//! *Invariant: every request is answered, and the answer is told.*

use std::sync::Arc;

use super::client::{Birth, Client, Config, Notice};
use super::path::Path;
use super::reply::{Answer, Error};
use super::request::{Create, Op, mode};
use super::stat::Bytes;
use super::words::{Fact, Request, Words};
use super::zxid::Zxid;
use crate::sim::{Event, Outbox, Process};

/// The process of one such client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shell {
    config: Config,
    /// What it asks before anything else.
    first: Arc<[Op]>,
    client: Option<Client<Op>>,
    /// The last answer, for those who look.
    answer: Option<(Op, Result<Answer, Error>)>,
}

impl Shell {
    /// A shell that asks `first` whenever it gets a new session.
    pub fn new(config: Config, first: Arc<[Op]>) -> Shell {
        Shell { config, first, client: None, answer: None }
    }

    /// Its client, while it runs.
    pub fn client(&self) -> Option<&Client<Op>> {
        self.client.as_ref()
    }

    /// What was answered last, and to what.
    pub fn answer(&self) -> Option<(&Op, &Result<Answer, Error>)> {
        self.answer.as_ref().map(|(op, result)| (op, result))
    }

    fn begin(&mut self, out: &mut Outbox<'_, Words>) {
        let mut client = Client::new(self.config.clone());
        client.open(out);
        self.client = Some(client);
    }

    fn ask(&mut self, op: Op, out: &mut Outbox<'_, Words>) {
        let Some(client) = &mut self.client else { return };
        if let Err(error) = client.request(op.clone(), op.clone(), out) {
            self.answered(op, Zxid::ZERO, Err(error), out);
        }
    }

    fn notice(&mut self, notice: Notice<Op>, out: &mut Outbox<'_, Words>) {
        match notice {
            Notice::Reply { tag, zxid, result } => self.answered(tag, zxid, result, out),
            Notice::Watch { event, .. } => {
                out.tell(Fact::WatchHeard { kind: event.kind, path: event.path });
            }
            // Real: zkCli.sh stays without a session until one types `connect`; here a new one is
            // opened at once, as every program that lives on does.
            Notice::Expired => self.begin(out),
            Notice::Closed => out.exit(0),
            Notice::Connected { birth: Birth::New, .. } => {
                self.first.clone().iter().for_each(|op| self.ask(op.clone(), out));
            }
            Notice::Connected { .. } | Notice::Disconnected | Notice::WatchRemoved { .. } => {}
        }
    }

    fn answered(
        &mut self,
        op: Op,
        zxid: Zxid,
        result: Result<Answer, Error>,
        out: &mut Outbox<'_, Words>,
    ) {
        let asked = op.path().cloned().unwrap_or_else(|| Path::new("-"));
        out.tell(match &result {
            Ok(Answer::Path(path) | Answer::Created { path, .. }) => {
                Fact::Answered { op: op.name(), path: path.clone(), zxid }
            }
            Ok(_) => Fact::Answered { op: op.name(), path: asked, zxid },
            Err(error) => Fact::Refused { op: op.name(), path: asked, error: *error },
        });
        self.answer = Some((op, result));
    }
}

impl Process for Shell {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Boot => self.begin(out),
            Event::Request(Request::Ask(op)) => self.ask(op, out),
            Event::Request(Request::Stop) => {
                let notices = self.client.as_mut().map_or(Vec::new(), |client| client.close(out));
                notices.into_iter().for_each(|notice| self.notice(notice, out));
            }
            event => {
                let Some(client) = &mut self.client else { return };
                let notices = client.handle(event, out);
                notices.into_iter().for_each(|notice| self.notice(notice, out));
            }
        }
    }

    fn crash(&mut self) {
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
