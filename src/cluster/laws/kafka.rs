//! The laws of Kafka, as far as brokers and clients tell what they are about.
//!
//! *Invariant:* a law about a record needs no more than it and what was remembered of those before.

use super::zk::decided;
use super::znodes::Version;
use super::{Counted, Seen, Verdict, Witness, none};
use crate::cluster::{AnyProcess, Cluster};
use crate::kafka::consumer::words::ConsumerFact;
use crate::kafka::id::{Generation, Offset, TopicPartition};
use crate::kafka::message::Acks;
use crate::kafka::old_consumer::Held;
use crate::kafka::partitioner::{Choice, Partitioner};
use crate::kafka::producer::words::ProducerFact;
use crate::kafka::words::{BrokerFact, Fact};
use crate::kafka::znodes::consumers::KeptGroup;
use crate::kafka::znodes::{self, StateZnode};
use crate::sim::{OrdMap, ProcessId};
use crate::zk::stat::{Owner, SessionId};

/// S6: in one leader epoch of a partition no two brokers lead it.
pub(super) fn one_leader_per_epoch(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    for fact in witness.record.facts() {
        let Fact::Broker(BrokerFact::BecameLeader { partition, epoch, .. }) = fact else {
            continue;
        };
        let Some(process) = witness.record.process else { continue };
        let before = *seen.leaders.entry((partition.clone(), *epoch)).or_insert(process);
        if before != process {
            let (a, b) = (witness.cluster.name(before), witness.cluster.name(process));
            return Err(format!("partition={partition} leader-epoch={epoch} leaders={a},{b}"));
        }
    }
    Ok(())
}

/// S14: what was acknowledged with acks=all is in the log of everybody who leads after that.
pub(super) fn acknowledged_records_stay(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    for fact in witness.record.facts() {
        match fact {
            Fact::Producer(ProducerFact::RecordAcked { partition, offset, .. })
                if acks_of(witness) == Some(Acks::All) =>
            {
                promise(&mut seen.acknowledged, partition, *offset);
            }
            Fact::Broker(fact) => kept(&mut seen.acknowledged, &seen.states, fact)?,
            _ => {}
        }
    }
    Ok(())
}

/// S15: a consumer hands out nothing that the leader has not told it to be below the HW.
pub(super) fn reads_end_at_the_hw(_: &mut Seen, witness: &Witness<'_>) -> Verdict {
    let reader = witness.record.process.map(|process| witness.cluster.process(process));
    let Some(consumer) = reader.and_then(AnyProcess::consumer) else { return Ok(()) };
    for fact in witness.record.facts() {
        let Fact::Consumer(ConsumerFact::RecordRead { partition, offset, .. }) = fact else {
            continue;
        };
        let reading = consumer.partitions().get(partition);
        let hw = reading.and_then(|reading| reading.high_watermark);
        if let Some(hw) = hw.filter(|hw| *offset >= *hw) {
            return Err(format!("partition={partition} offset={offset} hw={hw}"));
        }
    }
    Ok(())
}

/// S16: what a consumer has read is in the log of everybody who leads after that, so that its
/// offset is not given to another record.
pub(super) fn read_records_stay(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    for fact in witness.record.facts() {
        match fact {
            Fact::Consumer(ConsumerFact::RecordRead { partition, offset, .. }) => {
                promise(&mut seen.read, partition, *offset);
            }
            Fact::Broker(fact) => kept(&mut seen.read, &seen.states, fact)?,
            _ => {}
        }
    }
    Ok(())
}

fn acks_of(witness: &Witness<'_>) -> Option<Acks> {
    let producer = witness.cluster.process(witness.record.process?).producer()?;
    Some(producer.settings().acks)
}

fn promise(
    promised: &mut OrdMap<TopicPartition, Offset>,
    partition: &TopicPartition,
    offset: Offset,
) {
    let end = promised.entry(partition.clone()).or_insert(Offset(0));
    *end = (*end).max(offset.next());
}

/// Whether a new leader has what was promised. One of an epoch that is over does no harm. What is
/// lost is promised no more.
fn kept(
    promised: &mut OrdMap<TopicPartition, Offset>,
    states: &OrdMap<TopicPartition, Version<StateZnode>>,
    fact: &BrokerFact,
) -> Verdict {
    let BrokerFact::BecameLeader { partition, epoch, leo, .. } = fact else { return Ok(()) };
    let Some(end) = promised.get(partition).copied() else { return Ok(()) };
    let last = states.get(partition).map(|state| state.held.leadership.leader_epoch);
    let is_over = last.is_some_and(|last| *epoch < last);
    if is_over || *leo >= end {
        return Ok(());
    }
    promised.insert(partition.clone(), *leo);
    Err(format!("partition={partition} leader-epoch={epoch} leo={leo} promised={end}"))
}

/// How many partitions a producer's topics have for it, where that has changed: what was placed
/// before that proves nothing, until all of it is sent.
pub(super) fn see_counts(seen: &mut Seen, process: ProcessId, cluster: &Cluster) {
    let Some(producer) = cluster.process(process).producer() else { return };
    let mut has_sent_all = None;
    for ((whose, topic), counted) in seen.counts.iter_mut() {
        if *whose != process {
            continue;
        }
        let count = producer.partition_count(topic);
        if counted.count != count {
            *counted = Counted { count, is_settled: false };
            seen.keys.retain(|(whose, of, _), _| *whose != process || of != topic);
        }
        if !counted.is_settled {
            let all = has_sent_all.get_or_insert_with(|| producer.outstanding() == 0);
            counted.is_settled = *all;
        }
    }
}

