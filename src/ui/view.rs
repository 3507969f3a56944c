//! The view: language, theme, selection and what is open. Never shared; what a person has set is
//! kept on this device.
//!
//! *Invariant:* nothing here changes what happens in a run.

use std::sync::Arc;

use leptos::prelude::*;
use web_sys::UrlSearchParams;

use crate::picture::console::Tried;
use crate::picture::target::Target;
use crate::picture::tree::{self, Open};
use crate::text::{Catalog, Language, Phrase};
use crate::ui::live::{Words, follow, words};

/// How the page is lit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Ink on paper.
    Light,
    /// The same plate at night.
    Dark,
    /// Large, for a wall.
    Projector,
}

impl Theme {
    /// The theme's name in the query and in the style sheet.
    pub fn tag(self) -> &'static str {
        match self {
            Theme::Light => "light",
            Theme::Dark => "dark",
            Theme::Projector => "projector",
        }
    }

    /// The key of its name in the catalog.
    pub fn key(self) -> &'static str {
        match self {
            Theme::Light => "page.theme.light",
            Theme::Dark => "page.theme.dark",
            Theme::Projector => "page.theme.projector",
        }
    }

    /// The next one, for the button that turns.
    pub fn next(self) -> Theme {
        match self {
            Theme::Light => Theme::Dark,
            Theme::Dark => Theme::Projector,
            Theme::Projector => Theme::Light,
        }
    }

    fn of_tag(tag: &str) -> Option<Theme> {
        [Theme::Light, Theme::Dark, Theme::Projector].into_iter().find(|theme| theme.tag() == tag)
    }
}

/// Which panel a phone, or a projector, shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// The stage.
    Cluster,
    /// The znode tree.
    Tree,
    /// The lanes.
    Lanes,
    /// The inspector; a phone has it as a sheet.
    Selected,
}

impl Seat {
    /// The name that the style sheet knows.
    pub fn tag(self) -> &'static str {
        match self {
            Seat::Cluster => "cluster",
            Seat::Tree => "tree",
            Seat::Lanes => "lanes",
            Seat::Selected => "selected",
        }
    }

    /// The next one, around.
    pub fn next(self) -> Seat {
        match self {
            Seat::Cluster => Seat::Tree,
            Seat::Tree => Seat::Lanes,
            Seat::Lanes => Seat::Selected,
            Seat::Selected => Seat::Cluster,
        }
    }
}

/// What has the seat of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lower {
    /// The lanes.
    Lanes,
    /// The console.
    Console,
    /// What the processes log.
    Logs,
    /// The laws.
    Laws,
    /// A partition's log.
    Files,
}

impl Lower {
    /// The name that the style sheet knows.
    pub fn tag(self) -> &'static str {
        match self {
            Lower::Lanes => "lanes",
            Lower::Console => "console",
            Lower::Logs => "logs",
            Lower::Laws => "laws",
            Lower::Files => "files",
        }
    }
}

/// Whether things may travel on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// They may.
    Moving,
    /// Before and after stand side by side.
    Still,
}

/// What lies over the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Nothing.
    Nothing,
    /// Help, with the table of keys.
    Help,
    /// What can be found.
    Find,
    /// What can be added.
    Add,
    /// The run as text, with its set-up.
    Run,
    /// The situations.
    Situations,
    /// What the marks and words mean.
    Legend,
    /// The verbs of the selected thing, on a phone.
    Sheet,
    /// A blank page, for a teacher who wants to be looked at.
    Blank,
}

impl Over {
    /// Whether it is a list that takes the keys for itself.
    pub fn is_list(self) -> bool {
        !matches!(self, Over::Nothing | Over::Sheet | Over::Blank)
    }

    /// The name that the style sheet knows.
    pub fn tag(self) -> &'static str {
        match self {
            Over::Nothing => "nothing",
            Over::Help => "help",
            Over::Find => "find",
            Over::Add => "add",
            Over::Run => "run",
            Over::Situations => "situations",
            Over::Legend => "legend",
            Over::Sheet => "sheet",
            Over::Blank => "blank",
        }
    }
}

