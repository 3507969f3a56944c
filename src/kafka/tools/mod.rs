//! The command line tools, each a process that asks brokers or ZooKeeper, prints and exits.
//!
//! Not here: what brokers answer, and masks (a tool prints what it has).
//!
//! *Invariant: one tool is one process and one run; what it has printed stays when it has exited.*

pub mod admin;
pub mod configs;
pub mod console_consumer;
pub mod console_producer;
pub mod consumer_groups;
pub mod delete_records;
pub mod dialogue;
pub mod dump_log;
pub mod exception;
pub mod get_offsets;
mod groups_in_zookeeper;
pub mod groups_text;
pub mod leader_election;
pub mod log_dirs;
pub mod netcat;
pub mod preferred_election;
mod reassign_in_zookeeper;
pub mod reassign_partitions;
pub mod reassign_plan;
pub mod topics;
mod topics_in_zookeeper;
pub mod topics_text;
pub mod transactions;

use std::sync::Arc;

use self::admin::Admin;
use self::configs::Configs;
use self::console_consumer::ConsoleConsumer;
use self::consumer_groups::ConsumerGroups;
use self::delete_records::DeleteRecords;
use self::dialogue::{Dialogue, Next, Outcome, Past};
use self::get_offsets::GetOffsets;
use self::groups_in_zookeeper::OffsetChecker;
use self::leader_election::LeaderElection;
use self::log_dirs::LogDirs;
use self::netcat::Netcat;
use self::preferred_election::PreferredElection;
use self::reassign_partitions::ReassignPartitions;
use self::topics::Topics;
use self::transactions::Transactions;
use super::id::{CorrelationId, PARTITIONS};
use super::message::{Request, RequestMessage};
use super::release::Release;
use super::words::{Message, Timer, Words};
use super::zookeeper::{Asker, Heard, Picked, Zookeeper};
use crate::sim::{Event, Outbox, Process, ProcessId, SimTime, Span};
use crate::zk;

/// A tool with its command line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// `kafka-topics`.
    Topics(Topics),
    /// `kafka-consumer-groups`.
    ConsumerGroups(ConsumerGroups),
    /// `kafka-configs`.
    Configs(Configs),
    /// `kafka-leader-election`.
    LeaderElection(LeaderElection),
    /// `kafka-reassign-partitions`.
    ReassignPartitions(ReassignPartitions),
    /// `kafka-console-consumer`.
    ConsoleConsumer(ConsoleConsumer),
    /// `kafka-preferred-replica-election` (to 2.8).
    PreferredElection(PreferredElection),
    /// `ConsumerOffsetChecker` (to 0.8).
    OffsetChecker(OffsetChecker),
    /// `kafka-get-offsets`, or `GetOffsetShell`.
    GetOffsets(GetOffsets),
    /// `kafka-log-dirs`.
    LogDirs(LogDirs),
    /// `kafka-delete-records`.
    DeleteRecords(DeleteRecords),
    /// `kafka-transactions` (from 3.0 on).
    Transactions(Transactions),
}

/// What a tool leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Printed {
    /// What it has printed.
    pub words: Arc<str>,
    /// Its exit code.
    pub exit_code: u8,
}

impl Printed {
    /// The words of a tool that says with its exit code, too, that it has failed.
    pub fn failed(words: impl Into<Arc<str>>) -> Printed {
        Printed { words: words.into(), exit_code: 1 }
    }

    /// The words of a tool that has done what it could.
    pub fn done(words: impl Into<Arc<str>>) -> Printed {
        Printed { words: words.into(), exit_code: 0 }
    }
}

impl From<String> for Printed {
    fn from(words: String) -> Printed {
        Printed::done(words)
    }
}

/// How a shell ends that finds no such program.
// Source: POSIX, Shell Command Language, 2.8.2
const NOT_FOUND: u8 = 127;

/// The tool whose `--zookeeper` says which groups are meant.
const GROUPS: &str = "kafka-consumer-groups";

