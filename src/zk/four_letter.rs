//! The four-letter words: what a server answers to `ruok`, `srvr`, `mntr` and the like on its
//! client port, told from its state.
//!
//! How question and answer travel is not here (`server`, and who asks).
//!
//! *Invariant: asking changes nothing; whoever asks counts as one more connection.*
//!
//! Real: a server counts frames, latencies, files and bytes on disk; here it counts none, and
//! shows them as if nothing had been asked but sessions, because nothing depends on them.

use super::database::Database;
use super::digest;
use super::ensemble::Ensemble;
use super::front::{CLIENT_ADDRESS, CONNECTION_TICK, Connection, Front, next_look};
use super::leader::Leader;
use super::local_sessions::LocalSessions;
use super::printing::date;
use super::quorum_peer::{PeerRole, QuorumPeer};
use super::release::Release;
use super::reply::Access;
use super::server::{Role, Server};
use super::session::Tracker;
use super::settings::{Settings, Switch, Whitelist};
use super::stat::SessionId;
use super::telling::wall_clock;
use super::vote::Standing;
use super::watch::WatchTable;
use crate::sim::{OrdMap, SimTime};

const NOT_SERVING: &str = "This ZooKeeper instance is not currently serving requests\n";

/// How to tell a word, or a row of one.
type Tell = fn(&Asked) -> String;

/// How to tell what no server has to be asked for.
type Say = fn(Release) -> String;

/// Every word that some release knows.
pub const WORDS: [&str; 18] = [
    "conf", "cons", "crst", "dirs", "dump", "envi", "gtmk", "hash", "isro", "mntr", "ruok", "srst",
    "srvr", "stat", "stmk", "wchc", "wchp", "wchs",
];

/// Words that are answered whatever the server does.
const ALWAYS: &[(&str, Say)] =
    &[("ruok", |_| "imok".into()), ("gtmk", |_| "306".into()), ("envi", environment)];

/// Words that are about what the server serves.
// Source: CommandExecutor.getCommand.
const SERVING: &[(&str, Tell)] = &[
    ("hash", hash),
    ("stat", stat),
    ("srvr", srvr),
    ("srst", |_| "Server stats reset.\n".into()),
    ("mntr", mntr),
    ("cons", |asked| asked.connections(Detail::All) + "\n"),
    ("crst", |_| "Connection stats reset.\n".into()),
    ("dump", dump),
    ("wchs", wchs),
    ("wchc", wchc),
    ("wchp", wchp),
    ("conf", conf),
    ("dirs", |_| "datadir_size: 0\nlogdir_size: 0\n".into()),
];

/// All words but `stmk`, which a mask follows.
pub fn words() -> impl Iterator<Item = &'static str> {
    WORDS.into_iter().filter(|word| *word != "stmk")
}

/// What a server answers to a word, empty if it is none; `None` if there is no server.
// Source: NIOServerCnxn.checkFourLetterWord.
pub fn answer(server: &Server, word: &str, now: SimTime) -> Option<String> {
    if *server.role() == Role::Down {
        return None;
    }
    let settings = server.settings();
    let name = word.get(..4).unwrap_or(word);
    if !WORDS.contains(&name) || !settings.release.has_word(name) {
        return Some(String::new());
    }
    if !settings.answers_word(name) {
        return Some(format!("{name} is not executed because it is not in the whitelist.\n"));
    }
    if let Some((_, tell)) = ALWAYS.iter().find(|(known, _)| *known == word) {
        return Some(tell(settings.release));
    }
    if word == "isro" {
        return Some(is_read_only(server).into());
    }
    if let Some(mask) = word.strip_prefix("stmk") {
        return Some(set_trace_mask(mask));
    }
    let Some((_, tell)) = SERVING.iter().find(|(known, _)| *known == word) else {
        return Some(String::new());
    };
    Some(Asked::of(server, now).map_or(NOT_SERVING.into(), |asked| tell(&asked)))
}

