//! What the ensemble holds: its servers, whose tree is to be believed, and every session.
//!
//! *Invariant:* what is said of a session's time is what the server says that counts it.

use super::stage::{Age, Ails, Ballot, Ensemble, Life, Role, Scope, Server, Thread};
use super::story;
use super::target::Target;
use super::tree::Watch;
use crate::cluster::{AnyProcess, Cluster, Record, Trace};
use crate::kafka::lone::Balance;
use crate::kafka::old_consumer::words::OldSettings;
use crate::kafka::words::Fact;
use crate::kafka::zookeeper::Zookeeper;
use crate::lab::Lab;
use crate::sim::{EventId, KernelFact, OrdMap, Power, ProcessId, SimTime, Span, Telling};
use crate::text::Phrase;
use crate::zk::database::Database;
use crate::zk::ensemble::ServerId;
use crate::zk::front::{ConnectionStage, Front};
use crate::zk::quorum_peer::{PeerRole, QuorumPeer};
use crate::zk::reply::Access;
use crate::zk::server::{self, Server as Process};
use crate::zk::stat::SessionId;
use crate::zk::vote::Standing;
use crate::zk::watch::WatchTable;
use crate::zk::zxid::Zxid;

/// What pictures are made from: the cluster at the cursor, and all that has been seen of the run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The cluster at the cursor.
    pub cluster: &'a Cluster,
    /// What has happened, beyond the cursor too.
    pub trace: &'a Trace,
    /// The events of what the reader has done.
    pub yours: &'a [EventId],
}

impl<'a> Run<'a> {
    /// The run of a lab.
    pub fn of(lab: &'a Lab) -> Run<'a> {
        Run { cluster: lab.cluster(), trace: lab.trace(), yours: lab.given_here() }
    }

    /// The time at the cursor.
    pub fn now(&self) -> SimTime {
        self.cluster.moment().at
    }

    /// The life of a process: the last thing that befell it tells how it ended.
    pub fn life(&self, id: ProcessId) -> Life {
        match self.cluster.power(id) {
            Power::Running => Life::Running,
            Power::Frozen => Life::Frozen,
            Power::Off if self.ended_by(id, "process-killed") => Life::Killed,
            Power::Off if self.gave_up(id) => Life::GaveUp,
            Power::Off => Life::Stopped,
        }
    }

    /// Whether the reader did it: not the recording that is played, nor the cluster itself.
    pub fn is_yours(&self, record: &Record<'_>) -> bool {
        self.yours.contains(&record.id)
    }

    /// Whether the reader did the last thing that befell a process.
    pub fn is_marked(&self, id: ProcessId) -> bool {
        self.last(id).is_some_and(|last| self.is_yours(&last)) && self.life(id) != Life::Running
    }

    /// Whether a process ended by itself with another code than 0.
    fn gave_up(&self, id: ProcessId) -> bool {
        let code = |fact: &Fact| match fact {
            Fact::Kernel(KernelFact::Exited { code, .. }) => *code,
            _ => 0,
        };
        self.last(id).is_some_and(|record| record.facts().any(|fact| code(fact) != 0))
    }

    fn ended_by(&self, id: ProcessId, key: &str) -> bool {
        self.last(id).is_some_and(|record| record.facts().any(|fact| fact.key() == key))
    }

    /// What happened within so long before the cursor, the newest first.
    pub fn lately(self, span: Span) -> impl Iterator<Item = Record<'a>> {
        let last =
            |(id, ..): (ProcessId, &str, &AnyProcess)| self.trace.find(self.cluster.last_event(id));
        let end = self.cluster.processes().filter_map(last).max().map_or(0, |last| last + 1);
        let now = self.now();
        (0..end)
            .rev()
            .map_while(move |index| self.trace.get(index))
            .take_while(move |record| now.since(record.at) <= span)
    }

    fn last(&self, id: ProcessId) -> Option<Record<'a>> {
        self.trace.get(self.trace.find(self.cluster.last_event(id))?)
    }
}

