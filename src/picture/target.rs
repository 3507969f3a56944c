//! What a person can point at, and the word for it.
//!
//! Panels, sentences and the keyboard all speak of the same things: that is what lets one
//! selection show in five places. Names are those of scripts (`broker1`), so that a target also
//! says on what a command acts. *Invariant:* a target's word names it and nothing else.

use super::stage::Age;
use std::fmt;

/// A thing that can be selected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A process by its name in scripts.
    Process(String),
    /// The ZooKeeper session of a process.
    Session(String),
    /// The one that an earlier life of the process has left behind.
    OldSession(String),
    /// A znode by its path.
    Znode(String),
    /// A partition, `orders-0`, as the cluster sees it.
    Partition(String),
    /// A consumer group.
    Group(String),
    /// An event of the trace.
    Event(u64),
}

impl Target {
    /// A session of this process.
    pub fn session(owner: &str, age: Age) -> Target {
        match age {
            Age::Old => Target::OldSession(owner.to_string()),
            Age::Only | Age::New => Target::Session(owner.to_string()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Process(name) => write!(f, "process:{name}"),
            Target::Session(name) => write!(f, "session:{name}"),
            Target::OldSession(name) => write!(f, "old-session:{name}"),
            Target::Znode(path) => write!(f, "znode:{path}"),
            Target::Partition(name) => write!(f, "partition:{name}"),
            Target::Group(name) => write!(f, "group:{name}"),
            Target::Event(id) => write!(f, "event:{id}"),
        }
    }
}
