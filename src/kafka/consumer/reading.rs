//! Where a consumer reads: committed offsets, resets, fetches, and the records it hands out.
//!
//! *Invariant: records of a partition are handed out in order, each once for each assignment.*

use std::collections::VecDeque;

use super::words::{ConsumerFact, OffsetReset, Poll};
use super::{Consumer, Purpose};
use crate::kafka::client::Shown;
use crate::kafka::error::{Error, Remedy};
use crate::kafka::id::{BrokerId, LeaderEpoch, Offset, ProducerId, TopicPartition};
use crate::kafka::message::{
    FetchFrom, FetchResponse, ListOffsetsAt, ListOffsetsRequest, ListOffsetsResponse,
    OffsetFetchRequest, OffsetFetchResponse, PartitionFetchResponse, TransactionResult,
};
use crate::kafka::record::Record;
use crate::kafka::words::Words;
use crate::sim::{OrdMap, Outbox, ProcessId};

/// Where a consumer stands in one partition.
// Source: SubscriptionState.FetchStates
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Position {
    /// It has to ask what was committed.
    #[default]
    Unknown,
    /// Nothing was committed, or it is not there any more: it has to ask for the log's ends.
    ToBeReset,
    /// At an offset.
    At {
        /// The next to hand out.
        offset: Offset,
        /// The leader epoch of the record before, if known.
        leader_epoch: Option<LeaderEpoch>,
    },
}

/// One partition that is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reading {
    /// Where the consumer stands.
    pub position: Position,
    /// The leader's HW as last heard.
    pub high_watermark: Option<Offset>,
    /// What has been fetched and not handed out.
    pub fetched: VecDeque<(Offset, LeaderEpoch, Record)>,
    /// Where it will stand after that, if what comes then is not for it.
    beyond: Option<Position>,
}

impl Reading {
    /// What an answer brings somebody who reads from there on, and where he goes on.
    pub fn heard(from: Offset, told: &PartitionFetchResponse) -> (Vec<(Offset, Record)>, Offset) {
        let mut reading = Reading::default();
        reading.take(from, told);
        let last = reading.fetched.back().map(|(offset, _, _)| offset.next());
        let next = match reading.beyond {
            Some(Position::At { offset, .. }) => offset,
            _ => last.unwrap_or(from),
        };
        let records = reading.fetched.into_iter().map(|(offset, _, record)| (offset, record));
        (records.collect(), next)
    }

    /// The next offset to fetch, if nothing is left to hand out.
    fn fetch_offset(&self) -> Option<Offset> {
        match self.position {
            Position::At { offset, .. } if self.fetched.is_empty() => Some(offset),
            _ => None,
        }
    }

    /// Takes batches in, of which the first may begin too early. Markers, and what aborted
    /// transactions have written, are passed over.
    // Source: CompletedFetch.nextFetchedRecord, isBatchAborted, containsAbortMarker
    fn take(&mut self, from: Offset, told: &PartitionFetchResponse) {
        let mut aborting: Vec<ProducerId> = Vec::new();
        let mut waiting = told.aborted_transactions.clone();
        for batch in &told.records {
            let epoch = batch.partition_leader_epoch;
            let producer = batch.producer.map(|stamp| stamp.producer_id);
            let begins = |(_, first): &(ProducerId, Offset)| *first <= batch.last_offset();
            let (begun, later) = waiting.into_iter().partition(begins);
            waiting = later;
            let begun: Vec<(ProducerId, Offset)> = begun;
            aborting.extend(begun.into_iter().map(|(producer, _)| producer));
            let is_aborted = producer.is_some_and(|producer| aborting.contains(&producer));
            self.beyond = None;
            if batch.marker().is_some() || (batch.is_transactional && is_aborted) {
                if batch.marker() == Some(TransactionResult::Abort) {
                    aborting.retain(|aborted| Some(*aborted) != producer);
                }
                let (offset, leader_epoch) = (batch.next_offset(), Some(epoch));
                self.beyond = Some(Position::At { offset, leader_epoch });
                continue;
            }
            let wanted = batch.enumerate().filter(|(offset, _)| *offset >= from);
            self.fetched.extend(wanted.map(|(offset, record)| (offset, epoch, record.clone())));
        }
    }
}

impl Consumer {
    pub(super) fn read(&mut self, out: &mut Outbox<'_, Words>) {
        self.ask_offsets(out);
        self.ask_positions(out);
        if self.settings.poll == Poll::Duration || self.coordinator.is_some() {
            self.hand_out(out);
        }
        self.fetch(out);
    }

