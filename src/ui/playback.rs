//! Playback: turns frames into simulated time. The one place that reads the wall clock.
//!
//! *Invariant:* nothing depends on when frames come, only on what the lab is told to advance to.

use leptos::prelude::*;

use super::mirror::Mirror;
use super::view::{Motion, View};
use crate::lab::lesson::Condition;
use crate::lab::{Haste, Lab, Lookout, Pace, Pacer};
use crate::sim::{Moment, SimTime, Span};

/// What the event pace stops for.
const WORTH_A_STOP: u8 = 2;
/// How far a step goes at most before it gives up.
const WITHIN: Span = Span::secs(120);
/// How long what is on its way may take to arrive where nothing else comes.
const ARRIVING: Span = Span::secs(1);
/// How many records one frame may handle, so that the page stays alive at any pace.
const RECORDS_A_FRAME: u32 = 20_000;
/// With motion off the clock steps from stop to stop, and rests this long at each.
const REST: Span = Span::ms(1800);

/// The paces that a person can choose from, the fastest last.
pub const PACES: [Pace; 6] = [
    Pace::ByEvent,
    Pace::Fixed(1),
    Pace::Fixed(10),
    Pace::Fixed(100),
    Pace::Fixed(1_000),
    Pace::Fixed(10_000),
];

/// Playback. It is copied freely: what it holds lives as long as the page.
#[derive(Clone, Copy)]
pub struct Playback {
    /// Whether time runs.
    pub playing: RwSignal<bool>,
    /// The pace in force, as its place in [`PACES`].
    pub pace: RwSignal<usize>,
    /// Counts frames in which something may have moved; for what is painted every frame.
    pub frame: RwSignal<u32>,
    mirror: Mirror,
    view: View,
    /// Real time that is still to be rested, so that a sentence can be read.
    resting: StoredValue<Span>,
    pacer: StoredValue<Pacer>,
    lookout: StoredValue<Lookout>,
    /// Where somebody was told last that nothing worth seeing comes: the take and its commands.
    quiet: RwSignal<Option<((u16, u16), usize)>>,
}

impl Playback {
    /// Starts to play.
    pub fn start(mirror: Mirror, view: View) -> Playback {
        let playback = Playback {
            playing: RwSignal::new(true),
            pace: RwSignal::new(0),
            frame: RwSignal::new(0),
            mirror,
            view,
            resting: StoredValue::new(Span::ZERO),
            pacer: StoredValue::new(Pacer::new(Pace::ByEvent)),
            lookout: StoredValue::new(Lookout::new(WORTH_A_STOP)),
            quiet: RwSignal::new(None),
        };
        playback.next_frame(None);
        playback
    }

    /// Plays or pauses.
    pub fn turn(self) {
        self.playing.update(|playing| *playing = !*playing);
    }

    /// Pauses.
    pub fn pause(self) {
        self.playing.set(false);
    }

    /// Plays a run that has just been begun.
    pub fn begin(self) {
        self.lookout.set_value(Lookout::new(WORTH_A_STOP));
        self.quiet.set(None);
        self.playing.set(true);
    }

    /// Stops at this fact too, whatever its importance.
    pub fn look_for(self, point: Option<Condition>) {
        self.lookout.update_value(|lookout| lookout.look_for(point));
    }

    /// Whether somebody has been told that nothing worth seeing comes in what is shown.
    pub fn is_quiet(self) -> bool {
        self.quiet.get() == Some(self.shown())
    }

    fn shown(self) -> ((u16, u16), usize) {
        (self.mirror.take(), self.mirror.with(Lab::commands))
    }

    /// Lets time stand for so long, so that something can be read; only at the event pace.
    pub fn rest(self, real: Span) {
        if self.pace.get_untracked() == 0 {
            self.resting.set_value(real);
        }
    }

    /// Whether the event pace hurries, or waits for somebody who is asked to act.
    pub fn keep(self, haste: Haste) {
        self.pacer.update_value(|pacer| pacer.keep(haste));
    }

    /// Takes the pace at this place of the list.
    pub fn choose(self, place: usize) {
        let place = place.min(PACES.len() - 1);
        self.pace.set(place);
        self.pacer.update_value(|pacer| pacer.set(PACES[place]));
    }

    /// The next faster or slower pace.
    pub fn shift(self, by: isize) {
        self.choose(self.pace.get_untracked().saturating_add_signed(by));
    }

