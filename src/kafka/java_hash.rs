//! Java's strings as Kafka depends on them: `String.hashCode` and `String.compareTo`, over UTF-16.
//!
//! Not here: what is done with a hash (the partitioners, the assignors).
//!
//! *Invariant: text is measured in UTF-16 code units, never in bytes or characters.*

use std::cmp::Ordering;

use super::id::TopicPartition;

pub use crate::zk::hash_order::{bucket as place, hash_code as hash};

/// The order of two texts as the JVM has it.
// Source: java.lang.String.compareTo
pub fn order(left: &str, right: &str) -> Ordering {
    left.encode_utf16().cmp(right.encode_utf16())
}

/// Kafka's absolute value: the one number that has none in 32 bits becomes 0.
// Source: org.apache.kafka.common.utils.Utils.abs
pub fn absolute(number: i32) -> i32 {
    number.checked_abs().unwrap_or(0)
}

/// The partition of `__consumer_offsets` that keeps a group; its leader is the group's coordinator.
// Source: GroupMetadataManager.partitionFor
pub fn coordinator_partition(group: &str, partitions: i32) -> i32 {
    absolute(hash(group)) % partitions
}

/// The hash of a partition as the JVM has it.
// Source: org.apache.kafka.common.TopicPartition.hashCode
pub fn of_partition(partition: &TopicPartition) -> i32 {
    let number = 31i32.wrapping_add(partition.partition);
    number.wrapping_mul(31).wrapping_add(hash(partition.topic.as_str()))
}

/// Which of a few texts comes first in a Scala hash map, which breaks ties for Kafka.
// Source: scala.collection.immutable.HashMap (2.13), through the iterator of its root
// Real: texts whose places collide come after all others; here they do so in their order among
// themselves, because of the handful of names in question none collide deeper.
pub fn first_in_scala_map<'a>(texts: &[&'a str]) -> Option<&'a str> {
    let place = |text: &str| scala_place(hash(text).cast_unsigned()) & 31;
    let alone = |text: &&str| texts.iter().filter(|other| place(other) == place(text)).count() == 1;
    texts.iter().copied().min_by_key(|text| (!alone(text), place(text)))
}

// Source: scala.collection.Hashing.improve
fn scala_place(hash: u32) -> u32 {
    let mut place = hash.wrapping_add(!(hash << 9));
    place ^= place >> 14;
    place = place.wrapping_add(place << 4);
    place ^ (place >> 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_counts_code_units() {
        let table = [("", 0), ("a", 97), ("AaAa", 2031744), ("polygenelubricants", i32::MIN)];
        for (text, expected) in table {
            assert_eq!(hash(text), expected, "{text}");
        }
        assert_eq!(absolute(i32::MIN), 0);
    }

    #[test]
    fn a_tie_is_not_broken_by_the_alphabet() {
        assert_eq!(first_in_scala_map(&["range", "roundrobin"]), Some("roundrobin"));
        assert_eq!(first_in_scala_map(&["range"]), Some("range"));
        assert_eq!(first_in_scala_map(&[]), None);
    }

    #[test]
    fn surrogates_sort_before_the_last_plane_zero_characters() {
        assert_eq!(order("\u{1f600}", "\u{ffee}"), Ordering::Less);
        assert_eq!(order("c-10", "c-2"), Ordering::Less);
    }

    #[test]
    fn the_coordinator_is_found_by_the_groups_name() {
        let table =
            [("my-group", 12), ("console-consumer-12345", 6), ("group1", 40), ("消费者组", 38)];
        for (group, expected) in table {
            assert_eq!(coordinator_partition(group, 50), expected, "{group}");
        }
    }
}
