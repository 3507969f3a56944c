//! The transaction coordinator's knowledge: what `__transaction_state` says of each transactional
//! producer, what may follow, and what is owed before it may.
//!
//! Not here: requests and messages (`broker::transactions`), and what lies in the logs (`log`).
//!
//! ```text
//!   Empty ─▶ Ongoing ─▶ PrepareCommit ─ markers in all its partitions ─▶ CompleteCommit ─▶ Ongoing
//!               └─────▶ PrepareAbort ──────────── the same ────────────▶ CompleteAbort ──▶ Empty
//! ```
//!
//! *Invariant: what a producer is told is in the log; one change of a producer is under way at a
//! time.*
// Source: kafka.coordinator.transaction.{TransactionMetadata, TransactionCoordinator} (3.9)

use std::fmt;
use std::sync::Arc;

use super::admin::{ListTransactionsRequest, TransactionDescription, TransactionListing};
use super::error::Error;
use super::id::{ProducerEpoch, ProducerId, TopicPartition};
use super::java_hash::{self, Filling};
use super::message::{TransactionResult, TransactionalProducer};
use super::wire::Caller;
use crate::sim::{OrdMap, OrdSet, SimTime, Span};

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransactionState {
    /// There was none yet with this epoch.
    Empty,
    /// Something may have been written.
    Ongoing,
    /// How it ends is decided.
    Prepare(TransactionResult),
    /// All its partitions know.
    Complete(TransactionResult),
}

/// What is known of a transactional producer.
// Source: TransactionLogValue (version 0)
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TransactionMetadata {
    /// Its producer id.
    pub producer_id: ProducerId,
    /// The epoch of that.
    pub producer_epoch: ProducerEpoch,
    /// Where its transaction stands.
    pub state: TransactionState,
    /// The partitions that it writes to, as a hash set hands them out.
    pub partitions: Vec<TopicPartition>,
    /// When that changed.
    pub last_update: SimTime,
    /// When it began; nothing while there was none with this epoch.
    pub start: Option<SimTime>,
    /// How long it may take.
    pub timeout: Span,
}

impl TransactionMetadata {
    /// A producer's first.
    pub fn new(producer_id: ProducerId, timeout: Span, now: SimTime) -> TransactionMetadata {
        TransactionMetadata {
            producer_id,
            producer_epoch: ProducerEpoch(0),
            state: TransactionState::Empty,
            partitions: Vec::new(),
            last_update: now,
            start: None,
            timeout,
        }
    }

    /// A producer with the same transactional id begins: first what the one before has left open is
    /// aborted.
    // Source: TransactionCoordinator.prepareInitProducerIdTransit
    pub fn init(&self, timeout: Span, now: SimTime) -> Result<(Aim, TransactionMetadata), Error> {
        match self.state {
            TransactionState::Ongoing => Ok((Aim::Fence, self.abort(now))),
            TransactionState::Prepare(_) => Err(Error::ConcurrentTransactions),
            TransactionState::Empty | TransactionState::Complete(_) => {
                let next = self.at(TransactionState::Empty, now).fenced();
                Ok((Aim::Init, TransactionMetadata { timeout, ..next }))
            }
        }
    }

    /// The producer ends its transaction; nothing changes if it has ended so.
    // Source: TransactionCoordinator.endTransaction
    pub fn end(
        &self,
        result: TransactionResult,
        now: SimTime,
    ) -> Result<Option<TransactionMetadata>, Error> {
        match self.state {
            TransactionState::Ongoing => Ok(Some(self.at(TransactionState::Prepare(result), now))),
            TransactionState::Complete(before) if before == result => Ok(None),
            TransactionState::Prepare(before) if before == result => {
                Err(Error::ConcurrentTransactions)
            }
            _ => Err(Error::InvalidTxnState),
        }
    }

    /// The coordinator ends the transaction in the producer's place, which is heard no more.
    // Source: TransactionMetadata.prepareFenceProducerEpoch
    pub fn abort(&self, now: SimTime) -> TransactionMetadata {
        self.at(TransactionState::Prepare(TransactionResult::Abort), now).fenced()
    }

    /// The same in another state.
    pub fn at(&self, state: TransactionState, now: SimTime) -> TransactionMetadata {
        assert!(state.may_follow(self.state), "{} after {}", state.name(), self.state.name());
        let mut next = TransactionMetadata { state, last_update: now, ..self.clone() };
        if matches!(state, TransactionState::Complete(_) | TransactionState::Empty) {
            next.partitions = Vec::new();
        }
        if state == TransactionState::Empty {
            next.start = None;
        }
        next
    }

