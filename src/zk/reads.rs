//! Reads: what a server answers from what it has, and the watches that are armed on the way.
//!
//! *Invariant: a read changes nothing but the caller's own watches. A refused one arms none, but
//! for `exists` on a missing znode.*

use std::sync::Arc;

use super::acl::{Acl, AuthId, Perms};
use super::apply::Fired;
use super::database::Database;
use super::path::Path;
use super::reply::{Answer, Error, EventKind, OpResult, WatchEvent};
use super::request::{Op, SetWatches, watch_mode, watcher_type};
use super::stat::SessionId;
use super::tree::Znode;
use super::watch::{ConnectionId, WatchMode};
use crate::sim::sort;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// Where watches tell.
    pub connection: ConnectionId,
    /// Its session.
    pub session: SessionId,
    /// Who it has proved to be.
    pub ids: &'a [AuthId],
}

impl Database {
    /// Answers a read.
    // Source: FinalRequestProcessor.processRequest.
    pub fn read(&mut self, op: &Op, caller: Caller<'_>) -> Result<Answer, Error> {
        match op {
            Op::Exists { path, watch } => self.exists(path, *watch, caller),
            Op::GetData { path, .. }
            | Op::GetChildren { path, .. }
            | Op::GetChildren2 { path, .. } => {
                let answer = self.look(op, path, caller)?;
                self.arm_for(op, caller);
                Ok(answer)
            }
            Op::GetAcl { path } => self.get_acl(path, caller),
            Op::GetAllChildrenNumber { path } => {
                permit(self.znode(path)?, caller, Perms::READ)?;
                Ok(Answer::Number(self.tree.descendant_count(path)))
            }
            Op::GetEphemerals { prefix } => Ok(self.get_ephemerals(prefix, caller.session)),
            Op::MultiRead(ops) => Ok(self.multi_read(ops, caller)),
            Op::WhoAmI => Ok(Answer::Info(who_am_i(caller.ids))),
            Op::AddWatch { path, mode } => self.add_watch(path, *mode, caller.connection),
            Op::RemoveWatches { path, kind } => self.remove_watches(path, *kind, caller.connection),
            Op::CheckWatches { path, kind } => self.check_watches(path, *kind),
            Op::Sync { path } => Ok(Answer::Path(path.clone())),
            Op::Ping => Ok(Answer::Nothing),
            _ => Err(Error::MarshallingError),
        }
    }

    /// Arms watches again after a reconnect; what was missed is told at once instead.
    // Source: DataTree.setWatches.
    pub fn set_watches(&mut self, set: &SetWatches, connection: ConnectionId) -> Vec<Fired> {
        let mut missed = Vec::new();
        let guarded = self.tree.release().events_are_guarded();
        let mut tell = |kind, path: &Path, acl: Acl| {
            let acl = if guarded { acl } else { Acl::open() };
            let event = WatchEvent { kind, path: path.clone() };
            missed.push(Fired { to: connection, event, acl });
        };
        let seen = set.relative_zxid;
        for path in &set.data {
            match self.tree.znode(path) {
                None => tell(EventKind::NodeDeleted, path, Acl::open()),
                Some(znode) if znode.stat.mzxid > seen => {
                    tell(EventKind::NodeDataChanged, path, znode.acl.clone());
                }
                Some(_) => self.data_watches.arm(path, connection, WatchMode::OneShot),
            }
        }
        for path in &set.exist {
            match self.tree.znode(path) {
                None => self.data_watches.arm(path, connection, WatchMode::OneShot),
                Some(znode) => tell(EventKind::NodeCreated, path, znode.acl.clone()),
            }
        }
        for path in &set.child {
            match self.tree.znode(path) {
                None => tell(EventKind::NodeDeleted, path, Acl::open()),
                Some(znode) if znode.stat.pzxid > seen => {
                    tell(EventKind::NodeChildrenChanged, path, znode.acl.clone());
                }
                Some(_) => self.child_watches.arm(path, connection, WatchMode::OneShot),
            }
        }
        self.arm_both(&set.persistent, connection, WatchMode::Persistent);
        self.arm_both(&set.persistent_recursive, connection, WatchMode::Recursive);
        missed
    }

    fn arm_both(&mut self, paths: &[Path], connection: ConnectionId, mode: WatchMode) {
        for path in paths {
            self.data_watches.arm(path, connection, mode);
            self.child_watches.arm(path, connection, mode);
        }
    }

    // Source: FinalRequestProcessor.processRequest (case exists), ZOOKEEPER-2590.
    fn exists(&mut self, path: &Path, watch: bool, caller: Caller<'_>) -> Result<Answer, Error> {
        if path.contains('\0') {
            return Err(Error::BadArguments);
        }
        if self.tree.release().existence_is_guarded()
            && let Some(znode) = self.tree.znode(path)
        {
            permit(znode, caller, Perms::READ)?;
        }
        if watch {
            self.data_watches.arm(path, caller.connection, WatchMode::OneShot);
        }
        Ok(Answer::Stat(self.znode(path)?.shown_stat()))
    }

