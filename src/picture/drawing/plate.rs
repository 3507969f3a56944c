//! Where things stand: the wide plate, the large one of the projector, the tall one of a phone.
//!
//! ZooKeeper stands above, Kafka below: registration goes up, notification comes down.
//! *Invariant:* a place depends on the plate and on how many things there are, on nothing else.

use crate::picture::shape::Drawing;
use crate::picture::stage::{
    Age, Broker, Group, Producer, Replica, Server, Session, Shell, StagePicture, Thread,
};
use crate::picture::target::Target;
use crate::text::Phrase;

use super::broker::{self, Card};
use super::client::{self, Frame};
use super::{Light, Part, server, session, strip};

/// A plate: its size and the seats on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plate {
    /// Width and height of the drawing.
    pub size: (i32, i32),
    /// Whether words that matter less are there.
    pub minor: bool,
    /// Whether a server's words stand beside it.
    pub server_words: bool,
    /// Whether this is the tall plate.
    pub phone: bool,
    /// The radius of a session's ring.
    pub ring: i32,
    /// How many strips a card shows.
    pub strips: usize,
    /// Where the matrix begins in a group's frame.
    pub group_head: i32,
    margin: i32,
    ensemble: i32,
    belt: (i32, i32),
    servers: (i32, i32),
    sessions: i32,
    brokers: i32,
    card: (i32, i32),
    wires: (i32, i32),
    /// The height at which the rings of clients' sessions stand; 0 if there are none.
    strings: i32,
    clients: i32,
    client_height: i32,
}

impl Plate {
    /// The plate of a wide screen; a wider screen widens it.
    pub fn wide(width: i32) -> Plate {
        let more = (width - 832).max(0);
        Plate {
            size: (832 + more, 440),
            minor: true,
            server_words: true,
            phone: false,
            ring: 16,
            strips: 6,
            group_head: 176,
            margin: 36,
            ensemble: 48,
            belt: (150, 690 + more),
            servers: (186, 610 + more),
            sessions: 136,
            brokers: 164,
            card: (236 + more / 4, 148),
            wires: (327, 342),
            strings: 0,
            clients: 368,
            client_height: 58,
        }
    }

    /// The plate of the projector: fewer words, larger.
    pub fn large() -> Plate {
        Plate {
            size: (832, 356),
            minor: false,
            server_words: true,
            phone: false,
            ring: 18,
            strips: 3,
            group_head: 126,
            margin: 14,
            ensemble: 44,
            belt: (146, 704),
            servers: (186, 610),
            sessions: 118,
            brokers: 146,
            card: (248, 142),
            wires: (295, 303),
            strings: 0,
            clients: 312,
            client_height: 38,
        }
    }

    /// The plate of a phone, as tall as its brokers need.
    pub fn phone(width: i32, brokers: i32, clients: i32) -> Plate {
        let rows = 86 + brokers * 124;
        Plate {
            size: (width, rows + clients * 48 + 8),
            minor: true,
            server_words: false,
            phone: true,
            ring: 16,
            strips: 3,
            group_head: 122,
            margin: 16,
            ensemble: 46,
            belt: (38, width - 38),
            servers: (58, width - 92),
            sessions: 30,
            brokers: 86,
            card: (width - 32, 112),
            wires: (0, 0),
            strings: 0,
            clients: rows,
            client_height: 40,
        }
    }

    /// The same plate while votes are compared: brokers fold to their heads and give room.
    pub fn election(self) -> Plate {
        if self.phone {
            return self;
        }
        let (sessions, brokers) = (self.ensemble + 148, self.ensemble + 174);
        Plate { sessions, brokers, card: (self.card.0, broker::HEAD), ..self }
    }

    /// Whether it has room for the rings of clients' sessions.
    pub fn is_strung(&self) -> bool {
        self.strings > 0
    }

