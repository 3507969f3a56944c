//! Where explorations begin, and how far they go.
//!
//! *Invariant: what is on a quorum of the disks counts as committed from the beginning.*

use std::sync::Arc;

use zootrope::sim::{ProcessId, Span};
use zootrope::zk::database::Disk;
use zootrope::zk::ensemble::{Address, Ensemble, ServerId};
use zootrope::zk::epochs::{Epoch, Epochs};
use zootrope::zk::peer::PeerTimer;
use zootrope::zk::server::Server;
use zootrope::zk::settings::Settings;
use zootrope::zk::stat::{Millis, SessionId};
use zootrope::zk::txn::{Txn, TxnBody};
use zootrope::zk::zxid::Zxid;

use super::cast::{Actor, Cast, Loyalty, SERVERS};
use super::stage::{Budget, Move, Stage};

/// One beginning with its bounds.
pub struct SetUp {
    pub name: &'static str,
    /// Of each server: its epoch, and the txns on its disk.
    disks: [(u32, &'static [(u32, u32)]); SERVERS],
    start: Start,
    budget: Budget,
    pub disk: Loyalty,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// Nobody runs.
    Off,
    /// One leads, and the others follow.
    Settled,
}

/// What may happen, by its name; a server looks for a leader twice unless more is said.
const fn bounds(
    [kills, restarts, cuts, breaks]: [u8; 4],
    [timeouts, retries, ticks]: [u8; 3],
    [writes, lookings]: [u8; 2],
) -> Budget {
    Budget { kills, restarts, cuts, breaks, timeouts, retries, ticks, writes, lookings }
}

const EMPTY: [(u32, &[(u32, u32)]); SERVERS] = [(0, &[]), (0, &[]), (0, &[])];

const fn setup(
    name: &'static str,
    start: Start,
    disks: [(u32, &'static [(u32, u32)]); SERVERS],
    budget: Budget,
) -> SetUp {
    SetUp { name, disks, start, budget, disk: Loyalty::Keeps }
}

/// One history, and one txn that only the first server has logged.
const LONGER: [(u32, &[(u32, u32)]); SERVERS] =
    [(4, &[(4, 1), (4, 2)]), (4, &[(4, 1)]), (4, &[(4, 1)])];
/// The third led epoch 4 and kept proposals of its own; the others have founded epoch 5.
const STRAY: [(u32, &[(u32, u32)]); SERVERS] =
    [(5, &[(4, 1)]), (5, &[(4, 1)]), (4, &[(4, 1), (4, 2), (4, 3)])];
/// The third has slept through an epoch.
const BEHIND: [(u32, &[(u32, u32)]); SERVERS] =
    [(5, &[(4, 1), (5, 1)]), (5, &[(4, 1), (5, 1)]), (4, &[(4, 1), (4, 2)])];

/// All that `cargo xtask explore` explores. The bounds: kills, restarts, cuts, breaks; timeouts,
/// retries, half ticks; writes, lookings.
pub const SETUPS: &[SetUp] = &[
    setup("three empty servers start", Start::Off, EMPTY, bounds([0, 0, 0, 0], [0, 1, 0], [0, 2])),
    setup("one log is longer", Start::Off, LONGER, bounds([0, 0, 0, 0], [0, 1, 0], [0, 2])),
    setup("a stray tail comes back", Start::Off, STRAY, bounds([0, 0, 0, 0], [0, 1, 0], [0, 2])),
    setup(
        "one slept through an epoch",
        Start::Off,
        BEHIND,
        bounds([0, 0, 0, 0], [0, 1, 0], [0, 2]),
    ),
    setup(
        "a stray tail comes back, and one dies and starts again",
        Start::Off,
        STRAY,
        bounds([1, 1, 0, 0], [0, 0, 0], [0, 1]),
    ),
    setup(
        "one log is longer, and one dies and starts again",
        Start::Off,
        LONGER,
        bounds([1, 1, 0, 0], [0, 0, 0], [0, 1]),
    ),
    setup(
        "a stray tail comes back, and a connection breaks",
        Start::Off,
        STRAY,
        bounds([0, 0, 0, 1], [0, 0, 0], [0, 2]),
    ),
    setup("two writes at once", Start::Settled, EMPTY, bounds([0, 0, 0, 0], [0, 0, 0], [2, 2])),
    setup("a write and a death", Start::Settled, EMPTY, bounds([1, 0, 0, 0], [0, 1, 0], [1, 2])),
    setup(
        "a write, a death and a broken connection",
        Start::Settled,
        EMPTY,
        bounds([1, 0, 0, 1], [0, 0, 0], [1, 2]),
    ),
    setup(
        "a write, a death and a cut cable",
        Start::Settled,
        EMPTY,
        bounds([1, 0, 1, 0], [1, 0, 0], [1, 2]),
    ),
    setup(
        "a write and two broken connections",
        Start::Settled,
        EMPTY,
        bounds([0, 0, 0, 2], [0, 0, 0], [1, 2]),
    ),
    setup(
        "a write, a cut cable and a broken connection",
        Start::Settled,
        EMPTY,
        bounds([0, 0, 1, 1], [1, 0, 0], [1, 2]),
    ),
];

/// What must come to a bad end: a disk forgets what it has said to be written.
pub const LYING_DISKS: SetUp = SetUp {
    disk: Loyalty::Loses,
    ..setup("disks lie", Start::Settled, EMPTY, bounds([1, 0, 0, 0], [0, 0, 0], [1, 2]))
};

impl SetUp {
    /// The first state.
    pub fn begin(&self, cast: &mut Cast) -> Stage {
        let actors = [0, 1, 2].map(|me: u8| cast.number(self.actor(me)));
        let on_quorum = |session: &u16| {
            let having =
                actors.iter().filter(|actor| cast.known(**actor).on_disk.contains(session));
            having.count() > SERVERS / 2
        };
        let mut committed: Vec<u16> =
            actors.iter().flat_map(|actor| cast.known(*actor).on_disk.clone()).collect();
        committed.retain(on_quorum);
        committed.sort_unstable();
        committed.dedup();
        let stage = Stage::new(actors, &committed, self.budget);
        match self.start {
            Start::Off => stage,
            Start::Settled => settled(stage, cast).with_budget(self.budget),
        }
    }

    fn actor(&self, me: u8) -> Actor {
        let (epoch, txns) = self.disks[usize::from(me)];
        let (accepted, current) = (Epoch(epoch), Epoch(epoch));
        let mut disk = Disk { epochs: Epochs { accepted, current }, ..Disk::default() };
        txns.iter().for_each(|(epoch, counter)| disk.append(txn(*epoch, *counter)));
        let address = |me: u8| Address { id: ServerId(me + 1), process: ProcessId(u16::from(me)) };
        let ensemble = Ensemble::of_voters((0..SERVERS as u8).map(address));
        let settings = Settings {
            init_limit: 1,
            sync_limit: 1,
            container_check_interval: Span::ZERO,
            ..Settings::default()
        };
        Actor::new(Server::of_ensemble(ServerId(me + 1), ensemble, settings).finding(disk))
    }
}

/// A session, which no server of the exploration would number like this.
fn txn(epoch: u32, counter: u32) -> Arc<Txn> {
    let session = SessionId(i64::from(epoch * 100 + counter));
    let body = TxnBody::CreateSession { timeout: Millis(30_000) };
    Arc::new(Txn { session, cxid: 0, zxid: Zxid::new(epoch, counter), time: Millis(0), body })
}

/// What comes of it when all goes well: everything at once, and no patience ends before its time.
fn settled(begin: Stage, cast: &mut Cast) -> Stage {
    let patient = bounds([0, 0, 0, 0], [0, 9, 0], [0, 1]);
    let mut stage = begin.with_budget(patient);
    let mut moves = Vec::new();
    loop {
        stage.moves(cast, Loyalty::Keeps, &mut moves);
        let rank = |what: &&Move| match what {
            Move::Boot(_) => 0,
            Move::Deliver { .. } | Move::Written(_) => 1,
            Move::RunsOut(_, PeerTimer::Finalize) => 2,
            _ => 3,
        };
        let Some(next) = moves.iter().min_by_key(rank) else { return stage };
        stage = stage.after(*next, cast).expect("all goes well");
    }
}