/// The view. It is copied freely: its signals live as long as the page.
#[derive(Clone, Copy)]
pub struct View {
    /// The language in use.
    pub language: RwSignal<Language>,
    /// The theme in use.
    pub theme: RwSignal<Theme>,
    /// The selected thing.
    pub selected: RwSignal<Option<Target>>,
    /// What a phone or a projector shows.
    pub seat: RwSignal<Seat>,
    /// What lies over the page.
    pub over: RwSignal<Over>,
    /// Which line of the list has been chosen by its number, from 1.
    pub chosen: RwSignal<usize>,
    /// Whether the stage has the whole screen.
    pub full: RwSignal<bool>,
    /// Which znodes are open in the tree.
    pub open: RwSignal<Open>,
    /// Which znodes the tree shows: those whose path has this in it.
    pub filter: RwSignal<String>,
    /// Whether the lanes' scale follows what is to be seen.
    pub fit: RwSignal<bool>,
    /// The event whose arrows stay on the lanes.
    pub pinned: RwSignal<Option<u64>>,
    /// What has the seat of the lanes.
    pub lower: RwSignal<Lower>,
    /// In which run, and what, was typed at Kafka's tools in vain.
    pub tried: RwSignal<(u16, Vec<Tried>)>,
    /// Whether things travel.
    pub motion: RwSignal<Motion>,
    /// Whether single keys act.
    pub single_keys: RwSignal<bool>,
    catalog: RwSignal<Arc<Catalog>>,
}

impl View {
    /// The view that the query, else the device, asks for.
    pub fn from_query() -> View {
        let (query, kept) = (query(), kept());
        let get = |from: &Option<UrlSearchParams>, name: &str| from.as_ref()?.get(name);
        let asked = |name: &str| get(&query, name).or_else(|| get(&kept, name));
        let language = asked("lang").or_else(browser_language);
        let language = language.and_then(|tag| Language::of_tag(&tag));
        let language = language.unwrap_or(Language::English);
        let theme = asked("theme").and_then(|tag| Theme::of_tag(&tag));
        let view = View {
            language: RwSignal::new(language),
            theme: RwSignal::new(theme.unwrap_or_else(device_theme)),
            selected: RwSignal::new(None),
            seat: RwSignal::new(Seat::Cluster),
            over: RwSignal::new(Over::Nothing),
            chosen: RwSignal::new(1),
            full: RwSignal::new(false),
            open: RwSignal::new(tree::opened_first()),
            filter: RwSignal::new(String::new()),
            fit: RwSignal::new(false),
            pinned: RwSignal::new(None),
            lower: RwSignal::new(Lower::Lanes),
            tried: RwSignal::new((0, Vec::new())),
            motion: RwSignal::new(motion(asked("motion").as_deref())),
            single_keys: RwSignal::new(asked("keys").as_deref() != Some("off")),
            catalog: RwSignal::new(Arc::new(catalog(language))),
        };
        view.show_on_root();
        view.keep();
        view
    }

    /// The catalog in use; whoever reads it runs again when the language changes.
    pub fn catalog(self) -> Arc<Catalog> {
        self.catalog.get()
    }

    /// The words of a phrase in the language in use.
    pub fn say(self, phrase: &Phrase) -> String {
        self.catalog.with(|catalog| catalog.say(phrase))
    }

    /// The words under a key, from now on in the language in use.
    pub fn label(self, key: &'static str) -> Words {
        words(move || self.key(key))
    }

    /// The words under a key.
    pub fn key(self, key: &'static str) -> String {
        self.say(&Phrase::key(key))
    }

    /// Selects a thing.
    pub fn select(self, target: Target) {
        if self.selected.with_untracked(|now| now.as_ref() != Some(&target)) {
            self.selected.set(Some(target));
        }
    }

    /// Lays something over the page, or takes it away again.
    pub fn lay(self, over: Over) {
        self.over.update(|now| *now = if *now == over { Over::Nothing } else { over });
    }

