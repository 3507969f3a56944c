//! The coordinator's answers to members: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.
//!
//! Not here: what a rebalance is and when it ends (`rebalance`).
//!
//! *Invariant: only a member of the present generation changes anything by SyncGroup or Heartbeat.*

use std::sync::Arc;

use super::answer::{self, Shares};
use super::desk::{Caller, Desk, GroupFact, GroupTimer, MemberNumber, Removal};
use super::state::{GroupState, Member};
use super::{GroupCoordinator, Storing, Turn, record};
use crate::kafka::error::Error;
use crate::kafka::group_record::{Assignments, OffsetsKey, OffsetsValue};
use crate::kafka::id::{Generation, MemberId};
use crate::kafka::message::{
    HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, LeaveGroupResponse, LeavingMember,
    MemberIdentity, SyncGroupRequest,
};
use crate::kafka::record::Content;
use crate::sim::{Draw, Span, hash_of};

/// A new member's session lasts this long until its first generation.
// Source: GroupCoordinator.NewMemberJoinTimeoutMs
const NEW_MEMBER_JOIN_TIMEOUT: Span = Span::secs(300);

/// What makes a member id unique.
const MEMBER_UUID: Draw = Draw("member-uuid");

impl GroupCoordinator {
    // Source: GroupCoordinator.handleJoinGroup
    pub(super) fn join_group(
        &mut self,
        caller: Caller,
        ask: JoinGroupRequest,
        desk: &mut Desk<'_>,
    ) {
        let member = ask.member_id.clone();
        if let Err(error) = self.may_join(&ask) {
            return answer::refuse_join(caller, member, error, desk);
        }
        let group = ask.group_id.clone();
        if member.as_str().is_empty() {
            return self.turn_or_new(&group, desk).join(caller, ask);
        }
        match self.turn(&group, desk) {
            Some(mut turn) => turn.join(caller, ask),
            None => answer::refuse_join(caller, member, Error::UnknownMemberId, desk),
        }
    }

    fn may_join(&self, ask: &JoinGroupRequest) -> Result<(), Error> {
        self.speaks_for(&ask.group_id)?;
        let settings = &self.settings;
        let allowed = settings.group_min_session_timeout..=settings.group_max_session_timeout;
        match allowed.contains(&ask.session_timeout) {
            true => Ok(()),
            false => Err(Error::InvalidSessionTimeout),
        }
    }

    // Source: GroupCoordinator.handleSyncGroup
    pub(super) fn sync_group(
        &mut self,
        caller: Caller,
        ask: SyncGroupRequest,
        desk: &mut Desk<'_>,
    ) {
        let group = ask.member.group_id.clone();
        if let Err(error) = self.speaks_for(&group) {
            // What the generation has come to is lost: its members begin anew.
            let error = match error {
                Error::CoordinatorLoadInProgress => self.settings.release.sync_while_loading(),
                error => error,
            };
            return answer::synced(caller, Err(error), desk);
        }
        match self.turn(&group, desk) {
            Some(mut turn) => turn.sync(caller, ask),
            None => answer::synced(caller, Err(Error::UnknownMemberId), desk),
        }
    }

    // Source: GroupCoordinator.handleHeartbeat
    pub(super) fn heartbeat(
        &mut self,
        caller: Caller,
        ask: &HeartbeatRequest,
        desk: &mut Desk<'_>,
    ) {
        let group = ask.member.group_id.clone();
        if let Err(error) = self.speaks_for(&group) {
            // Nobody is missed while the group is not known yet, in all releases.
            let refused = (error != Error::CoordinatorLoadInProgress).then_some(error);
            return answer::heartbeat(caller, refused, desk);
        }
        let error = match self.turn(&group, desk) {
            Some(mut turn) => turn.heartbeat(&ask.member).err(),
            None => Some(Error::UnknownMemberId),
        };
        answer::heartbeat(caller, error, desk);
    }

