//! The names and numbers that Kafka's parts exchange, one type each so that none stands for
//! another.
//!
//! Not here: names that only one part knows (a member id lives with its group).
//!
//! *Invariant: every number prints as the number alone, as Kafka's own tools show it.*

use std::cmp::Ordering;
use std::fmt;
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

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name(Arc<str>);

        // In the order of the texts. Most names that meet are one name, shared: nothing is read.
        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
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

/// One partition of one topic, printed as Kafka prints it: `orders-0`.
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
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// The topic that keeps the groups: their offsets and their members.
pub const CONSUMER_OFFSETS: &str = "__consumer_offsets";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_print_bare() {
        assert_eq!(TopicPartition::new("orders", 2).to_string(), "orders-2");
        assert_eq!(BrokerId::NONE.to_string(), "-1");
        assert_eq!(Generation(7).next(), Generation(8));
    }
}
