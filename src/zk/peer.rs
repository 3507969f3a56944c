//! What servers say among themselves: election, discovery, synchronization, broadcast.

/// A message between servers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PeerMessage {}

/// A timer that a server needs for its peers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PeerTimer {}

impl PeerMessage {
    /// Its short name, for traces.
    pub fn name(&self) -> &'static str {
        match *self {}
    }
}

impl PeerTimer {
    /// Its short name, for traces.
    pub fn name(&self) -> &'static str {
        match *self {}
    }
}
