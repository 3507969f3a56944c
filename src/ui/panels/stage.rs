//! Fig. 2, the stage: a drawing that stands still, and one canvas above it for what moves.
//!
//! *Invariant:* everything that can be pointed at is a focusable element with a name.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::{html, svg};
use web_sys::{Element, MouseEvent};

use super::PanelHead;
use crate::picture::drawing::plate::{self, Plate};
use crate::picture::drawing::{Hit, Part};
use crate::picture::shape::{Drawing, Shape};
use crate::picture::stage::StagePicture;
use crate::picture::target::Target;
use crate::sim::OrdMap;
use crate::text::Language;
use crate::ui::draw;
use crate::ui::live::{follow, in_words, pushed, truth, words};
use crate::ui::mirror::use_mirror;
use crate::ui::moving;
use crate::ui::playback::use_playback;
use crate::ui::scene::use_scene;
use crate::ui::view::{Over, Theme, View, is_narrow, use_view};

type Parts = OrdMap<String, Arc<Part>>;

/// The stage panel.
#[component]
pub fn Stage() -> impl IntoView {
    let (view, scene) = (use_view(), use_scene());
    let plate = Memo::new(move |_| {
        let counts = |s: &StagePicture| (s.brokers.len(), s.producers.len() + s.groups.len());
        let plate = plate_now(view, scene.stage.with(counts));
        let strung =
            scene.stage.with(|s| !s.shells.is_empty() || plate::strung(s).next().is_some());
        let plate = if strung { plate.with_strings() } else { plate };
        let votes = scene.stage.with(|stage| stage.best().is_some());
        if votes { plate.election() } else { plate }
    });
    let backdrop = Memo::new(move |_| {
        scene.stage.with(|stage| plate::backdrop(stage, view.selected.get().as_ref(), &plate.get()))
    });
    let parts = Memo::new(move |_| {
        let all = scene
            .stage
            .with(|stage| plate::parts(stage, view.selected.get().as_ref(), &plate.get()));
        let order: Vec<String> = all.iter().map(|part| part.key.clone()).collect();
        let by_key: Parts =
            all.into_iter().map(|part| (part.key.clone(), Arc::new(part))).collect();
        (order, by_key)
    });
    let order = Memo::new(move |_| parts.with(|(order, _)| order.clone()));
    let canvas = NodeRef::<html::Canvas>::new();
    let under = moving::keep_painted(canvas, (view, scene, use_mirror()), plate);
    let playback = use_playback();
    let pick = move |event: MouseEvent| {
        if let Some(message) = under(&event) {
            playback.pause();
            view.select(Target::Event(message));
        }
    };
    let view_box =
        words(move || plate.with(|plate| format!("0 0 {} {}", plate.size.0, plate.size.1)));
    let is_large = truth(move || view.theme.get() == Theme::Projector);
    view! {
        <section class="stage" id="stage" aria-label=view.label("page.panel.cluster")>
            <PanelHead figure="page.figure.cluster" name="page.panel.cluster">
                <button class="btn bare" aria-keyshortcuts="M" on:click=pushed(move || view.lay(Over::Legend))>
                    {view.label("legend.title")}<kbd class="kbd">"M"</kbd>
                </button>
            </PanelHead>
            <div class="picture" on:click=pick>
                <svg class="draw" class:large=is_large viewBox=view_box role="group"
                    aria-label=view.label("page.panel.cluster")>
                    <defs>
                        <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                            <path d="M0 0V6" class="hatchline"></path>
                        </pattern>
                    </defs>
                    <Drawn drawing=backdrop/>
                    <For each=move || order.get() key=String::clone let:key>
                        <PartOf of=parts key=key/>
                    </For>
                </svg>
                <canvas class="moving" aria-hidden="true" node_ref=canvas></canvas>
            </div>
        </section>
    }
}

fn plate_now(view: View, (brokers, clients): (usize, usize)) -> Plate {
    let few = |count: usize| i32::try_from(count).expect("few things are drawn");
    if is_narrow() {
        return Plate::phone(390, few(brokers), few(clients));
    }
    match view.theme.get() {
        Theme::Projector => Plate::large(),
        _ => Plate::wide(832),
    }
}

