//! A producer that sends to lone brokers: by ZooKeeper, or by a list. It sends one record after the
//! other, and nobody ever tells it that one has arrived.
//!
//! ```text
//!   record ─▶ which partition? ─▶ connected? ─▶ written: sent, whatever becomes of it
//!              zk.connect: hash of the key among all (broker, partition) in order
//!              broker.list: any entry, and there any partition
//! ```
//!
//! *Invariant: a record is told of once, as sent or as failed; the next one waits for that.*
// Source: kafka.producer.Producer, SyncProducer, ConfigBrokerPartitionInfo (0.7.2)
// Real: `producer.type=async` sends from a queue of its own; here all are sync, the default.

use std::collections::VecDeque;
use std::sync::Arc;

use super::knowledge::{Knowledge, Session};
use super::settings::{BALANCER, Entry, LoneProducerSettings, Route};
use crate::kafka::client::{Calls, Shown, drawn};
use crate::kafka::id::{ANY_PART, BrokerId, TopicPartition};
use crate::kafka::message::{Acks, ConnectRequest, ProduceRequest, ResponseMessage};
use crate::kafka::partitioner::{ScalaAbsolute, scala_partition};
use crate::kafka::producer::application::{Activity, Pace};
use crate::kafka::producer::words::{ProducerFact, ProducerRequest, ProducerTimer, ToSend};
use crate::kafka::record::{Content, Record, RecordBatch};
use crate::kafka::release::Release;
use crate::kafka::words::{Message, Request as Ask, Text, Timer, Words};
use crate::sim::{Draw, Event, OrdMap, Outbox, Process, ProcessId, SimTime, Span};

/// Which entry of a list, or which partition for a record without a key.
const PARTITION: Draw = Draw("partition");
/// Which broker a load balancer gives.
const BALANCED: Draw = Draw("balanced");

/// How a producer finds brokers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Balance {
    /// By what it knows of ZooKeeper.
    Zookeeper(Box<Knowledge>),
    /// By a list.
    List(Arc<[Entry]>),
}

/// A connection with a broker, of which one end only ever writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Connection {
    /// The process at the other end, if there is one at that host and port.
    to: Option<ProcessId>,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    /// It is asked whether somebody is there, for the so manieth time, since when.
    Connecting(u32, SimTime),
    /// Nobody was; it pauses.
    Pausing(u32, SimTime),
    /// It has written so often.
    Open(u32),
    /// The broker has left. Who does not read does not notice: what is written next is lost.
    Left,
    /// What was written was refused. The next write fails.
    Refused,
}

/// Where the first record in the queue is to go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Target {
    partition: TopicPartition,
    place: Place,
}

/// What is found of the way of a record.
enum Way {
    /// It goes there.
    To(Target),
    /// That is not known yet.
    Waits,
    /// It goes nowhere.
    Failed,
}

/// What is connected to: a broker by its znode, or an entry of the list by its place there.
type Place = i32;

/// A producer and its application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Producer {
    settings: Arc<LoneProducerSettings>,
    release: Release,
    balance: Balance,
    connections: OrdMap<Place, Connection>,
    calls: Calls<Place>,
    queue: VecDeque<ToSend>,
    target: Option<Target>,
    /// How often it has read everything anew for the first record.
    rereads: u32,
    /// Whether it has asked who lives, because nobody has the first record's topic.
    has_assumed: bool,
    pace: Pace,
    activity: Activity,
    sent: u64,
    failed: u64,
}

