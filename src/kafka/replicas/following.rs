//! Following: one fetch under way to each leader, and what comes back.
//!
//! *Invariant: what is fetched is taken only if the log still ends where it ended at the request.*

use std::ops::ControlFlow;
use std::sync::Arc;

use super::Replicas;
use super::keeping::{look_later, tell_of_rolls};
use crate::kafka::broker::Turn;
use crate::kafka::error::Error;
use crate::kafka::id::{BrokerId, Offset, TopicName, TopicPartition};
use crate::kafka::message::{FetchFrom, FetchResponse, Isolation, PartitionFetchResponse};
use crate::kafka::partition::Partition;
use crate::kafka::release::Release;
use crate::kafka::segments::LogConfig;
use crate::kafka::settings::Settings;
use crate::kafka::wire::Purpose;
use crate::kafka::words::{BrokerFact, BrokerTimer};
use crate::kafka::znodes::Config;
use crate::sim::{OrdMap, OrdSet, SimTime};

/// Which fetchers are about to end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    /// Those from these leaders, with their last fetch.
    ending: OrdSet<BrokerId>,
    /// No new one is begun, the broker being about to stop.
    pub(super) begins_none: bool,
}

impl Replicas {
    /// The broker is about to stop.
    // Source: ReplicaManager.makeFollowers: "skipped the adding-fetcher step … since it is shutting
    // down"
    // Real: so in all releases; here where it shows, because later ones stop at once.
    pub fn shut_down(&mut self, release: Release) {
        self.ends.begins_none = release.idle_fetchers_hold_up_stops();
    }

    /// Whether a fetcher has yet to end, which holds up orders that begin and end others.
    pub fn ends_a_fetcher(&self) -> bool {
        !self.ends.ending.is_empty()
    }

    /// Ends all fetchers, each with its last fetch.
    pub fn end_all_fetchers(&mut self, turn: &mut Turn<'_, '_>) {
        for (leader, _) in std::mem::take(&mut self.fetchers) {
            self.end_fetcher(leader, turn);
        }
    }

    fn end_fetcher(&mut self, leader: BrokerId, turn: &mut Turn<'_, '_>) {
        let slowly = turn.settings.release.idle_fetchers_hold_up_stops();
        turn.out.disarm(BrokerTimer::FetchBackoff(leader));
        match slowly && turn.wire.is_calling(Purpose::Fetch(leader)) {
            true => drop(self.ends.ending.insert(leader)),
            false => turn.wire.forget(Purpose::Fetch(leader)),
        }
    }

    pub(super) fn stop_fetching(&mut self, tp: &TopicPartition) {
        let end = self.partitions.get(tp).map(|partition| partition.log.end());
        for fetcher in self.fetchers.values_mut() {
            if fetcher.partitions.contains_key(tp) {
                Arc::make_mut(&mut fetcher.partitions).remove(tp);
                if let Some(end) = end.filter(|_| fetcher.busy && !fetcher.asked.contains_key(tp)) {
                    fetcher.asked.insert(tp.clone(), end);
                }
            }
        }
    }

    pub(super) fn drop_idle_fetchers(&mut self, turn: &mut Turn<'_, '_>) {
        let idle = self.fetchers.iter().filter(|(_, fetcher)| fetcher.partitions.is_empty());
        let idle: Vec<BrokerId> = idle.map(|(&leader, _)| leader).collect();
        for leader in idle {
            self.fetchers.remove(&leader);
            self.end_fetcher(leader, turn);
        }
    }

