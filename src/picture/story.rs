//! The story: which records of the trace are worth a sentence, what each says, and how they hang
//! together as causes and effects.
//!
//! Most records are hops of messages; the story walks over them and stops only at those that told
//! something. *Invariant:* a step of the story is a record of the trace, and its words are those of
//! the record's most important fact.

use super::drawing::seconds;
use super::ensemble::{self, Held, Run};
use super::sentence::{Chip, Field, SentencePicture};
use super::stage::Thread;
use super::target::Target;
use crate::cluster::{Cluster, Record, Trace};
use crate::kafka::words::Fact;
use crate::lab::why;
use crate::lab::{TURN, importance, importance_in};
use crate::sim::{EventId, OrdSet, SimTime, Telling, What};
use crate::text::Phrase;

/// What is worth a step of a story, by the lab's measure.
pub const STEP: u8 = 1;
/// What is told together, in microseconds: what a person would call one moment.
const MOMENT: u64 = 300_000;
/// How far back a story is followed.
const REACH: usize = 6_000;
/// How far on what a record led to is looked for: a session's time and what comes of its end.
const AHEAD: usize = 12_000;
/// From how many steps the heaviest are chosen.
const CHOICE: usize = 16;
/// How far back the last step of a thing is looked for: a quiet partition's is long past.
const MEMORY: usize = 60_000;

/// The steps that led to a record: the latest first, the record itself left out.
pub fn causes(cluster: &Cluster, trace: &Trace, index: usize, most: usize) -> Vec<usize> {
    let mut effect = index;
    let steps = why::chain(cluster, trace, index).map(|cause| cause.index).filter(|&cause| {
        // Of what repeats itself (a commit after a commit), only the last is a step.
        let repeats = told_of(trace, cause) == told_of(trace, effect);
        effect = cause;
        is_step(trace, cause) && !repeats
    });
    steps.take(most).collect()
}

/// The steps to which a record led, the first first, up to `end`: of many the heaviest, and of what
/// repeats itself only the first.
pub fn effects(
    cluster: &Cluster,
    trace: &Trace,
    index: usize,
    end: usize,
    most: usize,
) -> Vec<usize> {
    let Some(first) = trace.get(index) else { return Vec::new() };
    let mut led_to: OrdSet<EventId> = OrdSet::from([first.id]);
    let silences = first.facts().any(why::silences_somebody);
    let (mut steps, mut told) = (Vec::new(), Vec::new());
    for at in index + 1..end.min(index + AHEAD) {
        let Some(record) = trace.get(at) else { break };
        // Who is missed is missed by nothing that was sent: silence has no message.
        let is_led = record.causes().any(|cause| led_to.contains(&cause))
            || silences && why::silenced_by(cluster, trace, at) == Some(index);
        if !is_led {
            continue;
        }
        led_to.insert(record.id);
        let words = (told_of(trace, at), record.process);
        if weight(&record) >= STEP && !told.contains(&words) {
            told.push(words);
            steps.push(at);
        }
        if steps.len() == CHOICE {
            break;
        }
    }
    while steps.len() > most {
        let weights = steps.iter().map(|at| trace.get(*at).map_or(0, |record| weight(&record)));
        let lightest =
            weights.enumerate().min_by_key(|(place, weight)| (*weight, usize::MAX - place));
        steps.remove(lightest.expect("there are more than nothing").0);
    }
    steps
}

/// What a record tells first of all.
fn heaviest<'a>(record: &Record<'a>) -> Option<&'a Fact> {
    record.facts().max_by_key(|fact| importance(fact.key()))
}

/// The key of that.
fn told_of(trace: &Trace, index: usize) -> Option<&'static str> {
    heaviest(&trace.get(index)?).map(Telling::key)
}

/// Whether a record is worth a step.
fn is_step(trace: &Trace, index: usize) -> bool {
    trace.get(index).is_some_and(|record| weight(&record) >= STEP)
}