/// How many keys are remembered.
const KEYS: usize = 256;

/// S18: a producer sends a key to one partition as long as the topic has as many of them for it:
/// one that has never had a leader is none.
pub(super) fn keys_keep_their_partition(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    let Some(process) = witness.record.process else { return Ok(()) };
    let producer = witness.cluster.process(process).producer();
    for fact in witness.record.facts() {
        let Fact::Producer(ProducerFact::RecordSent { partition, key, .. }) = fact else {
            continue;
        };
        let topic = &partition.topic;
        let count = producer.and_then(|producer| producer.partition_count(topic));
        let new = Counted { count, is_settled: producer.is_none() };
        let counted = seen.counts.entry((process, topic.clone())).or_insert(new);
        let Some(key) = key.0.as_ref().filter(|_| counted.is_settled) else { continue };
        if seen.keys.len() >= KEYS {
            seen.keys.clear();
        }
        let now = partition.partition;
        let before = seen.keys.insert((process, topic.clone(), key.clone()), now);
        if let Some(before) = before.filter(|before| *before != now) {
            return Err(format!("topic={topic} key={key} partition={now} was={before}"));
        }
    }
    Ok(())
}

/// S24: a record with a key goes where the key's hash says, of as many partitions as the producer
/// knows. What a hash says, and what assignors and placements do, is recorded in vectors.
pub(super) fn keys_are_hashed(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    let Some(process) = witness.record.process else { return Ok(()) };
    if witness.cluster.process(process).producer().is_none() {
        return Ok(());
    }
    for fact in witness.record.facts() {
        let Fact::Producer(ProducerFact::RecordSent { partition: tp, key, .. }) = fact else {
            continue;
        };
        let counted = seen.counts.get(&(process, tp.topic.clone())).copied().unwrap_or_default();
        let known = counted.count.filter(|_| counted.is_settled);
        let (Some(key), Some(count)) = (&key.0, known) else { continue };
        let hashed = Partitioner::Java.choose(Some(key.as_bytes()), count);
        if hashed != Choice::Partition(tp.partition) {
            let (topic, now) = (&tp.topic, tp.partition);
            return Err(format!("topic={topic} key={key} partition={now} partitions={count}"));
        }
    }
    Ok(())
}

/// S23: who says that it is registered holds the znode of its id, as long as its session lives.
pub(super) fn an_id_has_one_broker(_: &mut Seen, witness: &Witness<'_>) -> Verdict {
    let Some(process) = witness.record.process else { return Ok(()) };
    for fact in witness.record.facts() {
        let Fact::Broker(BrokerFact::BrokerRegistered { broker, .. }) = fact else { continue };
        let session = session_of(witness.cluster.process(process));
        let (Some(database), Some(session)) = (decided(witness.cluster), session) else { continue };
        let owner = database.tree.znode(&znodes::broker(*broker)).map(|znode| znode.stat.owner);
        let is_own = owner == Some(Owner::Session(session));
        if !is_own && database.sessions.contains_key(&session) {
            return Err(format!("broker={broker} session={session}"));
        }
    }
    Ok(())
}

/// The session of a broker that runs.
fn session_of(process: &AnyProcess) -> Option<SessionId> {
    let broker = process.broker().and_then(|broker| broker.running());
    let lone = process.lone_broker().and_then(|broker| broker.running());
    let zookeeper = broker.map(|running| running.zookeeper());
    Some(zookeeper.or_else(|| lone.map(|running| running.zookeeper()))?.session())
}

/// S19: in one generation of a group no partition has two owners.
pub(super) fn one_owner_per_generation(_: &mut Seen, cluster: &Cluster) -> Verdict {
    let mut owners = OrdMap::new();
    for (_, name, process) in cluster.processes() {
        let Some(consumer) = process.consumer() else { continue };
        if consumer.generation() == Generation::NONE {
            continue;
        }
        for partition in consumer.partitions().keys() {
            let (id, generation) = (&consumer.settings().group_id, consumer.generation());
            let before = *owners.entry((id, generation, partition)).or_insert(name);
            none((before != name).then(|| {
                format!(
                    "group={id} generation={generation} partition={partition} \
                    owners={before},{name}"
                )
            }))?;
        }
    }
    Ok(())
}

/// S20: what a member of a group that meets in ZooKeeper holds, as long as its session lives, is
/// its own by a znode, and so nobody else's.
///
/// Past its session it goes on reading until it learns that. It does not notice that somebody
/// deletes the znode, by hand, or because he gives the partition back once more: ZkClient repeats
/// what was not answered when it is connected again, and asks for no version.
// Source: ZkClient.delete, retryUntilConnected; ZkUtils.deletePath;
// ZookeeperConsumerConnector.ZKRebalancerListener.deletePartitionOwnershipFromZK
pub(super) fn old_owners_have_their_znodes(_: &mut Seen, cluster: &Cluster) -> Verdict {
    let Some(database) = decided(cluster) else { return Ok(()) };
    for (_, name, process) in cluster.processes() {
        let Some(consumer) = process.old_consumer() else { continue };
        if !database.sessions.contains_key(&consumer.zookeeper().session()) {
            continue;
        }
        let kept = KeptGroup::of(&database.tree, &consumer.settings().group_id);
        let own = |held: &Held, tp: &TopicPartition| kept.owners.get(tp) == Some(&held.thread);
        let lost = consumer.held().iter().find(|(tp, held)| !own(held, tp));
        none(lost.map(|(tp, _)| {
            let owner = kept.owners.get(tp).map_or("-", |owner| owner);
            format!("partition={tp} consumer={name} owner={owner}")
        }))?;
    }
    Ok(())
}
