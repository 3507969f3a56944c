//! What a new controller does first: it watches, reads everything, tells the brokers, and then
//! brings every replica and partition into its state.
//!
//! *Invariant: what is watched is watched before it is read.*
// Source: KafkaController.onControllerFailover, initializeControllerContext (3.9)

use std::sync::Arc;

use super::knowledge::{Leadership, LiveBroker, PartitionPhase, ReplicaPhase};
use super::{Controller, Step as Any, balance, deletion, partitions, reassignment, replicas};
use crate::kafka::broker::{Turn, random_id};
use crate::kafka::id::{BrokerEpoch, BrokerId, TopicName, TopicPartition};
use crate::kafka::message::BrokerAddress;
use crate::kafka::release::Release;
use crate::kafka::settings::Settings;
use crate::kafka::words::BrokerFact;
use crate::kafka::znodes::{self, BrokerZnode, StateZnode, TopicZnode};
use crate::kafka::zookeeper::{Replies, Reply, children, create, data, found};
use crate::sim::{OrdMap, Span, sort};
use crate::zk::path::Path;
use crate::zk::request::Op;

/// How soon a new controller compares leaders with preferred ones.
// Source: KafkaController.scheduleAutoLeaderRebalanceTask(delay = 5)
const FIRST_BALANCE: Span = Span::secs(5);

/// What may be done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Looks for `/feature`.
    Features,
    /// Makes it if it is missing.
    FeaturesRead,
    /// Watches.
    Watch,
    /// Removes notes to an earlier controller.
    DropNotes,
    /// Takes what notes there are.
    NotesRead,
    /// Reads which brokers live and which topics there are.
    ReadBrokers,
    /// Takes which there are.
    BrokersRead,
    /// Takes the live brokers.
    BrokerDataRead(Vec<BrokerId>),
    /// Takes the list of topics.
    TopicsRead,
    /// Takes the topics.
    TopicDataRead(Vec<TopicName>),
    /// Watches the live brokers.
    WatchBrokers,
    /// Reads the state of all partitions.
    ReadStates,
    /// Takes it.
    StatesRead(Vec<TopicPartition>),
    /// Opens connections to the live brokers.
    Connect,
    /// Reads which topics are to be deleted.
    ReadDeletions,
    /// Takes them.
    DeletionsRead,
    /// Tells everybody who lives.
    TellBrokers,
    /// Brings replicas into their states.
    StartReplicas,
    /// Brings partitions into their states.
    StartPartitions,
    /// The controller serves; what was begun is resumed.
    Ready,
    /// Starts the timers.
    Timers,
}

/// What a controller watches the children of.
// Source: KafkaController.onControllerFailover; PartitionStateMachine.registerListeners (0.8.2)
pub fn watched_children(settings: &Settings) -> Vec<Path> {
    let mut paths = vec![znodes::broker_ids(), znodes::topics()];
    if settings.delete_topic_enable || settings.release.deletions_may_be_dropped() {
        paths.push(znodes::delete_topics());
    }
    paths.extend(notes(settings.release));
    paths
}

/// What brokers leave notes to the controller under.
fn notes(release: Release) -> Vec<Path> {
    let disks = release.failed_disks_are_noted().then(znodes::log_dir_event_notification);
    let isrs = release.isr_changes_are_noted().then(znodes::isr_change_notification);
    disks.into_iter().chain(isrs).collect()
}

