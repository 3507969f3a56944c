//! A server on its own: prepares, logs and applies every request itself, one after the other.
//!
//! ```text
//! request ─> prepare ─> waiting ─> batch ─(disk)─> apply, fire watches, answer
//!                       reads stand in the same line, and pass if nothing is being written
//! ```
//!
//! *Invariant: requests are answered in the order in which they came; a txn is applied only when it
//! is on the disk.*

use std::collections::VecDeque;
use std::sync::Arc;

use super::acl::AuthId;
use super::apply::Applied;
use super::database::{Database, Disk};
use super::ensemble::ServerId;
use super::front::{ConnectionStage, Front};
use super::prep::{Outstanding, Prep, Submission};
use super::quota;
use super::reads::Caller;
use super::reply::{Answer, Error};
use super::request::{Class, Connect, Op};
use super::session::{SessionNumbers, Tracker, password_of};
use super::settings::Settings;
use super::stat::{Bytes, Millis, SessionId};
use super::telling::{tell, wall_clock};
use super::txn::{Txn, TxnBody};
use super::watch::ConnectionId;
use super::words::{Fact, Message, Timer, Words, Write};
use super::zxid::Zxid;
use crate::sim::{Event, Outbox, ProcessId, SimTime};

/// What a standalone server remembers while it runs.
// Source: ZooKeeperServer.setupRequestProcessors.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Standalone {
    settings: Settings,
    database: Database,
    front: Front,
    tracker: Tracker,
    outstanding: Outstanding,
    numbers: SessionNumbers,
    /// The last zxid given out.
    last_given: Zxid,
    /// Being written to the disk.
    batch: Vec<Step>,
    /// Behind the batch.
    waiting: VecDeque<Step>,
}

/// A request on its way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Step {
    /// Where it came from; none if the server itself asked.
    origin: Option<ConnectionId>,
    session: SessionId,
    xid: i32,
    work: Work,
}

/// What is to be done about a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Work {
    /// Log, then apply.
    Txn(Arc<Txn>),
    /// Answer from memory.
    Read { op: Op, ids: Arc<[AuthId]> },
    /// Refuse.
    Refusal(Error),
}