    /// Goes one event on, or back.
    pub fn step(self, forward: bool) {
        self.move_cursor(|lab| {
            if forward {
                lab.step();
            } else {
                lab.step_back();
            }
        });
    }

    /// Goes one event on, or back, on the lane of a process.
    pub fn step_on(self, process: &str, forward: bool) {
        self.move_cursor(|lab| {
            let Some(id) = lab.cluster().find(process) else { return };
            if forward {
                lab.step_on(id, WITHIN);
            } else {
                lab.step_back_on(id);
            }
        });
    }

    /// Goes to the next event worth seeing. If none comes, that is said, and the first time what is
    /// on its way still arrives: a leader that was chosen begins to lead.
    pub fn run_to_next(self) {
        let comes = self.mirror.with(|lab| self.to_next(&mut lab.clone()));
        if !comes {
            self.pause();
            if self.quiet.get_untracked() != Some(self.shown()) {
                self.move_cursor(|lab| lab.advance_to(lab.moment().at + ARRIVING));
            }
            self.quiet.set(Some(self.shown()));
            return self.mirror.refuse(self.view.key("page.quiet"));
        }
        self.move_cursor(|lab| {
            self.to_next(lab);
        });
    }

    /// Goes to the next record worth a stop; false if none comes.
    fn to_next(self, lab: &mut Lab) -> bool {
        self.lookout.with_value(|lookout| {
            let is_worth = |lab: &Lab, index: usize| {
                let record = lab.trace().get(index);
                record.is_some_and(|record| lookout.worth().holds(lab.cluster(), &record))
            };
            lab.step_until(WITHIN, is_worth).is_some()
        })
    }

    /// Goes to the beginning.
    pub fn to_start(self) {
        self.move_cursor(|lab| lab.seek(Moment::default()));
    }

    /// Goes to the live edge.
    pub fn to_end(self) {
        self.move_cursor(|lab| lab.seek(lab.end()));
    }

    /// Goes to a moment that has been played.
    pub fn seek(self, at: SimTime) {
        self.move_cursor(|lab| lab.seek(Moment::after(at).min(lab.end())));
    }

    /// Goes to right after an event.
    pub fn seek_event(self, event: u64) {
        self.move_cursor(|lab| lab.seek_event(crate::sim::EventId(event)));
    }

    fn move_cursor(self, change: impl FnOnce(&mut Lab)) {
        self.pause();
        self.mirror.hush();
        self.mirror.change(change);
        self.tick();
    }

    fn tick(self) {
        self.frame.update(|frame| *frame = frame.wrapping_add(1));
    }

    fn next_frame(self, last: Option<f64>) {
        request_animation_frame(move || {
            let Some(playing) = self.playing.try_get_untracked() else { return };
            // Who reads a list that lies over the page misses nothing of what is under it.
            let playing = playing && !self.view.over.get_untracked().is_list();
            let now = window().performance().map_or(0.0, |clock| clock.now());
            let real = last.map_or(0.0, |last| (now - last).clamp(0.0, 100.0));
            let is_still = self.view.motion.get_untracked() == Motion::Still;
            let spent = match (playing, is_still) {
                (false, _) => true,
                (true, false) => {
                    self.advance(Span::micros((real * 1000.0) as u64));
                    true
                }
                (true, true) => last.is_none_or(|last| now - last >= REST.as_ms() as f64),
            };
            if playing && is_still && spent && last.is_some() {
                self.mirror.change(|lab| self.to_next(lab));
                self.tick();
            }
            self.next_frame(if spent { Some(now) } else { last });
        });
    }

    /// One frame of playing.
    fn advance(self, real: Span) {
        let resting = self.resting.get_value();
        if resting > Span::ZERO {
            self.resting.set_value(resting.saturating_sub(real));
            return self.tick();
        }
        let (now, next) = self.mirror.with(|lab| {
            let next = self.lookout.try_update_value(|lookout| lookout.next(lab)).flatten();
            (lab.moment().at, next)
        });
        let target = self.pacer.try_update_value(|pacer| pacer.advance(now, real, next));
        let Some(target) = target else { return };
        self.mirror.change(|lab| lab.advance_some(target, RECORDS_A_FRAME));
        if next == Some(target) {
            self.pacer.update_value(Pacer::seen);
        }
        self.tick();
    }
}

/// The playback of the page that is mounted.
pub fn use_playback() -> Playback {
    use_context().expect("the page provides its playback before any panel")
}
