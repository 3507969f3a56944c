//! The coordinator's offsets and its view of whole groups: commit, fetch, delete, describe, list,
//! and taking groups over from the log or giving them up.
//!
//! *Invariant: an offset is shown only once the log has it.*

use std::sync::Arc;

use super::desk::{Caller, Desk, GroupFact, GroupNumber, GroupTimer, MemberNumber};
use super::state::{Group, GroupState, Member, Seniority, no_subscription};
use super::{Committer, GroupCoordinator, Ledger, Storing, StoringOffsets, Turn, answer, record};
use crate::kafka::error::Error;
use crate::kafka::group_record::{
    GroupMetadataValue, OffsetAndMetadata, OffsetsKey, OffsetsValue, StoredMember,
};
use crate::kafka::id::{GroupId, ProducerId, TopicPartition};
use crate::kafka::java_hash::{self, Filling};
use crate::kafka::message::{
    CommittedOffset, DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest,
    DescribeGroupsResponse, DescribedGroup, DescribedGroupMember, Isolation, ListGroupsRequest,
    ListGroupsResponse, MemberIdentity, OffsetCommitRequest, OffsetCommitResponse,
    OffsetDeleteRequest, OffsetDeleteResponse, OffsetFetchRequest, OffsetFetchResponse,
    TxnOffsetCommitResponse,
};
use crate::kafka::record::{Content, Record};
use crate::kafka::release::Release;
use crate::sim::{OrdMap, SimTime, Span, sort};

impl GroupCoordinator {
    // Source: KafkaApis.handleOffsetCommitRequest, GroupCoordinator.handleCommitOffsets
    pub(super) fn offset_commit(
        &mut self,
        caller: Caller,
        ask: OffsetCommitRequest,
        exists: &dyn Fn(&TopicPartition) -> bool,
        desk: &mut Desk<'_>,
    ) {
        let allowed = self.may_commit(&ask.member, desk);
        let topics = known(ask.topics, allowed, exists, desk);
        self.store_known((caller, None), &ask.member.group_id, topics, desk);
    }

    /// Stores the offsets that may be committed, or answers at once if there are none.
    pub(super) fn store_known(
        &mut self,
        by: Committer,
        group: &GroupId,
        (offsets, refused): (Vec<(TopicPartition, OffsetAndMetadata)>, Refused),
        desk: &mut Desk<'_>,
    ) {
        match offsets.is_empty() {
            true => answer_commit(by, refused, desk),
            false => self.turn_or_new(group, desk).store_offsets(by, offsets, refused),
        }
    }

    // Source: GroupCoordinator.validateOffsetCommit
    fn may_commit(&mut self, member: &MemberIdentity, desk: &mut Desk<'_>) -> Result<(), Error> {
        self.speaks_for(&member.group_id)?;
        let simple = member.is_simple();
        match self.turn(&member.group_id, desk) {
            Some(mut turn) => turn.may_commit(member),
            None if simple => Ok(()),
            None => Err(Error::IllegalGeneration),
        }
    }

    pub(super) fn offsets_are_stored(
        &mut self,
        storing: StoringOffsets,
        outcome: Result<(), Error>,
        desk: &mut Desk<'_>,
    ) {
        let StoringOffsets { group, by, offsets, refused: mut topics } = storing;
        topics.extend(offsets.iter().map(|(p, _)| (p.clone(), outcome.err())));
        if let (Ok(()), Some(mut turn)) = (outcome, self.turn(&group, desk)) {
            match by.1 {
                Some((producer, _)) => turn.hide_offsets(producer, offsets),
                None => turn.show_offsets(offsets),
            }
        }
        answer_commit(by, topics, desk);
    }

    // Source: GroupCoordinator.handleFetchOffsets
    pub(super) fn offset_fetch(
        &mut self,
        caller: Caller,
        ask: &OffsetFetchRequest,
        desk: &mut Desk<'_>,
    ) {
        let group = self.groups.get(&ask.group_id);
        let mut error = self.speaks_for(&ask.group_id).err();
        let is_open = group.is_some_and(|group| !group.transactional.is_empty());
        if is_open && ask.require_stable == Isolation::ReadCommitted {
            error = error.or(Some(Error::UnstableOffsetCommit));
        }
        let committed = |p: &TopicPartition| group.and_then(|group| group.offsets.get(p)).cloned();
        let topics = match &ask.topics {
            _ if error.is_some() => Vec::new(),
            Some(topics) => topics.iter().map(|p| (p.clone(), committed(p))).collect(),
            None => group.map_or_else(Vec::new, |group| {
                group.offsets.iter().map(|(p, offset)| (p.clone(), Some(offset.clone()))).collect()
            }),
        };
        desk.answer(caller, OffsetFetchResponse { error, topics });
    }

