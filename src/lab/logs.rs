//! The logs: what the processes would have written, in the wording of real ones, line by line
//! beside the event that each belongs to.
//!
//! Not here: the words themselves (`text::log`), and how a page shows them. *Invariant:* a line is
//! made of a fact and of what was told before it; what the model does not know is left out (`…`),
//! never made up.

use super::Lab;
use crate::cluster::{Cluster, Record, Trace};
use crate::kafka::release::Release;
use crate::sim::{SimTime, Telling};
use crate::text::Piece;
use crate::text::log::Wording;

/// How many lines are kept in view.
const KEPT: usize = 200;
/// How many records are looked through for them.
const REACH: usize = 100_000;
/// How far back what was so before a fact is looked for.
const BEFORE: usize = 20_000;

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The event that it belongs to.
    pub event: u64,
    /// Whose log it stands in.
    pub process: String,
    /// When it was written, as log4j writes it.
    pub time: String,
    /// `INFO`, `WARN` and the like.
    pub level: String,
    /// What was written, the logger in brackets behind it.
    pub words: String,
}

/// What of the logs is to be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only the log of this process.
    pub process: Option<String>,
    /// Only lines that have this in them, in small letters or large.
    pub words: String,
}

/// The last lines that are wanted, the oldest first.
pub fn logs(lab: &Lab, wanted: &Wanted) -> Vec<LogLine> {
    let writer = Writer::of(lab);
    let end = lab.position();
    let words = wanted.words.to_lowercase();
    let only = wanted.process.as_deref().map(|name| writer.cluster.find(name));
    let mut found: Vec<LogLine> = Vec::new();
    for index in (end.saturating_sub(REACH)..end).rev() {
        let Some(record) = writer.trace.get(index) else { break };
        if only.is_some_and(|only| only != record.process) {
            continue;
        }
        let lines = writer.written(&record, index).into_iter().rev();
        found.extend(lines.filter(|line| line.has(&words)));
        if found.len() >= KEPT {
            break;
        }
    }
    found.reverse();
    found
}

/// The lines that go with one event.
pub fn of_event(lab: &Lab, event: u64) -> Vec<LogLine> {
    let writer = Writer::of(lab);
    let Some(index) = writer.trace.find(crate::sim::EventId(event)) else { return Vec::new() };
    writer.trace.get(index).map_or(Vec::new(), |record| writer.written(&record, index))
}

impl LogLine {
    fn has(&self, words: &str) -> bool {
        words.is_empty()
            || [&self.words, &self.level, &self.process]
                .iter()
                .any(|part| part.to_lowercase().contains(words))
    }
}

