//! Rows of a common table expression that no reader wants.
//!
//! A query in WITH that several scans read is computed once, for all of them. If each of these has a filter right above it, a
//! row that none of the filters lets pass need not be there: their disjunction goes into the query, as far as it goes.

use std::collections::{HashMap, HashSet};

use base::Result;
use plan::{ColumnId, CteId, Expr, Node, Op, Plan, conjunction, disjunction};

use super::push;
use crate::Check;
use crate::fold::simplified;
use crate::rewrite::{infallible, take};

/// More scans than these would make a long condition of little use.
const MOST_SCANS: usize = 16;

/// What is asked of the rows of each query above its scans: a conjunction for each; none if some scan wants all rows.
#[derive(Default)]
struct Readers {
    wanted: HashMap<CteId, Vec<Option<Expr>>>,
    /// Queries that read themselves.
    recursive: HashSet<CteId>,
}

impl Readers {
    fn of(plan: &Plan) -> Self {
        let mut readers = Self::default();
        plan.ctes.values().for_each(|cte| readers.visit(&cte.plan, &[]));
        readers.visit(&plan.root, &[]);
        readers
    }

    /// `predicates` are those right above the node.
    fn visit(&mut self, node: &Node, predicates: &[Expr]) {
        match &node.op {
            Op::CteScan { cte, columns } => {
                let wanted = wanted(predicates, columns);
                self.wanted.entry(*cte).or_default().push(wanted);
            }
            Op::Recursion { cte, .. } => drop(self.recursive.insert(*cte)),
            _ => {}
        }
        let own = match &node.op {
            Op::Filter { predicates, .. } => predicates.as_slice(),
            _ => &[],
        };
        node.inputs().for_each(|input| self.visit(input, own));
    }

    /// What some reader of a query asks of each row, if all ask something.
    fn any(&self, cte: CteId) -> Option<Expr> {
        let wanted =
            self.wanted.get(&cte).filter(|scans| scans.len() <= MOST_SCANS && !self.recursive.contains(&cte))?;
        let mut alternatives: Vec<Expr> = Vec::new();
        for expr in wanted {
            let expr = expr.as_ref()?;
            if !alternatives.iter().any(|other| other.same(expr)) {
                alternatives.push(expr.clone());
            }
        }
        Some(simplified(disjunction(alternatives)))
    }
}

/// The predicates in terms of what is scanned: those that fail for no row that others leave out.
fn wanted(predicates: &[Expr], columns: &[(ColumnId, ColumnId)]) -> Option<Expr> {
    let may_go = |p: &&Expr| infallible(p) && !p.is_volatile() && !p.has_subquery() && !p.columns().is_empty();
    let names: HashMap<ColumnId, ColumnId> = columns.iter().map(|&(from, own)| (own, from)).collect();
    let scanned = |p: &Expr| {
        let mut scanned = p.clone();
        scanned.rename(&names);
        scanned
    };
    let parts: Vec<Expr> = predicates.iter().filter(may_go).map(scanned).collect();
    (!parts.is_empty()).then(|| conjunction(parts))
}

/// Pushes into each query of WITH what its readers ask. Those that are read by others come after these.
pub(super) fn push_into_shared(plan: &mut Plan, check: Check<'_>) -> Result<()> {
    let ids: Vec<CteId> = plan.ctes.iter().map(|(id, _)| id).rev().collect();
    for id in ids {
        if let Some(predicate) = Readers::of(plan).any(id) {
            let cte = &mut plan.ctes[id].plan;
            *cte = push(take(cte), vec![predicate], check)?;
        }
    }
    Ok(())
}
