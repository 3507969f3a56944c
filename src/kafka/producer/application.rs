//! The application of a producer: how it sends by itself, and whether it has closed its producer.
//!
//! Not here: how a record comes to a broker; each kind of producer has its own way.
//! *Invariant:* an application that was told to pause sends only what it is told to.

use super::words::{ProducerTimer, Steady, ToSend};
use crate::kafka::words::Words;
use crate::sim::Outbox;

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// It sends, or may.
    Running,
    /// It has closed its producer, which still sends what it has.
    Closing,
    /// It has ended.
    Ended,
}

/// How it sends by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pace {
    steady: Option<Steady>,
    /// How many records it has sent so.
    sent: u64,
}

impl Pace {
    /// It sends steadily from now on.
    pub fn begin(&mut self, steady: Steady, out: &mut Outbox<'_, Words>) {
        out.arm(ProducerTimer::Steady, steady.every);
        self.steady = Some(steady);
    }

    /// It sends nothing more by itself.
    pub fn pause(&mut self, out: &mut Outbox<'_, Words>) {
        self.steady = None;
        out.disarm(ProducerTimer::Steady);
    }

    /// The next record, now that its time has come.
    pub fn next(&mut self, out: &mut Outbox<'_, Words>) -> Option<ToSend> {
        let steady = self.steady.as_ref()?;
        out.arm(ProducerTimer::Steady, steady.every);
        let record = steady.record(self.sent);
        self.sent += 1;
        Some(record)
    }
}
