//! How a consumer becomes and stays a member: join, sync, heartbeat.
//!
//! *Invariant: an eager member holds nothing from its JoinGroup until it has its share.*

use std::sync::Arc;

use super::words::{ConsumerFact, ConsumerTimer};
use super::{Activity, Consumer, Occasion, Purpose};
use crate::kafka::assignor::{Assignor, PartitionCounts, RebalanceProtocol, Subscriber};
use crate::kafka::client::Partitions;
use crate::kafka::error::Error;
use crate::kafka::group_record::{Assignment, Assignments, Subscription};
use crate::kafka::id::{Generation, MemberId, TopicName, TopicPartition};
use crate::kafka::message::{
    HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember, MemberIdentity,
    SyncGroupRequest, SyncGroupResponse,
};
use crate::kafka::words::Words;
use crate::sim::{OrdSet, Outbox, Span, sort};

/// Where a member stands.
// Source: AbstractCoordinator.MemberState
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// It is to join when it can.
    #[default]
    Unjoined,
    /// It has sent JoinGroup; next it syncs, or is refused.
    Joining,
    /// It is in a generation and waits for its share.
    Syncing,
    /// It has its share.
    Stable,
}

/// How far it is with giving up what it has, before it joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Preparation {
    None,
    Committed,
    Done,
}

/// What a consumer knows of its membership.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Membership {
    pub(super) member_id: MemberId,
    pub(super) generation: Generation,
    pub(super) standing: Standing,
    pub(super) leads: bool,
    /// It has to join, for the first time or again.
    rejoin: bool,
    preparation: Preparation,
    protocol: Option<Assignor>,
    /// The last share and its generation, which the sticky assignor remembers.
    last_share: (Assignment, Generation),
    /// As leader: what the members subscribe to, and how many partitions these topics had.
    pub(super) group_topics: Vec<TopicName>,
    snapshot: Option<PartitionCounts>,
    /// As leader: the members, until the metadata is there to assign by.
    to_assign: Option<Vec<JoinGroupResponseMember>>,
}

impl Default for Membership {
    fn default() -> Self {
        Membership {
            member_id: "".into(),
            generation: Generation::NONE,
            standing: Standing::Unjoined,
            leads: false,
            rejoin: true,
            preparation: Preparation::None,
            protocol: None,
            last_share: (Arc::from([]), Generation::NONE),
            group_topics: Vec::new(),
            snapshot: None,
            to_assign: None,
        }
    }
}

impl Membership {
    pub(super) fn must_rejoin(&mut self, standing: Standing) {
        self.rejoin = true;
        self.standing = standing;
        self.to_assign = None;
    }

    /// Whether it is in a generation.
    pub(super) fn is_in_group(&self) -> bool {
        matches!(self.standing, Standing::Syncing | Standing::Stable)
    }

    /// Whether the group knows it by its id and generation.
    pub(super) fn is_known(&self) -> bool {
        self.generation != Generation::NONE && !self.member_id.as_str().is_empty()
    }

    fn forget_generation(&mut self) {
        self.generation = Generation::NONE;
        self.protocol = None;
        self.must_rejoin(Standing::Unjoined);
    }

    // Source: AbstractCoordinator.resetStateAndGeneration
    pub(super) fn forget_all(&mut self) {
        self.member_id = "".into();
        self.forget_generation();
    }
}

impl Consumer {
    pub(super) fn identity(&self) -> MemberIdentity {
        MemberIdentity {
            group_id: self.settings.group_id.clone(),
            generation_id: self.member.generation,
            member_id: self.member.member_id.clone(),
            group_instance_id: self.settings.group_instance_id.clone(),
        }
    }

    /// Eager unless all its assignors can do otherwise.
    fn rebalance_protocol(&self) -> RebalanceProtocol {
        let strategies = self.settings.partition_assignment_strategy.iter();
        strategies.map(|assignor| assignor.protocol()).min().unwrap_or(RebalanceProtocol::Eager)
    }

