//! A broker's handle to ZooKeeper: batches of requests that survive lost connections, and which
//! paths are watched.
//!
//! Not here: sessions and connections (`zk::client`), and what the paths mean (`znodes`).
//!
//! *Invariant: each asker has at most one batch under way; it hears of it once, when every request
//! of it has an answer, and never if the session expires first and its thread does not go on.*
// Source: kafka.zookeeper.ZooKeeperClient, kafka.zk.KafkaZkClient (3.9)
// Real: at most `zookeeper.max.in.flight.requests` are on their way; here a whole batch is, because
// the answers come in the same order.

use std::collections::VecDeque;
use std::sync::Arc;

use super::release::Release;
use super::words::{Message, Timer, Words};
use crate::sim::{Event, OrdMap, OrdSet, Outbox, ProcessId};
use crate::zk::client::{Birth, Client, Config, Notice};
use crate::zk::path::Path;
use crate::zk::reply::{Answer, Error, EventKind, OpResult, WatchEvent};
use crate::zk::request::{Create, Op, mode};
use crate::zk::stat::{Bytes, SessionId, Stat};

/// Who inside a broker asks: what is a thread of its own in a real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asker {
    /// The start-up.
    Startup,
    /// The controller's events.
    Controller,
    /// The watcher of `/feature`.
    Features,
    /// The watcher of `/config/changes`.
    Configs,
    /// Something done for a client.
    Errand(u32),
    /// The threads of an old consumer that register it and rebalance.
    Member,
    /// Its threads that commit offsets.
    Offsets,
    /// Its thread that looks for leaders.
    LeaderFinder,
    /// Its thread that looks whether its pattern matches other topics.
    Topics,
    /// Whoever of its threads looks for the coordinator of offsets.
    Coordinator,
    /// The thread that tells listeners what a watch has told (to 1.0).
    Listeners,
    /// Leaders that write their ISRs (to 2.6).
    Isrs,
    /// The thread that notes this for the controller (0.9 to 2.6).
    IsrNotes,
    /// A stop that looks for the controller.
    Stop,
}

impl Asker {
    /// Whether a thread goes on in the next session: one that commits, one that stops, and one that
    /// does something for a client, which would wait for its answer for five minutes.
    // Source: ZkClient.retryUntilConnected
    // Real: so it is to 1.0; from 1.1 on SESSIONEXPIRED is thrown, and a client is told of an
    // unknown error and may try again; here its errand goes on, because it would.
    fn outlives_its_session(self, manner: Manner) -> bool {
        match self {
            Asker::Offsets | Asker::Errand(_) => true,
            Asker::Stop => manner == Manner::OneByOne,
            _ => false,
        }
    }
}

/// How a process asks ZooKeeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Manner {
    /// A whole batch at once (1.1+).
    Pipelined,
    /// One request after the other; where a parent is missing it is made, and what a watch has
    /// told is read before anybody hears of it (to 1.0).
    // Source: org.I0Itec.zkclient.ZkClient, kafka.utils.ZkUtils (0.8.2)
    OneByOne,
}

/// One answer.
pub type Reply = Result<Answer, Error>;

/// The answers to a batch, in the order asked.
pub type Replies = Vec<Reply>;

/// Names a request: whose, and which of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(Asker, u32);

/// Requests under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Batch {
    ops: Vec<Op>,
    replies: Vec<Option<Reply>>,
    /// Parents to be made first, the highest last.
    parents: Vec<Op>,
    /// The session in which it was asked is over.
    is_cut: bool,
}

impl Batch {
    /// What has no answer, of a batch that was asked at once.
    fn rest(&self) -> impl Iterator<Item = (u32, Op)> {
        let all = (0..).zip(&self.ops).zip(&self.replies);
        all.filter(|(_, reply)| reply.is_none()).map(|((place, op), _)| (place, op.clone()))
    }

