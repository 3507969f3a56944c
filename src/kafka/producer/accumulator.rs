//! Where records wait to be sent: batches by partition, and the choice of the partition.
//!
//! *Invariant: the queue of a partition is in the order in which its records are to be in the log.*

use std::collections::VecDeque;

use super::words::{Keyless, ProducerSettings, ToSend};
use crate::kafka::client::{ClusterView, Shown};
use crate::kafka::id::{ProducerEpoch, ProducerId, TopicName, TopicPartition};
use crate::kafka::partitioner::{self, Choice};
use crate::kafka::record::{Content, ProducerStamp, Record, RecordBatch};
use crate::kafka::words::Words;
use crate::sim::{Draw, OrdMap, Outbox, SimTime, Span};

/// Which partition a run of records without a key goes to.
const STICKY_PARTITION: Draw = Draw("sticky-partition");
/// Where a round of records without a key begins.
const ROUND_ROBIN_START: Draw = Draw("round-robin-start");

/// Records of one partition that travel together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Batch {
    records: Vec<Record>,
    bytes: u32,
    /// Since when the first record waits.
    pub(super) since: SimTime,
    stamp: Option<ProducerStamp>,
    /// How often it was sent.
    pub(super) attempts: u32,
    /// How often of these nobody took it: there was no connection.
    pub(super) refused: u32,
}

impl Batch {
    /// The batch as it is sent.
    pub(super) fn sent(&self) -> RecordBatch {
        let batch = RecordBatch::new(self.records.clone());
        RecordBatch { producer: self.stamp, ..batch }
    }

    /// Keys and values.
    pub(super) fn shown(&self) -> Vec<(Shown, Shown)> {
        let shown =
            |record: &Record| (Shown::of(record.key.as_ref()), Shown::of(record.value.as_ref()));
        self.records.iter().map(shown).collect()
    }

    /// Whether it was given a sequence.
    pub(super) fn is_numbered(&self) -> bool {
        self.stamp.is_some()
    }

    fn count(&self) -> u64 {
        self.records.len() as u64
    }
}

/// What waits for one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Queue {
    batches: VecDeque<Batch>,
    under_way: VecDeque<u64>,
    next_sequence: i32,
}

impl Queue {
    /// Whether a batch may be sent: one that came back waits for those before it in the sequence.
    // Source: RecordAccumulator.shouldStopDrainBatchesForPartition (KAFKA-5494)
    fn is_next(&self, batch: &Batch) -> bool {
        let Some(stamp) = batch.stamp.filter(|_| !self.under_way.is_empty()) else { return true };
        let waiting = self.batches.iter().filter(|batch| batch.is_numbered()).map(Batch::count);
        let open: u64 = self.under_way.iter().copied().chain(waiting).sum();
        i64::from(stamp.base_sequence) <= i64::from(self.next_sequence) - open.cast_signed()
    }
}

/// What a run of records without a key keeps in mind, by topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Run {
    partition: i32,
    bytes: u32,
    turn: u32,
}

/// All that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Accumulator {
    queues: OrdMap<TopicPartition, Queue>,
    runs: OrdMap<TopicName, Run>,
}

impl Accumulator {
    /// The partition of a record: its own, its key's, or by the rule for records without a key.
    // Source: KafkaProducer.partition
    pub(super) fn choose(
        &mut self,
        record: &ToSend,
        (count, view): (i32, &ClusterView),
        settings: &ProducerSettings,
        out: &mut Outbox<'_, Words>,
    ) -> TopicPartition {
        let key = record.key.as_ref().map(|key| key.as_bytes());
        let chosen = record
            .partition
            .map_or_else(|| settings.partitioner.choose(key, count), Choice::Partition);
        let partition = match chosen {
            Choice::Partition(partition) => partition,
            Choice::Free => {
                let available = view.available(&record.topic);
                self.free_choice(record, (count, &available), settings, out)
            }
        };
        TopicPartition::new(record.topic.clone(), partition)
    }

