//! How much a fact matters to somebody who watches: what the event-paced clock stops for.
//!
//! *Invariant:* a fact that nobody has rated is worth a glance ([`GLANCE`]), not a stop.

use crate::cluster::{Cluster, Kind};
use crate::kafka::words::Fact;
use crate::sim::{KernelFact, Telling};

/// Worth a stop of its own: the story turns here.
pub const TURN: u8 = 3;
/// Worth slowing down for.
pub const STEP: u8 = 2;
/// Worth a glance.
pub const GLANCE: u8 = 1;
/// Housekeeping.
pub const NOTHING: u8 = 0;

/// The facts that differ from [`GLANCE`].
const RATED: &[(&str, u8)] = &[
    ("process-killed", TURN),
    ("process-exited", TURN),
    ("process-frozen", TURN),
    ("session-expired", TURN),
    ("zk-leading", TURN),
    ("quorum-lost", TURN),
    ("quota-exceeded", STEP),
    ("log-not-written", TURN),
    ("snapshot-not-written", TURN),
    ("epoch-not-written", STEP),
    ("controller-elected", TURN),
    ("controller-fenced", TURN),
    ("partition-offline", TURN),
    ("unclean-leader", TURN),
    ("node-in-the-way", TURN),
    ("node-conflict", STEP),
    ("nobody-to-elect", STEP),
    ("deletion-halted", STEP),
    ("order-too-old", STEP),
    ("ownership-conflict", STEP),
    ("rebalance-threw", STEP),
    ("frame-too-long", STEP),
    ("read-only-started", TURN),
    ("zk-connected-read-only", STEP),
    ("majority-found", STEP),
    ("too-many-connections", STEP),
    ("zxid-rolled-over", TURN),
    ("thread-died", TURN),
    ("digest-mismatch", TURN),
    ("myid-refused", TURN),
    ("no-committed-offset", NOTHING),
    ("broker-fatal", TURN),
    ("broker-halted", TURN),
    ("group-stable", TURN),
    ("record-failed", TURN),
    ("message-dropped", TURN),
    ("process-started", STEP),
    ("process-thawed", STEP),
    ("link-cut", STEP),
    ("link-healed", STEP),
    ("disk-slowed", STEP),
    ("disk-wiped", STEP),
    ("disk-filled", STEP),
    ("disk-freed", STEP),
    ("clock-changed", STEP),
    ("looking", STEP),
    ("zk-elected", STEP),
    ("zk-following", STEP),
    ("zk-observing", STEP),
    ("session-opened", STEP),
    ("session-closed", STEP),
    ("local-session-opened", STEP),
    ("local-session-ended", STEP),
    ("session-upgraded", STEP),
    ("session-refused", STEP),
    ("session-moved", STEP),
    ("zk-expired", STEP),
    ("session-lost", STEP),
    ("watch-fired", STEP),
    ("znode-deleted", STEP),
    ("broker-registered", STEP),
    ("broker-running", STEP),
    ("brokers-changed", STEP),
    ("topic-registered", STEP),
    ("brokers-known", STEP),
    ("partitions-known", STEP),
    ("record-stored", NOTHING),
    ("controller-resigned", STEP),
    ("topic-created", STEP),
    ("partitions-added", STEP),
    ("topic-deleted", STEP),
    ("leader-elected", TURN),
    ("replica-removed", STEP),
    ("isr-shrunk", STEP),
    ("isr-expanded", STEP),
    ("isr-not-written", STEP),
    ("topic-id-mismatch", STEP),
    ("offset-expired", STEP),
    ("truncated", STEP),
    ("log-rolled", STEP),
    ("log-begun-anew", TURN),
    ("segments-deleted", STEP),
    ("log-cleaned", STEP),
    ("log-dir-failed", TURN),
    ("segment-not-deleted", TURN),
    ("offsets-loaded", STEP),
    ("offsets-loading", TURN),
    ("shutdown-started", STEP),
    ("shutdown-done", STEP),
    ("group-preparing-rebalance", STEP),
    ("group-empty", STEP),
    ("partitions-assigned", STEP),
    ("partitions-revoked", STEP),
    ("partitions-lost", STEP),
    ("rebalance-succeeded", STEP),
    ("rebalance-failed", STEP),
    ("ownership-released", STEP),
    ("consumer-registered", STEP),
    ("partition-still-owned", STEP),
    ("consumer-threw", TURN),
    ("znode-changed", NOTHING),
    ("request-refused", NOTHING),
    ("record-sent", NOTHING),
    ("record-acked", NOTHING),
    ("offset-committed", NOTHING),
    ("offsets-sent", NOTHING),
    ("offsets-written", NOTHING),
    ("commit-done", NOTHING),
    ("coordinator-found", NOTHING),
    ("record-read", NOTHING),
    ("stream-record", NOTHING),
    ("position-reset", NOTHING),
    ("draw-fixed", NOTHING),
    ("epoch-proposed", NOTHING),
    ("member-named", NOTHING),
];

/// The importance of a fact in this cluster. That a tool begins, or ends in order, is housekeeping:
/// what it does is told by those who do it.
pub fn importance_in(cluster: &Cluster, fact: &Fact) -> u8 {
    if let Fact::Kernel(KernelFact::Started { process } | KernelFact::Exited { process, code: 0 }) =
        fact
        && cluster.find(&process.0).is_some_and(|id| cluster.process(id).kind() == Kind::Tool)
    {
        return NOTHING;
    }
    importance(fact.key())
}

/// The importance of a fact, by its key.
pub fn importance(key: &str) -> u8 {
    RATED.iter().find(|(rated, _)| *rated == key).map_or(GLANCE, |(_, score)| *score)
}
