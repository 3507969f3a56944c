//! Brokers that are alone, each with partitions of its own, and producers that spread records over
//! them: Kafka before it had replicas.
//!
//! ```text
//!   /brokers/ids/1           ephemeral: broker 1 lives, at this host and port
//!   /brokers/topics/T/1  2   ephemeral: broker 1 has 2 partitions of T, called 1-0 and 1-1
//! ```
//!
//! There is no controller, and no broker knows of another. A partition is its broker's: while that
//! is down, its records can be neither read nor added to. Who wants to know where partitions are
//! reads ZooKeeper: consumers do, and producers may.
//!
//! Not here: the consumers (`old_consumer`).
//!
//! *Invariant: a broker is alone; what it does depends on what clients and ZooKeeper tell it only.*
// Source: kafka 0.7.2

mod broker;
mod knowledge;
mod log;
mod producer;
mod settings;

pub use broker::{Broker, Phase, Running};
pub use knowledge::Knowledge;
pub use log::{Log, size_of};
pub use producer::{Balance, Producer};
pub use settings::{LoneProducerSettings, Route};
