//! The laws: what must be true of every run, whatever is done to it.
//!
//! Some are checked with every record, cheaply; those that look at the whole cluster, at points of rest.
//! A law is one function and one row of [`LAWS`].
//!
//! *Invariant:* checking changes nothing but what the [`Judge`] remembers.

mod kafka;
mod settled;
mod zk;

pub use settled::{is_meant_to_run, settled};

use super::{Cluster, Record};
use crate::kafka::id::{ControllerEpoch, LeaderEpoch, TopicPartition};
use crate::sim::{EventId, ProcessId};
use std::collections::BTreeMap;

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
    /// At points of rest.
    Rest(fn(&Cluster) -> Verdict),
}

const fn record(name: &'static str, check: fn(&mut Seen, &Record<'_>, &Cluster) -> Verdict) -> Law {
    Law { name, check: Check::Record(check) }
}

const fn rest(name: &'static str, check: fn(&Cluster) -> Verdict) -> Law {
    Law { name, check: Check::Rest(check) }
}

/// Every law.
pub const LAWS: &[Law] = &[
    rest("znodes-have-parents", zk::znodes_have_parents),
    rest("ephemerals-have-sessions", zk::ephemerals_have_sessions),
    rest("zxids-are-in-order", zk::zxids_are_in_order),
    rest("servers-agree", zk::servers_agree),
    rest("logs-are-prefixes", zk::logs_are_prefixes),
    record("controller-epochs-rise", kafka::controller_epochs_rise),
    record("one-leader-per-epoch", kafka::one_leader_per_epoch),
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
    controllers: BTreeMap<ControllerEpoch, ProcessId>,
    leaders: BTreeMap<(TopicPartition, LeaderEpoch), ProcessId>,
}

/// Watches a run from its beginning.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    seen: Seen,
}

impl Judge {
    /// Checks the laws about single records.
    pub fn record(&mut self, record: &Record<'_>, cluster: &Cluster) -> Result<(), Breach> {
        for law in LAWS {
            if let Check::Record(check) = law.check {
                let after = Some(record.id);
                check(&mut self.seen, record, cluster).map_err(|what| Breach {
                    law: law.name,
                    after,
                    what,
                })?;
            }
        }
        Ok(())
    }

    /// Checks the laws about the whole cluster.
    pub fn rest(&self, cluster: &Cluster) -> Result<(), Breach> {
        for law in LAWS {
            if let Check::Rest(check) = law.check {
                check(cluster).map_err(|what| Breach { law: law.name, after: None, what })?;
            }
        }
        Ok(())
    }
}

/// Turns what was found into a verdict.
fn none<T: std::fmt::Display>(found: Option<T>) -> Verdict {
    found.map_or(Ok(()), |found| Err(found.to_string()))
}
