//! `kafka-reassign-partitions` as it was before 2.4: it wishes for moves in
//! `/admin/reassign_partitions`, and sees there whether they are done.
//!
//! Source: ReassignPartitionsCommand (2.3).
//!
//! *Invariant: one wish at a time; while there is one, nobody wishes for more.*

use super::Admin;
use super::admin::{Failure, Halt, Told};
use super::exception::Exception;
use super::reassign_partitions::{Disks, ReassignPartitions, Replicas, joined, json};
use super::topics_in_zookeeper::{get, registered};
use crate::kafka::id::{BrokerId, TopicName, TopicPartition};
use crate::kafka::java_hash;
use crate::kafka::znodes::{self, TopicZnode};
use crate::kafka::zookeeper::{create, found};
use crate::sim::OrdSet;
use crate::zk::request::Op;

impl ReassignPartitions {
    pub(super) fn execute_in_zookeeper(&self, admin: &mut Admin<'_>) -> Told<String> {
        self.check_plan(admin.release())?;
        let mut current = current(&self.topic_names(), admin)?;
        let known: OrdSet<BrokerId> = registered(admin)?.into_iter().map(|one| one.id).collect();
        let wanted: OrdSet<BrokerId> = self.plan.iter().flat_map(|(_, to)| to.clone()).collect();
        let unknown: Vec<BrokerId> = wanted.into_iter().filter(|id| !known.contains(id)).collect();
        if !unknown.is_empty() {
            let words = "The proposed assignment contains non-existent brokerIDs: ";
            return Err(refused(&format!("{words}{}", joined(&unknown))));
        }
        let is_there = |tp: &TopicPartition| current.iter().any(|(of, _)| of == tp);
        let missing: Vec<String> = self
            .plan
            .iter()
            .map(|(tp, _)| tp)
            .filter(|tp| !is_there(tp))
            .map(TopicPartition::to_string)
            .collect();
        if !missing.is_empty() {
            let words = "The proposed assignment contains non-existent partitions: ArrayBuffer(";
            return Err(refused(&format!("{words}{})", missing.join(", "))));
        }
        let look = Op::Exists { path: znodes::reassign_partitions(), watch: false };
        if admin.in_zookeeper(vec![look])?[0].is_ok() {
            return Ok("There is an existing assignment running.\n".into());
        }
        let wish = znodes::encode_reassignments(&self.plan);
        admin.in_zookeeper(vec![create(znodes::reassign_partitions(), wish)])?;
        if admin.release().partitions_are_named_in_brackets() {
            in_order_of_first_map(&mut current);
            return Ok(started(&json(&current, Disks::Untold), &self.in_words()));
        }
        in_order(&mut current);
        Ok(started(&json(&current, Disks::Any), "."))
    }

    /// The plan, behind the words that say that it is begun.
    fn in_words(&self) -> String {
        format!(" {}", json(&self.plan, Disks::Untold))
    }

    fn topic_names(&self) -> Vec<TopicName> {
        let names: OrdSet<TopicName> = self.plan.iter().map(|(tp, _)| tp.topic.clone()).collect();
        names.into_iter().collect()
    }

    pub(super) fn verify_in_zookeeper(&self, admin: &mut Admin<'_>) -> Told<String> {
        let replies = admin.in_zookeeper(vec![get(znodes::reassign_partitions())])?;
        let moving = found(&replies[0], znodes::decode_reassignments).unwrap_or_default();
        let current = current(&self.topic_names(), admin)?;
        let in_brackets = admin.release().partitions_are_named_in_brackets();
        let (mut errors, mut out) = (String::new(), String::new());
        for (partition, target) in &self.plan {
            let name = match in_brackets {
                true => bracketed(partition),
                false => partition.to_string(),
            };
            let now = current.iter().find(|(of, _)| of == partition).map(|(_, now)| now);
            let is_moving = moving.iter().any(|(of, _)| of == partition);
            let end = match now {
                _ if is_moving => "is still in progress",
                Some(now) if now == target => "completed successfully",
                now => {
                    errors.push_str(&format!(
                        "ERROR: Assigned replicas ({}) don't match the list of replicas for \
                         reassignment ({}) for partition {name}\n",
                        joined(now.map_or(&[], Vec::as_slice)),
                        joined(target),
                    ));
                    "failed"
                }
            };
            out.push_str(&format!("Reassignment of partition {name} {end}\n"));
        }
        let space = if in_brackets { "" } else { " " };
        Ok(format!("Status of partition reassignment:{space}\n{errors}{out}"))
    }
}

/// Where all replicas of these topics are.
pub(super) fn current(names: &[TopicName], admin: &mut Admin<'_>) -> Told<Replicas> {
    let reads = names.iter().map(|name| get(znodes::topic(name))).collect();
    let replies = admin.in_zookeeper(reads)?;
    let mut current = Replicas::new();
    for (name, reply) in names.iter().zip(&replies) {
        let Some(topic) = found(reply, TopicZnode::decode) else { continue };
        let all = topic.partitions.into_iter();
        current.extend(
            all.map(|(number, to)| (TopicPartition::new(name.clone(), number), to.replicas)),
        );
    }
    Ok(current)
}

/// In the order of the map that tools had first.
pub(super) fn in_order_of_first_map(current: &mut Replicas) {
    java_hash::in_scala_map_order(current, |(tp, _)| {
        java_hash::of_topic_and_partition(tp.topic.as_str(), tp.partition)
    });
}

/// In the order of the map that they had next.
pub(super) fn in_order(current: &mut Replicas) {
    match current.len() <= java_hash::SMALL_SET {
        true => java_hash::in_scala_map_order(current, |(tp, _)| tp.partition),
        false => java_hash::in_scala_trie_order(current, |(tp, _)| java_hash::of_partition(tp)),
    }
}

/// What is said of a move that has begun: where replicas were, and what is to be.
fn started(current: &str, plan: &str) -> String {
    format!(
        "Current partition replica assignment\n\n{current}\n\nSave this to use as the \
         --reassignment-json-file option during rollback\nSuccessfully started reassignment of \
         partitions{plan}\n"
    )
}

/// A partition as tools named it first.
// Source: kafka.common.TopicAndPartition.toString (0.8 to 0.11)
pub(super) fn bracketed(tp: &TopicPartition) -> String {
    format!("[{},{}]", tp.topic, tp.partition)
}

fn refused(words: &str) -> Halt {
    Failure::new(Exception::AdminCommandFailed, words.to_owned()).into()
}
