//! The Java producer (3.9.1) and the application that calls it.
//!
//! Not here: the hashes that choose a partition (`partitioner`), the leaders (`broker`).
//!
//! *Invariant: batches of a partition are sent in order, and a batch sent again goes before all
//! that came after it.*
// Real: compression, interceptors, and weights by queue length in the choice of a
// sticky partition; here none of these.

use std::collections::VecDeque;
use std::sync::Arc;

use super::client::{Calls, ClusterView, Shown};
use super::error::{Error, Remedy};
use super::id::{Offset, ProducerEpoch, ProducerId, TopicName, TopicPartition};
use super::message::{
    Acks, InitProducerIdRequest, InitProducerIdResponse, MetadataRequest, MetadataResponse,
    ProduceRequest, ProduceResponse, Response, ResponseMessage,
};
use super::record::RecordBatch;
use super::words::{Message, Request as Ask, Timer, Words};
use crate::sim::{Event, OrdMap, OrdSet, Outbox, Process, ProcessId, SimTime, Span};

mod accumulator;
pub mod application;
#[cfg(test)]
mod tests;
mod transaction;
pub mod words;

use accumulator::{Accumulator, Batch};
use application::{Activity, Pace};
use transaction::{Question, Transaction};
use words::{ProducerFact, ProducerRequest, ProducerSettings, ProducerTimer, ToSend};

/// Why a call was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Purpose {
    Metadata,
    InitProducerId,
    Produce(Vec<(TopicPartition, Batch)>),
    Transaction(Question),
}

/// A record whose partition cannot be chosen before its topic is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Unplaced {
    record: ToSend,
    since: SimTime,
}

/// A producer and its application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Producer {
    settings: Arc<ProducerSettings>,
    view: ClusterView,
    calls: Calls<Purpose>,
    /// Who has answered since it hung up last.
    connected: OrdSet<ProcessId>,
    unplaced: VecDeque<Unplaced>,
    accumulator: Accumulator,
    identity: Option<(ProducerId, ProducerEpoch)>,
    transaction: Option<Box<Transaction>>,
    pace: Pace,
    activity: Activity,
    topics: Vec<TopicName>,
    metadata_wanted: bool,
    failures: u32,
    resting_until: SimTime,
    acked: u64,
    failed: u64,
}

