//! The page's start: mounts it on `#app`. Natively there is nothing to start; the runners are
//! examples.

#[cfg(target_arch = "wasm32")]
fn main() {
    use leptos::prelude::*;
    use wasm_bindgen::JsCast;

    let app = web_sys::window()
        .and_then(|window| window.document())
        .and_then(|document| document.get_element_by_id("app"))
        .expect("index.html has an element #app");
    app.set_inner_html("");
    let _ = app.remove_attribute("aria-busy");
    let app = app.dyn_into().expect("#app is an HTML element");
    leptos::mount::mount_to(app, || view! { <h1>"Zootrope"</h1> }).forget();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {}
