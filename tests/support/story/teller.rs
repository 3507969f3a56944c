//! Tells a recorded story with our cluster: sets the stage, carries out each step, waits as long as
//! a step lasts, and writes down what happened in the recordings' form.
//! Not here: how long that is (`timing`), how draws fall (`draws`), what a step says (`step`).
//! *Invariant: of the recording the steps' words, their length and the draws are used, and nothing
//! else.*

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use zootrope::kafka::broker::Broker;
use zootrope::kafka::client::BROKER_TO_ASK;
use zootrope::kafka::group::GroupFact;
use zootrope::kafka::id::BrokerId;
use zootrope::kafka::placement::Candidate;
use zootrope::kafka::release::Release;
use zootrope::kafka::settings::{Directory, Settings};
use zootrope::kafka::words::Words;
use zootrope::sim::{Intervention, Moment, Network, Power, ProcessId, Sim, SimTime, Span, Trace};
use zootrope::zk;

use super::super::judge::Court;
use super::acts::Awaited;
use super::cast::{Actor, Proxy};
use super::draws;
use super::mask::{Mask, PORT_SHIFT, ports};
use super::record::{Ledger, Wire};
use super::step::{self, Seat, Step, Who};
use super::timing::{Calendar, Clock};

/// What was told, or why not.
pub type Told<T> = Result<T, String>;

/// A story in the telling.
pub struct Teller<'a> {
    steps: &'a [Value],
    pub(super) sim: Sim<Actor>,
    pub(super) trace: Trace<Words>,
    /// How much of the trace has been read.
    pub(super) read: usize,
    pub(super) zookeeper: ProcessId,
    wires: Vec<(ProcessId, String, Wire, usize)>,
    pub(super) ledger: Ledger,
    /// How many transactions of the log belong to steps that are over.
    logged: usize,
    pub(super) brokers: BTreeMap<(i32, Seat), Stage>,
    pub(super) clients: BTreeMap<String, Stage>,
    pub(super) release: Release,
    /// Where the brokers are.
    pub(super) directory: Directory,
    settings: Vec<(String, String)>,
    racks: BTreeMap<i32, Option<Arc<str>>>,
    pub(super) mask: Mask,
    court: Court,
    /// Members by their processes; those that are dead too.
    pub(super) members: BTreeMap<ProcessId, String>,
    /// Brokers that have ever been started.
    pub(super) started: BTreeSet<i32>,
    /// What each member has said in this step.
    pub(super) said: BTreeMap<String, Vec<Value>>,
    /// Topics that were ever made.
    pub(super) topics: BTreeSet<String>,
    /// The broker that the client of this step asks first, if the recording tells.
    asked: Option<i32>,
    /// Further draws of the client of this step.
    further: Vec<(&'static str, u64)>,
    /// What each member holds.
    pub(super) holdings: BTreeMap<String, BTreeSet<String>>,
    /// What was heard last of each group.
    pub(super) groups: BTreeMap<String, GroupFact>,
    /// A group has a new generation in this step.
    pub(super) has_new_generation: bool,
    pub(super) runs: u32,
    /// Why the last broker that did not start ended.
    pub(super) fatal: Option<String>,
    /// Members that miss generations in this step, and how many.
    late: BTreeMap<String, usize>,
    /// Proxies and members that stand still so that others win a race, and until when.
    held: Vec<(SimTime, ProcessId)>,
    pub(super) group: Option<String>,
    /// In a story of old consumers, how many records each topic was sent: their numbers go on.
    pub(super) sent: Option<BTreeMap<String, u32>>,
}

/// A process with its proxy.
#[derive(Clone, Copy)]
pub struct Stage {
    pub process: ProcessId,
    pub proxy: Option<ProcessId>,
}

