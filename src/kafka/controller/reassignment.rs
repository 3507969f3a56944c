//! Replicas that move: the new ones are added, and when they are in sync the old ones go.
//!
//! ```text
//!   U  topic znode = target ++ leaving, then memory
//!   A  target ⊄ ISR: leader epoch + 1, LeaderAndIsr to all; the new ones start to fetch … wait
//!   B  target ⊆ ISR: another leader if need be, the leaving ones out of the ISR and deleted,
//!      topic znode = target
//! ```
//!
//! *Invariant: the topic's znode says at each moment what a new controller has to go on with.*
// Source: KafkaController.onPartitionReassignment (3.9), KIP-455

use super::batch::{Batch, Novelty};
use super::failover::leadership_in;
use super::knowledge::{Leadership, Replica, ReplicaPhase};
use super::{Cause, Controller, ControllerEvent, Fenced, Step as Any};
use super::{deletion, isr, partitions, replicas};
use crate::kafka::Error;
use crate::kafka::admin::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, OngoingReassignment,
    Refusal,
};
use crate::kafka::broker::Turn;
use crate::kafka::election::LeaderAndIsr;
use crate::kafka::id::{BrokerId, LeaderEpoch, TopicPartition};
use crate::kafka::java_hash;
use crate::kafka::wire::Caller;
use crate::kafka::words::{BrokerFact, Brokers};
use crate::kafka::znodes::{self, ReplicaAssignment, TopicZnode};
use crate::kafka::zookeeper::{Replies, found};
use crate::sim::{OrdMap, sort};
use crate::zk::reply::{Error as ZkError, OpResult};
use crate::zk::request::Op;

/// A partition and where it is to go.
type Move = (TopicPartition, ReplicaAssignment);

/// What each partition's move was answered.
type Results = Vec<(TopicPartition, Option<Refusal>)>;

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Resumes all moves, those wished for through ZooKeeper first.
    Resume,
    /// Resumes those that the topics' znodes tell of.
    ResumeAll,
    /// Resumes those that concern brokers that have come.
    ResumeThoseOn(Vec<BrokerId>),
    /// Looks whether somebody wishes for moves through ZooKeeper.
    Look,
    /// Takes whether there is a wish.
    Looked,
    /// Takes the wishes.
    WishesRead,
    /// Works on one move.
    Move(TopicPartition, ReplicaAssignment),
    /// Before a move is written (to 2.3): takes whether it is done already.
    JudgedFirst(TopicPartition, ReplicaAssignment),
    /// The topic's znode is written.
    Updated(TopicPartition, ReplicaAssignment),
    /// Reads whether all that are to have the partition are in sync.
    Judge(TopicPartition),
    /// Takes it.
    Judged(TopicPartition),
    /// The ISR has changed: is the move done?
    IsrChanged(TopicPartition),
    /// Takes it.
    IsrRead(TopicPartition),
    /// Raises the leader epoch, and orders all replicas.
    RaiseEpoch(TopicPartition),
    /// Takes the state.
    EpochRead(TopicPartition),
    /// Takes the outcome.
    EpochRaised(TopicPartition, LeaderAndIsr),
    /// The replicas to be are all that there are, in memory.
    Settle(TopicPartition),
    /// Another leader, if need be.
    MoveLeader(TopicPartition),
    /// The replicas to be are all that there are, in ZooKeeper.
    WriteSettled(TopicPartition),
    /// The move is done.
    Done(TopicPartition),
    /// Removes moves from the wishes in ZooKeeper.
    DropWishes(Vec<TopicPartition>),
    /// Takes whether there are any.
    WishesLooked(Vec<TopicPartition>),
    /// Takes them.
    WishesReadToDrop(Vec<TopicPartition>),
    /// The wishes are removed.
    WishesDropped,
    /// Answers a tool.
    Answer(Caller, Results),
}

