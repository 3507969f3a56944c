//! `kafka-dump-log`: what a broker's log of one partition holds, batch by batch.
//!
//! Source: DumpLogSegments (0.8.2, 0.10.2, 1.1, 2.3, 2.8, 3.9)
//!
//! *Invariant: sizes and positions are those of the real encoding, though nothing is encoded here.*
// Real: a batch carries the CRC of its bytes; here it prints 0, because there are no bytes.

use std::fmt::Write;

use super::{Arguments, Usage};
use crate::kafka::group_record::{OffsetsKey, OffsetsValue, StoredMember};
use crate::kafka::id::{BrokerId, CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition};
use crate::kafka::record::{Content, Record, RecordBatch};
use crate::kafka::record_size::{MessageFormat, batch_size, content_size, message_size};
use crate::kafka::release::{DumpedOffsets, Release};
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

/// The text of a dump by the tool of a release; records of the offsets topic are decoded.
pub fn dump(
    broker: BrokerId,
    partition: &TopicPartition,
    batches: &[&RecordBatch],
    records: Records,
    release: Release,
) -> String {
    let schemas = release.dumped_offsets() == DumpedOffsets::Schemas;
    let starting = if schemas { "Log starting" } else { "Starting" };
    let mut out = format!("Dumping /broker-{broker}/data/{partition}/{:020}.log\n", 0);
    let _ = writeln!(out, "{starting} offset: 0");
    let format = release.message_format();
    let mut position = 0;
    for batch in batches {
        let told = records == Records::Told;
        if !format.has_batches() {
            dump_messages(batch, position, records, release, &mut out);
        } else if release.dumps_have_records_below_batches() {
            dump_batch(batch, position, release, &mut out);
            if told {
                dump_records(batch, release, &mut out);
            }
        } else if told {
            dump_records_alone(batch, position, release, &mut out);
        } else {
            dump_batch(batch, position, release, &mut out);
        }
        position += batch_size(batch, format);
    }
    out
}

/// A batch before there were any: message by message.
// Source: DumpLogSegments.dumpLog (0.8.2), (0.10.2)
fn dump_messages(
    batch: &RecordBatch,
    mut position: u64,
    records: Records,
    release: Release,
    out: &mut String,
) {
    let format = release.message_format();
    for (offset, record) in batch.enumerate() {
        let (time, magic, codec) = match format {
            MessageFormat::V0 => (String::new(), 0, "NoCompressionCodec"),
            _ => (format!(" CreateTime: {}", record.timestamp.as_ms()), 1, "NONE"),
        };
        let size = size_of_content(&record.value);
        let _ = write!(
            out,
            "offset: {offset} position: {position}{time} isvalid: true payloadsize: {size} magic: \
             {magic} compresscodec: {codec} crc: 0"
        );
        if record.key.is_some() {
            let _ = write!(out, " keysize: {}", size_of_content(&record.key));
        }
        if records == Records::Told {
            out.push_str(&contents(record, release));
        }
        out.push('\n');
        position += message_size(record, format);
    }
}

/// The records of a batch, each with what is said of the batch.
// Source: DumpLogSegments.dumpLog (1.1)
fn dump_records_alone(batch: &RecordBatch, position: u64, release: Release, out: &mut String) {
    let first = base_sequence(batch);
    let (id, epoch) = batch.producer.map_or((-1, -1), |p| (p.producer_id.0, p.producer_epoch.0));
    for (place, (offset, record)) in (0..).zip(batch.enumerate()) {
        let sequence = if first < 0 { -1 } else { first + place };
        let (key, value) = (size_of_content(&record.key), size_of_content(&record.value));
        let (time, transactional) = (record.timestamp.as_ms(), batch.is_transactional);
        let _ = writeln!(
            out,
            "offset: {offset} position: {position} CreateTime: {time} isvalid: true keysize: {key} \
             valuesize: {value} magic: 2 compresscodec: NONE producerId: {id} producerEpoch: \
             {epoch} sequence: {sequence} isTransactional: {transactional} headerKeys: []{}",
            contents(record, release)
        );
    }
}

