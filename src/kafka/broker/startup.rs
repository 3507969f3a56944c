//! The start of a broker, as ZooKeeper sees it: request by request, in the real order.
//!
//! *Invariant: the broker is registered before its controller runs for anything, to 1.0 after that;
//! it serves only when it watches `/config/changes`.*
// Source: KafkaServer.startup, KafkaZkClient.createTopLevelPaths (3.9); start-three-brokers.3.9.1

use std::sync::Arc;

use super::errand::next_block;
use super::{Disk, Dynamic, Phase, Running, Site, Turn, turn};
use crate::kafka::controller::{ControllerEvent, Registered};
use crate::kafka::id::{BrokerId, CONSUMER_OFFSETS, TRANSACTION_STATE};
use crate::kafka::words::{BrokerFact, BrokerTimer, Text, Words};
use crate::kafka::znodes::{self, ConfigType, ProducerIdBlock};
use crate::kafka::zookeeper::{Asker, Heard, Replies, children, create, found};
use crate::sim::{Draw, Outbox};
use crate::zk::path::Path;
use crate::zk::reply::Error;
use crate::zk::request::Op;
use crate::zk::stat::Bytes;

/// How far a start is: what it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A session.
    Connecting,
    /// Whether the persistent path of this number is there (to 1.0).
    PathLooked(u32),
    /// The persistent path of this number.
    Path(u32),
    /// The parent of that path.
    Parent(u32),
    /// The cluster's id.
    ClusterId,
    /// Whether this id could be written.
    ClusterIdMade(Arc<str>),
    /// The znode above it.
    ClusterParent(Arc<str>),
    /// The settings of this broker, and which topics there are.
    Configs,
    /// The features, and which brokers there are.
    Brokers,
    /// What those brokers say.
    BrokerData,
    /// Whether somebody is controller, or it itself (to 1.0).
    Election,
    /// Whether it is registered.
    Registration,
    /// What is in the way of that.
    InTheWay,
    /// That what is in the way goes (0.8).
    Backoff,
    /// How many partitions groups have, and which block of producer ids was taken last (to 2.8).
    IdBlock,
    /// Whether this block could be taken.
    IdBlockTaken(ProducerIdBlock),
    /// How many partitions groups and transactions have.
    InternalTopics,
    /// Which settings have been changed, and all that there are.
    ConfigWatchers,
    /// The settings of topics, and of these brokers.
    AllConfigs(Vec<Arc<str>>),
}

/// What may have been set, as a start asks for it.
const CONFIG_KINDS: [ConfigType; 6] = [
    ConfigType::Topics,
    ConfigType::Clients,
    ConfigType::Users,
    ConfigType::Users,
    ConfigType::Ips,
    ConfigType::Brokers,
];

impl Running {
    /// There is a session: the start begins, or begins again.
    pub(super) fn start(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        self.next_path(0, site, out);
    }

    fn step(&mut self, step: Step, ops: Vec<Op>, out: &mut Outbox<'_, Words>) {
        self.phase = Phase::Starting(step);
        let asked = self.zk.ask(Asker::Startup, ops, out);
        assert!(asked, "each step of a start asks something");
    }

    /// Takes what a step has asked for.
    pub(super) fn started(
        &mut self,
        replies: &Replies,
        disk: &mut Disk,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let Phase::Starting(step) = self.phase.clone() else { return };
        match step {
            Step::Connecting | Step::Election | Step::Backoff => {}
            Step::PathLooked(number) => match replies[0] {
                Ok(_) => self.next_path(number + 1, site, out),
                Err(_) => self.make_path(number, site, out),
            },
            Step::Path(number) => self.path_made(number, replies, site, out),
            Step::Parent(number) => self.make_path(number, site, out),
            Step::ClusterId => self.cluster_id_read(replies, disk, site, out),
            Step::ClusterIdMade(id) => self.cluster_id_made(id, replies, disk, site, out),
            Step::ClusterParent(id) => self.make_cluster_id(id, out),
            Step::Configs => self.own_configs_read(replies, site, out),
            Step::Brokers => self.read_broker_data(replies, site, out),
            Step::BrokerData => self.register(site, out),
            Step::Registration | Step::InTheWay => self.registered(&step, replies, site, out),
            Step::IdBlock => self.take_id_block(replies, site, out),
            Step::IdBlockTaken(block) => self.id_block_taken(block, replies, out),
            Step::InternalTopics => self.watch_configs(out),
            Step::ConfigWatchers => self.read_configs(replies, site, out),
            Step::AllConfigs(brokers) => {
                let of_brokers = &replies[replies.len() - brokers.len()..];
                for (broker, reply) in brokers.iter().zip(of_brokers) {
                    let config = found(reply, znodes::decode_config).unwrap_or_default();
                    self.broker_configured(broker, config, site, out);
                }
                self.configs_read(site, out);
            }
        }
    }

