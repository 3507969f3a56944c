//! The guided visit on the page: how far the lesson has come, its open guess, what was answered.
//!
//! *Invariant:* the lesson follows the trace; here is only what a reader said of it.

use std::time::Duration;

use leptos::prelude::*;

use super::live::follow;
use super::mirror::Mirror;
use super::playback::Playback;
use crate::lab::lesson::{Guess, Lesson, Progress};
use crate::lab::points::{Point, Told, points};
use crate::lab::{Haste, Recording, situations};
use crate::picture::sentence::SentencePicture;
use crate::picture::story;
use crate::sim::{SimTime, Span};

/// How long a sentence of the lesson is left standing before time goes on, at least.
const READING: Span = Span::ms(2600);
/// How long after the last thing that is done in it a situation is over: sessions and what hangs
/// on them have run out by then.
const SETTLED: Span = Span::secs(60);
/// How far ahead a guess's answer is looked for.
const AHEAD: Span = Span::secs(120);

/// A guess that was answered or skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The act of the guess.
    pub act: usize,
    /// What the reader said; none if skipped.
    pub said: Option<&'static str>,
    /// What is right.
    pub right: &'static str,
}

/// A situation that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its number.
    pub number: usize,
    /// The key of its name and of what it is about.
    pub name: &'static str,
    /// Where it began.
    from: SimTime,
}

/// The visit. It is copied freely: what it holds lives as long as the page.
#[derive(Clone, Copy)]
pub struct Visit {
    lesson: StoredValue<Lesson>,
    /// How far it has come.
    pub progress: RwSignal<Progress>,
    /// The last answer.
    pub answer: RwSignal<Option<Answer>>,
    /// Whether the reader follows it.
    pub open: RwSignal<bool>,
    /// Whether what the reader is asked to do has the sentence's seat: it has once what was said
    /// before it could be read.
    pub asks: RwSignal<bool>,
    /// The situation that is watched instead, if one is.
    pub watched: RwSignal<Option<Watched>>,
    /// The last of its points that was told.
    told: RwSignal<Told>,
    points: StoredValue<Vec<Point>>,
    mirror: Mirror,
    playback: Playback,
}

impl Visit {
    /// The first visit, followed unless the page was opened by a link.
    pub fn new(mirror: Mirror, playback: Playback, open: bool) -> Visit {
        let visit = Visit {
            lesson: StoredValue::new(Lesson::first_visit()),
            progress: RwSignal::new(Progress::default()),
            answer: RwSignal::new(None),
            open: RwSignal::new(open),
            asks: RwSignal::new(false),
            watched: RwSignal::new(None),
            told: RwSignal::new(Told::default()),
            points: StoredValue::new(Vec::new()),
            mirror,
            playback,
        };
        follow(move || {
            mirror.track_trace();
            visit.read();
            visit.read_points();
        });
        visit.give_the_seat();
        let over = Memo::new(move |_| visit.is_over());
        Effect::new(move |_| {
            // What plays by itself stops by itself, once.
            if over.get() {
                playback.pause();
            }
        });
        visit
    }

    /// What is asked takes the sentence's seat, and leaves it when it is done.
    fn give_the_seat(self) {
        let asked = Memo::new(move |_| self.ask().map(|(key, _)| key));
        Effect::new(move |_| {
            let Some(key) = asked.get() else { return self.asks.set(false) };
            let take = move || self.asks.set(asked.try_get_untracked() == Some(Some(key)));
            set_timeout(take, Duration::from_micros(READING.as_micros()));
        });
    }

