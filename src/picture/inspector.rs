//! The inspector: the selected thing with its state, its verbs, its causes and its effects.
//!
//! *Invariant:* a verb carries the script line that it issues, so the button and the console
//! cannot differ.

use super::brokers;
use super::drawing::icon::Icon;
use super::drawing::{seconds, server, session};
use super::ensemble::{self, Held, Run};
use super::groups;
use super::stage::{self, Age, Ails, Life, Role, Scope, Session, Stand, Thread};
use super::story::{self, About};
use super::target::Target;
use super::znode_value;
use crate::kafka::controller::ControllerEvent;
use crate::kafka::message::{FetchMark, Request, RequestMessage, Response, ResponseMessage};
use crate::kafka::old_consumer::{Activity, OldConsumer, Standing};
use crate::kafka::words::{Message, Words};
use crate::kafka::znodes::consumers::group_offset;
use crate::sim::{Flight, Landing, ProcessId, Room, SimTime, Span, Vocabulary};
use crate::text::Phrase;
use crate::zk::quorum_peer::QuorumPeer;
use crate::zk::server::Server;
use crate::zk::stat::Owner;
use crate::zk::vote;

/// What the inspector shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectorPicture {
    /// The thing.
    pub target: Target,
    /// The sign beside its name.
    pub sign: Sign,
    /// Its name.
    pub name: Phrase,
    /// Its name among machines: a session id, a path.
    pub exact: String,
    /// How it stands, in a line.
    pub state: Phrase,
    /// Facts about it.
    pub facts: Vec<Fact>,
    /// What can be done to it.
    pub verbs: Vec<Verb>,
    /// What it led to, or is expected to lead to; the latest first.
    pub effects: Vec<Link>,
    /// The event it is about now.
    pub now: Option<Link>,
    /// What caused it; the latest first.
    pub causes: Vec<Link>,
}

/// The sign beside a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A session's ring.
    Ring(Session),
    /// A server's or broker's letter or id.
    Letter(String),
    /// Nothing.
    None,
}

/// A line of what is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub name: Phrase,
    /// What is known.
    pub value: Phrase,
    /// Whether the value is quoted, as a path is.
    pub quoted: bool,
    /// What the value points at.
    pub target: Option<Target>,
}

/// Something a person can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verb {
    /// Its icon.
    pub icon: Icon,
    /// What it is called.
    pub name: Phrase,
    /// Its key; a space if it has none.
    pub key: char,
    /// The script line that it issues.
    pub command: String,
}

/// One step of a chain of causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The event, if it has happened.
    pub event: Option<u64>,
    /// What happened.
    pub words: Phrase,
    /// When: relative words.
    pub when: Phrase,
    /// Whether a person did it.
    pub by_you: bool,
}

/// How many steps of a chain are shown.
const STEPS: usize = 5;

/// The inspector of a thing, if it exists at the cursor.
pub fn inspector(run: Run<'_>, end: usize, target: &Target) -> Option<InspectorPicture> {
    let mut picture = match target {
        Target::Process(name) => process(run, name)?,
        Target::Session(_) | Target::OldSession(_) => session(run, target)?,
        Target::Znode(path) => znode(run, path)?,
        Target::Event(id) => event(run, *id)?,
        Target::Partition(name) => partition(run, name)?,
        Target::Group(name) => group(run, name)?,
    };
    let about = about(run, target);
    let index = match target {
        Target::Event(id) => run.trace.find(crate::sim::EventId(*id)),
        Target::Partition(_) => story::last_turn(run.cluster, run.trace, end, &about)
            .or_else(|| story::latest_about(run.cluster, run.trace, end, &about)),
        _ => story::latest_about(run.cluster, run.trace, end, &about),
    };
    if let Some(index) = index {
        picture.now = link(run, index, &about);
        picture.causes = links(run, &story::causes(run.cluster, run.trace, index, STEPS), &about);
        let mut effects = story::effects(run.cluster, run.trace, index, end, STEPS);
        if matches!(target, Target::Partition(_)) {
            effects.retain(|index| story::is_about(run, *index, &about));
        }
        effects.reverse();
        picture.effects.extend(links(run, &effects, &about));
    }
    Some(picture)
}

