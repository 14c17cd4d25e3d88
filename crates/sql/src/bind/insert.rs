//! INSERT.

use base::{Error, Result, SqlState};
use catalog::{Event, Filling};
use plan::{Expr, Node, Op};
use sqlparser::ast::{self, ObjectNamePart, SetExpr, TableObject};
use types::{SqlType, Value};

use super::{Binder, Bound, Output, fold, unsupported};
use crate::bind::change::view_name;
use crate::bind::coerce::assign;
use crate::bind::parts::Text;
use crate::parse::{Or, Overriding};
use crate::{Change, ChangeKind, Insert, ObjectName, Statement, Table};

/// A column that INSERT fills.
pub(super) struct Target {
    pub name: String,
    pub sql_type: SqlType,
    /// Which column of the table.
    pub attribute: usize,
    pub filling: Filling,
}

impl Target {
    /// Refuses a value for a column that is computed: 428C9.
    pub fn check_given(&self, overriding: Option<Overriding>) -> Result<()> {
        let name = &self.name;
        let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
        let error = Error::new(SqlState::GENERATED_ALWAYS, message);
        match &self.filling {
            Filling::Generated(_) => Err(error.detail(format!("Column \"{name}\" is a generated column."))),
            Filling::Identity { always: true, .. } if overriding.is_none() => Err(error
                .detail(format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS."))
                .hint("Use OVERRIDING SYSTEM VALUE to override.")),
            _ => Ok(()),
        }
    }

    /// Whether a value that is given is passed over.
    fn is_passed_over(&self, overriding: Option<Overriding>) -> bool {
        overriding == Some(Overriding::User) && matches!(self.filling, Filling::Identity { .. })
    }
}

/// What OR REPLACE and OR IGNORE say as ON CONFLICT: of rows that are there, only columns that are given are replaced.
fn on_taken(or: Or, table: &Table, name: &ObjectName, given: &[usize]) -> Result<ast::OnConflict> {
    let nothing = |conflict_target| ast::OnConflict { conflict_target, action: ast::OnConflictAction::DoNothing };
    if or == Or::Ignore {
        return Ok(nothing(None));
    }
    let key = table.statistics.indexes().into_iter().find(|index| index.is_unique() && index.only.is_none());
    let Some(key) = key.map(|key| key.attributes()) else {
        let message = format!("table \"{}\" has no key by which rows could be replaced", name.name);
        return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message)
            .hint("a PRIMARY KEY or UNIQUE constraint says which row a new one replaces")
            .at(name.position));
    };
    let ident = |at: usize| table.fields.get(at).map(|field| ast::Ident::with_quote('"', field.name.clone()));
    let target: Vec<ast::Ident> = key.iter().filter_map(|&at| ident(at)).collect();
    if target.len() < key.len() {
        return unsupported("INSERT OR REPLACE into a table whose key is computed", name.position);
    }
    let is_generated = |at: usize| table.fillings.get(at).is_some_and(Filling::is_generated);
    let others = (0..table.fields.len()).filter(|at| given.contains(at) && !key.contains(at) && !is_generated(*at));
    let assignment = |column: ast::Ident| ast::Assignment {
        target: ast::AssignmentTarget::ColumnName(ast::ObjectName::from(vec![column.clone()])),
        value: ast::Expr::CompoundIdentifier(vec![ast::Ident::with_quote('"', "excluded"), column]),
    };
    let assignments: Vec<ast::Assignment> = others.filter_map(ident).map(assignment).collect();
    let target = Some(ast::ConflictTarget::Columns(target));
    if assignments.is_empty() {
        return Ok(nothing(target));
    }
    let action = ast::OnConflictAction::DoUpdate(ast::DoUpdate { assignments, selection: None });
    Ok(ast::OnConflict { conflict_target: target, action })
}

