//! `kafka-reassign-partitions`: moves partitions to other replicas, and says how far that is.
//!
//! Not here: how it did the same in ZooKeeper (`reassign_in_zookeeper`).
//! Source: ReassignPartitionsCommand (3.9).
//!
//! *Invariant: verifying changes settings, as the real tool does: it clears throttles that nobody
//! has set.*

use super::admin::{Admin, Failure, Told, answer, ended};
use super::dialogue::Next;
use super::exception::Exception;
use super::reassign_plan::{Wanted, not_found};
use super::{Arguments, Printed, Usage, reassign_plan};
use crate::kafka::admin::{
    AlterConfigOp, AlterPartitionReassignmentsRequest, ConfigResource,
    IncrementalAlterConfigsRequest, ListPartitionReassignmentsRequest, OngoingReassignment,
};
use crate::kafka::error::Error;
use crate::kafka::id::{BrokerId, TopicName, TopicPartition};
use crate::kafka::message::{Response, TopicMetadata};
use crate::kafka::release::Release;
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
    Execute(Additional),
    Verify,
    Cancel,
    List,
    /// To make a plan.
    Generate(Wanted),
}

/// Whether moves may be added while others are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Additional {
    Yes,
    No,
}

/// What is said where they may not.
const EXISTING: &str = "Cannot execute because there is an existing partition assignment.  Use \
    --additional to override this and create a new partition assignment in addition to the \
    existing one. The --additional flag can also be used to change the throttle by resubmitting \
    the current reassignment.";

