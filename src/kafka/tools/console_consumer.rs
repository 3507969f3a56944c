//! `kafka-console-consumer`, reading a topic from its beginning until nothing comes; in 0.8, where
//! one partition is named, `SimpleConsumerShell` with `--print-offsets --no-wait-at-logend`.
//!
//! Source: ConsoleConsumer (3.9), SimpleConsumerShell (0.8.2).
//!
//! *Invariant: it prints values, one a line, and at last how many, or where they end.*

use std::sync::Arc;

use super::admin::{Admin, Failure, Halt, answer, ended};
use super::dialogue::Next;
use super::{Arguments, Printed, Usage};
use crate::kafka::consumer::Reading;
use crate::kafka::consumer::words::ConsumerSettings;
use crate::kafka::id::{BrokerId, GroupId, Offset, TopicName, TopicPartition};
use crate::kafka::message::{
    ConsumerGroupHeartbeatRequest, FetchFrom, FetchMark, FetchPartition, FetchRequest, Isolation,
    ListOffsetsAt, Response,
};
use crate::kafka::record::{Content, Record};
use crate::kafka::release::Release;
use crate::sim::{Span, sort};

/// Values with their offsets.
type Values = Vec<(Offset, String)>;

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConsoleConsumer {
    /// To read what is there.
    Reader(Reader),
    /// To read a topic as a member of a group, by the protocol of KIP-848.
    Member(GroupId, TopicName),
}

/// Reads one partition of a topic, or one after the other.
// Real: it goes on until somebody stops it, and takes partitions as they answer; here it ends when
// nothing comes, because a tool here prints what it has and exits.
// Real: who reads a whole topic is a member of a group of its own, console-consumer-N; here it
// reads as nobody, because it ends at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reader {
    topic: TopicName,
    /// None means all.
    partition: Option<i32>,
    start: Start,
    isolation: Isolation,
    max_messages: u64,
    shown: Shown,
}

/// What is shown of a record.
// Source: DefaultMessageFormatter
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shown {
    parts: Vec<Part>,
    separator: Arc<str>,
}

/// One of the things that can be shown, in the order in which they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    Timestamp,
    Partition,
    Offset,
    Headers,
    Key,
    Value,
}

const PARTS: &[(&str, Part)] = &[
    ("print.timestamp", Part::Timestamp),
    ("print.partition", Part::Partition),
    ("print.offset", Part::Offset),
    ("print.headers", Part::Headers),
    ("print.key", Part::Key),
    ("print.value", Part::Value),
];

impl Shown {
    /// Reads the properties of a command line.
    fn read(arguments: &mut Arguments) -> Result<Shown, Usage> {
        let mut shown = Shown { parts: vec![Part::Value], separator: "\t".into() };
        while let Some(property) = arguments.value("--property") {
            let (name, value) = property.split_once('=').unwrap_or((&property, ""));
            let part = PARTS.iter().find(|(known, _)| *known == name).map(|(_, part)| *part);
            match (part, value) {
                (Some(part), "true" | "false") => {
                    shown.parts.retain(|shown| *shown != part);
                    if value == "true" {
                        shown.parts.push(part);
                    }
                }
                (None, text) if name == "key.separator" => shown.separator = text.into(),
                _ => {
                    let wanted = "print.timestamp, .partition, .offset, .headers, .key or .value \
                                  =true or false, or key.separator=:";
                    return Err(Usage::is_not(&property, wanted));
                }
            }
        }
        sort::sort(&mut shown.parts);
        Ok(shown)
    }

    /// A record's line.
    fn line(&self, offset: Offset, partition: i32, record: &Record, release: Release) -> String {
        let text = |text: &Option<Content>| text.as_ref().map_or("null".into(), Content::to_string);
        let parts = self.parts.iter().filter_map(|part| match part {
            Part::Timestamp => release
                .records_have_times()
                .then(|| format!("CreateTime:{}", record.timestamp.as_ms())),
            // Source: KAFKA-9285, KIP-431 (2.7)
            Part::Partition | Part::Offset | Part::Headers
                if !release.console_shows_where_records_are() =>
            {
                None
            }
            Part::Partition => Some(format!("Partition:{partition}")),
            Part::Offset => Some(format!("Offset:{offset}")),
            Part::Headers => Some("NO_HEADERS".to_owned()),
            Part::Key => Some(text(&record.key)),
            Part::Value => Some(text(&record.value)),
        });
        parts.collect::<Vec<_>>().join(&self.separator)
    }
}

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Start {
    Beginning,
    End,
    Offset(Offset),
}

