//! The transport: play, step, pace, where the cursor is, takes.

use leptos::prelude::*;

use crate::lab::{Pace, TakeId};
use crate::picture::drawing::icon::Icon;
use crate::picture::drawing::seconds;
use crate::picture::laws;
use crate::text::Phrase;
use crate::ui::icon::IconOf;
use crate::ui::live::{Pushed, in_words, pushed, truth, words};
use crate::ui::mirror::{Mirror, use_mirror};
use crate::ui::playback::{PACES, Playback, use_playback};
use crate::ui::scene::use_scene;
use crate::ui::view::{Lower, View, use_view};
use crate::ui::visit::use_visit;

/// The transport bar.
#[component]
pub fn Transport() -> impl IntoView {
    let (view, mirror, playback) = (use_view(), use_mirror(), use_playback());
    let broken = Memo::new(move |_| {
        mirror.track_trace();
        mirror.with(laws::broken)
    });
    let (scene, visit) = (use_scene(), use_visit());
    let step = move |go: &dyn Fn()| {
        scene.step();
        go();
    };
    let play_icon =
        Signal::derive(move || if playback.playing.get() { Icon::Pause } else { Icon::Play });
    let now = words(move || {
        mirror.track_trace();
        view.say(&seconds(i32::try_from(mirror.tenths()).unwrap_or(i32::MAX)))
    });
    view! {
        <section class="trans" id="transport" aria-label=view.label("page.panel.transport")>
            <Push icon=Icon::First name="page.key.start" shown="Home" push=pushed(move || playback.to_start())/>
            <Push icon=Icon::Back name="page.key.back" shown="←" push=pushed(move || step(&|| playback.step(false)))/>
            <button class="btn ink play" on:click=pushed(move || playback.turn()) aria-keyshortcuts="Space"
                aria-pressed=in_words(move || playback.playing.get())
                aria-label=view.label("page.key.play") title=words(move || titled(view, "page.key.play", "Space"))>
                <IconOf icon=play_icon/>
            </button>
            <Push icon=Icon::Forward name="page.key.forward" shown="→" push=pushed(move || step(&|| playback.step(true)))/>
            <Push icon=Icon::RunTo name="page.key.run" shown="E" push=pushed(move || step(&|| visit.run_to_next(view)))/>
            <Push icon=Icon::Last name="page.key.end" shown="End" push=pushed(move || playback.to_end())/>
            <span class="vr"></span>
            <Paces playback=playback/>
            <span class="vr"></span>
            <span class="at">
                <span class="k">{view.label("transport.at")}</span>
                <span class="num">{now}</span>
                <span class="k">{words(move || edge(view, mirror))}</span>
            </span>
            <span class="vr"></span>
            <Takes/>
            <span class="lowers">{LOWERS.map(|lower| turn(view, lower, broken))}</span>
        </section>
    }
}

/// What can have the seat of the lanes, with the key of its name and its key on the keyboard.
const LOWERS: [(Lower, &str, &str); 4] = [
    (Lower::Laws, "page.panel.laws", "I"),
    (Lower::Files, "page.panel.files", "O"),
    (Lower::Logs, "page.panel.logs", "G"),
    (Lower::Console, "page.panel.console", "`"),
];

fn turn(
    view: View,
    (lower, name, key): (Lower, &'static str, &'static str),
    broken: Memo<usize>,
) -> impl IntoView {
    let count = words(move || match (lower, broken.get()) {
        (Lower::Laws, 1..) => format!(" •{}", broken.get()),
        _ => String::new(),
    });
    view! {
        <button class="btn bare" aria-keyshortcuts=key aria-pressed=in_words(move || view.lower.get() == lower)
            on:click=pushed(move || view.turn_lower(lower))>
            {view.label(name)}{count}<kbd class="kbd">{key}</kbd>
        </button>
    }
}

fn titled(view: View, name: &'static str, shown: &str) -> String {
    format!("{} ({shown})", view.key(name))
}

/// A button of the transport, with its key in its tooltip.
#[component]
fn Push(
    /// What it shows.
    icon: Icon,
    /// The key of its name.
    name: &'static str,
    /// Its key on the keyboard.
    shown: &'static str,
    /// What it does.
    push: Pushed,
) -> impl IntoView {
    let view = use_view();
    view! {
        <button class="btn bare sq" on:click=push aria-label=view.label(name)
            title=words(move || titled(view, name, shown))>
            <IconOf icon=icon/>
        </button>
    }
}

fn edge(view: View, mirror: Mirror) -> String {
    mirror.track_trace();
    let behind = mirror.with(|lab| lab.end().at.since(lab.moment().at));
    match behind.as_ms() {
        0..100 => view.key("transport.live"),
        ms => {
            let n = format!("{}.{}", ms / 1000, ms / 100 % 10);
            view.say(&Phrase::key("transport.behind").with("n", n))
        }
    }
}

/// The choice of the pace.
#[component]
fn Paces(
    /// Whose pace.
    playback: Playback,
) -> impl IntoView {
    let view = use_view();
    let option = move |place: usize| {
        let said = words(move || match PACES[place] {
            Pace::ByEvent => view.key("transport.pace.event"),
            Pace::Fixed(1_000) => view.key("transport.pace.real"),
            Pace::Fixed(slow @ 0..1_000) => format!("1 : {}", 1_000 / slow),
            Pace::Fixed(fast) => format!("{} : 1", fast / 1_000),
        });
        view! {
            <option value=place.to_string() selected=truth(move || playback.pace.get() == place)>
                {said}
            </option>
        }
    };
    let chosen = move |event| {
        if let Ok(place) = event_target_value(&event).parse() {
            playback.choose(place);
        }
    };
    view! {
        <label class="pace">
            <span class="k">{view.label("transport.pace")}</span>
            <select on:change=chosen>{(0..PACES.len()).map(option).collect_view()}</select>
        </label>
    }
}

/// The takes: what was, and what somebody tried instead.
#[component]
fn Takes() -> impl IntoView {
    let (view, mirror) = (use_view(), use_mirror());
    let takes = Memo::new(move |_| {
        mirror.track_trace();
        mirror.with(|lab| (lab.takes().len() as u16, lab.current().0))
    });
    let called = move |take: u16| match take {
        0 => view.key("transport.main"),
        n => view.say(&Phrase::key("transport.what-if").with("n", n)),
    };
    view! {
        <span class="takes" role="group" aria-label=view.label("transport.takes")>
            <IconOf icon=Icon::Branch/>
            <For each=move || 0..takes.get().0 key=|take| *take let:take>
                <button class="btn bare" aria-pressed=in_words(move || takes.get().1 == take)
                    on:click=pushed(move || mirror.change(|lab| lab.switch(TakeId(take))))>
                    {words(move || called(take))}
                </button>
            </For>
        </span>
    }
}
