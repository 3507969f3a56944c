//! Topics that come and go, and partitions that are added to them.
//!
//! Not here: the deletion of topics (`deletion`).
//!
//! *Invariant: a new topic is watched before it is read.*
// Source: KafkaController.processTopicChange, processPartitionModifications, onNewPartitionCreation
// (3.9)

use super::knowledge::{PartitionPhase, Replica, ReplicaPhase};
use super::{Cause, Controller, partitions, replicas};
use crate::kafka::broker::Turn;
use crate::kafka::election::Unclean;
use crate::kafka::id::{TopicName, TopicPartition};
use crate::kafka::words::BrokerFact;
use crate::kafka::znodes::{self, TopicZnode};
use crate::kafka::zookeeper::{Replies, children, found};
use crate::sim::OrdSet;

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Reads which topics there are.
    Read,
    /// Takes the list.
    ListRead,
    /// Takes the new ones.
    DataRead(Vec<TopicName>),
    /// Reads a topic that has changed.
    ReadTopic(TopicName),
    /// Takes it.
    TopicRead(TopicName),
}

impl Controller {
    pub(super) fn topics(&mut self, step: Step, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match step {
            Step::Read => {
                let read = turn.zk.get_children(znodes::topics());
                self.ask(vec![read], Step::ListRead, turn);
            }
            Step::ListRead => self.topic_list_read(replies, turn),
            Step::DataRead(topics) => self.new_topics(&topics, replies, turn),
            Step::ReadTopic(topic) => {
                let read = turn.zk.get_data(znodes::topic(&topic));
                self.ask(vec![read], Step::TopicRead(topic), turn);
            }
            Step::TopicRead(topic) => self.topic_changed(&topic, replies, turn),
        }
    }

    fn topic_list_read(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let found: OrdSet<TopicName> =
            children(&replies[0]).iter().map(|name| TopicName::from(&**name)).collect();
        let known: Vec<TopicName> = self.knowledge.topics.keys().cloned().collect();
        for gone in known.iter().filter(|topic| !found.contains(*topic)) {
            self.knowledge.forget_topic(gone);
        }
        let new: Vec<TopicName> =
            found.into_iter().filter(|topic| !known.contains(topic)).collect();
        self.read_topics(new, Step::DataRead, turn);
    }

    fn new_topics(&mut self, topics: &[TopicName], replies: &Replies, turn: &mut Turn<'_, '_>) {
        let tps = self.know_topics(topics, replies, turn);
        for topic in topics {
            let count = tps.iter().filter(|tp| tp.topic == *topic).count();
            let partitions = i32::try_from(count).expect("partitions are counted in i32");
            turn.out.tell(BrokerFact::TopicCreated { topic: topic.clone(), partitions });
        }
        self.new_partitions(tps);
    }

    /// Brings new partitions and their replicas online.
    fn new_partitions(&mut self, tps: Vec<TopicPartition>) {
        let mut all: Vec<Replica> = Vec::new();
        for tp in &tps {
            let assignment = self.knowledge.assignment(tp);
            all.extend(assignment.replicas.iter().map(|&id| (tp.clone(), id)));
        }
        self.next_all([
            partitions::Step::To(tps.clone(), PartitionPhase::New).into(),
            replicas::Step::To(all.clone(), ReplicaPhase::New).into(),
            partitions::Step::Online(tps, Cause::Offline(Unclean::Refused)).into(),
            replicas::Step::To(all, ReplicaPhase::Online).into(),
        ]);
    }

    fn topic_changed(&mut self, topic: &TopicName, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let znode = found(&replies[0], TopicZnode::decode);
        let Some(znode) = znode else { return };
        let named = |partition| TopicPartition { topic: topic.clone(), partition };
        let is_new = |partition: &i32| !self.knowledge.partitions.contains_key(&named(*partition));
        let new: Vec<i32> = znode.partitions.keys().copied().filter(is_new).collect();
        if new.is_empty() || self.knowledge.to_delete.contains(topic) {
            return;
        }
        let partitions = i32::try_from(new.len()).expect("partitions are counted in i32");
        turn.out.tell(BrokerFact::PartitionsAdded { topic: topic.clone(), partitions });
        for &partition in &new {
            self.knowledge.assign(&named(partition), znode.partitions[&partition].clone());
        }
        self.new_partitions(new.into_iter().map(named).collect());
    }
}
