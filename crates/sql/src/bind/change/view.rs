//! Views that can be changed (decision 63): those whose rows are rows of one table. What a statement does to such a view it does
//! to that table, whose columns have the view's names there, and whose rows are those that the view shows.

use base::{Error, Result, SqlState};
use catalog::CheckOption;
use plan::{ColumnId, Expr, ExprKind, Node, Op};
use sqlparser::ast::{self, SelectItem, SetExpr, TableFactor};
use types::SqlType;

use crate::bind::coerce::boolean;
use crate::bind::from::FromItem;
use crate::bind::output_name::output_name;
use crate::bind::refusal::Refusal;
use crate::bind::scope::{Clause, Relation, Scope, ScopeColumn};
use crate::bind::select::filtered;
use crate::bind::{Binder, Bound, Output, fold};
use crate::parse::Ast;
use crate::walk;
use crate::{CreateView, ObjectName, Resolved, Table};

/// 44000.
const CHECK_OPTION_VIOLATION: SqlState = SqlState("44000");

/// A table as a view shows it.
#[derive(Clone, Debug)]
pub struct ViewOf {
    /// The table itself.
    pub table: ObjectName,
    /// The columns of the view: their names, and the table's columns that they are, if they are such.
    pub columns: Vec<(String, Option<usize>)>,
    /// The views between the table and this one, the nearest to the table first.
    levels: Vec<ViewLevel>,
}

/// A view over a table or another view.
#[derive(Clone, Debug)]
struct ViewLevel {
    /// Its name.
    name: String,
    /// What it calls the table or view below.
    alias: String,
    /// WHERE.
    condition: Option<String>,
    /// Its columns: names, and what they are of those below.
    columns: Vec<(String, String)>,
    /// Whether rows that it does not show are refused.
    is_checked: bool,
}

impl ViewOf {
    /// The table's column that the view calls so, by the name as it is written or in any case.
    pub(crate) fn attribute(&self, ident: &ast::Ident) -> Option<Option<usize>> {
        let wanted = fold(ident);
        let by = |exact: bool| {
            let is = |name: &str| match exact {
                true => name == wanted,
                false => ident.quote_style.is_none() && name.to_lowercase() == wanted,
            };
            self.columns.iter().find(|(name, _)| is(name)).map(|(_, attribute)| *attribute)
        };
        by(true).or_else(|| by(false))
    }
}

/// Why a view cannot be changed.
#[cold]
fn refused(name: &ObjectName, why: &str) -> Error {
    let message = format!("cannot change view \"{}\"", name.name);
    Error::new(SqlState("55000"), message)
        .detail(format!("{why} are not automatically updatable."))
        .hint("To change rows of the view, provide an INSTEAD OF trigger.")
        .at(name.position)
}

