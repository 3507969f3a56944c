//! The sticky assignor for members that want different topics: keep, fill up, then move one
//! partition after another until nothing gets better.
//!
//! *Invariant: a move brings a partition to a member with at least two fewer.*

use super::sticky::Claims;
use super::{GroupAssignment, PartitionCounts, Subscriber, subscribed};
use crate::kafka::id::{MemberId, TopicName, TopicPartition};
use crate::kafka::java_hash;
use crate::sim::{OrdMap, OrdSet, sort};

// Source: AbstractStickyAssignor.GeneralAssignmentBuilder (3.9)
pub(super) fn assign(
    counts: &PartitionCounts,
    members: &[Subscriber],
    claims: Claims,
) -> GroupAssignment {
    let before = earlier_owners(members, &claims);
    let mut general = General::new(counts, members, claims);
    general.balance(&before);
    general.shares
}

/// Who held a partition in an older generation, the newest of these.
// Source: GeneralAssignmentBuilder.prepopulateCurrentAssignments
fn earlier_owners(members: &[Subscriber], claims: &Claims) -> OrdMap<TopicPartition, MemberId> {
    let mut old: Vec<&Subscriber> =
        members.iter().filter(|member| member.generation < claims.max_generation).collect();
    sort::by_key(&mut old, |member| member.generation);
    let mut owners = OrdMap::new();
    for member in old {
        owners.extend(member.owned.iter().map(|p| (p.clone(), member.id.clone())));
    }
    owners
}

/// Members whose shares may still change, and who may have what.
struct General {
    /// Partitions of subscribed topics, those with fewest candidates first.
    all: Vec<TopicPartition>,
    counts: PartitionCounts,
    candidates: OrdMap<TopicName, Vec<MemberId>>,
    wanted: OrdMap<MemberId, Vec<TopicName>>,
    shares: GroupAssignment,
    owners: OrdMap<TopicPartition, MemberId>,
    movements: Movements,
    /// Somebody had to give something up because it no longer wants the topic.
    revoked: bool,
}

impl General {
    fn new(counts: &PartitionCounts, members: &[Subscriber], claims: Claims) -> General {
        let topics = subscribed(counts, members);
        let counts: PartitionCounts = topics.iter().map(|&(t, n)| (t.clone(), n)).collect();
        let wants = |topic: &TopicName| {
            let wanting = members.iter().filter(|member| member.topics.contains(topic));
            wanting.map(|member| member.id.clone()).collect::<Vec<_>>()
        };
        let candidates: OrdMap<_, _> = counts.keys().map(|t| (t.clone(), wants(t))).collect();
        let mut sorted = topics;
        sort::by_key(&mut sorted, |(topic, _)| candidates[*topic].len());
        let numbers = |(topic, count): (&TopicName, i32)| {
            let topic = topic.clone();
            (0..count).map(move |number| TopicPartition::new(topic.clone(), number))
        };
        let all: Vec<TopicPartition> = sorted.into_iter().flat_map(numbers).collect();
        let known = |member: &Subscriber| {
            let topics = member.topics.iter().filter(|topic| counts.contains_key(*topic));
            (member.id.clone(), topics.cloned().collect())
        };
        let wanted: OrdMap<MemberId, Vec<TopicName>> = members.iter().map(known).collect();
        let mut general = General {
            all,
            wanted,
            candidates,
            counts,
            shares: claims.valid,
            owners: OrdMap::new(),
            movements: Movements::default(),
            revoked: false,
        };
        general.keep_valid();
        general
    }

    fn keep_valid(&mut self) {
        for (id, share) in &mut self.shares {
            let wanted = &self.wanted[id];
            self.revoked |= share.iter().any(|held| !wanted.contains(&held.topic));
            let exists = |held: &TopicPartition| held.partition < self.counts[&held.topic];
            share.retain(|held| wanted.contains(&held.topic) && exists(held));
            self.owners.extend(share.iter().map(|held| (held.clone(), id.clone())));
        }
    }

    /// Members by the size of their share, then by id.
    fn sorted(&self) -> Vec<MemberId> {
        let mut ids: Vec<&MemberId> = self.shares.keys().collect();
        sort::by(&mut ids, |left, right| java_hash::order(left.as_str(), right.as_str()));
        sort::by_key(&mut ids, |id| self.shares[*id].len());
        ids.into_iter().cloned().collect()
    }

    fn balance(&mut self, before: &OrdMap<TopicPartition, MemberId>) {
        let initial = self.shares.values().all(Vec::is_empty);
        let unassigned: Vec<TopicPartition> =
            self.all.iter().filter(|p| !self.owners.contains_key(p)).cloned().collect();
        for partition in &unassigned {
            self.give_to_smallest(partition);
        }
        let movable = |p: &&TopicPartition| self.candidates[&p.topic].len() > 1;
        let all: Vec<TopicPartition> = self.all.iter().filter(movable).cloned().collect();
        let new: Vec<TopicPartition> = unassigned.iter().filter(movable).cloned().collect();
        let fixed = self.set_fixed_aside();
        let (shares, owners) = (self.shares.clone(), self.owners.clone());
        if !self.revoked && !new.is_empty() {
            self.reassign(&new, before);
        }
        let moved = self.reassign(&all, before);
        if !initial && moved && score(&self.shares) >= score(&shares) {
            (self.shares, self.owners) = (shares, owners);
        }
        self.shares.extend(fixed);
    }

