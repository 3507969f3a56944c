//! How the coordinator words its answers.
//!
//! *Invariant: an answer says only what the group is now.*

use std::sync::Arc;

use super::desk::{Caller, Desk};
use super::state::{Group, Member};
use crate::kafka::error::Error;
use crate::kafka::group_record::Assignment;
use crate::kafka::id::{Generation, MemberId};
use crate::kafka::message::{
    HeartbeatResponse, JoinGroupResponse, JoinGroupResponseMember, SyncGroupResponse,
};

/// Whether the leader is to compute shares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shares {
    ToBeComputed,
    Known,
}

pub(super) fn refuse_join(caller: Caller, member: MemberId, error: Error, desk: &mut Desk<'_>) {
    let refusal = JoinGroupResponse {
        error: Some(error),
        generation_id: Generation::NONE,
        protocol_name: None,
        leader: "".into(),
        member_id: member,
        members: Vec::new(),
        skip_assignment: false,
    };
    desk.answer(caller, refusal);
}

/// The present generation, as one member is told of it.
pub(super) fn joined(group: &Group, member: &MemberId, shares: Shares) -> JoinGroupResponse {
    let members: Vec<JoinGroupResponseMember> = match group.is_leader(member) {
        true => group.metadata_for_leader(),
        false => Vec::new(),
    };
    JoinGroupResponse {
        error: None,
        generation_id: group.generation,
        protocol_name: group.protocol.clone(),
        leader: group.leader.clone().unwrap_or_else(|| "".into()),
        member_id: member.clone(),
        members,
        skip_assignment: shares == Shares::Known && group.is_leader(member),
    }
}

pub(super) fn synced(caller: Caller, share: Result<Assignment, Error>, desk: &mut Desk<'_>) {
    desk.answer(caller, SyncGroupResponse { assignment: share });
}

pub(super) fn heartbeat(caller: Caller, error: Option<Error>, desk: &mut Desk<'_>) {
    desk.answer(caller, HeartbeatResponse { error });
}

/// Tells everybody who waits for this member's requests that they fail.
pub(super) fn dismiss(member: &mut Member, error: Error, desk: &mut Desk<'_>) {
    if let Some(caller) = member.awaiting_join.take() {
        refuse_join(caller, member.member_id.clone(), error, desk);
    }
    if let Some(caller) = member.awaiting_sync.take() {
        synced(caller, Err(error), desk);
    }
}

/// No partitions at all.
pub(super) fn nothing() -> Assignment {
    Arc::from([])
}
