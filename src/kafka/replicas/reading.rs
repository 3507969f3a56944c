//! Reading: fetches of followers and consumers, and where logs begin and end.
//!
//! *Invariant: only a follower reads beyond the HW.*

use std::sync::Arc;

use super::{Replicas, WaitingFetch};
use crate::kafka::broker::Turn;
use crate::kafka::error::Error;
use crate::kafka::fetch_session::{Fetch, has_news};
use crate::kafka::id::{BrokerId, Offset, TopicPartition};
use crate::kafka::message::{
    FetchFrom, FetchRequest, FetchResponse, Isolation, ListOffsetsAt, ListOffsetsRequest,
    ListOffsetsResponse, PartitionFetchResponse,
};
use crate::kafka::partition::Partition;
use crate::kafka::partition_map::NearPartition;
use crate::kafka::release::Release;
use crate::kafka::wire::Caller;
use crate::sim::Span;

impl Replicas {
    /// Takes a fetch of a follower or a consumer.
    pub fn fetch(&mut self, caller: Caller, request: FetchRequest, turn: &mut Turn<'_, '_>) {
        let fetch = match self.sessions.take(request, turn.out.now()) {
            Ok(fetch) => fetch,
            Err(error) => return turn.answer(caller, FetchResponse::refused(error)),
        };
        let is_ready = match fetch.replica_id {
            BrokerId::NONE => self.is_ready(&fetch, turn),
            _ => self.note_fetches(&fetch, turn),
        };
        let deadline = turn.out.now() + fetch.max_wait;
        if fetch.max_wait == Span::ZERO || is_ready {
            return self.answer_fetch(caller, fetch, turn);
        }
        let number = self.number();
        self.fetches.insert(number, Arc::new(WaitingFetch { caller, fetch, deadline }));
        self.arm(deadline, turn);
    }

    /// Whether a fetch need not wait any longer.
    // Source: DelayedFetch.tryComplete
    fn is_ready(&self, fetch: &Fetch, turn: &Turn<'_, '_>) -> bool {
        let mut partitions = self.partitions.walk();
        fetch.parts().any(|(tp, asked, _)| {
            let partition = partitions.get(tp);
            partition.is_none_or(|partition| {
                has_some(partition, asked, reader_of(fetch), turn.settings.release)
                    || is_misnamed(partition, fetch, turn)
            })
        })
    }

    /// Notes what a follower's fetch says of it. Whether the fetch need not wait.
    fn note_fetches(&mut self, fetch: &Fetch, turn: &mut Turn<'_, '_>) -> bool {
        let (mut is_ready, mut near) = (false, NearPartition::default());
        for (tp, asked, _) in fetch.parts() {
            is_ready |= self.note_fetch(fetch.replica_id, (tp, asked), &mut near, turn);
        }
        self.send_wishes(turn);
        is_ready
    }

    pub(super) fn answer_fetch(&mut self, caller: Caller, fetch: Fetch, turn: &mut Turn<'_, '_>) {
        let (mut responses, mut partitions) = (Vec::new(), self.partitions.walk());
        for (tp, asked, told) in fetch.parts() {
            let partition = partitions.get(tp);
            // Of most partitions there is nothing new, and no need to make an answer of that.
            let is_quiet = |partition: &Arc<Partition>| {
                told == Some((partition.hw, partition.log.start()))
                    && !has_some(partition, asked, reader_of(&fetch), turn.settings.release)
                    && !is_misnamed(partition, &fetch, turn)
            };
            if !partition.is_some_and(is_quiet) {
                let answer = read(partition, (tp, asked), &fetch, turn);
                if told.is_none() || has_news(&answer, told) {
                    responses.push(answer);
                }
            }
        }
        let slots = turn.settings.max_incremental_fetch_session_cache_slots;
        let response = self.sessions.answer(fetch, responses, slots, turn.out);
        turn.answer(caller, response);
    }

    /// Answers where logs begin and end.
    pub fn list_offsets(
        &self,
        request: &ListOffsetsRequest,
        turn: &Turn<'_, '_>,
    ) -> ListOffsetsResponse {
        let find = |tp: &TopicPartition, at: ListOffsetsAt| {
            let Some(partition) = self.partitions.get(tp).filter(|partition| partition.leads())
            else {
                return Err(turn.cache.refusal(tp));
            };
            Ok(match at {
                ListOffsetsAt::Earliest => partition.log.start(),
                ListOffsetsAt::Latest => {
                    limit_for(partition, (request.replica_id, request.isolation_level))
                }
                ListOffsetsAt::Time(time) => {
                    let found = partition.log.find_time(time);
                    found.filter(|&offset| offset < partition.hw).unwrap_or(Offset::NONE)
                }
            })
        };
        let topics = request.topics.iter().map(|(tp, at)| (tp.clone(), find(tp, *at)));
        ListOffsetsResponse { topics: topics.collect() }
    }
}

