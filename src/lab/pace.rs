//! The pace: how fast simulated time runs while somebody watches.
//!
//! Real scales differ by ten thousand (a message takes 1 ms, a session 18 s), so a fixed speed is
//! always wrong for something. The event pace runs slowly while something worth seeing happens,
//! quickly where only heartbeats pass, and brakes in time.
//! *Invariant:* the pace decides when events are shown, never what happens: it only gives times to
//! advance to.
//!
//! ```text
//!   speed  fast ┤        ╭───────────╮
//!               │      ╱               ╲
//!          slow ┤─────╯  hold, then up   ╲______ next event worth seeing
//! ```

use crate::sim::{SimTime, Span};

/// How simulated time follows real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Slow where something happens, fast where nothing does.
    ByEvent,
    /// So many simulated microseconds a real millisecond: 1000 is real time.
    Fixed(u64),
}

/// How fast the event pace may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// It hurries through what nobody would watch.
    Hurries,
    /// Somebody is asked to act: no faster than real time.
    Waits,
}

/// A message that takes 0.7 ms is seen for half a second.
const SLOW: u64 = 1_400;
/// A session of 18 s is waited for in about three seconds.
const FAST: u64 = 8_000_000;
/// Simulated microseconds in a second of real time.
const REAL: u64 = 1_000_000;
/// How long the slow pace is kept after an event worth seeing.
const HOLD: Span = Span::ms(450);
/// The speed doubles in this time once the hold is over.
const DOUBLING: Span = Span::ms(90);
/// The way to the next event shrinks to 1/e in this time.
const BRAKING: Span = Span::ms(320);

/// Turns real time into simulated time; remembers how long ago something was worth seeing.
#[derive(Clone, Debug)]
pub struct Pacer {
    pace: Pace,
    haste: Haste,
    /// Real time since the last event worth seeing.
    since_seen: Span,
    /// Simulated microseconds owed, in millionths, so that slow paces lose nothing.
    rest: u64,
}

impl Pacer {
    /// A pacer that starts at speed.
    pub fn new(pace: Pace) -> Pacer {
        Pacer { pace, haste: Haste::Hurries, since_seen: Span::secs(5), rest: 0 }
    }

    /// The pace in force.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Changes the pace.
    pub fn set(&mut self, pace: Pace) {
        self.pace = pace;
        self.rest = 0;
    }

    /// Hurries from now on, or waits.
    pub fn keep(&mut self, haste: Haste) {
        self.haste = haste;
    }

    /// Something worth seeing has just been shown: the slow pace holds for a while.
    pub fn seen(&mut self) {
        self.since_seen = Span::ZERO;
    }

    /// Where simulated time stands after `real` more real time, from `now`, when the `next` event
    /// worth seeing is known. Never beyond that event.
    pub fn advance(&mut self, now: SimTime, real: Span, next: Option<SimTime>) -> SimTime {
        let speed = match self.pace {
            Pace::Fixed(micros_per_ms) => micros_per_ms * 1000,
            Pace::ByEvent => self.speed(next.map(|next| next.since(now))),
        };
        self.since_seen = self.since_seen + real;
        let millionths = speed.saturating_mul(real.as_micros()).saturating_add(self.rest);
        self.rest = millionths % 1_000_000;
        let target = now + Span::micros(millionths / 1_000_000);
        match next {
            Some(next) if self.pace == Pace::ByEvent && next > now => target.min(next),
            _ => target,
        }
    }

    /// Simulated microseconds a real second.
    fn speed(&self, way: Option<Span>) -> u64 {
        let doublings = self.since_seen.saturating_sub(HOLD).as_micros() / DOUBLING.as_micros();
        let rising = SLOW.saturating_mul(1 << doublings.min(40));
        let braking =
            way.map_or(FAST, |way| way.as_micros().saturating_mul(1_000_000) / BRAKING.as_micros());
        let fastest = match self.haste {
            Haste::Hurries => FAST,
            Haste::Waits => REAL,
        };
        rising.min(braking).clamp(SLOW, fastest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Span = Span::micros(16_667);

    fn frames_to(next: SimTime, pacer: &mut Pacer) -> u32 {
        let mut now = SimTime::ZERO;
        for frame in 0.. {
            if now >= next {
                return frame;
            }
            now = pacer.advance(now, FRAME, Some(next));
        }
        unreachable!("time moves in every frame")
    }

    #[test]
    fn a_session_of_eighteen_seconds_is_waited_for_in_a_few() {
        let mut pacer = Pacer::new(Pace::ByEvent);
        pacer.seen();
        let frames = frames_to(SimTime::micros(18_000_000), &mut pacer);
        assert!((180..480).contains(&frames), "{frames} frames");
    }

    #[test]
    fn who_is_asked_to_act_has_time_to() {
        let mut pacer = Pacer::new(Pace::ByEvent);
        pacer.keep(Haste::Waits);
        let frames = frames_to(SimTime::micros(18_000_000), &mut pacer);
        assert!(frames >= 18 * 60, "{frames} frames");
    }

    #[test]
    fn a_hop_of_a_millisecond_is_seen_for_half_a_second() {
        let mut pacer = Pacer::new(Pace::ByEvent);
        pacer.seen();
        let frames = frames_to(SimTime::micros(700), &mut pacer);
        assert!((25..40).contains(&frames), "{frames} frames");
    }

    #[test]
    fn time_never_passes_the_next_event_worth_seeing() {
        let mut pacer = Pacer::new(Pace::ByEvent);
        let next = SimTime::micros(50);
        assert_eq!(pacer.advance(SimTime::ZERO, Span::secs(1), Some(next)), next);
    }

    #[test]
    fn a_fixed_pace_loses_nothing_to_rounding() {
        let mut pacer = Pacer::new(Pace::Fixed(10));
        let mut now = SimTime::ZERO;
        for _ in 0..6_000 {
            now = pacer.advance(now, Span::micros(16_667), None);
        }
        assert_eq!(now, SimTime::micros(1_000_020));
    }
}