    /// Sends the next fetch to a leader, if none is on its way.
    pub fn fetch_from(&mut self, leader: BrokerId, turn: &mut Turn<'_, '_>) {
        let Some(fetcher) = self.fetchers.get_mut(&leader).filter(|fetcher| !fetcher.busy) else {
            return;
        };
        let now = turn.out.now();
        let ready = fetcher.partitions.iter().filter(|(_, at)| **at <= now).map(|(tp, _)| tp);
        let fetch_from = fetch_from(turn.settings);
        let mut partitions = self.partitions.walk();
        let mut all = ready.filter_map(|tp| Some((tp, fetch_from(partitions.get(tp)?)))).peekable();
        if all.peek().is_none() {
            if let Some(&at) = fetcher.partitions.values().min() {
                turn.out.arm(BrokerTimer::FetchBackoff(leader), at.since(now));
            }
            return;
        }
        fetcher.busy = true;
        fetcher.asked.clear();
        let who = (self.me, Isolation::ReadUncommitted);
        let how = (turn.settings.replica_fetch_wait_max, turn.settings.replica_fetch_min_bytes);
        let request = fetcher.fetching.ask(who, how, all, turn.settings.release);
        turn.wire.call(fetcher.leader.process, Purpose::Fetch(leader), request, turn.out);
    }

    /// The fetcher has waited after a failure, or for a partition that was refused; meanwhile it
    /// may have begun to fetch others.
    pub fn fetch_again(&mut self, leader: BrokerId, turn: &mut Turn<'_, '_>) {
        if turn.wire.is_calling(Purpose::Fetch(leader)) {
            return;
        }
        if let Some(fetcher) = self.fetchers.get_mut(&leader) {
            fetcher.busy = false;
            self.fetch_from(leader, turn);
        }
    }

    /// The connection to a leader has broken.
    pub fn fetch_lost(&mut self, leader: BrokerId, turn: &mut Turn<'_, '_>) {
        self.ends.ending.remove(&leader);
        if let Some(fetcher) = self.fetchers.get_mut(&leader) {
            fetcher.fetching.lost();
            let backoff = turn.settings.replica_fetch_backoff;
            turn.out.arm(BrokerTimer::FetchBackoff(leader), backoff);
        }
    }

    /// Takes what a leader has sent, but not what was asked when a log ended elsewhere.
    // Source: AbstractFetcherThread.processFetchRequest
    pub fn fetched(&mut self, leader: BrokerId, response: FetchResponse, turn: &mut Turn<'_, '_>) {
        self.ends.ending.remove(&leader);
        let Some(fetcher) = self.fetchers.get_mut(&leader) else { return };
        fetcher.busy = false;
        let asked = std::mem::take(&mut fetcher.asked);
        if let Err((mark, error)) = fetcher.fetching.answered(&response) {
            let (session, epoch) = (mark.session, mark.epoch);
            let error = error.name(turn.settings.release).into();
            turn.out.tell(BrokerFact::FollowerFetchRefused { leader, session, epoch, error });
        }
        let later = turn.out.now() + turn.settings.replica_fetch_backoff;
        for answer in response.responses {
            let Some(&since) = fetcher.partitions.get(&answer.partition) else { continue };
            let unclean = may_lead_unclean(&self.configs, &answer.partition, turn.settings);
            let Some(partition) = self.partitions.get_mut(&answer.partition) else { continue };
            if asked.get(&answer.partition).is_some_and(|asked| *asked != partition.log.end()) {
                continue;
            }
            match answer.error {
                Some(Error::OffsetOutOfRange) if answer.log_start_offset > partition.log.end() => {
                    let own = self.configs.get(&answer.partition.topic).map(|own| &**own);
                    let config = LogConfig::of(own, turn.settings);
                    let partition = Arc::make_mut(partition);
                    begin_anew(partition, answer.log_start_offset, config, turn);
                }
                // Real: the topic's settings are read in ZooKeeper first; here it is asked once
                // more, when the broker has read them.
                Some(Error::OffsetOutOfRange) if since > SimTime::ZERO => {
                    if out_of_range(Arc::make_mut(partition), &answer, unclean, turn).is_break() {
                        return;
                    }
                }
                Some(_) => {
                    let partitions = Arc::make_mut(&mut fetcher.partitions);
                    partitions.insert(answer.partition, later);
                }
                None => take_fetched(Arc::make_mut(partition), answer, turn),
            }
        }
        self.fetch_from(leader, turn);
    }
}

