//! The client's side of watches: which are registered, for whom, and how to arm them again.
//!
//! The server's side is in `watch`.
//!
//! *Invariant: a watch is registered only after the server has answered that it is armed.*

use super::path::Path;
use super::reply::{Answer, Error, EventKind, WatchEvent};
use super::request::{Op, SetWatches, watch_mode, watcher_type};
use super::zxid::Zxid;
use crate::sim::{OrdMap, OrdSet};

/// What kind of watch was removed.
// Source: Watcher.Event.EventType.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RemovedKind {
    /// On data, or on a missing znode.
    Data,
    /// On children.
    Child,
    /// Persistent, recursive or not.
    Persistent,
}

impl RemovedKind {
    /// Its name in the library.
    pub fn name(self) -> &'static str {
        match self {
            RemovedKind::Data => "DataWatchRemoved",
            RemovedKind::Child => "ChildWatchRemoved",
            RemovedKind::Persistent => "PersistentWatchRemoved",
        }
    }
}

/// Somebody inside the host whom a watch is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Watcher(pub u32);

impl Watcher {
    /// The host itself.
    pub const DEFAULT: Watcher = Watcher(0);
}

type Table = OrdMap<Path, OrdSet<Watcher>>;

/// All watches of a client.
// Source: ZKWatchManager.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Watches {
    data: Table,
    exist: Table,
    child: Table,
    persistent: Table,
    recursive: Table,
}

/// The most that one setWatches request holds, as the length of its paths.
// Source: ClientCnxn.SET_WATCHES_MAX_LENGTH, ZOOKEEPER-706.
const SET_WATCHES_MAX_LEN: usize = 128 * 1024;

impl Watches {
    /// Everybody who has a watch.
    pub fn watchers(&self) -> OrdSet<Watcher> {
        let tables = [&self.data, &self.exist, &self.child, &self.persistent, &self.recursive];
        tables.iter().flat_map(|table| table.values().flatten().copied()).collect()
    }

    /// Notes the watch that an answered request has left.
    // Source: WatchRegistration.
    pub(super) fn register(&mut self, op: &Op, watcher: Watcher, result: &Result<Answer, Error>) {
        let missing = matches!(result, Err(Error::NoNode));
        let table = match op {
            Op::Exists { watch: true, .. } if missing => &mut self.exist,
            _ if result.is_err() => return,
            Op::Exists { watch: true, .. } | Op::GetData { watch: true, .. } => &mut self.data,
            Op::GetChildren { watch: true, .. } | Op::GetChildren2 { watch: true, .. } => {
                &mut self.child
            }
            Op::AddWatch { mode: watch_mode::PERSISTENT, .. } => &mut self.persistent,
            Op::AddWatch { .. } => &mut self.recursive,
            _ => return,
        };
        let path = op.path().expect("an operation that watches has a path");
        table.entry(path.clone()).or_default().insert(watcher);
    }

    /// Forgets the watches of `whom`, or everybody's, on a path; says which those were.
    // Source: ZKWatchManager.removeWatcher.
    pub(super) fn remove(
        &mut self,
        path: &Path,
        kind: i32,
        whom: Option<Watcher>,
    ) -> Vec<(RemovedKind, Vec<Watcher>)> {
        let data = [&mut self.data, &mut self.exist];
        let child = [&mut self.child];
        let persistent = [&mut self.persistent, &mut self.recursive];
        let any = kind == watcher_type::ANY;
        let mut removed = Vec::new();
        let mut note = |kind, tables: &mut [&mut Table]| {
            let watchers: OrdSet<Watcher> =
                tables.iter_mut().flat_map(|table| take_from(table, path, whom)).collect();
            if !watchers.is_empty() {
                removed.push((kind, watchers.into_iter().collect()));
            }
        };
        if any || kind == watcher_type::DATA {
            note(RemovedKind::Data, &mut { data });
        }
        if any || kind == watcher_type::CHILDREN {
            note(RemovedKind::Child, &mut { child });
        }
        if any {
            note(RemovedKind::Persistent, &mut { persistent });
        }
        removed
    }

    /// Whether somebody waits for this.
    pub fn expect(&self, event: &WatchEvent) -> bool {
        !self.clone().fired(event).is_empty()
    }

    /// Whom an event is for; one-shot watches are gone after it.
    // Source: ZKWatchManager.materialize.
    pub(super) fn fired(&mut self, event: &WatchEvent) -> Vec<Watcher> {
        let mut watchers = OrdSet::new();
        let mut take =
            |table: &mut Table| watchers.extend(table.remove(&event.path).into_iter().flatten());
        match event.kind {
            EventKind::NodeCreated | EventKind::NodeDataChanged => {
                take(&mut self.data);
                take(&mut self.exist);
            }
            EventKind::NodeChildrenChanged => take(&mut self.child),
            EventKind::NodeDeleted => {
                take(&mut self.data);
                take(&mut self.exist);
                take(&mut self.child);
            }
        }
        watchers.extend(self.persistent.get(&event.path).into_iter().flatten());
        let mut above = Some(event.path.clone());
        while let Some(path) = above {
            watchers.extend(self.recursive.get(&path).into_iter().flatten());
            above = path.parent();
        }
        watchers.into_iter().collect()
    }

