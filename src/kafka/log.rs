//! A partition's log: batches with offsets, where leader epochs begin, and what producers have
//! sent.
//!
//! Not here: who may write to it (`partition`), HWs, and in which files it lies (`segments`).
//!
//! *Invariant: offsets grow, without gaps but where old values of a key were taken out; an epoch
//! begins where the one before it ends.*
// Source: UnifiedLog, LeaderEpochFileCache, ProducerStateManager (3.9)

use std::sync::Arc;

use super::admin::ProducerState;
use super::error::Error;
use super::id::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use super::java_hash::{self, Filling};
use super::message::{EpochEndOffset, TransactionResult};
use super::record::{Content, ProducerStamp, Record, RecordBatch};
use super::record_size::{MessageFormat, batch_size};
use super::segments::{LogConfig, Segments};
use crate::sim::{List, OrdMap, OrdSet, SimTime};

/// How many batches of a producer are remembered.
// Source: ProducerStateEntry.NUM_BATCHES_TO_RETAIN
const BATCHES_REMEMBERED: usize = 5;

/// A batch that a producer has sent: its first and last sequence, and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sent {
    first: i32,
    last: i32,
    offset: Offset,
}

/// What is known of a producer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Producer {
    epoch: ProducerEpoch,
    sent: Vec<Sent>,
    /// Where its open transaction begins.
    open_from: Option<Offset>,
    /// When it wrote last, or its transaction was ended.
    last_timestamp: SimTime,
    /// The epoch of the coordinator that has ended a transaction last.
    coordinator_epoch: Option<LeaderEpoch>,
}

/// A transaction that has ended: where it begins, where its marker lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ended {
    producer: ProducerId,
    first: Offset,
    last: Offset,
    result: TransactionResult,
}

/// The log of one replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionLog {
    /// The id of the topic that it belongs to, as the controller told it first (2.8+,
    /// `partition.metadata`).
    pub topic_id: Option<Arc<str>>,
    batches: List<RecordBatch>,
    end: Offset,
    epochs: List<(LeaderEpoch, Offset)>,
    producers: OrdMap<ProducerId, Producer>,
    ended: List<Ended>,
    /// Its segments, unless all is in one from 0 on and stays there.
    segments: Option<Box<Segments>>,
}

impl Default for PartitionLog {
    fn default() -> PartitionLog {
        PartitionLog {
            topic_id: None,
            batches: List::new(),
            end: Offset(0),
            epochs: List::new(),
            producers: OrdMap::new(),
            ended: List::new(),
            segments: None,
        }
    }
}

impl PartitionLog {
    /// Where it begins.
    pub fn start(&self) -> Offset {
        self.segments.as_ref().map_or(Offset(0), |segments| segments.start)
    }

    /// Its segments, if it does not stay in one.
    pub fn segments(&self) -> Option<&Segments> {
        self.segments.as_deref()
    }

    /// Where the segment begins that is written to.
    pub fn active_base(&self) -> Offset {
        self.segments.as_ref().map_or(Offset(0), |segments| segments.active().base)
    }

    /// Is kept so from now on. What is there already stays in one segment.
    pub fn keep(&mut self, config: LogConfig) {
        match &mut self.segments {
            Some(segments) => segments.config = config,
            None => {
                let segments = Segments::of(config, Offset(0), self.batches.iter());
                self.segments = Some(Box::new(segments));
            }
        }
    }

    /// Whether segments are to go.
    pub fn is_overdue(&self, now: SimTime, hw: Offset) -> bool {
        self.segments.as_ref().is_some_and(|segments| segments.overdue(now, hw, self.end) > 0)
    }