/// The words by which facts name a thing.
fn about(run: Run<'_>, target: &Target) -> About {
    let named = |name: &str| About { process: None, names: vec![name.to_string()] };
    match target {
        Target::Process(name) => About { process: Some(name.clone()), names: vec![name.clone()] },
        Target::Session(_) | Target::OldSession(_) => {
            let held = ensemble::sessions(run);
            let its = held.into_iter().find(|held| held.target().as_ref() == Some(target));
            About {
                process: None,
                names: its.map(|held| held.id.to_string()).into_iter().collect(),
            }
        }
        Target::Znode(name) | Target::Partition(name) => named(name),
        // Where nobody coordinates, facts name the members.
        Target::Group(name) => {
            let old = run.cluster.processes().filter_map(|(_, _, process)| process.old_consumer());
            let its = old.filter(|old| old.settings().group_id.as_str() == name);
            let names = its.map(|old| old.settings().id()).chain([name.clone()]);
            About { process: None, names: names.collect() }
        }
        Target::Event(_) => About::default(),
    }
}

fn links(run: Run<'_>, indices: &[usize], about: &About) -> Vec<Link> {
    indices.iter().filter_map(|index| link(run, *index, about)).collect()
}

/// A step, in the words that speak of the thing.
fn link(run: Run<'_>, index: usize, about: &About) -> Option<Link> {
    let record = run.trace.get(index)?;
    let said = story::sentence_for(run, &record, about)?;
    let when = when(record.at, run.now());
    Some(Link { event: said.event, words: said.phrase(), when, by_you: said.by_you })
}

fn when(at: SimTime, now: SimTime) -> Phrase {
    let micros = now.as_micros().saturating_sub(at.as_micros());
    match story::tenths_ago(at, now) {
        0 if micros == 0 => Phrase::key("page.now"),
        0 => {
            let time = Phrase::key("page.ms").with("n", micros.div_ceil(1000));
            Phrase::key("page.ago").with_phrase("time", time)
        }
        tenths => Phrase::key("page.ago").with_phrase("time", seconds(tenths)),
    }
}

fn empty(target: Target, name: Phrase) -> InspectorPicture {
    InspectorPicture {
        target,
        sign: Sign::None,
        name,
        exact: String::new(),
        state: Phrase::nothing(),
        facts: Vec::new(),
        verbs: Vec::new(),
        effects: Vec::new(),
        now: None,
        causes: Vec::new(),
    }
}

fn fact(name: &'static str, value: Phrase) -> Fact {
    Fact { name: Phrase::key(name), value, quoted: false, target: None }
}

fn quoted(name: &'static str, path: &str) -> Fact {
    let target = Some(Target::Znode(path.to_string()));
    Fact { name: Phrase::key(name), value: Phrase::raw(path), quoted: true, target }
}

fn pointing(name: &'static str, process: &str) -> Fact {
    let target = Some(Target::Process(process.to_string()));
    Fact { name: Phrase::key(name), value: story::called(process), quoted: false, target }
}

fn process(run: Run<'_>, name: &str) -> Option<InspectorPicture> {
    let id = run.cluster.find(name)?;
    let mut picture = empty(Target::Process(name.to_string()), story::called(name));
    let life = run.life(id);
    picture.state = Phrase::key(stage::life_key(life));
    picture.verbs = verbs(run, id, name);
    let clock = run.cluster.clock_rate(id);
    if clock != 100 {
        picture.facts.push(fact("page.fact.clock", Phrase::raw(format!("{clock} %"))));
    }
    if let Some(shown) = ensemble::servers(run).into_iter().find(|server| server.name == name) {
        if !life.is_gone() {
            picture.sign = Sign::Letter(server::letter(shown.role).to_string());
        }
        picture.name = Phrase::key("page.name.server").with("name", name);
        picture.state = server::standing(&shown);
        picture.facts.push(fact("page.fact.last", shown.last.clone()));
        picture.facts.extend(disk(shown.ails));
        picture.facts.extend(attached(run, name));
    } else if let Some(number) = name.strip_prefix("broker") {
        picture.state = Phrase::key(brokers::state_key(life, run.cluster.process(id).broker()));
        picture.sign = Sign::Letter(number.to_string());
        picture.facts.extend(its_session(run, name));
        let its = ensemble::sessions(run).into_iter().filter(|held| held.is_of(name));
        let alone = its.filter(|held| held.thread == Thread::Slack);
        picture.effects.extend(alone.map(|held| expected_end(held.left)));
        picture.facts.extend(its_offices(run, name));
    } else if let Some(shown) =
        brokers::producers(run).into_iter().find(|producer| producer.name == name)
    {
        picture.facts.push(match shown.setting.split_once('=') {
            Some((_, acks)) => fact("page.fact.acks", Phrase::raw(acks)),
            None => fact("page.fact.by", Phrase::raw(&shown.setting)),
        });
        picture.facts.push(fact("page.fact.sent", shown.note));
        picture.verbs.push(send(name));
    } else if let Some(consumer) = run.cluster.process(id).old_consumer() {
        picture.facts.extend(its_session(run, name));
        picture.facts.extend(its_group(run, name));
        picture.facts.extend(its_balance(run, consumer));
        picture.facts.extend(watched(run, name));
    } else if run.cluster.process(id).shell().is_some() {
        picture.facts.extend(its_session(run, name));
        picture.facts.extend(watched(run, name));
    } else {
        picture.facts.extend(its_group(run, name));
    }
    Some(picture)
}

