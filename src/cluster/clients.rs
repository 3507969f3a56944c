//! Kafka's clients by command: consumers and producers are added, told what to do, and given
//! records to send.
//!
//! Not here: what they do then (`kafka::consumer`, `kafka::producer`).
//!
//! *Invariant:* a setting is checked when the command is read, so a command that was read is right.

use super::command::{Command, Refusal};
use super::notation::{Line, Quoted, Trouble, Word};
use super::{AnyProcess, Cluster};
use crate::kafka::consumer::Consumer;
use crate::kafka::consumer::words::{ConsumerRequest, ConsumerSettings};
use crate::kafka::producer::Producer;
use crate::kafka::producer::words::{ProducerRequest, ProducerSettings, Steady, ToSend};
use crate::kafka::release::Release;
use crate::kafka::tools::{Bootstrap, Tool};
use crate::kafka::words::Request;
use crate::sim::{ProcessId, ProcessName, Span};
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
    /// Commit what was read.
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
}

const ACTS: &[(&str, Act)] = &[
    ("commit", Act::Commit),
    ("close", Act::Close),
    ("exit", Act::Exit),
    ("stall", Act::Stall),
    ("go", Act::Go),
    ("pause", Act::Pause),
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
    line.word("commit, close, exit, stall, go or pause")?.choice(ACTS)
}

impl NewConsumer {
    /// Reads what follows the name.
    pub(super) fn parse(process: ProcessName, line: &mut Line) -> Result<NewConsumer, Trouble> {
        let group = line.must("group", "GROUP")?.text.into();
        let topics = line.must("topics", "TOPIC,TOPIC…")?;
        let topics = topics.text.split(',').map(Arc::from).collect();
        let mut new = NewConsumer { process, group, topics, settings: Arc::from([]) };
        let mut trial = new.to_settings(Arc::from([ProcessId(0)]), Release::V3_9_1);
        new.settings = pairs(line, |name, value| trial.set(name, value))?;
        Ok(new)
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

impl NewProducer {
    /// Reads what follows the name.
    pub(super) fn parse(process: ProcessName, line: &mut Line) -> Result<NewProducer, Trouble> {
        let steady = match line.value("topic") {
            Some(topic) => {
                let every = line.value("every").map_or(Ok(Span::secs(1)), |word| word.span())?;
                let keys = line.value("keys").map_or(Ok(0), |word| word.number("how many keys"))?;
                Some(Steady { topic: topic.text.into(), every, keys })
            }
            None => None,
        };
        let mut new = NewProducer { process, steady, settings: Arc::from([]) };
        let mut trial = new.to_settings(Arc::from([ProcessId(0)]), Release::V3_9_1);
        new.settings = pairs(line, |name, value| trial.set(name, value))?;
        Ok(new)
    }

    fn to_settings(&self, bootstrap: Arc<[ProcessId]>, release: Release) -> ProducerSettings {
        let settings = ProducerSettings::new(&self.process.0, bootstrap);
        let mut settings = settings.of_release(release);
        settings.steady = self.steady.clone();
        for (name, value) in &*self.settings {
            settings.set(name, value).expect("checked when it was read");
        }
        settings
    }
}

/// Reads all settings that follow; `set` says whether one is right.
fn pairs(line: &mut Line, mut set: impl FnMut(&str, &str) -> Option<()>) -> Result<Pairs, Trouble> {
    let mut pairs = Vec::new();
    while let Some((name, word)) = line.pair() {
        set(&name, &word.text)
            .ok_or_else(|| word.is_not(format!("a setting {name} as it can be")))?;
        pairs.push((name.into(), word.text.into()));
    }
    pairs.reverse();
    Ok(pairs.into())
}

/// Reads a record to send.
pub(super) fn record(line: &mut Line) -> Result<ToSend, Trouble> {
    let text = |word: Word| -> Arc<str> { word.text.into() };
    let topic = line.must("topic", "TOPIC")?.text.into();
    let partition = match line.value("partition") {
        Some(word) => Some(word.number("a partition's number")?),
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
        let NewConsumer { process, group, topics, settings } = self;
        write!(f, "consumer {process} group={group} topics={}", topics.join(","))?;
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
    let Bootstrap { processes, release, .. } = bootstrap(cluster)?;
    let settings = new.to_settings(processes, release);
    Ok(AnyProcess::Consumer(Box::new(Consumer::new(settings))))
}

/// The process of a new producer.
pub(super) fn producer(new: &NewProducer, cluster: &Cluster) -> Result<AnyProcess, Refusal> {
    let Bootstrap { processes, release, .. } = bootstrap(cluster)?;
    let settings = new.to_settings(processes, release);
    Ok(AnyProcess::Producer(Box::new(Producer::new(settings))))
}

fn bootstrap(cluster: &Cluster) -> Result<Bootstrap, Refusal> {
    let known = super::any_process::bootstrap(cluster);
    if known.processes.is_empty() { Err(Refusal::NoBroker) } else { Ok(known) }
}

/// Reads the words of a tool's command line, options and all.
pub(super) fn command_line(tool: &'static str, line: &mut Line) -> Result<Command, Trouble> {
    let words = line.as_typed();
    let trial = Bootstrap { processes: [ProcessId(0)].into(), ..Bootstrap::nowhere() };
    Tool::read(tool, &words, trial).map_err(|usage| line.missing(&usage.to_string()))?;
    Ok(Command::Type { tool, words: words.into_iter().map(Arc::from).collect() })
}

/// The process that runs a tool.
pub(super) fn tool(
    name: &str,
    words: &[Arc<str>],
    cluster: &Cluster,
) -> Result<AnyProcess, Refusal> {
    let bootstrap = bootstrap(cluster)?;
    let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
    let tool = Tool::read(name, &words, bootstrap).expect("checked when it was read");
    Ok(AnyProcess::Tool(Box::new(tool)))
}

/// A name for the process of a tool that nobody has yet.
pub(super) fn tool_name(tool: &str, cluster: &Cluster) -> ProcessName {
    let names = std::iter::once(tool.to_string()).chain((2..).map(|n| format!("{tool}-{n}")));
    let mut free = names.filter(|name| cluster.find(name).is_none());
    ProcessName(free.next().expect("numbers do not end").into())
}

/// What is asked of a process when it is told something, if it understands that.
pub(super) fn request(process: &AnyProcess, act: Act) -> Option<Request> {
    match (process, act) {
        (AnyProcess::Consumer(_), act) => ConsumerRequest::by_name(act.name()).map(Request::from),
        (AnyProcess::Producer(_), Act::Pause) => Some(ProducerRequest::Pause.into()),
        (AnyProcess::Producer(_), Act::Close) => Some(ProducerRequest::Close.into()),
        _ => None,
    }
}
