//! Subqueries that lock rows: each is a query of the statement's WITH instead, which runs before the rest of it, and the rest reads its
//! rows. So it runs once, whatever is around it, and columns of what is around it mean nothing in it.

use base::{Error, Result, SqlState};
use sqlparser::ast::{self, SetExpr, Statement as S};

use super::kin::query_of;
use crate::walk::{NodeMut, change_each_node};

/// A statement with such subqueries as a query whose WITH has them; none if it is of a kind that cannot have one.
pub(super) fn as_parts(statement: &S) -> Result<Option<Box<ast::Query>>> {
    let mut query = match statement {
        S::Query(query) => query.clone(),
        S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) => {
            let mut query = query_of("select 1")?;
            *query.body = match statement.clone() {
                change @ S::Insert(_) => SetExpr::Insert(change),
                change @ S::Update(_) => SetExpr::Update(change),
                change @ S::Delete(_) => SetExpr::Delete(change),
                change => SetExpr::Merge(change),
            };
            query
        }
        _ => return Ok(None),
    };
    let mut parts = Parts::default();
    let with = query.with.take();
    let recursive = with.as_ref().is_some_and(|with| with.recursive);
    for mut cte in with.into_iter().flat_map(|with| with.cte_tables) {
        parts.take_from_locking(&mut cte.query)?;
        parts.ctes.push(cte);
    }
    parts.take_from(&mut query)?;
    query.with = query_of("with a as (select 1) select 1")?.with;
    if let Some(with) = &mut query.with {
        (with.cte_tables, with.recursive) = (parts.ctes, recursive);
    }
    Ok(Some(query))
}

/// The name of a subquery of that number.
fn name(number: usize) -> String {
    format!("lock {number}")
}

/// Whether a query says itself that it gives one row.
fn is_of_one(query: &ast::Query) -> bool {
    let Some(ast::LimitClause::LimitOffset { limit: Some(ast::Expr::Value(value)), .. }) = &query.limit_clause else {
        return false;
    };
    matches!(&value.value, ast::Value::Number(number, _) if number == "1")
}

/// An error in a subquery, if it has such a name, that says why there is no such column.
pub(super) fn told(error: Error, name: &str) -> Error {
    let is_missing = matches!(error.state(), SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_COLUMN);
    match is_missing && name.starts_with("lock ") {
        true => error
            .hint("a subquery that locks rows runs once, before what is around it, and cannot read columns of that"),
        false => error,
    }
}

#[derive(Default)]
struct Parts {
    /// Each behind those that it reads.
    ctes: Vec<ast::Cte>,
    count: usize,
}

impl Parts {
    /// The same of a query that may lock rows itself.
    fn take_from_locking(&mut self, query: &mut ast::Query) -> Result<()> {
        let locks = std::mem::take(&mut query.locks);
        let taken = self.take_from(query);
        query.locks = locks;
        taken
    }

    /// Puts names into the places of subqueries that lock rows.
    fn take_from(&mut self, query: &mut ast::Query) -> Result<()> {
        let mut taken = Vec::new();
        let mut failed = Ok(());
        change_each_node(query, |node| {
            if let NodeMut::Query(subquery) = node
                && !subquery.locks.is_empty()
            {
                self.count += 1;
                let name = name(self.count);
                let limit = if is_of_one(subquery) { "limit 1" } else { "" };
                match query_of(&format!("with \"{name}\" as (select 1) select * from \"{name}\" {limit}")) {
                    Ok(mut named) => {
                        let cte = named.with.take().and_then(|mut with| with.cte_tables.pop());
                        let locking = std::mem::replace(subquery, *named);
                        taken.extend(cte.map(|cte| ast::Cte { query: Box::new(locking), ..cte }));
                    }
                    Err(error) => failed = Err(error),
                }
            }
        });
        failed?;
        for mut cte in taken {
            self.take_from_locking(&mut cte.query)?;
            self.ctes.push(cte);
        }
        Ok(())
    }
}
