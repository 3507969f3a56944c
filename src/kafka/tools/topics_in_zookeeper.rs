//! `kafka-topics` as it was before 2.2, and could be up to 2.8: it reads and writes ZooKeeper
//! itself, in a session of its own, and asks no broker.
//!
//! Source: TopicCommand, AdminZkClient (1.1), AdminUtils (0.10.2).
//!
//! *Invariant: a topic's settings are written before the topic.*

use std::sync::Arc;

use super::Admin;
use super::admin::{Failure, Halt, Told};
use super::exception::Exception;
use super::topics::{Topics, check_assignment, plain};
use super::topics_text::{COLLISION, PartitionDescription, TopicDescription, describe};
use crate::kafka::broker::{check_topic_configs, check_topic_name};
use crate::kafka::error::Error;
use crate::kafka::id::{BrokerId, TopicName, TopicPartition};
use crate::kafka::java_hash::{self, Filling};
use crate::kafka::placement::{self, Candidate, Deal, PlacementError, place};
use crate::kafka::release::Release;
use crate::kafka::znodes::{
    self, BrokerZnode, Config, ConfigType, ReplicaAssignment, StateZnode, TopicZnode,
};
use crate::kafka::zookeeper::{children, create, create_sequential, found};
use crate::sim::OrdMap;
use crate::zk::path::Path;
use crate::zk::reply::Error as ZkError;
use crate::zk::request::Op;
use crate::zk::stat::Bytes;

/// Replicas by partition.
type Replicas = OrdMap<i32, Vec<BrokerId>>;

impl Topics {
    pub(super) fn create_in_zookeeper(
        &self,
        admin: &mut Admin<'_>,
        printed: &mut String,
    ) -> Told<()> {
        let name = self.topic.clone().ok_or_else(|| plain("Missing required argument [topic]"))?;
        let config = self.configs.iter().cloned().collect();
        check_configs(&config, admin)?;
        if name.as_str().contains(['.', '_']) {
            printed.push_str(COLLISION);
        }
        let replicas = match &self.replica_assignment {
            Some(lists) => {
                check_assignment(lists)?;
                (0..).zip(lists.iter().cloned()).collect()
            }
            None => self.place_new(admin)?,
        };
        check_topic_name(&name, admin.release()).map_err(|words| {
            match admin.release().topics_tool_is_the_first() {
                true => Failure::new(Exception::Refusal(Error::InvalidTopic), words).into(),
                false => plain(&words),
            }
        })?;
        let look = Op::Exists { path: znodes::topic(&name), watch: false };
        if admin.in_zookeeper(vec![look])?[0].is_ok() {
            return match self.if_not_exists {
                true => Ok(()),
                false if admin.release().topics_tool_is_the_first() => {
                    let words = format!("Topic \"{name}\" already exists.");
                    Err(Failure::new(Exception::Refusal(Error::TopicAlreadyExists), words).into())
                }
                false => Err(plain(&format!("Topic '{name}' already exists."))),
            };
        }
        write_configs(&ConfigType::Topics.entity(name.as_str()), &config, admin)?;
        let data = topic_data(None, replicas, admin);
        admin.in_zookeeper(vec![create(znodes::topic(&name), data)])?;
        let name = as_told(&name, admin.release());
        printed.push_str(&format!("Created topic {name}.\n"));
        Ok(())
    }

    fn place_new(&self, admin: &mut Admin<'_>) -> Told<Replicas> {
        let mut brokers = registered(admin)?;
        self.racks.heed(&mut brokers);
        let mut deal = Deal {
            partitions: self.partitions.unwrap_or(1),
            replication_factor: self.replication_factor.unwrap_or(1),
            start: 0,
            shift: 0,
            first_partition: 0,
        };
        place(&brokers, deal).map_err(|error| refuse(error, admin))?;
        draw_deal(&mut deal, brokers.len(), admin)?;
        place(&brokers, deal).map_err(|error| refuse(error, admin))
    }

