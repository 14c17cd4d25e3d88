//! ASOF joins (decision 57): each row of the left side meets the row of the right side that has its keys and comes nearest.
//!
//! The rows of both sides are put behind one another and ordered by keys and what is compared. The rows of the right side have
//! numbers, in that order, so that the greatest number so far is that of the row that is looked for, which a join by keys and
//! number brings: O(n log n), however many rows a key has.

use std::collections::HashMap;

use base::{Error, Result, SqlState};
use functions::{AggregateFunction, WindowFunction, common_type};
use plan::{ColumnId, ColumnInfo, Compare, Cte, Expr, ExprKind, Frame, FrameBound, FrameUnit, JoinKind, Node, Op};
use plan::{SetOperation, SortKey};
use sqlparser::ast::{self, JoinConstraint, JoinOperator, ObjectNamePart};
use types::{SqlType, Value};

use super::coerce::{cast_to, compare};
use super::expr::new_call;
use super::from::FromItem;
use super::join::Pair;
use super::parts::PlanBuilder;
use super::scope::Scope;
use super::window::{Window, Windowed};
use super::{Binder, unsupported};

/// What the condition compares: an expression of each side.
struct Condition {
    /// What has to be equal.
    keys: Vec<(Compare, Expr, Expr)>,
    /// What comes nearest, from below or above.
    nearest: (Compare, Expr, Expr),
}

/// A side of the join: its operators with the compared expressions as columns, keys first.
struct Side {
    node: Node,
    keys: Vec<ColumnId>,
    nearest: ColumnId,
}

impl Binder<'_> {
    /// Binds an ASOF join of two items of FROM.
    pub(super) fn asof_join(&mut self, left: FromItem, right: FromItem, join: &ast::Join) -> Result<FromItem> {
        use JoinOperator as J;
        let position = self.text.factor_position(&join.relation);
        let (kind, constraint) = match &join.join_operator {
            J::Join(c) | J::Inner(c) => (JoinKind::Inner, c),
            J::Left(c) | J::LeftOuter(c) => (JoinKind::Left, c),
            J::Right(c) | J::RightOuter(c) => (JoinKind::Right, c),
            J::FullOuter(c) => (JoinKind::Full, c),
            J::Semi(c) | J::LeftSemi(c) => (JoinKind::Semi, c),
            J::Anti(c) | J::LeftAnti(c) => (JoinKind::Anti, c),
            _ => return unsupported("this kind of ASOF JOIN", position),
        };
        if !right.node.free_columns().is_empty() {
            return unsupported("an ASOF JOIN whose right side refers to columns of the query around it", position);
        }
        if self.names.level().lockable.is_some() {
            return unsupported("an ASOF JOIN in a query that locks rows", position);
        }
        let (conjuncts, pairs) = match constraint {
            JoinConstraint::On(condition) => {
                let scope = left.scope.clone().join(right.scope.clone());
                (self.join_condition(condition, scope)?, None)
            }
            JoinConstraint::Using(names) => {
                let pairs = self.asof_pairs(names, &left.scope, &right.scope)?;
                let last = pairs.len() - 1;
                let conjunct = |(at, pair): (usize, &Pair)| {
                    let (a, b) = (self.plan.reference(pair.left), self.plan.reference(pair.right));
                    compare(if at == last { Compare::Ge } else { Compare::Eq }, a, b, pair.position)
                };
                (pairs.iter().enumerate().map(conjunct).collect::<Result<_>>()?, Some(pairs))
            }
            JoinConstraint::Natural | JoinConstraint::None => {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "ASOF JOIN needs a condition")
                    .hint("add ON with an inequality, or USING whose last column is compared by >=")
                    .at(position));
            }
        };
        let condition = sides(conjuncts, &left.node, &right.node)
            .map_err(|e| if e.position().is_some() { e } else { e.at(position) })?;
        let item = self.plan.asof(kind.clone(), left, right, condition)?;
        if let Some(pairs) = pairs {
            let moved = |pair: Pair| Pair { left: item.moved[&pair.left], right: item.moved[&pair.right], ..pair };
            let pairs: Vec<Pair> = pairs.into_iter().map(moved).collect();
            let visible = super::join::once(&pairs, &item.left, &item.right, &kind);
            return self.plan.showing_once(item.joined, pairs, visible, &kind);
        }
        Ok(item.joined)
    }

    fn asof_pairs(&self, names: &[ast::ObjectName], left: &Scope, right: &Scope) -> Result<Vec<Pair>> {
        let mut pairs = Vec::with_capacity(names.len());
        for name in names {
            let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else {
                return unsupported("a qualified name in USING", self.text.name_position(name));
            };
            pairs.push(self.text.using_pair(ident, left, right)?);
        }
        Ok(pairs)
    }
}

