//! A broker's settings, by their real names in snake case, with the defaults of their release.
//!
//! Not here: a topic's own settings (see [`TopicConfig`], kept in ZooKeeper), and clients'
//! settings.
//!
//! *Invariant: units are in the types; a setting is never shortened to make a story shorter.*

use std::sync::Arc;

use super::id::{BrokerId, PARTITIONS, PARTS};
use super::release::Release;
use super::segments;
use crate::sim::{OrdMap, ProcessId, Span};
use crate::zk::ensemble::Address;

/// Which process answers at a host and port: what name service and routing are to real brokers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Directory(Arc<OrdMap<(Arc<str>, u16), ProcessId>>);

impl Directory {
    /// These processes, by host and port.
    pub fn new(entries: impl IntoIterator<Item = ((Arc<str>, u16), ProcessId)>) -> Directory {
        Directory(Arc::new(entries.into_iter().collect()))
    }

    /// The process at that host and port, if there is one.
    pub fn find(&self, host: &str, port: u16) -> Option<ProcessId> {
        self.0.get(&(Arc::from(host), port)).copied()
    }

    /// Every process that it knows.
    pub fn processes(&self) -> Vec<ProcessId> {
        self.0.values().copied().collect()
    }
}

/// A broker's settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Settings {
    /// Which release it runs.
    pub release: Release,
    pub broker_id: BrokerId,
    /// Where it listens, and says so.
    pub host: Arc<str>,
    pub port: u16,
    pub broker_rack: Option<Arc<str>>,
    /// The servers of the ensemble.
    pub zookeeper_connect: Arc<[Address]>,
    pub zookeeper_session_timeout: Span,
    pub zookeeper_max_in_flight_requests: u32,
    pub num_partitions: i32,
    pub default_replication_factor: i32,
    pub auto_create_topics_enable: bool,
    pub delete_topic_enable: bool,
    pub unclean_leader_election_enable: bool,
    pub min_insync_replicas: i32,
    pub replica_lag_time_max: Span,
    pub replica_fetch_wait_max: Span,
    pub replica_fetch_min_bytes: i32,
    pub replica_fetch_max_bytes: i32,
    pub replica_fetch_backoff: Span,
    pub replica_high_watermark_checkpoint_interval: Span,
    pub max_incremental_fetch_session_cache_slots: u32,
    pub controlled_shutdown_enable: bool,
    pub controlled_shutdown_max_retries: u32,
    pub controlled_shutdown_retry_backoff: Span,
    pub auto_leader_rebalance_enable: bool,
    pub leader_imbalance_per_broker_percentage: u32,
    pub leader_imbalance_check_interval: Span,
    pub message_max_bytes: i32,
    pub log_segment_bytes: i64,
    pub offsets_topic_num_partitions: i32,
    pub offsets_topic_replication_factor: i32,
    pub offsets_retention: Span,
    pub offsets_retention_check_interval: Span,
    pub offsets_commit_timeout: Span,
    pub group_min_session_timeout: Span,
    pub group_max_session_timeout: Span,
    pub group_initial_rebalance_delay: Span,
    pub group_max_size: i32,
    pub transaction_state_log_num_partitions: i32,
    pub transaction_state_log_replication_factor: i32,
    pub transaction_state_log_min_isr: i32,
    pub group_coordinator_rebalance_protocols: Arc<str>,
    /// What else the broker's file says, name by name.
    pub others: OrdMap<Arc<str>, Arc<str>>,
}

