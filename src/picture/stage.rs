//! The cluster's stage: what it shows of the ensemble, the sessions, the brokers and the clients.
//!
//! These are the things themselves; how they look is in [`super::drawing`]. What moves every
//! frame (messages in flight) is not here: the page paints it from the queue.
//! *Invariant:* things stand in the order of the setup, so that nothing changes places by itself.

use super::brokers;
use super::ensemble::{self, Run};
use super::groups;
use super::target::Target;
use crate::sim::{Room, Span};
use crate::text::Phrase;
use crate::zk::zxid::Zxid;

/// Everything that stands on the stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagePicture {
    /// The ensemble as a whole.
    pub ensemble: Ensemble,
    /// Its servers.
    pub servers: Vec<Server>,
    /// The sessions that hang between servers and clients.
    pub sessions: Vec<Session>,
    /// The brokers.
    pub brokers: Vec<Broker>,
    /// The producers.
    pub producers: Vec<Producer>,
    /// The consumer groups.
    pub groups: Vec<Group>,
    /// The clients of ZooKeeper that somebody types at.
    pub shells: Vec<Shell>,
}

impl StagePicture {
    /// The best vote that a server holds, while there is an election.
    pub fn best(&self) -> Option<Ballot> {
        let ballots = self.servers.iter().filter_map(|server| server.ballot);
        ballots.max().filter(|_| !self.ensemble.leads)
    }
}

/// How a process is alive, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It runs.
    Running,
    /// It stands still for a while, and does not know it.
    Frozen,
    /// It ended in order, or was never started.
    Stopped,
    /// It was killed.
    Killed,
    /// It ended by itself, for it could not go on.
    GaveUp,
}

impl Life {
    /// Whether it answers nobody because it is not there.
    pub fn is_gone(self) -> bool {
        matches!(self, Life::Stopped | Life::Killed | Life::GaveUp)
    }
}

/// The ensemble as a whole: its epoch, and who is with the leader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ensemble {
    /// The epoch of the present leader, or of the last one.
    pub epoch: i64,
    /// How many voting servers are with the leader (or vote for the same one).
    pub together: i32,
    /// How many voting servers there are.
    pub voters: i32,
    /// Whether a leader serves.
    pub leads: bool,
}

/// What a ZooKeeper server is to its ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is alone and has nobody to lead.
    Alone,
    /// It leads.
    Leading,
    /// It follows.
    Following,
    /// It observes: it has no vote.
    Observing,
    /// It looks for a leader.
    Looking,
}

/// A ZooKeeper server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its role, while it lives.
    pub role: Role,
    /// Whether it lives.
    pub life: Life,
    /// The last transaction it has, `5·0417`; or its vote while it looks.
    pub last: Phrase,
    /// The vote that it holds, while it lives and looks.
    pub ballot: Option<Ballot>,
    /// What is wrong with its machine.
    pub ails: Ails,
}

/// What is wrong with a server's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ails {
    /// Whether its disk is full.
    pub room: Room,
    /// How much longer each write takes.
    pub slowed_by: Span,
    /// The hundredths of a second that its clock shows for one.
    pub clock: u32,
}

impl Ails {
    /// Nothing.
    pub const NOTHING: Ails = Ails { room: Room::Free, slowed_by: Span::ZERO, clock: 100 };
}

/// A vote as it is compared: by epoch, then by zxid, then by server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ballot {
    /// The candidate's epoch.
    pub epoch: i64,
    /// The candidate's last transaction.
    pub zxid: Zxid,
    /// The candidate.
    pub candidate: i64,
}

impl Ballot {
    /// The three figures as they are written and compared, from left to right.
    pub fn figures(&self) -> [String; 3] {
        [self.epoch.to_string(), ensemble::written(self.zxid), self.candidate.to_string()]
    }
}

/// How a session's thread hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    /// Connected.
    Taut,
    /// The connection is lost, the session lives.
    Slack,
    /// The session is over.
    Snapped,
    /// No leader counts its time.
    Held,
}

/// Which of its process's sessions a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// There is no other.
    Only,
    /// An earlier life of the process has left it behind.
    Old,
    /// The process has it now, and an older one has not ended yet.
    New,
}

/// Who knows a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All servers, or one that serves only reads.
    Global,
    /// This server alone.
    Local(String),
}

/// A ZooKeeper session of a broker or a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The process whose session it is.
    pub owner: String,
    /// Which of its sessions.
    pub age: Age,
    /// Who knows it.
    pub scope: Scope,
    /// What people call it.
    pub called: Phrase,
    /// The server to which it is attached, or was last.
    pub server: Option<String>,
    /// How the thread hangs.
    pub thread: Thread,
    /// What is left of its time, in tenths of a second.
    pub left: i32,
    /// Its whole time, in tenths of a second.
    pub timeout: i32,
    /// When the leader ends it if nothing is heard, in tenths of a second of the run.
    pub ends: Option<i32>,
}