    fn free_choice(
        &mut self,
        record: &ToSend,
        (count, available): (i32, &[i32]),
        settings: &ProducerSettings,
        out: &mut Outbox<'_, Words>,
    ) -> i32 {
        let run = self.runs.get(&record.topic).copied();
        let next = match settings.keyless() {
            Keyless::RoundRobin => {
                let mut start = || out.draw(ROUND_ROBIN_START, 0..1 << 31);
                let turn = run.map_or_else(|| u32::try_from(start()).unwrap_or(0), |run| run.turn);
                let partition = partitioner::round_robin(turn, count, available);
                Run { partition, bytes: 0, turn: turn.wrapping_add(1) }
            }
            Keyless::StickyBatch => match run.filter(|run| self.has_room(record, run, settings)) {
                Some(run) => run,
                None => drawn(run.map(|run| run.partition), (count, available), out),
            },
            Keyless::StickyBytes => match run.filter(|run| run.bytes < settings.batch_size) {
                Some(run) => run,
                None => drawn(None, (count, available), out),
            },
            Keyless::Drawn => drawn(None, (count, available), out),
        };
        let bytes = next.bytes + size(record);
        self.runs.insert(record.topic.clone(), Run { bytes, ..next });
        next.partition
    }

    fn has_room(&self, record: &ToSend, run: &Run, settings: &ProducerSettings) -> bool {
        let partition = TopicPartition::new(record.topic.clone(), run.partition);
        let last = self.queues.get(&partition).and_then(|queue| queue.batches.back());
        last.is_some_and(|batch| batch.takes(size(record), settings))
    }

    // Source: RecordAccumulator.append
    pub(super) fn append(
        &mut self,
        partition: TopicPartition,
        record: ToSend,
        settings: &ProducerSettings,
        out: &mut Outbox<'_, Words>,
    ) {
        let bytes = size(&record);
        let (key, value) = (record.key.map(Content::Text), record.value.map(Content::Text));
        let record = Record { key, value, timestamp: out.now() };
        let queue = self.queues.entry(partition).or_default();
        match queue.batches.back_mut().filter(|batch| batch.takes(bytes, settings)) {
            Some(batch) => {
                batch.records.push(record);
                batch.bytes += bytes;
            }
            None => {
                let since = out.now();
                let records = vec![record];
                queue.batches.push_back(Batch {
                    records,
                    bytes,
                    since,
                    stamp: None,
                    attempts: 0,
                    refused: 0,
                });
            }
        }
    }

    /// The partitions whose first batch may be sent.
    pub(super) fn ready(&self, settings: &ProducerSettings, now: SimTime) -> Vec<TopicPartition> {
        let ready = |queue: &Queue| {
            let Some(first) = queue.batches.front().filter(|first| queue.is_next(first)) else {
                return false;
            };
            let full = queue.batches.len() > 1 || first.bytes >= settings.batch_size;
            full || first.attempts > 0 || first.since + settings.linger <= now
        };
        self.queues.iter().filter(|(_, queue)| ready(queue)).map(|(p, _)| p.clone()).collect()
    }

    /// When the next batch has waited long enough, if none has yet.
    pub(super) fn ripens(&self, settings: &ProducerSettings, now: SimTime) -> Option<SimTime> {
        let first = self.queues.values().filter_map(|queue| queue.batches.front());
        first.map(|batch| batch.since + settings.linger).filter(|&ripe| ripe > now).min()
    }

    /// Takes the first batch to send it. The first time it gets its sequence.
    pub(super) fn take(
        &mut self,
        partition: &TopicPartition,
        identity: Option<(ProducerId, ProducerEpoch)>,
    ) -> Option<Batch> {
        let queue = self.queues.get_mut(partition)?;
        let mut batch = queue.batches.pop_front()?;
        batch.attempts += 1;
        if let (None, Some((producer_id, producer_epoch))) = (batch.stamp, identity) {
            let base_sequence = queue.next_sequence;
            batch.stamp = Some(ProducerStamp { producer_id, producer_epoch, base_sequence });
            let count = i32::try_from(batch.records.len()).expect("batches are small");
            queue.next_sequence = queue.next_sequence.wrapping_add(count) & i32::MAX;
        }
        queue.under_way.push_back(batch.count());
        Some(batch)
    }

