//! The values of a run of a short plan: arguments first, behind them what steps have put in their places.

use std::borrow::Cow;
use std::ops::{Index, IndexMut};

use base::ids::Id;
use plan::eval::{Row as Places, RowExpr, Scope};
use plan::{ColumnId, Expr};
use types::Value;

use super::{Place, Row};

/// Columns of a plan have smaller numbers than the places of values.
pub(super) const FIRST_PLACE: usize = 1 << 24;
/// A short plan gives up when the texts of its rows are so many bytes: pipelines charge them to a budget.
const MOST_BYTES: usize = 1 << 20;

/// An expression over places.
pub(super) struct Formula {
    pub expr: RowExpr<Place>,
    /// Whether arguments are all that it needs.
    pub is_of_arguments: bool,
}

impl Formula {
    /// Of an expression whose columns are numbered as places, of which so many are arguments.
    pub fn new(expr: &Expr, arguments: usize) -> Self {
        let is_of_arguments = !expr.uses(|column| place_of(column).is_none_or(|place| place >= arguments));
        Self { expr: RowExpr::new(expr, &place_of), is_of_arguments }
    }
}

/// The place that a column is the number of; none: an expression binds it.
fn place_of(column: ColumnId) -> Option<Place> {
    column.index().checked_sub(FIRST_PLACE)
}

/// See the module.
pub(super) struct Frame {
    values: Vec<Value>,
    /// So many bytes of texts more may be put into it.
    left_bytes: usize,
}

impl Frame {
    /// One with so many places, which has arguments and nothing else.
    pub fn new(mut arguments: Vec<Value>, places: usize) -> Self {
        arguments.resize_with(places, || Value::Null);
        Self { values: arguments, left_bytes: MOST_BYTES }
    }

    /// The value of an expression.
    pub fn value(&self, formula: &Formula) -> Option<Value> {
        self.get(formula).map(Cow::into_owned)
    }

    /// Its value, as long as nothing else is put where it lies.
    pub fn get<'v>(&'v self, formula: &'v Formula) -> Option<Cow<'v, Value>> {
        formula.expr.get(self).ok()
    }

    /// Whether all are true; unknown if none is false and not all are true.
    pub fn truth(&self, predicates: &[Formula]) -> Option<Option<bool>> {
        let mut truth = Some(true);
        for predicate in predicates {
            match predicate.expr.truth(self).ok()? {
                Some(true) => {}
                Some(false) => return Some(Some(false)),
                None => truth = None,
            }
        }
        Some(truth)
    }

    pub fn is_true(&self, predicates: &[Formula]) -> Option<bool> {
        Some(self.truth(predicates)? == Some(true))
    }

    /// The row, which is not in the frame any more.
    pub fn take(&mut self, places: &[Place]) -> Row {
        places.iter().map(|&place| std::mem::replace(&mut self.values[place], Value::Null)).collect()
    }

    pub fn row(&self, places: &[Place]) -> Row {
        places.iter().map(|&place| self.values[place].clone()).collect()
    }

    pub fn set(&mut self, places: &[Place], row: &[Value]) {
        places.iter().zip(row).for_each(|(&place, value)| self.values[place] = value.clone());
    }

    /// Puts a value of a row that is looked at in its place; none if texts are more than the bytes that are left.
    #[inline]
    pub fn put(&mut self, place: Place, value: Value) -> Option<()> {
        if let Value::Str(text) = &value {
            self.left_bytes = self.left_bytes.checked_sub(text.len())?;
        }
        self.values[place] = value;
        Some(())
    }

    /// Puts the values of expressions in their places.
    pub fn compute(&mut self, columns: &[(Place, Formula)]) -> Option<()> {
        for (place, formula) in columns {
            self.values[*place] = self.value(formula)?;
        }
        Some(())
    }
}

impl Index<Place> for Frame {
    type Output = Value;

    fn index(&self, place: Place) -> &Value {
        &self.values[place]
    }
}

impl IndexMut<Place> for Frame {
    fn index_mut(&mut self, place: Place) -> &mut Value {
        &mut self.values[place]
    }
}

impl Scope for Frame {
    fn column(&self, column: ColumnId) -> Value {
        place_of(column).map_or(Value::Null, |place| self.values[place].clone())
    }
}

impl Places for Frame {
    type Place = Place;

    fn at(&self, place: Place) -> &Value {
        &self.values[place]
    }
}
