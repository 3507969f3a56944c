//! Groups of old consumers as tools see them: `kafka-consumer-groups --zookeeper` (0.9 to 1.1) and
//! `ConsumerOffsetChecker` (0.8).
//!
//! Source: ConsumerGroupCommand.ZkConsumerGroupService, AdminUtils (0.10.2), ConsumerOffsetChecker
//! (0.8.2).
//!
//! *Invariant: an offset that Kafka has goes before the one in ZooKeeper; whoever asks Kafka for it
//! makes the offsets topic, where there is none.*
// Real: brokers are looked for in ZooKeeper, anew for each partition; here the first of them is
// asked, because what they answer is the same.

use std::fmt::Write;
use std::sync::Arc;

use super::admin::{Admin, Failure, Halt, Told, ended};
use super::dialogue::Next;
use super::exception::Exception;
use super::reassign_in_zookeeper::bracketed;
use super::topics_in_zookeeper::get;
use super::{Arguments, Printed, Usage};
use crate::kafka::id::{GroupId, TopicName, TopicPartition};
use crate::kafka::java_hash;
use crate::kafka::message::{Isolation, ListOffsetsAt, OffsetFetchRequest, Response};
use crate::kafka::znodes::{self, TopicZnode, consumers};
use crate::kafka::zookeeper::{Reply, children, data, found};
use crate::sim::{OrdMap, sort};
use crate::zk::path::Path;
use crate::zk::request::Op;

/// A name in ZooKeeper.
type Name = Arc<str>;

/// What is said before all else.
// Source: ConsumerGroupCommand.main (0.10.2, 1.1)
const NOTE: &str = "Note: This will only show information about consumers that use ZooKeeper (not \
    those using the Java consumer API).\n";

/// Where nothing is known.
const MISSING: &str = "-";

/// One line of a description.
struct Row {
    partition: Option<TopicPartition>,
    current: Option<i64>,
    end: Option<i64>,
    member: String,
}

/// Begins what `kafka-consumer-groups` prints.
pub(super) fn note(admin: &Admin<'_>) -> String {
    let blank = if admin.release().groups_are_shown_plainly() { "\n" } else { "" };
    format!("{NOTE}{blank}")
}

/// All groups.
pub(super) fn list(admin: &mut Admin<'_>, printed: &mut String) -> Told<()> {
    for group in below(consumers::groups(), admin)?.unwrap_or_default().iter() {
        printed.push_str(&format!("{group}\n"));
    }
    Ok(())
}

/// What a group reads, how far it is, and who reads it.
// Source: ZkConsumerGroupService.collectGroupAssignment
pub(super) fn describe(group: &GroupId, admin: &mut Admin<'_>, printed: &mut String) -> Told<()> {
    let groups = below(consumers::groups(), admin)?.unwrap_or_default();
    if !groups.iter().any(|one| **one == *group.as_str()) {
        printed.push_str(&format!("Error: The consumer group '{group}' does not exist.\n"));
        return Ok(());
    }
    let topics = below(consumers::owners(group), admin)?.unwrap_or_default();
    let partitions = partitions_of(&names(&topics), admin)?;
    let ids = below(consumers::consumer_ids(group), admin)?.unwrap_or_default();
    let owners = owners_of(group, &partitions, admin)?;
    let member = |owner: &Option<String>| {
        let owner = owner.as_deref().unwrap_or(MISSING);
        owner.rsplit_once('-').map_or(owner, |(id, _)| id).to_owned()
    };
    let members: Vec<String> = owners
        .iter()
        .map(|owner| if owner.is_some() { member(owner) } else { MISSING.into() })
        .collect();
    let offsets = match partitions.is_empty() {
        true => OrdMap::new(),
        false => offsets_of(group, &partitions, admin)?,
    };
    for partition in partitions.iter().filter(|tp| !offsets.contains_key(*tp)) {
        let name = named(partition, admin);
        printed.push_str(&format!(
            "Error: Could not fetch offset from zookeeper for group '{group}' partition '{name}' \
             due to missing offset data in zookeeper.\n"
        ));
    }
    let ends = admin.list_offsets(ListOffsetsAt::Latest, &partitions)?;
    let mut rows = Vec::new();
    for ((partition, end), member) in ends.into_iter().zip(&members) {
        let current = offsets.get(&partition).copied();
        rows.push(Row { partition: Some(partition), current, end, member: member.clone() });
    }
    for id in ids.iter().filter(|id| !members.iter().any(|member| **member == ***id)) {
        rows.push(Row { partition: None, current: None, end: None, member: id.to_string() });
    }
    match admin.release().groups_are_shown_plainly() {
        true => printed.push_str(&plain_table(&rows)),
        false if rows.is_empty() => {}
        false => printed.push_str(&table(&rows)),
    }
    Ok(())
}

