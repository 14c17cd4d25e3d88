//! JOIN with ON, USING and NATURAL.

use base::{Error, Result, SqlState};
use plan::{Compare, Expr, ExprKind, JoinKind, Node, Op, split_conjuncts};
use sqlparser::ast::{self, Ident, JoinConstraint, JoinOperator, ObjectNamePart, TableWithJoins};

use super::from::FromItem;
use super::scope::{Clause, Relation, Scope, ScopeColumn, SelfReference};
use super::{Binder, fold, unsupported};
use crate::bind::coerce::{compare, unify};
use crate::bind::parts::PlanBuilder;
use crate::bind::parts::Text;
use crate::parse::joins;

/// Whether a join pads its right side with NULLs.
fn pads_right(join: &ast::Join) -> bool {
    use JoinOperator as J;
    matches!(join.join_operator, J::Left(_) | J::LeftOuter(_) | J::FullOuter(_))
}

/// Whether a recursive query may read itself to the left of these joins.
fn padded_later(joins: &[ast::Join]) -> SelfReference {
    use JoinOperator as J;
    let pads = |join: &ast::Join| matches!(join.join_operator, J::Right(_) | J::RightOuter(_) | J::FullOuter(_));
    if joins.iter().any(pads) { SelfReference::OuterJoin } else { SelfReference::Allowed }
}

