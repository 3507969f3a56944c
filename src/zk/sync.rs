//! Synchronization: what a leader sends to a server that joins, so that both have one history.
//!
//! ```text
//!   leader's window    [ 4:7  4:8  4:9 ]
//!   learner at 4:7                        DIFF, then 4:8 4:9
//!   learner at 4:9     nothing            DIFF
//!   learner at 4:12    TRUNC to 4:9
//!   learner at 3:2     older than that:   the log if it reaches back, else SNAP
//! ```
//!
//! *Invariant: after a plan is carried out, the learner's last txn is the leader's last.*

use std::fmt;
use std::sync::Arc;

use super::database::Disk;
use super::release::Release;
use super::txn::Txn;
use super::zxid::Zxid;
use crate::sim::OrdMap;

/// How many committed txns a server keeps at hand.
// Source: ZKDatabase.commitLogCount.
const WINDOW_LEN: usize = 500;

/// The txns that were committed last.
// Source: ZKDatabase.committedLog.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CommittedWindow {
    txns: OrdMap<Zxid, Arc<Txn>>,
    max: Zxid,
}

impl CommittedWindow {
    /// The last.
    pub fn last(&self) -> Option<Zxid> {
        self.txns.last_key_value().map(|(zxid, _)| *zxid)
    }

    /// The txns that came after one, in their order.
    pub fn after(&self, zxid: Zxid) -> impl Iterator<Item = &Arc<Txn>> {
        self.txns.range(&zxid..).filter(move |(at, _)| **at > zxid).map(|(_, txn)| txn)
    }

    /// Those of a log that has just been read, from after the snapshot on.
    pub fn of_log(disk: &Disk) -> CommittedWindow {
        let mut window = CommittedWindow::default();
        for txn in disk.after(disk.snapshot.zxid) {
            window.push(txn.clone());
        }
        window
    }

    /// A txn has been applied.
    // Source: ZKDatabase.addCommittedProposal.
    pub fn push(&mut self, txn: Arc<Txn>) {
        if self.txns.len() == WINDOW_LEN {
            self.txns.pop_first();
        }
        self.max = txn.zxid;
        self.txns.insert(txn.zxid, txn);
    }

    /// The first and the last; both `applied` if there are none.
    fn bounds(&self, applied: Zxid) -> (Zxid, Zxid) {
        self.txns.first_key_value().map_or((applied, applied), |(&first, _)| (first, self.max))
    }
}

/// How a learner is brought up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Way {
    /// It gets what it misses.
    Diff,
    /// It cuts its log, then gets what it misses.
    Trunc,
    /// It gets the whole tree.
    Snap,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Diff => "DIFF",
            Way::Trunc => "TRUNC",
            Way::Snap => "SNAP",
        })
    }
}

/// What to send.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Plan {
    /// These txns.
    Diff(Vec<Arc<Txn>>),
    /// Cut after this one; then these.
    Trunc(Zxid, Vec<Arc<Txn>>),
    /// Everything.
    Snap,
}

impl Plan {
    /// Which of the ways it is.
    pub fn way(&self) -> Way {
        match self {
            Plan::Diff(_) => Way::Diff,
            Plan::Trunc(..) => Way::Trunc,
            Plan::Snap => Way::Snap,
        }
    }
}

/// Plans for a learner whose last txn is `seen`, at a leader that has applied `applied`.
// Source: LearnerHandler.syncFollower; LearnerHandler.run (3.4).
pub fn plan_sync(
    (seen, applied): (Zxid, Zxid),
    window: &CommittedWindow,
    disk: &Disk,
    release: Release,
) -> Plan {
    let (min, max) = window.bounds(applied);
    let starts_epoch = seen.counter() == 0;
    if seen == applied {
        Plan::Diff(Vec::new())
    } else if window.txns.is_empty() && release.plans_by_memory_alone() {
        Plan::Snap
    } else if seen > max {
        if starts_epoch { Plan::Snap } else { Plan::Trunc(max, Vec::new()) }
    } else if seen >= min {
        queue_committed(window.txns.values(), seen, release)
    } else if release.plans_by_memory_alone() {
        Plan::Snap
    } else {
        plan_from_disk((seen, max), disk, release)
    }
}

/// What to send out of these txns, the first of which is not after `seen`.
// Source: LearnerHandler.queueCommittedProposals.
fn queue_committed<'a>(
    txns: impl Iterator<Item = &'a Arc<Txn>>,
    seen: Zxid,
    release: Release,
) -> Plan {
    let (known, missing): (Vec<_>, Vec<_>) = txns.partition(|txn| txn.zxid <= seen);
    let missing: Vec<Arc<Txn>> = missing.into_iter().cloned().collect();
    let last_common = known.last().map_or(Zxid::ZERO, |txn| txn.zxid);
    if last_common == seen || seen.counter() == 0 {
        return Plan::Diff(missing);
    }
    match missing.first() {
        Some(next) if next.zxid.epoch() != seen.epoch() && !release.plans_by_memory_alone() => {
            Plan::Snap
        }
        _ => Plan::Trunc(last_common, missing),
    }
}