/// Deletes a group, or what it keeps of one topic, unless somebody is in it.
// Source: ZkConsumerGroupService.deleteGroups
pub(super) fn delete(
    group: &GroupId,
    topic: Option<&str>,
    admin: &mut Admin<'_>,
    printed: &mut String,
) -> Told<()> {
    let of = topic.map_or(String::new(), |topic| format!(" topic '{topic}'"));
    let outcome = match topic {
        None => delete_group(group, admin)?,
        Some(topic) => delete_of_topic(group, topic, admin)?,
    };
    printed.push_str(&match (outcome, topic) {
        (Outcome::Deleted, None) => {
            format!("Deleted all consumer group information for group '{group}' in zookeeper.\n")
        }
        (Outcome::Deleted, Some(_)) => {
            format!("Deleted consumer group information for group '{group}'{of} in zookeeper.\n")
        }
        (Outcome::Active, _) => format!(
            "Error: Delete for group '{group}'{of} failed because its consumers are still \
             active.\n"
        ),
        (Outcome::Missing, _) => {
            format!("Error: Delete for group '{group}'{of} failed because group does not exist.\n")
        }
    });
    Ok(())
}

/// Deletes what all groups keep of a topic, where nobody is in them.
// Source: AdminUtils.deleteAllConsumerGroupInfoForTopicInZK
pub(super) fn delete_of_all(topic: &str, admin: &mut Admin<'_>, printed: &mut String) -> Told<()> {
    for group in below(consumers::groups(), admin)?.unwrap_or_default().iter() {
        let group = GroupId::from(&**group);
        let topics = below(consumers::offsets(&group), admin)?.unwrap_or_default();
        if topics.iter().any(|one| **one == *topic) {
            delete_of_topic(&group, topic, admin)?;
        }
    }
    printed.push_str(&format!(
        "Deleted consumer group information for all inactive consumer groups for topic '{topic}' \
         in zookeeper.\n"
    ));
    Ok(())
}

/// What a deletion came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Deleted,
    Active,
    Missing,
}

// Source: AdminUtils.deleteConsumerGroupInZK
fn delete_group(group: &GroupId, admin: &mut Admin<'_>) -> Told<Outcome> {
    let Some(members) = below(consumers::consumer_ids(group), admin)? else {
        return Ok(Outcome::Missing);
    };
    if !members.is_empty() {
        return Ok(Outcome::Active);
    }
    delete_recursively(consumers::group(group), admin)?;
    Ok(Outcome::Deleted)
}

// Source: AdminUtils.deleteConsumerGroupInfoForTopicInZK
fn delete_of_topic(group: &GroupId, topic: &str, admin: &mut Admin<'_>) -> Told<Outcome> {
    let topics = below(consumers::owners(group), admin)?.unwrap_or_default();
    if topics.len() == 1 && *topics[0] == *topic {
        return delete_group(group, admin);
    }
    match below(consumers::consumer_ids(group), admin)? {
        None => Ok(Outcome::Missing),
        Some(members) if !members.is_empty() => Ok(Outcome::Active),
        Some(_) => {
            delete_recursively(consumers::owners(group).child(topic), admin)?;
            delete_recursively(consumers::offsets(group).child(topic), admin)?;
            Ok(Outcome::Deleted)
        }
    }
}

/// Deletes a znode with all below it, the deepest first.
// Source: org.I0Itec.zkclient.ZkClient.deleteRecursive; DataNode: a hash set of 8 buckets
// Real: a server lists children in that order; here by name, and who deletes them puts them so.
fn delete_recursively(path: Path, admin: &mut Admin<'_>) -> Told<()> {
    let Some(names) = below(path.clone(), admin)? else { return Ok(()) };
    let mut names = names.to_vec();
    let buckets = if names.len() > 6 { 16 } else { 8 };
    sort::by_key(&mut names, |name| java_hash::place(java_hash::hash(name), buckets));
    for name in &names {
        delete_recursively(path.child(name), admin)?;
    }
    admin.in_zookeeper(vec![Op::Delete { path, version: -1 }])?;
    Ok(())
}

/// The children of a znode, if there is one.
fn below(path: Path, admin: &mut Admin<'_>) -> Told<Option<Arc<[Name]>>> {
    let reply = admin.in_zookeeper(vec![Op::GetChildren2 { path, watch: false }])?;
    Ok(reply[0].is_ok().then(|| children(&reply[0])))
}

fn names(topics: &[Name]) -> Vec<TopicName> {
    topics.iter().map(|topic| TopicName::from(&**topic)).collect()
}