/// A drawing that nobody points at.
#[component]
pub fn Drawn(
    /// What is drawn.
    #[prop(into)]
    drawing: Signal<Drawing>,
) -> impl IntoView {
    let group = NodeRef::<svg::G>::new();
    keep_drawn(group, Box::new(move || drawing.get().shapes));
    view! { <g node_ref=group aria-hidden="true"></g> }
}

/// Keeps the children of a group equal to a drawing, in the language in use.
fn keep_drawn(group: NodeRef<svg::G>, shapes: Box<dyn Fn() -> Vec<Shape>>) {
    let view = use_view();
    let mut before: Option<(Language, Vec<Shape>)> = None;
    follow(move || {
        let (language, now) = (view.language.get(), shapes());
        let Some(element) = group.get() else {
            return before = Some((language, Vec::new()));
        };
        let element: &Element = &element;
        let old = before.take().filter(|(spoken, _)| *spoken == language).map(|(_, shapes)| shapes);
        if old.is_none() {
            element.set_text_content(None);
        }
        draw::patch(element, &old.unwrap_or_default(), &now, &view.catalog());
        before = Some((language, now));
    });
}

/// A thing on the stage: it has focus, a name, and is selected by either.
#[component]
fn PartOf(
    /// All parts, by key.
    of: Memo<(Vec<String>, Parts)>,
    /// Which of them.
    key: String,
) -> impl IntoView {
    let view = use_view();
    let group = NodeRef::<svg::G>::new();
    let first = of.with_untracked(|(_, parts)| parts[&key].clone());
    let target = first.target.clone();
    let part = Memo::new(move |last: Option<&Arc<Part>>| {
        let now = of.with(|(_, parts)| parts.get(&key).cloned());
        now.or_else(|| last.cloned()).unwrap_or_else(|| first.clone())
    });
    keep_drawn(group, Box::new(move || part.with(|part| part.drawing.shapes.clone())));
    let label = words(move || part.with(|part| view.say(&part.label)));
    let is_selected = {
        let target = target.clone();
        in_words(move || view.selected.get().as_ref() == Some(&target))
    };
    let again = Again::of(target.clone());
    let (process, session, kind) = marks(&target);
    let at = |side: fn(Hit) -> i32| words(move || part.with(|part| side(part.hit)).to_string());
    view! {
        <g class=format!("part {kind}")>
            <g node_ref=group aria-hidden="true"></g>
            <rect class="hit" role="button" tabindex="0" aria-label=label aria-pressed=is_selected
                x=at(|hit| hit.0.0) y=at(|hit| hit.0.1)
                width=at(|hit| hit.1.0) height=at(|hit| hit.1.1)
                data-process=process data-session=session
                on:focus=move |_| view.select(target.clone())
                on:click=pushed(move || again.click(view))></rect>
        </g>
    }
}

/// The second tap on the selected thing asks for its verbs. The first one also gives it the
/// focus, which selects it before the click arrives.
#[derive(Clone)]
struct Again {
    target: Target,
    tapped: StoredValue<bool>,
}

impl Again {
    fn of(target: Target) -> Again {
        Again { target, tapped: StoredValue::new(false) }
    }

    fn click(&self, view: View) {
        let selected = view.selected.get_untracked().as_ref() == Some(&self.target);
        if selected && self.tapped.get_value() && is_narrow() {
            view.over.set(Over::Sheet);
        }
        self.tapped.set_value(selected);
    }
}

/// The attributes by which a thing is found, and its class.
fn marks(target: &Target) -> (Option<String>, Option<String>, &'static str) {
    match target {
        Target::Process(name) => (Some(name.clone()), None, "process"),
        Target::Session(owner) | Target::OldSession(owner) => {
            (None, Some(owner.clone()), "session")
        }
        Target::Partition(_) => (None, None, "strip"),
        _ => (None, None, "group"),
    }
}