impl Producer {
    /// A producer that does not run yet.
    pub fn new(settings: ProducerSettings) -> Producer {
        Producer {
            view: ClusterView::new(settings.bootstrap_servers.clone()),
            calls: Calls::new(settings.client_id.clone()),
            connected: OrdSet::new(),
            unplaced: VecDeque::new(),
            accumulator: Accumulator::default(),
            identity: None,
            transaction: transaction::of(settings.transactional_id.as_ref()),
            pace: Pace::default(),
            activity: Activity::Running,
            topics: Vec::new(),
            metadata_wanted: false,
            failures: 0,
            resting_until: SimTime::ZERO,
            acked: 0,
            failed: 0,
            settings: Arc::new(settings),
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &ProducerSettings {
        &self.settings
    }

    /// How many records were acknowledged, and how many failed.
    pub fn outcomes(&self) -> (u64, u64) {
        (self.acked, self.failed)
    }

    /// How many records wait for a place, for a leader or for an acknowledgement.
    pub fn outstanding(&self) -> u64 {
        let under_way: u64 = self.accumulator.under_way();
        self.unplaced.len() as u64 + self.accumulator.queued() + under_way
    }

    /// How many requests with records are under way.
    pub fn in_flight(&self) -> usize {
        let produces = |purpose: &&Purpose| matches!(purpose, Purpose::Produce(_));
        self.calls.purposes().filter(produces).count()
    }

    /// Of each batch that waits to be sent again: how often it was sent.
    pub fn again(&self) -> impl Iterator<Item = u32> {
        self.accumulator.again()
    }

    /// Its producer id, if it is idempotent and has one.
    pub fn producer_id(&self) -> Option<ProducerId> {
        self.identity.map(|(id, _)| id)
    }

    /// How many partitions a topic has, as far as it has heard.
    pub fn partition_count(&self, topic: &TopicName) -> Option<i32> {
        self.view.count(topic)
    }

    /// Whether nobody has asked it to close.
    pub fn is_running(&self) -> bool {
        self.activity == Activity::Running
    }

    fn asked(&mut self, request: ProducerRequest, out: &mut Outbox<'_, Words>) {
        match request {
            ProducerRequest::Send(record) => self.send(record, out),
            ProducerRequest::Steady(steady) => self.pace.begin(steady, out),
            ProducerRequest::Pause => self.pace.pause(out),
            ProducerRequest::Transact(act) => self.act(&act, out),
            ProducerRequest::Close => self.activity = Activity::Closing,
        }
    }

    /// `send()`: the record waits here until its topic is known.
    // Source: KafkaProducer.doSend, waitOnMetadata
    fn send(&mut self, record: ToSend, out: &mut Outbox<'_, Words>) {
        if let Some(error) = self.send_error() {
            self.failed += 1;
            let ToSend { topic, value, .. } = record;
            return out.tell(ProducerFact::RecordFailed { topic, value: Shown(value), error });
        }
        if !self.topics.contains(&record.topic) {
            self.topics.push(record.topic.clone());
            self.metadata_wanted = true;
        }
        self.unplaced.push_back(Unplaced { record, since: out.now() });
    }

    fn go_on(&mut self, out: &mut Outbox<'_, Words>) {
        if self.activity == Activity::Ended {
            return;
        }
        self.place(out);
        if out.now() >= self.resting_until {
            self.ask_metadata(out);
            self.ask_producer_id(out);
            self.go_on_with_transaction(out);
            self.drain(out);
        }
        self.watch(out);
        if self.activity == Activity::Closing && self.outstanding() == 0 {
            self.activity = Activity::Ended;
            out.tell(ProducerFact::ProducerClosed { acked: self.acked, failed: self.failed });
            out.exit(0);
        }
    }

    /// Gives partitions to the records whose topics are known.
    fn place(&mut self, out: &mut Outbox<'_, Words>) {
        for waiting in std::mem::take(&mut self.unplaced) {
            let known = self.view.count(&waiting.record.topic).filter(|&count| count > 0);
            let chosen = waiting.record.partition;
            match known.filter(|&count| chosen.is_none_or(|partition| partition < count)) {
                Some(count) => {
                    let (settings, view) = (&self.settings, &self.view);
                    let partition =
                        self.accumulator.choose(&waiting.record, (count, view), settings, out);
                    self.accumulator.append(partition, waiting.record, settings, out);
                }
                None => {
                    self.metadata_wanted = true;
                    self.unplaced.push_back(waiting);
                }
            }
        }
    }

    fn ask_metadata(&mut self, out: &mut Outbox<'_, Words>) {
        let asked = self.calls.any(|purpose| *purpose == Purpose::Metadata);
        if !self.metadata_wanted || asked || self.topics.is_empty() {
            return;
        }
        let Some(broker) = self.view.any_broker(out) else { return self.rest(out) };
        let topics = Some(self.topics.clone());
        let request = MetadataRequest { topics, allow_auto_topic_creation: true };
        let within = self.settings.request_timeout;
        self.calls.make(Purpose::Metadata, (broker, within), request, out);
    }

    fn learn(&mut self, told: MetadataResponse, out: &mut Outbox<'_, Words>) {
        let leaderless = told.topics.iter().flat_map(|t| &t.partitions).any(|p| p.error.is_some());
        let errors = self.view.learn(told);
        let again = errors.iter().any(|(_, error)| error.remedy() == Remedy::Refresh);
        self.metadata_wanted = again || leaderless;
        self.place(out);
        if self.metadata_wanted {
            self.rest(out);
        } else {
            self.failures = 0;
        }
        out.arm(ProducerTimer::Metadata, self.settings.metadata_max_age);
        let refused: Vec<TopicName> = errors
            .into_iter()
            .filter(|(_, error)| error.remedy() == Remedy::Fail)
            .map(|(topic, _)| topic)
            .collect();
        self.fail_unplaced(
            |waiting| refused.contains(&waiting.record.topic),
            "InvalidTopicException",
            out,
        );
    }

    fn fail_unplaced(
        &mut self,
        fails: impl Fn(&Unplaced) -> bool,
        error: &'static str,
        out: &mut Outbox<'_, Words>,
    ) {
        for waiting in std::mem::take(&mut self.unplaced) {
            if fails(&waiting) {
                self.failed += 1;
                let ToSend { topic, value, .. } = waiting.record;
                out.tell(ProducerFact::RecordFailed { topic, value: Shown(value), error });
            } else {
                self.unplaced.push_back(waiting);
            }
        }
    }

    fn ask_producer_id(&mut self, out: &mut Outbox<'_, Words>) {
        let wanted = self.settings.enable_idempotence && self.identity.is_none();
        let asked = self.calls.any(|purpose| *purpose == Purpose::InitProducerId);
        let is_owed = self.accumulator.queued() > 0 && self.transaction.is_none();
        if !wanted || asked || !is_owed {
            return;
        }
        let Some(broker) = self.view.any_broker(out) else { return self.rest(out) };
        let request = InitProducerIdRequest {
            transactional_id: None,
            transaction_timeout: self.settings.transaction_timeout,
        };
        let within = self.settings.request_timeout;
        self.calls.make(Purpose::InitProducerId, (broker, within), request, out);
    }

    fn named(&mut self, told: &InitProducerIdResponse, out: &mut Outbox<'_, Words>) {
        match told.producer {
            Ok((producer, epoch)) => {
                self.identity = Some((producer, epoch));
                out.tell(ProducerFact::ProducerReady { producer, epoch });
            }
            Err(_) => self.rest(out),
        }
    }

    /// Sends what can be sent: to each leader one batch of each of its partitions a request.
    // Source: RecordAccumulator.ready, drain; Sender.sendProducerData
    fn drain(&mut self, out: &mut Outbox<'_, Words>) {
        if self.settings.enable_idempotence && self.identity.is_none() {
            return;
        }
        let mut leaders: OrdMap<ProcessId, Vec<TopicPartition>> = OrdMap::new();
        for partition in self.accumulator.ready(&self.settings, out.now()) {
            if !self.may_send_to(&partition) {
                continue;
            }
            match self.view.leader(&partition) {
                Some((leader, _)) if self.view.is_ready(leader, out.now()) => {
                    leaders.entry(leader).or_default().push(partition);
                }
                _ => self.want_metadata(out),
            }
        }
        for (leader, partitions) in leaders {
            let limit = self.settings.max_in_flight_requests_per_connection as usize;
            let produce = |purpose: &&Purpose| matches!(purpose, Purpose::Produce(_));
            if self.calls.to(leader).filter(produce).count() < limit {
                self.produce(leader, &partitions, out);
            }
        }
    }

    fn produce(
        &mut self,
        leader: ProcessId,
        partitions: &[TopicPartition],
        out: &mut Outbox<'_, Words>,
    ) {
        let take = |partition: &TopicPartition| {
            let batch = self.accumulator.take(partition, self.identity);
            (partition.clone(), batch.expect("it was ready"))
        };
        let batches: Vec<(TopicPartition, Batch)> = partitions.iter().map(take).collect();
        let is_transactional = self.transaction.is_some();
        let sent = |(partition, batch): &(TopicPartition, Batch)| {
            (partition.clone(), RecordBatch { is_transactional, ..batch.sent() })
        };
        let topic_data = batches.iter().map(sent).collect();
        for (partition, batch) in batches.iter().filter(|(_, batch)| batch.attempts == 1) {
            for (key, value) in batch.shown() {
                let partition = partition.clone();
                out.tell(ProducerFact::RecordSent { partition, key, value });
            }
        }
        let (acks, timeout) = (self.settings.acks, self.settings.request_timeout);
        let request = ProduceRequest { acks, timeout, topic_data };
        let within = self.settings.request_timeout;
        self.calls.make(Purpose::Produce(batches), (leader, within), request, out);
        if acks == Acks::None {
            self.forget_last(out);
        }
    }

    /// With acks 0 nobody answers: the batches count as acknowledged, their offsets unknown.
    fn forget_last(&mut self, out: &mut Outbox<'_, Words>) {
        let Some(Purpose::Produce(batches)) = self.calls.forget_last() else { return };
        for (partition, batch) in batches {
            self.accumulator.done(&partition);
            self.acked(&partition, &batch, None, out);
        }
    }

    fn acked(
        &mut self,
        partition: &TopicPartition,
        batch: &Batch,
        base: Option<Offset>,
        out: &mut Outbox<'_, Words>,
    ) {
        for (place, (key, value)) in (0..).zip(batch.shown()) {
            self.acked += 1;
            let offset = base.map_or(Offset::NONE, |base| Offset(base.0 + place));
            let partition = partition.clone();
            out.tell(ProducerFact::RecordAcked { partition, offset, key, value });
        }
    }

    fn fail(
        &mut self,
        partition: &TopicPartition,
        batch: &Batch,
        error: &'static str,
        out: &mut Outbox<'_, Words>,
    ) {
        match &self.transaction {
            Some(_) => self.spoil(error),
            None if batch.is_numbered() => self.number_anew(),
            None => {}
        }
        for (_, value) in batch.shown() {
            self.failed += 1;
            let topic = partition.topic.clone();
            out.tell(ProducerFact::RecordFailed { topic, value, error });
        }
    }

    /// A batch with a sequence has failed: its place stays empty, so all are numbered anew.
    // Source: TransactionManager.handleFailedBatch
    // Real: the epoch is bumped by the producer itself; here it asks for a new id, because what
    // follows is the same.
    fn number_anew(&mut self) {
        self.identity = None;
        self.accumulator.number_anew();
    }

    // Source: Sender.handleProduceResponse, completeBatch
    fn produced(
        &mut self,
        batches: Vec<(TopicPartition, Batch)>,
        told: &ProduceResponse,
        out: &mut Outbox<'_, Words>,
    ) {
        for (partition, batch) in batches.into_iter().rev() {
            let answer = told.responses.iter().find(|answer| answer.partition == partition);
            match answer.map(|answer| answer.base_offset) {
                Some(Ok(base)) => {
                    self.failures = 0;
                    self.accumulator.done(&partition);
                    self.acked(&partition, &batch, Some(base), out);
                }
                Some(Err(Error::DuplicateSequenceNumber)) => {
                    self.accumulator.done(&partition);
                    self.acked(&partition, &batch, None, out);
                }
                Some(Err(error)) if error.remedy() == Remedy::Fail => {
                    self.accumulator.done(&partition);
                    if error == Error::ProducerFenced {
                        self.doom(error.exception(self.settings.release));
                    }
                    self.fail(&partition, &batch, error.exception(self.settings.release), out);
                }
                Some(Err(error)) => self.send_again(partition, batch, error, out),
                None => self.send_again(partition, batch, Error::RequestTimedOut, out),
            }
        }
    }

    // Source: Sender.canRetry, reenqueueBatch
    fn send_again(
        &mut self,
        partition: TopicPartition,
        batch: Batch,
        error: Error,
        out: &mut Outbox<'_, Words>,
    ) {
        let too_old = batch.since + self.settings.delivery_timeout <= out.now();
        self.accumulator.done(&partition);
        if too_old {
            return self.fail(&partition, &batch, "TimeoutException", out);
        }
        if batch.attempts - batch.refused > self.settings.retries {
            return self.fail(&partition, &batch, error.exception(self.settings.release), out);
        }
        let told = error.name(self.settings.release);
        let fact = ProducerFact::SendAgain { partition: partition.clone(), error: told };
        out.tell(fact);
        self.accumulator.put_back(partition, batch);
        self.metadata_wanted |= error.remedy() == Remedy::Refresh;
        self.rest(out);
    }

    // Source: Sender.handleProduceResponse, completeBatch; Sender.sendProducerData (what goes to a
    // node that is not ready stays in the accumulator)
    // Real: the connection is there, or is not; here whoever has answered since the last hangup has
    // one, because TCP's handshake is below Kafka.
    fn hung_up(&mut self, peer: ProcessId, out: &mut Outbox<'_, Words>) {
        let was_connected = self.connected.remove(&peer);
        self.view.failed(peer, out.now());
        self.coordinator_lost(peer);
        self.metadata_wanted = true;
        for purpose in self.calls.lost(peer).into_iter().rev() {
            if let Purpose::Produce(batches) = purpose {
                for (partition, mut batch) in batches.into_iter().rev() {
                    batch.refused += u32::from(!was_connected);
                    self.send_again(partition, batch, Error::NetworkException, out);
                }
            }
        }
        self.rest(out);
    }

    fn want_metadata(&mut self, out: &mut Outbox<'_, Words>) {
        if !self.metadata_wanted {
            self.metadata_wanted = true;
            self.rest(out);
        }
    }

    /// Tries nothing again for `retry.backoff.ms`, doubled each time up to a second.
    fn rest(&mut self, out: &mut Outbox<'_, Words>) {
        if self.resting_until > out.now() {
            return;
        }
        let pause = self.settings.retry_backoff * (1 << self.failures.min(5));
        let pause = pause.min(self.settings.retry_backoff_max);
        self.failures += 1;
        self.resting_until = out.now() + pause;
        out.arm(ProducerTimer::Retry, pause);
    }

    fn watch(&mut self, out: &mut Outbox<'_, Words>) {
        let now = out.now();
        self.calls.watch(ProducerTimer::Request, out);
        let oldest = self.unplaced.front().map(|waiting| waiting.since + self.settings.max_block);
        let queued = self.accumulator.oldest().map(|since| since + self.settings.delivery_timeout);
        if let Some(first) = oldest.into_iter().chain(queued).min() {
            out.arm(ProducerTimer::Delivery, first.since(now));
        }
        if let Some(ripe) = self.accumulator.ripens(&self.settings, now) {
            out.arm(ProducerTimer::Linger, ripe.since(now));
        }
    }

    fn give_up_overdue(&mut self, out: &mut Outbox<'_, Words>) {
        while let Some(peer) = self.calls.give_up(out) {
            self.hung_up(peer, out);
        }
    }

    /// Records that are too old fail.
    // Source: Sender.sendProducerData, getExpiredInflightBatches; KafkaProducer.waitOnMetadata
    fn expire(&mut self, out: &mut Outbox<'_, Words>) {
        let (now, block) = (out.now(), self.settings.max_block);
        self.fail_unplaced(|waiting| waiting.since + block <= now, "TimeoutException", out);
        for (partition, batch) in self.accumulator.expire(self.settings.delivery_timeout, now) {
            self.fail(&partition, &batch, "TimeoutException", out);
        }
    }

    /// Nothing that waits can be sent any more.
    fn fail_unsent(&mut self, error: &'static str, out: &mut Outbox<'_, Words>) {
        for (partition, batch) in self.accumulator.expire(Span::ZERO, out.now()) {
            self.fail(&partition, &batch, error, out);
        }
    }

    fn answered(&mut self, answer: ResponseMessage, out: &mut Outbox<'_, Words>) {
        let Some((peer, purpose)) = self.calls.answered(answer.correlation_id) else { return };
        self.view.worked(peer);
        if !self.connected.contains(&peer) {
            self.connected.insert(peer);
        }
        match (purpose, answer.response) {
            (Purpose::Metadata, Response::Metadata(told)) => self.learn(told, out),
            (Purpose::InitProducerId, Response::InitProducerId(told)) => self.named(&told, out),
            (Purpose::Produce(batches), Response::Produce(told)) => {
                self.produced(batches, &told, out);
            }
            (Purpose::Transaction(question), told) => {
                self.transaction_answered(question, told, out);
            }
            // Real: an answer comes on the connection that asked; here one meant for an earlier
            // life of this process can come on the next connection, because a link is one path.
            _ => {}
        }
    }

    fn timer(&mut self, timer: ProducerTimer, out: &mut Outbox<'_, Words>) {
        match timer {
            ProducerTimer::Steady => {
                if let Some(record) = self.pace.next(out) {
                    self.send(record, out);
                }
            }
            ProducerTimer::Linger | ProducerTimer::Retry | ProducerTimer::Connect => {}
            ProducerTimer::Metadata => self.metadata_wanted = true,
            ProducerTimer::Request => self.give_up_overdue(out),
            ProducerTimer::Delivery => self.expire(out),
        }
    }
}

impl Process for Producer {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Boot => {
                if let Some(steady) = self.settings.steady.clone() {
                    self.pace.begin(steady, out);
                }
            }
            Event::Message { message: Message::Response(answer), .. } => {
                self.answered(answer, out);
            }
            Event::Hangup { peer } => self.hung_up(peer, out),
            Event::Timer(Timer::Producer(timer)) => self.timer(timer, out),
            Event::Request(Ask::Producer(request)) => self.asked(request, out),
            Event::Request(Ask::Stop) => self.activity = Activity::Closing,
            _ => {}
        }
        self.go_on(out);
    }

    fn crash(&mut self) {
        *self = Producer::new((*self.settings).clone());
    }
}