/// All partitions of these topics.
// Source: ZkUtils.getPartitionsForTopics
fn partitions_of(topics: &[TopicName], admin: &mut Admin<'_>) -> Told<Vec<TopicPartition>> {
    let reads = topics.iter().map(|topic| get(znodes::topic(topic))).collect();
    let replies = admin.in_zookeeper(reads)?;
    let mut partitions = Vec::new();
    for (topic, reply) in topics.iter().zip(&replies) {
        let known = found(reply, TopicZnode::decode).map(|znode| znode.partitions);
        let numbers = known.iter().flat_map(|partitions| partitions.keys().copied());
        partitions.extend(numbers.map(|number| TopicPartition::new(topic.clone(), number)));
    }
    Ok(partitions)
}

/// The threads that own these.
fn owners_of(
    group: &GroupId,
    partitions: &[TopicPartition],
    admin: &mut Admin<'_>,
) -> Told<Vec<Option<String>>> {
    let reads = partitions.iter().map(|tp| get(consumers::owner(group, tp))).collect();
    Ok(admin.in_zookeeper(reads)?.iter().map(text).collect())
}

fn text(reply: &Reply) -> Option<String> {
    let (data, _) = data(reply)?;
    Some(data.to_text().into_owned())
}

/// How far the group is: as Kafka knows, or else as ZooKeeper does.
// Source: ZkConsumerGroupService.getPartitionOffsets
fn offsets_of(
    group: &GroupId,
    partitions: &[TopicPartition],
    admin: &mut Admin<'_>,
) -> Told<OrdMap<TopicPartition, i64>> {
    let request = OffsetFetchRequest {
        group_id: group.clone(),
        topics: Some(partitions.to_vec()),
        require_stable: Isolation::ReadUncommitted,
    };
    let error_of = |answer: &Response| match answer {
        Response::OffsetFetch(answer) => answer.error,
        _ => None,
    };
    let (_, answer) = admin.of_group("offsetFetch", group, request.into(), error_of)?;
    let Response::OffsetFetch(answer) = answer else {
        panic!("offset-fetch was answered by {}", answer.name());
    };
    let mut offsets: OrdMap<TopicPartition, i64> = answer
        .topics
        .into_iter()
        .filter_map(|(tp, committed)| Some((tp, committed?.offset.0)))
        .filter(|(_, offset)| *offset >= 0)
        .collect();
    let missing = partitions.iter().filter(|tp| !offsets.contains_key(*tp));
    let missing: Vec<TopicPartition> = missing.cloned().collect();
    let reads = missing.iter().map(|tp| get(consumers::group_offset(group, tp))).collect();
    let replies = admin.in_zookeeper(reads)?;
    for (tp, reply) in missing.into_iter().zip(&replies) {
        if let Some(offset) = found(reply, consumers::decode_offset) {
            offsets.insert(tp, offset.0);
        }
    }
    Ok(offsets)
}

/// A partition as the tools of that release name it.
fn named(partition: &TopicPartition, admin: &Admin<'_>) -> String {
    match admin.release().partitions_are_named_in_brackets() {
        true => bracketed(partition),
        false => partition.to_string(),
    }
}

impl Row {
    /// Topic, partition, offset, end, lag and member, as they are shown.
    fn cells(&self) -> [String; 6] {
        let number = |n: Option<i64>| n.map_or(MISSING.to_owned(), |n| n.to_string());
        let lag = self.end.zip(self.current).map(|(end, current)| end - current);
        let topic = self.partition.as_ref().map_or(MISSING.to_owned(), |tp| tp.topic.to_string());
        let partition = self.partition.as_ref().map(|tp| i64::from(tp.partition));
        let [partition, current, end, lag] = [partition, self.current, self.end, lag].map(number);
        [topic, partition, current, end, lag, self.member.clone()]
    }
}

const HEADS: [&str; 6] =
    ["TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID"];

fn all_cells(rows: &[Row]) -> Vec<[String; 6]> {
    let heads = HEADS.map(str::to_owned);
    std::iter::once(heads).chain(rows.iter().map(Row::cells)).collect()
}

// Source: ConsumerGroupCommand.printAssignment (0.10.2)
fn plain_table(rows: &[Row]) -> String {
    let mut out = String::from("\n");
    for [a, b, c, d, e, f] in all_cells(rows) {
        let _ = writeln!(out, "{a:30} {b:10} {c:15} {d:15} {e:10} {f:50}");
    }
    out
}

