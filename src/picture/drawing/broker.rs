//! A broker's card: head, crown, coordinator, and the seats of its strips.
//!
//! A broker that is gone is tilted about its foot, hatched and cracked; it is never removed.
//! *Invariant:* the seats of strips depend on the number of strips only, never on their logs.

use crate::picture::shape::Drawing;
use crate::picture::stage::{Broker, Crown, Life, Stand};
use crate::text::Phrase;

use super::Light;
use super::plate::Plate;
use super::strip::{self, PITCH, Seat};

/// The height of a card's head.
pub const HEAD: i32 = 37;

/// A card's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Its upper left corner.
    pub at: (i32, i32),
    /// Its width and height.
    pub size: (i32, i32),
}

/// Below this width a card has signs where a wider one has words.
const NARROW: i32 = 200;
/// Below this width no log is drawn.
const SLIM: i32 = 130;
/// Below this width nothing is said in words.
const TINY: i32 = 72;

impl Card {
    /// Whether there is no room for words beside the name.
    pub fn is_narrow(&self) -> bool {
        self.size.0 < NARROW
    }

    /// Whether there is room for names only.
    pub fn is_slim(&self) -> bool {
        self.size.0 < SLIM
    }

    /// Whether there is room for its number and signs only.
    pub fn is_tiny(&self) -> bool {
        self.size.0 < TINY
    }

    /// The point about which a fallen card is tilted.
    pub fn foot(&self) -> (i32, i32) {
        (self.at.0 + self.size.0 / 2, self.at.1 + self.size.1)
    }
}

/// How far a card is tilted, in tenths of a degree.
pub fn tilt(broker: &Broker, plate: &Plate) -> i32 {
    match (broker.life.is_gone(), plate.phone) {
        (false, _) => 0,
        (true, false) => 40,
        (true, true) => 16,
    }
}

/// A broker's card without its strips.
pub fn card(card: &Card, broker: &Broker, light: Light, plate: &Plate) -> Drawing {
    let mut inner = outline(card, broker, light);
    let (x, y) = card.at;
    if plate.phone {
        inner.over(tall_title(card, broker));
    } else if card.is_tiny() {
        inner.over(tiny_title(card, broker));
    } else {
        inner.over(wide_title(card, broker, plate));
    }
    let hidden = broker.replicas.len() - strips(broker, plate);
    if hidden > 0 && card.size.1 > HEAD && !card.is_tiny() {
        let words = Phrase::key("page.broker.more").with("n", hidden);
        let foot = if plate.phone { 5 } else { 8 };
        let size = if card.is_slim() { "t10 i2" } else { "t11 i2" };
        inner.text((x + 14, y + card.size.1 - foot), words, size);
    }
    let mut drawing = Drawing::new();
    match tilt(broker, plate) {
        0 => drawing.over(inner),
        tilt => drawing.turned(card.foot(), tilt, inner),
    }
    if broker.marked {
        let class = if light == Light::Lit { "userd lit" } else { "userd" };
        drawing.over(mark((x + card.size.0 * 3 / 4, y + 9), class));
    }
    drawing
}

fn outline(card: &Card, broker: &Broker, light: Light) -> Drawing {
    let mut drawing = Drawing::new();
    let (x, y) = card.at;
    let (w, h) = card.size;
    if broker.life.is_gone() {
        drawing.path((x, y), cracked(w, h), "obj dead");
        drawing.path((x, y), cracked(w, h), "hatchfill");
        let mut shard = Drawing::new();
        shard.path((x + w + 3, y - 4), SHARD, "obj dead");
        drawing.turned((x + w, y + 24), 70, shard);
    } else {
        let class = if broker.life == Life::Frozen { "obj frozen" } else { "obj" };
        drawing.rect((x, y), (w, h), 4, class);
    }
    if light == Light::Lit {
        drawing.rect((x - 5, y - 5), (w + 10, h + 10), 8, "now");
    }
    drawing
}

/// The piece that broke off, from the card's upper right corner.
const SHARD: &str = "M-26 0h22a4 4 0 0 1 4 4v21l-5 -1.6l-2 -8l-8 -1l-3 -9l-6.5 1.5z";

