//! What a client asks of a server: every operation with its arguments as they go over the wire.
//!
//! Nothing is checked here: modes, versions and paths are whatever the client sent.
//!
//! *Invariant: `Op::code` is the operation code of ZooKeeper's protocol.*

use std::sync::Arc;

use super::acl::Acl;
use super::path::Path;
use super::release::Release;
use super::stat::{Bytes, Millis};
use super::zxid::Zxid;

/// The four requests that create a znode. They differ in their reply and in what they allow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CreateKind {
    /// Answers with the path.
    Create,
    /// Answers with path and Stat.
    Create2,
    /// Creates a container.
    Container,
    /// Creates a znode with a TTL.
    Ttl,
}

/// `flags` of a create request.
// Source: CreateMode.
pub mod mode {
    /// Until deleted.
    pub const PERSISTENT: i32 = 0;
    /// Until its session ends.
    pub const EPHEMERAL: i32 = 1;
    /// Until deleted, with a number.
    pub const PERSISTENT_SEQUENTIAL: i32 = 2;
    /// Until its session ends, with a number.
    pub const EPHEMERAL_SEQUENTIAL: i32 = 3;
    /// Until some time after its last child was deleted.
    pub const CONTAINER: i32 = 4;
    /// Until childless and unmodified for some time.
    pub const TTL: i32 = 5;
    /// The same, with a number.
    pub const TTL_SEQUENTIAL: i32 = 6;
}

/// Arguments of create, create2, createContainer and createTTL.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Create {
    /// Which of the four requests.
    pub kind: CreateKind,
    /// Where; a number is appended if the mode is sequential.
    pub path: Path,
    /// The first data.
    pub data: Bytes,
    /// Who may do what.
    pub acl: Acl,
    /// The mode, see [`mode`].
    pub flags: i32,
    /// For TTL modes.
    pub ttl: Millis,
}

impl Create {
    /// A plain create, open to everyone.
    pub fn new(path: impl Into<Path>, data: impl Into<Bytes>, flags: i32) -> Create {
        Create {
            kind: CreateKind::Create,
            path: path.into(),
            data: data.into(),
            acl: Acl::open(),
            flags,
            ttl: Millis(0),
        }
    }
}

/// What setWatches and setWatches2 ask for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SetWatches {
    /// What the client had last seen.
    pub relative_zxid: Zxid,
    /// Watches on data of znodes that were there.
    pub data: Vec<Path>,
    /// Watches on znodes that were missing.
    pub exist: Vec<Path>,
    /// Watches on children.
    pub child: Vec<Path>,
    /// Persistent watches; only setWatches2 has them.
    pub persistent: Vec<Path>,
    /// Persistent recursive watches; only setWatches2 has them.
    pub persistent_recursive: Vec<Path>,
}

impl SetWatches {
    /// Is there nothing to arm?
    pub fn is_empty(&self) -> bool {
        self.paths().next().is_none()
    }

    /// Does it need setWatches2?
    pub fn needs_second(&self) -> bool {
        !(self.persistent.is_empty() && self.persistent_recursive.is_empty())
    }

    /// All paths in it.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let first = self.data.iter().chain(&self.exist).chain(&self.child);
        first.chain(&self.persistent).chain(&self.persistent_recursive)
    }
}

/// `mode` of addWatch.
pub mod watch_mode {
    /// Stays until removed.
    pub const PERSISTENT: i32 = 0;
    /// Stays, and covers everything below.
    pub const PERSISTENT_RECURSIVE: i32 = 1;
}

/// `type` of removeWatches and checkWatches.
// Source: Watcher.WatcherType.
pub mod watcher_type {
    /// Watches on children.
    pub const CHILDREN: i32 = 1;
    /// Watches on data.
    pub const DATA: i32 = 2;
    /// Both.
    pub const ANY: i32 = 3;
}

