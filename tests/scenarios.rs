//! Plays every scenario of `tests/scenarios` and compares what it told with what is written there;
//! `UPDATE=1` writes it anew. Each is played twice, and its end is reached by seeking, too.

use std::fs;
use std::path::{Path, PathBuf};

use zootrope::lab::Lab;
use zootrope::lab::script::{self, Played};

#[test]
fn every_scenario_tells_its_story() {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    let wrong: Vec<String> = files().iter().filter_map(|file| check(file, update).err()).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let entries = fs::read_dir(folder).expect("the scenarios are in the repository");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut files: Vec<_> = paths.filter(|path| path.extension() == Some("txt".as_ref())).collect();
    files.sort();
    files
}

fn check(file: &Path, update: bool) -> Result<(), String> {
    let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let played = script::play(&text).map_err(|trouble| format!("{name}: {trouble}"))?;
    same(&text, &played).map_err(|difference| format!("{name}: {difference}"))?;
    if update && played.transcript != text {
        return fs::write(file, &played.transcript).map_err(|error| format!("{name}: {error}"));
    }
    match difference(&text, &played.transcript) {
        None => Ok(()),
        Some(difference) => Err(format!("{name}, {difference}\n(UPDATE=1 writes it anew)")),
    }
}

/// Played again, and reached by seeking in its recording, it must be the same run.
fn same(text: &str, played: &Played) -> Result<(), String> {
    let again = script::play(text).map_err(|trouble| trouble.to_string())?;
    if let Some(difference) = difference(&played.transcript, &again.transcript) {
        return Err(format!("not the same when played twice: {difference}"));
    }
    let (lab, end) = (&played.lab, played.lab.moment());
    let mut straight = Lab::new(lab.recording());
    straight.seek(end);
    let mut back = lab.clone();
    back.seek_position(lab.position() / 2);
    back.seek(end);
    for (how, other) in [("replayed", &straight), ("sought", &back)] {
        if other.cluster().hash() != lab.cluster().hash() {
            return Err(format!("its end is another one when {how}"));
        }
        if other.trace().hash() != lab.trace().hash() {
            return Err(format!("its trace is another one when {how}"));
        }
    }
    Ok(())
}

/// The first line that differs.
fn difference(expected: &str, told: &str) -> Option<String> {
    let (mut left, mut right) = (expected.lines(), told.lines());
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => {
                let (a, b) = (a.unwrap_or("(end)"), b.unwrap_or("(end)"));
                return Some(format!("line {number}\n  written: {a}\n  told:    {b}"));
            }
        }
    }
    None
}
