//! What a txn does to a database: the change, the watches that fire, the answer.
//!
//! *Invariant: applying cannot fail. On replay over a newer snapshot a txn may not fit; it is then
//! passed over, as far as counters allow.*

use std::sync::Arc;

use super::acl::Acl;
use super::database::Database;
use super::path::{self, Path};
use super::reply::{Answer, Error, EventKind, OpResult, WatchEvent};
use super::request::CreateKind;
use super::stat::{Bytes, SessionId};
use super::tree::{Misfit, NewZnode};
use super::txn::{CreateTxn, Txn, TxnBody};
use super::watch::ConnectionId;

/// A watch that has fired. It is sent only to those who may read the znode.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fired {
    /// Whose watch it was.
    pub to: ConnectionId,
    /// What it tells.
    pub event: WatchEvent,
    /// Who may read the znode that it is about, as its ACL was just before.
    // Source: ZOOKEEPER-4799.
    pub acl: Acl,
}

/// What has come of a txn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Applied {
    /// What the one who asked for it is answered.
    pub result: Result<Answer, Error>,
    /// Watches, in the order in which they fired.
    pub fired: Vec<Fired>,
}

impl Database {
    /// Applies one txn.
    // Source: DataTree.processTxn, ZKDatabase.processTxn, ZooKeeperServer.processTxn.
    pub fn apply(&mut self, txn: &Txn) -> Applied {
        let mut change = Change { database: self, txn, fired: Vec::new() };
        let result = change.body(&txn.body);
        let fired = change.fired;
        self.last_zxid = self.last_zxid.max(txn.zxid);
        Applied { result, fired }
    }
}

/// A txn being applied.
struct Change<'a> {
    database: &'a mut Database,
    txn: &'a Txn,
    fired: Vec<Fired>,
}

