//! PIVOT and UNPIVOT in FROM, which are queries of what they stand behind:
//!
//! ```sql
//! t PIVOT (sum(x) FOR c IN (1, 2))   -- SELECT * EXCLUDE (x, c), sum(x) FILTER (WHERE c = 1) AS "1", ... FROM t GROUP BY ALL
//! t UNPIVOT (v FOR n IN (a, b))      -- SELECT * EXCLUDE (a, b) FROM t, LATERAL (VALUES ('a', a), ('b', b)) AS u (n, v) WHERE v IS NOT NULL
//! ```

use std::collections::HashSet;

use base::{Error, Result, SqlState};
use sqlparser::ast::{self, BinaryOperator, Expr, ExprWithAlias, Ident, PivotValueSource, Query, SelectItem, SetExpr};
use sqlparser::ast::{NullInclusion, TableFactor};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Tokenizer;
use types::Value;

use super::from::FromItem;
use super::scope::{CteBinding, LockableRows, Scope};
use super::{Binder, fold, unsupported};
use crate::dialect::MorselDialect;
use crate::parse::pivot::Named;
use crate::walk::{self, Node};

/// What the rows of an UNPIVOT are called before it has an alias.
const ROWS: &str = "#unpivoted";
/// Most columns that values make.
const MOST_VALUES: usize = 1600;

impl Binder<'_> {
    /// PIVOT or UNPIVOT of an item of FROM.
    pub(super) fn pivoted(&mut self, factor: &TableFactor) -> Result<FromItem> {
        let (query, table, alias) = match factor {
            TableFactor::Pivot { default_on_null: Some(_), .. } => {
                return unsupported("DEFAULT ON NULL in PIVOT", None);
            }
            TableFactor::Pivot { table, aggregate_functions, value_column, value_source, alias, .. } => {
                let found = match (value_source, value_column.as_slice()) {
                    (PivotValueSource::Any(_), [column]) => Some(self.values_there(table, column)?),
                    _ => None,
                };
                let values = found.as_ref().unwrap_or(value_source);
                (pivot(table, aggregate_functions, value_column, values)?, table, alias)
            }
            TableFactor::Unpivot { table, value, name, columns, null_inclusion, alias } => {
                let columns = self.each_unpivoted(table, columns)?;
                (unpivot(table, value, name, &columns, null_inclusion.as_ref())?, table, alias)
            }
            _ => return Err(Error::internal("neither PIVOT nor UNPIVOT")),
        };
        // Of what stands for it, nothing has a place in the statement.
        let position = self.text.factor_position(table);
        let bound = self.query(&query).map_err(|error| match error.position() {
            None => error.at(position),
            Some(_) => error,
        })?;
        let item = self.derived(bound, alias.as_ref(), None)?;
        self.read_by_lock(item, Some(LockableRows::Derived))
    }
}

impl Binder<'_> {
    /// The columns that UNPIVOT names, those that COLUMNS(...) chooses among them.
    fn each_unpivoted(&mut self, table: &TableFactor, columns: &[ExprWithAlias]) -> Result<Vec<ExprWithAlias>> {
        if columns.iter().all(|column| matches!(column.expr, Expr::Identifier(_))) {
            return Ok(columns.to_vec());
        }
        // Only its columns are wanted: it is bound once more where it stands.
        let plan = self.plan.clone();
        let scope = self.factor(table, &Scope::default()).map(|item| item.scope);
        self.plan = plan;
        let scope = scope?;
        let mut all = Vec::new();
        for column in columns {
            let named =
                |name: String| ExprWithAlias { expr: Expr::Identifier(Ident::with_quote('"', name)), alias: None };
            match self.seeing(&scope, |b| b.each_column(&column.expr))? {
                Some(each) => all.extend(each.into_iter().map(|(name, _)| named(name))),
                None => all.push(column.clone()),
            }
        }
        Ok(all)
    }
}

/// Whether a query has a PIVOT whose columns come from values that there are.
pub(super) fn finds_values(query: &Query) -> bool {
    walk::has_node(query, |node| {
        matches!(node, Node::Factor(TableFactor::Pivot { value_source: PivotValueSource::Any(_), .. }))
    })
}

impl Binder<'_> {
    /// The values that a column of an item of FROM has when the statement is bound, in the order of their texts: a query of their own
    /// tells, as the columns of a result are known before its rows.
    fn values_there(&mut self, table: &TableFactor, column: &Expr) -> Result<PivotValueSource> {
        let mut query = parsed("SELECT DISTINCT CAST(c AS text) FROM t WHERE c IS NOT NULL ORDER BY 1")?;
        let select = select_of(&mut query)?;
        select.projection = vec![SelectItem::UnnamedExpr(Expr::Cast {
            kind: ast::CastKind::Cast,
            expr: Box::new(column.clone()),
            data_type: ast::DataType::Text,
            format: None,
        })];
        select.selection = Some(Expr::IsNotNull(Box::new(column.clone())));
        put(select, table);
        let position = self.text.factor_position(table);
        let mut alone = Binder::new(self.text.positions, self.resolver, self.arguments.parameters);
        let visible = self.names.environment.iter().map(CteBinding::alone).collect::<Option<_>>();
        let Some(visible) = visible else {
            return unsupported(
                "PIVOT without a list of values within a WITH that is recursive or changes data",
                position,
            );
        };
        alone.names.environment = visible;
        let plan = alone.plan_of(&query).map_err(|error| match error.position() {
            None => error.at(position),
            Some(_) => error,
        })?;
        let values = self.resolver.first_column(plan).map_err(|e| e.at(position))?;
        if values.len() > MOST_VALUES {
            let message = format!("PIVOT would make {} columns, more than {MOST_VALUES}", values.len());
            return Err(Error::new(SqlState::PROGRAM_LIMIT, message).at(position));
        }
        let value = |value: Value| match value {
            Value::Str(text) => {
                let expr = Expr::value(ast::Value::SingleQuotedString(text.to_string()));
                Some(ExprWithAlias { expr, alias: None })
            }
            _ => None,
        };
        Ok(PivotValueSource::List(values.into_iter().filter_map(value).collect()))
    }
}

