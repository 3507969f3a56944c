//! The scene: the pictures that panels show, each a memo.
//!
//! *Invariant:* a panel is notified only when its picture differs.

use leptos::prelude::*;

use crate::picture::fixture;
use crate::picture::inspector::InspectorPicture;
use crate::picture::sentence::SentencePicture;
use crate::picture::stage::StagePicture;
use crate::picture::tree::TreePicture;

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
}

impl Scene {
    /// The scene of the run that the page shows.
    pub fn new() -> Scene {
        Scene {
            stage: Memo::new(|_| fixture::stage()),
            tree: Memo::new(|_| fixture::tree()),
            inspector: Memo::new(|_| Some(fixture::inspector())),
            sentence: Memo::new(|_| Some(fixture::sentence())),
        }
    }
}

/// The scene of the page that is mounted.
pub fn use_scene() -> Scene {
    use_context().expect("the page provides its scene before any panel")
}
