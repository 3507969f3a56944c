//! What a broker keeps for each of its partitions, by topic and number: every request looks in here
//! for each partition that it names, and a topic's name and a number are found sooner apart.
//!
//! *Invariant: a topic is in it only with a partition; partitions ascend as their names do.*

use super::id::{TopicName, TopicPartition};
use crate::sim::{Near, OrdMap};

/// Where to look first for a partition ([`PartitionMap::get_near_mut`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct NearPartition {
    topic: Near,
    number: Near,
    /// The topic to which the number belongs.
    of: Near,
}

impl NearPartition {
    /// Where to look for the number, the topic having been found.
    fn number(&mut self) -> &mut Near {
        if self.of != self.topic {
            (self.of, self.number) = (self.topic, Near::default());
        }
        &mut self.number
    }
}

/// A map from partitions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionMap<V> {
    topics: OrdMap<TopicName, OrdMap<i32, V>>,
}

impl<V> Default for PartitionMap<V> {
    fn default() -> Self {
        PartitionMap { topics: OrdMap::new() }
    }
}

impl<V: Clone> PartitionMap<V> {
    /// What is there for a partition.
    pub fn get(&self, of: &TopicPartition) -> Option<&V> {
        self.topics.get(&of.topic)?.get(&of.partition)
    }

    /// Looks for one partition after the other: soonest if they ascend.
    pub fn walk(&self) -> Walk<'_, V> {
        Walk { map: self, topic: None, near: Near::default() }
    }

    /// What is there for a partition, to change.
    pub fn get_mut(&mut self, of: &TopicPartition) -> Option<&mut V> {
        self.topics.get_mut(&of.topic)?.get_mut(&of.partition)
    }

    /// The same, of a partition that comes soon after the one before.
    pub fn get_near_mut(
        &mut self,
        of: &TopicPartition,
        near: &mut NearPartition,
    ) -> Option<&mut V> {
        let of_topic = self.topics.get_near_mut(&of.topic, &mut near.topic)?;
        of_topic.get_near_mut(&of.partition, near.number())
    }

    /// Whether there is something for a partition.
    pub fn contains_key(&self, of: &TopicPartition) -> bool {
        self.get(of).is_some()
    }

    /// Whether there is something for any partition of a topic.
    pub fn has_topic(&self, topic: &TopicName) -> bool {
        self.topics.contains_key(topic)
    }

    /// Sets what is there for a partition.
    pub fn insert(&mut self, of: TopicPartition, value: V) {
        self.topics.entry(of.topic).or_default().insert(of.partition, value);
    }

    /// Takes out what is there for a partition.
    pub fn remove(&mut self, of: &TopicPartition) -> Option<V> {
        let of_topic = self.topics.get_mut(&of.topic)?;
        let removed = of_topic.remove(&of.partition);
        if of_topic.is_empty() {
            self.topics.remove(&of.topic);
        }
        removed
    }

    /// What is there, by topic, then by number.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.topics.values().flat_map(|of_topic| of_topic.values())
    }
}

/// Looks for one partition after the other.
pub struct Walk<'a, V> {
    map: &'a PartitionMap<V>,
    topic: Option<(&'a TopicName, &'a OrdMap<i32, V>)>,
    near: Near,
}

impl<'a, V: Clone> Walk<'a, V> {
    /// What is there for a partition.
    pub fn get(&mut self, of: &'a TopicPartition) -> Option<&'a V> {
        let known = self.topic.filter(|(topic, _)| **topic == of.topic);
        let (_, numbers) = match known {
            Some(known) => known,
            None => {
                self.near = Near::default();
                *self.topic.insert((&of.topic, self.map.topics.get(&of.topic)?))
            }
        };
        numbers.get_near(&of.partition, &mut self.near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_goes_with_its_last_partition() {
        let mut map = PartitionMap::default();
        for name in ["orders", "clicks"] {
            for number in [10, 2] {
                map.insert(TopicPartition::new(name, number), (name, number));
            }
        }
        let all: Vec<_> = map.values().copied().collect();
        assert_eq!(all, [("clicks", 2), ("clicks", 10), ("orders", 2), ("orders", 10)]);
        let asked = [("clicks", 2), ("clicks", 3), ("clicks", 10), ("views", 2), ("orders", 10)];
        let asked = asked.map(|(topic, number)| TopicPartition::new(topic, number));
        let mut walk = map.walk();
        let found: Vec<_> = asked.iter().map(|of| walk.get(of).is_some()).collect();
        assert_eq!(found, [true, false, true, false, true]);
        assert_eq!(map.remove(&TopicPartition::new("orders", 2)), Some(("orders", 2)));
        assert!(map.has_topic(&"orders".into()));
        assert_eq!(map.remove(&TopicPartition::new("orders", 10)), Some(("orders", 10)));
        assert!(!map.has_topic(&"orders".into()));
        assert_eq!(map.get_mut(&TopicPartition::new("orders", 10)), None);
        assert_eq!(map.get(&TopicPartition::new("clicks", 10)), Some(&("clicks", 10)));
    }
}
