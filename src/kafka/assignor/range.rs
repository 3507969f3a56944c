//! The range assignor: each topic on its own, cut into contiguous pieces, the first ones larger.
//!
//! Not here: rack awareness (KIP-881).
//!
//! *Invariant: of one topic two members differ by at most one partition.*
// Real: with client.rack and broker racks set, partitions go to near members first; here they do
// not, because no client here has a rack.

use super::{GroupAssignment, PartitionCounts, Subscriber, in_order, nothing_for_each, subscribed};
use crate::kafka::id::TopicPartition;

// Source: RangeAssignor.assignPartitions (3.9)
pub(super) fn assign(counts: &PartitionCounts, members: &[Subscriber]) -> GroupAssignment {
    let mut assignment = nothing_for_each(members);
    let ordered = in_order(members);
    for (topic, count) in subscribed(counts, members) {
        let wanting: Vec<_> = ordered.iter().filter(|m| m.topics.contains(topic)).collect();
        for (member, range) in wanting.iter().zip(ranges(count, wanting.len())) {
            let given = range.map(|number| TopicPartition::new(topic.clone(), number));
            assignment.entry(member.id.clone()).or_default().extend(given);
        }
    }
    assignment
}

/// `count` partitions in `pieces` ranges, the extras to the first.
pub(super) fn ranges(count: i32, pieces: usize) -> impl Iterator<Item = std::ops::Range<i32>> {
    let pieces = i32::try_from(pieces).expect("groups are small");
    (0..pieces).map(move |i| {
        let start = count / pieces * i + i.min(count % pieces);
        let extra = i32::from(i < count % pieces);
        start..start + count / pieces + extra
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_get_the_extras() {
        let cut: Vec<_> = ranges(8, 3).collect();
        assert_eq!(cut, [0..3, 3..6, 6..8]);
        let few: Vec<_> = ranges(1, 2).collect();
        assert_eq!(few, [0..1, 1..1]);
    }
}
