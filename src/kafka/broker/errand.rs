//! What a broker does in ZooKeeper for a client: creating topics, adding partitions, deleting,
//! reading and changing settings, and giving producer ids out.
//!
//! Not here: what the controller makes of what is written.
//!
//! *Invariant: an errand answers its client once: when it is done, when the brokers know what has
//! come of it, or when its time is over.*
// Source: kafka.server.ZkAdminManager, kafka.zk.AdminZkClient (3.9)

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Running, Site, Turn, turn};
use crate::kafka::Error;
use crate::kafka::admin::{CreatePartitionsResponse, DeleteTopicsResponse, Refusal};
use crate::kafka::control::AllocateProducerIdsRequest;
use crate::kafka::id::{BrokerId, ProducerEpoch, ProducerId, TopicName};
use crate::kafka::message::{InitProducerIdResponse, Request};
use crate::kafka::wire::{Caller, Purpose};
use crate::kafka::words::{BrokerTimer, Words};
use crate::kafka::znodes::{self, ConfigType, ProducerIdBlock};
use crate::kafka::zookeeper::{Asker, Replies, Reply, data, found};
use crate::sim::{OrdMap, Outbox, SimTime, Span};
use crate::zk::reply::Error as ZkError;
use crate::zk::request::Op;

mod alter;
mod create;
mod partitions;
mod remove;

pub use alter::{check_topic_configs, is_dynamic};
pub use create::check_topic_name;

/// One errand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Errand {
    /// Reads the settings of a topic that has come.
    Config(TopicName),
    /// Creates topics.
    Create(create::Create),
    /// Adds partitions.
    Partitions(partitions::AddPartitions),
    /// Deletes topics.
    Delete(remove::Delete),
    /// Reads settings for a client.
    Describe(alter::Describe),
    /// Changes settings.
    Alter(alter::Alter),
    /// Takes a block of producer ids: reads which was taken last, or writes this one.
    Block(Option<ProducerIdBlock>),
}

/// A client that waits until this broker knows what has come of its errand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    deadline: SimTime,
    caller: Caller,
    until: Until,
}

/// What is waited for, and what is said then.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Until {
    /// So many partitions of the topics have leaders.
    Created(OrdMap<TopicName, usize>, create::Results),
    /// The same, of partitions that were added.
    Added(OrdMap<TopicName, usize>, create::Results),
    /// The topics are gone.
    Deleted(Vec<TopicName>, create::Results),
}

/// All errands of one broker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Errands {
    last: u32,
    open: OrdMap<u32, Errand>,
    waiting: Vec<Waiting>,
    /// The producer ids that may be given out: the next, and the end of the block.
    ids: Option<(i64, i64)>,
    /// Producers that wait for ids.
    producers: VecDeque<Caller>,
    /// A block is being asked for.
    asks_block: bool,
}

impl Errands {
    fn begin(&mut self, errand: Errand) -> u32 {
        self.last += 1;
        self.open.insert(self.last, errand);
        self.last
    }

    /// Answers those that have waited long enough.
    pub(super) fn purge(&mut self, turn: &mut Turn<'_, '_>) {
        let now = turn.out.now();
        let waiting = std::mem::take(&mut self.waiting);
        let (due, rest): (Vec<Waiting>, Vec<Waiting>) =
            waiting.into_iter().partition(|waiting| waiting.deadline <= now);
        self.waiting = rest;
        due.into_iter().for_each(|waiting| answer(waiting, Some(Error::RequestTimedOut), turn));
        self.arm(turn);
        if !self.producers.is_empty() && !self.asks_block {
            self.ask_block(turn);
        }
    }

    fn arm(&self, turn: &mut Turn<'_, '_>) {
        if let Some(first) = self.waiting.iter().map(|waiting| waiting.deadline).min() {
            turn.out.arm(BrokerTimer::Errands, first.since(turn.out.now()));
        }
    }

    /// The cache has changed: answers those that waited for that.
    pub(super) fn cache_changed(&mut self, turn: &mut Turn<'_, '_>) {
        let waiting = std::mem::take(&mut self.waiting);
        let (done, rest): (Vec<Waiting>, Vec<Waiting>) =
            waiting.into_iter().partition(|waiting| is_known(&waiting.until, turn));
        self.waiting = rest;
        done.into_iter().for_each(|waiting| answer(waiting, None, turn));
    }

