//! How a tool talks with brokers and ZooKeeper: straight-line code that is run again from its start
//! after each answer, with all answers so far at hand.
//!
//! Not here: what is asked (`admin` and the tools), and the process that sends it (`Tool`).
//!
//! *Invariant: the code draws nothing, reads no clock and keeps no state but through its dialogue,
//! so that the same past leads to the same next question.*
// Real: a tool's thread blocks in `get()`; here the code up to the first question without an
// answer is run anew, because a process is a function of what has happened to it.

use crate::kafka::message::{Request, Response};
use crate::kafka::zookeeper::Replies;
use crate::sim::{Draw, ProcessId, SimTime, Span};
use crate::zk::request::Op;
use std::ops::Range;

/// What came of one question.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// An answer.
    Answered(Response),
    /// The connection broke before it came.
    Disconnected,
    /// It did not come within the request timeout.
    TimedOut,
}

/// What a tool wants next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// To ask all these at once.
    Ask(Vec<(ProcessId, Request)>),
    /// To ask ZooKeeper for all these.
    Read(Vec<Op>),
    /// To wait.
    Pause(Span),
    /// To draw.
    Draw(Draw, Range<u64>),
}

/// What one wish led to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Past {
    /// The outcomes, in the order asked.
    Heard(Vec<Outcome>),
    /// ZooKeeper's answers, in the order asked.
    Read(Replies),
    /// The pause is over.
    Waited,
    /// The number drawn.
    Drawn(u64),
}

/// All that has been heard so far, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dialogue {
    began: SimTime,
    past: Vec<(SimTime, Past)>,
}

impl Dialogue {
    /// Nothing has been asked at `began`.
    pub fn new(began: SimTime) -> Dialogue {
        Dialogue { began, past: Vec::new() }
    }

    /// Notes what a wish has led to.
    pub fn note(&mut self, at: SimTime, past: Past) {
        self.past.push((at, past));
    }

    /// The dialogue from its start.
    pub fn replay(&self) -> Asking<'_> {
        Asking { dialogue: self, next: 0, now: self.began }
    }
}

/// A dialogue as the code of a tool sees it: it asks, and goes on once there is an answer.
pub struct Asking<'a> {
    dialogue: &'a Dialogue,
    next: usize,
    now: SimTime,
}

impl Asking<'_> {
    /// The time of what was heard last.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Asks several brokers at once.
    pub fn ask(&mut self, questions: Vec<(ProcessId, Request)>) -> Result<Vec<Outcome>, Next> {
        if questions.is_empty() {
            return Ok(Vec::new());
        }
        match self.step() {
            None => Err(Next::Ask(questions)),
            Some(Past::Heard(outcomes)) => Ok(outcomes.clone()),
            Some(_) => panic!("a question leads to answers"),
        }
    }

    /// Asks ZooKeeper.
    pub fn read(&mut self, ops: Vec<Op>) -> Result<Replies, Next> {
        if ops.is_empty() {
            return Ok(Vec::new());
        }
        match self.step() {
            None => Err(Next::Read(ops)),
            Some(Past::Read(replies)) => Ok(replies.clone()),
            Some(_) => panic!("a question to ZooKeeper leads to answers"),
        }
    }

    /// Waits.
    pub fn pause(&mut self, span: Span) -> Result<(), Next> {
        match self.step() {
            None => Err(Next::Pause(span)),
            Some(Past::Waited) => Ok(()),
            Some(_) => panic!("a pause leads to its end"),
        }
    }

    /// Draws.
    pub fn draw(&mut self, draw: Draw, range: Range<u64>) -> Result<u64, Next> {
        match self.step() {
            None => Err(Next::Draw(draw, range)),
            Some(Past::Drawn(value)) => Ok(*value),
            Some(_) => panic!("a draw leads to a number"),
        }
    }

    fn step(&mut self) -> Option<&Past> {
        let (at, past) = self.dialogue.past.get(self.next)?;
        self.next += 1;
        self.now = *at;
        Some(past)
    }
}
