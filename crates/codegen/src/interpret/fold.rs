//! Folds, one value after the other.

use pipeline::ir::{Callee, Fold, FoldColumn, FoldElement, FoldKind, Operation, Ty};
use runtime::abi::{Slot, sum_add};
use types::value::compare_floats;

use super::operation::{bool_slot, f32_slot, f64_slot, float, int, int_slot};
use super::rows::write;
use super::{Failed, Interpreter, Run};

impl Interpreter<'_> {
    pub(super) fn fold(&mut self, fold: &Fold) -> Run {
        let row = self.operation(&Operation::LocalRow(fold.state))?.0[0] as *mut u8;
        let at = row.wrapping_add(fold.offset as usize);
        if let Some(FoldColumn { index, nullable: true, .. }) = fold.column
            && self.operation(&Operation::ColumnNull(index))?.0[0] != 0
        {
            return Ok(());
        }
        if let Some(FoldElement { null, .. }) = fold.element
            && self.bool(null)
        {
            return Ok(());
        }
        match (fold.kind, fold.column) {
            (FoldKind::Count, _) => {
                let count = int(self.load(Ty::I64, at));
                // SAFETY: the verifier keeps accumulators inside of the row, which is this worker's; likewise below.
                unsafe { write(Ty::I64, at, int_slot(count + 1)) };
            }
            (FoldKind::Sum, Some(column)) => {
                let value = self.value(column)?;
                self.add_up(value, column.ty, at)?;
            }
            (FoldKind::Sum, None) if let Some(element) = fold.element => {
                let value = self.get(element.value);
                self.add_up(value, self.vars[element.value], at)?;
            }
            (FoldKind::SumAsDouble, Some(column)) => {
                let value = self.value(column)?;
                self.add_double(int(value) as f64, at)?;
            }
            (FoldKind::Variance, Some(column)) => {
                let value = self.value(column)?;
                let (callee, value) = match column.ty.is_float() {
                    true => (Callee::VarianceAdd, f64_slot(float(column.ty, value))),
                    false => (Callee::VarianceAddInteger, int_slot(int(value))),
                };
                let (function, immediate) = runtime::abi::function(callee);
                let args = [int_slot(at as i128), value];
                // SAFETY: as above.
                let failed = unsafe { function(self.worker, immediate, args.as_ptr(), &mut Slot::default()) };
                return if failed == 0 { Ok(()) } else { Err(Failed) };
            }
            (kind, Some(column)) => {
                let value = self.value(column)?;
                let is_better = match fold.seen {
                    Some(seen) if self.load(Ty::Bool, row.wrapping_add(seen as usize)).0[0] == 0 => true,
                    _ if kind == FoldKind::Min => is_before(column.ty, value, self.load(column.ty, at)),
                    _ => is_before(column.ty, self.load(column.ty, at), value),
                };
                if is_better {
                    // SAFETY: as above.
                    unsafe { write(column.ty, at, value) };
                }
            }
            (kind, None) => unreachable!("the verifier has seen that {kind:?} has a column"),
        }
        if let Some(seen) = fold.seen {
            // SAFETY: as above.
            unsafe { write(Ty::Bool, row.wrapping_add(seen as usize), bool_slot(true)) };
        }
        Ok(())
    }

    /// The column's value; all NaNs are one.
    fn value(&mut self, column: FoldColumn) -> Run<Slot> {
        let value = self.operation(&Operation::Column(column.index, column.ty))?;
        Ok(match column.ty {
            Ty::F64 if float(Ty::F64, value).is_nan() => f64_slot(f64::NAN.abs()),
            Ty::F32 if float(Ty::F32, value).is_nan() => f32_slot(f32::NAN.abs()),
            _ => value,
        })
    }

    fn add_up(&mut self, value: Slot, ty: Ty, at: *mut u8) -> Run {
        if ty.is_float() {
            return self.add_double(float(ty, value), at);
        }
        let (sum, overflows) = int(self.load(Ty::I128, at)).overflowing_add(int(value));
        // SAFETY: as above.
        unsafe { write(Ty::I128, at, int_slot(sum)) };
        if overflows {
            let carries = at.wrapping_add(16);
            let carried = int(self.load(Ty::I64, carries)) + int(value).signum();
            // SAFETY: as above. Only sums of 128-bit values overflow, which have a place for that.
            unsafe { write(Ty::I64, carries, int_slot(carried)) };
        }
        Ok(())
    }

    fn add_double(&mut self, value: f64, at: *mut u8) -> Run {
        // SAFETY: as above.
        let failed = unsafe { sum_add(self.worker, at.cast(), value) };
        if failed == 0 { Ok(()) } else { Err(Failed) }
    }
}

/// `Compare::Before`.
fn is_before(ty: Ty, a: Slot, b: Slot) -> bool {
    if !ty.is_float() {
        return int(a) < int(b);
    }
    let order = compare_floats(float(ty, a), float(ty, b));
    order.then_with(|| float(ty, a).total_cmp(&float(ty, b))).is_lt()
}
