//! The client library: a machine that a host process embeds to have a session with an ensemble.
//!
//! It finds a server, keeps the session alive, numbers requests, and after a reconnect arms the
//! watches again. What to do about a lost connection or an expired session is the host's affair.
//!
//! *Invariant: requests of one session are answered in the order made; one that was asked before
//! the connection broke and not yet answered is answered with ConnectionLoss.*
//!
//! ```text
//!            open                  ConnectReply                 hangup, 2T/3 of silence
//!   fresh ─────────▶ Connecting ─────────────────▶ Connected ───────────────────────────┐
//!                      ▲    │ hangup, T/n of silence     │ close, answered             │
//!                      │    ▼                            ▼                             │
//!                      └─ Pausing ◀──────────────────  Closed        (timeout 0: Expired)
//!                           ▲──────────────────────────────────────────────────────────┘
//! ```

use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use super::client_watches::{RemovedKind, Watcher, Watches};
use super::ensemble::{Address, ServerId};
use super::path::Path;
use super::reply::{Access, Answer, ConnectReply, Error, WatchEvent};
use super::request::{Connect, Op, Password};
use super::seeker::Seeker;
use super::stat::{Bytes, Millis, SessionId};
use super::words::{Fact, Message, Reply, Words, xid};
use super::zxid::Zxid;
use crate::sim::{Draw, Event, Outbox, ProcessId, SimTime, Span};

/// What a host tells its client to do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// The servers of the connection string.
    pub servers: Arc<[Address]>,
    /// The session timeout to ask for.
    pub timeout: Span,
}

/// What a client waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ClientTimer {
    /// Nothing was sent for so long that the server needs a sign of life.
    Ping,
    /// Nothing was heard for so long that another server must be found.
    Silence,
    /// The pause before the next attempt.
    Retry,
    /// The pause before the next server is asked whether it takes writes.
    Seek,
}

impl ClientTimer {
    /// Its short name, for traces and as a purpose of draws.
    pub fn name(self) -> &'static str {
        match self {
            ClientTimer::Ping => "client-ping",
            ClientTimer::Silence => "client-silence",
            ClientTimer::Retry => "client-retry",
            ClientTimer::Seek => "client-seek",
        }
    }
}

/// What the host sees of the connection.
// Source: ZooKeeper.States.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Looking for a server; the session, if there is one, may still live.
    Connecting,
    /// A server has accepted the session.
    Connected,
    /// A server without a quorum has; it only serves reads.
    ConnectedReadOnly,
    /// Closed by the host, for good.
    Closed,
    /// The server said that the session is no more; the machine is dead.
    Expired,
    /// The server did not believe the credentials; the machine is dead.
    AuthFailed,
}

impl State {
    /// Whether requests are still taken.
    // Source: ZooKeeper.States.isAlive.
    pub fn is_alive(self) -> bool {
        !matches!(self, State::Closed | State::Expired | State::AuthFailed)
    }
}

/// Whether a session is a new one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Birth {
    /// Just created.
    New,
    /// Continued, perhaps on another server.
    Resumed,
}

/// What the machine hands back to its host, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Notice<T> {
    /// A server has accepted the session.
    Connected {
        /// The session.
        session: SessionId,
        /// Is it new?
        birth: Birth,
    },
    /// The same by a server without a quorum, which only serves reads.
    ConnectedReadOnly {
        /// The session.
        session: SessionId,
        /// Is it new?
        birth: Birth,
    },
    /// The connection is lost; whether the session lives is not known.
    Disconnected,
    /// The session is no more, nor are its ephemerals. Make a new client.
    Expired,
    /// The answer to a request.
    Reply {
        /// What the host named it.
        tag: T,
        /// As in the reply's header; zero if there was none.
        zxid: Zxid,
        /// The answer, or why there is none.
        result: Result<Answer, Error>,
    },
    /// A watch has fired.
    Watch {
        /// What it tells.
        event: WatchEvent,
        /// For whom of those inside the host.
        watchers: Vec<Watcher>,
    },
    /// A watch is no more, because the host has removed it.
    WatchRemoved {
        /// What it was a watch on.
        kind: RemovedKind,
        /// Of which znode.
        path: Path,
        /// Whose it was.
        watchers: Vec<Watcher>,
    },
    /// `close` is done; or the credentials were refused, see `state`.
    Closed,
}