/// How much a record's most important fact weighs; what was done to the cluster weighs enough.
pub fn weight(record: &Record<'_>) -> u8 {
    let weight = heaviest(record).map_or(0, |fact| importance(fact.key()));
    let done = record.what == What::Command && record.name != "setup";
    match (done, is_stop(record)) {
        // That somebody is told to stop is as much news as that it is killed.
        (_, true) => weight.max(TURN),
        (true, false) => weight.max(STEP),
        (false, false) => weight,
    }
}

/// Whether somebody is told to stop in order: what comes of it is still to be told.
fn is_stop(record: &Record<'_>) -> bool {
    record.what == What::Command && record.name == "stop"
}

/// How much a record weighs as news: that a tool begins, or ends in order, is none.
pub fn news(cluster: &Cluster, record: &Record<'_>) -> u8 {
    let is_none = |fact: &Fact| importance_in(cluster, fact) < importance(fact.key());
    if record.facts().any(is_none) { 0 } else { weight(record) }
}

/// The last step before `end` that is about a thing.
pub fn latest_about(cluster: &Cluster, trace: &Trace, end: usize, about: &About) -> Option<usize> {
    latest_of(cluster, trace, end, about, STEP)
}

/// The last turn of a thing's story, if it has had one: who leads a partition now, and why.
pub fn last_turn(cluster: &Cluster, trace: &Trace, end: usize, about: &About) -> Option<usize> {
    latest_of(cluster, trace, end, about, TURN)
}

fn latest_of(
    cluster: &Cluster,
    trace: &Trace,
    end: usize,
    about: &About,
    least: u8,
) -> Option<usize> {
    let first = end.saturating_sub(MEMORY);
    let is_about = |index: &usize| {
        let record = trace.get(*index).expect("the index lies in the trace");
        weight_about(cluster, &record, about).is_some_and(|weight| weight >= least)
    };
    (first..end).rev().find(is_about)
}

/// What a story is about: a process, and words that name the thing in facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The process, by its name.
    pub process: Option<String>,
    /// Values of facts that name it: a path, a session, a partition.
    pub names: Vec<String>,
}

/// Whether a record is about a thing.
pub fn is_about(run: Run<'_>, index: usize, about: &About) -> bool {
    run.trace.get(index).is_some_and(|record| concerns(run.cluster, &record, about))
}

fn concerns(cluster: &Cluster, record: &Record<'_>, about: &About) -> bool {
    let here = record.process.map(|id| cluster.name(id).to_string());
    if here.is_some() && here == about.process {
        return true;
    }
    record.facts().any(|fact| names(fact, about))
}

/// Whether a fact names the thing.
fn names(fact: &Fact, about: &About) -> bool {
    fact.fields().iter().any(|(_, value)| about.names.contains(value))
}

/// How much a record weighs for a thing, if it concerns it: what the same record tells of others
/// is not counted.
fn weight_about(cluster: &Cluster, record: &Record<'_>, about: &About) -> Option<u8> {
    if !concerns(cluster, record, about) {
        return None;
    }
    let here = record.process.map(|id| cluster.name(id).to_string());
    if here.is_some() && here == about.process {
        return Some(weight(record));
    }
    let named = record.facts().filter(|fact| names(fact, about));
    let heaviest = named.map(|fact| importance(fact.key())).max().unwrap_or(0);
    let least = if record.what == What::Command { STEP } else { 0 };
    Some(heaviest.max(least))
}

/// The sentence for the cursor: of the steps of the last moment the heaviest, the later of two.
pub fn told(run: Run<'_>, end: usize) -> Option<SentencePicture> {
    let near = told_from(run, end, (REACH, STEP + 1));
    let near = near.or_else(|| told_from(run, end, (REACH, STEP)));
    // A busy cluster goes on for long without a turn; what came of the last one still holds.
    near.or_else(|| told_from(run, end.saturating_sub(REACH), (MEMORY - REACH, STEP)))
}