    /// The same with the next epoch.
    // Real: an id whose 32 767 epochs are used up is replaced by a new one; here there is none,
    // because no play lasts so long.
    fn fenced(self) -> TransactionMetadata {
        TransactionMetadata {
            producer_epoch: ProducerEpoch(self.producer_epoch.0.saturating_add(1)),
            ..self
        }
    }

    /// The producer writes to more partitions; nothing changes if it writes to all of them.
    // Source: TransactionCoordinator.handleAddPartitionsToTransaction,
    // TransactionMetadata.prepareAddPartitions
    pub fn add(
        &self,
        more: Vec<TopicPartition>,
        now: SimTime,
    ) -> Result<Option<TransactionMetadata>, Error> {
        let is_open = self.state == TransactionState::Ongoing;
        if let TransactionState::Prepare(_) = self.state {
            return Err(Error::ConcurrentTransactions);
        }
        if is_open && more.iter().all(|partition| self.partitions.contains(partition)) {
            return Ok(None);
        }
        let mut next = self.at(TransactionState::Ongoing, now);
        if !is_open {
            next.start = Some(now);
        }
        for partition in more {
            if !next.partitions.contains(&partition) {
                next.partitions.push(partition);
            }
        }
        java_hash::in_table_order(&mut next.partitions, Filling::Early, java_hash::of_partition);
        Ok(Some(next))
    }
}

/// What a change of the log is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Aim {
    /// A producer gets its id and epoch.
    Init,
    /// A producer has to wait until the transaction before it has been aborted.
    Fence,
    /// Partitions are in the transaction.
    AddPartitions,
    /// So is the one that keeps the offsets of a group.
    AddOffsets,
    /// The transaction's end is decided.
    End,
}

/// What has to be done before anything else may.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pending {
    /// The log has to take this.
    Write {
        /// What will be known then.
        next: Arc<TransactionMetadata>,
        /// Who is told then; none if nobody has asked.
        whom: Option<(Caller, Aim)>,
    },
    /// These partitions do not know yet how the transaction ends; so many questions are under way.
    Markers {
        /// Which.
        left: OrdSet<TopicPartition>,
        /// How many.
        calls: u32,
    },
    /// A leader has heard of a newer epoch: nobody is told any more, and nothing follows until
    /// another broker coordinates.
    GivenUp,
}

/// One transactional producer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Known {
    /// A small number for calls.
    pub number: u32,
    /// What the log says; nothing before the first record is there.
    pub metadata: Option<Arc<TransactionMetadata>>,
    /// What is under way.
    pub pending: Option<Pending>,
}

impl Known {
    /// Where its transaction stands. One whose first record is not written yet has an id, and no
    /// epoch.
    // Source: TransactionCoordinator.handleDescribeTransactions, handleInitProducerId;
    // TransactionMetadata.removePartition
    pub fn described(&self) -> Option<TransactionDescription> {
        let (known, left) = match (&self.metadata, &self.pending) {
            (Some(known), Some(Pending::Markers { left, .. })) => (known, Some(left)),
            (Some(known), _) => (known, None),
            (None, Some(Pending::Write { next, .. })) => (next, None),
            (None, _) => return None,
        };
        let partitions = &known.partitions;
        let is_left = |tp: &&TopicPartition| left.is_none_or(|left| left.contains(*tp));
        let is_written = self.metadata.is_some();
        let (producer_id, timeout) = (known.producer_id, known.timeout);
        Some(TransactionDescription {
            producer_id,
            producer_epoch: if is_written { known.producer_epoch } else { ProducerEpoch(-1) },
            state: known.state,
            timeout,
            start: known.start,
            topics: partitions.iter().filter(is_left).cloned().collect(),
        })
    }
}

/// The transactions that one broker coordinates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transactions {
    /// The partitions of `__transaction_state` that it leads.
    led: OrdSet<i32>,
    /// The producers in these.
    known: OrdMap<Arc<str>, Known>,
    last_number: u32,
}

impl Transactions {
    /// Takes a partition of `__transaction_state` over.
    pub fn lead(&mut self, number: i32) {
        self.led.insert(number);
    }

