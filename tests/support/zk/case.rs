//! Plays one recorded case: every step on a fresh server, everything compared.
//! *Invariant: steps happen one after the other; what a step causes is heard before the next.*

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zootrope::sim::{ProcessId, Span};
use zootrope::zk::acl::Acl;
use zootrope::zk::database::Disk;
use zootrope::zk::path::Path;
use zootrope::zk::request::{Connect, CreateKind, Op, Password};
use zootrope::zk::settings::{Settings, Switch};
use zootrope::zk::stat::{Bytes, Millis, SessionId};
use zootrope::zk::txn::{CreateTxn, Txn, TxnBody};
use zootrope::zk::words::{Message, xid};
use zootrope::zk::zxid::Zxid;

use super::bench::{Bench, Heard, Request};
use super::notation::{self, Labels, Unread};

/// Longer than anything a case waits for.
const PATIENCE: Span = Span::secs(120);

/// Plays one case; the error says what came instead.
pub fn play(case: &Value) -> Result<(), String> {
    let mut play = Play::new(case)?;
    let steps = case.get("steps").and_then(Value::as_array).ok_or("no steps")?;
    for (place, step) in steps.iter().enumerate() {
        play.step(step).map_err(|told| format!("step {place}, {}: {told}", brief(step)))?;
    }
    play.end(case)
}

fn brief(step: &Value) -> String {
    let field = |name: &str| step.get(name).map(Value::to_string).unwrap_or_default();
    let mut text = format!("{} {} {}", field("client"), field("op"), field("args"));
    text.truncate(text.char_indices().nth(160).map_or(text.len(), |(at, _)| at));
    text
}

/// One client: its connection, its session, what it has heard and been compared.
pub(super) struct Client {
    pub(super) socket: Option<ProcessId>,
    seen: usize,
    pub(super) session: SessionId,
    password: Password,
    xid: i32,
}

/// Which client made a session.
#[derive(Default)]
struct Makers(BTreeMap<SessionId, String>);

impl Labels for Makers {
    fn label(&self, session: SessionId) -> Option<&str> {
        self.0.get(&session).map(String::as_str)
    }
}

pub(super) struct Play {
    pub(super) bench: Bench,
    pub(super) clients: BTreeMap<String, Client>,
    makers: Makers,
}

/// What came of one step, in the form in which it is recorded.
pub(super) type Outcome = BTreeMap<&'static str, Value>;

impl Play {
    fn new(case: &Value) -> Result<Play, Unread> {
        let bench = Bench::new(settings(case.get("server")), disk(case.get("preset"))?);
        Ok(Play::on(bench))
    }

    /// Nobody has connected yet.
    pub(super) fn on(bench: Bench) -> Play {
        Play { bench, clients: BTreeMap::new(), makers: Makers::default() }
    }

    /// Performs a step and compares all that was recorded of it.
    pub(super) fn step(&mut self, step: &Value) -> Result<(), String> {
        let name = step.get("op").and_then(Value::as_str).ok_or("no op")?;
        let args = step.get("args").cloned().unwrap_or(json!({}));
        let label = step.get("client").and_then(Value::as_str);
        let mut outcome = match label {
            Some(label) => self.client_step(label, name, &args)?,
            None => self.server_step(name, &args)?,
        };
        let others = self.others(label);
        add_events(&mut outcome, others);
        for field in
            ["err", "zxid", "reply", "events_before_reply", "events", "disconnected", "sequence"]
        {
            let expected = step.get(field).map(notation::spelled_out).filter(is_something);
            let came = outcome.remove(field).filter(is_something);
            if expected != came {
                return Err(differs(field, &expected, &came));
            }
        }
        Ok(())
    }

    /// Compares log, last zxid and tree.
    fn end(&self, case: &Value) -> Result<(), String> {
        let (database, disk) = (self.bench.database(), self.bench.server().disk());
        let txns = disk.log.iter().map(|txn| notation::txn(txn, &self.makers)).collect();
        let system = case.get("system_tree").and_then(Value::as_bool).unwrap_or(false);
        let shown = |path: &Path| system || !path.starts_with("/zookeeper");
        let znodes = database.tree.iter().filter(|(path, _)| shown(path));
        let tree = znodes.map(|(path, znode)| notation::znode(path, znode, &self.makers)).collect();
        let zxid = json!(database.last_zxid.0);
        for (field, came) in
            [("txns", Value::Array(txns)), ("final_zxid", zxid), ("final_tree", Value::Array(tree))]
        {
            let Some(expected) = case.get(field).map(notation::spelled_out) else { continue };
            if let Some(told) = first_difference(&expected, &came) {
                return Err(format!("{field}: {told}"));
            }
        }
        Ok(())
    }