impl Command {
    /// The tool `name` with what its command line says, of which `shown` are the words.
    fn read(
        name: &str,
        arguments: &mut Arguments,
        shown: &str,
        door: Door,
    ) -> Result<Command, Usage> {
        Ok(match name {
            "kafka-topics" => Command::Topics(Topics::read(arguments, door)?),
            GROUPS => Command::ConsumerGroups(ConsumerGroups::read(arguments)?),
            "kafka-configs" => Command::Configs(Configs::read(arguments, shown, door)?),
            "kafka-leader-election" => Command::LeaderElection(LeaderElection::read(arguments)?),
            "kafka-reassign-partitions" => {
                Command::ReassignPartitions(ReassignPartitions::read(arguments)?)
            }
            "kafka-console-consumer" => Command::ConsoleConsumer(ConsoleConsumer::read(arguments)?),
            "kafka-preferred-replica-election" => {
                Command::PreferredElection(PreferredElection::read(arguments, door)?)
            }
            get_offsets::SCRIPT | get_offsets::CLASS => {
                Command::GetOffsets(GetOffsets::read(name, arguments)?)
            }
            "ConsumerOffsetChecker" => Command::OffsetChecker(OffsetChecker::read(arguments)?),
            "kafka-log-dirs" => Command::LogDirs(LogDirs::read(arguments)?),
            "kafka-delete-records" => Command::DeleteRecords(DeleteRecords::read(arguments)?),
            "kafka-transactions" => Command::Transactions(Transactions::read(arguments)?),
            _ => return Err(Usage::is_not(name, "a tool of Kafka's")),
        })
    }

    fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, Next> {
        if let Some(words) = self.missing(admin.release()) {
            let exit_code = if words.ends_with("not found") { NOT_FOUND } else { 1 };
            return Ok(Printed { words: format!("{words}\n").into(), exit_code });
        }
        match self {
            Command::Topics(tool) => tool.run(admin),
            Command::ConsumerGroups(tool) => tool.run(admin),
            Command::Configs(tool) => tool.run(admin),
            Command::LeaderElection(tool) => tool.run(admin),
            Command::ReassignPartitions(tool) => tool.run(admin),
            Command::ConsoleConsumer(tool) => tool.run(admin),
            Command::PreferredElection(tool) => tool.run(admin),
            Command::OffsetChecker(tool) => tool.run(admin),
            Command::GetOffsets(tool) => tool.run(admin),
            Command::LogDirs(tool) => tool.run(admin),
            Command::DeleteRecords(tool) => tool.run(admin),
            Command::Transactions(tool) => tool.run(admin),
        }
    }

    /// What is said where a release has it no more, or not yet.
    fn missing(&self, release: Release) -> Option<&'static str> {
        match self {
            Command::OffsetChecker(_) => (!release.has_old_consumers())
                .then_some("Could not find or load main class kafka.tools.ConsumerOffsetChecker"),
            Command::LeaderElection(_) => (!release.has_leader_election_tool())
                .then_some("kafka-leader-election: command not found"),
            Command::Configs(_) => {
                (!release.has_configs_tool()).then_some("kafka-configs: command not found")
            }
            Command::ConsumerGroups(_) => {
                (!release.has_new_consumers()).then_some("kafka-consumer-groups: command not found")
            }
            Command::GetOffsets(tool) => {
                tool.is_missing(release).then_some("kafka-get-offsets: command not found")
            }
            Command::LogDirs(_) => {
                (!release.tools_reach_logs()).then_some("kafka-log-dirs: command not found")
            }
            Command::DeleteRecords(_) => {
                (!release.tools_reach_logs()).then_some("kafka-delete-records: command not found")
            }
            Command::Transactions(_) => (!release.has_transactions_tool())
                .then_some("kafka-transactions: command not found"),
            Command::PreferredElection(_) => (!release.tools_know_zookeeper())
                .then_some("kafka-preferred-replica-election: command not found"),
            _ => None,
        }
    }

    /// An option that came later, or went before.
    fn too_new(&self, release: Release) -> Option<&'static str> {
        match self {
            Command::ConsumerGroups(tool) => tool.too_new(release),
            Command::Configs(tool) => tool.too_new(release),
            Command::ReassignPartitions(tool) => tool.too_new(release),
            Command::Topics(tool) => tool.too_new(release),
            _ => None,
        }
    }

    /// Whether it goes to ZooKeeper.
    fn opens_session(&self, release: Release) -> bool {
        if self.missing(release).is_some() {
            return false;
        }
        match self {
            Command::Topics(tool) => tool.is_in_zookeeper(release),
            Command::Configs(tool) => tool.are_in_zookeeper(release),
            Command::ReassignPartitions(_) => release.moves_are_wished_in_zookeeper(),
            Command::ConsumerGroups(tool) => tool.is_in_zookeeper(),
            Command::PreferredElection(tool) => tool.is_in_zookeeper(release),
            Command::OffsetChecker(_) => true,
            Command::LeaderElection(_)
            | Command::ConsoleConsumer(_)
            | Command::GetOffsets(_)
            | Command::LogDirs(_)
            | Command::DeleteRecords(_)
            | Command::Transactions(_) => false,
        }
    }
}

