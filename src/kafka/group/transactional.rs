//! Offsets that a transaction commits: in the log at once, shown when it has ended well.
//!
//! *Invariant: what an open transaction has written is shown to nobody.*

use super::desk::{Caller, Desk};
use super::offsets::known;
use super::{GroupCoordinator, Turn};
use crate::kafka::group_record::OffsetAndMetadata;
use crate::kafka::id::{GroupId, ProducerId, TopicPartition};
use crate::kafka::message::{TransactionResult, TxnOffsetCommitRequest};

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
        let allowed = self.speaks_for(&ask.group_id);
        let topics = known(ask.topics, allowed, exists, desk);
        let by = (ask.producer.producer_id, ask.producer.producer_epoch);
        self.store_known((caller, Some(by)), &ask.group_id, topics, desk);
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
    /// Keeps offsets until the transaction of their producer has ended.
    pub(super) fn hide_offsets(
        &mut self,
        producer: ProducerId,
        offsets: Vec<(TopicPartition, OffsetAndMetadata)>,
    ) {
        self.group.transactional.entry(producer).or_default().extend(offsets);
    }

    fn end_transaction(&mut self, producer: ProducerId, result: TransactionResult) {
        let Some(offsets) = self.group.transactional.remove(&producer) else { return };
        let offsets: Vec<(TopicPartition, OffsetAndMetadata)> = offsets;
        if result == TransactionResult::Commit {
            self.show_offsets(offsets);
        }
    }
}