/// The log is used if it reaches back, and is short against a snapshot.
///
/// Real: the files' sizes are compared; here the numbers of txns and of znodes, because they stand
/// for them well enough.
// Source: ZKDatabase.getProposalsFromTxnLog, snapshotSizeFactor 0.33.
fn plan_from_disk((seen, max): (Zxid, Zxid), disk: &Disk, release: Release) -> Plan {
    let reaches_back = disk.log.first().is_some_and(|first| first.zxid <= seen);
    if !reaches_back {
        return Plan::Snap;
    }
    let missing = disk.after(seen).take_while(|txn| txn.zxid <= max).count() as u64;
    if missing * 3 > u64::from(disk.snapshot.tree.count().unsigned_abs()) {
        return Plan::Snap;
    }
    queue_committed(disk.log.iter().take_while(|txn| txn.zxid <= max), seen, release)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zk::stat::{Millis, SessionId};
    use crate::zk::txn::TxnBody;

    fn zxid(text: &str) -> Zxid {
        let (epoch, counter) = text.split_once(':').expect("epoch:counter");
        let number = |text: &str| text.parse().expect("a number");
        Zxid::new(number(epoch), number(counter))
    }

    fn txn(text: &str) -> Arc<Txn> {
        let body = TxnBody::CreateSession { timeout: Millis(4000) };
        let zxid = zxid(text);
        Arc::new(Txn { session: SessionId(1), cxid: 0, zxid, time: Millis(0), body })
    }

    fn told(plan: &Plan) -> String {
        let list = |txns: &[Arc<Txn>]| {
            txns.iter().map(|txn| format!(" {:?}", txn.zxid)).collect::<String>()
        };
        match plan {
            Plan::Diff(txns) => format!("DIFF{}", list(txns)),
            Plan::Trunc(to, txns) => format!("TRUNC {to:?}{}", list(txns)),
            Plan::Snap => "SNAP".to_owned(),
        }
    }

    fn check(seen: &str, applied: &str, window: &[&str], expected: &str) {
        check_of(Release::V3_8_0, (seen, applied), window, expected);
    }

    fn check_of(release: Release, (seen, applied): (&str, &str), window: &[&str], expected: &str) {
        let mut committed = CommittedWindow::default();
        window.iter().for_each(|text| committed.push(txn(text)));
        let zxids = (zxid(seen), zxid(applied));
        let plan = plan_sync(zxids, &committed, &Disk::default(), release);
        assert_eq!(told(&plan), expected, "{seen} joins {applied} with {window:?}");
    }

    #[test]
    fn up_to_3_4_only_memory_counts_and_epochs_do_not() {
        let window = ["4:7", "4:9", "5:1", "5:2"];
        let check = |seen, window: &[&str], expected| {
            check_of(Release::V3_4_14, (seen, "5:2"), window, expected);
        };
        check("5:2", &window, "DIFF");
        check("4:7", &window, "DIFF 4:9 5:1 5:2");
        check("4:8", &window, "TRUNC 4:7 4:9 5:1 5:2");
        check("4:12", &window, "TRUNC 4:9 5:1 5:2");
        check("5:9", &window, "TRUNC 5:2");
        check("4:3", &window, "SNAP");
        check("5:9", &[], "SNAP");
    }

    #[test]
    fn what_is_sent_follows_from_where_the_learner_is() {
        let window = ["4:7", "4:9", "5:1", "5:2"];
        check("5:2", "5:2", &window, "DIFF");
        check("4:9", "5:2", &window, "DIFF 5:1 5:2");
        check("4:7", "5:2", &window, "DIFF 4:9 5:1 5:2");
        check("5:0", "5:2", &window, "DIFF 5:1 5:2");
        check("5:9", "5:2", &window, "TRUNC 5:2");
        check("4:8", "5:2", &window, "TRUNC 4:7 4:9 5:1 5:2");
        check("4:12", "5:2", &window, "SNAP");
        check("4:3", "5:2", &window, "SNAP");
        check("6:0", "5:2", &window, "SNAP");
    }

    #[test]
    fn an_empty_window_ends_where_the_leader_is() {
        check("4:9", "4:9", &[], "DIFF");
        check("4:12", "4:9", &[], "TRUNC 4:9");
        check("4:3", "4:9", &[], "SNAP");
    }

    #[test]
    fn the_log_on_disk_serves_when_it_is_short() {
        let mut disk = Disk::default();
        ["1:1", "1:2", "1:3", "1:4"].iter().for_each(|text| disk.append(txn(text)));
        let plan_of = |release, seen: &str| {
            let mut window = CommittedWindow::default();
            window.push(txn("1:4"));
            told(&plan_sync((zxid(seen), zxid("1:4")), &window, &disk, release))
        };
        let plan = |seen| plan_of(Release::V3_8_0, seen);
        assert_eq!(plan("1:3"), "DIFF 1:4");
        assert_eq!(plan_of(Release::V3_5_9, "1:3"), "DIFF 1:4");
        assert_eq!(plan_of(Release::V3_4_14, "1:3"), "SNAP");
        assert_eq!(plan("1:1"), "SNAP");
        assert_eq!(plan("0:0"), "SNAP");
    }
}
