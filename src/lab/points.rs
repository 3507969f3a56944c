//! The points of a situation: what it is watched for, each said once, when its fact occurs.
//!
//! A block of the file is a situation's; its lines are those of a lesson that asks nothing.
//! *Invariant:* what has been said is a function of the trace alone, as in a lesson.

use super::lesson::{Condition, condition};
use crate::cluster::{Record, Trace};

/// A sentence and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The key of the sentence.
    pub key: &'static str,
    /// When it is said.
    pub when: Condition,
}

/// The points of the situation of this name, in the order in which they come.
pub fn points(situation: &str) -> Vec<Point> {
    let text = include_str!("../lessons/situations/points.txt");
    let its =
        |block: &&str| block.lines().next().and_then(|l| l.strip_prefix("# ")) == Some(situation);
    let lines = text.split("\n\n").find(its).unwrap_or_default().lines().skip(1);
    let point = |line: &'static str| {
        let words: Vec<&'static str> = line.split_whitespace().collect();
        let when = condition(&words, "when").expect("a test reads it");
        Point { key: words[1], when }
    };
    lines.map(point).collect()
}

/// How many points have been said, and at which record the last was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// How many have been said.
    pub said: usize,
    /// The index of the record of the last.
    pub last: Option<usize>,
    read: usize,
}

impl Told {
    /// Reads the records up to `position`; starts again if the trace was taken back.
    pub fn read(&mut self, points: &[Point], trace: &Trace, position: usize) {
        if position < self.read {
            *self = Told::default();
        }
        for index in self.read..position {
            let (Some(point), Some(record)) = (points.get(self.said), trace.get(index)) else {
                break;
            };
            if is_met(&point.when, &record) {
                self.said += 1;
                self.last = Some(index);
            }
        }
        self.read = position;
    }
}

/// Whether a record tells what is waited for.
pub fn is_met(when: &Condition, record: &Record<'_>) -> bool {
    record.facts().any(|fact| when.holds(fact))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Lab, Situation, situations};
    use crate::sim::Span;
    use crate::text::{Catalog, Language};

    /// The situations that have points, and how many blocks the file has.
    fn with_points() -> (Vec<(Situation, Vec<Point>)>, usize) {
        let text = include_str!("../lessons/situations/points.txt");
        let all = situations().map(|situation| (situation, points(situation.name)));
        (all.filter(|(_, points)| !points.is_empty()).collect(), text.split("\n\n").count() - 1)
    }

    #[test]
    fn every_point_belongs_to_a_situation_and_is_said_in_every_language() {
        let (all, blocks) = with_points();
        assert_eq!(all.len(), blocks);
        for language in [Language::English, Language::Chinese] {
            let catalog = Catalog::of(language);
            for point in all.iter().flat_map(|(_, points)| points) {
                assert!(catalog.has(point.key), "{}", point.key);
            }
        }
    }

    #[test]
    fn every_point_is_reached_after_the_beginning() {
        for (situation, points) in with_points().0 {
            let recording = situation.recording();
            let last = recording.commands.last().map_or(recording.until.at, |(last, _)| last.at);
            let begin = recording.until;
            let mut lab = Lab::new(recording);
            lab.seek(begin);
            let start = lab.position();
            let mut told = Told::default();
            lab.advance_to(last + Span::secs(60));
            told.read(&points, lab.trace(), start);
            assert_eq!(told.said, 0, "{}: said before it begins", situation.name);
            told.read(&points, lab.trace(), lab.position());
            let next = points.get(told.said).map(|point| point.key);
            assert_eq!(next, None, "{}: never reached", situation.name);
        }
    }
}
