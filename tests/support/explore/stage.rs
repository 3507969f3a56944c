//! One state of the whole: three servers, what is on its way between them, what may still go wrong,
//! and what has been promised so far. What may happen next, and what comes of it.
//!
//! It is the kernel (`sim`) without its clock: links are in order or broken, a process that dies
//! hangs up, a cut cable says nothing, writes are done in order, and each of these happens at any
//! moment.
//!
//! *Invariant: two states that are equal have the same future. The numbers of connections count
//! from the older end's, for the kernel only compares them.*

use zootrope::zk::ensemble::ServerId;
use zootrope::zk::laws::{LAWS, Subject};
use zootrope::zk::peer::PeerTimer;

use super::cast::{Breach, Cast, Deed, Happening, Loyalty, SERVERS};

/// What may still happen that does not have to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Budget {
    /// Servers that are killed.
    pub kills: u8,
    /// Those that start again, at any moment.
    pub restarts: u8,
    /// Cables that are cut; they may heal at any moment.
    pub cuts: u8,
    /// Connections that break.
    pub breaks: u8,
    /// Patience that ends: a vote sent again, a silent leader, a beginning that takes too long.
    pub timeouts: u8,
    /// Learners that try their leader again.
    pub retries: u8,
    /// Half ticks of leaders.
    pub ticks: u8,
    /// Clients that want a session: each is a write.
    pub writes: u8,
    /// How often a server looks for a leader, from one start to the next. Two servers can send
    /// each other to look for ever: one has promised a later epoch than the leader that it finds.
    pub lookings: u8,
}

/// How many writes and epochs are remembered.
const REMEMBERED: usize = 8;
const EPOCHS: usize = 16;

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Stage {
    pub actors: [u32; SERVERS],
    /// The number of each connection, as either end sees it.
    views: [u8; SERVERS * SERVERS],
    /// By connection as well: has this end used it?
    open: u16,
    cut: u16,
    /// In the order of landing on each way.
    flights: Vec<Flight>,
    budget: Budget,
    /// The writes that were committed, in the order in which that was first seen; 0 is none.
    committed: [u16; REMEMBERED],
    /// Who has led each epoch; 0 is nobody yet.
    reigns: [u8; EPOCHS],
}

/// Something on its way.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Flight {
    way: u8,
    view: u8,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum What {
    Message(u32),
    Hangup,
}

/// What may happen next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    Deliver {
        from: u8,
        to: u8,
    },
    Written(u8),
    RunsOut(u8, PeerTimer),
    Boot(u8),
    Kill(u8, Loyalty),
    Cut(u8, u8),
    Heal(u8, u8),
    /// The connection breaks, with all that is on its way on it.
    Break(u8, u8),
    Write(u8),
}

const PAIRS: [(u8, u8); 3] = [(0, 1), (0, 2), (1, 2)];

fn way(from: u8, to: u8) -> u8 {
    from * SERVERS as u8 + to
}

impl Stage {
    /// Servers that do not run.
    pub fn new(actors: [u32; SERVERS], committed: &[u16], budget: Budget) -> Stage {
        let mut remembered = [0; REMEMBERED];
        remembered[..committed.len()].copy_from_slice(committed);
        Stage {
            actors,
            views: [0; SERVERS * SERVERS],
            open: 0,
            cut: 0,
            flights: Vec::new(),
            budget,
            committed: remembered,
            reigns: [0; EPOCHS],
        }
    }

    pub fn with_budget(mut self, budget: Budget) -> Stage {
        self.budget = budget;
        self
    }

    /// Who leads an epoch that a quorum has founded.
    pub fn leads(&self, cast: &Cast) -> Option<u8> {
        (0..SERVERS as u8).find(|me| cast.known(self.actors[usize::from(*me)]).leads.is_some())
    }

    /// How many serve.
    pub fn serving(&self, cast: &Cast) -> usize {
        self.actors.iter().filter(|actor| cast.known(**actor).applied.is_some()).count()
    }