/// What is wrong with a server's disk.
fn disk(ails: Ails) -> Option<Fact> {
    let words = match (ails.room, ails.slowed_by) {
        (Room::Full, _) => Phrase::key("page.disk.full"),
        (Room::Free, Span::ZERO) => return None,
        (Room::Free, by) => Phrase::key("page.disk.slow").with("by", by),
    };
    Some(fact("page.fact.disk", words))
}

/// The sessions that are attached to a server.
fn attached(run: Run<'_>, name: &str) -> Vec<Fact> {
    let sessions = ensemble::sessions(run).into_iter();
    let here = sessions.filter(|held| held.server.as_deref() == Some(name));
    here.filter_map(|held| Some(pointing("page.fact.serves", &held.owner?))).collect()
}

/// What is known of a process's session.
fn its_session(run: Run<'_>, name: &str) -> Vec<Fact> {
    let mut facts = Vec::new();
    // Who is gone is attached to nobody, though its session lasts.
    let is_there = run.cluster.find(name).is_some_and(|id| !run.life(id).is_gone());
    for held in ensemble::sessions(run).into_iter().filter(|held| held.is_of(name)) {
        let key = match held.age {
            Age::Only => "page.fact.session",
            Age::Old => "page.fact.session-old",
            Age::New => "page.fact.session-new",
        };
        let value = left(&held);
        facts.push(Fact { name: Phrase::key(key), value, quoted: false, target: held.target() });
        let server = held.server.as_ref().filter(|_| is_there);
        facts.extend(server.map(|server| pointing("page.fact.attached", server)));
        facts.extend(server.and_then(|server| behind(run, server)));
        facts.extend(known_by(&held));
        let mut its = owned(run, held.id);
        if held.age == Age::Old {
            // Else it would read as if the new process owned it.
            its.iter_mut().for_each(|fact| fact.name = Phrase::key("page.fact.old-owns"));
        }
        facts.extend(its);
    }
    if facts.is_empty() {
        facts.push(fact("page.fact.session", Phrase::key("page.fact.none")));
    }
    facts
}

/// How far the server that answers somebody's reads is behind the leader; of two who believe that
/// they lead, the one of the later epoch does.
fn behind(run: Run<'_>, server: &str) -> Option<Fact> {
    let leads = |(_, _, server): &(ProcessId, &str, &Server)| {
        let peer = server.peer().filter(|peer| peer.standing() == vote::Standing::Leading);
        peer.and_then(QuorumPeer::epoch)
    };
    let servers = ensemble::processes(run.cluster).filter(|server| leads(server).is_some());
    let (_, _, leader) = servers.max_by_key(leads)?;
    let (server, newest) = (run.cluster.find(server)?, leader.database()?.last_zxid);
    let last = run.cluster.process(server).zk()?.database()?.last_zxid;
    let missed = leader.disk().after(last).take_while(|txn| txn.zxid <= newest).count();
    let words = match missed {
        _ if last >= newest => Phrase::key("page.behind.none"),
        // The leader's log begins later: it has had the rest as a snapshot.
        0 => Phrase::key("page.behind.far"),
        missed => Phrase::key("page.behind.some").with("n", missed),
    };
    Some(fact("page.fact.behind", words))
}

/// Who knows a session, if it is local.
fn known_by(held: &Held) -> Option<Fact> {
    match &held.scope {
        Scope::Local(server) => {
            let words = Phrase::key("page.session.local-to").with("server", server);
            Some(fact("page.fact.known-by", words))
        }
        Scope::Global => None,
    }
}

/// What is left of a session.
fn left(held: &Held) -> Phrase {
    Phrase::key("page.session.left")
        .with_phrase("left", seconds(held.left))
        .with_phrase("timeout", seconds(held.timeout))
}

