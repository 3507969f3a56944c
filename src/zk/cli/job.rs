//! The requests that one command makes, and what it prints of the answers.
//!
//! *Invariant: a job asks for one thing at a time, as a program does that waits for each answer.*

use std::collections::VecDeque;

use super::Refusal;
use super::quota::Quota;
use crate::zk::acl::Acl;
use crate::zk::path::Path;
use crate::zk::printing;
use crate::zk::reply::{Answer, Error, OpResult};
use crate::zk::request::Op;
use crate::zk::stat::Stat;

/// A command that waits for answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Job {
    tasks: VecDeque<Op>,
    manner: Manner,
}

/// What becomes of an answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Manner {
    /// It is printed.
    Once {
        /// With the Stat, where that is not the answer anyway.
        with_stat: bool,
    },
    /// It is printed, and whatever is below too.
    // Source: LsCommand.exec (-R).
    ListAll,
    /// Its code is printed.
    // Source: ZooKeeperMain.processZKCmd (sync, 3.4).
    Returned,
    /// Whatever is below gets the same ACL.
    // Source: SetAclCommand.exec (-R).
    SetAcl {
        /// Which.
        acl: Acl,
        /// At which aversion.
        version: i32,
    },
    /// It is one of a quota's.
    Quota(Quota),
    /// Once all is found, it is deleted from below.
    // Source: ZKUtil.listSubTreeBFS, ZKUtil.deleteInBatch.
    DeleteAll {
        /// How many in one multi; none is each by itself, as up to 3.5.
        batch: Option<u32>,
        /// What was found.
        found: Vec<Path>,
    },
}

impl Job {
    /// A job that begins with these requests.
    pub fn new(tasks: impl Into<VecDeque<Op>>, manner: Manner) -> Job {
        Job { tasks: tasks.into(), manner }
    }

    /// Whether an error is no end to it.
    pub fn bears_errors(&self) -> bool {
        matches!(self.manner, Manner::Returned | Manner::Quota(_))
    }

    /// What to ask for next; nothing if the job is done.
    pub fn take_next(&mut self) -> Option<Op> {
        self.tasks.pop_front()
    }

    /// Takes the answer to what it has asked for; gives what is printed.
    pub fn answered(&mut self, op: &Op, result: Result<Answer, Error>) -> Result<String, Refusal> {
        if let Manner::Quota(quota) = &mut self.manner {
            return quota.answered(op, result, &mut self.tasks);
        }
        match (&self.manner, op, result) {
            (Manner::Returned, _, result) => {
                let code = result.map_or_else(|error| error.code(), |_| 0);
                Ok(format!("Sync returned {code}\n"))
            }
            (Manner::Once { with_stat }, op, Ok(answer)) => Ok(shown(op, &answer, *with_stat)),
            (Manner::SetAcl { .. }, Op::SetAcl { path, .. }, Err(error)) => {
                Ok(message(error, Some(path)))
            }
            (
                Manner::ListAll | Manner::SetAcl { .. },
                Op::GetChildren2 { .. },
                Err(Error::NoNode),
            ) => Ok(String::new()),
            (_, Op::GetData { path, watch }, Ok(_)) => {
                self.tasks.push_front(Op::GetChildren2 { path: path.clone(), watch: *watch });
                Ok(self.come_upon(std::slice::from_ref(path)))
            }
            (_, Op::GetChildren2 { path, watch }, Ok(Answer::Children2 { children, .. })) => {
                let below: Vec<Path> = children.iter().map(|name| path.child(name)).collect();
                Ok(self.go_down(&below, *watch))
            }
            (_, Op::Multi(_), Ok(Answer::Results(parts)))
                if parts.iter().any(|part| matches!(part, OpResult::Error(_))) =>
            {
                Ok("Failed to delete some node(s) in the subtree!\n".to_owned())
            }
            (_, _, Ok(_)) => Ok(String::new()),
            (_, op, Err(error)) => Err(refusal(error, op)),
        }
    }

    /// Visits znodes before it goes below them.
    fn come_upon(&mut self, paths: &[Path]) -> String {
        match &self.manner {
            Manner::SetAcl { acl, version } => {
                for path in paths.iter().rev().cloned() {
                    let (acl, version) = (acl.clone(), *version);
                    self.tasks.push_front(Op::SetAcl { path, acl, version });
                }
                String::new()
            }
            _ => paths.iter().map(|path| [path, "\n"].concat()).collect(),
        }
    }

