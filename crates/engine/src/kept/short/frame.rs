//! The values of a run of a short plan: arguments first, borrowed where they lie; behind them what steps have put in their places.

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
pub(super) struct Frame<'a> {
    /// The arguments, where they lie: their places come first.
    arguments: &'a [&'a Value],
    /// What is in the places behind them.
    values: Vec<Value>,
    /// So many bytes of texts more may be put into it.
    left_bytes: usize,
}

impl<'a> Frame<'a> {
    /// One with so many places, of which only those of arguments have values; `spare` was the [memory](Self::into_spare) of another one.
    pub fn new(arguments: &'a [&'a Value], places: usize, mut spare: Vec<Value>) -> Self {
        spare.resize_with(places.saturating_sub(arguments.len()), || Value::Null);
        Self { arguments, values: spare, left_bytes: MOST_BYTES }
    }

    /// Its memory, for another one.
    pub fn into_spare(self) -> Vec<Value> {
        self.values
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
        places.iter().map(|&place| self.take_one(place)).collect()
    }

    /// The value at a place, which is not in the frame any more, unless it is an argument.
    pub fn take_one(&mut self, place: Place) -> Value {
        match self.arguments.get(place) {
            Some(argument) => (*argument).clone(),
            None => std::mem::replace(&mut self[place], Value::Null),
        }
    }

    pub fn row(&self, places: &[Place]) -> Row {
        places.iter().map(|&place| self[place].clone()).collect()
    }

    pub fn set(&mut self, places: &[Place], row: &[Value]) {
        places.iter().zip(row).for_each(|(&place, value)| self[place] = value.clone());
    }

    /// Puts a value of a row that is looked at in its place; none if texts are more than the bytes that are left.
    #[inline]
    pub fn put(&mut self, place: Place, value: Value) -> Option<()> {
        if let Value::Str(text) = &value {
            self.left_bytes = self.left_bytes.checked_sub(text.len())?;
        }
        self[place] = value;
        Some(())
    }

    /// Puts the values of expressions in their places.
    pub fn compute(&mut self, columns: &[(Place, Formula)]) -> Option<()> {
        for (place, formula) in columns {
            self[*place] = self.value(formula)?;
        }
        Some(())
    }
}

impl Index<Place> for Frame<'_> {
    type Output = Value;

    #[inline]
    fn index(&self, place: Place) -> &Value {
        match self.arguments.get(place) {
            Some(argument) => argument,
            None => &self.values[place - self.arguments.len()],
        }
    }
}

impl IndexMut<Place> for Frame<'_> {
    /// # Panics
    /// If it is an argument's.
    #[inline]
    fn index_mut(&mut self, place: Place) -> &mut Value {
        &mut self.values[place - self.arguments.len()]
    }
}

impl Scope for Frame<'_> {
    fn column(&self, column: ColumnId) -> Value {
        place_of(column).map_or(Value::Null, |place| self[place].clone())
    }
}

impl Places for Frame<'_> {
    type Place = Place;

    #[inline]
    fn at(&self, place: Place) -> &Value {
        &self[place]
    }
}