impl Binder<'_> {
    /// The table that a statement changes: that of the name, or whose rows the view of that name shows.
    pub(in crate::bind) fn base_table(&mut self, name: &ObjectName) -> Result<Table> {
        match self.resolver.table(name).map_err(|e| e.at(name.position))? {
            Resolved::Table(table) if table.definition.is_some() => {
                let message = format!("cannot change materialized view \"{}\"", name.name);
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                    .hint("REFRESH MATERIALIZED VIEW computes its rows anew")
                    .at(name.position))
            }
            Resolved::Table(table) => Ok(table),
            Resolved::View { sql, columns, path, check_option, .. } => {
                let session = self.resolver.set_search_path(path);
                let table = self.deeper(|b| b.table_below(name, &sql, &columns, check_option));
                self.resolver.set_search_path(session);
                table
            }
        }
    }

    /// A table or materialized view: 42809 for any other.
    pub(in crate::bind) fn stored_table(&mut self, name: &ObjectName) -> Result<Table> {
        match self.resolver.table(name).map_err(|e| e.at(name.position))? {
            Resolved::Table(table) => Ok(table),
            Resolved::View { .. } => {
                let message = format!("\"{name}\" is a view, not a table");
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position))
            }
        }
    }

    /// 0A000 for CHECK OPTION of a view that cannot be changed.
    pub(in crate::bind) fn check_changeable(&mut self, create: &CreateView) -> Result<()> {
        let columns: Vec<String> = create.columns.iter().map(|column| column.name.clone()).collect();
        let below = self.table_below(&create.name, &create.sql, &columns, create.check_option);
        below.map(drop).map_err(|error| match error.get_detail() {
            Some(detail) if error.state() == SqlState("55000") => {
                let message = "WITH CHECK OPTION is supported only on automatically updatable views";
                Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).hint(detail.to_owned()).at(create.name.position)
            }
            _ => error,
        })
    }

    fn table_below(
        &mut self,
        name: &ObjectName,
        sql: &str,
        columns: &[String],
        check_option: Option<CheckOption>,
    ) -> Result<Table> {
        let parsed = crate::parse(sql)?;
        let Ast::Library(statement) = &parsed.ast else { return Err(refused(name, "Views that are no queries")) };
        let ast::Statement::Query(query) = &**statement else {
            return Err(refused(name, "Views that are no queries"));
        };
        let (below, alias, select) = simple(query).map_err(|why| refused(name, why))?;
        let below = ObjectName { position: name.position, ..self.text.object_name(below)? };
        let mut table = self.base_table(&below)?;
        if table.is_partitioned() || table.children().is_some() {
            return Err(refused(name, "Views of tables that have children or partitions"));
        }
        let known: Vec<(String, Option<usize>)> = match &table.view {
            Some(view) => view.columns.clone(),
            None => table.fields.iter().enumerate().map(|(at, field)| (field.name.clone(), Some(at))).collect(),
        };
        let mut items: Vec<(String, ast::Expr)> = Vec::new();
        let column = |name: &str| ast::Expr::Identifier(ast::Ident::with_quote('"', name));
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => items.push((output_name(expr), expr.clone())),
                SelectItem::ExprWithAlias { expr, alias } => items.push((fold(alias), expr.clone())),
                SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)
                    if *options
                        == ast::WildcardAdditionalOptions {
                            wildcard_token: options.wildcard_token.clone(),
                            ..Default::default()
                        } =>
                {
                    items.extend(known.iter().map(|(name, _)| (name.clone(), column(name))));
                }
                _ => return Err(refused(name, "Views that choose among the columns of *")),
            }
        }
        // An item may stand for several columns.
        if items.len() < columns.len() {
            return Err(refused(name, "Views that choose their columns by COLUMNS"));
        }
        for ((name, _), given) in items.iter_mut().zip(columns) {
            name.clone_from(given);
        }
        items.truncate(columns.len());
        let attribute = |expr: &ast::Expr| {
            let ident = match expr {
                ast::Expr::Identifier(ident) => ident,
                ast::Expr::CompoundIdentifier(parts) => parts.last()?,
                _ => return None,
            };
            known.iter().find(|(name, _)| *name == fold(ident)).and_then(|(_, attribute)| *attribute)
        };
        let columns = items.iter().map(|(name, expr)| (name.clone(), attribute(expr))).collect();
        let (of, mut levels) = match table.view.take().map(|view| *view) {
            Some(view) => (view.table, view.levels),
            None => (self.resolver.placed(&below), Vec::new()),
        };
        if check_option == Some(CheckOption::Cascaded) {
            levels.iter_mut().for_each(|level| level.is_checked = true);
        }
        levels.push(ViewLevel {
            name: name.name.clone(),
            alias: alias.map_or_else(|| below.name.clone(), fold),
            condition: select.selection.as_ref().map(ToString::to_string),
            columns: items.into_iter().map(|(name, expr)| (name, expr.to_string())).collect(),
            is_checked: check_option.is_some(),
        });
        table.view = Some(Box::new(ViewOf { table: of, columns, levels }));
        Ok(table)
    }

    /// The rows of a table that a view shows, and the view's columns.
    pub(super) fn rows_of_view(
        &mut self,
        mut node: Node,
        table: &Table,
        view: &ViewOf,
        columns: &[ColumnId],
    ) -> Result<(Node, Vec<ScopeColumn>)> {
        let mut scope = named(table, columns);
        for level in &view.levels {
            if let Some(condition) = self.condition_of_level(level, &scope)? {
                node = filtered(node, condition);
            }
            (node, scope) = self.columns_of_level(node, level, scope)?;
        }
        Ok((node, scope))
    }

    /// The same as what a statement changes, under the view's name or the alias that it has there.
    pub(super) fn item_of_view(
        &mut self,
        item: FromItem,
        table: &Table,
        view: &ViewOf,
        columns: &[ColumnId],
        (shown, alias): (&ObjectName, Option<&ast::TableAlias>),
    ) -> Result<FromItem> {
        let (node, columns) = self.rows_of_view(item.node, table, view, columns)?;
        let name = alias.map_or_else(|| shown.name.clone(), |alias| fold(&alias.name));
        let mut relation = Relation { name: Some(name), columns, ..Relation::default() };
        if let Some(alias) = alias {
            let names: Vec<&ast::Ident> = alias.columns.iter().map(|column| &column.name).collect();
            self.text.rename_columns(&mut relation, &names)?;
        }
        Ok(FromItem { node, scope: Scope::of(relation) })
    }

    fn condition_of_level(&mut self, level: &ViewLevel, below: &[ScopeColumn]) -> Result<Option<Expr>> {
        let Some(condition) = &level.condition else { return Ok(None) };
        let scope = scope_of(level, below);
        self.kept_text(condition, Clause::Where, scope, |_, bound| boolean(bound, "WHERE")).map(Some)
    }

    fn columns_of_level(
        &mut self,
        node: Node,
        level: &ViewLevel,
        below: Vec<ScopeColumn>,
    ) -> Result<(Node, Vec<ScopeColumn>)> {
        let (mut computed, mut columns) = (Vec::new(), Vec::with_capacity(level.columns.len()));
        for (name, sql) in &level.columns {
            let value = self.kept_text(sql, Clause::Select, scope_of(level, &below), |_, bound| Ok(bound))?;
            let column = match value.as_column() {
                Some(column) => column,
                None => {
                    let column = self.plan.column_for(name, &value);
                    computed.push((column, value));
                    column
                }
            };
            columns.push(ScopeColumn { name: name.clone(), column });
        }
        let node = match computed.is_empty() {
            true => node,
            false => Node::new(Op::Map { input: Box::new(node), columns: computed }),
        };
        Ok((node, columns))
    }

    /// The rows with the assertion that the views through which they are written show them: 44000.
    pub(in crate::bind) fn shown_by_view(&mut self, bound: Bound, table: &Table) -> Result<Bound> {
        let Some(view) = &table.view else { return Ok(bound) };
        let Bound { mut node, output } = bound;
        let columns: Vec<ColumnId> = output.iter().take(table.fields.len()).map(|o| o.column).collect();
        let mut scope = named(table, &columns);
        for level in &view.levels {
            if let Some(condition) = self.condition_of_level(level, &scope)?
                && level.is_checked
            {
                let message = format!("new row violates check option for view \"{}\"", level.name);
                let refused = Refusal::default().saying(message).showing(self.texts_of_row(&output)?);
                let branches = vec![(condition, Expr::bool(true))];
                let otherwise = Box::new(refused.with(CHECK_OPTION_VIOLATION));
                let asserted = Expr::new(ExprKind::Case { branches, otherwise }, SqlType::Bool);
                node = Node::new(Op::Filter { input: Box::new(node), predicates: vec![asserted] });
            }
            (node, scope) = self.columns_of_level(node, level, scope)?;
        }
        Ok(Bound { node, output })
    }

    /// The rows with what the view computes of them, and the names by which RETURNING knows their columns.
    pub(in crate::bind) fn shown_row(
        &mut self,
        mut node: Node,
        table: &Table,
        row: &[Output],
    ) -> Result<(Node, Vec<ScopeColumn>)> {
        let Some(view) = &table.view else { return Ok((node, self.names_of_row(table, row))) };
        let columns: Vec<ColumnId> = row.iter().map(|output| output.column).collect();
        let mut scope = named(table, &columns);
        for level in &view.levels {
            (node, scope) = self.columns_of_level(node, level, scope)?;
        }
        Ok((node, scope))
    }

    /// The names by which RETURNING knows the columns of a row.
    pub(in crate::bind) fn names_of_row(&self, table: &Table, row: &[Output]) -> Vec<ScopeColumn> {
        let named = |name: &str, column| ScopeColumn { name: name.to_owned(), column };
        match &table.view {
            Some(view) => {
                let columns = view.columns.iter();
                columns.filter_map(|(name, at)| Some(named(name, row[(*at)?].column))).collect()
            }
            None => row.iter().map(|output| named(&output.name, output.column)).collect(),
        }
    }
}

