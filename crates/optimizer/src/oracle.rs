//! A slow and obviously right interpreter of plans with subqueries, which it evaluates for each row: what rewritten plans
//! are compared with, on small random tables.

mod window;

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use base::{Error, Result, SqlState};
use functions::aggregate::Input;
use plan::{
    AggregateCall, ColumnId, CteId, Expr, ExprKind, JoinKind, Node, Op, Plan, Quantifier, SetOperation, SubqueryKind,
    eval,
};
use types::{Interval, SqlType, Value};

type Row = HashMap<ColumnId, Value>;

pub(crate) struct Oracle<'a> {
    pub plan: &'a Plan,
    /// Decides the tables' contents.
    pub seed: u64,
    /// What recursions that are being evaluated have added last.
    working: RefCell<HashMap<CteId, Vec<Row>>>,
}

/// The result as a sorted bag.
pub(crate) fn result(plan: &Plan, seed: u64) -> Result<Vec<Vec<Value>>> {
    let oracle = Oracle { plan, seed, working: RefCell::default() };
    let mut rows: Vec<Vec<Value>> = oracle
        .rows(&plan.root, &Row::new())?
        .into_iter()
        .map(|row| plan.output.iter().map(|(_, c)| row[c].clone()).collect())
        .collect();
    rows.sort_by(|a: &Vec<Value>, b| {
        a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    Ok(rows)
}

impl Oracle<'_> {
    fn random(&self, what: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, what).hash(&mut hasher);
        hasher.finish()
    }

    fn table_value(&self, table: &str, attribute: usize, row: u64, column: ColumnId) -> Value {
        let info = &self.plan.columns[column];
        if info.name == "row id" {
            return Value::Int(row as i64);
        }
        let x = self.random((table, attribute, row, "value"));
        if info.nullable && x.is_multiple_of(4) {
            return Value::Null;
        }
        let small = (x / 7 % 4) as i64;
        match info.sql_type {
            SqlType::Bool => Value::Bool(small % 2 == 0),
            SqlType::Decimal { scale, .. } => Value::Decimal(i128::from(small) * 10i128.pow(scale.into())),
            // Some that are equal and differ.
            SqlType::Real | SqlType::Double => Value::Float([0.0, -0.0, 1.0, 2.0][small as usize]),
            SqlType::Interval => {
                let (months, days) = [(1, 0), (0, 30), (0, 2), (2, 0)][small as usize];
                Value::Interval(Interval { months, days, micros: 0 })
            }
            SqlType::Date => Value::Date(small as i32),
            SqlType::Enum(_) => Value::Enum(small as i32),
            SqlType::Uuid => Value::Uuid(small as u128),
            SqlType::Time => Value::Time(small.rem_euclid(1000)),
            SqlType::Timestamp | SqlType::Timestamptz => Value::Timestamp(small),
            t if t.is_string() => Value::str(["13", "F", "G", "forest"][small as usize]),
            _ => Value::Int(small),
        }
    }

    fn repeated(&self, rows: Vec<Row>, times: &Expr, number: ColumnId) -> Result<Vec<Row>> {
        let mut out = Vec::new();
        for row in rows {
            let Value::Int(times) = self.value(times, &row)? else { continue };
            out.extend((1..=times).map(|n| row.clone().into_iter().chain([(number, Value::Int(n))]).collect::<Row>()));
        }
        Ok(out)
    }

    fn sorted(&self, rows: Vec<Row>, keys: &[plan::SortKey]) -> Result<Vec<Row>> {
        let mut keyed = Vec::new();
        for row in rows {
            let values = keys.iter().map(|k| self.value(&k.expr, &row)).collect::<Result<Vec<_>>>()?;
            keyed.push((values, row));
        }
        keyed.sort_by(|(a, _), (b, _)| window::order(a, b, keys, keys.len()));
        Ok(keyed.into_iter().map(|(_, row)| row).collect())
    }

    /// Every value of `cte` is computed again for each reader.
    fn cte(&self, cte: CteId) -> Result<Vec<Row>> {
        if let Some(working) = self.working.borrow().get(&cte) {
            return Ok(working.clone());
        }
        self.rows(&self.plan.ctes[cte].plan, &Row::new())
    }

    fn rows(&self, node: &Node, outer: &Row) -> Result<Vec<Row>> {
        let mut out = Vec::new();
        match &node.op {
            Op::Scan { table, columns, predicates } => {
                let name = &self.plan.tables[*table].name;
                for row in 0..self.random((name, "rows")) % 5 {
                    let mut made = outer.clone();
                    for &(attribute, column) in columns {
                        made.insert(column, self.table_value(name, attribute, row, column));
                    }
                    if self.all(predicates, &made)? == Some(true) {
                        out.push(made);
                    }
                }
            }
            Op::CteScan { cte, columns } => {
                for row in self.cte(*cte)? {
                    let mut made = outer.clone();
                    made.extend(columns.iter().map(|(from, to)| (*to, row[from].clone())));
                    out.push(made);
                }
            }
            Op::Values { columns, rows } => {
                for row in rows {
                    let mut made = outer.clone();
                    for (&column, expr) in columns.iter().zip(row) {
                        made.insert(column, self.value(expr, outer)?);
                    }
                    out.push(made);
                }
            }
            Op::Filter { input, predicates } => {
                for row in self.rows(input, outer)? {
                    if self.all(predicates, &row)? == Some(true) {
                        out.push(row);
                    }
                }
            }
            Op::Map { input, columns } => {
                for row in self.rows(input, outer)? {
                    let mut made = row.clone();
                    for (column, expr) in columns {
                        made.insert(*column, self.value(expr, &row)?);
                    }
                    out.push(made);
                }
            }
            Op::Repeat { input, times, number } => return self.repeated(self.rows(input, outer)?, times, *number),
            Op::Join { kind, left, right, condition, .. } => return self.join(kind, left, right, condition, outer),
            Op::Aggregate { input, groups, aggregates } => {
                let mut found: Vec<(Vec<Value>, Vec<Row>)> = Vec::new();
                if groups.is_empty() {
                    found.push((Vec::new(), Vec::new()));
                }
                for row in self.rows(input, outer)? {
                    let key = groups.iter().map(|(_, e)| self.value(e, &row)).collect::<Result<Vec<_>>>()?;
                    match found.iter_mut().find(|(k, _)| *k == key) {
                        Some((_, rows)) => rows.push(row),
                        None => found.push((key, vec![row])),
                    }
                }
                for (key, rows) in found {
                    let mut made = outer.clone();
                    made.extend(groups.iter().map(|(c, _)| *c).zip(key));
                    for (column, call) in aggregates {
                        made.insert(*column, self.aggregate(call, &rows)?);
                    }
                    out.push(made);
                }
            }
            Op::Distinct { input, columns } => {
                let mut seen: Vec<Vec<Value>> = Vec::new();
                for row in self.rows(input, outer)? {
                    let key: Vec<Value> = columns.iter().map(|c| row[c].clone()).collect();
                    if !seen.contains(&key) {
                        out.push(row);
                        seen.push(key);
                    }
                }
            }
            Op::Sort { input, keys, limit, offset } => {
                let rows = self.sorted(self.rows(input, outer)?, keys)?.into_iter().skip(*offset as usize);
                out.extend(rows.take(limit.map_or(usize::MAX, |n| n as usize)));
            }
            Op::GroupLimit { input, partition, keys, limit, offset } => {
                let mut groups: Vec<(Vec<&Value>, Vec<&Row>)> = Vec::new();
                let rows = self.sorted(self.rows(input, outer)?, keys)?;
                for row in &rows {
                    let key: Vec<&Value> = partition.iter().map(|c| &row[c]).collect();
                    match groups.iter_mut().find(|(k, _)| *k == key) {
                        Some((_, rows)) => rows.push(row),
                        None => groups.push((key, vec![row])),
                    }
                }
                let limit = limit.map_or(usize::MAX, |n| n as usize);
                for (_, rows) in groups {
                    out.extend(rows.into_iter().skip(*offset as usize).take(limit).cloned());
                }
            }
            Op::Limit { input, limit, offset } => {
                let rows = self.rows(input, outer)?.into_iter().skip(*offset as usize);
                out.extend(rows.take(limit.map_or(usize::MAX, |n| n as usize)));
            }
            Op::Window { input, keys, functions } => return self.windows(self.rows(input, outer)?, keys, functions),
            Op::SetOp { operation, all, inputs, columns } => {
                let mut bags: Vec<Vec<Vec<Value>>> = Vec::new();
                for (input, from) in inputs {
                    let rows = self.rows(input, outer)?;
                    bags.push(rows.iter().map(|r| from.iter().map(|c| r[c].clone()).collect()).collect());
                }
                let mut bags = bags.into_iter();
                let mut bag = bags.next().unwrap_or_default();
                for mut other in bags {
                    match operation {
                        SetOperation::Union => bag.append(&mut other),
                        SetOperation::Intersect => bag.retain(|r| take_one(&mut other, r, *all)),
                        SetOperation::Except => bag.retain(|r| !take_one(&mut other, r, *all)),
                    }
                }
                let mut seen: Vec<Vec<Value>> = Vec::new();
                for values in bag {
                    if *all || !seen.contains(&values) {
                        let mut made = outer.clone();
                        made.extend(columns.iter().copied().zip(values.clone()));
                        out.push(made);
                    }
                    seen.push(values);
                }
            }
            Op::Recursion { cte, all, inputs, columns } => return self.recursion(*cte, *all, inputs, columns),
        }
        Ok(out)
    }

    fn recursion(
        &self,
        cte: CteId,
        all: bool,
        inputs: &[(Node, Vec<ColumnId>)],
        columns: &[ColumnId],
    ) -> Result<Vec<Row>> {
        let mut out: Vec<Row> = Vec::new();
        for (input, from) in inputs.iter().take(1).chain(std::iter::repeat(&inputs[1])) {
            let mut added: Vec<Row> = Vec::new();
            for row in self.rows(input, &Row::new())? {
                let row: Row = columns.iter().zip(from).map(|(&to, from)| (to, row[from].clone())).collect();
                if all || !out.contains(&row) && !added.contains(&row) {
                    added.push(row);
                }
            }
            if added.is_empty() {
                break;
            }
            out.extend(added.iter().cloned());
            self.working.borrow_mut().insert(cte, added);
        }
        self.working.borrow_mut().remove(&cte);
        Ok(out)
    }

    fn join(&self, kind: &JoinKind, left: &Node, right: &Node, condition: &[Expr], outer: &Row) -> Result<Vec<Row>> {
        let nulls = |row: &Row, node: &Node| {
            let mut made = row.clone();
            made.extend(node.columns().into_iter().map(|c| (c, Value::Null)));
            made
        };
        let mut out = Vec::new();
        let whole = matches!(kind, JoinKind::Right | JoinKind::Full).then(|| self.rows(right, outer)).transpose()?;
        let mut partnered = vec![false; whole.as_ref().map_or(0, Vec::len)];
        for row in self.rows(left, outer)? {
            let (mut partners, mut unknown) = (Vec::new(), false);
            let candidates = match &whole {
                Some(rows) => rows.clone(),
                None => self.rows(right, &row)?,
            };
            for (i, other) in candidates.into_iter().enumerate() {
                let mut both = row.clone();
                both.extend(other);
                both.extend(row.clone());
                match self.all(condition, &both)? {
                    Some(true) => {
                        if let Some(p) = partnered.get_mut(i) {
                            *p = true;
                        }
                        partners.push(both);
                    }
                    None => unknown = true,
                    Some(false) => {}
                }
            }
            match kind {
                JoinKind::Semi if !partners.is_empty() => out.push(row),
                JoinKind::Anti if partners.is_empty() => out.push(row),
                JoinKind::Semi | JoinKind::Anti => {}
                JoinKind::Mark(mark) => {
                    let mut made = row;
                    let value = match (partners.is_empty(), unknown) {
                        (false, _) => Value::Bool(true),
                        (true, true) => Value::Null,
                        (true, false) => Value::Bool(false),
                    };
                    made.insert(*mark, value);
                    out.push(made);
                }
                JoinKind::Single if partners.len() > 1 => return Err(too_many()),
                JoinKind::Left | JoinKind::Single | JoinKind::Full if partners.is_empty() => {
                    out.push(nulls(&row, right))
                }
                _ => out.append(&mut partners),
            }
        }
        for (other, _) in whole.iter().flatten().zip(&partnered).filter(|(_, p)| !**p) {
            out.push(nulls(other, left));
        }
        Ok(out)
    }

    fn all(&self, conjuncts: &[Expr], row: &Row) -> Result<Option<bool>> {
        let value = self.value(&plan::conjunction(conjuncts.to_vec()), row)?;
        Ok(if let Value::Bool(b) = value { Some(b) } else { None })
    }

    fn value(&self, expr: &Expr, row: &Row) -> Result<Value> {
        let mut expr = expr.clone();
        self.replace_subqueries(&mut expr, row)?;
        eval::eval(&expr, &|c| row.get(&c).unwrap_or_else(|| panic!("no value for {c}")).clone())
    }

    fn replace_subqueries(&self, expr: &mut Expr, row: &Row) -> Result<()> {
        for child in expr.children_mut() {
            self.replace_subqueries(child, row)?;
        }
        let ExprKind::Subquery(subquery) = &expr.kind else { return Ok(()) };
        let rows = self.rows(&subquery.plan, row)?;
        let value = match &subquery.kind {
            SubqueryKind::Exists => Value::Bool(!rows.is_empty()),
            SubqueryKind::Scalar { .. } if rows.len() > 1 => return Err(too_many()),
            SubqueryKind::Scalar { column } => rows.first().map_or(Value::Null, |r| r[column].clone()),
            SubqueryKind::Quantified { quantifier, comparisons } => {
                let any = *quantifier == Quantifier::Any;
                let (mut decided, mut unknown) = (false, false);
                for inner in rows {
                    let [(left, op, column)] = comparisons.as_slice() else { panic!("one comparison") };
                    match eval::compare(*op, &self.value(left, row)?, &inner[column]) {
                        Value::Bool(b) => decided |= b == any,
                        _ => unknown = true,
                    }
                }
                match (decided, unknown) {
                    (true, _) => Value::Bool(any),
                    (false, true) => Value::Null,
                    (false, false) => Value::Bool(!any),
                }
            }
        };
        expr.kind = ExprKind::Const(value);
        Ok(())
    }

    fn aggregate(&self, call: &AggregateCall, rows: &[Row]) -> Result<Value> {
        let mut seen: Vec<Vec<Value>> = Vec::new();
        for row in rows {
            if let Some(filter) = &call.filter
                && self.value(filter, row)? != Value::Bool(true)
            {
                continue;
            }
            let values = call.arguments.iter().map(|e| self.value(e, row)).collect::<Result<Vec<_>>>()?;
            let repeated = call.distinct && seen.contains(&values);
            if !values.iter().any(Value::is_null) && !repeated {
                seen.push(values);
            }
        }
        let column = |at: usize| -> Vec<Value> {
            seen.iter().map(|values| values.get(at).cloned().unwrap_or(Value::Bool(true))).collect()
        };
        let others: Vec<Vec<Value>> = (1..call.arguments.len()).map(column).collect();
        let values = column(0);
        let (argument, result) = (call.argument_type(), call.sql_type);
        call.function.evaluate(Input { values: &values, others: &others, argument, result })
    }
}

fn take_one(bag: &mut Vec<Vec<Value>>, row: &[Value], remove: bool) -> bool {
    let found = bag.iter().position(|r| r == row);
    if let (Some(at), true) = (found, remove) {
        bag.remove(at);
    }
    found.is_some()
}

fn too_many() -> Error {
    Error::new(SqlState::CARDINALITY_VIOLATION, "more than one row returned by a subquery used as an expression")
}
