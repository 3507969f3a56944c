//! The znode tree: the rows that are open, each with its kind, its owner, its watches and what
//! has changed in it.
//!
//! *Invariant:* a row's place in the list depends on paths only, so that a row keeps its key.

use std::collections::BTreeSet;

use super::drawing::plain_seconds;
use crate::text::Phrase;

/// The tree as it shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreePicture {
    /// The rows that are open, from the top.
    pub rows: Vec<Row>,
    /// What must be said above the tree, such as that nobody can write now.
    pub note: Option<Phrase>,
}

/// What kind a znode is, told by its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It stays.
    Persistent,
    /// It goes with its owner's session.
    Ephemeral,
    /// It goes when its last child has gone.
    Container,
    /// It goes when nobody has touched it for a time.
    Ttl,
}

/// What happened to a row since the last step of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    /// It was created.
    Created,
    /// Its data changed: the old value and the versions before and after.
    Changed {
        /// What it said before.
        old: String,
        /// What it says now.
        new: String,
        /// The data versions before and after.
        versions: (i32, i32),
    },
    /// It was deleted; the row is a ghost.
    Deleted,
}

/// Which of a watch's three forms it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// On data: a bell.
    Data,
    /// On children: a tuning fork.
    Children,
    /// On a path that does not exist yet: a dashed bell.
    Exists,
}

/// The owner of an ephemeral znode, and what is left of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The process whose session it is.
    pub process: String,
    /// What is left of the session, in tenths of a second.
    pub left: i32,
    /// The session's whole time, in tenths of a second.
    pub timeout: i32,
    /// Whether nobody hears from the owner any more.
    pub silent: bool,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The znode's path.
    pub path: String,
    /// How deep it is; a child of the root has depth 0.
    pub depth: i32,
    /// Its kind.
    pub kind: Kind,
    /// How many children it has.
    pub children: i32,
    /// Whether its children are shown.
    pub open: bool,
    /// Its place among its siblings, from 1, and their number.
    pub place: (i32, i32),
    /// A few words of its value.
    pub value: Phrase,
    /// Its owner, if it is ephemeral.
    pub owner: Option<Owner>,
    /// Who watches it, and how.
    pub watches: Vec<(Watch, String)>,
    /// What happened to it.
    pub change: Change,
}

impl Row {
    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The row as it is read aloud.
    pub fn label(&self) -> Phrase {
        let kind = match self.kind {
            Kind::Persistent => "page.znode.persistent",
            Kind::Ephemeral => "page.znode.ephemeral",
            Kind::Container => "page.znode.container",
            Kind::Ttl => "page.znode.ttl",
        };
        let fate = match self.change {
            Change::None => Phrase::nothing(),
            Change::Created => Phrase::key("page.znode.created"),
            Change::Changed { .. } => Phrase::key("page.znode.changed"),
            Change::Deleted => Phrase::key("page.znode.deleted"),
        };
        Phrase::key("page.label.znode")
            .with("name", self.name())
            .with_phrase("kind", Phrase::key(kind))
            .with("children", self.children)
            .with("watches", self.watches.len())
            .with_phrase("fate", fate)
    }

    /// What is left of the owner's session, as it is written at the row's end.
    pub fn left(&self) -> Option<Phrase> {
        let owner = self.owner.as_ref()?;
        Some(Phrase::key("page.seconds").with("n", plain_seconds(owner.left)))
    }
}

/// Which paths are open.
pub type Open = BTreeSet<String>;
