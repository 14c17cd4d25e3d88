//! What a scan computes for a batch of rows at once ([`Vectors`]), an operation after the other (decision 35).
//!
//! Values go from loop to loop in blocks that the first-level cache holds. A row about which a loop is in doubt makes the
//! whole batch doubtful: whoever asked computes it again row by row, by the definition of each operation, which raises the
//! error if it is one.

mod division;
mod places;
mod primitives;
mod step;

use base::ids::Id;
use base::memory::Reservation;
use base::prefetch::{AHEAD, prefetch};
use base::simd::vectorised;
use base::{Budget, Result};
use pipeline::ir::{Operation, Vectors};

use crate::abi::{BATCH, ColumnRef, Slot};
use places::{Constant, Place, Places};
use primitives::Arguments;
use step::{Primitive, primitive};

/// Lines that are fetched before a loop at most: more are under way than the processor has buffers for.
const LINES: usize = 24;
/// Bytes that are fetched together.
const LINE: usize = 64;

/// Where the flags of rows come from that can't be NULL.
static NO_NULLS: [u8; BATCH] = [0; BATCH];

/// Steps with their loops, and places for their values.
#[derive(Debug)]
pub struct VectorPlan {
    steps: Vec<Planned>,
    values: Vec<Place>,
    filter: Option<usize>,
    columns: Vec<(usize, Option<usize>)>,
    bytes: usize,
    /// How many steps are loops.
    loops: usize,
    /// Rows between two operations.
    block: usize,
}

/// A step: numbers of values.
struct Planned {
    what: What,
    value: usize,
    only_if: Option<usize>,
}

enum What {
    Column(usize),
    Nulls(usize),
    Loop(Primitive, [usize; 3]),
}

impl std::fmt::Debug for Planned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "step of value {}", self.value)
    }
}

impl VectorPlan {
    /// The loops; the verifier has seen that there is one for each step.
    pub fn new(vectors: &Vectors) -> Self {
        let read = vectors.steps.iter().filter(|step| matches!(step.op, Operation::Column(..)));
        let read: usize = read.map(|step| vectors.vars[step.var].size() as usize).sum();
        let is_loop = |op: &Operation| {
            use Operation::{Column, ColumnNull, Const, Param};
            !matches!(op, Const(_) | Param(..) | Column(..) | ColumnNull(_))
        };
        let loops = vectors.steps.iter().filter(|step| is_loop(&step.op)).count();
        let fetched = LINES * LINE * loops.max(1) / read.max(1);
        let Places { values, block, bytes } = Places::of(vectors, fetched);
        let mut steps = Vec::new();
        for step in &vectors.steps {
            let value = step.var.index();
            let what = match &step.op {
                Operation::Const(_) | Operation::Param(..) => continue,
                Operation::Column(column, _) => What::Column(*column as usize),
                Operation::ColumnNull(column) => What::Nulls(*column as usize),
                op => {
                    let (mut operands, mut count) = ([value; 3], 0);
                    op.each_operand(|operand| {
                        operands[count] = operand.index();
                        count += 1;
                    });
                    let found = primitive(op, |var| vectors.vars[var]);
                    What::Loop(found.expect("the verifier has seen that vectors know it"), operands)
                }
            };
            steps.push(Planned { what, value, only_if: step.only_if.map(Id::index) });
        }
        let columns = vectors.columns.iter().map(|&(value, null)| (value.index(), null.map(Id::index))).collect();
        Self { steps, values, filter: vectors.filter.map(Id::index), columns, bytes, loops, block }
    }
}

/// A worker's memory for the values of a plan.
#[derive(Debug)]
pub struct VectorValues {
    memory: Vec<Line>,
    /// Columns by their rows' positions, where these are not the first ones.
    spread: Vec<(Vec<u64>, Vec<u8>)>,
    _charged: Reservation,
}

