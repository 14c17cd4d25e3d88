//! PIVOT and UNPIVOT in FROM, which are queries of what they stand behind:
//!
//! ```sql
//! t PIVOT (sum(x) FOR c IN (1, 2))   -- SELECT * EXCLUDE (x, c), sum(x) FILTER (WHERE c = 1) AS "1", ... FROM t GROUP BY ALL
//! t UNPIVOT (v FOR n IN (a, b))      -- SELECT * EXCLUDE (a, b) FROM t, LATERAL (VALUES ('a', a), ('b', b)) AS u (n, v) WHERE v IS NOT NULL
//! ```

use std::collections::HashSet;

use base::{Error, Result, SqlState};
use sqlparser::ast::TableFactor;
use sqlparser::ast::{self, Expr, ExprWithAlias, Ident, PivotValueSource, Query, SelectItem};
use types::Value;

use super::conjunction::both;
use super::expr::is_aggregate;
use super::from::FromItem;
use super::scope::{CteBinding, LockableRows, Scope};
use super::unpivot::{list, names_of, parsed, put, select_of, unpivot};
use super::{Binder, fold, unsupported};
use crate::parse::pivot::{AGGREGATE, COLUMN, GROUP, NAMED, Named};
use crate::walk::{self, Node};

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
                let mut pivot = Pivot::of(aggregate_functions, value_column, value_source)?;
                for column in pivot.columns.iter_mut().filter(|column| column.values.is_none()) {
                    column.values = Some(self.values_there(table, &column.expr)?);
                }
                (pivot.query(table)?, table, alias)
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
        if columns.iter().all(|column| names_of(&column.expr).is_ok()) {
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
                Some(each) => all.extend(each.into_iter().map(|each| named(each.name))),
                None => all.push(column.clone()),
            }
        }
        Ok(all)
    }
}

/// Whether a query has a PIVOT whose columns come from values that there are.
pub(super) fn finds_values(query: &Query) -> bool {
    walk::has_node(query, |node| match node {
        Node::Factor(TableFactor::Pivot { aggregate_functions, value_column, value_source, .. }) => {
            Pivot::of(aggregate_functions, value_column, value_source)
                .is_ok_and(|pivot| pivot.columns.iter().any(|column| column.values.is_none()))
        }
        _ => false,
    })
}

impl Binder<'_> {
    /// The values that a column of an item of FROM has when the statement is bound, in the order of their texts: a query of their own
    /// tells, as the columns of a result are known before its rows.
    fn values_there(&mut self, table: &TableFactor, column: &Expr) -> Result<Vec<ExprWithAlias>> {
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
        Ok(values.into_iter().filter_map(value).collect())
    }
}

/// A column whose values make columns.
struct Column {
    expr: Expr,
    /// None where the rows tell.
    values: Option<Vec<ExprWithAlias>>,
}

/// What a PIVOT says.
struct Pivot {
    aggregates: Vec<ExprWithAlias>,
    columns: Vec<Column>,
    /// What makes groups; if there is nothing, all columns that it does not name.
    keys: Vec<Expr>,
}

impl Pivot {
    fn of(aggregates: &[ExprWithAlias], columns: &[Expr], source: &PivotValueSource) -> Result<Self> {
        let aggregates = aggregates.iter().map(|aggregate| match carried(&aggregate.expr, AGGREGATE) {
            Some(arguments) => ExprWithAlias { expr: arguments[0].clone(), alias: aggregate.alias.clone() },
            None => aggregate.clone(),
        });
        let mut pivot = Self { aggregates: aggregates.collect(), columns: Vec::new(), keys: Vec::new() };
        for column in columns {
            if let Some(key) = carried(column, GROUP) {
                pivot.keys.extend(key.first().cloned());
            } else if let Some(parts) = carried(column, COLUMN)
                && let Some((expr, values)) = parts.split_first()
            {
                let values = values.iter().map(named_value).collect::<Vec<_>>();
                pivot.columns.push(Column { expr: expr.clone(), values: (!values.is_empty()).then_some(values) });
            } else {
                let values = match source {
                    _ if columns.len() > 1 => return unsupported("PIVOT for a list of columns", None),
                    PivotValueSource::List(values) => Some(values.clone()),
                    PivotValueSource::Any(_) => None,
                    PivotValueSource::Subquery(_) => return unsupported("PIVOT for the values of a query", None),
                };
                pivot.columns.push(Column { expr: column.clone(), values });
            }
        }
        Ok(pivot)
    }

