//! The legend: every mark of the figures beside what it means, and the field's words explained.
//!
//! A mark is drawn by whoever draws it in its figure, so that the two cannot differ.
//! *Invariant:* what a figure shows without words is here.

use super::drawing::{Light, broker, client, server, session, strip};
use super::shape::Drawing;
use super::stage::{Age, Ails, Ensemble, Replica, Scope, Session, Stand, Thread};
use crate::sim::Room;
use crate::text::{Catalog, Phrase};

/// A mark, in a box of [`SIZE`], and the key of what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// How it looks.
    pub drawing: Drawing,
    /// What it means.
    pub means: &'static str,
}

/// The box of a mark.
pub const SIZE: (i32, i32) = (64, 34);

/// The keys of the words that are explained: a word, and what it means.
pub const WORDS: [(&str, &str); 12] = [
    ("word.isr", "means.isr"),
    ("word.ephemeral", "means.ephemeral"),
    ("word.epoch", "means.epoch"),
    ("word.generation", "means.generation"),
    ("word.session", "means.session"),
    ("word.watch", "means.watch"),
    ("word.zxid", "means.zxid"),
    ("word.quorum", "means.quorum"),
    ("word.hw", "means.hw"),
    ("word.leo", "means.leo"),
    ("word.lag", "means.lag"),
    ("word.acks", "means.acks"),
];

/// A piece of a sentence: as it is, or a word that is explained under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken<'a> {
    /// As it is.
    Plain(&'a str),
    /// A word, and the key of what it means.
    Word(&'a str, &'static str),
}

/// The words of the field in a text, each where it comes first.
pub fn words<'a>(catalog: &Catalog, text: &'a str) -> Vec<Spoken<'a>> {
    let found = |(word, means): &(&'static str, &'static str)| {
        let word = catalog.say(&Phrase::key(word));
        let at = text.find(&word)?;
        let ends = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
        let before = ends(text[..at].chars().next_back());
        before.then_some((at, word.len(), *means))
    };
    // The first four may stand in any sentence; the others are the legend's only.
    let first = WORDS[..4].iter().filter_map(found).min();
    let Some((at, length, means)) = first else {
        return if text.is_empty() { Vec::new() } else { vec![Spoken::Plain(text)] };
    };
    let mut pieces = Vec::new();
    if at > 0 {
        pieces.push(Spoken::Plain(&text[..at]));
    }
    pieces.push(Spoken::Word(&text[at..at + length], means));
    pieces.extend(words(catalog, &text[at + length..]));
    pieces
}

/// The marks in the order of the figures.
pub fn marks() -> Vec<Mark> {
    let mark = |means, draw: fn(&mut Drawing)| {
        let mut drawing = Drawing::new();
        draw(&mut drawing);
        Mark { drawing, means }
    };
    vec![
        mark("legend.request", |d| {
            d.circle((18, 17), 85, "disc");
            d.centred((18, 21), Phrase::raw("P"), "t10 b inv");
            d.circle((46, 17), 85, "disc hollow");
            d.centred((46, 21), Phrase::raw("P"), "t10 b");
        }),
        mark("legend.role", |d| {
            d.rect((4, 3), (28, 28), 6, "obj");
            d.centred((18, 23), Phrase::raw("L"), "letter");
            d.rect((36, 3), (28, 28), 6, "obj");
            d.centred((50, 23), Phrase::raw("F"), "letter");
        }),
        mark("legend.quorum", |d| d.over(server::belt((18, 46), 15, 12, &TOGETHER))),
        mark("legend.ring", |d| d.over(session::ring((32, 17), 13, &half(), Light::Plain))),
        mark("legend.thread", |d| {
            d.line((4, 8), (60, 8), "thread");
            d.path((4, 22), "M0 0C16 14 40 14 56 0", "thread slack plain");
        }),
        mark("legend.crown", |d| d.path((22, 9), broker::POINTS, "inkfill")),
        mark("legend.coordinator", |d| d.over(broker::members((32, 17)))),
        mark("legend.flag", |d| {
            d.path((18, 18), strip::FLAG, "pennant");
            d.text((33, 14), Phrase::raw("e3"), "t11 i2");
        }),
        mark("legend.star", |d| d.path((32, 17), strip::STAR, "inkfill")),
        mark("legend.records", |d| d.over(sample(|seat| strip::records(seat, &replica())))),
        mark("legend.gate", |d| d.over(sample(|seat| strip::gate(seat, &replica())))),
        mark("legend.lag", |d| d.over(sample(|seat| strip::lag(seat, &replica())))),
        mark("legend.cells", |d| d.over(client::cells((12, 9)))),
        mark("legend.cut", |d| {
            let cut = Replica { end: 3, high_watermark: 3, cut: Some((3, 5)), ..replica() };
            d.over(sample(|seat| strip::records(seat, &cut)));
        }),
        mark("legend.out", |d| d.text((22, 21), Phrase::key("page.strip.out"), "t11 it gonet")),
        mark("legend.gone", |d| {
            d.rect((20, 6), (24, 22), 4, "obj dead");
            d.rect((20, 6), (24, 22), 4, "hatchfill");
        }),
        mark("legend.disk", |d| {
            d.over(server::disk((18, 17), Ails { room: Room::Full, ..Ails::NOTHING }));
            d.over(server::disk((46, 17), Ails::NOTHING));
        }),
        mark("legend.clock", |d| {
            d.over(server::clock((18, 17), Ails { clock: 150, ..Ails::NOTHING }));
            d.over(server::clock((46, 17), Ails { clock: 50, ..Ails::NOTHING }));
        }),
        mark("legend.you", |d| d.over(broker::mark((32, 17), "userd"))),
        mark("legend.znode", |d| {
            d.rect((10, 12), (10, 10), 1, "inkfill");
            d.circle((32, 17), 50, "obj dotted");
            d.rect((44, 12), (10, 10), 1, "ln1 nofill");
        }),
        mark("legend.watch", |d| {
            d.path((14, 9), BELL, "ln1");
            d.path((40, 9), FORK, "ln1");
        }),
        mark("legend.change", |d| d.centred((32, 22), Phrase::raw("+  Δ  −"), "t13 b")),
    ]
}

