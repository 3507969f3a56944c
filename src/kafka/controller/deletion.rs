//! The deletion of topics: from the wish in ZooKeeper to the last znode.
//!
//! *Invariant: a topic's znodes go only when every one of its replicas is deleted; while it is
//! queued it is given no leader, no replica and no partition.*
// Source: kafka.controller.TopicDeletionManager (3.9)

use std::sync::Arc;

use super::knowledge::{PartitionPhase, Replica, ReplicaPhase};
use super::{Controller, Step as Any, partitions, replicas};
use crate::kafka::Error;
use crate::kafka::broker::Turn;
use crate::kafka::id::{BrokerId, TopicName, TopicPartition};
use crate::kafka::words::BrokerFact;
use crate::kafka::znodes::{self, ConfigType};
use crate::kafka::zookeeper::{Replies, children};
use crate::zk::path::Path;
use crate::zk::request::Op;

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Reads which topics are to be deleted.
    Read,
    /// Takes them.
    ListRead,
    /// Goes on with all that can be gone on with.
    Resume,
    /// These topics may be gone on with again.
    ResumeThese(Vec<TopicName>),
    /// Starts what is eligible.
    Start,
    /// These replicas cannot be deleted now.
    FailReplicas(Vec<Replica>),
    /// Tells brokers to serve these topics no more.
    TellDeleted(Vec<TopicName>),
    /// Stops and deletes their replicas.
    DeleteReplicas(Vec<TopicName>),
    /// These topics wait, for this reason.
    MarkIneligible(Vec<TopicName>, &'static str),
    /// All replicas are deleted: forgets them, then the znodes.
    Complete(TopicName),
    /// Looks what is below the topic's znode.
    ReadTree(TopicName),
    /// Takes the partitions below it.
    TreeRead(TopicName),
    /// The topic's own znode is gone: now its settings and the wish.
    DropRest(TopicName),
    /// All is gone.
    Done(TopicName),
}

impl Controller {
    pub(super) fn deletion(&mut self, step: Step, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match step {
            Step::Read => {
                let read = turn.zk.get_children(znodes::delete_topics());
                self.ask(vec![read], Step::ListRead, turn);
            }
            Step::ListRead => self.deletion_list_read(replies, turn),
            Step::Resume => self.resume_deletions(),
            Step::ResumeThese(topics) => self.resume_these(topics),
            Step::Start => self.start_deletions(turn),
            Step::FailReplicas(replicas) => self.fail_replicas(replicas),
            Step::TellDeleted(topics) => self.tell_deleted(&topics, turn),
            Step::DeleteReplicas(topics) => self.delete_replicas(&topics),
            Step::MarkIneligible(topics, reason) => self.halt_deletions(topics, reason, turn),
            Step::Complete(topic) => self.complete_deletion(topic, turn),
            Step::ReadTree(topic) => {
                let read = turn.zk.get_children(znodes::topic_partitions(&topic));
                self.ask(vec![read], Step::TreeRead(topic), turn);
            }
            Step::TreeRead(topic) => self.delete_tree(topic, replies, turn),
            Step::DropRest(topic) => self.drop_rest(topic, turn),
            Step::Done(topic) => self.topic_is_deleted(&topic, turn),
        }
    }

    fn deletion_list_read(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let topics = children(&replies[0]);
        let topics = topics.iter().map(|name| TopicName::from(&**name));
        let (known, unknown): (Vec<TopicName>, Vec<TopicName>) =
            topics.partition(|topic| self.knowledge.topics.contains_key(topic));
        if !turn.settings.delete_topic_enable {
            if !self.release.deletions_may_be_dropped() {
                return;
            }
            let all: Vec<TopicName> = known.into_iter().chain(unknown).collect();
            return self.drop_deletions(&all, turn);
        }
        self.knowledge.to_delete.extend(known.iter().cloned());
        let moves =
            |topic: &&TopicName| self.knowledge.reassigning.iter().any(|tp| tp.topic == **topic);
        let moving = known.iter().filter(moves).cloned().collect();
        self.halt_deletions(moving, "topic reassignment in progress", turn);
        if !known.is_empty() {
            self.next(Step::Resume);
        }
        self.drop_deletions(&unknown, turn);
    }

