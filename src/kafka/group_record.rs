//! What `__consumer_offsets` holds: committed offsets and the members of groups, as typed records.
//!
//! Not here: who writes and reads them (the group coordinator).
//!
//! *Invariant: a key without a value takes back what was said under it.*

use std::fmt;
use std::sync::Arc;

use super::id::{ClientId, Generation, GroupId, LeaderEpoch, MemberId, Offset};
use super::id::{TopicName, TopicPartition};
use crate::sim::{OrdMap, SimTime, Span};

/// What a member says when it joins: what it wants, and what it holds.
// Source: ConsumerProtocolSubscription (version 3)
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subscription {
    /// The topics it wants.
    pub topics: Vec<TopicName>,
    /// What it holds, for assignors that let members keep things.
    pub owned_partitions: Vec<TopicPartition>,
    /// The generation in which it got that.
    pub generation_id: Generation,
}

/// What a member is to read.
// Source: ConsumerProtocolAssignment
pub type Assignment = Arc<[TopicPartition]>;

/// An offset that a group has committed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OffsetAndMetadata {
    /// The next offset to read.
    pub offset: Offset,
    /// The leader epoch of the last record read, if known.
    pub leader_epoch: Option<LeaderEpoch>,
    /// What the committer wanted to note.
    pub metadata: Arc<str>,
    /// When it was committed.
    pub commit_timestamp: SimTime,
}

/// A key of the offsets topic.
// Source: OffsetCommitKey (version 1), GroupMetadataKey (version 2)
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OffsetsKey {
    /// Where a group stands in a partition.
    Offset {
        /// The group.
        group: GroupId,
        /// The partition.
        partition: TopicPartition,
    },
    /// Who is in a group.
    Group {
        /// The group.
        group: GroupId,
    },
}

/// A value of the offsets topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OffsetsValue {
    /// Where a group stands.
    Offset(OffsetAndMetadata),
    /// Who is in a group.
    Group(GroupMetadataValue),
}

/// A group as it is stored when a generation has its assignment, or has none left.
// Source: GroupMetadataValue (version 3)
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupMetadataValue {
    /// Counts the completed rebalances.
    pub generation: Generation,
    /// The assignor, if there are members.
    pub protocol: Option<Arc<str>>,
    /// The member that computed the assignment.
    pub leader: Option<MemberId>,
    /// Since when the group is in its state.
    pub current_state_timestamp: SimTime,
    /// The members, in the order in which they were added.
    pub members: Vec<StoredMember>,
}

/// A member as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoredMember {
    /// Its id.
    pub member_id: MemberId,
    /// Its `group.instance.id`, for a static member.
    pub group_instance_id: Option<Arc<str>>,
    /// What its client calls itself.
    pub client_id: ClientId,
    /// From where it connected.
    pub client_host: Arc<str>,
    /// How long it may take to rejoin.
    pub rebalance_timeout: Span,
    /// How long it may be silent.
    pub session_timeout: Span,
    /// What it wants, by the chosen assignor's name.
    pub subscription: Arc<Subscription>,
    /// What it got.
    pub assignment: Assignment,
}

/// Assignments by member.
pub type Assignments = OrdMap<MemberId, Assignment>;

/// As the dump tool prints it.
impl fmt::Display for OffsetsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OffsetsKey::Offset { group, partition: TopicPartition { topic, partition } } => write!(
                f,
                r#"{{"type":"1","data":{{"group":"{group}","topic":"{topic}","partition":{partition}}}}}"#
            ),
            OffsetsKey::Group { group } => {
                write!(f, r#"{{"type":"2","data":{{"group":"{group}"}}}}"#)
            }
        }
    }
}

/// As the dump tool prints it.
impl fmt::Display for OffsetsValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OffsetsValue::Offset(value) => value.fmt(f),
            OffsetsValue::Group(value) => value.fmt(f),
        }
    }
}

impl fmt::Display for OffsetAndMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let epoch = self.leader_epoch.map_or(-1, |epoch| epoch.0);
        write!(
            f,
            r#"{{"version":"3","data":{{"offset":{},"leaderEpoch":{epoch},"metadata":"{}","commitTimestamp":{}}}}}"#,
            self.offset,
            self.metadata,
            self.commit_timestamp.as_ms()
        )
    }
}

impl fmt::Display for GroupMetadataValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = quoted(self.protocol.as_deref());
        let leader = quoted(self.leader.as_ref().map(MemberId::as_str));
        let members: Vec<String> = self.members.iter().map(ToString::to_string).collect();
        write!(
            f,
            r#"{{"version":"3","data":{{"protocolType":"consumer","generation":{},"protocol":{protocol},"leader":{leader},"currentStateTimestamp":{},"members":[{}]}}}}"#,
            self.generation,
            self.current_state_timestamp.as_ms(),
            members.join(",")
        )
    }
}

impl fmt::Display for StoredMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topics: Vec<String> =
            self.subscription.topics.iter().map(|topic| format!("\"{topic}\"")).collect();
        write!(
            f,
            r#"{{"memberId":"{}","groupInstanceId":{},"clientId":"{}","clientHost":"{}","rebalanceTimeout":{},"sessionTimeout":{},"subscription":{{"topics":[{}],"userData":null,"ownedPartitions":[{}],"generationId":{},"rackId":null}},"assignment":{{"assignedPartitions":[{}],"userData":null}}}}"#,
            self.member_id,
            quoted(self.group_instance_id.as_deref()),
            self.client_id,
            self.client_host,
            self.rebalance_timeout.as_ms(),
            self.session_timeout.as_ms(),
            topics.join(","),
            by_topic(&self.subscription.owned_partitions),
            self.subscription.generation_id,
            by_topic(&self.assignment),
        )
    }
}

fn quoted(text: Option<&str>) -> String {
    text.map_or("null".into(), |text| format!("\"{text}\""))
}

fn by_topic(partitions: &[TopicPartition]) -> String {
    let mut topics: OrdMap<&TopicName, Vec<String>> = OrdMap::new();
    for TopicPartition { topic, partition } in partitions {
        topics.entry(topic).or_default().push(partition.to_string());
    }
    let one = |(topic, numbers): (&TopicName, Vec<String>)| {
        format!(r#"{{"topic":"{topic}","partitions":[{}]}}"#, numbers.join(","))
    };
    topics.into_iter().map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_group_prints_as_the_dump_tool_prints_it() {
        let value = GroupMetadataValue {
            generation: Generation(8),
            protocol: None,
            leader: None,
            current_state_timestamp: SimTime::ZERO,
            members: Vec::new(),
        };
        let printed = OffsetsValue::Group(value).to_string();
        let expected = r#"{"version":"3","data":{"protocolType":"consumer","generation":8,"protocol":null,"leader":null,"currentStateTimestamp":0,"members":[]}}"#;
        assert_eq!(printed, expected);
    }
}
