//! One replica of a partition on its broker: its log, its HW, and whether it leads or follows.
//!
//! Not here: where the messages go (`replicas`), and what lies in the log (`log`).
//!
//! ```text
//!   leader's log    0 1 2 3 4 5 6 7│ LEO 8        ISR committed [1,2], pending [1,2,3]
//!   follower 2      0 1 2 3 4 5 6│  LEO 7         maximal [1,2,3]
//!   follower 3      0 1 2 3 4│      LEO 5  ──▶    HW = min over the maximal ISR = 5
//! ```
//!
//! *Invariant: a leader's HW never goes down; nobody leaves or enters the ISR before that is
//! written.*
// Source: kafka.cluster.Partition, Replica (3.9)

use std::sync::Arc;

use super::control::{AlterPartitionEntry, AlteredPartition, PartitionState};
use super::election::LeaderRecovery;
use super::error::Error;
use super::id::{BrokerId, ControllerEpoch, LeaderEpoch, Offset, TopicPartition};
use super::log::PartitionLog;
use super::message::{EpochEndOffset, FetchFrom};
use super::release::Release;
use crate::sim::{SimTime, Span};

/// What a leader knows of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Follower {
    /// Its LEO, by its last fetch; `Offset::NONE` before.
    pub leo: Offset,
    /// When it last had all that there was.
    pub last_caught_up: Option<SimTime>,
    /// The leader's LEO at its last fetch.
    pub leader_leo_at_fetch: Offset,
    /// When that was.
    pub last_fetch: Option<SimTime>,
}

/// The ISR that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PendingIsr {
    /// With one more; it counts already for the HW.
    Expand(Vec<BrokerId>),
    /// With fewer; all still count.
    Shrink(Vec<BrokerId>),
}

/// What only a leader has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leading {
    /// Where its epoch began.
    pub epoch_start: Offset,
    /// The others that are assigned: few, so that they are found by looking.
    pub followers: Vec<(BrokerId, Follower)>,
    /// The ISR that is being asked for.
    pub pending: Option<PendingIsr>,
}

impl Leading {
    /// What it knows of a follower.
    pub fn follower(&self, wanted: BrokerId) -> Option<&Follower> {
        self.followers.iter().find(|(id, _)| *id == wanted).map(|(_, follower)| follower)
    }

    /// What it knows of a follower, to change.
    pub fn follower_mut(&mut self, wanted: BrokerId) -> Option<&mut Follower> {
        self.followers.iter_mut().find(|(id, _)| *id == wanted).map(|(_, follower)| follower)
    }
}

/// What the replica does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It leads.
    Leader(Leading),
    /// It follows `Partition::leader`, if that is a broker.
    Follower,
}

/// One replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partition {
    /// Of which partition.
    pub tp: TopicPartition,
    /// Its records.
    pub log: PartitionLog,
    /// The first offset not known to be committed.
    pub hw: Offset,
    /// The HW that is on the disk.
    pub checkpointed_hw: Offset,
    /// Who leads, as the controller has said last.
    pub leader: BrokerId,
    /// The epoch of that.
    pub leader_epoch: LeaderEpoch,
    /// The epoch of the controller that said so.
    pub controller_epoch: ControllerEpoch,
    /// The data version of `state`.
    pub partition_epoch: i32,
    /// The replicas.
    pub replicas: Arc<[BrokerId]>,
    /// The ISR as it is in ZooKeeper.
    pub isr: Arc<[BrokerId]>,
    /// Whether an unclean leader is confirmed.
    pub recovery: LeaderRecovery,
    /// What it does.
    pub role: Role,
}

/// What a leader needs to know for its ISR.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// The own id.
    pub me: BrokerId,
    /// `replica.lag.time.max.ms`
    pub lag: Span,
    /// `min.insync.replicas` of the topic.
    pub min_isr: i32,
    /// Whether a broker may be in ISRs.
    pub lives: &'a dyn Fn(BrokerId) -> bool,
    /// By whose rules.
    pub release: Release,
    /// `replica.lag.max.messages`, where that counts.
    pub lag_messages: Option<u64>,
}

