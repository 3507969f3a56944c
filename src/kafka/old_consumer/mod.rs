//! A member of a group that coordinates in ZooKeeper: the old high-level consumer (0.8 to 1.1), and
//! the application that reads its streams.
//!
//! Nobody leads such a group. Each member registers below `/consumers/G/ids`, watches the others
//! there, and works out for itself which partitions are its own; a znode for each partition says
//! who owns it, and the one who finds it taken tries again.
//!
//! ```text
//!   register ─▶ watch ─▶ rebalance: stop reading ▶ give partitions up ▶ read who is there
//!                           ▲          ▶ assign ▶ read offsets ▶ claim ─┬─▶ read
//!                           │                                           └─ taken: give up again,
//!                           └── a member or a topic comes, goes ◀─────────── pause, next attempt
//! ```
//!
//! Not here: which thread gets what (`assignor::old`), and what is written how (`znodes`).
//!
//! *Invariant: one rebalance runs at a time; what it claims is what it reads.*
// Source: kafka.consumer.ZookeeperConsumerConnector (0.8.2)

use std::collections::VecDeque;
use std::sync::Arc;

use super::client::{Calls, Occasion};
use super::consumer::words::ConsumerRequest;
use super::id::{Offset, TopicPartition};
use super::message::{Response, ResponseMessage};
use super::words::{Message, Request as Ask, Text, Timer, Words};
use super::zookeeper::{Asker, Heard, Manner, Picked, Zookeeper};
use crate::sim::{Draw, Event, OrdMap, Outbox, Process, ProcessId};
use crate::zk;

mod alone;
mod fetching;
mod offsets;
mod rebalance;
mod streams;
pub mod words;

pub use fetching::Held;

use alone::Alone;
use fetching::Finding;
use offsets::Committing;
use rebalance::Balance;
use words::{OldFact, OldSettings, OldTimer, Storage};

/// The first digits of a random UUID, in a consumer's id.
pub const UUID: Draw = Draw("consumer-uuid");

/// Why a broker was called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Purpose {
    Metadata,
    /// Where partitions begin or end; in which life of the fetchers that was asked.
    Reset(u32),
    /// Records, likewise.
    Fetch(u32),
    Coordinator,
    FetchOffsets,
    Commit,
}

/// What the application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// It waits for its streams.
    Waiting,
    /// It reads them.
    Reading,
    /// It does something else.
    Stalled,
    /// It was thrown an exception instead of streams; what runs beside it runs on.
    Broken,
    /// It closes the consumer, or has.
    Closing,
}

/// How a rebalance goes or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// There was none yet.
    New,
    /// One is under way: which attempt, from 0.
    Rebalancing(u32),
    /// It owns what it was to own.
    Balanced,
    /// All attempts failed: it owns nothing until something wakes it again.
    GaveUp,
}

/// An old consumer and its application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OldConsumer {
    settings: Arc<OldSettings>,
    zk: Zookeeper,
    calls: Calls<Purpose>,
    activity: Activity,
    balance: Balance,
    /// What it owns, and how far it is (`topicRegistry`).
    held: OrdMap<TopicPartition, Held>,
    /// What it has written to ZooKeeper last, whatever is there by now.
    checkpointed: OrdMap<TopicPartition, Offset>,
    committing: Option<Committing>,
    /// Further commits, one after the other.
    commits: VecDeque<Occasion>,
    finding: Finding,
    coordinator: Option<ProcessId>,
    /// Where brokers are alone: what is known of them.
    alone: Alone,
}

