//! Kafka's clients by command: consumers and producers are added, told what to do, and given
//! records to send.
//!
//! Not here: what they do then (`kafka::consumer`, `kafka::producer`).
//!
//! *Invariant:* a setting is checked when the command is read, so a command that was read is right.

use super::command::{Command, Refusal, known};
use super::notation::{Line, Quoted, Trouble, Word};
use super::work;
use super::{AnyProcess, Cluster};
use crate::kafka::consumer::Consumer;
use crate::kafka::consumer::words::{ConsumerRequest, ConsumerSettings};
use crate::kafka::id::{BrokerId, PARTITIONS, TopicPartition};
use crate::kafka::lone::{self, LoneProducerSettings};
use crate::kafka::old_consumer::OldConsumer;
use crate::kafka::old_consumer::words::{OldSettings, Wanted};
use crate::kafka::producer::Producer;
use crate::kafka::producer::words::{
    Act as Transact, Delivery, ProducerRequest, ProducerSettings, Steady, ToSend,
};
use crate::kafka::release::Release;
use crate::kafka::tools::console_producer::{self, ConsoleProducer};
use crate::kafka::tools::netcat::{self, Netcat};
use crate::kafka::tools::{Bootstrap, Printed, Tool, Usage, dump_log};
use crate::kafka::words::Request;
use crate::sim::{ProcessId, ProcessName, Span};
use crate::zk::ensemble::Address;
use std::fmt;
use std::sync::Arc;

/// Settings by their real names, as a command gives them.
type Pairs = Arc<[(Arc<str>, Arc<str>)]>;

/// A consumer to be added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NewConsumer {
    /// Its name, which is its `client.id` too.
    pub process: ProcessName,
    group: Arc<str>,
    topics: Arc<[Arc<str>]>,
    /// Where its group coordinates, if that is in ZooKeeper.
    zookeeper_connect: Option<Arc<str>>,
    settings: Pairs,
}

/// A producer to be added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NewProducer {
    /// Its name, which is its `client.id` too.
    pub process: ProcessName,
    steady: Option<Steady>,
    settings: Pairs,
}

/// What a client's application can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Commit what was read, or what was sent in a transaction.
    Commit,
    /// Close in order, and end.
    Close,
    /// End without a word.
    Exit,
    /// Poll no more.
    Stall,
    /// Poll again.
    Go,
    /// Send nothing more by itself.
    Pause,
    /// Get ready for transactions.
    Init,
    /// Begin a transaction; `Commit` ends it.
    Begin,
    /// Take back what was sent in the transaction.
    Abort,
}

const ACTS: &[(&str, Act)] = &[
    ("commit", Act::Commit),
    ("close", Act::Close),
    ("exit", Act::Exit),
    ("stall", Act::Stall),
    ("go", Act::Go),
    ("pause", Act::Pause),
    ("init", Act::Init),
    ("begin", Act::Begin),
    ("abort", Act::Abort),
];

impl Act {
    fn name(self) -> &'static str {
        let row = ACTS.iter().find(|(_, act)| *act == self);
        row.expect("every act is in the table").0
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads what is told.
pub(super) fn act(line: &mut Line) -> Result<Act, Trouble> {
    line.word("commit, close, exit, stall, go, pause, init, begin or abort")?.choice(ACTS)
}

impl NewConsumer {
    /// Reads what follows the name.
    pub(super) fn parse(process: ProcessName, line: &mut Line) -> Result<NewConsumer, Trouble> {
        let group = line.must("group", "GROUP")?.text.into();
        let topics = line.must("topics", "TOPIC,TOPIC…")?;
        let connect = line.value(CONNECT).or_else(|| line.value("zk.connect"));
        let zookeeper_connect = match connect {
            Some(word) if hosts(&word.text).all(|host| host.is_some()) => Some(word.text.into()),
            Some(word) => return Err(word.is_not("servers like zk1:2181,zk2:2181")),
            None => None,
        };
        let names = topics.text.split(',').map(Arc::from).collect();
        let settings = Arc::from([]);
        let mut new = NewConsumer { process, group, topics: names, zookeeper_connect, settings };
        if new.zookeeper_connect.is_some() {
            let trial = new.to_old_settings(Release::V0_8_2_2);
            let mut trial = trial.ok_or_else(|| topics.is_not("topics like orders or orders:2"))?;
            new.settings = pairs(line, |name, value| trial.set(name, value))?;
            return Ok(new);
        }
        let mut trial = new.to_settings(Arc::from([ProcessId(0)]), Release::V3_9_1);
        new.settings = pairs(line, |name, value| trial.set(name, value))?;
        Ok(new)
    }