    /// What is to be asked, if one is asked after the other.
    fn next(&self) -> Option<(u32, Op)> {
        let place = self.replies.iter().position(Option::is_none)?;
        let op = self.parents.last().unwrap_or(&self.ops[place]);
        Some((u32::try_from(place).expect("a batch is short"), op.clone()))
    }

    /// Takes the answer to that; a create or an unconditional setData that misses a parent is
    /// asked again behind the create of the parent.
    // Source: ZkUtils.createPersistentPath, createEphemeralPath, updatePersistentPath
    fn take(&mut self, place: usize, reply: Reply) {
        let asked = self.parents.last().unwrap_or(&self.ops[place]);
        let parent = match (asked, &reply) {
            (Op::Create(create), Err(Error::NoNode)) => create.path.parent(),
            (Op::SetData { path, version: -1, .. }, Err(Error::NoNode)) => path.parent(),
            _ => None,
        };
        if let Some(parent) = parent {
            if let Op::SetData { path, data, .. } = asked {
                self.ops[place] = create(path.clone(), data.clone());
            }
            self.parents.push(create(parent, Bytes::NULL));
        } else if self.parents.pop().is_none() {
            self.replies[place] = Some(reply);
        }
    }
}

/// What has come of ZooKeeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A new session.
    Session(SessionId),
    /// The session is no more, and with it all batches.
    Expired,
    /// The session was closed as wished.
    Closed,
    /// A batch is answered.
    Answered(Asker, Replies),
    /// A watch has fired that somebody has a use for.
    Watched(WatchEvent),
}

/// Whom an event is for.
pub enum Picked {
    /// The handle's client.
    Zk(Event<crate::zk::Words>),
    /// The process itself.
    Other(Event<Words>),
}

/// The handle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Zookeeper {
    config: Config,
    client: Client<Tag>,
    manner: Manner,
    batches: OrdMap<Asker, Batch>,
    nodes: OrdSet<Path>,
    children: OrdSet<Path>,
    /// What watches have told and nobody has heard of yet.
    events: VecDeque<WatchEvent>,
}

impl Zookeeper {
    /// A handle that asks as processes of that release do; it does nothing before `open`.
    pub fn of_release(config: Config, release: Release) -> Zookeeper {
        let one_by_one = release.asks_one_by_one();
        let manner = if one_by_one { Manner::OneByOne } else { Manner::Pipelined };
        Zookeeper::new(config, manner)
    }

    /// A handle that asks in this manner; it does nothing before `open`.
    pub fn new(config: Config, manner: Manner) -> Zookeeper {
        Zookeeper {
            manner,
            client: Client::new(config.clone()),
            config,
            batches: OrdMap::new(),
            nodes: OrdSet::new(),
            children: OrdSet::new(),
            events: VecDeque::new(),
        }
    }

    /// The client inside.
    pub fn client(&self) -> &Client<Tag> {
        &self.client
    }

    /// The session that it has now.
    pub fn session(&self) -> SessionId {
        self.client.session()
    }

    /// Looks for a server and a session.
    pub fn open(&mut self, out: &mut Outbox<'_, Words>) {
        out.embed(|out| self.client.open(out));
    }

    /// Looks for a new session, the old one being expired.
    pub fn reopen(&mut self, out: &mut Outbox<'_, Words>) {
        self.client = Client::new(self.config.clone());
        self.open(out);
    }

    /// Ends the session.
    pub fn close(&mut self, out: &mut Outbox<'_, Words>) -> Vec<Heard> {
        let notices = out.embed(|out| self.client.close(out));
        self.hear(notices, out)
    }

    /// Whether messages of this process are for this handle.
    pub fn knows(&self, process: ProcessId) -> bool {
        self.client.knows(process)
    }

