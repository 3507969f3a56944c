//! A session: its ring, and the thread that hangs between its server and its owner.
//!
//! *Invariant:* the ring's figure and its arc say the same time.

use crate::picture::shape::{Drawing, tenths};
use crate::picture::stage::{Age, Session, Thread};
use crate::picture::story;
use crate::text::Phrase;

use super::plate::Plate;
use super::{Light, plain_seconds, seconds};

/// A session's ring at its seat, with the line down to its owner and its words.
pub fn session(
    at: (i32, i32),
    below: i32,
    session: &Session,
    light: Light,
    plate: &Plate,
) -> Drawing {
    let mut drawing = Drawing::new();
    let radius = plate.ring;
    if session.thread == Thread::Snapped {
        drawing.over(snapped(at, radius));
        return drawing;
    }
    let stem = if light == Light::Lit { "now" } else { "ln1" };
    drawing.line((at.0, at.1 + radius), (at.0, below), stem);
    drawing.over(ring(at, radius, session, light));
    if light == Light::Lit {
        drawing.circle(at, radius * 10 + 65, "now");
    }
    drawing.over(words(at, session, light, plate));
    drawing
}

/// The same without words, where there is no room for any.
pub fn brief(at: (i32, i32), below: i32, session: &Session, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    if session.thread == Thread::Snapped {
        return snapped(at, plate.ring);
    }
    drawing.line((at.0, at.1 + plate.ring), (at.0, below), "ln1");
    drawing.over(ring(at, plate.ring, session, Light::Plain));
    drawing
}

/// The ring alone: track, rest, the notch where the last third begins, the seconds.
pub fn ring(at: (i32, i32), radius: i32, session: &Session, light: Light) -> Drawing {
    let mut drawing = Drawing::new();
    drawing.circle(at, radius * 10, "ringtrack");
    if session.thread == Thread::Held {
        drawing.circle(at, radius * 10, "ring held");
        return drawing;
    }
    let waning = session.rest() < 333;
    let class = match light {
        Light::Lit => "ring sel",
        Light::Plain if waning => "ring wane",
        Light::Plain => "ring",
    };
    drawing.ring(at, radius, session.rest(), class);
    drawing.path(at, notch(radius), "ln1");
    let label = if light == Light::Lit { "ringt rub" } else { "ringt" };
    let seconds = match radius < 16 && session.left >= 100 {
        true => (session.left / 10).to_string(),
        false => plain_seconds(session.left),
    };
    drawing.centred((at.0, at.1 + 4), Phrase::raw(seconds), label);
    drawing
}

/// The notch at eight o'clock: -sin 60° and cos 60° in thousandths.
fn notch(radius: i32) -> String {
    let point = |thousandths: i32| {
        let (x, y) = (thousandths * 866 / 100_000, thousandths * 500 / 100_000);
        format!("-{} {}", tenths(x), tenths(y))
    };
    format!("M{}L{}", point(radius * 1000 - 3250), point(radius * 1000 + 3250))
}

fn words((x, y): (i32, i32), session: &Session, light: Light, plate: &Plate) -> Drawing {
    let mut drawing = Drawing::new();
    let left = x + plate.ring + 9;
    if session.thread == Thread::Held {
        drawing.text((left, y + 4), Phrase::key("page.session.held"), "t11 i2");
    } else if light == Light::Lit {
        let words = Phrase::key("page.session.left")
            .with_phrase("left", seconds(session.left))
            .with_phrase("timeout", seconds(session.timeout));
        drawing.text((left + 7, y - 3), words, "t13 b rub");
        drawing.text((left + 7, y + 12), ends(session), "t11 i2");
    } else {
        let words = match session.age {
            Age::Only if plate.minor && !plate.is_strung() => session.called.clone(),
            Age::Only if session.is_local() => {
                Phrase::key("page.session.brief-local").with("owner", story::short(&session.owner))
            }
            Age::Only => {
                Phrase::key("page.session.brief").with("owner", story::short(&session.owner))
            }
            Age::Old => Phrase::key("page.session.older"),
            Age::New => Phrase::key("page.session.newer"),
        };
        drawing.text((left, y + 4), words, "t11 i2");
    }
    drawing
}

/// When the leader ends the session: it counts in ticks, so that is all that can be promised.
pub fn ends(session: &Session) -> Phrase {
    match session.ends {
        Some(ends) => Phrase::key("page.session.ends").with_phrase("at", seconds(ends)),
        None => Phrase::nothing(),
    }
}

