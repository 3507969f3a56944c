//! The switch between the figures, on a phone and on a wall. Wide pages show them all, and not it.

use leptos::prelude::*;

use crate::lab::TakeId;
use crate::picture::drawing::icon::Icon;
use crate::picture::tree::Change;
use crate::ui::icon::IconOf;
use crate::ui::mirror::use_mirror;
use crate::ui::scene::use_scene;
use crate::ui::view::{Lower, Seat, use_view};

const SEATS: [(Seat, &str); 4] = [
    (Seat::Cluster, "page.switch.cluster"),
    (Seat::Tree, "page.switch.tree"),
    (Seat::Lanes, "page.switch.lanes"),
    (Seat::Selected, "page.switch.selected"),
];

/// The segmented switch.
#[component]
pub fn Switch() -> impl IntoView {
    let view = use_view();
    let (scene, mirror) = (use_scene(), use_mirror());
    let changed = Memo::new(move |_| {
        scene.tree.with(|tree| tree.rows.iter().filter(|row| row.change != Change::None).count())
    });
    let takes = Memo::new(move |_| {
        mirror.track_trace();
        mirror.with(|lab| (lab.current().0, lab.takes().len() as u16))
    });
    let next = move |_| {
        let (take, of) = takes.get_untracked();
        mirror.change(|lab| lab.switch(TakeId((take + 1) % of)));
    };
    let button = move |(seat, key): (Seat, &'static str)| {
        let on = move || view.seat.get() == seat && view.lower.get() == Lower::Lanes;
        view! {
            <button class=format!("to-{}", seat.tag()) class:on=on aria-pressed=move || on().to_string()
                on:click=move |_| view.show(seat)>
                {move || view.key(key)}
                <Show when=move || seat == Seat::Tree && !on() && changed.get() != 0>
                    <span class="n">"•"{move || changed.get()}</span>
                </Show>
            </button>
        }
    };
    view! {
        <nav class="seg" aria-label=move || view.key("page.switch")>
            {SEATS.map(button)}
            <Show when=move || takes.get().1 != 1>
                <button class="take" on:click=next aria-label=move || view.key("transport.takes")>
                    <IconOf icon=Icon::Branch/>{move || format!("{}/{}", takes.get().0 + 1, takes.get().1)}
                </button>
            </Show>
        </nav>
    }
}
