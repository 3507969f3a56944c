//! What is different where brokers are alone (0.7): partitions are their brokers' own, by what
//! ZooKeeper says of each topic, and are read there; there is nobody to look for.
//!
//! *Invariant: partitions are in the order of their names as texts, for every member alike.*
// Source: kafka.consumer.ZookeeperConsumerConnector, Fetcher, FetcherRunnable (0.7.2)

use std::sync::Arc;

use super::OldConsumer;
use super::rebalance::Step;
use super::words::OldTimer;
use crate::kafka::assignor::PartitionCounts;
use crate::kafka::id::{BrokerId, Offset, TopicName, TopicPartition};
use crate::kafka::lone::size_of;
use crate::kafka::record::Record;
use crate::kafka::release::Release;
use crate::kafka::words::Words;
use crate::kafka::znodes::{self, BrokerZnode, consumers};
use crate::kafka::zookeeper::{Replies, children, found};
use crate::sim::{OrdMap, OrdSet, Outbox, ProcessId, sort};
use crate::zk::request::Op;

/// What a rebalance has read of the brokers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Alone {
    listed: Vec<BrokerId>,
    brokers: OrdMap<BrokerId, ProcessId>,
    parts: OrdMap<TopicName, Vec<TopicPartition>>,
    /// Who had nothing to give, and is left alone for a while.
    resting: OrdSet<ProcessId>,
}

/// The offset after a record's.
pub(super) fn after(offset: Offset, record: &Record, release: Release) -> Offset {
    match release.offsets_are_bytes() {
        true => Offset(offset.0 + size_of(record)),
        false => offset.next(),
    }
}

impl OldConsumer {
    pub(super) fn reads_lone_brokers(&self) -> bool {
        self.settings.release.brokers_are_alone()
    }

    /// Notes which brokers there are.
    pub(super) fn note_listed(&mut self, names: &[Arc<str>]) {
        let ids = names.iter().filter_map(|name| Some(BrokerId(name.parse().ok()?)));
        self.alone.listed = ids.collect();
    }

    /// Notes where they are; the answers stand in the order in which they were listed.
    pub(super) fn note_located(&mut self, replies: &Replies) {
        self.alone.brokers = OrdMap::new();
        for (id, reply) in self.alone.listed.iter().zip(&replies[1..]) {
            let at = found(reply, BrokerZnode::decode);
            let process = at.and_then(|at| self.settings.directory.find(&at.host, at.port));
            if let Some(process) = process {
                self.alone.brokers.insert(*id, process);
            }
        }
    }

    /// Which brokers have something of these topics.
    // Source: ZkUtils.getPartitionsForTopics (0.7.2)
    pub(super) fn list_parts(
        &mut self,
        all: Vec<Arc<str>>,
        topics: Vec<TopicName>,
        out: &mut Outbox<'_, Words>,
    ) {
        topics.iter().for_each(|topic| self.zk.watch_children(znodes::topic(topic)));
        let read = |topic| self.zk.get_children(znodes::topic(topic));
        let reads: Vec<Op> = topics.iter().map(read).collect();
        self.ask(reads, Step::PartsListed(all, topics), out);
    }

    /// How many partitions each of them has.
    pub(super) fn count_parts(
        &mut self,
        all: Vec<Arc<str>>,
        topics: &[TopicName],
        replies: &Replies,
        out: &mut Outbox<'_, Words>,
    ) {
        let mut wanted = Vec::new();
        for (topic, reply) in topics.iter().zip(replies) {
            for name in children(reply).iter() {
                let id = name.parse().ok();
                wanted.extend(id.map(|id| (topic.clone(), BrokerId(id))));
            }
        }
        let read = |(topic, id): &(TopicName, BrokerId)| {
            self.zk.get_data(znodes::broker_topic(topic, *id))
        };
        let reads: Vec<Op> = wanted.iter().map(read).collect();
        self.ask(reads, Step::PartsRead(all, wanted), out);
    }

    /// Takes that, and reads who is in the group.
    pub(super) fn parts_read(
        &mut self,
        all: Vec<Arc<str>>,
        wanted: &[(TopicName, BrokerId)],
        replies: &Replies,
        out: &mut Outbox<'_, Words>,
    ) {
        self.alone.parts = OrdMap::new();
        for ((topic, id), reply) in wanted.iter().zip(replies) {
            let count = found(reply, znodes::decode_count).unwrap_or(0);
            let own = (0..count).map(|part| TopicPartition::of_broker(topic.clone(), *id, part));
            self.alone.parts.entry(topic.clone()).or_default().extend(own);
        }
        for parts in self.alone.parts.values_mut() {
            sort::by_key(parts, TopicPartition::name);
        }
        let ids = consumers::consumer_ids(&self.settings.group_id);
        let read = self.zk.get_children(ids);
        self.ask(vec![read], Step::TopicsRead(all, Vec::new()), out);
    }

    /// How many partitions the topics have in all.
    pub(super) fn part_counts(&self) -> PartitionCounts {
        let count =
            |parts: &Vec<TopicPartition>| i32::try_from(parts.len()).expect("partitions are few");
        self.alone.parts.iter().map(|(topic, parts)| (topic.clone(), count(parts))).collect()
    }

    /// The partition that has this place among its topic's.
    pub(super) fn part_at(&self, place: &TopicPartition) -> TopicPartition {
        let parts = self.alone.parts.get(&place.topic);
        let at = usize::try_from(place.partition).ok();
        let part = parts.zip(at).and_then(|(parts, at)| parts.get(at));
        part.unwrap_or(place).clone()
    }

    /// Each partition is read where it is.
    // Source: Fetcher.startConnections (0.7.2)
    pub(super) fn fetch_from_owners(&mut self, out: &mut Outbox<'_, Words>) {
        for (tp, held) in &mut self.held {
            let owner = tp.broker_part().map(|(broker, _)| broker);
            held.leader = owner.and_then(|owner| self.alone.brokers.get(&owner)).copied();
        }
        self.alone.resting = OrdSet::new();
        self.fetch(out);
    }

    /// Whoever had nothing to give is asked again after a pause.
    // Source: FetcherRunnable.run: backoff.increment.ms (0.7.2)
    // Real: each has a pause of its own; here all end when the first one's does.
    pub(super) fn rest(&mut self, from: ProcessId, out: &mut Outbox<'_, Words>) {
        if self.alone.resting.is_empty() {
            out.arm(OldTimer::Fetch, self.settings.backoff_increment);
        }
        self.alone.resting.insert(from);
    }

    pub(super) fn rested(&mut self, out: &mut Outbox<'_, Words>) {
        self.alone.resting = OrdSet::new();
        self.fetch(out);
    }

    pub(super) fn rests(&self, broker: ProcessId) -> bool {
        self.alone.resting.contains(&broker)
    }
}
