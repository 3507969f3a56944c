//! Keeping: as topics' settings say, old segments are deleted and old values of keys taken out.
//!
//! *Invariant: a broker none of whose logs is kept so changes nothing, and looks once at most.*

use std::sync::Arc;

use super::Replicas;
use crate::kafka::admin::{DeleteRecordsRequest, DeleteRecordsResponse};
use crate::kafka::broker::Turn;
use crate::kafka::error::Error;
use crate::kafka::id::{Offset, TopicName, TopicPartition};
use crate::kafka::partition::Partition;
use crate::kafka::record_size::batch_size;
use crate::kafka::release::Release;
use crate::kafka::segments::{CLEANER_BACKOFF, LogConfig, RETENTION_CHECK, cleans, every};
use crate::kafka::settings::Settings;
use crate::kafka::words::{BrokerFact, BrokerTimer, Text};
use crate::kafka::znodes::Config;
use crate::sim::Span;

/// After how long a broker looks for old segments first.
// Source: LogManager.InitialTaskDelayMs
const FIRST_LOOK: Span = Span::secs(30);

impl Replicas {
    /// Takes a topic's settings.
    pub fn configure(&mut self, topic: TopicName, config: Config, turn: &mut Turn<'_, '_>) {
        self.configs.insert(topic.clone(), Arc::new(config));
        let mine = self.partitions.values().filter(|partition| partition.tp.topic == topic);
        let mine: Vec<TopicPartition> = mine.map(|partition| partition.tp.clone()).collect();
        mine.iter().for_each(|tp| self.keep(tp, turn));
    }

    /// The broker's own settings are others now. Cleaners begin anew with theirs, and look at once.
    // Source: DynamicLogConfig.updateLogsConfig, LogCleaner.reconfigure
    pub fn reconfigured(&mut self, before: &Settings, turn: &mut Turn<'_, '_>) {
        let all: Vec<TopicPartition> = self.partitions.values().map(|p| p.tp.clone()).collect();
        all.iter().for_each(|tp| self.keep(tp, turn));
        let backoff = |settings: &Settings| every(CLEANER_BACKOFF, settings);
        if self.looks() && cleans(turn.settings) && backoff(before) != backoff(turn.settings) {
            self.clean_logs(turn);
        }
    }

    /// A log is kept as its topic's settings say; one that was kept so before, as it was until they
    /// are known.
    // Source: LogManager.getOrCreateLog, fetchLogConfig
    // Real: a topic's settings are read before its log is opened; here just after, because a
    // broker's machine does not wait for an answer in the midst of an order.
    pub(super) fn keep(&mut self, tp: &TopicPartition, turn: &mut Turn<'_, '_>) {
        let Some(partition) = self.partitions.get(tp) else { return };
        let topic = self.configs.get(&tp.topic).map(|config| &**config);
        let config = LogConfig::of(topic, turn.settings);
        let kept = match partition.log.segments() {
            Some(segments) => topic.is_none() || segments.config == config,
            None => !config.could_show(),
        };
        if !kept {
            let looks = self.looks();
            let partition = self.partitions.get_mut(tp).expect("it was just there");
            Arc::make_mut(partition).log.keep(config);
            if !looks {
                look_later(turn);
            }
        }
    }

    /// Looks for segments that are to go.
    // Source: LogManager.cleanupLogs
    pub fn delete_old_segments(&mut self, turn: &mut Turn<'_, '_>) {
        let now = turn.out.now();
        for tp in self.kept() {
            let partition = self.partitions.get_mut(&tp).expect("it was just there");
            let hw = partition.hw;
            if turn.settings.locks_open_files() && partition.log.is_overdue(now, hw) {
                return fail_at_oldest(partition, turn);
            }
            let segments = Arc::make_mut(partition).log.delete_old(now, hw);
            if let (Ok(segments @ 1..), start) = (i32::try_from(segments), partition.log.start()) {
                let partition = tp.clone();
                turn.out.tell(BrokerFact::SegmentsDeleted { partition, segments, start });
            }
        }
        if self.looks() {
            turn.out.arm(BrokerTimer::LogRetention, every(RETENTION_CHECK, turn.settings));
        }
    }

    /// How many bytes each log has.
    pub fn log_sizes(&self, release: Release) -> Vec<(TopicPartition, u64)> {
        let format = release.message_format();
        let size = |partition: &Arc<Partition>| {
            let batches = partition.log.batches();
            (partition.tp.clone(), batches.map(|batch| batch_size(batch, format)).sum())
        };
        self.partitions.values().map(size).collect()
    }