    /// Deletes the segments that are too old or too many; how many.
    // Source: UnifiedLog.deleteOldSegments, LeaderEpochFileCache.truncateFromStart
    pub fn delete_old(&mut self, now: SimTime, hw: Offset) -> usize {
        let end = self.end;
        let Some(segments) = &mut self.segments else { return 0 };
        let count = segments.overdue(now, hw, end);
        if count > 0 {
            segments.delete(count, now, end);
            let (first, start) = (segments.list[0].base, segments.start);
            self.batches =
                self.batches.iter().filter(|batch| batch.base_offset >= first).cloned().collect();
            self.ended = self.ended.iter().filter(|ended| ended.last >= start).copied().collect();
            let (old, mut kept): (Vec<_>, Vec<_>) =
                self.epochs.iter().partition(|(_, begin)| *begin <= start);
            kept.splice(..0, old.last().map(|(epoch, _)| (*epoch, start)));
            self.epochs = kept.into_iter().collect();
        }
        count
    }

    /// The leader's log begins there now; the files go at the next look.
    // Source: UnifiedLog.maybeIncrementLogStartOffset
    pub fn advance_start(&mut self, to: Offset) {
        let to = to.min(self.end);
        if let Some(segments) = self.segments.as_mut().filter(|segments| segments.start < to) {
            segments.start = to;
        }
    }

    /// Forgets everything, and begins there.
    // Source: UnifiedLog.truncateFullyAndStartAt
    pub fn begin_at(&mut self, start: Offset) {
        if let Some(segments) = &mut self.segments {
            segments.begin_at(start);
            let (segments, topic_id) = (self.segments.take(), self.topic_id.take());
            *self = PartitionLog { end: start, segments, topic_id, ..PartitionLog::default() };
        }
    }

    /// Takes old values of keys out, if enough is new; how many records stay, of how many.
    // Source: LogCleaner.cleanFilthiestLog, Cleaner.buildOffsetMap, Cleaner.cleanSegments
    // Real: a batch keeps its first and last offset, whatever is taken out of it; here what is left
    // of one without a gap is a batch of its own, because each batch counts its records. Markers go
    // with what they end, after a while; here they stay, because they are few.
    pub fn clean(&mut self, now: SimTime, hw: Offset) -> Option<(usize, usize)> {
        let decided = self.last_stable_offset(hw);
        let limit = self.segments.as_ref()?.cleanable(decided)?;
        let old: Vec<RecordBatch> =
            self.batches.iter().filter(|batch| batch.base_offset < limit).cloned().collect();
        let horizons = std::mem::take(&mut self.segments.as_mut()?.horizons);
        let (mut newer, mut kept, mut of) = (OrdSet::<Arc<str>>::new(), Vec::new(), 0);
        for batch in old.iter().rev() {
            let aborted = self.is_aborted(batch);
            let segments = self.segments.as_mut()?;
            for place in (0..batch.records.len()).rev() {
                let (record, offset) = (&batch.records[place], batch.base_offset.0 + place as i64);
                let offset = Offset(offset);
                let is_last = |key: &Content| newer.insert(key.to_string().into());
                of += 1;
                let stays = batch.marker().is_some()
                    || (!aborted
                        && record.key.as_ref().is_some_and(is_last)
                        && (record.value.is_some() || segments.still(&horizons, offset, now)));
                if stays {
                    kept.push((offset, batch, record));
                }
            }
        }
        kept.reverse();
        let mut batches = joined(&kept);
        for end in self.ends_of_producers(&old, &kept, limit) {
            let at = batches.partition_point(|batch| batch.base_offset < end.base_offset);
            batches.insert(at, end);
        }
        let rest = self.batches.iter().filter(|batch| batch.base_offset >= limit);
        batches.extend(rest.cloned());
        self.segments.as_mut()?.cleaned(limit, batches.iter());
        let count = kept.len();
        self.batches = batches.into_iter().collect();
        Some((count, of))
    }

