//! A broker of straw, for tests of clients: it leads everything, coordinates every group, and has
//! no followers and no ZooKeeper.

use super::consumer::Consumer;
use super::error::Error;
use super::group::{Caller, Desk, GroupCoordinator, GroupSettings, Wish};
use super::id::{BrokerId, LeaderEpoch, Offset, ProducerEpoch, ProducerId, TopicPartition};
use super::message::*;
use super::producer::Producer;
use super::record::{Record, RecordBatch};
use super::words::{BrokerTimer, Message, Timer, Words};
use crate::sim::{
    Event, Intervention, Moment, Network, OrdMap, Outbox, Process, ProcessId, Sim, Span, Telling,
    Trace,
};

/// Something done with the group coordinator.
type Act<'a> = Box<dyn FnOnce(&mut GroupCoordinator, &mut Desk<'_>) + 'a>;

/// The broker.
#[derive(Clone, Debug, Hash)]
pub struct Straw {
    counts: OrdMap<super::id::TopicName, i32>,
    logs: OrdMap<TopicPartition, Vec<RecordBatch>>,
    groups: GroupCoordinator,
    waiting: Vec<(Caller, FetchRequest)>,
    /// How many produce requests are still to be refused.
    refusals: u32,
}

/// Any of the processes of a test.
#[derive(Clone, Debug, Hash)]
#[allow(clippy::large_enum_variant)]
pub enum Somebody {
    Straw(Straw),
    Consumer(Consumer),
    Producer(Producer),
}

impl Process for Somebody {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match self {
            Somebody::Straw(one) => one.handle(event, out),
            Somebody::Consumer(one) => one.handle(event, out),
            Somebody::Producer(one) => one.handle(event, out),
        }
    }

    fn crash(&mut self) {
        match self {
            Somebody::Straw(one) => one.waiting.clear(),
            Somebody::Consumer(one) => one.crash(),
            Somebody::Producer(one) => one.crash(),
        }
    }
}

impl Straw {
    /// A broker with these topics.
    pub fn new(topics: &[(&str, i32)]) -> Straw {
        let settings = GroupSettings { offsets_topic_num_partitions: 1, ..Default::default() };
        Straw {
            counts: topics.iter().map(|(topic, count)| ((*topic).into(), *count)).collect(),
            logs: OrdMap::new(),
            groups: GroupCoordinator::new(settings),
            waiting: Vec::new(),
            refusals: 0,
        }
    }

    fn with_groups(&mut self, out: &mut Outbox<'_, Words>, act: Act<'_>) {
        let now = out.now();
        let mut dice = |purpose, range| out.draw(purpose, range);
        let mut desk = Desk::new(now, &mut dice);
        act(&mut self.groups, &mut desk);
        for wish in desk.into_wishes() {
            match wish {
                Wish::Answer { caller, response } => answer(&caller, response, out),
                Wish::Arm { timer, after } => out.arm(timer, after),
                Wish::Disarm(timer) => out.disarm(timer),
                Wish::Tell(fact) => out.tell(fact),
                Wish::Append { id, records, .. } => {
                    self.append(&TopicPartition::new("__consumer_offsets", 0), records);
                    self.with_groups(out, Box::new(|groups, desk| groups.stored(id, Ok(()), desk)));
                }
            }
        }
    }

    fn append(&mut self, partition: &TopicPartition, records: Vec<Record>) -> Offset {
        let log = self.logs.entry(partition.clone()).or_default();
        let base = log.last().map_or(Offset(0), RecordBatch::next_offset);
        log.push(RecordBatch::new(records).appended(base, LeaderEpoch(0)));
        base
    }

    fn end(&self, partition: &TopicPartition) -> Offset {
        let last = self.logs.get(partition).and_then(|log| log.last());
        last.map_or(Offset(0), RecordBatch::next_offset)
    }

    fn take(&mut self, caller: Caller, request: Request, out: &mut Outbox<'_, Words>) {
        let address = BrokerAddress {
            id: BrokerId(1),
            process: out.me(),
            host: "127.0.0.1".into(),
            port: 9091,
            rack: None,
        };
        match request {
            Request::Metadata(ask) => answer(&caller, self.metadata(&ask, address), out),
            Request::FindCoordinator(_) => {
                answer(&caller, FindCoordinatorResponse { coordinator: Ok(address) }, out);
            }
            Request::Produce(ask) => self.produce(&caller, ask, out),
            Request::Fetch(ask) => {
                self.waiting.push((caller, ask));
                out.arm(BrokerTimer::Purgatory, Span::ms(500));
            }
            Request::ListOffsets(ask) => {
                let offset = |(p, at): &(TopicPartition, ListOffsetsAt)| match at {
                    ListOffsetsAt::Earliest => (p.clone(), Ok(Offset(0))),
                    _ => (p.clone(), Ok(self.end(p))),
                };
                let topics = ask.topics.iter().map(offset).collect();
                answer(&caller, ListOffsetsResponse { topics }, out);
            }
            Request::InitProducerId(_) => {
                let producer = Ok((ProducerId(0), ProducerEpoch(0)));
                answer(&caller, InitProducerIdResponse { producer }, out);
            }
            other => {
                self.with_groups(
                    out,
                    Box::new(|groups, desk| groups.request(caller, other, &|_| true, desk)),
                );
            }
        }
    }

