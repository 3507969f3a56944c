//! The broker as transaction coordinator, and as leader of partitions in which transactions end.
//!
//! *Invariant: a request is answered once the log has what it says, or at once if it is refused.*
// Source: kafka.coordinator.transaction.TransactionCoordinator, TransactionMarkerChannelManager,
// KafkaApis.handleWriteTxnMarkersRequest (3.9)
// Real: a new coordinator reads its partition in a thread; transactions that take too long are
// looked for every 10 s; here both happen at once, because nobody could tell them apart.

use std::sync::Arc;

use super::{Running, Site, turn};
use crate::kafka::Error;
use crate::kafka::admin::{
    DescribeProducersRequest, DescribeProducersResponse, DescribeTransactionsRequest,
    DescribeTransactionsResponse, ListTransactionsRequest, ListTransactionsResponse,
};
use crate::kafka::id::{CONSUMER_OFFSETS, LeaderEpoch, ProducerId};
use crate::kafka::id::{TRANSACTION_STATE, TopicPartition};
use crate::kafka::java_hash::coordinator_partition;
use crate::kafka::message::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnResponse, EndTxnRequest, EndTxnResponse,
    InitProducerIdRequest, InitProducerIdResponse, Request, Response, TransactionResult,
    TransactionalProducer, WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use crate::kafka::record::{Content, ProducerStamp, Record, RecordBatch};
use crate::kafka::replicas::Waiter;
use crate::kafka::transaction::{Aim, Known, Pending, TransactionMetadata, TransactionState};
use crate::kafka::wire::{Caller, Purpose};
use crate::kafka::words::{BrokerTimer, Words};
use crate::sim::{OrdMap, Outbox, ProcessId, SimTime, Span};

/// How soon markers are sent again.
const SEND_AGAIN: Span = Span::ms(100);

impl Running {
    /// Takes a request of a transactional producer.
    pub(super) fn transaction_request(
        &mut self,
        caller: Caller,
        request: Request,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let now = out.now();
        match request {
            Request::InitProducerId(request) => self.init(caller, &request, site, out),
            Request::AddPartitionsToTxn(request) => {
                let (by, more) = (request.producer, request.topics);
                self.add(caller, Aim::AddPartitions, &by, more, site, out);
            }
            Request::AddOffsetsToTxn(request) => {
                let count = site.settings.offsets_topic_num_partitions;
                let number = coordinator_partition(request.group_id.as_str(), count);
                let more = vec![TopicPartition::new(CONSUMER_OFFSETS, number)];
                self.add(caller, Aim::AddOffsets, &request.producer, more, site, out);
            }
            Request::EndTxn(EndTxnRequest { producer, committed }) => {
                let known = self.coordinates(&producer.transactional_id, site);
                let known = known.and_then(|_| self.transactions.of(&producer));
                let next = known.and_then(|known| known.end(committed, now));
                self.change(caller, Aim::End, &producer.transactional_id, next, site, out);
            }
            other => unreachable!("{} is taken elsewhere", other.name()),
        }
    }

    /// Tells who has written to partitions; any replica knows it.
    // Source: ReplicaManager.activeProducerState, Partition.activeProducerState
    pub(super) fn describe_producers(
        &self,
        asked: DescribeProducersRequest,
    ) -> DescribeProducersResponse {
        let of = |tp: TopicPartition| {
            let producers = self.replicas.partition(&tp).map(|partition| partition.log.producers());
            let told = producers.ok_or_else(|| self.cache.refusal(&tp));
            (tp, told)
        };
        DescribeProducersResponse { topics: asked.topics.into_iter().map(of).collect() }
    }

    /// Tells where producers' transactions stand.
    // Source: KafkaApis.handleDescribeTransactionsRequest
    pub(super) fn describe_transactions(
        &self,
        asked: DescribeTransactionsRequest,
        site: Site<'_>,
    ) -> DescribeTransactionsResponse {
        let of = |id: Arc<str>| {
            let known = self.coordinates(&id, site).map(|_| self.transactions.get(&id));
            let described = known.map(|known| known.and_then(Known::described));
            let described = described.and_then(|it| it.ok_or(Error::TransactionalIdNotFound));
            (id, described)
        };
        let transaction_states = asked.transactional_ids.into_iter().map(of).collect();
        DescribeTransactionsResponse { transaction_states }
    }

