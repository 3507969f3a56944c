//! What a server of an ensemble has whatever its role: its disk, its database, its last vote.
//!
//! *Invariant: between two roles the database holds exactly what is on the disk, unless a write of
//! the log has failed: then it may hold more, all of it committed.*

use std::sync::Arc;

use super::apply::Applied;
use super::database::{Database, Disk};
use super::ensemble::{Ensemble, ServerId};
use super::epochs::{Epoch, Epochs};
use super::log_writer::LogWriter;
use super::peer::{PeerMessage, PeerTimer};
use super::reply::Answer;
use super::settings::Settings;
use super::sync::CommittedWindow;
use super::txn::{Txn, TxnBody};
use super::vote::{Round, Vote};
use super::watch::WatchTable;
use super::words::{Fact, Flaw, Timer, Words, Write};
use super::zxid::Zxid;
use crate::sim::{Outbox, Span};

/// A server of an ensemble, apart from its role.
// Source: QuorumPeer, ZKDatabase.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Member {
    /// Which server it is.
    pub me: ServerId,
    /// Who else there is.
    pub ensemble: Ensemble,
    /// How it is configured.
    pub settings: Settings,
    /// Snapshot, log and epoch files.
    pub disk: Disk,
    /// What it has in memory.
    pub database: Database,
    /// The last txns that it has applied.
    pub window: CommittedWindow,
    /// The txns on their way to the disk.
    pub writer: LogWriter,
    /// How often it has begun to look since it started.
    pub lookings: u32,
    /// The last election.
    pub round: Round,
    /// How it ended, with the epoch that came of it.
    pub vote: Vote,
    /// Whether somebody takes requests.
    pub taker: Taker,
    /// What becomes of the ephemerals of a session that ends.
    pub session_end: SessionEnd,
}

/// The thread that takes requests. Each role has one of its own.
// Source: PrepRequestProcessor
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Taker {
    /// It runs.
    Runs,
    /// It has ended, and nobody notices.
    Ended,
}

/// What becomes of the ephemerals of a session that ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SessionEnd {
    /// They go.
    Whole,
    /// The next session that ends leaves its own in this server's tree.
    Broken,
    /// It has: they go into a snapshot with the next write, and then all is as before.
    Ghosts,
}

impl SessionEnd {
    /// Whether it can become this from what it was.
    fn may_follow(self, previous: SessionEnd) -> bool {
        matches!(
            (previous, self),
            (SessionEnd::Whole | SessionEnd::Broken, SessionEnd::Broken)
                | (SessionEnd::Broken, SessionEnd::Ghosts)
                | (SessionEnd::Ghosts, SessionEnd::Whole)
        )
    }
}

impl Member {
    /// A server that starts on `disk`.
    // Source: QuorumPeer.start, loadDataBase.
    pub fn boot((me, ensemble): (ServerId, Ensemble), settings: Settings, disk: Disk) -> Member {
        let database = disk.recover();
        let (epochs, zxid) = (disk.epochs.on_boot(database.last_zxid), database.last_zxid);
        Member {
            me,
            ensemble,
            settings,
            window: CommittedWindow::of_log(&disk),
            database,
            writer: LogWriter::default(),
            lookings: 0,
            round: Round(0),
            vote: Vote { epoch: epochs.current, zxid, candidate: me },
            disk: Disk { epochs, ..disk },
            taker: Taker::Runs,
            session_end: SessionEnd::Whole,
        }
    }

    /// The vote for itself.
    pub fn own_vote(&self) -> Vote {
        let (epoch, zxid) = (self.disk.epochs.current, self.database.last_zxid);
        Vote { epoch, zxid, candidate: self.me }
    }

    /// So many ticks.
    pub fn ticks(&self, count: u32) -> Span {
        self.settings.tick_time * u64::from(count)
    }

    /// Sends a message to another server.
    pub fn send(&self, to: ServerId, message: PeerMessage, out: &mut Outbox<'_, Words>) {
        out.send(self.ensemble.host_of(to), message);
    }

    /// Writes the epoch files.
    pub fn write_epochs(&self, accepted: Epoch, current: Epoch, out: &mut Outbox<'_, Words>) {
        out.write(Write::Epochs(self.disk.epochs.raised_to(Epochs { accepted, current })));
    }

