//! What a producer knows of brokers and partitions that reads and watches ZooKeeper.
//!
//! *Invariant: the partitions of a topic are in order of broker and number; a broker that is gone
//! takes its partitions out of all lists at once. It makes no znode.*
// Source: kafka.producer.ZKBrokerPartitionInfo (0.7.2)

use std::collections::VecDeque;

use super::settings::LoneProducerSettings;
use crate::kafka::client::Partitions;
use crate::kafka::id::{BrokerId, TopicName, TopicPartition};
use crate::kafka::producer::words::ProducerFact;
use crate::kafka::release::Release;
use crate::kafka::words::{Brokers, Words};
use crate::kafka::znodes::{self, BrokerZnode};
use crate::kafka::zookeeper::{Asker, Heard, Replies, Zookeeper, children, found};
use crate::sim::{Event, OrdMap, OrdSet, Outbox, ProcessId};
use crate::zk;
use crate::zk::path::Path;
use crate::zk::request::Op;

/// What is to be looked at, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Look {
    /// Which topics there are.
    Topics,
    /// Which brokers have something of a topic.
    Topic(TopicName),
    /// Which brokers there are.
    Brokers,
    /// Which brokers there are, for a topic that no broker has yet.
    ForNew(TopicName),
}

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    Listed(Look),
    Counted(TopicName, Vec<BrokerId>),
    Located(Vec<BrokerId>, Vec<BrokerId>),
}

/// What it knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Knowledge {
    zk: Zookeeper,
    /// Who lives, and where.
    brokers: OrdMap<BrokerId, ProcessId>,
    /// The brokers' partitions, by topic.
    topics: OrdMap<TopicName, OrdSet<TopicPartition>>,
    /// The topics whose znodes are watched.
    watched: OrdSet<TopicName>,
    /// Brokers that nobody has connected to yet.
    new: Vec<BrokerId>,
    looks: VecDeque<Look>,
    asked: Option<Step>,
    /// Whether it has read everything in this session.
    is_complete: bool,
}

/// What became of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Session {
    /// It is there, or will be.
    Kept,
    /// It was closed.
    Closed,
}

impl Knowledge {
    pub(super) fn new(settings: &LoneProducerSettings, release: Release) -> Knowledge {
        let config = zk::client::Config {
            servers: settings.zookeeper_connect.clone(),
            timeout: settings.zk_sessiontimeout,
        };
        Knowledge {
            zk: Zookeeper::of_release(config, release),
            brokers: OrdMap::new(),
            topics: OrdMap::new(),
            watched: OrdSet::new(),
            new: Vec::new(),
            looks: VecDeque::new(),
            asked: None,
            is_complete: false,
        }
    }

    /// Its handle to ZooKeeper.
    pub fn zookeeper(&self) -> &Zookeeper {
        &self.zk
    }

    /// Who lives.
    pub fn brokers(&self) -> &OrdMap<BrokerId, ProcessId> {
        &self.brokers
    }

    /// Each topic's partitions, in order.
    pub fn topics(&self) -> &OrdMap<TopicName, OrdSet<TopicPartition>> {
        &self.topics
    }

