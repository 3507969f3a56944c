//! Who is in an ensemble, and where: server ids and the processes behind them.
//!
//! How servers of an ensemble behave is in `server` and what it is made of.
//!
//! *Invariant: a server id stands for one process, for ever.*

use std::fmt;

use crate::sim::ProcessId;

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