    /// Has the thread that takes requests ended?
    pub fn is_stuck(&self) -> bool {
        self.taker == Taker::Ended
    }

    /// An error in its code shows; one that has left ghosts behind is over with the next write.
    pub fn break_down(&mut self, flaw: Flaw) {
        match flaw {
            Flaw::Requests => self.taker = Taker::Ended,
            Flaw::SessionEnd if self.session_end == SessionEnd::Ghosts => {}
            Flaw::SessionEnd => self.ends_sessions(SessionEnd::Broken),
        }
    }

    fn ends_sessions(&mut self, next: SessionEnd) {
        assert!(next.may_follow(self.session_end), "{next:?} after {:?}", self.session_end);
        self.session_end = next;
    }

    /// Applies a committed txn.
    pub fn apply(&mut self, txn: &Arc<Txn>, out: &mut Outbox<'_, Words>) -> Applied {
        self.window.push(txn.clone());
        match (self.session_end, &txn.body) {
            (SessionEnd::Broken, TxnBody::CloseSession { .. }) => self.leave_ghosts(txn, out),
            _ => self.database.apply(txn),
        }
    }

    /// Ends a session and forgets its ephemerals. The txn says what the tree should come to.
    // Source: DataTree.compareDigest, reportDigestMismatch; ZOOKEEPER-2355, ZOOKEEPER-4837.
    fn leave_ghosts(&mut self, txn: &Txn, out: &mut Outbox<'_, Words>) -> Applied {
        self.database.sessions.remove(&txn.session);
        self.database.last_zxid = txn.zxid;
        self.ends_sessions(SessionEnd::Ghosts);
        out.tell(Fact::DigestMismatch { zxid: txn.zxid });
        Applied { result: Ok(Answer::Nothing), fired: Vec::new() }
    }

    /// Something has been written; gives the zxids that are logged now. Takes a snapshot when it is
    /// time.
    pub fn written(&mut self, through: Zxid, out: &mut Outbox<'_, Words>) -> Vec<Zxid> {
        let logged = self.writer.written(through, &mut self.disk, out);
        if !logged.is_empty() && self.disk.is_snapshot_due(self.settings.snap_count) {
            self.disk.snapshot = self.database.snapshot();
        }
        let has_ghosts = self.session_end == SessionEnd::Ghosts;
        if has_ghosts && self.disk.last_zxid() >= self.database.last_zxid {
            self.disk.snapshot = self.database.snapshot();
            self.ends_sessions(SessionEnd::Whole);
        }
        logged
    }

    /// Begins to learn after a write of the log has failed.
    ///
    /// Real: what it had in memory stays there though the log lacks it, and is missing once the
    /// server has restarted (ZOOKEEPER-4882); here the disk is read again, so that it is sent anew.
    pub fn forget_unlogged(&mut self) {
        if self.writer.has_failed() {
            self.database = self.disk.recover();
            self.window = CommittedWindow::of_log(&self.disk);
            self.writer.begin_anew();
        }
    }

    /// Begins to lead after a write of the log has failed: the snapshot has what the log lacks.
    // Source: Leader.lead, ZooKeeperServer.loadData.
    pub fn save_unlogged(&mut self) {
        if self.writer.has_failed() {
            let (snapshot, epochs) = (self.database.snapshot(), self.disk.epochs);
            self.disk = Disk { snapshot, epochs, ..Disk::default() };
            self.writer.begin_anew();
        }
    }

    /// Leaves a role: what was logged counts as done, committed or not, and all clients are gone.
    /// The next role has threads of its own.
    // Source: ZooKeeperServer.shutdown, ZKDatabase.fastForwardDataBase.
    pub fn leave_role(&mut self, out: &mut Outbox<'_, Words>) {
        self.taker = Taker::Runs;
        self.writer.flush(&mut self.disk);
        let rest: Vec<_> = self.disk.after(self.database.last_zxid).cloned().collect();
        for txn in rest {
            self.apply(&txn, out);
        }
        self.database.data_watches = WatchTable::default();
        self.database.child_watches = WatchTable::default();
        for timer in PeerTimer::ALL {
            out.disarm(timer);
        }
        out.disarm(Timer::SessionTick);
        out.disarm(Timer::ContainerCheck);
    }
}
