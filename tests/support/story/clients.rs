//! Clients as the stories start them: their settings, and what they say in the recordings' words.
//! *Invariant: a setting that ours does not have is an error, never left out.*

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use zootrope::kafka::assignor::Assignor;
use zootrope::kafka::consumer::words::{
    ConsumerFact, ConsumerSettings, OffsetReset, OnError, Poll,
};
use zootrope::kafka::id::{Offset, TopicPartition};
use zootrope::kafka::message::Acks;
use zootrope::kafka::old_consumer::words::{OldFact, OldSettings, Reset, Wanted};
use zootrope::kafka::producer::words::{
    Act, ProducerFact, ProducerRequest, ProducerSettings, ToSend,
};
use zootrope::kafka::release::Release;
use zootrope::sim::{ProcessId, Span};

use super::step::{Key, Send, Start, Transactional};

/// A member as `start` describes it.
pub fn consumer(
    name: &str,
    start: &Start,
    brokers: &[ProcessId],
    release: Release,
) -> Result<ConsumerSettings, String> {
    let topics: Vec<&str> = start.topics.iter().map(|(topic, _)| topic.as_str()).collect();
    let settings = ConsumerSettings::new(name, &start.group, &topics, brokers);
    let mut settings = settings.of_release(release);
    settings.session_timeout = Span::ms(6000);
    settings.heartbeat_interval = Span::ms(1000);
    settings.auto_offset_reset = OffsetReset::Earliest;
    settings.enable_auto_commit = false;
    settings.poll = if start.polls_with_duration { Poll::Duration } else { Poll::Long };
    settings.on_error = if start.ends_at_first_error { OnError::End } else { OnError::GoOn };
    for (setting, value) in &start.settings {
        set_consumer(&mut settings, setting, value)
            .ok_or_else(|| format!("a consumer's {setting}={value} is not known"))?;
    }
    Ok(settings)
}

/// A member of the old kind, as `start` describes it: it is given numbers of streams.
pub fn old_consumer(
    name: &str,
    start: &Start,
    release: Release,
) -> Result<Option<OldSettings>, String> {
    // Before there were new ones, a consumer has one stream unless something else is said.
    let streams = |(topic, count): &(String, Option<u32>)| {
        let count = count.or((!release.has_new_consumers()).then_some(1));
        let count = count.filter(|count| *count > 0)?;
        Some((topic.clone(), i32::try_from(count).ok()?))
    };
    let topics: Option<Vec<(String, i32)>> = start.topics.iter().map(streams).collect();
    let Some(topics) = topics else { return Ok(None) };
    let wanted = match topics.first().and_then(|(topic, n)| Some((topic.strip_prefix('~')?, n))) {
        Some((pattern, count)) => Wanted::Pattern(pattern.into(), *count),
        None => {
            let topics = topics.iter();
            Wanted::Topics(topics.map(|(topic, n)| (topic.as_str().into(), *n)).collect())
        }
    };
    let mut settings = OldSettings::new(&start.group, name, wanted);
    settings.zookeeper_session_timeout = Span::ms(4000);
    settings.rebalance_backoff = Span::ms(500);
    settings.auto_offset_reset = Reset::Smallest;
    settings.auto_commit_enable = false;
    for (setting, value) in &start.settings {
        settings
            .set(setting, value)
            .ok_or_else(|| format!("an old consumer's {setting}={value} is not known"))?;
    }
    Ok(Some(settings))
}

/// What a member of the old kind says, if it says something.
pub fn old_word(fact: &OldFact) -> Option<Value> {
    match fact {
        OldFact::StreamsReady { .. } => Some(json!({"ready": true})),
        OldFact::StreamRecord { partition, offset, value, stream } => {
            let value = value.0.as_deref().unwrap_or("null");
            let record = json!([partition.to_string(), offset.0, value]);
            Some(json!({"record": record, "thread": stream}))
        }
        OldFact::OffsetsWritten { .. } => Some(json!({"committed": true})),
        OldFact::ConnectorClosed { .. } => Some(json!({"closed": true})),
        OldFact::ConsumerThrew { error } => Some(json!({"thrown": error.0.as_ref()})),
        _ => None,
    }
}

