//! What servers say among themselves: election, discovery, synchronization, broadcast.
//!
//! Real: elections have connections of their own, and so has each learner to its leader; here they
//! share the one link between two processes, because each part tells its own messages.
//!
//! *Invariant: a message is what one packet of the real protocol holds.*

use std::sync::Arc;

use super::database::Snapshot;
use super::epochs::Epoch;
use super::prep::Submission;
use super::stat::{Millis, SessionId};
use super::txn::Txn;
use super::vote::Notification;
use super::zxid::Zxid;
use crate::sim::EventId;

/// A message between servers.
// Source: FastLeaderElection.Notification, Leader's packet types.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PeerMessage {
    /// A vote, or what came of it.
    Notification(Notification),
    /// A learner to its leader: what it has promised. FOLLOWERINFO or OBSERVERINFO.
    LearnerInfo {
        /// Its acceptedEpoch.
        accepted: Epoch,
    },
    /// The connection is refused, because no leader listens there.
    Refused,
    /// The leader's new epoch.
    LeaderInfo {
        /// Its number.
        epoch: Epoch,
    },
    /// A learner's promise to it.
    AckEpoch {
        /// Its last logged txn.
        last: Zxid,
        /// Its currentEpoch; none if it had promised before, so that this does not count.
        current: Option<Epoch>,
    },
    /// You have what I have, up to what follows.
    Diff,
    /// Forget all after this.
    Trunc {
        /// The last to keep.
        to: Zxid,
    },
    /// Here is everything.
    Snap(Arc<Snapshot>),
    /// Log this.
    Proposal(Arc<Txn>),
    /// It is logged. For `epoch:0`: NEWLEADER was done.
    Ack {
        /// What.
        zxid: Zxid,
    },
    /// Apply this.
    Commit {
        /// What.
        zxid: Zxid,
    },
    /// To an observer: log and apply this.
    Inform(Arc<Txn>),
    /// You have all that the epoch begins with.
    NewLeader {
        /// Its number.
        epoch: Epoch,
    },
    /// A quorum has; serve.
    UpToDate,
    /// A learner passes a request on.
    Request(Arc<Submission>),
    /// The answer to a sync.
    Synced {
        /// Whose sync.
        session: SessionId,
        /// Its number on its connection.
        xid: i32,
    },
    /// A learner asks whether a session lives.
    Revalidate {
        /// Which.
        session: SessionId,
        /// As negotiated now.
        timeout: Millis,
    },
    /// Whether it does.
    Revalidated {
        /// Which.
        session: SessionId,
        /// Does it live?
        valid: bool,
    },
    /// The leader lives.
    Ping,
    /// So does the learner, and so do these sessions.
    Pong {
        /// Who was heard of since the last time.
        touched: Arc<[Touch]>,
    },
}

/// A session's sign of life.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Touch {
    /// Whose.
    pub session: SessionId,
    /// As negotiated.
    pub timeout: Millis,
    /// The event that was the sign.
    pub sign: EventId,
}

/// A timer that a server needs for its peers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PeerTimer {
    /// Looking: nobody has said anything; vote again.
    VoteAgain,
    /// Looking: no better vote has come.
    Finalize,
    /// Learner: try the leader again.
    Connect,
    /// Learner: nothing was heard from the leader.
    LeaderSilence,
    /// Leader: a step of the beginning has taken too long.
    InitLimit,
    /// Leader: half a tick is over.
    HalfTick,
    /// Looking: it has looked for so long that it may serve reads.
    ReadOnly,
}

impl PeerTimer {
    /// All of them.
    pub const ALL: [PeerTimer; 7] = [
        PeerTimer::VoteAgain,
        PeerTimer::Finalize,
        PeerTimer::Connect,
        PeerTimer::LeaderSilence,
        PeerTimer::InitLimit,
        PeerTimer::HalfTick,
        PeerTimer::ReadOnly,
    ];

    /// Its short name, for traces.
    pub fn name(self) -> &'static str {
        match self {
            PeerTimer::VoteAgain => "vote-again",
            PeerTimer::Finalize => "finalize",
            PeerTimer::Connect => "connect-to-leader",
            PeerTimer::LeaderSilence => "leader-silence",
            PeerTimer::InitLimit => "init-limit",
            PeerTimer::HalfTick => "half-tick",
            PeerTimer::ReadOnly => "read-only",
        }
    }
}

impl PeerMessage {
    /// Its short name, for traces.
    pub fn name(&self) -> &'static str {
        match self {
            PeerMessage::Notification(_) => "notification",
            PeerMessage::LearnerInfo { .. } => "learner-info",
            PeerMessage::Refused => "refused",
            PeerMessage::LeaderInfo { .. } => "leader-info",
            PeerMessage::AckEpoch { .. } => "ack-epoch",
            PeerMessage::Diff => "diff",
            PeerMessage::Trunc { .. } => "trunc",
            PeerMessage::Snap(_) => "snap",
            PeerMessage::Proposal(_) => "proposal",
            PeerMessage::Ack { .. } => "ack",
            PeerMessage::Commit { .. } => "commit",
            PeerMessage::Inform(_) => "inform",
            PeerMessage::NewLeader { .. } => "new-leader",
            PeerMessage::UpToDate => "up-to-date",
            PeerMessage::Request(_) => "forward",
            PeerMessage::Synced { .. } => "synced",
            PeerMessage::Revalidate { .. } => "revalidate",
            PeerMessage::Revalidated { .. } => "revalidated",
            PeerMessage::Ping => "leader-ping",
            PeerMessage::Pong { .. } => "pong",
        }
    }
}
