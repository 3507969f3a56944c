//! What real servers answered, in `tests/vectors`, asked of ours: every kind that has a player.
//! Stories of clusters are told in `stories.rs`.

use std::path::Path;

mod support;

use support::Played;

#[test]
fn every_recorded_case_comes_out_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let files = support::recorded_files(&folder).expect("the folder is part of the repository");
    let mut played = 0;
    for file in files {
        let name = support::name(&file);
        if support::read(&file).is_ok_and(|recorded| support::is_story(&recorded)) {
            continue;
        }
        match support::play(&file) {
            Played::Counted(tally) => {
                assert_eq!(tally.failed, 0, "{name}: {}", tally.messages.join("\n"));
                played += tally.passed;
            }
            Played::NotYet => {}
            Played::Unreadable(reason) => panic!("{name}: {reason}"),
        }
    }
    assert!(played > 0, "no case has a player");
}