/// Every ZooKeeper server.
pub fn processes(cluster: &Cluster) -> impl Iterator<Item = (ProcessId, &str, &Process)> {
    cluster.processes().filter_map(|(id, name, process)| Some((id, name, process.zk()?)))
}

/// The servers as the stage shows them.
pub fn servers(run: Run<'_>) -> Vec<Server> {
    let shown = |(id, name, server): (ProcessId, &str, &Process)| Server {
        name: name.to_string(),
        role: role(server),
        life: run.life(id),
        last: last(server),
        ballot: ballot(server).filter(|_| run.life(id) == Life::Running),
        ails: ails(run.cluster, id),
    };
    processes(run.cluster).map(shown).collect()
}

/// What is wrong with a process's machine.
pub fn ails(cluster: &Cluster, id: ProcessId) -> Ails {
    let (room, slowed_by) = cluster.disk(id);
    Ails { room, slowed_by, clock: cluster.clock_rate(id) }
}

/// What is said under a server's role: how far it is, or for whom it votes.
fn last(server: &Process) -> Phrase {
    match server.peer().map(QuorumPeer::role) {
        Some(PeerRole::Looking(_)) if server.access() == Some(Access::ReadOnly) => {
            Phrase::key("page.server.read-only")
        }
        Some(PeerRole::Looking(looking)) => {
            let name = format!("zk{}", looking.proposed().candidate.0);
            Phrase::key("page.server.votes").with("name", name)
        }
        _ => Phrase::raw(written(last_zxid(server))),
    }
}

/// The vote of a server that looks.
fn ballot(server: &Process) -> Option<Ballot> {
    let PeerRole::Looking(looking) = server.peer()?.role() else { return None };
    let vote = looking.proposed();
    let (epoch, candidate) = (i64::from(vote.epoch.0), i64::from(vote.candidate.0));
    Some(Ballot { epoch, zxid: vote.zxid, candidate })
}

/// A zxid as people read it: epoch and counter.
pub fn written(zxid: Zxid) -> String {
    format!("{}·{:04}", zxid.0 >> 32, zxid.0 & 0xffff_ffff)
}

fn last_zxid(server: &Process) -> Zxid {
    server.database().map_or_else(|| server.disk().last_zxid(), |database| database.last_zxid)
}

/// What a server is by its own state.
pub fn role(server: &Process) -> Role {
    match (server.role(), server.peer().map(QuorumPeer::standing)) {
        (server::Role::Standalone(_), _) => Role::Alone,
        (_, Some(Standing::Leading)) => Role::Leading,
        (_, Some(Standing::Following)) => Role::Following,
        (_, Some(Standing::Observing)) => Role::Observing,
        (_, Some(Standing::Looking)) | (server::Role::Down, None) => Role::Looking,
        (server::Role::Peer(_), None) => unreachable!("a peer has a standing"),
    }
}

/// The ensemble as a whole.
pub fn ensemble(run: Run<'_>) -> Ensemble {
    let voting = servers(run).into_iter().filter(|server| server.role != Role::Observing);
    let voters = i32::try_from(voting.count()).expect("few servers");
    let leads = leader(run.cluster).is_some();
    let last = processes(run.cluster).map(|(_, _, server)| last_zxid(server)).max();
    let epoch = last.map_or(0, |zxid| zxid.0 >> 32);
    Ensemble { epoch, together: together(run), voters, leads }
}

/// How many voting servers are with the leader; while there is none, how many vote for the same.
fn together(run: Run<'_>) -> i32 {
    let running = processes(run.cluster).filter(|(id, _, _)| run.life(*id) == Life::Running);
    let mut votes: OrdMap<ServerId, i32> = OrdMap::new();
    for (_, _, server) in running {
        match server.peer().map(|peer| (peer.standing(), peer)) {
            Some((Standing::Observing, _)) => {}
            Some((_, peer)) => *votes.entry(choice(peer)).or_default() += 1,
            None if matches!(server.role(), server::Role::Down) => {}
            None => *votes.entry(ServerId::STANDALONE).or_default() += 1,
        }
    }
    votes.into_values().max().unwrap_or(0)
}

