//! What old consumers keep in ZooKeeper, below `/consumers`.
//!
//! *Invariant: `decode(encode(x))` is `x`.*
// Source: kafka.utils.ZKGroupDirs, ZKGroupTopicDirs, kafka.consumer.TopicCount (0.8.2)

use std::sync::Arc;

use super::{json, parsed, quoted};
use crate::kafka::id::{GroupId, Offset, TopicPartition};
use crate::sim::OrdMap;
use crate::zk::path::Path;
use crate::zk::stat::Bytes;
use crate::zk::tree::Tree;

/// Its children are the groups.
pub fn groups() -> Path {
    Path::new("/consumers")
}

/// A group.
pub fn group(group: &GroupId) -> Path {
    groups().child(group.as_str())
}

/// Its children are the topics of which a group owns partitions, or did.
pub fn owners(group: &GroupId) -> Path {
    self::group(group).child("owners")
}

/// Its children are the topics of which a group has offsets.
pub fn offsets(group: &GroupId) -> Path {
    self::group(group).child("offsets")
}

/// Its children are the members of a group.
pub fn consumer_ids(group: &GroupId) -> Path {
    Path::new(&format!("/consumers/{group}/ids"))
}

/// Who owns a partition in a group.
pub fn owner(group: &GroupId, tp: &TopicPartition) -> Path {
    Path::new(&format!("/consumers/{group}/owners/{}/{}", tp.topic, tp.name()))
}

/// How far a group is in a partition.
pub fn group_offset(group: &GroupId, tp: &TopicPartition) -> Path {
    Path::new(&format!("/consumers/{group}/offsets/{}/{}", tp.topic, tp.name()))
}

/// Whether an offset of a group is at that path.
pub fn is_group_offset(path: &Path) -> bool {
    path.as_str().starts_with("/consumers/") && path.as_str().split('/').nth(3) == Some("offsets")
}

/// An offset as it is written.
pub fn encode_offset(offset: Offset) -> Bytes {
    json(offset.to_string())
}

/// What somebody wrote there, if it can be read.
pub fn decode_offset(data: &Bytes) -> Option<Offset> {
    Some(Offset(std::str::from_utf8(data.as_slice()).ok()?.parse().ok()?))
}

/// What ZooKeeper keeps of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptGroup {
    /// The members that are registered, by their ids, and what they want.
    pub members: Vec<(Arc<str>, Option<ConsumerZnode>)>,
    /// The thread that owns each partition.
    pub owners: OrdMap<TopicPartition, Arc<str>>,
    /// How far the group is.
    pub offsets: OrdMap<TopicPartition, Offset>,
}

impl KeptGroup {
    /// What a tree has of this group.
    pub fn of(tree: &Tree, group: &GroupId) -> KeptGroup {
        let text = |data: &Bytes| Arc::from(&*data.to_text());
        let mut kept = KeptGroup::default();
        let top = Path::new(&format!("/consumers/{group}"));
        let ids = consumer_ids(group);
        for id in tree.znode(&ids).iter().flat_map(|ids| ids.children.iter()) {
            let znode =
                tree.znode(&ids.child(id)).and_then(|znode| ConsumerZnode::decode(&znode.data));
            kept.members.push((id.clone(), znode));
        }
        for (tp, data) in partitions(tree, &top.child("owners")) {
            kept.owners.insert(tp, text(data));
        }
        for (tp, data) in partitions(tree, &top.child("offsets")) {
            kept.offsets.extend(decode_offset(data).map(|offset| (tp, offset)));
        }
        kept
    }
}

/// The znodes of partitions below the one of something.
fn partitions<'a>(tree: &'a Tree, top: &Path) -> Vec<(TopicPartition, &'a Bytes)> {
    let mut found = Vec::new();
    for topic in tree.znode(top).iter().flat_map(|top| top.children.iter()) {
        let below = top.child(topic);
        for number in tree.znode(&below).iter().flat_map(|topic| topic.children.iter()) {
            let znode = tree.znode(&below.child(number));
            if let Some((znode, tp)) = znode.zip(TopicPartition::named(&**topic, number)) {
                found.push((tp, &znode.data));
            }
        }
    }
    found
}

