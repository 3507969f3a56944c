//! How a client that is content with reads looks for a server that takes writes as well.
//!
//! *Invariant: a session that no server with a quorum has seen is continued nowhere.*

use super::client::ClientTimer;
use super::ensemble::Address;
use super::reply::Access;
use super::words::{Message, Words};
use crate::sim::{Outbox, ProcessId, Span};

/// The first pause between two questions, and the longest.
// Source: ClientCnxn.SendThread.minPingRwTimeout, maxPingRwTimeout.
const PAUSES: (Span, Span) = (Span::ms(100), Span::secs(60));

/// What such a client knows of its server and of others.
// Source: ClientCnxn.SendThread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Seeker {
    access: Access,
    /// Has a server with a quorum accepted its session?
    accepted: bool,
    pause: Span,
    asked: Option<Address>,
    found: Option<Address>,
}

impl Seeker {
    /// It has not been connected yet.
    pub fn new() -> Seeker {
        let (access, accepted) = (Access::ReadWrite, false);
        Seeker { access, accepted, pause: PAUSES.0, asked: None, found: None }
    }

    /// What the server takes that it is connected to.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Whether its session is worth something elsewhere.
    pub fn has_session(&self) -> bool {
        self.accepted
    }

    /// The server that was found; it is to be tried next.
    pub fn take_found(&mut self) -> Option<Address> {
        self.found.take()
    }

    /// A server has accepted the session.
    // Source: ClientCnxn.SendThread.onConnected.
    pub fn connected(&mut self, access: Access, out: &mut Outbox<'_, Words>) {
        self.access = access;
        self.accepted |= access == Access::ReadWrite;
        if access == Access::ReadOnly {
            out.arm(ClientTimer::Seek, self.pause);
        }
    }

    /// Asks `next` whether it takes writes.
    // Source: ClientCnxn.SendThread.pingRwServer.
    pub fn ask(&mut self, next: Address, out: &mut Outbox<'_, Words>) {
        self.asked = Some(next);
        self.pause = (self.pause * 2).min(PAUSES.1);
        out.send(next.process, Message::AskAccess);
        out.arm(ClientTimer::Seek, self.pause);
    }

    /// One says that it does; gives it if it was asked.
    pub fn found(&mut self, process: ProcessId) -> Option<Address> {
        let found = self.asked.filter(|asked| asked.process == process)?;
        (self.asked, self.found, self.pause) = (None, Some(found), PAUSES.0);
        Some(found)
    }
}

impl Default for Seeker {
    fn default() -> Seeker {
        Seeker::new()
    }
}
