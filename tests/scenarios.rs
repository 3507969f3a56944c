//! Plays every scenario of `tests/scenarios` and compares what it told with what is written there;
//! `UPDATE=1` writes it anew. Each is played twice, and its end is reached by seeking, too. What
//! the page shows of them is held to them: a situation with a scenario's name is its recording.

use std::fs;
use std::path::{Path, PathBuf};

use zootrope::lab::Lab;
use zootrope::lab::script::{self, Played};
use zootrope::sim::{Moment, SimTime, Span};

#[test]
fn every_scenario_tells_its_story() {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    let wrong: Vec<String> = files().iter().filter_map(|file| check(file, update).err()).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

/// `src/lessons/situations/recordings.txt` has the recording of each scenario that it names.
#[test]
fn situations_are_the_scenarios() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lessons/situations/recordings.txt");
    let written = fs::read_to_string(&place).expect("the situations are in the repository");
    let blocks: Vec<String> = written.trim_end().split("\n\n").map(situation).collect();
    let told = blocks.join("\n\n") + "\n";
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        return fs::write(place, told).expect("the situations can be written");
    }
    assert_eq!(difference(&written, &told), None, "(UPDATE=1 writes them anew)");
}

/// Where docs/incidents.md names words of a log, the scenario beside them finds them there.
#[test]
fn incidents_show_what_their_logs_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_to_string(root.join("docs/incidents.md")).expect("it is in the repository");
    let mut shown = 0;
    for row in docs.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let Some(words) = cells.get(5).and_then(|cell| quoted(cell).next()) else { continue };
        let name = quoted(cells[3]).next().unwrap_or_else(|| panic!("a scenario in {row}"));
        let file = root.join(format!("tests/scenarios/{name}.txt"));
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{name}: {error}"));
        let told: Vec<&str> = text.split("\nshow log ").skip(1).collect();
        let has = |block: &&str| block.lines().skip(1).any(|line| line.contains(words));
        assert!(told.iter().any(has), "{name} does not show {words:?}");
        shown += 1;
    }
    assert!(shown > 20, "only {shown} incidents show a log");
}

/// What stands between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// One block as it should be: its name, and what its scenario does, from a second before the part
/// that is read; one without a scenario stays as it is.
fn situation(block: &str) -> String {
    let lines = block.lines().take_while(|line| line.starts_with('#'));
    let heads: Vec<&str> = lines.collect();
    let name = heads.last().and_then(|line| line.strip_prefix("# situation.")).unwrap_or_default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let Ok(text) = fs::read_to_string(folder.join(format!("{name}.txt"))) else {
        return block.into();
    };
    let played = script::play(&text).unwrap_or_else(|trouble| panic!("{name}: {trouble}"));
    let mut recording = played.lab.recording();
    let before = played.begins.at.since(SimTime::ZERO).as_micros().saturating_sub(1_000_000);
    recording.until = Moment { at: SimTime::ZERO + Span::micros(before), done: 0 };
    let text = recording.to_string();
    let body = text.lines().skip(1).map(str::to_owned);
    let heads = heads.into_iter().map(str::to_owned);
    heads.chain(body).collect::<Vec<_>>().join("\n")
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
