//! The laws, in the seat of the lanes: each in plain words, and where one is broken, since when and
//! by what.
//!
//! *Invariant:* a breach is a button that selects its event; why it came, the inspector says.

use leptos::prelude::*;

use super::PanelHead;
use crate::picture::laws::{LawRow, Stand, laws};
use crate::picture::target::Target;
use crate::ui::live::{lines, part, pushed, words};
use crate::ui::mirror::use_mirror;
use crate::ui::view::{Lower, View, use_view};

/// The panel of laws, where somebody has opened it.
#[component]
pub fn Laws() -> impl IntoView {
    let view = use_view();
    part(move || (view.lower.get() == Lower::Laws).then(|| shown(view)))
}

fn shown(view: View) -> AnyView {
    let mirror = use_mirror();
    let picture = Memo::new(move |_| {
        mirror.track_trace();
        mirror.with(laws)
    });
    let summary = words(move || picture.with(|picture| view.say(&picture.summary)));
    let rows = lines(move || {
        let rows = picture.with(|picture| picture.rows.clone());
        rows.into_iter().map(|law| row(view, law)).collect()
    });
    view! {
        <section class="console laws" id="laws" tabindex="0" aria-label=view.label("page.panel.laws")>
            <PanelHead figure="page.figure.lanes" name="page.panel.laws">
                <span class="k" role="status">{summary}</span>
            </PanelHead>
            <ul>{rows}</ul>
        </section>
    }
    .into_any()
}

fn row(view: View, law: LawRow) -> AnyView {
    let (class, mark) = match law.stand {
        Stand::Holds => ("law", "✓"),
        Stand::Broken => ("law broken", "×"),
        Stand::Healed => ("law healed", "×"),
    };
    let breach = law.breach.map(|breach| {
        let event = breach.event;
        let select = pushed(move || {
            view.select(Target::Event(event));
            view.show_selected();
        });
        view! {
            <button class="link num" on:click=select>{view.say(&breach.when)}</button>
            <code>{breach.what}</code>
            <p>{view.say(&breach.real)}</p>
        }
        .into_any()
    });
    view! {
        <li class=class>
            <span class="mark" aria-hidden="true">{mark}</span>
            <span class="ids">{law.ids}</span>
            <span class="says">{view.say(&law.says)}</span>
            {breach}
        </li>
    }
    .into_any()
}
