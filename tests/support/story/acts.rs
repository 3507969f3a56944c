//! What each step does to the cluster, and what is then awaited.
//! *Invariant: an act that ours does not know makes the story not told; nothing is left out.*

use zootrope::kafka::consumer::Consumer;
use zootrope::kafka::consumer::words::ConsumerRequest;
use zootrope::kafka::id::{BrokerId, TopicPartition};
use zootrope::kafka::old_consumer::OldConsumer;
use zootrope::kafka::old_consumer::words::OldSettings;
use zootrope::kafka::producer::Producer;
use zootrope::kafka::producer::words::ProducerRequest;
use zootrope::kafka::tools::dump_log::{Records, dump};
use zootrope::kafka::tools::{Bootstrap, Tool};
use zootrope::kafka::words::Request;
use zootrope::sim::{Power, ProcessId, Span};
use zootrope::zk::request::{Create, Op, mode};
use zootrope::zk::stat::Bytes;

use super::cast::{Actor, Hand};
use super::clients;
use super::step::{ByHand, Seat, Send, Start, Step, Transactional, Until, Who};
use super::teller::{Stage, Teller, Told, proxy_address};

/// What is awaited in a step.
#[derive(Default)]
pub struct Awaited {
    /// Its printed text is the output.
    pub tool: Option<ProcessId>,
    pub hand: Option<ProcessId>,
    /// It is up, or has exited.
    pub starting: Option<ProcessId>,
    pub is_up: bool,
    /// It has exited.
    pub stopping: Option<ProcessId>,
    pub sending: Option<Sending>,
    pub acting: Option<Acting>,
    pub until: Option<Until>,
    /// What a broker's log holds.
    pub dump: Option<String>,
}

/// A transactional producer that does one thing after the other.
pub struct Acting {
    pub process: ProcessId,
    pub left: Vec<Transactional>,
    /// What it is doing.
    pub did: Option<String>,
}

/// A producer that sends one record after the other.
pub struct Sending {
    pub process: ProcessId,
    pub send: Send,
    pub next: u32,
    pub outcomes: Vec<serde_json::Value>,
}

impl Awaited {
    /// The next step starts members: their group does not become empty first.
    pub fn group_may_fill(&mut self) {
        self.until = self.until.take().filter(|until| *until != Until::GroupIsEmpty);
    }
}

