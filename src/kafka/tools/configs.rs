//! `kafka-configs`: alters and describes what topics and brokers have set in ZooKeeper, by asking
//! brokers or by writing and reading it there.
//!
//! Source: ConfigCommand (3.9).
//!
//! *Invariant: what a broker refuses is shown as the exception that it was.*

use std::sync::Arc;

use super::admin::{Admin, Failure, Halt, Told, accepted, answer, ended};
use super::dialogue::Next;
use super::exception::Exception;
use super::topics_in_zookeeper::children_of;
use super::{Arguments, Door, Printed, Usage};
use crate::kafka::admin::{
    AlterConfigOp, ConfigEntry, ConfigResource, ConfigSource, DescribeConfigsRequest,
    IncrementalAlterConfigsRequest, WhichConfigs,
};
use crate::kafka::broker::check_topic_configs;
use crate::kafka::id::{BrokerId, TopicName};
use crate::kafka::java_hash::{self, Filling};
use crate::kafka::message::Response;
use crate::kafka::release::Release;
use crate::kafka::znodes::{self, Config, ConfigType};
use crate::kafka::zookeeper::{create, create_sequential, found};
use crate::sim::sort;
use crate::zk::reply::Error as ZkError;
use crate::zk::request::Op;
use crate::zk::stat::Bytes;

/// Settings by their names.
type Pairs = Vec<(Arc<str>, Arc<str>)>;

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Configs {
    action: Action,
    entity: Entity,
    set: Pairs,
    delete: Vec<Arc<str>>,
    /// Its words, for the text of a failure.
    shown: Arc<str>,
    /// Where it is told to ask.
    door: Door,
}

/// Whose settings are meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Entity {
    One(ConfigResource),
    EachTopic,
    EachBroker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    Alter,
    Describe,
    /// With what is set nowhere.
    DescribeAll,
}

impl Configs {
    /// Reads the command line, of which `shown` are the words.
    pub(super) fn read(
        arguments: &mut Arguments,
        shown: &str,
        door: Door,
    ) -> Result<Configs, Usage> {
        let actions = [("--alter", Action::Alter), ("--describe", Action::Describe)];
        let mut action = arguments.one_of(&actions)?;
        if action == Action::Describe && arguments.switch("--all") {
            action = Action::DescribeAll;
        }
        let entity = entity(action, arguments)?;
        let set = added(&arguments.value("--add-config").unwrap_or_default())?;
        let delete = arguments.value("--delete-config").unwrap_or_default();
        let delete: Vec<Arc<str>> =
            delete.split(',').filter(|name| !name.is_empty()).map(Arc::from).collect();
        arguments.finish()?;
        if action == Action::Alter && set.is_empty() && delete.is_empty() {
            return Err(Usage::lacks("--add-config NAME=VALUE or --delete-config NAME"));
        }
        Ok(Configs { action, entity, set, delete, shown: shown.into(), door })
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<Printed, Next> {
        let release = admin.release();
        let in_zookeeper = self.are_in_zookeeper(release);
        let mut printed = match in_zookeeper && release.configs_tool_is_sent_to_brokers() {
            true => DEPRECATED.to_owned(),
            false => String::new(),
        };
        let done = match (self.action, &self.entity) {
            (Action::Alter, Entity::One(one)) if in_zookeeper => self
                .alter_in_zookeeper(one, admin)
                .map(|()| printed.push_str(&done_in_zookeeper(one, release))),
            (Action::Alter, Entity::One(one)) => {
                self.alter(one, admin).map(|()| printed.push_str(&done(one, release)))
            }
            (Action::Alter, _) => unreachable!("it was read with a name"),
            (Action::Describe | Action::DescribeAll, _) => self.describe(admin, &mut printed),
        };
        let before = printed.clone();
        ended(done.map(|()| printed), &|why| {
            let words = before.clone() + &self.failed(why, admin);
            match release.configs_tool_says_what_is_wrong() {
                true => Printed::failed(words),
                false => Printed::done(words),
            }
        })
    }

    /// Whether the tool writes these settings itself, up to 2.8, where it is sent there; who does
    /// not say where to ask means ZooKeeper to 1.1, for topics to 2.3.
    pub(super) fn are_in_zookeeper(&self, release: Release) -> bool {
        match self.is_of_topics() {
            true => {
                let told = self.door == Door::Zookeeper && release.tools_know_zookeeper();
                told || release.topics_are_configured_in_zookeeper()
            }
            false => match self.door {
                Door::Brokers => !release.brokers_are_configured_by_themselves(),
                Door::Zookeeper => release.tools_know_zookeeper(),
                Door::Untold => release.topics_are_made_in_zookeeper(),
            },
        }
    }

    /// The option that a tool of that release does not know yet, if so.
    // Source: KIP-524 (2.5)
    pub(super) fn too_new(&self, release: Release) -> Option<&'static str> {
        let all = self.action == Action::DescribeAll;
        (all && !release.configs_tool_is_sent_to_brokers()).then_some("all")
    }

