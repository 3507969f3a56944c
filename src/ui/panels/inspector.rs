//! Fig. 3, the inspector: the selected thing, what can be done to it, and why it is so.
//!
//! *Invariant:* a verb's button keeps its focus while what it says beside it changes.

use leptos::html;
use leptos::prelude::*;
use web_sys::Event;

use super::PanelHead;
use super::stage::Drawn;
use crate::lab::logs::{self, LogLine};
use crate::picture::drawing::icon::Icon;
use crate::picture::drawing::{Light, session};
use crate::picture::ensemble::Run;
use crate::picture::inspector::{Fact, InspectorPicture, Link, Sign, Verb};
use crate::picture::properties::{Properties, Property, properties};
use crate::picture::shape::Drawing;
use crate::picture::target::Target;
use crate::text::Phrase;
use crate::ui::icon::IconOf;
use crate::ui::live::{Lines, Words, lines, part, part_while, pushed, truth, words};
use crate::ui::mirror::use_mirror;
use crate::ui::scene::use_scene;
use crate::ui::view::{Lower, Over, View, use_view};

/// The inspector panel.
#[component]
pub fn Inspector() -> impl IntoView {
    let (view, scene) = (use_view(), use_scene());
    let something = Memo::new(move |_| scene.inspector.with(Option::is_some));
    let panel = NodeRef::<html::Section>::new();
    Effect::new(move || {
        if matches!(view.selected.get(), Some(Target::Event(_))) {
            request_animation_frame(move || show_causes(panel));
        }
    });
    view! {
        <section class="insp" id="inspector" node_ref=panel aria-label=view.label("page.panel.selected")>
            <PanelHead figure="page.figure.selected" name="page.panel.selected">
                <button class="btn bare sq" aria-label=view.label("page.close") on:click=pushed(move || view.selected.set(None))>
                    <IconOf icon=Icon::Close/>
                </button>
            </PanelHead>
            {part(move || Some(if something.get() { selected() } else { nothing(view) }))}
        </section>
    }
}

/// Whoever asks why sees the causes: the panel is turned to where the event stands among what came
/// before and after it.
fn show_causes(panel: NodeRef<html::Section>) {
    let Some(panel) = panel.get_untracked() else { return };
    let Ok(Some(now)) = panel.query_selector(".why .now") else { return };
    let (top, now) = (panel.get_bounding_client_rect(), now.get_bounding_client_rect());
    let middle = top.top() + top.height() / 2.0;
    if now.top() > middle {
        panel.set_scroll_top(panel.scroll_top() + (now.top() - middle) as i32);
    }
}

/// Reads a part of the picture; nothing selected reads as nothing.
fn read<T: Default>(read: impl Fn(&InspectorPicture) -> T) -> T {
    let scene = use_scene();
    scene.inspector.with(|picture| picture.as_ref().map(&read).unwrap_or_default())
}

fn said(view: View, phrase: fn(&InspectorPicture) -> Phrase) -> Words {
    let scene = use_scene();
    words(move || {
        let phrase = scene.inspector.with(|picture| picture.as_ref().map(phrase));
        phrase.map(|phrase| view.say(&phrase)).unwrap_or_default()
    })
}

fn nothing(view: View) -> AnyView {
    view! { <p class="note">{view.label("page.nothing-selected")}</p> }.into_any()
}