    /// Takes wishes to delete topics back.
    pub(super) fn drop_deletions(&mut self, topics: &[TopicName], turn: &mut Turn<'_, '_>) {
        let delete = |topic| self.fenced(delete(znodes::delete_topic(topic)));
        let deletes = topics.iter().map(delete).collect();
        self.ask(deletes, Any::Ignore, turn);
    }

    // Source: TopicDeletionManager.resumeDeletions
    fn resume_deletions(&mut self) {
        let mut retry = Vec::new();
        let mut steps: Vec<Any> = Vec::new();
        for topic in self.knowledge.to_delete.clone() {
            if self.knowledge.all_replicas_are(&topic, ReplicaPhase::DeletionSuccessful) {
                steps.push(Step::Complete(topic).into());
                continue;
            }
            let in_phase = |phase| self.knowledge.replicas_in(&topic, phase);
            if in_phase(ReplicaPhase::DeletionStarted).is_empty() {
                retry.extend(in_phase(ReplicaPhase::DeletionIneligible));
            }
        }
        steps.push(replicas::Step::To(retry, ReplicaPhase::Offline).into());
        steps.push(Step::Start.into());
        self.next_all(steps);
    }

    fn resume_these(&mut self, topics: Vec<TopicName>) {
        let queued = |topic: &TopicName| self.knowledge.to_delete.contains(topic);
        let topics: Vec<TopicName> = topics.into_iter().filter(queued).collect();
        if !topics.is_empty() {
            self.knowledge.ineligible.retain(|topic| !topics.contains(topic));
            self.next(Step::Resume);
        }
    }

    // Source: TopicDeletionManager.isTopicEligibleForDeletion, onTopicDeletion
    fn start_deletions(&mut self, turn: &mut Turn<'_, '_>) {
        let eligible = |topic: &TopicName| {
            !self.knowledge.ineligible.contains(topic)
                && self.knowledge.replicas_in(topic, ReplicaPhase::DeletionStarted).is_empty()
        };
        let topics: Vec<TopicName> =
            self.knowledge.to_delete.iter().filter(|topic| eligible(topic)).cloned().collect();
        if topics.is_empty() {
            return;
        }
        let unseen = topics.iter().filter(|topic| !self.knowledge.deletion_begun.contains(*topic));
        let unseen: Vec<TopicName> = unseen.cloned().collect();
        for topic in &unseen {
            turn.out.tell(BrokerFact::TopicDeletionStarted { topic: topic.clone() });
        }
        let tps: Vec<TopicPartition> =
            unseen.iter().flat_map(|topic| self.knowledge.partitions_of(topic)).collect();
        self.knowledge.deletion_begun.extend(unseen);
        self.next_all([
            partitions::Step::To(tps.clone(), PartitionPhase::Offline).into(),
            partitions::Step::To(tps, PartitionPhase::NonExistent).into(),
            Step::TellDeleted(topics.clone()).into(),
            Step::DeleteReplicas(topics).into(),
        ]);
    }

    fn tell_deleted(&mut self, topics: &[TopicName], turn: &mut Turn<'_, '_>) {
        let tps: Vec<TopicPartition> =
            topics.iter().flat_map(|topic| self.knowledge.partitions_of(topic)).collect();
        let registered = self.knowledge.registered();
        self.update_metadata(&registered, &tps, turn);
    }

