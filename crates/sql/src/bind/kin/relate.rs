//! ALTER TABLE ... ATTACH and DETACH PARTITION, INHERIT and NO INHERIT, and what changes of a table are for those below it.

use base::{Error, Result, SqlState};
use catalog::{Bound as PartitionBound, Field, Kinship};
use sqlparser::ast;

use super::change::keys_of;
use super::{quoted, statement_of, written};
use crate::bind::parameters::no_partition_key;
use crate::bind::parts::PlanBuilder;
use crate::bind::{Binder, fold};
use crate::parse::{KinAction, KinAst};
use crate::{ObjectName, Relate, Resolved, Statement, Table};

impl Binder<'_> {
    /// ALTER TABLE ... ATTACH PARTITION and its like.
    pub(in crate::bind) fn relate(&mut self, alter: &KinAst) -> Result<Statement> {
        let name = self.text.object_name(&alter.name)?;
        match &alter.action {
            KinAction::AttachIndex(index) => {
                for index in [&alter.name, index] {
                    let index = self.text.object_name(index)?;
                    if !self.resolver.is_taken(&index) {
                        let message = format!("relation \"{}\" does not exist", index.name);
                        return Err(Error::new(SqlState::UNDEFINED_TABLE, message).at(index.position));
                    }
                }
                Ok(Statement::Nothing("ALTER INDEX"))
            }
            KinAction::Attach(child, values) => {
                let (parent, of) = self.partitioned(&alter.name)?;
                let child = self.text.object_name(child)?;
                let table = self.stored_table(&child)?;
                if table.condition().is_some() || table.kin.as_ref().is_some_and(|kin| !kin.own.parents.is_empty()) {
                    let message = format!("\"{}\" is already a partition", child.name);
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(child.position));
                }
                self.refuse_circle((&child, &table), &parent)?;
                self.check_columns(&table, &child, &of, &parent)?;
                let (kinship, mut asked) = self.as_partition(values, &parent, &of, &child)?;
                let partitioned = table.kin.as_ref().and_then(|kin| kin.own.partitioned.clone());
                let condition = kinship.bound.as_ref().and_then(|bound| self.condition_as(&of, bound));
                let above = of.condition().map(str::to_owned);
                for condition in condition.into_iter().chain(above) {
                    let message =
                        format!("partition constraint of relation \"{}\" is violated by some row", child.name);
                    asked.push(self.refusing(&child, &condition, message)?);
                }
                let mut statements = self.indexes_of_parent(&of, &table, &child)?;
                statements.extend(self.foreign_keys_of_parent(&of, &table, &child)?);
                let kinship = Kinship { partitioned, ..kinship };
                statements.push(Statement::Relate(Relate { name: self.resolver.placed(&child), kinship, asked }));
                Ok(Statement::Together(statements))
            }
            KinAction::PartitionKey { column, if_exists } => {
                let table = match self.stored_table(&name) {
                    Err(error) if *if_exists && error.state() == SqlState::UNDEFINED_TABLE => {
                        return Ok(Statement::Nothing("ALTER TABLE"));
                    }
                    table => table?,
                };
                let named = |column: &ast::Ident| {
                    let at = table.fields.iter().position(|field| field.name == fold(column));
                    at.ok_or_else(|| no_partition_key(&fold(column)).at(self.text.at(column)))
                };
                let column = column.as_ref().map(named).transpose()?;
                Ok(Statement::SetPartitionKey { table: table.source, column })
            }
            KinAction::Distribution(parameter) => {
                let message = "the distribution of a table's rows cannot be changed";
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .at(self.text.at(parameter))
                    .hint("CREATE TABLE ... WITH (distribution = ...), and INSERT INTO it what the table has"))
            }
            KinAction::Detach(child) => {
                self.partitioned(&alter.name)?;
                let child = self.text.object_name(child)?;
                let table = self.stored_table(&child)?;
                let kinship = table.kin.map(|kin| kin.own).unwrap_or_default();
                let parent = self.placed_name(&name);
                if kinship.bound.is_none() || kinship.parents.first() != Some(&parent) {
                    let message =
                        format!("relation \"{}\" is not a partition of relation \"{}\"", child.name, name.name);
                    return Err(Error::new(SqlState::UNDEFINED_TABLE, message).at(child.position));
                }
                let kinship = Kinship { parents: Vec::new(), bound: None, ..kinship };
                Ok(Statement::Relate(Relate { name: self.resolver.placed(&child), kinship, asked: Vec::new() }))
            }
            KinAction::Inherit(parent) => {
                let (table, parent) = (self.stored_table(&name)?, self.text.object_name(parent)?);
                let of = self.stored_table(&parent)?;
                self.refuse_circle((&name, &table), &parent)?;
                self.check_columns(&table, &name, &of, &parent)?;
                let parent = self.placed_name(&parent);
                let mut kinship = table.kin.map(|kin| kin.own).unwrap_or_default();
                if kinship.parents.contains(&parent) {
                    let message = format!("relation \"{}\" would be inherited from more than once", parent.1);
                    return Err(Error::new(SqlState::DUPLICATE_TABLE, message).at(name.position));
                }
                kinship.parents.push(parent);
                Ok(Statement::Relate(Relate { name: self.resolver.placed(&name), kinship, asked: Vec::new() }))
            }
            KinAction::NoInherit(parent) => {
                let (table, parent) = (self.stored_table(&name)?, self.text.object_name(parent)?);
                let of = self.placed_name(&parent);
                let mut kinship = table.kin.map(|kin| kin.own).unwrap_or_default();
                let before = kinship.parents.len();
                kinship.parents.retain(|known| *known != of);
                if kinship.parents.len() == before {
                    let message = format!("relation \"{}\" is not a parent of relation \"{}\"", of.1, name.name);
                    return Err(Error::new(SqlState::UNDEFINED_TABLE, message).at(name.position));
                }
                Ok(Statement::Relate(Relate { name: self.resolver.placed(&name), kinship, asked: Vec::new() }))
            }
        }
    }

    /// 42P07 if a table would be below itself.
    fn refuse_circle(&self, (child, table): (&ObjectName, &Table), parent: &ObjectName) -> Result<()> {
        let placed = self.placed_name(parent);
        let is_parent = |(below, _): &(ObjectName, Table)| self.placed_name(below) == placed;
        if self.placed_name(child) != placed && !self.tables_below(table)?.iter().any(is_parent) {
            return Ok(());
        }
        Err(Error::new(SqlState::DUPLICATE_TABLE, "circular inheritance not allowed")
            .detail(format!("\"{}\" is already a child of \"{}\".", parent.name, child.name))
            .at(parent.position))
    }

    /// The condition of another partition beside those that there are.
    fn condition_as(&self, of: &Table, bound: &PartitionBound) -> Option<String> {
        let others: Vec<PartitionBound> = of
            .children()
            .unwrap_or_default()
            .iter()
            .filter_map(|child| match self.resolver.table(child) {
                Ok(Resolved::Table(table)) => table.kin.and_then(|kin| kin.own.bound),
                _ => None,
            })
            .filter(|bound| *bound != PartitionBound::Default)
            .collect();
        let by = of.kin.as_ref()?.own.partitioned.as_ref()?;
        Some(by.condition(bound, &others.iter().collect::<Vec<_>>()))
    }

    /// 42804 unless a table has all columns of its parent to be.
    fn check_columns(&self, child: &Table, name: &ObjectName, of: &Table, parent: &ObjectName) -> Result<()> {
        for field in &of.fields {
            let Some(own) = child.fields.iter().find(|own| own.name == field.name) else {
                let message = format!("child table is missing column \"{}\"", field.name);
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(name.position));
            };
            if own.sql_type != field.sql_type {
                let message = format!("child table \"{}\" has different type for column \"{}\"", name.name, field.name);
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(name.position));
            }
            if own.nullable && !field.nullable {
                let message = format!("column \"{}\" in child table must be marked NOT NULL", field.name);
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(name.position));
            }
        }
        if of.is_partitioned()
            && let Some(more) = child.fields.iter().find(|own| !of.fields.iter().any(|field| field.name == own.name))
        {
            let message = format!(
                "table \"{}\" contains column \"{}\" not found in parent \"{}\"",
                name.name, more.name, parent.name
            );
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
                .detail("The new partition may contain only the columns present in parent.")
                .at(name.position));
        }
        Ok(())
    }

    /// The keys and indexes of a parent that a partition to be lacks.
    fn indexes_of_parent(&mut self, of: &Table, child: &Table, name: &ObjectName) -> Result<Vec<Statement>> {
        let columns = |table: &Table, index: &catalog::IndexStatistics| -> Option<Vec<String>> {
            let field = |at: &usize| table.fields.get(*at).map(|field| quoted(&field.name));
            index.attributes().iter().map(field).collect()
        };
        let known: Vec<(bool, Option<Vec<String>>)> =
            child.statistics.indexes().iter().map(|index| (index.is_unique(), columns(child, index))).collect();
        let table = written(name).to_string();
        let has_primary = child.statistics.indexes().iter().any(|index| index.is_primary);
        let mut statements = Vec::new();
        for index in of.statistics.indexes() {
            let Some(own) = columns(of, &index).filter(|_| index.only.is_none()) else { continue };
            let is_there = |(unique, columns): &(bool, Option<Vec<String>>)| {
                (*unique || !index.is_unique()) && columns.as_ref() == Some(&own)
            };
            if known.iter().any(is_there) {
                continue;
            }
            let own = own.join(", ");
            let text = match (index.is_primary && !has_primary, index.is_unique()) {
                (true, _) => format!("alter table {table} add primary key ({own})"),
                (false, true) => format!("alter table {table} add unique ({own})"),
                (false, false) => format!("create index on {table} ({own})"),
            };
            statements.push(self.bound_text(&text)?);
            self.plan = PlanBuilder::default();
        }
        Ok(statements)
    }

    /// The parent's foreign keys that a table lacks which becomes a partition, for it.
    fn foreign_keys_of_parent(&mut self, of: &Table, child: &Table, name: &ObjectName) -> Result<Vec<Statement>> {
        let named = |table: &Table, columns: &[usize]| -> Vec<String> {
            columns.iter().filter_map(|at| table.fields.get(*at)).map(|field| quoted(&field.name)).collect()
        };
        let table = written(name).to_string();
        let mut statements = Vec::new();
        for key in &of.foreign_keys {
            let own = named(of, &key.columns);
            let is_same = |known: &catalog::ForeignKey| {
                known.references == key.references
                    && known.referred == key.referred
                    && named(child, &known.columns) == own
            };
            let (schema, referenced) = &key.references;
            let to = ObjectName { schema: Some(schema.clone()), name: referenced.clone(), position: None };
            let (false, Resolved::Table(referred)) =
                (child.foreign_keys.iter().any(is_same), self.resolver.table(&to)?)
            else {
                continue;
            };
            let deferrable = match key.deferrable {
                None => "",
                Some(false) => " deferrable",
                Some(true) => " deferrable initially deferred",
            };
            let named_key = match child.foreign_keys.iter().any(|known| known.name == key.name) {
                true => String::new(),
                false => format!("constraint {} ", quoted(&key.name)),
            };
            let text = format!(
                "alter table {table} add {named_key}foreign key ({}) references {} ({}){}{}{deferrable}",
                own.join(", "),
                written(&to),
                named(&referred, &key.referred).join(", "),
                if key.is_full { " match full" } else { "" },
                key.clauses(&own),
            );
            statements.push(self.bound_text(&text)?);
            self.plan = PlanBuilder::default();
        }
        Ok(statements)
    }

    /// A statement that the binder itself writes.
    fn bound_text(&mut self, text: &str) -> Result<Statement> {
        let statement = statement_of(text)?;
        let positions = self.text.positions.take();
        let bound = self.standard(&statement, text);
        self.text.positions = positions;
        bound
    }

    /// The same change for all tables below one, if it is inherited.
    pub(in crate::bind) fn altered_with_children(
        &mut self,
        alter: &ast::AlterTable,
        own: Statement,
    ) -> Result<Statement> {
        let name = self.text.object_name(&alter.name)?;
        let Ok(Resolved::Table(table)) = self.resolver.table(&name) else { return Ok(own) };
        if alter.only {
            return Ok(own);
        }
        let partitioned = table.is_partitioned();
        let actions: Vec<_> = alter.operations.iter().filter_map(|action| inherited(action, partitioned)).collect();
        if actions.is_empty() || table.children().is_none() {
            return Ok(own);
        }
        let mut statements = vec![own];
        for (child, of) in self.tables_below(&table)? {
            self.plan = PlanBuilder::default();
            let operations = actions.iter().map(|action| action_of_child(action, (&name, &table), &of)).collect();
            let alter = ast::AlterTable { name: written(&child), operations, ..alter.clone() };
            let altered = self.alter_table(&alter)?;
            statements.push(altered);
        }
        Ok(Statement::Together(statements))
    }

    /// The same index for all partitions of a table.
    pub(in crate::bind) fn indexed_with_partitions(
        &mut self,
        create: &ast::CreateIndex,
        own: Statement,
    ) -> Result<Statement> {
        if crate::parse::only::is_only(&create.table_name) {
            return Ok(own);
        }
        let name = self.text.object_name(&create.table_name)?;
        let Ok(Resolved::Table(table)) = self.resolver.table(&name) else { return Ok(own) };
        let below = if table.is_partitioned() { self.tables_below(&table)? } else { Vec::new() };
        if below.is_empty() {
            return Ok(own);
        }
        let mut statements = vec![own];
        for (child, _) in below {
            self.plan = PlanBuilder::default();
            let create =
                ast::CreateIndex { name: None, table_name: written(&child), if_not_exists: false, ..create.clone() };
            statements.push(self.create_index(&create)?);
        }
        Ok(Statement::Together(statements))
    }

    /// 42P16 for a change of a column that a table has of its parent, or that says which partition its rows are of.
    pub(in crate::bind) fn check_inherited(&self, alter: &ast::AlterTable) -> Result<()> {
        use ast::AlterTableOperation as Action;
        let name = self.text.object_name(&alter.name)?;
        let Ok(Resolved::Table(table)) = self.resolver.table(&name) else { return Ok(()) };
        let Some(kin) = &table.kin else { return Ok(()) };
        let keys = kin.own.partitioned.as_ref().map(keys_of).transpose()?.unwrap_or_default();
        let of_parents: Vec<Field> = kin
            .own
            .parents
            .iter()
            .filter_map(|(schema, name)| {
                let name = ObjectName { schema: Some(schema.clone()), name: name.clone(), position: None };
                match self.resolver.table(&name) {
                    Ok(Resolved::Table(table)) => Some(table.fields),
                    _ => None,
                }
            })
            .flatten()
            .collect();
        let adds = |action: &Action| matches!(action, Action::AddColumn { .. });
        if kin.own.bound.is_some() && alter.operations.iter().any(adds) {
            let message = "cannot add column to a partition";
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position));
        }
        for action in &alter.operations {
            let (verb, idents) = match action {
                Action::DropColumn { column_names, .. } => ("drop", column_names.iter().collect()),
                Action::RenameColumn { old_column_name, .. } => ("rename", vec![old_column_name]),
                Action::AlterColumn { column_name, op: ast::AlterColumnOperation::SetDataType { .. } } => {
                    ("alter", vec![column_name])
                }
                _ => continue,
            };
            for ident in idents {
                if verb != "rename" && keys.contains(&fold(ident)) {
                    let message =
                        format!("cannot {verb} column \"{}\" because it is part of the partition key", fold(ident));
                    return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(self.text.at(ident)));
                }
                if of_parents.iter().any(|field| field.name == fold(ident)) {
                    let message = format!("cannot {verb} inherited column \"{}\"", fold(ident));
                    return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(self.text.at(ident)));
                }
            }
        }
        Ok(())
    }
}

