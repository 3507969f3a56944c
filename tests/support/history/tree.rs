//! A tree of the judge's own: as much of ZooKeeper's as the swarm's clients ask for, written from
//! the specification and not from the engine.
//!
//! *Invariant: the same calls in the same order give the same answers.*

use std::collections::BTreeMap;
use std::sync::Arc;

use zootrope::zk::reply::{Answer, Error};
use zootrope::zk::request::{Create, Op, mode};
use zootrope::zk::stat::{Bytes, SessionId, Stat};
use zootrope::zk::zxid::Zxid;

#[derive(Clone, Debug, Default)]
struct Znode {
    data: Bytes,
    czxid: Zxid,
    mzxid: Zxid,
    pzxid: Zxid,
    version: i32,
    creations: i32,
    owner: SessionId,
}

/// Znodes by path. The root is there, and nothing is asked of it.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    znodes: BTreeMap<String, Znode>,
    /// By parent: when the end of a session took a child away last.
    bereft: BTreeMap<String, Zxid>,
}

type Outcome = Result<Answer, Error>;

impl Tree {
    /// Carries out a write.
    pub fn write(&mut self, op: &Op, session: SessionId, zxid: Zxid) -> Outcome {
        match op {
            Op::Create(create) => self.create(create, session, zxid),
            Op::SetData { path, data, version } => {
                let znode = self.znodes.get_mut(&**path).ok_or(Error::NoNode)?;
                if *version != -1 && *version != znode.version {
                    return Err(Error::BadVersion);
                }
                znode.data = data.clone();
                znode.version += 1;
                znode.mzxid = zxid;
                Ok(Answer::Stat(self.stat(path)?))
            }
            Op::Delete { path, version } => {
                let znode = self.znodes.get(&**path).ok_or(Error::NoNode)?;
                if *version != -1 && *version != znode.version {
                    return Err(Error::BadVersion);
                }
                if self.children(path).next().is_some() {
                    return Err(Error::NotEmpty);
                }
                self.remove(path, zxid);
                Ok(Answer::Nothing)
            }
            _ => Err(Error::Unimplemented),
        }
    }

    fn create(&mut self, create: &Create, session: SessionId, zxid: Zxid) -> Outcome {
        let (parent, _) = create.path.rsplit_once('/').ok_or(Error::BadArguments)?;
        let parent = parent.to_owned();
        let (creations, owner) = match parent.is_empty() {
            true => (0, SessionId::NONE),
            false => {
                let znode = self.znodes.get(&parent).ok_or(Error::NoNode)?;
                (znode.creations, znode.owner)
            }
        };
        let sequential = create.flags & mode::PERSISTENT_SEQUENTIAL != 0;
        let number = if sequential { format!("{creations:010}") } else { String::new() };
        let path = format!("{}{number}", &*create.path);
        if self.znodes.contains_key(&path) {
            return Err(Error::NodeExists);
        }
        if owner != SessionId::NONE {
            return Err(Error::NoChildrenForEphemerals);
        }
        if let Some(parent) = self.znodes.get_mut(&parent) {
            parent.creations += 1;
            parent.pzxid = zxid;
        }
        let ephemeral = create.flags & mode::EPHEMERAL != 0;
        let owner = if ephemeral { session } else { SessionId::NONE };
        let (data, zxids) = (create.data.clone(), (zxid, zxid, zxid));
        let (czxid, mzxid, pzxid) = zxids;
        let znode = Znode { data, czxid, mzxid, pzxid, version: 0, creations: 0, owner };
        self.znodes.insert(path.clone(), znode);
        Ok(Answer::Path(path.as_str().into()))
    }

    fn remove(&mut self, path: &str, zxid: Zxid) {
        self.znodes.remove(path);
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        if let Some(parent) = self.znodes.get_mut(parent) {
            parent.pzxid = zxid;
        }
    }

