//! The laws of replicas: their HWs, their logs, and whom they obey.
//!
//! *Invariant:* only what brokers have in memory is looked at; a disk is judged when it is read.

use super::{Seen, Verdict, none};
use crate::cluster::Cluster;
use crate::kafka::broker::Running;
use crate::kafka::id::{BrokerId, Offset, ProducerEpoch, ProducerId};
use crate::kafka::partition::Partition;
use crate::kafka::record::{ProducerStamp, Record, RecordBatch};
use crate::kafka::replicas::Replicas;
use crate::kafka::words::Brokers;
use crate::sim::ProcessId;
use std::sync::Arc;

/// How many batches below the HW are compared again each time.
const COMPARED: usize = 32;

fn running(process: ProcessId, cluster: &Cluster) -> Option<&Running> {
    cluster.process(process).broker()?.running()
}

/// The brokers that run.
fn brokers(cluster: &Cluster) -> Vec<(BrokerId, &Replicas)> {
    let brokers = cluster.processes().filter_map(|(_, _, process)| process.broker());
    brokers.filter_map(|broker| Some((broker.id(), broker.running()?.replicas()))).collect()
}

/// What is led, by whom.
fn led<'a>(
    brokers: &'a [(BrokerId, &Replicas)],
) -> impl Iterator<Item = (BrokerId, &'a Partition)> {
    brokers.iter().flat_map(|(id, replicas)| {
        let partitions = replicas.partitions().filter(|partition| partition.leads());
        partitions.map(|partition| (*id, partition))
    })
}

/// The other replica of a partition that this broker has.
fn other<'a>(
    brokers: &[(BrokerId, &'a Replicas)],
    wanted: BrokerId,
    led: &Partition,
) -> Option<&'a Partition> {
    let (_, replicas) = brokers.iter().find(|(id, _)| *id == wanted)?;
    replicas.partition(&led.tp)
}

/// S3: a broker never goes back to a controller of an epoch below its highest.
pub(super) fn old_orders_are_refused(
    seen: &mut Seen,
    process: ProcessId,
    cluster: &Cluster,
) -> Verdict {
    let Some(running) = running(process, cluster) else {
        if seen.obeyed.contains_key(&process) {
            seen.obeyed.remove(&process);
        }
        return Ok(());
    };
    let epoch = running.replicas().controller_epoch();
    let before = seen.obeyed.get(&process).copied();
    if before != Some(epoch) {
        seen.obeyed.insert(process, epoch);
    }
    let fell = before.filter(|before| *before > epoch);
    none(fell.map(|before| {
        let name = cluster.name(process);
        format!("broker={name} controller-epoch={epoch} was={before}")
    }))
}

/// S10: what a broker has committed, its log holds.
pub(super) fn hw_is_below_the_end(_: &mut Seen, process: ProcessId, cluster: &Cluster) -> Verdict {
    let Some(running) = running(process, cluster) else { return Ok(()) };
    let above = running.replicas().partitions().find(|p| p.hw > p.log.end());
    none(above.map(|p| {
        let name = cluster.name(process);
        format!("broker={name} partition={} hw={} leo={}", p.tp, p.hw, p.log.end())
    }))
}

/// S12: as long as a broker leads a partition in one epoch, its HW never falls.
///
/// Across an election it may, by one round: the new leader learns of the HW a fetch late
/// (KAFKA-2334).
pub(super) fn hw_never_falls(seen: &mut Seen, process: ProcessId, cluster: &Cluster) -> Verdict {
    if cluster.process(process).broker().is_none() {
        return Ok(());
    }
    let Some(running) = running(process, cluster) else {
        if seen.watermarks.keys().any(|(leader, _)| *leader == process) {
            seen.watermarks.retain(|(leader, _), _| *leader != process);
        }
        return Ok(());
    };
    for partition in running.replicas().partitions().filter(|partition| partition.leads()) {
        let (tp, epoch, hw) = (&partition.tp, partition.leader_epoch, partition.hw);
        let key = (process, tp.clone());
        let known = seen.watermarks.get(&key).copied();
        if let Some((in_epoch, before)) = known
            && in_epoch == epoch
            && before > hw
        {
            let name = cluster.name(process);
            return Err(format!("broker={name} partition={tp} hw={hw} was={before}"));
        }
        if known != Some((epoch, hw)) && (known.is_some() || hw > Offset(0)) {
            seen.watermarks.insert(key, (epoch, hw));
        }
    }
    Ok(())
}

