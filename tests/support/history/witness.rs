//! Stands by a cluster's run and writes down what shells ask and are answered, and what servers
//! commit.
//!
//! *Invariant: a call stands as asked no later than it was, and as answered no earlier.*

use std::collections::{BTreeMap, VecDeque};

use zootrope::cluster::{Cluster, Record};
use zootrope::kafka::words::Fact;
use zootrope::sim::{Entry, Power, ProcessId, What};
use zootrope::zk::reply::Error;
use zootrope::zk::request::Op;
use zootrope::zk::server::{Role, Server};
use zootrope::zk::stat::SessionId;
use zootrope::zk::words::Fact as Told;
use zootrope::zk::zxid::Zxid;

use super::{Answered, Call, Log, Place, judge};

/// What was seen of a run so far.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    calls: Vec<Call>,
    clients: BTreeMap<ProcessId, Client>,
    log: Log,
    /// What was in anybody's log, committed or not.
    logged: Log,
    /// How far each server's log was read.
    read: BTreeMap<ProcessId, Zxid>,
    /// How far each server had applied it when it was looked at last.
    seen: BTreeMap<ProcessId, Zxid>,
}

#[derive(Clone, Debug, Default)]
struct Client {
    session: SessionId,
    /// Of its calls, those that wait: places in `calls`.
    waiting: VecDeque<usize>,
}

impl Witness {
    /// Somebody asks a shell.
    pub fn asked(&mut self, shell: ProcessId, name: &str, op: Op, asked: Place) {
        let client = self.clients.entry(shell).or_default();
        client.waiting.push_back(self.calls.len());
        let (client, session) = (name.to_owned(), SessionId::NONE);
        self.calls.push(Call { client, session, op, asked, answer: None });
    }

    /// Something has happened.
    pub fn record(
        &mut self,
        record: &Record<'_>,
        at: Place,
        cluster: &Cluster,
    ) -> Result<(), String> {
        let Some(process) = record.process else { return Ok(()) };
        if let Some(server) = cluster.process(process).zk() {
            self.look_at_log(process, server);
        }
        let Some(shell) = cluster.process(process).shell() else { return Ok(()) };
        let Some(client) = self.clients.get_mut(&process) else { return Ok(()) };
        if cluster.power(process) == Power::Off {
            self.lose(process, usize::MAX);
            return Ok(());
        }
        let library = shell.client();
        let answers = record.entries.iter().filter(|entry| is_answer(entry)).count();
        let replied = record.name == "reply" && matches!(record.what, What::Message(_));
        let last = shell.answer().filter(|(_, result)| **result != Err(Error::ConnectionLoss));
        if let (1, true, Some((op, result)), Some(library)) = (answers, replied, last, library) {
            let place = client.waiting.pop_front();
            let call = place.map(|place| &mut self.calls[place]);
            let call = call.filter(|call| call.op == *op);
            let name = cluster.name(process);
            let call = call.ok_or_else(|| format!("{name} is answered out of turn"))?;
            call.session = library.session();
            call.answer = Some(Answered { at, zxid: library.last_zxid(), result: result.clone() });
        } else if record.what == What::Request {
            // Refused at once, before those that wait.
            self.lose_last(process, answers);
        } else {
            self.lose(process, answers);
        }
        let session = library.map_or(SessionId::NONE, |library| library.session());
        let client = self.clients.entry(process).or_default();
        if session != SessionId::NONE {
            client.session = session;
        }
        Ok(())
    }

    /// So many of a client's calls will not be answered.
    fn lose(&mut self, process: ProcessId, count: usize) {
        let client = self.clients.entry(process).or_default();
        for place in client.waiting.drain(..count.min(client.waiting.len())) {
            self.calls[place].session = client.session;
        }
    }

    /// The calls that were made last are refused by the client itself.
    fn lose_last(&mut self, process: ProcessId, count: usize) {
        let client = self.clients.entry(process).or_default();
        let kept = client.waiting.len().saturating_sub(count);
        for place in client.waiting.drain(kept..) {
            self.calls[place].session = client.session;
        }
    }

    /// Writes down what has been committed since the last time.
    pub fn look_at_logs(&mut self, cluster: &Cluster) {
        for (id, _, process) in cluster.processes() {
            if let Some(server) = process.zk() {
                self.look_at_log(id, server);
            }
        }
    }

    /// What a server that serves has applied is committed, and so is every txn of the same epoch
    /// up to there, whoever has it in a log: a server that was sent a snapshot, or whose disk is
    /// slow or full, has applied what is not in its own.
    fn look_at_log(&mut self, process: ProcessId, server: &Server) {
        let disk = server.disk();
        let read = self.read.entry(process).or_default();
        if disk.last_zxid() > *read {
            for txn in disk.after(*read) {
                self.logged.entry(txn.zxid).or_insert_with(|| txn.clone());
            }
            *read = disk.last_zxid();
        }
        let serves = match server.role() {
            Role::Down => false,
            Role::Standalone(_) => true,
            Role::Peer(peer) => peer.epoch().is_some(),
        };
        let Some(database) = server.database().filter(|_| serves) else { return };
        let (last, seen) = (database.last_zxid, self.seen.entry(process).or_default());
        if last <= *seen {
            return;
        }
        let own = disk.after(*seen).take_while(|txn| txn.zxid <= last);
        let window = server.peer().into_iter().flat_map(|peer| peer.member().window.after(*seen));
        let unlogged = window.take_while(|txn| txn.zxid <= last);
        let of_epoch = self.logged.range(Zxid::new(last.epoch(), 0)..=last).map(|(_, txn)| txn);
        for txn in own.chain(unlogged).chain(of_epoch) {
            self.log.entry(txn.zxid).or_insert_with(|| txn.clone());
        }
        *seen = last;
    }

    /// Whether all that was seen can have come so.
    pub fn judge(mut self, cluster: &Cluster) -> Result<(), String> {
        self.look_at_logs(cluster);
        let clients: Vec<_> = self.clients.keys().copied().collect();
        clients.into_iter().for_each(|client| self.lose(client, usize::MAX));
        judge(&self.calls, &self.log)
    }
}

fn is_answer(entry: &Entry<zootrope::cluster::Words>) -> bool {
    matches!(entry, Entry::Fact(Fact::Zk(Told::Answered { .. } | Told::Refused { .. })))
}