/// A card's outline with a broken upper right corner.
fn cracked(w: i32, h: i32) -> String {
    format!(
        "M4 0H{}l3 9l8 -2l3 9l8 1l2 8l6 2V{}a4 4 0 0 1 -4 4H4a4 4 0 0 1 -4 -4V4a4 4 0 0 1 4 -4Z",
        w - 30,
        h - 4
    )
}

/// Name, state and office in a head above the strips.
fn wide_title(card: &Card, broker: &Broker, plate: &Plate) -> Drawing {
    let mut drawing = title(card, broker, plate);
    let (x, y) = card.at;
    let office = office(broker);
    let right = x + card.size.0;
    match (broker.crown, office) {
        (Some(crown), _) if card.is_slim() => drawing.over(crown_of((right - 26, y + 3), crown)),
        (Some(crown), _) if card.is_narrow() => drawing.over(crown_of((right - 33, y + 6), crown)),
        (Some(crown), _) => drawing.over(crowned((right, y), crown)),
        (None, Some(_)) if card.is_slim() => drawing.over(members((right - 14, y + 11))),
        (None, Some(_)) if card.is_narrow() => drawing.over(members((right - 21, y + 15))),
        (None, Some(group)) => drawing.over(coordinator((right, y), group)),
        (None, None) if card.is_narrow() => {}
        (None, None) => drawing.over(loads((right, y), broker)),
    }
    if card.size.1 > HEAD {
        drawing.line((x, y + HEAD), (right, y + HEAD), "hair");
        if let (Some(_), Some(group)) = (broker.crown, office) {
            let words = Phrase::key("page.broker.coordinates").with("group", group);
            // Under the strips' labels, where no log is; there only if none is left out.
            if broker.replicas.len() <= plate.strips {
                drawing.text((x + 14, y + card.size.1 - 6), words, "t11 i2");
            } else {
                drawing.ended((right - 14, y + card.size.1 - 6), words, "t11 i2");
            }
        }
    }
    drawing
}

/// How many records have come from whom, at a card's upper right corner.
fn loads((right, y): (i32, i32), broker: &Broker) -> Drawing {
    let mut drawing = Drawing::new();
    if let Some(from) = load(broker) {
        drawing.ended((right - 12, y + 17), Phrase::key("page.broker.received"), "sc");
        drawing.ended((right - 12, y + 29), from, "t11 b");
    }
    drawing
}

/// How many records have come from whom, to a lone broker that is there.
fn load(broker: &Broker) -> Option<Phrase> {
    let received = broker.received.as_ref().filter(|_| !broker.life.is_gone())?;
    let from: Vec<String> = received.iter().map(|(who, n)| format!("{who}: {n}")).collect();
    Some(Phrase::raw(if from.is_empty() { "0".to_owned() } else { from.join("  ") }))
}

/// The first group that a broker coordinates, and not only by its own belief.
fn office(broker: &Broker) -> Option<&str> {
    broker.coordinates.iter().find(|office| !office.stale).map(|office| office.group.as_str())
}

/// Name, state and office in a column beside the strips.
fn tall_title(card: &Card, broker: &Broker) -> Drawing {
    let mut drawing = Drawing::new();
    let (x, y) = card.at;
    let gone = if broker.life.is_gone() { " gonet" } else { "" };
    drawing.text((x + 12, y + 37), Phrase::raw(broker.id), format!("bid{gone}"));
    let second = if broker.life.is_gone() { "t12 gonet" } else { "t12 i2" };
    drawing.text((x + 12, y + 60), broker.state.clone(), second);
    drawing.text((x + 12, y + 77), leads(broker), second);
    if let Some(crown) = broker.crown {
        drawing.over(crown_of((x + 36, y + 20), crown));
        let epoch = Phrase::key("page.broker.controller").with("n", crown.epoch);
        drawing.text((x + 12, y + 95), epoch, "t11");
    } else if let Some(group) = office(broker) {
        let words = Phrase::key("page.broker.coordinates").with("group", group);
        drawing.text((x + 12, y + 95), words, "t12");
    } else if let Some(received) = &broker.received {
        let all: u64 = received.iter().map(|(_, count)| count).sum();
        let words = Phrase::key("page.broker.got").with("n", all);
        drawing.text((x + 12, y + 95), words, "t12");
    }
    drawing
}

