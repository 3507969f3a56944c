//! What administrators' tools ask of brokers, beside creating topics (see `message`).
//!
//! Not here: what the tools print.
//!
//! *Invariant: as in `message`: one response for each request.*

use std::sync::Arc;

use super::error::Error;
use super::id::{BrokerId, LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use super::id::{TopicName, TopicPartition};
use super::transaction::TransactionState;
use super::znodes::{ConfigType, DEFAULT_ENTITY};
use crate::sim::{OrdMap, SimTime, Span};

/// A refusal with what it says to people.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// The error.
    pub error: Error,
    /// The same in words, where the broker has some.
    pub error_message: Option<Arc<str>>,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal { error, error_message: None }
    }
}

/// One topic that is to have more partitions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreatePartitionsTopic {
    /// The topic.
    pub name: TopicName,
    /// How many partitions it is to have in all.
    pub count: i32,
    /// The replicas of the new ones, if the asker has chosen them.
    pub assignments: Option<Vec<Vec<BrokerId>>>,
}

/// Asks the controller for more partitions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreatePartitionsRequest {
    /// Of which topics.
    pub topics: Vec<CreatePartitionsTopic>,
    /// How long the broker may wait until they can be used.
    pub timeout: Span,
}

/// What became of that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreatePartitionsResponse {
    /// One answer a topic.
    pub results: Vec<(TopicName, Option<Refusal>)>,
}

/// Asks the controller to delete topics.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeleteTopicsRequest {
    /// Which.
    pub topic_names: Vec<TopicName>,
    /// How long the broker may wait until they are gone.
    pub timeout: Span,
}

/// What became of that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeleteTopicsResponse {
    /// One answer a topic.
    pub responses: Vec<(TopicName, Option<Refusal>)>,
}

/// What can have settings of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigResource {
    /// A topic.
    Topic(TopicName),
    /// A broker.
    Broker(BrokerId),
    /// All brokers (`<default>`).
    AllBrokers,
}

impl ConfigResource {
    /// Where its settings are in ZooKeeper.
    pub fn entity(&self) -> (ConfigType, String) {
        match self {
            ConfigResource::Topic(topic) => (ConfigType::Topics, topic.to_string()),
            ConfigResource::Broker(broker) => (ConfigType::Brokers, broker.to_string()),
            ConfigResource::AllBrokers => (ConfigType::Brokers, DEFAULT_ENTITY.to_owned()),
        }
    }
}

/// Asks for settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribeConfigsRequest {
    /// Whose.
    pub resources: Vec<ConfigResource>,
    /// Which of them.
    pub which: WhichConfigs,
}

/// Asks how large the logs on a broker's disk are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DescribeLogDirsRequest;

/// How large they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribeLogDirsResponse {
    /// Bytes by partition.
    pub logs: Vec<(TopicPartition, u64)>,
}

/// Asks leaders to begin logs later.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeleteRecordsRequest {
    /// The first offset that stays; -1 for the HW.
    pub partitions: Vec<(TopicPartition, Offset)>,
}

/// Where logs begin now.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeleteRecordsResponse {
    /// The first offset that is there, or why nothing was deleted.
    pub partitions: Vec<(TopicPartition, Result<Offset, Error>)>,
}

/// Which settings somebody asks for.
// Real: a broker tells all, and who asks picks; here what is a default is told only where it is
// wanted, because it is long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhichConfigs {
    /// Those that are not defaults.
    Set,
    /// All.
    All,
}

/// Where a setting's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigSource {
    /// Set for the topic.
    DynamicTopic,
    /// Set for this broker in ZooKeeper.
    DynamicBroker,
    /// Set for all brokers in ZooKeeper.
    DynamicDefaultBroker,
    /// Set in the broker's file.
    StaticBroker,
    /// Nobody set it.
    Default,
}

impl ConfigSource {
    /// Its name in Kafka.
    // Source: DescribeConfigsResponse.ConfigSource
    pub fn name(self) -> &'static str {
        match self {
            ConfigSource::DynamicTopic => "DYNAMIC_TOPIC_CONFIG",
            ConfigSource::DynamicBroker => "DYNAMIC_BROKER_CONFIG",
            ConfigSource::DynamicDefaultBroker => "DYNAMIC_DEFAULT_BROKER_CONFIG",
            ConfigSource::StaticBroker => "STATIC_BROKER_CONFIG",
            ConfigSource::Default => "DEFAULT_CONFIG",
        }
    }
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConfigEntry {
    /// Its name.
    pub name: Arc<str>,
    /// Its value.
    pub value: Arc<str>,
    /// Where that comes from.
    pub config_source: ConfigSource,
    /// All the values it could have, the deciding one first.
    pub synonyms: Vec<(ConfigSource, Arc<str>, Arc<str>)>,
}

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribeConfigsResponse {
    /// One answer for each asked.
    pub results: Vec<(ConfigResource, Result<Vec<ConfigEntry>, Refusal>)>,
}

/// One change of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AlterConfigOp {
    /// Gives it a value.
    Set(Arc<str>),
    /// Takes its value away.
    Delete,
}

