//! The page's start: mounts it on `#app`. Natively there is nothing to start; the runners are
//! examples.

#[cfg(target_arch = "wasm32")]
fn main() {
    zootrope::ui::mount();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    println!("Zootrope lives in a browser: run `cargo xtask serve`.");
}