/// The brokers that a tool is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bootstrap {
    /// As the command line names them: `127.0.0.1:9091,127.0.0.1:9092`.
    pub shown: Arc<str>,
    /// The processes behind that.
    pub processes: Arc<[ProcessId]>,
    /// Of which release the tool is.
    pub release: Release,
    /// The ensemble as the command line names it.
    pub zookeeper_connect: Arc<str>,
    /// The servers behind that.
    pub ensemble: Arc<[zk::ensemble::Address]>,
}

impl Bootstrap {
    /// No brokers: to try whether a command line makes sense.
    pub fn nowhere() -> Bootstrap {
        Bootstrap {
            shown: "".into(),
            processes: Arc::from([]),
            release: Release::V3_9_1,
            zookeeper_connect: "".into(),
            ensemble: Arc::from([]),
        }
    }
}

/// The session timeout that a tool asks for.
// Source: TopicCommand, ConfigCommand, ReassignPartitionsCommand (KafkaZkClient of 30 s)
const SESSION_TIMEOUT: Span = Span::secs(30);

/// How a tool ends that does not know an option: how early it looks for one differs.
// Source: joptsimple.OptionException (3.2, 5.0); TopicCommand.mainNoExit (3.9)
// Real: the frames of the stack follow, or all options.
fn unknown_option(option: &str, command: &Command, release: Release) -> String {
    let quote = if release.topics_tool_is_the_first() { "'" } else { "" };
    let words = format!("{quote}{option}{quote} is not a recognized option");
    let thrown = format!("joptsimple.UnrecognizedOptionException: {words}");
    match command {
        Command::Topics(_) if !release.tools_are_in_scala() => format!("{words}\n{thrown}\n\n"),
        Command::Configs(_) if release.configs_tool_says_what_is_wrong() => format!("{words}\n"),
        Command::ConsoleConsumer(_) if release.console_tools_say_what_is_wrong() => {
            format!("{words}\n")
        }
        // Source: argparse4j, ArgumentParser.handleError. Real: how it is used comes before.
        Command::Transactions(_) => {
            format!("kafka-transactions.sh: error: unrecognized arguments: '--{option}'\n")
        }
        _ => format!("Exception in thread \"main\" {thrown}\n"),
    }
}

/// What a command line lacks, or has too much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The part that makes no sense; none if one is missing.
    pub part: Option<String>,
    /// What should be there.
    pub expected: String,
}

impl Usage {
    /// This part makes no sense.
    pub fn bad(part: &str) -> Usage {
        Usage::is_not(part, "an option as the tool has it")
    }

    /// This part is not what was `expected`.
    pub fn is_not(part: &str, expected: &str) -> Usage {
        Usage { part: Some(part.to_owned()), expected: expected.to_owned() }
    }

    /// The line ends before what was `expected`.
    pub fn lacks(expected: &str) -> Usage {
        Usage { part: None, expected: expected.to_owned() }
    }
}

/// Where a command line says that the tool is to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Door {
    Untold,
    Brokers,
    Zookeeper,
}