    pub(super) fn client_step(
        &mut self,
        label: &str,
        name: &str,
        args: &Value,
    ) -> Result<Outcome, String> {
        match name {
            "connect" => self.connect(label, args, None),
            "reconnect" => {
                let other = args.get("session").and_then(Value::as_str).unwrap_or(label);
                let other = self.clients.get(other).ok_or("no such session")?;
                let password = match args.get("password").and_then(Value::as_str) {
                    None | Some("own") => other.password,
                    Some("zero") => Password(0),
                    Some(_) => Password(!other.password.0),
                };
                self.connect(label, args, Some((other.session, password)))
            }
            "drop" | "quiet" => {
                let socket = self.socket(label)?;
                let drop = name == "drop";
                self.bench.request(socket, if drop { Request::HangUp } else { Request::Quiet });
                self.bench.settle();
                Ok(self.without_header("ok"))
            }
            "expire" => self.expire(label),
            "pipeline" => self.pipeline(label, notation::ops(args)?),
            name => self.single(label, name, notation::op(name, args)?),
        }
    }

    fn server_step(&mut self, name: &str, args: &Value) -> Result<Outcome, String> {
        let number =
            |name: &str| args.get(name).and_then(Value::as_u64).ok_or(format!("no {name}"));
        match name {
            "sleep" => self.bench.run(Span::ms(number("ms")?)),
            "restart" => {
                self.bench.restart();
                // Every connection breaks, which is not written down.
                self.clients.values_mut().for_each(|client| client.socket = None);
            }
            "wait" => {
                let wanted = self.bench.server().disk().log.len() as u64 + number("txns")?;
                let done = |log: usize| log as u64 >= wanted;
                if !self.bench.run_until(PATIENCE, |server| done(server.disk().log.len())) {
                    return Err("the server made no txns of its own accord".into());
                }
                self.bench.settle();
            }
            _ => return Err(format!("no step {name}")),
        }
        Ok(self.without_header("ok"))
    }

    fn connect(
        &mut self,
        label: &str,
        args: &Value,
        known: Option<(SessionId, Password)>,
    ) -> Result<Outcome, String> {
        let number = |name: &str| args.get(name).and_then(Value::as_i64);
        let (session, password) = known.unwrap_or_default();
        let timeout = Millis(number("timeout").ok_or("no timeout")?);
        let last_zxid = Zxid(number("last_zxid").unwrap_or(0));
        let socket = self.bench.socket();
        let connect = Connect { last_zxid, timeout, session, password, can_be_read_only: false };
        self.bench.request(socket, Request::Send(vec![Message::Connect(connect)]));
        self.bench.settle();
        let before = self.clients.remove(label);
        let mut client = Client { socket: Some(socket), seen: 0, session, password, xid: 0 };
        let reply = self.bench.heard(socket).iter().find_map(|heard| match heard {
            Heard::Message(Message::ConnectReply(reply)) => Some(reply.clone()),
            _ => None,
        });
        let mut outcome = self.without_header(match &reply {
            None => "ConnectionLoss",
            Some(reply) if reply.timeout.0 == 0 => "SessionExpired",
            Some(_) => "ok",
        });
        match reply.filter(|reply| reply.timeout.0 > 0) {
            Some(reply) => {
                (client.session, client.password) = (reply.session, reply.password);
                self.makers.0.entry(reply.session).or_insert_with(|| label.to_owned());
                outcome.insert("reply", json!({"timeout": reply.timeout.0}));
                if known.is_some() {
                    outcome.entry("reply").and_modify(|body| {
                        body["same_session"] = json!(reply.session == session);
                    });
                }
            }
            None => {
                if outcome["err"] == "SessionExpired" {
                    outcome.insert("reply", json!({"timeout": 0}));
                }
                outcome.insert("disconnected", json!(true));
                if let Some(before) = before {
                    (client.session, client.password) = (before.session, before.password);
                }
                client.socket = None;
            }
        }
        client.seen = self.bench.heard(socket).len();
        self.clients.insert(label.to_owned(), client);
        Ok(outcome)
    }

