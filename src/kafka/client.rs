//! What all clients of brokers share: calls under way, and what they know of the cluster.
//!
//! Not here: what a client wants (`consumer`, `producer`, tools).
//!
//! *Invariant: every call ends once: answered, lost with its connection, or overdue, and then its
//! connection is given up and all calls on it are lost.*

use std::fmt;
use std::sync::Arc;

use super::assignor::PartitionCounts;
use super::error::Error;
use super::id::{BrokerId, ClientId, CorrelationId, LeaderEpoch, TopicName, TopicPartition};
use super::message::{BrokerAddress, MetadataResponse, PartitionMetadata};
use super::message::{Request, RequestMessage, TopicMetadata};
use super::record::Content;
use super::words::{Timer, Words, print_row};
use crate::sim::{Draw, OrdMap, Outbox, ProcessId, SimTime, Span, sort};

/// Which broker a client asks when any will do.
pub const BROKER_TO_ASK: Draw = Draw("broker-to-ask");

/// A call under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Call<P> {
    to: ProcessId,
    purpose: P,
    deadline: SimTime,
}

/// The calls of one client, each with its purpose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Calls<P> {
    client_id: ClientId,
    last: i32,
    under_way: OrdMap<CorrelationId, Call<P>>,
    /// When the timer runs out that was armed for the first of them to be late.
    watched_until: Option<SimTime>,
}

impl<P: Clone> Calls<P> {
    /// No calls.
    pub fn new(client_id: ClientId) -> Calls<P> {
        Calls { client_id, last: 0, under_way: OrdMap::new(), watched_until: None }
    }

    /// What the calls that are under way are for.
    pub fn purposes(&self) -> impl Iterator<Item = &P> {
        self.under_way.values().map(|call| &call.purpose)
    }

    /// Makes a call that may take this long.
    pub fn make(
        &mut self,
        purpose: P,
        (to, within): (ProcessId, Span),
        request: impl Into<Request>,
        out: &mut Outbox<'_, Words>,
    ) {
        self.last += 1;
        let correlation_id = CorrelationId(self.last);
        let (client_id, request) = (self.client_id.clone(), request.into());
        let deadline = out.now() + within;
        self.under_way.insert(correlation_id, Call { to, purpose, deadline });
        out.send(to, RequestMessage { correlation_id, client_id, request });
    }

    /// The purpose of the call that is answered; `None` if nobody waits for it any more.
    pub fn answered(&mut self, id: CorrelationId) -> Option<(ProcessId, P)> {
        self.under_way.remove(&id).map(|call| (call.to, call.purpose))
    }

    /// Waits no more for the call made last, and gives its purpose.
    pub fn forget_last(&mut self) -> Option<P> {
        self.under_way.remove(&CorrelationId(self.last)).map(|call| call.purpose)
    }

    /// The purposes of the calls that are lost with a connection, the oldest first.
    pub fn lost(&mut self, peer: ProcessId) -> Vec<P> {
        let (lost, kept) =
            std::mem::take(&mut self.under_way).into_iter().partition(|(_, call)| call.to == peer);
        self.under_way = kept;
        let lost: OrdMap<CorrelationId, Call<P>> = lost;
        lost.into_values().map(|call| call.purpose).collect()
    }

    /// The timer has run out: gives the connection up with a peer that owes an answer, if any does.
    /// Its calls are lost then.
    pub fn give_up(&mut self, out: &mut Outbox<'_, Words>) -> Option<ProcessId> {
        self.watched_until = None;
        let late = self.under_way.values().find(|call| call.deadline <= out.now());
        let peer = late.map(|call| call.to)?;
        out.hangup(peer);
        Some(peer)
    }

    /// Arms the timer for the first call that will be overdue, unless it runs.
    pub fn watch(&mut self, timer: impl Into<Timer>, out: &mut Outbox<'_, Words>) {
        let deadline = self.under_way.values().map(|call| call.deadline).min();
        let runs = self.watched_until.is_some_and(|armed| armed > out.now());
        if let Some(deadline) = deadline.filter(|_| !runs) {
            self.watched_until = Some(deadline);
            out.arm(timer, deadline.since(out.now()));
        }
    }