/// The same, of steps so far back that weigh at least so much.
fn told_from(run: Run<'_>, end: usize, (reach, least): (usize, u8)) -> Option<SentencePicture> {
    let first = end.saturating_sub(reach);
    let weighs =
        |index: &usize| run.trace.get(*index).is_some_and(|r| news(run.cluster, &r) >= least);
    let worth = (first..end).rev().filter(weighs);
    let records = worth.filter_map(|index| run.trace.get(index));
    let mut newest = None;
    let mut best: Option<Record<'_>> = None;
    for record in records {
        let newest = *newest.get_or_insert(record.at);
        if newest.as_micros().saturating_sub(record.at.as_micros()) > MOMENT {
            break;
        }
        if best.is_none_or(|best| news(run.cluster, &record) > news(run.cluster, &best)) {
            best = Some(record);
        }
    }
    best.and_then(|record| death(run, &record).or_else(|| sentence(run, &record)))
}

/// A killed broker is missed only when its session ends: the bar says until when that is.
fn death(run: Run<'_>, record: &Record<'_>) -> Option<SentencePicture> {
    let killed = record.facts().find(|fact| fact.key() == "process-killed")?;
    let name = killed.fields().into_iter().next()?.1;
    let its = |held: &Held| held.thread == Thread::Slack && held.is_of(&name);
    let held = ensemble::sessions(run).into_iter().find(its)?;
    let session = held.target()?;
    let (_, database) = ensemble::witness(run.cluster)?;
    let path = database.tree.ephemerals(held.id)?.sorted().next()?.to_string();
    let (at, id) = (seconds(held.ends?), record.id.0);
    let whose = Phrase::key("page.fact.session");
    let fields = [
        ("process", called(&name), Chip::Name(Target::Process(name.clone()))),
        ("session", whose, Chip::Name(session)),
        ("at", at, Chip::Figure),
        ("path", Phrase::raw(&path), Chip::Quoted(Target::Znode(path))),
    ];
    let fields = fields.map(|(name, words, chip)| Field { name, words, chip });
    let by_you = run.is_yours(record);
    let key = if by_you { "page.guide.killed" } else { "page.guide.was-killed" };
    Some(SentencePicture { key, fields: fields.into(), event: Some(id), by_you })
}

/// The sentence of a record, if it told anything.
pub fn sentence(run: Run<'_>, record: &Record<'_>) -> Option<SentencePicture> {
    sentence_for(run, record, &About::default())
}

/// The same, in the words of the fact that names a thing: one record may tell of many partitions.
pub fn sentence_for(run: Run<'_>, record: &Record<'_>, about: &About) -> Option<SentencePicture> {
    if record.what == What::Command && record.name == "setup" {
        // All that starts with the run starts at once.
        let event = Some(record.id.0);
        return Some(SentencePicture {
            key: "page.begins",
            fields: Vec::new(),
            event,
            by_you: false,
        });
    }
    if is_stop(record) && record.facts().next().is_none() {
        return Some(stopped(run, record));
    }
    // What is told of a process is what weighs most there, whoever else it names.
    let is_of_it = |fact: &&Fact| about.process.is_none() && names(fact, about);
    let of_it = record.facts().filter(is_of_it);
    let fact = of_it.max_by_key(|fact| importance(fact.key())).or_else(|| heaviest(record))?;
    let mut fields: Vec<Field> = fact.fields().into_iter().map(|said| field(run, said)).collect();
    if let Some(id) = record.process {
        fields.push(field(run, ("who", run.cluster.name(id).to_string())));
    }
    let by_you = run.is_yours(record);
    let in_order = fields.iter().any(|f| f.name == "code" && f.words == Phrase::raw("0"));
    let key = match fact.key() {
        "process-exited" if in_order => "process-closed-down",
        "process-killed" if by_you => "process-killed-by-you",
        key => key,
    };
    Some(SentencePicture { key, fields, event: Some(record.id.0), by_you })
}

