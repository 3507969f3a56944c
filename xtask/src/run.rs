//! Starting other programs: in the foreground, with a time limit, their lines read as they come.
//! Which programs and why is not decided here. *Invariant: no child waits for the keyboard.*

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Whether a command succeeded, or why it could not even be tried.
pub type Outcome = Result<bool, String>;

/// How an example is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Fast to build, with assertions.
    Runner,
    /// As the page is.
    Release,
}

/// A program about to be started.
pub struct Program {
    command: Command,
    name: String,
    limit: Duration,
}

/// A program by name, found on the PATH that the tools are on.
pub fn program(name: &str, arguments: &[&str]) -> Program {
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null()).env("PATH", crate::tools::path());
    Program { command, name: name.into(), limit: Duration::from_secs(45 * 60) }
}

/// Cargo, as it is running now, on this repository.
pub fn cargo(arguments: &[&str]) -> Program {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut program = program(&cargo, arguments);
    program.name = format!("cargo {}", arguments.first().unwrap_or(&""));
    program
}

/// One of the package's native runners. It keeps the folder it is called from: people name theirs.
pub fn example(profile: Profile, name: &str, arguments: &[String]) -> Program {
    let profile = if profile == Profile::Runner { "runner" } else { "release" };
    let manifest = crate::top().join("Cargo.toml");
    let mut program =
        cargo(&["run", "--quiet", "--locked", "--profile", profile, "--example", name]);
    program.command.arg("--manifest-path").arg(manifest).arg("--").args(arguments);
    program
}

impl Program {
    /// Sets a variable for the child alone.
    pub fn env(mut self, key: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Runs in this folder instead of the caller's.
    pub fn within(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Ends the child, as failed, when it takes longer.
    pub fn limit(mut self, minutes: u64) -> Self {
        self.limit = Duration::from_secs(minutes * 60);
        self
    }

    /// Runs to the end, its output being ours.
    pub fn run(mut self) -> Outcome {
        let child = self.start()?;
        Ok(self.wait(child))
    }

    /// Starts it and goes on.
    pub fn start(&mut self) -> Result<Child, String> {
        self.command.spawn().map_err(|error| format!("{} does not start: {error}", self.name))
    }

    /// Runs to the end and shows each line as it comes; gives back success and all lines.
    pub fn lines(mut self) -> Result<(bool, Vec<String>), String> {
        let mut child = {
            self.command.stdout(Stdio::piped());
            self.start()?
        };
        let output = child.stdout.take().expect("its output is piped");
        let reader = std::thread::spawn(move || show_lines(output));
        let succeeded = self.wait(child);
        Ok((succeeded, reader.join().expect("the reader only reads")))
    }

    /// Runs to the end in silence; all output is given back, should anybody want it.
    pub fn quietly(mut self) -> Result<(bool, String), String> {
        let output = self
            .command
            .output()
            .map_err(|error| format!("{} does not start: {error}", self.name))?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok((output.status.success(), text))
    }

    fn wait(&self, mut child: Child) -> bool {
        let begun = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if begun.elapsed() < self.limit => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                _ => {
                    eprintln!("{} took longer than {:?}: ended", self.name, self.limit);
                    let _ = child.kill();
                    let _ = child.wait();
                    return false;
                }
            }
        }
    }
}

fn show_lines(output: impl std::io::Read) -> Vec<String> {
    let mut lines = Vec::new();
    for line in BufReader::new(output).split(b'\n') {
        let Ok(line) = line else { break };
        let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
        // Whoever reads us may have gone; the sum is still wanted.
        let _ = writeln!(std::io::stdout(), "{line}");
        lines.push(line);
    }
    lines
}
