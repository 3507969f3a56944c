//! The sentence bar: what just happened, in one sentence, always in the same seat.
//!
//! *Invariant:* every chip points at the thing that it names.

use std::time::Duration;

use leptos::prelude::*;

use crate::picture::drawing::icon::Icon;
use crate::picture::sentence::{Chip, Field, SentencePicture};
use crate::picture::target::Target;
use crate::sim::{EventId, Span};
use crate::text::{Catalog, Phrase, Piece};
use crate::ui::icon::IconOf;
use crate::ui::live::{follow, lines, part_while, pushed, truth, words};
use crate::ui::mirror::{Mirror, use_mirror};
use crate::ui::panels::guide::{Question, ShowMe, Verdict};
use crate::ui::playback::use_playback;
use crate::ui::scene::{Scene, use_scene};
use crate::ui::view::{Over, View, use_view};
use crate::ui::visit::use_visit;

/// The sentence bar.
#[component]
pub fn Sentence() -> impl IntoView {
    let (view, scene, playback) = (use_view(), use_scene(), use_playback());
    let mirror = use_mirror();
    let pieces = move || {
        let catalog = view.catalog();
        if let Some(lasting) = mirror.lasting.get() {
            return vec![lasting.into_any()];
        }
        if let Some(refusal) = mirror.refusal() {
            return vec![view! { <em class="refusal">{refusal}</em> }.into_any()];
        }
        scene.sentence.with(|sentence| match sentence {
            Some(said) => spoken(view, &catalog, said),
            None => vec![view.key("page.sentence.calm").into_any()],
        })
    };
    let visit = use_visit();
    let turn = move || view! { <b class="turn">{view.label("visit.your-turn")}" "</b> };
    let is_said = move || mirror.lasting.with(Option::is_none) && mirror.refusal().is_none();
    let age = Memo::new(move |_| if is_said() { age(scene, mirror) } else { None });
    let old = move || match age.get() {
        Some(seconds) => view.say(&Phrase::key("page.sentence.ago").with("n", seconds)),
        None => String::new(),
    };
    let asks = move || visit.guess().is_some();
    let by_you = move || scene.sentence.with(|said| said.as_ref().is_some_and(|s| s.by_you));
    let holds = move || mirror.lasting.with(Option::is_some);
    let read = move || {
        mirror.lasting.set(None);
        playback.playing.set(true);
    };
    let you = move || {
        view! {
            <svg class="draw dm" width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
                <path d="M10 1l9 9l-9 9l-9 -9z" class="userd"></path>
                <text x="10" y="13" text-anchor="middle" class="userdt">{view.label("page.you.initial")}</text>
            </svg>
        }
    };
    let begin = move || {
        view! {
            <button class="btn ink" on:click=pushed(read)>{view.label("page.link.begin")}</button>
        }
    };
    let bar = move || {
        view! {
            {part_while(by_you, you)}
            <p>
                <Verdict/>{part_while(move || visit.asks.get(), turn)}{lines(pieces)}
                <small class="ago">{words(old)}</small>
            </p>
            <ShowMe/>
            {part_while(holds, begin)}
            {part_while(move || !holds(), || view! { <Buttons/> })}
        }
    };
    view! {
        <section class="say" id="sentence" class:ask=truth(asks) aria-label=view.label("page.panel.sentence")>
            {part_while(asks, || view! { <Question/> })}
            {part_while(move || !asks(), bar)}
        </section>
    }
}

/// How many seconds old what is said is, if it is no news: what holds no longer should not be read
/// as if it did.
fn age(scene: Scene, mirror: Mirror) -> Option<u64> {
    const OLD: Span = Span::secs(3);
    mirror.tenths();
    let event = scene.sentence.with(|said| said.as_ref().and_then(|said| said.event))?;
    let age = mirror.with(|lab| {
        let record = lab.trace().get(lab.trace().find(EventId(event))?)?;
        Some(lab.moment().at.since(record.at))
    })?;
    (age >= OLD).then(|| age.as_ms() / 1000)
}