    /// The same plate with room for the rings of clients' sessions.
    pub fn with_strings(self) -> Plate {
        if self.phone {
            let (strings, clients) = (self.clients + 16, self.clients + 40);
            return Plate { strings, clients, size: (self.size.0, self.size.1 + 40), ..self };
        }
        let strings = self.clients - 31;
        let room = self.wires.1 + 21 - strings;
        let wires = (self.wires.0 - room, self.wires.1 - room);
        let card = (self.card.0, (self.card.1 - room).max(broker::HEAD));
        Plate { strings, wires, card, strips: self.strips.min(4), ..self }
    }

    /// The room of a vote under a server.
    fn ballot(&self, of: usize) -> i32 {
        let (first, last) = self.servers;
        let apart = i32::try_from(of).expect("few servers stand side by side").max(2) - 1;
        ((last - first) / apart - 14).min(176)
    }

    /// Whether so many servers stand too close for their squares and all their words.
    fn is_crowded(&self, servers: usize) -> bool {
        let (first, last) = self.servers;
        let gaps = i32::try_from(servers).expect("few servers stand side by side").max(2) - 1;
        (last - first) / gaps < if self.phone { 56 } else { 124 }
    }

    /// The centre of a server.
    pub fn server_at(&self, number: usize, of: usize) -> (i32, i32) {
        let (first, last) = self.servers;
        let closer = !self.phone && self.is_crowded(of);
        let ends = if closer { (first - 10, last + 30) } else { (first, last) };
        (spread(ends, number, of), self.ensemble)
    }

    /// The card of a broker.
    pub fn card_at(&self, number: usize, of: usize) -> Card {
        if self.phone {
            let row = i32::try_from(number).expect("few brokers are drawn");
            return Card { at: (self.margin, self.brokers + row * 124), size: self.card };
        }
        let count = i32::try_from(of.max(1)).expect("few brokers are drawn");
        let room = self.size.0 - 2 * self.margin;
        let gap = if count > 5 { 10 } else { 26 };
        let width = ((room - gap * (count - 1)) / count).min(self.card.0);
        let ends = (self.margin + width / 2, self.size.0 - self.margin - width / 2);
        let centre = spread(ends, number, of);
        Card { at: (centre - width / 2, self.brokers), size: (width, self.card.1) }
    }

    /// The centre of a session's ring above (or in) its broker's card: the one that is left behind
    /// keeps its place, and the one that came after it stands beside (or below) it.
    pub fn ring_at(&self, card: &Card, age: Age) -> (i32, i32) {
        let second = age == Age::New;
        if self.phone {
            return (card.at.0 + 90, card.at.1 + if second { 90 } else { 30 });
        }
        let beside = if second { card.size.0 / 2 } else { 0 };
        (card.at.0 + card.size.0 / 2 + beside, self.sessions)
    }

    /// The heights of the two buses: among brokers, and between clients and brokers.
    pub fn buses(&self) -> (i32, i32) {
        self.wires
    }

    /// Where the wire of a client begins: of a producer, or of a member of a group.
    pub fn client_top(&self, picture: &StagePicture, name: &str) -> Option<(i32, i32)> {
        let (left, right) = self.frames(picture.producers.len(), picture.groups.len());
        let is_it = |producer: &Producer| producer.name == name;
        if let Some(number) = picture.producers.iter().position(is_it) {
            return left.get(number).map(|frame| (frame.at.0 + 86, frame.at.1));
        }
        let number = picture.groups.iter().position(|group| has_member(group, name))?;
        right.get(number).map(|frame| (frame.at.0 + frame.size.0 / 2, frame.at.1))
    }

    /// The frames of the clients: producers to the left, groups to the right.
    fn frames(&self, producers: usize, groups: usize) -> (Vec<Frame>, Vec<Frame>) {
        let left = self.margin;
        if self.phone {
            let width = self.size.0 - 2 * self.margin;
            let row = |n: usize| self.clients + i32::try_from(n).expect("few clients") * 48;
            let frame = |n: usize| Frame { at: (left, row(n)), size: (width, 40) };
            let all: Vec<Frame> = (0..producers + groups).map(frame).collect();
            return (all[..producers].to_vec(), all[producers..].to_vec());
        }
        let split = self.split();
        let right = self.size.0 - self.margin - split;
        (self.column(left, 300, producers), self.column(split, right, groups))
    }

