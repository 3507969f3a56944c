//! The Kafka floor: brokers, controller, replication, groups and clients, as processes and pure
//! rules.
//!
//! What does not live here: ZooKeeper itself (`zk`), and the making of clusters (`cluster`).
//!
//! *Invariant: decisions (election, placement, assignment, partitioning) are pure functions in
//! files of their own; processes only call them.*

pub mod admin;
pub mod assignor;
pub mod broker;
pub mod client;
pub mod consumer;
pub mod control;
pub mod controller;
pub mod election;
mod error;
pub mod fetch_session;
pub mod group;
pub mod group_record;
pub mod id;
pub mod java_hash;
pub mod log;
pub mod lone;
pub mod message;
pub mod metadata_cache;
pub mod old_consumer;
pub mod partition;
pub mod partition_map;
pub mod partitioner;
pub mod placement;
pub mod producer;
pub mod record;
pub mod record_size;
pub mod release;
pub mod replicas;
pub mod segments;
pub mod settings;
#[cfg(test)]
mod straw;
pub mod tools;
pub mod topic_pattern;
pub mod transaction;
pub mod wire;
pub mod words;
pub mod znodes;
pub mod zookeeper;

pub use error::{Error, Remedy};
pub use words::Words;

#[cfg(test)]
mod broker_tests;
