//! The files of a partition's log: where a segment begins, when a new one does, when old ones go.
//!
//! Not here: the records themselves (`log`), nor when somebody looks at them (`replicas`).
//!
//! *Invariant: segments follow each other; all records lie in one; the last is written to.*
// Source: LogConfig, UnifiedLog.maybeRoll, UnifiedLog.deleteOldSegments (3.9)
// Real: a segment also ends when its index is full, or an offset does not fit 31 bits; here not,
// because no log grows so far.

use super::id::Offset;
use super::record::RecordBatch;
use super::record_size::{MessageFormat, batch_size};
use super::settings::{SettingError, Settings};
use super::znodes::Config;
use crate::sim::{OrdMap, SimTime, Span};

/// How a topic's logs are kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogConfig {
    /// How records are written.
    pub format: MessageFormat,
    /// `segment.bytes`
    pub segment_bytes: u64,
    /// `segment.ms`
    pub segment_ms: u64,
    /// `retention.ms`, if records are to go at some age.
    pub retention_ms: Option<u64>,
    /// `retention.bytes`, if they are to go when there are more.
    pub retention_bytes: Option<u64>,
    /// `file.delete.delay.ms`
    pub file_delete_delay: Span,
    /// `min.cleanable.dirty.ratio`, in percent.
    pub min_cleanable_dirty: u64,
    /// `delete.retention.ms`
    pub delete_retention: Span,
    /// `cleanup.policy`
    pub cleanup: Cleanup,
}

/// What `cleanup.policy` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cleanup {
    /// Old segments go.
    Delete,
    /// Old values of a key go.
    Compact,
    /// Both.
    Both,
}

