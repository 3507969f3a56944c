//! One seed of the swarm: a random set-up, work and faults, laws after every event; then all is
//! healed and the cluster must settle. Nothing here prints.
//!
//! *Invariant: a seed is one run for ever; shortening a run draws no lots.*

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rand_core::Rng;
use rand_pcg::Pcg32;
use zootrope::cluster::command::{self, Command};
use zootrope::cluster::laws::{Breach, Judge, Law, is_meant_to_run, settled, stuck};
use zootrope::cluster::{Cluster, Kind, Setup, Trace, assemble};
use zootrope::kafka::release::Release;
use zootrope::lab::{Recording, link};
use zootrope::sim::{EventId, Moment, Power, ProcessId, SimTime, Span};
use zootrope::zk::shell;

use super::FaultCounts;
use super::history::witness::Witness;

/// What one seed brought.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The first law that broke, if one did.
    pub broken: Option<Broken>,
    /// How often each kind of fault was tried, and by how many seeds each release was run; what
    /// never was is named with 0. And the laws that were broken as real clusters break them.
    pub faults: FaultCounts,
}

/// A broken law, with what is needed to see it again.
#[derive(Clone, Debug)]
pub struct Broken {
    pub law: String,
    /// The shortened recording as a scenario, ready to keep.
    pub scenario: String,
    /// The same as the page's address has it, behind the page's own.
    pub link: String,
}

/// How long a cluster is disturbed.
const TROUBLE: Span = Span::secs(90);
/// How long it may take to come to rest once nothing disturbs it.
const PEACE: Span = Span::secs(180);
/// How long somebody must have been stuck before an operator ends it.
const STUCK: Span = Span::secs(30);
/// After how many of them there is as much time again: one may come to light only after the other.
const RESCUES: u32 = 4;
/// How often shortening may run the seed again.
const ATTEMPTS: u32 = 60;

/// Runs one seed to its end.
pub fn run(seed: u64) -> Outcome {
    let mut dice = Dice(Pcg32::new(seed, 0x5eed));
    let setup = random_setup(seed, &mut dice);
    let mut faults = rows();
    faults.insert(release_row(setup.release), 1);
    let mut run = Run::new(&setup);
    let mut commands = Vec::new();
    let breach =
        disturb(&mut run, &mut dice, &mut commands, &mut faults).and_then(|()| run.settle()).err();
    for law in run.judge.broken_as_in_reality() {
        faults.insert(real_row(law, setup.release), 1);
    }
    let broken = breach.map(|breach| shorten(&setup, commands, breach));
    Outcome { broken, faults }
}

/// The rows of the table that every run must fill.
fn rows() -> FaultCounts {
    let faults = FAULTS.iter().map(|fault| fault.0.to_owned());
    let names = faults.chain(Release::ALL.iter().copied().map(release_row));
    names.map(|name| (name, 0)).collect()
}

fn release_row(release: Release) -> String {
    format!("release {release}")
}

fn real_row(law: &Law, release: Release) -> String {
    format!("as in reality: {} {} {release}", law.ids, law.name)
}

/// The dice of the seed: apart from those of the cluster.
struct Dice(Pcg32);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.0.next_u64() % end }
    }

    fn one<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        let index = self.below(all.len() as u64) as usize;
        all.get(index).cloned()
    }
}

fn random_setup(seed: u64, dice: &mut Dice) -> Setup {
    let release = dice.one(RELEASES).expect("the table has rows");
    let zookeeper = dice.one(&SERVERS).expect("the table has rows");
    let brokers = dice.below(4);
    let latency = 500 + dice.below(20_000);
    // With more replicas than brokers no group finds a coordinator, as in a real cluster.
    let replicas = brokers.clamp(1, 3);
    let topics = ["offsets.topic", "transaction.state.log"]
        .map(|topic| format!("{topic}.num.partitions=5 {topic}.replication.factor={replicas}"));
    // By the seed, not by the dice: so the other seeds draw what they drew before.
    let local = match seed % 8 {
        5 => " localSessionsEnabled=true localSessionsUpgradingEnabled=true",
        _ => "",
    };
    let text = format!(
        "setup release={release} seed={seed} zookeeper={zookeeper} brokers={brokers} \
        latency.max.us={latency} {} transaction.state.log.min.isr=1{local}",
        topics.join(" ")
    );
    let recording = Recording::parse(&text).expect("it is written as set-ups are");
    recording.setup
}

