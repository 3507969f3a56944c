//! The laws of ZooKeeper, as far as they can be seen in the servers' states.
//!
//! *Invariant:* a server that is down is judged by its disk only, and that by its own kind.

use super::{Verdict, none};
use crate::cluster::Cluster;
use crate::zk::database::Database;
use crate::zk::server::Server;
use crate::zk::stat::Owner;

/// The servers that serve, by name, with what they have in memory.
fn databases(cluster: &Cluster) -> impl Iterator<Item = (&str, &Server, &Database)> {
    cluster.processes().filter_map(|(_, name, process)| {
        let server = process.zk()?;
        Some((name, server, server.database()?))
    })
}

/// Every znode but the root has a parent that lists it, and no ephemeral has children.
pub(super) fn znodes_have_parents(cluster: &Cluster) -> Verdict {
    for (name, _, database) in databases(cluster) {
        let tree = &database.tree;
        let orphan = tree.iter().find(|(path, _)| {
            let parent = path.parent().and_then(|parent| tree.znode(&parent));
            let listed = parent.is_some_and(|parent| parent.children.contains(path.name()));
            &***path != "/" && !listed
        });
        none(orphan.map(|(path, _)| format!("{name}: {path} has no parent")))?;
        let parent = tree.iter().find(|(_, znode)| {
            matches!(znode.stat.owner, Owner::Session(_)) && znode.children.size() > 0
        });
        none(parent.map(|(path, _)| format!("{name}: {path} is ephemeral and has children")))?;
    }
    Ok(())
}

/// The owner of every ephemeral is a session that lives.
pub(super) fn ephemerals_have_sessions(cluster: &Cluster) -> Verdict {
    for (name, _, database) in databases(cluster) {
        let orphan = database.tree.iter().find_map(|(path, znode)| match znode.stat.owner {
            Owner::Session(session) if !database.sessions.contains_key(&session) => {
                Some(format!("{name}: {path} belongs to session {session}, which is no more"))
            }
            _ => None,
        });
        none(orphan)?;
    }
    Ok(())
}

/// A znode is not older than its last change, nor its children younger than its last new child.
pub(super) fn zxids_are_in_order(cluster: &Cluster) -> Verdict {
    for (name, _, database) in databases(cluster) {
        let tree = &database.tree;
        let wrong = tree.iter().find(|(path, znode)| {
            let stat = &znode.stat;
            let parent = path.parent().and_then(|parent| tree.znode(&parent));
            let late = parent.is_some_and(|parent| parent.stat.pzxid < stat.czxid);
            late || stat.czxid > stat.mzxid || stat.czxid > stat.pzxid
        });
        none(wrong.map(|(path, _)| format!("{name}: the zxids of {path} are out of order")))?;
        let ahead = tree.iter().find(|(_, znode)| znode.stat.mzxid > database.last_zxid);
        none(ahead.map(|(path, _)| format!("{name}: {path} is ahead of the server")))?;
    }
    Ok(())
}

/// Servers that have applied the same have equal trees and sessions.
pub(super) fn servers_agree(cluster: &Cluster) -> Verdict {
    let all: Vec<_> = databases(cluster).collect();
    for (index, (name, _, database)) in all.iter().enumerate() {
        let differs = all[index + 1..].iter().find(|(_, _, other)| {
            let same = database.tree == other.tree && database.sessions == other.sessions;
            database.last_zxid == other.last_zxid && !same
        });
        let zxid = database.last_zxid;
        none(differs.map(|(other, _, _)| format!("{name} and {other} differ at {zxid}")))?;
    }
    Ok(())
}

/// What one server has applied is a beginning of what another has applied, or the other way round.
pub(super) fn logs_are_prefixes(cluster: &Cluster) -> Verdict {
    let all: Vec<_> = databases(cluster).collect();
    for (index, (name, server, database)) in all.iter().enumerate() {
        for (other, other_server, other_database) in &all[index + 1..] {
            let last = database.last_zxid.min(other_database.last_zxid);
            let first = server.disk().snapshot.zxid.max(other_server.disk().snapshot.zxid);
            let applied = |server: &Server| {
                let log = server.disk().log.iter();
                let log = log.skip_while(|txn| txn.zxid <= first);
                log.take_while(|txn| txn.zxid <= last).cloned().collect::<Vec<_>>()
            };
            if applied(server) != applied(other_server) {
                return Err(format!("{name} and {other} have applied different txns by {last}"));
            }
        }
    }
    Ok(())
}
