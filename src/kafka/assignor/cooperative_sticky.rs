//! The cooperative sticky assignor: the same target, reached in two generations.
//!
//! *Invariant: no partition is given to a member before the one that had it has given it up.*

use super::sticky::{self, Target};
use super::{GroupAssignment, PartitionCounts, Subscriber};

// Source: CooperativeStickyAssignor.assignPartitions (3.9, KIP-429)
pub(super) fn assign(counts: &PartitionCounts, members: &[Subscriber]) -> GroupAssignment {
    let Target { mut shares, in_transfer } = sticky::target(counts, members);
    for member in members {
        let share = shares.get_mut(&member.id).expect("each member has a share");
        share.retain(|given| member.owned.contains(given) || !in_transfer.contains(given));
    }
    shares
}
