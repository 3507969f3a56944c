//! What everything at or above this floor speaks: brokers, clients, and ZooKeeper's servers and
//! clients, whose words are a part of these.
//!
//! *Invariant: this is the widest vocabulary; a machine with words of its own is embedded, and its
//! words get a variant here.*

use std::fmt;
use std::sync::Arc;

use super::client::Shown;
use super::consumer::words::{ConsumerFact, ConsumerRequest, ConsumerTimer};
use super::group::{GroupFact, GroupTimer};
use super::id::{
    BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, Offset, TopicName, TopicPartition,
};
use super::message::{RequestMessage, ResponseMessage};
use super::old_consumer::words::{OldFact, OldTimer};
use super::producer::words::{ProducerFact, ProducerRequest, ProducerTimer};
use super::settings::Directory;
use super::tools::ToolTimer;
use crate::sim::fact::Field;
use crate::sim::{KernelFact, Telling, Vocabulary};
use crate::zk::path::Path;
use crate::zk::stat::SessionId;
use crate::zk::words as zk;

/// The words of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Words;

/// What travels on links.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// To, from and among ZooKeeper's servers.
    Zk(zk::Message),
    /// Asked of a broker.
    Request(RequestMessage),
    /// Answered by a broker.
    Response(ResponseMessage),
}

/// What processes wait for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// Of a ZooKeeper server or client.
    Zk(zk::Timer),
    /// Of a broker.
    Broker(BrokerTimer),
    /// Of the group coordinator in a broker.
    Group(GroupTimer),
    /// Of a consumer.
    Consumer(ConsumerTimer),
    /// Of a producer.
    Producer(ProducerTimer),
    /// Of a command line tool.
    Tool(ToolTimer),
    /// Of an old consumer.
    OldConsumer(OldTimer),
}

/// What a broker waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BrokerTimer {
    /// The first of the requests that wait here runs out.
    Purgatory,
    /// Followers may have fallen behind.
    IsrExpiration,
    /// HWs are to be written down.
    HighWatermarkCheckpoint,
    /// The fetcher from this leader has waited after a failure.
    FetchBackoff(BrokerId),
    /// A request of the controller to this broker is to be sent again.
    SendAgain(BrokerId),
    /// A request of this broker to the controller is to be sent again.
    ControllerAgain,
    /// Leaders are to be compared with preferred leaders.
    LeaderBalance,
    /// The next try of a controlled shutdown.
    ControlledShutdown,
    /// What was said to itself has come.
    Loopback,
    /// The first of the clients that wait for an errand runs out of time.
    Errands,
    /// Changes of ISRs may have come to rest (0.9 to 2.6).
    IsrPropagation,
    /// Something of a transaction is due.
    Transactions,
    /// What was written last is to be flushed (0.7).
    Flush,
    /// The registration that is in the way may be gone (0.8).
    RegisterAgain,
    /// Old segments are to be looked for.
    LogRetention,
    /// Old values of keys are to be looked for.
    LogCleaner,
    /// This partition of the offsets topic has been read.
    LoadOffsets(i32),
}

/// What is being written to disks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Write {
    /// By a ZooKeeper server.
    Zk(zk::Write),
}

/// What is asked of a process from outside the simulated network.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// Of a ZooKeeper server.
    Zk(zk::Request),
    /// SIGTERM: stop in order.
    Stop,
    /// Hosts and ports have changed.
    Resolve(Directory),
    /// Of a broker before it starts: its file says something else.
    Configure(Arc<[(Arc<str>, Arc<str>)]>),
    /// Of a consumer.
    Consumer(ConsumerRequest),
    /// Of a producer.
    Producer(ProducerRequest),
}

