//! What differs from run to run in what tools print, masked as the recordings have it.
//! Not here: znodes' payloads, of which the judge knows what to compare.
//! *Invariant: masks replace what a field holds, and no field is masked that a rule decides.*

use std::collections::BTreeMap;

/// How much higher our brokers' ports are: the recorded columns were laid out with five digits.
pub const PORT_SHIFT: u16 = 10_000;

/// What has been seen so far.
#[derive(Default)]
pub struct Mask {
    topic_ids: BTreeMap<String, usize>,
}

impl Mask {
    /// Learns the ids of topics in the order in which these were made.
    pub fn learn(&mut self, payload: &str) {
        let Some((_, rest)) = payload.split_once("\"topic_id\":\"") else { return };
        let Some((id, _)) = rest.split_once('"') else { return };
        let next = self.topic_ids.len() + 1;
        self.topic_ids.entry(id.to_owned()).or_insert(next);
    }

    /// A tool's text.
    pub fn text(&self, text: &str) -> String {
        let mut text = ports(text);
        for (id, number) in &self.topic_ids {
            text = text.replace(id, &format!("<topic-id-{number}>"));
        }
        FIELDS.iter().fold(uuids(&text), |text, (before, mask)| field(&text, before, mask))
    }
}

/// What stands before a number that differs from run to run, and its mask.
const FIELDS: &[(&str, &str)] = &[
    ("CreateTime: ", "<ms>"),
    ("\"currentStateTimestamp\":", "<ms>"),
    ("\"commitTimestamp\":", "<ms>"),
    ("txnLastUpdateTimestamp=", "<ms>"),
    ("deadlineMs=", "<ms>"),
    ("nextAllowedTryMs=", "<ms>"),
    ("timed out at ", "<ms>"),
    ("crc: ", "<crc>"),
    ("tries=", "<n>"),
    ("correlation id ", "<n>"),
    (" after ", "<n>"),
    ("producerId: ", "<id>"),
];

/// The number behind `before`, masked.
fn field(text: &str, before: &str, mask: &str) -> String {
    let mut parts = text.split(before);
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(before);
        out.push_str(if digits > 0 { mask } else { "" });
        out.push_str(&part[digits..]);
    }
    out
}

/// Brokers listen on 9090 + id; while columns are laid out, on 19090 + id.
pub fn ports(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(place) = rest.find(":190") {
        let digits = rest[place + 1..].bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(&rest[..=place]);
        let number = &rest[place + 1..place + 1 + digits];
        match number.parse::<u16>() {
            Ok(port) if digits == 5 => out.push_str(&(port - PORT_SHIFT).to_string()),
            _ => out.push_str(number),
        }
        rest = &rest[place + 1 + digits..];
    }
    out + rest
}

/// `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` becomes `<uuid>`.
fn uuids(text: &str) -> String {
    const LENGTH: usize = 36;
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].len() >= LENGTH && is_uuid(&bytes[at..at + LENGTH]) {
            out.extend_from_slice(b"<uuid>");
            at += LENGTH;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).expect("only ASCII was replaced")
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_lose_a_digit_and_uuids_their_value() {
        assert_eq!(ports("127.0.0.1:19092  (2)"), "127.0.0.1:9092  (2)");
        assert_eq!(ports("\"port\":19091,"), "\"port\":9091,");
        let text = "c1-01234567-89ab-cdef-0123-456789abcdef /127.0.0.1";
        assert_eq!(uuids(text), "c1-<uuid> /127.0.0.1");
    }

    #[test]
    fn topic_ids_are_numbered_as_they_were_made() {
        let mut mask = Mask::default();
        mask.learn("{\"topic_id\":\"zzz\"}");
        mask.learn("{\"topic_id\":\"aaa\"}");
        assert_eq!(mask.text("TopicId: aaa"), "TopicId: <topic-id-2>");
    }
}
