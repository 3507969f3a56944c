//! The panels: one file each, each with its style sheet of the same name.

pub mod console;
pub mod files;
pub mod guide;
pub mod head;
pub mod inspector;
pub mod lanes;
pub mod laws;
pub mod logs;
pub mod over;
pub mod run_text;
pub mod sentence;
pub mod stage;
pub mod switch;
pub mod transport;
pub mod tree;

use leptos::prelude::*;

use crate::picture::legend::{self, Spoken};
use crate::ui::live::pushed;
use crate::ui::view::{Over, View, use_view};

/// A text in which words of the field are explained: on the pointer, on the focus, and by a click
/// in the legend.
pub fn explained(view: View, text: &str) -> AnyView {
    let catalog = view.catalog();
    let piece = |spoken| match spoken {
        Spoken::Plain(words) => words.to_string().into_any(),
        Spoken::Word(word, means) => view! {
            <button class="term" data-means=view.key(means) aria-description=view.key(means)
                on:click=pushed(move || view.lay(Over::Legend))>{word.to_string()}</button>
        }
        .into_any(),
    };
    legend::words(&catalog, text).into_iter().map(piece).collect_view().into_any()
}

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
                <span class="fig">{view.label(figure)}</span>
                <span class="lab">{view.label(name)}</span>
            </h2>
            <span class="tools">{children.map(|children| children())}</span>
        </div>
    }
}