impl Teller<'_> {
    /// Does what a step says.
    pub fn carry_out(&mut self, step: &Step) -> Told<Awaited> {
        let mut awaited = Awaited::default();
        match step {
            Step::StartBroker { broker, seat, .. } => {
                self.started.insert(*broker);
                let process = self.broker(*broker, *seat)?.process;
                self.act("start", move |i| i.start(process));
                awaited.starting = Some(process);
            }
            Step::StopBroker(broker) => {
                let process = self.broker(*broker, Seat::Own)?.process;
                self.act("stop", move |i| i.request(process, Request::Stop));
                awaited.stopping = Some(process);
            }
            Step::Kill(victims) => awaited.until = self.kill(victims)?,
            Step::KillAndStart { victims, start } => {
                self.kill(victims)?;
                self.start_consumers(start)?;
            }
            Step::Freeze(who) => {
                let process = self.stage(who)?.process;
                self.act("freeze", move |i| i.freeze(process));
            }
            Step::Thaw(who, acts) => {
                let process = self.stage(who)?.process;
                let acts = acts.clone();
                self.act("thaw", move |i| i.thaw(process));
                acts.into_iter().for_each(|act| self.tell_member(process, act));
            }
            Step::Cut(who) => {
                let proxy = self.stage(who)?.proxy.ok_or("it has nothing to do with ZooKeeper")?;
                self.act("cut", move |i| i.kill(proxy));
            }
            Step::Heal(who) => {
                let proxy = self.stage(who)?.proxy.ok_or("it has nothing to do with ZooKeeper")?;
                self.act("heal", move |i| i.start(proxy));
            }
            Step::KillZooKeeper => {
                let process = self.zookeeper;
                self.act("kill", move |i| i.kill(process));
            }
            Step::StartZooKeeper => {
                let process = self.zookeeper;
                self.act("start", move |i| i.start(process));
            }
            Step::Tool { name, args } => awaited.tool = Some(self.run_tool(name, args)?),
            Step::Send(send) => awaited.sending = Some(self.send(send)?),
            Step::StartConsumers(start) => self.start_consumers(start)?,
            Step::TellConsumer(name, act) => {
                let process = self.client(name)?.process;
                self.tell_member(process, *act);
            }
            Step::ByHand(by_hand) => awaited.hand = Some(self.by_hand(by_hand)),
            Step::WaitUntil(until) => awaited.until = Some(until.clone()),
            Step::Listen | Step::Wait(_) => {}
            Step::StartProducer { name, transactional_id } => {
                let settings = clients::transactional(name, transactional_id, &self.bootstrap());
                self.start_client(name, Actor::Producer(Box::new(Producer::new(settings))));
            }
            Step::TellProducer(name, acts) => awaited.acting = Some(self.acting(name, acts)?),
            Step::Dump { topic, partition, broker } => {
                let partition = TopicPartition::new(topic.as_str(), *partition);
                awaited.dump = Some(self.dump(&partition, *broker)?);
            }
        }
        Ok(awaited)
    }

    fn broker(&self, broker: i32, seat: Seat) -> Told<Stage> {
        let stage = self.brokers.get(&(broker, seat)).copied();
        stage.ok_or_else(|| format!("there is no broker {broker}"))
    }

    fn client(&self, name: &str) -> Told<Stage> {
        self.clients.get(name).copied().ok_or_else(|| format!("there is no {name}"))
    }

    pub(super) fn stage(&self, who: &Who) -> Told<Stage> {
        match who {
            Who::Broker(broker) => self.broker(*broker, Seat::Own),
            Who::Client(name) => self.client(name),
        }
    }

    /// Kills them; with a group's last members, the group is to become empty.
    fn kill(&mut self, victims: &[Who]) -> Told<Option<Until>> {
        for who in victims {
            let process = self.stage(who)?.process;
            self.act("kill", move |i| i.kill(process));
        }
        // Of an old group nobody hears but by its sessions.
        let is_member = |who: &Who| matches!(who, Who::Client(_)) && !self.has_session(who);
        let members = victims.iter().any(is_member);
        let alive = |stage: &Stage| self.sim.power(stage.process) != Power::Off;
        let last = members && !self.clients.values().any(alive);
        Ok(last.then_some(Until::GroupIsEmpty))
    }

    fn has_session(&self, who: &Who) -> bool {
        self.stage(who).is_ok_and(|stage| stage.proxy.is_some())
    }

    /// The brokers that clients and tools are given, all that have been started.
    fn bootstrap(&self) -> Vec<ProcessId> {
        let own = self
            .brokers
            .iter()
            .filter(|((id, seat), _)| *seat == Seat::Own && self.started.contains(id));
        own.map(|(_, stage)| stage.process).collect()
    }

    fn run_tool(&mut self, name: &str, args: &[String]) -> Told<ProcessId> {
        let ids = self.started.iter().map(|id| format!("127.0.0.1:{}", 9090 + id));
        let shown = ids.collect::<Vec<_>>().join(",").into();
        let bootstrap = Bootstrap {
            shown,
            processes: self.bootstrap().into(),
            release: self.release,
            zookeeper_connect: "127.0.0.1:2181".into(),
            ensemble: [proxy_address(self.next_process(1))].into(),
        };
        let tool = Tool::read(name, args, bootstrap);
        let tool = tool.map_err(|usage| format!("{name}: {usage:?}"))?;
        let has_session = tool.has_session();
        self.runs += 1;
        let process = self.sim.add(&format!("{name} #{}", self.runs), Actor::Tool(Box::new(tool)));
        if has_session {
            let who = if name == "ConsumerOffsetChecker" { "offset checker" } else { name };
            self.add_proxy(who, process);
        }
        self.fix_asked(process);
        self.act("start", move |i| i.start(process));
        Ok(process)
    }

    /// A process that has not been there before.
    fn start_process(&mut self, name: &str, actor: Actor) -> ProcessId {
        self.runs += 1;
        let process = self.sim.add(&format!("{name} #{}", self.runs), actor);
        self.fix_asked(process);
        self.act("start", move |i| i.start(process));
        process
    }

    fn dump(&self, partition: &TopicPartition, broker: i32) -> Told<String> {
        let Actor::Broker(process) = self.sim.process(self.broker(broker, Seat::Own)?.process)
        else {
            unreachable!("brokers sit where brokers sit");
        };
        let replica = process.running().and_then(|of| of.replicas().partition(partition));
        let replica = replica.ok_or_else(|| format!("{partition} is not on broker {broker}"))?;
        let batches: Vec<_> = replica.log.batches().collect();
        let records = Records::of_interest(partition, &batches);
        let release = process.settings().release;
        Ok(dump(BrokerId(broker), partition, &batches, records, release))
    }

    fn send(&mut self, send: &Send) -> Told<Sending> {
        let settings = clients::producer("producer", send, &self.bootstrap(), self.release)?;
        let mut send = send.clone();
        if let Some(sent) = &mut self.sent {
            let sent = sent.entry(send.topic.clone()).or_default();
            send.from = *sent;
            *sent += send.count;
        }
        let producer = Producer::new(settings);
        let process = self.start_process("producer", Actor::Producer(Box::new(producer)));
        let mut sending = Sending { process, next: send.from, send, outcomes: Vec::new() };
        self.send_next(&mut sending)?;
        Ok(sending)
    }

    /// Sends the next record, or closes the producer; early on the victim dies.
    pub fn send_next(&mut self, sending: &mut Sending) -> Told<()> {
        let done = sending.next - sending.send.from;
        let process = sending.process;
        if let Some(victim) = sending.send.victim
            && done == sending.send.count / 4
        {
            let victim = self.broker(victim, Seat::Own)?.process;
            self.act("kill", move |i| i.kill(victim));
        }
        if done == sending.send.count {
            self.act("close", move |i| {
                i.request(process, Request::Producer(ProducerRequest::Close))
            });
            return Ok(());
        }
        let record = clients::record(&sending.send, sending.next);
        sending.next += 1;
        let request = Request::Producer(ProducerRequest::Send(record));
        self.act("send", move |i| i.request(process, request));
        Ok(())
    }

    fn start_consumers(&mut self, start: &Start) -> Told<()> {
        for name in &start.names {
            if let Some(settings) = clients::old_consumer(name, start, self.release)? {
                self.start_old_consumer(name, settings);
                continue;
            }
            let settings = clients::consumer(name, start, &self.bootstrap(), self.release)?;
            self.start_client(name, Actor::Consumer(Box::new(Consumer::new(settings))));
        }
        self.group = Some(start.group.clone());
        Ok(())
    }

    /// It has a proxy of its own before ZooKeeper.
    fn start_old_consumer(&mut self, name: &str, mut settings: OldSettings) {
        settings.release = self.release;
        settings.directory = self.directory.clone();
        settings.zookeeper_connect = [proxy_address(self.next_process(1))].into();
        self.runs += 1;
        let consumer = Actor::OldConsumer(Box::new(OldConsumer::new(settings)));
        let process = self.sim.add(&format!("{name} #{}", self.runs), consumer);
        let proxy = Some(self.add_proxy(name, process));
        self.fix_asked(process);
        self.act("start", move |i| i.start(process));
        self.clients.insert(name.to_owned(), Stage { process, proxy });
        self.members.insert(process, name.to_owned());
    }

    fn start_client(&mut self, name: &str, actor: Actor) {
        let process = self.start_process(name, actor);
        self.clients.insert(name.to_owned(), Stage { process, proxy: None });
        self.members.insert(process, name.to_owned());
    }

    fn acting(&mut self, name: &str, acts: &[Transactional]) -> Told<Acting> {
        let process = self.client(name)?.process;
        let mut acting = Acting { process, left: acts.to_vec(), did: None };
        self.act_next(&mut acting);
        Ok(acting)
    }

    /// Has a transactional producer do the next thing, if something is left.
    pub fn act_next(&mut self, acting: &mut Acting) {
        acting.did = None;
        if acting.left.is_empty() {
            return;
        }
        let (request, said) = clients::act(&acting.left.remove(0));
        let process = acting.process;
        acting.did = Some(said);
        self.act("tell", move |i| i.request(process, Request::Producer(request)));
    }

    fn tell_member(&mut self, process: ProcessId, request: ConsumerRequest) {
        self.act("tell", move |i| i.request(process, Request::Consumer(request)));
    }

    fn by_hand(&mut self, by_hand: &ByHand) -> ProcessId {
        let bytes = |data: &Option<String>| Bytes::from(data.as_deref().unwrap_or_default());
        let any = -1;
        let op = match by_hand {
            ByHand::Create(path, data) => {
                let create = Create::new(path.as_str(), bytes(data), mode::PERSISTENT);
                Op::Create(create.into())
            }
            ByHand::SetData(path, data) => {
                Op::SetData { path: path.as_str().into(), data: bytes(data), version: any }
            }
            ByHand::Delete(path) => Op::Delete { path: path.as_str().into(), version: any },
        };
        let proxy = self.next_process(1);
        let hand = Hand::new(proxy, Span::secs(10), op);
        self.runs += 1;
        let process = self.sim.add(&format!("by hand #{}", self.runs), Actor::Hand(Box::new(hand)));
        self.add_proxy("by hand", process);
        self.act("start", move |i| i.start(process));
        process
    }
}
