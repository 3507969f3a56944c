//! The guide: what the visit asks for, in the head, and its guess, in the sentence's seat.
//!
//! *Invariant:* it can be left at any time, and nothing is graded.

use leptos::prelude::*;

use super::over::begin as begin_situation;
use crate::lab::situations;
use crate::text::Phrase;
use crate::ui::live::{lines, part_while, pushed, words};
use crate::ui::mirror::use_mirror;
use crate::ui::scene::use_scene;
use crate::ui::view::use_view;
use crate::ui::visit::use_visit;

/// The lesson's name, and how far it has come.
#[component]
pub fn Task() -> impl IntoView {
    let (view, visit, mirror) = (use_view(), use_visit(), use_mirror());
    let step = move || {
        let step = |(n, of)| view.say(&Phrase::key("visit.step").with("n", n).with("of", of));
        visit.step().map(step).unwrap_or_default()
    };
    let leave = move || {
        visit.leave();
        if mirror.with(|lab| lab.due().is_some()) {
            mirror.refuse(view.key("visit.left"));
        }
    };
    let task = move || {
        view! {
            <span class="task">
                <i>{view.label("visit.title")}</i>
                <span class="steps num">{words(step)}</span>
                <button class="btn bare" on:click=pushed(leave)>{view.label("visit.leave")}</button>
            </span>
        }
    };
    part_while(move || visit.step().is_some(), task)
}

/// The button that does what the reader is asked to do.
#[component]
pub fn ShowMe() -> impl IntoView {
    let (view, visit, scene) = (use_view(), use_visit(), use_scene());
    let show_me = move || {
        if let Some((_, command)) = untrack(|| visit.ask()) {
            scene.send(&command);
        }
    };
    let button = move || {
        view! {
            <button class="btn ink" on:click=pushed(show_me)>{view.label("visit.show-me")}</button>
        }
    };
    part_while(move || visit.asks.get(), button)
}

/// The situation that runs: its name and what it is about; once it is over, what to try next.
#[component]
pub fn Caption() -> impl IntoView {
    let (view, visit, scene) = (use_view(), use_visit(), use_scene());
    let number = move || visit.watched.get().map_or(0, |watched| watched.number);
    let over = Memo::new(move |_| visit.is_over());
    let name = move |place: usize| {
        let words = visit.watched.get().map(|watched| view.key(watched.name)).unwrap_or_default();
        words.split(" | ").nth(place).unwrap_or_default().to_owned()
    };
    let begin = move |number: usize| begin_situation(visit, scene, number);
    let following = move || {
        let go = pushed(move || begin(number() + 1));
        view! { <button class="btn" on:click=go>{view.label("situation.next")}</button> }
    };
    let end = move || {
        let again = pushed(move || begin(number()));
        view! {
            <b>{view.label("situation.over")}</b>
            <span>{view.label("situation.next-steps")}</span>
            <button class="btn" on:click=again>{view.label("situation.again")}</button>
            {part_while(move || number() != situations().count(), following)}
        }
    };
    let about = move || view! { <span>{words(move || name(1))}</span> };
    let caption = move || {
        view! {
            <span class="task caption" role="status" title=words(move || name(1))>
                <i>{words(move || name(0))}</i>
                {part_while(move || !over.get(), about)}
                {part_while(move || over.get(), end)}
            </span>
        }
    };
    part_while(move || visit.watched.get().is_some(), caption)
}

/// The open guess: the question and its options.
#[component]
pub fn Question() -> impl IntoView {
    let (view, visit) = (use_view(), use_visit());
    let guess = Memo::new(move |_| visit.guess());
    let asked = move || guess.get().map(|guess| view.key(guess.key)).unwrap_or_default();
    let options = lines(move || {
        let Some(guess) = guess.get() else { return Vec::new() };
        let option = |(letter, (name, _)): (char, (&'static str, u64))| {
            let key = option_key(guess.key, name);
            view! {
                <button class="btn option" on:click=pushed(move || visit.say(Some(name)))>
                    <i>{letter.to_string()}</i>{words(move || view.say(&key))}
                </button>
            }
            .into_any()
        };
        ('A'..).zip(guess.options).map(option).collect()
    });
    view! {
        <p><i class="q">{view.label("visit.your-guess")}</i>" "
            {words(asked)}</p>
        {options}
        <button class="btn bare" on:click=pushed(move || visit.say(None))>{view.label("visit.skip")}</button>
    }
}

/// What was guessed, and what is right, once it has shown.
#[component]
pub fn Verdict() -> impl IntoView {
    let (view, visit) = (use_view(), use_visit());
    let verdict = move || {
        let answer = visit.answer.get()?;
        let shown = visit.progress.with(|p| p.revealed.is_some_and(|(act, _)| act == answer.act));
        let near = visit.progress.with(|p| p.act == answer.act + 1);
        if !(shown && near) {
            return None;
        }
        let name = |option: &'static str| option_key("visit.guess", option);
        let line = match answer.said {
            None => return None,
            Some(said) if said == answer.right => Phrase::key("visit.right"),
            Some(said) => Phrase::key("visit.wrong").with_phrase("guess", name(said)),
        };
        Some(view.say(&line.with_phrase("answer", name(answer.right))))
    };
    view! { <span class="verdict">{words(move || verdict().unwrap_or_default())}</span> }
}

/// The phrase of an option: its keys are the catalog's, one per option of the script.
fn option_key(guess: &'static str, option: &str) -> Phrase {
    const OPTIONS: [(&str, &str); 3] = [
        ("at-once", "visit.guess.at-once"),
        ("heartbeat", "visit.guess.heartbeat"),
        ("timeout", "visit.guess.timeout"),
    ];
    let found = OPTIONS.iter().find(|(name, _)| *name == option);
    Phrase::key(found.map_or(guess, |(_, key)| key))
}
