//! What a producer waits for, is asked, and tells; and its settings.
//!
//! *Invariant: every record that was asked for is told of once: acknowledged or failed.*

use std::sync::Arc;

use crate::kafka::client::{Partitions, Shown};
use crate::kafka::id::TopicPartition;
use crate::kafka::id::{ClientId, GroupId, Offset, ProducerEpoch, ProducerId, TopicName};
use crate::kafka::message::Acks;
use crate::kafka::partitioner::Partitioner;
use crate::kafka::release::Release;
use crate::kafka::words::{Brokers, Text};
use crate::sim::{ProcessId, Span};

/// How records without a key find their partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keyless {
    /// One after another (0.8.2 – 2.3).
    RoundRobin,
    /// One partition for a batch, then another (2.4 – 3.2).
    StickyBatch,
    /// One partition for `batch.size` bytes, then any (3.3+).
    StickyBytes,
    /// Any, drawn for each record (librdkafka).
    // Real: since 1.6 one of the `_random` partitioners keeps to what was drawn for
    // sticky.partitioning.linger.ms (10 ms); here each record is drawn for, because the records of
    // one producer are mostly further apart.
    Drawn,
}

/// A producer's settings, by their real names in snake case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct ProducerSettings {
    /// Of which release it is.
    pub release: Release,
    /// Known brokers, to begin with.
    pub bootstrap_servers: Arc<[ProcessId]>,
    pub client_id: ClientId,
    pub acks: Acks,
    pub retries: u32,
    pub enable_idempotence: bool,
    pub transactional_id: Option<Arc<str>>,
    pub transaction_timeout: Span,
    pub delivery_timeout: Span,
    pub request_timeout: Span,
    pub max_block: Span,
    pub retry_backoff: Span,
    pub retry_backoff_max: Span,
    pub linger: Span,
    pub batch_size: u32,
    pub max_in_flight_requests_per_connection: u32,
    pub metadata_max_age: Span,
    /// Which partitioner it has; what that leaves open is a matter of the release.
    pub partitioner: Partitioner,
    /// What it sends by itself, over and over.
    pub steady: Option<Steady>,
    /// The words behind `kafka-console-producer`, if it is one.
    pub typed: Option<Arc<[Arc<str>]>>,
}

/// Records sent by themselves at a steady pace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Steady {
    /// To which topic.
    pub topic: TopicName,
    /// One record each time this has passed.
    pub every: Span,
    /// Keys `k0` … in turn; none for records without a key.
    pub keys: u32,
}

impl Steady {
    /// The record with that number.
    pub fn record(&self, number: u64) -> ToSend {
        let key = number.checked_rem(u64::from(self.keys)).map(|key| format!("k{key}").into());
        let value = Some(format!("v{number}").into());
        ToSend { topic: self.topic.clone(), partition: None, key, value }
    }
}

impl ProducerSettings {
    /// The defaults of 3.9.1.
    // Source: org.apache.kafka.clients.producer.ProducerConfig
    pub fn new(client: &str, bootstrap: impl Into<Arc<[ProcessId]>>) -> ProducerSettings {
        ProducerSettings {
            release: Release::V3_9_1,
            bootstrap_servers: bootstrap.into(),
            client_id: client.into(),
            acks: Acks::All,
            retries: i32::MAX.cast_unsigned(),
            enable_idempotence: true,
            transactional_id: None,
            transaction_timeout: Span::secs(60),
            delivery_timeout: Span::secs(120),
            request_timeout: Span::secs(30),
            max_block: Span::secs(60),
            retry_backoff: Span::ms(100),
            retry_backoff_max: Span::ms(1000),
            linger: Span::ZERO,
            batch_size: 16_384,
            max_in_flight_requests_per_connection: 5,
            metadata_max_age: Span::secs(300),
            partitioner: Partitioner::Java,
            steady: None,
            typed: None,
        }
    }

    /// How records without a key find their partition.
    pub fn keyless(&self) -> Keyless {
        match self.partitioner {
            Partitioner::Java => self.release.keyless(),
            _ => Keyless::Drawn,
        }
    }

    /// The same, as a producer of that release has them.
    pub fn of_release(self, release: Release) -> ProducerSettings {
        let mut settings = ProducerSettings { release, ..self };
        if !release.clients_are_careful() {
            (settings.acks, settings.enable_idempotence) = (Acks::Leader, false);
        }
        if !release.producers_try_again() {
            settings.retries = 0;
        }
        if !release.backoffs_grow() {
            settings.retry_backoff_max = settings.retry_backoff;
        }
        settings
    }

    /// Changes a setting by its real name; `None` if there is no such one or it cannot be so.
    /// Fewer acknowledgements than all switch idempotence off, unless that is asked for later.
    // Source: ProducerConfig.postProcessAndValidateIdempotenceConfigs
    pub fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let (ms, pause) = (|| Span::parse_ms(value), || Span::parse_pause_ms(value));
        match name {
            "acks" => {
                self.acks = Acks::by_name(value)?;
                self.enable_idempotence &= self.acks == Acks::All;
            }
            "enable.idempotence" => self.enable_idempotence = value.parse().ok()?,
            "transactional.id" => self.transactional_id = Some(value.into()),
            "transaction.timeout.ms" => self.transaction_timeout = pause()?,
            "retries" => self.retries = value.parse().ok()?,
            "delivery.timeout.ms" => self.delivery_timeout = pause()?,
            "request.timeout.ms" => self.request_timeout = pause()?,
            "max.block.ms" => self.max_block = ms()?,
            "retry.backoff.ms" => self.retry_backoff = pause()?,
            "retry.backoff.max.ms" => self.retry_backoff_max = pause()?,
            "linger.ms" => self.linger = ms()?,
            "batch.size" => self.batch_size = value.parse().ok()?,
            "metadata.max.age.ms" => self.metadata_max_age = pause()?,
            "partitioner" => self.partitioner = Partitioner::by_name(value)?,
            "max.in.flight.requests.per.connection" => {
                let many = value.parse().ok().filter(|many| *many > 0)?;
                self.max_in_flight_requests_per_connection = many;
            }
            _ => return None,
        }
        Some(())
    }
}

