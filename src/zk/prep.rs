//! Makes a txn of a request: every check a write has to pass, in ZooKeeper's order.
//!
//! This runs where zxids are given out: at the leader, or a standalone server. It sees the tree as
//! applied and, over it, the changes of txns that are prepared but not applied yet. Reads pass
//! through only to have their session checked.
//!
//! ```text
//! request ── session ── path ── ACL ── parent ── permission ── … ──> txn, and change records
//!                └────────┴──────┴───────┴───────────┴──> error txn, and no change records
//! ```
//!
//! *Invariant: a refused request leaves no change records, a refused multi none of its parts'.*

use std::collections::VecDeque;
use std::sync::Arc;

use super::acl::{Acl, AuthId, Perms};
use super::ensemble::ServerId;
use super::local_sessions::LocalSessions;
use super::path::{self, Path};
use super::quota;
use super::release::Release;
use super::reply::Error;
use super::request::{Create, CreateKind, Op, mode};
use super::session::Tracker;
use super::settings::Switch;
use super::stat::{Bytes, Millis, Owner, SessionId, StoredStat};
use super::tree::Tree;
use super::txn::{CreateTxn, Txn, TxnBody};
use super::zxid::Zxid;
use crate::sim::OrdMap;

/// A request on its way to becoming a txn: what a forwarding server passes on of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Submission {
    /// Whose.
    pub session: SessionId,
    /// Its number on its connection.
    pub cxid: i32,
    /// What it asks for.
    pub op: Op,
    /// Who its connection has proved to be.
    pub ids: Arc<[AuthId]>,
}

/// What a path will look like once the txns in flight are applied.
// Source: ZooKeeperServer.ChangeRecord.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct ChangeRecord {
    zxid: Zxid,
    path: Path,
    /// `None` once it is deleted.
    stat: Option<StoredStat>,
    child_count: i32,
    acl: Acl,
}

/// The changes of all txns that are prepared but not applied yet.
// Source: ZooKeeperServer.outstandingChanges, outstandingChangesForPath.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Outstanding {
    records: VecDeque<ChangeRecord>,
    by_path: OrdMap<Path, ChangeRecord>,
}

impl Outstanding {
    /// The txn `zxid` has been applied: its changes are in the tree now.
    // Source: ZooKeeperServer.processTxn, FinalRequestProcessor.
    pub fn applied(&mut self, zxid: Zxid) {
        while let Some(record) = self.records.front() {
            if record.zxid > zxid {
                return;
            }
            let path = record.path.clone();
            if self.by_path.get(&path).is_some_and(|latest| latest.zxid <= zxid) {
                self.by_path.remove(&path);
            }
            self.records.pop_front();
        }
    }

    /// Is no txn in flight?
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn add(&mut self, record: ChangeRecord) {
        self.by_path.insert(record.path.clone(), record.clone());
        self.records.push_back(record);
    }
}

/// What preparing needs to know, and what it changes.
#[derive(Debug)]
pub struct Prep<'a> {
    /// The tree as applied.
    pub tree: &'a Tree,
    /// What is in flight over it.
    pub outstanding: &'a mut Outstanding,
    /// Which sessions may act.
    pub tracker: &'a mut Tracker,
    /// Those that only this server knows, where sessions may be of one server alone.
    pub local: Option<&'a LocalSessions>,
    /// May znodes have a TTL?
    pub ttl_znodes: Switch,
    /// Are quotas heeded?
    pub enforce_quota: Switch,
    /// The server that the request came through.
    pub owner: ServerId,
    /// The number its txn gets.
    pub zxid: Zxid,
    /// The wall clock.
    pub time: Millis,
}

