//! Queries: WITH, the body, ORDER BY and LIMIT around it.

use std::collections::HashMap;
use std::rc::Rc;

use base::{Error, Result, SqlState};
use plan::{ExprKind, Node, Op};
use sqlparser::ast::{self, CteAsMaterialized, LimitClause, ObjectNamePart, SetExpr};
use types::{SqlType, Value};

use super::argument::ArgumentRole;
use super::scope::CteBinding;
use super::{Binder, Bound, fold, unsupported};
use crate::bind::coerce::cast_to;
use crate::bind::parts::Text;
use crate::parse::changes;
use crate::parse::shorthand::percentage;
use crate::walk;

/// LIMIT and OFFSET as numbers: the slice of the rows that stays.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slice {
    pub limit: Option<u64>,
    pub offset: u64,
    /// WITH TIES: and the peers of the last row.
    pub with_ties: bool,
    /// At most so many of a hundred rows.
    pub percent: Option<f64>,
}

impl Binder<'_> {
    /// Binds a query; it may refer to the columns of the queries around it.
    pub(super) fn query(&mut self, query: &ast::Query) -> Result<Bound> {
        self.deeper(|b| {
            let visible = b.names.environment.len();
            let bound = b.with_clause(query).and_then(|()| b.query_body(query));
            b.names.environment.truncate(visible);
            bound
        })
    }

    pub(super) fn query_body(&mut self, query: &ast::Query) -> Result<Bound> {
        if !query.locks.is_empty() {
            return unsupported("FOR UPDATE or FOR SHARE", None);
        }
        if query.for_clause.is_some() || query.settings.is_some() || query.format_clause.is_some() {
            return unsupported("FOR, SETTINGS or FORMAT at the end of a query", None);
        }
        if !query.pipe_operators.is_empty() {
            return unsupported("the pipe syntax", None);
        }
        let slice = self.slice(query)?;
        let order_by = query.order_by.as_ref();
        match query.body.as_ref() {
            SetExpr::Select(select) => self.select(select, order_by, slice),
            body => {
                let bound = self.set_expr(body)?;
                self.ordered(bound, order_by, slice)
            }
        }
    }

    /// The body of a query or an operand of a set operation.
    pub(super) fn set_expr(&mut self, body: &SetExpr) -> Result<Bound> {
        match body {
            SetExpr::Select(select) => self.deeper(|b| b.select(select, None, Slice::default())),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { .. } => self.deeper(|b| b.set_operation(body)),
            SetExpr::Values(values) => self.values(&values.rows, None),
            _ => unsupported("a query that changes data", None),
        }
    }

    /// Brings the common table expressions of WITH into scope.
    pub(super) fn with_clause(&mut self, query: &ast::Query) -> Result<()> {
        let Some(with) = &query.with else { return Ok(()) };
        let counts = Counter::of_query(query);
        let first = self.names.environment.len();
        for cte in in_order(with, &self.text)? {
            let name = fold(&cte.alias.name);
            let position = self.text.at(&cte.alias.name);
            self.check_new_name(&name, first, position)?;
            if changes(&cte.query.body) {
                return Err(not_at_top_level().at(position));
            }
            let own = if with.recursive { Counter::of_query(&cte.query).of(&name) } else { 0 };
            let recursive = own > 0;
            let inline = match cte.materialized {
                _ if recursive => false,
                Some(CteAsMaterialized::Materialized) => false,
                Some(CteAsMaterialized::NotMaterialized) => true,
                None => counts.of(&name) <= 1,
            };
            let unused = counts.of(&name) == own;
            self.names.environment.push(CteBinding {
                name,
                columns: cte.alias.columns.iter().map(|c| c.name.clone()).collect(),
                query: Rc::new((*cte.query).clone()),
                levels: self.names.levels.len(),
                visible: self.names.environment.len(),
                inline,
                recursive,
                recursing: None,
                materialised: None,
                part: None,
            });
            if unused {
                // Its mistakes count all the same.
                let index = self.names.environment.len() - 1;
                if recursive { self.materialised(index).map(|_| ())? } else { self.cte_query(index).map(|_| ())? }
            }
        }
        Ok(())
    }

    /// 42712 if a query of the same WITH has that name; they begin with number `first`.
    pub(super) fn check_new_name(&self, name: &str, first: usize, position: Option<u32>) -> Result<()> {
        if !self.names.environment[first..].iter().any(|c| c.name == name) {
            return Ok(());
        }
        let message = format!("WITH query name \"{name}\" specified more than once");
        Err(Error::new(SqlState::DUPLICATE_ALIAS, message).at(position))
    }

    pub(super) fn slice(&mut self, query: &ast::Query) -> Result<Slice> {
        let mut slice = Slice::default();
        self.arguments.slices += usize::from(query.limit_clause.is_some() || query.fetch.is_some());
        match &query.limit_clause {
            None => {}
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
                if !limit_by.is_empty() {
                    return unsupported("LIMIT BY", None);
                }
                if let Some(percent) = limit.as_ref().and_then(percentage) {
                    slice.percent = Some(percent);
                } else if let Some(limit) = limit {
                    slice.limit = self.row_count(limit, "LIMIT", Some(ArgumentRole::Limit))?;
                }
                if let Some(offset) = offset {
                    slice.offset = self.row_count(&offset.value, "OFFSET", Some(ArgumentRole::Offset))?.unwrap_or(0);
                }
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                slice.limit = self.row_count(limit, "LIMIT", None)?;
                slice.offset = self.row_count(offset, "OFFSET", None)?.unwrap_or(0);
            }
        }
        if let Some(fetch) = &query.fetch {
            if fetch.percent {
                return unsupported("FETCH of a PERCENT", None);
            }
            if fetch.with_ties && query.order_by.is_none() {
                let message = "WITH TIES cannot be specified without ORDER BY clause";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            slice.with_ties = fetch.with_ties;
            slice.limit = match &fetch.quantity {
                Some(quantity) => self.row_count(quantity, "FETCH", None)?,
                None => Some(1),
            };
        }
        Ok(slice)
    }

    /// The number that an argument of LIMIT is; NULL means none. It may be left open in that role.
    fn row_count(
        &mut self,
        expr: &ast::Expr,
        what: &str,
        role: Option<fn(u64) -> ArgumentRole>,
    ) -> Result<Option<u64>> {
        let position = self.text.start(expr);
        let levels = std::mem::take(&mut self.names.levels);
        let bound = self.expr(expr);
        self.names.levels = levels;
        let bound = bound?;
        let value = match (&bound.kind, bound.sql_type) {
            (ExprKind::Const(_), t) if t.is_numeric() || t == SqlType::Null => {
                match cast_to(bound, SqlType::BigInt)?.kind {
                    ExprKind::Const(value) => value,
                    _ => return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "bigint out of range").at(position)),
                }
            }
            (ExprKind::Argument(id, Value::Int(count)), t) if t.is_integer() => {
                let count = u64::try_from(*count).ok();
                return match count.zip(role) {
                    Some((count, role)) if self.arguments.is_count(*id, role(count)) => Ok(Some(count)),
                    _ => unsupported(format!("{what} of this argument"), position),
                };
            }
            (ExprKind::Call(..) | ExprKind::Cast(_), t) if t.is_integer() => match fold_integers(&bound) {
                Some(value) => Value::Int(value),
                None => return unsupported(format!("{what} with anything but a constant"), position),
            },
            (ExprKind::Const(_), t) => {
                let message = format!("argument of {what} must be type bigint, not type {t}");
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
            }
            _ => return unsupported(format!("{what} with anything but a constant"), position),
        };
        match value {
            Value::Null => Ok(None),
            Value::Int(count) => match u64::try_from(count) {
                Ok(count) => Ok(Some(count)),
                Err(_) => {
                    let state = if what == "OFFSET" { SqlState("2201X") } else { SqlState("2201W") };
                    Err(Error::new(state, format!("{what} must not be negative")).at(position))
                }
            },
            _ => Err(Error::internal("a row count that is no integer").at(position)),
        }
    }
}

