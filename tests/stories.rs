//! The recorded stories of real clusters in `tests/vectors`, told by ours and judged.
//! Which recorded stories are not there yet, and why, stands in `tests/README.md`.

use std::path::Path;

mod support;

use support::Played;

#[test]
fn every_story_comes_out_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/kafka-cluster");
    let files = support::recorded_files(&folder).expect("the folder is part of the repository");
    let mut failures = Vec::new();
    for file in &files {
        let name = support::name(file);
        match support::play(file) {
            Played::Counted(tally) if tally.failed == 0 => {}
            Played::Counted(tally) => {
                failures.push(format!("{name}: {}", tally.messages.join("\n")))
            }
            Played::NotYet => failures.push(format!("{name} is of a release that is not played")),
            Played::Unreadable(reason) => failures.push(format!("{name}: {reason}")),
        }
    }
    assert!(!files.is_empty(), "there are stories");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
