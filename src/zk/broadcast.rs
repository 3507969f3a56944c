//! Broadcast, the leader's side: which proposals wait for a quorum, and who is too slow to log.
//!
//! ```text
//!   proposed  5:3 {zk1 zk2}   5:4 {zk2}   5:5 {zk2 zk3}
//!             a quorum:       none yet:   a quorum, but it
//!             committed       it waits    waits for 5:4
//! ```
//!
//! *Invariant: txns are committed in the order proposed, each once a quorum has logged it.*

use std::collections::VecDeque;
use std::sync::Arc;

use super::ensemble::{Ensemble, ServerId};
use super::txn::Txn;
use super::zxid::Zxid;
use crate::sim::{OrdSet, SimTime, Span};

/// The proposals that are not committed yet.
// Source: Leader.outstandingProposals.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Proposals(VecDeque<Proposal>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Proposal {
    txn: Arc<Txn>,
    acks: OrdSet<ServerId>,
}

impl Proposals {
    /// A txn has been proposed; nobody has logged it yet.
    pub fn propose(&mut self, txn: Arc<Txn>) {
        self.0.push_back(Proposal { txn, acks: OrdSet::new() });
    }

    /// A server has logged a txn; it may be committed already.
    // Source: Leader.processAck.
    pub fn ack(&mut self, server: ServerId, zxid: Zxid) {
        if let Some(proposal) = self.0.iter_mut().find(|proposal| proposal.txn.zxid == zxid) {
            proposal.acks.insert(server);
        }
    }

    /// A server joins anew: what it has logged of these it gives up, and will log again.
    pub fn withdraw(&mut self, server: ServerId) {
        for proposal in &mut self.0 {
            proposal.acks.remove(&server);
        }
    }

    /// Takes the first proposal if a quorum has logged it.
    // Source: Leader.tryToCommit.
    pub fn take_committed(&mut self, ensemble: &Ensemble) -> Option<Arc<Txn>> {
        let first = self.0.pop_front_if(|first| ensemble.is_quorum(&first.acks))?;
        Some(first.txn)
    }

    /// The last one, if there is any.
    pub fn last(&self) -> Option<Zxid> {
        self.0.back().map(|proposal| proposal.txn.zxid)
    }

    /// All, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Txn>> {
        self.0.iter().map(|proposal| &proposal.txn)
    }

    /// Who has logged each, as far as it is known here.
    pub fn acks(&self) -> impl Iterator<Item = (Zxid, &OrdSet<ServerId>)> {
        self.0.iter().map(|proposal| (proposal.txn.zxid, &proposal.acks))
    }
}

/// Watches how long one learner takes to log proposals. It looks at one at a time.
// Source: LearnerHandler.SyncLimitCheck.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SyncLimitCheck {
    current: Option<(Zxid, SimTime)>,
    next: Option<(Zxid, SimTime)>,
}

impl SyncLimitCheck {
    /// A proposal has been sent.
    pub fn proposed(&mut self, zxid: Zxid, now: SimTime) {
        match self.current {
            None => self.current = Some((zxid, now)),
            Some(_) => self.next = Some((zxid, now)),
        }
    }

    /// It has been acknowledged.
    pub fn acked(&mut self, zxid: Zxid) {
        if self.current.is_some_and(|(current, _)| current == zxid) {
            self.current = self.next.take();
        } else if self.next.is_some_and(|(next, _)| next == zxid) {
            self.next = None;
        }
    }

    /// Has it been too long?
    pub fn is_overdue(&self, now: SimTime, limit: Span) -> bool {
        self.current.is_some_and(|(_, since)| now.since(since) >= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zk::ensemble::tests::ensemble;
    use crate::zk::stat::{Millis, SessionId};
    use crate::zk::txn::TxnBody;

    fn proposals(count: u32) -> Proposals {
        let mut proposals = Proposals::default();
        for counter in 1..=count {
            let (session, body) = (SessionId(1), TxnBody::CreateSession { timeout: Millis(0) });
            let zxid = Zxid::new(5, counter);
            proposals.propose(Txn { session, cxid: 0, zxid, time: Millis(0), body }.into());
        }
        proposals
    }

    /// Gives the acks of servers for counters one after the other; what is committed after each?
    fn check(voters: u8, acks: &[(u8, u32, &[u32])]) {
        let (mut proposals, ensemble) = (proposals(3), ensemble(voters, 1));
        for (server, counter, expected) in acks {
            proposals.ack(ServerId(*server), Zxid::new(5, *counter));
            let mut committed = Vec::new();
            while let Some(txn) = proposals.take_committed(&ensemble) {
                committed.push(txn.zxid.counter());
            }
            assert_eq!(committed, *expected, "after zk{server} acknowledged {counter}");
        }
    }

    #[test]
    fn a_quorum_commits_in_order() {
        check(3, &[(1, 1, &[]), (2, 2, &[]), (1, 2, &[]), (2, 1, &[1, 2]), (3, 1, &[])]);
        check(3, &[(1, 1, &[]), (1, 1, &[]), (4, 1, &[]), (3, 1, &[1])]);
        check(5, &[(1, 1, &[]), (2, 1, &[]), (3, 1, &[1])]);
        check(1, &[(1, 1, &[1])]);
    }

    #[test]
    fn who_joins_anew_acknowledges_anew() {
        let (mut proposals, ensemble) = (proposals(1), ensemble(3, 0));
        proposals.ack(ServerId(2), Zxid::new(5, 1));
        proposals.withdraw(ServerId(2));
        proposals.ack(ServerId(1), Zxid::new(5, 1));
        assert_eq!(proposals.take_committed(&ensemble), None);
        proposals.ack(ServerId(2), Zxid::new(5, 1));
        assert!(proposals.take_committed(&ensemble).is_some());
    }

    #[test]
    fn the_oldest_unacknowledged_proposal_counts() {
        let at = |ms| SimTime::ZERO + Span::ms(ms);
        let (mut check, limit) = (SyncLimitCheck::default(), Span::ms(1000));
        assert!(!check.is_overdue(at(9000), limit));
        check.proposed(Zxid(1), at(0));
        check.proposed(Zxid(2), at(600));
        assert!(check.is_overdue(at(1000), limit));
        check.acked(Zxid(1));
        assert!(!check.is_overdue(at(1500), limit));
        assert!(check.is_overdue(at(1600), limit));
    }
}
