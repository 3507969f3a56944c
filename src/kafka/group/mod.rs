//! The group coordinator: the machine inside a broker that keeps the groups whose partition of
//! `__consumer_offsets` this broker leads.
//!
//! Not here: the log that keeps them (the broker appends, and reports by `stored`), who coordinates
//! which group (`java_hash::coordinator_partition`), and the members themselves (`consumer`).
//!
//! *Invariant: a request is answered once: at once, or when what it waits for has come or failed.*

use std::sync::Arc;

use super::error::Error;
use super::group_record::{Assignments, OffsetAndMetadata};
use super::id::{Generation, GroupId, ProducerEpoch, ProducerId, TopicPartition};
use super::java_hash;
use super::message::Request;
use super::record::{Content, Record};
use super::release::Release;
use crate::sim::{OrdMap, OrdSet, SimTime, Span};

mod answer;
mod desk;
mod join;
mod offsets;
mod rebalance;
mod state;
#[cfg(test)]
mod tests;
mod transactional;

pub use desk::{AppendId, Caller, Desk, Dice, GroupFact, GroupNumber, GroupTimer};
pub use desk::{MemberNumber, Removal, Wish};
pub use state::{Group, GroupState, InitialDelay, Member, Seniority};

/// Where clients are, as their brokers see it.
const CLIENT_HOST: &str = "/127.0.0.1";

/// The settings of a broker that concern groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupSettings {
    /// The broker's.
    pub release: Release,
    /// `offsets.topic.num.partitions`.
    pub offsets_topic_num_partitions: i32,
    /// `group.min.session.timeout.ms`.
    pub group_min_session_timeout: Span,
    /// `group.max.session.timeout.ms`.
    pub group_max_session_timeout: Span,
    /// `group.initial.rebalance.delay.ms`.
    pub group_initial_rebalance_delay: Span,
    /// `group.max.size`.
    pub group_max_size: u32,
}

/// The defaults of 3.9.1.
impl Default for GroupSettings {
    fn default() -> Self {
        GroupSettings {
            release: Release::V3_9_1,
            offsets_topic_num_partitions: 50,
            group_min_session_timeout: Span::secs(6),
            group_max_session_timeout: Span::secs(1800),
            group_initial_rebalance_delay: Span::secs(3),
            group_max_size: i32::MAX.cast_unsigned(),
        }
    }
}

/// What waits until the log has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Storing {
    /// The shares of a generation.
    Shares { group: GroupId, generation: Generation, shares: Assignments },
    /// Offsets, and who committed them.
    Offsets(StoringOffsets),
    /// Something nobody waits for.
    Note,
}

/// Who commits: the caller, and its producer if it does so in a transaction.
type Committer = (Caller, Option<(ProducerId, ProducerEpoch)>);

/// A commit on its way into the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StoringOffsets {
    group: GroupId,
    by: Committer,
    offsets: Vec<(TopicPartition, OffsetAndMetadata)>,
    refused: Vec<(TopicPartition, Option<Error>)>,
}

/// Numbers given out, and appends under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Ledger {
    last_number: u32,
    last_append: u64,
    storing: OrdMap<AppendId, Storing>,
}

impl Ledger {
    fn number(&mut self) -> u32 {
        self.last_number += 1;
        self.last_number
    }

    fn append(&mut self, what: Storing, partition: i32, records: Vec<Record>, desk: &mut Desk<'_>) {
        self.last_append += 1;
        let id = AppendId(self.last_append);
        let producer = match &what {
            Storing::Offsets(storing) => storing.by.1,
            _ => None,
        };
        self.storing.insert(id, what);
        desk.append(id, partition, (records, producer));
    }
}

/// All groups of one broker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupCoordinator {
    settings: GroupSettings,
    led: OrdSet<i32>,
    /// Those that are being read, since when.
    loading: OrdMap<i32, SimTime>,
    groups: OrdMap<GroupId, Arc<Group>>,
    ledger: Ledger,
}

/// One group, with all that is needed to work on it.
struct Turn<'a, 'd> {
    group: &'a mut Group,
    ledger: &'a mut Ledger,
    settings: &'a GroupSettings,
    desk: &'a mut Desk<'d>,
}

impl GroupCoordinator {
    /// A coordinator that keeps no partition yet.
    pub fn new(settings: GroupSettings) -> GroupCoordinator {
        GroupCoordinator {
            settings,
            led: OrdSet::new(),
            loading: OrdMap::new(),
            groups: OrdMap::new(),
            ledger: Ledger::default(),
        }
    }

