//! What operators do with a cluster: topics and more brokers.
//!
//! Applications and command line tools are in `clients`.
//!
//! *Invariant:* a tool is a process and does what it does by messages; nothing here reaches into a
//! broker.

use super::any_process::broker;
use super::clients;
use super::command::{Act, Command, Refusal, Row, add_process, known, process, start};
use super::notation::{Line, Quoted, Trouble, Word};
use super::setup::broker_setting;
use super::{AnyProcess, Cluster};
use crate::kafka::id::{BROKERS, BrokerId, PARTITIONS};
use crate::kafka::settings::{Directory, Settings};
use crate::kafka::words::Request;
use crate::sim::{ProcessId, ProcessName};
use std::fmt;
use std::sync::Arc;

/// What a broker's file says, by real names; an empty value takes a setting out.
pub type Pairs = Arc<[(Arc<str>, Arc<str>)]>;

/// Something to be done with a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is told by its row")]
pub enum Work {
    AddBroker { id: i32, file: Pairs },
    StartWith { process: ProcessName, file: Pairs },
    Topic { topic: Arc<str>, partitions: u16, replicas: Replicas },
}

/// Where the replicas of a new topic lie.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Replicas {
    /// So many, where the cluster likes.
    Factor(u16),
    /// Each partition's brokers.
    Placed(Arc<[Arc<[u16]>]>),
}

/// What makes topics.
const TOPICS: &str = "kafka-topics";

/// The row of topics.
pub(super) const TOPIC: Row = Row {
    name: "topic",
    usage: "topic NAME [partitions=N] [replicas=N | replicas=ID,ID…/ID,ID…]",
    example: "topic orders partitions=3 replicas=3",
    parse: topic,
    print: |command| match command {
        Command::Work(Work::Topic { topic, partitions, replicas }) => {
            Some(format!("{} partitions={partitions} replicas={replicas}", Quoted(topic)))
        }
        _ => None,
    },
};

/// Reads what follows `add broker`.
pub(super) fn add_broker(line: &mut Line) -> Result<Command, Trouble> {
    let id = line.word("the id of a broker")?.within(0, BROKERS - 1)?;
    Ok(Command::Work(Work::AddBroker { id, file: file(line)? }))
}

/// Reads what a broker's file is to say.
fn file(line: &mut Line) -> Result<Pairs, Trouble> {
    let mut pairs = Vec::new();
    while let Some((name, word)) = line.pair() {
        if !word.text.is_empty() || !Settings::knows(&name) {
            broker_setting(&name, &word)?;
        }
        pairs.push((name.into(), word.text.into()));
    }
    Ok(pairs.into())
}

/// As a script writes it: a blank, and the pairs.
pub(super) fn print_file(file: &Pairs) -> String {
    file.iter().map(|(name, value)| format!(" {name}={}", Quoted(value))).collect()
}

/// Reads what follows `start`.
pub(super) fn read_start(line: &mut Line) -> Result<Command, Trouble> {
    let process = process(line)?;
    start_with(process, file(line)?)
}

fn start_with(process: ProcessName, file: Pairs) -> Result<Command, Trouble> {
    Ok(match file.is_empty() {
        true => Command::Start { process },
        false => Command::Work(Work::StartWith { process, file }),
    })
}

/// Reads what follows `kafka-server-start`.
// Real: the file says whose it is; here its name does, because there are no files.
pub(super) fn read_server_start(line: &mut Line) -> Result<Command, Trouble> {
    let wanted = "a file named after its broker like config/server-1.properties";
    let mut path = line.word(wanted)?;
    if path.text == "-daemon" {
        path = line.word(wanted)?;
    }
    let stem = path.text.strip_suffix(".properties").unwrap_or_default();
    let id = stem.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    let id: i32 = id.parse().map_err(|_| path.is_not(wanted))?;
    let process = ProcessName(format!("broker{id}").into());
    while let Some(word) = line.word_if_any() {
        if word.text != "--override" {
            return Err(word.is_not("--override NAME=VALUE"));
        }
    }
    start_with(process, file(line)?)
}

fn topic(line: &mut Line) -> Result<Command, Trouble> {
    let topic = line.word("the name of a topic")?.text.into();
    let most = PARTITIONS.unsigned_abs() as u16;
    let partitions = line.value("partitions");
    let partitions = partitions.map_or(Ok(1), |word| word.within(1, most))?;
    let replicas = line.value("replicas").map_or(Ok(Replicas::Factor(1)), |word| {
        let placed = word.text.contains([',', '/']);
        if placed { placement(&word) } else { Ok(Replicas::Factor(word.within(1, 0x7fff)?)) }
    })?;
    let partitions = match &replicas {
        Replicas::Placed(placed) => placed.len() as u16,
        Replicas::Factor(_) => partitions,
    };
    Ok(Command::Work(Work::Topic { topic, partitions, replicas }))
}

fn placement(word: &Word) -> Result<Replicas, Trouble> {
    let ids = |text: &str| text.split(',').map(|id| id.parse().ok()).collect::<Option<_>>();
    let placed: Option<Arc<[Arc<[u16]>]>> = word.text.split('/').map(ids).collect();
    let placed = placed.filter(|placed| placed.len() <= PARTITIONS as usize);
    let expected = "brokers like 1,2 or 1,2/2,3, of 1000 partitions at most";
    placed.map(Replicas::Placed).ok_or_else(|| word.is_not(expected))
}

