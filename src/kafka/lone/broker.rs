//! A lone broker: it says that it lives and what it has, takes records, and gives them.
//!
//! ```text
//!   ports open ─▶ /brokers/ids/N ─▶ /brokers/topics/T/N for each T on its disk ─▶ serves
//!                     └─ the id is taken: exit 1          a new T: /brokers/topics/T/N
//! ```
//!
//! *Invariant: it registers itself again, and all its topics, in each new session; its logs are on
//! its disk whatever happens.*
// Source: kafka.server.KafkaServer, KafkaZooKeeper, KafkaRequestHandlers, kafka.log.LogManager
// (0.7.2)

use std::collections::VecDeque;
use std::sync::Arc;

use super::log::Log;
use crate::kafka::broker::advice;
use crate::kafka::client::{Shown, drawn};
use crate::kafka::error::Error;
use crate::kafka::id::{ANY_PART, BrokerEpoch, BrokerId, Offset, TopicName, TopicPartition};
use crate::kafka::message::{
    ConnectResponse, FetchRequest, FetchResponse, ListOffsetsAt, ListOffsetsRequest,
    ListOffsetsResponse, PartitionFetchResponse, ProduceRequest, Request, RequestMessage, Response,
    ResponseMessage,
};
use crate::kafka::settings::{Directory, Settings};
use crate::kafka::words::{BrokerFact, BrokerTimer, Message, Request as Ask, Text, Timer, Words};
use crate::kafka::znodes::{self, BrokerZnode};
use crate::kafka::zookeeper::{Asker, Heard, Replies, Reply, Zookeeper, create_ephemeral, data};
use crate::sim::{Draw, Event, OrdMap, Outbox, Process, ProcessId};
use crate::zk;
use crate::zk::path::Path;
use crate::zk::stat::Bytes;

/// Which of its partitions a broker takes for a record that may go to any.
const OWN_PARTITION: Draw = Draw("own-partition");

/// The logs of a broker, by partition.
type Logs = OrdMap<TopicPartition, Log>;

/// A lone broker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Broker {
    settings: Arc<Settings>,
    directory: Directory,
    /// What is on its disk.
    logs: Logs,
    running: Option<Box<Running>>,
}

/// What it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It registers what it has.
    Starting,
    /// It serves.
    Serving,
    /// It waits for the end of its session, to end with this code.
    Stopping(u8),
}

/// What it has asked ZooKeeper.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// To be registered.
    Register(Bytes),
    /// What is in the way of that.
    InTheWay(Bytes),
    /// To register a topic.
    RegisterTopic(TopicName),
    /// What is in the way of that.
    TopicInTheWay(TopicName),
}

/// What it has while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Running {
    phase: Phase,
    zk: Zookeeper,
    asked: Option<Step>,
    /// Whether it is registered in this session.
    is_registered: bool,
    /// Topics that are to be registered.
    unregistered: VecDeque<TopicName>,
    /// Requests that came before it served.
    held: VecDeque<(ProcessId, RequestMessage)>,
    /// How many records have come from whom.
    received: OrdMap<ProcessId, u64>,
    /// Whether the time of the next flush is set.
    will_flush: bool,
}

impl Broker {
    /// A broker with an empty disk.
    pub fn new(settings: Settings, directory: Directory) -> Broker {
        Broker { settings: Arc::new(settings), directory, logs: Logs::new(), running: None }
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Its id.
    pub fn id(&self) -> BrokerId {
        self.settings.broker_id
    }

    /// Where hosts and ports are.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Its logs.
    pub fn logs(&self) -> &OrdMap<TopicPartition, Log> {
        &self.logs
    }

    /// What it has while it runs.
    pub fn running(&self) -> Option<&Running> {
        self.running.as_deref()
    }

    /// What was not flushed is there all the same: the system had it, and it is checked.
    // Source: FileMessageSet.recover (0.7.2)
    fn boot(&mut self, out: &mut Outbox<'_, Words>) {
        self.logs.values_mut().for_each(Log::flush);
        let config = zk::client::Config {
            servers: self.settings.zookeeper_connect.clone(),
            timeout: self.settings.zookeeper_session_timeout,
        };
        let mut running = Running {
            phase: Phase::Starting,
            zk: Zookeeper::of_release(config, self.settings.release),
            asked: None,
            is_registered: false,
            unregistered: VecDeque::new(),
            held: VecDeque::new(),
            received: OrdMap::new(),
            will_flush: false,
        };
        running.zk.open(out);
        self.running = Some(Box::new(running));
    }
}

impl Process for Broker {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Boot => return self.boot(out),
            Event::Request(Ask::Resolve(directory)) => return self.directory = directory,
            Event::Request(Ask::Configure(file)) => {
                return Arc::make_mut(&mut self.settings).write(&file);
            }
            _ => {}
        }
        if let Some(running) = &mut self.running {
            Turn { running, logs: &mut self.logs, settings: &self.settings, out }.handle(event);
        }
    }

    fn crash(&mut self) {
        self.running = None;
    }
}