/// S7b: a leader counts only replicas as in sync, and itself among them.
pub(super) fn isr_is_of_replicas(_: &mut Seen, cluster: &Cluster) -> Verdict {
    let brokers = brokers(cluster);
    let wrong = led(&brokers).find(|(_, partition)| {
        let stranger = partition.isr.iter().any(|id| !partition.replicas.contains(id));
        stranger || !partition.isr.contains(&partition.leader)
    });
    none(wrong.map(|(id, p)| {
        let (isr, replicas) = (Brokers(p.isr.clone()), Brokers(p.replicas.clone()));
        format!("leader={id} partition={} isr={isr} replicas={replicas}", p.tp)
    }))
}

/// S11: what is below a leader's HW, everybody has who follows it in its ISR.
pub(super) fn committed_is_in_sync(_: &mut Seen, cluster: &Cluster) -> Verdict {
    let brokers = brokers(cluster);
    for (id, partition) in led(&brokers).filter(|(_, partition)| partition.hw > Offset(0)) {
        let follows =
            |other: &&Partition| other.leader == id && other.leader_epoch == partition.leader_epoch;
        for &member in partition.isr.iter().filter(|member| **member != id) {
            let other = other(&brokers, member, partition).filter(follows);
            let short = other.filter(|other| other.log.end() < partition.hw);
            none(short.map(|other| {
                let (tp, hw, end) = (&partition.tp, partition.hw, other.log.end());
                format!("partition={tp} leader={id} hw={hw} replica={member} leo={end}")
            }))?;
        }
    }
    Ok(())
}

/// S13: below the HW, replicas of one partition hold the same records.
pub(super) fn committed_records_are_equal(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    let brokers = brokers(cluster);
    for (id, partition) in led(&brokers).filter(|(_, partition)| partition.hw > Offset(0)) {
        for &replica in partition.replicas.iter().filter(|replica| **replica != id) {
            let pair = (partition.tp.clone(), id, replica);
            let compared = seen.compared.get(&pair).copied();
            let Some(other) = other(&brokers, replica, partition) else {
                // It comes back with what its disk has, and is compared anew.
                if compared.is_some() {
                    seen.compared.remove(&pair);
                }
                continue;
            };
            note_cleaned(seen, partition);
            note_cleaned(seen, other);
            let until = partition.hw.min(other.hw);
            if compared == Some(until) {
                continue;
            }
            let cleaned = seen.cleaned.get(&partition.tp).copied().unwrap_or(Offset(0));
            let from = compared.unwrap_or(Offset(0));
            if let Some(at) = difference(partition, other, (from, until), cleaned) {
                let tp = &partition.tp;
                return Err(format!("partition={tp} offset={at} leader={id} replica={replica}"));
            }
            seen.compared.insert(pair, until);
        }
    }
    Ok(())
}

/// S17: of the newest batches that one producer wrote in one epoch of its own, nothing comes twice,
/// nor out of order.
pub(super) fn no_record_comes_twice(_: &mut Seen, cluster: &Cluster) -> Verdict {
    for (id, partition) in led(&brokers(cluster)) {
        let end = partition.log.end();
        let from = partition.log.before(end, COMPARED).max(partition.log.start());
        none(too_early(partition.log.between(from, end)).map(|(at, stamp)| {
            let (tp, who, number) = (&partition.tp, stamp.producer_id, stamp.base_sequence);
            format!("partition={tp} offset={at} leader={id} producer={who} sequence={number}")
        }))?;
    }
    Ok(())
}

/// The first batch that does not begin where its producer's last one ended, or later.
fn too_early<'a>(
    batches: impl Iterator<Item = &'a RecordBatch>,
) -> Option<(Offset, ProducerStamp)> {
    // A partition has few producers, and this runs often.
    let mut due: Vec<((ProducerId, ProducerEpoch), i32)> = Vec::new();
    for batch in batches {
        let Some(stamp) = batch.producer.filter(|_| batch.marker().is_none()) else { continue };
        let (who, first) = ((stamp.producer_id, stamp.producer_epoch), stamp.base_sequence);
        let next = first.wrapping_add(batch.count());
        match due.iter_mut().find(|(known, _)| *known == who) {
            Some((_, due)) if first < *due => return Some((batch.base_offset, stamp)),
            Some((_, due)) => *due = next,
            None => due.push((who, next)),
        }
    }
    None
}

/// Notes up to where old values have been taken out. Whoever fetches from it afterwards lacks them,
/// too, and whoever fetches from that one.
fn note_cleaned(seen: &mut Seen, partition: &Partition) {
    let Some(segments) = partition.log.segments() else { return };
    let known = seen.cleaned.get(&partition.tp).copied().unwrap_or(Offset(0));
    if segments.cleaned_to > known {
        seen.cleaned.insert(partition.tp.clone(), segments.cleaned_to);
    }
}