// Source: ConsumerGroupCommand.printOffsets (1.1)
fn table(rows: &[Row]) -> String {
    let cells = all_cells(rows);
    let width = |place: usize| cells.iter().map(|row| row[place].len()).max().unwrap_or(0).max(15);
    let (topic, member) = (width(0), width(5));
    let mut out = String::from("\n");
    for [a, b, c, d, e, f] in &cells {
        let _ = writeln!(out, "{a:topic$} {b:10} {c:15} {d:15} {e:15} {f:member$} ");
    }
    out
}

/// `ConsumerOffsetChecker` with its command line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OffsetChecker {
    group: GroupId,
    topics: Option<Vec<TopicName>>,
}

impl OffsetChecker {
    /// Reads the command line.
    pub fn read(arguments: &mut Arguments) -> Result<OffsetChecker, Usage> {
        let group = arguments.value("--group").ok_or(Usage::lacks("--group GROUP"))?;
        let topics = arguments.value("--topic");
        arguments.finish()?;
        let topics = topics.map(|topics| topics.split(',').map(TopicName::from).collect());
        Ok(OffsetChecker { group: group.as_str().into(), topics })
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, Next> {
        ended(self.check(admin), &|why| {
            Printed::done(format!("Exiting due to: {}.\n", why.message))
        })
    }

    // Source: ConsumerOffsetChecker.main, processPartition
    fn check(&self, admin: &mut Admin<'_>) -> Told<String> {
        let group = &self.group;
        let mut topics = match &self.topics {
            Some(topics) => topics.clone(),
            None => match below(consumers::owners(group), admin)? {
                Some(found) => names(&found),
                None => return Err(no_node(&consumers::owners(group))),
            },
        };
        let partitions = partitions_of(&topics, admin)?;
        let offsets = offsets_of(group, &partitions, admin)?;
        for tp in partitions.iter().filter(|tp| !offsets.contains_key(*tp)) {
            let path = consumers::group_offset(group, tp);
            let above = path.parent().expect("a partition's offset is below its topic's");
            let look = Op::Exists { path: above, watch: false };
            if admin.in_zookeeper(vec![look])?[0].is_err() {
                return Err(no_node(&path));
            }
        }
        let owners = owners_of(group, &partitions, admin)?;
        let ends = admin.list_offsets(ListOffsetsAt::Latest, &partitions)?;
        let mut out = String::new();
        let heads = ["Group", "Topic", "Pid", "Offset", "logSize", "Lag", "Owner"];
        checked(&mut out, heads);
        sort::sort(&mut topics);
        for topic in &topics {
            let own = ends.iter().zip(&owners).filter(|((tp, _), _)| tp.topic == *topic);
            for ((tp, end), owner) in own {
                let Some(end) = end else {
                    let _ = writeln!(out, "No broker for partition {topic} - {}", tp.partition);
                    continue;
                };
                let offset = offsets.get(tp).copied();
                let lag = offset.map_or("unknown".to_owned(), |offset| (end - offset).to_string());
                let shown = offset.unwrap_or(-1).to_string();
                let (number, end) = (tp.partition.to_string(), end.to_string());
                let owner = owner.as_deref().unwrap_or("none");
                let cells = [group.as_str(), topic.as_str(), &number, &shown, &end, &lag, owner];
                checked(&mut out, cells);
            }
        }
        Ok(out)
    }
}

fn checked(out: &mut String, [a, b, c, d, e, f, g]: [&str; 7]) {
    let _ = writeln!(out, "{a:15} {b:30} {c:3} {d:15} {e:15} {f:15} {g}");
}

fn no_node(path: &Path) -> Halt {
    let words =
        "org.apache.zookeeper.KeeperException$NoNodeException: KeeperErrorCode = NoNode for";
    Failure::new(Exception::Unthrown, format!("{words} {path}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_shown_as_the_recorded_tools_showed_it() {
        let row = |partition: i32, current, member: &str| Row {
            partition: Some(TopicPartition::new("orders", partition)),
            current: Some(current),
            end: Some(5),
            member: member.into(),
        };
        let idle = Row { partition: None, current: None, end: None, member: "g_c4".into() };
        let rows = [row(0, 2, "g_c1"), row(1, 5, MISSING), idle];
        let widths = [16, 11, 16, 16, 16, 16];
        let line = |cells: [&str; 6]| -> String {
            let cells = cells.iter().zip(widths);
            cells.map(|(cell, width)| format!("{cell:width$}")).collect::<String>() + "\n"
        };
        let expected = [
            "\n".to_owned(),
            line(HEADS),
            line(["orders", "0", "2", "5", "3", "g_c1"]),
            line(["orders", "1", "5", "5", "0", "-"]),
            line(["-", "-", "-", "-", "-", "g_c4"]),
        ];
        let expected = expected.concat();
        assert_eq!(table(&rows), expected);
    }
}