/// The sentence of a command that told nothing yet: somebody is asked to stop.
fn stopped(run: Run<'_>, record: &Record<'_>) -> SentencePicture {
    let id = record.process.expect("who is to stop is known");
    let fields = vec![field(run, ("process", run.cluster.name(id).to_string()))];
    let by_you = run.is_yours(record);
    let key = if by_you { "page.stop.by-you" } else { "page.stop" };
    SentencePicture { key, fields, event: Some(record.id.0), by_you }
}

/// A fact's field: what it names can be pointed at.
fn field(run: Run<'_>, (name, value): (&'static str, String)) -> Field {
    let id = value.parse::<i32>().ok();
    let (words, chip) = match (name, id) {
        ("leader", Some(-1)) => (Phrase::key("page.nobody"), Chip::Plain),
        ("broker" | "leader", Some(_)) => process(&format!("broker{value}")),
        ("partition", _) => (Phrase::raw(&value), Chip::Name(Target::Partition(value.clone()))),
        ("group", _) => (Phrase::raw(&value), Chip::Name(Target::Group(value.clone()))),
        ("session", _) => session(run, &value),
        ("consumer", _) => match ensemble::member(run.cluster, &value) {
            Some(name) => process(name),
            None => (Phrase::raw(&value), Chip::Figure),
        },
        ("why", _) => (Phrase::key(reason(&value)), Chip::Plain),
        ("found", _) => (Phrase::raw(&value), Chip::Figure),
        ("reason", _) => {
            (cause(&value).map_or_else(|| Phrase::raw(&value), Phrase::key), Chip::Plain)
        }
        _ if value == "-" => (Phrase::key("page.nobody"), Chip::Plain),
        _ if value.starts_with('/') => {
            (Phrase::raw(&value), Chip::Quoted(Target::Znode(value.clone())))
        }
        _ if run.cluster.find(&value).is_some() => process(&value),
        _ => {
            let list = || Phrase::raw(value.replace(',', ", "));
            (duration(&value).unwrap_or_else(list), Chip::Figure)
        }
    };
    Field { name, words, chip }
}

/// Why a group rebalances, or lost a member: a phrase for each word of the coordinator.
fn cause(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "new-member" => "page.why.new-member",
        "member-rejoins" | "leader-rejoins" => "page.why.rejoins",
        "member-changed" => "page.why.changed",
        "member-gone" => "page.why.gone",
        "static-member-returns" => "page.why.returns",
        "shares-not-stored" => "page.why.not-stored",
        "sync-timeout" => "page.why.sync-timeout",
        "left" => "page.why.left",
        "session-timeout" => "page.why.session-timeout",
        "rebalance-timeout" => "page.why.rebalance-timeout",
        "replaced" => "page.why.replaced",
        _ => return None,
    })
}

/// Why a partition has the leader that it has, or a server has not started: a phrase for each word
/// of the controller, and of the server.
fn reason(why: &str) -> &'static str {
    match why {
        "preferred" => "page.why.preferred",
        "reassign" => "page.why.reassign",
        "controlled-shutdown" => "page.why.controlled-shutdown",
        "new" => "page.why.new",
        "unclean" => "page.why.unclean",
        "missing" => "page.why.myid-missing",
        "taken" => "page.why.myid-taken",
        "unknown" => "page.why.myid-unknown",
        _ => "page.why.offline",
    }
}

fn process(name: &str) -> (Phrase, Chip) {
    (called(name), Chip::Name(Target::Process(name.to_string())))
}

/// A session is called by whose it is: the ensemble says so, and once it is over, the trace.
fn session(run: Run<'_>, id: &str) -> (Phrase, Chip) {
    let held = ensemble::sessions(run).into_iter().find(|held| held.id.to_string() == id);
    let named = held.and_then(|held| Some((held.whose()?, held.target()?)));
    match named {
        Some((words, target)) => (words, Chip::Name(target)),
        None => match why::owner(run.trace, run.trace.len(), id) {
            Some(process) => {
                let name = run.cluster.name(process);
                let old = ensemble::has_had_another(run, name, id);
                let key = if old { "page.session.whose-old" } else { "page.session.whose" };
                let words = Phrase::key(key).with_phrase("owner", called(name));
                (words, Chip::Name(Target::Process(name.to_string())))
            }
            None => (Phrase::raw(id), Chip::Figure),
        },
    }
}

