//! The ensemble: its servers, and the belt around those that are together.
//!
//! *Invariant:* labels of all servers stand on one base line, also that of the raised leader.

use crate::picture::shape::{Drawing, tenths};
use crate::picture::stage::{Ails, Ballot, Ensemble, Life, Role, Server};
use crate::sim::{Room, Span};
use crate::text::Phrase;

use super::Light;
use super::plate::Plate;

/// Half of a server's side.
const HALF: i32 = 26;

/// A server's square with its letter, its name and its two lines.
pub fn server(at: (i32, i32), server: &Server, light: Light, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    if server.life.is_gone() {
        drawing.over(dead(at));
    } else {
        drawing.over(living(at, server));
    }
    if light == Light::Lit {
        drawing.rect((at.0 - 31, at.1 - 31 - lift(server)), (62, 62), 13, "now");
    }
    drawing.over(ailing((at.0, at.1 - lift(server)), HALF, server.ails));
    if plate.server_words {
        drawing.over(words(at, server, plate));
    }
    drawing
}

/// The vote of a server that looks, under it: three figures, and how they stand against the best.
/// The comparison goes from left to right and stops at the first difference.
pub fn ballot((x, top): (i32, i32), width: i32, own: &Ballot, best: &Ballot) -> Drawing {
    let mut drawing = Drawing::new();
    let left = x - width / 2;
    let (own_figures, best_figures) = (own.figures(), best.figures());
    let decides = own_figures.iter().zip(&best_figures).position(|(a, b)| a != b);
    drawing.line((x, top - 34), (x, top - 17), "ln1");
    let cells = [0, 24, 70, 100].map(|percent| left + width * percent / 100);
    let heads = ["page.vote.epoch", "page.vote.zxid", "page.vote.server"];
    for (n, (figure, head)) in own_figures.iter().zip(heads).enumerate() {
        let (from, to) = (cells[n], cells[n + 1]);
        let middle = (from + to) / 2;
        if decides == Some(n) {
            drawing.rect((from, top), (to - from, 30), 0, "lost");
        }
        if width > 150 {
            drawing.centred((middle, top - 6), Phrase::key(head), "sc");
        }
        let class = if decides.is_some_and(|d| n >= d) { "t13 gonet" } else { "t13 b" };
        drawing.centred((middle, top + 20), Phrase::raw(figure), class);
        let sign = match decides {
            None => "",
            Some(d) if n < d => "=",
            Some(d) if n == d => "<",
            Some(_) => "·",
        };
        drawing.centred((middle, top + 44), Phrase::raw(sign), "t13 b");
    }
    let class = if decides.is_none() { "ln15 best" } else { "ln15" };
    drawing.rect((left, top), (width, 30), 4, format!("{class} nofill"));
    drawing.line((cells[1], top), (cells[1], top + 30), "hair");
    drawing.line((cells[2], top), (cells[2], top + 30), "hair");
    if decides.is_none() {
        drawing.centred((x, top + 44), Phrase::key("page.vote.best"), "t11 b goodt");
    }
    drawing
}

/// How much a server is raised: the leader is.
fn lift(server: &Server) -> i32 {
    if server.role == Role::Leading && !server.life.is_gone() { 6 } else { 0 }
}

fn living((x, y): (i32, i32), server: &Server) -> Drawing {
    let mut drawing = Drawing::new();
    let up = lift(server);
    let class = match (server.role, server.life) {
        (_, Life::Frozen) => "obj frozen",
        (Role::Observing, _) => "obj dotted",
        _ => "obj",
    };
    if up > 0 {
        drawing.line((x - HALF + 4, y + HALF), (x + HALF - 4, y + HALF), "hair");
    }
    drawing.rect((x - HALF, y - HALF - up), (52, 52), 9, class);
    if up > 0 {
        drawing.rect((x - HALF + 4, y - HALF + 4 - up), (44, 44), 5, "ln1 nofill");
    }
    drawing.centred((x, y + 10 - up), Phrase::raw(letter(server.role)), "role");
    drawing
}

/// The square with a bitten corner, tilted.
fn dead((x, y): (i32, i32)) -> Drawing {
    const BITTEN: &str = "M9 0H22l3 8l8 -1l2 9l8 1l2 7l7 2V43a9 9 0 0 1 -9 9H9a9 9 0 0 1 -9 -9V9\
                          a9 9 0 0 1 9 -9Z";
    let mut inner = Drawing::new();
    inner.path((x - HALF, y - HALF), BITTEN, "obj dead");
    inner.path((x - HALF, y - HALF), BITTEN, "hatchfill");
    let mut drawing = Drawing::new();
    drawing.turned((x, y + HALF), 60, inner);
    drawing
}

/// What is wrong with a server's machine, at the corners of its square.
pub fn ailing((x, y): (i32, i32), half: i32, ails: Ails) -> Drawing {
    let mut drawing = Drawing::new();
    if ails.room == Room::Full || ails.slowed_by > Span::ZERO {
        drawing.over(disk((x - half, y + half), ails));
    }
    if ails.clock != 100 {
        drawing.over(clock((x - half, y - half), ails));
    }
    drawing
}

