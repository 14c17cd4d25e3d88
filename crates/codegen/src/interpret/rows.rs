//! Memory of rows, groups and results.

use base::Area;
use base::ids::Id;
use pipeline::ir::{GroupState, State, StateId, Ty, Var};
use runtime::abi::{GROUP_PROBES, JoinTable, ResultLocal, RowsLocal, Slot, Worker, group_new, result_flush, rows_grow};

use super::operation::extend;
use super::{Interpreter, Run};

const ADDRESS: u64 = (1 << 48) - 1;

/// Reads a value.
///
/// # Safety
/// `at` must be readable for the type's size.
pub(super) unsafe fn read(ty: Ty, at: *const u8) -> Slot {
    let mut bytes = [0u8; 16];
    // SAFETY: as the caller promises.
    unsafe { std::ptr::copy_nonoverlapping(at, bytes.as_mut_ptr(), ty.size() as usize) };
    let all = u128::from_le_bytes(bytes);
    extend(ty, Slot([all as u64, (all >> 64) as u64]))
}

/// Writes a value.
///
/// # Safety
/// `at` must be writable for the type's size.
pub(super) unsafe fn write(ty: Ty, at: *mut u8, value: Slot) {
    let all = u128::from(value.0[1]) << 64 | u128::from(value.0[0]);
    // SAFETY: as the caller promises.
    unsafe { std::ptr::copy_nonoverlapping(all.to_le_bytes().as_ptr(), at, ty.size() as usize) };
}

/// The finished table of a join.
pub(super) fn join_table(worker: &Worker, state: StateId) -> &JoinTable {
    // SAFETY: the state is a finished join table, which lives as long as the worker's query.
    unsafe { &*(*worker.shared.add(state.index())).cast::<JoinTable>() }
}

/// The row that follows in the chain, or null, and this row's word.
///
/// # Safety
/// The row must be in the chain of a finished join table.
pub(super) unsafe fn next_in_chain(row: *mut u8) -> (*mut u8, u64) {
    // SAFETY: each row begins with the next row's address and its own word.
    unsafe { (row.cast::<*mut u8>().read(), row.add(8).cast::<u64>().read()) }
}

impl Interpreter<'_> {
    /// The group at a place of those known by codes, or null.
    pub(super) fn known_group(&mut self, state: StateId, place: usize) -> *mut u8 {
        // SAFETY: there are as many places as the source's codes number.
        unsafe { *self.group_local(state).known.add(place) }
    }

    /// Puts a group at a place, unless it is none.
    pub(super) fn know_group(&mut self, state: StateId, place: usize, group: *mut u8) {
        if place > 0 {
            // SAFETY: as above.
            unsafe { *self.group_local(state).known.add(place) = group };
        }
    }

    /// The group with a hash that `equal` accepts.
    pub(super) fn find_group(
        &mut self,
        state: StateId,
        hash: u64,
        mut equal: impl FnMut(&mut Self, *mut u8) -> Run<bool>,
    ) -> Run<Option<*mut u8>> {
        self.group_local(state).tuples += 1;
        if let State::Group(GroupState { slots: Some(_), .. }) = &self.program.states[state] {
            let local = self.group_local(state);
            // SAFETY: the directory has so many slots.
            let slot = (hash < local.mask).then(|| unsafe { *local.directory.add(hash as usize) });
            return Ok(slot.filter(|&row| row != 0).map(|row| row as *mut u8));
        }
        for i in 0..GROUP_PROBES as u64 {
            let local = self.group_local(state);
            let slot = (hash >> 16).wrapping_add(i) & local.mask;
            // SAFETY: the directory has `mask + 1` slots.
            let entry = unsafe { *local.directory.add(slot as usize) };
            if entry == 0 {
                return Ok(None);
            }
            let row = (entry & ADDRESS) as *mut u8;
            // SAFETY: entries point to groups, which begin with their hash.
            if unsafe { row.cast::<u64>().read() } == hash && equal(self, row)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    pub(super) fn new_group(&mut self, state: StateId, hash: u64) -> Run<*mut u8> {
        // SAFETY: the state is a group state of this worker's query.
        let row = unsafe { group_new(self.worker, state.index() as u64, hash) };
        self.unless_null(row)
    }

    pub(super) fn new_row(&mut self, state: StateId) -> Run<*mut u8> {
        // SAFETY: the worker's part of the state is a `RowsLocal`, this worker's own; between `next` and `end` lies free
        // memory of the area.
        let row = unsafe {
            let local = (*self.worker.locals.add(state.index())).cast::<RowsLocal>();
            let area = (&raw mut (*local).area).cast::<u8>();
            let next = area.add(Area::NEXT_OFFSET).cast::<*mut u8>();
            let end = area.add(Area::END_OFFSET).cast::<*mut u8>();
            let stride = (*local).stride;
            if (*end as usize) - (*next as usize) >= stride {
                let row = *next;
                *next = row.add(stride);
                row
            } else {
                rows_grow(self.worker, state.index() as u64)
            }
        };
        self.unless_null(row)
    }

    fn unless_null(&mut self, row: *mut u8) -> Run<*mut u8> {
        if row.is_null() { Err(self.position(None)) } else { Ok(row) }
    }

    pub(super) fn output(&mut self, state: StateId, values: &[(Var, Option<Var>)]) -> Run {
        // SAFETY: the worker's part of the state is a `ResultLocal` whose columns have room at `count`, as many of them
        // as the verifier has seen values.
        let full = unsafe {
            let local = &mut *(*self.worker.locals.add(state.index())).cast::<ResultLocal>();
            let row = local.count as usize;
            for (i, &(v, null)) in values.iter().enumerate() {
                let column = *local.columns.add(i);
                let ty = self.vars[v];
                write(ty, column.data.add(row * ty.size() as usize), self.get(v));
                if let Some(null) = null {
                    column.nulls.add(row).write(self.bool(null).into());
                }
            }
            local.count += 1;
            local.count == local.capacity
        };
        // SAFETY: the state is a result of this worker's query.
        if full && unsafe { result_flush(self.worker, state.index() as u64) } != 0 {
            return Err(self.position(None));
        }
        Ok(())
    }
}