    /// Where the groups begin.
    fn split(&self) -> i32 {
        if self.minor { 360 } else { 292 }
    }

    /// The room of one of the things that hang at a string: shells, what they have
    /// left behind, and producers to the left, members to the right; on a phone all in a row.
    fn hook(&self, picture: &StagePicture, side: Side, number: usize) -> Frame {
        let few = |count: usize| i32::try_from(count).expect("few clients are drawn");
        let (left, right) = (hooked(picture, Side::Left), hooked(picture, Side::Right));
        let (left, right) = (picture.shells.len() + left.count(), right.count());
        let end = self.size.0 - self.margin;
        let (first, last, count, number) = match (self.phone, side) {
            (true, Side::Left) => (self.margin, end, left + right, number),
            (true, Side::Right) => (self.margin, end, left + right, left + number),
            (false, Side::Left) => (self.margin, self.split() - 16, left, number),
            (false, Side::Right) => (self.split(), end, right, number),
        };
        let pitch = ((last - first) / few(count.max(1))).min(100);
        Frame {
            at: (first + pitch * few(number), self.strings - 15),
            size: ((pitch - 6).max(8), 30),
        }
    }

    /// Where the ring of one of the clients' sessions stands, and its radius.
    fn client_ring(&self, picture: &StagePicture, session: &Session) -> Option<((i32, i32), i32)> {
        let side = side_of(picture, session);
        let shell = picture.shells.iter().position(|shell| shell.name == session.owner);
        let frame = match shell.filter(|_| session.age != Age::Old) {
            Some(number) => self.hook(picture, Side::Left, number),
            None => {
                let mut alike = hooked(picture, side);
                let number = alike.position(|other| std::ptr::eq(other, session))?;
                let before = if side == Side::Left { picture.shells.len() } else { 0 };
                self.hook(picture, side, before + number)
            }
        };
        let radius = (frame.size.0 / 2).min(12);
        Some(((frame.at.0 + 5 + radius, self.strings), radius))
    }

    /// The corners of the way from a server past the brokers to the ring of a client's session.
    pub fn string(&self, picture: &StagePicture, session: &Session) -> Option<Vec<(i32, i32)>> {
        let from = foot(picture, session, self)?;
        let ((x, y), radius) = self.client_ring(picture, session)?;
        let end = (x, y - radius);
        if self.phone || picture.brokers.is_empty() {
            return Some(vec![from, end]);
        }
        let number = strung(picture).position(|other| std::ptr::eq(other, session))?;
        let beside = (i32::try_from(number).expect("few clients are drawn") % 5 - 2) * 4;
        let gap = self.gaps(picture).into_iter().min_by_key(|gap| (gap - x).abs())? + beside;
        let gap = gap.clamp(4, self.size.0 - 4);
        let bottom = self.brokers + self.card.1 + 4;
        Some(vec![from, (gap, self.brokers - 8), (gap, bottom), end])
    }

    /// Where there is room beside the cards of the brokers.
    fn gaps(&self, picture: &StagePicture) -> Vec<i32> {
        let of = picture.brokers.len();
        let cards: Vec<Card> = (0..of).map(|number| self.card_at(number, of)).collect();
        let mut ends = vec![0];
        ends.extend(cards.iter().flat_map(|card| [card.at.0, card.at.0 + card.size.0]));
        ends.push(self.size.0);
        ends.chunks(2).map(|gap| (gap[0] + gap[1]) / 2).collect()
    }

    /// Which of a client's sessions its messages go through.
    pub fn string_of(&self, picture: &StagePicture, name: &str) -> Option<Vec<(i32, i32)>> {
        let mut its = strung(picture).filter(|session| session.owner == name);
        let used = its.find(|session| session.age != Age::Old && session.thread != Thread::Snapped);
        self.string(picture, used?)
    }