    /// Where producers' last batches ended whose last records go: batches without any, so that
    /// whoever has only what is left still knows which sequence comes next.
    // Source: Cleaner.cleanInto: isLatestBatchForProducer, RETAIN_EMPTY (KAFKA-4586, 0.11)
    fn ends_of_producers(
        &self,
        old: &[RecordBatch],
        kept: &[(Offset, &RecordBatch, &Record)],
        limit: Offset,
    ) -> Vec<RecordBatch> {
        let (mut ends, mut seen) = (Vec::new(), Vec::new());
        for batch in old.iter().rev() {
            let Some(stamp) = batch.producer.filter(|stamp| stamp.base_sequence >= 0) else {
                continue;
            };
            let next = stamp.base_sequence + batch.count();
            let known = self.producers.get(&stamp.producer_id);
            let known = known.filter(|known| known.epoch == stamp.producer_epoch);
            let last = known.and_then(|known| known.sent.last());
            let is_last = last.is_some_and(|sent| sent.last + 1 == next && sent.offset <= limit);
            let stays = kept.iter().any(|(offset, _, _)| *offset == batch.last_offset());
            let is_whole = stays && batch.count() > 0;
            if is_last && !is_whole && !seen.contains(&stamp.producer_id) {
                let stamp = ProducerStamp { base_sequence: next, ..stamp };
                let (base_offset, records) = (batch.next_offset(), Arc::default());
                let producer = Some(stamp);
                ends.push(RecordBatch { base_offset, producer, records, ..batch.clone() });
            }
            seen.push(stamp.producer_id);
        }
        ends
    }

    /// Whether a batch is of a transaction that was aborted.
    // Source: CleanedTransactionMetadata.onBatchRead
    fn is_aborted(&self, batch: &RecordBatch) -> bool {
        let producer = batch.producer.filter(|_| batch.is_transactional).map(|p| p.producer_id);
        self.ended.iter().any(|ended| {
            Some(ended.producer) == producer
                && ended.result == TransactionResult::Abort
                && (ended.first..ended.last).contains(&batch.base_offset)
        })
    }

    /// The offset that the next record gets (LEO).
    pub fn end(&self) -> Offset {
        self.end
    }

    /// All batches in order.
    pub fn batches(&self) -> impl Iterator<Item = &RecordBatch> {
        self.batches.iter()
    }

    /// All records in order, with their offsets.
    pub fn records(&self) -> impl Iterator<Item = (Offset, &Record)> {
        self.batches.iter().flat_map(RecordBatch::enumerate)
    }