/// What a session owns.
fn owned(run: Run<'_>, session: crate::zk::stat::SessionId) -> Vec<Fact> {
    let Some((_, database)) = ensemble::witness(run.cluster) else { return Vec::new() };
    let Some(paths) = database.tree.ephemerals(session) else { return Vec::new() };
    paths.sorted().map(|path| quoted("page.fact.owns", path)).collect()
}

fn session(run: Run<'_>, target: &Target) -> Option<InspectorPicture> {
    let held = ensemble::sessions(run);
    let held = held.into_iter().find(|held| held.target().as_ref() == Some(target))?;
    let (called, owner) = (held.called()?, held.owner.as_ref()?);
    let mut picture = empty(target.clone(), called.clone());
    picture.exact = held.id.to_string();
    let ring = Session {
        owner: owner.to_string(),
        age: held.age,
        scope: held.scope.clone(),
        called,
        server: held.server.clone(),
        thread: held.thread,
        left: held.left,
        timeout: held.timeout,
        ends: held.ends,
    };
    picture.state = left(&held);
    if held.ends.is_some() {
        picture.facts.push(fact("page.fact.ends", session::ends(&ring)));
    }
    picture.facts.push(match &held.server {
        Some(server) => pointing("page.fact.attached", server),
        None => fact("page.fact.attached", Phrase::key("page.fact.lost")),
    });
    picture.facts.extend(held.server.as_ref().and_then(|server| behind(run, server)));
    picture.facts.extend(known_by(&held));
    picture.facts.push(pointing("page.fact.of", owner));
    picture.facts.extend(owned(run, held.id));
    picture.facts.extend(watched(run, owner));
    picture.verbs = run.cluster.find(owner).map(|id| verbs(run, id, owner)).unwrap_or_default();
    let alone = held.thread == Thread::Slack;
    picture.effects.extend(alone.then(|| expected_end(held.left)));
    picture.sign = Sign::Ring(ring);
    Some(picture)
}

/// How many of a process's watches are named.
const WATCHES: usize = 4;

/// What a process watches, and how many more there are.
fn watched(run: Run<'_>, owner: &str) -> Vec<Fact> {
    let watches = ensemble::watches(run.cluster);
    let mut its = watches.iter().filter(|(_, who)| who.iter().any(|(_, name)| name == owner));
    let paths = its.by_ref().take(WATCHES);
    let mut facts: Vec<Fact> = paths.map(|(path, _)| quoted("page.fact.watches", path)).collect();
    if let more @ 1.. = its.count() {
        let value = Phrase::key("page.broker.more").with("n", more);
        let name = Phrase::nothing();
        facts.push(Fact { name, value, quoted: false, target: None });
    }
    facts
}

/// The end of a session that nobody hears from: expected, not promised.
fn expected_end(left: i32) -> Link {
    Link {
        event: None,
        words: Phrase::key("page.expected.expiry"),
        when: Phrase::key("page.in").with_phrase("time", seconds(left)),
        by_you: false,
    }
}

