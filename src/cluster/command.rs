//! What somebody may do to a cluster from outside, each in one row: name, usage, example, parse,
//! print.
//!
//! *Invariant:* [`apply`] does the same to the same cluster at the same moment; what cannot be done
//! is refused before anything is touched.

use super::any_process::connection;
use super::clients::{self, NewConsumer, NewProducer};
use super::notation::{Line, Quoted, Trouble, Word};
use super::work::{self, Work};
use super::{AnyProcess, Cluster, Kind, Trace};
use crate::kafka::producer::words::{ProducerRequest, ToSend};
use crate::kafka::release::Release;
use crate::kafka::words::Request;
use crate::sim::{Direction, EventId, Intervention, Power, ProcessId, ProcessName, Room, Span};
use crate::zk::quorum_peer::QuorumPeer;
use crate::zk::reply::Access;
use crate::zk::server::MyId;
use crate::zk::shell::{self, Shell};
use crate::zk::vote::Standing;
use crate::zk::words as zk;
use crate::zk::words::Flaw;
use std::fmt;
use std::sync::Arc;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is told by its row")]
pub enum Command {
    Kill { process: ProcessName },
    Stop { process: ProcessName },
    Start { process: ProcessName },
    Freeze { process: ProcessName },
    Thaw { process: ProcessName },
    Wipe { process: ProcessName },
    Cut { path: Path },
    Heal { path: Path },
    HealAll,
    DelayNext { from: ProcessName, to: ProcessName, by: Span },
    Delay { message: EventId, by: Span },
    Drop { message: EventId },
    DropNext { from: ProcessName, to: ProcessName },
    Fix { process: ProcessName, draw: Arc<str>, value: u64 },
    SlowDisk { process: ProcessName, by: Span },
    FillDisk { process: ProcessName, room: Room },
    ChangeClock { process: ProcessName, rate_percent: u32 },
    AddClient { process: ProcessName, timeout: Span, least: Access },
    SetMyId { process: ProcessName, myid: MyId },
    Break { process: ProcessName, flaw: Flaw },
    AddConsumer(NewConsumer),
    AddProducer(NewProducer),
    Tell { process: ProcessName, act: clients::Act },
    Send { process: ProcessName, record: ToSend },
    Type { tool: &'static str, words: Arc<[Arc<str>]> },
    Ask { process: ProcessName, words: Arc<[Arc<str>]> },
    Enter { process: ProcessName, line: Arc<str> },
    Work(Work),
}

/// A cable, and which way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// One end.
    pub from: ProcessName,
    /// The other.
    pub to: ProcessName,
    /// One way or both.
    pub direction: Direction,
}

/// A command's listing: the one place where it is described.
pub struct Row {
    /// The verb.
    pub name: &'static str,
    /// How it is written.
    pub usage: &'static str,
    /// One that could be given.
    pub example: &'static str,
    /// Reads what follows the verb.
    pub parse: fn(&mut Line) -> Result<Command, Trouble>,
    /// What follows the verb, if this is the row of the command.
    pub print: fn(&Command) -> Option<String>,
}

macro_rules! on_process {
    ($name:literal, $variant:ident) => {
        Row {
            name: $name,
            usage: concat!($name, " PROCESS"),
            example: concat!($name, " broker1"),
            parse: |line| Ok(Command::$variant { process: process(line)? }),
            print: |command| match command {
                Command::$variant { process } => Some(process.to_string()),
                _ => None,
            },
        }
    };
}

macro_rules! tool {
    ($name:literal, $usage:literal, $example:literal) => {
        Row {
            name: $name,
            usage: concat!($name, " ", $usage),
            example: concat!($name, " ", $example),
            parse: |line| clients::command_line($name, line),
            print: |command| match command {
                Command::Type { tool: $name, words } => Some(typed(words)),
                _ => None,
            },
        }
    };
}

fn typed(words: &[Arc<str>]) -> String {
    words.iter().map(|word| Quoted(word).to_string()).collect::<Vec<_>>().join(" ")
}