    /// Whether it keeps that partition.
    pub fn leads(&self, number: i32) -> bool {
        self.led.contains(&number)
    }

    /// Gives one of so many partitions up, and all who are in it.
    pub fn resign(&mut self, number: i32, partitions: i32) {
        self.led.remove(&number);
        self.known.retain(|id, _| java_hash::coordinator_partition(id, partitions) != number);
    }

    /// All producers.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Known)> {
        self.known.iter()
    }

    /// All that is asked for, as so many partitions and the producers in each are gone through.
    // Source: TransactionStateManager.listTransactionStates: a mutable.Map of Pools
    pub fn listed(
        &self,
        asked: &ListTransactionsRequest,
        now: SimTime,
        partitions: i32,
    ) -> Vec<TransactionListing> {
        let mut led: Vec<i32> = self.led.iter().copied().collect();
        java_hash::in_table_order(&mut led, Filling::Early, |number| *number);
        let of = |number: i32| {
            let is_there =
                move |id: &Arc<str>| java_hash::coordinator_partition(id, partitions) == number;
            let mut known: Vec<_> = self.known.iter().filter(|(id, _)| is_there(id)).collect();
            java_hash::in_table_order(&mut known, Filling::Early, |(id, _)| java_hash::hash(id));
            known
        };
        let known = led.into_iter().flat_map(of);
        let described = known.filter_map(|(id, known)| Some((id, known.described()?)));
        let wanted = described.filter(|(_, of)| is_asked(of, asked, now));
        let listing = |(id, of): (&Arc<str>, TransactionDescription)| TransactionListing {
            transactional_id: id.clone(),
            producer_id: of.producer_id,
            state: of.state,
        };
        wanted.map(listing).collect()
    }

    /// The producer, if something is known of it.
    pub fn get(&self, id: &Arc<str>) -> Option<&Known> {
        self.known.get(id)
    }

    /// The producer, if something is known of it.
    pub fn get_mut(&mut self, id: &Arc<str>) -> Option<&mut Known> {
        self.known.get_mut(id)
    }

    /// The producer, made if nothing is known of it.
    pub fn entry(&mut self, id: &Arc<str>) -> &mut Known {
        if !self.known.contains_key(id) {
            self.last_number += 1;
            let (number, metadata, pending) = (self.last_number, None, None);
            self.known.insert(id.clone(), Known { number, metadata, pending });
        }
        self.known.get_mut(id).expect("it is there now")
    }

    /// The producer of a number.
    pub fn id_of(&self, number: u32) -> Option<Arc<str>> {
        let found = self.known.iter().find(|(_, known)| known.number == number);
        found.map(|(id, _)| id.clone())
    }

    /// What is known of a producer that wants to go on with its transaction.
    // Source: TransactionCoordinator.handleAddPartitionsToTransaction, endTransaction
    pub fn of(&self, by: &TransactionalProducer) -> Result<Arc<TransactionMetadata>, Error> {
        let known = self.known.get(&by.transactional_id);
        let metadata = known.and_then(|known| known.metadata.as_ref());
        let metadata = metadata.filter(|known| known.producer_id == by.producer_id);
        let metadata = metadata.ok_or(Error::InvalidProducerIdMapping)?;
        if metadata.producer_epoch != by.producer_epoch {
            return Err(Error::ProducerFenced);
        }
        if known.is_some_and(|known| known.pending.is_some()) {
            return Err(Error::ConcurrentTransactions);
        }
        Ok(metadata.clone())
    }
}

/// One without a transaction counts as having begun at the beginning of time.
// Source: TransactionStateManager.listTransactionStates (shouldInclude)
fn is_asked(of: &TransactionDescription, asked: &ListTransactionsRequest, now: SimTime) -> bool {
    let is_old = |than: Span| of.start.is_none_or(|start| now.since(start) > than);
    let is_named = asked.producer_ids.is_empty() || asked.producer_ids.contains(&of.producer_id);
    is_named && asked.duration.is_none_or(is_old)
}

impl TransactionState {
    /// Whether it may come after that one.
    // Source: TransactionState.validPreviousStates
    fn may_follow(self, previous: TransactionState) -> bool {
        use TransactionState::*;
        match self {
            Empty => matches!(previous, Empty | Complete(_)),
            Ongoing => matches!(previous, Ongoing | Empty | Complete(_)),
            Prepare(_) => previous == Ongoing,
            Complete(result) => previous == Prepare(result),
        }
    }