    /// Goes on with the persistent path of this number, or after the last.
    // Source: ZkUtils.makeSurePersistentPathExists; KafkaZkClient.makeSurePersistentPathExists
    fn next_path(&mut self, number: u32, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let release = site.settings.release;
        match znodes::persistent_paths(release).get(number as usize) {
            Some(path) if release.asks_one_by_one() => {
                let look = self.zk.exists(Path::new(path));
                self.step(Step::PathLooked(number), vec![look], out);
            }
            Some(_) => self.make_path(number, site, out),
            None if release.clusters_have_ids() => {
                let read = self.zk.get_data(znodes::cluster_id());
                self.step(Step::ClusterId, vec![read], out);
            }
            None => self.read_own_configs(site, out),
        }
    }

    fn make_path(&mut self, number: u32, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let path = znodes::persistent_paths(site.settings.release)[number as usize];
        self.step(Step::Path(number), vec![create(Path::new(path), Bytes::NULL)], out);
    }

    fn path_made(
        &mut self,
        number: u32,
        replies: &Replies,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        if replies[0] == Err(Error::NoNode) {
            let path = znodes::persistent_paths(site.settings.release)[number as usize];
            let parent = Path::new(path).parent().expect("only a child can miss its parent");
            return self.step(Step::Parent(number), vec![create(parent, Bytes::NULL)], out);
        }
        self.next_path(number + 1, site, out);
    }

    fn cluster_id_read(
        &mut self,
        replies: &Replies,
        disk: &mut Disk,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        match found(&replies[0], znodes::decode_cluster_id) {
            Some(id) => self.cluster_known(id, disk, site, out),
            None => {
                let id = random_id(out);
                self.make_cluster_id(id, out);
            }
        }
    }

    fn make_cluster_id(&mut self, id: Arc<str>, out: &mut Outbox<'_, Words>) {
        let make = create(znodes::cluster_id(), znodes::encode_cluster_id(&id));
        self.step(Step::ClusterIdMade(id), vec![make], out);
    }

    fn cluster_id_made(
        &mut self,
        id: Arc<str>,
        replies: &Replies,
        disk: &mut Disk,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        match replies[0] {
            Ok(_) => self.cluster_known(id, disk, site, out),
            Err(Error::NoNode) => {
                let parent = znodes::cluster_id().parent().expect("it is a child");
                self.step(Step::ClusterParent(id), vec![create(parent, Bytes::NULL)], out);
            }
            Err(_) => {
                let read = self.zk.get_data(znodes::cluster_id());
                self.step(Step::ClusterId, vec![read], out);
            }
        }
    }

    // Source: KafkaServer.startup; KAFKA-7335 (2.4)
    fn cluster_known(
        &mut self,
        id: Arc<str>,
        disk: &mut Disk,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        match &disk.cluster_id {
            Some(own) if *own != id && site.settings.release.cluster_ids_are_compared() => {
                let words = match site.settings.release.has_metadata_ensemble() {
                    true => format!(
                        "Invalid cluster.id in: meta.properties. Expected {id}, but read {own}"
                    ),
                    false => format!(
                        "kafka.common.InconsistentClusterIdException: The Cluster ID {id} doesn't \
                         match stored clusterId Some({own}) in meta.properties. The broker is \
                         trying to join the wrong cluster. Configured zookeeper.connect may be \
                         wrong."
                    ),
                };
                return self.fatal(&words, site, out);
            }
            _ => disk.cluster_id = Some(id),
        }
        self.read_own_configs(site, out);
    }

