//! The page: DOM, signals and the wall clock. The only floor that knows a browser.
//!
//! Panels show pictures and issue commands; they hold nothing of the engine.
//! *Invariant:* whatever can be done with a pointer can be done with the keyboard.

pub mod draw;
pub mod icon;
pub mod keys;
pub mod lanes_paint;
pub mod link;
pub mod live;
pub mod mirror;
pub mod moving;
pub mod panels;
pub mod playback;
pub mod scene;
pub mod view;
pub mod visit;

use std::time::Duration;

use leptos::mount::mount_to;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;

use crate::lab::{Lab, Recording};
use crate::picture::target::Target;
use crate::text::Phrase;
use keys::Act;
use live::{follow, in_words, words};
use mirror::Mirror;
use panels::console::Console;
use panels::files::Files;
use panels::head::Head;
use panels::inspector::Inspector;
use panels::lanes::Lanes;
use panels::laws::Laws;
use panels::logs::Logs;
use panels::over::{self, Overlay};
use panels::sentence::{Sentence, Spoken};
use panels::stage::Stage;
use panels::switch::Switch;
use panels::transport::Transport;
use panels::tree::Tree;
use playback::Playback;
use scene::Scene;
use view::{Over, View};
use visit::Visit;

/// Puts the page in the seat that `index.html` keeps for it.
///
/// A link's recording is unpacked before, for the page begins with it.
pub fn mount() {
    link::watch_for_panics();
    spawn_local(async {
        let opened = match link::opened() {
            Some(fragment) => Some(link::open(&fragment).await),
            None => None,
        };
        let seat = document().get_element_by_id("app");
        let seat = seat.expect("index.html keeps a seat for the page");
        seat.set_text_content(None);
        seat.remove_attribute("aria-busy").expect("this is an attribute's name");
        mount_to(seat.unchecked_into(), move || view! { <Page opened=opened/> }).forget();
    });
}

/// The whole page: every panel in its seat.
#[component]
fn Page(
    /// What the link held that the page was opened with, if it was.
    opened: Option<Result<Recording, String>>,
) -> impl IntoView {
    let view = View::from_query();
    provide_context(view);
    let by_link = matches!(opened, Some(Ok(_)));
    let damaged = opened.as_ref().and_then(|opened| opened.as_ref().err().cloned());
    let unheeded = opened
        .as_ref()
        .and_then(|opened| crate::picture::run_text::unheeded(&opened.as_ref().ok()?.setup));
    let mirror = begin(opened);
    let playback = Playback::start(mirror, view);
    let visit = Visit::new(mirror, playback, !by_link);
    let scene = Scene::new(view, mirror, visit);
    provide_context(visit);
    provide_context(mirror);
    provide_context(scene);
    provide_context(playback);
    if by_link || damaged.is_some() {
        playback.pause();
    }
    mirror
        .lasting
        .set(damaged.map(|why| view.say(&Phrase::key("page.link.damaged").with("why", why))));
    if let Some(said) = unheeded {
        mirror.refuse(view.say(&said));
    }
    keep(mirror);
    sign(mirror, playback);
    let act = move |act| obey(act, view, mirror, scene, playback, visit);
    keys::listen(view, act);
    view! {
        <div class="wide" data-seat=words(move || view.seat.get().tag().to_owned())
            data-over=words(move || view.over.get().tag().to_owned())
            data-lit=in_words(move || view.selected.get().is_some())
            data-full=in_words(move || view.full.get())
            data-lower=words(move || view.lower.get().tag().to_owned())>
            <Head act=act/>
            <Switch/>
            <Tree/>
            <Stage/>
            <Inspector/>
            <Sentence/>
            <Lanes act=act/>
            <Console/>
            <Logs/>
            <Laws/>
            <Files/>
            <Transport/>
            <Overlay act=act/>
            <Spoken/>
        </div>
    }
}

/// A lab with what the link held, at the moment it was made; without one, at the beginning.
fn begin(opened: Option<Result<Recording, String>>) -> Mirror {
    let fresh = || Lab::new(Recording::first_visit());
    match opened {
        Some(Ok(recording)) => {
            let mirror = Mirror::new(fresh());
            mirror.begin(recording);
            mirror
        }
        None | Some(Err(_)) => Mirror::new(fresh()),
    }
}

/// Packs the recording ahead, now and then, for the panel of a page that has stopped.
fn keep(mirror: Mirror) {
    const EVERY: Duration = Duration::from_secs(2);
    let kept = StoredValue::new(None);
    set_interval(
        move || {
            let here = Some((mirror.take(), mirror.with(Lab::moment)));
            if kept.get_value() != here {
                kept.set_value(here);
                link::keep(mirror.with(Lab::recording));
            }
        },
        EVERY,
    );
}

