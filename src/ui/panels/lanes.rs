//! Fig. 4, the lanes: time runs to the right (on a phone downward), one lane a thing, the cursor
//! where the future begins.
//!
//! Names are document, so that they can be read and pointed at; the bands are one canvas, painted
//! when something has moved. *Invariant:* what the canvas shows is said in the names as well.

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{
    CanvasRenderingContext2d, Element, HtmlCanvasElement, PointerEvent, ResizeObserver, WheelEvent,
};

use super::PanelHead;
use crate::kafka::znodes;
use crate::picture::chronicle::{Chronicle, Lane};
use crate::picture::ensemble::Run;
use crate::picture::lanes::{LanesPicture, PAST, Row, Window, lanes};
use crate::picture::stage::Broker;
use crate::picture::story;
use crate::picture::target::Target;
use crate::sim::{EventId, Moment, SimTime};
use crate::text::Phrase;
use crate::ui::keys::Act;
use crate::ui::lanes_paint::{Ink, paint};
use crate::ui::live::{follow, in_words, part_while, pushed, truth, words};
use crate::ui::mirror::{Mirror, use_mirror};
use crate::ui::scene::use_scene;
use crate::ui::view::{View, is_narrow, use_view};
use crate::ui::visit::use_visit;

/// Simulated microseconds per pixel at first: the plate's 80 pixels a second.
const SCALE: u64 = 12_500;
/// The finest and the coarsest scale.
const SCALES: (u64, u64) = (20, 2_000_000);

/// The lanes panel.
#[component]
pub fn Lanes(
    /// Does what a key means.
    act: impl Fn(Act) + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let (view, mirror, scene) = (use_view(), use_mirror(), use_scene());
    let chronicle = StoredValue::new(((0, 0), Chronicle::default()));
    let scale = RwSignal::new(SCALE);
    let size = RwSignal::new(Size { along: 1152, across: 276, turned: false });
    let canvas = NodeRef::<html::Canvas>::new();
    let picture = Memo::new(move |_| {
        mirror.track_trace();
        let _ = mirror.tenths();
        let window = window(view, mirror, scale.get(), size.get());
        scene.stage.with(|stage| picture(mirror, view, &stage.brokers, chronicle, window))
    });
    let seen = move || {
        let size = size.get_untracked();
        (window(view, mirror, scale.get_untracked(), size), size)
    };
    paint_when_changed(canvas, picture, (view, mirror), size);
    let room = words(move || format!("{}px", picture.with(|picture| picture.height / 10)));
    measure(canvas, size);
    let visit = use_visit();
    // While a guess is open, nothing shows what is to come.
    let cover = move || {
        let past = words(move || {
            size.track();
            format!("{}px", seen().0.past / 10)
        });
        view! { <p class="cover" style=("--past", past)>{view.label("visit.covered")}</p> }
    };
    let names = Memo::new(move |_| {
        picture.with(|picture| picture.rows.iter().map(row).collect::<Vec<_>>())
    });
    view! {
        <section class="lanes" id="lanes" style=("--room", room) aria-label=view.label("page.panel.lanes")>
            <PanelHead figure="page.figure.lanes" name="page.panel.lanes">
                <button class="btn bare" aria-keyshortcuts="P" aria-pressed=in_words(move || view.pinned.get().is_some())
                    title=view.label("page.key.pin") on:click=pushed(move || act(Act::Pin))>
                    {view.label("page.lanes.pin")}<kbd class="kbd">"P"</kbd>
                </button>
                <button class="btn bare" aria-keyshortcuts="F" aria-pressed=in_words(move || view.fit.get())
                    title=view.label("page.key.fit") on:click=pushed(move || act(Act::Fit))>
                    {view.label("page.lanes.fit")}<kbd class="kbd">"F"</kbd>
                </button>
            </PanelHead>
            <ul class="lane-names">
                <For each=move || names.get() key=|name| name.lane let:name>
                    <Name lane=name.lane names=names/>
                </For>
            </ul>
            <div class="lane-view">
                <canvas node_ref=canvas aria-hidden="true"
                    on:pointerdown=move |event| scrub(mirror, seen(), &event)
                    on:pointermove=move |event| {
                        if event.buttons() == 1 {
                            scrub(mirror, seen(), &event);
                        }
                    }
                    on:wheel=move |event| zoom(view, scale, &event)>
                </canvas>
                {part_while(move || visit.guess().is_some(), cover)}
            </div>
        </section>
    }
}

