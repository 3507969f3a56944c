//! The house rules that a machine can hold: this reads the sources and names each line that breaks
//! one. What a person must judge (names, shape, truth to the real systems) is in docs/house.md.
//! *Invariant: a rule has no list of exceptions; code that must break it changes the rule.*

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// From the ground up; a floor uses those before it.
const FLOORS: [&str; 7] = ["sim", "zk", "kafka", "cluster", "lab", "picture", "ui"];
/// Words for people: these floors may look them up, and the leaf itself uses nobody.
const WORDS: (&str, [&str; 3]) = ("text", ["lab", "picture", "ui"]);

const LONGEST_LINE: usize = 100;
const LONGEST_FUNCTION: usize = 70;

/// A source file, its tests apart: they may do what the code may not.
struct Source {
    path: String,
    code: Vec<String>,
    tests: Vec<String>,
}

impl Source {
    fn floor(&self) -> Option<&str> {
        self.path.strip_prefix("src/")?.split_once('/').map(|(floor, _)| floor)
    }

    /// Whether the file lies on a floor that runs natively, without clock, chance and browser.
    fn is_pure(&self) -> bool {
        self.floor().is_some_and(|floor| floor != "ui")
    }

    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code
            .iter()
            .chain(&self.tests)
            .enumerate()
            .map(|(index, line)| (index + 1, line.as_str()))
    }

    /// The lines that are code: no tests, no comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.code.iter().enumerate().map(|(index, line)| (index + 1, line.as_str()));
        lines.map(|(number, line)| (number, line.split_once("//").map_or(line, |(code, _)| code)))
    }
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files under a folder that end so, by their path from the top.
fn files(folder: &str, ending: &str) -> Vec<String> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut folders = vec![top().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    let from_top = |path: &PathBuf| path.strip_prefix(top()).expect("found below").to_owned();
    found.iter().map(|path| from_top(path).to_string_lossy().replace('\\', "/")).collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(top().join(path)).expect("it was just found")
}

fn source(path: String) -> Source {
    let mut code: Vec<String> = read(&path).lines().map(str::to_owned).collect();
    let is_test = path.ends_with("tests.rs");
    let begins = if is_test { 0 } else { beginning_of_tests(&code) };
    let tests = code.split_off(begins);
    Source { path, code, tests }
}

/// Where the tests at a file's foot begin. Tests that lie in a file of their own are only named in
/// this one, and code may follow.
fn beginning_of_tests<T: AsRef<str>>(lines: &[T]) -> usize {
    let line = |at: usize| lines.get(at).map_or("", AsRef::as_ref);
    let begins = |at: &usize| line(*at) == "#[cfg(test)]" && !line(at + 1).ends_with(';');
    (0..lines.len()).find(begins).unwrap_or(lines.len())
}

/// What is built into the page.
fn sources() -> Vec<Source> {
    files("src", ".rs").into_iter().map(source).collect()
}

/// All Rust there is.
fn everything() -> Vec<Source> {
    let folders = ["src", "tests", "examples", "xtask/src"];
    folders.iter().flat_map(|folder| files(folder, ".rs")).map(source).collect()
}

/// Fails with every place that breaks a rule.
fn hold(rule: &str, broken: impl IntoIterator<Item = (String, usize, String)>) {
    let mut places = String::new();
    for (path, line, what) in broken {
        writeln!(places, "  {path}:{line}: {what}").expect("a string takes everything");
    }
    assert!(places.is_empty(), "{rule}:\n{places}");
}

/// Every line of code on these files that has one of the banned pieces in it.
fn hold_bans(rule: &str, sources: &[Source], banned: &[&str]) {
    let broken = sources.iter().flat_map(|source| {
        source.code().filter_map(|(number, line)| {
            let piece = banned.iter().find(|piece| has_word(line, piece))?;
            Some((source.path.clone(), number, format!("{piece} in `{}`", line.trim())))
        })
    });
    hold(rule, broken);
}

/// Whether a piece stands in a line, not as part of a longer word where it begins or ends as a
/// word.
fn has_word(line: &str, piece: &str) -> bool {
    let inside = |found: Option<char>| found.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(piece).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + piece.len()..].chars().next();
        let begins = piece.chars().next();
        let ends = piece.chars().next_back();
        let goes_on = inside(begins) && inside(before) || inside(ends) && inside(after);
        !goes_on
    })
}

