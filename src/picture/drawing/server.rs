//! The ensemble: its servers, and the belt around those that are together.
//!
//! *Invariant:* labels of all servers stand on one base line, also that of the raised leader.

use crate::picture::shape::{Drawing, tenths};
use crate::picture::stage::{Ensemble, Life, Role, Server};
use crate::text::Phrase;

use super::Light;
use super::plate::Plate;

/// Half of a server's side.
const HALF: i32 = 26;

/// A server's square with its letter, its name and its two lines.
pub fn server(at: (i32, i32), server: &Server, light: Light, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    if server.life.is_gone() {
        drawing.over(dead(at, server));
    } else {
        drawing.over(living(at, server));
    }
    if light == Light::Lit {
        drawing.rect((at.0 - 31, at.1 - 31 - lift(server)), (62, 62), 13, "now");
    }
    if plate.server_words {
        drawing.over(words(at, server, plate));
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
fn dead((x, y): (i32, i32), server: &Server) -> Drawing {
    const BITTEN: &str = "M9 0H22l3 8l8 -1l2 9l8 1l2 7l7 2V43a9 9 0 0 1 -9 9H9a9 9 0 0 1 -9 -9V9\
                          a9 9 0 0 1 9 -9Z";
    let mut inner = Drawing::new();
    inner.path((x - HALF, y - HALF), BITTEN, "obj dead");
    inner.path((x - HALF, y - HALF), BITTEN, "hatchfill");
    inner.centred((x - 2, y + 10), Phrase::raw(letter(server.role)), "role gonet");
    let mut drawing = Drawing::new();
    drawing.turned((x, y + HALF), 60, inner);
    drawing
}

/// The letter that can be read from the last row.
pub fn letter(role: Role) -> &'static str {
    match role {
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
        (Life::Stopped, _) => "page.life.stopped",
        (Life::Frozen, _) => "page.life.frozen",
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
