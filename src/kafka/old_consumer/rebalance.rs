//! Registering, watching, and the rebalance, step by step.
//!
//! *Invariant: what a step has asked of ZooKeeper is answered before the next step asks.*
// Source: ZookeeperConsumerConnector.ZKRebalancerListener, ZKSessionExpireListener (0.8.2)

use std::collections::VecDeque;
use std::sync::Arc;

use super::fetching::Held;
use super::streams::{in_claim_order, is_allowed, registrations, thread_number, wanted};
use super::words::{Library, OldFact, OldTimer, Strategy, Wanted};
use super::{Activity, OldConsumer, Purpose, Standing};
use crate::kafka::assignor::PartitionCounts;
use crate::kafka::assignor::old::{ThreadAssignment, range, round_robin};
use crate::kafka::client::{Occasion, Partitions};
use crate::kafka::id::{BrokerId, Offset, TopicName, TopicPartition};
use crate::kafka::words::{Text, Words};
use crate::kafka::znodes::consumers::{self, ConsumerZnode};
use crate::kafka::znodes::{self, TopicZnode};
use crate::kafka::zookeeper::{
    Asker, Replies, Reply, children, create_above, create_ephemeral, data, found,
};
use crate::sim::{OrdMap, Outbox, Span};
use crate::zk::path::Path;
use crate::zk::reply::{Error, EventKind, WatchEvent};
use crate::zk::request::Op;
use crate::zk::stat::Bytes;

/// Partitions that are to be its own, with their threads.
type Claims = Vec<(TopicPartition, Arc<str>)>;

/// What the answers of ZooKeeper are for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// Whether it is registered.
    Registered,
    /// Whose registration is there already.
    Conflict,
    /// What is watched.
    Watched,
    /// Which brokers there are.
    ClusterListed,
    /// What they are, and its own registration.
    ClusterRead,
    /// No broker is there; one that comes is watched for.
    NoBroker,
    /// Its partitions are given up.
    Released,
    /// Its own registration, and which topics there are.
    OwnRead,
    /// Which brokers have something of those, where brokers are alone.
    PartsListed(Vec<Arc<str>>, Vec<TopicName>),
    /// How many partitions each of them has.
    PartsRead(Vec<Arc<str>>, Vec<(TopicName, BrokerId)>),
    /// How many partitions those have, and who is in the group.
    TopicsRead(Vec<Arc<str>>, Vec<TopicName>),
    /// What they have registered.
    MembersRead(Vec<Arc<str>>, Vec<Arc<str>>, PartitionCounts),
    /// How far the group is in what is to be its own.
    OffsetsRead(Claims),
    /// Whether it owns that.
    Claimed(Claims, Vec<Offset>),
    /// What is in the way.
    InTheWay(Claims, Vec<Offset>, Vec<TopicPartition>),
    /// What had been claimed is given up.
    Undone,
}

/// How long a process that has just been started takes until its first rebalance.
// Real: a JVM is slow until it has loaded what it needs, one time more than another; here half a
// second, because whoever is in the group already was seen to be done with its rebalance by then.
const WARM_UP: Span = Span::ms(500);

/// Whose thread rebalances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Runner {
    /// The application's, which waits for its streams.
    #[default]
    Application,
    /// The one that tells of sessions and topics.
    Events,
    /// The one that is woken by watches.
    Watcher,
}

/// Whether the group knows of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Registration {
    /// It has never been registered.
    #[default]
    Never,
    /// It has been, in a session that is over.
    Lost,
    /// So it has, and in the present one something was in the way. Nobody tries again.
    Refused,
    /// It is.
    There,
}

/// How far it is, and what waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Balance {
    /// A rebalance is under way: whose.
    running: Option<Runner>,
    attempt: u32,
    pub(super) asked: Option<Step>,
    /// What is to be its own, while Kafka is asked how far the group is.
    pub(super) claims: Claims,
    /// The thread of events waits for its turn.
    explicit: bool,
    /// The watcher's waits for its turn.
    waiting: bool,
    /// It has been woken since.
    triggered: bool,
    registration: Registration,
    /// The topics that the pattern has matched last.
    matching: Vec<Arc<str>>,
    /// What the last rebalance that ended came to.
    ended: Option<Standing>,
}