/// A span in notation, `18000ms` or `2.1s`, as people read it.
fn duration(value: &str) -> Option<Phrase> {
    let (digits, ms) = match value.strip_suffix("ms") {
        Some(digits) => (digits, true),
        None => (value.strip_suffix('s')?, false),
    };
    let whole: i32 = digits.split('.').next()?.parse().ok()?;
    Some(if ms { seconds(whole / 100) } else { seconds(whole * 10) })
}

/// What people call a process: `broker1` is broker 1.
pub fn called(name: &str) -> Phrase {
    match name.strip_prefix("broker").filter(|id| id.parse::<i32>().is_ok()) {
        Some(id) => Phrase::key("page.name.broker").with("id", id),
        None => Phrase::raw(name),
    }
}

/// The name of a process where there is little room: `broker1` is b1.
pub fn short(name: &str) -> String {
    name.strip_prefix("broker").map_or_else(|| name.to_string(), |id| format!("b{id}"))
}

/// How long ago something was, in tenths of a second.
pub fn tenths_ago(at: SimTime, now: SimTime) -> i32 {
    let micros = now.as_micros().saturating_sub(at.as_micros());
    i32::try_from(micros / 100_000).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Command, Setup};
    use crate::lab::{Lab, Recording};

    fn lab_after(commands: &[&str]) -> Lab {
        let mut lab = Lab::new(Recording::new(Setup::default()));
        for line in commands {
            let command = Command::parse(1, line).expect("the test writes it right");
            lab.issue(command).expect("it can be done");
        }
        lab
    }

    #[test]
    fn a_stop_is_told_at_once() {
        let text = "setup seed=1\nrun 20s\nstop broker2";
        let lab = crate::lab::script::play(text).expect("it is right").lab;
        let said = told(Run::of(&lab), lab.position()).expect("it is told");
        let catalog = crate::text::Catalog::of(crate::text::Language::English);
        let told = catalog.say(&said.phrase());
        assert!(told.contains("broker 2 to stop in order"), "{told}");
    }

    #[test]
    fn everything_begins_with_the_run_and_not_with_the_last_broker() {
        let mut lab = lab_after(&[]);
        lab.advance_to(SimTime::micros(1_000_000));
        let run = Run::of(&lab);
        let mut looking =
            run.trace.iter().filter(|record| record.facts().any(|fact| fact.key() == "looking"));
        let looking = looking.next().expect("servers look for a leader");
        let index = run.trace.find(looking.id).expect("it has happened");
        let first = *causes(run.cluster, run.trace, index, 9).last().expect("it has a cause");
        let told = sentence(run, &run.trace.get(first).expect("it is there"));
        assert_eq!(told.map(|said| said.key), Some("page.begins"));
    }

    #[test]
    fn a_tool_is_no_news_and_what_it_does_is() {
        let check = |tool: &str, expected: &str| {
            let text = format!("setup seed=1\nrun 20s\n{tool}\nrun 3s");
            let lab = crate::lab::script::play(&text).expect("it is right").lab;
            let keys = (0..=lab.position()).rev().filter_map(|end| told(Run::of(&lab), end));
            let key = keys.map(|said| said.key).next().expect("something has happened");
            let ended = lab.trace().iter().flat_map(|record| record.facts()).any(|fact| {
                let fields = fact.fields();
                fact.key() == "process-exited" && fields[0].1.starts_with("kafka-topics")
            });
            assert_eq!((key, ended), (expected, true), "{tool}");
        };
        check("kafka-topics --list", "brokers-changed");
        check("kafka-topics --create --topic orders", "leader-elected");
    }

    #[test]
    fn every_word_of_a_coordinator_has_a_phrase() {
        let mut lab = lab_after(&["topic orders partitions=1 replicas=1"]);
        for (at, line) in [
            (10, "add consumer c1 group=g topics=orders"),
            (20, "add consumer c2 group=g topics=orders"),
            (30, "kill c1"),
            (90, "stop c2"),
        ] {
            lab.advance_to(SimTime::micros(at * 1_000_000));
            lab.issue(Command::parse(1, line).expect("it is right")).expect("it can be done");
        }
        lab.advance_to(SimTime::micros(120_000_000));
        let reasons = lab.trace().iter().flat_map(|record| record.facts()).filter_map(|fact| {
            let fields = fact.fields();
            fields.into_iter().find(|(name, _)| *name == "reason").map(|(_, reason)| reason)
        });
        let mut told = 0;
        for word in reasons {
            assert!(cause(&word).is_some(), "no phrase for {word}");
            told += 1;
        }
        assert!(told > 4, "only {told}");
    }

    #[test]
    fn every_fact_has_a_line_that_asks_for_its_own_fields_only() {
        use crate::text::{Catalog, Language, Piece};
        let catalog = Catalog::of(Language::English);
        let kernel = crate::sim::KernelFact::KEYS;
        let zk = crate::zk::words::Fact::KEYS;
        let brokers = crate::kafka::words::BrokerFact::KEYS;
        let groups = crate::kafka::group::GroupFact::KEYS;
        let consumers = crate::kafka::consumer::words::ConsumerFact::KEYS;
        let producers = crate::kafka::producer::words::ProducerFact::KEYS;
        let old = crate::kafka::old_consumer::words::OldFact::KEYS;
        let all = [kernel, zk, brokers, groups, consumers, producers, old].concat();
        for (key, fields) in &all {
            assert!(catalog.has(key), "no line tells {key}");
            for piece in catalog.pieces(key) {
                let Piece::Field(name) = piece else { continue };
                assert!(fields.contains(&name) || name == "who", "{key} has no {name}");
            }
        }
    }

    #[test]
    fn what_a_recording_does_is_not_told_as_the_reader_s() {
        let mut lab = Lab::new(Recording::situation(1).expect("there is a first one"));
        lab.advance_to(SimTime::ZERO + crate::sim::Span::ms(20_100));
        let said = told(Run::of(&lab), lab.position()).expect("killing is told");
        assert_eq!((said.key, said.by_you), ("page.guide.was-killed", false));
    }

    #[test]
    fn what_a_person_does_is_told_as_theirs() {
        let lab = lab_after(&["kill broker1"]);
        let record = lab.trace().get(lab.position() - 1).expect("the command left a record");
        let said = sentence(Run::of(&lab), &record).expect("killing is told");
        assert_eq!((said.key, said.by_you), ("process-killed-by-you", true));
        let named = said.fields.iter().find(|field| field.name == "process");
        let chip = named.map(|field| field.chip.clone());
        assert_eq!(chip, Some(Chip::Name(Target::Process("broker1".into()))));
    }

    #[test]
    fn a_session_that_is_over_is_still_called_by_its_owner() {
        let mut lab = lab_after(&[]);
        lab.advance_to(SimTime::ZERO + crate::sim::Span::secs(5));
        lab.issue(Command::parse(1, "kill broker1").expect("it is right")).expect("it runs");
        lab.advance_to(SimTime::ZERO + crate::sim::Span::secs(60));
        let records = (0..lab.position()).filter_map(|index| lab.trace().get(index));
        let mut records =
            records.filter(|record| record.facts().any(|fact| fact.key() == "session-expired"));
        let said = records.next().and_then(|record| sentence(Run::of(&lab), &record));
        let said = said.expect("the session of broker 1 expires");
        let whose = said.fields.iter().find(|field| field.name == "session");
        let chip = whose.map(|field| field.chip.clone());
        assert_eq!(chip, Some(Chip::Name(Target::Process("broker1".into()))));
    }

    #[test]
    fn the_latest_step_about_a_process_is_found() {
        let lab = lab_after(&["kill broker1", "kill broker2"]);
        let about = About { process: Some("broker1".into()), names: Vec::new() };
        let index = latest_about(lab.cluster(), lab.trace(), lab.position(), &about);
        assert_eq!(index, Some(lab.position() - 2));
    }

    #[test]
    fn a_start_has_the_command_as_its_cause() {
        let mut lab = lab_after(&["kill broker1", "start broker1"]);
        let start = lab.position() - 1;
        let broker = lab.cluster().find("broker1");
        lab.advance_to(SimTime::ZERO + crate::sim::Span::ms(50));
        let is_its_boot = |index: &usize| {
            let record = lab.trace().get(*index).expect("the index lies in the trace");
            record.what == What::Boot && record.process == broker
        };
        let boot = (start + 1..lab.position()).find(is_its_boot);
        let boot = boot.expect("a started process boots");
        assert_eq!(causes(lab.cluster(), lab.trace(), boot, 5).first(), Some(&start));
    }

    #[test]
    fn a_lost_znode_is_followed_back_to_who_killed_its_owner() {
        let mut lab = lab_after(&[]);
        lab.advance_to(SimTime::ZERO + crate::sim::Span::secs(10));
        let kill = Command::parse(1, "kill broker3").expect("it is right");
        lab.issue(kill).expect("it can be done");
        let killed = lab.position() - 1;
        lab.advance_to(SimTime::ZERO + crate::sim::Span::secs(40));
        let about = About { process: None, names: vec!["/brokers/ids/3".into()] };
        let gone = latest_about(lab.cluster(), lab.trace(), lab.position(), &about);
        let chain = causes(lab.cluster(), lab.trace(), gone.expect("it is told of"), 9);
        assert_eq!(chain.last(), Some(&killed));
    }

    #[test]
    fn a_death_leads_to_what_its_silence_leads_to() {
        let text = "setup seed=1\nrun 5s\ntopic orders partitions=3 replicas=3\n\
            add producer p1 topic=orders every=1s keys=7\nrun 8s\nkill broker1\nrun 30s";
        let lab = crate::lab::script::play(text).expect("it is right").lab;
        let (cluster, trace) = (lab.cluster(), lab.trace());
        let mut all = 0..lab.position();
        let killed = all.find(|index| told_of(trace, *index) == Some("process-killed"));
        let killed = killed.expect("it is told");
        let steps = effects(cluster, trace, killed, lab.position(), 5);
        let told: Vec<&str> = steps.iter().filter_map(|index| told_of(trace, *index)).collect();
        assert!(told.contains(&"session-expired") && told.contains(&"leader-elected"), "{told:?}");
        assert!(steps.is_sorted() && told.len() == 5, "{told:?}");
    }

    #[test]
    fn an_old_consumer_rebalances_because_another_one_came() {
        let add =
            |name| format!("add consumer {name} group=g topics=t zookeeper.connect=zk1\nrun 5s\n");
        let begin = "setup release=0.8.2.2 seed=1\nrun 8s\ntopic t partitions=2\n";
        let text = format!("{begin}{}{}", add("c1"), add("c2"));
        let lab = crate::lab::script::play(&text).expect("it is right").lab;
        let c1 = lab.cluster().find("c1");
        let mut claims = (0..lab.position()).filter(|index| {
            let record = lab.trace().get(*index).expect("the index lies in the trace");
            record.process == c1 && record.facts().any(|fact| fact.key() == "partition-claimed")
        });
        let claimed = claims.next_back().expect("it claims twice");
        let steps = causes(lab.cluster(), lab.trace(), claimed, 20);
        let told = |index: &usize| told_of(lab.trace(), *index).unwrap_or("command");
        let told: Vec<&str> = steps.iter().map(told).collect();
        let order = ["rebalance-began", "watch-fired", "process-started"];
        let places = order.map(|key| told.iter().position(|told| *told == key));
        assert!(places.is_sorted() && places[0].is_some(), "{told:?}");
    }
}
