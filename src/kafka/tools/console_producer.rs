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
use crate::kafka::producer::words::{Delivery, ProducerSettings, ToSend};
use crate::kafka::release::Release;
use crate::sim::Span;

/// Its name.
pub const NAME: &str = "kafka-console-producer";

/// Settings by their names.
type Pairs = Vec<(Arc<str>, Arc<str>)>;

/// What it is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsoleProducer {
    /// Where records go.
    pub topic: TopicName,
    /// What stands between a key and a value, if lines have keys.
    separator: Option<String>,
    acks: Option<Acks>,
    /// Settings of its producer, by their names.
    settings: Pairs,
}

/// Options that set something of the producer.
// Source: ConsoleProducer.ConsoleProducerOptions, producerProps
const OPTIONS: &[(&str, &str)] = &[
    ("--timeout", "linger.ms"),
    ("--batch-size", "batch.size"),
    ("--message-send-max-retries", "retries"),
    ("--retry-backoff-ms", "retry.backoff.ms"),
    ("--request-timeout-ms", "request.timeout.ms"),
    ("--max-block-ms", "max.block.ms"),
];

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
        let settings = settings(&mut arguments)?;
        arguments.finish()?;
        let separator = has_keys.then_some(separator);
        Ok(ConsoleProducer { topic: topic.into(), separator, acks, settings })
    }

    /// What it prints if it does not know how it is to reach the brokers.
    // Source: KAFKA-9320 (--bootstrap-server, 2.5)
    pub fn refused(words: &[String], release: Release) -> Option<String> {
        let is_new = words.iter().any(|word| word == "--bootstrap-server");
        let said = "bootstrap-server is not a recognized option\n";
        (is_new && !release.console_producer_knows_bootstrap_server()).then(|| said.to_owned())
    }

    /// The settings of its producer.
    // Source: ConsoleProducer.ConsoleProducerOptions: --timeout, --message-send-max-retries,
    // --request-timeout-ms
    pub fn settings(&self, known: &Bootstrap) -> Result<ProducerSettings, &'static str> {
        let settings = ProducerSettings::new("console-producer", known.processes.clone());
        let mut settings = settings.of_release(known.release);
        settings.linger = Span::secs(1);
        settings.retries = 3;
        settings.request_timeout = Span::ms(1500);
        let acks = self.acks.unwrap_or(known.release.console_producer_acks());
        settings.enable_idempotence &= acks == Acks::All;
        settings.acks = acks;
        for (name, value) in &self.settings {
            settings.set(name, value).expect("checked when it was read");
        }
        settings.settle_delivery(Delivery::among(&self.settings))?;
        Ok(settings)
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

/// What of its producer's settings a command line changes; the last word goes before all.
fn settings(arguments: &mut Arguments) -> Result<Pairs, Usage> {
    let mut settings = Pairs::new();
    if arguments.switch("--sync") {
        settings.push(("linger.ms".into(), "0".into()));
    }
    for (option, name) in OPTIONS {
        if let Some(value) = arguments.value(option) {
            settings.push(((*name).into(), value.into()));
        }
    }
    while let Some(property) = arguments.value("--producer-property") {
        let pair = property.split_once('=');
        let wanted = || Usage::is_not(&property, "a setting like linger.ms=5");
        let (name, value) = pair.ok_or_else(wanted)?;
        settings.push((name.into(), value.into()));
    }
    let mut scratch = ProducerSettings::new("", Arc::from([]));
    for (name, value) in &settings {
        let wanted = || Usage::is_not(value, &format!("{name} as a producer here has it"));
        scratch.set(name, value).ok_or_else(wanted)?;
    }
    Ok(settings)
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
        let set = read("--topic t --timeout 5 --producer-property acks=1").expect("it is right");
        let settings = set.settings(&Bootstrap::nowhere()).expect("they go together");
        assert_eq!((settings.linger, settings.acks), (Span::ms(5), Acks::Leader));
        assert!(read("--topic t --producer-property acks=9").is_err());
    }
}
