//! The controller: the part of a broker that, on one of them, decides who leads which partition.
//!
//! Each event of its queue becomes a pile of [`Step`]s. A step either does something at once, or
//! asks ZooKeeper and names the step that takes the answers; so one event is worked off after the
//! other, as by one thread that waits for every answer.
//!
//! ```text
//!   queue: BrokerChange, TopicChange …      stack of the present event:   Elect ◀─ top
//!            │ when the stack is empty                                    SendBatch
//!            ▼                                                            ReplicasTo(Offline)
//!          begin ── pushes steps ──▶ perform ── asks ZooKeeper ──▶ answered ──▶ perform …
//! ```
//!
//! Not here: how brokers obey (`replicas`), and who wins an election (`election`).
//!
//! *Invariant: every write of a controller is fenced by `/controller_epoch`; one that is refused
//! for that ends what is being done.*
// Source: kafka.controller.KafkaController, ControllerEventManager (3.9)

use std::collections::VecDeque;
use std::sync::Arc;

use super::broker::Turn;
use super::control::{
    AllocateProducerIdsRequest, AllocateProducerIdsResponse, AlterPartitionRequest,
    AlterPartitionResponse, ControlledShutdownRequest, ControlledShutdownResponse, Stopping,
};
use super::election::{LeaderAndIsr, LeaderRecovery};
use super::id::{BrokerEpoch, BrokerId, ControllerEpoch, TopicName, TopicPartition};
use super::message::{Request, Response};
use super::release::Release;
use super::wire::Caller;
use super::words::{BrokerFact, BrokerTimer, Text};
use super::znodes;
use super::zookeeper::{Asker, Replies, Reply, parts};
use super::{Error, admin};
use crate::sim::OrdMap;
use crate::zk::reply::{Answer, EventKind, OpResult, WatchEvent};
use crate::zk::request::Op;

mod balance;
mod batch;
mod brokers;
mod candidacy;
mod channels;
mod deletion;
mod failover;
mod isr;
mod knowledge;
mod partitions;
mod reassignment;
mod replicas;
mod shutdown;
mod topics;

pub use candidacy::{Registered, Registration};
pub use knowledge::{
    Knowledge, KnownPartition, Leadership, LiveBroker, PartitionPhase, Replica, ReplicaPhase,
};
pub use partitions::Cause;

use batch::Batch;
use channels::Channels;

/// Something for the controller to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ControllerEvent {
    /// The broker is registered: take part in elections.
    Startup,
    /// `/controller` has changed.
    ControllerChange,
    /// `/controller` is gone.
    Reelect,
    /// There is a new session: register the broker, then take part again.
    RegisterBrokerAndReelect,
    /// The session has expired: resign.
    Expire,
    /// Brokers have come or gone.
    BrokerChange,
    /// A broker's registration has changed.
    BrokerModifications(BrokerId),
    /// Topics have come or gone.
    TopicChange,
    /// A topic's partitions have changed.
    PartitionModifications(TopicName),
    /// Topics are to be deleted.
    TopicDeletion,
    /// A broker has answered an order to delete replicas.
    ReplicasDeleted(BrokerId, Arc<[(TopicPartition, Option<Error>)]>),
    /// Leaders have changed ISRs (to 2.6).
    IsrChangeNotification,
    /// Disks have failed.
    LogDirEventNotification,
    /// Somebody wants replicas moved through ZooKeeper.
    ZkPartitionReassignment,
    /// The ISR of a partition that moves has changed.
    ReassignmentIsrChange(TopicPartition),
    /// Somebody wants preferred leaders through ZooKeeper.
    ZkReplicaElection,
    /// It is time to compare leaders with preferred ones.
    LeaderBalance,
    /// A topic, or all that do not say otherwise, may now have unclean leaders.
    UncleanLeadersAllowed(Option<TopicName>),
    /// A broker asks for something.
    Asked(Caller, Ask),
}

