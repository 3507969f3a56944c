//! How a cluster is set up before time begins: release, seed, sizes, and every setting by its real
//! name.
//!
//! Topics, producers and consumers are no part of it: commands make them.
//! *Invariant:* a setting has the release's real default unless it is named here.

use std::fmt;
use std::sync::Arc;

use super::notation::{Line, Quoted, Trouble, Word};
use crate::kafka::id::BrokerId;
use crate::kafka::release::Release;
use crate::sim::{Network, OrdMap, Span};
use crate::zk::settings::{Switch, Whitelist};
use crate::{kafka, zk};

/// The set-up of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Setup {
    /// Which Kafka.
    pub release: Release,
    /// Which ZooKeeper, unless it is the one that goes with it.
    zookeeper_release: Option<zk::release::Release>,
    /// What chance starts from.
    pub seed: u64,
    /// How many ZooKeeper servers: `zk1`, `zk2`, …
    pub zookeeper: u8,
    /// How many servers behind those only observe.
    pub observers: u8,
    /// The ids of the brokers that start with the run.
    pub brokers: Vec<i32>,
    /// The settings that differ from their defaults, by their real names.
    settings: OrdMap<Arc<str>, Arc<str>>,
}

/// One setting that is no broker's: its real name, default and limits.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name in the real configuration.
    pub name: &'static str,
    /// What it is unless named.
    pub default: u64,
    /// The least and the most it may be here.
    pub limits: (u64, u64),
}

impl Setting {
    /// Whether it is `true` or `false`.
    pub fn is_switch(&self) -> bool {
        self.limits == (0, 1)
    }
}

/// One that is `true` or `false`; off unless named.
const fn switch(name: &'static str) -> Setting {
    Setting { name, default: 0, limits: (0, 1) }
}

const fn setting(name: &'static str, default: u64, most: u64) -> Setting {
    Setting { name, default, limits: (1, most) }
}

/// A day in milliseconds: longer than anybody waits here.
const DAY: u64 = 86_400_000;
/// A minute in microseconds.
const MINUTE: u64 = 60_000_000;

/// Every setting that is not a broker's; those are in [`kafka::settings`](crate::kafka::settings).
pub const SETTINGS: &[Setting] = &[
    setting("tickTime", 2000, DAY),
    setting("initLimit", 10, 1000),
    setting("syncLimit", 5, 1000),
    setting("jute.maxbuffer", 0xfffff, 1 << 30),
    switch("enforceQuota"),
    switch("extendedTypesEnabled"),
    switch("readonlymode.enabled"),
    switch("localSessionsEnabled"),
    switch("localSessionsUpgradingEnabled"),
    Setting { name: "maxClientCnxns", default: 0, limits: (0, 1000) },
    Setting { name: "zookeeper.testingonly.initialZxid", default: 0, limits: (0, 0xffff_fffe) },
    setting("latency.min.us", 400, MINUTE),
    setting("latency.max.us", 1000, MINUTE),
    setting("disk.min.us", 500, MINUTE),
    setting("disk.max.us", 2000, MINUTE),
];

/// The one setting of ZooKeeper that is no number.
const WHITELIST: &str = "4lw.commands.whitelist";

/// Settings of clients that the set-up once took, though nobody read them there: old links name
/// them, and open. Clients take them now, each its own.
const FORMER: &[&str] = &[
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "auto.commit.interval.ms",
];

impl Default for Setup {
    /// Kafka 3.9.1: `zk1`–`zk3`, brokers 1, 2, 3.
    fn default() -> Self {
        Setup {
            release: Release::V3_9_1,
            zookeeper_release: None,
            seed: 1,
            zookeeper: 3,
            observers: 0,
            brokers: vec![1, 2, 3],
            settings: OrdMap::new(),
        }
    }
}

impl Setup {
    /// How a set-up is written.
    pub const USAGE: &'static str = "setup [release=3.9.1] [zookeeper.release=3.8.4] [seed=N] \
                             [zookeeper=N] [observers=N] [brokers=N|ID,ID…] [SETTING=VALUE …]";

    /// Reads what follows the word `setup`.
    pub fn parse(line: &mut Line) -> Result<Setup, Trouble> {
        let mut setup = Setup::default();
        if let Some(word) = line.value("release") {
            setup.release = word.choice(&names(Release::ALL, |known| known.name()))?;
        }
        if let Some(word) = line.value("zookeeper.release") {
            let release = word.choice(&names(zk::release::Release::ALL, |known| known.name()))?;
            setup.zookeeper_release = Some(release).filter(|it| *it != setup.release.zookeeper());
        }
        if let Some(word) = line.value("seed") {
            setup.seed = word.number("a whole number")?;
        }
        if let Some(word) = line.value("zookeeper") {
            setup.zookeeper = word.within(1, 9)?;
        }
        if let Some(word) = line.value("observers") {
            setup.observers = word.within(0, 9)?;
        }
        if let Some(word) = line.value("brokers") {
            setup.brokers = broker_ids(&word.text)
                .ok_or_else(|| word.is_not("a number up to 200, or ids up to 9999"))?;
        }
        while let Some((name, word)) = line.pair() {
            check_setting(&name, &word)?;
            setup.settings.insert(name.into(), word.text.into());
        }
        setup.in_order(line)?;
        Ok(setup)
    }

