//! What a server has in memory: tree, sessions, watches, and how far it has come; and what it has
//! on disk to build that from.
//!
//! *Invariant: the same txns in the same order give equal trees and sessions on every server.
//! Watches are each server's own. A clone is a few pointers.*

use std::sync::Arc;

use super::epochs::Epochs;
use super::release::Release;
use super::stat::{Millis, SessionId};
use super::tree::Tree;
use super::txn::Txn;
use super::watch::{ConnectionId, WatchTable};
use super::zxid::Zxid;
use crate::sim::{List, OrdMap};

/// Everything a server has in memory about the state that is agreed upon, and its own watches.
// Source: ZKDatabase, DataTree.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Database {
    /// The znodes.
    pub tree: Tree,
    /// All sessions with their timeouts.
    pub sessions: OrdMap<SessionId, Millis>,
    /// The last txn applied.
    pub last_zxid: Zxid,
    /// Watches on data, also of znodes that are missing.
    pub data_watches: WatchTable,
    /// Watches on children.
    pub child_watches: WatchTable,
}

/// What of a database goes into a snapshot.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Snapshot {
    /// The last txn in it.
    pub zxid: Zxid,
    /// The znodes.
    pub tree: Tree,
    /// All sessions with their timeouts.
    pub sessions: OrdMap<SessionId, Millis>,
}

impl Database {
    /// What a snapshot holds, without watches.
    pub fn from_snapshot(snapshot: &Snapshot) -> Database {
        let Snapshot { zxid, tree, sessions } = snapshot.clone();
        Database { tree, sessions, last_zxid: zxid, ..Database::default() }
    }

    /// A snapshot as of now.
    ///
    /// Real: txns go on while the snapshot is written, so that it is ahead of its name ("fuzzy");
    /// here it is of one moment, because the tree is persistent.
    pub fn snapshot(&self) -> Snapshot {
        let (tree, sessions) = (self.tree.clone(), self.sessions.clone());
        Snapshot { zxid: self.last_zxid, tree, sessions }
    }

    /// A connection is gone, and its watches with it.
    pub fn remove_connection(&mut self, connection: ConnectionId) {
        self.data_watches.remove_connection(connection);
        self.child_watches.remove_connection(connection);
    }
}

impl Default for Snapshot {
    fn default() -> Snapshot {
        Database::default().snapshot()
    }
}

/// The disk of a server: the newest snapshot and the txn log.
///
/// Real: the log is cut into files and old snapshots are kept; here there is one log and the
/// newest snapshot, because only what recovery reads matters.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Disk {
    /// The newest snapshot.
    pub snapshot: Snapshot,
    /// All txns that were written, committed or not.
    pub log: List<Arc<Txn>>,
    /// The epoch files; a standalone server has none.
    pub epochs: Epochs,
}

impl Disk {
    /// An empty one of a server of this release.
    pub fn of_release(release: Release) -> Disk {
        let database = Database { tree: Tree::of_release(release), ..Database::default() };
        Disk { snapshot: database.snapshot(), ..Disk::default() }
    }

    /// Appends a txn; it counts as written.
    pub fn append(&mut self, txn: Arc<Txn>) {
        assert!(self.last_zxid() < txn.zxid, "the log grows in the order of zxids");
        self.log.push(txn);
    }

    /// The last txn on disk.
    pub fn last_zxid(&self) -> Zxid {
        self.log.last().map_or(self.snapshot.zxid, |txn| txn.zxid.max(self.snapshot.zxid))
    }

    /// The place in the log of the first txn after `zxid`.
    pub fn first_after(&self, zxid: Zxid) -> u64 {
        let (mut low, mut high) = (0, self.log.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.log[middle].zxid <= zxid {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low as u64
    }

    /// The txns after `zxid`, in order.
    pub fn after(&self, zxid: Zxid) -> impl Iterator<Item = &Arc<Txn>> {
        self.log.iter().skip(usize::try_from(self.first_after(zxid)).expect("a log fits in memory"))
    }

    /// Have so many txns gone by since the last snapshot that it is time for the next?
    ///
    /// Real: a random number between half of `snapCount` and all of it, so that not all servers do
    /// it at once; here the same number, because a snapshot costs nothing.
    // Source: SyncRequestProcessor.shouldSnapshot.
    pub fn is_snapshot_due(&self, snap_count: u64) -> bool {
        self.log.len() as u64 - self.first_after(self.snapshot.zxid) >= snap_count
    }

    /// Forgets every txn after `zxid`.
    // Source: FileTxnLog.truncate.
    pub fn truncate(&mut self, zxid: Zxid) {
        while self.log.last().is_some_and(|txn| txn.zxid > zxid) {
            self.log.pop();
        }
    }

    /// Reads snapshot and log: everything in the log counts.
    // Source: FileTxnSnapLog.restore.
    pub fn recover(&self) -> Database {
        let mut database = Database::from_snapshot(&self.snapshot);
        for txn in self.after(self.snapshot.zxid) {
            database.apply(txn);
        }
        database
    }
}

#[cfg(test)]
mod tests {
    use super::Disk;
    use crate::zk::stat::{Millis, SessionId};
    use crate::zk::txn::{Txn, TxnBody};
    use crate::zk::zxid::Zxid;

    fn disk(zxids: &[i64]) -> Disk {
        let mut disk = Disk::default();
        for zxid in zxids {
            let (session, time) = (SessionId(*zxid), Millis(0));
            let body = TxnBody::CreateSession { timeout: Millis(4000) };
            disk.append(Txn { session, cxid: 0, zxid: Zxid(*zxid), time, body }.into());
        }
        disk
    }

    #[test]
    fn the_log_is_searched_and_cut_by_zxid() {
        let mut disk = disk(&[1, 2, 5, 9]);
        let after =
            |disk: &Disk, zxid| disk.after(Zxid(zxid)).map(|txn| txn.zxid.0).collect::<Vec<_>>();
        assert_eq!(after(&disk, 0), [1, 2, 5, 9]);
        assert_eq!(after(&disk, 3), [5, 9]);
        assert!(after(&disk, 9).is_empty());
        disk.truncate(Zxid(4));
        assert_eq!(disk.last_zxid(), Zxid(2));
        let recovered = disk.recover();
        assert_eq!((recovered.last_zxid, recovered.sessions.len()), (Zxid(2), 2));
    }
}