impl Prep<'_> {
    /// The txn of a write. It takes its zxid whatever comes of it.
    // Source: PrepRequestProcessor.pRequest.
    pub fn prepare(mut self, submission: &Submission) -> Txn {
        let body = match &submission.op {
            Op::Multi(ops) => self.multi(ops, submission),
            Op::CreateSession { timeout } => TxnBody::CreateSession { timeout: *timeout },
            Op::CloseSession => self.close_session(submission.session),
            op => self.single(op, submission).unwrap_or_else(TxnBody::Error),
        };
        let Submission { session, cxid, .. } = *submission;
        Txn { session, cxid, zxid: self.zxid, time: self.time, body }
    }

    /// One write, alone or in a multi.
    // Source: PrepRequestProcessor.pRequest2Txn.
    fn single(&mut self, op: &Op, by: &Submission) -> Result<TxnBody, Error> {
        match op {
            Op::Create(create) => self.create(create, by),
            Op::Delete { path, version } => self.delete(path, *version, by),
            Op::DeleteContainer { path } => self.delete_container(path),
            Op::SetData { path, data, version } => self.set_data(path, data, *version, by),
            Op::SetAcl { path, acl, version } => self.set_acl(path, acl, *version, by),
            Op::Check { path, version } => self.check(path, *version, by),
            _ => Err(Error::MarshallingError),
        }
    }

    // Source: PrepRequestProcessor.pRequest2TxnCreate.
    fn create(&mut self, create: &Create, by: &Submission) -> Result<TxnBody, Error> {
        let owner = self.owner_of(create, by.session)?;
        match owner.is_ephemeral() {
            true => self.check_global_session(by.session)?,
            false => self.check_session(by.session)?,
        }
        let parent_path = parent_to_create_in(&create.path)?;
        let acl = create.acl.fixed_up(&by.ids)?;
        let parent = self.record(parent_path)?;
        permit(&parent, by, Perms::CREATE)?;
        let path = numbered(create, parent.creations());
        path.validate().map_err(|_| Error::BadArguments)?;
        if self.record(&path).is_ok() {
            return Err(Error::NodeExists);
        }
        if parent.owner().is_ephemeral() {
            return Err(Error::NoChildrenForEphemerals);
        }
        self.heed_quota(&path, i64::from(create.data.count()), 1)?;
        let parent_creations = parent.creations().wrapping_add(1);
        self.add_child(parent, parent_creations);
        let stat = Some(StoredStat::created(self.zxid, self.time, owner));
        let (zxid, acl_record) = (self.zxid, acl.clone());
        let record =
            ChangeRecord { zxid, path: path.clone(), stat, child_count: 0, acl: acl_record };
        self.outstanding.add(record);
        let ephemeral = matches!(create.flags, mode::EPHEMERAL | mode::EPHEMERAL_SEQUENTIAL);
        let (kind, data, ttl) = (create.kind, create.data.clone(), create.ttl);
        let txn = CreateTxn { kind, path, data, acl, ephemeral, parent_creations, ttl };
        Ok(TxnBody::Create(Arc::new(txn)))
    }

    /// May the session act? Of another server's local session only that server knows.
    // Source: LeaderSessionTracker.checkSession.
    fn check_session(&mut self, session: SessionId) -> Result<(), Error> {
        let is_local = self.local.is_some_and(|local| {
            let is_global = self.tracker.session(session).is_some();
            !is_global && (local.is_local(session) || local.may_be_elsewhere(session))
        });
        if is_local { Ok(()) } else { self.tracker.check(session, self.owner) }
    }

    /// May it own an ephemeral? A leader knows only of its own local sessions that they may not; of
    /// others their server does, and answers so, whatever becomes of this.
    // Source: PrepRequestProcessor.validateCreateRequest, LeaderSessionTracker.checkGlobalSession.
    fn check_global_session(&mut self, session: SessionId) -> Result<(), Error> {
        match self.local.is_some_and(|local| local.is_local(session)) {
            true => Err(Error::EphemeralOnLocalSession),
            false => self.tracker.check(session, self.owner),
        }
    }

    /// Real: of data that is in flight over it the length is known; here that of the tree counts.
    // Source: ZooKeeperServer.checkQuota: without `enforceQuota` nothing is looked at.
    fn heed_quota(&self, path: &str, bytes: i64, znodes: i64) -> Result<(), Error> {
        match self.enforce_quota {
            Switch::Off => Ok(()),
            Switch::On => match quota::excess(self.tree, path, bytes, znodes) {
                Some(excess) if excess.is_hard() => Err(Error::QuotaExceeded),
                _ => Ok(()),
            },
        }
    }

    // Source: CreateMode.fromFlag, PrepRequestProcessor.validateCreateRequest,
    // EphemeralType.validateTTL.
    fn owner_of(&self, create: &Create, session: SessionId) -> Result<Owner, Error> {
        let is_ttl = matches!(create.flags, mode::TTL | mode::TTL_SEQUENTIAL);
        let last = match self.tree.release().has_containers() {
            true => mode::TTL_SEQUENTIAL,
            false => mode::EPHEMERAL_SEQUENTIAL,
        };
        if !(mode::PERSISTENT..=last).contains(&create.flags) {
            return Err(Error::BadArguments);
        }
        if is_ttl && self.ttl_znodes == Switch::Off {
            return Err(Error::Unimplemented);
        }
        let ttl = if create.kind == CreateKind::Ttl { create.ttl } else { Millis(-1) };
        let fits = match is_ttl {
            true => ttl.0 > 0 && ttl <= Owner::MAX_TTL,
            false => ttl.0 < 0,
        };
        match (fits, create.flags) {
            (false, _) => Err(Error::BadArguments),
            (true, mode::EPHEMERAL | mode::EPHEMERAL_SEQUENTIAL) => Ok(Owner::Session(session)),
            (true, mode::CONTAINER) => Ok(Owner::Container),
            (true, mode::TTL | mode::TTL_SEQUENTIAL) => Ok(Owner::Ttl(ttl)),
            (true, _) => Ok(Owner::Persistent),
        }
    }

    fn delete(&mut self, path: &Path, version: i32, by: &Submission) -> Result<TxnBody, Error> {
        self.check_session(by.session)?;
        let release = self.tree.release();
        let parent = self.record(parent_to_delete_in(path, release)?)?;
        if release.deletes_look_first() {
            self.record(path)?;
        }
        permit(&parent, by, Perms::DELETE)?;
        let record = self.record(path)?;
        next_version(record.version(), version)?;
        if record.child_count > 0 {
            return Err(Error::NotEmpty);
        }
        self.remove_child(parent, path);
        Ok(TxnBody::Delete { path: path.clone() })
    }

    fn delete_container(&mut self, path: &Path) -> Result<TxnBody, Error> {
        let parent_path = parent_to_delete_in(path, self.tree.release())?;
        let record = self.record(path)?;
        if record.child_count > 0 {
            return Err(Error::NotEmpty);
        }
        if record.owner().is_ephemeral() {
            return Err(Error::BadVersion);
        }
        let parent = self.record(parent_path)?;
        self.remove_child(parent, path);
        Ok(TxnBody::DeleteContainer { path: path.clone() })
    }

    fn set_data(
        &mut self,
        path: &Path,
        data: &Bytes,
        version: i32,
        by: &Submission,
    ) -> Result<TxnBody, Error> {
        self.check_session(by.session)?;
        path.validate().map_err(|_| Error::BadArguments)?;
        let record = self.record(path)?;
        permit(&record, by, Perms::WRITE)?;
        self.heed_quota(path, quota::growth(self.tree, path, data), 0)?;
        let version = next_version(record.version(), version)?;
        let (mzxid, mtime) = (self.zxid, self.time);
        self.change(record, |stat| *stat = StoredStat { version, mzxid, mtime, ..*stat });
        Ok(TxnBody::SetData { path: path.clone(), data: data.clone(), version })
    }

    fn set_acl(
        &mut self,
        path: &Path,
        acl: &Acl,
        version: i32,
        by: &Submission,
    ) -> Result<TxnBody, Error> {
        self.check_session(by.session)?;
        path.validate().map_err(|_| Error::BadArguments)?;
        let acl = acl.fixed_up(&by.ids)?;
        let mut record = self.record(path)?;
        permit(&record, by, Perms::ADMIN)?;
        let version = next_version(record.aversion(), version)?;
        record.acl = acl.clone();
        self.change(record, |stat| stat.aversion = version);
        Ok(TxnBody::SetAcl { path: path.clone(), acl, version })
    }

    fn check(&mut self, path: &Path, version: i32, by: &Submission) -> Result<TxnBody, Error> {
        self.check_session(by.session)?;
        path.validate().map_err(|_| Error::BadArguments)?;
        let record = self.record(path)?;
        permit(&record, by, Perms::READ)?;
        next_version(record.version(), version)?;
        Ok(TxnBody::Check { path: path.clone() })
    }

    /// Parts see the effect of those before them; the first to fail undoes them all.
    // Source: PrepRequestProcessor.pRequest (case multi), rollbackPendingChanges.
    fn multi(&mut self, ops: &[Op], by: &Submission) -> TxnBody {
        let release = self.tree.release();
        let readable =
            |op: &Op| !matches!(op, Op::Malformed { .. }) && release.has_operation(op.code());
        if !ops.iter().all(readable) {
            return TxnBody::Error(Error::MarshallingError);
        }
        let before = self.outstanding.clone();
        let mut parts = Vec::with_capacity(ops.len());
        for op in ops {
            match self.single(&as_part(op, release), by) {
                Ok(part) => parts.push(part),
                Err(error) => {
                    *self.outstanding = before;
                    parts.push(TxnBody::Error(error));
                    break;
                }
            }
        }
        parts.resize(ops.len(), TxnBody::Error(Error::RuntimeInconsistency));
        TxnBody::Multi(parts.into())
    }

    /// Lists the ephemerals of a session, those in flight included.
    ///
    /// Real: the parents' counts of children in flight are left as they are, so that a delete of
    /// the parent that comes right behind is NotEmpty; so they are here.
    // Source: PrepRequestProcessor.pRequest2Txn (case closeSession).
    fn close_session(&mut self, session: SessionId) -> TxnBody {
        let known = self.tree.ephemerals(session).map(|own| own.java_clone());
        let mut paths = known.unwrap_or_default();
        for record in self.outstanding.records.iter() {
            match record.stat {
                None => paths.remove(&record.path),
                Some(stat) if stat.owner == Owner::Session(session) => {
                    paths.insert(record.path.clone());
                }
                Some(_) => {}
            }
        }
        let paths: Arc<[Path]> = paths.in_order().into();
        for path in paths.iter() {
            self.outstanding.add(ChangeRecord::deletion(self.zxid, path.clone()));
        }
        self.tracker.set_closing(session);
        TxnBody::CloseSession { paths }
    }

    /// What `path` will look like.
    // Source: PrepRequestProcessor.getRecordForPath.
    fn record(&self, path: &str) -> Result<ChangeRecord, Error> {
        if let Some(record) = self.outstanding.by_path.get(path) {
            let record = record.stat.is_some().then(|| record.clone());
            return record.ok_or(Error::NoNode);
        }
        let znode = self.tree.znode(path).ok_or(Error::NoNode)?;
        Ok(ChangeRecord {
            zxid: self.zxid,
            path: Path::new(path),
            stat: Some(znode.stat),
            child_count: znode.child_count(),
            acl: znode.acl.clone(),
        })
    }

    fn add_child(&mut self, mut parent: ChangeRecord, creations: i32) {
        parent.child_count += 1;
        let pzxid = self.zxid;
        self.change(parent, |stat| *stat = StoredStat { creations, pzxid, ..*stat });
    }

    fn remove_child(&mut self, mut parent: ChangeRecord, path: &Path) {
        parent.child_count -= 1;
        let pzxid = self.zxid;
        self.change(parent, |stat| stat.pzxid = pzxid);
        self.outstanding.add(ChangeRecord::deletion(self.zxid, path.clone()));
    }

    fn change(&mut self, mut record: ChangeRecord, change: impl FnOnce(&mut StoredStat)) {
        record.zxid = self.zxid;
        change(record.stat.as_mut().expect("only records of what is there are changed"));
        self.outstanding.add(record);
    }
}

