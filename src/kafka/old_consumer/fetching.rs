//! Where the partitions that are held are read: their leaders, resets, fetches, and the streams.
//!
//! *Invariant: what was asked for before the fetchers were stopped is not taken when it comes.*
// Source: kafka.consumer.ConsumerFetcherManager, kafka.server.AbstractFetcherThread (0.8.2)

use std::collections::VecDeque;
use std::sync::Arc;

use super::alone::after;
use super::words::{OldFact, OldTimer, Reset};
use super::{Activity, OldConsumer, Purpose};
use crate::kafka::client::{BROKER_TO_ASK, Shown, drawn};
use crate::kafka::error::Error;
use crate::kafka::id::{BrokerId, Offset, TopicName, TopicPartition};
use crate::kafka::message::{
    FetchFrom, FetchMark, FetchPartition, FetchRequest, FetchResponse, Isolation, ListOffsetsAt,
    ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse,
    PartitionFetchResponse,
};
use crate::kafka::record::Record;
use crate::kafka::release::Release;
use crate::kafka::words::Words;
use crate::kafka::znodes::{self, BrokerZnode};
use crate::kafka::zookeeper::{Asker, Replies, Reply, children, found};
use crate::sim::{OrdMap, OrdSet, Outbox, ProcessId};

/// A partition that is held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    /// The thread that owns it.
    pub thread: Arc<str>,
    /// The stream that its records come out of.
    pub stream: u32,
    /// The next offset that the application gets; `Offset::NONE` before that is known.
    pub consumed: Offset,
    /// The next offset to fetch; `Offset::NONE` if the leader has to be asked where to begin.
    pub position: Offset,
    /// Its leader, while it is believed to know.
    pub leader: Option<ProcessId>,
    /// What has been fetched and not handed out.
    pub fetched: VecDeque<(Offset, Record)>,
}

/// How far the search for leaders is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Finding {
    /// The fetchers run, in which of their lives.
    runs: bool,
    life: u32,
    /// Who lives and has not been asked in vain.
    brokers: Vec<ProcessId>,
}

impl OldConsumer {
    pub(super) fn start_fetchers(&mut self, out: &mut Outbox<'_, Words>) {
        self.finding.runs = true;
        match self.reads_lone_brokers() {
            true => self.fetch_from_owners(out),
            false => self.find_leaders(out),
        }
    }

    /// Stops them; what waits in queues and streams is forgotten.
    // Source: ZookeeperConsumerConnector.closeFetchers
    pub(super) fn stop_fetchers(&mut self) {
        self.finding.runs = false;
        self.finding.life += 1;
        for held in self.held.values_mut() {
            held.fetched.clear();
            held.leader = None;
        }
    }

    fn leaderless(&self) -> OrdSet<TopicName> {
        let those = self.held.iter().filter(|(_, held)| held.leader.is_none());
        those.map(|(tp, _)| tp.topic.clone()).collect()
    }

    /// Looks for the leaders that are not known, from those who live by ZooKeeper.
    // Source: ConsumerFetcherManager.LeaderFinderThread
    pub(super) fn find_leaders(&mut self, out: &mut Outbox<'_, Words>) {
        let reads = self.zk.is_asking(Asker::LeaderFinder);
        let busy = reads || self.calls.any(|call| *call == Purpose::Metadata);
        if self.finding.runs && !busy && !self.leaderless().is_empty() {
            let read = self.zk.get_children(znodes::broker_ids());
            self.zk.ask(Asker::LeaderFinder, vec![read], out);
        }
    }

    /// Takes who lives: first their ids, then where they are.
    pub(super) fn brokers_read(&mut self, replies: &Replies, out: &mut Outbox<'_, Words>) {
        if !self.read_brokers(Asker::LeaderFinder, &replies[0], out) {
            self.finding.brokers = self.addresses(replies);
            self.try_another_broker(out);
        }
    }

    /// Asks where the brokers are that are listed here; `false` if this is no list, or empty.
    pub(super) fn read_brokers(
        &mut self,
        asker: Asker,
        list: &Reply,
        out: &mut Outbox<'_, Words>,
    ) -> bool {
        let ids = children(list);
        let broker = |id: &Arc<str>| Some(znodes::broker(BrokerId(id.parse().ok()?)));
        let paths = ids.iter().filter_map(broker);
        let reads = paths.map(|path| self.zk.get_data(path)).collect();
        self.zk.ask(asker, reads, out)
    }

