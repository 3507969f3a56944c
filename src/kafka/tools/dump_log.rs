//! `kafka-dump-log`: what a broker's log of one partition holds, batch by batch.
//!
//! Source: DumpLogSegments (3.9)
//!
//! *Invariant: sizes and positions are those of the real encoding, though nothing is encoded here.*
// Real: a batch carries the CRC of its bytes; here it prints 0, because there are no bytes.

use std::fmt::Write;

use super::{Arguments, Usage};
use crate::kafka::group_record::OffsetsValue;
use crate::kafka::id::{BrokerId, CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition};
use crate::kafka::record::{Content, Record, RecordBatch};
use crate::kafka::record_size::{MessageFormat, batch_size, content_size};
use crate::sim::SimTime;

/// Its name.
pub const NAME: &str = "kafka-dump-log";

/// Whose log of which partition a command line names.
// Real: it reads files, many at once, from where one asks; here the log is read as one file.
pub fn read(words: &[String]) -> Result<(BrokerId, TopicPartition, Records), Usage> {
    let mut arguments = Arguments(words.to_vec());
    let wanted = "--files /broker-1/data/orders-0/00000000000000000000.log";
    let path = arguments.value("--files").ok_or_else(|| Usage::lacks(wanted))?;
    let mut records = Records::Untold;
    for option in SHOWING {
        if arguments.switch(option) {
            records = Records::Told;
        }
    }
    arguments.finish()?;
    let (id, partition) = log_at(&path).ok_or_else(|| Usage::is_not(&path, wanted))?;
    Ok((id, partition, records))
}

/// Whether each record is told, and not its batch alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// The batch alone.
    Untold,
    /// Each record.
    Told,
}

impl Records {
    /// As whoever wants to understand a log has it: those of Kafka's own topics and of
    /// transactions.
    pub fn of_interest(partition: &TopicPartition, batches: &[&RecordBatch]) -> Records {
        let own = matches!(partition.topic.as_str(), CONSUMER_OFFSETS | TRANSACTION_STATE);
        match own || batches.iter().any(|batch| batch.is_transactional) {
            true => Records::Told,
            false => Records::Untold,
        }
    }
}

/// The options that have records shown.
// Source: DumpLogSegmentsOptions
// Real: who is not told that it is the offsets topic's log shows bytes; here what they mean.
const SHOWING: [&str; 4] =
    ["--print-data-log", "--deep-iteration", "--offsets-decoder", "--transaction-log-decoder"];

fn log_at(path: &str) -> Option<(BrokerId, TopicPartition)> {
    let (id, rest) = path.strip_prefix("/broker-")?.split_once("/data/")?;
    let (name, _) = rest.split_once('/').unwrap_or((rest, ""));
    let (topic, number) = name.rsplit_once('-')?;
    Some((BrokerId(id.parse().ok()?), TopicPartition::new(topic, number.parse().ok()?)))
}

/// The text of a dump; records of the offsets topic are decoded.
pub fn dump(
    broker: BrokerId,
    partition: &TopicPartition,
    batches: &[&RecordBatch],
    records: Records,
) -> String {
    let mut out = format!("Dumping /broker-{broker}/data/{partition}/{:020}.log\n", 0);
    out.push_str("Log starting offset: 0\n");
    let mut position = 0;
    for batch in batches {
        position += dump_batch(batch, position, &mut out);
        if records == Records::Told {
            dump_records(batch, &mut out);
        }
    }
    out
}

fn dump_batch(batch: &RecordBatch, position: u64, out: &mut String) -> u64 {
    let size = batch_size(batch, MessageFormat::V2);
    let (base, count) = (batch.base_offset, batch.count());
    let sequence = base_sequence(batch);
    let last_sequence = if sequence < 0 { -1 } else { sequence + count - 1 };
    let (id, epoch) = batch.producer.map_or((-1, -1), |p| (p.producer_id.0, p.producer_epoch.0));
    let time = batch.newest().map_or(0, SimTime::as_ms);
    let _ = writeln!(
        out,
        "baseOffset: {base} lastOffset: {} count: {count} baseSequence: {sequence} lastSequence: \
         {last_sequence} producerId: {id} producerEpoch: {epoch} partitionLeaderEpoch: {} \
         isTransactional: {} isControl: {} deleteHorizonMs: OptionalLong.empty position: \
         {position} CreateTime: {time} size: {size} magic: 2 compresscodec: none crc: 0 \
         isvalid: true",
        batch.last_offset(),
        batch.partition_leader_epoch,
        batch.is_transactional,
        batch.marker().is_some(),
    );
    size
}

fn dump_records(batch: &RecordBatch, out: &mut String) {
    let first = base_sequence(batch);
    for (place, (offset, record)) in (0..).zip(batch.enumerate()) {
        let sequence = if first < 0 { -1 } else { first + place };
        let _ = writeln!(out, "| offset: {offset} {}", dump_record(record, sequence));
    }
}

fn dump_record(record: &Record, sequence: i32) -> String {
    let size = |content: &Option<Content>| {
        content.as_ref().map_or(-1, |content| content_size(content).cast_signed())
    };
    let head = format!(
        "CreateTime: {} keySize: {} valueSize: {} sequence: {sequence} headerKeys: []",
        record.timestamp.as_ms(),
        size(&record.key),
        size(&record.value),
    );
    if let (Some(key @ Content::MarkerKey(_)), Some(value)) = (&record.key, &record.value) {
        return format!("{head} endTxnMarker: {key} coordinatorEpoch: {value}");
    }
    let key = record.key.as_ref().map_or("<NULL>".into(), ToString::to_string);
    let payload = record.value.as_ref().map_or("<DELETE>".into(), ToString::to_string);
    format!("{head} key: {key} payload: {payload}")
}

/// Offsets are committed with sequences from 0, though by no producer.
// Source: GroupMetadataManager.storeOffsets (MemoryRecords.builder without a sequence for groups)
fn base_sequence(batch: &RecordBatch) -> i32 {
    let commits = |record: &Record| match &record.value {
        Some(Content::OffsetsValue(value)) => matches!(**value, OffsetsValue::Offset(_)),
        _ => false,
    };
    match batch.producer {
        Some(stamp) => stamp.base_sequence,
        None if batch.records.iter().all(commits) => 0,
        None => -1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::record_size::tests::batch;

    #[test]
    fn a_dump_names_file_batches_and_records() {
        let partition = TopicPartition::new(CONSUMER_OFFSETS, 1);
        let batch = batch(Vec::new());
        let text = dump(BrokerId(2), &partition, &[&batch], Records::Told);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "Dumping /broker-2/data/__consumer_offsets-1/00000000000000000000.log"
        );
        assert!(lines[2].contains("position: 0 CreateTime: 0 size: 105 magic: 2"));
        assert!(
            lines[3].starts_with("| offset: 0 CreateTime: 0 keySize: 5 valueSize: 32 sequence: -1")
        );
    }
}
