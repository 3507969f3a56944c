//! What lies over the page: help with what is simplified and the table of keys, and the
//! palette's lists.
//!
//! *Invariant:* the table shown is the table that listens, and each of its lines is a button.

use leptos::ev;
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use crate::lab::Recording;
use crate::picture::drawing::icon::Icon;
use crate::picture::ensemble::Run;
use crate::picture::palette::{self, Does, Entry};
use crate::text;
use crate::ui::icon::IconOf;
use crate::ui::keys::{Act, KEYS};
use crate::ui::mirror::use_mirror;
use crate::ui::scene::{Scene, use_scene};
use crate::ui::view::{Over, View, use_view};
use crate::ui::visit::{Visit, use_visit};
use crate::ui::{focus_first, focus_next, push_first};

/// How many lines a list shows.
const SHOWN: usize = 12;

/// What lies over the page, if anything does.
#[component]
pub fn Overlay(
    /// Does what a key means.
    act: impl Fn(Act) + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let view = use_view();
    let (mirror, scene, visit) = (use_mirror(), use_scene(), use_visit());
    let entries = move |over| {
        mirror.with(|lab| match over {
            Over::Find => {
                let verbs = scene.inspector.get_untracked().map(|picture| picture.verbs);
                palette::everything(Run::of(lab), verbs.unwrap_or_default())
            }
            Over::Add => palette::additions(Run::of(lab)),
            _ => palette::situations(),
        })
    };
    Effect::new(move || {
        if view.over.get().is_list() {
            request_animation_frame(|| focus_first(".help [data-first]"));
        }
    });
    move || {
        let over = view.over.get();
        let (name, inside) = match over {
            Over::Help => ("page.head.help", help(view, act).into_any()),
            Over::Find => ("page.key.find", list(entries(over), (view, scene, visit), true)),
            Over::Add => ("page.key.add", list(entries(over), (view, scene, visit), false)),
            Over::Situations => {
                ("page.key.situations", list(entries(over), (view, scene, visit), false))
            }
            _ => return None,
        };
        Some(view! {
            <div class="help" role="dialog" aria-modal="true" aria-labelledby="help-title" on:keydown=walk>
                <div class="phead">
                    <h2 class="title" id="help-title">{move || view.key(name)}</h2>
                    <button class="btn bare sq" on:click=move |_| view.up()
                        aria-label=move || view.key("page.close")>
                        <IconOf icon=Icon::Close/>
                    </button>
                </div>
                {inside}
            </div>
        })
    }
}

/// Up and down walk the lines.
fn walk(event: KeyboardEvent) {
    let by = match event.key().as_str() {
        "ArrowDown" => 1,
        "ArrowUp" => -1,
        _ => return,
    };
    event.prevent_default();
    focus_next(".help .verb", by);
}

fn help(view: View, act: impl Fn(Act) + Copy + 'static) -> impl IntoView {
    let line = |key: &'static crate::ui::keys::Key| {
        let first = (key.shown == "Space").then_some("");
        let push = move |_| {
            view.over.set(Over::Nothing);
            act(key.act);
        };
        view! {
            <button class="verb" data-first=first on:click=push>
                {move || view.key(key.name)}<kbd class="kbd">{key.shown}</kbd>
            </button>
        }
    };
    let about = text::about_the_model().map(|key| view! { <li>{move || view.key(key)}</li> });
    view! {
        <p class="note">{move || view.key("page.help.about")}</p>
        <details class="model">
            <summary>{move || view.key("page.help.model")}</summary>
            <ul>{about.collect_view()}</ul>
        </details>
        <label class="keys-on">
            <input type="checkbox" prop:checked=move || view.single_keys.get()
                on:change=move |_| view.single_keys.update(|on| *on = !*on)/>
            {move || view.key("page.head.keys")}
        </label>
        <div class="sec">{KEYS.iter().map(line).collect_view()}</div>
    }
}

/// A list of the palette; with a field, what is typed there chooses from it.
fn list(entries: Vec<Entry>, on: (View, Scene, Visit), field: bool) -> AnyView {
    let view = on.0;
    let typed = RwSignal::new(String::new());
    let found = move || {
        let typed = typed.get().to_lowercase();
        let with_words = entries.iter().map(|entry| (view.say(&entry.words), entry));
        let found = with_words.filter(|(words, _)| words.to_lowercase().contains(&typed));
        let lines = found.take(SHOWN).enumerate();
        lines
            .map(|(n, (words, entry))| line(words, entry.clone(), on, n == 0 && !field))
            .collect_view()
    };
    let enter = move |event: ev::KeyboardEvent| {
        if event.key() == "Enter" {
            push_first(".help .verb");
        }
    };
    let field = field.then(|| {
        view! {
            <div class="field">
                <IconOf icon=Icon::Search/>
                <input type="search" data-first="" aria-label=move || view.key("page.key.find")
                    placeholder=move || view.key("page.find.what") on:keydown=enter
                    on:input=move |event| typed.set(event_target_value(&event))/>
            </div>
        }
    });
    view! { {field}<div class="sec">{found}</div> }.into_any()
}

fn line(
    words: String,
    entry: Entry,
    (view, scene, visit): (View, Scene, Visit),
    first: bool,
) -> impl IntoView {
    let push = move |_| {
        view.over.set(Over::Nothing);
        match &entry.does {
            Does::Select(target) => view.select(target.clone()),
            Does::Send(command) => scene.send(command),
            Does::Begin(number) => begin(visit, scene, *number),
        }
    };
    let key =
        (entry.key.trim() != "").then(|| view! { <kbd class="kbd">{entry.key.clone()}</kbd> });
    view! { <button class="verb" data-first=first.then_some("") on:click=push>{words}{key}</button> }
}

/// Begins a situation in place of what runs.
pub fn begin(visit: Visit, scene: Scene, number: usize) {
    if let Some(recording) = Recording::situation(number) {
        visit.begin(recording);
        scene.step();
    }
}