/// The change of a child: a key of it has another name than its parent's.
fn action_of_child(
    action: &ast::AlterTableOperation,
    (name, of): (&ObjectName, &Table),
    child: &Table,
) -> ast::AlterTableOperation {
    use ast::AlterTableOperation as Action;
    let Action::DropConstraint { name: dropped, drop_behavior, .. } = action else { return action.clone() };
    let columns = |table: &Table, index: &catalog::IndexStatistics| -> Vec<Option<String>> {
        index.attributes().iter().map(|at| table.fields.get(*at).map(|field| field.name.clone())).collect()
    };
    let is_it = |index: &catalog::IndexStatistics| match index.is_primary {
        true => fold(dropped) == format!("{}_pkey", name.name),
        false => index.name == fold(dropped),
    };
    let Some(key) = of.statistics.indexes().into_iter().find(is_it) else { return action.clone() };
    let own =
        child.statistics.indexes().into_iter().find(|own| {
            own.is_primary == key.is_primary && own.is_unique() && columns(child, own) == columns(of, &key)
        });
    match own {
        Some(own) if own.is_primary => Action::DropPrimaryKey { drop_behavior: *drop_behavior },
        Some(own) => Action::DropConstraint {
            if_exists: true,
            name: ast::Ident::with_quote('"', own.name),
            drop_behavior: *drop_behavior,
        },
        None => action.clone(),
    }
}

