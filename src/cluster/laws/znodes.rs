//! The laws of what Kafka keeps in ZooKeeper, as the leader of ZooKeeper tells of each change.
//!
//! *Invariant:* a state is what was written with the record at hand, never what came later.

use super::{Seen, Verdict, Witness, none};
use crate::cluster::{Cluster, Record};
use crate::kafka::id::{BrokerId, ControllerEpoch, LeaderEpoch, TopicPartition};
use crate::kafka::words::{BrokerFact, Fact};
use crate::kafka::znodes::consumers::{decode_offset, is_group_offset};
use crate::kafka::znodes::{self, StateZnode, TopicZnode, decode_controller_epoch};
use crate::zk::database::Database;
use crate::zk::path::Path;
use crate::zk::stat::{Bytes, Owner};
use crate::zk::words::Fact as Told;
use crate::zk::zxid::Zxid;

/// What a znode held after a write, and how often it had been written then: a server that comes to
/// lead tells nothing of what others have committed before, so that a write may go unseen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version<T> {
    pub(super) held: T,
    version: i32,
}

impl<T> Version<T> {
    /// How many writes lie between an earlier version and this; one if the znode was made anew.
    fn since<U>(&self, before: &Version<U>) -> i32 {
        (self.version - before.version).max(1)
    }
}

fn database<'a>(record: &Record<'_>, cluster: &'a Cluster) -> Option<&'a Database> {
    cluster.process(record.process?).zk()?.database()
}

/// The znodes that were written with this record, with what they hold.
fn written<'a>(
    record: &'a Record<'_>,
    cluster: &'a Cluster,
) -> impl Iterator<Item = (&'a Path, Version<&'a Bytes>)> {
    let database = database(record, cluster);
    record.facts().filter_map(move |fact| {
        let (path, zxid) = match fact {
            Fact::Zk(Told::ZnodeCreated { path, zxid, .. }) => (path, zxid),
            Fact::Zk(Told::ZnodeChanged { path, zxid, .. }) => (path, zxid),
            _ => return None,
        };
        let znode = database?.tree.znode(path).filter(|znode| znode.stat.mzxid == *zxid)?;
        Some((path, Version { held: &znode.data, version: znode.stat.version }))
    })
}

/// The states of partitions that were written with this record.
pub(super) fn states_written(
    record: &Record<'_>,
    cluster: &Cluster,
) -> Vec<(TopicPartition, Version<StateZnode>)> {
    let states = written(record, cluster).filter_map(|(path, Version { held, version })| {
        let held = StateZnode::decode(held)?;
        Some((znodes::partition_of_state(path)?, Version { held, version }))
    });
    states.collect()
}

/// Remembers what was written, once all laws have been asked.
pub(super) fn remember(seen: &mut Seen, witness: Witness<'_>) {
    for fact in witness.record.facts() {
        match fact {
            Fact::Zk(Told::ZnodeDeleted { path, .. }) => {
                if let Some(tp) = znodes::partition_of_state(path) {
                    seen.states.remove(&tp);
                } else if seen.offsets.contains_key(path) {
                    seen.offsets.remove(path);
                }
            }
            Fact::Broker(BrokerFact::TopicDeleted { topic }) => {
                seen.leaders.retain(|(partition, _), _| partition.topic != *topic);
                seen.acknowledged.retain(|partition, _| partition.topic != *topic);
                seen.read.retain(|partition, _| partition.topic != *topic);
                seen.keys.retain(|(_, of, _), _| of != topic);
            }
            Fact::Broker(BrokerFact::PartitionsAdded { topic, .. }) => {
                seen.keys.retain(|(_, of, _), _| of != topic);
            }
            _ => {}
        }
    }
    for (path, data) in written(witness.record, witness.cluster) {
        if let Some(epoch) = epoch_at(path, data) {
            seen.controller_epoch = Some(epoch);
        }
    }
    for (tp, state) in witness.states {
        seen.states.insert(tp, state);
    }
}

fn epoch_at(path: &Path, data: Version<&Bytes>) -> Option<Version<ControllerEpoch>> {
    let Version { held, version } = data;
    let held = (*path == znodes::controller_epoch()).then(|| decode_controller_epoch(held))??;
    Some(Version { held, version })
}

/// S1: who holds `/controller` has a session.
pub(super) fn controller_has_a_session(name: &str, database: &Database, _: Zxid) -> Verdict {
    let path = znodes::controller();
    let Some(znode) = database.tree.znode(&path) else { return Ok(()) };
    let lives = match znode.stat.owner {
        Owner::Session(session) => database.sessions.contains_key(&session),
        _ => false,
    };
    none((!lives).then(|| format!("server={name} path={path} session=-")))
}

/// S2: `/controller_epoch` never falls, and each election raises it by one.
pub(super) fn controller_epochs_rise(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    let before = seen.controller_epoch;
    for (path, data) in written(witness.record, witness.cluster) {
        let (Some(epoch), Some(before)) = (epoch_at(path, data), before) else { continue };
        if epoch.held.0 != before.held.0 + epoch.since(&before) {
            return Err(format!("path={path} was={} is={}", before.held, epoch.held));
        }
    }
    Ok(())
}

