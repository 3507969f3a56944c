//! The tree of znodes: what it holds and how a change alters it.
//!
//! Whether a change is allowed was decided when its txn was prepared; which watches it fires is
//! decided in `apply`.
//!
//! *Invariant: every znode but the root has a parent that lists it; an ephemeral is listed with its
//! session. A clone is a few pointers.*

use std::sync::Arc;

use super::acl::{Acl, Perms};
use super::hash_order::HashOrderedPaths;
use super::path::{self, Path};
use super::quota::{self, QUOTAS, STATS, Track};
use super::release::Release;
use super::stat::{Bytes, Millis, Owner, SessionId, Stat, StoredStat};
use super::zxid::Zxid;
use crate::sim::{OrdMap, OrdSet};

/// One znode.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Znode {
    /// What it holds.
    pub data: Bytes,
    /// Who may do what with it.
    pub acl: Acl,
    /// Its counters.
    pub stat: StoredStat,
    /// The names of its children.
    pub children: OrdSet<Arc<str>>,
}

impl Znode {
    fn new(data: Bytes, acl: Acl, stat: StoredStat) -> Znode {
        Znode { data, acl, stat, children: OrdSet::default() }
    }

    /// How many children.
    pub fn child_count(&self) -> i32 {
        i32::try_from(self.children.len()).expect("a znode has fewer than 2^31 children")
    }

    /// Its Stat as clients see it.
    pub fn shown_stat(&self) -> Stat {
        self.stat.shown(self.data.count(), self.child_count())
    }

    /// The names of its children, sorted.
    pub fn child_names(&self) -> Arc<[Arc<str>]> {
        self.children.iter().cloned().collect()
    }
}

/// All znodes of a server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tree {
    /// By whose rules it changes.
    release: Release,
    znodes: OrdMap<Path, Znode>,
    ephemerals: OrdMap<SessionId, HashOrderedPaths>,
    containers: HashOrderedPaths,
    ttls: HashOrderedPaths,
}

/// A txn that cannot be applied to this tree. It happens when a snapshot was ahead of the log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Misfit {
    /// The znode or its parent is missing.
    NoNode,
    /// The znode is there already.
    NodeExists,
}

/// What is needed to create a znode.
#[derive(Clone, Debug)]
pub struct NewZnode {
    /// Where.
    pub path: Path,
    /// The first data.
    pub data: Bytes,
    /// Who may do what.
    pub acl: Acl,
    /// How long it lives.
    pub owner: Owner,
    /// How many children the parent will have created.
    pub parent_creations: i32,
}

impl Tree {
    /// What a server of the recorded release has before the first txn.
    pub fn new() -> Tree {
        Tree::of_release(Release::V3_8_0)
    }

    /// What a server has before the first txn.
    // Source: DataTree.DataTree, DataTree.addConfigNode.
    pub fn of_release(release: Release) -> Tree {
        let mut tree = Tree {
            release,
            znodes: OrdMap::default(),
            ephemerals: OrdMap::default(),
            containers: HashOrderedPaths::new(),
            ttls: HashOrderedPaths::new(),
        };
        let plain = || Znode::new(Bytes::from(""), Acl::open(), StoredStat::default());
        tree.znodes.insert(Path::root(), plain());
        tree.adopt(Path::new("/zookeeper"), plain());
        tree.adopt(Path::new("/zookeeper/quota"), plain());
        if release.has_config_znode() {
            let acl = Acl::world(Perms::READ);
            let mut config = Znode::new(Bytes::from(""), acl, StoredStat::default());
            config.stat.aversion = -1;
            tree.adopt(Path::new("/zookeeper/config"), config);
        }
        tree
    }

    /// By whose rules it changes.
    pub fn release(&self) -> Release {
        self.release
    }

    /// The znode at `path`; the empty path is the root's too.
    // Source: DataTree.DataTree puts the root under "" and "/".
    pub fn znode(&self, path: &str) -> Option<&Znode> {
        self.znodes.get(if path.is_empty() { "/" } else { path })
    }

