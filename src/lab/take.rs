//! A take: one version of the run, with its commands and what has been seen of it.
//!
//! *Invariant:* commands are the truth of it; trace and keyframes are what they gave, up to `end`.

use crate::cluster::command::Refusal;
use crate::cluster::laws::Judge;
use crate::cluster::notation::Told;
use crate::cluster::{Cluster, Command, Setup, Trace, assemble};
use crate::sim::{EventId, Moment, What};
use std::fmt;
use std::sync::Arc;

/// Which take, in the order in which they were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TakeId(pub u16);

/// As people call it: `take 1` is the first.
impl fmt::Display for TakeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "take {}", u32::from(self.0) + 1)
    }
}

/// Where a take left another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The one that it left.
    pub from: TakeId,
    /// When.
    pub at: Moment,
    /// How many records both have.
    pub records: usize,
    /// How many commands both have.
    pub given: usize,
}

/// A command that could not be done when its moment came.
#[derive(Clone, Debug)]
pub struct NotDone {
    /// Its place among the commands of the take.
    pub(super) place: usize,
    moment: Moment,
    command: Command,
    why: Refusal,
}

impl NotDone {
    pub(super) fn new(place: usize, (moment, command): (Moment, Command), why: Refusal) -> Self {
        NotDone { place, moment, command, why }
    }
}

/// The line as it is written, and why nothing came of it.
impl fmt::Display for NotDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} {}: {}", Told(self.moment), self.command, self.why)
    }
}

/// One version of the run.
#[derive(Clone, Debug)]
pub struct Take {
    /// What it left, unless it is the first.
    pub fork: Option<Fork>,
    /// What was done, and when.
    pub commands: Vec<(Moment, Command)>,
    /// The events of those that somebody gave here; the others came with the recording.
    pub(super) given_here: Vec<EventId>,
    /// What the recording holds and could not be done when its moment came.
    pub(super) not_done: Vec<NotDone>,
    pub(super) trace: Trace,
    pub(super) end: Moment,
    pub(super) keyframes: Vec<Arc<Keyframe>>,
    /// What has happened since the last keyframe would take so long to play again, in ns.
    weight: u64,
}

/// A point of a take: how far it has been played.
#[derive(Clone, Debug)]
pub(super) struct Keyframe {
    pub(super) cluster: Cluster,
    /// How many records lie before it.
    pub(super) position: usize,
    /// How many commands have been given.
    pub(super) given: usize,
    /// Who has watched until here.
    pub(super) judge: Judge,
}

/// Between two keyframes lies no more than this, by [`weight_of`].
const HEAVY: u64 = 8_000_000;
/// Nor more records than this.
const MANY: usize = 16_384;

impl Take {
    pub(super) fn new(setup: &Setup, commands: Vec<(Moment, Command)>) -> Take {
        let mut trace = Trace::default();
        let cluster = assemble(setup, &mut trace);
        let judge = Judge::default();
        let first = Keyframe { cluster, position: trace.len(), given: 0, judge };
        Take {
            fork: None,
            commands,
            given_here: Vec::new(),
            not_done: Vec::new(),
            trace,
            end: Moment::default(),
            keyframes: vec![Arc::new(first)],
            weight: 0,
        }
    }

    /// What has happened in it.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// How far it has been played.
    pub fn end(&self) -> Moment {
        self.end
    }

    /// A take that shares everything up to `point`, and nothing after it.
    pub(super) fn forked(&self, from: TakeId, point: &Keyframe) -> Take {
        let mut take = Take {
            fork: Some(Fork {
                from,
                at: point.cluster.moment(),
                records: point.position,
                given: point.given,
            }),
            commands: self.commands[..point.given].to_vec(),
            given_here: self.given_here.clone(),
            not_done: self.not_done.clone(),
            trace: self.trace.clone(),
            end: point.cluster.moment(),
            keyframes: self.keyframes.clone(),
            weight: 0,
        };
        take.trace.truncate(point.position);
        take.keyframes.retain(|keyframe| keyframe.position <= point.position);
        take.not_done.retain(|not_done| not_done.place < point.given);
        take.given_here.retain(|event| take.trace.find(*event).is_some());
        take
    }

    /// The same commands, of which nothing after `point` has been played yet, nor is known before.
    pub(super) fn again_from(&self, point: &Keyframe) -> Take {
        Take {
            fork: None,
            commands: self.commands.clone(),
            given_here: self.given_here.clone(),
            not_done: self.not_done.clone(),
            trace: Trace::default(),
            end: point.cluster.moment(),
            keyframes: vec![Arc::new(point.clone())],
            weight: 0,
        }
    }

    /// Takes note that the cluster has come to `point`, which is new.
    pub(super) fn note(&mut self, point: &Keyframe) {
        self.end = self.end.max(point.cluster.moment());
        let last = self.trace.get(self.trace.len() - 1).expect("a record has just been made");
        self.weight += weight_of(last.what);
        let apart = point.position - self.keyframes.last().map_or(0, |frame| frame.position);
        if self.weight >= HEAVY || apart >= MANY {
            self.keyframes.push(Arc::new(point.clone()));
            self.weight = 0;
        }
    }

    /// The last keyframe for which `before` holds; the first at the least.
    pub(super) fn keyframe(&self, before: impl Fn(&Keyframe) -> bool) -> &Keyframe {
        let after = self.keyframes.partition_point(|keyframe| before(keyframe));
        &self.keyframes[after.saturating_sub(1)]
    }
}

/// About how long an event takes, in ns, by its kind: a table, so that it is the same everywhere.
fn weight_of(what: What) -> u64 {
    match what {
        What::Boot | What::Command => 10_000,
        What::Request => 3_000,
        What::Message(_) => 1_500,
        What::Timer | What::Hangup(_) => 1_000,
        What::Written => 700,
    }
}