/// Asks each state that was written, and what it was before.
fn each_state(
    seen: &Seen,
    witness: &Witness<'_>,
    wrong: impl Fn(Option<&StateZnode>, &StateZnode) -> bool,
) -> Verdict {
    let wrong = |before: Option<&Version<StateZnode>>, state: &Version<StateZnode>| {
        wrong(before.map(|before| &before.held), &state.held)
    };
    each_version(seen, witness, wrong)
}

/// The same, with how often it had been written.
fn each_version(
    seen: &Seen,
    witness: &Witness<'_>,
    wrong: impl Fn(Option<&Version<StateZnode>>, &Version<StateZnode>) -> bool,
) -> Verdict {
    let found = witness.states.iter().find(|(tp, state)| wrong(seen.states.get(tp), state));
    none(found.map(|(tp, state)| {
        let row = |isr: &[BrokerId]| crate::kafka::words::Brokers::from(isr);
        let before = seen.states.get(tp).map_or(String::new(), |before| {
            let was = &before.held.leadership;
            let (leader, isr) = (was.leader, row(&was.isr));
            format!(" was: leader={leader} leader-epoch={} isr={isr}", was.leader_epoch)
        });
        let is = &state.held.leadership;
        let (leader, epoch, isr) = (is.leader, is.leader_epoch, row(&is.isr));
        let controller = state.held.controller_epoch;
        format!(
            "partition={tp} leader={leader} leader-epoch={epoch} isr={isr} \
            controller-epoch={controller}{before}"
        )
    }))
}

/// What `/controller_epoch` holds where something was written.
fn last_epoch(witness: &Witness<'_>) -> Option<ControllerEpoch> {
    let database = database(witness.record, witness.cluster)?;
    decode_controller_epoch(&database.tree.znode(&znodes::controller_epoch())?.data)
}

/// S4: no state is written by a controller that has been replaced, as the epoch in it says.
pub(super) fn states_are_by_the_last(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    let last = last_epoch(witness).unwrap_or(ControllerEpoch(i32::MAX));
    each_state(seen, witness, |before, state| {
        let fell = before.is_some_and(|before| state.controller_epoch < before.controller_epoch);
        fell || state.controller_epoch > last
    })
}

/// S5: a partition's leader epoch never falls, and rises with each new leader.
pub(super) fn leader_epochs_rise(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    each_state(seen, witness, |before, state| {
        let (Some(before), now) = (before, &state.leadership) else { return false };
        let was = &before.leadership;
        let least = was.leader_epoch.0 + i32::from(was.leader != now.leader);
        now.leader_epoch < LeaderEpoch(least)
    })
}

/// S7a: the leader is in the ISR.
pub(super) fn leader_is_in_its_isr(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    each_state(seen, witness, |_, state| {
        let now = &state.leadership;
        now.leader != BrokerId::NONE && !now.isr.contains(&now.leader)
    })
}

/// S8: the ISR is never empty.
pub(super) fn isr_is_not_empty(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    each_state(seen, witness, |_, state| state.leadership.isr.is_empty())
}

/// S9: a new leader was in the ISR.
pub(super) fn leaders_come_from_the_isr(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    each_version(seen, witness, |before, state| {
        let Some(before) = before.filter(|before| state.since(before) == 1) else { return false };
        let (was, now) = (&before.held.leadership, &state.held.leadership);
        now.leader != BrokerId::NONE && now.leader != was.leader && !was.isr.contains(&now.leader)
    })
}

/// S21: what an old consumer has committed is not taken back by one that has lost the partition.
pub(super) fn old_offsets_never_fall(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    for (path, data) in written(witness.record, witness.cluster) {
        let offset = decode_offset(data.held).filter(|_| is_group_offset(path));
        let Some(offset) = offset else { continue };
        if let Some(before) = seen.offsets.insert(path.clone(), offset).filter(|b| *b > offset) {
            return Err(format!("path={path} was={before} is={offset}"));
        }
    }
    Ok(())
}

/// S25: the replicas of a partition are on different brokers.
pub(super) fn replicas_are_distinct(_: &mut Seen, witness: &Witness<'_>) -> Verdict {
    for (path, data) in written(witness.record, witness.cluster) {
        let Some(topic) = znodes::topic_of(path) else { continue };
        let Some(znode) = TopicZnode::decode(data.held) else { continue };
        let twice = |replicas: &[BrokerId]| {
            (1..replicas.len()).any(|at| replicas[..at].contains(&replicas[at]))
        };
        let wrong = znode.partitions.iter().find(|(_, assigned)| twice(&assigned.replicas));
        none(wrong.map(|(number, assigned)| {
            let replicas = crate::kafka::words::Brokers::from(&assigned.replicas[..]);
            format!("partition={topic}-{number} replicas={replicas}")
        }))?;
    }
    Ok(())
}
