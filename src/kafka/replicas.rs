//! All replicas of one broker: it obeys the controller, fetches what it follows, answers for what
//! it
//! leads, and lets requests wait for what they want.
//!
//! Not here: one replica's own rules (`partition`), and the groups (`group`).
//!
//! *Invariant: a request that waits is looked at whenever a partition that it waits for has moved,
//! and is answered at its deadline at the latest.*
// Source: ReplicaManager, ReplicaFetcherThread, DelayedFetch, DelayedProduce, AlterPartitionManager
// (3.9)
// Real: the log is in the page cache until the system writes it, so a killed process loses nothing
// and a machine without power its tail; here a crash keeps the log, because only processes die.

use std::sync::Arc;

use super::broker::Turn;
use super::control::{
    AlterPartitionEntry, AlterPartitionRequest, AlterPartitionResponse, LeaderAndIsrRequest,
    LeaderAndIsrResponse, PartitionState, StopReplicaRequest, StopReplicaResponse, Stopping,
};
use super::error::Error;
use super::group::AppendId;
use super::id::{BrokerId, CONSUMER_OFFSETS, ControllerEpoch, Offset, TopicName, TopicPartition};
use super::log::PartitionLog;
use super::message::{
    Acks, BrokerAddress, FetchPartition, FetchRequest, FetchResponse, ListOffsetsAt,
    ListOffsetsRequest, ListOffsetsResponse, PartitionFetchResponse, PartitionProduceResponse,
    ProduceRequest, ProduceResponse,
};
use super::metadata_cache::MetadataCache;
use super::partition::{Partition, PendingIsr, Role, Rules};
use super::record::RecordBatch;
use super::wire::{Caller, Purpose};
use super::words::{BrokerFact, BrokerTimer, Brokers};
use super::znodes::Config;
use crate::sim::{OrdMap, ProcessId, SimTime, Span};

/// How soon a leader asks the controller again.
// Source: DefaultAlterPartitionManager (retry after 50 ms); BrokerToControllerRequestThread
const ASK_AGAIN: Span = Span::ms(50);

/// What is on the disk of one replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoredReplica {
    /// Its log.
    pub log: PartitionLog,
    /// The HW that was written down last.
    pub checkpointed_hw: Offset,
}

/// All replicas on a disk.
pub type StoredReplicas = OrdMap<TopicPartition, StoredReplica>;

/// Something that others in the broker have to hear of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// An append of the group coordinator is committed, or has failed.
    Stored(AppendId, Result<(), Error>),
    /// This broker leads that partition of the offsets topic now.
    LeadsOffsets(i32),
    /// It leads it no more.
    LeavesOffsets(i32),
    /// A topic has come whose settings are not known.
    NewTopic(TopicName),
}

/// Who waits for an append.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Waiter {
    Client(Caller),
    Groups(AppendId),
}

/// A fetch that waits for records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct WaitingFetch {
    caller: Caller,
    request: FetchRequest,
    deadline: SimTime,
}

/// What an append waits for in one partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// Until the HW is at this offset; the batch lies at the other.
    Until { required: Offset, base: Offset },
    /// It is known.
    Known(Result<Offset, Error>),
}

/// An append that waits for followers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct WaitingProduce {
    waiter: Waiter,
    parts: Vec<(TopicPartition, Part)>,
    deadline: SimTime,
}

/// What is fetched from one leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Fetcher {
    leader: BrokerAddress,
    /// The partitions, and from when on they may be fetched.
    partitions: Arc<OrdMap<TopicPartition, SimTime>>,
    /// A fetch is on its way, or waits after a failure.
    busy: bool,
}

/// All replicas of one broker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Replicas {
    me: BrokerId,
    partitions: OrdMap<TopicPartition, Partition>,
    stored: StoredReplicas,
    fetchers: OrdMap<BrokerId, Fetcher>,
    controller_epoch: ControllerEpoch,
    configs: OrdMap<TopicName, Arc<Config>>,
    fetches: OrdMap<u64, Arc<WaitingFetch>>,
    produces: OrdMap<u64, WaitingProduce>,
    last_number: u64,
    wishes: OrdMap<TopicPartition, AlterPartitionEntry>,
    asked: OrdMap<TopicPartition, AlterPartitionEntry>,
    notes: Vec<Note>,
}

impl Replicas {
    /// A broker that has these replicas on its disk and serves none yet.
    pub fn new(me: BrokerId, stored: StoredReplicas) -> Replicas {
        Replicas {
            me,
            partitions: OrdMap::new(),
            stored,
            fetchers: OrdMap::new(),
            controller_epoch: ControllerEpoch(0),
            configs: OrdMap::new(),
            fetches: OrdMap::new(),
            produces: OrdMap::new(),
            last_number: 0,
            wishes: OrdMap::new(),
            asked: OrdMap::new(),
            notes: Vec::new(),
        }
    }