    /// The groups kept here.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.values().map(|group| &**group)
    }

    /// One group, if it is kept here.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.get(name).map(|group| &**group)
    }

    /// The partition of `__consumer_offsets` that keeps a group.
    pub fn partition_of(&self, group: &GroupId) -> i32 {
        java_hash::coordinator_partition(group.as_str(), self.settings.offsets_topic_num_partitions)
    }

    /// Whether a request is one for `request`.
    pub fn takes(request: &Request) -> bool {
        use Request::{DeleteGroups, DescribeGroups, Heartbeat, JoinGroup, LeaveGroup, ListGroups};
        use Request::{OffsetCommit, OffsetDelete, OffsetFetch, SyncGroup, TxnOffsetCommit};
        matches!(
            request,
            JoinGroup(_)
                | SyncGroup(_)
                | Heartbeat(_)
                | LeaveGroup(_)
                | OffsetCommit(_)
                | TxnOffsetCommit(_)
                | OffsetFetch(_)
                | OffsetDelete(_)
                | DescribeGroups(_)
                | ListGroups(_)
                | DeleteGroups(_)
        )
    }

    /// Takes a request of a client. `exists` says whether the broker knows a partition.
    // Source: GroupCoordinatorAdapter, GroupCoordinator (3.9)
    pub fn request(
        &mut self,
        caller: Caller,
        request: Request,
        exists: &dyn Fn(&TopicPartition) -> bool,
        desk: &mut Desk<'_>,
    ) {
        match request {
            Request::JoinGroup(ask) => self.join_group(caller, ask, desk),
            Request::SyncGroup(ask) => self.sync_group(caller, ask, desk),
            Request::Heartbeat(ask) => self.heartbeat(caller, &ask, desk),
            Request::LeaveGroup(ask) => self.leave_group(caller, ask, desk),
            Request::OffsetCommit(ask) => self.offset_commit(caller, ask, exists, desk),
            Request::TxnOffsetCommit(ask) => self.txn_offset_commit(caller, ask, exists, desk),
            Request::OffsetFetch(ask) => self.offset_fetch(caller, &ask, desk),
            Request::OffsetDelete(ask) => self.offset_delete(caller, &ask, desk),
            Request::DescribeGroups(ask) => self.describe_groups(caller, &ask, desk),
            Request::ListGroups(ask) => self.list_groups(caller, &ask, desk),
            Request::DeleteGroups(ask) => self.delete_groups(caller, &ask, desk),
            other => unreachable!("{} is not for a group coordinator", other.name()),
        }
    }

    /// Takes a timer that has run out.
    pub fn timer(&mut self, timer: GroupTimer, desk: &mut Desk<'_>) {
        let concerned = |group: &Group| match timer {
            GroupTimer::Join(number) | GroupTimer::Sync(number) => group.number == number,
            GroupTimer::Session(number) => {
                group.pending.values().any(|&pending| pending == number)
                    || group.members.values().any(|member| member.number == number)
            }
        };
        let Some(id) = self.groups().find(|group| concerned(group)).map(|g| g.group_id.clone())
        else {
            return;
        };
        let mut turn = self.turn(&id, desk).expect("it was just found");
        match timer {
            GroupTimer::Join(_) => turn.join_time_is_over(),
            GroupTimer::Sync(_) => turn.sync_time_is_over(),
            GroupTimer::Session(number) => turn.session_is_over(number),
        }
    }

    /// Takes the outcome of an append that was wished for.
    pub fn stored(&mut self, id: AppendId, outcome: Result<(), Error>, desk: &mut Desk<'_>) {
        let outcome = outcome.map_err(for_members);
        match self.ledger.storing.remove(&id) {
            Some(Storing::Shares { group, generation, shares }) => {
                if let Some(mut turn) = self.turn(&group, desk) {
                    turn.shares_are_stored(generation, &shares, outcome);
                }
            }
            Some(Storing::Offsets(storing)) => self.offsets_are_stored(storing, outcome, desk),
            Some(Storing::Note) | None => {}
        }
    }

    fn turn<'a, 'd>(&'a mut self, id: &GroupId, desk: &'a mut Desk<'d>) -> Option<Turn<'a, 'd>> {
        let group = Arc::make_mut(self.groups.get_mut(id)?);
        let (ledger, settings) = (&mut self.ledger, &self.settings);
        Some(Turn { group, ledger, settings, desk })
    }

    /// The group, made if it is not there.
    fn turn_or_new<'a, 'd>(&'a mut self, id: &GroupId, desk: &'a mut Desk<'d>) -> Turn<'a, 'd> {
        if !self.groups.contains_key(id) {
            let number = GroupNumber(self.ledger.number());
            let group = Group::new(id.clone(), number, desk.now());
            self.groups.insert(id.clone(), Arc::new(group));
        }
        self.turn(id, desk).expect("it is there now")
    }

    /// Whether this broker may speak for a group.
    // Source: GroupCoordinator.validateGroupStatus
    fn speaks_for(&self, group: &GroupId) -> Result<(), Error> {
        if group.as_str().is_empty() {
            return Err(Error::InvalidGroupId);
        }
        match self.partition_of(group) {
            partition if self.loading.contains_key(&partition) => {
                Err(Error::CoordinatorLoadInProgress)
            }
            partition if !self.led.contains(&partition) => Err(Error::NotCoordinator),
            _ => Ok(()),
        }
    }
}

/// What a failed append looks like to the members of a group.
// Source: GroupMetadataManager.storeGroup, storeOffsets
fn for_members(error: Error) -> Error {
    match error {
        Error::UnknownTopicOrPartition
        | Error::NotEnoughReplicas
        | Error::NotEnoughReplicasAfterAppend
        | Error::RequestTimedOut => Error::CoordinatorNotAvailable,
        Error::NotLeaderOrFollower | Error::KafkaStorage => Error::NotCoordinator,
        other => other,
    }
}

fn record(key: Content, value: Option<Content>, desk: &Desk<'_>) -> Record {
    Record { key: Some(key), value, timestamp: desk.now() }
}