/// One request without its header.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Op {
    /// create, create2, createContainer, createTTL.
    Create(Arc<Create>),
    /// Of a childless znode; `version` -1 means any.
    Delete {
        path: Path,
        version: i32,
    },
    /// The server's own removal of containers and TTL znodes.
    DeleteContainer {
        path: Path,
    },
    /// `version` -1 means any.
    SetData {
        path: Path,
        data: Bytes,
        version: i32,
    },
    /// `version` is the aversion; -1 means any.
    SetAcl {
        path: Path,
        acl: Acl,
        version: i32,
    },
    /// Only within a multi.
    Check {
        path: Path,
        version: i32,
    },
    /// All or nothing.
    Multi(Arc<[Op]>),
    /// The server's own, for a new client.
    CreateSession {
        timeout: Millis,
    },
    /// By the client, or by the server when the session expires.
    CloseSession,
    Exists {
        path: Path,
        watch: bool,
    },
    GetData {
        path: Path,
        watch: bool,
    },
    GetAcl {
        path: Path,
    },
    GetChildren {
        path: Path,
        watch: bool,
    },
    GetChildren2 {
        path: Path,
        watch: bool,
    },
    /// getData and getChildren; each has its own outcome.
    MultiRead(Arc<[Op]>),
    /// The caller's own that start with `prefix`.
    GetEphemerals {
        prefix: Path,
    },
    /// Counts all descendants.
    GetAllChildrenNumber {
        path: Path,
    },
    WhoAmI,
    /// See [`watch_mode`].
    AddWatch {
        path: Path,
        mode: i32,
    },
    /// See [`watcher_type`].
    RemoveWatches {
        path: Path,
        kind: i32,
    },
    /// See [`watcher_type`].
    CheckWatches {
        path: Path,
        kind: i32,
    },
    /// setWatches or setWatches2.
    SetWatches(Arc<SetWatches>),
    /// The path is only echoed.
    Sync {
        path: Path,
    },
    Auth {
        scheme: Path,
        auth: Bytes,
    },
    Ping,
    /// A body that cannot be read, of the operation with this code.
    Malformed {
        code: i32,
    },
    /// An operation code that does not exist.
    Unknown {
        code: i32,
    },
}

/// What an operation needs on its way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// Becomes a txn, prepared by the leader.
    Write,
    /// Answered by the server that the client is connected to.
    Read,
    /// Goes through the leader, but makes no txn.
    Sync,
    /// Concerns the connection only.
    Connection,
    /// Refused before anything else.
    Invalid,
}

impl Op {
    /// What it needs on its way.
    // Source: Request.isValid, Request.isQuorum, CommitProcessor.needCommit.
    pub fn class(&self) -> Class {
        match self {
            Op::Auth { .. } => Class::Connection,
            Op::Sync { .. } => Class::Sync,
            Op::Unknown { .. } => Class::Invalid,
            Op::Malformed { code } if is_write_code(*code) => Class::Write,
            op if is_write_code(op.code()) => Class::Write,
            _ => Class::Read,
        }
    }

    /// The same on a server that may not know it.
    // Source: Request.isValid, ZooKeeperServer.submitRequest.
    pub fn class_in(&self, release: Release) -> Class {
        if release.has_operation(self.code()) { self.class() } else { Class::Invalid }
    }

    /// The operation code.
    // Source: ZooDefs.OpCode.
    pub fn code(&self) -> i32 {
        match self {
            Op::Create(create) => create.kind.code(),
            Op::Delete { .. } => 2,
            Op::Exists { .. } => 3,
            Op::GetData { .. } => 4,
            Op::SetData { .. } => 5,
            Op::GetAcl { .. } => 6,
            Op::SetAcl { .. } => 7,
            Op::GetChildren { .. } => 8,
            Op::Sync { .. } => 9,
            Op::Ping => 11,
            Op::GetChildren2 { .. } => 12,
            Op::Check { .. } => 13,
            Op::Multi(_) => 14,
            Op::CheckWatches { .. } => 17,
            Op::RemoveWatches { .. } => 18,
            Op::DeleteContainer { .. } => 20,
            Op::MultiRead(_) => 22,
            Op::Auth { .. } => 100,
            Op::SetWatches(set) if set.needs_second() => 105,
            Op::SetWatches(_) => 101,
            Op::GetEphemerals { .. } => 103,
            Op::GetAllChildrenNumber { .. } => 104,
            Op::AddWatch { .. } => 106,
            Op::WhoAmI => 107,
            Op::CreateSession { .. } => -10,
            Op::CloseSession => -11,
            Op::Malformed { code } | Op::Unknown { code } => *code,
        }
    }

