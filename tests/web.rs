//! What only a browser can answer: components, and that the engine runs there as it does natively.
//! The built page as a whole is tests/page.rs. Run by `cargo xtask test`.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use zootrope::lab::{Lab, Recording};

wasm_bindgen_test_configure!(run_in_browser);

/// What tests/hashes.rs has written.
const NATIVE: &str = include_str!(env!(
    "ZOOTROPE_HASHES",
    "the file of native run hashes is written and named by `cargo xtask test`"
));

#[wasm_bindgen_test]
fn every_run_is_the_same_as_natively() {
    let blocks: Vec<&str> = NATIVE.split("== ").skip(1).collect();
    assert!(!blocks.is_empty(), "there is at least one run");
    for block in blocks {
        let (heading, recording) = block.split_once('\n').expect("a block has a heading");
        let (hashes, name) = heading.split_at("0123456789abcdef 0123456789abcdef".len());
        let recording = Recording::parse(recording).expect("it was written natively");
        let end = recording.until;
        let mut lab = Lab::new(recording);
        lab.seek(end);
        let here = format!("{:016x} {:016x}", lab.trace().hash(), lab.cluster().hash());
        assert_eq!(here, hashes, "{name}: run and state, here and natively");
    }
}
