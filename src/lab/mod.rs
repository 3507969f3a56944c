//! The laboratory: what is saved of a run, and how one moves in it.
//!
//! A [`Recording`] is all that is kept: set-up, seed, and commands at their moments. The [`Lab`]
//! plays it, goes to any moment of it, and forks it into takes when somebody acts in the past.
//!
//! *Invariant:* trace, keyframes and the cluster itself are caches of the recording.

mod importance;
pub mod lesson;
pub mod link;
pub mod logs;
mod lookout;
mod pace;
pub mod points;
mod recording;
pub mod script;
mod show;
mod take;
mod timeline;
pub mod why;

pub use importance::{TURN, importance, importance_in};
pub use lookout::{Lookout, Worth};
pub use pace::{Haste, Pace, Pacer};
pub use recording::{HEADING, Recording, Situation, Turn, situations};
pub use show::SHOWS;
pub use take::{Fork, NotDone, Take, TakeId};
pub use timeline::Lab;
