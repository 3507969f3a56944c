//! `cargo xtask test`: every kind of check in order, none kept from running by another's failure.
//! What each checks lies with the code; here it is started and counted.
//! *Invariant: the last line is the sum over all kinds.*

use std::path::PathBuf;
use std::thread;

use crate::run::{Outcome, Profile, Program, cargo, example};
use crate::site;
use crate::tools::{self, Wanted};

const WASM: &str = "wasm32-unknown-unknown";
const SEEDS: &str = "2000";

/// What has passed and failed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    passed: u64,
    failed: u64,
}

/// Runs everything. The tools are built beside the native kinds, which need none of them.
pub fn all() -> Outcome {
    tools::checkers();
    let tools = thread::spawn(|| tools::install(Wanted::Everything));
    let mut kinds = vec![
        ("format", format()),
        ("clippy", clippy(&["--workspace", "--all-targets"])),
        ("native tests", native_tests()),
        ("vectors and stories", vectors()),
        ("exploration", exploration()),
        ("swarm", swarm()),
    ];
    heading("tools");
    match tools.join().unwrap_or_else(|_| Err("the tools' installation panicked".into())) {
        Ok(()) => {
            kinds.push(("clippy for wasm", clippy(&["--target", WASM, "--lib", "--bins"])));
            kinds.push(("wasm tests", wasm_tests()));
            kinds.push(("page in a browser", page()));
        }
        Err(reason) => {
            println!("{reason}");
            kinds.push(("wasm and browser tests", Sum { passed: 0, failed: 1 }));
        }
    }
    Ok(close(&kinds))
}

fn close(kinds: &[(&str, Sum)]) -> bool {
    heading("sum");
    let mut total = Sum::default();
    for (kind, sum) in kinds {
        println!("{kind}: {} passed, {} failed", sum.passed, sum.failed);
        total.passed += sum.passed;
        total.failed += sum.failed;
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    total.failed == 0
}

fn heading(kind: &str) {
    println!("\n== {kind}");
}

/// A check that only fails or does not: a failure counts one, success nothing.
fn gate(program: Program) -> Sum {
    let succeeded = program.within(&crate::top()).run();
    Sum { passed: 0, failed: u64::from(report(succeeded) != Some(true)) }
}

fn format() -> Sum {
    heading("format");
    gate(cargo(&["fmt", "--all", "--check"]))
}

fn clippy(what: &[&str]) -> Sum {
    heading(&format!("clippy {}", what.join(" ")));
    gate(cargo(&[&["clippy", "--locked"], what, &["--", "-D", "warnings"]].concat()))
}

fn native_tests() -> Sum {
    heading("native tests");
    let flags = ["--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"];
    let test = ["test", "--quiet", "--locked", "--profile", "runner"];
    counted(cargo(&[&test[..], &flags[..]].concat()).env("ZOOTROPE_HASHES", hashes()))
}

/// Where the native tests write what each run comes to, for the wasm tests to compare.
fn hashes() -> PathBuf {
    let folder = crate::top().join("target");
    // Where it cannot be made, the tests that want the file say so.
    let _ = std::fs::create_dir_all(&folder);
    folder.join("hashes.txt")
}

/// Released like the page: it shares what is built for that, and the engine is the one that ships.
fn wasm_tests() -> Sum {
    heading("wasm tests");
    // Not `--quiet`: it would be handed on to the runner, which does not know it.
    let flags = ["test", "--locked", "--target", WASM, "--tests", "--no-fail-fast"];
    let program = in_browser(cargo(&flags)).env("ZOOTROPE_HASHES", hashes());
    counted(program)
}

/// The engine's figures in a browser, and the file that they are written to.
pub fn figures() -> Result<PathBuf, String> {
    let flags =
        ["test", "--locked", "--profile", "page", "--target", WASM, "--test", "figures", "--"];
    let program = in_browser(cargo(&[&flags[..], &["--nocapture"]].concat()));
    let (succeeded, lines) = program.within(&crate::top()).lines()?;
    if !succeeded {
        return Err("the engine's figures in a browser could not be measured".into());
    }
    let figures = lines.iter().filter_map(|line| line.trim().strip_prefix("figure: "));
    let file = crate::top().join("target").join("figures.txt");
    std::fs::write(&file, figures.collect::<Vec<_>>().join("\n"))
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}

/// A program that starts wasm in a browser, with patience for a busy machine.
fn in_browser(program: Program) -> Program {
    program.env("WASM_BINDGEN_TEST_TIMEOUT", "300").env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "60")
}