    /// Looks whether an event is for its client.
    pub fn pick(&self, event: Event<Words>) -> Picked {
        match event {
            Event::Message { from, message: Message::Zk(message) } => {
                Picked::Zk(Event::Message { from, message })
            }
            Event::Timer(Timer::Zk(timer)) => Picked::Zk(Event::Timer(timer)),
            Event::Hangup { peer } if self.knows(peer) => Picked::Zk(Event::Hangup { peer }),
            other => Picked::Other(other),
        }
    }

    /// Takes an event of its client.
    pub fn handle(
        &mut self,
        event: Event<crate::zk::Words>,
        out: &mut Outbox<'_, Words>,
    ) -> Vec<Heard> {
        let notices = out.embed(|out| self.client.handle(event, out));
        self.hear(notices, out)
    }

    /// Whether a batch of that asker is under way.
    pub fn is_asking(&self, asker: Asker) -> bool {
        self.batches.contains_key(&asker)
    }

    /// Asks for a batch; nothing is asked by an empty one, and `false` says so.
    pub fn ask(&mut self, asker: Asker, ops: Vec<Op>, out: &mut Outbox<'_, Words>) -> bool {
        if ops.is_empty() {
            return false;
        }
        let replies = vec![None; ops.len()];
        let batch = Batch { ops, replies, parents: Vec::new(), is_cut: false };
        let at_once = match self.manner {
            Manner::Pipelined => batch.ops.len(),
            Manner::OneByOne => 1,
        };
        for (place, op) in (0..).zip(&batch.ops[..at_once]) {
            let tag = Tag(asker, place);
            let asked = out.embed(|out| self.client.request(op.clone(), tag, out));
            if asked.is_err() {
                // The session is no more, or is being closed: whoever asks now hears no answer.
                return true;
            }
        }
        let before = self.batches.insert(asker, batch);
        assert!(before.is_none(), "{asker:?} asks one batch at a time");
        true
    }

    /// From now on reads of this znode leave a watch.
    pub fn watch_node(&mut self, path: Path) {
        self.nodes.insert(path);
    }

    /// From now on reads of this znode's children leave a watch.
    pub fn watch_children(&mut self, path: Path) {
        self.children.insert(path);
    }

    /// Reads of this znode leave no watch any more, and what a watch tells is not heard.
    pub fn unwatch_node(&mut self, path: &Path) {
        self.nodes.remove(path);
    }

    /// The same for its children.
    pub fn unwatch_children(&mut self, path: &Path) {
        self.children.remove(path);
    }

    /// A getData, with a watch if somebody has a use for it.
    pub fn get_data(&self, path: Path) -> Op {
        let watch = self.listens(&self.nodes, &path);
        Op::GetData { path, watch }
    }

    /// An exists, with a watch if somebody has a use for it.
    pub fn exists(&self, path: Path) -> Op {
        let watch = self.listens(&self.nodes, &path);
        Op::Exists { path, watch }
    }

    /// A getChildren2, with a watch if somebody has a use for it.
    pub fn get_children(&self, path: Path) -> Op {
        let watch = self.listens(&self.children, &path);
        Op::GetChildren2 { path, watch }
    }

    /// Whether a read leaves a watch; an old handle does not ask what kind of change is wanted.
    // Source: ZkClient.hasListeners
    fn listens(&self, wanted: &OrdSet<Path>, path: &Path) -> bool {
        let old = self.manner == Manner::OneByOne;
        wanted.contains(path) || (old && self.watches(path))
    }

    fn watches(&self, path: &Path) -> bool {
        self.nodes.contains(path) || self.children.contains(path)
    }

    /// Watches these znodes and these znodes' children; the reads that this takes are to be asked.
    // Source: ZkClient.subscribeDataChanges, subscribeChildChanges
    pub fn subscribe(&mut self, nodes: &[Path], children: &[Path]) -> Vec<Op> {
        nodes.iter().for_each(|path| self.watch_node(path.clone()));
        children.iter().for_each(|path| self.watch_children(path.clone()));
        let mut reads: Vec<Op> = nodes.iter().map(|path| self.exists(path.clone())).collect();
        for path in children {
            if self.manner == Manner::OneByOne {
                reads.push(self.exists(path.clone()));
            }
            reads.push(self.get_children(path.clone()));
        }
        reads
    }