    fn is_of_topics(&self) -> bool {
        matches!(self.entity, Entity::EachTopic | Entity::One(ConfigResource::Topic(_)))
    }

    /// What is said where a tool of that release changes topics in ZooKeeper only, and is sent to
    /// brokers.
    // Source: ConfigCommand.processBrokerConfig (1.1)
    pub(super) fn wants_zookeeper(&self, release: Release) -> Option<&'static str> {
        let wants = self.is_of_topics() && release.topics_are_configured_in_zookeeper();
        let knows = release.brokers_are_configured_by_themselves();
        (wants && knows && self.door == Door::Brokers)
            .then_some("--zookeeper option must be specified for entity-type Buffer(topics)\n")
    }

    fn describe(&self, admin: &mut Admin<'_>, printed: &mut String) -> Told<()> {
        for resource in self.resources(admin)? {
            match self.are_in_zookeeper(admin.release()) {
                true => printed.push_str(&describe_from_zookeeper(&resource, admin)?),
                false => describe(&resource, self.action, admin, printed)?,
            }
        }
        Ok(())
    }

    /// All that is meant.
    // Source: ConfigCommand.describeResourceConfig (2.5), ConfigEntity.getAllEntities (2.3)
    fn resources(&self, admin: &mut Admin<'_>) -> Told<Vec<ConfigResource>> {
        let release = admin.release();
        Ok(match &self.entity {
            Entity::One(resource) => vec![resource.clone()],
            Entity::EachTopic if self.are_in_zookeeper(release) => {
                let names = children_of(ConfigType::Topics.path(), admin)?;
                names.iter().map(|name| ConfigResource::Topic((&**name).into())).collect()
            }
            Entity::EachTopic => {
                let mut names: Vec<TopicName> =
                    admin.metadata(None)?.into_iter().map(|topic| topic.name).collect();
                java_hash::in_table_order(&mut names, Filling::Full, |name| {
                    java_hash::hash(name.as_str())
                });
                names.into_iter().map(ConfigResource::Topic).collect()
            }
            Entity::EachBroker if !release.configs_tool_is_sent_to_brokers() => {
                return Err(plain(
                    "At least one of --entity-name or --entity-default must be specified with \
                     --bootstrap-server",
                ));
            }
            Entity::EachBroker => {
                admin.metadata(Some(Vec::new()))?;
                let mut ids: Vec<BrokerId> = admin.brokers().iter().map(|one| one.id).collect();
                sort::sort(&mut ids);
                let each = ids.into_iter().map(ConfigResource::Broker);
                each.chain([ConfigResource::AllBrokers]).collect()
            }
        })
    }

    fn alter(&self, resource: &ConfigResource, admin: &mut Admin<'_>) -> Told<()> {
        self.check_deleted(resource, admin)?;
        let set = self.set.iter().map(|(name, value)| (name, AlterConfigOp::Set(value.clone())));
        let delete = self.delete.iter().map(|name| (name, AlterConfigOp::Delete));
        let ops = set.chain(delete).map(|(name, op)| (name.clone(), op)).collect();
        let resources = vec![(resource.clone(), ops)];
        let request = IncrementalAlterConfigsRequest { resources };
        let answer = to(admin, resource, "incrementalAlterConfigs", request.into())?;
        let responses = answer!(answer, IncrementalAlterConfigs).responses;
        accepted(responses.into_iter().find_map(|(_, refusal)| refusal))
    }

    /// What is to be deleted must be set.
    fn check_deleted(&self, resource: &ConfigResource, admin: &mut Admin<'_>) -> Told<()> {
        let set = entries(resource, WhichConfigs::Set, admin)?;
        let is_set = |name: &Arc<str>| set.iter().any(|entry| entry.name == *name);
        self.refuse_missing(is_set)
    }

    fn refuse_missing(&self, is_set: impl Fn(&Arc<str>) -> bool) -> Told<()> {
        let missing: Vec<&str> =
            self.delete.iter().filter(|name| !is_set(name)).map(|name| &**name).collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(plain(&format!("Invalid config(s): {}", missing.join(",")))),
        }
    }

    // Source: ConfigCommand.alterConfig, AdminZkClient.changeTopicConfig (2.3)
    fn alter_in_zookeeper(&self, resource: &ConfigResource, admin: &mut Admin<'_>) -> Told<()> {
        let (kind, name) = resource.entity();
        let path = kind.entity(&name);
        let read = Op::GetData { path: path.clone(), watch: false };
        let reply = admin.in_zookeeper(vec![read])?;
        let mut config = found(&reply[0], znodes::decode_config).unwrap_or_default();
        self.refuse_missing(|name| config.contains_key(name))?;
        config.extend(self.set.iter().cloned());
        self.delete.iter().for_each(|key| drop(config.remove(key)));
        check(resource, &config, admin)?;
        let data = znodes::encode_config(&config);
        let set = Op::SetData { path: path.clone(), data: data.clone(), version: -1 };
        if admin.in_zookeeper(vec![set])?[0] == Err(ZkError::NoNode) {
            admin.in_zookeeper(vec![create(path, data)])?;
        }
        admin.in_zookeeper(vec![create(znodes::config_changes(), Bytes::NULL)])?;
        let note = znodes::encode_config_change(admin.release(), kind, &name);
        admin.in_zookeeper(vec![create_sequential(znodes::config_change_prefix(), note)])?;
        Ok(())
    }

    // Source: ConfigCommand.main (0.10.2), (1.1)
    // Real: the tool of 0.10 logs the frames of the stack, too.
    fn failed(&self, why: &Failure, admin: &Admin<'_>) -> String {
        let head = "Error while executing config command";
        if !admin.release().configs_tool_says_what_is_wrong() {
            return format!("{head} {}\n", why.message);
        }
        if why.exception == Exception::Unthrown {
            return format!("{}\n", why.message);
        }
        let cause = why.thrown(admin.release());
        let in_zookeeper = self.are_in_zookeeper(admin.release());
        // Who is not told where to ask is given the option.
        let door = match self.door {
            Door::Untold if in_zookeeper => format!("--zookeeper {} ", admin.zookeeper_connect()),
            Door::Untold => format!("--bootstrap-server {} ", admin.bootstrap_shown()),
            Door::Brokers | Door::Zookeeper => String::new(),
        };
        let head = format!("{head} with args '{door}{}'", self.shown);
        if in_zookeeper {
            return format!("{head}\n{cause}\n");
        }
        let thrown = format!("java.util.concurrent.ExecutionException: {cause}");
        format!("{head}\n{thrown}\nCaused by: {cause}\n")
    }
}