    /// Tells which producers there are.
    pub(super) fn list_transactions(
        &self,
        asked: &ListTransactionsRequest,
        now: SimTime,
        site: Site<'_>,
    ) -> ListTransactionsResponse {
        let partitions = site.settings.transaction_state_log_num_partitions;
        let transaction_states = self.transactions.listed(asked, now, partitions);
        ListTransactionsResponse { transaction_states }
    }

    /// The partition that keeps a producer, if this broker leads it, and its leader epoch.
    fn coordinates(
        &self,
        id: &str,
        site: Site<'_>,
    ) -> Result<(TopicPartition, LeaderEpoch), Error> {
        let count = site.settings.transaction_state_log_num_partitions;
        let number = coordinator_partition(id, count);
        let tp = TopicPartition::new(TRANSACTION_STATE, number);
        let replica = self.replicas.partition(&tp).filter(|replica| replica.leads());
        let replica = replica.filter(|_| self.transactions.leads(number));
        replica.map(|replica| (tp, replica.leader_epoch)).ok_or(Error::NotCoordinator)
    }

    // Source: TransactionCoordinator.handleInitProducerId, prepareInitProducerIdTransit
    fn init(
        &mut self,
        caller: Caller,
        request: &InitProducerIdRequest,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let id = request.transactional_id.clone().expect("others are given ids elsewhere");
        if let Err(error) = self.coordinates(&id, site) {
            return self.answer(caller, refusal(&Aim::Init, error), out);
        }
        let (now, timeout) = (out.now(), request.transaction_timeout);
        let known = self.transactions.entry(&id);
        let next = match &known.metadata {
            _ if known.pending.is_some() => Err(Error::ConcurrentTransactions),
            Some(known) => known.init(timeout, now),
            None => {
                let new = |producer| TransactionMetadata::new(producer, timeout, now);
                let producer = self.errands.take_id(turn!(self, site, out));
                producer.map(|it| (Aim::Init, new(it))).ok_or(Error::CoordinatorLoadInProgress)
            }
        };
        match next {
            Err(error) => self.answer(caller, refusal(&Aim::Init, error), out),
            Ok((aim, next)) => self.write_transaction(&id, next, Some((caller, aim)), site, out),
        }
    }

    fn add(
        &mut self,
        caller: Caller,
        aim: Aim,
        by: &TransactionalProducer,
        more: Vec<TopicPartition>,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let known = self.coordinates(&by.transactional_id, site);
        let known = known.and_then(|_| self.transactions.of(by));
        let next = known.and_then(|known| known.add(more, out.now()));
        self.change(caller, aim, &by.transactional_id, next, site, out);
    }

    /// Writes what will be known, or answers at once.
    fn change(
        &mut self,
        caller: Caller,
        aim: Aim,
        id: &Arc<str>,
        next: Result<Option<TransactionMetadata>, Error>,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        match next {
            Err(error) => self.answer(caller, refusal(&aim, error), out),
            Ok(None) => self.answer(caller, settled(&aim, None), out),
            Ok(Some(next)) => self.write_transaction(id, next, Some((caller, aim)), site, out),
        }
    }

    // Source: TransactionStateManager.appendTransactionToLog
    fn write_transaction(
        &mut self,
        id: &Arc<str>,
        next: TransactionMetadata,
        whom: Option<(Caller, Aim)>,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let next = Arc::new(next);
        let record = Record {
            key: Some(Content::TransactionKey(id.clone())),
            value: Some(Content::TransactionValue(next.clone())),
            timestamp: out.now(),
        };
        let number = coordinator_partition(id, site.settings.transaction_state_log_num_partitions);
        let tp = TopicPartition::new(TRANSACTION_STATE, number);
        self.transactions.entry(id).pending = Some(Pending::Write { next, whom });
        let batch = RecordBatch::new(vec![record]);
        let waiter = Waiter::Transactions(id.clone());
        self.replicas.append_for(waiter, tp, batch, turn!(self, site, out));
    }

