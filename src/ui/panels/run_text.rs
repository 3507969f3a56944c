//! The run as text, over the page: release and size chosen in a form, every setting by its real
//! name, and the recording itself, to be read, changed and begun again.
//!
//! *Invariant:* what is wrong is said with its place, and nothing that was typed is lost.

use leptos::prelude::*;

use crate::picture::run_text::{self, CHOICES, SettingRow};
use crate::text::Phrase;
use crate::ui::live::{in_words, lines, part_while, pushed, truth, words};
use crate::ui::mirror::use_mirror;
use crate::ui::scene::use_scene;
use crate::ui::view::{Over, View, use_view};
use crate::ui::visit::use_visit;

/// The key of what a choice is called.
fn called(name: &str) -> &'static str {
    match name {
        "release" => "run.release",
        "zookeeper" => "run.zookeeper",
        "brokers" => "run.brokers",
        _ => "run.seed",
    }
}

/// The form, the settings, and the text.
pub fn panel() -> AnyView {
    let (view, mirror, visit, scene) = (use_view(), use_mirror(), use_visit(), use_scene());
    let text = RwSignal::new(mirror.with(|lab| lab.whole().to_string()));
    let read =
        Memo::new(move |_| text.with(|text| run_text::read(text).map_err(|t| t.to_string())));
    let begin = move || {
        if let Ok(recording) = read.get_untracked() {
            view.over.set(Over::Nothing);
            visit.begin(recording);
            scene.step();
        }
    };
    // What a choice of the release has changed in the text, until the text is changed again.
    let suited = RwSignal::new(None::<Phrase>);
    let suiting = words(move || suited.get().map_or_else(String::new, |said| view.say(&said)));
    let afresh = move || text.update(|text| *text = run_text::afresh(text));
    let settings = lines(move || {
        let rows = read.with(|read| read.as_ref().map(|r| run_text::settings(&r.setup)).ok());
        rows.unwrap_or_default().into_iter().map(|row| setting(text, row)).collect()
    });
    let is_wrong = move || read.with(Result::is_err);
    let wrong = words(move || read.with(|read| read.as_ref().err().cloned().unwrap_or_default()));
    let unheeded = words(move || {
        let said = read.with(|read| run_text::unheeded(&read.as_ref().ok()?.setup));
        said.map_or_else(String::new, |said| view.say(&said))
    });
    let example =
        move || view.say(&Phrase::key("run.example").with("example", "at 20.0 kill broker1"));
    view! {
        <p class="note">{view.label("run.note")}</p>
        <div class="choices">{CHOICES.map(|name| choice(view, (text, suited), name))}</div>
        <details class="model">
            <summary>{view.label("run.settings")}</summary>
            <div class="settings">{settings}</div>
        </details>
        <textarea rows="9" spellcheck="false" wrap="soft" aria-label=view.label("run.text")
            aria-invalid=in_words(is_wrong)
            prop:value=text on:input=move |event| {
                suited.set(None);
                text.set(event_target_value(&event));
            }/>
        <p class="note wrong" role="status">{wrong}</p>
        <p class="note" role="status">{suiting}</p>
        <p class="note" role="status">{unheeded}</p>
        {part_while(is_wrong, move || view! { <p class="note">{words(example)}</p> })}
        <div class="begin">
            <button class="btn" on:click=pushed(afresh)>{view.label("run.afresh")}</button>
            <button class="btn ink" prop:disabled=truth(is_wrong) on:click=pushed(begin)>
                {view.label("run.begin")}
            </button>
        </div>
    }
    .into_any()
}

/// One choice of the set-up's line.
fn choice(
    view: View,
    (text, suited): (RwSignal<String>, RwSignal<Option<Phrase>>),
    name: &'static str,
) -> AnyView {
    let now = Memo::new(move |_| {
        text.with(|text| run_text::read(text).map(|run| run_text::chosen(&run.setup, name)).ok())
    });
    let shown = words(move || now.get().unwrap_or_default());
    let set = move |value: String| {
        let before = text.with_untracked(|text| run_text::with(text, name, &value));
        let after = run_text::suited(&before);
        suited.set(run_text::suiting(&before, &after));
        text.set(after);
    };
    let offered = run_text::offered(name);
    let first = (name == CHOICES[0]).then_some("");
    let field = if offered.is_empty() {
        view! {
            <input type="text" inputmode="numeric" prop:value=shown
                on:change=move |event| set(event_target_value(&event))/>
        }
        .into_any()
    } else {
        let option = |value: String| {
            let (name, is_now) = (value.clone(), value.clone());
            let is_now = truth(move || now.with(|now| now.as_ref() == Some(&is_now)));
            view! { <option value=value prop:selected=is_now>{name}</option> }
        };
        view! {
            <select data-first=first on:change=move |event| set(event_target_value(&event))>
                {offered.into_iter().map(option).collect_view()}
            </select>
        }
        .into_any()
    };
    view! { <label><span>{view.label(called(name))}</span>{field}</label> }.into_any()
}

/// One setting by its real name.
fn setting(text: RwSignal<String>, row: SettingRow) -> AnyView {
    let SettingRow { name, value, is_set } = row;
    let set = move |event| {
        text.update(|text| *text = run_text::with(text, name, &event_target_value(&event)));
    };
    view! {
        <label class:set=is_set>
            <span>{name}</span><input type="text" prop:value=value on:change=set/>
        </label>
    }
    .into_any()
}
