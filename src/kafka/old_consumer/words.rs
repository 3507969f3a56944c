//! What an old consumer waits for and tells; and its settings.
//!
//! Not here: what its application is asked to do (as of any consumer, see `consumer::words`).
//!
//! *Invariant: what the application or its log would show is a fact, one for each time.*

use std::sync::Arc;

use crate::kafka::client::{Partitions, Shown};
use crate::kafka::id::{GroupId, Offset, TopicName, TopicPartition};
use crate::kafka::release::Release;
use crate::kafka::settings::Directory;
use crate::kafka::words::Text;
use crate::sim::Span;
use crate::zk::ensemble::Address;
use crate::zk::path::Path;

/// Where offsets are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// In ZooKeeper.
    Zookeeper,
    /// In `__consumer_offsets`.
    Kafka,
    /// In both; what was not stored by Kafka is not written to ZooKeeper (`dual.commit.enabled`).
    Both,
}

/// How a topic's partitions are divided among threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Each topic in ranges.
    Range,
    /// All partitions in a circle.
    RoundRobin,
}

/// Where to read when no offset is known, or the known one is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reset {
    /// From the first record.
    Smallest,
    /// From the next that comes.
    Largest,
}

/// Which client library it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Library {
    /// Kafka's own, for the JVM: an attempt that fails takes back what it has claimed.
    Kafka,
    /// kafka-node, as far as it differs in that: what was claimed stays.
    KafkaNode,
}

/// What the application wants to read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Wanted {
    /// These topics, with so many streams each.
    Topics(Vec<(TopicName, i32)>),
    /// All topics that a pattern matches, with so many streams.
    Pattern(Arc<str>, i32),
}

/// An old consumer's settings, by their real names in snake case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct OldSettings {
    pub release: Release,
    pub zookeeper_connect: Arc<[Address]>,
    /// Where hosts and ports are.
    pub directory: Directory,
    pub group_id: GroupId,
    /// What follows the group's name in the consumer's id.
    pub consumer_id: Arc<str>,
    pub library: Library,
    /// If there is no `consumer.id`: the host, of which it makes one that nobody had before.
    pub host: Option<Arc<str>>,
    pub wanted: Wanted,
    pub zookeeper_session_timeout: Span,
    /// `rebalance.backoff.ms`; if not set, `zookeeper.sync.time.ms`.
    pub rebalance_backoff: Span,
    pub rebalance_max_retries: u32,
    pub auto_commit_enable: bool,
    pub auto_commit_interval: Span,
    pub auto_offset_reset: Reset,
    pub partition_assignment_strategy: Strategy,
    pub offsets_storage: Storage,
    pub offsets_channel_backoff: Span,
    pub fetch_wait_max: Span,
    pub fetch_message_max_bytes: i32,
    pub refresh_leader_backoff: Span,
    pub socket_timeout: Span,
    /// How long a broker that had nothing is left alone (0.7).
    pub backoff_increment: Span,
}

impl OldSettings {
    /// The defaults of 0.8.2.2.
    // Source: kafka.consumer.ConsumerConfig
    pub fn new(group: &str, consumer: &str, wanted: Wanted) -> OldSettings {
        let is_some = match &wanted {
            Wanted::Topics(topics) => topics.iter().all(|(_, streams)| *streams > 0),
            Wanted::Pattern(_, streams) => *streams > 0,
        };
        assert!(is_some, "streams are counted from 1");
        OldSettings {
            release: Release::V0_8_2_2,
            zookeeper_connect: Arc::from([]),
            directory: Directory::default(),
            group_id: group.into(),
            consumer_id: consumer.into(),
            library: Library::Kafka,
            host: None,
            wanted,
            zookeeper_session_timeout: Span::secs(6),
            rebalance_backoff: Span::secs(2),
            rebalance_max_retries: 4,
            auto_commit_enable: true,
            auto_commit_interval: Span::secs(60),
            auto_offset_reset: Reset::Largest,
            partition_assignment_strategy: Strategy::Range,
            offsets_storage: Storage::Zookeeper,
            offsets_channel_backoff: Span::secs(1),
            fetch_wait_max: Span::ms(100),
            fetch_message_max_bytes: 1 << 20,
            refresh_leader_backoff: Span::ms(200),
            socket_timeout: Span::secs(30),
            backoff_increment: Span::secs(1),
        }
    }

    /// The same, as a consumer of that release has them.
    // Source: kafka.consumer.ConsumerConfig (0.7.2)
    pub fn of_release(self, release: Release) -> OldSettings {
        let mut settings = OldSettings { release, ..self };
        if release.brokers_are_alone() {
            settings.auto_commit_interval = Span::secs(10);
            settings.auto_offset_reset = Reset::Smallest;
        }
        settings
    }