    /// What is on its way to be handled, from server to server.
    pub fn next_message(&self, from: u8, to: u8) -> Option<u32> {
        let first = self.flights.iter().find(|flight| flight.way == way(from, to))?;
        match first.what {
            What::Message(number) => Some(number),
            What::Hangup => None,
        }
    }

    /// Whether somebody looks for a leader more often than is followed.
    pub fn is_beyond(&self, cast: &Cast) -> bool {
        let lookings = self.actors.iter().map(|actor| cast.known(*actor).actor.lookings());
        lookings.max() > Some(u32::from(self.budget.lookings))
    }

    /// All that may happen next.
    pub fn moves(&self, cast: &Cast, disk: Loyalty, moves: &mut Vec<Move>) {
        moves.clear();
        let mut last = u8::MAX;
        for flight in &self.flights {
            if flight.way != last && self.cut & (1 << flight.way) == 0 {
                let (from, to) = (flight.way / SERVERS as u8, flight.way % SERVERS as u8);
                moves.push(Move::Deliver { from, to });
            }
            last = flight.way;
        }
        for me in 0..SERVERS as u8 {
            self.moves_of(me, cast, disk, moves);
        }
        for (a, b) in PAIRS {
            match self.cut & (1 << way(a, b)) == 0 {
                true if self.budget.cuts > 0 => moves.push(Move::Cut(a, b)),
                true => {}
                false => moves.push(Move::Heal(a, b)),
            }
            if self.budget.breaks > 0 && self.open & (1 << way(a, b) | 1 << way(b, a)) != 0 {
                moves.push(Move::Break(a, b));
            }
        }
    }

    fn moves_of(&self, me: u8, cast: &Cast, disk: Loyalty, moves: &mut Vec<Move>) {
        let known = cast.known(self.actors[usize::from(me)]);
        if !known.actor.runs {
            if known.actor.boots == 0 || self.budget.restarts > 0 {
                moves.push(Move::Boot(me));
            }
            return;
        }
        if !known.actor.writes.is_empty() {
            moves.push(Move::Written(me));
        }
        for timer in &known.actor.timers {
            if self.allowance(*timer) > 0 {
                moves.push(Move::RunsOut(me, *timer));
            }
        }
        if self.budget.kills > 0 {
            moves.push(Move::Kill(me, disk));
        }
        if self.budget.writes > 0 && known.applied.is_some() {
            moves.push(Move::Write(me));
        }
    }

    fn allowance(&self, timer: PeerTimer) -> u8 {
        match timer {
            PeerTimer::Finalize => u8::MAX,
            PeerTimer::Connect => self.budget.retries,
            PeerTimer::HalfTick => self.budget.ticks,
            PeerTimer::VoteAgain
            | PeerTimer::LeaderSilence
            | PeerTimer::InitLimit
            | PeerTimer::ReadOnly => self.budget.timeouts,
        }
    }

    fn spend(&mut self, what: Move, cast: &Cast) {
        let budget = &mut self.budget;
        match what {
            Move::Boot(me) => {
                let boots = cast.known(self.actors[usize::from(me)]).actor.boots;
                budget.restarts -= u8::from(boots > 0);
            }
            Move::Kill(..) => budget.kills -= 1,
            Move::Cut(..) => budget.cuts -= 1,
            Move::Break(..) => budget.breaks -= 1,
            Move::Write(_) => budget.writes -= 1,
            Move::RunsOut(_, timer) => match timer {
                PeerTimer::Finalize => {}
                PeerTimer::Connect => budget.retries -= 1,
                PeerTimer::HalfTick => budget.ticks -= 1,
                PeerTimer::VoteAgain
                | PeerTimer::LeaderSilence
                | PeerTimer::InitLimit
                | PeerTimer::ReadOnly => {
                    budget.timeouts -= 1;
                }
            },
            Move::Deliver { .. } | Move::Written(_) | Move::Heal(..) => {}
        }
    }

