//! The built page in a real browser, driven as a visitor would: keys, buttons, links.
//! Components alone are tests/web.rs. It runs when `ZOOTROPE_DIST` names a built site, as under
//! `cargo xtask test`, and counts its journeys itself.

#[cfg(not(target_arch = "wasm32"))]
mod browser;
#[cfg(not(target_arch = "wasm32"))]
mod journeys;

#[cfg(target_arch = "wasm32")]
fn main() {}

/// Runs every journey, each with a browser that has seen nothing before; `page NAME` runs one.
#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    let Some(built) = std::env::var_os("ZOOTROPE_DIST") else {
        println!("no built page: ZOOTROPE_DIST is not set\ntest result: ok. 0 passed; 0 failed");
        return std::process::ExitCode::SUCCESS;
    };
    let site = browser::Site::serve(built.into()).expect("a port is free on this machine");
    let only = std::env::args().nth(1).filter(|name| !name.starts_with('-')).unwrap_or_default();
    let (mut passed, mut failed) = (0, 0);
    for (name, journey) in journeys::ALL.iter().filter(|(name, _)| name.contains(&only)) {
        match travel(&site, *journey) {
            Ok(()) => {
                println!("page: {name} ... ok");
                passed += 1;
            }
            Err(reason) => {
                println!("page: {name} ... FAILED\n{reason}");
                failed += 1;
            }
        }
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("test result: {word}. {passed} passed; {failed} failed");
    if failed == 0 { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}

/// One journey from an empty browser to its end, which must have been a quiet one.
#[cfg(not(target_arch = "wasm32"))]
fn travel(site: &browser::Site, journey: journeys::Journey) -> browser::Outcome {
    let driver = browser::Driver::start()?;
    let visitor = browser::Visitor::arrive(&driver, site)?;
    let outcome = journey(&visitor).and_then(|()| journeys::all_was_quiet(&visitor));
    visitor.leave()?;
    outcome
}
