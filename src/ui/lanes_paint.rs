//! The pen of the lanes: puts a lanes picture on a canvas, in the plate's tokens.
//!
//! *Invariant:* no place or meaning is decided here, only how a stroke of the picture looks.

use leptos::prelude::{document, window};
use web_sys::CanvasRenderingContext2d as Pen;

use super::view::View;
use crate::picture::lanes::{
    Arrow, ArrowKind, Band, LANE, LanesPicture, MarkDrawn, Row, Stroke, TOP,
};

/// The tokens, as the style sheet has them now.
pub struct Ink {
    paper: String,
    paper_2: String,
    ink: String,
    ink_2: String,
    ink_3: String,
    draw: String,
    line: String,
    hair: String,
    rubric: String,
    rubric_wash: String,
    data: String,
    data_wash: String,
    good: String,
    cause: String,
    gone: String,
    gone_wash: String,
    level: String,
    /// Time runs downward.
    turned: bool,
    /// What is now, and what the reader has done, while nothing is selected; then they are ink.
    now: String,
}

impl Ink {
    /// Reads the tokens of the theme in force. One thing is rubric: what is selected, else now.
    pub fn read(turned: bool, selects: bool) -> Ink {
        let root = document().document_element();
        let style = root.and_then(|root| window().get_computed_style(&root).ok().flatten());
        let token = |name: &str| {
            let value = style.as_ref().and_then(|style| style.get_property_value(name).ok());
            value.unwrap_or_default().trim().to_owned()
        };
        Ink {
            paper: token("--paper"),
            paper_2: token("--paper-2"),
            ink: token("--ink"),
            ink_2: token("--ink-2"),
            ink_3: token("--ink-3"),
            draw: token("--draw"),
            line: token("--line"),
            hair: token("--hair"),
            rubric: token("--rubric"),
            rubric_wash: token("--rubric-wash"),
            data: token("--data"),
            data_wash: token("--data-wash"),
            good: token("--good"),
            cause: token("--cause"),
            gone: token("--gone"),
            gone_wash: token("--gone-wash"),
            level: token("--paper-3"),
            turned,
            now: token(if selects { "--ink" } else { "--rubric" }),
        }
    }
}

/// Paints a picture on a canvas of this size. `lit` is the top of the selected lane.
pub fn paint(
    pen: &Pen,
    ink: &Ink,
    picture: &LanesPicture,
    (width, height): (i32, i32),
    lit: Option<i32>,
    view: View,
) {
    let (width, height) = (f64::from(width), f64::from(height));
    let now = px(picture.now);
    pen.set_fill_style_str(&ink.paper);
    pen.fill_rect(0.0, 0.0, width, height);
    pen.set_fill_style_str(&ink.paper_2);
    pen.fill_rect(now, px(TOP) - 3.0, width - now, height);
    if let Some(top) = lit {
        pen.set_fill_style_str(&ink.rubric_wash);
        pen.fill_rect(0.0, px(top), width, px(LANE));
    }
    for rule in &picture.rules {
        line(pen, &ink.hair, 1.0, (0.0, px(*rule)), (width, px(*rule)));
    }
    ruler(pen, ink, picture, width);
    for row in &picture.rows {
        lane(pen, ink, row, (lit == Some(row.top), now), view);
    }
    for mark in picture.marks.iter().filter(|mark| !mark.by_you) {
        hop(pen, ink, mark);
    }
    for arrow in &picture.arrows {
        arc(pen, ink, arrow);
    }
    for mark in picture.marks.iter().filter(|mark| mark.by_you) {
        diamond(pen, ink, mark, lit);
    }
    cursor(pen, ink, &picture.clock, now, height);
}

fn px(tenths: i32) -> f64 {
    f64::from(tenths) / 10.0
}

fn line(pen: &Pen, colour: &str, width: f64, from: (f64, f64), to: (f64, f64)) {
    pen.set_stroke_style_str(colour);
    pen.set_line_width(width);
    pen.begin_path();
    pen.move_to(from.0, from.1);
    pen.line_to(to.0, to.1);
    pen.stroke();
}

fn dashed(pen: &Pen, dashes: &[f64], draw: impl FnOnce()) {
    let list: js_sys::Array = dashes.iter().map(|dash| js_sys::Number::from(*dash)).collect();
    let _ = pen.set_line_dash(&list);
    draw();
    let _ = pen.set_line_dash(&js_sys::Array::new());
}

/// Words at a place; they stay upright where time runs downward.
fn words(pen: &Pen, (ink, colour): (&Ink, &str), font: &str, text: &str, at: (f64, f64)) {
    pen.set_fill_style_str(colour);
    pen.set_font(font);
    if !ink.turned {
        let _ = pen.fill_text(text, at.0, at.1);
        return;
    }
    pen.save();
    let _ = pen.translate(at.0, at.1);
    let _ = pen.transform(0.0, 1.0, 1.0, 0.0, 0.0, 0.0);
    let _ = pen.fill_text(text, 0.0, 4.0);
    pen.restore();
}

