//! The scene: the pictures that panels show, each a memo over the run.
//!
//! *Invariant:* a panel is notified only when its picture differs.

use leptos::prelude::*;

use super::mirror::Mirror;
use super::playback::Playback;
use super::view::View;
use super::visit::Visit;
use crate::picture::ensemble::{self, Run};
use crate::picture::flight::{self, Moving};
use crate::picture::inspector::{self, InspectorPicture};
use crate::picture::sentence::SentencePicture;
use crate::picture::stage::{self, StagePicture};
use crate::picture::story;
use crate::picture::target::Target;
use crate::picture::tree::{self, TreePicture};
use crate::sim::{SimTime, Span};
use crate::text::Phrase;
use crate::zk::tree::Tree;

/// How long after the last write what was written is news.
const NEWS: Span = Span::secs(30);

/// The pictures.
#[derive(Clone, Copy)]
pub struct Scene {
    /// The stage.
    pub stage: Memo<StagePicture>,
    /// The tree.
    pub tree: Memo<TreePicture>,
    /// The inspector, if something is selected.
    pub inspector: Memo<Option<InspectorPicture>>,
    /// The sentence.
    pub sentence: Memo<Option<SentencePicture>>,
    mirror: Mirror,
    view: View,
    before: RwSignal<Tree>,
}

impl Scene {
    /// The scene of the run that the page shows.
    pub fn new(view: View, mirror: Mirror, visit: Visit) -> Scene {
        let before = RwSignal::new(Tree::new());
        let stage = Memo::new(move |_| shown(mirror, stage::stage));
        let tree = Memo::new(move |_| {
            let (open, filter) = (view.open.get(), view.filter.get());
            before.with(|before| shown(mirror, |run| tree::tree(run, before, &open, &filter)))
        });
        let inspector = Memo::new(move |_| {
            let target: Target = view.selected.get()?;
            let end = mirror.with(|lab| lab.position());
            shown(mirror, |run| inspector::inspector(run, end, &target))
        });
        let sentence = Memo::new(move |_| {
            mirror.track_trace();
            visit
                .sentence()
                .or_else(|| mirror.with(|lab| story::told(Run::of(lab), lab.position())))
        });
        let scene = Scene { stage, tree, inspector, sentence, mirror, view, before };
        scene.grow_old(visit);
        scene.explain_mistakes(visit);
        scene
    }

    /// What changed is no news any more when the visit asks for something, or when nothing has been
    /// written for a while.
    fn grow_old(self, visit: Visit) {
        let asked = Memo::new(move |_| visit.ask().map(|(key, _)| key));
        Effect::new(move || {
            if asked.get().is_some() {
                self.step();
            }
        });
        let seen = StoredValue::new((None, SimTime::ZERO));
        let shown = StoredValue::new(((u16::MAX, 0), SimTime::ZERO));
        Effect::new(move || {
            self.mirror.tenths();
            let now = self.mirror.now();
            let last = self.mirror.cluster(|cluster| Some(ensemble::witness(cluster)?.1.last_zxid));
            let (written, since) = seen.get_value();
            // Who goes back, or begins elsewhere, has seen nothing change.
            let (before, at) = shown.get_value();
            let take = self.mirror.take();
            shown.set_value((take, now));
            if now < at || take != before {
                self.step();
                return seen.set_value((last, now));
            }
            let quiet = last == written;
            if quiet && now < since + NEWS {
                return;
            }
            if quiet {
                self.step();
            }
            seen.set_value((last, now));
        });
    }

    /// Whoever has guessed wrong is shown why: the event that reveals it is selected.
    fn explain_mistakes(self, visit: Visit) {
        let revealed = Memo::new(move |_| visit.progress.with(|progress| progress.revealed));
        Effect::new(move || {
            let Some((act, index)) = revealed.get() else { return };
            let is_wrong = visit.answer.with_untracked(|answer| {
                answer.is_some_and(|a| a.act == act && a.said.is_some_and(|said| said != a.right))
            });
            let event = self.mirror.with(|lab| lab.trace().get(index).map(|record| record.id.0));
            if let Some(event) = event.filter(|_| is_wrong) {
                self.view.select(Target::Event(event));
            }
        });
    }