    /// Changes a setting by its real name; `None` if there is no such one or it cannot be so.
    /// One is none of Kafka's: `library`, which says whose consumer it is.
    pub fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let (ms, pause) = (|| Span::parse_ms(value), || Span::parse_pause_ms(value));
        match (modern(name), value) {
            ("library", "kafka") => self.library = Library::Kafka,
            ("library", "kafka-node") => self.library = Library::KafkaNode,
            ("consumer.id", _) => (self.consumer_id, self.host) = (value.into(), None),
            ("zookeeper.session.timeout.ms", _) => self.zookeeper_session_timeout = pause()?,
            ("zookeeper.sync.time.ms" | "rebalance.backoff.ms", _) => {
                self.rebalance_backoff = pause()?;
            }
            ("rebalance.max.retries", _) => self.rebalance_max_retries = value.parse().ok()?,
            ("auto.commit.enable", _) => self.auto_commit_enable = value.parse().ok()?,
            ("auto.commit.interval.ms", _) => self.auto_commit_interval = pause()?,
            ("auto.offset.reset", "smallest") => self.auto_offset_reset = Reset::Smallest,
            ("auto.offset.reset", "largest") => self.auto_offset_reset = Reset::Largest,
            ("partition.assignment.strategy", "range") => {
                self.partition_assignment_strategy = Strategy::Range;
            }
            ("partition.assignment.strategy", "roundrobin") => {
                self.partition_assignment_strategy = Strategy::RoundRobin;
            }
            ("offsets.storage", "zookeeper") => self.offsets_storage = Storage::Zookeeper,
            // Source: ConsumerConfig: dual.commit.enabled is true where offsets.storage is kafka
            ("offsets.storage", "kafka") => self.offsets_storage = Storage::Both,
            ("dual.commit.enabled", "true" | "false") => {
                if self.offsets_storage != Storage::Zookeeper {
                    let both = value == "true";
                    self.offsets_storage = if both { Storage::Both } else { Storage::Kafka };
                }
            }
            ("fetch.wait.max.ms", _) => self.fetch_wait_max = ms()?,
            ("refresh.leader.backoff.ms", _) => self.refresh_leader_backoff = pause()?,
            ("backoff.increment.ms", _) => self.backoff_increment = pause()?,
            _ => return None,
        }
        Some(())
    }

    /// Whether this is the name of a thread of this consumer, or of one that it was before.
    pub fn is_named_in(&self, thread: &str) -> bool {
        let own = match &self.host {
            Some(host) => format!("{}_{host}-", self.group_id),
            None => format!("{}-", self.id()),
        };
        thread.starts_with(&own)
    }

    /// The consumer's id in its group.
    // Source: ZookeeperConsumerConnector.consumerIdString
    pub fn id(&self) -> String {
        format!("{}_{}", self.group_id, self.consumer_id)
    }
}

/// What a setting of 0.7 has been called since.
// Source: kafka.consumer.ConsumerConfig (0.7.2, 0.8.2)
fn modern(name: &str) -> &str {
    match name {
        "consumerid" => "consumer.id",
        "zk.sessiontimeout.ms" => "zookeeper.session.timeout.ms",
        "zk.synctime.ms" => "zookeeper.sync.time.ms",
        "rebalance.retries.max" => "rebalance.max.retries",
        "autocommit.enable" => "auto.commit.enable",
        "autocommit.interval.ms" => "auto.commit.interval.ms",
        "autooffset.reset" => "auto.offset.reset",
        _ => name,
    }
}

/// What an old consumer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OldTimer {
    /// The process runs as fast as it will.
    WarmUp,
    /// The pause after a rebalance that failed is over.
    Backoff,
    /// The registration of an earlier life is to be gone.
    RegisterAgain,
    /// Offsets are to be committed.
    AutoCommit,
    /// Leaders are to be looked for again.
    Leaders,
    /// The coordinator is to be looked for again.
    Coordinator,
    /// The first of its calls is overdue.
    Request,
    /// Brokers that had nothing are to be asked again (0.7).
    Fetch,
}

impl OldTimer {
    /// The short name, for traces.
    pub fn name(self) -> &'static str {
        match self {
            OldTimer::WarmUp => "warm-up",
            OldTimer::Backoff => "rebalance-backoff",
            OldTimer::RegisterAgain => "register-again",
            OldTimer::AutoCommit => "old-auto-commit",
            OldTimer::Leaders => "leader-finder",
            OldTimer::Coordinator => "offsets-channel",
            OldTimer::Request => "old-request-timeout",
            OldTimer::Fetch => "old-fetch-backoff",
        }
    }
}

crate::facts! {
    /// What old consumers tell.
    pub enum OldFact {
        "consumer-registered" => ConsumerRegistered { consumer: Text },
        "rebalance-began" => RebalanceBegan { consumer: Text, attempt: u32 },
        "ownership-released" => OwnershipReleased { partitions: Partitions },
        "partition-claimed" => PartitionClaimed { partition: TopicPartition, thread: Text },
        "ownership-conflict" => OwnershipConflict { path: Path, data: Text, stored: Text },
        "partition-still-owned" => PartitionStillOwned { partition: TopicPartition },
        "rebalance-succeeded" => RebalanceSucceeded { consumer: Text, partitions: Partitions },
        "rebalance-threw" => RebalanceThrew { error: Text },
        "rebalance-failed" => RebalanceFailed { consumer: Text, attempt: u32 },
        "streams-ready" => StreamsReady { consumer: Text },
        "stream-record" => StreamRecord { partition: TopicPartition, offset: Offset, value: Shown, stream: u32 },
        "offsets-written" => OffsetsWritten { consumer: Text },
        "connector-closed" => ConnectorClosed { consumer: Text },
        "consumer-threw" => ConsumerThrew { error: Text },
    }
}
