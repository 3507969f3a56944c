//! `kafka-console-producer`: what its command line says, and which record a line of its input is.
//!
//! Not here: how records are sent (`kafka::producer`).
//! Source: ConsoleProducer, LineMessageReader (3.9).
//!
//! *Invariant: one line is one record, or is refused.*

use std::sync::Arc;

use super::{Arguments, Bootstrap, Usage};
use crate::kafka::id::TopicName;
use crate::kafka::message::Acks;
use crate::kafka::producer::words::{ProducerSettings, ToSend};
use crate::sim::Span;

/// Its name.
pub const NAME: &str = "kafka-console-producer";

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsoleProducer {
    /// Where records go.
    pub topic: TopicName,
    /// What stands between a key and a value, if lines have keys.
    separator: Option<String>,
    acks: Option<Acks>,
}

impl ConsoleProducer {
    /// Reads the command line.
    pub fn read(words: &[String]) -> Result<ConsoleProducer, Usage> {
        let mut arguments = Arguments(words.to_vec());
        arguments.door();
        arguments.value("--broker-list");
        let topic = arguments.value("--topic").ok_or_else(|| Usage::lacks("--topic TOPIC"))?;
        let (mut has_keys, mut separator) = (false, "\t".to_owned());
        while let Some(property) = arguments.value("--property") {
            match property.split_once('=') {
                Some(("parse.key", "true")) => has_keys = true,
                Some(("key.separator", text)) if !text.is_empty() => separator = text.to_owned(),
                _ => {
                    let wanted = "parse.key=true or key.separator=:";
                    return Err(Usage::is_not(&property, wanted));
                }
            }
        }
        let acks = match arguments.value("--request-required-acks") {
            None => None,
            Some(text) => {
                let wanted = || Usage::is_not(&text, "0, 1, -1 or all");
                Some(Acks::by_name(&text).ok_or_else(wanted)?)
            }
        };
        arguments.finish()?;
        Ok(ConsoleProducer { topic: topic.into(), separator: has_keys.then_some(separator), acks })
    }

    /// The settings of its producer.
    // Source: ConsoleProducer.ConsoleProducerOptions: --timeout, --message-send-max-retries,
    // --request-timeout-ms
    pub fn settings(&self, known: &Bootstrap) -> ProducerSettings {
        let settings = ProducerSettings::new("console-producer", known.processes.clone());
        let mut settings = settings.of_release(known.release);
        settings.linger = Span::secs(1);
        settings.retries = 3;
        settings.request_timeout = Span::ms(1500);
        let acks = self.acks.unwrap_or(known.release.console_producer_acks());
        settings.enable_idempotence &= acks == Acks::All;
        settings.acks = acks;
        settings
    }

    /// The record that a line of its input is.
    pub fn record(&self, line: &str) -> Result<ToSend, String> {
        let (key, value) = match &self.separator {
            None => (None, line),
            Some(separator) => {
                let parts = line.split_once(separator.as_str());
                let none = || format!("No key separator found on line number 1: '{line}'");
                let (key, value) = parts.ok_or_else(none)?;
                (Some(Arc::from(key)), value)
            }
        };
        Ok(ToSend { topic: self.topic.clone(), partition: None, key, value: Some(value.into()) })
    }

    /// The line of input that a record was.
    pub fn line(&self, record: &ToSend) -> String {
        let value = record.value.as_deref().unwrap_or_default();
        match (&record.key, &self.separator) {
            (Some(key), Some(separator)) => format!("{key}{separator}{value}"),
            _ => value.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_record_with_a_key_where_it_is_to_have_one() {
        let read = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            ConsoleProducer::read(&words)
        };
        let plain = read("--bootstrap-server broker1:9092 --topic t").expect("it is right");
        let record = plain.record("k:v").expect("it is a record");
        assert_eq!((record.key, record.value.as_deref()), (None, Some("k:v")));
        let keyed = "--topic t --property parse.key=true --property key.separator=:";
        let keyed = read(keyed).expect("it is right");
        let record = keyed.record("k:v:w").expect("it is a record");
        assert_eq!((record.key.as_deref(), record.value.as_deref()), (Some("k"), Some("v:w")));
        assert_eq!(keyed.line(&keyed.record("k:v").expect("it is a record")), "k:v");
        let why = "No key separator found on line number 1: 'v'".to_owned();
        assert_eq!(keyed.record("v"), Err(why));
        assert!(read("--topic t --request-required-acks 2").is_err() && read("--sync").is_err());
    }
}
