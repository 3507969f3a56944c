//! `kafka-console-consumer`, reading one partition from its beginning until nothing comes; in 0.8
//! `SimpleConsumerShell` with `--print-offsets --no-wait-at-logend`.
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
use crate::sim::Span;

/// Values with their offsets.
type Values = Vec<(Offset, String)>;

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConsoleConsumer {
    /// To read one partition.
    Partition(Reader),
    /// To read a topic as a member of a group, by the protocol of KIP-848.
    Member(GroupId, TopicName),
}

/// Reads one partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reader {
    partition: TopicPartition,
}

impl ConsoleConsumer {
    /// Reads the command line.
    pub fn read(arguments: &mut Arguments) -> Result<ConsoleConsumer, Usage> {
        let topic = arguments.value("--topic").ok_or(Usage("it is told no topic".into()))?;
        if let Some(group) = arguments.value("--group") {
            arguments.number::<u64>("--timeout-ms")?;
            let property = arguments.value("--consumer-property");
            arguments.finish()?;
            if property.as_deref() != Some(NEW_PROTOCOL) {
                return Err(Usage("it joins no group of the classic protocol yet".into()));
            }
            return Ok(ConsoleConsumer::Member(group.as_str().into(), topic.as_str().into()));
        }
        let number = arguments.number("--partition")?;
        let number = number.ok_or(Usage("it only reads one partition yet".into()))?;
        if !arguments.switch("--from-beginning") {
            return Err(Usage("it only reads from the beginning yet".into()));
        }
        arguments.finish()?;
        let partition = TopicPartition::new(topic, number);
        Ok(ConsoleConsumer::Partition(Reader { partition }))
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<String, Next> {
        let printed = match self {
            ConsoleConsumer::Partition(reader) => reader.read_all(admin),
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
        error.name(),
        why.exception.class(admin.release()),
        why.message
    ))
}

impl Reader {
    fn read_all(&self, admin: &mut Admin<'_>) -> Result<String, Halt> {
        let partitions = [self.partition.clone()];
        let (mut printed, mut count) = (String::new(), 0);
        let starts = admin.list_offsets(ListOffsetsAt::Earliest, &partitions)?;
        let mut next = Offset(starts[0].1.unwrap_or(0));
        let shell = admin.release().one_partition_is_read_by_a_shell();
        while let Some((values, after)) = self.fetch(admin, next)? {
            for (offset, value) in values {
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
            let TopicPartition { topic, partition } = &self.partition;
            return Ok(format!(
                "{printed}Terminating. Reached the end of partition ({topic}, {partition}) at \
                 offset {next}\n"
            ));
        }
        Ok(format!("{printed}Processed a total of {count} messages\n"))
    }

    /// The values from `from` on, and the offset after them; none if nothing came.
    fn fetch(&self, admin: &mut Admin<'_>, from: Offset) -> Result<Option<(Values, Offset)>, Halt> {
        let known = admin.metadata(Some(vec![self.partition.topic.clone()]))?;
        let of = known.iter().flat_map(|topic| &topic.partitions);
        let of = of.into_iter().find(|of| of.partition_index == self.partition.partition);
        let Some(leader) = of.map(|of| of.leader_id).filter(|id| *id != BrokerId::NONE) else {
            return Ok(None);
        };
        let partition = FetchPartition {
            partition: self.partition.clone(),
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
        let value = |value: &Option<crate::kafka::record::Content>| {
            value.as_ref().map_or("null".into(), ToString::to_string)
        };
        let values = wanted.iter().map(|(at, record)| (*at, value(&record.value))).collect();
        Ok(Some((values, last.next())))
    }
}
