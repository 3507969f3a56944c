//! A member of a group: the Java consumer (3.9.1, classic group protocol) and the application that
//! calls it.
//!
//! Not here: the coordinator (`group`), the leaders that it reads from (`broker`), the assignors.
//!
//! *Invariant: it reads and commits only partitions that the present assignment gave it.*
//!
//! ```text
//!              coordinator known          all have joined            the shares are there
//!   Unjoined ───────────────────▶ Joining ───────────────▶ Syncing ──────────────────────▶ Stable
//!      ▲    (revoke, then JoinGroup)   │  refused, lost       │ refused, lost                │
//!      └───────────────────────────────┴──────────────────────┴──────────────────────────────┘
//!                                                               rebalance, unknown, fenced
//! ```
// Real: the application calls poll() in a loop; here it polls whenever something has happened,
// unless it stalls, because an empty poll changes nothing.

use std::sync::Arc;

use super::client::{Calls, ClusterView, Occasion};
use super::error::{Error, Remedy};
use super::fetch_session::Fetching;
use super::id::{Generation, MemberId, Offset, TopicName, TopicPartition};
use super::message::{
    CoordinatorKey, FindCoordinatorRequest, FindCoordinatorResponse, MetadataRequest,
    MetadataResponse, Response, ResponseMessage,
};
use super::words::{Message, Request as Ask, Timer, Words};
use crate::sim::{Event, OrdMap, OrdSet, Outbox, Process, ProcessId, SimTime, Span};

mod closing;
mod membership;
mod reading;
#[cfg(test)]
mod tests;
pub mod words;

pub use membership::Standing;
pub use reading::{Position, Reading};

use membership::Membership;
use words::{ConsumerFact, ConsumerRequest, ConsumerSettings, ConsumerTimer, OnError};

/// Why a call was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Purpose {
    Metadata,
    FindCoordinator,
    Join,
    Sync,
    Heartbeat(Generation),
    Leave,
    Commit(Occasion),
    FetchOffsets,
    ListOffsets,
    Fetch(Vec<(TopicPartition, Offset)>),
}

/// What the application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// It polls.
    Polling,
    /// It does something else.
    Stalled,
    /// It waits for `close()`.
    Closing,
    /// It has ended.
    Ended,
}

/// A consumer and its application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Consumer {
    settings: Arc<ConsumerSettings>,
    view: ClusterView,
    calls: Calls<Purpose>,
    coordinator: Option<ProcessId>,
    member: Membership,
    partitions: OrdMap<TopicPartition, Reading>,
    /// What each broker knows of what is fetched from it.
    fetching: OrdMap<ProcessId, Fetching>,
    activity: Activity,
    /// `commitSync()` was called so often and has not returned.
    commits_asked: u32,
    metadata_wanted: bool,
    metadata_failures: u32,
    /// After a failure nothing is tried again before.
    resting_until: SimTime,
    /// Before then it does not ask for metadata again.
    metadata_due: SimTime,
}