impl ChangeRecord {
    fn deletion(zxid: Zxid, path: Path) -> ChangeRecord {
        ChangeRecord { zxid, path, stat: None, child_count: -1, acl: Acl::open() }
    }

    fn stat(&self) -> &StoredStat {
        self.stat.as_ref().expect("records of what is deleted are not handed out")
    }

    fn version(&self) -> i32 {
        self.stat().version
    }

    fn aversion(&self) -> i32 {
        self.stat().aversion
    }

    fn creations(&self) -> i32 {
        self.stat().creations
    }

    fn owner(&self) -> Owner {
        self.stat().owner
    }
}

/// A create2 within a multi is a create, but in the newest releases.
fn as_part(op: &Op, release: Release) -> Op {
    match op {
        Op::Create(create)
            if create.kind == CreateKind::Create2 && !release.multis_have_create2() =>
        {
            Op::Create(Arc::new(Create { kind: CreateKind::Create, ..(**create).clone() }))
        }
        op => op.clone(),
    }
}

fn permit(record: &ChangeRecord, by: &Submission, wanted: Perms) -> Result<(), Error> {
    match record.acl.permits(&by.ids, wanted) {
        true => Ok(()),
        false => Err(Error::NoAuth),
    }
}

/// The version after a change that expects `expected`; -1 expects any.
// Source: PrepRequestProcessor.checkAndIncVersion.
fn next_version(current: i32, expected: i32) -> Result<i32, Error> {
    match expected == -1 || expected == current {
        true => Ok(current.wrapping_add(1)),
        false => Err(Error::BadVersion),
    }
}