    fn go_down(&mut self, below: &[Path], watch: bool) -> String {
        if let Manner::DeleteAll { found, batch } = &mut self.manner {
            found.extend(below.iter().cloned());
            let lists = below.iter().map(|path| Op::GetChildren2 { path: path.clone(), watch });
            self.tasks.extend(lists);
            if self.tasks.is_empty() {
                let paths = std::mem::take(found).into_iter().rev();
                let deletes: Vec<Op> = paths.map(|path| Op::Delete { path, version: -1 }).collect();
                match *batch {
                    None => self.tasks.extend(deletes),
                    Some(batch) => {
                        let batches = deletes.chunks(batch.max(1) as usize);
                        self.tasks.extend(batches.map(|batch| Op::Multi(batch.into())));
                    }
                }
            }
            return String::new();
        }
        for path in below.iter().rev().cloned() {
            self.tasks.push_front(Op::GetChildren2 { path, watch });
        }
        self.come_upon(below)
    }
}

/// An answer as it is printed.
fn shown(op: &Op, answer: &Answer, with_stat: bool) -> String {
    let stat = |stat: &Stat| if with_stat { printing::stat(stat) } else { String::new() };
    match (op, answer) {
        (Op::Sync { .. }, _) => "Sync is OK\n".to_owned(),
        (_, Answer::Path(path) | Answer::Created { path, .. }) => ["Created ", path, "\n"].concat(),
        (Op::Exists { .. }, Answer::Stat(found)) => printing::stat(found),
        (_, Answer::Stat(found)) => stat(found),
        (_, Answer::Data { data, stat: found }) => {
            let text = data.to_text();
            let text = if data.is_null() { "null" } else { &*text };
            [text, "\n", &stat(found)].concat()
        }
        (_, Answer::Acl { acl, stat: found }) => printing::acl(acl) + &stat(found),
        (_, Answer::Children2 { children, stat: found }) => {
            ["[", &children.join(", "), "]\n", &stat(found)].concat()
        }
        (_, Answer::Paths(paths)) => {
            let paths: Vec<&str> = paths.iter().map(Path::as_str).collect();
            ["[", &paths.join(", "), "]\n"].concat()
        }
        (_, Answer::Number(number)) => format!("{number}\n"),
        (_, Answer::Info(ids)) => {
            let rows = ids.iter().map(|id| [&*id.scheme, ": ", &*id.id, "\n"].concat());
            ["Auth scheme: User\n".to_owned()].into_iter().chain(rows).collect()
        }
        _ => String::new(),
    }
}

/// What comes before the words of the exception, where there is no ephemeral to be had.
// Source: CreateCommand.exec.
const ON_LOCAL_SESSION: &str = "Unable to create ephemeral node on a local session\n";

/// How the program tells of an error.
// Source: CliWrapperException.getMessage; what it has no words for are the exception's own.
pub(super) fn refusal(error: Error, op: &Op) -> Refusal {
    let Some(told) = told_of(error) else {
        return match op {
            Op::Sync { .. } => Refusal::said(&format!("Sync has failed. rc={}", error.code())),
            Op::Create(_) if error == Error::EphemeralOnLocalSession => {
                Refusal::Said([ON_LOCAL_SESSION, &message(error, op.path()), "\n"].concat())
            }
            op => Refusal::Said(message(error, op.path()) + "\n"),
        };
    };
    let path = op.path().map_or("null", Path::as_str);
    let first = match (op, error) {
        (Op::Create(_), Error::InvalidAcl) => message(error, op.path()) + "\n",
        _ => String::new(),
    };
    Refusal::Said([&first, told, path, "\n"].concat())
}

/// The words for an error, if it has some.
pub(super) fn told_of(error: Error) -> Option<&'static str> {
    Some(match error {
        Error::NoNode => "Node does not exist: ",
        Error::NoChildrenForEphemerals => "Ephemerals cannot have children: ",
        Error::NodeExists => "Node already exists: ",
        Error::NotEmpty => "Node not empty: ",
        Error::NotReadOnly => "Not a read-only call: ",
        Error::InvalidAcl => "Acl is not valid : ",
        Error::NoAuth => "Insufficient permission : ",
        Error::BadArguments => "Arguments are not valid : ",
        Error::BadVersion => "version No is not valid : ",
        Error::QuotaExceeded => "Quota has exceeded : ",
        _ => return None,
    })
}

/// What the exception says.
// Source: KeeperException.getMessage, KeeperException.getCodeMessage.
pub(super) fn message(error: Error, path: Option<&Path>) -> String {
    let code = match error {
        Error::NotEmpty => "Directory not empty",
        Error::SessionExpired => "Session expired",
        Error::InvalidCallback => "Invalid callback",
        Error::SessionMoved => "Session moved",
        Error::NotReadOnly => "Not a read-only call",
        Error::EphemeralOnLocalSession => "Ephemeral node on local session",
        Error::NoWatcher => "No such watcher",
        Error::RequestTimeout => "Request timeout",
        Error::ReconfigDisabled => "Reconfig is disabled",
        Error::QuotaExceeded => "Quota has exceeded",
        error => error.name(),
    };
    match path {
        Some(path) => ["KeeperErrorCode = ", code, " for ", path].concat(),
        None => ["KeeperErrorCode = ", code].concat(),
    }
}