impl ConsoleConsumer {
    /// Reads the command line.
    pub fn read(arguments: &mut Arguments) -> Result<ConsoleConsumer, Usage> {
        let topic = arguments.value("--topic").ok_or(Usage::lacks("--topic TOPIC"))?;
        if let Some(group) = arguments.value("--group") {
            arguments.number("--timeout-ms", 0, u64::MAX)?;
            let property = arguments.value("--consumer-property");
            arguments.finish()?;
            if property.as_deref() != Some(NEW_PROTOCOL) {
                let wanted = "no group: add consumer NAME group=GROUP topics=TOPIC is a member";
                return Err(Usage::is_not(&group, wanted));
            }
            return Ok(ConsoleConsumer::Member(group.as_str().into(), topic.as_str().into()));
        }
        let partition = arguments.number("--partition", 0, i32::MAX)?;
        let max_messages = arguments.number("--max-messages", 1, u64::MAX)?.unwrap_or(u64::MAX);
        arguments.number("--timeout-ms", 0, u64::MAX)?;
        let shown = Shown::read(arguments)?;
        let isolation = match arguments.value("--isolation-level").as_deref() {
            Some("read_committed") => Isolation::ReadCommitted,
            Some("read_uncommitted") | None => Isolation::ReadUncommitted,
            Some(other) => return Err(Usage::is_not(other, "read_committed or read_uncommitted")),
        };
        let start = start(arguments, partition)?;
        arguments.switch("--skip-message-on-error");
        arguments.finish()?;
        let topic = topic.into();
        let reader = Reader { topic, partition, start, isolation, max_messages, shown };
        Ok(ConsoleConsumer::Reader(reader))
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, Next> {
        let printed = match self {
            ConsoleConsumer::Reader(reader) => reader.read_all(admin),
            ConsoleConsumer::Member(group, topic) => join(group, topic, admin),
        };
        ended(printed, &|why| Printed::failed(format!("{}\n", why.thrown(admin.release()))))
    }
}

/// How the new protocol is asked for.
const NEW_PROTOCOL: &str = "group.protocol=consumer";

/// What the consumer logs of the settings that say how it talks.
// Source: AbstractConfig.logAll, ConsumerConfig, CommonClientConfigs, SslConfigs (3.9)
// Real: all its settings are logged, by name; here these, because the others are not its own.
fn logged_settings() -> String {
    let consumer = ConsumerSettings::new("", "", &[], Vec::new());
    let heartbeat = consumer.heartbeat_interval.as_ms().to_string();
    let (protocol, chosen) = NEW_PROTOCOL.split_once('=').unwrap_or_default();
    let settings = [
        (protocol, chosen),
        ("heartbeat.interval.ms", heartbeat.as_str()),
        ("security.protocol", "PLAINTEXT"),
        ("ssl.enabled.protocols", "[TLSv1.2, TLSv1.3]"),
        ("ssl.protocol", "TLSv1.3"),
    ];
    settings.iter().map(|(name, value)| format!("\t{name} = {value}\n")).collect()
}

/// Joins a group; what the coordinator refuses ends the consumer.
// Source: HeartbeatRequestManager.onErrorResponse, MembershipManagerImpl.transitionToFatal,
// org.apache.kafka.tools.consumer.ConsoleConsumer.process (3.9)
fn join(group: &GroupId, topic: &TopicName, admin: &mut Admin<'_>) -> Result<String, Halt> {
    let subscribed_topic_names = vec![topic.clone()];
    let request = ConsumerGroupHeartbeatRequest { group_id: group.clone(), subscribed_topic_names };
    let error_of = |answer: &Response| match answer {
        Response::ConsumerGroupHeartbeat(answer) => Some(answer.error),
        _ => None,
    };
    let call = "consumerGroupHeartbeat";
    let (_, answer) = admin.of_group(call, group, request.into(), error_of)?;
    let Some(error) = error_of(&answer) else { panic!("it was answered by {}", answer.name()) };
    let why = Failure::refused(error, None);
    let consumer = format!("[Consumer clientId=console-consumer, groupId={group}]");
    let internals = "org.apache.kafka.clients.consumer.internals";
    Ok(format!(
        "{}ERROR {consumer} GroupHeartbeatRequest failed due to {}: null \
         ({internals}.HeartbeatRequestManager)\n\
         ERROR {consumer} Member  with epoch 0 transitioned to FATAL state \
         ({internals}.MembershipManagerImpl)\n\
         ERROR Error processing message, terminating consumer process:  \
         (org.apache.kafka.tools.consumer.ConsoleConsumer)\n\
         {}: {}\nProcessed a total of 0 messages\n",
        logged_settings(),
        error.name(admin.release()),
        why.exception.class(admin.release()),
        why.message
    ))
}

/// Where a command line says that reading begins.
fn start(arguments: &mut Arguments, partition: Option<i32>) -> Result<Start, Usage> {
    if arguments.switch("--from-beginning") {
        return Ok(Start::Beginning);
    }
    match (arguments.value("--offset").as_deref(), partition) {
        (Some(_), None) => Err(Usage::lacks("--partition N where --offset is given")),
        (Some("earliest"), _) => Ok(Start::Beginning),
        (Some("latest"), _) => Ok(Start::End),
        (Some(text), _) => {
            let wanted = || Usage::is_not(text, "earliest, latest or an offset");
            let offset = text.parse().ok().filter(|offset| *offset >= 0).ok_or_else(wanted)?;
            Ok(Start::Offset(Offset(offset)))
        }
        (None, _) => Err(Usage::lacks("--from-beginning: it reads what is there, and ends")),
    }
}

impl Reader {
    fn read_all(&self, admin: &mut Admin<'_>) -> Result<String, Halt> {
        let (mut printed, mut count) = (String::new(), 0);
        let is_old = admin.release().one_partition_is_read_by_a_shell();
        let shell = is_old && self.partition.is_some();
        for partition in self.partitions(admin)? {
            let one = std::slice::from_ref(&partition);
            let mut next = match self.start {
                Start::Offset(offset) => offset,
                Start::Beginning => edge(ListOffsetsAt::Earliest, one, admin)?,
                Start::End => edge(ListOffsetsAt::Latest, one, admin)?,
            };
            // What comes while it reads is not waited for.
            let end = edge(ListOffsetsAt::Latest, one, admin)?;
            while count < self.max_messages && next < end {
                let Some((values, after)) = self.fetch(&partition, admin, next)? else { break };
                for (offset, value) in values {
                    if count == self.max_messages {
                        break;
                    }
                    if shell {
                        printed.push_str(&format!("next offset = {}\n", offset.next()));
                    }
                    printed.push_str(&value);
                    printed.push('\n');
                    count += 1;
                }
                next = after;
            }
            if shell {
                let TopicPartition { topic, partition } = partition;
                return Ok(format!(
                    "{printed}Terminating. Reached the end of partition ({topic}, {partition}) at \
                     offset {next}\n"
                ));
            }
        }
        // Source: ConsoleConsumer.reportRecordCount; (0.8.2) run
        Ok(match is_old {
            true => format!("{printed}Consumed {count} messages\n"),
            false => format!("{printed}Processed a total of {count} messages\n"),
        })
    }