impl Settings {
    /// The defaults of 3.9.1.
    // Source: KafkaConfig, ZkConfigs, ServerLogConfigs, ReplicationConfigs, GroupCoordinatorConfig
    pub fn new(broker_id: BrokerId, host: &str, port: u16) -> Settings {
        Settings {
            release: Release::V3_9_1,
            broker_id,
            host: host.into(),
            port,
            broker_rack: None,
            zookeeper_connect: Arc::from([]),
            zookeeper_session_timeout: Span::secs(18),
            zookeeper_max_in_flight_requests: 10,
            num_partitions: 1,
            default_replication_factor: 1,
            auto_create_topics_enable: true,
            delete_topic_enable: true,
            unclean_leader_election_enable: false,
            min_insync_replicas: 1,
            replica_lag_time_max: Span::secs(30),
            replica_fetch_wait_max: Span::ms(500),
            replica_fetch_min_bytes: 1,
            replica_fetch_max_bytes: 1 << 20,
            replica_fetch_backoff: Span::secs(1),
            replica_high_watermark_checkpoint_interval: Span::secs(5),
            max_incremental_fetch_session_cache_slots: 1000,
            controlled_shutdown_enable: true,
            controlled_shutdown_max_retries: 3,
            controlled_shutdown_retry_backoff: Span::secs(5),
            auto_leader_rebalance_enable: true,
            leader_imbalance_per_broker_percentage: 10,
            leader_imbalance_check_interval: Span::secs(300),
            message_max_bytes: 1_048_588,
            log_segment_bytes: 1 << 30,
            offsets_topic_num_partitions: 50,
            offsets_topic_replication_factor: 3,
            offsets_retention: Span::secs(10_080 * 60),
            offsets_retention_check_interval: Span::secs(600),
            offsets_commit_timeout: Span::secs(5),
            group_min_session_timeout: Span::secs(6),
            group_max_session_timeout: Span::secs(1800),
            group_initial_rebalance_delay: Span::secs(3),
            group_max_size: i32::MAX,
            transaction_state_log_num_partitions: 50,
            transaction_state_log_replication_factor: 3,
            transaction_state_log_min_isr: 2,
            group_coordinator_rebalance_protocols: "classic".into(),
            others: OrdMap::new(),
        }
    }
}

/// A setting that only old releases have: it is kept among the others.
const LAG_MAX_MESSAGES: &str = "replica.lag.max.messages";

/// No setting, but a property of the JVM: on which system the broker runs.
const SYSTEM: &str = "os.name";

/// How long a disk takes for one `offsets.load.buffer.size`.
// Real: as long as it needs, and most of the time goes into reading what it says; here 20 ms.
const BUFFER_READ: Span = Span::ms(20);

impl Settings {
    /// How often it is looked whether followers have fallen behind.
    // Source: ReplicaManager.startup (isr-expiration)
    pub fn isr_look(&self) -> Span {
        let lag = self.replica_lag_time_max;
        let rarely = self.release.followers_are_looked_at_rarely();
        if rarely { lag } else { lag.divided_by(2) }
    }

    /// By how many records a follower may be behind, in a release that counts them.
    pub fn replica_lag_max_messages(&self) -> Option<u64> {
        let set = || self.others.get(LAG_MAX_MESSAGES).and_then(|text| text.parse().ok());
        self.release.lag_is_counted_in_messages().then(|| set().unwrap_or(4000))
    }

    /// How long it takes to read so much of `__consumer_offsets`, the first buffer apart.
    // Source: GroupMetadataManager.doLoadGroupsAndOffsets
    pub fn loading_takes(&self, bytes: u64) -> Span {
        let buffer = segments::value(segments::LOAD_BUFFER.0, self);
        BUFFER_READ * (bytes / buffer.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX))
    }

    /// Whether the broker's files are Windows's, where no folder can be renamed that is in use.
    pub fn locks_open_files(&self) -> bool {
        self.others.get(SYSTEM).is_some_and(|name| name.starts_with("Windows"))
    }

    /// The same with the defaults of that release.
    pub fn of_release(self, release: Release) -> Settings {
        let mut settings = Settings { release, ..self };
        if !release.is_patient_by_default() {
            settings.zookeeper_session_timeout = Span::secs(6);
            settings.replica_lag_time_max = Span::secs(10);
            settings.message_max_bytes = 1_000_012;
        }
        settings.unclean_leader_election_enable = release.elects_unclean_leaders_by_default();
        settings.delete_topic_enable = release.deletes_topics_by_default();
        if !release.keeps_offsets_for_a_week() {
            settings.offsets_retention = Span::secs(1440 * 60);
        }
        if !release.lets_members_be_silent_for_long() {
            settings.group_max_session_timeout = Span::secs(300);
        }
        settings
    }
}

