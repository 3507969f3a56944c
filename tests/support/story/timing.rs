//! How long a step lasts, and which of our transactions belong to it. Besides the draws this is all
//! that is taken from what was recorded.
//! *Invariant: a step ends by these rules alone, whatever ours did wrong.*

use std::collections::BTreeMap;

use serde_json::Value;
use zootrope::sim::{SimTime, Span};

use super::super::judge;
use super::step::{Seat, Step};

/// What has not come by then is missing.
const PATIENCE: Span = Span::secs(60);
/// Nothing more comes when nothing has come for so long.
const QUIET: Span = Span::ms(1500);

/// The clock of one step.
pub struct Clock {
    began: SimTime,
    least: Span,
    /// When something came last, if anything has.
    last_came: Option<SimTime>,
}

impl Clock {
    pub fn new(began: SimTime, step: &Step) -> Clock {
        Clock { began, least: least(step), last_came: None }
    }

    /// Something has come.
    pub fn came(&mut self, at: SimTime) {
        self.last_came = Some(at);
    }

    /// When the step ends if nothing more comes.
    pub fn ends(&self, is_complete: bool) -> SimTime {
        if !is_complete {
            return self.began + PATIENCE;
        }
        let least = self.began + self.least;
        let quiet = self.last_came.map_or(least, |at| least.max(at + QUIET));
        quiet.min(self.began + self.least.max(PATIENCE))
    }
}

/// What the process of a step needs, the quiet included.
fn least(step: &Step) -> Span {
    match step {
        Step::Tool { .. } | Step::Dump { .. } => Span::secs(2),
        Step::StartBroker { seat: Seat::Own | Seat::Second, .. } => Span::secs(3),
        Step::Send(_) | Step::StartConsumers(_) | Step::StartProducer { .. } => Span::secs(1),
        Step::KillAndStart { .. } => Span::secs(1),
        Step::Wait(micros) => Span::micros(*micros),
        _ => Span::ms(100),
    }
}

/// Which transactions the recording has in this step, and which only in later ones.
#[derive(Default)]
pub struct Calendar {
    here: BTreeMap<String, u32>,
    /// The same, told loosely: by actor and paths.
    about: BTreeMap<String, u32>,
    later: BTreeMap<String, u32>,
    is_repeatable: bool,
}

impl Calendar {
    /// The calendar of the step at `place`.
    pub fn new(steps: &[Value], place: usize) -> Calendar {
        let is_repeatable = steps[place]["same"]["txns_by_actor"] == true;
        let mut calendar = Calendar { is_repeatable, ..Calendar::default() };
        for txn in txns(&steps[place]) {
            *calendar.here.entry(key(txn)).or_default() += 1;
            *calendar.about.entry(about(txn)).or_default() += 1;
        }
        for txn in steps[place + 1..].iter().flat_map(txns) {
            *calendar.later.entry(key(txn)).or_default() += 1;
        }
        calendar
    }

    /// Takes one of our transactions; true if it belongs to a later step, so that this one is over.
    pub fn is_later(&mut self, txn: &Value) -> bool {
        let known = take(&mut self.here, &key(txn));
        let akin = take(&mut self.about, &about(txn));
        let here = known || (akin && !self.is_repeatable);
        !here && self.later.contains_key(&key(txn))
    }
}

fn take(counts: &mut BTreeMap<String, u32>, key: &str) -> bool {
    let Some(count) = counts.get_mut(key).filter(|count| **count > 0) else { return false };
    *count -= 1;
    true
}

fn txns(step: &Value) -> impl Iterator<Item = &Value> {
    step["txns"].as_array().into_iter().flatten()
}

fn key(txn: &Value) -> String {
    judge::compared(txn).unwrap_or_default()
}

/// Whose it is and what it is about.
fn about(txn: &Value) -> String {
    let ops = txn["ops"].as_array().map_or(std::slice::from_ref(txn), Vec::as_slice);
    let paths: Vec<&str> = ops.iter().filter_map(|op| op["path"].as_str()).collect();
    format!("{} {} {paths:?}", txn["by"], txn["op"])
}