#[test]
fn a_floor_uses_only_those_under_it() {
    let mut broken = Vec::new();
    for source in &sources() {
        let Some(floor) = source.floor() else { continue };
        for (number, line) in source.code() {
            for (at, _) in line.match_indices("crate::") {
                let used = line[at + "crate::".len()..].trim_start_matches('{');
                let used: String =
                    used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if !may_use(floor, &used) {
                    broken.push((source.path.clone(), number, format!("{floor} uses {used}")));
                }
            }
        }
    }
    hold("A floor uses those under it, never those above", broken);
}

/// Whether code on one floor may name another; what is no floor (a macro at the top) is free.
fn may_use(floor: &str, used: &str) -> bool {
    let height = |name: &str| FLOORS.iter().position(|floor| *floor == name);
    match (height(floor), height(used)) {
        _ if floor == used => true,
        (Some(_), None) if used == WORDS.0 => WORDS.1.contains(&floor),
        (Some(floor), Some(used)) => used < floor,
        (None, Some(_)) => floor != WORDS.0,
        (_, None) => true,
    }
}

#[test]
fn floors_are_told_apart() {
    let table = [
        ("zk", "sim", true),
        ("sim", "zk", false),
        ("kafka", "cluster", false),
        ("ui", "text", true),
        ("zk", "text", false),
        ("text", "sim", false),
    ];
    for (floor, used, expected) in table {
        assert_eq!(may_use(floor, used), expected, "{floor} uses {used}");
    }
    assert!(has_word("let x: f64 = 1;", "f64") && !has_word("let xf64 = 1;", "f64"));
    assert!(has_word("a.len();", ".len()") && !has_word("a.len_utf8();", ".len()"));
}

#[test]
fn code_is_told_from_tests() {
    let table: [(&[&str], usize); 3] = [
        (&["fn code() {}"], 1),
        (&["fn code() {}", "#[cfg(test)]", "mod tests {"], 1),
        (&["mod code;", "#[cfg(test)]", "mod tests;", "fn code() {}"], 4),
    ];
    for (lines, expected) in table {
        assert_eq!(beginning_of_tests(lines), expected, "{lines:?}");
    }
}

#[test]
fn the_engine_has_no_clock_no_chance_and_no_browser() {
    let pure: Vec<Source> = sources().into_iter().filter(Source::is_pure).collect();
    let rule = "Below ui everything is pure, so that one seed tells one story everywhere";
    let order = ["HashMap", "HashSet", "f32", "f64", "thread_local!", "static mut"];
    hold_bans(rule, &pure, &order);
    hold_bans(rule, &pure, &["Instant", "SystemTime", "rand::", "getrandom"]);
    hold_bans(rule, &pure, &["web_sys", "js_sys", "leptos", "wasm_bindgen"]);
}

#[test]
fn every_file_says_what_it_is() {
    let silent = everything()
        .into_iter()
        .filter(|source| !source.lines().next().is_some_and(|(_, line)| line.starts_with("//!")));
    let broken = silent.map(|source| (source.path, 1, "no `//!`".to_owned()));
    hold("A file opens with what lives in it and what does not", broken);
}

#[test]
fn a_header_is_in_one_piece() {
    let broken = everything().into_iter().flat_map(|source| {
        let below = source.lines().skip_while(|(_, line)| line.starts_with("//!"));
        let apart = below.filter(|(_, line)| line.starts_with("//!"));
        let apart: Vec<_> = apart.map(|(number, line)| (number, line.to_owned())).collect();
        apart.into_iter().map(move |(number, line)| (source.path.clone(), number, line))
    });
    hold("What a file opens with is one comment; sources and departures come behind it", broken);
}

#[test]
fn lines_fit() {
    let mut broken = Vec::new();
    for source in everything() {
        let too_long = |line: &str| line.chars().count() > LONGEST_LINE && !line.contains('"');
        let long = source.lines().filter(|(_, line)| too_long(line));
        broken.extend(long.map(|(number, line)| {
            (source.path.clone(), number, format!("{} columns", line.chars().count()))
        }));
    }
    hold("A line has at most 100 columns, unless a text in it is longer", broken);
}

