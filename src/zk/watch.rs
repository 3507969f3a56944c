//! Watches: who has asked to be told of which change to which path.
//!
//! A server has two such tables, one for data and one for children; `apply` says in which order a
//! change goes through them. Whether the watcher may read the znode is asked when the event is
//! sent.
//!
//! *Invariant: a connection has one mode for each path of a table: the last one armed wins. A
//! one-shot watch is gone once it has fired, seen or not.*
//!
//! Real: from 3.9 a connection may have several modes on one path (ZOOKEEPER-4466); here it is as
//! in 3.8, because that is the release shown.

use super::path::{self, Path};
use super::reply::EventKind;
use crate::sim::{OrdMap, OrdSet, ProcessId, sort};

/// One connection of a server, never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId {
    /// The client's process.
    pub peer: ProcessId,
    /// Which of its connections since the server started.
    pub number: u32,
}

/// How long a watch stays, and what it covers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WatchMode {
    /// Until it fires.
    OneShot,
    /// Until it is removed.
    Persistent,
    /// Until it is removed; covers everything below, but no NodeChildrenChanged.
    Recursive,
}

type Watchers = OrdMap<ConnectionId, WatchMode>;

/// One table of watches.
// Source: WatchManager, WatcherModeManager (3.8).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct WatchTable {
    by_path: OrdMap<Path, Watchers>,
    by_connection: OrdMap<ConnectionId, OrdSet<Path>>,
    recursive: u32,
}

impl WatchTable {
    /// Arms a watch, in place of what the connection had on this path.
    pub fn arm(&mut self, path: &Path, connection: ConnectionId, mode: WatchMode) {
        if self.mode(path, connection) == Some(mode) {
            return;
        }
        self.remove(path, connection);
        let mut watchers = self.by_path.get(path).cloned().unwrap_or_default();
        watchers.insert(connection, mode);
        self.by_path.insert(path.clone(), watchers);
        let mut paths = self.by_connection.get(&connection).cloned().unwrap_or_default();
        paths.insert(path.clone());
        self.by_connection.insert(connection, paths);
        self.recursive += u32::from(mode == WatchMode::Recursive);
    }

    /// What the connection has armed on exactly this path.
    pub fn mode(&self, path: &str, connection: ConnectionId) -> Option<WatchMode> {
        self.by_path.get(path)?.get(&connection).copied()
    }

    /// Removes what the connection has armed on exactly this path; says whether there was
    /// something.
    pub fn remove(&mut self, path: &str, connection: ConnectionId) -> bool {
        let Some(mode) = self.mode(path, connection) else { return false };
        self.forget(path, connection);
        self.forget_path(path, connection);
        self.recursive -= u32::from(mode == WatchMode::Recursive);
        true
    }

    /// Is there a watch on exactly this path, whosesoever?
    ///
    /// The real server means to ask for the caller's own, but takes anybody's.
    // Source: WatchManager.containsWatcher (3.6 to 3.8), which checkWatches asks.
    pub fn has_watch(&self, path: &str) -> bool {
        self.by_path.contains_key(path)
    }

    /// Removes everything that a connection has armed.
    pub fn remove_connection(&mut self, connection: ConnectionId) {
        let Some(paths) = self.by_connection.get(&connection).cloned() else { return };
        for path in paths.iter() {
            self.remove(path, connection);
        }
    }

    /// Fires the watches on `path`: says who is to be told, each once, and spends one-shot watches.
    // Source: WatchManager.triggerWatch, PathParentIterator.
    pub fn trigger(&mut self, path: &str, kind: EventKind) -> Vec<ConnectionId> {
        let mut told = Vec::new();
        self.trigger_at(path, kind, &mut told);
        if self.recursive > 0 && kind != EventKind::NodeChildrenChanged {
            let mut above = path::parent(path);
            while let Some(path) = above {
                self.collect_recursive(path, &mut told);
                above = path::parent(path);
            }
            sort::sort(&mut told);
            told.dedup();
        }
        told
    }

