//! Random plans with nested correlated subqueries, over columns of all types: the optimised plan gives what the oracle
//! finds for the plan as it was.

use base::IdMap;
use catalog::Field;
use functions::{AggregateFunction, WindowFunction};
use plan::text::{print, stub_table};
use plan::{
    AggregateCall, ColumnId, ColumnInfo, Compare, Expr, ExprKind, Frame, FrameBound, FrameExclusion, FrameUnit,
    JoinKind, Node, Op, Plan, Quantifier, SetOperation, SortKey, Subquery, SubqueryKind, TableId, WindowCall,
};
use types::{SqlType, Value};

use crate::rewrite::{column, fresh_like, join, map};
use crate::{Settings, When, optimize, oracle};

/// Types of the columns that are no integers.
const TYPES: [SqlType; 10] = [
    SqlType::Bool,
    SqlType::BigInt,
    SqlType::decimal(10, 2),
    SqlType::Double,
    SqlType::Double,
    SqlType::Interval,
    SqlType::Interval,
    SqlType::Text,
    SqlType::Date,
    SqlType::Timestamp,
];

struct Generator {
    state: u64,
    plan: Plan,
    /// The scans' columns of any type.
    typed: Vec<ColumnId>,
}

impl Generator {
    fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % n
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    fn new_column(&mut self, sql_type: SqlType, nullable: bool) -> ColumnId {
        self.plan.columns.push(ColumnInfo { name: "c".to_owned(), sql_type, nullable })
    }

    fn scan(&mut self) -> Node {
        // Attribute 1 may be NULL, attribute 2 too, which is of any type.
        let name = self.one_of(&["r", "s", "u"]);
        let types = [SqlType::Integer, SqlType::Integer, self.one_of(&TYPES)];
        let field = |i: usize| Field { name: "c".to_owned(), sql_type: types[i], nullable: i > 0 };
        let fields: Vec<(usize, Field)> = (0..3).map(|i| (i, field(i))).collect();
        let table = self.plan.tables.push(stub_table(name, &fields).unwrap());
        let columns: Vec<_> = (0..3).map(|i| (i, self.new_column(types[i], i > 0))).collect();
        self.typed.push(columns[2].1);
        Node::new(Op::Scan { table, columns, predicates: Vec::new() })
    }

    /// A comparison of columns of one type, or of what they are printed as; none if there are no such columns.
    fn typed_predicate(&mut self, own: &[ColumnId], outer: &[ColumnId]) -> Option<Expr> {
        let seen: Vec<ColumnId> = self.typed.iter().copied().filter(|c| own.contains(c) || outer.contains(c)).collect();
        if seen.is_empty() {
            return None;
        }
        let a = self.one_of(&seen);
        let alike: Vec<ColumnId> =
            seen.into_iter().filter(|&c| self.plan.columns[c].sql_type == self.plan.columns[a].sql_type).collect();
        let b = self.one_of(&alike);
        let (a, b) = (column(&self.plan.columns, a), column(&self.plan.columns, b));
        let op = self.one_of(&[Compare::Eq, Compare::Eq, Compare::Le, Compare::Distinct, Compare::NotDistinct]);
        let printed = |e: Expr| Expr::new(ExprKind::Cast(Box::new(e)), SqlType::Text);
        Some(match self.below(3) {
            0 => Expr::compare(op, printed(a), printed(b)),
            1 => {
                let text = self.one_of(&["0", "-0", "30 days", "1 mon", "F", "true"]);
                Expr::compare(Compare::Eq, printed(a), Expr::constant(Value::str(text), SqlType::Text))
            }
            _ => Expr::compare(op, a, b),
        })
    }

    fn integers(&self, columns: &[ColumnId]) -> Vec<ColumnId> {
        columns.iter().copied().filter(|&c| self.plan.columns[c].sql_type == SqlType::Integer).collect()
    }

    /// An integer.
    fn operand(&mut self, own: &[ColumnId], outer: &[ColumnId]) -> Expr {
        let (own, outer) = (&self.integers(own)[..], &self.integers(outer)[..]);
        let c = match self.below(10) {
            0 => return Expr::constant(Value::Int(self.below(4) as i64), SqlType::Integer),
            1..=4 if !outer.is_empty() => self.one_of(outer),
            _ if !own.is_empty() => self.one_of(own),
            _ => return Expr::constant(Value::Int(1), SqlType::Integer),
        };
        column(&self.plan.columns, c)
    }