    /// Joins, if it has to and can.
    // Source: AbstractCoordinator.joinGroupIfNeeded
    pub(super) fn join_if_due(&mut self, out: &mut Outbox<'_, Words>) {
        self.assign_if_due(out);
        let settled = matches!(self.member.standing, Standing::Unjoined | Standing::Stable);
        let Some(coordinator) = self.coordinator else { return };
        if !settled || !self.member.rejoin || !self.prepare_to_join(out) {
            return;
        }
        self.member.standing = Standing::Joining;
        out.disarm(ConsumerTimer::Heartbeat);
        out.disarm(ConsumerTimer::Session);
        let request = self.join_request();
        let within = self.settings.request_timeout.max(request.rebalance_timeout + Span::secs(5));
        self.calls.make(Purpose::Join, (coordinator, within), request, out);
    }

    fn join_request(&self) -> JoinGroupRequest {
        let strategies = self.settings.partition_assignment_strategy.iter();
        let protocol = |one: &Assignor| (one.name().into(), Arc::new(self.subscription(*one)));
        JoinGroupRequest {
            group_id: self.settings.group_id.clone(),
            session_timeout: self.settings.session_timeout,
            rebalance_timeout: self.settings.max_poll_interval,
            member_id: self.member.member_id.clone(),
            group_instance_id: self.settings.group_instance_id.clone(),
            protocols: strategies.map(protocol).collect(),
            reason: "".into(),
        }
    }

    /// What it tells the leader; the eager sticky assignor adds what it had, given up as that is.
    fn subscription(&self, assignor: Assignor) -> Subscription {
        let (last, last_generation) = &self.member.last_share;
        let named = self.settings.release.subscriptions_name_generations();
        let held = || self.partitions.keys().cloned().collect();
        let (owned_partitions, generation_id) = match assignor {
            Assignor::Sticky => (last.to_vec(), *last_generation),
            Assignor::CooperativeSticky if !named => (held(), *last_generation),
            _ => (held(), self.member.generation),
        };
        let mut topics = self.settings.topics.clone();
        sort::sort(&mut topics);
        Subscription { topics, owned_partitions, generation_id }
    }

    /// Commits and gives up what is to be given up; `false` while the commit is under way.
    // Source: ConsumerCoordinator.onJoinPrepare
    fn prepare_to_join(&mut self, out: &mut Outbox<'_, Words>) -> bool {
        if self.member.preparation == Preparation::Done {
            return true;
        }
        if self.calls.any(|purpose| *purpose == Purpose::Commit(Occasion::Rebalance)) {
            return false;
        }
        let commits = self.settings.enable_auto_commit && self.member.is_known();
        if commits && self.member.preparation == Preparation::None {
            self.member.preparation = Preparation::Committed;
            if self.commit(Occasion::Rebalance, out) {
                return false;
            }
        }
        self.give_up(out);
        self.member.preparation = Preparation::Done;
        true
    }

    fn give_up(&mut self, out: &mut Outbox<'_, Words>) {
        let partitions: Partitions = self.partitions.keys().collect();
        if self.settings.release.joining_revokes() {
            out.tell(ConsumerFact::PartitionsRevoked { partitions });
            self.partitions.clear();
        } else if !self.member.is_known() {
            if !self.partitions.is_empty() {
                out.tell(ConsumerFact::PartitionsLost { partitions });
                self.partitions.clear();
            }
        } else if self.rebalance_protocol() == RebalanceProtocol::Eager {
            out.tell(ConsumerFact::PartitionsRevoked { partitions });
            self.partitions.clear();
        }
    }

    // Source: AbstractCoordinator.JoinGroupResponseHandler
    pub(super) fn joined(&mut self, told: JoinGroupResponse, out: &mut Outbox<'_, Words>) {
        if let Some(error) = told.error {
            return self.join_refused(error, told.member_id, out);
        }
        self.member.member_id = told.member_id;
        self.member.generation = told.generation_id;
        self.member.protocol = told.protocol_name.as_deref().and_then(Assignor::by_name);
        self.member.leads = told.leader == self.member.member_id;
        self.member.standing = Standing::Syncing;
        self.member.rejoin = false;
        self.member.snapshot = None;
        self.member.group_topics.clear();
        let group = self.settings.group_id.clone();
        let (member, generation) = (self.member.member_id.clone(), self.member.generation);
        out.tell(ConsumerFact::GroupJoined { group, member, generation });
        out.arm(ConsumerTimer::Heartbeat, self.settings.heartbeat_interval);
        out.arm(ConsumerTimer::Session, self.settings.session_timeout);
        if !self.member.leads {
            return self.sync(Assignments::new(), out);
        }
        self.watch_group_topics(&told.members);
        if told.skip_assignment {
            self.member.snapshot = Some(self.view.counts(&self.member.group_topics));
            return self.sync(Assignments::new(), out);
        }
        self.member.to_assign = Some(told.members);
        self.assign_if_due(out);
    }

