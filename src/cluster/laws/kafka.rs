//! The laws of Kafka, as far as brokers tell what they are about or show it in their state.
//!
//! *Invariant:* a law about a record needs no more than it and what was remembered of those before.

use super::{Seen, Verdict, none};
use crate::cluster::{Cluster, Record};
use crate::kafka::id::{BrokerId, Generation};
use crate::kafka::partition::Partition;
use crate::kafka::words::{BrokerFact, Fact};
use crate::sim::OrdMap;

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

/// The replicas of brokers that run, by the broker's name.
fn replicas(cluster: &Cluster) -> impl Iterator<Item = (&str, &Partition)> {
    cluster.processes().flat_map(|(_, name, process)| {
        let running = process.broker().and_then(|broker| broker.running());
        let partitions = running.into_iter().flat_map(|running| running.replicas().partitions());
        partitions.map(move |partition| (name, partition))
    })
}

/// What the broker that has just moved has committed, its log holds.
pub(super) fn high_watermarks_are_below_ends(
    _: &mut Seen,
    record: &Record<'_>,
    cluster: &Cluster,
) -> Verdict {
    let process = record.process.map(|process| (cluster.name(process), cluster.process(process)));
    let Some((name, Some(broker))) = process.map(|(name, process)| (name, process.broker())) else {
        return Ok(());
    };
    let Some(running) = broker.running() else { return Ok(()) };
    let above =
        running.replicas().partitions().find(|partition| partition.hw > partition.log.end());
    none(above.map(|p| format!("{name}: the HW of {} is {}, its end {}", p.tp, p.hw, p.log.end())))
}

/// A leader counts only replicas as in sync, and itself among them.
pub(super) fn isr_is_of_replicas(cluster: &Cluster) -> Verdict {
    for (name, partition) in replicas(cluster).filter(|(_, partition)| partition.leads()) {
        let stranger = partition.isr.iter().find(|id| !partition.replicas.contains(id));
        let tp = &partition.tp;
        none(stranger.map(|id| format!("{name}: {id} is in the ISR of {tp}, but no replica")))?;
        let itself = partition.isr.contains(&partition.leader);
        none((!itself).then(|| format!("{name} leads {tp}, but is not in its ISR")))?;
    }
    Ok(())
}

/// Below the HW, replicas of one partition hold the same records.
pub(super) fn committed_records_are_equal(cluster: &Cluster) -> Verdict {
    let mut first: OrdMap<_, (&str, &Partition)> = OrdMap::new();
    for (name, partition) in replicas(cluster) {
        let (other, before) = *first.entry(&partition.tp).or_insert((name, partition));
        let until = partition.hw.min(before.hw);
        let committed = |partition: &Partition| {
            let records = partition.log.records();
            records.take_while(|(offset, _)| *offset < until).map(|(_, r)| r.clone()).collect()
        };
        let (a, b): (Vec<_>, Vec<_>) = (committed(before), committed(partition));
        let tp = &partition.tp;
        none((a != b).then(|| format!("{other} and {name} differ in {tp} below {until}")))?;
    }
    Ok(())
}

/// In one generation of a group no partition has two owners.
pub(super) fn one_owner_per_generation(cluster: &Cluster) -> Verdict {
    let mut owners = OrdMap::new();
    for (_, name, process) in cluster.processes() {
        let Some(consumer) = process.consumer() else { continue };
        if consumer.generation() == Generation::NONE {
            continue;
        }
        for partition in consumer.partitions().keys() {
            let group = (&consumer.settings().group_id, consumer.generation(), partition);
            let before = *owners.entry(group).or_insert(name);
            let (generation, tp) = (consumer.generation(), partition);
            none(
                (before != name).then(|| {
                    format!("{before} and {name} both own {tp} in generation {generation}")
                }),
            )?;
        }
    }
    Ok(())
}

/// An election takes its leader from the ISR.
pub(super) fn leaders_are_in_sync(_: &mut Seen, record: &Record<'_>, _: &Cluster) -> Verdict {
    let stranger = record.facts().find_map(|fact| match fact {
        Fact::Broker(BrokerFact::LeaderElected { partition, leader, isr, .. })
            if *leader != BrokerId::NONE && !isr.0.contains(leader) =>
        {
            Some(format!("{leader} leads {partition} without being in its ISR"))
        }
        _ => None,
    });
    none(stranger)
}