impl Session {
    /// What is selected with it.
    pub fn target(&self) -> Target {
        Target::session(&self.owner, self.age)
    }

    /// Whether one server alone knows it.
    pub fn is_local(&self) -> bool {
        self.scope != Scope::Global
    }

    /// What is left, in thousandths of the whole.
    pub fn rest(&self) -> i32 {
        if self.timeout == 0 { 0 } else { (self.left * 1000 / self.timeout).clamp(0, 1000) }
    }
}

/// A crown: who is the controller, or still believes that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crown {
    /// The controller epoch.
    pub epoch: i64,
    /// Whether another broker is the controller by now.
    pub stale: bool,
}

/// The coordination of a group, held or believed to be held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Office {
    /// The group.
    pub group: String,
    /// Whether another broker coordinates it by now.
    pub stale: bool,
}

/// A broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// Its name in scripts.
    pub name: String,
    /// Its id.
    pub id: i32,
    /// Whether it lives.
    pub life: Life,
    /// What it is about: starting, alive, stopping.
    pub state: Phrase,
    /// How many partitions it leads, as `/brokers/topics` says.
    pub leads: i32,
    /// How many more it believes to lead, though others do by now.
    pub believes: i32,
    /// The crown, if it wears one.
    pub crown: Option<Crown>,
    /// The groups that it coordinates.
    pub coordinates: Vec<Office>,
    /// Its replicas.
    pub replicas: Vec<Replica>,
    /// How many records it has got from whom since it was started, if it is one without replicas.
    pub received: Option<Vec<(String, u64)>>,
    /// Replicas that are not drawn: those of internal topics.
    pub internal: i32,
    /// Whether a person did this to it.
    pub marked: bool,
}

/// What a replica is to its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// It leads, since a leader epoch.
    Leading {
        /// The leader epoch.
        epoch: i32,
    },
    /// It believes that it leads, since a leader epoch; another broker does by now.
    Believing {
        /// The leader epoch.
        epoch: i32,
    },
    /// It follows, in sync.
    Following,
    /// It is out of the ISR.
    Out,
    /// It is the only one that there is.
    Only,
}

impl Stand {
    /// The key of its name, given the life of its broker.
    pub fn key(self, life: Life) -> &'static str {
        match self {
            Stand::Leading { .. } if life.is_gone() => "page.stand.named",
            Stand::Leading { .. } => "page.stand.leading",
            Stand::Believing { .. } => "page.stand.believing",
            Stand::Following => "page.stand.following",
            Stand::Out => "page.stand.out",
            Stand::Only => "page.stand.only",
        }
    }
}

/// A replica's log on a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Its partition, `orders-0`.
    pub partition: String,
    /// What it is to its partition.
    pub stand: Stand,
    /// Whether it is the preferred leader.
    pub preferred: bool,
    /// The first offset that the strip shows, the same on every broker that is not far behind.
    pub first: i64,
    /// How many records it lacks, if it is so far behind that its strip begins earlier.
    pub lacks: i64,
    /// The log end offset; of an only replica, the number of its records.
    pub end: i64,
    /// Where it was cut a moment ago, and where it ended before, if it was.
    pub cut: Option<(i64, i64)>,
    /// The high watermark; of an only replica, how many of its records are flushed.
    pub high_watermark: i64,
    /// Where an only replica ends, in bytes.
    pub bytes: Option<i64>,
    /// Where a group has committed, if it is drawn here.
    pub committed: Option<i64>,
}

/// What a producer's slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nothing.
    Free,
    /// A request on its way.
    Flying,
    /// Records that wait to be sent again, and how often they were sent.
    Again(u32),
}

/// A producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Producer {
    /// Its name.
    pub name: String,
    /// Whether it lives.
    pub life: Life,
    /// The setting that matters most: `acks=all`, or the way by which it finds brokers.
    pub setting: String,
    /// Its slots in flight.
    pub window: Vec<Slot>,
    /// What its window is about, if anything is worth saying.
    pub note: Phrase,
}

/// What a member has of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing.
    Empty,
    /// It owns it.
    Owns,
    /// It owns it, and cannot read it now.
    Waits,
    /// It believes that it owns it, and ZooKeeper says otherwise.
    Believes,
    /// It had it last, has let it go, and nobody has got it yet.
    Revoked,
}

impl Cell {
    /// Whether the member has the partition, by its own belief or by somebody else's.
    pub fn is_held(self) -> bool {
        !matches!(self, Cell::Empty | Cell::Revoked)
    }
}