/// A setting that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// There is none of that name here.
    #[error("no broker setting {0:?} here")]
    Unknown(String),
    /// The value is of another kind.
    #[error("{name}={value} wants {wanted}")]
    Value {
        /// The setting.
        name: &'static str,
        /// What was given.
        value: String,
        /// What was expected.
        wanted: &'static str,
    },
}

macro_rules! by_name {
    ($($name:literal => $field:ident: $kind:ident;)*) => {
        impl Settings {
            /// Sets one setting by its real name: `replica.lag.time.max.ms`, `30000`.
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
                if let Some((known, _)) = segments::SETTINGS.iter().find(|known| known.0 == name) {
                    segments::check(known, value)?;
                    self.others.insert(name.into(), value.into());
                    return Ok(());
                }
                match name {
                    $($name => {
                        let wrong = |wanted| {
                            SettingError::Value { name: $name, value: value.into(), wanted }
                        };
                        self.$field = read::$kind(value).map_err(wrong)?;
                    })*
                    SYSTEM => {}
                    LAG_MAX_MESSAGES => {
                        let name = LAG_MAX_MESSAGES;
                        let wrong =
                            |wanted| SettingError::Value { name, value: value.into(), wanted };
                        read::number::<u64>(value).map_err(wrong)?;
                    }
                    _ => self.set_lone(name, value)?,
                }
                self.others.insert(name.into(), value.into());
                Ok(())
            }

            /// The names that [`Settings::set`] takes.
            pub const NAMES: &'static [&'static str] = &[$($name,)* LAG_MAX_MESSAGES];

            /// What a setting's value is now, in the notation of the broker's file.
            pub fn value(&self, name: &str) -> Option<String> {
                match name {
                    $($name => Some(shown::$kind(&self.$field)),)*
                    LAG_MAX_MESSAGES => self.replica_lag_max_messages().map(|n| n.to_string()),
                    _ => segments::value(name, self).or_else(|| self.lone_value(name)),
                }
            }
        }
    };
}

by_name! {
    "broker.rack" => broker_rack: optional_text;
    "zookeeper.session.timeout.ms" => zookeeper_session_timeout: pause;
    "zookeeper.max.in.flight.requests" => zookeeper_max_in_flight_requests: count;
    "num.partitions" => num_partitions: partitions;
    "default.replication.factor" => default_replication_factor: replicas;
    "auto.create.topics.enable" => auto_create_topics_enable: truth;
    "delete.topic.enable" => delete_topic_enable: truth;
    "unclean.leader.election.enable" => unclean_leader_election_enable: truth;
    "min.insync.replicas" => min_insync_replicas: replicas;
    "replica.lag.time.max.ms" => replica_lag_time_max: pause;
    "replica.fetch.wait.max.ms" => replica_fetch_wait_max: ms;
    "replica.fetch.min.bytes" => replica_fetch_min_bytes: count;
    "replica.fetch.max.bytes" => replica_fetch_max_bytes: amount;
    "replica.fetch.backoff.ms" => replica_fetch_backoff: pause;
    "replica.high.watermark.checkpoint.interval.ms" => replica_high_watermark_checkpoint_interval: pause;
    "max.incremental.fetch.session.cache.slots" => max_incremental_fetch_session_cache_slots: number;
    "controlled.shutdown.enable" => controlled_shutdown_enable: truth;
    "controlled.shutdown.max.retries" => controlled_shutdown_max_retries: number;
    "controlled.shutdown.retry.backoff.ms" => controlled_shutdown_retry_backoff: pause;
    "auto.leader.rebalance.enable" => auto_leader_rebalance_enable: truth;
    "leader.imbalance.per.broker.percentage" => leader_imbalance_per_broker_percentage: number;
    "leader.imbalance.check.interval.seconds" => leader_imbalance_check_interval: seconds;
    "message.max.bytes" => message_max_bytes: amount;
    "log.segment.bytes" => log_segment_bytes: segment;
    "offsets.topic.num.partitions" => offsets_topic_num_partitions: partitions;
    "offsets.topic.replication.factor" => offsets_topic_replication_factor: replicas;
    "offsets.retention.minutes" => offsets_retention: minutes;
    "offsets.retention.check.interval.ms" => offsets_retention_check_interval: pause;
    "offsets.commit.timeout.ms" => offsets_commit_timeout: pause;
    "group.min.session.timeout.ms" => group_min_session_timeout: ms;
    "group.max.session.timeout.ms" => group_max_session_timeout: ms;
    "group.initial.rebalance.delay.ms" => group_initial_rebalance_delay: ms;
    "group.max.size" => group_max_size: count;
    "transaction.state.log.num.partitions" => transaction_state_log_num_partitions: partitions;
    "transaction.state.log.replication.factor" => transaction_state_log_replication_factor: replicas;
    "transaction.state.log.min.isr" => transaction_state_log_min_isr: replicas;
    "group.coordinator.rebalance.protocols" => group_coordinator_rebalance_protocols: text;
}

