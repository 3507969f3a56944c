//! `kafka-console-consumer`, reading a topic from its beginning until nothing comes; in 0.8, where
//! one partition is named, `SimpleConsumerShell` with `--print-offsets --no-wait-at-logend`.
//!
//! Source: ConsoleConsumer (3.9), SimpleConsumerShell (0.8.2).
//!
//! *Invariant: it prints values, one a line, and at last how many, or where they end.*

use super::admin::{Admin, Failure, Halt, answer};
use super::dialogue::Next;
use super::{Arguments, Usage};
use crate::kafka::consumer::words::ConsumerSettings;
use crate::kafka::id::{BrokerId, GroupId, Offset, TopicName, TopicPartition};
use crate::kafka::message::{
    ConsumerGroupHeartbeatRequest, FetchPartition, FetchRequest, Isolation, ListOffsetsAt, Response,
};
use crate::kafka::record::Record;
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reader {
    topic: TopicName,
    /// None means all.
    partition: Option<i32>,
    max_messages: u64,
    shown: Shown,
}

/// What is shown of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shown {
    Value,
    KeyAndValue,
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
        let shown = match arguments.value("--property").as_deref() {
            Some("print.key=true") => Shown::KeyAndValue,
            None | Some("print.key=false") => Shown::Value,
            Some(other) => return Err(Usage::is_not(other, "print.key=true")),
        };
        if !arguments.switch("--from-beginning") {
            return Err(Usage::lacks("--from-beginning: it reads what is there, and ends"));
        }
        arguments.finish()?;
        let topic = topic.into();
        Ok(ConsoleConsumer::Reader(Reader { topic, partition, max_messages, shown }))
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<String, Next> {
        let printed = match self {
            ConsoleConsumer::Reader(reader) => reader.read_all(admin),
            ConsoleConsumer::Member(group, topic) => join(group, topic, admin),
        };
        match printed {
            Ok(printed) => Ok(printed),
            Err(Halt::Waits(next)) => Err(next),
            Err(Halt::Failed(why)) => Ok(format!("{}\n", why.thrown(admin.release()))),
        }
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

impl Reader {
    fn read_all(&self, admin: &mut Admin<'_>) -> Result<String, Halt> {
        let (mut printed, mut count) = (String::new(), 0);
        let is_old = admin.release().one_partition_is_read_by_a_shell();
        let shell = is_old && self.partition.is_some();
        for partition in self.partitions(admin)? {
            let one = std::slice::from_ref(&partition);
            let starts = admin.list_offsets(ListOffsetsAt::Earliest, one)?;
            let mut next = Offset(starts[0].1.unwrap_or(0));
            while let Some((values, after)) = self.fetch(&partition, admin, next)? {
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

    /// The values from `from` on, and the offset after them; none if nothing came.
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
        let partition = FetchPartition {
            partition: partition.clone(),
            current_leader_epoch: None,
            fetch_offset: from,
            last_fetched_epoch: None,
            log_start_offset: Offset::NONE,
            partition_max_bytes: 1 << 20,
        };
        let request = FetchRequest {
            isolation_level: Isolation::ReadUncommitted,
            replica_id: BrokerId::NONE,
            max_wait: Span::ms(500),
            min_bytes: 1,
            topics: vec![partition],
        };
        let answer = answer!(admin.broker("fetch", leader, request.into())?, Fetch);
        let records = answer.responses.iter().flat_map(|of| &of.records);
        let records = records.flat_map(|batch| batch.enumerate());
        let wanted: Vec<_> = records.filter(|(offset, _)| *offset >= from).collect();
        let Some((last, _)) = wanted.last() else { return Ok(None) };
        let text = |text: &Option<crate::kafka::record::Content>| {
            text.as_ref().map_or("null".into(), ToString::to_string)
        };
        let line = |record: &Record| match self.shown {
            Shown::Value => text(&record.value),
            Shown::KeyAndValue => format!("{}\t{}", text(&record.key), text(&record.value)),
        };
        let values = wanted.iter().map(|(at, record)| (*at, line(record))).collect();
        Ok(Some((values, last.next())))
    }
}
