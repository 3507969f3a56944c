//! The console: what has been typed at `zkCli.sh` and at Kafka's tools, and what they printed.
//!
//! Not here: what the programs print (`zk::cli`, `kafka::tools`), and the field that is typed in.
//! *Invariant: all that is shown has happened before the cursor.*

use std::sync::Arc;

use super::ensemble::{Run, witness};
use crate::cluster::{COMMANDS, Command, Row, Trouble, check};
use crate::kafka::tools::console_producer::{self, ConsoleProducer};
use crate::kafka::tools::netcat;
use crate::lab::Lab;
use crate::sim::{Power, ProcessName, SimTime};
use crate::text::Phrase;
use crate::zk::cli::{self, Cli, Hand};
use crate::zk::client::State;
use crate::zk::four_letter;
use crate::zk::settings::Switch;
use crate::zk::shell::Shell;

/// The client that the page types at.
const SHELL: &str = "zkcli";
/// How many lines are kept in view.
const KEPT: usize = 200;

/// Who says a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// Whoever types: the prompt, and the line behind it.
    Person,
    /// A program.
    Program,
    /// A watch that rings.
    Watch,
    /// A command that no program was typed at: a button was pushed, or the recording has it.
    Deed,
    /// Why a line was not taken.
    Refusal,
}

/// A line that was typed at the tools and is no command that could be done then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// When it was typed.
    pub at: SimTime,
    /// What stood before it.
    pub prompt: &'static str,
    /// What was typed.
    pub line: Arc<str>,
    /// What is said to it.
    pub answer: String,
    /// Who says that.
    pub voice: Voice,
}

/// A line of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Who says it.
    pub voice: Voice,
    /// What stands before it and is not typed.
    pub prompt: String,
    /// The line.
    pub text: String,
}

/// One of the two panes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pane {
    /// What it is connected to.
    pub about: Phrase,
    /// What is on the screen.
    pub lines: Vec<Said>,
    /// What stands before the line that is typed.
    pub prompt: String,
    /// The lines that were typed, the oldest first.
    pub history: Vec<Arc<str>>,
}

/// Which program is typed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `zkCli.sh`.
    ZkCli,
    /// Kafka's tools, and every other command.
    Tools,
}

/// What a pane shows, given what was tried at the tools.
pub fn pane(program: Program, lab: &Lab, tried: &[Tried]) -> Pane {
    let mut pane = match program {
        Program::ZkCli => zk_cli(Run::of(lab)),
        Program::Tools => tools(lab, tried),
    };
    let hidden = pane.lines.len().saturating_sub(KEPT);
    pane.lines.drain(..hidden);
    pane
}

fn shell(run: Run<'_>) -> Option<(Power, &Shell)> {
    let id = run.cluster.find(SHELL)?;
    Some((run.cluster.power(id), run.cluster.process(id).shell()?))
}

fn zk_cli(run: Run<'_>) -> Pane {
    let Some((_, shell)) = shell(run) else {
        let prompt = Cli::new("", Switch::On).prompt(State::Closed);
        let (lines, history) = (Vec::new(), Vec::new());
        return Pane { about: Phrase::key("console.nobody"), lines, prompt, history };
    };
    let session = shell.client().and_then(|client| Some((client.server()?, client.session())));
    let about = match session {
        None => Phrase::key("console.no-session"),
        Some((server, session)) => {
            let named = Phrase::key("console.session").with("server", server);
            named.with("session", session)
        }
    };
    let lines = shell.cli().screen().iter().flat_map(|printed| said(printed.by, &printed.text));
    let history = shell.cli().history().iter().cloned().collect();
    Pane { about, lines: lines.collect(), prompt: shell.prompt(), history }
}

fn said(by: Hand, text: &str) -> impl Iterator<Item = Said> {
    let voice = match by {
        Hand::Person => Voice::Person,
        Hand::Command => Voice::Program,
        Hand::Watcher => Voice::Watch,
    };
    text.lines().filter(|line| !line.is_empty()).map(move |line| {
        let typed = line.split_once("] ").filter(|_| by == Hand::Person);
        let (prompt, text) = typed.map_or(("", line), |(prompt, text)| (prompt, text));
        let prompt = if prompt.is_empty() { String::new() } else { format!("{prompt}] ") };
        Said { voice, prompt, text: text.to_owned() }
    })
}

