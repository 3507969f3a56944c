//! `kafka-reassign-partitions`: moves partitions to other replicas, and says how far that is.
//!
//! Not here: how it did the same in ZooKeeper (`reassign_in_zookeeper`).
//! Source: ReassignPartitionsCommand (3.9).
//!
//! *Invariant: verifying changes settings, as the real tool does: it clears throttles that nobody
//! has set.*

use super::admin::{Admin, Failure, Halt, Told, accepted, answer};
use super::dialogue::Next;
use super::exception::Exception;
use super::{Arguments, Usage};
use crate::kafka::admin::{
    AlterConfigOp, AlterPartitionReassignmentsRequest, ConfigResource,
    IncrementalAlterConfigsRequest, ListPartitionReassignmentsRequest, OngoingReassignment,
};
use crate::kafka::id::{BrokerId, TopicName, TopicPartition};
use crate::kafka::message::Response;
use crate::kafka::placement::{self, Candidate, Deal};
use crate::kafka::znodes;
use crate::sim::{Draw, OrdMap, OrdSet, Span, sort};

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReassignPartitions {
    action: Action,
    /// The plan as it is given.
    pub(super) plan: Replicas,
    /// The same, by partition.
    targets: Replicas,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Action {
    Execute,
    Verify,
    Cancel,
    List,
    /// To make a plan for these topics and brokers.
    Generate(Vec<TopicName>, Vec<BrokerId>),
}

const ACTIONS: &[(&str, Action)] = &[
    ("--execute", Action::Execute),
    ("--verify", Action::Verify),
    ("--cancel", Action::Cancel),
    ("--list", Action::List),
    ("--generate", Action::Generate(Vec::new(), Vec::new())),
];

/// How a plan looks.
const PLAN: &str = "--reassignment-json \"{\\\"partitions\\\":[{\\\"topic\\\":\\\"orders\\\",\
                    \\\"partition\\\":0,\\\"replicas\\\":[1,2]}]}\"";

/// In which order calls to several brokers arrive.
// Real: they are sent at once; here one after the other in a drawn order, which shows the same.
const ORDER_OF_CALLS: Draw = Draw("order-of-calls");

pub(super) type Replicas = Vec<(TopicPartition, Vec<BrokerId>)>;

impl ReassignPartitions {
    /// Reads the command line; the plan stands in it, not in a file.
    pub fn read(arguments: &mut Arguments) -> Result<ReassignPartitions, Usage> {
        let mut action = arguments.one_of(ACTIONS)?;
        if let Action::Generate(topics, brokers) = &mut action {
            (*topics, *brokers) = wanted(arguments)?;
        }
        let json = match action {
            Action::List | Action::Generate(..) => r#"{"partitions":[]}"#.to_owned(),
            _ => arguments.value("--reassignment-json").ok_or_else(|| Usage::lacks(PLAN))?,
        };
        arguments.finish()?;
        let plan = znodes::decode_reassignments(&json.as_str().into());
        let plan: Replicas = plan.ok_or_else(|| Usage::is_not(&json, PLAN))?;
        let mut targets = plan.clone();
        sort::sort(&mut targets);
        Ok(ReassignPartitions { action, plan, targets })
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<String, Next> {
        let old = admin.release().moves_are_wished_in_zookeeper();
        let done = match &self.action {
            Action::Execute if old => self.execute_in_zookeeper(admin),
            Action::Verify if old => self.verify_in_zookeeper(admin),
            // Source: KIP-455 (its tool 2.6)
            Action::Cancel if old => return Ok(super::unknown("cancel")),
            Action::List if old => return Ok(super::unknown("list")),
            Action::Execute => self.execute(admin),
            Action::Verify => self.verify(admin),
            Action::Cancel => self.cancel(admin),
            Action::List => list(admin),
            Action::Generate(topics, brokers) => generate(topics, brokers, admin),
        };
        match done {
            Err(Halt::Failed(why)) if old => Ok(format!(
                "Partitions reassignment failed due to {}\n{}\n\n",
                why.message,
                why.thrown(admin.release())
            )),
            Ok(printed) => Ok(printed),
            Err(Halt::Waits(next)) => Err(next),
            Err(Halt::Failed(why)) => {
                Ok(format!("Error: {}\n{}\n\n", why.message, why.thrown(admin.release())))
            }
        }
    }

    fn execute(&self, admin: &mut Admin<'_>) -> Told<String> {
        let current = self.current(admin)?;
        self.check_brokers(admin)?;
        let targets = self.targets.iter().map(|(of, to)| (of.clone(), Some(to.clone())));
        let (topics, timeout) = (targets.collect(), Span::secs(30));
        let request = AlterPartitionReassignmentsRequest { topics, timeout };
        let answer = admin.controller("alterPartitionReassignments", request.into())?;
        let answer = answer!(answer, AlterPartitionReassignments);
        accepted(answer.responses.into_iter().find_map(|(_, refusal)| refusal))?;
        let names: Vec<String> = self.targets.iter().map(|(of, _)| of.to_string()).collect();
        let plural = if names.len() == 1 { "" } else { "s" };
        Ok(format!(
            "Current partition replica assignment\n\n{}\n\nSave this to use as the \
             --reassignment-json-file option during rollback\nSuccessfully started partition \
             reassignment{plural} for {}\n",
            json(&current, Disks::Any),
            names.join(",")
        ))
    }

    /// Only registered brokers may get replicas.
    fn check_brokers(&self, admin: &mut Admin<'_>) -> Told<()> {
        let known: OrdSet<BrokerId> = admin.brokers().iter().map(|broker| broker.id).collect();
        let wanted = self.targets.iter().flat_map(|(_, replicas)| replicas);
        match wanted.into_iter().find(|id| !known.contains(id)) {
            None => Ok(()),
            Some(id) => {
                let words = format!("Unknown broker id {id}");
                Err(Failure::new(Exception::AdminCommandFailed, words).into())
            }
        }
    }

    /// Where the replicas of these partitions are.
    fn current(&self, admin: &mut Admin<'_>) -> Told<Replicas> {
        let known = admin.metadata(Some(self.topics().into_iter().collect()))?;
        let mut current = Vec::new();
        for (partition, _) in &self.targets {
            let topic = known.iter().find(|topic| topic.name == partition.topic);
            let of = topic.and_then(|topic| {
                topic.partitions.iter().find(|of| of.partition_index == partition.partition)
            });
            current.extend(of.map(|of| (partition.clone(), of.replica_nodes.clone())));
        }
        Ok(current)
    }

    fn topics(&self) -> OrdSet<TopicName> {
        self.targets.iter().map(|(partition, _)| partition.topic.clone()).collect()
    }

    fn verify(&self, admin: &mut Admin<'_>) -> Told<String> {
        let current = self.current(admin)?;
        let moving = moves(Some(self.targets.iter().map(|(of, _)| of.clone()).collect()), admin)?;
        let mut out = String::from("Status of partition reassignment:\n");
        for (partition, target) in &self.targets {
            let now = current.iter().find(|(of, _)| of == partition).map(|(_, now)| now);
            let line = match now {
                _ if moving.contains_key(partition) => {
                    format!("Reassignment of partition {partition} is still in progress.\n")
                }
                Some(now) if now == target => {
                    format!("Reassignment of partition {partition} is completed.\n")
                }
                now => format!(
                    "There is no active reassignment of partition {partition}, but replica set is \
                     {} rather than {}.\n",
                    joined(now.map_or(&[], Vec::as_slice)),
                    joined(target)
                ),
            };
            out.push_str(&line);
        }
        if moving.is_empty() {
            self.clear_throttles(admin, &mut out)?;
        }
        Ok(out)
    }

    // Source: ReassignPartitionsCommand.cancelAssignment
    // Real: moves between the disks of a broker are cancelled, too; here it has one.
    fn cancel(&self, admin: &mut Admin<'_>) -> Told<String> {
        let moving = moves(Some(self.targets.iter().map(|(of, _)| of.clone()).collect()), admin)?;
        let names: Vec<String> = moving.keys().map(TopicPartition::to_string).collect();
        let mut out = if names.is_empty() {
            "None of the specified partition reassignments are active.\n".to_owned()
        } else {
            let topics = moving.into_iter().map(|(of, _)| (of, None)).collect();
            let request = AlterPartitionReassignmentsRequest { topics, timeout: Span::secs(30) };
            let answer = admin.controller("alterPartitionReassignments", request.into())?;
            let answer = answer!(answer, AlterPartitionReassignments);
            accepted(answer.responses.into_iter().find_map(|(_, refusal)| refusal))?;
            let plural = if names.len() == 1 { "" } else { "s" };
            format!(
                "Successfully cancelled partition reassignment{plural} for: {}\n",
                names.join(",")
            )
        };
        out.push_str("None of the specified partition moves are active.\n");
        self.clear_throttles(admin, &mut out)?;
        Ok(out)
    }

    // Source: ReassignPartitionsCommand.clearAllThrottles
    fn clear_throttles(&self, admin: &mut Admin<'_>, out: &mut String) -> Told<()> {
        let targets = self.targets.iter().flat_map(|(_, replicas)| replicas.iter().copied());
        let brokers: OrdSet<BrokerId> =
            admin.brokers().iter().map(|broker| broker.id).chain(targets).collect();
        let brokers: Vec<BrokerId> = brokers.into_iter().collect();
        let topics: Vec<TopicName> = self.topics().into_iter().collect();
        out.push_str(&format!(
            "\nClearing broker-level throttles on brokers {}\n",
            joined(&brokers)
        ));
        let rates = [
            "leader.replication.throttled.rate",
            "follower.replication.throttled.rate",
            "replica.alter.log.dirs.io.max.bytes.per.second",
        ];
        let delete = |names: &[&str]| {
            names.iter().map(|name| ((*name).into(), AlterConfigOp::Delete)).collect::<Vec<_>>()
        };
        let mut left = brokers;
        while !left.is_empty() {
            let place = admin.draw(ORDER_OF_CALLS, 0..left.len() as u64)?;
            let broker = left.remove(usize::try_from(place).unwrap_or(0) % left.len());
            let resources = vec![(ConfigResource::Broker(broker), delete(&rates))];
            let request = IncrementalAlterConfigsRequest { resources };
            admin.broker("incrementalAlterConfigs", broker, request.into())?;
        }
        let names: Vec<&str> = topics.iter().map(TopicName::as_str).collect();
        let plural = if names.len() == 1 { "" } else { "s" };
        out.push_str(&format!(
            "Clearing topic-level throttles on topic{plural} {}\n",
            names.join(",")
        ));
        let throttled =
            ["leader.replication.throttled.replicas", "follower.replication.throttled.replicas"];
        let resources =
            topics.into_iter().map(|name| (ConfigResource::Topic(name), delete(&throttled)));
        let request = IncrementalAlterConfigsRequest { resources: resources.collect() };
        admin.some("incrementalAlterConfigs", request.into())?;
        Ok(())
    }
}

/// The topics and brokers that a plan is wanted for.
fn wanted(arguments: &mut Arguments) -> Result<(Vec<TopicName>, Vec<BrokerId>), Usage> {
    let topics = "--topics-to-move-json \"{\\\"topics\\\":[{\\\"topic\\\":\\\"orders\\\"}]}\"";
    let json = arguments.value("--topics-to-move-json").ok_or_else(|| Usage::lacks(topics))?;
    let named = znodes::decode_topics(&json).ok_or_else(|| Usage::is_not(&json, topics))?;
    let list = arguments.value("--broker-list");
    let list = list.ok_or_else(|| Usage::lacks("--broker-list 1,2,3"))?;
    let ids = list.split(',').map(|id| id.parse().ok().map(BrokerId)).collect::<Option<_>>();
    Ok((named, ids.ok_or_else(|| Usage::is_not(&list, "ids of brokers like 1,2,3"))?))
}

fn moves(
    of: Option<Vec<TopicPartition>>,
    admin: &mut Admin<'_>,
) -> Told<OrdMap<TopicPartition, OngoingReassignment>> {
    let request = ListPartitionReassignmentsRequest { topics: of };
    let answer = admin.controller("listPartitionReassignments", request.into())?;
    Ok(answer!(answer, ListPartitionReassignments).topics)
}

// Source: ReassignPartitionsCommand.curReassignmentsToString
fn list(admin: &mut Admin<'_>) -> Told<String> {
    let moving = moves(None, admin)?;
    if moving.is_empty() {
        return Ok("No partition reassignments found.\n".into());
    }
    let mut out = "Current partition reassignments:\n".to_owned();
    for (partition, of) in moving.iter() {
        out.push_str(&format!("{partition}: replicas: {}.", joined(&of.replicas)));
        for (name, some) in [("adding", &of.adding_replicas), ("removing", &of.removing_replicas)] {
            if !some.is_empty() {
                out.push_str(&format!(" {name}: {}.", joined(some)));
            }
        }
        out.push('\n');
    }
    Ok(out)
}

// Source: ReassignPartitionsCommand.generateAssignment, calculateAssignment
// Real: up to 2.3 it looks in ZooKeeper; here it asks brokers, who say the same.
fn generate(topics: &[TopicName], brokers: &[BrokerId], admin: &mut Admin<'_>) -> Told<String> {
    let known = admin.metadata(Some(topics.to_vec()))?;
    let candidates: Vec<Candidate> =
        brokers.iter().map(|id| Candidate { id: *id, rack: None }).collect();
    let (mut current, mut proposed) = (Replicas::new(), Replicas::new());
    for topic in known {
        if topic.partitions.is_empty() {
            let words = format!("Topic {} not found.", topic.name);
            return Err(Failure::new(Exception::AdminCommandFailed, words).into());
        }
        let mut now: Vec<(i32, Vec<BrokerId>)> =
            topic.partitions.into_iter().map(|of| (of.partition_index, of.replica_nodes)).collect();
        sort::sort(&mut now);
        let mut drawn = |purpose| -> Told<u32> {
            let count = brokers.len() as u64;
            Ok((admin.draw(purpose, 0..count)? % count) as u32)
        };
        let deal = Deal {
            partitions: now.len() as i32,
            replication_factor: now[0].1.len() as i32,
            start: drawn(placement::START)?,
            shift: drawn(placement::SHIFT)?,
            first_partition: 0,
        };
        let placed = placement::place(&candidates, deal)
            .map_err(|why| Failure::new(Exception::AdminCommandFailed, why.to_string()))?;
        let of = |number| TopicPartition::new(topic.name.clone(), number);
        current.extend(now.into_iter().map(|(number, replicas)| (of(number), replicas)));
        proposed.extend(placed.into_iter().map(|(number, replicas)| (of(number), replicas)));
    }
    let (now, then) = (json(&current, Disks::Any), json(&proposed, Disks::Any));
    Ok(format!(
        "Current partition replica assignment\n{now}\n\n\
         Proposed partition reassignment configuration\n{then}\n"
    ))
}

/// Where replicas are, as JSON; with places for disks since these can be chosen.
// Source: ReassignPartitionsCommand.formatAsReassignmentJson (KIP-113, 1.1)
pub(super) fn json(replicas: &Replicas, disks: Disks) -> String {
    let of = |(partition, replicas): &(TopicPartition, Vec<BrokerId>)| {
        let any = vec!["\"any\""; replicas.len()].join(",");
        let disks = match disks {
            Disks::Any => format!(",\"log_dirs\":[{any}]"),
            Disks::Untold => String::new(),
        };
        let (topic, number) = (&partition.topic, partition.partition);
        let replicas = joined(replicas);
        format!("{{\"topic\":\"{topic}\",\"partition\":{number},\"replicas\":[{replicas}]{disks}}}")
    };
    let list: Vec<String> = replicas.iter().map(of).collect();
    format!("{{\"version\":1,\"partitions\":[{}]}}", list.join(","))
}

/// Whether places for disks are told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Disks {
    Any,
    Untold,
}

pub(super) fn joined(brokers: &[BrokerId]) -> String {
    brokers.iter().map(BrokerId::to_string).collect::<Vec<_>>().join(",")
}
