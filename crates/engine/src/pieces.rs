//! Pieces of a file on their way through workers: each is read step by step, by one worker or by several after one another.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Result;
use base::helpers::PieceStep;
use io::{CHUNK_ROWS, FIRST_ROWS, FileSource, NoRows, Once, PieceReader, PrunePredicate};
use scheduler::{Cutting, Morsel, MorselRanges, Offsets, Progress, Strategy, TaskSet, Tasks};
use types::Value;

/// A file that is read: the rows that its pieces are expected to have are the morsels. What `T` holds is known of a piece
/// beyond its reading.
pub(crate) struct Pieces<T> {
    file: Arc<dyn FileSource>,
    fields: Vec<usize>,
    prune: Vec<PrunePredicate>,
    chunk_rows: usize,
    only_extremes: bool,
    /// The file's morsels, in the order in which they are pieces.
    order: Vec<usize>,
    is_best_first: bool,
    offsets: Offsets,
    /// By the ends of their numbers, which rests keep.
    unfinished: Mutex<HashMap<u64, Piece<T>>>,
}

/// A piece that is being read.
pub(crate) struct Piece<T> {
    pub reader: Box<dyn PieceReader>,
    pub held: T,
    /// The numbers of its rows: as many as were expected.
    numbers: Range<u64>,
    /// Rows that are done.
    done: u64,
}

impl<T: Default> Pieces<T> {
    /// The given fields of all rows but those that `prune` excludes for certain.
    /// `few` says that likely not all of these rows will be read.
    pub fn new(file: Arc<dyn FileSource>, fields: Vec<usize>, prune: Vec<PrunePredicate>, few: bool) -> Result<Self> {
        fields.iter().try_for_each(|&f| file.schema()[f].check_supported())?;
        let order: Vec<usize> = (0..file.morsels()).collect();
        let offsets = offsets(&*file, &order);
        let chunk_rows = if few { FIRST_ROWS } else { CHUNK_ROWS };
        Ok(Self {
            file,
            fields,
            prune,
            chunk_rows,
            only_extremes: false,
            order,
            is_best_first: false,
            offsets,
            unfinished: Mutex::default(),
        })
    }

    /// The same with those pieces first whose least values of a column come first, or, if it is `descending`, whose greatest do;
    /// those of which nothing is known are the last ones.
    pub fn best_first(mut self, column: usize, descending: bool) -> Self {
        self.is_best_first = true;
        let ends = |morsel| {
            let known = self.file.statistics_of(morsel, column);
            if descending { known.max } else { known.min }
        };
        let ends: Vec<Option<Value>> = (0..self.order.len()).map(ends).collect();
        self.order.sort_by(|&a, &b| match (&ends[a], &ends[b]) {
            (Some(a), Some(b)) if descending => b.total_cmp(a),
            (Some(a), Some(b)) => a.total_cmp(b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        self.offsets = offsets(&*self.file, &self.order);
        self
    }

    /// The same, for whom rows are enough that have the least and the greatest values of all.
    pub fn only_extremes(self) -> Self {
        Self { only_extremes: true, ..self }
    }

    /// The morsels.
    pub fn cut(&self, cut: &Cutting) -> MorselRanges {
        match self.is_best_first {
            true => cut.with_strategy(Strategy::InOrder).pieces(&self.offsets),
            false => cut.pieces(&self.offsets),
        }
    }

    /// All of them as one morsel.
    pub fn one_by_one(&self, cut: &Cutting) -> MorselRanges {
        Cutting { morsel_rows: u64::MAX, ..cut.with_strategy(Strategy::InOrder) }.rows(self.offsets.rows())
    }

    /// The morsels from a row on.
    pub fn cut_from(&self, cut: &Cutting, first: u64) -> MorselRanges {
        cut.pieces_from(&self.offsets, first)
    }

    /// The number behind that of the last row.
    pub fn end(&self) -> u64 {
        self.offsets.rows()
    }

    /// The piece that a morsel, or the rest of one, begins with.
    pub fn take(&self, morsel: Morsel) -> Result<Piece<T>> {
        self.take_if(morsel, |_, _| true)
    }

    /// The same; of a piece that has not been begun, no rows, unless the file's morsel is `wanted`.
    pub fn take_if(&self, morsel: Morsel, wanted: impl Fn(&dyn FileSource, usize) -> bool) -> Result<Piece<T>> {
        let piece = self.offsets.piece(morsel.begin);
        let end = self.offsets.end_of(piece);
        if let Some(piece) = self.lock().remove(&end) {
            return Ok(piece);
        }
        let piece = self.order[piece];
        let extremes = if self.only_extremes { self.file.extremes(piece, &self.fields) } else { None };
        let reader: Box<dyn PieceReader> = match extremes {
            Some(chunk) => Box::new(Once::new(chunk)),
            None if !wanted(&*self.file, piece) => Box::new(NoRows),
            None => self.file.clone().read(piece, &self.fields, &self.prune, self.chunk_rows)?,
        };
        Ok(Piece { reader, held: T::default(), numbers: morsel.begin..end, done: 0 })
    }

    /// Keeps a piece for whoever goes on with it, and says which morsel that is.
    pub fn put(&self, piece: Piece<T>) -> Morsel {
        let rest = Morsel { begin: piece.number(), end: piece.numbers.end };
        self.lock().insert(rest.end, piece);
        rest
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Piece<T>>> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Numbers of rows of the pieces. One that is expected to be empty must be looked at, too; and what a corrupt file says of its
/// size must not make sums overflow.
fn offsets(file: &dyn FileSource, order: &[usize]) -> Offsets {
    Offsets::new(order.iter().map(|&morsel| file.rows_of(morsel).clamp(1, 1 << 40)))
}

impl<T> Piece<T> {
    /// The number of the next row. The numbers of a file's rows are estimates: all rows beyond them have the last one, so that
    /// they come before the next piece's.
    pub fn number(&self) -> u64 {
        (self.numbers.start + self.done).min(self.numbers.end - 1)
    }

    /// So many rows are done. Returns the number behind them and whether they had it, too, so that they are parts of what comes
    /// of one number.
    pub fn advance(&mut self, rows: usize) -> (u64, bool) {
        let begin = self.number();
        self.done += rows as u64;
        (self.number(), self.number() == begin)
    }

    /// The numbers that no row has had, once there is none left.
    pub fn rest(&self) -> Range<u64> {
        self.number()..self.numbers.end
    }
}

/// Does pieces of some work: each is a morsel, which yields between two steps.
pub(crate) fn each_piece(count: usize, step: PieceStep, cut: &Cutting) -> Box<dyn TaskSet> {
    let pieces = Offsets::new((0..count).map(|_| 1));
    let cut = cut.clone();
    Tasks::boxed(cut.pieces(&pieces), move |_, morsel| {
        let (piece, slice) = (pieces.piece(morsel.begin), cut.begin());
        while !step(piece)? {
            if slice.is_over() {
                return Ok(Progress::Yielded(morsel));
            }
        }
        Ok(Progress::Done)
    })
}

/// What a file wants done before it is read.
pub(crate) fn prepare_file(file: Arc<dyn FileSource>, cut: &Cutting) -> Box<dyn TaskSet> {
    each_piece(file.preparations(), Arc::new(move |piece| file.prepare(piece)), cut)
}