impl Whitelist {
    /// As the setting is written: words with commas between, or a star.
    // Source: FourLetterCommands.isEnabled.
    pub fn parse(text: &str) -> Whitelist {
        let named = |word: &str| {
            text.split(',').any(|part| matches!(part.trim(), "*") || part.trim() == word)
        };
        let bits = WORDS.iter().enumerate().filter(|(_, word)| named(word));
        Whitelist::Named(bits.map(|(place, _)| 1 << place).sum())
    }
}

impl Settings {
    /// Whether this word is answered.
    // Source: FourLetterCommands.isEnabled: `isro` and `srvr` are for ZooKeeper's own programs.
    fn answers_word(&self, word: &str) -> bool {
        let release = self.release;
        let for_itself = release.read_only_servers_answer_isro()
            && (word == "srvr" || word == "isro" && self.read_only_mode == Switch::On);
        let place = WORDS.iter().position(|known| *known == word);
        for_itself
            || match self.whitelist {
                Whitelist::OfRelease => release.answers_word(word),
                Whitelist::Named(bits) => place.is_some_and(|place| bits >> place & 1 == 1),
            }
    }
}

// Source: IsroCommand.commandRun.
fn is_read_only(server: &Server) -> &'static str {
    match server.access() {
        Some(Access::ReadWrite) => "rw",
        Some(Access::ReadOnly) => "ro",
        None => "null",
    }
}

/// The word is followed by eight bytes, the mask, and answered with it as a number; without them
/// the connection just ends.
///
/// Real: `gtmk` gives it from then on; here a trace holds everything, and no mask is kept.
// Source: NIOServerCnxn.checkFourLetterWord, SetTraceMaskCommand.commandRun.
fn set_trace_mask(mask: &str) -> String {
    let mask = mask.as_bytes().first_chunk::<8>().map(|bytes| i64::from_be_bytes(*bytes));
    mask.map_or(String::new(), |mask| mask.to_string())
}

/// A server that serves, at a moment.
struct Asked<'a> {
    settings: &'a Settings,
    database: &'a Database,
    front: &'a Front,
    peer: Option<&'a QuorumPeer>,
    server: &'a Server,
    now: SimTime,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Brief,
    All,
}

impl<'a> Asked<'a> {
    fn of(server: &'a Server, now: SimTime) -> Option<Asked<'a>> {
        let peer = server.peer();
        server.access()?;
        let (database, front) = (server.database()?, server.front()?);
        Some(Asked { settings: server.settings(), database, front, peer, server, now })
    }

    fn release(&self) -> Release {
        self.settings.release
    }

    fn version(&self) -> &'static str {
        self.release().full_version()
    }

    fn leader(&self) -> Option<&'a Leader> {
        match self.peer?.role() {
            PeerRole::Leading(leader) => Some(leader),
            _ => None,
        }
    }

    fn local(&self) -> Option<&'a LocalSessions> {
        self.server.local_sessions()
    }

    fn mode(&self) -> &'static str {
        match self.peer.map(QuorumPeer::standing) {
            None => "standalone",
            Some(Standing::Leading) => "leader",
            Some(Standing::Observing) => "observer",
            Some(Standing::Following) => "follower",
            Some(Standing::Looking) => "read-only",
        }
    }

    fn outstanding(&self) -> u32 {
        match (self.server.role(), self.peer.and_then(QuorumPeer::serving)) {
            (Role::Standalone(alone), _) => alone.outstanding(),
            (_, serving) => serving.map_or(0, |serving| serving.outstanding()),
        }
    }

    /// How many znodes; the root is kept under two names.
    // Source: DataTree.getNodeCount.
    fn znodes(&self) -> i32 {
        self.database.tree.count() + 1
    }

    fn connection_count(&self) -> u64 {
        self.front.iter().count() as u64 + 1
    }

    /// All connections, that of whoever asks first: nothing is read from it any more.
    // Source: ServerCnxn.dumpConnectionInfo.
    fn connections(&self, detail: Detail) -> String {
        let mut text = format!(" {}[0](queued=0,recved=0,sent=0)\n", address(None));
        for known in self.front.iter() {
            let (address, session) = (address(Some(known)), known.session);
            text += &format!(" {address}[1](queued=0,recved=0,sent=0");
            if detail == Detail::All {
                text += &format!(
                    ",sid={session},lop=SESS,est=0,to={},lcxid=0x0,\
                     lzxid=0xffffffffffffffff,lresp=0,llat=0,minlat=0,avglat=0,maxlat=0",
                    known.timeout.0
                );
            }
            text += ")\n";
        }
        text
    }
}