impl Partition {
    /// A replica with what was on the disk; it does nothing before it is told to.
    ///
    /// The HW that is on the disk may lie beyond the end of the log, which was cut after that.
    // Source: Partition.getOrCreateReplica (0.8.2 to 2.3): offsetMap(…).min(log.logEndOffset);
    // UnifiedLog.updateHighWatermark (2.4+)
    pub fn new(tp: TopicPartition, log: PartitionLog, checkpointed_hw: Offset) -> Partition {
        Partition {
            tp,
            hw: checkpointed_hw.min(log.end()).max(log.start()),
            checkpointed_hw,
            log,
            leader: BrokerId::NONE,
            leader_epoch: LeaderEpoch(-1),
            controller_epoch: ControllerEpoch(0),
            partition_epoch: -1,
            replicas: Arc::from([]),
            isr: Arc::from([]),
            recovery: LeaderRecovery::Recovered,
            role: Role::Follower,
        }
    }

    /// Whether it leads.
    pub fn leads(&self) -> bool {
        matches!(self.role, Role::Leader(_))
    }

    fn leading(&mut self) -> Option<&mut Leading> {
        match &mut self.role {
            Role::Leader(leading) => Some(leading),
            Role::Follower => None,
        }
    }

    fn obey(&mut self, state: &PartitionState) {
        self.leader = state.leader;
        self.leader_epoch = state.leader_epoch;
        self.controller_epoch = state.controller_epoch;
        self.partition_epoch = state.partition_epoch;
        self.replicas = state.replicas.clone();
        self.recovery = state.leader_recovery_state;
    }

    /// Leads from now on; whether it did not before.
    pub fn make_leader(&mut self, state: &PartitionState, me: BrokerId, now: SimTime) -> bool {
        let before = match &self.role {
            Role::Leader(leading) => Some(leading.clone()),
            Role::Follower => None,
        };
        self.obey(state);
        self.isr = state.isr.clone();
        self.log.begin_epoch(state.leader_epoch);
        let (epoch_start, leader_leo) = (self.log.end(), self.log.end());
        let others = state.replicas.iter().copied().filter(|&id| id != me);
        let followers = others.map(|id| {
            let known = before.as_ref().and_then(|before| before.follower(id)).copied();
            let in_sync = state.isr.contains(&id);
            (id, Follower::reset(known, before.is_none(), in_sync, leader_leo, now))
        });
        let followers = followers.collect();
        self.role = Role::Leader(Leading { epoch_start, followers, pending: None });
        before.is_none()
    }

    /// Follows from now on.
    pub fn make_follower(&mut self, state: &PartitionState) {
        self.obey(state);
        self.isr = Arc::from([]);
        self.role = Role::Follower;
    }

    /// The brokers that count for the HW.
    fn counts(&self, id: BrokerId) -> bool {
        let pending = match &self.role {
            Role::Leader(Leading { pending: Some(PendingIsr::Expand(isr)), .. }) => isr.as_slice(),
            _ => &[],
        };
        self.isr.contains(&id) || pending.contains(&id)
    }

    /// How many replicas in sync there must be.
    pub fn effective_min_isr(&self, min_isr: i32) -> usize {
        usize::try_from(min_isr).unwrap_or(1).min(self.replicas.len())
    }

    /// How many there are, those included that are just coming.
    pub fn maximal_isr(&self) -> usize {
        match &self.role {
            Role::Leader(Leading { pending: Some(PendingIsr::Expand(isr)), .. }) => isr.len(),
            _ => self.isr.len(),
        }
    }

    /// Raises the HW as far as it may be; whether it rose.
    // Source: Partition.maybeIncrementLeaderHW
    pub fn raise_hw(&mut self, rules: Rules<'_>, now: SimTime) -> bool {
        let Role::Leader(leading) = &self.role else { return false };
        let too_few = self.isr.len() < self.effective_min_isr(rules.min_isr);
        if too_few && rules.release.hw_waits_for_min_isr() {
            return false;
        }
        let end = self.log.end();
        let mut hw = end;
        for &(id, ref follower) in &leading.followers {
            let joins = || follower.is_caught_up(end, rules, now) && (rules.lives)(id);
            if follower.leo < hw && (self.counts(id) || joins()) {
                hw = follower.leo;
            }
        }
        let rises = hw > self.hw;
        if rises {
            self.hw = hw;
        }
        rises
    }

