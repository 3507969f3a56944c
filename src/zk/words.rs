//! What a ZooKeeper server speaks: messages, timers, disk writes, wishes from outside, facts.
//!
//! What servers say among themselves is in `peer`.
//!
//! *Invariant: a message is what one frame of the real protocol holds.*

use std::fmt;
use std::sync::Arc;

use super::client::ClientTimer;
use super::ensemble::ServerId;
use super::epochs::{Epoch, Epochs};
use super::path::Path;
use super::peer::{PeerMessage, PeerTimer};
use super::reply::{Access, Answer, ConnectReply, Error, EventKind, WatchEvent};
use super::request::{Connect, Op};
use super::stat::{Millis, Owner, SessionId};
use super::sync::Way;
use super::vote::Round;
use super::zxid::Zxid;
use crate::sim::fact::Field;
use crate::sim::{KernelFact, Span, Telling, Vocabulary};

/// The words of the `zk` floor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Words;

/// One frame between client and server, or between servers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// A client's first.
    Connect(Connect),
    /// The answer to it.
    ConnectReply(ConnectReply),
    /// A client's request.
    Request {
        /// Its number on this connection; see [`xid`].
        xid: i32,
        /// What it asks for.
        op: Op,
    },
    /// The answer to a request.
    Reply(Reply),
    /// What a watch tells.
    Event(WatchEvent),
    /// Between servers.
    Peer(PeerMessage),
    /// The four-letter word `isro`, by which a client looks for a server that takes writes.
    ///
    /// Real: it has a connection of its own; here it shares the link, because it says all itself.
    AskAccess,
    /// The answer to it: `rw`, `ro` or `null`.
    Access(Option<Access>),
    /// A four-letter word that somebody sends from a shell, on a connection of its own.
    Word(Arc<str>),
    /// The answer to it, with which the connection ends.
    Said(Arc<str>),
}

/// The answer to a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reply {
    /// The number of the request.
    pub xid: i32,
    /// Of the write itself, else the last that the server had applied.
    pub zxid: Zxid,
    /// `Err` if it was refused.
    pub result: Result<Answer, Error>,
}

/// Numbers of requests that are not counted.
// Source: ClientCnxn.
pub mod xid {
    /// ping.
    pub const PING: i32 = -2;
    /// auth.
    pub const AUTH: i32 = -4;
    /// setWatches.
    pub const SET_WATCHES: i32 = -8;
}

/// What a server waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// The next bucket of sessions may be due.
    SessionTick,
    /// Time to look for containers and TTL znodes to remove.
    ContainerCheck,
    /// One of those that servers need among themselves.
    Peer(PeerTimer),
    /// One of a client's.
    Client(ClientTimer),
}

/// What is being written to a server's disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Write {
    /// The txn log, up to and including this zxid.
    Log {
        /// The last txn of the batch.
        through: Zxid,
    },
    /// The epoch files.
    Epochs(Epochs),
}

/// What is asked of a server from outside the simulated network.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// SIGTERM: stop in order.
    Stop,
    /// Of a shell: ask the ensemble.
    Ask(Op),
    /// Of a shell: a line is typed.
    Type(Arc<str>),
    /// Of a server: an error in its code shows.
    Break(Flaw),
}

/// An error in a server's code that does not end its process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Flaw {
    /// The thread that takes requests has ended, and nobody notices.
    // Source: ZOOKEEPER-1907, ZOOKEEPER-4712.
    Requests,
    /// The next end of a session will take none of its ephemerals from this server's tree.
    // Source: ZOOKEEPER-2355, ZOOKEEPER-4837.
    SessionEnd,
}

