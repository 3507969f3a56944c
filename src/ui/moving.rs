//! The canvas above the stage: it paints what moves, every frame, as a function of the time.
//!
//! A message stands at `(now - sent) / (lands - sent)` of its way. The canvas is silent: what a
//! message says is told by the sentence, the lanes and the inspector.
//! *Invariant:* nothing is painted when nothing has moved since the last frame.

use leptos::html::Canvas;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, MouseEvent};

use crate::picture::drawing::plate::Plate;
use crate::picture::drawing::route;
use crate::picture::flight::{self, Ink, Moving, Way};
use crate::picture::target::Target;
use crate::ui::mirror::Mirror;
use crate::ui::scene::Scene;
use crate::ui::view::{Motion, View};

/// More than so many alike on one way are painted as one with a count.
const BUNDLE: usize = 6;

/// Keeps a canvas painted as long as it is there. The answer finds the message under a pointer.
pub fn keep_painted(
    canvas: NodeRef<Canvas>,
    (view, scene, mirror): (View, Scene, Mirror),
    plate: Memo<Plate>,
) -> impl Fn(&MouseEvent) -> Option<u64> + Copy {
    let painter = Painter { canvas, view, scene, mirror, plate };
    painter.frame(None);
    move |event| painter.under(event)
}

#[derive(Clone, Copy)]
struct Painter {
    canvas: NodeRef<Canvas>,
    view: View,
    scene: Scene,
    mirror: Mirror,
    plate: Memo<Plate>,
}

/// What a painting depends on.
#[derive(Clone, PartialEq)]
struct Seen {
    now: u64,
    position: usize,
    size: (u32, u32),
    theme: &'static str,
    selected: Option<Target>,
}

impl Painter {
    fn frame(self, last: Option<Seen>) {
        request_animation_frame(move || {
            let Some(canvas) = self.canvas.try_get_untracked() else { return };
            let seen = canvas.as_ref().map(|canvas| self.seen(canvas));
            if let Some(canvas) = canvas.filter(|_| seen != last) {
                self.paint(&canvas);
            }
            self.frame(seen);
        });
    }

    fn seen(self, canvas: &HtmlCanvasElement) -> Seen {
        let (now, position) = self.mirror.with(|lab| (lab.moment().at.as_micros(), lab.position()));
        let size = (canvas.client_width().unsigned_abs(), canvas.client_height().unsigned_abs());
        let theme = self.view.theme.get_untracked().tag();
        Seen { now, position, size, theme, selected: self.view.selected.get_untracked() }
    }

    fn paint(self, canvas: &HtmlCanvasElement) {
        let Some(paper) = Paper::lay(canvas, &self.plate.get_untracked()) else { return };
        let now = self.mirror.now().as_micros();
        let flights = self.mirror.cluster(flight::flights);
        let still = self.view.motion.get_untracked() == Motion::Still;
        let selected = self.view.selected.get_untracked();
        let large = self.plate.with_untracked(|plate| !plate.minor);
        for (at, way, moving, count) in self.placed(&flights, now, still) {
            if still {
                paper.arrow(&way);
            }
            paper.disc(at, moving, count, large);
            if selected == Some(Target::Event(moving.id)) {
                paper.ring(at);
            }
        }
    }

    /// The messages with the places where they are painted, and their ways.
    fn placed(self, flights: &[Moving], now: u64, still: bool) -> Vec<Placed<'_>> {
        self.scene.stage.with_untracked(|stage| {
            let plate = self.plate.get_untracked();
            let placed = bundled(flights).into_iter().filter_map(|(moving, count)| {
                let way = route::route(stage, &plate, &moving.from, &moving.to)?;
                let part = if still { 500 } else { flown(moving, now) };
                Some((route::along(&way, part), way, moving, count))
            });
            placed.collect()
        })
    }

    /// The message under the pointer.
    fn under(self, event: &MouseEvent) -> Option<u64> {
        let canvas = self.canvas.get_untracked()?;
        let rect = canvas.get_bounding_client_rect();
        let (scale, left, top) = fit(&canvas, &self.plate.get_untracked())?;
        let x = (f64::from(event.client_x()) - rect.left() - left) / scale;
        let y = (f64::from(event.client_y()) - rect.top() - top) / scale;
        let flights = self.mirror.cluster(flight::flights);
        let still = self.view.motion.get_untracked() == Motion::Still;
        let placed = self.placed(&flights, self.mirror.now().as_micros(), still);
        let away = |at: (i32, i32)| (f64::from(at.0) - x).hypot(f64::from(at.1) - y);
        let near = placed.into_iter().find(|(at, ..)| away(*at) < REACH);
        near.map(|(_, _, moving, _)| moving.id)
    }
}

/// How near a pointer must come to a message to mean it.
const REACH: f64 = 12.0;

/// A message with its place, its way, and how many it stands for.
type Placed<'a> = ((i32, i32), Vec<(i32, i32)>, &'a Moving, usize);

/// How much of its way a message has behind it, in thousandths; a held one waits half way.
fn flown(moving: &Moving, now: u64) -> i32 {
    let Some(lands_at) = moving.lands_at else { return 500 };
    let whole = lands_at.saturating_sub(moving.sent_at).max(1);
    let gone = now.saturating_sub(moving.sent_at).min(whole);
    i32::try_from(gone * 1000 / whole).expect("a part of a thousand")
}

