//! ISRs as leaders wrote them to ZooKeeper themselves, and how they let the controller know.
//!
//! ```text
//!   leader     setData …/state at the version it knows ──▶ noted ──5 s of rest──▶ isr_change_N
//!   controller ◀── child watch: reads state, tells all brokers, deletes the note
//! ```
//!
//! *Invariant: what was written is noted, and each note is written once.*
// Source: Partition.updateIsr, ReplicaManager.maybePropagateIsrChanges (0.9 to 2.6)

use std::sync::Arc;

use super::Replicas;
use crate::kafka::broker::Turn;
use crate::kafka::control::AlteredPartition;
use crate::kafka::election::{LeaderAndIsr, LeaderRecovery};
use crate::kafka::id::{BrokerId, TopicPartition};
use crate::kafka::java_hash;
use crate::kafka::release::Release;
use crate::kafka::words::{BrokerFact, BrokerTimer};
use crate::kafka::znodes::{self, StateZnode};
use crate::kafka::zookeeper::{Asker, Replies, create_sequential};
use crate::sim::{OrdSet, SimTime, Span};
use crate::zk::reply::Answer;
use crate::zk::request::Op;

/// How often it is looked whether there is something to note.
// Real: each broker counts from its start; here all look at the same times, in the order of their
// ids, and only while there is something, because nobody can tell when they were started.
const LOOK_MS: u64 = 2500;
/// How long nothing must have changed.
const REST: Span = Span::secs(5);
/// After so long it is noted all the same.
const AT_LAST: Span = Span::secs(60);

/// What is written and not noted yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Written {
    changed: OrdSet<TopicPartition>,
    /// What the note says that is on its way.
    noting: Vec<TopicPartition>,
    last_change: SimTime,
    last_note: SimTime,
}

impl Written {
    /// Nothing yet.
    pub(super) fn nothing() -> Written {
        let (last_change, last_note) = (SimTime::ZERO, SimTime::ZERO);
        Written { changed: OrdSet::new(), noting: Vec::new(), last_change, last_note }
    }

    /// The note was not written: what it was to say is still to be noted.
    fn keep(&mut self) {
        self.changed.extend(std::mem::take(&mut self.noting));
    }
}

impl Replicas {
    /// Begins to count the time since the last note.
    pub(super) fn begin_to_note(&mut self, turn: &Turn<'_, '_>) {
        if turn.settings.release.leaders_write_isrs() {
            self.written.last_note = turn.out.now();
        }
    }

    pub(super) fn write_wishes(&mut self, turn: &mut Turn<'_, '_>) {
        self.asked = self.wishes.clone();
        let mut writes = Vec::new();
        for (tp, wish) in self.asked.iter() {
            let controller_epoch =
                self.partitions.get(tp).expect("who wishes leads it").controller_epoch;
            let leadership = LeaderAndIsr {
                leader: self.me,
                leader_epoch: wish.leader_epoch,
                isr: wish.new_isr.clone(),
                recovery: LeaderRecovery::Recovered,
            };
            let data = StateZnode { leadership, controller_epoch }.encode();
            let (path, version) = (znodes::state(tp), wish.partition_epoch);
            writes.push(Op::SetData { path, data, version });
        }
        turn.zk.ask(Asker::Isrs, writes, turn.out);
    }

    /// Takes what ZooKeeper has said to that. A leader whose version is not the newest leaves it at
    /// that, and tries again when it next has a reason.
    // Source: "Cached zkVersion [v] not equal to that in zookeeper, skip updating ISR"
    pub fn isrs_written(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        for ((tp, wish), reply) in std::mem::take(&mut self.asked).into_iter().zip(replies) {
            if self.wishes.get(&tp) == Some(&wish) {
                self.wishes.remove(&tp);
            }
            let Ok(Answer::Stat(stat)) = reply else {
                let version = wish.partition_epoch;
                self.give_up_isr(&tp);
                turn.out.tell(BrokerFact::IsrNotWritten { partition: tp, version });
                continue;
            };
            let altered = AlteredPartition {
                leader_id: self.me,
                leader_epoch: wish.leader_epoch,
                isr: wish.new_isr.into(),
                leader_recovery_state: wish.leader_recovery_state,
                partition_epoch: stat.version,
            };
            self.altered_one(&tp, Ok(altered), turn);
            if turn.settings.release.isr_changes_are_noted() {
                if self.written.changed.is_empty() {
                    look_later(self.me, turn);
                }
                self.written.changed.insert(tp);
                self.written.last_change = turn.out.now();
            }
        }
        self.send_wishes(turn);
    }

    /// The session is no more: what was being written will not be, but by one who asks one by one.
    // Source: KafkaZkClient.retryRequestsUntilConnected (only ConnectionLoss is tried again);
    // ZkClient.retryUntilConnected (a new session is waited for)
    pub fn session_lost(&mut self, release: Release) {
        self.asked.clear();
        self.written.keep();
        if release.asks_one_by_one() {
            return;
        }
        for (tp, _) in std::mem::take(&mut self.wishes) {
            self.give_up_isr(&tp);
        }
    }

    fn give_up_isr(&mut self, tp: &TopicPartition) {
        if let Some(partition) = self.partitions.get_mut(tp) {
            Arc::make_mut(partition).give_up_isr();
        }
    }

    /// Notes for the controller which ISRs were written, once they have come to rest.
    pub fn note_isrs(&mut self, turn: &mut Turn<'_, '_>) {
        let (now, written) = (turn.out.now(), &mut self.written);
        let rests = now.since(written.last_change) > REST || now.since(written.last_note) > AT_LAST;
        if !written.noting.is_empty() || !rests {
            return look_later(self.me, turn);
        }
        let mut tps: Vec<TopicPartition> =
            std::mem::take(&mut written.changed).into_iter().collect();
        java_hash::in_scala_set_order(&mut tps);
        let note = create_sequential(znodes::isr_change(), znodes::encode_partitions(&tps));
        written.noting = tps;
        written.last_note = now;
        turn.zk.ask(Asker::IsrNotes, vec![note], turn.out);
    }

    /// The note is written, or is tried again.
    // Source: ReplicaManager.maybePropagateIsrChanges: the set is cleared behind the write
    pub fn isrs_noted(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match &replies[0] {
            Ok(_) => self.written.noting.clear(),
            Err(_) => {
                self.written.keep();
                look_later(self.me, turn);
            }
        }
    }

    /// There is a session again: leaders write what they wished for, and note what is written.
    pub fn session(&mut self, turn: &mut Turn<'_, '_>) {
        self.send_wishes(turn);
        if !self.written.changed.is_empty() {
            look_later(self.me, turn);
        }
    }
}

/// Looks again at the next time that is due.
fn look_later(me: BrokerId, turn: &mut Turn<'_, '_>) {
    let turn_of = u64::from(me.0.unsigned_abs()) % 1000;
    let rest = LOOK_MS - turn.out.now().as_ms() % LOOK_MS;
    turn.out.arm(BrokerTimer::IsrPropagation, Span::ms(rest + turn_of));
}