    /// Clients of one kind share the height of their seat.
    fn column(&self, x: i32, width: i32, count: usize) -> Vec<Frame> {
        let number = i32::try_from(count.max(1)).expect("few clients are drawn");
        let pitch = (self.client_height + 6) / number;
        let frame =
            |row: i32| Frame { at: (x, self.clients + row * pitch), size: (width, pitch - 6) };
        (0..i32::try_from(count).expect("few clients")).map(frame).collect()
    }
}

/// The sessions of clients, in the order in which they stand. Tools are gone too soon to be seen.
pub fn strung(picture: &StagePicture) -> impl Iterator<Item = &Session> {
    let shells = picture.shells.iter().map(|shell| &shell.name);
    let members = picture.groups.iter().flat_map(|group| &group.members);
    let producers = picture.producers.iter().map(|producer| &producer.name);
    let owners = shells.chain(producers).chain(members.map(|member| &member.name));
    owners.flat_map(|name| picture.sessions.iter().filter(move |session| session.owner == *name))
}

/// Where something hangs at a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

fn side_of(picture: &StagePicture, session: &Session) -> Side {
    let produces = picture.producers.iter().any(|producer| producer.name == session.owner);
    if produces || is_shells(picture, session) { Side::Left } else { Side::Right }
}

fn is_shells(picture: &StagePicture, session: &Session) -> bool {
    picture.shells.iter().any(|shell| shell.name == session.owner)
}

/// The sessions of a side that hang there by themselves: all but those that a shell has now.
fn hooked(picture: &StagePicture, side: Side) -> impl Iterator<Item = &Session> {
    let by_itself = move |session: &&Session| {
        let in_shell = is_shells(picture, session) && session.age != Age::Old;
        side_of(picture, session) == side && !in_shell
    };
    strung(picture).filter(by_itself)
}

fn has_member(group: &Group, name: &str) -> bool {
    group.members.iter().any(|member| member.name == name)
}

/// The place of one of several between two ends.
fn spread((first, last): (i32, i32), number: usize, of: usize) -> i32 {
    if of < 2 {
        return (first + last) / 2;
    }
    let step = |n: usize| i32::try_from(n).expect("few things stand side by side");
    first + (last - first) * step(number) / step(of - 1)
}

/// What stands behind everything: belt, threads, wires, and the words beside them.
pub fn backdrop(picture: &StagePicture, selected: Option<&Target>, plate: &Plate) -> Drawing {
    let mut drawing = ensemble_words(picture, plate);
    let radius = if plate.phone { 22 } else { 36 };
    drawing.over(server::belt(plate.belt, plate.ensemble, radius, &picture.ensemble));
    if !plate.phone {
        drawing.over(wires(picture, plate));
        drawing.over(threads(picture, selected, plate));
    }
    drawing
}

fn ensemble_words(picture: &StagePicture, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    let ensemble = &picture.ensemble;
    let epoch = Phrase::key("page.epoch").with("n", ensemble.epoch);
    let needed = ensemble.voters / 2 + 1;
    let (key, of) = match ensemble.together < needed {
        false => ("page.quorum", ensemble.voters),
        true => ("page.quorum.needed", needed),
    };
    let quorum = Phrase::key(key).with("n", ensemble.together).with("of", of);
    let (left, right, y) = (plate.margin, plate.size.0 - plate.margin, plate.ensemble);
    if plate.phone {
        drawing.text((left, 15), Phrase::key("page.kind.ensemble"), "sc");
        let words = Phrase::key("page.ensemble").with_phrase("epoch", epoch);
        drawing.ended((right, 15), words.with_phrase("quorum", quorum), "t11 i2");
        return drawing;
    }
    drawing.text((left, y - 3), Phrase::key("page.kind.ensemble"), "sc");
    drawing.text((left, y + 12), epoch, "t12");
    let beside = plate.belt.1 + 36 + 16;
    drawing.text((beside, y - 3), Phrase::key("page.kind.quorum"), "sc");
    drawing.text((beside, y + 12), quorum, "t12");
    drawing
}

