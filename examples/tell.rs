//! Plays the steps of recorded stories on our cluster and writes ours in the same form:
//! `tell FILE|FOLDER --out FOLDER`. Whether ours is true to the recording, a judge says, not this.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[path = "../tests/support/mod.rs"]
mod support;

const USAGE: &str = "usage: cargo xtask tell FILE|FOLDER --out FOLDER";

fn main() -> ExitCode {
    match arguments().and_then(|(from, out)| tell_all(&from, &out)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// What to tell, and the folder that ours goes to.
fn arguments() -> Result<(PathBuf, PathBuf), String> {
    let (mut from, mut out) = (None, None);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        let place = if argument == "--out" { &mut out } else { &mut from };
        let path = if argument == "--out" { arguments.next().ok_or(USAGE)? } else { argument };
        if place.replace(PathBuf::from(path)).is_some() {
            return Err(USAGE.into());
        }
    }
    Ok((from.ok_or(USAGE)?, out.ok_or(USAGE)?))
}

fn tell_all(from: &Path, out: &Path) -> Result<(), String> {
    let place = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let (root, files) = if from.is_dir() {
        (from, support::recorded_files(from).map_err(|error| place(from, &error))?)
    } else {
        (from.parent().unwrap_or(Path::new("")), vec![from.to_owned()])
    };
    let (mut told, mut not_told) = (0, 0);
    for file in &files {
        let recorded = support::read(file).map_err(|error| place(file, &error))?;
        match tell(&recorded) {
            Ok(ours) => {
                let target = out.join(file.strip_prefix(root).expect("found under the root"));
                write(&target, &ours).map_err(|error| place(&target, &error))?;
                told += 1;
            }
            Err(why) => {
                println!("{}: not told: {why}", support::name(file));
                not_told += 1;
            }
        }
    }
    println!("{told} told, {not_told} not told");
    Ok(())
}

fn tell(recorded: &serde_json::Value) -> Result<serde_json::Value, String> {
    if support::is_story(recorded) {
        support::story::tell(recorded)
    } else {
        Err("it has no steps, so it is no story".into())
    }
}

fn write(file: &Path, ours: &serde_json::Value) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, format!("{ours:#}\n"))
}
