//! The kernel: simulated time, chance, the queue that is the network, and the processes that live
//! in it. It has not heard of ZooKeeper.
//!
//! A [`Process`] is a function of what has happened to it: it gets an [`Event`], changes itself and
//! puts wishes in an [`Outbox`]. [`Sim`] owns the clock, the dice, the links and the disks, and
//! leaves one record per event in a [`Trace`].
//!
//! *Invariant:* the same seed and the same interventions at the same moments give the same records,
//! to the last bit, on every machine.

mod chance;
pub mod fact;
mod hash;
mod link;
mod list;
mod ord_map;
mod ord_set;
mod outbox;
mod process;
mod queue;
mod seat;
mod simulation;
pub mod sort;
mod time;
mod trace;

pub use chance::Draw;
pub use fact::{KernelFact, ProcessName, Telling};
pub use hash::{StableHasher, hash_of};
pub use link::Direction;
pub use list::List;
pub use ord_map::{Near, OrdMap};
pub use ord_set::OrdSet;
pub use outbox::{Effect, Outbox, wishes};
pub use process::{Event, Process, Vocabulary};
pub use queue::{Flight, Landing};
pub use seat::{Power, Room};
pub use simulation::{Intervention, Network, Sim};
pub use time::{EventId, Moment, ProcessId, SimTime, Span};
pub use trace::{Entry, Record, Trace, What};