    // Source: GroupCoordinator.handleDeleteOffsets
    pub(super) fn offset_delete(
        &mut self,
        caller: Caller,
        ask: &OffsetDeleteRequest,
        desk: &mut Desk<'_>,
    ) {
        let spoken_for = self.speaks_for(&ask.group_id);
        let (error, topics) = match (spoken_for, self.turn(&ask.group_id, desk)) {
            (Err(error), _) => (Some(error), Vec::new()),
            (Ok(()), None) => (Some(Error::GroupIdNotFound), Vec::new()),
            (Ok(()), Some(mut turn)) => (None, turn.delete_offsets(&ask.topics)),
        };
        desk.answer(caller, OffsetDeleteResponse { error, topics });
    }

    // Source: GroupCoordinator.handleDescribeGroup
    pub(super) fn describe_groups(
        &mut self,
        caller: Caller,
        ask: &DescribeGroupsRequest,
        desk: &mut Desk<'_>,
    ) {
        let groups = ask.groups.iter().map(|id| self.described(id)).collect();
        desk.answer(caller, DescribeGroupsResponse { groups });
    }

    fn described(&self, id: &GroupId) -> DescribedGroup {
        let error = self.speaks_for(id).err();
        match self.groups.get(id) {
            Some(group) if error.is_none() => describe(group),
            _ => DescribedGroup {
                error,
                group_id: id.clone(),
                group_state: GroupState::Dead.name(),
                protocol_data: "".into(),
                members: Vec::new(),
            },
        }
    }

    // Source: GroupCoordinator.handleListGroups
    pub(super) fn list_groups(
        &mut self,
        caller: Caller,
        ask: &ListGroupsRequest,
        desk: &mut Desk<'_>,
    ) {
        let wanted = |group: &&Group| {
            ask.states_filter.is_empty()
                || ask.states_filter.iter().any(|state| **state == *group.state.name())
        };
        let line = |group: &Group| (group.group_id.clone(), group.state.name());
        let groups = self.groups().filter(wanted).map(line).collect();
        desk.answer(caller, ListGroupsResponse { error: None, groups });
    }

    // Source: GroupCoordinator.handleDeleteGroups
    pub(super) fn delete_groups(
        &mut self,
        caller: Caller,
        ask: &DeleteGroupsRequest,
        desk: &mut Desk<'_>,
    ) {
        let mut results = Vec::new();
        for id in &ask.groups_names {
            results.push((id.clone(), self.delete_group(id, desk).err()));
        }
        desk.answer(caller, DeleteGroupsResponse { results });
    }

    fn delete_group(&mut self, id: &GroupId, desk: &mut Desk<'_>) -> Result<(), Error> {
        self.speaks_for(id)?;
        let mut turn = self.turn(id, desk).ok_or(Error::GroupIdNotFound)?;
        if turn.group.state != GroupState::Empty {
            return Err(Error::NonEmptyGroup);
        }
        turn.bury();
        self.groups.remove(id);
        Ok(())
    }

