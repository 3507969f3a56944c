//! The replicas' states, and the removal of offline replicas from the ISR.
//!
//! *Invariant: a replica goes Offline only when it is out of the ISR, or is the last one in it.*
// Source: kafka.controller.ZkReplicaStateMachine (3.9)

use super::batch::{Batch, Novelty};
use super::failover::leadership_in;
use super::knowledge::{Leadership, Replica, ReplicaPhase};
use super::{Controller, Fenced, Step as Any};
use crate::kafka::broker::Turn;
use crate::kafka::control::Stopping;
use crate::kafka::election::LeaderAndIsr;
use crate::kafka::id::{BrokerId, LeaderEpoch, TopicPartition};
use crate::kafka::java_hash::{self, hash};
use crate::kafka::words::{BrokerFact, Brokers};
use crate::kafka::znodes::{self, ConfigType};
use crate::kafka::zookeeper::{self, Replies};
use crate::sim::{OrdMap, sort};
use crate::zk::reply::{Error as ZkError, OpResult};
use crate::zk::request::Op;

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Brings replicas into a state.
    To(Vec<Replica>, ReplicaPhase),
    /// Brings those of one broker there.
    OfBroker(BrokerId, Vec<TopicPartition>, ReplicaPhase),
    /// Reads the states, to take a broker out of the ISRs.
    ReadIsrs(BrokerId, Vec<TopicPartition>),
    /// Takes them.
    IsrsRead(BrokerId, Vec<TopicPartition>),
    /// Takes the outcome.
    Removed(BrokerId, Vec<(TopicPartition, LeaderAndIsr)>),
}

impl Controller {
    pub(super) fn replicas(&mut self, step: Step, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match step {
            Step::To(replicas, phase) => self.bring_replicas(replicas, phase, turn),
            Step::OfBroker(broker, tps, phase) => self.bring_of_broker(broker, tps, phase),
            Step::ReadIsrs(broker, tps) => {
                let mut reads: Vec<Op> =
                    tps.iter().map(|tp| turn.zk.get_data(znodes::state(tp))).collect();
                if self.release.isrs_may_be_empty() {
                    let config = |tp: &TopicPartition| ConfigType::Topics.entity(tp.topic.as_str());
                    reads.extend(tps.iter().map(|tp| turn.zk.get_data(config(tp))));
                }
                self.ask(reads, Step::IsrsRead(broker, tps), turn);
            }
            Step::IsrsRead(broker, tps) => self.isrs_read(broker, &tps, replies, turn),
            Step::Removed(broker, decided) => self.removed(broker, decided, replies, turn),
        }
    }

    fn bring_replicas(&mut self, replicas: Vec<Replica>, phase: ReplicaPhase, turn: &Turn<'_, '_>) {
        if replicas.is_empty() {
            return;
        }
        self.work.batch = Batch::default();
        if turn.settings.release.replicas_change_one_by_one() {
            return self.bring_one_by_one(replicas, phase);
        }
        let mut by_broker: OrdMap<BrokerId, Vec<TopicPartition>> = OrdMap::new();
        for (tp, broker) in replicas {
            by_broker.entry(broker).or_default().push(tp);
        }
        self.next(Any::SendBatch);
        let mut by_broker: Vec<_> = by_broker.into_iter().collect();
        if turn.settings.release.brokers_come_in_hash_order() {
            java_hash::in_scala_map_order(&mut by_broker, |(broker, _)| broker.0);
        }
        let steps = by_broker.into_iter();
        let steps: Vec<Any> =
            steps.map(|(broker, tps)| Step::OfBroker(broker, tps, phase).into()).collect();
        self.next_all(steps);
    }

    /// Brings one replica after the other into a state, in the order of a Scala set.
    // Source: ReplicaStateMachine.handleStateChanges (0.8.2), PartitionAndReplica;
    // delete-a-topic.0.8.2.2, 6
    fn bring_one_by_one(&mut self, mut replicas: Vec<Replica>, phase: ReplicaPhase) {
        let live = self.knowledge.replicas_on(&self.knowledge.registered());
        match live.len() > java_hash::SMALL_SET {
            true => java_hash::in_scala_trie_order(&mut replicas, |(tp, broker)| {
                java_hash::of_product(&[hash(tp.topic.as_str()), tp.partition, broker.0])
            }),
            false => sort::by_key(&mut replicas, |(_, broker)| *broker),
        }
        self.next(Any::SendBatch);
        let one = |(tp, broker)| Step::OfBroker(broker, vec![tp], phase).into();
        self.next_all(replicas.into_iter().map(one).collect::<Vec<Any>>());
    }

