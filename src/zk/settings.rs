//! What a server is configured with, by its real names.
//!
//! *Invariant: a setting keeps ZooKeeper's default unless somebody changed it.*

use super::release::Release;
use super::stat::Millis;
use crate::sim::Span;

/// The settings of one server, with the defaults of the sample file where there is one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Settings {
    /// What it runs.
    pub release: Release,
    /// `tickTime`.
    pub tick_time: Span,
    /// `initLimit`: how many ticks a step of the beginning may take.
    pub init_limit: u32,
    /// `syncLimit`: how many ticks leader and learner may be silent.
    pub sync_limit: u32,
    /// `minSessionTimeout`; `None` is two ticks.
    pub min_session_timeout: Option<Span>,
    /// `maxSessionTimeout`; `None` is twenty ticks.
    pub max_session_timeout: Option<Span>,
    /// `znode.container.checkIntervalMs`; zero never looks.
    pub container_check_interval: Span,
    /// `zookeeper.extendedTypesEnabled`: may znodes have a TTL?
    pub ttl_znodes: Switch,
    /// `zookeeper.enforceQuota`: are quotas heeded?
    pub enforce_quota: Switch,
    /// `jute.maxbuffer`: the longest frame in bytes.
    pub jute_maxbuffer: u64,
    /// `snapCount`: about how many txns go by between two snapshots.
    pub snap_count: u64,
    /// `maxClientCnxns`: how many connections one address may have; zero is no limit.
    pub max_client_cnxns: u32,
    /// `readonlymode.enabled`: are reads served while it looks for a leader?
    pub read_only_mode: Switch,
    /// `localSessionsEnabled`: are new sessions known to their own server only?
    pub local_sessions: Switch,
    /// `localSessionsUpgradingEnabled`: does such a session become global when it has to?
    pub local_sessions_upgrading: Switch,
    /// `4lw.commands.whitelist`: which words are answered.
    pub whitelist: Whitelist,
    /// `zookeeper.testingonly.initialZxid`: where the counter of each epoch begins.
    pub initial_zxid: u32,
}

/// On or off.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Switch {
    /// Enabled.
    On,
    /// Disabled.
    Off,
}

/// Which four-letter words are answered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Whitelist {
    /// Those that the release answers by itself.
    OfRelease,
    /// These, a bit each, in the order of [`four_letter::WORDS`](super::four_letter::WORDS).
    Named(u32),
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            release: Release::V3_8_0,
            tick_time: Span::ms(2000),
            init_limit: 10,
            sync_limit: 5,
            min_session_timeout: None,
            max_session_timeout: None,
            container_check_interval: Span::secs(60),
            ttl_znodes: Switch::Off,
            enforce_quota: Switch::Off,
            jute_maxbuffer: 0xfffff,
            snap_count: 100_000,
            max_client_cnxns: 0,
            read_only_mode: Switch::Off,
            local_sessions: Switch::Off,
            local_sessions_upgrading: Switch::Off,
            whitelist: Whitelist::OfRelease,
            initial_zxid: 0,
        }
    }
}

impl Settings {
    /// The same for a release, which may not know what is switched on.
    pub fn of_release(self, release: Release) -> Settings {
        let there = |switch, is_there| if is_there { switch } else { Switch::Off };
        Settings {
            release,
            ttl_znodes: there(self.ttl_znodes, release.has_containers()),
            enforce_quota: there(self.enforce_quota, release.enforces_quotas()),
            read_only_mode: there(self.read_only_mode, release.has_read_only_mode()),
            local_sessions: there(self.local_sessions, release.has_local_sessions()),
            ..self
        }
    }

    /// The session timeout that a client gets for the one it wants.
    // Source: ZooKeeperServer.processConnectRequest.
    pub fn negotiated(&self, wanted: Millis) -> Millis {
        let (min, max) = self.session_timeouts();
        wanted.max(min).min(max)
    }

    /// The least and the longest session timeout.
    pub fn session_timeouts(&self) -> (Millis, Millis) {
        let bound = |span: Span| Millis(span.as_ms().cast_signed());
        let min = self.min_session_timeout.unwrap_or(self.tick_time * 2);
        let max = self.max_session_timeout.unwrap_or(self.tick_time * 20);
        (bound(min), bound(max))
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;
    use crate::zk::stat::Millis;

    #[test]
    fn timeouts_are_two_to_twenty_ticks() {
        let settings = Settings::default();
        let check = |wanted, expected| {
            assert_eq!(settings.negotiated(Millis(wanted)), Millis(expected));
        };
        check(-5, 4000);
        check(4001, 4001);
        check(60_000, 40_000);
    }
}