#[test]
fn functions_fit_on_a_page() {
    let mut broken = Vec::new();
    for source in everything() {
        let lines: Vec<(usize, &str)> = source.lines().collect();
        for (index, (number, line)) in lines.iter().enumerate() {
            let Some(name) = function_name(line) else { continue };
            let indent = line.len() - line.trim_start().len();
            let end = format!("{}}}", &line[..indent]);
            let length = lines[index..].iter().position(|(_, line)| *line == end).unwrap_or(0) + 1;
            if length > LONGEST_FUNCTION && line.ends_with(['{', '(']) {
                broken.push((source.path.clone(), *number, format!("{name} has {length} lines")));
            }
        }
    }
    hold("A function has at most 70 lines", broken);
}

/// The name, when a function begins in this line.
fn function_name(line: &str) -> Option<&str> {
    let (before, rest) = line.trim_start().split_once("fn ")?;
    let begins = before.is_empty() || before.ends_with(' ');
    let name = rest.split(['(', '<']).next()?;
    let named = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (begins && named && !before.contains(['"', '/', '('])).then_some(name)
}

#[test]
fn nothing_is_unwrapped_without_a_reason() {
    let rule = "Say with expect why it holds";
    let unwraps = [concat!(".unwrap", "()"), concat!("todo", "!"), concat!("unimplemented", "!")];
    hold_bans(rule, &everything(), &unwraps);
}

#[test]
fn names_say_what_a_thing_is() {
    const NO_NAMES: [&str; 10] = [
        "Manager",
        "Helper",
        "Util",
        "Handler",
        "Processor",
        "Service",
        "Context",
        "Info",
        "Data",
        "World",
    ];
    const NO_FILES: [&str; 6] = ["utils", "util", "common", "types", "helpers", "misc"];
    let mut broken = Vec::new();
    for source in sources() {
        let file = source.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        if NO_FILES.contains(&file) {
            broken.push((source.path.clone(), 1, format!("a file named {file}")));
        }
        for (number, line) in source.code() {
            let empty = |name: &str| NO_NAMES.iter().any(|word| name.ends_with(word));
            let verb = |name: &str| name.starts_with("do_");
            let named = type_name(line).filter(|name| empty(name));
            let called = function_name(line).filter(|name| verb(name));
            broken.extend(
                named
                    .or(called)
                    .map(|name| (source.path.clone(), number, format!("the name {name}"))),
            );
        }
    }
    hold("A name is the field's own word", broken);
}

/// The name, when a type begins in this line.
fn type_name(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
    let kinds = ["struct ", "enum ", "trait ", "type "];
    let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[test]
fn only_one_place_spells_kafkas_paths() {
    let paths = ["\"/brokers", "\"/controller", "\"/consumers", "\"/admin", "\"/config", "\"/isr_"];
    let others =
        sources().into_iter().filter(|source| !source.path.starts_with("src/kafka/znodes"));
    let others: Vec<Source> =
        others.filter(|source| !source.path.starts_with("src/text/")).collect();
    hold_bans("Every path that Kafka keeps is a typed value of kafka::znodes", &others, &paths);
}

#[test]
fn all_sort_alike() {
    let others: Vec<Source> =
        sources().into_iter().filter(|source| source.path != "src/sim/sort.rs").collect();
    let sorts = [".sort()", ".sort_by(", ".sort_by_key(", ".sort_by_cached_key("];
    hold_bans("Sort by sim::sort: one sort for all types keeps the page small", &others, &sorts);
    let unstable = [".sort_unstable()", ".sort_unstable_by(", ".sort_unstable_by_key("];
    hold_bans("Sort by sim::sort: one sort for all types keeps the page small", &others, &unstable);
}

#[test]
fn panels_write_no_markup_by_hand() {
    let rule = "The page's policy forbids style attributes; text goes in as text";
    hold_bans(rule, &sources(), &["style=\"", "inner_html=", "eval("]);
}

#[test]
fn colours_are_named_in_one_place() {
    let mut broken = Vec::new();
    let styles = files("style", ".css").into_iter().filter(|path| path != "style/tokens.css");
    let panels =
        sources().into_iter().filter(|source| matches!(source.floor(), Some("ui" | "picture")));
    for path in styles.chain(panels.map(|source| source.path)) {
        for (index, line) in read(&path).lines().enumerate() {
            if has_colour(line) {
                broken.push((path.clone(), index + 1, line.trim().to_owned()));
            }
        }
    }
    hold("A colour is a token of style/tokens.css", broken);
}

fn has_colour(line: &str) -> bool {
    let is_hex = |word: &str| {
        let digits = word.chars().take_while(char::is_ascii_hexdigit).count();
        let ends = word[digits..].chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '-');
        ends && matches!(digits, 3 | 4 | 6 | 8)
            && word.chars().take(digits).any(|c| c.is_ascii_digit())
    };
    let hex = line.match_indices('#').any(|(at, _)| is_hex(&line[at + 1..]));
    hex || ["rgb(", "rgba(", "hsl(", "oklch("].iter().any(|call| has_word(line, call))
}

