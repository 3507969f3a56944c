//! The inspector: the selected thing with its state, its verbs, its causes and its effects.
//!
//! *Invariant:* a verb carries the script line that it issues, so the button and the console
//! cannot differ.

use super::drawing::icon::Icon;
use super::stage::Session;
use super::target::Target;
use crate::text::Phrase;

/// What the inspector shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectorPicture {
    /// The thing.
    pub target: Target,
    /// The sign beside its name.
    pub sign: Sign,
    /// Its name.
    pub name: Phrase,
    /// Its name among machines: a session id, a path.
    pub exact: String,
    /// How it stands, in a line.
    pub state: Phrase,
    /// Facts about it.
    pub facts: Vec<Fact>,
    /// What can be done to it.
    pub verbs: Vec<Verb>,
    /// What it led to, or is expected to lead to; the latest first.
    pub effects: Vec<Link>,
    /// The event it is about now.
    pub now: Option<Link>,
    /// What caused it; the latest first.
    pub causes: Vec<Link>,
}

/// The sign beside a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A session's ring.
    Ring(Session),
    /// A server's or broker's letter or id.
    Letter(String),
    /// Nothing.
    None,
}

/// A line of what is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub name: Phrase,
    /// What is known.
    pub value: Phrase,
    /// Whether the value is quoted, as a path is.
    pub quoted: bool,
    /// What the value points at.
    pub target: Option<Target>,
}

/// Something a person can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verb {
    /// Its icon.
    pub icon: Icon,
    /// What it is called.
    pub name: Phrase,
    /// Its key.
    pub key: char,
    /// The script line that it issues.
    pub command: String,
}

/// One step of a chain of causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The event, if it has happened.
    pub event: Option<u64>,
    /// What happened.
    pub words: Phrase,
    /// When: relative words.
    pub when: Phrase,
    /// Whether a person did it.
    pub by_you: bool,
}