impl Door {
    fn option(self) -> &'static str {
        match self {
            Door::Untold => "",
            Door::Brokers => "bootstrap-server",
            Door::Zookeeper => "zookeeper",
        }
    }

    /// The same, if a tool of that release knows it not.
    // Source: KIP-377 (topics, 2.2; zookeeper removed in 3.0), KIP-455 (reassignment)
    fn refused(self, command: &Command, release: Release) -> Option<Door> {
        let knows = match self {
            Door::Untold => true,
            Door::Brokers => match command {
                // Source: KIP-635 (3.0)
                Command::GetOffsets(_) => !release.tools_are_in_scala(),
                Command::ConsoleConsumer(_) => release.has_new_consumers(),
                _ => !command.opens_session(release),
            },
            Door::Zookeeper => match command {
                Command::ConsoleConsumer(_) | Command::OffsetChecker(_) => {
                    release.has_old_consumers()
                }
                Command::LeaderElection(_)
                | Command::GetOffsets(_)
                | Command::LogDirs(_)
                | Command::DeleteRecords(_)
                | Command::Transactions(_) => false,
                _ => release.tools_know_zookeeper(),
            },
        };
        (!knows && command.missing(release).is_none()).then_some(self)
    }
}

/// The words of a command line that have not been understood yet.
pub struct Arguments(Vec<String>);

impl Arguments {
    /// The value behind this option, if it is given.
    pub fn value(&mut self, option: &str) -> Option<String> {
        let place = self.0.iter().position(|word| word == option)?;
        if place + 1 >= self.0.len() {
            return None;
        }
        self.0.remove(place);
        Some(self.0.remove(place))
    }

    /// The JSON behind this option, or behind the one that would name a file of it.
    // Real: it is in a file; here in the line, because there are no files.
    pub fn json(&mut self, option: &str) -> Option<String> {
        let file = self.value(&format!("{option}-file"));
        file.or_else(|| self.value(option))
    }

    /// The number behind this option, if it is given: one from `least` to `most`.
    pub fn number<N>(&mut self, option: &str, least: N, most: N) -> Result<Option<N>, Usage>
    where
        N: std::str::FromStr + PartialOrd + std::fmt::Display,
    {
        let Some(text) = self.value(option) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| least <= *number && *number <= most);
        let expected = || format!("{option} as a number from {least} to {most}");
        number.map(Some).ok_or_else(|| Usage::is_not(&text, &expected()))
    }

    /// The number of partitions behind this option, if it is given; what is too little the
    /// brokers say.
    pub fn partitions(&mut self, option: &str) -> Result<Option<i32>, Usage> {
        self.number(option, i32::from(i16::MIN), PARTITIONS)
    }

    /// What is to be done, where that is a word of its own before its options.
    pub fn action(&mut self) -> Option<String> {
        let is_there = self.0.first().is_some_and(|word| !word.starts_with('-'));
        is_there.then(|| self.0.remove(0))
    }

    /// Whether this option is given.
    pub fn switch(&mut self, option: &str) -> bool {
        let place = self.0.iter().position(|word| word == option);
        place.map(|place| self.0.remove(place)).is_some()
    }

    /// The one of these options that is given.
    pub fn one_of<T: Clone>(&mut self, options: &[(&str, T)]) -> Result<T, Usage> {
        let given = options.iter().find(|(option, _)| self.switch(option));
        let names = || options.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" or ");
        given.map(|(_, action)| action.clone()).ok_or_else(|| Usage::lacks(&names()))
    }

    /// Takes out where the tool is to ask: here it asks its cluster, whatever it is told. That
    /// groups are to be in ZooKeeper is left to be read.
    fn door(&mut self) -> Door {
        if self.value("--bootstrap-server").is_some() {
            return Door::Brokers;
        }
        let Some(place) = self.0.iter().position(|word| word == "--zookeeper") else {
            return Door::Untold;
        };
        if self.0.get(place + 1).is_some_and(|word| !word.starts_with("--")) {
            self.0.remove(place + 1);
        }
        Door::Zookeeper
    }

    /// Nothing is left.
    pub fn finish(&self) -> Result<(), Usage> {
        self.0.first().map_or(Ok(()), |word| Err(Usage::bad(word)))
    }
}