/// A request that the host waits for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Asked<T> {
    /// Its number once it is sent.
    xid: i32,
    op: Op,
    tag: Option<T>,
    watcher: Watcher,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    /// Before `open`.
    Fresh,
    /// Waits before it tries the next server.
    Pausing,
    /// Has asked `at` for the session.
    Connecting {
        at: Address,
    },
    /// `at` has accepted the session.
    Connected {
        at: Address,
        last_sent: SimTime,
        last_heard: SimTime,
    },
    Closed,
    Expired,
    AuthFailed,
}

/// A client of an ensemble. `T` is the host's name for a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Client<T> {
    config: Config,
    /// The servers, shuffled once.
    order: Arc<[Address]>,
    /// Of the server tried last, in `order`.
    place: u8,
    /// Where the present round began.
    round: u8,
    phase: Phase,
    session: SessionId,
    password: Password,
    /// As negotiated; before, as wished.
    timeout: Span,
    last_zxid: Zxid,
    last_xid: i32,
    queued: VecDeque<Asked<T>>,
    sent: VecDeque<Asked<T>>,
    watches: Watches,
    credentials: Vec<(Path, Bytes)>,
    closing: bool,
    /// If it is content with reads.
    seeker: Option<Box<Seeker>>,
}

impl<T: Clone + Debug + Hash> Client<T> {
    /// A client that does nothing before `open`.
    pub fn new(config: Config) -> Client<T> {
        assert!(!config.servers.is_empty(), "a connection string names a server");
        Client {
            order: config.servers.clone(),
            place: 0,
            round: 0,
            phase: Phase::Fresh,
            session: SessionId::NONE,
            password: Password::default(),
            timeout: config.timeout,
            last_zxid: Zxid::ZERO,
            last_xid: 0,
            queued: VecDeque::new(),
            sent: VecDeque::new(),
            watches: Watches::default(),
            credentials: Vec::new(),
            closing: false,
            seeker: None,
            config,
        }
    }

    /// The same, content with a server that only serves reads while it finds no other
    /// (`canBeReadOnly`).
    pub fn content_with_reads(self) -> Client<T> {
        Client { seeker: Some(Box::default()), ..self }
    }

    /// Whether it takes a server that only serves reads.
    pub fn is_content_with_reads(&self) -> bool {
        self.seeker.is_some()
    }

    /// The state of the handle.
    pub fn state(&self) -> State {
        match self.phase {
            Phase::Fresh | Phase::Pausing | Phase::Connecting { .. } => State::Connecting,
            Phase::Connected { .. } => match self.seeker.as_ref().map(|seeker| seeker.access()) {
                Some(Access::ReadOnly) => State::ConnectedReadOnly,
                _ => State::Connected,
            },
            Phase::Closed => State::Closed,
            Phase::Expired => State::Expired,
            Phase::AuthFailed => State::AuthFailed,
        }
    }

    /// The session; none before the first connection.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The session timeout as negotiated; before, as wished.
    pub fn timeout(&self) -> Span {
        self.timeout
    }

    /// The last zxid seen.
    pub fn last_zxid(&self) -> Zxid {
        self.last_zxid
    }

    /// The server that it is connected to.
    pub fn server(&self) -> Option<ServerId> {
        match self.phase {
            Phase::Connected { at, .. } => Some(at.id),
            _ => None,
        }
    }

    /// The watches that are registered.
    pub fn watches(&self) -> &Watches {
        &self.watches
    }

    /// Whether this process is one of the client's servers, so that its messages and hangups are
    /// for the client.
    pub fn knows(&self, process: ProcessId) -> bool {
        self.config.servers.iter().any(|server| server.process == process)
    }