const SMALL: &str = "11px Helvetica Neue, Segoe UI, Roboto, Liberation Sans, Noto Sans, sans-serif";
const CLOCK: &str =
    "bold 12px Helvetica Neue, Segoe UI, Roboto, Liberation Sans, Noto Sans, sans-serif";

fn ruler(pen: &Pen, ink: &Ink, picture: &LanesPicture, width: f64) {
    pen.set_text_align("center");
    let base = px(TOP) - 3.0;
    let away = if ink.turned { 15.5 } else { 13.0 };
    for tick in &picture.ticks {
        let x = px(tick.x);
        let (top, colour) = match tick.label {
            Some(_) if ink.turned => (base - 4.0, &ink.ink),
            Some(_) => (base - 8.0, &ink.ink),
            None => (base - 5.0, &ink.line),
        };
        line(pen, colour, 1.0, (x, top), (x, base));
        if let Some(label) = &tick.label {
            words(pen, (ink, &ink.ink_2), SMALL, label, (x, base - away));
        }
    }
    pen.set_text_align("left");
    line(pen, &ink.ink, 1.0, (0.0, base), (width, base));
}

fn lane(pen: &Pen, ink: &Ink, row: &Row, (is_lit, now): (bool, f64), view: View) {
    let middle = px(row.top + LANE / 2);
    for stroke in &row.strokes {
        match stroke {
            Stroke::Band { from, to, kind } => band(pen, ink, (px(*from), px(*to)), middle, *kind),
            Stroke::Level(points) => level(pen, ink, points, middle, is_lit),
            Stroke::Expected { level, empty_at, from } => {
                expected(pen, ink, (*level, px(*from), px(*empty_at)), middle, is_lit);
            }
            Stroke::Crown { x, words: said } => {
                crown(pen, ink, px(*x), middle);
                // Between lanes that run downward there is no room for words.
                if !ink.turned {
                    crowned(pen, ink, &view.say(said), (px(*x), middle), now);
                }
            }
        }
    }
}

/// Who has the crown: behind it, or before it where the words would reach into the future.
fn crowned(pen: &Pen, ink: &Ink, said: &str, (x, middle): (f64, f64), now: f64) {
    // Small letters are no wider than this, nor are signs that fill a square.
    let wide = |letter: char| if letter.is_ascii() { 6.0 } else { 11.0 };
    let width: f64 = said.chars().map(wide).sum();
    let behind = x + 30.0;
    let left = if behind + width <= now { behind } else { (x - 14.0 - width).max(2.0) };
    words(pen, (ink, &ink.ink), SMALL, said, (left, middle + 4.0));
}

fn band(pen: &Pen, ink: &Ink, (from, to): (f64, f64), middle: f64, kind: Band) {
    let width = (to - from).max(1.0);
    match kind {
        Band::Follows => framed(pen, ink, (from, middle - 4.0, width, 8.0), None),
        Band::Leads => {
            framed(pen, ink, (from, middle - 4.0, width, 8.0), None);
            pen.set_fill_style_str(&ink.draw);
            pen.fill_rect(from + 2.5, middle - 1.5, (width - 5.0).max(1.0), 3.0);
        }
        // As high as the words in it.
        Band::Held => framed(pen, ink, (from, middle - 7.0, width, 14.0), Some(&ink.level)),
        Band::Owns => framed(pen, ink, (from, middle - 4.0, width, 8.0), Some(&ink.data_wash)),
        Band::Looks | Band::Joins | Band::Frozen => {
            dashed(pen, &[2.0, 2.0], || {
                framed(pen, ink, (from, middle - 4.0, width, 8.0), Some(&ink.gone_wash));
            });
            hatch(pen, &ink.gone, (from, middle - 4.0, width, 8.0));
        }
        Band::Gone | Band::Vacant => dashed(pen, &[2.0, 3.0], || {
            line(pen, &ink.gone, 1.0, (from, middle), (to, middle));
        }),
        Band::Up(count) => {
            line(pen, &ink.draw, 1.0, (from, middle + 5.0), (to, middle + 5.0));
            pen.set_fill_style_str(&ink.data);
            for place in 0..count.min(3) {
                let top = middle + 3.0 - f64::from(place + 1) * 4.5;
                pen.fill_rect(from, top, width, 3.5);
            }
        }
    }
}

fn framed(pen: &Pen, ink: &Ink, (x, y, w, h): (f64, f64, f64, f64), fill: Option<&String>) {
    if let Some(fill) = fill {
        pen.set_fill_style_str(fill);
        pen.fill_rect(x, y, w, h);
    }
    pen.set_stroke_style_str(&ink.draw);
    pen.set_line_width(1.0);
    pen.stroke_rect(x, y, w, h);
}

fn hatch(pen: &Pen, colour: &str, (x, y, w, h): (f64, f64, f64, f64)) {
    let mut at = x;
    while at < x + w - h {
        line(pen, colour, 1.0, (at, y + h), (at + h, y));
        at += 6.0;
    }
}

