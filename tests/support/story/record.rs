//! What happened, in the form of the recordings: transactions from ZooKeeper's log, and what the
//! proxies have heard. Not here: who is who (`teller` knows the names), and masks (`mask`).
//! *Invariant: every field that a judge compares is taken from the messages and the log, none from
//! what was meant.*

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zootrope::zk::reply::{Answer, Error, OpResult};
use zootrope::zk::request::{Op, mode};
use zootrope::zk::stat::{Bytes, SessionId};
use zootrope::zk::txn::{Txn, TxnBody};
use zootrope::zk::words::{Message, xid};

use super::cast::Heard;

/// What the proxies know beside the log: who has which session, and what was asked for.
#[derive(Default)]
pub struct Ledger {
    owners: BTreeMap<SessionId, String>,
    asked: BTreeMap<(SessionId, i32), Op>,
}

/// One actor's connection, as its proxy sees it.
#[derive(Default)]
pub struct Wire {
    session: Option<SessionId>,
    waiting: BTreeMap<i32, Op>,
}

impl Ledger {
    /// Takes one message of `who`; gives the row of talk that it makes.
    pub fn hear(&mut self, who: &str, wire: &mut Wire, heard: &Heard) -> Option<Value> {
        match heard {
            Heard::Asked(Message::Connect(_)) => {
                wire.waiting.clear();
                None
            }
            Heard::Asked(Message::Request { xid, op }) => {
                if let Some(session) = wire.session {
                    self.asked.insert((session, *xid), op.clone());
                }
                wire.waiting.insert(*xid, op.clone());
                None
            }
            Heard::Answered(Message::ConnectReply(reply)) if reply.timeout.0 > 0 => {
                let again = wire.session == Some(reply.session);
                wire.session = Some(reply.session);
                self.owners.insert(reply.session, who.to_owned());
                let verb = if again { "reconnect" } else { "connect" };
                Some(json!([who, verb, null, format!("timeout {}", reply.timeout.0)]))
            }
            Heard::Answered(Message::Reply(reply)) if reply.xid != xid::PING => {
                let op = wire.waiting.remove(&reply.xid)?;
                Some(row(who, &op, &reply.result))
            }
            Heard::Answered(Message::Event(event)) => {
                Some(json!([who, "event", event.path.as_str(), event.kind.name()]))
            }
            _ => None,
        }
    }

    /// A session has been opened by `who`.
    pub fn opened(&mut self, session: SessionId, who: &str) {
        self.owners.entry(session).or_insert_with(|| who.to_owned());
    }

    /// The owner of a session; a session is opened before its first proxy hears of it.
    pub fn owner(&self, session: SessionId) -> Option<&String> {
        self.owners.get(&session)
    }

    /// One transaction as it is recorded.
    pub fn txn(&self, txn: &Txn) -> Value {
        let by = self.owners.get(&txn.session).cloned().unwrap_or_else(|| "ZooKeeper".into());
        let asked = self.asked.get(&(txn.session, txn.cxid));
        let mut out = match &txn.body {
            TxnBody::Multi(parts) => {
                let ops = match asked {
                    Some(Op::Multi(ops)) => ops.iter().map(Some).collect(),
                    _ => vec![None; parts.len()],
                };
                let parts = parts.iter().zip(ops).map(|(part, op)| body(part, op));
                json!({"op": "multi", "ops": parts.collect::<Vec<_>>()})
            }
            other => body(other, asked),
        };
        out["zxid"] = json!(txn.zxid.0);
        out["by"] = json!(by);
        out
    }
}