    /// Opens the list of situations with one of them chosen, or closes it.
    pub fn choose(self, number: usize) {
        self.chosen.set(number);
        self.lay(Over::Situations);
    }

    /// Whether one panel is shown at a time, whatever the width: on a wall.
    pub fn shows_one(self) -> bool {
        self.theme.get_untracked() == Theme::Projector
    }

    /// Brings what is selected into sight where the inspector has no seat of its own.
    pub fn show_selected(self) {
        if self.shows_one() {
            self.seat.set(Seat::Selected);
        } else if is_narrow() {
            self.over.set(Over::Sheet);
        }
    }

    /// Shows a figure where one has the page to itself, and takes away what covers it.
    pub fn show(self, seat: Seat) {
        self.seat.set(seat);
        self.lower.set(Lower::Lanes);
    }

    /// Puts something in the seat of the lanes, or the lanes again.
    pub fn turn_lower(self, to: Lower) {
        self.lower.update(|now| *now = if *now == to { Lower::Lanes } else { to });
    }

    /// Goes one step up: out of what lies over the page, then out of the selection.
    pub fn up(self) {
        if self.over.get_untracked() == Over::Nothing {
            self.selected.set(None);
        } else {
            self.over.set(Over::Nothing);
        }
    }

    /// Speaks another language from now on.
    pub fn speak(self, language: Language) {
        self.catalog.set(Arc::new(catalog(language)));
        self.language.set(language);
    }

    /// Keeps on this device what a person has changed; what a query asked for stays the query's.
    fn keep(self) {
        let mut is_first = true;
        follow(move || {
            let theme = self.theme.get().tag();
            let language = self.language.get().tag();
            let keys = if self.single_keys.get() { "on" } else { "off" };
            let storage = window().local_storage().ok().flatten();
            if let (false, Some(storage)) = (is_first, storage) {
                // A browser that keeps nothing is no reason to stop.
                let _ =
                    storage.set_item(KEPT, &format!("theme={theme}&lang={language}&keys={keys}"));
            }
            is_first = false;
        });
    }

    /// Keeps the root element's attributes equal to the view.
    fn show_on_root(self) {
        follow(move || {
            let Some(root) = document().document_element() else {
                return;
            };
            let motion = match self.motion.get() {
                Motion::Moving => "moving",
                Motion::Still => "still",
            };
            let attributes = [
                ("lang", self.language.get().tag()),
                ("data-theme", self.theme.get().tag()),
                ("data-motion", motion),
            ];
            for (name, value) in attributes {
                root.set_attribute(name, value).expect("these are attribute names");
            }
            document().set_title(&self.key("page.title"));
        });
    }
}

/// The words for whoever reads here: a phone has no keys.
fn catalog(language: Language) -> Catalog {
    let catalog = Catalog::of(language);
    if asks("(pointer: coarse)") || is_narrow() { catalog.by_touch() } else { catalog }
}

/// Whether the page is laid out for a phone.
pub fn is_narrow() -> bool {
    asks("(max-width: 900px)")
}

/// Under which name the view is kept.
const KEPT: &str = "zootrope.view";

fn kept() -> Option<UrlSearchParams> {
    let kept = window().local_storage().ok()??.get_item(KEPT).ok()??;
    UrlSearchParams::new_with_str(&kept).ok()
}

fn query() -> Option<UrlSearchParams> {
    let search = window().location().search().ok()?;
    UrlSearchParams::new_with_str(&search).ok()
}

fn browser_language() -> Option<String> {
    window().navigator().language()
}

fn device_theme() -> Theme {
    if asks("(prefers-color-scheme: dark)") { Theme::Dark } else { Theme::Light }
}

fn motion(asked: Option<&str>) -> Motion {
    let still = asked == Some("still") || asks("(prefers-reduced-motion: reduce)");
    if still { Motion::Still } else { Motion::Moving }
}

fn asks(media: &str) -> bool {
    let list = window().match_media(media).ok().flatten();
    list.is_some_and(|list| list.matches())
}

/// The view of the page that is mounted.
pub fn use_view() -> View {
    use_context().expect("the page provides its view before any panel")
}