/// Where a connection comes from, or that of whoever asks.
fn address(connection: Option<&Connection>) -> String {
    let port = connection.map_or(32_767, |known| 32_768 + known.id.number % 28_232);
    format!("/{CLIENT_ADDRESS}:{port}")
}

// Source: StatCommand.commandRun.
fn stat(asked: &Asked) -> String {
    let connections = asked.connections(Detail::Brief);
    let version = asked.version();
    format!("Zookeeper version: {version}\nClients:\n{connections}\n{}", figures(asked))
}

fn srvr(asked: &Asked) -> String {
    format!("Zookeeper version: {}\n{}", asked.version(), figures(asked))
}

// Source: ServerStats.toString, StatCommand.commandRun.
fn figures(asked: &Asked) -> String {
    let mut text = format!(
        "Latency min/avg/max: 0/{}/0\nReceived: 0\nSent: 0\nConnections: {}\nOutstanding: {}\n\
         Zxid: {}\nMode: {}\nNode count: {}\n",
        average(asked),
        asked.connection_count(),
        asked.outstanding(),
        asked.database.last_zxid,
        asked.mode(),
        asked.znodes(),
    );
    if asked.leader().is_some() && asked.release().measures_proposals() {
        text += "Proposal sizes last/min/max: -1/-1/-1\n";
    }
    text
}

/// The average latency.
// Source: ServerStats.getAvgLatency.
fn average(asked: &Asked) -> String {
    if asked.release().has_metrics() { "0.0" } else { "0" }.into()
}

/// Which servers have a row of `mntr`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Any,
    Member,
    Leader,
}

/// The rows of `mntr`.
///
/// Real: there are some 400 more, of counters and timings; here those that the model knows.
// Source: ZooKeeperServer.dumpMonitorValues, and what its subclasses add.
const MNTR: &[(Rank, &str, Tell)] = &[
    (Rank::Any, "version", |asked| asked.version().into()),
    (Rank::Any, "server_state", |asked| asked.mode().into()),
    (Rank::Member, "peer_state", |asked| peer_state(asked).into()),
    (Rank::Any, "ephemerals_count", |asked| {
        let all = asked.database.tree.owners();
        all.map(|(_, own)| own.count()).sum::<u32>().to_string()
    }),
    (Rank::Any, "num_alive_connections", |asked| asked.connection_count().to_string()),
    (Rank::Any, "avg_latency", average),
    (Rank::Any, "outstanding_requests", |asked| asked.outstanding().to_string()),
    (Rank::Any, "znode_count", |asked| asked.znodes().to_string()),
    (Rank::Any, "global_sessions", |asked| asked.database.sessions.len().to_string()),
    (Rank::Any, "packets_sent", zero),
    (Rank::Any, "packets_received", zero),
    (Rank::Leader, "synced_followers", |asked| followers(asked, Standing::Following)),
    (Rank::Any, "watch_count", |asked| {
        let Database { data_watches, child_watches, .. } = asked.database;
        (data_watches.count() + child_watches.count()).to_string()
    }),
    (Rank::Leader, "synced_non_voting_followers", zero),
    (Rank::Leader, "synced_observers", |asked| followers(asked, Standing::Observing)),
    (Rank::Any, "min_latency", zero),
    (Rank::Any, "max_file_descriptor_count", zero),
    (Rank::Any, "approximate_data_size", |asked| data_size(asked).to_string()),
    (Rank::Any, "open_file_descriptor_count", zero),
    (Rank::Leader, "pending_syncs", |asked| {
        asked.leader().map_or(0, Leader::pending_syncs).to_string()
    }),
    (Rank::Member, "local_sessions", |asked| {
        asked.local().map_or(0, |local| local.tracker().iter().count()).to_string()
    }),
    (Rank::Any, "max_latency", zero),
    (Rank::Leader, "learners", |asked| asked.leader().map_or(0, Leader::learner_count).to_string()),
    (Rank::Member, "quorum_size", |asked| {
        let peer = asked.peer.map(QuorumPeer::member);
        peer.map_or(0, |member| member.ensemble.voters().count()).to_string()
    }),
    (Rank::Member, "looking_count", |asked| {
        asked.peer.map_or(0, |peer| peer.member().lookings).to_string()
    }),
];