crate::facts! {
    /// What servers and clients tell.
    pub enum Fact {
        "session-opened" => SessionOpened { session: SessionId, timeout: Millis },
        "local-session-opened" => LocalSessionOpened { session: SessionId, timeout: Millis },
        "local-session-ended" => LocalSessionEnded { session: SessionId },
        "session-upgraded" => SessionUpgraded { session: SessionId },
        "session-resumed" => SessionResumed { session: SessionId },
        "session-refused" => SessionRefused { session: SessionId },
        "session-expired" => SessionExpired { session: SessionId },
        "session-closed" => SessionClosed { session: SessionId, ephemerals: u32 },
        "session-moved" => SessionMoved { session: SessionId, to: ServerId },
        "client-refused" => ClientRefused { seen: Zxid, last: Zxid },
        "znode-created" => ZnodeCreated { path: Path, owner: Owner, zxid: Zxid },
        "znode-changed" => ZnodeChanged { path: Path, version: i32, zxid: Zxid },
        "acl-changed" => AclChanged { path: Path, version: i32, zxid: Zxid },
        "znode-deleted" => ZnodeDeleted { path: Path, zxid: Zxid },
        "watch-fired" => WatchFired { kind: EventKind, path: Path, session: SessionId },
        "zk-connected" => Connected { session: SessionId, server: ServerId },
        "zk-disconnected" => Disconnected { session: SessionId, server: ServerId },
        "zk-expired" => Expired { session: SessionId, server: ServerId },
        "zk-answered" => Answered { op: &'static str, path: Path, zxid: Zxid },
        "zk-refused" => Refused { op: &'static str, path: Path, error: Error },
        "watch-heard" => WatchHeard { kind: EventKind, path: Path },
        "looking" => Looking { round: Round, epoch: Epoch, zxid: Zxid },
        "vote-changed" => VoteChanged { candidate: ServerId, epoch: Epoch, zxid: Zxid },
        "zk-elected" => Elected { leader: ServerId, round: Round },
        "epoch-proposed" => EpochProposed { epoch: Epoch },
        "synchronizing" => Synchronizing { learner: ServerId, way: Way, seen: Zxid },
        "log-truncated" => LogTruncated { to: Zxid, dropped: u32 },
        "log-not-written" => LogNotWritten {},
        "epoch-not-written" => EpochNotWritten {},
        "snapshot-not-written" => SnapshotNotWritten {},
        "zk-leading" => Leading { epoch: Epoch, zxid: Zxid },
        "zk-following" => Following { leader: ServerId, epoch: Epoch, way: Way },
        "learner-lost" => LearnerLost { learner: ServerId, silence: Span },
        "leader-lost" => LeaderLost { leader: ServerId, silence: Span },
        "leadership-abandoned" => Abandoned { epoch: Epoch },
        "quorum-lost" => QuorumLost { epoch: Epoch },
        "quota-exceeded" => QuotaExceeded {
            path: Path,
            what: &'static str,
            now: i64,
            name: &'static str,
            limit: i64,
        },
        "frame-too-long" => FrameTooLong { session: SessionId, length: u64, limit: u64 },
        "request-refused" => RequestRefused { session: SessionId, error: Error, zxid: Zxid },
        "read-only-started" => ReadOnlyStarted { zxid: Zxid },
        "zk-connected-read-only" => ConnectedReadOnly { session: SessionId, server: ServerId },
        "majority-found" => MajorityFound { server: ServerId },
        "too-many-connections" => TooManyConnections { limit: u32 },
        "zxid-rolled-over" => ZxidRolledOver { epoch: Epoch },
        "thread-died" => ThreadDied {},
        "digest-mismatch" => DigestMismatch { zxid: Zxid },
        "myid-refused" => MyIdRefused { found: Arc<str>, why: &'static str },
    }
}

/// A fact of a server, or of the kernel that runs it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Told {
    /// The server's.
    Zk(Fact),
    /// The kernel's.
    Kernel(KernelFact),
}

impl Vocabulary for Words {
    type Message = Message;
    type Timer = Timer;
    type Write = Write;
    type Request = Request;
    type Fact = Told;

    fn message_name(message: &Message) -> &'static str {
        match message {
            Message::Connect(_) => "connect",
            Message::ConnectReply(_) => "connect-reply",
            Message::Request { op, .. } => op.name(),
            Message::Reply(_) => "reply",
            Message::Event(_) => "watch-event",
            Message::Peer(message) => message.name(),
            Message::AskAccess => "isro",
            Message::Access(_) => "isro-answer",
            Message::Word(_) => "four-letter-word",
            Message::Said(_) => "four-letter-answer",
        }
    }

    fn timer_name(timer: &Timer) -> &'static str {
        match timer {
            Timer::SessionTick => "session-tick",
            Timer::ContainerCheck => "container-check",
            Timer::Peer(timer) => timer.name(),
            Timer::Client(timer) => timer.name(),
        }
    }

    fn request_name(request: &Request) -> &'static str {
        match request {
            Request::Stop => "stop",
            Request::Ask(op) => op.name(),
            Request::Type(_) => "type",
            Request::Break(_) => "break",
        }
    }
}

impl Told {
    fn fact(&self) -> &dyn Telling {
        match self {
            Told::Zk(fact) => fact,
            Told::Kernel(fact) => fact,
        }
    }
}

impl Telling for Told {
    fn key(&self) -> &'static str {
        self.fact().key()
    }

    fn said(&self) -> Vec<Field<'_>> {
        self.fact().said()
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.fact(), f)
    }
}

impl From<Fact> for Told {
    fn from(fact: Fact) -> Told {
        Told::Zk(fact)
    }
}

impl From<KernelFact> for Told {
    fn from(fact: KernelFact) -> Told {
        Told::Kernel(fact)
    }
}

impl From<PeerMessage> for Message {
    fn from(message: PeerMessage) -> Message {
        Message::Peer(message)
    }
}

impl From<PeerTimer> for Timer {
    fn from(timer: PeerTimer) -> Timer {
        Timer::Peer(timer)
    }
}

impl From<ClientTimer> for Timer {
    fn from(timer: ClientTimer) -> Timer {
        Timer::Client(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::Fact;
    use crate::zk::stat::SessionId;

    #[test]
    fn facts_print_in_notation() {
        let fact = Fact::SessionExpired { session: SessionId(26) };
        assert_eq!(fact.to_string(), "session-expired session=0x1a");
    }
}