/// The first offset at which two replicas differ, of those that are new and some before them. Each
/// deletes and compacts by its own clock: what only one still has is no difference where old
/// values have been taken out.
fn difference(
    one: &Partition,
    other: &Partition,
    (from, until): (Offset, Offset),
    cleaned: Offset,
) -> Option<Offset> {
    let from = one.log.before(from.min(until), COMPARED);
    let from = from.max(one.log.start()).max(other.log.start());
    let mut a = one.log.between(from, until).peekable();
    let mut b = other.log.between(from, until).peekable();
    // What was copied whole is one and the same in memory.
    while a.peek().zip(b.peek()).is_some_and(|(a, b)| is_copy(a, b)) {
        a.next();
        b.next();
    }
    let (a, b) = (records(a, from, until), records(b, from, until));
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (mine, its) = (a[i].0, b[j].0);
        let differ = if mine == its { a[i] != b[j] } else { mine.min(its) >= cleaned };
        if differ {
            return Some(mine.min(its));
        }
        i += usize::from(mine <= its);
        j += usize::from(its <= mine);
    }
    let mut rest = a[i..].iter().chain(&b[j..]);
    rest.any(|(at, _)| *at >= cleaned).then_some(until)
}

fn is_copy(one: &RecordBatch, other: &RecordBatch) -> bool {
    one.base_offset == other.base_offset && Arc::ptr_eq(&one.records, &other.records)
}

fn records<'a>(
    batches: impl Iterator<Item = &'a RecordBatch>,
    from: Offset,
    until: Offset,
) -> Vec<(Offset, &'a Record)> {
    let records = batches.flat_map(RecordBatch::enumerate);
    records.filter(|(at, _)| (from..until).contains(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::id::{LeaderEpoch, TopicPartition};
    use crate::kafka::log::PartitionLog;
    use crate::sim::SimTime;

    fn replica(offsets: &[i64]) -> Partition {
        let mut log = PartitionLog::default();
        for &offset in offsets {
            let record = Record { key: None, value: Some("v".into()), timestamp: SimTime::ZERO };
            let batch = RecordBatch::new(vec![record]);
            log.append_fetched(batch.appended(Offset(offset), LeaderEpoch(0)));
        }
        Partition::new(TopicPartition::new("orders", 0), log, Offset(6))
    }

    #[test]
    fn only_where_old_values_may_be_taken_out_may_one_lack_them() {
        let whole = replica(&[0, 1, 2, 3, 4, 5]);
        let table = [
            (&[0, 2, 3, 4, 5][..], 2, None),
            (&[0, 2, 3, 4, 5], 1, Some(1)),
            (&[0, 2, 4, 5], 2, Some(3)),
            (&[0, 1, 2, 3, 4], 5, Some(6)),
            (&[3, 4, 5], 3, None),
        ];
        for (offsets, cleaned, expected) in table {
            let range = (Offset(0), Offset(6));
            let found = difference(&whole, &replica(offsets), range, Offset(cleaned));
            assert_eq!(found.map(|at| at.0), expected, "{offsets:?}");
        }
    }

    #[test]
    fn what_a_producer_sends_comes_once_and_in_order() {
        let batch = |offset: usize, &(producer, epoch, base_sequence): &(i64, i16, i32)| {
            let record = Record { key: None, value: Some("v".into()), timestamp: SimTime::ZERO };
            let (producer_id, producer_epoch) = (ProducerId(producer), ProducerEpoch(epoch));
            let stamp = ProducerStamp { producer_id, producer_epoch, base_sequence };
            let batch = RecordBatch { producer: Some(stamp), ..RecordBatch::new(vec![record]) };
            batch.appended(Offset(offset as i64), LeaderEpoch(0))
        };
        let table = [
            (&[(1, 0, 0), (1, 0, 1), (1, 0, 2)][..], None),
            (&[(1, 0, 0), (2, 0, 0), (1, 0, 1), (2, 0, 1)], None),
            (&[(1, 0, 0), (1, 0, 1), (1, 1, 0)], None),
            (&[(1, 0, 0), (1, 0, 3)], None),
            (&[(1, 0, 0), (1, 0, 1), (1, 0, 1)], Some(2)),
            (&[(1, 0, 0), (1, 0, 2), (1, 0, 1)], Some(2)),
        ];
        for (stamps, expected) in table {
            let batches: Vec<_> = stamps.iter().enumerate().map(|(at, s)| batch(at, s)).collect();
            assert_eq!(too_early(batches.iter()).map(|(at, _)| at.0), expected, "{stamps:?}");
        }
    }
}
