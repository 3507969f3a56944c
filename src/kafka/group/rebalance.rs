//! A rebalance from its start to the new generation, and what ends a member's stay.
//!
//! Not here: the checks of what members ask (`join`).
//!
//! *Invariant: a generation has as members exactly those that joined it, and static members that
//! were silent meanwhile.*

use super::answer::{self, Shares};
use super::desk::{GroupFact, GroupTimer, MemberNumber, Removal};
use super::state::{GroupState, InitialDelay, Member, Seniority};
use super::{Storing, Turn};
use crate::kafka::error::Error;
use crate::kafka::group_record::Assignments;
use crate::kafka::id::{Generation, MemberId};
use crate::kafka::java_hash;
use crate::sim::{Draw, Span};

/// Which member leads after the leader has gone.
// Real: the first in a hash table of member ids; here a draw, because the ids are drawn anyway.
const GROUP_LEADER: Draw = Draw("group-leader");

impl Turn<'_, '_> {
    pub(super) fn partition(&self) -> i32 {
        let partitions = self.settings.offsets_topic_num_partitions;
        java_hash::coordinator_partition(self.group.group_id.as_str(), partitions)
    }

    /// Starts a rebalance unless one is being prepared, and ends it if nobody is missing.
    // Source: GroupCoordinator.maybePrepareRebalance
    pub(super) fn rebalance(&mut self, reason: &'static str) {
        if GroupState::PreparingRebalance.may_follow(self.group.state) {
            self.prepare_rebalance(reason);
        }
        self.complete_join_if_all_have();
    }

    // Source: GroupCoordinator.prepareRebalance
    fn prepare_rebalance(&mut self, reason: &'static str) {
        if self.group.state == GroupState::CompletingRebalance {
            self.answer_syncs(Err(Error::RebalanceInProgress));
        }
        self.desk.disarm(GroupTimer::Sync(self.group.number));
        let timeout = self.group.rebalance_timeout();
        let delay = self.settings.group_initial_rebalance_delay;
        let was_empty = self.group.state == GroupState::Empty;
        self.group.initial = was_empty
            .then(|| InitialDelay { remaining: timeout.saturating_sub(delay), newcomers: false });
        self.arm_join(if was_empty { delay } else { timeout });
        self.group.change(GroupState::PreparingRebalance, self.desk.now());
        let (group, generation) = (self.group.group_id.clone(), self.group.generation);
        self.desk.tell(GroupFact::PreparingRebalance { group, generation, reason });
    }

    fn arm_join(&mut self, after: Span) {
        self.desk.arm(GroupTimer::Join(self.group.number), after);
    }

    /// Tells everybody who waits for it what the share of this generation is, or why there is none.
    /// Whoever waited has its session anew: it is not kept by its waiting any more.
    // Source: GroupCoordinator.propagateAssignment, setAndPropagateAssignment,
    // resetAndPropagateAssignmentError
    fn answer_syncs(&mut self, shares: Result<&Assignments, Error>) {
        let mut served: Vec<MemberId> = Vec::new();
        for (id, member) in &mut self.group.members {
            let share = shares.ok().and_then(|shares| shares.get(id)).cloned();
            member.assignment = share.unwrap_or_else(answer::nothing);
            if let Some(caller) = member.awaiting_sync.take() {
                let told = shares.map(|_| member.assignment.clone());
                answer::synced(caller, told, self.desk);
                served.push(id.clone());
            }
        }
        served.iter().for_each(|id| self.keep_alive(id));
    }

    // Source: GroupCoordinator.tryCompleteJoin; InitialDelayedJoin never completes early
    pub(super) fn complete_join_if_all_have(&mut self) {
        let preparing = self.group.state == GroupState::PreparingRebalance;
        if preparing && self.group.initial.is_none() && self.group.all_have_joined() {
            self.complete_join();
        }
    }

