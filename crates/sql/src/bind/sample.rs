//! TABLESAMPLE and USING SAMPLE: each row is taken with the same probability. Blocks are not chosen as a whole: SYSTEM takes rows, too. So many rows
//! are those with the smallest of numbers that are drawn for all.

use base::{Error, Result, SqlState};
use functions::ScalarFunction;
use plan::{Compare, Expr, ExprKind, Node, Op, SortKey};
use sqlparser::ast::{self, TableSample, TableSampleKind, TableSampleMethod, TableSampleUnit};
use types::{SqlType, Value};

use super::coerce::cast_to;
use super::parts::PlanBuilder;
use super::scope::{Clause, Level};
use super::{Binder, unsupported};
use crate::parse::samples::{Sample, sample};

/// The state of a percentage that is none.
const INVALID_TABLESAMPLE_ARGUMENT: SqlState = SqlState("2202H");

/// What `RESERVOIR(rows)` says.
fn reservoir(expr: &ast::Expr) -> Option<&ast::Expr> {
    let ast::Expr::Function(function) = expr else { return None };
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(rows))]
            if function.name.to_string().eq_ignore_ascii_case("reservoir") =>
        {
            Some(rows)
        }
        _ => None,
    }
}

/// What USING SAMPLE says, which travels in QUALIFY, and the rest of that.
pub(super) fn apart(qualify: Option<&ast::Expr>) -> (Option<Sample>, Option<&ast::Expr>) {
    match qualify {
        Some(ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right }) if sample(right).is_some() => {
            (sample(right), Some(left))
        }
        Some(all) if sample(all).is_some() => (sample(all), None),
        all => (None, all),
    }
}

impl PlanBuilder {
    /// So many of the rows, or each with that probability.
    pub(super) fn sample_of(&mut self, node: Node, quantity: f64, is_percent: bool) -> Result<Node> {
        let random = ScalarFunction::named("random").ok_or_else(|| Error::internal("no random numbers"))?;
        let random = Expr::new(ExprKind::Call(random, Vec::new()), SqlType::Double);
        self.drawn(node, (quantity, is_percent), random)
    }

    /// The rows of which the smallest numbers were drawn: doubles from 0 to 1, or any integers of 64 bits.
    pub(super) fn drawn(&mut self, node: Node, (quantity, is_percent): (f64, bool), number: Expr) -> Result<Node> {
        if is_percent {
            let share = quantity / 100.0;
            let part = match number.sql_type {
                SqlType::Double => Value::Float(share),
                // The conversion saturates.
                _ => Value::Int(((share - 0.5) * 2f64.powi(64)) as i64),
            };
            let part = Expr::constant(part, number.sql_type);
            let predicates = vec![Expr::compare(Compare::Lt, number, part)];
            return Ok(Node::new(Op::Filter { input: Box::new(node), predicates }));
        }
        let drawn = self.column_for("random", &number);
        let input = Box::new(Node::new(Op::Map { input: Box::new(node), columns: vec![(drawn, number)] }));
        let keys = vec![SortKey { expr: self.reference(drawn), descending: false, nulls_first: false }];
        Ok(Node::new(Op::Sort { input, keys, limit: Some(quantity as u64), offset: 0 }))
    }
}

impl Binder<'_> {
    /// Some of the rows of a table in FROM.
    pub(super) fn sampled(&mut self, node: Node, sample: &TableSampleKind, position: Option<u32>) -> Result<Node> {
        let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) = sample;
        let TableSample { name, quantity, seed, bucket, offset, .. } = sample.as_ref();
        if bucket.is_some()
            || offset.is_some()
            || matches!(name, Some(TableSampleMethod::Row | TableSampleMethod::Block))
        {
            return unsupported("a sample of anything but BERNOULLI or SYSTEM", position);
        }
        let Some(quantity) = quantity.as_ref() else {
            return unsupported("a sample without a size", position);
        };
        let of = match reservoir(&quantity.value) {
            Some(rows) => (self.percentage(rows, f64::MAX)?, false),
            None if quantity.unit == Some(TableSampleUnit::Rows) => {
                (self.percentage(&quantity.value, f64::MAX)?, false)
            }
            None => (self.percentage(&quantity.value, 100.0)?, true),
        };
        match seed {
            None => self.plan.sample_of(node, of.0, of.1),
            Some(seed) => {
                let number = seed.value.value.to_string().parse::<f64>();
                let seed = number.map_err(|_| Error::unsupported("a seed that is no number").at(position))?;
                self.plan.sample_again(node, of, seed.to_bits() as i64)
            }
        }
    }

    fn percentage(&mut self, expr: &ast::Expr, most: f64) -> Result<f64> {
        let position = self.text.start(expr);
        self.names.levels.push(Level::new(Clause::From));
        let bound = self.expr(expr).and_then(|bound| cast_to(bound, SqlType::Double));
        self.names.levels.pop();
        let wrong = |message: &str| Err(Error::new(INVALID_TABLESAMPLE_ARGUMENT, message).at(position));
        match bound?.kind {
            ExprKind::Const(Value::Float(percent)) if (0.0..=most).contains(&percent) => Ok(percent),
            ExprKind::Const(Value::Float(_)) => wrong("sample percentage must be between 0 and 100"),
            ExprKind::Const(_) => wrong("TABLESAMPLE parameter cannot be null"),
            _ => unsupported("a percentage that is not constant", position),
        }
    }
}