// Source: DumpLogSegments.printBatchLevel (2.3), (3.9)
fn dump_batch(batch: &RecordBatch, position: u64, release: Release, out: &mut String) {
    let size = batch_size(batch, MessageFormat::V2);
    let (base, count) = (batch.base_offset, batch.count());
    let sequence = base_sequence(batch);
    let last_sequence = if sequence < 0 { -1 } else { sequence + count - 1 };
    let (id, epoch) = batch.producer.map_or((-1, -1), |p| (p.producer_id.0, p.producer_epoch.0));
    let time = batch.newest().map_or(0, SimTime::as_ms);
    let whole = release.dumps_have_records_below_batches();
    let newest = release.dumped_offsets() == DumpedOffsets::Schemas;
    let counted = if whole { format!(" count: {count}") } else { String::new() };
    let control = match whole {
        true => format!(" isControl: {}", batch.marker().is_some()),
        false => String::new(),
    };
    let horizon = if newest { " deleteHorizonMs: OptionalLong.empty" } else { "" };
    let codec = if newest { "none" } else { "NONE" };
    let (early, late) = if whole { ("", " isvalid: true") } else { (" isvalid: true", "") };
    let _ = writeln!(
        out,
        "baseOffset: {base} lastOffset: {}{counted} baseSequence: {sequence} lastSequence: \
         {last_sequence} producerId: {id} producerEpoch: {epoch} partitionLeaderEpoch: {} \
         isTransactional: {}{control}{horizon} position: {position} CreateTime: {time}{early} \
         size: {size} magic: 2 compresscodec: {codec} crc: 0{late}",
        batch.last_offset(),
        batch.partition_leader_epoch,
        batch.is_transactional,
    );
}

fn dump_records(batch: &RecordBatch, release: Release, out: &mut String) {
    let first = base_sequence(batch);
    let size = if release.dumped_offsets() == DumpedOffsets::Plain { "size" } else { "Size" };
    for (place, (offset, record)) in (0..).zip(batch.enumerate()) {
        let sequence = if first < 0 { -1 } else { first + place };
        let (key, value) = (size_of_content(&record.key), size_of_content(&record.value));
        let _ = writeln!(
            out,
            "| offset: {offset} CreateTime: {} key{size}: {key} value{size}: {value} sequence: \
             {sequence} headerKeys: []{}",
            record.timestamp.as_ms(),
            contents(record, release)
        );
    }
}

fn size_of_content(content: &Option<Content>) -> i64 {
    content.as_ref().map_or(-1, |content| content_size(content).cast_signed())
}

/// Key and value of a record, or what it marks.
fn contents(record: &Record, release: Release) -> String {
    if let (Some(key @ Content::MarkerKey(_)), Some(value)) = (&record.key, &record.value) {
        return format!(" endTxnMarker: {key} coordinatorEpoch: {value}");
    }
    if let Some(Content::OffsetsKey(key)) = &record.key
        && release.dumped_offsets() != DumpedOffsets::Schemas
    {
        return of_group(key, record.value.as_ref(), release.dumped_offsets());
    }
    let key = record.key.as_ref().map(ToString::to_string);
    let payload = record.value.as_ref().map(ToString::to_string);
    if release.dumped_offsets() == DumpedOffsets::Schemas {
        let (key, payload) = (key.unwrap_or("<NULL>".into()), payload.unwrap_or("<DELETE>".into()));
        return format!(" key: {key} payload: {payload}");
    }
    match (key, payload, release.message_format()) {
        (key, None, MessageFormat::V0) => {
            format!("{} payload: null", key.map_or(String::new(), |key| format!(" key: {key}")))
        }
        (_, None, _) => String::new(),
        (None, Some(payload), _) => format!(" payload: {payload}"),
        (Some(key), Some(payload), _) => format!(" key: {key} payload: {payload}"),
    }
}

/// What groups have in their topic, as tools to 2.8 show it.
fn of_group(key: &OffsetsKey, value: Option<&Content>, how: DumpedOffsets) -> String {
    let value = match value {
        Some(Content::OffsetsValue(value)) => Some(&**value),
        _ => None,
    };
    let named = how == DumpedOffsets::Named;
    let key = match key {
        OffsetsKey::Offset { group, partition } if named => {
            format!("offset_commit::group={group},partition={partition}")
        }
        OffsetsKey::Offset { group, partition: of } => {
            format!("offset::{group}:{}:{}", of.topic, of.partition)
        }
        OffsetsKey::Group { group } if named => format!("group_metadata::group={group}"),
        OffsetsKey::Group { group } => format!("{{\"metadata\":\"{group}\"}}"),
    };
    let value = match value {
        None if named => "<DELETE>".to_owned(),
        None => return String::new(),
        Some(OffsetsValue::Offset(value)) if named => format!("offset={}", value.offset),
        Some(OffsetsValue::Offset(value)) => value.offset.to_string(),
        Some(OffsetsValue::Group(group)) => {
            let share = |member: &StoredMember| {
                let share: Vec<String> =
                    member.assignment.iter().map(|tp| tp.to_string()).collect();
                format!("{}=[{}]", member.member_id, share.join(", "))
            };
            let shares: Vec<String> = group.members.iter().map(share).collect();
            let protocol = group.protocol.as_ref().map(|name| format!("\"{name}\""));
            format!(
                "{{\"protocolType\":\"consumer\",\"protocol\":{},\"generationId\":{},\"assignment\":\
                 \"{{{}}}\"}}",
                protocol.unwrap_or("null".into()),
                group.generation,
                shares.join(",")
            )
        }
    };
    format!(" key: {key} payload: {value}")
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
        let text = dump(BrokerId(2), &partition, &[&batch], Records::Told, Release::V3_9_1);
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
