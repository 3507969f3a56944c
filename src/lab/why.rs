//! Why something happened: the causes of a record, silence included.
//!
//! Most events have the event that scheduled them as their cause. A session that runs out has none
//! of this kind: what caused it is that nothing came, and behind that stands whatever was done to
//! the process that should have spoken.
//!
//! *Invariant:* a cause lies before its effect in the trace.

use crate::cluster::{Cluster, Record, Trace};
use crate::kafka::words::Fact;
use crate::sim::{KernelFact, ProcessId, SimTime, Span, Telling, What};

/// One cause of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The index of its record.
    pub index: usize,
    /// How the one leads to the other.
    pub relation: Relation,
}

/// How a cause leads to its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It scheduled it: it sent the message, armed the timer, wrote to the disk.
    Scheduled,
    /// It was named as a second cause.
    Because,
    /// It silenced the process that was waited for.
    Silenced,
    /// It was the last that was heard.
    LastHeard,
}

/// What had to be heard, and was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Who should have spoken.
    pub process: ProcessId,
    /// The last message of theirs that arrived.
    pub last_heard: Option<usize>,
    /// What was done to them that explains it.
    pub fault: Option<usize>,
}

/// All causes of the record at `index`.
pub fn causes(cluster: &Cluster, trace: &Trace, index: usize) -> Vec<Cause> {
    let Some(record) = trace.get(index) else { return Vec::new() };
    let mut causes = Vec::new();
    if let Some(silence) = silence(cluster, trace, index) {
        let fault = silence.fault.map(|index| Cause { index, relation: Relation::Silenced });
        let heard = silence.last_heard.map(|index| Cause { index, relation: Relation::LastHeard });
        causes.extend(fault.into_iter().chain(heard));
    }
    let because = record.causes().skip(record.cause.iter().count());
    let because = because.map(|event| (event, Relation::Because));
    let scheduled = record.cause.map(|event| (event, Relation::Scheduled));
    for (event, relation) in because.chain(scheduled) {
        let found = trace.find(event).filter(|cause| *cause < index);
        causes.extend(found.map(|index| Cause { index, relation }));
    }
    causes
}

/// The cause that explains most: what silenced somebody who was waited for, else the later one
/// where there are two.
pub fn cause(cluster: &Cluster, trace: &Trace, index: usize) -> Option<Cause> {
    let causes = causes(cluster, trace, index);
    let silenced = causes.iter().find(|cause| cause.relation == Relation::Silenced);
    let others = causes.iter().filter(|cause| cause.relation != Relation::LastHeard);
    silenced.or(others.max_by_key(|cause| cause.index)).copied()
}

/// The chain of causes that explain most, from the record at `index` back to where it began.
pub fn chain(cluster: &Cluster, trace: &Trace, index: usize) -> impl Iterator<Item = Cause> {
    let before = move |index| cause(cluster, trace, index);
    std::iter::successors(before(index), move |cause| before(cause.index))
}

/// Whose silence led to the record at `index`, if it tells of one.
pub fn silence(cluster: &Cluster, trace: &Trace, index: usize) -> Option<Silence> {
    let record = trace.get(index)?;
    let process = record.facts().find_map(|fact| silent(cluster, trace, index, fact))?;
    let name = cluster.name(process);
    let mut silence = Silence { process, last_heard: None, fault: None };
    let mut since = SimTime::ZERO;
    for (at, record) in back(trace, index) {
        if record.at + LINGERING < since {
            break;
        }
        if silence.last_heard.is_none() && record.what == What::Message(process) {
            silence.last_heard = Some(at);
            since = record.at;
        }
        if silence.fault.is_none() && record.facts().any(|fact| silenced(fact) == Some(name)) {
            silence.fault = Some(at);
        }
    }
    Some(silence)
}

/// What silenced somebody who was waited for, if that is why the record at `index` came.
pub fn silenced_by(cluster: &Cluster, trace: &Trace, index: usize) -> Option<usize> {
    silence(cluster, trace, index)?.fault
}

