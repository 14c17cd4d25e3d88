//! GROUPING SETS, ROLLUP and CUBE ([decision 37](../../../../../docs/decisions/0037-grouping-sets.md)).
//!
//! Where one set has all keys and every aggregate can be put together from those of finer groups, the input is grouped once,
//! and all other sets group its groups. Else each row of the input is there once for each set, with NULL for the keys that the
//! set lacks, and with the number of the set as one more key.

use base::{Error, Result, SqlState};
use functions::{AggregateFunction, ScalarFunction};
use plan::{AggregateCall, ColumnId, ColumnInfo, Cte, Expr, ExprKind, JoinKind, Node, Op, SetOperation};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart};
use types::{SqlType, Value};

use crate::bind::coerce::cast_to;
use crate::bind::fold;
use crate::bind::parts::PlanBuilder;
use crate::bind::window::Windowed;
use crate::parse::sets::are_sets;

/// Most sets of a query, as in PostgreSQL.
const MAX_SETS: usize = 4096;
/// Most elements of a CUBE, as in PostgreSQL.
const MAX_CUBE: usize = 12;
/// Most sets that are rolled up: each is a pipeline of its own.
const MAX_ROLLED_UP: usize = 64;

/// Most sets that read an input of their own: where there are more, a row is read once.
const MAX_APART: usize = 16;

/// Aggregates and their columns.
type Aggregates = Vec<(ColumnId, AggregateCall)>;
/// Columns that are computed.
type Computed = Vec<(ColumnId, Expr)>;

/// Sets of keys, by their positions.
pub(super) type Sets = Vec<Vec<usize>>;

/// ROLLUP or CUBE as the parser reads it inside of GROUPING SETS: whether it is CUBE, and its arguments.
pub(super) fn nested(expr: &ast::Expr) -> Option<(bool, Vec<&ast::Expr>)> {
    let ast::Expr::Function(function) = expr else { return None };
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return None };
    let is_cube = match fold(name).as_str() {
        "cube" => true,
        "rollup" => false,
        _ => return None,
    };
    let FunctionArguments::List(list) = &function.args else { return None };
    let plain = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expr)) => Some(expr),
        _ => None,
    };
    Some((is_cube, list.args.iter().map(plain).collect::<Option<_>>()?)).filter(|_| name.quote_style.is_none())
}

/// The elements of GROUPING SETS inside of GROUPING SETS.
pub(super) fn nested_sets(expr: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    let ast::Expr::Function(function) = expr else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let plain = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expr)) => Some(expr),
        _ => None,
    };
    list.args.iter().map(plain).collect::<Option<_>>().filter(|_| are_sets(function))
}

/// All prefixes, the longest first.
pub(super) fn rollup(parts: &[Vec<usize>]) -> Sets {
    (0..=parts.len()).rev().map(|n| parts[..n].concat()).collect()
}

/// All subsets, the largest first.
pub(super) fn cube(parts: &[Vec<usize>]) -> Result<Sets> {
    if parts.len() > MAX_CUBE {
        return Err(Error::new(SqlState("54011"), format!("CUBE is limited to {MAX_CUBE} elements")));
    }
    let subset = |bits: usize| (0..parts.len()).filter(|i| bits >> i & 1 == 0).flat_map(|i| parts[i].clone()).collect();
    Ok((0..1 << parts.len()).map(subset).collect())
}

/// The sets of two elements of GROUP BY together: each of the one with each of the other.
pub(super) fn product(left: &[Vec<usize>], right: &[Vec<usize>]) -> Result<Sets> {
    if left.len() * right.len() > MAX_SETS {
        let message = format!("too many grouping sets present (maximum {MAX_SETS})");
        return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
    }
    let both = |(l, r): (&Vec<usize>, &Vec<usize>)| {
        let mut set: Vec<usize> = l.iter().chain(r).copied().collect();
        set.sort_unstable();
        set.dedup();
        set
    };
    Ok(left.iter().flat_map(|l| right.iter().map(move |r| (l, r))).map(both).collect())
}

/// Whether the aggregates of coarser groups follow from those of finer ones, exactly.
fn adds_up(call: &AggregateCall) -> bool {
    !call.distinct && (call.function.of_finer(call.sql_type).is_some() || quotient(call).is_some())
}

/// The two aggregates of the same argument whose quotient this one is, and the argument's type.
fn quotient(call: &AggregateCall) -> Option<([AggregateFunction; 2], SqlType)> {
    let argument = call.arguments.first()?.sql_type;
    Some((call.function.quotient_of(argument)?, argument))
}

