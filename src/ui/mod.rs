//! The page: DOM, signals and the wall clock. The only floor that knows a browser.
//!
//! Panels show pictures and issue commands; they hold nothing of the engine.
//! *Invariant:* whatever can be done with a pointer can be done with the keyboard.

pub mod draw;
pub mod icon;
pub mod keys;
pub mod mirror;
pub mod panels;
pub mod scene;
pub mod view;

use leptos::mount::mount_to;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use panels::head::Head;
use panels::inspector::Inspector;
use panels::lanes::Lanes;
use panels::sentence::Sentence;
use panels::stage::Stage;
use panels::switch::Switch;
use panels::transport::Transport;
use panels::tree::Tree;
use scene::Scene;
use view::View;

/// Puts the page in the seat that `index.html` keeps for it.
pub fn mount() {
    console_error_panic_hook::set_once();
    let seat = document().get_element_by_id("app").expect("index.html keeps a seat for the page");
    seat.set_text_content(None);
    seat.remove_attribute("aria-busy").expect("this is an attribute's name");
    mount_to(seat.unchecked_into(), Page).forget();
}

/// The whole page: every panel in its seat.
#[component]
fn Page() -> impl IntoView {
    let view = View::from_query();
    provide_context(view);
    provide_context(Scene::new());
    view! {
        <div class="wide" data-seat=move || view.seat.get().tag()>
            <Head/>
            <Switch/>
            <Tree/>
            <Stage/>
            <Inspector/>
            <Sentence/>
            <Lanes/>
            <Transport/>
        </div>
    }
}