    fn predicate(&mut self, own: &[ColumnId], outer: &[ColumnId], depth: u64) -> Expr {
        let scope: Vec<ColumnId> = own.iter().chain(outer).copied().collect();
        if self.below(6) == 0
            && let Some(typed) = self.typed_predicate(own, outer)
        {
            return typed;
        }
        match self.below(if depth > 0 { 10 } else { 6 }) {
            0..=2 => Expr::compare(Compare::Eq, self.operand(own, &[]), self.operand(own, outer)),
            3 => {
                let op = self.one_of(&[Compare::Lt, Compare::Ne, Compare::Ge, Compare::NotDistinct]);
                Expr::compare(op, self.operand(own, outer), self.operand(own, outer))
            }
            4 => {
                let parts = vec![self.predicate(own, outer, depth / 2), self.predicate(own, outer, 0)];
                let kind = if self.below(2) == 0 { ExprKind::Or(parts) } else { ExprKind::And(parts) };
                Expr::new(kind, SqlType::Bool)
            }
            5 => {
                let inner = if self.below(2) == 0 {
                    self.predicate(own, outer, depth)
                } else {
                    let input = self.operand(own, outer);
                    Expr::new(ExprKind::IsNull(Box::new(input)), SqlType::Bool)
                };
                Expr::new(ExprKind::Not(Box::new(inner)), SqlType::Bool)
            }
            6 | 7 => {
                let plan = self.query(&scope, depth - 1);
                let subquery = Subquery { kind: SubqueryKind::Exists, plan };
                Expr::new(ExprKind::Subquery(Box::new(subquery)), SqlType::Bool)
            }
            8 => {
                let plan = self.query(&scope, depth - 1);
                let found = self.integers(&plan.columns());
                let Some(&first) = found.first() else { return Expr::bool(true) };
                let op = self.one_of(&[Compare::Eq, Compare::Eq, Compare::Lt]);
                let quantifier = if self.below(3) == 0 { Quantifier::All } else { Quantifier::Any };
                let comparisons = vec![(self.operand(own, outer), op, first)];
                let kind = SubqueryKind::Quantified { quantifier, comparisons };
                Expr::new(ExprKind::Subquery(Box::new(Subquery { kind, plan })), SqlType::Bool)
            }
            _ => {
                let plan = self.query(&scope, depth - 1);
                let found = self.integers(&plan.columns());
                let aggregate = self.aggregate(plan, Vec::new(), &found, &scope);
                let result = aggregate.columns()[0];
                let mut plan = aggregate;
                let mut value = column(&self.plan.columns, result);
                if value.sql_type == SqlType::Integer {
                    let computed = self.new_column(SqlType::Integer, true);
                    let other = self.operand(&[result], &scope);
                    let sum = Expr::new(
                        ExprKind::Coalesce(vec![column(&self.plan.columns, result), other]),
                        SqlType::Integer,
                    );
                    plan = map(plan, vec![(computed, sum)]);
                    value = column(&self.plan.columns, computed);
                }
                let sql_type = value.sql_type;
                let kind = SubqueryKind::Scalar { column: value.as_column().unwrap() };
                let scalar = Expr::new(ExprKind::Subquery(Box::new(Subquery { kind, plan })), sql_type);
                let other = if sql_type == SqlType::Integer {
                    self.operand(own, outer)
                } else {
                    Expr::constant(Value::Int(self.below(3) as i64), sql_type)
                };
                let op = self.one_of(&[Compare::Eq, Compare::Le, Compare::Ne]);
                Expr::compare(op, other, scalar)
            }
        }
    }

