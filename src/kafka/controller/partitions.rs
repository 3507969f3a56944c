//! The partitions' states, and the elections that come with them.
//!
//! Not here: who wins (`election`).
//!
//! *Invariant: a partition is Online only when its leadership is written; what was written is told
//! to the brokers in the same batch.*
// Source: kafka.controller.ZkPartitionStateMachine (3.9)

use super::batch::{Batch, Novelty};
use super::failover::leadership_in;
use super::knowledge::{Leadership, PartitionPhase};
use super::{Controller, Fenced, Step as Any};
use crate::kafka::Error;
use crate::kafka::broker::Turn;
use crate::kafka::election::{Candidates, LeaderAndIsr, LeaderRecovery, Outcome, Reason, Unclean};
use crate::kafka::election::{elect, elect_first};
use crate::kafka::id::{BrokerId, TopicName, TopicPartition};
use crate::kafka::words::{BrokerFact, Brokers};
use crate::kafka::znodes::{self, Config, ConfigType};
use crate::kafka::zookeeper::{Replies, create, found};
use crate::sim::OrdMap;
use crate::zk::reply::{Error as ZkError, OpResult};
use crate::zk::request::Op;
use crate::zk::stat::Bytes;

/// Why an election is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// There is no live leader; `Allowed` if somebody has asked for an unclean one.
    Offline(Unclean),
    /// The first replica is to lead.
    Preferred,
    /// The leader is not among the replicas to be.
    Reassignment,
    /// The leader wants to stop.
    ControlledShutdown,
}

impl Cause {
    /// As facts have it.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Offline(_) => "offline",
            Cause::Preferred => "preferred",
            Cause::Reassignment => "reassign",
            Cause::ControlledShutdown => "controlled-shutdown",
        }
    }
}

/// A leadership to be written, and who is to be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decided {
    tp: TopicPartition,
    state: LeaderAndIsr,
    recipients: Vec<BrokerId>,
}

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Elections for all partitions that have no leader.
    TriggerOnline,
    /// Brings partitions into a state.
    To(Vec<TopicPartition>, PartitionPhase),
    /// Brings partitions Online, by elections.
    Online(Vec<TopicPartition>, Cause),
    /// Gives new partitions their first leaders.
    Initialize(Vec<TopicPartition>),
    /// The znodes above the partitions are there.
    Made(Vec<Decided>),
    /// The znodes of the partitions are there.
    PartitionsMade(Vec<Decided>),
    /// Takes the outcome of the first states.
    Initialized(Vec<Decided>),
    /// Reads the states.
    Elect(Vec<TopicPartition>, Cause),
    /// Takes them.
    StatesRead(Vec<TopicPartition>, Cause),
    /// Takes the settings of topics that may need an unclean leader.
    ConfigsRead(Vec<(TopicPartition, LeaderAndIsr, i32)>, Cause, Vec<TopicName>),
    /// Takes the outcome.
    Elected(Vec<Decided>, Cause),
}

impl Controller {
    pub(super) fn partitions(&mut self, step: Step, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match step {
            Step::TriggerOnline => {
                let phases = [PartitionPhase::New, PartitionPhase::Offline];
                let tps = self.knowledge.in_phases(&phases);
                self.next(Step::Online(tps, Cause::Offline(Unclean::Refused)));
            }
            Step::To(tps, phase) => self.bring(&tps, phase),
            Step::Online(tps, cause) => self.bring_online(tps, cause),
            Step::Initialize(tps) => self.initialize(&tps, turn),
            Step::Made(decided) => self.parents_made(decided, replies, turn),
            Step::PartitionsMade(decided) => self.partitions_made(decided, replies, turn),
            Step::Initialized(decided) => self.initialized(&decided, replies, turn),
            Step::Elect(tps, cause) => {
                let reads = tps.iter().map(|tp| turn.zk.get_data(znodes::state(tp))).collect();
                self.ask(reads, Step::StatesRead(tps, cause), turn);
            }
            Step::StatesRead(tps, cause) => self.election_read(&tps, cause, replies, turn),
            Step::ConfigsRead(states, cause, topics) => {
                self.configs_read(&states, cause, &topics, replies, turn);
            }
            Step::Elected(decided, cause) => self.elected(decided, cause, replies, turn),
        }
    }

