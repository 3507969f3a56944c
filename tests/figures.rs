//! Figures of the engine that only a browser can give; examples/bench.rs sets them against budgets.
//! It fails when nothing runs, never for being slow: how slow is too slow is not said here.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};
use zootrope::lab::{Lab, Recording};
use zootrope::sim::Span;

#[path = "support/scenes.rs"]
mod scenes;

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn the_engine_has_its_figures() {
    let recording = Recording::parse(include_str!("support/busy.txt")).expect("it is written so");
    let mut lab = Lab::new(recording);
    play(&mut lab, 100_000);
    console_log!("figure: run hash: {:016x}", lab.trace().hash());
    let begun = now();
    let before = lab.position();
    play(&mut lab, 1_000_000);
    let rate = count(lab.position() - before) / (now() - begun);
    console_log!("figure: engine, wasm: {rate}");
    console_log!("figure: seek in 1 M events, wasm, p95: {}", seeks(&mut lab));
}

#[wasm_bindgen_test]
fn an_ensemble_has_its_figures() {
    let (writes, ms) = whole(&scenes::writes());
    let rate = f64::from(scenes::committed(&writes)) / ms;
    console_log!("figure: writes of three servers, wasm: {rate}");
    let (crowd, ms) = whole(&scenes::crowd());
    let rate = count(crowd.trace().len()) / ms;
    console_log!("figure: 10,000 znodes and 500 sessions, wasm: {rate}");
}

#[wasm_bindgen_test]
fn many_brokers_have_their_figure() {
    let (many, ms) = whole(&scenes::many());
    let rate = count(many.trace().len()) / ms;
    console_log!("figure: 100 brokers, 2,000 partitions, 60 consumers, wasm: {rate}");
}

/// A scene that was played to its end, and how many milliseconds that took.
fn whole(text: &str) -> (Lab, f64) {
    let mut lab = Lab::new(Recording::parse(text).expect("it is written so"));
    let begun = now();
    scenes::play_whole(&mut lab);
    (lab, now() - begun)
}

fn play(lab: &mut Lab, events: usize) {
    while lab.position() < events {
        let next = lab.moment().at + Span::secs(10);
        lab.advance_to(next);
    }
}

/// The p95 of going to a hundred places all over the history, in milliseconds.
fn seeks(lab: &mut Lab) -> f64 {
    let end = lab.position();
    let place = |number: usize| (number * 7919 + 13) % 100 * (end / 100);
    let mut times: Vec<f64> = (0..100)
        .map(|number| {
            let begun = now();
            lab.seek_position(place(number));
            now() - begun
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[95]
}

/// Milliseconds, in fractions.
fn now() -> f64 {
    let window = web_sys::window().expect("it runs in a page");
    window.performance().expect("every browser has it").now()
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).expect("fewer than four billion"))
}