    /// One request and its reply.
    fn single(&mut self, label: &str, name: &str, op: Op) -> Result<Outcome, String> {
        let socket = self.socket(label)?;
        let number = self.number(label, &op);
        let closes = matches!(op, Op::CloseSession);
        self.send(socket, vec![(number, op)]);
        let heard = self.unseen(label);
        let (mut outcome, mut before, mut after) = (Outcome::new(), Vec::new(), Vec::new());
        for heard in heard {
            match heard {
                Heard::Message(Message::Reply(reply)) if reply.xid == number => {
                    outcome.extend(self.reply(&reply));
                }
                Heard::Message(Message::Event(event)) if outcome.is_empty() => {
                    before.push(notation::event(&event));
                }
                Heard::Message(Message::Event(event)) => after.push(notation::event(&event)),
                Heard::Closed if outcome.is_empty() => {
                    outcome = self.without_header("ConnectionLoss");
                    outcome.insert("disconnected", json!(true));
                }
                Heard::Closed if closes => {
                    outcome.insert("disconnected", json!(true));
                }
                Heard::Closed => after.push(json!(["ConnectionClosed"])),
                heard => return Err(format!("{name}: heard {heard:?}")),
            }
        }
        if outcome.is_empty() {
            return Err("no answer".into());
        }
        outcome.insert("events_before_reply", Value::Array(before));
        add_events(&mut outcome, [(label.to_owned(), after)].into());
        Ok(outcome)
    }

    /// Several requests at once, and all that comes back.
    fn pipeline(&mut self, label: &str, ops: Vec<Op>) -> Result<Outcome, String> {
        let socket = self.socket(label)?;
        let numbered: Vec<(i32, Op)> =
            ops.into_iter().map(|op| (self.number(label, &op), op)).collect();
        let numbers: Vec<i32> = numbered.iter().map(|(number, _)| *number).collect();
        self.send(socket, numbered);
        let (mut sequence, mut after) = (Vec::new(), Vec::new());
        let mut last = None;
        for heard in self.unseen(label) {
            match heard {
                Heard::Message(Message::Event(event)) => {
                    sequence.push(json!({"event": notation::event(&event)}));
                }
                Heard::Message(Message::Reply(reply)) => {
                    let place = numbers.iter().position(|number| *number == reply.xid);
                    let fields = self.reply(&reply).into_iter().filter(|(_, v)| is_something(v));
                    let mut row: serde_json::Map<String, Value> =
                        fields.map(|(field, value)| (field.to_owned(), value)).collect();
                    row.insert("reply_to".into(), json!(place));
                    last = row.get("zxid").cloned();
                    sequence.push(Value::Object(row));
                }
                Heard::Closed => after.push(json!(["ConnectionClosed"])),
                heard => return Err(format!("heard {heard:?}")),
            }
        }
        let mut outcome = Outcome::from([("err", json!("ok")), ("sequence", json!(sequence))]);
        outcome.insert("zxid", last.unwrap_or(Value::Null));
        add_events(&mut outcome, [(label.to_owned(), after)].into());
        Ok(outcome)
    }

    /// A client falls silent until its session is gone.
    fn expire(&mut self, label: &str) -> Result<Outcome, String> {
        let client = self.clients.get(label).ok_or("no such client")?;
        let session = client.session;
        if let Some(socket) = client.socket.filter(|socket| self.bench.is_open(*socket)) {
            self.bench.request(socket, Request::Quiet);
        }
        let gone = |server: &zootrope::zk::server::Server| {
            server.database().is_some_and(|all| !all.sessions.contains_key(&session))
        };
        if !self.bench.run_until(PATIENCE, gone) {
            return Err("the session never expired".into());
        }
        self.bench.settle();
        let mut outcome = self.without_header("ok");
        outcome.insert("disconnected", json!(true));
        let _ = self.unseen(label);
        Ok(outcome)
    }

    fn reply(&self, reply: &zootrope::zk::words::Reply) -> Outcome {
        let (err, body) = match &reply.result {
            Ok(answer) => ("ok", notation::answer(answer, &self.makers)),
            Err(error) => (error.name(), Value::Null),
        };
        Outcome::from([("err", json!(err)), ("zxid", json!(reply.zxid.0)), ("reply", body)])
    }

    fn send(&mut self, socket: ProcessId, requests: Vec<(i32, Op)>) {
        let message = |(xid, op)| Message::Request { xid, op };
        self.bench.request(socket, Request::Send(requests.into_iter().map(message).collect()));
        self.bench.settle();
    }

    fn number(&mut self, label: &str, op: &Op) -> i32 {
        match op {
            Op::Auth { .. } => return xid::AUTH,
            Op::SetWatches(_) => return xid::SET_WATCHES,
            _ => {}
        }
        let client = self.clients.get_mut(label).expect("a client that sends is known");
        client.xid += 1;
        client.xid
    }

    fn socket(&self, label: &str) -> Result<ProcessId, String> {
        let client = self.clients.get(label).ok_or("no such client")?;
        client.socket.ok_or_else(|| "the client is not connected".into())
    }

    /// What a client has heard since it was last asked.
    pub(super) fn unseen(&mut self, label: &str) -> Vec<Heard> {
        let client = self.clients.get_mut(label).expect("only known clients are asked");
        let Some(socket) = client.socket else { return Vec::new() };
        let heard = self.bench.heard(socket);
        let unseen = heard[client.seen..].to_vec();
        client.seen = heard.len();
        unseen
    }