    fn aggregate(&mut self, input: Node, keys: Vec<ColumnId>, own: &[ColumnId], outer: &[ColumnId]) -> Node {
        let groups =
            keys.into_iter().map(|k| (fresh_like(&mut self.plan.columns, k), column(&self.plan.columns, k))).collect();
        let (function, sql_type) = self.one_of(&[
            (AggregateFunction::CountStar, SqlType::BigInt),
            (AggregateFunction::Count, SqlType::BigInt),
            (AggregateFunction::Max, SqlType::Integer),
        ]);
        let arguments = (function != AggregateFunction::CountStar).then(|| {
            let outer = if self.below(5) == 0 { outer } else { &[] };
            self.operand(own, outer)
        });
        let distinct = function == AggregateFunction::Count && self.below(3) == 0;
        let call = AggregateCall {
            function,
            arguments: arguments.into_iter().collect(),
            distinct,
            filter: None,
            sql_type,
            position: None,
        };
        let result = self.new_column(sql_type, function == AggregateFunction::Max);
        Node::new(Op::Aggregate { input: Box::new(input), groups, aggregates: vec![(result, call)] })
    }

    /// Window functions whose results do not depend on the order of peers.
    fn window(&mut self, mut node: Node, own: &[ColumnId], outer: &[ColumnId]) -> Node {
        for _ in 0..1 + self.below(2) {
            let keys: Vec<SortKey> = (0..self.below(3))
                .map(|_| {
                    let expr = self.operand(own, outer);
                    SortKey { expr, descending: self.below(2) == 0, nulls_first: self.below(2) == 0 }
                })
                .collect();
            let calls = (0..1 + self.below(2)).map(|_| self.window_call(keys.len(), own, outer)).collect();
            node = Node::new(Op::Window { input: Box::new(node), keys, functions: calls });
        }
        node
    }

    fn window_call(&mut self, keys: usize, own: &[ColumnId], outer: &[ColumnId]) -> (ColumnId, WindowCall) {
        use FrameBound::{CurrentRow, Following, Preceding, UnboundedFollowing, UnboundedPreceding};
        let aggregate = WindowFunction::Aggregate;
        let (function, sql_type) = self.one_of(&[
            (WindowFunction::Rank, SqlType::BigInt),
            (WindowFunction::DenseRank, SqlType::BigInt),
            (WindowFunction::CumeDist, SqlType::Double),
            (aggregate(AggregateFunction::CountStar), SqlType::BigInt),
            (aggregate(AggregateFunction::Count), SqlType::BigInt),
            (aggregate(AggregateFunction::Max), SqlType::Integer),
        ]);
        let takes = matches!(function, WindowFunction::Aggregate(AggregateFunction::Count | AggregateFunction::Max));
        let peers = self.below(keys as u64 + 1) as usize;
        let unit = self.one_of(&[FrameUnit::Range, FrameUnit::Groups]);
        let offset = |n| Expr::constant(Value::Int(n), SqlType::BigInt);
        let (start, end) = match (self.below(4), unit) {
            (0, FrameUnit::Groups) => (Preceding(offset(1)), CurrentRow),
            (1, FrameUnit::Groups) => (CurrentRow, Following(offset(1))),
            (0 | 1, _) => (UnboundedPreceding, CurrentRow),
            (2, _) => (CurrentRow, UnboundedFollowing),
            _ => (UnboundedPreceding, UnboundedFollowing),
        };
        let exclude = self.one_of(&[FrameExclusion::NoOthers, FrameExclusion::NoOthers, FrameExclusion::Group]);
        let call = WindowCall {
            function,
            arguments: takes.then(|| self.operand(own, outer)).into_iter().collect(),
            distinct: false,
            filter: None,
            ignore_nulls: false,
            order: Vec::new(),
            partition: self.below(peers as u64 + 1) as usize,
            peers,
            frame: Frame { unit, start, end, exclude },
            sql_type,
            position: None,
        };
        (self.new_column(sql_type, true), call)
    }