/// The server that another follows, leads as, or votes for.
fn choice(peer: &QuorumPeer) -> ServerId {
    match peer.role() {
        PeerRole::Looking(looking) => looking.proposed().candidate,
        _ => peer.leader().expect("who does not look has a leader"),
    }
}

/// The server that leads, if one does and runs.
pub fn leader(cluster: &Cluster) -> Option<(ProcessId, &Process)> {
    let runs = |id: ProcessId| cluster.power(id) == Power::Running;
    let mut leading = processes(cluster).filter(|(id, _, server)| {
        let leads = matches!(role(server), Role::Leading | Role::Alone);
        runs(*id) && leads && server.tracker().is_some()
    });
    leading.next().map(|(id, _, server)| (id, server))
}

/// The server whose tree is shown: the leader, else who knows most.
pub fn witness(cluster: &Cluster) -> Option<(ProcessId, &Database)> {
    if let Some((id, server)) = leader(cluster) {
        return server.database().map(|database| (id, database));
    }
    let known = processes(cluster).filter_map(|(id, _, server)| Some((id, server.database()?)));
    known.max_by_key(|(_, database)| database.last_zxid)
}

/// A session, as the ensemble sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The session.
    pub id: SessionId,
    /// The process whose session it is, if that can be known.
    pub owner: Option<String>,
    /// Which of its sessions.
    pub age: Age,
    /// Who knows it.
    pub scope: Scope,
    /// The server to which it is attached.
    pub server: Option<String>,
    /// How its thread hangs.
    pub thread: Thread,
    /// What is left of its time, in tenths of a second.
    pub left: i32,
    /// Its whole time, in tenths of a second.
    pub timeout: i32,
    /// When the leader ends it if nothing is heard, in tenths of a second of the run.
    pub ends: Option<i32>,
}

impl Held {
    /// What people call it, if it is known whose it is.
    pub fn called(&self) -> Option<Phrase> {
        let only = match self.scope {
            Scope::Global => "page.session.of",
            Scope::Local(_) => "page.session.local",
        };
        self.by_age([only, "page.session.old", "page.session.new"])
    }

    /// The same where a sentence begins with it.
    pub fn whose(&self) -> Option<Phrase> {
        let only = match self.scope {
            Scope::Global => "page.session.whose",
            Scope::Local(_) => "page.session.whose-local",
        };
        self.by_age([only, "page.session.whose-old", "page.session.whose-new"])
    }