    /// The settings of a member that coordinates in ZooKeeper, which says of each topic how many
    /// streams it wants of it; `None` if that is no number.
    fn to_old_settings(&self, release: Release) -> Option<OldSettings> {
        let mut wanted = Vec::new();
        for topic in &*self.topics {
            let (name, streams) = topic.split_once(':').unwrap_or((topic, "1"));
            wanted.push((
                name.into(),
                streams.parse().ok().filter(|streams| (1..=MOST_STREAMS).contains(streams))?,
            ));
        }
        let mut settings = OldSettings::new(&self.group, &self.process.0, Wanted::Topics(wanted));
        settings.host = Some(self.process.0.clone());
        let mut settings = settings.of_release(release);
        for (name, value) in &*self.settings {
            settings.set(name, value).expect("checked when it was read");
        }
        Some(settings)
    }

    fn to_settings(&self, bootstrap: Arc<[ProcessId]>, release: Release) -> ConsumerSettings {
        let topics: Vec<&str> = self.topics.iter().map(|topic| &**topic).collect();
        let settings = ConsumerSettings::new(&self.process.0, &self.group, &topics, bootstrap);
        let mut settings = settings.of_release(release);
        for (name, value) in &*self.settings {
            settings.set(name, value).expect("checked when it was read");
        }
        settings
    }
}

/// Each stream is a thread: more of one topic are a slip of the pen.
const MOST_STREAMS: i32 = 1000;

/// Nobody looks at more.
const MOST_KEYS: u32 = 1_000_000;

/// What sets a member that coordinates in ZooKeeper apart.
const CONNECT: &str = "zookeeper.connect";

/// The hosts of a connection string; `None` for what is none.
fn hosts(text: &str) -> impl Iterator<Item = Option<&str>> {
    let host = |one: &'_ str| one.strip_suffix(":2181").unwrap_or(one).len();
    text.split(',').map(move |one| Some(&one[..host(one)]).filter(|host| !host.contains(':')))
}

impl NewProducer {
    /// Reads what follows the name.
    pub(super) fn parse(process: ProcessName, line: &mut Line) -> Result<NewProducer, Trouble> {
        let steady = match line.value("topic") {
            Some(topic) => {
                let every = line.value("every").map_or(Ok(Span::secs(1)), |word| word.pause())?;
                let keys = line.value("keys").map_or(Ok(0), |word| word.within(0, MOST_KEYS))?;
                Some(Steady { topic: topic.text.into(), every, keys })
            }
            None => None,
        };
        let mut trial = ProducerSettings::new(&process.0, [ProcessId(0)]);
        let mut lone = LoneProducerSettings::new(&process.0);
        let settings =
            pairs(line, |name, value| trial.set(name, value).or_else(|| lone.set(name, value)))?;
        Ok(NewProducer { process, steady, settings })
    }

    fn to_settings(&self, known: Bootstrap) -> Result<ProducerSettings, Refusal> {
        let settings = ProducerSettings::new(&self.process.0, known.processes);
        let mut settings = settings.of_release(known.release);
        settings.steady = self.steady.clone();
        self.set_all(known.release, |name, value| settings.set(name, value))?;
        let settled = settings.settle_delivery(Delivery::among(&self.settings));
        settled.map_err(Refusal::Settings)?;
        Ok(settings)
    }

    /// The settings of one that sends to brokers without replicas.
    fn to_lone_settings(
        &self,
        known: &Bootstrap,
        cluster: &Cluster,
    ) -> Result<LoneProducerSettings, Refusal> {
        let mut settings = LoneProducerSettings::new(&self.process.0);
        settings.steady = self.steady.clone();
        settings.directory = work::known_brokers(cluster);
        settings.zookeeper_connect = known.ensemble.clone();
        self.set_all(known.release, |name, value| settings.set(name, value))?;
        Ok(settings)
    }