impl Producer {
    /// A producer of that release that does not run yet.
    pub fn new(settings: LoneProducerSettings, release: Release) -> Producer {
        let balance = match &settings.route {
            Route::Zookeeper => Balance::Zookeeper(Box::new(Knowledge::new(&settings, release))),
            Route::List(entries) => Balance::List(entries.clone()),
        };
        Producer {
            release,
            balance,
            connections: OrdMap::new(),
            calls: Calls::new(settings.client_id.clone()),
            queue: VecDeque::new(),
            target: None,
            rereads: 0,
            has_assumed: false,
            pace: Pace::default(),
            activity: Activity::Running,
            sent: 0,
            failed: 0,
            settings: Arc::new(settings),
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &LoneProducerSettings {
        &self.settings
    }

    /// How it finds brokers, and what it knows of them.
    pub fn balance(&self) -> &Balance {
        &self.balance
    }

    /// How many records were sent, and how many failed.
    pub fn outcomes(&self) -> (u64, u64) {
        (self.sent, self.failed)
    }

    /// How many records wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Whether nobody has asked it to close.
    pub fn is_running(&self) -> bool {
        self.activity == Activity::Running
    }

    fn asked(&mut self, request: ProducerRequest, out: &mut Outbox<'_, Words>) {
        match request {
            ProducerRequest::Send(record) => self.queue.push_back(record),
            ProducerRequest::Steady(steady) => self.pace.begin(steady, out),
            ProducerRequest::Pause => self.pace.pause(out),
            ProducerRequest::Close => self.close(),
            // There are no transactions.
            ProducerRequest::Transact(_) => {}
        }
    }

    // Real: an application that waits for its producer makes no further records; here they queue,
    // because it then sends as many as one that did not have to wait.
    fn send_steadily(&mut self, out: &mut Outbox<'_, Words>) {
        self.queue.extend(self.pace.next(out));
    }

    fn go_on(&mut self, out: &mut Outbox<'_, Words>) {
        while let Some(record) = self.queue.front().cloned() {
            let way = match self.target.clone() {
                Some(target) => Way::To(target),
                None => self.choose(&record, out),
            };
            let target = match way {
                Way::To(target) => target,
                Way::Waits => return,
                Way::Failed => continue,
            };
            self.target = Some(target.clone());
            if !self.write(&target, &record, out) {
                return;
            }
        }
        if self.activity == Activity::Closing {
            self.activity = Activity::Ended;
            self.end(out);
        }
    }

    fn close(&mut self) {
        if self.activity == Activity::Running {
            self.activity = Activity::Closing;
        }
    }

    fn end(&mut self, out: &mut Outbox<'_, Words>) {
        let closed = match &mut self.balance {
            Balance::Zookeeper(knowledge) => knowledge.close(out),
            Balance::List(_) => Session::Closed,
        };
        if closed == Session::Closed {
            self.ended(out);
        }
    }

    fn ended(&self, out: &mut Outbox<'_, Words>) {
        out.tell(ProducerFact::ProducerClosed { acked: 0, failed: self.failed });
        out.exit(0);
    }

    /// The record at the head of the queue is done with.
    fn done(&mut self) {
        self.queue.pop_front();
        (self.target, self.rereads, self.has_assumed) = (None, 0, false);
    }

    fn fail(&mut self, error: &'static str, out: &mut Outbox<'_, Words>) -> Way {
        if let Some(ToSend { topic, value, .. }) = self.queue.front().cloned() {
            self.failed += 1;
            out.tell(ProducerFact::RecordFailed { topic, value: Shown(value), error });
            self.done();
        }
        Way::Failed
    }

    /// Finds where a record goes.
    // Source: Producer.configSend, zkSend (0.7.2)
    fn choose(&mut self, record: &ToSend, out: &mut Outbox<'_, Words>) -> Way {
        let Balance::List(entries) = &self.balance else { return self.choose_known(record, out) };
        let place = drawn(PARTITION, entries.len(), out);
        let broker = entries[place].broker;
        let partition = TopicPartition::of_broker(record.topic.clone(), broker, ANY_PART);
        Way::To(Target { partition, place: i32::try_from(place).expect("a list is short") })
    }

    // Source: Producer.getPartitionListForTopic, getPartition; DefaultPartitioner (0.7.2)
    fn choose_known(&mut self, record: &ToSend, out: &mut Outbox<'_, Words>) -> Way {
        let Balance::Zookeeper(knowledge) = &mut self.balance else { return Way::Waits };
        if !knowledge.is_complete() {
            return Way::Waits;
        }
        let known = knowledge.topics().get(&record.topic).filter(|known| !known.is_empty());
        let Some(known) = known.cloned() else {
            if std::mem::replace(&mut self.has_assumed, true) {
                return self.fail("NoBrokersForPartitionException", out);
            }
            knowledge.assume(&record.topic, out);
            return Way::Waits;
        };
        let count = i32::try_from(known.len()).expect("partitions are few");
        let place = match &record.key {
            Some(key) => usize::try_from(scala_partition(key, count, ScalaAbsolute::KeepsMinimum)),
            None => Ok(drawn(PARTITION, known.len(), out)),
        };
        let Some(partition) = place.ok().and_then(|place| known.iter().nth(place)).cloned() else {
            return self.fail("InvalidPartitionException", out);
        };
        let (broker, _) = partition.broker_part().expect("it is a broker's own");
        if knowledge.brokers().contains_key(&broker) {
            return Way::To(Target { partition, place: broker.0 });
        }
        self.rereads += 1;
        if self.rereads > self.settings.zk_read_num_retries {
            return self.fail("NoBrokersForPartitionException", out);
        }
        self.has_assumed = false;
        knowledge.read_all(out);
        Way::Waits
    }

    /// Writes a record; `false` if it has to wait for the connection.
    // Source: SyncProducer.send, connect (0.7.2)
    fn write(&mut self, target: &Target, record: &ToSend, out: &mut Outbox<'_, Words>) -> bool {
        let Some(connection) = self.connections.get_mut(&target.place) else {
            self.connect(target.place, 1, out.now(), out);
            return false;
        };
        match connection.state {
            State::Connecting(..) | State::Pausing(..) => return false,
            State::Open(_) => {
                if let Some(to) = connection.to {
                    self.send(to, target, record, out);
                }
                self.count_write(target.place, out);
            }
            State::Left => {
                connection.state = State::Refused;
                self.sent(target, record, out);
            }
            State::Refused => {
                self.connections.remove(&target.place);
                self.fail("IOException", out);
            }
        }
        true
    }

    fn sent(&mut self, target: &Target, record: &ToSend, out: &mut Outbox<'_, Words>) {
        self.sent += 1;
        let (key, value) = (Shown(record.key.clone()), Shown(record.value.clone()));
        let partition = target.partition.clone();
        out.tell(ProducerFact::RecordSent { partition, key, value });
        self.done();
    }

    fn send(
        &mut self,
        to: ProcessId,
        target: &Target,
        record: &ToSend,
        out: &mut Outbox<'_, Words>,
    ) {
        let value = record.value.clone().map(Content::Text);
        let kept = Record { key: None, value, timestamp: out.now() };
        let topic_data = vec![(target.partition.clone(), RecordBatch::new([kept]))];
        let request = ProduceRequest { acks: Acks::None, timeout: Span::ZERO, topic_data };
        self.calls.make(target.place, (to, Span::ZERO), request, out);
        self.calls.forget_last();
        self.sent(target, record, out);
    }

    /// After so many writes a connection is made anew.
    // Source: SyncProducerConfig.reconnectInterval (0.7.2)
    fn count_write(&mut self, place: Place, out: &mut Outbox<'_, Words>) {
        let limit = self.settings.reconnect_interval;
        let Some(connection) = self.connections.get_mut(&place) else { return };
        let State::Open(writes) = &mut connection.state else { return };
        *writes += 1;
        if *writes >= limit {
            connection.to.into_iter().for_each(|to| out.hangup(to));
            self.connections.remove(&place);
        }
    }

    /// The process at a place.
    fn find(&self, place: Place, out: &mut Outbox<'_, Words>) -> Option<ProcessId> {
        match &self.balance {
            Balance::Zookeeper(knowledge) => knowledge.brokers().get(&BrokerId(place)).copied(),
            Balance::List(entries) => {
                let Entry { host, port, .. } = entries.get(usize::try_from(place).ok()?)?;
                match &**host == BALANCER {
                    true => self.balanced(out),
                    false => self.settings.directory.find(host, *port),
                }
            }
        }
    }

    /// Whom a load balancer gives: any broker that there is.
    // Real: a balancer asks brokers whether they are well; here it does not, because this only
    // shortens the search, which goes on until a broker is found that is.
    fn balanced(&self, out: &mut Outbox<'_, Words>) -> Option<ProcessId> {
        let all = self.settings.directory.processes();
        all.get(drawn(BALANCED, all.len(), out)).copied()
    }

    fn connect(&mut self, place: Place, attempt: u32, since: SimTime, out: &mut Outbox<'_, Words>) {
        let to = self.find(place, out);
        let state = State::Connecting(attempt, since);
        self.connections.insert(place, Connection { to, state });
        match to {
            Some(to) => self.calls.make(place, (to, CONNECT_GIVEN_UP), ConnectRequest, out),
            None => self.refused(place, (attempt, since), out),
        }
    }

    /// Nobody is there: after a pause it tries again, until its patience ends.
    // Source: SyncProducer.connect: 1 ms, then ten times as long each time (0.7.2)
    fn refused(
        &mut self,
        place: Place,
        (attempt, since): (u32, SimTime),
        out: &mut Outbox<'_, Words>,
    ) {
        let to = self.name(place);
        out.tell(ProducerFact::ConnectionRefused { to, attempt });
        let pause = Span::ms(10u64.pow(attempt.min(5) - 1));
        let over = out.now() + pause >= since + self.settings.connect_timeout;
        let is_wanted = self.target.as_ref().is_some_and(|target| target.place == place);
        if over || !is_wanted {
            self.connections.remove(&place);
            if is_wanted {
                self.fail("ConnectException", out);
            }
            return;
        }
        if let Some(connection) = self.connections.get_mut(&place) {
            connection.state = State::Pausing(attempt, since);
        }
        out.arm(ProducerTimer::Connect, pause);
    }

    fn connect_again(&mut self, out: &mut Outbox<'_, Words>) {
        let pausing = self.connections.iter().find_map(|(place, connection)| {
            let State::Pausing(attempt, since) = connection.state else { return None };
            Some((*place, attempt, since))
        });
        if let Some((place, attempt, since)) = pausing {
            self.connect(place, attempt + 1, since, out);
        }
    }

    fn connected(
        &mut self,
        from: ProcessId,
        answer: &ResponseMessage,
        out: &mut Outbox<'_, Words>,
    ) {
        let Some((to, place)) = self.calls.answered(answer.correlation_id) else { return };
        let Some(connection) = self.connections.get_mut(&place) else { return };
        if from == to && matches!(connection.state, State::Connecting(..)) {
            connection.state = State::Open(0);
            let to = self.name(place);
            out.tell(ProducerFact::ConnectionOpened { to });
        }
    }

    fn name(&self, place: Place) -> Text {
        match &self.balance {
            Balance::Zookeeper(_) => Text::from(&*format!("broker{place}")),
            Balance::List(entries) => {
                let entry = usize::try_from(place).ok().and_then(|place| entries.get(place));
                entry.map_or("?".into(), |entry| Text(entry.host.clone()))
            }
        }
    }

    fn hung_up(&mut self, peer: ProcessId, out: &mut Outbox<'_, Words>) {
        self.calls.lost(peer);
        let its = self.connections.iter().filter(|(_, connection)| connection.to == Some(peer));
        let its: Vec<(Place, State)> =
            its.map(|(place, connection)| (*place, connection.state.clone())).collect();
        for (place, state) in its {
            match state {
                State::Connecting(attempt, since) => self.refused(place, (attempt, since), out),
                State::Open(_) => {
                    if let Some(connection) = self.connections.get_mut(&place) {
                        connection.state = State::Left;
                    }
                }
                State::Pausing(..) | State::Left | State::Refused => {}
            }
        }
    }

    fn give_up_overdue(&mut self, out: &mut Outbox<'_, Words>) {
        while let Some(peer) = self.calls.give_up(out) {
            self.hung_up(peer, out);
        }
    }

    fn zookeeper_event(&mut self, event: Event<crate::zk::Words>, out: &mut Outbox<'_, Words>) {
        let Balance::Zookeeper(knowledge) = &mut self.balance else { return };
        if knowledge.handle(event, &self.settings, out) == Session::Closed {
            return self.ended(out);
        }
        // Source: ProducerPool.addProducer, called back (0.7.2)
        for broker in knowledge.take_new() {
            if !self.connections.contains_key(&broker.0) {
                self.connect(broker.0, 1, out.now(), out);
            }
        }
    }

    fn knows(&self, peer: ProcessId) -> bool {
        match &self.balance {
            Balance::Zookeeper(knowledge) => knowledge.zookeeper().knows(peer),
            Balance::List(_) => false,
        }
    }

    fn boot(&mut self, out: &mut Outbox<'_, Words>) {
        if let Balance::Zookeeper(knowledge) = &mut self.balance {
            knowledge.open(out);
        }
        if let Some(steady) = self.settings.steady.clone() {
            self.pace.begin(steady, out);
        }
    }
}

/// When an operating system gives up the wish to connect that nobody answers.
// Source: tcp(7): tcp_syn_retries
const CONNECT_GIVEN_UP: Span = Span::secs(127);

impl Process for Producer {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Boot => self.boot(out),
            Event::Message { from, message: Message::Zk(message) } => {
                self.zookeeper_event(Event::Message { from, message }, out);
            }
            Event::Timer(Timer::Zk(timer)) => self.zookeeper_event(Event::Timer(timer), out),
            Event::Hangup { peer } if self.knows(peer) => {
                self.zookeeper_event(Event::Hangup { peer }, out);
            }
            Event::Message { from, message: Message::Response(answer) } => {
                self.connected(from, &answer, out);
            }
            Event::Hangup { peer } => self.hung_up(peer, out),
            Event::Timer(Timer::Producer(ProducerTimer::Steady)) => self.send_steadily(out),
            Event::Timer(Timer::Producer(ProducerTimer::Connect)) => self.connect_again(out),
            Event::Timer(Timer::Producer(ProducerTimer::Request)) => self.give_up_overdue(out),
            Event::Request(Ask::Producer(request)) => self.asked(request, out),
            Event::Request(Ask::Stop) => self.close(),
            Event::Request(Ask::Resolve(directory)) => {
                Arc::make_mut(&mut self.settings).directory = directory;
            }
            _ => {}
        }
        self.go_on(out);
        self.calls.watch(ProducerTimer::Request, out);
    }

    fn crash(&mut self) {
        *self = Producer::new((*self.settings).clone(), self.release);
    }
}
