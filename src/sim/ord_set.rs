//! An ordered set that is cheap to copy: the keys of an [`OrdMap`].
//! *Invariant: elements ascend strictly.*

use std::borrow::Borrow;
use std::fmt;
use std::ops::RangeFrom;

use super::ord_map::{self, OrdMap};

/// A sorted set. Copying it costs what copying an [`OrdMap`] does.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrdSet<T>(OrdMap<T, ()>);

impl<T> OrdSet<T> {
    /// A set of nothing.
    pub const fn new() -> Self {
        OrdSet(OrdMap::new())
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The elements, ascending.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self.0.iter())
    }

    /// The smallest element.
    pub fn first(&self) -> Option<&T> {
        self.iter().next()
    }

    /// The largest element.
    pub fn last(&self) -> Option<&T> {
        self.iter().next_back()
    }

    /// Forgets every element.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<T: Ord> OrdSet<T> {
    /// Whether an element is there.
    pub fn contains<Q: Ord + ?Sized>(&self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(element)
    }

    /// The elements from one on.
    pub fn range<Q: Ord + ?Sized>(&self, from: RangeFrom<&Q>) -> Iter<'_, T>
    where
        T: Borrow<Q>,
    {
        Iter(self.0.range(from))
    }

    /// Whether all of its elements are in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|element| other.contains(element))
    }

    /// Its elements that are not in the other, ascending.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.iter().filter(|element| !other.contains(*element))
    }
}

impl<T: Ord + Clone> OrdSet<T> {
    /// Puts an element in. Says whether it is new.
    pub fn insert(&mut self, element: T) -> bool {
        self.0.insert(element, ()).is_none()
    }

    /// Takes an element out. Says whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(element).is_some()
    }

    /// Takes out the smallest element.
    pub fn pop_first(&mut self) -> Option<T> {
        self.0.pop_first().map(|(element, ())| element)
    }

    /// Keeps the elements of which this is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|element, ()| keep(element));
    }
}

/// The elements of a set, ascending.
pub struct Iter<'a, T>(ord_map::Iter<'a, T, ()>);

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter(self.0.clone())
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.0.next().map(|(element, ())| element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> DoubleEndedIterator for Iter<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(element, ())| element)
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

impl<'a, T> IntoIterator for &'a OrdSet<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T: Clone> IntoIterator for OrdSet<T> {
    type Item = T;
    type IntoIter = std::iter::Map<std::vec::IntoIter<(T, ())>, fn((T, ())) -> T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(element, ())| element)
    }
}

impl<T: Ord + Clone> Extend<T> for OrdSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        self.0.extend(elements.into_iter().map(|element| (element, ())));
    }
}

impl<'a, T: Ord + Clone> Extend<&'a T> for OrdSet<T> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, elements: I) {
        self.extend(elements.into_iter().cloned());
    }
}

impl<T: Ord + Clone> FromIterator<T> for OrdSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        OrdSet(elements.into_iter().map(|element| (element, ())).collect())
    }
}

impl<T: Ord + Clone, const N: usize> From<[T; N]> for OrdSet<T> {
    fn from(elements: [T; N]) -> Self {
        elements.into_iter().collect()
    }
}

impl<T> Default for OrdSet<T> {
    fn default() -> Self {
        OrdSet::new()
    }
}

impl<T> Clone for OrdSet<T> {
    fn clone(&self) -> Self {
        OrdSet(self.0.clone())
    }
}

impl<T: fmt::Debug> fmt::Debug for OrdSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_set() {
        let mut set = OrdSet::from([3, 1, 2]);
        assert!(!set.insert(3) && set.insert(5) && set.remove(&1) && !set.remove(&1));
        assert!(set.iter().eq(&[2, 3, 5]) && set.iter().rev().eq(&[5, 3, 2]));
        assert!(OrdSet::from([2, 5]).is_subset(&set) && !OrdSet::from([1]).is_subset(&set));
        assert!(set.difference(&OrdSet::from([3])).eq(&[2, 5]) && set.range(&3..).eq(&[3, 5]));
        assert_eq!(
            (set.pop_first(), set.first(), set.last(), set.len()),
            (Some(2), Some(&3), Some(&5), 2)
        );
    }
}
