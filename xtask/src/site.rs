//! The page as a site: served while one works on it, or built as files for any static host.
//! How files are hashed, named and weighed is the work of the example `pack`.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use crate::run::{self, Outcome, Program, program};
use crate::tools::{self, Wanted};

/// Where the built site lies.
pub fn folder() -> PathBuf {
    crate::top().join("dist")
}

/// Builds the page, serves it, and builds it again at each change, until it is interrupted.
pub fn serve() -> Outcome {
    tools::install(Wanted::Page)?;
    fetch()?;
    let port = free_port().ok_or("no port from 8080 to 8099 is free on 127.0.0.1")?;
    println!("building the page: some minutes the first time");
    let port_text = port.to_string();
    let flags = ["--release", "--cargo-profile", "serve", "--address", "127.0.0.1", "--port"];
    let flags = [&["serve", "--offline"], &flags[..], &[&port_text]].concat();
    let mut server = trunk(&flags).start()?;
    if wait_until_it_answers(port, &mut server) {
        println!("Zootrope is on http://127.0.0.1:{port}/ (Ctrl+C ends it)");
    }
    server.wait().map(|status| status.success()).map_err(|error| error.to_string())
}

/// Builds the static site and closes with its weight.
pub fn build() -> Result<(), String> {
    tools::install(Wanted::Page)?;
    println!("building the page: some minutes the first time");
    let flags =
        ["build", "--release", "--cargo-profile", "page", "--offline", "--public-url", "./"];
    if !(fetch()? && trunk(&flags).run()?) {
        return Err("the page does not build".into());
    }
    shrink()?;
    let folder = folder().to_string_lossy().into_owned();
    match run::example(run::Profile::Runner, "pack", &[folder]).run()? {
        true => Ok(()),
        false => Err("the site could not be packed".into()),
    }
}

/// Trunk, on this repository, without a look for newer versions of itself.
fn trunk(arguments: &[&str]) -> Program {
    let trunk = program("trunk", arguments).within(&crate::top());
    trunk.env("NO_COLOR", "true").env("TRUNK_SKIP_VERSION_CHECK", "true")
}

/// Trunk builds offline; so the crates must be here before it begins.
fn fetch() -> Outcome {
    run::cargo(&["fetch", "--locked"]).within(&crate::top()).run()
}

/// Makes the page's wasm smaller when Binaryen is at hand.
fn shrink() -> Result<(), String> {
    if tools::find("wasm-opt").is_none() {
        println!("notice: wasm-opt is not on PATH, so the page is a few per cent heavier");
        return Ok(());
    }
    let files = std::fs::read_dir(folder()).map_err(|error| error.to_string())?;
    for file in files.flatten().map(|entry| entry.path()) {
        if file.extension().is_some_and(|ending| ending == "wasm") {
            let name = file.to_string_lossy();
            let flags = ["-O3", "--strip-debug", "--strip-producers", &name, "-o", &name];
            if !program("wasm-opt", &flags).run()? {
                println!("notice: wasm-opt failed, so the page is a few per cent heavier");
            }
        }
    }
    Ok(())
}

fn free_port() -> Option<u16> {
    (8080..8100).find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
}

/// Waits for the first page; `false` if the server ended before.
fn wait_until_it_answers(port: u16, server: &mut Child) -> bool {
    while !matches!(server.try_wait(), Ok(Some(_)) | Err(_)) {
        if answers(port) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    false
}

fn answers(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_secs(1)) else {
        return false;
    };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
    let request = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    let mut head = [0; 12];
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_exact(&mut head).is_ok()
        && head.ends_with(b"200")
}
