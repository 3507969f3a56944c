//! The guided visit on the page: how far the lesson has come, its open guess, what was answered.
//!
//! *Invariant:* the lesson follows the trace; here is only what a reader said of it.

use leptos::prelude::*;

use super::mirror::Mirror;
use super::playback::Playback;
use crate::lab::lesson::{Guess, Lesson, Progress};
use crate::lab::{Haste, Recording};
use crate::picture::sentence::SentencePicture;
use crate::sim::Span;

/// How long a sentence of the lesson is left standing before time goes on, at least.
const READING: Span = Span::ms(2600);
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
            mirror,
            playback,
        };
        Effect::new(move |_| {
            mirror.track_trace();
            visit.read();
        });
        visit
    }

    fn read(self) {
        let mut progress = self.progress.get_untracked();
        self.lesson.with_value(|lesson| {
            self.mirror.with(|lab| progress.read(lesson, lab.trace(), lab.position()));
        });
        let before = self.progress.get_untracked();
        let says = progress.said != before.said && progress.said.is_some();
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
        if self.guess().is_some() {
            self.playback.pause();
        }
    }

    /// Leaves the visit for another recording, which plays from where it says.
    pub fn begin(self, recording: Recording) {
        self.leave();
        self.mirror.begin(recording);
        self.playback.begin();
    }

    /// Leaves the visit.
    pub fn leave(self) {
        self.open.set(false);
    }

    /// The act that goes on and how many there are; none when the visit is over or left.
    pub fn step(self) -> Option<(usize, usize)> {
        let acts = self.lesson.with_value(|lesson| lesson.acts.len());
        let act = self.progress.with(|progress| progress.act);
        (self.open.get() && act < acts).then_some((act + 1, acts))
    }

    /// What the reader is asked to do now: its key, and the command that does it.
    pub fn ask(self) -> Option<(&'static str, String)> {
        if !self.open.get() {
            return None;
        }
        let (act, done) = self.progress.with(|progress| (progress.act, progress.done));
        self.lesson.with_value(|lesson| {
            let ask = lesson.acts.get(act)?.ask.as_ref()?;
            (!done).then(|| (ask.key, ask.command.clone()))
        })
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
            return None;
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
        let say =
            self.lesson.with_value(|lesson| lesson.acts.get(act)?.says.get(place).cloned())?;
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
