//! The learner: a follower, or an observer. It promises an epoch to its leader, takes over the
//! leader's history, then logs what is proposed and applies what is committed.
//!
//! ```text
//!   Connecting ─▶ Promising ─▶ Synchronizing ─▶ Logging ─▶ Confirming ─▶ Confirmed ─▶ Serving
//!   LEARNERINFO   acceptedEpoch  DIFF …         NEWLEADER  currentEpoch  ACK          UPTODATE
//! ```
//!
//! *Invariant: a proposal is acknowledged only when it is on the disk; txns are applied in the
//! order of zxids. Clients are served only from UPTODATE until the leader is lost.*

use std::collections::VecDeque;
use std::sync::Arc;

use super::database::{Database, Disk, Snapshot};
use super::ensemble::ServerId;
use super::epochs::{Epoch, Promise, promise};
use super::leader::{Turn, whole_ms};
use super::local_sessions::Kind;
use super::member::Member;
use super::peer::{PeerMessage, PeerTimer, Touch};
use super::prep::Submission;
use super::request::Op;
use super::serving::{Serving, Upward, creation};
use super::stat::SessionId;
use super::sync::{CommittedWindow, Way};
use super::txn::Txn;
use super::words::{Fact, Message, Timer, Words, Write};
use super::zxid::Zxid;
use crate::sim::{Event, OrdMap, Outbox, ProcessId, SimTime, Span};

/// How often a learner tries to reach its leader.
// Source: Learner.connectToLeader.
const CONNECT_TRIES: u8 = 5;

/// What a learner remembers.
// Source: Learner, Follower, FollowerZooKeeperServer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Learner {
    leader: ServerId,
    stage: Stage,
    tries: u8,
    /// The leader's epoch, once it is known.
    epoch: Epoch,
    /// How it is brought up.
    way: Way,
    /// Proposed and not committed yet.
    proposed: VecDeque<Arc<Txn>>,
    serving: Serving,
    /// Who was heard of since the leader asked last.
    touched: OrdMap<SessionId, Touch>,
    last_heard: SimTime,
}

/// How far it has come. Each becomes the next one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Stage {
    /// Waits for the leader's epoch.
    Connecting,
    /// Writes down its promise.
    Promising,
    /// Takes what it misses.
    Synchronizing,
    /// Has everything; waits for its log.
    Logging,
    /// Writes down the epoch.
    Confirming,
    /// Waits until it may serve.
    Confirmed,
    /// Serves.
    Serving,
}

impl Learner {
    /// Turns to the elected leader.
    // Source: Follower.followLeader, Learner.registerWithLeader.
    pub fn start(leader: ServerId, member: &Member, out: &mut Outbox<'_, Words>) -> Learner {
        let learner = Learner {
            leader,
            stage: Stage::Connecting,
            tries: 1,
            epoch: Epoch(0),
            way: Way::Diff,
            proposed: VecDeque::new(),
            serving: Serving::new(member, out.now()),
            touched: OrdMap::new(),
            last_heard: out.now(),
        };
        learner.connect(member, out);
        learner.listen(member, out);
        learner
    }

    /// Whom it follows.
    pub fn leader(&self) -> ServerId {
        self.leader
    }

    /// The epoch it serves in, if it serves.
    pub fn epoch(&self) -> Option<Epoch> {
        self.is_serving().then_some(self.epoch)
    }

    /// Its clients.
    pub fn serving(&self) -> &Serving {
        &self.serving
    }

    /// What was proposed to it and is not committed yet.
    pub fn proposed(&self) -> impl Iterator<Item = &Arc<Txn>> {
        self.proposed.iter()
    }

    fn is_serving(&self) -> bool {
        self.stage == Stage::Serving
    }