    /// Starts what is done by the clock.
    pub fn start(&self, turn: &mut Turn<'_, '_>) {
        let lag = turn.settings.replica_lag_time_max;
        turn.out.arm(BrokerTimer::IsrExpiration, lag.divided_by(2));
        let every = turn.settings.replica_high_watermark_checkpoint_interval;
        turn.out.arm(BrokerTimer::HighWatermarkCheckpoint, every);
    }

    /// All that serve.
    pub fn partitions(&self) -> impl Iterator<Item = &Partition> {
        self.partitions.values()
    }

    /// One that serves.
    pub fn partition(&self, tp: &TopicPartition) -> Option<&Partition> {
        self.partitions.get(tp)
    }

    /// What a crash leaves.
    pub fn into_stored(self) -> StoredReplicas {
        let mut stored = self.stored;
        for (tp, partition) in self.partitions.iter() {
            let (log, checkpointed_hw) = (partition.log.clone(), partition.checkpointed_hw);
            stored.insert(tp.clone(), StoredReplica { log, checkpointed_hw });
        }
        stored
    }

    /// Writes all HWs down.
    pub fn checkpoint(&mut self) {
        let moved = self.partitions.iter().filter(|(_, p)| p.checkpointed_hw != p.hw);
        let moved: Vec<TopicPartition> = moved.map(|(tp, _)| tp.clone()).collect();
        for tp in moved {
            let partition = self.partitions.get_mut(&tp).expect("it was just there");
            partition.checkpointed_hw = partition.hw;
        }
    }

    /// What others have to hear of.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Takes a topic's settings.
    pub fn configure(&mut self, topic: TopicName, config: Config) {
        self.configs.insert(topic, Arc::new(config));
    }

    /// A topic's own settings, as far as they are known here.
    pub fn config(&self, topic: &TopicName) -> Option<&Config> {
        self.configs.get(topic).map(|config| &**config)
    }

    fn min_isr(&self, topic: &TopicName, turn: &Turn<'_, '_>) -> i32 {
        let own = self.config(topic).and_then(|config| config.get("min.insync.replicas"));
        own.and_then(|text| text.parse().ok()).unwrap_or(turn.settings.min_insync_replicas)
    }
}

/// Obeying the controller.
impl Replicas {
    /// Whether an order comes from a controller that is not the newest known; else notes it.
    pub fn is_stale(&mut self, epoch: ControllerEpoch) -> bool {
        let stale = epoch < self.controller_epoch;
        self.controller_epoch = self.controller_epoch.max(epoch);
        stale
    }

    /// Leads and follows as ordered.
    // Source: ReplicaManager.becomeLeaderOrFollower
    pub fn obey(
        &mut self,
        request: &LeaderAndIsrRequest,
        turn: &mut Turn<'_, '_>,
    ) -> LeaderAndIsrResponse {
        let mut partition_errors = Vec::new();
        if self.is_stale(request.order.controller_epoch) {
            let error = Some(Error::StaleControllerEpoch);
            return LeaderAndIsrResponse { error, partition_errors };
        }
        for state in request.partition_states.iter() {
            match self.is_news(state) {
                Err(error) => partition_errors.push((state.partition.clone(), error)),
                Ok(()) if state.leader == self.me => self.lead(state, turn),
                Ok(()) => self.follow(state, request, turn),
            }
        }
        self.drop_idle_fetchers(turn);
        let leaders: Vec<BrokerId> = self.fetchers.keys().copied().collect();
        leaders.into_iter().for_each(|leader| self.fetch_from(leader, turn));
        LeaderAndIsrResponse { error: None, partition_errors }
    }

    fn is_news(&self, state: &PartitionState) -> Result<(), Error> {
        let known = self.partitions.get(&state.partition).map(|known| known.leader_epoch);
        if known.is_some_and(|epoch| epoch >= state.leader_epoch) {
            return Err(Error::StaleControllerEpoch);
        }
        match state.replicas.contains(&self.me) {
            true => Ok(()),
            false => Err(Error::UnknownTopicOrPartition),
        }
    }

    /// The replica, taken from the disk or made if it does not serve yet.
    fn serve(&mut self, tp: &TopicPartition) -> &mut Partition {
        if !self.partitions.contains_key(tp) {
            let stored = self.stored.get(tp).cloned();
            self.stored.remove(tp);
            let (log, hw) = match stored {
                Some(stored) => (stored.log, stored.checkpointed_hw),
                None => (PartitionLog::default(), Offset(0)),
            };
            self.partitions.insert(tp.clone(), Partition::new(tp.clone(), log, hw));
            if !self.configs.contains_key(&tp.topic) {
                self.notes.push(Note::NewTopic(tp.topic.clone()));
                self.configs.insert(tp.topic.clone(), Arc::default());
            }
        }
        self.partitions.get_mut(tp).expect("it is there now")
    }