/// The runs of the tools and what else was done or tried, in the order of their beginnings.
fn tools(lab: &Lab, tried: &[Tried]) -> Pane {
    let (runs, deeds): (Vec<_>, Vec<_>) = lab
        .given()
        .iter()
        .filter(|(_, command)| !matches!(command, Command::Enter { .. }))
        .partition(|(_, command)| matches!(command, Command::Type { .. }));
    let mut done: Vec<(SimTime, Vec<Said>)> = Vec::new();
    let producers = producers(lab);
    for (moment, command) in deeds {
        done.push((moment.at, vec![deed(command, &producers)]));
    }
    done.extend(producers.iter().map(|begun| (begun.at, vec![person("$ ", begun.line.clone())])));
    for tool in lab.cluster().processes().filter_map(|(_, _, process)| process.tool()) {
        let Some(begun) = tool.begun() else { continue };
        let mut lines = vec![person("$ ", tool.line().to_owned())];
        lines.extend(said(Hand::Command, tool.printed().map_or("", |text| text)));
        done.push((begun, lines));
    }
    let mut history: Vec<(SimTime, Arc<str>)> =
        runs.into_iter().map(|(moment, run)| (moment.at, run.to_string().into())).collect();
    for one in tried.iter().filter(|one| one.at <= lab.moment().at) {
        let mut lines = vec![person(one.prompt, one.line.to_string())];
        lines.extend(one.answer.lines().map(|text| Said {
            voice: one.voice,
            prompt: String::new(),
            text: text.to_owned(),
        }));
        done.push((one.at, lines));
        history.push((one.at, one.line.clone()));
    }
    crate::sim::sort::by_key(&mut done, |(at, _)| *at);
    crate::sim::sort::by_key(&mut history, |(at, _)| *at);
    let (about, prompt) = match typed_at(lab) {
        Some(_) => ("console.producing", PRODUCING),
        None => ("console.tools.about", "$ "),
    };
    Pane {
        about: Phrase::key(about),
        lines: done.into_iter().flat_map(|(_, lines)| lines).collect(),
        prompt: prompt.into(),
        history: history.into_iter().map(|(_, line)| line).collect(),
    }
}

fn person(prompt: &str, text: String) -> Said {
    Said { voice: Voice::Person, prompt: prompt.into(), text }
}

/// A command: a line of input where it was sent to a console producer.
fn deed(command: &Command, producers: &[Begun]) -> Said {
    if let Command::Send { process, record } = command
        && let Some(begun) = producers.iter().find(|begun| begun.name == *process)
    {
        return person(PRODUCING, begun.producer.line(record));
    }
    Said { voice: Voice::Deed, prompt: "◆ ".into(), text: command.to_string() }
}

/// What stands before a line that a console producer reads.
const PRODUCING: &str = ">";
/// The line that ends its input: the key is `Ctrl-D`.
const END: &str = "^D";

/// A console producer that runs, or has run.
struct Begun {
    at: SimTime,
    name: ProcessName,
    line: String,
    producer: ConsoleProducer,
}

/// All console producers that were begun. Each run has made one process, in their order: a tool
/// where it was refused.
fn producers(lab: &Lab) -> Vec<Begun> {
    let is_run =
        |command: &Command| matches!(command, Command::Type { tool: console_producer::NAME, .. });
    let mut runs = lab.given().iter().filter(|(_, command)| is_run(command));
    let mut begun = Vec::new();
    for (_, name, process) in lab.cluster().processes() {
        let is_tool = process.tool().is_some_and(|tool| tool.name() == console_producer::NAME);
        let typed = process.producer().and_then(|producer| producer.settings().typed.as_ref());
        if !is_tool && typed.is_none() {
            continue;
        }
        let Some((moment, run)) = runs.next() else { break };
        let words = typed.map(|words| words.iter().map(|word| word.to_string()).collect());
        let words: Option<Vec<String>> = words;
        if let Some(Ok(producer)) = words.map(|words| ConsoleProducer::read(&words)) {
            let (name, line) = (ProcessName(name.into()), run.to_string());
            begun.push(Begun { at: moment.at, name, line, producer });
        }
    }
    begun
}

/// The console producer that is typed at: the last one, while it runs.
fn typed_at(lab: &Lab) -> Option<(ProcessName, ConsoleProducer)> {
    let Begun { name, producer, .. } = producers(lab).pop()?;
    let id = lab.cluster().find(&name.0)?;
    let closes = || lab.cluster().process(id).producer().is_some_and(|of| !of.is_running());
    (lab.cluster().power(id) != Power::Off && !closes()).then_some((name, producer))
}