    /// Takes one event.
    pub fn handle(
        &mut self,
        event: Event<Words>,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Turn {
        match event {
            Event::Message { from, message: Message::Peer(message) } => {
                match member.ensemble.id_of(from) == Some(self.leader) {
                    // Source: Follower.followLeader, Learner.isRunning.
                    true => match self.hear_leader(message, member, out) {
                        Turn::Stay if member.writer.has_failed() => Turn::Look,
                        turn => turn,
                    },
                    false => Turn::Stay,
                }
            }
            Event::Message { from, message } => {
                self.hear_client(from, message, member, out);
                Turn::Stay
            }
            Event::Hangup { peer } => self.lose(peer, member, out),
            Event::Timer(Timer::Peer(PeerTimer::Connect)) if self.stage == Stage::Connecting => {
                self.connect(member, out);
                Turn::Stay
            }
            Event::Timer(Timer::Peer(PeerTimer::LeaderSilence)) => self.leader_lost(out),
            Event::Timer(Timer::SessionTick) => {
                self.serving.expire_local(member, out);
                self.watch_local(out);
                Turn::Stay
            }
            Event::Written(write) => {
                self.written(write, member, out);
                Turn::Stay
            }
            _ => Turn::Stay,
        }
    }

    /// Hangs up on everybody, because it no longer follows. What of a snapshot was not finished is
    /// forgotten.
    // Source: Learner.shutdown.
    pub fn end(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        self.serving.close_all(out);
        out.hangup(member.ensemble.host_of(self.leader));
        if self.way == Way::Snap && self.stage < Stage::Logging {
            reload(member);
        }
    }

    fn connect(&self, member: &Member, out: &mut Outbox<'_, Words>) {
        let accepted = member.disk.epochs.accepted;
        member.send(self.leader, PeerMessage::LearnerInfo { accepted }, out);
    }

    /// Gives the leader so long to say something.
    fn listen(&self, member: &Member, out: &mut Outbox<'_, Words>) {
        let settings = &member.settings;
        let limit = if self.is_serving() { settings.sync_limit } else { settings.init_limit };
        out.arm(PeerTimer::LeaderSilence, member.ticks(limit));
    }

    fn lose(&mut self, peer: ProcessId, member: &mut Member, out: &mut Outbox<'_, Words>) -> Turn {
        match member.ensemble.id_of(peer) {
            Some(id) if id == self.leader => match self.stage {
                Stage::Connecting => self.refused(member, out),
                _ => self.leader_lost(out),
            },
            Some(_) => Turn::Stay,
            None => {
                self.serving.lose(peer, member);
                Turn::Stay
            }
        }
    }

    /// The leader does not listen yet, or no longer.
    // Source: Learner.connectToLeader.
    fn refused(&mut self, member: &Member, out: &mut Outbox<'_, Words>) -> Turn {
        if self.tries == CONNECT_TRIES {
            return self.leader_lost(out);
        }
        self.tries += 1;
        let pause = Span::ms(member.settings.release.connects_again_after_ms());
        out.arm(PeerTimer::Connect, pause);
        Turn::Stay
    }

    fn leader_lost(&self, out: &mut Outbox<'_, Words>) -> Turn {
        let silence = whole_ms(out.now().since(self.last_heard));
        out.tell(Fact::LeaderLost { leader: self.leader, silence });
        Turn::Look
    }

    fn hear_leader(
        &mut self,
        message: PeerMessage,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) -> Turn {
        if matches!(message, PeerMessage::Refused) {
            let connecting = self.stage == Stage::Connecting;
            return if connecting { self.refused(member, out) } else { Turn::Stay };
        }
        self.last_heard = out.now();
        self.listen(member, out);
        match message {
            PeerMessage::LeaderInfo { epoch } => return self.promise(epoch, member, out),
            PeerMessage::Diff => self.way = Way::Diff,
            PeerMessage::Trunc { to } => return self.truncate(to, member, out),
            PeerMessage::Snap(snapshot) => self.take_over(&snapshot, member),
            PeerMessage::NewLeader { epoch } => self.new_leader(epoch, member, out),
            PeerMessage::UpToDate => self.up_to_date(member, out),
            PeerMessage::Proposal(txn) => self.propose(txn, member, out),
            PeerMessage::Commit { zxid } => self.commit(zxid, member, out),
            PeerMessage::Inform(txn) => self.learn(&txn, member, out),
            PeerMessage::Ping => self.pong(member, out),
            PeerMessage::Synced { session, xid } => self.serving.synced(session, xid, member, out),
            PeerMessage::Revalidated { session, valid } => {
                self.serving.revalidated(session, valid, out);
            }
            _ => {}
        }
        Turn::Stay
    }
}

/// Discovery and synchronization.
impl Learner {
    /// The leader proposes its epoch.
    // Source: Learner.registerWithLeader.
    fn promise(&mut self, epoch: Epoch, member: &mut Member, out: &mut Outbox<'_, Words>) -> Turn {
        if self.stage != Stage::Connecting {
            return Turn::Stay;
        }
        self.epoch = epoch;
        match promise(member.disk.epochs.accepted, epoch) {
            Promise::New => {
                self.stage = Stage::Promising;
                member.write_epochs(epoch, Epoch(0), out);
                Turn::Stay
            }
            Promise::Repeated => {
                self.acknowledge(None, member, out);
                Turn::Stay
            }
            Promise::Refused => self.leader_lost(out),
        }
    }

