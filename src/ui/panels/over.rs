//! What lies over the page: help with what is simplified and the table of keys, and the
//! palette's lists.
//!
//! *Invariant:* the table shown is the table that listens, and each of its lines is a button.

use std::sync::Arc;

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::KeyboardEvent;

use crate::picture::drawing::icon::Icon;
use crate::picture::ensemble::Run;
use crate::picture::legend::{self, Mark, SIZE};
use crate::picture::palette::{self, Does, Entry};
use crate::text::{self, Phrase};
use crate::ui::icon::IconOf;
use crate::ui::keys::{Act, KEYS};
use crate::ui::live::{follow, part, pushed, truth};
use crate::ui::mirror::use_mirror;
use crate::ui::panels::run_text;
use crate::ui::panels::stage::Drawn;
use crate::ui::scene::{Scene, use_scene};
use crate::ui::view::{Over, View, use_view};
use crate::ui::visit::{Visit, use_visit};
use crate::ui::{first, focus_first, focus_next, push_first};

/// How many lines of what is found are shown.
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
    keep_focus(view);
    part(move || {
        let over = view.over.get();
        let on = (view, scene, visit);
        let (name, inside) = match over {
            Over::Help => ("page.head.help", help(view, act).into_any()),
            Over::Find => ("page.key.find", list(entries(over), on, Some(keys(view, act)))),
            Over::Add => ("page.key.add", list(entries(over), on, None)),
            Over::Situations => ("page.key.situations", list(entries(over), on, None)),
            Over::Legend => ("legend.title", legend(view).into_any()),
            Over::Run => ("run.title", run_text::panel()),
            Over::Blank => return Some(blank(view).into_any()),
            Over::Nothing | Over::Sheet => return None,
        };
        Some(view! {
            <div class="help" role="dialog" aria-modal="true" aria-labelledby="help-title" on:keydown=walk>
                <div class="phead">
                    <h2 class="title" id="help-title">{view.label(name)}</h2>
                    <button class="btn bare sq" on:click=pushed(move || view.up())
                        data-first=(over == Over::Legend).then_some("") aria-label=view.label("page.close")>
                        <IconOf icon=Icon::Close/>
                    </button>
                </div>
                {inside}
            </div>
        }
        .into_any())
    })
}

/// A list takes the focus; when it closes, the focus returns to where it was.
fn keep_focus(view: View) {
    let before = StoredValue::new_local(None::<web_sys::HtmlElement>);
    let mut was = false;
    follow(move || {
        let is = view.over.get().is_list();
        if is && !was {
            // What is on the stage is no HTML element, and takes the focus by the same call.
            before.set_value(document().active_element().map(|e| e.unchecked_into()));
        }
        if is {
            request_animation_frame(|| focus_first(".help [data-first]"));
        } else if was {
            // Once the list is gone, for it takes the focus with it.
            request_animation_frame(move || {
                let lost = document().active_element().is_none_or(|e| e.tag_name() == "BODY");
                if let Some(element) = before.get_value().filter(|_| lost) {
                    // An element that is gone leaves the focus where it is.
                    let _ = element.focus();
                }
            });
        }
        was = is;
    });
}

/// The blank page is a button that brings everything back.
fn blank(view: View) -> impl IntoView {
    view! {
        <button class="blank" on:click=pushed(move || view.up())>
            {view.label("page.blank")}
        </button>
    }
}

/// The marks of the figures and the words of the field.
fn legend(view: View) -> impl IntoView {
    let mark = |mark: Mark| {
        let (width, height) = SIZE;
        let letters = (mark.means == "legend.request").then(|| {
            let letters = ["legend.letters.zookeeper", "legend.letters.kafka"];
            // A letter and its word stay together.
            let words = |key| view.key(key).replace(' ', "\u{a0}").replace("\u{a0}·\u{a0}", " · ");
            letters.map(|key| view! { <span class="letters">{words(key)}</span> })
        });
        view! {
            <li>
                <svg class="draw" viewBox=format!("0 0 {width} {height}") width=width height=height aria-hidden="true">
                    <Drawn drawing=Signal::stored(mark.drawing)/>
                </svg>
                <span>{view.key(mark.means)}{letters}</span>
            </li>
        }
    };
    let word = |(word, means)| view! { <dt>{view.key(word)}</dt><dd>{view.key(means)}</dd> };
    view! {
        <ul class="marks" tabindex="0">{legend::marks().into_iter().map(mark).collect_view()}</ul>
        <dl class="words">{legend::WORDS.map(word)}</dl>
    }
}

/// What keys do, as lines that can be found.
fn keys(view: View, act: impl Fn(Act) + Copy + Send + Sync + 'static) -> Keys {
    let line = move |key: &'static crate::ui::keys::Key| {
        let push = move || {
            view.over.set(Over::Nothing);
            act(key.act);
        };
        (view.key(key.name), key.shown, Arc::new(push) as Arc<dyn Fn() + Send + Sync>)
    };
    KEYS.iter().map(line).collect()
}