/// The fields of a fact in notation.
type Fields = [(&'static str, String)];

struct Writer<'a> {
    cluster: &'a Cluster,
    trace: &'a Trace,
    wording: Wording,
}

impl<'a> Writer<'a> {
    fn of(lab: &'a Lab) -> Writer<'a> {
        let last = lab.setup().release;
        let releases = Release::ALL.iter().filter(|release| **release <= last);
        let wording = Wording::after(releases.map(|release| release.name()));
        Writer { cluster: lab.cluster(), trace: lab.trace(), wording }
    }

    fn written(&self, record: &Record<'_>, index: usize) -> Vec<LogLine> {
        let Some(process) = record.process else { return Vec::new() };
        let mut lines = Vec::new();
        for fact in record.facts() {
            let fields = fact.fields();
            for pieces in self.wording.of(fact.key(), &fields) {
                let who = self.cluster.name(process).to_string();
                let line = self.filled(&pieces, &fields, &who, index);
                let (level, words) = line.split_once(' ').unwrap_or(("", &line));
                lines.push(LogLine {
                    event: record.id.0,
                    process: who,
                    time: clock(record.at),
                    level: level.to_string(),
                    words: words.to_string(),
                });
            }
        }
        lines
    }

    fn filled(&self, pieces: &[Piece<'_>], fields: &Fields, who: &str, index: usize) -> String {
        let value = |name: &str| {
            let found = fields.iter().find(|(field, _)| *field == name);
            found.map(|(_, value)| if value == "-" { String::new() } else { value.clone() })
        };
        let mut line = String::new();
        for piece in pieces {
            let name = match piece {
                Piece::Plain(words) => {
                    line.push_str(words);
                    continue;
                }
                Piece::Field(name) => *name,
            };
            let of = |mark| name.strip_suffix(mark).and_then(value);
            let words = match name {
                "who" => Some(who.to_string()),
                "id" => Some(number(who).to_string()),
                "[partition]" => value("partition").map(|name| bracketed(&name)),
                "from" if value("from").is_none() => {
                    value("partition").and_then(|of| self.isr_before(&of, index))
                }
                _ => of('#').map(|value| number(&value).to_string()).or_else(|| {
                    of('%')
                        .map(|value| decimal(&value))
                        .or_else(|| of(',').map(|value| value.replace(',', ", ")))
                        .or_else(|| of('-').map(|value| topic(&value).to_string()))
                        .or_else(|| value(name))
                }),
            };
            line.push_str(words.as_deref().unwrap_or("…"));
        }
        line
    }

    /// The ISR of a partition as it was told last before a record.
    fn isr_before(&self, partition: &str, index: usize) -> Option<String> {
        let told = (index.saturating_sub(BEFORE)..index).rev();
        let records = told.filter_map(|index| self.trace.get(index));
        records.flat_map(|record| record.facts()).find_map(|fact| {
            let key = fact.key();
            if !matches!(key, "isr-shrunk" | "isr-expanded" | "leader-elected" | "became-leader") {
                return None;
            }
            let fields = fact.fields();
            let value = |name| fields.iter().find(|(field, _)| *field == name);
            value("partition").filter(|(_, of)| of == partition)?;
            value("isr").map(|(_, isr)| isr.clone())
        })
    }
}

/// The number at the end of a name: `broker12` is 12, `orders-3` is 3.
fn number(name: &str) -> &str {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    &name[name.len() - digits..]
}

/// The topic of a partition: `my-orders-3` is of `my-orders`.
fn topic(partition: &str) -> &str {
    partition.rsplit_once('-').map_or(partition, |(topic, _)| topic)
}

/// A session as Kafka wrote it up to 2.8, in decimal digits: `0x10` is 16.
fn decimal(session: &str) -> String {
    let digits = session.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
    digits.and_then(Result::ok).map_or(session.to_string(), |number| number.to_string())
}

/// A partition as Kafka wrote it up to 0.10: `[orders,3]`.
fn bracketed(partition: &str) -> String {
    partition
        .rsplit_once('-')
        .map_or(partition.into(), |(topic, number)| format!("[{topic},{number}]"))
}

/// A moment as log4j writes it; a run begins at midnight.
// Source: config/log4j.properties, ConversionPattern=[%d] %p %m (%c)%n
fn clock(at: SimTime) -> String {
    let ms = at.as_ms();
    let (s, ms) = (ms / 1000, ms % 1000);
    format!("[{:02}:{:02}:{:02},{ms:03}]", s / 3600 % 24, s / 60 % 60, s % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Recording;
    use crate::sim::Span;

    fn after(setup: &str, wanted: &Wanted) -> Vec<String> {
        let recording = Recording::parse(&format!("# zootrope 1\n{setup}"));
        let mut lab = Lab::new(recording.expect("it is written rightly"));
        lab.advance_to(SimTime::ZERO + Span::secs(60));
        let written = logs(&lab, wanted);
        written.into_iter().map(|l| format!("{} {} {}", l.process, l.level, l.words)).collect()
    }

    const KILLED: &str = "setup seed=1 zookeeper=3 brokers=3\n\
        at 6s topic orders partitions=1 replicas=3\nat 12s kill broker3\n";

    #[test]
    fn an_isr_shrinks_from_what_it_was() {
        let wanted = Wanted { words: "shrinking isr".into(), ..Wanted::default() };
        let lines = after(KILLED, &wanted);
        let shrunk = lines.iter().all(|line| line.contains("Shrinking ISR from 1,2,3 to 1,2"));
        assert!(shrunk, "{lines:?}");
    }

    #[test]
    fn the_log_of_one_process_is_its_own() {
        let wanted = Wanted { process: Some("broker1".into()), ..Wanted::default() };
        let lines = after(KILLED, &wanted);
        assert!(lines.iter().all(|line| line.starts_with("broker1 ")), "{lines:?}");
        let has = |words: &str| lines.iter().any(|line| line.contains(words));
        assert!(has("INFO Registered broker 1 at path /brokers/ids/1"), "{lines:?}");
        assert!(has("INFO [KafkaServer id=1] started (kafka.server.KafkaServer)"), "{lines:?}");
    }

    #[test]
    fn the_words_are_those_of_the_release() {
        let wanted = Wanted { words: "newly added".into(), ..Wanted::default() };
        let old = KILLED.replace("setup", "setup release=0.8.2.2");
        let lines = after(&old, &wanted);
        let last = lines.last().expect("a broker died");
        assert!(last.contains("deleted brokers: 3, all live brokers: 1,2"), "{last}");
        let lines = after(KILLED, &wanted);
        let last = lines.last().expect("a broker died");
        assert!(last.contains("deleted brokers: 3, bounced brokers: , all live"), "{last}");
    }

    #[test]
    fn there_is_a_fact_behind_every_line() {
        use crate::kafka::consumer::words::ConsumerFact;
        use crate::kafka::producer::words::ProducerFact;
        use crate::kafka::{group::GroupFact, old_consumer::words::OldFact, words::BrokerFact};
        let all = [
            crate::sim::KernelFact::KEYS,
            crate::zk::words::Fact::KEYS,
            BrokerFact::KEYS,
            GroupFact::KEYS,
            ConsumerFact::KEYS,
            ProducerFact::KEYS,
            OldFact::KEYS,
        ];
        for [fact, field, release] in Wording::keys() {
            let fact = fact.expect("a line has a key");
            let fields = all.concat().into_iter().find(|(key, _)| *key == fact);
            let (_, fields) = fields.unwrap_or_else(|| panic!("no fact {fact}"));
            assert!(field.is_none_or(|field| fields.contains(&field)), "{fact}: no {field:?}");
            let is_known = |release| Release::ALL.iter().any(|known| known.name() == release);
            assert!(release.is_none_or(is_known), "{fact} from {release:?}");
        }
    }

    #[test]
    fn names_end_in_numbers() {
        for (name, expected) in [("broker12", "12"), ("zk1", "1"), ("orders-3", "3"), ("p", "")] {
            assert_eq!(number(name), expected);
        }
        assert_eq!(decimal("0x1f"), "31");
        assert_eq!(bracketed("my-orders-3"), "[my-orders,3]");
        assert_eq!(clock(SimTime::ZERO + Span::ms(3_723_004)), "[01:02:03,004]");
    }
}
