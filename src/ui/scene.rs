//! The scene: the pictures that panels show, each a memo over the run.
//!
//! *Invariant:* a panel is notified only when its picture differs.

use leptos::prelude::*;

use super::mirror::Mirror;
use super::view::View;
use super::visit::Visit;
use crate::picture::ensemble::{self, Run};
use crate::picture::inspector::{self, InspectorPicture};
use crate::picture::sentence::SentencePicture;
use crate::picture::stage::{self, StagePicture};
use crate::picture::story;
use crate::picture::target::Target;
use crate::picture::tree::{self, TreePicture};
use crate::zk::tree::Tree;

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
            let open = view.open.get();
            before.with(|before| shown(mirror, |run| tree::tree(run, before, &open)))
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
        Scene { stage, tree, inspector, sentence, mirror, view, before }
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

    /// Does what the selected thing's verb of this key says, if it has one.
    pub fn act(self, key: char) {
        let of = |picture: &InspectorPicture| {
            picture.verbs.iter().find(|verb| verb.key == key).map(|verb| verb.command.clone())
        };
        let selected = self.inspector.with_untracked(|picture| picture.as_ref().and_then(of));
        if let Some(command) = selected.or_else(|| self.first_group().as_ref().and_then(of)) {
            self.send(&command);
        }
    }

    /// Selects the event that the sentence tells: the inspector says why it came.
    pub fn ask_why(self) {
        let event = self.sentence.with_untracked(|said| said.as_ref().and_then(|s| s.event));
        if let Some(event) = event {
            self.view.select(Target::Event(event));
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

    /// The first group: whoever adds without saying where adds there.
    fn first_group(self) -> Option<InspectorPicture> {
        let name = self.stage.with_untracked(|stage| Some(stage.groups.first()?.name.clone()))?;
        let group = Target::Group(name);
        let end = self.mirror.with(|lab| lab.position());
        self.mirror.with(|lab| inspector::inspector(Run::of(lab), end, &group))
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
