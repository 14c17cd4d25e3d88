//! Random plans of all operators, expressions, types and values: they parse back to what they were. They need not make
//! sense, so what is printed does not depend on what the binder can produce today.

use base::{IdMap, Random};
use functions::ScalarFunction;
use functions::WindowFunction;
use functions::aggregate::AGGREGATES;
use functions::window::WINDOWS;
use types::ops::like::Syntax;
use types::{Interval, SqlType, Value};

use crate::text::{parse, print, stub_table};
use crate::{
    AggregateCall, ArgumentId, BuildSide, ColumnId, ColumnInfo, Compare, Cte, CteId, Expr, ExprKind, Frame, FrameBound,
    FrameExclusion, FrameUnit, JoinKind, Node, Op, Plan, Quantifier, SetOperation, SortKey, Subquery, SubqueryKind,
    WindowCall,
};

const TYPES: [SqlType; 19] = [
    SqlType::Bool,
    SqlType::SmallInt,
    SqlType::Integer,
    SqlType::BigInt,
    SqlType::decimal(15, 2),
    SqlType::decimal(38, 10),
    SqlType::Real,
    SqlType::Double,
    SqlType::Text,
    SqlType::Varchar(7),
    SqlType::Char(3),
    SqlType::Date,
    SqlType::Timestamp,
    SqlType::Timestamptz,
    SqlType::Time,
    SqlType::Uuid,
    SqlType::Interval,
    SqlType::Array(&SqlType::Integer),
    SqlType::Array(&SqlType::Text),
];

const NAMES: [&str; 14] = [
    "a",
    "not",
    "case",
    "distinct",
    "A b",
    "",
    "it's",
    "say \"so\"",
    "two\nlines",
    "tab\there",
    "E",
    "ünı",
    "subquery",
    "back\\slash",
];

const COMPARES: [Compare; 8] = [
    Compare::Eq,
    Compare::Ne,
    Compare::Lt,
    Compare::Le,
    Compare::Gt,
    Compare::Ge,
    Compare::Distinct,
    Compare::NotDistinct,
];

struct Generator {
    random: Random,
    plan: Plan,
}

impl Generator {
    fn column(&mut self, sql_type: SqlType) -> ColumnId {
        let name = self.random.pick(&NAMES).to_owned();
        let nullable = self.random.one_in(2);
        self.plan.columns.push(ColumnInfo { name, sql_type, nullable })
    }

