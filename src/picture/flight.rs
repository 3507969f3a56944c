//! Messages in flight: who sends what to whom, and when it left and lands.
//!
//! They are read from the queue, which is the network. *Invariant:* a letter says what a message
//! is, its fill whether it asks or answers; nothing here says where on a screen it is.

use crate::cluster::Cluster;
use crate::kafka::words::{Message, Words};
use crate::sim::{Flight, Landing, Vocabulary};
use crate::zk::words::{Message as ZkMessage, xid};

/// Whether a message asks or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// It asks, or tells.
    Request,
    /// It answers.
    Response,
}

/// Whose protocol a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ink {
    /// ZooKeeper's.
    Ensemble,
    /// Kafka's.
    Data,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moving {
    /// Its event's number.
    pub id: u64,
    /// Who sent it.
    pub from: String,
    /// To whom.
    pub to: String,
    /// Its letter.
    pub letter: char,
    /// Whether it asks or answers.
    pub way: Way,
    /// Whose protocol it belongs to.
    pub ink: Ink,
    /// When it left, in microseconds.
    pub sent_at: u64,
    /// When it lands; none if it is held.
    pub lands_at: Option<u64>,
}

/// Everything that is on its way.
pub fn flights(cluster: &Cluster) -> Vec<Moving> {
    cluster.flights().map(|flight| moving(cluster, &flight)).collect()
}

fn moving(cluster: &Cluster, flight: &Flight<'_, Message>) -> Moving {
    let (letter, way, ink) = drawn(flight.message);
    Moving {
        id: flight.id.0,
        from: cluster.name(flight.from).to_string(),
        to: cluster.name(flight.to).to_string(),
        letter,
        way,
        ink,
        sent_at: flight.sent_at.as_micros(),
        lands_at: match flight.landing {
            Landing::At(at) => Some(at.as_micros()),
            Landing::Held => None,
        },
    }
}

fn drawn(message: &Message) -> (char, Way, Ink) {
    let name = Words::message_name(message);
    match message {
        Message::Zk(ZkMessage::Reply(reply)) if reply.xid == xid::PING => {
            ('H', Way::Response, Ink::Ensemble)
        }
        Message::Zk(ZkMessage::Reply(_)) => ('R', Way::Response, Ink::Ensemble),
        Message::Zk(ZkMessage::ConnectReply(_)) => ('C', Way::Response, Ink::Ensemble),
        Message::Zk(ZkMessage::Access(_)) => ('I', Way::Response, Ink::Ensemble),
        Message::Zk(ZkMessage::Said(_)) => ('R', Way::Response, Ink::Ensemble),
        Message::Zk(_) => (letter(name), Way::Request, Ink::Ensemble),
        Message::Request(_) => (letter(name), Way::Request, Ink::Data),
        Message::Response(_) => (letter(name), Way::Response, Ink::Data),
    }
}

/// The letter of a message: of its name, except where another is the custom or is taken.
fn letter(name: &str) -> char {
    match name {
        "ping" | "pong" | "leader-ping" | "Heartbeat" => 'H',
        "notification" => 'V',
        "watch-event" => 'W',
        name => name.chars().next().unwrap_or('?').to_ascii_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn customary_letters_are_kept() {
        let cases = [("ping", 'H'), ("notification", 'V'), ("create", 'C'), ("Fetch", 'F')];
        for (name, expected) in cases {
            assert_eq!(letter(name), expected, "{name}");
        }
    }
}
