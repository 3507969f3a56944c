//! The JVM as Kafka depends on it: Java's strings (`String.hashCode` and `String.compareTo`, over
//! UTF-16), and the order in which Scala's hash tables are gone through.
//!
//! Not here: what is done with a hash (the partitioners, the assignors).
//!
//! *Invariant: text is measured in UTF-16 code units, never in bytes or characters.*

use std::cmp::Ordering;

use super::id::TopicPartition;

pub use crate::zk::hash_order::{bucket as place, hash_code as hash};

/// So many elements at most stay in a Scala set, or map, in the order in which they came.
// Source: scala.collection.immutable.Set.Set4, Map.Map4
pub const SMALL_SET: usize = 4;

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

/// The hash of a long number as the JVM has it.
// Source: java.lang.Long.hashCode
#[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
pub fn of_long(number: i64) -> i32 {
    (number ^ (number >> 32)) as i32
}

/// The hash of a Scala case class, by those of its fields.
// Source: scala.util.hashing.MurmurHash3.productHash
pub fn of_product(fields: &[i32]) -> i32 {
    let mut hash = fields.iter().fold(0xcafe_babe_u32, |hash, field| {
        let field = field.cast_unsigned().wrapping_mul(0xcc9e_2d51);
        let scrambled = field.rotate_left(15).wrapping_mul(0x1b87_3593);
        (hash ^ scrambled).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    hash ^= u32::try_from(fields.len()).expect("classes are small");
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)).cast_signed()
}

/// Which of a few texts comes first in a Scala hash map, which breaks ties for Kafka.
pub fn first_in_scala_map<'a>(texts: &[&'a str]) -> Option<&'a str> {
    let hashes: Vec<i32> = texts.iter().map(|text| hash(text)).collect();
    texts.iter().copied().min_by_key(|text| trie_place(hash(text), &hashes))
}

/// The place of an offset among those that are committed together: they pass through a mutable
/// hash map, of which up to four are handed on as they come, and more in an immutable one.
// Source: GroupCoordinatorAdapter.commitOffsets (3.4), mutable.HashMap.put0, immutable.Map.from
// Real: before 3.4 up to four stay in the order of the request; here it is one order for all
// releases, because no story that is played tells the two apart.
pub fn commit_place(partition: &TopicPartition, all: &[TopicPartition]) -> u64 {
    let with_no_id = |partition| of_partition(partition).wrapping_add(31 * 31);
    let hash = with_no_id(partition);
    if all.len() > 4 {
        return trie_place(hash, &all.iter().map(with_no_id).collect::<Vec<_>>());
    }
    let mixed = hash.cast_unsigned() ^ (hash.cast_unsigned() >> 16);
    (u64::from(mixed & 15) << 32) | u64::from(mixed ^ (1 << 31))
}

/// The place of a hash in the walk through an immutable map of all these: each node gives its own
/// entries, then its children, both by five bits of the hash a level.
// Source: scala.collection.immutable.HashMap, ChampBaseIterator (2.13)
fn trie_place(hash: i32, all: &[i32]) -> u64 {
    let mixed = scala_place(hash.cast_unsigned());
    let mut place = 0;
    for level in 0..7 {
        let below = u32::MAX >> 32u32.saturating_sub(5 * level + 5);
        let akin = |other: &&i32| (scala_place(other.cast_unsigned()) ^ mixed) & below == 0;
        let is_alone = all.iter().filter(akin).count() < 2;
        let chunk = u64::from((mixed >> (5 * level)) & 31);
        place = (place << 6) | (u64::from(!is_alone) << 5) | chunk;
        if is_alone {
            return place << (6 * (6 - level));
        }
    }
    place
}

/// The hash of a partition as an old client has it: that of a case class of a text and a number.
// Source: kafka.common.TopicAndPartition; scala.util.hashing.MurmurHash3.productHash
pub fn of_topic_and_partition(topic: &str, number: i32) -> i32 {
    of_product(&[hash(topic), number])
}

/// How full a table of hashes gets before it doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Three quarters.
    // Source: java.util.HashMap.putVal
    Full,
    /// Not quite three quarters.
    // Source: java.util.concurrent.ConcurrentHashMap.addCount (and so Pool and Properties),
    // scala.collection.mutable.HashMap.put0, HashSet.addElem (2.13)
    Early,
}

/// Orders things by their hashes as such a table goes through them.
// Real: within a bucket Scala orders by hash; here what shares one stands in the order given.
pub fn in_table_order<T>(items: &mut Vec<T>, filling: Filling, hash: impl Fn(&T) -> i32) {
    let buckets = buckets(items.len(), filling);
    crate::sim::sort::by_key(items, |item| place(hash(item), buckets));
}

/// How many buckets such a table has for so many things.
pub fn buckets(count: usize, filling: Filling) -> u32 {
    let mut buckets = 16;
    let fits = |buckets: u32| match filling {
        Filling::Full => count as u64 * 4 <= u64::from(buckets) * 3,
        Filling::Early => (count as u64 * 4) < u64::from(buckets) * 3,
    };
    while !fits(buckets) {
        buckets *= 2;
    }
    buckets
}

/// Orders partitions as a mutable Scala set goes through them.
pub fn in_scala_set_order(tps: &mut Vec<TopicPartition>) {
    let mut slots = FIRST_SLOTS;
    while is_crowded(tps.len(), slots) {
        slots *= 2;
    }
    crate::sim::sort::by_key(tps, |tp| slot(of_partition(tp), slots));
}

