//! A browser for tests: the built page served as any host would, a driver, and what a visitor can
//! do. What is expected of the page is not said here.
//! *Invariant: nothing is waited for longer than its limit, and nothing for a fixed time.*

mod driver;
mod site;

use std::future::Future;
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

pub use driver::Driver;
pub use site::Site;

/// What went wrong, in words for whoever reads the test's output.
pub type Outcome<T = ()> = Result<T, String>;

const PATIENCE: Duration = Duration::from_secs(60);

/// A visitor with the page before them.
pub struct Visitor {
    runtime: Runtime,
    client: Client,
    address: String,
}

#[allow(dead_code, reason = "the journeys that need the rest are being written")]
impl Visitor {
    /// Opens a browser that has seen nothing yet.
    pub fn arrive(driver: &Driver, site: &Site) -> Outcome<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let address = driver.address();
        let connecting = builder.capabilities(driver::capabilities()).connect(&address);
        let client =
            runtime.block_on(connecting).map_err(|error| format!("no browser: {error}"))?;
        Ok(Self { runtime, client, address: site.address() })
    }

    /// Loads the page with this behind its address, `?…` or `#…`, as a new document.
    pub fn open(&self, rest: &str) -> Outcome {
        self.go("about:blank")?;
        self.go(&format!("{}{rest}", self.address))
    }

    /// Loads any address.
    pub fn go(&self, address: &str) -> Outcome {
        self.wait(address, self.client.goto(address))
    }

    /// Makes the window this large.
    pub fn resize(&self, width: u32, height: u32) -> Outcome {
        self.wait("resize", self.client.set_window_size(width, height))
    }

    /// The value of a JavaScript expression in the page.
    pub fn ask(&self, expression: &str) -> Outcome<Value> {
        let script = format!("return ({expression});");
        self.wait(expression, self.client.execute(&script, Vec::new()))
    }

    /// The value of an expression, as text.
    pub fn text(&self, expression: &str) -> Outcome<String> {
        let value = self.ask(expression)?;
        Ok(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    /// Runs statements.
    pub fn run(&self, script: &str) -> Outcome<Value> {
        self.wait("a script", self.client.execute(script, Vec::new()))
    }

    /// Runs statements that call their last argument with the answer when they are done.
    pub fn run_until_called(&self, script: &str) -> Outcome<Value> {
        self.wait("a script", self.client.execute_async(script, Vec::new()))
    }

    /// Waits until an expression is true; says what never came.
    pub fn until(&self, what: &str, expression: &str) -> Outcome {
        let begun = Instant::now();
        while self.ask(expression)? != Value::Bool(true) {
            if begun.elapsed() > PATIENCE {
                let page = self.text("document.body.innerText.slice(0, 2000)")?;
                return Err(format!("never came: {what}\n  {expression}\nThe page says:\n{page}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Presses and releases one key, wherever the focus is.
    pub fn press(&self, key: char) -> Outcome {
        let keys = KeyActions::new("keyboard".into())
            .then(KeyAction::Down { value: key })
            .then(KeyAction::Up { value: key });
        self.wait("a key", self.client.perform_actions(keys))
    }

    /// Clicks what a selector finds first.
    pub fn click(&self, selector: &str) -> Outcome {
        let element = self.wait(selector, self.client.find(Locator::Css(selector)))?;
        self.wait(selector, element.click())
    }

    /// Goes on in a new tab of the same browser.
    pub fn new_tab(&self) -> Outcome {
        let tab = self.wait("a new tab", self.client.new_window(true))?;
        self.wait("the new tab", self.client.switch_to_window(tab.handle))
    }

    /// What the console has said in error since it was asked last.
    pub fn console_errors(&self) -> Outcome<Vec<String>> {
        let log = self.wait("the console", self.client.issue_cmd(ConsoleLog))?;
        let lines = log.as_array().into_iter().flatten();
        let errors = lines.filter(|line| line["level"] == "SEVERE");
        Ok(errors.map(|line| line["message"].to_string()).collect())
    }

    /// Leaves; the browser closes.
    pub fn leave(self) -> Outcome {
        self.wait("the end", self.client.clone().close())
    }

    fn wait<T, E: std::fmt::Display>(
        &self,
        what: &str,
        asked: impl Future<Output = Result<T, E>>,
    ) -> Outcome<T> {
        self.runtime.block_on(asked).map_err(|error| format!("{what}: {error}"))
    }
}

/// Chromium's log of the console, no part of the WebDriver standard.
#[derive(Debug)]
struct ConsoleLog;

impl WebDriverCompatibleCommand for ConsoleLog {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}