    /// Takes a partition of `__consumer_offsets` over: its groups are what its records say.
    // Source: GroupMetadataManager.doLoadGroupsAndOffsets
    // Real: read by a thread in any case; here at once if one buffer holds it, because that would
    // take no longer than a message.
    pub fn lead<'r>(
        &mut self,
        partition: i32,
        records: impl IntoIterator<Item = &'r Record>,
        desk: &mut Desk<'_>,
    ) {
        self.loading.remove(&partition);
        self.led.insert(partition);
        let mut stored: OrdMap<GroupId, Stored> = OrdMap::new();
        records.into_iter().for_each(|record| read(record, &mut stored));
        stored.retain(|_, found| found.group.is_some() || !found.offsets.is_empty());
        for (id, found) in stored {
            let group = load(id.clone(), found, &mut self.ledger, desk);
            self.groups.insert(id, Arc::new(group));
        }
    }

    /// A partition of `__consumer_offsets` will be taken over once it is read: until then members
    /// are told to come back.
    // Source: GroupMetadataManager.addLoadingPartition
    pub fn load(&mut self, partition: i32, desk: &Desk<'_>) {
        self.loading.insert(partition, desk.now());
    }

    /// Since when it is being read.
    pub fn loads_since(&self, partition: i32) -> Option<SimTime> {
        self.loading.get(&partition).copied()
    }

    /// What an open transaction has written to a partition that was taken over.
    pub fn lead_open(&mut self, producer: ProducerId, records: &[Record], desk: &mut Desk<'_>) {
        let mut stored: OrdMap<GroupId, Stored> = OrdMap::new();
        records.iter().for_each(|record| read(record, &mut stored));
        for (id, found) in stored {
            let turn = self.turn_or_new(&id, desk);
            turn.group.transactional.insert(producer, found.offsets.into_iter().collect());
        }
    }

    /// Gives a partition of `__consumer_offsets` up: its groups are sent away.
    // Source: GroupCoordinator.onResignation
    pub fn resign(&mut self, partition: i32, desk: &mut Desk<'_>) {
        self.loading.remove(&partition);
        if !self.led.remove(&partition) {
            return;
        }
        let gone = |id: &&GroupId| self.partition_of(id) == partition;
        let ids: Vec<GroupId> = self.groups.keys().filter(gone).cloned().collect();
        for id in ids {
            let mut turn = self.turn(&id, desk).expect("it is kept here");
            turn.dismiss_all(Error::NotCoordinator);
            self.groups.remove(&id);
            desk.tell(GroupFact::Unloaded { group: id });
        }
    }

    /// Whether this broker keeps the groups of a partition.
    pub fn leads(&self, partition: i32) -> bool {
        self.led.contains(&partition)
    }

    /// Forgets all offsets in partitions that are no more.
    // Source: GroupCoordinator.handleDeletedPartitions
    pub fn partitions_deleted(&mut self, deleted: &[TopicPartition], desk: &mut Desk<'_>) {
        let ids: Vec<GroupId> = self.groups.keys().cloned().collect();
        for id in ids {
            let mut turn = self.turn(&id, desk).expect("it is kept here");
            turn.forget_offsets(deleted);
        }
    }
}

impl GroupCoordinator {
    /// Forgets offsets that were kept for as long as they are to be.
    // Source: GroupMetadataManager.cleanupGroupMetadata
    pub fn expire_offsets(&mut self, kept: Span, release: Release, desk: &mut Desk<'_>) {
        let ids: Vec<GroupId> = self.groups.keys().cloned().collect();
        for id in ids {
            let mut turn = self.turn(&id, desk).expect("it is kept here");
            let was_kept = turn.group.offsets.len();
            let expired = turn.expired(kept, release);
            if expired.is_empty() {
                continue;
            }
            turn.forget_offsets(&expired);
            for partition in expired.iter().cloned() {
                turn.desk.tell(GroupFact::OffsetExpired { group: id.clone(), partition });
            }
            if turn.group.state == GroupState::Empty && expired.len() == was_kept {
                turn.bury();
                self.groups.remove(&id);
            }
        }
    }
}

impl Turn<'_, '_> {
    /// The partitions whose offsets have been kept for long enough: from 2.1 on only of a group
    /// that is empty, since that began.
    // Source: GroupMetadata.removeExpiredOffsets (1.1), expiredOffsets (KIP-211, 2.1)
    fn expired(&self, kept: Span, release: Release) -> Vec<TopicPartition> {
        let (group, now) = (&*self.group, self.desk.now());
        let always = release.offsets_expire_while_in_use();
        let empty = group.state == GroupState::Empty;
        let mut expired = Vec::new();
        for (partition, stored) in &group.offsets {
            let since = if always || group.protocol.is_none() {
                stored.commit_timestamp
            } else {
                group.since
            };
            if (always || empty) && now.since(since) >= kept {
                expired.push(partition.clone());
            }
        }
        expired
    }

    fn may_commit(&mut self, member: &MemberIdentity) -> Result<(), Error> {
        let simple = member.is_simple();
        let named = !member.member_id.as_str().is_empty() || member.group_instance_id.is_some();
        match self.group.state {
            GroupState::Dead => return Err(Error::CoordinatorNotAvailable),
            GroupState::Empty if simple => return Ok(()),
            _ if simple && !named => return Err(Error::UnknownMemberId),
            _ => self.check_generation(member)?,
        }
        self.keep_alive(&member.member_id);
        match self.group.state {
            GroupState::CompletingRebalance => Err(Error::RebalanceInProgress),
            _ => Ok(()),
        }
    }