fn threads(picture: &StagePicture, selected: Option<&Target>, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    for (broker, number) in picture.brokers.iter().zip(0..) {
        let card = plate.card_at(number, picture.brokers.len());
        for session in sessions_of(picture, broker) {
            let Some(from) = foot(picture, session, plate) else { continue };
            let light = Light::of(&session.target(), selected);
            let ring = plate.ring_at(&card, session.age);
            drawing.over(session::thread(from, ring, session, light, plate));
        }
    }
    for session in strung(picture) {
        let light = Light::of(&session.target(), selected);
        let way = plate.string(picture, session).unwrap_or_default();
        drawing.over(session::string(&way, session, light));
    }
    drawing
}

fn sessions_of<'a>(
    picture: &'a StagePicture,
    broker: &'a Broker,
) -> impl Iterator<Item = &'a Session> {
    picture.sessions.iter().filter(|session| session.owner == broker.name)
}

/// The foot of the server to which a session is attached.
fn foot(picture: &StagePicture, session: &Session, plate: &Plate) -> Option<(i32, i32)> {
    let is_its = |server: &Server| Some(&server.name) == session.server.as_ref();
    let number = picture.servers.iter().position(is_its)?;
    let of = picture.servers.len();
    let (x, y) = plate.server_at(number, of);
    Some((x, y + if plate.is_crowded(of) { 16 } else { 26 }))
}

/// Two buses: brokers with each other, and clients with brokers.
fn wires(picture: &StagePicture, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    let feet = feet(picture, plate);
    let between: Vec<i32> = feet.iter().map(|(x, _)| x + 60).collect();
    drawing.over(bus(plate.wires.0, &between, plate.brokers + plate.card.1, &[], 0));
    let down: Vec<i32> = feet.iter().map(|(x, _)| x - 68).collect();
    let up = client_tops(picture, plate);
    drawing.over(bus(plate.wires.1, &down, plate.brokers + plate.card.1, &up, plate.clients));
    drawing
}

fn feet(picture: &StagePicture, plate: &Plate) -> Vec<(i32, i32)> {
    let of = picture.brokers.len();
    (0..of).map(|number| plate.card_at(number, of).foot()).collect()
}

fn client_tops(picture: &StagePicture, plate: &Plate) -> Vec<i32> {
    let (producers, groups) = plate.frames(picture.producers.len(), picture.groups.len());
    let tops = producers.iter().take(1).map(|frame| frame.at.0 + 86);
    tops.chain(groups.iter().take(1).map(|frame| frame.at.0 + frame.size.0 / 2)).collect()
}

/// A line with taps up to the things above and down to those below; its ends are round.
fn bus(y: i32, above: &[i32], top: i32, below: &[i32], bottom: i32) -> Drawing {
    let mut drawing = Drawing::new();
    let all = above.iter().chain(below);
    let (Some(first), Some(last)) = (all.clone().min(), all.max()) else {
        return drawing;
    };
    if first == last {
        return drawing;
    }
    drawing.line((first + 6, y), (last - 6, y), "wire");
    for (taps, end, up) in [(above, top, true), (below, bottom, false)] {
        for x in taps {
            drawing.over(tap((*x, y), end, up, (*first, *last)));
        }
    }
    drawing
}

fn tap((x, y): (i32, i32), end: i32, up: bool, (first, last): (i32, i32)) -> Drawing {
    let mut drawing = Drawing::new();
    let near = if up { -6 } else { 6 };
    let start = if x == first {
        format!("M6 0a6 6 0 0 {} -6 {near}", i32::from(up))
    } else if x == last {
        format!("M-6 0a6 6 0 0 {} 6 {near}", i32::from(!up))
    } else {
        "M0 0".to_string()
    };
    drawing.path((x, y), format!("{start}V{}", end - y), "wire");
    drawing
}