/// Who reads: a follower, or somebody with an `isolation.level`.
pub(super) type Reader = (BrokerId, Isolation);

pub(super) fn reader_of(fetch: &Fetch) -> Reader {
    (fetch.replica_id, fetch.isolation_level)
}

/// Whether there is something to answer of one partition: records, or a refusal.
pub(super) fn has_some(
    partition: &Partition,
    asked: &FetchFrom,
    reader: Reader,
    release: Release,
) -> bool {
    let limit = limit_for(partition, reader);
    is_out_of_range(partition, asked)
        || partition.log.holds_any(asked.fetch_offset, limit)
        || answers_otherwise(partition, asked, release)
}

/// Whether the answer is not about records: a refusal, or where the logs part.
pub(super) fn answers_otherwise(
    partition: &Partition,
    asked: &FetchFrom,
    release: Release,
) -> bool {
    partition.may_read(asked).is_err() || partition.diverging(asked, release) != Ok(None)
}

fn read(
    partition: Option<&Arc<Partition>>,
    (tp, asked): (&TopicPartition, &FetchFrom),
    fetch: &Fetch,
    turn: &Turn<'_, '_>,
) -> PartitionFetchResponse {
    let mut answer = PartitionFetchResponse {
        partition: tp.clone(),
        error: None,
        high_watermark: Offset::NONE,
        log_start_offset: Offset(0),
        diverging_epoch: None,
        aborted_transactions: Vec::new(),
        records: Vec::new(),
    };
    let Some(partition) = partition else {
        answer.error = Some(turn.cache.refusal(tp));
        return answer;
    };
    answer.error = match is_misnamed(partition, fetch, turn) {
        true => Some(Error::InconsistentTopicId),
        false => partition.may_read(asked).err(),
    };
    if answer.error.is_some() {
        return answer;
    }
    answer.high_watermark = partition.hw;
    answer.log_start_offset = partition.log.start();
    match partition.diverging(asked, turn.settings.release) {
        Err(error) => answer.error = Some(error),
        Ok(Some(end)) => answer.diverging_epoch = Some(end),
        Ok(None) if is_out_of_range(partition, asked) => {
            answer.error = Some(Error::OffsetOutOfRange);
            answer.diverging_epoch = partition.end_for(fetch.replica_id);
        }
        Ok(None) => {
            let (from, isolation) = (asked.fetch_offset, fetch.isolation_level);
            let limit = limit_for(partition, reader_of(fetch));
            let format = turn.settings.release.message_format();
            answer.records = partition.log.read((from, limit), asked.partition_max_bytes, format);
            if isolation == Isolation::ReadCommitted {
                answer.aborted_transactions = partition.log.aborted(from, limit);
            }
        }
    }
    answer
}

/// Whether a client asks by an id that the log has not.
// Source: ReplicaManager.readFromLog, KIP-516 (fetches name ids from 3.1 on)
// Real: the fetch says the id; here it is the one that brokers tell clients now, because nobody
// keeps an older one for long.
fn is_misnamed(partition: &Partition, fetch: &Fetch, turn: &Turn<'_, '_>) -> bool {
    let Some(known) = &partition.log.topic_id else { return false };
    fetch.replica_id == BrokerId::NONE
        && turn.settings.release.fetches_name_topic_ids()
        && turn.cache.topic_id(&partition.tp.topic).is_some_and(|told| told != known)
}

/// Whether an offset is beyond the log, or below where it begins.
// Source: LocalLog.read, UnifiedLog.checkLogStartOffset
pub(super) fn is_out_of_range(partition: &Partition, asked: &FetchFrom) -> bool {
    asked.fetch_offset > partition.log.end() || asked.fetch_offset < partition.log.start()
}

/// Up to where a reader may read: a follower to the end, everybody else to the HW or the
/// LSO.
fn limit_for(partition: &Partition, reader: Reader) -> Offset {
    match reader {
        (BrokerId::NONE, Isolation::ReadUncommitted) => partition.hw,
        (BrokerId::NONE, Isolation::ReadCommitted) => {
            partition.log.last_stable_offset(partition.hw)
        }
        _ => partition.log.end(),
    }
}