    /// Its name, as tools print it.
    pub fn name(self) -> &'static str {
        match self {
            TransactionState::Empty => "Empty",
            TransactionState::Ongoing => "Ongoing",
            TransactionState::Prepare(TransactionResult::Commit) => "PrepareCommit",
            TransactionState::Prepare(TransactionResult::Abort) => "PrepareAbort",
            TransactionState::Complete(TransactionResult::Commit) => "CompleteCommit",
            TransactionState::Complete(TransactionResult::Abort) => "CompleteAbort",
        }
    }
}

/// As the dump tool prints it.
impl fmt::Display for TransactionMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partitions: Vec<String> = self.partitions.iter().map(ToString::to_string).collect();
        write!(
            f,
            "producerId:{},producerEpoch:{},state={},partitions=[{}],txnLastUpdateTimestamp={},\
             txnTimeoutMs={}",
            self.producer_id,
            self.producer_epoch,
            self.state.name(),
            partitions.join(","),
            self.last_update.as_ms(),
            self.timeout.as_ms(),
        )
    }
}

#[cfg(test)]
mod table {
    use super::*;
    use TransactionResult::{Abort, Commit};
    use TransactionState::*;

    const ALL: [TransactionState; 6] =
        [Empty, Ongoing, Prepare(Commit), Prepare(Abort), Complete(Commit), Complete(Abort)];

    type Change = Result<Option<TransactionMetadata>, Error>;

    /// What becomes of a producer of epoch 3 in each of the six states.
    fn check(change: impl Fn(&TransactionMetadata) -> Change, expected: [&str; 6]) {
        for (state, expected) in ALL.into_iter().zip(expected) {
            let new = TransactionMetadata::new(ProducerId(7), Span::secs(60), SimTime::ZERO);
            let partitions = vec![TopicPartition::new("t", 0)];
            let known =
                TransactionMetadata { state, producer_epoch: ProducerEpoch(3), partitions, ..new };
            let outcome = match change(&known) {
                Ok(Some(next)) => format!("{} {}", next.state.name(), next.producer_epoch),
                Ok(None) => "nothing".into(),
                Err(error) => error.name(crate::kafka::release::Release::V3_9_1).to_owned(),
            };
            assert_eq!(outcome, expected, "after {}", state.name());
        }
    }

    const CONCURRENT: &str = "CONCURRENT_TRANSACTIONS";
    const INVALID: &str = "INVALID_TXN_STATE";

    #[test]
    fn what_each_request_comes_to_in_each_state() {
        let now = SimTime::ZERO;
        let init = |known: &TransactionMetadata| {
            known.init(Span::secs(1), now).map(|(aim, next)| {
                assert_eq!(aim == Aim::Fence, known.state == Ongoing);
                Some(next)
            })
        };
        check(init, ["Empty 4", "PrepareAbort 4", CONCURRENT, CONCURRENT, "Empty 4", "Empty 4"]);
        check(
            |known| known.end(Commit, now),
            [INVALID, "PrepareCommit 3", CONCURRENT, INVALID, "nothing", INVALID],
        );
        check(
            |known| known.end(Abort, now),
            [INVALID, "PrepareAbort 3", INVALID, CONCURRENT, INVALID, "nothing"],
        );
        let other = || vec![TopicPartition::new("t", 1)];
        check(
            |known| known.add(other(), now),
            ["Ongoing 3", "Ongoing 3", CONCURRENT, CONCURRENT, "Ongoing 3", "Ongoing 3"],
        );
        let same = || vec![TopicPartition::new("t", 0)];
        check(
            |known| known.add(same(), now),
            ["Ongoing 3", "nothing", CONCURRENT, CONCURRENT, "Ongoing 3", "Ongoing 3"],
        );
    }

    #[test]
    fn a_decision_is_carried_out_and_not_taken_back() {
        let follow = |next: TransactionState| ALL.map(|before| next.may_follow(before));
        assert_eq!(follow(Empty), [true, false, false, false, true, true]);
        assert_eq!(follow(Ongoing), [true, true, false, false, true, true]);
        for result in [Commit, Abort] {
            assert_eq!(follow(Prepare(result)), [false, true, false, false, false, false]);
        }
        assert_eq!(follow(Complete(Commit)), [false, false, true, false, false, false]);
        assert_eq!(follow(Complete(Abort)), [false, false, false, true, false, false]);
    }
}
