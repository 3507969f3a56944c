//! Plays recorded vectors and stories: `vectors [FOLDER]`, without a folder the repository's own.
//! A line a file, then the total. What a kind means lies in `tests/support`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[path = "../tests/support/mod.rs"]
mod support;

use support::{Played, Tally};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().map(PathBuf::from).unwrap_or_else(own_folder);
    if arguments.next().is_some() {
        eprintln!("usage: cargo xtask vectors [FOLDER]");
        return ExitCode::from(2);
    }
    let files = match support::recorded_files(&folder) {
        Ok(files) => files,
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            return ExitCode::from(2);
        }
    };
    let mut total = Tally::default();
    for file in &files {
        play(file, &mut total);
    }
    println!("total: {} passed, {} failed", total.passed, total.failed);
    let nothing_played = total.passed + total.failed == 0;
    if total.failed > 0 || nothing_played { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn own_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// Plays one file, prints its line and adds it to the total.
fn play(file: &Path, total: &mut Tally) {
    let name = support::name(file);
    let played = std::panic::catch_unwind(|| support::play(file))
        .unwrap_or_else(|_| Played::Unreadable("its player panicked".into()));
    match played {
        Played::NotYet => println!("{name}: not played"),
        Played::Unreadable(reason) => {
            println!("{name}: 0 passed, 1 failed");
            eprintln!("  {}: {reason}", file.display());
            total.failed += 1;
        }
        Played::Counted(tally) => {
            println!("{name}: {} passed, {} failed", tally.passed, tally.failed);
            explain(&tally.messages);
            total.passed += tally.passed;
            total.failed += tally.failed;
        }
    }
}

/// The first failures of a file, on the error stream so that the lines stay one a file.
fn explain(messages: &[String]) {
    const SHOWN: usize = 10;
    for message in messages.iter().take(SHOWN) {
        eprintln!("  {}", message.replace('\n', "\n  "));
    }
    if messages.len() > SHOWN {
        eprintln!("  … and {} more", messages.len() - SHOWN);
    }
}
