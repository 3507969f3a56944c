//! The znode tree: the rows that are open, each with its kind, its owner, its watches and what
//! has changed in it.
//!
//! *Invariant:* a row's place in the list depends on paths only, so that a row keeps its key.

use std::sync::Arc;

use super::drawing::plain_seconds;
use super::ensemble::{self, Run};
use super::stage::Thread;
use super::story;
use super::target::Target;
use super::znode_value;
use crate::kafka::znodes;
use crate::sim::{OrdMap, OrdSet};
use crate::text::Phrase;
use crate::zk::path::Path;
use crate::zk::stat::{self, SessionId};
use crate::zk::tree::{Tree, Znode};

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
    /// It was deleted with the session that it belonged to.
    Ended,
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
    /// What is selected with the session.
    pub session: Option<Target>,
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
            Change::Deleted | Change::Ended => Phrase::key("page.znode.deleted"),
        };
        let watchers: usize = self.watches.iter().map(|(_, who)| who.split(' ').count()).sum();
        Phrase::key("page.label.znode")
            .with_phrase("kind", Phrase::key(kind))
            .with("children", self.children)
            .with("watches", watchers)
            .with_phrase("fate", fate)
    }

    /// What is left of the owner's session, as it is written at the row's end.
    pub fn left(&self) -> Option<Phrase> {
        let owner = self.owner.as_ref()?;
        Some(Phrase::key("page.seconds").with("n", plain_seconds(owner.left)))
    }
}

/// Which paths are open.
pub type Open = OrdSet<String>;

/// What is open before a person opens anything: the way to brokers and to topics.
pub fn opened_first() -> Open {
    let ends = [znodes::broker_ids(), znodes::topics()];
    let up = |path: &Path| std::iter::successors(Some(path.clone()), Path::parent);
    ends.iter().flat_map(up).map(|path| path.to_string()).collect()
}

/// What a tree is drawn from.
pub struct Sight<'a> {
    /// The tree at the cursor.
    pub now: &'a Tree,
    /// The tree at the last step of a person.
    pub before: &'a Tree,
    /// Which paths are open.
    pub open: &'a Open,
    /// What a path must have in it to be shown, as long as this is not empty.
    pub filter: &'a str,
    /// Whose session this is, and what is left of it.
    pub owner: &'a dyn Fn(SessionId) -> Option<Owner>,
    /// Who watches which path.
    pub watches: &'a OrdMap<String, Vec<(Watch, String)>>,
}

/// The tree that the run's ensemble agrees on.
pub fn tree(run: Run<'_>, before: &Tree, open: &Open, filter: &str) -> TreePicture {
    let Some((_, database)) = ensemble::witness(run.cluster) else {
        return TreePicture { rows: Vec::new(), note: Some(Phrase::key("page.tree.nobody")) };
    };
    let sessions = ensemble::sessions(run);
    let owner = |session| {
        let held = sessions.iter().find(|held| held.id == session)?;
        Some(Owner {
            process: held.owner.clone().unwrap_or_else(|| session.to_string()),
            session: held.target(),
            left: held.left,
            timeout: held.timeout,
            silent: held.thread == Thread::Slack,
        })
    };
    let watches = ensemble::watches(run.cluster);
    let sight =
        Sight { now: &database.tree, before, open, filter, owner: &owner, watches: &watches };
    let led = ensemble::leader(run.cluster).is_some();
    let note = (!led).then(|| Phrase::key("page.tree.no-leader"));
    TreePicture { rows: rows(&sight), note }
}

/// The rows of a tree.
pub fn rows(sight: &Sight<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    below(sight, "", 0, &mut rows);
    rows
}

/// The children of a path and what is open below them.
fn below(sight: &Sight<'_>, parent: &str, depth: i32, rows: &mut Vec<Row>) {
    let names = names_under(sight, parent);
    let count = i32::try_from(names.len()).expect("a tree fits in memory");
    for (name, place) in names.iter().zip(1..) {
        let path = format!("{parent}/{name}");
        let found = sight.filter.is_empty() || is_found(sight, &path);
        let open = sight.open.contains(&path) || !sight.filter.is_empty();
        let row = found.then(|| row(sight, &path, (depth, (place, count)), open)).flatten();
        let Some(row) = row else { continue };
        let has_more = row.open;
        rows.push(row);
        if has_more {
            below(sight, &path, depth + 1, rows);
        }
    }
}