/// Tells a whole story.
pub fn tell(recorded: &Value) -> Told<Value> {
    let steps = recorded["steps"].as_array().ok_or("it has no steps")?;
    let mut teller = Teller::new(recorded, steps)?;
    let mut told = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        told.push(teller.step(place, step)?);
    }
    Ok(json!({
        "name": recorded["name"],
        "release": recorded["release"],
        "steps": told,
    }))
}

impl<'a> Teller<'a> {
    fn new(recorded: &Value, steps: &'a [Value]) -> Told<Teller<'a>> {
        let mut settings = vec![
            ("zookeeper.session.timeout.ms".to_owned(), "4000".to_owned()),
            ("group.initial.rebalance.delay.ms".to_owned(), "1000".to_owned()),
            ("offsets.topic.num.partitions".to_owned(), "3".to_owned()),
            // As in the file that comes with Kafka.
            ("transaction.state.log.replication.factor".to_owned(), "1".to_owned()),
        ];
        if has_old_members(steps) {
            // Source: old-consumers/*: one copy, though neither the settings nor a default say so.
            settings.push(("offsets.topic.replication.factor".to_owned(), "1".to_owned()));
        }
        let mut zookeeper = zk::settings::Settings::default();
        for (name, value) in recorded["settings"].as_object().into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            match name.as_str() {
                "zookeeper.tickTime" => {
                    let ms = value.parse().map_err(|_| format!("{name} is {value}"))?;
                    zookeeper.tick_time = Span::ms(ms);
                }
                _ => settings.push((name.clone(), value)),
            }
        }
        let release = recorded["release"].as_str().unwrap_or_default();
        let release = release.parse::<Release>().map_err(|unknown| unknown.to_string())?;
        let mut sim = Sim::new(1, Network::default());
        let server = zk::server::Server::standalone(zookeeper.of_release(release.zookeeper()));
        let process = sim.add("zookeeper", Actor::ZooKeeper(Box::new(server)));
        let mut teller = Teller {
            steps,
            sim,
            trace: Trace::default(),
            read: 0,
            zookeeper: process,
            wires: Vec::new(),
            ledger: Ledger::default(),
            logged: 0,
            brokers: BTreeMap::new(),
            clients: BTreeMap::new(),
            release,
            directory: Directory::default(),
            settings,
            racks: BTreeMap::new(),
            mask: Mask::default(),
            court: Court::default(),
            members: BTreeMap::new(),
            started: BTreeSet::new(),
            said: BTreeMap::new(),
            topics: BTreeSet::new(),
            asked: None,
            further: Vec::new(),
            holdings: BTreeMap::new(),
            groups: BTreeMap::new(),
            has_new_generation: false,
            runs: 0,
            fatal: None,
            late: BTreeMap::new(),
            held: Vec::new(),
            group: None,
            sent: has_old_members(steps).then(BTreeMap::new),
        };
        teller.set_the_stage()?;
        Ok(teller)
    }

    /// Every broker that the story starts has its seat from the beginning: each knows where the
    /// others are.
    fn set_the_stage(&mut self) -> Told<()> {
        let (zookeeper, steps) = (self.zookeeper, self.steps);
        self.act("start", move |i| i.start(zookeeper));
        let mut seats: Vec<(i32, Seat, Settings)> = Vec::new();
        for step in steps {
            let done = step["do"].as_str().ok_or("a step does nothing")?;
            let Step::StartBroker { broker, seat, settings } = step::read(done)? else { continue };
            let mut settings = self.settings_of(broker, &settings)?;
            if seat == Seat::Second {
                settings.port += SECOND_PORT_SHIFT;
            }
            match seats.iter().find(|(id, of, _)| (*id, *of) == (broker, seat)) {
                None => seats.push((broker, seat, settings)),
                Some((_, _, before)) if *before == settings => {}
                Some(_) => return Err(format!("broker {broker} is started with other settings")),
            }
        }
        let process = |place: usize| self.next_process(2 * u16::try_from(place).expect("few"));
        let places = seats.iter().enumerate().filter(|(_, (_, seat, _))| *seat == Seat::Own);
        let directory = Directory::new(places.map(|(place, (_, _, settings))| {
            ((settings.host.clone(), settings.port), process(place))
        }));
        self.directory = directory.clone();
        for (broker, seat, settings) in seats {
            self.seat_broker(broker, seat, settings, &directory);
        }
        Ok(())
    }

