//! The panels: one file each, each with its style sheet of the same name.

pub mod console;
pub mod guide;
pub mod head;
pub mod inspector;
pub mod lanes;
pub mod over;
pub mod sentence;
pub mod stage;
pub mod switch;
pub mod transport;
pub mod tree;

use leptos::prelude::*;

use crate::ui::view::use_view;

/// The head of a panel: its figure, its name, and its tools.
#[component]
pub fn PanelHead(
    /// The key of the figure's number.
    figure: &'static str,
    /// The key of the panel's name.
    name: &'static str,
    /// Its tools.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    let view = use_view();
    view! {
        <div class="phead">
            <h2 class="title">
                <span class="fig">{move || view.key(figure)}</span>
                <span class="lab">{move || view.key(name)}</span>
            </h2>
            <span class="tools">{children.map(|children| children())}</span>
        </div>
    }
}