    /// Has logs begin later, each from its leader on; followers learn it with their next fetch.
    // Source: ReplicaManager.deleteRecords, Partition.deleteRecordsOnLeader
    // Real: it waits for the followers that live, and tells the least of all beginnings; here it
    // tells its own, because the others come to the same.
    pub fn delete_records(
        &mut self,
        request: DeleteRecordsRequest,
        turn: &mut Turn<'_, '_>,
    ) -> DeleteRecordsResponse {
        let mut partitions = Vec::new();
        for (tp, offset) in request.partitions {
            let begun = self.begin_later(&tp, offset, turn);
            partitions.push((tp, begun));
        }
        DeleteRecordsResponse { partitions }
    }

    fn begin_later(
        &mut self,
        tp: &TopicPartition,
        offset: Offset,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Offset, Error> {
        let looks = self.looks();
        let config = LogConfig::of(self.config(&tp.topic), turn.settings);
        let leads = |partition: &&mut Arc<Partition>| partition.leads();
        let Some(partition) = self.partitions.get_mut(tp).filter(leads) else {
            return Err(turn.cache.refusal(tp));
        };
        if !config.deletes() {
            return Err(Error::PolicyViolation);
        }
        let to = if offset == Offset::NONE { partition.hw } else { offset };
        if to < Offset(0) || to > partition.hw {
            return Err(Error::OffsetOutOfRange);
        }
        let log = &mut Arc::make_mut(partition).log;
        if to > log.start() {
            if log.segments().is_none() {
                log.keep(config);
            }
            log.advance_start(to);
            turn.out.tell(BrokerFact::RecordsDeleted { partition: tp.clone(), start: to });
            if !looks {
                look_later(turn);
            }
        }
        Ok(to)
    }

    /// Takes old values of keys out of the logs that are dirty enough.
    // Source: LogCleaner.CleanerThread.tryCleanFilthiestLog
    // Real: the dirtiest, then the next until none is dirty enough; here all at once, because
    // nothing it does takes time.
    pub fn clean_logs(&mut self, turn: &mut Turn<'_, '_>) {
        let now = turn.out.now();
        for tp in self.kept() {
            let partition = self.partitions.get_mut(&tp).expect("it was just there");
            let hw = partition.hw;
            if partition.log.segments().is_none_or(|segments| segments.cleanable(hw).is_none()) {
                continue;
            }
            if let Some((kept, of)) = Arc::make_mut(partition).log.clean(now, hw) {
                let partition = tp.clone();
                let (kept, of) = (kept as u64, of as u64);
                turn.out.tell(BrokerFact::LogCleaned { partition, kept, of });
            }
        }
        if self.looks() {
            turn.out.arm(BrokerTimer::LogCleaner, every(CLEANER_BACKOFF, turn.settings));
        }
    }

    /// Whether there is a log that is kept so, served or not.
    fn looks(&self) -> bool {
        let stored = || self.stored.values().any(|stored| stored.log.segments().is_some());
        self.partitions.values().any(|p| p.log.segments().is_some()) || stored()
    }

    /// The partitions whose logs do not stay in one segment.
    fn kept(&self) -> Vec<TopicPartition> {
        let kept = self.partitions.values().filter(|p| p.log.segments().is_some());
        kept.map(|partition| partition.tp.clone()).collect()
    }
}

/// The oldest segment's files are to be renamed, and one of them is mapped into memory; the only
/// log directory fails with that, and the broker with it.
// Source: LocalLog.deleteSegmentFiles, LogSegment.changeFileSuffixes, AbstractIndex.renameTo;
// LogManager.handleLogDirFailure (KIP-112); KAFKA-1194
fn fail_at_oldest(partition: &Partition, turn: &mut Turn<'_, '_>) {
    let oldest = partition.log.segments().and_then(|segments| segments.list.first());
    let base = oldest.map_or(Offset(0), |segment| segment.base);
    let file = Text(format!("{:020}.timeindex", base.0).into());
    turn.out.tell(BrokerFact::SegmentNotDeleted { partition: partition.tp.clone(), file });
    turn.out.exit(1);
}

/// The first look comes soon.
pub(super) fn look_later(turn: &mut Turn<'_, '_>) {
    let first = every(RETENTION_CHECK, turn.settings).min(FIRST_LOOK);
    turn.out.arm(BrokerTimer::LogRetention, first);
    if cleans(turn.settings) {
        turn.out.arm(BrokerTimer::LogCleaner, every(CLEANER_BACKOFF, turn.settings));
    }
}

/// Says which segments have begun since that one was written to.
pub(super) fn tell_of_rolls(partition: &Partition, active: Offset, turn: &mut Turn<'_, '_>) {
    let Some(segments) = partition.log.segments() else { return };
    for segment in &segments.list {
        if segment.base > active {
            let (partition, base) = (partition.tp.clone(), segment.base);
            turn.out.tell(BrokerFact::LogRolled { partition, base });
        }
    }
}