impl Balance {
    pub(super) fn standing(&self) -> Standing {
        match self.running {
            Some(_) => Standing::Rebalancing(self.attempt),
            None => self.ended.unwrap_or(Standing::New),
        }
    }

    /// Whether it has been registered, and so is a member.
    pub(super) fn is_registered(&self) -> bool {
        self.registration != Registration::Never
    }
}

impl OldConsumer {
    /// The session is over: what was being done is void.
    // Real: a thread goes on where it was once there is a session; here a rebalance is given up for
    // the one that follows the next registration, because both come to the same.
    pub(super) fn forget(&mut self, out: &mut Outbox<'_, Words>) {
        self.balance.running = None;
        self.balance.asked = None;
        self.balance.claims.clear();
        if self.balance.is_registered() {
            self.balance.registration = Registration::Lost;
        }
        self.calls.forget(|purpose| *purpose == Purpose::FetchOffsets);
        self.commit_for_nothing();
        for timer in [OldTimer::WarmUp, OldTimer::Backoff, OldTimer::RegisterAgain] {
            out.disarm(timer);
        }
    }

    /// There is a session: registers.
    pub(super) fn session(&mut self, out: &mut Outbox<'_, Words>) {
        let is_known = self.balance.is_registered();
        if is_known {
            self.held = OrdMap::new();
        }
        let kafka = self.keeps_offsets_in_kafka() && self.coordinator.is_none();
        if kafka {
            self.ask_coordinator(out);
        }
        if is_known || !kafka {
            self.register(out);
        }
    }

    pub(super) fn own_path(&self) -> Path {
        consumers::consumer_ids(&self.settings.group_id).child(&self.settings.id())
    }

    /// Asks ZooKeeper; `then` takes the answers.
    pub(super) fn ask(&mut self, ops: Vec<Op>, then: Step, out: &mut Outbox<'_, Words>) {
        self.balance.asked = Some(then);
        if !self.zk.ask(Asker::Member, ops, out) {
            self.go_on(Vec::new(), out);
        }
    }

    /// Registers, unless it does so already: the coordinator may be found before the session is.
    pub(super) fn register(&mut self, out: &mut Outbox<'_, Words>) {
        if self.zk.is_asking(Asker::Member) {
            return;
        }
        let znode = self.settings.registration(out.now().as_ms());
        let data = match self.settings.release.subscriptions_are_plain() {
            true => znode.encode_plain(),
            false => znode.encode(),
        };
        let mut creates = match self.settings.release.members_make_parents() {
            true => create_above(&self.own_path()),
            false => Vec::new(),
        };
        creates.push(create_ephemeral(self.own_path(), data));
        self.ask(creates, Step::Registered, out);
    }

    pub(super) fn go_on(&mut self, replies: Replies, out: &mut Outbox<'_, Words>) {
        let Some(step) = self.balance.asked.take() else { return };
        match step {
            Step::Registered => self.registered(&replies, out),
            Step::Conflict => self.conflict_read(&replies[0], out),
            Step::Watched => self.watches_set(&replies, out),
            Step::ClusterListed => self.read_cluster(&replies[0], out),
            Step::ClusterRead => self.cluster_read(&replies, out),
            Step::NoBroker => self.finish(out),
            Step::Released => self.read_own(out),
            Step::OwnRead => self.read_topics(&replies, out),
            Step::PartsListed(all, topics) => self.count_parts(all, &topics, &replies, out),
            Step::PartsRead(all, wanted) => self.parts_read(all, &wanted, &replies, out),
            Step::TopicsRead(all, topics) => self.read_members(all, &topics, &replies, out),
            Step::MembersRead(all, ids, counts) => {
                self.assign(&all, &ids, &counts, &replies, out);
            }
            Step::OffsetsRead(claims) => {
                let offsets = replies.iter().map(offset_in).collect();
                self.claim(claims, offsets, out);
            }
            Step::Claimed(claims, offsets) => self.claimed(claims, offsets, &replies, out),
            Step::InTheWay(claims, offsets, missed) => {
                self.looked(claims, offsets, missed, &replies, out);
            }
            Step::Undone => self.attempt_failed(out),
        }
    }

