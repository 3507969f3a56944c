//! Small-scope exhaustive exploration: three real servers, and every order in which messages land,
//! timers run out and disks finish, with so many faults, writes and lost patiences.
//!
//! States are met breadth first and each once, by the hash of all that can matter for its future;
//! so the first breach is one of the shortest. Nothing is left out within a set-up's bounds: no
//! symmetry, no order of events taken for another.
//!
//! *Invariant: an exploration draws no lots; it meets the same states in the same order for ever.*

mod cast;
pub mod setups;
mod stage;

use std::collections::HashSet;
use std::fmt::Write;
use std::hash::BuildHasherDefault;

use zootrope::sim::Vocabulary;
use zootrope::sim::{StableHasher, hash_of};
use zootrope::zk::ensemble::ServerId;
use zootrope::zk::words::Words;

pub use cast::{Breach, Loyalty};

use cast::{Cast, Happening, facts};
use setups::SetUp;
use stage::{Move, Stage};

/// What an exploration came to.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// How many distinct states it met.
    pub states: u64,
    /// In how many of them two or more serve.
    pub serving: u64,
    /// How many it did not go on from, because somebody has looked too often.
    pub left: u64,
    /// How many moves it made.
    pub moves: u64,
    /// After how many moves nothing new came.
    pub depth: u32,
    /// How many states of single servers it met.
    pub servers: u64,
    /// The first law that broke, if one did.
    pub broken: Option<Broken>,
}

/// A broken law, with a shortest way there.
#[derive(Clone, Debug)]
pub struct Broken {
    pub breach: Breach,
    /// One line for each move, and one for each fact that was told.
    pub path: String,
}

type Set<T> = HashSet<T, BuildHasherDefault<StableHasher>>;

struct Explorer {
    cast: Cast,
    disk: Loyalty,
    met: Set<u64>,
    lawful: Set<[u32; cast::SERVERS]>,
    /// From which state each was met first, and by which move.
    origins: Vec<(u32, Option<Move>)>,
    explored: Explored,
}

/// Meets every state of a set-up.
pub fn explore(setup: &SetUp) -> Explored {
    let mut cast = Cast::default();
    let begin = setup.begin(&mut cast);
    let mut explorer = Explorer {
        cast,
        disk: setup.disk,
        met: Set::default(),
        lawful: Set::default(),
        origins: Vec::new(),
        explored: Explored::default(),
    };
    let broken = explorer.run(begin.clone()).err();
    let broken = broken.map(|(at, last, breach)| explorer.tell(&begin, at, last, breach));
    let states = explorer.met.len() as u64;
    Explored { states, servers: explorer.cast.len() as u64, broken, ..explorer.explored }
}

type Found = (u32, Option<Move>, Breach);

impl Explorer {
    fn run(&mut self, begin: Stage) -> Result<(), Found> {
        let mut frontier = Vec::new();
        self.meet(begin, (0, None), &mut frontier)?;
        let mut moves = Vec::new();
        while !frontier.is_empty() {
            let mut next = Vec::new();
            for (number, stage) in std::mem::take(&mut frontier) {
                stage.moves(&self.cast, self.disk, &mut moves);
                self.explored.moves += moves.len() as u64;
                for what in &moves {
                    let origin = (number, Some(*what));
                    let after = stage.after(*what, &mut self.cast);
                    let after = after.map_err(|breach| (number, Some(*what), breach))?;
                    self.meet(after, origin, &mut next)?;
                }
            }
            self.explored.depth += u32::from(!next.is_empty());
            frontier = next;
        }
        Ok(())
    }

    /// Notes a state that was not met before, and judges it.
    fn meet(
        &mut self,
        stage: Stage,
        origin: (u32, Option<Move>),
        next: &mut Vec<(u32, Stage)>,
    ) -> Result<(), Found> {
        if !self.met.insert(hash_of(&stage)) {
            return Ok(());
        }
        let number = u32::try_from(self.origins.len()).expect("fewer than four billion states");
        self.origins.push(origin);
        if self.lawful.insert(stage.servers(&self.cast)) {
            stage.obey(&self.cast).map_err(|breach| (origin.0, origin.1, breach))?;
        }
        self.explored.serving += u64::from(stage.serving(&self.cast) > 1);
        match stage.is_beyond(&self.cast) {
            true => self.explored.left += 1,
            false => next.push((number, stage)),
        }
        Ok(())
    }

    /// The moves that lead to a state, from the beginning.
    fn way_to(&self, mut number: u32) -> Vec<Move> {
        let mut way = Vec::new();
        while let (before, Some(what)) = self.origins[number as usize] {
            way.push(what);
            number = before;
        }
        way.reverse();
        way
    }

    fn tell(&mut self, begin: &Stage, at: u32, last: Option<Move>, breach: Breach) -> Broken {
        let mut path = String::new();
        let mut stage = begin.clone();
        for what in self.way_to(at).into_iter().chain(last) {
            writeln!(path, "{}", told(what, &stage, &self.cast))
                .expect("a string takes everything");
            for fact in self.facts_of(what, &stage) {
                writeln!(path, "    {fact}").expect("a string takes everything");
            }
            match stage.after(what, &mut self.cast) {
                Ok(after) => stage = after,
                Err(_) => break,
            }
        }
        Broken { breach, path }
    }

    /// What the server tells that a move is about.
    fn facts_of(&self, what: Move, stage: &Stage) -> Vec<String> {
        let (me, happening) = match what {
            Move::Written(me) => (me, Happening::Written),
            Move::RunsOut(me, timer) => (me, Happening::RunsOut(timer)),
            Move::Boot(me) => (me, Happening::Boot),
            Move::Deliver { from, to } => match stage.next_message(from, to) {
                Some(message) => (to, Happening::Hears { from, message }),
                None => (to, Happening::Loses { peer: from }),
            },
            _ => return Vec::new(),
        };
        let before = &self.cast.known(stage.actors[usize::from(me)]).actor;
        let effects = self.cast.carry_out(me, before, happening).map(|(_, effects)| effects);
        facts(&effects.unwrap_or_default())
    }
}

/// A move in a line.
fn told(what: Move, stage: &Stage, cast: &Cast) -> String {
    let name = |me: u8| ServerId(me + 1);
    match what {
        Move::Deliver { from, to } => {
            let message = stage.next_message(from, to);
            let message =
                message.map_or("hangup", |number| Words::message_name(cast.message(number)));
            format!("{}>{} {message}", name(from), name(to))
        }
        Move::Written(me) => format!("{} written", name(me)),
        Move::RunsOut(me, timer) => format!("{} {}", name(me), timer.name()),
        Move::Boot(me) => format!("start {}", name(me)),
        Move::Kill(me, Loyalty::Keeps) => format!("kill {}", name(me)),
        Move::Kill(me, Loyalty::Loses) => format!("kill {}, whose disk loses a txn", name(me)),
        Move::Cut(a, b) => format!("cut {} {}", name(a), name(b)),
        Move::Heal(a, b) => format!("heal {} {}", name(a), name(b)),
        Move::Break(a, b) => format!("break {} {}", name(a), name(b)),
        Move::Write(me) => format!("{} is asked for a session", name(me)),
    }
}
