//! The ways that messages take on the plate: along a session's thread, along a bus between
//! brokers, along the bus of the clients, or from server to server inside the belt.
//!
//! *Invariant:* the way back is the same way, walked backwards.

use super::plate::Plate;
use crate::picture::stage::{Age, Session, StagePicture};

/// A point of the plate.
type Point = (i32, i32);

/// Where a process stands, as far as its messages are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seat {
    /// A server, by the centre of its square.
    Server(Point),
    /// A broker, by its ring and the middle of its foot.
    Broker { ring: Point, foot: Point },
    /// A client, by the point where its wire begins.
    Client(Point),
}

/// The corners of the way from one process to another, if both stand on the plate.
pub fn route(picture: &StagePicture, plate: &Plate, from: &str, to: &str) -> Option<Vec<Point>> {
    let is_server = |name: &str| picture.servers.iter().any(|server| server.name == name);
    let (asks, answers) = (is_server(to), is_server(from));
    if let Some(string) = plate.string_of(picture, if asks { from } else { to })
        && asks != answers
    {
        return Some(if asks { string.into_iter().rev().collect() } else { string });
    }
    let (here, there) = (seat(picture, plate, from)?, seat(picture, plate, to)?);
    if let Some(way) = way(plate, here, there) {
        return Some(way);
    }
    let mut back = way(plate, there, here)?;
    back.reverse();
    Some(back)
}

fn seat(picture: &StagePicture, plate: &Plate, name: &str) -> Option<Seat> {
    let server = picture.servers.iter().position(|server| server.name == name);
    if let Some(number) = server {
        return Some(Seat::Server(plate.server_at(number, picture.servers.len())));
    }
    let broker = picture.brokers.iter().position(|broker| broker.name == name);
    if let Some(number) = broker {
        let card = plate.card_at(number, picture.brokers.len());
        let is_new = |s: &Session| s.owner == name && s.age == Age::New;
        let age = if picture.sessions.iter().any(is_new) { Age::New } else { Age::Only };
        let has_ring = picture.sessions.iter().any(|session| session.owner == name);
        // Where no session hangs, messages come to the card itself.
        let bare = (card.foot().0, card.at.1 + plate.ring);
        let ring = if has_ring { plate.ring_at(&card, age) } else { bare };
        return Some(Seat::Broker { ring, foot: card.foot() });
    }
    plate.client_top(picture, name).map(Seat::Client)
}

fn way(plate: &Plate, here: Seat, there: Seat) -> Option<Vec<Point>> {
    let (between, below) = plate.buses();
    match (here, there) {
        (Seat::Server((x, y)), Seat::Server((to, _))) => {
            let roof = y - 31;
            Some(vec![(x, y - 26), (x, roof), (to, roof), (to, y - 26)])
        }
        (Seat::Server((x, y)), Seat::Broker { ring, .. }) => {
            Some(vec![(x, y + 26), (ring.0, ring.1 - plate.ring)])
        }
        (Seat::Broker { foot: (x, y), .. }, Seat::Broker { foot: (to, _), .. }) => {
            let (x, to) = (x + 60, to + 60);
            Some(vec![(x, y), (x, between), (to, between), (to, y)])
        }
        (Seat::Client((x, y)), Seat::Broker { foot: (to, top), .. }) => {
            Some(vec![(x, y), (x, below), (to - 68, below), (to - 68, top)])
        }
        _ => None,
    }
}

/// The point so many thousandths along a way.
pub fn along(way: &[Point], thousandths: i32) -> Point {
    let length = |(a, b): (&Point, &Point)| (a.0 - b.0).abs() + (a.1 - b.1).abs();
    let legs = || way.iter().zip(way.iter().skip(1));
    let whole: i32 = legs().map(length).sum();
    let mut rest = whole * thousandths.clamp(0, 1000) / 1000;
    for (a, b) in legs() {
        let leg = length((a, b));
        if rest <= leg && leg > 0 {
            return (a.0 + (b.0 - a.0) * rest / leg, a.1 + (b.1 - a.1) * rest / leg);
        }
        rest -= leg;
    }
    way.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_walks_its_corners_in_order() {
        let way = [(0, 0), (0, 10), (100, 10), (100, 0)];
        let cases = [(0, (0, 0)), (500, (50, 10)), (1000, (100, 0))];
        for (thousandths, expected) in cases {
            assert_eq!(along(&way, thousandths), expected, "at {thousandths}");
        }
    }

    #[test]
    fn an_answer_comes_back_by_the_same_way() {
        use crate::picture::stage::{Ails, Life, Role, Server};
        use crate::text::Phrase;
        let server = |name: &str| Server {
            name: name.to_string(),
            role: Role::Following,
            life: Life::Running,
            last: Phrase::nothing(),
            ballot: None,
            ails: Ails::NOTHING,
        };
        let servers = vec![server("zk1"), server("zk2"), server("zk3")];
        let picture = StagePicture { servers, ..StagePicture::default() };
        let plate = Plate::wide(832);
        let there = route(&picture, &plate, "zk1", "zk3").expect("both stand there");
        let mut back = route(&picture, &plate, "zk3", "zk1").expect("both stand there");
        back.reverse();
        assert_eq!(there, back);
        assert_eq!(route(&picture, &plate, "zk1", "nobody"), None);
    }
}