    /// A follower has fetched from this offset. Says whether it is further than before.
    pub fn fetched_by(&mut self, id: BrokerId, from: Offset, now: SimTime) -> bool {
        let end = self.log.end();
        let Some(follower) = self.leading().and_then(|leading| leading.follower_mut(id)) else {
            return false;
        };
        let moved = follower.leo != from;
        if from >= end {
            follower.last_caught_up = Some(now);
        } else if from >= follower.leader_leo_at_fetch {
            follower.last_caught_up = follower.last_caught_up.max(follower.last_fetch);
        }
        follower.leo = from;
        follower.leader_leo_at_fetch = end;
        follower.last_fetch = Some(now);
        moved
    }

    /// Asks for a follower to be in the ISR, if it may be.
    // Source: Partition.maybeExpandIsr
    pub fn expand_isr(
        &mut self,
        id: BrokerId,
        lives: &dyn Fn(BrokerId) -> bool,
    ) -> Option<AlterPartitionEntry> {
        if self.isr.contains(&id) {
            return None;
        }
        let (hw, isr) = (self.hw, self.isr.clone());
        let leading = self.leading()?;
        let follower = leading.follower(id)?;
        let in_sync = follower.leo >= hw && follower.leo >= leading.epoch_start;
        if leading.pending.is_some() || !in_sync || !lives(id) {
            return None;
        }
        let new_isr: Vec<BrokerId> = isr.iter().copied().chain([id]).collect();
        leading.pending = Some(PendingIsr::Expand(new_isr.clone()));
        Some(self.wish(new_isr))
    }

    /// Asks for followers to be out of the ISR that have fallen behind.
    // Source: Partition.maybeShrinkIsr
    pub fn shrink_isr(&mut self, rules: Rules<'_>, now: SimTime) -> Option<AlterPartitionEntry> {
        let (end, isr) = (self.log.end(), self.isr.clone());
        let leading = self.leading()?;
        if leading.pending.is_some() {
            return None;
        }
        let keeps_up = |id: &BrokerId| {
            let follower = leading.follower(*id);
            let keeps = |f: &Follower| f.is_caught_up(end, rules, now) && f.is_near(end, rules);
            *id == rules.me || follower.is_some_and(keeps)
        };
        let new_isr: Vec<BrokerId> = isr.iter().copied().filter(keeps_up).collect();
        if new_isr.len() == isr.len() {
            return None;
        }
        leading.pending = Some(PendingIsr::Shrink(new_isr.clone()));
        Some(self.wish(new_isr))
    }

    fn wish(&self, new_isr: Vec<BrokerId>) -> AlterPartitionEntry {
        AlterPartitionEntry {
            partition: self.tp.clone(),
            leader_epoch: self.leader_epoch,
            new_isr,
            leader_recovery_state: LeaderRecovery::Recovered,
            partition_epoch: self.partition_epoch,
        }
    }

    /// The controller has changed the ISR; what was asked for, if it was.
    // Source: Partition.handleAlterPartitionUpdate
    pub fn isr_altered(&mut self, altered: &AlteredPartition) -> Option<PendingIsr> {
        let stale = altered.leader_epoch != self.leader_epoch
            || altered.partition_epoch < self.partition_epoch;
        if stale {
            return None;
        }
        self.isr = altered.isr.clone();
        self.recovery = altered.leader_recovery_state;
        self.partition_epoch = altered.partition_epoch;
        self.leading()?.pending.take()
    }

    /// The controller has refused to change the ISR; whether to ask again.
    // Source: Partition.handleAlterPartitionError
    pub fn isr_refused(&mut self, error: Error) -> bool {
        match error {
            Error::IneligibleReplica => {
                self.give_up_isr();
                false
            }
            Error::UnknownTopicOrPartition
            | Error::FencedLeaderEpoch
            | Error::InvalidUpdateVersion
            | Error::InvalidRequest => false,
            _ => true,
        }
    }

    /// The ISR stays as it is, whatever was asked for.
    pub fn give_up_isr(&mut self) {
        if let Some(leading) = self.leading() {
            leading.pending = None;
        }
    }

