//! UPDATE and DELETE of a table with children: the same for each table that has rows of it. A row whose keys change so that it
//! belongs to another partition is deleted here and inserted there.

use std::collections::HashMap;
use std::rc::Rc;

use base::Result;
use catalog::{Filling, Partitioning};
use sqlparser::ast::{self, Statement as S, TableFactor, TableWithJoins};

use super::{misread, query_of, quoted, statement_of, written};
use crate::bind::conjunction::both;
use crate::bind::expr::row;
use crate::bind::parts::PlanBuilder;
use crate::bind::scope::{CteBinding, PartRows};
use crate::bind::{Binder, fold, unsupported};
use crate::parse::{kept_expression, only, subscripts};
use crate::walk;
use crate::{ObjectName, Outcome, Statement, Table, With, WithPart};

/// The parts of a statement that is many.
#[derive(Default)]
pub(super) struct Parts {
    parts: Vec<WithPart>,
    /// The numbers of those that count, and the names of their rows.
    counted: Vec<(usize, String)>,
}

impl Binder<'_> {
    /// An UPDATE, DELETE or INSERT of a table with children or partitions; none if it is of another one.
    pub(in crate::bind) fn change_of_kin(&mut self, statement: &S, text: &str) -> Result<Option<Statement>> {
        let Some(name) = target(statement) else { return Ok(None) };
        let Some((name, table)) = self.with_kin(name)? else { return Ok(None) };
        match statement {
            S::Update(update) => self.update_of_kin(update, &name, &table, text).map(Some),
            S::Delete(delete) => self.delete_of_kin(delete, &name, &table, text).map(Some),
            // A row is inserted into the table itself, unless that can have none.
            S::Insert(insert) if table.is_partitioned() => self.insert_of_kin(insert, &name, &table, text).map(Some),
            S::Merge(_) => unsupported("MERGE into a table that has children or partitions", name.position),
            _ => Ok(None),
        }
    }

    /// Whether a statement with a WITH changes such a table.
    pub(in crate::bind) fn changes_kin(&self, query: &ast::Query) -> Result<bool> {
        let (
            Some(_),
            ast::SetExpr::Insert(change)
            | ast::SetExpr::Update(change)
            | ast::SetExpr::Delete(change)
            | ast::SetExpr::Merge(change),
        ) = (&query.with, query.body.as_ref())
        else {
            return Ok(false);
        };
        Ok(target(change).map(|name| self.with_kin(name)).transpose()?.flatten().is_some())
    }

    fn delete_of_kin(
        &mut self,
        delete: &ast::Delete,
        name: &ObjectName,
        table: &Table,
        text: &str,
    ) -> Result<Statement> {
        let mut parts = Parts::default();
        for (child, _) in self.tables_with_rows(name, table)? {
            let mut delete = delete.clone();
            name_columns(&mut delete.returning, table);
            let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &mut delete.from;
            from.iter_mut().take(1).for_each(|table| put(&mut table.relation, &child, name));
            self.counted_part(&mut parts, &S::Delete(delete), text)?;
        }
        self.whole(parts, "DELETE")
    }

    fn update_of_kin(
        &mut self,
        update: &ast::Update,
        name: &ObjectName,
        table: &Table,
        text: &str,
    ) -> Result<Statement> {
        let children = self.tables_with_rows(name, table)?;
        let known = match &update.table.relation {
            TableFactor::Table { alias: Some(alias), .. } => alias.name.clone(),
            _ => ast::Ident::with_quote('"', &name.name),
        };
        let mut parts = Parts::default();
        let moves = self.key_values(update, table, &children)?;
        let given = if moves.is_some() { self.value_per_column(update)? } else { HashMap::new() };
        let mut left: Vec<String> = Vec::new();
        for (child, of) in &children {
            let mut own = update.clone();
            name_columns(&mut own.returning, table);
            put(&mut own.table.relation, child, name);
            if let (Some(values), Some(condition)) = (&moves, of.condition()) {
                let mut stays = kept_expression(condition)?;
                substitute(&mut stays, values, &known);
                let leaves = ast::Expr::UnaryOp {
                    op: ast::UnaryOperator::Not,
                    expr: Box::new(ast::Expr::Nested(Box::new(stays.clone()))),
                };
                left.push(self.leaving(update, (child, name), (table, &given), (leaves, &known), &mut parts, text)?);
                own.selection = Some(both(own.selection, stays));
            }
            self.counted_part(&mut parts, &S::Update(own), text)?;
        }
        if !left.is_empty() {
            let from: Vec<String> = left.iter().map(|part| format!("select * from {}", quoted(part))).collect();
            let query = query_of(&from.join(" union all "))?;
            let bound = self.query(&query)?;
            let bound = self.refused_by_all(bound, &children, (name, table))?;
            let plan = self.plan.finish(bound)?;
            let fields = crate::bind::statement::fields(&plan);
            let moved = self.part_of_whole(&mut parts, Statement::Query(plan), Some(fields), true)?;
            for (child, of) in &children {
                let insert =
                    insert_from(&moved, (child, of), &table.fields_to_fill(), name, update.returning.as_ref())?;
                self.as_the_system(|b| b.counted_part(&mut parts, &insert, text))?;
            }
        }
        self.whole(parts, "UPDATE")
    }

    /// What an UPDATE assigns to columns by whose values rows are told apart; none if it assigns to none.
    fn key_values(
        &self,
        update: &ast::Update,
        table: &Table,
        children: &[(ObjectName, Table)],
    ) -> Result<Option<HashMap<String, ast::Expr>>> {
        if !table.is_partitioned() {
            return Ok(None);
        }
        let mut names = Vec::new();
        for (_, child) in children {
            let Some(condition) = child.condition() else { continue };
            names_in(&kept_expression(condition)?, &mut names);
        }
        let mut values = HashMap::new();
        for assignment in &update.assignments {
            let targets = match &assignment.target {
                ast::AssignmentTarget::ColumnName(target) => vec![target],
                ast::AssignmentTarget::Tuple(targets) => targets.iter().collect(),
            };
            for target in &targets {
                let [ast::ObjectNamePart::Identifier(column)] = target.0.as_slice() else { continue };
                let column = fold(column);
                if !names.contains(&column) {
                    continue;
                }
                let is_default = matches!(&assignment.value, ast::Expr::Identifier(value) if fold(value) == "default");
                if targets.len() > 1 || is_default {
                    let position = self.text.start(&assignment.value);
                    return unsupported("this assignment to a column of a partition key", position);
                }
                let value = table.typed(&column, &assignment.value)?;
                values.insert(column, value);
            }
        }
        Ok((!values.is_empty()).then_some(values))
    }

    /// What the rows that leave a partition get, by column: 0A000 for what is no expression of the whole value.
    fn value_per_column<'u>(&self, update: &'u ast::Update) -> Result<HashMap<String, &'u ast::Expr>> {
        let mut values = HashMap::new();
        for ast::Assignment { target, value } in &update.assignments {
            let (targets, given) = match (target, row(value)) {
                (ast::AssignmentTarget::ColumnName(target), _) => (std::slice::from_ref(target), vec![value]),
                (ast::AssignmentTarget::Tuple(targets), Some(given)) if targets.len() == given.len() => {
                    (targets.as_slice(), given)
                }
                _ => return unsupported("this assignment beside one to a partition key", self.text.start(value)),
            };
            for (target, value) in targets.iter().zip(given) {
                let [ast::ObjectNamePart::Identifier(column)] = target.0.as_slice() else { continue };
                if subscripts::parted(&column.value).1.is_some() {
                    let position = self.text.start(value);
                    return unsupported("assigning to an element beside a partition key", position);
                }
                values.insert(fold(column), value);
            }
        }
        Ok(values)
    }

    /// Deletes the rows that an UPDATE makes some of another partition. The name of the part that gives them as they will be.
    fn leaving(
        &mut self,
        update: &ast::Update,
        (child, name): (&ObjectName, &ObjectName),
        (table, values): (&Table, &HashMap<String, &ast::Expr>),
        (leaves, known): (ast::Expr, &ast::Ident),
        parts: &mut Parts,
        text: &str,
    ) -> Result<String> {
        let mut columns = Vec::new();
        for field in table.fields_to_fill() {
            let alias = ast::Ident::with_quote('"', &field);
            let expr = match values.get(&field) {
                Some(value) => table.typed(&field, value)?,
                None => ast::Expr::CompoundIdentifier(vec![known.clone(), alias.clone()]),
            };
            columns.push(ast::SelectItem::ExprWithAlias { expr, alias });
        }
        let mut factor = update.table.relation.clone();
        put(&mut factor, child, name);
        let using = match &update.from {
            None => None,
            Some(ast::UpdateTableFromKind::AfterSet(from) | ast::UpdateTableFromKind::BeforeSet(from)) => {
                Some(from.clone())
            }
        };
        let delete = match statement_of("delete from t")? {
            S::Delete(delete) => ast::Delete {
                from: ast::FromTable::WithFromKeyword(vec![TableWithJoins { relation: factor, joins: Vec::new() }]),
                using,
                selection: Some(both(update.selection.clone(), leaves)),
                returning: Some(columns),
                ..delete
            },
            _ => return Err(misread("a DELETE")),
        };
        let statement = self.standard(&S::Delete(delete), text)?;
        let fields = match &statement {
            Statement::Change(change) => change.returning.clone(),
            _ => None,
        };
        self.part_of_whole(parts, statement, fields, true)
    }
}

