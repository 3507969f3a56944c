//! The recording: set-up and commands at their moments, and the moment that was looked at last;
//! what was tried instead, take by take, if it is a recording of all.
//!
//! Its text is a script: what a link carries, a bug report holds and a scenario begins from.
//! *Invariant:* the text round-trips, and the commands of a take are in the order of their moments.
//!
//! ```text
//!   at 12.4 kill broker1
//!   until 40                     the first take, as far as it was played
//!   take 2 from=1 at=10.214+3    another one leaves it there
//!   at 10.214+3 stop broker1
//!   until 30
//!   take 1                       whoever saved it stood in the first
//!   until 20
//! ```

use super::TakeId;
use crate::cluster::notation::{Line, Told, Word};
use crate::cluster::{Command, Setup, Trouble};
use crate::sim::{Moment, SimTime};
use std::fmt;

/// All that is saved of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// How the run began.
    pub setup: Setup,
    /// What was done, and when.
    pub commands: Vec<(Moment, Command)>,
    /// Where whoever saved it stood; of a recording of all takes, how far the first was played.
    pub until: Moment,
    /// The other takes, and the one that was looked at last.
    pub turns: Vec<Turn>,
}

/// A turn to another take: to a new one, or back to one that there was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which.
    pub take: TakeId,
    /// Which take a new one leaves, and when.
    pub from: Option<(TakeId, Moment)>,
    /// What was done in it from then on, and when.
    pub commands: Vec<(Moment, Command)>,
    /// How far it was played, or where whoever saved it stood.
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
        Recording { setup, commands: Vec::new(), until: Moment::default(), turns: Vec::new() }
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
            let verb = line.word("setup, at, until or take")?;
            match verb.text.as_str() {
                "setup" => recording.setup = Setup::parse(&mut line)?,
                "at" => recording.command(&mut line)?,
                "until" => *recording.last().1 = line.word("a moment like 10.214")?.moment()?,
                "take" => {
                    let turn = Turn::parse(&mut line)?;
                    let others = recording.turns.iter().filter(|turn| turn.from.is_some());
                    if !turn.fits(others.count() + 1) {
                        return Err(verb.trouble(turn.take.to_string(), Turn::EXPECTED));
                    }
                    recording.turns.push(turn);
                }
                _ => return Err(verb.is_not("setup, at, until or take")),
            }
            line.finish()?;
        }
        Ok(recording)
    }

    /// The commands of the last take, where it is played to, and when it begins.
    fn last(&mut self) -> (&mut Vec<(Moment, Command)>, &mut Moment, Moment) {
        match self.turns.last_mut() {
            None => (&mut self.commands, &mut self.until, Moment::default()),
            Some(turn) => {
                // In one that there was, nothing is done any more.
                let begin = turn.from.map_or(Moment::after(SimTime::NEVER), |(_, at)| at);
                (&mut turn.commands, &mut turn.until, begin)
            }
        }
    }

    fn command(&mut self, line: &mut Line) -> Result<(), Trouble> {
        let (commands, _, begin) = self.last();
        let word: Word = line.word("a moment like 10.214")?;
        let moment = word.moment()?;
        if commands.last().map_or(begin, |(before, _)| *before) > moment {
            return Err(word.is_not("a moment no earlier than the one before"));
        }
        let verb = line.word("a command")?;
        commands.push((moment, Command::parse_after(&verb, line)?));
        Ok(())
    }
}

impl Turn {
    /// How it is written.
    pub const USAGE: &str = "take NUMBER [from=NUMBER at=MOMENT]";

    /// What is expected where it does not fit.
    pub const EXPECTED: &str = "a take that there is, or the next one";

    /// Reads what stands behind `take`.
    pub fn parse(line: &mut Line) -> Result<Turn, Trouble> {
        let of = |word: Word| Ok(TakeId(word.within(1, u16::MAX)? - 1));
        let take = of(line.word("the number of a take")?)?;
        let from = match line.value("from") {
            None => None,
            Some(from) => Some((of(from)?, line.must("at", "a moment like 10.214")?.moment()?)),
        };
        Ok(Turn { take, from, commands: Vec::new(), until: Moment::default() })
    }

    /// Whether it can be taken where there are so many takes.
    pub fn fits(&self, takes: usize) -> bool {
        let take = usize::from(self.take.0);
        match self.from {
            None => take < takes,
            Some((from, _)) => take == takes && usize::from(from.0) < takes,
        }
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADING}\n{}", self.setup)?;
        write_part(f, &self.commands, self.until)?;
        for turn in &self.turns {
            write!(f, "{}", turn.take)?;
            if let Some((from, at)) = turn.from {
                write!(f, " from={} at={}", u32::from(from.0) + 1, Told(at))?;
            }
            writeln!(f)?;
            write_part(f, &turn.commands, turn.until)?;
        }
        Ok(())
    }
}

fn write_part(
    f: &mut fmt::Formatter<'_>,
    commands: &[(Moment, Command)],
    until: Moment,
) -> fmt::Result {
    for (moment, command) in commands {
        writeln!(f, "at {} {command}", Told(*moment))?;
    }
    writeln!(f, "until {}", Told(until))
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
        let turns = "take 2 from=1 at=6.000+1\nat 6.000+1 start broker1\nuntil 20.000\n\
            take 3 from=2 at=7.000\nuntil 8.000\ntake 1\nuntil 5.500\n";
        let all = format!("{text}{turns}");
        let recording = Recording::parse(&all).expect("it is right");
        assert_eq!((recording.turns.len(), recording.to_string()), (3, all));
    }

    #[test]
    fn a_wrong_recording_is_told_with_its_place() {
        let check = |text, expected: &str| {
            let trouble = Recording::parse(text).expect_err("it is wrong");
            assert_eq!(trouble.to_string(), expected);
        };
        check("setup\nkill a", "line 2, column 1: “kill”; expected setup, at, until or take");
        let fits = "expected a take that there is, or the next one";
        check("take 2", &format!("line 1, column 1: take 2; {fits}"));
        check("take 3 from=1 at=2", &format!("line 1, column 1: take 3; {fits}"));
        check("take 2 from=2 at=2", &format!("line 1, column 1: take 2; {fits}"));
        check(
            "take 2 from=1",
            "line 1, column 14: the line ends; expected at=a moment like 10.214",
        );
        let text = "line 2, column 4: “1”; expected a moment no earlier than the one before";
        check("take 2 from=1 at=2\nat 1 kill a", text);
        check("take 1\nat 1 kill a", text);
        check("at x kill a", "line 1, column 4: “x”; expected a moment like 10.214 or 10.214+2");
        let text = "line 2, column 4: “1”; expected a moment no earlier than the one before";
        check("at 2 kill a\nat 1 kill b", text);
    }
}
