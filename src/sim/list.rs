//! A list that is cheap to copy: chunks, each shared until it is written. It grows and shrinks at
//! its end.
//! For logs: keyframes copy whole processes, and a log is the largest thing in one.
//! *Invariant: every chunk but the last holds [`CHUNK`] elements, and none is empty.*

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Index;
use std::sync::Arc;

use super::ord_map::own;

/// How many elements a full chunk holds.
const CHUNK: usize = 32;

/// A list. Copying it costs a reference for each chunk; writing to a copy, one chunk.
pub struct List<T> {
    chunks: Vec<Arc<Vec<T>>>,
}

impl<T> List<T> {
    /// A list of nothing.
    pub const fn new() -> Self {
        List { chunks: Vec::new() }
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        let full = self.chunks.len().saturating_sub(1) * CHUNK;
        full + self.chunks.last().map_or(0, |chunk| chunk.len())
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The element at a position, counted from 0.
    pub fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / CHUNK)?.get(at % CHUNK)
    }

    /// The first element.
    pub fn first(&self) -> Option<&T> {
        self.get(0)
    }

    /// The last element.
    pub fn last(&self) -> Option<&T> {
        self.chunks.last()?.last()
    }

    /// The elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }
}

impl<T: Clone> List<T> {
    /// Puts an element at the end.
    pub fn push(&mut self, element: T) {
        match self.chunks.last_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => own(chunk).push(element),
            None => self.chunks.push(Arc::new(vec![element])),
        }
    }

    /// Takes the last element off.
    pub fn pop(&mut self) -> Option<T> {
        let chunk = own(self.chunks.last_mut()?);
        let element = chunk.pop();
        if chunk.is_empty() {
            self.chunks.pop();
        }
        element
    }
}

impl<T: Clone> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut list = List::new();
        elements.into_iter().for_each(|element| list.push(element));
        list
    }
}

impl<T> Index<usize> for List<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        &self.chunks[at / CHUNK][at % CHUNK]
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List::new()
    }
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        List { chunks: self.chunks.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: PartialEq> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for List<T> {}

impl<T: Hash> Hash for List<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.len() as u64).hash(state);
        self.iter().for_each(|element| element.hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_what_a_vector_does() {
        let (mut ours, mut theirs) = (List::new(), Vec::new());
        for step in 0..500 {
            if step % 7 < 4 {
                ours.push(step);
                theirs.push(step);
            } else {
                assert_eq!(ours.pop(), theirs.pop());
            }
            let ends = (ours.len(), ours.first(), ours.last(), ours.get(40), ours.is_empty());
            let same =
                (theirs.len(), theirs.first(), theirs.last(), theirs.get(40), theirs.is_empty());
            assert_eq!(ends, same);
        }
        assert!(ours.iter().eq(&theirs) && ours.iter().rev().eq(theirs.iter().rev()));
    }

    #[test]
    fn a_copy_shares_until_it_is_written() {
        let list: List<u32> = (0..100).collect();
        let mut copy = list.clone();
        copy.push(100);
        let shared =
            list.chunks.iter().zip(&copy.chunks).filter(|(a, b)| Arc::ptr_eq(a, b)).count();
        assert_eq!((shared, list.len(), copy.len()), (list.chunks.len() - 1, 100, 101));
    }
}
