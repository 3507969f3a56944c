//! What real processes write into their logs, by the key of the fact that goes with it.
//!
//! These words are in no language of the page: they are what `grep` finds in a real log. Which
//! release a cluster runs, and what a fact holds, is told by whoever asks.
//! *Invariant:* a line is a level, words, and its logger in brackets.

use std::collections::BTreeMap;

use super::{Piece, entry, split};

/// Where two lines that are written at once are parted.
const PART: char = '⏎';

/// The words of logs.
pub struct Wording {
    lines: BTreeMap<&'static str, &'static str>,
}

impl Default for Wording {
    fn default() -> Wording {
        let lines = include_str!("log.txt").lines().filter_map(entry);
        Wording { lines: lines.collect() }
    }
}

impl Wording {
    /// What is written when a fact of this key happens, each line in its pieces; `releases` are
    /// those from which on words may hold, the newest first.
    pub fn of<'a>(
        &self,
        key: &str,
        releases: impl Iterator<Item = &'a str>,
    ) -> Vec<Vec<Piece<'_>>> {
        let mut later = releases.map(|release| self.lines.get(format!("{key}@{release}").as_str()));
        let words = later.find_map(|words| words).or_else(|| self.lines.get(key));
        words.map_or(Vec::new(), |words| words.split(PART).map(split).collect())
    }

    /// The keys under which there are words, with their releases.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.lines.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_level_words_and_a_logger() {
        for (key, words) in Wording::default().lines {
            for line in words.split(PART) {
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
        let lines =
            BTreeMap::from([("a", "INFO old (x.Y)"), ("a@2", "INFO new (x.Y)⏎INFO too (x.Y)")]);
        let wording = Wording { lines };
        let of = |releases: &[&'static str]| wording.of("a", releases.iter().copied());
        assert_eq!(of(&["1"]), [[Piece::Plain("INFO old (x.Y)")]]);
        assert_eq!(of(&["3", "2", "1"]).len(), 2);
        assert!(wording.of("b", ["2"].into_iter()).is_empty());
    }
}