    /// The leader follows all topics of the group.
    // Source: ConsumerCoordinator.updateGroupSubscription
    fn watch_group_topics(&mut self, members: &[JoinGroupResponseMember]) {
        let topics: OrdSet<TopicName> =
            members.iter().flat_map(|member| member.metadata.topics.iter().cloned()).collect();
        let unknown = |topic: &&TopicName| !self.settings.topics.contains(topic);
        self.metadata_wanted |= topics.iter().any(|topic| unknown(&topic));
        self.member.group_topics = topics.into_iter().collect();
    }

    fn join_refused(&mut self, error: Error, named: MemberId, out: &mut Outbox<'_, Words>) {
        self.member.must_rejoin(Standing::Unjoined);
        match error {
            Error::MemberIdRequired => {
                self.member.member_id = named;
                self.member.generation = Generation::NONE;
            }
            Error::UnknownMemberId => self.member.forget_all(),
            Error::IllegalGeneration => self.member.forget_generation(),
            Error::CoordinatorNotAvailable | Error::NotCoordinator => {
                self.lose_coordinator(out);
                self.rest(out);
            }
            Error::CoordinatorLoadInProgress | Error::RebalanceInProgress => self.rest(out),
            other => self.throw(other.exception(self.settings.release), out),
        }
    }

    /// As leader: computes the shares once the metadata is fresh.
    // Source: ConsumerCoordinator.onLeaderElected
    fn assign_if_due(&mut self, out: &mut Outbox<'_, Words>) {
        let waits = self.metadata_wanted && self.metadata_failures == 0;
        if waits || self.calls.any(|purpose| *purpose == Purpose::Metadata) {
            return;
        }
        let Some(members) = self.member.to_assign.take() else { return };
        let counts = self.view.counts(&self.member.group_topics);
        let subscribers: Vec<Subscriber> = members.iter().map(subscriber).collect();
        let assignor = self.member.protocol.expect("the coordinator chose one of ours");
        let shares = assignor.assign(&counts, &subscribers, self.settings.release);
        self.member.snapshot = Some(counts);
        self.sync(shares.into_iter().map(|(id, share)| (id, share.into())).collect(), out);
    }

    fn sync(&mut self, assignments: Assignments, out: &mut Outbox<'_, Words>) {
        let Some(coordinator) = self.coordinator else {
            return self.member.must_rejoin(Standing::Unjoined);
        };
        let protocol_name = self.member.protocol.map(|assignor| assignor.name().into());
        let member = self.identity();
        let request = SyncGroupRequest { member, protocol_name, assignments };
        let within = self.settings.request_timeout.max(self.settings.max_poll_interval);
        self.calls.make(Purpose::Sync, (coordinator, within), request, out);
    }

    // Source: AbstractCoordinator.SyncGroupResponseHandler
    pub(super) fn synced(&mut self, told: SyncGroupResponse, out: &mut Outbox<'_, Words>) {
        if self.member.standing != Standing::Syncing {
            return;
        }
        match told.assignment {
            Ok(share) => self.take_share(&share, out),
            Err(error) => {
                self.member.must_rejoin(Standing::Unjoined);
                match error {
                    Error::RebalanceInProgress => {}
                    Error::UnknownMemberId => self.member.forget_all(),
                    Error::IllegalGeneration => self.member.forget_generation(),
                    Error::CoordinatorNotAvailable | Error::NotCoordinator => {
                        self.lose_coordinator(out);
                        self.rest(out);
                    }
                    other => self.throw(other.exception(self.settings.release), out),
                }
            }
        }
    }