impl ControllerEvent {
    /// What Kafka calls it.
    // Source: the case classes of kafka.controller.ControllerEvent (3.9)
    pub fn name(&self) -> &'static str {
        match self {
            ControllerEvent::Startup => "Startup",
            ControllerEvent::ControllerChange => "ControllerChange",
            ControllerEvent::Reelect => "Reelect",
            ControllerEvent::RegisterBrokerAndReelect => "RegisterBrokerAndReelect",
            ControllerEvent::Expire => "Expire",
            ControllerEvent::BrokerChange => "BrokerChange",
            ControllerEvent::BrokerModifications(_) => "BrokerModifications",
            ControllerEvent::TopicChange => "TopicChange",
            ControllerEvent::PartitionModifications(_) => "PartitionModifications",
            ControllerEvent::TopicDeletion => "TopicDeletion",
            ControllerEvent::ReplicasDeleted(..) => "TopicDeletionStopReplicaResponseReceived",
            ControllerEvent::IsrChangeNotification => "IsrChangeNotification",
            ControllerEvent::LogDirEventNotification => "LogDirEventNotification",
            ControllerEvent::ZkPartitionReassignment => "ZkPartitionReassignment",
            ControllerEvent::ReassignmentIsrChange(_) => "PartitionReassignmentIsrChange",
            ControllerEvent::ZkReplicaElection
            | ControllerEvent::Asked(_, Ask::ElectLeaders(_)) => "ReplicaLeaderElection",
            ControllerEvent::LeaderBalance => "AutoPreferredReplicaLeaderElection",
            ControllerEvent::UncleanLeadersAllowed(Some(_)) => "TopicUncleanLeaderElectionEnable",
            ControllerEvent::UncleanLeadersAllowed(None) => "UncleanLeaderElectionEnable",
            ControllerEvent::Asked(_, Ask::ControlledShutdown(_)) => "ControlledShutdown",
            ControllerEvent::Asked(_, Ask::AlterPartition(_)) => "AlterPartitionReceived",
            ControllerEvent::Asked(_, Ask::AllocateProducerIds(_)) => "AllocateProducerIds",
            ControllerEvent::Asked(_, Ask::AlterReassignments(_)) => "ApiPartitionReassignment",
            ControllerEvent::Asked(_, Ask::ListReassignments(_)) => "ListPartitionReassignments",
        }
    }
}

/// What brokers and tools ask of the controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Ask {
    ControlledShutdown(ControlledShutdownRequest),
    AlterPartition(AlterPartitionRequest),
    AllocateProducerIds(AllocateProducerIdsRequest),
    ElectLeaders(admin::ElectLeadersRequest),
    AlterReassignments(admin::AlterPartitionReassignmentsRequest),
    ListReassignments(admin::ListPartitionReassignmentsRequest),
}

/// One thing to be done for the present event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    Candidacy(candidacy::Step),
    Failover(failover::Step),
    Brokers(brokers::Step),
    Topics(topics::Step),
    Deletion(deletion::Step),
    Partitions(partitions::Step),
    Replicas(replicas::Step),
    Isr(isr::Step),
    Shutdown(shutdown::Step),
    Balance(balance::Step),
    Reassignment(reassignment::Step),
    /// Sends what was gathered.
    SendBatch,
    /// Waits for answers that nobody needs.
    Ignore,
}

/// How far the present event is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Work {
    /// What the present event is called.
    event: &'static str,
    /// What is to be done, the next on top.
    stack: Vec<Step>,
    /// Who takes the answers that ZooKeeper owes.
    asked: Option<Step>,
    /// Who waits for it, if it was asked for.
    asker: Option<(Caller, Ask)>,
    /// What brokers will be told.
    batch: Batch,
    /// What the last elections came to.
    elections: OrdMap<TopicPartition, Result<(), Error>>,
}

/// The controller of one broker, active or not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Controller {
    me: BrokerId,
    release: Release,
    /// As far as this broker knows; `BrokerId::NONE` for nobody.
    active: BrokerId,
    epoch: ControllerEpoch,
    /// The data version of `/controller_epoch` that goes with `epoch`.
    epoch_version: i32,
    knowledge: Knowledge,
    channels: Channels,
    queue: VecDeque<ControllerEvent>,
    work: Work,
    registration: Registration,
    /// How often it was about to register when the session ended (0.8).
    unfinished: u32,
}

