//! How a cluster is set up before time begins: release, seed, sizes, and every setting by its real name.
//!
//! Topics, producers and consumers are no part of it: commands make them.
//! *Invariant:* a setting has the release's real default unless it is named here.

use super::notation::{Line, Trouble};
use crate::sim::{Network, Span};
use std::collections::BTreeMap;
use std::fmt;

/// The set-up of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Setup {
    /// Which Kafka.
    pub release: &'static str,
    /// What chance starts from.
    pub seed: u64,
    /// How many ZooKeeper servers: `zk1`, `zk2`, …
    pub zookeeper: u8,
    /// The ids of the brokers that start with the run.
    pub brokers: Vec<i32>,
    /// The settings that differ from their defaults, by their real names.
    pub settings: BTreeMap<&'static str, u64>,
}

/// The releases of Kafka, the oldest first.
const RELEASES: [&str; 7] = ["0.7.2", "0.8.2.2", "0.10.2.2", "1.1.1", "2.3.1", "2.8.2", "3.9.1"];

/// What a setting's number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds, as most of the real settings.
    Ms,
    /// Microseconds: the simulated network's own.
    Us,
    /// Things.
    Count,
    /// `true` or `false`.
    Switch,
}

/// One setting: its real name, default and limits.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name in the real configuration.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What it is unless named.
    pub default: u64,
    /// The least and the most it may be here.
    pub limits: (u64, u64),
}

const fn ms(name: &'static str, default: u64) -> Setting {
    Setting { name, unit: Unit::Ms, default, limits: (1, 86_400_000) }
}

const fn us(name: &'static str, default: u64) -> Setting {
    Setting { name, unit: Unit::Us, default, limits: (1, 60_000_000) }
}

const fn count(name: &'static str, default: u64, limits: (u64, u64)) -> Setting {
    Setting { name, unit: Unit::Count, default, limits }
}

const fn switch(name: &'static str, default: u64) -> Setting {
    Setting { name, unit: Unit::Switch, default, limits: (0, 1) }
}

/// Every setting that can be changed.
pub const SETTINGS: &[Setting] = &[
    ms("tickTime", 2000),
    count("initLimit", 10, (1, 1000)),
    count("syncLimit", 5, (1, 1000)),
    ms("zookeeper.session.timeout.ms", 18_000),
    ms("replica.lag.time.max.ms", 30_000),
    ms("replica.fetch.wait.max.ms", 500),
    count("num.partitions", 1, (1, 10_000)),
    count("default.replication.factor", 1, (1, 100)),
    count("min.insync.replicas", 1, (1, 100)),
    count("offsets.topic.num.partitions", 50, (1, 1000)),
    count("offsets.topic.replication.factor", 3, (1, 100)),
    switch("unclean.leader.election.enable", 0),
    switch("controlled.shutdown.enable", 1),
    switch("auto.create.topics.enable", 1),
    switch("auto.leader.rebalance.enable", 1),
    ms("leader.imbalance.check.interval.seconds", 300),
    ms("group.initial.rebalance.delay.ms", 3000),
    ms("session.timeout.ms", 45_000),
    ms("heartbeat.interval.ms", 3000),
    ms("max.poll.interval.ms", 300_000),
    ms("auto.commit.interval.ms", 5000),
    us("latency.min.us", 400),
    us("latency.max.us", 1000),
    us("disk.min.us", 500),
    us("disk.max.us", 2000),
];

impl Default for Setup {
    /// Kafka 3.9.1: `zk1`–`zk3`, brokers 1, 2, 3.
    fn default() -> Self {
        Setup {
            release: "3.9.1",
            seed: 1,
            zookeeper: 3,
            brokers: vec![1, 2, 3],
            settings: BTreeMap::new(),
        }
    }
}

impl Setup {
    /// How a set-up is written.
    pub const USAGE: &'static str =
        "setup [release=3.9.1] [seed=N] [zookeeper=N] [brokers=N|ID,ID…] [SETTING=VALUE …]";

    /// Reads what follows the word `setup`.
    pub fn parse(line: &mut Line) -> Result<Setup, Trouble> {
        let mut setup = Setup::default();
        if let Some(word) = line.value("release") {
            setup.release = word.choice(&RELEASES.map(|release| (release, release)))?;
        }
        if let Some(word) = line.value("seed") {
            setup.seed = word.number("a whole number")?;
        }
        if let Some(word) = line.value("zookeeper") {
            let servers = word.number("a number from 1 to 9")?;
            setup.zookeeper = servers;
            if !(1..=9).contains(&servers) {
                return Err(word.is_not("a number from 1 to 9"));
            }
        }
        if let Some(word) = line.value("brokers") {
            setup.brokers =
                broker_ids(&word.text).ok_or_else(|| word.is_not("a number up to 200, or ids"))?;
        }
        while let Some((name, word)) = line.pair() {
            let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
                return Err(word.trouble(format!("no setting {name}"), "a setting's real name"));
            };
            setup.settings.insert(setting.name, setting.read(&word)?);
        }
        setup.in_order(line)?;
        Ok(setup)
    }

    /// The setting of this name: as set up, else its default.
    pub fn setting(&self, name: &str) -> u64 {
        let default = || {
            let found = SETTINGS.iter().find(|setting| setting.name == name);
            found.expect("settings are asked for by names of the table").default
        };
        self.settings.get(name).copied().unwrap_or_else(default)
    }

    /// The times that messages and writes take.
    pub fn network(&self) -> Network {
        let us = |name| Span::micros(self.setting(name));
        Network {
            latency: us("latency.min.us")..us("latency.max.us"),
            disk: us("disk.min.us")..us("disk.max.us"),
        }
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

impl Setting {
    fn read(&self, word: &super::notation::Word) -> Result<u64, Trouble> {
        if self.unit == Unit::Switch {
            return word.choice(&[("true", 1), ("false", 0)]);
        }
        let (least, most) = self.limits;
        let expected = format!("a number from {least} to {most}");
        let value = word.number(&expected)?;
        if (least..=most).contains(&value) { Ok(value) } else { Err(word.is_not(expected)) }
    }

    fn show(&self, value: u64) -> String {
        match (self.unit, value) {
            (Unit::Switch, 0) => "false".to_owned(),
            (Unit::Switch, _) => "true".to_owned(),
            _ => value.to_string(),
        }
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
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    let fine = distinct.len() == ids.len() && ids.iter().all(|id| *id >= 0);
    (fine && ids.len() <= MOST as usize).then_some(ids)
}

/// As a script writes it.
impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "setup release={} seed={}", self.release, self.seed)?;
        write!(f, " zookeeper={} brokers=", self.zookeeper)?;
        let counted = self.brokers.iter().copied().eq(1..=self.brokers.len() as i32);
        match counted {
            true => write!(f, "{}", self.brokers.len())?,
            false => {
                let ids: Vec<_> = self.brokers.iter().map(i32::to_string).collect();
                write!(f, "{}{}", ids.join(","), if ids.len() == 1 { "," } else { "" })?;
            }
        }
        for setting in SETTINGS {
            if let Some(value) = self.settings.get(setting.name) {
                write!(f, " {}={}", setting.name, setting.show(*value))?;
            }
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
            "setup release=3.9.1 seed=1 zookeeper=1 brokers=0",
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
        check("setup tickTime=x", "column 7: “x”; expected a number from 1 to 86400000");
        check("setup brokers=1,1", "column 7: “1,1”; expected a number up to 200, or ids");
    }
}
