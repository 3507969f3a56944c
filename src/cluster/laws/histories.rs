//! The laws of ZooKeeper that compare with what was before: what leaders have proposed, what was
//! committed and answered, which watches were armed.
//!
//! Not here: laws that one look at the servers decides (`zk`, and the floor's own `laws`).
//!
//! *Invariant:* what is remembered grows with epochs, sessions and watched paths, not with txns.

use super::zk::{client, decided};
use super::{Seen, Verdict, Witness, none};
use crate::cluster::{Cluster, Record};
use crate::kafka::words::Fact;
use crate::sim::{EventId, OrdMap, OrdSet, ProcessId, What};
use crate::zk::acl::Acl;
use crate::zk::client_watches::Watches;
use crate::zk::database::{Database, Disk};
use crate::zk::leader::Leader;
use crate::zk::path::Path;
use crate::zk::quorum_peer::{PeerRole, QuorumPeer};
use crate::zk::reply::{Access, EventKind, WatchEvent};
use crate::zk::server::Server;
use crate::zk::stat::SessionId;
use crate::zk::tree::Znode;
use crate::zk::txn::{Txn, TxnBody};
use crate::zk::watch::{ConnectionId, WatchMode};
use crate::zk::words::Fact as Told;
use crate::zk::zxid::Zxid;
use std::sync::Arc;

/// How many proposals, events and refusals are remembered.
const KEPT: usize = 256;

/// What is remembered of an ensemble.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    /// The last that leaders have proposed, as they proposed them.
    pub(super) proposed: OrdMap<Zxid, Arc<Txn>>,
    /// A zxid under which something else had been proposed before.
    twice: Option<Zxid>,
    /// The last that was committed, by epoch.
    pub(super) committed: OrdMap<u32, Zxid>,
    /// What was committed last when an epoch began.
    pub(super) founded: OrdMap<u32, Zxid>,
    /// Up to where a server's txns have been compared with what was proposed.
    pub(super) applied: OrdMap<ProcessId, Zxid>,
    /// The number of the last write of each session, and up to where they have been looked at.
    pub(super) xids: OrdMap<SessionId, i32>,
    pub(super) ordered: Zxid,
    /// The highest number below a znode, and since when there is that znode.
    pub(super) numbers: OrdMap<Path, (Zxid, i64)>,
    /// The last txn that a server has told of since it began.
    pub(super) told: OrdMap<ProcessId, Zxid>,
    /// The last write that a client was acknowledged.
    pub(super) written: OrdMap<ProcessId, (SessionId, Zxid)>,
    /// By event in which watches fired: the last txn that made them.
    pub(super) fired: OrdMap<EventId, Zxid>,
    /// What each client waits for, and what made the last event that it heard.
    waiting: OrdMap<ProcessId, (Watches, Option<EventId>)>,
    /// One-shot watches that have not fired, as they were seen last.
    pub(super) armed: OrdMap<(ProcessId, Table, Path), Armed>,
    /// Writes that were refused since trees were looked at.
    pub(super) refused: OrdSet<Zxid>,
    pub(super) replayed: Option<Replayed>,
}

/// On what a watch is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Table {
    Data,
    Child,
}

/// The watches on one znode.
#[derive(Clone, Debug)]
pub(super) struct Armed {
    /// When the znode came to be, and when what they are for was changed last.
    pub(super) state: (Zxid, Zxid),
    by: Vec<ConnectionId>,
}

/// What one server's disk comes to.
#[derive(Clone, Debug)]
pub(super) struct Replayed {
    process: ProcessId,
    snapshot: Zxid,
    pub(super) database: Database,
    /// How far the server had come when both were compared.
    pub(super) compared: Zxid,
}

