//! What `show` shows of the cluster, in notation: one row each.
//!
//! *Invariant:* showing changes nothing.

use super::Lab;
use super::logs::{Wanted, logs};
use crate::cluster::laws::{Broken, LAWS};
use crate::cluster::notation::{Line, Quoted, Told};
use crate::cluster::{AnyProcess, Trouble};
use crate::kafka::broker::{Broker, Phase, Running};
use crate::kafka::client::{Partitions, Shown};
use crate::kafka::group_record::OffsetAndMetadata;
use crate::kafka::lone;
use crate::kafka::partition::Partition;
use crate::kafka::words::Brokers;
use crate::kafka::znodes::consumers::{ConsumerZnode, KeptGroup};
use crate::sim::Power;
use crate::zk::database::Database;
use crate::zk::four_letter;
use crate::zk::quorum_peer::PeerRole;
use crate::zk::stat::Owner;
use std::sync::Arc;

/// Something to be shown, and of what.
#[derive(Clone, Debug)]
pub struct Show {
    row: &'static Row,
    line: Line,
}

/// One thing that can be shown.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// How it is written.
    pub usage: &'static str,
    lines: fn(&Lab, &mut Line) -> Result<Vec<String>, Trouble>,
}

/// Everything that can be shown.
pub const SHOWS: &[Row] = &[
    Row { name: "moment", usage: "show moment", lines: moment },
    Row { name: "hash", usage: "show hash", lines: hash },
    Row { name: "processes", usage: "show processes", lines: processes },
    Row { name: "servers", usage: "show servers", lines: servers },
    Row { name: "brokers", usage: "show brokers", lines: broker_phases },
    Row { name: "partition", usage: "show partition TOPIC-N", lines: partition },
    Row { name: "records", usage: "show records TOPIC-N", lines: records },
    Row { name: "printed", usage: "show printed TOOL|CLIENT", lines: printed },
    Row { name: "word", usage: "show word SERVER WORD", lines: word },
    Row { name: "tree", usage: "show tree [PATH]", lines: tree },
    Row { name: "partitions", usage: "show partitions [TOPIC]", lines: partitions },
    Row { name: "group", usage: "show group GROUP", lines: group },
    Row { name: "timers", usage: "show timers PROCESS", lines: timers },
    Row { name: "log", usage: "show log PROCESS [WORDS]", lines: log },
    Row { name: "fetch-sessions", usage: "show fetch-sessions BROKER", lines: fetch_sessions },
    Row { name: "laws", usage: "show laws", lines: broken_laws },
];

impl Show {
    /// Reads what follows the word `show`.
    pub fn parse(line: &mut Line) -> Result<Show, Trouble> {
        let word = line.word("something to show")?;
        let row = SHOWS.iter().find(|row| row.name == word.text);
        let names = || SHOWS.iter().map(|row| row.name).collect::<Vec<_>>().join(" or ");
        let row = row.ok_or_else(|| word.is_not(names()))?;
        Ok(Show { row, line: line.take() })
    }
}

/// The lines that show it.
pub fn lines(show: &Show, lab: &Lab) -> Result<Vec<String>, Trouble> {
    let mut line = show.line.clone();
    let lines = (show.row.lines)(lab, &mut line)?;
    line.finish()?;
    Ok(lines)
}

/// What a process has written so far, as `grep` finds it.
fn log(lab: &Lab, line: &mut Line) -> Result<Vec<String>, Trouble> {
    let word = line.word("a process")?;
    if lab.cluster().find(&word.text).is_none() {
        return Err(word.is_not("the name of a process"));
    }
    let words = line.as_typed().join(" ");
    let written = logs(lab, &Wanted { process: Some(word.text), words });
    Ok(written.iter().map(|line| format!("{} {} {}", line.time, line.level, line.words)).collect())
}

fn broken_laws(lab: &Lab, _: &mut Line) -> Result<Vec<String>, Trouble> {
    let line = |broken: &Broken| {
        let (law, at) = (&LAWS[broken.law], broken.at);
        let healed = broken.healed.map_or(String::new(), |at| format!(" healed={at}"));
        format!("{at} {} {}{healed} {}", law.ids, law.name, broken.what)
    };
    let broken = lab.laws().broken();
    let all_hold = broken.is_empty().then(|| format!("{} laws hold", LAWS.len()));
    Ok(broken.iter().map(line).chain(all_hold).collect())
}

