//! The tools that the repository needs, each at one version, in a folder per user and version:
//! shared between checkouts, untouched by `cargo clean`, never in the way of what other projects
//! use.
//! *Invariant: what is there at the right version is used and nothing is installed twice.*

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::run::{cargo, program};

const TRUNK: &str = "0.21.14";

/// What a command is about to need.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// To build and serve the page.
    Page,
    /// To test it too: a browser and its driver.
    Everything,
}

/// Makes sure that everything wanted is there.
pub fn install(wanted: Wanted) -> Result<(), String> {
    wasm_target()?;
    let bindgen = locked_version("wasm-bindgen")?;
    cargo_tool("wasm-bindgen", "wasm-bindgen-cli", &bindgen, Lock::Ignored)?;
    cargo_tool("trunk", "trunk", TRUNK, Lock::Kept)?;
    if wanted == Wanted::Everything { browser() } else { Ok(()) }
}

/// PATH with the tools' folders in front, whether they are there yet or not.
pub fn path() -> OsString {
    let bindgen = locked_version("wasm-bindgen").unwrap_or_default();
    let own = [("trunk", TRUNK), ("wasm-bindgen", &bindgen)];
    let own = own.iter().map(|(name, version)| folder(name, version).join("bin"));
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.chain(std::env::split_paths(&inherited)))
        .expect("what was split at the separator holds none")
}

/// Where a program lies on PATH.
pub fn find(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&path()).map(|folder| folder.join(&file)).find(|file| file.is_file())
}

/// The version of a crate in Cargo.lock: the tool that reads its output must be of the same.
fn locked_version(name: &str) -> Result<String, String> {
    let lock = std::fs::read_to_string(crate::top().join("Cargo.lock"))
        .map_err(|error| format!("Cargo.lock: {error}"))?;
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = \"{name}\"")).skip(1);
    let version = lines.next().and_then(|line| line.strip_prefix("version = "));
    version
        .map(|version| version.trim_matches('"').to_owned())
        .ok_or_else(|| format!("Cargo.lock does not name {name}"))
}

/// `~/.cache/zootrope/tools/NAME-VERSION`, or what stands for it on this system.
fn folder(name: &str, version: &str) -> PathBuf {
    tools_folder().join(format!("{name}-{version}"))
}

fn tools_folder() -> PathBuf {
    let set = |key| std::env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = if cfg!(windows) { set("LOCALAPPDATA") } else { set("XDG_CACHE_HOME") };
    let home = || set("HOME").or_else(|| set("USERPROFILE")).map(|home| home.join(".cache"));
    cache.or_else(home).unwrap_or_else(std::env::temp_dir).join("zootrope").join("tools")
}

/// The parts of the toolchain that check: a toolchain installed by hand may lack them.
pub fn checkers() {
    for checker in ["rustfmt", "clippy-driver"] {
        let component = checker.trim_end_matches("-driver");
        if !matches!(program(checker, &["--version"]).quietly(), Ok((true, _))) {
            say(&format!("adding the component {component}"));
            // Where it cannot be added, the check that wants it fails and says so.
            let _ = program("rustup", &["component", "add", component]).quietly();
        }
    }
}

fn wasm_target() -> Result<(), String> {
    const TARGET: &str = "wasm32-unknown-unknown";
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let (_, root) = program(&rustc, &["--print", "sysroot"]).quietly()?;
    if Path::new(root.trim()).join("lib/rustlib").join(TARGET).join("lib").is_dir() {
        return Ok(());
    }
    say(&format!("adding the target {TARGET}"));
    match program("rustup", &["target", "add", TARGET]).within(&crate::top()).quietly() {
        Ok((true, _)) => Ok(()),
        _ => Err(format!("Rust's target {TARGET} is missing: rustup target add {TARGET}")),
    }
}

/// Whether a tool is installed with the versions that its author tested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lock {
    Kept,
    /// Its lock file may name versions that a registry does not serve yet.
    Ignored,
}

fn cargo_tool(name: &str, package: &str, version: &str, lock: Lock) -> Result<(), String> {
    if answers(name, version) {
        return Ok(());
    }
    let own = folder(name, version);
    let (root, build) = (own.to_string_lossy(), own.join("build"));
    let mut arguments = vec!["install", package, "--version", version, "--root", &root, "--force"];
    if lock == Lock::Kept {
        arguments.push("--locked");
    }
    say(&format!("building {package} {version}: some minutes, once on this machine"));
    let begun = Instant::now();
    let installing =
        cargo(&arguments).env("CARGO_TARGET_DIR", &build).within(&std::env::temp_dir());
    let (succeeded, output) = patiently(package, begun, || installing.quietly())?;
    let _ = std::fs::remove_dir_all(&build);
    if succeeded && answers(name, version) {
        say(&format!("{package} {version} is there after {} s", begun.elapsed().as_secs()));
        return Ok(());
    }
    Err(format!("{package} {version} could not be installed:\n{}", last_lines(&output, 20)))
}

/// Whether the first tool of that name on PATH has that version.
fn answers(name: &str, version: &str) -> bool {
    match program(name, &["--version"]).quietly() {
        Ok((true, text)) => text.split_whitespace().any(|word| word == version),
        _ => false,
    }
}

/// Does something slow; says once a minute that it still goes on.
fn patiently<T: Send>(what: &str, begun: Instant, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = scope.spawn(work);
        let mut minutes = 1;
        while !worker.is_finished() {
            std::thread::sleep(Duration::from_millis(200));
            if begun.elapsed().as_secs() >= minutes * 60 {
                say(&format!("still building {what}, {minutes} min so far"));
                minutes += 1;
            }
        }
        worker.join().expect("the work does not panic")
    })
}

/// A Chromium and the driver that goes with it.
fn browser() -> Result<(), String> {
    if browser_is_there() {
        return Ok(());
    }
    let can_install = cfg!(target_os = "linux") && is_root() && find("apt-get").is_some();
    if can_install {
        say("installing chromium and chromium-driver with apt-get");
        let apt = |arguments: &[&str]| {
            program("apt-get", arguments).env("DEBIAN_FRONTEND", "noninteractive").quietly()
        };
        apt(&["update", "--quiet"])?;
        let packages = ["chromium", "chromium-driver"];
        apt(&[&["install", "--yes", "--quiet", "--no-install-recommends"], &packages[..]].concat())?;
    }
    if browser_is_there() {
        return Ok(());
    }
    Err("The browser tests need Chromium (or Chrome) and the chromedriver of the same version on PATH.".into())
}

fn browser_is_there() -> bool {
    let driver = std::env::var_os("CHROMEDRIVER").is_some() || find("chromedriver").is_some();
    // Elsewhere the driver knows where a browser is installed.
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
    driver && (!cfg!(target_os = "linux") || names.iter().any(|name| find(name).is_some()))
}

fn is_root() -> bool {
    matches!(program("id", &["-u"]).quietly(), Ok((true, id)) if id.trim() == "0")
}

fn say(what: &str) {
    println!("tools: {what}");
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