    fn give_to_smallest(&mut self, partition: &TopicPartition) {
        let ids = self.sorted().into_iter();
        let smallest = ids.into_iter().find(|id| self.wanted[id].contains(&partition.topic));
        if let Some(id) = smallest {
            self.owners.insert(partition.clone(), id.clone());
            self.shares.entry(id).or_default().push(partition.clone());
        }
    }

    /// Members that can neither gain nor lose take no part in what follows.
    fn set_fixed_aside(&mut self) -> GroupAssignment {
        let movable = |held: &TopicPartition| self.candidates[&held.topic].len() > 1;
        let fixed = |(id, share): (&MemberId, &Vec<TopicPartition>)| {
            share.len() >= self.most(id) && !share.iter().any(movable)
        };
        let ids: Vec<MemberId> =
            self.shares.iter().filter(|entry| fixed(*entry)).map(|(id, _)| id.clone()).collect();
        let take = |id: MemberId| self.shares.remove(&id).map(|share| (id, share));
        ids.into_iter().filter_map(take).collect()
    }

    /// The most that a member could have.
    fn most(&self, id: &MemberId) -> usize {
        let count = |topic: &TopicName| usize::try_from(self.counts[topic]).unwrap_or(0);
        self.wanted[id].iter().map(count).sum()
    }

    /// Moves partitions as long as that helps; whether any was moved.
    // Source: GeneralAssignmentBuilder.performReassignments
    fn reassign(
        &mut self,
        partitions: &[TopicPartition],
        before: &OrdMap<TopicPartition, MemberId>,
    ) -> bool {
        let mut moved_ever = false;
        loop {
            let mut moved = false;
            for partition in partitions {
                if self.is_balanced() {
                    break;
                }
                moved |= self.improve(partition, before.get(partition));
            }
            moved_ever |= moved;
            if !moved {
                return moved_ever;
            }
        }
    }

    fn improve(&mut self, partition: &TopicPartition, before: Option<&MemberId>) -> bool {
        let Some(owner) = self.owners.get(partition).cloned() else { return false };
        let size = |id: &MemberId| self.shares.get(id).map(Vec::len);
        let much = size(&owner).unwrap_or(0);
        let has_fewer = |id: &MemberId| size(id).is_some_and(|size| size + 1 < much);
        let candidates = &self.candidates[&partition.topic];
        let to = if let Some(before) = before.filter(|before| has_fewer(before)) {
            Some(before.clone())
        } else if candidates.iter().any(has_fewer) {
            self.sorted().into_iter().find(|id| self.wanted[id].contains(&partition.topic))
        } else {
            None
        };
        let Some(to) = to else { return false };
        let actual = self.movements.actual(partition, &owner, &to);
        self.move_to(&actual, &to);
        true
    }

    fn move_to(&mut self, partition: &TopicPartition, to: &MemberId) {
        let from = self.owners.insert(partition.clone(), to.clone()).expect("it had an owner");
        self.movements.note(partition, &from, to);
        self.shares.entry(from).or_default().retain(|held| held != partition);
        self.shares.entry(to.clone()).or_default().push(partition.clone());
    }

    // Source: GeneralAssignmentBuilder.isBalanced
    fn is_balanced(&self) -> bool {
        let sizes = self.shares.values().map(Vec::len);
        let (Some(min), Some(max)) = (sizes.clone().min(), sizes.max()) else { return true };
        if min + 1 >= max {
            return true;
        }
        let mut ids = self.shares.keys();
        ids.all(|id| self.can_get_no_more(id))
    }

    fn can_get_no_more(&self, id: &MemberId) -> bool {
        let size = self.shares[id].len();
        if size == self.most(id) {
            return true;
        }
        let wanted = self.all.iter().filter(|p| self.wanted[id].contains(&p.topic));
        let others = wanted.filter_map(|p| self.owners.get(p)).filter(|owner| *owner != id);
        let mut sizes = others.filter_map(|owner| self.shares.get(owner)).map(Vec::len);
        sizes.all(|other| size + 1 >= other)
    }
}

/// The sum of the differences between all pairs of shares: 0 is perfect.
fn score(shares: &GroupAssignment) -> usize {
    let sizes: Vec<usize> = shares.values().map(Vec::len).collect();
    let pairs = sizes
        .iter()
        .enumerate()
        .flat_map(|(place, one)| sizes[place + 1..].iter().map(move |other| one.abs_diff(*other)));
    pairs.sum()
}

/// Which partitions have moved from whom to whom, so that a way back is not taken by another.
// Source: AbstractStickyAssignor.PartitionMovements
#[derive(Default)]
struct Movements {
    by_partition: OrdMap<TopicPartition, (MemberId, MemberId)>,
}

impl Movements {
    /// The partition to move instead: one of the same topic that had come the other way.
    fn actual(&self, partition: &TopicPartition, from: &MemberId, to: &MemberId) -> TopicPartition {
        let from = self.by_partition.get(partition).map_or(from, |(source, _)| source);
        let back: OrdSet<&TopicPartition> = self
            .by_partition
            .iter()
            .filter(|(p, (source, goal))| {
                p.topic == partition.topic && source == to && goal == from
            })
            .map(|(p, _)| p)
            .collect();
        back.first().map_or_else(|| partition.clone(), |&back| back.clone())
    }

    fn note(&mut self, partition: &TopicPartition, from: &MemberId, to: &MemberId) {
        let source = self.by_partition.remove(partition).map_or(from.clone(), |(source, _)| source);
        if source != *to {
            self.by_partition.insert(partition.clone(), (source, to.clone()));
        }
    }
}
