//! Help: what the page is, what is simplified in it, and the table of its keys, which can be
//! switched off here.
//!
//! *Invariant:* the table shown is the table that listens.

use leptos::html;
use leptos::prelude::*;

use crate::picture::drawing::icon::Icon;
use crate::text;
use crate::ui::icon::IconOf;
use crate::ui::keys::KEYS;
use crate::ui::view::{Over, use_view};

/// The help that lies over the page.
#[component]
pub fn Help() -> impl IntoView {
    let view = use_view();
    view! {
        <Show when=move || view.over.get() == Over::Help>
            <Sheet/>
        </Show>
    }
}

#[component]
fn Sheet() -> impl IntoView {
    let view = use_view();
    let close = NodeRef::<html::Button>::new();
    Effect::new(move || {
        if let Some(button) = close.get() {
            // A button that cannot take the focus leaves it where it is.
            let _ = button.focus();
        }
    });
    let lines = KEYS.iter().map(|key| {
        view! { <dt><kbd class="kbd">{key.shown}</kbd></dt><dd>{move || view.key(key.name)}</dd> }
    });
    let about = text::about_the_model().map(|key| view! { <li>{move || view.key(key)}</li> });
    view! {
        <div class="help" role="dialog" aria-modal="true" aria-labelledby="help-title">
            <div class="phead">
                <h2 class="title" id="help-title">{move || view.key("page.head.help")}</h2>
                <button class="btn bare sq" node_ref=close on:click=move |_| view.up()
                    aria-label=move || view.key("page.close")>
                    <IconOf icon=Icon::Close/>
                </button>
            </div>
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
            <dl class="keys">{lines.collect_view()}</dl>
        </div>
    }
}