/// The settings of `--add-config`; a list that is one value stands in brackets.
// Source: ConfigCommand.parseConfigsToBeAdded: "all configs to be added must be in the format
// \"key=val\""
fn added(text: &str) -> Result<Pairs, Usage> {
    let mut depth = 0i32;
    let mut set = Vec::new();
    let parts = text.split(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth <= 0
    });
    for pair in parts.filter(|pair| !pair.is_empty()) {
        let wanted = || Usage::is_not(pair, "settings like retention.ms=1000,segment.bytes=100");
        let (name, value) = pair.split_once('=').ok_or_else(wanted)?;
        set.push((name.trim().into(), value.replace(['[', ']'], "").trim().into()));
    }
    Ok(set)
}

/// What a tool says that is sent to ZooKeeper though it need not be.
// Source: ConfigCommandOptions.checkArgs (2.5)
const DEPRECATED: &str = "Warning: --zookeeper is deprecated and will be removed in a future version \
    of Kafka.\nUse --bootstrap-server instead to specify a broker to connect to.\n";

/// A refusal of the tool's own, which it tells plainly.
fn plain(words: &str) -> Halt {
    Failure::new(Exception::Unthrown, words.to_owned()).into()
}

/// Whose settings a command line means; later tools have shorter words for it.
// Source: ConfigCommandOptions (KIP-543, 2.5)
fn entity(action: Action, arguments: &mut Arguments) -> Result<Entity, Usage> {
    let topic = arguments.value("--topic").map(|name| ("topics", Whom::One(name)));
    let broker = arguments.value("--broker").map(|id| ("brokers", Whom::One(id)));
    let defaults = arguments.switch("--broker-defaults").then_some(("brokers", Whom::Default));
    if let Some((kind, whom)) = topic.or(broker).or(defaults) {
        return named(kind, whom, action);
    }
    let kind = arguments.value("--entity-type").unwrap_or_default();
    let name = arguments.value("--entity-name");
    let whom = match (name, arguments.switch("--entity-default")) {
        (Some(_), true) => return Err(Usage::lacks(WANTED)),
        (Some(name), false) => Whom::One(name),
        (None, true) => Whom::Default,
        (None, false) => Whom::Each,
    };
    named(&kind, whom, action)
}

