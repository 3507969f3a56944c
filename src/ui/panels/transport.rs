//! The transport: play, step, pace, where the cursor is.

use leptos::prelude::*;

use crate::ui::view::use_view;

/// The transport bar.
#[component]
pub fn Transport() -> impl IntoView {
    let view = use_view();
    view! {
        <section class="trans" id="transport" aria-label=move || view.key("page.panel.transport")>
        </section>
    }
}
