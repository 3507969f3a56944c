//! Votes: whom a server would have as leader, and which of two votes is the better one.
//!
//! How servers come to agree is in `election`.
//!
//! *Invariant: votes are totally ordered; the better history comes first, then the larger id.*

use std::fmt;

use super::ensemble::ServerId;
use super::epochs::Epoch;
use super::zxid::Zxid;

/// The number of an election, as one server counts. It starts anew with the process.
// Source: FastLeaderElection.logicalclock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Round(pub u32);

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A candidate, and how far its history goes. The order of the fields is the order of votes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Vote {
    /// The candidate's currentEpoch.
    pub epoch: Epoch,
    /// The candidate's last logged txn.
    pub zxid: Zxid,
    /// The candidate.
    pub candidate: ServerId,
}

impl Vote {
    /// Is this vote better than the other?
    // Source: FastLeaderElection.totalOrderPredicate.
    pub fn beats(&self, other: &Vote) -> bool {
        self > other
    }

    /// The vote of one who is no candidate, which every other beats.
    // Source: FastLeaderElection.getInitId, getInitLastLoggedZxid, getPeerEpoch.
    pub const fn of_observer() -> Vote {
        Vote { epoch: Epoch(0), zxid: Zxid(i64::MIN), candidate: ServerId(0) }
    }
}

/// What a server is within its ensemble.
// Source: QuorumPeer.ServerState.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Standing {
    /// It takes part in an election and serves nobody.
    Looking,
    /// It follows a leader.
    Following,
    /// It leads, or tries to.
    Leading,
    /// It follows a leader without a say.
    Observing,
}

/// What servers send each other about elections.
// Source: FastLeaderElection.Notification.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Notification {
    /// Whom the sender votes for, or has elected.
    pub vote: Vote,
    /// In which election.
    pub round: Round,
    /// What the sender is.
    pub standing: Standing,
}

impl Notification {
    /// Do both stand for the same outcome? Those who have decided need not agree on the round.
    // Source: Vote.equals.
    pub fn agrees_with(&self, other: &Notification) -> bool {
        let looking = [self.standing, other.standing].contains(&Standing::Looking);
        match looking {
            true => self.vote == other.vote && self.round == other.round,
            false => {
                let what = |n: &Notification| (n.vote.candidate, n.vote.epoch);
                what(self) == what(other)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vote((epoch, zxid, candidate): (u32, (u32, u32), u8)) -> Vote {
        let zxid = Zxid::new(zxid.0, zxid.1);
        Vote { epoch: Epoch(epoch), zxid, candidate: ServerId(candidate) }
    }

    #[test]
    fn epoch_goes_before_zxid_and_zxid_before_id() {
        let rising = [
            (0, (0, 0), 1),
            (0, (0, 0), 3),
            (4, (4, 7), 3),
            (4, (4, 9), 1),
            (4, (4, 30), 3),
            (5, (4, 20), 1),
            (5, (4, 20), 2),
        ];
        for (place, worse) in rising.iter().enumerate() {
            assert!(vote(*worse).beats(&Vote::of_observer()));
            assert!(!vote(*worse).beats(&vote(*worse)));
            for better in &rising[place + 1..] {
                assert!(vote(*better).beats(&vote(*worse)), "{better:?} against {worse:?}");
                assert!(!vote(*worse).beats(&vote(*better)), "{worse:?} against {better:?}");
            }
        }
    }

    #[test]
    fn only_those_who_look_must_agree_on_the_round() {
        let say = |round, zxid, standing| {
            let (vote, round) = (vote((1, (1, zxid), 2)), Round(round));
            Notification { vote, round, standing }
        };
        use Standing::{Following, Leading, Looking};
        assert!(say(1, 5, Following).agrees_with(&say(2, 6, Leading)));
        assert!(!say(1, 5, Looking).agrees_with(&say(2, 5, Leading)));
        assert!(!say(1, 5, Looking).agrees_with(&say(1, 6, Looking)));
        assert!(say(1, 5, Looking).agrees_with(&say(1, 5, Following)));
    }
}
