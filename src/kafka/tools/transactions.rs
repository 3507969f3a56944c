//! `kafka-transactions`: which transactions there are, who holds partitions up, and how to help.
//!
//! Source: TransactionsCommand, DescribeProducersHandler, DescribeTransactionsHandler,
//! ListTransactionsHandler, AbortTransactionHandler (3.9).
//!
//! *Invariant: only `abort` changes anything, and it asks the leader, not the coordinator.*

use std::sync::Arc;

use super::admin::{Admin, Failure, Halt, Told, answer, ended};
use super::dialogue::Next;
use super::exception::Exception;
use super::{Arguments, Printed, Usage};
use crate::kafka::Error;
use crate::kafka::admin::{
    DescribeProducersRequest, DescribeTransactionsRequest, ListTransactionsRequest, ProducerState,
    TransactionDescription, TransactionListing,
};
use crate::kafka::id::{BrokerId, LeaderEpoch, Offset, PARTITIONS, ProducerEpoch, ProducerId};
use crate::kafka::id::{TopicName, TopicPartition};
use crate::kafka::java_hash::{self, Filling};
use crate::kafka::message::{CoordinatorKey, Response, TransactionResult, WriteTxnMarkersRequest};
use crate::sim::{SimTime, Span, sort};

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Transactions {
    /// Which there are.
    List {
        /// Only those that run for longer.
        duration: Option<Span>,
    },
    /// Where one stands.
    Describe {
        /// Whose.
        transactional_id: Arc<str>,
    },
    /// Who has written to a partition.
    DescribeProducers {
        /// To which.
        partition: TopicPartition,
        /// Who is asked; the leader if none.
        broker: Option<BrokerId>,
    },
    /// Ends one.
    Abort {
        /// In which partition.
        partition: TopicPartition,
        /// Which.
        which: Which,
    },
    /// Which are open for too long, without a coordinator that would end them.
    FindHanging(Search),
}

/// Where hanging transactions are looked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    topic: Option<TopicName>,
    partition: Option<i32>,
    broker: Option<BrokerId>,
    max_transaction_timeout: Span,
}

/// The transaction that is to be aborted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// It is not said.
    Untold,
    /// The one that begins there.
    From(Offset),
    /// That of a producer, by what it was given.
    Of {
        /// Its id.
        producer_id: i64,
        /// The epoch of that.
        producer_epoch: Option<i16>,
        /// The epoch of its coordinator.
        coordinator_epoch: Option<i32>,
    },
}

/// One that is open.
type Open = (TopicPartition, ProducerState);

const ACTIONS: &str = "list, describe, describe-producers, abort or find-hanging";
const DESCRIBE_PRODUCERS: &str = "describeProducers(api=DESCRIBE_PRODUCERS)";
const ABORT: &str = "abortTransaction(api=WRITE_TXN_MARKERS)";

/// `--max-transaction-timeout`, in minutes.
const MAX_TRANSACTION_TIMEOUT: u64 = 15;