/// Who is meant of a kind.
enum Whom {
    One(String),
    Default,
    Each,
}

const WANTED: &str = "--entity-name NAME, or for brokers --entity-default";

fn named(kind: &str, whom: Whom, action: Action) -> Result<Entity, Usage> {
    let describes = action != Action::Alter;
    Ok(match (kind, whom) {
        ("topics", Whom::One(name)) => Entity::One(ConfigResource::Topic(name.into())),
        ("brokers", Whom::One(id)) => {
            let wanted = || Usage::is_not(&id, "the id of a broker");
            let id = BrokerId(id.parse().map_err(|_| wanted())?);
            Entity::One(ConfigResource::Broker(id))
        }
        ("brokers", Whom::Default) => Entity::One(ConfigResource::AllBrokers),
        ("topics", Whom::Each) if describes => Entity::EachTopic,
        ("brokers", Whom::Each) if describes => Entity::EachBroker,
        ("topics" | "brokers", _) => return Err(Usage::lacks(WANTED)),
        ("", _) => return Err(Usage::lacks("--entity-type topics|brokers")),
        (other, _) => return Err(Usage::is_not(other, "topics or brokers")),
    })
}

/// A resource as the tool names it where it looks in ZooKeeper.
// Source: ConfigCommand.Entity.toString (0.10.2, 2.3)
fn in_words(resource: &ConfigResource) -> String {
    match resource {
        ConfigResource::Topic(name) => format!("topic '{name}'"),
        ConfigResource::Broker(id) => format!("brokers '{id}'"),
        ConfigResource::AllBrokers => "default brokers".to_owned(),
    }
}

// Source: ConfigCommand.describeConfig (2.3)
fn describe_from_zookeeper(resource: &ConfigResource, admin: &mut Admin<'_>) -> Told<String> {
    let (kind, name) = resource.entity();
    let read = Op::GetData { path: kind.entity(&name), watch: false };
    let reply = admin.in_zookeeper(vec![read])?;
    let config = found(&reply[0], znodes::decode_config).unwrap_or_default();
    let mut config: Vec<(Arc<str>, Arc<str>)> = config.into_iter().collect();
    java_hash::in_table_order(&mut config, Filling::Early, |(name, _)| java_hash::hash(name));
    let pairs: Vec<String> = config.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(format!("Configs for {} are {}\n", in_words(resource), pairs.join(",")))
}

// Source: ConfigCommand.describeResourceConfig (3.9), describeBrokerConfig (1.1)
fn describe(
    resource: &ConfigResource,
    action: Action,
    admin: &mut Admin<'_>,
    printed: &mut String,
) -> Told<()> {
    let new = admin.release().configs_tool_is_sent_to_brokers();
    let all = action == Action::DescribeAll;
    let (which, what) =
        if all { (WhichConfigs::All, "All") } else { (WhichConfigs::Set, "Dynamic") };
    let head = match resource {
        ConfigResource::Topic(name) => format!("{what} configs for topic {name} are:\n"),
        ConfigResource::Broker(id) if new => format!("{what} configs for broker {id} are:\n"),
        ConfigResource::Broker(id) => format!("Configs for broker {id} are:\n"),
        ConfigResource::AllBrokers => {
            let plural = if new { "s" } else { "" };
            format!("Default config{plural} for brokers in the cluster are:\n")
        }
    };
    // Later tools print the head before they ask.
    if new {
        printed.push_str(&head);
    }
    let set = entries(resource, which, admin)?;
    if !new {
        printed.push_str(&head);
    }
    for entry in set {
        let of = |(source, name, value): &(ConfigSource, Arc<str>, Arc<str>)| {
            format!("{}:{name}={value}", source.name())
        };
        let synonyms: Vec<String> = entry.synonyms.iter().map(of).collect();
        printed.push_str(&format!(
            "  {}={} sensitive=false synonyms={{{}}}\n",
            entry.name,
            entry.value,
            synonyms.join(", ")
        ));
    }
    Ok(())
}

