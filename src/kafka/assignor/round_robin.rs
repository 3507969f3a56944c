//! The round robin assignor: all partitions dealt in a circle over all members.
//!
//! *Invariant: the circle never steps back; who does not want a topic is passed over.*

use super::{GroupAssignment, PartitionCounts, Subscriber, in_order, nothing_for_each, subscribed};
use crate::kafka::id::TopicPartition;

// Source: RoundRobinAssignor.assign (3.9)
pub(super) fn assign(counts: &PartitionCounts, members: &[Subscriber]) -> GroupAssignment {
    let mut assignment = nothing_for_each(members);
    let ordered = in_order(members);
    let mut circle = ordered.iter().cycle();
    for (topic, count) in subscribed(counts, members) {
        for number in 0..count {
            let next = circle.find(|member| member.topics.contains(topic));
            let member = next.expect("somebody is subscribed to the topic");
            let given = TopicPartition::new(topic.clone(), number);
            assignment.entry(member.id.clone()).or_default().push(given);
        }
    }
    assignment
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::id::Generation;

    fn member(id: &str, topics: &[&str]) -> Subscriber {
        Subscriber {
            id: id.into(),
            instance_id: None,
            topics: topics.iter().map(|&topic| topic.into()).collect(),
            owned: Vec::new(),
            generation: Generation::NONE,
        }
    }

    #[test]
    fn who_does_not_want_a_topic_is_passed_over() {
        let counts = PartitionCounts::from([("a".into(), 2), ("b".into(), 2)]);
        let members = [member("m2", &["a", "b"]), member("m1", &["b"])];
        let told: Vec<_> = assign(&counts, &members).into_values().map(|p| p.len()).collect();
        assert_eq!(told, [1, 3]);
    }
}