    fn settings_of(&self, broker: i32, own: &[(String, String)]) -> Told<Settings> {
        let settings = Settings::new(BrokerId(broker), "127.0.0.1", port_of(broker));
        let mut settings = settings.of_release(self.release);
        for (name, value) in self.settings.iter().chain(own) {
            settings.set(name, value).map_err(|error| error.to_string())?;
        }
        Ok(settings)
    }

    fn seat_broker(&mut self, broker: i32, seat: Seat, mut settings: Settings, at: &Directory) {
        let (who, name) = match seat {
            Seat::Own => (format!("broker {broker}"), format!("broker{broker}")),
            Seat::Second => (format!("second broker {broker}"), format!("second{broker}")),
        };
        settings.zookeeper_connect = [proxy_address(self.next_process(1))].into();
        self.racks.insert(broker, settings.broker_rack.clone());
        let actor = Actor::Broker(Box::new(Broker::new(settings, at.clone())));
        let process = self.sim.add(&name, actor);
        let proxy = self.add_proxy(&who, process);
        self.brokers.insert((broker, seat), Stage { process, proxy: Some(proxy) });
    }

    /// The proxy that stands before `client`; it must have been told its number beforehand.
    pub(super) fn add_proxy(&mut self, who: &str, client: ProcessId) -> ProcessId {
        let proxy = Actor::Proxy(Proxy::new(self.zookeeper, client));
        let number = self.wires.len();
        let proxy = self.sim.add(&format!("proxy {number}, of {who}"), proxy);
        self.act("start", move |i| i.start(proxy));
        self.wires.push((proxy, who.to_owned(), Wire::default(), 0));
        proxy
    }

    /// The number of the process that will be added after so many others.
    pub(super) fn next_process(&self, others: u16) -> ProcessId {
        let there = u16::try_from(self.sim.processes().count()).expect("stories are small");
        ProcessId(there + others)
    }