/// What a change of a parent is to its children.
fn inherited(action: &ast::AlterTableOperation, partitioned: bool) -> Option<ast::AlterTableOperation> {
    use ast::AlterTableOperation as Action;
    use ast::TableConstraint as Constraint;
    match action {
        Action::AddColumn { .. }
        | Action::DropColumn { .. }
        | Action::RenameColumn { .. }
        | Action::AlterColumn { .. } => Some(action.clone()),
        Action::AddConstraint { constraint, not_valid } => {
            let constraint = match constraint {
                Constraint::Check(_) => constraint.clone(),
                Constraint::ForeignKey(_) if partitioned => constraint.clone(),
                Constraint::PrimaryKey(key) if partitioned => {
                    Constraint::PrimaryKey(ast::PrimaryKeyConstraint { name: None, ..key.clone() })
                }
                Constraint::Unique(key) if partitioned => {
                    Constraint::Unique(ast::UniqueConstraint { name: None, ..key.clone() })
                }
                _ => return None,
            };
            Some(Action::AddConstraint { constraint, not_valid: *not_valid })
        }
        Action::DropConstraint { name, drop_behavior, .. } => {
            Some(Action::DropConstraint { if_exists: true, name: name.clone(), drop_behavior: *drop_behavior })
        }
        _ => None,
    }
}
