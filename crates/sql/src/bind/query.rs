//! Queries: WITH, the body, ORDER BY and LIMIT around it.

use std::collections::HashMap;
use std::rc::Rc;

use base::{Error, Result, SqlState};
use sqlparser::ast::{self, CteAsMaterialized, ObjectNamePart, SetExpr};

use super::scope::CteBinding;
use super::slice::Slice;
use super::{Binder, Bound, fold, unsupported};
use crate::bind::parts::Text;
use crate::parse::changes;
use crate::walk;

impl Binder<'_> {
    /// Binds a query; it may refer to the columns of the queries around it.
    pub(super) fn query(&mut self, query: &ast::Query) -> Result<Bound> {
        self.deeper(|b| {
            let visible = b.names.environment.len();
            let bound = b.with_clause(query).and_then(|()| b.query_body(query));
            b.names.environment.truncate(visible);
            bound
        })
    }

    pub(super) fn query_body(&mut self, query: &ast::Query) -> Result<Bound> {
        if !query.locks.is_empty() {
            return unsupported("FOR UPDATE or FOR SHARE", None);
        }
        if query.for_clause.is_some() || query.settings.is_some() || query.format_clause.is_some() {
            return unsupported("FOR, SETTINGS or FORMAT at the end of a query", None);
        }
        if !query.pipe_operators.is_empty() {
            return unsupported("the pipe syntax", None);
        }
        let slice = self.slice(query)?;
        let order_by = query.order_by.as_ref();
        match query.body.as_ref() {
            SetExpr::Select(select) => self.select(select, order_by, slice),
            body => {
                let bound = self.set_expr(body)?;
                self.ordered(bound, order_by, slice)
            }
        }
    }

    /// The body of a query or an operand of a set operation.
    pub(super) fn set_expr(&mut self, body: &SetExpr) -> Result<Bound> {
        match body {
            SetExpr::Select(select) => self.deeper(|b| b.select(select, None, Slice::default())),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { .. } => self.deeper(|b| b.set_operation(body)),
            SetExpr::Values(values) => self.values(&values.rows, None),
            _ => unsupported("a query that changes data", None),
        }
    }

    /// Brings the common table expressions of WITH into scope.
    pub(super) fn with_clause(&mut self, query: &ast::Query) -> Result<()> {
        let Some(with) = &query.with else { return Ok(()) };
        let counts = Counter::of_query(query);
        let first = self.names.environment.len();
        for cte in in_order(with, &self.text)? {
            let name = fold(&cte.alias.name);
            let position = self.text.at(&cte.alias.name);
            self.check_new_name(&name, first, position)?;
            if changes(&cte.query.body) {
                return Err(not_at_top_level().at(position));
            }
            let own = if with.recursive { Counter::of_query(&cte.query).of(&name) } else { 0 };
            let recursive = own > 0;
            let inline = match cte.materialized {
                _ if recursive => false,
                Some(CteAsMaterialized::Materialized) => false,
                Some(CteAsMaterialized::NotMaterialized) => true,
                None => counts.of(&name) <= 1,
            };
            let unused = counts.of(&name) == own;
            self.names.environment.push(CteBinding {
                name,
                columns: cte.alias.columns.iter().map(|c| c.name.clone()).collect(),
                query: Rc::new((*cte.query).clone()),
                levels: self.names.levels.len(),
                visible: self.names.environment.len(),
                inline,
                recursive,
                recursing: None,
                materialised: None,
                part: None,
            });
            if unused {
                // Its mistakes count all the same.
                let index = self.names.environment.len() - 1;
                if recursive { self.materialised(index).map(|_| ())? } else { self.cte_query(index).map(|_| ())? }
            }
        }
        Ok(())
    }

    /// 42712 if a query of the same WITH has that name; they begin with number `first`.
    pub(super) fn check_new_name(&self, name: &str, first: usize, position: Option<u32>) -> Result<()> {
        if !self.names.environment[first..].iter().any(|c| c.name == name) {
            return Ok(());
        }
        let message = format!("WITH query name \"{name}\" specified more than once");
        Err(Error::new(SqlState::DUPLICATE_ALIAS, message).at(position))
    }
}

/// 0A000: only the WITH of a whole statement changes data.
fn not_at_top_level() -> Error {
    let message = "WITH clause containing a data-modifying statement must be at the top level";
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// The common table expressions of WITH, each behind those that it reads: of WITH RECURSIVE they may come in any order.
pub(super) fn in_order<'q>(with: &'q ast::With, text: &Text<'_>) -> Result<Vec<&'q ast::Cte>> {
    let mut left: Vec<&ast::Cte> = with.cte_tables.iter().collect();
    if !with.recursive {
        return Ok(left);
    }
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits = |cte: &ast::Cte| {
            let read = Counter::of_query(&cte.query);
            let own = fold(&cte.alias.name);
            let names = left.iter().map(|other| fold(&other.alias.name));
            names.filter(|name| *name != own).any(|name| read.of(&name) > 0)
        };
        let Some(next) = left.iter().position(|cte| !waits(cte)) else {
            let position = text.at(&left[0].alias.name);
            return Err(Error::unsupported("mutual recursion between WITH items").at(position));
        };
        ordered.push(left.remove(next));
    }
    Ok(ordered)
}

/// How often each unqualified table name occurs: at least as often as each common table expression is read.
#[derive(Default)]
pub(super) struct Counter(HashMap<String, usize>);

impl Counter {
    pub(super) fn of_query(query: &ast::Query) -> Self {
        let mut counter = Self::default();
        walk::has_node(query, |node| {
            if let walk::Node::Relation(name) = node
                && let [ObjectNamePart::Identifier(ident)] = name.0.as_slice()
            {
                *counter.0.entry(fold(ident)).or_default() += 1;
            }
            false
        });
        counter
    }

    pub(super) fn of(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or(0)
    }
}