    /// The state after a move.
    pub fn after(&self, what: Move, cast: &mut Cast) -> Result<Stage, Breach> {
        let mut next = self.clone();
        next.spend(what, cast);
        match what {
            Move::Deliver { from, to } => next.deliver(from, to, cast)?,
            Move::Written(me) => next.happen(me, Happening::Written, cast)?,
            Move::RunsOut(me, timer) => next.happen(me, Happening::RunsOut(timer), cast)?,
            Move::Boot(me) => next.happen(me, Happening::Boot, cast)?,
            Move::Write(me) => {
                let client = self.budget.writes;
                next.happen(me, Happening::Asked { client }, cast)?;
            }
            Move::Kill(me, disk) => {
                next.happen(me, Happening::Dies { disk }, cast)?;
                (0..SERVERS as u8)
                    .filter(|peer| *peer != me)
                    .for_each(|peer| next.hang_up(me, peer));
            }
            Move::Cut(a, b) => next.cut |= 1 << way(a, b) | 1 << way(b, a),
            Move::Heal(a, b) => next.cut &= !(1 << way(a, b) | 1 << way(b, a)),
            Move::Break(a, b) => next.break_connection(a, b),
        }
        next.normalize();
        Ok(next)
    }

    /// As the kernel delivers: what belongs to a connection that the receiver has left is gone; who
    /// is off refuses.
    fn deliver(&mut self, from: u8, to: u8, cast: &mut Cast) -> Result<(), Breach> {
        let place = self.flights.iter().position(|flight| flight.way == way(from, to));
        let flight = self.flights.remove(place.expect("something is on this way"));
        let (here, bit) = (usize::from(way(to, from)), 1 << way(to, from));
        if !cast.known(self.actors[usize::from(to)]).actor.runs {
            self.views[here] = flight.view + 1;
            self.forget_stale(to, from);
            if let What::Message(_) = flight.what {
                self.fly(to, from, flight.view, What::Hangup);
            }
            return Ok(());
        }
        match flight.what {
            What::Message(message) => {
                self.views[here] = flight.view;
                self.open |= bit;
                self.forget_stale(to, from);
                self.happen(to, Happening::Hears { from, message }, cast)
            }
            What::Hangup => {
                self.views[here] = flight.view + 1;
                self.open &= !bit;
                self.forget_stale(to, from);
                self.happen(to, Happening::Loses { peer: from }, cast)
            }
        }
    }

    fn happen(&mut self, me: u8, what: Happening, cast: &mut Cast) -> Result<(), Breach> {
        let outcome = cast.outcome(me, self.actors[usize::from(me)], what);
        if let Some(breach) = &outcome.breach {
            return Err(breach.clone());
        }
        self.actors[usize::from(me)] = outcome.actor;
        for deed in &outcome.deeds {
            match *deed {
                Deed::Send { to, message } => {
                    self.open |= 1 << way(me, to);
                    let view = self.views[usize::from(way(me, to))];
                    self.fly(me, to, view, What::Message(message));
                }
                Deed::HangUp { peer } => self.hang_up(me, peer),
                Deed::Answer { .. } => {}
                Deed::GiveUp => {
                    let what = format!("{} ends itself", ServerId(me + 1));
                    return Err(Breach { law: "no-server-gives-up", what });
                }
            }
        }
        self.remember(me, cast)?;
        self.check_answers(&outcome.deeds)
    }

    /// What is sent on a connection that the receiver has left never lands.
    fn fly(&mut self, from: u8, to: u8, view: u8, what: What) {
        if view < self.views[usize::from(way(to, from))] {
            return;
        }
        let way = way(from, to);
        let place = self.flights.partition_point(|flight| flight.way <= way);
        self.flights.insert(place, Flight { way, view, what });
    }

    fn hang_up(&mut self, me: u8, peer: u8) {
        let (here, bit) = (usize::from(way(me, peer)), 1 << way(me, peer));
        if self.open & bit == 0 {
            return;
        }
        self.open &= !bit;
        self.fly(me, peer, self.views[here], What::Hangup);
        self.views[here] += 1;
        self.forget_stale(me, peer);
    }

