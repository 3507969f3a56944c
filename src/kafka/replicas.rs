//! All replicas of one broker: it obeys the controller (`obeying`), fetches what it follows
//! (`following`), answers for what it leads (`reading`, `appending`), lets requests wait for what
//! they want (`waiting`), and asks for other ISRs (`isr`) or writes them (`written`).
//!
//! Not here: one replica's own rules (`partition`), and the groups (`group`).
//!
//! *Invariant: a request that waits is looked at whenever a partition that it waits for has moved,
//! and is answered at its deadline at the latest.*
// Source: ReplicaManager, ReplicaFetcherThread, DelayedFetch, DelayedProduce, AlterPartitionManager
// (3.9)
// Real: the log is in the page cache until the system writes it, so a killed process loses nothing
// and a machine without power its tail; here a crash keeps the log, because only processes die.

use std::sync::Arc;

use super::broker::Turn;
use super::control::AlterPartitionEntry;
use super::error::Error;
use super::fetch_session::{Fetch, FetchSessions, Fetching};
use super::group::AppendId;
use super::id::{BrokerId, ControllerEpoch, Offset, ProducerId, TopicName, TopicPartition};
use super::log::PartitionLog;
use super::message::{BrokerAddress, TransactionResult};
use super::partition::Partition;
use super::partition_map::PartitionMap;
use super::wire::Caller;
use super::words::BrokerTimer;
use super::znodes::Config;
use crate::sim::{OrdMap, SimTime, Span};

mod appending;
mod following;
mod isr;
mod keeping;
mod obeying;
mod reading;
mod waiting;
mod written;

/// How soon a leader asks the controller again.
// Source: DefaultAlterPartitionManager (retry after 50 ms); BrokerToControllerRequestThread
const ASK_AGAIN: Span = Span::ms(50);

/// What is on the disk of one replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoredReplica {
    /// Its log.
    pub log: PartitionLog,
    /// The HW that was written down last.
    pub checkpointed_hw: Offset,
}

/// All replicas on a disk.
pub type StoredReplicas = OrdMap<TopicPartition, StoredReplica>;

/// Something that others in the broker have to hear of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// An append of the group coordinator is committed, or has failed.
    Stored(AppendId, Result<(), Error>),
    /// The same, of the transaction coordinator for this producer.
    TransactionStored(Arc<str>, Result<(), Error>),
    /// A transaction's end is committed in that partition of the offsets topic.
    TransactionEnded(i32, ProducerId, TransactionResult),
    /// This broker leads that partition of the offsets topic now.
    LeadsOffsets(i32),
    /// It leads it no more.
    LeavesOffsets(i32),
    /// This broker leads that partition of the transactions' topic now.
    LeadsTransactions(i32),
    /// It leads it no more.
    LeavesTransactions(i32),
    /// A topic has come whose settings are not known.
    NewTopic(TopicName),
}

/// Who waits for an append.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Waiter {
    /// A producer.
    Client(Caller),
    /// The group coordinator of this broker.
    Groups(AppendId),
    /// The transaction coordinator of this broker, for a `transactional.id`.
    Transactions(Arc<str>),
    /// The transaction coordinator that has sent markers.
    Markers(Caller, ProducerId, TransactionResult),
}

/// A fetch that waits for records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct WaitingFetch {
    caller: Caller,
    fetch: Fetch,
    deadline: SimTime,
}

/// What an append waits for in one partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// Until the HW is at this offset; the batch lies at the other.
    Until { required: Offset, base: Offset },
    /// It is known.
    Known(Result<Offset, Error>),
}

/// An append that waits for followers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct WaitingProduce {
    waiter: Waiter,
    parts: Vec<(TopicPartition, Part)>,
    deadline: SimTime,
}

/// What is fetched from one leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Fetcher {
    leader: BrokerAddress,
    /// The partitions, and from when on they may be fetched.
    partitions: Arc<OrdMap<TopicPartition, SimTime>>,
    /// What the leader knows of that.
    fetching: Fetching,
    /// A fetch is on its way, or waits after a failure.
    busy: bool,
    /// Where the logs ended when it asked, of partitions that it no longer fetched at some time
    /// since.
    asked: OrdMap<TopicPartition, Offset>,
}

