//! `kafka-topics`: creates, describes, lists, alters and deletes topics by asking brokers.
//!
//! Not here: how its lines look (`topics_text`), and how it did the same in ZooKeeper
//! (`topics_in_zookeeper`).
//! Source: TopicCommand (3.9).
//!
//! *Invariant: it decides nothing that brokers decide; what they refuse it tells in their words.*

use std::sync::Arc;

use super::admin::{Admin, Failure, Halt, Told, accepted, answer, ended};
use super::exception::Exception;
use super::topics_text::{
    COLLISION, Only, PartitionDescription, TopicDescription, describe, failure, first_failure,
};
use super::{Arguments, Door, Printed, Usage};
use crate::kafka::admin::{
    ConfigEntry, ConfigResource, ConfigSource, CreatePartitionsRequest, CreatePartitionsTopic,
    DeleteTopicsRequest, DescribeConfigsRequest, ListPartitionReassignmentsRequest,
    OngoingReassignment, WhichConfigs,
};
use crate::kafka::id::{BrokerId, PARTITIONS, TopicName, TopicPartition};
use crate::kafka::java_hash;
use crate::kafka::message::{
    CreatableTopic, CreateTopicsRequest, PartitionMetadata, Response, TopicMetadata,
};
use crate::kafka::metadata_cache::is_internal;
use crate::kafka::placement::Candidate;
use crate::kafka::release::Release;
use crate::kafka::topic_pattern;
use crate::sim::{Span, sort};

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Topics {
    action: Action,
    pub(super) topic: Option<TopicName>,
    pub(super) partitions: Option<i32>,
    pub(super) replication_factor: Option<i32>,
    pub(super) replica_assignment: Option<Vec<Vec<BrokerId>>>,
    pub(super) configs: Vec<(Arc<str>, Arc<str>)>,
    pub(super) deleted_configs: Vec<Arc<str>>,
    pub(super) only: Only,
    pub(super) if_exists: bool,
    pub(super) if_not_exists: bool,
    /// Where it is told to ask.
    door: Door,
    internal: Internal,
    pub(super) racks: Racks,
}

/// Whether Kafka's own topics are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Internal {
    Told,
    LeftOut,
}

/// Whether replicas are spread over racks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Racks {
    /// Over all that there are.
    Heeded,
    /// As if there were none.
    Disregarded,
}

impl Racks {
    /// Reads the option.
    pub(super) fn read(arguments: &mut Arguments) -> Racks {
        match arguments.switch("--disable-rack-aware") {
            true => Racks::Disregarded,
            false => Racks::Heeded,
        }
    }

