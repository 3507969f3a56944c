//! The palette: what can be found, added or watched, each as one line that does one thing.
//!
//! Filtering by what a person types is the page's, for it knows the language.
//! *Invariant:* whatever a line does can be done elsewhere on the page as well.

use super::brokers;
use super::ensemble::{self, Run};
use super::groups;
use super::inspector::{self, Verb};
use super::story;
use super::target::Target;
use crate::kafka::release::Release;
use crate::lab;
use crate::text::Phrase;

/// A line of the palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it says; behind a bar, what that means.
    pub words: Phrase,
    /// What the part of the list is called that begins here.
    pub part: Option<&'static str>,
    /// The key that does the same.
    pub key: String,
    /// What it does.
    pub does: Does,
}

/// What a line does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    /// Points at a thing.
    Select(Target),
    /// Gives a command.
    Send(String),
    /// Begins a situation, by its number from 1.
    Begin(usize),
}

fn select(words: Phrase, target: Target) -> Entry {
    Entry { words, part: None, key: String::new(), does: Does::Select(target) }
}

fn send(verb: Verb) -> Entry {
    Entry {
        words: verb.name,
        part: None,
        key: verb.key.to_string(),
        does: Does::Send(verb.command),
    }
}

/// Everything that can be found: processes, partitions, groups, what can be done, znodes.
pub fn everything(run: Run<'_>, verbs: Vec<Verb>) -> Vec<Entry> {
    let mut found: Vec<Entry> = verbs.into_iter().map(send).collect();
    for (_, name, _) in run.cluster.processes() {
        found.push(select(story::called(name), Target::Process(name.to_string())));
    }
    for held in ensemble::sessions(run) {
        found.extend(held.called().zip(held.target()).map(|(words, target)| select(words, target)));
    }
    for group in groups::groups(run) {
        found.push(select(Phrase::raw(&group.name), Target::Group(group.name.clone())));
    }
    let named = |name: String| select(Phrase::raw(&name), Target::Partition(name));
    found.extend(partitions(run).into_iter().map(named));
    found.extend(additions(run));
    found.extend(situations());
    for (id, name, _) in run.cluster.processes() {
        let verbs = inspector::verbs(run, id, name).into_iter();
        // Their keys are the selected thing's.
        found.extend(verbs.map(|verb| Entry { key: String::new(), ..send(verb) }));
    }
    if let Some((_, database)) = ensemble::witness(run.cluster) {
        let paths = database.tree.iter().map(|(path, _)| path.to_string());
        found.extend(paths.map(|path| select(Phrase::raw(&path), Target::Znode(path))));
    }
    found
}

/// What can be added: a consumer to each group, a producer, a client of ZooKeeper, a broker, a
/// topic.
pub fn additions(run: Run<'_>) -> Vec<Entry> {
    let free = |stem: &str| {
        let mut names = (1..).map(|n| format!("{stem}{n}"));
        names.find(|name| run.cluster.find(name).is_none()).expect("names do not end")
    };
    let entry = |name: &'static str, called: &str, command: String| Entry {
        words: Phrase::key(name).with("name", called),
        part: None,
        key: String::new(),
        does: Does::Send(command),
    };
    let groups = groups::groups(run);
    let mut entries: Vec<Entry> =
        groups.iter().map(|group| send(inspector::add_consumer(run, group))).collect();
    let topics = topics(run);
    let mut brokers =
        run.cluster.processes().filter_map(|(_, _, process)| process.broker_settings());
    let release = brokers.next().map(|broker| broker.release);
    let has_old = groups.iter().any(|group| group.is_old);
    if let Some(topic) = topics.first()
        && release.is_some_and(Release::has_old_consumers)
        && !has_old
    {
        let is_free = |name: &String| groups.iter().all(|group| group.name != *name);
        let group = (1..).map(|n| format!("g{n}")).find(is_free).expect("names do not end");
        let (name, connect) = (free("c"), inspector::connect(run));
        let command = format!("add consumer {name} group={group} topics={topic}{connect}");
        entries.push(entry("page.add.old-consumer", &name, command));
    }
    if is_lone(run) {
        let topic = topics.first().map_or("orders", |topic| topic.as_str());
        let names = (1..).map(|n| format!("p{n}"));
        let names = names.filter(|name| run.cluster.find(name).is_none());
        let ways = [
            ("page.add.producer-zookeeper", "zk.connect=zk1:2181"),
            ("page.add.producer-balancer", "broker.list=0:vip:9092"),
        ];
        for ((words, way), name) in ways.into_iter().zip(names) {
            let command = format!("add producer {name} {way} topic={topic} every=1s keys=7");
            entries.push(entry(words, &name, command));
        }
    } else if let Some(topic) = topics.first() {
        let name = free("p");
        let command = format!("add producer {name} topic={topic} every=1s keys=7");
        entries.push(entry("page.add.producer", &name, command));
        if groups.is_empty() && release.is_some_and(Release::has_new_consumers) {
            let name = free("c");
            let command = format!("add consumer {name} group=g1 topics={topic}");
            entries.push(entry("page.verb.add-consumer", &name, command));
        }
    }
    let client = free("z");
    entries.push(entry("page.add.client", &client, format!("add client {client}")));
    let broker = free("broker");
    let id = broker.trim_start_matches("broker");
    entries.push(entry("page.add.broker", id, format!("add broker {id}")));
    if is_lone(run) {
        return entries;
    }
    let mut names = (1..).map(|n| format!("topic{n}"));
    let topic = names.find(|name| !topics.contains(name)).expect("names do not end");
    let command = format!("topic {topic} partitions=3 replicas=2");
    entries.push(entry("page.add.topic", &topic, command));
    entries
}

