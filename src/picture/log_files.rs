//! A partition's log, opened: the files of one replica, what lies in a segment, and how a fetch
//! finds its offset there.
//!
//! *Invariant: positions and sizes are those of the real encoding; an index entry stands where a
//! broker would have made one.*
// Source: LogSegment.append, LogSegment.translateOffset, OffsetIndex, TimeIndex (3.9)
// Real: a follower's append is a whole fetch, and makes at most one entry; here each batch may
// make one, as a leader's does.

use super::ensemble::Run;
use crate::kafka::id::{CONSUMER_OFFSETS, Offset, TRANSACTION_STATE, TopicPartition};
use crate::kafka::log::PartitionLog;
use crate::kafka::record::RecordBatch;
use crate::kafka::record_size::{MessageFormat, batch_size};
use crate::kafka::release::Release;
use crate::kafka::segments::{LogConfig, Segment, index_interval};
use crate::text::Phrase;

/// What somebody wants to see; what is left open is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// A partition, `orders-0`.
    pub partition: Option<String>,
    /// The broker, by its name in scripts.
    pub broker: Option<String>,
    /// The segment's base offset.
    pub segment: Option<i64>,
    /// What a fetch asks for.
    pub offset: Option<i64>,
}

/// The panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFiles {
    /// The directory.
    pub directory: String,
    /// Whose replicas there are, and what each does.
    pub replicas: Vec<(String, Phrase)>,
    /// Which of them is open.
    pub open: usize,
    /// Where it begins, ends, and up to where it is committed.
    pub bounds: Phrase,
    /// How it is kept, by the settings' real names.
    pub kept: String,
    /// Its segments.
    pub segments: Vec<SegmentRow>,
    /// The other files, and how large each is.
    pub others: Vec<(&'static str, u64)>,
    /// The segment that is open.
    pub segment: i64,
    /// Its batches; the last of them where there are many.
    pub batches: Vec<Batch>,
    /// How a fetch finds its offset.
    pub steps: Vec<Phrase>,
    /// The offset.
    pub offset: i64,
    /// In which segment it is looked for.
    pub holds: Option<i64>,
}

/// The files of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SegmentRow {
    /// Its base offset, which names them.
    pub base: i64,
    /// How large `.log`, `.index` and `.timeindex` are.
    pub sizes: [Option<u64>; 3],
    /// What it is: the key of a word.
    pub is: &'static str,
}

/// A batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The index entry that points to it: an offset, counted from the segment's base.
    pub entry: Option<i64>,
    /// Where it lies in the file.
    pub position: u64,
    /// Its size.
    pub size: u64,
    /// Its first and last offset.
    pub offsets: (i64, i64),
    /// Its leader epoch, if the format has one.
    pub epoch: Option<i32>,
    /// What its records are: `key=value`.
    pub records: String,
    /// At which step the fetch meets it, if it does: 2, where the index leads; 3, when it reads on.
    pub met: Option<usize>,
    /// Whether the offset lies in it.
    pub found: bool,
    /// Whether it is committed.
    pub committed: bool,
}

/// How many batches are shown.
const SHOWN: usize = 120;
/// What an active segment's indexes have reserved.
// Source: segment.index.bytes, rounded down to whole entries of 8 and 12 bytes
const RESERVED: (u64, u64) = (10_485_760, 10_485_756);

struct Replica<'a> {
    name: &'a str,
    log: &'a PartitionLog,
    hw: Offset,
    does: Phrase,
    interval: u64,
    config: LogConfig,
    release: Release,
}

/// Where a batch lies: in which segment, where there, and whether the index has an entry for it.
struct Lying<'a> {
    batch: &'a RecordBatch,
    segment: i64,
    position: u64,
    size: u64,
    indexed: bool,
}

/// Opens it; nothing if there is no partition.
pub fn log_files(run: Run<'_>, asked: &Asked) -> Option<LogFiles> {
    let tp = partition(run, asked.partition.as_deref())?;
    let replicas = replicas(run, &tp);
    let open = replicas.iter().position(|replica| asked.broker.as_deref() == Some(replica.name));
    let leads = || replicas.iter().position(|replica| replica.does == Phrase::key("files.leads"));
    let open = open.or_else(leads).unwrap_or(0);
    let replica = replicas.get(open)?;
    let (log, hw) = (replica.log, replica.hw);
    let segments = segments(log, replica.config.format);
    let lying = lie(replica, &segments);
    let offset = asked.offset.unwrap_or((log.end().0 - 1).max(log.start().0));
    let below = |segment: &&Segment| segment.base.0 <= offset;
    let holds = segments.iter().rev().find(below).map(|segment| segment.base.0);
    let wanted = asked.segment.filter(|base| segments.iter().any(|s| s.base.0 == *base));
    let segment = wanted.or(holds).unwrap_or(segments[0].base.0);
    let found = find(&lying, holds, offset);
    let mut batches = Vec::new();
    for (place, lies) in lying.iter().enumerate().filter(|(_, lies)| lies.segment == segment) {
        let is_found = found.map(|f| f.1) == Some(place);
        batches.push(batch(lies, (hw, replica.config.format), met(found, place), is_found));
    }
    let cut = batches.len().saturating_sub(SHOWN);
    let bounds = Phrase::key("files.bounds")
        .with("start", log.start())
        .with("hw", hw)
        .with("leo", log.end());
    Some(LogFiles {
        directory: format!("/tmp/kafka-logs/{tp}"),
        open,
        bounds,
        kept: kept(&replica.config),
        segments: rows(run, replica, &segments, &lying),
        others: others(replica),
        segment,
        batches: batches.split_off(cut),
        steps: steps(replica, holds, offset, &lying, found),
        offset,
        holds,
        replicas: replicas.iter().map(|r| (r.name.to_string(), r.does.clone())).collect(),
    })
}

