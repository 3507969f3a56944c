//! The sticky assignor: balanced, and as much as possible stays where it was.
//!
//! Not here: which freed partitions a cooperative group withholds (`cooperative_sticky`).
//!
//! *Invariant: two members that want the same differ by at most one partition.*
// Real: with client.rack and broker racks set, near members are preferred; here they are not,
// because no client here has a rack.

use super::{GroupAssignment, PartitionCounts, Subscriber, general_sticky, subscribed};
use crate::kafka::id::{Generation, MemberId, TopicPartition};
use crate::kafka::java_hash::{self, Filling};
use crate::kafka::release::Release;
use crate::sim::{OrdMap, OrdSet, sort};

// Source: AbstractStickyAssignor.assignPartitions (3.9, KIP-54, KAFKA-9987)
pub(super) fn assign(
    counts: &PartitionCounts,
    members: &[Subscriber],
    release: Release,
) -> GroupAssignment {
    target(counts, members, release).shares
}

/// What members are to have in the end, and what is on its way from one to another.
pub(super) struct Target {
    pub(super) shares: GroupAssignment,
    pub(super) in_transfer: OrdSet<TopicPartition>,
}

pub(super) fn target(counts: &PartitionCounts, members: &[Subscriber], release: Release) -> Target {
    let claims = Claims::of(counts, members, release);
    let same_topics = |member: &Subscriber| {
        let wanted: OrdSet<_> = member.topics.iter().collect();
        wanted == members[0].topics.iter().collect()
    };
    if members.iter().all(same_topics) {
        return Constrained::new(counts, members, claims).build();
    }
    let owned = claims.valid.clone();
    let shares = general_sticky::assign(counts, members, claims);
    let given_up = |(id, partitions): (&MemberId, &Vec<TopicPartition>)| {
        let kept = &shares[id];
        partitions.iter().filter(|p| !kept.contains(p)).cloned().collect::<Vec<_>>()
    };
    let in_transfer = owned.iter().flat_map(given_up).collect();
    Target { shares, in_transfer }
}

/// Who rightly claims what.
pub(super) struct Claims {
    pub(super) valid: OrdMap<MemberId, Vec<TopicPartition>>,
    pub(super) disputed: OrdSet<TopicPartition>,
    pub(super) max_generation: Generation,
}

impl Claims {
    /// A partition claimed twice belongs to the claim of the newer generation, or to nobody. Before
    /// 3.5 members of an older generation than the newest have no claims at all.
    // Source: AbstractStickyAssignor.allSubscriptionsEqual (2.8, 3.5)
    fn of(counts: &PartitionCounts, members: &[Subscriber], release: Release) -> Claims {
        let newest = members.iter().map(|member| member.generation).max();
        let counts_for = |member: &&Subscriber| {
            release.old_claims_are_minded() || Some(member.generation) == newest
        };
        let topics: OrdSet<_> = subscribed(counts, members).into_iter().map(|(t, _)| t).collect();
        let mut owners: OrdMap<&TopicPartition, &Subscriber> = OrdMap::new();
        let mut claims = Claims {
            valid: members.iter().map(|member| (member.id.clone(), Vec::new())).collect(),
            disputed: OrdSet::new(),
            max_generation: Generation::NONE,
        };
        for member in members.iter().filter(counts_for) {
            claims.max_generation = claims.max_generation.max(member.generation);
            for partition in member.owned.iter().filter(|p| topics.contains(&p.topic)) {
                claims.take(partition, member, owners.get(partition).copied());
                let newer = |owner: &&Subscriber| owner.generation <= member.generation;
                if owners.get(partition).is_none_or(newer) {
                    owners.insert(partition, member);
                }
            }
        }
        claims
    }

    fn take(&mut self, wanted: &TopicPartition, member: &Subscriber, owner: Option<&Subscriber>) {
        if let Some(owner) = owner.filter(|owner| owner.generation <= member.generation) {
            let theirs = self.valid.entry(owner.id.clone()).or_default();
            theirs.retain(|partition| partition != wanted);
            if owner.generation == member.generation {
                self.disputed.insert(wanted.clone());
                return;
            }
        } else if owner.is_some() {
            return;
        }
        self.valid.entry(member.id.clone()).or_default().push(wanted.clone());
    }
}

