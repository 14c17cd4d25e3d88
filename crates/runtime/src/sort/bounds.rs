//! The bounds of a field's values, from which follows how many bits its values need.

use pipeline::ir::Ty;
use types::Str;

use super::numbers::{Visit, visit};
use super::order::Field;

/// What is known of a field's values in some rows.
#[derive(Clone, Copy, Default)]
pub(super) struct Bounds {
    /// Whether some are NULL.
    pub(super) null: bool,
    pub(super) values: Values,
}

/// Bounds of the values that are not NULL.
#[derive(Clone, Copy, Default)]
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
        // SAFETY: as the caller promises.
        let not_null = || rows.iter().map(|&row| row.cast_const()).filter(|&row| unsafe { !field.is_null(row) });
        let null = field.null.is_some() && not_null().count() < rows.len();
        let values = if field.ty == Ty::Str {
            // SAFETY: as the caller promises.
            let texts = not_null().map(|row| unsafe { field.read::<Str>(row) });
            texts.map(|text| Values::Text(text, text, text.len())).fold(Values::None, Values::join)
        } else {
            // SAFETY: no text, and rows of the layout.
            unsafe { visit(field, Widen(not_null())) }
        };
        Self { null, values }
    }

    /// What is known of both sets of rows together.
    pub(super) fn join(self, other: Self) -> Self {
        Self { null: self.null | other.null, values: self.values.join(other.values) }
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
    fn numbers(self, read: impl Fn(*const u8) -> u128) -> Values {
        let widen = |bounds: Option<(u128, u128)>, number: u128| {
            bounds.map_or(Some((number, number)), |(low, high)| Some((low.min(number), high.max(number))))
        };
        self.0.map(read).fold(None, widen).map_or(Values::None, |(low, high)| Values::Numbers(low, high))
    }
}