    fn bring(&mut self, tps: &[TopicPartition], phase: PartitionPhase) {
        for tp in tps {
            if phase.may_follow(self.knowledge.phase(tp)) {
                self.knowledge.enter(tp, phase);
            }
        }
    }

    fn bring_online(&mut self, tps: Vec<TopicPartition>, cause: Cause) {
        self.work.elections = OrdMap::new();
        let (new, rest): (Vec<_>, Vec<_>) =
            tps.into_iter().partition(|tp| self.knowledge.phase(tp) == PartitionPhase::New);
        let may = |tp: &TopicPartition| PartitionPhase::Online.may_follow(self.knowledge.phase(tp));
        let elect: Vec<_> = rest.into_iter().filter(may).collect();
        if new.is_empty() && elect.is_empty() {
            return;
        }
        self.work.batch = Batch::default();
        self.next_all([
            Step::Initialize(new).into(),
            Step::Elect(elect, cause).into(),
            Any::SendBatch,
        ]);
    }

    // Source: ZkPartitionStateMachine.initializeLeaderAndIsrForPartitions
    fn initialize(&mut self, tps: &[TopicPartition], turn: &mut Turn<'_, '_>) {
        let mut decided = Vec::new();
        for tp in tps {
            let assignment = self.knowledge.assignment(tp);
            let first =
                self.knowledge.with_brokers(|brokers| elect_first(&assignment.replicas, brokers));
            let Some(state) = first else { continue };
            let recipients = state.isr.clone();
            decided.push(Decided { tp: tp.clone(), state, recipients });
        }
        if self.release.asks_one_by_one() {
            // Whoever asks makes what is above, where it is missing.
            return self.make_states(decided, turn);
        }
        let mut topics: Vec<&TopicName> = decided.iter().map(|one| &one.tp.topic).collect();
        topics.dedup();
        let make = |topic| self.fenced(create(znodes::topic_partitions(topic), Bytes::NULL));
        let creates = topics.into_iter().map(make).collect();
        self.ask(creates, Step::Made(decided), turn);
    }

    fn parents_made(&mut self, decided: Vec<Decided>, replies: &Replies, turn: &mut Turn<'_, '_>) {
        if self.moved(replies, turn) {
            return;
        }
        let make = |one: &Decided| self.fenced(create(znodes::partition(&one.tp), Bytes::NULL));
        let creates = decided.iter().map(make).collect();
        self.ask(creates, Step::PartitionsMade(decided), turn);
    }

    fn partitions_made(
        &mut self,
        decided: Vec<Decided>,
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        if !self.moved(replies, turn) {
            self.make_states(decided, turn);
        }
    }

    fn make_states(&mut self, decided: Vec<Decided>, turn: &mut Turn<'_, '_>) {
        let make = |one: &Decided| {
            self.fenced(create(znodes::state(&one.tp), self.state_data(&one.state)))
        };
        let creates = decided.iter().map(make).collect();
        self.ask(creates, Step::Initialized(decided), turn);
    }

    fn initialized(&mut self, decided: &[Decided], replies: &Replies, turn: &mut Turn<'_, '_>) {
        if self.moved(replies, turn) {
            return;
        }
        for (one, reply) in decided.iter().zip(replies) {
            if let Fenced::Done(_) = self.judge(reply) {
                self.leads(one, 0, "new", Novelty::New, turn);
            }
        }
    }

