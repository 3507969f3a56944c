//! What leader and learners do for their own clients: connections, the order of requests on each,
//! and the answers once txns are committed.
//!
//! Whether a session lives and what becomes of a write is the leader's affair: those are handed up.
//!
//! ```text
//!   one connection's line     write  read  read  write  read
//!                               │     └──┴── wait until the write before them is committed
//!                               └─▶ the leader
//! ```
//!
//! Up to 3.5 there is one line for all, and a read waits for whatever was handed to the leader
//! before it came, by anybody.
//!
//! *Invariant: requests of one connection are answered in order; a read waits for the writes and
//! syncs before it on its own connection, and from 3.6 on for no others.*

use std::collections::VecDeque;
use std::sync::Arc;

use super::acl::AuthId;
use super::apply::Applied;
use super::ensemble::ServerId;
use super::front::{Connection, ConnectionStage, Front};
use super::local_sessions::{Kind, LocalSessions, creates_ephemeral};
use super::member::Member;
use super::path::Path;
use super::peer::Touch;
use super::prep::Submission;
use super::reads::Caller;
use super::reply::{Access, Answer, Error, OpResult};
use super::request::{Class, Connect, Op};
use super::session::{SessionNumbers, password_of};
use super::settings::Switch;
use super::stat::{Bytes, Millis, SessionId};
use super::txn::{Txn, TxnBody};
use super::watch::ConnectionId;
use super::words::{Fact, Message, Words};
use super::zxid::Zxid;
use crate::sim::{OrdMap, Outbox, ProcessId, SimTime, sort};

/// The part of a multi that found the session at another server.
const MOVED: OpResult = OpResult::Error(Some(Error::SessionMoved));

/// The clients of a member that leads or learns.
// Source: CommitProcessor, FinalRequestProcessor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Serving {
    front: Front,
    numbers: SessionNumbers,
    /// The sessions that only this server knows, if it may have such.
    local: Option<LocalSessions>,
    /// Requests that wait, or wait behind others; connections without any have no line.
    lines: OrdMap<ConnectionId, VecDeque<Waiting>>,
    /// How many requests have come.
    arrivals: u64,
    /// What holds up everybody until it is committed, where the release has it so.
    held: VecDeque<Held>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    /// Its place among all that have come.
    arrival: u64,
    xid: i32,
    work: Work,
}

/// A request that is not committed yet. Those that came later wait.
// Source: CommitProcessor.nextPending, queuedRequests.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Held {
    after: u64,
    session: SessionId,
    xid: i32,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Work {
    /// A write that the leader has; if it is refused, this is why, as far as its server knew that
    /// before the leader did.
    Handed(Option<Error>),
    /// A sync that the leader has; its path is the answer.
    Syncing(Path),
    /// Answer from memory.
    Read { op: Op, ids: Arc<[AuthId]> },
    /// The leader found the session closing or moved.
    Refusal(Error),
    /// A local session begins.
    Open,
    /// A local session ends.
    Close,
}

impl Waiting {
    /// Can it be answered, if what came after the first `most` has to wait?
    fn may_go(&self, most: u64) -> bool {
        !self.work.is_handed() && self.arrival <= most
    }
}

impl Work {
    fn is_handed(&self) -> bool {
        matches!(self, Work::Handed(_) | Work::Syncing(_))
    }
}

/// What a member's client wants of the leader.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Upward {
    /// A write or a sync.
    Submit(Submission),
    /// A write of a local session that has to become global first; it lasts so long.
    Upgrade(Millis, Submission),
    /// Does this session live?
    Revalidate {
        /// Which.
        session: SessionId,
        /// As negotiated now.
        timeout: Millis,
    },
}

/// What is said of a request's session, or that it is not heard at all.
pub type Heard = Option<Result<(), Error>>;

impl Serving {
    /// Nobody is connected yet.
    // Source: LearnerZooKeeperServer.createSessionTracker, LeaderZooKeeperServer.
    pub fn new(member: &Member, now: SimTime) -> Serving {
        let local = match member.settings.local_sessions {
            Switch::On => Some(LocalSessions::new(member.me, member.settings.tick_time)),
            Switch::Off => None,
        };
        Serving { local, ..Serving::without_local(member.me, now) }
    }

    fn without_local(me: ServerId, now: SimTime) -> Serving {
        let numbers = SessionNumbers::new(me, now);
        let (front, lines, held) = (Front::default(), OrdMap::new(), VecDeque::new());
        Serving { front, numbers, local: None, lines, arrivals: 0, held }
    }