/// The path to create, with its number if it is to have one.
fn numbered(create: &Create, number: i32) -> Path {
    match create.flags {
        mode::PERSISTENT_SEQUENTIAL | mode::EPHEMERAL_SEQUENTIAL | mode::TTL_SEQUENTIAL => {
            Path::from(format!("{}{number:010}", create.path))
        }
        _ => create.path.clone(),
    }
}

// Source: PrepRequestProcessor.validatePathForCreate.
fn parent_to_create_in(path: &str) -> Result<&str, Error> {
    match path.rfind('/') {
        Some(_) if !path.contains('\0') => Ok(path::parent(path).unwrap_or("/")),
        _ => Err(Error::BadArguments),
    }
}

// Source: PrepRequestProcessor.getParentPathAndValidate, ZKDatabase.isSpecialPath.
fn parent_to_delete_in(path: &str, release: Release) -> Result<&str, Error> {
    let special = ["/", "/zookeeper", "/zookeeper/quota"].contains(&path);
    match special || path == "/zookeeper/config" && release.has_config_znode() {
        true => Err(Error::BadArguments),
        false => parent_to_create_in(path),
    }
}

#[cfg(test)]
mod tests {
    use super::{Outstanding, Prep, Submission};
    use crate::sim::{EventId, SimTime, Span};
    use crate::zk::acl::{Acl, Perms};
    use crate::zk::ensemble::ServerId;
    use crate::zk::local_sessions::LocalSessions;
    use crate::zk::path::Path;
    use crate::zk::peer::Touch;
    use crate::zk::release::Release;
    use crate::zk::reply::Error;
    use crate::zk::request::{Create, CreateKind, Op, mode};
    use crate::zk::session::Tracker;
    use crate::zk::settings::Switch;
    use crate::zk::stat::{Bytes, Millis, Owner, SessionId, StoredStat};
    use crate::zk::tree::{NewZnode, Tree};
    use crate::zk::txn::TxnBody;
    use crate::zk::zxid::Zxid;

