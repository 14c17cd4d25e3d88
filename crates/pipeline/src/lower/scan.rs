//! Sources: tables and files with pushed-down predicates, rows given in the query, common table expressions.

use std::sync::Arc;

use base::{Error, Result};
use plan::{ColumnId, Compare, CteId, Expr, ExprKind, Node, Op, TableId};
use types::ops::like::{Kind, LikePattern, Syntax};
use types::{Chunk, ColumnBuilder, Value};

use super::expression::{Range, source_column};
use super::pipe::{Binding, Pipe};
use super::{Lowering, Needed, with_columns_of};
use crate::ir::{ScanOp, ScanPredicate, Source};

impl Lowering<'_> {
    pub(super) fn scan(
        &mut self,
        table: TableId,
        columns: &[(usize, ColumnId)],
        predicates: &[Expr],
        needed: &Needed,
    ) -> Result<Vec<Pipe>> {
        let info = &self.plan.tables[table];
        let (mut kernels, mut rest) = (Vec::new(), Vec::new());
        for predicate in predicates {
            match scan_predicate(predicate, columns) {
                Some(kernel) => kernels.push(kernel),
                None => rest.push(predicate.clone()),
            }
        }
        let read = with_columns_of(needed, &rest);
        let mut pipe = Pipe::new(format!("scan {}", info.name), Source::Values(Arc::new(Chunk::new(0, Vec::new()))));
        let mut sources = Vec::new();
        for &(attribute, column) in columns.iter().filter(|(_, c)| read.contains(c)) {
            let source = source_column(&info.fields[attribute], &*info.statistics, attribute);
            let (index, ty) = (sources.len() as u32, source.sql_type.physical().into());
            pipe.bindings.insert(column, Binding::Column { index, ty, nullable: source.nullable });
            if let Some((low, high)) = source.bounds {
                self.expressions.set_range(column, Range { low, high });
            }
            sources.push(source);
        }
        let (filters, lookups, codes) = (Vec::new(), Vec::new(), Vec::new());
        pipe.source = Source::Table { table, columns: sources, predicates: kernels, filters, lookups, codes };
        pipe.attributes = columns.iter().map(|&(attribute, column)| (column, attribute)).collect();
        self.expressions.filter(&mut pipe, &rest)?;
        Ok(vec![pipe])
    }

    /// Notes the bounds of these columns, as far as scans below the node read them: for who asks before they are lowered.
    pub(super) fn note_scanned(&mut self, node: &Node, wanted: &Needed) {
        if let Op::Scan { table, columns, .. } = &node.op {
            let info = &self.plan.tables[*table];
            for &(attribute, column) in columns.iter().filter(|(_, c)| wanted.contains(c)) {
                let source = source_column(&info.fields[attribute], &*info.statistics, attribute);
                if let Some((low, high)) = source.bounds {
                    self.expressions.set_range(column, Range { low, high });
                }
            }
        }
        node.inputs().for_each(|input| self.note_scanned(input, wanted));
    }

    /// Rows of constants become a chunk; if some cell is an expression (an error that is to occur when the query runs), each
    /// row becomes a pipeline of its own.
    pub(super) fn values(&mut self, columns: &[ColumnId], rows: &[Vec<Expr>]) -> Result<Vec<Pipe>> {
        let constant = |e: &Expr| matches!(e.kind, ExprKind::Const(_));
        if !columns.is_empty() && rows.iter().flatten().all(constant) {
            return Ok(vec![self.constant_rows(columns, rows)]);
        }
        let one_row = || Source::Values(Arc::new(Chunk::new(1, Vec::new())));
        if columns.is_empty() {
            let source = Source::Values(Arc::new(Chunk::new(rows.len(), Vec::new())));
            return Ok(vec![Pipe::new("values".into(), source)]);
        }
        let mut pipes = Vec::new();
        for row in rows {
            let mut pipe = Pipe::new("values".into(), one_row());
            for (&column, expr) in columns.iter().zip(row) {
                let sql = self.expressions.scalar(&mut pipe, expr)?;
                let sql = pipe.in_layout(sql, self.type_of(column));
                pipe.bind(column, sql);
            }
            pipes.push(pipe);
        }
        Ok(pipes)
    }

    fn constant_rows(&mut self, columns: &[ColumnId], rows: &[Vec<Expr>]) -> Pipe {
        let mut chunk = Vec::new();
        let mut bindings = Vec::new();
        for (i, &column) in columns.iter().enumerate() {
            let sql_type = self.type_of(column);
            let mut builder = ColumnBuilder::new(sql_type, rows.len());
            for row in rows {
                match &row[i].kind {
                    ExprKind::Const(value) => builder.push_value(value),
                    _ => unreachable!("checked by the caller"),
                }
            }
            let built = builder.finish();
            let nullable = built.nulls().is_some();
            chunk.push(built);
            bindings.push((column, Binding::Column { index: i as u32, ty: sql_type.physical().into(), nullable }));
        }
        let source = Source::Values(Arc::new(Chunk::new(rows.len(), chunk)));
        let mut pipe = Pipe::new("values".into(), source);
        pipe.bindings.extend(bindings);
        pipe
    }

    pub(super) fn cte_scan(&mut self, cte: CteId, columns: &[(ColumnId, ColumnId)]) -> Result<Vec<Pipe>> {
        let (state, fields, rows) =
            self.ctes.get(&cte).cloned().ok_or_else(|| Error::internal("unknown WITH query"))?;
        let (mut pipe, row) = self.pipelines.read(state, rows, &format!("scan {}", self.plan.ctes[cte].name));
        for &(from, to) in columns {
            let field = fields.iter().find(|(c, _)| *c == from).ok_or_else(|| super::unbound(from))?.1;
            pipe.bind_row(row, &[(to, field)], false);
            if let Some(range) = self.expressions.range_of(from) {
                self.expressions.set_range(to, range);
            }
        }
        Ok(vec![pipe])
    }
}

