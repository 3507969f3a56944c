//! ZooKeeper: its data, its rules, its servers and its client.
//!
//! The pure core comes first: values (`zxid`, `path`, `stat`, `acl`), the protocol (`request`,
//! `reply`, `txn`, `words`), what a server holds (`tree`, `watch`, `session`, `database`), and what
//! it does with that (`prep` makes a txn of a request, `apply` changes the tree, `reads` answers).
//! Then the ensemble: decisions (`vote`, `epochs`, `sync`, `broadcast`), the roles that make them
//! (`election`, `leader`, `learner`) over what they share (`member`, `serving`), and `quorum_peer`,
//! which goes from role to role. `laws` says what must hold among servers.
//!
//! *Invariant: nothing here knows of Kafka.*

pub mod acl;
pub mod apply;
pub mod broadcast;
pub mod cli;
pub mod client;
pub mod client_watches;
pub mod database;
pub mod digest;
pub mod election;
pub mod ensemble;
pub mod epochs;
pub mod four_letter;
pub mod front;
pub mod hash_order;
pub mod laws;
pub mod leader;
pub mod learner;
pub mod local_sessions;
pub mod log_writer;
pub mod member;
pub mod path;
pub mod peer;
pub mod prep;
pub mod printing;
pub mod quorum_peer;
pub mod quota;
pub mod read_only;
pub mod reads;
pub mod release;
pub mod reply;
pub mod request;
pub mod seeker;
pub mod server;
pub mod serving;
pub mod session;
pub mod settings;
pub mod shell;
pub mod standalone;
pub mod stat;
pub mod sync;
pub mod telling;
pub mod tree;
pub mod txn;
pub mod vote;
pub mod watch;
pub mod words;
pub mod zxid;

pub use client::{Client, Notice};
pub use ensemble::ServerId;
pub use words::Words;

#[cfg(test)]
mod quorum_tests;