/// The condition, by sides.
fn sides(conjuncts: Vec<Expr>, left: &Node, right: &Node) -> Result<Condition> {
    let (left, right) = (left.columns(), right.columns());
    let wrong = |what: &str| {
        Error::new(SqlState::INVALID_COLUMN_REFERENCE, what)
            .hint("equalities and one of >=, >, <= and < may stand in it, each between an expression of the left side and one of the right side")
    };
    let (mut keys, mut nearest) = (Vec::new(), None);
    for conjunct in conjuncts {
        let position = conjunct.position;
        let wrong = |what: &str| wrong(what).at(position);
        let ExprKind::Compare(op, a, b) = conjunct.kind else {
            return Err(wrong("the condition of an ASOF JOIN must be made of comparisons"));
        };
        let is_of = |expr: &Expr, own: &[ColumnId], other: &[ColumnId]| {
            !expr.has_subquery() && expr.uses(|c| own.contains(&c)) && !expr.uses(|c| other.contains(&c))
        };
        let (op, a, b) = match () {
            () if is_of(&a, &left, &right) && is_of(&b, &right, &left) => (op, *a, *b),
            () if is_of(&a, &right, &left) && is_of(&b, &left, &right) => (op.swapped(), *b, *a),
            () => return Err(wrong("a comparison of an ASOF JOIN must be between its sides")),
        };
        let common = common_type(a.sql_type, b.sql_type).unwrap_or(a.sql_type);
        let (a, b) = (cast_to(a, common)?, cast_to(b, common)?);
        match op {
            Compare::Eq | Compare::NotDistinct => keys.push((op, a, b)),
            Compare::Ne | Compare::Distinct => return Err(wrong("invalid comparison in an ASOF JOIN")),
            _ if nearest.is_some() => return Err(wrong("an ASOF JOIN takes one inequality")),
            _ => nearest = Some((op, a, b)),
        }
    }
    let nearest = nearest.ok_or_else(|| wrong("an ASOF JOIN needs an inequality"))?;
    Ok(Condition { keys, nearest })
}

/// A join with new columns for those of its sides.
struct Moved {
    joined: FromItem,
    left: Scope,
    right: Scope,
    moved: HashMap<ColumnId, ColumnId>,
}