    /// A person takes a step: what changed before it is no news any more.
    pub fn step(self) {
        let tree = self.mirror.cluster(|cluster| {
            ensemble::witness(cluster).map(|(_, database)| database.tree.clone())
        });
        if let Some(tree) = tree {
            self.before.set(tree);
        }
    }

    /// Gives a command, as a step of a person.
    pub fn send(self, line: &str) {
        self.step();
        self.mirror.send(line);
    }

    /// Does what the selected thing's verb of this key says; false if it has none.
    pub fn act(self, key: char) -> bool {
        let of = |picture: &InspectorPicture| {
            picture.verbs.iter().find(|verb| verb.key == key).map(|verb| verb.command.clone())
        };
        let command = self.inspector.with_untracked(|picture| picture.as_ref().and_then(of));
        if let Some(command) = &command {
            self.send(command);
        }
        command.is_some()
    }

    /// Says that what is selected has no verb of this key.
    pub fn has_no(self, key: char) {
        let name = self.inspector.with_untracked(|picture| Some(picture.as_ref()?.name.clone()));
        let Some(name) = name else { return };
        let words = Phrase::key("page.no-verb").with("key", key).with_phrase("name", name);
        self.mirror.refuse(self.view.say(&words));
    }

    /// Selects the message that lands next at the selected process, or anywhere, and holds time.
    pub fn to_message(self, playback: Playback) {
        let selected = self.view.selected.get_untracked();
        let concerns = |flight: &Moving| match &selected {
            Some(Target::Process(name) | Target::Session(name) | Target::OldSession(name)) => {
                flight.from == *name || flight.to == *name
            }
            _ => true,
        };
        let flights = self.mirror.cluster(flight::flights).into_iter().filter(concerns);
        if let Some(next) = flights.min_by_key(|flight| flight.lands_at) {
            playback.pause();
            self.view.select(Target::Event(next.id));
        }
    }

    /// Keeps the arrows of the selected event, or of the one that is told; lets go of kept ones.
    pub fn pin(self) {
        let selected = match self.view.selected.get_untracked() {
            Some(Target::Event(id)) => Some(id),
            _ => self.sentence.with_untracked(|said| said.as_ref()?.event),
        };
        self.view.pinned.update(|kept| *kept = if kept.is_some() { None } else { selected });
    }

    /// Selects the event that the sentence tells: the inspector says why it came.
    pub fn ask_why(self) {
        let event = self.sentence.with_untracked(|said| said.as_ref().and_then(|s| s.event));
        if let Some(event) = event {
            self.view.select(Target::Event(event));
            self.view.show_selected();
        }
    }

    /// Goes to the cause of the selected event, or asks why the last one came.
    pub fn to_cause(self) {
        let is_event = |target: &Option<Target>| matches!(target, Some(Target::Event(_)));
        if !self.view.selected.with_untracked(is_event) {
            return self.ask_why();
        }
        self.go_to(|picture| picture.causes.first().and_then(|link| link.event));
    }

    /// Goes to the first thing that the selected event led to.
    pub fn to_effect(self) {
        self.go_to(|picture| picture.effects.last().and_then(|link| link.event));
    }

    fn go_to(self, event: impl Fn(&InspectorPicture) -> Option<u64>) {
        let found = self.inspector.with_untracked(|picture| picture.as_ref().and_then(event));
        if let Some(event) = found {
            self.view.select(Target::Event(event));
        }
    }

    /// Opens a closed path of the tree, or closes it.
    pub fn turn(self, path: &str) {
        self.view.open.update(|open| {
            if !open.remove(path) {
                open.insert(path.to_string());
            }
        });
    }
}

/// A picture of the run, made anew when something has happened or a tenth of a second has passed.
fn shown<T>(mirror: Mirror, picture: impl FnOnce(Run<'_>) -> T) -> T {
    mirror.track_trace();
    mirror.tenths();
    mirror.with(|lab| picture(Run::of(lab)))
}

/// The scene of the page that is mounted.
pub fn use_scene() -> Scene {
    use_context().expect("the page provides its scene before any panel")
}
