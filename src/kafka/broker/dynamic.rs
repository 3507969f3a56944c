//! What holds of a broker's settings: what is set for it in ZooKeeper, else what is set there for
//! all, else what its file says.
//!
//! Not here: what watches ZooKeeper (`configs`), and what a broker refuses (`errand::alter`).
//!
//! *Invariant: what holds is reckoned anew from the file at each change, so that nothing stays of
//! what was taken back.*
// Source: DynamicBrokerConfig.updateCurrentConfig, overrideProps (KIP-226)

use std::sync::Arc;

use super::is_dynamic;
use crate::kafka::settings::Settings;
use crate::kafka::znodes::{Config, DEFAULT_ENTITY};

/// What is set in ZooKeeper for a broker, and what holds with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dynamic {
    of_all: Config,
    own: Config,
    /// What holds; nothing where that is the file.
    now: Option<Arc<Settings>>,
}

impl Dynamic {
    /// What is set for all and for this broker, over its file.
    pub fn over(file: &Settings, of_all: Config, own: Config) -> Dynamic {
        let now = reckoned(file, &of_all, &own);
        Dynamic { of_all, own, now }
    }

    /// Takes what is set for an entity; says whether that concerns this broker.
    // Source: BrokerConfigHandler.processConfigChanges
    pub(super) fn take(&mut self, entity: &str, config: Config, file: &Settings) -> bool {
        match entity {
            DEFAULT_ENTITY => self.of_all = config,
            id if id.parse() == Ok(file.broker_id.0) => self.own = config,
            _ => return false,
        }
        self.now = reckoned(file, &self.of_all, &self.own);
        true
    }

    /// What is set for all brokers.
    pub fn of_all(&self) -> &Config {
        &self.of_all
    }

    /// What is set for this one.
    pub fn own(&self) -> &Config {
        &self.own
    }

    /// What holds; nothing where that is the file.
    pub fn now(&self) -> Option<&Arc<Settings>> {
        self.now.as_ref()
    }
}

// Source: DynamicBrokerConfig.fromPersistentProps: what cannot be changed so, or has no value that
// it could have, is passed over.
fn reckoned(file: &Settings, of_all: &Config, own: &Config) -> Option<Arc<Settings>> {
    let takes = file.release.brokers_are_configured_by_themselves();
    if !takes || (of_all.is_empty() && own.is_empty()) {
        return None;
    }
    let mut now = file.clone();
    for config in [of_all, own] {
        for (name, value) in config {
            if is_dynamic(name) {
                // A value that is not taken leaves the one below.
                let _ = now.set(name, value);
            }
        }
    }
    Some(Arc::new(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::id::BrokerId;
    use crate::kafka::release::Release;

    fn config(pairs: &str) -> Config {
        let pairs = pairs.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn a_broker_s_own_setting_holds_before_that_of_all_and_that_before_the_file() {
        let (min, retention) = ("min.insync.replicas", "log.retention.ms");
        let table = [
            ("", "", min, "2"),
            ("min.insync.replicas=3", "", min, "3"),
            ("min.insync.replicas=3", "min.insync.replicas=1", min, "1"),
            ("", "min.insync.replicas=1", min, "1"),
            ("min.insync.replicas=3", "min.insync.replicas=none", min, "3"),
            ("min.insync.replicas=0", "", min, "2"),
            ("num.partitions=7", "", "num.partitions", "1"),
            ("log.retention.ms=5000", "min.insync.replicas=1", retention, "5000"),
            ("compression.type=gzip", "", retention, "null"),
        ];
        let mut file = Settings::new(BrokerId(1), "", 0);
        file.set(min, "2").expect("it is a number");
        for (of_all, own, name, expected) in table {
            let dynamic = Dynamic::over(&file, config(of_all), config(own));
            let now = dynamic.now().map_or(&file, |now| now);
            assert_eq!(now.value(name).as_deref(), Some(expected), "{of_all}, {own}");
        }
    }

    #[test]
    fn what_is_taken_back_holds_no_more_and_others_are_not_heeded() {
        let file = Settings::new(BrokerId(1), "", 0);
        let mut dynamic = Dynamic::default();
        assert!(dynamic.take("1", config("log.segment.bytes=100"), &file));
        assert!(!dynamic.take("2", config("log.segment.bytes=200"), &file));
        assert_eq!(dynamic.now().map(|now| now.log_segment_bytes), Some(100));
        assert!(dynamic.take("1", Config::new(), &file));
        assert_eq!(dynamic, Dynamic::default());
        let old = file.of_release(Release::V0_10_2_2);
        assert!(dynamic.take("1", config("log.segment.bytes=100"), &old));
        assert_eq!(dynamic.now(), None, "brokers took nothing so before 1.1");
    }
}