/// What a key is called, how it is shown, and what it does.
type Keys = Vec<(String, &'static str, Arc<dyn Fn() + Send + Sync>)>;

/// Up and down walk the lines; a letter goes to the field, where there is one.
fn walk(event: KeyboardEvent) {
    let letter = event.key();
    let plain = !(event.ctrl_key() || event.meta_key() || event.alt_key());
    if plain && letter.chars().count() == 1 && letter.chars().all(char::is_alphabetic) {
        if first(".help input[type=search]").is_some() {
            focus_first(".help input[type=search]");
            event.stop_propagation();
        }
        return;
    }
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
        let push = pushed(move || {
            view.over.set(Over::Nothing);
            act(key.act);
        });
        view! {
            <button class="verb" data-first=first on:click=push>
                {view.label(key.name)}<kbd class="kbd">{key.shown}</kbd>
            </button>
        }
    };
    let about = text::about_the_model().map(|key| view! { <li>{view.label(key)}</li> });
    view! {
        <p class="note">{view.label("page.help.about")}</p>
        <details class="model">
            <summary>{view.label("page.help.model")}</summary>
            <ul>{about.collect_view()}</ul>
        </details>
        <label class="keys-on">
            <input type="checkbox" prop:checked=truth(move || view.single_keys.get())
                on:change=move |_| view.single_keys.update(|on| *on = !*on)/>
            {view.label("page.head.keys")}
        </label>
        <div class="sec">{KEYS.iter().map(line).collect_view()}</div>
    }
}

/// A list of the palette; with a field, what is typed there chooses from it and from the keys.
fn list(entries: Vec<Entry>, on: (View, Scene, Visit), keys: Option<Keys>) -> AnyView {
    let view = on.0;
    let typed = RwSignal::new(String::new());
    let begins = matches!(entries.first(), Some(Entry { does: Does::Begin(_), .. }));
    let (finds, keys) = (keys.is_some(), keys.unwrap_or_default());
    let field = finds || begins;
    let adds =
        |entry: &Entry| matches!(&entry.does, Does::Send(line) if line.starts_with("add producer"));
    let note = match (begins, finds) {
        (true, _) => Some("page.situations.note"),
        (false, false) if !entries.iter().any(adds) => Some("page.add.no-topic"),
        _ => None,
    };
    let first = if begins { view.chosen.get_untracked() } else { 1 };
    let found = move || {
        let typed = palette::folded(&typed.get());
        let fits = |words: &str| palette::folded(words).contains(&typed);
        let mut lines = Vec::new();
        let mut part = None;
        for (number, entry) in (1..).zip(&entries) {
            let words = view.say(&entry.words);
            part = entry.part.or(part);
            if fits(&words) {
                let heading = part.take().filter(|_| begins);
                lines.extend(
                    heading.map(|part| view! { <h3 class="lab">{view.key(part)}</h3> }.into_any()),
                );
                lines.push(line(words, entry.clone(), on, number == first && !finds).into_any());
            }
        }
        for (words, shown, push) in keys.iter().filter(|(words, ..)| fits(words)) {
            let push = push.clone();
            let line = view! {
                <button class="verb" on:click=pushed(move || push())>{words.clone()}<kbd class="kbd">{*shown}</kbd></button>
            };
            lines.push(line.into_any());
        }
        let shown = if finds { SHOWN } else { lines.len() };
        let more = lines.len().saturating_sub(shown);
        lines.truncate(shown);
        let note = match (lines.len(), more) {
            (0, _) => Some(view.key("page.find.nothing")),
            (_, 0) => None,
            _ => Some(view.say(&Phrase::key("page.broker.more").with("n", more))),
        };
        (lines, note.map(|note| view! { <p class="note" role="status">{note}</p> }))
    };
    let enter = move |event: ev::KeyboardEvent| {
        if event.key() == "Enter" {
            push_first(".help .sec .verb");
        }
    };
    let what = if finds { "page.find.what" } else { "page.situations.what" };
    let field = field.then(|| {
        view! {
            <div class="field">
                <IconOf icon=Icon::Search/>
                <input type="search" data-first=finds.then_some("") aria-label=view.label("page.key.find")
                    placeholder=view.label(what) on:keydown=enter
                    on:input=move |event| typed.set(event_target_value(&event))/>
            </div>
        }
    });
    let note = note.map(|key| view! { <p class="note">{view.key(key)}</p> });
    let to_text = begins.then(|| run_as_text(view));
    view! { {field}{note}{to_text}<div class="sec">{found}</div> }.into_any()
}

/// The way to the run as text, where no key stands for it.
fn run_as_text(view: View) -> impl IntoView {
    let lay = pushed(move || view.lay(Over::Run));
    view! {
        <button class="verb afresh" on:click=lay>
            {view.label("run.title")}<kbd class="kbd">"N"</kbd>
        </button>
    }
}

fn line(
    words: String,
    entry: Entry,
    (view, scene, visit): (View, Scene, Visit),
    first: bool,
) -> impl IntoView {
    let push = pushed(move || {
        view.over.set(Over::Nothing);
        match &entry.does {
            Does::Select(target) => view.select(target.clone()),
            Does::Send(command) => scene.send(command),
            Does::Begin(number) => begin(visit, scene, *number),
        }
    });
    let key =
        (entry.key.trim() != "").then(|| view! { <kbd class="kbd">{entry.key.clone()}</kbd> });
    let mut said = words.split(" | ").map(str::to_owned);
    let (name, means) = (said.next(), said.next().map(|means| view! { <small>{means}</small> }));
    view! {
        <button class="verb" data-first=first.then_some("") on:click=push>
            <span>{name}{means}</span>{key}
        </button>
    }
}

/// Begins a situation in place of what runs.
pub fn begin(visit: Visit, scene: Scene, number: usize) {
    visit.begin_situation(number);
    scene.step();
}