impl Controller {
    pub(super) fn reassignment(&mut self, step: Step, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match step {
            Step::Resume => self.next_all([Step::Look.into(), Step::ResumeAll.into()]),
            Step::ResumeAll => self.resume_moves(|_| true),
            Step::ResumeThoseOn(ids) => {
                self.resume_moves(|to| to.target().iter().any(|id| ids.contains(id)));
            }
            Step::Look => {
                turn.zk.watch_node(znodes::reassign_partitions());
                let look = turn.zk.exists(znodes::reassign_partitions());
                self.ask(vec![look], Step::Looked, turn);
            }
            Step::Looked => {
                if replies[0].is_ok() {
                    let read = turn.zk.get_data(znodes::reassign_partitions());
                    self.ask(vec![read], Step::WishesRead, turn);
                }
            }
            Step::WishesRead => self.moves_wished(replies, turn),
            Step::Move(tp, to) if turn.settings.release.moves_are_wished_in_zookeeper() => {
                turn.zk.watch_node(znodes::state(&tp));
                let read = turn.zk.get_data(znodes::state(&tp));
                self.ask(vec![read], Step::JudgedFirst(tp, to), turn);
            }
            Step::JudgedFirst(tp, to) => self.judged_first(tp, to, replies, turn),
            Step::Move(tp, to) => self.update_assignment(tp, to, turn),
            Step::Updated(tp, to) => self.assignment_updated(tp, to, replies, turn),
            Step::Judge(tp) => {
                let read = turn.zk.get_data(znodes::state(&tp));
                self.ask(vec![read], Step::Judged(tp), turn);
            }
            Step::Judged(tp) => self.judged(tp, replies),
            Step::IsrChanged(tp) => {
                if self.knowledge.reassigning.contains(&tp) {
                    let read = turn.zk.get_data(znodes::state(&tp));
                    self.ask(vec![read], Step::IsrRead(tp), turn);
                }
            }
            Step::IsrRead(tp) => {
                let to = self.knowledge.assignment(&tp);
                if is_complete(&to, replies) {
                    self.next(Step::Move(tp, (*to).clone()));
                }
            }
            step => self.reassignment_end(step, replies, turn),
        }
    }

    fn reassignment_end(&mut self, step: Step, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match step {
            Step::RaiseEpoch(tp) => {
                let read = turn.zk.get_data(znodes::state(&tp));
                self.ask(vec![read], Step::EpochRead(tp), turn);
            }
            Step::EpochRead(tp) => self.raise_epoch(tp, replies, turn),
            Step::EpochRaised(tp, state) => self.epoch_raised(tp, state, replies, turn),
            Step::Settle(tp) => {
                let target = self.knowledge.assignment(&tp).target();
                self.knowledge.assign(&tp, ReplicaAssignment::settled(target));
            }
            Step::MoveLeader(tp) => self.move_leader(tp),
            Step::WriteSettled(tp) => {
                let to = (*self.knowledge.assignment(&tp)).clone();
                let write = self.write_assignment(&tp, &to, turn);
                self.ask(vec![write], Any::Ignore, turn);
            }
            Step::Done(tp) => self.move_done(&tp, turn),
            Step::DropWishes(tps) if turn.settings.release.moves_are_wished_in_zookeeper() => {
                self.write_what_is_left(&tps, turn);
            }
            Step::DropWishes(tps) => {
                let look = turn.zk.exists(znodes::reassign_partitions());
                self.ask(vec![look], Step::WishesLooked(tps), turn);
            }
            Step::WishesLooked(tps) => {
                if replies[0].is_ok() {
                    let read = turn.zk.get_data(znodes::reassign_partitions());
                    self.ask(vec![read], Step::WishesReadToDrop(tps), turn);
                }
            }
            Step::WishesReadToDrop(tps) => self.drop_wishes(&tps, replies, turn),
            Step::WishesDropped => {
                if !self.moved(replies, turn) {
                    self.queue.push_back(ControllerEvent::ZkPartitionReassignment);
                }
            }
            Step::Answer(caller, results) => answer(caller, None, results, turn),
            _ => unreachable!("the first half takes these"),
        }
    }

    fn resume_moves(&mut self, wanted: impl Fn(&ReplicaAssignment) -> bool) {
        let all = self.knowledge.reassigning.iter();
        let moves = all.map(|tp| (tp.clone(), (*self.knowledge.assignment(tp)).clone()));
        let moves: Vec<Any> =
            moves.filter(|(_, to)| wanted(to)).map(|(tp, to)| Step::Move(tp, to).into()).collect();
        self.next_all(moves);
    }

    fn moves_wished(&mut self, replies: &Replies, turn: &Turn<'_, '_>) {
        let release = turn.settings.release;
        let old = release.moves_are_wished_in_zookeeper();
        let wishes = found(&replies[0], znodes::decode_reassignments);
        let (mut steps, mut refused) = (Vec::new(), Vec::new());
        for (tp, target) in wishes.unwrap_or_default() {
            let is_there = old && self.knowledge.assignment(&tp).replicas == target;
            match self.may_move(&tp) {
                Ok(()) if !is_there => {
                    let to = self.knowledge.assignment(&tp).reassign_to(&target);
                    steps.push(Step::Move(tp, to).into());
                }
                _ => refused.push(tp),
            }
        }
        if !refused.is_empty() || (release.wishes_are_written_again() && !steps.is_empty()) {
            steps.push(Step::DropWishes(refused).into());
        }
        self.next_all(steps);
    }

