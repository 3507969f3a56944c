//! The side of a server that clients see: connections, who they are, and what is sent to them.
//!
//! What is done with a request depends on the server's role, and is not here.
//!
//! *Invariant: a session has at most one connection; a connection that is closed gets nothing.*

use std::sync::Arc;

use super::acl::{AuthId, Perms, digest_id};
use super::apply::Fired;
use super::reply::{Access, Answer, ConnectReply, Error};
use super::session::password_of;
use super::stat::{Bytes, Millis, SessionId};
use super::watch::ConnectionId;
use super::words::{Fact, Message, Reply, Words};
use super::zxid::Zxid;
use crate::sim::{OrdMap, Outbox, ProcessId, SimTime, Span};

/// The address that every client seems to have.
///
/// Real: that of its machine; here all are the server's neighbours, because addresses matter only
/// to the `ip` scheme.
pub(super) const CLIENT_ADDRESS: &str = "127.0.0.1";

/// How far apart the moments are at which silent connections are ended, and how long one without a
/// session may be silent.
// Source: NIOServerCnxnFactory.configure (zookeeper.nio.sessionlessCnxnTimeout).
pub(super) const CONNECTION_TICK: Span = Span::secs(10);

/// The moment at which connections are looked at that comes next after `time`.
// Source: ExpiryQueue.roundToNextInterval.
pub(super) fn next_look(time: SimTime) -> SimTime {
    let tick = CONNECTION_TICK.as_micros();
    SimTime::micros((time.as_micros() / tick + 1) * tick)
}

/// One client's connection.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Connection {
    /// Which.
    pub id: ConnectionId,
    /// The session it is for.
    pub session: SessionId,
    /// As negotiated on this connection.
    pub timeout: Millis,
    /// Who it has proved to be.
    pub ids: Arc<[AuthId]>,
    /// Has the client been answered?
    pub stage: ConnectionStage,
    /// When it is ended unless something comes or goes on it.
    pub deadline: SimTime,
}

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConnectionStage {
    /// The client waits for its session. It becomes `Open`, or is closed.
    Opening,
    /// Requests are taken.
    Open,
}

/// All connections of a server.
// Source: ServerCnxnFactory, NIOServerCnxn.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Front {
    connections: OrdMap<ProcessId, Connection>,
    by_session: OrdMap<SessionId, ProcessId>,
    opened: u32,
    access: Access,
}

impl Front {
    /// That of a server that serves reads only.
    pub fn read_only() -> Front {
        Front { access: Access::ReadOnly, ..Front::default() }
    }

    /// What is taken here.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Whether one more connection is accepted. All come from one address.
    // Source: NIOServerCnxnFactory.AcceptThread.doAccept.
    pub fn admits(&self, peer: ProcessId, limit: u32, out: &mut Outbox<'_, Words>) -> bool {
        let full = limit > 0 && self.connections.len() as u32 >= limit;
        if full {
            out.tell(Fact::TooManyConnections { limit });
            out.hangup(peer);
        }
        !full
    }

    /// A client has connected, for a session that is yet to be opened or checked. If that session
    /// has a connection here, it is closed.
    // Source: ZooKeeperServer.processConnectRequest.
    pub fn open(
        &mut self,
        peer: ProcessId,
        session: SessionId,
        timeout: Millis,
        out: &mut Outbox<'_, Words>,
    ) -> Opened {
        let closed = self.connection_of(session).map(|connection| connection.id);
        if let Some(id) = closed {
            self.close(id, out);
        }
        let id = ConnectionId { peer, number: self.opened };
        self.opened += 1;
        let ids = Arc::from([AuthId::new("ip", CLIENT_ADDRESS)]);
        let (stage, deadline) = (ConnectionStage::Opening, out.now());
        self.connections.insert(peer, Connection { id, session, timeout, ids, stage, deadline });
        self.touch(peer, out.now());
        self.by_session.insert(session, peer);
        Opened { id, closed }
    }

    /// The connection of a process.
    pub fn connection(&self, peer: ProcessId) -> Option<&Connection> {
        self.connections.get(&peer)
    }

    /// This very connection, if it is still there.
    pub fn current(&self, id: ConnectionId) -> Option<&Connection> {
        self.connection(id.peer).filter(|connection| connection.id == id)
    }

    /// The connection of a session.
    pub fn connection_of(&self, session: SessionId) -> Option<&Connection> {
        self.connection(*self.by_session.get(&session)?)
    }