impl Settings {
    /// The settings that only lone brokers have, beside those that are called otherwise there.
    // Source: kafka.server.KafkaConfig (0.7.2)
    pub const OF_LONE: &'static [&'static str] = &[
        "zk.sessiontimeout.ms",
        "topic.partition.count.map",
        "log.flush.interval",
        "log.default.flush.interval.ms",
    ];

    /// Writes into the broker's file; an empty value takes the setting out of it.
    pub fn write(&mut self, file: &[(Arc<str>, Arc<str>)]) {
        for (name, value) in file {
            let default = Settings::new(self.broker_id, "", 0).of_release(self.release);
            let is_out = value.is_empty();
            let value =
                if is_out { default.value(name).unwrap_or_default() } else { value.to_string() };
            // What is checked when it is read fits; a default that is no value, null, is left out.
            let _ = self.set(name, &value);
            if is_out {
                self.others.remove(name);
            }
        }
    }

    /// The settings that brokers of a release have, by their names there.
    pub fn names(release: Release) -> Vec<&'static str> {
        match release.brokers_are_alone() {
            true => ["num.partitions"].iter().chain(Self::OF_LONE).copied().collect(),
            false => {
                let of_logs = segments::SETTINGS.iter().map(|(name, _)| *name);
                let all = Self::NAMES.iter().copied().chain(of_logs);
                all.filter(|name| is_in(name, release)).collect()
            }
        }
    }

    /// Whether [`Settings::set`] takes it.
    pub fn knows(name: &str) -> bool {
        let of_logs = segments::SETTINGS.iter().any(|(known, _)| *known == name);
        let own = Self::NAMES.contains(&name) || name == SYSTEM;
        of_logs || own || Self::OF_LONE.contains(&name)
    }

    fn lone_value(&self, name: &str) -> Option<String> {
        let (records, every) = self.flushes();
        match name {
            "zk.sessiontimeout.ms" => Some(shown::ms(&self.zookeeper_session_timeout)),
            "topic.partition.count.map" => {
                Some(self.others.get(name).map_or_else(String::new, |map| map.to_string()))
            }
            "log.flush.interval" => Some(records.to_string()),
            "log.default.flush.interval.ms" => Some(shown::ms(&every)),
            _ => None,
        }
    }

    fn set_lone(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let Some(name) = Self::OF_LONE.iter().find(|known| **known == name) else {
            return Err(SettingError::Unknown(name.into()));
        };
        let wrong = |wanted| SettingError::Value { name, value: value.into(), wanted };
        match *name {
            "zk.sessiontimeout.ms" => {
                self.zookeeper_session_timeout = read::pause(value).map_err(wrong)?;
            }
            "topic.partition.count.map" => {
                let fine = value.split(',').all(|pair| counted(pair).is_some());
                if !fine {
                    return Err(wrong(
                        "topics like orders:2,clicks:1 with 1 to 1000 partitions each",
                    ));
                }
            }
            _ => drop(read::count::<u32>(value).map_err(wrong)?),
        }
        Ok(())
    }

    /// How many partitions of a topic a lone broker has.
    // Source: KafkaConfig.topicPartitionsMap (0.7.2)
    pub fn own_partitions(&self, topic: &str) -> i32 {
        let map = self.others.get("topic.partition.count.map").map_or("", |map| &**map);
        let named = map.split(',').filter_map(counted).find(|(name, _)| *name == topic);
        named.map_or(self.num_partitions, |(_, count)| count).clamp(1, PARTS - 1)
    }

    /// After how many records, and after how long, a lone broker flushes a log.
    // Source: KafkaConfig.flushInterval, flushSchedulerThreadRate (0.7.2)
    pub fn flushes(&self) -> (u32, Span) {
        let number = |name, default| {
            let set = self.others.get(name).and_then(|value| value.parse().ok());
            set.unwrap_or(default)
        };
        let every = number("log.default.flush.interval.ms", 3000);
        (number("log.flush.interval", 500), Span::ms(u64::from(every)))
    }
}

