//! One group as its coordinator keeps it: its state, its members, its committed offsets.
//!
//! Not here: answers and timers (the coordinator's other files); this one only counts and compares.
//!
//! *Invariant: the state changes only as `GroupState::may_follow` allows, and the leader is a
//! member.*

use std::sync::Arc;

use super::desk::{Caller, GroupNumber, MemberNumber};
use crate::kafka::group_record::{
    Assignment, Assignments, GroupMetadataValue, OffsetAndMetadata, StoredMember, Subscription,
};
use crate::kafka::id::{ClientId, Generation, GroupId, MemberId, ProducerId, TopicPartition};
use crate::kafka::java_hash;
use crate::kafka::message::{JoinGroupRequest, JoinGroupResponseMember};
use crate::sim::{OrdMap, OrdSet, SimTime, Span, sort};

/// Where a group stands.
// Source: kafka.coordinator.group.GroupMetadata, GroupState
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupState {
    /// No members, but perhaps offsets. A JoinGroup starts a rebalance; offsets may be committed
    /// by somebody who is no member.
    Empty,
    /// Members are called to join. JoinGroups are held, heartbeats answered by
    /// `RebalanceInProgress`; ends when all have joined or the time is over.
    PreparingRebalance,
    /// The generation is made and waits for its assignment from the leader. SyncGroups are held.
    CompletingRebalance,
    /// Everybody has a share. SyncGroups are answered at once.
    Stable,
    /// Forgotten; whoever asks is sent away.
    Dead,
}

impl GroupState {
    /// The name that tools print.
    pub fn name(self) -> &'static str {
        match self {
            GroupState::Empty => "Empty",
            GroupState::PreparingRebalance => "PreparingRebalance",
            GroupState::CompletingRebalance => "CompletingRebalance",
            GroupState::Stable => "Stable",
            GroupState::Dead => "Dead",
        }
    }

    /// Whether a group in the state `previous` may come into this one.
    pub fn may_follow(self, previous: GroupState) -> bool {
        use GroupState::{CompletingRebalance, Dead, Empty, PreparingRebalance, Stable};
        match self {
            Empty => previous == PreparingRebalance,
            PreparingRebalance => matches!(previous, Empty | CompletingRebalance | Stable),
            CompletingRebalance => previous == PreparingRebalance,
            Stable => previous == CompletingRebalance,
            Dead => previous != Dead,
        }
    }
}

/// How a member is kept alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seniority {
    /// It has not been in a generation: its session may end even while its JoinGroup is held.
    New,
    /// While a request of it is held it counts as alive.
    Settled,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Its id.
    pub member_id: MemberId,
    /// Its number in the coordinator; members are listed in this order.
    pub number: MemberNumber,
    /// Its `group.instance.id`, if it is a static member.
    pub group_instance_id: Option<Arc<str>>,
    /// What its client calls itself.
    pub client_id: ClientId,
    /// How long it may take to rejoin.
    pub rebalance_timeout: Span,
    /// How long it may be silent.
    pub session_timeout: Span,
    /// The assignors it supports, the best first.
    pub protocols: Vec<(Arc<str>, Arc<Subscription>)>,
    /// Its share.
    pub assignment: Assignment,
    /// Its JoinGroup, while that is held.
    pub awaiting_join: Option<Caller>,
    /// Its SyncGroup, while that is held.
    pub awaiting_sync: Option<Caller>,
    /// Whether it has been in a generation.
    pub seniority: Seniority,
}

impl Member {
    /// A member from its first accepted JoinGroup.
    pub(super) fn new(
        id: MemberId,
        number: MemberNumber,
        from: Caller,
        ask: &JoinGroupRequest,
    ) -> Self {
        Member {
            member_id: id,
            number,
            group_instance_id: ask.group_instance_id.clone(),
            client_id: from.client_id.clone(),
            rebalance_timeout: ask.rebalance_timeout,
            session_timeout: ask.session_timeout,
            protocols: ask.protocols.clone(),
            assignment: Arc::from([]),
            awaiting_join: Some(from),
            awaiting_sync: None,
            seniority: Seniority::New,
        }
    }

