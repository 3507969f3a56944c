//! Epochs: the two numbers that a server keeps on disk, so that no epoch has two leaders.
//!
//! *Invariant: neither number falls, and currentEpoch is never above acceptedEpoch.*

use std::fmt;

use super::zxid::Zxid;

/// The number of a leader's reign.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Epoch(pub u32);

impl Epoch {
    /// The one after it.
    pub const fn next(self) -> Epoch {
        Epoch(self.0 + 1)
    }

    /// The zxid that stands for its beginning; no txn has it.
    pub const fn start(self) -> Zxid {
        Zxid::new(self.0, 0)
    }

    /// The epoch in which a txn was proposed.
    pub const fn of(zxid: Zxid) -> Epoch {
        Epoch(zxid.epoch())
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The files `acceptedEpoch` and `currentEpoch`.
// Source: QuorumPeer.setAcceptedEpoch, setCurrentEpoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Epochs {
    /// The highest epoch promised to any would-be leader.
    pub accepted: Epoch,
    /// The last epoch whose NEWLEADER was acknowledged.
    pub current: Epoch,
}

impl Epochs {
    /// What the files hold once `written` has been written as well.
    pub fn raised_to(self, written: Epochs) -> Epochs {
        let accepted = self.accepted.max(written.accepted);
        Epochs { accepted, current: self.current.max(written.current) }
    }

    /// What a server starts with that finds these files and a log up to `last`.
    ///
    /// Real: a server whose log is of a later epoch than currentEpoch refuses to start; here it
    /// takes over the epoch of the log, because what is sent before NEWLEADER comes in order, so
    /// that whoever has a txn of an epoch has all that the epoch began with.
    // Source: QuorumPeer.loadDataBase.
    pub fn on_boot(self, last: Zxid) -> Epochs {
        let epoch = Epoch::of(last);
        self.raised_to(Epochs { accepted: epoch, current: epoch })
    }
}

/// The epoch that a leader proposes to those who have accepted these.
// Source: Leader.getEpochToPropose.
pub fn epoch_to_propose(accepted: impl IntoIterator<Item = Epoch>) -> Epoch {
    accepted.into_iter().max().unwrap_or_default().next()
}

/// What a follower does about the epoch that a leader proposes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// Write it down, then acknowledge.
    New,
    /// Acknowledge without its counting: this was promised before.
    Repeated,
    /// Break off.
    Refused,
}

/// What a follower that has accepted `accepted` does about `proposed`.
// Source: Learner.registerWithLeader.
pub fn promise(accepted: Epoch, proposed: Epoch) -> Promise {
    match proposed.cmp(&accepted) {
        std::cmp::Ordering::Greater => Promise::New,
        std::cmp::Ordering::Equal => Promise::Repeated,
        std::cmp::Ordering::Less => Promise::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_epoch_is_above_all_that_were_promised() {
        let check = |accepted: &[u32], expected| {
            assert_eq!(epoch_to_propose(accepted.iter().map(|e| Epoch(*e))), Epoch(expected));
        };
        check(&[0, 0], 1);
        check(&[3, 5, 4], 6);
    }

    #[test]
    fn a_promise_is_made_once() {
        assert_eq!(promise(Epoch(4), Epoch(5)), Promise::New);
        assert_eq!(promise(Epoch(5), Epoch(5)), Promise::Repeated);
        assert_eq!(promise(Epoch(6), Epoch(5)), Promise::Refused);
    }

    #[test]
    fn the_files_never_fall() {
        let files = Epochs { accepted: Epoch(5), current: Epoch(3) };
        let older = Epochs { accepted: Epoch(4), current: Epoch(4) };
        let raised = Epochs { accepted: Epoch(5), current: Epoch(4) };
        assert_eq!(files.raised_to(older), raised);
        assert_eq!(files.on_boot(Zxid::new(3, 9)), files);
        let both = Epochs { accepted: Epoch(7), current: Epoch(7) };
        assert_eq!(files.on_boot(Zxid::new(7, 1)), both);
    }
}