/// A lane's name and what it is now.
#[derive(Clone, PartialEq, Eq)]
struct Named {
    lane: Lane,
    name: Phrase,
    state: Phrase,
    top: i32,
    gone: bool,
    strong: bool,
}

fn row(row: &Row) -> Named {
    Named {
        lane: row.lane,
        name: row.name.clone(),
        state: row.state.clone(),
        top: row.top,
        gone: row.gone,
        strong: row.strong,
    }
}

#[component]
fn Name(
    /// Which lane.
    lane: Lane,
    /// All of them.
    names: Memo<Vec<Named>>,
) -> impl IntoView {
    let (view, mirror) = (use_view(), use_mirror());
    let named = Memo::new(move |_| {
        names.with(|names| names.iter().find(|named| named.lane == lane).cloned())
    });
    let target = target(mirror, lane);
    let is_selected = {
        let target = target.clone();
        truth(move || target.is_some() && view.selected.get() == target)
    };
    let read = move |part: fn(&Named) -> &Phrase| {
        let said = move |named: &Named| view.say(part(named));
        words(move || named.with(|named| named.as_ref().map(said).unwrap_or_default()))
    };
    let place =
        words(move || format!("{}px", named.with(|n| n.as_ref().map_or(0, |n| n.top / 10))));
    let select = pushed(move || target.iter().for_each(|target| view.select(target.clone())));
    view! {
        <li style=("--place", place)>
            <button class="lane-name" class:sel=is_selected
                class:gone=truth(move || named.with(|n| n.as_ref().is_some_and(|n| n.gone)))
                class:strong=truth(move || named.with(|n| n.as_ref().is_some_and(|n| n.strong)))
                on:click=select>
                <span class="name">{read(|named| &named.name)}</span>
                <span class="state num">{read(|named| &named.state)}</span>
            </button>
        </li>
    }
}

fn target(mirror: Mirror, lane: Lane) -> Option<Target> {
    let named = |id| mirror.cluster(|cluster| cluster.name(id).to_string());
    match lane {
        Lane::Server(id) | Lane::Broker(id) | Lane::Member(id) => Some(Target::Process(named(id))),
        Lane::Session(id) => Some(Target::Session(named(id))),
        Lane::OldSession(id) => Some(Target::OldSession(named(id))),
        Lane::Controller => Some(Target::Znode(znodes::controller().to_string())),
    }
}

fn picture(
    mirror: Mirror,
    view: View,
    brokers: &[Broker],
    chronicle: StoredValue<((u16, u16), Chronicle)>,
    window: Window,
) -> LanesPicture {
    let events: Vec<EventId> =
        selected(view).into_iter().chain(view.pinned.get()).map(EventId).collect();
    let take = mirror.take();
    mirror.with(|lab| {
        chronicle.update_value(|(read, chronicle)| {
            if *read != take {
                (*read, *chronicle) = (take, Chronicle::default());
            }
            chronicle.read(lab.cluster(), lab.trace());
        });
        chronicle
            .with_value(|(_, chronicle)| lanes(Run::of(lab), brokers, chronicle, window, &events))
    })
}

fn selected(view: View) -> Option<u64> {
    match view.selected.get() {
        Some(Target::Event(id)) => Some(id),
        _ => None,
    }
}

/// The past takes what the future leaves: on the plate 832 of 1152 pixels.
fn window(view: View, mirror: Mirror, scale: u64, size: Size) -> Window {
    let width = size.along * 10;
    let past = if width >= 11_000 { width - 3200 } else { width * 4 / 5 }.min(width).max(PAST / 8);
    let cursor = mirror.now();
    let micros_per_px = match view.fit.get() {
        false => scale,
        true => {
            let begin = begin(mirror, selected(view));
            let tenth = cursor.since(begin.min(cursor)).as_micros() * 11;
            (tenth / past.unsigned_abs() as u64).clamp(SCALES.0, SCALES.1)
        }
    };
    Window { cursor, micros_per_px, past, future: width - past }
}

/// Where the story of an event begins; without one, that of the run.
fn begin(mirror: Mirror, event: Option<u64>) -> SimTime {
    mirror
        .with(|lab| {
            let index = lab.trace().find(EventId(event?))?;
            let first = *story::causes(lab.cluster(), lab.trace(), index, 5).last()?;
            lab.trace().get(first).map(|record| record.at)
        })
        .unwrap_or(SimTime::ZERO)
}