impl Change<'_> {
    fn body(&mut self, body: &TxnBody) -> Result<Answer, Error> {
        match body {
            TxnBody::CreateSession { timeout } => {
                self.database.sessions.insert(self.txn.session, *timeout);
                Ok(Answer::Nothing)
            }
            TxnBody::CloseSession { paths } => self.close_session(self.txn.session, paths),
            TxnBody::Create(create) => self.create(create),
            TxnBody::Delete { path } | TxnBody::DeleteContainer { path } => self.delete(path),
            TxnBody::SetData { path, data, version } => self.set_data(path, data, *version),
            TxnBody::SetAcl { path, acl, version } => {
                let stat = self.database.tree.set_acl(path, acl.clone(), *version);
                stat.map(Answer::Stat).map_err(Error::from)
            }
            TxnBody::Check { .. } => Ok(Answer::Nothing),
            TxnBody::Error(error) => Err(*error),
            TxnBody::Multi(parts) => Ok(Answer::Results(self.multi(parts))),
        }
    }

    // Source: DataTree.createNode.
    fn create(&mut self, create: &CreateTxn) -> Result<Answer, Error> {
        let new = NewZnode {
            path: create.path.clone(),
            data: create.data.clone(),
            acl: create.acl.clone(),
            owner: create.owner(self.txn.session),
            parent_creations: create.parent_creations,
        };
        let stat = self.database.tree.create(new, self.txn.zxid, self.txn.time)?;
        self.fire_data(EventKind::NodeCreated, &create.path, &create.acl);
        self.fire_children_of_parent(&create.path);
        Ok(match create.kind {
            CreateKind::Create => Answer::Path(create.path.clone()),
            _ => Answer::Created { path: create.path.clone(), stat },
        })
    }

    // Source: DataTree.deleteNode.
    fn delete(&mut self, path: &Path) -> Result<Answer, Error> {
        let acl = self.database.tree.delete(path, self.txn.zxid)?;
        let told = self.fire_data(EventKind::NodeDeleted, path, &acl);
        let children = &mut self.database.child_watches;
        let mut rest = children.trigger(path, EventKind::NodeDeleted);
        rest.retain(|connection| !told.contains(connection));
        self.note(&rest, EventKind::NodeDeleted, path, &acl);
        self.fire_children_of_parent(path);
        Ok(Answer::Nothing)
    }

    // Source: DataTree.setData.
    fn set_data(&mut self, path: &Path, data: &Bytes, version: i32) -> Result<Answer, Error> {
        let (zxid, time) = (self.txn.zxid, self.txn.time);
        let stat = self.database.tree.set_data(path, (data.clone(), version), zxid, time)?;
        if !self.database.data_watches.is_empty() {
            let acl = self.acl_of(path);
            self.fire_data(EventKind::NodeDataChanged, path, &acl);
        }
        Ok(Answer::Stat(stat))
    }

    /// Deletes what the txn lists, then what else the session has.
    // Source: DataTree.killSession.
    fn close_session(&mut self, session: SessionId, paths: &[Path]) -> Result<Answer, Error> {
        self.database.sessions.remove(&session);
        let left = self.database.tree.ephemerals(session).cloned();
        for path in paths {
            // A misfit is a znode that a newer snapshot no longer has.
            let _ = self.delete(path);
        }
        for path in left.iter().flat_map(|left| left.in_order()) {
            if !paths.contains(&path) {
                let _ = self.delete(&path);
            }
        }
        self.database.tree.forget_session(session);
        Ok(Answer::Nothing)
    }

    /// Applies all parts, or none if one is an error.
    // Source: DataTree.processTxn (case multi).
    fn multi(&mut self, parts: &[TxnBody]) -> Arc<[OpResult]> {
        let culprit = parts.iter().position(|part| matches!(part, TxnBody::Error(_)));
        let each = parts.iter().enumerate();
        each.map(|(place, part)| match (culprit, part) {
            (Some(culprit), _) if place < culprit => OpResult::Error(None),
            (Some(_), TxnBody::Error(error)) => OpResult::Error(Some(*error)),
            (Some(_), _) => OpResult::Error(Some(Error::RuntimeInconsistency)),
            (None, part) => self.part(part),
        })
        .collect()
    }

    fn part(&mut self, part: &TxnBody) -> OpResult {
        match (part, self.body(part)) {
            (_, Err(error)) => OpResult::Error(Some(error)),
            (TxnBody::Create(create), Ok(answer)) => {
                OpResult::Created { kind: create.kind, answer }
            }
            (TxnBody::SetData { .. }, Ok(Answer::Stat(stat))) => OpResult::Set(stat),
            (TxnBody::Check { .. }, Ok(_)) => OpResult::Checked,
            (_, Ok(_)) => OpResult::Deleted,
        }
    }

    fn fire_data(&mut self, kind: EventKind, path: &Path, acl: &Acl) -> Vec<ConnectionId> {
        let told = self.database.data_watches.trigger(path, kind);
        self.note(&told, kind, path, acl);
        told
    }

    fn fire_children_of_parent(&mut self, path: &Path) {
        if self.database.child_watches.is_empty() {
            return;
        }
        let kind = EventKind::NodeChildrenChanged;
        let parent = path::parent(path).map(Path::new).expect("only the root has no parent");
        let told = self.database.child_watches.trigger(&parent, kind);
        if !told.is_empty() {
            let acl = self.acl_of(&parent);
            self.note(&told, kind, &parent, &acl);
        }
    }

    fn note(&mut self, told: &[ConnectionId], kind: EventKind, path: &Path, acl: &Acl) {
        let guarded = self.database.tree.release().events_are_guarded();
        let acl = if guarded { acl.clone() } else { Acl::open() };
        self.fired.extend(told.iter().map(|to| {
            let event = WatchEvent { kind, path: path.clone() };
            Fired { to: *to, event, acl: acl.clone() }
        }));
    }

    fn acl_of(&self, path: &str) -> Acl {
        self.database.tree.znode(path).map_or(Acl::open(), |znode| znode.acl.clone())
    }
}

impl From<Misfit> for Error {
    fn from(misfit: Misfit) -> Error {
        match misfit {
            Misfit::NoNode => Error::NoNode,
            Misfit::NodeExists => Error::NodeExists,
        }
    }
}