impl Binder<'_> {
    /// A table and what is joined to it, left to right; `seen` are names that LATERAL subqueries see besides.
    pub(super) fn joined(&mut self, table: &TableWithJoins, seen: &Scope) -> Result<FromItem> {
        let mut left = self.not_recursive(padded_later(&table.joins), |b| b.factor(&table.relation, seen))?;
        for (at, join) in table.joins.iter().enumerate() {
            let around = seen.clone().join(left.scope.clone());
            let place = if pads_right(join) { SelfReference::OuterJoin } else { padded_later(&table.joins[at + 1..]) };
            let right = self.not_recursive(place, |b| b.factor(&join.relation, &around))?;
            left = match join.global {
                // What ASOF and POSITIONAL travel as.
                true if matches!(join.join_operator, JoinOperator::CrossJoin(_)) => {
                    self.positional_join(left, right, join)?
                }
                true => self.asof_join(left, right, join)?,
                false => self.join(left, right, &join.join_operator)?,
            };
        }
        Ok(left)
    }

    fn join(&mut self, left: FromItem, right: FromItem, operator: &JoinOperator) -> Result<FromItem> {
        use JoinOperator as J;
        let (kind, constraint) = match operator {
            J::Join(c) | J::Inner(c) => (JoinKind::Inner, c),
            J::Left(c) | J::LeftOuter(c) => (JoinKind::Left, c),
            J::Right(c) | J::RightOuter(c) => (JoinKind::Right, c),
            J::FullOuter(c) => (JoinKind::Full, c),
            J::CrossJoin(c) => {
                if !matches!(c, JoinConstraint::None) {
                    return Err(Error::new(SqlState::SYNTAX_ERROR, "CROSS JOIN takes no condition"));
                }
                return Ok(self.plan.joining(JoinKind::Inner, left, right, Vec::new()));
            }
            J::Semi(c) | J::LeftSemi(c) => (JoinKind::Semi, c),
            J::Anti(c) | J::LeftAnti(c) => (JoinKind::Anti, c),
            other => {
                let name = format!("{other:?}");
                let name = name.split(['(', ' ', '{']).next().unwrap_or("this").to_owned();
                return unsupported(format!("a join of kind {name}"), None);
            }
        };
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            let made = left.node.columns();
            if right.node.free_columns().iter().any(|c| made.contains(c)) {
                return Err(Error::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    "the right side of a RIGHT or FULL JOIN cannot refer to the left side",
                ));
            }
        }
        match constraint {
            JoinConstraint::On(condition) => {
                let scope = left.scope.clone().join(right.scope.clone());
                let condition = self.join_condition(condition, scope)?;
                Ok(self.plan.joining(kind, left, right, condition))
            }
            JoinConstraint::Using(names) => {
                let mut idents = Vec::with_capacity(names.len());
                for name in names {
                    match name.0.as_slice() {
                        [ObjectNamePart::Identifier(ident)] => idents.push(ident.clone()),
                        _ => return unsupported("a qualified name in USING", self.text.name_position(name)),
                    }
                }
                let alias = idents.last().and_then(|last| joins::alias(&last.value)).map(str::to_owned);
                idents.truncate(idents.len() - usize::from(alias.is_some()));
                let mut item = self.join_using(kind, left, right, &idents)?;
                // It has the names of USING, and hides no other name of a table.
                if let Some(alias) = alias {
                    let columns = item.scope.visible[..idents.len()].to_vec();
                    item.scope.relations.push(Relation { name: Some(alias), columns, ..Relation::default() });
                }
                Ok(item)
            }
            JoinConstraint::Natural => {
                let right_names: Vec<&str> = right.scope.visible.iter().map(|c| c.name.as_str()).collect();
                let common = left.scope.visible.iter().filter(|c| right_names.contains(&c.name.as_str()));
                let idents: Vec<Ident> = common.map(|c| Ident::with_quote('"', c.name.clone())).collect();
                self.join_using(kind, left, right, &idents)
            }
            JoinConstraint::None if kind == JoinKind::Inner => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "JOIN needs a condition")
                    .hint("add ON or USING, or write CROSS JOIN"))
            }
            JoinConstraint::None => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "an outer join needs a condition").hint("add ON or USING"))
            }
        }
    }

    /// Conjuncts of ON, which sees both sides.
    pub(super) fn join_condition(&mut self, condition: &ast::Expr, scope: Scope) -> Result<Vec<Expr>> {
        let level = self.names.level();
        let hidden = std::mem::replace(&mut level.scope, scope);
        let clause = std::mem::replace(&mut level.clause, Clause::JoinCondition);
        let bound = self.condition(condition, "JOIN/ON");
        let level = self.names.level();
        level.scope = hidden;
        level.clause = clause;
        let mut conjuncts = Vec::new();
        split_conjuncts(bound?, &mut conjuncts);
        Ok(conjuncts)
    }

    /// USING: equality of the named columns, which are visible once, first, as whichever side is not NULL.
    fn join_using(&mut self, kind: JoinKind, left: FromItem, right: FromItem, names: &[Ident]) -> Result<FromItem> {
        let mut condition = Vec::with_capacity(names.len());
        let mut pairs = Vec::with_capacity(names.len());
        for name in names {
            let pair = self.text.using_pair(name, &left.scope, &right.scope)?;
            let (x, y) = (self.plan.reference(pair.left), self.plan.reference(pair.right));
            condition.push(compare(Compare::Eq, x, y, pair.position)?);
            pairs.push(pair);
        }
        // Whose rows are only chosen by the other side, that keeps its columns as they are.
        let visible = match kind.keeps_right() {
            true => once(&pairs, &left.scope, &right.scope, &kind),
            false => left.scope.visible.clone(),
        };
        let item = self.plan.joining(kind.clone(), left, right, condition);
        self.plan.showing_once(item, pairs, visible, &kind)
    }
}

impl Binder<'_> {
    /// What USING asks of two sides that stay as they are.
    pub(super) fn equal_columns(&mut self, names: &[&Ident], left: &Scope, right: &Scope) -> Result<Vec<Expr>> {
        let mut condition = Vec::with_capacity(names.len());
        for name in names {
            let pair = self.text.using_pair(name, left, right)?;
            let (x, y) = (self.plan.reference(pair.left), self.plan.reference(pair.right));
            condition.push(compare(Compare::Eq, x, y, pair.position)?);
        }
        Ok(condition)
    }
}

/// Columns of both sides that USING names.
pub(super) struct Pair {
    pub name: String,
    pub left: plan::ColumnId,
    pub right: plan::ColumnId,
    pub position: Option<u32>,
}