fn moment(lab: &Lab, _: &mut Line) -> Result<Vec<String>, Trouble> {
    Ok(vec![format!("moment={}", Told(lab.moment()))])
}

fn hash(lab: &Lab, _: &mut Line) -> Result<Vec<String>, Trouble> {
    let mut trace = lab.trace().clone();
    trace.truncate(lab.position());
    Ok(vec![format!("run={:016x} state={:016x}", trace.hash(), lab.cluster().hash())])
}

fn processes(lab: &Lab, _: &mut Line) -> Result<Vec<String>, Trouble> {
    let cluster = lab.cluster();
    let line = |(id, name, _): (_, &str, _)| {
        let power = match cluster.power(id) {
            Power::Off => "off",
            Power::Running => "running",
            Power::Frozen => "frozen",
        };
        format!("{name:<7}  {power}")
    };
    Ok(cluster.processes().map(line).collect())
}

fn servers(lab: &Lab, _: &mut Line) -> Result<Vec<String>, Trouble> {
    let cluster = lab.cluster();
    let servers = cluster.processes().filter_map(|(id, name, process)| {
        let (server, power) = (process.zk()?, cluster.power(id));
        let role = match (server.peer().map(|peer| peer.role()), server.database()) {
            _ if power == Power::Off => "off",
            (Some(PeerRole::Leading(_)), _) => "leading",
            (Some(PeerRole::Learning(_)), Some(_)) => "following",
            (Some(_), _) => "looking",
            (None, Some(_)) => "standalone",
            (None, None) => "down",
        };
        let epoch = server.disk().epochs.current;
        let zxid = server.database().map_or("-".to_owned(), |db| db.last_zxid.to_string());
        Some(format!("{name:<7}  {role} epoch={epoch} zxid={zxid}"))
    });
    Ok(servers.collect())
}

fn broker_phases(lab: &Lab, _: &mut Line) -> Result<Vec<String>, Trouble> {
    let line = |(name, broker): (&str, &Broker)| {
        let Some(running) = broker.running() else { return format!("{name:<7}  off") };
        let phase = match running.phase() {
            Phase::Starting(_) => "starting",
            Phase::Serving => "serving",
            Phase::Stopping(_) => "stopping",
        };
        let controller = running.controller();
        let crown = match controller.is_active() {
            true => format!(" controller-epoch={}", controller.epoch()),
            false => String::new(),
        };
        let leads = running.replicas().partitions().filter(|partition| partition.leads()).count();
        format!("{name:<7}  {phase} leads={leads}{crown}")
    };
    let shown = |(_, name, process): (_, &str, &AnyProcess)| match process.lone_broker() {
        Some(broker) => Some(format!("{name:<7}  {}", lone_broker(lab, broker))),
        None => Some(line((name, process.broker()?))),
    };
    Ok(lab.cluster().processes().filter_map(shown).collect())
}

/// How far a broker without replicas is, and how many records have come from whom.
fn lone_broker(lab: &Lab, broker: &lone::Broker) -> String {
    let Some(running) = broker.running() else { return "off".into() };
    let phase = match running.phase() {
        lone::Phase::Starting => "starting",
        lone::Phase::Serving => "serving",
        lone::Phase::Stopping(_) => "stopping",
    };
    let received: u64 = running.received().values().sum();
    let mut line = format!("{phase} received={received}");
    for (from, count) in running.received() {
        line += &format!(" {}={count}", lab.cluster().name(*from));
    }
    line
}

/// Each broker's replica of a partition.
fn partition(lab: &Lab, line: &mut Line) -> Result<Vec<String>, Trouble> {
    let word = line.word("a partition like orders-0")?;
    let line = |name: &str, partition: &Partition| {
        let isr = partition.isr.iter().map(|id| id.to_string()).collect::<Vec<_>>().join(",");
        let isr = if partition.leads() { format!(" isr={isr}") } else { String::new() };
        let role = if partition.leads() { "leads" } else { "follows" };
        let (epoch, leo, hw) = (partition.leader_epoch, partition.log.end(), partition.hw);
        format!("{name:<7}  {role} leader-epoch={epoch}{isr} leo={leo} hw={hw}")
    };
    Ok(of_replicas(lab, &word.text, line))
}

