//! FROM: tables, views, files, common table expressions, subqueries.

mod function;

use std::rc::Rc;

use base::{Error, Result, SqlState, stack};
use catalog::DEFAULT_SCHEMA;
use plan::{ColumnId, ColumnInfo, Expr, JoinKind, Node, Op, TableInfo};
use sqlparser::ast::{self, ObjectNamePart, TableAlias, TableFactor, TableWithJoins};
use types::{SqlType, Value};

use super::scope::{Clause, LockableRows, PartRows, Relation, Scope, ScopeColumn};
use super::{Binder, Bound, fold, unsupported};
use crate::bind::parts::Text;
use crate::parse::only::{is_only, unmarked};
use crate::{ObjectName, Resolved, Table, parse_depth};

/// Most tables in one FROM: each is an operator on top of the ones before.
const MAX_TABLES: usize = 300;
/// Most tables in a statement, those of its views and subqueries counted each time that they are read.
const MAX_TABLES_IN_ALL: usize = 2_000;

/// A bound item of FROM: its operators and the names that it gives.
pub(super) struct FromItem {
    pub node: Node,
    pub scope: Scope,
}

impl Binder<'_> {
    /// Binds FROM inside of the current level. Later items see earlier ones if they are LATERAL.
    pub(super) fn tables_of(&mut self, from: &[TableWithJoins]) -> Result<FromItem> {
        let count: usize = from.iter().map(|t| 1 + t.joins.len()).sum();
        if count > MAX_TABLES {
            let message = format!("FROM has {count} tables, but {MAX_TABLES} is the limit");
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        let mut all: Option<FromItem> = None;
        for item in from {
            let seen = all.as_ref().map_or_else(Scope::default, |a| a.scope.clone());
            let item = self.deeper(|b| b.joined(item, &seen))?;
            all = Some(match all {
                None => item,
                Some(before) => FromItem {
                    scope: before.scope.join(item.scope),
                    node: Node::new(Op::Join {
                        kind: JoinKind::Inner,
                        left: Box::new(before.node),
                        right: Box::new(item.node),
                        condition: Vec::new(),
                        build: Default::default(),
                    }),
                },
            });
        }
        let all = all.unwrap_or_else(|| FromItem { node: one_row(), scope: Scope::default() });
        let position = from.last().and_then(|t| self.text.factor_position(&t.relation));
        all.scope.check_aliases(position)?;
        Ok(all)
    }

    /// One table; `seen` are the names that a LATERAL subquery sees.
    pub(super) fn factor(&mut self, factor: &TableFactor, seen: &Scope) -> Result<FromItem> {
        match factor {
            TableFactor::Table { name, alias, args, sample, with_ordinality, version, .. } => {
                let position = self.text.name_position(name);
                if version.is_some() {
                    return unsupported("a table version", position);
                }
                let item = match args {
                    Some(args) => {
                        let item = self.table_function(name, &args.args, alias.as_ref(), *with_ordinality, seen)?;
                        self.read_by_lock(item, Some(LockableRows::Nothing("a function")))?
                    }
                    None => self.named_table(name, alias.as_ref(), position)?,
                };
                match sample {
                    Some(sample) => Ok(FromItem { node: self.sampled(item.node, sample, position)?, ..item }),
                    None => Ok(item),
                }
            }
            TableFactor::Derived { lateral, subquery, alias, sample } => {
                let position = alias.as_ref().and_then(|a| self.text.at(&a.name));
                if sample.is_some() {
                    return unsupported("TABLESAMPLE", position);
                }
                if *lateral {
                    // The items before are what the subquery sees as the query around it.
                    let hidden = std::mem::replace(&mut self.names.level().scope, seen.clone());
                    let bound = self.query(subquery);
                    self.names.level().scope = hidden;
                    let item = self.derived(bound?, alias.as_ref(), None)?;
                    return self.read_by_lock(item, Some(LockableRows::Derived));
                }
                let bound = self.query(subquery)?;
                let item = self.derived(bound, alias.as_ref(), None)?;
                self.read_by_lock(item, Some(LockableRows::Derived))
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let item = self.deeper(|b| b.joined(table_with_joins, seen))?;
                match alias {
                    None => Ok(item),
                    Some(alias) => {
                        let relation = Relation { name: None, columns: item.scope.visible, ..Relation::default() };
                        Ok(FromItem { node: item.node, scope: Scope::of(self.text.aliased(relation, Some(alias))?) })
                    }
                }
            }
            TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                let item = self.table_function(name, args, alias.as_ref(), *with_ordinality, seen)?;
                self.read_by_lock(item, Some(LockableRows::Nothing("a function")))
            }
            TableFactor::UNNEST { alias, array_exprs, with_offset: false, with_ordinality, .. } => {
                let item = self.unnest_from("unnest", array_exprs, alias.as_ref(), *with_ordinality, seen)?;
                self.read_by_lock(item, Some(LockableRows::Nothing("a function")))
            }
            TableFactor::Pivot { .. } | TableFactor::Unpivot { .. } => self.pivoted(factor),
            other => {
                let text: String = other.to_string().chars().take(60).collect();
                unsupported(format!("{text} in FROM"), None)
            }
        }
    }

    /// Notes what a query reads that locks rows.
    pub(super) fn read_by_lock(&mut self, mut item: FromItem, rows: Option<LockableRows>) -> Result<FromItem> {
        let name = item.scope.relations.first().and_then(|relation| relation.name.as_deref());
        self.lockable(name, &mut item.node, rows)?;
        Ok(item)
    }

    /// A subquery's output as a relation; `name` is used if there is no alias.
    pub(super) fn derived(&mut self, bound: Bound, alias: Option<&TableAlias>, name: Option<&str>) -> Result<FromItem> {
        let bound = self.plan.with_known_types(bound);
        let columns = bound.output.iter().map(|o| ScopeColumn { name: o.name.clone(), column: o.column }).collect();
        let relation = Relation { name: name.map(str::to_owned), columns, ..Relation::default() };
        Ok(FromItem { node: bound.node, scope: Scope::of(self.text.aliased(relation, alias)?) })
    }

    fn named_table(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&TableAlias>,
        position: Option<u32>,
    ) -> Result<FromItem> {
        if let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() {
            if ident.quote_style == Some('\'') {
                return self.scan_files("", std::slice::from_ref(&ident.value), Vec::new(), alias, position);
            }
            let wanted = fold(ident);
            if let Some(index) = self.names.environment.iter().rposition(|c| c.name == wanted) {
                let item = match self.names.environment[index].recursing {
                    Some(_) => self.working_scan(index, alias, position)?,
                    None => self.common_table(index, alias, position)?,
                };
                return self.read_by_lock(item, Some(LockableRows::Nothing("a WITH query")));
            }
        }
        let is_only = is_only(name);
        let mut name = self.text.object_name(name)?;
        let is_temporary = self.resolver.is_temporary(&name);
        if self.limits.in_shared_view && is_temporary {
            // A view means what it meant when it was made.
            name.schema = Some(DEFAULT_SCHEMA.to_owned());
        }
        let resolved = self.resolver.table(&name).map_err(|e| self.with_table_hint(e, &name).at(position))?;
        let known = |read: &ObjectName| (&read.schema, &read.name) == (&name.schema, &name.name);
        if !self.limits.in_view() && !self.reads.iter().any(known) {
            self.reads.push(self.resolver.placed(&name));
        }
        match resolved {
            Resolved::Table(table) => {
                if !is_only && table.children().is_some() {
                    let item = self.scan_with_children(table, &name, alias)?;
                    return self.read_by_lock(item, Some(LockableRows::Derived));
                }
                let number = self.resolver.number_of(&name);
                let mut item = self.scan(table, Some(&name.name), alias)?;
                item.scope.relations.iter_mut().for_each(|relation| relation.number = number);
                self.read_by_lock(item, None)
            }
            Resolved::View { sql, columns, path, .. } => {
                let around = self.limits.in_shared_view;
                self.limits.in_shared_view |= !is_temporary;
                let session = self.resolver.set_search_path(path);
                let item = self.view(&name, &sql, columns, alias, position);
                self.resolver.set_search_path(session);
                self.limits.in_shared_view = around;
                self.read_by_lock(item?, Some(LockableRows::Derived))
            }
        }
    }

    fn with_table_hint(&self, error: Error, name: &ObjectName) -> Error {
        if error.state() != SqlState::UNDEFINED_TABLE || error.get_hint().is_some() {
            return error;
        }
        let names = self.resolver.table_names();
        let known = names.iter().map(String::as_str).chain(self.names.environment.iter().map(|c| c.name.as_str()));
        match catalog::nearest_name(&name.name, known) {
            Some(near) => error.hint(format!("perhaps you meant \"{near}\"")),
            None => error,
        }
    }

    /// Reads all columns of a table; those not needed are pruned later.
    pub(super) fn scan(&mut self, table: Table, name: Option<&str>, alias: Option<&TableAlias>) -> Result<FromItem> {
        if self.plan.tables.len() >= MAX_TABLES_IN_ALL {
            let message =
                format!("the statement reads more than {MAX_TABLES_IN_ALL} tables, counting those of its views");
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message)
                .hint("store a part of it with CREATE TABLE ... AS, and read that"));
        }
        let name = name.unwrap_or(&table.name).to_owned();
        let mut columns: Vec<(usize, ColumnId)> = Vec::with_capacity(table.fields.len());
        let mut named = Vec::with_capacity(table.fields.len());
        for (attribute, field) in table.fields.iter().enumerate() {
            let info = ColumnInfo { name: field.name.clone(), sql_type: field.sql_type, nullable: field.nullable };
            let column = self.plan.columns.push(info);
            columns.push((attribute, column));
            named.push(ScopeColumn { name: field.name.clone(), column });
        }
        for (attribute, collation) in &table.collations {
            self.plan.collations.insert(columns[*attribute].1, collation.clone());
        }
        let computed = self.computed_columns(&table, &named, &mut columns)?;
        let is_stored = !table.fillings.is_empty();
        let behind = table.computed.into_iter().map(|computed| computed.field);
        let table = self.plan.tables.push(TableInfo {
            name: name.clone(),
            fields: table.fields.into_iter().chain(behind).collect(),
            computed,
            statistics: table.statistics,
            source: table.source,
        });
        if is_stored {
            self.plan.stored.insert(table);
            self.plan.row_ids.insert(table, Default::default());
        }
        let rows = is_stored.then_some(table);
        let relation = Relation { name: Some(name), columns: named, rows, ..Relation::default() };
        let relation = self.text.aliased(relation, alias)?;
        let node = Node::new(Op::Scan { table, columns, predicates: Vec::new() });
        Ok(FromItem { node, scope: Scope::of(relation) })
    }

    /// A view is bound where it is used, seeing nothing of the query around it.
    fn view(
        &mut self,
        name: &ObjectName,
        sql: &str,
        columns: Vec<String>,
        alias: Option<&TableAlias>,
        position: Option<u32>,
    ) -> Result<FromItem> {
        let levels_of_text = parse_depth(sql);
        let query = stack::with_room(levels_of_text, || view_query(sql))?;
        let query = query.map_err(|e| view_error(e, name).at(position))?;
        self.limits.enter_view(name).map_err(|e| e.at(position))?;
        let names = std::mem::take(&mut self.names);
        let positions = self.text.positions.take();
        let parameters = std::mem::take(&mut self.arguments.parameters);
        let bound = self.deeper(|b| stack::with_room(levels_of_text, || b.query(&query))?);
        self.arguments.parameters = parameters;
        self.text.positions = positions;
        self.names = names;
        self.limits.leave_view();
        let mut bound = bound.map_err(|e| view_error(e, name).at(position))?;
        // Columns that its tables have got since are not its.
        if !columns.is_empty() {
            bound.output.truncate(columns.len());
        }
        for (output, name) in bound.output.iter_mut().zip(columns) {
            output.name = name;
        }
        self.derived(bound, alias, Some(&name.name))
    }

    /// A reference to a common table expression.
    pub(super) fn common_table(
        &mut self,
        index: usize,
        alias: Option<&TableAlias>,
        position: Option<u32>,
    ) -> Result<FromItem> {
        let name = self.names.environment[index].name.clone();
        if let Some(PartRows { number, fields }) = self.names.environment[index].part.clone() {
            let Some(fields) = fields else {
                let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
            };
            let table = self.resolver.rows_of_part(number, fields)?;
            return self.scan(table, Some(&name), alias);
        }
        if self.names.environment[index].inline {
            let bound = self.cte_query(index).map_err(|e| e.at(position))?;
            return self.derived(bound, alias, Some(&name));
        }
        let Some((cte, definition)) = self.materialised(index)? else {
            let bound = self.cte_query(index)?;
            return self.derived(bound, alias, Some(&name));
        };
        let (mut columns, mut named) = (Vec::<(ColumnId, ColumnId)>::new(), Vec::new());
        for (name, from) in definition {
            let column = match columns.iter().find(|(f, _)| *f == from) {
                Some(&(_, column)) => column,
                None => {
                    let nullable = self.plan.is_nullable_column(from);
                    let sql_type = self.plan.columns[from].sql_type;
                    let column = self.plan.columns.push(ColumnInfo { name: name.clone(), sql_type, nullable });
                    if let Some(kind) = self.plan.registered.get(&from).copied() {
                        self.plan.registered.insert(column, kind);
                    }
                    columns.push((from, column));
                    column
                }
            };
            named.push(ScopeColumn { name, column });
        }
        let relation =
            self.text.aliased(Relation { name: Some(name), columns: named, ..Relation::default() }, alias)?;
        Ok(FromItem { node: Node::new(Op::CteScan { cte, columns }), scope: Scope::of(relation) })
    }

    /// Binds the query of a common table expression, in the scope of its definition, and names its output.
    pub(super) fn cte_query(&mut self, index: usize) -> Result<Bound> {
        let binding = &self.names.environment[index];
        let query = Rc::clone(&binding.query);
        let (levels, visible) = (binding.levels, binding.visible);
        let hidden_levels = self.names.levels.split_off(levels.min(self.names.levels.len()));
        let hidden_ctes = self.names.environment.split_off(visible.min(self.names.environment.len()));
        let bound = self.deeper(|b| b.query(&query));
        self.names.environment.extend(hidden_ctes);
        self.names.levels.extend(hidden_levels);
        let bound = bound?;
        let mut bound = self.plan.with_known_types(bound);
        self.name_output(&mut bound, index)?;
        Ok(bound)
    }

    /// Gives the output of a common table expression's query the names that its definition says.
    pub(super) fn name_output(&mut self, bound: &mut Bound, index: usize) -> Result<()> {
        let names = self.names.environment[index].columns.clone();
        let columns = bound.output.iter().map(|o| ScopeColumn { name: o.name.clone(), column: o.column }).collect();
        let mut relation =
            Relation { name: Some(self.names.environment[index].name.clone()), columns, ..Relation::default() };
        self.text.rename_columns(&mut relation, &names.iter().collect::<Vec<_>>())?;
        for (output, renamed) in bound.output.iter_mut().zip(relation.columns) {
            output.name = renamed.name;
        }
        Ok(())
    }

    /// The id and output of a materialised common table expression; none if it has correlated references and must be
    /// inlined after all.
    #[allow(clippy::type_complexity)]
    pub(super) fn materialised(&mut self, index: usize) -> Result<Option<(plan::CteId, Vec<(String, ColumnId)>)>> {
        if let Some(done) = &self.names.environment[index].materialised {
            return Ok(Some(done.clone()));
        }
        if self.names.environment[index].recursive {
            let done = self.recursive_query(index)?;
            self.names.environment[index].materialised = Some(done.clone());
            return Ok(Some(done));
        }
        let bound = self.cte_query(index)?;
        if !bound.node.free_columns().is_empty() {
            self.names.environment[index].inline = true;
            return Ok(None);
        }
        let output: Vec<(String, ColumnId)> = bound.output.into_iter().map(|o| (o.name, o.column)).collect();
        let mut columns: Vec<ColumnId> = output.iter().map(|&(_, c)| c).collect();
        columns.sort_unstable();
        columns.dedup();
        let name = self.names.environment[index].name.clone();
        let cte = self.plan.ctes.push(plan::Cte { name, plan: bound.node, columns });
        self.names.environment[index].materialised = Some((cte, output.clone()));
        Ok(Some((cte, output)))
    }

    /// The value of an expression that must be constant.
    pub(super) fn constant(&mut self, expr: &ast::Expr, what: &str) -> Result<Value> {
        self.typed_constant(expr, what).map(|(value, _)| value)
    }

    /// A constant and its type.
    pub(super) fn typed_constant(&mut self, expr: &ast::Expr, what: &str) -> Result<(Value, SqlType)> {
        // A bare word is taken as text: `compression = zstd`.
        if let ast::Expr::Identifier(word) = expr {
            return Ok((Value::str(fold(word)), SqlType::Text));
        }
        let position = self.text.start(expr);
        self.names.levels.push(super::scope::Level::new(Clause::From));
        let bound = self.expr(expr);
        self.names.levels.pop();
        let bound = bound?;
        match bound.kind {
            plan::ExprKind::Const(value) => Ok((value, bound.sql_type)),
            _ => unsupported(format!("anything but a constant as {what}"), position),
        }
    }
}