/// The settings that came with a release after 0.8.2.
// Source: KAFKA-1461 (0.9), KIP-36 (0.10), KIP-98, KIP-134 (0.11), KIP-214, KIP-227 (1.1),
// KIP-389 (2.2), KIP-848 (3.7)
const CAME_LATER: &[(&str, Release)] = &[
    ("replica.fetch.backoff.ms", Release::V0_10_2_2),
    ("broker.rack", Release::V0_10_2_2),
    ("group.min.session.timeout.ms", Release::V0_10_2_2),
    ("group.max.session.timeout.ms", Release::V0_10_2_2),
    ("group.initial.rebalance.delay.ms", Release::V1_1_1),
    ("transaction.state.log.num.partitions", Release::V1_1_1),
    ("transaction.state.log.replication.factor", Release::V1_1_1),
    ("transaction.state.log.min.isr", Release::V1_1_1),
    ("zookeeper.max.in.flight.requests", Release::V1_1_1),
    ("max.incremental.fetch.session.cache.slots", Release::V1_1_1),
    ("group.max.size", Release::V2_3_1),
    ("group.coordinator.rebalance.protocols", Release::V3_9_1),
];

/// Whether brokers of a release with replicas have it.
fn is_in(name: &str, release: Release) -> bool {
    let came = CAME_LATER.iter().find(|(later, _)| *later == name);
    let went = name == LAG_MAX_MESSAGES && !release.lag_is_counted_in_messages();
    came.is_none_or(|(_, first)| release >= *first) && !went
}

fn counted(pair: &str) -> Option<(&str, i32)> {
    let (topic, count) = pair.split_once(':')?;
    Some((topic, count.parse().ok().filter(|count| (1..=PARTITIONS).contains(count))?))
}

/// Values as text becomes them.
mod read {
    use super::{Arc, Span};
    use std::str::FromStr;

    pub(super) fn number<N: FromStr>(text: &str) -> Result<N, &'static str> {
        text.parse().map_err(|_| "a number")
    }

    pub(super) fn truth(text: &str) -> Result<bool, &'static str> {
        text.parse().map_err(|_| "true or false")
    }

    fn within<N: FromStr + PartialOrd>(
        text: &str,
        (least, most): (N, N),
        wanted: &'static str,
    ) -> Result<N, &'static str> {
        let number = text.parse().ok();
        number.filter(|number| least <= *number && *number <= most).ok_or(wanted)
    }

    pub(super) fn partitions(text: &str) -> Result<i32, &'static str> {
        within(text, (1, super::PARTITIONS), "a number of partitions from 1 to 1000")
    }

    // Source: the protocol counts replicas in 16 bits
    pub(super) fn replicas(text: &str) -> Result<i32, &'static str> {
        within(text, (1, 0x7fff), "a number of replicas from 1 to 32767")
    }

    pub(super) fn amount(text: &str) -> Result<i32, &'static str> {
        within(text, (0, i32::MAX), "a number from 0 to 2147483647")
    }

    pub(super) fn count<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, &'static str> {
        let number = text.parse().ok().filter(|number| *number >= N::from(1));
        number.ok_or("a number from 1 to 2147483647")
    }

    // Source: LogConfig (segment.bytes is an int from LegacyRecord.RECORD_OVERHEAD_V0 on)
    pub(super) fn segment(text: &str) -> Result<i64, &'static str> {
        within(text, (14, 0x7fff_ffff), "a number of bytes from 14 to 2147483647")
    }

    pub(super) fn ms(text: &str) -> Result<Span, &'static str> {
        Span::parse_ms(text).ok_or("milliseconds from 0 to 3162240000000 (a hundred years)")
    }

    pub(super) fn pause(text: &str) -> Result<Span, &'static str> {
        Span::parse_pause_ms(text).ok_or("milliseconds from 1 to 3162240000000 (a hundred years)")
    }

    pub(super) fn seconds(text: &str) -> Result<Span, &'static str> {
        let most = Span::LONGEST.as_ms() / 1000;
        within(text, (1, most), "seconds from 1 to 3162240000 (a hundred years)").map(Span::secs)
    }

    pub(super) fn minutes(text: &str) -> Result<Span, &'static str> {
        let most = Span::LONGEST.as_ms() / 60_000;
        let minutes = within(text, (1, most), "minutes from 1 to 52704000 (a hundred years)")?;
        Ok(Span::secs(60) * minutes)
    }

    pub(super) fn text(text: &str) -> Result<Arc<str>, &'static str> {
        Ok(text.into())
    }

    pub(super) fn optional_text(text: &str) -> Result<Option<Arc<str>>, &'static str> {
        Ok((!text.is_empty()).then(|| text.into()))
    }
}