/// What a tool waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ToolTimer {
    /// The pause is over.
    Pause,
    /// `request.timeout.ms` is over.
    RequestTimeout,
}

impl ToolTimer {
    /// Its short name, for traces.
    pub fn name(self) -> &'static str {
        match self {
            ToolTimer::Pause => "tool-pause",
            ToolTimer::RequestTimeout => "tool-request-timeout",
        }
    }
}

/// `request.timeout.ms` and `default.api.timeout.ms` of admin clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Patience {
    request: Span,
    call: Span,
}

/// One run of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tool {
    name: Arc<str>,
    work: Work,
    bootstrap: Bootstrap,
    patience: Patience,
    dialogue: Dialogue,
    /// The questions without an answer: to whom, which, and what came of it.
    asked: Vec<(ProcessId, CorrelationId, Option<Outcome>)>,
    next_correlation: i32,
    printed: Option<Printed>,
    /// What was typed to run it.
    line: Arc<str>,
    /// When it began.
    begun: Option<SimTime>,
    /// Its handle to ZooKeeper, if it has one.
    zk: Option<Zookeeper>,
}

/// What a run is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Work {
    /// It asks brokers or ZooKeeper.
    Ask(Command),
    /// It asks nobody: what it prints is known when it begins.
    Say(Printed),
    /// It is no tool of Kafka's, and sends a server a word.
    Send(Netcat),
}

impl Tool {
    /// A run that prints what is known already.
    pub fn of_text(name: &str, words: &[String], bootstrap: Bootstrap, printed: Printed) -> Tool {
        Tool::new(name, words, bootstrap, Work::Say(printed))
    }

    /// A run that sends a word to a server; `words` are those behind `echo`.
    pub fn of_netcat(words: &[String], netcat: Netcat) -> Tool {
        Tool::new(netcat::NAME, words, Bootstrap::nowhere(), Work::Send(netcat))
    }

    fn new(name: &str, words: &[String], bootstrap: Bootstrap, work: Work) -> Tool {
        Tool {
            name: name.into(),
            work,
            bootstrap,
            patience: Patience { request: Span::secs(30), call: Span::secs(60) },
            dialogue: Dialogue::default(),
            asked: Vec::new(),
            next_correlation: 0,
            printed: None,
            line: format!("{name} {}", words.join(" ")).into(),
            begun: None,
            zk: None,
        }
    }

    /// The tool `name` with the words behind it, given these brokers to begin with.
    pub fn read(name: &str, words: &[String], bootstrap: Bootstrap) -> Result<Tool, Usage> {
        let mut arguments = Arguments(words.to_vec());
        let mut patience = None;
        let door = arguments.door();
        // How a client reaches the brokers is no matter here.
        arguments.value("--command-config");
        if name != GROUPS {
            arguments.switch("--zookeeper");
        }
        let shown = match door {
            Door::Untold => arguments.0.join(" "),
            Door::Brokers | Door::Zookeeper => words.join(" "),
        };
        if name == GROUPS
            && let Some(text) = arguments.value("--timeout")
        {
            let wanted = "--timeout as milliseconds from 1 on";
            let timeout = Span::parse_pause_ms(&text);
            let timeout = timeout.ok_or_else(|| Usage::is_not(&text, wanted))?;
            patience = Some(Patience { request: timeout, call: timeout });
        }
        let command = Command::read(name, &mut arguments, &shown, door)?;
        let refused = door.refused(&command, bootstrap.release);
        let unknown = refused.map(Door::option).or_else(|| command.too_new(bootstrap.release));
        let unknown = match &command {
            Command::Configs(tool) if tool.wants_zookeeper(bootstrap.release).is_some() => {
                tool.wants_zookeeper(bootstrap.release).map(str::to_owned)
            }
            _ => unknown.map(|option| unknown_option(option, &command, bootstrap.release)),
        };
        let opens = unknown.is_none() && command.opens_session(bootstrap.release);
        let zk = opens.then(|| {
            let (servers, timeout) = (bootstrap.ensemble.clone(), SESSION_TIMEOUT);
            Zookeeper::of_release(zk::client::Config { servers, timeout }, bootstrap.release)
        });
        let work = match unknown {
            Some(words) => Work::Say(Printed::failed(words)),
            None => Work::Ask(command),
        };
        let tool = Tool::new(name, words, bootstrap, work);
        Ok(Tool { zk, patience: patience.unwrap_or(tool.patience), ..tool })
    }

