//! TABLESAMPLE: each row is taken with the same probability. Blocks are not chosen as a whole: SYSTEM takes rows, too.

use base::{Error, Result, SqlState};
use functions::ScalarFunction;
use plan::{Compare, Expr, ExprKind, Node, Op};
use sqlparser::ast::{self, TableSample, TableSampleKind, TableSampleMethod, TableSampleUnit};
use types::{SqlType, Value};

use super::coerce::cast_to;
use super::scope::{Clause, Level};
use super::{Binder, unsupported};

/// The state of a percentage that is none.
const INVALID_TABLESAMPLE_ARGUMENT: SqlState = SqlState("2202H");

impl Binder<'_> {
    /// Some of the rows of a table in FROM.
    pub(super) fn sampled(&mut self, node: Node, sample: &TableSampleKind, position: Option<u32>) -> Result<Node> {
        let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) = sample;
        let TableSample { name, quantity, seed, bucket, offset, .. } = sample.as_ref();
        if seed.is_some() {
            return unsupported("REPEATABLE in TABLESAMPLE", position);
        }
        if bucket.is_some()
            || offset.is_some()
            || matches!(name, Some(TableSampleMethod::Row | TableSampleMethod::Block))
        {
            return unsupported("a sample of anything but BERNOULLI or SYSTEM", position);
        }
        let Some(quantity) = quantity.as_ref().filter(|q| q.unit != Some(TableSampleUnit::Rows)) else {
            return unsupported("a sample of anything but a percentage", position);
        };
        let part = self.percentage(&quantity.value)? / 100.0;
        let random = ScalarFunction::named("random").ok_or_else(|| Error::internal("no random numbers"))?;
        let random = Expr::new(ExprKind::Call(random, Vec::new()), SqlType::Double);
        let taken = Expr::compare(Compare::Lt, random, Expr::constant(Value::Float(part), SqlType::Double));
        Ok(Node::new(Op::Filter { input: Box::new(node), predicates: vec![taken] }))
    }

    fn percentage(&mut self, expr: &ast::Expr) -> Result<f64> {
        let position = self.text.start(expr);
        self.names.levels.push(Level::new(Clause::From));
        let bound = self.expr(expr).and_then(|bound| cast_to(bound, SqlType::Double));
        self.names.levels.pop();
        let wrong = |message: &str| Err(Error::new(INVALID_TABLESAMPLE_ARGUMENT, message).at(position));
        match bound?.kind {
            ExprKind::Const(Value::Float(percent)) if (0.0..=100.0).contains(&percent) => Ok(percent),
            ExprKind::Const(Value::Float(_)) => wrong("sample percentage must be between 0 and 100"),
            ExprKind::Const(_) => wrong("TABLESAMPLE parameter cannot be null"),
            _ => unsupported("a percentage that is not constant", position),
        }
    }
}