    /// Starts to look for a server. `handle` does it on `Event::Boot`.
    pub fn open(&mut self, out: &mut Outbox<'_, Words>) {
        assert_eq!(self.phase, Phase::Fresh, "a client is opened once");
        self.order = shuffled(&self.config.servers, out);
        self.connect(out);
    }

    /// Asks for something; `tag` comes back with the answer. An error if the handle is dead.
    pub fn request(&mut self, op: Op, tag: T, out: &mut Outbox<'_, Words>) -> Result<(), Error> {
        self.request_for(Watcher::DEFAULT, op, tag, out)
    }

    /// The same; a watch that the request leaves is for `watcher`.
    pub fn request_for(
        &mut self,
        watcher: Watcher,
        op: Op,
        tag: T,
        out: &mut Outbox<'_, Words>,
    ) -> Result<(), Error> {
        match self.phase {
            Phase::AuthFailed => return Err(Error::AuthFailed),
            Phase::Closed | Phase::Expired => return Err(Error::SessionExpired),
            _ if self.closing => return Err(Error::SessionExpired),
            _ => {}
        }
        self.queued.push_back(Asked { xid: 0, op, tag: Some(tag), watcher });
        self.send_queued(out);
        self.keep_alive(out);
        Ok(())
    }

    /// Adds credentials, which are sent again after each reconnect.
    pub fn authenticate(&mut self, scheme: Path, auth: Bytes, out: &mut Outbox<'_, Words>) {
        self.credentials.push((scheme.clone(), auth.clone()));
        if let Phase::Connected { at, .. } = self.phase {
            let op = Op::Auth { scheme, auth };
            out.send(at.process, Message::Request { xid: xid::AUTH, op });
        }
    }

    /// Ends the session; `Notice::Closed` comes when that is done.
    pub fn close(&mut self, out: &mut Outbox<'_, Words>) -> Vec<Notice<T>> {
        match self.phase {
            Phase::Closed | Phase::Expired | Phase::AuthFailed => Vec::new(),
            Phase::Fresh => self.end(Phase::Closed, out),
            _ => {
                self.closing = true;
                let op = Op::CloseSession;
                self.queued.push_back(Asked { xid: 0, op, tag: None, watcher: Watcher::DEFAULT });
                self.send_queued(out);
                Vec::new()
            }
        }
    }