    pub(super) fn act(
        &mut self,
        name: &'static str,
        act: impl FnOnce(&mut Intervention<'_, Actor>),
    ) {
        self.sim.intervene((name, None), &mut self.trace, act);
    }

    fn step(&mut self, place: usize, recorded: &Value) -> Told<Value> {
        let what = recorded["do"].as_str().ok_or("a step does nothing")?;
        let step = step::read(what)?;
        // What was said in steps that told nothing is told by the one that only listens.
        let untold = place > 0 && self.steps[place - 1].get("output").is_none();
        if !(untold && step == Step::Listen) {
            self.said.clear();
        }
        self.has_new_generation = false;
        let mut clock = Clock::new(self.sim.now(), &step);
        for draw in draws::of_step(&step, recorded, &self.alive()) {
            let seat = self.brokers.get(&(draw.broker, Seat::Own)).copied();
            let seat = seat.ok_or("a draw is for a broker that never was")?;
            self.act("fix", move |i| i.fix(seat.process, draw.name, draw.value));
        }
        self.asked = draws::asked_by_members(&step, recorded);
        let members: Vec<ProcessId> = self.members.keys().copied().collect();
        members.into_iter().for_each(|member| self.fix_asked(member));
        self.asked = draws::asked(&step, recorded);
        self.further = draws::of_client(&step, recorded, &self.alive());
        self.late = draws::late_members(recorded);
        let mut talk = Vec::new();
        self.take_a_moment(&step, &mut talk)?;
        let mut awaited = self.carry_out(&step)?;
        if self.starts_members(place + 1) {
            awaited.group_may_fill();
        }
        let mut calendar = Calendar::new(self.steps, place);
        let mut txns = Vec::new();
        let mut has_come = self.court.has_come(recorded, &txns);
        let before_step = self.trace.len();
        loop {
            if self.trace.len() > before_step + STORM {
                return Err(format!("{what}: our cluster does not come to rest"));
            }
            let complete = has_come && self.is_complete(&awaited, recorded);
            let ends = clock.ends(complete);
            if !self.advance(ends) {
                break;
            }
            talk.extend(self.listen());
            let before = txns.len();
            let is_over = self.read_log(&mut txns, &mut calendar);
            if txns.len() > before {
                self.hold_losers(place, &txns[before..]);
                has_come = self.court.has_come(recorded, &txns);
            }
            let spoke = self.read_trace(&mut awaited)?;
            // What is refused is no commit: it does not keep a step going.
            if txns[before..].iter().any(|txn| txn["op"] != "error") || spoke {
                clock.came(self.sim.now());
            }
            if is_over {
                break;
            }
        }
        let mut told = json!({"do": what, "txns": txns, "talk": talk});
        if let Some(output) = self.output(&awaited, recorded) {
            told["output"] = output;
        }
        self.court.step(recorded, &told)?;
        Ok(told)
    }

    /// A client that will ask some broker asks the one that was asked in the recording.
    pub(super) fn fix_asked(&mut self, client: ProcessId) {
        /// The first question, and those that go to the same broker because it is known to live.
        const QUESTIONS: usize = 12;
        for (draw, value) in self.further.clone() {
            self.act("fix", move |i| i.fix(client, draw, value));
        }
        let Some(asked) = self.asked.or_else(|| self.one_that_answers()) else { return };
        let alive = self.alive();
        let place = alive.iter().position(|broker| broker.id == BrokerId(asked));
        let first = self.started.iter().position(|broker| *broker == asked);
        let Some((first, place)) = first.zip(place) else { return };
        let name = BROKER_TO_ASK.0;
        self.act("fix", move |i| {
            i.fix(client, name, first as u64);
            (1..QUESTIONS).for_each(|_| i.fix(client, name, place as u64));
        });
    }

    /// Whoever kills a member needs a moment for it; what is said meanwhile belongs to the step.
    fn take_a_moment(&mut self, step: &Step, talk: &mut Vec<Value>) -> Told<()> {
        let Step::Kill(victims) = step else { return Ok(()) };
        if victims.iter().any(|who| matches!(who, Who::Broker(_))) {
            return Ok(());
        }
        let ends = self.sim.now() + Span::ms(250);
        while self.advance(ends) {
            talk.extend(self.listen());
            self.read_trace(&mut Awaited::default())?;
        }
        Ok(())
    }

    /// Whether that step starts members of a group.
    fn starts_members(&self, place: usize) -> bool {
        let next = self.steps.get(place).and_then(|step| step["do"].as_str());
        next.is_some_and(|what| matches!(step::read(what), Ok(Step::StartConsumers(_))))
    }

    /// Where a broker stands still or is cut off and the recording does not tell who was asked: one
    /// that neither is.
    fn one_that_answers(&self) -> Option<i32> {
        let own = self.brokers.iter().filter(|((_, seat), _)| *seat == Seat::Own);
        let power = |process: Option<ProcessId>| process.map(|process| self.sim.power(process));
        let is_well = |stage: &Stage| {
            let both = [power(Some(stage.process)), power(stage.proxy)];
            both == [Some(Power::Running); 2]
        };
        let is_on = |stage: &Stage| power(Some(stage.process)) != Some(Power::Off);
        let (well, ill): (Vec<_>, Vec<_>) =
            own.filter(|(_, stage)| is_on(stage)).partition(|(_, stage)| is_well(stage));
        let first = well.first().map(|((broker, _), _)| *broker);
        first.filter(|_| !ill.is_empty())
    }

    /// The brokers that run, in the order of their ids.
    fn alive(&self) -> Vec<Candidate> {
        let running = self.brokers.iter().filter(|((_, seat), stage)| {
            *seat == Seat::Own && self.sim.power(stage.process) != Power::Off
        });
        let candidate = |broker: i32| Candidate {
            id: BrokerId(broker),
            rack: self.racks.get(&broker).cloned().flatten().map(|rack| rack.to_string()),
        };
        running.map(|((broker, _), _)| candidate(*broker)).collect()
    }

    /// Lets the next event happen if it comes before `ends`; else moves the time there.
    fn advance(&mut self, ends: SimTime) -> bool {
        let next = self.sim.next_at();
        if let Some((until, proxy)) = self.held.first().copied()
            && until <= ends
            && next.is_none_or(|at| at >= until)
        {
            self.held.remove(0);
            self.sim.advance_to(Moment::before(until), &mut self.trace);
            self.act("thaw", move |i| i.thaw(proxy));
            return true;
        }
        match next {
            Some(at) if at < ends => {
                self.sim.step(&mut self.trace);
                true
            }
            _ => {
                self.sim.advance_to(Moment::before(ends), &mut self.trace);
                false
            }
        }
    }

    /// What the proxies have heard since.
    fn listen(&mut self) -> Vec<Value> {
        let mut rows = Vec::new();
        for (proxy, who, wire, read) in &mut self.wires {
            let Actor::Proxy(proxy) = self.sim.process(*proxy) else { continue };
            for (_, heard) in &proxy.heard()[*read..] {
                rows.extend(self.ledger.hear(who, wire, heard));
            }
            *read = proxy.heard().len();
        }
        rows
    }

    /// Takes what ZooKeeper has logged since; true if the step is over.
    fn read_log(&mut self, txns: &mut Vec<Value>, calendar: &mut Calendar) -> bool {
        let Actor::ZooKeeper(server) = self.sim.process(self.zookeeper) else {
            unreachable!("ZooKeeper plays itself");
        };
        let new: Vec<_> = server.disk().log.iter().skip(self.logged).cloned().collect();
        for txn in new {
            self.find_owner(txn.session);
            let mut txn = self.ledger.txn(&txn);
            unshift_ports(&mut txn);
            if calendar.is_later(&txn) {
                return true;
            }
            self.learn(&txn);
            txns.push(txn);
            self.logged += 1;
        }
        false
    }

    /// A session is in the log before its proxy hears of it; the server knows whose it is.
    fn find_owner(&mut self, session: zk::stat::SessionId) {
        let Actor::ZooKeeper(server) = self.sim.process(self.zookeeper) else { return };
        let connection = server.front().and_then(|front| front.connection_of(session));
        let Some(peer) = connection.map(|connection| connection.id.peer) else { return };
        if let Some((_, who, ..)) = self.wires.iter().find(|(proxy, ..)| *proxy == peer) {
            self.ledger.opened(session, who);
        }
    }

    /// Notes which topics are made, and their ids.
    fn learn(&mut self, txn: &Value) {
        let topic = txn["path"].as_str().and_then(|path| path.strip_prefix("/brokers/topics/"));
        if let Some(topic) = topic.filter(|topic| txn["op"] == "create" && !topic.contains('/')) {
            self.topics.insert(topic.to_owned());
            self.mask.learn(txn["data"].as_str().unwrap_or(""));
        }
    }

    /// Where `/controller` has gone, those stand still that are not to win.
    fn hold_losers(&mut self, place: usize, txns: &[Value]) {
        if !txns.iter().any(draws::frees_controller) {
            return;
        }
        let Some((winner, refused)) = draws::winner(&self.steps[place..]) else { return };
        let losers: Vec<(ProcessId, Span)> = self
            .brokers
            .iter()
            .filter(|((broker, seat), _)| *seat == Seat::Own && *broker != winner)
            .filter_map(|((broker, _), stage)| {
                let span = if refused.contains(broker) { Span::ms(3) } else { Span::ms(150) };
                stage.proxy.map(|proxy| (proxy, span))
            })
            .collect();
        losers.into_iter().for_each(|(proxy, span)| self.hold(proxy, span));
    }

    /// A generation was made: members that are to be too late for it stand still.
    pub(super) fn hold_late_members(&mut self) {
        let late: Vec<String> = self.late.keys().cloned().collect();
        for name in late {
            let left = self.late.get_mut(&name).filter(|left| **left > 0);
            let Some((left, stage)) = left.zip(self.clients.get(&name).copied()) else { continue };
            *left -= 1;
            self.hold(stage.process, Span::ms(150));
        }
    }

    fn hold(&mut self, process: ProcessId, span: Span) {
        if self.sim.power(process) == Power::Running {
            self.act("freeze", move |i| i.freeze(process));
            self.held.push((self.sim.now() + span, process));
            self.held.sort();
        }
    }
}

/// Whether a story is one of old consumers.
fn has_old_members(steps: &[Value]) -> bool {
    let starts = steps.iter().filter_map(|step| step::read(step["do"].as_str()?).ok());
    let old = |step: Step| match step {
        Step::StartConsumers(start) => start.topics.iter().any(|(_, streams)| streams.is_some()),
        _ => false,
    };
    starts.into_iter().any(old)
}

/// How far the port of another process with the same id is from the first's.
const SECOND_PORT_SHIFT: u16 = 10;

/// More events than any step takes.
const STORM: usize = 2_000_000;

/// The port while columns are laid out.
fn port_of(broker: i32) -> u16 {
    u16::try_from(9090 + broker).expect("ids are small") + PORT_SHIFT
}

/// Where a client finds its proxy.
pub(super) fn proxy_address(process: ProcessId) -> zk::ensemble::Address {
    zk::ensemble::Address { id: zk::ensemble::ServerId(1), process }
}

/// Ports as the recordings have them, in every payload.
fn unshift_ports(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(":190") => *text = ports(text),
        Value::Array(items) => items.iter_mut().for_each(unshift_ports),
        Value::Object(fields) => fields.values_mut().for_each(unshift_ports),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(what: &str, txns: &[&str]) -> Value {
        let txns: Vec<Value> = txns
            .iter()
            .map(|path| {
                json!({"by": "by hand", "op": "create", "path": path, "data": "x",
                    "ephemeral": false})
            })
            .collect();
        let same = json!({"txns_by_actor": true, "talk_by_actor": false, "output": true});
        json!({"do": what, "txns": txns, "talk": [], "same": same, "output": "ok"})
    }

    fn recorded(steps: Vec<Value>) -> Value {
        json!({"release": "3.9.1", "settings": {"zookeeper.tickTime": 500}, "steps": steps})
    }

    #[test]
    fn a_write_by_hand_is_told_with_its_session() {
        let story = recorded(vec![step("by hand: create /a x", &["/a"])]);
        let told = tell(&story).expect("it can be told");
        let ops: Vec<_> = told["steps"][0]["txns"].as_array().expect("a list").iter().collect();
        let names: Vec<_> = ops.iter().map(|txn| (&txn["by"], &txn["op"])).collect();
        let hand = json!("by hand");
        let expected = ["createSession", "create", "closeSession"].map(|op| json!(op));
        assert_eq!(names, expected.iter().map(|op| (&hand, op)).collect::<Vec<_>>());
        assert_eq!(told["steps"][0]["output"], "ok");
        assert_eq!(
            told["steps"][0]["talk"][0],
            json!(["by hand", "connect", null, "timeout 10000"])
        );
    }

    #[test]
    fn a_step_ends_before_what_belongs_to_a_later_one() {
        let steps = vec![step("by hand: create /a x", &[]), step("wait 1 s", &["/a"])];
        let told = tell(&recorded(steps)).expect("it can be told");
        let count = |place: usize| told["steps"][place]["txns"].as_array().map(Vec::len);
        assert_eq!((count(0), count(1)), (Some(1), Some(2)));
    }
}
