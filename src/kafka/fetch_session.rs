//! Fetch sessions: a broker remembers what somebody fetches, so that a fetch says only what has
//! changed since the one before, and so does its answer. Both ends: who asks ([`Fetching`]), and
//! the broker's cache ([`FetchSessions`]).
//!
//! ```text
//!   asker                                    broker
//!   (0, 0)   all partitions         ──▶      a slot is free: session 17 begins
//!                                   ◀──      17, what there is of all
//!   (17, 1)  what has changed       ──▶
//!                                   ◀──      17, what has changed
//!   (17, 2)  …                      ──▶      17 is not kept any more:
//!   (0, 0)   all partitions                  ◀── FETCH_SESSION_ID_NOT_FOUND
//! ```
//!
//! Not here: what is read (`replicas/reading`).
//!
//! *Invariant: where both ends name one session and one epoch, both know the same partitions.*
// Source: KIP-227 (1.1); FetchSessionHandler, FetchManager, FetchSessionCache (3.9)

use std::sync::Arc;

use super::error::Error;
use super::id::{BrokerId, Offset, TopicPartition};
use super::message::{FetchFrom, FetchMark, FetchPartition, FetchRequest, FetchResponse};
use super::message::{Isolation, PartitionFetchResponse};
use super::release::Release;
use super::words::{BrokerFact, Words};
use crate::sim::{Draw, OrdMap, Outbox, SimTime, Span};

/// The number of a new session.
const FETCH_SESSION: Draw = Draw("fetch-session");

/// After this time a session that is not used, and any that is used by somebody else than a
/// follower, may have to make room.
// Source: KafkaServer.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS
const MAY_GO_AFTER: Span = Span::secs(120);

impl FetchMark {
    /// No session is wanted.
    // Source: FetchMetadata.LEGACY
    pub const NONE: FetchMark = FetchMark { session: 0, epoch: -1 };
    /// A new session is wanted.
    // Source: FetchMetadata.INITIAL
    pub const NEW: FetchMark = FetchMark { session: 0, epoch: 0 };

    /// Whether all partitions are named.
    // Source: FetchMetadata.isFull
    pub fn is_full(self) -> bool {
        self.epoch <= 0
    }

    // Source: FetchMetadata.nextEpoch
    fn next(self) -> FetchMark {
        let epoch = if self.epoch == i32::MAX { 1 } else { self.epoch + 1 };
        FetchMark { epoch, ..self }
    }
}

/// What somebody fetches from one broker.
// Source: FetchSessionHandler
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fetching {
    next: FetchMark,
    /// What the broker knows, if it keeps a session.
    known: OrdMap<TopicPartition, FetchFrom>,
}

impl Default for Fetching {
    fn default() -> Fetching {
        Fetching { next: FetchMark::NEW, known: OrdMap::new() }
    }
}

impl Fetching {
    /// The fetch with which all these partitions, ascending, are fetched next.
    // Source: FetchSessionHandler.Builder.build
    pub fn ask<'a>(
        &mut self,
        (replica_id, isolation_level): (BrokerId, Isolation),
        (max_wait, min_bytes): (Span, i32),
        all: impl Iterator<Item = (&'a TopicPartition, FetchFrom)>,
        release: Release,
    ) -> FetchRequest {
        let named = |(partition, from): (&TopicPartition, _)| FetchPartition {
            partition: partition.clone(),
            from,
        };
        let (mark, topics, forgotten) = match release.fetches_are_in_sessions() {
            true if !self.next.is_full() => self.changes(all),
            true => {
                let topics: Vec<FetchPartition> = all.map(named).collect();
                self.known = topics.iter().map(|one| (one.partition.clone(), one.from)).collect();
                (self.next, topics, Vec::new())
            }
            false => (FetchMark::NONE, all.map(named).collect(), Vec::new()),
        };
        FetchRequest { mark, replica_id, max_wait, min_bytes, isolation_level, topics, forgotten }
    }

    /// What has changed since the fetch before: what the broker knows is walked through beside what
    /// is fetched, both ascending.
    fn changes<'a>(
        &mut self,
        all: impl Iterator<Item = (&'a TopicPartition, FetchFrom)>,
    ) -> (FetchMark, Vec<FetchPartition>, Vec<TopicPartition>) {
        let (mut changed, mut forgotten) = (Vec::new(), Vec::new());
        let mut known = self.known.iter().peekable();
        for (partition, from) in all {
            while let Some((gone, _)) = known.next_if(|(known, _)| *known < partition) {
                forgotten.push(gone.clone());
            }
            let told = known.next_if(|(known, _)| *known == partition);
            if told.is_none_or(|(_, told)| *told != from) {
                changed.push(FetchPartition { partition: partition.clone(), from });
            }
        }
        forgotten.extend(known.map(|(gone, _)| gone.clone()));
        for gone in &forgotten {
            self.known.remove(gone);
        }
        for one in &changed {
            self.known.insert(one.partition.clone(), one.from);
        }
        (self.next, changed, forgotten)
    }