    /// A setting may be one that producers of another release have.
    fn set_all(
        &self,
        release: Release,
        mut set: impl FnMut(&str, &str) -> Option<()>,
    ) -> Result<(), Refusal> {
        let mut unknown = self.settings.iter().filter(|(name, value)| set(name, value).is_none());
        unknown.next().map_or(Ok(()), |(name, _)| Err(Refusal::NoSetting(name.clone(), release)))
    }
}

/// Reads all settings that follow; `set` says whether one is right.
fn pairs(line: &mut Line, mut set: impl FnMut(&str, &str) -> Option<()>) -> Result<Pairs, Trouble> {
    let mut pairs = Vec::new();
    while let Some((name, word)) = line.pair() {
        set(&name, &word.text).ok_or_else(|| match name.ends_with(".ms") {
            true => word.is_not(format!("{name} as milliseconds, no pause shorter than 1")),
            false => word.is_not(format!("{name} as a setting that it has, in its limits")),
        })?;
        pairs.push((name.into(), word.text.into()));
    }
    Ok(pairs.into())
}

/// Reads a record to send.
pub(super) fn record(line: &mut Line) -> Result<ToSend, Trouble> {
    let text = |word: Word| -> Arc<str> { word.text.into() };
    let topic = line.must("topic", "TOPIC")?.text.into();
    let partition = match line.value("partition") {
        Some(word) => Some(word.within(0, PARTITIONS - 1)?),
        None => None,
    };
    let (key, value) = (line.value("key").map(text), line.value("value").map(text));
    Ok(ToSend { topic, partition, key, value })
}

/// As a script writes a record to send.
pub(super) fn print_record(record: &ToSend) -> String {
    let mut printed = format!("topic={}", record.topic);
    if let Some(partition) = record.partition {
        printed += &format!(" partition={partition}");
    }
    for (name, text) in [("key", &record.key), ("value", &record.value)] {
        if let Some(text) = text {
            printed += &format!(" {name}={}", Quoted(text));
        }
    }
    printed
}

/// As a script writes it, after the verb.
impl fmt::Display for NewConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NewConsumer { process, group, topics, zookeeper_connect, settings } = self;
        write!(f, "consumer {process} group={group} topics={}", topics.join(","))?;
        if let Some(servers) = zookeeper_connect {
            write!(f, " {CONNECT}={servers}")?;
        }
        settings.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// As a script writes it, after the verb.
impl fmt::Display for NewProducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "producer {}", self.process)?;
        if let Some(Steady { topic, every, keys }) = &self.steady {
            write!(f, " topic={topic} every={every} keys={keys}")?;
        }
        self.settings.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// The process of a new consumer.
pub(super) fn consumer(new: &NewConsumer, cluster: &Cluster) -> Result<AnyProcess, Refusal> {
    let Bootstrap { processes, release, ensemble, .. } = bootstrap(cluster)?;
    if let Some(servers) = &new.zookeeper_connect {
        return old_consumer(new, servers, (release, &ensemble), cluster);
    }
    if !release.has_new_consumers() {
        return Err(Refusal::NoNewConsumer(release));
    }
    let settings = new.to_settings(processes, release);
    Ok(AnyProcess::Consumer(Box::new(Consumer::new(settings))))
}

/// The process of a new member that coordinates in ZooKeeper.
fn old_consumer(
    new: &NewConsumer,
    servers: &str,
    (release, ensemble): (Release, &[Address]),
    cluster: &Cluster,
) -> Result<AnyProcess, Refusal> {
    if !release.has_old_consumers() {
        return Err(Refusal::NoOldConsumer(release));
    }
    let mut known = Vec::new();
    for host in hosts(servers).flatten() {
        let its = ensemble.iter().find(|server| cluster.name(server.process).as_ref() == host);
        known.push(*its.ok_or_else(|| Refusal::NoServer(host.into()))?);
    }
    let mut settings = new.to_old_settings(release).expect("checked when it was read");
    settings.zookeeper_connect = known.into();
    settings.directory = work::known_brokers(cluster);
    Ok(AnyProcess::OldConsumer(Box::new(OldConsumer::new(settings))))
}

/// The process of a new producer.
pub(super) fn producer(new: &NewProducer, cluster: &Cluster) -> Result<AnyProcess, Refusal> {
    let known = bootstrap(cluster)?;
    if known.release.brokers_are_alone() {
        let settings = new.to_lone_settings(&known, cluster)?;
        let producer = lone::Producer::new(settings, known.release);
        return Ok(AnyProcess::LoneProducer(Box::new(producer)));
    }
    Ok(AnyProcess::Producer(Box::new(Producer::new(new.to_settings(known)?))))
}

fn bootstrap(cluster: &Cluster) -> Result<Bootstrap, Refusal> {
    let known = super::any_process::bootstrap(cluster);
    if known.processes.is_empty() { Err(Refusal::NoBroker) } else { Ok(known) }
}