    /// All connections.
    pub fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.connections.values()
    }

    /// A request has come on a connection.
    pub fn hear(&mut self, peer: ProcessId, now: SimTime) -> Option<Connection> {
        self.touch(peer, now);
        self.connection(peer).cloned()
    }

    /// Something has come or gone on a connection.
    // Source: NIOServerCnxnFactory.touchCnxn.
    fn touch(&mut self, peer: ProcessId, now: SimTime) {
        let Some(known) = self.connection(peer) else { return };
        let deadline = next_look(now + Span::ms(known.timeout.0.cast_unsigned()));
        if known.deadline != deadline {
            let moved = Connection { deadline, ..known.clone() };
            self.connections.insert(peer, moved);
        }
    }

    /// Connections on which nothing has come or gone for their session's timeout: the client has
    /// died without a word, or is cut off and has moved to another server.
    ///
    /// Real: a thread of its own wakes when the next is due; here a server looks at its ticks, so
    /// that one ends up to a tick later.
    // Source: NIOServerCnxnFactory.ConnectionExpirerThread.
    pub fn expired(&self, now: SimTime) -> Vec<ConnectionId> {
        let due = self.iter().filter(|connection| connection.deadline <= now);
        due.map(|connection| connection.id).collect()
    }

    /// Answers a client that its session is valid.
    // Source: ZooKeeperServer.finishSessionInit.
    pub fn accept(&mut self, id: ConnectionId, out: &mut Outbox<'_, Words>) {
        let Some(connection) = self.connections.get_mut(&id.peer).filter(|c| c.id == id) else {
            return;
        };
        connection.stage = ConnectionStage::Open;
        let (session, timeout) = (connection.session, connection.timeout);
        let password = password_of(session);
        let reply = ConnectReply { timeout, session, password, access: self.access };
        out.send(id.peer, Message::ConnectReply(reply));
    }

    /// Answers a client that its session is no more, and hangs up.
    // Source: ZooKeeperServer.finishSessionInit.
    pub fn refuse(&mut self, id: ConnectionId, out: &mut Outbox<'_, Words>) {
        if let Some(connection) = self.current(id) {
            out.tell(Fact::SessionRefused { session: connection.session });
            let (timeout, session, password) = Default::default();
            let reply = ConnectReply { timeout, session, password, access: self.access };
            out.send(id.peer, Message::ConnectReply(reply));
            self.close(id, out);
        }
    }

    /// Hangs up.
    pub fn close(&mut self, id: ConnectionId, out: &mut Outbox<'_, Words>) {
        if self.current(id).is_some() {
            out.hangup(id.peer);
            self.forget(id.peer);
        }
    }

    /// Hangs up on everybody.
    // Source: ServerCnxnFactory.closeAll.
    pub fn close_all(&mut self, out: &mut Outbox<'_, Words>) {
        for connection in self.connections.values() {
            out.hangup(connection.id.peer);
        }
        *self = Front { opened: self.opened, access: self.access, ..Front::default() };
    }

    /// The client has hung up; says which connection that was.
    pub fn forget(&mut self, peer: ProcessId) -> Option<ConnectionId> {
        let connection = self.connections.get(&peer)?.clone();
        self.connections.remove(&peer);
        if self.by_session.get(&connection.session) == Some(&peer) {
            self.by_session.remove(&connection.session);
        }
        Some(connection.id)
    }

    /// Takes somebody's word for who they are; says whether it was believed.
    // Source: ZooKeeperServer.processPacket (auth), DigestAuthenticationProvider.
    pub fn authenticate(&mut self, peer: ProcessId, scheme: &str, auth: &Bytes) -> Option<()> {
        let connection = self.connections.get_mut(&peer)?;
        let id = match scheme {
            "digest" => digest_id(&auth.to_text()),
            "ip" => AuthId::new("ip", CLIENT_ADDRESS),
            _ => return None,
        };
        if !connection.ids.contains(&id) {
            connection.ids = connection.ids.iter().cloned().chain([id]).collect();
        }
        Some(())
    }

    /// Sends what watches tell to those who may read the znode.
    // Source: NIOServerCnxn.process, ZOOKEEPER-4799.
    pub fn deliver(&mut self, fired: Vec<Fired>, out: &mut Outbox<'_, Words>) {
        for Fired { to, event, acl } in fired {
            let Some(connection) = self.current(to) else { continue };
            if acl.permits(&connection.ids, Perms::READ) {
                let (kind, path) = (event.kind, event.path.clone());
                out.tell(Fact::WatchFired { kind, path, session: connection.session });
                out.send(to.peer, Message::Event(event));
                self.touch(to.peer, out.now());
            }
        }
    }

    /// Answers a request, if its connection is still there.
    pub fn reply(
        &mut self,
        to: ConnectionId,
        (xid, zxid): (i32, Zxid),
        result: Result<Answer, Error>,
        out: &mut Outbox<'_, Words>,
    ) {
        if self.current(to).is_some() {
            out.send(to.peer, Message::Reply(Reply { xid, zxid, result }));
            self.touch(to.peer, out.now());
        }
    }
}

/// What came of a new connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opened {
    /// The new one.
    pub id: ConnectionId,
    /// The one it replaces.
    pub closed: Option<ConnectionId>,
}
