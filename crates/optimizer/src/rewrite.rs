//! Small tools that the passes share.

use std::collections::{HashMap, HashSet};

use base::ids::Id;
use base::{IdMap, Result};
use plan::{BuildSide, ColumnId, ColumnInfo, Cte, CteId, Expr, ExprKind, JoinKind, Node, Op, Plan};
use types::{SqlType, Value};

use crate::Check;

/// Moves a node out; what stays behind must be overwritten.
pub(crate) fn take(node: &mut Node) -> Node {
    std::mem::replace(node, empty_row())
}

/// Rewrites each operator of a plan, and of its common table expressions, those below it first.
pub(crate) fn each_operator(
    plan: &mut Plan,
    check: Check<'_>,
    rewrite: &dyn Fn(&mut Plan, Node) -> Node,
) -> Result<()> {
    fn below(
        plan: &mut Plan,
        mut node: Node,
        check: Check<'_>,
        rewrite: &dyn Fn(&mut Plan, Node) -> Node,
    ) -> Result<Node> {
        check()?;
        for input in node.inputs_mut() {
            *input = below(plan, take(input), check, rewrite)?;
        }
        Ok(rewrite(plan, node))
    }
    for id in plan.ctes.keys().collect::<Vec<_>>() {
        let definition = take(&mut plan.ctes[id].plan);
        plan.ctes[id].plan = below(plan, definition, check, rewrite)?;
    }
    let root = take(&mut plan.root);
    plan.root = below(plan, root, check, rewrite)?;
    Ok(())
}

/// An expression where a condition is true, and NULL elsewhere: what a FILTER is for aggregates that skip NULLs.
pub(crate) fn only_where(condition: Expr, value: Expr) -> Expr {
    let sql_type = value.sql_type;
    let otherwise = Box::new(Expr::constant(Value::Null, sql_type));
    Expr::new(ExprKind::Case { branches: vec![(condition, value)], otherwise }, sql_type)
}

/// The keys of a grouping twice: as those of a finer one below it, and over these.
pub(crate) fn keys_twice(columns: &mut IdMap<ColumnId, ColumnInfo>, keys: Keys) -> (Keys, Keys) {
    let (mut finer, mut over) = (Keys::new(), Keys::new());
    for (key, expr) in keys {
        let below = fresh_like(columns, key);
        over.push((key, column(columns, below)));
        finer.push((below, expr));
    }
    (finer, over)
}

/// The keys of a grouping.
pub(crate) type Keys = Vec<(ColumnId, Expr)>;

/// One row without columns: what `SELECT` without FROM reads.
pub(crate) fn empty_row() -> Node {
    Node::new(Op::Values { columns: Vec::new(), rows: vec![Vec::new()] })
}

/// Brings common table expressions into an order in which each reads earlier ones only, but for the working tables of
/// recursions.
pub(crate) fn order_ctes(plan: &mut Plan) {
    fn visit(ctes: &IdMap<CteId, Cte>, id: CteId, open: &mut Vec<CteId>, order: &mut Vec<CteId>) {
        if order.contains(&id) {
            return;
        }
        open.push(id);
        ctes[id].plan.walk(&mut |node| match node.op {
            // It comes behind all that it reads; what else reads its working table is read by it.
            Op::CteScan { cte, .. } if !open.contains(&cte) => visit(ctes, cte, open, order),
            _ => {}
        });
        open.pop();
        order.push(id);
    }
    fn renumber(node: &mut Node, order: &[CteId]) {
        if let Op::CteScan { cte, .. } | Op::Recursion { cte, .. } = &mut node.op
            && let Some(place) = order.iter().position(|c| c == cte)
        {
            *cte = CteId::from_index(place);
        }
        node.inputs_mut().for_each(|input| renumber(input, order));
    }
    let mut order = Vec::new();
    // What reads a working table is found from the recursion that reads it.
    let recursions = |&id: &CteId| matches!(plan.ctes[id].plan.op, Op::Recursion { .. });
    let all = plan.ctes.keys().filter(recursions).chain(plan.ctes.keys());
    all.for_each(|id| visit(&plan.ctes, id, &mut Vec::new(), &mut order));
    if order.is_sorted() {
        return;
    }
    let definitions = std::mem::take(&mut plan.ctes);
    for &id in &order {
        plan.ctes.push(definitions[id].clone());
    }
    for id in plan.ctes.keys().collect::<Vec<_>>() {
        renumber(&mut plan.ctes[id].plan, &order);
    }
    renumber(&mut plan.root, &order);
}

