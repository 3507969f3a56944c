//! Preferred leaders: wished for through ZooKeeper, by a tool, or by the controller itself.
//!
//! *Invariant: an election is held only where another than the preferred replica leads.*
// Source: KafkaController.processReplicaLeaderElection, checkAndTriggerAutoLeaderRebalance (3.9)

use super::{Cause, Controller, Step as Any, partitions};
use crate::kafka::Error;
use crate::kafka::admin::{ElectLeadersRequest, ElectLeadersResponse, ElectionType, Refusal};
use crate::kafka::broker::Turn;
use crate::kafka::election::Unclean;
use crate::kafka::id::{BrokerId, TopicName, TopicPartition};
use crate::kafka::wire::Caller;
use crate::kafka::znodes;
use crate::kafka::zookeeper::{Replies, found};
use crate::sim::{OrdMap, sort};
use crate::zk::request::Op;

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Looks whether somebody wishes for preferred leaders.
    Look,
    /// Takes whether there is a wish.
    Looked,
    /// Reads the wishes.
    ReadWishes,
    /// Takes them.
    WishesRead,
    /// Removes the wishes, and looks for the next.
    DropWishes,
    /// Takes whether they were removed.
    Dropped,
    /// Answers a tool.
    Answer(Caller, Vec<(TopicPartition, Option<Refusal>)>),
}

impl Controller {
    pub(super) fn balancing(&mut self, step: Step, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match step {
            Step::Look => {
                turn.zk.watch_node(znodes::preferred_replica_election());
                let look = turn.zk.exists(znodes::preferred_replica_election());
                self.ask(vec![look], Step::Looked, turn);
            }
            Step::Looked => {
                if replies[0].is_ok() {
                    self.next(Step::ReadWishes);
                }
            }
            Step::ReadWishes => {
                let read = turn.zk.get_data(znodes::preferred_replica_election());
                self.ask(vec![read], Step::WishesRead, turn);
            }
            Step::WishesRead => self.wishes_read(replies),
            Step::DropWishes => {
                let path = znodes::preferred_replica_election();
                let delete = self.fenced(Op::Delete { path, version: -1 });
                self.ask(vec![delete], Step::Dropped, turn);
            }
            Step::Dropped => {
                if !self.moved(replies, turn) {
                    self.queue.push_back(super::ControllerEvent::ZkReplicaElection);
                }
            }
            Step::Answer(caller, results) => self.answer_elections(caller, results, turn),
        }
    }

    fn wishes_read(&mut self, replies: &Replies) {
        let wishes = found(&replies[0], znodes::decode_partitions);
        let needy = wishes.unwrap_or_default().into_iter();
        let needy = needy.filter(|tp| self.needs(tp, ElectionType::Preferred).is_ok()).collect();
        self.next_all([
            partitions::Step::Online(needy, Cause::Preferred).into(),
            Step::DropWishes.into(),
        ]);
    }

    /// Whether an election makes sense in a partition.
    fn needs(&self, tp: &TopicPartition, kind: ElectionType) -> Result<(), Error> {
        let known = self.knowledge.partitions.get(tp).ok_or(Error::UnknownTopicOrPartition)?;
        if self.knowledge.to_delete.contains(&tp.topic) {
            return Err(Error::InvalidTopic);
        }
        let leader = known.leader().ok_or(Error::UnknownTopicOrPartition)?;
        let needed = match kind {
            ElectionType::Preferred => known.assignment.replicas.first() != Some(&leader),
            ElectionType::Unclean => !self.knowledge.is_online(leader),
        };
        if needed { Ok(()) } else { Err(Error::ElectionNotNeeded) }
    }

