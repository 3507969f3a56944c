//! The keyboard: one table of single keys, each of which is a button somewhere as well.
//!
//! Keys are dead in text fields, with a modifier, and when a person has switched them off.
//! *Invariant:* no key does what no button does.

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent};

use super::view::{Lower, Over, View};

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Play, or pause.
    Play,
    /// One event on.
    Forward,
    /// One event back.
    Back,
    /// One event on, on the selected thing's lane.
    ForwardHere,
    /// One event back, on the selected thing's lane.
    BackHere,
    /// To the start.
    Start,
    /// To the live edge.
    End,
    /// To the cause of the event shown.
    Cause,
    /// To its first effect.
    Effect,
    /// The verb of the selected thing that has this key.
    Verb(char),
    /// The verbs of the selected thing get the focus.
    Verbs,
    /// What can be added.
    Add,
    /// Find anything.
    Find,
    /// The run as text: another release, another size, other settings.
    Setup,
    /// The list of situations.
    Situations,
    /// A situation by its number: chosen in the list, then begun.
    Situation(usize),
    /// The lanes show the whole run, or what led to the selected event.
    Fit,
    /// The arrows of the selected event stay.
    Pin,
    /// Something in the seat of the lanes, or the lanes again.
    Lower(Lower),
    /// On to the next thing worth seeing.
    Run,
    /// A faster pace.
    Faster,
    /// A slower pace.
    Slower,
    /// One panel on the whole screen, or all again.
    Full,
    /// A blank page, or the page again.
    Blank,
    /// The link to what is shown.
    Link,
    /// The legend.
    Legend,
    /// Help, with this table.
    Help,
    /// Up: out of what is open, then nothing selected.
    Up,
}

impl Act {
    /// The letter that it is given by, where a letter could mean an answer instead.
    pub fn letter(self) -> Option<char> {
        match self {
            Act::Verb(letter) => Some(letter),
            Act::Add => Some('A'),
            Act::Blank => Some('B'),
            _ => None,
        }
    }
}

/// A key of the table.
pub struct Key {
    /// The key as a keyboard event names it.
    pub key: &'static str,
    /// Whether `Shift` is held.
    pub shift: bool,
    /// The key as people read it.
    pub shown: &'static str,
    /// What it means.
    pub act: Act,
    /// The key of its name in the catalog.
    pub name: &'static str,
}

const fn key(key: &'static str, shown: &'static str, act: Act, name: &'static str) -> Key {
    Key { key, shift: false, shown, act, name }
}

const fn shifted(key: &'static str, shown: &'static str, act: Act, name: &'static str) -> Key {
    Key { key, shift: true, shown, act, name }
}

/// The table.
pub const KEYS: &[Key] = &[
    key(" ", "Space", Act::Play, "page.key.play"),
    key("ArrowRight", "→", Act::Forward, "page.key.forward"),
    key("ArrowLeft", "←", Act::Back, "page.key.back"),
    shifted("ArrowRight", "Shift →", Act::ForwardHere, "page.key.forward-here"),
    shifted("ArrowLeft", "Shift ←", Act::BackHere, "page.key.back-here"),
    key("Home", "Home", Act::Start, "page.key.start"),
    key("End", "End", Act::End, "page.key.end"),
    key("[", "[", Act::Cause, "page.key.cause"),
    key("]", "]", Act::Effect, "page.key.effect"),
    key("k", "K", Act::Verb('K'), "page.key.kill"),
    key("x", "X", Act::Verb('X'), "page.key.stop"),
    key("r", "R", Act::Verb('R'), "page.key.start-again"),
    key("z", "Z", Act::Verb('Z'), "page.key.freeze"),
    key("c", "C", Act::Verb('C'), "page.key.cut"),
    key("d", "D", Act::Verb('D'), "page.key.drop"),
    key("a", "A", Act::Add, "page.key.add"),
    key("n", "N", Act::Setup, "run.title"),
    key("/", "/", Act::Find, "page.key.find"),
    key("1", "1 – 9", Act::Situations, "page.key.situations"),
    key("Enter", "Enter", Act::Verbs, "page.key.verbs"),
    key("o", "O", Act::Lower(Lower::Files), "page.key.files"),
    key("i", "I", Act::Lower(Lower::Laws), "page.key.laws"),
    key("g", "G", Act::Lower(Lower::Logs), "page.key.logs"),
    key("`", "`", Act::Lower(Lower::Console), "page.key.console"),
    key("e", "E", Act::Run, "page.key.run"),
    key("+", "+", Act::Faster, "page.key.faster"),
    key("-", "−", Act::Slower, "page.key.slower"),
    key("f", "F", Act::Fit, "page.key.fit"),
    key("p", "P", Act::Pin, "page.key.pin"),
    key("t", "T", Act::Full, "page.key.full"),
    key("b", "B", Act::Blank, "page.key.blank"),
    key("l", "L", Act::Link, "page.key.link"),
    key("m", "M", Act::Legend, "legend.title"),
    key("?", "?", Act::Help, "page.key.help"),
    key("Escape", "Esc", Act::Up, "page.key.up"),
];

/// Keys that do the same on a focused button as the button itself: they stay the button's.
const BUTTON_KEYS: [&str; 2] = ["Enter", " "];

/// Listens for the table's keys as long as the page is mounted.
pub fn listen(view: View, act: impl Fn(Act) + 'static) {
    let handle = window_event_listener(ev::keydown, move |event: KeyboardEvent| {
        let Some(meant) = meant(view, &event) else { return };
        event.prevent_default();
        act(meant);
    });
    on_cleanup(move || handle.remove());
}

fn meant(view: View, event: &KeyboardEvent) -> Option<Act> {
    let finds = (event.ctrl_key() || event.meta_key()) && !event.alt_key() && !event.shift_key();
    if finds && event.key().eq_ignore_ascii_case("k") {
        // What other pages have taught: it opens the search from anywhere.
        return (view.over.get_untracked() != Over::Find).then_some(Act::Find);
    }
    if event.ctrl_key() || event.meta_key() || event.alt_key() || event.default_prevented() {
        return None;
    }
    let pressed = event.key();
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    if target.is_some_and(|target| keeps(&target, &pressed)) {
        return None;
    }
    if !view.single_keys.get_untracked() && pressed.chars().count() == 1 {
        return None;
    }
    let over = view.over.get_untracked();
    if let Ok(number @ 1..) = pressed.parse() {
        return (over != Over::Find).then_some(Act::Situation(number));
    }
    let is_meant = |key: &&Key| {
        key.key.eq_ignore_ascii_case(&pressed)
            && (key.shift == event.shift_key() || !key.key.starts_with("Arrow"))
    };
    let act = KEYS.iter().find(is_meant).map(|key| key.act);
    let opens = |act: &Act| matches!(act, Act::Up | Act::Help | Act::Add | Act::Find | Act::Legend);
    act.filter(|act| !over.is_list() || opens(act))
}

/// Whether an element that has the focus keeps a key for itself.
fn keeps(element: &Element, pressed: &str) -> bool {
    let is = |name: &str| element.tag_name().eq_ignore_ascii_case(name);
    let writes = is("input") || is("textarea") || is("select");
    let pushes = is("button") || is("a") || is("summary");
    (writes && pressed != "Escape") || (pushes && BUTTON_KEYS.contains(&pressed))
}
