//! What brokers say among themselves: the controller's orders, and what leaders ask of it.
//!
//! Not here: what followers ask of leaders (they fetch as consumers do, see `message`), and what is
//! made of an order.
//!
//! *Invariant: an order names its controller's epoch, and the epoch of the broker it is meant for;
//! so both can tell that it comes from the past.*

use std::sync::Arc;

use super::election::LeaderRecovery;
use super::error::Error;
use super::id::{BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, ProducerId, TopicPartition};
use super::message::BrokerAddress;

/// Who orders, and whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// The controller.
    pub controller_id: BrokerId,
    /// Its epoch.
    pub controller_epoch: ControllerEpoch,
    /// The epoch of the broker that the order is meant for (2.2+).
    pub broker_epoch: BrokerEpoch,
}

/// One partition, as the controller has decided it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionState {
    /// Which.
    pub partition: TopicPartition,
    /// Its topic's id (2.8+), or empty.
    pub topic_id: Arc<str>,
    /// The epoch of the controller that decided.
    pub controller_epoch: ControllerEpoch,
    /// The leader; `BrokerId::NONE` for none, [`DURING_DELETE`] while the topic is deleted.
    pub leader: BrokerId,
    /// Counts the leaders.
    pub leader_epoch: LeaderEpoch,
    /// The replicas in sync.
    pub isr: Arc<[BrokerId]>,
    /// The data version of the partition's `state` (zkVersion).
    pub partition_epoch: i32,
    /// The replicas.
    pub replicas: Arc<[BrokerId]>,
    /// Those that a reassignment adds.
    pub adding_replicas: Arc<[BrokerId]>,
    /// Those that a reassignment removes.
    pub removing_replicas: Arc<[BrokerId]>,
    /// The replica is new to its broker.
    pub is_new: bool,
    /// Whether an unclean leader has yet to be confirmed (3.2+).
    pub leader_recovery_state: LeaderRecovery,
}

/// The leader of a partition that is being deleted.
// Source: LeaderAndIsr.LeaderDuringDelete
pub const DURING_DELETE: BrokerId = BrokerId(-2);

/// Makes a broker leader or follower of partitions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaderAndIsrRequest {
    /// Who orders.
    pub order: Order,
    /// The partitions.
    pub partition_states: Arc<[PartitionState]>,
    /// Where their leaders are.
    pub live_leaders: Arc<[BrokerAddress]>,
}

/// What became of that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaderAndIsrResponse {
    /// Why nothing was done.
    pub error: Option<Error>,
    /// Partitions for which it was refused.
    pub partition_errors: Vec<(TopicPartition, Error)>,
}

/// Tells a broker what the cluster is like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UpdateMetadataRequest {
    /// Who tells.
    pub order: Order,
    /// Partitions that have changed.
    pub partition_states: Arc<[PartitionState]>,
    /// All brokers that live.
    pub live_brokers: Arc<[BrokerAddress]>,
}

/// What became of that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UpdateMetadataResponse {
    /// Why nothing was done.
    pub error: Option<Error>,
}

/// Whether a stopped replica keeps its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stopping {
    /// It only fetches no more.
    KeepLog,
    /// Its log goes too (`deletePartition`).
    DeleteLog,
}

/// One replica to be stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StopReplicaPartition {
    /// Of which partition.
    pub partition: TopicPartition,
    /// The leader epoch of the decision; -2 with a topic's deletion.
    pub leader_epoch: LeaderEpoch,
    /// What becomes of the log.
    pub stopping: Stopping,
}

/// Stops replicas.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StopReplicaRequest {
    /// Who orders.
    pub order: Order,
    /// Which.
    pub partitions: Arc<[StopReplicaPartition]>,
}

/// What became of that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StopReplicaResponse {
    /// Why nothing was done.
    pub error: Option<Error>,
    /// For each partition why it was not stopped.
    pub partition_errors: Vec<(TopicPartition, Option<Error>)>,
}

/// Asks the controller to take a broker's leaderships away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ControlledShutdownRequest {
    /// The broker that wants to stop.
    pub broker_id: BrokerId,
    /// Its epoch.
    pub broker_epoch: BrokerEpoch,
}

/// What became of that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ControlledShutdownResponse {
    /// Partitions that it still leads, or why nothing was done.
    pub remaining_partitions: Result<Vec<TopicPartition>, Error>,
}

/// The ISR that a leader wants.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlterPartitionEntry {
    /// Of which partition.
    pub partition: TopicPartition,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// The ISR.
    pub new_isr: Vec<BrokerId>,
    /// A leader elected uncleanly confirms itself by its first change.
    pub leader_recovery_state: LeaderRecovery,
    /// The data version that this builds upon.
    pub partition_epoch: i32,
}

/// Asks the controller to change ISRs (2.7+; AlterIsr at first).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlterPartitionRequest {
    /// The leader.
    pub broker_id: BrokerId,
    /// Its epoch.
    pub broker_epoch: BrokerEpoch,
    /// Of which partitions.
    pub partitions: Vec<AlterPartitionEntry>,
}

/// What became of one ISR.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlteredPartition {
    /// The leader.
    pub leader_id: BrokerId,
    /// Its epoch.
    pub leader_epoch: LeaderEpoch,
    /// The ISR as it is now.
    pub isr: Arc<[BrokerId]>,
    /// Whether the leader is confirmed.
    pub leader_recovery_state: LeaderRecovery,
    /// The data version now.
    pub partition_epoch: i32,
}

/// What became of the ISRs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlterPartitionResponse {
    /// Why nothing was done.
    pub error: Option<Error>,
    /// One answer a partition.
    pub partitions: Vec<(TopicPartition, Result<AlteredPartition, Error>)>,
}

/// Asks the controller for a block of producer ids (3.0+).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllocateProducerIdsRequest {
    /// Who asks.
    pub broker_id: BrokerId,
    /// Its epoch.
    pub broker_epoch: BrokerEpoch,
}

/// A block of producer ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllocateProducerIdsResponse {
    /// The first id and how many there are.
    pub block: Result<(ProducerId, i32), Error>,
}