/// The rows of `mntr` up to 3.5, in their order; behind those of the leader those about proposals.
// Source: NIOServerCnxn.MonitorCommand.commandRun (3.4), MonitorCommand.commandRun (3.5).
const FIRST_MNTR: &[(Rank, &str)] = &[
    (Rank::Any, "version"),
    (Rank::Any, "avg_latency"),
    (Rank::Any, "max_latency"),
    (Rank::Any, "min_latency"),
    (Rank::Any, "packets_received"),
    (Rank::Any, "packets_sent"),
    (Rank::Any, "num_alive_connections"),
    (Rank::Any, "outstanding_requests"),
    (Rank::Any, "server_state"),
    (Rank::Any, "znode_count"),
    (Rank::Any, "watch_count"),
    (Rank::Any, "ephemerals_count"),
    (Rank::Any, "approximate_data_size"),
    (Rank::Any, "open_file_descriptor_count"),
    (Rank::Any, "max_file_descriptor_count"),
    (Rank::Leader, "followers"),
    (Rank::Leader, "synced_followers"),
    (Rank::Leader, "pending_syncs"),
];

/// A row of those.
fn first_row(name: &str, asked: &Asked) -> String {
    let known = MNTR.iter().find(|(_, known, _)| *known == name);
    let (tell, followers) =
        (known.map(|(.., tell)| tell), asked.leader().map(Leader::learner_count));
    tell.map_or_else(|| followers.unwrap_or_default().to_string(), |tell| tell(asked))
}

// Source: MonitorCommand.commandRun.
fn mntr(asked: &Asked) -> String {
    let rank = match (asked.peer, asked.leader()) {
        (None, _) => Rank::Any,
        (Some(_), None) => Rank::Member,
        (Some(_), Some(_)) => Rank::Leader,
    };
    if !asked.release().has_metrics() {
        let rows = FIRST_MNTR.iter().filter(|(needed, _)| *needed <= rank);
        return rows.map(|(_, name)| format!("zk_{name}\t{}\n", first_row(name, asked))).collect();
    }
    let rows = MNTR.iter().filter(|(needed, ..)| *needed <= rank);
    rows.map(|(_, name, value)| format!("zk_{name}\t{}\n", value(asked))).collect()
}

fn zero(_: &Asked) -> String {
    "0".into()
}

// Source: QuorumPeer.getDetailedState.
fn peer_state(asked: &Asked) -> &'static str {
    match asked.mode() {
        "leader" => "leading - broadcast",
        "observer" => "observing - broadcast",
        "read-only" => "looking",
        _ => "following - broadcast",
    }
}

fn followers(asked: &Asked, standing: Standing) -> String {
    let (Some(leader), Some(peer)) = (asked.leader(), asked.peer) else { return "0".into() };
    let votes = |id| peer.member().ensemble.is_voter(id);
    let wanted = leader.followers().filter(|id| votes(*id) == (standing == Standing::Following));
    wanted.count().to_string()
}

/// Bytes of all paths and data.
///
/// Real: `/zookeeper/config` holds the membership; here it is empty, and only counted as if.
// Source: DataTree.approximateDataSize.
fn data_size(asked: &Asked) -> u64 {
    let znodes = asked.database.tree.iter();
    let size = znodes.map(|(path, znode)| path.len() + znode.data.as_slice().len());
    let peer = asked.peer.filter(|_| asked.release().has_config_znode());
    let config = peer.map(|peer| membership(&peer.member().ensemble).len());
    (size.sum::<usize>() + config.unwrap_or(0)) as u64
}