    /// The broker has answered; if it has refused, all partitions are named next.
    // Source: FetchSessionHandler.handleResponse
    pub fn answered(&mut self, answer: &FetchResponse) -> Result<(), (FetchMark, Error)> {
        let asked = self.next;
        self.next = match (answer.error, answer.session_id) {
            (Some(Error::FetchSessionIdNotFound), _) | (None, 0) => FetchMark::NEW,
            (Some(_), _) => FetchMark { epoch: 0, ..asked },
            (None, session) if asked.is_full() => FetchMark { session, epoch: 1 },
            (None, _) => asked.next(),
        };
        if self.next.is_full() {
            self.known.clear();
        }
        answer.error.map_or(Ok(()), |error| Err((asked, error)))
    }

    /// The fetch is lost: whether the broker has taken it is not known.
    // Source: FetchSessionHandler.handleError
    pub fn lost(&mut self) {
        self.next.epoch = 0;
        self.known.clear();
    }
}

/// One partition of a session.
// Source: FetchSession.CachedPartition
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kept {
    asked: FetchFrom,
    told: Told,
}

/// What was told last of a partition: its HW, and where its log begins.
pub type Told = (Offset, Offset);

/// A fetch as its broker answers it: with all that is fetched, whether this fetch names it or one
/// before it in its session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fetch {
    /// The follower that asks, or `BrokerId::NONE` for a consumer.
    pub replica_id: BrokerId,
    /// How long the leader may wait for records.
    pub max_wait: Span,
    /// Whether open transactions hide what comes after.
    pub isolation_level: Isolation,
    mark: FetchMark,
    /// What is named, if that is all.
    named: Vec<FetchPartition>,
    /// The session as it was when the fetch came.
    session: Option<Arc<FetchSession>>,
}

impl Fetch {
    fn of(request: FetchRequest, session: Option<Arc<FetchSession>>) -> Fetch {
        let FetchRequest { mark, replica_id, max_wait, isolation_level, topics: named, .. } =
            request;
        Fetch { replica_id, max_wait, isolation_level, mark, named, session }
    }

    /// All that is fetched, ascending where it is of a session, and what was told of it in that.
    pub fn parts(&self) -> impl Iterator<Item = (&TopicPartition, &FetchFrom, Option<Told>)> {
        let kept = self.session.iter().flat_map(|session| &session.partitions);
        let kept = kept.map(|(partition, kept)| (partition, &kept.asked, Some(kept.told)));
        self.named.iter().map(|one| (&one.partition, &one.from, None)).chain(kept)
    }

    /// From where this partition is fetched, if it is.
    pub fn part(&self, of: &TopicPartition) -> Option<&FetchFrom> {
        match &self.session {
            Some(session) => session.partitions.get(of).map(|kept| &kept.asked),
            None => {
                // Numbers differ more often than topics, and cost less to compare.
                let is_it = |one: &TopicPartition| one.partition == of.partition && one == of;
                self.named.iter().find(|one| is_it(&one.partition)).map(|one| &one.from)
            }
        }
    }
}

/// A session as the broker keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FetchSession {
    /// Whose it is: followers go before all others.
    pub is_follower: bool,
    /// Which fetch is next.
    pub epoch: i32,
    began_at: SimTime,
    used_at: SimTime,
    partitions: OrdMap<TopicPartition, Kept>,
}

impl FetchSession {
    /// How many partitions are fetched.
    pub fn size(&self) -> i32 {
        i32::try_from(self.partitions.len()).expect("a cluster has few partitions")
    }

    fn ask(&mut self, FetchPartition { partition, from: asked }: FetchPartition) {
        let told = (Offset::NONE, Offset::NONE);
        self.partitions.entry(partition).or_insert(Kept { asked, told }).asked = asked;
    }

    fn tell(&mut self, answer: &PartitionFetchResponse) {
        if let Some(kept) = self.partitions.get_mut(&answer.partition) {
            // After an error the HW counts as untold: it is `NONE` in the answer.
            kept.told = (answer.high_watermark, answer.log_start_offset);
        }
    }
}

