//! `kafka-preferred-replica-election` (to 2.3): writes down for the controller in ZooKeeper which
//! partitions are to be led by their first replicas.
//!
//! Source: PreferredReplicaLeaderElectionCommand (0.8.2).
//!
//! *Invariant: it does not wait for what it wishes.*

use super::admin::{Admin, Failure, Halt};
use super::dialogue::Next;
use super::exception::Exception;
use super::leader_election::PARTITIONS;
use super::reassign_in_zookeeper::bracketed;
use super::topics_in_zookeeper::children_of;
use super::{Arguments, Usage};
use crate::kafka::id::{TopicName, TopicPartition};
use crate::kafka::java_hash;
use crate::kafka::znodes;
use crate::kafka::zookeeper::create;
use crate::zk::reply::Error as ZkError;
use crate::zk::stat::Bytes;

/// The tool with its command line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PreferredElection {
    /// None means all.
    partitions: Option<Vec<TopicPartition>>,
}

impl PreferredElection {
    /// Reads the command line; the partitions stand in it, not in a file.
    pub fn read(arguments: &mut Arguments) -> Result<PreferredElection, Usage> {
        let file = arguments.value("--path-to-json-file");
        let json = file.or_else(|| arguments.value("--json"));
        arguments.finish()?;
        let partitions = match json {
            Some(json) => {
                let named = znodes::decode_partitions(&json.as_str().into());
                Some(named.ok_or_else(|| Usage::is_not(&json, PARTITIONS))?)
            }
            None => None,
        };
        Ok(PreferredElection { partitions })
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<String, Next> {
        match self.wish(admin) {
            Ok(printed) => Ok(printed),
            Err(Halt::Waits(next)) => Err(next),
            Err(Halt::Failed(why)) => Ok(format!(
                "Failed to start preferred replica election\n{}: {}\n",
                why.exception.class(admin.release()),
                why.message
            )),
        }
    }

    fn wish(&self, admin: &mut Admin<'_>) -> Result<String, Halt> {
        let mut tps = match &self.partitions {
            Some(tps) => tps.clone(),
            None => all(admin)?,
        };
        if tps.len() > java_hash::SMALL_SET {
            java_hash::in_scala_trie_order(&mut tps, |tp| {
                match admin.release().partitions_are_named_in_brackets() {
                    true => java_hash::of_topic_and_partition(tp.topic.as_str(), tp.partition),
                    false => java_hash::of_partition(tp),
                }
            });
        }
        let data = znodes::encode_partitions(&tps);
        let created = path_is_created(&tps, &data, admin);
        let wish = create(znodes::preferred_replica_election(), data);
        if admin.in_zookeeper(vec![wish])?[0] == Err(ZkError::NodeExists) {
            let words = format!(
                "Preferred replica leader election currently in progress for {}. Aborting operation",
                set(&tps, admin)
            );
            return Err(Failure::new(Exception::AdminOperation, words).into());
        }
        let set = set(&tps, admin);
        Ok(format!(
            "{created}Successfully started preferred replica election for partitions {set}\n"
        ))
    }
}

/// What is said of the znode: nothing in 0.8, to 1.0 what is in it, then the partitions.
// Source: PreferredReplicaLeaderElectionCommand.writePreferredReplicaElectionData (0.8.2, 0.10.2,
// 2.0)
fn path_is_created(tps: &[TopicPartition], data: &Bytes, admin: &Admin<'_>) -> String {
    let release = admin.release();
    let told = match () {
        () if release.topics_tool_is_the_first() => return String::new(),
        () if release.partitions_are_named_in_brackets() => data.to_text().into_owned(),
        () => tps.iter().map(TopicPartition::to_string).collect::<Vec<_>>().join(","),
    };
    format!("Created preferred replica election path with {told}\n")
}

// Source: ZkUtils.getAllPartitions
fn all(admin: &mut Admin<'_>) -> Result<Vec<TopicPartition>, Halt> {
    let mut tps = Vec::new();
    for topic in children_of(znodes::topics(), admin)?.iter() {
        let topic = TopicName::from(&**topic);
        let numbers = children_of(znodes::topic_partitions(&topic), admin)?;
        let numbers = numbers.iter().filter_map(|number| number.parse().ok());
        tps.extend(numbers.map(|number| TopicPartition::new(topic.clone(), number)));
    }
    Ok(tps)
}

/// Partitions as a Scala set shows itself.
fn set(tps: &[TopicPartition], admin: &Admin<'_>) -> String {
    let in_brackets = admin.release().partitions_are_named_in_brackets();
    let name = |tp: &TopicPartition| if in_brackets { bracketed(tp) } else { tp.to_string() };
    format!("Set({})", tps.iter().map(name).collect::<Vec<_>>().join(", "))
}