impl Running {
    /// What it is about.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Its handle to ZooKeeper.
    pub fn zookeeper(&self) -> &Zookeeper {
        &self.zk
    }

    /// Whether it and all its topics are registered.
    pub fn is_registered(&self) -> bool {
        self.is_registered && self.unregistered.is_empty() && self.asked.is_none()
    }

    /// How many records have come from whom since it was started.
    pub fn received(&self) -> &OrdMap<ProcessId, u64> {
        &self.received
    }
}

/// One event of a running broker.
struct Turn<'t, 'o> {
    running: &'t mut Running,
    logs: &'t mut Logs,
    settings: &'t Settings,
    out: &'t mut Outbox<'o, Words>,
}

impl Turn<'_, '_> {
    fn me(&self) -> BrokerId {
        self.settings.broker_id
    }

    fn handle(&mut self, event: Event<Words>) {
        match event {
            Event::Message { from, message: Message::Zk(message) } => {
                self.zookeeper_event(Event::Message { from, message });
            }
            Event::Timer(Timer::Zk(timer)) => self.zookeeper_event(Event::Timer(timer)),
            Event::Hangup { peer } if self.running.zk.knows(peer) => {
                self.zookeeper_event(Event::Hangup { peer });
            }
            _ if matches!(self.running.phase, Phase::Stopping(_)) => {}
            Event::Hangup { peer } => self.running.held.retain(|(from, _)| *from != peer),
            Event::Message { from, message: Message::Request(message) } => {
                self.request(from, message);
            }
            Event::Timer(Timer::Broker(BrokerTimer::Flush)) => {
                self.running.will_flush = false;
                self.logs.values_mut().for_each(Log::flush);
            }
            Event::Request(Ask::Stop) => self.stop(),
            _ => {}
        }
    }

    fn zookeeper_event(&mut self, event: Event<zk::Words>) {
        for heard in self.running.zk.handle(event, self.out) {
            self.heard(heard);
        }
    }

    fn heard(&mut self, heard: Heard) {
        match (heard, self.running.phase) {
            (Heard::Closed | Heard::Expired, Phase::Stopping(code)) => self.out.exit(code),
            (Heard::Session(_), Phase::Starting | Phase::Serving) => self.register(),
            (Heard::Expired, _) => {
                self.out.tell(BrokerFact::SessionLost { broker: self.me() });
                (self.running.is_registered, self.running.asked) = (false, None);
                self.running.zk.reopen(self.out);
            }
            (Heard::Answered(Asker::Startup, replies), _) => self.answered(&replies),
            _ => {}
        }
    }

    fn ask(&mut self, op: zk::request::Op, step: Step) {
        self.running.asked = Some(step);
        self.running.zk.ask(Asker::Startup, vec![op], self.out);
    }

    /// Says that it lives; all its topics are to follow.
    // Source: KafkaZooKeeper.registerBrokerInZk, SessionExpireListener.handleNewSession (0.7.2)
    fn register(&mut self) {
        let mut topics: VecDeque<TopicName> = VecDeque::new();
        for topic in self.logs.keys().map(|tp| &tp.topic) {
            if topics.back() != Some(topic) {
                topics.push_back(topic.clone());
            }
        }
        self.running.unregistered = topics;
        let Settings { host, port, release, .. } = self.settings;
        let timestamp = self.out.now().as_ms();
        let znode = BrokerZnode { host: host.clone(), port: *port, rack: None, timestamp };
        let data = znode.encode(*release);
        let create = create_ephemeral(znodes::broker(self.me()), data.clone());
        self.ask(create, Step::Register(data));
    }