/// What is said to a line typed at the tools that does nothing to the cluster.
pub fn answered(line: &str, lab: &Lab) -> Option<Tried> {
    if let Some((_, producer)) = typed_at(lab) {
        let answer = producer.record(line).err().filter(|_| line.trim() != END)?;
        let (at, voice) = (lab.moment().at, Voice::Refusal);
        return Some(Tried { at, prompt: PRODUCING, line: line.into(), answer, voice });
    }
    let line = line.trim().trim_start_matches("$ ");
    let (answer, voice) = match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
        ("help", word) => (help(word.trim()), Voice::Program),
        _ => (refused(line, lab)?, Voice::Refusal),
    };
    Some(Tried { at: lab.moment().at, prompt: "$ ", line: line.into(), answer, voice })
}

/// What can be typed: all commands with their usage, or one with an example.
fn help(word: &str) -> String {
    let named = |row: &&Row| row.name == word;
    let Some(row) = COMMANDS.iter().find(named) else {
        let usages: Vec<&str> = COMMANDS.iter().map(|row| row.usage).collect();
        return format!("{}\nhelp COMMAND", usages.join("\n"));
    };
    format!("{}\n{}", row.usage.replace(" | ", "\n"), row.example)
}

fn refused(line: &str, lab: &Lab) -> Option<String> {
    let command = match Command::parse(1, line) {
        Ok(command) => command,
        Err(Trouble { column, what, expected, .. }) => {
            return Some(format!("column {column}: {what}; expected {expected}"));
        }
    };
    check(&command, lab.cluster()).err().map(|refusal| refusal.to_string())
}

/// The commands that typing a line stands for, in the words of a script.
pub fn meant(program: Program, line: &str, lab: &Lab) -> Vec<String> {
    if program == Program::Tools {
        return match typed_at(lab) {
            None => vec![line.trim().trim_start_matches("$ ").to_owned()],
            Some((process, _)) if line.trim() == END => vec![format!("let {process} close")],
            Some((process, producer)) => {
                let record = producer.record(line).into_iter();
                let send = |record| Command::Send { process: process.clone(), record }.to_string();
                record.map(send).collect()
            }
        };
    }
    let begin = match shell(Run::of(lab)) {
        None => Some(format!("add client {SHELL}")),
        Some((Power::Off, _)) => Some(format!("start {SHELL}")),
        Some(_) => None,
    };
    let (process, line) = (ProcessName(SHELL.into()), line.into());
    begin.into_iter().chain([Command::Enter { process, line }.to_string()]).collect()
}

/// The command that ends the input of what is typed at, if it reads input.
pub fn ended(lab: &Lab) -> Option<String> {
    typed_at(lab).map(|(process, _)| format!("let {process} close"))
}

/// The line with its last word completed as far as that is clear, and what it could be if not.
// Source: ZooKeeperMain.ZooKeeperCompleter (JLineZNodeCompleter): commands, then paths.
pub fn completed(program: Program, line: &str, lab: &Lab) -> (String, Vec<String>) {
    let begun = line.rfind(' ').map_or(0, |space| space + 1);
    let (before, word) = line.split_at(begun);
    let could_be: Vec<String> = match program {
        Program::ZkCli if begun == 0 => {
            let names = cli::names(lab.setup().zookeeper_release());
            names.into_iter().map(str::to_owned).collect()
        }
        Program::ZkCli => children(word, Run::of(lab)),
        Program::Tools if before.starts_with("echo ") => piped(before, Run::of(lab)),
        Program::Tools if begun == 0 => COMMANDS.iter().map(|row| row.name.to_owned()).collect(),
        Program::Tools => options(before),
    };
    let could_be: Vec<String> =
        could_be.into_iter().filter(|candidate| candidate.starts_with(word)).collect();
    let Some(first) = could_be.first() else { return (line.to_owned(), could_be) };
    let common = could_be.iter().fold(first.as_str(), |common, other| shared(common, other));
    let end = if could_be.len() == 1 && !common.starts_with('/') { " " } else { "" };
    (format!("{before}{common}{end}"), could_be)
}

fn shared<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
    &one[..same.map(|((at, a), _)| at + a.len_utf8()).last().unwrap_or(0)]
}

/// The paths of the znodes that a path could go on to.
// Real: the client asks its server for the children; here what the newest server has is looked at,
// because a line that is not entered yet must not change the run.
fn children(path: &str, run: Run<'_>) -> Vec<String> {
    let Some((parent, _)) = path.rsplit_once('/') else { return Vec::new() };
    let Some((_, database)) = witness(run.cluster) else { return Vec::new() };
    let top = if parent.is_empty() { "/" } else { parent };
    let znode = database.tree.znode(top);
    let names = znode.map(|znode| znode.child_names());
    let names = names.iter().flat_map(|names| names.iter());
    names.map(|name| format!("{parent}/{name}")).collect()
}

