//! A broker that asks to stop: its leaderships go to others, and it leaves the ISRs.
//!
//! *Invariant: a broker that has asked is led by nobody to lead again until it comes back.*
// Source: KafkaController.doControlledShutdown (3.9)

use super::batch::Batch;
use super::knowledge::ReplicaPhase;
use super::{Cause, Controller, Step as Any, partitions, replicas};
use crate::kafka::Error;
use crate::kafka::broker::Turn;
use crate::kafka::control::{ControlledShutdownRequest, ControlledShutdownResponse, Stopping};
use crate::kafka::id::{BrokerId, TopicPartition};
use crate::kafka::java_hash;
use crate::kafka::wire::Caller;

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Stops what the broker follows.
    StopFollowing(BrokerId, Vec<TopicPartition>),
    /// Answers what it still leads.
    Answer(Caller, BrokerId),
}

impl Controller {
    pub(super) fn shutdown(&mut self, step: Step, turn: &mut Turn<'_, '_>) {
        match step {
            Step::StopFollowing(id, tps) => self.stop_following(id, &tps, turn),
            Step::Answer(caller, id) => {
                let leads = self.replicated_led_by(id);
                answer(caller, Ok(leads), turn);
            }
        }
    }

    pub(super) fn controlled_shutdown(
        &mut self,
        caller: Caller,
        request: ControlledShutdownRequest,
        turn: &mut Turn<'_, '_>,
    ) {
        if let Err(error) = self.may_shut_down(&request) {
            return answer(caller, Err(error), turn);
        }
        let id = request.broker_id;
        self.knowledge.shutting_down.insert(id);
        let concerned = |tp: &TopicPartition| {
            self.knowledge.assignment(tp).replicas.len() > 1
                && self.knowledge.leadership(tp).is_some()
                && !self.knowledge.to_delete.contains(&tp.topic)
        };
        let tps = self.knowledge.partitions_on(id).into_iter().filter(concerned);
        if self.release.replicas_change_one_by_one() {
            let tps = tps.collect();
            return self.shut_down_one_by_one(caller, id, tps);
        }
        let leads = |tp: &TopicPartition| self.knowledge.leader(tp) == Some(id);
        let (led, followed): (Vec<_>, Vec<_>) = tps.partition(leads);
        let offline = followed.iter().map(|tp| (tp.clone(), id)).collect();
        self.next_all([
            partitions::Step::Online(led, Cause::ControlledShutdown).into(),
            Step::StopFollowing(id, followed).into(),
            replicas::Step::To(offline, ReplicaPhase::Offline).into(),
            Step::Answer(caller, id).into(),
        ]);
    }

    /// Partition by partition, in the order of a Scala set, whether the broker leads or follows.
    // Source: KafkaController.shutdownBroker (0.8.2)
    // Real: what shares a bucket comes in an order that depends on how often the map was copied;
    // here in that of the numbers, as where one controller has known the topic from its creation.
    fn shut_down_one_by_one(&mut self, caller: Caller, id: BrokerId, mut tps: Vec<TopicPartition>) {
        match tps.len() > java_hash::SMALL_SET {
            true => java_hash::in_scala_trie_order(&mut tps, |tp| {
                let count = self.knowledge.assignment(tp).replicas.len();
                let count = i32::try_from(count).expect("replicas are few");
                java_hash::of_product(&[
                    java_hash::of_topic_and_partition(tp.topic.as_str(), tp.partition),
                    count,
                ])
            }),
            false => java_hash::in_scala_map_order(&mut tps, |tp| {
                java_hash::of_topic_and_partition(tp.topic.as_str(), tp.partition)
            }),
        }
        let mut steps: Vec<Any> = Vec::new();
        for tp in tps {
            if self.knowledge.leader(&tp) == Some(id) {
                let cause = Cause::ControlledShutdown;
                steps.push(partitions::Step::Online(vec![tp], cause).into());
                continue;
            }
            steps.push(Step::StopFollowing(id, vec![tp.clone()]).into());
            steps.push(replicas::Step::To(vec![(tp, id)], ReplicaPhase::Offline).into());
        }
        steps.push(Step::Answer(caller, id).into());
        self.next_all(steps);
    }

    fn may_shut_down(&self, request: &ControlledShutdownRequest) -> Result<(), Error> {
        if !self.is_active() {
            return Err(Error::NotController);
        }
        match self.knowledge.live.get(&request.broker_id) {
            None => Err(Error::BrokerNotAvailable),
            Some(live) if request.broker_epoch < live.epoch => Err(Error::StaleBrokerEpoch),
            Some(_) => Ok(()),
        }
    }

    fn stop_following(&mut self, id: BrokerId, tps: &[TopicPartition], turn: &mut Turn<'_, '_>) {
        self.work.batch = Batch::default();
        for tp in tps {
            self.work.batch.stop(id, tp, Stopping::KeepLog, &self.knowledge);
        }
        self.send_batch(turn);
    }

    fn replicated_led_by(&self, id: BrokerId) -> Vec<TopicPartition> {
        let leads =
            self.knowledge.partitions.iter().filter(|(_, known)| {
                known.leader() == Some(id) && known.assignment.replicas.len() > 1
            });
        leads.map(|(tp, _)| tp.clone()).collect()
    }
}

fn answer(
    caller: Caller,
    remaining_partitions: Result<Vec<TopicPartition>, Error>,
    turn: &mut Turn<'_, '_>,
) {
    let response = ControlledShutdownResponse { remaining_partitions };
    turn.answer(caller, response);
}
