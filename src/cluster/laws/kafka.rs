//! The laws of Kafka, as far as brokers tell what they are about.
//!
//! *Invariant:* a law needs no more than the record and what was remembered of those before it.

use super::{Seen, Verdict};
use crate::cluster::{Cluster, Record};
use crate::kafka::words::{BrokerFact, Fact};

/// Each controller has a higher epoch than any before it.
pub(super) fn controller_epochs_rise(
    seen: &mut Seen,
    record: &Record<'_>,
    cluster: &Cluster,
) -> Verdict {
    for fact in record.facts() {
        let Fact::Broker(BrokerFact::ControllerElected { epoch, .. }) = fact else { continue };
        let Some(process) = record.process else { continue };
        if let Some((last, before)) = seen.controllers.last_key_value()
            && last >= epoch
        {
            let (now, before) = (cluster.name(process), cluster.name(*before));
            return Err(format!("{now} has epoch {epoch} after {before} had {last}"));
        }
        seen.controllers.insert(*epoch, process);
    }
    Ok(())
}

/// In one leader epoch of a partition no two brokers lead it.
pub(super) fn one_leader_per_epoch(
    seen: &mut Seen,
    record: &Record<'_>,
    cluster: &Cluster,
) -> Verdict {
    for fact in record.facts() {
        match fact {
            Fact::Broker(BrokerFact::TopicDeleted { topic }) => {
                seen.leaders.retain(|(partition, _), _| partition.topic.to_string() != *topic.0);
            }
            Fact::Broker(BrokerFact::BecameLeader { partition, epoch, .. }) => {
                let Some(process) = record.process else { continue };
                let before = *seen.leaders.entry((partition.clone(), *epoch)).or_insert(process);
                if before != process {
                    let (a, b) = (cluster.name(before), cluster.name(process));
                    return Err(format!("{a} and {b} lead {partition} in epoch {epoch}"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
