//! The head: name, what runs, share, help, language, theme.

use leptos::prelude::*;

use crate::picture::drawing::icon::Icon;
use crate::text::Phrase;
use crate::ui::icon::{IconOf, Mark};
use crate::ui::keys::Act;
use crate::ui::live::{pushed, words};
use crate::ui::mirror::use_mirror;
use crate::ui::panels::guide::{Caption, Task};
use crate::ui::view::use_view;

/// The head's tools: what each shows, its name, its key, and what it does.
const BUTTONS: [(Icon, &str, &str, Act); 6] = [
    (Icon::Menu, "page.key.situations", "1", Act::Situations),
    (Icon::Add, "page.key.add", "A", Act::Add),
    (Icon::Search, "page.key.find", "/", Act::Find),
    (Icon::Share, "page.key.link", "L", Act::Link),
    (Icon::Legend, "legend.title", "M", Act::Legend),
    (Icon::Help, "page.key.help", "?", Act::Help),
];

/// The head of the page.
#[component]
pub fn Head(
    /// Does what a key means.
    act: impl Fn(Act) + Copy + 'static,
) -> impl IntoView {
    let view = use_view();
    let mirror = use_mirror();
    let setup = Memo::new(move |_| {
        mirror.track_trace();
        mirror.with(|lab| {
            let setup = lab.setup();
            (setup.seed, setup.release, setup.zookeeper_release())
        })
    });
    let meta = words(move || {
        let (seed, release, zookeeper) = setup.get();
        let phrase = Phrase::key("page.head.meta").with("seed", seed).with("release", release);
        view.say(&phrase.with("zookeeper", zookeeper))
    });
    let theme = move || {
        let name = Phrase::key(view.theme.get().key());
        view.say(&Phrase::key("page.head.theme").with_phrase("theme", name))
    };
    let button = |(icon, name, key, meant): (Icon, &'static str, &'static str, Act)| {
        view! {
            <button class="btn bare tool" aria-keyshortcuts=key title=view.label(name)
                aria-label=words(move || format!("{} {key}", view.key(name))) on:click=pushed(move || act(meant))>
                <IconOf icon=icon/><kbd class="kbd">{key}</kbd>
            </button>
        }
    };
    view! {
        <header class="head">
            <h1 class="brand"><Mark/><span class="word">{view.label("page.name")}</span></h1>
            <Task/>
            <Caption/>
            <span class="right">
                <button class="btn bare meta" aria-keyshortcuts="N" title=view.label("run.title")
                    on:click=pushed(move || act(Act::Setup))>{meta}<kbd class="kbd">"N"</kbd></button>
                {BUTTONS.map(button)}
                <button class="btn bare" on:click=pushed(move || view.speak(view.language.get().other()))
                    lang=words(move || view.language.get().other().tag().to_owned())
                    aria-label=view.label("page.head.language.label")>
                    {view.label("page.head.language")}
                </button>
                <button class="btn bare sq" aria-label=words(theme) title=words(theme)
                    on:click=pushed(move || view.theme.update(|theme| *theme = theme.next()))>
                    <IconOf icon=Icon::Theme/>
                </button>
            </span>
        </header>
    }
}
