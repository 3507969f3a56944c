//! Fig. 4, the lanes: time runs to the right, one lane a thing.

use leptos::prelude::*;

use super::PanelHead;
use crate::ui::view::use_view;

/// The lanes panel.
#[component]
pub fn Lanes() -> impl IntoView {
    let view = use_view();
    view! {
        <section class="lanes" id="lanes" aria-label=move || view.key("page.panel.lanes")>
            <PanelHead figure="page.figure.lanes" name="page.panel.lanes"/>
        </section>
    }
}