const ACTIONS: &[(&str, Action)] = &[
    ("--execute", Action::Execute(Additional::No)),
    ("--verify", Action::Verify),
    ("--cancel", Action::Cancel),
    ("--list", Action::List),
    ("--generate", Action::Generate(Wanted::NOTHING)),
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
        match &mut action {
            Action::Generate(wanted) => *wanted = Wanted::read(arguments)?,
            Action::Execute(additional) if arguments.switch("--additional") => {
                *additional = Additional::Yes;
            }
            _ => {}
        }
        let json = match action {
            Action::List | Action::Generate(_) => r#"{"partitions":[]}"#.to_owned(),
            _ => arguments.json("--reassignment-json").ok_or_else(|| Usage::lacks(PLAN))?,
        };
        arguments.finish()?;
        let plan = znodes::decode_reassignments(&json.as_str().into());
        let plan: Replicas = plan.ok_or_else(|| Usage::is_not(&json, PLAN))?;
        let mut targets = plan.clone();
        sort::sort(&mut targets);
        Ok(ReassignPartitions { action, plan, targets })
    }

    /// The option that a tool of that release does not know yet, if so.
    // Source: KIP-455 (its tool 2.6)
    pub(super) fn too_new(&self, release: Release) -> Option<&'static str> {
        let option = match &self.action {
            Action::Cancel => "cancel",
            Action::List => "list",
            Action::Execute(Additional::Yes) => "additional",
            _ => return None,
        };
        release.moves_are_wished_in_zookeeper().then_some(option)
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, Next> {
        let old = admin.release().moves_are_wished_in_zookeeper();
        let done = match &self.action {
            Action::Execute(_) if old => self.execute_in_zookeeper(admin),
            Action::Verify if old => self.verify_in_zookeeper(admin),
            Action::Execute(additional) => self.execute(*additional, admin),
            Action::Verify => self.verify(admin),
            Action::Cancel => self.cancel(admin),
            Action::List => list(admin),
            Action::Generate(wanted) => wanted.plan(admin),
        };
        ended(done, &|why| match old {
            true => Printed::done(format!(
                "Partitions reassignment failed due to {}\n{}\n\n",
                why.message,
                why.thrown(admin.release())
            )),
            false => Printed::failed(failed(why, admin.release())),
        })
    }

    // Source: ReassignPartitionsCommand.executeAssignment (2.6)
    fn execute(&self, additional: Additional, admin: &mut Admin<'_>) -> Told<String> {
        self.check_plan(admin.release())?;
        let moving = moves(None, admin)?;
        if additional == Additional::No && !moving.is_empty() {
            return Ok(format!("{EXISTING}\n"));
        }
        self.check_brokers(admin)?;
        let current = self.current_of_all(admin)?;
        let mut out = format!(
            "Current partition replica assignment\n\n{}\n\nSave this to use as the \
             --reassignment-json-file option during rollback\n",
            json(&current, Disks::Any)
        );
        let targets = self.targets.iter().map(|(of, to)| (of.clone(), Some(to.clone())));
        let refusals = alter(targets.collect(), admin)?;
        if !refusals.is_empty() {
            return Ok(format!("{out}Error reassigning partition(s):\n{refusals}"));
        }
        let names: Vec<String> = self.targets.iter().map(|(of, _)| of.to_string()).collect();
        out.push_str(&format!(
            "Successfully started partition reassignment{} for {}\n",
            plural(&names),
            names.join(",")
        ));
        Ok(out)
    }

    /// A plan may be refused without asking anybody.
    pub(super) fn check_plan(&self, release: Release) -> Told<()> {
        let refused = |words| Failure::new(Exception::AdminCommandFailed, words).into();
        reassign_plan::check(&self.plan, release).map_err(refused)
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

    fn known(&self, admin: &mut Admin<'_>) -> Told<Vec<TopicMetadata>> {
        admin.metadata(Some(self.topics().into_iter().collect()))
    }

    /// Where the replicas of these partitions are.
    fn current(&self, known: &[TopicMetadata]) -> Replicas {
        let mut current = Vec::new();
        for (partition, _) in &self.targets {
            let topic = known.iter().find(|topic| topic.name == partition.topic);
            let of = topic.and_then(|topic| {
                topic.partitions.iter().find(|of| of.partition_index == partition.partition)
            });
            current.extend(of.map(|of| (partition.clone(), of.replica_nodes.clone())));
        }
        current
    }

    /// The same, of partitions that there are.
    // Source: ReassignPartitionsCommand.getReplicaAssignmentForPartitions
    fn current_of_all(&self, admin: &mut Admin<'_>) -> Told<Replicas> {
        let known = self.known(admin)?;
        if let Some(topic) = known.iter().find(|topic| topic.partitions.is_empty()) {
            return Err(not_found(&topic.name).into());
        }
        let current = self.current(&known);
        let mut missing = self.targets.clone();
        missing.retain(|(tp, _)| !current.iter().any(|(of, _)| of == tp));
        if missing.is_empty() {
            return Ok(current);
        }
        let names: Vec<String> = missing.iter().map(|(tp, _)| tp.to_string()).collect();
        let words = format!("Unable to find partition: {}", names.join(", "));
        let unknown = Exception::Refusal(Error::UnknownTopicOrPartition);
        Err(Failure::new(unknown, words).wrapped().into())
    }

    fn topics(&self) -> OrdSet<TopicName> {
        self.targets.iter().map(|(partition, _)| partition.topic.clone()).collect()
    }

    fn verify(&self, admin: &mut Admin<'_>) -> Told<String> {
        let moving = moves(None, admin)?;
        let current = self.current(&self.known(admin)?);
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
        // How moves between disks get on: there are none.
        out.push('\n');
        if moving.is_empty() {
            self.clear_throttles(admin, &mut out)?;
        }
        Ok(out)
    }

    // Source: ReassignPartitionsCommand.cancelAssignment
    // Real: moves between the disks of a broker are cancelled, too; here it has one.
    fn cancel(&self, admin: &mut Admin<'_>) -> Told<String> {
        let in_scala = admin.release().tools_are_in_scala();
        let named = self.targets.iter().map(|(of, _)| of.clone()).collect();
        let moving = moves(Some(named), admin)?;
        // The Java tool has lost a negation: what only adds replicas it takes for not active.
        let is_active = |of: &OngoingReassignment| {
            in_scala || of.adding_replicas.is_empty() || !of.removing_replicas.is_empty()
        };
        let active = moving.iter().filter(|(_, of)| is_active(of));
        let active: Vec<TopicPartition> = active.map(|(tp, _)| tp.clone()).collect();
        let names: Vec<String> = active.iter().map(TopicPartition::to_string).collect();
        let mut out = if names.is_empty() {
            "None of the specified partition reassignments are active.\n".to_owned()
        } else {
            let refusals = alter(active.into_iter().map(|of| (of, None)).collect(), admin)?;
            if !refusals.is_empty() {
                let plural = if refusals.lines().count() == 1 { "" } else { "s" };
                let words = "Error cancelling partition reassignment";
                return Ok(format!("{words}{plural} for:\n{refusals}"));
            }
            format!(
                "Successfully cancelled partition reassignment{} for: {}\n",
                plural(&names),
                names.join(",")
            )
        };
        // The Java tool forgets a line break.
        let end = if in_scala { "\n" } else { "" };
        out.push_str(&format!("None of the specified partition moves are active.{end}"));
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
        let plural = if brokers.len() == 1 { "" } else { "s" };
        out.push_str(&format!(
            "Clearing broker-level throttles on broker{plural} {}\n",
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

/// Has moves begun, or where there is no target ended; says what is refused, one a line.
fn alter(
    topics: Vec<(TopicPartition, Option<Vec<BrokerId>>)>,
    admin: &mut Admin<'_>,
) -> Told<String> {
    let request = AlterPartitionReassignmentsRequest { topics, timeout: Span::secs(30) };
    let answer = admin.controller("alterPartitionReassignments", request.into())?;
    let answer = answer!(answer, AlterPartitionReassignments);
    let mut refusals = String::new();
    for (partition, refusal) in answer.responses {
        if let Some(why) = refusal {
            refusals.push_str(&format!("{partition}: {}\n", Failure::from(why).message));
        }
    }
    Ok(refusals)
}

fn plural(names: &[String]) -> &'static str {
    if names.len() == 1 { "" } else { "s" }
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

/// How the tool ends that throws something.
// Source: ReassignPartitionsCommand.main; java.util.concurrent.ExecutionException
fn failed(why: &Failure, release: Release) -> String {
    let thrown = why.thrown(release);
    match why.is_wrapped {
        true => {
            let outer = "java.util.concurrent.ExecutionException";
            format!("Error: {thrown}\n{outer}: {thrown}\nCaused by: {thrown}\n\n")
        }
        false => format!("Error: {}\n{thrown}\n\n", why.message),
    }
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