    // Source: TopicDeletionManager.onPartitionDeletion
    fn delete_replicas(&mut self, topics: &[TopicName]) {
        let (mut dead, mut alive, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
        for topic in topics {
            let (live, gone): (Vec<Replica>, Vec<Replica>) = self
                .knowledge
                .replicas_of(topic)
                .into_iter()
                .partition(|&(_, id)| self.knowledge.is_online(id));
            if !gone.is_empty() {
                waiting.push(topic.clone());
            }
            dead.extend(gone);
            let done = |replica: &Replica| {
                self.knowledge.replica_phase(replica) == ReplicaPhase::DeletionSuccessful
            };
            alive.extend(live.into_iter().filter(|replica| !done(replica)));
        }
        self.next_all([
            replicas::Step::To(dead, ReplicaPhase::DeletionIneligible).into(),
            replicas::Step::To(alive.clone(), ReplicaPhase::Offline).into(),
            replicas::Step::To(alive, ReplicaPhase::DeletionStarted).into(),
            Step::MarkIneligible(waiting, "offline replicas").into(),
        ]);
    }

    // Source: TopicDeletionManager.markTopicIneligibleForDeletion
    pub(super) fn halt_deletions(
        &mut self,
        topics: Vec<TopicName>,
        reason: &'static str,
        turn: &mut Turn<'_, '_>,
    ) {
        for topic in self.knowledge.to_delete.iter().filter(|topic| topics.contains(topic)) {
            turn.out.tell(BrokerFact::DeletionHalted { topic: topic.clone(), reason });
        }
        self.knowledge.ineligible.extend(topics);
    }

    fn fail_replicas(&mut self, replicas: Vec<Replica>) {
        if replicas.is_empty() {
            return;
        }
        let topics = replicas.iter().map(|(tp, _)| tp.topic.clone()).collect();
        self.next_all([
            replicas::Step::To(replicas, ReplicaPhase::DeletionIneligible).into(),
            Step::MarkIneligible(topics, "replica deletion failure").into(),
            Step::Resume.into(),
        ]);
    }

    pub(super) fn replicas_deleted(
        &mut self,
        broker: BrokerId,
        outcome: &Arc<[(TopicPartition, Option<Error>)]>,
    ) {
        let (done, failed): (Vec<_>, Vec<_>) =
            outcome.iter().partition(|(_, error)| error.is_none());
        let replicas = |list: Vec<&(TopicPartition, Option<Error>)>| -> Vec<Replica> {
            list.into_iter().map(|(tp, _)| (tp.clone(), broker)).collect()
        };
        let mut steps: Vec<Any> = vec![Step::FailReplicas(replicas(failed)).into()];
        if !done.is_empty() {
            let done = replicas(done);
            steps.push(replicas::Step::To(done, ReplicaPhase::DeletionSuccessful).into());
            steps.push(Step::Resume.into());
        }
        self.next_all(steps);
    }

    fn complete_deletion(&mut self, topic: TopicName, turn: &mut Turn<'_, '_>) {
        turn.zk.unwatch_node(&znodes::topic(&topic));
        let replicas = self.knowledge.replicas_in(&topic, ReplicaPhase::DeletionSuccessful);
        self.next_all([
            replicas::Step::To(replicas, ReplicaPhase::NonExistent).into(),
            Step::ReadTree(topic).into(),
        ]);
    }

    /// Deletes the topic's znode with all below it, the deepest first.
    // Source: KafkaZkClient.deleteRecursive
    fn delete_tree(&mut self, topic: TopicName, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let parent = znodes::topic_partitions(&topic);
        let mut deletes = Vec::new();
        for number in children(&replies[0]).iter() {
            let partition = number.parse().expect("only numbers are below a topic's partitions");
            let tp = TopicPartition { topic: topic.clone(), partition };
            deletes.push(self.fenced(delete(znodes::state(&tp))));
            deletes.push(self.fenced(delete(znodes::partition(&tp))));
        }
        deletes.push(self.fenced(delete(parent)));
        deletes.push(self.fenced(delete(znodes::topic(&topic))));
        self.ask(deletes, Step::DropRest(topic), turn);
    }

    fn drop_rest(&mut self, topic: TopicName, turn: &mut Turn<'_, '_>) {
        let config = self.fenced(delete(ConfigType::Topics.entity(topic.as_str())));
        let wish = self.fenced(delete(znodes::delete_topic(&topic)));
        self.ask(vec![config, wish], Step::Done(topic), turn);
    }

    fn topic_is_deleted(&mut self, topic: &TopicName, turn: &mut Turn<'_, '_>) {
        self.knowledge.forget_topic(topic);
        turn.out.tell(BrokerFact::TopicDeleted { topic: topic.clone() });
    }
}

fn delete(path: Path) -> Op {
    Op::Delete { path, version: -1 }
}