    fn lead(&mut self, state: &PartitionState, turn: &mut Turn<'_, '_>) {
        let tp = &state.partition;
        self.stop_fetching(tp);
        self.forget_wish(tp);
        let (me, now) = (self.me, turn.out.now());
        let partition = self.serve(tp);
        let is_new = partition.make_leader(state, me, now);
        if is_new {
            turn.out.tell(BrokerFact::BecameLeader {
                partition: tp.clone(),
                epoch: state.leader_epoch,
                isr: Brokers(state.isr.clone()),
                leo: partition.log.end(),
            });
            self.note_offsets(tp, Note::LeadsOffsets(tp.partition));
        }
        self.raise_hw(tp, turn);
        self.wake(tp, turn);
    }

    fn follow(
        &mut self,
        state: &PartitionState,
        request: &LeaderAndIsrRequest,
        turn: &mut Turn<'_, '_>,
    ) {
        let tp = &state.partition;
        self.forget_wish(tp);
        let partition = self.serve(tp);
        let (led, before) = (partition.leads(), partition.leader);
        partition.make_follower(state);
        if led || before != state.leader {
            turn.out.tell(BrokerFact::BecameFollower {
                partition: tp.clone(),
                epoch: state.leader_epoch,
                leader: state.leader,
            });
        }
        if led {
            self.note_offsets(tp, Note::LeavesOffsets(tp.partition));
            self.wake(tp, turn);
        }
        let leader = request.live_leaders.iter().find(|leader| leader.id == state.leader);
        if let Some(leader) = leader {
            self.stop_fetching(tp);
            let fetcher = self.fetchers.entry(leader.id).or_insert_with(|| Fetcher {
                leader: leader.clone(),
                partitions: Arc::default(),
                busy: false,
            });
            fetcher.leader = leader.clone();
            Arc::make_mut(&mut fetcher.partitions).insert(tp.clone(), SimTime::ZERO);
        }
    }

    fn note_offsets(&mut self, tp: &TopicPartition, note: Note) {
        if tp.topic.as_str() == CONSUMER_OFFSETS {
            self.notes.push(note);
        }
    }

    /// Stops as ordered.
    // Source: ReplicaManager.stopReplicas
    pub fn stop(
        &mut self,
        request: &StopReplicaRequest,
        turn: &mut Turn<'_, '_>,
    ) -> StopReplicaResponse {
        let mut partition_errors = Vec::new();
        if self.is_stale(request.order.controller_epoch) {
            let error = Some(Error::StaleControllerEpoch);
            return StopReplicaResponse { error, partition_errors };
        }
        for stop in request.partitions.iter() {
            let tp = &stop.partition;
            let known = self.partitions.get(tp).map(|known| known.leader_epoch);
            let fenced = stop.leader_epoch.0 >= 0 && known.is_some_and(|k| k > stop.leader_epoch);
            let error = fenced.then_some(Error::FencedLeaderEpoch);
            if !fenced {
                self.stop_one(tp, stop.stopping, turn);
            }
            partition_errors.push((tp.clone(), error));
        }
        self.drop_idle_fetchers(turn);
        StopReplicaResponse { error: None, partition_errors }
    }

    fn stop_one(&mut self, tp: &TopicPartition, stopping: Stopping, turn: &mut Turn<'_, '_>) {
        self.stop_fetching(tp);
        self.forget_wish(tp);
        if stopping == Stopping::KeepLog {
            return;
        }
        self.stored.remove(tp);
        if self.partitions.remove(tp).is_some() {
            self.note_offsets(tp, Note::LeavesOffsets(tp.partition));
            turn.out.tell(BrokerFact::LogDeleted { partition: tp.clone() });
            self.wake(tp, turn);
        }
        if !self.partitions.keys().any(|other| other.topic == tp.topic) {
            self.configs.remove(&tp.topic);
        }
    }
}

/// Following.
impl Replicas {
    fn stop_fetching(&mut self, tp: &TopicPartition) {
        for fetcher in self.fetchers.values_mut() {
            if fetcher.partitions.contains_key(tp) {
                Arc::make_mut(&mut fetcher.partitions).remove(tp);
            }
        }
    }