/// Everything on the stage that can be pointed at, in the order of reading.
pub fn parts(picture: &StagePicture, selected: Option<&Target>, plate: &Plate) -> Vec<Part> {
    let mut parts = Vec::new();
    for (server, number) in picture.servers.iter().zip(0..) {
        parts.push(server_part(picture, (server, number), selected, plate));
        let drawing = &mut parts.last_mut().expect("just pushed").drawing;
        drawing.over(vote(picture, server, number, plate));
    }
    for (broker, number) in picture.brokers.iter().zip(0..) {
        let card = plate.card_at(number, picture.brokers.len());
        let sessions = || sessions_of(picture, broker);
        let rings = || sessions().map(|session| session_part(session, &card, selected, plate));
        if !plate.phone {
            parts.extend(rings());
        }
        parts.push(broker_part(broker, &card, selected, plate));
        if plate.phone {
            parts.extend(rings());
        }
        parts.extend(strip_parts(broker, &card, plate));
    }
    parts.extend(client_parts(picture, selected, plate));
    parts
}

/// The vote that a server holds, as long as votes are compared.
fn vote(picture: &StagePicture, server: &Server, number: usize, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    let of = picture.servers.len();
    let (x, y) = plate.server_at(number, of);
    let (Some(own), Some(best)) = (server.ballot, picture.best()) else { return drawing };
    if plate.phone {
        drawing.centred((x + 16, y + 35), Phrase::raw(own.figures().join(" · ")), "t11");
    } else {
        drawing.over(server::ballot((x, y + 60), plate.ballot(of), &own, &best));
    }
    drawing
}

fn server_part(
    picture: &StagePicture,
    (server, number): (&Server, usize),
    selected: Option<&Target>,
    plate: &Plate,
) -> Part {
    let of = picture.servers.len();
    let (at, crowded) = (plate.server_at(number, of), plate.is_crowded(of));
    let target = Target::Process(server.name.clone());
    let light = Light::of(&target, selected);
    let label = Phrase::key("page.label.server")
        .with("name", &server.name)
        .with_phrase("role", server::standing(server))
        .with_phrase("last", server.last.clone());
    let small = |side, name, last| small_server(at, side, (server, name, last), light);
    let name = server.name.as_str();
    let (drawing, half, width) = match (plate.phone, crowded) {
        (false, false) => (server::server(at, server, light, plate), 32, 132),
        (false, true) => {
            let last = Some(&server.last).filter(|_| plate.minor && !server.life.is_gone());
            (small(16, name, last), 20, 70)
        }
        (true, false) => (small(16, name, None), 20, 70),
        // Its number alone has room.
        (true, true) => (small(12, name.trim_start_matches("zk"), None), 20, 40),
    };
    let hit = ((at.0 - half, at.1 - half - 4), (width, 2 * half + 4));
    Part { key: target.to_string(), target, label, hit, drawing }
}

/// A server where there is little room: a small square, its name and, if wanted, its last zxid.
fn small_server(
    (x, y): (i32, i32),
    half: i32,
    (server, name, last): (&Server, &str, Option<&Phrase>),
    light: Light,
) -> Drawing {
    let mut drawing = Drawing::new();
    let gone = server.life.is_gone();
    let square = ((x - half, y - half), (2 * half, 2 * half));
    drawing.rect(square.0, square.1, 7, if gone { "obj dead" } else { "obj" });
    if gone {
        drawing.rect(square.0, square.1, 7, "hatchfill");
    }
    let letter = server::letter(server.role);
    if letter == "L" && !gone {
        let inner = half - 4;
        drawing.rect((x - inner, y - inner), (2 * inner, 2 * inner), 4, "ln1 nofill");
    }
    if !gone {
        drawing.centred((x, y + 6), Phrase::raw(letter), "letter");
    }
    let (left, base) = (x + half + 4, y + if last.is_some() { -2 } else { 4 });
    drawing.text((left, base), Phrase::raw(name), "t12");
    if let Some(last) = last {
        drawing.text((left, y + 12), last.clone(), "t10 i3");
    }
    if light == Light::Lit {
        let outer = half + 4;
        drawing.rect((x - outer, y - outer), (2 * outer, 2 * outer), 10, "now");
    }
    drawing.over(server::ailing((x, y), half, server.ails));
    drawing
}

