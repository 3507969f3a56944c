//! Plays the recorded sittings at the command line client: what is typed, what is printed, what
//! the watches tell, and how the program ends.
//! *Invariant: each step's text is compared to the letter, up to its masks.*

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zootrope::sim::{
    Event, KernelFact, Moment, Network, Outbox, Power, Process, ProcessId, Sim, Span, Trace,
};
use zootrope::zk::cli::{Hand, Printed};
use zootrope::zk::client::Config;
use zootrope::zk::ensemble::{Address, ServerId};
use zootrope::zk::server::Server;
use zootrope::zk::settings::{Settings, Switch};
use zootrope::zk::shell::Shell;
use zootrope::zk::words::{Request, Told, Words};

use super::super::{Played, Tally};
use super::mask;

/// How long a step takes.
const SETTLING: Span = Span::ms(100);
/// What the client asks for unless it is told otherwise.
const TIMEOUT: Span = Span::secs(30);
const SERVER: ProcessId = ProcessId(0);
const WATCHER: &str = "\nWATCHER::\n\n";

/// Plays every transcript, and the sitting with line editing.
pub fn play(recorded: &Value) -> Played {
    let Some(transcripts) = recorded.get("transcripts").and_then(Value::as_array) else {
        return Played::Unreadable("no transcripts".into());
    };
    let mut tally = Tally::default();
    for transcript in transcripts {
        let name = transcript.get("name").and_then(Value::as_str).unwrap_or("?");
        tally.case(play_transcript(transcript).map_err(|told| format!("{name}: {told}")));
    }
    if let Some(text) = recorded.get("with_line_editing").and_then(Value::as_str) {
        tally.case(play_sitting(text).map_err(|told| format!("with line editing: {told}")));
    }
    Played::Counted(tally)
}

fn play_transcript(transcript: &Value) -> Result<(), String> {
    let mut play = Play::new(Switch::Off);
    let steps = transcript.get("steps").and_then(Value::as_array).ok_or("no steps")?;
    for (place, step) in steps.iter().enumerate() {
        let command = step.get("command").unwrap_or(&Value::Null);
        play.step(step).map_err(|told| format!("step {place}, {command}: {told}"))?;
    }
    Ok(())
}

/// One text with everything in it. What comes by itself while nobody types has no fixed place
/// there: the first event stands before the last opening line or behind it.
fn play_sitting(text: &str) -> Result<(), String> {
    let mut play = Play::new(Switch::On);
    play.begin("a");
    let typed =
        text.lines().filter_map(|line| Some(line.strip_prefix("[zk: ")?.split_once("] ")?.1));
    for line in typed {
        play.type_in("a", line)?;
    }
    let came: String = play.unseen("a")?.iter().map(|printed| &*printed.text).collect();
    let (expected, came) = (opening_last(text), opening_last(&came));
    match mask::matches(&expected, &came) {
        true => Ok(()),
        false => Err(differ(&expected, &came)),
    }
}

fn opening_last(text: &str) -> String {
    let opening = "JLine support is enabled\n";
    let (before, after) = text.split_once("[zk: ").unwrap_or((text, ""));
    let before = before.replacen(opening, "", 1);
    [&before, opening, "[zk: ", after].concat()
}

fn differ(expected: &str, came: &str) -> String {
    format!("expected\n{expected}\ncame\n{came}")
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Actor {
    Server(Box<Server>),
    Shell(Box<Shell>),
}

impl Process for Actor {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match self {
            Actor::Server(server) => server.handle(event, out),
            Actor::Shell(shell) => shell.handle(event, out),
        }
    }

    fn crash(&mut self) {
        match self {
            Actor::Server(server) => server.crash(),
            Actor::Shell(shell) => shell.crash(),
        }
    }
}

struct Play {
    sim: Sim<Actor>,
    trace: Trace<Words>,
    editing: Switch,
    /// Each client's process, and how much of its screen has been looked at.
    clients: BTreeMap<String, (ProcessId, usize)>,
}