    /// All znodes in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Znode)> {
        self.znodes.iter()
    }

    /// How many znodes, the root included.
    pub fn count(&self) -> i32 {
        i32::try_from(self.znodes.len()).expect("a tree holds fewer than 2^31 znodes")
    }

    /// How many znodes are below `path`.
    // Source: DataTree.getAllChildrenNumber.
    pub fn descendant_count(&self, path: &str) -> i32 {
        if path == "/" {
            return self.count() - 1;
        }
        let below = |other: &Path| other.starts_with(path) && other[path.len()..].starts_with('/');
        let first = Path::from(format!("{path}/"));
        let count = self.znodes.range(&first..).take_while(|(other, _)| below(other)).count();
        i32::try_from(count).expect("a tree holds fewer than 2^31 znodes")
    }

    /// The ephemerals of `session`.
    pub fn ephemerals(&self, session: SessionId) -> Option<&HashOrderedPaths> {
        self.ephemerals.get(&session)
    }

    /// The sessions that have ephemerals, with them.
    pub fn owners(&self) -> impl Iterator<Item = (&SessionId, &HashOrderedPaths)> {
        self.ephemerals.iter()
    }

    /// Containers and TTL znodes whose time is over, in the order in which they are looked at.
    // Source: ContainerManager.getCandidates; `containers` and `ttls` are concurrent hash sets.
    pub fn overdue(&self, now: Millis) -> Vec<Path> {
        let mut candidates = HashOrderedPaths::new();
        let known = self.containers.sorted().chain(self.ttls.sorted());
        for path in known.filter(|path| self.is_overdue(path, now)) {
            candidates.insert(path.clone());
        }
        candidates.in_order()
    }

    fn is_overdue(&self, path: &str, now: Millis) -> bool {
        let znode = self.znode(path).expect("listed containers and TTL znodes exist");
        znode.children.is_empty()
            && match znode.stat.owner {
                Owner::Container => znode.stat.creations > 0,
                Owner::Ttl(ttl) => now.0 - znode.stat.mtime.0 > ttl.0,
                Owner::Persistent | Owner::Session(_) => false,
            }
    }

    /// Creates a znode and counts it at its parent.
    ///
    /// From 3.6 on the count is taken over only if it is higher: on replay over a newer snapshot it
    /// is not. Before, it is taken over whenever the znode is new.
    // Source: DataTree.createNode, DataTree.setCversionPzxid; ZOOKEEPER-3249 (counts never fall).
    pub fn create(&mut self, new: NewZnode, zxid: Zxid, time: Millis) -> Result<Stat, Misfit> {
        let parent_path = path::parent(&new.path).ok_or(Misfit::NoNode)?;
        let name = path::name(&new.path);
        let parent = self.znodes.get_mut(parent_path).ok_or(Misfit::NoNode)?;
        let exists = parent.children.contains(name);
        let wraps = self.release.sequences_wrap() && !exists;
        if wraps || new.parent_creations > parent.stat.creations {
            parent.stat.creations = new.parent_creations;
            parent.stat.pzxid = zxid;
        }
        if exists {
            return Err(Misfit::NodeExists);
        }
        parent.children.insert(Arc::from(name));
        let bytes = i64::from(new.data.count());
        let znode = Znode::new(new.data, new.acl, StoredStat::created(zxid, time, new.owner));
        let stat = znode.shown_stat();
        self.enlist(&new.path, new.owner);
        self.znodes.insert(new.path.clone(), znode);
        self.count_below(&new.path);
        self.count_at(&new.path, bytes, 1);
        Ok(stat)
    }

    /// Deletes a znode; says what ACL it had.
    // Source: DataTree.deleteNode.
    pub fn delete(&mut self, path: &str, zxid: Zxid) -> Result<Acl, Misfit> {
        let parent_path = path::parent(path).ok_or(Misfit::NoNode)?;
        let parent = self.znodes.get_mut(parent_path).ok_or(Misfit::NoNode)?;
        parent.children.remove(path::name(path));
        parent.stat.pzxid = parent.stat.pzxid.max(zxid);
        let (owner, acl, bytes) = match self.znodes.get(path) {
            Some(znode) => (znode.stat.owner, znode.acl.clone(), znode.data.count()),
            None => return Err(Misfit::NoNode),
        };
        self.znodes.remove(path);
        self.delist(path, owner);
        self.count_at(path, -i64::from(bytes), -1);
        Ok(acl)
    }

    /// Sets data and version.
    // Source: DataTree.setData.
    pub fn set_data(
        &mut self,
        path: &str,
        (data, version): (Bytes, i32),
        zxid: Zxid,
        time: Millis,
    ) -> Result<Stat, Misfit> {
        let growth = quota::growth(self, path, &data);
        let znode = self.znode_mut(path)?;
        znode.data = data;
        znode.stat = StoredStat { version, mzxid: zxid, mtime: time, ..znode.stat };
        let stat = znode.shown_stat();
        self.count_at(path, growth, 0);
        Ok(stat)
    }

    /// Sets ACL and aversion.
    // Source: DataTree.setACL.
    pub fn set_acl(&mut self, path: &str, acl: Acl, version: i32) -> Result<Stat, Misfit> {
        let znode = self.znode_mut(path)?;
        znode.acl = acl;
        znode.stat.aversion = version;
        Ok(znode.shown_stat())
    }

    /// Forgets that `session` had ephemerals.
    pub fn forget_session(&mut self, session: SessionId) {
        self.ephemerals.remove(&session);
    }

    /// Puts a znode there as it is: for the first tree, snapshots and presets.
    pub fn adopt(&mut self, path: Path, znode: Znode) {
        let parent = path::parent(&path).expect("the root is there from the start");
        let parent = self.znodes.get_mut(parent).expect("parents are put in before children");
        parent.children.insert(Arc::from(path::name(&path)));
        self.enlist(&path, znode.stat.owner);
        self.znodes.insert(path, znode);
    }

    /// Changes a Stat as it is: for presets.
    pub fn restat(&mut self, path: &str, change: impl FnOnce(&mut StoredStat)) {
        change(&mut self.znode_mut(path).expect("a preset names znodes that it holds").stat);
    }

    fn znode_mut(&mut self, path: &str) -> Result<&mut Znode, Misfit> {
        let path = if path.is_empty() { "/" } else { path };
        self.znodes.get_mut(path).ok_or(Misfit::NoNode)
    }

    /// Counts what has come or gone, if there is a quota over `path`.
    // Source: DataTree.updateQuotaStat.
    fn count_at(&mut self, path: &str, bytes: i64, znodes: i64) {
        let Some(over) = quota::over(self, path) else { return };
        let Some(stats) = self.znodes.get_mut(quota::at(over, STATS).as_str()) else { return };
        let track = Track::read(&stats.data);
        // A long of Java's: anybody may have written any number there.
        let (count, bytes) = (track.count.wrapping_add(znodes), track.bytes.wrapping_add(bytes));
        stats.data = Bytes::from(Track { count, bytes, ..track }.text());
    }

    /// Counts all that is there, if `path` is where the count of a new quota stands.
    // Source: DataTree.updateQuotaForPath, getCounts.
    fn count_below(&mut self, path: &str) {
        let over = path.strip_prefix(QUOTAS).and_then(|path| path.strip_suffix(STATS));
        let Some(over) = over.and_then(|over| over.strip_suffix('/')) else { return };
        let (mut count, mut bytes) = (0, 0);
        let mut add = |znode: &Znode| {
            count += 1;
            bytes += i64::from(znode.data.count());
        };
        self.znode(over).iter().for_each(|znode| add(znode));
        let inside = Path::from([over, "/"].concat());
        let below = self.znodes.range(&inside..);
        below.take_while(|(path, _)| path.starts_with(&*inside)).for_each(|(_, znode)| add(znode));
        let stats = self.znodes.get_mut(path).expect("it has just been created");
        stats.data = Bytes::from(Track { count, bytes, ..Track::NONE }.text());
    }

    fn enlist(&mut self, path: &Path, owner: Owner) {
        match owner {
            Owner::Persistent => {}
            Owner::Container => self.containers.insert(path.clone()),
            Owner::Ttl(_) => self.ttls.insert(path.clone()),
            Owner::Session(session) => {
                if self.ephemerals.get(&session).is_none() {
                    self.ephemerals.insert(session, HashOrderedPaths::new());
                }
                let own = self.ephemerals.get_mut(&session).expect("it was just put in");
                own.insert(path.clone());
            }
        }
    }

    fn delist(&mut self, path: &str, owner: Owner) {
        match owner {
            Owner::Persistent => {}
            Owner::Container => self.containers.remove(path),
            Owner::Ttl(_) => self.ttls.remove(path),
            Owner::Session(session) => {
                if let Some(own) = self.ephemerals.get_mut(&session) {
                    own.remove(path);
                }
            }
        }
    }
}

