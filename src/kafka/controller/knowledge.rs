//! What a controller knows of the cluster: brokers, topics, partitions, replicas.
//!
//! Not here: what it does about it.
//!
//! *Invariant: a state follows only one that may precede it; what is big is persistent, so that a
//! copy costs little.*
// Source: kafka.controller.ControllerContext (3.9)

use std::sync::Arc;

use crate::kafka::control::{DURING_DELETE, PartitionState};
use crate::kafka::election::{Brokers, LeaderAndIsr};
use crate::kafka::id::TopicPartition;
use crate::kafka::id::{BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, TopicName};
use crate::kafka::message::BrokerAddress;
use crate::kafka::znodes::ReplicaAssignment;
use crate::sim::{OrdMap, OrdSet};

/// A broker that is registered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LiveBroker {
    /// Where it is.
    pub address: BrokerAddress,
    /// The czxid of its registration.
    pub epoch: BrokerEpoch,
}

/// The leadership of a partition as it stands in ZooKeeper.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leadership {
    /// Leader and ISR.
    pub state: LeaderAndIsr,
    /// The controller that wrote it.
    pub controller_epoch: ControllerEpoch,
    /// The data version of `state`.
    pub partition_epoch: i32,
}

/// How far a partition is.
// Source: kafka.controller.PartitionState
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartitionPhase {
    /// It is not, or is no more. May become New.
    NonExistent,
    /// It has replicas but never had a leader. May become Online or Offline.
    New,
    /// It has a leader. May become Offline, or Online again with another leader.
    Online,
    /// Its leader is gone. May become Online, or NonExistent when its topic is deleted.
    Offline,
}

impl PartitionPhase {
    /// Whether this may come after `previous`.
    pub fn may_follow(self, previous: PartitionPhase) -> bool {
        use PartitionPhase::{New, NonExistent, Offline, Online};
        match self {
            New => previous == NonExistent,
            Online | Offline => matches!(previous, New | Online | Offline),
            NonExistent => previous == Offline,
        }
    }
}

/// How far a replica is.
// Source: kafka.controller.ReplicaState
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReplicaPhase {
    /// It is not, or is no more.
    NonExistent,
    /// It has just been assigned.
    New,
    /// Its broker lives.
    Online,
    /// Its broker is dead, or it was stopped.
    Offline,
    /// Its broker was told to delete it.
    DeletionStarted,
    /// Its broker has deleted it.
    DeletionSuccessful,
    /// It cannot be deleted at the moment.
    DeletionIneligible,
}

impl ReplicaPhase {
    /// Whether this may come after `previous`.
    pub fn may_follow(self, previous: ReplicaPhase) -> bool {
        use ReplicaPhase::{DeletionIneligible, DeletionStarted, DeletionSuccessful};
        use ReplicaPhase::{New, NonExistent, Offline, Online};
        match self {
            New => previous == NonExistent,
            Online | Offline => {
                matches!(previous, New | Online | Offline | DeletionIneligible)
            }
            DeletionStarted => previous == Offline,
            DeletionSuccessful => previous == DeletionStarted,
            DeletionIneligible => matches!(previous, Offline | DeletionStarted),
            NonExistent => previous == DeletionSuccessful,
        }
    }
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KnownPartition {
    /// Its replicas.
    pub assignment: Arc<ReplicaAssignment>,
    /// Its leader and ISR, once it had some.
    pub leadership: Option<Arc<Leadership>>,
    /// How far it is.
    pub phase: PartitionPhase,
}

impl KnownPartition {
    /// Who leads it, `BrokerId::NONE` for nobody; `None` if it never had a leader.
    pub fn leader(&self) -> Option<BrokerId> {
        self.leadership.as_ref().map(|leadership| leadership.state.leader)
    }
}

/// A replica, named by partition and broker.
pub type Replica = (TopicPartition, BrokerId);

/// All that a controller knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Knowledge {
    /// The registered brokers.
    pub live: Arc<OrdMap<BrokerId, LiveBroker>>,
    /// Those among them that have asked to stop.
    pub shutting_down: OrdSet<BrokerId>,
    /// All topics, and their ids.
    pub topics: OrdMap<TopicName, Arc<str>>,
    /// All partitions.
    pub partitions: OrdMap<TopicPartition, KnownPartition>,
    /// All replicas.
    pub replicas: OrdMap<Replica, ReplicaPhase>,
    /// Partitions whose replicas move.
    pub reassigning: OrdSet<TopicPartition>,
    /// Topics to be deleted.
    pub to_delete: OrdSet<TopicName>,
    /// Those whose deletion has begun.
    pub deletion_begun: OrdSet<TopicName>,
    /// Those that cannot be deleted at the moment.
    pub ineligible: OrdSet<TopicName>,
}

impl Knowledge {
    /// Brokers that are registered, in order.
    pub fn registered(&self) -> Vec<BrokerId> {
        self.live.keys().copied().collect()
    }