    fn may_move(&self, tp: &TopicPartition) -> Result<(), Refusal> {
        let error = Error::UnknownTopicOrPartition;
        let refused = |words: &str| Refusal { error, error_message: Some(words.into()) };
        if self.knowledge.to_delete.contains(&tp.topic) {
            return Err(refused("The topic is currently being deleted."));
        }
        if self.knowledge.assignment(tp).replicas.is_empty() {
            return Err(refused("The partition does not exist."));
        }
        Ok(())
    }

    pub(super) fn alter_reassignments(
        &mut self,
        caller: Caller,
        request: AlterPartitionReassignmentsRequest,
        turn: &mut Turn<'_, '_>,
    ) {
        if !self.is_active() {
            return answer(caller, Some(Error::NotController), Vec::new(), turn);
        }
        let (mut moves, mut results): (Vec<Move>, Results) = (Vec::new(), Vec::new());
        for (tp, target) in request.topics {
            match self.plan_move(&tp, target) {
                Ok(to) => {
                    results.push((tp.clone(), None));
                    moves.push((tp, to));
                }
                Err(refusal) => results.push((tp, Some(refusal))),
            }
        }
        let tps = moves.iter().map(|(tp, _)| tp.clone()).collect();
        let mut steps: Vec<Any> = vec![Step::DropWishes(tps).into()];
        steps.extend(moves.into_iter().map(|(tp, to)| Any::from(Step::Move(tp, to))));
        steps.push(Step::Answer(caller, results).into());
        self.next_all(steps);
    }

    // Source: KafkaController.validateReplicas, maybeBuildReassignment
    fn plan_move(
        &self,
        tp: &TopicPartition,
        target: Option<Vec<BrokerId>>,
    ) -> Result<ReplicaAssignment, Refusal> {
        let now = self.knowledge.assignment(tp);
        let Some(target) = target else {
            return match now.is_being_reassigned() {
                true => Ok(now.reassign_to(&now.original())),
                false => Err(Refusal::from(Error::NoReassignmentInProgress)),
            };
        };
        self.check_target(&now, &target)?;
        self.may_move(tp)?;
        Ok(now.reassign_to(&target))
    }

    fn check_target(&self, now: &ReplicaAssignment, target: &[BrokerId]) -> Result<(), Refusal> {
        let refused = |words: String| Refusal {
            error: Error::InvalidReplicaAssignment,
            error_message: Some(words.into()),
        };
        let listed = |ids: &[BrokerId]| Brokers::from(ids).to_string().replace(',', ", ");
        let mut distinct = target.to_vec();
        sort::sort(&mut distinct);
        distinct.dedup();
        if target.is_empty() {
            let words = "Empty replica list specified in partition reassignment.";
            return Err(refused(words.into()));
        }
        if distinct.len() != target.len() {
            let list = listed(target);
            return Err(refused(format!(
                "Duplicate replica ids in partition reassignment replica list: List({list})"
            )));
        }
        let adding = now.reassign_to(target).adding;
        if adding.iter().all(|&id| self.knowledge.is_online(id)) {
            return Ok(());
        }
        let (list, live) = (listed(&adding), listed(&self.knowledge.staying()));
        Err(refused(format!(
            "Replica assignment has brokers that are not alive. Replica list: List({list}), \
             live broker list: Set({live})"
        )))
    }

    /// U1: the topic's znode first.
    fn update_assignment(
        &mut self,
        tp: TopicPartition,
        to: ReplicaAssignment,
        turn: &mut Turn<'_, '_>,
    ) {
        self.knowledge.ineligible.insert(tp.topic.clone());
        if *self.knowledge.assignment(&tp) == to {
            self.knowledge.reassigning.insert(tp.clone());
            return self.next(Step::Judge(tp));
        }
        let replicas = Brokers::from(to.replicas.as_slice());
        turn.out.tell(BrokerFact::ReassignmentStarted { partition: tp.clone(), replicas });
        let write = self.write_assignment(&tp, &to, turn);
        self.ask(vec![write], Step::Updated(tp, to), turn);
    }

