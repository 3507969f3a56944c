//! Which threads a consumer has, and which of its streams each of them fills.
//!
//! *Invariant: threads and streams are paired in the order of a Scala hash set, as in every JVM.*
// Source: kafka.consumer.TopicCount, ZookeeperConsumerConnector.reinitializeConsumer (0.8.2)

use std::sync::Arc;

use super::words::{OldSettings, Wanted};
use crate::kafka::assignor::old::Registrations;
use crate::kafka::id::{TopicName, TopicPartition};
use crate::kafka::java_hash::{self, Filling};
use crate::kafka::topic_pattern;
use crate::kafka::znodes::consumers::ConsumerZnode;
use crate::sim::{OrdMap, sort};

impl OldSettings {
    /// What it says of itself when it registers.
    pub(super) fn registration(&self, timestamp: u64) -> ConsumerZnode {
        let (subscription, is_pattern) = match &self.wanted {
            Wanted::Topics(topics) => {
                let topics = topics.iter();
                (topics.map(|(topic, count)| (topic.as_str().into(), *count)).collect(), false)
            }
            Wanted::Pattern(pattern, count) => {
                ([(pattern.clone(), *count)].into_iter().collect(), true)
            }
        };
        ConsumerZnode { subscription, is_pattern, timestamp }
    }

    /// The number of the stream that a thread fills, as the application counts its streams.
    pub(super) fn stream(&self, topic: &TopicName, thread: u32) -> u32 {
        let topics = match &self.wanted {
            Wanted::Topics(topics) => topics,
            // The streams of a pattern are shared by all its topics.
            Wanted::Pattern(_, count) => return self.place(thread, *count),
        };
        let mut before = 0;
        for (name, count) in topics {
            if name == topic {
                return before + self.place(thread, *count);
            }
            before += u32::try_from(*count).expect("streams are counted from 1");
        }
        0
    }

    /// The place of a thread among so many.
    fn place(&self, thread: u32, count: i32) -> u32 {
        let id = self.id();
        let hash = |number| java_hash::of_topic_and_partition(&id, number);
        let threads = java_hash::scala_set_of(&(0..count).map(hash).collect::<Vec<_>>());
        let place = threads.iter().position(|number| *number == thread).unwrap_or(0);
        u32::try_from(place).expect("threads are few")
    }
}

/// The streams of each topic that a registration means, the topics being these.
pub(super) fn wanted(znode: &ConsumerZnode, topics: &[Arc<str>]) -> OrdMap<TopicName, i32> {
    let mut wanted = OrdMap::new();
    for (name, &streams) in &znode.subscription {
        if znode.is_pattern {
            let matching = topics.iter().filter(|topic| is_allowed(name, topic));
            wanted.extend(matching.map(|topic| (TopicName::from(&**topic), streams)));
        } else {
            wanted.insert(TopicName::from(&**name), streams);
        }
    }
    wanted
}

/// Whether a white list allows a topic; the internal one it never does.
// Source: kafka.consumer.Whitelist (exclude.internal.topics)
pub(super) fn is_allowed(pattern: &str, topic: &str) -> bool {
    topic != crate::kafka::id::CONSUMER_OFFSETS && topic_pattern::matches(pattern, topic)
}

/// What every member has said, with the topics that there are.
pub(super) fn registrations(
    members: &[(Arc<str>, ConsumerZnode)],
    topics: &[Arc<str>],
) -> Registrations {
    let one = |(id, znode): &(Arc<str>, ConsumerZnode)| (id.to_string(), wanted(znode, topics));
    members.iter().map(one).collect()
}

/// The consumer and the number in a thread's id.
pub(super) fn thread_number(thread: &str) -> (&str, u32) {
    let (consumer, number) = thread.rsplit_once('-').unwrap_or((thread, "0"));
    (consumer, number.parse().unwrap_or(0))
}