/// The members, as `/zookeeper/config` holds them.
// Source: QuorumMaj.toString.
fn membership(ensemble: &Ensemble) -> String {
    let mut text = String::new();
    for server in ensemble.addresses().iter() {
        let kind = if ensemble.is_voter(server.id) { "participant" } else { "observer" };
        text += &format!("server.{}={}:2888:3888:{kind}\n", server.id.0, server.id);
    }
    text + "version=0"
}

// Source: ZooKeeperServerConf.toString, QuorumZooKeeperServer.dumpConf.
fn conf(asked: &Asked) -> String {
    let settings = asked.settings;
    let (min, max) = settings.session_timeouts();
    let id = asked.peer.map_or(0, |peer| peer.member().me.0);
    let tells_more = asked.release().words_tell_more();
    let places = match tells_more {
        true => {
            "secureClientPort=-1\ndataDir=/data/version-2\ndataDirSize=0\n\
             dataLogDir=/data/version-2\ndataLogSize=0"
        }
        false => "dataDir=/data/version-2\ndataLogDir=/data/version-2",
    };
    let backlog = if asked.release().has_metrics() { "clientPortListenBacklog=-1\n" } else { "" };
    let mut text = format!(
        "clientPort=2181\n{places}\ntickTime={}\nmaxClientCnxns={}\n\
         minSessionTimeout={}\nmaxSessionTimeout={}\n{backlog}serverId={id}\n",
        settings.tick_time.as_ms(),
        settings.max_client_cnxns,
        min.0,
        max.0,
    );
    if let Some(peer) = asked.peer {
        text += &format!(
            "initLimit={}\nsyncLimit={}\nelectionAlg=3\nelectionPort=3888\nquorumPort=2888\n\
             peerType={}\n",
            settings.init_limit,
            settings.sync_limit,
            u8::from(!peer.member().ensemble.is_voter(peer.member().me)),
        );
        if peer.epoch().is_some() && tells_more {
            text += &format!("membership: \n{}", membership(&peer.member().ensemble));
        }
    }
    text
}

/// Sessions, ephemerals and connections.
// Source: DumpCommand.commandRun.
fn dump(asked: &Asked) -> String {
    let mut ephemerals = String::new();
    let owners = asked.database.tree.owners();
    for (session, own) in owners {
        ephemerals += &format!("{session}:\n");
        ephemerals.extend(own.sorted().map(|path| format!("\t{path}\n")));
    }
    let owners = asked.database.tree.owners().count();
    let row =
        |address, session, deadline| (deadline, format!("ip: {address} sessionId: {session}"));
    let asking = next_look(asked.now + CONNECTION_TICK);
    let nobody = row(address(None), SessionId::NONE, asking);
    let known = asked.front.iter();
    let known = known.map(|known| row(address(Some(known)), known.session, known.deadline));
    let text = format!(
        "SessionTracker dump:\n{}ephemeral nodes dump:\nSessions with Ephemerals ({owners}):\n\
         {ephemerals}",
        sessions(asked),
    );
    if !asked.release().words_tell_more() {
        return text;
    }
    text + "Connections dump:\nConnections " + &expiry_sets([nobody].into_iter().chain(known))
}

/// Whoever decides about sessions knows when they expire, the others how long they last.
// Source: SessionTrackerImpl.dumpSessions, LearnerSessionTracker.dumpSessions,
// LeaderSessionTracker.dumpSessions.
fn sessions(asked: &Asked) -> String {
    let of = |tracker: &Tracker| {
        let all = tracker.iter().map(|(id, tracked)| (tracked.deadline, id.to_string()));
        format!("Session {}", expiry_sets(all))
    };
    let local = asked.local().map(|local| format!("Local {}", of(local.tracker())));
    if let Some(tracker) = asked.server.tracker() {
        let all = of(tracker);
        return local.map_or(all.clone(), |local| format!("{local}Global {all}"));
    }
    let local = local.unwrap_or_default();
    let all = &asked.database.sessions;
    let rows = all.iter().map(|(id, timeout)| format!("{id}\t{timeout}\n"));
    format!("{local}Global Sessions({}):\n{}", all.len(), rows.collect::<String>())
}