    /// Whether this replica may answer a fetch.
    // Source: Partition.localLogWithEpochOrThrow
    pub fn may_read(&self, asked: &FetchFrom) -> Result<(), Error> {
        if let Some(epoch) = asked.current_leader_epoch {
            if epoch < self.leader_epoch {
                return Err(Error::FencedLeaderEpoch);
            }
            if epoch > self.leader_epoch {
                return Err(Error::UnknownLeaderEpoch);
            }
        }
        if self.leads() { Ok(()) } else { Err(Error::NotLeaderOrFollower) }
    }

    /// Where a follower's log parts from this one, if it does.
    // Source: Partition.readRecords, KIP-595; LeaderEpochFileCache.endOffsetFor (1.1)
    pub fn diverging(
        &self,
        asked: &FetchFrom,
        release: Release,
    ) -> Result<Option<EpochEndOffset>, Error> {
        let Some(last) = asked.last_fetched_epoch else { return Ok(None) };
        let mut end = self.log.end_of_epoch(last).ok_or(Error::OffsetOutOfRange)?;
        if !release.leaders_tell_which_epoch_ends() {
            end.leader_epoch = last;
        }
        let diverges = end.leader_epoch < last || end.end_offset < asked.fetch_offset;
        Ok(diverges.then_some(end))
    }

    /// Where the leader's log ends, for a follower that has asked beyond that.
    // Real: the follower asks for it in a request of its own, ListOffsets; here the refusal has
    // it, because nothing happens between the two.
    pub fn end_for(&self, reader: BrokerId) -> Option<EpochEndOffset> {
        let (leader_epoch, end_offset) = (self.leader_epoch, self.log.end());
        (reader != BrokerId::NONE).then_some(EpochEndOffset { leader_epoch, end_offset })
    }

    /// To where a follower cuts its log when the leader has told where it parts.
    // Source: AbstractFetcherThread.getOffsetTruncationState
    pub fn cut_for(&self, leader: EpochEndOffset) -> Offset {
        let end = self.log.end();
        match self.log.end_of_epoch(leader.leader_epoch) {
            Some(own) if own.leader_epoch == leader.leader_epoch => {
                own.end_offset.min(leader.end_offset).min(end)
            }
            Some(own) => own.end_offset.min(end),
            None => leader.end_offset.min(end),
        }
    }

    /// Cuts the log; the HW goes with it.
    pub fn truncate(&mut self, to: Offset) {
        self.log.truncate(to);
        self.hw = self.hw.min(self.log.end()).max(self.log.start());
    }
}

impl Follower {
    // Source: Replica.resetReplicaState
    fn reset(
        known: Option<Follower>,
        new_leader: bool,
        in_sync: bool,
        leader_leo: Offset,
        now: SimTime,
    ) -> Follower {
        let last_caught_up = in_sync.then_some(now);
        match known.filter(|_| !new_leader) {
            Some(known) => Follower {
                last_caught_up,
                leader_leo_at_fetch: leader_leo,
                last_fetch: last_caught_up,
                ..known
            },
            None => Follower {
                leo: Offset::NONE,
                last_caught_up,
                leader_leo_at_fetch: Offset::NONE,
                last_fetch: None,
            },
        }
    }

    /// Whether it lacks no more records than it may.
    // Source: Partition.getOutOfSyncReplicas (0.8)
    fn is_near(&self, leader_end: Offset, rules: Rules<'_>) -> bool {
        let lacks = (leader_end.0 - self.leo.0).unsigned_abs();
        self.leo == Offset::NONE || rules.lag_messages.is_none_or(|most| lacks <= most)
    }

    /// Whether it has all, or had all not long ago.
    // Source: ReplicaState.isCaughtUp
    pub fn is_caught_up(&self, leader_end: Offset, rules: Rules<'_>, now: SimTime) -> bool {
        let recently = |at: SimTime| now.since(at) <= rules.lag;
        let has_all = self.leo == leader_end && !rules.release.silence_is_lag();
        has_all || self.last_caught_up.is_some_and(recently)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hw_beyond_the_logs_end_is_that_end() {
        let tp = TopicPartition::new("orders", 0);
        let partition = Partition::new(tp, PartitionLog::default(), Offset(5));
        assert_eq!((partition.hw, partition.checkpointed_hw), (Offset(0), Offset(5)));
    }
}