    /// Notes a leadership that is written, and orders the brokers.
    fn leads(
        &mut self,
        decided: &Decided,
        version: i32,
        why: &'static str,
        novelty: Novelty,
        turn: &mut Turn<'_, '_>,
    ) {
        let Decided { tp, state, recipients } = decided;
        turn.out.tell(BrokerFact::LeaderElected {
            partition: tp.clone(),
            leader: state.leader,
            epoch: state.leader_epoch,
            isr: Brokers::from(state.isr.as_slice()),
            why,
        });
        let controller_epoch = self.epoch;
        let leadership =
            Leadership { state: state.clone(), controller_epoch, partition_epoch: version };
        self.knowledge.lead(tp, leadership);
        self.knowledge.enter(tp, PartitionPhase::Online);
        self.work.batch.order(recipients, tp, novelty, &self.knowledge);
        self.work.elections.insert(tp.clone(), Ok(()));
    }

    // Source: ZkPartitionStateMachine.doElectLeaderForPartitions
    fn election_read(
        &mut self,
        tps: &[TopicPartition],
        cause: Cause,
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        let mut states = Vec::new();
        for (tp, reply) in tps.iter().zip(replies) {
            match leadership_in(reply) {
                Some(found) if found.controller_epoch <= self.epoch => {
                    states.push((tp.clone(), found.state, found.partition_epoch));
                }
                _ => self.failed(tp, Error::UnknownTopicOrPartition),
            }
        }
        let topics = self.may_need_unclean(&states, cause);
        let path = |topic: &TopicName| ConfigType::Topics.entity(topic.as_str());
        let reads = topics.iter().map(|topic| turn.zk.get_data(path(topic))).collect();
        self.ask(reads, Step::ConfigsRead(states, cause, topics), turn);
    }

    /// Topics with a partition that only an unclean leader could have.
    // Source: ZkPartitionStateMachine.collectUncleanLeaderElectionState
    fn may_need_unclean(
        &self,
        states: &[(TopicPartition, LeaderAndIsr, i32)],
        cause: Cause,
    ) -> Vec<TopicName> {
        if cause != Cause::Offline(Unclean::Refused) {
            return Vec::new();
        }
        let nobody =
            |state: &LeaderAndIsr| !state.isr.iter().any(|&id| self.knowledge.is_online(id));
        let needy = states.iter().filter(|(_, state, _)| nobody(state));
        let mut topics: Vec<TopicName> = needy.map(|(tp, _, _)| tp.topic.clone()).collect();
        topics.dedup();
        topics
    }

    fn configs_read(
        &mut self,
        states: &[(TopicPartition, LeaderAndIsr, i32)],
        cause: Cause,
        topics: &[TopicName],
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        let of_broker = turn.settings.unclean_leader_election_enable;
        let allowed = |reply| unclean_of(found(reply, znodes::decode_config));
        let topics: OrdMap<&TopicName, bool> = topics
            .iter()
            .zip(replies)
            .map(|(topic, reply)| (topic, allowed(reply).unwrap_or(of_broker)))
            .collect();
        let mut decided = Vec::new();
        let mut writes = Vec::new();
        for (tp, state, version) in states {
            let unclean = topics.get(&tp.topic).is_some_and(|&allowed| allowed);
            let Outcome { elected, recipients } = self.hold(tp, state, cause, unclean);
            let unclean = unclean || cause == Cause::Offline(Unclean::Allowed);
            self.tell_election(tp, state, elected.as_ref(), (cause, unclean), turn);
            match elected {
                Some(state) => {
                    writes.push(self.write_state(tp, &state, *version));
                    decided.push(Decided { tp: tp.clone(), state, recipients });
                }
                None => self.failed(tp, nobody_for(cause)),
            }
        }
        self.ask(writes, Step::Elected(decided, cause), turn);
    }