impl Controller {
    pub(super) fn failover(&mut self, step: Step, replies: &Replies, turn: &mut Turn<'_, '_>) {
        match step {
            Step::Features if !self.release.features_are_finalized() => self.next(Step::Watch),
            Step::Features => {
                let read = turn.zk.get_data(znodes::feature());
                self.ask(vec![read], Step::FeaturesRead, turn);
            }
            Step::FeaturesRead => self.features_read(replies, turn),
            Step::Watch => self.watch(turn),
            Step::DropNotes => self.read_notes(turn),
            Step::NotesRead => self.drop_notes(replies, turn),
            Step::ReadBrokers => {
                let read = turn.zk.get_children(znodes::broker_ids());
                self.ask(vec![read], Step::BrokersRead, turn);
            }
            Step::BrokersRead => self.read_brokers(replies, turn),
            Step::BrokerDataRead(ids) => self.broker_data_read(&ids, replies, turn),
            Step::TopicsRead => self.topics_read(replies, turn),
            Step::TopicDataRead(topics) => self.topic_data_read(&topics, replies, turn),
            Step::WatchBrokers => {
                let live = self.knowledge.registered();
                self.watch_brokers(&live, turn);
            }
            Step::ReadStates => {
                let tps = self.knowledge.partitions.keys().cloned().collect();
                self.read_states(tps, turn);
            }
            Step::StatesRead(tps) => self.states_read(&tps, replies),
            Step::Connect => self.connect(),
            Step::ReadDeletions => {
                let read = turn.zk.get_children(znodes::delete_topics());
                self.ask(vec![read], Step::DeletionsRead, turn);
            }
            Step::DeletionsRead => self.deletions_read(replies, turn),
            Step::TellBrokers => {
                let live = self.knowledge.registered();
                self.update_metadata(&live, &[], turn);
            }
            Step::StartReplicas => self.start_replicas(),
            Step::StartPartitions => self.start_partitions(),
            Step::Ready => self.ready(turn),
            Step::Timers => self.arm_balance(FIRST_BALANCE, turn),
        }
    }

    fn features_read(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        self.next(Step::Watch);
        if data(&replies[0]).is_none() {
            let first = znodes::encode_feature(turn.settings.release);
            self.ask(vec![create(znodes::feature(), first)], Any::Ignore, turn);
        }
    }

    fn watch(&mut self, turn: &mut Turn<'_, '_>) {
        let children = watched_children(turn.settings);
        let nodes = [znodes::preferred_replica_election(), znodes::reassign_partitions()];
        let mut looks = turn.zk.subscribe(&nodes, &children);
        if !self.release.asks_one_by_one() {
            // The children are read, and so watched, later.
            looks.truncate(nodes.len());
        }
        self.next(Step::DropNotes);
        self.ask(looks, Any::Ignore, turn);
    }

    fn read_notes(&mut self, turn: &mut Turn<'_, '_>) {
        let notes = notes(self.release).into_iter();
        let reads = notes.map(|path| turn.zk.get_children(path)).collect();
        self.ask(reads, Step::NotesRead, turn);
    }

    fn drop_notes(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        self.next_all([
            Step::ReadBrokers.into(),
            Step::WatchBrokers.into(),
            Step::ReadStates.into(),
            Step::Connect.into(),
            Step::ReadDeletions.into(),
            Step::TellBrokers.into(),
            Step::StartReplicas.into(),
            Step::StartPartitions.into(),
            Step::Ready.into(),
        ]);
        let deletes = self.deletes_of_notes(&notes(self.release), replies);
        self.ask(deletes, Any::Ignore, turn);
    }

    /// Fenced deletes of all children of the parents that these answers name.
    pub(super) fn deletes_of_notes(&self, parents: &[Path], replies: &Replies) -> Vec<Op> {
        let mut deletes = Vec::new();
        for (parent, reply) in parents.iter().zip(replies) {
            for note in children(reply).iter() {
                let delete = Op::Delete { path: parent.child(note), version: -1 };
                deletes.push(self.fenced(delete));
            }
        }
        deletes
    }

    fn read_brokers(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let ids = ids_in(&replies[0]);
        let reads = ids.iter().map(|&id| turn.zk.get_data(znodes::broker(id))).collect();
        self.ask(reads, Step::BrokerDataRead(ids), turn);
    }

    fn broker_data_read(&mut self, ids: &[BrokerId], replies: &Replies, turn: &mut Turn<'_, '_>) {
        self.knowledge.live = Arc::new(live_in(ids, replies, turn));
        self.knowledge.shutting_down.clear();
        let read = turn.zk.get_children(znodes::topics());
        self.ask(vec![read], Step::TopicsRead, turn);
    }