impl Transactions {
    /// Reads the command line.
    pub fn read(arguments: &mut Arguments) -> Result<Transactions, Usage> {
        let action = arguments.action().ok_or_else(|| Usage::lacks(ACTIONS))?;
        let command = match action.as_str() {
            "list" => Transactions::List { duration: duration(arguments)? },
            "describe" => {
                let id = arguments.value("--transactional-id");
                let id = id.ok_or_else(|| Usage::lacks("--transactional-id ID"))?;
                Transactions::Describe { transactional_id: id.into() }
            }
            "describe-producers" => Transactions::DescribeProducers {
                partition: partition(arguments)?,
                broker: broker(arguments)?,
            },
            "abort" => {
                let partition = partition(arguments)?;
                Transactions::Abort { partition, which: which(arguments)? }
            }
            "find-hanging" => Transactions::FindHanging(search(arguments)?),
            other => return Err(Usage::is_not(other, ACTIONS)),
        };
        arguments.finish()?;
        Ok(command)
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, Next> {
        let done = match self {
            Transactions::List { duration } => list(*duration, admin),
            Transactions::Describe { transactional_id } => describe(transactional_id, admin),
            Transactions::DescribeProducers { partition, broker } => {
                describe_producers(partition, *broker, admin)
            }
            Transactions::Abort { partition, which } => abort(partition, which, admin),
            Transactions::FindHanging(search) => search.find(admin),
        };
        ended(done, &|why| Printed::failed(format!("{}\n", why.message)))
    }
}

fn duration(arguments: &mut Arguments) -> Result<Option<Span>, Usage> {
    let Some(text) = arguments.value("--duration-filter") else { return Ok(None) };
    if text.strip_prefix('-').is_some_and(|rest| rest.parse::<u64>().is_ok()) {
        return Ok(None);
    }
    let span = Span::parse_ms(&text);
    span.map(Some).ok_or_else(|| Usage::is_not(&text, "--duration-filter as milliseconds"))
}

fn broker(arguments: &mut Arguments) -> Result<Option<BrokerId>, Usage> {
    Ok(arguments.number("--broker-id", 0, i32::MAX)?.map(BrokerId))
}

fn partition(arguments: &mut Arguments) -> Result<TopicPartition, Usage> {
    let topic = arguments.value("--topic").ok_or_else(|| Usage::lacks("--topic TOPIC"))?;
    let number = arguments.number("--partition", 0, PARTITIONS)?;
    let number = number.ok_or_else(|| Usage::lacks("--partition N"))?;
    Ok(TopicPartition::new(topic, number))
}

fn which(arguments: &mut Arguments) -> Result<Which, Usage> {
    let start = arguments.number("--start-offset", i64::MIN, i64::MAX)?;
    let producer_id = arguments.number("--producer-id", i64::MIN, i64::MAX)?;
    let producer_epoch = arguments.number("--producer-epoch", i16::MIN, i16::MAX)?;
    let coordinator_epoch = arguments.number("--coordinator-epoch", i32::MIN, i32::MAX)?;
    Ok(match (start, producer_id) {
        (Some(start), _) => Which::From(Offset(start)),
        (None, Some(producer_id)) => Which::Of { producer_id, producer_epoch, coordinator_epoch },
        (None, None) => Which::Untold,
    })
}

fn search(arguments: &mut Arguments) -> Result<Search, Usage> {
    let topic = arguments.value("--topic").map(TopicName::from);
    let partition = arguments.number("--partition", 0, PARTITIONS)?;
    let broker = broker(arguments)?;
    let most = Span::LONGEST.as_micros() / 60_000_000;
    let minutes = arguments.number("--max-transaction-timeout", 0, most)?;
    let minutes = minutes.unwrap_or(MAX_TRANSACTION_TIMEOUT);
    let max_transaction_timeout = Span::ms(minutes * 60_000);
    Ok(Search { topic, partition, broker, max_transaction_timeout })
}

/// What the tool says when it ends early.
fn words(text: impl Into<String>) -> Halt {
    Failure::new(Exception::Unthrown, text.into()).into()
}

/// The same where something has failed.
fn while_doing<T>(what: &str, told: Told<T>) -> Told<T> {
    told.map_err(|halt| match halt {
        Halt::Waits(next) => Halt::Waits(next),
        Halt::Failed(why) => {
            let hint = "Enable debug logging for additional detail.";
            words(format!("{what}: {}. {hint}", why.message))
        }
    })
}

fn list(duration: Option<Span>, admin: &mut Admin<'_>) -> Told<String> {
    let asked = ListTransactionsRequest { producer_ids: Vec::new(), duration };
    let listed = while_doing("Failed to list transactions", list_all(&asked, admin))?;
    let row = |(coordinator, of): &(BrokerId, TransactionListing)| {
        let state = of.state.name().to_owned();
        [
            of.transactional_id.to_string(),
            coordinator.to_string(),
            of.producer_id.to_string(),
            state,
        ]
    };
    let rows: Vec<_> = listed.iter().map(row).collect();
    Ok(table(["TransactionalId", "Coordinator", "ProducerId", "TransactionState"], &rows))
}

/// What all brokers coordinate.
// Source: AllBrokersStrategy, ListTransactionsResult.allByBrokerId
fn list_all(
    asked: &ListTransactionsRequest,
    admin: &mut Admin<'_>,
) -> Told<Vec<(BrokerId, TransactionListing)>> {
    admin.metadata(Some(Vec::new()))?;
    let mut brokers: Vec<BrokerId> = admin.brokers().iter().map(|broker| broker.id).collect();
    java_hash::in_table_order(&mut brokers, Filling::Full, |id| id.0);
    let mut all = Vec::new();
    for id in brokers {
        let call = "listTransactions(api=LIST_TRANSACTIONS)";
        let answer = answer!(admin.broker(call, id, asked.clone().into())?, ListTransactions);
        all.extend(answer.transaction_states.into_iter().map(|listing| (id, listing)));
    }
    Ok(all)
}

fn describe(id: &Arc<str>, admin: &mut Admin<'_>) -> Told<String> {
    let what = format!("Failed to describe transaction state of transactional-id `{id}`");
    let (coordinator, of) = while_doing(&what, describe_one(id, admin))?;
    let (start, lasts) = match of.start {
        Some(start) => (ms(start), admin.now().since(start).as_ms().to_string()),
        None => ("None".to_owned(), "None".to_owned()),
    };
    let mut topics = of.topics;
    java_hash::in_table_order(&mut topics, Filling::Full, java_hash::of_partition);
    let topics: Vec<String> = topics.iter().map(TopicPartition::to_string).collect();
    let row = [
        coordinator.to_string(),
        id.to_string(),
        of.producer_id.to_string(),
        of.producer_epoch.to_string(),
        of.state.name().to_owned(),
        of.timeout.as_ms().to_string(),
        start,
        lasts,
        topics.join(","),
    ];
    let headers = [
        "CoordinatorId",
        "TransactionalId",
        "ProducerId",
        "ProducerEpoch",
        "TransactionState",
        "TransactionTimeoutMs",
        "CurrentTransactionStartTimeMs",
        "TransactionDurationMs",
        "TopicPartitions",
    ];
    Ok(table(headers, &[row]))
}

fn describe_one(id: &Arc<str>, admin: &mut Admin<'_>) -> Told<(BrokerId, TransactionDescription)> {
    let key = CoordinatorKey::Transaction(id.clone());
    let request = DescribeTransactionsRequest { transactional_ids: vec![id.clone()] };
    let error_of = |answer: &Response| match answer {
        Response::DescribeTransactions(answer) => {
            answer.transaction_states.first().and_then(|(_, told)| told.as_ref().err().copied())
        }
        _ => None,
    };
    let call = "describeTransactions";
    let (of, answer) = admin.of_coordinator(call, &key, request.into(), error_of)?;
    let told = answer!(answer, DescribeTransactions).transaction_states.pop();
    let (_, told) = told.expect("one was asked for");
    let described = told.map_err(|error| {
        let request = format!("DescribeTransactions request for transactionalId `{id}`");
        let words = match error {
            Error::TransactionalIdNotFound => {
                format!("{request} failed because the ID could not be found")
            }
            _ => format!("{request} failed due to unexpected error"),
        };
        Failure::refused(error, Some(&words))
    })?;
    Ok((of.id, described))
}

fn describe_producers(
    tp: &TopicPartition,
    broker: Option<BrokerId>,
    admin: &mut Admin<'_>,
) -> Told<String> {
    let on = broker.map_or_else(|| "leader".to_owned(), |id| format!("broker {id}"));
    let what = format!("Failed to describe producers for partition {tp} on {on}");
    let found = while_doing(&what, producers(std::slice::from_ref(tp), broker, admin))?;
    let row = |(_, of): &Open| {
        let start = of.current_txn_start_offset;
        [
            of.producer_id.to_string(),
            of.producer_epoch.to_string(),
            coordinator_epoch(of).to_string(),
            of.last_sequence.to_string(),
            ms(of.last_timestamp),
            start.map_or_else(|| "None".to_owned(), |start| start.to_string()),
        ]
    };
    let headers = [
        "ProducerId",
        "ProducerEpoch",
        "LatestCoordinatorEpoch",
        "LastSequence",
        "LastTimestamp",
        "CurrentTransactionStartOffset",
    ];
    Ok(table(headers, &found.iter().map(row).collect::<Vec<_>>()))
}

/// Who has written to these partitions, as their leaders know or this broker does.
// Source: DescribeProducersHandler, DescribeProducersResult.all
fn producers(
    partitions: &[TopicPartition],
    broker: Option<BrokerId>,
    admin: &mut Admin<'_>,
) -> Told<Vec<Open>> {
    let deadline = admin.deadline();
    let (mut left, mut found) = (partitions.to_vec(), Vec::new());
    while !left.is_empty() {
        let asked = match broker {
            Some(id) => vec![(id, left.clone())],
            None => admin.by_leader(&left)?,
        };
        for (id, topics) in asked {
            let request = DescribeProducersRequest { topics };
            let answer = admin.broker(DESCRIBE_PRODUCERS, id, request.into())?;
            for (tp, told) in answer!(answer, DescribeProducers).topics {
                match told {
                    Ok(producers) => {
                        left.retain(|other| *other != tp);
                        found.push((tp, producers));
                    }
                    Err(error) => comes_back(&tp, broker, error)?,
                }
            }
        }
        if !left.is_empty() {
            let lookup = "describeProducers(api=METADATA)";
            admin.retry(if broker.is_some() { DESCRIBE_PRODUCERS } else { lookup }, deadline)?;
        }
    }
    sort::by_key(&mut found, |(tp, _)| {
        java_hash::place(java_hash::of_partition(tp), room(partitions.len()))
    });
    let each = |(tp, all): (TopicPartition, Vec<ProducerState>)| {
        all.into_iter().map(move |producer| (tp.clone(), producer))
    };
    Ok(found.into_iter().flat_map(each).collect())
}

/// How many buckets a hash map has that is made for so many things and then filled with them.
// Source: java.util.HashMap.tableSizeFor, putVal
fn room(count: usize) -> u32 {
    let count = u32::try_from(count).expect("partitions are few");
    let buckets = count.next_power_of_two();
    if count * 4 > buckets * 3 { buckets * 2 } else { buckets }
}

/// Goes on if the error may pass.
// Source: DescribeProducersHandler.handlePartitionError
fn comes_back(tp: &TopicPartition, broker: Option<BrokerId>, error: Error) -> Told<()> {
    let what = format!("Failed to describe active producers for partition {tp}");
    let words = match (error, broker) {
        (Error::UnknownTopicOrPartition, _) | (Error::NotLeaderOrFollower, None) => return Ok(()),
        (Error::NotLeaderOrFollower, Some(id)) => format!("{what} on brokerId {id}"),
        _ => format!("{what} due to unexpected error"),
    };
    Err(Failure::refused(error, Some(&words)).into())
}

fn abort(tp: &TopicPartition, which: &Which, admin: &mut Admin<'_>) -> Told<String> {
    let marker = |(producer_id, producer_epoch, coordinator_epoch): (i64, i16, i32)| {
        WriteTxnMarkersRequest {
            producer_id: ProducerId(producer_id),
            producer_epoch: ProducerEpoch(producer_epoch),
            transaction_result: TransactionResult::Abort,
            topics: vec![tp.clone()],
            coordinator_epoch: LeaderEpoch(coordinator_epoch.max(0)),
        }
    };
    let marker = marker(match *which {
        Which::Untold => {
            return Err(words(
                "The transaction to abort must be identified either with --start-offset (for \
                 brokers on 3.0 or above) or with --producer-id, --producer-epoch, and \
                 --coordinator-epoch (for older brokers)",
            ));
        }
        Which::From(start) => {
            let of = open_at(tp, start, admin)?;
            (of.producer_id.0, of.producer_epoch.0, coordinator_epoch(&of))
        }
        Which::Of { producer_id, producer_epoch, coordinator_epoch } => {
            let lacks = |option: &str| words(format!("Missing required argument --{option}"));
            let epoch = producer_epoch.ok_or_else(|| lacks("producer-epoch"))?;
            (producer_id, epoch, coordinator_epoch.ok_or_else(|| lacks("coordinator-epoch"))?)
        }
    });
    let spec = format!(
        "AbortTransactionSpec(topicPartition={tp}, producerId={}, producerEpoch={}, \
         coordinatorEpoch={})",
        marker.producer_id, marker.producer_epoch, marker.coordinator_epoch
    );
    let what = format!("Failed to abort transaction {spec}");
    while_doing(&what, write_marker(tp, &marker, &spec, admin))?;
    Ok(String::new())
}

/// The producer whose open transaction begins there.
fn open_at(tp: &TopicPartition, start: Offset, admin: &mut Admin<'_>) -> Told<ProducerState> {
    let what = format!("Failed to validate producer state for partition {tp}");
    let found = while_doing(&what, producers(std::slice::from_ref(tp), None, admin))?;
    let begins = |(_, of): &Open| of.current_txn_start_offset == Some(start);
    let found = found.into_iter().find(begins).map(|(_, of)| of);
    found.ok_or_else(|| {
        words(format!(
            "Could not find any open transactions starting at offset {start} on partition {tp}"
        ))
    })
}

/// Has the leader write how the transaction ends.
// Source: AbortTransactionHandler
fn write_marker(
    tp: &TopicPartition,
    marker: &WriteTxnMarkersRequest,
    spec: &str,
    admin: &mut Admin<'_>,
) -> Told<()> {
    let deadline = admin.deadline();
    loop {
        if let Some(leader) = admin.leader(tp)? {
            let answer = admin.broker(ABORT, leader, marker.clone().into())?;
            let error =
                answer!(answer, WriteTxnMarkers).topics.first().and_then(|(_, error)| *error);
            match error {
                None => return Ok(()),
                Some(
                    Error::NotLeaderOrFollower
                    | Error::ReplicaNotAvailable
                    | Error::BrokerNotAvailable
                    | Error::UnknownTopicOrPartition,
                ) => {}
                Some(error) => return Err(not_aborted(error, marker, spec).into()),
            }
        }
        admin.retry("abortTransaction(api=METADATA)", deadline)?;
    }
}

// Source: AbortTransactionHandler.handleError
fn not_aborted(error: Error, marker: &WriteTxnMarkersRequest, spec: &str) -> Failure {
    let why = match error {
        Error::InvalidProducerEpoch => "due an invalid producer epoch".to_owned(),
        Error::TransactionCoordinatorFenced => format!(
            "since the provided coordinator epoch {} has been fenced by the active coordinator",
            marker.coordinator_epoch
        ),
        other => {
            let words = Failure::refused(other, None).message;
            format!("due to unexpected error: {words}")
        }
    };
    Failure::refused(error, Some(&format!("WriteTxnMarkers request with {spec} failed {why}")))
}

impl Search {
    fn find(&self, admin: &mut Admin<'_>) -> Told<String> {
        if self.topic.is_none() && self.broker.is_none() {
            return Err(words(
                "The `find-hanging` command requires either --topic or --broker-id to limit the \
                 scope of the search",
            ));
        }
        if self.partition.is_some() && self.topic.is_none() {
            return Err(words("The --partition argument requires --topic to be provided"));
        }
        let partitions = self.partitions(admin)?;
        let on = self.broker.map_or("Optional.empty".to_owned(), |id| format!("Optional[{id}]"));
        let count = partitions.len();
        let what = format!("Failed to describe producers for {count} partitions on broker {on}");
        let mut open = while_doing(&what, producers(&partitions, self.broker, admin))?;
        let now = admin.now();
        open.retain(|(_, of)| {
            let lasts = now.since(of.last_timestamp);
            of.current_txn_start_offset.is_some() && lasts > self.max_transaction_timeout
        });
        // As a hash map hands the producers out.
        java_hash::in_table_order(&mut open, Filling::Full, |(_, of)| {
            java_hash::of_long(of.producer_id.0)
        });
        let expected = expected(&open, admin)?;
        open.retain(|(tp, of)| !expected.contains(&(of.producer_id, tp.clone())));
        let rows: Vec<_> = open.iter().map(|open| row_of(open, admin.now())).collect();
        let headers = [
            "Topic",
            "Partition",
            "ProducerId",
            "ProducerEpoch",
            "CoordinatorEpoch",
            "StartOffset",
            "LastTimestamp",
            "Duration(min)",
        ];
        Ok(table(headers, &rows))
    }

