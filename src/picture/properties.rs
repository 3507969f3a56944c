//! A broker's `server.properties`: each setting, its value, and where that comes from.
//!
//! *Invariant:* a row that can be written carries the script line that does it.

use super::ensemble::{self, Run};
use crate::cluster::notation::Quoted;
use crate::kafka::broker::{Broker, Dynamic, is_dynamic};
use crate::kafka::id::BrokerId;
use crate::kafka::release::Release;
use crate::kafka::settings::Settings;
use crate::kafka::znodes::{self, ConfigType};
use crate::sim::Power;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whence {
    /// It is set for this broker, or for all, while they run: in ZooKeeper.
    Dynamic,
    /// It stands in the broker's file.
    File,
    /// Nobody said anything.
    Default,
}

impl Whence {
    /// The key of its name.
    pub fn key(self) -> &'static str {
        match self {
            Whence::Dynamic => "page.properties.dynamic",
            Whence::File => "page.properties.file",
            Whence::Default => "page.properties.default",
        }
    }
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its real name.
    pub name: &'static str,
    /// What it is now.
    pub value: String,
    /// Who says so.
    pub from: Whence,
    /// Whether the broker takes another value while it runs.
    pub is_dynamic: bool,
}

/// The settings of a broker; what somebody set stands first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Its name.
    pub broker: String,
    /// The settings.
    pub rows: Vec<Property>,
    /// Its number.
    pub id: BrokerId,
    /// Its release, which says what settings there are.
    pub release: Release,
    /// Whether its file can be written: it is off.
    pub can_be_written: bool,
}

impl Properties {
    /// The setting of that name.
    pub fn row(&self, name: &str) -> Option<&Property> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Whether another value can be given now.
    pub fn can_change(&self, row: &Property) -> bool {
        self.can_be_written || row.is_dynamic
    }

    /// The script line that gives another value; an empty one is the default. It starts a broker
    /// that is off; one that runs is told by `kafka-configs`.
    pub fn change(&self, name: &str, value: &str) -> String {
        if self.can_be_written {
            return format!("start {} {name}={}", self.broker, Quoted(value));
        }
        let change = match value {
            "" => format!("--delete-config {name}"),
            _ if value.contains(',') => format!("--add-config \"{name}=[{value}]\""),
            _ => format!("--add-config {}", Quoted(&format!("{name}={value}"))),
        };
        format!("kafka-configs --alter --entity-type brokers --entity-name {} {change}", self.id)
    }
}

/// The settings of a broker, if it is one.
pub fn properties(run: Run<'_>, name: &str) -> Option<Properties> {
    let id = run.cluster.find(name)?;
    let process = run.cluster.process(id);
    let file = process.broker().map(Broker::file).or(process.broker_settings())?;
    let takes = file.release.brokers_are_configured_by_themselves();
    let dynamic = process.broker().map(|broker| match broker.running() {
        Some(running) => running.dynamic().clone(),
        None => at_its_start(run, file),
    });
    let dynamic = dynamic.unwrap_or_default();
    let now = dynamic.now().map_or(file, |now| now);
    let is_set = |name: &str| {
        let value = now.others.get(name);
        value.is_some() && [dynamic.own(), dynamic.of_all()].iter().any(|it| it.get(name) == value)
    };
    let mut rows: Vec<Property> = Settings::names(file.release)
        .into_iter()
        .filter_map(|name| {
            let value = now.value(name)?;
            let is_dynamic = takes && is_dynamic(name);
            let from = match is_dynamic && is_set(name) {
                true => Whence::Dynamic,
                false if file.others.contains_key(name) => Whence::File,
                false => Whence::Default,
            };
            Some(Property { name, value, from, is_dynamic })
        })
        .collect();
    crate::sim::sort::by_key(&mut rows, |row| row.from);
    let can_be_written = run.cluster.power(id) == Power::Off;
    let (id, release) = (file.broker_id, file.release);
    Some(Properties { broker: name.to_owned(), rows, id, release, can_be_written })
}