/// A filter, or the input itself if there is nothing to test.
pub(crate) fn filter(input: Node, predicates: Vec<Expr>) -> Node {
    if predicates.is_empty() {
        return input;
    }
    match input.op {
        // Later conjuncts go last, so that an error in them stays behind the earlier ones.
        Op::Filter { input, predicates: mut first } => {
            first.extend(predicates);
            Node::new(Op::Filter { input, predicates: first })
        }
        op => Node::new(Op::Filter { input: Box::new(Node { op, rows: input.rows }), predicates }),
    }
}

/// Computed columns, or the input itself if there are none.
pub(crate) fn map(input: Node, columns: Vec<(ColumnId, Expr)>) -> Node {
    if columns.is_empty() { input } else { Node::new(Op::Map { input: Box::new(input), columns }) }
}

/// A join that builds on the right.
pub(crate) fn join(kind: JoinKind, left: Node, right: Node, condition: Vec<Expr>) -> Node {
    let (left, right) = (Box::new(left), Box::new(right));
    Node::new(Op::Join { kind, left, right, condition, build: BuildSide::Right })
}

/// A reference to a column of the plan.
pub(crate) fn column(columns: &IdMap<ColumnId, ColumnInfo>, id: ColumnId) -> Expr {
    Expr::column(id, columns[id].sql_type)
}

/// A new column like another one.
pub(crate) fn fresh_like(columns: &mut IdMap<ColumnId, ColumnInfo>, like: ColumnId) -> ColumnId {
    let info = columns[like].clone();
    columns.push(info)
}

/// Negation.
pub(crate) fn not(expr: Expr) -> Expr {
    Expr::new(ExprKind::Not(Box::new(expr)), SqlType::Bool)
}

/// `expr IS NOT NULL`
pub(crate) fn is_not_null(expr: Expr) -> Expr {
    not(Expr::new(ExprKind::IsNull(Box::new(expr)), SqlType::Bool))
}

/// How an operator is rewritten whose inputs have been.
pub(crate) type Change<'a> = &'a mut dyn FnMut(&mut Context<'_>, Node) -> Node;

/// Applies `change` to every operator, inputs first, in the definitions of CTEs too. Asks `check` for each.
pub(crate) fn bottom_up(plan: &mut Plan, check: Check<'_>, change: Change<'_>) -> Result<()> {
    let Plan { columns, ctes, root, .. } = plan;
    let mut context = Context { columns };
    for (_, cte) in ctes.iter_mut() {
        cte.plan = apply(&mut context, take(&mut cte.plan), check, change)?;
    }
    *root = apply(&mut context, take(root), check, change)?;
    Ok(())
}

fn apply(context: &mut Context<'_>, mut node: Node, check: Check<'_>, change: Change<'_>) -> Result<Node> {
    check()?;
    for input in node.inputs_mut() {
        *input = apply(context, take(input), check, change)?;
    }
    Ok(change(context, node))
}

/// The parts of a plan that a rewriting of its operators reads and extends.
pub(crate) struct Context<'a> {
    pub columns: &'a mut IdMap<ColumnId, ColumnInfo>,
}

/// The columns that can be NULL in a node's result: made so, or padded by an outer join below.
pub(crate) struct Nullable {
    padded: HashSet<ColumnId>,
    made: HashSet<ColumnId>,
}