/// The newest comes as often as three of the others.
const RELEASES: &[Release] = &[
    Release::V0_7_2,
    Release::V0_8_2_2,
    Release::V0_10_2_2,
    Release::V1_1_1,
    Release::V2_3_1,
    Release::V2_8_2,
    Release::V3_9_1,
    Release::V3_9_1,
    Release::V3_9_1,
];

const SERVERS: [u64; 4] = [1, 3, 3, 5];

type Drawn = fn(&Cluster, &mut Dice) -> Option<String>;

/// Every kind of fault and of work, with how often it is drawn.
const FAULTS: &[(&str, u64, Drawn)] = &[
    ("kill", 8, |c, d| Some(format!("kill {}", name(c, d, Power::Running)?))),
    ("stop", 4, |c, d| Some(format!("stop {}", name(c, d, Power::Running)?))),
    ("start", 16, |c, d| Some(format!("start {}", name(c, d, Power::Off)?))),
    ("freeze", 8, |c, d| Some(format!("freeze {}", name(c, d, Power::Running)?))),
    ("thaw", 16, |c, d| Some(format!("thaw {}", name(c, d, Power::Frozen)?))),
    ("cut", 6, |c, d| {
        let (a, b) = pair(c, d)?;
        Some(format!("cut {a} {b}"))
    }),
    ("cut one way", 4, |c, d| {
        let (a, b) = pair(c, d)?;
        Some(format!("cut {a}>{b}"))
    }),
    ("heal", 8, |c, d| {
        let (a, b) = cut_pair(c, d)?;
        Some(format!("heal {a} {b}"))
    }),
    ("heal all", 4, |c, d| cut_pair(c, d).map(|_| "heal all".to_owned())),
    ("delay link", 6, |c, d| {
        let (a, b) = pair(c, d)?;
        Some(format!("delay link={a}>{b} by={}ms", 1 + d.below(5000)))
    }),
    ("delay message", 6, |c, d| {
        let message = message(c, d)?;
        Some(format!("delay message={message} by={}ms", 1 + d.below(5000)))
    }),
    ("drop", 6, |c, d| Some(format!("drop message={}", message(c, d)?))),
    ("slow disk", 2, |c, d| {
        let process = zk_server(c, d)?;
        Some(format!("disk {process} slower-by={}ms", d.below(200)))
    }),
    ("disk full", 3, |c, d| Some(format!("disk {} full", zk_server(c, d)?))),
    ("disk free", 3, |c, d| Some(format!("disk {} free", zk_server(c, d)?))),
    ("clock drift", 3, |c, d| {
        let process = name(c, d, Power::Running)?;
        Some(format!("clock {process} rate-percent={}", 80 + d.below(60)))
    }),
    ("work: add client", 6, |c, d| {
        let number = c.processes().filter(|(_, name, _)| name.starts_with('z')).count();
        let few = number < 8;
        few.then(|| format!("add client z{} timeout={}s", number, 4 + d.below(20)))
    }),
    ("work: ask", 30, ask),
    ("work: topic", 4, |c, d| {
        let brokers = brokers(c).max(1);
        let (partitions, replicas) = (1 + d.below(4), 1 + d.below(brokers.min(3)));
        let topic = d.one(&["a", "b", "c"])?;
        let fine = brokers > 0 && !release(c).brokers_are_alone();
        fine.then(|| format!("topic {topic} partitions={partitions} replicas={replicas}"))
    }),
    ("work: send", 30, |c, d| {
        let producer = of_kind(c, d, Kind::Producer)?;
        let topic = d.one(&["a", "b", "c"])?;
        Some(format!("send {producer} topic={topic} key=k{} value=v{}", d.below(5), d.below(1000)))
    }),
    ("work: add producer", 4, |c, d| {
        let number = count(c, Kind::Producer);
        let steady = if d.below(2) == 0 { " topic=a every=500ms keys=3" } else { "" };
        let way = if release(c).brokers_are_alone() { d.one(&WAYS)? } else { "" };
        let few = number < 3 && brokers(c) > 0;
        few.then(|| format!("add producer p{number}{steady}{way}"))
    }),
    ("work: add transactional", 2, |c, d| {
        let number = count(c, Kind::Producer);
        let fine = number < 3 && brokers(c) > 0 && release(c).has_transactions();
        fine.then(|| format!("add producer p{number} transactional.id=t{}", d.below(2)))
    }),
    ("work: transact", 12, |c, d| {
        let producer = of_kind(c, d, Kind::Producer)?;
        let settings = c.process(c.find(&producer)?).producer()?.settings();
        settings.transactional_id.as_ref()?;
        Some(format!("let {producer} {}", d.one(&["init", "begin", "begin", "commit", "abort"])?))
    }),
    ("work: add consumer", 4, |c, d| {
        let few = consumers(c) < 4 && brokers(c) > 0 && release(c).has_new_consumers();
        let isolation = d.one(&["", " isolation.level=read_committed"])?;
        let isolation = if release(c).has_transactions() { isolation } else { "" };
        let (number, group) = (consumers(c), d.below(2));
        few.then(|| format!("add consumer c{number} group=g{group} topics=a,b{isolation}"))
    }),
    ("work: add old consumer", 4, |c, d| {
        let few = consumers(c) < 4 && brokers(c) > 0 && release(c).has_old_consumers();
        let setting = if release(c).brokers_are_alone() { "zk" } else { "zookeeper" };
        let (number, group) = (consumers(c), d.below(2));
        let meets = format!("{setting}.connect={}", servers(c));
        few.then(|| format!("add consumer c{number} group=o{group} topics=a,b {meets}"))
    }),
    ("work: add broker", 1, |c, _| {
        let few = brokers(c) > 0 && brokers(c) < 5;
        few.then(|| format!("add broker {}", 10 + brokers(c)))
    }),
];