    pub(super) fn store_offsets(
        &mut self,
        by: Committer,
        offsets: Vec<(TopicPartition, OffsetAndMetadata)>,
        refused: Refused,
    ) {
        let group = self.group.group_id.clone();
        let one = |(partition, offset): &(TopicPartition, OffsetAndMetadata)| {
            let value = Content::OffsetsValue(Arc::new(OffsetsValue::Offset(offset.clone())));
            record(offset_key(&group, partition), Some(value), self.desk)
        };
        let records: Vec<Record> = offsets.iter().map(one).collect();
        let partition = self.partition();
        let storing = Storing::Offsets(StoringOffsets { group, by, offsets, refused });
        self.ledger.append(storing, partition, records, self.desk);
    }

    pub(super) fn show_offsets(&mut self, offsets: Vec<(TopicPartition, OffsetAndMetadata)>) {
        for (partition, stored) in offsets {
            let (group, offset) = (self.group.group_id.clone(), stored.offset);
            self.group.offsets.insert(partition.clone(), stored);
            self.desk.tell(GroupFact::OffsetCommitted { group, partition, offset });
        }
    }

    fn delete_offsets(&mut self, asked: &[TopicPartition]) -> Vec<(TopicPartition, Option<Error>)> {
        let in_use = |p: &TopicPartition| self.group.is_subscribed_to(p.topic.as_str());
        let error = |p: &TopicPartition| in_use(p).then_some(Error::GroupSubscribedToTopic);
        let answers: Vec<_> = asked.iter().map(|p| (p.clone(), error(p))).collect();
        let free: Vec<TopicPartition> =
            answers.iter().filter(|(_, e)| e.is_none()).map(|(p, _)| p.clone()).collect();
        self.forget_offsets(&free);
        answers
    }

    /// Takes offsets back, in the order in which a hash map holds them.
    // Source: GroupMetadata.removeOffsets over scala.collection.mutable.HashMap
    fn forget_offsets(&mut self, partitions: &[TopicPartition]) {
        let group = self.group.group_id.clone();
        let mut tombstones = Vec::new();
        let mut partitions = partitions.to_vec();
        java_hash::in_table_order(&mut partitions, Filling::Early, java_hash::of_partition);
        for partition in &partitions {
            if self.group.offsets.remove(partition).is_some() {
                tombstones.push(record(offset_key(&group, partition), None, self.desk));
            }
        }
        self.store_note(tombstones);
    }

    fn store_note(&mut self, records: Vec<Record>) {
        if !records.is_empty() {
            let partition = self.partition();
            self.ledger.append(Storing::Note, partition, records, self.desk);
        }
    }

    /// Ends an Empty group: all its records are taken back.
    fn bury(&mut self) {
        let all: Vec<TopicPartition> = self.group.offsets.keys().cloned().collect();
        let group = self.group.group_id.clone();
        let mut tombstones: Vec<Record> =
            all.iter().map(|p| record(offset_key(&group, p), None, self.desk)).collect();
        let key = Content::OffsetsKey(OffsetsKey::Group { group: group.clone() });
        tombstones.push(record(key, None, self.desk));
        self.group.change(GroupState::Dead, self.desk.now());
        self.desk.tell(GroupFact::Dead { group });
        self.store_note(tombstones);
    }
}

/// What partitions were refused.
fn answer_commit((caller, producer): Committer, topics: Refused, desk: &mut Desk<'_>) {
    match producer {
        Some(_) => desk.answer(caller, TxnOffsetCommitResponse { topics }),
        None => desk.answer(caller, OffsetCommitResponse { topics }),
    }
}

pub(super) type Refused = Vec<(TopicPartition, Option<Error>)>;

/// Offsets of partitions that exist, in the order in which they are written; the others refused.
pub(super) fn known(
    topics: Vec<(TopicPartition, CommittedOffset)>,
    allowed: Result<(), Error>,
    exists: &dyn Fn(&TopicPartition) -> bool,
    desk: &Desk<'_>,
) -> (Vec<(TopicPartition, OffsetAndMetadata)>, Refused) {
    if let Err(error) = allowed {
        return (Vec::new(), topics.into_iter().map(|(p, _)| (p, Some(error))).collect());
    }
    let (known, unknown): (Vec<_>, Vec<_>) = topics.into_iter().partition(|(p, _)| exists(p));
    let missing = |(p, _)| (p, Some(Error::UnknownTopicOrPartition));
    let refused: Refused = unknown.into_iter().map(missing).collect();
    let stamp = |(p, offset): (TopicPartition, CommittedOffset)| (p, stamped(offset, desk));
    let all: Vec<TopicPartition> = known.iter().map(|(p, _)| p.clone()).collect();
    let place = |p: &TopicPartition| java_hash::commit_place(p, &all);
    let mut placed: Vec<(u64, _)> =
        known.into_iter().map(|known| (place(&known.0), known)).collect();
    sort::by_key(&mut placed, |(place, _)| *place);
    let stamped = placed.into_iter().map(|(_, known)| stamp(known));
    (stamped.collect(), refused)
}

