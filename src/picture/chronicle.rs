//! The chronicle: what each lane was at each time, read once from the trace as it grows.
//!
//! Lanes need the past of things, and processes keep none; so the facts are read here, each once,
//! into a list of changes per lane. Nothing is drawn here.
//! *Invariant:* a chronicle is a function of the records it has read, whatever was asked meanwhile.

use crate::cluster::{Cluster, Kind, Record, Trace};
use crate::sim::{EventId, OrdMap, ProcessId, SimTime, Span, Telling, What};
use crate::zk::server::Server;

/// One line of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A ZooKeeper server.
    Server(ProcessId),
    /// The session of a process.
    Session(ProcessId),
    /// The session that an earlier life of a process has left behind, and that still lasts.
    OldSession(ProcessId),
    /// Who is controller.
    Controller,
    /// A broker.
    Broker(ProcessId),
    /// A member of a consumer group.
    Member(ProcessId),
}

/// What a lane is from some time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing runs.
    Off,
    /// It stands still.
    Frozen,
    /// A server that looks for a leader.
    Looking,
    /// A server that follows or observes, from its election on.
    Following,
    /// A server that leads, from its election on.
    Leading,
    /// A server that serves alone.
    Standalone,
    /// A session that is open, with this timeout.
    Open(Span),
    /// A session that has ended.
    Ended,
    /// The controller: a broker and its epoch.
    Held {
        /// The broker's id.
        broker: String,
        /// The controller epoch.
        epoch: String,
    },
    /// Nobody is controller.
    Vacant,
    /// A broker that runs and leads so many partitions.
    Up(u16),
    /// A member without partitions, between two generations.
    Joining,
    /// A member that owns these partitions.
    Owning(String),
}

/// Opening a session takes less than this; two sessions of a process are further apart.
const OPENING: Span = Span::secs(1);

/// Everything that a lane was.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Each change: from when on, and what.
    pub changes: Vec<(SimTime, Stage)>,
    /// Signs of life of a session, as the servers heard them.
    pub beats: Vec<SimTime>,
    /// Of a session's lane: when the present one was opened while an older one still lasted.
    pub since: SimTime,
}

/// A moment that is marked on the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: SimTime,
    /// Its event.
    pub event: EventId,
    /// Where it happened.
    pub process: Option<ProcessId>,
    /// Where its cause happened, and when.
    pub from: Option<(ProcessId, SimTime)>,
}

/// The changes of all lanes, and the marks.
#[derive(Clone, Debug, Default)]
pub struct Chronicle {
    read: usize,
    lanes: OrdMap<Lane, History>,
    marks: Vec<Mark>,
    /// Who leads a partition.
    leaders: OrdMap<String, String>,
    /// On which lane a session is that has not ended.
    places: OrdMap<String, Lane>,
    /// Timeouts of sessions whose owner has not told yet that it is connected.
    timeouts: OrdMap<String, Span>,
    controller: Option<String>,
}

impl History {
    /// The changes that hold somewhere between `from` and `to`, the first one cut to `from`.
    pub fn within(&self, from: SimTime, to: SimTime) -> &[(SimTime, Stage)] {
        let first = self.changes.partition_point(|(at, _)| *at <= from).saturating_sub(1);
        let end = self.changes.partition_point(|(at, _)| *at <= to);
        &self.changes[first.min(end)..end]
    }

    /// What it is at `at`.
    pub fn at(&self, at: SimTime) -> Option<&Stage> {
        let after = self.changes.partition_point(|(from, _)| *from <= at);
        Some(&self.changes.get(after.checked_sub(1)?)?.1)
    }

    /// The last sign of life at or before `at`, and all between `from` and `at` with it.
    pub fn beats_within(&self, from: SimTime, at: SimTime) -> &[SimTime] {
        let first = self.beats.partition_point(|beat| *beat <= from).saturating_sub(1);
        let end = self.beats.partition_point(|beat| *beat <= at);
        &self.beats[first.min(end)..end]
    }

    fn becomes(&mut self, at: SimTime, stage: Stage) {
        match self.changes.last_mut() {
            Some((_, last)) if *last == stage => {}
            Some((from, last)) if *from == at => *last = stage,
            _ => self.changes.push((at, stage)),
        }
    }
}

impl Chronicle {
    /// Reads the records that have come since the last time.
    pub fn read(&mut self, cluster: &Cluster, trace: &Trace) {
        for index in self.read..trace.len() {
            let record = trace.get(index).expect("the index is in range");
            self.take(cluster, trace, &record);
        }
        self.read = trace.len();
    }

    /// The history of a lane.
    pub fn lane(&self, lane: Lane) -> Option<&History> {
        self.lanes.get(&lane)
    }