/// The algorithm for members that all want the same.
// Source: AbstractStickyAssignor.ConstrainedAssignmentBuilder
struct Constrained {
    min_quota: usize,
    max_quota: usize,
    /// How many members may hold `max_quota`, if that is more than `min_quota`.
    over: usize,
    all: Vec<TopicPartition>,
    claims: Claims,
    shares: GroupAssignment,
    given_up: OrdSet<TopicPartition>,
    below: Vec<MemberId>,
    exactly: Vec<MemberId>,
}

impl Constrained {
    fn new(counts: &PartitionCounts, members: &[Subscriber], claims: Claims) -> Constrained {
        let topics = subscribed(counts, members).into_iter();
        let all: Vec<TopicPartition> = topics
            .flat_map(|(topic, count)| (0..count).map(|n| TopicPartition::new(topic.clone(), n)))
            .collect();
        Constrained {
            min_quota: all.len() / members.len(),
            max_quota: all.len().div_ceil(members.len()),
            over: all.len() % members.len(),
            all,
            shares: super::nothing_for_each(members),
            claims,
            given_up: OrdSet::new(),
            below: Vec::new(),
            exactly: Vec::new(),
        }
    }

    fn build(mut self) -> Target {
        self.keep();
        let in_transfer = self.deal();
        Target { shares: self.shares, in_transfer }
    }

    fn keep(&mut self) {
        let ids: Vec<&MemberId> = self.shares.keys().collect();
        let order: Vec<MemberId> = in_hash_order(&ids);
        let mut over = 0;
        for id in order {
            let owned = self.owned(&id);
            let kept = if owned.len() < self.min_quota {
                self.below.push(id.clone());
                owned.len()
            } else if owned.len() >= self.max_quota && over < self.over {
                over += 1;
                if over == self.over {
                    self.exactly.clear();
                }
                self.max_quota
            } else {
                if over < self.over {
                    self.exactly.push(id.clone());
                }
                self.min_quota
            };
            self.given_up.extend(owned[kept..].iter().cloned());
            self.shares.insert(id, owned[..kept].to_vec());
        }
    }

    /// What a member still rightly holds, by number, then topic.
    fn owned(&self, id: &MemberId) -> Vec<TopicPartition> {
        let exists = |p: &&TopicPartition| self.all.contains(p);
        let mut owned: Vec<TopicPartition> =
            self.claims.valid[id].iter().filter(exists).cloned().collect();
        owned.retain(|partition| !self.claims.disputed.contains(partition));
        sort::by(&mut owned, |left, right| {
            let topics = java_hash::order(left.topic.as_str(), right.topic.as_str());
            left.partition.cmp(&right.partition).then(topics)
        });
        owned
    }

    /// Deals out what nobody holds; gives what was taken from somebody for it.
    fn deal(&mut self) -> OrdSet<TopicPartition> {
        let held: OrdSet<&TopicPartition> = self.shares.values().flatten().collect();
        let free: Vec<TopicPartition> =
            self.all.iter().filter(|p| !held.contains(p)).cloned().collect();
        sort::by(&mut self.below, |left, right| java_hash::order(left.as_str(), right.as_str()));
        let mut turn = 0;
        let mut in_transfer = OrdSet::new();
        for partition in free {
            if self.below.is_empty() && turn == 0 {
                sort::by(&mut self.exactly, |left, right| {
                    java_hash::order(left.as_str(), right.as_str())
                });
            }
            if self.given_up.contains(&partition) || self.claims.disputed.contains(&partition) {
                in_transfer.insert(partition.clone());
            }
            self.deal_one(partition, &mut turn);
        }
        in_transfer
    }

    fn deal_one(&mut self, partition: TopicPartition, turn: &mut usize) {
        if self.below.is_empty() {
            let id = self.exactly.remove(0);
            self.shares.entry(id).or_default().push(partition);
            return;
        }
        let place = *turn % self.below.len();
        let share = self.shares.entry(self.below[place].clone()).or_default();
        share.push(partition);
        if share.len() == self.min_quota {
            let filled = self.below.remove(place);
            self.exactly.push(filled);
            *turn = if place == self.below.len() { 0 } else { place };
        } else {
            *turn = (place + 1) % self.below.len();
        }
    }
}

/// Members in the order of a Java hash table of their ids.
// Source: java.util.HashMap
fn in_hash_order(ids: &[&MemberId]) -> Vec<MemberId> {
    let mut ordered: Vec<MemberId> = ids.iter().map(|&id| id.clone()).collect();
    java_hash::in_table_order(&mut ordered, Filling::Full, |id| java_hash::hash(id.as_str()));
    ordered
}