/// The query that a PIVOT stands for, of the table that it stands behind.
fn pivot(
    table: &TableFactor,
    aggregates: &[ExprWithAlias],
    column: &[Expr],
    values: &PivotValueSource,
) -> Result<Query> {
    let ([column], PivotValueSource::List(values)) = (column, values) else {
        return unsupported("PIVOT for anything but listed values of one column", None);
    };
    let mut named = Named::default();
    let mut known = HashSet::new();
    named.add(column);
    aggregates.iter().for_each(|aggregate| named.add(&aggregate.expr));
    named.0.retain(|ident| known.insert(fold(ident)));
    let mut query = parsed(&format!("SELECT * EXCLUDE ({}) FROM t GROUP BY ALL", list(&named.0)))?;
    let select = select_of(&mut query)?;
    for value in values {
        let called = value.alias.as_ref().map_or_else(|| value_name(&value.expr), |alias| alias.value.clone());
        for aggregate in aggregates {
            let name = match (&aggregate.alias, aggregates.len()) {
                (Some(alias), _) => format!("{called}_{}", alias.value),
                (None, 1) => called.clone(),
                (None, _) => format!("{called}_{}", aggregate.expr),
            };
            let expr = filtered(&aggregate.expr, column, &value.expr)?;
            select.projection.push(SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) });
        }
    }
    put(select, table);
    Ok(query)
}

/// The query that an UNPIVOT stands for, of the table that it stands behind.
fn unpivot(
    table: &TableFactor,
    value: &Expr,
    name: &Ident,
    columns: &[ExprWithAlias],
    nulls: Option<&NullInclusion>,
) -> Result<Query> {
    let Expr::Identifier(value) = value else { return unsupported("UNPIVOT of several columns at once", None) };
    let mut names = Vec::with_capacity(columns.len());
    let mut rows = Vec::with_capacity(columns.len());
    for column in columns {
        let (Expr::Identifier(of), alias) = (&column.expr, &column.alias) else {
            return unsupported("UNPIVOT of anything but columns", None);
        };
        names.push(of.clone());
        let called = alias.as_ref().map_or_else(|| fold(of), |alias| alias.value.clone());
        rows.push(vec![Expr::value(ast::Value::SingleQuotedString(called)), column.expr.clone()]);
    }
    let wanted = match nulls {
        Some(NullInclusion::IncludeNulls) => String::new(),
        _ => format!(" WHERE \"{ROWS}\".{}", quoted(value)) + " IS NOT NULL",
    };
    let columns = list(&[name.clone(), value.clone()]);
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

/// The aggregate of the rows whose column has a value.
fn filtered(aggregate: &Expr, column: &Expr, value: &Expr) -> Result<Expr> {
    let Expr::Function(function) = aggregate else {
        return unsupported(format!("{aggregate} in PIVOT, where an aggregate has to stand,"), None);
    };
    let is_value = Expr::IsNotDistinctFrom(Box::new(column.clone()), Box::new(value.clone()));
    let mut function = function.clone();
    function.filter = Some(Box::new(match function.filter.take() {
        Some(filter) => {
            let (left, right) = (Box::new(Expr::Nested(filter)), Box::new(is_value));
            Expr::BinaryOp { left, op: BinaryOperator::And, right }
        }
        None => is_value,
    }));
    Ok(Expr::Function(function))
}

/// What the column for a value is called.
fn value_name(value: &Expr) -> String {
    match value {
        Expr::Value(value) => value.value.clone().into_string().unwrap_or_else(|| value.to_string()),
        other => other.to_string(),
    }
}

fn quoted(ident: &Ident) -> String {
    Ident::with_quote('"', fold(ident)).to_string()
}

fn list(names: &[Ident]) -> String {
    names.iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// A query of which nothing has a place in the statement.
fn parsed(text: &str) -> Result<Query> {
    let wrong = |error: &dyn std::fmt::Display| Error::internal(format!("{text}: {error}"));
    let tokens = Tokenizer::new(&MorselDialect, text).tokenize().map_err(|e| wrong(&e))?;
    let query = Parser::new(&MorselDialect).with_tokens(tokens).parse_query().map_err(|e| wrong(&e))?;
    Ok(*query)
}

fn select_of(query: &mut Query) -> Result<&mut ast::Select> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Ok(select),
        _ => Err(Error::internal("a query that is no SELECT")),
    }
}

/// Puts the table in the first place of FROM.
fn put(select: &mut ast::Select, table: &TableFactor) {
    if let Some(from) = select.from.first_mut() {
        from.relation = table.clone();
    }
}