/// A disk that is full, or one that is slow: the same, empty.
pub fn disk(at: (i32, i32), ails: Ails) -> Drawing {
    let mut drawing = Drawing::new();
    drawing.path(at, "M-8 -5v10c0 4.5 16 4.5 16 0v-10c0 -4.5 -16 -4.5 -16 0z", "obj buckle");
    if ails.room == Room::Full {
        drawing.path(at, "M-8 -5v10c0 4.5 16 4.5 16 0v-10c0 4.5 -16 4.5 -16 0z", "inkfill");
    }
    drawing.path(at, "M-8 -5c0 4.5 16 4.5 16 0", "ln1");
    drawing
}

/// A clock that is ahead of twelve because it goes too fast, or behind because it goes too slow.
pub fn clock(at: (i32, i32), ails: Ails) -> Drawing {
    let mut drawing = Drawing::new();
    drawing.circle(at, 85, "obj buckle");
    let ahead = ails.clock > 100;
    let wedge = if ahead { "M0 0v-6a6 6 0 0 1 6 6z" } else { "M0 0v-6a6 6 0 0 0 -6 6z" };
    drawing.path(at, wedge, "inkfill");
    drawing
}

/// The letter that can be read from the last row.
pub fn letter(role: Role) -> &'static str {
    match role {
        Role::Alone => "S",
        Role::Leading => "L",
        Role::Following => "F",
        Role::Observing => "O",
        Role::Looking => "?",
    }
}

fn words((x, y): (i32, i32), server: &Server, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    let gone = if server.life.is_gone() { " gonet" } else { "" };
    let left = x + HALF + 10;
    drawing.text((left, y - 8), Phrase::raw(&server.name), format!("name{gone}"));
    let second = if server.life.is_gone() { " gonet" } else { " i2" };
    drawing.text((left, y + 7), standing(server), format!("t11{second}"));
    if plate.minor && !server.life.is_gone() {
        drawing.text((left, y + 21), server.last.clone(), "t11 i3");
    }
    drawing
}

/// What a server is about, in words.
pub fn standing(server: &Server) -> Phrase {
    let key = match (server.life, server.role) {
        (Life::Killed, _) => "page.life.killed",
        (Life::GaveUp, _) => "page.life.gave-up",
        (Life::Stopped, _) => "page.life.stopped",
        (Life::Frozen, _) => "page.life.frozen",
        (_, Role::Alone) => "page.role.alone",
        (_, Role::Leading) => "page.role.leader",
        (_, Role::Following) => "page.role.follower",
        (_, Role::Observing) => "page.role.observer",
        (_, Role::Looking) => "page.role.looking",
    };
    Phrase::key(key)
}

/// The belt: a capsule between two ends, closed by a buckle when a majority is together.
pub fn belt(ends: (i32, i32), y: i32, r: i32, ensemble: &Ensemble) -> Drawing {
    if ensemble.leads { closed(ends, y, r) } else { open(ends, y, r, ensemble) }
}

fn closed((x0, x1): (i32, i32), y: i32, r: i32) -> Drawing {
    let mut drawing = Drawing::new();
    let buckle = x1 - 150 * (x1 - x0) / 540;
    let d = format!(
        "M{buckle} {}H{x0}a{r} {r} 0 0 1 0 -{}H{x1}a{r} {r} 0 0 1 0 {}H{}",
        y + r,
        2 * r,
        2 * r,
        buckle + 13
    );
    drawing.path((0, 0), d, "belt");
    drawing.path(
        (buckle, y + r),
        "M2 -4.5h9a2 2 0 0 1 2 2v5a2 2 0 0 1 -2 2h-9a2 2 0 0 1 -2 -2v-5\
                                   a2 2 0 0 1 2 -2z",
        "obj buckle",
    );
    drawing.path((buckle, y + r), "M6.5 -4.5v9", "ln1");
    drawing
}

/// The open belt: solid for every vote that agrees, the rest dotted. Its path starts at the
/// middle of the top and runs around by the left.
fn open((x0, x1): (i32, i32), y: i32, r: i32, ensemble: &Ensemble) -> Drawing {
    let mut drawing = Drawing::new();
    let middle = (x0 + x1) / 2;
    let d = format!(
        "M{middle} {}H{x0}a{r} {r} 0 0 0 0 {}H{x1}a{r} {r} 0 0 0 0 -{}H{middle}",
        y - r,
        2 * r,
        2 * r
    );
    drawing.path((0, 0), d.clone(), "belt beltgap");
    let share = ensemble.together * 100 / ensemble.voters.max(1);
    if share > 0 {
        drawing.path((0, 0), d, format!("belt part{}", share / 20 * 20));
    }
    drawing.path((middle, y - r), dot(25), "inkfill");
    drawing
}

/// A small disc as a path, its radius in tenths.
fn dot(r: i32) -> String {
    let (radius, twice) = (tenths(r), tenths(2 * r));
    format!("M-{radius} 0a{radius} {radius} 0 1 0 {twice} 0a{radius} {radius} 0 1 0 -{twice} 0z")
}
