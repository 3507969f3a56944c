//! The leader: it gathers a quorum behind a new epoch, brings everybody to its own history, then
//! orders all writes and keeps the sessions.
//!
//! ```text
//!   Gathering ─▶ Accepting ─▶ Promising ─▶ Synchronizing ─▶ Leading
//!   a quorum     own          a quorum     a quorum has     serves, until the
//!   has come     acceptedEpoch  promised   NEWLEADER        quorum is lost
//!      └────────────┴─────────────┴───────────┴── initLimit ticks ──▶ looking
//! ```
//!
//! *Invariant: an epoch is led only by one to whom a quorum has promised it; a write is answered
//! only when it is committed.*

use std::collections::VecDeque;
use std::sync::Arc;

use super::broadcast::{Proposals, SyncLimitCheck};
use super::ensemble::ServerId;
use super::epochs::{Epoch, epoch_to_propose};
use super::local_sessions::Kind;
use super::member::Member;
use super::peer::{PeerMessage, PeerTimer, Touch};
use super::prep::{Outstanding, Prep, Submission};
use super::quota;
use super::request::{Class, Op};
use super::serving::{Serving, Upward, creation};
use super::session::Tracker;
use super::stat::{Millis, SessionId};
use super::sync::{Plan, plan_sync};
use super::telling::{tell, wall_clock};
use super::txn::{Txn, TxnBody};
use super::vote::Vote;
use super::words::{Fact, Message, Timer, Words, Write};
use super::zxid::Zxid;
use crate::sim::{Event, EventId, OrdMap, OrdSet, Outbox, ProcessId, SimTime, Span};

/// What a leader remembers, or one who tries to become it.
// Source: Leader, LeaderZooKeeperServer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Leader {
    stage: Stage,
    /// The epoch that it founds; zero while `Gathering`.
    epoch: Epoch,
    /// Its own history when it began: nobody may be ahead of it.
    own: Vote,
    /// Who has done what the present stage waits for.
    done: OrdSet<ServerId>,
    learners: OrdMap<ServerId, Attended>,
    serving: Serving,
    tracker: Tracker,
    /// The last sign of life of each session.
    signs: OrdMap<SessionId, EventId>,
    outstanding: Outstanding,
    last_given: Zxid,
    proposals: Proposals,
    syncs: VecDeque<PendingSync>,
    ticks: Ticks,
}

/// How far it has come. Each becomes the next one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Stage {
    /// Waits for a quorum of learners.
    Gathering,
    /// Writes down its own promise.
    Accepting,
    /// Waits for a quorum of promises.
    Promising,
    /// Waits until a quorum has its history.
    Synchronizing,
    /// Serves.
    Leading,
}

/// One learner, as its leader sees it.
// Source: LearnerHandler.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Attended {
    step: Step,
    accepted: Epoch,
    last_heard: SimTime,
    /// The tick by which it must have said something, to count as a follower.
    deadline: u32,
    limit: SyncLimitCheck,
}

/// What a learner has done. Each becomes the next one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Step {
    /// It has come.
    Come,
    /// It has promised, and stands here.
    Promised(Zxid),
    /// It has been sent everything, and gets all that is new.
    Sent,
    /// It has acknowledged NEWLEADER.
    Synchronized,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct PendingSync {
    after: Zxid,
    origin: ServerId,
    session: SessionId,
    xid: i32,
}

/// The leader's own clock: it looks around every half tick, and counts whole ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Ticks {
    count: u32,
    half: Half,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Half {
    First,
    Second,
}

/// Whether a role goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// It does.
    Stay,
    /// The server looks for a leader.
    Look,
}

