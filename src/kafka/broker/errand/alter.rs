//! Reading and changing settings that are kept in ZooKeeper.
//!
//! *Invariant: a note of the change is written after the settings.*
// Source: ConfigAdminManager, ConfigHelper, AdminZkClient.changeEntityConfig (3.9)

use std::sync::Arc;

use super::super::Dynamic;
use super::{Errand, Running, Site, refused};
use crate::kafka::Error;
use crate::kafka::admin::{
    AlterConfigOp, ConfigChanges, ConfigEntry, ConfigResource, ConfigSource,
    DescribeConfigsRequest, DescribeConfigsResponse, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse, Refusal, WhichConfigs,
};
use crate::kafka::id::BrokerId;
use crate::kafka::release::Release;
use crate::kafka::segments::{CLEANER_BACKOFF, is_policy, percent};
use crate::kafka::settings::{SettingError, Settings};
use crate::kafka::wire::Caller;
use crate::kafka::words::Words;
use crate::kafka::znodes::{self, Config};
use crate::kafka::zookeeper::{Replies, Reply, create, create_sequential, data, found, parts};
use crate::sim::{Outbox, sort};
use crate::zk::path::Path;
use crate::zk::reply::{Answer, Error as ZkError};
use crate::zk::request::Op;
use crate::zk::stat::Bytes;

/// Settings that are being read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Describe {
    caller: Caller,
    resources: Vec<ConfigResource>,
    which: WhichConfigs,
}

/// How far the first of the changes is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// The settings as they are.
    Read,
    /// The controller is read: the write is fenced by it.
    Fence(Config),
    /// Whether they could be set.
    Set(Config),
    /// Whether they could be created.
    Create,
    /// The parent of the notes.
    Parent,
    /// The note.
    Note,
}

/// Settings that are being changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Alter {
    caller: Caller,
    resources: Vec<(ConfigResource, ConfigChanges)>,
    responses: Vec<(ConfigResource, Option<Refusal>)>,
    step: Step,
}

impl Running {
    /// A topic's settings are read; a broker's own, and those of all, are told as it has taken
    /// them.
    // Source: ConfigHelper.describeConfigs (3.9), AdminManager.describeConfigs (1.1):
    // KafkaConfig.dynamicConfig, ZkConfigRepository.config
    pub(super) fn describe_configs(
        &mut self,
        caller: Caller,
        request: DescribeConfigsRequest,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let topics = request.resources.iter().filter(|resource| is_topic(resource));
        let reads = topics.map(|topic| self.zk.get_data(path_of(topic))).collect();
        let (resources, which) = (request.resources, request.which);
        let describe = Describe { caller, resources, which };
        let number = self.errands.begin(Errand::Describe(describe));
        self.go(number, reads, site, out);
    }

    pub(super) fn described(
        &mut self,
        describe: Describe,
        replies: &Replies,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let mut replies = replies.iter();
        let mut results = Vec::new();
        for resource in describe.resources {
            let dynamic = &self.dynamic;
            let own = match &resource {
                ConfigResource::Topic(topic) => {
                    let read = replies.next().and_then(|it| found(it, znodes::decode_config));
                    self.cache.topic(topic).map(|_| read.unwrap_or_default())
                }
                ConfigResource::Broker(_) => Some(dynamic.own().clone()),
                ConfigResource::AllBrokers => Some(dynamic.of_all().clone()),
            };
            let entries = |own| {
                let mut told = entries(&resource, &own, dynamic, site.file);
                if describe.which == WhichConfigs::All {
                    add_defaults(&resource, dynamic, site.file, &mut told);
                }
                told
            };
            let told = own.map(entries);
            let result = told.ok_or_else(|| Refusal::from(Error::UnknownTopicOrPartition));
            results.push((resource, result));
        }
        self.answer(describe.caller, DescribeConfigsResponse { results }, out);
    }

    pub(super) fn alter_configs(
        &mut self,
        caller: Caller,
        request: IncrementalAlterConfigsRequest,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let (resources, responses) = (request.resources, Vec::new());
        self.next_change(Alter { caller, resources, responses, step: Step::Read }, site, out);
    }