/// Values as text shows them.
mod shown {
    use super::{Arc, Span};

    pub(super) fn number(number: &impl ToString) -> String {
        number.to_string()
    }

    pub(super) use number as partitions;
    pub(super) use number as replicas;
    pub(super) use number as amount;
    pub(super) use number as count;
    pub(super) use number as segment;

    pub(super) fn truth(truth: &bool) -> String {
        truth.to_string()
    }

    pub(super) fn ms(span: &Span) -> String {
        span.as_ms().to_string()
    }

    pub(super) use ms as pause;

    pub(super) fn seconds(span: &Span) -> String {
        (span.as_ms() / 1000).to_string()
    }

    pub(super) fn minutes(span: &Span) -> String {
        (span.as_ms() / 60_000).to_string()
    }

    pub(super) fn text(text: &Arc<str>) -> String {
        text.to_string()
    }

    pub(super) fn optional_text(text: &Option<Arc<str>>) -> String {
        text.as_deref().unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_set_by_their_real_names() {
        let mut settings = Settings::new(BrokerId(1), "127.0.0.1", 9091);
        settings.set("replica.lag.time.max.ms", "4000").expect("a number of milliseconds");
        assert_eq!(settings.replica_lag_time_max, Span::secs(4));
        assert_eq!(settings.value("replica.lag.time.max.ms").as_deref(), Some("4000"));
        assert!(settings.set("replica.lag.time.max.ms", "soon").is_err());
        assert!(settings.set("no.such.setting", "1").is_err());
    }

    #[test]
    fn a_release_lists_what_its_brokers_have() {
        let value = |release: Release, name: &str| {
            let settings = Settings::new(BrokerId(1), "a", 1).of_release(release);
            Settings::names(release).contains(&name).then(|| settings.value(name)).flatten()
        };
        for (name, first, last, expected) in [
            (LAG_MAX_MESSAGES, Release::V0_8_2_2, Release::V0_8_2_2, "4000"),
            ("group.max.size", Release::V2_3_1, Release::V3_9_1, "2147483647"),
            ("min.insync.replicas", Release::V0_8_2_2, Release::V3_9_1, "1"),
            ("transaction.state.log.min.isr", Release::V1_1_1, Release::V3_9_1, "2"),
        ] {
            for release in Release::ALL.iter().copied() {
                let wanted = (first..=last).contains(&release).then_some(expected);
                assert_eq!(value(release, name).as_deref(), wanted, "{name} in {release}");
            }
        }
        let name = "group.max.session.timeout.ms";
        let values = [Release::V1_1_1, Release::V2_3_1].map(|release| value(release, name));
        assert_eq!(values, [Some("300000".into()), Some("1800000".into())]);
        for release in Release::ALL.iter().copied() {
            assert!(Settings::names(release).iter().all(|name| value(release, name).is_some()));
        }
    }
}