impl Default for Tree {
    fn default() -> Tree {
        Tree::new()
    }
}

#[cfg(test)]
mod tests {
    use super::{Misfit, NewZnode, Tree};
    use crate::zk::acl::Acl;
    use crate::zk::path::Path;
    use crate::zk::release::Release;
    use crate::zk::stat::{Bytes, Millis, Owner, SessionId};
    use crate::zk::zxid::Zxid;

    fn new(path: &str, owner: Owner, parent_creations: i32) -> NewZnode {
        let (path, data, acl) = (Path::new(path), Bytes::from("x"), Acl::open());
        NewZnode { path, data, acl, owner, parent_creations }
    }

    #[test]
    fn an_empty_tree_has_the_reserved_znodes() {
        let tree = Tree::new();
        let paths: Vec<&str> = tree.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"]);
        let cversion = |path| tree.znode(path).map(|znode| znode.shown_stat().cversion);
        assert_eq!(
            (cversion("/"), cversion("/zookeeper"), cversion("")),
            (Some(-1), Some(-2), Some(-1))
        );
    }

    #[test]
    fn creations_and_deletions_count_at_the_parent() {
        let mut tree = Tree::new();
        let owner = Owner::Session(SessionId(7));
        tree.create(new("/a", owner, 1), Zxid(1), Millis(5)).expect("the parent is there");
        let again = tree.create(new("/a", owner, 2), Zxid(2), Millis(5));
        assert_eq!(again, Err(Misfit::NodeExists));
        assert_eq!(tree.ephemerals(SessionId(7)).map(|own| own.count()), Some(1));
        tree.delete("/a", Zxid(3)).expect("it is there");
        let root = tree.znode("/").expect("the root is always there").shown_stat();
        assert_eq!((root.cversion, root.pzxid, root.num_children), (3, Zxid(3), 1));
        assert_eq!(tree.ephemerals(SessionId(7)).map(|own| own.count()), Some(0));
    }

