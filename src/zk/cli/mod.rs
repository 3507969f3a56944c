//! The command line client (`zkCli.sh`): what it makes of typed lines, what it asks the client
//! library for, and what it prints, to the letter.
//!
//! The session is not here: `shell` runs this machine beside a client.
//!
//! *Invariant: lines are run in the order typed, each after the one before it is done.*

mod commands;
mod first;
mod job;
mod line;
mod quota;

use std::collections::VecDeque;
use std::sync::Arc;

use commands::Start;
use job::Job;

use super::client::State;
use super::path::Path;
use super::release::Release;
use super::reply::{Answer, Error};
use super::request::Op;
use super::settings::Switch;
use super::stat::Bytes;
use crate::sim::List;

/// Why a command came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This was printed.
    Said(String),
    /// This was printed, and the program has ended.
    Died(String),
}

impl Refusal {
    fn said(text: &str) -> Refusal {
        Refusal::Said([text, "\n"].concat())
    }
}

/// What the program wants of its host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Ask the ensemble, and hand the answer back.
    Ask(Op),
    /// Add credentials.
    Authenticate(Path, Bytes),
    /// Close the session, and say when that is done.
    Close,
    /// Close the session, then open one, perhaps to another server.
    Connect(Option<String>),
    /// Close the session, then exit.
    Quit(u8),
    /// Exit at once.
    Die(u8),
}

/// Something on the screen.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Printed {
    /// Where it comes from.
    pub by: Hand,
    /// The text, line ends included.
    pub text: Arc<str>,
}

/// Who has written it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hand {
    /// Whoever types; the prompt stands before it.
    Person,
    /// A command.
    Command,
    /// The library, of its own accord.
    Watcher,
}

/// All commands of a release, for completion.
pub fn names(release: Release) -> Vec<&'static str> {
    if release.shell_is_the_first() { first::names() } else { commands::names(release) }
}

/// The program.
// Source: ZooKeeperMain.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cli {
    release: Release,
    server: Arc<str>,
    /// Whether there is a prompt (JLine).
    editing: Switch,
    print_watches: Switch,
    exit_code: u8,
    history: List<Arc<str>>,
    waiting: VecDeque<Arc<str>>,
    job: Option<Job>,
    /// Does it wait for its host?
    busy: bool,
    screen: List<Printed>,
}

impl Cli {
    /// A program that has not begun yet, to be told `server` on its command line.
    pub fn new(server: &str, editing: Switch) -> Cli {
        Cli {
            release: Release::V3_8_0,
            server: server.into(),
            editing,
            print_watches: Switch::On,
            exit_code: 0,
            history: List::default(),
            waiting: VecDeque::new(),
            job: None,
            busy: false,
            screen: List::default(),
        }
    }

    /// The same of another release.
    pub fn of_release(self, release: Release) -> Cli {
        Cli { release, ..self }
    }

    /// Which one it is.
    pub fn release(&self) -> Release {
        self.release
    }

    /// The same without a prompt, as where JLine is missing.
    pub fn without_line_editing(mut self) -> Cli {
        self.editing = Switch::Off;
        self
    }

    /// The program begins anew. What was on the screen stays there.
    pub fn begin(&mut self) {
        let screen = std::mem::take(&mut self.screen);
        let anew = Cli::new(&self.server, self.editing).of_release(self.release);
        *self = Cli { screen, ..anew };
        let editing = match self.editing {
            Switch::On => "JLine support is enabled\n",
            Switch::Off => "JLine support is disabled\n",
        };
        let text = ["Connecting to ", &self.server, "\nWelcome to ZooKeeper!\n", editing];
        self.print(Hand::Command, &text.concat());
    }

    /// All that was ever printed.
    pub fn screen(&self) -> &List<Printed> {
        &self.screen
    }

    /// What has been typed since it began.
    pub fn history(&self) -> &List<Arc<str>> {
        &self.history
    }

    /// The prompt; empty without line editing.
    // Source: ZooKeeperMain.getPrompt.
    pub fn prompt(&self, state: State) -> String {
        let state = match state {
            State::Connecting => "CONNECTING",
            State::Connected => "CONNECTED",
            State::ConnectedReadOnly => "CONNECTEDREADONLY",
            State::Closed | State::Expired => "CLOSED",
            State::AuthFailed => "AUTH_FAILED",
        };
        match self.editing {
            Switch::On => format!("[zk: {}({state}) {}] ", self.server, self.history.len()),
            Switch::Off => String::new(),
        }
    }

    /// Somebody types a line.
    pub fn enter(&mut self, line: Arc<str>) {
        self.waiting.push_back(line);
    }

    /// The library has told something.
    // Source: ZooKeeperMain.MyWatcher.process, WatchedEvent.toString.
    pub fn hear(&mut self, state: &str, kind: &str, path: &str) {
        if self.print_watches == Switch::On {
            let event = ["\nWATCHER::\n\nWatchedEvent state:", state, " type:", kind];
            self.print(Hand::Watcher, &[&event.concat(), " path:", path, "\n"].concat());
        }
    }

    /// The answer to what it has asked for.
    pub fn answered(&mut self, op: &Op, result: Result<Answer, Error>) {
        let Some(job) = &mut self.job else { return };
        self.busy = false;
        let outcome = match result {
            Err(error) if self.release.shell_is_the_first() && !job.bears_errors() => {
                Err(first::refusal(error, op))
            }
            result => job.answered(op, result),
        };
        match outcome {
            Ok(text) => self.print(Hand::Command, &text),
            Err(refusal) => {
                let _ = self.refuse(refusal);
            }
        }
    }