    /// Brokers that are registered and mean to stay.
    pub fn staying(&self) -> Vec<BrokerId> {
        let stays = |id: &BrokerId| !self.shutting_down.contains(id);
        self.live.keys().copied().filter(stays).collect()
    }

    /// Runs `elect` on the brokers as elections see them.
    pub fn with_brokers<R>(&self, elect: impl FnOnce(Brokers<'_>) -> R) -> R {
        let live_or_shutting_down = self.registered();
        let shutting_down: Vec<BrokerId> = self.shutting_down.iter().copied().collect();
        elect(Brokers {
            live_or_shutting_down: &live_or_shutting_down,
            shutting_down: &shutting_down,
        })
    }

    /// Whether a broker's replicas serve.
    pub fn is_online(&self, broker: BrokerId) -> bool {
        self.live.contains_key(&broker) && !self.shutting_down.contains(&broker)
    }

    /// The replicas of a partition; none if it is unknown.
    pub fn assignment(&self, tp: &TopicPartition) -> Arc<ReplicaAssignment> {
        let known = self.partitions.get(tp);
        known.map_or_else(Arc::default, |partition| partition.assignment.clone())
    }

    /// Sets the replicas of a partition; an unknown one becomes known.
    pub fn assign(&mut self, tp: &TopicPartition, assignment: ReplicaAssignment) {
        let assignment = Arc::new(assignment);
        let known = match self.partitions.get(tp) {
            Some(known) => KnownPartition { assignment, ..known.clone() },
            None => {
                KnownPartition { assignment, leadership: None, phase: PartitionPhase::NonExistent }
            }
        };
        self.partitions.insert(tp.clone(), known);
    }

    /// The leadership of a partition.
    pub fn leadership(&self, tp: &TopicPartition) -> Option<&Arc<Leadership>> {
        self.partitions.get(tp)?.leadership.as_ref()
    }

    /// Who leads a partition, as [`KnownPartition::leader`] has it.
    pub fn leader(&self, tp: &TopicPartition) -> Option<BrokerId> {
        self.partitions.get(tp)?.leader()
    }

    /// Notes the leadership of a partition.
    pub fn lead(&mut self, tp: &TopicPartition, leadership: Leadership) {
        if let Some(known) = self.partitions.get(tp) {
            let leadership = Some(Arc::new(leadership));
            self.partitions.insert(tp.clone(), KnownPartition { leadership, ..known.clone() });
        }
    }

    /// How far a partition is.
    pub fn phase(&self, tp: &TopicPartition) -> PartitionPhase {
        self.partitions.get(tp).map_or(PartitionPhase::NonExistent, |known| known.phase)
    }

    /// Moves a partition on.
    pub fn enter(&mut self, tp: &TopicPartition, phase: PartitionPhase) {
        let Some(known) = self.partitions.get(tp) else { return };
        let known = KnownPartition { phase, ..known.clone() };
        self.partitions.insert(tp.clone(), known);
    }

    /// Partitions that are in one of these phases and not being deleted.
    pub fn in_phases(&self, phases: &[PartitionPhase]) -> Vec<TopicPartition> {
        let wanted = |(tp, known): &(&TopicPartition, &KnownPartition)| {
            phases.contains(&known.phase) && !self.to_delete.contains(&tp.topic)
        };
        self.partitions.iter().filter(wanted).map(|(tp, _)| tp.clone()).collect()
    }

    /// Partitions of a topic.
    pub fn partitions_of(&self, topic: &TopicName) -> Vec<TopicPartition> {
        let from = TopicPartition { topic: topic.clone(), partition: i32::MIN };
        let range = self.partitions.range(&from..);
        range.map(|(tp, _)| tp.clone()).take_while(|tp| tp.topic == *topic).collect()
    }

    /// Partitions that a broker has a replica of.
    pub fn partitions_on(&self, broker: BrokerId) -> Vec<TopicPartition> {
        let here = |known: &KnownPartition| known.assignment.replicas.contains(&broker);
        let found = self.partitions.iter().filter(|(_, known)| here(known));
        found.map(|(tp, _)| tp.clone()).collect()
    }

    /// Replicas on these brokers.
    pub fn replicas_on(&self, brokers: &[BrokerId]) -> Vec<Replica> {
        let mut found = Vec::new();
        for (tp, known) in self.partitions.iter() {
            let here = known.assignment.replicas.iter().filter(|id| brokers.contains(id));
            found.extend(here.map(|&id| (tp.clone(), id)));
        }
        found
    }

    /// Replicas of a topic.
    pub fn replicas_of(&self, topic: &TopicName) -> Vec<Replica> {
        let mut found = Vec::new();
        for tp in self.partitions_of(topic) {
            let replicas = self.assignment(&tp).replicas.clone();
            found.extend(replicas.into_iter().map(|id| (tp.clone(), id)));
        }
        found
    }

    /// Partitions whose leader is not online, of topics that are not being deleted.
    pub fn with_offline_leader(&self) -> Vec<TopicPartition> {
        let offline = |(tp, known): &(&TopicPartition, &KnownPartition)| {
            known.leader().is_some_and(|leader| !self.is_online(leader))
                && !self.to_delete.contains(&tp.topic)
        };
        self.partitions.iter().filter(offline).map(|(tp, _)| tp.clone()).collect()
    }

    /// Partitions that have a leadership.
    pub fn with_leadership(&self) -> Vec<TopicPartition> {
        let known = self.partitions.iter().filter(|(_, known)| known.leadership.is_some());
        known.map(|(tp, _)| tp.clone()).collect()
    }

    /// How far a replica is.
    pub fn replica_phase(&self, replica: &Replica) -> ReplicaPhase {
        self.replicas.get(replica).copied().unwrap_or(ReplicaPhase::NonExistent)
    }

    /// Whether every replica of a topic is in this phase.
    pub fn all_replicas_are(&self, topic: &TopicName, phase: ReplicaPhase) -> bool {
        self.replicas_of(topic).iter().all(|replica| self.replica_phase(replica) == phase)
    }

    /// Replicas of a topic that are in this phase.
    pub fn replicas_in(&self, topic: &TopicName, phase: ReplicaPhase) -> Vec<Replica> {
        let mut replicas = self.replicas_of(topic);
        replicas.retain(|replica| self.replica_phase(replica) == phase);
        replicas
    }

    /// Forgets a topic.
    pub fn forget_topic(&mut self, topic: &TopicName) {
        self.to_delete.remove(topic);
        self.deletion_begun.remove(topic);
        self.ineligible.remove(topic);
        self.topics.remove(topic);
        for replica in self.replicas_of(topic) {
            self.replicas.remove(&replica);
        }
        for tp in self.partitions_of(topic) {
            self.partitions.remove(&tp);
            self.reassigning.remove(&tp);
        }
    }

    /// What brokers are told of a partition; `None` if it never had a leader.
    pub fn told(&self, tp: &TopicPartition) -> Option<PartitionState> {
        let known = self.partitions.get(tp)?;
        let leadership = known.leadership.as_ref()?;
        let deleted = self.to_delete.contains(&tp.topic);
        let assignment = &known.assignment;
        Some(PartitionState {
            partition: tp.clone(),
            topic_id: self.topics.get(&tp.topic).cloned().unwrap_or_else(|| "".into()),
            controller_epoch: leadership.controller_epoch,
            leader: if deleted { DURING_DELETE } else { leadership.state.leader },
            leader_epoch: leadership.state.leader_epoch,
            isr: leadership.state.isr.as_slice().into(),
            partition_epoch: leadership.partition_epoch,
            replicas: assignment.replicas.as_slice().into(),
            adding_replicas: assignment.adding.as_slice().into(),
            removing_replicas: assignment.removing.as_slice().into(),
            is_new: false,
            leader_recovery_state: leadership.state.recovery,
        })
    }

    /// The leader epoch to stop a replica with.
    // Source: AbstractControllerBrokerRequestBatch.addStopReplicaRequestForBrokers
    pub fn stopping_epoch(&self, tp: &TopicPartition) -> LeaderEpoch {
        match self.leadership(tp) {
            _ if self.to_delete.contains(&tp.topic) => LeaderEpoch(-2),
            Some(leadership) => leadership.state.leader_epoch,
            None => LeaderEpoch(-1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_only_their_predecessors() {
        use PartitionPhase as P;
        assert!(P::Online.may_follow(P::New) && P::NonExistent.may_follow(P::Offline));
        assert!(!P::Online.may_follow(P::NonExistent) && !P::New.may_follow(P::Online));
        use ReplicaPhase as R;
        assert!(R::DeletionStarted.may_follow(R::Offline));
        assert!(!R::DeletionStarted.may_follow(R::Online));
        assert!(R::Online.may_follow(R::DeletionIneligible));
    }

    #[test]
    fn a_topics_partitions_are_found_among_others() {
        let mut knowledge = Knowledge::default();
        for name in ["a", "b", "ab"] {
            let replicas = ReplicaAssignment::settled(vec![BrokerId(1), BrokerId(2)]);
            knowledge.assign(&TopicPartition::new(name, 0), replicas.clone());
            knowledge.assign(&TopicPartition::new(name, 1), replicas);
        }
        assert_eq!(knowledge.partitions_of(&"a".into()).len(), 2);
        assert_eq!(knowledge.replicas_on(&[BrokerId(2)]).len(), 6);
        knowledge.forget_topic(&"a".into());
        assert_eq!(knowledge.partitions_of(&"a".into()).len(), 0);
        assert_eq!(knowledge.partitions_of(&"ab".into()).len(), 2);
    }
}