    /// The log has taken what was written, or has not.
    pub(super) fn transaction_stored(
        &mut self,
        id: &Arc<str>,
        outcome: Result<(), Error>,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let Some(known) = self.transactions.get_mut(id) else { return };
        let Some(Pending::Write { next, whom }) = known.pending.take() else { return };
        let response = match outcome {
            Ok(()) => {
                known.metadata = Some(next.clone());
                whom.map(|(caller, aim)| (caller, told(&aim, &next)))
            }
            Err(error) => whom.map(|(caller, aim)| (caller, refusal(&aim, for_clients(error)))),
        };
        if let Some((caller, response)) = response {
            self.answer(caller, response, out);
        }
        self.mark_end(id, site, out);
        self.arm_transactions(out);
    }

    /// If the end is decided, tells all partitions that take part.
    fn mark_end(&mut self, id: &Arc<str>, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let known = self.transactions.entry(id);
        let Some(metadata) = known.metadata.clone() else { return };
        if matches!(metadata.state, TransactionState::Prepare(_)) && known.pending.is_none() {
            let left = metadata.partitions.iter().cloned().collect();
            known.pending = Some(Pending::Markers { left, calls: 0 });
            self.send_markers(id, site, out);
        }
    }

    // Source: TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue
    fn send_markers(&mut self, id: &Arc<str>, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let Ok((_, coordinator_epoch)) = self.coordinates(id, site) else { return };
        let known = self.transactions.entry(id);
        let number = known.number;
        let Some(Pending::Markers { left, calls }) = &mut known.pending else { return };
        let Some(metadata) = known.metadata.clone() else { return };
        let TransactionState::Prepare(transaction_result) = metadata.state else { return };
        left.retain(|tp| self.cache.partition(tp).is_some());
        let mut leaders: OrdMap<ProcessId, Vec<TopicPartition>> = OrdMap::new();
        for tp in left.iter() {
            let leader = self.cache.partition(tp).map(|state| state.leader);
            if let Some(leader) = leader.and_then(|leader| self.cache.broker(leader)) {
                leaders.entry(leader.process).or_default().push(tp.clone());
            }
        }
        *calls = u32::try_from(leaders.len()).expect("brokers are few");
        if left.is_empty() {
            let next = metadata.at(TransactionState::Complete(transaction_result), out.now());
            return self.write_transaction(id, next, None, site, out);
        }
        for (leader, topics) in leaders {
            let request = WriteTxnMarkersRequest {
                producer_id: metadata.producer_id,
                producer_epoch: metadata.producer_epoch,
                transaction_result,
                topics,
                coordinator_epoch,
            };
            self.wire.call(leader, Purpose::WriteTxnMarkers(number), request, out);
        }
    }

    /// A leader has written markers, or has not.
    // Source: TransactionMarkerRequestCompletionHandler.onComplete
    pub(super) fn markers_written(
        &mut self,
        number: u32,
        written: &WriteTxnMarkersResponse,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let Some(id) = self.transactions.id_of(number) else { return };
        let known = self.transactions.entry(&id);
        let Some(Pending::Markers { left, calls }) = &mut known.pending else { return };
        *calls = calls.saturating_sub(1);
        for (tp, _) in written.topics.iter().filter(|(_, error)| error.is_none()) {
            left.remove(tp);
        }
        let is_newer = |error: &Option<Error>| {
            let newer = [Error::InvalidProducerEpoch, Error::TransactionCoordinatorFenced];
            error.is_some_and(|error| newer.contains(&error))
        };
        if written.topics.iter().any(|(_, error)| is_newer(error)) {
            known.pending = Some(Pending::GivenUp);
        } else if *calls == 0 && left.is_empty() {
            self.send_markers(&id, site, out);
        }
        self.arm_transactions(out);
    }

    /// What is due: markers that are still owed, and transactions that take too long.
    // Source: TransactionCoordinator.abortTimedOutTransactions
    pub(super) fn transactions_due(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let now = out.now();
        let all: Vec<Arc<str>> = self.transactions.iter().map(|(id, _)| id.clone()).collect();
        for id in all {
            let known = self.transactions.entry(&id);
            match (&known.pending, known.metadata.clone()) {
                (Some(Pending::Markers { calls: 0, .. }), _) => self.send_markers(&id, site, out),
                (None, Some(open)) if ends_at(&open).is_some_and(|end| end <= now) => {
                    self.write_transaction(&id, open.abort(now), None, site, out);
                }
                _ => {}
            }
        }
        self.arm_transactions(out);
    }