/// What each replica of a partition has: offsets, values, and the leader epochs that took them.
fn records(lab: &Lab, line: &mut Line) -> Result<Vec<String>, Trouble> {
    let word = line.word("a partition like orders-0")?;
    let line = |name: &str, partition: &Partition| {
        let mut row = format!("{name:<7} ");
        for batch in partition.log.batches() {
            for (offset, record) in batch.enumerate() {
                let (value, epoch) =
                    (Shown::of(record.value.as_ref()), batch.partition_leader_epoch);
                row.push_str(&format!(" {offset}={value}@{epoch}"));
            }
        }
        row
    };
    Ok(of_replicas(lab, &word.text, line))
}

/// A line for each broker that has a replica of the partition.
fn of_replicas(lab: &Lab, name: &str, line: impl Fn(&str, &Partition) -> String) -> Vec<String> {
    let replica = |(_, broker, process): (_, &str, &AnyProcess)| {
        let mut partitions = process.broker()?.running()?.replicas().partitions();
        Some(line(broker, partitions.find(|partition| partition.tp.to_string() == name)?))
    };
    lab.cluster().processes().filter_map(replica).collect()
}

/// The fetch sessions that a broker keeps: whose each is, which fetch is next, of how many
/// partitions.
fn fetch_sessions(lab: &Lab, line: &mut Line) -> Result<Vec<String>, Trouble> {
    let word = line.word("a broker like broker1")?;
    let id = lab.cluster().find(&word.text);
    let broker = id.and_then(|id| lab.cluster().process(id).broker());
    let broker = broker.ok_or_else(|| word.is_not("the name of a broker"))?;
    let Some(running) = broker.running() else { return Ok(vec!["off".into()]) };
    let mut rows = Vec::new();
    for (number, session) in running.replicas().fetch_sessions().iter() {
        let whose = if session.is_follower { "follower" } else { "consumer" };
        let (epoch, size) = (session.epoch, session.size());
        rows.push(format!("{number} of={whose} epoch={epoch} partitions={size}"));
    }
    Ok(rows)
}

fn printed(lab: &Lab, line: &mut Line) -> Result<Vec<String>, Trouble> {
    let word = line.word("a tool like tool1")?;
    let id = lab.cluster().find(&word.text).ok_or_else(|| word.is_not("the name of a tool"))?;
    let process = lab.cluster().process(id);
    if let Some(shell) = process.shell() {
        let screen = shell.cli().screen().iter();
        return Ok(screen.flat_map(|printed| full_lines(&printed.text)).collect());
    }
    let tool = process.tool().ok_or_else(|| word.is_not("the name of a tool"))?;
    Ok(tool.printed().map_or(Vec::new(), |text| full_lines(text).collect()))
}

/// What a server answers to a four-letter word.
fn word(lab: &Lab, line: &mut Line) -> Result<Vec<String>, Trouble> {
    let (name, word) = (line.word("a server like zk1")?, line.word("a word like srvr")?);
    let server = lab.cluster().find(&name.text).and_then(|id| lab.cluster().process(id).zk());
    let server = server.ok_or_else(|| name.is_not("the name of a server"))?;
    let answer = four_letter::answer(server, &word.text, lab.moment().at);
    Ok(full_lines(&answer.unwrap_or_default()).collect())
}

/// The lines of a text but the empty ones, which would end a script's block.
fn full_lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned)
}

/// The znodes of the server that has applied the most.
fn tree(lab: &Lab, line: &mut Line) -> Result<Vec<String>, Trouble> {
    let top = line.word_if_any().map_or("/".to_owned(), |word| word.text);
    let Some(database) = database(lab) else {
        return Ok(vec!["no server serves".to_owned()]);
    };
    let is_asked_for = top.starts_with("/zookeeper");
    let below =
        |path: &str| path.starts_with(&top) && (is_asked_for || !path.starts_with("/zookeeper"));
    let znodes = database.tree.iter().filter(|(path, _)| below(path));
    let line = |(path, znode): (&crate::zk::path::Path, &crate::zk::tree::Znode)| {
        let text = znode.data.to_text().into_owned();
        let owner = match znode.stat.owner {
            Owner::Session(session) => format!(" owner={session}"),
            _ => String::new(),
        };
        format!("{path} version={}{owner} data={}", znode.stat.version, Quoted(&text))
    };
    Ok(znodes.map(line).collect())
}