/// Whether what is looked for is in a path, or in one below it.
fn is_found(sight: &Sight<'_>, path: &str) -> bool {
    let below = |name: &Arc<str>| is_found(sight, &format!("{path}/{name}"));
    path.contains(sight.filter) || names_under(sight, path).iter().any(below)
}

/// The names of children that are there, or were there at the last step.
fn names_under(sight: &Sight<'_>, parent: &str) -> OrdSet<Arc<str>> {
    let path = if parent.is_empty() { "/" } else { parent };
    let nodes = [sight.now.znode(path), sight.before.znode(path)];
    nodes.into_iter().flatten().flat_map(|node| node.children.iter().cloned()).collect()
}

fn row(
    sight: &Sight<'_>,
    path: &str,
    (depth, place): (i32, (i32, i32)),
    open: bool,
) -> Option<Row> {
    let (now, before) = (sight.now.znode(path), sight.before.znode(path));
    let znode = now.or(before)?;
    let children = i32::try_from(names_under(sight, path).len()).unwrap_or(i32::MAX);
    let open = open && children > 0;
    let owner = match znode.stat.owner {
        stat::Owner::Session(session) if now.is_some() => (sight.owner)(session),
        _ => None,
    };
    Some(Row {
        depth,
        kind: kind(znode),
        children,
        open,
        place,
        value: value(sight.now, path, znode, open),
        owner,
        watches: strung(sight.watches.get(path)),
        change: change(sight, path, open),
        path: path.to_string(),
    })
}

/// The watchers of a path, those of a kind together, by their short names.
fn strung(watches: Option<&Vec<(Watch, String)>>) -> Vec<(Watch, String)> {
    let mut strung: Vec<(Watch, String)> = Vec::new();
    for (watch, who) in watches.into_iter().flatten() {
        let who = story::short(who);
        match strung.iter_mut().find(|(kind, _)| kind == watch) {
            Some((_, names)) => *names = format!("{names} {who}"),
            None => strung.push((*watch, who)),
        }
    }
    strung
}

fn kind(znode: &Znode) -> Kind {
    match znode.stat.owner {
        stat::Owner::Persistent => Kind::Persistent,
        stat::Owner::Session(_) => Kind::Ephemeral,
        stat::Owner::Container => Kind::Container,
        stat::Owner::Ttl(_) => Kind::Ttl,
    }
}

/// A closed row speaks for the one below it, where that one says all there is to say.
fn value(tree: &Tree, path: &str, znode: &Znode, open: bool) -> Phrase {
    if !open && let Some(state) = tree.znode(&format!("{path}/state")) {
        return Phrase::raw(znode_value::words(&format!("{path}/state"), &state.data));
    }
    Phrase::raw(znode_value::words(path, &znode.data))
}

fn change(sight: &Sight<'_>, path: &str, open: bool) -> Change {
    match (sight.now.znode(path), sight.before.znode(path)) {
        (Some(_), None) => Change::Created,
        (None, Some(before)) => match before.stat.owner {
            stat::Owner::Session(session) if (sight.owner)(session).is_none() => Change::Ended,
            _ => Change::Deleted,
        },
        (None, None) => Change::Deleted,
        (Some(now), Some(before)) if now.stat.czxid != before.stat.czxid => Change::Created,
        (Some(now), Some(before)) if now.stat.version != before.stat.version => {
            changed(path, now, before)
        }
        _ if open => Change::None,
        _ => below_changed(sight, path).unwrap_or(Change::None),
    }
}

fn changed(path: &str, now: &Znode, before: &Znode) -> Change {
    Change::Changed {
        old: znode_value::words(path, &before.data),
        new: znode_value::words(path, &now.data),
        versions: (before.stat.version, now.stat.version),
    }
}

/// The change of the state under a closed partition.
fn below_changed(sight: &Sight<'_>, path: &str) -> Option<Change> {
    let path = format!("{path}/state");
    let (now, before) = (sight.now.znode(&path)?, sight.before.znode(&path)?);
    (now.stat.version != before.stat.version).then(|| changed(&path, now, before))
}