    /// Waits no more for calls for such a purpose.
    pub fn forget(&mut self, unwanted: impl Fn(&P) -> bool) {
        self.under_way.retain(|_, call| !unwanted(&call.purpose));
    }

    /// The purposes of all calls to a peer, the oldest first.
    pub fn to(&self, peer: ProcessId) -> impl Iterator<Item = &P> {
        self.under_way.values().filter(move |call| call.to == peer).map(|call| &call.purpose)
    }

    /// Whom a call for such a purpose is under way to.
    pub fn asked(&self, wanted: impl Fn(&P) -> bool) -> Vec<ProcessId> {
        let calls = self.under_way.values().filter(|call| wanted(&call.purpose));
        calls.map(|call| call.to).collect()
    }

    /// Whether a call for such a purpose is under way.
    pub fn any(&self, wanted: impl Fn(&P) -> bool) -> bool {
        self.under_way.values().any(|call| wanted(&call.purpose))
    }

    /// Whether no call is under way.
    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }
}

/// Why offsets are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// The application asked.
    Asked,
    /// The interval is over.
    Interval,
    /// Before partitions are given up for a rebalance.
    Rebalance,
    /// Before the end.
    Close,
}

/// What a client knows of the cluster; each part is shared between copies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClusterView {
    bootstrap: Arc<[ProcessId]>,
    brokers: Arc<OrdMap<BrokerId, BrokerAddress>>,
    topics: Arc<OrdMap<TopicName, Arc<KnownTopic>>>,
    /// Brokers that did not answer, and until when they are left alone after how many failures.
    resting: OrdMap<ProcessId, (SimTime, u32)>,
}

/// A topic as a broker told of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct KnownTopic {
    topic_id: Option<Arc<str>>,
    partitions: Vec<PartitionMetadata>,
}

impl KnownTopic {
    fn partition(&self, number: i32) -> Option<&PartitionMetadata> {
        let is_wanted = |known: &&PartitionMetadata| known.partition_index == number;
        // Where none is missing, a partition is at its number.
        let at_its_number = self.partitions.get(number as usize).filter(is_wanted);
        at_its_number.or_else(|| self.partitions.iter().find(is_wanted))
    }
}

/// Looks for the leaders of partitions.
pub struct Leaders<'a> {
    view: &'a ClusterView,
    topic: Option<(&'a TopicName, &'a KnownTopic)>,
}

impl<'a> Leaders<'a> {
    /// The leader of a partition and its epoch, if there is one.
    pub fn of(&mut self, wanted: &'a TopicPartition) -> Option<(ProcessId, LeaderEpoch)> {
        let (_, topic) = match self.topic.filter(|(topic, _)| **topic == wanted.topic) {
            Some(known) => known,
            None => {
                let known = self.view.topics.get(&wanted.topic)?;
                *self.topic.insert((&wanted.topic, known))
            }
        };
        let known = topic.partition(wanted.partition)?;
        let broker = self.view.brokers.get(&known.leader_id)?;
        Some((broker.process, known.leader_epoch))
    }
}

/// The pauses after a failed connection: this, then twice as much, up to a second.
// Source: reconnect.backoff.ms, reconnect.backoff.max.ms
const RECONNECT_BACKOFF: Span = Span::ms(50);
const RECONNECT_BACKOFF_MAX: Span = Span::ms(1000);

impl ClusterView {
    /// Only the bootstrap servers are known.
    pub fn new(bootstrap: Arc<[ProcessId]>) -> ClusterView {
        assert!(!bootstrap.is_empty(), "a client knows some broker");
        let (brokers, topics) = (Arc::default(), Arc::default());
        ClusterView { bootstrap, brokers, topics, resting: OrdMap::new() }
    }