/// Why settings do not go together, in Kafka's words.
pub const DELIVERY_TOO_SHORT: &str =
    "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms";

impl ProducerSettings {
    /// Refuses a time for delivery that is shorter than one try; one that nobody has set becomes
    /// as long.
    // Source: KafkaProducer.configureDeliveryTimeout (KIP-91, 2.1)
    pub fn settle_delivery(&mut self, is_set: Delivery) -> Result<(), &'static str> {
        let least = self.linger + self.request_timeout;
        if !self.release.producers_try_again() || self.delivery_timeout >= least {
            return Ok(());
        }
        match is_set {
            Delivery::Set => Err(DELIVERY_TOO_SHORT),
            Delivery::Default => {
                self.delivery_timeout = least;
                Ok(())
            }
        }
    }
}

/// Whether somebody has set `delivery.timeout.ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Somebody has.
    Set,
    /// Nobody has.
    Default,
}

impl Delivery {
    /// Whether one of these settings is it.
    pub fn among(settings: &[(Arc<str>, Arc<str>)]) -> Delivery {
        match settings.iter().any(|(name, _)| &**name == "delivery.timeout.ms") {
            true => Delivery::Set,
            false => Delivery::Default,
        }
    }
}

/// What a producer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProducerTimer {
    /// The next record of a steady producer.
    Steady,
    /// Batches have waited `linger.ms`.
    Linger,
    /// The pause after a failure is over.
    Retry,
    /// What it knows of the cluster is old.
    Metadata,
    /// The first of its calls is overdue.
    Request,
    /// The first of its records is too old.
    Delivery,
    /// The pause before it tries to connect again (0.7).
    Connect,
}

impl ProducerTimer {
    /// The short name, for traces.
    pub fn name(self) -> &'static str {
        match self {
            ProducerTimer::Steady => "steady",
            ProducerTimer::Linger => "linger",
            ProducerTimer::Retry => "retry",
            ProducerTimer::Metadata => "metadata-age",
            ProducerTimer::Request => "request-timeout",
            ProducerTimer::Delivery => "delivery-timeout",
            ProducerTimer::Connect => "connect-backoff",
        }
    }
}

/// What is asked of a producer's application from outside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProducerRequest {
    /// `send()`.
    Send(ToSend),
    /// Send one record each time a span has passed, from now on.
    Steady(Steady),
    /// Send nothing more by itself.
    Pause,
    /// A method of the transaction.
    Transact(Act),
    /// `close()`: once all is acknowledged or failed, end.
    Close,
}

/// One record to send.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToSend {
    /// Its topic.
    pub topic: TopicName,
    /// Its partition, if the application has chosen it.
    pub partition: Option<i32>,
    /// Its key.
    pub key: Option<Arc<str>>,
    /// Its value.
    pub value: Option<Arc<str>>,
}

impl ProducerRequest {
    /// The short name, for traces.
    pub fn name(&self) -> &'static str {
        match self {
            ProducerRequest::Send(_) => "send",
            ProducerRequest::Steady(_) => "steady",
            ProducerRequest::Pause => "pause",
            ProducerRequest::Transact(act) => act.name(),
            ProducerRequest::Close => "close",
        }
    }
}

/// What an application does with its transactions, besides sending.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// `initTransactions()`.
    Init,
    /// `beginTransaction()`.
    Begin,
    /// `sendOffsetsToTransaction()`, of one partition.
    Offsets {
        /// Whose.
        group: GroupId,
        /// Of which partition.
        partition: TopicPartition,
        /// The next to read.
        offset: Offset,
    },
    /// `commitTransaction()`.
    Commit,
    /// `abortTransaction()`.
    Abort,
}

impl Act {
    /// Its short name.
    pub fn name(&self) -> &'static str {
        match self {
            Act::Init => "init",
            Act::Begin => "begin",
            Act::Offsets { .. } => "offsets",
            Act::Commit => "commit",
            Act::Abort => "abort",
        }
    }
}

crate::facts! {
    /// What producers tell.
    pub enum ProducerFact {
        "producer-ready" => ProducerReady { producer: ProducerId, epoch: ProducerEpoch },
        "record-sent" => RecordSent { partition: TopicPartition, key: Shown, value: Shown },
        "record-acked" =>
            RecordAcked { partition: TopicPartition, offset: Offset, key: Shown, value: Shown },
        "record-failed" => RecordFailed { topic: TopicName, value: Shown, error: &'static str },
        "send-again" => SendAgain { partition: TopicPartition, error: &'static str },
        "transaction-done" => TransactionDone { act: &'static str },
        "transaction-failed" => TransactionFailed { act: &'static str, error: &'static str },
        "producer-closed" => ProducerClosed { acked: u64, failed: u64 },
        "brokers-known" => BrokersKnown { brokers: Brokers },
        "partitions-known" => PartitionsKnown { topic: TopicName, partitions: Partitions },
        "connection-opened" => ConnectionOpened { to: Text },
        "connection-refused" => ConnectionRefused { to: Text, attempt: u32 },
    }
}