    fn metadata(&self, ask: &MetadataRequest, address: BrokerAddress) -> MetadataResponse {
        let partition = |partition_index| PartitionMetadata {
            error: None,
            partition_index,
            leader_id: BrokerId(1),
            leader_epoch: LeaderEpoch(0),
            replica_nodes: vec![BrokerId(1)],
            isr_nodes: vec![BrokerId(1)],
            offline_replicas: Vec::new(),
        };
        let wanted = ask.topics.clone().unwrap_or_default();
        let topic = |name: super::id::TopicName| {
            let count = self.counts.get(&name).copied();
            TopicMetadata {
                error: count.is_none().then_some(Error::UnknownTopicOrPartition),
                name,
                topic_id: None,
                is_internal: false,
                partitions: (0..count.unwrap_or(0)).map(partition).collect(),
            }
        };
        let topics = wanted.into_iter().map(topic).collect();
        MetadataResponse { brokers: vec![address], controller_id: BrokerId(1), topics }
    }

    fn produce(&mut self, caller: &Caller, ask: ProduceRequest, out: &mut Outbox<'_, Words>) {
        let refused = self.refusals > 0;
        self.refusals = self.refusals.saturating_sub(1);
        let mut responses = Vec::new();
        for (partition, batch) in ask.topic_data {
            let base_offset = match refused {
                true => Err(Error::NotLeaderOrFollower),
                false => Ok(self.append(&partition, batch.records.to_vec())),
            };
            let log_start_offset = Offset(0);
            responses.push(PartitionProduceResponse { partition, base_offset, log_start_offset });
        }
        if ask.acks != Acks::None {
            answer(caller, ProduceResponse { responses }, out);
        }
        self.serve(false, out);
    }

    /// Answers fetches for which there is something, or all.
    fn serve(&mut self, all: bool, out: &mut Outbox<'_, Words>) {
        for (caller, ask) in std::mem::take(&mut self.waiting) {
            let responses: Vec<_> = ask.topics.iter().map(|asked| self.fetched(asked)).collect();
            if all || responses.iter().any(|answer| !answer.records.is_empty()) {
                answer(&caller, FetchResponse::alone(responses), out);
            } else {
                self.waiting.push((caller, ask));
            }
        }
    }

    fn fetched(&self, asked: &FetchPartition) -> PartitionFetchResponse {
        let log = self.logs.get(&asked.partition).into_iter().flatten();
        let wanted = log.filter(|batch| batch.last_offset() >= asked.from.fetch_offset);
        PartitionFetchResponse {
            partition: asked.partition.clone(),
            error: None,
            high_watermark: self.end(&asked.partition),
            log_start_offset: Offset(0),
            diverging_epoch: None,
            aborted_transactions: Vec::new(),
            records: wanted.cloned().collect(),
        }
    }

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Boot => self.with_groups(out, Box::new(|groups, desk| groups.lead(0, [], desk))),
            Event::Message { from, message: Message::Request(ask) } => {
                let (correlation_id, client_id) = (ask.correlation_id, ask.client_id);
                let caller = Caller { process: from, correlation_id, client_id };
                self.take(caller, ask.request, out);
                self.serve(false, out);
            }
            Event::Timer(Timer::Group(timer)) => {
                self.with_groups(out, Box::new(|groups, desk| groups.timer(timer, desk)));
            }
            Event::Timer(Timer::Broker(BrokerTimer::Purgatory)) => self.serve(true, out),
            Event::Request(_) => self.refusals += 1,
            _ => {}
        }
    }
}

fn answer(caller: &Caller, response: impl Into<Response>, out: &mut Outbox<'_, Words>) {
    let correlation_id = caller.correlation_id;
    out.send(caller.process, ResponseMessage { correlation_id, response: response.into() });
}

/// A broker of straw with clients.
pub struct Scene {
    sim: Sim<Somebody>,
    trace: Trace<Words>,
    heard: usize,
}

impl Scene {
    /// A broker with these topics, running.
    pub fn new(topics: &[(&str, i32)]) -> Scene {
        let sim = Sim::new(7, Network::default());
        let mut scene = Scene { sim, trace: Trace::default(), heard: 0 };
        scene.add("broker1", Somebody::Straw(Straw::new(topics)));
        scene
    }

    /// Adds a process and starts it.
    pub fn add(&mut self, name: &str, process: Somebody) -> ProcessId {
        let id = self.sim.add(name, process);
        self.intervene(|hand| hand.start(id));
        id
    }

    /// The process of that name.
    pub fn find(&self, name: &str) -> Option<ProcessId> {
        self.sim.find(name)
    }

    /// Does something from outside.
    pub fn intervene(&mut self, act: impl FnOnce(&mut Intervention<'_, Somebody>)) {
        self.sim.intervene(("test", None), &mut self.trace, act);
    }

    /// Asks something of a process.
    pub fn request(&mut self, id: ProcessId, request: impl Into<super::words::Request>) {
        let request = request.into();
        self.intervene(|hand| hand.request(id, request));
    }

    /// Lets the broker refuse so many produce requests.
    pub fn refuse(&mut self, count: u32) {
        let request = super::words::Request::Stop;
        (0..count).for_each(|_| self.intervene(|hand| hand.request(ProcessId(0), request.clone())));
    }

    /// Lets time pass; gives the facts whose keys are wanted, with their tellers.
    pub fn pass(&mut self, span: Span, wanted: &[&str]) -> Vec<String> {
        let end = self.sim.now() + span;
        self.sim.advance_to(Moment::after(end), &mut self.trace);
        let mut told = Vec::new();
        for record in self.trace.since(self.heard) {
            for fact in record.facts().filter(|fact| wanted.contains(&fact.key())) {
                let process = record.process.expect("a process told it");
                told.push(format!("{} {fact}", self.sim.name(process)));
            }
        }
        self.heard = self.trace.len();
        told
    }
}