/// How a producer finds brokers that are alone.
const WAYS: [&str; 3] =
    [" zk.connect=zk1:2181", " broker.list=0:vip:9092", " broker.list=1:broker1:9092"];

/// The release of the brokers, where there are some.
fn release(cluster: &Cluster) -> Release {
    let brokers = cluster.processes().find_map(|(_, _, process)| process.broker_settings());
    brokers.map_or(Release::V3_9_1, |settings| settings.release)
}

fn consumers(cluster: &Cluster) -> u64 {
    count(cluster, Kind::Consumer) + count(cluster, Kind::OldConsumer)
}

/// A connection string with every server.
fn servers(cluster: &Cluster) -> String {
    let servers = cluster.processes().filter(|(_, _, process)| process.zk().is_some());
    let names: Vec<String> = servers.map(|(_, name, _)| format!("{name}:2181")).collect();
    names.join(",")
}

fn name(cluster: &Cluster, dice: &mut Dice, power: Power) -> Option<String> {
    let meant = cluster.processes().filter(|(_, _, process)| is_meant_to_run(process));
    let names = meant.filter(|(id, _, _)| cluster.power(*id) == power);
    dice.one(&names.map(|(_, name, _)| name.to_owned()).collect::<Vec<_>>())
}

/// A server, running or not.
fn zk_server(cluster: &Cluster, dice: &mut Dice) -> Option<String> {
    let servers = cluster.processes().filter(|(_, _, process)| process.kind() == Kind::Zk);
    dice.one(&servers.map(|(_, name, _)| name.to_owned()).collect::<Vec<_>>())
}

fn count(cluster: &Cluster, kind: Kind) -> u64 {
    cluster.processes().filter(|(_, _, process)| process.kind() == kind).count() as u64
}

fn brokers(cluster: &Cluster) -> u64 {
    count(cluster, Kind::Broker)
}

/// A process of this kind that runs.
fn of_kind(cluster: &Cluster, dice: &mut Dice, kind: Kind) -> Option<String> {
    let running = cluster
        .processes()
        .filter(|(id, _, process)| process.kind() == kind && cluster.power(*id) == Power::Running);
    dice.one(&running.map(|(_, name, _)| name.to_owned()).collect::<Vec<_>>())
}

fn pair(cluster: &Cluster, dice: &mut Dice) -> Option<(String, String)> {
    let names: Vec<_> = cluster.processes().map(|(_, name, _)| name.to_owned()).collect();
    let (a, b) = (dice.one(&names)?, dice.one(&names)?);
    (a != b).then_some((a, b))
}

fn cut_pair(cluster: &Cluster, dice: &mut Dice) -> Option<(String, String)> {
    let ids: Vec<ProcessId> = cluster.processes().map(|(id, _, _)| id).collect();
    let pairs = ids.iter().flat_map(|a| ids.iter().map(move |b| (*a, *b)));
    let (a, b) = dice.one(&pairs.filter(|(a, b)| cluster.is_cut(*a, *b)).collect::<Vec<_>>())?;
    Some((cluster.name(a).to_string(), cluster.name(b).to_string()))
}

fn message(cluster: &Cluster, dice: &mut Dice) -> Option<u64> {
    let mut flights: Vec<_> = cluster.flights().map(|flight| flight.id.0).collect();
    flights.sort_unstable();
    dice.one(&flights)
}