fn znode(run: Run<'_>, path: &str) -> Option<InspectorPicture> {
    let mut picture = empty(Target::Znode(path.to_string()), Phrase::raw(last_part(path)));
    picture.exact = path.to_string();
    let (_, database) = ensemble::witness(run.cluster)?;
    let Some(znode) = database.tree.znode(path) else {
        picture.state = Phrase::key("page.fact.missing");
        return Some(picture);
    };
    let stat = znode.shown_stat();
    let value = znode.data.to_text().into_owned();
    picture.state = Phrase::raw(znode_value::words(path, &znode.data));
    if let Owner::Session(session) = znode.stat.owner {
        let held = ensemble::sessions(run).into_iter().find(|held| held.id == session);
        let named = held.and_then(|held| Some((held.whose()?, held.target()?)));
        let name = Phrase::key("page.fact.owner");
        picture.facts.push(match named {
            Some((value, target)) => Fact { name, value, quoted: false, target: Some(target) },
            None => {
                fact("page.fact.owner", Phrase::key("page.session.unknown").with("id", session))
            }
        });
    }
    let counted: [(&'static str, String); 5] = [
        ("page.fact.version", stat.version.to_string()),
        ("page.fact.children", stat.num_children.to_string()),
        ("page.fact.created", ensemble::written(stat.czxid)),
        ("page.fact.modified", ensemble::written(stat.mzxid)),
        ("page.fact.value", value),
    ];
    picture.facts.extend(counted.map(|(name, value)| fact(name, Phrase::raw(value))));
    Some(picture)
}

/// What a broker is to the cluster: controller, coordinator, leader.
fn its_offices(run: Run<'_>, name: &str) -> Vec<Fact> {
    let brokers = brokers::brokers(run);
    let Some(broker) = brokers.iter().find(|broker| broker.name == name) else {
        return Vec::new();
    };
    let mut facts = Vec::new();
    for (from, count) in broker.received.iter().flatten() {
        let name = Phrase::key("page.fact.received").with("name", from);
        let target = Some(Target::Process(from.clone()));
        facts.push(Fact { name, value: Phrase::raw(count), quoted: false, target });
    }
    if let Some(crown) = broker.crown {
        let epoch = Phrase::key("page.epoch").with("n", crown.epoch);
        let stale = if crown.stale { "page.fact.believes-crown" } else { "page.kind.controller" };
        facts.push(fact(stale, epoch));
        facts.extend(its_queue(run, name));
    }
    for office in &broker.coordinates {
        let stale = if office.stale { "page.fact.believes-group" } else { "page.fact.coordinates" };
        facts.push(grouped(stale, &office.group));
    }
    for replica in &broker.replicas {
        let name = match replica.stand {
            Stand::Leading { .. } if broker.life.is_gone() => "page.fact.named",
            Stand::Leading { .. } => "page.fact.leads",
            Stand::Believing { .. } => "page.fact.believes",
            Stand::Following if broker.life.is_gone() => "page.fact.has",
            Stand::Following => "page.fact.follows",
            Stand::Out => "page.fact.out",
            Stand::Only => "page.fact.has",
        };
        let target = Some(Target::Partition(replica.partition.clone()));
        let value = Phrase::raw(&replica.partition);
        facts.push(Fact { name: Phrase::key(name), value, quoted: false, target });
    }
    facts
}

/// What a controller works at, and what waits until that is done.
fn its_queue(run: Run<'_>, name: &str) -> Vec<Fact> {
    let process = run.cluster.find(name).map(|id| run.cluster.process(id));
    let running = process.and_then(|process| process.broker()?.running());
    let Some(controller) = running.map(|running| running.controller()) else { return Vec::new() };
    let mut facts = Vec::new();
    facts.extend(controller.works_at().map(|event| fact("page.fact.works-at", Phrase::raw(event))));
    let mut waiting: Vec<(&str, u32)> = Vec::new();
    for event in controller.waiting().map(ControllerEvent::name) {
        match waiting.last_mut() {
            Some((last, times)) if *last == event => *times += 1,
            _ => waiting.push((event, 1)),
        }
    }
    for (event, times) in waiting {
        let times = if times > 1 { format!(" × {times}") } else { String::new() };
        facts.push(fact("page.fact.then", Phrase::raw(format!("{event}{times}"))));
    }
    facts
}

fn grouped(name: &'static str, group: &str) -> Fact {
    let target = Some(Target::Group(group.to_string()));
    Fact { name: Phrase::key(name), value: Phrase::raw(group), quoted: false, target }
}

/// What a consumer has.
fn its_group(run: Run<'_>, name: &str) -> Vec<Fact> {
    let groups = groups::groups(run);
    let mut facts = Vec::new();
    for group in &groups {
        let Some(member) = group.members.iter().find(|member| member.name == name) else {
            continue;
        };
        facts.push(grouped("page.kind.group", &group.name));
        let owned = member.cells.iter().zip(&group.partitions);
        for (_, partition) in owned.filter(|(cell, _)| cell.is_held()) {
            let partition = format!("{}-{partition}", group.topic);
            let target = Some(Target::Partition(partition.clone()));
            let value = Phrase::raw(partition);
            let name = Phrase::key("page.fact.reads");
            facts.push(Fact { name, value, quoted: false, target });
        }
    }
    facts
}

/// How the last rebalance of an old consumer goes, and how far its group is in what it has.
fn its_balance(run: Run<'_>, consumer: &OldConsumer) -> Vec<Fact> {
    let tries = consumer.settings().rebalance_max_retries;
    let (balance, left) = match consumer.standing() {
        Standing::New => (Phrase::key("page.balance.new"), None),
        Standing::Balanced => (Phrase::key("page.balance.balanced"), None),
        Standing::GaveUp => (Phrase::key("page.balance.gave-up"), Some(0)),
        Standing::Rebalancing(attempt) => {
            let words = Phrase::key("page.balance.attempt").with("n", attempt + 1);
            (words.with("of", tries), Some(tries.saturating_sub(attempt + 1)))
        }
    };
    let mut facts = vec![fact("page.fact.rebalance", balance)];
    facts.extend(left.map(|left| fact("page.fact.tries-left", Phrase::raw(left))));
    let streams = match consumer.activity() {
        Activity::Waiting => Some("page.streams.waiting"),
        Activity::Reading => Some("page.streams.reading"),
        Activity::Stalled => Some("page.streams.stalled"),
        Activity::Broken => Some("page.streams.broken"),
        Activity::Closing => None,
    };
    facts.extend(streams.map(|key| fact("page.fact.streams", Phrase::key(key))));
    let group = &consumer.settings().group_id;
    let kept = groups::kept(run, group);
    for tp in consumer.held().keys() {
        let Some(offset) = kept.offsets.get(tp) else { continue };
        let words = Phrase::key("page.offset-of").with("partition", tp).with("offset", offset);
        let target = Some(Target::Znode(group_offset(group, tp).to_string()));
        let name = Phrase::key("page.fact.offset");
        facts.push(Fact { name, value: words, quoted: false, target });
    }
    facts
}

/// A producer can be told to send.
fn send(name: &str) -> Verb {
    Verb {
        icon: Icon::Next,
        name: Phrase::key("page.verb.send").with("name", name),
        key: ' ',
        command: format!("send {name} topic=orders key=a"),
    }
}

fn partition(run: Run<'_>, name: &str) -> Option<InspectorPicture> {
    let brokers = brokers::brokers(run);
    let mut picture = empty(Target::Partition(name.to_string()), Phrase::raw(name));
    for broker in &brokers {
        let Some(replica) = broker.replicas.iter().find(|replica| replica.partition == name) else {
            continue;
        };
        if let Stand::Leading { epoch } = replica.stand {
            picture.state = Phrase::key("page.partition.led")
                .with_phrase("leader", story::called(&broker.name))
                .with("epoch", epoch);
        }
        let value = copy(broker, replica);
        let target = Some(Target::Process(broker.name.clone()));
        let name = story::called(&broker.name);
        picture.facts.push(Fact { name, value, quoted: false, target });
    }
    (!picture.facts.is_empty()).then_some(picture)
}

/// What one copy of a partition is.
pub fn copy(broker: &stage::Broker, replica: &stage::Replica) -> Phrase {
    if let Some(bytes) = replica.bytes {
        return Phrase::key("page.partition.only")
            .with("end", replica.end)
            .with("flushed", replica.high_watermark)
            .with("bytes", bytes);
    }
    let stand = Phrase::key(replica.stand.key(broker.life));
    Phrase::key("page.partition.copy")
        .with_phrase("stand", stand)
        .with("end", replica.end)
        .with("hw", replica.high_watermark)
}

fn group(run: Run<'_>, name: &str) -> Option<InspectorPicture> {
    let groups = groups::groups(run);
    let group = groups.iter().find(|group| group.name == name)?;
    let mut picture = empty(Target::Group(name.to_string()), Phrase::raw(name));
    picture.state = group.state.clone();
    picture.facts.push(fact("page.fact.coordination", group.coordination.clone()));
    let members = group.members.iter();
    picture.facts.extend(members.map(|member| pointing("page.fact.member", &member.name)));
    picture.verbs.push(add_consumer(run, group));
    Some(picture)
}

/// One more consumer for a group.
pub fn add_consumer(run: Run<'_>, group: &stage::Group) -> Verb {
    let next = (1..).map(|n| format!("c{n}")).find(|name| run.cluster.find(name).is_none());
    let next = next.expect("names do not end");
    Verb {
        icon: Icon::Add,
        name: Phrase::key("page.verb.add-consumer").with("name", &next),
        key: 'A',
        command: format!(
            "add consumer {next} group={} topics={}{}",
            group.name,
            group.topic,
            if group.is_old { connect(run) } else { String::new() }
        ),
    }
}

/// What makes a new consumer one that coordinates in ZooKeeper.
pub fn connect(run: Run<'_>) -> String {
    let servers = ensemble::processes(run.cluster).map(|(_, name, _)| format!("{name}:2181"));
    format!(" zookeeper.connect={}", servers.collect::<Vec<_>>().join(","))
}

/// An event: what it told; its chain is the rest. One that is still to come is a message in flight.
fn event(run: Run<'_>, id: u64) -> Option<InspectorPicture> {
    if let Some(flight) = run.cluster.flights().find(|flight| flight.id.0 == id) {
        return Some(message(run, &flight));
    }
    let record = run.trace.get(run.trace.find(crate::sim::EventId(id))?)?;
    let said = story::sentence(run, &record)?;
    let mut picture = empty(Target::Event(id), said.phrase());
    picture.state = when(record.at, run.now());
    let place = record.process.map(|id| run.cluster.name(id).to_string());
    picture.facts.extend(place.map(|name| pointing("page.fact.at", &name)));
    picture.facts.push(fact("page.fact.event", Phrase::raw(id)));
    Some(picture)
}

/// A message in flight: who sends what to whom, and that it can be dropped or held up.
fn message(run: Run<'_>, flight: &Flight<'_, Message>) -> InspectorPicture {
    let id = flight.id.0;
    let mut picture = empty(Target::Event(id), Phrase::raw(Words::message_name(flight.message)));
    picture.state = match flight.landing {
        Landing::At(at) => {
            let left = at.as_micros().saturating_sub(run.now().as_micros());
            let time = format!("{}.{:02} ms", left / 1000, left % 1000 / 10);
            Phrase::key("page.message.lands").with("time", time)
        }
        Landing::Held => Phrase::key("page.message.held"),
    };
    let ends = [("page.fact.from", flight.from), ("page.fact.to", flight.to)];
    picture.facts.extend(ends.map(|(key, end)| pointing(key, run.cluster.name(end))));
    picture.facts.extend(fetch(flight.message).map(|words| fact("page.fact.partitions", words)));
    let verb = |icon, name, key, command| Verb { icon, name: Phrase::key(name), key, command };
    picture.verbs = vec![
        verb(Icon::Kill, "page.verb.drop", 'D', format!("drop message={id}")),
        verb(Icon::Ttl, "page.verb.delay", ' ', format!("delay message={id} by=1s")),
    ];
    picture
}

/// What a fetch or its answer speaks of: of all partitions, or of what has changed in its session.
fn fetch(message: &Message) -> Option<Phrase> {
    let (key, session, count) = match message {
        Message::Request(RequestMessage { request: Request::Fetch(asked), .. }) => {
            let key = match asked.mark {
                FetchMark::NONE => "page.fetch.alone",
                mark if mark.is_full() => "page.fetch.full",
                _ => "page.fetch.changes",
            };
            (key, asked.mark.session, asked.topics.len())
        }
        Message::Response(ResponseMessage { response: Response::Fetch(told), .. }) => {
            let key = match (told.error, told.session_id) {
                (Some(_), _) => "page.fetch.refused",
                (None, 0) => "page.fetch.alone",
                _ => "page.fetch.changes",
            };
            (key, told.session_id, told.responses.len())
        }
        _ => return None,
    };
    Some(Phrase::key(key).with("session", session).with("n", count))
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("/")
}

/// What can be done to a process now.
pub fn verbs(run: Run<'_>, id: ProcessId, name: &str) -> Vec<Verb> {
    let verb = |icon, key: char, words: &'static str, command: &str| Verb {
        icon,
        name: Phrase::key(words).with_phrase("name", story::called(name)),
        key,
        command: format!("{command} {name}"),
    };
    let mut verbs = match run.life(id) {
        Life::Running => vec![
            verb(Icon::Kill, 'K', "page.verb.kill", "kill"),
            verb(Icon::Stop, 'X', "page.verb.stop", "stop"),
            verb(Icon::Freeze, 'Z', "page.verb.freeze", "freeze"),
        ],
        Life::Frozen => vec![
            verb(Icon::Kill, 'K', "page.verb.kill", "kill"),
            verb(Icon::Play, 'Z', "page.verb.thaw", "thaw"),
        ],
        Life::Stopped | Life::Killed | Life::GaveUp => {
            vec![verb(Icon::Restart, 'R', "page.verb.start", "start")]
        }
    };
    verbs.extend(cut(run, id, name));
    if run.cluster.process(id).zk().is_some() {
        verbs.extend(ailing(ensemble::ails(run.cluster, id), name));
    }
    verbs
}

