//! Records and the batches that carry them, as producers make them and logs keep them.
//!
//! Not here: where they lie (the partition log), how many bytes they take (`record_size`), nor what
//! the offsets topic means by its records.
//!
//! *Invariant: a batch is never changed once made, except that the leader gives it its offsets and
//! its leader epoch when it is appended.*

use std::fmt;
use std::sync::Arc;

use super::group_record::{OffsetsKey, OffsetsValue};
use super::id::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use super::message::TransactionResult;
use super::transaction::TransactionMetadata;
use crate::sim::SimTime;

/// What a key or a value holds.
// Real: bytes; here the offsets topic's records stay typed, because pictures and tools read them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// A client's text.
    Text(Arc<str>),
    /// A key of the offsets topic.
    OffsetsKey(OffsetsKey),
    /// A value of the offsets topic.
    OffsetsValue(Arc<OffsetsValue>),
    /// A key of the transactions' topic: a `transactional.id`.
    TransactionKey(Arc<str>),
    /// A value of the transactions' topic.
    TransactionValue(Arc<TransactionMetadata>),
    /// The key of a marker: how a transaction has ended.
    MarkerKey(TransactionResult),
    /// The value of a marker: the epoch of the coordinator that wrote it.
    Marker(LeaderEpoch),
}

impl Content {
    /// The bytes that a partitioner sees; a typed record has none of its own.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Content::Text(text) => text.as_bytes(),
            _ => &[],
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Content::Text(text.into())
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Text(text) => f.write_str(text),
            Content::OffsetsKey(key) => key.fmt(f),
            Content::OffsetsValue(value) => value.fmt(f),
            Content::TransactionKey(id) => {
                write!(f, "transaction_metadata::transactionalId={id}")
            }
            Content::TransactionValue(value) => value.fmt(f),
            Content::MarkerKey(TransactionResult::Commit) => f.write_str("COMMIT"),
            Content::MarkerKey(TransactionResult::Abort) => f.write_str("ABORT"),
            Content::Marker(epoch) => epoch.fmt(f),
        }
    }
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// What decides its partition and, in a compacted topic, what it replaces.
    pub key: Option<Content>,
    /// What it says; `None` is a tombstone.
    pub value: Option<Content>,
    /// When it was made (CreateTime).
    pub timestamp: SimTime,
}

/// Who made a batch, if an idempotent producer did, and the number of its first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProducerStamp {
    /// The producer's id.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// Counts the producer's records in this partition.
    pub base_sequence: i32,
}

/// Records that travel and are stored together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordBatch {
    /// The offset of the first record; 0 until the leader has appended it.
    pub base_offset: Offset,
    /// The epoch of the leader that appended it.
    pub partition_leader_epoch: LeaderEpoch,
    /// Set by idempotent producers.
    pub producer: Option<ProducerStamp>,
    /// Whether it is part of a transaction, or ends one.
    pub is_transactional: bool,
    /// The records, in order; none if compaction has left only where a producer's last ones ended.
    pub records: Arc<[Record]>,
}

impl RecordBatch {
    /// A batch that no leader has seen yet.
    pub fn new(records: impl Into<Arc<[Record]>>) -> RecordBatch {
        let records = records.into();
        assert!(!records.is_empty(), "a batch has records");
        let (base_offset, partition_leader_epoch) = (Offset(0), LeaderEpoch(-1));
        let (producer, is_transactional) = (None, false);
        RecordBatch { base_offset, partition_leader_epoch, producer, is_transactional, records }
    }

    /// How a transaction ends here, if this is a marker.
    pub fn marker(&self) -> Option<TransactionResult> {
        match self.records.first()?.key {
            Some(Content::MarkerKey(result)) => Some(result),
            _ => None,
        }
    }

    /// Who has written that, if this is a marker: the epoch of the coordinator.
    pub fn coordinator_epoch(&self) -> Option<LeaderEpoch> {
        match self.records.first()?.value {
            Some(Content::Marker(epoch)) => Some(epoch),
            _ => None,
        }
    }

    /// The time of its newest record.
    pub fn newest(&self) -> Option<SimTime> {
        self.records.iter().map(|record| record.timestamp).max()
    }

    /// How many records there are.
    pub fn count(&self) -> i32 {
        i32::try_from(self.records.len()).expect("batches are small")
    }

    /// The offset of the last record.
    pub fn last_offset(&self) -> Offset {
        Offset(self.next_offset().0 - 1)
    }

    /// The offset after the last record.
    pub fn next_offset(&self) -> Offset {
        Offset(self.base_offset.0 + i64::from(self.count()))
    }

    /// The same batch, appended.
    pub fn appended(self, base_offset: Offset, epoch: LeaderEpoch) -> RecordBatch {
        RecordBatch { base_offset, partition_leader_epoch: epoch, ..self }
    }

    /// The same without what lies before an offset of its own.
    pub fn cut_before(&self, offset: Offset) -> RecordBatch {
        let before = usize::try_from(offset.0 - self.base_offset.0).expect("it lies within");
        let records = self.records[before..].into();
        RecordBatch { base_offset: offset, records, ..self.clone() }
    }

    /// The records with their offsets.
    pub fn enumerate(&self) -> impl Iterator<Item = (Offset, &Record)> {
        (self.base_offset.0..).map(Offset).zip(self.records.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_appended_batch_knows_its_offsets() {
        let record = Record { key: None, value: Some("v".into()), timestamp: SimTime::ZERO };
        let batch = RecordBatch::new(vec![record.clone(), record]);
        let batch = batch.appended(Offset(7), LeaderEpoch(2));
        assert_eq!((batch.last_offset(), batch.next_offset()), (Offset(8), Offset(9)));
        let offsets: Vec<Offset> = batch.enumerate().map(|(offset, _)| offset).collect();
        assert_eq!(offsets, [Offset(7), Offset(8)]);
    }
}
