//! Who is in an ensemble, and where: server ids, the processes behind them, and what a quorum is.
//!
//! How servers of an ensemble behave is in `server` and what it is made of.
//!
//! *Invariant: a server id stands for one process, for ever; any two quorums share a voter.*

use std::fmt;
use std::sync::Arc;

use crate::sim::{OrdSet, ProcessId};

/// The id of a server, as in its `myid` file. Facts spell it `zk1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct ServerId(pub u8);

impl ServerId {
    /// What a standalone server uses.
    // Source: SessionTrackerImpl (createSessionTrackerServerId).
    pub const STANDALONE: ServerId = ServerId(1);
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zk{}", self.0)
    }
}

/// Where a server is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    /// The server.
    pub id: ServerId,
    /// The process that runs it.
    pub process: ProcessId,
}

/// Whether a server has a say.
// Source: QuorumPeer.LearnerType.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Suffrage {
    /// It votes and acknowledges (a participant).
    Voter,
    /// It only hears what was decided.
    Observer,
}

/// All servers of an ensemble, as the `server.N` lines of the configuration say.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ensemble(Arc<[(Address, Suffrage)]>);

impl Ensemble {
    /// The ensemble of these servers.
    pub fn new(servers: impl IntoIterator<Item = (Address, Suffrage)>) -> Ensemble {
        let ensemble = Ensemble(servers.into_iter().collect());
        assert!(ensemble.voters().next().is_some(), "an ensemble has a voter");
        ensemble
    }

    /// The ensemble of these voters.
    pub fn of_voters(servers: impl IntoIterator<Item = Address>) -> Ensemble {
        Ensemble::new(servers.into_iter().map(|server| (server, Suffrage::Voter)))
    }

    /// Where all servers are, for a client's connection string.
    pub fn addresses(&self) -> Arc<[Address]> {
        self.0.iter().map(|(address, _)| *address).collect()
    }

    /// All servers but `me`.
    pub fn others(&self, me: ServerId) -> impl Iterator<Item = Address> {
        self.0.iter().map(|(address, _)| *address).filter(move |address| address.id != me)
    }

    /// The voters.
    pub fn voters(&self) -> impl Iterator<Item = Address> {
        let voters = self.0.iter().filter(|(_, suffrage)| *suffrage == Suffrage::Voter);
        voters.map(|(address, _)| *address)
    }

    /// The server that a process runs.
    pub fn id_of(&self, process: ProcessId) -> Option<ServerId> {
        let found = self.0.iter().find(|(address, _)| address.process == process)?;
        Some(found.0.id)
    }

    /// The process that runs a server.
    pub fn host_of(&self, id: ServerId) -> ProcessId {
        let found = self.0.iter().find(|(address, _)| address.id == id);
        found.expect("only servers of the ensemble are spoken of").0.process
    }

    /// Does this server vote?
    pub fn is_voter(&self, id: ServerId) -> bool {
        self.voters().any(|voter| voter.id == id)
    }

    /// Are these more than half of the voters? Others among them do not count.
    // Source: QuorumMaj.containsQuorum.
    pub fn is_quorum(&self, ids: &OrdSet<ServerId>) -> bool {
        let having = self.voters().filter(|voter| ids.contains(&voter.id)).count();
        having > self.voters().count() / 2
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Voters 1 to `voters`, and as many observers behind them; server n is process n - 1.
    pub fn ensemble(voters: u8, observers: u8) -> Ensemble {
        let server = |id: u8| Address { id: ServerId(id), process: ProcessId(u16::from(id) - 1) };
        Ensemble::new((1..=voters + observers).map(|id| {
            let suffrage = if id <= voters { Suffrage::Voter } else { Suffrage::Observer };
            (server(id), suffrage)
        }))
    }

    #[test]
    fn a_quorum_is_more_than_half_of_the_voters() {
        let check = |voters, ids: &[u8], expected| {
            let ids = ids.iter().map(|id| ServerId(*id)).collect();
            assert_eq!(ensemble(voters, 2).is_quorum(&ids), expected, "{ids:?} of {voters}");
        };
        check(1, &[1], true);
        check(2, &[1], false);
        check(2, &[1, 2], true);
        check(3, &[1, 3], true);
        check(3, &[1, 4, 5], false);
        check(4, &[1, 2], false);
        check(5, &[1, 2, 5], true);
    }
}
