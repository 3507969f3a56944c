//! The switch between the figures, on a phone and on a wall. Wide pages show them all, and not it.

use leptos::prelude::*;

use crate::lab::TakeId;
use crate::picture::drawing::icon::Icon;
use crate::picture::tree::Change;
use crate::ui::icon::IconOf;
use crate::ui::live::{in_words, part_while, pushed, truth, words};
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
    let next = move || {
        let (take, of) = takes.get_untracked();
        mirror.change(|lab| lab.switch(TakeId((take + 1) % of)));
    };
    let place = move || format!("{}/{}", takes.get().0 + 1, takes.get().1);
    let take = move || {
        view! {
            <button class="take" on:click=pushed(next) aria-label=view.label("transport.takes")>
                <IconOf icon=Icon::Branch/>{words(place)}
            </button>
        }
    };
    let count = move || {
        view! { <span class="n">"•"{words(move || changed.get().to_string())}</span> }
    };
    let button = move |(seat, key): (Seat, &'static str)| {
        let on = move || view.seat.get() == seat && view.lower.get() == Lower::Lanes;
        view! {
            <button class=format!("to-{}", seat.tag()) class:on=truth(on) aria-pressed=in_words(on)
                on:click=pushed(move || view.show(seat))>
                {view.label(key)}
                {part_while(move || seat == Seat::Tree && !on() && changed.get() != 0, count)}
            </button>
        }
    };
    view! {
        <nav class="seg" aria-label=view.label("page.switch")>
            {SEATS.map(button)}
            {part_while(move || takes.get().1 != 1, take)}
        </nav>
    }
}