    pub(super) fn list_from_zookeeper(
        &self,
        admin: &mut Admin<'_>,
        printed: &mut String,
    ) -> Told<()> {
        let names = self.names(admin)?;
        let marked = are_marked(&names, admin)?;
        for (name, is_marked) in names.iter().zip(marked) {
            let mark = if is_marked { " - marked for deletion" } else { "" };
            printed.push_str(&format!("{name}{mark}\n"));
        }
        Ok(())
    }

    /// All topics, or those that `--topic` means.
    fn names(&self, admin: &mut Admin<'_>) -> Told<Vec<TopicName>> {
        let found = children_of(znodes::topics(), admin)?;
        let names = found.iter().map(|name| TopicName::from(&**name));
        Ok(names.filter(|name| self.means(name) && !self.leaves_out(name)).collect())
    }

    pub(super) fn describe_from_zookeeper(
        &self,
        admin: &mut Admin<'_>,
        printed: &mut String,
    ) -> Told<()> {
        let release = admin.release();
        // Source: TopicCommand.ensureTopicExists (2.2): the tools before said nothing.
        let names = match release.topics_are_made_in_zookeeper() {
            true => self.names(admin)?,
            false => self.existing_in_zookeeper(admin)?,
        };
        let live = registered(admin)?;
        let marked = are_marked(&names, admin)?;
        for (name, is_marked) in names.into_iter().zip(marked) {
            let settings = get(ConfigType::Topics.entity(name.as_str()));
            let replies = admin.in_zookeeper(vec![get(znodes::topic(&name)), settings])?;
            let Some(topic) = found(&replies[0], TopicZnode::decode) else { continue };
            let config = found(&replies[1], znodes::decode_config).unwrap_or_default();
            let partitions = partitions(&name, &topic, &live, admin)?;
            let mut configs: Vec<(Arc<str>, Arc<str>)> = config.into_iter().collect();
            java_hash::in_table_order(&mut configs, Filling::Early, |(key, _)| {
                java_hash::hash(key)
            });
            let topic_id = "".into();
            let topic = TopicDescription { name, topic_id, configs, partitions, is_marked };
            printed.push_str(&describe(&topic, self.only, admin.release()));
        }
        Ok(())
    }

    pub(super) fn alter_in_zookeeper(
        &self,
        admin: &mut Admin<'_>,
        printed: &mut String,
    ) -> Told<()> {
        let names = self.existing_in_zookeeper(admin)?;
        for name in &names {
            self.alter_configs(name, admin, printed)?;
        }
        let Some(count) = self.partitions else { return Ok(()) };
        for name in names {
            printed.push_str(
                "WARNING: If partitions are increased for a topic that has a key, the partition \
                 logic or ordering of the messages will be affected\n",
            );
            let replies = admin.in_zookeeper(vec![get(znodes::topic(&name))])?;
            let Some(topic) = found(&replies[0], TopicZnode::decode) else { continue };
            let brokers = registered(admin)?;
            let known = topic.partitions.into_iter();
            let mut replicas: Replicas = known.map(|(of, to)| (of, to.replicas)).collect();
            replicas.extend(self.added(&name, count, &replicas, &brokers, admin)?);
            if admin.release().topics_tool_is_the_first() {
                let path = ConfigType::Topics.entity(name.as_str());
                let read = admin.in_zookeeper(vec![get(path.clone())])?;
                let config = found(&read[0], znodes::decode_config).unwrap_or_default();
                let data = znodes::encode_config(&config);
                admin.in_zookeeper(vec![Op::SetData { path, data, version: -1 }])?;
            }
            let id = match admin.release().topics_have_ids() {
                true => id_of(&name, admin)?,
                false => None,
            };
            let data = topic_data(id, replicas, admin);
            let set = Op::SetData { path: znodes::topic(&name), data, version: -1 };
            admin.in_zookeeper(vec![set])?;
            printed.push_str("Adding partitions succeeded!\n");
        }
        Ok(())
    }

