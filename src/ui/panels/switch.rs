//! The phone's switch between cluster, tree and lanes. Wide pages do not show it.

use leptos::prelude::*;

use crate::ui::view::{Seat, use_view};

const SEATS: [(Seat, &str); 3] = [
    (Seat::Cluster, "page.switch.cluster"),
    (Seat::Tree, "page.switch.tree"),
    (Seat::Lanes, "page.switch.lanes"),
];

/// The segmented switch.
#[component]
pub fn Switch() -> impl IntoView {
    let view = use_view();
    let button = move |(seat, key): (Seat, &'static str)| {
        let on = move || view.seat.get() == seat;
        view! {
            <button class:on=on aria-pressed=move || on().to_string()
                on:click=move |_| view.seat.set(seat)>
                {move || view.key(key)}
            </button>
        }
    };
    view! {
        <nav class="seg" aria-label=move || view.key("page.switch")>
            {SEATS.map(button)}
        </nav>
    }
}
