//! DESCRIBE and SUMMARIZE that stand in FROM: the rows that the statements give, as a query.

use base::{Error, Result};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, TableAlias};

use super::from::FromItem;
use super::scope::CteBinding;
use super::statement::fields;
use super::{Binder, unsupported};
use crate::parse::described::Described;
use crate::parse::{Ast, parse_placeless};

impl Binder<'_> {
    /// The rows of a statement that describes a query.
    pub(super) fn described(
        &mut self,
        what: Described,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
    ) -> Result<FromItem> {
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Subquery(query)))] = arguments else {
            return Err(Error::internal("what is described is no query"));
        };
        let described = match what {
            Described::Figures => self.summary_of(query)?,
            Described::Columns => {
                let query = query_of(&self.text_of_columns(query)?)?;
                *query
            }
        };
        let bound = self.query(&described)?;
        self.derived(bound, alias, None)
    }

    /// VALUES of the columns that a query has.
    fn text_of_columns(&mut self, query: &ast::Query) -> Result<String> {
        let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let row = |(name, sql_type, nullable): (String, types::SqlType, bool)| {
            let null = if nullable { "YES" } else { "NO" };
            format!("({}, {}, '{null}', NULL, NULL, NULL)", literal(&name), literal(&sql_type.to_string()))
        };
        let rows: Vec<String> = self.fields_of_query(query)?.into_iter().map(row).collect();
        let columns = "column_name, column_type, \"null\", \"key\", \"default\", extra";
        if rows.is_empty() {
            return Ok(format!("SELECT * FROM (VALUES ('', '', '', '', '', '')) AS d ({columns}) WHERE false"));
        }
        Ok(format!("SELECT * FROM (VALUES {}) AS d ({columns})", rows.join(", ")))
    }

    /// The columns of a query's result: names, types, and whether they may be NULL.
    pub(super) fn fields_of_query(&mut self, query: &ast::Query) -> Result<Vec<(String, types::SqlType, bool)>> {
        let mut alone = Binder::new(self.text.positions, self.resolver, self.arguments.parameters);
        alone.limits.allow(self.limits.left());
        let visible = self.names.environment.iter().map(CteBinding::alone).collect::<Option<_>>();
        let Some(visible) = visible else {
            return unsupported("DESCRIBE or SUMMARIZE within a WITH that is recursive or changes data", None);
        };
        alone.names.environment = visible;
        let plan = alone.plan_of(query)?;
        Ok(fields(&plan).into_iter().map(|field| (field.name, field.sql_type, field.nullable)).collect())
    }
}

/// A query of which nothing has a place in the statement.
pub(super) fn query_of(text: &str) -> Result<Box<ast::Query>> {
    let none = || Error::internal("a query that is none");
    let Ast::Library(statement) = parse_placeless(text)?.ast else { return Err(none()) };
    let ast::Statement::Query(query) = *statement else { return Err(none()) };
    Ok(query)
}