/// What remains of a session that is over: the end of its thread.
fn snapped((x, y): (i32, i32), radius: i32) -> Drawing {
    let mut drawing = Drawing::new();
    drawing.circle((x, y), radius * 10, "ring over");
    drawing.path((x, y), "M-4 -4l8 8m0 -8l-8 8", "ln15 gone");
    drawing
}

/// The thread from a server's foot to a ring, given the ring's centre.
pub fn thread(
    from: (i32, i32),
    ring: (i32, i32),
    session: &Session,
    light: Light,
    plate: &Plate,
) -> Drawing {
    let mut drawing = Drawing::new();
    let top = (ring.0, ring.1 - plate.ring);
    match session.thread {
        Thread::Taut => drawing.line(from, top, "thread"),
        Thread::Held => drawing.over(held_end(top)),
        Thread::Snapped => drawing.over(snapped_end(from)),
        Thread::Slack => {
            let plain = if light == Light::Lit { "" } else { " plain" };
            let (x, y) = (ring.0 - from.0, ring.1 - from.1);
            let d = if x.abs() > 90 { sagging(x, y - plate.ring) } else { slack(x, y) };
            drawing.path(from, d, format!("thread slack{plain}"));
        }
    }
    drawing
}

/// What hangs above a ring whose time nobody counts.
fn held_end(top: (i32, i32)) -> Drawing {
    let mut drawing = Drawing::new();
    drawing.path(top, "M0 0c-3 -9 8 -12 4 -22", "thread lost");
    drawing
}

/// What hangs at a server of a session that is over.
fn snapped_end(foot: (i32, i32)) -> Drawing {
    let mut drawing = Drawing::new();
    drawing.path(foot, "M0 0c4 6 -5 10 -1 18", "thread lost");
    drawing
}

/// The ring of a client's session, with its line down to the client, and whose it is.
pub fn client_ring(
    (at, radius): ((i32, i32), i32),
    stem: Option<i32>,
    session: &Session,
    light: Light,
) -> Drawing {
    let mut drawing = Drawing::new();
    if session.thread == Thread::Snapped {
        return snapped(at, radius);
    }
    let (line, words) = match light {
        Light::Lit => ("now", "t11 b rub"),
        Light::Plain => ("ln1", "t11 i2"),
    };
    if let Some(below) = stem {
        drawing.line((at.0, at.1 + radius), (at.0, below), line);
    }
    drawing.over(ring(at, radius, session, light));
    if stem.is_some() || session.age == Age::Old {
        let name = story::short(&session.owner);
        let words_of = match session.age {
            Age::Old => Phrase::key("page.session.left-behind").with("owner", name),
            Age::Only if session.is_local() => {
                Phrase::key("page.session.brief-local").with("owner", name)
            }
            Age::Only | Age::New => Phrase::raw(name),
        };
        drawing.text((at.0 + radius + 6, at.1 + 4), words_of, words);
    }
    drawing
}

/// A thread that goes on past the brokers, by the corners of its way.
pub fn string(way: &[(i32, i32)], session: &Session, light: Light) -> Drawing {
    let mut drawing = Drawing::new();
    let ([from, ..], Some(end)) = (way, way.last()) else { return drawing };
    let class = match session.thread {
        Thread::Taut => "thread",
        Thread::Held => return held_end(*end),
        Thread::Snapped => return snapped_end(*from),
        Thread::Slack if light == Light::Lit => "thread slack",
        Thread::Slack => "thread slack plain",
    };
    let mut d = "M0 0".to_string();
    for (a, b) in way.iter().zip(&way[1..]) {
        let ((x, y), (to, down)) = ((a.0 - from.0, a.1 - from.1), (b.0 - from.0, b.1 - from.1));
        match x == to {
            true => d += &format!("V{down}"),
            // The first leg keeps close to the servers, above the rings of the brokers.
            false => {
                let middle = if y == 0 { 16.min(down / 2) } else { (y + down) / 2 };
                d += &format!("C{x} {middle} {to} {middle} {to} {down}");
            }
        }
    }
    drawing.path(*from, d, class);
    drawing
}

/// A thread that hangs from afar: it drops from the foot and comes to the ring from above.
fn sagging(x: i32, y: i32) -> String {
    format!("M0 0C{} {} {} {} {x} {y}", x / 12, y - 8, x * 3 / 5, y - 6)
}

/// A thread that hangs: it leaves the foot, sags to the left of the ring, and comes back to it.
fn slack(x: i32, y: i32) -> String {
    format!(
        "M0 0C-6 {} {} {} {} {}C{} {} {} {} {} {}",
        y - 30,
        x - 72,
        y - 22,
        x - 68,
        y - 2,
        x - 65,
        y + 14,
        x - 44,
        y + 14,
        x - 23,
        y + 1
    )
}
