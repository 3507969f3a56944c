//! What only a browser can answer: components, and that the engine runs there as it does natively.
//! The built page as a whole is tests/page.rs. Run by `cargo xtask test`.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn the_engine_counts_like_everywhere() {
    assert_eq!(u64::MAX.wrapping_add(2), 1);
}