fn ask(cluster: &Cluster, dice: &mut Dice) -> Option<String> {
    let client = of_kind(cluster, dice, Kind::Shell)?;
    let path = dice.one(&["/a", "/a/b", "/a/c", "/d"])?;
    let asked = match dice.below(12) {
        0 => format!("create {path} x"),
        1 => format!("create -e {path} x"),
        2 => format!("create -s {path}/n- x"),
        3 => format!("create -e -s {path}/e- x"),
        4 => format!("set {path} {}", dice.below(1000)),
        5 => format!("delete {path}"),
        6 => format!("get -w {path}"),
        7 => format!("ls -w {path}"),
        8 => format!("set -v {} {path} {}", dice.below(3), dice.below(1000)),
        9 => format!("delete -v {} {path}", dice.below(3)),
        10 => format!("stat {path}"),
        _ => format!("sync {path}"),
    };
    Some(format!("ask {client} {asked}"))
}

/// Works and disturbs, and notes what was done and when.
fn disturb(
    run: &mut Run,
    dice: &mut Dice,
    commands: &mut Vec<(Moment, Command)>,
    faults: &mut FaultCounts,
) -> Result<(), Breach> {
    let end = SimTime::ZERO + TROUBLE;
    let total: u64 = FAULTS.iter().map(|fault| fault.1).sum();
    let pace = 20 + dice.below(600);
    loop {
        let at = run.cluster.now() + Span::ms(1 + dice.below(2 * pace));
        if at > end {
            return Ok(());
        }
        run.advance(Moment::after(at))?;
        let mut lot = dice.below(total);
        let drawn = FAULTS.iter().find(|fault| {
            let hit = lot < fault.1;
            lot = lot.saturating_sub(fault.1);
            hit
        });
        let (kind, _, draw) = drawn.expect("the lot is below the sum");
        let Some(text) = draw(&run.cluster, dice) else { continue };
        let command = Command::parse(1, &text).expect("it is written as commands are");
        let moment = run.cluster.moment();
        if run.give(&command)? {
            *faults.entry((*kind).to_owned()).or_default() += 1;
            commands.push((moment, command));
        }
    }
}

/// A cluster under the eyes of the law.
struct Run {
    cluster: Cluster,
    trace: Trace,
    judge: Judge,
    witness: Witness,
    rested: SimTime,
    /// Who has been stuck since when.
    suspects: (Vec<ProcessId>, SimTime),
    /// Whom an operator has ended, to be started one after the other.
    ended: Vec<ProcessId>,
}

impl Run {
    fn new(setup: &Setup) -> Run {
        let mut trace = Trace::default();
        let cluster = assemble(setup, &mut trace);
        let (judge, witness) = (Judge::of(setup.release), Witness::default());
        let suspects = (Vec::new(), SimTime::ZERO);
        let rested = SimTime::ZERO;
        Run { cluster, trace, judge, witness, rested, suspects, ended: Vec::new() }
    }

    fn advance(&mut self, moment: Moment) -> Result<(), Breach> {
        while self.cluster.step_before(moment, &mut self.trace).is_some() {
            self.judge_last()?;
        }
        self.cluster.advance_to(moment, &mut self.trace);
        if self.cluster.now() >= self.rested + Span::secs(1) {
            self.rested = self.cluster.now();
            self.judge.rest(&self.cluster)?;
            self.witness.look_at_logs(&self.cluster);
        }
        Ok(())
    }

    fn judge_last(&mut self) -> Result<(), Breach> {
        let place = self.trace.len() - 1;
        let last = self.trace.get(place).expect("a record has just been made");
        self.judge.record(&last, &self.cluster, &self.trace)?;
        let seen = self.witness.record(&last, place, &self.cluster);
        seen.map_err(|what| history(Some(last.id), what))
    }

    /// Whether the command could be done.
    fn give(&mut self, command: &Command) -> Result<bool, Breach> {
        let place = self.trace.len();
        if command::apply(command, &mut self.cluster, &mut self.trace).is_err() {
            return Ok(false);
        }
        if let Command::Ask { process, words } = command {
            let shell = self.cluster.find(&process.0).expect("it was asked");
            let op = shell::parse(words).expect("it was read");
            self.witness.asked(shell, &process.0, op, place);
        }
        self.judge_last().map(|()| true)
    }