    /// Writes other settings, and a note that they have changed.
    // Source: TopicCommand.alterTopic, AdminUtils.changeTopicConfig (0.8.2), AdminZkClient (1.1)
    fn alter_configs(
        &self,
        name: &TopicName,
        admin: &mut Admin<'_>,
        printed: &mut String,
    ) -> Told<()> {
        if self.configs.is_empty() && self.deleted_configs.is_empty() {
            return Ok(());
        }
        let path = ConfigType::Topics.entity(name.as_str());
        let read = admin.in_zookeeper(vec![get(path.clone())])?;
        let mut config = found(&read[0], znodes::decode_config).unwrap_or_default();
        if !admin.release().topics_tool_is_the_first() {
            printed.push_str(
                "WARNING: Altering topic configuration from this script has been deprecated and \
                 may be removed in future releases.\n         Going forward, please use \
                 kafka-configs.sh for this functionality\n",
            );
        }
        config.extend(self.configs.iter().cloned());
        self.deleted_configs.iter().for_each(|key| drop(config.remove(key)));
        check_configs(&config, admin)?;
        write_configs(&path, &config, admin)?;
        let note = znodes::encode_config_change(admin.release(), ConfigType::Topics, name.as_str());
        if !admin.release().asks_one_by_one() {
            admin.in_zookeeper(vec![create(znodes::config_changes(), Bytes::NULL)])?;
        }
        admin.in_zookeeper(vec![create_sequential(znodes::config_change_prefix(), note)])?;
        let name = as_told(name, admin.release());
        printed.push_str(&format!("Updated config for topic {name}.\n"));
        Ok(())
    }

    /// Where the replicas of partitions are that are added.
    // Source: AdminZkClient.addPartitions
    fn added(
        &self,
        name: &TopicName,
        count: i32,
        known: &Replicas,
        brokers: &[Candidate],
        admin: &Admin<'_>,
    ) -> Told<Replicas> {
        let is_first = admin.release().topics_tool_is_the_first();
        let first = match is_first {
            true => first_in_map(name, known),
            false => known.get(&0),
        };
        let first = first.cloned().unwrap_or_default();
        let now = i32::try_from(known.len()).expect("partitions are counted in i32");
        if count <= now && is_first {
            let words = "The number of partitions for a topic can only be increased".into();
            return Err(Failure::new(Exception::AdminOperation, words).into());
        }
        if count <= now {
            return Err(plain(&format!(
                "The number of partitions for a topic can only be increased. Topic {name} \
                 currently has {now} partitions, {count} would not be an increase."
            )));
        }
        if let Some(lists) = &self.replica_assignment {
            check_assignment(lists)?;
            return Ok((0..).zip(lists.iter().cloned()).skip(known.len()).collect());
        }
        let place_of = |id: &BrokerId| brokers.iter().position(|broker| broker.id >= *id);
        let start = first.first().and_then(place_of).unwrap_or(0);
        let mut start = u32::try_from(start).expect("brokers are few");
        if is_first {
            // A broker's id for its place.
            start = first.first().map_or(0, |id| id.0.unsigned_abs());
        }
        let deal = Deal {
            partitions: count - now,
            replication_factor: i32::try_from(first.len()).expect("replicas are few"),
            start,
            shift: start,
            first_partition: now,
        };
        place(brokers, deal).map_err(|error| refuse(error, admin))
    }

    fn existing_in_zookeeper(&self, admin: &mut Admin<'_>) -> Told<Vec<TopicName>> {
        let names = self.names(admin)?;
        match &self.topic {
            Some(topic) if names.is_empty() && admin.release().topics_tool_is_the_first() => {
                Err(Failure::new(Exception::Unthrown, format!("Topic {topic} does not exist"))
                    .into())
            }
            Some(topic)
                if names.is_empty()
                    && !self.if_exists
                    && !admin.release().topics_are_made_in_zookeeper() =>
            {
                Err(plain(&format!("Topic '{topic}' does not exist as expected")))
            }
            Some(topic) if names.is_empty() && !self.if_exists => {
                let place = admin.zookeeper_connect();
                Err(plain(&format!("Topic {topic} does not exist on ZK path {place}")))
            }
            _ => Ok(names),
        }
    }

