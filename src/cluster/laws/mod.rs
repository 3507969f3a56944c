//! The laws: what must be true of every run, whatever is done to it.
//!
//! Some are checked with every record, cheaply; those that look at the whole cluster, at points of
//! rest.
//! A law is one function and one row of [`LAWS`].
//!
//! *Invariant:* checking changes nothing but what the [`Judge`] remembers.

mod kafka;
mod settled;
mod zk;

pub use settled::{is_meant_to_run, settled, stuck};

use super::{Cluster, Record};
use crate::kafka::id::{ControllerEpoch, LeaderEpoch, Offset, TopicPartition};
use crate::sim::{EventId, OrdMap, ProcessId, SimTime};
use crate::zk::laws::{self, Subject};

/// One law.
pub struct Law {
    /// Its name, which is also the key of its sentence.
    pub name: &'static str,
    check: Check,
}

type Verdict = Result<(), String>;

#[derive(Clone, Copy)]
enum Check {
    /// With every record.
    Record(fn(&mut Seen, &Record<'_>, &Cluster) -> Verdict),
    /// With every record of a ZooKeeper server.
    Servers(fn(&[Subject<'_>]) -> Verdict),
    /// The same, but at points of rest.
    RestingServers(fn(&[Subject<'_>]) -> Verdict),
    /// At points of rest.
    Rest(fn(&Cluster) -> Verdict),
}

const fn record(name: &'static str, check: fn(&mut Seen, &Record<'_>, &Cluster) -> Verdict) -> Law {
    Law { name, check: Check::Record(check) }
}

const fn rest(name: &'static str, check: fn(&Cluster) -> Verdict) -> Law {
    Law { name, check: Check::Rest(check) }
}

const fn servers(name: &'static str, check: fn(&[Subject<'_>]) -> Verdict) -> Law {
    Law { name, check: Check::Servers(check) }
}

const fn resting(name: &'static str, check: fn(&[Subject<'_>]) -> Verdict) -> Law {
    Law { name, check: Check::RestingServers(check) }
}

/// Every law.
pub const LAWS: &[Law] = &[
    servers("one-zk-leader-per-epoch", laws::one_leader_per_epoch),
    servers("histories-are-prefixes", laws::histories_are_prefixes),
    servers("epochs-are-in-order", laws::epochs_are_in_order),
    resting("equal-zxids-mean-equal-trees", laws::equal_zxids_mean_equal_trees),
    resting("ephemerals-have-sessions", laws::ephemerals_have_sessions),
    rest("znodes-have-parents", zk::znodes_have_parents),
    rest("zxids-are-in-order", zk::zxids_are_in_order),
    record("sessions-get-their-time", zk::sessions_get_their_time),
    record("controller-epochs-rise", kafka::controller_epochs_rise),
    record("one-leader-per-epoch", kafka::one_leader_per_epoch),
    record("leaders-are-in-sync", kafka::leaders_are_in_sync),
    record("high-watermarks-are-below-ends", kafka::high_watermarks_are_below_ends),
    record("high-watermarks-never-fall", kafka::high_watermarks_never_fall),
    record("acknowledged-records-stay", kafka::acknowledged_records_stay),
    rest("isr-is-of-replicas", kafka::isr_is_of_replicas),
    rest("committed-records-are-equal", kafka::committed_records_are_equal),
    rest("one-owner-per-generation", kafka::one_owner_per_generation),
];

/// A law that was broken, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The law's name.
    pub law: &'static str,
    /// The event after which it was found broken.
    pub after: Option<EventId>,
    /// What was seen.
    pub what: String,
}

/// What is remembered of the run so far.
#[derive(Clone, Debug, Default)]
struct Seen {
    controllers: OrdMap<ControllerEpoch, ProcessId>,
    leaders: OrdMap<(TopicPartition, LeaderEpoch), ProcessId>,
    /// By leader: the HW that it had last, and in which epoch.
    watermarks: OrdMap<(ProcessId, TopicPartition), (LeaderEpoch, Offset)>,
    promised: OrdMap<TopicPartition, kafka::Promised>,
    /// When each event of a ZooKeeper server was.
    heard: OrdMap<EventId, SimTime>,
}

/// Watches a run from its beginning.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    seen: Seen,
}

impl Judge {
    /// Checks the laws about single records.
    pub fn record(&mut self, record: &Record<'_>, cluster: &Cluster) -> Result<(), Breach> {
        let moved = record.process.map(|process| cluster.process(process));
        let subjects = match moved.and_then(|process| process.zk()) {
            Some(_) => zk::subjects(cluster),
            None => Vec::new(),
        };
        for law in LAWS {
            let verdict = match law.check {
                Check::Record(check) => check(&mut self.seen, record, cluster),
                Check::Servers(check) => check(&subjects),
                _ => Ok(()),
            };
            let after = Some(record.id);
            verdict.map_err(|what| Breach { law: law.name, after, what })?;
        }
        Ok(())
    }

    /// Checks the laws about the whole cluster.
    pub fn rest(&self, cluster: &Cluster) -> Result<(), Breach> {
        let subjects = zk::subjects(cluster);
        for law in LAWS {
            let verdict = match law.check {
                Check::RestingServers(check) => check(&subjects),
                Check::Rest(check) => check(cluster),
                _ => Ok(()),
            };
            verdict.map_err(|what| Breach { law: law.name, after: None, what })?;
        }
        Ok(())
    }
}

/// Turns what was found into a verdict.
fn none<T: std::fmt::Display>(found: Option<T>) -> Verdict {
    found.map_or(Ok(()), |found| Err(found.to_string()))
}

#[cfg(test)]
mod tests;