impl Binder<'_> {
    /// Another part; its name.
    pub(super) fn part_of_whole(
        &mut self,
        parts: &mut Parts,
        statement: Statement,
        fields: Option<Vec<catalog::Field>>,
        is_read: bool,
    ) -> Result<String> {
        self.plan = PlanBuilder::default();
        let number = self.next_part();
        let name = format!("part {number}");
        self.names.environment.push(CteBinding {
            name: name.clone(),
            columns: Vec::new(),
            query: Rc::new(*query_of("select 1")?),
            levels: 0,
            visible: self.names.environment.len(),
            inline: false,
            recursive: false,
            recursing: None,
            materialised: None,
            part: Some(PartRows { number, fields: fields.clone() }),
        });
        let fields = fields.unwrap_or_default();
        parts.parts.push(WithPart { name: name.clone(), number, statement, fields, is_read });
        Ok(name)
    }

    /// A part whose rows are rows of the whole.
    pub(super) fn counted_part(&mut self, parts: &mut Parts, statement: &S, text: &str) -> Result<()> {
        let visible = self.names.environment.len();
        let statement = self.standard(statement, text)?;
        self.names.environment.truncate(visible);
        let fields = match &statement {
            Statement::Change(change) => change.returning.clone(),
            _ => None,
        };
        let is_read = fields.is_some();
        let name = self.part_of_whole(parts, statement, fields, is_read)?;
        let number = parts.parts.last().map_or(0, |part| part.number);
        parts.counted.push((number, name));
        Ok(())
    }

    /// The statement that all parts are.
    pub(super) fn whole(&mut self, parts: Parts, verb: &'static str) -> Result<Statement> {
        let Parts { parts, counted } = parts;
        let gives_rows =
            |(number, _): &(usize, String)| parts.iter().any(|part| part.number == *number && part.is_read);
        let then = if counted.first().is_some_and(gives_rows) {
            let from: Vec<String> = counted.iter().map(|(_, part)| format!("select * from {}", quoted(part))).collect();
            let positions = self.text.positions.take();
            let plan = query_of(&from.join(" union all ")).and_then(|query| self.plan_of(&query));
            self.text.positions = positions;
            Outcome::Of(Box::new(Statement::Query(plan?)))
        } else {
            Outcome::Counted(verb, counted.into_iter().map(|(number, _)| number).collect())
        };
        Ok(Statement::With(Box::new(With { parts, then })))
    }
}

