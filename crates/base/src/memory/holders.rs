//! Who has how much of a budget: bytes by the name of the operator that they were charged for.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most names that are told apart; what is charged for others is nobody's. There are fewer in the whole program.
const MOST: usize = 24;

/// Bytes by operator. Names come and stay, and are found without a lock.
#[derive(Debug, Default)]
pub(super) struct Holders([OnceLock<Holder>; MOST]);

#[derive(Debug)]
struct Holder {
    operator: &'static str,
    bytes: AtomicUsize,
}

impl Holders {
    /// The place of an operator, taken now if it is new.
    fn place(&self, operator: &'static str) -> Option<&AtomicUsize> {
        let mut places = self.0.iter().map(|place| place.get_or_init(|| Holder { operator, bytes: 0.into() }));
        places.find(|holder| holder.operator == operator).map(|holder| &holder.bytes)
    }

    pub fn add(&self, operator: &'static str, bytes: usize) {
        if let Some(place) = self.place(operator) {
            place.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub fn subtract(&self, operator: &'static str, bytes: usize) {
        if let Some(place) = self.place(operator) {
            place.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Those that have anything.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let holders = self.0.iter().map_while(OnceLock::get);
        holders.map(|holder| (holder.operator, holder.bytes.load(Ordering::Relaxed))).filter(|(_, bytes)| *bytes > 0)
    }

    /// Who would have the most if `operator` had so many bytes more.
    pub fn most_with(&self, operator: &'static str, more: usize) -> (&'static str, usize) {
        let own = self.all().find(|(name, _)| *name == operator).map_or(0, |(_, bytes)| bytes);
        let others = self.all().filter(|(name, _)| *name != operator);
        others.chain([(operator, own.saturating_add(more))]).max_by_key(|(_, bytes)| *bytes).unwrap_or((operator, more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_by_name() {
        let holders = Holders::default();
        holders.add("sort", 5);
        holders.add("hash join", 7);
        holders.add("sort", 1);
        holders.subtract("hash join", 3);
        assert_eq!(holders.all().collect::<Vec<_>>(), [("sort", 6), ("hash join", 4)]);
        assert_eq!(holders.most_with("hash join", 1), ("sort", 6));
        assert_eq!(holders.most_with("window", 9), ("window", 9));
        assert_eq!(holders.most_with("hash join", usize::MAX), ("hash join", usize::MAX));
    }

    #[test]
    fn more_names_than_there_is_room_for_do_no_harm() {
        let holders = Holders::default();
        let names: Vec<&'static str> = (0..MOST + 2).map(|n| &*format!("operator {n}").leak()).collect();
        names.iter().for_each(|name| holders.add(name, 1));
        names.iter().for_each(|name| holders.subtract(name, 1));
        assert_eq!(holders.all().count(), 0);
    }
}
