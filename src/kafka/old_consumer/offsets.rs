//! How far the group is: read before partitions are claimed, written when the application, a timer,
//! a rebalance or the end asks for it; in ZooKeeper, in Kafka, or in both.
//!
//! *Invariant: an offset is written to ZooKeeper only if it differs from what this process wrote
//! there last, whatever is there by now.*
// Source: ZookeeperConsumerConnector.commitOffsets, fetchOffsets (0.8.2)

use std::sync::Arc;

use super::fetching::draw;
use super::rebalance::Step;
use super::streams::in_registry_order;
use super::words::{OldFact, OldTimer, Storage};
use super::{OldConsumer, Purpose};
use crate::kafka::client::Occasion;
use crate::kafka::id::{Generation, MemberId, Offset, TopicPartition};
use crate::kafka::message::{
    CommittedOffset, CoordinatorKey, FindCoordinatorRequest, FindCoordinatorResponse, Isolation,
    MemberIdentity, OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest,
    OffsetFetchResponse,
};
use crate::kafka::words::Words;
use crate::kafka::znodes::{self, consumers};
use crate::kafka::zookeeper::{Asker, Replies};
use crate::sim::{OrdMap, Outbox};
use crate::zk::request::Op;

/// A commit under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Committing {
    occasion: Occasion,
    offsets: Vec<(TopicPartition, Offset)>,
}

/// Offsets by partition.
type Offsets = OrdMap<TopicPartition, Offset>;

impl OldConsumer {
    /// Commits what the application has got, after the commits before.
    pub(super) fn commit(&mut self, occasion: Occasion, out: &mut Outbox<'_, Words>) {
        self.commits.push_back(occasion);
        self.next_commit(out);
    }

    /// Who rebalances does not wait for its commit any more; it is made all the same.
    pub(super) fn commit_for_nothing(&mut self) {
        let waits = |occasion: &Occasion| *occasion == Occasion::Rebalance;
        self.commits.retain(|occasion| !waits(occasion));
        if let Some(one) = self.committing.as_mut().filter(|one| waits(&one.occasion)) {
            one.occasion = Occasion::Interval;
        }
    }

    fn next_commit(&mut self, out: &mut Outbox<'_, Words>) {
        if self.committing.is_some() {
            return;
        }
        let Some(occasion) = self.commits.pop_front() else { return };
        let known = self.held.iter().filter(|(_, held)| held.consumed != Offset::NONE);
        let mut offsets: Vec<_> = known.map(|(tp, held)| (tp.clone(), held.consumed)).collect();
        in_registry_order(&mut offsets, |(tp, _)| tp);
        self.committing = Some(Committing { occasion, offsets });
        match self.keeps_offsets_in_kafka() {
            true => self.commit_to_kafka(out),
            false => self.write_offsets(out),
        }
    }

    // Source: ZookeeperConsumerConnector.commitOffsetToZooKeeper
    fn write_offsets(&mut self, out: &mut Outbox<'_, Words>) {
        let Some(Committing { offsets, .. }) = &mut self.committing else { return };
        offsets.retain(|(tp, offset)| self.checkpointed.get(tp) != Some(offset));
        let write = |(tp, offset): &(TopicPartition, Offset)| {
            let path = consumers::group_offset(&self.settings.group_id, tp);
            Op::SetData { path, data: consumers::encode_offset(*offset), version: -1 }
        };
        let writes = offsets.iter().map(write).collect();
        if !self.zk.ask(Asker::Offsets, writes, out) {
            self.committed(out);
        }
    }

    pub(super) fn offsets_written(&mut self, replies: &Replies, out: &mut Outbox<'_, Words>) {
        let offsets = self.committing.iter().flat_map(|one| &one.offsets);
        for ((tp, offset), reply) in offsets.zip(replies) {
            if reply.is_ok() {
                self.checkpointed.insert(tp.clone(), *offset);
            }
        }
        self.committed(out);
    }

    fn committed(&mut self, out: &mut Outbox<'_, Words>) {
        let Some(done) = self.committing.take() else { return };
        match done.occasion {
            Occasion::Asked => out.tell(OldFact::OffsetsWritten { consumer: self.id() }),
            Occasion::Interval => {}
            Occasion::Rebalance => self.release(out),
            Occasion::Close => self.close_session(out),
        }
        self.next_commit(out);
    }

    fn commit_to_kafka(&mut self, out: &mut Outbox<'_, Words>) {
        let offsets = self.committing.as_ref().map(|one| one.offsets.clone());
        let offsets = offsets.unwrap_or_default();
        if offsets.is_empty() {
            return self.committed(out);
        }
        let Some(coordinator) = self.coordinator else { return self.ask_coordinator(out) };
        let member = MemberIdentity {
            group_id: self.settings.group_id.clone(),
            generation_id: Generation::NONE,
            member_id: MemberId::from(""),
            group_instance_id: None,
        };
        let one = |(tp, offset): &(TopicPartition, Offset)| {
            let committed = CommittedOffset {
                committed_offset: *offset,
                committed_leader_epoch: None,
                committed_metadata: "".into(),
            };
            (tp.clone(), committed)
        };
        let request = OffsetCommitRequest { member, topics: offsets.iter().map(one).collect() };
        let to = (coordinator, self.settings.socket_timeout);
        self.calls.make(Purpose::Commit, to, request, out);
    }

