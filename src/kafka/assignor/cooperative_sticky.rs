//! The cooperative sticky assignor: the same target, reached in two generations.
//!
//! *Invariant: no partition is given to a member before the one that had it has given it up, as
//! far as claims count (before 3.5 those of an older generation do not).*

use super::sticky::{self, Target};
use super::{GroupAssignment, PartitionCounts, Subscriber};
use crate::kafka::release::Release;

// Source: CooperativeStickyAssignor.assignPartitions (3.9, KIP-429)
pub(super) fn assign(
    counts: &PartitionCounts,
    members: &[Subscriber],
    release: Release,
) -> GroupAssignment {
    let Target { mut shares, in_transfer } = sticky::target(counts, members, release);
    for member in members {
        let share = shares.get_mut(&member.id).expect("each member has a share");
        share.retain(|given| member.owned.contains(given) || !in_transfer.contains(given));
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::id::{Generation, TopicPartition};

    /// `b` missed a generation and holds two partitions still; `c` is new.
    #[test]
    fn what_an_older_generation_holds_is_minded_from_3_5_on() {
        let member = |id: &str, owned: &[i32], generation| Subscriber {
            id: id.into(),
            instance_id: None,
            topics: vec!["t".into()],
            owned: owned.iter().map(|&number| TopicPartition::new("t", number)).collect(),
            generation: Generation(generation),
        };
        let members = [member("a", &[0], 5), member("b", &[1, 2], 4), member("c", &[], -1)];
        let counts: PartitionCounts = [("t".into(), 3)].into_iter().collect();
        let check = |release, expected: [&[i32]; 3]| {
            let shares = assign(&counts, &members, release);
            let numbers = |share: &Vec<TopicPartition>| share.iter().map(|p| p.partition).collect();
            let told: Vec<Vec<i32>> = shares.values().map(numbers).collect();
            assert_eq!(told, expected);
        };
        check(Release::V2_8_2, [&[0], &[1], &[2]]);
        check(Release::V3_9_1, [&[0], &[1], &[]]);
    }
}
