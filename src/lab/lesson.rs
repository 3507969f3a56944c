//! Lessons: a script of sentences, requests and predictions that wait for conditions, not times.
//!
//! A lesson is acts. An act says its sentences when their facts occur, in whatever order they do,
//! and ends when what it asks for has happened. Prose is not here: steps name keys of the catalog.
//! *Invariant:* progress is a function of the trace alone, so scrubbing back takes it back, and a
//! shared link brings it along.
//!
//! ```text
//!   act kill-a-broker
//!   say hello when broker-registered broker=1
//!   ask kill-it until process-killed process=broker1
//!   guess expiry when process-killed reveal session-expired
//!         measure wait options now=0ms heartbeat=100ms timeout=4s
//!   act in-time
//!   ask start-it until broker-fatal by start broker1
//!   missed too-late when broker-running broker=1 back kill-a-broker
//! ```

use crate::cluster::{Cluster, Command, command};
use crate::sim::{Span, Telling, Trace, Vocabulary};
use std::fmt;

/// A lesson, read from its script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// The acts in order.
    pub acts: Vec<Act>,
}

/// A part of a lesson that ends when what it asks for has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// Its name, the stem of its keys.
    pub name: &'static str,
    /// What is said when, in the order of the script.
    pub says: Vec<Say>,
    /// What the learner is asked to do, if anything.
    pub ask: Option<Ask>,
    /// What the learner is asked to guess, if anything.
    pub guess: Option<Guess>,
    /// How its moment can be missed, if it can.
    pub missed: Option<Missed>,
}

/// A sentence and its moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Say {
    /// The key of the sentence.
    pub key: &'static str,
    /// When it is said.
    pub when: Condition,
}

/// Something for the learner to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The key of the request.
    pub key: &'static str,
    /// What shows that it was done. The act ends here, or at the reveal of its guess.
    pub until: Condition,
    /// The command that does it: how a test plays the lesson, and what "show me" gives.
    pub command: String,
}

/// A moment that can go by: what shows it, what is said then, and where the lesson goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// The sentence and its moment.
    pub say: Say,
    /// The name of the act that is taken up again.
    pub back: &'static str,
}

/// A prediction: asked at one moment, answered by the simulation, revealed at another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The key of the question; the options' keys are `KEY.OPTION`.
    pub key: &'static str,
    /// When it is asked.
    pub when: Condition,
    /// What shows the answer.
    pub reveal: Condition,
    /// The options, each with the least wait (microseconds from asking to reveal, measured by
    /// running ahead) that makes it right, rising.
    pub options: Vec<(&'static str, u64)>,
}

/// A fact with some of its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The fact's key.
    pub fact: &'static str,
    /// Fields that must have these values.
    pub fields: Vec<(&'static str, &'static str)>,
}

/// How far a lesson has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The act that is going on.
    pub act: usize,
    /// The sentence said last, by act and place in it, and the index of the record it is about.
    pub said: Option<(usize, usize, usize)>,
    /// The record at which the current act's guess was asked.
    pub asked: Option<usize>,
    /// The record at which the last guess was revealed, with its act.
    pub revealed: Option<(usize, usize)>,
    /// What the learner was asked to do in the current act is done.
    pub done: bool,
    read: usize,
}

/// A line of a lesson's script that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LessonError {
    /// The line, from 1.
    pub line: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl fmt::Display for LessonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}", self.line, self.expected)
    }
}

impl Condition {
    /// Whether this fact is meant.
    pub fn holds(&self, fact: &impl Telling) -> bool {
        fact.key() == self.fact && {
            let told = fact.fields();
            let has = |(name, value): &(&str, &str)| {
                told.iter().any(|(field, text)| field == name && text == value)
            };
            self.fields.iter().all(has)
        }
    }
}

impl Ask {
    /// Whether what is asked for can be done now: nobody kills who is dead already.
    pub fn is_open(&self, cluster: &Cluster) -> bool {
        let command = Command::parse(1, &self.command).expect("a test does what it asks for");
        command::check(&command, cluster).is_ok()
    }
}

