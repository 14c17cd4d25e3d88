//! Queries that lock the rows that they give: the ids of these come with them.

use base::{Error, Result, SqlState};
use plan::{Node, Op};
use sqlparser::ast::{self, Distinct, SetExpr};

use super::scope::{Clause, Level, Lockable, LockableRows};
use super::select::refuse_unsupported;
use super::slice::Slice;
use super::{Binder, Bound, Output, fold};
use crate::parse::LockAst;
use crate::{LockWait, LockedTable, Locking, Statement};

impl Binder<'_> {
    /// A query that locks rows.
    pub(super) fn locking(&mut self, query: &ast::Query, clauses: &[LockAst]) -> Result<Statement> {
        let Some(clause) = clauses.first().map(|lock| lock.strength.clause()) else {
            return Err(Error::internal("a query that locks nothing"));
        };
        let not_allowed = |what: &str| Err(refused(format!("{clause} is not allowed with {what}")));
        let select = match query.body.as_ref() {
            SetExpr::Select(select) => select,
            SetExpr::SetOperation { .. } => return not_allowed("UNION/INTERSECT/EXCEPT"),
            _ => return Err(refused(format!("{clause} cannot be applied to VALUES"))),
        };
        if let Some(Distinct::Distinct | Distinct::On(_)) = &select.distinct {
            return not_allowed("DISTINCT clause");
        }
        match &select.group_by {
            ast::GroupByExpr::Expressions(keys, _) if keys.is_empty() => {}
            _ => return not_allowed("GROUP BY clause"),
        }
        if select.having.is_some() {
            return not_allowed("HAVING clause");
        }
        refuse_unsupported(select, self.text.span(select.select_token.0.span))?;
        self.with_clause(query)?;
        let mut slice = self.slice(query)?;
        let skips = clauses.iter().any(|lock| lock.wait == LockWait::Skip);
        let mut later = Slice::default();
        if skips && !slice.with_ties {
            std::mem::swap(&mut slice, &mut later);
        }
        self.names.levels.push(Level { lockable: Some(Vec::new()), ..Level::new(Clause::From) });
        let bound = self.deeper(|b| b.select_inside(select, query.order_by.as_ref(), slice));
        let level = self.names.levels.pop();
        let Bound { node, mut output } = {
            let bound = bound?;
            self.plan.with_known_types(bound)
        };
        let lockable = level.and_then(|level| level.lockable).unwrap_or_default();
        let mut tables = Vec::new();
        for Lockable { name, rows } in &lockable {
            let Some((of, lock)) = self.lock_of(name.as_deref(), clauses) else { continue };
            let clause = lock.strength.clause();
            let (source, id) = match rows {
                LockableRows::Table(source, id) => (source.clone(), *id),
                LockableRows::Nothing(_) if !of => continue,
                LockableRows::Nothing(what) => {
                    return Err(refused(format!("{clause} cannot be applied to {what}")));
                }
                LockableRows::Derived => {
                    return Err(Error::unsupported(format!("{clause} of the rows of a subquery or view"))
                        .hint("name the tables in FROM, or those to be locked behind OF"));
                }
            };
            if self.plan.padded.contains(&id) {
                let message = format!("{clause} cannot be applied to the nullable side of an outer join");
                return Err(refused(message));
            }
            if !node.columns().contains(&id) {
                return not_allowed("aggregate functions");
            }
            output.push(Output { name: "row id".to_owned(), column: id, literal: None });
            let name = name.clone().unwrap_or_default();
            tables.push(LockedTable { name, source, strength: lock.strength, wait: lock.wait });
        }
        for ident in clauses.iter().flat_map(|lock| &lock.of) {
            let wanted = fold(ident);
            if !lockable.iter().any(|item| item.name.as_ref() == Some(&wanted)) {
                let message = format!("relation \"{wanted}\" in {clause} clause not found in FROM clause");
                return Err(Error::new(SqlState::UNDEFINED_TABLE, message).at(self.text.at(ident)));
            }
        }
        if let Some(what) = computed_above(&node) {
            return not_allowed(what);
        }
        let plan = self.plan.finish(Bound { node, output })?;
        Ok(Statement::Locking(Box::new(Locking { plan, tables, limit: later.limit, offset: later.offset })))
    }

    /// What clauses say of a table, taken together, and whether one of them names it.
    fn lock_of(&self, name: Option<&str>, clauses: &[LockAst]) -> Option<(bool, LockAst)> {
        let is_named = |lock: &LockAst| lock.of.iter().any(|ident| Some(fold(ident).as_str()) == name);
        let said: Vec<&LockAst> = clauses.iter().filter(|lock| lock.of.is_empty() || is_named(lock)).collect();
        let strength = said.iter().map(|lock| lock.strength).max()?;
        let wait = said.iter().map(|lock| lock.wait).max()?;
        Some((said.iter().any(|lock| is_named(lock)), LockAst { strength, of: Vec::new(), wait }))
    }

    /// Notes what FROM reads if its rows may be locked; rows of a table get their ids.
    pub(super) fn lockable(&mut self, name: Option<&str>, node: &mut Node, rows: Option<LockableRows>) -> Result<()> {
        if self.names.levels.last().is_none_or(|level| level.lockable.is_none()) {
            return Ok(());
        }
        let rows = match (rows, &mut node.op) {
            (Some(rows), _) => rows,
            (None, Op::Scan { table, columns, .. }) => {
                let id = self.plan.scan_row_ids(*table, columns)?;
                LockableRows::Table(self.plan.tables[*table].source.clone(), id)
            }
            (None, _) => return Err(Error::internal("a table is scanned")),
        };
        let lockable = self.names.levels.last_mut().and_then(|level| level.lockable.as_mut());
        if let Some(all) = lockable {
            all.push(Lockable { name: name.map(str::to_owned), rows });
        }
        Ok(())
    }
}

/// 0A000.
fn refused(message: String) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// What is computed of several rows, or makes several of one, above all that FROM says.
fn computed_above(node: &Node) -> Option<&'static str> {
    match &node.op {
        Op::Window { .. } => Some("window functions"),
        Op::Repeat { .. } => Some("set-returning functions in the target list"),
        Op::Map { input, .. } | Op::Filter { input, .. } | Op::Sort { input, .. } | Op::Limit { input, .. } => {
            computed_above(input)
        }
        _ => None,
    }
}