/// Takes note of what a server has done.
pub(super) fn see(past: &mut Past, record: &Record<'_>, cluster: &Cluster) {
    let Some(process) = record.process else { return };
    let Some(server) = cluster.process(process).zk() else { return };
    if record.what == What::Boot {
        past.told.remove(&process);
        past.forget_watches(process);
    }
    if let Some((_, leader)) = server.peer().and_then(leading) {
        past.see_proposals(leader);
    }
    if let Some(database) = server.database().filter(|_| server.tracker().is_some()) {
        past.see_commits(database, server.disk());
    }
    let mut zxid = None;
    for fact in record.facts() {
        zxid = zxid_of(fact).or(zxid);
        match fact {
            Fact::Zk(Told::Looking { .. }) => past.forget_watches(process),
            Fact::Zk(Told::RequestRefused { zxid, .. }) => past.refuse(*zxid),
            Fact::Zk(Told::WatchFired { path, .. }) => {
                past.armed.remove(&(process, Table::Data, path.clone()));
                past.armed.remove(&(process, Table::Child, path.clone()));
                let last = server.database().map(|database| database.last_zxid);
                if let Some(by) = zxid.or(last).filter(|_| record.name != "setWatches") {
                    past.fire(record.id, by);
                }
            }
            _ => {}
        }
    }
}

impl Past {
    fn see_proposals(&mut self, leader: &Leader) {
        for txn in leader.proposals().iter().rev() {
            match self.proposed.get(&txn.zxid) {
                Some(known) if known == txn => return,
                Some(_) => {
                    self.twice = Some(txn.zxid);
                    return;
                }
                None => {}
            }
            self.proposed.insert(txn.zxid, txn.clone());
            if self.proposed.len() > KEPT {
                self.proposed.pop_first();
            }
        }
    }

    /// What one who decides has applied is committed; with an epoch all that its leader had.
    fn see_commits(&mut self, database: &Database, disk: &Disk) {
        let (zxid, epoch) = (database.last_zxid, database.last_zxid.epoch());
        match self.committed.get(&epoch) {
            Some(known) if *known >= zxid => return,
            Some(_) => {}
            None => {
                let before = self.committed.iter().filter(|(before, _)| **before < epoch);
                let txns = before.map(|(_, zxid)| *zxid).filter(|zxid| zxid.counter() > 0);
                let last = txns.max().unwrap_or_default();
                self.founded.insert(epoch, last);
                self.commit(disk.last_zxid());
            }
        }
        self.commit(zxid);
    }

    fn commit(&mut self, zxid: Zxid) {
        let last = self.committed.entry(zxid.epoch()).or_insert(zxid);
        *last = zxid.max(*last);
    }

    fn refuse(&mut self, zxid: Zxid) {
        self.refused.insert(zxid);
        if self.refused.len() > KEPT {
            self.refused.pop_first();
        }
    }

    fn fire(&mut self, event: EventId, by: Zxid) {
        self.fired.insert(event, by);
        if self.fired.len() > KEPT {
            self.fired.pop_first();
        }
    }

    fn forget_watches(&mut self, process: ProcessId) {
        self.armed.retain(|(server, ..), _| *server != process);
    }
}

/// A server that leads, and has a quorum.
fn leading(peer: &QuorumPeer) -> Option<(&QuorumPeer, &Leader)> {
    match peer.role() {
        PeerRole::Leading(leader) if leader.epoch().is_some() => Some((peer, leader)),
        _ => None,
    }
}

fn leader_of(process: ProcessId, cluster: &Cluster) -> Option<(&QuorumPeer, &Leader)> {
    leading(cluster.process(process).zk()?.peer()?)
}

/// The txn that a fact is about.
fn zxid_of(fact: &Fact) -> Option<Zxid> {
    match fact {
        Fact::Zk(
            Told::ZnodeCreated { zxid, .. }
            | Told::ZnodeChanged { zxid, .. }
            | Told::AclChanged { zxid, .. }
            | Told::ZnodeDeleted { zxid, .. }
            | Told::RequestRefused { zxid, .. },
        ) => Some(*zxid),
        _ => None,
    }
}

/// Z3: a server applies only what a leader has proposed, and as it was proposed.
pub(super) fn only_proposals_are_applied(
    seen: &mut Seen,
    process: ProcessId,
    cluster: &Cluster,
) -> Verdict {
    let past = &mut seen.past;
    let Some(peer) = cluster.process(process).zk().and_then(|server| server.peer()) else {
        return Ok(());
    };
    let window = &peer.member().window;
    let known = past.applied.get(&process).copied().unwrap_or_default();
    let first = past.proposed.first_key_value().map(|(zxid, _)| *zxid);
    let (Some(last), Some(first)) = (window.last(), first) else { return Ok(()) };
    if last == known {
        return Ok(());
    }
    past.applied.insert(process, last);
    let from = if last < known { Zxid::ZERO } else { known };
    let mut new = window.after(from).filter(|txn| txn.zxid >= first);
    let wrong = new.find(|txn| past.proposed.get(&txn.zxid) != Some(txn));
    none(wrong.map(|txn| format!("server={} zxid={}", cluster.name(process), txn.zxid)))
}