impl Lesson {
    /// Whether the learner has been asked to do something since the last sentence.
    pub fn has_asked_since_said(&self, progress: &Progress) -> bool {
        let said = progress.said.map_or(0, |(act, ..)| act + 1);
        self.acts[..self.acts.len().min(progress.act + 1)]
            .iter()
            .skip(said)
            .any(|a| a.ask.is_some())
    }

    /// The place of an act.
    fn act(&self, name: &str) -> Option<usize> {
        self.acts.iter().position(|act| act.name == name)
    }

    /// The sentence at a place of an act: one of its own, or after them that its moment was missed.
    pub fn said(&self, act: usize, place: usize) -> Option<&Say> {
        let act = self.acts.get(act)?;
        let missed = act.missed.as_ref().filter(|_| place == act.says.len());
        act.says.get(place).or(missed.map(|missed| &missed.say))
    }

    /// The first visit.
    pub fn first_visit() -> Lesson {
        Lesson::parse(include_str!("../lessons/first_visit/script.txt")).expect("a test reads it")
    }

    /// Reads a script.
    pub fn parse(text: &'static str) -> Result<Lesson, LessonError> {
        let mut acts: Vec<Act> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&'static str> = line.split_whitespace().collect();
            let Some((verb, rest)) = words.split_first() else { continue };
            if verb.starts_with('#') {
                continue;
            }
            let fail = |expected| LessonError { line: number + 1, expected };
            if *verb == "act" {
                let name = rest.first().ok_or(fail("act NAME"))?;
                acts.push(Act { name, says: vec![], ask: None, guess: None, missed: None });
                continue;
            }
            let act = acts.last_mut().ok_or(fail("an act before anything else"))?;
            act.add(verb, rest).map_err(fail)?;
        }
        Ok(Lesson { acts })
    }
}

