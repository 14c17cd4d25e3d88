//! Comparisons and IN lists.

use base::Result;
use plan::Expr;
use types::{SqlType, Value};

use super::Expressions;
use crate::ir::{Callee, Compare, Param, Site, SiteKind, Ty, Var};
use crate::lower::pipe::{Pipe, Sql};

/// IN lists of up to this length are chains of comparisons.
const SHORT_LIST: usize = 4;

impl Expressions {
    pub(in crate::lower) fn comparison(
        &mut self,
        pipe: &mut Pipe,
        op: plan::Compare,
        left: &Expr,
        right: &Expr,
    ) -> Result<Sql> {
        let (a, b) = (self.scalar(pipe, left)?, self.scalar(pipe, right)?);
        Ok(self.compare_values(pipe, op, a, b))
    }

    /// Compares two values of one SQL type.
    pub(in crate::lower) fn compare_values(&mut self, pipe: &mut Pipe, op: plan::Compare, a: Sql, b: Sql) -> Sql {
        use plan::Compare as P;
        let simple = match op {
            P::Eq | P::NotDistinct => Compare::Eq,
            P::Ne | P::Distinct => Compare::Ne,
            P::Lt => Compare::Lt,
            P::Le => Compare::Le,
            P::Gt => Compare::Gt,
            P::Ge => Compare::Ge,
        };
        let value = compare_same(pipe, simple, a.value, b.value);
        let null = pipe.any_null([a.null, b.null]);
        match (op, null) {
            (P::NotDistinct | P::Distinct, Some(null)) => {
                // Equal: both NULL, or neither and the values equal.
                let (x, y) = (flag(pipe, a), flag(pipe, b));
                let both = pipe.and(x, y);
                let neither = pipe.not(null);
                let same = if simple == Compare::Eq { value } else { pipe.not(value) };
                let same = pipe.and(neither, same);
                let equal = pipe.or(both, same);
                let value = if op == P::NotDistinct { equal } else { pipe.not(equal) };
                Sql { value, null: None }
            }
            _ => Sql { value, null },
        }
    }

    pub(in crate::lower) fn in_list(&mut self, pipe: &mut Pipe, input: &Expr, values: &[Value]) -> Result<Sql> {
        let sql = self.scalar(pipe, input)?;
        if values.len() <= SHORT_LIST {
            let mut any = pipe.bool(false);
            for value in values {
                let constant = self.constant(pipe, value, input.sql_type);
                let equal = compare_same(pipe, Compare::Eq, sql.value, constant.value);
                any = pipe.or(any, equal);
            }
            return Ok(Sql { value: any, null: sql.null });
        }
        let param = self.params.push(Param::Set(values.to_vec(), input.sql_type));
        let ty: Ty = input.sql_type.physical().into();
        let wide = pipe.in_layout(sql, input.sql_type);
        self.strict(pipe, &[sql], |p| p.call1(Callee::InSet(param, ty), vec![wide.value], input.position))
    }

    /// Any scalar function through boxed values.
    pub(in crate::lower) fn boxed(
        &mut self,
        pipe: &mut Pipe,
        function: functions::ScalarFunction,
        args: &[Expr],
        result: SqlType,
        position: Option<u32>,
    ) -> Result<Sql> {
        let values = args.iter().map(|a| self.scalar(pipe, a)).collect::<Result<Vec<_>>>()?;
        let arguments = args.iter().map(|a| a.sql_type).collect();
        let site = Site { kind: SiteKind::Scalar(function), arguments, result };
        self.call_site(pipe, site, &values, position)
    }
}

/// Compares two values of one SQL type, whose widths may differ.
pub(in crate::lower) fn compare_same(pipe: &mut Pipe, op: Compare, a: Var, b: Var) -> Var {
    let (ta, tb) = (pipe.ty(a), pipe.ty(b));
    if ta == tb || !ta.is_integer() || !tb.is_integer() {
        return pipe.compare(op, a, b);
    }
    let ty = if ta.size() > tb.size() { ta } else { tb };
    let (a, b) = (pipe.widen(a, ty), pipe.widen(b, ty));
    pipe.compare(op, a, b)
}

/// The NULL flag, false if there is none.
pub(in crate::lower) fn flag(pipe: &mut Pipe, sql: Sql) -> Var {
    sql.null.unwrap_or_else(|| pipe.bool(false))
}