    fn next_change(&mut self, mut alter: Alter, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let Some((resource, _)) = alter.resources.first() else {
            let response = IncrementalAlterConfigsResponse { responses: alter.responses };
            return self.answer(alter.caller, response, out);
        };
        let mut reads = vec![self.zk.get_data(path_of(resource))];
        if let ConfigResource::Topic(topic) = resource {
            reads.push(self.zk.exists(znodes::topic(topic)));
        }
        alter.step = Step::Read;
        let number = self.errands.begin(Errand::Alter(alter));
        self.go(number, reads, site, out);
    }

    pub(super) fn altered(
        &mut self,
        number: u32,
        mut alter: Alter,
        replies: &Replies,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let (resource, changes) = alter.resources.first().expect("something changes").clone();
        let op = match std::mem::replace(&mut alter.step, Step::Note) {
            Step::Read => match change(&resource, &changes, replies, site.settings.release) {
                Err(refusal) => return self.change_done(alter, Some(refusal), site, out),
                Ok(config) if site.settings.release.config_writes_are_fenced() => {
                    alter.step = Step::Fence(config);
                    self.zk.get_data(znodes::controller())
                }
                Ok(config) => {
                    let op = set_config(path_of(&resource), &config, None);
                    alter.step = Step::Set(config);
                    op
                }
            },
            Step::Fence(config) => {
                let version = replies.last().and_then(data).map_or(-1, |(_, s)| s.version);
                let op = set_config(path_of(&resource), &config, Some(version));
                alter.step = Step::Set(config);
                op
            }
            Step::Set(config) => match written(&replies[0]) {
                Written::Missing => {
                    alter.step = Step::Create;
                    create(path_of(&resource), znodes::encode_config(&config))
                }
                Written::Refused => {
                    let refusal = Refusal::from(Error::NotController);
                    return self.change_done(alter, Some(refusal), site, out);
                }
                Written::Done => make_parent(&mut alter.step),
            },
            Step::Create => make_parent(&mut alter.step),
            Step::Parent => {
                let (kind, name) = resource.entity();
                let note = znodes::encode_config_change(site.settings.release, kind, &name);
                create_sequential(znodes::config_change_prefix(), note)
            }
            Step::Note => return self.change_done(alter, None, site, out),
        };
        self.go_on(number, Errand::Alter(alter), vec![op], site, out);
    }

    fn change_done(
        &mut self,
        mut alter: Alter,
        refusal: Option<Refusal>,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let (resource, _) = alter.resources.remove(0);
        alter.responses.push((resource, refusal));
        self.next_change(alter, site, out);
    }
}

fn is_topic(resource: &ConfigResource) -> bool {
    matches!(resource, ConfigResource::Topic(_))
}

fn make_parent(step: &mut Step) -> Op {
    *step = Step::Parent;
    create(znodes::config_changes(), Bytes::NULL)
}

fn path_of(resource: &ConfigResource) -> Path {
    let (kind, name) = resource.entity();
    kind.entity(&name)
}

/// A write of settings; if a data version of `/controller` is given, done only while that is it.
pub(super) fn set_config(path: Path, config: &Config, controller: Option<i32>) -> Op {
    let set = Op::SetData { path, data: znodes::encode_config(config), version: -1 };
    let Some(version) = controller else { return set };
    let check = Op::Check { path: znodes::controller(), version };
    Op::Multi([check, set].into())
}

/// What a write of settings came to.
pub(super) enum Written {
    /// It is done.
    Done,
    /// There is no znode yet.
    Missing,
    /// There is another controller.
    Refused,
}

/// What a write of settings came to.
pub(super) fn written(reply: &Reply) -> Written {
    let refusal = match reply {
        Ok(Answer::Results(_)) => parts(reply).err(),
        Ok(_) => None,
        Err(error) => Some((1, *error)),
    };
    match refusal {
        None => Written::Done,
        Some((1, ZkError::NoNode)) => Written::Missing,
        Some(_) => Written::Refused,
    }
}