impl Act {
    fn add(&mut self, verb: &str, rest: &[&'static str]) -> Result<(), &'static str> {
        const SAY: &str = "say KEY when FACT [FIELD=VALUE …]";
        const MISSED: &str = "missed KEY when FACT [FIELD=VALUE …] back ACT";
        const ASK: &str = "ask KEY until FACT [FIELD=VALUE …] by COMMAND";
        let key = rest.first().copied();
        match verb {
            "say" => {
                let when = condition(rest, "when").ok_or(SAY)?;
                self.says.push(Say { key: key.ok_or(SAY)?, when });
            }
            "ask" => {
                let until = condition(rest, "until").ok_or(ASK)?;
                let command = part(rest, "by").ok_or(ASK)?.join(" ");
                self.ask = Some(Ask { key: key.ok_or(ASK)?, until, command });
            }
            "guess" => self.guess = Some(guess(rest)?),
            "missed" => {
                let when = condition(rest, "when").ok_or(MISSED)?;
                let [back] = part(rest, "back").ok_or(MISSED)? else { return Err(MISSED) };
                let say = Say { key: key.ok_or(MISSED)?, when };
                self.missed = Some(Missed { say, back });
            }
            _ => return Err("act, say, ask, guess or missed"),
        }
        Ok(())
    }
}

fn guess(rest: &[&'static str]) -> Result<Guess, &'static str> {
    const GUESS: &str = "guess KEY when FACT … reveal FACT … measure wait options NAME=LEAST …";
    let key = *rest.first().ok_or(GUESS)?;
    let ["wait"] = part(rest, "measure").ok_or(GUESS)? else { return Err(GUESS) };
    let option = |word: &&'static str| {
        let (name, least) = word.split_once('=')?;
        let least = span(least).map(Span::as_micros).or_else(|| least.parse().ok())?;
        Some((name, least))
    };
    let options = part(rest, "options").ok_or(GUESS)?;
    Ok(Guess {
        key,
        when: condition(rest, "when").ok_or(GUESS)?,
        reveal: condition(rest, "reveal").ok_or(GUESS)?,
        options: options.iter().map(option).collect::<Option<_>>().ok_or(GUESS)?,
    })
}

/// The words after `keyword`, up to the next keyword.
fn part<'a>(words: &'a [&'static str], keyword: &str) -> Option<&'a [&'static str]> {
    const KEYWORDS: [&str; 7] = ["when", "until", "reveal", "measure", "options", "by", "back"];
    let start = words.iter().position(|word| *word == keyword)? + 1;
    let rest = &words[start..];
    let end = rest.iter().position(|word| KEYWORDS.contains(word));
    Some(&rest[..end.unwrap_or(rest.len())])
}

/// The fact with its fields that stands behind a keyword.
pub(super) fn condition(words: &[&'static str], keyword: &str) -> Option<Condition> {
    let (fact, fields) = part(words, keyword)?.split_first()?;
    let fields = fields.iter().map(|word| word.split_once('='));
    Some(Condition { fact, fields: fields.collect::<Option<_>>()? })
}

fn span(text: &str) -> Option<Span> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number = digits.parse().ok()?;
    match &text[digits.len()..] {
        "ms" => Some(Span::ms(number)),
        "s" => Some(Span::secs(number)),
        _ => None,
    }
}

impl Progress {
    /// Reads the records up to `position`; starts again if the trace was taken back.
    pub fn read<W: Vocabulary>(&mut self, lesson: &Lesson, trace: &Trace<W>, position: usize) {
        if position < self.read {
            *self = Progress::default();
        }
        for index in self.read..position {
            let Some(record) = trace.get(index) else { break };
            for fact in record.facts() {
                self.take(lesson, fact, index);
            }
        }
        self.read = position;
    }

    /// Whether a guess is open: asked, and not revealed yet.
    pub fn is_open(&self) -> bool {
        self.asked.is_some()
    }

    fn take(&mut self, lesson: &Lesson, fact: &impl Telling, index: usize) {
        self.skip_to_what_was_done(lesson, fact);
        let Some(act) = lesson.acts.get(self.act) else { return };
        let said = act.says.iter().position(|say| say.when.holds(fact));
        if let Some(place) = said {
            self.said = Some((self.act, place, index));
        }
        let missed = act.missed.as_ref().filter(|missed| missed.say.when.holds(fact));
        if let Some(back) = missed.and_then(|missed| lesson.act(missed.back)) {
            self.said = Some((self.act, act.says.len(), index));
            self.next();
            self.act = back;
            return;
        }
        if act.ask.as_ref().is_some_and(|ask| ask.until.holds(fact)) {
            self.done = true;
        }
        if let Some(guess) = &act.guess {
            if self.asked.is_none() && guess.when.holds(fact) {
                self.asked = Some(index);
            } else if self.asked.is_some() && guess.reveal.holds(fact) {
                self.revealed = Some((self.act, index));
                self.next();
            }
        } else if self.done || (act.ask.is_none() && said == Some(act.says.len() - 1)) {
            self.next();
        }
    }

    /// A learner who does early what the next request is about goes on there.
    fn skip_to_what_was_done(&mut self, lesson: &Lesson, fact: &impl Telling) {
        let rest = lesson.acts.iter().enumerate().skip(self.act);
        let next = rest.into_iter().find(|(_, act)| act.ask.is_some());
        let Some((place, Act { ask: Some(ask), .. })) = next else { return };
        if ask.until.holds(fact) {
            self.act = place;
        }
    }

    fn next(&mut self) {
        self.act += 1;
        self.asked = None;
        self.done = false;
    }
}

impl Guess {
    /// The option that a measure makes right: the last whose least it reaches.
    pub fn answer(&self, measured: u64) -> Option<&'static str> {
        let right = self.options.iter().rev().find(|(_, least)| measured >= *least);
        right.map(|(name, _)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Lab, Recording};

    #[test]
    fn a_sentence_gives_way_to_what_was_asked_for_after_it() {
        let lesson = Lesson::first_visit();
        let kill = lesson.acts.iter().position(|act| act.ask.is_some()).expect("it asks");
        let said_in = |said, act| {
            let said = Some((said, 0, 0));
            lesson.has_asked_since_said(&Progress { act, said, ..Progress::default() })
        };
        assert!(said_in(kill - 1, kill) && said_in(0, kill + 1));
        assert!(!said_in(kill - 2, kill - 1) && !said_in(kill, kill));
    }

    const SCRIPT: &str = "
        # Two acts.
        act hello
        say first when heard count=1
        say third when heard count=3
        act break
        ask cut until link-cut from=a by cut a b
        guess how-long when link-cut reveal lost measure wait options now=0ms later=4s
    ";

    #[test]
    fn a_script_is_read() {
        let lesson = Lesson::parse(SCRIPT).expect("the script is right");
        assert_eq!(lesson.acts.len(), 2);
        let [hello, cut] = &lesson.acts[..] else { panic!("two acts") };
        assert_eq!(hello.says[1].when.fields, [("count", "3")]);
        let ask = cut.ask.as_ref().expect("the act asks");
        assert_eq!((ask.key, ask.command.as_str()), ("cut", "cut a b"));
        let guess = cut.guess.as_ref().expect("the act has a guess");
        assert_eq!(guess.answer(3_999_999), Some("now"));
        assert_eq!(guess.answer(4_000_000), Some("later"));
    }

    /// The first visit is played by its own requests, each done when the act before is over.
    #[test]
    fn the_first_visit_plays_to_its_end() {
        let lesson = Lesson::first_visit();
        let mut lab = Lab::new(Recording::first_visit());
        let mut progress = Progress::default();
        for _ in 0..4_000 {
            lab.advance_to(lab.moment().at + Span::ms(100));
            progress.read(&lesson, lab.trace(), lab.position());
            let Some(act) = lesson.acts.get(progress.act) else { return };
            if let (Some(ask), false, false) = (&act.ask, progress.done, progress.is_open()) {
                let command = Command::parse(1, &ask.command).expect("the lesson writes it right");
                // What cannot be done yet is tried again: a broker that starts is not off.
                let _ = lab.issue(command);
            }
        }
        panic!("it stands still in the act {}", lesson.acts[progress.act].name);
    }

    /// Who waits too long in the first visit is asked again, and comes to its end all the same.
    #[test]
    fn a_moment_that_was_missed_comes_again() {
        let lesson = Lesson::first_visit();
        let mut lab = Lab::new(Recording::first_visit());
        let mut progress = Progress::default();
        let too_soon = lesson.act("too-soon").expect("it has this act");
        let mut waits = 300;
        let mut missed = false;
        for _ in 0..6_000 {
            lab.advance_to(lab.moment().at + Span::ms(100));
            progress.read(&lesson, lab.trace(), lab.position());
            missed |= progress.said.is_some_and(|(act, place, _)| {
                lesson.said(act, place).is_some_and(|say| say.key == "visit.too-late")
            });
            let Some(act) = lesson.acts.get(progress.act) else {
                assert!(missed, "it was too late once");
                return;
            };
            if progress.act == too_soon && waits > 0 {
                waits -= 1;
                continue;
            }
            if let (Some(ask), false, false) = (&act.ask, progress.done, progress.is_open()) {
                let command = Command::parse(1, &ask.command).expect("the lesson writes it right");
                let _ = lab.issue(command);
            }
        }
        panic!("it stands still in the act {}", lesson.acts[progress.act].name);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let wrong = [
            ("say x when y", 1, "an act before anything else"),
            ("act a\n\nsay x", 3, "say KEY when FACT [FIELD=VALUE …]"),
            ("act a\nsing", 2, "act, say, ask, guess or missed"),
            ("act a\nmissed x when y", 2, "missed KEY when FACT [FIELD=VALUE …] back ACT"),
        ];
        for (script, line, expected) in wrong {
            assert_eq!(Lesson::parse(script), Err(LessonError { line, expected }));
        }
    }
}