    /// Whether it has read all that it wants to know.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete && self.looks.is_empty() && self.asked.is_none()
    }

    /// The brokers that have come since this was asked last.
    pub(super) fn take_new(&mut self) -> Vec<BrokerId> {
        std::mem::take(&mut self.new)
    }

    pub(super) fn open(&mut self, out: &mut Outbox<'_, Words>) {
        self.zk.open(out);
    }

    pub(super) fn close(&mut self, out: &mut Outbox<'_, Words>) -> Session {
        let is_alone = self.zk.client().state() == zk::client::State::Connecting;
        match is_alone || self.zk.close(out).contains(&Heard::Closed) {
            true => Session::Closed,
            false => Session::Kept,
        }
    }

    /// Takes an event of its client.
    pub(super) fn handle(
        &mut self,
        event: Event<zk::Words>,
        settings: &LoneProducerSettings,
        out: &mut Outbox<'_, Words>,
    ) -> Session {
        for heard in self.zk.handle(event, out) {
            match heard {
                Heard::Closed => return Session::Closed,
                Heard::Session(_) => self.read_all(out),
                Heard::Expired => {
                    (self.asked, self.is_complete) = (None, false);
                    self.zk.reopen(out);
                }
                Heard::Watched(event) => self.look(look_for(&event.path), out),
                Heard::Answered(_, replies) => self.answered(&replies, settings, out),
            }
        }
        Session::Kept
    }

    /// Forgets all and reads it anew: at the start, in a new session, and when what it knows is of
    /// no use.
    // Source: ZKSessionExpirationListener.handleNewSession, ZKBrokerPartitionInfo.updateInfo
    pub(super) fn read_all(&mut self, out: &mut Outbox<'_, Words>) {
        self.watched = OrdSet::new();
        (self.topics, self.brokers) = (OrdMap::new(), OrdMap::new());
        self.is_complete = false;
        self.looks = VecDeque::from([Look::Topics, Look::Brokers]);
        self.next(out);
    }

    /// Asks who lives, for a topic that nobody has: each is taken to have one partition of it.
    // Source: ZKBrokerPartitionInfo.bootstrapWithExistingBrokers (0.7.2)
    pub(super) fn assume(&mut self, topic: &TopicName, out: &mut Outbox<'_, Words>) {
        self.look(Some(Look::ForNew(topic.clone())), out);
    }

    fn look(&mut self, look: Option<Look>, out: &mut Outbox<'_, Words>) {
        if let Some(look) = look.filter(|look| !self.looks.contains(look)) {
            self.looks.push_back(look);
            self.next(out);
        }
    }

    fn next(&mut self, out: &mut Outbox<'_, Words>) {
        if self.asked.is_some() {
            return;
        }
        let Some(look) = self.looks.pop_front() else {
            self.is_complete = true;
            return;
        };
        let reads = match &look {
            Look::Topics => self.zk.subscribe(&[], &[znodes::topics()]),
            Look::Topic(topic) => {
                self.watched.insert(topic.clone());
                self.zk.subscribe(&[], &[znodes::topic(topic)])
            }
            Look::Brokers => self.zk.subscribe(&[], &[znodes::broker_ids()]),
            Look::ForNew(_) => vec![self.zk.get_children(znodes::broker_ids())],
        };
        self.ask(reads, Step::Listed(look), out);
    }

    fn ask(&mut self, reads: Vec<Op>, step: Step, out: &mut Outbox<'_, Words>) {
        self.asked = Some(step);
        self.zk.ask(Asker::Topics, reads, out);
    }

    fn answered(
        &mut self,
        replies: &Replies,
        settings: &LoneProducerSettings,
        out: &mut Outbox<'_, Words>,
    ) {
        match self.asked.take() {
            Some(Step::Listed(look)) => self.listed(look, replies, out),
            Some(Step::Counted(topic, brokers)) => self.counted(topic, &brokers, replies, out),
            Some(Step::Located(all, new)) => self.located(&all, &new, replies, settings, out),
            None => {}
        }
        self.next(out);
    }

    fn listed(&mut self, look: Look, replies: &Replies, out: &mut Outbox<'_, Words>) {
        let names = replies.last().map(children).unwrap_or_default();
        let ids = || names.iter().filter_map(|name| Some(BrokerId(name.parse().ok()?)));
        match look {
            Look::Topics => {
                for name in names.iter().rev() {
                    let topic = TopicName::from(&**name);
                    if !self.watched.contains(&topic) {
                        self.looks.push_front(Look::Topic(topic));
                    }
                }
            }
            Look::Topic(topic) => {
                let brokers: Vec<BrokerId> = ids().collect();
                if brokers.is_empty() {
                    return self.counted(topic, &[], &Vec::new(), out);
                }
                let path = |id: &BrokerId| znodes::broker_topic(&topic, *id);
                let reads = brokers.iter().map(|id| self.zk.get_data(path(id))).collect();
                self.ask(reads, Step::Counted(topic, brokers), out);
            }
            Look::Brokers => {
                let all: Vec<BrokerId> = ids().collect();
                let is_new = |id: &BrokerId| !self.brokers.contains_key(id);
                let new: Vec<BrokerId> = all.iter().copied().filter(is_new).collect();
                let reads: Vec<Op> =
                    new.iter().map(|id| self.zk.get_data(znodes::broker(*id))).collect();
                if reads.is_empty() {
                    return self.keep(&all, &[], out);
                }
                self.ask(reads, Step::Located(all, new), out);
            }
            Look::ForNew(topic) => {
                let first = ids().map(|id| TopicPartition::of_broker(topic.clone(), id, 0));
                let first: OrdSet<TopicPartition> = first.collect();
                self.take(topic, first, out);
            }
        }
    }

    /// Takes how many partitions brokers have of a topic; what was assumed of others stays.
    // Source: BrokerTopicsListener.processNewBrokerInExistingTopic (0.7.2)
    fn counted(
        &mut self,
        topic: TopicName,
        brokers: &[BrokerId],
        replies: &Replies,
        out: &mut Outbox<'_, Words>,
    ) {
        let mut partitions = self.topics.get(&topic).cloned().unwrap_or_default();
        for (id, reply) in brokers.iter().zip(replies) {
            let count = found(reply, znodes::decode_count).unwrap_or(0);
            for part in 0..count {
                partitions.insert(TopicPartition::of_broker(topic.clone(), *id, part));
            }
        }
        if self.is_complete {
            let brokers = &self.brokers;
            partitions.retain(|tp| lives(tp, brokers));
        }
        self.take(topic, partitions, out);
    }

    fn take(
        &mut self,
        topic: TopicName,
        partitions: OrdSet<TopicPartition>,
        out: &mut Outbox<'_, Words>,
    ) {
        let before = self.topics.get(&topic);
        if before != Some(&partitions) {
            let shown: Partitions = partitions.iter().collect();
            let topic = topic.clone();
            out.tell(ProducerFact::PartitionsKnown { topic, partitions: shown });
        }
        self.topics.insert(topic, partitions);
    }

    /// Takes where new brokers are.
    // Source: BrokerTopicsListener.processBrokerChange (0.7.2)
    fn located(
        &mut self,
        all: &[BrokerId],
        new: &[BrokerId],
        replies: &Replies,
        settings: &LoneProducerSettings,
        out: &mut Outbox<'_, Words>,
    ) {
        let mut located = Vec::new();
        for (id, reply) in new.iter().zip(replies) {
            let znode = found(reply, BrokerZnode::decode);
            let process = znode.and_then(|at| settings.directory.find(&at.host, at.port));
            if let Some(process) = process {
                self.brokers.insert(*id, process);
                located.push(*id);
            }
        }
        self.keep(all, &located, out);
    }

    /// Only these live, some of them new: the partitions of all others are out of every list.
    fn keep(&mut self, all: &[BrokerId], new: &[BrokerId], out: &mut Outbox<'_, Words>) {
        let before = self.brokers.len();
        self.brokers.retain(|id, _| all.contains(id));
        self.new.extend(new);
        if self.brokers.len() != before || !new.is_empty() {
            let brokers = self.brokers.keys().copied().collect::<Vec<_>>();
            out.tell(ProducerFact::BrokersKnown { brokers: Brokers::from(&*brokers) });
        }
        for (topic, partitions) in self.topics.clone() {
            let mut left = partitions;
            let brokers = &self.brokers;
            left.retain(|tp| lives(tp, brokers));
            self.take(topic, left, out);
        }
    }
}

fn lives(tp: &TopicPartition, brokers: &OrdMap<BrokerId, ProcessId>) -> bool {
    tp.broker_part().is_some_and(|(broker, _)| brokers.contains_key(&broker))
}

fn look_for(path: &Path) -> Option<Look> {
    match () {
        () if *path == znodes::topics() => Some(Look::Topics),
        () if *path == znodes::broker_ids() => Some(Look::Brokers),
        () => znodes::topic_at(path).map(Look::Topic),
    }
}