    // Source: GroupCoordinator.handleLeaveGroup
    pub(super) fn leave_group(
        &mut self,
        caller: Caller,
        ask: LeaveGroupRequest,
        desk: &mut Desk<'_>,
    ) {
        let mut members = Vec::new();
        let error = self.speaks_for(&ask.group_id).err();
        for leaving in ask.members.iter().filter(|_| error.is_none()) {
            let refused = match self.turn(&ask.group_id, desk) {
                Some(mut turn) => turn.leave(leaving).err(),
                None => Some(Error::UnknownMemberId),
            };
            members.push((leaving.member_id.clone(), refused));
        }
        desk.answer(caller, LeaveGroupResponse { error, members });
    }
}

impl Turn<'_, '_> {
    pub(super) fn join(&mut self, caller: Caller, ask: JoinGroupRequest) {
        let id = ask.member_id.clone();
        let refused = match () {
            () if !self.has_room_for(&id) => {
                self.forget_pending(&id);
                Err(Error::GroupMaxSizeReached)
            }
            () if self.group.state == GroupState::Dead => Err(Error::CoordinatorNotAvailable),
            () if !self.group.accepts(&ask.protocols) => Err(Error::InconsistentGroupProtocol),
            () if id.as_str().is_empty() => {
                self.join_new(caller.clone(), &ask);
                Ok(())
            }
            () => self.join_known(caller.clone(), &ask),
        };
        if let Err(error) = refused {
            answer::refuse_join(caller, id, error, self.desk);
        }
    }

    // Source: GroupCoordinator.acceptJoiningMember
    fn has_room_for(&self, id: &MemberId) -> bool {
        let limit = self.settings.group_max_size as usize;
        let member = self.group.members.get(id);
        match self.group.state {
            GroupState::Empty | GroupState::Dead => true,
            GroupState::PreparingRebalance => {
                member.is_some_and(|member| member.awaiting_join.is_some())
                    || self.group.awaiting_join() < limit
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                member.is_some() || self.group.members.len() < limit
            }
        }
    }

    /// Names a new member. A dynamic one must come back with its name (KIP-394).
    // Source: GroupCoordinator.doNewMemberJoinGroup
    fn join_new(&mut self, caller: Caller, ask: &JoinGroupRequest) {
        let uuid = uuid(self.desk.draw(MEMBER_UUID, 0..u64::MAX));
        let Some(instance) = ask.group_instance_id.clone() else {
            let id = MemberId::from(format!("{}-{uuid}", caller.client_id));
            return self.name_member(caller, id, ask.session_timeout);
        };
        let id = MemberId::from(format!("{instance}-{uuid}"));
        match self.group.static_member(&instance).map(|member| member.member_id.clone()) {
            Some(old) => self.replace_static_member(&old, id, caller, ask),
            None => self.add_member(id, caller, ask),
        }
    }

    fn name_member(&mut self, caller: Caller, id: MemberId, session_timeout: Span) {
        let number = MemberNumber(self.ledger.number());
        self.group.pending.insert(id.clone(), number);
        self.desk.arm(GroupTimer::Session(number), session_timeout);
        let group = self.group.group_id.clone();
        self.desk.tell(GroupFact::MemberNamed { group, member: id.clone() });
        answer::refuse_join(caller, id, Error::MemberIdRequired, self.desk);
    }

    // Source: GroupCoordinator.doCurrentMemberJoinGroup
    fn join_known(&mut self, caller: Caller, ask: &JoinGroupRequest) -> Result<(), Error> {
        let id = &ask.member_id;
        if self.group.pending.contains_key(id) {
            self.add_member(id.clone(), caller, ask);
            return Ok(());
        }
        self.check_member(id, ask.group_instance_id.as_deref())?;
        let unchanged = self.group.members[id].protocols == ask.protocols;
        match self.group.state {
            GroupState::PreparingRebalance => self.rejoin(caller, ask, "member-rejoins"),
            GroupState::CompletingRebalance if unchanged => self.tell_generation(caller, id),
            GroupState::CompletingRebalance => self.rejoin(caller, ask, "member-changed"),
            GroupState::Stable if self.group.is_leader(id) => {
                self.rejoin(caller, ask, "leader-rejoins");
            }
            GroupState::Stable if unchanged => self.tell_generation(caller, id),
            GroupState::Stable => self.rejoin(caller, ask, "member-changed"),
            GroupState::Empty | GroupState::Dead => return Err(Error::UnknownMemberId),
        }
        Ok(())
    }

