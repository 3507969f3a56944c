//! What clients of ZooKeeper asked and were answered, and whether an ensemble may have answered so:
//! writes are linearizable, each client's reads are of one history that goes forward, a sync is not
//! older than what was answered before it was asked.
//!
//! The judge does not search for an order of the writes: the servers' log proposes one, and every
//! claim in it is checked. Each answer must follow from the log's order and a tree of the judge's
//! own (`tree`); the order must agree with real time and with each session's own; nothing may have
//! happened that nobody asked for. If all that holds, the order is a proof that the history is
//! linearizable, whoever proposed it. None of the engine's rules is used.
//!
//! *Invariant: an answer that was lost proves nothing: what it was about may have happened or not,
//! once, and not before it was asked.*

mod tree;
pub mod witness;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use zootrope::zk::reply::{Answer, Error};
use zootrope::zk::request::{Op, mode};
use zootrope::zk::stat::SessionId;
use zootrope::zk::txn::{Txn, TxnBody};
use zootrope::zk::zxid::Zxid;

use tree::Tree;

/// A place in the run: how many events came before.
pub type Place = usize;

/// One request of a client.
#[derive(Clone, Debug)]
pub struct Call {
    pub client: String,
    pub session: SessionId,
    pub op: Op,
    pub asked: Place,
    /// None if the answer was lost.
    pub answer: Option<Answered>,
}

#[derive(Clone, Debug)]
pub struct Answered {
    pub at: Place,
    pub zxid: Zxid,
    pub result: Result<Answer, Error>,
}

/// What servers have committed, by zxid.
pub type Log = BTreeMap<Zxid, Arc<Txn>>;

/// The first thing that cannot have come so.
pub fn judge(calls: &[Call], log: &Log) -> Result<(), String> {
    check_sessions(calls)?;
    check_real_time(calls)?;
    Replay::new(calls).run(log)
}

fn is_write(op: &Op) -> bool {
    matches!(op, Op::Create(_) | Op::Delete { .. } | Op::SetData { .. })
}

/// The calls that were answered, in the order in which they were asked.
fn answered(calls: &[Call]) -> impl Iterator<Item = (&Call, &Answered)> {
    calls.iter().filter_map(|call| Some((call, call.answer.as_ref()?)))
}

/// A session never goes back, whatever server answers it.
fn check_sessions(calls: &[Call]) -> Result<(), String> {
    let mut seen: BTreeMap<SessionId, Zxid> = BTreeMap::new();
    for (call, answer) in answered(calls) {
        let before = seen.entry(call.session).or_default();
        if answer.zxid < *before {
            return Err(format!("{} after {before}: the session went back", told(call)));
        }
        *before = answer.zxid;
    }
    Ok(())
}

/// What was answered before something is asked comes before it.
fn check_real_time(calls: &[Call]) -> Result<(), String> {
    let writes = || answered(calls).filter(|(call, _)| is_write(&call.op));
    let mut by_answer: Vec<_> = writes().collect();
    by_answer.sort_by_key(|(_, answer)| answer.at);
    let mut by_question: Vec<_> = answered(calls).collect();
    by_question.sort_by_key(|(call, _)| call.asked);
    let mut done = by_answer.into_iter().peekable();
    // By epoch: the last write that was answered.
    let mut floors: BTreeMap<u32, Zxid> = BTreeMap::new();
    for (call, answer) in by_question {
        while let Some((_, earlier)) = done.next_if(|(_, earlier)| earlier.at < call.asked) {
            let floor = floors.entry(earlier.zxid.epoch()).or_default();
            *floor = earlier.zxid.max(*floor);
        }
        let highest = floors.last_key_value().map_or(Zxid::ZERO, |(_, zxid)| *zxid);
        let late = match &call.op {
            op if is_write(op) => answer.zxid <= highest,
            // A leader that is deposed and does not know it yet answers syncs too, of its epoch.
            Op::Sync { .. } => floors.get(&answer.zxid.epoch()).is_some_and(|z| answer.zxid < *z),
            _ => false,
        };
        if late {
            return Err(format!("{}, but {highest} was answered before it was asked", told(call)));
        }
    }
    Ok(())
}