/// The page as it is released, driven through its keys and buttons.
fn page() -> Sum {
    heading("page in a browser");
    if let Err(reason) = site::build() {
        println!("{reason}");
        return Sum { passed: 0, failed: 1 };
    }
    let flags = ["test", "--quiet", "--locked", "--profile", "runner", "--test", "page"];
    counted(cargo(&flags).env("ZOOTROPE_DIST", site::folder()).limit(20))
}

fn vectors() -> Sum {
    heading("vectors and stories");
    let output = report(example(Profile::Runner, "vectors", &[]).lines());
    let (succeeded, lines) = output.unwrap_or_default();
    let total = lines.iter().rev().find_map(|line| line.strip_prefix("total: "));
    judged(succeeded, total.and_then(sum_of))
}

fn exploration() -> Sum {
    heading("exploration");
    let output = report(example(Profile::Runner, "explore", &[]).lines());
    let (succeeded, lines) = output.unwrap_or_default();
    laws_broken(succeeded, &lines, "set-ups,")
}

fn swarm() -> Sum {
    heading("swarm");
    let arguments = ["--seeds".to_owned(), SEEDS.to_owned()];
    let output = report(example(Profile::Runner, "swarm", &arguments).lines());
    let (succeeded, lines) = output.unwrap_or_default();
    laws_broken(succeeded, &lines, "seeds,")
}

/// The last line: `2000 seeds, 3 laws broken`.
fn laws_broken(succeeded: bool, lines: &[String], what: &str) -> Sum {
    let numbers = lines.last().and_then(|line| two_numbers(line, what, "laws"));
    let sum = numbers.map(|(runs, broken)| Sum { passed: runs - broken, failed: broken });
    judged(succeeded, sum)
}

/// Runs something that prints `test result:` lines and sums them.
fn counted(program: Program) -> Sum {
    let (succeeded, lines) = report(program.within(&crate::top()).lines()).unwrap_or_default();
    let results = lines.iter().filter_map(|line| line.strip_prefix("test result: "));
    judged(
        succeeded,
        results.map(sum_of).try_fold(Sum::default(), |sum, found| {
            let found = found?;
            Some(Sum { passed: sum.passed + found.passed, failed: sum.failed + found.failed })
        }),
    )
}

/// What ended badly has failed once, and so has what came to no count: it may not have been built,
/// or its lines are no longer read.
fn judged(succeeded: bool, sum: Option<Sum>) -> Sum {
    let sum = sum.unwrap_or_default();
    let least = u64::from(!succeeded || sum == Sum::default());
    Sum { failed: sum.failed.max(least), ..sum }
}

fn report<T>(outcome: Result<T, String>) -> Option<T> {
    outcome.map_err(|reason| println!("{reason}")).ok()
}

/// `… 12 passed, 1 failed` and libtest's `ok. 12 passed; 1 failed; …`.
fn sum_of(line: &str) -> Option<Sum> {
    let line = line.replace(';', ",");
    two_numbers(&line, "passed,", "failed").map(|(passed, failed)| Sum { passed, failed })
}

/// The two numbers before these words.
fn two_numbers(line: &str, first: &str, second: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let before = |word: &str| {
        let place = words.iter().position(|found| found.trim_end_matches(',') == word)?;
        words.get(place.checked_sub(1)?)?.parse().ok()
    };
    Some((before(first.trim_end_matches(','))?, before(second)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_read_from_each_kind_of_line() {
        let table = [
            ("total: 12 passed, 1 failed", Some((12, 1))),
            ("ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out", Some((3, 0))),
            ("FAILED. 3 passed; 2 failed; 0 ignored", Some((3, 2))),
            ("passed, failed", None),
            ("error: could not compile", None),
        ];
        for (line, expected) in table {
            let found = sum_of(line).map(|sum| (sum.passed, sum.failed));
            assert_eq!(found, expected, "{line}");
        }
        assert_eq!(two_numbers("200 seeds, 3 laws broken", "seeds", "laws"), Some((200, 3)));
    }

    #[test]
    fn a_program_that_failed_or_counted_nothing_has_failed_once() {
        let none = Sum::default();
        let one = Sum { passed: 0, failed: 1 };
        let two = Sum { passed: 5, failed: 2 };
        let five = Sum { passed: 5, failed: 0 };
        let table = [
            (false, None, one),
            (false, Some(none), one),
            (false, Some(two), two),
            (false, Some(five), Sum { passed: 5, failed: 1 }),
            (true, None, one),
            (true, Some(none), one),
            (true, Some(five), five),
        ];
        for (succeeded, sum, expected) in table {
            assert_eq!(judged(succeeded, sum), expected, "{succeeded} {sum:?}");
        }
    }
}