    fn partitions(&self, admin: &mut Admin<'_>) -> Result<Vec<TopicPartition>, Halt> {
        if let Some(number) = self.partition {
            return Ok(vec![TopicPartition::new(self.topic.clone(), number)]);
        }
        let known = admin.metadata(Some(vec![self.topic.clone()]))?;
        let mut numbers: Vec<i32> =
            known.iter().flat_map(|topic| &topic.partitions).map(|of| of.partition_index).collect();
        sort::sort(&mut numbers);
        let named = numbers.into_iter().map(|n| TopicPartition::new(self.topic.clone(), n));
        Ok(named.collect())
    }

    /// The lines from `from` on, and the offset after them; none if nothing came.
    fn fetch(
        &self,
        partition: &TopicPartition,
        admin: &mut Admin<'_>,
        from: Offset,
    ) -> Result<Option<(Values, Offset)>, Halt> {
        let known = admin.metadata(Some(vec![self.topic.clone()]))?;
        let of = known.iter().flat_map(|topic| &topic.partitions);
        let of = of.into_iter().find(|of| of.partition_index == partition.partition);
        let Some(leader) = of.map(|of| of.leader_id).filter(|id| *id != BrokerId::NONE) else {
            return Ok(None);
        };
        let fetch_from = FetchFrom {
            current_leader_epoch: None,
            fetch_offset: from,
            last_fetched_epoch: None,
            log_start_offset: Offset::NONE,
            partition_max_bytes: 1 << 20,
        };
        let asked = FetchPartition { partition: partition.clone(), from: fetch_from };
        let request = FetchRequest {
            mark: FetchMark::NONE,
            forgotten: Vec::new(),
            isolation_level: self.isolation,
            replica_id: BrokerId::NONE,
            max_wait: Span::ms(500),
            min_bytes: 1,
            topics: vec![asked],
        };
        let answer = answer!(admin.broker("fetch", leader, request.into())?, Fetch);
        let Some(told) = answer.responses.first() else { return Ok(None) };
        let (records, next) = Reading::heard(from, told);
        if next == from {
            return Ok(None);
        }
        let (number, release) = (partition.partition, admin.release());
        let line =
            |(at, record): (Offset, Record)| (at, self.shown.line(at, number, &record, release));
        Ok(Some((records.into_iter().map(line).collect(), next)))
    }
}

/// Where a partition begins or ends.
fn edge(at: ListOffsetsAt, one: &[TopicPartition], admin: &mut Admin<'_>) -> Result<Offset, Halt> {
    Ok(Offset(admin.list_offsets(at, one)?[0].1.unwrap_or(0)))
}