    /// The lanes that have a history.
    pub fn lanes(&self) -> impl Iterator<Item = Lane> {
        self.lanes.keys().copied()
    }

    /// The marks between two times.
    pub fn marks_within(&self, from: SimTime, to: SimTime) -> &[Mark] {
        let first = self.marks.partition_point(|mark| mark.at < from);
        let end = self.marks.partition_point(|mark| mark.at <= to);
        &self.marks[first..end]
    }

    fn take(&mut self, cluster: &Cluster, trace: &Trace, record: &Record<'_>) {
        if let (What::Message(from), Some(server)) = (record.what, record.process) {
            self.beat(cluster, from, server, record.at);
        }
        let mut worth = record.what == What::Command;
        for fact in record.facts() {
            let fields: OrdMap<_, _> = match interesting(fact.key()) {
                true => fact.fields().into_iter().collect(),
                false => OrdMap::new(),
            };
            self.tell(cluster, record, fact.key(), &fields);
            worth |= crate::lab::importance(fact.key()) > 1;
        }
        if worth {
            self.mark(trace, record);
        }
    }

    fn mark(&mut self, trace: &Trace, record: &Record<'_>) {
        let cause = record.cause.and_then(|cause| trace.get(trace.find(cause)?));
        let from = cause.and_then(|cause| Some((cause.process?, cause.at)));
        self.marks.push(Mark {
            at: record.at,
            event: record.id,
            process: record.process,
            from: from.filter(|(process, _)| Some(*process) != record.process),
        });
    }

    fn beat(&mut self, cluster: &Cluster, from: ProcessId, server: ProcessId, at: SimTime) {
        if is_server(cluster, server) && !is_server(cluster, from) {
            self.lanes.entry(Lane::Session(from)).or_default().beats.push(at);
        }
    }

    fn tell(
        &mut self,
        cluster: &Cluster,
        record: &Record<'_>,
        key: &str,
        fields: &OrdMap<&'static str, String>,
    ) {
        let at = record.at;
        let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
        let named = |name: &str| cluster.find(&field(name));
        match key {
            "process-started" => self.power(cluster, named("process"), at, None),
            "process-killed" | "process-exited" => {
                self.power(cluster, named("process"), at, Some(Stage::Off));
            }
            "process-frozen" => self.power(cluster, named("process"), at, Some(Stage::Frozen)),
            "process-thawed" => self.power(cluster, named("process"), at, None),
            "looking" => self.server(record, Stage::Looking),
            "zk-elected" if named("leader") == record.process => {
                self.server(record, Stage::Leading);
            }
            "zk-elected" => self.server(record, Stage::Following),
            "session-opened" | "local-session-opened" => {
                self.opened(field("session"), &field("timeout"));
            }
            "zk-connected" => self.connected(record, &field("session")),
            "session-expired" | "session-closed" | "local-session-ended" => {
                self.ended(at, &field("session"));
            }
            "controller-elected" => self.crowned(at, field("broker"), field("epoch")),
            "controller-resigned" => self.vacated(at, &field("broker")),
            "leader-elected" | "replica-removed" => {
                self.led(cluster, at, field("partition"), Some(field("leader")));
            }
            "partition-offline" => self.led(cluster, at, field("partition"), None),
            "log-deleted" => {
                // Of a partition that goes altogether: a leader keeps its log.
                let partition = field("partition");
                let leads = self.leaders.get(&partition).map(|id| format!("broker{id}"));
                if leads.is_some_and(|name| cluster.find(&name) == record.process) {
                    self.led(cluster, at, partition, None);
                }
            }
            "partitions-assigned" => self.member(record, Stage::Owning(field("now"))),
            "rebalance-succeeded" => self.member(record, Stage::Owning(field("partitions"))),
            "partitions-revoked" | "partitions-lost" | "rebalance-began" => {
                self.member(record, Stage::Joining);
            }
            _ => {}
        }
    }

    fn power(
        &mut self,
        cluster: &Cluster,
        process: Option<ProcessId>,
        at: SimTime,
        stage: Option<Stage>,
    ) {
        let Some(id) = process else { return };
        let (lane, running) = match () {
            () if is_server(cluster, id) => (Lane::Server(id), first_stage(cluster, id)),
            () if is_broker(cluster, id) => (Lane::Broker(id), self.up(cluster.name(id))),
            () if is_member(cluster, id) => (Lane::Member(id), Stage::Joining),
            () => return,
        };
        if stage == Some(Stage::Off) && is_broker(cluster, id) {
            self.vacated(at, broker_id(cluster.name(id)));
        }
        self.lanes.entry(lane).or_default().becomes(at, stage.unwrap_or(running));
    }