/// The settings as they will be.
fn change(
    resource: &ConfigResource,
    changes: &ConfigChanges,
    replies: &Replies,
    release: Release,
) -> Result<Config, Refusal> {
    let mut config = found(&replies[0], znodes::decode_config).unwrap_or_default();
    for (name, op) in changes {
        match op {
            AlterConfigOp::Set(value) => drop(config.insert(name.clone(), value.clone())),
            AlterConfigOp::Delete => drop(config.remove(name)),
        }
    }
    let ConfigResource::Topic(topic) = resource else {
        return match check_broker_configs(&config, release) {
            Ok(()) => Ok(config),
            Err(words) => Err(refuse_broker_configs(resource, &words, release)),
        };
    };
    check_topic_configs(&config).map_err(|words| {
        let words = format!(
            "Invalid config value for resource ConfigResource(type=TOPIC, name='{topic}'): \
             {words}"
        );
        refused(Error::InvalidConfig, words)
    })?;
    if replies[1].is_err() {
        return Err(Refusal::from(Error::UnknownTopicOrPartition));
    }
    Ok(config)
}

/// Refuses what brokers cannot change while they run, or not so.
// Source: DynamicBrokerConfig.validateConfigs
fn check_broker_configs(config: &Config, release: Release) -> Result<(), String> {
    let fixed = |name: &str| Settings::names(release).contains(&name) && !is_dynamic(name);
    let fixed: Vec<&str> = config.keys().map(|name| &**name).filter(|name| fixed(name)).collect();
    if !fixed.is_empty() {
        return Err(format!("Cannot update these configs dynamically: Set({})", fixed.join(", ")));
    }
    let mut scratch = Settings::new(BrokerId(0), "", 0).of_release(release);
    let mut wrong =
        config.iter().filter_map(|(name, value)| wrong_value(name, value, &mut scratch));
    wrong.next().map_or(Ok(()), Err)
}

/// Why a broker cannot have this value, in Kafka's words: the same that its file cannot say.
// Source: KafkaConfig.configDef, KafkaConfig.validateValues
fn wrong_value(name: &str, value: &str, scratch: &mut Settings) -> Option<String> {
    let row = TOPIC_CONFIGS.iter().find(|(_, _, broker)| *broker == name);
    let (of_topic, kind) = row.map_or((name, Kind::Long), |(topic, kind, _)| (*topic, *kind));
    if (row.is_some() || name == CLEANER_BACKOFF.0)
        && let Some(wrong) = wrong_kind(kind, value)
    {
        return Some(format!("Invalid value {value} for configuration {name}: {wrong}"));
    }
    let wanted = scratch.set(name, value).err();
    if let (Some(_), Some(required)) = (&wanted, required(name)) {
        return Some(format!("requirement failed: {required}"));
    }
    out_of_range(of_topic, name, value).or_else(|| match wanted? {
        SettingError::Unknown(_) => None,
        SettingError::Value { wanted, .. } => {
            Some(format!("Invalid value {value} for configuration {name}: Value must be {wanted}"))
        }
    })
}

/// What is asked for beside the definition.
// Source: KafkaConfig.validateValues
fn required(name: &str) -> Option<&'static str> {
    match name {
        "log.retention.ms" => {
            Some("log.retention.ms must be unlimited (-1) or, equal or greater than 1")
        }
        "log.roll.ms" => Some("log.roll.ms must be greater than or equal to 1"),
        _ => None,
    }
}

// Source: AdminManager.alterConfigs (1.1), ConfigAdminManager.validateBrokerConfigChange (3.1)
fn refuse_broker_configs(resource: &ConfigResource, words: &str, release: Release) -> Refusal {
    if release.brokers_refuse_settings_plainly() {
        return refused(Error::InvalidRequest, words.to_owned());
    }
    let name = match resource {
        ConfigResource::Broker(id) => id.to_string(),
        _ => String::new(),
    };
    let head =
        format!("Invalid config value for resource ConfigResource(type=BROKER, name='{name}')");
    refused(Error::InvalidRequest, format!("{head}: {words}"))
}