    fn drop_idle_fetchers(&mut self, turn: &mut Turn<'_, '_>) {
        let idle = self.fetchers.iter().filter(|(_, fetcher)| fetcher.partitions.is_empty());
        let idle: Vec<BrokerId> = idle.map(|(&leader, _)| leader).collect();
        for leader in idle {
            self.fetchers.remove(&leader);
            turn.wire.forget(Purpose::Fetch(leader));
            turn.out.disarm(BrokerTimer::FetchBackoff(leader));
        }
    }

    /// Sends the next fetch to a leader, if none is on its way.
    pub fn fetch_from(&mut self, leader: BrokerId, turn: &mut Turn<'_, '_>) {
        let Some(fetcher) = self.fetchers.get_mut(&leader).filter(|fetcher| !fetcher.busy) else {
            return;
        };
        let now = turn.out.now();
        let ready = fetcher.partitions.iter().filter(|(_, at)| **at <= now);
        let partitions = &self.partitions;
        let max_bytes = turn.settings.replica_fetch_max_bytes;
        let topics: Vec<FetchPartition> =
            ready.filter_map(|(tp, _)| Some(fetch_of(partitions.get(tp)?, max_bytes))).collect();
        if topics.is_empty() {
            if let Some(&at) = fetcher.partitions.values().min() {
                turn.out.arm(BrokerTimer::FetchBackoff(leader), at.since(now));
            }
            return;
        }
        fetcher.busy = true;
        let request = FetchRequest {
            replica_id: self.me,
            max_wait: turn.settings.replica_fetch_wait_max,
            min_bytes: turn.settings.replica_fetch_min_bytes,
            topics,
        };
        turn.wire.call(fetcher.leader.process, Purpose::Fetch(leader), request, turn.out);
    }

    /// The fetcher has waited after a failure.
    pub fn fetch_again(&mut self, leader: BrokerId, turn: &mut Turn<'_, '_>) {
        if let Some(fetcher) = self.fetchers.get_mut(&leader) {
            fetcher.busy = false;
            self.fetch_from(leader, turn);
        }
    }

    /// The connection to a leader has broken.
    pub fn fetch_lost(&mut self, leader: BrokerId, turn: &mut Turn<'_, '_>) {
        if self.fetchers.contains_key(&leader) {
            let backoff = turn.settings.replica_fetch_backoff;
            turn.out.arm(BrokerTimer::FetchBackoff(leader), backoff);
        }
    }

    /// Takes what a leader has sent.
    // Source: AbstractFetcherThread.processFetchRequest
    pub fn fetched(&mut self, leader: BrokerId, response: FetchResponse, turn: &mut Turn<'_, '_>) {
        let Some(fetcher) = self.fetchers.get_mut(&leader) else { return };
        fetcher.busy = false;
        let later = turn.out.now() + turn.settings.replica_fetch_backoff;
        for answer in response.responses {
            if !fetcher.partitions.contains_key(&answer.partition) {
                continue;
            }
            let Some(partition) = self.partitions.get_mut(&answer.partition) else { continue };
            match answer.error {
                Some(_) => {
                    let partitions = Arc::make_mut(&mut fetcher.partitions);
                    partitions.insert(answer.partition, later);
                }
                None => take_fetched(partition, answer, turn),
            }
        }
        self.fetch_from(leader, turn);
    }
}

/// Leading.
impl Replicas {
    /// Raises a partition's HW; whoever waits for that is looked at.
    fn raise_hw(&mut self, tp: &TopicPartition, turn: &mut Turn<'_, '_>) {
        let min_isr = self.min_isr(&tp.topic, turn);
        let Some(partition) = self.partitions.get_mut(tp) else { return };
        let lives = |id| turn.cache.broker(id).is_some();
        let lag = turn.settings.replica_lag_time_max;
        let rules = Rules { me: self.me, lag, min_isr, lives: &lives };
        if partition.raise_hw(rules, turn.out.now()) {
            self.wake(tp, turn);
        }
    }

    /// A follower has fetched: notes how far it is, and what follows from that.
    fn note_fetch(&mut self, follower: BrokerId, asked: &FetchPartition, turn: &mut Turn<'_, '_>) {
        let tp = &asked.partition;
        let min_isr = self.min_isr(&tp.topic, turn);
        let lives = |id| turn.cache.broker(id).is_some();
        let lag = turn.settings.replica_lag_time_max;
        let rules = Rules { me: self.me, lag, min_isr, lives: &lives };
        let Some(partition) = self.partitions.get_mut(tp) else { return };
        let fits = partition.may_read(asked).is_ok() && partition.diverging(asked) == Ok(None);
        if !fits {
            return;
        }
        let now = turn.out.now();
        partition.fetched_by(follower, asked.fetch_offset, now);
        if let Some(wish) = partition.expand_isr(follower, rules) {
            self.wishes.insert(tp.clone(), wish);
        }
        if partition.raise_hw(rules, now) {
            self.wake(tp, turn);
        }
    }