/// As long and aligned as the longest vectors.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl VectorValues {
    /// Memory with the constants in it.
    ///
    /// # Safety
    /// `params` has a slot for each parameter of the query.
    pub unsafe fn new(plan: &VectorPlan, params: *const Slot, budget: &Budget) -> Result<Self> {
        let columns = plan.columns.len() * BATCH * 9;
        let charged = budget.reserve(plan.bytes + columns, "scan")?;
        let mut memory = vec![Line([0; 64]); plan.bytes / 64];
        let start = memory.as_mut_ptr().cast::<u8>();
        for place in &plan.values {
            let Some(constant) = place.constant else { continue };
            let bytes = match constant {
                Constant::Bytes(bytes) => bytes,
                // SAFETY: as the caller promises.
                Constant::Parameter(number) => unsafe { (*params.add(number)).0[0].to_le_bytes() },
            };
            for row in 0..if place.stays { BATCH } else { plan.block } {
                // SAFETY: the place has room for so many rows.
                unsafe {
                    let at = start.add(place.offset + row * place.size);
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, place.size);
                }
            }
        }
        Ok(Self { memory, spread: Vec::new(), _charged: charged })
    }

    /// Computes all values for rows of a batch, those at `positions` of the columns, or the first ones; false if some row is
    /// in doubt.
    ///
    /// # Safety
    /// The columns are those of the source that the plan is of, and have so many rows, at most [`BATCH`].
    pub unsafe fn compute(
        &mut self,
        plan: &VectorPlan,
        columns: &[ColumnRef],
        positions: Option<&[u32]>,
        count: usize,
    ) -> bool {
        debug_assert!(count <= BATCH);
        let start = self.memory.as_mut_ptr().cast::<u8>();
        let mut at: Vec<*mut u8> = Vec::with_capacity(plan.values.len());
        let mut ahead = Ahead::default();
        for begin in (0..count).step_by(plan.block) {
            let rows = begin..count.min(begin + plan.block);
            at.clear();
            at.extend(plan.values.iter().map(|place| {
                let row = if place.stays && place.constant.is_none() { begin } else { 0 };
                start.wrapping_add(place.offset + row * place.size)
            }));
            ahead.begin(plan, columns, &rows, positions);
            for step in &plan.steps {
                let place = &plan.values[step.value];
                // SAFETY: columns have the rows, as the caller promises; values have room for a block, or for all rows.
                unsafe {
                    match step.what {
                        What::Column(column) => {
                            at[step.value] = read(columns[column].data, place, &rows, positions, at[step.value]);
                        }
                        What::Nulls(column) => {
                            at[step.value] = read(columns[column].nulls, place, &rows, positions, at[step.value]);
                        }
                        What::Loop(run, operands) => {
                            ahead.fetch_some();
                            let only_if = step.only_if.map_or(std::ptr::null(), |value| at[value].cast_const());
                            let operands = operands.map(|value| at[value].cast_const());
                            let out = at[step.value];
                            if run.run(&Arguments { operands, out, only_if, count: rows.len() }) {
                                return false;
                            }
                        }
                    }
                }
            }
        }
        true
    }

    /// Whether each of the first rows passes the filter, if there is one.
    pub fn filter(&self, plan: &VectorPlan, count: usize) -> Option<&[u8]> {
        // SAFETY: all rows of a batch have their flags there, zeroed or computed.
        plan.filter.map(|value| unsafe { std::slice::from_raw_parts(self.place(plan, value), count) })
    }

    /// The computed columns, rows in the order in which they were given.
    pub fn columns<'v>(&'v self, plan: &'v VectorPlan) -> impl Iterator<Item = ColumnRef> + 'v {
        plan.columns.iter().map(|&(value, null)| ColumnRef {
            data: self.place(plan, value),
            nulls: null.map_or(NO_NULLS.as_ptr(), |null| self.place(plan, null)),
        })
    }

    /// The computed columns, each row at its position.
    pub fn spread<'v>(&'v mut self, plan: &'v VectorPlan, positions: &[u32]) -> impl Iterator<Item = ColumnRef> + 'v {
        self.spread.resize_with(plan.columns.len(), || (vec![0; BATCH], vec![0; BATCH]));
        let mut spread = std::mem::take(&mut self.spread);
        for (&(value, null), (data, nulls)) in plan.columns.iter().zip(&mut spread) {
            let size = plan.values[value].size;
            // SAFETY: positions are below `BATCH`, for which there is room, and there are as many values.
            unsafe {
                scatter(self.place(plan, value), size, positions, data.as_mut_ptr().cast());
                if let Some(null) = null {
                    scatter(self.place(plan, null), 1, positions, nulls.as_mut_ptr());
                }
            }
        }
        self.spread = spread;
        self.spread.iter().map(|(data, nulls)| ColumnRef { data: data.as_ptr().cast(), nulls: nulls.as_ptr() })
    }

    /// Puts values of a row in the place of computed ones: (value, NULL) of each column.
    pub fn set(&mut self, plan: &VectorPlan, row: usize, passes: bool, values: &[(Slot, bool)]) {
        debug_assert!(row < BATCH);
        let start = self.memory.as_mut_ptr().cast::<u8>();
        let put = |value: usize, bytes: [u8; 8]| {
            let place = &plan.values[value];
            if place.constant.is_none() {
                // SAFETY: values that stay have room for all rows of a batch, and are as long as their type.
                unsafe {
                    let at = start.add(place.offset + row * place.size);
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, place.size);
                }
            }
        };
        for (&(value, null), (slot, is_null)) in plan.columns.iter().zip(values) {
            put(value, slot.0[0].to_le_bytes());
            null.into_iter().for_each(|null| put(null, u64::from(*is_null).to_le_bytes()));
        }
        plan.filter.into_iter().for_each(|filter| put(filter, u64::from(passes).to_le_bytes()));
    }

    fn place(&self, plan: &VectorPlan, value: usize) -> *const u8 {
        self.memory.as_ptr().cast::<u8>().wrapping_add(plan.values[value].offset)
    }
}

/// Lines behind those of a block, which are fetched a few before each loop: all at once would fill the processor's buffers, and
/// the loops would wait for these.
#[derive(Default)]
struct Ahead {
    /// Where the next line of each column is, and how many there are.
    columns: Vec<(*const u8, usize)>,
    /// Lines before each loop.
    share: usize,
}

