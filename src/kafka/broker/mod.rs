//! A broker: its disk, and what it has while it runs.
//!
//! It assembles the parts and passes events on; each part's file says what it does with them.
//!
//! ```text
//!   Down ─Boot─▶ Starting ─registered, watchers up─▶ Serving ─Stop─▶ Stopping ─closed─▶ exit 0
//!                   └─ the id is taken: exit 1
//! ```
//!
//! *Invariant: a broker that is down has its disk and nothing else; requests that come before it
//! serves wait until it does.*
// Source: kafka.server.KafkaServer (3.9)

use std::collections::VecDeque;
use std::sync::Arc;

use super::controller::{Controller, ControllerEvent, Registration};
use super::group::{GroupCoordinator, GroupSettings};
use super::id::{BrokerEpoch, BrokerId};
use super::message::{RequestMessage, Response, ResponseMessage};
use super::metadata_cache::MetadataCache;
use super::replicas::{Replicas, StoredReplicas};
use super::settings::{Directory, Settings};
use super::transaction::Transactions;
use super::wire::{Caller, Wire};
use super::words::{BrokerFact, BrokerTimer, Message, Request, Text, Timer, Words};
use super::znodes;
use super::zookeeper::{Asker, Heard, Picked, Zookeeper, found};
use crate::sim::{Event, OrdMap, Outbox, Process, ProcessId, Span};
use crate::zk;

mod answers;
mod configs;
mod dynamic;
mod errand;
mod groups;
mod startup;
mod stopping;
mod transactions;

pub use dynamic::Dynamic;
use errand::Errands;
pub use errand::{check_topic_configs, check_topic_name, is_dynamic};
pub(super) use startup::{advice, random_id};

/// What the parts of a broker may use while they handle one event.
pub struct Turn<'t, 'o> {
    /// The broker's handle to ZooKeeper.
    pub zk: &'t mut Zookeeper,
    /// Its connections.
    pub wire: &'t mut Wire,
    /// The outbox.
    pub out: &'t mut Outbox<'o, Words>,
    /// Its settings.
    pub settings: &'t Settings,
    /// Where hosts and ports are.
    pub directory: &'t Directory,
    /// What it knows of the cluster.
    pub cache: &'t MetadataCache,
    /// The epoch of its registration.
    pub broker_epoch: BrokerEpoch,
}

impl Turn<'_, '_> {
    /// Whether a broker may be in ISRs.
    pub fn may_be_in_sync(&self, id: BrokerId) -> bool {
        !self.settings.release.isrs_want_live_brokers() || self.cache.broker(id).is_some()
    }

    /// Answers a request.
    pub fn answer(&mut self, caller: Caller, response: impl Into<Response>) {
        self.wire.answer(caller, response, self.out);
    }
}

/// What a broker keeps on its disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Disk {
    /// The cluster that its logs belong to, once it has been in one (`meta.properties`).
    pub cluster_id: Option<Arc<str>>,
    /// Its replicas; empty while it runs, since they are in use then.
    pub replicas: StoredReplicas,
}

/// A broker process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Broker {
    file: Arc<Settings>,
    directory: Directory,
    disk: Disk,
    running: Option<Box<Running>>,
}

/// How far a running broker is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It starts.
    Starting(startup::Step),
    /// It serves.
    Serving,
    /// It stops.
    Stopping(stopping::Stop),
}

/// What a broker has while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Running {
    phase: Phase,
    zk: Zookeeper,
    wire: Wire,
    cache: MetadataCache,
    controller: Controller,
    replicas: Replicas,
    groups: GroupCoordinator,
    transactions: Transactions,
    errands: Errands,
    configs: configs::Configs,
    dynamic: Dynamic,
    /// Requests that came before it served, and orders that are held up.
    held: VecDeque<(ProcessId, RequestMessage)>,
}

/// Makes a turn of a running broker's parts.
macro_rules! turn {
    ($running:ident, $site:ident, $out:ident) => {
        &mut crate::kafka::broker::Turn {
            zk: &mut $running.zk,
            wire: &mut $running.wire,
            out: $out,
            settings: $site.settings,
            directory: $site.directory,
            cache: &$running.cache,
            broker_epoch: $running.controller.broker_epoch(),
        }
    };
}
use turn;

