//! What a consumer waits for, is asked, and tells; and its settings.
//!
//! *Invariant: what a rebalance listener or an application would see is a fact, one for each call.*

use std::sync::Arc;

use crate::kafka::assignor::Assignor;
use crate::kafka::client::{Partitions, Shown};
use crate::kafka::id::{
    BrokerId, ClientId, Generation, GroupId, MemberId, Offset, TopicName, TopicPartition,
};
use crate::kafka::message::Isolation;
use crate::kafka::release::Release;
use crate::sim::{ProcessId, Span};

/// Where to read when nothing was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OffsetReset {
    /// From the first record that there is.
    Earliest,
    /// From the next record that comes.
    Latest,
    /// Nowhere: the application is told.
    None,
}

/// How the application calls `poll`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Poll {
    /// `poll(Duration)`: reads on while no coordinator is known.
    Duration,
    /// `poll(long)`, the old one: waits for the coordinator and gives no records meanwhile.
    Long,
}

/// What the application does with an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OnError {
    /// It polls again.
    GoOn,
    /// It ends.
    End,
}

/// A consumer's settings, by their real names in snake case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct ConsumerSettings {
    /// Of which release it is.
    pub release: Release,
    /// Known brokers, to begin with.
    pub bootstrap_servers: Arc<[ProcessId]>,
    pub client_id: ClientId,
    pub group_id: GroupId,
    pub group_instance_id: Option<Arc<str>>,
    /// What the application subscribes to.
    pub topics: Vec<TopicName>,
    pub session_timeout: Span,
    pub heartbeat_interval: Span,
    pub max_poll_interval: Span,
    pub partition_assignment_strategy: Vec<Assignor>,
    pub enable_auto_commit: bool,
    pub auto_commit_interval: Span,
    pub auto_offset_reset: OffsetReset,
    pub allow_auto_create_topics: bool,
    pub request_timeout: Span,
    pub retry_backoff: Span,
    pub metadata_max_age: Span,
    pub fetch_max_wait: Span,
    pub fetch_min_bytes: i32,
    pub max_partition_fetch_bytes: i32,
    pub isolation_level: Isolation,
    /// How the application polls.
    pub poll: Poll,
    /// What it does with an exception.
    pub on_error: OnError,
}

impl ConsumerSettings {
    /// The defaults of 3.9.1.
    // Source: org.apache.kafka.clients.consumer.ConsumerConfig
    pub fn new(
        client: &str,
        group: &str,
        topics: &[&str],
        bootstrap: impl Into<Arc<[ProcessId]>>,
    ) -> ConsumerSettings {
        ConsumerSettings {
            release: Release::V3_9_1,
            bootstrap_servers: bootstrap.into(),
            client_id: client.into(),
            group_id: group.into(),
            group_instance_id: None,
            topics: topics.iter().map(|&topic| topic.into()).collect(),
            session_timeout: Span::secs(45),
            heartbeat_interval: Span::secs(3),
            max_poll_interval: Span::secs(300),
            partition_assignment_strategy: vec![Assignor::Range, Assignor::CooperativeSticky],
            enable_auto_commit: true,
            auto_commit_interval: Span::secs(5),
            auto_offset_reset: OffsetReset::Latest,
            allow_auto_create_topics: true,
            request_timeout: Span::secs(30),
            retry_backoff: Span::ms(100),
            metadata_max_age: Span::secs(300),
            fetch_max_wait: Span::ms(500),
            fetch_min_bytes: 1,
            max_partition_fetch_bytes: 1 << 20,
            isolation_level: Isolation::ReadUncommitted,
            poll: Poll::Duration,
            on_error: OnError::GoOn,
        }
    }

    /// The same, as a consumer of that release has them.
    pub fn of_release(self, release: Release) -> ConsumerSettings {
        let mut settings = ConsumerSettings { release, ..self };
        if !release.clients_are_careful() {
            settings.session_timeout = Span::secs(10);
            settings.partition_assignment_strategy = vec![Assignor::Range];
        }
        if !release.consumers_are_impatient() {
            settings.request_timeout = Span::secs(305);
        }
        settings
    }