    /// A registration that is there belongs to an earlier life, and will go; or it is its own,
    /// written before the connection was lost. Where parents are made from the top, nobody waits.
    // Source: ZkUtils.createEphemeralPathExpectConflict and …ExpectConflictHandleZKBug;
    // ZKCheckedEphemeral.create (0.9+)
    fn conflict_read(&mut self, reply: &Reply, out: &mut Outbox<'_, Words>) {
        let owner = data(reply).map(|(_, stat)| stat.ephemeral_owner);
        match owner == Some(self.zk.session()) {
            true => self.is_there(out),
            false if self.settings.release.members_make_parents() => self.cannot_register(out),
            false => out.arm(OldTimer::RegisterAgain, self.settings.zookeeper_session_timeout),
        }
    }

    fn registered(&mut self, replies: &Replies, out: &mut Outbox<'_, Words>) {
        if replies.last().is_some_and(Result::is_ok) {
            return self.is_there(out);
        }
        let read = self.zk.get_data(self.own_path());
        self.ask(vec![read], Step::Conflict, out);
    }

    fn is_there(&mut self, out: &mut Outbox<'_, Words>) {
        out.tell(OldFact::ConsumerRegistered { consumer: self.id() });
        let before = std::mem::replace(&mut self.balance.registration, Registration::There);
        if before != Registration::Never {
            self.balance.explicit = true;
            return self.next_rebalance(out);
        }
        let ids = consumers::consumer_ids(&self.settings.group_id);
        let (mut nodes, mut children) = (Vec::new(), vec![ids]);
        match &self.settings.wanted {
            Wanted::Topics(topics) => {
                let topics = topics.iter().map(|(topic, _)| znodes::topic(topic));
                let lone = self.reads_lone_brokers();
                (if lone { &mut children } else { &mut nodes }).extend(topics);
            }
            Wanted::Pattern(..) => children.push(znodes::topics()),
        }
        let reads = self.zk.subscribe(&nodes, &children);
        self.ask(reads, Step::Watched, out);
    }

    /// Whoever was a member goes on listening to its watches, and rebalances as they ring.
    // Source: ZookeeperConsumerConnector.ZKSessionExpireListener.handleNewSession, whose exception
    // ZkEventThread.run only logs; ZkClient.process, which fires all watches after the end of a
    // session.
    fn cannot_register(&mut self, out: &mut Outbox<'_, Words>) {
        let waits = self.activity == Activity::Waiting;
        let in_main = waits && !self.balance.is_registered();
        let shown = if in_main { format!("{IN_MAIN} {TAKEN}") } else { TAKEN.to_owned() };
        out.tell(OldFact::ConsumerThrew { error: Text::from(&*shown) });
        if in_main {
            self.activity = Activity::Broken;
            return;
        }
        self.balance.registration = Registration::Refused;
        self.balance.explicit = waits;
        self.balance.waiting = true;
        self.next_rebalance(out);
    }

    fn watches_set(&mut self, replies: &Replies, out: &mut Outbox<'_, Words>) {
        if let Wanted::Pattern(..) = self.settings.wanted {
            let all = replies.last().map(children);
            self.note_matching(&all.unwrap_or_default());
        }
        self.balance.running = Some(Runner::Application);
        out.arm(OldTimer::WarmUp, WARM_UP);
    }

    /// The application's thread goes on.
    pub(super) fn warmed_up(&mut self, out: &mut Outbox<'_, Words>) {
        if self.balance.running == Some(Runner::Application) {
            self.run(Runner::Application, out);
        }
    }