    fn read(self) {
        let mut progress = self.progress.get_untracked();
        self.lesson.with_value(|lesson| {
            self.mirror.with(|lab| progress.read(lesson, lab.trace(), lab.position()));
        });
        let before = self.progress.get_untracked();
        let says = progress.said != before.said && progress.said.is_some();
        let ends = before.act < progress.act && self.acts() == progress.act;
        if progress != before {
            self.progress.set(progress);
        }
        let asks = untrack(|| self.ask().is_some());
        self.playback.keep(if asks { Haste::Waits } else { Haste::Hurries });
        if !self.open.get_untracked() {
            return;
        }
        if says {
            self.playback.rest(READING);
        }
        // What is said last stands until the reader goes on.
        if ends || self.guess().is_some() {
            self.playback.pause();
        }
    }

    fn acts(self) -> usize {
        self.lesson.with_value(|lesson| lesson.acts.len())
    }

    fn read_points(self) {
        if self.watched.get_untracked().is_none() {
            return;
        }
        let before = self.told.get_untracked();
        let mut told = before.clone();
        self.points.with_value(|points| {
            self.mirror.with(|lab| told.read(points, lab.trace(), lab.position()));
            self.playback.look_for(points.get(told.said).map(|point| point.when.clone()));
        });
        if told.said > before.said {
            self.playback.rest(READING);
        }
        self.told.set(told);
    }

    /// Leaves the visit for another recording, which plays from where it says.
    pub fn begin(self, recording: Recording) {
        self.watch(recording, None);
    }

    /// Leaves the visit for a situation, by its number from 1.
    pub fn begin_situation(self, number: usize) {
        let Some(situation) = number.checked_sub(1).and_then(|at| situations().nth(at)) else {
            return;
        };
        let recording = situation.recording();
        let from = recording.until.at;
        self.watch(recording, Some(Watched { number, name: situation.name, from }));
    }

    fn watch(self, recording: Recording, watched: Option<Watched>) {
        self.leave();
        self.points.set_value(watched.map(|watched| points(watched.name)).unwrap_or_default());
        self.told.set(Told::default());
        self.playback.look_for(None);
        self.watched.set(watched);
        self.mirror.begin(recording);
        self.playback.begin();
    }

    /// Leaves the visit, or the situation: what runs goes on.
    pub fn leave(self) {
        self.open.set(false);
        self.watched.set(None);
        self.playback.look_for(None);
    }

    /// Whether the situation has come to its end: nothing more is done in it, and what was done
    /// has had its time.
    pub fn is_over(self) -> bool {
        let Some(watched) = self.watched.get() else { return false };
        self.mirror.track_trace();
        self.mirror.tenths();
        let quiet = self.playback.is_quiet();
        self.mirror.with(|lab| {
            let last = lab.last_given().map_or(watched.from, |given| given.max(watched.from));
            lab.due().is_none() && (quiet || lab.moment().at >= last + SETTLED)
        })
    }

    /// The point that is told now: until something else turns up, and again at the end.
    fn point(self) -> Option<SentencePicture> {
        let (said, index) = self.told.with(|told| Some((told.said, told.last?)))?;
        let over = self.is_over();
        let event = self.mirror.with(|lab| {
            let later = (index + 1..lab.position()).rev().take(FRESH + 1);
            let is_told = |at: usize| {
                let record = lab.trace().get(at);
                record.is_some_and(|record| story::news(lab.cluster(), &record) > story::STEP)
            };
            let stands =
                over || (lab.position() <= index + FRESH && !later.into_iter().any(is_told));
            stands.then_some(lab.trace().get(index)?.id.0)
        })?;
        let key = self.points.with_value(|points| Some(points.get(said.checked_sub(1)?)?.key))?;
        Some(SentencePicture { key, fields: Vec::new(), event: Some(event), by_you: false })
    }

    /// The act that goes on and how many there are; none when the visit is left.
    pub fn step(self) -> Option<(usize, usize)> {
        let (acts, act) = (self.acts(), self.progress.with(|progress| progress.act));
        self.open.get().then_some(((act + 1).min(acts), acts))
    }

