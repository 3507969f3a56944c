//! What `kafka-topics` prints of topics.
//!
//! *Invariant: tabs and spaces as the real tool has them: people parse this.*

use std::fmt::Write;
use std::sync::Arc;

use super::admin::Failure;
use super::exception::Exception;
use crate::kafka::id::{BrokerId, TopicName};
use crate::kafka::release::Release;

/// One topic, as the tool has collected it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDescription {
    /// Its name.
    pub name: TopicName,
    /// Its id.
    pub topic_id: Arc<str>,
    /// What is set for it, or for all brokers, in the order in which it is told.
    pub configs: Vec<(Arc<str>, Arc<str>)>,
    /// Its partitions.
    pub partitions: Vec<PartitionDescription>,
    /// It is marked for deletion; told to 2.1.
    pub is_marked: bool,
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionDescription {
    /// Its number.
    pub partition: i32,
    /// Its leader, if it has one.
    pub leader: Option<BrokerId>,
    /// Whether that lives.
    pub is_led: bool,
    /// Its replicas.
    pub replicas: Vec<BrokerId>,
    /// Those in sync.
    pub isr: Vec<BrokerId>,
    /// Those that a running move adds and removes.
    pub moving: Option<(Vec<BrokerId>, Vec<BrokerId>)>,
}

/// Which partitions are described; where not all are, topics are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Only {
    /// All.
    All,
    /// Those with fewer in sync than replicas.
    UnderReplicated,
    /// Those without a leader that lives.
    Unavailable,
    /// Those with fewer in sync than `min.insync.replicas`.
    UnderMinIsr,
    /// Those with just as many.
    AtMinIsr,
    /// None, but topics that have settings.
    Overridden,
}

impl Only {
    // Source: TopicCommand.DescribeOptions.shouldPrintPartition; before 2.2 describeTopic, which
    // looks whether the leader is registered
    fn wants(self, partition: &PartitionDescription, min_isr: usize) -> bool {
        match self {
            Only::UnderMinIsr => partition.isr.len() < min_isr,
            Only::AtMinIsr => partition.isr.len() == min_isr,
            Only::Overridden => false,
            Only::All => true,
            Only::UnderReplicated => partition.isr.len() < replication_factor(partition),
            Only::Unavailable => !partition.is_led,
        }
    }
}

/// All of `--describe`.
// Source: TopicCommand.TopicDescription.printDescription, PartitionDescription.printDescription
pub fn describe(topic: &TopicDescription, only: Only, release: Release) -> String {
    let has_head = match only {
        Only::All => true,
        Only::Overridden => !topic.configs.is_empty(),
        _ => false,
    };
    let mut out = if has_head { head(topic, release) } else { String::new() };
    let set = topic.configs.iter().find(|(name, _)| &**name == "min.insync.replicas");
    let min_isr = set.and_then(|(_, value)| value.parse().ok()).unwrap_or(1);
    for partition in topic.partitions.iter().filter(|one| only.wants(one, min_isr)) {
        out.push_str(&describe_partition(&topic.name, partition));
        if release.tools_show_eligible_leaders() {
            out.push_str("\tElr: N/A\tLastKnownElr: N/A");
        }
        out.push('\n');
    }
    out
}

fn head(topic: &TopicDescription, release: Release) -> String {
    let mut out = String::new();
    let (name, count) = (&topic.name, topic.partitions.len());
    let factor = topic.partitions.first().map_or(0, replication_factor);
    let configs: Vec<_> =
        topic.configs.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let configs = configs.join(",");
    let _ = match release.topics_have_ids() {
        true => writeln!(
            out,
            "Topic: {name}\tTopicId: {}\tPartitionCount: {count}\tReplicationFactor: {factor}\
             \tConfigs: {configs}",
            topic.topic_id,
        ),
        false => writeln!(
            out,
            "Topic:{name}\tPartitionCount:{count}\tReplicationFactor:{factor}\tConfigs:{configs}{}",
            if topic.is_marked { "\tMarkedForDeletion:true" } else { "" },
        ),
    };
    out
}

fn describe_partition(topic: &TopicName, partition: &PartitionDescription) -> String {
    let leader = partition.leader.map_or("none".into(), |leader| leader.to_string());
    let mut out = format!(
        "\tTopic: {topic}\tPartition: {}\tLeader: {leader}\tReplicas: {}\tIsr: {}",
        partition.partition,
        joined(&partition.replicas),
        joined(&partition.isr),
    );
    if let Some((adding, removing)) = &partition.moving {
        let _ = write!(out, "\tAdding Replicas: {}", joined(adding));
        let _ = write!(out, "\tRemoving Replicas: {}", joined(removing));
    }
    out
}

/// While replicas are added they do not count yet.
// Source: TopicCommand.getReplicationFactor
fn replication_factor(partition: &PartitionDescription) -> usize {
    let added = partition.moving.as_ref().map_or(0, |(adding, _)| adding.len());
    partition.replicas.len() - added
}

fn joined(brokers: &[BrokerId]) -> String {
    brokers.iter().map(BrokerId::to_string).collect::<Vec<_>>().join(",")
}

/// What is said before a topic is made whose name could collide in metrics.
pub const COLLISION: &str = "WARNING: Due to limitations in metric names, topics with a period \
    ('.') or underscore ('_') could collide. To avoid issues it is best to use either, but not both.\n";

/// The text of a failure.
pub fn failure(why: &str) -> String {
    format!("Error while executing topic command : {why}\n")
}

/// The same as it was told first, with the exception; one without a class is told plainly.
// Source: TopicCommand.main (0.8.2)
pub fn first_failure(why: &Failure, release: Release) -> String {
    let words = &why.message;
    match why.exception {
        Exception::Unthrown => format!("{words}\n"),
        _ => {
            let thrown = why.thrown(release);
            format!("Error while executing topic command {words}\n{thrown}\n\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brokers(ids: &[i32]) -> Vec<BrokerId> {
        ids.iter().copied().map(BrokerId).collect()
    }

    #[test]
    fn a_topic_is_described_as_the_real_tool_does_it() {
        let first = PartitionDescription {
            partition: 0,
            leader: Some(BrokerId(1)),
            is_led: true,
            replicas: brokers(&[2, 3, 1]),
            isr: brokers(&[1, 2]),
            moving: Some((brokers(&[3]), brokers(&[1]))),
        };
        let second = PartitionDescription {
            partition: 1,
            leader: None,
            is_led: false,
            replicas: brokers(&[2, 3]),
            isr: brokers(&[3]),
            moving: None,
        };
        let topic = TopicDescription {
            name: "orders".into(),
            topic_id: "<topic-id-1>".into(),
            configs: vec![("retention.ms".into(), "1".into()), ("a".into(), "b".into())],
            partitions: vec![first, second],
            is_marked: false,
        };
        let expected = "Topic: orders\tTopicId: <topic-id-1>\tPartitionCount: 2\
            \tReplicationFactor: 2\tConfigs: retention.ms=1,a=b\n\
            \tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 2,3,1\tIsr: 1,2\tAdding Replicas: 3\
            \tRemoving Replicas: 1\tElr: N/A\tLastKnownElr: N/A\n\
            \tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2,3\tIsr: 3\tElr: N/A\
            \tLastKnownElr: N/A\n";
        assert_eq!(describe(&topic, Only::All, Release::V3_9_1), expected);
    }
}