/// Whether an answer is worth telling to somebody who was told these.
// Source: FetchSession.CachedPartition.maybeUpdateResponseData
pub fn has_news(answer: &PartitionFetchResponse, told: Option<Told>) -> bool {
    answer.error.is_some()
        || !answer.records.is_empty()
        || answer.diverging_epoch.is_some()
        || told != Some((answer.high_watermark, answer.log_start_offset))
}

/// All sessions that a broker keeps, by number.
// Source: FetchSessionCache
// Real: from 3.9 on they are in eight caches, by number, each with an eighth of the slots; here in
// one, because a thousand slots are never taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FetchSessions(OrdMap<i32, Arc<FetchSession>>);

impl FetchSessions {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (i32, &FetchSession)> {
        self.0.iter().map(|(number, session)| (*number, &**session))
    }

    /// Takes a fetch, or says why not.
    // Source: FetchManager.newContext
    pub fn take(&mut self, mut request: FetchRequest, now: SimTime) -> Result<Fetch, Error> {
        let mark = request.mark;
        if mark.is_full() {
            self.0.remove(&mark.session);
            return Ok(Fetch::of(request, None));
        }
        let session = self.0.get_mut(&mark.session).ok_or(Error::FetchSessionIdNotFound)?;
        let session = Arc::make_mut(session);
        if session.epoch != mark.epoch {
            return Err(Error::InvalidFetchSessionEpoch);
        }
        request.topics.drain(..).for_each(|asked| session.ask(asked));
        for gone in &request.forgotten {
            session.partitions.remove(gone);
        }
        (session.epoch, session.used_at) = (mark.next().epoch, now);
        if session.partitions.is_empty() {
            self.0.remove(&mark.session);
            return Ok(Fetch::of(FetchRequest { mark: FetchMark::NONE, ..request }, None));
        }
        let session = self.0.get(&mark.session).cloned();
        Ok(Fetch::of(request, session))
    }

    /// The answer with these parts; a session begins if one is wanted and there is room.
    // Source: FullFetchContext, IncrementalFetchContext.updateAndGenerateResponseData
    pub fn answer(
        &mut self,
        fetch: Fetch,
        responses: Vec<PartitionFetchResponse>,
        slots: u32,
        out: &mut Outbox<'_, Words>,
    ) -> FetchResponse {
        let mark = fetch.mark;
        let session_id = match mark.epoch {
            -1 => 0,
            0 => self.begin(&fetch, slots, out),
            _ => mark.session,
        };
        // Nobody but the cache shares the session now: noting what is told copies nothing.
        drop(fetch);
        let session = self.0.get_mut(&session_id).filter(|_| !responses.is_empty());
        if let Some(session) = session {
            if session.epoch != mark.next().epoch {
                return FetchResponse::refused(Error::InvalidFetchSessionEpoch);
            }
            let session = Arc::make_mut(session);
            responses.iter().for_each(|answer| session.tell(answer));
        }
        FetchResponse { error: None, session_id, responses }
    }

    /// The number of the session that begins with this fetch, 0 if there is no room.
    // Source: FetchSessionCache.maybeCreateSession
    fn begin(&mut self, fetch: &Fetch, slots: u32, out: &mut Outbox<'_, Words>) -> i32 {
        let now = out.now();
        let mut session = FetchSession {
            is_follower: fetch.replica_id != BrokerId::NONE,
            epoch: 1,
            began_at: now,
            used_at: now,
            partitions: OrdMap::new(),
        };
        fetch.named.iter().for_each(|asked| session.ask(asked.clone()));
        let is_full = self.0.len() >= usize::try_from(slots).unwrap_or(usize::MAX);
        if is_full && !self.make_room(&session, out) {
            return 0;
        }
        let drawn = out.draw(FETCH_SESSION, 1..i32::MAX as u64);
        let mut number = i32::try_from(drawn).unwrap_or(i32::MAX);
        while self.0.contains_key(&number) {
            number = FetchMark { session: 0, epoch: number }.next().epoch;
        }
        self.0.insert(number, Arc::new(session));
        number
    }

