//! Which partition a record goes to: the hashes of a key, and the choice without one.
//!
//! Not here: the draws that a choice may need (the producer draws), nor who has a leader.
//!
//! *Invariant: with a key the choice depends on the key and the number of all partitions alone.*

use super::java_hash;

/// Java's and librdkafka's murmur2, 32 bits.
// Source: org.apache.kafka.common.utils.Utils.murmur2; rdmurmur2.c
pub fn murmur2(bytes: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let length = u32::try_from(bytes.len()).expect("keys are short");
    let (words, tail) = bytes.as_chunks::<4>();
    let mut hash = 0x9747_b28c ^ length;
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !tail.is_empty() {
        let rest = tail.iter().rev().fold(0u32, |sum, &byte| (sum << 8) | u32::from(byte));
        hash = (hash ^ rest).wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

/// The CRC-32 of zlib.
// Source: rdcrc32.c
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

/// FNV-1a, 32 bits.
// Source: rdfnv1a.c
pub fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Kafka's way to lose a sign: the top bit is cut off, which is not the absolute value.
// Source: Utils.toPositive
pub fn to_positive(number: u32) -> i32 {
    (number & 0x7fff_ffff).cast_signed()
}

/// Read as signed, then its absolute value.
pub fn fnv1a_absolute(bytes: &[u8]) -> u32 {
    fnv1a(bytes).cast_signed().unsigned_abs()
}

/// The partitioners by the names that their clients give them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Partitioner {
    /// The Java client's default: murmur2 of the key; without a key by the release.
    Java,
    /// librdkafka `random`.
    Random,
    /// librdkafka `consistent`.
    Consistent,
    /// librdkafka `consistent_random`, its default.
    ConsistentRandom,
    /// librdkafka `murmur2`.
    Murmur2,
    /// librdkafka `murmur2_random`.
    Murmur2Random,
    /// librdkafka `fnv1a`.
    Fnv1a,
    /// librdkafka `fnv1a_random`.
    Fnv1aRandom,
}

/// What a partitioner says of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// This partition, whether or not it has a leader.
    Partition(i32),
    /// Any: the client's own rule for records without a key decides.
    Free,
}

impl Partitioner {
    /// Every partitioner, for listings.
    pub const ALL: [Partitioner; 8] = [
        Partitioner::Java,
        Partitioner::Random,
        Partitioner::Consistent,
        Partitioner::ConsistentRandom,
        Partitioner::Murmur2,
        Partitioner::Murmur2Random,
        Partitioner::Fnv1a,
        Partitioner::Fnv1aRandom,
    ];

    /// The name in a client's settings.
    pub fn name(self) -> &'static str {
        match self {
            Partitioner::Java => "default",
            Partitioner::Random => "random",
            Partitioner::Consistent => "consistent",
            Partitioner::ConsistentRandom => "consistent_random",
            Partitioner::Murmur2 => "murmur2",
            Partitioner::Murmur2Random => "murmur2_random",
            Partitioner::Fnv1a => "fnv1a",
            Partitioner::Fnv1aRandom => "fnv1a_random",
        }
    }

    /// The one of that name.
    pub fn by_name(name: &str) -> Option<Partitioner> {
        Partitioner::ALL.into_iter().find(|partitioner| partitioner.name() == name)
    }

    /// The partition for a key, or that any will do.
    // Source: DefaultPartitioner (Java); rdkafka_msg.c, rd_kafka_msg_partitioner_*
    pub fn choose(self, key: Option<&[u8]>, partitions: i32) -> Choice {
        use Partitioner::{Consistent, ConsistentRandom, Fnv1a, Fnv1aRandom, Java, Murmur2};
        use Partitioner::{Murmur2Random, Random};
        let count = partitions.cast_unsigned();
        let bytes = key.unwrap_or_default();
        let hash = match self {
            Random => return Choice::Free,
            Java | Murmur2Random | Fnv1aRandom if key.is_none() => return Choice::Free,
            ConsistentRandom if bytes.is_empty() => return Choice::Free,
            Java | Murmur2 | Murmur2Random => to_positive(murmur2(bytes)).cast_unsigned(),
            Consistent | ConsistentRandom => crc32(bytes),
            Fnv1a | Fnv1aRandom => fnv1a_absolute(bytes),
        };
        Choice::Partition((hash % count).cast_signed())
    }
}

/// The Scala producer's partition of a text key, which 0.7 may get wrong: a negative one is
/// refused.
// Source: kafka.producer.DefaultPartitioner 0.7 (math.abs) and 0.8 (Utils.abs)
pub fn scala_partition(key: &str, partitions: i32, abs: ScalaAbsolute) -> i32 {
    let hash = java_hash::hash(key);
    match abs {
        ScalaAbsolute::KeepsMinimum => hash.wrapping_abs() % partitions,
        ScalaAbsolute::MinimumIsZero => java_hash::absolute(hash) % partitions,
    }
}

/// What becomes of the one number without an absolute value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalaAbsolute {
    /// 0.7: it stays negative.
    KeepsMinimum,
    /// 0.8: it becomes 0.
    MinimumIsZero,
}

/// The partition after `turn` records without a key went round: only those that have a leader, or
/// all if none has.
// Source: DefaultPartitioner 0.8.2 – 2.3
pub fn round_robin(turn: u32, all: i32, available: &[i32]) -> i32 {
    let turn = to_positive(turn);
    match i32::try_from(available.len()).expect("partitions are few") {
        0 => turn % all,
        count => available[usize::try_from(turn % count).expect("not negative")],
    }
}

/// Among which partitions a sticky choice is drawn.
// Source: StickyPartitionCache.nextPartition (2.4 – 3.2, never the one before if there is another);
// BuiltInPartitioner.nextPartition (3.3+, any)
pub fn sticky_candidates(before: Option<i32>, all: i32, available: &[i32]) -> Vec<i32> {
    match available {
        [] => (0..all).collect(),
        [only] => vec![*only],
        several => several.iter().copied().filter(|&p| Some(p) != before).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hashes_are_the_published_ones() {
        let table: [(&str, u32, u32, u32); 3] = [
            ("", 275_646_681, 0, 2_166_136_261),
            ("kafka", 3_496_464_228, 1_539_077_399, 221_496_545),
            ("分区", 2_557_408_815, 2_906_957_496, 798_242_731),
        ];
        for (key, murmur, crc, fnv) in table {
            let bytes = key.as_bytes();
            assert_eq!((murmur2(bytes), crc32(bytes), fnv1a(bytes)), (murmur, crc, fnv), "{key}");
        }
    }

    #[test]
    fn without_a_key_only_leaders_take_turns() {
        assert_eq!(round_robin(5, 4, &[0, 2]), 2);
        assert_eq!(round_robin(6, 4, &[]), 2);
        assert_eq!(sticky_candidates(Some(1), 3, &[0, 1, 2]), [0, 2]);
        assert_eq!(sticky_candidates(Some(1), 3, &[1]), [1]);
        assert_eq!(sticky_candidates(None, 2, &[]), [0, 1]);
    }
}