impl Consumer {
    /// A consumer that does not run yet.
    pub fn new(settings: ConsumerSettings) -> Consumer {
        Consumer {
            view: ClusterView::new(settings.bootstrap_servers.clone()),
            calls: Calls::new(settings.client_id.clone()),
            coordinator: None,
            member: Membership::default(),
            partitions: OrdMap::new(),
            fetching: OrdMap::new(),
            activity: Activity::Polling,
            commits_asked: 0,
            metadata_wanted: true,
            metadata_failures: 0,
            resting_until: SimTime::ZERO,
            metadata_due: SimTime::ZERO,
            settings: Arc::new(settings),
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &ConsumerSettings {
        &self.settings
    }

    /// The broker that it believes to be its coordinator.
    pub fn coordinator(&self) -> Option<ProcessId> {
        self.coordinator
    }

    /// Its member id, empty while it has none.
    pub fn member_id(&self) -> &MemberId {
        &self.member.member_id
    }

    /// Its generation.
    pub fn generation(&self) -> Generation {
        self.member.generation
    }

    /// Where it stands in its group.
    pub fn standing(&self) -> Standing {
        self.member.standing
    }

    /// What it holds, and how far it is.
    pub fn partitions(&self) -> &OrdMap<TopicPartition, Reading> {
        &self.partitions
    }

    /// What its application does.
    pub fn activity(&self) -> Activity {
        self.activity
    }

    fn answered(&mut self, from: ProcessId, answer: ResponseMessage, out: &mut Outbox<'_, Words>) {
        let Some((to, purpose)) = self.calls.answered(answer.correlation_id) else { return };
        if to != from {
            return;
        }
        self.view.worked(from);
        match (purpose, answer.response) {
            (Purpose::Metadata, Response::Metadata(told)) => self.learn(told, out),
            (Purpose::FindCoordinator, Response::FindCoordinator(told)) => {
                self.coordinator_told(told, out);
            }
            (Purpose::Join | Purpose::Sync, _) if self.activity == Activity::Closing => {}
            (Purpose::Join, Response::JoinGroup(told)) => self.joined(told, out),
            (Purpose::Sync, Response::SyncGroup(told)) => self.synced(told, out),
            (Purpose::Heartbeat(generation), Response::Heartbeat(told)) => {
                self.heartbeat_answered(generation, told.error, out);
            }
            (Purpose::Leave, Response::LeaveGroup(_)) => {}
            (Purpose::Commit(occasion), Response::OffsetCommit(told)) => {
                self.committed(occasion, &told, out);
            }
            (Purpose::FetchOffsets, Response::OffsetFetch(told)) => self.offsets_told(told, out),
            (Purpose::ListOffsets, Response::ListOffsets(told)) => self.positions_told(told, out),
            (Purpose::Fetch(asked), Response::Fetch(told)) => {
                self.fetched(from, &asked, told, out);
            }
            // Real: an answer comes on the connection that asked; here one meant for an earlier
            // life of this process can come on the next connection, because a link is one path.
            _ => {}
        }
    }

    fn hung_up(&mut self, peer: ProcessId, out: &mut Outbox<'_, Words>) {
        self.view.failed(peer, out.now());
        if self.coordinator == Some(peer) {
            self.lose_coordinator(out);
        }
        for purpose in self.calls.lost(peer) {
            match purpose {
                Purpose::Join | Purpose::Sync => self.member.must_rejoin(Standing::Unjoined),
                Purpose::Fetch(_) => {
                    self.fetching.get_mut(&peer).into_iter().for_each(Fetching::lost);
                    self.metadata_wanted = true;
                }
                Purpose::ListOffsets | Purpose::Metadata => self.metadata_wanted = true,
                _ => {}
            }
        }
        self.rest(out);
    }

    fn lose_coordinator(&mut self, out: &mut Outbox<'_, Words>) {
        if self.coordinator.take().is_some() {
            let group = self.settings.group_id.clone();
            out.tell(ConsumerFact::CoordinatorLost { group });
        }
    }

    /// Tries nothing again for `retry.backoff.ms`.
    fn rest(&mut self, out: &mut Outbox<'_, Words>) {
        self.rest_for(self.settings.retry_backoff, out);
    }

    fn rest_for(&mut self, pause: Span, out: &mut Outbox<'_, Words>) {
        self.resting_until = out.now() + pause;
        out.arm(ConsumerTimer::Retry, pause);
    }

    /// Throws an exception to the application.
    fn throw(&mut self, error: &'static str, out: &mut Outbox<'_, Words>) {
        out.tell(ConsumerFact::ConsumerError { error });
        match self.settings.on_error {
            OnError::GoOn => self.rest(out),
            OnError::End => self.end(1, out),
        }
    }

    fn end(&mut self, code: u8, out: &mut Outbox<'_, Words>) {
        self.activity = Activity::Ended;
        out.exit(code);
    }

    /// Does whatever is due: the application's poll.
    fn go_on(&mut self, out: &mut Outbox<'_, Words>) {
        if out.now() >= self.resting_until {
            self.ask_metadata(out);
            self.ask_coordinator(out);
            match self.activity {
                Activity::Polling => {
                    self.commit_if_asked(out);
                    self.join_if_due(out);
                    self.read(out);
                }
                Activity::Closing => self.close(out),
                Activity::Stalled | Activity::Ended => {}
            }
        }
        self.calls.watch(ConsumerTimer::Request, out);
    }

    fn give_up_overdue(&mut self, out: &mut Outbox<'_, Words>) {
        while let Some(peer) = self.calls.give_up(out) {
            self.hung_up(peer, out);
        }
    }

    fn ask_metadata(&mut self, out: &mut Outbox<'_, Words>) {
        if !self.metadata_wanted || self.calls.any(|purpose| *purpose == Purpose::Metadata) {
            return;
        }
        if out.now() < self.metadata_due {
            return out.arm(ConsumerTimer::Retry, self.metadata_due.since(out.now()));
        }
        let Some(broker) = self.view.any_broker(out) else { return self.rest(out) };
        let request = MetadataRequest {
            topics: Some(self.topics_of_interest()),
            allow_auto_topic_creation: self.settings.allow_auto_create_topics,
        };
        let within = self.settings.request_timeout;
        self.calls.make(Purpose::Metadata, (broker, within), request, out);
    }

    /// What it subscribes to and, as the group's leader, what the others do.
    fn topics_of_interest(&self) -> Vec<TopicName> {
        let own = self.settings.topics.iter();
        let all: OrdSet<&TopicName> = own.chain(&self.member.group_topics).collect();
        all.into_iter().cloned().collect()
    }

    // Source: org.apache.kafka.clients.Metadata.handleMetadataResponse
    fn learn(&mut self, told: MetadataResponse, out: &mut Outbox<'_, Words>) {
        let leaderless = told.topics.iter().flat_map(|t| &t.partitions).any(|p| p.error.is_some());
        let errors = self.view.learn(told);
        let again = errors.iter().any(|(_, error)| error.remedy() == Remedy::Refresh);
        self.metadata_wanted = leaderless || again;
        if self.metadata_wanted {
            let pause = self.settings.retry_backoff * (1 << self.metadata_failures.min(3));
            self.metadata_failures += 1;
            self.metadata_due = out.now() + pause;
        } else {
            self.metadata_failures = 0;
        }
        out.arm(ConsumerTimer::Metadata, self.settings.metadata_max_age);
        if let Some((_, error)) = errors.iter().find(|(_, e)| *e == Error::InvalidTopic) {
            self.throw(error.exception(self.settings.release), out);
        }
        self.compare_with_snapshot();
    }

    fn ask_coordinator(&mut self, out: &mut Outbox<'_, Words>) {
        let asked = self.calls.any(|purpose| *purpose == Purpose::FindCoordinator);
        if self.coordinator.is_some() || asked {
            return;
        }
        let Some(broker) = self.view.any_broker(out) else { return self.rest(out) };
        let request =
            FindCoordinatorRequest { key: CoordinatorKey::Group(self.settings.group_id.clone()) };
        let within = self.settings.request_timeout;
        self.calls.make(Purpose::FindCoordinator, (broker, within), request, out);
    }

    // Source: AbstractCoordinator.FindCoordinatorResponseHandler
    fn coordinator_told(&mut self, told: FindCoordinatorResponse, out: &mut Outbox<'_, Words>) {
        match told.coordinator {
            Ok(broker) if self.view.is_ready(broker.process, out.now()) => {
                self.coordinator = Some(broker.process);
                let (group, coordinator) = (self.settings.group_id.clone(), broker.id);
                out.tell(ConsumerFact::CoordinatorFound { group, coordinator });
                if self.member.is_in_group() {
                    out.arm(ConsumerTimer::Session, self.settings.session_timeout);
                }
            }
            Ok(_) => self.rest(out),
            Err(error) if error.remedy() == Remedy::Fail => {
                self.throw(error.exception(self.settings.release), out)
            }
            Err(_) => self.rest(out),
        }
    }

    fn timer(&mut self, timer: ConsumerTimer, out: &mut Outbox<'_, Words>) {
        match timer {
            ConsumerTimer::Heartbeat => self.beat(out),
            ConsumerTimer::Session => self.lose_coordinator(out),
            ConsumerTimer::PollInterval => self.leave_for_silence(out),
            ConsumerTimer::AutoCommit => self.commit_by_interval(out),
            ConsumerTimer::Metadata => self.metadata_wanted = true,
            ConsumerTimer::Retry => {}
            ConsumerTimer::Request => self.give_up_overdue(out),
        }
    }

    fn asked(&mut self, request: ConsumerRequest, out: &mut Outbox<'_, Words>) {
        match request {
            ConsumerRequest::Commit => self.commits_asked += 1,
            ConsumerRequest::Close => self.begin_to_close(out),
            ConsumerRequest::Exit => self.end(0, out),
            ConsumerRequest::Stall => {
                self.activity = Activity::Stalled;
                out.arm(ConsumerTimer::PollInterval, self.settings.max_poll_interval);
            }
            ConsumerRequest::Go => {
                self.activity = Activity::Polling;
                out.disarm(ConsumerTimer::PollInterval);
            }
        }
    }

    fn boot(&mut self, out: &mut Outbox<'_, Words>) {
        if self.settings.enable_auto_commit {
            out.arm(ConsumerTimer::AutoCommit, self.settings.auto_commit_interval);
        }
    }
}

impl Process for Consumer {
    type Words = Words;

    fn handle(&mut self, event: Event<Words>, out: &mut Outbox<'_, Words>) {
        match event {
            Event::Boot => self.boot(out),
            Event::Message { from, message: Message::Response(answer) } => {
                self.answered(from, answer, out);
            }
            Event::Hangup { peer } => self.hung_up(peer, out),
            Event::Timer(Timer::Consumer(timer)) => self.timer(timer, out),
            Event::Request(Ask::Consumer(request)) => self.asked(request, out),
            Event::Request(Ask::Stop) => self.begin_to_close(out),
            _ => {}
        }
        self.go_on(out);
    }

    fn crash(&mut self) {
        *self = Consumer::new((*self.settings).clone());
    }
}
