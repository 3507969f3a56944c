//! The repository's commands, `cargo xtask …`: they install what is missing, start things and sum
//! up. No crate is used here, so that the first command on a new machine begins at once; whatever
//! needs a crate is an example of the package. *Invariant: the last line of each command stays as
//! it is.*

mod run;
mod site;
mod test;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  serve                          build the page and serve it on 127.0.0.1, again at each change
  test                           everything there is to check, in order; closes with the sum
  build                          the static site, in dist/
  vectors [FOLDER]               play recorded vectors and stories (default: tests/vectors)
  tell FILE|FOLDER --out FOLDER  play recorded stories' steps and write down what ours did
  swarm --seeds N [--from S]     random set-ups, work and faults against the laws
  explore                        every order of events in small ensembles against the laws
  bench                          every figure with its budget";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let outcome = match command.as_str() {
        "serve" if rest.is_empty() => site::serve(),
        "test" if rest.is_empty() => test::all(),
        "build" if rest.is_empty() => site::build().map(|()| true),
        "vectors" | "tell" | "explore" | "swarm" => {
            run::example(run::Profile::Runner, &command, &rest).run()
        }
        "bench" if rest.is_empty() => bench(),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::from(2)
        }
    }
}

/// The figures want the released engine, the released page and a browser.
fn bench() -> run::Outcome {
    tools::install(tools::Wanted::Everything)?;
    site::build()?;
    let figures = test::figures()?;
    run::example(run::Profile::Release, "bench", &[])
        .env("ZOOTROPE_DIST", site::folder())
        .env("ZOOTROPE_FIGURES", figures)
        .run()
}

/// The top of the repository.
fn top() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the repository").to_owned()
}
