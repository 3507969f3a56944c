//! The assignors of the old high-level consumer, which each member runs for itself over threads.
//!
//! Not here: owner nodes, and what a failed attempt costs (the old consumer).
//!
//! *Invariant: all members that see the same registrations come to the same result.*

use super::PartitionCounts;
use super::range::ranges;
use crate::kafka::id::{TopicName, TopicPartition};
use crate::kafka::java_hash;
use crate::sim::{OrdMap, OrdSet, sort};

/// How many threads (streams) a consumer has for each topic, by consumer id.
pub type Registrations = OrdMap<String, OrdMap<TopicName, i32>>;

/// What each thread owns, by thread id (`consumer-0`); threads without anything are absent.
pub type ThreadAssignment = OrdMap<String, Vec<TopicPartition>>;

/// Round robin was asked for by members that differ in topics or threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("round robin needs the same topics and streams in every member")]
pub struct Uneven;

/// Each topic in ranges over the threads that read it.
// Source: kafka.consumer.RangeAssignor (0.8.2.2)
pub fn range(counts: &PartitionCounts, members: &Registrations) -> ThreadAssignment {
    let mut assignment = ThreadAssignment::new();
    for (topic, &count) in counts {
        let threads = threads_of(topic, members);
        for (thread, range) in threads.iter().zip(ranges(count, threads.len())) {
            for number in range {
                let given = TopicPartition::new(topic.clone(), number);
                assignment.entry(thread.clone()).or_default().push(given);
            }
        }
    }
    assignment
}

/// All partitions, shuffled by their hash, dealt in a circle over the threads.
// Source: kafka.consumer.RoundRobinAssignor (0.8.2.2)
pub fn round_robin(
    counts: &PartitionCounts,
    members: &Registrations,
) -> Result<ThreadAssignment, Uneven> {
    let topics: OrdSet<&TopicName> = members.values().flat_map(OrdMap::keys).collect();
    if !members.values().all(|wanted| is_even(wanted, topics.len())) {
        return Err(Uneven);
    }
    let Some(head) = topics.first() else {
        return Ok(ThreadAssignment::new());
    };
    let threads = threads_of(head, members);
    let mut assignment = ThreadAssignment::new();
    for (partition, thread) in shuffled(counts, &topics).into_iter().zip(threads.iter().cycle()) {
        assignment.entry(thread.clone()).or_default().push(partition);
    }
    Ok(assignment)
}

fn is_even(wanted: &OrdMap<TopicName, i32>, topics: usize) -> bool {
    let streams: OrdSet<i32> = wanted.values().copied().collect();
    wanted.len() == topics && streams.len() <= 1
}

fn shuffled(counts: &PartitionCounts, topics: &OrdSet<&TopicName>) -> Vec<TopicPartition> {
    let mut all: Vec<TopicPartition> = counts
        .iter()
        .filter(|(topic, _)| topics.contains(topic))
        .flat_map(|(topic, &count)| (0..count).map(|n| TopicPartition::new(topic.clone(), n)))
        .collect();
    sort::by_key(&mut all, |p| java_hash::hash(&format!("[{},{}]", p.topic, p.partition)));
    all
}

/// The threads that read a topic, sorted as texts: `-10` before `-2`.
fn threads_of(topic: &TopicName, members: &Registrations) -> Vec<String> {
    let mut threads: Vec<String> = members
        .iter()
        .flat_map(|(id, topics)| {
            let streams = topics.get(topic).copied().unwrap_or(0);
            (0..streams).map(move |stream| format!("{id}-{stream}"))
        })
        .collect();
    sort::by(&mut threads, |left, right| java_hash::order(left, right));
    threads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_robin_refuses_even_a_lone_member_with_unlike_streams() {
        let wanted = OrdMap::from([("a".into(), 2), ("b".into(), 1)]);
        let members = Registrations::from([("c".to_string(), wanted)]);
        assert_eq!(round_robin(&PartitionCounts::new(), &members), Err(Uneven));
        assert_eq!(round_robin(&PartitionCounts::new(), &Registrations::new()), Ok(OrdMap::new()));
    }
}
