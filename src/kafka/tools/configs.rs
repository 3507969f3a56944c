//! `kafka-configs` of 3.9.1: alters what topics and brokers have set in ZooKeeper, by asking
//! brokers.
//!
//! Source: ConfigCommand (3.9).
//!
//! *Invariant: what a broker refuses is shown as the exception that it was.*

use std::sync::Arc;

use super::admin::{Admin, Failure, Halt};
use super::dialogue::Next;
use super::{Arguments, Usage};
use crate::kafka::admin::{
    AlterConfigOp, ConfigResource, ConfigSource, DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
};
use crate::kafka::error::Error;
use crate::kafka::id::BrokerId;
use crate::kafka::message::Response;

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Configs {
    resource: ConfigResource,
    set: Vec<(Arc<str>, Arc<str>)>,
    delete: Vec<Arc<str>>,
    /// The command line, for the text of a failure.
    shown: Arc<str>,
}

type Told<T> = Result<T, Halt>;

impl Configs {
    /// Reads the command line, of which `shown` is the whole.
    pub fn read(arguments: &mut Arguments, shown: &str) -> Result<Configs, Usage> {
        if !arguments.switch("--alter") {
            return Err(Usage("it only alters yet".into()));
        }
        let kind = arguments.value("--entity-type").unwrap_or_default();
        let name = arguments.value("--entity-name");
        let default = arguments.switch("--entity-default");
        let resource = match (kind.as_str(), name, default) {
            ("topics", Some(name), false) => ConfigResource::Topic(name.into()),
            ("brokers", Some(id), false) => {
                ConfigResource::Broker(BrokerId(id.parse().map_err(|_| Usage::bad(&id))?))
            }
            ("brokers", None, true) => ConfigResource::AllBrokers,
            _ => return Err(Usage::bad(&kind)),
        };
        let mut set = Vec::new();
        for pair in arguments.value("--add-config").unwrap_or_default().split(',') {
            if let Some((name, value)) = pair.split_once('=') {
                set.push((name.into(), value.into()));
            }
        }
        let delete = arguments.value("--delete-config").unwrap_or_default();
        let delete = delete.split(',').filter(|name| !name.is_empty()).map(Arc::from).collect();
        arguments.finish()?;
        Ok(Configs { resource, set, delete, shown: shown.into() })
    }

    /// What it prints in the end.
    pub fn run(&self, admin: &mut Admin<'_>) -> Result<String, Next> {
        match self.alter(admin) {
            Ok(()) => Ok(self.done()),
            Err(Halt::Waits(next)) => Err(next),
            Err(Halt::Failed(why)) => Ok(self.failed(&why)),
        }
    }

    fn alter(&self, admin: &mut Admin<'_>) -> Told<()> {
        self.check_deleted(admin)?;
        let set = self.set.iter().map(|(name, value)| (name, AlterConfigOp::Set(value.clone())));
        let delete = self.delete.iter().map(|name| (name, AlterConfigOp::Delete));
        let ops = set.chain(delete).map(|(name, op)| (name.clone(), op)).collect();
        let resources = vec![(self.resource.clone(), ops)];
        let request = IncrementalAlterConfigsRequest { resources };
        match to(admin, &self.resource, "incrementalAlterConfigs", request.into())? {
            Response::IncrementalAlterConfigs(answer) => {
                match answer.responses.into_iter().find_map(|(_, refusal)| refusal) {
                    Some(why) => {
                        Err(Failure::refused(why.error, why.error_message.as_deref()).into())
                    }
                    None => Ok(()),
                }
            }
            other => panic!("incremental-alter-configs was answered by {}", other.name()),
        }
    }

    /// What is to be deleted must be set.
    fn check_deleted(&self, admin: &mut Admin<'_>) -> Told<()> {
        let request = DescribeConfigsRequest { resources: vec![self.resource.clone()] };
        let set = match to(admin, &self.resource, "describeConfigs", request.into())? {
            Response::DescribeConfigs(mut answer) => match answer.results.pop() {
                Some((_, Ok(entries))) => entries,
                Some((_, Err(why))) => {
                    return Err(Failure::refused(why.error, why.error_message.as_deref()).into());
                }
                None => Vec::new(),
            },
            other => panic!("describe-configs was answered by {}", other.name()),
        };
        let own = match self.resource {
            ConfigResource::Topic(_) => ConfigSource::DynamicTopic,
            ConfigResource::Broker(_) => ConfigSource::DynamicBroker,
            ConfigResource::AllBrokers => ConfigSource::DynamicDefaultBroker,
        };
        let is_set = |name: &&Arc<str>| {
            set.iter().any(|entry| entry.name == **name && entry.config_source == own)
        };
        let missing: Vec<&str> =
            self.delete.iter().filter(|name| !is_set(name)).map(|name| &**name).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let message = format!("Invalid config(s): {}", missing.join(","));
        Err(Failure::new(Error::InvalidConfig.exception(), message).into())
    }

    fn done(&self) -> String {
        match &self.resource {
            ConfigResource::Topic(name) => format!("Completed updating config for topic {name}.\n"),
            ConfigResource::Broker(id) => format!("Completed updating config for broker {id}.\n"),
            ConfigResource::AllBrokers => {
                "Completed updating default config for brokers in the cluster.\n".into()
            }
        }
    }

    fn failed(&self, why: &Failure) -> String {
        let cause = format!("{}: {}", why.class(), why.message);
        format!(
            "Error while executing config command with args '{}'\n\
             java.util.concurrent.ExecutionException: {cause}\nCaused by: {cause}\n",
            self.shown
        )
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
