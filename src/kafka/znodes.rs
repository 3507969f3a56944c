//! Every path that Kafka has in ZooKeeper, and what it keeps there: path, encode, decode.
//!
//! Not here: who writes what and when. Other floors and files never spell such a path.
//!
//! *Invariant: `decode(encode(x))` is `x`; the JSON is that of the release, its fields in the order
//! in which its brokers were seen to write them.*
// Source: kafka.zk.ZkData (3.9), kafka.utils.ZkUtils (0.8.2.2)

use std::fmt::Display;
use std::sync::Arc;

use serde_json::Value;

use super::election::{LeaderAndIsr, LeaderRecovery};
use super::id::{BrokerId, ControllerEpoch, LeaderEpoch, ProducerId, TopicName, TopicPartition};
use super::release::Release;
use crate::sim::OrdMap;
use crate::zk::path::Path;
use crate::zk::stat::Bytes;

pub mod consumers;

/// The persistent paths that each broker of a release makes when it starts, in its order.
// Source: ZkData.PersistentZkPaths; ZkUtils.persistentZkPaths
pub fn persistent_paths(release: Release) -> &'static [&'static str] {
    match release {
        Release::V0_7_2 => &[],
        Release::V0_8_2_2 => &PATHS_0_8,
        Release::V0_10_2_2 => &PATHS_0_10,
        Release::V1_1_1 | Release::V2_3_1 => &PATHS_3_9[..PATHS_3_9.len() - 1],
        Release::V2_8_2 | Release::V3_9_1 => &PATHS_3_9,
    }
}

const PATHS_0_8: [&str; 6] = [
    "/consumers",
    "/brokers/ids",
    "/brokers/topics",
    "/config/changes",
    "/config/topics",
    "/admin/delete_topics",
];

const PATHS_0_10: [&str; 9] = [
    "/consumers",
    "/brokers/ids",
    "/brokers/topics",
    "/config/changes",
    "/config/topics",
    "/config/clients",
    "/admin/delete_topics",
    "/brokers/seqid",
    "/isr_change_notification",
];

const PATHS_3_9: [&str; 14] = [
    "/consumers",
    "/brokers/ids",
    "/brokers/topics",
    "/config/changes",
    "/admin/delete_topics",
    "/brokers/seqid",
    "/isr_change_notification",
    "/latest_producer_id_block",
    "/log_dir_event_notification",
    "/config/topics",
    "/config/clients",
    "/config/users",
    "/config/brokers",
    "/config/ips",
];

/// What is written: `Bytes` of a JSON text.
fn json(text: String) -> Bytes {
    Bytes::from(text)
}

fn parsed(data: &Bytes) -> Option<Value> {
    serde_json::from_slice(data.as_slice()).ok()
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn ids(value: &Value) -> Option<Vec<BrokerId>> {
    let numbers = value.as_array()?.iter();
    numbers.map(|id| Some(BrokerId(number(id)?))).collect()
}

fn number(value: &Value) -> Option<i32> {
    i32::try_from(value.as_i64()?).ok()
}

fn listed<T: Display>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    texts.join(",")
}

