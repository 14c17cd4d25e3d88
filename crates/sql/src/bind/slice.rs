//! LIMIT, OFFSET and FETCH: as numbers where they are constants, else as expressions, which are computed above the query.

use base::{Error, Result, SqlState};
use functions::{ScalarFunction, WindowFunction};
use plan::{Compare, Expr, ExprKind, Node, Op, SortKey, conjunction};
use sqlparser::ast::{self, LimitClause};
use types::{SqlType, Value};

use super::argument::ArgumentRole;
use super::coerce::cast_to;
use super::parts::PlanBuilder;
use super::refusal::Refusal;
use super::scope::{Clause, Scope};
use super::{Binder, unsupported};
use crate::parse::shorthand::percentage;

/// LIMIT and OFFSET: the slice of the rows that stays.
#[derive(Clone, Debug, Default)]
pub(super) struct Slice {
    pub limit: Option<u64>,
    pub offset: u64,
    /// WITH TIES: and the peers of the last row.
    pub with_ties: bool,
    /// At most so many of a hundred rows.
    pub percent: Option<f64>,
    /// What is not constant.
    pub computed: Option<Box<ComputedSlice>>,
}

/// LIMIT and OFFSET that are computed, of type bigint; the other one is a number.
#[derive(Clone, Debug, Default)]
pub(super) struct ComputedSlice {
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
}

/// A part of a slice.
struct Part {
    name: &'static str,
    /// The error that it is negative.
    negative: SqlState,
    /// What it is if a kept plan leaves it open.
    role: Option<fn(u64) -> ArgumentRole>,
    is_offset: bool,
}

const LIMIT: Part =
    Part { name: "LIMIT", negative: SqlState("2201W"), role: Some(ArgumentRole::Limit), is_offset: false };
const OFFSET: Part =
    Part { name: "OFFSET", negative: SqlState("2201X"), role: Some(ArgumentRole::Offset), is_offset: true };

impl Part {
    fn is_negative(&self) -> Error {
        let name = if self.is_offset { "OFFSET" } else { "LIMIT" };
        Error::new(self.negative, format!("{name} must not be negative"))
    }
}

impl Binder<'_> {
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
                    self.row_count(&mut slice, limit, &LIMIT)?;
                }
                if let Some(offset) = offset {
                    self.row_count(&mut slice, &offset.value, &OFFSET)?;
                }
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                self.row_count(&mut slice, limit, &Part { role: None, ..LIMIT })?;
                self.row_count(&mut slice, offset, &Part { role: None, ..OFFSET })?;
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
            match &fetch.quantity {
                Some(quantity) => self.row_count(&mut slice, quantity, &Part { name: "FETCH", role: None, ..LIMIT })?,
                None => slice.limit = Some(1),
            }
            if slice.with_ties && slice.computed.is_some() {
                return unsupported("WITH TIES and a number of rows that is not constant", None);
            }
        }
        Ok(slice)
    }

    /// Reads a part of a slice; NULL is none. It may be left open in its role.
    fn row_count(&mut self, slice: &mut Slice, expr: &ast::Expr, part: &Part) -> Result<()> {
        let position = self.text.start(expr);
        let bound = self.expr_in(expr, Clause::Limit, Scope::default())?.at(position);
        if let (ExprKind::Argument(id, Value::Int(count)), true) = (&bound.kind, bound.sql_type.is_integer()) {
            let count = u64::try_from(*count).ok();
            return match count.zip(part.role) {
                Some((count, role)) if self.arguments.is_count(*id, role(count)) => slice.set(part, Some(count)),
                _ => unsupported(format!("{} of this argument", part.name), position),
            };
        }
        if !bound.sql_type.is_numeric() && bound.sql_type != SqlType::Null {
            let message = format!("argument of {} must be type bigint, not type {}", part.name, bound.sql_type);
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
        }
        let is_constant = !bound.has_subquery()
            && bound.columns().is_empty()
            && !bound.any(&|e| matches!(e.kind, ExprKind::Argument(..)))
            && !bound.is_volatile();
        let count = cast_to(bound, SqlType::BigInt)?;
        if !is_constant {
            let computed = slice.computed.get_or_insert_default();
            *(if part.is_offset { &mut computed.offset } else { &mut computed.limit }) = Some(count);
            return Ok(());
        }
        match plan::eval::constant(&count).map_err(|error| error.at(position))? {
            Value::Int(value) => {
                let value = u64::try_from(value).map_err(|_| part.is_negative().at(position))?;
                slice.set(part, Some(value))
            }
            _ => slice.set(part, None),
        }
    }
}

