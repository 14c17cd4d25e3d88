//! Statements that change rows: UPDATE, DELETE, TRUNCATE, INSERT ... ON CONFLICT, MERGE, and RETURNING of all of them.
//!
//! Each is a query over the table and the ids of its rows, whose output says what becomes of which row: see [`Change`].

mod assigned;
mod conflict;
mod field;
mod instead;
mod merge;
mod parts_of_columns;
mod returning;
mod truncate;
mod view;

use base::{Error, Result};
use catalog::IndexStatistics;
use catalog::{Event, Field};
use plan::{ColumnId, Expr, JoinKind, Node, Op};
use sqlparser::ast::{self, ObjectNamePart, TableFactor, TableWithJoins, UpdateTableFromKind};

use super::from::FromItem;
use super::scope::{Clause, Level, Scope};
use super::select::filtered;
use super::{Binder, Bound, Output, fold, unsupported};
use crate::{Change, ChangeKind, Fires, ObjectName, Statement, Table};
use returning::Returning;
pub(super) use returning::Versions;
pub use view::ViewOf;
pub(super) use view::view_name;

/// The table that a statement changes, as its query reads it.
pub(super) struct Changed {
    pub name: ObjectName,
    pub table: Table,
    pub item: FromItem,
    /// Its columns, by attribute, and the ids of its rows.
    pub columns: Vec<ColumnId>,
    pub id: ColumnId,
}

