//! Where a tree finds the keys of its rows, which it does not keep.

/// The keys of rows. All calls for a row answer the same while the row is in a tree, and for as long as a
/// [`Reader`](crate::Reader) is open that was opened while it was. If they do not, lookups answer wrongly, and nothing worse.
///
/// No call may use the tree that asks.
pub trait RowKeys {
    /// A key: an array, borrowed bytes, a vector.
    type Key<'a>: AsRef<[u8]>
    where
        Self: 'a;

    /// Whether no key, in the tree or asked for, begins with another: because all have one length, or say where they end. A
    /// lookup that has compared every byte on its way then need not ask for the row's key.
    const PREFIX_FREE: bool = false;

    /// The key of a row.
    fn key(&self, row: u64) -> Self::Key<'_>;

    /// Writes the key of a row behind others' bytes.
    #[inline]
    fn write(&self, row: u64, to: &mut Vec<u8>) {
        to.extend_from_slice(self.key(row).as_ref());
    }

    /// Whether a row has that key.
    #[inline]
    fn has(&self, row: u64, key: &[u8]) -> bool {
        self.key(row).as_ref() == key
    }
}

/// Bytes of a key that is not long, its row among them: so many are there before its parts are written.
pub const USUAL_KEY: usize = 64;

/// The keys of rows that may be equal, each with its row behind it as eight bytes: what an index that is not unique holds.
///
/// The keys of the rows must say where they end: none may begin with another, or rows of different keys are out of order.
#[derive(Clone, Copy, Debug)]
pub struct WithRow<R>(pub R);

impl<R: RowKeys> WithRow<R> {
    /// Makes of a key the one that has its row behind it, as it is inserted and removed.
    pub fn extend(key: &mut Vec<u8>, row: u64) {
        key.extend(row.to_be_bytes());
    }
}

impl<R: RowKeys> RowKeys for WithRow<R> {
    type Key<'a>
        = Vec<u8>
    where
        R: 'a;
    const PREFIX_FREE: bool = R::PREFIX_FREE;

    fn key(&self, row: u64) -> Vec<u8> {
        let mut key = Vec::with_capacity(USUAL_KEY);
        self.0.write(row, &mut key);
        Self::extend(&mut key, row);
        key
    }

    fn has(&self, row: u64, key: &[u8]) -> bool {
        key.split_last_chunk().is_some_and(|(key, end)| *end == row.to_be_bytes() && self.0.has(row, key))
    }
}