/// What is set for the resource itself, or all that it has.
fn entries(
    resource: &ConfigResource,
    which: WhichConfigs,
    admin: &mut Admin<'_>,
) -> Told<Vec<ConfigEntry>> {
    let own = match resource {
        ConfigResource::Topic(_) => ConfigSource::DynamicTopic,
        ConfigResource::Broker(_) => ConfigSource::DynamicBroker,
        ConfigResource::AllBrokers => ConfigSource::DynamicDefaultBroker,
    };
    let request = DescribeConfigsRequest { resources: vec![resource.clone()], which };
    let answer = to(admin, resource, "describeConfigs", request.into())?;
    let mut entries = match answer!(answer, DescribeConfigs).results.pop() {
        Some((_, Ok(entries))) => entries,
        Some((_, Err(why))) => return Err(Failure::from(why).into()),
        None => Vec::new(),
    };
    if which == WhichConfigs::Set {
        entries.retain(|entry| entry.config_source == own);
    }
    Ok(entries)
}

/// Whether a tool that writes to ZooKeeper may write that.
// Source: AdminUtils.changeTopicConfig, changeBrokerConfig; DynamicConfig.Broker (0.10.2)
fn check(resource: &ConfigResource, config: &Config, admin: &mut Admin<'_>) -> Told<()> {
    let ConfigResource::Topic(topic) = resource else {
        let release = admin.release();
        let rates = ["leader.replication.throttled.rate", "follower.replication.throttled.rate"];
        let unknown: Vec<&str> =
            config.keys().map(|name| &**name).filter(|name| !rates.contains(name)).collect();
        let set = format!("Set({}).", unknown.join(", "));
        return match () {
            () if unknown.is_empty() => Ok(()),
            () if !release.brokers_are_configured_by_themselves() => {
                Err(plain(&format!("requirement failed: Unknown Dynamic Configuration: {set}")))
            }
            // Source: KAFKA-6805 (2.0)
            () if release.topics_are_made_in_zookeeper() => Ok(()),
            () => refuse_of_running(resource, &set, admin),
        };
    };
    let look = Op::Exists { path: znodes::topic(topic), watch: false };
    if admin.in_zookeeper(vec![look])?[0].is_err() {
        let message = format!("Topic \"{topic}\" does not exist.");
        return Err(Failure::new(Exception::AdminOperation, message).into());
    }
    check_topic_configs(config).map_err(|words| Halt::from(Failure::new(Exception::Config, words)))
}

/// Brokers that run are not configured behind their backs.
// Source: ConfigCommand.alterConfig (2.3)
fn refuse_of_running(resource: &ConfigResource, set: &str, admin: &mut Admin<'_>) -> Told<()> {
    let live = children_of(znodes::broker_ids(), admin)?;
    let running = match resource {
        ConfigResource::Broker(id) if live.iter().any(|one| **one == *id.to_string()) => {
            format!("when broker {id} is running")
        }
        ConfigResource::AllBrokers if !live.is_empty() => {
            "for default cluster if any broker is running".to_owned()
        }
        _ => return Ok(()),
    };
    Err(plain(&format!(
        "requirement failed: --bootstrap-server option must be specified to update broker configs \
         {set} {running}. Broker configuraton updates using ZooKeeper are supported for \
         bootstrapping before brokers are started to enable encrypted password configs to be \
         stored in ZooKeeper."
    )))
}

// Source: ConfigCommand.alterConfigWithZk (2.3), (2.5)
fn done_in_zookeeper(resource: &ConfigResource, release: Release) -> String {
    let updating = if release.configs_tool_is_sent_to_brokers() { "updating" } else { "Updating" };
    format!("Completed {updating} config for entity: {}.\n", in_words(resource))
}

// Source: ConfigCommand (2.3), (2.4)
fn done(resource: &ConfigResource, release: Release) -> String {
    let (colon, end) =
        if release.configs_tool_is_sent_to_brokers() { ("", ".") } else { (":", ",") };
    match resource {
        ConfigResource::Topic(name) => format!("Completed updating config for topic {name}.\n"),
        ConfigResource::Broker(id) => {
            format!("Completed updating config for broker{colon} {id}.\n")
        }
        ConfigResource::AllBrokers => {
            format!("Completed updating default config for brokers in the cluster{end}\n")
        }
    }
}

/// A broker's settings are that broker's affair, all others anybody's.
// Source: KafkaAdminClient.nodeFor
fn to(
    admin: &mut Admin<'_>,
    resource: &ConfigResource,
    call: &str,
    request: crate::kafka::message::Request,
) -> Told<Response> {
    match resource {
        ConfigResource::Broker(id) => admin.broker(call, *id, request),
        _ => admin.some(call, request),
    }
}
