//! `setquota`, `delquota` and `listquota`: each a conversation of several requests.
//!
//! *Invariant: what is printed is what the real client prints; it may ask for less.*

use std::collections::VecDeque;
use std::sync::Arc;

use super::Refusal;
use super::job::refusal;
use crate::zk::path::Path;
use crate::zk::quota::{LIMITS, QUOTAS, STATS, Track, at};
use crate::zk::reply::{Answer, Error};
use crate::zk::request::{Create, CreateKind, Op, mode};
use crate::zk::stat::{Bytes, Millis};

/// One of the three, under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Quota {
    path: Path,
    aim: Aim,
}

/// What it is for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Aim {
    /// These limits are to be set, beside those that are there.
    Set(Track, Limits),
    /// This limit is to go; without one, all.
    Delete(Option<char>, Walk),
    List,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Limits {
    New,
    Known,
}

/// Where the deletion of a whole quota is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Walk {
    Begun,
    /// Goes up and deletes what is empty.
    Trimming,
}

type Tasks = VecDeque<Op>;

fn exists(path: Path) -> Op {
    Op::Exists { path, watch: false }
}

fn children(path: Path) -> Op {
    Op::GetChildren2 { path, watch: false }
}

fn data(path: Path) -> Op {
    Op::GetData { path, watch: false }
}

fn set_data(path: Path, track: Track) -> Op {
    Op::SetData { path, data: Bytes::from(track.text()), version: -1 }
}

fn create(path: Path, data: Bytes) -> Op {
    let (acl, kind) = (crate::zk::acl::Acl::open(), CreateKind::Create);
    let (flags, ttl) = (mode::PERSISTENT, Millis::default());
    Op::Create(Arc::new(Create { kind, path, data, acl, flags, ttl }))
}

fn copy(path: &str) -> Path {
    Path::from([QUOTAS, path].concat())
}

/// `path` itself and what is above it, from the top.
fn down_to(path: &Path) -> Vec<&str> {
    let ends = path.char_indices().skip(1).filter(|(_, c)| *c == '/');
    ends.map(|(end, _)| end).chain([path.len()]).map(|end| &path[..end]).collect()
}

impl Quota {
    /// Sets limits.
    // Source: SetQuotaCommand.createQuota, checkIfChildQuota, checkIfParentQuota (3.8).
    pub fn set(path: Path, limits: Track) -> (Tasks, Quota) {
        let way = down_to(&path);
        let above = way[..way.len() - 1].iter().map(|part| children(copy(part)));
        let copies = way.iter().map(|part| exists(copy(part)));
        let first = [exists(path.clone()), children(copy(&path))].into_iter();
        let tasks = first.chain(above).chain(copies).chain([exists(at(&path, LIMITS))]).collect();
        (tasks, Quota { path, aim: Aim::Set(limits, Limits::New) })
    }

    /// Takes one limit away, or all.
    // Source: DelQuotaCommand.delQuota (3.8).
    pub fn delete(path: Path, which: Option<char>) -> (Tasks, Quota) {
        let tasks = Tasks::from([exists(at(&path, LIMITS))]);
        (tasks, Quota { path, aim: Aim::Delete(which, Walk::Begun) })
    }

    /// Shows limits, and what there is.
    // Source: ListQuotaCommand.listQuota (3.8).
    pub fn list(path: Path) -> (Tasks, Quota) {
        let tasks = Tasks::from([data(at(&path, LIMITS)), data(at(&path, STATS))]);
        (tasks, Quota { path, aim: Aim::List })
    }

    /// Takes an answer; gives what is printed.
    pub fn answered(
        &mut self,
        op: &Op,
        result: Result<Answer, Error>,
        tasks: &mut Tasks,
    ) -> Result<String, Refusal> {
        let (path, answer) = (&self.path, (op, result));
        match &mut self.aim {
            Aim::Set(wanted, known) => setting(path, (wanted, known), answer, tasks),
            Aim::Delete(which, walk) => deleting(path, (*which, walk), answer, tasks),
            Aim::List => listing(path, answer, tasks),
        }
    }
}

/// What was asked, and what is answered.
type Answered<'a> = (&'a Op, Result<Answer, Error>);

fn listing(of: &Path, answer: Answered<'_>, tasks: &mut Tasks) -> Result<String, Refusal> {
    let shown = match (answer.0.path(), answer.1) {
        (Some(path), Ok(Answer::Data { data, .. })) => {
            let what = if path.ends_with(LIMITS) { "quota" } else { "stat" };
            format!("Output {what} for {of} {}\n", Track::read(&data).text())
        }
        (_, Err(Error::NoNode)) => {
            tasks.clear();
            format!("quota for {of} does not exist.\n")
        }
        (_, Err(error)) => return Err(refusal(error, answer.0)),
        _ => String::new(),
    };
    Ok(shown)
}

