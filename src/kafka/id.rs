//! The names and numbers that Kafka's parts exchange, one type each so that none stands for
//! another.
//!
//! Not here: names that only one part knows (a member id lives with its group).
//!
//! *Invariant: every number prints as the number alone, as Kafka's own tools show it.*

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$inner> for $name {
            fn from(number: $inner) -> Self {
                Self(number)
            }
        }
    )*};
}

numbers! {
    /// A broker's `broker.id`; -1 where Kafka says "no broker".
    BrokerId(i32);
    /// Counts the leaders of one partition.
    LeaderEpoch(i32);
    /// Counts the controllers of the cluster.
    ControllerEpoch(i32);
    /// The czxid of a broker's registration (KIP-380); -1 before there was one.
    BrokerEpoch(i64);
    /// Counts the completed rebalances of one group.
    Generation(i32);
    /// A place in a partition log; committed, it is the next one to read.
    Offset(i64);
    /// What an idempotent producer is known by; -1 for none.
    ProducerId(i64);
    /// Counts the owners of one producer id.
    ProducerEpoch(i16);
    /// Ties a reply to its request, within one connection.
    CorrelationId(i32);
}

impl BrokerId {
    /// What stands where a leader would, when a partition has none.
    pub const NONE: BrokerId = BrokerId(-1);
}

impl Generation {
    /// The generation of somebody who is in no group.
    pub const NONE: Generation = Generation(-1);

    /// The generation that the next completed rebalance makes.
    pub fn next(self) -> Generation {
        Generation(self.0 + 1)
    }
}

impl Offset {
    /// The offset of nothing: unknown, or not told (acks 0).
    pub const NONE: Offset = Offset(-1);

    /// The offset after this one.
    pub fn next(self) -> Offset {
        Offset(self.0 + 1)
    }
}

/// What begins every name: its first eight bytes as a number, so that two names are told apart
/// without reading either. *Invariant: for texts of at most eight bytes, this and the length say
/// the whole order.*
fn head_of(text: &str) -> u64 {
    let mut head = [0; 8];
    let known = text.len().min(8);
    head[..known].copy_from_slice(&text.as_bytes()[..known]);
    u64::from_be_bytes(head)
}

/// The order of two texts whose heads are equal.
fn order_after_head(one: &Arc<str>, other: &Arc<str>) -> Ordering {
    if Arc::ptr_eq(one, other) {
        return Ordering::Equal;
    }
    if one.len() <= 8 && other.len() <= 8 {
        return one.len().cmp(&other.len());
    }
    one.cmp(other)
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name {
            head: u64,
            text: Arc<str>,
        }

        // In the order of the texts. Most names that meet differ in their heads or are one name,
        // shared: neither is read.
        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                let heads = self.head.cmp(&other.head);
                heads.then_with(|| order_after_head(&self.text, &other.text))
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.head == other.head
                    && order_after_head(&self.text, &other.text) == Ordering::Equal
            }
        }

        impl Eq for $name {}

        // As its text does: a name is found by its text alone.
        impl Hash for $name {
            fn hash<H: Hasher>(&self, hasher: &mut H) {
                self.text.hash(hasher);
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.text).finish()
            }
        }

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.text
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                let text: Arc<str> = text.into();
                Self { head: head_of(&text), text }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                let text: Arc<str> = text.into();
                Self { head: head_of(&text), text }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.text)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.text
            }
        }
    )*};
}

texts! {
    /// The name of a topic.
    TopicName;
    /// The name of a consumer group.
    GroupId;
    /// What a group's member is known by; empty before its coordinator has named it.
    MemberId;
    /// What a client calls itself (`client.id`).
    ClientId;
}

/// One partition of one topic, printed as Kafka prints it: `orders-0`; where a partition is a
/// broker's own (0.7), `orders-1-0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// Its topic.
    pub topic: TopicName,
    /// Its number, from 0.
    pub partition: i32,
}

impl TopicPartition {
    /// The partition of that topic with that number.
    pub fn new(topic: impl Into<TopicName>, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }

    /// A broker's own partition: the one with that number there, or [`ANY_PART`].
    // Real: broker and number are two; here they are one number, far below all others, so that
    // whoever keeps partitions by name keeps these too.
    pub fn of_broker(topic: impl Into<TopicName>, broker: BrokerId, part: i32) -> Self {
        assert!((ANY_PART..PARTS - 1).contains(&part) && (0..BROKERS).contains(&broker.0));
        Self::new(topic, i32::MIN + (broker.0 * PARTS + part + 1))
    }