    /// The last number is used once; then up to 3.5 the count goes on below zero, and from 3.6 on
    /// it stays where it is.
    #[test]
    fn the_count_of_children_comes_to_its_end() {
        let counted = |release| {
            let mut tree = Tree::of_release(release);
            tree.restat("/", |stat| stat.creations = i32::MAX);
            tree.create(new("/a", Owner::Persistent, i32::MIN), Zxid(1), Millis(5))
                .expect("it fits");
            let stat = tree.znode("/").expect("the root is always there").stat;
            (stat.creations, stat.pzxid)
        };
        assert_eq!(counted(Release::V3_4_6), (i32::MIN, Zxid(1)));
        assert_eq!(counted(Release::V3_5_9), (i32::MIN, Zxid(1)));
        assert_eq!(counted(Release::V3_6_3), (i32::MAX, Zxid::ZERO));
    }

    #[test]
    fn the_members_are_in_the_tree_from_3_5_on() {
        let count = |release| Tree::of_release(release).count();
        assert_eq!((count(Release::V3_4_14), count(Release::V3_5_9)), (3, 4));
    }

    #[test]
    fn a_clone_does_not_see_later_changes() {
        let before = Tree::new();
        let mut after = before.clone();
        after.create(new("/a", Owner::Persistent, 1), Zxid(1), Millis(5)).expect("it fits");
        assert!(before.znode("/a").is_none() && after.znode("/a").is_some());
        assert_eq!((before.descendant_count("/"), after.descendant_count("/")), (3, 4));
        assert_eq!(after.descendant_count("/zookeeper"), 2);
    }
}
