//! The laws of ZooKeeper, as far as they can be seen in the servers' and their clients' states.
//!
//! *Invariant:* a server that is down is judged by its disk only, and that by its own kind.

use super::{Seen, Verdict, Witness, none};
use crate::cluster::{AnyProcess, Cluster};
use crate::kafka::words::Fact;
use crate::sim::{Entry, ProcessId, Span};
use crate::zk::database::Database;
use crate::zk::ensemble::ServerId;
use crate::zk::laws::{Subject, owner_without_session};
use crate::zk::path::Path;
use crate::zk::quorum_peer::PeerRole;
use crate::zk::stat::{Owner, SessionId};
use crate::zk::tree::{Tree, Znode};
use crate::zk::words::Fact as Told;
use crate::zk::zxid::Zxid;

/// All servers, for the laws of the ensemble.
pub(super) fn subjects(cluster: &Cluster) -> Vec<Subject<'_>> {
    let servers = cluster.processes().filter_map(|(_, _, process)| process.zk());
    (1..).map(ServerId).zip(servers).collect()
}

/// The servers that serve, by name, with what they have in memory.
pub(super) fn databases(cluster: &Cluster) -> impl Iterator<Item = (&str, &Database)> {
    cluster.processes().filter_map(|(_, name, process)| {
        let server = process.zk()?;
        Some((name, server.database()?))
    })
}

/// What the server has that decides, if one does: others may lag, and one that looks for a leader
/// knows only what was on its own disk.
pub(super) fn decided(cluster: &Cluster) -> Option<&Database> {
    let servers = cluster.processes().filter_map(|(_, _, process)| process.zk());
    let decide = servers.filter(|server| server.tracker().is_some());
    decide.filter_map(|server| server.database()).max_by_key(|database| database.last_zxid)
}

/// Z16: a session is expired no earlier than its timeout after it was heard of, as far as the one
/// who decides had learned of that, and by no faster clock than its own has been.
pub(super) fn sessions_get_their_time(_: &mut Seen, witness: &Witness<'_>) -> Verdict {
    let Witness { record, cluster, trace, .. } = witness;
    let Some(process) = record.process else { return Ok(()) };
    let Some(server) = cluster.process(process).zk() else { return Ok(()) };
    let mut sign = None;
    for entry in record.entries {
        let session = match entry {
            Entry::Because(event) => {
                sign = trace.find(*event).and_then(|index| Some(trace.get(index)?.at));
                continue;
            }
            Entry::Fact(Fact::Zk(Told::SessionExpired { session })) => session,
            _ => continue,
        };
        let timeout = server.database().and_then(|database| database.sessions.get(session));
        let (Some(sign), Some(timeout)) = (sign.take(), timeout) else { continue };
        let fastest = u64::from(cluster.fastest_clock(process));
        let silence = (record.at.since(sign) * fastest).divided_by(100);
        if silence < Span::ms(timeout.0.unsigned_abs()) {
            let name = cluster.name(process);
            let silence = silence.as_ms();
            return Err(format!("server={name} session={session} silence={silence}ms"));
        }
    }
    Ok(())
}

/// The znodes that were changed after that zxid, or were given or lost a child.
fn changed(tree: &Tree, since: Zxid) -> impl Iterator<Item = (&Path, &Znode)> {
    tree.iter().filter(move |(_, znode)| znode.stat.mzxid.max(znode.stat.pzxid) >= since)
}

/// Z12: every znode but the root has a parent that lists it, and no ephemeral has children.
pub(super) fn znodes_have_parents(name: &str, database: &Database, since: Zxid) -> Verdict {
    let tree = &database.tree;
    let wrong = changed(tree, since).find(|(path, znode)| {
        let parent = path.parent().and_then(|parent| tree.znode(&parent));
        let listed = parent.is_some_and(|parent| parent.children.contains(path.name()));
        let bears = matches!(znode.stat.owner, Owner::Session(_)) && !znode.children.is_empty();
        (&***path != "/" && !listed) || bears
    });
    none(wrong.map(|(path, _)| format!("server={name} path={path}")))
}

/// Z13: a znode is not older than its last change, nor its children younger than its last new
/// child.
pub(super) fn zxids_are_in_order(name: &str, database: &Database, since: Zxid) -> Verdict {
    let tree = &database.tree;
    let wrong = changed(tree, since).find(|(path, znode)| {
        let stat = &znode.stat;
        let parent = path.parent().and_then(|parent| tree.znode(&parent));
        let late = parent.is_some_and(|parent| parent.stat.pzxid < stat.czxid);
        let ahead = stat.mzxid > database.last_zxid;
        late || ahead || stat.czxid > stat.mzxid || stat.czxid > stat.pzxid
    });
    none(wrong.map(|(path, _)| format!("server={name} path={path}")))
}

/// Z15: the owner of every ephemeral is a session that is known.
pub(super) fn ephemerals_have_sessions(name: &str, database: &Database, _: Zxid) -> Verdict {
    let wrong = owner_without_session(database);
    none(wrong.map(|session| format!("server={name} session={session}")))
}

/// Z17, Z25: within one session a client never sees less than it has seen.
pub(super) fn clients_never_go_back(
    seen: &mut Seen,
    process: ProcessId,
    cluster: &Cluster,
) -> Verdict {
    let Some((session, zxid)) = client(cluster.process(process)) else { return Ok(()) };
    let before = seen.zxids.get(&process).copied();
    if before != Some((session, zxid)) {
        seen.zxids.insert(process, (session, zxid));
    }
    let fell = before.filter(|before| before.0 == session && before.1 > zxid);
    none(fell.map(|before| {
        let name = cluster.name(process);
        format!("client={name} session={session} zxid={zxid} was={}", before.1)
    }))
}

/// The session of a client, and how far it has seen.
pub(super) fn client(process: &AnyProcess) -> Option<(SessionId, Zxid)> {
    if let AnyProcess::Shell(shell) = process {
        let client = shell.client()?;
        return Some((client.session(), client.last_zxid()));
    }
    let client = process.broker()?.running()?.zookeeper().client();
    Some((client.session(), client.last_zxid()))
}

/// Z28: within one round of an election a server only ever changes to a better vote.
pub(super) fn votes_only_rise(seen: &mut Seen, process: ProcessId, cluster: &Cluster) -> Verdict {
    let peer = cluster.process(process).zk().and_then(|server| server.peer());
    let Some(PeerRole::Looking(looking)) = peer.map(|peer| peer.role()) else {
        if seen.votes.contains_key(&process) {
            seen.votes.remove(&process);
        }
        return Ok(());
    };
    let now = (looking.round(), looking.proposed());
    let before = seen.votes.get(&process).copied();
    if before != Some(now) {
        seen.votes.insert(process, now);
    }
    let fell = before.filter(|before| before.0 == now.0 && before.1 > now.1);
    none(fell.map(|before| {
        let (name, round) = (cluster.name(process), now.0);
        let (vote, was) = (now.1.candidate, before.1.candidate);
        format!("server={name} round={round} vote={vote} was={was}")
    }))
}