    /// Tells of an election that is unclean, and of one for which nobody is there.
    // Source: OfflinePartitionLeaderSelector (to 0.10), PartitionStateMachine.logFailedStateChange
    fn tell_election(
        &self,
        tp: &TopicPartition,
        before: &LeaderAndIsr,
        elected: Option<&LeaderAndIsr>,
        (cause, unclean): (Cause, bool),
        turn: &mut Turn<'_, '_>,
    ) {
        let partition = tp.clone();
        let isr = Brokers::from(before.isr.as_slice());
        let replicas = &self.knowledge.assignment(tp).replicas;
        match elected {
            Some(state) if before.isr.contains(&state.leader) => {}
            Some(state) => {
                let online = replicas.iter().filter(|&&id| self.knowledge.is_online(id));
                let live: Vec<BrokerId> = online.copied().collect();
                let (leader, live) = (state.leader, Brokers::from(live.as_slice()));
                turn.out.tell(BrokerFact::UncleanLeader { partition, leader, live, isr });
            }
            None if matches!(cause, Cause::Offline(_)) => {
                let live = Brokers::from(self.knowledge.registered().as_slice());
                let replicas = Brokers::from(replicas.as_slice());
                let unclean = if unclean { "allowed" } else { "refused" };
                let fact = BrokerFact::NobodyToElect { partition, live, isr, replicas, unclean };
                turn.out.tell(fact);
            }
            None => {}
        }
    }

    fn hold(
        &self,
        tp: &TopicPartition,
        state: &LeaderAndIsr,
        cause: Cause,
        unclean: bool,
    ) -> Outcome {
        let assignment = self.knowledge.assignment(tp);
        let target = assignment.target();
        let reason = match cause {
            Cause::Offline(Unclean::Refused) if unclean => Reason::Offline(Unclean::Allowed),
            Cause::Offline(unclean) => Reason::Offline(unclean),
            Cause::Preferred => Reason::Preferred,
            Cause::Reassignment => Reason::Reassignment { target: &target },
            Cause::ControlledShutdown => Reason::ControlledShutdown,
        };
        let (candidates, replicas) = (Candidates::ByAssignment, &assignment.replicas);
        self.knowledge.with_brokers(|brokers| elect(reason, candidates, replicas, state, brokers))
    }

    /// A fenced write of a partition's `state`.
    pub(super) fn write_state(
        &self,
        tp: &TopicPartition,
        state: &LeaderAndIsr,
        version: i32,
    ) -> Op {
        let data = self.state_data(state);
        self.fenced(Op::SetData { path: znodes::state(tp), data, version })
    }

    fn elected(
        &mut self,
        decided: Vec<Decided>,
        cause: Cause,
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        if self.moved(replies, turn) {
            return;
        }
        let mut again = Vec::new();
        for (one, reply) in decided.into_iter().zip(replies) {
            match self.judge(reply) {
                Fenced::Done(OpResult::Set(stat)) => {
                    let why = match one.state.recovery {
                        LeaderRecovery::Recovering => "unclean",
                        LeaderRecovery::Recovered => cause.name(),
                    };
                    self.leads(&one, stat.version, why, Novelty::Known, turn);
                }
                Fenced::Refused(ZkError::BadVersion) => again.push(one.tp),
                _ => self.failed(&one.tp, Error::UnknownTopicOrPartition),
            }
        }
        if !again.is_empty() {
            self.next(Step::Elect(again, cause));
        }
    }

    fn failed(&mut self, tp: &TopicPartition, error: Error) {
        self.work.elections.insert(tp.clone(), Err(error));
    }
}

/// What it means that nobody could be elected.
fn nobody_for(cause: Cause) -> Error {
    match cause {
        Cause::Preferred => Error::PreferredLeaderNotAvailable,
        _ => Error::EligibleLeadersNotAvailable,
    }
}

/// Whether a topic's settings allow unclean leaders, if they say so.
pub(super) fn unclean_of(config: Option<Config>) -> Option<bool> {
    config?.get("unclean.leader.election.enable")?.parse().ok()
}
