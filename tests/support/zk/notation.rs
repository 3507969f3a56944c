//! How recordings write requests, replies, events and txns, and what they mean to the engine.
//! *Invariant: what a recording may leave out has ZooKeeper's default.*

use std::sync::Arc;

use serde_json::{Map, Value, json};
use zootrope::zk::acl::{Acl, AuthId, Entry, Perms};
use zootrope::zk::path::Path;
use zootrope::zk::reply::{Answer, Error, OpResult, WatchEvent};
use zootrope::zk::request::{Create, CreateKind, Op, SetWatches, mode, watch_mode, watcher_type};
use zootrope::zk::stat::{Bytes, Millis, SessionId, Stat};
use zootrope::zk::tree::Znode;
use zootrope::zk::txn::{Txn, TxnBody};
use zootrope::zk::zxid::Zxid;

/// Why a recording could not be read.
pub type Unread = String;

/// The request that `op` with `args` is.
pub fn op(name: &str, args: &Value) -> Result<Op, Unread> {
    let path = || path(args, "path");
    let watch = args.get("watch").and_then(Value::as_bool).unwrap_or(false);
    let version = number(args, "version").unwrap_or(-1);
    if args.get("path").is_some_and(Value::is_null) {
        return Ok(Op::Malformed { code: op(name, &json!({"path": "/"}))?.code() });
    }
    Ok(match name {
        "create" => Op::Create(create(CreateKind::Create, mode::PERSISTENT, args)?),
        "create2" => Op::Create(create(CreateKind::Create2, mode::PERSISTENT, args)?),
        "createContainer" => Op::Create(create(CreateKind::Container, mode::CONTAINER, args)?),
        "createTTL" => Op::Create(create(CreateKind::Ttl, mode::TTL, args)?),
        "delete" => Op::Delete { path: path()?, version },
        "exists" => Op::Exists { path: path()?, watch },
        "getData" => Op::GetData { path: path()?, watch },
        "setData" => Op::SetData { path: path()?, data: data(args)?, version },
        "getACL" => Op::GetAcl { path: path()? },
        "setACL" => Op::SetAcl { path: path()?, acl: acl(args)?, version },
        "check" => Op::Check { path: path()?, version },
        "getChildren" => Op::GetChildren { path: path()?, watch },
        "getChildren2" => Op::GetChildren2 { path: path()?, watch },
        "getEphemerals" => {
            let prefix = args.get("prefix").and_then(Value::as_str).unwrap_or_default();
            Op::GetEphemerals { prefix: Path::new(prefix) }
        }
        "getAllChildrenNumber" => Op::GetAllChildrenNumber { path: path()? },
        "sync" => Op::Sync { path: path()? },
        "multi" => Op::Multi(ops(args)?.into()),
        "multiRead" => Op::MultiRead(ops(args)?.into()),
        "addWatch" => Op::AddWatch { path: path()?, mode: coded(args, "mode", WATCH_MODES)? },
        "removeWatches" => Op::RemoveWatches { path: path()?, kind: coded(args, "type", TYPES)? },
        "checkWatches" => Op::CheckWatches { path: path()?, kind: coded(args, "type", TYPES)? },
        "setWatches" | "setWatches2" => Op::SetWatches(set_watches(args)?),
        "auth" => {
            let auth = args.get("auth").and_then(Value::as_str).ok_or("auth needs a text")?;
            Op::Auth { scheme: self::path(args, "scheme")?, auth: Bytes::from(auth) }
        }
        "whoAmI" => Op::WhoAmI,
        "close" => Op::CloseSession,
        "raw" => Op::Unknown { code: number(args, "type").ok_or("raw needs a type")? },
        _ => return Err(format!("no operation {name}")),
    })
}

/// The list of requests of a multi, multiRead or pipeline.
pub fn ops(args: &Value) -> Result<Vec<Op>, Unread> {
    let list = args.get("ops").and_then(Value::as_array).ok_or("ops is no list")?;
    let one = |each: &Value| {
        let name = each.get("op").and_then(Value::as_str).ok_or("a part without op")?;
        op(name, each)
    };
    list.iter().map(one).collect()
}

const MODES: &[(&str, i32)] = &[
    ("persistent", mode::PERSISTENT),
    ("ephemeral", mode::EPHEMERAL),
    ("persistent_sequential", mode::PERSISTENT_SEQUENTIAL),
    ("ephemeral_sequential", mode::EPHEMERAL_SEQUENTIAL),
    ("container", mode::CONTAINER),
    ("ttl", mode::TTL),
    ("ttl_sequential", mode::TTL_SEQUENTIAL),
];
const WATCH_MODES: &[(&str, i32)] = &[
    ("persistent", watch_mode::PERSISTENT),
    ("persistent_recursive", watch_mode::PERSISTENT_RECURSIVE),
];
const TYPES: &[(&str, i32)] = &[
    ("children", watcher_type::CHILDREN),
    ("data", watcher_type::DATA),
    ("any", watcher_type::ANY),
];