/// The one of that name, else the first that is no internal one.
fn partition(run: Run<'_>, wanted: Option<&str>) -> Option<TopicPartition> {
    let mut first = None;
    for (_, _, process) in run.cluster.processes() {
        let Some(broker) = process.broker() else { continue };
        let running = broker
            .running()
            .into_iter()
            .flat_map(|running| running.replicas().partitions().map(|partition| &partition.tp));
        for tp in running.chain(broker.disk().replicas.keys()) {
            if wanted == Some(&*tp.to_string()) {
                return Some(tp.clone());
            }
            let internal = [CONSUMER_OFFSETS, TRANSACTION_STATE].contains(&tp.topic.as_str());
            if first.is_none() && !internal {
                first = Some(tp.clone());
            }
        }
    }
    first
}

fn replicas<'a>(run: Run<'a>, tp: &TopicPartition) -> Vec<Replica<'a>> {
    let mut found = Vec::new();
    for (_, name, process) in run.cluster.processes() {
        let Some(broker) = process.broker() else { continue };
        let (release, settings) = (broker.settings().release, broker.settings());
        let replicas = broker.running().map(|running| running.replicas());
        let topic = replicas.and_then(|replicas| replicas.config(&tp.topic));
        let (log, hw, does) = match replicas.and_then(|replicas| replicas.partition(tp)) {
            Some(partition) if partition.leads() => (&partition.log, partition.hw, "files.leads"),
            Some(partition) => (&partition.log, partition.hw, "files.follows"),
            None => match broker.disk().replicas.get(tp) {
                Some(stored) => (&stored.log, stored.checkpointed_hw, "files.rests"),
                None => continue,
            },
        };
        let config = match log.segments() {
            Some(segments) => segments.config.clone(),
            None => LogConfig::of(topic, settings),
        };
        let (does, interval) = (Phrase::key(does), index_interval(topic, settings));
        found.push(Replica { name, log, hw, does, interval, config, release });
    }
    found
}

fn segments(log: &PartitionLog, format: MessageFormat) -> Vec<Segment> {
    match log.segments() {
        Some(segments) => segments.list.clone(),
        None => {
            let mut only = Segment::at(Offset(0));
            log.batches().for_each(|batch| only.take(batch, format));
            vec![only]
        }
    }
}

fn lie<'a>(replica: &Replica<'a>, segments: &[Segment]) -> Vec<Lying<'a>> {
    let (mut position, mut since, mut at) = (0, 0, 0);
    let mut found = Vec::new();
    for batch in replica.log.batches() {
        while segments.get(at + 1).is_some_and(|next| next.base <= batch.base_offset) {
            (position, since, at) = (0, 0, at + 1);
        }
        let size = batch_size(batch, replica.config.format);
        let indexed = since > replica.interval;
        since = if indexed { size } else { since + size };
        found.push(Lying { batch, segment: segments[at].base.0, position, size, indexed });
        position += size;
    }
    found
}

/// How a log is kept, as far as its policy asks.
fn kept(config: &LogConfig) -> String {
    let policy = match (config.deletes(), config.compacts()) {
        (true, true) => "compact,delete",
        (false, _) => "compact",
        _ => "delete",
    };
    let or_never = |limit: Option<u64>| limit.map_or("-1".into(), |limit| limit.to_string());
    let mut text = format!("cleanup.policy={policy} segment.bytes={}", config.segment_bytes);
    if config.deletes() {
        let (ms, bytes) = (or_never(config.retention_ms), or_never(config.retention_bytes));
        text.push_str(&format!(" retention.ms={ms} retention.bytes={bytes}"));
    }
    if config.compacts() {
        let (percent, ms) = (config.min_cleanable_dirty, config.delete_retention.as_ms());
        text.push_str(&format!(
            " min.cleanable.dirty.ratio={}.{:02} delete.retention.ms={ms}",
            percent / 100,
            percent % 100
        ));
    }
    text
}

