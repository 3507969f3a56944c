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
    Recording::parse(text)
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
