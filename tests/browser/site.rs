//! The built page on a small server of its own, in a folder as on any static host.
//! *Invariant: what is not a file of the site is 404, so that a wrong link is seen.*

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// The page lies in a folder, to show that it can.
const FOLDER: &str = "/some/folder/";

/// The site being served, until the test ends.
pub struct Site {
    port: u16,
}

impl Site {
    /// Serves the files of this folder.
    pub fn serve(files: PathBuf) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let files = files.clone();
                std::thread::spawn(move || answer(stream, &files));
            }
        });
        Ok(Self { port })
    }

    /// The page's address, without query and fragment.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}{FOLDER}", self.port)
    }
}

/// Answers one request and closes; whoever hangs up before does not matter.
fn answer(mut stream: TcpStream, files: &Path) {
    let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
    let request = lines.next().unwrap_or_default();
    while lines.next().is_some_and(|header| !header.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default();
    let found = file(path).and_then(|name| {
        let body = std::fs::read(files.join(&name)).ok()?;
        Some((body, kind(&name)))
    });
    let (status, body, kind) = match found {
        Some((body, kind)) => ("200 OK", body, kind),
        None => ("404 Not Found", Vec::new(), "text/plain"),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}

/// The file that a path asks for, within the site.
fn file(path: &str) -> Option<String> {
    let name = path.split(['?', '#']).next()?.strip_prefix(FOLDER)?;
    let name = if name.is_empty() { "index.html" } else { name };
    (!name.contains("..")).then(|| name.to_owned())
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}
