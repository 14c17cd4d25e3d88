//! Lists that lambdas make.

/// Bytes that a worker keeps of a list for the next one.
const KEPT: usize = 64 << 10;

/// Lists that are being made, one within the other.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    open: Vec<Vec<u8>>,
    /// Memory for the next one.
    spare: Vec<u8>,
}

impl Lists {
    pub fn begin(&mut self) {
        self.open.push(std::mem::take(&mut self.spare));
    }

    /// The one that was begun last.
    pub fn last(&mut self) -> Option<&mut Vec<u8>> {
        self.open.last_mut()
    }

    pub fn end(&mut self) -> Option<Vec<u8>> {
        self.open.pop()
    }

    /// Keeps the memory of a list that is made; what a long one took is not kept.
    pub fn reuse(&mut self, mut list: Vec<u8>) {
        if list.capacity() <= KEPT {
            list.clear();
            self.spare = list;
        }
    }
}
