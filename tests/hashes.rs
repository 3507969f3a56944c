//! Writes down what each scenario's run comes to natively, for tests/web.rs to compare in a
//! browser. The file is named by `ZOOTROPE_HASHES`, as under `cargo xtask test`; it is written anew
//! each time.
//! *Invariant: a block is a whole recording, so whoever reads it needs nothing else.*
#![cfg(not(target_arch = "wasm32"))]

use std::fmt::Write;
use std::path::Path;

use zootrope::lab::Lab;
use zootrope::lab::script;

#[test]
fn each_run_has_a_hash_of_its_own() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let entries = std::fs::read_dir(folder).expect("the scenarios are in the repository");
    let mut files: Vec<_> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    files.sort();
    let mut hashes = String::new();
    let mut seen = std::collections::BTreeSet::new();
    for file in files {
        let name = file.file_stem().expect("a scenario has a name").to_string_lossy();
        let text = std::fs::read_to_string(&file).expect("a scenario is text");
        let played = script::play(&text).unwrap_or_else(|trouble| panic!("{name}: {trouble}"));
        let block = block(&name, &played.lab);
        assert!(seen.insert(block.0), "{name}: its run is that of another scenario");
        hashes.push_str(&block.1);
    }
    assert!(!seen.is_empty(), "there is at least one scenario");
    if let Some(place) = std::env::var_os("ZOOTROPE_HASHES") {
        std::fs::write(place, hashes).expect("the hashes can be written");
    }
}

/// The run's hash, and the block that is written: a heading, then the recording.
fn block(name: &str, lab: &Lab) -> (u64, String) {
    let (run, state) = (lab.trace().hash(), lab.cluster().hash());
    let mut block = format!("== {run:016x} {state:016x} {name}\n");
    write!(block, "{}", lab.recording()).expect("a string takes everything");
    (run, block)
}
