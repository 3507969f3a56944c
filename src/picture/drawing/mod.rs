//! How the things on the stage are drawn: one file a kind, one function a thing.
//!
//! The numbers are those of the plate (`docs/`): pixels of a drawing 832 wide. The classes name
//! meanings, the style sheet gives them ink. *Invariant:* a drawing depends on its thing and its
//! place only, and a place on the number of things only.

pub mod broker;
pub mod client;
pub mod icon;
pub mod plate;
pub mod route;
pub mod server;
pub mod session;
pub mod strip;

use super::shape::Drawing;
use super::target::Target;
use crate::text::Phrase;

/// A thing on the stage as the page holds it: what it is, how it is called, how it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its key: what it shows, and on whom.
    pub key: String,
    /// What is selected with it.
    pub target: Target,
    /// What it is and how it stands, for who does not see it.
    pub label: Phrase,
    /// Where it can be hit: the upper left corner of a box, and its size.
    pub hit: Hit,
    /// How it is drawn.
    pub drawing: Drawing,
}

/// A box by its upper left corner and its size.
pub type Hit = ((i32, i32), (i32, i32));

/// Whether the thing is the selected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Light {
    /// It is.
    Lit,
    /// It is not.
    Plain,
}

impl Light {
    /// The light of a thing, given what is selected.
    pub fn of(target: &Target, selected: Option<&Target>) -> Light {
        if selected == Some(target) { Light::Lit } else { Light::Plain }
    }
}

/// The words for tenths of a second: `3.6 s`.
pub fn seconds(tenths: i32) -> Phrase {
    Phrase::key("page.seconds").with("n", plain_seconds(tenths))
}

/// Tenths of a second without their unit: `3.6`.
pub fn plain_seconds(tenths: i32) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}