    /// The processes of the brokers that these answers tell of.
    pub(super) fn addresses(&self, replies: &Replies) -> Vec<ProcessId> {
        let znodes = replies.iter().filter_map(|reply| found(reply, BrokerZnode::decode));
        znodes.filter_map(|at| self.settings.directory.find(&at.host, at.port)).collect()
    }

    /// Asks one of those who live for the leaders, or pauses when all have been asked.
    // Source: ClientUtils.fetchTopicMetadata
    pub(super) fn try_another_broker(&mut self, out: &mut Outbox<'_, Words>) {
        let topics: Vec<TopicName> = self.leaderless().into_iter().collect();
        if topics.is_empty() || !self.finding.runs {
            return;
        }
        let Some(broker) = draw(&mut self.finding.brokers, out) else {
            return out.arm(OldTimer::Leaders, self.settings.refresh_leader_backoff);
        };
        let request = MetadataRequest { topics: Some(topics), allow_auto_topic_creation: true };
        let within = self.settings.socket_timeout;
        self.calls.make(Purpose::Metadata, (broker, within), request, out);
    }

    pub(super) fn leaders_told(&mut self, told: MetadataResponse, out: &mut Outbox<'_, Words>) {
        let process =
            |id| told.brokers.iter().find(|broker| broker.id == id).map(|broker| broker.process);
        for topic in &told.topics {
            for partition in &topic.partitions {
                let tp = TopicPartition::new(topic.name.clone(), partition.partition_index);
                if let Some(held) = self.held.get_mut(&tp).filter(|held| held.leader.is_none()) {
                    held.leader = process(partition.leader_id);
                }
            }
        }
        if !self.leaderless().is_empty() {
            out.arm(OldTimer::Leaders, self.settings.refresh_leader_backoff);
        }
        self.fetch(out);
    }

    /// The connection with a leader has broken.
    // Source: AbstractFetcherThread.processFetchRequest, handlePartitionsWithErrors
    pub(super) fn lose_leader(&mut self, leader: ProcessId, out: &mut Outbox<'_, Words>) {
        let mut lost = false;
        for held in self.held.values_mut().filter(|held| held.leader == Some(leader)) {
            held.leader = None;
            lost = true;
        }
        if lost {
            self.find_leaders_later(out);
        }
    }

    /// Where brokers are alone nobody is looked for: what such a one has is not read until the next
    /// rebalance.
    // Source: kafka.consumer.FetcherRunnable: it ends with an exception (0.7.2)
    fn find_leaders_later(&self, out: &mut Outbox<'_, Words>) {
        if !self.reads_lone_brokers() {
            out.arm(OldTimer::Leaders, self.settings.refresh_leader_backoff);
        }
    }

    /// One request under way to each leader: where to begin, or records.
    pub(super) fn fetch(&mut self, out: &mut Outbox<'_, Words>) {
        if !self.finding.runs {
            return;
        }
        let mut by_leader: OrdMap<ProcessId, Vec<TopicPartition>> = OrdMap::new();
        for (tp, held) in self.held.iter().filter(|(_, held)| held.fetched.is_empty()) {
            if let Some(leader) = held.leader {
                by_leader.entry(leader).or_default().push(tp.clone());
            }
        }
        for (leader, tps) in by_leader {
            let fetches = |call: &Purpose| matches!(call, Purpose::Fetch(_) | Purpose::Reset(_));
            if !self.calls.to(leader).any(fetches) && !self.rests(leader) {
                self.fetch_from(leader, tps, out);
            }
        }
    }