/// A member of a group: `/consumers/G/ids/C`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsumerZnode {
    /// The number of streams for each topic, or for the one pattern.
    pub subscription: OrdMap<Arc<str>, i32>,
    /// Whether it is a pattern.
    pub is_pattern: bool,
    /// When it registered, in milliseconds.
    pub timestamp: u64,
}

impl ConsumerZnode {
    /// As it was written first.
    // Source: kafka.consumer.StaticTopicCount.dbString, WildcardTopicCount.dbString (0.7.2)
    pub fn encode_plain(&self) -> Bytes {
        if self.is_pattern {
            let one = |(pattern, streams): (&Arc<str>, &i32)| format!("*{streams}*{pattern}");
            let pattern: Vec<String> = self.subscription.iter().map(one).collect();
            return json(pattern.join(""));
        }
        let one = |(topic, streams): (&Arc<str>, &i32)| format!("{}: {streams}", quoted(topic));
        let topics: Vec<String> = self.subscription.iter().map(one).collect();
        json(format!("{{ {} }}", topics.join(", ")))
    }

    fn decode_plain(text: &str) -> Option<ConsumerZnode> {
        let (streams, pattern) = text.strip_prefix('*')?.split_once('*')?;
        let subscription = [(pattern.into(), streams.parse().ok()?)].into_iter().collect();
        Some(ConsumerZnode { subscription, is_pattern: true, timestamp: 0 })
    }

    /// As it is written.
    pub fn encode(&self) -> Bytes {
        let one = |(topic, streams): (&Arc<str>, &i32)| format!("{}:{streams}", quoted(topic));
        let subscription: Vec<String> = self.subscription.iter().map(one).collect();
        let pattern = if self.is_pattern { "white_list" } else { "static" };
        json(format!(
            r#"{{"version":1,"subscription":{{{}}},"pattern":"{pattern}","timestamp":"{}"}}"#,
            subscription.join(","),
            self.timestamp
        ))
    }

    /// What somebody wrote, if it can be read.
    pub fn decode(data: &Bytes) -> Option<ConsumerZnode> {
        let Some(value) = parsed(data) else {
            return ConsumerZnode::decode_plain(std::str::from_utf8(data.as_slice()).ok()?);
        };
        let mut subscription = OrdMap::new();
        let plain = value.get("subscription").is_none();
        for (topic, streams) in value.get("subscription").unwrap_or(&value).as_object()? {
            subscription.insert(topic.as_str().into(), super::number(streams)?);
        }
        if plain {
            return Some(ConsumerZnode { subscription, is_pattern: false, timestamp: 0 });
        }
        Some(ConsumerZnode {
            subscription,
            is_pattern: value.get("pattern")?.as_str()? != "static",
            timestamp: value.get("timestamp")?.as_str()?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_is_read_as_it_was_written() {
        let subscription = [("orders".into(), 2), ("payments".into(), 1)].into_iter().collect();
        let znode = ConsumerZnode { subscription, is_pattern: false, timestamp: 7 };
        assert_eq!(ConsumerZnode::decode(&znode.encode()), Some(znode.clone()));
        let plain = znode.encode_plain();
        assert_eq!(plain.as_slice(), br#"{ "orders": 2, "payments": 1 }"#);
        assert_eq!(ConsumerZnode::decode(&plain), Some(ConsumerZnode { timestamp: 0, ..znode }));
        let subscription = [("ord.*".into(), 2)].into_iter().collect();
        let pattern = ConsumerZnode { subscription, is_pattern: true, timestamp: 0 };
        assert_eq!(pattern.encode_plain().as_slice(), b"*2*ord.*");
        assert_eq!(ConsumerZnode::decode(&pattern.encode_plain()), Some(pattern));
    }
}