    /// Heals everything, waits, and demands rest. Half-way an operator looks after what is stuck.
    fn settle(&mut self) -> Result<(), Breach> {
        self.heal()?;
        let mut end = self.cluster.now() + PEACE;
        let half = self.cluster.now() + PEACE.divided_by(2);
        let mut rescues = RESCUES;
        while self.cluster.now() < end {
            if self.cluster.now() >= half && self.end_what_is_stuck()? && rescues > 0 {
                rescues -= 1;
                end = end.max(self.cluster.now() + PEACE.divided_by(2));
            }
            self.start_what_is_off()?;
            let at = self.cluster.now() + Span::secs(5);
            self.advance(Moment::after(at))?;
        }
        self.judge.rest(&self.cluster)?;
        let rest = settled(&self.cluster);
        rest.map_err(|what| Breach { law: "settles", after: None, what })?;
        let witness = std::mem::take(&mut self.witness);
        witness.judge(&self.cluster).map_err(|what| history(None, what))
    }

    fn heal(&mut self) -> Result<(), Breach> {
        self.give(&Command::HealAll)?;
        let names: Vec<_> = self.cluster.processes().map(|(_, name, _)| name.to_owned()).collect();
        for name in names {
            let cures = ["thaw", "disk slower-by=0s", "disk free", "clock rate-percent=100"];
            for cure in cures {
                let (verb, rest) = cure.split_once(' ').unwrap_or((cure, ""));
                let text = format!("{verb} {name} {rest}").trim_end().to_owned();
                self.give(&Command::parse(1, &text).expect("it is written as commands are"))?;
            }
        }
        Ok(())
    }

    /// Who has been stuck for long is ended: what passes by itself must do so. Whether anybody was.
    fn end_what_is_stuck(&mut self) -> Result<bool, Breach> {
        let (now, found) = (self.cluster.now(), stuck(&self.cluster));
        if found != self.suspects.0 {
            self.suspects = (found, now);
        }
        if self.suspects.0.is_empty() || now < self.suspects.1 + STUCK {
            return Ok(false);
        }
        self.ended = std::mem::take(&mut self.suspects.0);
        for process in self.ended.clone() {
            let kill = Command::parse(1, &format!("kill {}", self.cluster.name(process)));
            self.give(&kill.expect("it is written as commands are"))?;
        }
        Ok(true)
    }

    fn start_what_is_off(&mut self) -> Result<(), Breach> {
        let meant = self.cluster.processes().filter(|(_, _, process)| is_meant_to_run(process));
        let later = if self.ended.is_empty() { Vec::new() } else { self.ended.split_off(1) };
        self.ended = later;
        let off = meant.filter(|(id, _, _)| self.cluster.power(*id) == Power::Off);
        let now = off.filter(|(id, _, _)| !self.ended.contains(id));
        let names: Vec<_> = now.map(|(_, name, _)| name.to_owned()).collect();
        for name in names {
            let start = Command::parse(1, &format!("start {name}"));
            self.give(&start.expect("it is written as commands are"))?;
        }
        Ok(())
    }
}

/// What clients saw cannot have come so.
fn history(after: Option<EventId>, what: String) -> Breach {
    Breach { law: "histories-are-linearizable", after, what }
}

/// Plays a list of commands as it stands, and heals.
fn replay(setup: &Setup, commands: &[(Moment, Command)]) -> Result<(), Breach> {
    let mut run = Run::new(setup);
    for (moment, command) in commands {
        run.advance(*moment)?;
        run.give(command)?;
    }
    run.advance(Moment::after(SimTime::ZERO + TROUBLE))?;
    run.settle()
}

/// Leaves out commands, many at first, as long as the same law is still broken.
fn shorten(setup: &Setup, mut commands: Vec<(Moment, Command)>, breach: Breach) -> Broken {
    let mut breach = breach;
    let mut attempts = ATTEMPTS;
    let mut size = commands.len().div_ceil(2).max(1);
    while attempts > 0 {
        let mut start = 0;
        while start < commands.len() && attempts > 0 {
            let mut fewer = commands.clone();
            fewer.drain(start..(start + size).min(commands.len()));
            attempts -= 1;
            match replay(setup, &fewer) {
                Err(found) if found.law == breach.law => (commands, breach) = (fewer, found),
                _ => start += size,
            }
        }
        if size == 1 {
            break;
        }
        size = size.div_ceil(2);
    }
    let until = Moment::before(SimTime::ZERO + TROUBLE);
    let recording = Recording { commands, until, ..Recording::new(setup.clone()) };
    let what = breach.what.replace('\n', "\n# ");
    let scenario = format!("# {}: {what}\n{recording}", breach.law);
    Broken { law: breach.law.to_owned(), scenario, link: link(&recording) }
}

/// A recording as a link carries it.
pub fn link(recording: &Recording) -> String {
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
    packed.write_all(recording.to_string().as_bytes()).expect("a vector takes everything");
    format!("#{}", link::fragment(&packed.finish().expect("a vector takes everything")))
}