impl Play {
    fn new(editing: Switch) -> Play {
        let mut sim = Sim::new(1, Network::default());
        let settings = Settings { ttl_znodes: Switch::On, ..Settings::default() };
        sim.add("zk1", Actor::Server(Box::new(Server::standalone(settings))));
        let (trace, clients) = Default::default();
        let mut play = Play { sim, trace, editing, clients };
        play.sim.intervene(("start", None), &mut play.trace, |act| act.start(SERVER));
        play.settle();
        play
    }

    fn settle(&mut self) {
        let moment = Moment::after(self.sim.now() + SETTLING);
        self.sim.advance_to(moment, &mut self.trace);
    }

    /// The program is started, perhaps once more.
    fn begin(&mut self, label: &str) {
        let (sim, editing) = (&mut self.sim, self.editing);
        let (id, _) = *self.clients.entry(label.to_owned()).or_insert_with(|| {
            let servers = [Address { id: ServerId(1), process: SERVER }].into();
            let shell = Shell::new(Config { servers, timeout: TIMEOUT }, [].into());
            let shell = match editing {
                Switch::On => shell,
                Switch::Off => shell.without_line_editing(),
            };
            (sim.add(label, Actor::Shell(Box::new(shell))), 0)
        });
        sim.intervene(("start", Some(id)), &mut self.trace, |act| act.start(id));
        self.settle();
    }

    fn type_in(&mut self, label: &str, line: &str) -> Result<(), String> {
        let (id, _) = *self.clients.get(label).ok_or("no such client")?;
        let request = Request::Type(line.into());
        self.sim.intervene(("type", Some(id)), &mut self.trace, |act| act.request(id, request));
        self.settle();
        Ok(())
    }

    fn step(&mut self, step: &Value) -> Result<(), String> {
        let text = |name: &str| step.get(name).and_then(Value::as_str);
        let label = text("client").ok_or("no client")?;
        let runs = |play: &Play| {
            let known = play.clients.get(label);
            known.is_some_and(|(id, _)| play.sim.power(*id) == Power::Running)
        };
        match text("command") {
            None if !runs(self) => self.begin(label),
            None => self.settle(),
            Some(line) => self.type_in(label, line)?,
        }
        let printed = self.unseen(label)?;
        let by = |hand| printed.iter().filter(move |printed| printed.by == hand);
        let output: String = by(Hand::Command).map(|printed| &*printed.text).collect();
        let expected = text("output").unwrap_or_default();
        if !mask::matches(expected, &output) {
            return Err(differ(expected, &output));
        }
        let events: Vec<&str> = by(Hand::Watcher)
            .map(|printed| printed.text.trim_start_matches(WATCHER).trim_end())
            .collect();
        let expected = step.get("watch_events").cloned().unwrap_or(json!([]));
        if expected != json!(events) {
            return Err(format!("expected events {expected}, came {}", json!(events)));
        }
        let exit = if runs(self) { Value::Null } else { json!(self.exit_code(label)) };
        let expected = step.get("exit").unwrap_or(&Value::Null);
        if *expected != exit {
            return Err(format!("expected exit {expected}, came {exit}"));
        }
        Ok(())
    }

    /// What has come on a client's screen since somebody looked.
    fn unseen(&mut self, label: &str) -> Result<Vec<Printed>, String> {
        let (id, seen) = self.clients.get_mut(label).ok_or("no such client")?;
        let Actor::Shell(shell) = self.sim.process(*id) else { return Err("no client".into()) };
        let screen = shell.cli().screen();
        let unseen = screen.iter().skip(*seen).cloned().collect();
        *seen = screen.len();
        Ok(unseen)
    }

    /// How a program has ended.
    fn exit_code(&self, label: &str) -> Option<u8> {
        let facts = self.trace.iter().flat_map(|record| record.facts().collect::<Vec<_>>());
        facts.fold(None, |last, fact| match fact {
            Told::Kernel(KernelFact::Exited { process, code }) if process.0.as_ref() == label => {
                Some(*code)
            }
            _ => last,
        })
    }
}
