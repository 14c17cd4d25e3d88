//! What UNPIVOT in FROM stands for, and queries that are made of texts of ours.

use base::{Error, Result, SqlState};
use sqlparser::ast::{self, Expr, ExprWithAlias, Ident, NullInclusion, Query, SetExpr, TableFactor};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Tokenizer;

use super::{fold, unsupported};
use crate::dialect::MorselDialect;

/// What the rows of an UNPIVOT are called before it has an alias.
const ROWS: &str = "#unpivoted";

/// The query that an UNPIVOT stands for, of the table that it stands behind.
pub(super) fn unpivot(
    table: &TableFactor,
    value: &Expr,
    name: &Ident,
    columns: &[ExprWithAlias],
    nulls: Option<&NullInclusion>,
) -> Result<Query> {
    let values = names_of(value)?;
    let mut names = Vec::with_capacity(columns.len());
    let mut rows = Vec::with_capacity(columns.len());
    for column in columns {
        let of = names_of(&column.expr)?;
        if of.len() != values.len() {
            let message = format!("UNPIVOT makes {} columns, but is given {} of them at once", values.len(), of.len());
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let own = || of.iter().map(fold).collect::<Vec<_>>().join("_");
        let called = column.alias.as_ref().map_or_else(own, |alias| alias.value.clone());
        let mut row = vec![Expr::value(ast::Value::SingleQuotedString(called))];
        row.extend(of.iter().cloned().map(Expr::Identifier));
        rows.push(row);
        names.extend(of);
    }
    let is_there = |value: &Ident| format!("\"{ROWS}\".{} IS NOT NULL", quoted(value));
    let wanted = match nulls {
        Some(NullInclusion::IncludeNulls) => String::new(),
        _ => format!(" WHERE {}", values.iter().map(is_there).collect::<Vec<_>>().join(" AND ")),
    };
    let columns: Vec<Ident> = std::iter::once(name.clone()).chain(values).collect();
    let columns = list(&columns);
    let text =
        format!("SELECT * EXCLUDE ({}) FROM t, LATERAL (VALUES (1)) AS \"{ROWS}\" ({columns}){wanted}", list(&names));
    let mut query = parsed(&text)?;
    let select = select_of(&mut query)?;
    if let Some(TableFactor::Derived { subquery, .. }) = select.from.get_mut(1).map(|from| &mut from.relation)
        && let SetExpr::Values(values) = subquery.body.as_mut()
    {
        values.rows = rows.into_iter().map(ast::Parens::with_empty_span).collect();
    }
    put(select, table);
    Ok(query)
}

/// The columns that stand for one, or for several in brackets.
pub(super) fn names_of(expr: &Expr) -> Result<Vec<Ident>> {
    let name = |expr: &Expr| match expr {
        Expr::Identifier(ident) => Ok(ident.clone()),
        _ => unsupported("UNPIVOT of anything but columns", None),
    };
    match expr {
        Expr::Tuple(parts) => parts.iter().map(name).collect(),
        Expr::Nested(inner) => names_of(inner),
        other => Ok(vec![name(other)?]),
    }
}

fn quoted(ident: &Ident) -> String {
    Ident::with_quote('"', fold(ident)).to_string()
}

pub(super) fn list(names: &[Ident]) -> String {
    names.iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// A query of which nothing has a place in the statement.
pub(super) fn parsed(text: &str) -> Result<Query> {
    let wrong = |error: &dyn std::fmt::Display| Error::internal(format!("{text}: {error}"));
    let tokens = Tokenizer::new(&MorselDialect, text).tokenize().map_err(|e| wrong(&e))?;
    let query = Parser::new(&MorselDialect).with_tokens(tokens).parse_query().map_err(|e| wrong(&e))?;
    Ok(*query)
}

pub(super) fn select_of(query: &mut Query) -> Result<&mut ast::Select> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Ok(select),
        _ => Err(Error::internal("a query that is no SELECT")),
    }
}

/// Puts the table in the first place of FROM.
pub(super) fn put(select: &mut ast::Select, table: &TableFactor) {
    if let Some(from) = select.from.first_mut() {
        from.relation = table.clone();
    }
}