    fn arm_transactions(&self, out: &mut Outbox<'_, Words>) {
        let now = out.now();
        let due = self.transactions.iter().filter_map(|(_, known)| match &known.pending {
            Some(Pending::Markers { calls: 0, .. }) => Some(now + SEND_AGAIN),
            None => known.metadata.as_deref().and_then(ends_at),
            _ => None,
        });
        if let Some(first) = due.min() {
            out.arm(BrokerTimer::Transactions, first.since(now));
        }
    }

    /// Takes a partition of `__transaction_state` over: what it says is known, and what was decided
    /// is carried out.
    // Source: TransactionStateManager.loadTransactionMetadata
    pub(super) fn lead_transactions(
        &mut self,
        number: i32,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        self.transactions.lead(number);
        let tp = TopicPartition::new(TRANSACTION_STATE, number);
        let log = self.replicas.partition(&tp).map(|partition| partition.log.clone());
        let mut found: OrdMap<Arc<str>, Arc<TransactionMetadata>> = OrdMap::new();
        for (_, record) in log.iter().flat_map(|log| log.records()) {
            let (Some(Content::TransactionKey(id)), Some(Content::TransactionValue(value))) =
                (&record.key, &record.value)
            else {
                continue;
            };
            found.insert(id.clone(), value.clone());
        }
        for (id, metadata) in found {
            self.transactions.entry(&id).metadata = Some(metadata);
            self.mark_end(&id, site, out);
        }
        self.arm_transactions(out);
    }

    /// Gives a partition of `__transaction_state` up.
    pub(super) fn resign_transactions(&mut self, number: i32, site: Site<'_>) {
        let count = site.settings.transaction_state_log_num_partitions;
        self.transactions.resign(number, count);
    }

    /// As leader: writes the markers of a transaction's end.
    // Source: KafkaApis.handleWriteTxnMarkersRequest
    pub(super) fn write_markers(
        &mut self,
        caller: Caller,
        request: &WriteTxnMarkersRequest,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let record = Record {
            key: Some(Content::MarkerKey(request.transaction_result)),
            value: Some(Content::Marker(request.coordinator_epoch)),
            timestamp: out.now(),
        };
        let producer = Some(ProducerStamp {
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
            base_sequence: -1,
        });
        let batch =
            RecordBatch { producer, is_transactional: true, ..RecordBatch::new(vec![record]) };
        self.replicas.append_markers(caller, batch, &request.topics, turn!(self, site, out));
    }

    /// As leader of groups: a transaction's end is in their partition.
    pub(super) fn transaction_ended(
        &mut self,
        partition: i32,
        (producer, result): (ProducerId, TransactionResult),
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        self.at_desk(site, out, |broker, desk| {
            broker.groups.transaction_ended(partition, producer, result, desk);
        });
    }
}

/// When a transaction has taken too long.
fn ends_at(known: &TransactionMetadata) -> Option<SimTime> {
    let start = known.start.filter(|_| known.state == TransactionState::Ongoing);
    start.map(|start| start + known.timeout)
}

fn refusal(aim: &Aim, error: Error) -> Response {
    match aim {
        Aim::Init | Aim::Fence => InitProducerIdResponse { producer: Err(error) }.into(),
        _ => settled(aim, Some(error)),
    }
}

fn settled(aim: &Aim, error: Option<Error>) -> Response {
    match aim {
        Aim::AddPartitions => AddPartitionsToTxnResponse { error }.into(),
        Aim::AddOffsets => AddOffsetsToTxnResponse { error }.into(),
        Aim::End => EndTxnResponse { error }.into(),
        Aim::Init | Aim::Fence => unreachable!("a producer is told its id and epoch"),
    }
}

/// What is said when the log has it. Who fences another has to ask again.
fn told(aim: &Aim, now: &TransactionMetadata) -> Response {
    match aim {
        Aim::Init => {
            let producer = Ok((now.producer_id, now.producer_epoch));
            InitProducerIdResponse { producer }.into()
        }
        Aim::Fence => refusal(aim, Error::ConcurrentTransactions),
        Aim::AddPartitions | Aim::AddOffsets | Aim::End => settled(aim, None),
    }
}

/// What a failed append looks like to producers.
// Source: TransactionStateManager.appendTransactionToLog (updateCacheCallback)
fn for_clients(error: Error) -> Error {
    match error {
        Error::NotLeaderOrFollower | Error::KafkaStorage => Error::NotCoordinator,
        _ => Error::CoordinatorNotAvailable,
    }
}