    /// Notes which topics the pattern matches; whether they are others than before.
    // Source: ZookeeperConsumerConnector.WildcardStreamsHandler.handleTopicEvent
    fn note_matching(&mut self, all: &[Arc<str>]) -> bool {
        let Wanted::Pattern(pattern, _) = &self.settings.wanted else { return false };
        let matching = all.iter().filter(|topic| is_allowed(pattern, topic)).cloned().collect();
        let before = std::mem::replace(&mut self.balance.matching, matching);
        before != self.balance.matching
    }

    fn look_at_topics(&mut self, out: &mut Outbox<'_, Words>) {
        if !self.zk.is_asking(Asker::Topics) {
            let read = self.zk.get_children(znodes::topics());
            self.zk.ask(Asker::Topics, vec![read], out);
        }
    }

    /// Topics have come or gone.
    pub(super) fn topics_read(&mut self, replies: &Replies, out: &mut Outbox<'_, Words>) {
        if self.note_matching(&children(&replies[0])) {
            self.balance.explicit = true;
            self.next_rebalance(out);
        }
    }

    /// A watch has fired.
    pub(super) fn watched(&mut self, event: &WatchEvent, out: &mut Outbox<'_, Words>) {
        if event.path == znodes::topics() {
            return self.look_at_topics(out);
        }
        if event.kind != EventKind::NodeDeleted {
            let busy = self.balance.waiting || self.balance.running == Some(Runner::Watcher);
            match busy {
                true => self.balance.triggered = true,
                false => self.balance.waiting = true,
            }
        }
        self.next_rebalance(out);
    }

    /// Whoever waits has its turn.
    fn next_rebalance(&mut self, out: &mut Outbox<'_, Words>) {
        let busy = self.balance.running.is_some() || self.balance.asked.is_some();
        let is_asking =
            matches!(self.balance.registration, Registration::Never | Registration::Lost);
        if busy || is_asking || self.activity == Activity::Closing {
            return;
        }
        if std::mem::take(&mut self.balance.explicit) {
            let waits = self.activity == Activity::Waiting;
            self.run(if waits { Runner::Application } else { Runner::Events }, out);
        } else if std::mem::take(&mut self.balance.waiting) {
            self.run(Runner::Watcher, out);
        }
    }

    fn run(&mut self, runner: Runner, out: &mut Outbox<'_, Words>) {
        self.balance.running = Some(runner);
        self.balance.attempt = 0;
        self.attempt(out);
    }

    fn attempt(&mut self, out: &mut Outbox<'_, Words>) {
        let attempt = self.balance.attempt;
        out.tell(OldFact::RebalanceBegan { consumer: self.id(), attempt });
        let list = self.zk.get_children(znodes::broker_ids());
        self.ask(vec![list], Step::ClusterListed, out);
    }

    /// Reads the brokers twice, as two parts of the real one do, and its own registration.
    fn read_cluster(&mut self, list: &Reply, out: &mut Outbox<'_, Words>) {
        let ids = children(list);
        self.note_listed(&ids);
        let brokers: Vec<Path> =
            ids.iter().filter_map(|id| Some(znodes::broker(BrokerId(id.parse().ok()?)))).collect();
        let read = |path: &Path| self.zk.get_data(path.clone());
        let mut reads = vec![self.zk.get_data(self.own_path())];
        reads.extend(brokers.iter().map(read));
        reads.push(self.zk.get_children(znodes::broker_ids()));
        reads.extend(brokers.iter().map(read));
        self.ask(reads, Step::ClusterRead, out);
    }

    fn cluster_read(&mut self, replies: &Replies, out: &mut Outbox<'_, Words>) {
        if data(&replies[0]).is_none() {
            return self.attempt_threw(&self.own_path(), out);
        }
        self.note_located(replies);
        if replies.len() == 2 && !self.reads_lone_brokers() {
            let reads = self.zk.subscribe(&[], &[znodes::broker_ids()]);
            return self.ask(reads, Step::NoBroker, out);
        }
        self.stop_fetchers();
        match self.settings.auto_commit_enable {
            true => self.commit(Occasion::Rebalance, out),
            false => self.release(out),
        }
    }