    /// A session is over, and its ephemerals with it.
    pub fn end_session(&mut self, session: SessionId, zxid: Zxid) {
        let owned = self.znodes.iter().filter(|(_, znode)| znode.owner == session);
        for path in owned.map(|(path, _)| path.clone()).collect::<Vec<_>>() {
            self.remove(&path, zxid);
            if let Some((parent, _)) = path.rsplit_once('/') {
                self.bereft.insert(parent.to_owned(), zxid);
            }
        }
    }

    /// When the end of a session took a child of this znode away last.
    pub fn bereft(&self, path: &str) -> Option<Zxid> {
        self.bereft.get(path).copied()
    }

    /// Answers a read.
    pub fn read(&self, op: &Op) -> Outcome {
        match op {
            Op::GetData { path, .. } => {
                let stat = self.stat(path)?;
                Ok(Answer::Data { data: self.znodes[&**path].data.clone(), stat })
            }
            Op::GetChildren2 { path, .. } => {
                let stat = self.stat(path)?;
                let children: Vec<Arc<str>> = self.children(path).map(Arc::from).collect();
                Ok(Answer::Children2 { children: children.into(), stat })
            }
            Op::Exists { path, .. } => Ok(Answer::Stat(self.stat(path)?)),
            Op::Sync { path } => Ok(Answer::Path(path.clone())),
            _ => Err(Error::Unimplemented),
        }
    }

    fn children<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a str> {
        let prefix = format!("{path}/");
        let below = self.znodes.range(prefix.clone()..).map(|(path, _)| path.as_str());
        let below = below.map_while(move |path| path.strip_prefix(prefix.as_str()));
        below.filter(|name| !name.contains('/'))
    }

    fn stat(&self, path: &str) -> Result<Stat, Error> {
        let znode = self.znodes.get(path).ok_or(Error::NoNode)?;
        let children = i32::try_from(self.children(path).count()).expect("few children");
        Ok(Stat {
            czxid: znode.czxid,
            mzxid: znode.mzxid,
            pzxid: znode.pzxid,
            version: znode.version,
            cversion: 2 * znode.creations - children,
            ephemeral_owner: znode.owner,
            data_length: znode.data.count(),
            num_children: children,
            ..Stat::default()
        })
    }
}

/// Whether two outcomes are one, apart from the wall clock.
pub fn same(expected: &Outcome, found: &Outcome) -> bool {
    match (expected, found) {
        (Ok(expected), Ok(found)) => timeless(expected) == timeless(found),
        (expected, found) => expected == found,
    }
}

fn timeless(answer: &Answer) -> Answer {
    let without =
        |stat: &Stat| Stat { ctime: Default::default(), mtime: Default::default(), ..*stat };
    match answer {
        Answer::Stat(stat) => Answer::Stat(without(stat)),
        Answer::Data { data, stat } => Answer::Data { data: data.clone(), stat: without(stat) },
        Answer::Children2 { children, stat } => {
            Answer::Children2 { children: children.clone(), stat: without(stat) }
        }
        other => other.clone(),
    }
}

/// An outcome in a line.
pub fn told(outcome: &Outcome) -> String {
    match outcome {
        Err(error) => error.to_string(),
        Ok(Answer::Path(path)) => format!("{path}"),
        Ok(Answer::Data { data, stat }) => format!("{data:?} {}", short(stat)),
        Ok(Answer::Children2 { children, stat }) => {
            format!("[{}] {}", children.join(" "), short(stat))
        }
        Ok(Answer::Stat(stat)) => short(stat),
        Ok(_) => "ok".to_owned(),
    }
}

fn short(stat: &Stat) -> String {
    let Stat { czxid, mzxid, pzxid, version, cversion, ephemeral_owner, .. } = stat;
    format!(
        "czxid={czxid} mzxid={mzxid} pzxid={pzxid} version={version} cversion={cversion} \
        owner={ephemeral_owner}"
    )
}