impl Ask {
    /// What whoever asks is told by a broker that is not controller, or is no more.
    fn refusal(&self) -> Response {
        let error = Error::NotController;
        match self {
            Ask::ControlledShutdown(_) => {
                ControlledShutdownResponse { remaining_partitions: Err(error) }.into()
            }
            Ask::AlterPartition(_) => {
                AlterPartitionResponse { error: Some(error), partitions: Vec::new() }.into()
            }
            Ask::AllocateProducerIds(_) => AllocateProducerIdsResponse { block: Err(error) }.into(),
            Ask::ElectLeaders(_) => {
                let replica_election_results = Vec::new();
                admin::ElectLeadersResponse { error: Some(error), replica_election_results }.into()
            }
            Ask::AlterReassignments(_) => {
                let (error, responses) = (Some(error), Vec::new());
                admin::AlterPartitionReassignmentsResponse { error, responses }.into()
            }
            Ask::ListReassignments(_) => {
                let (error, topics) = (Some(error), OrdMap::new());
                admin::ListPartitionReassignmentsResponse { error, topics }.into()
            }
        }
    }
}

/// What a fenced write came to.
enum Fenced {
    /// It is done.
    Done(OpResult),
    /// It was refused for a reason of its own.
    Refused(crate::zk::reply::Error),
    /// Somebody else is controller.
    Moved,
}

impl Controller {
    /// A controller that does nothing yet.
    pub fn new(me: BrokerId, registration: Registration, release: Release) -> Controller {
        Controller {
            me,
            release,
            active: BrokerId::NONE,
            epoch: ControllerEpoch(0),
            epoch_version: 0,
            knowledge: Knowledge::default(),
            channels: Channels::default(),
            queue: VecDeque::new(),
            work: Work::default(),
            registration,
            unfinished: 0,
        }
    }

    /// Whether this broker believes to be the controller.
    pub fn is_active(&self) -> bool {
        self.active == self.me
    }

    /// Who this broker believes to be the controller.
    pub fn active(&self) -> BrokerId {
        self.active
    }

    /// The epoch in which it was controller last.
    pub fn epoch(&self) -> ControllerEpoch {
        self.epoch
    }

    /// What it knows of the cluster; empty unless it is active.
    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// The epoch of this broker's registration.
    pub fn broker_epoch(&self) -> BrokerEpoch {
        self.registration.epoch()
    }

    /// How this broker is registered.
    pub fn registration(&self) -> &Registration {
        &self.registration
    }

    /// How this broker is registered, to be changed by its start.
    pub fn registration_mut(&mut self) -> &mut Registration {
        &mut self.registration
    }

