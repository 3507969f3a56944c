//! The recording: set-up and commands at their moments, and the moment that was looked at last.
//!
//! Its text is a script: what a link carries, a bug report holds and a scenario begins from.
//! *Invariant:* the text round-trips, and the commands are in the order of their moments.

use crate::cluster::notation::{Line, Told, Word};
use crate::cluster::{Command, Setup, Trouble};
use crate::sim::Moment;
use std::fmt;

/// All that is saved of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// How the run began.
    pub setup: Setup,
    /// What was done, and when.
    pub commands: Vec<(Moment, Command)>,
    /// Where whoever saved it stood.
    pub until: Moment,
}

/// A situation that can be watched: a recording with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// The key of what it is about, where a new part of the list begins.
    pub part: Option<&'static str>,
    /// The key of its name.
    pub name: &'static str,
    text: &'static str,
}

/// Every situation, in the order of their numbers.
// A block of the file is one; `##` begins a part, `#` is its name.
pub fn situations() -> impl Iterator<Item = Situation> {
    let texts = include_str!("../lessons/situations/recordings.txt").split("\n\n");
    texts.skip(1).map(|text| {
        let mut lines = text.lines();
        let mut name = lines.next().unwrap_or_default();
        let part = name.strip_prefix("## ");
        if part.is_some() {
            name = lines.next().unwrap_or_default();
        }
        Situation { part, name: name.strip_prefix("# ").unwrap_or_default(), text }
    })
}

impl Situation {
    /// The run: one of its own, or the first visit's cluster and what befalls it.
    pub fn recording(self) -> Recording {
        let own = Recording::parse(self.text).expect("a test reads it");
        if self.text.contains("\nsetup ") {
            return own;
        }
        let mut recording = Recording::first_visit();
        recording.commands.extend(own.commands);
        recording.until = own.until;
        recording
    }
}

/// The first line of every recording; a later form will have another number.
pub const HEADING: &str = "# zootrope 1";

impl Recording {
    /// A run to which nothing has been done yet.
    pub fn new(setup: Setup) -> Recording {
        Recording { setup, commands: Vec::new(), until: Moment::default() }
    }

    /// What a first visitor sees: the default cluster, a topic, a producer and a group.
    pub fn first_visit() -> Recording {
        let text = include_str!("../lessons/first_visit/recording.txt");
        Recording::parse(text).expect("a test reads it")
    }

    /// A situation's, by its number from 1.
    pub fn situation(number: usize) -> Option<Recording> {
        situations().nth(number.checked_sub(1)?).map(Situation::recording)
    }

    /// Reads the text of a recording.
    pub fn parse(text: &str) -> Result<Recording, Trouble> {
        let mut recording = Recording::new(Setup::default());
        for (number, text) in (1..).zip(text.lines()) {
            let mut line = Line::parse(number, text)?;
            if line.is_empty() {
                continue;
            }
            let verb = line.word("setup, at or until")?;
            match verb.text.as_str() {
                "setup" => recording.setup = Setup::parse(&mut line)?,
                "at" => recording.command(&mut line)?,
                "until" => recording.until = line.word("a moment like 10.214")?.moment()?,
                _ => return Err(verb.is_not("setup, at or until")),
            }
            line.finish()?;
        }
        Ok(recording)
    }

    fn command(&mut self, line: &mut Line) -> Result<(), Trouble> {
        let word: Word = line.word("a moment like 10.214")?;
        let moment = word.moment()?;
        if self.commands.last().is_some_and(|(before, _)| *before > moment) {
            return Err(word.is_not("a moment no earlier than the one before"));
        }
        let verb = line.word("a command")?;
        self.commands.push((moment, Command::parse_after(&verb, line)?));
        Ok(())
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADING}\n{}", self.setup)?;
        for (moment, command) in &self.commands {
            writeln!(f, "at {} {command}", Told(*moment))?;
        }
        writeln!(f, "until {}", Told(self.until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_visit_is_read() {
        assert_eq!(Recording::first_visit().setup.zookeeper, 3);
    }

    #[test]
    fn a_recording_round_trips() {
        let text = "# zootrope 1\nsetup release=3.9.1 seed=7 zookeeper=3 brokers=3\n\
            at 0.000 start zk1\nat 5.000002+3 kill broker1\nuntil 30.000\n";
        let recording = Recording::parse(text).expect("it is right");
        assert_eq!(recording.to_string(), text);
    }

    #[test]
    fn a_wrong_recording_is_told_with_its_place() {
        let check = |text, expected: &str| {
            let trouble = Recording::parse(text).expect_err("it is wrong");
            assert_eq!(trouble.to_string(), expected);
        };
        check("setup\nkill a", "line 2, column 1: “kill”; expected setup, at or until");
        check("at x kill a", "line 1, column 4: “x”; expected a moment like 10.214 or 10.214+2");
        let text = "line 2, column 4: “1”; expected a moment no earlier than the one before";
        check("at 2 kill a\nat 1 kill b", text);
    }
}