    fn acknowledge(
        &mut self,
        current: Option<Epoch>,
        member: &Member,
        out: &mut Outbox<'_, Words>,
    ) {
        self.stage = Stage::Synchronizing;
        let last = member.database.last_zxid;
        member.send(self.leader, PeerMessage::AckEpoch { last, current }, out);
    }

    /// Forgets what the leader does not have.
    ///
    /// Real: a snapshot that already holds the tail defeats the truncation (ZOOKEEPER-4837); here
    /// the server then begins anew with nothing and gets everything, so that all stay alike.
    // Source: ZKDatabase.truncateLog.
    fn truncate(&mut self, to: Zxid, member: &mut Member, out: &mut Outbox<'_, Words>) -> Turn {
        self.way = Way::Trunc;
        if member.disk.snapshot.zxid > to {
            let epochs = member.disk.epochs;
            let empty = Disk::of_release(member.settings.release);
            member.disk = Disk { epochs, ..empty };
            reload(member);
            return self.leader_lost(out);
        }
        let before = member.disk.log.len();
        member.disk.truncate(to);
        let dropped = (before - member.disk.log.len()) as u32;
        out.tell(Fact::LogTruncated { to, dropped });
        reload(member);
        Turn::Stay
    }

    /// Takes the leader's tree for its own. It goes to the disk with NEWLEADER.
    fn take_over(&mut self, snapshot: &Snapshot, member: &mut Member) {
        self.way = Way::Snap;
        member.database = Database::from_snapshot(snapshot);
        member.window = CommittedWindow::default();
    }

    /// Everything that the epoch begins with is here; it goes to the disk before the epoch does.
    ///
    /// Real: the old log is kept beside a new snapshot, though nobody reads it; here it ends.
    // Source: Learner.syncWithLeader (3.9.3), ZOOKEEPER-4643, ZOOKEEPER-4646.
    fn new_leader(&mut self, epoch: Epoch, member: &mut Member, out: &mut Outbox<'_, Words>) {
        if self.stage != Stage::Synchronizing {
            return;
        }
        assert_eq!(epoch, self.epoch, "a leader stays in its epoch");
        if self.way == Way::Snap {
            let (snapshot, epochs) = (member.database.snapshot(), member.disk.epochs);
            member.disk = Disk { snapshot, epochs, ..Disk::default() };
        }
        self.stage = Stage::Logging;
        self.confirm(member, out);
    }

    fn confirm(&mut self, member: &Member, out: &mut Outbox<'_, Words>) {
        if self.stage == Stage::Logging && member.writer.is_idle() {
            self.stage = Stage::Confirming;
            member.write_epochs(self.epoch, self.epoch, out);
        }
    }

    fn written(&mut self, write: Write, member: &mut Member, out: &mut Outbox<'_, Words>) {
        let epochs = member.disk.epochs;
        match (write, self.stage) {
            (Write::Log { through }, _) => {
                let logged = member.written(through, out);
                if self.stage >= Stage::Confirmed && member.ensemble.is_voter(member.me) {
                    for zxid in logged {
                        member.send(self.leader, PeerMessage::Ack { zxid }, out);
                    }
                }
                self.confirm(member, out);
            }
            (Write::Epochs(_), Stage::Promising) if epochs.accepted >= self.epoch => {
                self.acknowledge(Some(epochs.current), member, out);
            }
            (Write::Epochs(_), Stage::Confirming) if epochs.current >= self.epoch => {
                self.stage = Stage::Confirmed;
                member.send(self.leader, PeerMessage::Ack { zxid: self.epoch.start() }, out);
                for txn in &self.proposed {
                    member.writer.append(txn.clone(), out);
                }
            }
            _ => {}
        }
    }