    /// What the host was asked to do is done.
    pub fn done(&mut self) {
        self.busy = false;
    }

    /// What to do next, if it is not busy. `state` is that of the client.
    pub fn next(&mut self, state: State) -> Option<Act> {
        while !self.busy {
            let act = match &mut self.job {
                Some(job) => match job.take_next() {
                    Some(op) => Some(Act::Ask(op)),
                    None => {
                        (self.job, self.exit_code) = (None, 0);
                        None
                    }
                },
                None => {
                    let line = self.waiting.pop_front()?;
                    self.run(&line, state)
                }
            };
            if act.is_some() {
                self.busy = !matches!(act, Some(Act::Authenticate(..)));
                return act;
            }
        }
        None
    }

    // Source: ZooKeeperMain.executeLine.
    fn run(&mut self, line: &Arc<str>, state: State) -> Option<Act> {
        let prompt = self.prompt(state);
        self.print(Hand::Person, &[&prompt, &**line, "\n"].concat());
        let words = self.split(line);
        if words.is_empty() {
            return None;
        }
        self.history.push(line.clone());
        let outcome = self.execute(&words, state);
        match outcome {
            Ok(act) => {
                self.exit_code = if matches!(act, Some(Act::Quit(_))) { self.exit_code } else { 0 };
                act
            }
            Err(refusal) => self.refuse(refusal),
        }
    }

    // Source: ZooKeeperMain.processCmd.
    fn refuse(&mut self, refusal: Refusal) -> Option<Act> {
        (self.job, self.exit_code) = (None, 1);
        match refusal {
            Refusal::Said(text) => {
                self.print(Hand::Command, &text);
                None
            }
            Refusal::Died(text) => {
                self.print(Hand::Command, &text);
                Some(Act::Die(1))
            }
        }
    }

    // Source: ZooKeeperMain.processZKCmd.
    fn execute(&mut self, words: &[String], state: State) -> Result<Option<Act>, Refusal> {
        let (name, first) = (words[0].as_str(), words.get(1).map(String::as_str));
        let is_first = self.release.shell_is_the_first();
        if is_first && !first::has(name) {
            self.print(Hand::Command, &first::usage());
            return Ok(None);
        }
        let command = commands::find(name, self.release);
        if command.is_none() && !is_first {
            self.print(Hand::Command, &commands::usage(self.release));
            return Err(Refusal::said(&["Command not found: Command not found ", name].concat()));
        }
        match (name, first) {
            ("quit", _) => {
                let text = if is_first { "Quitting...\n" } else { "" };
                self.print(Hand::Command, text);
                return Ok(Some(Act::Quit(self.exit_code)));
            }
            ("connect", server) => {
                self.server = server.map_or(self.server.clone(), Arc::from);
                return Ok(Some(Act::Connect(server.map(str::to_owned))));
            }
            ("redo", Some(number)) => return self.redo(number, state),
            ("history", _) => self.print_history(),
            ("printwatches", None) => {
                let on = self.print_watches == Switch::On;
                let text = if on { "printwatches is on\n" } else { "printwatches is off\n" };
                self.print(Hand::Command, text);
            }
            ("printwatches", Some(word)) => {
                self.print_watches = if word == "on" { Switch::On } else { Switch::Off };
            }
            _ => {}
        }
        if !state.is_alive() {
            self.print(Hand::Command, "Not connected\n");
            return Ok(None);
        }
        let mut said = String::new();
        let start = match command.filter(|_| !is_first) {
            None => first::read(words, &mut said),
            Some(command) => command.read(words, self.release, &mut said),
        };
        self.print(Hand::Command, &said);
        Ok(match start? {
            Start::Job(job) => {
                self.job = Some(job);
                None
            }
            Start::Print(text) => {
                self.print(Hand::Command, &text);
                None
            }
            Start::Authenticate(scheme, auth) => Some(Act::Authenticate(scheme, auth)),
            Start::Close => Some(Act::Close),
        })
    }

    fn split(&self, line: &str) -> Vec<String> {
        if self.release.shell_is_the_first() { first::split(line) } else { line::split(line) }
    }

    fn redo(&mut self, number: &str, state: State) -> Result<Option<Act>, Refusal> {
        let last = self.history.len() - 1;
        let Some(line) = number.parse().ok().filter(|at| *at < last) else {
            return Err(Refusal::said("Command index out of range"));
        };
        let line = self.history.get(line).expect("it was just counted").clone();
        let words = self.split(&line);
        if words[0] == "redo" {
            return Err(Refusal::said("No redoing redos"));
        }
        self.history.pop();
        self.history.push(line);
        self.execute(&words, state)
    }

    fn print_history(&mut self) {
        let first = self.history.len().saturating_sub(11);
        let rows = self.history.iter().enumerate().skip(first);
        let text: String = rows.map(|(at, line)| format!("{at} - {line}\n")).collect();
        self.print(Hand::Command, &text);
    }

    fn print(&mut self, by: Hand, text: &str) {
        if !text.is_empty() {
            self.screen.push(Printed { by, text: text.into() });
        }
    }
}
