//! How far followers are: the HW that follows from it, and the ISRs that are asked for.
//!
//! Not here: how leaders wrote them themselves (`written`).
//!
//! *Invariant: one request for ISRs is under way.*

use std::sync::Arc;

use super::reading::{answers_otherwise, is_out_of_range};
use super::{ASK_AGAIN, Replicas};
use crate::kafka::broker::Turn;
use crate::kafka::control::{AlterPartitionRequest, AlterPartitionResponse, AlteredPartition};
use crate::kafka::error::Error;
use crate::kafka::id::{BrokerId, TopicPartition};
use crate::kafka::message::FetchFrom;
use crate::kafka::partition::{PendingIsr, Rules};
use crate::kafka::partition_map::NearPartition;
use crate::kafka::settings::Settings;
use crate::kafka::wire::Purpose;
use crate::kafka::words::{BrokerFact, BrokerTimer, Brokers};

impl Replicas {
    /// Raises a partition's HW; whoever waits for that is looked at.
    pub(super) fn raise_hw(&mut self, tp: &TopicPartition, turn: &mut Turn<'_, '_>) {
        let min_isr = self.min_isr(&tp.topic, turn);
        let Some(partition) = self.partitions.get_mut(tp) else { return };
        let partition = Arc::make_mut(partition);
        let lives = |id| turn.may_be_in_sync(id);
        let rules = rules(self.me, min_isr, &lives, turn.settings);
        if partition.raise_hw(rules, turn.out.now()) {
            self.wake(tp, turn);
        }
    }

    /// A follower has fetched: notes how far it is, and what follows from that. Whether there is
    /// something to answer of this partition: records, or a refusal.
    pub(super) fn note_fetch(
        &mut self,
        follower: BrokerId,
        (tp, asked): (&TopicPartition, &FetchFrom),
        near: &mut NearPartition,
        turn: &mut Turn<'_, '_>,
    ) -> bool {
        let Some(partition) = self.partitions.get_near_mut(tp, near) else { return true };
        let partition = Arc::make_mut(partition);
        let release = turn.settings.release;
        if answers_otherwise(partition, asked, release) || is_out_of_range(partition, asked) {
            return true;
        }
        let has_some = partition.log.holds_any(asked.fetch_offset, partition.log.end());
        let now = turn.out.now();
        let moved = partition.fetched_by(follower, asked.fetch_offset, now);
        let lives = |id| turn.may_be_in_sync(id);
        if let Some(wish) = partition.expand_isr(follower, &lives) {
            self.wishes.insert(tp.clone(), wish);
        }
        // Source: Partition.updateFollowerFetchState
        if moved {
            self.raise_hw(tp, turn);
        }
        has_some
    }

    /// Looks for followers that have fallen behind.
    // Source: ReplicaManager.maybeShrinkIsr
    pub fn shrink_isrs(&mut self, turn: &mut Turn<'_, '_>) {
        look_later(turn);
        let led = self.partitions.values().filter(|partition| partition.leads());
        let led: Vec<TopicPartition> = led.map(|partition| partition.tp.clone()).collect();
        for tp in led {
            let lives = |id| turn.may_be_in_sync(id);
            let rules = rules(self.me, 1, &lives, turn.settings);
            let partition = self.partitions.get_mut(&tp).expect("it was just there");
            if let Some(wish) = Arc::make_mut(partition).shrink_isr(rules, turn.out.now()) {
                self.wishes.insert(tp, wish);
            }
        }
        self.send_wishes(turn);
    }

    pub(super) fn forget_wish(&mut self, tp: &TopicPartition) {
        self.wishes.remove(tp);
    }

    /// Sends to the controller what is wished for, or writes it, if nothing is on its way.
    pub fn send_wishes(&mut self, turn: &mut Turn<'_, '_>) {
        if !self.asked.is_empty() || self.wishes.is_empty() {
            return;
        }
        if turn.settings.release.leaders_write_isrs() {
            return self.write_wishes(turn);
        }
        let Some(controller) = turn.cache.broker(turn.cache.controller()) else {
            return turn.out.arm(BrokerTimer::ControllerAgain, ASK_AGAIN);
        };
        self.asked = self.wishes.clone();
        let request = AlterPartitionRequest {
            broker_id: self.me,
            broker_epoch: turn.broker_epoch,
            partitions: self.wishes.values().cloned().collect(),
        };
        turn.wire.call(controller.process, Purpose::AlterPartition, request, turn.out);
    }

    /// The controller could not be asked.
    pub fn wishes_lost(&mut self, turn: &mut Turn<'_, '_>) {
        self.asked.clear();
        turn.out.arm(BrokerTimer::ControllerAgain, ASK_AGAIN);
    }

    /// Takes the controller's answer.
    // Source: DefaultAlterPartitionManager.handleAlterPartitionResponse
    pub fn altered(&mut self, response: AlterPartitionResponse, turn: &mut Turn<'_, '_>) {
        if response.error.is_some() {
            return self.wishes_lost(turn);
        }
        let asked = std::mem::take(&mut self.asked);
        let mut again = false;
        for (tp, outcome) in response.partitions {
            let is_old = self.wishes.get(&tp) != asked.get(&tp);
            if is_old && outcome.is_err() {
                continue;
            }
            let retry = self.altered_one(&tp, outcome, turn);
            if !retry && !is_old {
                self.wishes.remove(&tp);
            }
            again |= retry;
        }
        match again {
            true => turn.out.arm(BrokerTimer::ControllerAgain, ASK_AGAIN),
            false => self.send_wishes(turn),
        }
    }

    pub(super) fn altered_one(
        &mut self,
        tp: &TopicPartition,
        outcome: Result<AlteredPartition, Error>,
        turn: &mut Turn<'_, '_>,
    ) -> bool {
        let Some(partition) = self.partitions.get_mut(tp).filter(|p| p.leads()) else {
            return false;
        };
        let partition = Arc::make_mut(partition);
        let altered = match outcome {
            Ok(altered) => altered,
            Err(error) => return partition.isr_refused(error),
        };
        let isr = Brokers(altered.isr.clone());
        let fact = match partition.isr_altered(&altered) {
            Some(PendingIsr::Expand(_)) => {
                Some(BrokerFact::IsrExpanded { partition: tp.clone(), isr })
            }
            Some(PendingIsr::Shrink(_)) => {
                Some(BrokerFact::IsrShrunk { partition: tp.clone(), isr })
            }
            None => None,
        };
        fact.into_iter().for_each(|fact| turn.out.tell(fact));
        if turn.settings.release.isr_changes_raise_the_hw() {
            self.raise_hw(tp, turn);
            self.wake(tp, turn);
        }
        false
    }
}

/// Looks for followers that have fallen behind once more.
// Source: ReplicaManager.startup (isr-expiration)
pub(super) fn look_later(turn: &mut Turn<'_, '_>) {
    turn.out.arm(BrokerTimer::IsrExpiration, turn.settings.isr_look());
}

/// What a leader goes by.
fn rules<'a>(
    me: BrokerId,
    min_isr: i32,
    lives: &'a dyn Fn(BrokerId) -> bool,
    settings: &Settings,
) -> Rules<'a> {
    let (lag, release) = (settings.replica_lag_time_max, settings.release);
    let lag_messages = settings.replica_lag_max_messages();
    Rules { me, lag, min_isr, lives, release, lag_messages }
}