    fn break_connection(&mut self, a: u8, b: u8) {
        let (there, back) = (way(a, b), way(b, a));
        self.flights.retain(|flight| flight.way != there && flight.way != back);
        let closing = self.views[usize::from(there)].max(self.views[usize::from(back)]);
        self.fly(a, b, closing, What::Hangup);
        self.fly(b, a, closing, What::Hangup);
    }

    /// Drops what is on its way to `me` on a connection that `me` has left.
    fn forget_stale(&mut self, me: u8, peer: u8) {
        let (way, view) = (way(peer, me), self.views[usize::from(way(me, peer))]);
        self.flights.retain(|flight| flight.way != way || flight.view >= view);
    }

    fn normalize(&mut self) {
        for (a, b) in PAIRS {
            let (there, back) = (way(a, b), way(b, a));
            let least = self.views[usize::from(there)].min(self.views[usize::from(back)]);
            if least > 0 {
                self.views[usize::from(there)] -= least;
                self.views[usize::from(back)] -= least;
                let both = self.flights.iter_mut();
                both.filter(|flight| flight.way == there || flight.way == back)
                    .for_each(|flight| flight.view -= least);
            }
        }
    }
}

/// Laws that need a memory: what was committed stays, and an epoch has one leader for ever.
impl Stage {
    fn remember(&mut self, me: u8, cast: &Cast) -> Result<(), Breach> {
        let known = cast.known(self.actors[usize::from(me)]);
        if let Some(epoch) = known.leads {
            let reign = &mut self.reigns[epoch as usize];
            if *reign != 0 && *reign != me + 1 {
                let what =
                    format!("{} and {} led epoch {epoch}", ServerId(*reign), ServerId(me + 1));
                return Err(Breach { law: "one-leader-per-epoch-ever", what });
            }
            *reign = me + 1;
        }
        for session in known.applied.iter().flatten() {
            if !self.committed.contains(session) {
                let free = self.committed.iter().position(|known| *known == 0);
                self.committed[free.expect("few writes are made")] = *session;
            }
        }
        self.check_committed(cast)
    }

    /// Z5, Z6: what was committed is on the disks of a quorum, and in whoever leads a new epoch.
    fn check_committed(&self, cast: &Cast) -> Result<(), Breach> {
        for session in self.committed.iter().filter(|session| **session != 0) {
            let all = || self.actors.iter().map(|actor| cast.known(*actor));
            let having = all().filter(|known| known.on_disk.contains(session)).count();
            if having <= SERVERS / 2 {
                let what = format!("a committed write is on {having} of {SERVERS} disks");
                return Err(Breach { law: "committed-stays", what });
            }
            let newest =
                all().filter(|known| known.leads.is_some()).max_by_key(|known| known.leads);
            let applied = newest.and_then(|known| known.applied.as_ref());
            if applied.is_some_and(|applied| !applied.contains(session)) {
                let what = "the leader of the newest epoch misses a committed write".to_owned();
                return Err(Breach { law: "leaders-have-all", what });
            }
        }
        Ok(())
    }

    /// Z7: a client is answered only about what is committed.
    fn check_answers(&self, deeds: &[Deed]) -> Result<(), Breach> {
        for deed in deeds {
            if let Deed::Answer { session } = deed
                && !self.committed.contains(session)
            {
                let what = "a client is told of a write that is not committed".to_owned();
                return Err(Breach { law: "answered-is-committed", what });
            }
        }
        Ok(())
    }

    /// The numbers of the servers, for the laws that look at all of them at once.
    pub fn servers(&self, cast: &Cast) -> [u32; SERVERS] {
        self.actors.map(|actor| cast.known(actor).server)
    }

    /// The house's own laws.
    pub fn obey(&self, cast: &Cast) -> Result<(), Breach> {
        let servers = self.actors.map(|actor| &cast.known(actor).actor.server);
        let subjects: Vec<Subject<'_>> = (1..).map(ServerId).zip(servers).collect();
        for (law, check) in LAWS {
            check(&subjects).map_err(|what| Breach { law, what })?;
        }
        Ok(())
    }
}
