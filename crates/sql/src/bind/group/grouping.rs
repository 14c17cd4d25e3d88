//! GROUPING: which of its arguments the grouping set of a row leaves out, as bits, the last argument's the lowest.

use base::{Error, Result, SqlState};
use plan::{ColumnId, ColumnInfo, Expr, ExprKind, Node, Op};
use sqlparser::ast;
use types::{SqlType, Value};

use super::keys::{GroupingCall, same};
use crate::bind::Binder;
use crate::bind::coerce::known;

/// Most arguments: their bits are an integer.
const MAX_ARGUMENTS: usize = 31;

impl Binder<'_> {
    /// A call becomes a column of its query's aggregation.
    pub(in crate::bind) fn grouping(&mut self, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        let wrong = |message: String| Error::new(SqlState::GROUPING_ERROR, message).at(position);
        let Some(level) = self.names.levels.last() else {
            return Err(wrong("grouping operations are not allowed here".to_owned()));
        };
        if let Some(clause) = level.clause.forbids_aggregates() {
            return Err(wrong(format!("grouping operations are not allowed in {clause}")));
        }
        if level.inside_aggregate {
            return Err(wrong("aggregate function calls cannot be nested".to_owned()));
        }
        if arguments.is_empty() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "GROUPING needs at least one argument").at(position));
        }
        if arguments.len() > MAX_ARGUMENTS {
            let message = format!("GROUPING must have fewer than {} arguments", MAX_ARGUMENTS + 1);
            return Err(Error::new(SqlState("54023"), message).at(position));
        }
        let arguments = arguments.iter().map(|a| Ok(known(self.expr(a)?))).collect::<Result<_>>()?;
        let info = ColumnInfo { name: "grouping".to_owned(), sql_type: SqlType::Integer, nullable: false };
        let column = self.plan.columns.push(info);
        self.names.level().groupings.push(GroupingCall { column, arguments, position });
        Ok(Expr::column(column, SqlType::Integer).at(position))
    }
}

/// The positions of a call's arguments among the keys.
pub(super) fn positions(call: &GroupingCall, keys: &[(ColumnId, Expr)]) -> Result<Vec<usize>> {
    let position = |argument: &Expr| {
        keys.iter().position(|(_, key)| same(key, argument)).ok_or_else(|| {
            let message = "arguments to GROUPING must be grouping expressions of the associated query level";
            Error::new(SqlState::GROUPING_ERROR, message).at(argument.position.or(call.position))
        })
    };
    call.arguments.iter().map(position).collect()
}

/// The columns of calls, whose arguments are those keys, on top of an aggregation. `numbered`: the number of a row's grouping
/// set, and the sets, if there are several.
pub(super) fn with_groupings(
    node: Node,
    calls: &[GroupingCall],
    arguments: &[Vec<usize>],
    numbered: Option<(Expr, Vec<Vec<usize>>)>,
) -> Node {
    if calls.is_empty() {
        return node;
    }
    let integer = |value: i64| Expr::constant(Value::Int(value), SqlType::Integer);
    let columns = calls.iter().zip(arguments).map(|(call, keys)| {
        let Some((number, sets)) = &numbered else { return (call.column, integer(0)) };
        let mut branches: Vec<(i64, Vec<Value>)> = Vec::new();
        for (i, set) in sets.iter().enumerate() {
            let bits = keys.iter().fold(0, |bits, key| bits << 1 | i64::from(!set.contains(key)));
            match branches.iter_mut().find(|(known, _)| *known == bits) {
                Some((_, numbers)) => numbers.push(Value::Int(i as i64)),
                None => branches.push((bits, vec![Value::Int(i as i64)])),
            }
        }
        let last = branches.pop().map_or(0, |(bits, _)| bits);
        if branches.is_empty() {
            return (call.column, integer(last));
        }
        let is_one_of = |numbers| Expr::new(ExprKind::InList(Box::new(number.clone()), numbers), SqlType::Bool);
        let branches = branches.into_iter().map(|(bits, numbers)| (is_one_of(numbers), integer(bits))).collect();
        let case = ExprKind::Case { branches, otherwise: Box::new(integer(last)) };
        (call.column, Expr::new(case, SqlType::Integer))
    });
    let columns = columns.collect();
    Node::new(Op::Map { input: Box::new(node), columns })
}