    /// The same for those who are content with reads.
    pub fn read_only(me: ServerId, now: SimTime) -> Serving {
        Serving { front: Front::read_only(), ..Serving::without_local(me, now) }
    }

    /// The sessions that only this server knows, if it may have such.
    pub fn local(&self) -> Option<&LocalSessions> {
        self.local.as_ref()
    }

    /// Its connections.
    pub fn front(&self) -> &Front {
        &self.front
    }

    /// How many requests are not answered yet.
    pub fn outstanding(&self) -> u32 {
        self.lines.values().map(|line| line.len() as u32).sum()
    }

    /// The session that a process has here, with its timeout.
    pub fn session_of(&self, peer: ProcessId) -> Option<(SessionId, Millis)> {
        let connection = self.front.connection(peer)?;
        let open = connection.stage == ConnectionStage::Open;
        open.then_some((connection.session, connection.timeout))
    }

    /// What a client says. `judge` says of a request what `verdict` is to [`Serving::request`], or
    /// that it is not heard at all.
    pub fn hear(
        &mut self,
        peer: ProcessId,
        message: Message,
        judge: &mut dyn FnMut(&Op, Touch, Kind) -> Heard,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Option<Upward> {
        match message {
            Message::Connect(connect) => self.connect(peer, &connect, member, out),
            Message::Request { xid, op } => {
                let (session, timeout) = self.session_of(peer)?;
                let by = Touch { session, timeout, sign: out.event() };
                let kind = self.touch(by, member, out.now());
                let verdict = judge(&op, by, kind)?;
                self.request(peer, (xid, op), verdict, member, out)
            }
            _ => None,
        }
    }

    /// A client's first message. Who has seen more than this server is turned away.
    // Source: ZooKeeperServer.processConnectRequest.
    fn connect(
        &mut self,
        peer: ProcessId,
        connect: &Connect,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Option<Upward> {
        self.lose(peer, member);
        if !self.front.admits(peer, member.settings.max_client_cnxns, out) {
            return None;
        }
        if self.front.access() == Access::ReadOnly && !connect.can_be_read_only {
            out.hangup(peer);
            return None;
        }
        let (seen, last) = (connect.last_zxid, member.database.last_zxid);
        if seen > last {
            out.tell(Fact::ClientRefused { seen, last });
            out.hangup(peer);
            return None;
        }
        let timeout = member.settings.negotiated(connect.timeout);
        if connect.session == SessionId::NONE {
            return self.open_session(peer, timeout, member, out);
        }
        let session = connect.session;
        let opened = self.front.open(peer, session, timeout, out);
        if let Some(closed) = opened.closed {
            self.forget(closed, member);
        }
        if connect.password != password_of(session) {
            self.front.refuse(opened.id, out);
            return None;
        }
        let by = Touch { session, timeout, sign: out.event() };
        if self.local.as_mut().is_some_and(|local| local.touch(by, out.now())) {
            self.revalidated(session, true, out);
            return None;
        }
        Some(Upward::Revalidate { session, timeout })
    }

    // Source: ZooKeeperServer.createSession, QuorumZooKeeperServer.setLocalSessionFlag.
    fn open_session(
        &mut self,
        peer: ProcessId,
        timeout: Millis,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Option<Upward> {
        let session = self.numbers.take();
        let opened = self.front.open(peer, session, timeout, out);
        let Some(local) = &mut self.local else {
            self.line_up(opened.id, 0, Work::Handed(None));
            return Some(Upward::Submit(creation(session, timeout)));
        };
        local.open(Touch { session, timeout, sign: out.event() }, out.now());
        out.tell(Fact::LocalSessionOpened { session, timeout });
        if !member.is_stuck() {
            self.line_up(opened.id, 0, Work::Open);
            self.move_on(opened.id, member, out);
        }
        None
    }

    /// A sign of life of a session that this server knows alone; else, whether it knows it at all.
    // Source: LearnerSessionTracker.touchSession.
    fn touch(&mut self, by: Touch, member: &Member, now: SimTime) -> Kind {
        let Some(local) = &mut self.local else { return Kind::Global };
        let is_known = || member.database.sessions.contains_key(&by.session);
        match () {
            () if local.touch(by, now) => Kind::Local,
            () if is_known() || local.is_upgrading(by.session) => Kind::Global,
            () => Kind::Unknown,
        }
    }

    /// Ends the local sessions that were silent for too long.
    ///
    /// Real: the end stands in line behind what the session has asked for; here it comes at once,
    /// because who is silent for so long waits for no answer.
    // Source: LocalSessionTracker, ZooKeeperServer.expire.
    pub fn expire_local(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        let Some(local) = &mut self.local else { return };
        for (session, sign) in local.expire(out.now()) {
            if let Some(sign) = sign {
                out.because(sign);
            }
            out.tell(Fact::SessionExpired { session });
            out.tell(Fact::LocalSessionEnded { session });
            if let Some(id) = self.front.connection_of(session).map(|connection| connection.id) {
                self.close(id, member, out);
            }
        }
    }

    /// A new client is accepted with a session of this server's own, which no other knows.
    // Source: LocalSessionTracker.
    pub fn accept_locally(&mut self, session: SessionId, out: &mut Outbox<'_, Words>) {
        let Some(id) = self.front.connection_of(session).map(|connection| connection.id) else {
            return;
        };
        self.take_handed(id, 0);
        self.front.accept(id, out);
    }

    /// The client of such a session has closed it.
    pub fn close_locally(
        &mut self,
        peer: ProcessId,
        xid: i32,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) {
        let Some(id) = self.front.connection(peer).map(|connection| connection.id) else { return };
        self.reply(id, xid, Ok(Answer::Nothing), member, out);
        self.close(id, member, out);
    }

    /// The leader's answer about a session that a client wants to continue.
    // Source: ZooKeeperServer.finishSessionInit, Learner.validateSession.
    pub fn revalidated(&mut self, session: SessionId, valid: bool, out: &mut Outbox<'_, Words>) {
        let Some(connection) = self.front.connection_of(session) else { return };
        if connection.stage != ConnectionStage::Opening {
            return;
        }
        let id = connection.id;
        match valid {
            true => {
                out.tell(Fact::SessionResumed { session });
                self.front.accept(id, out);
            }
            false => self.front.refuse(id, out),
        }
    }

    /// A client's request. `verdict` is what the leader, if this is the leader, says of the session
    /// to requests that make no txn, and what a read-only server says of all that it does not do.
    // Source: ZooKeeperServer.processPacket, submitRequestNow.
    fn request(
        &mut self,
        peer: ProcessId,
        (xid, op): (i32, Op),
        verdict: Result<(), Error>,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Option<Upward> {
        let connection = self.front.hear(peer, out.now())?;
        if connection.stage == ConnectionStage::Opening {
            return None;
        }
        if member.is_stuck() {
            return None;
        }
        let (length, limit) = (op.frame_len(), member.settings.jute_maxbuffer);
        if length > limit {
            out.tell(Fact::FrameTooLong { session: connection.session, length, limit });
            self.close(connection.id, member, out);
            return None;
        }
        match (op.class_in(member.settings.release), verdict) {
            (Class::Connection, _) => {
                self.authenticate(&connection, xid, &op, member, out);
                None
            }
            (Class::Invalid, _) => {
                let unanswered = (xid, Zxid(-1));
                self.front.reply(connection.id, unanswered, Err(Error::Unimplemented), out);
                self.close(connection.id, member, out);
                None
            }
            (Class::Write | Class::Sync, Ok(())) => self.hand_up(&connection, xid, op, member, out),
            (_, verdict) => {
                let ids = connection.ids;
                let work = verdict.map_or_else(Work::Refusal, |()| Work::Read { op, ids });
                self.line_up(connection.id, xid, work);
                self.move_on(connection.id, member, out);
                None
            }
        }
    }

    /// What the leader has to do, unless it is the end of a local session. An ephemeral makes such
    /// a session global, or is refused.
    // Source: FollowerRequestProcessor, ObserverRequestProcessor, LeaderRequestProcessor,
    // QuorumZooKeeperServer.checkUpgradeSession, makeUpgradeRequest.
    fn hand_up(
        &mut self,
        connection: &Connection,
        xid: i32,
        op: Op,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Option<Upward> {
        let &Connection { id, session, ref ids, .. } = connection;
        let local = self.local.as_mut().filter(|local| local.is_local(session));
        if local.is_some() && op == Op::CloseSession {
            self.line_up(id, xid, Work::Close);
            self.move_on(id, member, out);
            return None;
        }
        let (mut upgraded, mut refusal) = (None, None);
        if let Some(local) = local.filter(|_| creates_ephemeral(&op)) {
            match member.settings.local_sessions_upgrading {
                Switch::On => upgraded = local.upgrade(session),
                Switch::Off => refusal = Some(Error::EphemeralOnLocalSession),
            }
        }
        let work = match &op {
            Op::Sync { path } => Work::Syncing(path.clone()),
            _ => Work::Handed(refusal),
        };
        self.line_up(id, xid, work);
        let submission = Submission { session, cxid: xid, op, ids: ids.clone() };
        Some(match upgraded {
            Some(timeout) => {
                out.tell(Fact::SessionUpgraded { session });
                Upward::Upgrade(timeout, submission)
            }
            None => Upward::Submit(submission),
        })
    }

    // Source: ZooKeeperServer.processPacket (auth).
    fn authenticate(
        &mut self,
        connection: &Connection,
        xid: i32,
        op: &Op,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) {
        let Op::Auth { scheme, auth } = op else { return };
        let auth: &Bytes = auth;
        let believed = self.front.authenticate(connection.id.peer, scheme, auth).is_some();
        let result = if believed { Ok(Answer::Nothing) } else { Err(Error::AuthFailed) };
        self.front.reply(connection.id, (xid, Zxid::ZERO), result, out);
        if !believed {
            self.close(connection.id, member, out);
        }
    }

    /// Applies a committed txn, fires watches, and answers if it was asked for here. Why a session
    /// may not do something its own server knows best.
    // Source: CommitProcessor.run, FinalRequestProcessor.processRequest.
    pub fn apply(&mut self, txn: &Arc<Txn>, member: &mut Member, out: &mut Outbox<'_, Words>) {
        let Applied { result, fired } = member.apply(txn, out);
        self.front.deliver(fired, out);
        let was_held = self.release(txn.session, txn.cxid);
        let connection = self.front.connection_of(txn.session).map(|connection| connection.id);
        let taken = connection.and_then(|id| Some((id, self.take_handed(id, txn.cxid)?)));
        let asked_here = taken.as_ref().map(|(id, _)| *id);
        let result = match (result, taken) {
            (Err(_), Some((_, Work::Handed(Some(known))))) => Err(known),
            (result, _) => result,
        };
        if let Some(local) = &mut self.local
            && matches!(txn.body, TxnBody::CreateSession { .. } | TxnBody::CloseSession { .. })
        {
            local.remove(txn.session);
        }
        match (&txn.body, asked_here) {
            (TxnBody::CreateSession { .. }, Some(id)) => self.front.accept(id, out),
            (TxnBody::CloseSession { .. }, asked_here) => {
                if let Some(id) = asked_here {
                    self.reply(id, txn.cxid, result, member, out);
                }
                if let Some(id) = connection {
                    self.close(id, member, out);
                }
            }
            (_, Some(id)) => {
                self.reply(id, txn.cxid, result, member, out);
                self.move_on(id, member, out);
            }
            (_, None) => {}
        }
        if was_held {
            self.move_all_on(member, out);
        }
    }

    /// The leader has answered a sync.
    // Source: Leader.sendSync, FollowerZooKeeperServer.sync.
    pub fn synced(
        &mut self,
        session: SessionId,
        xid: i32,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) {
        let was_held = self.release(session, xid);
        let id = self.front.connection_of(session).map(|connection| connection.id);
        if let Some(id) = id
            && let Some(Work::Syncing(path)) = self.take_handed(id, xid)
        {
            self.reply(id, xid, Ok(Answer::Path(path)), member, out);
            self.move_on(id, member, out);
        }
        if was_held {
            self.move_all_on(member, out);
        }
    }

    /// The client has hung up.
    // Source: ZooKeeperServer.removeCnxn.
    pub fn lose(&mut self, peer: ProcessId, member: &mut Member) {
        if let Some(id) = self.front.forget(peer) {
            self.forget(id, member);
        }
    }

    /// Hangs up on those of whom nothing was heard for too long.
    pub fn end_silent(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        for id in self.front.expired(out.now()) {
            self.close(id, member, out);
        }
    }

    /// Hangs up on everybody, because the role ends; the next one knows no local session of this.
    // Source: QuorumPeer.makeFollower, makeLeader, LearnerZooKeeperServer.createSessionTracker.
    pub fn close_all(&mut self, out: &mut Outbox<'_, Words>) {
        for (session, _) in self.local.iter().flat_map(|local| local.tracker().iter()) {
            out.tell(Fact::LocalSessionEnded { session: *session });
        }
        self.front.close_all(out);
        self.lines.clear();
        self.held.clear();
    }

    fn close(&mut self, id: ConnectionId, member: &mut Member, out: &mut Outbox<'_, Words>) {
        self.front.close(id, out);
        self.forget(id, member);
    }

    fn forget(&mut self, id: ConnectionId, member: &mut Member) {
        member.database.remove_connection(id);
        self.lines.remove(&id);
    }

    fn line_up(&mut self, id: ConnectionId, xid: i32, work: Work) {
        self.arrivals += 1;
        let arrival = self.arrivals;
        self.lines.entry(id).or_default().push_back(Waiting { arrival, xid, work });
    }

    /// What has just been handed to the leader, or proposed by it, holds up everybody that comes
    /// later, where the release has it so.
    // Source: CommitProcessor.run (3.4, 3.5). A leader has in it what all servers hand up.
    pub fn hold(&mut self, session: SessionId, xid: i32, member: &Member) {
        if member.settings.release.one_write_holds_up_all() {
            self.held.push_back(Held { after: self.arrivals, session, xid });
        }
    }

    /// It is committed. Was it held?
    fn release(&mut self, session: SessionId, xid: i32) -> bool {
        let place = self.held.iter().position(|held| (held.session, held.xid) == (session, xid));
        place.and_then(|place| self.held.remove(place)).is_some()
    }

    /// Takes the request that stands first, if it is this one and the leader had it.
    fn take_handed(&mut self, id: ConnectionId, xid: i32) -> Option<Work> {
        let line = self.lines.get_mut(&id)?;
        let taken = line.pop_front_if(|first| first.xid == xid && first.work.is_handed());
        if line.is_empty() {
            self.lines.remove(&id);
        }
        taken.map(|waiting| waiting.work)
    }

    /// Answers what stands first on a connection and need not wait.
    fn move_on(&mut self, id: ConnectionId, member: &mut Member, out: &mut Outbox<'_, Words>) {
        let most = self.held.front().map_or(u64::MAX, |held| held.after);
        while let Some(line) = self.lines.get(&id) {
            if !line.front().is_some_and(|first| first.may_go(most)) {
                return;
            }
            self.answer_first(id, member, out);
        }
    }

    /// Answers what need not wait any more, whoever asked, in the order in which it came.
    fn move_all_on(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        let most = self.held.front().map_or(u64::MAX, |held| held.after);
        let mut ready: Vec<(u64, ConnectionId)> = Vec::new();
        for (id, line) in &self.lines {
            let free = line.iter().take_while(|waiting| waiting.may_go(most));
            ready.extend(free.map(|waiting| (waiting.arrival, *id)));
        }
        sort::sort(&mut ready);
        for (_, id) in ready {
            self.answer_first(id, member, out);
        }
    }

    /// Answers what stands first on a connection, unless that is no more.
    fn answer_first(&mut self, id: ConnectionId, member: &mut Member, out: &mut Outbox<'_, Words>) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        let Some(first) = line.pop_front() else { return };
        if line.is_empty() {
            self.lines.remove(&id);
        }
        let result = match first.work {
            Work::Read { op, ids } => self.read(id, &op, &ids, member, out),
            Work::Refusal(error) => Err(error),
            Work::Open => return self.front.accept(id, out),
            Work::Close => return self.close_local(id, first.xid, member, out),
            Work::Handed(_) | Work::Syncing(_) => unreachable!("what the leader has stays"),
        };
        self.reply(id, first.xid, result, member, out);
    }

    /// The client has closed its local session.
    // Source: PrepRequestProcessor, FinalRequestProcessor (case closeSession).
    fn close_local(
        &mut self,
        id: ConnectionId,
        xid: i32,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) {
        if let (Some(known), Some(local)) = (self.front.current(id), &mut self.local) {
            let session = known.session;
            local.remove(session);
            out.tell(Fact::LocalSessionEnded { session });
        }
        self.reply(id, xid, Ok(Answer::Nothing), member, out);
        self.close(id, member, out);
    }

    fn read(
        &mut self,
        connection: ConnectionId,
        op: &Op,
        ids: &[AuthId],
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Result<Answer, Error> {
        if let Op::SetWatches(set) = op {
            let missed = member.database.set_watches(set, connection);
            self.front.deliver(missed, out);
            return Ok(Answer::Nothing);
        }
        let known = self.front.current(connection).ok_or(Error::ConnectionLoss)?;
        let session = known.session;
        member.database.read(op, Caller { connection, session, ids })
    }

    /// Answers. Who is no longer the session's server hangs up instead, whether a single write or
    /// part of a multi has found that out.
    // Source: FinalRequestProcessor.processRequest, ZOOKEEPER-710.
    fn reply(
        &mut self,
        id: ConnectionId,
        xid: i32,
        result: Result<Answer, Error>,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) {
        match result {
            Err(Error::SessionMoved) => self.close(id, member, out),
            Ok(Answer::Results(parts)) if parts.contains(&MOVED) => self.close(id, member, out),
            result => self.front.reply(id, (xid, member.database.last_zxid), result, out),
        }
    }
}

/// What makes a session known to all.
pub(super) fn creation(session: SessionId, timeout: Millis) -> Submission {
    Submission { session, cxid: 0, op: Op::CreateSession { timeout }, ids: Arc::from([]) }
}
