//! `kafka-reassign-partitions --generate`: where the replicas of topics are, and where they could
//! be if they were dealt out anew.
//!
//! Source: ReassignPartitionsCommand.generateAssignment (0.8.2, 0.10.2, 2.3, 3.9).
//!
//! *Invariant: it moves nothing.*

use super::admin::{Admin, Failure, Told};
use super::exception::Exception;
use super::reassign_partitions::{Disks, Replicas, json};
use super::topics::Racks;
use super::topics_in_zookeeper::{draw_deal, in_words, registered};
use super::{Arguments, Usage, reassign_in_zookeeper};
use crate::kafka::error::Error;
use crate::kafka::id::{BrokerId, TopicName, TopicPartition};
use crate::kafka::java_hash;
use crate::kafka::placement::{self, Candidate, Deal, Placement, PlacementError};
use crate::kafka::release::Release;
use crate::kafka::znodes;
use crate::sim::{OrdSet, sort};

/// What a plan is wanted for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    topics: Vec<TopicName>,
    brokers: Vec<BrokerId>,
    racks: Racks,
}

/// How topics are named.
const TOPICS: &str = "--topics-to-move-json \"{\\\"topics\\\":[{\\\"topic\\\":\\\"orders\\\"}]}\"";

impl Wanted {
    /// For nothing.
    pub const NOTHING: Wanted =
        Wanted { topics: Vec::new(), brokers: Vec::new(), racks: Racks::Heeded };

    /// Reads what the command line says; the topics stand in it, not in a file.
    pub fn read(arguments: &mut Arguments) -> Result<Wanted, Usage> {
        let json = arguments.json("--topics-to-move-json").ok_or_else(|| Usage::lacks(TOPICS))?;
        let topics = znodes::decode_topics(&json).ok_or_else(|| Usage::is_not(&json, TOPICS))?;
        let list = arguments.value("--broker-list");
        let list = list.ok_or_else(|| Usage::lacks("--broker-list 1,2,3"))?;
        let ids = list.split(',').map(|id| id.parse().ok().map(BrokerId)).collect::<Option<_>>();
        let brokers = ids.ok_or_else(|| Usage::is_not(&list, "ids of brokers like 1,2,3"))?;
        let racks = Racks::read(arguments);
        Ok(Wanted { topics, brokers, racks })
    }

    /// Both plans, as they are told.
    pub fn plan(&self, admin: &mut Admin<'_>) -> Told<String> {
        let release = admin.release();
        if let Some(words) = self.twice(release) {
            return Err(Failure::new(Exception::AdminCommandFailed, words).into());
        }
        let mut current = match release.moves_are_wished_in_zookeeper() {
            true => reassign_in_zookeeper::current(&self.topics, admin)?,
            false => self.asked(admin)?,
        };
        sort::sort(&mut current);
        let brokers = self.candidates(admin)?;
        let mut proposed = Replicas::new();
        let topics: OrdSet<TopicName> = current.iter().map(|(tp, _)| tp.topic.clone()).collect();
        for topic in topics {
            let now = current.iter().filter(|(tp, _)| tp.topic == topic);
            let (count, replicas) = (now.clone().count(), now.map(|(_, to)| to.len()).next());
            let placed = deal(&brokers, count, replicas.unwrap_or(0), admin)?;
            let of = |number| TopicPartition::new(topic.clone(), number);
            proposed.extend(placed.into_iter().map(|(number, to)| (of(number), to)));
        }
        Ok(told(current, proposed, release))
    }

    /// That something is named more than once, if so.
    // Source: ReassignPartitionsCommand.parseGenerateAssignmentArgs; java.util.Set.toString
    fn twice(&self, release: Release) -> Option<String> {
        let brokers = twice(&self.brokers).map(|list| ("Broker list", list));
        let topics = || Some(("List of topics to reassign", twice(&self.topics)?));
        let (what, list) = brokers.or_else(topics)?;
        let (open, close) = if release.tools_are_in_scala() { ("", "") } else { ("[", "]") };
        Some(format!("{what} contains duplicate entries: {open}{list}{close}"))
    }