    fn columns(&mut self) -> Vec<ColumnId> {
        (0..self.random.index(4))
            .map(|_| self.random.pick(&TYPES))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|t| self.column(t))
            .collect()
    }

    fn some(&mut self, visible: &[ColumnId]) -> Vec<ColumnId> {
        if visible.is_empty() {
            return Vec::new();
        }
        (0..self.random.index(3)).map(|_| self.random.pick(visible)).collect()
    }

    fn position(&mut self) -> Option<u32> {
        self.random.one_in(3).then(|| self.random.index(1000) as u32)
    }

    fn value(&mut self, sql_type: SqlType) -> Value {
        let wide = (i128::from(self.random.bits() as i64) << 60) >> self.random.index(120);
        let n = wide as i64;
        match sql_type {
            SqlType::Null => Value::Null,
            SqlType::Bool => Value::Bool(n & 1 == 0),
            SqlType::SmallInt => Value::Int((n as i16).into()),
            SqlType::Integer => Value::Int((n as i32).into()),
            SqlType::BigInt => Value::Int(self.random.pick(&[n, i64::MIN, i64::MAX])),
            SqlType::Decimal { precision, .. } => Value::Decimal(wide % 10i128.pow(precision.into())),
            SqlType::Real => {
                let f = f64::from(n as f32 * 1e-7);
                Value::Float(self.random.pick(&[f, -0.0, f64::INFINITY]))
            }
            SqlType::Double => {
                let f = n as f64 * 1e-250;
                Value::Float(self.random.pick(&[f, n as f64, -0.0, 1e300, -5e-324, f64::NAN, f64::NEG_INFINITY]))
            }
            SqlType::Numeric { .. } => {
                Value::str(types::ops::numeric::encode(&types::ops::numeric::of_decimal(self.random.bits().into(), 4)))
            }
            SqlType::Bytea => Value::str(types::ops::bytes::form(&self.random.bits().to_le_bytes())),
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Json | SqlType::Jsonb => {
                Value::str(self.random.pick(&NAMES))
            }
            SqlType::Map(of) => types::ops::map::encode(&[], of).unwrap(),
            SqlType::Range(&element) => {
                let lower = self.value(element);
                types::ops::range::make(&lower, &Value::Null, "[)", element).unwrap()
            }
            SqlType::Timetz => {
                Value::Timetz(types::ops::date::timetz::pack(n.rem_euclid(86_400_000_000), (n % 57_600) as i32))
            }
            SqlType::Struct(of) => {
                let values: Vec<Value> = of.fields.iter().map(|field| self.value(field.sql_type)).collect();
                types::ops::structure::encode(&values, of).unwrap()
            }
            SqlType::Array(&element) => {
                let values: Vec<Value> = (0..self.random.index(3)).map(|_| self.value(element)).collect();
                types::ops::array::encode(&values, element).unwrap()
            }
            SqlType::Date => Value::Date((n % 1_000_000) as i32),
            SqlType::Enum(of) => {
                let codes: Vec<i32> = of.labels().iter().map(|(code, _)| code).collect();
                Value::Enum(self.random.pick(&codes))
            }
            SqlType::Uuid => Value::Uuid(wide as u128),
            SqlType::Time => Value::Time(n.rem_euclid(86_400_000_001)),
            SqlType::Timestamp | SqlType::Timestamptz => Value::Timestamp(n % 100_000_000_000_000_000),
            SqlType::Interval => {
                let [months, days] = [self.random.bits() as i32 % 1000, self.random.bits() as i32 % 1000];
                Value::Interval(Interval { months, days, micros: n % 1_000_000_000_000 })
            }
        }
    }

    fn exprs(&mut self, visible: &[ColumnId], depth: usize, most: usize) -> Vec<Expr> {
        (0..self.random.index(most + 1)).map(|_| self.expr(visible, depth)).collect()
    }

    fn boxed(&mut self, visible: &[ColumnId], depth: usize) -> Box<Expr> {
        Box::new(self.expr(visible, depth))
    }

    fn constant(&mut self) -> Expr {
        let sql_type = self.random.pick(&TYPES);
        let null = self.random.one_in(6);
        let value = if null { Value::Null } else { self.value(sql_type) };
        if self.random.one_in(6) {
            let id = ArgumentId(self.random.index(5) as u32);
            return Expr::new(ExprKind::Argument(id, value), sql_type);
        }
        Expr::constant(value, sql_type)
    }

    fn expr(&mut self, visible: &[ColumnId], depth: usize) -> Expr {
        let leaf = depth == 0;
        let below = depth.saturating_sub(1);
        let bool = |kind| Expr::new(kind, SqlType::Bool);
        let mut expr = match self.random.index(if leaf { 2 } else { 16 }) {
            0 if !visible.is_empty() => {
                let column = self.random.pick(visible);
                Expr::column(column, self.plan.columns[column].sql_type)
            }
            0 | 1 => self.constant(),
            2..=4 => {
                let all: Vec<_> = ScalarFunction::all().collect();
                let function = self.random.pick(&all);
                let most = if function.definition().infix.is_some() { 2 } else { 3 };
                let kind = ExprKind::Call(function, self.exprs(visible, below, most));
                Expr::new(kind, self.random.pick(&TYPES))
            }
            5 => Expr::compare(self.random.pick(&COMPARES), self.expr(visible, below), self.expr(visible, below)),
            6 => bool(ExprKind::And(self.exprs(visible, below, 3))),
            7 => bool(ExprKind::Or(self.exprs(visible, below, 3))),
            8 => bool(ExprKind::Not(self.boxed(visible, below))),
            9 => bool(ExprKind::IsNull(self.boxed(visible, below))),
            10 => {
                let branches = (0..1 + self.random.index(2))
                    .map(|_| (self.expr(visible, below), self.expr(visible, below)))
                    .collect();
                let otherwise = self.boxed(visible, below);
                Expr::new(ExprKind::Case { branches, otherwise }, self.random.pick(&TYPES))
            }
            11 => {
                let kind = ExprKind::Coalesce(self.exprs(visible, below, 3));
                Expr::new(kind, self.random.pick(&TYPES))
            }
            12 => {
                let input = self.boxed(visible, below);
                let lenient = self.random.one_in(2);
                let kind = if lenient { ExprKind::TryCast(input) } else { ExprKind::Cast(input) };
                Expr::new(kind, self.random.pick(&TYPES))
            }
            13 => {
                let input = self.boxed(visible, below);
                let values = (0..self.random.index(4)).map(|_| self.value(input.sql_type)).collect();
                bool(ExprKind::InList(input, values))
            }
            14 => {
                let (input, pattern) = (self.boxed(visible, below), self.boxed(visible, below));
                let escape = self.random.pick(&[None, Some('\\'), Some('\''), Some('!'), Some('\n')]);
                let word = self.random.pick(&["like", "ilike", "matches", "imatches"]);
                let syntax = Syntax::of_word(word, escape).unwrap();
                bool(ExprKind::Like { input, pattern, syntax })
            }
            _ => self.subquery(visible, below),
        };
        expr.position = self.position();
        expr
    }

    fn subquery(&mut self, visible: &[ColumnId], depth: usize) -> Expr {
        let (plan, inner) = self.node(visible, depth.min(1));
        let (kind, sql_type) = match (self.random.index(3), inner.as_slice()) {
            (0, &[column, ..]) => (SubqueryKind::Scalar { column }, self.plan.columns[column].sql_type),
            (1, inner) => {
                let quantifier = self.random.pick(&[Quantifier::Any, Quantifier::All]);
                // Signs alone compare rows.
                let compare = |g: &mut Self, c| (g.expr(visible, depth), g.random.pick(&COMPARES[..6]), c);
                let comparisons = inner.iter().map(|&c| compare(self, c)).collect();
                (SubqueryKind::Quantified { quantifier, comparisons }, SqlType::Bool)
            }
            _ => (SubqueryKind::Exists, SqlType::Bool),
        };
        Expr::new(ExprKind::Subquery(Box::new(Subquery { kind, plan })), sql_type)
    }

    fn keys(&mut self, visible: &[ColumnId]) -> Vec<SortKey> {
        let exprs = self.exprs(visible, 2, 2);
        let key = |expr| SortKey { expr, descending: self.random.one_in(2), nulls_first: self.random.one_in(2) };
        exprs.into_iter().map(key).collect()
    }

    fn computed(&mut self, visible: &[ColumnId]) -> Vec<(ColumnId, Expr)> {
        let exprs = self.exprs(visible, 3, 3);
        exprs.into_iter().map(|e| (self.column(e.sql_type), e)).collect()
    }

    fn aggregate(&mut self, visible: &[ColumnId]) -> (ColumnId, AggregateCall) {
        let function = AGGREGATES[self.random.index(AGGREGATES.len())].function;
        let sql_type = self.random.pick(&TYPES);
        let arguments = self.exprs(visible, 2, 2);
        let filter = self.random.one_in(3).then(|| self.expr(visible, 2));
        let distinct = !arguments.is_empty() && self.random.one_in(3);
        let position = self.position();
        (self.column(sql_type), AggregateCall { function, arguments, distinct, filter, sql_type, position })
    }

    fn window_call(&mut self, visible: &[ColumnId], keys: usize) -> (ColumnId, WindowCall) {
        let (windows, aggregates) = (WINDOWS.iter().map(|w| w.function), AGGREGATES.iter().map(|a| a.function));
        // What collects the values of a frame are window functions, and those of groups have their names.
        let aggregates = aggregates.filter(|a| !a.collects()).map(WindowFunction::Aggregate);
        let functions: Vec<_> = windows.chain(aggregates).collect();
        let sql_type = self.random.pick(&TYPES);
        let peers = self.random.index(keys + 1);
        let call = WindowCall {
            function: self.random.pick(&functions),
            arguments: self.exprs(visible, 2, 3),
            distinct: self.random.one_in(3),
            filter: self.random.one_in(3).then(|| self.expr(visible, 2)),
            ignore_nulls: self.random.one_in(3),
            order: self.keys(visible),
            partition: self.random.index(peers + 1),
            peers,
            frame: Frame {
                unit: self.random.pick(&[FrameUnit::Rows, FrameUnit::Range, FrameUnit::Groups]),
                start: self.bound(visible),
                end: self.bound(visible),
                exclude: self.random.pick(&[
                    FrameExclusion::NoOthers,
                    FrameExclusion::CurrentRow,
                    FrameExclusion::Group,
                    FrameExclusion::Ties,
                ]),
            },
            sql_type,
            position: self.position(),
        };
        (self.column(sql_type), call)
    }

    fn bound(&mut self, visible: &[ColumnId]) -> FrameBound<Expr> {
        match self.random.index(5) {
            0 => FrameBound::UnboundedPreceding,
            1 => FrameBound::Preceding(self.expr(visible, 2)),
            2 => FrameBound::CurrentRow,
            3 => FrameBound::Following(self.expr(visible, 2)),
            _ => FrameBound::UnboundedFollowing,
        }
    }

    /// An operator and the columns that leave it; `outer` are visible around it.
    fn node(&mut self, outer: &[ColumnId], depth: usize) -> (Node, Vec<ColumnId>) {
        let limit = [None, Some(self.random.index(9) as u64)][self.random.index(2)];
        let offset = self.random.pick(&[0, 3]);
        let kind = if depth == 0 { self.random.index(3) } else { self.random.index(13) };
        let op = match kind {
            0 => {
                let made = self.columns();
                let columns: Vec<_> = made.into_iter().enumerate().map(|(i, c)| (2 * i + 1, c)).collect();
                let fields = columns.iter().map(|&(i, c)| {
                    let info = &self.plan.columns[c];
                    let (name, sql_type, nullable) = (info.name.clone(), info.sql_type, info.nullable);
                    (i, catalog::Field { name, sql_type, nullable })
                });
                let fields: Vec<_> = fields.collect();
                let table = self.plan.tables.push(stub_table(self.random.pick(&NAMES), &fields).unwrap());
                let own: Vec<_> = columns.iter().map(|&(_, c)| c).collect();
                Op::Scan { table, columns, predicates: self.exprs(&own, 3, 2) }
            }
            1 if !self.plan.ctes.is_empty() => {
                let cte = CteId(self.random.index(self.plan.ctes.len()) as u32);
                let from = self.plan.ctes[cte].columns.clone();
                let columns = from.into_iter().map(|c| (c, self.column(self.plan.columns[c].sql_type))).collect();
                Op::CteScan { cte, columns }
            }
            1 | 2 => {
                let columns = self.columns();
                let row = |g: &mut Self| (0..columns.len()).map(|_| g.expr(outer, 1)).collect();
                let rows = (0..self.random.index(3)).map(|_| row(self)).collect();
                Op::Values { columns, rows }
            }
            3 => {
                let (left, mut all) = self.node(outer, depth - 1);
                let (right, more) = self.node(outer, depth - 1);
                all.extend(more);
                let condition = self.exprs(&all, 3, 2);
                let mark = JoinKind::Mark(self.column(SqlType::Bool));
                use JoinKind::{Anti, Full, Inner, Left, Right, Semi, Single};
                let kind = self.random.pick(&[Inner, Left, Right, Full, Semi, Anti, Single, mark]);
                let build = self.random.pick(&[BuildSide::Left, BuildSide::Right]);
                Op::Join { kind, left: Box::new(left), right: Box::new(right), condition, build }
            }
            4 => {
                let inputs: Vec<_> = (0..1 + self.random.index(3)).map(|_| self.node(outer, depth - 1)).collect();
                let inputs = inputs.into_iter().map(|(n, c)| (n, self.some(&c))).collect();
                let operation = self.random.pick(&[SetOperation::Union, SetOperation::Intersect, SetOperation::Except]);
                Op::SetOp { operation, all: self.random.one_in(2), inputs, columns: self.columns() }
            }
            _ => {
                let (input, visible) = self.node(outer, depth - 1);
                let input = Box::new(input);
                match kind {
                    5 => Op::Filter { input, predicates: self.exprs(&visible, 4, 2) },
                    6 => Op::Map { input, columns: self.computed(&visible) },
                    7 => {
                        let groups = self.computed(&visible);
                        let calls = (0..self.random.index(3)).map(|_| self.aggregate(&visible)).collect();
                        Op::Aggregate { input, groups, aggregates: calls }
                    }
                    8 => Op::Distinct { input, columns: self.some(&visible) },
                    9 => Op::Sort { input, keys: self.keys(&visible), limit, offset },
                    10 => {
                        let (partition, keys) = (self.some(&visible), self.keys(&visible));
                        Op::GroupLimit { input, partition, keys, limit, offset }
                    }
                    11 => {
                        let keys = self.keys(&visible);
                        let calls = 1 + self.random.index(2);
                        let functions = (0..calls).map(|_| self.window_call(&visible, keys.len())).collect();
                        Op::Window { input, keys, functions }
                    }
                    _ => Op::Limit { input, limit, offset },
                }
            }
        };
        let node = Node::new(op);
        let columns = node.columns();
        (node, columns)
    }
}