    pub(super) fn mark_in_zookeeper(
        &self,
        admin: &mut Admin<'_>,
        printed: &mut String,
    ) -> Told<()> {
        for name in self.existing_in_zookeeper(admin)? {
            let empty = admin.release().topics_tool_is_the_first();
            let data = if empty { Bytes::from("") } else { Bytes::NULL };
            let mark = create(znodes::delete_topic(&name), data);
            printed.push_str(&match admin.in_zookeeper(vec![mark])?[0] {
                Err(ZkError::NodeExists) => {
                    format!("Topic {name} is already marked for deletion.\n")
                }
                _ => format!(
                    "Topic {name} is marked for deletion.\n\
                     Note: This will have no impact if delete.topic.enable is not set to true.\n"
                ),
            });
        }
        Ok(())
    }
}

/// The replicas of the partition that the map of all of them gives first. It is filled in the order
/// of the znode's text, and that was a map of numbers, or of more than four texts.
// Source: AdminUtils.addPartitions, ZkUtils.getReplicaAssignmentForTopics (0.8.2)
fn first_in_map<'a>(topic: &TopicName, known: &'a Replicas) -> Option<&'a Vec<BrokerId>> {
    let mut all: Vec<i32> = known.keys().copied().collect();
    match all.len() > java_hash::SMALL_SET {
        true => java_hash::in_scala_trie_order(&mut all, |n| java_hash::hash(&n.to_string())),
        false => java_hash::in_scala_map_order(&mut all, |number| *number),
    }
    // What comes later stands first in its slot.
    all.reverse();
    java_hash::in_scala_map_order(&mut all, |number| {
        java_hash::of_topic_and_partition(topic.as_str(), *number)
    });
    known.get(all.first()?)
}

/// A topic's name as the tool tells it; at first in quotes.
// Source: TopicCommand.createTopic, alterTopic (1.1, 2.3)
fn as_told(name: &TopicName, release: Release) -> String {
    match release.topics_are_made_in_zookeeper() {
        true => format!("\"{name}\""),
        false => name.to_string(),
    }
}

/// Refuses settings that no topic has, or not so.
// Source: kafka.log.LogConfig.validate, fromProps (0.8.2); org.apache.kafka.common.config (0.9)
fn check_configs(config: &Config, admin: &Admin<'_>) -> Told<()> {
    let Err(words) = check_topic_configs(config) else { return Ok(()) };
    if !admin.release().topics_tool_is_the_first() {
        return Err(plain(&words));
    }
    let invalid = words.strip_prefix("Invalid value ").and_then(|rest| rest.split(' ').next());
    let unknown = words.strip_prefix("Unknown topic config name: ").unwrap_or_default();
    Err(match invalid {
        Some(value) => {
            let words = format!("For input string: \"{value}\"");
            Failure::new(Exception::NumberFormat, words).into()
        }
        None => {
            let words = format!("requirement failed: Unknown configuration \"{unknown}\".");
            Failure::new(Exception::IllegalArgument, words).into()
        }
    })
}

/// Writes settings where they belong.
// Source: AdminUtils.writeTopicConfig, ZkUtils.updatePersistentPath
fn write_configs(path: &Path, config: &Config, admin: &mut Admin<'_>) -> Told<()> {
    let data = znodes::encode_config(config);
    let set = Op::SetData { path: path.clone(), data: data.clone(), version: -1 };
    if admin.in_zookeeper(vec![set])?[0] == Err(ZkError::NoNode) {
        admin.in_zookeeper(vec![create(path.clone(), data)])?;
    }
    Ok(())
}

pub(super) fn get(path: Path) -> Op {
    Op::GetData { path, watch: false }
}

pub(super) fn children_of(path: Path, admin: &mut Admin<'_>) -> Told<Arc<[Arc<str>]>> {
    let read = Op::GetChildren2 { path, watch: false };
    Ok(children(&admin.in_zookeeper(vec![read])?[0]))
}

/// Draws where the dealing of replicas to so many brokers begins.
// Source: AdminUtils.assignReplicasToBrokers
pub(super) fn draw_deal(deal: &mut Deal, brokers: usize, admin: &mut Admin<'_>) -> Told<()> {
    let mut draw = |purpose| -> Told<u32> {
        let count = brokers as u64;
        let drawn = admin.draw(purpose, 0..count)? % count;
        Ok(u32::try_from(drawn).expect("brokers are few"))
    };
    deal.start = draw(placement::START)?;
    deal.shift = draw(placement::SHIFT)?;
    Ok(())
}

