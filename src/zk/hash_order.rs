//! A set of paths in the order of a Java hash table, which decides in what order the ephemerals of
//! a session go, and containers are looked at.
//!
//! Java's `HashSet` walks its buckets from 0 upwards, and within a bucket follows insertion;
//! growing splits a bucket but keeps the order within. So the order is a stable sort of the
//! insertions by `bucket = hash & (buckets - 1)`, where `buckets` depends on the largest count so
//! far.
//!
//! Real: a bucket of eight or more becomes a tree; here it stays a list, because the order of a
//! treeified bucket still follows insertion for all but its root.
//!
//! *Invariant: buckets never shrink.*

use super::path::Path;
use crate::sim::{OrdMap, sort};

/// Buckets of a set that was made empty.
const FIRST_BUCKETS: u32 = 16;

/// A set of paths that remembers what Java's `HashSet` would.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HashOrderedPaths {
    inserted: OrdMap<Path, u32>,
    next: u32,
    buckets: u32,
}

impl HashOrderedPaths {
    /// The empty set.
    pub fn new() -> HashOrderedPaths {
        let inserted = OrdMap::default();
        HashOrderedPaths { inserted, next: 0, buckets: FIRST_BUCKETS }
    }

    /// Adds `path`; it keeps its place if it was in already.
    pub fn insert(&mut self, path: Path) {
        if self.inserted.contains_key(&path) {
            return;
        }
        self.inserted.insert(path, self.next);
        self.next += 1;
        if self.count() > self.buckets - self.buckets.div_ceil(4) {
            self.buckets *= 2;
        }
    }

    /// Takes `path` out.
    pub fn remove(&mut self, path: &str) {
        self.inserted.remove(path);
    }

    /// How many paths.
    pub fn count(&self) -> u32 {
        u32::try_from(self.inserted.len()).expect("a tree holds fewer than 2^32 znodes")
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.inserted.is_empty()
    }

    /// The paths in name order.
    pub fn sorted(&self) -> impl Iterator<Item = &Path> {
        self.inserted.keys()
    }

    /// The paths in the order of the table.
    pub fn in_order(&self) -> Vec<Path> {
        let mut entries: Vec<(u32, u32, &Path)> = self
            .inserted
            .iter()
            .map(|(path, at)| (bucket(hash_code(path), self.buckets), *at, path))
            .collect();
        sort::by_key(&mut entries, |entry| (entry.0, entry.1));
        entries.into_iter().map(|entry| entry.2.clone()).collect()
    }

    /// A copy as `HashSet.clone` makes it: sized for its count, filled in the order of the first.
    // Source: HashMap.putMapEntries, HashMap.tableSizeFor.
    pub fn java_clone(&self) -> HashOrderedPaths {
        let mut copy = HashOrderedPaths::new();
        if self.is_empty() {
            return copy;
        }
        copy.buckets = (self.count() * 4 / 3 + 1).next_power_of_two();
        for path in self.in_order() {
            copy.insert(path);
        }
        copy
    }
}

impl Default for HashOrderedPaths {
    fn default() -> HashOrderedPaths {
        HashOrderedPaths::new()
    }
}

/// The hash of a text as the JVM has it: h = 31 h + unit, in 32 bits.
// Source: java.lang.String.hashCode
pub fn hash_code(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |h, unit| h.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// The bucket of a hash in a table of that many: sorting by it gives the order in which such a
/// table is walked.
// Source: java.util.HashMap.hash; scala.collection.mutable.HashMap.improveHash (2.13)
pub fn bucket(hash: i32, buckets: u32) -> u32 {
    let hash = hash.cast_unsigned();
    (hash ^ (hash >> 16)) & (buckets - 1)
}

#[cfg(test)]
mod tests {
    use super::{HashOrderedPaths, bucket, hash_code};
    use crate::zk::path::Path;

    #[test]
    fn hashes_are_those_of_java() {
        // "/a".hashCode() is 1554, "Ab".hashCode() == "BB".hashCode() is 2112.
        assert_eq!(bucket(hash_code("/a"), 1 << 16), 1554);
        assert_eq!(hash_code("Aa"), hash_code("BB"));
    }

    #[test]
    fn the_table_grows_past_three_quarters() {
        let mut set = HashOrderedPaths::new();
        for number in 0..12 {
            set.insert(Path::from(format!("/{number}")));
        }
        assert_eq!(set.buckets, 16);
        set.insert(Path::new("/12"));
        assert_eq!(set.buckets, 32);
        assert_eq!(set.java_clone().buckets, 32);
        for number in 0..12 {
            set.remove(&format!("/{number}"));
        }
        assert_eq!((set.buckets, set.java_clone().buckets), (32, 2));
    }
}