/// Names the columns that `*` of RETURNING stands for: those of the table that the statement names, whatever tables below it have.
fn name_columns(returning: &mut Option<Vec<ast::SelectItem>>, table: &Table) {
    use ast::SelectItemQualifiedWildcardKind::ObjectName as OfTable;
    let Some(items) = returning else { return };
    let named = |before: &[ast::Ident]| -> Vec<ast::SelectItem> {
        let column = |field: &catalog::Field| {
            let column = ast::Ident::with_quote('"', &field.name);
            ast::SelectItem::UnnamedExpr(match before {
                [] => ast::Expr::Identifier(column),
                before => ast::Expr::CompoundIdentifier(before.iter().cloned().chain([column]).collect()),
            })
        };
        table.fields.iter().map(column).collect()
    };
    *items = std::mem::take(items)
        .into_iter()
        .flat_map(|item| match &item {
            ast::SelectItem::Wildcard(options) if options.opt_exclude.is_none() && options.opt_replace.is_none() => {
                named(&[])
            }
            ast::SelectItem::QualifiedWildcard(OfTable(name), _) => {
                let before: Option<Vec<ast::Ident>> = name.0.iter().map(|part| part.as_ident().cloned()).collect();
                match before {
                    Some(before) if !["old", "new"].contains(&fold(&before[0]).as_str()) => named(&before),
                    _ => vec![item],
                }
            }
            _ => vec![item],
        })
        .collect();
}