impl PlanBuilder {
    fn asof(&mut self, kind: JoinKind, left: FromItem, right: FromItem, condition: Condition) -> Result<Moved> {
        let Condition { keys, nearest: (op, a, b) } = condition;
        let descends = matches!(op, Compare::Le | Compare::Lt);
        let (of_left, of_right): (Vec<Expr>, Vec<Expr>) = keys.iter().map(|(_, a, b)| (a.clone(), b.clone())).unzip();
        let own = used(&left.scope);
        let first = self.side(left.node, of_left, a);
        let given = used(&right.scope);
        let second = self.side(right.node, of_right, b);

        // The right side, numbered, is read twice.
        let is_known = |expr: Expr| {
            let is_null = Expr::new(ExprKind::IsNull(Box::new(expr)), SqlType::Bool);
            vec![Expr::new(ExprKind::Not(Box::new(is_null)), SqlType::Bool)]
        };
        // Rows that compare with nothing are there in the result all the same where all rows of the right side are.
        let keeps_all = matches!(kind, JoinKind::Right | JoinKind::Full);
        let known = match keeps_all {
            true => second.node,
            false => {
                let predicates = is_known(self.reference(second.nearest));
                Node::new(Op::Filter { input: Box::new(second.node), predicates })
            }
        };
        let order = vec![self.key(second.nearest, descends)];
        let number = self.number("number", false);
        let call = new_call(WindowFunction::RowNumber, Vec::new(), SqlType::BigInt, None);
        let window = self.over(&second.keys, order, None);
        let numbered = self.windowed(known, vec![Windowed { column: number, call, window }]);
        let mut columns = numbered.columns();
        columns.sort_unstable();
        columns.dedup();
        let cte = self.ctes.push(Cte { name: "asof".to_owned(), plan: numbered, columns });
        let read = |plan: &mut Self, wanted: &[ColumnId]| {
            let mut columns: Vec<(ColumnId, ColumnId)> = Vec::with_capacity(wanted.len());
            for &from in wanted {
                if !columns.iter().any(|(known, _)| *known == from) {
                    let info = plan.columns[from].clone();
                    let nullable = plan.is_nullable_column(from);
                    columns.push((from, plan.columns.push(ColumnInfo { nullable, ..info })));
                }
            }
            let map: HashMap<ColumnId, ColumnId> = columns.iter().copied().collect();
            (Node::new(Op::CteScan { cte, columns }), map)
        };
        let compared: Vec<ColumnId> = second.keys.iter().copied().chain([second.nearest, number]).collect();
        let (mut ordering, there) = read(self, &compared);
        if keeps_all {
            let predicates = is_known(self.reference(there[&second.nearest]));
            ordering = Node::new(Op::Filter { input: Box::new(ordering), predicates });
        }
        let wanted: Vec<ColumnId> = given.iter().chain(&second.keys).copied().chain([number]).collect();
        let (found, mut moved) = read(self, &wanted);

        // Both sides behind one another. Of equal values the right side's come first, if they count.
        let counts = matches!(op, Compare::Ge | Compare::Le);
        let (side_of_left, side_of_right) = (i64::from(counts), i64::from(!counts));
        let integer = |value: i64| Expr::constant(Value::Int(value), SqlType::Integer);
        let (of_left, no_number) = (self.number_of("side", SqlType::Integer), self.number("number", true));
        let nothing = Expr::constant(Value::Null, SqlType::BigInt);
        let columns = vec![(of_left, integer(side_of_left)), (no_number, nothing)];
        let upper = Node::new(Op::Map { input: Box::new(first.node), columns });
        let of_right = self.number_of("side", SqlType::Integer);
        let mut columns = vec![(of_right, integer(side_of_right))];
        let mut nulls = Vec::with_capacity(own.len());
        for &column in &own {
            let ColumnInfo { name, sql_type, .. } = self.columns[column].clone();
            let null = self.columns.push(ColumnInfo { name, sql_type, nullable: true });
            columns.push((null, Expr::constant(Value::Null, sql_type)));
            nulls.push(null);
        }
        let lower = Node::new(Op::Map { input: Box::new(ordering), columns });
        let of_upper = first.keys.iter().copied().chain([first.nearest, of_left, no_number]).chain(own.iter().copied());
        let of_lower = second.keys.iter().chain([&second.nearest]).map(|c| there[c]);
        let of_lower = of_lower.chain([of_right, there[&number]]).chain(nulls);
        let (of_upper, of_lower): (Vec<ColumnId>, Vec<ColumnId>) = (of_upper.collect(), of_lower.collect());
        let mut columns = Vec::with_capacity(of_upper.len());
        for (&a, &b) in of_upper.iter().zip(&of_lower) {
            let nullable = self.is_nullable_column(a) || self.is_nullable_column(b);
            let info = ColumnInfo { nullable, ..self.columns[a].clone() };
            columns.push(self.columns.push(info));
        }
        let keys_of_both = columns[..keys.len()].to_vec();
        let [nearest, side, number_of_both] = columns[keys.len()..keys.len() + 3] else {
            return Err(Error::internal("an ASOF JOIN without its columns"));
        };
        moved.extend(own.iter().copied().zip(columns[keys.len() + 3..].iter().copied()));
        let inputs = vec![(upper, of_upper), (lower, of_lower)];
        let both = Node::new(Op::SetOp { operation: SetOperation::Union, all: true, inputs, columns });

        // The greatest number so far.
        let frame = Frame {
            unit: FrameUnit::Rows,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclude: plan::FrameExclusion::NoOthers,
        };
        let last = self.number("number", true);
        let arguments = vec![self.reference(number_of_both)];
        let max = AggregateFunction::find("max").ok_or_else(|| Error::internal("no greatest value"))?;
        let max = WindowFunction::Aggregate(max);
        let call = plan::WindowCall { frame: frame.clone(), ..new_call(max, arguments, SqlType::BigInt, None) };
        let side_key = SortKey { expr: self.reference(side), descending: false, nulls_first: false };
        let order = vec![self.key(nearest, descends), side_key];
        let window = self.over(&keys_of_both, order, Some(frame));
        let searched = self.windowed(both, vec![Windowed { column: last, call, window }]);
        let is_left = Expr::compare(Compare::Eq, self.reference(side), integer(side_of_left));
        let searched = Node::new(Op::Filter { input: Box::new(searched), predicates: vec![is_left] });

        let mut equal = vec![Expr::compare(Compare::Eq, self.reference(last), self.reference(moved[&number]))];
        for ((op, ..), (&own, &other)) in keys.iter().zip(keys_of_both.iter().zip(&second.keys)) {
            equal.push(Expr::compare(*op, self.reference(own), self.reference(moved[&other])));
        }
        let (left, right) = (rename(left.scope, &moved), rename(right.scope, &moved));
        let item = |node, scope: &Scope| FromItem { node, scope: scope.clone() };
        let joined = self.joining(kind, item(searched, &left), item(found, &right), equal);
        Ok(Moved { joined, left, right, moved })
    }