fn rows(
    run: Run<'_>,
    replica: &Replica<'_>,
    segments: &[Segment],
    lying: &[Lying<'_>],
) -> Vec<SegmentRow> {
    let kept = replica.log.segments();
    let mut rows = Vec::new();
    for (base, until) in kept.map_or(&[][..], |kept| &kept.deleted) {
        if *until > run.now() {
            rows.push(SegmentRow { base: base.0, sizes: [None; 3], is: "files.deleted" });
        }
    }
    for (place, segment) in segments.iter().enumerate() {
        let is_active = place + 1 == segments.len();
        let of = |lies: &&Lying<'_>| lies.segment == segment.base.0 && lies.indexed;
        let entries = lying.iter().filter(of).count() as u64;
        let (index, times) = if is_active { RESERVED } else { (entries * 8, (entries + 1) * 12) };
        let times = replica.release.logs_are_indexed_by_time().then_some(times);
        let is = match kept.filter(|_| replica.config.compacts()) {
            _ if is_active => "files.active",
            Some(kept) if segment.base < kept.cleaned_to => "files.clean",
            Some(_) => "files.dirty",
            None => "files.full",
        };
        let sizes = [Some(segment.bytes), Some(index), times];
        rows.push(SegmentRow { base: segment.base.0, sizes, is });
    }
    rows
}

/// What lies beside the segments.
fn others(replica: &Replica<'_>) -> Vec<(&'static str, u64)> {
    let mut files = Vec::new();
    if !replica.release.followers_cut_to_their_hw() {
        let mut size = 0;
        let mut count = 0;
        for (epoch, start) in replica.log.epochs() {
            size += format!("{epoch} {start}\n").len();
            count += 1;
        }
        size += format!("0\n{count}\n").len();
        files.push(("leader-epoch-checkpoint", size as u64));
    }
    if replica.release.topics_have_ids() {
        files.push(("partition.metadata", 43));
    }
    files
}

/// Where the index leads and where the offset lies, by the places of their batches.
// Source: LocalLog.read, LogSegment.translateOffset
fn find(lying: &[Lying<'_>], holds: Option<i64>, offset: i64) -> Option<(usize, usize)> {
    let begin = lying.iter().position(|lies| Some(lies.segment) == holds)?;
    let of = |lies: &Lying<'_>| Some(lies.segment) == holds;
    let low = |lies: &Lying<'_>| lies.indexed && lies.batch.last_offset().0 <= offset;
    let entry = lying.iter().rposition(|lies| of(lies) && low(lies));
    let found = lying.iter().position(|lies| of(lies) && lies.batch.last_offset().0 >= offset)?;
    Some((entry.unwrap_or(begin), found))
}

/// At which step a fetch meets the batch of a place.
fn met(found: Option<(usize, usize)>, place: usize) -> Option<usize> {
    let (from, to) = found.filter(|(from, to)| (*from..=*to).contains(&place))?;
    Some(if place == from && from < to { 2 } else { 3 })
}

fn batch(
    lies: &Lying<'_>,
    (hw, format): (Offset, MessageFormat),
    met: Option<usize>,
    found: bool,
) -> Batch {
    let (first, last) = (lies.batch.base_offset.0, lies.batch.last_offset().0);
    Batch {
        entry: lies.indexed.then_some(last - lies.segment),
        position: lies.position,
        size: lies.size,
        offsets: (first.min(last), last),
        epoch: format.has_batches().then_some(lies.batch.partition_leader_epoch.0),
        records: records(lies.batch),
        met,
        found,
        committed: last < hw.0,
    }
}

fn records(batch: &RecordBatch) -> String {
    let mut text = String::new();
    for record in batch.records.iter() {
        if !text.is_empty() {
            text.push_str(", ");
        }
        if let Some(key) = &record.key {
            text.push_str(&format!("{key}="));
        }
        match &record.value {
            Some(value) => text.push_str(&value.to_string()),
            None => text.push('∅'),
        }
        if text.len() > 160 {
            text.push('…');
            break;
        }
    }
    text
}

/// How a fetch finds an offset, step by step.
fn steps(
    replica: &Replica<'_>,
    holds: Option<i64>,
    offset: i64,
    lying: &[Lying<'_>],
    found: Option<(usize, usize)>,
) -> Vec<Phrase> {
    let (start, end) = (replica.log.start().0, replica.log.end().0);
    if offset < start || offset > end {
        let step = Phrase::key("files.out-of-range").with("start", start).with("leo", end);
        return vec![step];
    }
    let (Some(base), Some((from, found))) = (holds, found) else {
        return vec![Phrase::key("files.at-the-end")];
    };
    let named = Phrase::key("files.step.segment").with("file", format!("{base:020}.log"));
    let (entry, lies) = (&lying[from], &lying[found]);
    let index = match entry.indexed && entry.batch.last_offset().0 <= offset {
        true => Phrase::key("files.step.index")
            .with("entry", entry.batch.last_offset().0 - base)
            .with("position", entry.position),
        false => Phrase::key("files.step.no-entry"),
    }
    .with("relative", offset - base);
    let scan = match found - from.min(found) {
        0 => Phrase::key("files.step.scan-first"),
        n => Phrase::key("files.step.scan").with("n", n),
    }
    .with("position", lies.position);
    let read = match offset < replica.hw.0 {
        true => Phrase::key("files.step.read").with("hw", replica.hw),
        false => Phrase::key("files.step.not-committed").with("hw", replica.hw),
    };
    vec![named, index, scan, read]
}
