//! ZooKeeper: its data, its rules, its servers and its client.
//!
//! The pure core comes first: values (`zxid`, `path`, `stat`, `acl`), the protocol (`request`,
//! `reply`, `txn`, `words`), what a server holds (`tree`, `watch`, `session`, `database`), and what
//! it does with that (`prep` makes a txn of a request, `apply` changes the tree, `reads` answers).
//!
//! *Invariant: nothing here knows of Kafka.*

pub mod acl;
pub mod apply;
pub mod client;
pub mod client_watches;
pub mod database;
pub mod ensemble;
pub mod front;
pub mod hash_order;
pub mod path;
pub mod peer;
pub mod prep;
pub mod reads;
pub mod reply;
pub mod request;
pub mod server;
pub mod session;
pub mod settings;
pub mod shell;
pub mod standalone;
pub mod stat;
pub mod telling;
pub mod tree;
pub mod txn;
pub mod watch;
pub mod words;
pub mod zxid;

pub use client::{Client, Notice};
pub use ensemble::ServerId;
pub use words::Words;
