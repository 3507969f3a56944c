//! The head: name, what runs, share, help, language, theme.

use leptos::prelude::*;

use crate::lab::Lab;
use crate::picture::drawing::icon::Icon;
use crate::text::Phrase;
use crate::ui::icon::{IconOf, Mark};
use crate::ui::mirror::use_mirror;
use crate::ui::panels::guide::Task;
use crate::ui::view::{Over, use_view};

/// The head of the page.
#[component]
pub fn Head() -> impl IntoView {
    let view = use_view();
    let mirror = use_mirror();
    let meta = move || {
        let setup = |lab: &Lab| (lab.setup().seed, lab.setup().release);
        let (seed, release) = mirror.with(setup);
        view.say(&Phrase::key("page.head.meta").with("seed", seed).with("release", release))
    };
    let theme = move || {
        let name = Phrase::key(view.theme.get().key());
        view.say(&Phrase::key("page.head.theme").with_phrase("theme", name))
    };
    view! {
        <header class="head">
            <h1 class="brand"><Mark/><span class="word">{move || view.key("page.name")}</span></h1>
            <Task/>
            <span class="right">
                <span class="meta">{meta}</span>
                <button class="btn bare help-button" aria-haspopup="dialog" aria-keyshortcuts="?"
                    aria-label=move || view.key("page.head.help")
                    on:click=move |_| view.lay(Over::Help)>
                    <IconOf icon=Icon::Help/><span>{move || view.key("page.head.help")}</span>
                </button>
                <button class="btn bare" on:click=move |_| view.speak(view.language.get().other())
                    lang=move || view.language.get().other().tag()
                    aria-label=move || view.key("page.head.language.label")>
                    {move || view.key("page.head.language")}
                </button>
                <button class="btn bare sq" aria-label=theme title=theme
                    on:click=move |_| view.theme.update(|theme| *theme = theme.next())>
                    <IconOf icon=Icon::Theme/>
                </button>
            </span>
        </header>
    }
}