    fn write_assignment(
        &self,
        tp: &TopicPartition,
        to: &ReplicaAssignment,
        turn: &Turn<'_, '_>,
    ) -> Op {
        let all = self.knowledge.partitions_of(&tp.topic).into_iter();
        let mut partitions: OrdMap<i32, ReplicaAssignment> =
            all.map(|tp| (tp.partition, (*self.knowledge.assignment(&tp)).clone())).collect();
        partitions.insert(tp.partition, to.clone());
        let topic_id = self.knowledge.topics.get(&tp.topic).cloned();
        let data = TopicZnode { topic_id, partitions }.encode(turn.settings.release);
        self.fenced(Op::SetData { path: znodes::topic(&tp.topic), data, version: -1 })
    }

    /// Before 2.4 a move that is done already is written nowhere before its end.
    // Source: KafkaController.onPartitionReassignment (2.3)
    fn judged_first(
        &mut self,
        tp: TopicPartition,
        to: ReplicaAssignment,
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        self.knowledge.ineligible.insert(tp.topic.clone());
        self.knowledge.reassigning.insert(tp.clone());
        if is_complete(&to, replies) {
            self.knowledge.assign(&tp, to);
            return self.next(Step::Judge(tp));
        }
        let replicas = Brokers::from(to.replicas.as_slice());
        turn.out.tell(BrokerFact::ReassignmentStarted { partition: tp.clone(), replicas });
        let write = self.write_assignment(&tp, &to, turn);
        self.ask(vec![write], Step::Updated(tp, to), turn);
    }

    /// U2: then memory; and replicas that are not wanted any more are stopped.
    fn assignment_updated(
        &mut self,
        tp: TopicPartition,
        to: ReplicaAssignment,
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        if self.moved(replies, turn) {
            return;
        }
        let before = self.knowledge.assignment(&tp);
        let unneeded = before.replicas.iter().copied().filter(|id| !to.replicas.contains(id));
        let unneeded: Vec<BrokerId> = unneeded.collect();
        self.knowledge.assign(&tp, to);
        self.knowledge.reassigning.insert(tp.clone());
        self.next(Step::Judge(tp.clone()));
        self.remove_replicas(&tp, &unneeded);
    }

    /// Offline, deleted, forgotten.
    fn remove_replicas(&mut self, tp: &TopicPartition, ids: &[BrokerId]) {
        let replicas: Vec<Replica> = ids.iter().map(|&id| (tp.clone(), id)).collect();
        let phases = [
            ReplicaPhase::Offline,
            ReplicaPhase::DeletionStarted,
            ReplicaPhase::DeletionSuccessful,
            ReplicaPhase::NonExistent,
        ];
        self.next_all(phases.map(|phase| replicas::Step::To(replicas.clone(), phase).into()));
    }

    fn judged(&mut self, tp: TopicPartition, replies: &Replies) {
        let to = self.knowledge.assignment(&tp);
        let adding: Vec<Replica> = to.adding.iter().map(|&id| (tp.clone(), id)).collect();
        if !is_complete(&to, replies) {
            return self.next_all([
                Step::RaiseEpoch(tp).into(),
                replicas::Step::To(adding, ReplicaPhase::New).into(),
            ]);
        }
        let topic = tp.topic.clone();
        self.next_all([
            Step::WriteSettled(tp.clone()).into(),
            Step::Done(tp.clone()).into(),
            Step::DropWishes(vec![tp.clone()]).into(),
            isr::Step::Tell(vec![tp.clone()]).into(),
            deletion::Step::ResumeThese(vec![topic]).into(),
        ]);
        self.remove_replicas(&tp, &to.removing);
        self.next_all([
            replicas::Step::To(adding, ReplicaPhase::Online).into(),
            Step::Settle(tp.clone()).into(),
            Step::MoveLeader(tp).into(),
        ]);
    }

    // Source: KafkaController.updateLeaderEpoch
    fn raise_epoch(&mut self, tp: TopicPartition, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let Some(found) = leadership_in(&replies[0]) else { return };
        let leader_epoch = LeaderEpoch(found.state.leader_epoch.0 + 1);
        let state = LeaderAndIsr { leader_epoch, ..found.state };
        let write = self.write_state(&tp, &state, found.partition_epoch);
        self.ask(vec![write], Step::EpochRaised(tp, state), turn);
    }

