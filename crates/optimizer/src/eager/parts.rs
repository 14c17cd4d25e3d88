//! Aggregates of groups, put together from those of finer groups.

use std::collections::HashMap;

use base::IdMap;
use functions::AggregateFunction;
use plan::{AggregateCall, ColumnId, ColumnInfo, Expr, ExprKind};
use types::{SqlType, Value};

use crate::averages::{self, cast};
use crate::rewrite::column;

/// Whether an aggregate is one of the same, or of others, over the groups of any finer grouping, exactly.
pub(super) fn adds_up(call: &AggregateCall) -> bool {
    !call.distinct && (combining(call.function, call.sql_type).is_some() || averages::quotient_of(call).is_some())
}

/// The function that combines results of that type, the type that it takes them as, and its result's.
fn combining(function: AggregateFunction, result: SqlType) -> Option<(AggregateFunction, SqlType, SqlType)> {
    let combining = function.of_finer(result)?;
    let (argument, sql_type) = combining.resolve(result)?;
    Some((combining, argument, sql_type))
}

/// Aggregates that are computed twice.
pub(super) struct Parts<'k> {
    /// The keys of the finer groups, by the columns that they are.
    keys: &'k HashMap<ColumnId, ColumnId>,
    /// What is computed of the finer groups, for each of those that are combined.
    parts: Vec<AggregateCall>,
    /// That which is none of their keys.
    pub below: Vec<(ColumnId, AggregateCall)>,
    /// Of the groups, over these.
    pub combined: Vec<(ColumnId, AggregateCall)>,
    /// What the aggregates are, from these.
    pub results: Vec<(ColumnId, Expr)>,
}

impl<'k> Parts<'k> {
    pub fn new(keys: &'k HashMap<ColumnId, ColumnId>) -> Self {
        Self { keys, parts: Vec::new(), below: Vec::new(), combined: Vec::new(), results: Vec::new() }
    }

    /// One more aggregate, which is `below` there. It adds up.
    pub fn add(
        &mut self,
        columns: &mut IdMap<ColumnId, ColumnInfo>,
        result: ColumnId,
        original: AggregateCall,
        below: &AggregateCall,
    ) {
        let value = match averages::quotient_of(&original) {
            None => {
                let function = original.function;
                self.part(columns, AggregateCall { function, ..below.clone() }, original.sql_type)
            }
            Some(functions) => {
                let argument = original.argument_type();
                let parts = functions.map(|function| {
                    let sql_type = function.resolve(argument).map_or(original.sql_type, |(_, result)| result);
                    self.part(columns, AggregateCall { function, sql_type, ..below.clone() }, sql_type)
                });
                averages::quotient(&original, parts)
            }
        };
        self.results.push((result, value));
    }

    /// What is computed of the finer groups, and combined: a value of that type.
    fn part(&mut self, columns: &mut IdMap<ColumnId, ColumnInfo>, call: AggregateCall, sql_type: SqlType) -> Expr {
        if let Some(at) = self.parts.iter().position(|known| known.same(&call)) {
            return self.value(columns, at, sql_type, call.function.counts());
        }
        let key = self.key(columns, &call);
        let mut new =
            |name: &str, sql_type, nullable| columns.push(ColumnInfo { name: name.to_owned(), sql_type, nullable });
        let (counts, position) = (call.function.counts(), call.position);
        let Some((function, argument, combined_type)) = combining(call.function, sql_type) else {
            unreachable!("an aggregate that adds up");
        };
        let part = key.unwrap_or_else(|| new("part", sql_type, !counts));
        let combined = new("combined", combined_type, true);
        let arguments = vec![cast(column(columns, part), argument)];
        self.parts.push(call.clone());
        if key.is_none() {
            self.below.push((part, call));
        }
        let call =
            AggregateCall { function, arguments, distinct: false, filter: None, sql_type: combined_type, position };
        self.combined.push((combined, call));
        self.value(columns, self.combined.len() - 1, sql_type, counts)
    }

    /// The key that an aggregate is for each of the finer groups, if it is one, such as the least of equal values.
    fn key(&self, columns: &IdMap<ColumnId, ColumnInfo>, call: &AggregateCall) -> Option<ColumnId> {
        let [Expr { kind: ExprKind::Column(argument), .. }] = &call.arguments[..] else { return None };
        let is_value = call.filter.is_none()
            && call.function.ignores_duplicates()
            && call.function.of_finer(call.sql_type) == Some(call.function);
        let key = self.keys.get(argument).copied().filter(|_| is_value)?;
        (columns[key].sql_type == call.sql_type).then_some(key)
    }

    /// What is combined at that place.
    fn value(&self, columns: &IdMap<ColumnId, ColumnInfo>, at: usize, sql_type: SqlType, counts: bool) -> Expr {
        let value = cast(column(columns, self.combined[at].0), sql_type);
        match counts {
            // Each group has a part; who reads plans knows that counts are never NULL.
            true => Expr::new(ExprKind::Coalesce(vec![value, Expr::constant(Value::Int(0), sql_type)]), sql_type),
            false => value,
        }
    }
}