/// From where a follower fetches a partition.
// Real: from 0.11 to 2.6 a request of its own, OffsetsForLeaderEpoch, asks where the leader's
// epochs end; here the fetch does, as from 2.7 on, because what comes of it is the same.
fn fetch_from(settings: &Settings) -> impl Fn(&Partition) -> FetchFrom {
    let names_epoch = settings.release.followers_name_their_leaders_epoch();
    let knows_epochs = !settings.release.followers_cut_to_their_hw();
    let partition_max_bytes = settings.replica_fetch_max_bytes;
    move |partition| FetchFrom {
        current_leader_epoch: names_epoch.then_some(partition.leader_epoch),
        fetch_offset: partition.log.end(),
        last_fetched_epoch: partition.log.latest_epoch().filter(|_| knows_epochs),
        log_start_offset: partition.log.start(),
        partition_max_bytes,
    }
}

/// Whether a replica that lacks records may come to lead the partition.
fn may_lead_unclean(
    configs: &OrdMap<TopicName, Arc<Config>>,
    tp: &TopicPartition,
    settings: &Settings,
) -> bool {
    let own = configs.get(&tp.topic).and_then(|own| own.get("unclean.leader.election.enable"));
    own.map_or(settings.unclean_leader_election_enable, |value| &**value == "true")
}

/// The leader has less than this follower: a leader that should never have been elected. Where that
/// is not allowed for, the broker may end before it throws records away.
// Source: ReplicaFetcherThread.handleOffsetOutOfRange; AbstractFetcherThread.fetchOffsetAndTruncate
fn out_of_range(
    partition: &mut Partition,
    answer: &PartitionFetchResponse,
    unclean: bool,
    turn: &mut Turn<'_, '_>,
) -> ControlFlow<()> {
    let Some(end) = answer.diverging_epoch else { return ControlFlow::Continue(()) };
    let (tp, from, to) = (partition.tp.clone(), partition.log.end(), end.end_offset);
    if from <= to {
        return ControlFlow::Continue(());
    }
    if !unclean && turn.settings.release.brokers_end_rather_than_truncate() {
        let (partition, leader) = (tp, partition.leader);
        turn.out.tell(BrokerFact::BrokerHalted { partition, leader, to, from });
        turn.out.exit(1);
        return ControlFlow::Break(());
    }
    partition.truncate(to);
    turn.out.tell(BrokerFact::Truncated { partition: tp, to, from });
    ControlFlow::Continue(())
}

/// All that a follower has is older than what its leader has kept.
// Source: AbstractFetcherThread.fetchOffsetAndTruncate, UnifiedLog.truncateFullyAndStartAt
// Real: the follower asks with ListOffsets where the leader's log begins; here the refused fetch
// says so, because what comes of it is the same.
fn begin_anew(
    partition: &mut Partition,
    start: Offset,
    config: LogConfig,
    turn: &mut Turn<'_, '_>,
) {
    let (tp, from) = (partition.tp.clone(), partition.log.end());
    if partition.log.segments().is_none() {
        look_later(turn);
    }
    partition.log.keep(config);
    partition.log.begin_at(start);
    partition.hw = start;
    let (partition, leader) = (tp, partition.leader);
    turn.out.tell(BrokerFact::LogBegunAnew { partition, leader, from, start });
}

/// A follower takes what it has fetched.
// Source: ReplicaFetcherThread.processPartitionData, truncateOnFetchResponse
fn take_fetched(
    partition: &mut Partition,
    answer: PartitionFetchResponse,
    turn: &mut Turn<'_, '_>,
) {
    if let Some(end) = answer.diverging_epoch {
        let (from, to) = (partition.log.end(), partition.cut_for(end));
        partition.truncate(to);
        if to == from {
            return;
        }
        let partition = partition.tp.clone();
        return turn.out.tell(BrokerFact::Truncated { partition, to, from });
    }
    let active = partition.log.active_base();
    for batch in answer.records {
        if batch.base_offset >= partition.log.end() {
            partition.log.append_fetched(batch);
        }
    }
    tell_of_rolls(partition, active, turn);
    partition.log.advance_start(answer.log_start_offset);
    partition.hw = answer.high_watermark.min(partition.log.end()).max(partition.log.start());
}