crate::facts! {
    /// What brokers tell.
    pub enum BrokerFact {
        "broker-registered" => BrokerRegistered { broker: BrokerId, epoch: BrokerEpoch },
        "broker-running" => BrokerRunning { broker: BrokerId },
        "broker-fatal" => BrokerFatal { broker: BrokerId, error: Text },
        "node-in-the-way" => NodeInTheWay { path: Path, owner: SessionId, session: SessionId },
        "node-conflict" => NodeConflict { path: Path, data: Text, stored: Text, whose: &'static str },
        "broker-halted" =>
            BrokerHalted { partition: TopicPartition, leader: BrokerId, to: Offset, from: Offset },
        "session-lost" => SessionLost { broker: BrokerId },
        "controller-elected" => ControllerElected { broker: BrokerId, epoch: ControllerEpoch },
        "controller-ready" => ControllerReady { broker: BrokerId, epoch: ControllerEpoch, partitions: i32 },
        "controller-resigned" => ControllerResigned { broker: BrokerId, epoch: ControllerEpoch },
        "controller-fenced" => ControllerFenced { broker: BrokerId, epoch: ControllerEpoch, during: &'static str },
        "brokers-changed" => BrokersChanged { added: Brokers, deleted: Brokers, bounced: Brokers, live: Brokers },
        "topic-created" => TopicCreated { topic: TopicName, partitions: i32 },
        "partitions-added" => PartitionsAdded { topic: TopicName, partitions: i32 },
        "topic-deletion-started" => TopicDeletionStarted { topic: TopicName },
        "deletion-halted" => DeletionHalted { topic: TopicName, reason: &'static str },
        "topic-deleted" => TopicDeleted { topic: TopicName },
        "leader-elected" => LeaderElected { partition: TopicPartition, leader: BrokerId, epoch: LeaderEpoch, isr: Brokers, why: &'static str },
        "unclean-leader" => UncleanLeader { partition: TopicPartition, leader: BrokerId, live: Brokers, isr: Brokers },
        "nobody-to-elect" =>
            NobodyToElect {
                partition: TopicPartition,
                live: Brokers,
                isr: Brokers,
                replicas: Brokers,
                unclean: &'static str,
            },
        "partition-offline" => PartitionOffline { partition: TopicPartition, isr: Brokers },
        "replica-removed" => ReplicaRemoved { partition: TopicPartition, replica: BrokerId, leader: BrokerId, epoch: LeaderEpoch, isr: Brokers },
        "reassignment-started" => ReassignmentStarted { partition: TopicPartition, replicas: Brokers },
        "reassignment-done" => ReassignmentDone { partition: TopicPartition, replicas: Brokers },
        "isr-shrunk" => IsrShrunk { partition: TopicPartition, isr: Brokers },
        "isr-expanded" => IsrExpanded { partition: TopicPartition, isr: Brokers },
        "isr-not-written" => IsrNotWritten { partition: TopicPartition, version: i32 },
        "topic-id-mismatch" => TopicIdMismatch { partition: TopicPartition, known: Text, told: Text },
        "became-leader" => BecameLeader { partition: TopicPartition, epoch: LeaderEpoch, isr: Brokers, leo: Offset },
        "became-follower" => BecameFollower { partition: TopicPartition, epoch: LeaderEpoch, leader: BrokerId },
        "truncated" => Truncated { partition: TopicPartition, to: Offset, from: Offset },
        "replica-stopped" => ReplicaStopped { partition: TopicPartition },
        "log-deleted" => LogDeleted { partition: TopicPartition },
        "order-refused" => OrderRefused { order: &'static str, from: BrokerId, error: Text },
        "order-too-old" =>
            OrderTooOld {
                order: &'static str,
                from: BrokerId,
                epoch: ControllerEpoch,
                known: ControllerEpoch,
            },
        "shutdown-started" => ShutdownStarted { broker: BrokerId },
        "shutdown-done" => ShutdownDone { broker: BrokerId },
        "topic-registered" => TopicRegistered { broker: BrokerId, topic: TopicName, partitions: i32 },
        "record-stored" => RecordStored { partition: TopicPartition, offset: Offset, value: Shown },
        "log-rolled" => LogRolled { partition: TopicPartition, base: Offset },
        "segments-deleted" => SegmentsDeleted { partition: TopicPartition, segments: i32, start: Offset },
        "records-deleted" => RecordsDeleted { partition: TopicPartition, start: Offset },
        "log-begun-anew" => LogBegunAnew { partition: TopicPartition, leader: BrokerId, from: Offset, start: Offset },
        "log-cleaned" => LogCleaned { partition: TopicPartition, kept: u64, of: u64 },
        "log-dir-failed" => LogDirFailed { partition: TopicPartition },
        "segment-not-deleted" => SegmentNotDeleted { partition: TopicPartition, file: Text },
        "fetch-session-evicted" => FetchSessionEvicted { session: i32, partitions: i32 },
        "follower-fetch-refused" => FollowerFetchRefused { leader: BrokerId, session: i32, epoch: i32, error: Text },
        "offsets-loading" => OffsetsLoading { partition: TopicPartition, bytes: u64 },
        "offsets-loaded" => OffsetsLoaded { partition: TopicPartition, ms: u64 },
    }
}

/// Brokers in a row, printed `1,2,3`, or `-` where there are none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Brokers(pub Arc<[BrokerId]>);

/// A text in a fact.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Text(pub Arc<str>);

/// Prints things in a row, `1,2,3`, or `-` where there are none.
pub(super) fn print_row(
    things: &mut dyn Iterator<Item = &dyn fmt::Display>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let Some(first) = things.next() else { return f.write_str("-") };
    first.fmt(f)?;
    for thing in things {
        write!(f, ",{thing}")?;
    }
    Ok(())
}

/// What is told, by whom it may be.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Fact {
    /// By a ZooKeeper server.
    Zk(zk::Fact),
    /// By the kernel.
    Kernel(KernelFact),
    /// By a broker.
    Broker(BrokerFact),
    /// By the group coordinator in a broker.
    Group(GroupFact),
    /// By a consumer.
    Consumer(ConsumerFact),
    /// By a producer.
    Producer(ProducerFact),
    /// By an old consumer.
    OldConsumer(OldFact),
}

impl Vocabulary for Words {
    type Message = Message;
    type Timer = Timer;
    type Write = Write;
    type Request = Request;
    type Fact = Fact;

    fn message_name(message: &Message) -> &'static str {
        match message {
            Message::Zk(message) => zk::Words::message_name(message),
            Message::Request(message) => message.request.name(),
            Message::Response(message) => message.response.name(),
        }
    }

    fn timer_name(timer: &Timer) -> &'static str {
        match timer {
            Timer::Zk(timer) => zk::Words::timer_name(timer),
            Timer::Broker(timer) => timer.name(),
            Timer::Group(timer) => timer.name(),
            Timer::Consumer(timer) => timer.name(),
            Timer::OldConsumer(timer) => timer.name(),
            Timer::Producer(timer) => timer.name(),
            Timer::Tool(timer) => timer.name(),
        }
    }

    fn request_name(request: &Request) -> &'static str {
        match request {
            Request::Zk(request) => zk::Words::request_name(request),
            Request::Stop => "stop",
            Request::Resolve(_) => "resolve",
            Request::Configure(_) => "configure",
            Request::Consumer(request) => request.name(),
            Request::Producer(request) => request.name(),
        }
    }
}

impl BrokerTimer {
    /// Its short name, for traces.
    pub fn name(self) -> &'static str {
        match self {
            BrokerTimer::Purgatory => "purgatory",
            BrokerTimer::IsrExpiration => "isr-expiration",
            BrokerTimer::HighWatermarkCheckpoint => "high-watermark-checkpoint",
            BrokerTimer::FetchBackoff(_) => "fetch-backoff",
            BrokerTimer::SendAgain(_) => "send-again",
            BrokerTimer::ControllerAgain => "controller-again",
            BrokerTimer::LeaderBalance => "leader-balance",
            BrokerTimer::ControlledShutdown => "controlled-shutdown",
            BrokerTimer::Loopback => "loopback",
            BrokerTimer::Errands => "errands",
            BrokerTimer::RegisterAgain => "broker-register-again",
            BrokerTimer::IsrPropagation => "isr-propagation",
            BrokerTimer::Transactions => "transactions",
            BrokerTimer::Flush => "flush",
            BrokerTimer::LogRetention => "log-retention",
            BrokerTimer::LogCleaner => "log-cleaner",
            BrokerTimer::LoadOffsets(_) => "load-offsets",
        }
    }
}

