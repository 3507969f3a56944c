//! An ordered map that is cheap to copy: sorted chunks, each shared until it is written.
//! Keyframes copy whole processes, so what is large in one is kept in this.
//! Not here: ordered sets ([`super::ord_set`]) and lists ([`super::list`]).
//! *Invariant: keys ascend strictly, no chunk is empty, and none holds more than [`CHUNK`].*
//
// Why not `BTreeMap` (a copy costs every entry) or a persistent tree of a library (an allocation an
// entry): each of them also adds 7 KB of code to the page for every pair of types, this one 2.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter;
use std::ops::{Index, RangeFrom};
use std::slice;
use std::sync::Arc;

/// The most entries that one chunk holds: what a write copies when the chunk is shared.
const CHUNK: usize = 32;

/// How far a walk looks ahead before it searches.
const STRIDE: usize = 4;

type Chunk<K, V> = Arc<Vec<(K, V)>>;

/// A sorted map. Copying it costs a reference for each chunk; writing to a copy, one chunk.
pub struct OrdMap<K, V> {
    chunks: Vec<Chunk<K, V>>,
}

/// Where an entry is, or where it would go: its chunk and its place in it.
type Place = (usize, usize);

/// Where a key was found, and the next is looked for first ([`OrdMap::get_near`]); in the beginning
/// at the front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Near(Place);

impl<K, V> OrdMap<K, V> {
    /// A map of nothing.
    pub const fn new() -> Self {
        OrdMap { chunks: Vec::new() }
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The entries, keys ascending.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { chunks: self.chunks.iter(), front: [].iter(), back: [].iter() }
    }

    /// The keys, ascending.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// The entry with the smallest key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// The entry with the largest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }

    /// Forgets every entry.
    pub fn clear(&mut self) {
        self.chunks.clear();
    }
}

impl<K: Ord, V> OrdMap<K, V> {
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<Place, Place>
    where
        K: Borrow<Q>,
    {
        let Some((_, before_last)) = self.chunks.split_last() else { return Err((0, 0)) };
        let ends_before = |chunk: &Chunk<K, V>| chunk[chunk.len() - 1].0.borrow() < key;
        // Most maps are of one chunk.
        let number =
            if before_last.is_empty() { 0 } else { before_last.partition_point(ends_before) };
        match self.chunks[number].binary_search_by(|(other, _)| other.borrow().cmp(key)) {
            Ok(at) => Ok((number, at)),
            Err(at) => Err((number, at)),
        }
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let (chunk, at) = self.place(key).ok()?;
        Some(&self.chunks[chunk][at].1)
    }

    /// The value of a key that comes soon after the one before: whoever walks through two maps side
    /// by side finds most keys close to where `near` says, without a search.
    pub fn get_near<Q: Ord + ?Sized>(&self, key: &Q, near: &mut Near) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let (chunk, at) = self.place_near(key, near)?;
        Some(&self.chunks[chunk][at].1)
    }

    fn place_near<Q: Ord + ?Sized>(&self, key: &Q, near: &mut Near) -> Option<Place>
    where
        K: Borrow<Q>,
    {
        let (mut chunk, mut at) = near.0;
        let ahead = self.chunks.get(chunk).and_then(|entries| entries.get(at..)).unwrap_or(&[]);
        let ahead = &ahead[..ahead.len().min(STRIDE)];
        match ahead.iter().position(|(other, _)| other.borrow() >= key) {
            Some(steps) if ahead[steps].0.borrow() == key => at += steps,
            _ => (chunk, at) = self.place(key).ok()?,
        }
        near.0 = (chunk, at);
        Some(near.0)
    }

    /// Whether a key is there.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// The entries from a key on.
    pub fn range<Q: Ord + ?Sized>(&self, from: RangeFrom<&Q>) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (Ok((chunk, at)) | Err((chunk, at))) = self.place(from.start);
        let Some(front) = self.chunks.get(chunk) else { return self.iter() };
        Iter { chunks: self.chunks[chunk + 1..].iter(), front: front[at..].iter(), back: [].iter() }
    }
}

/// The entries of a chunk that is no longer shared: it is copied if it was.
// `Arc::make_mut` does it too, and brings a second way, for weak references, into each caller.
#[inline(never)]
pub(super) fn own<T: Clone>(chunk: &mut Arc<Vec<T>>) -> &mut Vec<T> {
    if Arc::strong_count(chunk) > 1 {
        *chunk = Arc::new(chunk.to_vec());
    }
    Arc::get_mut(chunk).expect("it has one owner, and nobody holds a weak reference")
}