    /// Its name in the protocol.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Create(create) => create.kind.name(),
            Op::Delete { .. } => "delete",
            Op::DeleteContainer { .. } => "deleteContainer",
            Op::SetData { .. } => "setData",
            Op::SetAcl { .. } => "setACL",
            Op::Check { .. } => "check",
            Op::Multi(_) => "multi",
            Op::CreateSession { .. } => "createSession",
            Op::CloseSession => "closeSession",
            Op::Exists { .. } => "exists",
            Op::GetData { .. } => "getData",
            Op::GetAcl { .. } => "getACL",
            Op::GetChildren { .. } => "getChildren",
            Op::GetChildren2 { .. } => "getChildren2",
            Op::MultiRead(_) => "multiRead",
            Op::GetEphemerals { .. } => "getEphemerals",
            Op::GetAllChildrenNumber { .. } => "getAllChildrenNumber",
            Op::WhoAmI => "whoAmI",
            Op::AddWatch { .. } => "addWatch",
            Op::RemoveWatches { .. } => "removeWatches",
            Op::CheckWatches { .. } => "checkWatches",
            Op::SetWatches(_) => "setWatches",
            Op::Sync { .. } => "sync",
            Op::Auth { .. } => "auth",
            Op::Ping => "ping",
            Op::Malformed { .. } => "malformed",
            Op::Unknown { .. } => "unknown",
        }
    }

    /// The path it is about, if it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Op::Create(create) => Some(&create.path),
            Op::Delete { path, .. } | Op::DeleteContainer { path } => Some(path),
            Op::SetData { path, .. } | Op::SetAcl { path, .. } | Op::Check { path, .. } => {
                Some(path)
            }
            Op::Exists { path, .. } | Op::GetData { path, .. } | Op::GetAcl { path } => Some(path),
            Op::GetChildren { path, .. } | Op::GetChildren2 { path, .. } => Some(path),
            Op::GetEphemerals { prefix: path } | Op::GetAllChildrenNumber { path } => Some(path),
            Op::AddWatch { path, .. } | Op::Sync { path } => Some(path),
            Op::RemoveWatches { path, .. } | Op::CheckWatches { path, .. } => Some(path),
            _ => None,
        }
    }

    /// The length of the request's frame in bytes, which a server limits.
    pub fn frame_len(&self) -> u64 {
        8 + self.body_len()
    }

    /// The length of its jute record, near enough for the limit: exact for what can be long.
    fn body_len(&self) -> u64 {
        let text = |path: &str| 4 + path.len() as u64;
        let buffer = |data: &Bytes| 4 + data.as_slice().len() as u64;
        match self {
            Op::Create(c) => text(&c.path) + buffer(&c.data) + c.acl.wire_len() + 4,
            Op::SetData { path, data, .. } => text(path) + buffer(data) + 4,
            Op::SetAcl { path, acl, .. } => text(path) + acl.wire_len() + 4,
            Op::Multi(ops) | Op::MultiRead(ops) => {
                ops.iter().map(|op| 9 + op.body_len()).sum::<u64>() + 9
            }
            Op::SetWatches(set) => 8 + 12 + set.paths().map(|path| text(path)).sum::<u64>(),
            Op::Auth { scheme, auth } => 4 + text(scheme) + buffer(auth),
            op => op.path().map_or(0, |path| text(path)) + 4,
        }
    }
}

/// Is this the code of an operation that becomes a txn?
fn is_write_code(code: i32) -> bool {
    matches!(code, 1 | 2 | 5 | 7 | 13 | 14 | 15 | 16 | 19 | 20 | 21 | -10 | -11)
}

impl CreateKind {
    /// The operation code.
    pub fn code(self) -> i32 {
        match self {
            CreateKind::Create => 1,
            CreateKind::Create2 => 15,
            CreateKind::Container => 19,
            CreateKind::Ttl => 21,
        }
    }

    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            CreateKind::Create => "create",
            CreateKind::Create2 => "create2",
            CreateKind::Container => "createContainer",
            CreateKind::Ttl => "createTTL",
        }
    }
}

/// The 16 bytes by which a server knows a session's owner.
///
/// Real: 16 bytes of java.util.Random seeded with the session id; here the session id mixed into
/// 64 bits, because a password only has to be the same on every server and hard to hit by accident.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Password(pub u64);

/// The first message on a connection.
// Source: ConnectRequest.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Connect {
    /// The last zxid the client has seen.
    pub last_zxid: Zxid,
    /// The session timeout it would like.
    pub timeout: Millis,
    /// The session to continue, or none.
    pub session: super::stat::SessionId,
    /// Proof that it is the client's session.
    pub password: Password,
    /// Is the client content with reads, if there is no quorum?
    pub can_be_read_only: bool,
}
