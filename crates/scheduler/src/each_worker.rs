//! One item for each worker that has come, made when it comes.

use std::sync::OnceLock;

/// Items of the first block; each further block has twice as many.
const FIRST: usize = 8;
/// Blocks: enough for half a million workers.
const BLOCKS: usize = 16;

/// An item for each worker, by number. Items never move, and an item that exists is found without a lock; so nothing
/// need know beforehand how many workers will come.
#[derive(Debug)]
pub struct EachWorker<T>([OnceLock<Box<[OnceLock<T>]>>; BLOCKS]);

impl<T> Default for EachWorker<T> {
    fn default() -> Self {
        Self([const { OnceLock::new() }; BLOCKS])
    }
}

/// The block of a number, and its place there.
fn place(number: usize) -> (usize, usize) {
    let block = (number / FIRST + 1).ilog2() as usize;
    (block, number - FIRST * ((1 << block) - 1))
}

impl<T> EachWorker<T> {
    /// The item of worker `number`, if it has come.
    pub fn get(&self, number: usize) -> Option<&T> {
        let (block, at) = place(number);
        self.0[block].get()?[at].get()
    }

    /// The item of worker `number`, made now if it is new.
    pub fn get_or(&self, number: usize, make: impl FnOnce() -> T) -> &T {
        let (block, at) = place(number);
        let items = self.0[block].get_or_init(|| (0..FIRST << block).map(|_| OnceLock::new()).collect());
        items[at].get_or_init(make)
    }

    /// The items that exist, with the numbers of their workers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let blocks = self.0.iter().enumerate().filter_map(|(block, items)| Some((block, items.get()?)));
        let items = blocks.flat_map(|(block, items)| {
            let first = FIRST * ((1 << block) - 1);
            items.iter().enumerate().map(move |(at, item)| (first + at, item))
        });
        items.filter_map(|(number, item)| Some((number, item.get()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_made_once_and_found_again() {
        let items = EachWorker::default();
        let numbers = [5, 0, 7, 8, 23, 24, 1000, 70_000];
        for (order, &number) in numbers.iter().enumerate() {
            assert_eq!(items.get(number), None);
            assert_eq!(*items.get_or(number, || order), order);
            assert_eq!(*items.get_or(number, || unreachable!()), order);
        }
        let mut expected: Vec<(usize, usize)> = numbers.iter().copied().zip(0..).collect();
        expected.sort_unstable();
        assert_eq!(items.iter().map(|(number, &item)| (number, item)).collect::<Vec<_>>(), expected);
    }
}