    /// Which ZooKeeper it runs on.
    pub fn zookeeper_release(&self) -> zk::release::Release {
        self.zookeeper_release.unwrap_or(self.release.zookeeper())
    }

    /// A setting of [`SETTINGS`]: as set up, else its default.
    pub fn setting(&self, name: &str) -> u64 {
        let row = SETTINGS.iter().find(|setting| setting.name == name);
        let row = row.expect("settings are asked for by names of the table");
        let set = self.settings.get(name).map(|value| match &**value {
            "true" => 1,
            "false" => 0,
            value => value.parse().expect("checked when it was set"),
        });
        set.unwrap_or(row.default)
    }

    fn switch(&self, name: &str) -> Switch {
        if self.setting(name) == 1 { Switch::On } else { Switch::Off }
    }

    /// Whatever differs from the defaults, by real names.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The settings that it names without effect.
    pub fn without_effect(&self) -> Vec<&str> {
        self.settings().map(|(name, _)| name).filter(|name| FORMER.contains(name)).collect()
    }

    /// The times that messages and writes take.
    pub fn network(&self) -> Network {
        let us = |name| Span::micros(self.setting(name));
        Network {
            latency: us("latency.min.us")..us("latency.max.us"),
            disk: us("disk.min.us")..us("disk.max.us"),
        }
    }

    /// The settings of each ZooKeeper server.
    pub fn zk_settings(&self) -> zk::settings::Settings {
        let whitelist = self.settings.get(WHITELIST);
        let settings = zk::settings::Settings {
            tick_time: Span::ms(self.setting("tickTime")),
            init_limit: self.setting("initLimit") as u32,
            sync_limit: self.setting("syncLimit") as u32,
            jute_maxbuffer: self.setting("jute.maxbuffer"),
            enforce_quota: self.switch("enforceQuota"),
            ttl_znodes: self.switch("extendedTypesEnabled"),
            read_only_mode: self.switch("readonlymode.enabled"),
            local_sessions: self.switch("localSessionsEnabled"),
            local_sessions_upgrading: self.switch("localSessionsUpgradingEnabled"),
            max_client_cnxns: self.setting("maxClientCnxns") as u32,
            initial_zxid: self.setting("zookeeper.testingonly.initialZxid") as u32,
            whitelist: whitelist.map_or(Whitelist::OfRelease, |words| Whitelist::parse(words)),
            ..zk::settings::Settings::default()
        };
        settings.of_release(self.zookeeper_release())
    }

    /// The settings of a broker.
    pub fn broker_settings(&self, id: i32) -> kafka::settings::Settings {
        let name = format!("broker{id}");
        let port = 9092;
        let settings = kafka::settings::Settings::new(BrokerId(id), &name, port);
        let mut settings = settings.of_release(self.release);
        for (name, value) in &self.settings {
            if kafka::settings::Settings::knows(name) {
                settings.set(name, value).expect("checked when it was set");
            }
        }
        settings
    }

    /// The session timeout that brokers ask for.
    pub fn broker_session_timeout(&self) -> Span {
        self.broker_settings(0).zookeeper_session_timeout
    }

    fn in_order(&self, line: &Line) -> Result<(), Trouble> {
        for (least, most) in [("latency.min.us", "latency.max.us"), ("disk.min.us", "disk.max.us")]
        {
            if self.setting(least) > self.setting(most) {
                return Err(line.missing(&format!("{least} to be no more than {most}")));
            }
        }
        Ok(())
    }
}

/// Releases by what they are called.
fn names<R: Copy>(all: &[R], name: fn(R) -> &'static str) -> Vec<(&'static str, R)> {
    all.iter().map(|release| (name(*release), *release)).collect()
}

fn check_setting(name: &str, word: &Word) -> Result<(), Trouble> {
    if let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) {
        let (least, most) = setting.limits;
        if setting.is_switch() {
            return word.choice(&[("true", ()), ("false", ())]);
        }
        return word.within(least, most).map(|_| ());
    }
    if FORMER.contains(&name) || name == WHITELIST {
        return Ok(());
    }
    broker_setting(name, word)
}