fn session_part(session: &Session, card: &Card, selected: Option<&Target>, plate: &Plate) -> Part {
    let light = Light::of(&session.target(), selected);
    let at = plate.ring_at(card, session.age);
    // Beside a narrow card there is room for short words only.
    let plate = Plate { minor: plate.minor && !card.is_narrow(), ..*plate };
    let drawing = if plate.phone {
        session::ring(at, plate.ring, session, light)
    } else if card.is_slim() && light == Light::Plain {
        session::brief(at, card.at.1, session, &plate)
    } else {
        session::session(at, card.at.1, session, light, &plate)
    };
    ring_part(session, (at, plate.ring + 8), drawing)
}

/// A session's ring, to be hit within a radius.
fn ring_part(session: &Session, (at, r): ((i32, i32), i32), drawing: Drawing) -> Part {
    let target = session.target();
    let label = Phrase::key("page.label.session")
        .with_phrase("session", session.called.clone())
        .with_phrase("left", super::seconds(session.left))
        .with_phrase("timeout", super::seconds(session.timeout))
        .with("server", session.server.clone().unwrap_or_default());
    let hit = ((at.0 - r, at.1 - r), (2 * r, 2 * r));
    Part { key: target.to_string(), target, label, hit, drawing }
}

fn broker_part(broker: &Broker, card: &Card, selected: Option<&Target>, plate: &Plate) -> Part {
    let target = Target::Process(broker.name.clone());
    let light = Light::of(&target, selected);
    let crowned = match broker.crown {
        Some(crown) => Phrase::key("page.label.crown").with("n", crown.epoch),
        None => Phrase::nothing(),
    };
    let label = Phrase::key("page.label.broker")
        .with("id", broker.id)
        .with_phrase("state", broker.state.clone())
        .with_phrase("leads", broker::leads(broker))
        .with_phrase("crown", crowned);
    let drawing = broker::card(card, broker, light, plate);
    Part { key: target.to_string(), target, label, hit: (card.at, card.size), drawing }
}

fn strip_parts(broker: &Broker, card: &Card, plate: &Plate) -> Vec<Part> {
    let seats = broker::seats(card, broker, plate);
    let with_seat = broker.replicas.iter().zip(seats);
    with_seat
        .map(|(replica, seat)| {
            let inner = strip::strip(&seat, replica);
            let mut drawing = Drawing::new();
            match broker::tilt(broker, plate) {
                0 => drawing = inner,
                tilt => drawing.turned(card.foot(), tilt, inner),
            }
            Part {
                key: format!("{}@{}", replica.partition, broker.name),
                target: Target::Partition(replica.partition.clone()),
                label: strip_label(broker, replica),
                hit: seat.hit(),
                drawing,
            }
        })
        .collect()
}

fn strip_label(broker: &Broker, replica: &Replica) -> Phrase {
    if let Some(bytes) = replica.bytes {
        return Phrase::key("page.label.only")
            .with("partition", &replica.partition)
            .with("id", broker.id)
            .with("end", replica.end)
            .with("bytes", bytes);
    }
    let stand = replica.stand.key(broker.life);
    Phrase::key("page.label.replica")
        .with("partition", &replica.partition)
        .with("id", broker.id)
        .with_phrase("stand", Phrase::key(stand))
        .with("end", replica.end)
        .with("hw", replica.high_watermark)
}

