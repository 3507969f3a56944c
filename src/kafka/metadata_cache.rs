//! What a broker knows of the cluster because the controller has told it.
//!
//! Not here: what clients make of it (`cluster_view`).
//!
//! *Invariant: only UpdateMetadata changes it.*
// Source: ZkMetadataCache (3.9)

use std::sync::Arc;

use super::control::{DURING_DELETE, PartitionState, UpdateMetadataRequest};
use super::error::Error;
use super::id::{BrokerId, CONSUMER_OFFSETS, TopicName, TopicPartition};
use super::message::{BrokerAddress, MetadataResponse, PartitionMetadata, TopicMetadata};
use crate::sim::OrdMap;

/// A topic's partitions.
type Partitions = Arc<OrdMap<i32, PartitionState>>;

/// The cache of one broker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MetadataCache {
    controller: BrokerId,
    brokers: Arc<[BrokerAddress]>,
    topics: OrdMap<TopicName, Partitions>,
}

impl Default for MetadataCache {
    fn default() -> MetadataCache {
        MetadataCache { controller: BrokerId::NONE, brokers: Arc::from([]), topics: OrdMap::new() }
    }
}

impl MetadataCache {
    /// Takes what the controller tells; gives the partitions that are no more.
    pub fn update(&mut self, request: &UpdateMetadataRequest) -> Vec<TopicPartition> {
        self.controller = request.order.controller_id;
        self.brokers = request.live_brokers.clone();
        let mut deleted = Vec::new();
        for state in request.partition_states.iter() {
            let tp = &state.partition;
            if state.leader == DURING_DELETE {
                deleted.push(tp.clone());
                self.remove(tp);
            } else {
                let mut known = self.topics.get(&tp.topic).cloned().unwrap_or_default();
                Arc::make_mut(&mut known).insert(tp.partition, state.clone());
                self.topics.insert(tp.topic.clone(), known);
            }
        }
        deleted
    }

    fn remove(&mut self, tp: &TopicPartition) {
        let Some(known) = self.topics.get(&tp.topic) else { return };
        let mut known = known.clone();
        Arc::make_mut(&mut known).remove(&tp.partition);
        if known.is_empty() {
            self.topics.remove(&tp.topic);
        } else {
            self.topics.insert(tp.topic.clone(), known);
        }
    }

    /// The controller, or `BrokerId::NONE`.
    pub fn controller(&self) -> BrokerId {
        self.controller
    }

    /// The live brokers.
    pub fn brokers(&self) -> &Arc<[BrokerAddress]> {
        &self.brokers
    }

    /// Where a live broker is.
    pub fn broker(&self, id: BrokerId) -> Option<&BrokerAddress> {
        self.brokers.iter().find(|broker| broker.id == id)
    }

    /// All topics.
    pub fn topics(&self) -> impl Iterator<Item = &TopicName> {
        self.topics.keys()
    }

    /// A topic's partitions.
    pub fn topic(&self, name: &TopicName) -> Option<&OrdMap<i32, PartitionState>> {
        self.topics.get(name).map(|partitions| &**partitions)
    }

    /// One partition.
    pub fn partition(&self, tp: &TopicPartition) -> Option<&PartitionState> {
        self.topic(&tp.topic)?.get(&tp.partition)
    }

    /// Why a broker that does not lead a partition has nothing to say of it.
    pub fn refusal(&self, tp: &TopicPartition) -> Error {
        match self.partition(tp) {
            Some(_) => Error::NotLeaderOrFollower,
            None => Error::UnknownTopicOrPartition,
        }
    }

    /// How many of a topic's partitions have a live leader.
    pub fn led_partitions(&self, topic: &TopicName) -> usize {
        let partitions = self.topic(topic).into_iter().flat_map(OrdMap::values);
        partitions.filter(|state| self.broker(state.leader).is_some()).count()
    }

    /// A topic's id; empty where topics have none.
    pub fn topic_id(&self, topic: &TopicName) -> Option<&Arc<str>> {
        self.topic(topic)?.values().next().map(|state| &state.topic_id)
    }

    /// What a client is told; of topics that are not known, this error.
    pub fn describe(&self, topics: Option<&[TopicName]>, missing: Error) -> MetadataResponse {
        let all: Vec<TopicName>;
        let topics = match topics {
            Some(topics) => topics,
            None => {
                all = self.topics.keys().cloned().collect();
                &all
            }
        };
        MetadataResponse {
            brokers: self.brokers.to_vec(),
            controller_id: self.controller,
            topics: topics.iter().map(|topic| self.describe_topic(topic, missing)).collect(),
        }
    }

    fn describe_topic(&self, name: &TopicName, missing: Error) -> TopicMetadata {
        let known = self.topic(name);
        let partitions = known.into_iter().flat_map(OrdMap::values);
        TopicMetadata {
            error: known.is_none().then_some(missing),
            name: name.clone(),
            topic_id: self.topic_id(name).cloned(),
            is_internal: is_internal(name),
            partitions: partitions.map(|state| self.describe_partition(state)).collect(),
        }
    }

    fn describe_partition(&self, state: &PartitionState) -> PartitionMetadata {
        let lives = |id: &BrokerId| self.broker(*id).is_some();
        let led = lives(&state.leader);
        PartitionMetadata {
            error: (!led).then_some(Error::LeaderNotAvailable),
            partition_index: state.partition.partition,
            leader_id: if led { state.leader } else { BrokerId::NONE },
            leader_epoch: state.leader_epoch,
            replica_nodes: state.replicas.to_vec(),
            isr_nodes: state.isr.to_vec(),
            offline_replicas: state.replicas.iter().copied().filter(|id| !lives(id)).collect(),
        }
    }
}

/// Whether Kafka keeps a topic for itself.
pub fn is_internal(topic: &TopicName) -> bool {
    matches!(topic.as_str(), CONSUMER_OFFSETS | "__transaction_state")
}