/// Every command.
pub const COMMANDS: &[Row] = &[
    on_process!("kill", Kill),
    on_process!("stop", Stop),
    Row {
        name: "start",
        usage: "start PROCESS | start BROKER SETTING=VALUE … (in its server.properties)",
        example: "start broker1 broker.rack=a",
        parse: work::read_start,
        print: |command| match command {
            Command::Start { process } => Some(process.to_string()),
            Command::Work(Work::StartWith { process, file }) => {
                Some(format!("{process}{}", work::print_file(file)))
            }
            _ => None,
        },
    },
    on_process!("freeze", Freeze),
    on_process!("thaw", Thaw),
    on_process!("wipe", Wipe),
    Row {
        name: "cut",
        usage: "cut PROCESS PROCESS | cut FROM>TO",
        example: "cut broker1 broker3",
        parse: |line| Ok(Command::Cut { path: path(line)? }),
        print: |command| match command {
            Command::Cut { path } => Some(path.to_string()),
            _ => None,
        },
    },
    Row {
        name: "heal",
        usage: "heal PROCESS PROCESS | heal FROM>TO | heal all",
        example: "heal broker1 broker3",
        parse: heal,
        print: |command| match command {
            Command::Heal { path } => Some(path.to_string()),
            Command::HealAll => Some("all".into()),
            _ => None,
        },
    },
    Row {
        name: "delay",
        usage: "delay link=FROM>TO by=SPAN | delay message=EVENT by=SPAN",
        example: "delay link=broker2>zk1 by=50ms",
        parse: delay,
        print: |command| match command {
            Command::DelayNext { from, to, by } => Some(format!("link={from}>{to} by={by}")),
            Command::Delay { message, by } => Some(format!("message={message} by={by}")),
            _ => None,
        },
    },
    Row {
        name: "drop",
        usage: "drop message=EVENT | drop link=FROM>TO (what lands next)",
        example: "drop message=1234",
        parse: drop,
        print: |command| match command {
            Command::Drop { message } => Some(format!("message={message}")),
            Command::DropNext { from, to } => Some(format!("link={from}>{to}")),
            _ => None,
        },
    },
    Row {
        name: "fix",
        usage: "fix process=PROCESS draw=DRAW value=N",
        example: "fix process=broker1 draw=placement-start value=2",
        parse: fix,
        print: |command| match command {
            Command::Fix { process, draw, value } => {
                Some(format!("process={process} draw={draw} value={value}"))
            }
            _ => None,
        },
    },
    Row {
        name: "disk",
        usage: "disk SERVER slower-by=SPAN | disk SERVER full | disk SERVER free",
        example: "disk zk1 slower-by=20ms",
        parse: disk,
        print: |command| match command {
            Command::SlowDisk { process, by } => Some(format!("{process} slower-by={by}")),
            Command::FillDisk { process, room: Room::Full } => Some(format!("{process} full")),
            Command::FillDisk { process, room: Room::Free } => Some(format!("{process} free")),
            _ => None,
        },
    },
    Row {
        name: "clock",
        usage: "clock PROCESS rate-percent=N (100 is right)",
        example: "clock zk1 rate-percent=110",
        parse: clock,
        print: |command| match command {
            Command::ChangeClock { process, rate_percent } => {
                Some(format!("{process} rate-percent={rate_percent}"))
            }
            _ => None,
        },
    },
    Row {
        name: "myid",
        usage: "myid SERVER N|missing (what is in the file, once it is started again)",
        example: "myid zk3 9",
        parse: myid,
        print: |command| match command {
            Command::SetMyId { process, myid: MyId::Missing } => Some(format!("{process} missing")),
            Command::SetMyId { process, myid: MyId::Number(id) } => Some(format!("{process} {id}")),
            _ => None,
        },
    },
    Row {
        name: "break",
        usage: "break SERVER requests|session-end (an error in its code shows)",
        example: "break zk3 requests",
        parse: |line| {
            let process = process(line)?;
            let flaw = line.word("requests or session-end")?.choice(FLAWS)?;
            Ok(Command::Break { process, flaw })
        },
        print: |command| match command {
            Command::Break { process, flaw } => {
                let row = FLAWS.iter().find(|(_, known)| known == flaw);
                Some(format!("{process} {}", row.map_or("", |(name, _)| name)))
            }
            _ => None,
        },
    },
    Row {
        name: "add",
        usage: "add broker ID [SETTING=VALUE …] \
                | add client NAME [timeout=SPAN] [-r] (-r: reads are enough) \
                | add consumer NAME group=GROUP topics=TOPIC,TOPIC… [SETTING=VALUE …] \
                | add consumer NAME group=GROUP topics=TOPIC[:STREAMS],… \
                zookeeper.connect=SERVER:2181,… [SETTING=VALUE …] \
                (to 1.1.1; 0.7.2: zk.connect) \
                | add producer NAME [topic=TOPIC every=SPAN keys=N] [SETTING=VALUE …] \
                (0.7.2: zk.connect=SERVER:2181,… or broker.list=ID:HOST:PORT,…, a HOST or vip)",
        example: "add client z1 timeout=6s",
        parse: add,
        print: |command| match command {
            Command::AddClient { process, timeout, least } => {
                let flag = if *least == Access::ReadOnly { " -r" } else { "" };
                Some(format!("client {process} timeout={timeout}{flag}"))
            }
            Command::Work(Work::AddBroker { id, file }) => {
                Some(format!("broker {id}{}", work::print_file(file)))
            }
            Command::AddConsumer(new) => Some(new.to_string()),
            Command::AddProducer(new) => Some(new.to_string()),
            _ => None,
        },
    },
    Row {
        name: "let",
        usage: "let CLIENT commit|close|exit|stall|go|pause|init|begin|abort",
        example: "let c1 commit",
        parse: |line| Ok(Command::Tell { process: process(line)?, act: clients::act(line)? }),
        print: |command| match command {
            Command::Tell { process, act } => Some(format!("{process} {act}")),
            _ => None,
        },
    },
    tool!(
        "kafka-topics",
        "--create|--alter|--delete|--describe|--list --topic TOPIC --partitions N \
         --replication-factor N --replica-assignment ID:ID,… --config NAME=VALUE \
         [--under-replicated-partitions|--unavailable-partitions|--under-min-isr-partitions\
         |--topics-with-overrides] [--exclude-internal] …",
        "--describe --topic orders"
    ),
    tool!(
        "kafka-consumer-groups",
        "--describe|--list|--delete|--reset-offsets|--delete-offsets … --group GROUP",
        "--describe --group g1"
    ),
    tool!(
        "kafka-console-consumer",
        "--topic TOPIC --from-beginning|--partition N --offset N [--max-messages N] \
         [--property print.key=true] [--isolation-level read_committed]",
        "--topic orders --from-beginning"
    ),
    tool!(
        "kafka-console-producer",
        "--topic TOPIC [--property parse.key=true] [--property key.separator=:] \
         [--request-required-acks N] (its lines: send)",
        "--topic orders"
    ),
    tool!(
        "kafka-dump-log",
        "--files /broker-ID/data/TOPIC-N/00000000000000000000.log",
        "--files /broker-1/data/orders-0/00000000000000000000.log"
    ),
    tool!("echo", "WORD|nc SERVER 2181", "srvr | nc zk1 2181"),
    tool!(
        "kafka-preferred-replica-election",
        "[--json JSON] (to 2.8.2)",
        "--json \"{\\\"partitions\\\":[{\\\"topic\\\":\\\"orders\\\",\\\"partition\\\":0}]}\""
    ),
    tool!(
        "kafka-get-offsets",
        "[--topic TOPIC] [--partitions N,N…] [--time -1|-2|MS] (from 3.9.1 on)",
        "--topic orders"
    ),
    tool!(
        "GetOffsetShell",
        "--topic TOPIC [--partitions N,N…] [--time -1|-2|MS]",
        "--topic orders --time -2"
    ),
    tool!(
        "kafka-log-dirs",
        "--describe [--topic-list TOPIC,…] [--broker-list ID,…] (from 1.1.1 on)",
        "--describe --topic-list orders"
    ),
    tool!(
        "kafka-delete-records",
        "--offset-json JSON (from 1.1.1 on)",
        "--offset-json \"{\\\"partitions\\\":[{\\\"topic\\\":\\\"orders\\\",\\\"partition\\\":0,\\\"offset\\\":5}]}\""
    ),
    tool!(
        "kafka-transactions",
        "list [--duration-filter MS] | describe --transactional-id ID \
         | describe-producers --topic TOPIC --partition N [--broker-id ID] \
         | abort --topic TOPIC --partition N --start-offset N\
         |(--producer-id N --producer-epoch N --coordinator-epoch N) \
         | find-hanging --topic TOPIC [--partition N]|--broker-id ID \
         [--max-transaction-timeout MINUTES] (from 3.9.1 on)",
        "describe-producers --topic orders --partition 0"
    ),
    tool!("ConsumerOffsetChecker", "--group GROUP [--topic TOPIC,…] (to 1.1.1)", "--group g1"),
    tool!(
        "kafka-configs",
        "--alter|--describe [--all] --topic TOPIC|--broker ID|--broker-defaults\
         |--entity-type topics|brokers [--entity-name NAME|--entity-default] [--add-config NAME=VALUE,…] [--delete-config NAME,…]",
        "--alter --entity-type topics --entity-name orders --add-config \"min.insync.replicas=2\""
    ),
    tool!(
        "kafka-leader-election",
        "--election-type preferred|unclean --all-topic-partitions|--topic TOPIC --partition N\
         |--path-to-json-file JSON",
        "--election-type preferred --all-topic-partitions"
    ),
    tool!(
        "kafka-reassign-partitions",
        "--execute|--verify|--cancel --reassignment-json JSON | --list \
         | --generate --topics-to-move-json JSON --broker-list ID,ID…",
        "--verify --reassignment-json \"{\\\"partitions\\\":[]}\""
    ),
    Row {
        name: "send",
        usage: "send PRODUCER topic=TOPIC [partition=N] [key=KEY] [value=VALUE]",
        example: "send p1 topic=orders key=k1 value=v1",
        parse: |line| Ok(Command::Send { process: process(line)?, record: clients::record(line)? }),
        print: |command| match command {
            Command::Send { process, record } => {
                Some(format!("{process} {}", clients::print_record(record)))
            }
            _ => None,
        },
    },
    Row {
        name: "ask",
        usage: "ask CLIENT create|set|get|ls|stat|delete|sync …",
        example: "ask z1 create -e -s /lock \"mine, all mine\"",
        parse: ask,
        print: |command| match command {
            Command::Ask { process, words } => {
                let words: Vec<_> = words.iter().map(|word| Quoted(word).to_string()).collect();
                Some(format!("{process} {}", words.join(" ")))
            }
            _ => None,
        },
    },
    Row {
        name: "type",
        usage: "type CLIENT \"LINE\"",
        example: "type z1 \"create -e -s /lock 'mine, all mine'\"",
        parse: |line| {
            let (process, word) = (process(line)?, line.word("a line of zkCli.sh in quotes")?);
            Ok(Command::Enter { process, line: word.text.into() })
        },
        print: |command| match command {
            Command::Enter { process, line } => Some(format!("{process} {}", Quoted(line))),
            _ => None,
        },
    },
    work::TOPIC,
];

