//! What a server answers: error codes, bodies of replies, and watch events.
//!
//! *Invariant: an error code means the same number as in ZooKeeper's protocol.*

use std::fmt;
use std::sync::Arc;

use super::acl::{Acl, AuthId};
use super::path::Path;
use super::request::{CreateKind, Password};
use super::stat::{Bytes, Millis, SessionId, Stat};

/// Why a request was refused.
// Source: KeeperException.Code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum Error {
    SystemError,
    RuntimeInconsistency,
    DataInconsistency,
    ConnectionLoss,
    MarshallingError,
    Unimplemented,
    OperationTimeout,
    BadArguments,
    UnknownSession,
    NewConfigNoQuorum,
    ReconfigInProgress,
    NoNode,
    NoAuth,
    BadVersion,
    NoChildrenForEphemerals,
    NodeExists,
    NotEmpty,
    SessionExpired,
    InvalidCallback,
    InvalidAcl,
    AuthFailed,
    SessionMoved,
    NotReadOnly,
    EphemeralOnLocalSession,
    NoWatcher,
    RequestTimeout,
    ReconfigDisabled,
    SessionClosedRequireSaslAuth,
    QuotaExceeded,
    Throttled,
}

/// Codes and names of all errors.
const ERRORS: &[(Error, i32, &str)] = &[
    (Error::SystemError, -1, "SystemError"),
    (Error::RuntimeInconsistency, -2, "RuntimeInconsistency"),
    (Error::DataInconsistency, -3, "DataInconsistency"),
    (Error::ConnectionLoss, -4, "ConnectionLoss"),
    (Error::MarshallingError, -5, "MarshallingError"),
    (Error::Unimplemented, -6, "Unimplemented"),
    (Error::OperationTimeout, -7, "OperationTimeout"),
    (Error::BadArguments, -8, "BadArguments"),
    (Error::UnknownSession, -12, "UnknownSession"),
    (Error::NewConfigNoQuorum, -13, "NewConfigNoQuorum"),
    (Error::ReconfigInProgress, -14, "ReconfigInProgress"),
    (Error::NoNode, -101, "NoNode"),
    (Error::NoAuth, -102, "NoAuth"),
    (Error::BadVersion, -103, "BadVersion"),
    (Error::NoChildrenForEphemerals, -108, "NoChildrenForEphemerals"),
    (Error::NodeExists, -110, "NodeExists"),
    (Error::NotEmpty, -111, "NotEmpty"),
    (Error::SessionExpired, -112, "SessionExpired"),
    (Error::InvalidCallback, -113, "InvalidCallback"),
    (Error::InvalidAcl, -114, "InvalidACL"),
    (Error::AuthFailed, -115, "AuthFailed"),
    (Error::SessionMoved, -118, "SessionMoved"),
    (Error::NotReadOnly, -119, "NotReadOnly"),
    (Error::EphemeralOnLocalSession, -120, "EphemeralOnLocalSession"),
    (Error::NoWatcher, -121, "NoWatcher"),
    (Error::RequestTimeout, -122, "RequestTimeout"),
    (Error::ReconfigDisabled, -123, "ReconfigDisabled"),
    (Error::SessionClosedRequireSaslAuth, -124, "SessionClosedRequireSaslAuth"),
    (Error::QuotaExceeded, -125, "QuotaExceeded"),
    (Error::Throttled, -127, "Throttled"),
];

impl Error {
    /// Its number in the protocol.
    pub fn code(self) -> i32 {
        self.row().1
    }

    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (Error, i32, &'static str) {
        ERRORS.get(self as usize).expect("the table has every error")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kinds of change that a watch can tell. The order is that of their numbers, from 1.
// Source: Watcher.Event.EventType.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EventKind {
    /// It is there now.
    NodeCreated,
    /// It is gone.
    NodeDeleted,
    /// Its data was set.
    NodeDataChanged,
    /// A child came or went.
    NodeChildrenChanged,
}

impl EventKind {
    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::NodeCreated => "NodeCreated",
            EventKind::NodeDeleted => "NodeDeleted",
            EventKind::NodeDataChanged => "NodeDataChanged",
            EventKind::NodeChildrenChanged => "NodeChildrenChanged",
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a watch tells. Its state is always SyncConnected: other states are made up by clients.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WatchEvent {
    /// What happened.
    pub kind: EventKind,
    /// To which znode.
    pub path: Path,
}

/// The answer to the first message on a connection. A timeout of 0 refuses the session.
// Source: ConnectResponse.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ConnectReply {
    /// As negotiated; 0 if the session cannot be continued.
    pub timeout: Millis,
    /// The session.
    pub session: SessionId,
    /// To continue it later.
    pub password: Password,
    /// What the server takes.
    pub access: Access,
}

/// What a server that serves takes. `isro` spells it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Access {
    /// Reads and writes.
    #[default]
    ReadWrite,
    /// Reads, because it has no quorum.
    ReadOnly,
}

/// The body of a reply; which one depends on the request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Answer {
    /// No body.
    Nothing,
    /// create, sync.
    Path(Path),
    /// create2, createContainer, createTTL.
    Created { path: Path, stat: Stat },
    /// exists, setData, setACL.
    Stat(Stat),
    /// getData.
    Data { data: Bytes, stat: Stat },
    /// getACL.
    Acl { acl: Acl, stat: Stat },
    /// getChildren; sorted.
    Children(Arc<[Arc<str>]>),
    /// getChildren2; sorted.
    Children2 { children: Arc<[Arc<str>]>, stat: Stat },
    /// getEphemerals; sorted.
    Paths(Arc<[Path]>),
    /// getAllChildrenNumber.
    Number(i32),
    /// whoAmI: scheme and user.
    Info(Arc<[AuthId]>),
    /// multi and multiRead.
    Results(Arc<[OpResult]>),
}

/// The outcome of one part of a multi or multiRead.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OpResult {
    /// It was refused, or not tried; `None` is the ok of a part before the one that failed.
    Error(Option<Error>),
    /// A create.
    Created {
        /// By which request.
        kind: CreateKind,
        /// The path and, but for plain create, the Stat.
        answer: Answer,
    },
    /// A delete.
    Deleted,
    /// A setData.
    Set(Stat),
    /// A check.
    Checked,
    /// A getData or getChildren.
    Read(Answer),
}

#[cfg(test)]
mod tests {
    use super::ERRORS;

    #[test]
    fn the_table_of_errors_is_in_the_order_of_the_enum() {
        for (place, row) in ERRORS.iter().enumerate() {
            assert_eq!(row.0 as usize, place);
            assert_eq!(format!("{:?}", row.0).to_lowercase(), row.2.to_lowercase());
        }
    }
}