/// What will be set in ZooKeeper for a broker that is off, when it starts.
fn at_its_start(run: Run<'_>, file: &Settings) -> Dynamic {
    let set = |of: &str| {
        let (_, database) = ensemble::witness(run.cluster)?;
        let znode = database.tree.znode(ConfigType::Brokers.entity(of).as_str())?;
        znodes::decode_config(&znode.data)
    };
    let own = set(&file.broker_id.to_string()).unwrap_or_default();
    Dynamic::over(file, set(znodes::DEFAULT_ENTITY).unwrap_or_default(), own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Command;
    use crate::lab::{Lab, Recording};
    use crate::sim::{SimTime, Span};

    #[test]
    fn a_file_is_shown_and_can_be_written_while_its_broker_is_off() {
        let setup = "# zootrope 1\nsetup seed=1 zookeeper=1 brokers=1 min.insync.replicas=2\n";
        let mut lab = Lab::new(Recording::parse(setup).expect("it is written rightly"));
        let mut after = |line: &str| {
            // The session of a killed broker ends first.
            lab.advance_to(lab.moment().at + Span::secs(25));
            lab.issue(Command::parse(1, line).expect("it is right")).expect("it can be done");
            lab.advance_to(lab.moment().at + Span::secs(1));
            properties(Run::of(&lab), "broker1").expect("it is a broker")
        };
        let said = |shown: &Properties, name: &str| {
            let row = shown.rows.iter().find(|row| row.name == name).expect("it is a setting");
            (row.value.clone(), row.from)
        };
        let set = "kafka-configs --alter --entity-type brokers --entity-default \
                   --add-config message.max.bytes=5000";
        let shown = after(set);
        assert_eq!(said(&shown, "message.max.bytes"), ("5000".into(), Whence::Dynamic));
        assert_eq!(said(&shown, "min.insync.replicas"), ("2".into(), Whence::File));
        assert_eq!(said(&shown, "broker.rack"), (String::new(), Whence::Default));
        assert!(!shown.can_be_written);
        let can =
            |name: &str| shown.rows.iter().any(|row| row.name == name && shown.can_change(row));
        assert!(can("min.insync.replicas") && !can("num.partitions"));
        let shown = after(&shown.change("log.cleanup.policy", "compact,delete"));
        let both = ("compact,delete".into(), Whence::Dynamic);
        assert_eq!(said(&shown, "log.cleanup.policy"), both);
        let shown = after(&shown.change("log.cleanup.policy", ""));
        assert_eq!(said(&shown, "log.cleanup.policy"), ("delete".into(), Whence::Default));
        // What is written there by hand and cannot be does not hold.
        after("add client z1");
        let znode = "/config/brokers/<default>";
        let data = r#"{"version":1,"config":{"min.insync.replicas":"none"}}"#;
        after(&format!("ask z1 set {znode} {}", Quoted(data)));
        let note = r#"{"version":2,"entity_path":"brokers/<default>"}"#;
        let path = "/config/changes/config_change_";
        let shown = after(&format!("ask z1 create -s {path} {}", Quoted(note)));
        assert_eq!(said(&shown, "min.insync.replicas"), ("2".into(), Whence::File));
        assert_eq!(said(&shown, "message.max.bytes").1, Whence::Default);
        let shown = after("kill broker1");
        assert!(shown.can_be_written);
        let line = shown.change("broker.rack", "a b");
        assert_eq!(line, "start broker1 broker.rack=\"a b\"");
        assert_eq!(said(&after(&line), "broker.rack"), ("a b".into(), Whence::File));
        after("kill broker1");
        let shown = after(&shown.change("min.insync.replicas", ""));
        assert_eq!(said(&shown, "min.insync.replicas"), ("1".into(), Whence::Default));
        assert!(lab.moment().at > SimTime::ZERO);
    }
}