impl Leader {
    /// Begins to gather a quorum.
    // Source: Leader.lead.
    pub fn start(member: &Member, out: &mut Outbox<'_, Words>) -> Leader {
        let mut leader = Leader {
            stage: Stage::Gathering,
            epoch: Epoch(0),
            own: member.own_vote(),
            done: OrdSet::from([member.me]),
            learners: OrdMap::new(),
            serving: Serving::new(member, out.now()),
            tracker: Tracker::new(member.settings.tick_time),
            signs: OrdMap::default(),
            outstanding: Outstanding::default(),
            last_given: Zxid::ZERO,
            proposals: Proposals::default(),
            syncs: VecDeque::new(),
            ticks: Ticks { count: 0, half: Half::First },
        };
        leader.wait(member, out);
        leader.check_gathered(member, out);
        leader
    }

    /// Its epoch, once it leads.
    pub fn epoch(&self) -> Option<Epoch> {
        (self.stage == Stage::Leading).then_some(self.epoch)
    }

    /// Its clients.
    pub fn serving(&self) -> &Serving {
        &self.serving
    }

    /// When sessions expire.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// The learners that have its history.
    pub fn followers(&self) -> impl Iterator<Item = ServerId> {
        let synchronized = |learner: &&Attended| learner.step == Step::Synchronized;
        let all = self.learners.iter();
        all.filter(move |(_, learner)| synchronized(learner)).map(|(id, _)| *id)
    }

    /// How many learners have come.
    pub fn learner_count(&self) -> u32 {
        self.learners.len() as u32
    }

    /// How many syncs wait for what was proposed before them.
    pub fn pending_syncs(&self) -> u32 {
        self.syncs.len() as u32
    }

    /// What is proposed and not committed yet.
    pub fn proposals(&self) -> &Proposals {
        &self.proposals
    }