fn create(kind: CreateKind, default: i32, args: &Value) -> Result<Arc<Create>, Unread> {
    let flags = match args.get("mode") {
        Some(_) => coded(args, "mode", MODES)?,
        None => default,
    };
    let ttl = Millis(args.get("ttl").and_then(Value::as_i64).unwrap_or(-1));
    let (path, data, acl) = (path(args, "path")?, data(args)?, acl(args)?);
    Ok(Arc::new(Create { kind, path, data, acl, flags, ttl }))
}

fn set_watches(args: &Value) -> Result<Arc<SetWatches>, Unread> {
    let list = |name: &str| -> Result<Vec<Path>, Unread> {
        let Some(list) = args.get(name).and_then(Value::as_array) else { return Ok(Vec::new()) };
        let one = |path: &Value| path.as_str().map(Path::new).ok_or(format!("{name} has no paths"));
        list.iter().map(one).collect()
    };
    Ok(Arc::new(SetWatches {
        relative_zxid: Zxid(args.get("relative_zxid").and_then(Value::as_i64).unwrap_or(0)),
        data: list("data")?,
        exist: list("exist")?,
        child: list("child")?,
        persistent: list("persistent")?,
        persistent_recursive: list("persistent_recursive")?,
    }))
}

fn path(args: &Value, name: &str) -> Result<Path, Unread> {
    let text = args.get(name).and_then(Value::as_str);
    text.map(Path::new).ok_or_else(|| format!("{name} is no text in {args}"))
}

fn number(args: &Value, name: &str) -> Option<i32> {
    args.get(name).and_then(Value::as_i64).and_then(|number| i32::try_from(number).ok())
}

/// A name from the table, or the raw number.
fn coded(args: &Value, name: &str, table: &[(&str, i32)]) -> Result<i32, Unread> {
    match args.get(name) {
        Some(Value::String(text)) => {
            let row = table.iter().find(|row| row.0 == text);
            row.map(|row| row.1).ok_or_else(|| format!("no {name} {text}"))
        }
        _ => number(args, name).ok_or_else(|| format!("{name} is no number in {args}")),
    }
}

/// Bytes of an argument; absent ones are empty.
fn data(args: &Value) -> Result<Bytes, Unread> {
    args.get("data").map_or(Ok(Bytes::from("")), bytes)
}

fn bytes(value: &Value) -> Result<Bytes, Unread> {
    if let Some(hex) = value.get("hex").and_then(Value::as_str) {
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).map_err(|error| error.to_string());
        let bytes: Result<Vec<u8>, Unread> = (0..hex.len()).step_by(2).map(byte).collect();
        return Ok(Bytes::from(bytes?));
    }
    match spelled_out(value) {
        Value::String(text) => Ok(Bytes::from(text.as_str())),
        Value::Null => Ok(Bytes::NULL),
        other => Err(format!("no data: {other}")),
    }
}

/// The value with repeated characters spelled out, so that equal data compare equal.
pub fn spelled_out(value: &Value) -> Value {
    match value {
        Value::Object(map) => match (map.get("fill"), map.get("len").and_then(Value::as_u64)) {
            (Some(Value::String(fill)), Some(len)) => Value::String(fill.repeat(len as usize)),
            _ => map.iter().map(|(key, value)| (key.clone(), spelled_out(value))).collect(),
        },
        Value::Array(list) => list.iter().map(spelled_out).collect(),
        other => other.clone(),
    }
}

fn acl(args: &Value) -> Result<Acl, Unread> {
    match args.get("acl") {
        None => Ok(Acl::open()),
        Some(Value::Null) => Ok(Acl::new(Vec::new())),
        Some(Value::String(short)) => match short.as_str() {
            "open" => Ok(Acl::open()),
            "read" => Ok(Acl::world(Perms::READ)),
            "creator" => Ok(Acl::new(vec![entry("auth::cdrwa")?])),
            _ => Err(format!("no ACL {short}")),
        },
        Some(Value::Array(list)) => {
            let one = |value: &Value| entry(value.as_str().ok_or("an ACL entry is a text")?);
            Ok(Acl::new(list.iter().map(one).collect::<Result<_, Unread>>()?))
        }
        Some(other) => Err(format!("no ACL: {other}")),
    }
}

fn entry(text: &str) -> Result<Entry, Unread> {
    let unread = || format!("no ACL entry: {text}");
    let (scheme, rest) = text.split_once(':').ok_or_else(unread)?;
    let (id, perms) = rest.rsplit_once(':').ok_or_else(unread)?;
    let perms = match perms.parse::<i32>() {
        Ok(mask) => Perms(mask),
        Err(_) => Perms::parse(perms).ok_or_else(unread)?,
    };
    Ok(Entry { perms, who: AuthId::new(scheme, id) })
}