/// Z11: no zxid is given to two txns.
pub(super) fn zxids_are_used_once(seen: &mut Seen, _: ProcessId, _: &Cluster) -> Verdict {
    none(seen.past.twice.map(|zxid| format!("zxid={zxid}")))
}

/// Z5: who leads in an epoch has all that was committed before it.
pub(super) fn leaders_have_what_is_committed(
    seen: &mut Seen,
    process: ProcessId,
    cluster: &Cluster,
) -> Verdict {
    let Some((peer, leader)) = leader_of(process, cluster) else { return Ok(()) };
    let epoch = leader.epoch().map_or(0, |epoch| epoch.0);
    let before = seen.past.founded.get(&epoch).filter(|zxid| **zxid > Zxid::ZERO);
    let lacking = before.filter(|zxid| !holds(peer.disk(), **zxid));
    none(lacking.map(|zxid| {
        let name = cluster.name(process);
        format!("server={name} epoch={epoch} zxid={zxid}")
    }))
}

/// Whether a txn is in that snapshot or log.
fn holds(disk: &Disk, zxid: Zxid) -> bool {
    let end = usize::try_from(disk.first_after(zxid)).expect("a log is in memory");
    let last = end.checked_sub(1).and_then(|place| disk.log.get(place));
    disk.snapshot.zxid >= zxid || last.is_some_and(|txn| txn.zxid == zxid)
}

/// Z7: a client is answered only about what is committed. Who is content with reads may see more.
pub(super) fn answers_are_committed(
    seen: &mut Seen,
    process: ProcessId,
    cluster: &Cluster,
) -> Verdict {
    let asked = cluster.process(process);
    let Some((session, zxid)) = client(asked) else { return Ok(()) };
    let shell = asked.shell().and_then(|shell| shell.client());
    if shell.is_some_and(|client| client.is_content_with_reads()) {
        return Ok(());
    }
    let committed = &seen.past.committed;
    let is_committed = match committed.get(&zxid.epoch()) {
        Some(last) => zxid <= *last,
        None => committed.first_key_value().is_none_or(|(first, _)| zxid.epoch() < *first),
    };
    none((!is_committed).then(|| {
        let name = cluster.name(process);
        format!("client={name} session={session} zxid={zxid}")
    }))
}

/// Z23: of one session no two connections are served writes: they take effect in the order of
/// their numbers.
pub(super) fn one_connection_writes(
    seen: &mut Seen,
    process: ProcessId,
    cluster: &Cluster,
) -> Verdict {
    let past = &mut seen.past;
    let Some((peer, _)) = leader_of(process, cluster) else { return Ok(()) };
    for txn in peer.member().window.after(past.ordered) {
        past.ordered = txn.zxid;
        let session = txn.session;
        match txn.body {
            TxnBody::CloseSession { .. } => {
                past.xids.remove(&session);
            }
            _ if txn.cxid <= 0 || txn.body.is_refusal() => {}
            _ => {
                let before = past.xids.insert(session, txn.cxid);
                if let Some(before) = before.filter(|before| *before >= txn.cxid) {
                    let (zxid, xid) = (txn.zxid, txn.cxid);
                    return Err(format!("session={session} zxid={zxid} xid={xid} was={before}"));
                }
            }
        }
    }
    Ok(())
}