/// Changes of settings, by name.
pub type ConfigChanges = Vec<(Arc<str>, AlterConfigOp)>;

/// Asks for changes of settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IncrementalAlterConfigsRequest {
    /// Whose, and which.
    pub resources: Vec<(ConfigResource, ConfigChanges)>,
}

/// What became of that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IncrementalAlterConfigsResponse {
    /// One answer for each asked.
    pub responses: Vec<(ConfigResource, Option<Refusal>)>,
}

/// Which election an administrator wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElectionType {
    /// The preferred replica is to lead.
    Preferred,
    /// Any live replica is to lead where nobody can.
    Unclean,
}

/// Asks the controller for elections.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElectLeadersRequest {
    /// Of which kind.
    pub election_type: ElectionType,
    /// In which partitions; `None` for all.
    pub partitions: Option<Vec<TopicPartition>>,
    /// How long the broker may wait until they are known.
    pub timeout: Span,
}

/// What became of that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElectLeadersResponse {
    /// Why nothing was done.
    pub error: Option<Error>,
    /// One answer a partition; of all those that need no election nothing is said.
    pub replica_election_results: Vec<(TopicPartition, Option<Refusal>)>,
}

/// Asks the controller to move replicas.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlterPartitionReassignmentsRequest {
    /// Where to; `None` takes a running move back.
    pub topics: Vec<(TopicPartition, Option<Vec<BrokerId>>)>,
    /// How long the broker may take.
    pub timeout: Span,
}

/// What became of that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlterPartitionReassignmentsResponse {
    /// Why nothing was done.
    pub error: Option<Error>,
    /// One answer a partition.
    pub responses: Vec<(TopicPartition, Option<Refusal>)>,
}

/// Asks the controller which replicas are moving.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListPartitionReassignmentsRequest {
    /// In which partitions; `None` for all.
    pub topics: Option<Vec<TopicPartition>>,
}

/// A move that is not done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OngoingReassignment {
    /// All replicas.
    pub replicas: Vec<BrokerId>,
    /// Those that are added.
    pub adding_replicas: Vec<BrokerId>,
    /// Those that are removed.
    pub removing_replicas: Vec<BrokerId>,
}

/// Which replicas are moving.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListPartitionReassignmentsResponse {
    /// Why that is not known.
    pub error: Option<Error>,
    /// The moves.
    pub topics: OrdMap<TopicPartition, OngoingReassignment>,
}

/// Asks a broker who has written to partitions with a producer id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribeProducersRequest {
    /// Which partitions.
    pub topics: Vec<TopicPartition>,
}

/// What a log knows of a producer.
// Source: DescribeProducersResponse.ProducerState (KIP-664)
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProducerState {
    /// Its id.
    pub producer_id: ProducerId,
    /// The epoch of that.
    pub producer_epoch: ProducerEpoch,
    /// The sequence of its last record; -1 if there is none of this epoch.
    pub last_sequence: i32,
    /// When it wrote last, or its transaction was ended.
    pub last_timestamp: SimTime,
    /// The epoch of the coordinator that has ended a transaction last.
    pub coordinator_epoch: Option<LeaderEpoch>,
    /// Where its open transaction begins.
    pub current_txn_start_offset: Option<Offset>,
}

/// Who has written there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribeProducersResponse {
    /// The producers of each partition, or why they are not told.
    pub topics: Vec<(TopicPartition, Result<Vec<ProducerState>, Error>)>,
}

/// Asks a coordinator where producers' transactions stand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribeTransactionsRequest {
    /// Whose.
    pub transactional_ids: Vec<Arc<str>>,
}

/// Where a producer's transaction stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TransactionDescription {
    /// Its producer id.
    pub producer_id: ProducerId,
    /// The epoch of that.
    pub producer_epoch: ProducerEpoch,
    /// Where it stands.
    pub state: TransactionState,
    /// How long it may take.
    pub timeout: Span,
    /// When it began, if it ever has with this epoch.
    pub start: Option<SimTime>,
    /// The partitions that it writes to, or those that are not told of its end yet.
    pub topics: Vec<TopicPartition>,
}

/// Where producers' transactions stand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescribeTransactionsResponse {
    /// One answer for each asked.
    pub transaction_states: Vec<(Arc<str>, Result<TransactionDescription, Error>)>,
}

/// Asks a coordinator for all its producers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListTransactionsRequest {
    /// Only those of these ids; empty for all.
    pub producer_ids: Vec<ProducerId>,
    /// Only those whose transaction began longer ago than this (KIP-994).
    pub duration: Option<Span>,
}

/// A producer that a coordinator knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TransactionListing {
    /// Its name.
    pub transactional_id: Arc<str>,
    /// Its producer id.
    pub producer_id: ProducerId,
    /// Where its transaction stands.
    pub state: TransactionState,
}

/// All producers of a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListTransactionsResponse {
    /// As it goes through them.
    pub transaction_states: Vec<TransactionListing>,
}