impl Binder<'_> {
    pub(super) fn insert(&mut self, insert: &ast::Insert) -> Result<Statement> {
        let position = self.text.span(insert.insert_token.0.span);
        let refused = if insert.or.is_some() || insert.replace_into || insert.ignore {
            Some("INSERT with OR, IGNORE or REPLACE")
        } else if insert.overwrite || insert.partitioned.is_some() || !insert.assignments.is_empty() {
            Some("this form of INSERT")
        } else {
            None
        };
        if let Some(what) = refused {
            return unsupported(what, position);
        }
        let TableObject::TableName(written) = &insert.table else {
            return unsupported("INSERT into a function or query", position);
        };
        let shown = self.text.object_name(written)?;
        let instead = self.instead_of(&shown, Event::Insert)?;
        let is_instead = instead.is_some();
        if is_instead && (self.insert.by_name || self.insert.or.is_some() || insert.on.is_some()) {
            return unsupported("BY NAME, OR or ON CONFLICT where triggers insert", position);
        }
        let table = match instead {
            Some(view) => view,
            None => self.base_table(&shown)?,
        };
        let name = table.stored_name(&shown);
        let (bound, targets) = self.rows_to_insert(insert, &table, &name)?;
        if is_instead {
            return self.insert_instead(bound, &targets, (&table, &shown), insert);
        }
        let bound = self.filled(bound, &targets, &table)?;
        let bound = self.before_rows(bound, (&table, &name), Event::Insert, None, &[])?;
        let bound = self.written(bound, &table, &name)?;
        let bound = self.with_computed(bound, (&table, &name), &[])?;
        if insert.on.is_none()
            && let Some(or) = self.insert.or
        {
            let given: Vec<usize> = targets.iter().map(|target| target.attribute).collect();
            let on = on_taken(or, &table, &name, &given)?;
            return self.on_conflict(bound, insert, written, (name, table), &on);
        }
        match &insert.on {
            None => self.insert_of(bound, table, name, insert),
            Some(ast::OnInsert::OnConflict(on)) => self.on_conflict(bound, insert, written, (name, table), on),
            Some(_) => unsupported("ON DUPLICATE KEY", position),
        }
    }

    /// The statement that inserts these rows, and gives something of them back.
    fn insert_of(&mut self, bound: Bound, table: Table, name: ObjectName, insert: &ast::Insert) -> Result<Statement> {
        let Some(items) = &insert.returning else {
            let source = self.plan.finish(bound)?;
            let fires = table.fires(self.resolver.placed(&name), &[Event::Insert], Vec::new());
            return Ok(Statement::Insert(Insert { name, table: table.source, source, fires }));
        };
        let alias = insert.table_alias.as_ref().map_or_else(|| shown_name(insert, &name), |alias| fold(&alias.alias));
        let Bound { node, output } = bound;
        let declared = self.as_declared(node, &output, &table)?;
        let (node, named) = self.shown_row(declared.node, &table, &declared.output)?;
        let returned = self.returning_inserted(node, &alias, &declared.output, named, items)?;
        let fields = returned.output.iter().map(|o| self.field_of(o)).collect();
        let attributes = (0..output.len()).collect();
        let output = output.into_iter().chain(returned.output).collect();
        let source = self.plan.finish(Bound { node: returned.node, output })?;
        let fires = table.fires(self.resolver.placed(&name), &[Event::Insert], Vec::new());
        let (table, kind, returning) = (table.source, ChangeKind::Insert, Some(fields));
        let change = Change { name, table, kind, attributes, source, returning, truncate: None, fires };
        Ok(Statement::Change(Box::new(change)))
    }

    /// The rows as they are given, and the columns that they are for.
    pub(super) fn rows_to_insert(
        &mut self,
        insert: &ast::Insert,
        table: &Table,
        name: &ObjectName,
    ) -> Result<(Bound, Vec<Target>)> {
        if let (false, Some(query), Some(written)) =
            (self.insert.by_name, &insert.source, self.parts_of_columns(&insert.columns)?)
        {
            let position = self.text.span(insert.insert_token.0.span);
            let source = |b: &mut Self, targets: &[Target]| b.insert_source(query, targets, true, position);
            return self.rows_of_parts(&written, (table, name), source);
        }
        let named: Vec<&ast::Ident> = insert
            .columns
            .iter()
            .map(|c| match c.0.as_slice() {
                [ObjectNamePart::Identifier(ident)] => Ok(ident),
                _ => unsupported("a qualified name among the columns of INSERT", self.text.name_position(c)),
            })
            .collect::<Result<_>>()?;
        if let (true, Some(query)) = (self.insert.by_name, &insert.source) {
            // The columns that the query's columns are named as.
            let bound = self.query(query)?;
            let ident = |output: &Output| ast::Ident::with_quote('"', output.name.clone());
            let named: Vec<ast::Ident> = bound.output.iter().map(ident).collect();
            let targets = self.text.targets(table, name, &named.iter().collect::<Vec<_>>())?;
            targets.iter().try_for_each(|target| target.check_given(None))?;
            return Ok((bound, targets));
        }
        let targets = self.text.targets(table, name, &named)?;
        let position = self.text.span(insert.insert_token.0.span);
        let bound = match &insert.source {
            // DEFAULT VALUES
            None => Bound { node: super::from::one_row(), output: Vec::new() },
            Some(query) => self.insert_source(query, &targets, !named.is_empty(), position)?,
        };
        Ok((bound, targets))
    }

    fn insert_source(
        &mut self,
        query: &ast::Query,
        targets: &[Target],
        explicit: bool,
        position: Option<u32>,
    ) -> Result<Bound> {
        let plain =
            query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none();
        let bound = match query.body.as_ref() {
            SetExpr::Values(values) if plain => self.values(&values.rows, Some(targets))?,
            _ => {
                let bound = self.query(query)?;
                let given = targets.iter().take(bound.output.len());
                given.into_iter().try_for_each(|target| target.check_given(self.insert.overriding))?;
                bound
            }
        };
        if bound.output.len() > targets.len() {
            let message = "INSERT has more expressions than target columns";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        if explicit && bound.output.len() < targets.len() {
            let message = "INSERT has more target columns than expressions";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        Ok(bound)
    }
}

/// 0A000: a column of a view that is computed.
#[cold]
fn not_updatable(column: &str, view: &str, position: Option<u32>) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot change column \"{column}\" of view \"{view}\""))
        .detail("View columns that are not columns of their base relation are not updatable.")
        .at(position)
}