    // Source: FindHangingTransactionsCommand.collectTopicPartitionsToSearch
    fn partitions(&self, admin: &mut Admin<'_>) -> Told<Vec<TopicPartition>> {
        if let (Some(topic), Some(number)) = (&self.topic, self.partition) {
            return Ok(vec![TopicPartition::new(topic.clone(), number)]);
        }
        let what = match self.topic {
            Some(_) => "Failed to describe 1 topics",
            None => "Failed to list topics",
        };
        let mut topics = while_doing(what, admin.metadata(self.topic.clone().map(|of| vec![of])))?;
        if self.topic.is_none() {
            topics.retain(|topic| !topic.is_internal);
        }
        let mut all = Vec::new();
        for topic in topics {
            if let Some(error) = topic.error {
                while_doing(what, Err(Failure::refused(error, None).into()))?;
            }
            let wanted =
                |replicas: &[BrokerId]| self.broker.is_none_or(|id| replicas.contains(&id));
            let wanted = topic.partitions.iter().filter(|of| wanted(&of.replica_nodes));
            let numbers = wanted.map(|of| of.partition_index);
            all.extend(numbers.map(|number| TopicPartition::new(topic.name.clone(), number)));
        }
        Ok(all)
    }
}

/// The partitions of which coordinators know that these producers' transactions have yet to end
/// there.
// Source: FindHangingTransactionsCommand.lookupTransactionalIds, filterHangingTransactions
fn expected(open: &[Open], admin: &mut Admin<'_>) -> Told<Vec<(ProducerId, TopicPartition)>> {
    let mut ids: Vec<ProducerId> = open.iter().map(|(_, of)| of.producer_id).collect();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let what = format!("Failed to list transactions for {} producers", ids.len());
    let asked = ListTransactionsRequest { producer_ids: ids, duration: None };
    let listed = while_doing(&what, list_all(&asked, admin))?;
    let what = format!("Failed to describe {} transactions", listed.len());
    let mut expected = Vec::new();
    for (_, listing) in listed {
        match describe_one(&listing.transactional_id, admin) {
            Err(Halt::Failed(Failure {
                exception: Exception::Refusal(Error::TransactionalIdNotFound),
                ..
            })) => {}
            told => {
                let (_, of) = while_doing(&what, told)?;
                expected.extend(of.topics.into_iter().map(|tp| (listing.producer_id, tp)));
            }
        }
    }
    Ok(expected)
}

fn row_of((tp, of): &Open, now: SimTime) -> [String; 8] {
    [
        tp.topic.to_string(),
        tp.partition.to_string(),
        of.producer_id.to_string(),
        of.producer_epoch.to_string(),
        coordinator_epoch(of).to_string(),
        of.current_txn_start_offset.map_or(-1, |start| start.0).to_string(),
        ms(of.last_timestamp),
        (now.since(of.last_timestamp).as_ms() / 60_000).to_string(),
    ]
}

fn coordinator_epoch(of: &ProducerState) -> i32 {
    of.coordinator_epoch.map_or(-1, |epoch| epoch.0)
}

fn ms(time: SimTime) -> String {
    time.as_ms().to_string()
}

/// Columns as wide as they have to be, each with a tab behind it.
// Source: ToolsUtils.prettyPrintTable
fn table<const N: usize>(headers: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = headers.map(str::len);
    for row in rows {
        for (width, value) in widths.iter_mut().zip(row) {
            *width = (*width).max(value.encode_utf16().count());
        }
    }
    let mut out = String::new();
    for row in std::iter::once(&headers.map(str::to_owned)).chain(rows) {
        for (value, width) in row.iter().zip(widths) {
            out.push_str(&format!("{value:width$}\t"));
        }
        out.push('\n');
    }
    out
}