    /// A subplan that may read `outer`; some of its columns are integers.
    fn query(&mut self, outer: &[ColumnId], depth: u64) -> Node {
        let mut node = self.scan();
        for _ in 0..self.below(3) {
            let own = self.integers(&node.columns());
            node = match self.below(10) {
                0..=2 => {
                    let other = if depth > 0 { self.query(outer, depth - 1) } else { self.scan() };
                    let both: Vec<ColumnId> = node.columns().into_iter().chain(other.columns()).collect();
                    let kind = self.one_of(&[0, 0, 1, 2, 3, 4, 5]);
                    let kind = match kind {
                        0 => JoinKind::Inner,
                        1 => JoinKind::Left,
                        2 => JoinKind::Right,
                        3 => JoinKind::Full,
                        4 => JoinKind::Semi,
                        _ => JoinKind::Anti,
                    };
                    // Subqueries over both sides of a full join are not supported.
                    let inner = if kind == JoinKind::Full { 0 } else { depth / 2 };
                    let condition = (0..self.below(3)).map(|_| self.predicate(&both, outer, inner)).collect();
                    join(kind, node, other, condition)
                }
                3 => {
                    let key = self.one_of(&own);
                    self.aggregate(node, vec![key], &own, outer)
                }
                4 => Node::new(Op::Distinct { input: Box::new(node), columns: own }),
                5 => {
                    let other = self.scan();
                    let theirs = self.integers(&other.columns());
                    let (operation, all) = (
                        self.one_of(&[SetOperation::Union, SetOperation::Intersect, SetOperation::Except]),
                        self.below(2) == 0,
                    );
                    let inputs = vec![(node, vec![own[0]]), (other, vec![theirs[1]])];
                    let columns = vec![self.new_column(SqlType::Integer, true)];
                    Node::new(Op::SetOp { operation, all, inputs, columns })
                }
                6 => {
                    let computed = self.new_column(SqlType::Integer, true);
                    let parts = vec![self.operand(&own, outer), self.operand(&own, outer)];
                    let expr = Expr::new(ExprKind::Coalesce(parts), SqlType::Integer);
                    map(node, vec![(computed, expr)])
                }
                7 => self.window(node, &own, outer),
                _ => node,
            };
            let own = node.columns();
            if self.integers(&own).is_empty() {
                break;
            }
            let predicates = (0..self.below(3)).map(|_| self.predicate(&own, outer, depth)).collect();
            node = Node::new(Op::Filter { input: Box::new(node), predicates });
        }
        node
    }
}

fn random_plan(seed: u64) -> Plan {
    let plan = Plan {
        columns: IdMap::new(),
        tables: IdMap::<TableId, _>::new(),
        ctes: IdMap::new(),
        root: crate::rewrite::empty_row(),
        output: Vec::new(),
    };
    let mut generator = Generator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), plan, typed: Vec::new() };
    let root = generator.query(&[], 2);
    let mut plan = generator.plan;
    plan.output = root.columns().into_iter().map(|c| ("c".to_owned(), c)).collect();
    plan.root = root;
    plan
}

#[test]
fn optimised_plans_give_the_same_rows() {
    let rounds = std::env::var("PLANS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let mut unsupported = 0;
    for seed in 0..rounds {
        let plan = random_plan(seed);
        plan::verify(&plan, false).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", print(&plan)));
        let mut scans = 0;
        plan.root.walk(&mut |n| scans += usize::from(matches!(n.op, Op::Scan { .. })));
        if plan.tables.len() > 6 || scans > 4 {
            continue; // the oracle is too slow for these
        }
        let ways = [(false, When::Worthwhile), (true, When::Worthwhile), (true, When::Always)];
        for (optimize_it, eager_groups) in ways {
            let settings = Settings { optimize: optimize_it, eager_groups, ..Settings::default() };
            let mut after_each = String::new();
            let after = optimize(plan.clone(), &settings, &|| Ok(()), &mut |name, p| {
                after_each += &format!("{name}\n{}", print(p))
            });
            let after = match after {
                Ok(after) => after,
                Err(e) if e.state() == base::SqlState::FEATURE_NOT_SUPPORTED => {
                    unsupported += 1;
                    continue;
                }
                Err(e) => panic!("seed {seed}: {e:?}\n{}", print(&plan)),
            };
            for data in 0..4 {
                let Ok(expected) = oracle::result(&plan, data) else { continue };
                let found = oracle::result(&after, data);
                assert!(
                    found.as_ref() == Ok(&expected),
                    "seed {seed}, data {data}: {found:?} instead of {expected:?}\n{}{after_each}",
                    print(&plan)
                );
            }
        }
    }
    assert!(unsupported < rounds / 10, "{unsupported} plans cannot be unnested");
}