    /// Gives its partitions up.
    // Source: ZKRebalancerListener.releasePartitionOwnership
    pub(super) fn release(&mut self, out: &mut Outbox<'_, Words>) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            let partitions: Partitions = held.keys().collect();
            out.tell(OldFact::OwnershipReleased { partitions });
        }
        let deletes = held.keys().map(|tp| self.disown(tp)).collect();
        self.ask(deletes, Step::Released, out);
    }

    fn disown(&self, tp: &TopicPartition) -> Op {
        Op::Delete { path: consumers::owner(&self.settings.group_id, tp), version: -1 }
    }

    fn read_own(&mut self, out: &mut Outbox<'_, Words>) {
        let own = self.zk.get_data(self.own_path());
        let topics = self.zk.get_children(znodes::topics());
        let both = matches!(self.settings.wanted, Wanted::Pattern(..));
        self.ask(if both { vec![own, topics] } else { vec![own] }, Step::OwnRead, out);
    }

    fn read_topics(&mut self, replies: &Replies, out: &mut Outbox<'_, Words>) {
        let Some(own) = found(&replies[0], ConsumerZnode::decode) else {
            return self.attempt_threw(&self.own_path(), out);
        };
        let all: Vec<Arc<str>> = replies.get(1).map(children).unwrap_or_default().to_vec();
        let topics: Vec<TopicName> = wanted(&own, &all).keys().cloned().collect();
        if self.reads_lone_brokers() {
            return self.list_parts(all, topics, out);
        }
        topics.iter().for_each(|topic| self.zk.watch_node(znodes::topic(topic)));
        let read = |topic| self.zk.get_data(znodes::topic(topic));
        let mut reads: Vec<Op> = topics.iter().map(read).collect();
        let ids = consumers::consumer_ids(&self.settings.group_id);
        reads.push(self.zk.get_children(ids));
        self.ask(reads, Step::TopicsRead(all, topics), out);
    }

    fn read_members(
        &mut self,
        all: Vec<Arc<str>>,
        topics: &[TopicName],
        replies: &Replies,
        out: &mut Outbox<'_, Words>,
    ) {
        let mut counts = self.part_counts();
        for (topic, reply) in topics.iter().zip(replies) {
            let znode = found(reply, TopicZnode::decode);
            let count = znode.map_or(0, |znode| znode.partitions.len());
            counts.insert(topic.clone(), i32::try_from(count).expect("partitions are few"));
        }
        let parent = consumers::consumer_ids(&self.settings.group_id);
        let ids: Vec<Arc<str>> = replies.last().map(children).unwrap_or_default().to_vec();
        let read = |id: &Arc<str>| self.zk.get_data(parent.child(id));
        let mut reads: Vec<Op> = ids.iter().map(read).collect();
        reads.push(self.zk.get_children(parent.clone()));
        self.ask(reads, Step::MembersRead(all, ids, counts), out);
    }

    fn assign(
        &mut self,
        all: &[Arc<str>],
        ids: &[Arc<str>],
        counts: &PartitionCounts,
        replies: &Replies,
        out: &mut Outbox<'_, Words>,
    ) {
        let mut members = Vec::new();
        for (id, reply) in ids.iter().zip(replies) {
            let Some(znode) = found(reply, ConsumerZnode::decode) else {
                let path = consumers::consumer_ids(&self.settings.group_id).child(id);
                return self.attempt_threw(&path, out);
            };
            members.push((id.clone(), znode));
        }
        let registered = registrations(&members, all);
        let assigned = match self.settings.partition_assignment_strategy {
            Strategy::Range => Ok(range(counts, &registered)),
            Strategy::RoundRobin => round_robin(counts, &registered),
        };
        match assigned {
            Ok(assigned) => self.read_offsets(self.own_share(&assigned), out),
            Err(_) => {
                out.tell(OldFact::ConsumerThrew { error: Text::from(UNEVEN) });
                self.attempt_failed(out);
            }
        }
    }

    fn own_share(&self, assigned: &ThreadAssignment) -> Claims {
        let id = self.settings.id();
        let mut claims = Claims::new();
        for (thread, partitions) in assigned {
            if thread_number(thread).0 == id {
                let own = partitions.iter().map(|tp| (self.part_at(tp), Arc::from(&**thread)));
                claims.extend(own);
            }
        }
        if !self.reads_lone_brokers() {
            in_claim_order(&mut claims, |(tp, _)| tp);
        }
        claims
    }

    /// Claims partitions, each by a znode.
    // Source: ZKRebalancerListener.reflectPartitionOwnershipDecision
    pub(super) fn claim(
        &mut self,
        claims: Claims,
        offsets: Vec<Offset>,
        out: &mut Outbox<'_, Words>,
    ) {
        let group = &self.settings.group_id;
        let create = |(tp, thread): &(TopicPartition, Arc<str>)| {
            create_ephemeral(consumers::owner(group, tp), Bytes::from(&**thread))
        };
        let creates = claims.iter().map(create).collect();
        self.ask(creates, Step::Claimed(claims, offsets), out);
    }

    fn claimed(
        &mut self,
        claims: Claims,
        offsets: Vec<Offset>,
        replies: &Replies,
        out: &mut Outbox<'_, Words>,
    ) {
        let missed = claims.iter().zip(replies).filter(|(_, reply)| reply.is_err());
        let missed: Vec<TopicPartition> = missed.map(|((tp, _), _)| tp.clone()).collect();
        let owner = |tp| consumers::owner(&self.settings.group_id, tp);
        let reads = missed.iter().map(|tp| self.zk.get_data(owner(tp))).collect();
        self.ask(reads, Step::InTheWay(claims, offsets, missed), out);
    }

    /// What is in the way and says that the own thread owns it is its own, written before the
    /// connection was lost.
    // Source: ZkUtils.createEphemeralPathExpectConflict
    fn looked(
        &mut self,
        claims: Claims,
        offsets: Vec<Offset>,
        mut missed: Vec<TopicPartition>,
        replies: &Replies,
        out: &mut Outbox<'_, Words>,
    ) {
        let mut replies = replies.iter();
        missed.retain(|tp| {
            let own = claims.iter().find(|(other, _)| other == tp).map(|(_, thread)| thread);
            let there = replies.next().and_then(data).map(|(data, _)| data);
            let others = there.map(Bytes::as_slice) != own.map(|thread| thread.as_bytes());
            if let Some(thread) = own.filter(|_| others) {
                out.tell(OldFact::OwnershipConflict {
                    path: consumers::owner(&self.settings.group_id, tp),
                    data: Text(thread.clone()),
                    stored: Text::from(&*there.map_or("null".into(), |data| data.to_text())),
                });
            }
            others
        });
        if missed.is_empty() {
            return self.own(claims, &offsets, out);
        }
        for partition in &missed {
            out.tell(OldFact::PartitionStillOwned { partition: partition.clone() });
        }
        let deletes = match self.settings.library {
            Library::Kafka => {
                let undone = claims.iter().rev().filter(|(tp, _)| !missed.contains(tp));
                undone.map(|(tp, _)| self.disown(tp)).collect()
            }
            // Source: kafka-node, HighLevelConsumer.rebalanceAttempt (to 2.2): what was added is
            // noted only once all is (its issues 487, 981)
            Library::KafkaNode => Vec::new(),
        };
        self.ask(deletes, Step::Undone, out);
    }

    fn own(&mut self, claims: Claims, offsets: &[Offset], out: &mut Outbox<'_, Words>) {
        for ((tp, thread), &offset) in claims.into_iter().zip(offsets) {
            let (partition, owner) = (tp.clone(), Text(thread.clone()));
            out.tell(OldFact::PartitionClaimed { partition, thread: owner });
            self.checkpointed.insert(tp.clone(), offset);
            let stream = self.settings.stream(&tp.topic, thread_number(&thread).1);
            let held = Held {
                thread,
                stream,
                consumed: offset,
                position: offset,
                leader: None,
                fetched: VecDeque::new(),
            };
            self.held.insert(tp, held);
        }
        let partitions: Partitions = self.held.keys().collect();
        out.tell(OldFact::RebalanceSucceeded { consumer: self.id(), partitions });
        self.start_fetchers(out);
        self.finish(out);
    }

    fn finish(&mut self, out: &mut Outbox<'_, Words>) {
        if self.balance.running == Some(Runner::Application) && self.activity == Activity::Waiting {
            self.activity = Activity::Reading;
            out.tell(OldFact::StreamsReady { consumer: self.id() });
        }
        self.end_run(Standing::Balanced, out);
    }

    fn end_run(&mut self, came_to: Standing, out: &mut Outbox<'_, Words>) {
        self.balance.ended = Some(came_to);
        let ended = self.balance.running.take();
        if ended == Some(Runner::Watcher) && std::mem::take(&mut self.balance.triggered) {
            self.balance.waiting = true;
        }
        self.next_rebalance(out);
    }

    /// A znode that the attempt needs is not there.
    fn attempt_threw(&mut self, path: &Path, out: &mut Outbox<'_, Words>) {
        let error = format!("{GONE} for {path}");
        out.tell(OldFact::RebalanceThrew { error: Text::from(&*error) });
        self.attempt_failed(out);
    }

    fn attempt_failed(&mut self, out: &mut Outbox<'_, Words>) {
        let attempt = self.balance.attempt;
        out.tell(OldFact::RebalanceFailed { consumer: self.id(), attempt });
        self.stop_fetchers();
        out.arm(OldTimer::Backoff, self.settings.rebalance_backoff);
    }

    /// The pause is over.
    pub(super) fn try_again(&mut self, out: &mut Outbox<'_, Words>) {
        let Some(runner) = self.balance.running else { return };
        self.balance.attempt += 1;
        if self.balance.attempt < self.settings.rebalance_max_retries {
            return self.attempt(out);
        }
        let (id, tries) = (self.id(), self.settings.rebalance_max_retries);
        let thrown = format!("{FAILED}: {id} can't rebalance after {tries} retries");
        let in_main = runner == Runner::Application;
        let shown = if in_main { format!("{IN_MAIN} {thrown}") } else { thrown };
        out.tell(OldFact::ConsumerThrew { error: Text::from(&*shown) });
        if in_main {
            self.activity = Activity::Broken;
        }
        self.end_run(Standing::GaveUp, out);
    }
}

const FAILED: &str = "kafka.common.ConsumerRebalanceFailedException";

/// What is thrown at who reads what is not there.
const GONE: &str = "org.I0Itec.zkclient.exception.ZkNoNodeException: \
    org.apache.zookeeper.KeeperException$NoNodeException: KeeperErrorCode = NoNode";

/// What is thrown at who finds its own registration there.
const TAKEN: &str = "org.I0Itec.zkclient.exception.ZkNodeExistsException: \
    org.apache.zookeeper.KeeperException$NodeExistsException: KeeperErrorCode = NodeExists";

/// How the JVM tells of what nobody has caught.
const IN_MAIN: &str = "Exception in thread \"main\"";

/// What round robin says of members that want different things.
// Source: kafka.consumer.RoundRobinAssignor
const UNEVEN: &str = "java.lang.IllegalArgumentException: requirement failed: Round-robin \
    assignment is allowed only if all consumers in the group subscribe to the same topics, AND if \
    the stream counts across topics are identical for a given consumer instance.";

fn offset_in(reply: &Reply) -> Offset {
    match reply {
        Err(Error::NoNode) => Offset::NONE,
        reply => found(reply, consumers::decode_offset).unwrap_or(Offset::NONE),
    }
}