    /// All watches: path, connection, mode.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, ConnectionId, WatchMode)> {
        self.by_path.iter().flat_map(|(path, watchers)| {
            watchers.iter().map(move |(connection, mode)| (path, *connection, *mode))
        })
    }

    /// Is nothing armed?
    pub fn is_empty(&self) -> bool {
        self.by_path.is_empty()
    }

    /// How many paths are watched.
    pub fn path_count(&self) -> u32 {
        self.by_path.len() as u32
    }

    /// How many watches.
    pub fn count(&self) -> u32 {
        let count: usize = self.by_path.values().map(|watchers| watchers.len()).sum();
        u32::try_from(count).expect("a server holds fewer than 2^32 watches")
    }

    fn trigger_at(&mut self, path: &str, kind: EventKind, told: &mut Vec<ConnectionId>) {
        let Some(watchers) = self.by_path.get(path).cloned() else { return };
        for (connection, mode) in watchers.iter() {
            match mode {
                WatchMode::Recursive if kind == EventKind::NodeChildrenChanged => {}
                WatchMode::Recursive | WatchMode::Persistent => told.push(*connection),
                WatchMode::OneShot => {
                    told.push(*connection);
                    self.remove(path, *connection);
                }
            }
        }
    }

    fn collect_recursive(&self, path: &str, told: &mut Vec<ConnectionId>) {
        let watchers = self.by_path.get(path).into_iter().flat_map(|watchers| watchers.iter());
        let recursive = watchers.filter(|(_, mode)| **mode == WatchMode::Recursive);
        told.extend(recursive.map(|(connection, _)| *connection));
    }

    fn forget(&mut self, path: &str, connection: ConnectionId) {
        let watchers = self.by_path.get_mut(path).expect("the watch was just seen");
        watchers.remove(&connection);
        if watchers.is_empty() {
            self.by_path.remove(path);
        }
    }

    fn forget_path(&mut self, path: &str, connection: ConnectionId) {
        let paths = self.by_connection.get_mut(&connection).expect("both maps know each watch");
        paths.remove(path);
        if paths.is_empty() {
            self.by_connection.remove(&connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ConnectionId, WatchMode, WatchTable};
    use crate::sim::ProcessId;
    use crate::zk::path::Path;
    use crate::zk::reply::EventKind;

    const A: ConnectionId = ConnectionId { peer: ProcessId(1), number: 0 };
    const B: ConnectionId = ConnectionId { peer: ProcessId(2), number: 0 };

    fn table(watches: &[(&str, ConnectionId, WatchMode)]) -> WatchTable {
        let mut table = WatchTable::default();
        for (path, connection, mode) in watches {
            table.arm(&Path::new(path), *connection, *mode);
        }
        table
    }

    #[test]
    fn one_shot_watches_fire_once() {
        let mut table = table(&[("/a", A, WatchMode::OneShot), ("/a", B, WatchMode::Persistent)]);
        assert_eq!(table.trigger("/a", EventKind::NodeDataChanged), [A, B]);
        assert_eq!(table.trigger("/a", EventKind::NodeDataChanged), [B]);
        assert_eq!(table.count(), 1);
    }

    #[test]
    fn recursive_watches_cover_what_is_below_but_not_lists_of_children() {
        let mut table = table(&[("/", A, WatchMode::Recursive), ("/a/b", A, WatchMode::Recursive)]);
        assert_eq!(table.trigger("/a/b/c", EventKind::NodeCreated), [A]);
        assert_eq!(table.trigger("/a/b", EventKind::NodeChildrenChanged), []);
        table.remove_connection(A);
        assert_eq!(table.trigger("/a/b/c", EventKind::NodeCreated), []);
        assert_eq!(table, WatchTable::default());
    }

    #[test]
    fn the_last_mode_wins() {
        let mut table = table(&[("/a", A, WatchMode::Persistent), ("/a", A, WatchMode::OneShot)]);
        assert_eq!(table.trigger("/a", EventKind::NodeDataChanged), [A]);
        assert_eq!(table.trigger("/a", EventKind::NodeDataChanged), []);
    }
}