/// Whether the fact tells that somebody speaks no more, or is not heard.
pub fn silences_somebody(fact: &Fact) -> bool {
    silenced(fact).is_some()
}

/// How many records back a cause is looked for: a picture must not wait for more.
const REACH: usize = 200_000;

/// The records before `index`, the last first, with where they are.
fn back(trace: &Trace, index: usize) -> impl Iterator<Item = (usize, Record<'_>)> {
    let reach = index.saturating_sub(REACH)..index;
    reach.rev().filter_map(|at| Some((at, trace.get(at)?)))
}

/// How long after a fault something may still arrive that was on its way.
const LINGERING: Span = Span::secs(1);

/// Who should have been heard when this fact was told.
fn silent(cluster: &Cluster, trace: &Trace, index: usize, fact: &Fact) -> Option<ProcessId> {
    let field = |name: &str| {
        let fields = fact.fields();
        fields.into_iter().find(|field| field.0 == name).map(|(_, value)| value)
    };
    match fact.key() {
        "session-expired" => owner(trace, index, &field("session")?),
        "member-expired" => cluster.find(field("member")?.split('-').next()?),
        _ => None,
    }
}

/// The process that used the session last, before `index`.
pub fn owner(trace: &Trace, index: usize, session: &str) -> Option<ProcessId> {
    let uses = |record: &Record<'_>| {
        record.facts().any(|fact| {
            fact.key() == "zk-connected"
                && fact.fields().iter().any(|(name, value)| *name == "session" && value == session)
        })
    };
    back(trace, index).map(|(_, record)| record).find(uses).and_then(|record| record.process)
}

/// The name of who speaks no more, or is not heard, if the fact tells that of somebody.
fn silenced(fact: &Fact) -> Option<&str> {
    let Fact::Kernel(fact) = fact else { return None };
    match fact {
        KernelFact::Killed { process }
        | KernelFact::Exited { process, .. }
        | KernelFact::Frozen { process } => Some(&process.0),
        KernelFact::Cut { from, .. } | KernelFact::Delayed { from, .. } => Some(&from.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::script;

    /// What silenced the client of the first session that expires, and when it was last heard.
    fn check(fault: &str, expected: &str) {
        let script = format!(
            "setup seed=3 zookeeper=1 brokers=0\nadd client z1 timeout=6s\nrun 3s\n{fault}\n\
            run until session-expired"
        );
        let lab = script::play(&script).expect("it is right").lab;
        let (cluster, trace, index) = (lab.cluster(), lab.trace(), lab.position() - 1);
        let chain: Vec<Cause> = chain(cluster, trace, index).collect();
        assert_eq!(chain[0].relation, Relation::Silenced);
        let fault = trace.get(chain[0].index).expect("it has happened");
        assert!(fault.facts().any(|fact| fact.to_string() == expected), "{expected}");
        let silence = silence(cluster, trace, index).expect("nothing was heard");
        let heard = silence.last_heard.and_then(|heard| trace.get(heard));
        let heard = heard.expect("it had a session").at;
        let expired = trace.get(index).expect("it has happened").at;
        assert!(heard + Span::secs(6) <= expired && expired <= heard + Span::secs(9));
    }

    #[test]
    fn silence_is_explained_by_what_was_done() {
        check("kill z1", "process-killed process=z1");
        check("freeze z1", "process-frozen process=z1");
        check("cut z1 zk1", "link-cut from=z1 to=zk1");
        check("cut z1>zk1", "link-cut from=z1 to=zk1");
    }

    #[test]
    fn every_chain_ends_where_somebody_acted() {
        let text = "setup seed=3 zookeeper=1 brokers=2\nrun 9s\nkill broker1\nrun 30s";
        let lab = script::play(text).expect("it is right").lab;
        for index in 0..lab.trace().len() {
            let chain: Vec<Cause> = chain(lab.cluster(), lab.trace(), index).collect();
            let end = chain.last().map_or(index, |cause| cause.index);
            let end = lab.trace().get(end).expect("it has happened");
            assert_eq!(end.what, What::Command);
            assert!(chain.iter().all(|cause| cause.index < index));
        }
    }
}
