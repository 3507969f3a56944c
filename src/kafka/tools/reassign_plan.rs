//! `kafka-reassign-partitions --generate`: where the replicas of topics are, and where they could
//! be if they were dealt out anew.
//!
//! Source: ReassignPartitionsCommand.generateAssignment (0.8.2, 0.10.2, 2.3, 3.9).
//!
//! *Invariant: it moves nothing.*

use super::admin::{Admin, Failure, Told};
use super::exception::Exception;
use super::reassign_partitions::{Disks, Replicas, joined, json};
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

/// What of a plan is refused before anybody is asked, if so.
// Source: ReassignPartitionsCommand.parseExecuteAssignmentArgs (2.6), parseAndValidate before
pub(super) fn check(plan: &Replicas, release: Release) -> Result<(), String> {
    if plan.is_empty() {
        return Err(match release.moves_are_wished_in_zookeeper() {
            true => "Partition reassignment data file is empty".into(),
            false => "Partition reassignment list cannot be empty".into(),
        });
    }
    if release.plans_want_replicas() && plan.iter().any(|(_, replicas)| replicas.is_empty()) {
        return Err("Partition replica list cannot be empty".into());
    }
    let name = |tp: &TopicPartition| match release.partitions_are_named_in_brackets() {
        true => reassign_in_zookeeper::bracketed(tp),
        false => tp.to_string(),
    };
    let named: Vec<TopicPartition> = plan.iter().map(|(tp, _)| tp.clone()).collect();
    let again = all_twice(&named, release, java_hash::of_partition);
    if !again.is_empty() {
        let again: Vec<String> = again.iter().map(name).collect();
        let words = "Partition reassignment contains duplicate topic partitions: ";
        return Err(format!("{words}{}", again.join(",")));
    }
    let mut again = Vec::new();
    for (tp, replicas) in plan {
        let twice = all_twice(replicas, release, |id| id.0);
        if !twice.is_empty() {
            again.push(format!("{} contains multiple entries for {}", name(tp), joined(&twice)));
        }
    }
    match again.is_empty() {
        true => Ok(()),
        false => {
            let words = "Partition replica lists may not contain duplicate entries: ";
            Err(format!("{words}{}", again.join(". ")))
        }
    }
}

/// All that stands there more than once, each once: a set of Java is in the order of its table.
// Source: ToolsUtils.duplicates, CoreUtils.duplicates
fn all_twice<T: Clone + PartialEq>(
    all: &[T],
    release: Release,
    hash: impl Fn(&T) -> i32,
) -> Vec<T> {
    let mut found = Vec::new();
    for (at, one) in all.iter().enumerate() {
        if all[..at].contains(one) && !found.contains(one) {
            found.push(one.clone());
        }
    }
    if !release.tools_are_in_scala() {
        java_hash::in_table_order(&mut found, java_hash::Filling::Full, hash);
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_refused_as_the_real_tool_does_it() {
        let twice = "[1,1,2,2]";
        let moves = |list: &[(&str, &str)]| {
            let one = |(topic, to): &(&str, &str)| {
                format!(r#"{{"topic":"{topic}","partition":0,"replicas":{to}}}"#)
            };
            let list: Vec<String> = list.iter().map(one).collect();
            let text = format!(r#"{{"partitions":[{}]}}"#, list.join(","));
            znodes::decode_reassignments(&text.as_str().into()).expect("it is a plan")
        };
        let (new, old, oldest) = (Release::V3_9_1, Release::V2_3_1, Release::V0_8_2_2);
        let same = [("foo", "[1]"), ("foo", "[2]")];
        let words = "Partition replica lists may not contain duplicate entries: ";
        let table: [(Replicas, Release, String); 7] = [
            (moves(&[]), new, "Partition reassignment list cannot be empty".into()),
            (moves(&[]), old, "Partition reassignment data file is empty".into()),
            (moves(&[("foo", "[]")]), old, "Partition replica list cannot be empty".into()),
            (
                moves(&same),
                new,
                "Partition reassignment contains duplicate topic partitions: foo-0".into(),
            ),
            (
                moves(&same),
                oldest,
                "Partition reassignment contains duplicate topic partitions: [foo,0]".into(),
            ),
            (
                moves(&[("foo", twice), ("bar", "[3,3]"), ("far", "[1]")]),
                new,
                format!(
                    "{words}foo-0 contains multiple entries for 1,2. bar-0 contains multiple \
                     entries for 3"
                ),
            ),
            (
                moves(&[("foo", twice)]),
                oldest,
                format!("{words}[foo,0] contains multiple entries for 1,2"),
            ),
        ];
        for (plan, release, expected) in table {
            assert_eq!(check(&plan, release), Err(expected), "{plan:?} in {release}");
        }
        assert_eq!(check(&moves(&[("foo", "[]")]), oldest), Ok(()));
        assert_eq!(check(&moves(&[("foo", "[1,2]"), ("bar", "[2,1]")]), new), Ok(()));
    }
}