fn selected() -> AnyView {
    let (view, scene) = (use_view(), use_scene());
    let of = move |pick: fn(&InspectorPicture) -> Vec<Link>| {
        Memo::new(move |_| scene.inspector.with(|p| p.as_ref().map(pick).unwrap_or_default()))
    };
    let effects = of(|picture| picture.effects.clone());
    let now = of(|picture| picture.now.iter().cloned().collect());
    let causes = of(|picture| picture.causes.clone());
    let facts = Memo::new(move |_| {
        scene.inspector.with(|p| p.as_ref().map(|p| p.facts.clone()).unwrap_or_default())
    });
    let is_partition =
        Memo::new(move |_| matches!(view.selected.get(), Some(Target::Partition(_))));
    let verbs = Memo::new(move |_| {
        scene.inspector.with(|p| p.as_ref().map(|p| p.verbs.clone()).unwrap_or_default())
    });
    let mirror = use_mirror();
    let logged = Memo::new(move |_| {
        let event = now.with(|now| now.first().and_then(|link| link.event));
        let of = |event| mirror.with(|lab| logs::of_event(lab, event));
        event.map(of).unwrap_or_default()
    });
    let is_logged = move || logged.with(|lines| !lines.is_empty());
    let back =
        words(move || view.say(&Phrase::key("page.chain.back").with("n", causes.with(Vec::len))));
    view! {
        <div class="sec who">
            <SignOf/>
            <div>
                <div class="name">{said(view, |picture| picture.name.clone())}</div>
                <div class="exact">{said(view, |picture| Phrase::raw(&picture.exact))}</div>
                <div class="state">{said(view, |picture| picture.state.clone())}</div>
            </div>
        </div>
        <dl class="facts sec">
            {lines(move || facts.get().into_iter().map(|fact| fact_line(view, fact)).collect())}
        </dl>
        <PropertiesOf/>
        <div class="sec verbs">
            <For each=move || verbs.get() key=|verb| verb.command.clone() let:verb>
                <VerbOf verb=verb/>
            </For>
            {move || is_partition.get().then(|| open_files(view))}
        </div>
        <div class="sec ends"><span class="lab good">{view.label("page.chain.so-what")}" ▾"</span></div>
        <ol class="why sec">
            {links(view, effects, "due")}
            {links(view, now, "now")}
            {links(view, causes, "")}
        </ol>
        <div class="sec ends">
            <span class="lab cause">{view.label("page.chain.why")}" ▴"</span>
            <span class="lab">{back}</span>
        </div>
        {part_while(is_logged, move || log_lines(view, logged))}
    }
    .into_any()
}

/// What was logged with the event, below the chain of causes: there may be much of it.
fn log_lines(view: View, logged: Memo<Vec<LogLine>>) -> impl IntoView {
    view! {
        <div class="sec ends"><span class="lab">{view.label("page.chain.logged")}</span></div>
        <ol class="why sec">
            {lines(move || logged.get().into_iter().map(log_line).collect())}
        </ol>
    }
}

/// A broker's `server.properties`, folded.
#[component]
fn PropertiesOf() -> impl IntoView {
    let (view, mirror) = (use_view(), use_mirror());
    let name = Memo::new(move |_| match view.selected.get() {
        Some(Target::Process(name)) => name,
        _ => String::new(),
    });
    let shown = Memo::new(move |_| {
        mirror.track_trace();
        mirror.with(|lab| properties(Run::of(lab), &name.get()))
    });
    // The list stays as it is under the reader's hands: its rows are made once a broker.
    let of = Memo::new(move |_| shown.with(|s| Some((s.as_ref()?.id, s.as_ref()?.release))));
    part(move || {
        of.get()?;
        let rows = shown.with_untracked(|now| {
            let rows = now.iter().flat_map(|now| &now.rows);
            rows.map(|row| property_row(shown, row.name)).collect::<Vec<AnyView>>()
        });
        let note = words(move || {
            let is_off = shown.with(|s| s.as_ref().is_some_and(|shown| shown.can_be_written));
            view.key(if is_off { "page.properties.off" } else { "page.properties.on" })
        });
        let list = view! {
            <details class="sec properties">
                <summary>{view.label("page.properties")}</summary>
                <p>{note}</p>
                <dl>{rows}</dl>
            </details>
        };
        Some(list.into_any())
    })
}