    // Source: InitialDelayedJoin.onComplete, DelayedJoin.onExpiration
    pub(super) fn join_time_is_over(&mut self) {
        if self.group.state != GroupState::PreparingRebalance {
            return;
        }
        let configured = self.settings.group_initial_rebalance_delay;
        match &mut self.group.initial {
            Some(delay) if delay.newcomers && delay.remaining > Span::ZERO => {
                let again = configured.min(delay.remaining);
                delay.remaining = delay.remaining.saturating_sub(again);
                delay.newcomers = false;
                self.arm_join(again);
            }
            _ => self.complete_join(),
        }
    }

    // Source: GroupCoordinator.onCompleteJoin
    fn complete_join(&mut self) {
        self.group.initial = None;
        self.desk.disarm(GroupTimer::Join(self.group.number));
        let missing =
            |member: &&Member| member.awaiting_join.is_none() && member.group_instance_id.is_none();
        let late: Vec<MemberId> =
            self.group.members.values().filter(missing).map(|m| m.member_id.clone()).collect();
        for id in late {
            self.remove(&id, Removal::RebalanceTimeout);
        }
        if self.group.members.is_empty() {
            self.become_empty();
        } else if self.leader_has_joined() {
            self.next_generation();
        } else {
            self.arm_join(self.group.rebalance_timeout());
        }
    }

    /// Whether the leader is among those who joined; if not, one of those leads from now on.
    // Source: GroupMetadata.maybeElectNewJoinedLeader
    fn leader_has_joined(&mut self) -> bool {
        let joined: Vec<MemberId> = self.those(|member| member.awaiting_join.is_some());
        if !self.group.leader.as_ref().is_some_and(|leader| joined.contains(leader)) {
            let elected = self.one_of(&joined);
            self.group.leader = elected.or(self.group.leader.take());
        }
        !joined.is_empty()
    }

    fn those(&self, wanted: impl Fn(&Member) -> bool) -> Vec<MemberId> {
        let members = self.group.in_order().into_iter();
        members.filter(|member| wanted(member)).map(|member| member.member_id.clone()).collect()
    }

    fn one_of(&mut self, candidates: &[MemberId]) -> Option<MemberId> {
        if candidates.len() < 2 {
            return candidates.first().cloned();
        }
        let drawn = self.desk.draw(GROUP_LEADER, 0..candidates.len() as u64);
        candidates.get(usize::try_from(drawn).ok()?).or(candidates.first()).cloned()
    }

    fn become_empty(&mut self) {
        self.group.generation = self.group.generation.next();
        self.group.protocol = None;
        self.group.leader = None;
        self.group.change(GroupState::Empty, self.desk.now());
        let (group, generation) = (self.group.group_id.clone(), self.group.generation);
        self.desk.tell(GroupFact::Empty { group, generation });
        self.store_group(Storing::Note, &Assignments::new());
    }

    // Source: GroupMetadata.initNextGeneration
    fn next_generation(&mut self) {
        self.group.generation = self.group.generation.next();
        self.group.protocol = self.group.vote();
        self.group.change(GroupState::CompletingRebalance, self.desk.now());
        let (group, generation) = (self.group.group_id.clone(), self.group.generation);
        let members = u32::try_from(self.group.members.len()).expect("groups are small");
        self.desk.tell(GroupFact::CompletingRebalance { group, generation, members });
        let all = self.those(|_| true);
        self.group.pending_sync = all.iter().cloned().collect();
        for id in &all {
            self.enter_generation(id);
        }
        self.desk.arm(GroupTimer::Sync(self.group.number), self.group.rebalance_timeout());
    }

    fn enter_generation(&mut self, id: &MemberId) {
        let told = answer::joined(self.group, id, Shares::ToBeComputed);
        let member = self.group.members.get_mut(id).expect("it is a member");
        member.seniority = Seniority::Settled;
        if let Some(caller) = member.awaiting_join.take() {
            self.desk.answer(caller, told);
        }
        self.keep_alive(id);
    }

    /// Lets a member's session begin anew.
    // Source: GroupCoordinator.completeAndScheduleNextHeartbeatExpiration
    pub(super) fn keep_alive(&mut self, id: &MemberId) {
        let member = &self.group.members[id];
        self.desk.arm(GroupTimer::Session(member.number), member.session_timeout);
    }