/// Refuses what no broker's file can say.
pub(super) fn broker_setting(name: &str, word: &Word) -> Result<(), Trouble> {
    let mut scratch = kafka::settings::Settings::new(BrokerId(0), "", 0);
    match scratch.set(name, &word.text) {
        Ok(()) => Ok(()),
        Err(kafka::settings::SettingError::Unknown(_)) => {
            Err(word.trouble(format!("no setting {name}"), "a setting's real name"))
        }
        Err(kafka::settings::SettingError::Value { wanted, .. }) => Err(word.is_not(wanted)),
    }
}

/// `3` is brokers 1, 2, 3; `0,5` is brokers 0 and 5; `0,` is broker 0 alone.
fn broker_ids(text: &str) -> Option<Vec<i32>> {
    const MOST: i32 = 200;
    if !text.contains(',') {
        let brokers: i32 = text.parse().ok()?;
        return (0..=MOST).contains(&brokers).then(|| (1..=brokers).collect());
    }
    let ids = text.strip_suffix(',').unwrap_or(text).split(',').map(|id| id.parse().ok());
    let ids: Vec<i32> = ids.collect::<Option<_>>()?;
    let distinct: crate::sim::OrdSet<_> = ids.iter().collect();
    let fine =
        distinct.len() == ids.len() && ids.iter().all(|id| (0..kafka::id::BROKERS).contains(id));
    (fine && ids.len() <= MOST as usize).then_some(ids)
}

/// As a script writes it.
impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "setup release={}", self.release)?;
        if let Some(release) = self.zookeeper_release {
            write!(f, " zookeeper.release={release}")?;
        }
        write!(f, " seed={}", self.seed)?;
        write!(f, " zookeeper={}", self.zookeeper)?;
        if self.observers > 0 {
            write!(f, " observers={}", self.observers)?;
        }
        write!(f, " brokers=")?;
        let counted = self.brokers.iter().copied().eq(1..=self.brokers.len() as i32);
        match counted {
            true => write!(f, "{}", self.brokers.len())?,
            false => {
                let ids: Vec<_> = self.brokers.iter().map(i32::to_string).collect();
                write!(f, "{}{}", ids.join(","), if ids.len() == 1 { "," } else { "" })?;
            }
        }
        for (name, value) in &self.settings {
            write!(f, " {name}={}", Quoted(value))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Setup, String> {
        let mut line = Line::parse(1, text).map_err(|trouble| trouble.to_string())?;
        line.word("setup").map_err(|trouble| trouble.to_string())?;
        Setup::parse(&mut line).map_err(|trouble| trouble.to_string())
    }

    #[test]
    fn a_setup_round_trips() {
        for text in [
            "setup release=3.9.1 seed=1 zookeeper=3 brokers=3",
            "setup release=0.8.2.2 seed=7 zookeeper=5 brokers=0,1,2 tickTime=3000",
            "setup release=3.9.1 seed=1 zookeeper=1 brokers=0 broker.rack=\"a b\"",
            "setup release=0.8.2.2 seed=1 zookeeper=3 observers=1 brokers=3 replica.lag.max.messages=9",
            "setup release=3.9.1 zookeeper.release=3.5.9 seed=1 zookeeper=3 brokers=0",
            "setup release=2.8.2 seed=1 zookeeper=3 brokers=0 4lw.commands.whitelist=*",
            "setup release=3.9.1 seed=1 zookeeper=1 brokers=4, unclean.leader.election.enable=true",
        ] {
            assert_eq!(parsed(text).map(|setup| setup.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn a_wrong_setup_is_told_with_its_place() {
        let check = |text, expected: &str| {
            assert_eq!(parsed(text).expect_err("it is wrong"), format!("line 1, {expected}"));
        };
        check("setup zookeeper=0", "column 7: “0”; expected a number from 1 to 9");
        check("setup ticktime=9", "column 7: no setting ticktime; expected a setting's real name");
        check(
            "setup num.partitions=1001",
            "column 7: “1001”; expected a number of partitions from 1 to 1000",
        );
        check(
            "setup offsets.topic.num.partitions=0",
            "column 7: “0”; expected a number of partitions from 1 to 1000",
        );
        for text in [
            "brokers=201",
            "brokers=1,10000",
            "seed=-1",
            "observers=10",
            "latency.max.us=60000001",
            "leader.imbalance.check.interval.seconds=18446744073709551615",
            "offsets.retention.minutes=18446744073709551615",
            "replica.lag.time.max.ms=0",
            "replica.high.watermark.checkpoint.interval.ms=0",
            "log.segment.bytes=0",
            "default.replication.factor=40000",
            "message.max.bytes=-1",
            "topic.partition.count.map=t:1001",
            "log.flush.interval=0",
        ] {
            let trouble = parsed(&format!("setup {text}")).expect_err(text);
            assert!(trouble.contains("; expected "), "{trouble}");
        }
        check("setup tickTime=x", "column 7: “x”; expected a number from 1 to 86400000");
        check(
            "setup brokers=1,1",
            "column 7: “1,1”; expected a number up to 200, or ids up to 9999",
        );
    }
}
