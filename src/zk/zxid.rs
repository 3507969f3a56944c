//! The number of a transaction: the epoch of the leader that proposed it, and a counter.
//!
//! What gives them out lives with the leader (or the standalone server), not here.
//!
//! *Invariant: order of zxids is order of epochs, then of counters.*

use std::fmt;

/// A ZooKeeper transaction id: 32 bits of epoch, 32 bits of counter.
// Source: ZxidUtils.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Zxid(pub i64);

impl Zxid {
    /// Before every transaction.
    pub const ZERO: Zxid = Zxid(0);

    /// The zxid `counter` of `epoch`.
    pub const fn new(epoch: u32, counter: u32) -> Zxid {
        Zxid(((epoch as i64) << 32) | counter as i64)
    }

    /// The epoch in which it was proposed.
    pub const fn epoch(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Its place within the epoch; the first txn of an epoch is 1.
    pub const fn counter(self) -> u32 {
        self.0 as u32
    }

    /// The one after it.
    pub const fn next(self) -> Zxid {
        Zxid(self.0 + 1)
    }

    /// Is the counter used up, so that a new epoch must begin?
    // Source: Leader.propose, ZOOKEEPER-1277.
    pub const fn is_last_of_epoch(self) -> bool {
        self.counter() == u32::MAX
    }
}

impl fmt::Display for Zxid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x}", self.0)
    }
}

impl fmt::Debug for Zxid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.epoch(), self.counter())
    }
}

#[cfg(test)]
mod tests {
    use super::Zxid;

    #[test]
    fn epoch_and_counter_are_the_two_halves() {
        let zxid = Zxid::new(3, 7);
        assert_eq!((zxid.epoch(), zxid.counter()), (3, 7));
        assert_eq!(zxid.to_string(), "0x300000007");
        assert!(Zxid::new(2, u32::MAX) < Zxid::new(3, 0));
        assert!(Zxid::new(2, u32::MAX).is_last_of_epoch());
    }
}
