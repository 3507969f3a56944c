//! The clock's words: instants, spans, and the numbers given to events and processes.
//!
//! *Invariant:* time is an integer number of microseconds; only [`Sim`](super::Sim) moves it.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// An instant: microseconds since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(u64);

/// A length of time in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// The number of an event, given out when it is scheduled; ties in time break by it. The first
/// event is 1; 0 stands for none in packed records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub u64);

/// The seat number of a process, in the order in which processes were added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u16);

/// A point between two events: a time, and how many events of that instant are done.
///
/// Commands are recorded at moments, so that a run stepped by hand replays exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// The instant.
    pub at: SimTime,
    /// How many events of this instant have been handled.
    pub done: u32,
}

impl SimTime {
    /// The beginning of the run.
    pub const ZERO: SimTime = SimTime(0);
    /// Later than anything that will happen.
    pub const NEVER: SimTime = SimTime(u64::MAX);

    /// The instant `micros` microseconds after the beginning.
    pub const fn micros(micros: u64) -> SimTime {
        SimTime(micros)
    }

    /// Microseconds since the beginning.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since the beginning.
    pub const fn as_ms(self) -> u64 {
        self.0 / 1000
    }

    /// The time from `earlier` to this instant, zero if it was not earlier.
    pub const fn since(self, earlier: SimTime) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// `micros` microseconds.
    pub const fn micros(micros: u64) -> Span {
        Span(micros)
    }

    /// The longest that anybody may ask for, a hundred years: more is a slip of the pen, and sums
    /// of two stay in range.
    pub const LONGEST: Span = Span(100 * 366 * 24 * 3_600_000_000);

    /// Milliseconds as a setting gives them; `None` if that is no number, or too long.
    pub fn parse_ms(text: &str) -> Option<Span> {
        let micros = text.parse::<u64>().ok()?.checked_mul(1000)?;
        Some(Span(micros)).filter(|span| *span <= Span::LONGEST)
    }

    /// The same for a pause, which is never of no length: over and over it would stop the clock.
    pub fn parse_pause_ms(text: &str) -> Option<Span> {
        Span::parse_ms(text).filter(|span| *span > Span::ZERO)
    }

    /// `ms` milliseconds.
    pub const fn ms(ms: u64) -> Span {
        Span(ms * 1000)
    }

    /// `secs` seconds.
    pub const fn secs(secs: u64) -> Span {
        Span(secs * 1_000_000)
    }

    /// The length in microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The length in whole milliseconds.
    pub const fn as_ms(self) -> u64 {
        self.0 / 1000
    }

    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// A `divisor`-th of this span, rounded down.
    pub const fn divided_by(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

impl Moment {
    /// The moment before any event of the instant `at`.
    pub const fn before(at: SimTime) -> Moment {
        Moment { at, done: 0 }
    }

    /// The moment after every event of the instant `at`.
    pub const fn after(at: SimTime) -> Moment {
        Moment { at, done: u32::MAX }
    }
}

impl ProcessId {
    /// The seat number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Add<Span> for SimTime {
    type Output = SimTime;
    fn add(self, span: Span) -> SimTime {
        SimTime(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for SimTime {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        assert!(self.0 >= other.0, "a span is never negative");
        Span(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, times: u64) -> Span {
        Span(self.0.saturating_mul(times))
    }
}

/// Seconds with milliseconds, `10.214`; microseconds only where there are any, `10.214003`.
impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (secs, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        match rest % 1000 {
            0 => write!(f, "{secs}.{:03}", rest / 1000),
            _ => write!(f, "{secs}.{rest:06}"),
        }
    }
}

/// The shortest exact form: `18s`, `500ms`, `250us`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            us if us % 1_000_000 == 0 => write!(f, "{}s", us / 1_000_000),
            us if us % 1000 == 0 => write!(f, "{}ms", us / 1000),
            us => write!(f, "{us}us"),
        }
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_instants_print_in_their_shortest_exact_form() {
        let spans = [
            (Span::secs(18), "18s"),
            (Span::ms(1500), "1500ms"),
            (Span::micros(250), "250us"),
            (Span::ZERO, "0s"),
        ];
        for (span, text) in spans {
            assert_eq!(span.to_string(), text);
        }
        assert_eq!(SimTime::micros(10_214_000).to_string(), "10.214");
        assert_eq!(SimTime::micros(10_214_003).to_string(), "10.214003");
    }

    #[test]
    fn moments_order_by_time_then_by_events_done() {
        let at = SimTime::micros(5);
        assert!(Moment::before(at) < Moment { at, done: 1 });
        assert!(Moment { at, done: 9 } < Moment::after(at));
        assert!(Moment::after(at) < Moment::before(SimTime::micros(6)));
    }
}