/// The number and the office; below them, by a flag and a record, how many partitions it leads and
/// how many logs it has.
fn tiny_title(card: &Card, broker: &Broker) -> Drawing {
    let mut drawing = Drawing::new();
    let ((x, y), right) = (card.at, card.at.0 + card.size.0);
    let is_gone = broker.life.is_gone();
    let gone = if is_gone { " gonet" } else { "" };
    drawing.text((x + 6, y + 28), Phrase::raw(broker.id), format!("bid{gone}"));
    match broker.crown {
        Some(crown) => drawing.over(crown_of((right - 21, y + 5), crown)),
        None if office(broker).is_some() => drawing.over(members((right - 11, y + 12))),
        None => {}
    }
    if card.size.1 <= HEAD {
        return drawing;
    }
    drawing.line((x, y + HEAD), (right, y + HEAD), "hair");
    let flag = match broker.believes {
        _ if is_gone => "pennant dead",
        0 => "pennant",
        _ => "pennant stale",
    };
    let leads = broker.leads + broker.believes;
    if leads > 0 {
        drawing.path((x + 10, y + HEAD + 16), strip::SMALL_FLAG, flag);
        drawing.text((x + 24, y + HEAD + 26), Phrase::raw(leads), format!("t12 b{gone}"));
    }
    let record = if is_gone { "rec d" } else { "rec f" };
    drawing.rect((x + 10, y + HEAD + 46), (7, 11), 1, record);
    let logs = broker.replicas.len();
    drawing.text((x + 24, y + HEAD + 56), Phrase::raw(logs), format!("t12{gone}"));
    drawing
}

fn title(card: &Card, broker: &Broker, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    let (x, y) = card.at;
    let gone = if broker.life.is_gone() { " gonet" } else { "" };
    drawing.text((x + 14, y + 28), Phrase::raw(broker.id), format!("bid{gone}"));
    let digits = i32::try_from(broker.id.to_string().len()).expect("a short id");
    let left = x + 20 + 13 * digits;
    let second = if broker.life.is_gone() { "t11 gonet" } else { "t11 i2" };
    if card.is_narrow() {
        let has_sign = broker.crown.is_some() || office(broker).is_some();
        if !(card.is_slim() && has_sign && broker.life == Life::Running) {
            drawing.text((left, y + 17), broker.state.clone(), second);
        }
        match load(broker) {
            Some(from) => drawing.text((left, y + 29), from, "t11 b"),
            None => drawing.text((left, y + 29), leads(broker), second),
        }
    } else {
        drawing.text((left, y + 17), Phrase::key("page.kind.broker"), format!("sc{gone}"));
        drawing.text((left, y + 29), status(broker, plate), second);
    }
    drawing
}

/// What a broker is about: its life, and what it leads.
pub fn status(broker: &Broker, plate: &Plate) -> Phrase {
    // What a lone broker has stands below, and what it gets beside it.
    if !plate.minor || broker.received.is_some() {
        return broker.state.clone();
    }
    let state = broker.state.clone();
    Phrase::key("page.pair").with_phrase("a", state).with_phrase("b", leads(broker))
}

/// How many partitions a broker leads at work, not in name only.
fn leading(broker: &Broker) -> i32 {
    if broker.life.is_gone() {
        return 0;
    }
    let leading = broker.replicas.iter().filter(|r| matches!(r.stand, Stand::Leading { .. }));
    i32::try_from(leading.count()).unwrap_or(i32::MAX)
}

/// What a broker leads. One that is gone is leader in name until the controller hears of it; one
/// that has not heard that others lead believes that it does.
pub fn leads(broker: &Broker) -> Phrase {
    let n = |key, n: i32| Phrase::key(key).with("n", n);
    if broker.received.is_some() {
        let own = i32::try_from(broker.replicas.len()).unwrap_or(i32::MAX);
        return n("page.broker.has", own);
    }
    match (broker.believes, broker.leads) {
        (0, 0) => Phrase::key("page.broker.leads-none"),
        (0, named) if named > leading(broker) => n("page.broker.named", named),
        (0, leads) => n("page.broker.leads", leads),
        (believes, leads) => n("page.broker.believes", believes + leads),
    }
}