    fn topics_read(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let topics: Vec<TopicName> =
            children(&replies[0]).iter().map(|name| TopicName::from(&**name)).collect();
        self.read_topics(topics, Step::TopicDataRead, turn);
    }

    /// Watches and reads topics.
    pub(super) fn read_topics<S: Into<Any>>(
        &mut self,
        topics: Vec<TopicName>,
        then: impl FnOnce(Vec<TopicName>) -> S,
        turn: &mut Turn<'_, '_>,
    ) {
        topics.iter().for_each(|topic| turn.zk.watch_node(znodes::topic(topic)));
        let reads = topics.iter().map(|topic| turn.zk.get_data(znodes::topic(topic))).collect();
        self.ask(reads, then(topics), turn);
    }

    fn topic_data_read(
        &mut self,
        topics: &[TopicName],
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) {
        for tp in self.know_topics(topics, replies, turn) {
            if self.knowledge.assignment(&tp).is_being_reassigned() {
                self.knowledge.reassigning.insert(tp);
            }
        }
    }

    /// Notes topics and their replicas; gives their partitions. Topics without an id get one.
    // Source: KafkaController.processTopicIds, KafkaZkClient.setTopicIds (2.8)
    pub(super) fn know_topics(
        &mut self,
        topics: &[TopicName],
        replies: &Replies,
        turn: &mut Turn<'_, '_>,
    ) -> Vec<TopicPartition> {
        let (mut tps, mut writes) = (Vec::new(), Vec::new());
        for (topic, reply) in topics.iter().zip(replies) {
            let znode = found(reply, TopicZnode::decode);
            let Some(mut znode) = znode else { continue };
            if self.release.topics_have_ids() && znode.topic_id.is_none() {
                znode.topic_id = Some(random_id(turn.out));
                let (path, data) = (znodes::topic(topic), znode.encode(self.release));
                writes.push(self.fenced(Op::SetData { path, data, version: -1 }));
            }
            let id = znode.topic_id.unwrap_or_else(|| "".into());
            self.knowledge.topics.insert(topic.clone(), id);
            for (partition, assignment) in znode.partitions {
                let tp = TopicPartition { topic: topic.clone(), partition };
                self.knowledge.assign(&tp, assignment);
                tps.push(tp);
            }
        }
        if !writes.is_empty() {
            self.ask(writes, Any::Ignore, turn);
        }
        tps
    }

    /// Watches the registrations of brokers.
    pub(super) fn watch_brokers(&mut self, ids: &[BrokerId], turn: &mut Turn<'_, '_>) {
        if !self.release.registrations_are_watched() {
            return;
        }
        ids.iter().for_each(|&id| turn.zk.watch_node(znodes::broker(id)));
        let looks = ids.iter().map(|&id| turn.zk.exists(znodes::broker(id))).collect();
        self.ask(looks, Any::Ignore, turn);
    }

    /// Reads the leaderships of partitions anew.
    // Source: KafkaController.updateLeaderAndIsrCache
    pub(super) fn read_states(&mut self, tps: Vec<TopicPartition>, turn: &mut Turn<'_, '_>) {
        let reads = tps.iter().map(|tp| turn.zk.get_data(znodes::state(tp))).collect();
        self.ask(reads, Step::StatesRead(tps), turn);
    }

    fn states_read(&mut self, tps: &[TopicPartition], replies: &Replies) {
        for (tp, reply) in tps.iter().zip(replies) {
            if let Some(leadership) = leadership_in(reply) {
                self.knowledge.lead(tp, leadership);
            }
        }
    }

    fn connect(&mut self) {
        for broker in self.knowledge.live.values() {
            self.channels.add(broker.address.clone());
        }
    }

