//! What plays recorded files natively: the registry of kinds, and how a file finds its player.
//! The players themselves lie beside it, one file per floor; printing and exit codes are the
//! runners' work.
//! *Invariant: a file that no player claims is neither passed nor failed.*

// Each runner and test includes this folder and uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub mod explore;
pub mod history;
pub mod judge;
pub mod kafka;
pub mod story;
#[cfg(not(target_arch = "wasm32"))]
pub mod swarm;
pub mod zk;

/// How many cases of a file came out as recorded, and what the others showed instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    /// One line or a few for each failure: the case, what was expected, what came.
    pub messages: Vec<String>,
}

impl Tally {
    /// Counts one case; the message is asked for only if it failed.
    pub fn case(&mut self, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(message) => {
                self.failed += 1;
                self.messages.push(message);
            }
        }
    }
}

/// What came of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Played {
    Counted(Tally),
    /// A kind, or a story of a release, that is not played yet.
    NotYet,
    /// Not JSON, or not in the form its kind has: the reason.
    Unreadable(String),
}

/// Plays all cases of a recorded file of one kind.
pub type Player = fn(&Value) -> Played;

/// Plays one recorded file: a story by its `steps`, anything else by its name.
pub fn play(file: &Path) -> Played {
    let recorded = match read(file) {
        Ok(recorded) => recorded,
        Err(reason) => return Played::Unreadable(reason),
    };
    if is_story(&recorded) {
        return story::play(&recorded);
    }
    match player(&name(file)) {
        Some(player) => player(&recorded),
        None => Played::NotYet,
    }
}

/// Reads one recorded file.
pub fn read(file: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// A story is told in steps; the other kinds have cases.
pub fn is_story(recorded: &Value) -> bool {
    recorded.get("steps").is_some_and(Value::is_array)
}

/// The file's name as it is printed: without folders and `.json`.
pub fn name(file: &Path) -> String {
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The player for a file's name: `watch` plays `watch` and `watch-3`, never `watch2`.
fn player(name: &str) -> Option<Player> {
    let claims = |kind: &str| {
        name.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    };
    let kinds = zk::KINDS.iter().chain(kafka::KINDS);
    kinds.filter(|(kind, _)| claims(kind)).max_by_key(|(kind, _)| kind.len()).map(|(_, play)| *play)
}

/// All recorded files in a folder and its sub-folders, in the order of their paths.
pub fn recorded_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// How often each fault was tried, by its name.
pub type FaultCounts = BTreeMap<String, u64>;
