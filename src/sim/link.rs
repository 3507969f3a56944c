//! Links: one direction of the path between two processes, and the sender's view of the connection.
//!
//! Links are TCP: in order, or broken. A process that dies hangs up; a cut cable says nothing.
//! *Invariant:* within one view (one connection) messages land in the order sent; what was sent on
//! a connection that one end has left is never delivered.
//!
//! ```text
//!   a: view 3 ──── m(3) m(3) FIN(3) ───▶ b: view 3 → 4, Event::Hangup
//!   a: view 4 ◀─── m(3), stale: dropped
//! ```

use super::chance::Stream;
use super::time::{ProcessId, SimTime, Span};

/// Which way a cut or a cure goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the first process to the second only.
    OneWay,
    /// Both ways.
    Both,
}

/// What one process keeps of its link to `peer`.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) peer: ProcessId,
    /// Number of the connection as this end sees it; raised when it is closed.
    pub(super) view: u32,
    /// Something was sent or received on this connection.
    pub(super) open: bool,
    /// When the last message in this direction lands.
    pub(super) last_landing: SimTime,
    /// The cable is cut in this direction.
    pub(super) cut: bool,
    /// The next message in this direction takes this much longer.
    pub(super) delay_next: Option<Span>,
    pub(super) latency: Stream,
}

impl Link {
    pub(super) fn new(peer: ProcessId, latency: Stream) -> Link {
        Link {
            peer,
            view: 0,
            open: false,
            last_landing: SimTime::ZERO,
            cut: false,
            delay_next: None,
            latency,
        }
    }

    /// Leaves the connection; gives the view that was closed.
    pub(super) fn close(&mut self) -> u32 {
        self.open = false;
        self.view += 1;
        self.view - 1
    }
}
