//! Committing offsets, and how a consumer ends.
//!
//! *Invariant: `close()` commits if that is automatic, gives everything up, leaves, and only then
//! returns.*

use super::words::{ConsumerFact, ConsumerTimer};
use super::{Activity, Consumer, Occasion, Position, Purpose, Standing};
use crate::kafka::client::Partitions;
use crate::kafka::error::{Error, Remedy};
use crate::kafka::id::TopicPartition;
use crate::kafka::message::{
    CommittedOffset, LeaveGroupRequest, LeavingMember, OffsetCommitRequest, OffsetCommitResponse,
};
use crate::kafka::words::Words;
use crate::sim::Outbox;

impl Consumer {
    fn positions(&self) -> Vec<(TopicPartition, CommittedOffset)> {
        let position = |(partition, reading): (&TopicPartition, &super::Reading)| {
            let Position::At { offset, leader_epoch } = reading.position else { return None };
            let committed = CommittedOffset {
                committed_offset: offset,
                committed_leader_epoch: leader_epoch,
                committed_metadata: "".into(),
            };
            Some((partition.clone(), committed))
        };
        self.partitions.iter().filter_map(position).collect()
    }

    /// Commits all positions; `false` if there is nothing to commit or nobody to commit to.
    pub(super) fn commit(&mut self, occasion: Occasion, out: &mut Outbox<'_, Words>) -> bool {
        let topics = self.positions();
        let Some(coordinator) = self.coordinator.filter(|_| !topics.is_empty()) else {
            return false;
        };
        let partitions: Partitions = topics.iter().map(|(partition, _)| partition).collect();
        out.tell(ConsumerFact::OffsetsSent { partitions });
        let request = OffsetCommitRequest { member: self.identity(), topics };
        let within = self.settings.request_timeout;
        self.calls.make(Purpose::Commit(occasion), (coordinator, within), request, out);
        true
    }

    /// `commitSync()`: waits for a coordinator; without anything read it returns at once.
    pub(super) fn commit_if_asked(&mut self, out: &mut Outbox<'_, Words>) {
        let under_way = self.calls.any(|p| *p == Purpose::Commit(Occasion::Asked));
        if self.commits_asked == 0 || under_way || self.coordinator.is_none() {
            return;
        }
        if !self.commit(Occasion::Asked, out) {
            self.commit_is_done(out);
        }
    }

    fn commit_is_done(&mut self, out: &mut Outbox<'_, Words>) {
        self.commits_asked = self.commits_asked.saturating_sub(1);
        out.tell(ConsumerFact::CommitDone { group: self.settings.group_id.clone() });
    }

    // Source: ConsumerCoordinator.maybeAutoCommitOffsetsAsync
    pub(super) fn commit_by_interval(&mut self, out: &mut Outbox<'_, Words>) {
        out.arm(ConsumerTimer::AutoCommit, self.settings.auto_commit_interval);
        if self.activity == Activity::Polling && self.member.standing == Standing::Stable {
            self.commit(Occasion::Interval, out);
        }
    }

    // Source: ConsumerCoordinator.OffsetCommitResponseHandler
    pub(super) fn committed(
        &mut self,
        occasion: Occasion,
        told: &OffsetCommitResponse,
        out: &mut Outbox<'_, Words>,
    ) {
        let Some(error) = told.topics.iter().find_map(|(_, error)| *error) else {
            if occasion == Occasion::Asked {
                self.commit_is_done(out);
            }
            return;
        };
        let thrown = match error {
            Error::CoordinatorNotAvailable | Error::NotCoordinator => {
                self.lose_coordinator(out);
                None
            }
            Error::RebalanceInProgress => {
                self.member.must_rejoin(self.member.standing);
                Some(error.exception(self.settings.release))
            }
            Error::UnknownMemberId => {
                self.member.forget_all();
                Some("CommitFailedException")
            }
            Error::IllegalGeneration => {
                self.member.must_rejoin(Standing::Unjoined);
                Some("CommitFailedException")
            }
            other => {
                (other.remedy() == Remedy::Fail).then_some(other.exception(self.settings.release))
            }
        };
        match (occasion, thrown) {
            (Occasion::Asked, Some(exception)) => {
                self.commits_asked = self.commits_asked.saturating_sub(1);
                self.throw(exception, out);
            }
            _ => self.rest(out),
        }
    }

    pub(super) fn begin_to_close(&mut self, out: &mut Outbox<'_, Words>) {
        if matches!(self.activity, Activity::Closing | Activity::Ended) {
            return;
        }
        self.activity = Activity::Closing;
        out.disarm(ConsumerTimer::AutoCommit);
        if self.settings.enable_auto_commit && self.member.is_known() {
            self.commit(Occasion::Close, out);
        }
    }

    /// One step of `close()` after the other, each once what it waits for has come.
    // Source: ConsumerCoordinator.close, AbstractCoordinator.maybeLeaveGroup
    pub(super) fn close(&mut self, out: &mut Outbox<'_, Words>) {
        let commits = |purpose: &Purpose| matches!(purpose, Purpose::Commit(_));
        if self.calls.any(commits) || self.calls.any(|p| *p == Purpose::Leave) {
            return;
        }
        self.give_all_up(out);
        let dynamic = self.settings.group_instance_id.is_none();
        let named = !self.member.member_id.as_str().is_empty();
        if dynamic && named && self.coordinator.is_some() {
            self.leave("the consumer is being closed", out);
            return self.member.forget_all();
        }
        out.tell(ConsumerFact::ConsumerClosed { group: self.settings.group_id.clone() });
        self.end(0, out);
    }

    // Source: ConsumerCoordinator.onLeavePrepare
    fn give_all_up(&mut self, out: &mut Outbox<'_, Words>) {
        if self.partitions.is_empty() {
            return;
        }
        let partitions: Partitions = self.partitions.keys().collect();
        match self.member.is_known() {
            _ if self.settings.release.joining_revokes() => {}
            true => out.tell(ConsumerFact::PartitionsRevoked { partitions }),
            false => out.tell(ConsumerFact::PartitionsLost { partitions }),
        }
        self.partitions.clear();
    }

    pub(super) fn leave(&mut self, reason: &str, out: &mut Outbox<'_, Words>) {
        out.disarm(ConsumerTimer::Heartbeat);
        out.disarm(ConsumerTimer::Session);
        let Some(coordinator) = self.coordinator else { return };
        let leaving = LeavingMember {
            member_id: self.member.member_id.clone(),
            group_instance_id: self.settings.group_instance_id.clone(),
            reason: reason.into(),
        };
        let group_id = self.settings.group_id.clone();
        let request = LeaveGroupRequest { group_id, members: vec![leaving] };
        let within = self.settings.request_timeout;
        self.calls.make(Purpose::Leave, (coordinator, within), request, out);
    }
}