/// The name of the view that a statement names.
pub(in crate::bind) fn view_name(view: &ViewOf) -> &str {
    view.levels.last().map_or("", |level| level.name.as_str())
}

impl Table {
    /// The name of the table itself, where the one that is written is that of a view.
    pub(in crate::bind) fn stored_name(&self, written: &ObjectName) -> ObjectName {
        match &self.view {
            Some(view) => ObjectName { position: written.position, ..view.table.clone() },
            None => written.clone(),
        }
    }
}

fn named(table: &Table, columns: &[ColumnId]) -> Vec<ScopeColumn> {
    let pairs = table.fields.iter().zip(columns);
    pairs.map(|(field, &column)| ScopeColumn { name: field.name.clone(), column }).collect()
}

fn scope_of(level: &ViewLevel, below: &[ScopeColumn]) -> Scope {
    let columns = below.iter().map(|c| ScopeColumn { name: c.name.clone(), column: c.column }).collect();
    Scope::of(Relation { name: Some(level.alias.clone()), columns, ..Relation::default() })
}

/// The only table or view of a query, its alias, and the rest, if each row of the query is one of that; else why not.
#[allow(clippy::type_complexity)]
fn simple(
    query: &ast::Query,
) -> std::result::Result<(&ast::ObjectName, Option<&ast::Ident>, &ast::Select), &'static str> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Err("Views containing UNION, INTERSECT, or EXCEPT");
    };
    if query.with.is_some() {
        return Err("Views containing WITH");
    }
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return Err("Views containing LIMIT or OFFSET");
    }
    if select.distinct.is_some() {
        return Err("Views containing DISTINCT");
    }
    let is_grouped = match &select.group_by {
        ast::GroupByExpr::Expressions(keys, modifiers) => !keys.is_empty() || !modifiers.is_empty(),
        ast::GroupByExpr::All(_) => true,
    };
    if is_grouped {
        return Err("Views containing GROUP BY");
    }
    if select.having.is_some() || select.qualify.is_some() {
        return Err("Views containing HAVING");
    }
    let has_call = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => makes_other_rows(expr),
        _ => false,
    };
    if select.projection.iter().any(has_call) {
        return Err("Views that return aggregate functions, window functions, or set-returning functions");
    }
    let [from] = select.from.as_slice() else { return Err("Views that do not select from a single table or view") };
    match &from.relation {
        TableFactor::Table { name, alias, args: None, sample: None, .. } if from.joins.is_empty() => match alias {
            Some(alias) if !alias.columns.is_empty() => Err("Views that rename columns of their table"),
            alias => Ok((name, alias.as_ref().map(|alias| &alias.name), select)),
        },
        _ => Err("Views that do not select from a single table or view"),
    }
}

/// Whether an expression has an aggregate, a window function, or a function that makes rows.
fn makes_other_rows(expr: &ast::Expr) -> bool {
    walk::has_expr(expr, |expr| {
        let ast::Expr::Function(function) = expr else { return false };
        let name = function.name.to_string().to_lowercase();
        let is_set = matches!(name.as_str(), "unnest" | "generate_series" | "regexp_matches");
        function.over.is_some() || is_set || functions::AggregateFunction::find(&name).is_some()
    })
}
