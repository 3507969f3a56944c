//! Appending: records of producers and of the group coordinator, until they are as safe as wished.
//!
//! *Invariant: an append is answered once, or not at all with acks 0.*

use std::sync::Arc;

use super::keeping::tell_of_rolls;
use super::{Note, Part, Replicas, Waiter, WaitingProduce};
use crate::kafka::broker::Turn;
use crate::kafka::error::Error;
use crate::kafka::id::{CONSUMER_OFFSETS, Offset, TopicPartition};
use crate::kafka::message::WriteTxnMarkersResponse;
use crate::kafka::message::{Acks, PartitionProduceResponse, ProduceRequest, ProduceResponse};
use crate::kafka::record::RecordBatch;
use crate::kafka::wire::Caller;
use crate::sim::{SimTime, Span};

/// `request.timeout.ms` of brokers.
const REQUEST_TIMEOUT: Span = Span::secs(30);

impl Replicas {
    /// Takes records of a producer.
    // Source: ReplicaManager.appendRecords
    pub fn produce(&mut self, caller: Caller, request: ProduceRequest, turn: &mut Turn<'_, '_>) {
        let acks = request.acks;
        let mut parts = Vec::new();
        for (tp, batch) in request.topic_data {
            let part = self.append(&tp, batch, acks, turn);
            parts.push((tp, part));
        }
        if acks == Acks::None {
            turn.wire.leave_unanswered(caller);
            if parts.iter().any(|(_, part)| matches!(part, Part::Known(Err(_)))) {
                turn.out.hangup(caller.process);
            }
            return;
        }
        let deadline = turn.out.now() + request.timeout;
        self.wait_for(Waiter::Client(caller), parts, deadline, turn);
    }

    /// Takes records of a coordinator on this broker.
    pub fn append_for(
        &mut self,
        waiter: Waiter,
        tp: TopicPartition,
        batch: RecordBatch,
        turn: &mut Turn<'_, '_>,
    ) {
        let part = self.append(&tp, batch, Acks::All, turn);
        let deadline = turn.out.now() + turn.settings.offsets_commit_timeout;
        self.wait_for(waiter, vec![(tp, part)], deadline, turn);
    }

    /// Takes the marker of a transaction's end in each partition.
    // Real: a marker of an older coordinator epoch than the last is refused; here it is taken,
    // because whoever led before says the same: the decision was in its log.
    pub fn append_markers(
        &mut self,
        caller: Caller,
        marker: RecordBatch,
        topics: &[TopicPartition],
        turn: &mut Turn<'_, '_>,
    ) {
        let (Some(result), Some(stamp)) = (marker.marker(), marker.producer) else { return };
        let mut parts = Vec::new();
        for tp in topics {
            parts.push((tp.clone(), self.append(tp, marker.clone(), Acks::All, turn)));
        }
        let deadline = turn.out.now() + REQUEST_TIMEOUT;
        let waiter = Waiter::Markers(caller, stamp.producer_id, result);
        self.wait_for(waiter, parts, deadline, turn);
    }

    // Source: Partition.appendRecordsToLeader
    fn append(
        &mut self,
        tp: &TopicPartition,
        batch: RecordBatch,
        acks: Acks,
        turn: &mut Turn<'_, '_>,
    ) -> Part {
        let min_isr = self.min_isr(&tp.topic, turn);
        let Some(partition) = self.partitions.get_mut(tp).filter(|p| p.leads()) else {
            return Part::Known(Err(turn.cache.refusal(tp)));
        };
        let partition = Arc::make_mut(partition);
        if acks == Acks::All && partition.isr.len() < partition.effective_min_isr(min_isr) {
            return Part::Known(Err(Error::NotEnoughReplicas));
        }
        let required = Offset(i64::from(batch.count()));
        let epoch = partition.leader_epoch;
        let active = partition.log.active_base();
        let base = match partition.log.append(batch, epoch) {
            Ok(base) => base,
            Err(error) => return Part::Known(Err(error)),
        };
        tell_of_rolls(partition, active, turn);
        self.raise_hw(tp, turn);
        self.wake(tp, turn);
        match acks {
            Acks::All => Part::Until { required: Offset(base.0 + required.0), base },
            Acks::None | Acks::Leader => Part::Known(Ok(base)),
        }
    }