/// The crown's outline.
pub const POINTS: &str = "M0 12v-9.5l5 4.5l4.5 -7l4.5 7l5 -4.5v9.5z";

/// The crown and the controller epoch, at a card's upper right corner.
fn crowned((right, y): (i32, i32), crown: Crown) -> Drawing {
    let mut drawing = Drawing::new();
    drawing.over(crown_of((right - 33, y + 6), crown));
    drawing.ended((right - 40, y + 17), Phrase::key("page.kind.controller"), "sc");
    let epoch = Phrase::key("page.epoch").with("n", crown.epoch);
    drawing.ended((right - 40, y + 29), epoch, "t11");
    drawing
}

/// The crown alone: an outline if others know a newer controller.
fn crown_of(at: (i32, i32), crown: Crown) -> Drawing {
    let mut drawing = Drawing::new();
    drawing.path(at, POINTS, if crown.stale { "ln1 nofill" } else { "inkfill" });
    drawing.path(at, "M0 14.5h19", "ln15");
    drawing
}

/// The coordinator's sign: three members around a point.
fn coordinator((right, y): (i32, i32), group: &str) -> Drawing {
    let mut drawing = Drawing::new();
    let y = y + 15;
    drawing.over(members((right - 21, y)));
    drawing.ended((right - 34, y + 2), Phrase::key("page.kind.coordinator"), "sc");
    let of = Phrase::key("page.broker.of").with("group", group);
    drawing.ended((right - 34, y + 14), of, "t11");
    drawing
}

/// Three members around a point.
pub fn members((x, y): (i32, i32)) -> Drawing {
    let mut drawing = Drawing::new();
    drawing.circle((x, y), 70, "ln1 nofill");
    drawing.circle((x, y), 20, "inkfill");
    for at in [(x, y - 7), (x + 6, y + 4), (x - 6, y + 4)] {
        drawing.circle(at, 22, "inkfill");
    }
    drawing
}

/// The diamond of what a person did.
pub fn mark((x, y): (i32, i32), class: &'static str) -> Drawing {
    let mut drawing = Drawing::new();
    drawing.path((x, y), "M0 -9l9 9l-9 9l-9 -9z", class);
    drawing.centred((x, y + 4), Phrase::key("page.you.initial"), "userdt");
    drawing
}

/// How many of a broker's replicas are drawn; where there are more, a row is for saying so.
fn strips(broker: &Broker, plate: &Plate) -> usize {
    let (all, most) = (broker.replicas.len(), plate.strips);
    if all > most && most > 3 { most - 1 } else { all.min(most) }
}

/// The seats of a card's strips: airy for three, close for more.
pub fn seats(card: &Card, broker: &Broker, plate: &Plate) -> Vec<Seat> {
    let number = i32::try_from(strips(broker, plate)).expect("few strips fit");
    let gone = broker.life.is_gone();
    if card.size.1 <= HEAD || (card.is_tiny() && !plate.phone) {
        return Vec::new();
    }
    if plate.phone {
        let (x, y) = (card.at.0 + 126, card.at.1 + 22);
        let cells = ((card.size.0 - 126 - 76 - 36) / PITCH).clamp(0, 13);
        let seat = |row: i32| Seat { at: (x, y + row * 32), label: 76, cells, airy: true, gone };
        return (0..number).map(seat).collect();
    }
    let room = card.size.1 - HEAD - 18;
    let pitch = if number <= 3 && room > 80 { 31 } else { (room / number.max(1)).clamp(13, 31) };
    let airy = pitch >= 28 && !card.is_narrow();
    let first = card.at.1 + HEAD + if pitch >= 28 { 20 } else { 8 };
    let label = if card.is_narrow() { 70 } else { 76 };
    let cells = match card.is_slim() {
        true => 0,
        false => ((card.size.0 - 14 - label - 29) / PITCH).clamp(0, 13),
    };
    let seat =
        |row: i32| Seat { at: (card.at.0 + 14, first + row * pitch), label, cells, airy, gone };
    (0..number).map(seat).collect()
}