    /// A side with its compared expressions as columns.
    fn side(&mut self, node: Node, keys: Vec<Expr>, nearest: Expr) -> Side {
        let made = node.columns();
        let mut computed = Vec::new();
        let mut column = |plan: &mut Self, expr: Expr| match expr.as_column().filter(|c| made.contains(c)) {
            Some(column) => column,
            None => {
                let column = plan.column_for("key", &expr);
                computed.push((column, expr));
                column
            }
        };
        let keys = keys.into_iter().map(|key| column(self, key)).collect();
        let nearest = column(self, nearest);
        let node = match computed.is_empty() {
            true => node,
            false => Node::new(Op::Map { input: Box::new(node), columns: computed }),
        };
        Side { node, keys, nearest }
    }

    /// What is compared, as a key: a NULL of the left side comes before all that it could find.
    fn key(&self, column: ColumnId, descending: bool) -> SortKey {
        SortKey { expr: self.reference(column), descending, nulls_first: true }
    }

    fn over(&self, keys: &[ColumnId], order: Vec<SortKey>, frame: Option<Frame<Expr>>) -> Window {
        let partition = keys.iter().map(|&key| self.reference(key)).collect();
        Window { partition, order, frame, ..Window::default() }
    }

    fn number(&mut self, name: &str, nullable: bool) -> ColumnId {
        self.columns.push(ColumnInfo { name: name.to_owned(), sql_type: SqlType::BigInt, nullable })
    }

    fn number_of(&mut self, name: &str, sql_type: SqlType) -> ColumnId {
        self.columns.push(ColumnInfo { name: name.to_owned(), sql_type, nullable: false })
    }
}

/// The columns that a scope's names mean, each once.
fn used(scope: &Scope) -> Vec<ColumnId> {
    let of_relations =
        scope.relations.iter().flat_map(|r| r.columns.iter().chain(&r.hidden).map(|c| c.column).chain(r.value));
    let mut all: Vec<ColumnId> = scope.visible.iter().map(|c| c.column).chain(of_relations).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The scope with other columns for its names.
fn rename(mut scope: Scope, moved: &HashMap<ColumnId, ColumnId>) -> Scope {
    let other = |column: &mut ColumnId| *column = moved.get(column).copied().unwrap_or(*column);
    scope.visible.iter_mut().for_each(|c| other(&mut c.column));
    for relation in &mut scope.relations {
        relation.columns.iter_mut().chain(&mut relation.hidden).for_each(|c| other(&mut c.column));
        relation.value.iter_mut().for_each(other);
    }
    scope
}