    fn supports(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|(name, _)| &**name == protocol)
    }

    /// What it told for an assignor; nothing if it does not support that.
    pub fn metadata(&self, protocol: &str) -> Arc<Subscription> {
        let told = self.protocols.iter().find(|(name, _)| &**name == protocol);
        told.map_or_else(no_subscription, |(_, metadata)| metadata.clone())
    }

    /// Whether its heartbeat is not due because a request of it is held.
    pub fn waits(&self) -> bool {
        self.awaiting_join.is_some() || self.awaiting_sync.is_some()
    }
}

/// What a member without a subscription wants.
pub(super) fn no_subscription() -> Arc<Subscription> {
    let nothing = Vec::new();
    let generation_id = Generation::NONE;
    Arc::new(Subscription { topics: nothing, owned_partitions: Vec::new(), generation_id })
}

/// The initial delay of a group that was Empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InitialDelay {
    /// How much of the rebalance timeout is left after the present wait.
    pub remaining: Span,
    /// Whether somebody came during the present wait.
    pub newcomers: bool,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// Its name.
    pub group_id: GroupId,
    /// Its number in the coordinator.
    pub number: GroupNumber,
    /// Where it stands.
    pub state: GroupState,
    /// Since when.
    pub since: SimTime,
    /// Counts its completed rebalances.
    pub generation: Generation,
    /// The chosen assignor.
    pub protocol: Option<Arc<str>>,
    /// The member that computes assignments.
    pub leader: Option<MemberId>,
    /// Its members.
    pub members: OrdMap<MemberId, Member>,
    /// Those that were named and have not come back yet.
    pub pending: OrdMap<MemberId, MemberNumber>,
    /// Those that have not asked for their share in this generation.
    pub pending_sync: OrdSet<MemberId>,
    /// While the first join of an Empty group is delayed.
    pub initial: Option<InitialDelay>,
    /// How far it has come.
    pub offsets: OrdMap<TopicPartition, OffsetAndMetadata>,
    /// What open transactions will commit.
    pub transactional: OrdMap<ProducerId, Vec<(TopicPartition, OffsetAndMetadata)>>,
}

impl Group {
    pub(super) fn new(group_id: GroupId, number: GroupNumber, now: SimTime) -> Group {
        Group {
            group_id,
            number,
            state: GroupState::Empty,
            since: now,
            generation: Generation(0),
            protocol: None,
            leader: None,
            members: OrdMap::new(),
            pending: OrdMap::new(),
            pending_sync: OrdSet::new(),
            initial: None,
            offsets: OrdMap::new(),
            transactional: OrdMap::new(),
        }
    }

    /// The members in the order in which they were added.
    pub fn in_order(&self) -> Vec<&Member> {
        let mut members: Vec<&Member> = self.members.values().collect();
        sort::by_key(&mut members, |member| member.number);
        members
    }

    /// The member that has this instance id.
    pub fn static_member(&self, instance: &str) -> Option<&Member> {
        self.members.values().find(|member| member.group_instance_id.as_deref() == Some(instance))
    }

    /// Whether a member id leads the group.
    pub fn is_leader(&self, member: &MemberId) -> bool {
        self.leader.as_ref() == Some(member)
    }

    pub(super) fn change(&mut self, state: GroupState, now: SimTime) {
        assert!(state.may_follow(self.state), "{:?} after {:?}", state, self.state);
        self.state = state;
        self.since = now;
    }

    /// Whether nobody is missing for the next generation.
    pub(super) fn all_have_joined(&self) -> bool {
        self.pending.is_empty() && self.members.values().all(|m| m.awaiting_join.is_some())
    }