/// One message of each kind on each way, and how many it stands for where they are too many.
fn bundled(flights: &[Moving]) -> Vec<(&Moving, usize)> {
    let alike = |a: &Moving, b: &Moving| {
        (&a.from, &a.to, a.letter, a.way) == (&b.from, &b.to, b.letter, b.way)
    };
    let count = |moving: &Moving| flights.iter().filter(|other| alike(moving, other)).count();
    let is_first = |number: usize, moving: &Moving| {
        !flights[..number].iter().any(|other| alike(moving, other))
    };
    let kept = flights.iter().enumerate().filter_map(|(number, moving)| {
        let count = count(moving);
        let shown = count <= BUNDLE || is_first(number, moving);
        shown.then_some((moving, if count > BUNDLE { count } else { 1 }))
    });
    kept.collect()
}

/// A canvas made ready: cleared, scaled to the plate, its inks read from the style sheet.
struct Paper {
    context: CanvasRenderingContext2d,
    ink: String,
    data: String,
    plate: String,
    gone: String,
    rubric: String,
}

/// How the plate lies on a canvas: its scale, and where its left upper corner is.
fn fit(canvas: &HtmlCanvasElement, plate: &Plate) -> Option<(f64, f64, f64)> {
    let (width, height) = (f64::from(canvas.client_width()), f64::from(canvas.client_height()));
    let (w, h) = (f64::from(plate.size.0), f64::from(plate.size.1));
    let scale = (width / w).min(height / h);
    (scale > 0.0).then(|| (scale, (width - w * scale) / 2.0, (height - h * scale) / 2.0))
}

impl Paper {
    fn lay(canvas: &HtmlCanvasElement, plate: &Plate) -> Option<Paper> {
        let (width, height) = (f64::from(canvas.client_width()), f64::from(canvas.client_height()));
        let (scale, left, top) = fit(canvas, plate)?;
        let dots = window().device_pixel_ratio();
        canvas.set_width((width * dots) as u32);
        canvas.set_height((height * dots) as u32);
        let context = canvas.get_context("2d").ok().flatten()?;
        let context: CanvasRenderingContext2d = context.dyn_into().ok()?;
        let put =
            context.set_transform(scale * dots, 0.0, 0.0, scale * dots, left * dots, top * dots);
        put.ok()?;
        let style = window().get_computed_style(canvas).ok().flatten()?;
        let ink = |name: &str| style.get_property_value(name).unwrap_or_default();
        let (data, plate, gone, rubric) =
            (ink("--data"), ink("--plate"), ink("--gone"), ink("--rubric"));
        Some(Paper { context, ink: ink("--ink"), data, plate, gone, rubric })
    }

    /// A message: a disc with its letter, filled if it asks, hollow if it answers.
    fn disc(&self, at: (i32, i32), moving: &Moving, count: usize, large: bool) {
        let context = &self.context;
        let ink = match (moving.lands_at, moving.ink) {
            (None, _) => &self.gone,
            (_, Ink::Ensemble) => &self.ink,
            (_, Ink::Data) => &self.data,
        };
        let (x, y) = (f64::from(at.0), f64::from(at.1));
        let radius = if count > 1 { 11.0 } else { 8.5 } + if large { 1.5 } else { 0.0 };
        let (fill, words) = match moving.way {
            Way::Request => (ink, &self.plate),
            Way::Response => (&self.plate, ink),
        };
        context.begin_path();
        // A circle's arguments are always in range.
        let _ = context.arc(x, y, radius, 0.0, std::f64::consts::TAU);
        context.set_fill_style_str(fill);
        context.fill();
        context.set_stroke_style_str(ink);
        context.set_line_width(1.5);
        context.stroke();
        context.set_fill_style_str(words);
        let size = if large { "12.6" } else { "10.5" };
        context.set_font(&format!("700 {size}px Helvetica Neue, Liberation Sans, sans-serif"));
        context.set_text_align("center");
        let said = match count {
            1 => moving.letter.to_string(),
            count => format!("{}{count}", moving.letter),
        };
        // Text that cannot be painted is left out.
        let _ = context.fill_text(&said, x, y + if large { 4.6 } else { 3.9 });
    }

    /// The circle around the selected message.
    fn ring(&self, at: (i32, i32)) {
        self.context.begin_path();
        // A circle's arguments are always in range.
        let _ =
            self.context.arc(f64::from(at.0), f64::from(at.1), 13.0, 0.0, std::f64::consts::TAU);
        self.context.set_stroke_style_str(&self.rubric);
        self.context.stroke();
    }

    /// The way of a message that does not travel: a still arrow.
    fn arrow(&self, way: &[(i32, i32)]) {
        let context = &self.context;
        let [.., before, end] = way else { return };
        context.begin_path();
        for (number, (x, y)) in way.iter().enumerate() {
            let (x, y) = (f64::from(*x), f64::from(*y));
            if number == 0 { context.move_to(x, y) } else { context.line_to(x, y) }
        }
        let (dx, dy) = (f64::from(end.0 - before.0), f64::from(end.1 - before.1));
        let length = dx.hypot(dy).max(1.0);
        let (ux, uy) = (dx / length * 6.0, dy / length * 6.0);
        let (x, y) = (f64::from(end.0), f64::from(end.1));
        context.move_to(x - ux - uy * 0.6, y - uy + ux * 0.6);
        context.line_to(x, y);
        context.line_to(x - ux + uy * 0.6, y - uy - ux * 0.6);
        context.set_stroke_style_str(&self.ink);
        context.set_line_width(1.5);
        context.stroke();
    }
}