/// Who made a session: the label of a client, or nobody.
pub trait Labels {
    fn label(&self, session: SessionId) -> Option<&str>;
}

/// The body of a reply; null if there is none.
pub fn answer(answer: &Answer, labels: &dyn Labels) -> Value {
    let stat = |stat: &Stat| self::stat(stat, labels);
    match answer {
        Answer::Nothing => Value::Null,
        Answer::Path(path) => json!({"path": path.as_str()}),
        Answer::Created { path, stat: s } => json!({"path": path.as_str(), "stat": stat(s)}),
        Answer::Stat(s) => json!({"stat": stat(s)}),
        Answer::Data { data, stat: s } => json!({"data": written(data), "stat": stat(s)}),
        Answer::Acl { acl, stat: s } => json!({"acl": entries(acl), "stat": stat(s)}),
        Answer::Children(names) => json!({"children": texts(names)}),
        Answer::Children2 { children, stat: s } => {
            json!({"children": texts(children), "stat": stat(s)})
        }
        Answer::Paths(paths) => {
            json!({"paths": paths.iter().map(|path| path.as_str()).collect::<Vec<_>>()})
        }
        Answer::Number(number) => json!({"number": number}),
        Answer::Info(ids) => {
            json!({"info": ids.iter().map(|id| json!([*id.scheme, *id.id])).collect::<Vec<_>>()})
        }
        Answer::Results(results) => {
            json!({"results": results.iter().map(|r| op_result(r, labels)).collect::<Vec<_>>()})
        }
    }
}

fn op_result(result: &OpResult, labels: &dyn Labels) -> Value {
    let ok = |op: &str, body: Value| {
        let mut all = Map::from_iter([("op".into(), json!(op)), ("err".into(), json!("ok"))]);
        if let Value::Object(body) = body {
            all.extend(body);
        }
        Value::Object(all)
    };
    match result {
        OpResult::Error(error) => json!({"err": error.map_or("ok", Error::name)}),
        OpResult::Created { kind: CreateKind::Create, answer } => {
            ok("create", self::answer(answer, labels))
        }
        OpResult::Created { answer, .. } => ok("create2", self::answer(answer, labels)),
        OpResult::Deleted => ok("delete", Value::Null),
        OpResult::Set(stat) => ok("setData", json!({"stat": self::stat(stat, labels)})),
        OpResult::Checked => ok("check", Value::Null),
        OpResult::Read(answer @ Answer::Data { .. }) => ok("getData", self::answer(answer, labels)),
        OpResult::Read(answer) => ok("getChildren", self::answer(answer, labels)),
    }
}

fn texts(names: &[Arc<str>]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}

fn stat(stat: &Stat, labels: &dyn Labels) -> Value {
    json!({
        "czxid": stat.czxid.0, "mzxid": stat.mzxid.0, "pzxid": stat.pzxid.0,
        "version": stat.version, "cversion": stat.cversion, "aversion": stat.aversion,
        "ephemeralOwner": labels.label(stat.ephemeral_owner),
        "dataLength": stat.data_length, "numChildren": stat.num_children,
    })
}

fn written(data: &Bytes) -> Value {
    let bytes = data.as_slice();
    match std::str::from_utf8(bytes) {
        _ if data.is_null() => Value::Null,
        Ok(text) => json!(text),
        Err(_) => json!({"hex": bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()}),
    }
}

fn entries(acl: &Acl) -> Vec<String> {
    acl.entries().iter().map(|entry| format!("{}:{}", entry.who, entry.perms)).collect()
}

/// A notification.
pub fn event(event: &WatchEvent) -> Value {
    json!([event.kind.name(), "SyncConnected", event.path.as_str()])
}

/// A txn as the log is written down.
pub fn txn(txn: &Txn, labels: &dyn Labels) -> Value {
    let mut row = vec![json!(txn.zxid.0), json!(txn.body.name())];
    row.push(json!(labels.label(txn.session).unwrap_or("server")));
    match &txn.body {
        TxnBody::CreateSession { .. } => {}
        TxnBody::CloseSession { paths } => {
            row.push(json!(paths.iter().map(|path| path.as_str()).collect::<Vec<_>>()));
        }
        TxnBody::Multi(parts) => {
            row.push(json!(parts.iter().map(|part| part.name()).collect::<Vec<_>>()));
        }
        TxnBody::Error(error) => row.push(json!(error.name())),
        body => row.push(json!(body.path().map(|path| path.as_str()))),
    }
    Value::Array(row)
}

/// A znode as the final tree lists it.
pub fn znode(path: &Path, znode: &Znode, labels: &dyn Labels) -> Value {
    let stat = stat(&znode.shown_stat(), labels);
    let mut row = json!({"path": path.as_str(), "data": written(&znode.data), "stat": stat});
    if !znode.acl.is_open() {
        row["acl"] = json!(entries(&znode.acl));
    }
    row
}
