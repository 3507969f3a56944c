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
    /// When it began.
    pub start: SimTime,
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
            start: now,
            timeout,
        }
    }

    /// The same in another state.
    pub fn at(&self, state: TransactionState, now: SimTime) -> TransactionMetadata {
        let mut next = TransactionMetadata { state, last_update: now, ..self.clone() };
        if matches!(state, TransactionState::Complete(_) | TransactionState::Empty) {
            next.partitions = Vec::new();
        }
        next
    }

    /// The same with the next epoch.
    pub fn fenced(self) -> TransactionMetadata {
        TransactionMetadata { producer_epoch: ProducerEpoch(self.producer_epoch.0 + 1), ..self }
    }

    /// With more partitions; none if it has them all.
    // Source: TransactionMetadata.prepareAddPartitions
    pub fn with(&self, more: Vec<TopicPartition>, now: SimTime) -> Option<TransactionMetadata> {
        let is_open = self.state == TransactionState::Ongoing;
        if is_open && more.iter().all(|partition| self.partitions.contains(partition)) {
            return None;
        }
        let mut next = self.at(TransactionState::Ongoing, now);
        if !is_open {
            next.start = now;
        }
        for partition in more {
            if !next.partitions.contains(&partition) {
                next.partitions.push(partition);
            }
        }
        java_hash::in_table_order(&mut next.partitions, Filling::Early, java_hash::of_partition);
        Some(next)
    }
}

/// What a change of the log is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Aim {
    /// A producer gets its id and epoch.
    Init,
    /// A producer has to wait until the transaction before it has been aborted.
    Fence,
    /// Partitions, or offsets, are in the transaction.
    AddPartitions,
    /// The same, of offsets.
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

/// The transactions that one broker coordinates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transactions {
    /// The partitions of `__transaction_state` that it leads.
    pub led: OrdSet<i32>,
    /// The producers in these.
    pub known: OrdMap<Arc<str>, Known>,
    last_number: u32,
}

impl Transactions {
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

impl TransactionState {
    fn name(self) -> &'static str {
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
