//! How an index is made of the rows that are there: by all who help, in pieces.
//!
//! ```text
//! chunks ──keys, column by column──▶ dealt out by separators ──each part sorted──▶ its nodes, from below ──▶ the tree
//! ```
//!
//! Separators are drawn from samples of the chunks' keys, so that parts are of about one size. All keys differ, as each has its
//! row behind it; so many equal values do no harm.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use base::helpers::Helpers;
use base::memory::Reservation;
use base::{Error, Result, SqlState};
use index::{Load, Neighbours, Rowex};

use crate::index::hashed::HashEntries;
use crate::index::row_index::{Entries, KeyRows, empty};
use crate::index::{IndexMethod, RowIndex};
use crate::relation::Snapshot;
use crate::{RowId, Scratch, WINDOW};

/// About as many keys are sorted at once. In tests of this crate few, so that there are many parts.
const PART: usize = if cfg!(test) { 50 } else { 1 << 15 };
/// Keys of a chunk that are drawn.
const DRAWN: usize = 64;

/// An index that is made.
struct Build {
    index: Arc<RowIndex>,
    snapshot: Snapshot,
    /// By chunk.
    chunks: Vec<OnceLock<Keys>>,
    /// The first keys of all parts but the first one.
    separators: OnceLock<Vec<Vec<u8>>>,
    /// By chunk, where each part's keys begin, and the end.
    dealt: Vec<OnceLock<(Vec<Entry>, Vec<u32>)>>,
    /// By part, in order.
    parts: OnceLock<Vec<OnceLock<Part>>>,
    /// What becomes the tree.
    load: RwLock<Option<Load<Rowex>>>,
}

/// The keys of a chunk's rows, with the rows behind them.
struct Keys {
    bytes: Vec<u8>,
    entries: Mutex<Vec<Entry>>,
    _memory: Reservation,
}

#[derive(Clone, Copy)]
struct Entry {
    /// The key's first bytes, by which most are told apart.
    first: u64,
    from: u32,
    to: u32,
    chunk: u32,
    has_null: bool,
}

struct Part {
    entries: Vec<Entry>,
    _memory: Reservation,
}

/// The entries of the rows of a snapshot. Error 23505 if two rows have the same key.
pub(super) fn entries(index: &Arc<RowIndex>, snapshot: Snapshot, helpers: &dyn Helpers) -> Result<Entries> {
    let budget = snapshot.relation().budget.clone();
    let chunks = snapshot.chunk_count();
    let build = Arc::new(Build {
        index: index.clone(),
        snapshot,
        chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
        separators: OnceLock::new(),
        dealt: (0..chunks).map(|_| OnceLock::new()).collect(),
        parts: OnceLock::new(),
        load: RwLock::default(),
    });
    build.each(helpers, chunks, Build::encode)?;
    let method = index.definition().method;
    if method == IndexMethod::Hash {
        return build.hashed();
    }
    let parts = build.separate();
    if parts == 0 {
        return empty(&budget, method);
    }
    build.each(helpers, chunks, Build::deal)?;
    build.each(helpers, parts, Build::sort)?;
    build.refuse_twice_between()?;
    *build.load.write().unwrap_or_else(PoisonError::into_inner) = Some(Load::new(&budget, parts));
    build.each(helpers, parts, Build::load)?;
    let load = build.load.write().unwrap_or_else(PoisonError::into_inner).take();
    load.ok_or_else(|| Error::internal("a tree that was loaded twice"))?.finish().map(Entries::Tree)
}

impl Build {
    fn each(self: &Arc<Self>, helpers: &dyn Helpers, count: usize, work: fn(&Self, usize) -> Result<()>) -> Result<()> {
        let build = self.clone();
        helpers.each(count, Arc::new(move |piece| work(&build, piece).map(|()| true)))
    }

    fn keys(&self, chunk: usize) -> Result<&Keys> {
        self.chunks[chunk].get().ok_or_else(|| Error::internal("keys that nobody has encoded"))
    }