    /// Prepares requests one after the other on an empty tree, none applied.
    fn prepare(ops: Vec<Op>) -> Vec<TxnBody> {
        prepare_on(&Tree::new(), ops)
    }

    fn prepare_on(tree: &Tree, ops: Vec<Op>) -> Vec<TxnBody> {
        let session = SessionId(1);
        let (mut outstanding, mut tracker) = (Outstanding::default(), Tracker::new(Span::ms(2000)));
        tracker.track(session, Millis(4000), SimTime::ZERO);
        let txns = ops.into_iter().enumerate().map(|(place, op)| {
            let submission = Submission { session, cxid: 1, op, ids: [].into() };
            let prep = Prep {
                tree,
                outstanding: &mut outstanding,
                tracker: &mut tracker,
                local: None,
                ttl_znodes: Switch::Off,
                enforce_quota: Switch::Off,
                owner: ServerId(1),
                zxid: Zxid(place as i64 + 1),
                time: Millis(0),
            };
            prep.prepare(&submission).body
        });
        txns.collect()
    }

    fn create(path: &str, flags: i32) -> Op {
        Op::Create(Create::new(path, "", flags).into())
    }

    fn delete(path: &str, version: i32) -> Op {
        Op::Delete { path: Path::new(path), version }
    }

    /// What became of each request: the path or the error.
    fn outcomes(ops: Vec<Op>) -> Vec<String> {
        outcomes_on(&Tree::new(), ops)
    }