    /// The words for an only, an old or a new session of its owner.
    fn by_age(&self, [only, old, new]: [&'static str; 3]) -> Option<Phrase> {
        let key = match self.age {
            Age::Only => only,
            Age::Old => old,
            Age::New => new,
        };
        Some(Phrase::key(key).with_phrase("owner", story::called(self.owner.as_ref()?)))
    }

    /// What is selected with it.
    pub fn target(&self) -> Option<Target> {
        Some(Target::session(self.owner.as_ref()?, self.age))
    }

    /// Whether it is this process's.
    pub fn is_of(&self, owner: &str) -> bool {
        self.owner.as_deref() == Some(owner)
    }
}

/// Every session that the ensemble knows.
pub fn sessions(run: Run<'_>) -> Vec<Held> {
    let (cluster, now) = (run.cluster, run.now());
    let Some((_, database)) = witness(cluster) else { return Vec::new() };
    let leader = leader(cluster).and_then(|(id, server)| Some((id, server.tracker()?)));
    let held = |(id, timeout): (&SessionId, &crate::zk::stat::Millis)| {
        let timeout = tenths_of_ms(timeout.0);
        let deadline = leader.and_then(|(leader, tracker)| {
            let tracked = tracker.session(*id)?;
            Some(cluster.when_clock_shows(leader, tracked.deadline))
        });
        let left = deadline.map_or(timeout, |deadline| tenths_until(deadline, now).min(timeout));
        let attached = connection(cluster, *id);
        let thread = match (&attached, leader) {
            (_, None) => Thread::Held,
            (Some(_), _) => Thread::Taut,
            (None, _) => Thread::Slack,
        };
        let (server, peer) = attached.unzip();
        let owner = peer.or_else(|| owner(cluster, database, *id));
        let ends = deadline.map(|deadline| tenths_until(deadline, SimTime::ZERO));
        let (age, scope) = (Age::Only, Scope::Global);
        Held { id: *id, owner, age, scope, server, thread, left, timeout, ends }
    };
    let mut sessions: Vec<Held> = database.sessions.iter().map(held).collect();
    sessions.extend(own_sessions(run, database));
    sessions.extend(local_sessions(run, database));
    for number in 0..sessions.len() {
        sessions[number].age = age(run, &sessions, &sessions[number]);
    }
    sessions
}

/// The sessions that one server has of its own, because it serves only reads: they last as long as
/// their connections.
fn own_sessions(run: Run<'_>, database: &Database) -> Vec<Held> {
    let mut own = Vec::new();
    for (id, name, server) in processes(run.cluster) {
        let is_read_only = server.access() == Some(Access::ReadOnly);
        let front = server.front().filter(|_| is_read_only && run.life(id) != Life::Killed);
        for connection in front.into_iter().flat_map(Front::iter) {
            let (session, timeout) = (connection.session, tenths_of_ms(connection.timeout.0));
            let is_open = connection.stage == ConnectionStage::Open;
            if is_open && !database.sessions.contains_key(&session) {
                let left = tenths_until(connection.deadline, run.now()).min(timeout);
                let owner = Some(run.cluster.name(connection.id.peer).to_string());
                let (server, thread) = (Some(name.to_string()), Thread::Taut);
                let (age, scope, ends) = (Age::Only, Scope::Global, None);
                own.push(Held {
                    id: session,
                    owner,
                    age,
                    scope,
                    server,
                    thread,
                    left,
                    timeout,
                    ends,
                });
            }
        }
    }
    own
}

/// The local sessions of every server that runs: it counts their time itself.
fn local_sessions(run: Run<'_>, database: &Database) -> Vec<Held> {
    let mut all = Vec::new();
    for (process, home, server) in processes(run.cluster) {
        let local = server.local_sessions().filter(|_| run.life(process) != Life::Killed);
        for (&id, tracked) in local.into_iter().flat_map(|local| local.tracker().iter()) {
            let timeout = tenths_of_ms(tracked.timeout.0);
            let deadline = run.cluster.when_clock_shows(process, tracked.deadline);
            let peer = server.front().and_then(|front| Some(front.connection_of(id)?.id.peer));
            let peer = peer.map(|peer| run.cluster.name(peer).to_string());
            all.push(Held {
                id,
                age: Age::Only,
                scope: Scope::Local(home.to_string()),
                server: peer.as_ref().map(|_| home.to_string()),
                thread: if peer.is_some() { Thread::Taut } else { Thread::Slack },
                owner: peer.or_else(|| owner(run.cluster, database, id)),
                left: tenths_until(deadline, run.now()).min(timeout),
                timeout,
                ends: Some(tenths_until(deadline, SimTime::ZERO)),
            });
        }
    }
    all
}

/// Which of its owner's sessions one is. A process that came back and gave up again has closed the
/// new one by itself; what it has left behind is old all the same.
fn age(run: Run<'_>, all: &[Held], held: &Held) -> Age {
    let Some(owner) = &held.owner else { return Age::Only };
    let is_another = |other: &&Held| other.id != held.id && other.is_of(owner);
    let process = run.cluster.find(owner).map(|id| run.cluster.process(id));
    let used = process.and_then(|process| Some(session_of(process)?.0));
    match all.iter().find(is_another) {
        Some(_) if used == Some(held.id) => Age::New,
        Some(other) if used == Some(other.id) || held.thread != Thread::Taut => Age::Old,
        Some(_) => Age::New,
        None if held.thread == Thread::Slack && has_had_another(run, owner, held.id) => Age::Old,
        None => Age::Only,
    }
}

/// How far back another session is looked for: what is left behind lasts no longer than this.
const LEFT_BEHIND: u64 = 40_000_000;

/// Whether the owner of a session that nobody uses has used another one since.
pub fn has_had_another(run: Run<'_>, owner: &str, id: impl ToString) -> bool {
    let (process, now, id) = (run.cluster.find(owner), run.now(), id.to_string());
    let since = now.as_micros().saturating_sub(LEFT_BEHIND);
    let (mut first, mut end) = (0, run.trace.len());
    while first < end {
        let middle = (first + end) / 2;
        if run.trace.get(middle).is_some_and(|record| record.at <= now) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    let records = (0..end).rev().filter_map(|index| run.trace.get(index));
    let recent = records.take_while(|record| record.at.as_micros() >= since);
    let mut its = recent.filter(|record| record.process == process);
    let connected = its.find_map(|record| {
        let fact = record.facts().find(|fact| fact.key() == "zk-connected")?;
        fact.fields().into_iter().find(|(name, _)| *name == "session")
    });
    connected.is_some_and(|(_, session)| session != id)
}

fn tenths_of_ms(ms: i64) -> i32 {
    i32::try_from(ms / 100).unwrap_or(i32::MAX)
}

fn tenths_until(deadline: SimTime, now: SimTime) -> i32 {
    let micros = deadline.as_micros().saturating_sub(now.as_micros());
    i32::try_from(micros.div_ceil(100_000)).unwrap_or(i32::MAX)
}

/// The server that has an open connection of a session, and the process at its other end: of
/// several, the one that its process uses. A server behind a cut cable keeps the old one.
fn connection(cluster: &Cluster, session: SessionId) -> Option<(String, String)> {
    let running = processes(cluster).filter(|(id, _, _)| cluster.power(*id) != Power::Off);
    let mut open = running.filter_map(|(_, name, server)| {
        let connection = server.front()?.connection_of(session)?;
        Some((name.to_string(), cluster.name(connection.id.peer).to_string()))
    });
    let first = open.next()?;
    let is_used = |(server, peer): &(String, String)| {
        let mut all = cluster.processes();
        let process = all.find(|(_, name, _)| *name == peer.as_str());
        process.and_then(|(_, _, process)| session_of(process)?.1).as_ref() == Some(server)
    };
    Some(if is_used(&first) { first } else { open.find(is_used).unwrap_or(first) })
}

/// The process whose session it is: the one that says so, else the broker or the member of a
/// group that it registered.
fn owner(cluster: &Cluster, database: &Database, session: SessionId) -> Option<String> {
    let says = |(_, _, process): &(ProcessId, &str, &AnyProcess)| {
        session_of(process).is_some_and(|(own, _)| own == session)
    };
    if let Some((_, name, _)) = cluster.processes().find(says) {
        return Some(name.to_string());
    }
    let paths = database.tree.ephemerals(session)?;
    paths.sorted().find_map(|path| match path.split('/').collect::<Vec<_>>()[..] {
        ["", "brokers", "ids", id] => Some(format!("broker{id}")),
        ["", "consumers", _, "ids", id] => Some(member(cluster, id)?.to_string()),
        _ => None,
    })
}

/// The process that has this id in its group, or had it in a life before.
pub fn member<'a>(cluster: &'a Cluster, id: &str) -> Option<&'a str> {
    let is_its = |settings: &OldSettings| id == settings.id() || settings.is_named_in(id);
    let mut members =
        cluster.processes().filter_map(|(_, name, process)| Some((name, process.old_consumer()?)));
    members.find(|(_, consumer)| is_its(consumer.settings())).map(|(name, _)| name)
}

