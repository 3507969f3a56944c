//! The guide: what the visit asks for, in the head, and its guess, in the sentence's seat.
//!
//! *Invariant:* it can be left at any time, and nothing is graded.

use leptos::prelude::*;

use super::over::begin as begin_situation;
use crate::lab::situations;
use crate::text::Phrase;
use crate::ui::mirror::use_mirror;
use crate::ui::scene::use_scene;
use crate::ui::view::use_view;
use crate::ui::visit::use_visit;

/// The lesson's name, how far it has come, and what the reader is to do.
#[component]
pub fn Task() -> impl IntoView {
    let (view, visit, scene) = (use_view(), use_visit(), use_scene());
    let step = move || {
        let (n, of) = visit.step()?;
        Some(view.say(&Phrase::key("visit.step").with("n", n).with("of", of)))
    };
    let asked = Memo::new(move |_| visit.ask());
    let show_me = move |_| {
        if let Some((_, command)) = asked.get_untracked() {
            scene.send(&command);
        }
    };
    let mirror = use_mirror();
    let leave = move |_| {
        visit.leave();
        if mirror.with(|lab| lab.due().is_some()) {
            mirror.refuse(view.key("visit.left"));
        }
    };
    view! {
        <Show when=move || visit.step().is_some()>
            <span class="task">
                <i>{move || view.key("visit.title")}</i>
                <span class="steps num">{step}</span>
                <Show when=move || asked.with(Option::is_some)>
                    <b>{move || view.key("visit.your-turn")}</b>
                    <span>{move || asked.get().map(|(key, _)| view.key(key))}</span>
                    <button class="btn" on:click=show_me>{move || view.key("visit.show-me")}</button>
                </Show>
                <button class="btn bare" on:click=leave>{move || view.key("visit.leave")}</button>
            </span>
        </Show>
    }
}

/// The situation that runs: its name and what it is about; once it is over, what to try next.
#[component]
pub fn Caption() -> impl IntoView {
    let (view, visit, scene) = (use_view(), use_visit(), use_scene());
    let number = move || visit.watched.get().map_or(0, |watched| watched.number);
    let over = Memo::new(move |_| visit.is_over());
    let part = move |place: usize| {
        let words = view.key(visit.watched.get()?.name);
        words.split(" | ").nth(place).map(str::to_owned)
    };
    let begin = move |number: usize| begin_situation(visit, scene, number);
    let is_last = move || number() == situations().count();
    view! {
        <Show when=move || visit.watched.get().is_some()>
            <span class="task caption" role="status" title=move || part(1)>
                <i>{move || part(0)}</i>
                <Show when=move || over.get()
                    fallback=move || view! { <span>{move || part(1)}</span> }>
                    <b>{move || view.key("situation.over")}</b>
                    <span>{move || view.key("situation.next-steps")}</span>
                    <button class="btn" on:click=move |_| begin(number())>{move || view.key("situation.again")}</button>
                    <Show when=move || !is_last()>
                        <button class="btn" on:click=move |_| begin(number() + 1)>{move || view.key("situation.next")}</button>
                    </Show>
                </Show>
            </span>
        </Show>
    }
}

/// The open guess: the question and its options.
#[component]
pub fn Question() -> impl IntoView {
    let (view, visit) = (use_view(), use_visit());
    let guess = Memo::new(move |_| visit.guess());
    let options = move || {
        let guess = guess.get()?;
        let option = |(letter, (name, _)): (char, (&'static str, u64))| {
            let key = option_key(guess.key, name);
            view! {
                <button class="btn option" on:click=move |_| visit.say(Some(name))>
                    <i>{letter.to_string()}</i>{move || view.say(&key)}
                </button>
            }
        };
        Some(('A'..).zip(guess.options).map(option).collect_view())
    };
    view! {
        <p><i class="q">{move || view.key("visit.your-guess")}</i>" "
            {move || guess.get().map(|guess| view.key(guess.key))}</p>
        {options}
        <button class="btn bare" on:click=move |_| visit.say(None)>{move || view.key("visit.skip")}</button>
    }
}

/// What was guessed, and what is right, once it has shown.
#[component]
pub fn Verdict() -> impl IntoView {
    let (view, visit) = (use_view(), use_visit());
    let words = move || {
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
    view! { <span class="verdict">{words}</span> }
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