/// What is around a running broker.
#[derive(Clone, Copy)]
struct Site<'s> {
    /// What holds of its settings.
    settings: &'s Settings,
    /// What its file says.
    file: &'s Settings,
    directory: &'s Directory,
}

impl Broker {
    /// A broker with an empty disk.
    pub fn new(settings: Settings, directory: Directory) -> Broker {
        let disk = Disk { cluster_id: None, replicas: OrdMap::new() };
        Broker { file: Arc::new(settings), directory, disk, running: None }
    }

    /// Its settings, as they hold: while it runs, those that are set in ZooKeeper too.
    pub fn settings(&self) -> &Settings {
        let now = self.running.as_ref().and_then(|running| running.dynamic.now());
        now.unwrap_or(&self.file)
    }

    /// Its settings, as its file has them.
    pub fn file(&self) -> &Settings {
        &self.file
    }

    /// Changes its settings; they count from its next start.
    pub fn configure(&mut self, settings: Settings) {
        self.file = Arc::new(settings);
    }

    /// Its id.
    pub fn id(&self) -> BrokerId {
        self.file.broker_id
    }

    /// Where it looks for the others.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// What is on its disk, while it does not run.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// What it has while it runs.
    pub fn running(&self) -> Option<&Running> {
        self.running.as_deref()
    }

    fn boot(&mut self, out: &mut Outbox<'_, Words>) {
        let settings = &self.file;
        if let Err(words) = check(settings) {
            let (broker, error) = (settings.broker_id, Text::from(words));
            out.tell(BrokerFact::BrokerFatal { broker, error });
            return out.exit(1);
        }
        let stored = std::mem::take(&mut self.disk.replicas);
        let me = settings.broker_id;
        let mut running = Running {
            phase: Phase::Starting(startup::Step::Connecting),
            zk: Zookeeper::of_release(
                zk::client::Config {
                    servers: settings.zookeeper_connect.clone(),
                    timeout: settings.zookeeper_session_timeout,
                },
                settings.release,
            ),
            wire: Wire::new(me),
            cache: MetadataCache::default(),
            controller: Controller::new(me, Registration::new(me), settings.release),
            replicas: Replicas::new(me, stored),
            groups: GroupCoordinator::new(group_settings(settings)),
            transactions: Transactions::default(),
            errands: Errands::default(),
            configs: configs::Configs::default(),
            dynamic: Dynamic::default(),
            held: VecDeque::new(),
        };
        running.zk.open(out);
        self.running = Some(Box::new(running));
    }
}

impl Process for Broker {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        if let Event::Boot = event {
            return self.boot(out);
        }
        if let Event::Request(Request::Resolve(directory)) = event {
            self.directory = directory;
            return;
        }
        if let Event::Request(Request::Configure(file)) = event {
            return Arc::make_mut(&mut self.file).write(&file);
        }
        let Some(running) = &mut self.running else { return };
        let now = running.dynamic.now().cloned();
        let settings = now.as_ref().unwrap_or(&self.file);
        let site = Site { settings, file: &self.file, directory: &self.directory };
        running.handle(event, &mut self.disk, site, out);
        if !running.is_closing() {
            running.settle(site, out);
        }
    }

    fn crash(&mut self) {
        if let Some(running) = self.running.take() {
            self.disk.replicas = running.replicas.into_stored();
        }
    }

    fn wipe(&mut self) {
        self.disk = Disk { cluster_id: None, replicas: StoredReplicas::default() };
    }
}

impl Running {
    /// How far it is.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Its handle to ZooKeeper.
    pub fn zookeeper(&self) -> &Zookeeper {
        &self.zk
    }

    /// What it knows of the cluster.
    pub fn cache(&self) -> &MetadataCache {
        &self.cache
    }

    /// Its controller, active or not.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Its replicas.
    pub fn replicas(&self) -> &Replicas {
        &self.replicas
    }