/// A call in a line.
fn told(call: &Call) -> String {
    let path = call.op.path().map_or("", |path| path);
    let answer = match &call.answer {
        None => "is not answered".to_owned(),
        Some(answer) => match &answer.result {
            Ok(_) => format!("is answered at {}", answer.zxid),
            Err(error) => format!("is refused at {} with {error}", answer.zxid),
        },
    };
    format!("{}: {} {path} {answer}", call.client, call.op.name())
}

/// Carries out the log on a tree of its own, and compares each answer.
struct Replay<'a> {
    tree: Tree,
    claimed: BTreeMap<Zxid, &'a Call>,
    reads: VecDeque<(Zxid, &'a Call)>,
    /// By session: writes whose answers were lost, in order.
    lost: BTreeMap<SessionId, VecDeque<&'a Call>>,
    /// The order of what was answered before each place.
    answered: Vec<(Place, Zxid)>,
}

impl<'a> Replay<'a> {
    fn new(calls: &'a [Call]) -> Replay<'a> {
        let writes = || answered(calls).filter(|(call, _)| is_write(&call.op));
        let reads = answered(calls).filter(|(call, _)| !is_write(&call.op));
        let mut reads: Vec<_> = reads.map(|(call, answer)| (answer.zxid, call)).collect();
        reads.sort_by_key(|(zxid, _)| *zxid);
        let mut lost: BTreeMap<SessionId, VecDeque<&Call>> = BTreeMap::new();
        for call in calls {
            let waiting = lost.entry(call.session).or_default();
            if call.answer.is_none() && is_write(&call.op) {
                waiting.push_back(call);
            }
        }
        let mut done: Vec<_> = writes().map(|(_, answer)| (answer.at, answer.zxid)).collect();
        done.sort_unstable();
        Replay {
            tree: Tree::default(),
            claimed: writes().map(|(call, answer)| (answer.zxid, call)).collect(),
            reads: reads.into(),
            lost,
            answered: done,
        }
    }

    fn run(mut self, log: &Log) -> Result<(), String> {
        for (zxid, txn) in log {
            self.read_before(*zxid)?;
            self.carry_out(*zxid, txn)?;
        }
        self.read_before(Zxid(i64::MAX))?;
        match self.claimed.values().next() {
            Some(call) => Err(format!("{}, but no server has that", told(call))),
            None => Ok(()),
        }
    }

    /// Compares the reads that were answered before this txn.
    fn read_before(&mut self, zxid: Zxid) -> Result<(), String> {
        while let Some((_, call)) = self.reads.pop_front_if(|(at, _)| *at < zxid) {
            let answer = call.answer.as_ref().expect("only what was answered is a read here");
            if matches!(answer.result, Err(Error::SessionExpired | Error::SessionMoved)) {
                continue;
            }
            let expected = self.tree.read(&call.op);
            if !tree::same(&expected, &answer.result) {
                return Err(wrong(call, &expected, &answer.result));
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, zxid: Zxid, txn: &Txn) -> Result<(), String> {
        if let TxnBody::CloseSession { .. } = txn.body {
            self.tree.end_session(txn.session, zxid);
            return Ok(());
        }
        if let Some(call) = self.claimed.remove(&zxid) {
            return self.explain(call, zxid, txn);
        }
        if !self.lost.contains_key(&txn.session) || !is_clients(&txn.body) {
            return Ok(());
        }
        self.guess(zxid, txn)
    }

    /// What was answered as this txn must follow from it.
    fn explain(&mut self, call: &Call, zxid: Zxid, txn: &Txn) -> Result<(), String> {
        let answer = call.answer.as_ref().expect("only what was answered is claimed");
        if call.session != txn.session || !may_be(&call.op, &txn.body) {
            return Err(format!("{}, which was another's {}", told(call), txn.body.name()));
        }
        if let Err(Error::SessionExpired | Error::SessionMoved) = answer.result {
            return refusal_only(call, txn);
        }
        if answer.result == Err(Error::NotEmpty) && self.may_count_the_dead(call) {
            return refusal_only(call, txn);
        }
        let expected = self.tree.write(&call.op, txn.session, zxid);
        match tree::same(&expected, &answer.result) {
            true => Ok(()),
            false => Err(wrong(call, &expected, &answer.result)),
        }
    }

    /// The end of a session that is on its way leaves the counts of children as they are, so that
    /// the leader may refuse to delete their parent. Not if somebody has heard of that end, or of
    /// something later, before the delete was asked.
    // Source: PrepRequestProcessor.pRequest2Txn (closeSession, delete)
    fn may_count_the_dead(&self, call: &Call) -> bool {
        let Op::Delete { path, .. } = &call.op else { return false };
        let Some(ended) = self.tree.bereft(path) else { return false };
        let before = self.answered.partition_point(|(at, _)| *at < call.asked);
        self.answered[..before].iter().all(|(_, zxid)| *zxid < ended)
    }

    /// A txn that nobody was told of must be one whose answer was lost. Those of its session that
    /// were asked before it are over. What was refused has changed nothing, and is let be.
    fn guess(&mut self, zxid: Zxid, txn: &Txn) -> Result<(), String> {
        let waiting = self.lost.get_mut(&txn.session).expect("the caller has looked it up");
        let mut early = None;
        for (place, call) in waiting.iter().enumerate() {
            if !may_be(&call.op, &txn.body) {
                continue;
            }
            let before = self.answered.partition_point(|(at, _)| *at < call.asked);
            if self.answered[..before].iter().any(|(_, earlier)| *earlier > zxid) {
                early = early.or(Some(format!("was done at {zxid}, before it was asked")));
            } else if self.tree.write(&call.op, txn.session, zxid).is_ok() {
                waiting.drain(..=place);
                return Ok(());
            }
        }
        let what = format!("{} at {zxid} of {}", txn.body.name(), txn.session);
        let why = early.unwrap_or_else(|| "nobody asked for that, or it was done twice".into());
        Err(format!("{what}: {why}"))
    }
}

/// Whether a client asks for such a txn.
fn is_clients(body: &TxnBody) -> bool {
    body.path().is_some()
}

/// Whether a txn can have come of a request.
fn may_be(op: &Op, body: &TxnBody) -> bool {
    match (op, body) {
        (_, TxnBody::Error(_)) => true,
        (Op::Create(create), TxnBody::Create(made)) => {
            let sequential = create.flags & mode::PERSISTENT_SEQUENTIAL != 0;
            let named = match sequential {
                true => made.path.starts_with(&*create.path),
                false => made.path == create.path,
            };
            let ephemeral = create.flags & mode::EPHEMERAL != 0;
            named && made.data == create.data && made.ephemeral == ephemeral
        }
        (Op::SetData { path, data, .. }, TxnBody::SetData { path: set, data: written, .. }) => {
            path == set && data == written
        }
        (Op::Delete { path, .. }, TxnBody::Delete { path: deleted }) => path == deleted,
        _ => false,
    }
}

fn refusal_only(call: &Call, txn: &Txn) -> Result<(), String> {
    match txn.body.is_refusal() {
        true => Ok(()),
        false => Err(format!("{}, but {} was done", told(call), txn.body.name())),
    }
}

type Outcome = Result<Answer, Error>;

fn wrong(call: &Call, expected: &Outcome, found: &Outcome) -> String {
    format!(
        "{}\n  it should be {}\n  but it was {}",
        told(call),
        tree::told(expected),
        tree::told(found)
    )
}