/// All replicas of one broker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Replicas {
    me: BrokerId,
    partitions: PartitionMap<Arc<Partition>>,
    stored: StoredReplicas,
    fetchers: OrdMap<BrokerId, Fetcher>,
    ends: following::Ends,
    controller_epoch: ControllerEpoch,
    configs: OrdMap<TopicName, Arc<Config>>,
    sessions: FetchSessions,
    fetches: OrdMap<u64, Arc<WaitingFetch>>,
    produces: OrdMap<u64, WaitingProduce>,
    last_number: u64,
    wishes: OrdMap<TopicPartition, AlterPartitionEntry>,
    asked: OrdMap<TopicPartition, AlterPartitionEntry>,
    notes: Vec<Note>,
    written: written::Written,
}

impl Replicas {
    /// A broker that has these replicas on its disk and serves none yet.
    pub fn new(me: BrokerId, stored: StoredReplicas) -> Replicas {
        Replicas {
            me,
            partitions: PartitionMap::default(),
            stored,
            fetchers: OrdMap::new(),
            ends: following::Ends::default(),
            controller_epoch: ControllerEpoch(0),
            configs: OrdMap::new(),
            sessions: FetchSessions::default(),
            fetches: OrdMap::new(),
            produces: OrdMap::new(),
            last_number: 0,
            wishes: OrdMap::new(),
            asked: OrdMap::new(),
            notes: Vec::new(),
            written: written::Written::nothing(),
        }
    }

    /// Starts what is done by the clock.
    pub fn start(&mut self, turn: &mut Turn<'_, '_>) {
        self.begin_to_note(turn);
        isr::look_later(turn);
        let every = turn.settings.replica_high_watermark_checkpoint_interval;
        turn.out.arm(BrokerTimer::HighWatermarkCheckpoint, every);
        if self.stored.values().any(|stored| stored.log.segments().is_some()) {
            keeping::look_later(turn);
        }
    }

    /// The highest epoch of a controller that was heard of.
    pub fn controller_epoch(&self) -> ControllerEpoch {
        self.controller_epoch
    }

    /// The sessions in which others fetch.
    pub fn fetch_sessions(&self) -> &FetchSessions {
        &self.sessions
    }

    /// All that serve.
    pub fn partitions(&self) -> impl Iterator<Item = &Partition> {
        self.partitions.values().map(|partition| &**partition)
    }

    /// One that serves.
    pub fn partition(&self, tp: &TopicPartition) -> Option<&Partition> {
        self.partitions.get(tp).map(|partition| &**partition)
    }

    /// What a crash leaves.
    pub fn into_stored(self) -> StoredReplicas {
        let mut stored = self.stored;
        for partition in self.partitions.values() {
            let tp = &partition.tp;
            let (log, checkpointed_hw) = (partition.log.clone(), partition.checkpointed_hw);
            stored.insert(tp.clone(), StoredReplica { log, checkpointed_hw });
        }
        stored
    }

    /// Writes all HWs down.
    pub fn checkpoint(&mut self) {
        let moved = self.partitions.values().filter(|p| p.checkpointed_hw != p.hw);
        let moved: Vec<TopicPartition> = moved.map(|p| p.tp.clone()).collect();
        for tp in moved {
            let partition = self.partitions.get_mut(&tp).expect("it was just there");
            Arc::make_mut(partition).checkpointed_hw = partition.hw;
        }
    }

    /// What others have to hear of.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// A topic's own settings, as far as they are known here.
    pub fn config(&self, topic: &TopicName) -> Option<&Config> {
        self.configs.get(topic).map(|config| &**config)
    }

    fn min_isr(&self, topic: &TopicName, turn: &Turn<'_, '_>) -> i32 {
        let own = self.config(topic).and_then(|config| config.get("min.insync.replicas"));
        own.and_then(|text| text.parse().ok()).unwrap_or(turn.settings.min_insync_replicas)
    }
}
