//! From an optimised plan to a change of one row.

use std::collections::HashMap;

use base::ids::Id;
use functions::ScalarFunction;
use plan::{ColumnId, Expr, ExprKind, Node, Op, Plan};

use super::{FIRST_PLACE, RowChange, Step};
use crate::kept::key::Key;
use crate::source::Source;

/// A change that is looked at.
pub(super) struct Builder {
    pub change: RowChange,
    /// The places of the plan's columns.
    pub places: HashMap<ColumnId, usize>,
    pub computed: usize,
}

impl Builder {
    pub fn read(&mut self, plan: &Plan, node: &Node) -> Option<()> {
        match &node.op {
            Op::Map { input, columns } => {
                self.read(plan, input)?;
                let computed = columns.iter().map(|(column, expr)| Some((*column, self.computable(expr)?)));
                let computed = computed.collect::<Option<Vec<_>>>()?;
                computed.into_iter().for_each(|(column, expr)| self.compute(column, expr));
            }
            Op::Filter { input, predicates } => {
                self.read(plan, input)?;
                for predicate in predicates {
                    let asked = self.placed(predicate).filter(only_refuses)?;
                    self.change.steps.push(Step::Ask(asked));
                }
            }
            Op::Scan { table, columns, predicates } => {
                let Ok(Source::Stored(snapshot, _)) = Source::of(&plan.tables[*table].source) else { return None };
                let (key, left) = Key::of(snapshot.schema(), columns, predicates)?;
                self.change.key = Some(key);
                for (attribute, column) in columns {
                    if *attribute < snapshot.schema().attributes().len() {
                        self.places.insert(*column, self.change.arguments + self.change.read.len());
                        self.change.read.push(*attribute);
                    }
                }
                for predicate in left {
                    let asked = self.computable(predicate)?;
                    self.change.steps.push(Step::Ask(asked));
                }
            }
            Op::Values { columns, rows } => {
                let [row] = rows.as_slice() else { return None };
                for (column, expr) in columns.iter().zip(row) {
                    let expr = self.computable(expr)?;
                    self.compute(*column, expr);
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn compute(&mut self, column: ColumnId, expr: Expr) {
        self.places.insert(column, self.change.arguments + self.change.read.len() + self.computed);
        self.computed += 1;
        self.change.steps.push(Step::Compute(expr));
    }

    fn computable(&self, expr: &Expr) -> Option<Expr> {
        self.placed(expr).filter(|expr| !expr.is_volatile())
    }

    /// An expression over places instead of columns and arguments.
    pub fn placed(&self, expr: &Expr) -> Option<Expr> {
        let mut placed = expr.clone();
        self.place(&mut placed)?;
        Some(placed)
    }

    fn place(&self, expr: &mut Expr) -> Option<()> {
        let of = |place: usize| ExprKind::Column(ColumnId::from_index(FIRST_PLACE + place));
        match &expr.kind {
            ExprKind::Subquery(_) | ExprKind::Let { .. } => return None,
            ExprKind::Argument(id, _) => expr.kind = of(id.index()),
            ExprKind::Column(column) => expr.kind = of(*self.places.get(column)?),
            _ => {
                for child in expr.children_mut() {
                    self.place(child)?;
                }
            }
        }
        Some(())
    }
}

/// Whether an expression does nothing but compute, and perhaps refuse a row.
fn only_refuses(expr: &Expr) -> bool {
    let acts =
        |e: &Expr| matches!(&e.kind, ExprKind::Call(f, _) if f.is_volatile() && *f != ScalarFunction::REFUSE_ROW);
    !expr.any(&acts)
}
