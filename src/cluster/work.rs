//! What operators do with a cluster: topics and more brokers.
//!
//! Applications and command line tools are in `clients`.
//!
//! *Invariant:* a tool is a process and does what it does by messages; nothing here reaches into a
//! broker.

use super::any_process::broker;
use super::clients;
use super::command::{Act, Command, Refusal, Row, add_process, known};
use super::notation::{Line, Quoted, Trouble, Word};
use super::{AnyProcess, Cluster};
use crate::kafka::id::BrokerId;
use crate::kafka::settings::{Directory, Settings};
use crate::kafka::tools::topics::MOST_PARTITIONS;
use crate::kafka::words::Request;
use crate::sim::{ProcessId, ProcessName};
use std::fmt;
use std::sync::Arc;

/// Something to be done with a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is told by its row")]
pub enum Work {
    AddBroker { id: i32 },
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
    let word = line.word("the id of a broker")?;
    let id = word.number("the id of a broker")?;
    if !(0..=9999).contains(&id) {
        return Err(word.is_not("an id from 0 to 9999"));
    }
    Ok(Command::Work(Work::AddBroker { id }))
}

fn topic(line: &mut Line) -> Result<Command, Trouble> {
    let topic = line.word("the name of a topic")?.text.into();
    let partitions = line.value("partitions");
    let partitions = partitions.map_or(Ok(1), |word| {
        let many = word.number("a number of partitions")?;
        match i32::from(many) <= MOST_PARTITIONS {
            true => Ok(many),
            false => Err(word.is_not(format!("a number of partitions up to {MOST_PARTITIONS}"))),
        }
    })?;
    let replicas = line.value("replicas").map_or(Ok(Replicas::Factor(1)), |word| {
        let placed = word.text.contains([',', '/']);
        if placed { placement(&word) } else { Ok(Replicas::Factor(word.number("a number")?)) }
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
    placed.map(Replicas::Placed).ok_or_else(|| word.is_not("brokers like 1,2 or 1,2/2,3"))
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
        Work::AddBroker { id } => broker_added(cluster, BrokerId(*id)),
        Work::Topic { topic, partitions, replicas } => {
            let options = topic_options(topic, *partitions, replicas);
            let options: Vec<Arc<str>> = options.into_iter().map(Arc::from).collect();
            let process = clients::tool(TOPICS, &options, cluster)?;
            add_process(cluster, &clients::tool_name(TOPICS, cluster), process)
        }
    }
}

/// A broker like the others; all learn where it is to be found.
fn broker_added(cluster: &Cluster, id: BrokerId) -> Result<Act, Refusal> {
    let name = ProcessName(format!("broker{id}").into());
    if known(cluster, &name).is_ok() {
        return Err(Refusal::Taken(name));
    }
    let others: Vec<_> = brokers(cluster).collect();
    let mut settings = others.first().ok_or(Refusal::NoBroker)?.1.clone();
    settings.broker_id = id;
    settings.host = name.0.clone();
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