    fn standing_at(&self, wanted: Position) -> Vec<TopicPartition> {
        let those = self.partitions.iter().filter(|(_, reading)| reading.position == wanted);
        those.map(|(partition, _)| partition.clone()).collect()
    }

    // Source: ConsumerCoordinator.initWithCommittedOffsetsIfNeeded
    fn ask_offsets(&mut self, out: &mut Outbox<'_, Words>) {
        let unknown = self.standing_at(Position::Unknown);
        let asked = self.calls.any(|purpose| *purpose == Purpose::FetchOffsets);
        let Some(coordinator) = self.coordinator.filter(|_| !unknown.is_empty() && !asked) else {
            return;
        };
        let group_id = self.settings.group_id.clone();
        let require_stable = self.settings.isolation_level;
        let request = OffsetFetchRequest { group_id, topics: Some(unknown), require_stable };
        let within = self.settings.request_timeout;
        self.calls.make(Purpose::FetchOffsets, (coordinator, within), request, out);
    }

    pub(super) fn offsets_told(&mut self, told: OffsetFetchResponse, out: &mut Outbox<'_, Words>) {
        if let Some(error) = told.error {
            if matches!(error, Error::NotCoordinator | Error::CoordinatorNotAvailable) {
                self.lose_coordinator(out);
            }
            return self.rest(out);
        }
        for (partition, committed) in told.topics {
            let Some(reading) = self.partitions.get_mut(&partition) else { continue };
            if reading.position != Position::Unknown {
                continue;
            }
            reading.position = match committed {
                Some(committed) => {
                    Position::At { offset: committed.offset, leader_epoch: committed.leader_epoch }
                }
                None => {
                    out.tell(ConsumerFact::NoCommittedOffset { partition });
                    Position::ToBeReset
                }
            };
        }
    }

    // Source: OffsetFetcher.resetPositionsIfNeeded
    fn ask_positions(&mut self, out: &mut Outbox<'_, Words>) {
        let lost = self.standing_at(Position::ToBeReset);
        let asked = self.calls.any(|purpose| *purpose == Purpose::ListOffsets);
        if lost.is_empty() || asked {
            return;
        }
        let at = match self.settings.auto_offset_reset {
            OffsetReset::Earliest => ListOffsetsAt::Earliest,
            OffsetReset::Latest => ListOffsetsAt::Latest,
            OffsetReset::None => return self.throw("NoOffsetForPartitionException", out),
        };
        for (leader, partitions) in self.by_leader(lost, out) {
            let topics = partitions.into_iter().map(|partition| (partition, at)).collect();
            let isolation_level = self.settings.isolation_level;
            let request =
                ListOffsetsRequest { replica_id: BrokerId::NONE, isolation_level, topics };
            let within = self.settings.request_timeout;
            self.calls.make(Purpose::ListOffsets, (leader, within), request, out);
        }
    }

    /// The leaders of partitions; where one is not known or rests, metadata is asked for.
    fn by_leader(
        &mut self,
        partitions: Vec<TopicPartition>,
        out: &mut Outbox<'_, Words>,
    ) -> OrdMap<ProcessId, Vec<TopicPartition>> {
        let mut found: OrdMap<ProcessId, Vec<TopicPartition>> = OrdMap::new();
        for partition in partitions {
            match self.view.leader(&partition) {
                Some((leader, _)) if self.view.is_ready(leader, out.now()) => {
                    found.entry(leader).or_default().push(partition);
                }
                _ => self.want_metadata(out),
            }
        }
        found
    }

    fn want_metadata(&mut self, out: &mut Outbox<'_, Words>) {
        if !self.metadata_wanted {
            self.metadata_wanted = true;
            self.rest(out);
        }
    }

    pub(super) fn positions_told(
        &mut self,
        told: ListOffsetsResponse,
        out: &mut Outbox<'_, Words>,
    ) {
        for (partition, result) in told.topics {
            let Some(reading) = self.partitions.get_mut(&partition) else { continue };
            match result {
                Ok(offset) if reading.position == Position::ToBeReset => {
                    reading.position = Position::At { offset, leader_epoch: None };
                    out.tell(ConsumerFact::PositionReset { partition, offset });
                }
                Ok(_) => {}
                Err(_) => self.want_metadata(out),
            }
        }
    }