impl Ahead {
    /// Those of columns that are read where they are.
    fn begin(
        &mut self,
        plan: &VectorPlan,
        columns: &[ColumnRef],
        rows: &std::ops::Range<usize>,
        positions: Option<&[u32]>,
    ) {
        self.columns.clear();
        if positions.is_some() {
            return;
        }
        for step in &plan.steps {
            let place = &plan.values[step.value];
            if let What::Column(column) = step.what {
                let first = columns[column].data.wrapping_add(rows.start * place.size + AHEAD);
                self.columns.push((first, (rows.len() * place.size).div_ceil(LINE)));
            }
        }
        let lines: usize = self.columns.iter().map(|column| column.1).sum();
        self.share = lines.div_ceil(plan.loops.max(1));
    }

    fn fetch_some(&mut self) {
        let mut left = self.share;
        while left > 0
            && let Some((next, lines)) = self.columns.last_mut()
        {
            let now = left.min(*lines);
            (0..now).for_each(|line| prefetch(next.wrapping_add(line * LINE)));
            (*next, *lines, left) = (next.wrapping_add(now * LINE), *lines - now, left - now);
            if *lines == 0 {
                self.columns.pop();
            }
        }
    }
}

/// The values of a column for some rows: where they are, if they are the next ones and needed no longer than the block, or
/// copied to `to`.
///
/// # Safety
/// The column has the rows; `to` has room for them.
unsafe fn read(
    from: *const u8,
    place: &Place,
    rows: &std::ops::Range<usize>,
    positions: Option<&[u32]>,
    to: *mut u8,
) -> *mut u8 {
    // SAFETY: as the caller promises.
    unsafe {
        match positions {
            None if !place.stays => return from.add(rows.start * place.size).cast_mut(),
            None => std::ptr::copy_nonoverlapping(from.add(rows.start * place.size), to, rows.len() * place.size),
            Some(positions) => gather(from, place.size, &positions[rows.clone()], to),
        }
    }
    to
}

/// # Safety
/// `from` has values of the size at the positions, and `to` room for as many.
unsafe fn gather(from: *const u8, size: usize, positions: &[u32], to: *mut u8) {
    unsafe fn all<T: Copy>(from: *const u8, positions: &[u32], to: *mut u8) {
        let (from, to) = (from.cast::<T>(), to.cast::<T>());
        for (i, &position) in positions.iter().enumerate() {
            // SAFETY: as the caller of `gather` promises.
            unsafe { to.add(i).write_unaligned(from.add(position as usize).read_unaligned()) };
        }
    }
    // SAFETY: as the caller promises.
    unsafe {
        match size {
            1 => all::<u8>(from, positions, to),
            2 => all::<u16>(from, positions, to),
            4 => all::<u32>(from, positions, to),
            _ => all::<u64>(from, positions, to),
        }
    }
}

/// # Safety
/// `from` has as many values of the size as there are positions, and `to` room for values at these.
unsafe fn scatter(from: *const u8, size: usize, positions: &[u32], to: *mut u8) {
    unsafe fn all<T: Copy>(from: *const u8, positions: &[u32], to: *mut u8) {
        let (from, to) = (from.cast::<T>(), to.cast::<T>());
        for (i, &position) in positions.iter().enumerate() {
            // SAFETY: as the caller of `scatter` promises.
            unsafe { to.add(position as usize).write_unaligned(from.add(i).read_unaligned()) };
        }
    }
    // SAFETY: as the caller promises.
    unsafe {
        match size {
            1 => all::<u8>(from, positions, to),
            2 => all::<u16>(from, positions, to),
            4 => all::<u32>(from, positions, to),
            _ => all::<u64>(from, positions, to),
        }
    }
}

/// How many flags are set.
pub fn count_set(flags: &[u8]) -> usize {
    // In bytes, as many as cannot overflow.
    vectorised(|| flags.chunks(255).map(|flags| usize::from(flags.iter().sum::<u8>())).sum())
}

/// Where flags are set; returns how many are.
pub fn positions_of(flags: &[u8], into: &mut [u32; BATCH]) -> usize {
    let (eights, rest) = flags.as_chunks::<8>();
    let mut count = 0;
    for (i, eight) in eights.iter().enumerate() {
        // One bit of each byte.
        let set = (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
        let found = &SET[usize::from(set)];
        // What is too much is written over; no more were found than have been looked at, so there is room.
        for (into, &place) in into[count..count + 8].iter_mut().zip(found) {
            *into = (i * 8) as u32 + u32::from(place);
        }
        count += set.count_ones() as usize;
    }
    for (i, &flag) in rest.iter().enumerate() {
        into[count] = (eights.len() * 8 + i) as u32;
        count += usize::from(flag);
    }
    count
}

/// The bits that are set in each byte, those behind one another.
static SET: [[u8; 8]; 256] = {
    let mut all = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                all[byte][count] = bit as u8;
                count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    all
};

/// The positions whose flags are set, moved to the front; returns how many are.
pub fn retain(flags: &[u8], positions: &mut [u32]) -> usize {
    let mut count = 0;
    for (i, &flag) in flags.iter().enumerate() {
        positions[count] = positions[i];
        count += usize::from(flag);
    }
    count
}
