//! Rows and columns of each operator, given its inputs'.

use plan::{ColumnId, Expr, ExprKind, JoinKind, Node, Op, SetOperation};
use types::Value;

use super::{ColumnProfile, Estimator, Key, Profile};

/// As many rounds a recursion is taken to have, as in PostgreSQL.
const ROUNDS: f64 = 10.0;
/// How often a row is repeated if nothing is known.
const REPEATED: f64 = 10.0;

/// Of some keys those that the others do not tell.
fn telling<'e>(keys: impl Iterator<Item = &'e Expr>) -> Vec<&'e Expr> {
    let keys: Vec<&Expr> = keys.collect();
    let told = plan::told_by_others(keys.iter().copied());
    keys.into_iter().zip(told).filter(|(_, told)| !told).map(|(key, _)| key).collect()
}

impl Estimator<'_> {
    /// Estimates one operator whose inputs are estimated; columns that it makes are remembered.
    pub fn operator(&mut self, node: &Node, inputs: &[Profile]) -> Profile {
        match &node.op {
            Op::Scan { table, columns, predicates } => self.scan(*table, columns, predicates),
            Op::CteScan { cte, columns } => {
                for &(source, column) in columns {
                    self.set_column(column, self.column(source));
                }
                self.ctes.iter().find(|(id, _)| id == cte).map_or(Profile::new(1000.0), |(_, known)| {
                    let name = |c: &ColumnId| columns.iter().find(|(s, _)| s == c).map(|&(_, c)| c);
                    let keys = known.keys.iter().filter_map(|k| {
                        Some(Key { columns: k.columns.iter().map(name).collect::<Option<_>>()?, domain: k.domain })
                    });
                    Profile { rows: known.rows, keys: keys.collect() }
                })
            }
            Op::Values { columns, rows } => {
                let rows = rows.len() as f64;
                for &column in columns {
                    let distinct = rows.max(1.0);
                    let known = ColumnProfile {
                        domain: distinct,
                        distinct,
                        rows: distinct,
                        nulls: 0.0,
                        range: None,
                        seen: None,
                    };
                    self.set_column(column, known);
                }
                Profile::new(rows.max(1.0))
            }
            Op::Filter { predicates, .. } => self.filter(predicates, &inputs[0]),
            Op::Map { columns, .. } => {
                for (column, expr) in columns {
                    self.set_column(*column, self.computed(expr, inputs[0].rows));
                }
                inputs[0].clone()
            }
            Op::Join { kind, right, condition, .. } => {
                let theirs = right.columns();
                self.joined(kind, condition, &inputs[0], &inputs[1], &|c| theirs.contains(&c))
            }
            Op::Aggregate { groups, aggregates, .. } => {
                let rows = self.groups(groups.iter().map(|(_, e)| e), &inputs[0]);
                let keys = telling(groups.iter().map(|(_, e)| e));
                let domain = self.combinations(keys.into_iter().map(|e| self.domain(e)).collect(), f64::INFINITY);
                for (column, expr) in groups {
                    let known = self.computed(expr, inputs[0].rows);
                    self.set_column(*column, ColumnProfile { rows, distinct: known.distinct.min(rows), ..known });
                }
                for (column, _) in aggregates {
                    let known =
                        ColumnProfile { domain: rows, distinct: rows, rows, nulls: 0.0, range: None, seen: None };
                    self.set_column(*column, known);
                }
                let columns = groups.iter().map(|&(c, _)| c).collect();
                Profile { rows, keys: vec![Key { columns, domain: domain.max(rows) }] }
            }
            Op::Distinct { columns, .. } => {
                let exprs: Vec<Expr> = columns.iter().map(|&c| Expr::column(c, types::SqlType::Null)).collect();
                let rows = self.groups(exprs.iter(), &inputs[0]);
                let domain = self.combinations(exprs.iter().map(|e| self.domain(e)).collect(), f64::INFINITY);
                Profile { rows, keys: vec![Key { columns: columns.clone(), domain: domain.max(rows) }] }
            }
            Op::Sort { limit, offset, .. } | Op::Limit { limit, offset, .. } => {
                let left = (inputs[0].rows - *offset as f64).max(0.0);
                let rows = limit.map_or(left, |l| left.min(l as f64)).max(if *limit == Some(0) { 0.0 } else { 1.0 });
                Profile { rows, keys: inputs[0].keys.clone() }
            }
            Op::GroupLimit { partition, limit, .. } => {
                let exprs: Vec<Expr> = partition.iter().map(|&c| Expr::column(c, types::SqlType::Null)).collect();
                let groups = self.groups(exprs.iter(), &inputs[0]);
                let rows = limit.map_or(inputs[0].rows, |l| (groups * l as f64).min(inputs[0].rows));
                let mut keys = inputs[0].keys.clone();
                if *limit == Some(1) {
                    let domain = self.combinations(exprs.iter().map(|e| self.domain(e)).collect(), f64::INFINITY);
                    keys.push(Key { columns: partition.clone(), domain: domain.max(rows) });
                }
                Profile { rows: rows.max(1.0), keys }
            }
            Op::SetOp { operation, all, inputs: nodes, columns } => {
                self.set_operation(*operation, *all, nodes, columns, inputs)
            }
            Op::Recursion { columns, .. } => {
                let rows = inputs[0].rows + ROUNDS * inputs[1].rows;
                for &column in columns {
                    self.set_column(column, ColumnProfile::unknown(rows));
                }
                let keys = node.own_key().map(|columns| Key { columns, domain: rows });
                Profile { rows, keys: keys.into_iter().collect() }
            }
            // Nobody knows how long arrays are.
            Op::Repeat { number, times, .. } => {
                let known = if let ExprKind::Const(Value::Int(n)) = times.kind { n.max(0) as f64 } else { REPEATED };
                let rows = (inputs[0].rows * known).max(1.0);
                let numbers =
                    ColumnProfile { domain: known, distinct: known, rows, nulls: 0.0, range: None, seen: None };
                self.set_column(*number, numbers);
                Profile::new(rows)
            }
            // Each row of the input leaves, with more columns.
            _ => {
                let (rows, mut profile) = (inputs[0].rows, inputs[0].clone());
                node.each_produced(&mut |column| {
                    let known =
                        ColumnProfile { domain: rows, distinct: rows, rows, nulls: 0.0, range: None, seen: None };
                    self.set_column(column, known);
                });
                profile.keys.extend(node.own_key().map(|columns| Key { columns, domain: rows }));
                profile
            }
        }
    }

    /// A filter above anything.
    pub fn filter(&self, predicates: &[Expr], input: &Profile) -> Profile {
        let mut each: Vec<f64> = predicates.iter().map(|p| self.selectivity(p, input.rows)).collect();
        each.sort_by(f64::total_cmp);
        Profile { rows: (input.rows * super::back_off(each)).max(1.0), keys: input.keys.clone() }
    }

    /// A join with its sides in place.
    pub fn joined(
        &mut self,
        kind: &JoinKind,
        condition: &[Expr],
        left: &Profile,
        right: &Profile,
        is_right: &dyn Fn(ColumnId) -> bool,
    ) -> Profile {
        let estimate = self.join(condition, left, right, is_right);
        let rows = estimate.rows(kind, left.rows, right.rows);
        if let JoinKind::Mark(mark) = kind {
            let known = ColumnProfile { domain: 2.0, distinct: 2.0, rows, nulls: 0.0, range: None, seen: None };
            self.set_column(*mark, known);
        }
        // A key stays one where no row gains a second partner.
        let keeps_left = !kind.keeps_right() || *kind == JoinKind::Single || right.rows * estimate.pairs <= 1.0;
        Profile { rows, keys: if keeps_left { left.keys.clone() } else { Vec::new() } }
    }

    /// The column that an expression over `rows` rows makes.
    fn computed(&self, expr: &Expr, rows: f64) -> ColumnProfile {
        if let Some(column) = expr.as_column() {
            let known = self.column(column);
            return ColumnProfile { distinct: self.distinct_at(column, rows), rows, ..known };
        }
        let distinct = self.distinct(expr, rows);
        let nulls = self.null_fraction(expr);
        ColumnProfile {
            domain: self.domain(expr).min(rows).max(distinct),
            distinct,
            rows,
            nulls,
            range: None,
            seen: None,
        }
    }

    /// Number of groups.
    fn groups<'e>(&self, exprs: impl Iterator<Item = &'e Expr>, input: &Profile) -> f64 {
        let exprs = telling(exprs);
        let columns: Vec<ColumnId> = exprs.iter().filter_map(|e| e.as_column()).collect();
        if input.keys.iter().any(|k| k.columns.iter().all(|c| columns.contains(c))) {
            return input.rows;
        }
        self.combinations(exprs.iter().map(|e| self.distinct(e, input.rows)).collect(), input.rows)
    }

    fn set_operation(
        &mut self,
        operation: SetOperation,
        all: bool,
        nodes: &[(Node, Vec<ColumnId>)],
        columns: &[ColumnId],
        inputs: &[Profile],
    ) -> Profile {
        // Rows that count: duplicates only with ALL.
        let counted: Vec<f64> = (nodes.iter().zip(inputs))
            .map(|((_, names), input)| {
                if all {
                    return input.rows;
                }
                self.combinations(names.iter().map(|&c| self.distinct_at(c, input.rows)).collect(), input.rows)
            })
            .collect();
        let first = counted.first().copied().unwrap_or(1.0);
        let rows = match operation {
            SetOperation::Union => counted.iter().sum::<f64>(),
            SetOperation::Intersect => counted.iter().copied().fold(f64::INFINITY, f64::min) / 2.0,
            SetOperation::Except => first / 2.0,
        };
        let rows = rows.max(1.0);
        for (i, &column) in columns.iter().enumerate() {
            let sources = nodes.iter().map(|(_, names)| self.column(names[i]));
            let known = sources.reduce(|a, b| ColumnProfile {
                domain: if operation == SetOperation::Union { a.domain.max(b.domain) } else { a.domain },
                distinct: if operation == SetOperation::Union { a.distinct.max(b.distinct) } else { a.distinct },
                rows,
                nulls: a.nulls.max(b.nulls),
                range: None,
                seen: None,
            });
            let known = known.unwrap_or(ColumnProfile::unknown(rows));
            self.set_column(column, ColumnProfile { rows, distinct: known.distinct.min(rows), ..known });
        }
        let keys = if all { Vec::new() } else { vec![Key { columns: columns.to_vec(), domain: rows }] };
        Profile { rows, keys }
    }
}