    fn bring_of_broker(&mut self, broker: BrokerId, tps: Vec<TopicPartition>, phase: ReplicaPhase) {
        let may = |tp: &TopicPartition| {
            phase.may_follow(self.knowledge.replica_phase(&(tp.clone(), broker)))
        };
        let tps: Vec<TopicPartition> = tps.into_iter().filter(may).collect();
        match phase {
            ReplicaPhase::New => self.replicas_new(broker, &tps),
            ReplicaPhase::Online => self.replicas_online(broker, &tps),
            ReplicaPhase::Offline => self.replicas_offline(broker, tps),
            ReplicaPhase::NonExistent => self.replicas_gone(broker, &tps),
            ReplicaPhase::DeletionStarted => {
                for tp in &tps {
                    self.work.batch.stop(broker, tp, Stopping::DeleteLog, &self.knowledge);
                }
                self.enter_replicas(broker, &tps, phase);
            }
            ReplicaPhase::DeletionSuccessful | ReplicaPhase::DeletionIneligible => {
                self.enter_replicas(broker, &tps, phase);
            }
        }
    }

    fn enter_replicas(&mut self, broker: BrokerId, tps: &[TopicPartition], phase: ReplicaPhase) {
        for tp in tps {
            self.knowledge.replicas.insert((tp.clone(), broker), phase);
        }
    }

    fn replicas_new(&mut self, broker: BrokerId, tps: &[TopicPartition]) {
        for tp in tps {
            let leader = self.knowledge.leader(tp);
            if leader == Some(broker) {
                continue;
            }
            if leader.is_some() {
                self.work.batch.order(&[broker], tp, Novelty::New, &self.knowledge);
            }
            self.enter_replicas(broker, std::slice::from_ref(tp), ReplicaPhase::New);
        }
    }

    fn replicas_online(&mut self, broker: BrokerId, tps: &[TopicPartition]) {
        for tp in tps {
            let before = self.knowledge.replica_phase(&(tp.clone(), broker));
            if before != ReplicaPhase::New && self.knowledge.leadership(tp).is_some() {
                self.work.batch.order(&[broker], tp, Novelty::Known, &self.knowledge);
            }
        }
        self.enter_replicas(broker, tps, ReplicaPhase::Online);
    }

    fn replicas_offline(&mut self, broker: BrokerId, tps: Vec<TopicPartition>) {
        for tp in &tps {
            self.work.batch.stop(broker, tp, Stopping::KeepLog, &self.knowledge);
        }
        let (led, rest): (Vec<_>, Vec<_>) =
            tps.into_iter().partition(|tp| self.knowledge.leadership(tp).is_some());
        let registered = self.knowledge.registered();
        self.work.batch.tell(&registered, &rest, &self.knowledge);
        self.enter_replicas(broker, &rest, ReplicaPhase::Offline);
        if !led.is_empty() {
            self.next(Step::ReadIsrs(broker, led));
        }
    }

    fn replicas_gone(&mut self, broker: BrokerId, tps: &[TopicPartition]) {
        for tp in tps {
            let mut assignment = (*self.knowledge.assignment(tp)).clone();
            for list in [&mut assignment.replicas, &mut assignment.adding, &mut assignment.removing]
            {
                list.retain(|&id| id != broker);
            }
            self.knowledge.assign(tp, assignment);
            self.knowledge.replicas.remove(&(tp.clone(), broker));
        }
    }

