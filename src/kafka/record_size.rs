//! How many bytes batches take on a disk and on a wire.
//!
//! Not here: the records themselves (`record`).
//!
//! *Invariant: sizes are those of the real encoding, though nothing is encoded here.*
// Source: DefaultRecordBatch, DefaultRecord and the schemas of GroupMetadataValue,
// OffsetCommitValue, ConsumerProtocolSubscription and -Assignment (3.9)

use super::group_record::{
    Assignment, GroupMetadataValue, OffsetsKey, OffsetsValue, StoredMember, Subscription,
};
use super::id::{TopicName, TopicPartition};
use super::record::{Content, Record, RecordBatch};
use crate::sim::{OrdMap, SimTime};

/// How records are written: its number is the magic byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageFormat {
    /// One message after the other, without a time (up to 0.9).
    V0,
    /// The same with a time (0.10).
    V1,
    /// Batches (from 0.11 on).
    V2,
}

impl MessageFormat {
    /// Whether records lie in batches, with what is said once for all of them.
    pub fn has_batches(self) -> bool {
        self == MessageFormat::V2
    }
}

/// The bytes of a batch: 61 of overhead and its records; before there were batches, those of its
/// messages.
// Source: DefaultRecordBatch.RECORD_BATCH_OVERHEAD
pub fn batch_size(batch: &RecordBatch, format: MessageFormat) -> u64 {
    match format {
        MessageFormat::V2 => in_batches(batch),
        _ => batch.records.iter().map(|record| message_size(record, format)).sum(),
    }
}

/// The bytes of a record that is a message of its own: offset and size (12), then checksum, magic,
/// attributes, the lengths of key and value (14), and in 0.10 its time (8).
// Source: Records.LOG_OVERHEAD, LegacyRecord.RECORD_OVERHEAD_V0, RECORD_OVERHEAD_V1
pub fn message_size(record: &Record, format: MessageFormat) -> u64 {
    let overhead = if format == MessageFormat::V0 { 26 } else { 34 };
    let content = |content: &Option<Content>| content.as_ref().map_or(0, content_size);
    overhead + content(&record.key) + content(&record.value)
}

fn in_batches(batch: &RecordBatch) -> u64 {
    let first = batch.records.first().map_or(SimTime::ZERO, |record| record.timestamp);
    let records = (0..).zip(batch.records.iter()).map(|(place, record)| {
        let body = record_body(record, record.timestamp.since(first).as_ms(), place);
        varint(body) + body
    });
    61 + records.sum::<u64>()
}

// Source: DefaultRecord.sizeOfBodyInBytes
fn record_body(record: &Record, time_delta: u64, offset_delta: u64) -> u64 {
    let field = |content: &Option<Content>| match content {
        None => 1,
        Some(content) => {
            let size = content_size(content);
            varint(size) + size
        }
    };
    1 + varint(time_delta) + varint(offset_delta) + field(&record.key) + field(&record.value) + 1
}

/// The bytes of a number that is not negative, zigzag and seven bits a byte.
// Source: ByteUtils.sizeOfVarint
fn varint(number: u64) -> u64 {
    let bits = u64::from(64 - (number << 1).leading_zeros());
    bits.div_ceil(7).max(1)
}

/// The bytes of a key or a value.
pub fn content_size(content: &Content) -> u64 {
    match content {
        Content::Text(text) => text.len() as u64,
        Content::OffsetsKey(OffsetsKey::Group { group }) => 2 + string(group.as_str()),
        Content::OffsetsKey(OffsetsKey::Offset { group, partition }) => {
            2 + string(group.as_str()) + string(partition.topic.as_str()) + 4
        }
        Content::OffsetsValue(value) => match &**value {
            OffsetsValue::Offset(value) => 2 + 8 + 4 + string(&value.metadata) + 8,
            OffsetsValue::Group(value) => group_size(value),
        },
        Content::TransactionKey(id) => 2 + string(id),
        Content::TransactionValue(value) => {
            let partitions = match value.partitions.is_empty() {
                true => 4,
                false => by_topic(&value.partitions),
            };
            2 + 8 + 2 + 4 + 1 + partitions + 8 + 8
        }
        Content::MarkerKey(_) => 2 + 2,
        Content::Marker(_) => 2 + 4,
    }
}

