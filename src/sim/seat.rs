//! A seat: one process with all that the kernel keeps for it (timers, links, disk, dice).
//!
//! *Invariant:* what happens to one process changes its own seat, and beyond it only the queue; so
//! seats can lie in `Arc`s, copied on write.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::chance::{Dice, Stream};
use super::link::Link;
use super::ord_map::OrdMap;
use super::process::{Process, Vocabulary};
use super::time::{EventId, ProcessId, SimTime, Span};

/// Whether a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Power {
    /// It was never started, was killed, or has exited.
    Off,
    /// It runs.
    Running,
    /// It stands still (`SIGSTOP`); its sockets stay open and fill.
    Frozen,
}

/// An armed timer, or the place in the queue of one that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TimerSlot {
    /// When the queue looks here next. Never later than `armed`.
    pub(super) queued_at: SimTime,
    pub(super) armed: Option<Armed>,
}

/// When a timer runs out, as which event, armed by which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Armed {
    pub(super) at: SimTime,
    pub(super) id: EventId,
    pub(super) since: SimTime,
    pub(super) cause: EventId,
}

#[derive(Clone, Debug)]
pub(super) struct Disk {
    pub(super) free_at: SimTime,
    pub(super) slowed_by: Span,
    pub(super) latency: Stream,
}

type TimerOf<P> = <<P as Process>::Words as Vocabulary>::Timer;

#[derive(Clone, Debug)]
pub(super) struct Seat<P: Process> {
    pub(super) name: Arc<str>,
    pub(super) process: P,
    pub(super) power: Power,
    /// How often it was started; what was written by an earlier incarnation is lost.
    pub(super) incarnation: u32,
    pub(super) last_event: EventId,
    pub(super) timers: OrdMap<TimerOf<P>, TimerSlot>,
    pub(super) links: Vec<Link>,
    pub(super) disk: Disk,
    pub(super) dice: Dice,
}

impl<P: Process> Seat<P> {
    pub(super) fn new(seed: u64, name: Arc<str>, process: P) -> Self {
        let latency = Stream::named(seed, "disk", &name);
        Seat {
            process,
            power: Power::Off,
            incarnation: 0,
            last_event: EventId(0),
            timers: OrdMap::new(),
            links: Vec::new(),
            disk: Disk { free_at: SimTime::ZERO, slowed_by: Span::ZERO, latency },
            dice: Dice::new(seed, name.clone()),
            name,
        }
    }

    /// The link to `peer`, if there ever was one.
    pub(super) fn link(&self, peer: ProcessId) -> Option<&Link> {
        let found = self.links.binary_search_by_key(&peer, |link| link.peer);
        found.ok().map(|index| &self.links[index])
    }
}

/// What the state hash sees: the process, its power, its connections and armed timers.
impl<P: Process> Hash for Seat<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.power.hash(state);
        self.incarnation.hash(state);
        self.process.hash(state);
        for (timer, slot) in &self.timers {
            if let Some(armed) = slot.armed {
                (timer, armed.at).hash(state);
            }
        }
        for link in &self.links {
            (link.peer, link.view, link.open, link.cut, link.last_landing).hash(state);
        }
    }
}