    /// Takes what has happened to the host, as far as it concerns the client.
    pub fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) -> Vec<Notice<T>> {
        let notices = match event {
            Event::Boot => {
                self.open(out);
                Vec::new()
            }
            Event::Message { from, message: Message::Access(Some(Access::ReadWrite)) } => {
                self.found(from, out)
            }
            Event::Message { from, message } if self.peer() == Some(from) => {
                self.hear(message, out)
            }
            Event::Hangup { peer } if self.peer() == Some(peer) => self.lose(out),
            Event::Timer(super::words::Timer::Client(timer)) => self.timer(timer, out),
            _ => return Vec::new(),
        };
        self.keep_alive(out);
        notices
    }

    /// The server it talks with.
    fn peer(&self) -> Option<ProcessId> {
        match self.phase {
            Phase::Connecting { at } | Phase::Connected { at, .. } => Some(at.process),
            _ => None,
        }
    }

    fn timer(&mut self, timer: ClientTimer, out: &mut Outbox<'_, Words>) -> Vec<Notice<T>> {
        match timer {
            ClientTimer::Retry if self.phase == Phase::Pausing => self.connect(out),
            ClientTimer::Silence if self.peer().is_some() => return self.lose(out),
            ClientTimer::Ping => self.ping(out),
            ClientTimer::Seek if self.state() == State::ConnectedReadOnly => self.seek(out),
            _ => {}
        }
        Vec::new()
    }

    /// Asks the server at `place` for the session.
    // Source: ClientCnxn.SendThread.primeConnection.
    fn connect(&mut self, out: &mut Outbox<'_, Words>) {
        let seeker = self.seeker.as_deref_mut();
        let (found, known) =
            seeker.map_or((None, true), |seeker| (seeker.take_found(), seeker.has_session()));
        let at = found.unwrap_or(self.order[usize::from(self.place)]);
        self.phase = Phase::Connecting { at };
        let servers = self.order.len() as u64;
        out.arm(ClientTimer::Silence, self.timeout.divided_by(servers));
        out.send(
            at.process,
            Message::Connect(Connect {
                last_zxid: self.last_zxid,
                timeout: millis(self.config.timeout),
                session: if known { self.session } else { SessionId::NONE },
                password: self.password,
                can_be_read_only: self.seeker.is_some(),
            }),
        );
    }

    /// Asks the next server whether it takes writes.
    fn seek(&mut self, out: &mut Outbox<'_, Words>) {
        self.place = (self.place + 1) % self.order.len() as u8;
        let next = self.order[usize::from(self.place)];
        if let Some(seeker) = &mut self.seeker {
            seeker.ask(next, out);
        }
    }

    /// A server takes writes: it is the next.
    // Source: ClientCnxn.SendThread.run (RWServerFoundException).
    fn found(&mut self, from: ProcessId, out: &mut Outbox<'_, Words>) -> Vec<Notice<T>> {
        let is_waiting = self.state() == State::ConnectedReadOnly;
        let seeker = self.seeker.as_mut().filter(|_| is_waiting);
        let Some(found) = seeker.and_then(|seeker| seeker.found(from)) else { return Vec::new() };
        out.tell(Fact::MajorityFound { server: found.id });
        self.lose(out)
    }

    /// Leaves the connection, and pauses before it tries the next server.
    ///
    /// Real: only when a TCP connection has ever been made is an attempt preceded by the random
    /// pause, and Disconnected is told after each failed attempt; here the pause precedes all but
    /// the very first, because a process that is off and one that refuses look alike, and
    /// Disconnected is told once.
    // Source: ClientCnxn.SendThread.cleanup, startConnect; StaticHostProvider.next(1000).
    fn lose(&mut self, out: &mut Outbox<'_, Words>) -> Vec<Notice<T>> {
        let mut notices = self.fail_all(Error::ConnectionLoss);
        if let Some(peer) = self.peer() {
            out.hangup(peer);
        }
        if let Phase::Connected { at, .. } = self.phase {
            out.tell(Fact::Disconnected { session: self.session, server: at.id });
            notices.push(Notice::Disconnected);
        }
        if self.closing {
            notices.extend(self.end(Phase::Closed, out));
            return notices;
        }
        self.phase = Phase::Pausing;
        self.place = (self.place + 1) % self.order.len() as u8;
        let round = if self.place == self.round { Span::secs(1) } else { Span::ZERO };
        out.disarm(ClientTimer::Silence);
        out.disarm(ClientTimer::Ping);
        out.arm_within(ClientTimer::Retry, round..round + Span::secs(1));
        notices
    }

    /// Answers all requests that wait with `error`, those that were sent first.
    fn fail_all(&mut self, error: Error) -> Vec<Notice<T>> {
        let sent = std::mem::take(&mut self.sent);
        let queued = std::mem::take(&mut self.queued);
        let tags = sent.into_iter().chain(queued).filter_map(|asked| asked.tag);
        tags.map(|tag| Notice::Reply { tag, zxid: Zxid::ZERO, result: Err(error) }).collect()
    }

    fn hear(&mut self, message: Message, out: &mut Outbox<'_, Words>) -> Vec<Notice<T>> {
        if let Phase::Connected { last_heard, .. } = &mut self.phase {
            *last_heard = out.now();
        }
        match message {
            Message::ConnectReply(reply) => self.accepted(reply, out),
            Message::Reply(reply) => self.answered(reply, out),
            Message::Event(event) => {
                let watchers = self.watches.fired(&event);
                vec![Notice::Watch { event, watchers }]
            }
            _ => Vec::new(),
        }
    }

    /// The server's answer to `connect`.
    // Source: ClientCnxn.SendThread.onConnected.
    fn accepted(&mut self, reply: ConnectReply, out: &mut Outbox<'_, Words>) -> Vec<Notice<T>> {
        let Phase::Connecting { at } = self.phase else { return Vec::new() };
        if reply.timeout.0 <= 0 {
            out.tell(Fact::Expired { session: self.session, server: at.id });
            return self.end(Phase::Expired, out);
        }
        let birth = if self.session == reply.session { Birth::Resumed } else { Birth::New };
        self.session = reply.session;
        self.password = reply.password;
        self.timeout = Span::ms(reply.timeout.0.cast_unsigned());
        self.round = self.place;
        let (last_sent, last_heard) = (out.now(), out.now());
        self.phase = Phase::Connected { at, last_sent, last_heard };
        let (session, server) = (self.session, at.id);
        out.tell(match reply.access {
            Access::ReadWrite => Fact::Connected { session, server },
            Access::ReadOnly => Fact::ConnectedReadOnly { session, server },
        });
        if let Some(seeker) = &mut self.seeker {
            seeker.connected(reply.access, out);
        }
        for (scheme, auth) in self.credentials.clone() {
            out.send(
                at.process,
                Message::Request { xid: xid::AUTH, op: Op::Auth { scheme, auth } },
            );
        }
        for set in self.watches.to_set_again(self.last_zxid) {
            let op = Op::SetWatches(Arc::new(set));
            out.send(at.process, Message::Request { xid: xid::SET_WATCHES, op });
        }
        self.send_queued(out);
        vec![match reply.access {
            Access::ReadWrite => Notice::Connected { session, birth },
            Access::ReadOnly => Notice::ConnectedReadOnly { session, birth },
        }]
    }

    /// Sends what waited for a connection.
    fn send_queued(&mut self, out: &mut Outbox<'_, Words>) {
        let Phase::Connected { at, last_sent, .. } = &mut self.phase else { return };
        while let Some(mut asked) = self.queued.pop_front() {
            self.last_xid += 1;
            asked.xid = self.last_xid;
            *last_sent = out.now();
            out.send(at.process, Message::Request { xid: asked.xid, op: asked.op.clone() });
            self.sent.push_back(asked);
        }
    }

    /// The answer to a request. Out of order, it breaks the connection.
    // Source: ClientCnxn.SendThread.readResponse.
    fn answered(&mut self, reply: Reply, out: &mut Outbox<'_, Words>) -> Vec<Notice<T>> {
        match reply.xid {
            xid::AUTH if reply.result.is_err() => return self.end(Phase::AuthFailed, out),
            xid::PING | xid::AUTH => return Vec::new(),
            xid::SET_WATCHES => {
                self.see(reply.zxid);
                return Vec::new();
            }
            _ => {}
        }
        if self.sent.front().is_none_or(|asked| asked.xid != reply.xid) {
            return self.lose(out);
        }
        self.see(reply.zxid);
        let asked = self.sent.pop_front().expect("the front was just looked at");
        let Some(tag) = asked.tag.clone() else { return self.end(Phase::Closed, out) };
        let zxid = reply.zxid;
        let (mut notices, result) = self.watch_or_not(&asked, reply.result);
        notices.push(Notice::Reply { tag, zxid, result });
        notices
    }

    /// Notes the watch that an answered request has left, or forgets those it has removed.
    // Source: ClientCnxn.finishPacket.
    fn watch_or_not(
        &mut self,
        asked: &Asked<T>,
        result: Result<Answer, Error>,
    ) -> (Vec<Notice<T>>, Result<Answer, Error>) {
        let (path, kind, whom) = match &asked.op {
            Op::RemoveWatches { path, kind } => (path, *kind, None),
            Op::CheckWatches { path, kind } => (path, *kind, Some(asked.watcher)),
            op => {
                self.watches.register(op, asked.watcher, &result);
                return (Vec::new(), result);
            }
        };
        if result.is_err() {
            return (Vec::new(), result);
        }
        let removed = self.watches.remove(path, kind, whom);
        let result = if removed.is_empty() { Err(Error::NoWatcher) } else { result };
        let notices = removed.into_iter().map(|(kind, watchers)| Notice::WatchRemoved {
            kind,
            path: path.clone(),
            watchers,
        });
        (notices.collect(), result)
    }

    fn see(&mut self, zxid: Zxid) {
        if zxid > Zxid::ZERO {
            self.last_zxid = zxid;
        }
    }

    /// The handle is dead: closed or expired.
    fn end(&mut self, phase: Phase, out: &mut Outbox<'_, Words>) -> Vec<Notice<T>> {
        let auth_failed = phase == Phase::AuthFailed;
        let error = if auth_failed { Error::AuthFailed } else { Error::SessionExpired };
        let mut notices = self.fail_all(error);
        if let Some(peer) = self.peer() {
            out.hangup(peer);
        }
        for timer in [ClientTimer::Ping, ClientTimer::Silence, ClientTimer::Retry] {
            out.disarm(timer);
        }
        self.watches = Watches::default();
        self.phase = phase;
        let expired = phase == Phase::Expired;
        notices.push(if expired { Notice::Expired } else { Notice::Closed });
        notices
    }

    fn ping(&mut self, out: &mut Outbox<'_, Words>) {
        let Phase::Connected { at, last_sent, .. } = &mut self.phase else { return };
        *last_sent = out.now();
        out.send(at.process, Message::Request { xid: xid::PING, op: Op::Ping });
    }

    /// Arms the timers of a live connection anew.
    fn keep_alive(&self, out: &mut Outbox<'_, Words>) {
        let Phase::Connected { last_sent, last_heard, .. } = self.phase else { return };
        let read_timeout = read_timeout(self.timeout);
        let unheard = out.now().since(last_heard);
        out.arm(ClientTimer::Silence, read_timeout.saturating_sub(unheard));
        out.arm(ClientTimer::Ping, ping_after(read_timeout, out.now().since(last_sent)));
    }
}