/// Declares the paths that have no parameter.
macro_rules! fixed_paths {
    ($($(#[$doc:meta])* $name:ident = $path:literal;)*) => {
        $($(#[$doc])* pub fn $name() -> Path { Path::new($path) })*
    };
}

fixed_paths! {
    /// Its children are the live brokers.
    broker_ids = "/brokers/ids";
    /// Its children are the topics.
    topics = "/brokers/topics";
    /// Who is controller.
    controller = "/controller";
    /// How many controllers there have been; its data version fences them.
    controller_epoch = "/controller_epoch";
    /// The cluster's id.
    cluster_id = "/cluster/id";
    /// Finalized features (2.7+).
    feature = "/feature";
    /// The last block of producer ids given out (0.11+).
    producer_id_block = "/latest_producer_id_block";
    /// Its children are notes that settings have changed.
    config_changes = "/config/changes";
    /// Its children are topics to be deleted.
    delete_topics = "/admin/delete_topics";
    /// Where replicas are to go.
    reassign_partitions = "/admin/reassign_partitions";
    /// Which preferred leaders are wanted back.
    preferred_replica_election = "/admin/preferred_replica_election";
    /// Its children are notes that leaders have changed ISRs (0.9 to 2.6).
    isr_change_notification = "/isr_change_notification";
    /// Its children are notes that disks have failed (1.0+).
    log_dir_event_notification = "/log_dir_event_notification";
}

/// A broker that lives.
pub fn broker(id: BrokerId) -> Path {
    Path::new(&format!("/brokers/ids/{id}"))
}

/// A topic.
pub fn topic(name: &TopicName) -> Path {
    Path::new(&format!("/brokers/topics/{name}"))
}

/// What one broker has of a topic (0.7): how many partitions.
// Source: kafka.utils.ZkUtils.BrokerTopicsPath, KafkaZooKeeper.registerTopicInZk (0.7.2)
pub fn broker_topic(name: &TopicName, broker: BrokerId) -> Path {
    Path::new(&format!("/brokers/topics/{name}/{broker}"))
}

/// The topic whose znode this is.
pub fn topic_at(path: &Path) -> Option<TopicName> {
    let name = path.as_str().strip_prefix("/brokers/topics/")?;
    (!name.contains('/')).then(|| name.into())
}

/// How many partitions a broker has of a topic.
pub fn encode_count(count: i32) -> Bytes {
    json(count.to_string())
}

/// What somebody wrote there, if it can be read.
pub fn decode_count(data: &Bytes) -> Option<i32> {
    std::str::from_utf8(data.as_slice()).ok()?.parse().ok()
}

/// Above the partitions of a topic.
pub fn topic_partitions(name: &TopicName) -> Path {
    Path::new(&format!("/brokers/topics/{name}/partitions"))
}

/// A partition.
pub fn partition(tp: &TopicPartition) -> Path {
    Path::new(&format!("/brokers/topics/{}/partitions/{}", tp.topic, tp.partition))
}

/// Who leads a partition, and who is in sync.
pub fn state(tp: &TopicPartition) -> Path {
    Path::new(&format!("/brokers/topics/{}/partitions/{}/state", tp.topic, tp.partition))
}

/// A topic to be deleted.
pub fn delete_topic(name: &TopicName) -> Path {
    Path::new(&format!("/admin/delete_topics/{name}"))
}

/// What a sequential note is called before its number.
pub fn config_change_prefix() -> Path {
    Path::new("/config/changes/config_change_")
}

/// What a sequential note of changed ISRs is called before its number.
pub fn isr_change() -> Path {
    Path::new("/isr_change_notification/isr_change_")
}

/// The partition whose state is at that path, if it is such a path.
pub fn partition_of_state(path: &Path) -> Option<TopicPartition> {
    let rest = path.as_str().strip_prefix("/brokers/topics/")?.strip_suffix("/state")?;
    let (topic, number) = rest.split_once("/partitions/")?;
    Some(TopicPartition::new(topic, number.parse().ok()?))
}

/// The topic whose own znode is at that path, if it is such a path.
pub fn topic_of(path: &Path) -> Option<&str> {
    let name = path.as_str().strip_prefix("/brokers/topics/")?;
    (!name.contains('/')).then_some(name)
}

/// The number at the end of a sequential znode's name.
pub fn sequence_number(name: &str) -> Option<i64> {
    let digits = name.len().checked_sub(10)?;
    name.get(digits..)?.parse().ok()
}

/// What may have settings in ZooKeeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum ConfigType {
    Topics,
    Clients,
    Users,
    Brokers,
    Ips,
}

/// Above everything that has settings.
pub const CONFIG_ROOT: &str = "/config";

/// The name that stands for all of a kind.
pub const DEFAULT_ENTITY: &str = "<default>";

impl ConfigType {
    /// Its name in paths.
    pub fn name(self) -> &'static str {
        match self {
            ConfigType::Topics => "topics",
            ConfigType::Clients => "clients",
            ConfigType::Users => "users",
            ConfigType::Brokers => "brokers",
            ConfigType::Ips => "ips",
        }
    }

    /// Above all entities of the kind.
    pub fn path(self) -> Path {
        Path::new(&format!("/config/{}", self.name()))
    }

    /// One entity's settings.
    pub fn entity(self, name: &str) -> Path {
        Path::new(&format!("/config/{}/{name}", self.name()))
    }
}

/// A live broker: `/brokers/ids/N`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BrokerZnode {
    /// Where it listens.
    pub host: Arc<str>,
    /// Where it listens.
    pub port: u16,
    /// Its `broker.rack`.
    pub rack: Option<Arc<str>>,
    /// When it registered, in milliseconds.
    pub timestamp: u64,
}

impl BrokerZnode {
    /// As a broker of that release writes it.
    pub fn encode(&self, release: Release) -> Bytes {
        let BrokerZnode { host, port, timestamp, .. } = self;
        let map = r#""listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"}"#;
        let endpoints = format!(r#""endpoints":["PLAINTEXT://{host}:{port}"]"#);
        let rack =
            self.rack.as_ref().map_or(String::new(), |r| format!(r#""rack":{},"#, quoted(r)));
        json(match release {
            Release::V0_7_2 => format!("{host}-{timestamp}:{host}:{port}"),
            Release::V0_8_2_2 => format!(
                r#"{{"jmx_port":-1,"timestamp":"{timestamp}","host":"{host}","version":1,"port":{port}}}"#
            ),
            Release::V0_10_2_2 | Release::V1_1_1 | Release::V2_3_1 => format!(
                r#"{{{map},{endpoints},{rack}"jmx_port":-1,"host":"{host}","timestamp":"{timestamp}","port":{port},"version":4}}"#
            ),
            Release::V2_8_2 | Release::V3_9_1 => format!(
                r#"{{"features":{{}},{map},{endpoints},{rack}"jmx_port":-1,"port":{port},"host":"{host}","version":5,"timestamp":"{timestamp}"}}"#
            ),
        })
    }

    /// What somebody wrote, if it can be read.
    pub fn decode(data: &Bytes) -> Option<BrokerZnode> {
        let Some(value) = parsed(data) else { return BrokerZnode::decode_plain(data) };
        Some(BrokerZnode {
            host: value.get("host")?.as_str()?.into(),
            port: u16::try_from(value.get("port")?.as_u64()?).ok()?,
            rack: value.get("rack").and_then(Value::as_str).map(Into::into),
            timestamp: value.get("timestamp")?.as_str()?.parse().ok()?,
        })
    }

    /// `creator:host:port`, where the creator is host and time.
    // Source: kafka.cluster.Broker.getZKString, KafkaZooKeeper.registerBrokerInZk (0.7.2)
    fn decode_plain(data: &Bytes) -> Option<BrokerZnode> {
        let mut parts = std::str::from_utf8(data.as_slice()).ok()?.split(':');
        let (creator, host, port) = (parts.next()?, parts.next()?, parts.next()?);
        let timestamp = creator.rsplit('-').next()?.parse().ok()?;
        Some(BrokerZnode { host: host.into(), port: port.parse().ok()?, rack: None, timestamp })
    }
}

/// Who is controller: `/controller`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ControllerZnode {
    /// The broker.
    pub broker: BrokerId,
    /// When it was elected, in milliseconds.
    pub timestamp: u64,
}

impl ControllerZnode {
    /// As a broker of that release writes it.
    pub fn encode(&self, release: Release) -> Bytes {
        let ControllerZnode { broker, timestamp } = self;
        json(if release.controller_may_be_elsewhere() {
            format!(
                r#"{{"version":2,"brokerid":{broker},"timestamp":"{timestamp}","kraftControllerEpoch":-1}}"#
            )
        } else {
            format!(r#"{{"version":1,"brokerid":{broker},"timestamp":"{timestamp}"}}"#)
        })
    }

    /// What somebody wrote, if it can be read.
    pub fn decode(data: &Bytes) -> Option<ControllerZnode> {
        let value = parsed(data)?;
        let timestamp = value.get("timestamp").and_then(Value::as_str);
        Some(ControllerZnode {
            broker: BrokerId(number(value.get("brokerid")?)?),
            timestamp: timestamp.and_then(|text| text.parse().ok()).unwrap_or_default(),
        })
    }
}

/// How many controllers there have been.
pub fn encode_controller_epoch(epoch: ControllerEpoch) -> Bytes {
    json(epoch.to_string())
}

/// What somebody wrote there, if it can be read.
pub fn decode_controller_epoch(data: &Bytes) -> Option<ControllerEpoch> {
    let text = std::str::from_utf8(data.as_slice()).ok()?;
    Some(ControllerEpoch(text.parse().ok()?))
}

/// The cluster's id.
pub fn encode_cluster_id(id: &str) -> Bytes {
    json(format!(r#"{{"version":"1","id":{}}}"#, quoted(id)))
}

/// What somebody wrote there, if it can be read.
pub fn decode_cluster_id(data: &Bytes) -> Option<Arc<str>> {
    Some(parsed(data)?.get("id")?.as_str()?.into())
}

/// No feature is finalized.
pub fn encode_feature(release: Release) -> Bytes {
    let version = release.feature_version();
    json(format!(r#"{{"features":{{}},"version":{version},"status":1}}"#))
}

/// A block of producer ids: `/latest_producer_id_block`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProducerIdBlock {
    /// Whose it is.
    pub broker: BrokerId,
    /// The first id.
    pub start: ProducerId,
    /// The last.
    pub end: ProducerId,
}

impl ProducerIdBlock {
    /// How many ids a block has.
    // Source: ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE
    pub const SIZE: i64 = 1000;

    /// The block after the one that is written, for that broker.
    pub fn after(written: Option<ProducerIdBlock>, broker: BrokerId) -> ProducerIdBlock {
        let start = ProducerId(written.map_or(0, |block| block.end.0 + 1));
        ProducerIdBlock { broker, start, end: ProducerId(start.0 + Self::SIZE - 1) }
    }

    /// As it is written.
    pub fn encode(&self) -> Bytes {
        let ProducerIdBlock { broker, start, end } = self;
        json(format!(
            r#"{{"version":1,"broker":{broker},"block_start":"{start}","block_end":"{end}"}}"#
        ))
    }

    /// What somebody wrote, if it can be read.
    pub fn decode(data: &Bytes) -> Option<ProducerIdBlock> {
        let value = parsed(data)?;
        let id = |field: &str| Some(ProducerId(value.get(field)?.as_str()?.parse().ok()?));
        let broker = BrokerId(number(value.get("broker")?)?);
        Some(ProducerIdBlock { broker, start: id("block_start")?, end: id("block_end")? })
    }
}

/// Where one partition's replicas are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReplicaAssignment {
    /// All of them; the first is the preferred leader.
    pub replicas: Vec<BrokerId>,
    /// Those that a reassignment adds (2.4+).
    pub adding: Vec<BrokerId>,
    /// Those that a reassignment removes (2.4+).
    pub removing: Vec<BrokerId>,
}

impl ReplicaAssignment {
    /// An assignment that nobody changes.
    pub fn settled(replicas: Vec<BrokerId>) -> ReplicaAssignment {
        ReplicaAssignment { replicas, ..ReplicaAssignment::default() }
    }

    /// Do replicas move?
    pub fn is_being_reassigned(&self) -> bool {
        !(self.adding.is_empty() && self.removing.is_empty())
    }

    /// The replicas that there will be.
    pub fn target(&self) -> Vec<BrokerId> {
        self.replicas.iter().copied().filter(|id| !self.removing.contains(id)).collect()
    }

    /// The replicas that there were.
    pub fn original(&self) -> Vec<BrokerId> {
        self.replicas.iter().copied().filter(|id| !self.adding.contains(id)).collect()
    }

    /// The assignment on the way from this one to `target`.
    // Source: ReplicaAssignment.reassignTo
    pub fn reassign_to(&self, target: &[BrokerId]) -> ReplicaAssignment {
        let old = self.original();
        let without = |all: &[BrokerId], some: &[BrokerId]| -> Vec<BrokerId> {
            all.iter().copied().filter(|id| !some.contains(id)).collect()
        };
        let removing = without(&old, target);
        let replicas = target.iter().copied().chain(removing.iter().copied()).collect();
        ReplicaAssignment { replicas, adding: without(target, &old), removing }
    }
}

/// A topic: `/brokers/topics/T`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopicZnode {
    /// Its id (2.8+), or none.
    pub topic_id: Option<Arc<str>>,
    /// Its partitions by number.
    pub partitions: OrdMap<i32, ReplicaAssignment>,
}

impl TopicZnode {
    /// As a broker of that release writes it.
    pub fn encode(&self, release: Release) -> Bytes {
        let all = self.lists(|assignment| &assignment.replicas, Empty::Shown);
        let adding = self.lists(|assignment| &assignment.adding, Empty::LeftOut);
        let removing = self.lists(|assignment| &assignment.removing, Empty::LeftOut);
        let id = self.topic_id.as_deref();
        let id = id.map(|id| format!(r#""topic_id":"{id}","#)).unwrap_or_default();
        json(if release.topics_have_ids() {
            format!(
                r#"{{"partitions":{{{all}}},{id}"adding_replicas":{{{adding}}},"removing_replicas":{{{removing}}},"version":3}}"#
            )
        } else {
            format!(r#"{{"version":1,"partitions":{{{all}}}}}"#)
        })
    }

    fn lists(&self, list: impl Fn(&ReplicaAssignment) -> &[BrokerId], empty: Empty) -> String {
        let one = |(number, assignment): (&i32, &ReplicaAssignment)| {
            let brokers = list(assignment);
            (empty == Empty::Shown || !brokers.is_empty())
                .then(|| format!(r#""{number}":[{}]"#, listed(brokers)))
        };
        listed(&self.partitions.iter().filter_map(one).collect::<Vec<_>>())
    }

    /// What somebody wrote, if it can be read.
    pub fn decode(data: &Bytes) -> Option<TopicZnode> {
        let value = parsed(data)?;
        let moving = |field: &str, number: &str| {
            let list = value.get(field).and_then(|lists| lists.get(number));
            list.and_then(ids).unwrap_or_default()
        };
        let mut partitions = OrdMap::new();
        for (number, replicas) in value.get("partitions")?.as_object()? {
            let replicas = ids(replicas)?;
            let (adding, removing) =
                (moving("adding_replicas", number), moving("removing_replicas", number));
            partitions
                .insert(number.parse().ok()?, ReplicaAssignment { replicas, adding, removing });
        }
        let topic_id = value.get("topic_id").and_then(Value::as_str).map(Into::into);
        Some(TopicZnode { topic_id, partitions })
    }
}

/// Whether an empty list is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Empty {
    Shown,
    LeftOut,
}

/// Who leads a partition, as who decided: `…/state`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StateZnode {
    /// The leader and the ISR.
    pub leadership: LeaderAndIsr,
    /// The epoch of the controller that decided.
    pub controller_epoch: ControllerEpoch,
}

impl StateZnode {
    /// As it is written.
    pub fn encode(&self) -> Bytes {
        let LeaderAndIsr { leader, leader_epoch, isr, recovery } = &self.leadership;
        let recovery = match recovery {
            LeaderRecovery::Recovered => "",
            LeaderRecovery::Recovering => r#""leader_recovery_state":1,"#,
        };
        json(format!(
            r#"{{"controller_epoch":{},"leader":{leader},"version":1,{recovery}"leader_epoch":{leader_epoch},"isr":[{}]}}"#,
            self.controller_epoch,
            listed(isr)
        ))
    }

    /// What somebody wrote, if it can be read.
    pub fn decode(data: &Bytes) -> Option<StateZnode> {
        let value = parsed(data)?;
        let recovery = match value.get("leader_recovery_state").and_then(Value::as_i64) {
            Some(1) => LeaderRecovery::Recovering,
            _ => LeaderRecovery::Recovered,
        };
        let leadership = LeaderAndIsr {
            leader: BrokerId(number(value.get("leader")?)?),
            leader_epoch: LeaderEpoch(number(value.get("leader_epoch")?)?),
            isr: ids(value.get("isr")?)?,
            recovery,
        };
        let controller_epoch = ControllerEpoch(number(value.get("controller_epoch")?)?);
        Some(StateZnode { leadership, controller_epoch })
    }
}

/// Settings of one entity, by name.
pub type Config = OrdMap<Arc<str>, Arc<str>>;

/// Settings, as they are written.
pub fn encode_config(config: &Config) -> Bytes {
    let one = |(name, value): (&Arc<str>, &Arc<str>)| format!("{}:{}", quoted(name), quoted(value));
    let pairs: Vec<String> = config.iter().map(one).collect();
    json(format!(r#"{{"version":1,"config":{{{}}}}}"#, pairs.join(",")))
}

/// What somebody wrote there, if it can be read.
pub fn decode_config(data: &Bytes) -> Option<Config> {
    let value = parsed(data)?;
    let pairs = value.get("config")?.as_object()?.iter();
    pairs.map(|(name, value)| Some((name.as_str().into(), value.as_str()?.into()))).collect()
}

/// A note that an entity's settings have changed.
pub fn encode_config_change(release: Release, kind: ConfigType, entity: &str) -> Bytes {
    json(if release.config_changes_name_paths() {
        let path = quoted(&format!("{}/{entity}", kind.name()));
        format!(r#"{{"version":2,"entity_path":{path}}}"#)
    } else {
        quoted(entity)
    })
}

/// Whose settings have changed: the path below `/config`.
pub fn decode_config_change(data: &Bytes) -> Option<Arc<str>> {
    match parsed(data)? {
        Value::String(topic) => Some(format!("topics/{topic}").into()),
        value => Some(value.get("entity_path")?.as_str()?.into()),
    }
}

/// Where replicas are to go, as `/admin/reassign_partitions` has it.
pub fn encode_reassignments(moves: &[(TopicPartition, Vec<BrokerId>)]) -> Bytes {
    let one = |(tp, replicas): &(TopicPartition, Vec<BrokerId>)| {
        let (topic, replicas) = (quoted(tp.topic.as_str()), listed(replicas));
        format!(r#"{{"topic":{topic},"partition":{},"replicas":[{replicas}]}}"#, tp.partition)
    };
    let moves: Vec<String> = moves.iter().map(one).collect();
    json(format!(r#"{{"version":1,"partitions":[{}]}}"#, moves.join(",")))
}

/// What somebody wrote there, if it can be read.
pub fn decode_reassignments(data: &Bytes) -> Option<Vec<(TopicPartition, Vec<BrokerId>)>> {
    let value = parsed(data)?;
    let moves = value.get("partitions")?.as_array()?.iter();
    moves.map(|one| Some((named_partition(one)?, ids(one.get("replicas")?)?))).collect()
}

/// Partitions, as notes of changed ISRs and wishes for preferred leaders name them.
pub fn encode_partitions(tps: &[TopicPartition]) -> Bytes {
    let one = |tp: &TopicPartition| {
        format!(r#"{{"topic":{},"partition":{}}}"#, quoted(tp.topic.as_str()), tp.partition)
    };
    let all: Vec<String> = tps.iter().map(one).collect();
    json(format!(r#"{{"version":1,"partitions":[{}]}}"#, all.join(",")))
}

/// What somebody wrote there, if it can be read.
pub fn decode_partitions(data: &Bytes) -> Option<Vec<TopicPartition>> {
    let value = parsed(data)?;
    value.get("partitions")?.as_array()?.iter().map(named_partition).collect()
}

/// The offsets before which records are to go, of a plan like
/// `{"partitions":[{"topic":"orders","partition":0,"offset":5}],"version":1}`.
// Source: DeleteRecordsCommand.parseOffsetJsonStringWithoutDedup
pub fn decode_offsets(text: &str) -> Option<Vec<(TopicPartition, i64)>> {
    let value = parsed(&text.into())?;
    let partitions = value.get("partitions")?.as_array()?.iter();
    partitions.map(|one| Some((named_partition(one)?, one.get("offset")?.as_i64()?))).collect()
}

/// The topics that a plan is wanted for: `{"topics":[{"topic":"orders"}],"version":1}`.
pub fn decode_topics(text: &str) -> Option<Vec<TopicName>> {
    let value = parsed(&text.into())?;
    let topics = value.get("topics")?.as_array()?.iter();
    topics.map(|one| Some(one.get("topic")?.as_str()?.into())).collect()
}

fn named_partition(value: &Value) -> Option<TopicPartition> {
    let topic = value.get("topic")?.as_str()?;
    Some(TopicPartition::new(topic, number(value.get("partition")?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[i32]) -> Vec<BrokerId> {
        numbers.iter().copied().map(BrokerId).collect()
    }

    fn check(data: &Bytes, expected: &str) {
        assert_eq!(std::str::from_utf8(data.as_slice()), Ok(expected));
    }

    #[test]
    fn a_broker_is_written_as_its_release_writes_it() {
        let broker =
            BrokerZnode { host: "h".into(), port: 9091, rack: Some("a".into()), timestamp: 7 };
        let data = broker.encode(Release::V3_9_1);
        check(
            &data,
            r#"{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://h:9091"],"rack":"a","jmx_port":-1,"port":9091,"host":"h","version":5,"timestamp":"7"}"#,
        );
        assert_eq!(BrokerZnode::decode(&data), Some(broker.clone()));
        let plain = BrokerZnode { rack: None, ..broker };
        let data = plain.encode(Release::V0_7_2);
        check(&data, "h-7:h:9091");
        assert_eq!(BrokerZnode::decode(&data), Some(plain));
    }

    #[test]
    fn a_topic_names_only_partitions_in_motion_twice() {
        let moving = ReplicaAssignment::settled(ids(&[1, 2])).reassign_to(&ids(&[3, 2]));
        let still = ReplicaAssignment::settled(ids(&[2, 3]));
        assert_eq!(moving.target(), ids(&[3, 2]));
        assert_eq!(moving.original(), ids(&[2, 1]));
        let topic_id = Some("id".into());
        let topic = TopicZnode { topic_id, partitions: OrdMap::from([(0, moving), (1, still)]) };
        let data = topic.encode(Release::V3_9_1);
        check(
            &data,
            r#"{"partitions":{"0":[3,2,1],"1":[2,3]},"topic_id":"id","adding_replicas":{"0":[3]},"removing_replicas":{"0":[1]},"version":3}"#,
        );
        assert_eq!(TopicZnode::decode(&data), Some(topic));
    }

    #[test]
    fn a_state_shows_an_unclean_leader_until_it_is_confirmed() {
        let leadership = LeaderAndIsr {
            leader: BrokerId(2),
            leader_epoch: LeaderEpoch(3),
            isr: ids(&[2]),
            recovery: LeaderRecovery::Recovering,
        };
        let state = StateZnode { leadership, controller_epoch: ControllerEpoch(1) };
        let data = state.encode();
        check(
            &data,
            r#"{"controller_epoch":1,"leader":2,"version":1,"leader_recovery_state":1,"leader_epoch":3,"isr":[2]}"#,
        );
        assert_eq!(StateZnode::decode(&data), Some(state));
    }

    #[test]
    fn what_is_written_can_be_read_again() {
        let controller = ControllerZnode { broker: BrokerId(1), timestamp: 5 };
        for &release in &Release::ALL[1..] {
            assert_eq!(ControllerZnode::decode(&controller.encode(release)), Some(controller));
        }
        let block = ProducerIdBlock::after(None, BrokerId(3));
        assert_eq!(ProducerIdBlock::decode(&block.encode()), Some(block));
        assert_eq!(ProducerIdBlock::after(Some(block), BrokerId(1)).start, ProducerId(1000));
        let config = Config::from([("retention.ms".into(), "600000".into())]);
        assert_eq!(decode_config(&encode_config(&config)), Some(config));
        let moves = vec![(TopicPartition::new("t", 1), ids(&[1, 2]))];
        assert_eq!(decode_reassignments(&encode_reassignments(&moves)), Some(moves));
        let change = encode_config_change(Release::V0_8_2_2, ConfigType::Topics, "t");
        assert_eq!(decode_config_change(&change).as_deref(), Some("topics/t"));
        assert_eq!(sequence_number("config_change_0000000012"), Some(12));
    }
}