/// What can be done with what was said: act on it, ask why, go on.
#[component]
fn Buttons() -> impl IntoView {
    let (view, scene, visit) = (use_view(), use_scene(), use_visit());
    let act = move || {
        let name = scene.inspector.with(|picture| picture.as_ref().map(|p| p.name.clone()));
        let name = name.unwrap_or_else(|| Phrase::key("page.panel.cluster"));
        view.say(&Phrase::key("page.act").with_phrase("name", name))
    };
    // Where nothing is selected, what can be done is to add something.
    let sheet = move || {
        let selected = view.selected.with_untracked(Option::is_some);
        if selected { Over::Sheet } else { Over::Add }
    };
    let next = move || {
        scene.step();
        visit.run_to_next(view);
    };
    let ask = pushed(move || scene.ask_why());
    view! {
        <button class="btn act" on:click=pushed(move || view.lay(sheet()))>{words(act)}</button>
        <button class="btn why-button" aria-keyshortcuts="[" on:click=ask>
            <IconOf icon=Icon::Why/>{view.label("page.why")}<kbd class="kbd">"["</kbd>
        </button>
        <button class="btn" class:ink=truth(move || !visit.asks.get()) aria-keyshortcuts="E" on:click=pushed(next)>
            {view.label("page.next")}<IconOf icon=Icon::Next/>
        </button>
    }
}

/// How long the page waits before it speaks again.
const PAUSE: Duration = Duration::from_millis(1500);

/// The sentence for who listens: never more than one in a while, and always the latest.
#[component]
pub fn Spoken() -> impl IntoView {
    let (view, scene) = (use_view(), use_scene());
    let said = RwSignal::new(String::new());
    let waits = StoredValue::new(false);
    let event =
        Memo::new(move |_| scene.sentence.with(|said| said.as_ref().map(|s| (s.key, s.event))));
    follow(move || {
        // Read, not only tracked: a memo that nobody has read watches nothing.
        event.get();
        if waits.get_value() {
            return;
        }
        waits.set_value(true);
        set_timeout(
            move || {
                let Some(now) = scene.sentence.try_get_untracked() else { return };
                waits.set_value(false);
                let words = now.map(|now| view.say(&now.phrase())).unwrap_or_default();
                said.set(words);
            },
            PAUSE,
        );
    });
    view! { <div class="spoken" role="log" aria-live="polite">{words(move || said.get())}</div> }
}

fn spoken(view: View, catalog: &Catalog, sentence: &SentencePicture) -> Vec<AnyView> {
    let field = |name: &str| sentence.fields.iter().find(|field| field.name == name);
    let piece = |piece: Piece| match piece {
        Piece::Plain(words) => super::explained(view, words),
        Piece::Field(name) => match field(name) {
            Some(field) => chip(view, catalog, field),
            None => ().into_any(),
        },
    };
    catalog.pieces(sentence.key).into_iter().map(piece).collect()
}

fn chip(view: View, catalog: &Catalog, field: &Field) -> AnyView {
    let words = catalog.say(&field.words);
    match &field.chip {
        Chip::Plain => words.into_any(),
        Chip::Figure => view! { <span class="chip">{words}</span> }.into_any(),
        Chip::Name(target) => pointing(view, "chip", words, target.clone()),
        Chip::Quoted(target) => pointing(view, "chip code", words, target.clone()),
    }
}

fn pointing(view: View, class: &'static str, words: String, target: Target) -> AnyView {
    let is_selected = {
        let target = target.clone();
        truth(move || view.selected.get().as_ref() == Some(&target))
    };
    let select = pushed(move || view.select(target.clone()));
    view! {
        <button class=class class:sel=is_selected on:click=select>
            {words}
        </button>
    }
    .into_any()
}