    pub(super) fn commit_told(&mut self, told: &OffsetCommitResponse, out: &mut Outbox<'_, Words>) {
        if told.topics.iter().any(|(_, error)| error.is_some()) {
            self.coordinator = None;
            return self.rest_from_coordinator(out);
        }
        match self.settings.offsets_storage {
            Storage::Both => self.write_offsets(out),
            _ => self.committed(out),
        }
    }

    /// Reads how far the group is in these partitions, then claims them.
    pub(super) fn read_offsets(
        &mut self,
        claims: Vec<(TopicPartition, Arc<str>)>,
        out: &mut Outbox<'_, Words>,
    ) {
        if self.settings.offsets_storage == Storage::Kafka {
            self.balance.claims = claims;
            return self.fetch_offsets(out);
        }
        let group = &self.settings.group_id;
        let read = |(tp, _): &(TopicPartition, Arc<str>)| {
            self.zk.get_data(consumers::group_offset(group, tp))
        };
        let reads = claims.iter().map(read).collect();
        self.ask(reads, Step::OffsetsRead(claims), out);
    }

    pub(super) fn fetch_offsets(&mut self, out: &mut Outbox<'_, Words>) {
        let claims = std::mem::take(&mut self.balance.claims);
        if claims.is_empty() {
            return self.claim(claims, Vec::new(), out);
        }
        let topics = claims.iter().map(|(tp, _)| tp.clone()).collect();
        self.balance.claims = claims;
        let Some(coordinator) = self.coordinator else { return self.ask_coordinator(out) };
        let group_id = self.settings.group_id.clone();
        let request = OffsetFetchRequest {
            group_id,
            topics: Some(topics),
            require_stable: Isolation::ReadUncommitted,
        };
        let to = (coordinator, self.settings.socket_timeout);
        self.calls.make(Purpose::FetchOffsets, to, request, out);
    }

    pub(super) fn offsets_told(&mut self, told: OffsetFetchResponse, out: &mut Outbox<'_, Words>) {
        if told.error.is_some() {
            self.coordinator = None;
            return self.rest_from_coordinator(out);
        }
        let known: Offsets = told
            .topics
            .into_iter()
            .filter_map(|(tp, committed)| Some((tp, committed?.offset)))
            .collect();
        let claims = std::mem::take(&mut self.balance.claims);
        if claims.is_empty() {
            return;
        }
        let offset =
            |(tp, _): &(TopicPartition, Arc<str>)| known.get(tp).copied().unwrap_or(Offset::NONE);
        let offsets = claims.iter().map(offset).collect();
        self.claim(claims, offsets, out);
    }

    /// Looks for the coordinator: reads from ZooKeeper whom to ask.
    // Source: ClientUtils.channelToOffsetManager
    pub(super) fn ask_coordinator(&mut self, out: &mut Outbox<'_, Words>) {
        let busy = self.calls.any(|call| *call == Purpose::Coordinator);
        if !busy && !self.zk.is_asking(Asker::Coordinator) {
            let read = self.zk.get_children(znodes::broker_ids());
            self.zk.ask(Asker::Coordinator, vec![read], out);
        }
    }

    pub(super) fn coordinator_brokers_read(
        &mut self,
        replies: &Replies,
        out: &mut Outbox<'_, Words>,
    ) {
        if self.read_brokers(Asker::Coordinator, &replies[0], out) {
            return;
        }
        let mut brokers = self.addresses(replies);
        let Some(broker) = draw(&mut brokers, out) else { return self.rest_from_coordinator(out) };
        let request =
            FindCoordinatorRequest { key: CoordinatorKey::Group(self.settings.group_id.clone()) };
        self.calls.make(Purpose::Coordinator, (broker, self.settings.socket_timeout), request, out);
    }

    pub(super) fn rest_from_coordinator(&mut self, out: &mut Outbox<'_, Words>) {
        out.arm(OldTimer::Coordinator, self.settings.offsets_channel_backoff);
    }

    pub(super) fn coordinator_told(
        &mut self,
        told: FindCoordinatorResponse,
        out: &mut Outbox<'_, Words>,
    ) {
        let Ok(broker) = told.coordinator else { return self.rest_from_coordinator(out) };
        self.coordinator = Some(broker.process);
        if !self.balance.is_registered() {
            return self.register(out);
        }
        if !self.balance.claims.is_empty() {
            self.fetch_offsets(out);
        }
        if self.committing.is_some() {
            self.commit_to_kafka(out);
        }
    }
}