    /// The requests that arm everything again on a new connection.
    // Source: ClientCnxn.SendThread.primeConnection.
    pub(super) fn to_set_again(&self, relative_zxid: Zxid) -> Vec<SetWatches> {
        let lists = [&self.data, &self.exist, &self.child, &self.persistent, &self.recursive];
        let all = lists
            .iter()
            .enumerate()
            .flat_map(|(list, table)| table.keys().map(move |path| (list, path)));
        let mut batches: Vec<SetWatches> = Vec::new();
        let mut len = SET_WATCHES_MAX_LEN;
        for (list, path) in all {
            if len >= SET_WATCHES_MAX_LEN {
                batches.push(SetWatches { relative_zxid, ..SetWatches::default() });
                len = 0;
            }
            let batch = batches.last_mut().expect("one was just begun");
            len += path.as_str().len();
            list_of(batch, list).push(path.clone());
        }
        batches
    }
}

/// Takes one watcher off a path, or all.
fn take_from(table: &mut Table, path: &Path, whom: Option<Watcher>) -> OrdSet<Watcher> {
    let Some(whom) = whom else { return table.remove(path).unwrap_or_default() };
    let Some(watchers) = table.get_mut(path) else { return OrdSet::new() };
    let found = watchers.remove(&whom).then_some(whom);
    if watchers.is_empty() {
        table.remove(path);
    }
    found.into_iter().collect()
}

/// The list of a request, in the order in which `to_set_again` fills them.
fn list_of(batch: &mut SetWatches, list: usize) -> &mut Vec<Path> {
    match list {
        0 => &mut batch.data,
        1 => &mut batch.exist,
        2 => &mut batch.child,
        3 => &mut batch.persistent,
        _ => &mut batch.persistent_recursive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exists(path: &str) -> Op {
        Op::Exists { path: path.into(), watch: true }
    }

    fn event(kind: EventKind, path: &str) -> WatchEvent {
        WatchEvent { kind, path: path.into() }
    }

    #[test]
    fn an_exists_on_a_missing_znode_is_kept_apart() {
        let mut watches = Watches::default();
        watches.register(&exists("/new"), Watcher(1), &Err(Error::NoNode));
        watches.register(&exists("/lost"), Watcher(1), &Err(Error::ConnectionLoss));
        watches.register(&exists("/old"), Watcher(2), &Ok(Answer::Nothing));
        let again = watches.to_set_again(Zxid(7));
        assert_eq!(again.len(), 1);
        assert_eq!((&again[0].data, &again[0].exist), (&vec!["/old".into()], &vec!["/new".into()]));
        assert_eq!(watches.fired(&event(EventKind::NodeCreated, "/new")), [Watcher(1)]);
        assert_eq!(watches.fired(&event(EventKind::NodeCreated, "/new")), []);
    }

    #[test]
    fn persistent_watches_stay_and_recursive_ones_hear_of_everything_below() {
        let mut watches = Watches::default();
        let add = |mode| Op::AddWatch { path: "/a".into(), mode };
        watches.register(&add(watch_mode::PERSISTENT), Watcher(1), &Ok(Answer::Nothing));
        watches.register(&add(watch_mode::PERSISTENT_RECURSIVE), Watcher(2), &Ok(Answer::Nothing));
        for _ in 0..2 {
            assert_eq!(watches.fired(&event(EventKind::NodeCreated, "/a/b")), [Watcher(2)]);
            let both = [Watcher(1), Watcher(2)];
            assert_eq!(watches.fired(&event(EventKind::NodeChildrenChanged, "/a")), both);
        }
        let removed = watches.remove(&"/a".into(), watcher_type::ANY, Some(Watcher(2)));
        assert_eq!(removed, [(RemovedKind::Persistent, vec![Watcher(2)])]);
        assert_eq!(watches.fired(&event(EventKind::NodeCreated, "/a/b")), []);
    }

    #[test]
    fn many_watches_need_several_requests() {
        let mut watches = Watches::default();
        for number in 0..40 {
            let path = format!("/{number:010000}");
            watches.register(&exists(&path), Watcher::DEFAULT, &Ok(Answer::Nothing));
        }
        let again = watches.to_set_again(Zxid(7));
        assert_eq!(again.iter().map(|set| set.data.len()).collect::<Vec<_>>(), [14, 14, 12]);
    }
}