/// The predicate as a scan kernel, if kernels know it: a column against a constant.
fn scan_predicate(predicate: &Expr, columns: &[(usize, ColumnId)]) -> Option<ScanPredicate> {
    let attribute = |e: &Expr| match e.kind {
        ExprKind::Column(c) => columns.iter().find(|(_, column)| *column == c).map(|(a, _)| *a),
        _ => None,
    };
    let found = |e: &Expr, op: ScanOp| Some(ScanPredicate { attribute: attribute(e)?, op, arguments: Vec::new() });
    match &predicate.kind {
        ExprKind::Compare(op, left, right) => {
            let (column, op, other) = match (&left.kind, &right.kind) {
                (ExprKind::Column(_), _) => (left, *op, right),
                (_, ExprKind::Column(_)) => (right, op.swapped(), left),
                _ => return None,
            };
            let (constant, arguments) = match &other.kind {
                ExprKind::Const(v) => (v, Vec::new()),
                ExprKind::Argument(id, v) => (v, vec![*id]),
                _ => return None,
            };
            if constant.is_null() || left.sql_type.physical() != right.sql_type.physical() {
                return None;
            }
            let v = constant.clone();
            let op = match op {
                Compare::Eq | Compare::NotDistinct => ScanOp::Eq(v),
                Compare::Ne => ScanOp::Ne(v),
                Compare::Lt => ScanOp::Lt(v),
                Compare::Le => ScanOp::Le(v),
                Compare::Gt => ScanOp::Gt(v),
                Compare::Ge => ScanOp::Ge(v),
                Compare::Distinct => return None,
            };
            Some(ScanPredicate { arguments, ..found(column, op)? })
        }
        ExprKind::Or(parts) => any_equal(parts.iter().map(|part| scan_predicate(part, columns))),
        ExprKind::InList(input, values) => found(input, ScanOp::In(values.clone())),
        ExprKind::IsNull(input) => found(input, ScanOp::IsNull),
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::IsNull(input) => found(input, ScanOp::IsNotNull),
            ExprKind::Like { input, pattern, syntax } => found(input, like(pattern, *syntax, true)?),
            _ => None,
        },
        ExprKind::Like { input, pattern, syntax } => found(input, like(pattern, *syntax, false)?),
        ExprKind::Column(_) => found(predicate, ScanOp::Eq(Value::Bool(true))),
        _ => None,
    }
}

/// Equalities of one column with arguments: an IN list that is open.
fn any_equal(parts: impl Iterator<Item = Option<ScanPredicate>>) -> Option<ScanPredicate> {
    let (mut attribute, mut values, mut arguments) = (None, Vec::new(), Vec::new());
    for part in parts {
        let ScanPredicate { attribute: own, op: ScanOp::Eq(value), arguments: ids } = part? else { return None };
        if ids.is_empty() || *attribute.get_or_insert(own) != own {
            return None;
        }
        values.push(value);
        arguments.extend(ids);
    }
    Some(ScanPredicate { attribute: attribute?, op: ScanOp::In(values), arguments })
}

/// A pattern that is constant and never fails.
fn like(pattern: &Expr, syntax: Syntax, negated: bool) -> Option<ScanOp> {
    let ExprKind::Const(Value::Str(pattern)) = &pattern.kind else { return None };
    let compiled = LikePattern::of(pattern, syntax).ok().filter(LikePattern::never_fails)?;
    Some(match compiled.kind() {
        Kind::Prefix(prefix) if !negated => ScanOp::Prefix(prefix.into()),
        _ => ScanOp::Like { pattern: pattern.clone(), syntax, negated },
    })
}
