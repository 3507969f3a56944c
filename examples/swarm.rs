//! Runs seeds of the swarm on all cores and prints what broke: `swarm --seeds N [--from S]`.
//! What a seed does lies in `tests/support/swarm.rs`.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

#[path = "../tests/support/mod.rs"]
mod support;

use support::FaultCounts;
use support::swarm::{self, Broken, Outcome};

fn main() -> ExitCode {
    let Some((from, seeds)) = arguments() else {
        eprintln!("usage: cargo xtask swarm --seeds N [--from S]");
        return ExitCode::from(2);
    };
    let mut outcomes = run_all(from, seeds);
    outcomes.sort_by_key(|(seed, _)| *seed);
    let broken = outcomes.iter().filter(|(seed, outcome)| tell_failure(*seed, outcome)).count();
    print_faults(&outcomes);
    println!("{seeds} seeds, {broken} laws broken");
    if broken > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The first seed and how many.
fn arguments() -> Option<(u64, u64)> {
    let (mut from, mut seeds) = (1, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let number = arguments.next()?.parse().ok()?;
        match argument.as_str() {
            "--from" => from = number,
            "--seeds" => seeds = Some(number),
            _ => return None,
        }
    }
    seeds.map(|seeds| (from, seeds))
}

/// Runs every seed; each core takes the next one that nobody has begun.
fn run_all(from: u64, seeds: u64) -> Vec<(u64, Outcome)> {
    let next = AtomicU64::new(0);
    let outcomes = Mutex::new(Vec::new());
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed))
                    && index < seeds
                {
                    let outcome = run(from + index);
                    outcomes.lock().expect("no seed panics").push((from + index, outcome));
                }
            });
        }
    });
    outcomes.into_inner().expect("no seed panics")
}

/// Runs one seed; a panic is a broken law like any other.
fn run(seed: u64) -> Outcome {
    std::panic::catch_unwind(|| swarm::run(seed)).unwrap_or_else(|_| Outcome {
        broken: Some(Broken {
            law: "panics".into(),
            scenario: format!("# seed={seed}"),
            link: String::new(),
        }),
        ..Outcome::default()
    })
}

/// Prints a failing seed with its scenario; says whether it was one.
fn tell_failure(seed: u64, outcome: &Outcome) -> bool {
    let Some(broken) = &outcome.broken else {
        return false;
    };
    println!("# seed {seed} breaks the law {}", broken.law);
    println!("{}", broken.scenario.trim_end());
    println!("# as a link, behind the page's address: {}\n", broken.link);
    true
}

fn print_faults(outcomes: &[(u64, Outcome)]) {
    let mut counts = FaultCounts::new();
    for (_, outcome) in outcomes {
        for (fault, hits) in &outcome.faults {
            *counts.entry(fault.clone()).or_default() += hits;
        }
    }
    for (fault, hits) in counts {
        println!("{fault:<56} {hits:>8}");
    }
}
