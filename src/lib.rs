//! Zootrope: a ZooKeeper ensemble and the Kafka cluster that it coordinates, as one deterministic
//! simulation, and the page that shows it.
//!
//! A floor uses those under it, never those above:
//!
//! ```text
//!   ui/       the browser: DOM, signals, wall clock             (wasm only)
//!   picture/  pure projections: state -> what a panel shows
//!   lab/      recording, timeline (seek, takes), script
//!   cluster/  setup, every kind of process under one roof, command, laws
//!   kafka/    broker, controller, group, producer, consumer
//!   zk/       path, zxid, tree, watch, session, election, broadcast, server, client
//!   sim/      time, chance, queue, link, disk, process, fault, trace
//!   text/     words for people, one catalog per language        (a leaf)
//! ```

pub mod cluster;
pub mod kafka;
pub mod lab;
pub mod picture;
pub mod sim;
pub mod text;
#[cfg(target_arch = "wasm32")]
pub mod ui;
pub mod zk;