/// A member of a group, and what it owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Whether it lives.
    pub life: Life,
    /// One cell a partition.
    pub cells: Vec<Cell>,
    /// How many records it is behind, or what keeps it from reading.
    pub note: Phrase,
}

/// A consumer group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its state, by its real name where it has one.
    pub state: Phrase,
    /// Its generation; or that it coordinates in ZooKeeper, and has none.
    pub coordination: Phrase,
    /// Whether it coordinates in ZooKeeper.
    pub is_old: bool,
    /// The topic whose partitions are the columns.
    pub topic: String,
    /// The partitions, a column each.
    pub partitions: Vec<String>,
    /// Its members.
    pub members: Vec<Member>,
}

/// A client of ZooKeeper that somebody types at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// Its name.
    pub name: String,
    /// Whether it lives.
    pub life: Life,
    /// Where it is connected, or how it is alive.
    pub state: Phrase,
}

/// The stage of a run.
pub fn stage(run: Run<'_>) -> StagePicture {
    let mut brokers = brokers::brokers(run);
    brokers::mark_cuts(run, &mut brokers);
    StagePicture {
        ensemble: ensemble::ensemble(run),
        servers: ensemble::servers(run),
        sessions: sessions(run),
        brokers,
        producers: brokers::producers(run),
        groups: groups::groups(run),
        shells: shells(run),
    }
}

/// The clients that somebody types at, but those that have ended in order.
fn shells(run: Run<'_>) -> Vec<Shell> {
    let shown = run.cluster.processes().filter_map(|(id, name, process)| {
        let (shell, life) = (process.shell()?, run.life(id));
        let server = shell.client().and_then(|client| client.server());
        let state = match (life, server) {
            (Life::Running, Some(server)) => Phrase::key("page.shell.at").with("server", server),
            (Life::Running, None) => Phrase::key("page.shell.looking"),
            _ => Phrase::key(life_key(life)),
        };
        Some(Shell { name: name.to_string(), life, state })
    });
    shown.filter(|shell| shell.life != Life::Stopped).collect()
}

/// The sessions that have an owner on the stage.
fn sessions(run: Run<'_>) -> Vec<Session> {
    let held = ensemble::sessions(run);
    let shown = held.into_iter().filter_map(|held| {
        let called = held.called()?;
        let (age, scope) = (held.age, held.scope);
        let home = match &scope {
            Scope::Local(server) => Some(server.clone()),
            Scope::Global => held.server.or_else(|| last_server(run)),
        };
        Some(Session {
            called,
            owner: held.owner?,
            age,
            scope,
            server: home,
            thread: held.thread,
            left: held.left,
            timeout: held.timeout,
            ends: held.ends,
        })
    });
    shown.collect()
}

/// Where a slack thread hangs: at the server that counts its time.
fn last_server(run: Run<'_>) -> Option<String> {
    let (id, _) = ensemble::leader(run.cluster)?;
    Some(run.cluster.name(id).to_string())
}

/// The key of a life's name.
pub fn life_key(life: Life) -> &'static str {
    match life {
        Life::Running => "page.life.alive",
        Life::Frozen => "page.life.frozen",
        Life::Stopped => "page.life.stopped",
        Life::Killed => "page.life.killed",
        Life::GaveUp => "page.life.gave-up",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Lab, Recording};
    use crate::sim::{SimTime, Span};

    fn played(seconds: u64) -> Lab {
        let mut lab = Lab::new(Recording::first_visit());
        lab.advance_to(SimTime::ZERO + Span::secs(seconds));
        lab
    }

    #[test]
    fn the_opening_ends_with_everything_at_work() {
        let lab = played(25);
        let stage = stage(Run::of(&lab));
        assert_eq!((stage.servers.len(), stage.brokers.len()), (3, 3));
        assert!(stage.ensemble.leads);
        assert_eq!(stage.brokers.iter().filter(|broker| broker.crown.is_some()).count(), 1);
        assert_eq!(stage.brokers.iter().map(|broker| broker.leads).sum::<i32>(), 3);
        for broker in &stage.brokers {
            assert_eq!(broker.replicas.len(), 3, "replicas of {}", broker.name);
        }
        let group = &stage.groups[0];
        assert_eq!((&group.state, group.members.len()), (&Phrase::raw("Stable"), 2));
        let owned = group.members.iter().flat_map(|member| &member.cells);
        assert_eq!(owned.filter(|cell| **cell == Cell::Owns).count(), 3);
    }

    #[test]
    fn every_copy_of_a_partition_begins_at_the_same_offset() {
        let lab = played(40);
        let stage = stage(Run::of(&lab));
        let replicas = stage.brokers.iter().flat_map(|broker| &broker.replicas);
        let mut firsts: Vec<(&str, i64)> =
            replicas.map(|replica| (replica.partition.as_str(), replica.first)).collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 3, "{firsts:?}");
    }
}
