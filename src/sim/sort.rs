//! Sorting with one sort for all types: what `slice::sort` does, in a tenth of the code.
//! The standard library's sort is compiled anew, 5 KB of it, for every type and every order, which
//! would be a tenth of the page. Here positions are sorted, and then the elements put there.
//! *Invariant: equal elements stay in order.*

use std::cmp::Ordering;

/// Sorts by this order.
pub fn by<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    let order = positions(items.len(), &|left, right| compare(&items[left], &items[right]));
    let mut unsorted: Vec<Option<T>> = items.drain(..).map(Some).collect();
    items.extend(order.into_iter().filter_map(|at| unsorted[at].take()));
}

/// Sorts by a key.
pub fn by_key<T, K: Ord>(items: &mut Vec<T>, key: impl Fn(&T) -> K) {
    by(items, |left, right| key(left).cmp(&key(right)));
}

/// Sorts by the elements' own order.
pub fn sort<T: Ord>(items: &mut Vec<T>) {
    by(items, T::cmp);
}

/// The positions of so many elements, in their order.
fn positions(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..count).collect();
    positions.sort_by(|left, right| compare(*left, *right));
    positions
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_sorts_and_keeps_equals_in_order() {
        let mut words = vec!["pear", "fig", "apple", "plum", "kiwi", "date"];
        super::by_key(&mut words, |word| word.len());
        assert_eq!(words, ["fig", "pear", "plum", "kiwi", "date", "apple"]);
        super::sort(&mut words);
        assert_eq!(words, ["apple", "date", "fig", "kiwi", "pear", "plum"]);
    }
}