    /// Changes a setting by its real name; `None` if there is no such one or it cannot be so.
    pub fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let (ms, pause) = (|| Span::parse_ms(value), || Span::parse_pause_ms(value));
        match name {
            "session.timeout.ms" => self.session_timeout = pause()?,
            "heartbeat.interval.ms" => self.heartbeat_interval = pause()?,
            "max.poll.interval.ms" => self.max_poll_interval = pause()?,
            "auto.commit.interval.ms" => self.auto_commit_interval = pause()?,
            "request.timeout.ms" => self.request_timeout = pause()?,
            "retry.backoff.ms" => self.retry_backoff = pause()?,
            "metadata.max.age.ms" => self.metadata_max_age = pause()?,
            "fetch.max.wait.ms" => self.fetch_max_wait = ms()?,
            "enable.auto.commit" => self.enable_auto_commit = value.parse().ok()?,
            "allow.auto.create.topics" => self.allow_auto_create_topics = value.parse().ok()?,
            // A client that does not know a setting says so in its log, and goes on.
            "group.instance.id" if !self.release.has_static_members() => {}
            "isolation.level" if !self.release.has_transactions() => {}
            "group.instance.id" => self.group_instance_id = Some(value.into()),
            "auto.offset.reset" => self.auto_offset_reset = OffsetReset::by_name(value)?,
            "isolation.level" => {
                self.isolation_level = match value {
                    "read_committed" => Isolation::ReadCommitted,
                    "read_uncommitted" => Isolation::ReadUncommitted,
                    _ => return None,
                }
            }
            "partition.assignment.strategy" => {
                let assignors = value.split(',').map(Assignor::by_name).collect::<Option<_>>()?;
                self.partition_assignment_strategy = assignors;
            }
            _ => return None,
        }
        Some(())
    }
}

impl OffsetReset {
    /// The policy of that name.
    pub fn by_name(name: &str) -> Option<OffsetReset> {
        match name {
            "earliest" => Some(OffsetReset::Earliest),
            "latest" => Some(OffsetReset::Latest),
            "none" => Some(OffsetReset::None),
            _ => None,
        }
    }
}

/// What a consumer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConsumerTimer {
    /// The coordinator is to hear from it.
    Heartbeat,
    /// The coordinator has not answered a heartbeat for the session timeout.
    Session,
    /// The application has not polled for `max.poll.interval.ms`.
    PollInterval,
    /// Offsets are to be committed.
    AutoCommit,
    /// What it knows of the cluster is old.
    Metadata,
    /// A pause after a failure is over.
    Retry,
    /// The first of its calls is overdue.
    Request,
}

impl ConsumerTimer {
    /// The short name, for traces.
    pub fn name(self) -> &'static str {
        match self {
            ConsumerTimer::Heartbeat => "heartbeat",
            ConsumerTimer::Session => "consumer-session",
            ConsumerTimer::PollInterval => "poll-interval",
            ConsumerTimer::AutoCommit => "auto-commit",
            ConsumerTimer::Metadata => "metadata-age",
            ConsumerTimer::Retry => "retry",
            ConsumerTimer::Request => "request-timeout",
        }
    }
}

/// What is asked of a consumer's application from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConsumerRequest {
    /// `commitSync()`: what was read so far.
    Commit,
    /// `close()`, and end.
    Close,
    /// End without a word.
    Exit,
    /// Poll no more.
    Stall,
    /// Poll again.
    Go,
}

impl ConsumerRequest {
    /// All of them.
    pub const ALL: [ConsumerRequest; 5] = [
        ConsumerRequest::Commit,
        ConsumerRequest::Close,
        ConsumerRequest::Exit,
        ConsumerRequest::Stall,
        ConsumerRequest::Go,
    ];

    /// The request of that name.
    pub fn by_name(name: &str) -> Option<ConsumerRequest> {
        ConsumerRequest::ALL.into_iter().find(|request| request.name() == name)
    }

    /// The short name, for traces and scripts.
    pub fn name(self) -> &'static str {
        match self {
            ConsumerRequest::Commit => "commit",
            ConsumerRequest::Close => "close",
            ConsumerRequest::Exit => "exit",
            ConsumerRequest::Stall => "stall",
            ConsumerRequest::Go => "go",
        }
    }
}

crate::facts! {
    /// What consumers tell.
    pub enum ConsumerFact {
        "coordinator-found" => CoordinatorFound { group: GroupId, coordinator: BrokerId },
        "coordinator-lost" => CoordinatorLost { group: GroupId },
        "group-joined" =>
            GroupJoined { group: GroupId, member: MemberId, generation: Generation },
        "partitions-assigned" => PartitionsAssigned { partitions: Partitions, now: Partitions },
        "partitions-revoked" => PartitionsRevoked { partitions: Partitions },
        "partitions-lost" => PartitionsLost { partitions: Partitions },
        "no-committed-offset" => NoCommittedOffset { partition: TopicPartition },
        "position-reset" => PositionReset { partition: TopicPartition, offset: Offset },
        "fetch-session-refused" =>
            FetchSessionRefused { leader: BrokerId, session: i32, epoch: i32, error: &'static str },
        "record-read" =>
            RecordRead { partition: TopicPartition, offset: Offset, key: Shown, value: Shown },
        "offsets-sent" => OffsetsSent { partitions: Partitions },
        "commit-done" => CommitDone { group: GroupId },
        "consumer-closed" => ConsumerClosed { group: GroupId },
        "consumer-error" => ConsumerError { error: &'static str },
    }
}