/// A setting of a topic, what it is called in a broker's file, and its default.
type Name = (&'static str, &'static str, &'static str);

const SEGMENT_BYTES: Name = ("segment.bytes", "log.segment.bytes", "1073741824");
const SEGMENT_MS: Name = ("segment.ms", "log.roll.ms", "604800000");
const RETENTION_MS: Name = ("retention.ms", "log.retention.ms", "604800000");
const RETENTION_BYTES: Name = ("retention.bytes", "log.retention.bytes", "-1");
const DELETE_DELAY: Name = ("file.delete.delay.ms", "log.segment.delete.delay.ms", "60000");
const DIRTY: Name = ("min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio", "0.5");
const TOMBSTONES: Name = ("delete.retention.ms", "log.cleaner.delete.retention.ms", "86400000");
const POLICY: Name = ("cleanup.policy", "log.cleanup.policy", "delete");
const INDEX_INTERVAL: Name = ("index.interval.bytes", "log.index.interval.bytes", "4096");
/// How often old segments are looked for.
pub const RETENTION_CHECK: (&str, &str) = ("log.retention.check.interval.ms", "300000");
/// How often a cleaner that had nothing to do looks again.
pub const CLEANER_BACKOFF: (&str, &str) = ("log.cleaner.backoff.ms", "15000");
const CLEANER: &str = "log.cleaner.enable";

/// A duration that a broker's file may also give in a larger unit, and how many ms that has.
// Source: KafkaConfig.getLogRetentionTimeMillis, logRollTimeMillis
const LARGER: [(&str, &str, u64); 3] = [
    (RETENTION_MS.1, "log.retention.minutes", 60_000),
    (RETENTION_MS.1, "log.retention.hours", 3_600_000),
    (SEGMENT_MS.1, "log.roll.hours", 3_600_000),
];

/// How much of `__consumer_offsets` is read at once by who takes a partition of it over.
// Source: GroupCoordinatorConfig.OFFSETS_LOAD_BUFFER_SIZE_CONFIG
pub const LOAD_BUFFER: (&str, &str) = ("offsets.load.buffer.size", "5242880");

/// What a broker's file may say of logs beside `log.segment.bytes`, and what holds if it does not.
pub const SETTINGS: &[(&str, &str)] = &[
    (POLICY.1, POLICY.2),
    (RETENTION_MS.1, "null"),
    (LARGER[0].1, "null"),
    (LARGER[1].1, "168"),
    (RETENTION_BYTES.1, RETENTION_BYTES.2),
    RETENTION_CHECK,
    (SEGMENT_MS.1, "null"),
    (LARGER[2].1, "168"),
    (INDEX_INTERVAL.1, INDEX_INTERVAL.2),
    (DELETE_DELAY.1, DELETE_DELAY.2),
    (CLEANER, "true"),
    CLEANER_BACKOFF,
    (DIRTY.1, DIRTY.2),
    (TOMBSTONES.1, TOMBSTONES.2),
    LOAD_BUFFER,
];

/// Refuses what such a setting cannot be.
// Source: KafkaConfig.configDef, KafkaConfig.validateValues, CleanerConfig (3.9)
pub fn check(name: &'static str, value: &str) -> Result<(), SettingError> {
    let is_long = |least: i64| value.parse::<i64>().is_ok_and(|number| number >= least);
    let is_int = |least: i32| value.parse::<i32>().is_ok_and(|number| number >= least);
    let (fits, wanted) = match name {
        _ if name == POLICY.1 => (value.split(',').all(is_policy), "compact, delete or both"),
        _ if name == DIRTY.1 => (percent(value).is_some(), "a number from 0 to 1"),
        _ if name == RETENTION_BYTES.1 => (is_long(i64::MIN), "a number"),
        _ if name == RETENTION_MS.1 => (is_long(-1) && value != "0", AGE),
        _ if name == LARGER[0].1 || name == LARGER[1].1 => (is_int(-1) && value != "0", AGE),
        _ if name == RETENTION_CHECK.0 || name == SEGMENT_MS.1 => (is_long(1), POSITIVE),
        _ if name == LARGER[2].1 => (is_int(1), POSITIVE),
        _ if name == LOAD_BUFFER.0 => (is_int(1), POSITIVE),
        _ if name == INDEX_INTERVAL.1 => (is_int(0), "a number of at least 0"),
        CLEANER => (matches!(value, "true" | "false"), "true or false"),
        _ => (is_long(0), "a number of at least 0"),
    };
    match fits {
        true => Ok(()),
        false => Err(SettingError::Value { name, value: value.into(), wanted }),
    }
}

const AGE: &str = "a number of at least 1, or -1";
const POSITIVE: &str = "a number of at least 1";

/// Whether `cleanup.policy` may name it.
pub fn is_policy(name: &str) -> bool {
    matches!(name, "compact" | "delete")
}

/// A share from 0 to 1 in percent, rounded down.
// Real: a double; here two digits count, because no log is so large that a third one would show.
pub fn percent(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_zero = |digits: &str| digits.bytes().all(|byte| byte == b'0');
    if text.len() == text.matches('.').count() || !is_number(whole) || !is_number(rest) {
        return None;
    }
    match whole.trim_start_matches('0') {
        "" => format!("{rest:0<2.2}").parse().ok(),
        "1" if is_zero(rest) => Some(100),
        _ => None,
    }
}

/// A duration that a person has given, however large.
fn capped(ms: u64) -> Span {
    Span::micros(ms.saturating_mul(1000)).min(Span::LONGEST)
}

/// What such a setting is now.
pub fn value(name: &str, settings: &Settings) -> Option<String> {
    let (_, default) = SETTINGS.iter().find(|(known, _)| *known == name)?;
    let default = match (name, settings.release.cleans_logs_by_default()) {
        (CLEANER, false) => "false",
        _ => default,
    };
    Some(settings.others.get(name).map_or(default, |set| set).to_string())
}

/// After how long something of a broker is done again.
// Real: with log.cleaner.backoff.ms=0 the cleaner looks again at once; here after 1 ms, because
// nothing it does takes time.
pub fn every(setting: (&str, &str), settings: &Settings) -> Span {
    let ms = |text: &str| text.parse().ok();
    let set = settings.others.get(setting.0).and_then(|text| ms(text)).or_else(|| ms(setting.1));
    capped(set.unwrap_or(1)).max(Span::ms(1))
}

/// Whether the broker has cleaners.
pub fn cleans(settings: &Settings) -> bool {
    value(CLEANER, settings).as_deref() == Some("true")
}

/// `index.interval.bytes` of a topic.
pub fn index_interval(topic: Option<&Config>, settings: &Settings) -> u64 {
    let own = topic.and_then(|topic| topic.get(INDEX_INTERVAL.0));
    let set = own.or_else(|| settings.others.get(INDEX_INTERVAL.1));
    set.and_then(|text| text.parse().ok()).unwrap_or(4096)
}

/// From here on, sizes and times are beyond what a run comes to.
const MUCH: u64 = 64 << 20;
const LONG: u64 = 86_400_000;

impl LogConfig {
    /// How a topic's logs are kept.
    pub fn of(topic: Option<&Config>, settings: &Settings) -> LogConfig {
        let own = |name: Name| {
            let own = topic.and_then(|topic| topic.get(name.0));
            own.or_else(|| settings.others.get(name.1)).map(|text| &**text)
        };
        let text = |name: Name| own(name).unwrap_or(name.2);
        let number = |name: Name| match own(name) {
            Some(text) => text.parse::<u64>().ok(),
            None => in_larger_units(name.1, settings).unwrap_or_else(|| name.2.parse().ok()),
        };
        let or_default = |name: Name| number(name).or_else(|| name.2.parse().ok()).unwrap_or(0);
        LogConfig {
            format: settings.release.message_format(),
            segment_bytes: or_default(SEGMENT_BYTES),
            segment_ms: or_default(SEGMENT_MS),
            retention_ms: number(RETENTION_MS),
            retention_bytes: number(RETENTION_BYTES),
            file_delete_delay: capped(or_default(DELETE_DELAY)),
            min_cleanable_dirty: percent(text(DIRTY)).unwrap_or(50),
            delete_retention: capped(or_default(TOMBSTONES)),
            cleanup: match (text(POLICY).contains("compact"), text(POLICY).contains("delete")) {
                (true, true) => Cleanup::Both,
                (true, false) => Cleanup::Compact,
                _ => Cleanup::Delete,
            },
        }
    }

    /// Whether anything of it could show in a run.
    pub fn could_show(&self) -> bool {
        self.segment_bytes < MUCH
            || self.segment_ms < LONG
            || self.retention_ms.is_some_and(|ms| ms < LONG)
            || self.retention_bytes.is_some_and(|bytes| bytes < MUCH)
    }

    /// Whether old segments go.
    pub fn deletes(&self) -> bool {
        self.cleanup != Cleanup::Compact
    }

    /// Whether old values of a key go.
    pub fn compacts(&self) -> bool {
        self.cleanup != Cleanup::Delete
    }
}

/// A duration of a broker's file that it gives in a larger unit; `Some(None)` is without end.
fn in_larger_units(name: &str, settings: &Settings) -> Option<Option<u64>> {
    let mut larger = LARGER.iter().filter(|(of, _, _)| *of == name);
    larger.find_map(|(_, larger, ms)| {
        let set = settings.others.get(*larger)?;
        Some(set.parse::<u64>().ok().map(|count| count.saturating_mul(*ms)))
    })
}

/// A segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The offset of the first record that may be in it, which names its files.
    pub base: Offset,
    /// How large its `.log` is.
    pub bytes: u64,
    /// How old its first batch is, by its records.
    pub first: Option<SimTime>,
    /// The newest record's time.
    pub newest: SimTime,
}