    /// Whether it has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.work.asked.is_none() && self.work.stack.is_empty() && self.queue.is_empty()
    }

    /// The event that it works at, if it does: what Kafka calls it.
    pub fn works_at(&self) -> Option<&'static str> {
        let is_done = self.work.asked.is_none() && self.work.stack.is_empty();
        (!is_done).then_some(self.work.event)
    }

    /// The events that wait until it is done with that, the first first.
    pub fn waiting(&self) -> impl Iterator<Item = &ControllerEvent> {
        self.queue.iter()
    }

    /// Takes an event.
    pub fn put(&mut self, event: ControllerEvent, turn: &mut Turn<'_, '_>) {
        self.queue.push_back(event);
        self.go(turn);
    }

    /// The session has expired: whatever was being done is void, and so is what waited.
    // Source: ControllerEventManager.clearAndPut(Expire)
    pub fn expire(&mut self, turn: &mut Turn<'_, '_>) {
        if self.release.brokers_wait_for_their_ids() {
            self.unfinished += u32::from(self.is_registering());
        }
        self.drop_everything(turn);
        self.put(ControllerEvent::Expire, turn);
    }

    /// There is another session: the broker registers, and as often as it was about to do so in
    /// earlier ones, for that goes on in whatever session there is.
    // Source: ZkClient.fireNewSessionEvents, retryUntilConnected (KAFKA-1387)
    pub fn session(&mut self, turn: &mut Turn<'_, '_>) {
        for _ in 0..=std::mem::take(&mut self.unfinished) {
            self.put(ControllerEvent::RegisterBrokerAndReelect, turn);
        }
    }

    /// The broker has waited for the znode that is in its way.
    pub fn register_again(&mut self, turn: &mut Turn<'_, '_>) {
        if self.has_waited() {
            self.answered(Vec::new(), turn);
        }
    }

    /// Takes the answers to what it asked of ZooKeeper.
    pub fn answered(&mut self, replies: Replies, turn: &mut Turn<'_, '_>) {
        let step = self.work.asked.take().expect("it has asked");
        self.perform(step, replies, turn);
        self.go(turn);
    }

    /// Takes what a watch tells, if it concerns the controller.
    pub fn watched(&mut self, event: &WatchEvent, turn: &mut Turn<'_, '_>) {
        if let Some(event) = event_of(event) {
            self.put(event, turn);
        }
    }

    /// Takes a broker's answer to an order: a replica is deleted once the order to delete it is
    /// obeyed, and not that to stop it, which comes before.
    // Source: ControllerBrokerRequestBatch.sendStopReplicaRequests (isPartitionDeleted)
    pub fn obeyed(&mut self, broker: BrokerId, response: &Response, turn: &mut Turn<'_, '_>) {
        let Some(order) = self.channels.answered(broker, turn) else { return };
        let (Request::StopReplica(order), Response::StopReplica(response)) = (order, response)
        else {
            return;
        };
        let was_to_go = |tp: &TopicPartition| {
            let mut stops = order.partitions.iter();
            stops.any(|stop| stop.partition == *tp && stop.stopping != Stopping::KeepLog)
        };
        let errors = &response.partition_errors;
        let deleted = errors
            .iter()
            .filter(|(tp, _)| self.knowledge.to_delete.contains(&tp.topic) && was_to_go(tp));
        let deleted: Arc<[_]> = deleted.cloned().collect();
        if !deleted.is_empty() {
            self.put(ControllerEvent::ReplicasDeleted(broker, deleted), turn);
        }
    }

    /// The connection to a broker has broken while an order was on its way.
    pub fn order_lost(&mut self, broker: BrokerId, turn: &mut Turn<'_, '_>) {
        self.channels.lost(broker, turn);
    }

    /// Sends an order again.
    pub fn order_again(&mut self, broker: BrokerId, turn: &mut Turn<'_, '_>) {
        self.channels.again(broker, turn);
    }

    /// The broker stops: gives up everything.
    pub fn shut_down(&mut self, turn: &mut Turn<'_, '_>) {
        self.drop_everything(turn);
        self.expired(turn);
    }

    /// Whatever is being done or waits is void; who has asked for it is told so.
    // Source: PreemptableControllerEvent.preempt
    fn drop_everything(&mut self, turn: &mut Turn<'_, '_>) {
        let work = std::mem::take(&mut self.work);
        let waiting = std::mem::take(&mut self.queue).into_iter().filter_map(|event| match event {
            ControllerEvent::Asked(caller, ask) => Some((caller, ask)),
            _ => None,
        });
        for (caller, ask) in work.asker.into_iter().chain(waiting) {
            turn.answer(caller, ask.refusal());
        }
    }

    fn go(&mut self, turn: &mut Turn<'_, '_>) {
        while self.work.asked.is_none() {
            if let Some(step) = self.work.stack.pop() {
                self.perform(step, Vec::new(), turn);
            } else if let Some(event) = self.queue.pop_front() {
                self.work.asker = None;
                self.work.event = event.name();
                self.begin(event, turn);
            } else {
                return;
            }
        }
    }

    fn begin(&mut self, event: ControllerEvent, turn: &mut Turn<'_, '_>) {
        match event {
            ControllerEvent::Startup => self.next(candidacy::Step::Startup),
            ControllerEvent::ControllerChange => self.next(candidacy::Step::MaybeResign),
            ControllerEvent::Reelect => self.next(candidacy::Step::Reelect),
            ControllerEvent::RegisterBrokerAndReelect => self.next(candidacy::Step::Register),
            ControllerEvent::Expire => self.expired(turn),
            ControllerEvent::Asked(caller, ask) => self.asked(caller, ask, turn),
            _ if !self.is_active() => {}
            ControllerEvent::BrokerChange => self.next(brokers::Step::Read),
            ControllerEvent::BrokerModifications(id) => self.next(brokers::Step::Modified(id)),
            ControllerEvent::TopicChange => self.next(topics::Step::Read),
            ControllerEvent::PartitionModifications(topic) => {
                self.next(topics::Step::ReadTopic(topic));
            }
            ControllerEvent::TopicDeletion => self.next(deletion::Step::Read),
            ControllerEvent::ReplicasDeleted(broker, outcome) => {
                self.replicas_deleted(broker, &outcome);
            }
            ControllerEvent::IsrChangeNotification => self.next(isr::Step::ReadNotes),
            ControllerEvent::LogDirEventNotification => {}
            ControllerEvent::ZkPartitionReassignment => self.next(reassignment::Step::Look),
            ControllerEvent::ReassignmentIsrChange(tp) => {
                self.next(reassignment::Step::IsrChanged(tp));
            }
            ControllerEvent::ZkReplicaElection => self.next(balance::Step::Look),
            ControllerEvent::LeaderBalance => self.balance(turn),
            ControllerEvent::UncleanLeadersAllowed(topic) => {
                self.unclean_leaders_allowed(topic.as_ref());
            }
        }
    }

    fn asked(&mut self, caller: Caller, ask: Ask, turn: &mut Turn<'_, '_>) {
        self.work.asker = Some((caller, ask.clone()));
        match ask {
            Ask::ControlledShutdown(request) => self.controlled_shutdown(caller, request, turn),
            Ask::AlterPartition(request) => self.alter_partition(caller, request, turn),
            Ask::AllocateProducerIds(request) => self.allocate(caller, request, turn),
            Ask::ElectLeaders(request) => self.elect_leaders(caller, request, turn),
            Ask::AlterReassignments(request) => self.alter_reassignments(caller, request, turn),
            Ask::ListReassignments(request) => self.list_reassignments(caller, &request, turn),
        }
    }

    fn perform(&mut self, step: Step, replies: Replies, turn: &mut Turn<'_, '_>) {
        match step {
            Step::Candidacy(step) => self.candidacy(step, &replies, turn),
            Step::Failover(step) => self.failover(step, &replies, turn),
            Step::Brokers(step) => self.brokers(step, &replies, turn),
            Step::Topics(step) => self.topics(step, &replies, turn),
            Step::Deletion(step) => self.deletion(step, &replies, turn),
            Step::Partitions(step) => self.partitions(step, &replies, turn),
            Step::Replicas(step) => self.replicas(step, &replies, turn),
            Step::Isr(step) => self.isr(step, &replies, turn),
            Step::Shutdown(step) => self.shutdown(step, turn),
            Step::Balance(step) => self.balancing(step, &replies, turn),
            Step::Reassignment(step) => self.reassignment(step, &replies, turn),
            Step::SendBatch => self.send_batch(turn),
            Step::Ignore => {}
        }
    }

    /// Puts a step on top of the stack.
    fn next(&mut self, step: impl Into<Step>) {
        self.work.stack.push(step.into());
    }

    /// Puts steps on the stack, the first of them on top.
    fn next_all(&mut self, steps: impl IntoIterator<Item = Step>) {
        let below = self.work.stack.len();
        self.work.stack.extend(steps);
        self.work.stack[below..].reverse();
    }

    /// Asks ZooKeeper; `then` takes the answers.
    fn ask(&mut self, ops: Vec<Op>, then: impl Into<Step>, turn: &mut Turn<'_, '_>) {
        if turn.zk.ask(Asker::Controller, ops, turn.out) {
            self.work.asked = Some(then.into());
        } else {
            self.next(then);
        }
    }

    /// A write that is done only if no other controller has come.
    fn fenced(&self, op: Op) -> Op {
        if !self.release.controller_writes_are_fenced() {
            return op;
        }
        let check = Op::Check { path: znodes::controller_epoch(), version: self.epoch_version };
        Op::Multi(Arc::from([check, op]))
    }

    /// What a fenced write came to.
    // Source: KafkaZkClient.maybeThrowControllerMoveException
    fn judge(&self, reply: &Reply) -> Fenced {
        if !self.release.controller_writes_are_fenced() {
            return match reply {
                Ok(Answer::Stat(stat)) => Fenced::Done(OpResult::Set(*stat)),
                Ok(_) => Fenced::Done(OpResult::Deleted),
                Err(error) => Fenced::Refused(*error),
            };
        }
        match parts(reply) {
            Ok(results) => Fenced::Done(results[1].clone()),
            Err((0, _)) => Fenced::Moved,
            Err((_, error)) => Fenced::Refused(error),
        }
    }

    /// Whether a fenced write was refused because somebody else is controller; then what is being
    /// done is ended.
    fn moved(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) -> bool {
        let moved = replies.iter().any(|reply| matches!(self.judge(reply), Fenced::Moved));
        if moved {
            turn.out.tell(BrokerFact::ControllerFenced {
                broker: self.me,
                epoch: self.epoch,
                during: self.work.event,
            });
            let work = std::mem::take(&mut self.work);
            if let Some((caller, ask)) = work.asker {
                turn.answer(caller, ask.refusal());
            }
            self.next(candidacy::Step::MaybeResign);
        }
        moved
    }

    fn send_batch(&mut self, turn: &mut Turn<'_, '_>) {
        let batch = std::mem::take(&mut self.work.batch);
        batch.send((self.me, self.epoch), &self.knowledge, &mut self.channels, turn);
    }

    /// Tells brokers of partitions, in a batch of its own.
    fn update_metadata(
        &mut self,
        brokers: &[BrokerId],
        tps: &[TopicPartition],
        turn: &mut Turn<'_, '_>,
    ) {
        let mut batch = Batch::default();
        batch.tell(brokers, tps, &self.knowledge);
        batch.send((self.me, self.epoch), &self.knowledge, &mut self.channels, turn);
    }

    /// A broker's own words on the ISR of a partition that is to be written.
    fn state_data(&self, leadership: &LeaderAndIsr) -> crate::zk::stat::Bytes {
        let mut leadership = leadership.clone();
        if !self.release.unclean_leaders_are_noted() {
            leadership.recovery = LeaderRecovery::Recovered;
        }
        znodes::StateZnode { leadership, controller_epoch: self.epoch }.encode()
    }

    fn warn(&self, error: &str, turn: &mut Turn<'_, '_>) {
        let (order, from) = ("controller", self.me);
        turn.out.tell(BrokerFact::OrderRefused { order, from, error: Text::from(error) });
    }

    /// Starts the timer of the leaders' balance.
    fn arm_balance(&self, after: crate::sim::Span, turn: &mut Turn<'_, '_>) {
        if turn.settings.auto_leader_rebalance_enable {
            turn.out.arm(BrokerTimer::LeaderBalance, after);
        }
    }
}