/// The errors that can be made to show.
const FLAWS: &[(&str, Flaw)] = &[("requests", Flaw::Requests), ("session-end", Flaw::SessionEnd)];

/// The classes that scripts run.
const CLASSES: &[(&str, &str)] = &[
    ("TopicCommand", "kafka-topics"),
    ("ConsumerGroupCommand", "kafka-consumer-groups"),
    ("ConfigCommand", "kafka-configs"),
    ("LeaderElectionCommand", "kafka-leader-election"),
    ("PreferredReplicaLeaderElectionCommand", "kafka-preferred-replica-election"),
    ("ReassignPartitionsCommand", "kafka-reassign-partitions"),
    ("ConsoleConsumer", "kafka-console-consumer"),
    ("ConsoleProducer", "kafka-console-producer"),
    ("DumpLogSegments", "kafka-dump-log"),
    ("LogDirsCommand", "kafka-log-dirs"),
    ("DeleteRecordsCommand", "kafka-delete-records"),
    ("TransactionsCommand", "kafka-transactions"),
];

/// Whether it is called like a program of Kafka or ZooKeeper, which is pasted with its folder.
fn is_program(name: &str) -> bool {
    let is_class = || name.starts_with(|c: char| c.is_ascii_uppercase());
    name.starts_with("kafka-") || matches!(name, "zookeeper-shell" | "zkCli") || is_class()
}

/// A program without its folder and suffix, as in `bin/kafka-topics.sh`; any other word as it is.
fn pasted(word: &str) -> &str {
    let file = word.rsplit('/').next().unwrap_or_default();
    let name = file.strip_suffix(".sh").unwrap_or(file);
    if is_program(name) { name } else { word }
}

impl Command {
    /// Reads one line.
    pub fn parse(number: u32, text: &str) -> Result<Command, Trouble> {
        let mut line = Line::parse(number, text)?;
        let verb = line.word("a command")?;
        let command = Command::parse_after(&verb, &mut line)?;
        line.finish()?;
        Ok(command)
    }

    /// Reads what follows `verb`.
    pub fn parse_after(verb: &Word, line: &mut Line) -> Result<Command, Trouble> {
        let mut name = pasted(&verb.text).to_owned();
        if name == "kafka-run-class" {
            let wanted = "the class of a tool like kafka.tools.ConsumerOffsetChecker";
            let class = line.word(wanted)?;
            let short = class.text.rsplit('.').next().unwrap_or_default();
            let script = CLASSES.iter().find(|(known, _)| *known == short);
            name = script.map_or(short, |(_, script)| *script).to_owned();
            if !is_program(&name) {
                return Err(class.is_not(wanted));
            }
        }
        let Some(row) = COMMANDS.iter().find(|row| row.name == name) else {
            return match name.as_str() {
                "kafka-server-start" => work::read_server_start(line),
                "kafka-server-stop" => {
                    Err(verb.is_not("stop BROKER: each broker has a machine of its own"))
                }
                "zookeeper-shell" | "zkCli" => Err(verb.is_not(
                    "type CLIENT LINE, as in: type z1 \"ls /\"; in the page it has a pane of its own",
                )),
                _ => Err(verb.is_not("a command; help lists them")),
            };
        };
        (row.parse)(line)
    }