impl Table {
    /// A value as one of a column's type.
    fn typed(&self, column: &str, value: &ast::Expr) -> Result<ast::Expr> {
        let Some(field) = self.fields.iter().find(|field| field.name == column) else { return Ok(value.clone()) };
        let mut cast = kept_expression(&format!("CAST(x AS {})", field.sql_type))?;
        if let ast::Expr::Cast { expr, .. } = &mut cast {
            **expr = ast::Expr::Nested(Box::new(value.clone()));
        }
        Ok(cast)
    }

    /// The columns that an INSERT has values for.
    pub(super) fn fields_to_fill(&self) -> Vec<String> {
        let filled = self.fields.iter().enumerate();
        let filled = filled.filter(|(at, _)| !self.fillings.get(*at).is_some_and(Filling::is_generated));
        filled.map(|(_, field)| field.name.clone()).collect()
    }
}

/// The INSERT of those rows of a part that belong to a table.
pub(super) fn insert_from(
    part: &str,
    (child, of): (&ObjectName, &Table),
    columns: &[String],
    known: &ObjectName,
    returning: Option<&Vec<ast::SelectItem>>,
) -> Result<S> {
    let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    let columns = columns.join(", ");
    let condition = of.condition().unwrap_or("true");
    let text = format!("insert into t ({columns}) select {columns} from {} where {condition}", quoted(part));
    let S::Insert(insert) = statement_of(&text)? else { return Err(misread("an INSERT")) };
    let alias = ast::Ident::with_quote('"', &known.name);
    Ok(S::Insert(ast::Insert {
        table: ast::TableObject::TableName(only::only(&written(child))),
        table_alias: Some(ast::TableAliasWithoutColumns { explicit: true, alias }),
        returning: returning.cloned(),
        ..insert
    }))
}

/// The table that an INSERT, UPDATE, DELETE or MERGE names.
fn target(statement: &S) -> Option<&ast::ObjectName> {
    let factor = match statement {
        S::Insert(insert) => match &insert.table {
            ast::TableObject::TableName(name) => return Some(name),
            _ => return None,
        },
        S::Update(update) => &update.table.relation,
        S::Merge(merge) => &merge.table,
        S::Delete(delete) => {
            let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &delete.from;
            &from.first()?.relation
        }
        _ => return None,
    };
    match factor {
        TableFactor::Table { name, .. } => Some(name),
        _ => None,
    }
}

/// Puts a child in the place of the table that a statement names, under the name of that.
fn put(factor: &mut TableFactor, child: &ObjectName, parent: &ObjectName) {
    if let TableFactor::Table { name, alias, .. } = factor {
        *name = only::only(&written(child));
        alias.get_or_insert_with(|| ast::TableAlias {
            explicit: true,
            name: ast::Ident::with_quote('"', &parent.name),
            columns: Vec::new(),
            at: None,
        });
    }
}

/// The names of columns in a condition of the catalog.
fn names_in(condition: &ast::Expr, names: &mut Vec<String>) {
    walk::each_expr(condition, |expr| {
        if let ast::Expr::Identifier(ident) = expr {
            names.push(fold(ident));
        }
    });
}

/// Puts values in the place of columns, and a table before the others.
fn substitute(condition: &mut ast::Expr, values: &HashMap<String, ast::Expr>, table: &ast::Ident) {
    walk::change_each_expr(condition, |expr| {
        if let ast::Expr::Identifier(ident) = expr {
            *expr = match values.get(&fold(ident)) {
                Some(value) => ast::Expr::Nested(Box::new(value.clone())),
                None => ast::Expr::CompoundIdentifier(vec![table.clone(), ident.clone()]),
            };
        }
    });
}

/// The names of the columns that keys are of.
pub(super) fn keys_of(partitioned: &Partitioning) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for key in &partitioned.keys {
        names_in(&kept_expression(key)?, &mut names);
    }
    Ok(names)
}