    /// Takes one event.
    pub fn handle(
        &mut self,
        event: Event<Words>,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Turn {
        match event {
            Event::Message { from, message } => self.hear(from, message, member, out),
            Event::Hangup { peer } => {
                match member.ensemble.id_of(peer) {
                    Some(id) => self.lose(id, out),
                    None => self.serving.lose(peer, member),
                }
                Turn::Stay
            }
            Event::Timer(timer) => self.timer(timer, member, out),
            Event::Written(Write::Log { through }) => {
                for zxid in member.written(through, out) {
                    self.proposals.ack(member.me, zxid);
                }
                self.commit(member, out);
                Turn::Stay
            }
            Event::Written(Write::Epochs(_)) => {
                self.epochs_written(member, out);
                Turn::Stay
            }
            Event::Boot | Event::Request(_) | Event::Failed(_) => Turn::Stay,
        }
    }

    /// Hangs up on everybody, because it no longer leads.
    // Source: Leader.shutdown.
    pub fn end(&mut self, member: &Member, out: &mut Outbox<'_, Words>) {
        self.serving.close_all(out);
        for id in self.learners.keys() {
            out.hangup(member.ensemble.host_of(*id));
        }
    }

    fn hear(
        &mut self,
        from: ProcessId,
        message: Message,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Turn {
        match message {
            Message::Peer(message) => match member.ensemble.id_of(from) {
                Some(id) => self.hear_learner(id, message, member, out),
                None => Turn::Stay,
            },
            _ if self.stage != Stage::Leading => {
                out.hangup(from);
                Turn::Stay
            }
            message => {
                let (me, now) = (member.me, out.now());
                let (tracker, signs) = (&mut self.tracker, &mut self.signs);
                let mut judge = |op: &Op, by: Touch, kind: Kind| {
                    if kind == Kind::Local {
                        return Some(Ok(()));
                    }
                    let alive = touch(tracker, signs, by, now);
                    alive.then(|| match op.class() {
                        Class::Read | Class::Sync => tracker.check(by.session, me),
                        _ => Ok(()),
                    })
                };
                let upward = self.serving.hear(from, message, &mut judge, member, out);
                self.hear_upward(upward, member, out)
            }
        }
    }

    fn hear_upward(
        &mut self,
        upward: Option<Upward>,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Turn {
        match upward {
            Some(Upward::Submit(submission)) => self.submit(member.me, &submission, member, out),
            Some(Upward::Upgrade(timeout, submission)) => {
                let upgrade = creation(submission.session, timeout);
                match self.submit(member.me, &upgrade, member, out) {
                    Turn::Stay => self.submit(member.me, &submission, member, out),
                    Turn::Look => Turn::Look,
                }
            }
            Some(Upward::Revalidate { session, timeout }) => {
                let valid = self.revalidate(member.me, session, timeout, out);
                self.serving.revalidated(session, valid, out);
                Turn::Stay
            }
            None => Turn::Stay,
        }
    }

    fn hear_learner(
        &mut self,
        id: ServerId,
        message: PeerMessage,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Turn {
        if let PeerMessage::LearnerInfo { accepted } = message {
            self.welcome(id, accepted, member, out);
            return Turn::Stay;
        }
        let Some(learner) = self.learners.get_mut(&id) else { return Turn::Stay };
        learner.last_heard = out.now();
        learner.deadline = self.ticks.count + member.settings.sync_limit;
        match message {
            PeerMessage::AckEpoch { last, current } => {
                self.promised(id, last, current, member, out);
            }
            PeerMessage::Ack { zxid } if zxid.counter() == 0 => self.synchronized(id, member, out),
            PeerMessage::Ack { zxid } => {
                learner.limit.acked(zxid);
                self.proposals.ack(id, zxid);
                self.commit(member, out);
            }
            PeerMessage::Request(submission) => return self.submit(id, &submission, member, out),
            PeerMessage::Revalidate { session, timeout } => {
                let valid = self.revalidate(id, session, timeout, out);
                member.send(id, PeerMessage::Revalidated { session, valid }, out);
            }
            PeerMessage::Pong { touched } => {
                for touch in touched.iter() {
                    self.touch(*touch, out.now());
                }
            }
            _ => {}
        }
        Turn::Stay
    }

    fn lose(&mut self, id: ServerId, out: &mut Outbox<'_, Words>) {
        if let Some(learner) = self.learners.remove(&id) {
            let silence = whole_ms(out.now().since(learner.last_heard));
            out.tell(Fact::LearnerLost { learner: id, silence });
        }
    }

    /// Cuts a learner off.
    fn drop_learner(&mut self, id: ServerId, member: &Member, out: &mut Outbox<'_, Words>) {
        self.lose(id, out);
        out.hangup(member.ensemble.host_of(id));
    }

    fn timer(&mut self, timer: Timer, member: &mut Member, out: &mut Outbox<'_, Words>) -> Turn {
        match timer {
            Timer::Peer(PeerTimer::InitLimit) if self.stage != Stage::Leading => {
                out.tell(Fact::Abandoned { epoch: self.epoch });
                Turn::Look
            }
            Timer::Peer(PeerTimer::HalfTick) => self.half_tick(member, out),
            Timer::SessionTick => self.session_tick(member, out),
            Timer::ContainerCheck => self.container_check(member, out),
            _ => Turn::Stay,
        }
    }

    fn wait(&self, member: &Member, out: &mut Outbox<'_, Words>) {
        out.arm(PeerTimer::InitLimit, member.ticks(member.settings.init_limit));
    }
}

/// Discovery and synchronization.
impl Leader {
    /// A learner has come. It is told the epoch as soon as that is known.
    // Source: LearnerHandler.run, Leader.getEpochToPropose.
    fn welcome(
        &mut self,
        id: ServerId,
        accepted: Epoch,
        member: &Member,
        out: &mut Outbox<'_, Words>,
    ) {
        let settings = &member.settings;
        let learner = Attended {
            step: Step::Come,
            accepted,
            last_heard: out.now(),
            deadline: self.ticks.count + settings.init_limit + settings.sync_limit,
            limit: SyncLimitCheck::default(),
        };
        self.learners.insert(id, learner);
        match self.stage {
            Stage::Gathering => {
                self.done.insert(id);
                self.check_gathered(member, out);
            }
            Stage::Accepting => {}
            Stage::Promising | Stage::Synchronizing | Stage::Leading => {
                member.send(id, PeerMessage::LeaderInfo { epoch: self.epoch }, out);
            }
        }
    }

    fn check_gathered(&mut self, member: &Member, out: &mut Outbox<'_, Words>) {
        if !member.ensemble.is_quorum(&self.done) {
            return;
        }
        let theirs = self.learners.values().map(|learner| learner.accepted);
        self.epoch = epoch_to_propose(theirs.chain([member.disk.epochs.accepted]));
        self.stage = Stage::Accepting;
        out.tell(Fact::EpochProposed { epoch: self.epoch });
        member.write_epochs(self.epoch, Epoch(0), out);
    }

    fn epochs_written(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        let written = member.disk.epochs;
        if self.stage == Stage::Accepting && written.accepted >= self.epoch {
            self.stage = Stage::Promising;
            self.done = OrdSet::from([member.me]);
            self.wait(member, out);
            for id in self.learners.keys() {
                member.send(*id, PeerMessage::LeaderInfo { epoch: self.epoch }, out);
            }
            self.check_promised(member, out);
        } else if self.stage == Stage::Synchronizing && written.current >= self.epoch {
            self.done.insert(member.me);
            self.check_synchronized(member, out);
        }
    }

    /// A learner has promised. One that is ahead of the leader is cut off.
    // Source: Leader.waitForEpochAck, StateSummary.isMoreRecentThan.
    fn promised(
        &mut self,
        id: ServerId,
        last: Zxid,
        current: Option<Epoch>,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) {
        if self.stage == Stage::Promising
            && let Some(current) = current
        {
            if (current, last) > (self.own.epoch, self.own.zxid) {
                self.drop_learner(id, member, out);
                return;
            }
            self.done.insert(id);
        }
        if let Some(learner) = self.learners.get_mut(&id) {
            learner.step = Step::Promised(last);
        }
        match self.stage {
            Stage::Promising => self.check_promised(member, out),
            _ => self.synchronize(id, last, member, out),
        }
    }

    fn check_promised(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        if !member.ensemble.is_quorum(&self.done) {
            return;
        }
        self.stage = Stage::Synchronizing;
        self.done.clear();
        self.wait(member, out);
        member.write_epochs(self.epoch, self.epoch, out);
        let promised = self.learners.iter().filter_map(|(id, learner)| match learner.step {
            Step::Promised(last) => Some((*id, last)),
            _ => None,
        });
        for (id, last) in promised.collect::<Vec<_>>() {
            self.synchronize(id, last, member, out);
        }
    }

    /// Sends a learner what it needs to have the leader's history, and from now on all that is new.
    ///
    /// Real: what a learner acknowledged before it lost its leader still counts when it is back and
    /// has just been told to forget it, so that a write may be committed that is on one disk only;
    /// here it has to acknowledge anew, because committed means logged by a quorum.
    // Source: LearnerHandler.syncFollower, Leader.startForwarding.
    fn synchronize(
        &mut self,
        id: ServerId,
        seen: Zxid,
        member: &Member,
        out: &mut Outbox<'_, Words>,
    ) {
        self.proposals.withdraw(id);
        let zxids = (seen, member.database.last_zxid);
        let release = member.settings.release;
        let plan = plan_sync(zxids, &member.window, &member.disk, release);
        out.tell(Fact::Synchronizing { learner: id, way: plan.way(), seen });
        let txns = match plan {
            Plan::Diff(txns) => {
                member.send(id, PeerMessage::Diff, out);
                txns
            }
            Plan::Trunc(to, txns) => {
                member.send(id, PeerMessage::Trunc { to }, out);
                txns
            }
            Plan::Snap => {
                let snapshot = Arc::new(member.database.snapshot());
                member.send(id, PeerMessage::Snap(snapshot), out);
                Vec::new()
            }
        };
        for txn in txns {
            let zxid = txn.zxid;
            member.send(id, PeerMessage::Proposal(txn), out);
            member.send(id, PeerMessage::Commit { zxid }, out);
        }
        if member.ensemble.is_voter(id) {
            for txn in self.proposals.iter() {
                member.send(id, PeerMessage::Proposal(txn.clone()), out);
            }
        }
        member.send(id, PeerMessage::NewLeader { epoch: self.epoch }, out);
        let learner = self.learners.get_mut(&id).expect("only who has come is synchronized");
        learner.step = Step::Sent;
    }

    /// A learner has acknowledged NEWLEADER; its second such ack says nothing new.
    // Source: Leader.waitForNewLeaderAck.
    fn synchronized(&mut self, id: ServerId, member: &mut Member, out: &mut Outbox<'_, Words>) {
        let learner = self.learners.get_mut(&id).expect("the caller has looked it up");
        if learner.step != Step::Sent {
            return;
        }
        learner.step = Step::Synchronized;
        match self.stage {
            Stage::Leading => member.send(id, PeerMessage::UpToDate, out),
            _ => {
                self.done.insert(id);
                self.check_synchronized(member, out);
            }
        }
    }

    fn check_synchronized(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        if self.done.contains(&member.me) && member.ensemble.is_quorum(&self.done) {
            self.establish(member, out);
        }
    }

    /// The epoch is established: everybody serves.
    // Source: Leader.startZkServer, LearnerHandler.run, QuorumPeer.updateElectionVote.
    fn establish(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        self.stage = Stage::Leading;
        out.disarm(PeerTimer::InitLimit);
        out.tell(Fact::Leading { epoch: self.epoch, zxid: member.database.last_zxid });
        self.last_given = Zxid::new(self.epoch.0, member.settings.initial_zxid);
        member.database.last_zxid = self.epoch.start();
        member.vote.epoch = self.epoch;
        for (session, timeout) in member.database.sessions.iter() {
            self.tracker.track(*session, *timeout, out.now());
            self.signs.insert(*session, out.event());
        }
        out.arm(PeerTimer::HalfTick, member.settings.tick_time.divided_by(2));
        out.arm(Timer::SessionTick, self.tracker.until_next_tick(out.now()));
        if member.settings.container_check_interval > Span::ZERO {
            out.arm(Timer::ContainerCheck, member.settings.container_check_interval);
        }
        for id in self.followers() {
            member.send(id, PeerMessage::UpToDate, out);
        }
    }
}

/// Broadcast.
impl Leader {
    /// Orders a request: a write becomes a proposal.
    // Source: PrepRequestProcessor.pRequest, Leader.propose, ZOOKEEPER-1277.
    fn submit(
        &mut self,
        origin: ServerId,
        submission: &Submission,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Turn {
        if self.stage != Stage::Leading || member.is_stuck() {
            return Turn::Stay;
        }
        if submission.op.class() == Class::Sync {
            self.sync(origin, submission, member, out);
            return Turn::Stay;
        }
        self.last_given = self.last_given.next();
        if self.last_given.is_last_of_epoch() {
            out.tell(Fact::ZxidRolledOver { epoch: self.epoch });
            return Turn::Look;
        }
        let txn = Arc::new(self.prepare(origin, submission, member, out));
        quota::warn(member.settings.enforce_quota, &member.database.tree, &txn, out);
        self.propose(txn, member, out);
        Turn::Stay
    }

    fn prepare(
        &mut self,
        origin: ServerId,
        submission: &Submission,
        member: &Member,
        out: &mut Outbox<'_, Words>,
    ) -> Txn {
        if let Op::CreateSession { timeout } = submission.op {
            let session = submission.session;
            self.tracker.track(session, timeout, out.now());
            self.tracker.set_owner(session, origin);
            self.signs.insert(session, out.event());
        }
        let prep = Prep {
            tree: &member.database.tree,
            outstanding: &mut self.outstanding,
            tracker: &mut self.tracker,
            local: self.serving.local(),
            ttl_znodes: member.settings.ttl_znodes,
            enforce_quota: member.settings.enforce_quota,
            owner: origin,
            zxid: self.last_given,
            time: wall_clock(out.now()),
        };
        prep.prepare(submission)
    }

    fn propose(&mut self, txn: Arc<Txn>, member: &mut Member, out: &mut Outbox<'_, Words>) {
        self.proposals.propose(txn.clone());
        self.serving.hold(txn.session, txn.cxid, member);
        for (id, learner) in &mut self.learners {
            if learner.step >= Step::Sent && member.ensemble.is_voter(*id) {
                learner.limit.proposed(txn.zxid, out.now());
                member.send(*id, PeerMessage::Proposal(txn.clone()), out);
            }
        }
        member.writer.append(txn, out);
    }

    /// Commits whatever a quorum has logged.
    // Source: Leader.tryToCommit.
    fn commit(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        while let Some(txn) = self.proposals.take_committed(&member.ensemble) {
            for (id, learner) in &self.learners {
                if learner.step >= Step::Sent {
                    let message = match member.ensemble.is_voter(*id) {
                        true => PeerMessage::Commit { zxid: txn.zxid },
                        false => PeerMessage::Inform(txn.clone()),
                    };
                    member.send(*id, message, out);
                }
            }
            self.apply(&txn, member, out);
        }
    }

    fn apply(&mut self, txn: &Arc<Txn>, member: &mut Member, out: &mut Outbox<'_, Words>) {
        tell(txn, out);
        self.serving.apply(txn, member, out);
        self.outstanding.applied(txn.zxid);
        if let TxnBody::CloseSession { .. } = txn.body {
            self.tracker.remove(txn.session);
            self.signs.remove(&txn.session);
        }
        while let Some(sync) = self.syncs.pop_front_if(|sync| sync.after <= txn.zxid) {
            self.answer_sync(&sync, member, out);
        }
    }

    /// Answers a sync once all that was proposed before it is committed.
    // Source: Leader.processSync, sendSync.
    fn sync(
        &mut self,
        origin: ServerId,
        submission: &Submission,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) {
        let after = self.proposals.last();
        let (session, xid) = (submission.session, submission.cxid);
        let sync = PendingSync { after: after.unwrap_or_default(), origin, session, xid };
        match after {
            None => self.answer_sync(&sync, member, out),
            Some(_) => self.syncs.push_back(sync),
        }
    }

    fn answer_sync(
        &mut self,
        sync: &PendingSync,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) {
        let PendingSync { origin, session, xid, .. } = *sync;
        if origin == member.me {
            self.serving.synced(session, xid, member, out);
        } else if self.learners.get(&origin).is_some_and(|learner| learner.step >= Step::Sent) {
            member.send(origin, PeerMessage::Synced { session, xid }, out);
        }
    }
}

/// Sessions and the leader's clock.
impl Leader {
    fn touch(&mut self, by: Touch, now: SimTime) -> bool {
        touch(&mut self.tracker, &mut self.signs, by, now)
    }

    /// A client wants to continue a session at `owner`.
    // Source: LearnerHandler (case REVALIDATE), LeaderZooKeeperServer.revalidateSession.
    fn revalidate(
        &mut self,
        owner: ServerId,
        session: SessionId,
        timeout: Millis,
        out: &mut Outbox<'_, Words>,
    ) -> bool {
        let valid = self.touch(Touch { session, timeout, sign: out.event() }, out.now());
        if valid {
            let before = self.tracker.session(session).and_then(|tracked| tracked.owner);
            if before.is_some_and(|before| before != owner) {
                out.tell(Fact::SessionMoved { session, to: owner });
            }
            self.tracker.set_owner(session, owner);
        }
        valid
    }

    // Source: SessionTrackerImpl.run, ZooKeeperServer.expire.
    fn session_tick(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) -> Turn {
        out.arm(Timer::SessionTick, self.tracker.until_next_tick(out.now()));
        self.serving.expire_local(member, out);
        for session in self.tracker.expire(out.now()) {
            if let Some(sign) = self.signs.get(&session) {
                out.because(*sign);
            }
            out.tell(Fact::SessionExpired { session });
            if self.submit_own(session, Op::CloseSession, member, out) == Turn::Look {
                return Turn::Look;
            }
        }
        Turn::Stay
    }

    // Source: ContainerManager.checkContainers.
    fn container_check(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) -> Turn {
        out.arm(Timer::ContainerCheck, member.settings.container_check_interval);
        for path in member.database.tree.overdue(wall_clock(out.now())) {
            let op = Op::DeleteContainer { path };
            if self.submit_own(SessionId::NONE, op, member, out) == Turn::Look {
                return Turn::Look;
            }
        }
        Turn::Stay
    }

    fn submit_own(
        &mut self,
        session: SessionId,
        op: Op,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Turn {
        let submission = Submission { session, cxid: 0, op, ids: Arc::from([]) };
        self.submit(member.me, &submission, member, out)
    }

    /// Looks around: is there a quorum, who is too slow? Then lets everybody know that it lives.
    ///
    /// Real: a learner's silence ends its connection at once; here at the next half tick.
    // Source: Leader.lead, LearnerHandler.ping.
    fn half_tick(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) -> Turn {
        // Source: Leader.lead, Leader.isRunning, ZooKeeperServer.State.ERROR.
        if member.writer.has_failed() {
            return Turn::Look;
        }
        out.arm(PeerTimer::HalfTick, member.settings.tick_time.divided_by(2));
        self.ticks.half = match self.ticks.half {
            Half::First => Half::Second,
            Half::Second => {
                self.ticks.count += 1;
                if !self.has_quorum(member) {
                    out.tell(Fact::QuorumLost { epoch: self.epoch });
                    return Turn::Look;
                }
                Half::First
            }
        };
        let now = out.now();
        let (slow, quick): (Vec<_>, Vec<_>) =
            self.learners.iter().partition(|(_, learner)| learner.is_too_slow(now, member));
        for (id, _) in quick.iter().filter(|(_, learner)| learner.step >= Step::Sent) {
            member.send(**id, PeerMessage::Ping, out);
        }
        for id in slow.iter().map(|(id, _)| **id).collect::<Vec<_>>() {
            self.drop_learner(id, member, out);
        }
        self.serving.end_silent(member, out);
        Turn::Stay
    }

    fn has_quorum(&self, member: &Member) -> bool {
        let count = self.ticks.count;
        let heard = self.learners.iter().filter(|(_, learner)| count <= learner.deadline);
        let mut heard: OrdSet<ServerId> = heard.map(|(id, _)| *id).collect();
        heard.insert(member.me);
        member.ensemble.is_quorum(&heard)
    }
}

impl Attended {
    fn is_too_slow(&self, now: SimTime, member: &Member) -> bool {
        let sync_limit = member.ticks(member.settings.sync_limit);
        let patience = match self.step {
            Step::Synchronized => sync_limit,
            _ => member.ticks(member.settings.init_limit),
        };
        let silent = now.since(self.last_heard) > patience;
        silent || self.limit.is_overdue(now, sync_limit)
    }
}

/// A session has given a sign of life; whether it lives.
fn touch(
    tracker: &mut Tracker,
    signs: &mut OrdMap<SessionId, EventId>,
    by: Touch,
    now: SimTime,
) -> bool {
    let alive = tracker.touch(by.session, by.timeout, now);
    if alive {
        signs.insert(by.session, by.sign);
    }
    alive
}

/// A span told to people.
pub(super) fn whole_ms(span: Span) -> Span {
    Span::ms(span.as_ms())
}