    fn answered(&mut self, replies: &Replies) {
        let (Some(step), Some(reply)) = (self.running.asked.take(), replies.first()) else {
            return;
        };
        let path = self.path_of(&step);
        match step {
            Step::Register(_) | Step::RegisterTopic(_) if reply.is_ok() => self.done(&step),
            Step::Register(own) => self.look(path, Step::InTheWay(own)),
            Step::RegisterTopic(topic) => self.look(path, Step::TopicInTheWay(topic)),
            Step::InTheWay(ref own) => match holds(reply, own) {
                true => self.done(&step),
                false => self.id_taken(),
            },
            Step::TopicInTheWay(ref topic) => {
                let own = znodes::encode_count(self.settings.own_partitions(topic.as_str()));
                match holds(reply, &own) {
                    true => self.done(&step),
                    false => self.next_topic(),
                }
            }
        }
    }

    fn path_of(&self, step: &Step) -> Path {
        match step {
            Step::Register(_) | Step::InTheWay(_) => znodes::broker(self.me()),
            Step::RegisterTopic(topic) | Step::TopicInTheWay(topic) => {
                znodes::broker_topic(topic, self.me())
            }
        }
    }

    /// Something is there already: its own text, written before an answer was lost, is fine.
    // Source: ZkUtils.createEphemeralPathExpectConflict (0.7.2)
    fn look(&mut self, path: Path, step: Step) {
        let read = self.running.zk.get_data(path);
        self.ask(read, step);
    }

    fn done(&mut self, step: &Step) {
        let broker = self.me();
        match step {
            Step::Register(_) | Step::InTheWay(_) => {
                self.running.is_registered = true;
                let epoch = BrokerEpoch::NONE;
                self.out.tell(BrokerFact::BrokerRegistered { broker, epoch });
            }
            Step::RegisterTopic(topic) | Step::TopicInTheWay(topic) => {
                let partitions = self.settings.own_partitions(topic.as_str());
                let topic = topic.clone();
                self.out.tell(BrokerFact::TopicRegistered { broker, topic, partitions });
            }
        }
        self.next_topic();
    }

    /// Registers the next topic; after the last one, a broker that starts serves.
    // Source: KafkaZooKeeper.registerTopicInZk, LogManager.startup (0.7.2)
    fn next_topic(&mut self) {
        if self.running.asked.is_some() || !self.running.is_registered {
            return;
        }
        if let Some(topic) = self.running.unregistered.pop_front() {
            let count = znodes::encode_count(self.settings.own_partitions(topic.as_str()));
            let create = create_ephemeral(znodes::broker_topic(&topic, self.me()), count);
            return self.ask(create, Step::RegisterTopic(topic));
        }
        if self.running.phase == Phase::Starting {
            self.running.phase = Phase::Serving;
            self.out.tell(BrokerFact::BrokerRunning { broker: self.me() });
            while let Some((from, message)) = self.running.held.pop_front() {
                self.request(from, message);
            }
        }
    }

    /// Another has its id, or it was started again before its last session is over. A broker that
    /// serves already only writes this in its log, and goes on.
    // Source: ZkUtils.registerBrokerInZk, KafkaServerStartable.startup (0.7.2)
    fn id_taken(&mut self) {
        if self.running.phase != Phase::Starting {
            return;
        }
        let broker = self.me();
        let error = advice(znodes::broker(broker).as_str());
        self.out.tell(BrokerFact::BrokerFatal { broker, error: Text::from(&*error) });
        self.close(1);
    }

    // Source: KafkaServer.shutdown, LogManager.close (0.7.2)
    fn stop(&mut self) {
        self.logs.values_mut().for_each(Log::flush);
        self.close(0);
    }

    fn close(&mut self, code: u8) {
        self.running.phase = Phase::Stopping(code);
        if self.running.zk.client().state() == zk::client::State::Connecting {
            return self.out.exit(code);
        }
        for heard in self.running.zk.close(self.out) {
            self.heard(heard);
        }
    }

    /// Its ports are open before it serves: it can be connected to, and requests wait.
    // Source: LogManager.awaitStartup (0.7.2)
    fn request(&mut self, from: ProcessId, message: RequestMessage) {
        let correlation_id = message.correlation_id;
        let response = match message.request {
            Request::Connect(_) => ConnectResponse.into(),
            _ if self.running.phase == Phase::Starting => {
                return self.running.held.push_back((from, message));
            }
            Request::Produce(request) => return self.produce(from, request),
            Request::Fetch(request) => self.fetch(&request).into(),
            Request::ListOffsets(request) => self.list_offsets(&request).into(),
            // Nothing else can be asked of it: it gives the connection up.
            _ => return self.out.hangup(from),
        };
        let response: Response = response;
        self.out.send(from, ResponseMessage { correlation_id, response });
    }