/// Z14: below one znode a sequential name has a higher number than all before it.
pub(super) fn numbers_rise(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    let server = witness.record.process.and_then(|process| witness.cluster.process(process).zk());
    let Some(database) = server.and_then(|server| server.database()) else { return Ok(()) };
    for fact in witness.record.facts() {
        let Fact::Zk(Told::ZnodeCreated { path, .. }) = fact else { continue };
        let (Some(number), Some(parent)) = (number_of(path), path.parent()) else { continue };
        let Some(znode) = database.tree.znode(&parent) else { continue };
        let born = znode.stat.czxid;
        let before = seen.past.numbers.insert(parent, (born, number));
        if let Some((_, before)) = before.filter(|before| before.0 == born && before.1 >= number) {
            return Err(format!("path={path} was={before}"));
        }
    }
    Ok(())
}

/// The number at the end of a name, if it is as long as those that servers give.
fn number_of(path: &Path) -> Option<i64> {
    let name = path.name().as_bytes();
    let digits = &name[name.len().checked_sub(10)?..];
    let number = digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
    });
    number.filter(|_| name.get(name.len().wrapping_sub(11)).is_none_or(|c| !c.is_ascii_digit()))
}

/// Z18: no answer to a session is from before a write of its own that was acknowledged.
pub(super) fn own_writes_are_seen(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    let Some(process) = witness.record.process else { return Ok(()) };
    for fact in witness.record.facts() {
        let Fact::Zk(Told::Answered { op, path, zxid }) = fact else { continue };
        let Some((session, _)) = client(witness.cluster.process(process)) else { continue };
        let own = seen.past.written.get(&process).filter(|own| own.0 == session);
        if let Some((_, was)) = own.filter(|own| own.1 > *zxid) {
            let name = witness.cluster.name(process);
            return Err(format!("client={name} path={path} zxid={zxid} was={was}"));
        }
        let writes = ["create", "delete", "setData", "setACL", "multi"];
        if writes.iter().any(|write| op.starts_with(write) && *op != "multiRead") {
            seen.past.written.insert(process, (session, *zxid));
        }
    }
    Ok(())
}

/// Z19: what a watch tells comes before any answer that knows of the change.
pub(super) fn events_come_before_answers(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    let Witness { record, cluster, .. } = witness;
    let Some(by) = record.cause.and_then(|cause| seen.past.fired.get(&cause)) else {
        return Ok(());
    };
    for fact in record.facts() {
        let (Fact::Zk(Told::WatchHeard { path, .. }), Some(process)) = (fact, record.process)
        else {
            continue;
        };
        let client = client(cluster.process(process));
        if let Some((_, zxid)) = client.filter(|client| client.1 >= *by) {
            let name = cluster.name(process);
            return Err(format!("client={name} path={path} zxid={zxid} event={by}"));
        }
    }
    Ok(())
}

/// Z20a: a watch that was armed once fires once: whoever hears of something has asked for it. After
/// a reconnect a znode that is gone is told of twice, if both its data and its children were
/// watched.
// Source: DataTree.setWatches.
pub(super) fn watches_fire_once(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    let Witness { record, cluster, .. } = witness;
    let Some(process) = record.process else { return Ok(()) };
    let Some(client) = cluster.process(process).shell().and_then(|shell| shell.client()) else {
        return Ok(());
    };
    let before = seen.past.waiting.get(&process).cloned().unwrap_or_default();
    let mut verdict = Ok(());
    let mut made_by = before.1;
    for fact in record.facts() {
        let Fact::Zk(Told::WatchHeard { kind, path }) = fact else { continue };
        let event = WatchEvent { kind: *kind, path: path.clone() };
        let again = *kind == EventKind::NodeDeleted && record.cause == before.1;
        if !again && !before.0.expect(&event) {
            verdict = Err(format!("client={} kind={kind} path={path}", cluster.name(process)));
        }
        made_by = record.cause;
    }
    seen.past.waiting.insert(process, (client.watches().clone(), made_by));
    verdict
}