impl Segment {
    /// An empty one.
    pub fn at(base: Offset) -> Segment {
        Segment { base, bytes: 0, first: None, newest: SimTime::ZERO }
    }

    /// One more batch lies in it.
    pub fn take(&mut self, batch: &RecordBatch, format: MessageFormat) {
        self.bytes += batch_size(batch, format);
        let Some(time) = batch.newest() else { return };
        self.first = self.first.or(Some(time));
        self.newest = self.newest.max(time);
    }

    /// Whether it is full for a batch.
    // Source: LogSegment.timeWaitedForRoll (KIP-33, 0.10.1)
    // Real: before, a segment is as old as its file, and its newest record as the file's last
    // change; here both go by the records in all releases.
    fn is_full(&self, batch: &RecordBatch, config: &LogConfig) -> bool {
        let too_large = self.bytes + batch_size(batch, config.format) > config.segment_bytes;
        let age = match (self.first, batch.newest()) {
            (Some(first), Some(newest)) => newest.since(first).as_ms(),
            _ => 0,
        };
        self.bytes > 0 && (too_large || age > config.segment_ms)
    }
}

/// The segments of a log that does not stay in one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Segments {
    /// How the log is kept.
    pub config: LogConfig,
    /// The first offset that may be read.
    pub start: Offset,
    /// In order; at least one.
    pub list: Vec<Segment>,
    /// Files that are renamed `.deleted`, by their base offsets, and until when.
    pub deleted: Vec<(Offset, SimTime)>,
    /// Up to where old values have been taken out.
    pub cleaned_to: Offset,
    /// The tombstones that have been cleaned once, and until when they stay.
    // Source: RecordBatch.deleteHorizonMs (KAFKA-8522)
    // Real: before 3.1 a tombstone's time begins when the segment that it lies in was last written
    // to; here in all releases when it is met first.
    pub horizons: OrdMap<Offset, SimTime>,
}

