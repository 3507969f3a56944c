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

/// Whether a disk takes what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Room {
    /// It does.
    Free,
    /// No write can be done.
    Full,
}

#[derive(Clone, Debug)]
pub(super) struct Disk {
    pub(super) free_at: SimTime,
    pub(super) slowed_by: Span,
    pub(super) room: Room,
    pub(super) latency: Stream,
}

/// A process's own clock. It goes right unless somebody changes its pace.
///
/// Real: a clock is set by hand or by NTP, and jumps; here it only goes faster or slower, because
/// nothing but ctime and mtime hangs on what it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Clock {
    /// Of each second, so many hundredths.
    rate_percent: u32,
    /// The highest that this has been.
    fastest: u32,
    /// When its pace was changed last, and what it showed then.
    changed: (SimTime, SimTime),
}

impl Clock {
    const RIGHT: Clock =
        Clock { rate_percent: 100, fastest: 100, changed: (SimTime::ZERO, SimTime::ZERO) };

    /// What it shows.
    pub(super) fn read(&self, now: SimTime) -> SimTime {
        let (since, shown) = self.changed;
        let passed = now.since(since);
        match self.rate_percent {
            100 => shown + passed,
            rate => shown + (passed * u64::from(rate)).divided_by(100),
        }
    }

    /// How long it takes until it shows so much more, and never less: a process that waits for the
    /// next tick would wait for it again, at the same moment.
    pub(super) fn lasting(&self, span: Span) -> Span {
        match self.rate_percent {
            100 => span,
            rate => Span::micros((span.as_micros() * 100).div_ceil(u64::from(rate))),
        }
    }

    /// Changes its pace.
    pub(super) fn change(&mut self, now: SimTime, rate_percent: u32) {
        self.changed = (now, self.read(now));
        self.rate_percent = rate_percent.max(1);
        self.fastest = self.fastest.max(rate_percent);
    }

    pub(super) fn rate_percent(&self) -> u32 {
        self.rate_percent
    }

    pub(super) fn fastest(&self) -> u32 {
        self.fastest
    }
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
    pub(super) clock: Clock,
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
            disk: Disk { free_at: SimTime::ZERO, slowed_by: Span::ZERO, room: Room::Free, latency },
            clock: Clock::RIGHT,
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
        self.clock.hash(state);
        (self.disk.room, self.disk.slowed_by).hash(state);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_goes_on_from_what_it_showed() {
        let at = |secs| SimTime::ZERO + Span::secs(secs);
        let mut clock = Clock::RIGHT;
        assert_eq!((clock.read(at(7)), clock.lasting(Span::secs(3))), (at(7), Span::secs(3)));
        clock.change(at(10), 150);
        assert_eq!((clock.read(at(12)), clock.lasting(Span::secs(3))), (at(13), Span::secs(2)));
        clock.change(at(12), 50);
        assert_eq!((clock.read(at(14)), clock.lasting(Span::secs(3))), (at(14), Span::secs(6)));
        clock.change(at(14), 100);
        assert_eq!((clock.read(at(20)), clock.fastest()), (at(20), 150));
        clock.change(at(20), 130);
        let (micro, now) = (Span::micros(1), at(20) + Span::micros(7));
        assert!(clock.read(now + clock.lasting(micro)) >= clock.read(now) + micro);
    }
}