    /// Takes records; nobody is told.
    // Source: KafkaRequestHandlers.handleProducerRequest (0.7.2)
    fn produce(&mut self, from: ProcessId, request: ProduceRequest) {
        for (tp, batch) in request.topic_data {
            let count = self.settings.own_partitions(tp.topic.as_str());
            let part = match tp.broker_part() {
                Some((_, ANY_PART)) => self.any_part(count),
                Some((_, part)) => part,
                None => tp.partition,
            };
            // Source: LogManager.getLogPool: InvalidPartitionException ends the connection
            if !(0..count).contains(&part) {
                return self.out.hangup(from);
            }
            let own = TopicPartition::of_broker(tp.topic, self.me(), part);
            *self.running.received.entry(from).or_default() +=
                u64::from(batch.count().unsigned_abs());
            batch.records.iter().for_each(|record| self.store(&own, record.clone()));
        }
        self.next_topic();
    }

    // Source: LogManager.chooseRandomPartition (0.7.2)
    fn any_part(&mut self, count: i32) -> i32 {
        let part = drawn(OWN_PARTITION, usize::try_from(count).unwrap_or(0), self.out);
        i32::try_from(part).expect("less than the count")
    }

    /// Writes a record down; a topic that is new here is to be registered.
    // Source: LogManager.getOrCreateLog, registerNewTopicInZK; Log.append, flush (0.7.2)
    fn store(&mut self, tp: &TopicPartition, record: crate::kafka::record::Record) {
        if !self.logs.keys().any(|known| known.topic == tp.topic) {
            self.running.unregistered.push_back(tp.topic.clone());
        }
        let (after, every) = self.settings.flushes();
        let value = Shown::of(record.value.as_ref());
        let log = self.logs.entry(tp.clone()).or_default();
        let offset = log.append(record);
        self.out.tell(BrokerFact::RecordStored { partition: tp.clone(), offset, value });
        if log.unflushed() >= after as usize {
            log.flush();
        } else if !std::mem::replace(&mut self.running.will_flush, true) {
            // Real: the time goes round whether anything is written or not; here it begins with
            // what is written first, because nothing happens otherwise.
            self.out.arm(BrokerTimer::Flush, every);
        }
    }

    /// Gives what is there at once, be it nothing.
    // Source: KafkaRequestHandlers.readMessageSet (0.7.2)
    fn fetch(&self, request: &FetchRequest) -> FetchResponse {
        let one = |wanted: &crate::kafka::message::FetchPartition| {
            let log = self.logs.get(&wanted.partition);
            let read = log.map_or(Ok(Vec::new()), |log| {
                log.read(wanted.from.fetch_offset, wanted.from.partition_max_bytes)
            });
            let (error, records) = match read {
                Ok(records) => (None, records),
                Err(error) => (Some(error), Vec::new()),
            };
            PartitionFetchResponse {
                partition: wanted.partition.clone(),
                error,
                high_watermark: log.map_or(Offset(0), Log::flushed),
                log_start_offset: Offset(0),
                diverging_epoch: None,
                aborted_transactions: Vec::new(),
                records,
            }
        };
        FetchResponse::alone(request.topics.iter().map(one).collect())
    }

    // Source: KafkaRequestHandlers.handleOffsetRequest, Log.getOffsetsBefore (0.7.2)
    fn list_offsets(&self, request: &ListOffsetsRequest) -> ListOffsetsResponse {
        let one = |(tp, at): &(TopicPartition, ListOffsetsAt)| {
            let end = self.logs.get(tp).map_or(Offset(0), Log::flushed);
            let offset = if *at == ListOffsetsAt::Latest { end } else { Offset(0) };
            (tp.clone(), Ok::<Offset, Error>(offset))
        };
        ListOffsetsResponse { topics: request.topics.iter().map(one).collect() }
    }
}

fn holds(reply: &Reply, own: &Bytes) -> bool {
    data(reply).is_some_and(|(there, _)| there == own)
}