/// Moves the cursor to where the pointer is, within what has happened.
fn scrub(mirror: Mirror, (window, size): (Window, Size), event: &PointerEvent) {
    let Some(canvas) = event.target().and_then(|e| e.dyn_into::<HtmlCanvasElement>().ok()) else {
        return;
    };
    let (rect, zoom) = (canvas.get_bounding_client_rect(), zoomed(&canvas));
    let along = match size.turned {
        false => f64::from(event.client_x()) - rect.left(),
        true => f64::from(event.client_y()) - rect.top(),
    };
    let at = window.time_at((along / zoom * 10.0) as i32);
    mirror.change(|lab| {
        let end = lab.end();
        lab.seek(Moment::after(at).min(end));
    });
}

/// `Ctrl` and the wheel zoom, as everywhere.
fn zoom(view: View, scale: RwSignal<u64>, event: &WheelEvent) {
    if !event.ctrl_key() {
        return;
    }
    event.prevent_default();
    view.fit.set(false);
    let closer = event.delta_y() < 0.0;
    scale.update(|scale| {
        *scale = if closer { *scale * 4 / 5 } else { *scale * 5 / 4 + 1 }.clamp(SCALES.0, SCALES.1);
    });
}

/// The room of the lanes: along time, and across the lanes. On a phone time runs downward.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Size {
    along: i32,
    across: i32,
    turned: bool,
}

/// How much larger than its own pixels an element is shown.
fn zoomed(element: &Element) -> f64 {
    let (shown, own) = (element.get_bounding_client_rect().width(), element.client_width());
    if own > 0 && shown > 0.0 { shown / f64::from(own) } else { 1.0 }
}

/// Follows the size of the canvas's seat on the page.
fn measure(canvas: NodeRef<html::Canvas>, size: RwSignal<Size>) {
    let look = move || {
        let Some(seat) = canvas.get_untracked().and_then(|canvas| canvas.parent_element()) else {
            return;
        };
        let (width, height, turned) = (seat.client_width(), seat.client_height(), is_narrow());
        let (along, across) = if turned { (height, width) } else { (width, height) };
        let now = Size { along, across, turned };
        if now != size.get_untracked() && width > 0 {
            size.set(now);
        }
    };
    follow(move || {
        let Some(seat) = canvas.get().and_then(|canvas| canvas.parent_element()) else { return };
        let look = Closure::<dyn Fn()>::new(look);
        if let Ok(observer) = ResizeObserver::new(look.as_ref().unchecked_ref()) {
            observer.observe(&seat);
        }
        // The page and its lanes live as long as each other.
        look.forget();
    });
}

fn paint_when_changed(
    canvas: NodeRef<html::Canvas>,
    picture: Memo<LanesPicture>,
    (view, mirror): (View, Mirror),
    size: RwSignal<Size>,
) {
    follow(move || {
        let Some(canvas) = canvas.get() else { return };
        let _ = view.theme.get();
        let size = size.get();
        let Some(pen) = pen(&canvas, size) else { return };
        let ink = Ink::read(size.turned, view.selected.with(Option::is_some));
        picture.with(|picture| {
            let selected = view.selected.get();
            let is_lit = |row: &&Row| selected.is_some() && target(mirror, row.lane) == selected;
            let lit = picture.rows.iter().find(is_lit);
            let room = (size.along, size.across);
            paint(&pen, &ink, picture, room, lit.map(|row| row.top), view);
        });
    });
}

/// The canvas's pen, at the screen's own resolution: it draws time to the right, wherever it runs.
fn pen(canvas: &HtmlCanvasElement, size: Size) -> Option<CanvasRenderingContext2d> {
    let ratio = leptos::prelude::window().device_pixel_ratio() * zoomed(canvas);
    let Size { along, across, turned } = size;
    let (width, height) = if turned { (across, along) } else { (along, across) };
    let pixels = |length: i32| (f64::from(length) * ratio) as u32;
    if canvas.width() != pixels(width) || canvas.height() != pixels(height) {
        canvas.set_width(pixels(width));
        canvas.set_height(pixels(height));
    }
    let pen = canvas.get_context("2d").ok()??.dyn_into::<CanvasRenderingContext2d>().ok()?;
    let (straight, swapped) = if turned { (0.0, ratio) } else { (ratio, 0.0) };
    pen.set_transform(straight, swapped, swapped, straight, 0.0, 0.0).ok()?;
    Some(pen)
}
