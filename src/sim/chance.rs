//! Chance: named streams of draws, one per purpose and owner.
//!
//! *Invariant:* a stream depends on the seed, its purpose and its owner's name only, so adding a
//! process or a fault does not reshuffle what it does not touch.

use super::hash::hash_of;
use super::ord_map::OrdMap;
use rand_core::Rng;
use rand_pcg::Lcg64Xsh32;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The purpose of a draw, in the words of scripts: `placement-start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Draw(pub &'static str);

impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// One stream of numbers.
#[derive(Clone, Debug)]
pub(super) struct Stream(Lcg64Xsh32);

impl Stream {
    /// The stream that `seed` gives to this purpose and owner.
    pub(super) fn named(seed: u64, purpose: &str, owner: &str) -> Stream {
        let state = hash_of(&(seed, purpose, owner));
        Stream(Lcg64Xsh32::new(state, hash_of(&(purpose, owner))))
    }

    /// The next number within `range`; its start if the range is empty.
    pub(super) fn within(&mut self, range: Range<u64>) -> u64 {
        let width = range.end.saturating_sub(range.start);
        match width {
            0 => range.start,
            w if w <= u64::from(u32::MAX) => range.start + (((self.next() >> 32) * w) >> 32),
            w => range.start + self.next() % w,
        }
    }

    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// The dice of one process: its streams by purpose, and the outcomes that somebody has fixed.
#[derive(Clone, Debug)]
pub(super) struct Dice {
    seed: u64,
    owner: Arc<str>,
    streams: OrdMap<&'static str, Stream>,
    fixed: OrdMap<Arc<str>, VecDeque<u64>>,
}

impl Dice {
    pub(super) fn new(seed: u64, owner: Arc<str>) -> Dice {
        Dice { seed, owner, streams: OrdMap::new(), fixed: OrdMap::new() }
    }

    /// Sets the outcome of the next draw for `purpose`; given again, of the one after.
    pub(super) fn fix(&mut self, purpose: &str, value: u64) {
        self.fixed.entry(purpose.into()).or_default().push_back(value);
    }

    /// Draws for `purpose` from `range`; a fixed outcome is taken as it is.
    pub(super) fn draw(&mut self, purpose: &'static str, range: Range<u64>) -> u64 {
        let fixed = self.fixed.get_mut(purpose).and_then(VecDeque::pop_front);
        if let Some(value) = fixed {
            return value;
        }
        let (seed, owner) = (self.seed, &self.owner);
        let new = || Stream::named(seed, purpose, owner);
        self.streams.entry(purpose).or_insert_with(new).within(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_draws_are_pinned() {
        let mut stream = Stream::named(7, "latency", "zk1>zk2");
        let draws: Vec<u64> = (0..5).map(|_| stream.within(0..1000)).collect();
        assert_eq!(draws, [498, 674, 516, 238, 266]);
    }

    #[test]
    fn a_fixed_outcome_is_taken_once_and_in_order() {
        let mut dice = Dice::new(1, "broker1".into());
        dice.fix("placement-start", 2);
        dice.fix("placement-start", 0);
        assert_eq!(dice.draw("placement-start", 0..1), 2);
        assert_eq!(dice.draw("placement-start", 5..6), 0);
        assert_eq!(dice.draw("placement-start", 5..6), 5);
    }

    #[test]
    fn an_empty_range_gives_its_start() {
        assert_eq!(Stream::named(1, "a", "b").within(9..9), 9);
    }
}