    /// The epochs and where each begins.
    pub fn epochs(&self) -> impl Iterator<Item = (LeaderEpoch, Offset)> + '_ {
        self.epochs.iter().copied()
    }

    /// The epoch of the last record, or of the leadership that began last.
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.epochs.last().map(|&(epoch, _)| epoch)
    }

    /// Notes that a leader epoch begins at the end of the log.
    pub fn begin_epoch(&mut self, epoch: LeaderEpoch) {
        if self.latest_epoch().is_none_or(|latest| latest < epoch) {
            while self.epochs.last().is_some_and(|&(_, start)| start >= self.end) {
                self.epochs.pop();
            }
            self.epochs.push((epoch, self.end));
        }
    }

    /// Appends as leader: the batch gets its offsets. A batch that lies here already is given back
    /// by its old offset.
    pub fn append(&mut self, batch: RecordBatch, epoch: LeaderEpoch) -> Result<Offset, Error> {
        if let Some(offset) = self.already_here(&batch)? {
            return Ok(offset);
        }
        let batch = batch.appended(self.end, epoch);
        let base = batch.base_offset;
        self.store(batch);
        Ok(base)
    }

    /// Appends as follower. Where offsets are missing, the leader has none of them any more.
    pub fn append_fetched(&mut self, batch: RecordBatch) {
        assert!(batch.base_offset >= self.end, "offsets grow");
        self.begin_epoch(batch.partition_leader_epoch);
        self.store(batch);
    }

    fn store(&mut self, batch: RecordBatch) {
        self.end = batch.next_offset();
        self.remember(&batch);
        if let Some(segments) = &mut self.segments {
            segments.take(&batch);
        }
        self.batches.push(batch);
    }

    /// All who have written with a producer id, as a hash map hands them out.
    // Source: UnifiedLog.activeProducers, ProducerStateManager.activeProducers
    pub fn producers(&self) -> Vec<ProducerState> {
        let state = |(&producer_id, known): (&ProducerId, &Producer)| ProducerState {
            producer_id,
            producer_epoch: known.epoch,
            last_sequence: known.sent.last().map_or(-1, |sent| sent.last),
            last_timestamp: known.last_timestamp,
            coordinator_epoch: known.coordinator_epoch,
            current_txn_start_offset: known.open_from,
        };
        let mut producers: Vec<ProducerState> = self.producers.iter().map(state).collect();
        java_hash::in_table_order(&mut producers, Filling::Full, |of| {
            java_hash::of_long(of.producer_id.0)
        });
        producers
    }

    /// The batches from `from` on, but none that begins at or beyond `limit`.
    pub fn between(&self, from: Offset, limit: Offset) -> impl Iterator<Item = &RecordBatch> {
        let places = self.place_of(from)..self.batches.len();
        let batches = places.map(|place| &self.batches[place]);
        batches.take_while(move |batch| batch.base_offset < limit)
    }

    /// The batches from `from` on, but none that begins at or beyond `limit`, and about
    /// `max_bytes`. Where records are written alone, the first is the one asked for.
    // Source: FileMessageSet.searchFor (0.10)
    pub fn read(
        &self,
        (from, limit): (Offset, Offset),
        max_bytes: i32,
        format: MessageFormat,
    ) -> Vec<RecordBatch> {
        let mut found = Vec::new();
        let mut bytes = 0;
        for place in self.place_of(from)..self.batches.len() {
            let batch = &self.batches[place];
            bytes += batch_size(batch, format);
            let full = !found.is_empty() && bytes > u64::from(max_bytes.max(0).unsigned_abs());
            if batch.base_offset >= limit || full {
                break;
            }
            let begins_within = batch.base_offset < from && !format.has_batches();
            found.push(if begins_within { batch.cut_before(from) } else { batch.clone() });
        }
        found
    }

    /// Up to where all transactions are decided, by what is below the HW (LSO).
    // Source: UnifiedLog.fetchLastStableOffsetMetadata, ProducerStateManager.firstUnstableOffset
    pub fn last_stable_offset(&self, hw: Offset) -> Offset {
        let open = self.producers.values().filter_map(|producer| producer.open_from);
        let undecided = self.ended.iter().filter(|ended| ended.last >= hw);
        open.chain(undecided.map(|ended| ended.first)).fold(hw, Offset::min)
    }

    /// The aborted transactions that have something between the two.
    // Source: TransactionIndex.collectAbortedTxns
    pub fn aborted(&self, from: Offset, limit: Offset) -> Vec<(ProducerId, Offset)> {
        let among = |ended: &&Ended| {
            ended.result == TransactionResult::Abort && ended.last >= from && ended.first < limit
        };
        let found = self.ended.iter().filter(among);
        found.map(|ended| (ended.producer, ended.first)).collect()
    }

    /// Whether anything lies between the two.
    pub fn holds_any(&self, from: Offset, limit: Offset) -> bool {
        from < limit && from < self.end
    }

    /// The records that count, in the order in which that was decided, and those of open
    /// transactions.
    // Source: GroupMetadataManager.doLoadGroupsAndOffsets
    pub fn decided(&self) -> (Vec<Record>, OrdMap<ProducerId, Vec<Record>>) {
        let (mut decided, mut open) = (Vec::new(), OrdMap::<ProducerId, Vec<Record>>::new());
        for batch in self.batches.iter() {
            let producer = batch.producer.map_or(ProducerId(-1), |stamp| stamp.producer_id);
            match batch.marker() {
                Some(TransactionResult::Commit) => {
                    decided.extend(open.remove(&producer).into_iter().flatten())
                }
                Some(TransactionResult::Abort) => drop(open.remove(&producer)),
                None if batch.is_transactional => {
                    open.entry(producer).or_default().extend(batch.records.iter().cloned());
                }
                None => decided.extend(batch.records.iter().cloned()),
            }
        }
        (decided, open)
    }

    /// The first record that is not older than this.
    pub fn find_time(&self, time: SimTime) -> Option<Offset> {
        let start = self.start();
        let mut records = self.records().filter(|(offset, _)| *offset >= start);
        records.find(|(_, record)| record.timestamp >= time).map(|(offset, _)| offset)
    }

    /// Where the batch begins that lies so many before the one that holds an offset.
    pub fn before(&self, offset: Offset, batches: usize) -> Offset {
        let place = self.place_of(offset).saturating_sub(batches);
        self.batches.get(place).map_or(self.end, |batch| batch.base_offset)
    }

    /// The place of the batch that holds an offset.
    fn place_of(&self, offset: Offset) -> usize {
        let (mut low, mut high) = (0, self.batches.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.batches[middle].next_offset() <= offset {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// Where an epoch ends: the largest known that is not above it, and the offset after its last
    /// record. `None` if it is above all that are known.
    // Source: LeaderEpochFileCache.endOffsetFor
    pub fn end_of_epoch(&self, epoch: LeaderEpoch) -> Option<EpochEndOffset> {
        let latest = self.latest_epoch()?;
        if epoch > latest {
            return None;
        }
        if epoch == latest {
            return Some(EpochEndOffset { leader_epoch: epoch, end_offset: self.end });
        }
        let mut known = None;
        for &(candidate, start) in self.epochs.iter() {
            if candidate > epoch {
                let leader_epoch = known.unwrap_or(epoch);
                return Some(EpochEndOffset { leader_epoch, end_offset: start });
            }
            known = Some(candidate);
        }
        None
    }

    /// Cuts everything from an offset on. An epoch that began there goes too, though nothing was
    /// written in it: it is what a leader leaves that was replaced before it had appended.
    // Source: UnifiedLog.truncateTo
    pub fn truncate(&mut self, to: Offset) {
        if to < self.start() {
            return self.begin_at(to);
        }
        while self.epochs.last().is_some_and(|&(_, start)| start >= to.min(self.end)) {
            self.epochs.pop();
        }
        if to >= self.end {
            return;
        }
        // A batch goes whole; where none has been for a while, the end is still what was asked.
        let mut end = to;
        while let Some(batch) = self.batches.last().filter(|batch| batch.next_offset() > to) {
            end = end.min(batch.base_offset);
            self.batches.pop();
        }
        self.end = end.max(self.start());
        if let Some(segments) = &mut self.segments {
            segments.cut(to, self.batches.iter());
        }
        self.producers = OrdMap::new();
        self.ended = List::new();
        for batch in self.batches.clone().iter() {
            self.remember(batch);
        }
    }

    fn remember(&mut self, batch: &RecordBatch) {
        let Some(stamp) = batch.producer else { return };
        let known = self.producers.get(&stamp.producer_id);
        let mut open_from = known.and_then(|known| known.open_from);
        let mut coordinator_epoch = known.and_then(|known| known.coordinator_epoch);
        let before = known.map(|known| known.last_timestamp);
        let last_timestamp = batch.newest().or(before).unwrap_or(SimTime::ZERO);
        let known = known.filter(|known| known.epoch == stamp.producer_epoch);
        let mut sent = known.map_or_else(Vec::new, |known| known.sent.clone());
        match batch.marker() {
            Some(result) => {
                let (producer, last) = (stamp.producer_id, batch.base_offset);
                let ended = open_from.take().map(|first| Ended { producer, first, last, result });
                ended.into_iter().for_each(|ended| self.ended.push(ended));
                coordinator_epoch = batch.coordinator_epoch();
            }
            None => {
                let (first, last) = (stamp.base_sequence, stamp.base_sequence + batch.count() - 1);
                sent.push(Sent { first, last, offset: batch.base_offset });
                open_from = open_from.or(batch.is_transactional.then_some(batch.base_offset));
            }
        }
        if sent.len() > BATCHES_REMEMBERED {
            sent.remove(0);
        }
        let epoch = stamp.producer_epoch;
        let producer = Producer { epoch, sent, open_from, last_timestamp, coordinator_epoch };
        self.producers.insert(stamp.producer_id, producer);
    }

    /// Where a batch lies that was sent twice; an error if one before it is missing.
    // Source: ProducerAppendInfo.checkSequence, checkCoordinatorEpoch;
    // UnifiedLog.analyzeAndValidateProducerState
    fn already_here(&self, batch: &RecordBatch) -> Result<Option<Offset>, Error> {
        let Some(stamp) = batch.producer else { return Ok(None) };
        let Some(known) = self.producers.get(&stamp.producer_id) else {
            return Ok(None);
        };
        if stamp.producer_epoch < known.epoch {
            return Err(Error::InvalidProducerEpoch);
        }
        if batch.marker().is_some() && batch.coordinator_epoch() < known.coordinator_epoch {
            return Err(Error::TransactionCoordinatorFenced);
        }
        // Coordinators number nothing.
        let by_client = |record: &Record| !matches!(record.key, Some(Content::OffsetsKey(_)));
        if batch.marker().is_some() || !batch.records.iter().all(by_client) {
            return Ok(None);
        }
        if stamp.producer_epoch > known.epoch {
            return match stamp.base_sequence {
                0 => Ok(None),
                _ => Err(Error::OutOfOrderSequenceNumber),
            };
        }
        let last = stamp.base_sequence + batch.count() - 1;
        let twice = known.sent.iter().find(|s| (s.first, s.last) == (stamp.base_sequence, last));
        if let Some(sent) = twice {
            return Ok(Some(sent.offset));
        }
        match known.sent.last() {
            Some(before) if stamp.base_sequence != before.last + 1 => {
                Err(Error::OutOfOrderSequenceNumber)
            }
            _ => Ok(None),
        }
    }
}

/// Records that stay, as batches: those of one batch that follow each other are one.
fn joined(kept: &[(Offset, &RecordBatch, &Record)]) -> Vec<RecordBatch> {
    let mut batches = Vec::new();
    let mut rest = kept;
    while let Some(&(base, batch, _)) = rest.first() {
        let follow = |place: usize, (offset, of, _): &(Offset, &RecordBatch, &Record)| {
            of.base_offset == batch.base_offset && offset.0 == base.0 + place as i64
        };
        let count = (0..rest.len()).take_while(|&place| follow(place, &rest[place])).count();
        let records: Vec<Record> = rest[..count].iter().map(|(_, _, r)| (*r).clone()).collect();
        let skipped = i32::try_from(base.0 - batch.base_offset.0).expect("batches are small");
        let producer = batch
            .producer
            .map(|stamp| ProducerStamp { base_sequence: stamp.base_sequence + skipped, ..stamp });
        batches.push(RecordBatch {
            base_offset: base,
            producer,
            records: records.into(),
            ..batch.clone()
        });
        rest = &rest[count..];
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::SimTime;

    fn batch(count: usize) -> RecordBatch {
        let record = Record { key: None, value: Some("v".into()), timestamp: SimTime::ZERO };
        RecordBatch::new(vec![record; count])
    }

    #[test]
    fn an_open_transaction_holds_the_lso_back() {
        let part = |producer: i64, base_sequence: i32, key: Option<Content>| {
            let stamp = ProducerStamp {
                producer_id: ProducerId(producer),
                producer_epoch: ProducerEpoch(0),
                base_sequence,
            };
            let record = Record { key, value: Some("v".into()), timestamp: SimTime::ZERO };
            let batch = RecordBatch::new(vec![record]);
            RecordBatch { producer: Some(stamp), is_transactional: true, ..batch }
        };
        let abort = || Some(Content::MarkerKey(TransactionResult::Abort));
        let mut log = log(&[(0, 1)]);
        let mut append = |batch| log.append(batch, LeaderEpoch(0)).expect("it is in order");
        append(part(7, 0, None));
        append(part(8, 0, None));
        append(part(7, -1, abort()));
        assert_eq!(log.last_stable_offset(Offset(4)), Offset(2));
        assert_eq!(log.aborted(Offset(0), Offset(4)), [(ProducerId(7), Offset(1))]);
        log.append(part(8, -1, abort()), LeaderEpoch(0)).expect("it is in order");
        assert_eq!(log.last_stable_offset(Offset(4)), Offset(2), "its end is not committed yet");
        assert_eq!(log.last_stable_offset(Offset(5)), Offset(5));
        log.truncate(Offset(3));
        assert_eq!(log.last_stable_offset(Offset(3)), Offset(1));
    }

    fn log(epochs: &[(i32, usize)]) -> PartitionLog {
        let mut log = PartitionLog::default();
        for &(epoch, count) in epochs {
            log.begin_epoch(LeaderEpoch(epoch));
            log.append(batch(count), LeaderEpoch(epoch)).expect("nobody sends twice");
        }
        log
    }

    #[test]
    fn an_epoch_ends_where_the_next_begins() {
        let log = log(&[(0, 3), (2, 2), (5, 1)]);
        let table = [(0, Some((0, 3))), (1, Some((0, 3))), (2, Some((2, 5))), (4, Some((2, 5)))];
        for (epoch, expected) in table.into_iter().chain([(5, Some((5, 6))), (6, None)]) {
            let end = log.end_of_epoch(LeaderEpoch(epoch));
            assert_eq!(end.map(|end| (end.leader_epoch.0, end.end_offset.0)), expected, "{epoch}");
        }
    }

    #[test]
    fn what_is_cut_is_gone_with_its_epochs() {
        let mut log = log(&[(0, 3), (2, 2), (5, 1)]);
        log.truncate(Offset(3));
        assert_eq!((log.end(), log.latest_epoch()), (Offset(3), Some(LeaderEpoch(0))));
        assert_eq!(log.read((Offset(0), Offset(9)), 1 << 20, MessageFormat::V2).len(), 1);
    }

    #[test]
    fn reading_begins_with_the_batch_that_holds_the_offset() {
        let log = log(&[(0, 3), (0, 2), (0, 1)]);
        let bases = |from, limit, bytes| -> Vec<i64> {
            let found = log.read((Offset(from), Offset(limit)), bytes, MessageFormat::V2);
            found.iter().map(|batch| batch.base_offset.0).collect()
        };
        assert_eq!(bases(1, 9, 1 << 20), [0, 3, 5]);
        assert_eq!(bases(3, 5, 1 << 20), [3]);
        assert_eq!(bases(0, 9, 1), [0]);
        assert_eq!(bases(6, 9, 1 << 20).len(), 0);
    }

    #[test]
    fn a_batch_sent_twice_lies_here_once() {
        let mut log = PartitionLog::default();
        let stamped = |base_sequence| {
            let (producer_id, producer_epoch) = (ProducerId(7), ProducerEpoch(0));
            let producer = Some(ProducerStamp { producer_id, producer_epoch, base_sequence });
            RecordBatch { producer, ..batch(2) }
        };
        let mut send = |sequence| log.append(stamped(sequence), LeaderEpoch(0));
        assert_eq!(send(0), Ok(Offset(0)));
        assert_eq!(send(2), Ok(Offset(2)));
        assert_eq!(send(0), Ok(Offset(0)));
        assert_eq!(send(6), Err(Error::OutOfOrderSequenceNumber));
        assert_eq!(log.end(), Offset(4));
    }

    #[test]
    fn a_follower_takes_what_its_leader_has() {
        let mut log = PartitionLog::default();
        let mut fetch = |base| log.append_fetched(batch(1).appended(Offset(base), LeaderEpoch(0)));
        [0, 1, 5, 6].into_iter().for_each(&mut fetch);
        assert_eq!(log.end(), Offset(7));
        for (to, end, left) in [(7, 7, 4), (6, 6, 3), (4, 4, 2), (2, 2, 2), (1, 1, 1)] {
            let mut cut = log.clone();
            cut.truncate(Offset(to));
            assert_eq!((cut.end(), cut.batches().count()), (Offset(end), left), "cut to {to}");
        }
        let mut whole = PartitionLog::default();
        whole.append(batch(3), LeaderEpoch(0)).expect("nobody sends twice");
        whole.truncate(Offset(1));
        assert_eq!(whole.end(), Offset(0), "a batch goes whole");
    }
}