    /// One fetch under way to each leader.
    // Source: AbstractFetch.prepareFetchRequests
    fn fetch(&mut self, out: &mut Outbox<'_, Words>) {
        let mut to_fetch: OrdMap<ProcessId, Vec<(TopicPartition, FetchFrom)>> = OrdMap::new();
        let fetching = self.calls.asked(|purpose| matches!(purpose, Purpose::Fetch(_)));
        let (mut all_known, mut leaders) = (true, self.view.leaders());
        for (partition, reading) in &self.partitions {
            let Some(offset) = reading.fetch_offset() else { continue };
            match leaders.of(partition) {
                Some((leader, epoch)) if self.view.is_ready(leader, out.now()) => {
                    if !fetching.contains(&leader) {
                        let from = self.fetch_from(offset, epoch);
                        to_fetch.entry(leader).or_default().push((partition.clone(), from));
                    }
                }
                _ => all_known = false,
            }
        }
        if !all_known {
            self.want_metadata(out);
        }
        for (leader, parts) in to_fetch {
            let settings = &self.settings;
            let who = (BrokerId::NONE, settings.isolation_level);
            let how = (settings.fetch_max_wait, settings.fetch_min_bytes);
            let fetching = self.fetching.entry(leader).or_default();
            let all = parts.iter().map(|(partition, from)| (partition, *from));
            let request = fetching.ask(who, how, all, settings.release);
            let asked = parts.into_iter().map(|(partition, from)| (partition, from.fetch_offset));
            let within = self.settings.request_timeout;
            self.calls.make(Purpose::Fetch(asked.collect()), (leader, within), request, out);
        }
    }

    fn fetch_from(&self, fetch_offset: Offset, leader_epoch: LeaderEpoch) -> FetchFrom {
        FetchFrom {
            current_leader_epoch: Some(leader_epoch),
            fetch_offset,
            last_fetched_epoch: None,
            log_start_offset: Offset::NONE,
            partition_max_bytes: self.settings.max_partition_fetch_bytes,
        }
    }

    pub(super) fn fetched(
        &mut self,
        from: ProcessId,
        asked: &[(TopicPartition, Offset)],
        told: FetchResponse,
        out: &mut Outbox<'_, Words>,
    ) {
        let refused = self.fetching.entry(from).or_default().answered(&told).err();
        if let Some((mark, error)) = refused {
            let (leader, error) = (self.view.broker(from), error.name(self.settings.release));
            let (session, epoch) = (mark.session, mark.epoch);
            out.tell(ConsumerFact::FetchSessionRefused { leader, session, epoch, error });
        }
        for answer in told.responses {
            let from = asked.iter().find(|(partition, _)| *partition == answer.partition);
            let Some((_, from)) = from else { continue };
            let reading = self.partitions.get_mut(&answer.partition);
            let Some(reading) = reading.filter(|reading| reading.fetch_offset() == Some(*from))
            else {
                continue;
            };
            match answer.error {
                None => {
                    reading.high_watermark = Some(answer.high_watermark);
                    reading.take(*from, &answer);
                }
                Some(error) => self.fetch_refused(error, &answer, out),
            }
        }
    }

    // Source: FetchCollector.handleInitializeErrors
    fn fetch_refused(
        &mut self,
        error: Error,
        answer: &PartitionFetchResponse,
        out: &mut Outbox<'_, Words>,
    ) {
        match error {
            Error::OffsetOutOfRange if self.settings.auto_offset_reset == OffsetReset::None => {
                self.throw(error.exception(self.settings.release), out);
            }
            Error::OffsetOutOfRange => {
                if let Some(reading) = self.partitions.get_mut(&answer.partition) {
                    reading.position = Position::ToBeReset;
                }
            }
            error if error.remedy() == Remedy::Fail => {
                self.throw(error.exception(self.settings.release), out)
            }
            _ => self.want_metadata(out),
        }
    }

    /// What `poll` returns.
    fn hand_out(&mut self, out: &mut Outbox<'_, Words>) {
        for (partition, reading) in &mut self.partitions {
            while let Some((offset, epoch, record)) = reading.fetched.pop_front() {
                let leader_epoch = Some(epoch);
                reading.position = Position::At { offset: offset.next(), leader_epoch };
                let (key, value) =
                    (Shown::of(record.key.as_ref()), Shown::of(record.value.as_ref()));
                let partition = partition.clone();
                out.tell(ConsumerFact::RecordRead { partition, offset, key, value });
            }
            reading.position = reading.beyond.take().unwrap_or(reading.position);
        }
    }
}