// Source: ExpiryQueue.dump.
fn expiry_sets(elements: impl Iterator<Item = (SimTime, String)>) -> String {
    let mut sets: OrdMap<SimTime, Vec<String>> = OrdMap::new();
    elements.for_each(|(deadline, element)| sets.entry(deadline).or_default().push(element));
    let count: usize = sets.values().map(Vec::len).sum();
    let mut text = format!("Sets ({})/({count}):\n", sets.len());
    for (deadline, set) in &sets {
        text += &format!("{} expire at {}:\n", set.len(), date(wall_clock(*deadline)));
        text.extend(set.iter().map(|element| format!("\t{element}\n")));
    }
    text
}

/// The digests of the tree after every 128th zxid.
///
/// Real: the last 1,024 since the server began; here those that its newest snapshot and log give.
// Source: HashCommand.commandRun, DataTree.logZxidDigest.
fn hash(asked: &Asked) -> String {
    let disk = asked.server.disk();
    let mut database = Database::from_snapshot(&disk.snapshot);
    let mut text = String::new();
    for txn in disk.after(disk.snapshot.zxid) {
        if txn.zxid > asked.database.last_zxid {
            break;
        }
        database.apply(txn);
        if txn.zxid.0 % 128 == 0 {
            text += &format!("{:x}: {}\n", txn.zxid.0, digest::of(&database.tree).cast_signed());
        }
    }
    text
}

// Source: WatchManager.toString: the watches on data only.
fn wchs(asked: &Asked) -> String {
    let watches = &asked.database.data_watches;
    let (connections, paths) = (by_session(asked, watches).len(), watches.path_count());
    let total = watches.count();
    format!("{connections} connections watching {paths} paths\nTotal watches:{total}\n")
}

// Source: WatchManager.dumpWatches.
fn wchc(asked: &Asked) -> String {
    let mut text = String::new();
    for (session, paths) in &by_session(asked, &asked.database.data_watches) {
        text += &format!("{session}\n");
        text.extend(paths.iter().map(|path| format!("\t{path}\n")));
    }
    text + "\n"
}

fn wchp(asked: &Asked) -> String {
    let (mut text, mut last) = (String::new(), None);
    for (path, connection, _) in asked.database.data_watches.iter() {
        let Some(known) = asked.front.current(connection) else { continue };
        if last != Some(path) {
            text += &format!("{path}\n");
        }
        last = Some(path);
        text += &format!("\t{}\n", known.session);
    }
    text + "\n"
}

fn by_session<'a>(asked: &Asked, table: &'a WatchTable) -> OrdMap<SessionId, Vec<&'a str>> {
    let mut all: OrdMap<SessionId, Vec<&str>> = OrdMap::new();
    for (path, connection, _) in table.iter() {
        if let Some(known) = asked.front.current(connection) {
            all.entry(known.session).or_default().push(path.as_str());
        }
    }
    all
}

// Source: EnvCommand.commandRun, Environment.list.
fn environment(release: Release) -> String {
    let version = release.full_version();
    let memory = if release.words_tell_more() { MEMORY } else { "" };
    format!("Environment:\nzookeeper.version={version}\n{MACHINE}{memory}")
}

/// The machine on which a server would run.
const MACHINE: &str = "\
host.name=localhost
java.version=none
java.vendor=none
java.home=none
java.class.path=none
java.library.path=none
java.io.tmpdir=/tmp
java.compiler=none
os.name=simulated
os.arch=simulated
os.version=none
user.name=zookeeper
user.home=/home/zookeeper
user.dir=/
";

/// What it has left.
const MEMORY: &str = "\
os.memory.free=0MB
os.memory.max=0MB
os.memory.total=0MB
";
