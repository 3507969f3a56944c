//! What must hold among the servers of an ensemble at any moment, as pure checks.
//!
//! Who checks them when, and what is shown of it, is not decided here.
//!
//! *Invariant: a check looks, and changes nothing; a breach is told in the servers' own words.*

use super::ensemble::ServerId;
use super::epochs::Epoch;
use super::quorum_peer::{PeerRole, QuorumPeer};
use super::server::Server;
use super::stat::Owner;

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
            true => Err(format!("{a} and {b} both lead epoch {:?}", one.epoch())),
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
        let history = |peer: &QuorumPeer| {
            let log = &peer.disk().log;
            let end = usize::try_from(peer.disk().first_after(until)).expect("a log is in memory");
            let places = (0..end).rev().take(COMPARED_TXNS);
            let txns = places.map(|place| log[place].clone()).take_while(|txn| txn.zxid > from);
            txns.collect::<Vec<_>>()
        };
        match history(one) == history(other) {
            true => Ok(()),
            false => Err(format!("{a} and {b} have different histories up to {until}")),
        }
    })
}

/// Z8: currentEpoch is never above acceptedEpoch; who serves has nothing of a later epoch.
pub fn epochs_are_in_order(servers: &[Subject<'_>]) -> Verdict {
    for (id, server) in servers {
        let epochs = server.disk().epochs;
        if epochs.current > epochs.accepted {
            return Err(format!("{id} is in epoch {} but promised none of it", epochs.current));
        }
    }
    for (id, peer) in serving(servers) {
        let (current, last) = (peer.disk().epochs.current, peer.database().last_zxid);
        if Epoch::of(last) > current {
            return Err(format!("{id} has applied {last} but is in epoch {current}"));
        }
    }
    Ok(())
}

/// Z10: servers that have applied the same txns have equal trees. To be asked at quiet points.
pub fn equal_zxids_mean_equal_trees(servers: &[Subject<'_>]) -> Verdict {
    every_two(servers, |(a, one), (b, other)| {
        let (one, other) = (one.database(), other.database());
        let same = one.tree == other.tree && one.sessions == other.sessions;
        match one.last_zxid != other.last_zxid || same {
            true => Ok(()),
            false => Err(format!("{a} and {b} differ at {}", one.last_zxid)),
        }
    })
}

/// Z15: the owner of every ephemeral is a session that is known.
pub fn ephemerals_have_sessions(servers: &[Subject<'_>]) -> Verdict {
    for (id, server) in servers {
        let Some(database) = server.database() else { continue };
        for (session, paths) in database.tree.owners() {
            if !paths.is_empty() && !database.sessions.contains_key(session) {
                return Err(format!("{id} has ephemerals of {session}, which is no session"));
            }
        }
        for (path, znode) in database.tree.iter() {
            if let Owner::Session(session) = znode.stat.owner
                && !database.sessions.contains_key(&session)
            {
                return Err(format!("{id} has {path} of {session}, which is no session"));
            }
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
    ("epochs-are-in-order", epochs_are_in_order),
];

/// All laws that are for quiet points.
pub const QUIET_LAWS: &[Law] = &[
    ("equal-zxids-mean-equal-trees", equal_zxids_mean_equal_trees),
    ("ephemerals-have-sessions", ephemerals_have_sessions),
];
