//! One cluster: every kind of process under one roof, how a cluster is set up, what somebody may do
//! to it from outside, and the laws that it must never break.
//!
//! Whatever enters from outside is a [`Command`]; its row in [`COMMANDS`] is its whole listing,
//! which parser, help, completion and palette read.
//!
//! *Invariant:* setup, seed and commands at their moments are the whole run.

mod any_process;
pub mod clients;
pub mod command;
pub mod laws;
pub mod notation;
pub mod setup;
pub mod work;

pub use any_process::{AnyProcess, Kind, assemble};
pub use command::{COMMANDS, Command, Row, check};
pub use notation::Trouble;
pub use setup::Setup;
pub use work::Work;

/// What every process of the cluster speaks.
pub type Words = crate::kafka::words::Words;

/// The simulation of all processes.
pub type Cluster = crate::sim::Sim<AnyProcess>;

/// What has happened in it.
pub type Trace = crate::sim::Trace<Words>;

/// One event of it.
pub type Record<'a> = crate::sim::Record<'a, Words>;
