//! Tables with children (decision 64): who reads such a table reads its children too, and a statement that changes it is one
//! statement for each of them.

mod change;
mod definition;
mod insert;
mod relate;

use base::{Error, Result};
use catalog::Name;
use plan::{Expr, Node, Op, SetOperation};
use sqlparser::ast::{self, TableAlias};
use types::{SqlType, Value};

use super::from::FromItem;
use super::scope::{ScopeColumn, TABLE_NUMBER};
use super::{Binder, Bound, Output};
use crate::parse::{Ast, only, parse};
use crate::{ObjectName, Resolved, Table};

impl Table {
    /// The tables whose rows are its rows too, if there are any.
    pub(super) fn children(&self) -> Option<Vec<ObjectName>> {
        let kin = self.kin.as_ref().filter(|kin| !kin.children.is_empty())?;
        Some(kin.children.clone())
    }

    /// Whether all its rows are those of its partitions.
    pub(super) fn is_partitioned(&self) -> bool {
        self.kin.as_ref().is_some_and(|kin| kin.own.partitioned.is_some())
    }

    /// What holds of its rows because it is a partition.
    pub(super) fn condition(&self) -> Option<&str> {
        self.kin.as_ref()?.condition.as_deref()
    }
}

impl Binder<'_> {
    /// Schema and name of a table as the catalog has them.
    fn placed_name(&self, name: &ObjectName) -> Name {
        let placed = self.resolver.placed(name);
        (catalog::canonical(placed.schema.as_deref()).to_owned(), placed.name)
    }

    /// Reads a table and all tables below it.
    pub(super) fn scan_with_children(
        &mut self,
        table: Table,
        name: &ObjectName,
        alias: Option<&TableAlias>,
    ) -> Result<FromItem> {
        let names: Vec<String> = table.fields.iter().map(|field| field.name.clone()).collect();
        let mut all = self.tables_with_rows(name, &table)?;
        if all.is_empty() {
            all.push((name.clone(), table));
        }
        let inputs = all.into_iter().map(|(name, table)| {
            let number = self.resolver.number_of(&name);
            self.columns_of_kin(table, &names).map(|bound| self.with_table_number(bound, number))
        });
        let mut inputs = inputs.collect::<Result<Vec<_>>>()?;
        let mut bound = match inputs.len() {
            1 => inputs.remove(0),
            _ => self.plan.combine(SetOperation::Union, true, inputs)?,
        };
        let number = bound.output.pop().map(|output| ScopeColumn { name: output.name, column: output.column });
        let mut item = self.derived(bound, alias, Some(&name.name))?;
        item.scope.relations.iter_mut().for_each(|relation| relation.hidden.clone_from(&number));
        Ok(item)
    }

    /// Rows with the number of the table that they are of.
    fn with_table_number(&mut self, bound: Bound, number: Option<i64>) -> Bound {
        let Bound { node, mut output } = bound;
        let number = Expr::constant(number.map_or(Value::Null, Value::Int), SqlType::BigInt);
        let (name, column) = (TABLE_NUMBER.to_owned(), self.plan.column_for(TABLE_NUMBER, &number));
        output.push(Output { name, column, literal: None });
        Bound { node: Node::new(Op::Map { input: Box::new(node), columns: vec![(column, number)] }), output }
    }

    /// Columns of a table alone, by their names.
    fn columns_of_kin(&mut self, table: Table, names: &[String]) -> Result<Bound> {
        let item = self.scan(table, None, None)?;
        let column = |name: &String| {
            let found = item.scope.visible.iter().find(|column| column.name == *name);
            let found = found.ok_or_else(|| Error::internal("a child lacks a column of its parent"))?;
            Ok(Output { name: name.clone(), column: found.column, literal: None })
        };
        let output = names.iter().map(column).collect::<Result<_>>()?;
        Ok(Bound { node: item.node, output })
    }

    /// The tables whose own rows are rows of a table, itself among them, if it has rows of its own.
    fn tables_with_rows(&self, name: &ObjectName, table: &Table) -> Result<Vec<(ObjectName, Table)>> {
        let mut all = self.tables_below(table)?;
        all.insert(0, (self.resolver.placed(name), table.clone()));
        all.retain(|(_, table)| !table.is_partitioned());
        Ok(all)
    }

    /// All tables below a table, each once.
    pub(super) fn tables_below(&self, table: &Table) -> Result<Vec<(ObjectName, Table)>> {
        let mut all: Vec<(ObjectName, Table)> = Vec::new();
        let mut next = table.children().unwrap_or_default();
        next.reverse();
        while let Some(child) = next.pop() {
            if all.iter().any(|(known, _)| (&known.schema, &known.name) == (&child.schema, &child.name)) {
                continue;
            }
            let Resolved::Table(table) = self.resolver.table(&child)? else {
                return Err(Error::internal("a child that is no table"));
            };
            next.extend(table.children().unwrap_or_default().into_iter().rev());
            all.push((child, table));
        }
        Ok(all)
    }

    /// The table of that name, if it has children or partitions, and all of these are meant.
    fn with_kin(&self, name: &ast::ObjectName) -> Result<Option<(ObjectName, Table)>> {
        if !self.resolver.has_kin() || only::is_only(name) {
            return Ok(None);
        }
        let shown = self.text.object_name(name)?;
        match self.resolver.table(&shown) {
            Ok(Resolved::Table(table)) if table.children().is_some() || table.is_partitioned() => {
                Ok(Some((shown, table)))
            }
            // Who names it tells of errors.
            _ => Ok(None),
        }
    }
}

/// A name of the catalog in a statement.
fn written(name: &ObjectName) -> ast::ObjectName {
    let parts = name.schema.iter().chain([&name.name]);
    ast::ObjectName::from(parts.map(|part| ast::Ident::with_quote('"', part)).collect::<Vec<_>>())
}

/// A quoted name in a text.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The query of a text that the binder writes.
pub(in crate::bind) fn query_of(text: &str) -> Result<Box<ast::Query>> {
    match statement_of(text)? {
        ast::Statement::Query(query) => Ok(query),
        _ => Err(misread(text)),
    }
}

/// The statement of a text that the binder writes.
fn statement_of(text: &str) -> Result<ast::Statement> {
    match parse(text)?.ast {
        Ast::Library(statement) => Ok(*statement),
        _ => Err(misread(text)),
    }
}

/// What the binder itself has written is read as that.
#[cold]
fn misread(what: &str) -> Error {
    Error::internal(format!("{what} is read as something else"))
}