    fn fetch_from(
        &mut self,
        leader: ProcessId,
        tps: Vec<TopicPartition>,
        out: &mut Outbox<'_, Words>,
    ) {
        let (within, life) = (self.settings.socket_timeout, self.finding.life);
        let unknown = |tp: &TopicPartition| self.held[tp].position == Offset::NONE;
        let (lost, known): (Vec<_>, Vec<_>) = tps.into_iter().partition(unknown);
        if !lost.is_empty() {
            let at = match self.settings.auto_offset_reset {
                Reset::Smallest => ListOffsetsAt::Earliest,
                Reset::Largest => ListOffsetsAt::Latest,
            };
            let topics = lost.into_iter().map(|tp| (tp, at)).collect();
            let request = ListOffsetsRequest {
                replica_id: BrokerId::NONE,
                isolation_level: Isolation::ReadUncommitted,
                topics,
            };
            return self.calls.make(Purpose::Reset(life), (leader, within), request, out);
        }
        let wanted = |tp: TopicPartition| FetchPartition {
            from: FetchFrom {
                current_leader_epoch: None,
                fetch_offset: self.held[&tp].position,
                last_fetched_epoch: None,
                log_start_offset: Offset::NONE,
                partition_max_bytes: self.settings.fetch_message_max_bytes,
            },
            partition: tp,
        };
        let request = FetchRequest {
            mark: FetchMark::NONE,
            forgotten: Vec::new(),
            isolation_level: Isolation::ReadUncommitted,
            replica_id: BrokerId::NONE,
            max_wait: self.settings.fetch_wait_max,
            min_bytes: 1,
            topics: known.into_iter().map(wanted).collect(),
        };
        self.calls.make(Purpose::Fetch(life), (leader, within), request, out);
    }

    // Source: ConsumerFetcherThread.handleOffsetOutOfRange
    pub(super) fn reset_told(
        &mut self,
        life: u32,
        told: ListOffsetsResponse,
        out: &mut Outbox<'_, Words>,
    ) {
        if life != self.finding.life {
            return self.fetch(out);
        }
        for (tp, result) in told.topics {
            let Some(held) = self.held.get_mut(&tp) else { continue };
            match result {
                Ok(offset) => (held.position, held.consumed) = (offset, offset),
                Err(_) => self.leader_refused(&tp, out),
            }
        }
        self.fetch(out);
    }

    pub(super) fn fetched(
        &mut self,
        life: u32,
        from: ProcessId,
        told: FetchResponse,
        out: &mut Outbox<'_, Words>,
    ) {
        if life != self.finding.life {
            return self.fetch(out);
        }
        let nothing =
            |answer: &PartitionFetchResponse| answer.records.is_empty() && answer.error.is_none();
        if self.reads_lone_brokers() && told.responses.iter().all(nothing) {
            self.rest(from, out);
        }
        let release = self.settings.release;
        for answer in told.responses {
            let tp = answer.partition;
            let Some(held) = self.held.get_mut(&tp) else { continue };
            match answer.error {
                None => held.take(&answer.records, release),
                Some(Error::OffsetOutOfRange) => held.position = Offset::NONE,
                Some(_) => self.leader_refused(&tp, out),
            }
        }
        self.hand_out(out);
        self.fetch(out);
    }

    fn leader_refused(&mut self, tp: &TopicPartition, out: &mut Outbox<'_, Words>) {
        if let Some(held) = self.held.get_mut(tp) {
            held.leader = None;
            self.find_leaders_later(out);
        }
    }

    /// The application takes what is in its streams.
    // Source: kafka.consumer.ConsumerIterator
    pub(super) fn hand_out(&mut self, out: &mut Outbox<'_, Words>) {
        if self.activity != Activity::Reading {
            return;
        }
        let release = self.settings.release;
        for (partition, held) in &mut self.held {
            while let Some((offset, record)) = held.fetched.pop_front() {
                held.consumed = after(offset, &record, release);
                let (partition, stream) = (partition.clone(), held.stream);
                let value = Shown::of(record.value.as_ref());
                out.tell(OldFact::StreamRecord { partition, offset, value, stream });
            }
        }
    }
}

impl Held {
    fn take(&mut self, batches: &[crate::kafka::record::RecordBatch], release: Release) {
        for batch in batches {
            for (offset, record) in batch.enumerate().filter(|(at, _)| *at >= self.position) {
                self.fetched.push_back((offset, record.clone()));
            }
        }
        if let Some((last, record)) = self.fetched.back() {
            self.position = after(*last, record, release);
        }
    }
}

/// One of these, which is then left out.
pub(super) fn draw(brokers: &mut Vec<ProcessId>, out: &mut Outbox<'_, Words>) -> Option<ProcessId> {
    let place = drawn(BROKER_TO_ASK, brokers.len(), out);
    (place < brokers.len()).then(|| brokers.remove(place))
}