    /// The query that it stands for, of the table that it stands behind.
    fn query(&self, table: &TableFactor) -> Result<Query> {
        let mut named = Named::default();
        let mut known = HashSet::new();
        self.columns.iter().for_each(|column| named.add(&column.expr));
        self.aggregates.iter().for_each(|aggregate| named.add(&aggregate.expr));
        named.0.retain(|ident| known.insert(fold(ident)));
        let text = match self.keys.is_empty() {
            true => format!("SELECT * EXCLUDE ({}) FROM t GROUP BY ALL", list(&named.0)),
            false => "SELECT 1 FROM t GROUP BY ALL".to_owned(),
        };
        let mut query = parsed(&text)?;
        let select = select_of(&mut query)?;
        if !self.keys.is_empty() {
            select.projection = self.keys.iter().cloned().map(SelectItem::UnnamedExpr).collect();
        }
        for (called, condition) in self.combinations()? {
            for aggregate in &self.aggregates {
                let name = match (&aggregate.alias, self.aggregates.len()) {
                    (Some(alias), _) => format!("{called}_{}", alias.value),
                    (None, 1) => called.clone(),
                    (None, _) => format!("{called}_{}", aggregate.expr),
                };
                let expr = filtered(&aggregate.expr, &condition)?;
                select.projection.push(SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) });
            }
        }
        put(select, table);
        Ok(query)
    }

    /// Each combination of the columns' values: what it is called, and whether a row has it.
    fn combinations(&self) -> Result<Vec<(String, Expr)>> {
        let mut all: Vec<(String, Option<Expr>)> = vec![(String::new(), None)];
        for column in &self.columns {
            let values = column.values.as_deref().unwrap_or_default();
            if all.len().saturating_mul(values.len()) > MOST_VALUES {
                let message = format!("PIVOT would make more than {MOST_VALUES} columns");
                return Err(Error::new(SqlState::PROGRAM_LIMIT, message));
            }
            let mut more = Vec::with_capacity(all.len() * values.len());
            for (before, condition) in &all {
                for value in values {
                    let own = value.alias.as_ref().map_or_else(|| value_name(&value.expr), |alias| alias.value.clone());
                    let name = if condition.is_none() { own } else { format!("{before}_{own}") };
                    let is_value = Expr::IsNotDistinctFrom(
                        Box::new(Expr::Nested(Box::new(column.expr.clone()))),
                        Box::new(value.expr.clone()),
                    );
                    more.push((name, Some(both(condition.clone(), is_value))));
                }
            }
            all = more;
        }
        Ok(all.into_iter().filter_map(|(name, condition)| Some((name, condition?))).collect())
    }
}

/// The arguments of a call of what nobody can name.
fn carried(expr: &Expr, name: &str) -> Option<Vec<Expr>> {
    let Expr::Function(function) = expr else { return None };
    let [ast::ObjectNamePart::Identifier(ident)] = function.name.0.as_slice() else { return None };
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let argument = |argument: &ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    let arguments = list.args.iter().map(argument).collect::<Option<Vec<_>>>()?;
    (ident.value == name && !arguments.is_empty()).then_some(arguments)
}

/// A value with the name that it was given.
fn named_value(value: &Expr) -> ExprWithAlias {
    match carried(value, NAMED).as_deref() {
        Some([value, Expr::Identifier(name)]) => ExprWithAlias { expr: value.clone(), alias: Some(name.clone()) },
        Some([value, name]) => {
            ExprWithAlias { expr: value.clone(), alias: Some(Ident::with_quote('"', value_name(name))) }
        }
        _ => ExprWithAlias { expr: value.clone(), alias: None },
    }
}

/// An expression whose aggregates are of the rows that fulfil a condition.
fn filtered(expr: &Expr, condition: &Expr) -> Result<Expr> {
    let filter = |function: &mut ast::Function| {
        let filter = function.filter.take().map(Expr::Nested);
        function.filter = Some(Box::new(both(filter, condition.clone())));
    };
    let mut filtered = expr.clone();
    let mut count = 0;
    walk::change_each_expr(&mut filtered, |expr| {
        if let Expr::Function(function) = expr
            && function.over.is_none()
            && is_aggregate(function)
        {
            count += 1;
            filter(function);
        }
    });
    match (count, &mut filtered) {
        // One of users', perhaps.
        (0, Expr::Function(function)) => filter(function),
        (0, _) => return unsupported(format!("{expr} in PIVOT, where an aggregate has to stand,"), None),
        _ => {}
    }
    Ok(filtered)
}

/// What the column for a value is called.
fn value_name(value: &Expr) -> String {
    match value {
        Expr::Value(value) => value.value.clone().into_string().unwrap_or_else(|| value.to_string()),
        other => other.to_string(),
    }
}