impl Nullable {
    pub fn of(node: &Node, columns: &IdMap<ColumnId, ColumnInfo>) -> Self {
        let made = node.columns().into_iter().filter(|&c| !columns[c].nullable).collect();
        Self { padded: node.nullable_columns().into_iter().collect(), made }
    }
    /// Columns from elsewhere count as nullable.
    pub fn column(&self, column: ColumnId) -> bool {
        !self.made.contains(&column) || self.padded.contains(&column)
    }
    pub fn expr(&self, expr: &Expr) -> bool {
        expr.is_nullable(&|c| self.column(c))
    }
}

/// Whether evaluating the expression can never be an error, so that it may be evaluated for rows that would not have
/// reached it: only columns, constants, comparisons and logic.
pub(crate) fn infallible(expr: &Expr) -> bool {
    let here = !matches!(
        expr.kind,
        ExprKind::Call(..) | ExprKind::Cast(_) | ExprKind::Like { .. } | ExprKind::Each(_) | ExprKind::Subquery(_)
    );
    here && expr.children().all(infallible)
}

/// Whether the subplan gives exactly one row whatever is in the tables.
pub(crate) fn exactly_one_row(node: &Node) -> bool {
    match &node.op {
        Op::Aggregate { groups, .. } => groups.is_empty(),
        Op::Values { rows, .. } => rows.len() == 1,
        Op::Map { input, .. } | Op::Window { input, .. } => exactly_one_row(input),
        Op::Sort { input, limit, offset: 0, .. } | Op::Limit { input, limit, offset: 0 } => {
            *limit != Some(0) && exactly_one_row(input)
        }
        Op::Join { kind: JoinKind::Inner, left, right, condition, .. } => {
            condition.is_empty() && exactly_one_row(left) && exactly_one_row(right)
        }
        Op::Join { kind: JoinKind::Left | JoinKind::Single, left, right, .. } => {
            exactly_one_row(left) && at_most_one_row(right)
        }
        _ => false,
    }
}

/// Whether the subplan gives at most one row whatever is in the tables.
pub(crate) fn at_most_one_row(node: &Node) -> bool {
    if let Some(input) = node.thinned() {
        return matches!(node.limit(), Some(0 | 1)) || at_most_one_row(input);
    }
    match &node.op {
        Op::Values { rows, .. } => rows.len() <= 1,
        Op::Join { kind: JoinKind::Inner, left, right, .. } => at_most_one_row(left) && at_most_one_row(right),
        Op::Join { kind: JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single, left, .. } => {
            at_most_one_row(left)
        }
        _ => exactly_one_row(node),
    }
}

/// A subplan to be read twice, under its own columns and under others, and the names of its columns there. What is more than
/// a filtered scan is computed once.
pub(crate) fn twice(plan: &mut Plan, node: Node) -> (Node, Node, HashMap<ColumnId, ColumnId>) {
    let mut cheap = true;
    node.walk(&mut |n| {
        cheap &= matches!(n.op, Op::Scan { .. } | Op::CteScan { .. } | Op::Filter { .. } | Op::Map { .. })
            && !n.expressions().any(|e| e.is_volatile());
    });
    let (other, names) = node.copied(&mut plan.columns, &mut plan.tables);
    if cheap {
        return (node, other, names);
    }
    let kept = node.columns();
    let nullable = Nullable::of(&node, &plan.columns);
    let columns = kept.iter().map(|c| names[c]).collect();
    let cte = plan.ctes.push(Cte { name: "partitions".to_owned(), plan: other, columns });
    for &c in &kept {
        plan.columns[c].nullable = nullable.column(c);
    }
    let again: HashMap<_, _> = kept.iter().map(|&c| (c, fresh_like(&mut plan.columns, c))).collect();
    let reader = |name: &dyn Fn(ColumnId) -> ColumnId| {
        Node::new(Op::CteScan { cte, columns: kept.iter().map(|&c| (names[&c], name(c))).collect() })
    };
    (reader(&|c| c), reader(&|c| again[&c]), again)
}