/// 0A000: only the WITH of a whole statement changes data.
fn not_at_top_level() -> Error {
    let message = "WITH clause containing a data-modifying statement must be at the top level";
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// LIMIT on top of a query that has no order.
pub(in crate::bind) fn limited(node: Node, slice: Slice) -> Node {
    if slice.limit.is_none() && slice.offset == 0 {
        return node;
    }
    Node::new(Op::Limit { input: Box::new(node), limit: slice.limit, offset: slice.offset })
}

/// Integer arithmetic over constants (`LIMIT 5 * 2`).
fn fold_integers(expr: &plan::Expr) -> Option<i64> {
    use functions::ScalarFunction as F;
    match &expr.kind {
        ExprKind::Const(Value::Int(i)) => Some(*i),
        ExprKind::Cast(inner) if expr.sql_type.is_integer() => fold_integers(inner),
        ExprKind::Call(function, arguments) => {
            let values: Option<Vec<i64>> = arguments.iter().map(fold_integers).collect();
            match (*function, values?.as_slice()) {
                (F::ADD, &[a, b]) => a.checked_add(b),
                (F::SUBTRACT, &[a, b]) => a.checked_sub(b),
                (F::MULTIPLY, &[a, b]) => a.checked_mul(b),
                (F::DIVIDE, &[a, b]) => a.checked_div(b),
                (F::MODULO, &[a, b]) => a.checked_rem(b),
                (F::NEGATE, &[a]) => a.checked_neg(),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The common table expressions of WITH, each behind those that it reads: of WITH RECURSIVE they may come in any order.
pub(super) fn in_order<'q>(with: &'q ast::With, text: &Text<'_>) -> Result<Vec<&'q ast::Cte>> {
    let mut left: Vec<&ast::Cte> = with.cte_tables.iter().collect();
    if !with.recursive {
        return Ok(left);
    }
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits = |cte: &ast::Cte| {
            let read = Counter::of_query(&cte.query);
            let own = fold(&cte.alias.name);
            let names = left.iter().map(|other| fold(&other.alias.name));
            names.filter(|name| *name != own).any(|name| read.of(&name) > 0)
        };
        let Some(next) = left.iter().position(|cte| !waits(cte)) else {
            let position = text.at(&left[0].alias.name);
            return Err(Error::unsupported("mutual recursion between WITH items").at(position));
        };
        ordered.push(left.remove(next));
    }
    Ok(ordered)
}

/// How often each unqualified table name occurs: at least as often as each common table expression is read.
#[derive(Default)]
pub(super) struct Counter(HashMap<String, usize>);

impl Counter {
    pub(super) fn of_query(query: &ast::Query) -> Self {
        let mut counter = Self::default();
        walk::has_node(query, |node| {
            if let walk::Node::Relation(name) = node
                && let [ObjectNamePart::Identifier(ident)] = name.0.as_slice()
            {
                *counter.0.entry(fold(ident)).or_default() += 1;
            }
            false
        });
        counter
    }

    pub(super) fn of(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or(0)
    }
}