    // Source: ZkReplicaStateMachine.doRemoveReplicasFromIsr
    fn isrs_read(
        &mut self,
        broker: BrokerId,
        tps: &[TopicPartition],
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        let mut decided = Vec::new();
        let mut writes = Vec::new();
        for (place, (tp, reply)) in tps.iter().zip(replies).enumerate() {
            let Some(found) = leadership_in(reply) else { continue };
            let unclean = replies.get(tps.len() + place).is_some_and(|config| {
                let config = zookeeper::found(config, znodes::decode_config);
                let of_broker = turn.settings.unclean_leader_election_enable;
                super::partitions::unclean_of(config).unwrap_or(of_broker)
            });
            let last = if unclean { Last::Leaves } else { Last::Stays };
            if !found.state.isr.contains(&broker) {
                self.replica_is_offline(broker, tp, found);
                continue;
            }
            let state = without(broker, &found.state, last);
            writes.push(self.write_state(tp, &state, found.partition_epoch));
            decided.push((tp.clone(), state));
        }
        self.ask(writes, Step::Removed(broker, decided), turn);
    }

    fn removed(
        &mut self,
        broker: BrokerId,
        decided: Vec<(TopicPartition, LeaderAndIsr)>,
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        if self.moved(replies, turn) {
            return;
        }
        let mut again = Vec::new();
        for ((tp, state), reply) in decided.into_iter().zip(replies) {
            match self.judge(reply) {
                Fenced::Done(OpResult::Set(stat)) => {
                    tell_removal(broker, &tp, &state, turn);
                    let controller_epoch = self.epoch;
                    let partition_epoch = stat.version;
                    let leadership = Leadership { state, controller_epoch, partition_epoch };
                    self.replica_is_offline(broker, &tp, leadership);
                }
                Fenced::Refused(ZkError::BadVersion) => again.push(tp),
                _ => {}
            }
        }
        if !again.is_empty() {
            self.next(Step::ReadIsrs(broker, again));
        }
    }

    fn replica_is_offline(&mut self, broker: BrokerId, tp: &TopicPartition, found: Leadership) {
        let leadership = Leadership { controller_epoch: self.epoch, ..found };
        self.knowledge.lead(tp, leadership);
        if !self.knowledge.to_delete.contains(&tp.topic) {
            let mut others = self.knowledge.assignment(tp).replicas.clone();
            others.retain(|&id| id != broker);
            self.work.batch.order(&others, tp, Novelty::Known, &self.knowledge);
        }
        self.enter_replicas(broker, std::slice::from_ref(tp), ReplicaPhase::Offline);
    }
}

/// Whether the last replica leaves the ISR as well.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Stays,
    Leaves,
}

/// A leadership without that broker: it leads no more, and is out of the ISR unless it is the last.
fn without(broker: BrokerId, state: &LeaderAndIsr, last: Last) -> LeaderAndIsr {
    let leader = if state.leader == broker { BrokerId::NONE } else { state.leader };
    let mut isr = state.isr.clone();
    if isr.len() > 1 || last == Last::Leaves {
        isr.retain(|&id| id != broker);
    }
    let leader_epoch = LeaderEpoch(state.leader_epoch.0 + 1);
    LeaderAndIsr { leader, leader_epoch, isr, recovery: state.recovery }
}

fn tell_removal(
    broker: BrokerId,
    tp: &TopicPartition,
    state: &LeaderAndIsr,
    turn: &mut Turn<'_, '_>,
) {
    let isr = Brokers::from(state.isr.as_slice());
    turn.out.tell(BrokerFact::ReplicaRemoved {
        partition: tp.clone(),
        replica: broker,
        leader: state.leader,
        epoch: state.leader_epoch,
        isr: isr.clone(),
    });
    if state.leader == BrokerId::NONE {
        turn.out.tell(BrokerFact::PartitionOffline { partition: tp.clone(), isr });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::election::LeaderRecovery;

    #[test]
    fn the_last_in_the_isr_stays_there() {
        let ids = |numbers: &[i32]| numbers.iter().copied().map(BrokerId).collect::<Vec<_>>();
        let state = |leader, isr: &[i32]| LeaderAndIsr {
            leader: BrokerId(leader),
            leader_epoch: LeaderEpoch(3),
            isr: ids(isr),
            recovery: LeaderRecovery::Recovered,
        };
        let table = [
            ((2, &[2, 1][..]), (2, &[2][..])),
            ((1, &[1, 2]), (-1, &[2])),
            ((1, &[1]), (-1, &[1])),
        ];
        for ((leader, isr), (then, left)) in table {
            let left = LeaderAndIsr { leader_epoch: LeaderEpoch(4), ..state(then, left) };
            assert_eq!(without(BrokerId(1), &state(leader, isr), Last::Stays), left);
        }
    }
}