    /// Some broker to ask, drawn among those that are not resting; `None` while all rest.
    // Source: NetworkClient.leastLoadedNode
    pub fn any_broker(&self, out: &mut Outbox<'_, Words>) -> Option<ProcessId> {
        let known: Vec<ProcessId> = match self.brokers.is_empty() {
            true => self.bootstrap.to_vec(),
            false => self.brokers.values().map(|broker| broker.process).collect(),
        };
        let now = out.now();
        let ready: Vec<ProcessId> = known.into_iter().filter(|&p| self.is_ready(p, now)).collect();
        let drawn = match ready.len() {
            0 => return None,
            1 => 0,
            count => out.draw(BROKER_TO_ASK, 0..count as u64),
        };
        ready.get(usize::try_from(drawn).ok()?).or(ready.first()).copied()
    }

    /// Whether a peer may be asked.
    pub fn is_ready(&self, peer: ProcessId, now: SimTime) -> bool {
        self.resting.get(&peer).is_none_or(|(until, _)| *until <= now)
    }

    /// The connection with a peer broke or was refused.
    pub fn failed(&mut self, peer: ProcessId, now: SimTime) {
        let failures = self.resting.get(&peer).map_or(0, |(_, failures)| *failures);
        let pause = (RECONNECT_BACKOFF * (1 << failures.min(5))).min(RECONNECT_BACKOFF_MAX);
        self.resting.insert(peer, (now + pause, failures + 1));
    }

    /// A peer has answered.
    pub fn worked(&mut self, peer: ProcessId) {
        self.resting.remove(&peer);
    }

    /// Takes in what a broker says; gives the errors of topics.
    /// A leader of an older epoch than the one known is not believed.
    // Source: org.apache.kafka.clients.Metadata.update
    pub fn learn(&mut self, told: MetadataResponse) -> Vec<(TopicName, Error)> {
        if !told.brokers.is_empty() {
            let by_id = told.brokers.into_iter().map(|broker| (broker.id, broker));
            self.brokers = Arc::new(by_id.collect());
        }
        let topics = Arc::make_mut(&mut self.topics);
        let mut errors = Vec::new();
        for topic in told.topics {
            match topic.error {
                Some(error) => {
                    topics.remove(&topic.name);
                    errors.push((topic.name, error));
                }
                None => {
                    let known = topics.get(&topic.name);
                    let newest = KnownTopic::newest(known.map(|known| &**known), &topic);
                    topics.insert(topic.name, Arc::new(newest));
                }
            }
        }
        errors
    }

    /// The leader of a partition and its epoch, if there is one.
    pub fn leader(&self, partition: &TopicPartition) -> Option<(ProcessId, LeaderEpoch)> {
        self.leaders().of(partition)
    }

    /// Looks for the leader of one partition after the other: soonest topic by topic.
    pub fn leaders(&self) -> Leaders<'_> {
        Leaders { view: self, topic: None }
    }

    /// How many partitions a topic has.
    pub fn count(&self, topic: &TopicName) -> Option<i32> {
        let known = self.topics.get(topic)?;
        Some(i32::try_from(known.partitions.len()).expect("topics have few partitions"))
    }

    /// The numbers of the partitions of a topic that have a leader.
    pub fn available(&self, topic: &TopicName) -> Vec<i32> {
        let partitions = self.topics.get(topic).into_iter().flat_map(|known| &known.partitions);
        partitions
            .filter(|known| self.brokers.contains_key(&known.leader_id))
            .map(|known| known.partition_index)
            .collect()
    }

    /// How many partitions each of these topics has; unknown ones are absent.
    pub fn counts<'a>(&self, topics: impl IntoIterator<Item = &'a TopicName>) -> PartitionCounts {
        let count = |topic: &TopicName| self.count(topic).map(|count| (topic.clone(), count));
        topics.into_iter().filter_map(count).collect()
    }

    /// Which broker a process is.
    pub fn broker(&self, process: ProcessId) -> BrokerId {
        let found = self.brokers.iter().find(|(_, broker)| broker.process == process);
        found.map_or(BrokerId::NONE, |(id, _)| *id)
    }

    /// The process of a broker.
    pub fn process(&self, broker: BrokerId) -> Option<ProcessId> {
        self.brokers.get(&broker).map(|broker| broker.process)
    }
}