    /// A quorum has what this server has: it may serve.
    // Source: Learner.syncWithLeader (case UPTODATE).
    fn up_to_date(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        if self.stage != Stage::Confirmed {
            return;
        }
        self.stage = Stage::Serving;
        member.vote.epoch = self.epoch;
        self.listen(member, out);
        self.watch_local(out);
        let (leader, epoch, way) = (self.leader, self.epoch, self.way);
        out.tell(Fact::Following { leader, epoch, way });
        member.send(self.leader, PeerMessage::Ack { zxid: epoch.start() }, out);
    }
}

/// Broadcast, and clients.
impl Learner {
    fn propose(&mut self, txn: Arc<Txn>, member: &mut Member, out: &mut Outbox<'_, Words>) {
        if self.stage >= Stage::Confirmed {
            member.writer.append(txn.clone(), out);
        }
        self.proposed.push_back(txn);
    }

    /// Applies what was proposed first. Any other zxid means that leader and learner have lost
    /// each other's track, and ends the process.
    // Source: FollowerZooKeeperServer.commit.
    fn commit(&mut self, zxid: Zxid, member: &mut Member, out: &mut Outbox<'_, Words>) {
        let Some(txn) = self.proposed.pop_front_if(|txn| txn.zxid == zxid) else {
            return out.exit(1);
        };
        match self.stage >= Stage::Confirmed {
            true => self.serving.apply(&txn, member, out),
            false => self.learn(&txn, member, out),
        }
    }

    /// Logs and applies what is committed already. What comes behind a snapshot is saved with it.
    fn learn(&mut self, txn: &Arc<Txn>, member: &mut Member, out: &mut Outbox<'_, Words>) {
        if self.way != Way::Snap || self.stage > Stage::Synchronizing {
            member.writer.append(txn.clone(), out);
        }
        self.serving.apply(txn, member, out);
    }

    /// Tells the leader whose clients live; before it serves it passes pings over.
    // Source: Learner.ping, syncWithLeader, LearnerSessionTracker.snapshot.
    fn pong(&mut self, member: &mut Member, out: &mut Outbox<'_, Words>) {
        if !self.is_serving() {
            return;
        }
        let touched = std::mem::take(&mut self.touched).into_values().collect();
        member.send(self.leader, PeerMessage::Pong { touched }, out);
        self.serving.end_silent(member, out);
    }

    fn hear_client(
        &mut self,
        from: ProcessId,
        message: Message,
        member: &mut Member,
        out: &mut Outbox<'_, Words>,
    ) {
        if !self.is_serving() {
            return out.hangup(from);
        }
        let touched = &mut self.touched;
        let mut judge = |_: &Op, by: Touch, kind: Kind| match kind {
            Kind::Local => Some(Ok(())),
            Kind::Global => {
                touched.insert(by.session, by);
                Some(Ok(()))
            }
            Kind::Unknown => None,
        };
        let upward = self.serving.hear(from, message, &mut judge, member, out);
        self.hand_up(upward, member, out);
    }

    fn hand_up(&mut self, upward: Option<Upward>, member: &Member, out: &mut Outbox<'_, Words>) {
        match upward {
            Some(Upward::Submit(submission)) => self.forward(submission, member, out),
            Some(Upward::Upgrade(timeout, submission)) => {
                self.forward(creation(submission.session, timeout), member, out);
                self.forward(submission, member, out);
            }
            Some(Upward::Revalidate { session, timeout }) => {
                member.send(self.leader, PeerMessage::Revalidate { session, timeout }, out);
            }
            None => {}
        }
    }

    fn forward(&mut self, submission: Submission, member: &Member, out: &mut Outbox<'_, Words>) {
        self.serving.hold(submission.session, submission.cxid, member);
        member.send(self.leader, PeerMessage::Request(Arc::new(submission)), out);
    }

    /// Looks at the next tick whether a local session is due.
    fn watch_local(&self, out: &mut Outbox<'_, Words>) {
        if let Some(local) = self.serving.local() {
            out.arm(Timer::SessionTick, local.tracker().until_next_tick(out.now()));
        }
    }
}

/// Reads the disk again.
fn reload(member: &mut Member) {
    member.database = member.disk.recover();
    member.window = CommittedWindow::of_log(&member.disk);
}