    pub(super) fn awaiting_join(&self) -> usize {
        self.members.values().filter(|member| member.awaiting_join.is_some()).count()
    }

    /// The longest that any member may take to rejoin.
    pub(super) fn rebalance_timeout(&self) -> Span {
        self.members.values().map(|member| member.rebalance_timeout).max().unwrap_or_default()
    }

    /// Whether a joiner's assignors have one that all present members support.
    // Source: GroupMetadata.supportsProtocols
    pub(super) fn accepts(&self, protocols: &[(Arc<str>, Arc<Subscription>)]) -> bool {
        let common = |name: &str| self.members.values().all(|member| member.supports(name));
        protocols.iter().any(|(name, _)| common(name))
    }

    /// The assignor with most votes: each member votes for its first that all support.
    // Source: GroupMetadata.selectProtocol (3.9, Scala 2.13)
    pub(super) fn vote(&self) -> Option<Arc<str>> {
        let common = |name: &str| self.members.values().all(|member| member.supports(name));
        let mut votes: OrdMap<&Arc<str>, u32> = OrdMap::new();
        for member in self.members.values() {
            let choice = member.protocols.iter().find(|(name, _)| common(name));
            *votes.entry(&choice.expect("members have an assignor in common").0).or_default() += 1;
        }
        let most = votes.values().max().copied()?;
        let best: Vec<&str> =
            votes.iter().filter(|(_, count)| **count == most).map(|(name, _)| &***name).collect();
        java_hash::first_in_scala_map(&best).map(Arc::from)
    }

    /// What the leader gets to know of all members.
    pub(super) fn metadata_for_leader(&self) -> Vec<JoinGroupResponseMember> {
        let protocol = self.protocol.clone().unwrap_or_else(|| "".into());
        let of = |member: &Member| JoinGroupResponseMember {
            member_id: member.member_id.clone(),
            group_instance_id: member.group_instance_id.clone(),
            metadata: member.metadata(&protocol),
        };
        self.in_order().into_iter().map(of).collect()
    }

    /// Whether some member wants a topic.
    pub(super) fn is_subscribed_to(&self, topic: &str) -> bool {
        let wants = |member: &Member| {
            member.protocols.iter().any(|(_, told)| told.topics.iter().any(|t| t.as_str() == topic))
        };
        self.members.values().any(wants)
    }

    /// The group as it is stored, with these shares.
    pub(super) fn to_record(&self, shares: &Assignments) -> GroupMetadataValue {
        let protocol = self.protocol.clone().unwrap_or_else(|| "".into());
        let of = |member: &Member| StoredMember {
            member_id: member.member_id.clone(),
            group_instance_id: member.group_instance_id.clone(),
            client_id: member.client_id.clone(),
            client_host: super::CLIENT_HOST.into(),
            rebalance_timeout: member.rebalance_timeout,
            session_timeout: member.session_timeout,
            subscription: member.metadata(&protocol),
            assignment: shares.get(&member.member_id).cloned().unwrap_or_else(|| Arc::from([])),
        };
        GroupMetadataValue {
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            current_state_timestamp: self.since,
            members: self.in_order().into_iter().map(of).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::GroupState::{CompletingRebalance, Dead, Empty, PreparingRebalance, Stable};

    #[test]
    fn states_follow_each_other_in_a_circle() {
        let all = [Empty, PreparingRebalance, CompletingRebalance, Stable, Dead];
        let table = [
            (Empty, "PreparingRebalance Dead"),
            (PreparingRebalance, "Empty CompletingRebalance Dead"),
            (CompletingRebalance, "PreparingRebalance Stable Dead"),
            (Stable, "PreparingRebalance Dead"),
            (Dead, ""),
        ];
        for (before, expected) in table {
            let after: Vec<_> =
                all.iter().filter(|s| s.may_follow(before)).map(|s| s.name()).collect();
            assert_eq!(after.join(" "), expected);
        }
    }
}