    fn hear(&mut self, notices: Vec<Notice<Tag>>, out: &mut Outbox<'_, Words>) -> Vec<Heard> {
        let mut heard = Vec::new();
        for notice in notices {
            match notice {
                Notice::Connected { session, birth: Birth::New } => {
                    heard.push(Heard::Session(session));
                    self.fire_all(out);
                    self.resume(out);
                }
                Notice::Connected { .. }
                | Notice::ConnectedReadOnly { .. }
                | Notice::Disconnected
                | Notice::WatchRemoved { .. } => {}
                Notice::Expired => {
                    let manner = self.manner;
                    self.batches.retain(|asker, _| asker.outlives_its_session(manner));
                    self.batches.values_mut().for_each(|batch| batch.is_cut = true);
                    self.events.clear();
                    heard.push(Heard::Expired);
                }
                Notice::Closed => heard.push(Heard::Closed),
                Notice::Watch { event, .. } if self.is_wanted(&event) => match self.manner {
                    Manner::Pipelined => heard.push(Heard::Watched(event)),
                    Manner::OneByOne => {
                        self.events.push_back(event);
                        self.look(out);
                    }
                },
                Notice::Watch { .. } => {}
                Notice::Reply { tag, result, .. } => heard.extend(self.answered(tag, result, out)),
            }
        }
        heard
    }

    fn answered(&mut self, tag: Tag, reply: Reply, out: &mut Outbox<'_, Words>) -> Option<Heard> {
        let Tag(asker, place) = tag;
        let place = place as usize;
        let batch = self.batches.get_mut(&asker)?;
        let one_by_one = self.manner == Manner::OneByOne;
        let next = match reply {
            Err(Error::SessionExpired) => return None,
            Err(Error::ConnectionLoss) => {
                let op = batch.parents.last().unwrap_or(&batch.ops[place]);
                Some((tag, op.clone()))
            }
            reply if one_by_one => {
                batch.take(place, reply);
                batch.next().map(|(place, op)| (Tag(asker, place), op))
            }
            reply => {
                batch.replies[place] = Some(reply);
                None
            }
        };
        if let Some((tag, op)) = next {
            let asked = out.embed(|out| self.client.request(op, tag, out));
            if asked.is_err() {
                // The session is being closed: whoever asked hears no more.
                self.batches.remove(&asker);
            }
            return None;
        }
        if batch.replies.iter().any(Option::is_none) {
            return None;
        }
        let batch = self.batches.remove(&asker).expect("it was just there");
        if asker == Asker::Listeners {
            let event = self.events.pop_front();
            self.look(out);
            return event.map(Heard::Watched);
        }
        Some(Heard::Answered(asker, batch.replies.into_iter().flatten().collect()))
    }

    /// Reads again what the first event is about, for those who will hear of it.
    // Source: ZkClient.fireChildChangedEvents, fireDataChangedEvents
    fn look(&mut self, out: &mut Outbox<'_, Words>) {
        if self.batches.contains_key(&Asker::Listeners) {
            return;
        }
        let Some(path) = self.events.front().map(|event| event.path.clone()) else { return };
        let read = match self.children.contains(&path) {
            true => self.get_children(path.clone()),
            false => self.get_data(path.clone()),
        };
        let reads = vec![self.exists(path), read];
        self.ask(Asker::Listeners, reads, out);
    }

