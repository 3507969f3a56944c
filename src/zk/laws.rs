//! What must hold among the servers of an ensemble at any moment, as pure checks.
//!
//! Who checks them when, and what is shown of it, is not decided here.
//!
//! *Invariant: a check looks, and changes nothing; a breach is told in notation.*

use super::broadcast::Proposals;
use super::database::Database;
use super::ensemble::ServerId;
use super::epochs::Epoch;
use super::quorum_peer::{PeerRole, QuorumPeer};
use super::server::Server;
use super::stat::{Owner, SessionId};
use super::zxid::Zxid;
use crate::sim::OrdSet;

/// One server, running or not.
pub type Subject<'a> = (ServerId, &'a Server);

/// What is wrong, or nothing.
pub type Verdict = Result<(), String>;

/// How many of the last common txns are compared; those before were, when they were the last.
const COMPARED_TXNS: usize = 32;

/// Those who serve, with what they run.
fn serving<'a>(servers: &'a [Subject<'a>]) -> impl Iterator<Item = (ServerId, &'a QuorumPeer)> {
    let peers = servers.iter().filter_map(|(id, server)| Some((*id, server.peer()?)));
    peers.filter(|(_, peer)| peer.epoch().is_some())
}

/// Calls `check` on every two of those who serve.
fn every_two(
    servers: &[Subject<'_>],
    check: impl Fn((ServerId, &QuorumPeer), (ServerId, &QuorumPeer)) -> Verdict,
) -> Verdict {
    let all: Vec<_> = serving(servers).collect();
    for (place, one) in all.iter().enumerate() {
        all[place + 1..].iter().try_for_each(|other| check(*one, *other))?;
    }
    Ok(())
}

/// Z1: no epoch has two leaders.
pub fn one_leader_per_epoch(servers: &[Subject<'_>]) -> Verdict {
    every_two(servers, |(a, one), (b, other)| {
        let leads = |peer: &QuorumPeer| matches!(peer.role(), PeerRole::Leading(_));
        match leads(one) && leads(other) && one.epoch() == other.epoch() {
            true => {
                let epoch = one.epoch().unwrap_or_default();
                Err(format!("leaders={a},{b} epoch={epoch}"))
            }
            false => Ok(()),
        }
    })
}

/// Z2: what one server has applied is a prefix of what any other has.
pub fn histories_are_prefixes(servers: &[Subject<'_>]) -> Verdict {
    every_two(servers, |(a, one), (b, other)| {
        let applied = |peer: &QuorumPeer| {
            let logged = peer.disk().last_zxid();
            peer.database().last_zxid.min(logged)
        };
        let until = applied(one).min(applied(other));
        let from = one.disk().snapshot.zxid.max(other.disk().snapshot.zxid);
        let end = |peer: &QuorumPeer| peer.disk().first_after(until);
        let back = |peer: &QuorumPeer, end: u64, steps: u64| {
            let place = usize::try_from(end.checked_sub(steps)?).expect("a log is in memory");
            Some(peer.disk().log[place].clone()).filter(|txn| txn.zxid > from)
        };
        let ends = (end(one), end(other));
        let differ = (1..=COMPARED_TXNS as u64)
            .any(|steps| back(one, ends.0, steps) != back(other, ends.1, steps));
        match differ {
            false => Ok(()),
            true => Err(format!("servers={a},{b} zxid={until}")),
        }
    })
}

/// Z8: currentEpoch is never above acceptedEpoch; who serves has nothing of a later epoch.
pub fn epochs_are_in_order(servers: &[Subject<'_>]) -> Verdict {
    for (id, server) in servers {
        let epochs = server.disk().epochs;
        if epochs.current > epochs.accepted {
            let (current, accepted) = (epochs.current, epochs.accepted);
            return Err(format!("server={id} current={current} accepted={accepted}"));
        }
    }
    for (id, peer) in serving(servers) {
        let (current, last) = (peer.disk().epochs.current, peer.database().last_zxid);
        if Epoch::of(last) > current {
            return Err(format!("server={id} current={current} zxid={last}"));
        }
    }
    Ok(())
}

/// Z4: within an epoch no zxid is left out; an epoch begins with the first.
pub fn zxids_have_no_gaps(servers: &[Subject<'_>]) -> Verdict {
    for (id, server) in servers {
        let (log, after) = (&server.disk().log, server.disk().snapshot.zxid);
        let from = log.len().saturating_sub(COMPARED_TXNS);
        for place in (from + 1)..log.len() {
            let (before, zxid) = (log[place - 1].zxid, log[place].zxid);
            let follows = match Epoch::of(before) == Epoch::of(zxid) {
                true => zxid.0 == before.0 + 1,
                false => zxid > before && zxid.counter() == server.settings().initial_zxid + 1,
            };
            if before > after && !follows {
                return Err(format!("server={id} zxid={zxid} after={before}"));
            }
        }
    }
    Ok(())
}

/// Z6: what a leader has applied is on the disks of a quorum.
pub fn applied_is_on_a_quorum(servers: &[Subject<'_>]) -> Verdict {
    for (id, peer) in serving(servers) {
        let zxid = peer.database().last_zxid;
        let having = servers.iter().filter(|(_, server)| server.disk().last_zxid() >= zxid);
        let having: OrdSet<ServerId> = having.map(|(id, _)| *id).collect();
        let leads = matches!(peer.role(), PeerRole::Leading(_));
        let is_txn = zxid > Epoch::of(zxid).start();
        if leads && is_txn && !peer.member().ensemble.is_quorum(&having) {
            let having = having.len();
            return Err(format!("server={id} zxid={zxid} disks={having}"));
        }
    }
    Ok(())
}

/// Z9: what a server has acknowledged is on its disk. Who has promised a later epoch, or lost its
/// disk, has taken its word back.
pub fn acks_are_on_disk(servers: &[Subject<'_>]) -> Verdict {
    for (leader, peer) in serving(servers) {
        let epoch = peer.epoch();
        let lacks = |id: ServerId, zxid: Zxid| {
            let mut found = servers.iter().filter(|(server, _)| *server == id);
            found.any(|(_, server)| {
                let disk = server.disk();
                let in_epoch = |of: Epoch| Some(of) == epoch;
                let bound = in_epoch(disk.epochs.accepted) && in_epoch(disk.epochs.current);
                bound && disk.last_zxid() < zxid
            })
        };
        if let Some((id, zxid)) = proposals(peer).and_then(|all| first_ack(all, lacks)) {
            return Err(format!("leader={leader} server={id} zxid={zxid}"));
        }
    }
    Ok(())
}

/// Z26: only voters acknowledge proposals.
pub fn observers_do_not_count(servers: &[Subject<'_>]) -> Verdict {
    for (leader, peer) in serving(servers) {
        let ensemble = &peer.member().ensemble;
        let watches_only = |id, _| !ensemble.is_voter(id);
        if let Some((id, zxid)) = proposals(peer).and_then(|all| first_ack(all, watches_only)) {
            return Err(format!("leader={leader} server={id} zxid={zxid}"));
        }
    }
    Ok(())
}

/// What a leader waits for a quorum to log.
fn proposals(peer: &QuorumPeer) -> Option<&Proposals> {
    match peer.role() {
        PeerRole::Leading(leader) => Some(leader.proposals()),
        _ => None,
    }
}

/// The first acknowledgement that is wrong.
fn first_ack(
    proposals: &Proposals,
    wrong: impl Fn(ServerId, Zxid) -> bool,
) -> Option<(ServerId, Zxid)> {
    let looked_at = proposals.acks().take(COMPARED_TXNS);
    let mut each = looked_at.flat_map(|(zxid, acks)| acks.iter().map(move |id| (*id, zxid)));
    each.find(|(id, zxid)| wrong(*id, *zxid))
}

/// Z24: who has no leader has no clients, but for those that are content with reads.
pub fn no_leader_no_clients(servers: &[Subject<'_>]) -> Verdict {
    for (id, server) in servers {
        let clients = server.front().map_or(0, |front| front.iter().count());
        if clients > 0 && server.access().is_none() {
            return Err(format!("server={id} clients={clients}"));
        }
    }
    Ok(())
}

/// Z10: servers that have applied the same txns have equal trees. To be asked at quiet points.
pub fn equal_trees(servers: &[Subject<'_>]) -> Verdict {
    let all: Vec<_> = serving(servers).collect();
    for (place, (a, one)) in all.iter().enumerate() {
        let same = |peer: &QuorumPeer| peer.database().last_zxid == one.database().last_zxid;
        let Some((b, other)) = all[..place].iter().find(|(_, peer)| same(peer)) else { continue };
        let (one, other) = (one.database(), other.database());
        if one.tree != other.tree || one.sessions != other.sessions {
            return Err(format!("servers={b},{a} zxid={}", one.last_zxid));
        }
    }
    Ok(())
}

/// Z15: the owner of every ephemeral is a session that is known. One that is not, if there is one.
pub fn owner_without_session(database: &Database) -> Option<SessionId> {
    let listed = database.tree.owners().filter(|(_, paths)| !paths.is_empty());
    let listed = listed.map(|(session, _)| *session);
    let owning = database.tree.iter().filter_map(|(_, znode)| match znode.stat.owner {
        Owner::Session(session) => Some(session),
        _ => None,
    });
    listed.chain(owning).find(|session| !database.sessions.contains_key(session))
}

fn ephemerals_have_sessions(servers: &[Subject<'_>]) -> Verdict {
    for (id, server) in servers {
        if let Some(session) = server.database().and_then(owner_without_session) {
            return Err(format!("server={id} session={session}"));
        }
    }
    Ok(())
}

/// A law's name and check.
pub type Law = (&'static str, fn(&[Subject<'_>]) -> Verdict);

/// All laws that are cheap enough to be asked after every event.
pub const LAWS: &[Law] = &[
    ("one-leader-per-epoch", one_leader_per_epoch),
    ("histories-are-prefixes", histories_are_prefixes),
    ("zxids-have-no-gaps", zxids_have_no_gaps),
    ("applied-is-on-a-quorum", applied_is_on_a_quorum),
    ("epochs-are-in-order", epochs_are_in_order),
    ("no-leader-no-clients", no_leader_no_clients),
    ("acks-are-on-disk", acks_are_on_disk),
    ("observers-do-not-count", observers_do_not_count),
];

/// All laws that are for quiet points.
pub const QUIET_LAWS: &[Law] = &[
    ("equal-zxids-mean-equal-trees", equal_trees),
    ("ephemerals-have-sessions", ephemerals_have_sessions),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zk::ensemble::tests::ensemble;
    use crate::zk::stat::Millis;
    use crate::zk::txn::{Txn, TxnBody};

    #[test]
    fn an_ack_is_wrong_of_an_observer_and_of_one_that_has_not_logged() {
        let (zxid, ensemble) = (Zxid::new(5, 1), ensemble(3, 1));
        let body = TxnBody::CreateSession { timeout: Millis(0) };
        let mut proposals = Proposals::default();
        let (session, time) = (SessionId(1), Millis(0));
        proposals.propose(Txn { session, cxid: 0, zxid, time, body }.into());
        proposals.ack(ServerId(2), zxid);
        assert_eq!(first_ack(&proposals, |id, _| !ensemble.is_voter(id)), None);
        assert_eq!(
            first_ack(&proposals, |_, zxid| Zxid::new(5, 0) < zxid).map(|a| a.1),
            Some(zxid)
        );
        proposals.ack(ServerId(4), zxid);
        let observer = Some((ServerId(4), zxid));
        assert_eq!(first_ack(&proposals, |id, _| !ensemble.is_voter(id)), observer);
    }
}