    fn read_own_configs(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let entity = |name: &str| ConfigType::Brokers.entity(name);
        let reads = vec![
            self.zk.get_data(entity(znodes::DEFAULT_ENTITY)),
            self.zk.get_data(entity(&site.settings.broker_id.to_string())),
            self.zk.get_children(znodes::topics()),
        ];
        self.step(Step::Configs, reads, out);
    }

    // Source: DynamicBrokerConfig.initialize (KIP-226)
    fn own_configs_read(&mut self, replies: &Replies, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let config = |reply| found(reply, znodes::decode_config).unwrap_or_default();
        self.dynamic = Dynamic::over(site.file, config(&replies[0]), config(&replies[1]));
        if site.settings.release.elects_before_registering() {
            self.phase = Phase::Starting(Step::Election);
            self.controller.put(ControllerEvent::Startup, turn!(self, site, out));
        } else {
            self.read_brokers(site, out);
        }
    }

    /// The controller has done what it does; if the start has waited for that, it goes on.
    // Source: KafkaServer.startup (0.8.2): controller, topicConfigManager, kafkaHealthcheck
    pub(super) fn elected(&mut self, out: &mut Outbox<'_, Words>) {
        if self.phase == Phase::Starting(Step::Election) && self.controller.is_idle() {
            self.watch_configs(out);
        }
    }

    fn read_brokers(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        if site.settings.release.features_are_finalized() {
            self.zk.watch_node(znodes::feature());
        }
        let reads = vec![
            self.zk.exists(znodes::feature()),
            self.zk.get_data(znodes::feature()),
            self.zk.get_children(znodes::broker_ids()),
        ];
        self.step(Step::Brokers, reads, out);
    }

    fn read_broker_data(&mut self, replies: &Replies, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let names = children(&replies[2]);
        let ids = names.iter().filter_map(|name| Some(BrokerId(name.parse().ok()?)));
        let reads: Vec<Op> = ids.map(|id| self.zk.get_data(znodes::broker(id))).collect();
        match reads.is_empty() {
            true => self.register(site, out),
            false => self.step(Step::BrokerData, reads, out),
        }
    }

    fn register(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let writes = self.controller.registration().writes(&*turn!(self, site, out));
        self.step(Step::Registration, writes, out);
    }

    fn registered(
        &mut self,
        step: &Step,
        replies: &Replies,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let turn: &mut Turn<'_, '_> = turn!(self, site, out);
        let registration = self.controller.registration_mut();
        let outcome = match step {
            Step::InTheWay => registration.in_the_way(replies, turn),
            _ => registration.written(replies, turn),
        };
        match outcome {
            Registered::Yes => self.run(site, out),
            Registered::Ask(op @ Op::GetData { .. }) => self.step(Step::InTheWay, vec![op], out),
            Registered::Ask(op) => self.step(Step::Registration, vec![op], out),
            Registered::Wait => {
                self.phase = Phase::Starting(Step::Backoff);
                out.arm(BrokerTimer::RegisterAgain, site.settings.zookeeper_session_timeout);
            }
            Registered::Taken => {
                let path = znodes::broker(site.settings.broker_id);
                let words = match site.settings.release.registering_throws_advice() {
                    true => advice(path.as_str()),
                    false => NODE_EXISTS.into(),
                };
                self.fatal(&words, site, out);
            }
        }
    }

    /// It has waited for what is in the way.
    pub(super) fn register_again(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        match self.phase {
            Phase::Starting(Step::Backoff) => self.register(site, out),
            Phase::Starting(_) => {}
            Phase::Serving | Phase::Stopping(_) => {
                self.controller.register_again(turn!(self, site, out));
            }
        }
    }

    /// The broker is registered: its controller runs, beside the rest of the start.
    fn run(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        self.replicas.start(turn!(self, site, out));
        if site.settings.release.elects_before_registering() {
            return self.serve(site, out);
        }
        self.controller.put(ControllerEvent::Startup, turn!(self, site, out));
        let offsets = self.zk.get_data(znodes::topic(&CONSUMER_OFFSETS.into()));
        if site.settings.release.brokers_take_producer_ids() {
            let block = self.zk.get_data(znodes::producer_id_block());
            return self.step(Step::IdBlock, vec![offsets, block], out);
        }
        let transactions = self.zk.get_data(znodes::topic(&TRANSACTION_STATE.into()));
        self.step(Step::InternalTopics, vec![offsets, transactions], out);
    }