/// Whether a broker takes another value of this setting while it runs.
// Source: DynamicBrokerConfig.AllDynamicConfigs, DynamicLogConfig, LogCleaner.ReconfigurableConfigs
pub fn is_dynamic(name: &str) -> bool {
    name == CLEANER_BACKOFF.0 || TOPIC_CONFIGS.iter().any(|(_, _, broker)| *broker == name)
}

/// What a topic's setting must be.
#[derive(Clone, Copy)]
enum Kind {
    Long,
    Int,
    Double,
    Boolean,
    Text,
}

/// The settings that a topic can have, and the broker's setting behind each.
// Source: LogConfig, TopicConfig (3.9)
const TOPIC_CONFIGS: &[(&str, Kind, &str)] = &[
    ("cleanup.policy", Kind::Text, "log.cleanup.policy"),
    ("compression.type", Kind::Text, "compression.type"),
    ("delete.retention.ms", Kind::Long, "log.cleaner.delete.retention.ms"),
    ("file.delete.delay.ms", Kind::Long, "log.segment.delete.delay.ms"),
    ("flush.messages", Kind::Long, "log.flush.interval.messages"),
    ("flush.ms", Kind::Long, "log.flush.interval.ms"),
    ("follower.replication.throttled.replicas", Kind::Text, ""),
    ("index.interval.bytes", Kind::Int, "log.index.interval.bytes"),
    ("leader.replication.throttled.replicas", Kind::Text, ""),
    ("max.compaction.lag.ms", Kind::Long, "log.cleaner.max.compaction.lag.ms"),
    ("max.message.bytes", Kind::Int, "message.max.bytes"),
    ("message.timestamp.type", Kind::Text, "log.message.timestamp.type"),
    ("min.cleanable.dirty.ratio", Kind::Double, "log.cleaner.min.cleanable.ratio"),
    ("min.compaction.lag.ms", Kind::Long, "log.cleaner.min.compaction.lag.ms"),
    ("min.insync.replicas", Kind::Int, "min.insync.replicas"),
    ("preallocate", Kind::Boolean, "log.preallocate"),
    ("retention.bytes", Kind::Long, "log.retention.bytes"),
    ("retention.ms", Kind::Long, "log.retention.ms"),
    ("segment.bytes", Kind::Int, "log.segment.bytes"),
    ("segment.index.bytes", Kind::Int, "log.index.size.max.bytes"),
    ("segment.jitter.ms", Kind::Long, "log.roll.jitter.ms"),
    ("segment.ms", Kind::Long, "log.roll.ms"),
    ("unclean.leader.election.enable", Kind::Boolean, "unclean.leader.election.enable"),
];

/// The least that some of them may be, and one of brokers alone.
// Source: LogConfig.CONFIG, CleanerConfig.CONFIG_DEF (3.9)
const LEAST: &[(&str, i64)] = &[
    ("delete.retention.ms", 0),
    ("file.delete.delay.ms", 0),
    ("index.interval.bytes", 0),
    (CLEANER_BACKOFF.0, 0),
    ("max.message.bytes", 0),
    ("min.insync.replicas", 1),
    ("retention.ms", -1),
    ("segment.bytes", 14),
    ("segment.ms", 1),
];

/// Whether a topic can have these settings; if not, why, in Kafka's words.
// Source: LogConfig.validate, ConfigDef.parseType
pub fn check_topic_configs(config: &Config) -> Result<(), String> {
    for (name, value) in config {
        let known = TOPIC_CONFIGS.iter().find(|(known, _, _)| *known == &**name);
        let Some((_, kind, _)) = known else {
            return Err(format!("Unknown topic config name: {name}"));
        };
        if let Some(wrong) = wrong_kind(*kind, value) {
            return Err(format!("Invalid value {value} for configuration {name}: {wrong}"));
        }
        if let Some(words) = out_of_range(name, name, value) {
            return Err(words);
        }
    }
    Ok(())
}