/// Copies the link to what is shown. Time stands still, so that it is this moment's.
fn copy_link(view: View, mirror: Mirror, playback: Playback) {
    playback.pause();
    let has_takes = mirror.with(|lab| lab.takes().len() > 1);
    let all = has_takes.then(|| mirror.with(Lab::recording_of_all));
    let recordings = all.into_iter().chain([mirror.with(Lab::recording)]).collect();
    link::copy(recordings, move |copied, place| {
        let said = match copied {
            link::Copied::Nothing => "page.link.none",
            link::Copied::TooLong => "page.link.too-long",
            link::Copied::Address => "page.link.address",
            link::Copied::Clipboard => "page.link.copied",
        };
        let takes = match (has_takes, place) {
            (true, 0) => view.key("page.link.all-takes"),
            (true, _) => view.key("page.link.takes"),
            (false, _) => String::new(),
        };
        let is_made = !matches!(copied, link::Copied::Nothing | link::Copied::TooLong);
        let takes = if is_made { format!(" {takes}") } else { String::new() };
        mirror.refuse(view.key(said) + &takes);
    });
}

/// While time stands still, the body carries the hash of the whole state.
fn sign(mirror: Mirror, playback: Playback) {
    follow(move || {
        mirror.track_trace();
        mirror.tenths();
        let Some(body) = document().body() else { return };
        let signed = if playback.playing.get() {
            body.remove_attribute("data-state-hash")
        } else {
            let hash = mirror.cluster(|cluster| format!("{:016x}", cluster.hash()));
            body.set_attribute("data-state-hash", &hash)
        };
        signed.expect("this is an attribute's name");
    });
}

/// Does what a key means.
fn obey(act: Act, view: View, mirror: Mirror, scene: Scene, playback: Playback, visit: Visit) {
    if let Some(option) = visit.option(act.letter()) {
        return visit.say(Some(option));
    }
    if matches!(act, Act::Forward | Act::Back | Act::ForwardHere | Act::BackHere | Act::Run) {
        scene.step();
    }
    match act {
        Act::Play => playback.turn(),
        Act::Forward => playback.step(true),
        Act::Back => playback.step(false),
        Act::ForwardHere | Act::BackHere => match view.selected.get_untracked() {
            Some(Target::Process(name) | Target::Session(name) | Target::OldSession(name)) => {
                playback.step_on(&name, act == Act::ForwardHere);
            }
            _ => playback.step(act == Act::ForwardHere),
        },
        Act::Start => playback.to_start(),
        Act::End => playback.to_end(),
        Act::Run => visit.run_to_next(view),
        Act::Faster => playback.shift(1),
        Act::Slower => playback.shift(-1),
        Act::Verb('D') if !scene.act('D') => scene.to_message(playback),
        Act::Verb(key) if scene.act(key) => {}
        Act::Verb(key) => scene.has_no(key),
        Act::Add if view.over.get_untracked() == Over::Nothing && scene.act('A') => {}
        Act::Add if view.over.get_untracked() == Over::Add => push_first(".help [data-first]"),
        Act::Add => view.lay(Over::Add),
        Act::Find => view.lay(Over::Find),
        Act::Setup => view.lay(Over::Run),
        Act::Situations => view.choose(1),
        Act::Situation(number) if view.over.get_untracked() == Over::Situations => {
            view.over.set(Over::Nothing);
            over::begin(visit, scene, number);
        }
        Act::Situation(number) => view.choose(number),
        Act::Fit => view.fit.update(|fit| *fit = !*fit),
        Act::Pin => scene.pin(),
        Act::Verbs => focus_first(".verb"),
        Act::Up => view.up(),
        Act::Cause => scene.to_cause(),
        Act::Effect => scene.to_effect(),
        Act::Link => copy_link(view, mirror, playback),
        Act::Help => view.lay(Over::Help),
        Act::Legend => view.lay(Over::Legend),
        Act::Blank => view.lay(Over::Blank),
        Act::Lower(lower) => view.turn_lower(lower),
        Act::Full if view.shows_one() => view.show(view.seat.get_untracked().next()),
        Act::Full => view.full.update(|full| *full = !*full),
    }
}

/// Gives the focus to the element after the focused one (or before it) of those found, around.
fn focus_next(selector: &str, by: i32) {
    let (Ok(found), focused) =
        (document().query_selector_all(selector), document().active_element())
    else {
        return;
    };
    let count = found.length() as i32;
    let at = (0..count).find(|n| found.item(*n as u32).as_ref() == focused.as_deref());
    let next = at.map_or(0, |at| at + by).rem_euclid(count.max(1));
    let element = found.item(next as u32).and_then(|n| n.dyn_into::<web_sys::HtmlElement>().ok());
    if let Some(element) = element {
        let _ = element.focus();
    }
}

/// The first element that a selector finds.
fn first(selector: &str) -> Option<web_sys::HtmlElement> {
    document().query_selector(selector).ok().flatten()?.dyn_into().ok()
}

/// Pushes the first button that a selector finds.
fn push_first(selector: &str) {
    if let Some(button) = first(selector) {
        button.click();
    }
}

/// Gives the focus to the first element that a selector finds.
fn focus_first(selector: &str) {
    if let Some(element) = first(selector) {
        // An element that cannot take the focus now leaves it where it is.
        let _ = element.focus();
    }
}