    fn wait_for(
        &mut self,
        waiter: Waiter,
        parts: Vec<(TopicPartition, Part)>,
        deadline: SimTime,
        turn: &mut Turn<'_, '_>,
    ) {
        let number = self.number();
        self.produces.insert(number, WaitingProduce { waiter, parts, deadline });
        if !self.try_produce(number, turn) {
            self.arm(deadline, turn);
        }
    }

    /// Looks whether an append is known everywhere; if so answers it.
    // Source: DelayedProduce.tryComplete, Partition.checkEnoughReplicasReachOffset
    pub(super) fn try_produce(&mut self, number: u64, turn: &mut Turn<'_, '_>) -> bool {
        let Some(mut waiting) = self.produces.remove(&number) else { return true };
        for (tp, part) in &mut waiting.parts {
            if let Part::Until { required, base } = *part
                && let Some(known) = self.is_replicated(tp, required, turn)
            {
                *part = Part::Known(known.map(|()| base));
            }
        }
        let done = waiting.parts.iter().all(|(_, part)| matches!(part, Part::Known(_)));
        match done {
            true => self.answer_produce(waiting, turn),
            false => drop(self.produces.insert(number, waiting)),
        }
        done
    }

    fn is_replicated(
        &self,
        tp: &TopicPartition,
        required: Offset,
        turn: &Turn<'_, '_>,
    ) -> Option<Result<(), Error>> {
        let Some(partition) = self.partitions.get(tp).filter(|partition| partition.leads()) else {
            return Some(Err(Error::NotLeaderOrFollower));
        };
        if partition.hw < required {
            return None;
        }
        let min_isr = partition.effective_min_isr(self.min_isr(&tp.topic, turn));
        let enough = partition.maximal_isr() >= min_isr;
        Some(if enough { Ok(()) } else { Err(Error::NotEnoughReplicasAfterAppend) })
    }

    pub(super) fn answer_produce(&mut self, waiting: WaitingProduce, turn: &mut Turn<'_, '_>) {
        let outcome = |part: Part| match part {
            Part::Known(known) => known,
            Part::Until { .. } => Err(Error::RequestTimedOut),
        };
        match waiting.waiter {
            Waiter::Groups(id) => {
                let known = waiting.parts.into_iter().map(|(_, part)| outcome(part).map(|_| ()));
                self.notes.push(Note::Stored(id, known.collect()));
            }
            Waiter::Transactions(id) => {
                let known = waiting.parts.into_iter().map(|(_, part)| outcome(part).map(|_| ()));
                self.notes.push(Note::TransactionStored(id, known.collect()));
            }
            Waiter::Markers(caller, producer, result) => {
                let mut topics = Vec::new();
                for (tp, part) in waiting.parts {
                    let error = outcome(part).err();
                    if error.is_none() && tp.topic.as_str() == CONSUMER_OFFSETS {
                        self.notes.push(Note::TransactionEnded(tp.partition, producer, result));
                    }
                    topics.push((tp, error));
                }
                turn.answer(caller, WriteTxnMarkersResponse { topics });
            }
            Waiter::Client(caller) => {
                let responses = waiting.parts.into_iter().map(|(partition, part)| {
                    let base_offset = outcome(part);
                    let log_start_offset = Offset(0);
                    PartitionProduceResponse { partition, base_offset, log_start_offset }
                });
                let response = ProduceResponse { responses: responses.collect() };
                turn.answer(caller, response);
            }
        }
    }
}