/// Why a value is none of that kind, if so.
// Source: ConfigDef.parseType
fn wrong_kind(kind: Kind, value: &str) -> Option<&'static str> {
    let (fits, wrong) = match kind {
        Kind::Long => (value.parse::<i64>().is_ok(), "Not a number of type LONG"),
        Kind::Int => (value.parse::<i32>().is_ok(), "Not a number of type INT"),
        Kind::Double => (is_decimal(value), "Not a number of type DOUBLE"),
        Kind::Boolean => {
            (value.parse::<bool>().is_ok(), "Expected value to be either true or false")
        }
        Kind::Text => (true, ""),
    };
    (!fits).then_some(wrong)
}

/// Why a setting of the right kind cannot be, if so: the rule is that of the topic's setting, the
/// name is as it is called here.
// Source: ConfigDef.Range, ConfigDef.ValidList
// Real: 0.8 names other reasons; here those of later releases hold for all.
fn out_of_range(of_topic: &str, name: &str, value: &str) -> Option<String> {
    let least = LEAST.iter().find(|(known, _)| *known == of_topic).map(|(_, least)| *least);
    let least = least.filter(|least| value.parse::<i64>().is_ok_and(|number| number < *least));
    let (value, wrong) = match of_topic {
        "cleanup.policy" => {
            let stranger = value.split(',').map(str::trim).find(|policy| !is_policy(policy))?;
            (stranger, "String must be one of: compact, delete".into())
        }
        "min.cleanable.dirty.ratio" if percent(value).is_none() => {
            (value, "Value must be no more than 1".into())
        }
        _ => (value, format!("Value must be at least {}", least?)),
    };
    Some(format!("Invalid value {value} for configuration {name}: {wrong}"))
}

fn is_decimal(text: &str) -> bool {
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    text.len() > text.matches('.').count() && digits(whole) && digits(rest)
}

/// What would be so if a setting were not set for the resource itself, and if that were not either.
// Real: every setting has a default; here those that brokers here have.
fn behind(
    resource: &ConfigResource,
    name: &Arc<str>,
    dynamic: &Dynamic,
    file: &Settings,
) -> Vec<(ConfigSource, Arc<str>, Arc<str>)> {
    let of_topic = TOPIC_CONFIGS.iter().find(|(known, _, _)| *known == &**name);
    let of_topic = of_topic.filter(|_| matches!(resource, ConfigResource::Topic(_)));
    let other = of_topic.map_or(name.clone(), |(_, _, behind)| (*behind).into());
    // What is set for a broker itself does not stand behind itself.
    let own = of_topic.and_then(|_| dynamic.own().get(&other).cloned());
    let of_all = dynamic.of_all().get(&other).cloned();
    let of_file = file.others.get(&other).cloned();
    let defaults = Settings::new(BrokerId(0), "", 0).of_release(file.release);
    let all = [
        (ConfigSource::DynamicBroker, own),
        (ConfigSource::DynamicDefaultBroker, of_all),
        (ConfigSource::StaticBroker, of_file),
        // What is null is not told.
        (ConfigSource::Default, defaults.value(&other).filter(|it| it != "null").map(Arc::from)),
    ];
    let set = all.into_iter().filter_map(|(source, value)| Some((source, value?)));
    set.map(|(source, value)| (source, other.clone(), value)).collect()
}

/// Defaults of topics' settings that brokers here do not know.
// Source: LogConfig.CONFIG (3.9), ServerTopicConfigSynonyms
const TOPIC_DEFAULTS: &[(&str, &str)] = &[
    ("compression.type", "producer"),
    ("flush.messages", "9223372036854775807"),
    ("flush.ms", "9223372036854775807"),
    ("follower.replication.throttled.replicas", ""),
    ("leader.replication.throttled.replicas", ""),
    ("max.compaction.lag.ms", "9223372036854775807"),
    ("message.timestamp.type", "CreateTime"),
    ("min.compaction.lag.ms", "0"),
    ("preallocate", "false"),
    ("retention.ms", "604800000"),
    ("segment.index.bytes", "10485760"),
    ("segment.jitter.ms", "0"),
    ("segment.ms", "604800000"),
];