fn body(body: &TxnBody, asked: Option<&Op>) -> Value {
    let expected = |op: Option<&Op>| match op {
        Some(
            Op::SetData { version, .. } | Op::Delete { version, .. } | Op::Check { version, .. },
        ) => {
            json!(version)
        }
        _ => Value::Null,
    };
    match body {
        TxnBody::CreateSession { timeout } => json!({"op": "createSession", "timeout": timeout.0}),
        TxnBody::CloseSession { paths } => {
            let removes: Vec<_> = paths.iter().map(|path| path.as_str()).collect();
            json!({"op": "closeSession", "removes": removes})
        }
        TxnBody::Create(create) => json!({
            "op": "create",
            "path": create.path.as_str(),
            "data": data(&create.data),
            "ephemeral": create.ephemeral,
        }),
        TxnBody::SetData { path, data: bytes, version } => json!({
            "op": "setData",
            "path": path.as_str(),
            "data": data(bytes),
            "version": version,
            "expected": expected(asked),
        }),
        TxnBody::Delete { path } => {
            json!({"op": "delete", "path": path.as_str(), "expected": expected(asked)})
        }
        TxnBody::Check { path } => {
            let checked = match asked {
                Some(Op::Check { version, .. }) => json!(version + 1),
                _ => Value::Null,
            };
            let path = path.as_str();
            json!({"op": "check", "path": path, "expected": expected(asked), "version": checked})
        }
        TxnBody::Error(error) => {
            json!({"op": "error", "err": error.name(), "refused": asked.map(request)})
        }
        other => json!({"op": other.name(), "path": other.path().map(|path| path.as_str())}),
    }
}

/// A request as a refusal names it.
fn request(op: &Op) -> Value {
    let path = op.path().map(|path| path.as_str());
    match op {
        Op::Create(create) => json!({
            "op": "create",
            "path": path,
            "data": data(&create.data),
            "mode": mode_name(create.flags),
        }),
        Op::SetData { data: bytes, version, .. } => {
            json!({"op": "setData", "path": path, "data": data(bytes), "version": version})
        }
        Op::Delete { version, .. } | Op::Check { version, .. } => {
            json!({"op": op.name(), "path": path, "version": version})
        }
        _ => json!({"op": op.name(), "path": path}),
    }
}

fn mode_name(flags: i32) -> &'static str {
    match flags {
        mode::PERSISTENT => "persistent",
        mode::EPHEMERAL => "ephemeral",
        mode::PERSISTENT_SEQUENTIAL => "persistent sequential",
        mode::EPHEMERAL_SEQUENTIAL => "ephemeral sequential",
        _ => "other",
    }
}

fn data(bytes: &Bytes) -> Value {
    if bytes.is_null() {
        return Value::Null;
    }
    json!(String::from_utf8_lossy(bytes.as_slice()))
}

/// `[who, op, path, outcome]`, with `"watch"` behind it when the read left a watch.
fn row(who: &str, op: &Op, result: &Result<Answer, Error>) -> Value {
    let path = match op {
        Op::Multi(ops) => {
            let ops: Vec<_> =
                ops.iter().map(|op| format!("{} {}", op.name(), path_of(op))).collect();
            json!(ops.join("; "))
        }
        _ => json!(op.path().map(|path| path.as_str())),
    };
    let mut row = json!([who, op.name(), path, outcome(result)]);
    if leaves_watch(op) {
        row.as_array_mut().expect("a row is a list").push(json!("watch"));
    }
    row
}

fn path_of(op: &Op) -> &str {
    op.path().map_or("", |path| path.as_str())
}

fn leaves_watch(op: &Op) -> bool {
    match op {
        Op::Exists { watch, .. }
        | Op::GetData { watch, .. }
        | Op::GetChildren { watch, .. }
        | Op::GetChildren2 { watch, .. } => *watch,
        _ => false,
    }
}

fn outcome(result: &Result<Answer, Error>) -> &'static str {
    match result {
        Err(error) => error.name(),
        Ok(Answer::Results(results)) => {
            let errors = results.iter().filter_map(|result| match result {
                OpResult::Error(error) => *error,
                _ => None,
            });
            let real = errors.filter(|error| *error != Error::RuntimeInconsistency);
            real.map(Error::name).next().unwrap_or("ok")
        }
        Ok(_) => "ok",
    }
}