/// Z20b: a one-shot watch that has not fired is on what has not changed.
pub(super) fn changes_fire_watches(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    let before = std::mem::take(&mut seen.past.armed);
    let mut verdict = Ok(());
    for (process, name, of) in cluster.processes() {
        let Some(database) = of.zk().and_then(Server::database) else { continue };
        let tables =
            [(Table::Data, &database.data_watches), (Table::Child, &database.child_watches)];
        for (kind, table) in tables {
            for (path, connection, mode) in table.iter() {
                let state = state(kind, database.tree.znode(path));
                let Some(state) = state.filter(|_| mode == WatchMode::OneShot) else { continue };
                let key = (process, kind, path.clone());
                let missed = before
                    .get(&key)
                    .is_some_and(|before| before.state != state && before.by.contains(&connection));
                if missed {
                    verdict = Err(format!("server={name} path={path}"));
                }
                let armed = seen.past.armed.entry(key);
                armed.or_insert_with(|| Armed { state, by: Vec::new() }).by.push(connection);
            }
        }
    }
    verdict
}

/// What a watch waits to change; nothing is said of znodes that not everybody may read, for what
/// may not be read is not told.
fn state(kind: Table, znode: Option<&Znode>) -> Option<(Zxid, Zxid)> {
    let Some(znode) = znode else { return Some((Zxid::ZERO, Zxid::ZERO)) };
    let changed = match kind {
        Table::Data => znode.stat.mzxid,
        Table::Child => znode.stat.pzxid,
    };
    (znode.acl == Acl::open()).then_some((znode.stat.czxid, changed))
}

/// Z21: what one txn does is done in one step: no server tells of it twice.
pub(super) fn txns_are_one_step(seen: &mut Seen, witness: &Witness<'_>) -> Verdict {
    let Witness { record, cluster, .. } = witness;
    let Some(process) = record.process else { return Ok(()) };
    let before = seen.past.told.get(&process).copied().unwrap_or_default();
    for zxid in record.facts().filter_map(zxid_of) {
        if zxid <= before {
            return Err(format!("server={} zxid={zxid} last={before}", cluster.name(process)));
        }
        seen.past.told.insert(process, zxid);
    }
    Ok(())
}

/// Z22: a write that was refused has changed no znode.
pub(super) fn refused_writes_change_nothing(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    let refused = &mut seen.past.refused;
    let Some(database) = decided(cluster).filter(|_| !refused.is_empty()) else { return Ok(()) };
    let wrong = database.tree.iter().find(|(_, znode)| {
        let stat = &znode.stat;
        [stat.czxid, stat.mzxid, stat.pzxid].iter().any(|zxid| refused.contains(zxid))
    });
    let wrong = wrong.map(|(path, znode)| format!("path={path} zxid={}", znode.stat.mzxid));
    if wrong.is_none() {
        refused.clear();
    }
    none(wrong)
}

/// Z29: snapshot and log of a server, read anew, come to what it has applied.
pub(super) fn disks_hold_what_is_applied(seen: &mut Seen, cluster: &Cluster) -> Verdict {
    let servers = cluster.processes().filter_map(|(id, name, of)| Some((id, name, of.zk()?)));
    let mut serving = servers.filter(|(.., server)| server.access() == Some(Access::ReadWrite));
    let Some((process, name, server)) = serving.next() else { return Ok(()) };
    let (Some(database), disk) = (server.database(), server.disk()) else { return Ok(()) };
    let kept = seen.past.replayed.take().filter(|replayed| replayed.fits(process, disk));
    let mut replayed = kept.unwrap_or_else(|| Replayed::begin(process, disk));
    for txn in disk.after(replayed.database.last_zxid) {
        replayed.database.apply(txn);
    }
    let (last, logged) = (database.last_zxid, disk.last_zxid());
    let is_logged = last == logged || last.counter() == 0 && logged < last;
    let differs = is_logged
        && replayed.compared != last
        && (replayed.database.tree != database.tree
            || replayed.database.sessions != database.sessions);
    if is_logged && !differs {
        replayed.compared = last;
    }
    seen.past.replayed = Some(replayed);
    none(differs.then(|| format!("server={name} zxid={last}")))
}

impl Replayed {
    fn begin(process: ProcessId, disk: &Disk) -> Replayed {
        let database = Database::from_snapshot(&disk.snapshot);
        Replayed { process, snapshot: disk.snapshot.zxid, database, compared: Zxid(-1) }
    }

    /// Whether the disk has only grown since.
    fn fits(&self, process: ProcessId, disk: &Disk) -> bool {
        let same = self.process == process && self.snapshot == disk.snapshot.zxid;
        same && holds(disk, self.database.last_zxid)
    }
}