    /// Takes a fetch of a follower or a consumer.
    pub fn fetch(&mut self, caller: Caller, request: FetchRequest, turn: &mut Turn<'_, '_>) {
        if request.replica_id != BrokerId::NONE {
            for asked in &request.topics {
                self.note_fetch(request.replica_id, asked, turn);
            }
            self.send_wishes(turn);
        }
        let deadline = turn.out.now() + request.max_wait;
        if request.max_wait == Span::ZERO || self.is_ready(&request) {
            return self.answer_fetch(caller, &request, turn);
        }
        let number = self.number();
        self.fetches.insert(number, Arc::new(WaitingFetch { caller, request, deadline }));
        self.arm(deadline, turn);
    }

    /// Whether a fetch need not wait any longer.
    // Source: DelayedFetch.tryComplete
    fn is_ready(&self, request: &FetchRequest) -> bool {
        request.topics.iter().any(|asked| {
            let Some(partition) = self.partitions.get(&asked.partition) else { return true };
            let limit = limit_for(partition, request.replica_id);
            let fails = partition.may_read(asked).is_err()
                || partition.diverging(asked) != Ok(None)
                || asked.fetch_offset > partition.log.end();
            fails || partition.log.holds_any(asked.fetch_offset, limit)
        })
    }

    fn answer_fetch(&mut self, caller: Caller, request: &FetchRequest, turn: &mut Turn<'_, '_>) {
        let follower = request.replica_id;
        let mut responses = Vec::new();
        for asked in &request.topics {
            let answer = self.read(asked, follower, turn);
            if follower == BrokerId::NONE || self.is_worth_telling(follower, &answer) {
                responses.push(answer);
            }
        }
        let response = FetchResponse { responses };
        turn.answer(caller, response);
    }

    /// A follower is told only of partitions of which there is something to tell.
    // Source: FetchSession (KIP-227): CachedPartition.maybeUpdateResponseData
    fn is_worth_telling(&mut self, id: BrokerId, answer: &PartitionFetchResponse) -> bool {
        let silent =
            answer.error.is_none() && answer.records.is_empty() && answer.diverging_epoch.is_none();
        let partition = self.partitions.get(&answer.partition);
        let told = match partition.map(|partition| &partition.role) {
            Some(Role::Leader(leading)) => leading.followers.get(&id).map(|f| f.told_hw),
            _ => None,
        };
        if silent && told == Some(answer.high_watermark) {
            return false;
        }
        if let Some(partition) = self.partitions.get_mut(&answer.partition)
            && let Role::Leader(leading) = &mut partition.role
            && let Some(follower) = leading.followers.get_mut(&id)
        {
            follower.told_hw = answer.high_watermark;
        }
        true
    }

    fn read(
        &self,
        asked: &FetchPartition,
        replica: BrokerId,
        turn: &Turn<'_, '_>,
    ) -> PartitionFetchResponse {
        let mut answer = PartitionFetchResponse {
            partition: asked.partition.clone(),
            error: None,
            high_watermark: Offset::NONE,
            log_start_offset: Offset(0),
            diverging_epoch: None,
            records: Vec::new(),
        };
        let Some(partition) = self.partitions.get(&asked.partition) else {
            answer.error = Some(turn.cache.refusal(&asked.partition));
            return answer;
        };
        answer.error = partition.may_read(asked).err();
        if answer.error.is_some() {
            return answer;
        }
        answer.high_watermark = partition.hw;
        match partition.diverging(asked) {
            Err(error) => answer.error = Some(error),
            Ok(Some(end)) => answer.diverging_epoch = Some(end),
            Ok(None) if asked.fetch_offset > partition.log.end() => {
                answer.error = Some(Error::OffsetOutOfRange);
            }
            Ok(None) => {
                let limit = limit_for(partition, replica);
                let max_bytes = asked.partition_max_bytes;
                answer.records = partition.log.read(asked.fetch_offset, limit, max_bytes);
            }
        }
        answer
    }

    /// Takes records of a producer.
    // Source: ReplicaManager.appendRecords
    pub fn produce(&mut self, caller: Caller, request: ProduceRequest, turn: &mut Turn<'_, '_>) {
        let acks = request.acks;
        let mut parts = Vec::new();
        for (tp, batch) in request.topic_data {
            let part = self.append(&tp, batch, acks, turn);
            parts.push((tp, part));
        }
        if acks == Acks::None {
            turn.wire.leave_unanswered(caller);
            if parts.iter().any(|(_, part)| matches!(part, Part::Known(Err(_)))) {
                turn.out.hangup(caller.process);
            }
            return;
        }
        let deadline = turn.out.now() + request.timeout;
        self.wait_for(Waiter::Client(caller), parts, deadline, turn);
    }

