//! `kafka-configs`: alters and describes what topics and brokers have set in ZooKeeper, by asking
//! brokers or by writing and reading it there.
//!
//! Source: ConfigCommand (3.9).
//!
//! *Invariant: what a broker refuses is shown as the exception that it was.*

use std::sync::Arc;

use super::admin::{Admin, Failure, Halt, Told, accepted, answer};
use super::dialogue::Next;
use super::exception::Exception;
use super::{Arguments, Usage};
use crate::kafka::admin::{
    AlterConfigOp, ConfigEntry, ConfigResource, ConfigSource, DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
};
use crate::kafka::broker::check_topic_configs;
use crate::kafka::error::Error;
use crate::kafka::id::BrokerId;
use crate::kafka::message::Response;
use crate::kafka::release::Release;
use crate::kafka::znodes;
use crate::kafka::zookeeper::{create, create_sequential, found};
use crate::zk::reply::Error as ZkError;
use crate::zk::request::Op;
use crate::zk::stat::Bytes;

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Configs {
    action: Action,
    resource: ConfigResource,
    set: Vec<(Arc<str>, Arc<str>)>,
    delete: Vec<Arc<str>>,
    /// Its words, for the text of a failure.
    shown: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    Alter,
    Describe,
}

impl Configs {
    /// Reads the command line, of which `shown` are the words.
    pub fn read(arguments: &mut Arguments, shown: &str) -> Result<Configs, Usage> {
        let actions = [("--alter", Action::Alter), ("--describe", Action::Describe)];
        let action = arguments.one_of(&actions)?;
        let kind = arguments.value("--entity-type").unwrap_or_default();
        let name = arguments.value("--entity-name");
        let default = arguments.switch("--entity-default");
        let resource = match (kind.as_str(), name, default) {
            ("topics", Some(name), false) => ConfigResource::Topic(name.into()),
            ("brokers", Some(id), false) => {
                let wanted = || Usage::is_not(&id, "the id of a broker");
                ConfigResource::Broker(BrokerId(id.parse().map_err(|_| wanted())?))
            }
            ("brokers", None, true) => ConfigResource::AllBrokers,
            ("topics" | "brokers", ..) => {
                return Err(Usage::lacks("--entity-name NAME, or for brokers --entity-default"));
            }
            ("", ..) => return Err(Usage::lacks("--entity-type topics|brokers")),
            _ => return Err(Usage::is_not(&kind, "topics or brokers")),
        };
        let mut set = Vec::new();
        // Source: ConfigCommand.parseConfigsToBeAdded: "all configs to be added must be in the
        // format \"key=val\""
        let added = arguments.value("--add-config").unwrap_or_default();
        for pair in added.split(',').filter(|pair| !pair.is_empty()) {
            let wanted =
                || Usage::is_not(pair, "settings like retention.ms=1000,segment.bytes=100");
            let (name, value) = pair.split_once('=').ok_or_else(wanted)?;
            set.push((name.into(), value.into()));
        }
        let delete = arguments.value("--delete-config").unwrap_or_default();
        let delete: Vec<Arc<str>> =
            delete.split(',').filter(|name| !name.is_empty()).map(Arc::from).collect();
        arguments.finish()?;
        if action == Action::Alter && set.is_empty() && delete.is_empty() {
            return Err(Usage::lacks("--add-config NAME=VALUE or --delete-config NAME"));
        }
        Ok(Configs { action, resource, set, delete, shown: shown.into() })
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<String, Next> {
        let release = admin.release();
        let done = match (self.action, self.are_in_zookeeper(release)) {
            (Action::Alter, true) => self.alter_in_zookeeper(admin).map(|()| self.done(release)),
            (Action::Alter, false) => self.alter(admin).map(|()| self.done(release)),
            (Action::Describe, true) => self.describe_from_zookeeper(admin),
            (Action::Describe, false) => self.describe(admin),
        };
        match done {
            Ok(printed) => Ok(printed),
            Err(Halt::Waits(next)) => Err(next),
            Err(Halt::Failed(why)) => Ok(self.failed(&why, admin)),
        }
    }

    /// Whether the tool writes these settings itself.
    pub(super) fn are_in_zookeeper(&self, release: Release) -> bool {
        match self.resource {
            ConfigResource::Topic(_) => release.topics_are_configured_in_zookeeper(),
            _ => !release.brokers_are_configured_by_themselves(),
        }
    }

    // Source: ConfigCommand.describeConfig (2.3)
    fn describe_from_zookeeper(&self, admin: &mut Admin<'_>) -> Told<String> {
        let (kind, name) = self.resource.entity();
        let read = Op::GetData { path: kind.entity(&name), watch: false };
        let reply = admin.in_zookeeper(vec![read])?;
        let config = found(&reply[0], znodes::decode_config).unwrap_or_default();
        let pairs: Vec<String> =
            config.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let kind = kind.name().trim_end_matches('s');
        Ok(format!("Configs for {kind} '{name}' are {}\n", pairs.join(",")))
    }

    // Source: ConfigCommand.describeResourceConfig (3.9), describeBrokerConfig (1.1)
    fn describe(&self, admin: &mut Admin<'_>) -> Told<String> {
        let new = admin.release().tools_tell_what_is_created();
        let mut printed = match &self.resource {
            ConfigResource::Topic(name) => format!("Dynamic configs for topic {name} are:\n"),
            ConfigResource::Broker(id) if new => {
                format!("Dynamic configs for broker {id} are:\n")
            }
            ConfigResource::Broker(id) => format!("Configs for broker {id} are:\n"),
            ConfigResource::AllBrokers => {
                let plural = if new { "s" } else { "" };
                format!("Default config{plural} for brokers in the cluster are:\n")
            }
        };
        // The head is printed before anybody is asked.
        let set = match self.entries(admin) {
            Err(Halt::Failed(why)) if new => {
                return Ok(printed + &self.failed(&why, admin));
            }
            other => other?,
        };
        let own = self.own_source();
        for entry in set.iter().filter(|entry| entry.config_source == own) {
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
        Ok(printed)
    }

    /// Where what is set for the resource itself comes from.
    fn own_source(&self) -> ConfigSource {
        match self.resource {
            ConfigResource::Topic(_) => ConfigSource::DynamicTopic,
            ConfigResource::Broker(_) => ConfigSource::DynamicBroker,
            ConfigResource::AllBrokers => ConfigSource::DynamicDefaultBroker,
        }
    }

    fn entries(&self, admin: &mut Admin<'_>) -> Told<Vec<ConfigEntry>> {
        let request = DescribeConfigsRequest { resources: vec![self.resource.clone()] };
        let answer = to(admin, &self.resource, "describeConfigs", request.into())?;
        match answer!(answer, DescribeConfigs).results.pop() {
            Some((_, Ok(entries))) => Ok(entries),
            Some((_, Err(why))) => Err(Failure::from(why).into()),
            None => Ok(Vec::new()),
        }
    }

    // Source: ConfigCommand.alterConfig, AdminZkClient.changeTopicConfig (2.3)
    fn alter_in_zookeeper(&self, admin: &mut Admin<'_>) -> Told<()> {
        let (kind, name) = self.resource.entity();
        let path = kind.entity(&name);
        let read = Op::GetData { path: path.clone(), watch: false };
        let reply = admin.in_zookeeper(vec![read])?;
        let mut config = found(&reply[0], znodes::decode_config).unwrap_or_default();
        let missing: Vec<&str> =
            self.delete.iter().filter(|key| !config.contains_key(*key)).map(|key| &**key).collect();
        if !missing.is_empty() {
            let message = format!("Invalid config(s): {}", missing.join(","));
            return Err(Failure::new(INVALID_CONFIG, message).into());
        }
        config.extend(self.set.iter().cloned());
        self.delete.iter().for_each(|key| drop(config.remove(key)));
        if let ConfigResource::Topic(topic) = &self.resource {
            let look = Op::Exists { path: znodes::topic(topic), watch: false };
            if admin.in_zookeeper(vec![look])?[0].is_err() {
                let message = format!("Topic \"{topic}\" does not exist.");
                return Err(Failure::new(Exception::AdminOperation, message).into());
            }
            check_topic_configs(&config)
                .map_err(|words| Halt::from(Failure::new(Exception::Config, words)))?;
        }
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

    fn alter(&self, admin: &mut Admin<'_>) -> Told<()> {
        self.check_deleted(admin)?;
        let set = self.set.iter().map(|(name, value)| (name, AlterConfigOp::Set(value.clone())));
        let delete = self.delete.iter().map(|name| (name, AlterConfigOp::Delete));
        let ops = set.chain(delete).map(|(name, op)| (name.clone(), op)).collect();
        let resources = vec![(self.resource.clone(), ops)];
        let request = IncrementalAlterConfigsRequest { resources };
        let answer = to(admin, &self.resource, "incrementalAlterConfigs", request.into())?;
        let responses = answer!(answer, IncrementalAlterConfigs).responses;
        accepted(responses.into_iter().find_map(|(_, refusal)| refusal))
    }

    /// What is to be deleted must be set.
    fn check_deleted(&self, admin: &mut Admin<'_>) -> Told<()> {
        let set = self.entries(admin)?;
        let own = self.own_source();
        let is_set = |name: &&Arc<str>| {
            set.iter().any(|entry| entry.name == **name && entry.config_source == own)
        };
        let missing: Vec<&str> =
            self.delete.iter().filter(|name| !is_set(name)).map(|name| &**name).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let message = format!("Invalid config(s): {}", missing.join(","));
        Err(Failure::new(INVALID_CONFIG, message).into())
    }

    // Source: ConfigCommand (2.3), (2.4)
    fn done(&self, release: Release) -> String {
        let (colon, end) =
            if release.tools_tell_what_is_created() { ("", ".") } else { (":", ",") };
        match &self.resource {
            _ if self.are_in_zookeeper(release) => {
                let (kind, name) = self.resource.entity();
                let kind = kind.name().trim_end_matches('s');
                format!("Completed Updating config for entity: {kind} '{name}'.\n")
            }
            ConfigResource::Topic(name) => format!("Completed updating config for topic {name}.\n"),
            ConfigResource::Broker(id) => {
                format!("Completed updating config for broker{colon} {id}.\n")
            }
            ConfigResource::AllBrokers => {
                format!("Completed updating default config for brokers in the cluster{end}\n")
            }
        }
    }

    fn failed(&self, why: &Failure, admin: &Admin<'_>) -> String {
        let head = "Error while executing config command with args";
        let cause = why.thrown(admin.release());
        if self.are_in_zookeeper(admin.release()) {
            let (place, shown) = (admin.zookeeper_connect(), &self.shown);
            return format!("{head} '--zookeeper {place} {shown}'\n{cause}\n");
        }
        format!(
            "{head} '--bootstrap-server {} {}'\n\
             java.util.concurrent.ExecutionException: {cause}\nCaused by: {cause}\n",
            admin.bootstrap_shown(),
            self.shown
        )
    }
}

const INVALID_CONFIG: Exception = Exception::Refusal(Error::InvalidConfig);

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
