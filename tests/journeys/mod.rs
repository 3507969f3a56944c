//! What visitors do on the page and must find there. How a browser is driven is not said here.
//! *Invariant: a journey looks only at what a visitor (or their screen reader) is told, and at the
//! hash that stands for the whole state.*

use crate::browser::{Outcome, Visitor};

/// One way through the page.
pub type Journey = fn(&Visitor) -> Outcome;

/// Every journey, by the name it is reported under.
pub const ALL: &[(&str, Journey)] = &[
    ("it loads and is alive", it_loads),
    ("a panic shows the recording", a_panic_shows_the_recording),
    ("it has no barrier that axe can find", it_has_no_barrier),
];

/// At the end of every journey: nothing in the console, nothing asked of another host.
pub fn all_was_quiet(visitor: &Visitor) -> Outcome {
    let errors = visitor.console_errors()?;
    if !errors.is_empty() {
        return Err(format!("the console has errors:\n{}", errors.join("\n")));
    }
    let foreign = "performance.getEntriesByType('resource').map((entry) => entry.name)\
        .filter((name) => !name.startsWith(location.origin) && !name.startsWith('data:'))";
    let foreign = visitor.text(foreign)?;
    if foreign == "[]" { Ok(()) } else { Err(format!("asked of other hosts: {foreign}")) }
}

/// Opens the page and waits until the cluster is there.
fn open(visitor: &Visitor, rest: &str) -> Outcome {
    visitor.open(rest)?;
    let alive = "document.getElementById('app').getAttribute('aria-busy') !== 'true'";
    visitor.until("a page that is alive", alive)
}

fn it_loads(visitor: &Visitor) -> Outcome {
    open(visitor, "")?;
    visitor.until("a title", "document.title.includes('Zootrope')")?;
    visitor.until("no panel of a stopped page", "document.getElementById('stopped').hidden")
}

fn a_panic_shows_the_recording(visitor: &Visitor) -> Outcome {
    open(visitor, "")?;
    let link = "#1here";
    visitor.run(&format!(
        "dispatchEvent(new CustomEvent('zootrope-panic', {{ detail: {{ message: 'a law broke', \
         link: '{link}' }} }}))"
    ))?;
    visitor.until("the panel", "!document.getElementById('stopped').hidden")?;
    let report = visitor.text("document.getElementById('stopped-report').textContent")?;
    let again = visitor.text("document.getElementById('stopped-again').getAttribute('href')")?;
    if report.contains("a law broke") && again == link {
        Ok(())
    } else {
        Err(format!("the panel says {report:?} and links to {again:?}"))
    }
}

fn it_has_no_barrier(visitor: &Visitor) -> Outcome {
    open(visitor, "")?;
    let violations = axe(visitor)?;
    if violations.is_empty() { Ok(()) } else { Err(violations.join("\n")) }
}

/// What axe finds, one line a rule and element.
fn axe(visitor: &Visitor) -> Outcome<Vec<String>> {
    visitor.run(include_str!("../vendor/axe.min.js"))?;
    let found = visitor.run_until_called(
        "const done = arguments[arguments.length - 1];
         axe.run(document, { resultTypes: ['violations'] }).then(
           ({ violations }) => done(violations.flatMap(({ id, help, nodes }) => nodes.map(
             (node) => `${id}: ${help}: ${node.target} ${node.html.slice(0, 200)}`))),
           (error) => done([`axe failed: ${error}`]));",
    )?;
    let lines = found.as_array().into_iter().flatten();
    Ok(lines.map(|line| line.as_str().unwrap_or_default().to_owned()).collect())
}