    fn outcomes_on(tree: &Tree, ops: Vec<Op>) -> Vec<String> {
        let outcome = |body: TxnBody| match body {
            TxnBody::Error(error) => error.to_string(),
            TxnBody::Multi(parts) => format!("multi of {}", parts.len()),
            body => body.path().map(Path::to_string).unwrap_or_default(),
        };
        prepare_on(tree, ops).into_iter().map(outcome).collect()
    }

    #[test]
    fn requests_see_what_is_in_flight() {
        let ops = vec![
            create("/a", mode::PERSISTENT),
            create("/a", mode::PERSISTENT),
            create("/a/b-", mode::PERSISTENT_SEQUENTIAL),
            delete("/a", -1),
            delete("/a/b-0000000000", 1),
            delete("/a/b-0000000000", 0),
            create("/a/b-", mode::EPHEMERAL_SEQUENTIAL),
            create("/a/b-0000000001/c", mode::PERSISTENT),
        ];
        let expected = [
            "/a",
            "NodeExists",
            "/a/b-0000000000",
            "NotEmpty",
            "BadVersion",
            "/a/b-0000000000",
            "/a/b-0000000001",
            "NoChildrenForEphemerals",
        ];
        assert_eq!(outcomes(ops), expected);
    }

    #[test]
    fn a_failed_multi_leaves_nothing_behind() {
        let parts = [create("/a-", mode::PERSISTENT_SEQUENTIAL), delete("/none", -1)];
        let parts: Vec<Op> = parts.into_iter().chain([create("/c", mode::PERSISTENT)]).collect();
        let bodies =
            prepare(vec![Op::Multi(parts.into()), create("/a-", mode::PERSISTENT_SEQUENTIAL)]);
        let TxnBody::Multi(parts) = &bodies[0] else { panic!("a multi stays one") };
        assert!(matches!(parts[0], TxnBody::Create(_)));
        assert_eq!(parts[1], TxnBody::Error(Error::NoNode));
        assert_eq!(parts[2], TxnBody::Error(Error::RuntimeInconsistency));
        assert_eq!(bodies[1].path().map(Path::as_str), Some("/a-0000000000"));
    }

    #[test]
    fn errors_come_in_zookeepers_order() {
        let set =
            |path: &str| Op::SetData { path: Path::new(path), data: Bytes::NULL, version: -1 };
        let check = |op, expected: &str| assert_eq!(outcomes(vec![op]), [expected]);
        check(create("/missing/..", 0), "NoNode");
        check(create("/..", 0), "BadArguments");
        check(create("/missing/x", 9), "BadArguments");
        check(create("/missing/x", mode::TTL), "Unimplemented");
        check(set("/missing/"), "BadArguments");
        check(delete("/missing/", -1), "NoNode");
        check(delete("/zookeeper", -1), "BadArguments");
    }