fn client_parts(picture: &StagePicture, selected: Option<&Target>, plate: &Plate) -> Vec<Part> {
    let (left, right) = plate.frames(picture.producers.len(), picture.groups.len());
    let producers = picture.producers.iter().zip(&left).map(|(producer, frame)| {
        let target = Target::Process(producer.name.clone());
        let light = Light::of(&target, selected);
        let label = Phrase::key("page.label.producer")
            .with("name", &producer.name)
            .with("setting", &producer.setting)
            .with_phrase("flight", client::in_flight(producer));
        let drawing = client::producer(frame, producer, light, plate);
        Part { key: target.to_string(), target, label, hit: (frame.at, frame.size), drawing }
    });
    let groups = picture.groups.iter().zip(&right).map(|(group, frame)| {
        let target = Target::Group(group.name.clone());
        let light = Light::of(&target, selected);
        let label = Phrase::key("page.label.group")
            .with("name", &group.name)
            .with_phrase("state", group.state.clone())
            .with_phrase("coordination", group.coordination.clone())
            .with("members", client::shares(group));
        let drawing = client::group(frame, group, light, plate);
        Part { key: target.to_string(), target, label, hit: (frame.at, frame.size), drawing }
    });
    let shells = picture.shells.iter().enumerate().map(|(number, shell)| {
        shell_part(shell, &plate.hook(picture, Side::Left, number), selected)
    });
    let rings = strung(picture).filter_map(|session| {
        let (at, radius) = plate.client_ring(picture, session)?;
        let light = Light::of(&session.target(), selected);
        let stem = (!is_shells(picture, session)).then_some(plate.clients);
        let drawing = session::client_ring((at, radius), stem, session, light);
        Some(ring_part(session, (at, radius), drawing))
    });
    shells.chain(rings).chain(producers).chain(groups).collect()
}

fn shell_part(shell: &Shell, frame: &Frame, selected: Option<&Target>) -> Part {
    let target = Target::Process(shell.name.clone());
    let drawing = client::shell(frame, shell, Light::of(&target, selected));
    let label = Phrase::key("page.label.shell").with("name", &shell.name);
    let label = label.with_phrase("state", shell.state.clone());
    Part { key: target.to_string(), target, label, hit: (frame.at, frame.size), drawing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::script;
    use crate::picture::ensemble::Run;
    use crate::picture::stage;

    /// Threads of clients go beside the cards, and their rings stand apart, above the clients.
    #[test]
    fn strings_go_beside_the_cards() {
        let mut text = "setup release=0.8.2.2 seed=1\nrun 8s\ntopic t replicas=3\n".to_string();
        for name in ["c1", "c2", "c3", "c4", "c5"] {
            text +=
                &format!("add consumer {name} group=g topics=t zookeeper.connect=zk1,zk2,zk3\n");
        }
        text += "add client z1\nadd client z2\nrun 3s\nkill c1\nstart c1\nrun 1s";
        let lab = script::play(&text).expect("it is right").lab;
        let picture = stage::stage(Run::of(&lab));
        let of = picture.brokers.len();
        for plate in [Plate::wide(832).with_strings(), Plate::large().with_strings()] {
            let mut rings = Vec::new();
            for session in strung(&picture) {
                let way = plate.string(&picture, session).expect("it hangs at a server");
                let cards = (0..of).map(|number| plate.card_at(number, of));
                for card in cards {
                    let sides = card.at.0..card.at.0 + card.size.0;
                    assert!(!sides.contains(&way[1].0) && way[1].0 == way[2].0, "{session:?}");
                }
                let ((x, y), radius) = plate.client_ring(&picture, session).expect("it has one");
                assert!(y + radius < plate.clients && y - radius > plate.wires.1);
                rings.push((x - radius, x + radius));
            }
            rings.sort_unstable();
            assert_eq!(rings.len(), 8, "one each, and the one that c1 has left behind");
            assert!(rings.windows(2).all(|pair| pair[0].1 < pair[1].0), "{rings:?}");
        }
    }
}