impl OldConsumer {
    /// A consumer that does not run yet.
    pub fn new(settings: OldSettings) -> OldConsumer {
        let config = zk::client::Config {
            servers: settings.zookeeper_connect.clone(),
            timeout: settings.zookeeper_session_timeout,
        };
        OldConsumer {
            // Source: ZookeeperConsumerConnector: it has a ZkClient to its end (1.1)
            zk: Zookeeper::new(config, Manner::OneByOne),
            calls: Calls::new(settings.consumer_id.as_ref().into()),
            activity: Activity::Waiting,
            balance: Balance::default(),
            held: OrdMap::new(),
            checkpointed: OrdMap::new(),
            committing: None,
            commits: VecDeque::new(),
            finding: Finding::default(),
            coordinator: None,
            alone: Alone::default(),
            settings: Arc::new(settings),
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &OldSettings {
        &self.settings
    }

    /// What it owns, and how far it is.
    pub fn held(&self) -> &OrdMap<TopicPartition, Held> {
        &self.held
    }

    /// What its application does.
    pub fn activity(&self) -> Activity {
        self.activity
    }

    /// How its last rebalance goes or went.
    pub fn standing(&self) -> Standing {
        self.balance.standing()
    }

    /// Its handle to ZooKeeper.
    pub fn zookeeper(&self) -> &Zookeeper {
        &self.zk
    }

    fn id(&self) -> Text {
        Text::from(&*self.settings.id())
    }

    fn zookeeper_event(&mut self, event: Event<zk::Words>, out: &mut Outbox<'_, Words>) {
        for heard in self.zk.handle(event, out) {
            self.heard(heard, out);
        }
    }

    fn heard(&mut self, heard: Heard, out: &mut Outbox<'_, Words>) {
        match heard {
            Heard::Closed => self.closed(out),
            Heard::Expired if self.activity == Activity::Closing => self.closed(out),
            Heard::Session(_) => self.session(out),
            Heard::Expired => {
                self.forget(out);
                self.zk.reopen(out);
            }
            Heard::Watched(event) => self.watched(&event, out),
            Heard::Answered(Asker::Member, replies) => self.go_on(replies, out),
            Heard::Answered(Asker::Offsets, replies) => self.offsets_written(&replies, out),
            Heard::Answered(Asker::LeaderFinder, replies) => self.brokers_read(&replies, out),
            Heard::Answered(Asker::Topics, replies) => self.topics_read(&replies, out),
            Heard::Answered(Asker::Coordinator, replies) => {
                self.coordinator_brokers_read(&replies, out);
            }
            Heard::Answered(..) => {}
        }
    }

    fn answered(&mut self, from: ProcessId, answer: ResponseMessage, out: &mut Outbox<'_, Words>) {
        let Some((to, purpose)) = self.calls.answered(answer.correlation_id) else { return };
        if to != from {
            return;
        }
        match (purpose, answer.response) {
            (Purpose::Metadata, Response::Metadata(told)) => self.leaders_told(told, out),
            (Purpose::Reset(life), Response::ListOffsets(told)) => {
                self.reset_told(life, told, out);
            }
            (Purpose::Fetch(life), Response::Fetch(told)) => self.fetched(life, from, told, out),
            (Purpose::Coordinator, Response::FindCoordinator(told)) => {
                self.coordinator_told(told, out);
            }
            (Purpose::FetchOffsets, Response::OffsetFetch(told)) => self.offsets_told(told, out),
            (Purpose::Commit, Response::OffsetCommit(told)) => self.commit_told(&told, out),
            // An answer that was meant for an earlier life of this process.
            _ => {}
        }
    }

    fn hung_up(&mut self, peer: ProcessId, out: &mut Outbox<'_, Words>) {
        self.lose_leader(peer, out);
        if self.coordinator == Some(peer) {
            self.coordinator = None;
        }
        for purpose in self.calls.lost(peer) {
            match purpose {
                Purpose::Metadata => self.try_another_broker(out),
                Purpose::Coordinator | Purpose::FetchOffsets | Purpose::Commit => {
                    self.rest_from_coordinator(out);
                }
                Purpose::Reset(_) | Purpose::Fetch(_) => {}
            }
        }
    }

    fn timer(&mut self, timer: OldTimer, out: &mut Outbox<'_, Words>) {
        match timer {
            OldTimer::WarmUp => self.warmed_up(out),
            OldTimer::Backoff => self.try_again(out),
            OldTimer::RegisterAgain => self.register(out),
            OldTimer::AutoCommit => {
                out.arm(OldTimer::AutoCommit, self.settings.auto_commit_interval);
                self.commit(Occasion::Interval, out);
            }
            OldTimer::Leaders => self.find_leaders(out),
            OldTimer::Coordinator => self.ask_coordinator(out),
            OldTimer::Request => self.give_up_overdue(out),
            OldTimer::Fetch => self.rested(out),
        }
    }

    fn give_up_overdue(&mut self, out: &mut Outbox<'_, Words>) {
        while let Some(peer) = self.calls.give_up(out) {
            self.hung_up(peer, out);
        }
    }

    fn asked(&mut self, request: ConsumerRequest, out: &mut Outbox<'_, Words>) {
        match request {
            ConsumerRequest::Commit => self.commit(Occasion::Asked, out),
            ConsumerRequest::Close => self.shut_down(out),
            ConsumerRequest::Exit => out.exit(0),
            ConsumerRequest::Stall => self.activity = Activity::Stalled,
            ConsumerRequest::Go => {
                self.activity = Activity::Reading;
                self.hand_out(out);
                self.fetch(out);
            }
        }
    }

    // Source: ZookeeperConsumerConnector.shutdown
    fn shut_down(&mut self, out: &mut Outbox<'_, Words>) {
        if self.activity == Activity::Closing {
            return;
        }
        self.activity = Activity::Closing;
        self.stop_fetchers();
        match self.settings.auto_commit_enable {
            true => self.commit(Occasion::Close, out),
            false => self.close_session(out),
        }
    }

    fn close_session(&mut self, out: &mut Outbox<'_, Words>) {
        for heard in self.zk.close(out) {
            self.heard(heard, out);
        }
    }

    fn closed(&mut self, out: &mut Outbox<'_, Words>) {
        out.tell(OldFact::ConnectorClosed { consumer: self.id() });
        out.exit(0);
    }

    fn boot(&mut self, out: &mut Outbox<'_, Words>) {
        self.name_itself(out);
        self.zk.open(out);
        if self.settings.auto_commit_enable {
            out.arm(OldTimer::AutoCommit, self.settings.auto_commit_interval);
        }
    }

    // Source: ZookeeperConsumerConnector.consumerIdString
    fn name_itself(&mut self, out: &mut Outbox<'_, Words>) {
        let Some(host) = self.settings.host.clone() else { return };
        let (at, uuid) = (out.now().as_ms(), out.draw(UUID, 0..1 << 32));
        Arc::make_mut(&mut self.settings).consumer_id = format!("{host}-{at}-{uuid:08x}").into();
    }

    fn keeps_offsets_in_kafka(&self) -> bool {
        self.settings.offsets_storage != Storage::Zookeeper
    }
}

impl Process for OldConsumer {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match self.zk.pick(event) {
            Picked::Zk(event) => self.zookeeper_event(event, out),
            Picked::Other(event) => self.handle_own(event, out),
        }
        self.calls.watch(OldTimer::Request, out);
    }

    fn crash(&mut self) {
        *self = OldConsumer::new((*self.settings).clone());
    }
}

impl OldConsumer {
    /// Takes what does not concern its session.
    fn handle_own(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Boot => self.boot(out),
            Event::Message { from, message: Message::Response(answer) } => {
                self.answered(from, answer, out);
            }
            Event::Hangup { peer } => self.hung_up(peer, out),
            Event::Timer(Timer::OldConsumer(timer)) => self.timer(timer, out),
            Event::Request(Ask::Consumer(request)) => self.asked(request, out),
            Event::Request(Ask::Stop) => self.shut_down(out),
            Event::Request(Ask::Resolve(directory)) => {
                Arc::make_mut(&mut self.settings).directory = directory;
            }
            _ => {}
        }
    }
}