    /// Takes records of the group coordinator.
    pub fn append_for_groups(
        &mut self,
        id: AppendId,
        tp: TopicPartition,
        batch: RecordBatch,
        turn: &mut Turn<'_, '_>,
    ) {
        let part = self.append(&tp, batch, Acks::All, turn);
        let deadline = turn.out.now() + turn.settings.offsets_commit_timeout;
        self.wait_for(Waiter::Groups(id), vec![(tp, part)], deadline, turn);
    }

    // Source: Partition.appendRecordsToLeader
    fn append(
        &mut self,
        tp: &TopicPartition,
        batch: RecordBatch,
        acks: Acks,
        turn: &mut Turn<'_, '_>,
    ) -> Part {
        let min_isr = self.min_isr(&tp.topic, turn);
        let Some(partition) = self.partitions.get_mut(tp).filter(|p| p.leads()) else {
            return Part::Known(Err(turn.cache.refusal(tp)));
        };
        if acks == Acks::All && partition.isr.len() < partition.effective_min_isr(min_isr) {
            return Part::Known(Err(Error::NotEnoughReplicas));
        }
        let required = Offset(i64::from(batch.count()));
        let epoch = partition.leader_epoch;
        let base = match partition.log.append(batch, epoch) {
            Ok(base) => base,
            Err(error) => return Part::Known(Err(error)),
        };
        self.raise_hw(tp, turn);
        self.wake(tp, turn);
        match acks {
            Acks::All => Part::Until { required: Offset(base.0 + required.0), base },
            Acks::None | Acks::Leader => Part::Known(Ok(base)),
        }
    }

    fn wait_for(
        &mut self,
        waiter: Waiter,
        parts: Vec<(TopicPartition, Part)>,
        deadline: SimTime,
        turn: &mut Turn<'_, '_>,
    ) {
        let number = self.number();
        self.produces.insert(number, WaitingProduce { waiter, parts, deadline });
        if !self.try_produce(number, turn) {
            self.arm(deadline, turn);
        }
    }

    /// Looks whether an append is known everywhere; if so answers it.
    // Source: DelayedProduce.tryComplete, Partition.checkEnoughReplicasReachOffset
    fn try_produce(&mut self, number: u64, turn: &mut Turn<'_, '_>) -> bool {
        let Some(mut waiting) = self.produces.remove(&number) else { return true };
        for (tp, part) in &mut waiting.parts {
            if let Part::Until { required, base } = *part
                && let Some(known) = self.is_replicated(tp, required, turn)
            {
                *part = Part::Known(known.map(|()| base));
            }
        }
        let done = waiting.parts.iter().all(|(_, part)| matches!(part, Part::Known(_)));
        match done {
            true => self.answer_produce(waiting, turn),
            false => drop(self.produces.insert(number, waiting)),
        }
        done
    }

    fn is_replicated(
        &self,
        tp: &TopicPartition,
        required: Offset,
        turn: &Turn<'_, '_>,
    ) -> Option<Result<(), Error>> {
        let Some(partition) = self.partitions.get(tp).filter(|partition| partition.leads()) else {
            return Some(Err(Error::NotLeaderOrFollower));
        };
        if partition.hw < required {
            return None;
        }
        let min_isr = partition.effective_min_isr(self.min_isr(&tp.topic, turn));
        let enough = partition.maximal_isr() >= min_isr;
        Some(if enough { Ok(()) } else { Err(Error::NotEnoughReplicasAfterAppend) })
    }

    fn answer_produce(&mut self, waiting: WaitingProduce, turn: &mut Turn<'_, '_>) {
        let outcome = |part: Part| match part {
            Part::Known(known) => known,
            Part::Until { .. } => Err(Error::RequestTimedOut),
        };
        match waiting.waiter {
            Waiter::Groups(id) => {
                let known = waiting.parts.into_iter().map(|(_, part)| outcome(part).map(|_| ()));
                self.notes.push(Note::Stored(id, known.collect()));
            }
            Waiter::Client(caller) => {
                let responses = waiting.parts.into_iter().map(|(partition, part)| {
                    let base_offset = outcome(part);
                    let log_start_offset = Offset(0);
                    PartitionProduceResponse { partition, base_offset, log_start_offset }
                });
                let response = ProduceResponse { responses: responses.collect() };
                turn.answer(caller, response);
            }
        }
    }