impl fmt::Display for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Replicas::Factor(factor) => write!(f, "{factor}"),
            Replicas::Placed(placed) => {
                let ids =
                    |ids: &Arc<[u16]>| ids.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
                f.write_str(&placed.iter().map(ids).collect::<Vec<_>>().join("/"))?;
                let alone = placed.len() == 1 && placed[0].len() == 1;
                f.write_str(if alone { "/" } else { "" })
            }
        }
    }
}

/// What is to be done, if it can be.
pub(super) fn plan(work: &Work, cluster: &Cluster) -> Result<Act, Refusal> {
    match work {
        Work::AddBroker { id, file } => broker_added(cluster, BrokerId(*id), file),
        Work::StartWith { process, file } => started_with(cluster, process, file),
        Work::Topic { topic, partitions, replicas } => {
            let options = topic_options(topic, *partitions, replicas);
            let options: Vec<Arc<str>> = options.into_iter().map(Arc::from).collect();
            let process = clients::tool(TOPICS, &options, cluster)?;
            add_process(cluster, &clients::tool_name(TOPICS, cluster), process)
        }
    }
}

/// A broker like the others; all learn where it is to be found.
fn broker_added(cluster: &Cluster, id: BrokerId, file: &Pairs) -> Result<Act, Refusal> {
    let name = ProcessName(format!("broker{id}").into());
    if known(cluster, &name).is_ok() {
        return Err(Refusal::Taken(name));
    }
    let others: Vec<_> = brokers(cluster).collect();
    let mut settings = others.first().ok_or(Refusal::NoBroker)?.1.clone();
    settings.broker_id = id;
    settings.host = name.0.clone();
    settings.write(file);
    let new = ProcessId(cluster.processes().count() as u16);
    let directory = directory(others.iter().copied().chain([(new, &settings)]));
    let asks = cluster.processes().filter(|(_, _, process)| known_to(process).is_some());
    let others: Vec<ProcessId> = asks.map(|(id, _, _)| id).collect();
    Ok(Box::new(move |i| {
        let added = i.add(&name.0, broker(settings, directory.clone()));
        assert_eq!(added, new, "processes are numbered in order");
        for other in others {
            i.request(other, Request::Resolve(directory.clone()));
        }
        i.start(added);
    }))
}

/// A broker whose file is written before it starts.
fn started_with(cluster: &Cluster, name: &ProcessName, file: &Pairs) -> Result<Act, Refusal> {
    let id = known(cluster, name)?;
    if cluster.process(id).broker_settings().is_none() {
        return Err(Refusal::NoFile(name.clone()));
    }
    let (start, file) = (start(cluster, name)?, file.clone());
    Ok(Box::new(move |i| {
        i.request(id, Request::Configure(file));
        start(i);
    }))
}

/// All brokers, running or not.
fn brokers(cluster: &Cluster) -> impl Iterator<Item = (ProcessId, &Settings)> {
    let all = cluster.processes();
    all.filter_map(|(id, _, process)| Some((id, process.broker_settings()?)))
}

fn directory<'a>(brokers: impl Iterator<Item = (ProcessId, &'a Settings)>) -> Directory {
    Directory::new(brokers.map(|(id, broker)| ((broker.host.clone(), broker.port), id)))
}

/// What a broker that starts must be told: who was added while it was off.
pub(super) fn news_for(cluster: &Cluster, id: ProcessId) -> Option<Request> {
    let known = known_to(cluster.process(id))?;
    let now = known_brokers(cluster);
    (*known != now).then_some(Request::Resolve(now))
}

/// Where all brokers are, running or not.
pub(super) fn known_brokers(cluster: &Cluster) -> Directory {
    directory(brokers(cluster))
}

/// Which brokers a process can find, if it reads in ZooKeeper where they are.
fn known_to(process: &AnyProcess) -> Option<&Directory> {
    match process {
        AnyProcess::Broker(broker) => Some(broker.directory()),
        AnyProcess::OldConsumer(consumer) => Some(&consumer.settings().directory),
        AnyProcess::LoneBroker(broker) => Some(broker.directory()),
        AnyProcess::LoneProducer(producer) => Some(&producer.settings().directory),
        _ => None,
    }
}

fn topic_options(topic: &str, partitions: u16, replicas: &Replicas) -> Vec<String> {
    let mut options = vec!["--create".to_owned(), "--topic".to_owned(), topic.to_owned()];
    match replicas {
        Replicas::Factor(factor) => {
            options.extend(["--partitions".to_owned(), partitions.to_string()]);
            options.extend(["--replication-factor".to_owned(), factor.to_string()]);
        }
        Replicas::Placed(placed) => {
            let ids =
                |ids: &Arc<[u16]>| ids.iter().map(u16::to_string).collect::<Vec<_>>().join(":");
            let placed = placed.iter().map(ids).collect::<Vec<_>>().join(",");
            options.extend(["--replica-assignment".to_owned(), placed]);
        }
    }
    options
}
