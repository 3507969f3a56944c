//! The laws of ZooKeeper, as far as they can be seen in the servers' states.
//!
//! *Invariant:* a server that is down is judged by its disk only, and that by its own kind.

use super::{Seen, Verdict, none};
use crate::cluster::{Cluster, Record};
use crate::kafka::words::Fact;
use crate::sim::{Entry, Span};
use crate::zk::database::Database;
use crate::zk::ensemble::ServerId;
use crate::zk::laws::Subject;
use crate::zk::stat::Owner;
use crate::zk::words::Fact as Told;

/// All servers, for the laws of the ensemble.
pub(super) fn subjects(cluster: &Cluster) -> Vec<Subject<'_>> {
    let servers = cluster.processes().filter_map(|(_, _, process)| process.zk());
    (1..).map(ServerId).zip(servers).collect()
}

/// The servers that serve, by name, with what they have in memory.
fn databases(cluster: &Cluster) -> impl Iterator<Item = (&str, &Database)> {
    cluster.processes().filter_map(|(_, name, process)| {
        let server = process.zk()?;
        Some((name, server.database()?))
    })
}

/// Z16: a session is expired no earlier than its timeout after it was heard of, as far as the one
/// who decides had learned of that.
pub(super) fn sessions_get_their_time(
    seen: &mut Seen,
    record: &Record<'_>,
    cluster: &Cluster,
) -> Verdict {
    let Some(process) = record.process else { return Ok(()) };
    let Some(server) = cluster.process(process).zk() else { return Ok(()) };
    seen.heard.insert(record.id, record.at);
    let mut sign = None;
    for entry in record.entries {
        let session = match entry {
            Entry::Because(event) => {
                sign = seen.heard.get(event);
                continue;
            }
            Entry::Fact(Fact::Zk(Told::SessionExpired { session })) => session,
            _ => continue,
        };
        let timeout = server.database().and_then(|database| database.sessions.get(session));
        let (Some(sign), Some(timeout)) = (sign.take(), timeout) else { continue };
        let silence = record.at.since(*sign);
        if silence < Span::ms(timeout.0.unsigned_abs()) {
            let name = cluster.name(process);
            return Err(format!("{name} expired {session} after {}ms", silence.as_ms()));
        }
    }
    Ok(())
}

/// Every znode but the root has a parent that lists it, and no ephemeral has children.
pub(super) fn znodes_have_parents(cluster: &Cluster) -> Verdict {
    for (name, database) in databases(cluster) {
        let tree = &database.tree;
        let orphan = tree.iter().find(|(path, _)| {
            let parent = path.parent().and_then(|parent| tree.znode(&parent));
            let listed = parent.is_some_and(|parent| parent.children.contains(path.name()));
            &***path != "/" && !listed
        });
        none(orphan.map(|(path, _)| format!("{name}: {path} has no parent")))?;
        let parent = tree.iter().find(|(_, znode)| {
            matches!(znode.stat.owner, Owner::Session(_)) && !znode.children.is_empty()
        });
        none(parent.map(|(path, _)| format!("{name}: {path} is ephemeral and has children")))?;
    }
    Ok(())
}

/// A znode is not older than its last change, nor its children younger than its last new child.
pub(super) fn zxids_are_in_order(cluster: &Cluster) -> Verdict {
    for (name, database) in databases(cluster) {
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