/// The live brokers, by id.
// Source: AdminZkClient.getBrokerMetadatas
pub(super) fn registered(admin: &mut Admin<'_>) -> Told<Vec<Candidate>> {
    let names = children_of(znodes::broker_ids(), admin)?;
    let mut ids: Vec<BrokerId> =
        names.iter().filter_map(|name| name.parse().ok().map(BrokerId)).collect();
    crate::sim::sort::sort(&mut ids);
    let reads = ids.iter().map(|&id| get(znodes::broker(id))).collect();
    let replies = admin.in_zookeeper(reads)?;
    let rack = |reply| found(reply, BrokerZnode::decode).and_then(|broker| broker.rack);
    let racks = replies.iter().map(|reply| rack(reply).map(|rack| rack.to_string()));
    Ok(ids.into_iter().zip(racks).map(|(id, rack)| Candidate { id, rack }).collect())
}

fn are_marked(names: &[TopicName], admin: &mut Admin<'_>) -> Told<Vec<bool>> {
    let look = |name| Op::Exists { path: znodes::delete_topic(name), watch: false };
    let replies = admin.in_zookeeper(names.iter().map(look).collect())?;
    Ok(replies.iter().map(Result::is_ok).collect())
}

fn partitions(
    name: &TopicName,
    topic: &TopicZnode,
    live: &[Candidate],
    admin: &mut Admin<'_>,
) -> Told<Vec<PartitionDescription>> {
    let path = |&number: &i32| get(znodes::state(&TopicPartition::new(name.clone(), number)));
    let replies = admin.in_zookeeper(topic.partitions.keys().map(path).collect())?;
    let mut partitions = Vec::new();
    for ((&partition, to), reply) in topic.partitions.iter().zip(&replies) {
        let state = found(reply, StateZnode::decode).map(|state| state.leadership);
        let leader = state.as_ref().map(|state| state.leader);
        let is_led = live.iter().any(|broker| Some(broker.id) == leader);
        let isr = state.map(|state| state.isr).unwrap_or_default();
        let (replicas, moving) = (to.replicas.clone(), None);
        partitions.push(PartitionDescription { partition, leader, is_led, replicas, isr, moving });
    }
    Ok(partitions)
}

/// The id that a topic's znode has at the moment.
// Source: AdminZkClient.writeTopicPartitionAssignment (2.8)
fn id_of(name: &TopicName, admin: &mut Admin<'_>) -> Told<Option<Arc<str>>> {
    let read = admin.in_zookeeper(vec![get(znodes::topic(name))])?;
    Ok(found(&read[0], TopicZnode::decode).and_then(|topic| topic.topic_id))
}

/// What a tool writes; a topic that it makes gets its id from the controller.
fn topic_data(topic_id: Option<Arc<str>>, replicas: Replicas, admin: &Admin<'_>) -> Bytes {
    let settled = replicas.into_iter().map(|(of, to)| (of, ReplicaAssignment::settled(to)));
    TopicZnode { topic_id, partitions: settled.collect() }.encode(admin.release())
}

fn refuse(error: PlacementError, admin: &Admin<'_>) -> Halt {
    let message = in_words(error, admin.release());
    match admin.release().topics_tool_is_the_first() {
        true => Failure::new(Exception::AdminOperation, message).into(),
        false => plain(&message),
    }
}

/// Why nothing was placed, in the words of a tool that places.
// Source: AdminUtils.assignReplicasToBrokers, getBrokerMetadatas
pub(super) fn in_words(error: PlacementError, release: Release) -> String {
    match error {
        PlacementError::TooFewBrokers { wanted, available } => {
            let (r, end) = if release.tools_spell_capitals() { ("R", ".") } else { ("r", "") };
            format!(
                "{r}eplication factor: {wanted} larger than available brokers: {available}{end}"
            )
        }
        PlacementError::Nothing => "Number of partitions must be larger than 0.".into(),
        PlacementError::RacksMissing => {
            "Not all brokers have rack information. Add --disable-rack-aware in command line to \
             make replica assignment without rack information."
                .into()
        }
    }
}