fn group_size(group: &GroupMetadataValue) -> u64 {
    let protocol = nullable(group.protocol.as_deref());
    let leader = nullable(group.leader.as_ref().map(|id| id.as_str()));
    let members: u64 = group.members.iter().map(member_size).sum();
    2 + string("consumer") + 4 + protocol + leader + 8 + 4 + members
}

fn member_size(member: &StoredMember) -> u64 {
    let names = string(member.member_id.as_str())
        + nullable(member.group_instance_id.as_deref())
        + string(member.client_id.as_str())
        + string(&member.client_host);
    let (rebalance_timeout, session_timeout) = (4, 4);
    names
        + rebalance_timeout
        + session_timeout
        + 4
        + subscription_size(&member.subscription)
        + 4
        + assignment_size(&member.assignment)
}

/// Version, topics, no user data, what is owned, generation, no rack.
fn subscription_size(subscription: &Subscription) -> u64 {
    let topics: u64 = subscription.topics.iter().map(|topic| string(topic.as_str())).sum();
    2 + 4 + topics + 4 + by_topic(&subscription.owned_partitions) + 4 + 2
}

/// Version, partitions, no user data.
fn assignment_size(assignment: &Assignment) -> u64 {
    2 + by_topic(assignment) + 4
}

fn by_topic(partitions: &[TopicPartition]) -> u64 {
    let mut topics: OrdMap<&TopicName, u64> = OrdMap::new();
    for partition in partitions {
        *topics.entry(&partition.topic).or_default() += 4;
    }
    4 + topics.iter().map(|(topic, numbers)| string(topic.as_str()) + 4 + numbers).sum::<u64>()
}

fn string(text: &str) -> u64 {
    2 + text.len() as u64
}

fn nullable(text: Option<&str>) -> u64 {
    text.map_or(2, string)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::kafka::id::{Generation, LeaderEpoch, Offset};
    use crate::sim::Span;

    fn member(assigned: i32) -> StoredMember {
        let assignment: Vec<_> = (0..assigned).map(|n| TopicPartition::new("orders", n)).collect();
        StoredMember {
            member_id: "c1-01234567-89ab-cdef-0123-456789abcdef".into(),
            group_instance_id: None,
            client_id: "c1".into(),
            client_host: "/127.0.0.1".into(),
            rebalance_timeout: Span::secs(300),
            session_timeout: Span::secs(6),
            subscription: std::sync::Arc::new(Subscription {
                topics: vec!["orders".into()],
                owned_partitions: Vec::new(),
                generation_id: Generation::NONE,
            }),
            assignment: assignment.into(),
        }
    }

    /// A batch with what is stored of a group.
    pub fn batch(members: Vec<StoredMember>) -> RecordBatch {
        let is_empty = members.is_empty();
        let value = GroupMetadataValue {
            generation: Generation(1),
            protocol: (!is_empty).then(|| "range".into()),
            leader: members.first().map(|member| member.member_id.clone()),
            current_state_timestamp: SimTime::ZERO,
            members,
        };
        let record = Record {
            key: Some(Content::OffsetsKey(OffsetsKey::Group { group: "g".into() })),
            value: Some(Content::OffsetsValue(OffsetsValue::Group(value).into())),
            timestamp: SimTime::ZERO,
        };
        RecordBatch::new(vec![record]).appended(Offset(0), LeaderEpoch(0))
    }

    /// A key of one byte and a value of two, in each format.
    #[test]
    fn older_records_are_smaller_alone() {
        let text = |text: &str| Some(Content::Text(text.into()));
        let record = Record { key: text("k"), value: text("v1"), timestamp: SimTime::ZERO };
        let size = |count: usize, format| {
            let batch = RecordBatch::new(vec![record.clone(); count]);
            batch_size(&batch.appended(Offset(0), LeaderEpoch(0)), format)
        };
        let formats = [MessageFormat::V0, MessageFormat::V1, MessageFormat::V2];
        assert_eq!(formats.map(|format| size(1, format)), [29, 37, 71]);
        assert_eq!(formats.map(|format| size(2, format)), [58, 74, 81]);
    }

    /// The sizes of join-one-by-one-and-leave, as recorded.
    #[test]
    fn sizes_are_those_of_the_real_encoding() {
        let table = [(vec![member(3)], 288), (Vec::new(), 105)];
        for (members, size) in table {
            assert_eq!(batch_size(&batch(members), MessageFormat::V2), size);
        }
    }
}
