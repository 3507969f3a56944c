//! A member of a group: the Java consumer.

pub mod words;