    /// What is set for it in ZooKeeper.
    pub fn dynamic(&self) -> &Dynamic {
        &self.dynamic
    }

    /// Its groups.
    pub fn groups(&self) -> &GroupCoordinator {
        &self.groups
    }

    /// The transactions that it coordinates.
    pub fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    fn handle(
        &mut self,
        event: Event<Words>,
        disk: &mut Disk,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        let event = match self.zk.pick(event) {
            Picked::Zk(event) => return self.zookeeper_event(event, disk, site, out),
            Picked::Other(event) => event,
        };
        match event {
            _ if self.is_closing() => {}
            Event::Hangup { peer } => self.hung_up(peer, site, out),
            Event::Message { from, message: Message::Request(message) } => {
                self.request(from, message, site, out);
            }
            Event::Message { from, message: Message::Response(message) } => {
                self.response(from, message, site, out);
            }
            Event::Timer(Timer::Broker(BrokerTimer::Loopback)) => self.loopback(site, out),
            Event::Timer(Timer::Broker(timer)) => self.timer(timer, site, out),
            Event::Timer(Timer::Group(timer)) => self.group_timer(timer, site, out),
            Event::Request(Request::Stop) => self.stop(site, out),
            _ => {}
        }
    }

    fn zookeeper_event(
        &mut self,
        event: Event<zk::Words>,
        disk: &mut Disk,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        for heard in self.zk.handle(event, out) {
            self.heard(heard, disk, site, out);
        }
    }

    fn heard(
        &mut self,
        heard: Heard,
        disk: &mut Disk,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        match heard {
            Heard::Expired if self.is_closing() => self.exit(site, out),
            Heard::Closed => self.exit(site, out),
            _ if self.is_closing() => {}
            Heard::Session(_) => self.session(site, out),
            Heard::Expired => {
                self.expired(site, out);
                self.stop_without_answer(site, out);
            }
            Heard::Watched(event) => {
                self.controller.watched(&event, turn!(self, site, out));
                self.configs.watched(&event, turn!(self, site, out));
            }
            Heard::Answered(Asker::Controller, replies) => {
                self.controller.answered(replies, turn!(self, site, out));
                self.elected(out);
            }
            Heard::Answered(Asker::Startup, replies) => {
                self.started(&replies, disk, site, out);
            }
            Heard::Answered(Asker::Features, _) => {
                self.configs.features_read(turn!(self, site, out));
            }
            Heard::Answered(Asker::Configs, replies) => {
                let changed = self.configs.answered(&replies, turn!(self, site, out));
                self.configs_changed(changed, site, out);
            }
            Heard::Answered(Asker::Errand(number), replies) => {
                self.errand_answered(number, replies, site, out);
            }
            Heard::Answered(Asker::Isrs, replies) => {
                self.replicas.isrs_written(&replies, turn!(self, site, out));
            }
            Heard::Answered(Asker::IsrNotes, replies) => {
                self.replicas.isrs_noted(&replies, turn!(self, site, out));
            }
            Heard::Answered(Asker::Stop, replies) => {
                let controller = found(&replies[0], znodes::ControllerZnode::decode);
                let controller = controller.map_or(BrokerId::NONE, |znode| znode.broker);
                self.ask_controller(controller, site, out);
            }
            Heard::Answered(..) => {}
        }
    }

    fn session(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        match self.phase {
            Phase::Starting(_) => self.start(site, out),
            Phase::Serving | Phase::Stopping(_) => {
                self.controller.session(turn!(self, site, out));
                self.configs.session(turn!(self, site, out));
                if site.settings.release.leaders_write_isrs() {
                    self.replicas.session(turn!(self, site, out));
                }
            }
        }
    }

    /// The session is no more: resigns first, then looks for a new one.
    // Source: ZooKeeperClient.StateChangeHandler; KafkaController.beforeInitializingSession
    fn expired(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        out.tell(BrokerFact::SessionLost { broker: site.settings.broker_id });
        self.controller.expire(turn!(self, site, out));
        self.configs.forget();
        if site.settings.release.leaders_write_isrs() {
            self.replicas.session_lost(site.settings.release);
        }
        self.zk.reopen(out);
    }