    /// Gives a session up that is worth less than the one that is to come, if there is one.
    // Source: FetchSessionCache.tryEvict, EvictableKey
    fn make_room(&mut self, newcomer: &FetchSession, out: &mut Outbox<'_, Words>) -> bool {
        let now = out.now();
        let worth = |session: &FetchSession| (session.is_follower, session.size());
        let is_stale = |session: &FetchSession| now.since(session.used_at) > MAY_GO_AFTER;
        let may_go = |session: &FetchSession| {
            let is_old = session.used_at.since(session.began_at) > MAY_GO_AFTER;
            (is_old || (newcomer.is_follower && !session.is_follower))
                && worth(session) < worth(newcomer)
        };
        let stale = self.0.iter().filter(|(_, session)| is_stale(session));
        let stale = stale.min_by_key(|(number, session)| (session.used_at, **number));
        let least = self.0.iter().filter(|(_, session)| may_go(session));
        let least = least.min_by_key(|(number, session)| (worth(session), **number));
        let Some(session) = stale.or(least).map(|(number, _)| *number) else { return false };
        let gone = self.0.remove(&session).expect("it was just there");
        out.tell(BrokerFact::FetchSessionEvicted { session, partitions: gone.size() });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::id::LeaderEpoch;

    const V: Release = Release::V3_9_1;

    fn at(number: i32, offset: i64) -> FetchPartition {
        FetchPartition {
            partition: TopicPartition::new("t", number),
            from: FetchFrom {
                current_leader_epoch: Some(LeaderEpoch(0)),
                fetch_offset: Offset(offset),
                last_fetched_epoch: None,
                log_start_offset: Offset(0),
                partition_max_bytes: 1,
            },
        }
    }

    fn ask(fetching: &mut Fetching, all: Vec<FetchPartition>) -> FetchRequest {
        let who = (BrokerId::NONE, Isolation::ReadUncommitted);
        let all = all.iter().map(|one| (&one.partition, one.from));
        fetching.ask(who, (Span::ZERO, 1), all, V)
    }

    fn told(session_id: i32, error: Option<Error>) -> FetchResponse {
        FetchResponse { error, session_id, responses: Vec::new() }
    }

    fn named(request: &FetchRequest) -> (i32, i32, Vec<i32>, Vec<i32>) {
        let topics = request.topics.iter().map(|asked| asked.partition.partition).collect();
        let forgotten = request.forgotten.iter().map(|tp| tp.partition).collect();
        (request.mark.session, request.mark.epoch, topics, forgotten)
    }

    #[test]
    fn a_fetch_names_what_has_changed() {
        let mut fetching = Fetching::default();
        let first = ask(&mut fetching, vec![at(0, 0), at(1, 0), at(2, 0)]);
        assert_eq!(named(&first), (0, 0, vec![0, 1, 2], vec![]));
        assert_eq!(fetching.answered(&told(17, None)), Ok(()));
        let second = ask(&mut fetching, vec![at(0, 0), at(1, 5), at(3, 0)]);
        assert_eq!(named(&second), (17, 1, vec![1, 3], vec![2]));
        assert_eq!(fetching.answered(&told(17, None)), Ok(()));
        let third = ask(&mut fetching, vec![at(0, 0), at(1, 5), at(3, 0)]);
        assert_eq!(named(&third), (17, 2, vec![], vec![]));
        fetching.lost();
        let fourth = ask(&mut fetching, vec![at(0, 0)]);
        assert_eq!(named(&fourth), (17, 0, vec![0], vec![]));
    }

    #[test]
    fn who_is_refused_names_all_again() {
        let all = || vec![at(0, 0)];
        let refused = |error| {
            let mut fetching = Fetching::default();
            ask(&mut fetching, all());
            fetching.answered(&told(17, None)).expect("it is taken");
            ask(&mut fetching, all());
            let mark = FetchMark { session: 17, epoch: 1 };
            assert_eq!(fetching.answered(&told(0, Some(error))), Err((mark, error)));
            named(&ask(&mut fetching, all()))
        };
        assert_eq!(refused(Error::FetchSessionIdNotFound), (0, 0, vec![0], vec![]));
        assert_eq!(refused(Error::InvalidFetchSessionEpoch), (17, 0, vec![0], vec![]));
        let mut fetching = Fetching::default();
        let taken = FetchSessions::default().take(ask(&mut fetching, all()), SimTime::ZERO);
        assert!(taken.is_ok(), "a fetch that names all is always taken");
        fetching.answered(&told(17, None)).expect("it is taken");
        let unknown = FetchSessions::default().take(ask(&mut fetching, all()), SimTime::ZERO);
        assert_eq!(unknown, Err(Error::FetchSessionIdNotFound));
        let mut fetching = Fetching::default();
        let all = all();
        let old = fetching.ask(
            (BrokerId(1), Isolation::ReadUncommitted),
            (Span::ZERO, 1),
            all.iter().map(|one| (&one.partition, one.from)),
            Release::V0_10_2_2,
        );
        assert_eq!(named(&old), (0, -1, vec![0], vec![]));
    }
}