    /// Whether it goes to ZooKeeper.
    pub fn has_session(&self) -> bool {
        self.zk.is_some()
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was typed to run it.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// When it began, if it has.
    pub fn begun(&self) -> Option<SimTime> {
        self.begun
    }

    /// What it has printed, once it has exited.
    pub fn printed(&self) -> Option<&Arc<str>> {
        self.printed.as_ref().map(|printed| &printed.words)
    }

    /// Runs its code as far as it gets.
    fn go_on(&mut self, out: &mut Outbox<'_, Words>) {
        loop {
            let asking = self.dialogue.replay();
            let mut admin = Admin::new(asking, &self.bootstrap, self.patience.call);
            let done = match &self.work {
                Work::Ask(command) => command.run(&mut admin),
                Work::Say(printed) => Ok(printed.clone()),
                Work::Send(_) => unreachable!("it asks nobody"),
            };
            match done {
                Ok(printed) => {
                    self.printed = Some(printed);
                    return self.end(out);
                }
                Err(Next::Read(ops)) => {
                    let zk = self.zk.as_mut().expect("who asks ZooKeeper has a session");
                    let asked = zk.ask(Asker::Startup, ops, out);
                    assert!(asked, "nobody asks for nothing");
                    return;
                }
                Err(Next::Draw(draw, range)) => {
                    let value = out.draw(draw, range);
                    self.dialogue.note(out.now(), Past::Drawn(value));
                }
                Err(Next::Pause(span)) => {
                    out.arm(ToolTimer::Pause, span);
                    return;
                }
                Err(Next::Ask(questions)) => {
                    self.ask(questions, out);
                    return;
                }
            }
        }
    }

    fn end(&mut self, out: &mut Outbox<'_, Words>) {
        match &mut self.zk {
            Some(zk) => drop(zk.close(out)),
            None => self.exit(out),
        }
    }

    fn exit(&self, out: &mut Outbox<'_, Words>) {
        let printed = self.printed.as_ref();
        out.exit(printed.expect("it has printed what it had to").exit_code);
    }

    /// Takes what concerns its session; in a new one it begins again.
    fn heard(&mut self, heard: Heard, out: &mut Outbox<'_, Words>) {
        match heard {
            Heard::Session(_) => {
                self.dialogue = Dialogue::new(out.now());
                self.go_on(out);
            }
            Heard::Expired => self.zk.iter_mut().for_each(|zk| zk.reopen(out)),
            Heard::Closed => self.exit(out),
            Heard::Answered(_, replies) => {
                self.dialogue.note(out.now(), Past::Read(replies));
                self.go_on(out);
            }
            Heard::Watched(_) => {}
        }
    }

    fn ask(&mut self, questions: Vec<(ProcessId, Request)>, out: &mut Outbox<'_, Words>) {
        for (broker, request) in questions {
            let correlation_id = CorrelationId(self.next_correlation);
            self.next_correlation += 1;
            self.asked.push((broker, correlation_id, None));
            let client_id = self.name.as_ref().into();
            out.send(broker, RequestMessage { correlation_id, client_id, request });
        }
        out.arm(ToolTimer::RequestTimeout, self.patience.request);
    }

    /// Notes an outcome of those questions that `meant` names.
    fn hear(
        &mut self,
        outcome: &Outcome,
        meant: impl Fn(ProcessId, CorrelationId) -> bool,
        out: &mut Outbox<'_, Words>,
    ) {
        for (broker, correlation, heard) in &mut self.asked {
            if heard.is_none() && meant(*broker, *correlation) {
                *heard = Some(outcome.clone());
            }
        }
        let all = !self.asked.is_empty() && self.asked.iter().all(|(_, _, heard)| heard.is_some());
        if all {
            out.disarm(ToolTimer::RequestTimeout);
            let heard = self.asked.drain(..).filter_map(|(_, _, heard)| heard).collect();
            self.dialogue.note(out.now(), Past::Heard(heard));
            self.go_on(out);
        }
    }
}

impl Process for Tool {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        self.begun.get_or_insert(out.now());
        if let Work::Send(netcat) = &self.work {
            let netcat = netcat.clone();
            return self.exchange(netcat, event, out);
        }
        let event = match &mut self.zk {
            None => event,
            Some(zk) => match zk.pick(event) {
                Picked::Other(event) => event,
                Picked::Zk(event) => {
                    let heard = zk.handle(event, out);
                    return heard.into_iter().for_each(|heard| self.heard(heard, out));
                }
            },
        };
        match (event, &mut self.zk) {
            (Event::Boot, Some(zk)) => zk.open(out),
            (event, _) => self.handle_own(event, out),
        }
    }