    fn key<'k>(&'k self, entry: &Entry) -> &'k [u8] {
        self.chunks[entry.chunk as usize].get().map_or(&[], |keys| keys.of(entry))
    }

    fn entry(&self, entry: &Entry) -> (&[u8], u64) {
        let key = self.key(entry);
        (key, row_of(key).to_bits())
    }

    /// Writes the keys of a chunk's rows.
    fn encode(&self, chunk: usize) -> Result<()> {
        base::statement::check()?;
        let relation = self.snapshot.relation();
        let reader = self.snapshot.chunk(chunk).read();
        let rows = reader.rows();
        let mut memory = relation.budget.reserve(rows * size_of::<Entry>(), "index")?;
        let (mut bytes, mut entries) = (Vec::new(), Vec::with_capacity(rows));
        let parts = self.index.parts();
        let mut scratches: Vec<Scratch> = parts.iter().map(|_| Scratch::default()).collect();
        let mut of_only = Scratch::default();
        for from in (0..rows).step_by(WINDOW) {
            let window = from..rows.min(from + WINDOW);
            let values: Vec<_> = parts
                .iter()
                .zip(&mut scratches)
                .map(|((part, _), scratch)| reader.window(part.attribute, window.clone(), scratch))
                .collect();
            let only = self.index.definition().only.map(|only| reader.window(only, window.clone(), &mut of_only));
            for at in 0..window.len() {
                let row = RowId::new(chunk, from + at);
                let is_in = only.is_none_or(|only| !only.is_null(at) && only.get::<u8>(at) != 0);
                if !is_in || reader.is_changed() && !self.snapshot.sees(row) {
                    continue;
                }
                let from = bytes.len();
                parts.iter().zip(&values).for_each(|((part, _), values)| part.push(*values, at, &mut bytes));
                let has_null = values.iter().any(|values| values.is_null(at));
                bytes.extend(row.to_bits().to_be_bytes());
                let (Ok(from), Ok(to)) = (u32::try_from(from), u32::try_from(bytes.len())) else {
                    return Err(Error::new(SqlState::PROGRAM_LIMIT, "the keys of an index are too long"));
                };
                let first = first_of(&bytes[from as usize..]);
                entries.push(Entry { first, from, to, chunk: chunk as u32, has_null });
            }
            let needed = bytes.capacity() + rows * size_of::<Entry>();
            if needed > memory.bytes() {
                memory.resize(needed)?;
            }
        }
        let keys = Keys { bytes, entries: Mutex::new(entries), _memory: memory };
        self.chunks[chunk].set(keys).map_err(|_| Error::internal("a chunk is encoded once"))
    }

    /// Enters all keys in a hash table.
    fn hashed(&self) -> Result<Entries> {
        let relation = self.snapshot.relation();
        let hashed = HashEntries::new(&relation.budget)?;
        let write_key = |row: RowId, to: &mut Vec<u8>| _ = relation.encode(row, self.index.parts(), to);
        for keys in self.chunks.iter().filter_map(OnceLock::get) {
            base::statement::check()?;
            for entry in keys.entries.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                let key = keys.of(entry);
                hashed.insert(key_of(key), row_of(key), &write_key)?;
            }
        }
        Ok(Entries::Hash(hashed))
    }

    /// Draws the separators; says how many parts there are.
    fn separate(&self) -> usize {
        let (mut drawn, mut all): (Vec<Vec<u8>>, usize) = (Vec::new(), 0);
        for keys in self.chunks.iter().filter_map(OnceLock::get) {
            let entries = keys.entries.lock().unwrap_or_else(PoisonError::into_inner);
            all += entries.len();
            let step = entries.len().div_ceil(DRAWN).max(1);
            drawn.extend(entries.iter().step_by(step).map(|entry| keys.of(entry).to_vec()));
        }
        drawn.sort_unstable();
        let parts = all.div_ceil(PART).min(drawn.len());
        let separators: Vec<_> = (1..parts).map(|part| drawn[part * drawn.len() / parts].clone()).collect();
        let _ = self.separators.set(separators);
        let _ = self.parts.set((0..parts).map(|_| OnceLock::new()).collect());
        parts
    }

    /// Puts a chunk's keys in the order of their parts.
    fn deal(&self, chunk: usize) -> Result<()> {
        base::statement::check()?;
        let keys = self.keys(chunk)?;
        let separators = self.separators.get().map_or(&[][..], Vec::as_slice);
        let firsts: Vec<u64> = separators.iter().map(|separator| first_of(separator)).collect();
        let entries = std::mem::take(&mut *keys.entries.lock().unwrap_or_else(PoisonError::into_inner));
        let part_of = |entry: &Entry| {
            let before = firsts.partition_point(|first| *first < entry.first);
            let same = firsts[before..].partition_point(|first| *first == entry.first);
            before
                + separators[before..before + same].partition_point(|separator| separator.as_slice() <= keys.of(entry))
        };
        let parts: Vec<u32> = entries.iter().map(|entry| part_of(entry) as u32).collect();
        let mut ends = vec![0; separators.len() + 2];
        parts.iter().for_each(|part| ends[*part as usize + 1] += 1);
        (1..ends.len()).for_each(|part| ends[part] += ends[part - 1]);
        let (mut next, mut dealt) = (ends.clone(), entries.clone());
        for (entry, part) in entries.iter().zip(parts) {
            let place = &mut next[part as usize];
            dealt[*place as usize] = *entry;
            *place += 1;
        }
        self.dealt[chunk].set((dealt, ends)).map_err(|_| Error::internal("a chunk is dealt out once"))
    }

    /// Sorts the keys of a part.
    fn sort(&self, part: usize) -> Result<()> {
        base::statement::check()?;
        let of_part =
            |dealt: &'_ (Vec<Entry>, Vec<u32>)| -> Range<usize> { dealt.1[part] as usize..dealt.1[part + 1] as usize };
        let dealt = || self.dealt.iter().filter_map(OnceLock::get);
        let rows: usize = dealt().map(|dealt| of_part(dealt).len()).sum();
        let memory = self.snapshot.relation().budget.reserve(rows * size_of::<Entry>(), "index")?;
        let mut entries = Vec::with_capacity(rows);
        dealt().for_each(|dealt| entries.extend_from_slice(&dealt.0[of_part(dealt)]));
        entries.sort_unstable_by(|a, b| a.first.cmp(&b.first).then_with(|| self.key(a).cmp(self.key(b))));
        entries.windows(2).try_for_each(|pair| self.refuse_twice(&pair[0], &pair[1]))?;
        let sorted = Part { entries, _memory: memory };
        self.parts()[part].set(sorted).map_err(|_| Error::internal("a part is sorted once"))
    }

    fn parts(&self) -> &[OnceLock<Part>] {
        self.parts.get().map_or(&[], Vec::as_slice)
    }

    fn entries(&self, part: usize) -> &[Entry] {
        self.parts()[part].get().map_or(&[], |part| &part.entries)
    }

    /// Makes the nodes of a part.
    fn load(&self, part: usize) -> Result<()> {
        let before = (0..part).rev().find_map(|part| self.entries(part).last());
        let behind = (part + 1..self.parts().len()).find_map(|part| self.entries(part).first());
        let key = |entry| self.key(entry);
        let neighbours = Neighbours { before: before.map(key), behind: behind.map(key) };
        let entries = self.entries(part).iter().map(|entry| self.entry(entry));
        let load = self.load.read().unwrap_or_else(PoisonError::into_inner);
        let load = load.as_ref().ok_or_else(|| Error::internal("a part that comes too early"))?;
        load.range(part, entries, neighbours, |_, _| Error::internal("keys with their rows are unique"))
    }

    /// Error 23505 if neighbours have the same key and may not.
    fn refuse_twice(&self, before: &Entry, entry: &Entry) -> Result<()> {
        let is_same = || key_of(self.key(before)) == key_of(self.key(entry));
        if before.first != entry.first || !self.index.is_unique(entry.has_null) || !is_same() {
            return Ok(());
        }
        let (relation, definition) = (self.snapshot.relation(), self.index.definition());
        let message = format!("could not create unique index \"{}\"", definition.name);
        let (names, values) = relation.key_text(definition, &relation.newest(row_of(self.key(entry))));
        let detail = format!("Key ({names})=({values}) is duplicated.");
        Err(Error::new(SqlState::UNIQUE_VIOLATION, message).detail(detail))
    }

    /// The same for the ends of parts.
    fn refuse_twice_between(&self) -> Result<()> {
        let mut last: Option<&Entry> = None;
        for entries in (0..self.parts().len()).map(|part| self.entries(part)) {
            if let (Some(last), Some(first)) = (last, entries.first()) {
                self.refuse_twice(last, first)?;
            }
            last = entries.last().or(last);
        }
        Ok(())
    }
}

impl Keys {
    fn of(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.from as usize..entry.to as usize]
    }
}

/// The first bytes of a key, as a number.
fn first_of(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = key.len().min(8);
    first[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(first)
}

/// The key without its row.
fn key_of(key: &[u8]) -> &[u8] {
    &key[..key.len() - size_of::<u64>()]
}

/// The row behind a key.
fn row_of(key: &[u8]) -> RowId {
    let bits = key.last_chunk().map_or(0, |row| u64::from_be_bytes(*row));
    RowId::from_bits(bits)
}