/// What can be done to a server's disk and clock.
fn ailing(ails: Ails, name: &str) -> Vec<Verb> {
    let verb = |icon, words: &'static str, command: &str, what: &str| Verb {
        icon,
        name: Phrase::key(words).with("name", name),
        key: ' ',
        command: format!("{command} {name} {what}"),
    };
    let disk = |words, what| verb(Icon::Disk, words, "disk", what);
    let clock = |words, what| verb(Icon::Ttl, words, "clock", what);
    let mut verbs = match ails.room {
        Room::Full => vec![disk("page.verb.free-disk", "free")],
        Room::Free => vec![disk("page.verb.fill-disk", "full")],
    };
    verbs.push(match ails.slowed_by {
        Span::ZERO => disk("page.verb.slow-disk", "slower-by=1s"),
        _ => disk("page.verb.quick-disk", "slower-by=0s"),
    });
    if ails.clock == 100 {
        verbs.push(clock("page.verb.fast-clock", "rate-percent=150"));
        verbs.push(clock("page.verb.slow-clock", "rate-percent=50"));
    } else {
        verbs.push(clock("page.verb.right-clock", "rate-percent=100"));
    }
    verbs
}

/// The cable that matters most to a process: to its server, to its coordinator, or to the leader
/// of the ensemble.
fn cut(run: Run<'_>, id: ProcessId, name: &str) -> Option<Verb> {
    let is_cut = run.cluster.processes().any(|(other, ..)| run.cluster.is_cut(id, other));
    if run.life(id).is_gone() && !is_cut {
        return None;
    }
    let peer = peer(run, id, name)?;
    let other = run.cluster.find(&peer)?;
    let whole = !run.cluster.is_cut(id, other) && !run.cluster.is_cut(other, id);
    let (words, command) =
        if whole { ("page.verb.cut", "cut") } else { ("page.verb.heal", "heal") };
    let words = Phrase::key(words)
        .with_phrase("name", story::called(name))
        .with_phrase("peer", story::called(&peer));
    Some(Verb {
        icon: Icon::Cut,
        name: words,
        key: 'C',
        command: format!("{command} {name} {peer}"),
    })
}

