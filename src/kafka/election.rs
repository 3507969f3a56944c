//! Who leads a partition next: the controller's four elections, and the first one of a new
//! partition.
//!
//! Not here: when an election is held, and how its outcome is written (the controller does both).
//!
//! *Invariant: a new leader is live, and in the ISR unless the election is an unclean one; every
//! new leader raises the leader epoch by one.*

use super::id::{BrokerId, LeaderEpoch};

/// What the controller believes of one partition's leadership; ZooKeeper keeps it in `state`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaderAndIsr {
    /// Who leads, or `BrokerId::NONE`.
    pub leader: BrokerId,
    /// How often the leadership was written.
    pub leader_epoch: LeaderEpoch,
    /// The replicas in sync, in their order.
    pub isr: Vec<BrokerId>,
    /// Whether an unclean leader has yet to be confirmed.
    pub recovery: LeaderRecovery,
}

/// Whether the leader was elected from outside the ISR and has not changed the ISR since (3.2 and
/// later).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaderRecovery {
    /// The ordinary case.
    Recovered,
    /// Chosen uncleanly: records may be lost.
    Recovering,
}

/// Whether a replica outside the ISR may lead if nobody inside can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unclean {
    /// `unclean.leader.election.enable=true`.
    Allowed,
    /// `unclean.leader.election.enable=false`.
    Refused,
}

/// In whose order candidates are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Candidates {
    /// As the replicas were assigned.
    ByAssignment,
    /// As they stand in the ISR (offline 0.8.0 – 0.8.1; controlled shutdown 0.8 – 0.9).
    ByIsr,
}

/// Why an election is held, which decides who may win it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason<'a> {
    /// The partition has no live leader.
    Offline(Unclean),
    /// The first assigned replica is to lead again.
    Preferred,
    /// The leader is not among the replicas that a reassignment aims at.
    Reassignment {
        /// Those replicas.
        target: &'a [BrokerId],
    },
    /// The leader has asked to stop.
    ControlledShutdown,
}

/// The brokers as the controller sees them.
#[derive(Clone, Copy, Debug)]
pub struct Brokers<'a> {
    /// Registered ones, those that are stopping included.
    pub live_or_shutting_down: &'a [BrokerId],
    /// Those that have asked to stop.
    pub shutting_down: &'a [BrokerId],
}

impl Brokers<'_> {
    /// Whether a broker is registered and means to stay.
    pub fn live(&self, broker: BrokerId) -> bool {
        self.registered(broker) && !self.shutting_down.contains(&broker)
    }

    fn registered(&self, broker: BrokerId) -> bool {
        self.live_or_shutting_down.contains(&broker)
    }
}

/// What an election came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What to write; `None` if nobody may lead, and then this step writes nothing.
    pub elected: Option<LeaderAndIsr>,
    /// Who is told by LeaderAndIsr, in order.
    pub recipients: Vec<BrokerId>,
}

/// Holds an election among the assigned replicas.
// Source: kafka.controller.Election (2.4.1); for `ByIsr` PartitionLeaderSelector of 0.8
pub fn elect(
    reason: Reason<'_>,
    candidates: Candidates,
    assignment: &[BrokerId],
    now: &LeaderAndIsr,
    brokers: Brokers<'_>,
) -> Outcome {
    let among = match candidates {
        Candidates::ByAssignment => assignment,
        Candidates::ByIsr => &now.isr,
    };
    match reason {
        Reason::Offline(unclean) => offline(unclean, among, assignment, now, brokers),
        Reason::Preferred => preferred(assignment, now, brokers),
        Reason::Reassignment { target } => reassignment(target, now, brokers),
        Reason::ControlledShutdown => controlled_shutdown(among, assignment, now, brokers),
    }
}

/// The first leader of a new partition: the first live replica, with all live ones in sync.
// Source: PartitionStateMachine.initializeLeaderAndIsrForPartitions
pub fn elect_first(assignment: &[BrokerId], brokers: Brokers<'_>) -> Option<LeaderAndIsr> {
    let isr = keep(assignment, |replica| brokers.live(replica));
    let leader = *isr.first()?;
    let leader_epoch = LeaderEpoch(0);
    let recovery = LeaderRecovery::Recovered;
    Some(LeaderAndIsr { leader, leader_epoch, isr, recovery })
}

fn offline(
    unclean: Unclean,
    among: &[BrokerId],
    assignment: &[BrokerId],
    now: &LeaderAndIsr,
    brokers: Brokers<'_>,
) -> Outcome {
    let recipients = keep(assignment, |replica| brokers.live(replica));
    let clean = first(among, |replica| brokers.live(replica) && now.isr.contains(&replica));
    let elected = match (clean, unclean) {
        (Some(leader), _) => Some(now.led_by(leader, keep(&now.isr, |id| brokers.live(id)))),
        (None, Unclean::Allowed) => recipients.first().map(|&leader| now.led_uncleanly_by(leader)),
        (None, Unclean::Refused) => None,
    };
    Outcome { elected, recipients }
}