/// Whether its brokers have no replicas: then nobody makes topics, and producers go one of two
/// ways.
fn is_lone(run: Run<'_>) -> bool {
    run.cluster.processes().any(|(_, _, process)| process.lone_broker().is_some())
}

/// The partitions of the topics that people made.
fn partitions(run: Run<'_>) -> Vec<String> {
    let mut partitions = Vec::new();
    for replica in brokers::brokers(run).into_iter().flat_map(|broker| broker.replicas) {
        if !partitions.contains(&replica.partition) {
            partitions.push(replica.partition);
        }
    }
    partitions
}

/// Their topics.
fn topics(run: Run<'_>) -> Vec<String> {
    let partitions = partitions(run).into_iter();
    let lone = is_lone(run);
    let of = |name: String| {
        let (topic, _) = name.rsplit_once('-')?;
        let topic = if lone { topic.rsplit_once('-')?.0 } else { topic };
        Some(topic.to_string())
    };
    let mut topics: Vec<String> = partitions.filter_map(of).collect();
    topics.dedup();
    topics
}

/// The situations that can be watched, each under its number.
pub fn situations() -> Vec<Entry> {
    let entry = |(number, situation): (usize, lab::Situation)| Entry {
        words: Phrase::key(situation.name),
        part: situation.part,
        key: if number < 10 { number.to_string() } else { String::new() },
        does: Does::Begin(number),
    };
    (1..).zip(lab::situations()).map(entry).collect()
}

/// How words are compared with what somebody types: in small letters, and with the apostrophe that
/// keyboards have.
pub fn folded(words: &str) -> String {
    words.to_lowercase().replace(['\u{2019}', '\u{2018}'], "'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Lab, Recording};
    use crate::sim::{SimTime, Span, Telling};

    /// What must have happened two minutes into each situation.
    const TURNS: [&str; 15] = [
        "controller-elected",
        "controller-resigned",
        "session-expired",
        "quorum-lost",
        "zk-leading",
        "broker-fatal",
        "group-stable",
        "quorum-lost",
        "quorum-lost",
        "zk-disconnected",
        "learner-lost",
        "zk-leading",
        "coordinator-lost",
        "controller-elected",
        "partitions-known",
    ];

    #[test]
    fn every_situation_comes_to_its_turn() {
        assert!(Recording::situation(situations().len() + 1).is_none());
        for (number, turn) in (1..).zip(TURNS) {
            let recording = Recording::situation(number).expect("every name has a recording");
            let begin = recording.until;
            let mut lab = Lab::new(recording);
            lab.seek(begin);
            let start = lab.position();
            lab.advance_to(SimTime::ZERO + Span::secs(120));
            let turned = (start..lab.position()).any(|index| {
                let record = lab.trace().get(index).expect("the index lies in the trace");
                record.facts().any(|fact| fact.key() == turn)
            });
            assert!(turned, "situation {number} has no {turn}");
        }
    }

    #[test]
    fn every_situation_says_what_it_is() {
        use crate::text::{Catalog, LANGUAGES};
        for catalog in LANGUAGES.map(Catalog::of) {
            for entry in situations() {
                let said = catalog.say(&entry.words);
                assert!(said.contains(" | "), "{said}");
                assert!(entry.part.is_none_or(|part| catalog.has(part)), "{said}");
            }
        }
    }

    #[test]
    fn no_session_is_lost_where_the_name_says_so() {
        for number in [5, 8, 10, 11, 12] {
            let recording = Recording::situation(number).expect("every name has a recording");
            let mut lab = Lab::new(recording);
            lab.advance_to(SimTime::ZERO + Span::secs(120));
            let expired = |index: usize| {
                let record = lab.trace().get(index).expect("the index lies in the trace");
                record.facts().any(|fact| fact.key() == "session-expired")
            };
            let first = (0..lab.position()).find(|index| expired(*index));
            assert_eq!(first, None, "situation {number}");
        }
    }

    #[test]
    fn what_can_be_added_can_be_added() {
        can_be_added(Recording::first_visit());
        can_be_added(Recording::situation(15).expect("every name has a recording"));
    }

    fn can_be_added(recording: Recording) {
        use crate::cluster::Command;
        let mut lab = Lab::new(recording);
        lab.advance_to(SimTime::ZERO + Span::secs(20));
        for entry in additions(Run::of(&lab)) {
            let Does::Send(line) = entry.does else { panic!("it adds nothing") };
            let command = Command::parse(1, &line).expect(&line);
            lab.issue(command).expect(&line);
        }
    }

    #[test]
    fn an_apostrophe_is_found_however_it_is_typed() {
        assert_eq!(folded("ZooKeeper\u{2019}s Leader"), "zookeeper's leader");
    }
}