impl PlanBuilder {
    /// The aggregation by several sets of `keys`, and the column with the number of a row's set.
    pub(super) fn by_sets(
        &mut self,
        input: Node,
        keys: Vec<(ColumnId, Expr)>,
        aggregates: Aggregates,
        ordered_sets: Vec<Windowed>,
        sets: &[Vec<usize>],
    ) -> Result<(Node, ColumnId)> {
        for (position, (column, _)) in keys.iter().enumerate() {
            self.columns[*column].nullable |= !sets.iter().all(|set| set.contains(&position));
        }
        let is_plain = ordered_sets.is_empty() && !is_correlated(&input, &keys, &aggregates);
        let has_finest = sets.len() <= MAX_ROLLED_UP && sets.iter().any(|set| set.len() == keys.len());
        let rolls_up = is_plain && has_finest && aggregates.iter().all(|(_, call)| adds_up(call));
        if !rolls_up && is_plain && sets.len() <= MAX_APART && self.is_cheap(&input, &keys, &aggregates) {
            return Ok(self.apart(&input, &keys, &aggregates, sets));
        }
        if !rolls_up {
            return Ok(self.repeated(input, keys, aggregates, ordered_sets, sets));
        }
        let (parts, quotients) = self.divided(aggregates)?;
        let (mut node, number) = self.rolled_up(input, keys, parts, sets)?;
        if !quotients.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: quotients });
        }
        Ok((node, number))
    }

    /// The aggregates, those that are quotients of others as these, and how these make them.
    fn divided(&mut self, aggregates: Aggregates) -> Result<(Aggregates, Computed)> {
        let (mut parts, mut quotients) = (Vec::with_capacity(aggregates.len()), Vec::new());
        for (column, call) in aggregates {
            let Some(([above, below], argument)) = quotient(&call) else {
                parts.push((column, call));
                continue;
            };
            let mut part = |function: AggregateFunction, scale| {
                let Some((_, sql_type)) = function.resolve(argument) else {
                    return Err(Error::internal("a quotient of what is not there").at(call.position));
                };
                let info = ColumnInfo { name: "part".to_owned(), sql_type, nullable: true };
                let part = self.columns.push(info);
                parts.push((part, AggregateCall { function, sql_type, ..call.clone() }));
                cast_to(Expr::column(part, sql_type), SqlType::decimal(38, scale))
            };
            let operands = vec![part(above, argument.scale())?, part(below, 0)?];
            let quotient = ExprKind::Call(ScalarFunction::DIVIDE, operands);
            quotients.push((column, Expr::new(quotient, call.sql_type).at(call.position)));
        }
        Ok((parts, quotients))
    }

    fn like(&mut self, column: ColumnId) -> ColumnId {
        let info = self.columns[column].clone();
        self.columns.push(info)
    }

    fn number_of_set(&mut self) -> ColumnId {
        let name = "grouping set".to_owned();
        self.columns.push(ColumnInfo { name, sql_type: SqlType::Integer, nullable: false })
    }

    /// All keys are grouped by once; every set reads these groups.
    fn rolled_up(
        &mut self,
        input: Node,
        keys: Vec<(ColumnId, Expr)>,
        aggregates: Aggregates,
        sets: &[Vec<usize>],
    ) -> Result<(Node, ColumnId)> {
        let number = self.number_of_set();
        let columns: Vec<ColumnId> = keys.iter().map(|(c, _)| *c).chain(aggregates.iter().map(|(c, _)| *c)).collect();
        let calls: Vec<AggregateCall> = aggregates.iter().map(|(_, call)| call.clone()).collect();
        let width = keys.len();
        let groups: Vec<_> = keys.into_iter().map(|(c, e)| (self.like(c), e)).collect();
        let aggregates: Vec<_> = aggregates.into_iter().map(|(c, call)| (self.like(c), call)).collect();
        let finest: Vec<ColumnId> = groups.iter().map(|(c, _)| *c).chain(aggregates.iter().map(|(c, _)| *c)).collect();
        let plan = Node::new(Op::Aggregate { input: Box::new(input), groups, aggregates });
        let cte = self.ctes.push(Cte { name: "finest groups".to_owned(), plan, columns: finest.clone() });
        let mut inputs = Vec::with_capacity(sets.len());
        for (i, set) in sets.iter().enumerate() {
            let read: Vec<(ColumnId, ColumnId)> = finest.iter().map(|&c| (c, self.like(c))).collect();
            let own: Vec<ColumnId> = read.iter().map(|&(_, c)| c).collect();
            let scan = Node::new(Op::CteScan { cte, columns: read });
            let (node, mut own) = match set.len() == width {
                true => (scan, own),
                false => self.coarser(scan, own.split_at(width), &calls, set)?,
            };
            let own_number = self.number_of_set();
            let constant = Expr::constant(Value::Int(i as i64), SqlType::Integer);
            own.push(own_number);
            inputs.push((Node::new(Op::Map { input: Box::new(node), columns: vec![(own_number, constant)] }), own));
        }
        let columns = columns.into_iter().chain([number]).collect();
        Ok((Node::new(Op::SetOp { operation: SetOperation::Union, all: true, inputs, columns }), number))
    }

    /// The groups by some keys, from groups by all; the columns of all keys and aggregates in it.
    fn coarser(
        &mut self,
        finest: Node,
        (keys, values): (&[ColumnId], &[ColumnId]),
        calls: &[AggregateCall],
        set: &[usize],
    ) -> Result<(Node, Vec<ColumnId>)> {
        let mut columns: Vec<ColumnId> = keys.iter().map(|&c| self.like(c)).collect();
        let groups: Vec<_> = set.iter().map(|&i| (columns[i], self.reference(keys[i]))).collect();
        let (mut aggregates, mut above) = (Vec::new(), Vec::new());
        for (i, &key) in columns.iter().enumerate().filter(|(i, _)| !set.contains(i)) {
            self.columns[key].nullable = true;
            above.push((key, Expr::constant(Value::Null, self.columns[keys[i]].sql_type)));
        }
        for (&value, call) in values.iter().zip(calls) {
            let counts = call.function.counts();
            let argument = self.reference(value);
            let function = call.function.of_finer(call.sql_type);
            let resolved = function.and_then(|f| Some((f, f.resolve(argument.sql_type)?)));
            let Some((function, (cast, sql_type))) = resolved else {
                return Err(Error::internal("an aggregate that cannot read its own result").at(call.position));
            };
            let arguments = vec![cast_to(argument, cast)?];
            let combined =
                AggregateCall { function, arguments, distinct: false, filter: None, sql_type, position: call.position };
            let column = self.columns.push(ColumnInfo { name: "combined".to_owned(), sql_type, nullable: true });
            aggregates.push((column, combined));
            let mut result = cast_to(Expr::column(column, sql_type), call.sql_type)?;
            if counts {
                let zero = Expr::constant(Value::Int(0), call.sql_type);
                result = Expr::new(ExprKind::Coalesce(vec![result, zero]), call.sql_type);
            }
            let result_column = self.like(value);
            self.columns[result_column].nullable = !counts;
            above.push((result_column, result));
            columns.push(result_column);
        }
        let node = Node::new(Op::Aggregate { input: Box::new(finest), groups, aggregates });
        Ok((Node::new(Op::Map { input: Box::new(node), columns: above }), columns))
    }

    /// Whether an input may as well be read for each set: rows of tables in memory, as they are or with something computed of them.
    fn is_cheap(&self, input: &Node, keys: &[(ColumnId, Expr)], aggregates: &[(ColumnId, AggregateCall)]) -> bool {
        let mut is_cheap = true;
        input.walk(&mut |node| {
            is_cheap &= match &node.op {
                Op::Scan { table, .. } => self.stored.contains(table),
                Op::Filter { .. } | Op::Map { .. } => true,
                _ => false,
            };
            is_cheap &= !node.expressions().any(|e| e.is_volatile() || e.has_subquery());
        });
        let exprs = keys.iter().map(|(_, e)| e).chain(aggregates.iter().flat_map(|(_, call)| call.expressions()));
        is_cheap && !exprs.into_iter().any(|e| e.is_volatile() || e.has_subquery())
    }

    /// Each set groups rows that it reads itself.
    fn apart(
        &mut self,
        input: &Node,
        keys: &[(ColumnId, Expr)],
        aggregates: &[(ColumnId, AggregateCall)],
        sets: &[Vec<usize>],
    ) -> (Node, ColumnId) {
        let number = self.number_of_set();
        let mut columns: Vec<ColumnId> =
            keys.iter().map(|(c, _)| *c).chain(aggregates.iter().map(|(c, _)| *c)).collect();
        let mut inputs = Vec::with_capacity(sets.len());
        for (i, set) in sets.iter().enumerate() {
            let (input, names) = input.copied(&mut self.columns, &mut self.tables);
            let mut own: Vec<ColumnId> = columns.iter().map(|&c| self.like(c)).collect();
            let renamed = |expr: &Expr| {
                let mut expr = expr.clone();
                expr.rename(&names);
                expr
            };
            let groups = set.iter().map(|&key| (own[key], renamed(&keys[key].1))).collect();
            let call = |(call, &column): (&(ColumnId, AggregateCall), &ColumnId)| {
                let mut call = call.1.clone();
                call.expressions_mut().for_each(|expr| expr.rename(&names));
                (column, call)
            };
            let calls = aggregates.iter().zip(&own[keys.len()..]).map(call).collect();
            let node = Node::new(Op::Aggregate { input: Box::new(input), groups, aggregates: calls });
            let own_number = self.number_of_set();
            let mut above = vec![(own_number, Expr::constant(Value::Int(i as i64), SqlType::Integer))];
            for (key, (_, expr)) in keys.iter().enumerate().filter(|(key, _)| !set.contains(key)) {
                self.columns[own[key]].nullable = true;
                above.push((own[key], Expr::constant(Value::Null, expr.sql_type)));
            }
            own.push(own_number);
            inputs.push((Node::new(Op::Map { input: Box::new(node), columns: above }), own));
        }
        columns.push(number);
        (Node::new(Op::SetOp { operation: SetOperation::Union, all: true, inputs, columns }), number)
    }

    /// Every row of the input once for each set.
    fn repeated(
        &mut self,
        input: Node,
        mut keys: Vec<(ColumnId, Expr)>,
        mut aggregates: Vec<(ColumnId, AggregateCall)>,
        ordered_sets: Vec<Windowed>,
        sets: &[Vec<usize>],
    ) -> (Node, ColumnId) {
        let number = self.number_of_set();
        let integer = |i: usize| Expr::constant(Value::Int(i as i64), SqlType::Integer);
        let rows = (0..sets.len()).map(|i| vec![integer(i)]).collect();
        let numbers = Node::new(Op::Values { columns: vec![number], rows });
        let is_one_of = |numbers: Vec<Value>| {
            let number = Expr::column(number, SqlType::Integer);
            Expr::new(ExprKind::InList(Box::new(number), numbers), SqlType::Bool)
        };
        let numbers_where = |test: &dyn Fn(&Vec<usize>) -> bool| -> Vec<Value> {
            sets.iter().enumerate().filter(|(_, set)| test(set)).map(|(i, _)| Value::Int(i as i64)).collect()
        };
        let empty = numbers_where(&|set| set.is_empty());
        let mut node = match empty.is_empty() {
            true => joined(JoinKind::Inner, numbers, input),
            false => self.padded(numbers, input, is_one_of(empty), &mut aggregates),
        };
        let mut computed = Vec::new();
        for (position, (_, key)) in keys.iter_mut().enumerate() {
            let having = numbers_where(&|set| set.contains(&position));
            if having.len() == sets.len() {
                continue;
            }
            let otherwise = Box::new(Expr::constant(Value::Null, key.sql_type));
            let case = ExprKind::Case { branches: vec![(is_one_of(having), key.clone())], otherwise };
            let case = Expr::new(case, key.sql_type);
            let column = self.column_for("group", &case);
            *key = self.reference(column).at(key.position);
            computed.push((column, case));
        }
        if !computed.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        }
        let result = self.number_of_set();
        keys.push((result, self.reference(number)));
        (self.aggregated(node, keys, aggregates, ordered_sets), result)
    }

    /// Sets without keys have a row even for no input: each set joins a row of NULLs then, which no aggregate looks at.
    fn padded(
        &mut self,
        numbers: Node,
        input: Node,
        is_empty_set: Expr,
        aggregates: &mut [(ColumnId, AggregateCall)],
    ) -> Node {
        let yes = Expr::bool(true);
        let present = self.column_for("present", &yes);
        let input = Node::new(Op::Map { input: Box::new(input), columns: vec![(present, yes)] });
        self.padded.extend(input.columns());
        let is_null = Expr::new(ExprKind::IsNull(Box::new(self.reference(present))), SqlType::Bool);
        let is_there = Expr::new(ExprKind::Not(Box::new(is_null)), SqlType::Bool);
        for (_, call) in aggregates {
            let filter = match call.filter.take() {
                Some(filter) => Expr::new(ExprKind::And(vec![is_there.clone(), filter]), SqlType::Bool),
                None => is_there.clone(),
            };
            call.filter = Some(filter);
        }
        let counts = Expr::new(ExprKind::Or(vec![is_there, is_empty_set]), SqlType::Bool);
        let node = joined(JoinKind::Left, numbers, input);
        Node::new(Op::Filter { input: Box::new(node), predicates: vec![counts] })
    }
}

fn joined(kind: JoinKind, left: Node, right: Node) -> Node {
    let (left, right) = (Box::new(left), Box::new(right));
    Node::new(Op::Join { kind, left, right, condition: Vec::new(), build: Default::default() })
}

/// Whether something reads columns of a query around.
fn is_correlated(input: &Node, keys: &[(ColumnId, Expr)], aggregates: &[(ColumnId, AggregateCall)]) -> bool {
    let own = input.columns();
    let exprs = keys.iter().map(|(_, e)| e).chain(aggregates.iter().flat_map(|(_, call)| call.expressions()));
    exprs.into_iter().any(|e| e.uses(|c| !own.contains(&c))) || !input.free_columns().is_empty()
}
