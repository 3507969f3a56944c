//! What a znode's value says, in a few words: what Kafka keeps there is read by `kafka::znodes`,
//! anything else is shown as it is.
//!
//! *Invariant:* words that name nothing of the page, so that they need no translation.

use crate::kafka::znodes;
use crate::zk::stat::Bytes;

/// The longest value that is shown as it is.
const LONGEST: usize = 60;

/// The words of the value at a path.
pub fn words(path: &str, data: &Bytes) -> String {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let known = match parts.as_slice() {
        ["controller"] => controller(data),
        ["brokers", "topics", _, "partitions", _, "state"] => state(data),
        ["cluster", "id"] => znodes::decode_cluster_id(data).map(|id| id.to_string()),
        ["consumers", _, "ids", _] => wanted(data),
        ["brokers", "topics", _] | ["brokers", "ids", _] => Some(String::new()),
        _ => None,
    };
    known.unwrap_or_else(|| plain(data))
}

fn controller(data: &Bytes) -> Option<String> {
    Some(format!("broker {}", znodes::ControllerZnode::decode(data)?.broker))
}

fn wanted(data: &Bytes) -> Option<String> {
    let wanted = znodes::consumers::ConsumerZnode::decode(data)?.subscription;
    let streams = wanted.iter().map(|(topic, streams)| format!("{topic}:{streams}"));
    Some(streams.collect::<Vec<_>>().join(" "))
}

fn state(data: &Bytes) -> Option<String> {
    let state = znodes::StateZnode::decode(data)?;
    let leadership = state.leadership;
    let isr: Vec<String> = leadership.isr.iter().map(ToString::to_string).collect();
    Some(format!("leader {} · isr {}", leadership.leader, isr.join(",")))
}

fn plain(data: &Bytes) -> String {
    let text = String::from_utf8_lossy(data.as_slice());
    let mut shown: String = text.chars().take(LONGEST).filter(|c| !c.is_control()).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}