    fn epoch_raised(
        &mut self,
        tp: TopicPartition,
        state: LeaderAndIsr,
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        if self.moved(replies, turn) {
            return;
        }
        match self.judge(&replies[0]) {
            Fenced::Done(OpResult::Set(stat)) => {
                let (controller_epoch, partition_epoch) = (self.epoch, stat.version);
                self.knowledge.lead(&tp, Leadership { state, controller_epoch, partition_epoch });
                let all = self.knowledge.assignment(&tp).replicas.clone();
                self.work.batch = Batch::default();
                self.work.batch.order(&all, &tp, Novelty::Known, &self.knowledge);
                self.send_batch(turn);
            }
            Fenced::Refused(ZkError::BadVersion) => self.next(Step::RaiseEpoch(tp)),
            _ => {}
        }
    }

    fn move_leader(&mut self, tp: TopicPartition) {
        let leader = self.knowledge.leader(&tp);
        let stays = leader.is_some_and(|leader| {
            let replicas = &self.knowledge.assignment(&tp).replicas;
            replicas.contains(&leader) && self.knowledge.is_online(leader)
        });
        match stays {
            true => self.next(Step::RaiseEpoch(tp)),
            false => self.next(partitions::Step::Online(vec![tp], Cause::Reassignment)),
        }
    }

    /// Before 2.4 the controller knows from memory which wishes are left.
    // Source: KafkaController.removePartitionsFromReassignedPartitions (2.3)
    fn write_what_is_left(&mut self, dropped: &[TopicPartition], turn: &mut Turn<'_, '_>) {
        for tp in dropped {
            self.knowledge.reassigning.remove(tp);
            turn.zk.unwatch_node(&znodes::state(tp));
        }
        let all = self.knowledge.reassigning.iter();
        let mut left: Vec<(TopicPartition, Vec<BrokerId>)> =
            all.map(|tp| (tp.clone(), self.knowledge.assignment(tp).target())).collect();
        java_hash::in_scala_map_order(&mut left, |(tp, _)| java_hash::of_partition(tp));
        self.write_wishes(&left, turn);
    }

    fn move_done(&mut self, tp: &TopicPartition, turn: &mut Turn<'_, '_>) {
        self.knowledge.reassigning.remove(tp);
        let replicas = Brokers::from(self.knowledge.assignment(tp).replicas.as_slice());
        turn.out.tell(BrokerFact::ReassignmentDone { partition: tp.clone(), replicas });
    }

    // Source: KafkaController.maybeRemoveFromZkReassignment
    fn drop_wishes(&mut self, tps: &[TopicPartition], replies: &Replies, turn: &mut Turn<'_, '_>) {
        let wishes = found(&replies[0], znodes::decode_reassignments);
        let mut left = wishes.unwrap_or_default();
        left.retain(|(tp, _)| !tps.contains(tp));
        self.write_wishes(&left, turn);
    }

    fn write_wishes(&mut self, left: &[(TopicPartition, Vec<BrokerId>)], turn: &mut Turn<'_, '_>) {
        let path = znodes::reassign_partitions();
        if left.is_empty() {
            let delete = self.fenced(Op::Delete { path, version: -1 });
            return self.ask(vec![delete], Step::WishesDropped, turn);
        }
        let data = znodes::encode_reassignments(left);
        let write = self.fenced(Op::SetData { path, data, version: -1 });
        self.ask(vec![write], Any::Ignore, turn);
    }

    pub(super) fn list_reassignments(
        &mut self,
        caller: Caller,
        request: &ListPartitionReassignmentsRequest,
        turn: &mut Turn<'_, '_>,
    ) {
        let wanted =
            |tp: &TopicPartition| request.topics.as_ref().is_none_or(|topics| topics.contains(tp));
        let mut topics = OrdMap::new();
        for tp in self.knowledge.reassigning.iter().filter(|tp| wanted(tp)) {
            let ReplicaAssignment { replicas, adding, removing } =
                (*self.knowledge.assignment(tp)).clone();
            let ongoing = OngoingReassignment {
                replicas,
                adding_replicas: adding,
                removing_replicas: removing,
            };
            topics.insert(tp.clone(), ongoing);
        }
        let error = (!self.is_active()).then_some(Error::NotController);
        let response = ListPartitionReassignmentsResponse { error, topics };
        turn.answer(caller, response);
    }
}

/// Whether all replicas that are to be are in sync.
fn is_complete(to: &ReplicaAssignment, replies: &Replies) -> bool {
    if !to.is_being_reassigned() {
        return true;
    }
    let found = leadership_in(&replies[0]);
    found.is_some_and(|found| to.target().iter().all(|id| found.state.isr.contains(id)))
}

fn answer(caller: Caller, error: Option<Error>, responses: Results, turn: &mut Turn<'_, '_>) {
    let response = AlterPartitionReassignmentsResponse { error, responses };
    turn.answer(caller, response);
}