impl<K: Ord + Clone, V: Clone> OrdMap<K, V> {
    /// The value of a key, to change.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(self.at_mut(place))
    }

    /// The value of a key that comes soon after the one before, to change.
    pub fn get_near_mut<Q: Ord + ?Sized>(&mut self, key: &Q, near: &mut Near) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.place_near(key, near)?;
        Some(self.at_mut(place))
    }

    fn at_mut(&mut self, (chunk, at): Place) -> &mut V {
        &mut own(&mut self.chunks[chunk])[at].1
    }

    /// Puts an entry where it goes and says where it is now.
    fn put(&mut self, (chunk, at): Place, entry: (K, V)) -> Place {
        if self.chunks.is_empty() {
            self.chunks.push(Arc::default());
        }
        let entries = own(&mut self.chunks[chunk]);
        entries.insert(at, entry);
        if entries.len() <= CHUNK {
            return (chunk, at);
        }
        // What grows at its end is left full: most of what grows here grows so.
        let kept = if at == CHUNK { CHUNK } else { CHUNK / 2 };
        let rest = entries.split_off(kept);
        self.chunks.insert(chunk + 1, Arc::new(rest));
        if at < kept { (chunk, at) } else { (chunk + 1, at - kept) }
    }

    fn take(&mut self, (chunk, at): Place) -> (K, V) {
        let entries = own(&mut self.chunks[chunk]);
        let entry = entries.remove(at);
        if entries.is_empty() {
            self.chunks.remove(chunk);
        }
        entry
    }

    /// Sets the value of a key, and gives back the one before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => Some(std::mem::replace(self.at_mut(place), value)),
            Err(place) => {
                self.put(place, (key, value));
                None
            }
        }
    }

    /// Takes a key out, and gives back its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(self.take(place).1)
    }

    /// Takes out the entry with the smallest key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.is_empty()).then(|| self.take((0, 0)))
    }

    /// The place of a key, there or not yet.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        Entry { map: self, key }
    }

    /// Keeps the entries of which this is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        for chunk in &mut self.chunks {
            own(chunk).retain_mut(|(key, value)| keep(key, value));
        }
        self.chunks.retain(|chunk| !chunk.is_empty());
    }

    /// The values in the order of their keys, to change.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.iter_mut().map(|(_, value)| value)
    }

    /// The entries in the order of their keys, values to change.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        self.into_iter()
    }

    /// The values in the order of their keys, for who wants to keep them.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.into_iter().map(|(_, value)| value)
    }
}

/// The place of a key in a map, there or not yet.
pub struct Entry<'a, K, V> {
    map: &'a mut OrdMap<K, V>,
    key: K,
}

impl<'a, K: Ord + Clone, V: Clone> Entry<'a, K, V> {
    /// The value; this one, if there was none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value; what this makes, if there was none.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        let place = match self.map.place(&self.key) {
            Ok(place) => place,
            Err(place) => self.map.put(place, (self.key, make())),
        };
        self.map.at_mut(place)
    }

    /// The value; its type's own first, if there was none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

/// The entries of a map, keys ascending.
pub struct Iter<'a, K, V> {
    chunks: slice::Iter<'a, Chunk<K, V>>,
    front: slice::Iter<'a, (K, V)>,
    back: slice::Iter<'a, (K, V)>,
}

/// The entries of a map in the order of their keys, values to change.
pub type IterMut<'a, K, V> = iter::Map<
    iter::FlatMap<
        slice::IterMut<'a, Chunk<K, V>>,
        slice::IterMut<'a, (K, V)>,
        fn(&'a mut Chunk<K, V>) -> slice::IterMut<'a, (K, V)>,
    >,
    fn(&'a mut (K, V)) -> (&'a K, &'a mut V),
>;

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        let (chunks, front, back) = (self.chunks.clone(), self.front.clone(), self.back.clone());
        Iter { chunks, front, back }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        if self.front.len() == 0 {
            match self.chunks.next() {
                Some(chunk) => self.front = chunk.iter(),
                None => std::mem::swap(&mut self.front, &mut self.back),
            }
        }
        self.front.next().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let between = self.chunks.as_slice().iter().map(|chunk| chunk.len()).sum::<usize>();
        let left = self.front.len() + between + self.back.len();
        (left, Some(left))
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.back.len() == 0 {
            match self.chunks.next_back() {
                Some(chunk) => self.back = chunk.iter(),
                None => std::mem::swap(&mut self.front, &mut self.back),
            }
        }
        self.back.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

impl<'a, K, V> IntoIterator for &'a OrdMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<'a, K: Ord + Clone, V: Clone> IntoIterator for &'a mut OrdMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        let chunks: fn(_) -> _ = |chunk: &'a mut Chunk<K, V>| own(chunk).iter_mut();
        let entry: fn(_) -> _ = |(key, value): &'a mut (K, V)| (&*key, value);
        self.chunks.iter_mut().flat_map(chunks).map(entry)
    }
}