impl KnownTopic {
    /// What is told, but for leaders of an older epoch; a topic made anew is believed as it is.
    fn newest(known: Option<&KnownTopic>, told: &TopicMetadata) -> KnownTopic {
        let known = known.filter(|known| known.topic_id == told.topic_id);
        let newest = |told: &PartitionMetadata| {
            let mut known = known.into_iter().flat_map(|known| &known.partitions);
            let same = known.find(|known| known.partition_index == told.partition_index);
            same.filter(|known| known.leader_epoch > told.leader_epoch).unwrap_or(told).clone()
        };
        let mut partitions: Vec<PartitionMetadata> = told.partitions.iter().map(newest).collect();
        sort::by_key(&mut partitions, |partition| partition.partition_index);
        KnownTopic { topic_id: told.topic_id.clone(), partitions }
    }
}

/// Partitions in a row, printed `orders-0,orders-1`, or `-` where there are none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partitions(pub Arc<[TopicPartition]>);

impl<'a> FromIterator<&'a TopicPartition> for Partitions {
    fn from_iter<I: IntoIterator<Item = &'a TopicPartition>>(partitions: I) -> Self {
        Partitions(partitions.into_iter().cloned().collect())
    }
}

impl fmt::Display for Partitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_row(&mut self.0.iter().map(|partition| partition as &dyn fmt::Display), f)
    }
}

/// A key or a value in a fact; none prints `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shown(pub Option<Arc<str>>);

impl Shown {
    /// A record's key or value.
    pub fn of(content: Option<&Content>) -> Shown {
        Shown(content.map(|content| match content {
            Content::Text(text) => text.clone(),
            typed => Arc::from(typed.to_string()),
        }))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_deref().unwrap_or("-"))
    }
}

/// The place of one among so many: drawn, unless there is no choice.
pub fn drawn(purpose: Draw, count: usize, out: &mut Outbox<'_, Words>) -> usize {
    if count < 2 {
        return 0;
    }
    let drawn = out.draw(purpose, 0..count as u64);
    usize::try_from(drawn).map_or(0, |drawn| drawn.min(count - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(leader: i32, epoch: i32) -> MetadataResponse {
        let partition = PartitionMetadata {
            error: None,
            partition_index: 0,
            leader_id: BrokerId(leader),
            leader_epoch: LeaderEpoch(epoch),
            replica_nodes: Vec::new(),
            isr_nodes: Vec::new(),
            offline_replicas: Vec::new(),
        };
        let address = |id: i32| BrokerAddress {
            id: BrokerId(id),
            process: ProcessId(u16::try_from(id).expect("a small id")),
            host: "".into(),
            port: 0,
            rack: None,
        };
        MetadataResponse {
            brokers: vec![address(1), address(2)],
            controller_id: BrokerId(1),
            topics: vec![TopicMetadata {
                error: None,
                name: "t".into(),
                topic_id: None,
                is_internal: false,
                partitions: vec![partition],
            }],
        }
    }

    #[test]
    fn an_older_leader_is_not_believed() {
        let mut view = ClusterView::new([ProcessId(1)].into());
        let partition = TopicPartition::new("t", 0);
        assert_eq!(view.leader(&partition), None);
        view.learn(told(2, 5));
        view.learn(told(1, 4));
        assert_eq!(view.leader(&partition), Some((ProcessId(2), LeaderEpoch(5))));
        view.learn(told(1, 6));
        assert_eq!(view.leader(&partition), Some((ProcessId(1), LeaderEpoch(6))));
        assert_eq!(view.available(&partition.topic), [0]);
    }

    #[test]
    fn who_fails_rests_longer_each_time() {
        let mut view = ClusterView::new([ProcessId(1)].into());
        let at = |ms| SimTime::ZERO + Span::ms(ms);
        view.failed(ProcessId(1), at(0));
        assert!(!view.is_ready(ProcessId(1), at(49)) && view.is_ready(ProcessId(1), at(50)));
        view.failed(ProcessId(1), at(50));
        assert!(!view.is_ready(ProcessId(1), at(149)) && view.is_ready(ProcessId(1), at(150)));
        view.worked(ProcessId(1));
        assert!(view.is_ready(ProcessId(1), at(0)));
    }
}