/// The numbers from 0 on as a mutable Scala set holds things of these hashes, added one by one.
pub fn scala_set_of(hashes: &[i32]) -> Vec<u32> {
    let mut table = vec![None; FIRST_SLOTS as usize];
    for (number, _) in (0u32..).zip(hashes) {
        put(&mut table, number, hashes);
        if is_crowded(number as usize + 1, table.len() as u64) {
            let larger = vec![None; table.len() * 2];
            let old = std::mem::replace(&mut table, larger);
            old.into_iter().flatten().for_each(|number| put(&mut table, number, hashes));
        }
    }
    table.into_iter().flatten().collect()
}

/// In the first slot that is free.
fn put(table: &mut [Option<u32>], number: u32, hashes: &[i32]) {
    let mut place = slot(hashes[number as usize], table.len() as u64) as usize;
    while table[place].is_some() {
        place = (place + 1) % table.len();
    }
    table[place] = Some(number);
}

/// Slots of a mutable Scala set to begin with.
const FIRST_SLOTS: u64 = 32;

/// Whether such a set doubles its slots.
// Source: scala.collection.mutable.FlatHashTable.newThreshold, addEntry (2.10, 2.12)
fn is_crowded(count: usize, slots: u64) -> bool {
    count as u64 >= slots * 450 / 1000
}

/// Orders things by their hashes as a mutable Scala map goes through them: from its last slot on.
// Source: scala.collection.mutable.HashTable (2.12): 16 slots, doubled once 75 % are full
pub fn in_scala_map_order<T>(items: &mut Vec<T>, hash: impl Fn(&T) -> i32) {
    let mut slots = 16;
    while items.len() as u64 * 1000 > slots * 750 {
        slots *= 2;
    }
    crate::sim::sort::by_key(items, |item| std::cmp::Reverse(slot(hash(item), slots)));
}

/// Orders things by their hashes as an immutable Scala map of more than four goes through them.
// Source: scala.collection.immutable.HashMap.HashTrieMap (2.12): five bits a level, lowest first
pub fn in_scala_trie_order<T>(items: &mut Vec<T>, hash: impl Fn(&T) -> i32) {
    crate::sim::sort::by_key(items, |item| {
        let place = scala_place(hash(item).cast_unsigned());
        [0, 5, 10, 15, 20, 25, 30].map(|level| (place >> level) & 31)
    });
}

/// The slot of a hash in a mutable table of that many.
// Source: scala.collection.mutable.HashTable.HashUtils.improve, index; util.hashing.byteswap32
// Real: what shares a slot stands in the order of its coming; here in the order given.
fn slot(hash: i32, slots: u64) -> u32 {
    const FACTOR: u32 = 0x9e37_75cd;
    let bits = slots.trailing_zeros();
    let mixed = hash.cast_unsigned().wrapping_mul(FACTOR).swap_bytes().wrapping_mul(FACTOR);
    mixed.rotate_right(bits) >> (32 - bits)
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
    fn offsets_are_committed_in_the_order_of_a_hash_map() {
        let all = [("bills", 0), ("bills", 1), ("orders", 0)];
        let all: Vec<TopicPartition> = all.map(|(t, n)| TopicPartition::new(t, n)).into();
        let mut walked = all.clone();
        walked.sort_by_key(|partition| commit_place(partition, &all));
        let names: Vec<String> = walked.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["orders-0", "bills-0", "bills-1"]);
    }

    #[test]
    fn an_entry_comes_before_the_children_of_its_node() {
        let mixed = |hash: i32| scala_place(hash.cast_unsigned()) & 31;
        let shared: Vec<i32> = (0..200).filter(|hash| mixed(*hash) == mixed(0)).take(2).collect();
        let alone = (0..200).find(|hash| mixed(*hash) > mixed(0)).expect("hashes are spread");
        let all = [shared[0], shared[1], alone];
        assert!(shared.iter().all(|hash| trie_place(*hash, &all) > trie_place(alone, &all)));
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

    #[test]
    fn tables_double_as_they_fill() {
        let check = |count, filling, expected| assert_eq!(buckets(count, filling), expected);
        check(12, Filling::Full, 16);
        check(13, Filling::Full, 32);
        check(11, Filling::Early, 16);
        check(12, Filling::Early, 32);
        assert!(!is_crowded(13, 32) && is_crowded(14, 32));
        let hashes: Vec<i32> = (0..100).map(|n| of_topic_and_partition("c1", n)).collect();
        let mut held = scala_set_of(&hashes);
        held.sort_unstable();
        assert_eq!(held, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn mutable_scala_tables_are_walked_as_recorded() {
        let named = |names: &[(&str, i32)]| -> Vec<TopicPartition> {
            names.iter().map(|(topic, number)| TopicPartition::new(*topic, *number)).collect()
        };
        let offsets = "__consumer_offsets";
        let expected = named(&[("orders", 1), ("orders", 2), (offsets, 1), (offsets, 2)]);
        let mut set = named(&[(offsets, 2), ("orders", 1), ("orders", 2), (offsets, 1)]);
        in_scala_set_order(&mut set);
        assert_eq!(set, expected);
        let mut map = named(&[("orders", 0), ("orders", 1)]);
        in_scala_map_order(&mut map, of_partition);
        assert_eq!(map, named(&[("orders", 1), ("orders", 0)]));
        let mut brokers = vec![1, 2, 3];
        in_scala_map_order(&mut brokers, |id| *id);
        assert_eq!(brokers, [2, 1, 3]);
    }
}