/// The name by which a statement knows the table that it inserts into.
fn shown_name(insert: &ast::Insert, name: &ObjectName) -> String {
    match &insert.table {
        TableObject::TableName(written) => match written.0.last() {
            Some(ObjectNamePart::Identifier(ident)) => fold(ident),
            _ => name.name.clone(),
        },
        _ => name.name.clone(),
    }
}

impl Text<'_> {
    /// The columns that are named, or all.
    pub(super) fn targets(&self, table: &Table, name: &ObjectName, idents: &[&ast::Ident]) -> Result<Vec<Target>> {
        let target = |attribute: usize| Target {
            name: table.fields[attribute].name.clone(),
            sql_type: table.fields[attribute].sql_type,
            attribute,
            filling: table.fillings.get(attribute).cloned().unwrap_or(Filling::NULL),
        };
        if idents.is_empty() {
            return match &table.view {
                None => Ok((0..table.fields.len()).map(target).collect()),
                Some(view) => {
                    let position = name.position;
                    let of = |(name, attribute): &(String, Option<usize>)| {
                        attribute.map(target).ok_or_else(|| not_updatable(name, view_name(view), position))
                    };
                    view.columns.iter().map(of).collect()
                }
            };
        }
        let mut targets: Vec<Target> = Vec::with_capacity(idents.len());
        for ident in idents {
            let wanted = fold(ident);
            let shown = match &table.view {
                Some(view) => match view.attribute(ident) {
                    Some(None) => return Err(not_updatable(&wanted, view_name(view), self.at(ident))),
                    found => Some(found.flatten()),
                },
                None => None,
            };
            let by = |exact: bool| {
                table.fields.iter().position(|f| {
                    if exact {
                        f.name == wanted
                    } else {
                        ident.quote_style.is_none() && f.name.to_lowercase() == wanted
                    }
                })
            };
            let Some(attribute) = shown.unwrap_or_else(|| by(true).or_else(|| by(false))) else {
                let message = format!("column \"{wanted}\" of relation \"{name}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(self.at(ident)));
            };
            if targets.iter().any(|t| t.attribute == attribute) {
                let message = format!("column \"{wanted}\" specified more than once");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(self.at(ident)));
            }
            targets.push(target(attribute));
        }
        Ok(targets)
    }
}

impl Binder<'_> {
    /// The source with one output column per column of the table: assigned to its type, or its default.
    pub(super) fn filled(&mut self, bound: Bound, targets: &[Target], table: &Table) -> Result<Bound> {
        let Bound { node, output: given } = bound;
        let mut computed = Vec::new();
        let mut output: Vec<Option<Output>> = vec![None; table.fields.len()];
        let overriding = self.insert.overriding;
        for (given, target) in given.into_iter().zip(targets).filter(|(_, target)| !target.is_passed_over(overriding)) {
            let from = self.plan.columns[given.column].sql_type;
            let same = from == target.sql_type || (from.is_string() && matches!(target.sql_type, SqlType::Text));
            let column = if same && given.literal.is_none() {
                given.column
            } else {
                let expr = given.literal.unwrap_or_else(|| self.plan.reference(given.column));
                let expr = assign(expr, target.sql_type, &target.name)?;
                match expr.as_column() {
                    Some(column) => column,
                    None => {
                        let column = self.plan.column_for(&target.name, &expr);
                        computed.push((column, expr));
                        column
                    }
                }
            };
            output[target.attribute] = Some(Output { name: target.name.clone(), column, literal: None });
        }
        for (attribute, field) in table.fields.iter().enumerate() {
            if output[attribute].is_none() {
                let expr = match table.fillings.get(attribute) {
                    Some(filling) => self.filling(filling, &field.name, field.sql_type)?,
                    None => Expr::constant(Value::Null, field.sql_type),
                };
                let column = self.plan.column_for(&field.name, &expr);
                computed.push((column, expr));
                output[attribute] = Some(Output { name: field.name.clone(), column, literal: None });
            }
        }
        let node = match computed.is_empty() {
            true => node,
            false => Node::new(Op::Map { input: Box::new(node), columns: computed }),
        };
        Ok(Bound { node, output: output.into_iter().flatten().collect() })
    }
}
