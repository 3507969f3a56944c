//! The settings of a producer that sends to lone brokers, by their real names.
//!
//! *Invariant: it goes one of two ways, never both.*
// Source: kafka.producer.ProducerConfig, SyncProducerConfig (0.7.2)

use std::sync::Arc;

use crate::kafka::id::{BROKERS, BrokerId, ClientId};
use crate::kafka::producer::words::Steady;
use crate::kafka::settings::Directory;
use crate::sim::Span;
use crate::zk::ensemble::Address;

/// How a producer finds a broker for a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// By what ZooKeeper says (`zk.connect`).
    Zookeeper,
    /// By a list that nobody changes (`broker.list`): any of its entries, and there the broker
    /// takes any of its partitions. An entry may be what a load balancer shows of all brokers.
    List(Arc<[Entry]>),
}

/// An entry of a list: `1:broker1:9092`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What it is called in the list.
    pub broker: BrokerId,
    /// Where it is.
    pub host: Arc<str>,
    /// Where it is.
    pub port: u16,
}

/// The host of a load balancer in front of all brokers.
pub const BALANCER: &str = "vip";

/// The settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct LoneProducerSettings {
    pub client_id: ClientId,
    pub route: Route,
    /// The servers behind `zk.connect`.
    pub zookeeper_connect: Arc<[Address]>,
    /// Where hosts and ports are.
    pub directory: Directory,
    pub zk_sessiontimeout: Span,
    pub zk_read_num_retries: u32,
    pub connect_timeout: Span,
    pub reconnect_interval: u32,
    /// What it sends by itself, over and over.
    pub steady: Option<Steady>,
}

impl LoneProducerSettings {
    /// The defaults of 0.7.2.
    pub fn new(client: &str) -> LoneProducerSettings {
        LoneProducerSettings {
            client_id: client.into(),
            route: Route::Zookeeper,
            zookeeper_connect: Arc::from([]),
            directory: Directory::default(),
            zk_sessiontimeout: Span::secs(6),
            zk_read_num_retries: 3,
            connect_timeout: Span::secs(5),
            reconnect_interval: 30_000,
            steady: None,
        }
    }

    /// Changes a setting by its real name; `None` if there is no such one or it cannot be so.
    // Source: ProducerConfig: "At least one of zk.connect or broker.list must be specified"
    pub fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let pause = || Span::parse_pause_ms(value);
        match name {
            "zk.connect" => self.route = Route::Zookeeper,
            "broker.list" => {
                let entries: Option<Vec<Entry>> = value.split(',').map(entry).collect();
                self.route = Route::List(entries?.into());
            }
            "zk.sessiontimeout.ms" => self.zk_sessiontimeout = pause()?,
            "zk.read.num.retries" => self.zk_read_num_retries = value.parse().ok()?,
            "connect.timeout.ms" => self.connect_timeout = pause()?,
            "reconnect.interval" => {
                self.reconnect_interval = value.parse().ok().filter(|sends| *sends > 0)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// The setting that says which way it goes.
    pub fn way(&self) -> &'static str {
        match &self.route {
            Route::Zookeeper => "zk.connect",
            Route::List(_) => "broker.list",
        }
    }
}

fn entry(text: &str) -> Option<Entry> {
    let mut parts = text.split(':');
    let (id, host, port) = (parts.next()?, parts.next()?, parts.next()?);
    let broker = id.parse().ok().filter(|id| (0..BROKERS).contains(id)).map(BrokerId)?;
    let entry = Entry { broker, host: host.into(), port: port.parse().ok()? };
    (parts.next().is_none() && !host.is_empty()).then_some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_entry_by_entry() {
        let mut settings = LoneProducerSettings::new("p");
        for wrong in ["", "1", "1:a", "a:b:1", "1:b:x", "1:b:1:2", "1:b:1,", "-1:b:1"] {
            assert_eq!(settings.set("broker.list", wrong), None, "{wrong}");
        }
        assert_eq!(settings.set("broker.list", "1:b:9092,2:vip:9092"), Some(()));
        let Route::List(entries) = &settings.route else { panic!("it is a list") };
        let hosts: Vec<&str> = entries.iter().map(|entry| &*entry.host).collect();
        assert_eq!(hosts, ["b", BALANCER]);
    }
}