/// Those of them whose broker's setting has no default of its own.
const OF_NOBODY: &[&str] = &[
    "flush.ms",
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "retention.ms",
    "segment.jitter.ms",
    "segment.ms",
];

/// Adds what is not set for a resource.
// Source: ConfigHelper.createTopicConfigEntry, createBrokerConfigEntry
fn add_defaults(
    resource: &ConfigResource,
    dynamic: &Dynamic,
    file: &Settings,
    entries: &mut Vec<ConfigEntry>,
) {
    let names: Vec<&str> = match resource {
        ConfigResource::Topic(_) => TOPIC_CONFIGS.iter().map(|(name, _, _)| *name).collect(),
        ConfigResource::Broker(_) => Settings::names(file.release),
        ConfigResource::AllBrokers => return,
    };
    for name in names {
        if entries.iter().any(|entry| *entry.name == *name) {
            continue;
        }
        let mut synonyms = behind(resource, &name.into(), dynamic, file);
        let default = TOPIC_DEFAULTS.iter().find(|(known, _)| *known == name);
        let other = TOPIC_CONFIGS.iter().find(|(known, _, _)| *known == name);
        if let (Some((_, value)), Some((_, _, other)), true) = (default, other, synonyms.is_empty())
            && !OF_NOBODY.contains(&name)
        {
            synonyms.push((ConfigSource::Default, (*other).into(), (*value).into()));
        }
        let first = synonyms.first().map(|(source, _, value)| (*source, value.clone()));
        let (config_source, value) = first.unwrap_or_else(|| {
            let value = default.map_or("null", |(_, value)| *value);
            (ConfigSource::Default, value.into())
        });
        entries.push(ConfigEntry { name: name.into(), value, config_source, synonyms });
    }
    sort::by(entries, |left, right| left.name.cmp(&right.name));
}

/// The settings that are not the defaults, with where they come from.
fn entries(
    resource: &ConfigResource,
    own: &Config,
    dynamic: &Dynamic,
    file: &Settings,
) -> Vec<ConfigEntry> {
    let source = match resource {
        ConfigResource::Topic(_) => ConfigSource::DynamicTopic,
        ConfigResource::Broker(_) => ConfigSource::DynamicBroker,
        ConfigResource::AllBrokers => ConfigSource::DynamicDefaultBroker,
    };
    let entry = |(name, value): (&Arc<str>, &Arc<str>)| {
        let mut synonyms = vec![(source, name.clone(), value.clone())];
        // Source: ConfigHelper.createBrokerConfigEntry
        if *resource != ConfigResource::AllBrokers {
            synonyms.extend(behind(resource, name, dynamic, file));
        }
        let (name, value, config_source) = (name.clone(), value.clone(), source);
        ConfigEntry { name, value, config_source, synonyms }
    };
    let mut entries: Vec<ConfigEntry> = own.iter().map(entry).collect();
    if let ConfigResource::Topic(_) = resource {
        for (name, _, behind) in TOPIC_CONFIGS {
            let set = [
                (ConfigSource::DynamicBroker, dynamic.own()),
                (ConfigSource::DynamicDefaultBroker, dynamic.of_all()),
                (ConfigSource::StaticBroker, &file.others),
            ];
            let mut set = set.into_iter();
            let found = set.find_map(|(source, of)| Some((source, of.get(*behind)?.clone())));
            if let Some((source, value)) = found
                && !own.contains_key(*name)
            {
                entries.push(ConfigEntry {
                    name: (*name).into(),
                    value: value.clone(),
                    config_source: source,
                    synonyms: vec![(source, (*behind).into(), value)],
                });
            }
        }
    }
    sort::by(&mut entries, |left, right| left.name.cmp(&right.name));
    entries
}