fn set_consumer(settings: &mut ConsumerSettings, name: &str, value: &str) -> Option<()> {
    match name {
        "session.timeout.ms" => settings.session_timeout = ms(value)?,
        "heartbeat.interval.ms" => settings.heartbeat_interval = ms(value)?,
        "max.poll.interval.ms" => settings.max_poll_interval = ms(value)?,
        "metadata.max.age.ms" => settings.metadata_max_age = ms(value)?,
        "auto.commit.interval.ms" => settings.auto_commit_interval = ms(value)?,
        "request.timeout.ms" => settings.request_timeout = ms(value)?,
        "retry.backoff.ms" => settings.retry_backoff = ms(value)?,
        "fetch.max.wait.ms" => settings.fetch_max_wait = ms(value)?,
        "isolation.level" | "group.instance.id" => settings.set(name, value)?,
        "enable.auto.commit" => settings.enable_auto_commit = value.parse().ok()?,
        "allow.auto.create.topics" => settings.allow_auto_create_topics = value.parse().ok()?,
        "auto.offset.reset" => {
            settings.auto_offset_reset = match value {
                "earliest" => OffsetReset::Earliest,
                "latest" => OffsetReset::Latest,
                "none" => OffsetReset::None,
                _ => return None,
            }
        }
        "partition.assignment.strategy" => {
            let assignors = value.split(',').map(assignor).collect::<Option<_>>()?;
            settings.partition_assignment_strategy = assignors;
        }
        _ => return None,
    }
    Some(())
}

/// An assignor by the Java class that stands for it.
fn assignor(class: &str) -> Option<Assignor> {
    let name = match class.rsplit('.').next()? {
        "RangeAssignor" => "range",
        "RoundRobinAssignor" => "roundrobin",
        "StickyAssignor" => "sticky",
        "CooperativeStickyAssignor" => "cooperative-sticky",
        _ => return None,
    };
    Assignor::by_name(name)
}

/// The producer of a `send`.
pub fn producer(
    name: &str,
    send: &Send,
    brokers: &[ProcessId],
    release: Release,
) -> Result<ProducerSettings, String> {
    let mut settings = ProducerSettings::new(name, brokers).of_release(release);
    settings.acks = Acks::All;
    for (setting, value) in &send.settings {
        set_producer(&mut settings, setting, value)
            .ok_or_else(|| format!("a producer's {setting}={value} is not known"))?;
    }
    Ok(settings)
}

fn set_producer(settings: &mut ProducerSettings, name: &str, value: &str) -> Option<()> {
    match name {
        "acks" => {
            settings.acks = match value {
                "0" => Acks::None,
                "1" => Acks::Leader,
                "all" | "-1" => Acks::All,
                _ => return None,
            };
            if settings.acks != Acks::All {
                // Source: ProducerConfig.postProcessAndValidateIdempotenceConfigs
                settings.enable_idempotence = false;
            }
        }
        "enable.idempotence" => settings.enable_idempotence = value.parse().ok()?,
        "delivery.timeout.ms" => settings.delivery_timeout = ms(value)?,
        "request.timeout.ms" => settings.request_timeout = ms(value)?,
        "max.block.ms" => settings.max_block = ms(value)?,
        "linger.ms" => settings.linger = ms(value)?,
        "retries" => settings.retries = value.parse().ok()?,
        "retry.backoff.ms" => settings.retry_backoff = ms(value)?,
        "metadata.max.age.ms" => settings.metadata_max_age = ms(value)?,
        "batch.size" => settings.batch_size = value.parse().ok()?,
        "max.in.flight.requests.per.connection" => {
            settings.max_in_flight_requests_per_connection = value.parse().ok()?;
        }
        _ => return None,
    }
    Some(())
}

/// A transactional producer.
pub fn transactional(name: &str, id: &str, brokers: &[ProcessId]) -> ProducerSettings {
    let mut settings = ProducerSettings::new(name, brokers);
    settings.transactional_id = Some(id.into());
    settings
}

/// What a producer is to do, and how the recordings say that.
pub fn act(act: &Transactional) -> (ProducerRequest, String) {
    let act_of = ProducerRequest::Transact;
    match act {
        Transactional::Init => (act_of(Act::Init), "init".into()),
        Transactional::Begin => (act_of(Act::Begin), "begin".into()),
        Transactional::Commit => (act_of(Act::Commit), "commit".into()),
        Transactional::Abort => (act_of(Act::Abort), "abort".into()),
        Transactional::Send { topic, key, value } => {
            let (key, value) = (Some(key.as_str().into()), Some(value.as_str().into()));
            let said = format!("send {topic} {} {}", shown(&key), shown(&value));
            let topic = topic.as_str().into();
            (ProducerRequest::Send(ToSend { topic, partition: None, key, value }), said)
        }
        Transactional::Offsets { group, topic, partition, offset } => {
            let said = format!("offsets {group} {topic} {partition} {offset}");
            let partition = TopicPartition::new(topic.as_str(), *partition);
            let (group, offset) = (group.as_str().into(), Offset(*offset));
            (act_of(Act::Offsets { group, partition, offset }), said)
        }
    }
}

fn shown(text: &Option<Arc<str>>) -> &str {
    text.as_deref().unwrap_or("null")
}

