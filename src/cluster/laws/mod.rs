//! The laws: what must be true of every run, whatever is done to it.
//!
//! A law is one function and one row of [`LAWS`]. Some look at what is told, some at the processes'
//! states; when each is asked is the [`Judge`]'s affair. What is found is said in notation.
//!
//! *Invariant:* checking changes nothing but what the [`Judge`] remembers.

mod histories;
mod judge;
mod kafka;
mod liveness;
mod replicas;
mod settled;
mod zk;
mod znodes;

pub use judge::{Breach, Broken, Judge};
pub use settled::{is_meant_to_run, settled, stuck};

use super::{Cluster, Record, Trace};
use crate::kafka::id::{BrokerId, ControllerEpoch, LeaderEpoch, Offset, TopicName, TopicPartition};
use crate::kafka::release::Release;
use crate::kafka::znodes::StateZnode;
use crate::sim::{OrdMap, ProcessId, SimTime};
use crate::zk::database::Database;
use crate::zk::laws::{self, Subject};
use crate::zk::path::Path;
use crate::zk::stat::SessionId;
use crate::zk::vote::{Round, Vote};
use crate::zk::zxid::Zxid;
use std::sync::Arc;
use znodes::Version;

/// One law.
pub struct Law {
    /// Its name.
    pub name: &'static str,
    /// The key of its sentence: `law.NAME`.
    pub key: &'static str,
    /// What it is called in the lists of such laws: S and L are Kafka's, Z is ZooKeeper's.
    pub ids: &'static str,
    /// Whether real clusters break it.
    pub real: Real,
    check: Check,
}