/// What is visible of a join by USING: its columns once, first, as those of the left side or, of a RIGHT JOIN, of the right one;
/// then all others. Another name may stand for the same column.
pub(super) fn once(pairs: &[Pair], left: &Scope, right: &Scope, kind: &JoinKind) -> Vec<ScopeColumn> {
    let column = |pair: &Pair| if *kind == JoinKind::Right { pair.right } else { pair.left };
    let first = pairs.iter().map(|pair| ScopeColumn { name: pair.name.clone(), column: column(pair) });
    let is_using = |c: &&ScopeColumn| {
        let is_of = |pair: &Pair| c.name == pair.name || c.name.to_lowercase() == pair.name.to_lowercase();
        pairs.iter().any(|pair| (c.column == pair.left || c.column == pair.right) && is_of(pair))
    };
    let right = right.visible.iter().filter(|_| kind.keeps_right());
    first.chain(left.visible.iter().chain(right).filter(|c| !is_using(c)).cloned()).collect()
}

impl PlanBuilder {
    /// A join that shows the columns of USING once: of a full one, that side's value which is there.
    pub(super) fn showing_once(
        &mut self,
        mut item: FromItem,
        pairs: Vec<Pair>,
        mut visible: Vec<ScopeColumn>,
        kind: &JoinKind,
    ) -> Result<FromItem> {
        let mut computed = Vec::new();
        if *kind == JoinKind::Full {
            for (shown, pair) in visible.iter_mut().zip(pairs) {
                let sides = vec![self.reference(pair.left), self.reference(pair.right)];
                let (sides, sql_type) = unify(sides, "JOIN/USING")?;
                let merged = Expr::new(ExprKind::Coalesce(sides), sql_type);
                shown.column = self.column_for(&pair.name, &merged);
                computed.push((shown.column, merged));
            }
        }
        item.scope.visible = visible;
        if !computed.is_empty() {
            item.node = Node::new(Op::Map { input: Box::new(item.node), columns: computed });
        }
        Ok(item)
    }

    /// The join itself. Semi- and anti-joins give the left side's names only.
    pub(super) fn joining(
        &mut self,
        kind: JoinKind,
        left: FromItem,
        right: FromItem,
        condition: Vec<Expr>,
    ) -> FromItem {
        if matches!(kind, JoinKind::Left | JoinKind::Full) {
            self.padded.extend(right.node.columns());
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            self.padded.extend(left.node.columns());
        }
        let scope = if kind.keeps_right() { left.scope.join(right.scope) } else { left.scope };
        let node = Node::new(Op::Join {
            kind,
            left: Box::new(left.node),
            right: Box::new(right.node),
            condition,
            build: Default::default(),
        });
        FromItem { node, scope }
    }
}

impl Text<'_> {
    /// The columns of both sides that a name of USING means.
    pub(super) fn using_pair(&self, name: &Ident, left: &Scope, right: &Scope) -> Result<Pair> {
        let (left, right) = (self.using_column(left, name, "left")?, self.using_column(right, name, "right")?);
        let (name, position) = (left.name.clone(), self.at(name));
        Ok(Pair { name, left: left.column, right: right.column, position })
    }

    fn using_column<'s>(&self, scope: &'s Scope, name: &Ident, side: &str) -> Result<&'s ScopeColumn> {
        let wanted = fold(name);
        let mut found = scope
            .visible
            .iter()
            .filter(|c| c.name == wanted || (name.quote_style.is_none() && c.name.to_lowercase() == wanted));
        match (found.next(), found.next()) {
            (Some(column), None) => Ok(column),
            (None, _) => {
                let message = format!("column \"{wanted}\" specified in USING clause does not exist in {side} table");
                Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(self.at(name)))
            }
            _ => {
                let message = format!("common column name \"{wanted}\" appears more than once in {side} table");
                Err(Error::new(SqlState::AMBIGUOUS_COLUMN, message).at(self.at(name)))
            }
        }
    }
}