impl Binder<'_> {
    /// What a statement changes: a table, maybe by another name.
    pub(super) fn changed(&mut self, factor: &TableFactor) -> Result<Changed> {
        let TableFactor::Table { name, alias, args: None, sample: None, .. } = factor else {
            return unsupported("changing anything but a table", self.text.factor_position(factor));
        };
        let shown = self.text.object_name(name)?;
        let table = self.base_table(&shown)?;
        let name = table.stored_name(&shown);
        let mut item = self.scan(table.clone(), Some(&shown.name), alias.as_ref().filter(|_| table.view.is_none()))?;
        let Op::Scan { table: number, columns, .. } = &mut item.node.op else {
            return Err(Error::internal("a table is scanned"));
        };
        let by_attribute: Vec<ColumnId> = columns.iter().map(|(_, column)| *column).collect();
        let id = self.plan.scan_row_ids(*number, columns)?;
        if let Some(view) = &table.view {
            item = self.item_of_view(item, &table, view, &by_attribute, (&shown, alias.as_ref()))?;
        }
        Ok(Changed { name, table, item, columns: by_attribute, id })
    }

    fn sole_table<'a>(&self, tables: &'a TableWithJoins) -> Result<&'a TableFactor> {
        if tables.joins.is_empty() {
            return Ok(&tables.relation);
        }
        unsupported("changing a join", self.text.factor_position(&tables.relation))
    }

    /// The rows of the table with those of other tables that satisfy a condition, in the scope of which the rest is bound.
    fn rows_to_change(
        &mut self,
        item: FromItem,
        others: &[TableWithJoins],
        condition: Option<&ast::Expr>,
    ) -> Result<Node> {
        let FromItem { mut node, mut scope } = item;
        if !others.is_empty() {
            let other = self.tables_of(others)?;
            scope = scope.join(other.scope);
            let position = others.first().and_then(|table| self.text.factor_position(&table.relation));
            scope.check_aliases(position)?;
            node = Node::new(Op::Join {
                kind: JoinKind::Inner,
                left: Box::new(node),
                right: Box::new(other.node),
                condition: Vec::new(),
                build: Default::default(),
            });
        }
        self.names.level().scope = scope;
        if let Some(condition) = condition {
            self.names.level().clause = Clause::Where;
            let condition = self.condition(condition, "WHERE")?;
            node = filtered(node, condition);
        }
        Ok(node)
    }

    pub(super) fn update(&mut self, update: &ast::Update) -> Result<Statement> {
        let position = self.text.span(update.update_token.0.span);
        if update.or.is_some() || update.output.is_some() || !update.order_by.is_empty() || update.limit.is_some() {
            return unsupported("UPDATE with OR, OUTPUT, ORDER BY or LIMIT", position);
        }
        let factor = self.sole_table(&update.table)?;
        self.at_level(|b| {
            if let Some((table, shown)) = b.view_instead(factor, Event::Update)? {
                let others: &[TableWithJoins] = match &update.from {
                    None => &[],
                    Some(UpdateTableFromKind::AfterSet(from) | UpdateTableFromKind::BeforeSet(from)) => from,
                };
                return b.update_instead(update, (factor, others), (&table, &shown));
            }
            let Changed { name, table, item, columns, id } = b.changed(factor)?;
            let others: &[TableWithJoins] = match &update.from {
                None => &[],
                Some(UpdateTableFromKind::AfterSet(from) | UpdateTableFromKind::BeforeSet(from)) => from,
            };
            let node = b.rows_to_change(item, others, update.selection.as_ref())?;
            let assigned = b.assigned(&update.assignments, (&table, &name), &columns)?;
            let (node, values) = assigned.joined(node, None);
            let set = table.names_of(values.iter().map(|(attribute, _)| *attribute));
            let fires = table.fires(b.resolver.placed(&name), &[Event::Update], set);
            let Bound { node, output } = b.updated(node, &columns, values, &table, &name)?;
            let mut attributes: Vec<usize> =
                (0..output.len()).filter(|&attribute| output[attribute].column != columns[attribute]).collect();
            let moves = table.has_key_among(&attributes);
            if moves {
                attributes = (0..output.len()).collect();
            }
            let kind = ChangeKind::Update { moves, repeats: !others.is_empty() };
            let bound = Bound { node, output };
            let returning = update.returning.as_deref().map(|items| Returning {
                items,
                columns: &columns,
                versions: Versions::Both,
            });
            b.change(name, table, (kind, fires), attributes, Some(id), bound, returning)
        })
    }

    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Result<Statement> {
        let position = self.text.span(delete.delete_token.0.span);
        if !delete.tables.is_empty() || delete.output.is_some() || !delete.order_by.is_empty() || delete.limit.is_some()
        {
            return unsupported("DELETE of several tables, or with OUTPUT, ORDER BY or LIMIT", position);
        }
        let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &delete.from;
        let [table] = from.as_slice() else { return unsupported("DELETE of several tables", position) };
        let factor = self.sole_table(table)?;
        self.at_level(|b| {
            if let Some((table, shown)) = b.view_instead(factor, Event::Delete)? {
                return b.delete_instead(delete, factor, (&table, &shown));
            }
            let Changed { name, table, item, columns, id } = b.changed(factor)?;
            let others = delete.using.as_deref().unwrap_or_default();
            let node = b.rows_to_change(item, others, delete.selection.as_ref())?;
            let output = b.row_of(&table, &columns);
            let kind = ChangeKind::Delete { repeats: !others.is_empty() };
            let fires = table.fires(b.resolver.placed(&name), &[Event::Delete], Vec::new());
            let bound = Bound { node, output };
            let bound = b.before_rows(bound, (&table, &name), Event::Delete, Some(&columns), &[])?;
            let returning = delete.returning.as_deref().map(|items| Returning {
                items,
                columns: &columns,
                versions: Versions::Old,
            });
            b.change(name, table, (kind, fires), Vec::new(), Some(id), bound, returning)
        })
    }

    /// Binds inside of a query level of its own.
    pub(super) fn at_level<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.names.levels.push(Level::new(Clause::From));
        let bound = self.deeper(bind);
        self.names.levels.pop();
        bound
    }

    fn row_of(&self, table: &Table, columns: &[ColumnId]) -> Vec<Output> {
        let named = table.fields.iter().zip(columns);
        named.map(|(field, &column)| Output { name: field.name.clone(), column, literal: None }).collect()
    }

    /// The rows as they are after an update: columns of attributes that do not change are the table's own.
    fn updated(
        &mut self,
        node: Node,
        columns: &[ColumnId],
        assigned: Vec<(usize, Expr)>,
        table: &Table,
        name: &ObjectName,
    ) -> Result<Bound> {
        let mut output = self.row_of(table, columns);
        let names = table.names_of(assigned.iter().map(|(attribute, _)| *attribute));
        let mut computed = Vec::new();
        for (attribute, value) in assigned {
            // Values as they were are values as they are: others must not be taken for the table's own.
            let column = self.plan.column_for(&table.fields[attribute].name, &value);
            computed.push((column, value));
            output[attribute].column = column;
        }
        let node = match computed.is_empty() {
            true => node,
            false => Node::new(Op::Map { input: Box::new(node), columns: computed }),
        };
        let bound = self.before_rows(Bound { node, output }, (table, name), Event::Update, Some(columns), &names)?;
        let bound = self.written(bound, table, name)?;
        self.with_computed(bound, (table, name), columns)
    }

    /// The statement whose rows are bound: what RETURNING asks for is of the row in `bound`.
    #[expect(clippy::too_many_arguments, reason = "they are the statement")]
    fn change(
        &mut self,
        name: ObjectName,
        table: Table,
        (kind, fires): (ChangeKind, Option<Fires>),
        attributes: Vec<usize>,
        id: Option<ColumnId>,
        bound: Bound,
        returning: Option<Returning<'_>>,
    ) -> Result<Statement> {
        let Bound { mut node, output: row } = bound;
        let mut output: Vec<Output> = Vec::new();
        output.extend(id.map(|column| Output { name: "row id".to_owned(), column, literal: None }));
        output.extend(attributes.iter().map(|&attribute| row[attribute].clone()));
        let mut fields = None;
        if let Some(returning) = returning {
            let declared = self.as_declared(node, &row, &table)?;
            let bound = self.returning(declared, &table, returning)?;
            node = bound.node;
            fields = Some(bound.output.iter().map(|o| self.field_of(o)).collect());
            output.extend(bound.output);
        }
        let source = self.plan.finish(Bound { node, output })?;
        let (table, returning) = (table.source, fields);
        let change = Change { name, table, kind, attributes, source, returning, truncate: None, fires };
        Ok(Statement::Change(Box::new(change)))
    }

    pub(super) fn field_of(&self, output: &Output) -> Field {
        let sql_type = self.plan.columns[output.column].sql_type;
        Field { name: output.name.clone(), sql_type, nullable: self.plan.is_nullable_column(output.column) }
    }
}

impl Table {
    /// The names of columns.
    fn names_of(&self, attributes: impl Iterator<Item = usize>) -> Vec<String> {
        attributes.map(|attribute| self.fields[attribute].name.clone()).collect()
    }

    /// Whether one of these attributes is part of a key: an index's, be it unique or not.
    fn has_key_among(&self, attributes: &[usize]) -> bool {
        let is_of = |index: IndexStatistics| {
            let mut of = index.only.into_iter().chain(index.attributes());
            of.any(|attribute| attributes.contains(&attribute))
        };
        self.statistics.indexes().into_iter().any(is_of)
    }
}

impl Scope {
    /// The same names for other columns.
    fn with_columns(mut self, from: &[ColumnId], to: &[Output]) -> Self {
        let columns = self.relations.iter_mut().flat_map(|relation| &mut relation.columns).chain(&mut self.visible);
        for column in columns {
            if let Some(at) = from.iter().position(|from| *from == column.column) {
                column.column = to[at].column;
            }
        }
        self
    }
}

/// The name of a column without a table before it.
fn sole_ident(name: &ast::ObjectName) -> Option<String> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Some(fold(ident)),
        _ => None,
    }
}