    /// A batch that was sent has come to its end, or back.
    pub(super) fn done(&mut self, partition: &TopicPartition) {
        if let Some(queue) = self.queues.get_mut(partition) {
            queue.under_way.pop_front();
        }
    }

    /// Puts a batch back before all that came after it.
    // Source: RecordAccumulator.reenqueue, insertInSequenceOrder
    pub(super) fn put_back(&mut self, partition: TopicPartition, batch: Batch) {
        let queue = self.queues.entry(partition).or_default();
        let sequence = |batch: &Batch| batch.stamp.map(|stamp| stamp.base_sequence);
        let earlier = |other: &&Batch| {
            other.stamp.is_some() && sequence(other) < sequence(&batch) && other.attempts > 0
        };
        let place = queue.batches.iter().take_while(earlier).count();
        queue.batches.insert(place, batch);
    }

    /// Takes the sequences of all waiting batches back.
    pub(super) fn number_anew(&mut self) {
        for queue in self.queues.values_mut() {
            queue.next_sequence = 0;
            queue.batches.iter_mut().for_each(|batch| batch.stamp = None);
        }
    }

    /// Takes out the batches that have waited too long.
    pub(super) fn expire(&mut self, limit: Span, now: SimTime) -> Vec<(TopicPartition, Batch)> {
        let mut expired = Vec::new();
        for (partition, queue) in &mut self.queues {
            while queue.batches.front().is_some_and(|batch| batch.since + limit <= now) {
                let batch = queue.batches.pop_front().expect("it was just seen");
                expired.push((partition.clone(), batch));
            }
        }
        expired
    }

    /// Since when the oldest queued batch waits.
    pub(super) fn oldest(&self) -> Option<SimTime> {
        self.queues.values().filter_map(|queue| queue.batches.front()).map(|b| b.since).min()
    }

    /// Of each queued batch that has been sent before: how often.
    pub(super) fn again(&self) -> impl Iterator<Item = u32> {
        let batches = self.queues.values().flat_map(|queue| &queue.batches);
        batches.map(|batch| batch.attempts).filter(|&attempts| attempts > 0)
    }

    /// How many records are queued.
    pub(super) fn queued(&self) -> u64 {
        self.queues.values().flat_map(|queue| &queue.batches).map(Batch::count).sum()
    }

    /// How many records are sent and not acknowledged.
    pub(super) fn under_way(&self) -> u64 {
        self.queues.values().flat_map(|queue| &queue.under_way).sum()
    }
}

impl Batch {
    fn takes(&self, bytes: u32, settings: &ProducerSettings) -> bool {
        self.attempts == 0 && self.bytes + bytes <= settings.batch_size
    }
}

fn drawn(
    before: Option<i32>,
    (count, available): (i32, &[i32]),
    out: &mut Outbox<'_, Words>,
) -> Run {
    let candidates = partitioner::sticky_candidates(before, count, available);
    let drawn = out.draw(STICKY_PARTITION, 0..candidates.len() as u64);
    let partition = usize::try_from(drawn).ok().and_then(|drawn| candidates.get(drawn)).copied();
    Run { partition: partition.unwrap_or(candidates[0]), bytes: 0, turn: 0 }
}

// Source: DefaultRecord.sizeInBytes
// Real: its length, times and offsets are numbers of variable length, from 7 bytes on, and a batch
// has a head of 61; here 8 and none, because a batch is full by its keys and values.
fn size(record: &ToSend) -> u32 {
    let length = |text: &Option<std::sync::Arc<str>>| text.as_ref().map_or(0, |text| text.len());
    let overhead = 8;
    let bytes = length(&record.key) + length(&record.value) + overhead;
    u32::try_from(bytes).expect("records are small")
}