    fn tell_generation(&mut self, caller: Caller, id: &MemberId) {
        let told = answer::joined(self.group, id, Shares::ToBeComputed);
        self.desk.answer(caller, told);
    }

    // Source: GroupCoordinator.updateMemberAndRebalance
    fn rejoin(&mut self, caller: Caller, ask: &JoinGroupRequest, reason: &'static str) {
        self.update_member(caller, ask, &ask.member_id.clone());
        self.rebalance(reason);
    }

    fn update_member(&mut self, caller: Caller, ask: &JoinGroupRequest, id: &MemberId) {
        let member = self.group.members.get_mut(id).expect("it has been checked");
        member.protocols = ask.protocols.clone();
        member.rebalance_timeout = ask.rebalance_timeout;
        member.session_timeout = ask.session_timeout;
        member.awaiting_join = Some(caller);
    }

    // Source: GroupCoordinator.addMemberAndRebalance
    fn add_member(&mut self, id: MemberId, caller: Caller, ask: &JoinGroupRequest) {
        let named = self.group.pending.remove(&id);
        let number = named.unwrap_or_else(|| MemberNumber(self.ledger.number()));
        if self.group.generation == Generation(0) {
            self.group.initial.iter_mut().for_each(|delay| delay.newcomers = true);
        }
        self.group.leader.get_or_insert_with(|| id.clone());
        let member = Member::new(id.clone(), number, caller, ask);
        self.group.members.insert(id.clone(), member);
        self.desk.arm(GroupTimer::Session(number), NEW_MEMBER_JOIN_TIMEOUT);
        let group = self.group.group_id.clone();
        self.desk.tell(GroupFact::MemberAdded { group, member: id });
        self.rebalance("new-member");
    }

    /// A static member came back under its instance id: it takes over, mostly without a rebalance.
    // Source: GroupCoordinator.updateStaticMemberAndRebalance
    fn replace_static_member(
        &mut self,
        old: &MemberId,
        new: MemberId,
        caller: Caller,
        ask: &JoinGroupRequest,
    ) {
        let mut member = self.group.members.remove(old).expect("it was just found");
        answer::dismiss(&mut member, Error::FencedInstanceId, self.desk);
        member.member_id = new.clone();
        self.group.members.insert(new.clone(), member);
        if self.group.is_leader(old) {
            self.group.leader = Some(new.clone());
        }
        if self.group.pending_sync.remove(old) {
            self.group.pending_sync.insert(new.clone());
        }
        let (group, removed) = (self.group.group_id.clone(), old.clone());
        let reason = Removal::Replaced;
        self.desk.tell(GroupFact::MemberRemoved { group: group.clone(), member: removed, reason });
        self.desk.tell(GroupFact::MemberAdded { group, member: new.clone() });
        self.update_member(caller, ask, &new);
        self.keep_alive(&new);
        match self.group.state {
            GroupState::Stable if self.group.vote() == self.group.protocol => {
                self.welcome_back(&new);
            }
            _ => self.rebalance("static-member-returns"),
        }
    }

    fn welcome_back(&mut self, id: &MemberId) {
        let shares = self.shares();
        self.store_group(Storing::Note, &shares);
        let told = answer::joined(self.group, id, Shares::Known);
        let member = self.group.members.get_mut(id).expect("it has just come back");
        if let Some(caller) = member.awaiting_join.take() {
            self.desk.answer(caller, told);
        }
    }

    fn shares(&self) -> Assignments {
        let share = |member: &Member| (member.member_id.clone(), member.assignment.clone());
        self.group.members.values().map(share).collect()
    }

    // Source: GroupCoordinator.doSyncGroup
    fn sync(&mut self, caller: Caller, ask: SyncGroupRequest) {
        if let Err(error) = self.check_sync(&ask) {
            return answer::synced(caller, Err(error), self.desk);
        }
        let id = ask.member.member_id.clone();
        self.group.pending_sync.remove(&id);
        if self.group.state == GroupState::Stable {
            self.keep_alive(&id);
            let share = self.group.members[&id].assignment.clone();
            return answer::synced(caller, Ok(share), self.desk);
        }
        let member = self.group.members.get_mut(&id).expect("it has been checked");
        member.awaiting_sync = Some(caller);
        if self.group.is_leader(&id) {
            self.store_shares(ask.assignments);
        }
    }