    /// The leader's shares are in the log, or could not be stored.
    // Source: GroupCoordinator.doSyncGroup, the callback of storeGroup
    pub(super) fn shares_are_stored(
        &mut self,
        generation: Generation,
        shares: &Assignments,
        outcome: Result<(), Error>,
    ) {
        let present = self.group.state == GroupState::CompletingRebalance;
        if !present || generation != self.group.generation {
            return;
        }
        match outcome {
            Ok(()) => self.become_stable(shares),
            Err(error) => {
                self.answer_syncs(Err(error));
                self.rebalance("shares-not-stored");
            }
        }
    }

    fn become_stable(&mut self, shares: &Assignments) {
        self.answer_syncs(Ok(shares));
        self.group.change(GroupState::Stable, self.desk.now());
        let (group, generation) = (self.group.group_id.clone(), self.group.generation);
        let leader = self.group.leader.clone().expect("a stable group has a leader");
        self.desk.tell(GroupFact::Stable { group, generation, leader });
    }

    // Source: GroupCoordinator.onExpirePendingSync
    pub(super) fn sync_time_is_over(&mut self) {
        let waits =
            matches!(self.group.state, GroupState::CompletingRebalance | GroupState::Stable);
        let late = std::mem::take(&mut self.group.pending_sync);
        if !waits || late.is_empty() {
            return;
        }
        for id in &late {
            self.remove(id, Removal::SyncTimeout);
        }
        self.rebalance("sync-timeout");
    }

    // Source: GroupCoordinator.onExpireHeartbeat, MemberMetadata.hasSatisfiedHeartbeat
    pub(super) fn session_is_over(&mut self, number: MemberNumber) {
        let pending = self.group.pending.iter().find(|(_, pending)| **pending == number);
        if let Some(id) = pending.map(|(id, _)| id.clone()) {
            self.group.pending.remove(&id);
            return self.complete_join_if_all_have();
        }
        let member = self.group.members.values().find(|member| member.number == number);
        let Some(member) = member else { return };
        let held = member.waits() && member.seniority == Seniority::Settled;
        if !held {
            let id = member.member_id.clone();
            self.remove_and_rebalance(&id, Removal::SessionTimeout);
        }
    }

    pub(super) fn forget_pending(&mut self, id: &MemberId) {
        if let Some(number) = self.group.pending.remove(id) {
            self.desk.disarm(GroupTimer::Session(number));
        }
    }

    // Source: GroupCoordinator.removeMemberAndUpdateGroup
    pub(super) fn remove_and_rebalance(&mut self, id: &MemberId, reason: Removal) {
        self.remove(id, reason);
        match self.group.state {
            GroupState::Empty | GroupState::Dead => {}
            _ => self.rebalance("member-gone"),
        }
    }

    // Source: GroupMetadata.remove
    fn remove(&mut self, id: &MemberId, reason: Removal) {
        let Some(mut member) = self.group.members.remove(id) else { return };
        answer::dismiss(&mut member, Error::UnknownMemberId, self.desk);
        self.group.pending_sync.remove(id);
        self.desk.disarm(GroupTimer::Session(member.number));
        if self.group.is_leader(id) {
            let rest = self.those(|_| true);
            self.group.leader = self.one_of(&rest);
        }
        let (group, member) = (self.group.group_id.clone(), id.clone());
        self.desk.tell(GroupFact::MemberRemoved { group, member, reason });
    }

    /// Sends everybody away: the group is no longer kept here.
    // Source: GroupCoordinator.onGroupUnloaded
    pub(super) fn dismiss_all(&mut self, error: Error) {
        let number = self.group.number;
        self.desk.disarm(GroupTimer::Join(number));
        self.desk.disarm(GroupTimer::Sync(number));
        for &pending in self.group.pending.values() {
            self.desk.disarm(GroupTimer::Session(pending));
        }
        for member in self.group.members.values_mut() {
            answer::dismiss(member, error, self.desk);
            self.desk.disarm(GroupTimer::Session(member.number));
        }
    }
}