    /// Answers where logs begin and end.
    pub fn list_offsets(
        &self,
        request: &ListOffsetsRequest,
        turn: &Turn<'_, '_>,
    ) -> ListOffsetsResponse {
        let find = |tp: &TopicPartition, at: ListOffsetsAt| {
            let Some(partition) = self.partitions.get(tp).filter(|partition| partition.leads())
            else {
                return Err(turn.cache.refusal(tp));
            };
            Ok(match at {
                ListOffsetsAt::Earliest => partition.log.start(),
                ListOffsetsAt::Latest => limit_for(partition, request.replica_id),
                ListOffsetsAt::Time(time) => {
                    let found = partition.log.find_time(time);
                    found.filter(|&offset| offset < partition.hw).unwrap_or(Offset::NONE)
                }
            })
        };
        let topics = request.topics.iter().map(|(tp, at)| (tp.clone(), find(tp, *at)));
        ListOffsetsResponse { topics: topics.collect() }
    }
}

/// Waiting.
impl Replicas {
    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Arms the purgatory's timer, if nothing there is due earlier.
    fn arm(&self, deadline: SimTime, turn: &mut Turn<'_, '_>) {
        let fetches = self.fetches.values().map(|waiting| waiting.deadline);
        let produces = self.produces.values().map(|waiting| waiting.deadline);
        let first = fetches.chain(produces).min();
        if first.is_some_and(|first| first >= deadline) {
            turn.out.arm(BrokerTimer::Purgatory, deadline.since(turn.out.now()));
        }
    }

    /// A partition has moved: looks at all that wait for it.
    fn wake(&mut self, tp: &TopicPartition, turn: &mut Turn<'_, '_>) {
        let concerns = |waiting: &WaitingFetch| {
            waiting.request.topics.iter().any(|asked| asked.partition == *tp)
        };
        let fetches = self.fetches.iter().filter(|(_, waiting)| concerns(waiting));
        let ready = fetches.filter(|(_, waiting)| self.is_ready(&waiting.request));
        let ready: Vec<u64> = ready.map(|(&number, _)| number).collect();
        for number in ready {
            let waiting = self.fetches.remove(&number).expect("it was just there");
            self.answer_fetch(waiting.caller, &waiting.request, turn);
        }
        let concerned = |waiting: &WaitingProduce| waiting.parts.iter().any(|(of, _)| of == tp);
        let produces = self.produces.iter().filter(|(_, waiting)| concerned(waiting));
        let produces: Vec<u64> = produces.map(|(&number, _)| number).collect();
        for number in produces {
            self.try_produce(number, turn);
        }
    }

    fn forget_told(&mut self, id: BrokerId) {
        let followed = self.partitions.iter().filter(|(_, p)| p.replicas.contains(&id));
        let followed: Vec<TopicPartition> = followed.map(|(tp, _)| tp.clone()).collect();
        for tp in followed {
            let partition = self.partitions.get_mut(&tp).expect("it was just there");
            if let Role::Leader(leading) = &mut partition.role
                && let Some(follower) = leading.followers.get_mut(&id)
            {
                follower.told_hw = Offset::NONE;
            }
        }
    }

    /// Answers what has waited long enough.
    pub fn purge(&mut self, turn: &mut Turn<'_, '_>) {
        let now = turn.out.now();
        let due = self.fetches.iter().filter(|(_, waiting)| waiting.deadline <= now);
        let due: Vec<u64> = due.map(|(&number, _)| number).collect();
        for number in due {
            let waiting = self.fetches.remove(&number).expect("it was just there");
            self.answer_fetch(waiting.caller, &waiting.request, turn);
        }
        let due = self.produces.iter().filter(|(_, waiting)| waiting.deadline <= now);
        let due: Vec<u64> = due.map(|(&number, _)| number).collect();
        for number in due {
            let waiting = self.produces.remove(&number).expect("it was just there");
            self.answer_produce(waiting, turn);
        }
        let fetches = self.fetches.values().map(|waiting| waiting.deadline);
        let produces = self.produces.values().map(|waiting| waiting.deadline);
        if let Some(next) = fetches.chain(produces).min() {
            turn.out.arm(BrokerTimer::Purgatory, next.since(now));
        }
    }

    /// A process that waited is gone. If it was a follower, it has to be told of HWs anew.
    pub fn hung_up(&mut self, process: ProcessId, cache: &MetadataCache) {
        let follower = cache.brokers().iter().find(|broker| broker.process == process);
        if let Some(follower) = follower.map(|broker| broker.id) {
            self.forget_told(follower);
        }
        self.fetches.retain(|_, waiting| waiting.caller.process != process);
        self.produces.retain(|_, waiting| match &waiting.waiter {
            Waiter::Client(caller) => caller.process != process,
            Waiter::Groups(_) => true,
        });
    }
}

