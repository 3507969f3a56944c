//! Pictures: pure functions from the state of a run to what a panel shows, geometry included.
//!
//! A picture is a plain value that can be compared, so that a panel is redrawn only when what it
//! shows has changed. Nothing here knows a browser or a language in use.
//! *Invariant:* the same state and the same view give the same picture.

pub mod brokers;
pub mod chronicle;
pub mod console;
pub mod drawing;
pub mod ensemble;
pub mod flight;
pub mod groups;
pub mod inspector;
pub mod lanes;
pub mod laws;
pub mod legend;
pub mod log_files;
pub mod palette;
pub mod properties;
pub mod run_text;
pub mod sentence;
pub mod shape;
pub mod stage;
pub mod story;
pub mod target;
pub mod tree;
pub mod znode_value;
