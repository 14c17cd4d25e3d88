//! Predicates that follow from others.

use std::collections::{HashMap, HashSet};

use plan::{ColumnId, Compare, Expr, ExprKind, conjunction, disjunction, split_conjuncts};
use types::SqlType;

/// Whether values of both types compare, and predicates hold for them, alike.
fn alike(a: SqlType, b: SqlType) -> bool {
    let plain = |t| matches!(t, SqlType::Text | SqlType::Varchar(_));
    a == b || (plain(a) && plain(b))
}

/// For each conjunct over one column, the same about the columns that equalities in the pool make equal to it. Where
/// equal values may differ, only what respects equality is said of others.
pub(super) fn through_equalities(pool: &[Expr]) -> Vec<Expr> {
    let mut classes: Vec<Vec<(ColumnId, SqlType)>> = Vec::new();
    for conjunct in pool {
        let ExprKind::Compare(Compare::Eq, a, b) = &conjunct.kind else { continue };
        let (Some(x), Some(y)) = (a.as_column(), b.as_column()) else { continue };
        if !alike(a.sql_type, b.sql_type) {
            continue;
        }
        let mut merged = vec![(x, a.sql_type), (y, b.sql_type)];
        classes.retain(|class| {
            let touches = class.iter().any(|(c, _)| *c == x || *c == y);
            if touches {
                merged.extend(class.iter().filter(|(c, _)| *c != x && *c != y));
            }
            !touches
        });
        classes.push(merged);
    }
    let class_of: HashMap<ColumnId, usize> =
        classes.iter().enumerate().flat_map(|(i, class)| class.iter().map(move |&(c, _)| (c, i))).collect();
    let mut derived: Vec<Expr> = Vec::new();
    for conjunct in pool {
        let [column] = conjunct.columns()[..] else { continue };
        let Some(&class) = class_of.get(&column) else { continue };
        if conjunct.is_volatile() || !conjunct.respects_equality() {
            continue;
        }
        for &(other, sql_type) in classes[class].iter().filter(|(c, _)| *c != column) {
            let mut copy = conjunct.clone();
            copy.substitute(&mut |c| (c == column).then(|| Expr::column(other, sql_type)));
            if !pool.iter().chain(&derived).any(|e| e.same(&copy)) {
                derived.push(copy);
            }
        }
    }
    derived
}

/// What each OR of the pool says about `columns` alone: the disjunction of what its branches say, if all say something.
pub(super) fn through_or(pool: &[Expr], columns: &HashSet<ColumnId>) -> Vec<Expr> {
    let mut derived = Vec::new();
    let inside = |e: &Expr| !e.columns().is_empty() && e.only_uses(|c| columns.contains(&c)) && !e.is_volatile();
    for conjunct in pool {
        let ExprKind::Or(branches) = &conjunct.kind else { continue };
        if inside(conjunct) {
            continue;
        }
        let mut alternatives = Vec::new();
        for branch in branches {
            let mut parts = Vec::new();
            split_conjuncts(branch.clone(), &mut parts);
            parts.retain(|p| inside(p));
            if parts.is_empty() {
                alternatives.clear();
                break;
            }
            alternatives.push(conjunction(parts));
        }
        if !alternatives.is_empty() {
            derived.push(crate::fold::simplified(disjunction(alternatives)));
        }
    }
    derived
}
