//! The Java producer.

pub mod words;