/// What the controller has to do when a watch fires.
// Source: the handlers at the end of KafkaController
fn event_of(event: &WatchEvent) -> Option<ControllerEvent> {
    let (path, kind) = (event.path.as_str(), event.kind);
    let children = kind == EventKind::NodeChildrenChanged;
    let changed = kind == EventKind::NodeDataChanged;
    let is = |other: crate::zk::path::Path| *path == *other.as_str();
    let created = kind == EventKind::NodeCreated;
    let in_parent = |parent: crate::zk::path::Path| event.path.parent() == Some(parent);
    Some(match () {
        () if is(znodes::controller()) && kind == EventKind::NodeDeleted => {
            ControllerEvent::Reelect
        }
        () if is(znodes::controller()) => ControllerEvent::ControllerChange,
        () if is(znodes::broker_ids()) && children => ControllerEvent::BrokerChange,
        () if is(znodes::topics()) && children => ControllerEvent::TopicChange,
        () if is(znodes::delete_topics()) && children => ControllerEvent::TopicDeletion,
        () if is(znodes::isr_change_notification()) && children => {
            ControllerEvent::IsrChangeNotification
        }
        () if is(znodes::log_dir_event_notification()) && children => {
            ControllerEvent::LogDirEventNotification
        }
        () if is(znodes::reassign_partitions()) && created => {
            ControllerEvent::ZkPartitionReassignment
        }
        () if is(znodes::preferred_replica_election()) && created => {
            ControllerEvent::ZkReplicaElection
        }
        () if in_parent(znodes::broker_ids()) && changed => {
            ControllerEvent::BrokerModifications(BrokerId(event.path.name().parse().ok()?))
        }
        () if in_parent(znodes::topics()) && changed => {
            ControllerEvent::PartitionModifications(event.path.name().into())
        }
        () if changed => {
            ControllerEvent::ReassignmentIsrChange(znodes::partition_of_state(&event.path)?)
        }
        () => return None,
    })
}

/// Steps of one file, as steps of all.
macro_rules! steps {
    ($($variant:ident($file:ident);)*) => {$(
        impl From<$file::Step> for Step {
            fn from(step: $file::Step) -> Step {
                Step::$variant(step)
            }
        }
    )*};
}

steps! {
    Candidacy(candidacy);
    Failover(failover);
    Brokers(brokers);
    Topics(topics);
    Deletion(deletion);
    Partitions(partitions);
    Replicas(replicas);
    Isr(isr);
    Shutdown(shutdown);
    Balance(balance);
    Reassignment(reassignment);
}