fn setting(
    of: &Path,
    (wanted, known): (&mut Track, &mut Limits),
    answer: Answered<'_>,
    tasks: &mut Tasks,
) -> Result<String, Refusal> {
    let (limits, stats) = (at(of, LIMITS), at(of, STATS));
    match answer {
        (Op::Exists { path, .. }, Err(Error::NoNode)) if path == of => {
            return Err(Refusal::said(&[path, " does not exist."].concat()));
        }
        (Op::Exists { path, .. }, Err(Error::NoNode)) if *path == limits => {
            let none = Track { count: 0, bytes: 0, ..Track::NONE };
            tasks.push_back(create(limits.clone(), Bytes::from(wanted.text())));
            tasks.push_back(create(stats.clone(), Bytes::from(none.text())));
            tasks.extend([data(limits), data(stats)]);
        }
        (Op::Exists { path, .. }, Err(Error::NoNode)) => {
            tasks.push_front(create(path.clone(), Bytes::NULL));
        }
        (Op::Exists { path, .. }, Ok(_)) if *path == limits => {
            *known = Limits::Known;
            tasks.extend([data(limits), data(stats)]);
        }
        (Op::GetChildren2 { path, .. }, Ok(Answer::Children2 { children: names, .. })) => {
            let its = &path[QUOTAS.len()..];
            let side = if its.len() > of.len() { " has a child " } else { " has a parent " };
            if *its != **of && names.iter().any(|name| &**name == LIMITS) {
                let told = [&**of, side, its, " which has a quota"];
                return Err(Refusal::said(&told.concat()));
            }
            if its.len() >= of.len() {
                let below = names.iter().rev().map(|name| children(path.child(name)));
                below.for_each(|list| tasks.push_front(list));
            }
        }
        (Op::GetData { path, .. }, Ok(Answer::Data { data, .. })) if *path == limits => {
            *wanted = merged(Track::read(&data), *wanted);
        }
        (Op::GetData { .. }, Ok(Answer::Data { data, .. })) => {
            if *known == Limits::Known {
                tasks.push_back(set_data(limits, *wanted));
            }
            return Ok(warnings(*wanted, Track::read(&data)));
        }
        (Op::GetChildren2 { .. }, Err(Error::NoNode)) | (_, Ok(_)) => {}
        (Op::Create(create), Err(Error::NodeExists)) if create.data.is_null() => {}
        (op, Err(error)) => return Err(refusal(error, op)),
    }
    Ok(String::new())
}

fn deleting(
    of: &Path,
    (which, walk): (Option<char>, &mut Walk),
    answer: Answered<'_>,
    tasks: &mut Tasks,
) -> Result<String, Refusal> {
    match answer {
        (Op::Exists { .. }, Err(Error::NoNode)) => {
            return Ok(["Quota does not exist for ", of, "\n"].concat());
        }
        (_, Err(Error::NoNode)) => {
            tasks.clear();
            return Ok(["quota for ", of, " does not exist.\n"].concat());
        }
        (Op::Exists { path, .. }, Ok(_)) => tasks.push_back(data(path.clone())),
        (Op::GetData { path, .. }, Ok(Answer::Data { data, .. })) => {
            tasks.push_back(match which {
                None => children(copy(of)),
                Some(letter) => set_data(path.clone(), without(Track::read(&data), letter)),
            });
        }
        (Op::GetChildren2 { path, .. }, Ok(Answer::Children2 { children: names, .. })) => {
            let delete = |path: Path| Op::Delete { path, version: -1 };
            match walk {
                Walk::Begun => {
                    *walk = Walk::Trimming;
                    tasks.extend(names.iter().map(|name| delete(path.child(name))));
                    tasks.push_back(children(path.clone()));
                }
                Walk::Trimming if names.is_empty() => {
                    tasks.push_back(delete(path.clone()));
                    let above = path.parent().filter(|above| above.as_str() != QUOTAS);
                    tasks.extend(above.map(children));
                }
                Walk::Trimming => {}
            }
        }
        (_, Ok(_)) => {}
        (op, Err(error)) => return Err(refusal(error, op)),
    }
    Ok(String::new())
}

/// Limits with those that are named anew.
fn merged(old: Track, new: Track) -> Track {
    let either = |new: i64, old: i64| if new > -1 { new } else { old };
    let named = |new: Option<i64>, old| new.filter(|limit| *limit > -1).or(old);
    Track {
        count: either(new.count, old.count),
        bytes: either(new.bytes, old.bytes),
        byte_hard_limit: named(new.byte_hard_limit, old.byte_hard_limit),
        count_hard_limit: named(new.count_hard_limit, old.count_hard_limit),
    }
}

fn without(track: Track, letter: char) -> Track {
    match letter {
        'n' => Track { count: -1, ..track },
        'b' => Track { bytes: -1, ..track },
        'N' => Track { count_hard_limit: Some(-1), ..track },
        _ => Track { byte_hard_limit: Some(-1), ..track },
    }
}

/// What is said of limits that are exceeded already.
// Source: SetQuotaCommand.checkQuota (3.8).
fn warnings(limits: Track, stats: Track) -> String {
    let below = |soft: i64, hard: Option<i64>, now: i64| {
        let hard = hard.unwrap_or(-1);
        (soft > -1 && soft < now) || (hard > -1 && hard < now)
    };
    let kinds = [
        ("count", limits.count, limits.count_hard_limit, stats.count),
        ("bytes", limits.bytes, limits.byte_hard_limit, stats.bytes),
    ];
    let mut told = String::new();
    for (what, soft, hard, now) in kinds {
        if below(soft, hard, now) {
            told.push_str(&format!(
                "[Warning]: the {what} quota you create is less than the existing {what}:{now}\n"
            ));
        }
    }
    told
}