    fn wait(&mut self, caller: Caller, timeout: Span, until: Until, turn: &mut Turn<'_, '_>) {
        let deadline = turn.out.now() + timeout;
        self.waiting.push(Waiting { deadline, caller, until });
        self.cache_changed(turn);
        self.arm(turn);
    }

    /// Gives a producer id out, or looks for a block first.
    // Source: RPCProducerIdManager.generateProducerId
    fn producer_id(&mut self, caller: Caller, turn: &mut Turn<'_, '_>) {
        self.producers.push_back(caller);
        self.give_ids(turn);
        if !self.producers.is_empty() && !self.asks_block {
            self.ask_block(turn);
        }
    }

    /// A producer id for a transactional producer, if one may be given out now; else asks for more.
    // Source: RPCProducerIdManager.generateProducerId
    pub(super) fn take_id(&mut self, turn: &mut Turn<'_, '_>) -> Option<ProducerId> {
        let Some((next, end)) = self.ids.filter(|(next, end)| next < end) else {
            if !self.asks_block {
                self.ask_block(turn);
            }
            return None;
        };
        self.ids = Some((next + 1, end));
        Some(ProducerId(next))
    }

    fn give_ids(&mut self, turn: &mut Turn<'_, '_>) {
        while let Some((next, end)) = self.ids.filter(|(next, end)| next < end) {
            let Some(caller) = self.producers.pop_front() else { return };
            self.ids = Some((next + 1, end));
            let producer = Ok((ProducerId(next), ProducerEpoch(0)));
            let response = InitProducerIdResponse { producer };
            turn.answer(caller, response);
        }
    }

    /// This broker may give out the ids of a block.
    pub(super) fn own(&mut self, block: ProducerIdBlock) {
        self.ids = Some((block.start.0, block.end.0 + 1));
    }

    fn ask_block(&mut self, turn: &mut Turn<'_, '_>) {
        if turn.settings.release.brokers_take_producer_ids() {
            self.asks_block = true;
            return self.read_block(turn);
        }
        let Some(controller) = turn.cache.broker(turn.cache.controller()) else {
            return turn.out.arm(BrokerTimer::Errands, Span::ms(100));
        };
        self.asks_block = true;
        let request = AllocateProducerIdsRequest {
            broker_id: turn.settings.broker_id,
            broker_epoch: turn.broker_epoch,
        };
        turn.wire.call(controller.process, Purpose::AllocateProducerIds, request, turn.out);
    }

    fn read_block(&mut self, turn: &mut Turn<'_, '_>) {
        let read = turn.zk.get_data(znodes::producer_id_block());
        self.ask_for_block(None, read, turn);
    }

    fn ask_for_block(&mut self, block: Option<ProducerIdBlock>, op: Op, turn: &mut Turn<'_, '_>) {
        let number = self.begin(Errand::Block(block));
        let asked = turn.zk.ask(Asker::Errand(number), vec![op], turn.out);
        assert!(asked, "there is something to ask");
    }

    // Source: ProducerIdManager.getNewProducerIdBlock (0.11)
    fn block_answered(
        &mut self,
        block: Option<ProducerIdBlock>,
        reply: &Reply,
        turn: &mut Turn<'_, '_>,
    ) {
        match (block, reply) {
            (_, Err(ZkError::NoNode)) => self.block_lost(turn),
            (None, Ok(_)) => {
                let (block, write) = next_block(reply, turn.settings.broker_id);
                self.ask_for_block(Some(block), write, turn);
            }
            (Some(block), Ok(_)) => {
                self.asks_block = false;
                self.own(block);
                self.give_ids(turn);
            }
            (_, Err(_)) => self.read_block(turn),
        }
    }

    pub(super) fn block_allocated(
        &mut self,
        block: Result<(ProducerId, i32), Error>,
        turn: &mut Turn<'_, '_>,
    ) {
        self.asks_block = false;
        match block {
            Ok((first, count)) => {
                self.ids = Some((first.0, first.0 + i64::from(count)));
                self.give_ids(turn);
            }
            Err(_) => turn.out.arm(BrokerTimer::Errands, Span::ms(100)),
        }
    }

    pub(super) fn block_lost(&mut self, turn: &mut Turn<'_, '_>) {
        self.asks_block = false;
        turn.out.arm(BrokerTimer::Errands, Span::ms(100));
    }
}