    fn hung_up(&mut self, peer: ProcessId, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        for purpose in self.wire.lost(peer) {
            self.call_lost(purpose, site, out);
        }
        self.replicas.hung_up(peer);
        self.held.retain(|(from, _)| *from != peer);
        self.resume_orders(site, out);
    }

    fn loopback(&mut self, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let me = out.me();
        for _ in 0..self.wire.waiting_from_itself() {
            match self.wire.from_itself() {
                Some(Message::Request(message)) => self.request(me, message, site, out),
                Some(Message::Response(message)) => self.response(me, message, site, out),
                Some(Message::Zk(_)) | None => {}
            }
        }
        if self.wire.waiting_from_itself() > 0 {
            self.wire.arm_loopback(out);
        }
    }

    fn timer(&mut self, timer: BrokerTimer, site: Site<'_>, out: &mut Outbox<'_, Words>) {
        let turn = turn!(self, site, out);
        match timer {
            BrokerTimer::Purgatory => {
                self.replicas.purge(turn);
                self.errands.purge(turn);
            }
            BrokerTimer::Errands => self.errands.purge(turn),
            BrokerTimer::IsrExpiration => {
                self.replicas.shrink_isrs(turn);
                self.expire_offsets(site, out);
            }
            BrokerTimer::HighWatermarkCheckpoint => {
                self.replicas.checkpoint();
                let every = turn.settings.replica_high_watermark_checkpoint_interval;
                turn.out.arm(timer, every);
            }
            BrokerTimer::FetchBackoff(leader) => self.replicas.fetch_again(leader, turn),
            BrokerTimer::SendAgain(broker) => self.controller.order_again(broker, turn),
            BrokerTimer::ControllerAgain => self.replicas.send_wishes(turn),
            BrokerTimer::LeaderBalance => {
                self.controller.put(ControllerEvent::LeaderBalance, turn);
            }
            BrokerTimer::IsrPropagation => self.replicas.note_isrs(turn),
            BrokerTimer::ControlledShutdown => self.stop_is_due(site, out),
            BrokerTimer::RegisterAgain => self.register_again(site, out),
            BrokerTimer::Transactions => self.transactions_due(site, out),
            BrokerTimer::Loopback | BrokerTimer::Flush => {}
            BrokerTimer::LogRetention => self.replicas.delete_old_segments(turn),
            BrokerTimer::LogCleaner => self.replicas.clean_logs(turn),
            BrokerTimer::LoadOffsets(number) => self.offsets_read(number, site, out),
        }
    }

    fn response(
        &mut self,
        from: ProcessId,
        message: ResponseMessage,
        site: Site<'_>,
        out: &mut Outbox<'_, Words>,
    ) {
        if let Some(purpose) = self.wire.answered(from, message.correlation_id) {
            self.call_answered(purpose, message.response, site, out);
            self.resume_orders(site, out);
        }
    }
}

/// Whether a broker with these settings can run at all; if not, what it says.
// Source: KafkaConfig.validateValues, ConfigException (3.9)
fn check(settings: &Settings) -> Result<(), &'static str> {
    let protocols = settings.group_coordinator_rebalance_protocols.split(',');
    match protocols.into_iter().any(|protocol| protocol.trim() == "consumer") {
        true => Err("The new 'consumer' rebalance protocol is only supported in KRaft cluster."),
        false => Ok(()),
    }
}

fn group_settings(settings: &Settings) -> GroupSettings {
    GroupSettings {
        release: settings.release,
        offsets_topic_num_partitions: settings.offsets_topic_num_partitions,
        group_min_session_timeout: settings.group_min_session_timeout,
        group_max_session_timeout: settings.group_max_session_timeout,
        group_initial_rebalance_delay: match settings.release.groups_wait_for_members() {
            true => settings.group_initial_rebalance_delay,
            false => Span::ZERO,
        },
        group_max_size: settings.group_max_size.max(0).cast_unsigned(),
    }
}
