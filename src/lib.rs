//! Zootrope.

pub mod kafka;