/// Every partition as the broker that leads it has it.
fn partitions(lab: &Lab, line: &mut Line) -> Result<Vec<String>, Trouble> {
    let topic = line.word_if_any().map(|word| word.text);
    let mut lines = crate::sim::OrdMap::new();
    let running = brokers(lab);
    let led = running.iter().flat_map(|running| running.replicas().partitions());
    for partition in led.filter(|partition| partition.leads()) {
        let name = &partition.tp;
        if topic.as_ref().is_some_and(|topic| name.topic.as_str() != topic) {
            continue;
        }
        let isr = Brokers(partition.isr.clone());
        let (epoch, hw, end) = (partition.leader_epoch, partition.hw, partition.log.end());
        let leader = partition.leader;
        let text = format!("{name} leader={leader} epoch={epoch} isr={isr} hw={hw} leo={end}");
        lines.insert(name.clone(), text);
    }
    Ok(lines.into_values().collect())
}

/// A group as its coordinator has it, and how far it has come.
fn group(lab: &Lab, line: &mut Line) -> Result<Vec<String>, Trouble> {
    let word = line.word("a group")?;
    let running = brokers(lab);
    let mut kept = running.iter().filter_map(|running| running.groups().group(&word.text));
    let Some(group) = kept.next() else { return Ok(group_in_zookeeper(lab, &word.text)) };
    let (state, generation) = (group.state.name(), group.generation);
    let mut lines = vec![format!("{} state={state} generation={generation}", group.group_id)];
    for member in group.in_order() {
        let share: Partitions = member.assignment.iter().collect();
        let leads = if group.is_leader(&member.member_id) { " leads" } else { "" };
        lines.push(format!("{} partitions={share}{leads}", member.client_id));
    }
    let offset = |(partition, stored): (&_, &OffsetAndMetadata)| {
        format!("{partition} committed={}", stored.offset)
    };
    lines.extend(group.offsets.iter().map(offset));
    Ok(lines)
}

/// The same of a group that coordinates in ZooKeeper.
fn group_in_zookeeper(lab: &Lab, name: &str) -> Vec<String> {
    let known = database(lab).map(|database| KeptGroup::of(&database.tree, &name.into()));
    let kept = known.unwrap_or_default();
    let member = |(id, znode): &(Arc<str>, Option<ConsumerZnode>)| {
        let wanted = znode.iter().flat_map(|znode| &znode.subscription);
        let wanted: Vec<String> = wanted.map(|(topic, n)| format!("{topic}:{n}")).collect();
        format!("{id} wants={}", wanted.join(","))
    };
    let mut lines: Vec<String> = kept.members.iter().map(member).collect();
    lines.extend(kept.owners.iter().map(|(tp, thread)| format!("{tp} owner={thread}")));
    lines.extend(kept.offsets.iter().map(|(tp, offset)| format!("{tp} offset={offset}")));
    if lines.is_empty() {
        vec!["no coordinator keeps it, nor does ZooKeeper".into()]
    } else {
        lines
    }
}

/// What the server has that has applied the most.
fn database(lab: &Lab) -> Option<&Database> {
    let servers = lab.cluster().processes().filter_map(|(_, _, process)| process.zk()?.database());
    servers.max_by_key(|database| database.last_zxid)
}

fn brokers(lab: &Lab) -> Vec<&Running> {
    let cluster = lab.cluster();
    let running = cluster.processes().filter(|(id, _, _)| cluster.power(*id) == Power::Running);
    running.filter_map(|(_, _, process)| process.broker()?.running()).collect()
}

fn timers(lab: &Lab, line: &mut Line) -> Result<Vec<String>, Trouble> {
    use crate::sim::Vocabulary;
    let word = line.word("a process")?;
    let cluster = lab.cluster();
    let id = cluster.find(&word.text).ok_or_else(|| word.is_not("the name of a process"))?;
    let name = |timer| crate::cluster::Words::timer_name(&timer);
    Ok(cluster.timers(id).map(|(timer, at)| format!("{at} {}", name(timer))).collect())
}
