//! `kafka-get-offsets` (3.0), `kafka.tools.GetOffsetShell` before: where partitions begin or end.
//!
//! Source: GetOffsetShell (0.8.2, 2.3, 3.9).
//!
//! *Invariant: it commits nothing and joins nothing; the first tool may make a topic by asking.*

use super::admin::{Admin, Failure, Halt, Told, answer, ended};
use super::dialogue::Next;
use super::exception::Exception;
use super::{Arguments, Printed, Usage};
use crate::kafka::id::{TopicName, TopicPartition};
use crate::kafka::message::{ListOffsetsAt, MetadataRequest, Response, TopicMetadata};
use crate::kafka::release::Release;
use crate::sim::{SimTime, Span, sort};

/// The script's name.
pub const SCRIPT: &str = "kafka-get-offsets";
/// The class behind it, by which it was called before.
pub const CLASS: &str = "GetOffsetShell";

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GetOffsets {
    called: Called,
    /// None means all.
    topic: Option<TopicName>,
    /// None means all.
    partitions: Vec<i32>,
    at: ListOffsetsAt,
    internal: Internal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Called {
    Script,
    Class,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Internal {
    Shown,
    LeftOut,
}

impl GetOffsets {
    /// Reads the command line of the tool by that name.
    pub fn read(name: &str, arguments: &mut Arguments) -> Result<GetOffsets, Usage> {
        arguments.value("--broker-list");
        let topic = arguments.value("--topic").map(TopicName::from);
        let list = arguments.value("--partitions").unwrap_or_default();
        let numbers = list.split(',').filter(|one| !one.is_empty()).map(|one| one.parse().ok());
        let partitions = numbers.collect::<Option<_>>();
        let partitions = partitions.ok_or_else(|| Usage::is_not(&list, "numbers like 0,2"))?;
        let at = match arguments.value("--time") {
            None => ListOffsetsAt::Latest,
            Some(text) => at(&text).ok_or_else(|| {
                Usage::is_not(&text, "-1 or latest, -2 or earliest, or a time in milliseconds")
            })?,
        };
        let internal = match arguments.switch("--exclude-internal-topics") {
            true => Internal::LeftOut,
            false => Internal::Shown,
        };
        arguments.finish()?;
        let called = if name == SCRIPT { Called::Script } else { Called::Class };
        Ok(GetOffsets { called, topic, partitions, at, internal })
    }

    /// Whether the script is not there yet.
    pub(super) fn is_missing(&self, release: Release) -> bool {
        self.called == Called::Script && release.tools_are_in_scala()
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, Next> {
        let done = match &self.topic {
            Some(topic) if admin.release().tools_are_in_scala() => self.of_one(topic, admin),
            None if admin.release().tools_are_in_scala() => {
                Err(plain("Missing required argument \"[topic]\"\n".to_owned()))
            }
            _ => self.of_all(admin),
        };
        ended(done, &|why| match why.exception {
            Exception::Unthrown => Printed::failed(why.message.clone()),
            _ => Printed::failed(format!("Error occurred: {}\n", why.message)),
        })
    }

    // Source: GetOffsetShell.fetchOffsets (3.9)
    // Real: who has no leader is waited for, and then said to be skipped; here it is left out.
    fn of_all(&self, admin: &mut Admin<'_>) -> Told<String> {
        let mut topics = admin.metadata(None)?;
        topics.retain(|topic| {
            let is_left_out = self.internal == Internal::LeftOut && topic.is_internal;
            !is_left_out && self.topic.as_ref().is_none_or(|wanted| *wanted == topic.name)
        });
        let mut all: Vec<TopicPartition> =
            topics.iter().flat_map(|topic| self.partitions_of(topic)).collect();
        if all.is_empty() {
            let words = "Could not match any topic-partitions with the specified filters";
            return Err(plain(format!("Error occurred: {words}\n")));
        }
        // By name: orders-10 stands before orders-2.
        sort::by_key(&mut all, TopicPartition::to_string);
        let mut out = String::new();
        for (partition, offset) in admin.list_offsets(self.at, &all)? {
            if let Some(offset) = offset.filter(|offset| *offset >= 0) {
                out.push_str(&line(&partition, &offset.to_string()));
            }
        }
        Ok(out)
    }

    // Source: GetOffsetShell.main (0.8.2, 2.3)
    fn of_one(&self, name: &TopicName, admin: &mut Admin<'_>) -> Told<String> {
        let is_first = admin.release().offsets_shell_asks_leaders_itself();
        let request = MetadataRequest {
            topics: Some(vec![name.clone()]),
            allow_auto_topic_creation: is_first,
        };
        let answer = answer!(admin.some("metadata", request.into())?, Metadata);
        let topic = answer.topics.into_iter().find(|topic| topic.error.is_none());
        let Some(topic) = topic else {
            let words = format!("Topic {name} does not exist\n");
            return Err(plain(if is_first { String::new() } else { words }));
        };
        let mut all = self.partitions_of(&topic);
        sort::sort(&mut all);
        let mut out = String::new();
        for number in &self.partitions {
            if !all.iter().any(|tp| tp.partition == *number) {
                out.push_str(&format!("Error: partition {number} does not exist\n"));
            }
        }
        let leads = |tp: &TopicPartition| {
            let of = topic.partitions.iter().find(|of| of.partition_index == tp.partition);
            of.is_some_and(|of| of.leader_id.0 >= 0)
        };
        for tp in all.iter().filter(|tp| !leads(tp)) {
            let number = tp.partition;
            out.push_str(&format!(
                "Error: partition {number} does not have a leader. Skip getting offsets\n"
            ));
        }
        all.retain(leads);
        for (partition, offset) in admin.list_offsets(self.at, &all)? {
            let offset = offset.filter(|offset| *offset >= 0);
            out.push_str(&line(&partition, &offset.map_or(String::new(), |it| it.to_string())));
        }
        Ok(out)
    }

    fn partitions_of(&self, topic: &TopicMetadata) -> Vec<TopicPartition> {
        let numbers = topic.partitions.iter().map(|of| of.partition_index);
        let wanted = |n: &i32| self.partitions.is_empty() || self.partitions.contains(n);
        numbers.filter(wanted).map(|n| TopicPartition::new(topic.name.clone(), n)).collect()
    }
}

/// What the tool says in its own words when it ends early.
fn plain(words: String) -> Halt {
    Failure::new(Exception::Unthrown, words).into()
}

fn at(text: &str) -> Option<ListOffsetsAt> {
    match text {
        "-1" | "latest" => Some(ListOffsetsAt::Latest),
        "-2" | "earliest" => Some(ListOffsetsAt::Earliest),
        _ => Some(ListOffsetsAt::Time(SimTime::ZERO + Span::parse_ms(text)?)),
    }
}

fn line(partition: &TopicPartition, offset: &str) -> String {
    format!("{}:{}:{offset}\n", partition.topic, partition.partition)
}