impl Running {
    /// A request that takes an errand.
    pub(super) fn errand(
        &mut self,
        caller: Caller,
        request: Request,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        match request {
            Request::CreateTopics(request) => self.create_topics(caller, request, site, out),
            Request::CreatePartitions(request) => self.add_partitions(caller, request, site, out),
            Request::DeleteTopics(request) => self.delete_topics(caller, request, site, out),
            Request::DescribeConfigs(request) => self.describe_configs(caller, request, site, out),
            Request::IncrementalAlterConfigs(request) => {
                self.alter_configs(caller, request, site, out);
            }
            Request::InitProducerId(_) => {
                self.errands.producer_id(caller, turn!(self, site, out));
            }
            other => unreachable!("{} is taken elsewhere", other.name()),
        }
    }

    /// Reads the settings of a topic that has come.
    pub(super) fn read_config(
        &mut self,
        topic: TopicName,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let read = self.zk.get_data(ConfigType::Topics.entity(topic.as_str()));
        let number = self.errands.begin(Errand::Config(topic));
        self.go(number, vec![read], site, out);
    }

    /// Asks ZooKeeper for an errand.
    fn go(&mut self, number: u32, ops: Vec<Op>, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        if !self.zk.ask(Asker::Errand(number), ops, out) {
            self.errand_answered(number, Vec::new(), site, out);
        }
    }

    /// ZooKeeper has answered an errand.
    pub(super) fn errand_answered(
        &mut self,
        number: u32,
        replies: Replies,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        match self.errands.open.remove(&number) {
            None => {}
            Some(Errand::Config(topic)) => {
                let config = found(&replies[0], znodes::decode_config);
                let config = config.unwrap_or_default();
                self.replicas.configure(topic, config, turn!(self, site, out));
            }
            Some(Errand::Create(create)) => self.created(number, create, &replies, site, out),
            Some(Errand::Partitions(add)) => self.partitions_read(number, add, &replies, site, out),
            Some(Errand::Delete(delete)) => self.deleted(number, delete, &replies, site, out),
            Some(Errand::Describe(describe)) => self.described(describe, &replies, site, out),
            Some(Errand::Alter(alter)) => self.altered(number, alter, &replies, site, out),
            Some(Errand::Block(block)) => {
                self.errands.block_answered(block, &replies[0], turn!(self, site, out));
            }
        }
    }

    fn go_on(
        &mut self,
        number: u32,
        errand: Errand,
        ops: Vec<Op>,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        self.errands.open.insert(number, errand);
        self.go(number, ops, site, out);
    }
}

/// The block after the one that was read, for that broker, and the write that takes it, which is
/// refused if another broker was faster.
pub(super) fn next_block(read: &Reply, broker: BrokerId) -> (ProducerIdBlock, Op) {
    let (path, read) = (znodes::producer_id_block(), data(read));
    let last = read.and_then(|(last, _)| ProducerIdBlock::decode(last));
    let block = ProducerIdBlock::after(last, broker);
    let version = read.map_or(0, |(_, stat)| stat.version);
    (block, Op::SetData { path, data: block.encode(), version })
}

/// Whether this broker knows what is waited for.
fn is_known(until: &Until, turn: &Turn<'_, '_>) -> bool {
    match until {
        Until::Created(topics, _) | Until::Added(topics, _) => {
            topics.iter().all(|(topic, &count)| turn.cache.led_partitions(topic) >= count)
        }
        Until::Deleted(topics, _) => topics.iter().all(|topic| turn.cache.topic(topic).is_none()),
    }
}

/// Answers a client that has waited: with this error where there was none.
fn answer(waiting: Waiting, error: Option<Error>, turn: &mut Turn<'_, '_>) {
    let late = |results: create::Results| -> create::Results {
        let refused = |refusal: Option<Refusal>| refusal.or(error.map(Refusal::from));
        results.into_iter().map(|(topic, refusal)| (topic, refused(refusal))).collect()
    };
    let caller = waiting.caller;
    match waiting.until {
        Until::Created(_, results) => {
            let response = create::response(late(results));
            turn.answer(caller, response);
        }
        Until::Added(_, results) => {
            let response = CreatePartitionsResponse { results: late(results) };
            turn.answer(caller, response);
        }
        Until::Deleted(_, results) => {
            let response = DeleteTopicsResponse { responses: late(results) };
            turn.answer(caller, response);
        }
    }
}

/// A refusal with words.
fn refused(error: Error, words: impl Into<Arc<str>>) -> Refusal {
    Refusal { error, error_message: Some(words.into()) }
}
