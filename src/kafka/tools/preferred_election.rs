//! `kafka-preferred-replica-election` (to 2.8): writes down for the controller in ZooKeeper which
//! partitions are to be led by their first replicas; from 2.2 on it can have brokers ask for that.
//!
//! Source: PreferredReplicaLeaderElectionCommand (0.8.2, 2.3, 2.8).
//!
//! *Invariant: in ZooKeeper it does not wait for what it wishes.*

use super::admin::{Admin, Failure, Halt, answer, ended};
use super::dialogue::Next;
use super::exception::Exception;
use super::leader_election::PARTITIONS;
use super::reassign_in_zookeeper::bracketed;
use super::topics_in_zookeeper::children_of;
use super::{Arguments, Door, Printed, Usage};
use crate::kafka::admin::{ElectLeadersRequest, ElectionType};
use crate::kafka::error::Error;
use crate::kafka::id::{TopicName, TopicPartition};
use crate::kafka::java_hash;
use crate::kafka::message::Response;
use crate::kafka::release::Release;
use crate::kafka::znodes;
use crate::kafka::zookeeper::create;
use crate::sim::Span;
use crate::zk::reply::Error as ZkError;
use crate::zk::stat::Bytes;

/// The tool with its command line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PreferredElection {
    /// None means all.
    partitions: Option<Vec<TopicPartition>>,
    /// Where it is told to ask.
    door: Door,
}

impl PreferredElection {
    /// Reads the command line; the partitions stand in it, not in a file.
    pub(super) fn read(arguments: &mut Arguments, door: Door) -> Result<PreferredElection, Usage> {
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
        Ok(PreferredElection { partitions, door })
    }

    /// Whether it goes to ZooKeeper.
    // Source: KIP-183 (2.2)
    pub(super) fn is_in_zookeeper(&self, release: Release) -> bool {
        self.door == Door::Zookeeper || release.topics_are_made_in_zookeeper()
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, Next> {
        let release = admin.release();
        let in_zookeeper = self.is_in_zookeeper(release);
        // Source: KAFKA-8405 (2.4), KIP-183
        let mut said = String::new();
        if !release.moves_are_wished_in_zookeeper() {
            said.push_str(SUCCEEDED);
        }
        if in_zookeeper && !release.topics_are_made_in_zookeeper() {
            said.push_str(DEPRECATED);
        }
        let done = if in_zookeeper { self.wish(admin) } else { self.elect(admin) };
        let before = said.clone();
        ended(done.map(|printed| said + &printed), &|why| match release {
            _ if release.topics_are_made_in_zookeeper() => Printed::done(format!(
                "Failed to start preferred replica election\n{}\n",
                why.thrown(release)
            )),
            _ => Printed::failed(before.clone() + &self.thrown(why, release)),
        })
    }

    /// How it ends with what was thrown.
    // Source: PreferredReplicaLeaderElectionCommand.ZkCommand
    fn thrown(&self, why: &Failure, release: Release) -> String {
        let thrown = why.thrown(release);
        let head = "Exception in thread \"main\"";
        if !self.is_in_zookeeper(release) {
            return format!("{head} {thrown}\n");
        }
        let outer = "kafka.common.AdminCommandFailedException: Admin command failed";
        format!("{head} {outer}\nCaused by: {thrown}\n")
    }

    /// Has the controller elect them, and waits for what comes of it.
    // Source: PreferredReplicaLeaderElectionCommand.AdminClientCommand (2.3), (2.8)
    fn elect(&self, admin: &mut Admin<'_>) -> Result<String, Halt> {
        let release = admin.release();
        let newer = !release.moves_are_wished_in_zookeeper();
        let (mut partitions, timeout) = (self.partitions.clone(), Span::secs(30));
        // Later brokers say nothing of those that need no election, where all are meant.
        // Source: KIP-460 (2.4)
        if partitions.is_none() && !newer {
            let mut all = Vec::new();
            for topic in admin.metadata(None)? {
                let numbers = topic.partitions.iter().map(|of| of.partition_index);
                all.extend(numbers.map(|number| TopicPartition::new(topic.name.clone(), number)));
            }
            partitions = Some(all);
        }
        let election_type = ElectionType::Preferred;
        let request = ElectLeadersRequest { election_type, partitions, timeout };
        let answer = answer!(admin.controller("electLeaders", request.into())?, ElectLeaders);
        let what = if newer { "preferred leader" } else { "preferred replica" };
        let (mut done, mut needless, mut failed, mut failures) = (Vec::new(), 0, String::new(), 0);
        for (tp, refusal) in answer.replica_election_results {
            match refusal {
                Some(why) if why.error == Error::ElectionNotNeeded && newer => needless += 1,
                Some(why) if why.error != Error::ElectionNotNeeded => {
                    let (thrown, colon) =
                        (Failure::from(why).thrown(release), if newer { ":" } else { "" });
                    failures += 1;
                    failed.push_str(&format!(
                        "Error completing {what} election for partition{colon} {tp}: {thrown}\n"
                    ));
                }
                _ => done.push(tp.to_string()),
            }
        }
        let (done, mut out) = (done.join(", "), String::new());
        if !done.is_empty() {
            out.push_str(&format!(
                "Successfully completed {what} election for partitions {done}\n"
            ));
        }
        // The real tool names here, too, those that were elected.
        if needless > 0 {
            out.push_str(&format!("Preferred replica already elected for partitions {done}\n"));
        }
        out.push_str(&failed);
        if failures > 0 {
            let words = format!("{failures} preferred replica(s) could not be elected");
            let thrown = Failure::new(Exception::AdminCommandFailed, words).thrown(release);
            out.push_str(&format!("Exception in thread \"main\" {thrown}\n"));
        }
        Ok(out)
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

/// What it says since another took its place.
const SUCCEEDED: &str = "This tool is deprecated. Please use kafka-leader-election tool. Tracking \
    issue: KAFKA-8405\n";

/// What it says where it is sent to ZooKeeper though it need not be.
const DEPRECATED: &str = "Warning: --zookeeper is deprecated and will be removed in a future version \
    of Kafka.\nUse --bootstrap-server instead to specify a broker to connect to.\n";

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
