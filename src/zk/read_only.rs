//! What a server serves while it looks for a leader, if `readonlymode.enabled`: reads, to clients
//! that are content with them.
//!
//! *Invariant: it changes nothing that is agreed upon. When it ends, all its clients are gone and
//! all their watches.*

use super::local_sessions::Kind;
use super::member::Member;
use super::peer::Touch;
use super::reply::Error;
use super::request::{Class, Op};
use super::serving::{Serving, Upward};
use super::stat::SessionId;
use super::watch::WatchTable;
use super::words::{Fact, Message, Words};
use crate::sim::{Outbox, ProcessId};

/// A server that has no quorum and answers reads all the same.
// Source: ReadOnlyZooKeeperServer, ReadOnlyRequestProcessor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReadOnly {
    serving: Serving,
}

impl ReadOnly {
    /// Begins to serve what the server has.
    pub fn start(member: &Member, out: &mut Outbox<'_, Words>) -> ReadOnly {
        out.tell(Fact::ReadOnlyStarted { zxid: member.database.last_zxid });
        ReadOnly { serving: Serving::read_only(member.me, out.now()) }
    }

    /// Its clients.
    pub fn serving(&self) -> &Serving {
        &self.serving
    }

    /// A client says something.
    // Source: ReadOnlyRequestProcessor.run.
    pub fn hear(
        &mut self,
        from: ProcessId,
        message: Message,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) {
        let own = |(session, _): &(SessionId, _)| !member.database.sessions.contains_key(session);
        if let Message::Request { xid, op: Op::CloseSession } = message
            && self.serving.session_of(from).is_some_and(|known| own(&known))
        {
            return self.serving.close_locally(from, xid, member, out);
        }
        let mut judge = |op: &Op, _: Touch, _: Kind| match op.class() {
            Class::Write | Class::Sync => Some(Err(Error::NotReadOnly)),
            _ => Some(Ok(())),
        };
        let upward = self.serving.hear(from, message, &mut judge, member, out);
        self.settle(upward, member, out);
    }

    /// What a leader would have to decide. A new session is this server's own, and ends with it.
    ///
    /// Real: from 3.7 on only local sessions are taken, so that `localSessionsEnabled` must be on
    /// as well, and a client with a global one is sent away (ZOOKEEPER-3864); here as up to 3.6,
    /// whatever that setting says, but nothing of a global one is changed.
    // Source: ZooKeeperServer.reopenSession, createSession.
    fn settle(&mut self, upward: Option<Upward>, member: &Member, out: &mut Outbox<'_, Words>) {
        match upward {
            Some(Upward::Submit(submission) | Upward::Upgrade(_, submission)) => {
                self.serving.accept_locally(submission.session, out);
            }
            Some(Upward::Revalidate { session, .. }) => {
                let valid = member.database.sessions.contains_key(&session);
                self.serving.revalidated(session, valid, out);
            }
            None => {}
        }
    }

    /// The client has hung up.
    pub fn lose(&mut self, peer: ProcessId, member: &mut Member) {
        self.serving.lose(peer, member);
    }

    /// Hangs up on those of whom nothing was heard for too long.
    pub fn end_silent(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        self.serving.end_silent(member, out);
    }

    /// Hangs up on everybody: there is a leader.
    // Source: ReadOnlyZooKeeperServer.shutdown.
    pub fn end(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        self.serving.close_all(out);
        member.database.data_watches = WatchTable::default();
        member.database.child_watches = WatchTable::default();
    }
}