fn stamped(offset: CommittedOffset, desk: &Desk<'_>) -> OffsetAndMetadata {
    OffsetAndMetadata {
        offset: offset.committed_offset,
        leader_epoch: offset.committed_leader_epoch,
        metadata: offset.committed_metadata,
        commit_timestamp: desk.now(),
    }
}

fn offset_key(group: &GroupId, partition: &TopicPartition) -> Content {
    let (group, partition) = (group.clone(), partition.clone());
    Content::OffsetsKey(OffsetsKey::Offset { group, partition })
}

/// A group as tools see it: assignments only while it is Stable.
// Source: GroupMetadata.summary
fn describe(group: &Group) -> DescribedGroup {
    let stable = group.state == GroupState::Stable;
    let protocol = group.protocol.clone().filter(|_| stable).unwrap_or_else(|| "".into());
    let of = |member: &Member| DescribedGroupMember {
        member_id: member.member_id.clone(),
        group_instance_id: member.group_instance_id.clone(),
        client_id: member.client_id.clone(),
        client_host: super::CLIENT_HOST.into(),
        member_metadata: if stable { member.metadata(&protocol) } else { no_subscription() },
        member_assignment: if stable { member.assignment.clone() } else { answer::nothing() },
    };
    DescribedGroup {
        error: None,
        group_id: group.group_id.clone(),
        group_state: group.state.name(),
        protocol_data: protocol.clone(),
        members: group.in_order().into_iter().map(of).collect(),
    }
}

/// What the log says of one group.
#[derive(Clone, Default)]
struct Stored {
    group: Option<GroupMetadataValue>,
    offsets: OrdMap<TopicPartition, OffsetAndMetadata>,
}

fn read(record: &Record, stored: &mut OrdMap<GroupId, Stored>) {
    let value = match &record.value {
        Some(Content::OffsetsValue(value)) => Some((**value).clone()),
        _ => None,
    };
    match (&record.key, value) {
        (Some(Content::OffsetsKey(OffsetsKey::Group { group })), value) => {
            let found = stored.entry(group.clone()).or_default();
            found.group = match value {
                Some(OffsetsValue::Group(group)) => Some(group),
                _ => None,
            };
        }
        (Some(Content::OffsetsKey(OffsetsKey::Offset { group, partition })), value) => {
            let offsets = &mut stored.entry(group.clone()).or_default().offsets;
            match value {
                Some(OffsetsValue::Offset(offset)) => offsets.insert(partition.clone(), offset),
                _ => offsets.remove(partition),
            };
        }
        _ => {}
    }
}

// Source: GroupMetadata.loadGroup, GroupCoordinator.onGroupLoaded
fn load(id: GroupId, found: Stored, ledger: &mut Ledger, desk: &mut Desk<'_>) -> Group {
    let mut group = Group::new(id, GroupNumber(ledger.number()), desk.now());
    group.offsets = found.offsets.into_iter().collect();
    let Some(stored) = found.group else { return group };
    group.generation = stored.generation;
    group.protocol = stored.protocol.clone();
    group.leader = stored.leader;
    group.since = stored.current_state_timestamp;
    if !stored.members.is_empty() {
        group.state = GroupState::Stable;
    }
    for member in stored.members {
        let number = MemberNumber(ledger.number());
        desk.arm(GroupTimer::Session(number), member.session_timeout);
        let member = load_member(member, number, group.protocol.clone());
        group.members.insert(member.member_id.clone(), member);
    }
    let members = u32::try_from(group.members.len()).expect("groups are small");
    let (name, generation) = (group.group_id.clone(), group.generation);
    desk.tell(GroupFact::Loaded { group: name, generation, members });
    group
}

fn load_member(stored: StoredMember, number: MemberNumber, protocol: Option<Arc<str>>) -> Member {
    let protocol = protocol.unwrap_or_else(|| "".into());
    Member {
        member_id: stored.member_id,
        number,
        group_instance_id: stored.group_instance_id,
        client_id: stored.client_id,
        rebalance_timeout: stored.rebalance_timeout,
        session_timeout: stored.session_timeout,
        protocols: vec![(protocol, stored.subscription)],
        assignment: stored.assignment,
        awaiting_join: None,
        awaiting_sync: None,
        seniority: Seniority::Settled,
    }
}
