//! The laws of Kafka, as far as brokers tell what they are about or show it in their state.
//!
//! *Invariant:* a law about a record needs no more than it and what was remembered of those before.

use super::{Seen, Verdict, none};
use crate::cluster::{Cluster, Record};
use crate::kafka::id::{BrokerId, Generation, LeaderEpoch, Offset, TopicPartition};
use crate::kafka::message::Acks;
use crate::kafka::partition::Partition;
use crate::kafka::producer::words::ProducerFact;
use crate::kafka::words::{BrokerFact, Brokers, Fact};
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
                seen.leaders.retain(|(partition, _), _| partition.topic != *topic);
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

/// S12: as long as a broker leads a partition in one epoch, its HW never falls.
///
/// Across an election it may, by one round: the new leader learns of the HW a fetch late
/// (KAFKA-2334).
pub(super) fn high_watermarks_never_fall(
    seen: &mut Seen,
    record: &Record<'_>,
    cluster: &Cluster,
) -> Verdict {
    let Some(process) = record.process else { return Ok(()) };
    let Some(broker) = cluster.process(process).broker() else { return Ok(()) };
    let Some(running) = broker.running() else {
        seen.watermarks.retain(|(leader, _), _| *leader != process);
        return Ok(());
    };
    for partition in running.replicas().partitions().filter(|partition| partition.leads()) {
        let (tp, epoch, hw) = (&partition.tp, partition.leader_epoch, partition.hw);
        let key = (process, tp.clone());
        if let Some(&(in_epoch, before)) = seen.watermarks.get(&key)
            && in_epoch == epoch
            && before > hw
        {
            let name = cluster.name(process);
            return Err(format!("{name}: the HW of {tp} fell from {before} to {hw}"));
        }
        if seen.watermarks.get(&key) != Some(&(epoch, hw)) {
            seen.watermarks.insert(key, (epoch, hw));
        }
    }
    Ok(())
}

/// What clients were promised about a partition, and by whom it may be kept.
#[derive(Clone, Debug)]
pub(super) struct Promised {
    /// The end of what was acknowledged with acks=all.
    end: Offset,
    /// The last ISR that was told of.
    isr: Option<Brokers>,
    /// The last leader epoch that was told of.
    epoch: LeaderEpoch,
}

impl Default for Promised {
    fn default() -> Self {
        Promised { end: Offset(0), isr: None, epoch: LeaderEpoch(0) }
    }
}

/// S14: what was acknowledged with acks=all is in the log of everybody who leads after that. Only
/// an unclean election may lose it.
pub(super) fn acknowledged_records_stay(
    seen: &mut Seen,
    record: &Record<'_>,
    cluster: &Cluster,
) -> Verdict {
    for fact in record.facts() {
        match fact {
            Fact::Producer(ProducerFact::RecordAcked { partition, offset, .. })
                if acks_of(record, cluster) == Some(Acks::All) =>
            {
                let promised = seen.promised.entry(partition.clone()).or_default();
                promised.end = promised.end.max(Offset(offset.0 + 1));
            }
            Fact::Broker(fact) => {
                note_election(&mut seen.promised, fact);
                kept(&seen.promised, fact)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn acks_of(record: &Record<'_>, cluster: &Cluster) -> Option<Acks> {
    let producer = cluster.process(record.process?).producer()?;
    Some(producer.settings().acks)
}

fn note_election(promised: &mut OrdMap<TopicPartition, Promised>, fact: &BrokerFact) {
    match fact {
        BrokerFact::LeaderElected { partition, leader, epoch, isr, .. } => {
            let known = promised.entry(partition.clone()).or_default();
            let clean = known.isr.as_ref().is_none_or(|isr| isr.0.contains(leader));
            let end = if clean { known.end } else { Offset(0) };
            *known = Promised { end, isr: Some(isr.clone()), epoch: known.epoch.max(*epoch) };
        }
        BrokerFact::IsrShrunk { partition, isr }
        | BrokerFact::IsrExpanded { partition, isr }
        | BrokerFact::ReplicaRemoved { partition, isr, .. } => {
            promised.entry(partition.clone()).or_default().isr = Some(isr.clone());
        }
        BrokerFact::TopicDeleted { topic } => {
            promised.retain(|partition, _| partition.topic != *topic);
        }
        _ => {}
    }
}

/// Whether a new leader has what was promised. One of an epoch that is over does no harm.
fn kept(promised: &OrdMap<TopicPartition, Promised>, fact: &BrokerFact) -> Verdict {
    let BrokerFact::BecameLeader { partition, epoch, leo, .. } = fact else { return Ok(()) };
    let lost = promised.get(partition).filter(|known| *epoch >= known.epoch && *leo < known.end);
    none(lost.map(|known| {
        let end = known.end;
        format!("{partition} was acknowledged up to {end}, but has a leader that ends at {leo}")
    }))
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
