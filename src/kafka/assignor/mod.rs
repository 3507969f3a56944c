//! How a group's partitions are divided among its members: the assignors, one file each.
//!
//! Not here: who runs them (the group's leader does), and how an assignment travels.
//!
//! *Invariant: a partition has at most one owner, and that one is subscribed to its topic.*

use std::cmp::Ordering;

use super::id::{Generation, MemberId, TopicName, TopicPartition};
use super::java_hash;
use super::release::Release;
use crate::sim::{OrdMap, sort};

mod cooperative_sticky;
mod general_sticky;
pub mod old;
mod range;
mod round_robin;
mod sticky;

/// One member as the group's leader sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subscriber {
    /// Its member id.
    pub id: MemberId,
    /// Its `group.instance.id`, if it is a static member.
    pub instance_id: Option<String>,
    /// What it subscribes to.
    pub topics: Vec<TopicName>,
    /// What it held before.
    pub owned: Vec<TopicPartition>,
    /// The generation in which it held that.
    pub generation: Generation,
}

/// How many partitions each known topic has.
pub type PartitionCounts = OrdMap<TopicName, i32>;

/// What each member is to have; members without anything are listed too.
pub type GroupAssignment = OrdMap<MemberId, Vec<TopicPartition>>;

/// The assignors by the names that travel in JoinGroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assignor {
    /// Each topic in ranges.
    Range,
    /// All partitions dealt in a circle.
    RoundRobin,
    /// Balanced, and what can stays.
    Sticky,
    /// The same, and what stays is read meanwhile.
    CooperativeSticky,
}

/// Whether members give everything up before they join, or only what moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RebalanceProtocol {
    /// Everything is revoked first.
    Eager,
    /// Only what moves is revoked (KIP-429).
    Cooperative,
}

impl Assignor {
    /// Every assignor, in the order of their age.
    pub const ALL: [Assignor; 4] =
        [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky, Assignor::CooperativeSticky];

    /// The name in JoinGroup.
    pub fn name(self) -> &'static str {
        match self {
            Assignor::Range => "range",
            Assignor::RoundRobin => "roundrobin",
            Assignor::Sticky => "sticky",
            Assignor::CooperativeSticky => "cooperative-sticky",
        }
    }

    /// The assignor of that name.
    pub fn by_name(name: &str) -> Option<Assignor> {
        Assignor::ALL.into_iter().find(|assignor| assignor.name() == name)
    }

    /// How its members give up partitions.
    pub fn protocol(self) -> RebalanceProtocol {
        match self {
            Assignor::CooperativeSticky => RebalanceProtocol::Cooperative,
            Assignor::Range | Assignor::RoundRobin | Assignor::Sticky => RebalanceProtocol::Eager,
        }
    }

    /// Divides the partitions, as a leader of that release does.
    pub fn assign(
        self,
        counts: &PartitionCounts,
        members: &[Subscriber],
        release: Release,
    ) -> GroupAssignment {
        match self {
            Assignor::Range => range::assign(counts, members),
            Assignor::RoundRobin => round_robin::assign(counts, members),
            Assignor::Sticky => sticky::assign(counts, members, release),
            Assignor::CooperativeSticky => cooperative_sticky::assign(counts, members, release),
        }
    }
}

/// The order of members that all assignors share: static ones first, by instance id.
// Source: AbstractPartitionAssignor.MemberInfo.compareTo (2.3+)
fn member_order(left: &Subscriber, right: &Subscriber) -> Ordering {
    match (&left.instance_id, &right.instance_id) {
        (Some(left), Some(right)) => java_hash::order(left, right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => java_hash::order(left.id.as_str(), right.id.as_str()),
    }
}

fn in_order(members: &[Subscriber]) -> Vec<&Subscriber> {
    let mut sorted: Vec<&Subscriber> = members.iter().collect();
    sort::by(&mut sorted, |left, right| member_order(left, right));
    sorted
}

fn nothing_for_each(members: &[Subscriber]) -> GroupAssignment {
    members.iter().map(|member| (member.id.clone(), Vec::new())).collect()
}

/// The subscribed topics that exist, by name.
fn subscribed<'a>(
    counts: &'a PartitionCounts,
    members: &[Subscriber],
) -> Vec<(&'a TopicName, i32)> {
    let mut topics: Vec<(&TopicName, i32)> = counts
        .iter()
        .filter(|(topic, _)| members.iter().any(|member| member.topics.contains(topic)))
        .map(|(topic, &count)| (topic, count))
        .collect();
    sort::by(&mut topics, |(left, _), (right, _)| java_hash::order(left.as_str(), right.as_str()));
    topics
}