    pub(super) fn elect_leaders(
        &mut self,
        caller: Caller,
        request: ElectLeadersRequest,
        turn: &mut Turn<'_, '_>,
    ) {
        if !self.is_active() {
            let error = Some(Error::NotController);
            let response = ElectLeadersResponse { error, replica_election_results: Vec::new() };
            return turn.answer(caller, response);
        }
        let all = request.partitions.is_none();
        let every = || self.knowledge.partitions.keys().cloned().collect();
        let (mut results, mut needy) = (Vec::new(), Vec::new());
        for tp in request.partitions.unwrap_or_else(every) {
            match self.needs(&tp, request.election_type) {
                Ok(()) => needy.push(tp),
                Err(Error::ElectionNotNeeded) if all => {}
                Err(error) => results.push((tp, Some(refusal(error)))),
            }
        }
        let cause = match request.election_type {
            ElectionType::Preferred => Cause::Preferred,
            ElectionType::Unclean => Cause::Offline(Unclean::Allowed),
        };
        self.next_all([
            partitions::Step::Online(needy, cause).into(),
            Step::Answer(caller, results).into(),
        ]);
    }

    fn answer_elections(
        &mut self,
        caller: Caller,
        mut results: Vec<(TopicPartition, Option<Refusal>)>,
        turn: &mut Turn<'_, '_>,
    ) {
        let elections = std::mem::take(&mut self.work.elections);
        results.extend(elections.into_iter().map(|(tp, outcome)| {
            let refused = outcome.err().map(Refusal::from);
            (tp, refused)
        }));
        sort::by(&mut results, |left, right| left.0.cmp(&right.0));
        let response = ElectLeadersResponse { error: None, replica_election_results: results };
        turn.answer(caller, response);
    }

    pub(super) fn balance(&mut self, turn: &mut Turn<'_, '_>) {
        self.arm_balance(turn.settings.leader_imbalance_check_interval, turn);
        let limit = u64::from(turn.settings.leader_imbalance_per_broker_percentage);
        let mut by_preferred: OrdMap<BrokerId, Vec<TopicPartition>> = OrdMap::new();
        for (tp, known) in self.knowledge.partitions.iter() {
            let preferred = known.assignment.replicas.first();
            if let Some(&preferred) = preferred.filter(|_| !self.is_deleting(&tp.topic)) {
                by_preferred.entry(preferred).or_default().push(tp.clone());
            }
        }
        let mut steps: Vec<Any> = Vec::new();
        for tps in by_preferred.into_values() {
            let all = tps.len() as u64;
            let needy = tps.into_iter();
            let needy = needy.filter(|tp| self.needs(tp, ElectionType::Preferred).is_ok());
            let needy: Vec<TopicPartition> = needy.collect();
            if needy.len() as u64 * 100 > limit * all {
                let can = needy.into_iter().filter(|tp| self.preferred_can_lead(tp)).collect();
                steps.push(partitions::Step::Online(can, Cause::Preferred).into());
            }
        }
        self.next_all(steps);
    }

    fn is_deleting(&self, topic: &TopicName) -> bool {
        self.knowledge.to_delete.contains(topic)
    }

    fn preferred_can_lead(&self, tp: &TopicPartition) -> bool {
        let assignment = self.knowledge.assignment(tp);
        let Some(&preferred) = assignment.replicas.first() else { return false };
        // Source: KafkaController.checkAndTriggerAutoLeaderRebalance: only from 2.6 on (KAFKA-9074)
        // it looks whether the preferred replica is in sync before it reads that from ZooKeeper.
        let in_sync = !self.release.balance_minds_isrs()
            || self
                .knowledge
                .leadership(tp)
                .is_some_and(|leadership| leadership.state.isr.contains(&preferred));
        self.knowledge.reassigning.is_empty() && self.knowledge.is_online(preferred) && in_sync
    }

    /// A topic, or all, may have unclean leaders now: what nobody leads is tried again.
    // Source: KafkaController.processTopicUncleanLeaderElectionEnable,
    // processUncleanLeaderElectionEnable
    pub(super) fn unclean_leaders_allowed(&mut self, topic: Option<&TopicName>) {
        let mut tps =
            self.knowledge.in_phases(&[super::PartitionPhase::New, super::PartitionPhase::Offline]);
        tps.retain(|tp| topic.is_none_or(|topic| tp.topic == *topic));
        self.next(partitions::Step::Online(tps, Cause::Offline(Unclean::Refused)));
    }
}

fn refusal(error: Error) -> Refusal {
    let words = match error {
        Error::UnknownTopicOrPartition => Some("The partition does not exist.".into()),
        Error::InvalidTopic => Some("The topic is being deleted".into()),
        _ => None,
    };
    Refusal { error, error_message: words }
}
