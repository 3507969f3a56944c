//! Zootrope.

pub mod kafka;
pub mod zk;