/// Who breaks a law in reality; the key of a text says how, and what cures it.
#[derive(Clone, Copy)]
pub enum Real {
    /// Nobody: where it is broken, this model is wrong.
    Nobody,
    /// Whoever has chosen it, by a setting or by their own hand, or has met a bug that is not here.
    ByChoice(&'static str),
    /// Of these releases every cluster may, if it is unlucky; else as by choice.
    Releases(fn(Release) -> bool, &'static str),
    /// Every cluster that has come to this, which may befall any; else as by choice.
    While(fn(&Cluster) -> bool, &'static str),
}

type Verdict = Result<(), String>;

/// What a law looks at.
#[derive(Clone, Copy)]
enum Check {
    /// A record.
    Record(fn(&mut Seen, &Witness<'_>) -> Verdict),
    /// A process.
    Process(fn(&mut Seen, ProcessId, &Cluster) -> Verdict),
    /// The servers of ZooKeeper.
    Servers(fn(&[Subject<'_>]) -> Verdict),
    /// What a server of ZooKeeper has in memory, as far as it was changed after that zxid.
    Tree(fn(&str, &Database, Zxid) -> Verdict),
    /// The servers, when there is time for more.
    RestingServers(fn(&[Subject<'_>]) -> Verdict),
    /// The whole cluster, when there is time for it.
    Rest(fn(&mut Seen, &Cluster) -> Verdict),
}

/// A record, and what can be seen after it.
struct Witness<'a> {
    record: &'a Record<'a>,
    cluster: &'a Cluster,
    trace: &'a Trace,
    /// The states of partitions that were written with it.
    states: Vec<(TopicPartition, Version<StateZnode>)>,
}

use Check::{Process, Record as Told, Rest, RestingServers, Servers, Tree};
use Real::{ByChoice, Nobody, Releases, While};

const BY_HAND: Real = ByChoice("law.real.hand");
const WIPED: Real = ByChoice("law.real.wiped");
const NUMBERS: Real = ByChoice("law.real.numbers");
const GHOSTS: Real = ByChoice("law.real.ghosts");
const ZOMBIES: Real =
    Releases(|release| !release.controller_writes_are_fenced(), "law.real.zombies");
const EMPTY_ISRS: Real = Releases(Release::isrs_may_be_empty, "law.real.empty-isrs");
const UNCLEAN: Real = Releases(Release::elects_unclean_leaders_by_default, "law.real.unclean");
const LOSSES: Real = Releases(
    |release| release.followers_cut_to_their_hw() || release.elects_unclean_leaders_by_default(),
    "law.real.losses",
);
const PARTED: Real = Releases(
    |release| {
        let asks = release.followers_cut_to_their_hw() || !release.leaders_tell_which_epoch_ends();
        asks || release.elects_unclean_leaders_by_default()
    },
    "law.real.losses",
);
const KEYS: Real = Releases(Release::brokers_are_alone, "law.real.keys");
const OLD_OFFSETS: Real = Releases(Release::has_old_consumers, "law.real.old-offsets");
const GIVEN_BACK_TWICE: Real = Releases(Release::has_old_consumers, "law.real.given-back-twice");
const OWN_PARTITIONS: Real = ByChoice("law.real.own-partitions");
const FORGOTTEN: Real = ByChoice("law.real.forgotten");
const IMBALANCE: Real = ByChoice("law.real.imbalance");
const NO_CONTROLLER: Real = ByChoice("law.real.no-controller");
const LOST_ANSWERS: Real = While(|cluster| !stuck(cluster).is_empty(), "law.real.lost-answers");
const UNSTABLE: Real = ByChoice("law.real.unstable");
const GAVE_UP: Real = While(settled::old_members_gave_up, "law.real.gave-up");

macro_rules! laws {
    ($($ids:literal $name:literal $real:ident $kind:ident($check:path);)*) => {
        /// Every law.
        pub const LAWS: &[Law] = &[$(Law {
            name: $name,
            key: concat!("law.", $name),
            ids: $ids,
            real: $real,
            check: $kind($check),
        }),*];
    };
}

laws! {
    "S1" "controller-has-a-session" BY_HAND Tree(znodes::controller_has_a_session);
    "S2" "controller-epochs-rise" BY_HAND Told(znodes::controller_epochs_rise);
    "S3" "old-orders-are-refused" Nobody Process(replicas::old_orders_are_refused);
    "S4" "states-are-by-the-last" ZOMBIES Told(znodes::states_are_by_the_last);
    "S5" "leader-epochs-rise" BY_HAND Told(znodes::leader_epochs_rise);
    "S6" "one-leader-per-epoch" Nobody Told(kafka::one_leader_per_epoch);
    "S7a" "leader-is-in-its-isr" BY_HAND Told(znodes::leader_is_in_its_isr);
    "S7b" "isr-is-of-replicas" Nobody Rest(replicas::isr_is_of_replicas);
    "S8" "isr-is-not-empty" EMPTY_ISRS Told(znodes::isr_is_not_empty);
    "S9" "leaders-come-from-the-isr" UNCLEAN Told(znodes::leaders_come_from_the_isr);
    "S10" "hw-is-below-the-end" Nobody Process(replicas::hw_is_below_the_end);
    "S11" "committed-is-in-sync" LOSSES Rest(replicas::committed_is_in_sync);
    "S12" "hw-never-falls" Nobody Process(replicas::hw_never_falls);
    "S13" "committed-records-are-equal" PARTED Rest(replicas::committed_records_are_equal);
    "S14" "acknowledged-records-stay" LOSSES Told(kafka::acknowledged_records_stay);
    "S15" "reads-end-at-the-hw" Nobody Told(kafka::reads_end_at_the_hw);
    "S16" "read-records-stay" LOSSES Told(kafka::read_records_stay);
    "S17" "no-record-comes-twice" FORGOTTEN Rest(replicas::no_record_comes_twice);
    "S18" "keys-keep-their-partition" KEYS Told(kafka::keys_keep_their_partition);
    "S19" "one-owner-per-generation" Nobody Rest(kafka::one_owner_per_generation);
    "S20" "old-owners-have-their-znodes" GIVEN_BACK_TWICE Rest(kafka::old_owners_have_their_znodes);
    "S21" "old-offsets-never-fall" OLD_OFFSETS Told(znodes::old_offsets_never_fall);
    "S23" "an-id-has-one-broker" BY_HAND Told(kafka::an_id_has_one_broker);
    "S24" "keys-are-hashed" OWN_PARTITIONS Told(kafka::keys_are_hashed);
    "S25" "replicas-are-distinct" BY_HAND Told(znodes::replicas_are_distinct);
    "L1" "somebody-controls" NO_CONTROLLER Rest(liveness::somebody_controls);
    "L2" "partitions-get-leaders" LOST_ANSWERS Rest(liveness::partitions_get_leaders);
    "L3" "followers-get-in-sync" LOST_ANSWERS Rest(liveness::followers_get_in_sync);
    "L4" "the-dead-leave-the-isr" LOST_ANSWERS Rest(liveness::the_dead_leave_the_isr);
    "L5" "preferred-replicas-lead" IMBALANCE Rest(liveness::preferred_replicas_lead);
    "L6" "deleted-topics-go" LOST_ANSWERS Rest(liveness::deleted_topics_go);
    "L7" "members-get-their-shares" UNSTABLE Rest(liveness::members_get_their_shares);
    "L8" "old-partitions-get-owners" GAVE_UP Rest(liveness::old_partitions_get_owners);
    "L9" "producers-get-answers" Nobody Rest(liveness::producers_get_answers);
    "L10" "notes-are-taken" Nobody Rest(liveness::notes_are_taken);
    "Z1" "one-zk-leader-per-epoch" Nobody Servers(laws::one_leader_per_epoch);
    "Z2" "histories-are-prefixes" Nobody Servers(laws::histories_are_prefixes);
    "Z3" "only-proposals-are-applied" Nobody Process(histories::only_proposals_are_applied);
    "Z4" "zxids-have-no-gaps" Nobody Servers(laws::zxids_have_no_gaps);
    "Z5" "leaders-have-all" WIPED Process(histories::leaders_have_what_is_committed);
    "Z6" "applied-is-on-a-quorum" WIPED Servers(laws::applied_is_on_a_quorum);
    "Z7" "answers-are-committed" Nobody Process(histories::answers_are_committed);
    "Z8" "epochs-are-in-order" Nobody Servers(laws::epochs_are_in_order);
    "Z9" "acks-are-on-disk" Nobody Servers(laws::acks_are_on_disk);
    "Z10" "equal-zxids-mean-equal-trees" GHOSTS RestingServers(laws::equal_trees);
    "Z11" "zxids-are-used-once" WIPED Process(histories::zxids_are_used_once);
    "Z12" "znodes-have-parents" Nobody Tree(zk::znodes_have_parents);
    "Z13" "zxids-are-in-order" Nobody Tree(zk::zxids_are_in_order);
    "Z14" "numbers-rise" NUMBERS Told(histories::numbers_rise);
    "Z15" "ephemerals-have-sessions" GHOSTS Tree(zk::ephemerals_have_sessions);
    "Z16" "sessions-get-their-time" Nobody Told(zk::sessions_get_their_time);
    "Z17" "clients-never-go-back" Nobody Process(zk::clients_never_go_back);
    "Z18" "own-writes-are-seen" Nobody Told(histories::own_writes_are_seen);
    "Z19" "events-come-before-answers" Nobody Told(histories::events_come_before_answers);
    "Z20a" "watches-fire-once" Nobody Told(histories::watches_fire_once);
    "Z20b" "changes-fire-watches" Nobody Rest(histories::changes_fire_watches);
    "Z21" "txns-are-one-step" Nobody Told(histories::txns_are_one_step);
    "Z22" "refused-writes-change-nothing" Nobody Rest(histories::refused_writes_change_nothing);
    "Z23" "one-connection-writes" Nobody Process(histories::one_connection_writes);
    "Z24" "no-leader-no-clients" Nobody Servers(laws::no_leader_no_clients);
    "Z26" "observers-do-not-count" Nobody Servers(laws::observers_do_not_count);
    "Z28" "votes-only-rise" Nobody Process(zk::votes_only_rise);
    "Z29" "disks-hold-what-is-applied" GHOSTS Rest(histories::disks_hold_what_is_applied);
}

impl Law {
    /// Whether clusters of that release break it without anybody having chosen so, or one that has
    /// come to where this one is.
    fn is_broken_by(&self, release: Release, cluster: &Cluster) -> bool {
        match self.real {
            Nobody | ByChoice(_) => false,
            Releases(breaks, _) => breaks(release),
            While(breaks, _) => breaks(cluster),
        }
    }
}

/// What is remembered of the run so far.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// What `/controller_epoch` held last.
    controller_epoch: Option<Version<ControllerEpoch>>,
    /// The state of each partition as it was written last.
    states: OrdMap<TopicPartition, Version<StateZnode>>,
    leaders: OrdMap<(TopicPartition, LeaderEpoch), ProcessId>,
    /// By leader: the HW that it had last, and in which epoch.
    watermarks: OrdMap<(ProcessId, TopicPartition), (LeaderEpoch, Offset)>,
    /// The highest controller epoch that a broker obeys.
    obeyed: OrdMap<ProcessId, ControllerEpoch>,
    /// Up to where a partition's leader and a follower have been compared.
    compared: OrdMap<(TopicPartition, BrokerId, BrokerId), Offset>,
    /// Up to where old values have been taken out of some replica of a partition.
    cleaned: OrdMap<TopicPartition, Offset>,
    /// The end of what was acknowledged by all in sync.
    acknowledged: OrdMap<TopicPartition, Offset>,
    /// The end of what has been read.
    read: OrdMap<TopicPartition, Offset>,
    /// Where a producer has sent a key.
    keys: OrdMap<(ProcessId, TopicName, Arc<str>), i32>,
    /// How many partitions a topic had for a producer then.
    counts: OrdMap<(ProcessId, TopicName), Counted>,
    /// What old consumers have committed.
    offsets: OrdMap<Path, Offset>,
    /// How far a session's client has seen.
    zxids: OrdMap<ProcessId, (SessionId, Zxid)>,
    votes: OrdMap<ProcessId, (Round, Vote)>,
    past: histories::Past,
    /// When somebody outside did something last.
    disturbed: Option<SimTime>,
}

/// How many partitions a topic has for a producer, and whether all that it still has was placed
/// among so many.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    count: Option<i32>,
    is_settled: bool,
}

/// Turns what was found into a verdict.
fn none<T: std::fmt::Display>(found: Option<T>) -> Verdict {
    found.map_or(Ok(()), |found| Err(found.to_string()))
}

#[cfg(test)]
mod tests;