    /// Asks again, in a new session, what was not answered in the old one.
    // Source: ZkClient.retryUntilConnected
    fn resume(&mut self, out: &mut Outbox<'_, Words>) {
        let mut again = Vec::new();
        for (asker, batch) in self.batches.iter_mut().filter(|(_, batch)| batch.is_cut) {
            batch.is_cut = false;
            let rest: Vec<(u32, Op)> = match self.manner {
                Manner::OneByOne => batch.next().into_iter().collect(),
                Manner::Pipelined => batch.rest().collect(),
            };
            again.extend(rest.into_iter().map(|(place, op)| (Tag(*asker, place), op)));
        }
        for (tag, op) in again {
            // It is refused only where the session is being closed again.
            let _ = out.embed(|out| self.client.request(op, tag, out));
        }
    }

    /// In a new session everything may have changed.
    // Source: ZkClient.process, fireAllEvents
    fn fire_all(&mut self, out: &mut Outbox<'_, Words>) {
        if self.manner == Manner::Pipelined {
            return;
        }
        let event = |path: &Path, kind| WatchEvent { path: path.clone(), kind };
        let children = self.children.iter();
        self.events.extend(children.map(|path| event(path, EventKind::NodeChildrenChanged)));
        self.events.extend(self.nodes.iter().map(|path| event(path, EventKind::NodeDataChanged)));
        self.look(out);
    }

    fn is_wanted(&self, event: &WatchEvent) -> bool {
        match event.kind {
            EventKind::NodeChildrenChanged => self.children.contains(&event.path),
            _ => self.watches(&event.path),
        }
    }
}

/// A create of a persistent znode.
pub fn create(path: Path, data: impl Into<Bytes>) -> Op {
    Op::Create(Arc::new(Create::new(path, data, mode::PERSISTENT)))
}

/// What makes all that is above a znode, from the top, with an empty text.
// Source: ZKCheckedEphemeral.createRecursive (0.9 to 1.1)
pub fn create_above(path: &Path) -> Vec<Op> {
    let mut creates = Vec::new();
    let mut above = path.parent();
    while let Some(path) = above.filter(|path| path.parent().is_some()) {
        above = path.parent();
        creates.insert(0, create(path, ""));
    }
    creates
}

/// A create of an ephemeral znode.
pub fn create_ephemeral(path: Path, data: impl Into<Bytes>) -> Op {
    Op::Create(Arc::new(Create::new(path, data, mode::EPHEMERAL)))
}

/// A create of a persistent znode that gets a number.
pub fn create_sequential(path: Path, data: impl Into<Bytes>) -> Op {
    Op::Create(Arc::new(Create::new(path, data, mode::PERSISTENT_SEQUENTIAL)))
}

/// The data that a getData found; `None` if there is no such znode.
pub fn data(reply: &Reply) -> Option<(&Bytes, &Stat)> {
    match reply {
        Ok(Answer::Data { data, stat }) => Some((data, stat)),
        _ => None,
    }
}

/// What a getData found, read as what it should be; `None` if that is not there.
pub fn found<T>(reply: &Reply, decode: fn(&Bytes) -> Option<T>) -> Option<T> {
    data(reply).and_then(|(data, _)| decode(data))
}

/// The children that a getChildren2 found; none if there is no such znode.
pub fn children(reply: &Reply) -> Arc<[Arc<str>]> {
    match reply {
        Ok(Answer::Children2 { children, .. } | Answer::Children(children)) => children.clone(),
        _ => Arc::from([]),
    }
}

/// What a multi came to: the outcomes of its parts, or which part failed and why.
pub fn parts(reply: &Reply) -> Result<Arc<[OpResult]>, (usize, Error)> {
    let results = match reply {
        Err(error) => return Err((0, *error)),
        Ok(Answer::Results(results)) => results,
        Ok(_) => return Err((0, Error::SystemError)),
    };
    for (place, result) in results.iter().enumerate() {
        match result {
            OpResult::Error(Some(Error::RuntimeInconsistency) | None) => {}
            OpResult::Error(Some(error)) => return Err((place, *error)),
            _ => {}
        }
    }
    Ok(results.clone())
}
