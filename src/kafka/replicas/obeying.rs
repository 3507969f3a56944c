//! What the controller's orders make of a broker's replicas: they lead, follow, stop, or go.
//!
//! *Invariant: an order that is older than what is known changes nothing.*

use std::sync::Arc;

use super::{Fetcher, Note, Replicas};
use crate::kafka::broker::Turn;
use crate::kafka::control::{
    LeaderAndIsrRequest, LeaderAndIsrResponse, Order, PartitionState, StopReplicaRequest,
    StopReplicaResponse, Stopping,
};
use crate::kafka::error::Error;
use crate::kafka::fetch_session::Fetching;
use crate::kafka::id::{BrokerId, CONSUMER_OFFSETS, Offset};
use crate::kafka::id::{TRANSACTION_STATE, TopicPartition};
use crate::kafka::log::PartitionLog;
use crate::kafka::partition::Partition;
use crate::kafka::words::{BrokerFact, Brokers, Text, Words};
use crate::sim::{OrdMap, Outbox, SimTime};

impl Replicas {
    /// Whether an order comes from a controller that is not the newest known; else notes it.
    pub fn is_stale(
        &mut self,
        given: Order,
        order: &'static str,
        out: &mut Outbox<'_, Words>,
    ) -> bool {
        let (from, epoch) = (given.controller_id, given.controller_epoch);
        let known = self.controller_epoch;
        if epoch < known {
            out.tell(BrokerFact::OrderTooOld { order, from, epoch, known });
        }
        self.controller_epoch = known.max(epoch);
        epoch < known
    }

    /// Leads and follows as ordered.
    // Source: ReplicaManager.becomeLeaderOrFollower
    pub fn obey(
        &mut self,
        request: &LeaderAndIsrRequest,
        turn: &mut Turn<'_, '_>,
    ) -> LeaderAndIsrResponse {
        let mut partition_errors = Vec::new();
        if self.is_stale(request.order, "leader-and-isr", turn.out) {
            let error = Some(Error::StaleControllerEpoch);
            return LeaderAndIsrResponse { error, partition_errors };
        }
        for state in request.partition_states.iter() {
            match self.is_of_topic(state, turn).and_then(|()| self.is_news(state)) {
                Err(error) => partition_errors.push((state.partition.clone(), error)),
                Ok(()) if state.leader == self.me => self.lead(state, turn),
                Ok(()) => self.follow(state, request, turn),
            }
        }
        self.drop_idle_fetchers(turn);
        let leaders: Vec<BrokerId> = self.fetchers.keys().copied().collect();
        leaders.into_iter().for_each(|leader| self.fetch_from(leader, turn));
        LeaderAndIsrResponse { error: None, partition_errors }
    }

    /// Whether the log here, if there is one, belongs to the topic that is meant.
    // Source: ReplicaManager.hasConsistentTopicId, KIP-516 (2.8)
    fn is_of_topic(&self, state: &PartitionState, turn: &mut Turn<'_, '_>) -> Result<(), Error> {
        let known = self.log(&state.partition).and_then(|log| log.topic_id.clone());
        match known {
            Some(known) if !state.topic_id.is_empty() && known != state.topic_id => {
                turn.out.tell(BrokerFact::TopicIdMismatch {
                    partition: state.partition.clone(),
                    known: Text(known),
                    told: Text(state.topic_id.clone()),
                });
                Err(Error::InconsistentTopicId)
            }
            _ => Ok(()),
        }
    }

    /// The log of a replica that serves, or that lies on the disk.
    fn log(&self, tp: &TopicPartition) -> Option<&PartitionLog> {
        let serving = self.partitions.get(tp).map(|partition| &partition.log);
        serving.or_else(|| self.stored.get(tp).map(|stored| &stored.log))
    }

    fn is_news(&self, state: &PartitionState) -> Result<(), Error> {
        let known = self.partitions.get(&state.partition).map(|known| known.leader_epoch);
        if known.is_some_and(|epoch| epoch >= state.leader_epoch) {
            return Err(Error::StaleControllerEpoch);
        }
        match state.replicas.contains(&self.me) {
            true => Ok(()),
            false => Err(Error::UnknownTopicOrPartition),
        }
    }

    /// The replica, taken from the disk or made if it does not serve yet.
    fn serve(&mut self, state: &PartitionState, turn: &mut Turn<'_, '_>) -> &mut Partition {
        let tp = &state.partition;
        if !self.partitions.contains_key(tp) {
            let stored = self.stored.get(tp).cloned();
            self.stored.remove(tp);
            let (mut log, hw) = match stored {
                Some(stored) => (stored.log, stored.checkpointed_hw),
                None => (PartitionLog::default(), Offset(0)),
            };
            if !state.topic_id.is_empty() {
                log.topic_id = Some(state.topic_id.clone());
            }
            let partition = Partition::new(tp.clone(), log, hw);
            self.partitions.insert(tp.clone(), Arc::new(partition));
            self.keep(tp, turn);
            if !self.configs.contains_key(&tp.topic) {
                self.notes.push(Note::NewTopic(tp.topic.clone()));
                self.configs.insert(tp.topic.clone(), Arc::default());
            }
        }
        Arc::make_mut(self.partitions.get_mut(tp).expect("it is there now"))
    }

    fn lead(&mut self, state: &PartitionState, turn: &mut Turn<'_, '_>) {
        let tp = &state.partition;
        self.stop_fetching(tp);
        self.forget_wish(tp);
        let (me, now) = (self.me, turn.out.now());
        let partition = self.serve(state, turn);
        let is_new = partition.make_leader(state, me, now);
        if is_new {
            turn.out.tell(BrokerFact::BecameLeader {
                partition: tp.clone(),
                epoch: state.leader_epoch,
                isr: Brokers(state.isr.clone()),
                leo: partition.log.end(),
            });
            self.note(tp, Note::LeadsOffsets, Note::LeadsTransactions);
        }
        self.raise_hw(tp, turn);
        self.wake(tp, turn);
    }

