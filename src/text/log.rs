//! What real processes write into their logs, by the key of the fact that goes with it.
//!
//! These words are in no language of the page: they are what `grep` finds in a real log. Which
//! releases there are, and what a fact holds, is told by whoever asks.
//! *Invariant:* a line is a level, words, and its logger in brackets.

use std::collections::BTreeMap;

use super::{Piece, split};

/// The key of a fact, and which field has to hold what for the words to be those.
type Case = (&'static str, Field);
type Field = Option<(&'static str, &'static str)>;

/// Where two lines that are written at once are parted.
const PART: char = '⏎';

/// What stands for words where nothing is written.
const NOTHING: &str = "-";

/// The words of one release's logs.
pub struct Wording {
    /// By the key of a fact: of each of its cases, from which of the releases on the words hold.
    lines: BTreeMap<&'static str, Vec<(Field, usize, &'static str)>>,
}

/// All words there are: of which case, from which release on if not from the first, and what is
/// written. No words: the case is none any more. `-`: nothing is written.
fn all() -> impl Iterator<Item = (Case, Option<&'static str>, &'static str)> {
    let lines = include_str!("log.txt").lines().filter_map(written);
    lines.map(|(key, words)| match key.split_once('@') {
        Some((key, release)) => (case(key), Some(release), words),
        None => (case(key), None, words),
    })
}

/// A line of the table; a case has a `=` of its own, so what parts it from its words has spaces.
fn written(line: &'static str) -> Option<(&'static str, &'static str)> {
    let (key, words) = line.split_once(" =").filter(|_| !line.starts_with('#'))?;
    Some((key.trim(), words.trim()))
}

/// Whether a field holds what a case wants: the same, or what begins so (`begins…`).
fn is_it(held: &str, wanted: &str) -> bool {
    match wanted.strip_suffix('…') {
        Some(beginning) => held.starts_with(beginning),
        None => held == wanted,
    }
}

/// `key`, or `key?field=value`.
fn case(key: &'static str) -> Case {
    match key.split_once('?') {
        Some((key, field)) => (key, field.split_once('=')),
        None => (key, None),
    }
}

impl Wording {
    /// The words that hold after these releases, the oldest first.
    pub fn after<'a>(releases: impl Iterator<Item = &'a str>) -> Wording {
        let releases: Vec<&str> = releases.collect();
        let mut lines = BTreeMap::<_, Vec<(Field, usize, &str)>>::new();
        for ((key, field), from, words) in all() {
            let since = match from {
                None => Some(0),
                Some(from) => releases.iter().position(|of| *of == from).map(|place| place + 1),
            };
            let Some(since) = since else { continue };
            let cases = lines.entry(key).or_default();
            match cases.iter_mut().find(|(known, ..)| *known == field) {
                Some(known) if known.1 > since => {}
                Some(known) => *known = (field, since, words),
                None => cases.push((field, since, words)),
            }
        }
        Wording { lines }
    }

    /// What is written when a fact with this key and these fields happens, each line in its
    /// pieces: the words of its case, if it has some.
    pub fn of(&self, key: &str, fields: &[(&str, String)]) -> Vec<Vec<Piece<'_>>> {
        let cases = self.lines.get(key).into_iter().flatten();
        let hold = cases.filter(|(case, _, words)| {
            let is_its = case.is_none_or(|(name, value)| {
                fields.iter().any(|(field, held)| *field == name && is_it(held, value))
            });
            is_its && !words.is_empty()
        });
        let best = hold.max_by_key(|(case, ..)| *case).map(|(.., words)| *words);
        let words = best.filter(|words| *words != NOTHING);
        words.map_or(Vec::new(), |words| words.split(PART).map(split).collect())
    }

    /// The facts for which there are words, each with the field that they hang on and the release
    /// from which on they hold.
    pub fn keys() -> impl Iterator<Item = [Option<&'static str>; 3]> {
        all().map(|((key, case), from, _)| [Some(key), case.map(|(field, _)| field), from])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_level_words_and_a_logger() {
        for ((key, _), _, words) in all() {
            for line in words.split(PART).filter(|line| !line.is_empty() && *line != NOTHING) {
                let (level, rest) = line.split_once(' ').expect("there are words");
                let levels = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"];
                assert!(levels.contains(&level), "{key}: {level}");
                let logger =
                    rest.rsplit_once(" (").and_then(|(_, logger)| logger.strip_suffix(')'));
                assert!(logger.is_some_and(|logger| logger.contains('.')), "{key}: {rest}");
            }
        }
    }

    #[test]
    fn the_newest_words_that_hold_already_are_taken() {
        let of = |releases: &[&'static str]| {
            let wording = Wording::after(releases.iter().copied());
            let line = wording.of("broker-running", &[]).remove(0);
            let Piece::Plain(words) = line[0] else { panic!("it begins with its level") };
            words.to_owned()
        };
        assert_eq!(of(&["0.8.2.2"]), "INFO [Kafka Server ");
        assert_eq!(of(&["0.8.2.2", "1.1.1", "2.3.1"]), "INFO [KafkaServer id=");
        assert!(Wording::after(["1.1.1"].into_iter()).of("no-such-fact", &[]).is_empty());
        assert_eq!(Wording::after(["1.1.1"].into_iter()).of("zk-expired", &[]).len(), 2);
    }
}