/// The session of a process and the server it is connected to, as the process believes.
pub fn session_of(process: &AnyProcess) -> Option<(SessionId, Option<String>)> {
    let (session, server) = match process {
        AnyProcess::Shell(shell) => {
            (shell.session(), shell.client().and_then(|client| client.server()))
        }
        AnyProcess::Broker(broker) => {
            let client = broker.running()?.zookeeper().client();
            (client.session(), client.server())
        }
        AnyProcess::OldConsumer(consumer) => {
            let client = consumer.zookeeper().client();
            (client.session(), client.server())
        }
        lone => {
            let client = lone_zookeeper(lone)?.client();
            (client.session(), client.server())
        }
    };
    Some((session, server.map(|server| server.to_string())))
        .filter(|(id, _)| *id != SessionId::NONE)
}

/// The handle of a broker or producer of brokers without replicas.
fn lone_zookeeper(process: &AnyProcess) -> Option<&Zookeeper> {
    if let Some(broker) = process.lone_broker() {
        return Some(broker.running()?.zookeeper());
    }
    match process.lone_producer()?.balance() {
        Balance::Zookeeper(knowledge) => Some(knowledge.zookeeper()),
        Balance::List(_) => None,
    }
}

/// Who watches which path, on every server that runs.
pub fn watches(cluster: &Cluster) -> OrdMap<String, Vec<(Watch, String)>> {
    let mut watches: OrdMap<String, Vec<(Watch, String)>> = OrdMap::new();
    let running = processes(cluster).filter(|(id, _, _)| cluster.power(*id) != Power::Off);
    for database in running.filter_map(|(_, _, server)| server.database()) {
        note(cluster, &database.data_watches, Watch::Data, &mut watches);
        note(cluster, &database.child_watches, Watch::Children, &mut watches);
    }
    watches
}