    /// The verb: the name of its row.
    pub fn name(&self) -> &'static str {
        self.row().0
    }

    /// The process that it is about, where it is about one.
    pub fn process(&self) -> Option<&ProcessName> {
        match self {
            Command::Kill { process }
            | Command::Stop { process }
            | Command::Start { process }
            | Command::Work(Work::StartWith { process, .. })
            | Command::Freeze { process }
            | Command::Thaw { process }
            | Command::Wipe { process }
            | Command::Fix { process, .. }
            | Command::SlowDisk { process, .. }
            | Command::FillDisk { process, .. }
            | Command::ChangeClock { process, .. }
            | Command::SetMyId { process, .. }
            | Command::Break { process, .. }
            | Command::Tell { process, .. }
            | Command::Send { process, .. }
            | Command::Ask { process, .. }
            | Command::Enter { process, .. } => Some(process),
            _ => None,
        }
    }

    fn row(&self) -> (&'static str, String) {
        let mut printed = COMMANDS.iter().filter_map(|row| Some((row.name, (row.print)(self)?)));
        printed.next().expect("every command has a row")
    }
}

/// As a script writes it.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, rest) = self.row();
        write!(f, "{name} {rest}")
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.direction {
            Direction::Both => write!(f, "{} {}", self.from, self.to),
            Direction::OneWay => write!(f, "{}>{}", self.from, self.to),
        }
    }
}

pub(super) fn process(line: &mut Line) -> Result<ProcessName, Trouble> {
    Ok(ProcessName(line.word("a process like broker1")?.text.into()))
}

fn path(line: &mut Line) -> Result<Path, Trouble> {
    let word = line.word("two processes, or FROM>TO")?;
    if word.text.contains('>') {
        let (from, to) = one_way(&word)?;
        return Ok(Path { from, to, direction: Direction::OneWay });
    }
    let from = ProcessName(word.text.into());
    Ok(Path { from, to: process(line)?, direction: Direction::Both })
}

fn one_way(word: &Word) -> Result<(ProcessName, ProcessName), Trouble> {
    match word.text.split_once('>') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => {
            Ok((ProcessName(from.into()), ProcessName(to.into())))
        }
        _ => Err(word.is_not("a way like broker1>zk2")),
    }
}

fn heal(line: &mut Line) -> Result<Command, Trouble> {
    let path = match path(&mut line.clone()) {
        Err(_) if line.clone().word("all")?.text == "all" => {
            line.word("all")?;
            return Ok(Command::HealAll);
        }
        _ => path(line)?,
    };
    Ok(Command::Heal { path })
}

fn delay(line: &mut Line) -> Result<Command, Trouble> {
    let by = line.must("by", "SPAN")?.span()?;
    if let Some(word) = line.value("message") {
        return Ok(Command::Delay { message: word.event()?, by });
    }
    let (from, to) = one_way(&line.must("link", "FROM>TO")?)?;
    Ok(Command::DelayNext { from, to, by })
}

fn drop(line: &mut Line) -> Result<Command, Trouble> {
    if let Some(word) = line.value("message") {
        return Ok(Command::Drop { message: word.event()? });
    }
    let (from, to) = one_way(&line.must("link", "FROM>TO")?)?;
    Ok(Command::DropNext { from, to })
}

fn fix(line: &mut Line) -> Result<Command, Trouble> {
    let process = ProcessName(line.must("process", "PROCESS")?.text.into());
    let draw = line.must("draw", "DRAW")?.text.into();
    let value = line.must("value", "N")?.number("a whole number")?;
    Ok(Command::Fix { process, draw, value })
}

fn disk(line: &mut Line) -> Result<Command, Trouble> {
    let process = process(line)?;
    if let Some(word) = line.value("slower-by") {
        return Ok(Command::SlowDisk { process, by: word.span()? });
    }
    let rooms = [("full", Room::Full), ("free", Room::Free)];
    let room = line.word("slower-by=SPAN, full or free")?.choice(&rooms)?;
    Ok(Command::FillDisk { process, room })
}

fn clock(line: &mut Line) -> Result<Command, Trouble> {
    let process = process(line)?;
    let word = line.must("rate-percent", "N")?;
    let rate_percent = word.number("a whole number from 10 to 1000")?;
    match (10..=1000).contains(&rate_percent) {
        true => Ok(Command::ChangeClock { process, rate_percent }),
        false => Err(word.is_not("a whole number from 10 to 1000")),
    }
}

fn myid(line: &mut Line) -> Result<Command, Trouble> {
    let (process, word) = (process(line)?, line.word("a number from 1 to 255, or missing")?);
    let myid = match &*word.text {
        "missing" => MyId::Missing,
        _ => MyId::Number(word.number("a number from 1 to 255, or missing")?),
    };
    match myid {
        MyId::Number(0) => Err(word.is_not("a number from 1 to 255, or missing")),
        myid => Ok(Command::SetMyId { process, myid }),
    }
}

fn add(line: &mut Line) -> Result<Command, Trouble> {
    let kinds = [
        ("broker", Kind::Broker),
        ("client", Kind::Shell),
        ("consumer", Kind::Consumer),
        ("producer", Kind::Producer),
    ];
    let kind = line.word("broker, client, consumer or producer")?.choice(&kinds)?;
    if kind == Kind::Broker {
        return work::add_broker(line);
    }
    let process = new_name(line)?;
    match kind {
        Kind::Consumer => Ok(Command::AddConsumer(NewConsumer::parse(process, line)?)),
        Kind::Producer => Ok(Command::AddProducer(NewProducer::parse(process, line)?)),
        _ => {
            let timeout = line.value("timeout").map_or(Ok(Span::secs(30)), |word| word.span())?;
            let least = match line.word_if_any() {
                Some(word) => word.choice(&[("-r", Access::ReadOnly)])?,
                None => Access::ReadWrite,
            };
            Ok(Command::AddClient { process, timeout, least })
        }
    }
}