#[test]
fn no_test_sleeps_or_is_ignored() {
    let broken = everything().into_iter().flat_map(|source| {
        let path = source.path.clone();
        let engine = path.starts_with("src/");
        let lines: Vec<(usize, String)> =
            source.lines().map(|(number, line)| (number, line.trim().to_owned())).collect();
        lines.into_iter().filter_map(move |(number, line)| {
            let breaks = line == "#[ignore]" || (engine && line.contains("thread::sleep"));
            breaks.then(|| (path.clone(), number, line))
        })
    });
    hold("Assert today's answer and say why; wait for nothing", broken);
}

#[test]
fn scenarios_begin_with_their_story() {
    let silent =
        files("tests/scenarios", ".txt").into_iter().filter(|path| !read(path).starts_with("# "));
    let broken = silent.map(|path| (path, 1, "no comment tells what it shows".to_owned()));
    hold("One file, one story, told by its first comment", broken);
}

#[test]
fn the_readme_gives_a_reason_for_each_dependency() {
    let readme = read("README.md");
    let manifest = read("Cargo.toml");
    let mut inside = false;
    let mut broken = Vec::new();
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]");
        } else if let Some((name, _)) = line.split_once(" = ").filter(|_| inside)
            && !readme.contains(&format!("`{name}`"))
        {
            broken.push(("Cargo.toml".to_owned(), index + 1, name.to_owned()));
        }
    }
    hold("A dependency is named in the README with its reason", broken);
}

/// The pages that tell what a floor does, each with the folder whose files it names.
const TOLD: [(&str, &str); 2] = [("docs/zookeeper.md", "src/zk"), ("docs/kafka.md", "src/kafka")];

#[test]
fn the_docs_name_only_files_that_are_there() {
    let mut broken = Vec::new();
    for page in files("docs", ".md") {
        let folder = TOLD.iter().find(|(told, _)| *told == page).map_or("", |(_, folder)| *folder);
        for (index, line) in read(&page).lines().enumerate() {
            let named = line.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs"));
            let missing = named.filter(|name| {
                !top().join(name).exists() && !top().join(folder).join(name).exists()
            });
            broken.extend(missing.map(|name| (page.clone(), index + 1, name.to_owned())));
        }
    }
    hold("A file that the docs name is there", broken);
}

#[test]
fn every_departure_has_its_row() {
    let mut broken = Vec::new();
    for (page, folder) in TOLD {
        let told = read(page);
        let inside = format!("{folder}/");
        for source in sources().iter().filter(|source| source.path.starts_with(&inside)) {
            let name = &source.path[inside.len()..];
            let marks = source
                .lines()
                .filter(|(_, line)| line.contains("// Real: ") || line.contains("//! Real: "));
            let silent = !told.contains(&format!("`{name}`"));
            broken.extend(
                marks
                    .filter(|_| silent)
                    .map(|(number, line)| (source.path.clone(), number, line.trim().to_owned())),
            );
        }
    }
    hold("A departure from the real systems has its row in docs/zookeeper.md or kafka.md", broken);
}