    fn follow(
        &mut self,
        state: &PartitionState,
        request: &LeaderAndIsrRequest,
        turn: &mut Turn<'_, '_>,
    ) {
        let tp = &state.partition;
        self.forget_wish(tp);
        let partition = self.serve(state, turn);
        let (led, before) = (partition.leads(), partition.leader);
        partition.make_follower(state);
        if led || before != state.leader {
            turn.out.tell(BrokerFact::BecameFollower {
                partition: tp.clone(),
                epoch: state.leader_epoch,
                leader: state.leader,
            });
        }
        if led {
            self.note(tp, Note::LeavesOffsets, Note::LeavesTransactions);
            self.wake(tp, turn);
        }
        let leader = request.live_leaders.iter().find(|leader| leader.id == state.leader);
        if self.ends.begins_none {
            return self.stop_fetching(tp);
        }
        if let Some(leader) = leader {
            self.stop_fetching(tp);
            if turn.settings.release.followers_cut_to_their_hw() {
                self.cut_to_hw(state, turn);
            }
            let fetcher = self.fetchers.entry(leader.id).or_insert_with(|| Fetcher {
                leader: leader.clone(),
                partitions: Arc::default(),
                fetching: Fetching::default(),
                busy: false,
                asked: OrdMap::new(),
            });
            fetcher.leader = leader.clone();
            Arc::make_mut(&mut fetcher.partitions).insert(tp.clone(), SimTime::ZERO);
        }
    }

    /// Before there were leader epochs, what is not known to be committed goes.
    // Source: ReplicaManager.makeFollowers (0.8 to 0.10), KIP-101
    fn cut_to_hw(&mut self, state: &PartitionState, turn: &mut Turn<'_, '_>) {
        let tp = &state.partition;
        let partition = self.serve(state, turn);
        let (from, to) = (partition.log.end(), partition.hw);
        if to < from {
            partition.truncate(to);
            turn.out.tell(BrokerFact::Truncated { partition: tp.clone(), to, from });
        }
    }

    /// Lets a coordinator know.
    fn note(
        &mut self,
        tp: &TopicPartition,
        groups: fn(i32) -> Note,
        transactions: fn(i32) -> Note,
    ) {
        match tp.topic.as_str() {
            CONSUMER_OFFSETS => self.notes.push(groups(tp.partition)),
            TRANSACTION_STATE => self.notes.push(transactions(tp.partition)),
            _ => {}
        }
    }

    /// Stops as ordered.
    // Source: ReplicaManager.stopReplicas
    pub fn stop(
        &mut self,
        request: &StopReplicaRequest,
        turn: &mut Turn<'_, '_>,
    ) -> StopReplicaResponse {
        let (mut partition_errors, mut failed) = (Vec::new(), None);
        if self.is_stale(request.order, "stop-replica", turn.out) {
            let error = Some(Error::StaleControllerEpoch);
            return StopReplicaResponse { error, partition_errors };
        }
        for stop in request.partitions.iter() {
            let tp = &stop.partition;
            let known = self.partitions.get(tp).map(|known| known.leader_epoch);
            let fenced = stop.leader_epoch.0 >= 0 && known.is_some_and(|k| k > stop.leader_epoch);
            let error = match fenced {
                true => Some(Error::FencedLeaderEpoch),
                // All replicas are in the directory that has failed.
                false if failed.is_some() => failed,
                false => self.stop_one(tp, stop.stopping, turn).err(),
            };
            failed = failed.or(error.filter(|error| *error == Error::KafkaStorage));
            partition_errors.push((tp.clone(), error));
        }
        self.drop_idle_fetchers(turn);
        StopReplicaResponse { error: None, partition_errors }
    }

    fn stop_one(
        &mut self,
        tp: &TopicPartition,
        stopping: Stopping,
        turn: &mut Turn<'_, '_>,
    ) -> Result<(), Error> {
        self.stop_fetching(tp);
        self.forget_wish(tp);
        if stopping == Stopping::KeepLog {
            return Ok(());
        }
        if self.partitions.contains_key(tp) && turn.settings.locks_open_files() {
            return Err(fail_log_dir(tp, turn));
        }
        self.stored.remove(tp);
        if self.partitions.remove(tp).is_some() {
            self.note(tp, Note::LeavesOffsets, Note::LeavesTransactions);
            turn.out.tell(BrokerFact::LogDeleted { partition: tp.clone() });
            self.wake(tp, turn);
        }
        if !self.partitions.has_topic(&tp.topic) {
            self.configs.remove(&tp.topic);
        }
        Ok(())
    }
}

/// The log's folder cannot be renamed while its index is mapped into memory; the only log directory
/// fails with that, and the broker with it.
// Source: UnifiedLog.renameDir, LogManager.handleLogDirFailure (KIP-112); KAFKA-1194
// Real: before 1.0 the order is answered by an unknown error and the broker goes on, and in all
// releases what a cleaner has written cannot be renamed either; here the broker ends in all, and
// cleaners work as on other systems, because deletions are what was recorded.
fn fail_log_dir(tp: &TopicPartition, turn: &mut Turn<'_, '_>) -> Error {
    turn.out.tell(BrokerFact::LogDirFailed { partition: tp.clone() });
    turn.out.exit(1);
    Error::KafkaStorage
}
