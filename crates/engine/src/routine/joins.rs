//! Joins whose conditions call functions (decision 51).
//!
//! What a conjunct reads of one side only is computed below that side. Where a call reads both, the pairs that the rest of the
//! condition leaves are an inner join of its own, above which calls are computed; then the sides are joined by the numbers of
//! the left side's rows.

use std::collections::{HashMap, HashSet};

use base::{Error, Result};
use plan::{ColumnId, Compare, Expr, ExprKind, JoinKind, Node, Op, Plan};
use types::SqlType;

use super::chunks::numbered;
use super::computing::{Computing, nothing};
use super::rows::calls;

impl Computing<'_> {
    /// A join of another kind than inner joins.
    pub(super) fn join(&mut self, plan: &mut Plan, node: &mut Node) -> Result<()> {
        let Op::Join { kind, left, right, condition, .. } = &mut node.op else { return Ok(()) };
        let sides = [left.columns(), right.columns()].map(|columns| columns.into_iter().collect::<HashSet<_>>());
        let mut below: [Vec<(ColumnId, Expr)>; 2] = Default::default();
        for conjunct in condition.iter_mut() {
            for part in parts(conjunct).into_iter().filter(|part| calls(part)) {
                if let Some(side) = sides.iter().position(|own| part.only_uses(|column| own.contains(&column))) {
                    let (column, computed) = self.column_of(plan, part.clone());
                    *part = Expr::column(column, part.sql_type);
                    below[side].push((column, computed));
                }
            }
        }
        for (input, columns) in [&mut *left, &mut *right].into_iter().zip(below) {
            if !columns.is_empty() {
                let input_of = std::mem::replace(&mut **input, nothing());
                let mut map = Node::new(Op::Map { input: Box::new(input_of), columns });
                self.node(plan, &mut map)?;
                **input = map;
            }
        }
        if !condition.iter().any(calls) {
            return Ok(());
        }
        match kind {
            JoinKind::Right => {
                (*kind, *left, *right) = (
                    JoinKind::Left,
                    std::mem::replace(right, Box::new(nothing())),
                    std::mem::replace(left, Box::new(nothing())),
                );
            }
            JoinKind::Full => {
                let what = "a call of a user's function with both sides of a FULL JOIN";
                return Err(Error::unsupported(what).hint("compute it in FROM, for each side"));
            }
            _ => {}
        }
        self.joined_by_numbers(plan, node)
    }

    /// A join whose condition calls with both sides: by the numbers of the left side's rows.
    fn joined_by_numbers(&mut self, plan: &mut Plan, node: &mut Node) -> Result<()> {
        let Op::Join { kind, left, right, condition, .. } = &mut node.op else { return Ok(()) };
        let kept: Vec<ColumnId> = left.columns().into_iter().filter(|column| self.used.contains(column)).collect();
        let number = self.number(plan);
        let input = std::mem::replace(&mut **left, nothing());
        let chunks = numbered(self.rows(plan, input, &kept)?);
        let all: Vec<ColumnId> = kept.iter().copied().chain([number]).collect();
        let table = self.table(plan, &all, chunks);
        let mut again = table.clone();
        let mut names = HashMap::new();
        again.each_listed_mut(&mut |column| {
            let copy = plan.columns.push(plan.columns[*column].clone());
            self.used.insert(copy);
            names.insert(*column, copy);
            *column = copy;
        });
        let mut conjuncts = std::mem::take(condition);
        conjuncts.iter_mut().for_each(|conjunct| conjunct.rename(&names));
        let other = std::mem::replace(&mut **right, nothing());
        let (pairs, is_met) = self.pairs(plan, (again, other), conjuncts, matches!(kind, JoinKind::Mark(_)))?;
        let numbers = [number, names[&number]].map(|column| Expr::column(column, SqlType::BigInt));
        let [own, theirs] = numbers;
        let condition = std::iter::once(Expr::compare(Compare::Eq, own, theirs)).chain(is_met).collect();
        let kind = kind.clone();
        let (left, right) = (Box::new(table), Box::new(pairs));
        *node = Node::new(Op::Join { kind, left, right, condition, build: plan::BuildSide::Right });
        Ok(())
    }

    /// The pairs that fulfil conjuncts; with `nulls`, those as well of which that is not known, and what is known.
    fn pairs(
        &mut self,
        plan: &mut Plan,
        (left, right): (Node, Node),
        conjuncts: Vec<Expr>,
        nulls: bool,
    ) -> Result<(Node, Option<Expr>)> {
        let joined = |condition| {
            let (left, right) = (Box::new(left), Box::new(right));
            Node::new(Op::Join { kind: JoinKind::Inner, left, right, condition, build: plan::BuildSide::Right })
        };
        if !nulls {
            let mut pairs = joined(conjuncts);
            self.node(plan, &mut pairs)?;
            return Ok((pairs, None));
        }
        let (column, computed) = self.column_of(plan, plan::conjunction(conjuncts));
        let mut pairs = Node::new(Op::Map { input: Box::new(joined(Vec::new())), columns: vec![(column, computed)] });
        self.node(plan, &mut pairs)?;
        Ok((pairs, Some(Expr::column(column, SqlType::Bool))))
    }
}

/// What of a conjunct may be computed apart: both sides of a comparison, else all of it.
fn parts(conjunct: &mut Expr) -> Vec<&mut Expr> {
    match conjunct {
        Expr { kind: ExprKind::Compare(_, left, right), .. } => vec![left, right],
        other => vec![other],
    }
}