    /// What everybody but `label` has heard in this step.
    pub(super) fn others(&mut self, label: Option<&str>) -> BTreeMap<String, Vec<Value>> {
        let labels: Vec<String> = self.clients.keys().cloned().collect();
        let others = labels.into_iter().filter(|other| Some(other.as_str()) != label);
        let mut all = BTreeMap::new();
        for other in others.collect::<Vec<_>>() {
            let heard = self.unseen(&other).into_iter().map(|heard| match heard {
                Heard::Message(Message::Event(event)) => notation::event(&event),
                Heard::Message(message) => json!([format!("{message:?}")]),
                Heard::Closed => json!(["ConnectionClosed"]),
            });
            all.insert(other.clone(), heard.collect());
        }
        all
    }

    fn without_header(&self, err: &str) -> Outcome {
        let zxid = self.bench.server().database().map(|database| database.last_zxid.0);
        Outcome::from([("err", json!(err)), ("zxid", json!(zxid))])
    }
}

/// Adds events by client, those without any left out.
pub(super) fn add_events(outcome: &mut Outcome, events: BTreeMap<String, Vec<Value>>) {
    let all = outcome.entry("events").or_insert_with(|| json!({}));
    for (label, events) in events.into_iter().filter(|(_, events)| !events.is_empty()) {
        all[label] = Value::Array(events);
    }
}

/// Empty lists and absent bodies are not written down.
pub(super) fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    }
}

pub(super) fn differs(field: &str, expected: &Option<Value>, came: &Option<Value>) -> String {
    let text = |value: &Option<Value>| value.as_ref().map_or("nothing".into(), Value::to_string);
    format!("{field}: expected {}, came {}", text(expected), text(came))
}

/// Where two lists differ first.
fn first_difference(expected: &Value, came: &Value) -> Option<String> {
    if expected == came {
        return None;
    }
    let (Value::Array(expected), Value::Array(came)) = (expected, came) else {
        return Some(format!("expected {expected}, came {came}"));
    };
    let rows = expected.len().max(came.len());
    let row = |list: &[Value], at: usize| list.get(at).map_or("nothing".into(), Value::to_string);
    let at = (0..rows).find(|at| expected.get(*at) != came.get(*at))?;
    Some(format!("row {at}: expected {}, came {}", row(expected, at), row(came, at)))
}

fn settings(server: Option<&Value>) -> Settings {
    let field = |name: &str| server.and_then(|server| server.get(name));
    let ms = |name: &str| field(name).and_then(Value::as_u64).map(Span::ms);
    let extended = field("extended_types").and_then(Value::as_bool).unwrap_or(true);
    Settings {
        tick_time: ms("tick_ms").unwrap_or(Span::ms(200)),
        container_check_interval: ms("container_check_ms").unwrap_or(Span::ZERO),
        ttl_znodes: if extended { Switch::On } else { Switch::Off },
        ..Settings::default()
    }
}

/// A disk on which the preset znodes are, the last of them created by the preset's zxid.
fn disk(preset: Option<&Value>) -> Result<Disk, Unread> {
    let mut disk = Disk::default();
    let Some(preset) = preset else { return Ok(disk) };
    let nodes = preset.get("nodes").and_then(Value::as_array).ok_or("no nodes")?;
    let last = preset.get("zxid").and_then(Value::as_i64).ok_or("no zxid")?;
    let mut database = disk.recover();
    for (zxid, node) in (last + 1 - nodes.len() as i64..).zip(nodes) {
        let path = Path::new(node.get("path").and_then(Value::as_str).ok_or("no path")?);
        let parent = path.parent().ok_or("the root is never preset")?;
        let parent = database.tree.znode(&parent).ok_or("parents come first")?;
        let parent_creations = parent.stat.creations + 1;
        let (kind, data, acl) = (CreateKind::Create, Bytes::from(""), Acl::open());
        let (ephemeral, ttl) = (false, Millis(-1));
        let create = CreateTxn { kind, path, data, acl, ephemeral, parent_creations, ttl };
        let (session, cxid, time) = (SessionId::NONE, 0, Millis(0));
        let body = TxnBody::Create(create.into());
        database.apply(&Txn { session, cxid, zxid: Zxid(zxid), time, body });
    }
    let creations = preset.get("creations").and_then(Value::as_object);
    for (path, count) in creations.into_iter().flatten() {
        let count = count.as_i64().and_then(|count| i32::try_from(count).ok()).ok_or("no count")?;
        database.tree.restat(path, |stat| stat.creations = count);
    }
    disk.snapshot = database.snapshot();
    Ok(disk)
}
