//! Offsets that a transaction commits: in the log at once, shown when it has ended well.
//!
//! *Invariant: what an open transaction has written is shown to nobody.*

use super::desk::{Caller, Desk};
use super::{GroupCoordinator, StoringOffsets, Turn};
use crate::kafka::error::Error;
use crate::kafka::group_record::OffsetAndMetadata;
use crate::kafka::id::{GroupId, ProducerEpoch, ProducerId, TopicPartition};
use crate::kafka::message::{TransactionResult, TxnOffsetCommitRequest, TxnOffsetCommitResponse};

impl GroupCoordinator {
    // Real: from 2.5 on the request names the member and its generation, and is refused if they are
    // not the group's (KIP-447); here it names neither, because only the epoch is played to fence.
    // Source: KafkaApis.handleTxnOffsetCommitRequest, GroupCoordinator.handleTxnCommitOffsets
    pub(super) fn txn_offset_commit(
        &mut self,
        caller: Caller,
        ask: TxnOffsetCommitRequest,
        exists: &dyn Fn(&TopicPartition) -> bool,
        desk: &mut Desk<'_>,
    ) {
        if let Err(error) = self.speaks_for(&ask.group_id) {
            let topics = ask.topics.into_iter().map(|(p, _)| (p, Some(error))).collect();
            return desk.answer(caller, TxnOffsetCommitResponse { topics });
        }
        let (offsets, refused) = super::offsets::known(ask.topics, exists, desk);
        if offsets.is_empty() {
            return desk.answer(caller, TxnOffsetCommitResponse { topics: refused });
        }
        let by = (ask.producer.producer_id, ask.producer.producer_epoch);
        self.turn_or_new(&ask.group_id, desk).store_offsets(caller, offsets, refused, Some(by));
    }

    pub(super) fn txn_offsets_are_stored(
        &mut self,
        storing: StoringOffsets,
        (producer, _): (ProducerId, ProducerEpoch),
        outcome: Result<(), Error>,
        desk: &mut Desk<'_>,
    ) {
        let StoringOffsets { group, caller, offsets, refused: mut topics, .. } = storing;
        topics.extend(offsets.iter().map(|(p, _)| (p.clone(), outcome.err())));
        if let (Ok(()), Some(turn)) = (outcome, self.turn(&group, desk)) {
            let pending = turn.group.transactional.entry(producer).or_default();
            pending.extend(offsets);
        }
        desk.answer(caller, TxnOffsetCommitResponse { topics });
    }

    /// A transaction has ended, as its marker in this partition says.
    // Source: GroupMetadataManager.handleTxnCompletion
    pub fn transaction_ended(
        &mut self,
        partition: i32,
        producer: ProducerId,
        result: TransactionResult,
        desk: &mut Desk<'_>,
    ) {
        let concerned = |id: &&GroupId| self.partition_of(id) == partition;
        let ids: Vec<GroupId> = self.groups.keys().filter(concerned).cloned().collect();
        for id in ids {
            let mut turn = self.turn(&id, desk).expect("it is kept here");
            turn.end_transaction(producer, result);
        }
    }
}

impl Turn<'_, '_> {
    fn end_transaction(&mut self, producer: ProducerId, result: TransactionResult) {
        let Some(offsets) = self.group.transactional.remove(&producer) else { return };
        let offsets: Vec<(TopicPartition, OffsetAndMetadata)> = offsets;
        if result == TransactionResult::Commit {
            self.show_offsets(offsets);
        }
    }
}
