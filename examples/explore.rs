//! Explores every set-up of the small scope on all cores and prints what it came to:
//! `explore`. What is explored lies in `tests/support/explore`.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[path = "../tests/support/mod.rs"]
mod support;

use support::explore::setups::SETUPS;
use support::explore::{Explored, explore};

/// So many distinct states are to be met in all.
const ENOUGH: u64 = 1_000_000;

fn main() -> ExitCode {
    let next = AtomicUsize::new(0);
    let sums = Mutex::new((0, 0));
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(setup) = SETUPS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let explored = explore(setup);
                    let mut sums = sums.lock().expect("no exploration panics");
                    tell(setup.name, &explored);
                    sums.0 += explored.states;
                    sums.1 += usize::from(explored.broken.is_some());
                }
            });
        }
    });
    let (states, broken) = sums.into_inner().expect("no exploration panics");
    println!("{states} distinct states");
    println!("{} set-ups, {broken} laws broken", SETUPS.len());
    if broken > 0 || states < ENOUGH { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn tell(name: &str, explored: &Explored) {
    let Explored { states, serving, left, moves, depth, servers, broken } = explored;
    println!(
        "{name}: {states} states, {serving} of them with a quorum that serves, {left} left at a bound; \
        {moves} moves, {depth} deep; {servers} states of one server"
    );
    if let Some(broken) = broken {
        println!("# breaks {}: {}\n{}", broken.breach.law, broken.breach.what, broken.path);
    }
}