/// What a transactional producer says of the act that has come to its end, if this is the end.
pub fn done(did: &str, fact: &ProducerFact) -> Option<Value> {
    match fact {
        ProducerFact::RecordAcked { partition, offset, .. } => {
            Some(json!({"did": did, "at": [partition.to_string(), offset.0]}))
        }
        ProducerFact::TransactionDone { .. } => Some(json!({"did": did})),
        ProducerFact::RecordFailed { error, .. }
        | ProducerFact::TransactionFailed { error, .. } => {
            Some(json!({"did": did, "error": error}))
        }
        _ => None,
    }
}

/// The record of a `send` with this number.
pub fn record(send: &Send, number: u32) -> ToSend {
    let key = match &send.key {
        Key::Numbered => Some(format!("k{number}")),
        Key::Null => None,
        Key::Fixed(key) => Some(key.clone()),
    };
    ToSend {
        topic: send.topic.as_str().into(),
        partition: send.partition,
        key: key.map(Into::into),
        value: Some(format!("v{number}").into()),
    }
}

/// What became of a sent record, if that is what a producer tells.
pub fn outcome(fact: &ProducerFact) -> Option<Value> {
    match fact {
        ProducerFact::RecordAcked { partition, offset, value, .. } => Some(json!({
            "sent": value.0.as_deref(),
            "partition": partition.partition,
            "offset": offset.0,
        })),
        ProducerFact::RecordFailed { value, error, .. } => {
            Some(json!({"failed": value.0.as_deref(), "error": error}))
        }
        _ => None,
    }
}

/// What a member says, if it says something.
pub fn word(fact: &ConsumerFact) -> Option<Value> {
    match fact {
        ConsumerFact::PartitionsAssigned { partitions, now } => {
            Some(json!({"assigned": names(&partitions.0), "now": names(&now.0)}))
        }
        ConsumerFact::PartitionsRevoked { partitions } => {
            Some(json!({"revoked": names(&partitions.0)}))
        }
        ConsumerFact::PartitionsLost { partitions } => Some(json!({"lost": names(&partitions.0)})),
        ConsumerFact::RecordRead { partition, offset, key, value } => {
            let name = partition.to_string();
            let [key, value] = [key, value].map(|text| text.0.as_deref().unwrap_or("null"));
            Some(json!({"record": [name, offset.0, key, value]}))
        }
        ConsumerFact::CommitDone { .. } => Some(json!({"committed": true})),
        ConsumerFact::ConsumerClosed { .. } => Some(json!({"closed": true})),
        ConsumerFact::ConsumerError { error } => Some(json!({"error": error})),
        _ => None,
    }
}

fn names(partitions: &[TopicPartition]) -> Vec<String> {
    let mut sorted = partitions.to_vec();
    sorted.sort();
    sorted.iter().map(TopicPartition::to_string).collect()
}

/// One member's words as the recordings tell them: records that come in a row by partition and
/// offset, an error that comes again once, and at last what its log shows to have been thrown.
pub fn told(words: &[Value]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let mut run = 0;
    let is_thrown = |word: &&Value| word.get("thrown").is_some();
    let thrown: BTreeSet<String> = words
        .iter()
        .filter(is_thrown)
        .filter_map(|word| Some(word["thrown"].as_str()?.into()))
        .collect();
    for word in words.iter().filter(|word| !is_thrown(word)) {
        if word.get("error").is_some()
            && let Some(last) = out.last_mut()
            && last["error"] == word["error"]
        {
            last["again"] = json!(true);
            continue;
        }
        out.push(word.clone());
        if word.get("record").is_none() {
            run = out.len();
            continue;
        }
        let place = |word: &Value| {
            let record = &word["record"];
            let (topic, number) =
                record[0].as_str().and_then(|n| n.rsplit_once('-')).unwrap_or(("", ""));
            (topic.to_owned(), number.parse::<i32>().unwrap_or(0), record[1].as_i64())
        };
        out[run..].sort_by_key(place);
    }
    out.extend(thrown.into_iter().map(|text| json!({"thrown": text})));
    out
}

fn ms(value: &str) -> Option<Span> {
    value.parse().ok().map(Span::ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_in_a_row_are_told_in_order_and_an_error_once() {
        let record =
            |partition: &str, offset: i64| json!({"record": [partition, offset, "k", "v"]});
        let error = json!({"error": "X"});
        let words = [
            record("t-1", 1),
            record("t-0", 0),
            json!({"revoked": []}),
            record("t-10", 0),
            record("t-2", 0),
            error.clone(),
            error,
        ];
        let expected = json!([
            ["t-0", 0, "k", "v"],
            ["t-1", 1, "k", "v"],
            null,
            ["t-2", 0, "k", "v"],
            ["t-10", 0, "k", "v"],
            null
        ]);
        let told = told(&words);
        let records: Vec<Value> = told.iter().map(|word| word["record"].clone()).collect();
        assert_eq!(json!(records), expected);
        assert_eq!(told.last(), Some(&json!({"error": "X", "again": true})));
    }
}