impl<K: Clone, V: Clone> IntoIterator for OrdMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        let mut entries = Vec::with_capacity(self.len());
        for chunk in self.chunks {
            entries.append(&mut Arc::unwrap_or_clone(chunk));
        }
        entries.into_iter()
    }
}

impl<K: Ord + Clone, V: Clone> Extend<(K, V)> for OrdMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| {
            self.insert(key, value);
        });
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for OrdMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = OrdMap::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord + Clone, V: Clone, const N: usize> From<[(K, V); N]> for OrdMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized> Index<&Q> for OrdMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key is in the map")
    }
}

impl<K, V> Default for OrdMap<K, V> {
    fn default() -> Self {
        OrdMap::new()
    }
}

impl<K, V> Clone for OrdMap<K, V> {
    fn clone(&self) -> Self {
        OrdMap { chunks: self.chunks.clone() }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for OrdMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

// Where the chunks end is an accident of what came when; only the entries are the map.

impl<K: PartialEq, V: PartialEq> PartialEq for OrdMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other)
    }
}

impl<K: Eq, V: Eq> Eq for OrdMap<K, V> {}

impl<K: PartialOrd, V: PartialOrd> PartialOrd for OrdMap<K, V> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.iter().partial_cmp(other)
    }
}

impl<K: Ord, V: Ord> Ord for OrdMap<K, V> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.iter().cmp(other)
    }
}

impl<K: Hash, V: Hash> Hash for OrdMap<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.len() as u64).hash(state);
        self.iter().for_each(|entry| entry.hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A fixed, scattered order of `0..n`.
    fn scattered(n: u32) -> impl Iterator<Item = u32> {
        (0..n).map(move |k| k * 7919 % n)
    }

    #[test]
    fn it_does_what_a_b_tree_map_does() {
        let (mut ours, mut theirs) = (OrdMap::new(), BTreeMap::new());
        for key in scattered(1_000) {
            assert_eq!(ours.insert(key % 700, key), theirs.insert(key % 700, key));
        }
        for key in scattered(1_000).step_by(3) {
            assert_eq!(ours.remove(&key), theirs.remove(&key));
        }
        assert!(ours.iter().eq(&theirs) && ours.iter().rev().eq(theirs.iter().rev()));
        assert_eq!((ours.len(), ours.iter().len()), (theirs.len(), theirs.len()));
        for key in 0..1_000 {
            assert_eq!(ours.get(&key), theirs.get(&key));
            assert!(ours.range(&key..).eq(theirs.range(key..)));
        }
        ours.retain(|key, value| {
            *value += 1;
            key % 2 == 0
        });
        theirs.retain(|key, value| {
            *value += 1;
            key % 2 == 0
        });
        *ours.entry(5).or_default() += 9;
        *theirs.entry(5).or_default() += 9;
        assert!(ours.into_iter().eq(theirs));
    }

    #[test]
    fn a_copy_shares_until_it_is_written() {
        let map: OrdMap<u32, u32> = scattered(100).map(|key| (key, 0)).collect();
        let mut copy = map.clone();
        *copy.get_mut(&50).expect("it is there") = 1;
        let shared = map.chunks.iter().zip(&copy.chunks).filter(|(a, b)| Arc::ptr_eq(a, b)).count();
        assert_eq!(shared, map.chunks.len() - 1);
        assert_eq!((map[&50], copy[&50]), (0, 1));
    }

    #[test]
    fn what_came_when_does_not_tell() {
        let up: OrdMap<u32, ()> = (0..100).map(|key| (key, ())).collect();
        let other: OrdMap<u32, ()> = scattered(100).map(|key| (key, ())).collect();
        let lengths =
            |map: &OrdMap<u32, ()>| map.chunks.iter().map(|c| c.len()).collect::<Vec<_>>();
        assert_ne!(lengths(&up), lengths(&other));
        assert_eq!(up, other);
    }
}