    /// Topics that have a replica on a dead broker, or move, cannot be deleted now.
    // Source: KafkaController.fetchTopicDeletionsInProgress; TopicDeletionManager.init
    fn deletions_read(&mut self, replies: &Replies, turn: &mut Turn<'_, '_>) {
        let topics: Vec<TopicName> =
            children(&replies[0]).iter().map(|name| TopicName::from(&**name)).collect();
        if !turn.settings.delete_topic_enable {
            let may_drop = self.release.deletions_may_be_dropped();
            let topics = if may_drop { topics } else { Vec::new() };
            return self.drop_deletions(&topics, turn);
        }
        for topic in topics {
            let replicas = self.knowledge.replicas_of(&topic);
            let offline = replicas.iter().any(|&(_, id)| !self.knowledge.is_online(id));
            let moving = self.knowledge.reassigning.iter().any(|tp| tp.topic == topic);
            if offline || moving {
                self.knowledge.ineligible.insert(topic.clone());
            }
            self.knowledge.to_delete.insert(topic);
        }
    }

    fn start_replicas(&mut self) {
        let mut online = Vec::new();
        let mut offline = Vec::new();
        let brokers = self.knowledge.partitions.iter();
        let all: Vec<_> = brokers
            .flat_map(|(tp, known)| known.assignment.replicas.iter().map(|&id| (tp.clone(), id)))
            .collect();
        for replica in all {
            let lives = self.knowledge.is_online(replica.1);
            let phase = if lives { ReplicaPhase::Online } else { ReplicaPhase::DeletionIneligible };
            self.knowledge.replicas.insert(replica.clone(), phase);
            let list = if lives { &mut online } else { &mut offline };
            list.push(replica);
        }
        if !self.release.failover_removes_dead_replicas() {
            offline.clear();
        }
        self.next_all([
            replicas::Step::To(online, ReplicaPhase::Online).into(),
            replicas::Step::To(offline, ReplicaPhase::Offline).into(),
        ]);
    }

    fn start_partitions(&mut self) {
        let tps: Vec<TopicPartition> = self.knowledge.partitions.keys().cloned().collect();
        for tp in tps {
            let leader = self.knowledge.leader(&tp);
            let phase = match leader {
                Some(leader) if self.knowledge.is_online(leader) => PartitionPhase::Online,
                Some(_) => PartitionPhase::Offline,
                None => PartitionPhase::New,
            };
            self.knowledge.enter(&tp, phase);
        }
        self.next(partitions::Step::TriggerOnline);
    }

    fn ready(&mut self, turn: &mut Turn<'_, '_>) {
        self.next_all([
            reassignment::Step::Resume.into(),
            deletion::Step::Resume.into(),
            balance::Step::ReadWishes.into(),
            Step::Timers.into(),
        ]);
        let partitions = self.knowledge.partitions.len();
        let partitions = i32::try_from(partitions).expect("partitions are counted in i32");
        turn.out.tell(BrokerFact::ControllerReady {
            broker: self.me,
            epoch: self.epoch,
            partitions,
        });
    }
}

/// The broker ids among children, in order of number.
pub(super) fn ids_in(reply: &Reply) -> Vec<BrokerId> {
    let names = children(reply);
    let mut ids: Vec<BrokerId> =
        names.iter().filter_map(|name| Some(BrokerId(name.parse().ok()?))).collect();
    sort::sort(&mut ids);
    ids
}

/// The brokers that were found, with their epochs.
pub(super) fn live_in(
    ids: &[BrokerId],
    replies: &Replies,
    turn: &Turn<'_, '_>,
) -> OrdMap<BrokerId, LiveBroker> {
    let mut live = OrdMap::new();
    for (&id, reply) in ids.iter().zip(replies) {
        let Some((data, stat)) = data(reply) else { continue };
        let Some(znode) = BrokerZnode::decode(data) else { continue };
        let Some(process) = turn.directory.find(&znode.host, znode.port) else { continue };
        let (host, port, rack) = (znode.host, znode.port, znode.rack);
        let address = BrokerAddress { id, process, host, port, rack };
        live.insert(
            id,
            LiveBroker { address, epoch: BrokerEpoch::of(stat, turn.settings.release) },
        );
    }
    live
}

/// The leadership that a getData of `state` has found.
pub(super) fn leadership_in(reply: &Reply) -> Option<Leadership> {
    let (data, stat) = data(reply)?;
    let StateZnode { leadership, controller_epoch } = StateZnode::decode(data)?;
    Some(Leadership { state: leadership, controller_epoch, partition_epoch: stat.version })
}
