//! Local sessions: those that only the server knows to which their client is connected.
//!
//! Such a session costs no txn, is in no snapshot, and ends with its server's role. Its server
//! alone decides when it has been silent for too long. Whoever turns to another server with it
//! is told that there is no such session.
//!
//! ```text
//!   opened ──▶ local ──▶ upgrading ──▶ global, as all sessions are without this
//!                │       createSession  (its txn is committed)
//!                └──▶ over: closed, or silent for too long
//! ```
//!
//! *Invariant: a session is local or upgrading, never both; nothing here outlives the role.*

use super::ensemble::ServerId;
use super::peer::Touch;
use super::request::{Create, CreateKind, Op, mode};
use super::session::{Tracker, server_of};
use super::stat::{Millis, SessionId};
use crate::sim::{EventId, OrdMap, OrdSet, SimTime, Span};

/// The local sessions of one server.
///
/// Real: up to 3.5 a session that is being upgraded counts as global on its server before its txn
/// is committed, and may come into a snapshot so (ZOOKEEPER-2926); here as from 3.6 on.
// Source: UpgradeableSessionTracker, LocalSessionTracker; ZOOKEEPER-1147 (3.5).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LocalSessions {
    server: ServerId,
    tracker: Tracker,
    /// The last sign of life of each.
    signs: OrdMap<SessionId, EventId>,
    /// Those whose createSession is on its way.
    upgrading: OrdSet<SessionId>,
}

/// What a server makes of the session of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// It is one of its own, which nobody else knows.
    Local,
    /// All know it, or will soon.
    Global,
    /// This server has not heard of it.
    Unknown,
}

impl LocalSessions {
    /// None yet.
    pub fn new(server: ServerId, tick: Span) -> LocalSessions {
        let (signs, upgrading) = Default::default();
        LocalSessions { server, tracker: Tracker::new(tick), signs, upgrading }
    }

    /// A client has come.
    // Source: LocalSessionTracker.createSession.
    pub fn open(&mut self, by: Touch, now: SimTime) {
        self.tracker.track(by.session, by.timeout, now);
        self.signs.insert(by.session, by.sign);
    }

    /// A sign of life; `false` if it is no local session.
    // Source: LearnerSessionTracker.touchSession, LeaderSessionTracker.touchSession.
    pub fn touch(&mut self, by: Touch, now: SimTime) -> bool {
        let is_local = self.tracker.touch(by.session, by.timeout, now);
        if is_local {
            self.signs.insert(by.session, by.sign);
        }
        is_local
    }

    /// Is it known here alone?
    // Source: UpgradeableSessionTracker.isLocalSession.
    pub fn is_local(&self, session: SessionId) -> bool {
        self.tracker.session(session).is_some()
    }

    /// Is its createSession on its way?
    // Source: UpgradeableSessionTracker.isUpgradingSession.
    pub fn is_upgrading(&self, session: SessionId) -> bool {
        self.upgrading.contains(&session)
    }

    /// May another server have it as one of its own? A leader cannot know, and believes so.
    // Source: LeaderSessionTracker.checkSession.
    pub fn may_be_elsewhere(&self, session: SessionId) -> bool {
        server_of(session) != self.server
    }

    /// It is to be known to all; tells how long it lasts.
    // Source: UpgradeableSessionTracker.upgradeSession.
    pub fn upgrade(&mut self, session: SessionId) -> Option<Millis> {
        let timeout = self.tracker.session(session)?.timeout;
        self.remove(session);
        self.upgrading.insert(session);
        Some(timeout)
    }

    /// It is global now, or over.
    // Source: LearnerSessionTracker.commitSession, removeSession.
    pub fn remove(&mut self, session: SessionId) {
        self.tracker.remove(session);
        self.signs.remove(&session);
        self.upgrading.remove(&session);
    }

    /// Ends those that were silent for too long, and tells when each was last heard of.
    // Source: SessionTrackerImpl.run, ZooKeeperServer.expire.
    pub fn expire(&mut self, now: SimTime) -> Vec<(SessionId, Option<EventId>)> {
        let due = self.tracker.expire(now);
        let ended = due.into_iter().map(|session| {
            let sign = self.signs.get(&session).copied();
            self.remove(session);
            (session, sign)
        });
        ended.collect()
    }

    /// When they expire.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }
}

/// Does it create an ephemeral? Only a global session may.
// Source: QuorumZooKeeperServer.checkUpgradeSession; ZOOKEEPER-2725 (multi).
pub fn creates_ephemeral(op: &Op) -> bool {
    match op {
        Op::Create(create) => is_ephemeral(create),
        Op::Multi(ops) => ops.iter().any(|op| match op {
            Op::Create(create) => is_ephemeral(create),
            _ => false,
        }),
        _ => false,
    }
}

fn is_ephemeral(create: &Create) -> bool {
    let plain = matches!(create.kind, CreateKind::Create | CreateKind::Create2);
    plain && matches!(create.flags, mode::EPHEMERAL | mode::EPHEMERAL_SEQUENTIAL)
}

#[cfg(test)]
mod tests {
    use super::{LocalSessions, creates_ephemeral};
    use crate::sim::{EventId, SimTime, Span};
    use crate::zk::ensemble::ServerId;
    use crate::zk::peer::Touch;
    use crate::zk::request::{Create, Op, mode};
    use crate::zk::stat::{Millis, SessionId};

    const S: SessionId = SessionId(2 << 56);

    fn at(ms: u64) -> SimTime {
        SimTime::ZERO + Span::ms(ms)
    }

    fn touch(sign: u64) -> Touch {
        Touch { session: S, timeout: Millis(400), sign: EventId(sign) }
    }

    #[test]
    fn its_own_server_ends_a_session_at_the_tick_after_its_timeout() {
        let mut local = LocalSessions::new(ServerId(2), Span::ms(200));
        local.open(touch(1), at(0));
        assert!(local.touch(touch(2), at(210)));
        assert_eq!(local.expire(at(799)), []);
        assert_eq!(local.expire(at(800)), [(S, Some(EventId(2)))]);
        assert!(!local.is_local(S) && !local.touch(touch(3), at(801)));
    }

    #[test]
    fn an_upgraded_session_is_not_ended_here() {
        let mut local = LocalSessions::new(ServerId(2), Span::ms(200));
        local.open(touch(1), at(0));
        assert_eq!(local.upgrade(S), Some(Millis(400)));
        assert_eq!(local.upgrade(S), None);
        assert!(local.is_upgrading(S) && !local.is_local(S));
        assert_eq!(local.expire(at(9999)), []);
        local.remove(S);
        assert!(!local.is_upgrading(S));
    }

    #[test]
    fn only_a_session_of_this_server_cannot_be_elsewhere() {
        let of = |server| LocalSessions::new(ServerId(server), Span::ms(200));
        assert!(!of(2).may_be_elsewhere(S));
        assert!(of(1).may_be_elsewhere(S));
    }

    #[test]
    fn ephemerals_are_found_in_multis_too() {
        let create = |flags| Op::Create(Create::new("/a", "", flags).into());
        let multi = |flags| Op::Multi([create(mode::PERSISTENT), create(flags)].into());
        for (flags, expected) in [
            (mode::PERSISTENT, false),
            (mode::PERSISTENT_SEQUENTIAL, false),
            (mode::EPHEMERAL, true),
            (mode::EPHEMERAL_SEQUENTIAL, true),
        ] {
            assert_eq!(creates_ephemeral(&create(flags)), expected, "{flags}");
            assert_eq!(creates_ephemeral(&multi(flags)), expected, "{flags}");
        }
    }
}