fn preferred(assignment: &[BrokerId], now: &LeaderAndIsr, brokers: Brokers<'_>) -> Outcome {
    let head = assignment.iter().take(1).copied().collect::<Vec<_>>();
    let leader = first(&head, |id| brokers.live(id) && now.isr.contains(&id));
    let elected = leader.map(|leader| now.led_by(leader, now.isr.clone()));
    Outcome { elected, recipients: assignment.to_vec() }
}

fn reassignment(target: &[BrokerId], now: &LeaderAndIsr, brokers: Brokers<'_>) -> Outcome {
    let leader = first(target, |id| brokers.live(id) && now.isr.contains(&id));
    let elected = leader.map(|leader| now.led_by(leader, now.isr.clone()));
    Outcome { elected, recipients: target.to_vec() }
}

fn controlled_shutdown(
    among: &[BrokerId],
    assignment: &[BrokerId],
    now: &LeaderAndIsr,
    brokers: Brokers<'_>,
) -> Outcome {
    let recipients = keep(assignment, |replica| brokers.registered(replica));
    let leader = first(among, |id| brokers.live(id) && now.isr.contains(&id));
    let stay = keep(&now.isr, |id| !brokers.shutting_down.contains(&id));
    let elected = leader.map(|leader| now.led_by(leader, stay));
    Outcome { elected, recipients }
}

impl LeaderAndIsr {
    fn led_by(&self, leader: BrokerId, isr: Vec<BrokerId>) -> LeaderAndIsr {
        let leader_epoch = LeaderEpoch(self.leader_epoch.0 + 1);
        LeaderAndIsr { leader, leader_epoch, isr, recovery: self.recovery }
    }

    fn led_uncleanly_by(&self, leader: BrokerId) -> LeaderAndIsr {
        let recovery = LeaderRecovery::Recovering;
        LeaderAndIsr { recovery, ..self.led_by(leader, vec![leader]) }
    }
}

fn keep(brokers: &[BrokerId], wanted: impl Fn(BrokerId) -> bool) -> Vec<BrokerId> {
    brokers.iter().copied().filter(|&id| wanted(id)).collect()
}

fn first(brokers: &[BrokerId], wanted: impl Fn(BrokerId) -> bool) -> Option<BrokerId> {
    brokers.iter().copied().find(|&id| wanted(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[i32]) -> Vec<BrokerId> {
        numbers.iter().copied().map(BrokerId).collect()
    }

    fn check(reason: Reason<'_>, candidates: Candidates, isr: &[i32], live: &[i32], told: &str) {
        let now = LeaderAndIsr {
            leader: BrokerId(1),
            leader_epoch: LeaderEpoch(4),
            isr: ids(isr),
            recovery: LeaderRecovery::Recovered,
        };
        let live = ids(live);
        let brokers = Brokers { live_or_shutting_down: &live, shutting_down: &[BrokerId(1)] };
        let elected = elect(reason, candidates, &ids(&[1, 2, 3]), &now, brokers).elected;
        let said = elected.map(|e| format!("{} e{} {:?}", e.leader, e.leader_epoch, e.isr));
        assert_eq!(said.unwrap_or_default().replace("BrokerId", ""), told);
    }

    #[test]
    fn each_reason_has_its_rule() {
        use Candidates::{ByAssignment, ByIsr};
        use Unclean::{Allowed, Refused};
        check(Reason::Offline(Refused), ByAssignment, &[3, 2, 1], &[2, 3], "2 e5 [(3), (2)]");
        check(Reason::Offline(Refused), ByIsr, &[3, 2, 1], &[2, 3], "3 e5 [(3), (2)]");
        check(Reason::Offline(Refused), ByAssignment, &[1], &[2, 3], "");
        check(Reason::Offline(Allowed), ByAssignment, &[1], &[3, 2], "2 e5 [(2)]");
        check(Reason::Preferred, ByAssignment, &[1, 2], &[1, 2, 3], "");
        check(Reason::ControlledShutdown, ByAssignment, &[3, 1, 2], &[1, 2, 3], "2 e5 [(3), (2)]");
        check(Reason::ControlledShutdown, ByIsr, &[3, 1, 2], &[1, 2, 3], "3 e5 [(3), (2)]");
        let target = ids(&[3, 2]);
        let reason = Reason::Reassignment { target: &target };
        check(reason, ByAssignment, &[1, 2, 3], &[1, 2, 3], "3 e5 [(1), (2), (3)]");
    }

    #[test]
    fn a_new_partition_starts_with_all_its_live_replicas() {
        let (live, none) = (ids(&[2, 3]), ids(&[]));
        let brokers = Brokers { live_or_shutting_down: &live, shutting_down: &none };
        let first = elect_first(&ids(&[1, 3, 2]), brokers).expect("two replicas live");
        assert_eq!((first.leader, first.isr), (BrokerId(3), ids(&[3, 2])));
        assert_eq!(elect_first(&ids(&[1]), brokers), None);
    }
}