    /// What it has printed stays: it is on paper.
    fn crash(&mut self) {
        self.asked.clear();
    }
}

impl Tool {
    /// Takes what does not concern its session.
    fn handle_own(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Boot => {
                self.dialogue = Dialogue::new(out.now());
                self.go_on(out);
            }
            Event::Message { from, message: Message::Response(answer) } => {
                let correlation = answer.correlation_id;
                let outcome = Outcome::Answered(answer.response);
                self.hear(&outcome, |broker, of| broker == from && of == correlation, out);
            }
            Event::Hangup { peer } => {
                self.hear(&Outcome::Disconnected, |broker, _| broker == peer, out)
            }
            Event::Timer(Timer::Tool(ToolTimer::Pause)) => {
                self.dialogue.note(out.now(), Past::Waited);
                self.go_on(out);
            }
            Event::Timer(Timer::Tool(ToolTimer::RequestTimeout)) => {
                for (broker, _, heard) in &self.asked {
                    if heard.is_none() {
                        out.hangup(*broker);
                    }
                }
                self.hear(&Outcome::TimedOut, |_, _| true, out);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::java_hash;

    #[test]
    fn a_hash_map_is_walked_as_the_recorded_tools_walked_it() {
        let check = |mut names: Vec<&str>, buckets, expected: &[&str]| {
            names.sort_by_key(|name| java_hash::place(java_hash::hash(name), buckets));
            assert_eq!(names, expected);
        };
        check(vec!["g-earliest", "g-none", "g-latest"], 16, &["g-latest", "g-earliest", "g-none"]);
        let configs = ["compression.type", "cleanup.policy", "segment.bytes", "max.message.bytes"];
        check(vec![configs[3], configs[2], configs[1], configs[0]], 64, &configs);
    }

    #[test]
    fn a_command_line_is_understood_whole_or_refused() {
        let read = |text: &str| {
            let words: Vec<String> = text.split(' ').skip(1).map(str::to_owned).collect();
            let bootstrap = Bootstrap::nowhere();
            Tool::read(text.split(' ').next().unwrap_or(""), &words, bootstrap)
        };
        assert!(read("kafka-topics --create --topic t --partitions 3 --config a=b").is_ok());
        assert!(read("kafka-consumer-groups --describe --group g --members --verbose").is_ok());
        assert!(read("kafka-topics --describe --topic t --paint green").is_err());
        assert!(read("kafka-mirror --all").is_err());
        let longest = Span::LONGEST.as_micros() / 1000;
        let patient = |ms: u64| read(&format!("kafka-consumer-groups --list --timeout {ms}"));
        assert!(patient(longest).is_ok() && patient(longest + 1).is_err());
        assert!(patient(u64::MAX).is_err());
        let add = "kafka-configs --alter --entity-type topics --entity-name t --add-config";
        assert!(read(&format!("{add} retention.ms=1,segment.bytes=2")).is_ok());
        assert!(read(&format!("{add} novalue")).is_err());
        assert!(read(&format!("{add} a=b,novalue")).is_err());
    }
}