/// After how long without a word from the server a client looks for another one.
///
/// Real: from 3.9.3 a client that hears of no server for 4T/3 gives its session up by itself; here
/// it goes on looking, as all releases before do, because only a server knows.
fn read_timeout(timeout: Span) -> Span {
    (timeout * 2).divided_by(3)
}

/// How long to wait for the next ping when nothing was sent for `idle`.
///
/// It is asked again whenever something comes in.
// Source: ClientCnxn.SendThread.run.
fn ping_after(read_timeout: Span, idle: Span) -> Span {
    let hurry = if idle > Span::secs(1) { Span::secs(1) } else { Span::ZERO };
    match idle > Span::secs(10) {
        true => Span::ZERO,
        false => read_timeout.divided_by(2).saturating_sub(idle + hurry),
    }
}

/// A time span as records carry it.
pub(super) fn millis(span: Span) -> Millis {
    Millis(i64::try_from(span.as_ms()).expect("a span is shorter than the ages"))
}

/// The servers in the order in which they will be tried.
// Source: StaticHostProvider.shuffle, Collections.shuffle.
fn shuffled(servers: &[Address], out: &mut Outbox<'_, Words>) -> Arc<[Address]> {
    let mut order = servers.to_vec();
    for last in (1..order.len()).rev() {
        let drawn = out.draw(Draw("server-order"), 0..last as u64 + 1);
        order.swap(last, (drawn % (last as u64 + 1)) as usize);
    }
    order.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_ping(timeout: u64, idle: u64, expected: u64) {
        let after = ping_after(read_timeout(Span::ms(timeout)), Span::ms(idle));
        assert_eq!(after, Span::ms(expected), "T = {timeout}, idle for {idle}");
    }

    #[test]
    fn a_ping_is_due_after_a_third_of_the_timeout() {
        check_ping(6000, 0, 2000);
        check_ping(6000, 900, 1100);
        check_ping(6000, 1001, 0);
        check_ping(18000, 0, 6000);
        check_ping(18000, 2000, 3000);
        check_ping(60000, 10001, 0);
    }
}
