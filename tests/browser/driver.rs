//! The browser's driver: started on a port of its own, ended with the test.
//! *Invariant: nothing here outlives the value that stands for it.*

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::wd::Capabilities;
use serde_json::{Value, json};

use super::Outcome;

/// A running chromedriver.
pub struct Driver {
    process: Child,
    port: u16,
}

impl Driver {
    /// Starts the driver that `CHROMEDRIVER` names, or the one on PATH, and waits for it.
    pub fn start() -> Outcome<Self> {
        let program = std::env::var("CHROMEDRIVER").unwrap_or_else(|_| "chromedriver".into());
        let port = free_port().map_err(|error| format!("no free port: {error}"))?;
        let started = Command::new(&program)
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = started.map_err(|error| format!("{program} does not start: {error}"))?;
        let driver = Self { process, port };
        driver.wait_until_it_listens()?;
        Ok(driver)
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn wait_until_it_listens(&self) -> Outcome {
        let begun = Instant::now();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        while TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_err() {
            if begun.elapsed() > Duration::from_secs(60) {
                return Err("chromedriver does not listen after a minute".into());
            }
            std::thread::yield_now();
        }
        Ok(())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the browser is asked to be: without a window, and silent towards its maker.
pub fn capabilities() -> Capabilities {
    let arguments = [
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--lang=en",
        "--window-size=1280,800",
    ];
    let asked = json!({
        "goog:chromeOptions": { "args": arguments },
        "goog:loggingPrefs": { "browser": "ALL" },
        "timeouts": { "script": 120_000 },
    });
    match asked {
        Value::Object(capabilities) => capabilities,
        _ => unreachable!("it was written as an object"),
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