    // Source: ReassignPartitionsCommand.describeTopics (2.6)
    fn asked(&self, admin: &mut Admin<'_>) -> Told<Replicas> {
        let known = admin.metadata(Some(self.topics.clone()))?;
        let mut current = Replicas::new();
        for topic in known {
            if topic.partitions.is_empty() {
                return Err(not_found(&topic.name).into());
            }
            let of = |number| TopicPartition::new(topic.name.clone(), number);
            let all = topic.partitions.iter();
            current.extend(all.map(|one| (of(one.partition_index), one.replica_nodes.clone())));
        }
        Ok(current)
    }

    /// The brokers that may get replicas: of those named who lives; the first tool did not look.
    // Source: ReassignPartitionsCommand.getBrokerMetadata, AdminUtils.getBrokerMetadatas (0.10)
    fn candidates(&self, admin: &mut Admin<'_>) -> Told<Vec<Candidate>> {
        let release = admin.release();
        let mut known = match release.moves_are_wished_in_zookeeper() {
            true if release.topics_tool_is_the_first() => {
                let named = self.brokers.iter();
                return Ok(named.map(|id| Candidate { id: *id, rack: None }).collect());
            }
            true => registered(admin)?,
            false => {
                let of = |rack: &Option<std::sync::Arc<str>>| rack.as_ref().map(|r| r.to_string());
                let all = admin.brokers().iter();
                all.map(|broker| Candidate { id: broker.id, rack: of(&broker.rack) }).collect()
            }
        };
        known.retain(|broker| self.brokers.contains(&broker.id));
        sort::by_key(&mut known, |broker| broker.id);
        self.racks.heed(&mut known);
        Ok(known)
    }
}

/// What stands there more than once.
fn twice<T: PartialEq + ToString>(all: &[T]) -> Option<String> {
    let mut before = all.iter().enumerate();
    before.find(|(at, one)| all[..*at].contains(one)).map(|(_, one)| one.to_string())
}

/// That brokers know no such topic.
pub(super) fn not_found(topic: &TopicName) -> Failure {
    let words = format!("Topic {topic} not found.");
    Failure::new(Exception::Refusal(Error::UnknownTopicOrPartition), words).wrapped()
}

fn deal(
    brokers: &[Candidate],
    partitions: usize,
    replicas: usize,
    admin: &mut Admin<'_>,
) -> Told<Placement> {
    let count = |many| i32::try_from(many).expect("partitions and replicas are few");
    let (partitions, replication_factor) = (count(partitions), count(replicas));
    let mut deal = Deal { partitions, replication_factor, start: 0, shift: 0, first_partition: 0 };
    placement::place(brokers, deal).map_err(|why| refuse(why, admin.release()))?;
    draw_deal(&mut deal, brokers.len(), admin)?;
    Ok(placement::place(brokers, deal).expect("it was tried"))
}

// Source: AdminUtils.assignReplicasToBrokers (0.8.2, 0.10.2, 3.9)
fn refuse(why: PlacementError, release: Release) -> Failure {
    let exception = match why {
        _ if release.topics_tool_is_the_first() => Exception::AdminOperation,
        PlacementError::TooFewBrokers { .. } => Exception::Refusal(Error::InvalidReplicationFactor),
        PlacementError::Nothing => Exception::Refusal(Error::InvalidPartitions),
        PlacementError::RacksMissing => Exception::AdminOperation,
    };
    Failure::new(exception, in_words(why, release))
}

fn told(mut current: Replicas, mut proposed: Replicas, release: Release) -> String {
    let in_brackets = release.partitions_are_named_in_brackets();
    if in_brackets {
        for plan in [&mut current, &mut proposed] {
            reassign_in_zookeeper::in_order_of_first_map(plan);
        }
    } else if release.moves_are_wished_in_zookeeper() {
        reassign_in_zookeeper::in_order(&mut current);
        java_hash::in_scala_map_order(&mut proposed, |(tp, _)| java_hash::of_partition(tp));
    }
    // Source: ReassignPartitionsCommand.generateAssignment (0.10.2), (1.1)
    let (disks, before, after) = match in_brackets {
        true => (Disks::Untold, "\n", ""),
        false => (Disks::Any, "", "\n"),
    };
    let (now, then) = (json(&current, disks), json(&proposed, disks));
    format!(
        "Current partition replica assignment\n{before}{now}\n{after}\
         Proposed partition reassignment configuration\n{before}{then}\n"
    )
}