    // Source: ProducerIdManager.getNewProducerIdBlock (0.11)
    fn take_id_block(&mut self, replies: &Replies, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let last = replies.last().expect("the block was asked for");
        let (block, write) = next_block(last, site.settings.broker_id);
        self.step(Step::IdBlockTaken(block), vec![write], out);
    }

    fn id_block_taken(
        &mut self,
        block: ProducerIdBlock,
        replies: &Replies,
        out: &mut Outbox<'_, Words>,
    ) {
        if replies[0].is_err() {
            let read = self.zk.get_data(znodes::producer_id_block());
            return self.step(Step::IdBlock, vec![read], out);
        }
        self.errands.own(block);
        let read = self.zk.get_data(znodes::topic(&TRANSACTION_STATE.into()));
        self.step(Step::InternalTopics, vec![read], out);
    }

    // Source: DynamicConfigManager.startup
    fn watch_configs(&mut self, out: &mut Outbox<'_, Words>) {
        let mut reads = self.zk.subscribe(&[], &[znodes::config_changes()]);
        reads.extend(CONFIG_KINDS.map(|kind| self.zk.get_children(kind.path())));
        self.step(Step::ConfigWatchers, reads, out);
    }

    // Source: DynamicConfigManager.startup: what was set before the watch is taken from there
    fn read_configs(&mut self, replies: &Replies, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let notes = replies.len() - 1 - CONFIG_KINDS.len();
        self.configs.begin(&replies[notes]);
        let (topics, brokers) = (children(&replies[notes + 1]), children(&replies[notes + 6]));
        let mut reads: Vec<Op> =
            topics.iter().map(|topic| self.zk.get_data(ConfigType::Topics.entity(topic))).collect();
        for broker in &*brokers {
            reads.push(self.zk.get_data(ConfigType::Brokers.entity(broker)));
        }
        match reads.is_empty() {
            true => self.configs_read(site, out),
            false => self.step(Step::AllConfigs(brokers.to_vec()), reads, out),
        }
    }

    fn configs_read(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        match site.settings.release.elects_before_registering() {
            true => self.register(site, out),
            false => self.serve(site, out),
        }
    }

    fn serve(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        self.phase = Phase::Serving;
        out.tell(BrokerFact::BrokerRunning { broker: site.settings.broker_id });
        self.take_up_held(site, out);
    }

    // Source: "Fatal error during KafkaServer startup. Prepare to shutdown"
    fn fatal(&mut self, words: &str, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let broker = site.settings.broker_id;
        out.tell(BrokerFact::BrokerFatal { broker, error: Text::from(words) });
        self.phase = Phase::Stopping(super::stopping::Stop::failed());
        for heard in self.zk.close(out) {
            assert!(heard == Heard::Closed, "nothing else is awaited");
            out.exit(1);
        }
    }
}

/// What is thrown from 1.1 on at a broker whose znode is there already.
const NODE_EXISTS: &str = "org.apache.zookeeper.KeeperException$NodeExistsException: \
                           KeeperErrorCode = NodeExists";

/// What was thrown before.
// Source: KafkaZooKeeper.registerBrokerInZk (0.7), ZkUtils.registerBrokerInZk (0.8 to 1.0)
pub(in crate::kafka) fn advice(path: &str) -> String {
    format!(
        "java.lang.RuntimeException: A broker is already registered on the path {path}. This \
         probably indicates that you either have configured a brokerid that is already in use, or \
         else you have shutdown this broker and restarted it faster than the zookeeper timeout so \
         it appears to be re-registering."
    )
}

/// A random UUID as Kafka writes it: 22 characters of base64url.
// Source: org.apache.kafka.common.Uuid.randomUuid
pub(in crate::kafka) fn random_id(out: &mut Outbox<'_, Words>) -> Arc<str> {
    use base64::Engine;
    let purpose = Draw("uuid");
    let mut bytes = [0u8; 16];
    for half in bytes.chunks_mut(8) {
        half.copy_from_slice(&out.draw(purpose, 0..u64::MAX).to_be_bytes());
    }
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes).into()
}