    // Source: ConsumerCoordinator.onJoinComplete
    fn take_share(&mut self, share: &Assignment, out: &mut Outbox<'_, Words>) {
        self.member.standing = Standing::Stable;
        self.member.preparation = Preparation::None;
        self.member.last_share = (share.clone(), self.member.generation);
        let now: OrdSet<TopicPartition> = share.iter().cloned().collect();
        let gone: Vec<TopicPartition> =
            self.partitions.keys().filter(|held| !now.contains(held)).cloned().collect();
        if !gone.is_empty() {
            out.tell(ConsumerFact::PartitionsRevoked { partitions: gone.iter().collect() });
            self.member.must_rejoin(Standing::Stable);
        }
        let added: Partitions =
            now.iter().filter(|held| !self.partitions.contains_key(held)).collect();
        self.hold(&now);
        out.tell(ConsumerFact::PartitionsAssigned { partitions: added, now: now.iter().collect() });
        if self.settings.enable_auto_commit {
            out.arm(ConsumerTimer::AutoCommit, self.settings.auto_commit_interval);
        }
        self.compare_with_snapshot();
    }

    fn hold(&mut self, now: &OrdSet<TopicPartition>) {
        let mut before = std::mem::take(&mut self.partitions);
        let mut reading = |partition: &TopicPartition| before.remove(partition).unwrap_or_default();
        self.partitions =
            now.iter().map(|partition| (partition.clone(), reading(partition))).collect();
    }

    /// The leader asks for a rebalance when its topics no longer are what it assigned by.
    // Source: ConsumerCoordinator.rejoinNeededOrPending
    pub(super) fn compare_with_snapshot(&mut self) {
        let stable = self.member.standing == Standing::Stable && self.member.leads;
        let Some(snapshot) = self.member.snapshot.as_ref().filter(|_| stable) else { return };
        if *snapshot != self.view.counts(&self.member.group_topics) {
            self.member.must_rejoin(Standing::Stable);
        }
    }

    /// The heartbeat thread: it runs whatever the application does.
    // Source: AbstractCoordinator.HeartbeatThread
    pub(super) fn beat(&mut self, out: &mut Outbox<'_, Words>) {
        if !self.member.is_in_group() {
            return;
        }
        out.arm(ConsumerTimer::Heartbeat, self.settings.heartbeat_interval);
        let Some(coordinator) = self.coordinator else { return };
        if self.calls.any(|purpose| matches!(purpose, Purpose::Heartbeat(_))) {
            return;
        }
        let request = HeartbeatRequest { member: self.identity() };
        let purpose = Purpose::Heartbeat(self.member.generation);
        self.calls.make(purpose, (coordinator, self.settings.request_timeout), request, out);
    }

    // Source: AbstractCoordinator.HeartbeatResponseHandler
    pub(super) fn heartbeat_answered(
        &mut self,
        generation: Generation,
        error: Option<Error>,
        out: &mut Outbox<'_, Words>,
    ) {
        if !self.member.is_in_group() || generation != self.member.generation {
            return;
        }
        out.arm(ConsumerTimer::Session, self.settings.session_timeout);
        match error {
            None => {}
            Some(Error::CoordinatorNotAvailable | Error::NotCoordinator) => {
                self.lose_coordinator(out);
            }
            Some(Error::RebalanceInProgress) if self.member.standing == Standing::Stable => {
                self.member.must_rejoin(Standing::Stable);
            }
            Some(Error::RebalanceInProgress) => {}
            Some(Error::IllegalGeneration) => self.member.forget_generation(),
            Some(Error::UnknownMemberId) => self.member.forget_all(),
            Some(other) => {
                self.member.forget_all();
                self.throw(other.exception(self.settings.release), out);
            }
        }
    }

    /// The application has not polled for too long: the heartbeat thread leaves the group.
    // Source: AbstractCoordinator.HeartbeatThread, pollTimeoutExpired
    pub(super) fn leave_for_silence(&mut self, out: &mut Outbox<'_, Words>) {
        if self.activity == Activity::Stalled && self.member.is_in_group() {
            self.leave("consumer poll timeout has expired", out);
            self.member.forget_all();
        }
    }
}

fn subscriber(member: &JoinGroupResponseMember) -> Subscriber {
    Subscriber {
        id: member.member_id.clone(),
        instance_id: member.group_instance_id.as_deref().map(Into::into),
        topics: member.metadata.topics.clone(),
        owned: member.metadata.owned_partitions.clone(),
        generation: member.metadata.generation_id,
    }
}