fn level(pen: &Pen, ink: &Ink, points: &[(i32, i32)], middle: f64, is_lit: bool) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    let base = middle + 6.0;
    pen.begin_path();
    pen.move_to(px(first.0), base);
    for (x, height) in points {
        pen.line_to(px(*x), base - f64::from(*height) * 0.012);
    }
    pen.line_to(px(last.0), base);
    pen.close_path();
    pen.set_fill_style_str(if is_lit { &ink.rubric_wash } else { &ink.level });
    pen.fill();
    pen.set_stroke_style_str(if is_lit { &ink.rubric } else { &ink.line });
    pen.set_line_width(1.0);
    pen.stroke();
}

fn expected(
    pen: &Pen,
    ink: &Ink,
    (level, from, empty_at): (i32, f64, f64),
    middle: f64,
    is_lit: bool,
) {
    let base = middle + 6.0;
    let colour = if is_lit { &ink.rubric } else { &ink.gone };
    dashed(pen, &[4.0, 3.0], || {
        let top = base - f64::from(level) * 0.012;
        line(pen, colour, 1.0, (from, top), (empty_at, base));
    });
    for (dx, dy) in [(3.5, 3.5), (3.5, -3.5)] {
        let at = (empty_at - dx, base - dy);
        line(pen, colour, 1.5, at, (empty_at + dx, base + dy));
    }
}

/// The crown; it stands upright where time runs downward.
fn crown(pen: &Pen, ink: &Ink, x: f64, middle: f64) {
    pen.save();
    let _ = pen.translate(x + 14.5, middle);
    if ink.turned {
        let _ = pen.transform(0.0, 1.0, 1.0, 0.0, 0.0, 0.0);
    }
    pen.begin_path();
    pen.move_to(-9.5, 5.0);
    for (x, y) in [(-9.5, -5.0), (-4.5, 0.0), (0.0, -7.0), (4.5, 0.0), (9.5, -5.0), (9.5, 5.0)] {
        pen.line_to(x, y);
    }
    pen.close_path();
    pen.set_fill_style_str(&ink.draw);
    pen.fill();
    pen.restore();
}

/// An event, and the message that brought it if its cause lies on another lane.
fn hop(pen: &Pen, ink: &Ink, mark: &MarkDrawn) {
    let at = (px(mark.at.0), px(mark.at.1));
    if let Some(from) = mark.from {
        line(pen, &ink.ink_3, 1.0, (px(from.0), px(from.1)), at);
    }
    dot(pen, &ink.ink, at, 2.5);
}

fn dot(pen: &Pen, colour: &str, at: (f64, f64), radius: f64) {
    pen.set_fill_style_str(colour);
    pen.begin_path();
    let _ = pen.arc(at.0, at.1, radius, 0.0, std::f64::consts::TAU);
    pen.fill();
}

fn diamond(pen: &Pen, ink: &Ink, mark: &MarkDrawn, lit: Option<i32>) {
    let (x, y) = (px(mark.at.0), px(mark.at.1));
    pen.begin_path();
    pen.move_to(x, y - 7.5);
    for (dx, dy) in [(7.5, 0.0), (0.0, 7.5), (-7.5, 0.0)] {
        pen.line_to(x + dx, y + dy);
    }
    pen.close_path();
    let its_own = lit.is_some_and(|top| (top..top + LANE).contains(&mark.at.1));
    pen.set_fill_style_str(if its_own { &ink.rubric } else { &ink.now });
    pen.fill();
    pen.set_stroke_style_str(&ink.paper);
    pen.set_line_width(1.0);
    pen.stroke();
}

fn arc(pen: &Pen, ink: &Ink, arrow: &Arrow) {
    let colour = match arrow.kind {
        ArrowKind::Cause => &ink.cause,
        ArrowKind::Effect => &ink.good,
    };
    let (from, to) = ((px(arrow.from.0), px(arrow.from.1)), (px(arrow.to.0), px(arrow.to.1)));
    pen.set_global_alpha(1.0 - 0.18 * f64::from(arrow.depth - 1));
    pen.set_stroke_style_str(colour);
    pen.set_line_width(1.5);
    pen.begin_path();
    pen.move_to(from.0, from.1);
    // What is drawn is past: a bend goes back in time, never into the future.
    let bend = if (to.0 - from.0).abs() < 12.0 { 14.0 } else { 0.0 };
    pen.bezier_curve_to(from.0 - bend, from.1, to.0 - bend, from.1, to.0, to.1);
    pen.stroke();
    dot(pen, colour, to, 3.0);
    pen.set_global_alpha(1.0);
}

fn cursor(pen: &Pen, ink: &Ink, clock: &str, now: f64, height: f64) {
    let (half, top, deep, base) =
        if ink.turned { (8.0, 0.0, 42.0, 21.0) } else { (30.0, 3.0, 16.0, 15.0) };
    line(pen, &ink.now, 1.5, (now, top + deep), (now, height));
    pen.set_fill_style_str(&ink.now);
    pen.fill_rect(now - half, top, half * 2.0, deep);
    pen.set_text_align("center");
    words(pen, (ink, &ink.paper), CLOCK, clock, (now, base));
    pen.set_text_align("left");
}