    fn check_sync(&self, ask: &SyncGroupRequest) -> Result<(), Error> {
        self.check_generation(&ask.member)?;
        if ask.protocol_name.is_some() && ask.protocol_name != self.group.protocol {
            return Err(Error::InconsistentGroupProtocol);
        }
        match self.group.state {
            GroupState::PreparingRebalance => Err(Error::RebalanceInProgress),
            GroupState::CompletingRebalance | GroupState::Stable => Ok(()),
            GroupState::Empty | GroupState::Dead => Err(Error::UnknownMemberId),
        }
    }

    fn store_shares(&mut self, given: Assignments) {
        let share = |id: &MemberId| given.get(id).cloned().unwrap_or_else(answer::nothing);
        let shares: Assignments =
            self.group.members.keys().map(|id| (id.clone(), share(id))).collect();
        let (group, generation) = (self.group.group_id.clone(), self.group.generation);
        let storing = Storing::Shares { group, generation, shares: shares.clone() };
        self.store_group(storing, &shares);
    }

    pub(super) fn store_group(&mut self, what: Storing, shares: &Assignments) {
        let group = self.group.group_id.clone();
        let value = OffsetsValue::Group(self.group.to_record(shares));
        let key = Content::OffsetsKey(OffsetsKey::Group { group });
        let stored = record(key, Some(Content::OffsetsValue(Arc::new(value))), self.desk);
        let partition = self.partition();
        self.ledger.append(what, partition, vec![stored], self.desk);
    }

    fn heartbeat(&mut self, member: &MemberIdentity) -> Result<(), Error> {
        self.check_generation(member)?;
        match self.group.state {
            GroupState::Empty | GroupState::Dead => Err(Error::UnknownMemberId),
            GroupState::PreparingRebalance => {
                self.keep_alive(&member.member_id);
                Err(Error::RebalanceInProgress)
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                self.keep_alive(&member.member_id);
                Ok(())
            }
        }
    }

    fn leave(&mut self, leaving: &LeavingMember) -> Result<(), Error> {
        if self.group.pending.contains_key(&leaving.member_id) {
            self.forget_pending(&leaving.member_id);
            self.complete_join_if_all_have();
            return Ok(());
        }
        let instance = leaving.group_instance_id.as_deref();
        let id = match (leaving.member_id.as_str().is_empty(), instance) {
            (true, Some(instance)) => {
                let found = self.group.static_member(instance).map(|m| m.member_id.clone());
                found.ok_or(Error::UnknownMemberId)?
            }
            _ => {
                self.check_member(&leaving.member_id, instance)?;
                leaving.member_id.clone()
            }
        };
        self.remove_and_rebalance(&id, Removal::Left);
        Ok(())
    }

    /// Whether somebody is who it says it is.
    // Source: GroupCoordinator.validateCurrentMember
    pub(super) fn check_member(&self, id: &MemberId, instance: Option<&str>) -> Result<(), Error> {
        let Some(instance) = instance else {
            let known = self.group.members.contains_key(id);
            return if known { Ok(()) } else { Err(Error::UnknownMemberId) };
        };
        match self.group.static_member(instance) {
            Some(member) if member.member_id == *id => Ok(()),
            Some(_) => Err(Error::FencedInstanceId),
            None => Err(Error::UnknownMemberId),
        }
    }

    /// Whether it is so in the present generation.
    pub(super) fn check_generation(&self, member: &MemberIdentity) -> Result<(), Error> {
        if self.group.state == GroupState::Dead {
            return Err(Error::CoordinatorNotAvailable);
        }
        self.check_member(&member.member_id, member.group_instance_id.as_deref())?;
        match member.generation_id == self.group.generation {
            true => Ok(()),
            false => Err(Error::IllegalGeneration),
        }
    }
}

/// A number as the text of a UUID; larger numbers sort after smaller ones.
fn uuid(number: u64) -> String {
    let tail = hash_of(&number);
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        number >> 32,
        (number >> 16) & 0xffff,
        (number >> 4) & 0xfff,
        ((number & 0xf) << 8) | (tail >> 56),
        tail & 0xffff_ffff_ffff,
    )
}