fn random_plan(seed: u64) -> Plan {
    let empty = Node::new(Op::Values { columns: Vec::new(), rows: Vec::new() });
    let (columns, tables, ctes) = (IdMap::new(), IdMap::new(), IdMap::new());
    let mut generator =
        Generator { random: Random(seed), plan: Plan { columns, tables, ctes, root: empty, output: Vec::new() } };
    for _ in 0..generator.random.index(3) {
        let (plan, columns) = generator.node(&[], 2);
        let name = generator.random.pick(&NAMES).to_owned();
        generator.plan.ctes.push(Cte { name, plan, columns });
    }
    let (root, columns) = generator.node(&[], 4);
    generator.plan.root = root;
    let name = |g: &mut Generator| g.random.pick(&NAMES).to_owned();
    generator.plan.output = columns.into_iter().map(|c| (name(&mut generator), c)).collect();
    generator.plan
}

#[test]
fn random_plans_parse_back() {
    for seed in 0..1000 {
        let plan = random_plan(seed);
        let text = print(&plan);
        let parsed = parse(&text, &mut stub_table).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        assert_eq!(print(&parsed), text, "seed {seed}");
        // NaN is not equal to itself: compare what Debug shows.
        same(&format!("{:?}{:?}", parsed.ctes, parsed.root), &format!("{:?}{:?}", plan.ctes, plan.root), &text);
        assert_eq!(parsed.output, plan.output, "seed {seed}\n{text}");
        for (column, info) in parsed.columns.iter() {
            assert!(info == &plan.columns[column] || info.name.is_empty(), "seed {seed}: {column}");
        }
    }
}

#[track_caller]
fn same(found: &str, expected: &str, text: &str) {
    if let Some(at) = found.bytes().zip(expected.bytes()).position(|(a, b)| a != b) {
        let part = |s: &str| {
            String::from_utf8_lossy(&s.as_bytes()[at.saturating_sub(200)..(at + 60).min(s.len())]).into_owned()
        };
        panic!("found {}\nexpected {}\nin {text}", part(found), part(expected));
    }
    assert_eq!(found.len(), expected.len(), "{text}");
}
