//! Quotas: how much may be at and below a znode, and how much is.
//!
//! Both are text in znodes of their own under `/zookeeper/quota`; `tree` keeps the count, `prep`
//! refuses, and the command line client (`cli`) sets them.
//!
//! *Invariant: nobody counts where nobody has set limits.*

use super::path::{self, Path};
use super::settings::Switch;
use super::stat::Bytes;
use super::tree::Tree;
use super::txn::{Txn, TxnBody};
use super::words::{Fact, Words};
use crate::sim::Outbox;

/// Below it lies a copy of each path that has a quota.
pub const QUOTAS: &str = "/zookeeper/quota";
/// How much may be.
pub const LIMITS: &str = "zookeeper_limits";
/// How much is.
pub const STATS: &str = "zookeeper_stats";

/// What such a znode says; -1 is no limit. Hard limits stand there only once somebody named them.
// Source: StatsTrack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Track {
    /// Znodes.
    pub count: i64,
    /// Bytes of data.
    pub bytes: i64,
    /// Bytes beyond which a write is refused.
    pub byte_hard_limit: Option<i64>,
    /// Znodes beyond which a write is refused.
    pub count_hard_limit: Option<i64>,
}

impl Track {
    /// No limits.
    pub const NONE: Track =
        Track { count: -1, bytes: -1, byte_hard_limit: None, count_hard_limit: None };

    /// Reads `count=4,bytes=5=;byteHardLimit=10;countHardLimit=10`.
    pub fn read(data: &Bytes) -> Track {
        let text = data.to_text();
        let mut track = Track::NONE;
        for pair in text.split([',', ';']) {
            let mut parts = pair.split('=');
            let (name, value) = (parts.next(), parts.next());
            let value = value.and_then(|value| value.parse().ok()).unwrap_or(-1);
            match name {
                Some("count") => track.count = value,
                Some("bytes") => track.bytes = value,
                Some("byteHardLimit") => track.byte_hard_limit = Some(value),
                Some("countHardLimit") => track.count_hard_limit = Some(value),
                _ => {}
            }
        }
        track
    }

    /// As it is written; the `=` behind the bytes lets older clients read it.
    // Source: StatsTrack.toString.
    pub fn text(&self) -> String {
        let mut text = format!("count={},bytes={}", self.count, self.bytes);
        let hard =
            [("byteHardLimit", self.byte_hard_limit), ("countHardLimit", self.count_hard_limit)];
        if hard.iter().any(|(_, limit)| limit.is_some()) {
            text.push('=');
        }
        for (name, limit) in hard {
            if let Some(limit) = limit {
                text.push_str(&format!(";{name}={limit}"));
            }
        }
        text
    }
}

/// The znode of this name that belongs to the quota of `path`.
// Source: Quotas.limitPath, Quotas.statPath.
pub fn at(path: &str, name: &str) -> Path {
    Path::from([QUOTAS, path, "/", name].concat())
}

/// The path with a quota that `path` is at or below.
// Source: DataTree.getMaxPrefixWithQuota.
pub fn over<'a>(tree: &Tree, path: &'a str) -> Option<&'a str> {
    if tree.znode(QUOTAS).is_none_or(|quotas| quotas.children.is_empty()) {
        return None;
    }
    let mut here = path;
    while here.len() > 1 {
        if tree.znode(&at(here, LIMITS)).is_some() {
            return Some(here);
        }
        here = path::parent(here)?;
    }
    None
}

/// A limit that would be exceeded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excess {
    /// Whose it is.
    pub path: Path,
    /// What is counted.
    pub what: &'static str,
    /// How much it would be.
    pub now: i64,
    /// Which limit.
    pub name: &'static str,
    /// How much it allows.
    pub limit: i64,
}

impl Excess {
    /// Whether the write is refused.
    pub fn is_hard(&self) -> bool {
        self.name.starts_with("hard")
    }
}

/// What would be too much if so many bytes and znodes came to `path`.
// Source: ZooKeeperServer.checkQuota.
pub fn excess(tree: &Tree, path: &str, bytes: i64, znodes: i64) -> Option<Excess> {
    let over = over(tree, path)?;
    let track = |name| tree.znode(&at(over, name)).map(|znode| Track::read(&znode.data));
    let (limits, stats) = (track(LIMITS)?, track(STATS)?);
    let counts = (limits.count_hard_limit, limits.count, ["hardCountLimit", "softCountLimit"]);
    let sizes = (limits.byte_hard_limit, limits.bytes, ["hardByteLimit", "softByteLimit"]);
    let kinds = [("count", znodes, stats.count, counts), ("bytes", bytes, stats.bytes, sizes)];
    let mut found: Option<Excess> = None;
    for (what, more, now, (hard, soft, names)) in kinds {
        let hard = hard.filter(|limit| *limit > -1);
        let (limit, name) = hard.map_or((soft, names[1]), |limit| (limit, names[0]));
        let now = now.wrapping_add(more);
        let is_first = found.as_ref().is_none_or(|found| !found.is_hard());
        if more != 0 && limit > -1 && now > limit && is_first {
            found = Some(Excess { path: Path::new(over), what, now, name, limit });
        }
    }
    found
}

/// How many bytes a znode would grow by, with other data.
pub fn growth(tree: &Tree, path: &str, data: &Bytes) -> i64 {
    i64::from(data.count()) - tree.znode(path).map_or(0, |znode| i64::from(znode.data.count()))
}

/// Tells of the soft limits that a write exceeds.
///
/// Real: the log is told no more than once in a while (`RateLogger`); here each time.
pub fn warn(enforce: Switch, tree: &Tree, txn: &Txn, out: &mut Outbox<'_, Words>) {
    let excess = match &txn.body {
        _ if enforce == Switch::Off => None,
        TxnBody::Create(create) => excess(tree, &create.path, i64::from(create.data.count()), 1),
        TxnBody::SetData { path, data, .. } => excess(tree, path, growth(tree, path, data), 0),
        _ => None,
    };
    if let Some(Excess { path, what, now, name, limit }) = excess {
        out.tell(Fact::QuotaExceeded { path, what, now, name, limit });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_track_is_read_as_it_is_written() {
        let check = |text: &str, track: Track| {
            assert_eq!(track.text(), text);
            assert_eq!(Track::read(&Bytes::from(text)), track);
        };
        check("count=-1,bytes=-1", Track::NONE);
        check("count=4,bytes=5", Track { count: 4, bytes: 5, ..Track::NONE });
        check(
            "count=2,bytes=-1=;byteHardLimit=-1;countHardLimit=9",
            Track { count: 2, byte_hard_limit: Some(-1), count_hard_limit: Some(9), ..Track::NONE },
        );
        assert_eq!(Track::read(&Bytes::NULL), Track::NONE);
    }
}