    /// The brokers as far as racks count.
    pub(super) fn heed(self, brokers: &mut [Candidate]) {
        if self == Racks::Disregarded {
            brokers.iter_mut().for_each(|broker| broker.rack = None);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    Create,
    Describe,
    List,
    Alter,
    Delete,
}

const ACTIONS: &[(&str, Action)] = &[
    ("--create", Action::Create),
    ("--describe", Action::Describe),
    ("--list", Action::List),
    ("--alter", Action::Alter),
    ("--delete", Action::Delete),
];

const ONLY: &[(&str, Only)] = &[
    ("--under-min-isr-partitions", Only::UnderMinIsr),
    ("--at-min-isr-partitions", Only::AtMinIsr),
    ("--topics-with-overrides", Only::Overridden),
    ("--under-replicated-partitions", Only::UnderReplicated),
    ("--unavailable-partitions", Only::Unavailable),
];

/// How long a call may take: `default.api.timeout.ms` and, at the broker, `request.timeout.ms`.
const REQUEST_TIMEOUT: Span = Span::secs(30);

impl Topics {
    /// Reads the command line.
    pub(super) fn read(arguments: &mut Arguments, door: Door) -> Result<Topics, Usage> {
        let action = arguments.one_of(ACTIONS)?;
        let topic = arguments.value("--topic").map(TopicName::from);
        let partitions = arguments.partitions("--partitions")?;
        let replication_factor =
            arguments.number("--replication-factor", i32::from(i16::MIN), i32::from(i16::MAX))?;
        let replica_assignment = match arguments.value("--replica-assignment") {
            Some(text) => Some(replica_assignment(&text).ok_or_else(|| {
                let wanted = "brokers like 1:2,2:3, for 1000 partitions at most";
                Usage::is_not(&text, wanted)
            })?),
            None => None,
        };
        let mut configs = Vec::new();
        while let Some(config) = arguments.value("--config") {
            let (name, value) = config
                .split_once('=')
                .ok_or_else(|| Usage::is_not(&config, "a setting like retention.ms=1000"))?;
            configs.push((name.into(), value.into()));
        }
        let mut deleted_configs = Vec::new();
        while let Some(name) = arguments.value("--delete-config") {
            deleted_configs.push(name.into());
        }
        let only = match arguments.one_of(ONLY) {
            Ok(only) if action == Action::Describe => only,
            Ok(_) => return Err(Usage::lacks("--describe with that")),
            Err(_) => Only::All,
        };
        let if_exists = arguments.switch("--if-exists");
        let if_not_exists = arguments.switch("--if-not-exists");
        let internal = match arguments.switch("--exclude-internal") {
            true => Internal::LeftOut,
            false => Internal::Told,
        };
        let racks = Racks::read(arguments);
        arguments.switch("--force");
        arguments.finish()?;
        Ok(Topics {
            action,
            topic,
            partitions,
            replication_factor,
            replica_assignment,
            configs,
            deleted_configs,
            only,
            if_exists,
            if_not_exists,
            door,
            internal,
            racks,
        })
    }

    /// The option that a tool of that release does not know yet, if so.
    // Source: KIP-351 (2.3)
    pub(super) fn too_new(&self, release: Release) -> Option<&'static str> {
        let option = match self.only {
            Only::UnderMinIsr => "under-min-isr-partitions",
            Only::AtMinIsr => "at-min-isr-partitions",
            _ => return None,
        };
        (!release.topics_tool_knows_min_isr()).then_some(option)
    }

    /// Whether it is Kafka's own, and those are not told.
    pub(super) fn leaves_out(&self, name: &TopicName) -> bool {
        self.internal == Internal::LeftOut && is_internal(name)
    }

    /// Whether it goes to ZooKeeper: up to 2.8 it still could.
    pub(super) fn is_in_zookeeper(&self, release: Release) -> bool {
        let told = self.door == Door::Zookeeper && release.tools_know_zookeeper();
        told || release.topics_are_made_in_zookeeper()
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, super::dialogue::Next> {
        let mut printed = String::new();
        let printing = &mut printed;
        let done = match (self.action, self.is_in_zookeeper(admin.release())) {
            (Action::Create, false) => self.create(admin, printing),
            (Action::Describe, false) => self.describe(admin, printing),
            (Action::List, false) => self.list(admin, printing),
            (Action::Alter, false) => self.alter(admin),
            (Action::Delete, false) => self.delete(admin),
            (Action::Create, true) => self.create_in_zookeeper(admin, printing),
            (Action::Describe, true) => self.describe_from_zookeeper(admin, printing),
            (Action::List, true) => self.list_from_zookeeper(admin, printing),
            (Action::Alter, true) => self.alter_in_zookeeper(admin, printing),
            (Action::Delete, true) => self.mark_in_zookeeper(admin, printing),
        };
        // Source: TopicCommand.main, which ends with 1 since 0.9
        let before = printed.clone();
        ended(done.map(|()| printed), &|why| {
            let words = before.clone() + &told(why, admin.release());
            match admin.release().topics_tool_is_the_first() {
                true => Printed::done(words),
                false => Printed::failed(words),
            }
        })
    }

    fn create(&self, admin: &mut Admin<'_>, printed: &mut String) -> Told<()> {
        let name =
            self.topic.clone().ok_or_else(|| plain("Missing required argument \"[topic]\""))?;
        if name.as_str().contains(['.', '_']) {
            printed.push_str(COLLISION);
        }
        let assignments = self.replica_assignment.clone().unwrap_or_default();
        check_assignment(&assignments)?;
        let topic = CreatableTopic {
            name: name.clone(),
            num_partitions: self.partitions.unwrap_or(-1),
            replication_factor: self.replication_factor.unwrap_or(-1),
            assignments: (0..).zip(assignments).collect(),
            configs: self.configs.clone(),
        };
        let (topics, timeout) = (vec![topic], REQUEST_TIMEOUT);
        let request = CreateTopicsRequest { topics, timeout, validate_only: false };
        let answer = answer!(admin.controller("createTopics", request.into())?, CreateTopics);
        for topic in answer.topics {
            let Some(error) = topic.error else { continue };
            let known = error == crate::kafka::error::Error::TopicAlreadyExists;
            if known && self.if_not_exists {
                continue;
            }
            if known && !admin.release().tools_tell_what_is_created() {
                return Err(plain(&format!("Topic {name} already exists")));
            }
            return Err(Failure::refused(error, topic.error_message.as_deref()).into());
        }
        if admin.release().tools_tell_what_is_created() {
            printed.push_str(&format!("Created topic {name}.\n"));
        }
        Ok(())
    }

    fn list(&self, admin: &mut Admin<'_>, printed: &mut String) -> Told<()> {
        let topics = self.topics(admin)?;
        let names: Vec<&str> = topics.iter().map(|topic| topic.name.as_str()).collect();
        printed.push_str(&names.join("\n"));
        printed.push('\n');
        Ok(())
    }

    fn describe(&self, admin: &mut Admin<'_>, printed: &mut String) -> Told<()> {
        let names = self.existing(admin)?;
        let mut topics = Vec::new();
        if !names.is_empty() {
            topics = admin.metadata(Some(names.clone()))?;
        }
        sort::by(&mut topics, |a, b| a.name.cmp(&b.name));
        let resources = names.into_iter().map(ConfigResource::Topic).collect();
        let request = DescribeConfigsRequest { resources, which: WhichConfigs::Set };
        let answer = admin.some("describeConfigs", request.into())?;
        let configs = answer!(answer, DescribeConfigs).results;
        let moves = match admin.release().moves_are_wished_in_zookeeper() {
            true => Moves::new(),
            false => reassignments(admin, &topics)?,
        };
        for topic in &topics {
            if let Some(error) = topic.error {
                return Err(Failure::refused(error, None).into());
            }
            let resource = ConfigResource::Topic(topic.name.clone());
            let entries = configs.iter().find(|(of, _)| *of == resource);
            let entries = match entries {
                Some((_, Ok(entries))) => entries.as_slice(),
                Some((_, Err(why))) => {
                    return Err(Failure::refused(why.error, why.error_message.as_deref()).into());
                }
                None => &[],
            };
            let topic = description(topic, entries, &moves);
            printed.push_str(&describe(&topic, self.only, admin.release()));
        }
        Ok(())
    }

    fn alter(&self, admin: &mut Admin<'_>) -> Told<()> {
        let names = self.existing(admin)?;
        let known = admin.metadata(Some(names.clone()))?;
        let assignments = self.replica_assignment.clone().unwrap_or_default();
        check_assignment(&assignments)?;
        let count =
            self.partitions.ok_or_else(|| plain("Missing required argument \"[partitions]\""))?;
        let topics = known.iter().map(|topic| CreatePartitionsTopic {
            name: topic.name.clone(),
            count,
            assignments: self
                .replica_assignment
                .is_some()
                .then(|| assignments.iter().skip(topic.partitions.len()).cloned().collect()),
        });
        let request =
            CreatePartitionsRequest { topics: topics.collect(), timeout: REQUEST_TIMEOUT };
        let answer = admin.controller("createPartitions", request.into())?;
        let results = answer!(answer, CreatePartitions).results;
        accepted(results.into_iter().find_map(|(_, refusal)| refusal))
    }

    fn delete(&self, admin: &mut Admin<'_>) -> Told<()> {
        let topic_names = self.existing(admin)?;
        if topic_names.is_empty() {
            return Ok(());
        }
        let request = DeleteTopicsRequest { topic_names, timeout: REQUEST_TIMEOUT };
        let answer = admin.controller("deleteTopics", request.into())?;
        let responses = answer!(answer, DeleteTopics).responses;
        accepted(responses.into_iter().find_map(|(_, refusal)| refusal))
    }

    /// Whether `--topic` means it, if it is given: a regular expression for all but `--create`.
    // Source: TopicCommand.getTopics
    pub(super) fn means(&self, name: &TopicName) -> bool {
        let pattern = self.topic.as_ref();
        pattern.is_none_or(|pattern| topic_pattern::matches(pattern.as_str(), name.as_str()))
    }

    /// All topics, or those that `--topic` means, by name.
    fn topics(&self, admin: &mut Admin<'_>) -> Told<Vec<TopicMetadata>> {
        let mut topics = admin.metadata(None)?;
        topics.retain(|topic| self.means(&topic.name) && !self.leaves_out(&topic.name));
        sort::by(&mut topics, |a, b| a.name.cmp(&b.name));
        Ok(topics)
    }

    /// The same, and refuses if there is none.
    // Source: TopicCommand.ensureTopicExists; it prints the Optional as it is.
    fn existing(&self, admin: &mut Admin<'_>) -> Told<Vec<TopicName>> {
        let topics = self.topics(admin)?;
        match &self.topic {
            Some(name) if topics.is_empty() && !self.if_exists => {
                let name = match admin.release().tools_show_optionals() {
                    true => format!("Optional[{name}]"),
                    false => name.to_string(),
                };
                Err(plain(&format!("Topic '{name}' does not exist as expected")))
            }
            _ => Ok(topics.into_iter().map(|topic| topic.name).collect()),
        }
    }
}

/// What is told of a failure: since 2.4 that of a broker is unwrapped.
// Source: TopicCommand.main
fn told(why: &Failure, release: Release) -> String {
    if release.topics_tool_is_the_first() {
        return first_failure(why, release);
    }
    match why.exception == Exception::IllegalArgument || release.tools_tell_what_is_created() {
        true => failure(&why.message),
        false => failure(&why.thrown(release)),
    }
}

pub(super) fn plain(message: &str) -> Halt {
    Halt::Failed(Failure::new(Exception::IllegalArgument, message.to_owned()))
}

/// `1:2,2:1` as lists of brokers, one a partition.
// Source: TopicCommand.parseReplicaAssignment
fn replica_assignment(text: &str) -> Option<Vec<Vec<BrokerId>>> {
    let list =
        |part: &str| part.split(':').map(|id| id.trim().parse().ok().map(BrokerId)).collect();
    let lists: Option<Vec<Vec<BrokerId>>> = text.split(',').map(list).collect();
    lists.filter(|lists| lists.len() <= PARTITIONS as usize)
}

pub(super) fn check_assignment(assignments: &[Vec<BrokerId>]) -> Told<()> {
    for (number, replicas) in assignments.iter().enumerate() {
        let mut twice: Vec<_> = replicas.clone();
        sort::sort(&mut twice);
        twice.dedup();
        if twice.len() != replicas.len() {
            let repeated =
                replicas.iter().find(|id| replicas.iter().filter(|o| o == id).count() > 1);
            let repeated = repeated.expect("one of them is there twice");
            return Err(plain(&format!(
                "Partition replica lists may not contain duplicate entries: {repeated}"
            )));
        }
        if replicas.len() != assignments[0].len() {
            let list: Vec<_> = replicas.iter().map(BrokerId::to_string).collect();
            return Err(plain(&format!(
                "Partition {number} has different replication factor: [{}]",
                list.join(", ")
            )));
        }
    }
    Ok(())
}

type Moves = crate::sim::OrdMap<TopicPartition, OngoingReassignment>;

/// What moves, as the controller knows it.
fn reassignments(admin: &mut Admin<'_>, topics: &[TopicMetadata]) -> Told<Moves> {
    let partitions = topics.iter().flat_map(|topic| {
        let of = |p: &PartitionMetadata| TopicPartition::new(topic.name.clone(), p.partition_index);
        topic.partitions.iter().map(of)
    });
    let request = ListPartitionReassignmentsRequest { topics: Some(partitions.collect()) };
    let answer = admin.controller("listPartitionReassignments", request.into())?;
    Ok(answer!(answer, ListPartitionReassignments).topics)
}

/// Buckets of the map that these are picked from: it holds all the settings that a topic can have,
/// of which there are between 25 and 48.
// Source: org.apache.kafka.clients.admin.Config
const CONFIG_BUCKETS: u32 = 64;

fn description(topic: &TopicMetadata, entries: &[ConfigEntry], moves: &Moves) -> TopicDescription {
    let own = entries.iter().filter(|entry| entry.config_source != ConfigSource::Default);
    let mut configs: Vec<_> = own.map(|e| (e.name.clone(), e.value.clone())).collect();
    sort::by_key(&mut configs, |(name, _)| java_hash::place(java_hash::hash(name), CONFIG_BUCKETS));
    let mut partitions: Vec<PartitionDescription> =
        topic.partitions.iter().map(|p| partition(topic, p, moves)).collect();
    sort::by_key(&mut partitions, |partition| partition.partition);
    TopicDescription {
        name: topic.name.clone(),
        topic_id: topic.topic_id.clone().unwrap_or_else(|| "".into()),
        configs,
        partitions,
        is_marked: false,
    }
}

fn partition(topic: &TopicMetadata, of: &PartitionMetadata, moves: &Moves) -> PartitionDescription {
    let name = TopicPartition::new(topic.name.clone(), of.partition_index);
    let moving = moves.get(&name).map(|m| (m.adding_replicas.clone(), m.removing_replicas.clone()));
    PartitionDescription {
        partition: of.partition_index,
        leader: (of.leader_id != BrokerId::NONE).then_some(of.leader_id),
        is_led: of.leader_id != BrokerId::NONE,
        replicas: of.replica_nodes.clone(),
        isr: of.isr_nodes.clone(),
        moving: moving.filter(|(adding, removing)| !adding.is_empty() || !removing.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_has_so_many_partitions_at_most() {
        let read = |count: &str| {
            let line = ["--create", "--topic", "t", "--partitions", count];
            let mut arguments = Arguments(line.map(str::to_owned).to_vec());
            Topics::read(&mut arguments, Door::Untold).map(|_| ())
        };
        assert_eq!(read("1000"), Ok(()));
        let expected = "--partitions as a number from -32768 to 1000";
        assert_eq!(read("999999999"), Err(Usage::is_not("999999999", expected)));
    }
}