/// Partitions in the order in which they are claimed: that of a Scala `mutable.HashMap`, which is
/// walked from its last bucket down.
// Source: scala.collection.mutable.HashTable (2.10)
pub(super) fn in_claim_order<T>(claims: &mut Vec<T>, key: impl Fn(&T) -> &TopicPartition) {
    claims.reverse();
    java_hash::in_scala_map_order(claims, |claim| {
        let tp = key(claim);
        java_hash::of_topic_and_partition(tp.topic.as_str(), tp.partition)
    });
}

/// Partitions in the order in which they are kept: their topics, and those of each topic, in that
/// of a Java hash map; more than a few are committed in that of an immutable Scala map.
// Source: kafka.utils.Pool, java.util.concurrent.ConcurrentHashMap
pub(super) fn in_registry_order<T>(items: &mut Vec<T>, key: impl Fn(&T) -> &TopicPartition) {
    let mut topics: Vec<TopicName> = items.iter().map(|item| key(item).topic.clone()).collect();
    let partitions = |of: &TopicName| topics.iter().filter(|topic| *topic == of).count();
    let inner = |tp: &TopicPartition| {
        java_hash::place(tp.partition, java_hash::buckets(partitions(&tp.topic), Filling::Early))
    };
    sort::by_key(items, |item| inner(key(item)));
    topics.dedup();
    java_hash::in_table_order(&mut topics, Filling::Early, |topic| java_hash::hash(topic.as_str()));
    let place = |wanted: &TopicName| topics.iter().position(|topic| topic == wanted);
    sort::by_key(items, |item| place(&key(item).topic));
    if items.len() > java_hash::SMALL_SET {
        java_hash::in_scala_trie_order(items, |item| {
            let tp = key(item);
            java_hash::of_topic_and_partition(tp.topic.as_str(), tp.partition)
        });
    }
}

#[cfg(test)]
mod table {
    use super::*;

    #[test]
    fn streams_are_paired_as_the_recorded_consumers_paired_them() {
        let topics = vec![("orders".into(), 2), ("payments".into(), 1)];
        let table = [("c1", [1, 0, 2]), ("c2", [0, 1, 2])];
        for (consumer, streams) in table {
            let settings = OldSettings::new("g", consumer, Wanted::Topics(topics.clone()));
            let stream = |topic: &str, thread| settings.stream(&topic.into(), thread);
            let all = [stream("orders", 0), stream("orders", 1), stream("payments", 0)];
            assert_eq!(all, streams, "{consumer}");
        }
    }

    #[test]
    fn each_thread_has_a_stream_of_its_own() {
        for count in [1, 3, 13, 14, 15, 33, 100] {
            for wanted in
                [Wanted::Pattern(".*".into(), count), Wanted::Topics(vec![("t".into(), count)])]
            {
                let settings = OldSettings::new("g", "c1", wanted);
                let count = count.cast_unsigned();
                let mut streams: Vec<u32> =
                    (0..count).map(|thread| settings.stream(&"t".into(), thread)).collect();
                streams.sort_unstable();
                assert_eq!(streams, (0..count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn partitions_are_claimed_as_the_recorded_consumers_claimed_them() {
        let check = |counts: &[(&str, i32)], expected: &[&str]| {
            let all = counts.iter().flat_map(|(topic, count)| (0..*count).map(move |n| (topic, n)));
            let mut all: Vec<_> = all.map(|(t, n)| TopicPartition::new(*t, n)).collect();
            in_claim_order(&mut all, |tp| tp);
            assert_eq!(all.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        };
        let two = ["orders-2", "orders-1", "payments-1", "orders-0", "payments-0"];
        check(&[("orders", 3), ("payments", 2)], &two);
        let seven = [3, 2, 1, 6, 4, 5, 0].map(|n| format!("orders-{n}"));
        check(&[("orders", 7)], &seven.each_ref().map(String::as_str));
    }

    #[test]
    fn the_internal_topic_is_nobodys() {
        assert!(is_allowed("ord.*", "orders") && !is_allowed(".*", "__consumer_offsets"));
    }
}