/// Reads the words of a tool's command line, options and all.
pub(super) fn command_line(tool: &'static str, line: &mut Line) -> Result<Command, Trouble> {
    let (typed, words) = (line.clone(), line.as_typed());
    let trial = Bootstrap { processes: [ProcessId(0)].into(), ..Bootstrap::nowhere() };
    let read = match tool {
        console_producer::NAME => ConsoleProducer::read(&words).map(drop),
        dump_log::NAME => dump_log::read(&words).map(drop),
        netcat::NAME => netcat::read(&words).map(drop),
        _ => Tool::read(tool, &words, trial).map(drop),
    };
    read.map_err(|Usage { part, expected }| match &part {
        Some(part) => typed.trouble_at(part, &expected),
        None => typed.missing(&expected),
    })?;
    Ok(Command::Type { tool, words: words.into_iter().map(Arc::from).collect() })
}

/// The process that runs a tool.
pub(super) fn tool(
    name: &str,
    words: &[Arc<str>],
    cluster: &Cluster,
) -> Result<AnyProcess, Refusal> {
    let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
    let right = "checked when it was read";
    if name == netcat::NAME {
        let (word, host) = netcat::read(&words).expect(right);
        let server = cluster.find(&host).filter(|id| cluster.process(*id).zk().is_some());
        let server = server.ok_or_else(|| Refusal::NoServer(host.into()))?;
        let tool = Tool::of_netcat(&words, Netcat { server, word: word.into() });
        return Ok(AnyProcess::Tool(Box::new(tool)));
    }
    let bootstrap = bootstrap(cluster)?;
    if bootstrap.release.brokers_are_alone() {
        return Err(Refusal::NoTool(name.into(), bootstrap.release));
    }
    let tool = match name {
        console_producer::NAME => {
            if let Some(said) = ConsoleProducer::refused(&words, bootstrap.release) {
                let tool = Tool::of_text(name, &words, bootstrap, Printed::failed(said));
                return Ok(AnyProcess::Tool(Box::new(tool)));
            }
            let read = ConsoleProducer::read(&words).expect(right);
            let typed = words.into_iter().map(Arc::from).collect();
            let settings = read.settings(&bootstrap).map_err(Refusal::Settings)?;
            let settings = ProducerSettings { typed: Some(typed), ..settings };
            return Ok(AnyProcess::Producer(Box::new(Producer::new(settings))));
        }
        dump_log::NAME => {
            let text = dumped(dump_log::read(&words).expect(right), cluster)?;
            Tool::of_text(name, &words, bootstrap, Printed::done(text))
        }
        _ => Tool::read(name, &words, bootstrap).expect(right),
    };
    Ok(AnyProcess::Tool(Box::new(tool)))
}

/// What the log of a broker holds now.
fn dumped(
    (id, partition, records): (BrokerId, TopicPartition, dump_log::Records),
    cluster: &Cluster,
) -> Result<String, Refusal> {
    let name = ProcessName(format!("broker{id}").into());
    let process = cluster.process(known(cluster, &name)?);
    let broker = process.broker();
    let release = broker.map_or(Release::V3_9_1, |broker| broker.settings().release);
    let running = broker.and_then(|broker| broker.running());
    let running = running.ok_or_else(|| Refusal::Off(name.clone()))?;
    let replica = running.replicas().partition(&partition);
    let replica = replica.ok_or_else(|| Refusal::NoLog(name, partition.to_string().into()))?;
    let batches: Vec<_> = replica.log.batches().collect();
    Ok(dump_log::dump(id, &partition, &batches, records, release))
}

/// A name for the process of a tool that nobody has yet.
pub(super) fn tool_name(tool: &str, cluster: &Cluster) -> ProcessName {
    let tool = if tool == netcat::NAME { netcat::PROGRAM } else { tool };
    let names = std::iter::once(tool.to_string()).chain((2..).map(|n| format!("{tool}-{n}")));
    let mut free = names.filter(|name| cluster.find(name).is_none());
    ProcessName(free.next().expect("numbers do not end").into())
}

/// What is asked of a process when it is told something, if it understands that.
pub(super) fn request(process: &AnyProcess, act: Act) -> Option<Request> {
    match (process, act) {
        (AnyProcess::Consumer(_) | AnyProcess::OldConsumer(_), act) => {
            ConsumerRequest::by_name(act.name()).map(Request::from)
        }
        (AnyProcess::Producer(_) | AnyProcess::LoneProducer(_), Act::Pause) => {
            Some(ProducerRequest::Pause.into())
        }
        (AnyProcess::Producer(_) | AnyProcess::LoneProducer(_), Act::Close) => {
            Some(ProducerRequest::Close.into())
        }
        (AnyProcess::Producer(_), act) => {
            let transact = match act {
                Act::Init => Transact::Init,
                Act::Begin => Transact::Begin,
                Act::Commit => Transact::Commit,
                Act::Abort => Transact::Abort,
                _ => return None,
            };
            Some(ProducerRequest::Transact(transact).into())
        }
        _ => None,
    }
}