impl Segments {
    /// One segment with what is there.
    pub fn of<'a>(
        config: LogConfig,
        start: Offset,
        batches: impl Iterator<Item = &'a RecordBatch>,
    ) -> Segments {
        let mut first = Segment::at(start);
        batches.for_each(|batch| first.take(batch, config.format));
        Segments {
            config,
            start,
            list: vec![first],
            deleted: Vec::new(),
            cleaned_to: start,
            horizons: OrdMap::new(),
        }
    }

    /// The one that is written to.
    pub fn active(&self) -> &Segment {
        self.list.last().expect("there is always one")
    }

    /// A batch is appended; a new segment begins if the active one is full.
    // Source: UnifiedLog.maybeRoll, LogSegment.shouldRoll
    pub fn take(&mut self, batch: &RecordBatch) {
        if self.active().is_full(batch, &self.config) {
            self.list.push(Segment::at(batch.base_offset));
        }
        self.list.last_mut().expect("there is always one").take(batch, self.config.format);
    }

    /// How many segments from the oldest on are to go.
    // Source: UnifiedLog.deletableSegments and the three conditions of deleteOldSegments
    // Real: before 1.0 (KAFKA-5634) the HW holds nothing back; here it does in all releases.
    pub fn overdue(&self, now: SimTime, hw: Offset, end: Offset) -> usize {
        let total: u64 = self.list.iter().map(|segment| segment.bytes).sum();
        let kept = self.config.retention_bytes.filter(|_| self.config.deletes());
        let mut excess = kept.map_or(0, |kept| total.saturating_sub(kept));
        let mut count = 0;
        for (place, segment) in self.list.iter().enumerate() {
            let next = self.list.get(place + 1);
            let until = next.map_or(end, |next| next.base);
            let age = now.since(segment.newest.min(now)).as_ms();
            let limit = self.config.retention_ms.filter(|_| self.config.deletes());
            let is_old = limit.is_some_and(|limit| age > limit);
            let is_too_much = excess > 0 && excess >= segment.bytes;
            let is_below = next.is_some_and(|next| next.base <= self.start);
            let is_empty_and_last = next.is_none() && segment.bytes == 0;
            let is_due = is_old || is_too_much || is_below;
            if hw < until || is_empty_and_last || !is_due {
                break;
            }
            excess = excess.saturating_sub(segment.bytes);
            count += 1;
        }
        count
    }

    /// The oldest segments go, and where the log begins moves with them. If all go, a new one
    /// begins first.
    // Source: UnifiedLog.deleteSegments, LocalLog.deleteSegmentFiles
    pub fn delete(&mut self, count: usize, now: SimTime, end: Offset) {
        if count == self.list.len() {
            self.list.push(Segment::at(end));
        }
        let until = now + self.config.file_delete_delay;
        self.deleted.retain(|(_, until)| *until > now);
        self.deleted.extend(self.list.drain(..count).map(|segment| (segment.base, until)));
        self.start = self.start.max(self.list[0].base);
        self.cleaned_to = self.cleaned_to.max(self.start);
    }

    /// The log was cut, and holds only this.
    // Source: LocalLog.truncateTo
    pub fn cut<'a>(&mut self, to: Offset, batches: impl Iterator<Item = &'a RecordBatch>) {
        while self.list.len() > 1 && self.active().base >= to {
            self.list.pop();
        }
        let base = self.active().base;
        let mut active = Segment::at(base);
        let format = self.config.format;
        let kept = batches.filter(|batch| batch.base_offset >= base);
        kept.for_each(|batch| active.take(batch, format));
        *self.list.last_mut().expect("there is always one") = active;
        self.cleaned_to = self.cleaned_to.min(base);
        self.horizons.retain(|offset, _| *offset < to);
    }

    /// Up to where old values may be taken out, if enough below that is new: more than that share.
    // Source: LogCleanerManager.grabFilthiestCompactedLog, LogToClean.cleanableRatio
    pub fn cleanable(&self, decided: Offset) -> Option<Offset> {
        let limit = self.active().base.min(decided);
        if !self.config.compacts() {
            return None;
        }
        let below = self.list.iter().filter(|segment| segment.base < self.active().base);
        let (mut clean, mut dirty) = (0, 0);
        for segment in below {
            match segment.base < self.cleaned_to {
                true => clean += segment.bytes,
                false => dirty += segment.bytes,
            }
        }
        let is_dirty = dirty * 100 > self.config.min_cleanable_dirty * (clean + dirty);
        (limit > self.cleaned_to && is_dirty).then_some(limit)
    }

    /// Whether a tombstone still stays: for a time after it was met first, as the old horizons say.
    // Source: Cleaner.shouldDiscardRecord
    pub fn still(
        &mut self,
        old: &OrdMap<Offset, SimTime>,
        tombstone: Offset,
        now: SimTime,
    ) -> bool {
        let known = old.get(&tombstone).copied();
        let stays = known.is_none_or(|until| now < until);
        if stays {
            let until = known.unwrap_or(now + self.config.delete_retention);
            self.horizons.insert(tombstone, until);
        }
        stays
    }

    /// Old values have been taken out up to there. Segments that came to no more than one may hold
    /// are written as one.
    // Source: Cleaner.groupSegmentsBySize: by their sizes before
    pub fn cleaned<'a>(&mut self, to: Offset, batches: impl Iterator<Item = &'a RecordBatch>) {
        let active = self.active().base;
        let (mut list, mut size) = (Vec::<Segment>::new(), 0);
        for old in &self.list {
            size += old.bytes;
            let joins = old.base < to.min(active) && size <= self.config.segment_bytes;
            match list.last_mut().filter(|_| joins) {
                Some(last) => last.newest = last.newest.max(old.newest),
                None => {
                    size = old.bytes;
                    list.push(Segment { bytes: 0, first: None, ..*old });
                }
            }
        }
        let format = self.config.format;
        for batch in batches {
            let holds = list.iter_mut().rev().find(|segment| segment.base <= batch.base_offset);
            holds.expect("the first one begins where the log does").take(batch, format);
        }
        self.list = list;
        self.cleaned_to = to;
    }

    /// Everything goes; the log begins anew there.
    // Source: UnifiedLog.truncateFullyAndStartAt
    pub fn begin_at(&mut self, start: Offset) {
        *self = Segments::of(self.config.clone(), start, std::iter::empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::id::{BrokerId, LeaderEpoch, ProducerEpoch, ProducerId};
    use crate::kafka::log::PartitionLog;
    use crate::kafka::record::{ProducerStamp, Record};

    fn config(pairs: &[(&str, &str)]) -> Option<LogConfig> {
        let topic = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let config = LogConfig::of(Some(&topic), &Settings::new(BrokerId(1), "", 0));
        Some(config).filter(LogConfig::could_show)
    }

    /// A log with one record a second of those keys; `-` is a record without a key, a capital is a
    /// tombstone.
    fn log(pairs: &[(&str, &str)], keys: &str) -> PartitionLog {
        let mut log = PartitionLog::default();
        log.keep(config(pairs).expect("it shows"));
        for (second, key) in (0..).zip(keys.chars()) {
            let value = (!key.is_uppercase()).then(|| "v".into());
            let name = key.to_lowercase().to_string();
            let key = (key != '-').then(|| name.as_str().into());
            let record = Record { key, value, timestamp: at(second) };
            let batch = RecordBatch::new(vec![record]);
            log.append(batch, LeaderEpoch(0)).expect("nobody sends twice");
        }
        log
    }

    fn at(second: u64) -> SimTime {
        SimTime::ZERO + Span::secs(second)
    }

    fn bases(log: &PartitionLog) -> Vec<i64> {
        let segments = log.segments().expect("there are some");
        segments.list.iter().map(|segment| segment.base.0).collect()
    }

    #[test]
    fn what_no_run_comes_to_is_not_kept() {
        let offsets = [("cleanup.policy", "compact"), ("segment.bytes", "104857600")];
        for pairs in [&[][..], &offsets, &[("retention.ms", "-1")], &[("max.message.bytes", "9")]] {
            assert_eq!(config(pairs), None, "{pairs:?}");
        }
        assert!(config(&[("segment.ms", "1000")]).is_some());
    }

    #[test]
    fn a_setting_has_its_range() {
        let table = [
            ("log.retention.check.interval.ms", ["1", "300000"], ["0", "-1"]),
            ("log.cleaner.backoff.ms", ["0", "9223372036854775807"], ["-1", "9223372036854775808"]),
            ("log.retention.ms", ["-1", "1"], ["0", "1.5"]),
            ("log.retention.hours", ["-1", "2147483647"], ["6000000000000000", ""]),
            ("log.retention.bytes", ["-1", "0"], ["-", "--2."]),
            ("log.roll.ms", ["1", "2"], ["0", "-5"]),
            ("log.cleaner.min.cleanable.ratio", ["0", "1.0"], ["7", "1.5"]),
            ("log.cleanup.policy", ["delete", "compact,delete"], ["foo", ""]),
            ("log.cleaner.enable", ["true", "false"], ["yes", ""]),
        ];
        for (name, good, bad) in table {
            let mut settings = Settings::new(BrokerId(1), "", 0);
            good.iter().for_each(|value| assert_eq!(settings.set(name, value), Ok(()), "{name}"));
            bad.iter().for_each(|value| assert!(settings.set(name, value).is_err(), "{name}"));
        }
    }

    #[test]
    fn a_share_is_read_in_percent() {
        let good = [("0", 0), ("1", 100), ("1.0", 100), ("0.05", 5), (".9", 90), ("0.5", 50)];
        for (text, expected) in good.into_iter().chain([("0.1", 10), ("0.", 0), ("0.999", 99)]) {
            assert_eq!(percent(text), Some(expected), "{text}");
        }
        for text in ["", ".", "1.01", "7", "-0.5", "0.5.1", "half"] {
            assert_eq!(percent(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_too_long_is_as_long_as_can_be() {
        let long = ["delete.retention.ms", "file.delete.delay.ms", "retention.ms", "segment.ms"]
            .map(|name| (name, "9223372036854775807"));
        let topic = long.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let mut settings = Settings::new(BrokerId(1), "", 0);
        settings.set("log.cleaner.backoff.ms", long[0].1).expect("it is a number");
        settings.set("log.roll.hours", "2147483647").expect("it is a number");
        let config = LogConfig::of(Some(&topic), &settings);
        assert_eq!(
            (config.delete_retention, config.file_delete_delay),
            (Span::LONGEST, Span::LONGEST)
        );
        assert_eq!(every(CLEANER_BACKOFF, &settings), Span::LONGEST);
        settings.set("log.cleaner.backoff.ms", "0").expect("it is a number");
        assert_eq!(every(CLEANER_BACKOFF, &settings), Span::ms(1));
    }

    #[test]
    fn a_segment_ends_by_size_and_by_age() {
        let one = log(&[("segment.ms", "1")], "-");
        let size = batch_size(one.batches().next().expect("one"), MessageFormat::V2);
        let three = (size * 3).to_string();
        assert_eq!(bases(&log(&[("segment.bytes", &three)], "--------")), [0, 3, 6]);
        assert_eq!(bases(&log(&[("segment.ms", "2000")], "--------")), [0, 3, 6]);
        assert_eq!(bases(&log(&[("segment.bytes", "1")], "---")), [0, 1, 2], "one is too large");
    }

    #[test]
    fn whole_segments_go_and_never_beyond_the_hw() {
        let by_age = [("segment.ms", "1000"), ("retention.ms", "4000")];
        let table = [(0, 8, 0, [0, 2, 4, 6].as_slice()), (6, 8, 2, &[2, 4, 6]), (99, 8, 8, &[8])];
        for (now, hw, start, left) in table.into_iter().chain([(99, 3, 2, [2, 4, 6].as_slice())]) {
            let mut log = log(&by_age, "--------");
            log.delete_old(at(now), Offset(hw));
            assert_eq!((log.start().0, bases(&log).as_slice()), (start, left), "at {now}");
            assert_eq!(log.batches().next().map_or(8, |batch| batch.base_offset.0), start);
        }
        let one = log(&by_age, "-");
        let size = batch_size(one.batches().next().expect("one"), MessageFormat::V2);
        let three = (size * 3).to_string();
        let mut log = log(&[("segment.ms", "1000"), ("retention.bytes", &three)], "--------");
        assert_eq!(log.delete_old(at(8), Offset(8)), 2, "8 records less 2 times 2 are not below 3");
        assert_eq!(log.start(), Offset(4));
    }

    #[test]
    fn compaction_leaves_the_last_of_each_key_and_its_offset() {
        let compact = [("cleanup.policy", "compact"), ("segment.ms", "1000")];
        let offsets =
            |log: &PartitionLog| log.records().map(|(offset, _)| offset.0).collect::<Vec<_>>();
        let mut log = log(&compact, "abacBbaa");
        assert_eq!(log.clean(at(8), Offset(8)), Some((3, 6)));
        assert_eq!(offsets(&log), [2, 3, 5, 6, 7]);
        assert_eq!(log.clean(at(9), Offset(8)), None, "nothing is new");
        assert_eq!((log.start(), log.end()), (Offset(0), Offset(8)));
        let mut found = log.between(Offset(0), Offset(8));
        assert_eq!(found.next().map(|batch| batch.base_offset), Some(Offset(2)));
    }

    #[test]
    fn a_tombstone_goes_when_its_time_is_over() {
        let compact = [
            ("cleanup.policy", "compact"),
            ("segment.ms", "1000"),
            ("delete.retention.ms", "5000"),
            ("min.cleanable.dirty.ratio", "0.01"),
        ];
        let mut log = log(&compact, "aAbb");
        assert_eq!(log.clean(at(4), Offset(4)), Some((1, 2)));
        let record = Record { key: Some("c".into()), value: None, timestamp: at(10) };
        for _ in 0..2 {
            let batch = RecordBatch::new(vec![record.clone()]);
            log.append(batch, LeaderEpoch(0)).expect("nobody sends twice");
        }
        assert_eq!(log.clean(at(10), Offset(6)), Some((1, 3)), "the tombstone and one of b");
    }

    #[test]
    fn horizons_are_of_tombstones_that_are_there() {
        let compact = [("cleanup.policy", "compact"), ("segment.ms", "1000")];
        let mut log = log(&compact, "AaBcc");
        assert_eq!(log.clean(at(5), Offset(5)), Some((3, 4)));
        let horizons = |log: &PartitionLog| -> Vec<i64> {
            log.segments().expect("some").horizons.keys().map(|offset| offset.0).collect()
        };
        assert_eq!(horizons(&log), [2], "the one of a is no more");
        log.truncate(Offset(2));
        assert_eq!((horizons(&log).len(), log.end()), (0, Offset(2)));
    }

    #[test]
    fn a_producers_last_sequence_outlives_its_records() {
        let compact = [("cleanup.policy", "compact"), ("segment.ms", "1000")];
        let stamped = |id, base_sequence, second| {
            let (producer_id, producer_epoch) = (ProducerId(id), ProducerEpoch(0));
            let producer = Some(ProducerStamp { producer_id, producer_epoch, base_sequence });
            let (key, value) = (Some("a".into()), Some("v".into()));
            let batch = RecordBatch::new(vec![Record { key, value, timestamp: at(second) }]);
            RecordBatch { producer, ..batch }
        };
        let mut log = PartitionLog::default();
        log.keep(config(&compact).expect("it shows"));
        for (second, (id, sequence)) in (0..).zip([(7, 0), (7, 1), (8, 0), (8, 1), (8, 2), (8, 3)])
        {
            log.append(stamped(id, sequence, second), LeaderEpoch(0)).expect("it is in order");
        }
        for _ in 0..2 {
            let mut replica = PartitionLog::default();
            log.batches().for_each(|batch| replica.append_fetched(batch.clone()));
            log.clean(at(9), Offset(6));
            assert_eq!(replica.append(stamped(7, 2, 9), LeaderEpoch(0)), Ok(Offset(6)));
            assert_eq!(replica.append(stamped(8, 4, 9), LeaderEpoch(0)), Ok(Offset(7)));
        }
        let bases: Vec<i64> = log.batches().map(|batch| batch.base_offset.0).collect();
        assert_eq!(bases, [2, 3, 4, 5], "where the first one ended, then what is left");
        log.truncate(Offset(5));
        assert_eq!(log.append(stamped(7, 2, 9), LeaderEpoch(0)), Ok(Offset(5)));
    }
}