    #[test]
    fn releases_refuse_differently() {
        let check = |release, op: Op, expected: &str| {
            let mut tree = Tree::of_release(release);
            let (stat, acl) = (StoredStat::default(), Acl::world(Perms::READ));
            let new = NewZnode {
                path: "/shut".into(),
                data: Bytes::NULL,
                acl,
                owner: Owner::Persistent,
                parent_creations: 1,
            };
            tree.create(new, stat.czxid, Millis(0)).expect("it fits");
            assert_eq!(outcomes_on(&tree, vec![op]), [expected], "{release}");
        };
        check(Release::V3_4_14, delete("/shut/none", -1), "NoNode");
        check(Release::V3_5_9, delete("/shut/none", -1), "NoAuth");
        check(Release::V3_4_14, create("/c", mode::CONTAINER), "BadArguments");
        check(Release::V3_5_9, create("/c", mode::CONTAINER), "/c");
        check(Release::V3_4_14, delete("/zookeeper/config", -1), "NoNode");
        check(Release::V3_5_9, delete("/zookeeper/config", -1), "BadArguments");
        let create = Create { kind: CreateKind::Create2, ..Create::new("/d", "", 0) };
        let multi = || Op::Multi([Op::Create(create.clone().into())].into());
        check(Release::V3_4_14, multi(), "MarshallingError");
        check(Release::V3_5_9, multi(), "multi of 1");
    }

    /// What server 1, which leads, makes of a create by a session that is not global. It has a
    /// local session of its own, `0x1…0`.
    fn outcome_for(session: SessionId, flags: i32) -> String {
        let tick = Span::ms(2000);
        let (mut outstanding, mut tracker) = (Outstanding::default(), Tracker::new(tick));
        let mut local = LocalSessions::new(ServerId(1), tick);
        let own = SessionId(1 << 56);
        let by = Touch { session: own, timeout: Millis(4000), sign: EventId(0) };
        local.open(by, SimTime::ZERO);
        let prep = Prep {
            tree: &Tree::new(),
            outstanding: &mut outstanding,
            tracker: &mut tracker,
            local: Some(&local),
            ttl_znodes: Switch::Off,
            enforce_quota: Switch::Off,
            owner: ServerId(1),
            zxid: Zxid(1),
            time: Millis(0),
        };
        let op = create("/a", flags);
        match prep.prepare(&Submission { session, cxid: 1, op, ids: [].into() }).body {
            TxnBody::Error(error) => error.to_string(),
            body => body.path().map(Path::to_string).unwrap_or_default(),
        }
    }

    #[test]
    fn a_leader_knows_its_own_local_sessions_and_trusts_the_others() {
        let [own, past, others] = [1 << 56, (1 << 56) + 1, 2 << 56].map(SessionId);
        let check = |session, flags, expected: &str| {
            assert_eq!(outcome_for(session, flags), expected, "{session} {flags}");
        };
        check(own, mode::PERSISTENT, "/a");
        check(past, mode::PERSISTENT, "SessionExpired");
        check(others, mode::PERSISTENT, "/a");
        check(own, mode::EPHEMERAL, "EphemeralOnLocalSession");
        check(past, mode::EPHEMERAL, "SessionExpired");
        check(others, mode::EPHEMERAL_SEQUENTIAL, "SessionExpired");
    }

    #[test]
    fn closing_a_session_counts_what_is_in_flight() {
        let ops = vec![
            create("/a", mode::EPHEMERAL),
            create("/b", mode::EPHEMERAL),
            delete("/a", -1),
            Op::CloseSession,
            create("/c", mode::PERSISTENT),
        ];
        let bodies = prepare(ops);
        let TxnBody::CloseSession { paths } = &bodies[3] else { panic!("it closes") };
        assert_eq!(paths.as_ref(), [Path::new("/b")]);
        assert_eq!(bodies[4], TxnBody::Error(Error::SessionExpired));
    }
}
