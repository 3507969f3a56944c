//! Transactions: what the leader makes of a request, what is logged, and what all servers apply.
//!
//! How one is made is in `prep`, what it does in `apply`.
//!
//! *Invariant: applying a txn needs the tree and the txn, nothing else; every check has been done.*

use std::sync::Arc;

use super::acl::Acl;
use super::path::Path;
use super::reply::Error;
use super::request::CreateKind;
use super::stat::{Bytes, Millis, Owner, SessionId};
use super::zxid::Zxid;

/// One transaction. Logs, proposals and queues hold it in an `Arc`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Txn {
    /// Whose request it was; none for the server's own.
    pub session: SessionId,
    /// The request's number on its connection.
    pub cxid: i32,
    /// Its place in the order of all.
    pub zxid: Zxid,
    /// The leader's wall clock when it was prepared.
    pub time: Millis,
    /// What it does.
    pub body: TxnBody,
}

/// What a txn does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum TxnBody {
    CreateSession {
        timeout: Millis,
    },
    /// With the ephemerals to delete, in order.
    CloseSession {
        paths: Arc<[Path]>,
    },
    Create(Arc<CreateTxn>),
    Delete {
        path: Path,
    },
    /// Of a container or TTL znode whose time is over.
    DeleteContainer {
        path: Path,
    },
    /// `version` is the new one.
    SetData {
        path: Path,
        data: Bytes,
        version: i32,
    },
    /// `version` is the new aversion.
    SetAcl {
        path: Path,
        acl: Acl,
        version: i32,
    },
    /// Within a multi; it changes nothing.
    Check {
        path: Path,
    },
    /// A refused request is a txn as well.
    Error(Error),
    /// If any part is an error, none is applied; the parts before it keep their content.
    Multi(Arc<[TxnBody]>),
}

/// The creation of a znode.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CreateTxn {
    /// By which request.
    pub kind: CreateKind,
    /// With its number, if sequential.
    pub path: Path,
    /// The first data.
    pub data: Bytes,
    /// With every `auth` entry replaced.
    pub acl: Acl,
    /// Does it go with the session?
    pub ephemeral: bool,
    /// How many children the parent will have created, this one included.
    pub parent_creations: i32,
    /// For TTL znodes.
    pub ttl: Millis,
}

impl CreateTxn {
    /// How long the znode lives, if `session` creates it.
    // Source: DataTree.processTxn (cases create, create2, createContainer, createTTL).
    pub fn owner(&self, session: SessionId) -> Owner {
        match self.kind {
            CreateKind::Container => Owner::Container,
            CreateKind::Ttl => Owner::Ttl(self.ttl),
            _ if self.ephemeral => Owner::Session(session),
            _ => Owner::Persistent,
        }
    }
}

impl TxnBody {
    /// Its name in the protocol.
    pub fn name(&self) -> &'static str {
        match self {
            TxnBody::CreateSession { .. } => "createSession",
            TxnBody::CloseSession { .. } => "closeSession",
            TxnBody::Create(create) => create.kind.name(),
            TxnBody::Delete { .. } => "delete",
            TxnBody::DeleteContainer { .. } => "deleteContainer",
            TxnBody::SetData { .. } => "setData",
            TxnBody::SetAcl { .. } => "setACL",
            TxnBody::Check { .. } => "check",
            TxnBody::Error(_) => "error",
            TxnBody::Multi(_) => "multi",
        }
    }

    /// The path it is about, if it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            TxnBody::Create(create) => Some(&create.path),
            TxnBody::Delete { path }
            | TxnBody::DeleteContainer { path }
            | TxnBody::SetData { path, .. }
            | TxnBody::SetAcl { path, .. }
            | TxnBody::Check { path } => Some(path),
            _ => None,
        }
    }

    /// Is it the refusal of a request, or of a whole multi?
    pub fn is_refusal(&self) -> bool {
        match self {
            TxnBody::Error(_) => true,
            TxnBody::Multi(parts) => parts.iter().any(|part| matches!(part, TxnBody::Error(_))),
            _ => false,
        }
    }
}