impl Text<'_> {
    pub(super) fn factor_position(&self, factor: &TableFactor) -> Option<u32> {
        let alias = match factor {
            TableFactor::Table { alias, name, .. } => {
                return alias.as_ref().and_then(|a| self.at(&a.name)).or_else(|| self.name_position(name));
            }
            TableFactor::Derived { alias, .. } | TableFactor::NestedJoin { alias, .. } => alias,
            _ => return None,
        };
        alias.as_ref().and_then(|a| self.at(&a.name))
    }

    /// Applies `AS name (columns)`.
    pub(super) fn aliased(&self, mut relation: Relation, alias: Option<&TableAlias>) -> Result<Relation> {
        let Some(alias) = alias else { return Ok(relation) };
        relation.name = Some(self.alias(&alias.name)?);
        let names: Vec<&ast::Ident> = alias.columns.iter().map(|c| &c.name).collect();
        self.rename_columns(&mut relation, &names)?;
        Ok(relation)
    }

    /// A name given with AS. The parser takes strings too.
    pub(super) fn alias(&self, ident: &ast::Ident) -> Result<String> {
        if ident.quote_style == Some('\'') {
            let message = format!("syntax error at or near \"'{}'\"", ident.value);
            return Err(Error::new(SqlState::SYNTAX_ERROR, message)
                .hint("names are quoted with double quotes; strings continue only on another line")
                .at(self.at(ident)));
        }
        Ok(fold(ident))
    }

    pub(super) fn rename_columns(&self, relation: &mut Relation, names: &[&ast::Ident]) -> Result<()> {
        if names.len() > relation.columns.len() {
            let message = format!(
                "table \"{}\" has {} columns available but {} columns specified",
                relation.name.as_deref().unwrap_or_default(),
                relation.columns.len(),
                names.len()
            );
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(self.at(names[0])));
        }
        for (column, name) in relation.columns.iter_mut().zip(names) {
            column.name = fold(name);
        }
        Ok(())
    }

    /// A name of one or two parts (three, if the first is the database).
    pub(super) fn object_name(&self, name: &ast::ObjectName) -> Result<ObjectName> {
        let position = self.name_position(name);
        let mut parts = Vec::new();
        for part in unmarked(name) {
            match part {
                ObjectNamePart::Identifier(ident) => parts.push(fold(ident)),
                ObjectNamePart::Function(_) => return unsupported("a function that makes a name", position),
            }
        }
        match parts.len() {
            1 | 2 => {
                let name = parts.pop().unwrap_or_default();
                Ok(ObjectName { schema: parts.pop(), name, position })
            }
            _ => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "improper qualified name (too many dotted names)").at(position))
            }
        }
    }
}

/// SELECT without FROM: one row without columns.
pub(super) fn one_row() -> Node {
    Node::new(Op::Values { columns: Vec::new(), rows: vec![Vec::<Expr>::new()] })
}

/// The query of a view's text.
fn view_query(sql: &str) -> Result<Box<ast::Query>> {
    let parsed = crate::parse(sql)?;
    match parsed.ast {
        crate::parse::Ast::Library(statement) => match *statement {
            ast::Statement::Query(query) => Ok(query),
            _ => Err(Error::internal("the text of a view is no query")),
        },
        _ => Err(Error::internal("the text of a view is no query")),
    }
}

/// An error inside of a view: its position is in another text.
fn view_error(error: Error, view: &ObjectName) -> Error {
    let mut outside = Error::new(error.state(), error.message()).detail(match error.get_detail() {
        Some(detail) => format!("{detail}; in the view \"{view}\""),
        None => format!("in the view \"{view}\""),
    });
    if let Some(hint) = error.get_hint() {
        outside = outside.hint(hint);
    }
    outside
}

/// A table as FROM names it.
pub(super) fn table_factor(name: &ast::ObjectName) -> TableFactor {
    TableFactor::Table {
        name: name.clone(),
        alias: None,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}