fn new_name(line: &mut Line) -> Result<ProcessName, Trouble> {
    let word = line.word("a name like z1")?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if word.text.is_empty() || !word.text.chars().all(plain) || word.text.len() > 16 {
        return Err(word.is_not("a name of small letters and digits"));
    }
    Ok(ProcessName(word.text.into()))
}

fn ask(line: &mut Line) -> Result<Command, Trouble> {
    let process = process(line)?;
    let mut words: Vec<Arc<str>> = Vec::new();
    while let Some(word) = line.word_if_any() {
        words.push(word.text.into());
    }
    shell::parse(&words).map_err(|expected| line.missing(expected))?;
    Ok(Command::Ask { process, words: words.into() })
}

/// Why a command cannot be done now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is nobody of this name.
    #[error("there is no process {0}")]
    NoProcess(ProcessName),
    /// It has to run for this.
    #[error("{0} does not run")]
    Off(ProcessName),
    /// It has to be off for this.
    #[error("{0} runs already")]
    On(ProcessName),
    /// It has to stand still for this.
    #[error("{0} is not frozen")]
    NotFrozen(ProcessName),
    /// It has no such end.
    #[error("{0} cannot be stopped in order, only killed")]
    NoStop(ProcessName),
    /// What it writes takes no time and no room.
    #[error("{0} is no ZooKeeper server: only the disk of one can be slow or full here")]
    NoDisk(ProcessName),
    /// It has nothing to be written in.
    #[error("{0} is no broker: it has no server.properties")]
    NoFile(ProcessName),
    /// Its file has no use, or its code does not have that.
    #[error("{0} is no server of an ensemble")]
    NotOfEnsemble(ProcessName),
    /// What can break runs in a role only.
    #[error("{0} looks for a leader: it has no thread yet that could end")]
    Looks(ProcessName),
    /// A cable needs two ends.
    #[error("{0} has no cable to itself")]
    SameEnds(ProcessName),
    /// The name is taken.
    #[error("there is a process {0} already")]
    Taken(ProcessName),
    /// It has no shell to type in.
    #[error("{0} is no client to ask")]
    NoShell(ProcessName),
    /// It does not understand that.
    #[error("{0} is no client that can be told to {1}")]
    NotUnderstood(ProcessName, clients::Act),
    /// It sends nothing.
    #[error("{0} is no producer")]
    NoProducer(ProcessName),
    /// A client needs a broker.
    #[error("there is no broker")]
    NoBroker,
    /// It was taken out of Kafka.
    #[error("Kafka {0} has no consumer that coordinates in ZooKeeper any more: 2.0 removed it")]
    NoOldConsumer(Release),
    /// It was not in Kafka yet.
    #[error("Kafka {0} has no such consumer yet: here one needs zookeeper.connect=zk1:2181")]
    NoNewConsumer(Release),
    /// A connection string names nobody.
    #[error("there is no ZooKeeper server {0}")]
    NoServer(Arc<str>),
    /// Producers of other releases have it.
    #[error("a producer of Kafka {1} has no setting {0}")]
    NoSetting(Arc<str>, Release),
    /// They do not go together.
    #[error("{0}")]
    Settings(&'static str),
    /// It has no such replica.
    #[error("{0} has no log of {1}")]
    NoLog(ProcessName, Arc<str>),
    /// There is nothing that it could do.
    #[error(
        "Kafka {1} has no {0}: a topic is there once a broker gets a record for it, \
         and who is in a group is in ZooKeeper"
    )]
    NoTool(Arc<str>, Release),
    /// The message is not on its way.
    #[error("no message {0} is on its way")]
    NoMessage(EventId),
    /// Nothing is on its way there.
    #[error("nothing is on its way from {0} to {1}")]
    NothingThere(ProcessName, ProcessName),
}

/// Does `command` to the cluster: one record, the cause of all that follows from it.
pub fn apply(
    command: &Command,
    cluster: &mut Cluster,
    trace: &mut Trace,
) -> Result<EventId, Refusal> {
    let act = plan(command, cluster)?;
    let about = command.process().and_then(|name| cluster.find(&name.0));
    Ok(cluster.intervene((command.name(), about), trace, act))
}

/// Whether `command` could be done now.
pub fn check(command: &Command, cluster: &Cluster) -> Result<(), Refusal> {
    plan(command, cluster).map(|_| ())
}