    fn server(&mut self, record: &Record<'_>, stage: Stage) {
        let Some(process) = record.process else { return };
        self.lanes.entry(Lane::Server(process)).or_default().becomes(record.at, stage);
    }

    fn opened(&mut self, session: String, timeout: &str) {
        let ms = timeout.trim_end_matches("ms").parse().unwrap_or_default();
        self.timeouts.insert(session, Span::ms(ms));
    }

    fn connected(&mut self, record: &Record<'_>, session: &str) {
        let Some(process) = record.process else { return };
        let timeout = self.timeouts.get(session).copied().unwrap_or_default();
        let here = Lane::Session(process);
        if self.places.get(session) != Some(&here) {
            self.leave_behind(process, record.at);
        }
        self.places.insert(session.to_owned(), here);
        self.lanes.entry(here).or_default().becomes(record.at, Stage::Open(timeout));
    }

    /// A session that has not ended when its process opens another one gets a lane of its own.
    fn leave_behind(&mut self, process: ProcessId, at: SimTime) {
        let (here, old) = (Lane::Session(process), Lane::OldSession(process));
        let Some((_, place)) = self.places.iter_mut().find(|(_, place)| **place == here) else {
            return;
        };
        *place = old;
        let Some(history) = self.lanes.get_mut(&here) else { return };
        let mut left = history.clone();
        left.beats.retain(|beat| *beat + OPENING < at);
        history.since = at;
        self.lanes.insert(old, left);
    }

    fn ended(&mut self, at: SimTime, session: &str) {
        let Some(lane) = self.places.remove(session) else { return };
        self.lanes.entry(lane).or_default().becomes(at, Stage::Ended);
    }

    fn crowned(&mut self, at: SimTime, broker: String, epoch: String) {
        self.controller = Some(broker.clone());
        let lane = self.lanes.entry(Lane::Controller).or_default();
        lane.becomes(at, Stage::Held { broker, epoch });
    }

    fn vacated(&mut self, at: SimTime, broker: &str) {
        if self.controller.as_deref() == Some(broker) {
            self.controller = None;
            self.lanes.entry(Lane::Controller).or_default().becomes(at, Stage::Vacant);
        }
    }

    /// A partition has another leader, or none.
    fn led(&mut self, cluster: &Cluster, at: SimTime, partition: String, leader: Option<String>) {
        if partition.starts_with("__") {
            return;
        }
        let before = match leader.clone() {
            Some(leader) => self.leaders.insert(partition, leader),
            None => self.leaders.remove(&partition),
        };
        for id in before.into_iter().chain(leader) {
            let Some(process) = cluster.find(&format!("broker{id}")) else { continue };
            let up = self.up(cluster.name(process));
            let lane = self.lanes.entry(Lane::Broker(process)).or_default();
            if matches!(lane.changes.last(), Some((_, Stage::Up(_)))) {
                lane.becomes(at, up);
            }
        }
    }

    fn up(&self, name: &str) -> Stage {
        let id = broker_id(name);
        Stage::Up(self.leaders.values().filter(|leader| *leader == id).count() as u16)
    }

    fn member(&mut self, record: &Record<'_>, stage: Stage) {
        let Some(process) = record.process else { return };
        self.lanes.entry(Lane::Member(process)).or_default().becomes(record.at, stage);
    }
}

/// Whether a process is a ZooKeeper server.
pub fn is_server(cluster: &Cluster, id: ProcessId) -> bool {
    cluster.process(id).kind() == Kind::Zk
}

/// What a server is when it has just been started.
fn first_stage(cluster: &Cluster, id: ProcessId) -> Stage {
    let is_alone = cluster.process(id).zk().is_some_and(Server::is_alone);
    if is_alone { Stage::Standalone } else { Stage::Looking }
}

/// Whether a process is a broker.
pub fn is_broker(cluster: &Cluster, id: ProcessId) -> bool {
    cluster.process(id).kind() == Kind::Broker
}

/// Whether a process is a consumer.
pub fn is_member(cluster: &Cluster, id: ProcessId) -> bool {
    matches!(cluster.process(id).kind(), Kind::Consumer | Kind::OldConsumer)
}

/// The id in a broker's name: `1` of `broker1`.
fn broker_id(name: &str) -> &str {
    name.trim_start_matches("broker")
}

/// Whether the fields of this fact are needed.
fn interesting(key: &str) -> bool {
    const PREFIXES: [&str; 7] =
        ["process-", "zk-", "session-", "controller-", "leader-", "replica-", "partitions-"];
    matches!(key, "looking" | "rebalance-succeeded" | "partition-offline" | "log-deleted")
        || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}
