//! Sessions: how they are numbered and proved, and when they expire.
//!
//! Every server keeps all sessions with their timeouts (`database`); the [`Tracker`] here is kept
//! only by the one that decides: the leader, or a standalone server; of a local session, the one
//! server that knows it (`local_sessions`).
//!
//! *Invariant: a session is due no earlier than its timeout after the last sign of life, and no
//! later than one tick after that.*

use super::ensemble::ServerId;
use super::reply::Error;
use super::request::Password;
use super::stat::{Millis, SessionId};
use crate::sim::{OrdMap, OrdSet, SimTime, Span};

/// Numbers new sessions on one server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SessionNumbers {
    next: i64,
}

impl SessionNumbers {
    /// Those of `server` when it starts at `now`.
    // Source: SessionTrackerImpl.initializeNextSessionId.
    pub fn new(server: ServerId, now: SimTime) -> SessionNumbers {
        let clock = (now.as_ms() << 24) >> 8;
        SessionNumbers { next: (u64::from(server.0) << 56 | clock).cast_signed() }
    }

    /// A session that never was.
    pub fn take(&mut self) -> SessionId {
        let session = SessionId(self.next);
        self.next += 1;
        session
    }
}

/// The password of a session, which any server can compute.
// Source: ZooKeeperServer.generatePasswd; the constant is ZooKeeper's, the mixing ours.
pub fn password_of(session: SessionId) -> Password {
    let mixed = (session.0 ^ 0xB341_5C00).cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Password(mixed ^ (mixed >> 29))
}

/// The server that has numbered a session.
// Source: LeaderSessionTracker.getServerIdFromSessionId.
pub fn server_of(session: SessionId) -> ServerId {
    let [server, ..] = session.0.to_be_bytes();
    ServerId(server)
}

/// What the tracker knows of one session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tracked {
    /// As negotiated.
    pub timeout: Millis,
    /// When it expires if it stays silent.
    pub deadline: SimTime,
    /// Has its end been decided?
    pub stage: Stage,
    /// The server that may write for it; none until the first write.
    pub owner: Option<ServerId>,
}

/// Where a session is in its life, as the tracker sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage {
    /// It may do as it likes. It becomes `Closing`.
    Open,
    /// Its closeSession is on its way: whatever it asks for is refused. Then it is forgotten.
    Closing,
}

/// Decides which sessions have been silent for too long.
// Source: SessionTrackerImpl, ExpiryQueue.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tracker {
    tick: Span,
    sessions: OrdMap<SessionId, Tracked>,
    buckets: OrdMap<SimTime, OrdSet<SessionId>>,
}

impl Tracker {
    /// Knows no session yet.
    pub fn new(tick: Span) -> Tracker {
        let (sessions, buckets) = Default::default();
        Tracker { tick, sessions, buckets }
    }

    /// Gives a session a full timeout from `now`; for new ones, and for all when leading begins.
    // Source: SessionTrackerImpl.trackSession.
    pub fn track(&mut self, session: SessionId, timeout: Millis, now: SimTime) {
        if self.sessions.contains_key(&session) {
            self.touch(session, timeout, now);
            return;
        }
        let deadline = self.deadline(timeout, now);
        let tracked = Tracked { timeout, deadline, stage: Stage::Open, owner: None };
        self.sessions.insert(session, tracked);
        self.put_in_bucket(session, deadline);
    }

    /// A sign of life; `false` if there is no such open session.
    // Source: SessionTrackerImpl.touchSession.
    pub fn touch(&mut self, session: SessionId, timeout: Millis, now: SimTime) -> bool {
        let deadline = self.deadline(timeout, now);
        let Some(tracked) = self.sessions.get(&session) else { return false };
        if tracked.stage == Stage::Closing {
            return false;
        }
        if tracked.deadline != deadline {
            let (before, moved) = (tracked.deadline, Tracked { timeout, deadline, ..*tracked });
            self.take_from_bucket(session, before);
            self.put_in_bucket(session, deadline);
            self.sessions.insert(session, moved);
        }
        true
    }

    /// May `owner` act for the session? The first to ask becomes its owner.
    // Source: SessionTrackerImpl.checkSession, LeaderSessionTracker.checkSession.
    pub fn check(&mut self, session: SessionId, owner: ServerId) -> Result<(), Error> {
        let tracked = self.sessions.get(&session).ok_or(Error::SessionExpired)?;
        match (tracked.stage, tracked.owner) {
            (Stage::Closing, _) => Err(Error::SessionExpired),
            (Stage::Open, None) => {
                self.set_owner(session, owner);
                Ok(())
            }
            (Stage::Open, Some(known)) if known == owner => Ok(()),
            (Stage::Open, Some(_)) => Err(Error::SessionMoved),
        }
    }

