//! What a process is: a function of what has happened to it.
//!
//! *Invariant:* a process owns no clock, no dice and no socket; all it wants it puts in its outbox.

use super::fact::{KernelFact, Telling};
use super::outbox::Outbox;
use super::time::ProcessId;
use std::fmt::Debug;
use std::hash::Hash;

/// The words a process speaks.
pub trait Vocabulary: Clone + Debug + Hash + Sized + 'static {
    /// What travels on links.
    type Message: Clone + Debug + Hash;
    /// Names of timers; at most one of each is armed per process.
    type Timer: Copy + Ord + Debug + Hash;
    /// Names of disk writes, given back when they are done.
    type Write: Clone + Debug + Hash;
    /// What somebody outside asks of the process.
    type Request: Clone + Debug + Hash;
    /// What the process tells of itself.
    type Fact: Telling + Clone + Debug + From<KernelFact> + Hash;

    /// The short name of a message, for traces: `proposal`.
    fn message_name(message: &Self::Message) -> &'static str;
    /// The short name of a timer, for traces: `session-tick`.
    fn timer_name(timer: &Self::Timer) -> &'static str;
    /// The short name of a request, for traces: `stop`.
    fn request_name(request: &Self::Request) -> &'static str;
}

/// What can happen to a process.
#[derive(Clone, Debug)]
pub enum Event<W: Vocabulary> {
    /// It has been started; whatever it remembers was on its disk.
    Boot,
    /// A message has come.
    Message {
        /// Who sent it.
        from: ProcessId,
        /// What it says.
        message: W::Message,
    },
    /// The connection with `peer` is gone: it hung up, died or refused.
    Hangup {
        /// The other end.
        peer: ProcessId,
    },
    /// An armed timer has run out.
    Timer(W::Timer),
    /// A write is on the disk.
    Written(W::Write),
    /// A write could not be done: the disk is full.
    Failed(W::Write),
    /// Somebody outside asks for something.
    Request(W::Request),
}

/// One process of the simulation.
pub trait Process: Clone + Debug + Hash {
    /// What it speaks.
    type Words: Vocabulary;

    /// Takes one event.
    fn handle(&mut self, event: Event<Self::Words>, out: &mut Outbox<'_, Self::Words>);

    /// Forgets everything but the disk, and of the disk what was not written yet.
    fn crash(&mut self);

    /// Forgets the disk, too; it does not run.
    fn wipe(&mut self) {}
}