    /// What the reader is asked to do now: its key, and the command that does it.
    pub fn ask(self) -> Option<(&'static str, String)> {
        if !self.open.get() {
            return None;
        }
        let (act, done) = self.progress.with(|progress| (progress.act, progress.done));
        self.lesson.with_value(|lesson| {
            let ask = lesson.acts.get(act)?.ask.as_ref()?;
            // Who has done it waits for what comes of it, and is asked no more.
            let open = !done && self.mirror.cluster(|cluster| ask.is_open(cluster));
            open.then(|| (ask.key, ask.command.clone()))
        })
    }

    /// Goes to the next event worth seeing. If none comes before somebody does what is asked, that
    /// is said again.
    pub fn run_to_next(self, view: super::view::View) {
        self.playback.run_to_next();
        let (quiet, ask) = untrack(|| (self.playback.is_quiet(), self.ask()));
        if let (true, Some((key, _))) = (quiet, ask) {
            self.mirror.refuse(format!("{} {}", view.key("visit.your-turn"), view.key(key)));
        }
    }

    /// The guess that waits for an answer.
    pub fn guess(self) -> Option<Guess> {
        let (act, open) = self.progress.with(|progress| (progress.act, progress.is_open()));
        let answered = self.answer.with(|answer| answer.is_some_and(|answer| answer.act == act));
        if !self.open.get() || !open || answered {
            return None;
        }
        self.lesson.with_value(|lesson| lesson.acts.get(act)?.guess.clone())
    }

    /// The option of the open guess that a letter stands for.
    pub fn option(self, letter: Option<char>) -> Option<&'static str> {
        let guess = untrack(|| self.guess())?;
        let place = ('A'..='Z').position(|other| Some(other) == letter)?;
        guess.options.get(place).map(|(name, _)| *name)
    }

    /// The reader answers, or skips; the right answer is found by running a copy ahead.
    pub fn say(self, said: Option<&'static str>) {
        let Some(guess) = self.guess() else { return };
        let act = self.progress.with_untracked(|progress| progress.act);
        let waited = self.mirror.with(|lab| {
            let (mut ahead, now) = (lab.clone(), lab.moment().at);
            let reveals = |lab: &crate::lab::Lab, index: usize| {
                let record = lab.trace().get(index);
                record.is_some_and(|record| record.facts().any(|fact| guess.reveal.holds(fact)))
            };
            ahead.step_until(AHEAD, reveals).map(|_| ahead.moment().at.since(now))
        });
        let waited = waited.map_or(u64::MAX, Span::as_micros);
        if let Some(right) = guess.answer(waited) {
            self.answer.set(Some(Answer { act, said, right }));
        }
        self.playback.playing.set(true);
    }

    /// What the lesson says now, in place of the event's own sentence.
    pub fn sentence(self) -> Option<SentencePicture> {
        if !self.open.get() {
            return self.point();
        }
        if let Some((key, _)) = self.ask().filter(|_| self.asks.get()) {
            return Some(SentencePicture { key, fields: Vec::new(), event: None, by_you: false });
        }
        let (act, place, index) = self.progress.with(|progress| progress.said)?;
        let asked = self.lesson.with_value(|lesson| {
            self.progress.with(|progress| lesson.has_asked_since_said(progress))
        });
        let event = self.mirror.with(|lab| {
            let record = lab.trace().get(index)?;
            // The events speak again once the reader who was asked to has acted, else once more has
            // been told than the lesson knows of.
            let stands = match asked {
                true => lab.last_given().is_none_or(|given| given < record.at),
                false => lab.position() <= index + FRESH,
            };
            stands.then_some(record.id.0)
        })?;
        let say = self.lesson.with_value(|lesson| lesson.said(act, place).cloned())?;
        Some(SentencePicture {
            key: say.key,
            fields: Vec::new(),
            event: Some(event),
            by_you: false,
        })
    }
}

/// For how many records a sentence of the lesson stands.
const FRESH: usize = 400;

/// The visit of the page that is mounted.
pub fn use_visit() -> Visit {
    use_context().expect("the page provides its visit before any panel")
}
