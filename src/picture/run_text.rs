//! A run as text: the recording that a link carries, to be read, changed and begun again.
//!
//! What a form offers is written into the text, so that there is one truth, and whoever changes
//! the text by hand loses nothing. *Invariant:* a choice changes the set-up's line and no other.

use crate::cluster::setup::SETTINGS;
use crate::cluster::{Setup, Trouble};
use crate::kafka::release::Release;
use crate::kafka::settings::Settings;
use crate::lab::{HEADING, Recording};
use crate::text::Phrase;

/// The word that a set-up's line begins with.
const SETUP: &str = "setup";

/// The values of the set-up that a form offers, by their names in its line.
pub const CHOICES: [&str; 4] = ["release", "zookeeper", "brokers", "seed"];

/// A setting as this run has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRow {
    /// Its real name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Whether the set-up's line names it.
    pub is_set: bool,
}

/// The recording that a text is, or what is wrong with it and where.
pub fn read(text: &str) -> Result<Recording, Trouble> {
    if text.trim().is_empty() {
        let what = "the text is empty".to_owned();
        return Err(Trouble { line: 1, column: 1, what, expected: Setup::USAGE.to_owned() });
    }
    Recording::parse(text)
}

/// What stands before a line that the release has no use for.
const UNUSED: &str = "# not in this release: ";

/// The text with each line as its release needs it: consumers that coordinate as it does, and its
/// tools, or none.
pub fn suited(text: &str) -> String {
    let Ok(Recording { setup, .. }) = read(text) else { return text.to_owned() };
    let servers: Vec<String> = (1..=setup.zookeeper).map(|id| format!("zk{id}:2181")).collect();
    let connect = format!(" zookeeper.connect={}", servers.join(","));
    let line = |line: &str| suited_line(line, setup.release, &connect);
    text.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

fn suited_line(line: &str, release: Release, connect: &str) -> String {
    let bare = line.strip_prefix(UNUSED).unwrap_or(line);
    let words: Vec<&str> = bare.split(' ').collect();
    if words.first() != Some(&"at") {
        return line.to_owned();
    }
    if words.get(2) == Some(&"kafka-topics") && release.brokers_are_alone() {
        return format!("{UNUSED}{bare}");
    }
    let is_consumer = words.get(2..4) == Some(&["add", "consumer"]);
    let is_old = |word: &&str| word.starts_with("zookeeper.connect=");
    let has_old = words.iter().any(is_old);
    if is_consumer && !has_old && !release.has_new_consumers() {
        return format!("{bare}{connect}");
    }
    if is_consumer && has_old && !release.has_old_consumers() {
        let others: Vec<&str> = words.into_iter().filter(|word| !is_old(word)).collect();
        return others.join(" ");
    }
    bare.to_owned()
}

/// That lines were changed for the release, if any were: how many.
pub fn suiting(before: &str, after: &str) -> Option<Phrase> {
    let is_changed = |(old, new): &(&str, &str)| old != new && !is_setup(new);
    let changed = before.lines().zip(after.lines()).filter(is_changed).count();
    (changed > 0).then(|| Phrase::key("run.suited").with("n", changed))
}

/// That the set-up names settings without effect, if it does.
pub fn unheeded(setup: &Setup) -> Option<Phrase> {
    let names = setup.without_effect().join(", ");
    (!names.is_empty()).then(|| Phrase::key("run.unheeded").with("names", names))
}

/// What can be chosen for a name; nothing if any number can be typed.
pub fn offered(name: &str) -> Vec<String> {
    match name {
        "release" => Release::ALL.iter().rev().map(|release| release.name().into()).collect(),
        "zookeeper" => (1..=7).map(|n: u8| n.to_string()).collect(),
        _ => Vec::new(),
    }
}

/// A value of the set-up, as its line would write it.
pub fn chosen(setup: &Setup, name: &str) -> String {
    let line = setup.to_string();
    let words = line.split(' ').filter_map(|word| word.split_once('='));
    words.filter(|(known, _)| *known == name).map(|(_, value)| value.to_string()).collect()
}

fn is_setup(line: &&str) -> bool {
    line.split(' ').next() == Some(SETUP)
}

/// The text of a run with the same set-up, to which nothing has been done yet.
pub fn afresh(text: &str) -> String {
    let setup = text.lines().find(is_setup).unwrap_or(SETUP);
    format!("{HEADING}\n{setup}\n")
}

/// The text with another value in its set-up's line.
pub fn with(text: &str, name: &str, value: &str) -> String {
    let (before, line) = match text.lines().position(|line| is_setup(&line)) {
        Some(at) => (at, text.lines().nth(at).unwrap_or(SETUP)),
        None => (text.lines().take_while(|line| line.starts_with('#')).count(), ""),
    };
    let mut words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        words.push(SETUP);
    }
    words.retain(|word| word.split_once('=').is_none_or(|(known, _)| known != name));
    let word =
        if value.contains(' ') { format!("{name}=\"{value}\"") } else { format!("{name}={value}") };
    if !value.is_empty() {
        // What a form offers stands first, as a set-up is written.
        let place = if CHOICES.contains(&name) { 1 } else { words.len() };
        words.insert(place, &word);
    }
    let after = if line.is_empty() { before } else { before + 1 };
    let mut lines: Vec<&str> = text.lines().take(before).collect();
    let setup = words.join(" ");
    lines.push(&setup);
    lines.extend(text.lines().skip(after));
    lines.join("\n") + "\n"
}