fn peer(run: Run<'_>, id: ProcessId, name: &str) -> Option<String> {
    let cut_from = run.cluster.processes().find(|(other, _, _)| run.cluster.is_cut(id, *other));
    if let Some((_, peer, _)) = cut_from {
        return Some(peer.to_string());
    }
    let sessions = ensemble::sessions(run);
    let its = sessions.into_iter().find(|held| held.is_of(name) && held.age != Age::Old);
    if let Some(server) = its.and_then(|held| held.server) {
        return Some(server);
    }
    let process = run.cluster.process(id);
    if let Some(consumer) = process.consumer() {
        return consumer.coordinator().map(|broker| run.cluster.name(broker).to_string());
    }
    if process.producer().is_some() {
        let broker = brokers::brokers(run).into_iter().find(|broker| !broker.life.is_gone())?;
        return Some(broker.name);
    }
    let servers = ensemble::servers(run).into_iter().filter(|server| server.name != name);
    let (leading, others): (Vec<_>, Vec<_>) = servers.partition(|s| s.role == Role::Leading);
    leading.into_iter().chain(others).next().map(|server| server.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::script;

    #[test]
    fn a_partition_tells_its_own_story() {
        let text = "setup seed=1\nrun 8s\ntopic orders partitions=3 replicas=3\nrun 5s\n\
            kill broker1\nrun 30s";
        let lab = script::play(text).expect("it is right").lab;
        for partition in ["orders-0", "orders-1", "orders-2"] {
            let target = Target::Partition(partition.to_string());
            let picture = inspector(Run::of(&lab), lab.position(), &target).expect("it is there");
            let steps = picture.now.iter().chain(&picture.causes).chain(&picture.effects);
            let mut named = 0;
            for Link { words, .. } in steps {
                let Phrase::Line(key, fields) = words else { continue };
                let of = fields.iter().filter(|(name, _)| *name == "partition");
                for (_, said) in of {
                    assert_eq!(*said, Phrase::raw(partition), "{key}");
                    named += 1;
                }
            }
            assert!(named > 0, "{partition}");
        }
    }

    #[test]
    fn a_controller_shows_what_it_works_at() {
        let told = |run: &str| {
            let begin = "setup seed=1\ntopic orders partitions=3 replicas=3\nrun 20s\nkill broker3";
            let lab = script::play(&format!("{begin}\n{run}")).expect("it is right").lab;
            let of = |name: &str| its_queue(Run::of(&lab), name);
            let facts = ["broker1", "broker2"].map(of).concat();
            facts.into_iter().map(|fact| (fact.name, fact.value)).collect::<Vec<_>>()
        };
        assert_eq!(told("run 1s"), Vec::new());
        let works = (Phrase::key("page.fact.works-at"), Phrase::raw("BrokerChange"));
        assert_eq!(told("run until brokers-changed"), vec![works]);
    }
}
