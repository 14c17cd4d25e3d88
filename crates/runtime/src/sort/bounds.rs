//! The bounds of a field's values, from which follows how many bits its values need.

use pipeline::ir::Ty;
use types::Str;

use super::numbers::{self, Number, Visit, visit};
use super::order::Field;

/// What is known of a field's values in some rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    /// Whether some are NULL.
    pub(super) null: bool,
    /// Of floats by their bits: whether there is a -0, or a NaN that is not the one that SQL takes all for.
    pub(super) odd: bool,
    pub(super) values: Values,
}

/// Bounds of the values that are not NULL.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Values {
    #[default]
    None,
    /// Of their numbers.
    Numbers(u128, u128),
    /// Lowest and highest text, and the most bytes of one. The rows keep the texts alive.
    Text(Str, Str, usize),
}

impl Bounds {
    /// The bounds of a field's values in these rows.
    ///
    /// # Safety
    /// They must be rows of the field's layout, with all strings alive.
    pub(super) unsafe fn of(field: &Field, rows: &[*mut u8]) -> Self {
        let all = || rows.iter().map(|&row| row.cast_const());
        // SAFETY: as the caller promises.
        let not_null = || all().filter(|&row| unsafe { !field.is_null(row) });
        let null = field.null.is_some() && not_null().count() < rows.len();
        let values = if field.ty == Ty::Str {
            // SAFETY: as the caller promises.
            let texts = not_null().map(|row| unsafe { field.read::<Str>(row) });
            texts.map(|text| Values::Text(text, text, text.len())).fold(Values::None, Values::join)
        } else {
            // SAFETY: no text, and rows of the layout.
            unsafe { if null { visit(field, Widen(not_null())) } else { visit(field, Widen(all())) } }
        };
        let may_be_odd = field.by_bits && matches!(field.ty, Ty::F32 | Ty::F64);
        // SAFETY: as the caller promises.
        let odd = may_be_odd && unsafe { all().any(|row| !field.is_null(row) && numbers::is_odd(field, row)) };
        Self { null, odd, values }
    }

    /// What is known of both sets of rows together.
    pub(super) fn join(self, other: Self) -> Self {
        Self { null: self.null | other.null, odd: self.odd | other.odd, values: self.values.join(other.values) }
    }
}

impl Values {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, one) | (one, Self::None) => one,
            (Self::Numbers(a, b), Self::Numbers(c, d)) => Self::Numbers(a.min(c), b.max(d)),
            (Self::Text(a, b, m), Self::Text(c, d, n)) => {
                // SAFETY: the rows are alive as long as they are sorted.
                let (low, high) =
                    unsafe { (if c.compare(&a).is_lt() { c } else { a }, if d.compare(&b).is_gt() { d } else { b }) };
                Self::Text(low, high, m.max(n))
            }
            _ => unreachable!("a field has one type"),
        }
    }
}

struct Widen<I>(I);

impl<I: Iterator<Item = *const u8>> Visit for Widen<I> {
    type Out = Values;
    fn numbers<N: Number>(mut self, read: impl Fn(*const u8) -> N, _: impl Fn(*mut u8, N)) -> Values {
        let Some(first) = self.0.next().map(&read) else { return Values::None };
        let widen = |(low, high): (N, N), number| (low.min(number), high.max(number));
        let (low, high) = self.0.map(read).fold((first, first), widen);
        Values::Numbers(low.into(), high.into())
    }
}