fn note(
    cluster: &Cluster,
    table: &WatchTable,
    watch: Watch,
    watches: &mut OrdMap<String, Vec<(Watch, String)>>,
) {
    for (path, connection, _) in table.iter() {
        let who = cluster.name(connection.peer).to_string();
        let here = watches.entry(path.to_string()).or_default();
        if !here.contains(&(watch, who.clone())) {
            here.push((watch, who));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::script;

    #[test]
    fn a_session_hangs_at_the_server_that_its_owner_uses() {
        let check = |cut: &str| {
            let lab = script::play(&format!("setup seed=1\nrun 20s\n{cut}\nrun 40s"));
            let lab = lab.expect("it is right").lab;
            let held = sessions(Run::of(&lab));
            held.into_iter().find(|held| held.is_of("broker2"))?.server
        };
        let before = check("").expect("it has a session");
        let after = check(&format!("cut broker2 {before}"));
        assert!(after.is_some_and(|after| after != before));
    }

    #[test]
    fn a_server_that_only_serves_reads_has_sessions_of_its_own() {
        let text = "setup seed=3 zookeeper=3 brokers=0 readonlymode.enabled=true\nrun 3s\n\
                    kill zk3\nkill zk2\nrun 10s\nadd client z1 -r\nrun 5s";
        let lab = script::play(text).expect("it is right").lab;
        let held = sessions(Run::of(&lab)).into_iter().find(|held| held.is_of("z1"));
        let held = held.expect("it has a session");
        assert_eq!((held.server.as_deref(), held.thread), (Some("zk1"), Thread::Taut));
    }

    #[test]
    fn a_session_left_behind_is_told_from_the_one_that_came_after_it() {
        let check = |until: &str, expected: &[Age]| {
            let text =
                format!("setup seed=1\nrun 20s\nkill broker1\nrun 2s\nstart broker1\n{until}");
            let lab = script::play(&text).expect("it is right").lab;
            let held = sessions(Run::of(&lab)).into_iter().filter(|held| held.is_of("broker1"));
            let mut ages: Vec<(SessionId, Age)> = held.map(|held| (held.id, held.age)).collect();
            ages.sort_by_key(|(id, _)| *id);
            let ages: Vec<Age> = ages.into_iter().map(|(_, age)| age).collect();
            assert_eq!(ages, expected, "{until}");
        };
        check("run 1ms", &[Age::Only]);
        check("run until zk-connected", &[Age::Old, Age::New]);
        check("run until broker-fatal\nrun 2s", &[Age::Old]);
        check("run 60s", &[]);
    }
}
