//! The sentence: what just happened, with the things it speaks of as chips.
//!
//! *Invariant:* every chip stands for a field of the catalog's line, whatever the language.

use super::target::Target;
use crate::text::Phrase;

/// The sentence that the bar shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentencePicture {
    /// The line's key.
    pub key: &'static str,
    /// Its fields.
    pub fields: Vec<Field>,
    /// The event that it tells.
    pub event: Option<u64>,
    /// Whether a person did it.
    pub by_you: bool,
}

/// A field of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in the catalog's line.
    pub name: &'static str,
    /// Its words.
    pub words: Phrase,
    /// How it is shown.
    pub chip: Chip,
}

/// How a field is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chip {
    /// As plain words.
    Plain,
    /// As a label that points at nothing: a number.
    Figure,
    /// As a name that points at a thing.
    Name(Target),
    /// As a quoted path that points at a thing.
    Quoted(Target),
}

impl SentencePicture {
    /// The sentence as a phrase, for whoever hears it.
    pub fn phrase(&self) -> Phrase {
        let fields = self.fields.iter().map(|field| (field.name, field.words.clone()));
        Phrase::Line(self.key, fields.collect())
    }
}