impl Fact {
    fn told(&self) -> &dyn Telling {
        match self {
            Fact::Zk(fact) => fact,
            Fact::Kernel(fact) => fact,
            Fact::Broker(fact) => fact,
            Fact::Group(fact) => fact,
            Fact::Consumer(fact) => fact,
            Fact::OldConsumer(fact) => fact,
            Fact::Producer(fact) => fact,
        }
    }
}

impl Telling for Fact {
    fn key(&self) -> &'static str {
        self.told().key()
    }

    fn said(&self) -> Vec<Field<'_>> {
        self.told().said()
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.told(), f)
    }
}

impl fmt::Display for Brokers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_row(&mut self.0.iter().map(|broker| broker as &dyn fmt::Display), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&[BrokerId]> for Brokers {
    fn from(brokers: &[BrokerId]) -> Brokers {
        Brokers(brokers.into())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(text.into())
    }
}

impl From<zk::Told> for Fact {
    fn from(told: zk::Told) -> Fact {
        match told {
            zk::Told::Zk(fact) => Fact::Zk(fact),
            zk::Told::Kernel(fact) => Fact::Kernel(fact),
        }
    }
}

/// The words of each part, as words of all.
macro_rules! parts {
    ($($whole:ident::$variant:ident($part:ty);)*) => {$(
        impl From<$part> for $whole {
            fn from(part: $part) -> $whole {
                $whole::$variant(part)
            }
        }
    )*};
}

parts! {
    Message::Zk(zk::Message);
    Message::Request(RequestMessage);
    Message::Response(ResponseMessage);
    Timer::Zk(zk::Timer);
    Timer::Broker(BrokerTimer);
    Timer::Group(GroupTimer);
    Timer::Consumer(ConsumerTimer);
    Timer::OldConsumer(OldTimer);
    Timer::Producer(ProducerTimer);
    Timer::Tool(ToolTimer);
    Write::Zk(zk::Write);
    Request::Consumer(ConsumerRequest);
    Request::Producer(ProducerRequest);
    Fact::Kernel(KernelFact);
    Fact::Broker(BrokerFact);
    Fact::Group(GroupFact);
    Fact::Consumer(ConsumerFact);
    Fact::OldConsumer(OldFact);
    Fact::Producer(ProducerFact);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_prints_as_whoever_tells_it_has_it() {
        let isr = Brokers::from(&[BrokerId(1), BrokerId(2)][..]);
        let partition = TopicPartition::new("orders", 0);
        let fact = Fact::from(BrokerFact::IsrShrunk { partition, isr });
        assert_eq!(fact.to_string(), "isr-shrunk partition=orders-0 isr=1,2");
        assert_eq!(Telling::key(&fact), "isr-shrunk");
    }
}