impl Standalone {
    /// Starts on what is on the disk.
    // Source: ZooKeeperServer.startdata, startup; SessionTrackerImpl.SessionTrackerImpl.
    pub fn start(settings: Settings, disk: &mut Disk, out: &mut Outbox<'_, Words>) -> Standalone {
        let database = disk.recover();
        disk.snapshot = database.snapshot();
        let mut tracker = Tracker::new(settings.tick_time);
        for (session, timeout) in database.sessions.iter() {
            tracker.track(*session, *timeout, out.now());
        }
        out.arm(Timer::SessionTick, tracker.until_next_tick(out.now()));
        if settings.container_check_interval.as_micros() > 0 {
            out.arm(Timer::ContainerCheck, settings.container_check_interval);
        }
        Standalone {
            settings,
            last_given: database.last_zxid,
            database,
            front: Front::default(),
            tracker,
            outstanding: Outstanding::default(),
            numbers: SessionNumbers::new(ServerId::STANDALONE, out.now()),
            batch: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// What it has in memory.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Its clients.
    pub fn front(&self) -> &Front {
        &self.front
    }

    /// When its sessions expire.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// How many requests are not answered yet.
    pub fn outstanding(&self) -> u32 {
        (self.batch.len() + self.waiting.len()) as u32
    }

    /// Takes one event.
    pub fn handle(&mut self, event: Event<Words>, disk: &mut Disk, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Message { from, message } => self.hear(from, message, out),
            Event::Hangup { peer } => self.lose(peer),
            Event::Timer(Timer::SessionTick) => self.session_tick(out),
            Event::Timer(Timer::ContainerCheck) => self.container_check(out),
            Event::Written(Write::Log { .. }) => self.written(disk, out),
            // Source: ZooKeeperServerShutdownHandler.handle, ZooKeeperServerMain.runFromConfig.
            Event::Failed(_) => {
                out.tell(Fact::LogNotWritten {});
                out.exit(0);
            }
            _ => {}
        }
    }

    fn hear(&mut self, from: ProcessId, message: Message, out: &mut Outbox<'_, Words>) {
        match message {
            Message::Connect(connect) => self.connect(from, connect, out),
            Message::Request { xid, op } => self.request(from, xid, op, out),
            _ => {}
        }
    }

    // Source: ZooKeeperServer.removeCnxn.
    fn lose(&mut self, peer: ProcessId) {
        if let Some(id) = self.front.forget(peer) {
            self.database.remove_connection(id);
        }
    }

    // Source: ZooKeeperServer.processConnectRequest.
    fn connect(&mut self, peer: ProcessId, connect: Connect, out: &mut Outbox<'_, Words>) {
        self.lose(peer);
        if !self.front.admits(peer, self.settings.max_client_cnxns, out) {
            return;
        }
        if connect.last_zxid > self.database.last_zxid {
            let (seen, last) = (connect.last_zxid, self.database.last_zxid);
            out.tell(Fact::ClientRefused { seen, last });
            out.hangup(peer);
            return;
        }
        let timeout = self.settings.negotiated(connect.timeout);
        match connect.session {
            SessionId::NONE => self.open_session(peer, timeout, out),
            _ => self.resume_session(peer, &connect, timeout, out),
        }
    }

    // Source: ZooKeeperServer.createSession.
    fn open_session(&mut self, peer: ProcessId, timeout: Millis, out: &mut Outbox<'_, Words>) {
        let session = self.numbers.take();
        self.tracker.track(session, timeout, out.now());
        let opened = self.front.open(peer, session, timeout, out);
        let submission =
            Submission { session, cxid: 0, op: Op::CreateSession { timeout }, ids: Arc::from([]) };
        self.submit(Some(opened.id), submission, out);
    }

    // Source: ZooKeeperServer.reopenSession, revalidateSession.
    fn resume_session(
        &mut self,
        peer: ProcessId,
        connect: &Connect,
        timeout: Millis,
        out: &mut Outbox<'_, Words>,
    ) {
        let session = connect.session;
        let opened = self.front.open(peer, session, timeout, out);
        if let Some(closed) = opened.closed {
            self.database.remove_connection(closed);
        }
        let proved = connect.password == password_of(session);
        if proved && self.tracker.touch(session, timeout, out.now()) {
            out.tell(Fact::SessionResumed { session });
            self.front.accept(opened.id, out);
        } else {
            self.front.refuse(opened.id, out);
        }
    }

    // Source: ZooKeeperServer.processPacket, submitRequestNow.
    fn request(&mut self, peer: ProcessId, xid: i32, op: Op, out: &mut Outbox<'_, Words>) {
        let Some(connection) = self.front.hear(peer, out.now()) else { return };
        if connection.stage == ConnectionStage::Opening {
            return;
        }
        let (length, limit) = (op.frame_len(), self.settings.jute_maxbuffer);
        if length > limit {
            out.tell(Fact::FrameTooLong { session: connection.session, length, limit });
            return self.close(connection.id, out);
        }
        if let Op::Auth { scheme, auth } = &op {
            return self.auth(connection.id, xid, (scheme, auth), out);
        }
        let session = connection.session;
        if !self.tracker.touch(session, connection.timeout, out.now()) {
            return;
        }
        if op.class_in(self.settings.release) == Class::Invalid {
            let unanswered = Zxid(-1);
            self.front.reply(connection.id, (xid, unanswered), Err(Error::Unimplemented), out);
            return self.close(connection.id, out);
        }
        let submission = Submission { session, cxid: xid, op, ids: connection.ids };
        self.submit(Some(connection.id), submission, out);
    }

    // Source: ZooKeeperServer.processPacket (auth).
    fn auth(
        &mut self,
        id: ConnectionId,
        xid: i32,
        (scheme, auth): (&str, &Bytes),
        out: &mut Outbox<'_, Words>,
    ) {
        let believed = self.front.authenticate(id.peer, scheme, auth).is_some();
        let result = if believed { Ok(Answer::Nothing) } else { Err(Error::AuthFailed) };
        self.front.reply(id, (xid, Zxid::ZERO), result, out);
        if !believed {
            self.close(id, out);
        }
    }

    fn close(&mut self, id: ConnectionId, out: &mut Outbox<'_, Words>) {
        self.front.close(id, out);
        self.database.remove_connection(id);
    }

    // Source: SessionTrackerImpl.run, ZooKeeperServer.expire.
    fn session_tick(&mut self, out: &mut Outbox<'_, Words>) {
        for session in self.tracker.expire(out.now()) {
            out.tell(Fact::SessionExpired { session });
            self.submit_own(session, Op::CloseSession, out);
        }
        for id in self.front.expired(out.now()) {
            self.close(id, out);
        }
        out.arm(Timer::SessionTick, self.tracker.until_next_tick(out.now()));
    }

    /// Real: at most 10,000 removals a minute; here all that are due, because so many are not seen.
    // Source: ContainerManager.checkContainers.
    fn container_check(&mut self, out: &mut Outbox<'_, Words>) {
        for path in self.database.tree.overdue(wall_clock(out.now())) {
            self.submit_own(SessionId::NONE, Op::DeleteContainer { path }, out);
        }
        out.arm(Timer::ContainerCheck, self.settings.container_check_interval);
    }

    fn submit_own(&mut self, session: SessionId, op: Op, out: &mut Outbox<'_, Words>) {
        let submission = Submission { session, cxid: 0, op, ids: Arc::from([]) };
        self.submit(None, submission, out);
    }

    /// Puts a request in the line.
    // Source: PrepRequestProcessor.pRequest, SyncRequestProcessor.run.
    fn submit(
        &mut self,
        origin: Option<ConnectionId>,
        submission: Submission,
        out: &mut Outbox<'_, Words>,
    ) {
        let (session, xid) = (submission.session, submission.cxid);
        let work = match submission.op.class() {
            Class::Write => {
                let txn = self.prepare(&submission, out.now());
                quota::warn(self.settings.enforce_quota, &self.database.tree, &txn, out);
                Work::Txn(Arc::new(txn))
            }
            _ => match self.tracker.check(session, ServerId::STANDALONE) {
                Ok(()) => Work::Read { op: submission.op, ids: submission.ids },
                Err(error) => Work::Refusal(error),
            },
        };
        self.waiting.push_back(Step { origin, session, xid, work });
        self.move_on(out);
    }

    fn prepare(&mut self, submission: &Submission, now: SimTime) -> Txn {
        self.last_given = self.last_given.next();
        let prep = Prep {
            tree: &self.database.tree,
            outstanding: &mut self.outstanding,
            tracker: &mut self.tracker,
            local: None,
            ttl_znodes: self.settings.ttl_znodes,
            enforce_quota: self.settings.enforce_quota,
            owner: ServerId::STANDALONE,
            zxid: self.last_given,
            time: wall_clock(now),
        };
        prep.prepare(submission)
    }

    /// Does what needs no disk; then writes all that waits in one batch.
    fn move_on(&mut self, out: &mut Outbox<'_, Words>) {
        if !self.batch.is_empty() {
            return;
        }
        while let Some(step) = self.waiting.pop_front_if(|step| step.txn().is_none()) {
            self.conclude(step, out);
        }
        self.batch = self.waiting.drain(..).collect();
        if let Some(txn) = self.batch.iter().rev().find_map(Step::txn) {
            out.write(Write::Log { through: txn.zxid });
        }
    }

    fn written(&mut self, disk: &mut Disk, out: &mut Outbox<'_, Words>) {
        let batch = std::mem::take(&mut self.batch);
        for txn in batch.iter().filter_map(Step::txn) {
            disk.append(txn.clone());
        }
        for step in batch {
            self.conclude(step, out);
        }
        if disk.is_snapshot_due(self.settings.snap_count) {
            disk.snapshot = self.database.snapshot();
        }
        self.move_on(out);
    }

    // Source: FinalRequestProcessor.processRequest.
    fn conclude(&mut self, step: Step, out: &mut Outbox<'_, Words>) {
        match step.work {
            Work::Txn(ref txn) => {
                let applied = self.database.apply(txn);
                self.outstanding.applied(txn.zxid);
                tell(txn, out);
                self.conclude_txn(&step, txn, applied, out);
            }
            Work::Read { ref op, ref ids } => self.conclude_read(&step, op, ids, out),
            Work::Refusal(error) => self.reply(&step, Err(error), out),
        }
    }

    fn conclude_txn(
        &mut self,
        step: &Step,
        txn: &Txn,
        applied: Applied,
        out: &mut Outbox<'_, Words>,
    ) {
        self.front.deliver(applied.fired, out);
        match (&txn.body, step.origin) {
            (TxnBody::CreateSession { .. }, Some(origin)) => self.front.accept(origin, out),
            (TxnBody::CloseSession { .. }, origin) => {
                self.tracker.remove(txn.session);
                self.reply(step, applied.result, out);
                let known = self.front.connection_of(txn.session).map(|connection| connection.id);
                if let Some(id) = origin.or(known) {
                    self.close(id, out);
                }
            }
            _ => self.reply(step, applied.result, out),
        }
    }

    fn conclude_read(&mut self, step: &Step, op: &Op, ids: &[AuthId], out: &mut Outbox<'_, Words>) {
        let Some(connection) = step.origin.filter(|id| self.front.current(*id).is_some()) else {
            return;
        };
        let result = match op {
            Op::SetWatches(set) => {
                let missed = self.database.set_watches(set, connection);
                self.front.deliver(missed, out);
                Ok(Answer::Nothing)
            }
            op => self.database.read(op, Caller { connection, session: step.session, ids }),
        };
        self.reply(step, result, out);
    }

    fn reply(&mut self, step: &Step, result: Result<Answer, Error>, out: &mut Outbox<'_, Words>) {
        if let Some(origin) = step.origin {
            self.front.reply(origin, (step.xid, self.database.last_zxid), result, out);
        }
    }
}

impl Step {
    fn txn(&self) -> Option<&Arc<Txn>> {
        match &self.work {
            Work::Txn(txn) => Some(txn),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::sim::{
        Event, Moment, Network, Outbox, Process, ProcessId, Sim, SimTime, Span, Trace,
    };
    use crate::zk::release::Release;
    use crate::zk::reply::Error;
    use crate::zk::request::{Connect, Create, Op, mode};
    use crate::zk::server::Server;
    use crate::zk::settings::Settings;
    use crate::zk::stat::{Millis, SessionId};
    use crate::zk::words::{Message, Reply, Words};
    use crate::zk::zxid::Zxid;

    const SERVER: ProcessId = ProcessId(0);

    /// A server, or a client that connects and then sends all its requests at once.
    #[derive(Clone, Hash, Debug)]
    enum Actor {
        Server(Box<Server>),
        Client { ops: Vec<Op>, heard: Vec<Message> },
    }

    impl Process for Actor {
        type Words = Words;

        fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
            match (self, event) {
                (Actor::Server(server), event) => server.handle(event, out),
                (Actor::Client { .. }, Event::Boot) => out.send(SERVER, hello()),
                (Actor::Client { ops, heard }, Event::Message { message, .. }) => {
                    if matches!(message, Message::ConnectReply(_)) {
                        for (xid, op) in (1..).zip(ops.clone()) {
                            out.send(SERVER, Message::Request { xid, op });
                        }
                    }
                    heard.push(message);
                }
                _ => {}
            }
        }

        fn crash(&mut self) {
            if let Actor::Server(server) = self {
                server.crash();
            }
        }
    }

    fn hello() -> Message {
        let (last_zxid, password) = Default::default();
        let timeout = Millis(4000);
        Message::Connect(Connect {
            last_zxid,
            timeout,
            session: SessionId::NONE,
            password,
            can_be_read_only: false,
        })
    }

    struct Run {
        sim: Sim<Actor>,
        trace: Trace<Words>,
    }

    impl Run {
        fn new(ops: Vec<Op>) -> Run {
            Run::of_release(Release::V3_8_0, ops)
        }

        fn of_release(release: Release, ops: Vec<Op>) -> Run {
            let mut sim = Sim::new(7, Network::default());
            let settings = Settings::default().of_release(release);
            sim.add("zk1", Actor::Server(Server::standalone(settings).into()));
            let client = sim.add("client", Actor::Client { ops, heard: Vec::new() });
            let mut run = Run { sim, trace: Trace::default() };
            run.intervene(|act| act.start(SERVER));
            run.until(Span::ms(1));
            run.intervene(|act| act.start(client));
            run
        }

        fn intervene(&mut self, act: impl FnOnce(&mut crate::sim::Intervention<'_, Actor>)) {
            self.sim.intervene(("test", None), &mut self.trace, act);
        }

        fn until(&mut self, time: Span) {
            self.sim.advance_to(Moment::after(SimTime::ZERO + time), &mut self.trace);
        }

        fn server(&self) -> &Server {
            match self.sim.process(SERVER) {
                Actor::Server(server) => server,
                Actor::Client { .. } => panic!("the first process is the server"),
            }
        }

        fn facts(&self) -> Vec<String> {
            let of = |record: crate::sim::Record<'_, Words>| -> Vec<String> {
                let facts = record.facts().map(ToString::to_string);
                facts.filter(|fact| !fact.starts_with("process-")).collect()
            };
            self.trace.iter().flat_map(of).collect()
        }
    }

    fn create(path: &str, flags: i32) -> Op {
        Op::Create(Create::new(path, "", flags).into())
    }

    #[test]
    fn what_waits_is_written_in_one_batch() {
        let mut run = Run::new(["/a", "/b", "/c", "/d"].map(|path| create(path, 0)).to_vec());
        run.until(Span::ms(50));
        let writes = run.trace.iter().filter(|record| record.name == "written").count();
        assert_eq!(run.server().disk().last_zxid(), Zxid(5));
        assert!(writes < 5, "one for the session, one for the first create, one for the others");
    }

    #[test]
    fn a_crash_loses_what_was_not_written() {
        let mut run = Run::new(vec![create("/a", 0), create("/b", 0)]);
        while run.server().disk().last_zxid() < Zxid(1) {
            run.sim.step(&mut run.trace).expect("the session is being opened");
        }
        let prepared = |server: &Server| match server.role() {
            crate::zk::server::Role::Standalone(role) => role.last_given,
            _ => panic!("it runs alone"),
        };
        while prepared(run.server()) < Zxid(3) {
            run.sim.step(&mut run.trace).expect("the creates are on their way");
        }
        let on_disk = run.server().disk().last_zxid();
        assert!(on_disk < Zxid(3), "what was prepared is not on the disk at once");
        run.intervene(|act| act.kill(SERVER));
        run.intervene(|act| act.start(SERVER));
        run.until(Span::ms(100));
        let database = run.server().database().expect("it runs again");
        assert_eq!((database.last_zxid, database.sessions.len()), (on_disk, 1));
        assert_eq!(database.tree.znode("/b"), None);
    }

    /// What a server does not know it refuses, and hangs up: the create behind it is never read.
    #[test]
    fn an_unknown_operation_ends_the_connection() {
        let answers = |release| {
            let mut run = Run::of_release(release, vec![Op::WhoAmI, create("/a", 0)]);
            run.until(Span::ms(100));
            let Actor::Client { heard, .. } = run.sim.process(ProcessId(1)) else {
                panic!("the second process is the client")
            };
            let replies = heard.iter().filter_map(|message| match message {
                Message::Reply(Reply { zxid, result, .. }) => Some((*zxid, result.clone().err())),
                _ => None,
            });
            replies.collect::<Vec<_>>()
        };
        let unknown = vec![(Zxid(-1), Some(Error::Unimplemented))];
        assert_eq!(answers(Release::V3_4_6), unknown);
        assert_eq!(answers(Release::V3_6_3), unknown);
        assert_eq!(answers(Release::V3_7_0), [(Zxid(1), None), (Zxid(2), None)]);
    }

    #[test]
    fn a_silent_session_is_expired_with_its_ephemerals() {
        let mut run = Run::new(vec![create("/a", mode::EPHEMERAL), create("/a", 0)]);
        run.until(Span::ms(5999));
        assert_eq!(run.facts().len(), 3);
        run.until(Span::ms(6100));
        let session = SessionId(1 << 56);
        let expected = [
            format!("session-opened session={session} timeout=4000ms"),
            format!("znode-created path=/a owner={session} zxid=0x2"),
            format!("request-refused session={session} error=NodeExists zxid=0x3"),
            format!("session-expired session={session}"),
            format!("session-closed session={session} ephemerals=1"),
            "znode-deleted path=/a zxid=0x4".to_owned(),
        ];
        assert_eq!(run.facts(), expected);
    }
}