    /// The answer of getData, getChildren and getChildren2.
    fn look(&self, op: &Op, path: &str, caller: Caller<'_>) -> Result<Answer, Error> {
        let znode = self.znode(path)?;
        permit(znode, caller, Perms::READ)?;
        let stat = znode.shown_stat();
        Ok(match op {
            Op::GetData { .. } => Answer::Data { data: znode.data.clone(), stat },
            Op::GetChildren { .. } => Answer::Children(znode.child_names()),
            _ => Answer::Children2 { children: znode.child_names(), stat },
        })
    }

    fn arm_for(&mut self, op: &Op, caller: Caller<'_>) {
        match op {
            Op::GetData { path, watch: true } => {
                self.data_watches.arm(path, caller.connection, WatchMode::OneShot);
            }
            Op::GetChildren { path, watch: true } | Op::GetChildren2 { path, watch: true } => {
                self.child_watches.arm(path, caller.connection, WatchMode::OneShot);
            }
            _ => {}
        }
    }

    fn get_acl(&self, path: &str, caller: Caller<'_>) -> Result<Answer, Error> {
        let znode = self.znode(path)?;
        if !self.tree.release().acls_are_guarded() {
            return Ok(Answer::Acl { acl: znode.acl.clone(), stat: znode.shown_stat() });
        }
        permit(znode, caller, Perms(Perms::READ.0 | Perms::ADMIN.0))?;
        let acl = match permit(znode, caller, Perms::ADMIN) {
            Ok(()) => znode.acl.clone(),
            Err(_) => znode.acl.masked(),
        };
        Ok(Answer::Acl { acl, stat: znode.shown_stat() })
    }

    // Source: FinalRequestProcessor.processRequest (case getEphemerals).
    fn get_ephemerals(&self, prefix: &str, session: SessionId) -> Answer {
        let all = matches!(prefix.trim(), "" | "/");
        let own = self.tree.ephemerals(session).into_iter().flat_map(|own| own.sorted());
        let wanted = own.filter(|path| all || path.starts_with(prefix));
        Answer::Paths(wanted.cloned().collect())
    }

    /// Its parts arm no watches, whatever they ask for.
    // Source: Op.GetData.toRequestRecord, Op.GetChildren.toRequestRecord.
    fn multi_read(&self, ops: &[Op], caller: Caller<'_>) -> Answer {
        let each = ops.iter().map(|op| match op {
            Op::GetData { path, .. } | Op::GetChildren { path, .. } => {
                let answer = self.look(op, path, caller);
                answer.map_or_else(|error| OpResult::Error(Some(error)), OpResult::Read)
            }
            _ => OpResult::Error(Some(Error::MarshallingError)),
        });
        Answer::Results(each.collect())
    }

    fn add_watch(&mut self, path: &Path, mode: i32, to: ConnectionId) -> Result<Answer, Error> {
        let mode = match mode {
            watch_mode::PERSISTENT => WatchMode::Persistent,
            watch_mode::PERSISTENT_RECURSIVE => WatchMode::Recursive,
            _ => return Err(Error::MarshallingError),
        };
        self.arm_both(std::slice::from_ref(path), to, mode);
        Ok(Answer::Nothing)
    }

    // Source: DataTree.removeWatch.
    fn remove_watches(&mut self, path: &str, kind: i32, to: ConnectionId) -> Result<Answer, Error> {
        let (children, data) = tables(kind)?;
        let child = children && self.child_watches.remove(path, to);
        let data = data && self.data_watches.remove(path, to);
        found(child || data)
    }

    // Source: DataTree.containsWatcher.
    fn check_watches(&self, path: &str, kind: i32) -> Result<Answer, Error> {
        let (children, data) = tables(kind)?;
        let child = children && self.child_watches.has_watch(path);
        let data = data && self.data_watches.has_watch(path);
        found(child || data)
    }

    fn znode(&self, path: &str) -> Result<&Znode, Error> {
        self.tree.znode(path).ok_or(Error::NoNode)
    }
}

/// Which tables a watcher type names: that of children, that of data.
fn tables(kind: i32) -> Result<(bool, bool), Error> {
    match kind {
        watcher_type::CHILDREN => Ok((true, false)),
        watcher_type::DATA => Ok((false, true)),
        watcher_type::ANY => Ok((true, true)),
        _ => Err(Error::MarshallingError),
    }
}

fn found(found: bool) -> Result<Answer, Error> {
    match found {
        true => Ok(Answer::Nothing),
        false => Err(Error::NoWatcher),
    }
}

fn permit(znode: &Znode, caller: Caller<'_>, wanted: Perms) -> Result<(), Error> {
    match znode.acl.permits(caller.ids, wanted) {
        true => Ok(()),
        false => Err(Error::NoAuth),
    }
}

/// Who the caller is, without digests.
// Source: AuthUtil.getClientInfos, DigestAuthenticationProvider.getUserName.
fn who_am_i(ids: &[AuthId]) -> Arc<[AuthId]> {
    let user = |id: &AuthId| match (&*id.scheme, id.id.split_once(':')) {
        ("digest", Some((user, _))) => AuthId::new("digest", user),
        _ => id.clone(),
    };
    let mut users: Vec<AuthId> = ids.iter().map(user).collect();
    sort::sort(&mut users);
    users.into()
}