/// Changing ISRs.
impl Replicas {
    /// Looks for followers that have fallen behind.
    // Source: ReplicaManager.maybeShrinkIsr
    pub fn shrink_isrs(&mut self, turn: &mut Turn<'_, '_>) {
        let lag = turn.settings.replica_lag_time_max;
        turn.out.arm(BrokerTimer::IsrExpiration, lag.divided_by(2));
        let led = self.partitions.iter().filter(|(_, partition)| partition.leads());
        let led: Vec<TopicPartition> = led.map(|(tp, _)| tp.clone()).collect();
        for tp in led {
            let lives = |id| turn.cache.broker(id).is_some();
            let rules = Rules { me: self.me, lag, min_isr: 1, lives: &lives };
            let partition = self.partitions.get_mut(&tp).expect("it was just there");
            if let Some(wish) = partition.shrink_isr(rules, turn.out.now()) {
                self.wishes.insert(tp, wish);
            }
        }
        self.send_wishes(turn);
    }

    fn forget_wish(&mut self, tp: &TopicPartition) {
        self.wishes.remove(tp);
    }

    /// Sends to the controller what is wished for, if nothing is on its way.
    pub fn send_wishes(&mut self, turn: &mut Turn<'_, '_>) {
        if !self.asked.is_empty() || self.wishes.is_empty() {
            return;
        }
        let Some(controller) = turn.cache.broker(turn.cache.controller()) else {
            return turn.out.arm(BrokerTimer::ControllerAgain, ASK_AGAIN);
        };
        self.asked = self.wishes.clone();
        let request = AlterPartitionRequest {
            broker_id: self.me,
            broker_epoch: turn.broker_epoch,
            partitions: self.wishes.values().cloned().collect(),
        };
        turn.wire.call(controller.process, Purpose::AlterPartition, request, turn.out);
    }

    /// The controller could not be asked.
    pub fn wishes_lost(&mut self, turn: &mut Turn<'_, '_>) {
        self.asked.clear();
        turn.out.arm(BrokerTimer::ControllerAgain, ASK_AGAIN);
    }

    /// Takes the controller's answer.
    // Source: DefaultAlterPartitionManager.handleAlterPartitionResponse
    pub fn altered(&mut self, response: AlterPartitionResponse, turn: &mut Turn<'_, '_>) {
        if response.error.is_some() {
            return self.wishes_lost(turn);
        }
        let asked = std::mem::take(&mut self.asked);
        let mut again = false;
        for (tp, outcome) in response.partitions {
            let is_old = self.wishes.get(&tp) != asked.get(&tp);
            if is_old && outcome.is_err() {
                continue;
            }
            let retry = self.altered_one(&tp, outcome, turn);
            if !retry && !is_old {
                self.wishes.remove(&tp);
            }
            again |= retry;
        }
        match again {
            true => turn.out.arm(BrokerTimer::ControllerAgain, ASK_AGAIN),
            false => self.send_wishes(turn),
        }
    }

    fn altered_one(
        &mut self,
        tp: &TopicPartition,
        outcome: Result<super::control::AlteredPartition, Error>,
        turn: &mut Turn<'_, '_>,
    ) -> bool {
        let Some(partition) = self.partitions.get_mut(tp).filter(|p| p.leads()) else {
            return false;
        };
        let altered = match outcome {
            Ok(altered) => altered,
            Err(error) => return partition.isr_refused(error),
        };
        let isr = Brokers(altered.isr.clone());
        let fact = match partition.isr_altered(&altered) {
            Some(PendingIsr::Expand(_)) => {
                Some(BrokerFact::IsrExpanded { partition: tp.clone(), isr })
            }
            Some(PendingIsr::Shrink(_)) => {
                Some(BrokerFact::IsrShrunk { partition: tp.clone(), isr })
            }
            None => None,
        };
        fact.into_iter().for_each(|fact| turn.out.tell(fact));
        self.raise_hw(tp, turn);
        self.wake(tp, turn);
        false
    }
}

/// Up to where a reader may read: a follower to the end, everybody else to the HW.
fn limit_for(partition: &Partition, replica: BrokerId) -> Offset {
    if replica == BrokerId::NONE { partition.hw } else { partition.log.end() }
}

/// What a follower asks for.
fn fetch_of(partition: &Partition, max_bytes: i32) -> FetchPartition {
    FetchPartition {
        partition: partition.tp.clone(),
        current_leader_epoch: Some(partition.leader_epoch),
        fetch_offset: partition.log.end(),
        last_fetched_epoch: partition.log.latest_epoch(),
        log_start_offset: partition.log.start(),
        partition_max_bytes: max_bytes,
    }
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
    for batch in answer.records {
        if batch.base_offset == partition.log.end() {
            partition.log.append_fetched(batch);
        }
    }
    partition.hw = answer.high_watermark.min(partition.log.end()).max(Offset(0));
}
