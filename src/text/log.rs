//! What real processes write into their logs, by the key of the fact that goes with it.
//!
//! These words are in no language of the page: they are what `grep` finds in a real log. Which
//! releases there are, and what a fact holds, is told by whoever asks.
//! *Invariant:* a line is a level, words, and its logger in brackets.

use std::collections::BTreeMap;

use super::{Piece, entry, split};

/// Where two lines that are written at once are parted.
const PART: char = '⏎';

/// The words of one release's logs.
pub struct Wording {
    lines: BTreeMap<&'static str, &'static str>,
}

/// All words there are: the key of a fact, from which release on if not from the first, and what is
/// written.
fn all() -> impl Iterator<Item = (&'static str, Option<&'static str>, &'static str)> {
    let lines = include_str!("log.txt").lines().filter_map(entry);
    lines.map(|(key, words)| match key.split_once('@') {
        Some((key, release)) => (key, Some(release), words),
        None => (key, None, words),
    })
}

impl Wording {
    /// The words that hold after these releases, the oldest first.
    pub fn after<'a>(releases: impl Iterator<Item = &'a str>) -> Wording {
        let mut lines = BTreeMap::new();
        for release in std::iter::once(None).chain(releases.map(Some)) {
            let new = all().filter(|(_, from, _)| *from == release);
            lines.extend(new.map(|(key, _, words)| (key, words)));
        }
        Wording { lines }
    }

    /// What is written when a fact of this key happens, each line in its pieces.
    pub fn of(&self, key: &str) -> Vec<Vec<Piece<'_>>> {
        let words = self.lines.get(key);
        words.map_or(Vec::new(), |words| words.split(PART).map(split).collect())
    }

    /// The keys of facts for which there are words, each with the release from which on they hold.
    pub fn keys() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
        all().map(|(key, from, _)| (key, from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_level_words_and_a_logger() {
        for (key, _, words) in all() {
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
        let of = |releases: &[&'static str]| {
            let wording = Wording::after(releases.iter().copied());
            let line = wording.of("broker-running").remove(0);
            let Piece::Plain(words) = line[0] else { panic!("it begins with its level") };
            words.to_owned()
        };
        assert_eq!(of(&["0.8.2.2"]), "INFO [Kafka Server ");
        assert_eq!(of(&["0.8.2.2", "1.1.1", "2.3.1"]), "INFO [KafkaServer id=");
        assert!(Wording::after(["1.1.1"].into_iter()).of("no-such-fact").is_empty());
        assert_eq!(Wording::after(["1.1.1"].into_iter()).of("zk-expired").len(), 2);
    }
}