    /// The session is now at `owner`.
    // Source: SessionTrackerImpl.setOwner.
    pub fn set_owner(&mut self, session: SessionId, owner: ServerId) {
        if let Some(tracked) = self.sessions.get_mut(&session) {
            tracked.owner = Some(owner);
        }
    }

    /// The end of the session has been decided.
    // Source: SessionTrackerImpl.setSessionClosing.
    pub fn set_closing(&mut self, session: SessionId) {
        if let Some(tracked) = self.sessions.get_mut(&session) {
            tracked.stage = Stage::Closing;
        }
    }

    /// The session is no more.
    pub fn remove(&mut self, session: SessionId) {
        if let Some(tracked) = self.sessions.get(&session).copied() {
            self.sessions.remove(&session);
            self.take_from_bucket(session, tracked.deadline);
        }
    }

    /// What is known of a session.
    pub fn session(&self, session: SessionId) -> Option<&Tracked> {
        self.sessions.get(&session)
    }

    /// All sessions that are tracked.
    pub fn iter(&self) -> impl Iterator<Item = (&SessionId, &Tracked)> {
        self.sessions.iter()
    }

    /// The sessions that are due at `now`. They are closing from now on.
    // Source: SessionTrackerImpl.run, ExpiryQueue.poll.
    pub fn expire(&mut self, now: SimTime) -> Vec<SessionId> {
        let mut due = Vec::new();
        while let Some((deadline, sessions)) = self.buckets.first_key_value() {
            if *deadline > now {
                break;
            }
            let deadline = *deadline;
            due.extend(sessions.iter().copied());
            self.buckets.remove(&deadline);
        }
        due.retain(|session| self.session(*session).is_some_and(|s| s.stage == Stage::Open));
        for session in &due {
            self.set_closing(*session);
        }
        due
    }

    /// How long until the next tick.
    pub fn until_next_tick(&self, now: SimTime) -> Span {
        self.round_up(now).since(now)
    }

    fn deadline(&self, timeout: Millis, now: SimTime) -> SimTime {
        self.round_up(now + Span::ms(timeout.0.cast_unsigned()))
    }

    // Source: ExpiryQueue.roundToNextInterval.
    fn round_up(&self, time: SimTime) -> SimTime {
        let tick = self.tick.as_micros();
        SimTime::micros((time.as_micros() / tick + 1) * tick)
    }

    fn put_in_bucket(&mut self, session: SessionId, deadline: SimTime) {
        let mut bucket = self.buckets.get(&deadline).cloned().unwrap_or_default();
        bucket.insert(session);
        self.buckets.insert(deadline, bucket);
    }

    fn take_from_bucket(&mut self, session: SessionId, deadline: SimTime) {
        let Some(bucket) = self.buckets.get_mut(&deadline) else { return };
        bucket.remove(&session);
        if bucket.is_empty() {
            self.buckets.remove(&deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionNumbers, Tracker, server_of};
    use crate::sim::{SimTime, Span};
    use crate::zk::ensemble::ServerId;
    use crate::zk::reply::Error;
    use crate::zk::stat::{Millis, SessionId};

    const S: SessionId = SessionId(1);

    fn at(ms: u64) -> SimTime {
        SimTime::ZERO + Span::ms(ms)
    }

    #[test]
    fn numbers_hold_server_and_clock() {
        let mut numbers = SessionNumbers::new(ServerId(2), at(0x1_2345));
        assert_eq!(numbers.take().to_string(), "0x200000123450000");
        assert_eq!(server_of(numbers.clone().take()), ServerId(2));
        assert_eq!(numbers.take().to_string(), "0x200000123450001");
    }

    #[test]
    fn a_session_is_due_at_the_tick_after_its_timeout() {
        let mut tracker = Tracker::new(Span::ms(200));
        tracker.track(S, Millis(400), at(0));
        assert_eq!(tracker.expire(at(599)), []);
        assert!(tracker.touch(S, Millis(400), at(210)));
        assert_eq!(tracker.expire(at(799)), []);
        assert_eq!(tracker.expire(at(800)), [S]);
        assert!(!tracker.touch(S, Millis(400), at(800)));
        assert_eq!(tracker.check(S, ServerId(1)), Err(Error::SessionExpired));
        assert_eq!(tracker.expire(at(9999)), []);
    }

    #[test]
    fn a_session_has_one_owner() {
        let mut tracker = Tracker::new(Span::ms(200));
        tracker.track(S, Millis(400), at(0));
        assert_eq!(tracker.check(S, ServerId(1)), Ok(()));
        assert_eq!(tracker.check(S, ServerId(2)), Err(Error::SessionMoved));
        tracker.set_owner(S, ServerId(2));
        assert_eq!(tracker.check(S, ServerId(2)), Ok(()));
    }
}
