//! Playback: turns frames into simulated time. The one place that reads the wall clock.
//!
//! *Invariant:* nothing depends on when frames come, only on what the lab is told to advance to.

use leptos::prelude::*;

use super::mirror::Mirror;
use crate::sim::Span;

/// Playback. It is copied freely.
#[derive(Clone, Copy)]
pub struct Playback {
    /// Whether time runs.
    pub playing: RwSignal<bool>,
    mirror: Mirror,
}

impl Playback {
    /// Starts to play.
    pub fn start(mirror: Mirror) -> Playback {
        let playback = Playback { playing: RwSignal::new(true), mirror };
        playback.frame(None);
        playback
    }

    /// Plays or pauses.
    pub fn turn(self) {
        self.playing.update(|playing| *playing = !*playing);
    }

    fn frame(self, last: Option<f64>) {
        request_animation_frame(move || {
            let Some(playing) = self.playing.try_get_untracked() else { return };
            let now = window().performance().map_or(0.0, |clock| clock.now());
            let real = last.map_or(0.0, |last| (now - last).clamp(0.0, 100.0));
            if playing {
                let span = Span::micros((real * 1000.0) as u64);
                self.mirror.change(|lab| lab.advance_to(lab.moment().at + span));
            }
            self.frame(Some(now));
        });
    }
}

/// The playback of the page that is mounted.
pub fn use_playback() -> Playback {
    use_context().expect("the page provides its playback before any panel")
}