impl Slice {
    fn set(&mut self, part: &Part, count: Option<u64>) -> Result<()> {
        match part.is_offset {
            true => self.offset = count.unwrap_or(0),
            false => self.limit = count,
        }
        Ok(())
    }
}

/// LIMIT on top of a query that has no order.
pub(in crate::bind) fn limited(node: Node, slice: &Slice) -> Node {
    if slice.limit.is_none() && slice.offset == 0 {
        return node;
    }
    Node::new(Op::Limit { input: Box::new(node), limit: slice.limit, offset: slice.offset })
}

impl PlanBuilder {
    /// The rows whose numbers in an order are those that a computed slice leaves.
    pub(super) fn sliced(&mut self, node: Node, keys: Vec<SortKey>, slice: &Slice, computed: ComputedSlice) -> Node {
        let number = |rows: u64| Expr::constant(Value::Int(i64::try_from(rows).unwrap_or(i64::MAX)), SqlType::BigInt);
        let limit = computed.limit.or_else(|| slice.limit.map(number));
        let offset = computed.offset.unwrap_or_else(|| number(slice.offset));
        let (node, keys) = self.keys_as_columns(node, keys);
        let mut bounds = Vec::new();
        let mut column = |builder: &mut Self, expr: Expr| {
            let column = builder.column_for("bound", &expr);
            builder.columns[column].nullable = true;
            bounds.push((column, expr));
            Expr::column(column, SqlType::BigInt)
        };
        let limit = limit.map(|limit| column(self, limit));
        let offset = column(self, offset);
        let node = Node::new(Op::Map { input: Box::new(node), columns: bounds });
        let row = self.numbered(WindowFunction::RowNumber, &keys);
        let at = Expr::column(row.column, SqlType::BigInt);
        let input = Box::new(self.windowed(node, vec![row]));
        let predicates = vec![is_within(at, limit, offset)];
        let input = Box::new(Node::new(Op::Filter { input, predicates }));
        match keys.is_empty() {
            true => *input,
            false => Node::new(Op::Sort { input, keys, limit: None, offset: 0 }),
        }
    }
}

/// Whether a row of that number is within a slice; an error if this is none.
fn is_within(at: Expr, limit: Option<Expr>, offset: Expr) -> Expr {
    let zero = || Expr::constant(Value::Int(0), SqlType::BigInt);
    let refused = |part: &Part| {
        let error = part.is_negative();
        Refusal::default().saying(error.message()).with(error.state())
    };
    let negative = |value: &Expr| Expr::compare(Compare::Lt, value.clone(), zero());
    let mut branches = vec![(negative(&offset), refused(&OFFSET))];
    let skipped = Expr::new(ExprKind::Coalesce(vec![offset, zero()]), SqlType::BigInt);
    let behind = Expr::new(ExprKind::Call(ScalarFunction::SUBTRACT, vec![at, skipped]), SqlType::BigInt);
    let mut within = vec![Expr::compare(Compare::Gt, behind.clone(), zero())];
    if let Some(limit) = limit {
        branches.push((negative(&limit), refused(&LIMIT)));
        let all = Expr::new(ExprKind::IsNull(Box::new(limit.clone())), SqlType::Bool);
        let few = Expr::compare(Compare::Le, behind, limit);
        within.push(Expr::new(ExprKind::Or(vec![all, few]), SqlType::Bool));
    }
    Expr::new(ExprKind::Case { branches, otherwise: Box::new(conjunction(within)) }, SqlType::Bool)
}