/// One setting: what it is, who says so, and a field for another value.
fn property_row(shown: Memo<Option<Properties>>, name: &'static str) -> AnyView {
    let (view, scene) = (use_view(), use_scene());
    let row = move |of: fn(View, &Property) -> String| {
        words(move || {
            let said = |shown: &Option<Properties>| Some(of(view, shown.as_ref()?.row(name)?));
            shown.with(said).unwrap_or_default()
        })
    };
    let is_fixed = truth(move || {
        let can = |shown: &Properties| shown.row(name).is_some_and(|row| shown.can_change(row));
        !shown.with(|shown| shown.as_ref().is_some_and(can))
    });
    let change = move |event: Event| {
        let change = |shown: &Properties| shown.change(name, &event_target_value(&event));
        if let Some(change) = shown.with_untracked(|shown| shown.as_ref().map(change)) {
            scene.send(&change);
        }
    };
    view! {
        <dt>{name}</dt>
        <dd>
            <input type="text" aria-label=name prop:value=row(|_, row| row.value.clone())
                readonly=is_fixed on:change=change/>
            <span>{row(|view, row| view.key(row.from.key()))}</span>
        </dd>
    }
    .into_any()
}

#[component]
fn SignOf() -> impl IntoView {
    let drawing = Signal::derive(|| {
        read(|picture| {
            let mut drawing = Drawing::new();
            match &picture.sign {
                Sign::Ring(ring) => drawing.over(session::ring((38, 38), 30, ring, Light::Lit)),
                Sign::Letter(letter) => {
                    drawing.rect((12, 12), (52, 52), 9, "obj");
                    drawing.centred((38, 48), Phrase::raw(letter), "role");
                }
                Sign::None => {}
            }
            drawing
        })
    });
    view! {
        <svg class="draw sign" class:none=truth(move || drawing.with(|d| d.shapes.is_empty()))
            width="76" height="76" viewBox="0 0 76 76" aria-hidden="true">
            <Drawn drawing=drawing/>
        </svg>
    }
}

fn fact_line(view: View, fact: Fact) -> AnyView {
    let value = view.say(&fact.value);
    let shown = match (fact.target, fact.quoted) {
        (Some(target), quoted) => view! {
            <button class="link" class:mono=quoted on:click=pushed(move || view.select(target.clone()))>{value}</button>
        }
        .into_any(),
        (None, true) => view! { <code>{value}</code> }.into_any(),
        (None, false) => value.into_any(),
    };
    view! { <dt>{super::explained(view, &view.say(&fact.name))}</dt><dd>{shown}</dd> }.into_any()
}

#[component]
fn VerbOf(verb: Verb) -> impl IntoView {
    let (view, scene) = (use_view(), use_scene());
    let command = verb.command.clone();
    let key = (verb.key != ' ').then(|| verb.key.to_string());
    let shortcut = key.clone();
    let name = verb.name;
    view! {
        <button class="verb" title=verb.command.clone() data-command=verb.command aria-keyshortcuts=shortcut
            on:click=pushed(move || scene.send(&command))>
            <IconOf icon=verb.icon/>{words(move || view.say(&name))}{key.map(|key| view! { <kbd class="kbd">{key}</kbd> })}
        </button>
    }
}

/// A partition's files are opened in the seat of the lanes.
fn open_files(view: View) -> AnyView {
    let open = move || {
        view.lower.set(Lower::Files);
        if view.over.get_untracked() == Over::Sheet {
            view.over.set(Over::Nothing);
        }
    };
    view! {
        <button class="verb" aria-keyshortcuts="O" on:click=pushed(open)>
            <IconOf icon=Icon::Console/>{view.label("files.open")}<kbd class="kbd">"O"</kbd>
        </button>
    }
    .into_any()
}

/// What the process wrote into its log at that moment.
fn log_line(line: LogLine) -> AnyView {
    let LogLine { time, level, words, .. } = line;
    view! { <li class="logged"><code>{time}" "{level}" "{words}</code></li> }.into_any()
}

fn links(view: View, links: Memo<Vec<Link>>, class: &'static str) -> Lines {
    lines(move || links.get().into_iter().map(|link| link_line(view, link, class)).collect())
}

fn link_line(view: View, link: Link, class: &'static str) -> AnyView {
    let you = if link.by_you { " you" } else { "" };
    let said = view.say(&link.words);
    let words = match link.event {
        Some(event) => view! {
            <button on:click=pushed(move || view.select(Target::Event(event)))>{said}</button>
        }
        .into_any(),
        None => said.into_any(),
    };
    view! {
        <li class=format!("{class}{you}")>
            <span class="when">{view.say(&link.when)}</span>
            {words}
        </li>
    }
    .into_any()
}