/// What could come next in `echo WORD | nc SERVER 2181`.
fn piped(before: &str, run: Run<'_>) -> Vec<String> {
    let one = |word: &str| vec![word.to_owned()];
    match before.split_whitespace().count() {
        1 => four_letter::words().map(str::to_owned).collect(),
        2 => one("|"),
        3 => one(netcat::PROGRAM),
        4 => {
            let all = run.cluster.processes().filter(|(.., process)| process.zk().is_some());
            all.map(|(_, name, _)| name.to_owned()).collect()
        }
        5 => one(netcat::PORT),
        _ => Vec::new(),
    }
}

/// The options of the command that a line begins with.
fn options(line: &str) -> Vec<String> {
    let row = COMMANDS.iter().find(|row| line.split(' ').next() == Some(row.name));
    let words = row.into_iter().flat_map(|row| row.usage.split([' ', '|', '[', ']']));
    let mut found: Vec<String> = Vec::new();
    for word in words.filter(|word| word.starts_with("--")) {
        if !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Recording;
    use crate::sim::{Moment, Span};

    /// A lab at which these lines have been typed, each answered within a second.
    fn after(lines: &[(Program, &str)]) -> Lab {
        let setup = "# zootrope 1\nsetup seed=1 zookeeper=1 brokers=1\n";
        let mut lab = Lab::new(Recording::parse(setup).expect("it is written rightly"));
        lab.advance_to(SimTime::ZERO + Span::secs(8));
        for (program, line) in lines {
            for command in meant(*program, line, &lab) {
                let command = Command::parse(1, &command).expect("the console writes rightly");
                lab.issue(command).expect("it can be done");
            }
            let later = lab.moment().at + Span::secs(1);
            lab.advance_to(later);
        }
        lab
    }

    #[test]
    fn the_first_line_opens_a_session() {
        let lab = after(&[(Program::ZkCli, "ls /brokers/ids"), (Program::ZkCli, "get -w \"/no\"")]);
        let pane = pane(Program::ZkCli, &lab, &[]);
        let texts: Vec<&str> = pane.lines.iter().map(|said| said.text.as_str()).collect();
        assert_eq!(texts[texts.len() - 3..], ["[1]", "get -w \"/no\"", "Node does not exist: /no"]);
        assert!(texts.contains(&"ls /brokers/ids"), "{texts:?}");
        assert_eq!(pane.history.len(), 2);
        assert_eq!(pane.prompt, "[zk: zk1:2181(CONNECTED) 2] ");
    }

    #[test]
    fn tools_print_and_deeds_stand_among_them() {
        let tool = "kafka-topics --list";
        let lab = after(&[
            (Program::Tools, "topic orders partitions=1 replicas=1"),
            (Program::Tools, tool),
            (Program::Tools, "kill broker1"),
        ]);
        let pane = pane(Program::Tools, &lab, &[]);
        let lines: Vec<String> =
            pane.lines.iter().map(|said| format!("{}{}", said.prompt, said.text)).collect();
        assert_eq!(lines[0], "◆ topic orders partitions=1 replicas=1", "{lines:?}");
        assert!(lines.len() > 3, "{lines:?}");
        assert_eq!(lines[lines.len() - 3..], ["$ kafka-topics --list", "orders", "◆ kill broker1"]);
        assert_eq!(pane.history, [tool.into()]);
    }

    #[test]
    fn a_server_is_asked_for_a_word() {
        let words = ["echo ruok | nc zk1 2181", "kill zk1", "echo ruok | nc zk1 2181"];
        let lab = after(&words.map(|line| (Program::Tools, line)));
        let pane = pane(Program::Tools, &lab, &[]);
        let lines: Vec<&str> = pane.lines.iter().map(|said| said.text.as_str()).collect();
        let shut = "ruok is not executed because it is not in the whitelist.";
        assert_eq!(lines, [words[0], shut, words[1], words[2], "Ncat: Connection refused."]);
        assert_eq!(pane.history.len(), 2);
    }

    #[test]
    fn a_console_producer_sends_what_is_typed_until_it_ends() {
        let start = "kafka-console-producer.sh --topic orders --property parse.key=true \
                     --property key.separator=:";
        let lab = after(&[
            (Program::Tools, "topic orders partitions=1 replicas=1"),
            (Program::Tools, start),
            (Program::Tools, "k1:v1"),
            (Program::Tools, "k2:v2"),
        ]);
        let none = answered("no key", &lab).expect("it is no record");
        assert_eq!(none.answer, "No key separator found on line number 1: 'no key'");
        assert_eq!(super::pane(Program::Tools, &lab, &[]).prompt, ">");
        assert_eq!(meant(Program::Tools, "^D", &lab), ["let kafka-console-producer close"]);
        let mut lab = lab;
        for line in ["^D", "kafka-console-consumer --topic orders --from-beginning"] {
            let command = meant(Program::Tools, line, &lab).remove(0);
            lab.issue(Command::parse(1, &command).expect("it is right")).expect("it can be");
            lab.advance_to(lab.moment().at + Span::secs(2));
        }
        let pane = super::pane(Program::Tools, &lab, &[]);
        let said = |said: &Said| format!("{}{}", said.prompt, said.text);
        let lines: Vec<String> = pane.lines.iter().map(said).collect();
        assert!(lines.iter().any(|line| line.starts_with("$ kafka-console-producer --topic")));
        assert_eq!(
            lines[lines.len() - 7..],
            [
                ">k1:v1",
                ">k2:v2",
                "◆ let kafka-console-producer close",
                "$ kafka-console-consumer --topic orders --from-beginning",
                "v1",
                "v2",
                "Processed a total of 2 messages",
            ]
        );
    }

    #[test]
    fn a_refused_run_stands_once_in_the_pane() {
        let setup = "# zootrope 1\nsetup release=2.3.1 seed=1 zookeeper=1 brokers=1\n";
        let mut lab = Lab::new(Recording::parse(setup).expect("it is written rightly"));
        lab.advance_to(lab.moment().at + Span::secs(10));
        for door in ["--bootstrap-server", "--broker-list"] {
            let line = format!("kafka-console-producer {door} broker1:9092 --topic orders");
            lab.issue(Command::parse(1, &line).expect("it is right")).expect("it can be");
            lab.advance_to(lab.moment().at + Span::secs(2));
        }
        let pane = super::pane(Program::Tools, &lab, &[]);
        let said: Vec<&str> = pane.lines.iter().map(|said| said.text.as_str()).collect();
        assert_eq!(
            said,
            [
                "kafka-console-producer --bootstrap-server broker1:9092 --topic orders",
                "bootstrap-server is not a recognized option",
                "kafka-console-producer --broker-list broker1:9092 --topic orders",
            ]
        );
        let meant = meant(Program::Tools, "v1", &lab);
        assert_eq!(meant, ["send kafka-console-producer-2 topic=orders value=v1"]);
    }

    #[test]
    fn a_line_that_does_nothing_stays_with_what_is_said_to_it() {
        let mut lab = after(&[]);
        let lines = ["foo", "kill broker99", "add broker", "help kill", "kafka-topics --create x"];
        let tried: Vec<Tried> = lines.iter().filter_map(|line| answered(line, &lab)).collect();
        assert_eq!(answered("kafka-topics --list", &lab), None);
        let pane = pane(Program::Tools, &lab, &tried);
        let said: Vec<&str> = pane.lines.iter().map(|said| said.text.as_str()).collect();
        assert_eq!(
            said,
            [
                "foo",
                "column 1: “foo”; expected a command; help lists them",
                "kill broker99",
                "there is no process broker99",
                "add broker",
                "column 11: the line ends; expected the id of a broker",
                "help kill",
                "kill PROCESS",
                "kill broker1",
                "kafka-topics --create x",
                "column 23: “x”; expected an option as the tool has it",
            ]
        );
        assert_eq!(pane.history.len(), lines.len());
        let all = answered("help", &lab).expect("it does nothing").answer;
        assert!(COMMANDS.iter().all(|row| all.contains(row.usage)));
        lab.seek(Moment::before(SimTime::ZERO));
        assert_eq!(super::pane(Program::Tools, &lab, &tried).lines, []);
    }

    #[test]
    fn a_word_is_completed_as_far_as_it_is_clear() {
        let lab = after(&[]);
        for (program, line, expected) in [
            (Program::ZkCli, "ls /bro", "ls /brokers"),
            (Program::ZkCli, "ls /brokers/", "ls /brokers/"),
            (Program::ZkCli, "getAc", "getAcl "),
            (Program::ZkCli, "nothing /like", "nothing /like"),
            (Program::Tools, "kafka-to", "kafka-topics "),
            (Program::Tools, "kafka-topics --descr", "kafka-topics --describe "),
            (Program::Tools, "echo ru", "echo ruok "),
            (Program::Tools, "echo ruok ", "echo ruok | "),
            (Program::Tools, "echo ruok | nc z", "echo ruok | nc zk1 "),
        ] {
            assert_eq!(completed(program, line, &lab).0, expected);
        }
        assert_eq!(completed(Program::ZkCli, "ls /brokers/", &lab).1.len(), 3);
    }
}