pub(super) type Act = Box<dyn FnOnce(&mut Intervention<'_, AnyProcess>)>;

/// What is to be done, if it can be.
fn plan(command: &Command, cluster: &Cluster) -> Result<Act, Refusal> {
    match command {
        Command::Kill { process } => kill(cluster, process),
        Command::Stop { process } => stop(cluster, process),
        Command::Start { process } => start(cluster, process),
        Command::Freeze { process } => {
            let id = running(cluster, process)?;
            Ok(Box::new(move |i| i.freeze(id)))
        }
        Command::Thaw { process } => thaw(cluster, process),
        Command::Wipe { process } => wipe(cluster, process),
        Command::Cut { path } => {
            let (from, to, direction) = ends(cluster, path)?;
            Ok(Box::new(move |i| i.cut(from, to, direction)))
        }
        Command::Heal { path } => {
            let (from, to, direction) = ends(cluster, path)?;
            Ok(Box::new(move |i| i.heal(from, to, direction)))
        }
        Command::HealAll => Ok(Box::new(heal_all)),
        Command::DelayNext { from, to, by } => {
            let (from, to, by) = (known(cluster, from)?, known(cluster, to)?, *by);
            Ok(Box::new(move |i| i.delay_next(from, to, by)))
        }
        Command::Delay { message, by } => {
            let (message, by) = (on_its_way(cluster, *message)?, *by);
            Ok(Box::new(move |i| i.delay(message, by)))
        }
        Command::Drop { message } => {
            let message = on_its_way(cluster, *message)?;
            Ok(Box::new(move |i| i.drop(message)))
        }
        Command::DropNext { from, to } => {
            let message = next_on_its_way(cluster, from, to)?;
            Ok(Box::new(move |i| i.drop(message)))
        }
        Command::Fix { process, draw, value } => {
            let (id, draw, value) = (known(cluster, process)?, draw.clone(), *value);
            Ok(Box::new(move |i| i.fix(id, &draw, value)))
        }
        Command::SlowDisk { process, by } => slow_disk(cluster, process, *by),
        Command::FillDisk { process, room } => fill_disk(cluster, process, *room),
        Command::ChangeClock { process, rate_percent } => {
            let (id, rate_percent) = (known(cluster, process)?, *rate_percent);
            Ok(Box::new(move |i| i.change_clock(id, rate_percent)))
        }
        Command::SetMyId { process, myid } => set_myid(cluster, process, *myid),
        Command::Break { process, flaw } => break_down(cluster, process, *flaw),
        Command::AddClient { process, timeout, least } => {
            add_client(cluster, process, (*timeout, *least))
        }
        Command::AddConsumer(new) => {
            add_process(cluster, &new.process, clients::consumer(new, cluster)?)
        }
        Command::AddProducer(new) => {
            add_process(cluster, &new.process, clients::producer(new, cluster)?)
        }
        Command::Tell { process, act } => tell(cluster, process, *act),
        Command::Send { process, record } => send(cluster, process, record.clone()),
        Command::Type { tool, words } => {
            let process = clients::tool(tool, words, cluster)?;
            add_process(cluster, &clients::tool_name(tool, cluster), process)
        }
        Command::Ask { process, words } => to_shell(cluster, process, asking(words)),
        Command::Enter { process, line } => to_shell(cluster, process, typing(line)),
        Command::Work(work) => work::plan(work, cluster),
    }
}

pub(super) fn known(cluster: &Cluster, name: &ProcessName) -> Result<ProcessId, Refusal> {
    cluster.find(&name.0).ok_or_else(|| Refusal::NoProcess(name.clone()))
}

fn up(cluster: &Cluster, name: &ProcessName) -> Result<ProcessId, Refusal> {
    let id = known(cluster, name)?;
    if cluster.power(id) == Power::Off { Err(Refusal::Off(name.clone())) } else { Ok(id) }
}

fn running(cluster: &Cluster, name: &ProcessName) -> Result<ProcessId, Refusal> {
    let id = known(cluster, name)?;
    if cluster.power(id) == Power::Running { Ok(id) } else { Err(Refusal::Off(name.clone())) }
}

fn kill(cluster: &Cluster, name: &ProcessName) -> Result<Act, Refusal> {
    let id = up(cluster, name)?;
    Ok(Box::new(move |i| i.kill(id)))
}

fn stop(cluster: &Cluster, name: &ProcessName) -> Result<Act, Refusal> {
    let id = up(cluster, name)?;
    let request = cluster.process(id).stop_request();
    let request = request.ok_or_else(|| Refusal::NoStop(name.clone()))?;
    Ok(Box::new(move |i| i.request(id, request)))
}

pub(super) fn start(cluster: &Cluster, name: &ProcessName) -> Result<Act, Refusal> {
    let id = known(cluster, name)?;
    if cluster.power(id) != Power::Off {
        return Err(Refusal::On(name.clone()));
    }
    let news = work::news_for(cluster, id);
    Ok(Box::new(move |i| {
        i.start(id);
        news.into_iter().for_each(|news| i.request(id, news));
    }))
}

fn thaw(cluster: &Cluster, name: &ProcessName) -> Result<Act, Refusal> {
    let id = known(cluster, name)?;
    if cluster.power(id) != Power::Frozen {
        return Err(Refusal::NotFrozen(name.clone()));
    }
    Ok(Box::new(move |i| i.thaw(id)))
}

/// Real: a broker's disk fills and slows as well, and up to 0.11 or with all its directories gone
/// it halts; here brokers append in no time, so that only a server of ZooKeeper has such a disk.
fn disk_of(cluster: &Cluster, name: &ProcessName) -> Result<ProcessId, Refusal> {
    let id = known(cluster, name)?;
    match cluster.process(id).kind() {
        Kind::Zk => Ok(id),
        _ => Err(Refusal::NoDisk(name.clone())),
    }
}

fn slow_disk(cluster: &Cluster, name: &ProcessName, by: Span) -> Result<Act, Refusal> {
    let id = disk_of(cluster, name)?;
    Ok(Box::new(move |i| i.slow_disk(id, by)))
}

fn fill_disk(cluster: &Cluster, name: &ProcessName, room: Room) -> Result<Act, Refusal> {
    let id = disk_of(cluster, name)?;
    Ok(Box::new(move |i| i.fill_disk(id, room)))
}

/// Only what is off has its disk changed.
fn wipe(cluster: &Cluster, name: &ProcessName) -> Result<Act, Refusal> {
    let id = known(cluster, name)?;
    match cluster.power(id) {
        Power::Off => Ok(Box::new(move |i| i.wipe(id))),
        _ => Err(Refusal::On(name.clone())),
    }
}

fn member(cluster: &Cluster, name: &ProcessName) -> Result<ProcessId, Refusal> {
    let id = known(cluster, name)?;
    match cluster.process(id).zk() {
        Some(server) if !server.is_alone() => Ok(id),
        _ => Err(Refusal::NotOfEnsemble(name.clone())),
    }
}

/// Only what is off reads the file again.
fn set_myid(cluster: &Cluster, name: &ProcessName, myid: MyId) -> Result<Act, Refusal> {
    let id = member(cluster, name)?;
    match cluster.power(id) {
        Power::Off => Ok(Box::new(move |i| i.configure(id, |process| process.set_myid(myid)))),
        _ => Err(Refusal::On(name.clone())),
    }
}

fn add_client(
    cluster: &Cluster,
    name: &ProcessName,
    (timeout, least): (Span, Access),
) -> Result<Act, Refusal> {
    let shell = Shell::new(connection(cluster, timeout), Arc::from([]));
    let mut servers = cluster.processes().filter_map(|(_, _, process)| process.zk());
    let release = servers.next().map(|server| server.settings().release);
    let shell = shell.of_release(release.expect("a cluster has at least one server"));
    add_process(cluster, name, AnyProcess::Shell(Box::new(shell.content_with(least))))
}

fn break_down(cluster: &Cluster, name: &ProcessName, flaw: Flaw) -> Result<Act, Refusal> {
    let id = running(cluster, name)?;
    member(cluster, name)?;
    let looks = |peer: &QuorumPeer| peer.standing() == Standing::Looking;
    if cluster.process(id).zk().and_then(|server| server.peer()).is_none_or(looks) {
        return Err(Refusal::Looks(name.clone()));
    }
    Ok(Box::new(move |i| i.request(id, Request::Zk(zk::Request::Break(flaw)))))
}

pub(super) fn add_process(
    cluster: &Cluster,
    name: &ProcessName,
    process: AnyProcess,
) -> Result<Act, Refusal> {
    if cluster.find(&name.0).is_some() {
        return Err(Refusal::Taken(name.clone()));
    }
    let name = name.clone();
    Ok(Box::new(move |i| {
        let id = i.add(&name.0, process);
        i.start(id);
    }))
}

fn tell(cluster: &Cluster, name: &ProcessName, act: clients::Act) -> Result<Act, Refusal> {
    let id = up(cluster, name)?;
    let request = clients::request(cluster.process(id), act);
    let request = request.ok_or_else(|| Refusal::NotUnderstood(name.clone(), act))?;
    Ok(Box::new(move |i| i.request(id, request)))
}

fn send(cluster: &Cluster, name: &ProcessName, record: ToSend) -> Result<Act, Refusal> {
    let id = up(cluster, name)?;
    if cluster.process(id).kind() != Kind::Producer {
        return Err(Refusal::NoProducer(name.clone()));
    }
    Ok(Box::new(move |i| i.request(id, ProducerRequest::Send(record).into())))
}

fn asking(words: &[Arc<str>]) -> zk::Request {
    zk::Request::Ask(shell::parse(words).expect("checked when it was read"))
}

fn typing(line: &Arc<str>) -> zk::Request {
    zk::Request::Type(line.clone())
}

fn to_shell(cluster: &Cluster, name: &ProcessName, wish: zk::Request) -> Result<Act, Refusal> {
    let id = up(cluster, name)?;
    if cluster.process(id).shell().is_none() {
        return Err(Refusal::NoShell(name.clone()));
    }
    Ok(Box::new(move |i| i.request(id, Request::Zk(wish))))
}

fn ends(cluster: &Cluster, path: &Path) -> Result<(ProcessId, ProcessId, Direction), Refusal> {
    let (from, to) = (known(cluster, &path.from)?, known(cluster, &path.to)?);
    if from == to {
        Err(Refusal::SameEnds(path.from.clone()))
    } else {
        Ok((from, to, path.direction))
    }
}

fn on_its_way(cluster: &Cluster, message: EventId) -> Result<EventId, Refusal> {
    let found = cluster.flights().any(|flight| flight.id == message);
    if found { Ok(message) } else { Err(Refusal::NoMessage(message)) }
}

fn next_on_its_way(
    cluster: &Cluster,
    from: &ProcessName,
    to: &ProcessName,
) -> Result<EventId, Refusal> {
    let ends = (known(cluster, from)?, known(cluster, to)?);
    let there = cluster.flights().filter(|flight| (flight.from, flight.to) == ends);
    let next = there.map(|flight| flight.id).min();
    next.ok_or_else(|| Refusal::NothingThere(from.clone(), to.clone()))
}

/// Heals every cable that is cut, thaws and starts nobody.
fn heal_all(intervention: &mut Intervention<'_, AnyProcess>) {
    let cluster = intervention.sim();
    let ids: Vec<_> = cluster.processes().map(|(id, _, _)| id).collect();
    let pairs = ids.iter().flat_map(|from| ids.iter().map(move |to| (*from, *to)));
    let cut: Vec<_> = pairs.filter(|(from, to)| cluster.is_cut(*from, *to)).collect();
    for (from, to) in cut {
        intervention.heal(from, to, Direction::OneWay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Moment, SimTime};

    #[test]
    fn every_row_reads_its_example_and_prints_it_again() {
        for row in COMMANDS {
            let command = Command::parse(1, row.example).expect("the example is right");
            assert_eq!(command.to_string(), row.example);
            assert_eq!(command.name(), row.name);
        }
        for text in [
            "add consumer c1 group=g1 topics=orders,clicks session.timeout.ms=6000",
            "add consumer c1 group=g1 topics=orders:2 zookeeper.connect=zk1:2181,zk2:2181 \
             rebalance.max.retries=2",
            "add producer p1 topic=orders every=500ms keys=3 acks=1",
            "add producer p1 broker.list=1:broker1:9092,2:vip:9092 reconnect.interval=50",
            "add producer p1 zk.connect=zk1:2181,zk2:2181",
            "send p1 topic=orders partition=2",
            "disk zk1 full",
            "disk zk1 free",
            "add client z1 timeout=6s -r",
            "myid zk3 missing",
            "break zk2 session-end",
        ] {
            assert_eq!(Command::parse(1, text).expect("it is right").to_string(), text);
        }
        for text in [
            "start zk1",
            "add broker 4 broker.rack=\"\"",
            "cut zk1>zk2",
            "heal zk1>zk2",
            "heal all",
            "delay message=7 by=3ms",
            "drop link=a>b",
        ] {
            assert_eq!(Command::parse(1, text).expect("it is right").to_string(), text);
        }
    }

    #[test]
    fn a_line_is_taken_as_it_is_pasted() {
        for (pasted, expected) in [
            (
                "bin/kafka-topics.sh --list --bootstrap-server broker1:9092",
                "kafka-topics --list --bootstrap-server broker1:9092",
            ),
            (
                "kafka-run-class.sh kafka.tools.ConsumerOffsetChecker --zookeeper zk1:2181 --group g",
                "ConsumerOffsetChecker --zookeeper zk1:2181 --group g",
            ),
            (
                "kafka-run-class.sh org.apache.kafka.tools.TopicCommand --list",
                "kafka-topics --list",
            ),
            ("bin/kafka-server-start.sh -daemon config/server-2.properties", "start broker2"),
            (
                "kafka-server-start.sh config/server-2.properties --override broker.rack=a",
                "start broker2 broker.rack=a",
            ),
        ] {
            assert_eq!(Command::parse(1, pasted).expect("it is right").to_string(), expected);
        }
    }

    #[test]
    fn only_a_program_has_a_folder() {
        for text in [
            "x/kill broker1",
            "x/kill.sh broker1",
            "kill.sh broker1",
            "kafka-run-class a.kill broker1",
            "kafka-run-class kafka.tools.Unheard broker1",
            "bin/zkCli.sh",
        ] {
            assert!(Command::parse(1, text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_number_has_its_limits() {
        for text in [
            "topic t partitions=1001",
            "topic t replicas=99999",
            "kafka-topics --create --topic t --partitions 999999999 --replication-factor 1",
            "kafka-topics --alter --topic t --partitions 1001",
            "kafka-topics --create --topic t --partitions 1 --replication-factor 99999",
            "kafka-console-consumer --topic t --from-beginning --partition -1",
            "kafka-consumer-groups --reset-offsets --group g --topic t --shift-by 9223372036854775807",
            "kafka-consumer-groups --list --timeout 0",
            "kafka-leader-election --election-type preferred --topic t --partition -3",
            "add broker 10000",
            "add producer p topic=t every=0s",
            "add producer p topic=t every=1s keys=999999999",
            "add producer p retry.backoff.ms=0",
            "add consumer c group=g topics=t heartbeat.interval.ms=0",
            "add consumer c group=g topics=t zookeeper.connect=zk1:2181 rebalance.backoff.ms=0",
            "send p topic=t partition=1000",
            "send p topic=t partition=-1",
            "disk a slower-by=99999999999s",
            "fix process=a draw=b value=-1",
        ] {
            let trouble = Command::parse(1, text).expect_err(text).to_string();
            assert!(trouble.contains("; expected "), "{trouble}");
        }
        let text = "kafka-topics --create --topic t --partitions 1001 --replication-factor 1";
        let said =
            "line 1, column 46: “1001”; expected --partitions as a number from -32768 to 1000";
        assert_eq!(Command::parse(1, text).expect_err("too many").to_string(), said);
    }

    #[test]
    fn a_wrong_command_is_told_with_its_place() {
        let check = |text, expected: &str| {
            let trouble = Command::parse(4, text).expect_err("it is wrong");
            assert_eq!(trouble.to_string(), format!("line 4, {expected}"));
        };
        check("", "column 1: the line ends; expected a command");
        check("crash broker1", "column 1: “crash”; expected a command; help lists them");
        check("kill", "column 5: the line ends; expected a process like broker1");
        check(
            "start a broker.rak=b",
            "column 9: no setting broker.rak; expected a setting's real name",
        );
        check("kill a b", "column 8: “b”; expected the end of the line");
        check("cut >b", "column 5: “>b”; expected a way like broker1>zk2");
        check("delay link=a>b by=3", "column 16: “3”; expected a length of time like 18s or 500ms");
        check(
            "add consumer c1 group=g topics=t acks=1",
            "column 34: “1”; expected acks as a setting that it has, in its limits",
        );
        check(
            "add consumer c1 group=g topics=t zookeeper.connect=zk1:9",
            "column 34: “zk1:9”; expected servers like zk1:2181,zk2:2181",
        );
        check(
            "add consumer c1 group=g topics=t:1001 zookeeper.connect=zk1:2181",
            "column 25: “t:1001”; expected topics like orders or orders:2",
        );
        check("disk a", "column 7: the line ends; expected slower-by=SPAN, full or free");
        check("clock a rate-percent=9", "column 9: “9”; expected a whole number from 10 to 1000");
        check("fix process=a draw=b", "column 21: the line ends; expected value=N");
    }

    #[test]
    fn each_release_has_its_consumers() {
        let refused = |release: Release, text: &str| {
            let mut setup = crate::cluster::Setup::default();
            setup.release = release;
            let cluster = crate::cluster::assemble(&setup, &mut Trace::default());
            let refusal = check(&Command::parse(1, text).expect("it is right"), &cluster).err();
            refusal.map(|refusal| refusal.to_string())
        };
        let new = "add consumer c1 group=g topics=t";
        let old = "add consumer c1 group=g topics=t zookeeper.connect=zk1,zk2:2181";
        for release in Release::ALL.iter().copied() {
            let has = (refused(release, old).is_none(), refused(release, new).is_none());
            let had = (release <= Release::V1_1_1, release >= Release::V0_10_2_2);
            assert_eq!(has, had, "{release}");
        }
        let gone =
            "Kafka 3.9.1 has no consumer that coordinates in ZooKeeper any more: 2.0 removed it";
        assert_eq!(refused(Release::V3_9_1, old).as_deref(), Some(gone));
        let nobody = "add consumer c1 group=g topics=t zookeeper.connect=zk9";
        let said = refused(Release::V1_1_1, nobody);
        assert_eq!(said.as_deref(), Some("there is no ZooKeeper server zk9"));
    }

    #[test]
    fn nothing_of_a_server_breaks_while_it_looks() {
        let mut trace = Trace::default();
        let mut cluster = crate::cluster::assemble(&crate::cluster::Setup::default(), &mut trace);
        let mut after = |until: SimTime| {
            cluster.advance_to(Moment::after(until), &mut trace);
            let command = Command::parse(1, "break zk1 requests").expect("it is right");
            check(&command, &cluster).err().map(|refusal| refusal.to_string())
        };
        let looks = "zk1 looks for a leader: it has no thread yet that could end";
        assert_eq!(after(SimTime::ZERO).as_deref(), Some(looks));
        assert_eq!(after(SimTime::ZERO + Span::secs(3)), None);
    }
}