/// A bell and a fork: watches on data, and on children.
pub const BELL: &str =
    "M0 10c1.6-1.2 1.8-3 1.8-4.6a3.2 3.2 0 0 1 6.4 0c0 1.6 .2 3.4 1.8 4.6zM4 12h2";
/// See [`BELL`].
pub const FORK: &str = "M2 2v4.2a3 3 0 0 0 6 0v-4.2M5 9.2v4";

const TOGETHER: Ensemble = Ensemble { epoch: 1, together: 3, voters: 3, leads: true };

/// A session of which half is left.
fn half() -> Session {
    Session {
        owner: String::new(),
        age: Age::Only,
        scope: Scope::Global,
        called: Phrase::nothing(),
        server: None,
        thread: Thread::Taut,
        left: 90,
        timeout: 180,
        ends: None,
    }
}

/// A copy with four committed records of five, two of them read.
fn replica() -> Replica {
    Replica {
        partition: String::new(),
        stand: Stand::Leading { epoch: 0 },
        preferred: false,
        first: 0,
        lacks: 0,
        end: 5,
        cut: None,
        high_watermark: 4,
        bytes: None,
        committed: Some(1),
    }
}

fn sample(draw: impl Fn(&strip::Seat) -> Drawing) -> Drawing {
    draw(&strip::Seat { at: (8, 11), label: 0, cells: 5, airy: true, gone: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Lab, Recording};
    use crate::picture::flight::{self, Ink};
    use crate::sim::{SimTime, Span};
    use crate::text::Language;

    #[test]
    fn every_letter_that_flies_has_its_words() {
        let catalog = Catalog::of(Language::English);
        let has = |key, letter: char| {
            let words = catalog.say(&Phrase::key(key));
            words.split(" · ").any(|part| part.starts_with(&format!("{letter} ")))
        };
        let mut lab = Lab::new(Recording::situation(1).expect("there is a first one"));
        while lab.moment().at < SimTime::ZERO + Span::secs(50) {
            lab.step();
            for flight in flight::flights(lab.cluster()) {
                let key = match flight.ink {
                    Ink::Ensemble => "legend.letters.zookeeper",
                    Ink::Data => "legend.letters.kafka",
                };
                assert!(has(key, flight.letter), "{key} has no {}", flight.letter);
            }
        }
    }

    #[test]
    fn words_of_the_field_are_found_in_a_text() {
        let catalog = Catalog::of(Language::English);
        let check = |text, expected: &[Spoken<'_>]| assert_eq!(words(&catalog, text), expected);
        check(
            "The ISR of ",
            &[Spoken::Plain("The "), Spoken::Word("ISR", "means.isr"), Spoken::Plain(" of ")],
        );
        check("leader epoch", &[Spoken::Plain("leader "), Spoken::Word("epoch", "means.epoch")]);
        check("nothing", &[Spoken::Plain("nothing")]);
        check("", &[]);
    }

    #[test]
    fn every_mark_and_word_is_explained_in_every_language() {
        for language in crate::text::LANGUAGES {
            let catalog = Catalog::of(language);
            let marks = marks().into_iter().map(|mark| mark.means);
            let words = WORDS.iter().flat_map(|(word, means)| [*word, *means]);
            for key in marks.chain(words) {
                assert!(catalog.has(key), "{} has no {key}", language.tag());
            }
        }
    }
}