/// Every setting of the cluster, as brokers have it at the start; those that were set first.
pub fn settings(setup: &Setup) -> Vec<SettingRow> {
    let broker = setup.broker_settings(1);
    let is_set = |name: &str| setup.settings().any(|(known, _)| known == name);
    let common = SETTINGS.iter().map(|row| {
        let value = setup.setting(row.name);
        let shown = if row.is_switch() { (value == 1).to_string() } else { value.to_string() };
        (row.name, Some(shown))
    });
    let names = Settings::names(setup.release);
    let brokers = names.iter().map(|name| (*name, broker.value(name)));
    let rows = common
        .chain(brokers)
        .filter_map(|(name, value)| Some(SettingRow { name, value: value?, is_set: is_set(name) }));
    let (mut set, others): (Vec<_>, Vec<_>) = rows.partition(|row| row.is_set);
    set.extend(others);
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# zootrope 1\nsetup release=3.9.1 seed=1 zookeeper=3 brokers=3\n\
        # why\nat 5.000 kill broker1\nuntil 30.000\n";

    fn setup(text: &str) -> Setup {
        read(text).expect("it is right").setup
    }

    #[test]
    fn a_choice_changes_the_setups_line_alone() {
        let other = with(TEXT, "release", "0.8.2.2");
        let expected = TEXT.replace("release=3.9.1 ", "release=0.8.2.2 ");
        assert_eq!(other, expected);
        assert_eq!(chosen(&setup(&other), "release"), "0.8.2.2");
        let other = with(TEXT, "tickTime", "3000");
        assert_eq!(other, TEXT.replace("brokers=3", "brokers=3 tickTime=3000"));
        assert_eq!(with(&other, "tickTime", ""), TEXT);
    }

    /// The first visit's run at another release does all that it says.
    #[test]
    fn a_run_is_suited_to_its_release() {
        let first = Recording::first_visit().to_string().replace("until 0.000", "until 30.000");
        for release in Release::ALL {
            let text = suited(&with(&first, "release", release.name()));
            let lab = crate::lab::Lab::open(read(&text).expect("it is right"));
            let not_done: Vec<String> = lab.not_done().iter().map(ToString::to_string).collect();
            assert_eq!(not_done, Vec::<String>::new(), "{text}");
            let old = !release.has_new_consumers();
            assert_eq!(text.contains("zookeeper.connect=zk1:2181,zk2:2181,zk3:2181"), old);
            assert_eq!(suiting(&with(&first, "release", release.name()), &text).is_some(), old);
            let back = suited(&with(&text, "release", "3.9.1"));
            assert_eq!(back, with(&first, "release", "3.9.1"), "{release:?}");
        }
    }

    #[test]
    fn what_cannot_be_done_when_its_moment_comes_is_kept_with_its_reason() {
        let text = "# zootrope 1\nsetup seed=1\nat 3.000 kill broker9\nuntil 5.000\n";
        let mut lab = crate::lab::Lab::open(read(text).expect("it is right"));
        lab.seek(crate::sim::Moment::default());
        lab.advance_to(crate::sim::SimTime::micros(6_000_000));
        let said: Vec<String> = lab.not_done().iter().map(ToString::to_string).collect();
        assert_eq!(said, ["at 3.000 kill broker9: there is no process broker9"]);
    }

    #[test]
    fn an_empty_text_is_no_run() {
        assert!(read(" \n").is_err());
    }

    #[test]
    fn a_text_without_a_setup_gets_one() {
        assert_eq!(
            with("# zootrope 1\nuntil 3\n", "seed", "4"),
            "# zootrope 1\nsetup seed=4\nuntil 3\n"
        );
        assert_eq!(with("", "seed", "4"), "setup seed=4\n");
    }

    #[test]
    fn an_empty_cluster_keeps_the_set_up_alone() {
        let setup = "setup release=3.9.1 seed=1 zookeeper=3 brokers=3";
        assert_eq!(afresh(TEXT), format!("# zootrope 1\n{setup}\n"));
        assert_eq!(afresh("at 3 kill a"), "# zootrope 1\nsetup\n");
    }

    #[test]
    fn settings_have_the_values_of_the_release() {
        let value = |release: &str, name: &str| {
            let rows = settings(&setup(&format!("setup release={release}")));
            rows.into_iter().find(|row| row.name == name).expect("it is a setting").value
        };
        let name = "zookeeper.session.timeout.ms";
        assert_eq!((value("0.8.2.2", name), value("3.9.1", name)), ("6000".into(), "18000".into()));
        assert_eq!(value("0.7.2", "zk.sessiontimeout.ms"), "6000");
        assert_eq!(value("0.7.2", "log.flush.interval"), "500");
        let rows = settings(&setup("setup broker.rack=\"a b\""));
        assert_eq!((rows[0].name, rows[0].value.as_str()), ("broker.rack", "a b"));
    }

    #[test]
    fn what_an_old_link_set_in_vain_is_read_kept_and_said() {
        let old = TEXT.replace("brokers=3", "brokers=3 session.timeout.ms=6000 tickTime=3000");
        let read = read(&old).expect("an old link opens");
        assert_eq!(read.to_string(), old.replace("# why\n", ""));
        let names = |setup: &Setup| unheeded(setup).map(|said| format!("{said:?}"));
        assert!(names(&read.setup).is_some_and(|said| said.contains("session.timeout.ms")));
        assert_eq!(names(&setup(TEXT)), None);
    }

    #[test]
    fn every_release_is_offered() {
        assert_eq!(offered("release").len(), Release::ALL.len());
        assert_eq!(offered("seed"), Vec::<String>::new());
    }
}