    /// The broker whose own it is, and its number there.
    pub fn broker_part(&self) -> Option<(BrokerId, i32)> {
        let own = self.partition.wrapping_sub(i32::MIN);
        let is_own = (0..BROKERS * PARTS).contains(&own);
        is_own.then(|| (BrokerId(own / PARTS), own % PARTS - 1))
    }

    /// The partition of that name below its topic: the inverse of [`name`](Self::name).
    pub fn named(topic: impl Into<TopicName>, name: &str) -> Option<Self> {
        let Some((broker, part)) = name.split_once('-') else {
            return Some(Self::new(topic, name.parse().ok()?));
        };
        let (broker, part) = (broker.parse().ok()?, part.parse().ok()?);
        let fine = (0..BROKERS).contains(&broker) && (0..PARTS - 1).contains(&part);
        fine.then(|| Self::of_broker(topic, BrokerId(broker), part))
    }

    /// What it is called below its topic: `0`, or `1-0` where it is a broker's own.
    // Source: kafka.cluster.Partition.name (0.7)
    pub fn name(&self) -> String {
        match self.broker_part() {
            Some((broker, ANY_PART)) => format!("{broker}-any"),
            Some((broker, part)) => format!("{broker}-{part}"),
            None => self.partition.to_string(),
        }
    }
}

/// Stands for whichever of its partitions a broker likes (0.7).
// Source: kafka.api.ProducerRequest.RandomPartition
pub const ANY_PART: i32 = -1;

/// How many partitions a topic may have.
// Real: no more than a controller can bear, and nobody says how many that are; here this many,
// because all brokers are in one page's memory.
pub const PARTITIONS: i32 = 1000;

/// How many partitions of a topic a broker may have of its own, and one more.
pub const PARTS: i32 = 1024;

/// Brokers with partitions of their own have ids below this.
pub const BROKERS: i32 = 10_000;

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.broker_part().is_some() {
            return write!(f, "{}-{}", self.topic, self.name());
        }
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// The topic that keeps the groups: their offsets and their members.
pub const CONSUMER_OFFSETS: &str = "__consumer_offsets";

/// The topic that keeps transactions.
pub const TRANSACTION_STATE: &str = "__transaction_state";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_may_be_a_brokers_own() {
        let own = TopicPartition::of_broker("orders", BrokerId(12), 3);
        assert_eq!((own.to_string().as_str(), own.name().as_str()), ("orders-12-3", "12-3"));
        assert_eq!(own.broker_part(), Some((BrokerId(12), 3)));
        let last = TopicPartition::of_broker("orders", BrokerId(BROKERS - 1), PARTS - 2);
        assert_eq!(last.broker_part(), Some((BrokerId(BROKERS - 1), PARTS - 2)));
        let any = TopicPartition::of_broker("orders", BrokerId(0), ANY_PART);
        assert_eq!(any.to_string(), "orders-0-any");
        assert!(any < own && own < TopicPartition::new("orders", -1));
        assert_eq!(TopicPartition::named("orders", "12-3"), Some(own));
        assert_eq!(TopicPartition::named("t", "3"), Some(TopicPartition::new("t", 3)));
        for wrong in ["", "-", "1-", "-1", "1--1", "10000-0", "0-1023"] {
            assert_eq!(TopicPartition::named("t", wrong), None, "{wrong}");
        }
        for number in [-1, 0, 7, i32::MAX] {
            assert_eq!(TopicPartition::new("orders", number).broker_part(), None);
        }
    }

    #[test]
    fn names_and_numbers_print_bare() {
        assert_eq!(TopicPartition::new("orders", 2).to_string(), "orders-2");
        assert_eq!(BrokerId::NONE.to_string(), "-1");
        assert_eq!(Generation(7).next(), Generation(8));
    }

    #[test]
    fn names_are_in_the_order_of_their_texts() {
        let texts = [
            "",
            "a",
            "a\0",
            "a\0\0\0\0\0\0\0",
            "a\0\0\0\0\0\0\0\0",
            "ab",
            "orders",
            "orders-1",
            "orders-10",
            "orders-2",
            "orderz",
            "é",
        ];
        for one in texts {
            for other in texts {
                let names = (TopicName::from(one), TopicName::from(other));
                assert_eq!(names.0.cmp(&names.1), one.cmp(other), "{one:?} and {other:?}");
                assert_eq!(names.0 == names.1, one == other, "{one:?} and {other:?}");
            }
        }
    }
}
