//! ALTER TABLE: what becomes of a table, and of its rows.
//!
//! All actions of a statement are applied to what the table is; then one query says what its rows are (`rows`). They are in
//! PostgreSQL's order: something is dropped before types change, columns are added before constraints.

mod constraints;
mod fields;
mod identity;
mod rows;
mod texts;

use base::{Error, Result, SqlState};
use catalog::{Filling, ForeignKey, IndexStatistics, Kinship};
use plan::{Expr, eval};
use sqlparser::ast::{
    self, AlterColumnOperation as ColumnAction, AlterTableOperation as Action, DropBehavior, TableConstraint,
};
use types::SqlType;
use types::ops::cast::assign_value;

use self::texts::{names_in, renamed_in};
use super::coerce::assign;
use super::computed::shown;
use super::constraint::second_primary_key;
use super::foreign_key::{Own, is_primary};
use super::{Binder, fold, unsupported};
use crate::parse::identity::{IdentityChange, identity_change};
use crate::parse::kept_expression;
use crate::{AlterTable, ColumnDefinition, ComputedColumn, CreateTable, ObjectName, Statement, Table};

const NOT_IN_PREREQUISITE_STATE: SqlState = SqlState("55000");

/// A table on its way from what it was to what it will be.
pub(super) struct Altered<'a> {
    before: Table,
    pub table: CreateTable,
    /// Where the values of its columns come from.
    values: Vec<Values<'a>>,
    /// For each column that its indexes compute, which of those that they computed it is.
    computed: Vec<Option<usize>>,
    /// CHECK constraints that rows have to be asked for.
    new_checks: Vec<String>,
    /// Columns whose expressions or constraints are bound when all columns are known.
    added: Vec<&'a ast::ColumnDef>,
    dropped_keys: Vec<(String, bool)>,
    renamed: Vec<(String, String)>,
    dropped: Vec<String>,
    cascade: bool,
    has_new_key: bool,
}

/// Where the values of a column come from.
#[derive(Clone, Copy)]
enum Values<'a> {
    /// They are those of an attribute.
    Of(usize),
    /// They are those of an attribute in another type, maybe by an expression.
    Converted(usize, Option<&'a ast::Expr>),
    /// It is a new column.
    Filling,
}

/// When an action is done.
fn pass(action: &Action) -> u8 {
    match action {
        Action::DropColumn { .. } | Action::DropConstraint { .. } | Action::DropPrimaryKey { .. } => 0,
        Action::AlterColumn { op: ColumnAction::DropNotNull | ColumnAction::DropDefault, .. } => 0,
        Action::AlterColumn { op: ColumnAction::SetDataType { .. }, .. } => 1,
        Action::AddColumn { .. } => 2,
        Action::AlterColumn { .. } => 3,
        Action::AddConstraint { .. } => 4,
        _ => 5,
    }
}

impl Binder<'_> {
    pub(super) fn alter_table(&mut self, alter: &ast::AlterTable) -> Result<Statement> {
        let name = self.text.object_name(&alter.name)?;
        // Dumps say that of views and sequences, too: there is one user.
        let is_owner = |action: &Action| matches!(action, Action::OwnerTo { .. });
        if alter.operations.iter().all(is_owner) && self.resolver.is_taken(&name) {
            return Ok(Statement::Nothing("ALTER TABLE"));
        }
        let before = match self.stored_table(&name) {
            Err(error) if alter.if_exists && error.state() == SqlState::UNDEFINED_TABLE => {
                return Ok(Statement::Nothing("ALTER TABLE"));
            }
            table => table?,
        };
        if let [Action::AlterColumn { column_name, op: ColumnAction::SetDefault { value } }] =
            alter.operations.as_slice()
            && let Some(IdentityChange::Sequence(options)) = identity_change(value)
        {
            return Altered::new(before, name).alter_sequence(column_name, &options);
        }
        let mut operations = Vec::with_capacity(alter.operations.len());
        for action in &alter.operations {
            operations.extend(self.whole_column(action, &before, &name)?);
        }
        let mut altered = Altered::new(before, name);
        if let [Action::RenameConstraint { old_name, new_name }] = alter.operations.as_slice()
            && altered.has_index(&fold(old_name))
        {
            return Ok(altered.rename_index(fold(old_name), fold(new_name)));
        }
        let mut actions: Vec<&Action> = operations.iter().collect();
        actions.sort_by_key(|action| pass(action));
        for action in actions {
            self.alter_by(action, &mut altered)?;
        }
        Ok(Statement::AlterTable(Box::new(self.end_of_alter(altered)?)))
    }

    /// What becomes of a table whose definition is complete.
    pub(super) fn end_of_alter(&mut self, mut altered: Altered<'_>) -> Result<AlterTable> {
        super::definition::check_width(altered.table.columns.len(), &altered.table.name)?;
        for &key in &altered.table.primary_key {
            altered.table.columns[key].nullable = false;
        }
        for column in std::mem::take(&mut altered.added) {
            for check in self.constrain_added(column, &mut altered.table)? {
                altered.new_checks.push(check);
            }
        }
        altered.table.checks.sort_by(|a, b| a.name.cmp(&b.name));
        altered.computed.resize(altered.table.computed.len(), None);
        let rewrites = altered.is_rewritten();
        if rewrites {
            altered.keep_computed(|computed| computed.sql.is_some());
            let scope = self.new_row(&altered.table);
            self.retype_computed(&mut altered.table.computed, &scope)?;
        }
        let rows = self.rows_of_altered(&altered, rewrites)?;
        let attributes = altered.attributes();
        let converted =
            |values: &Values<'_>| if let Values::Converted(attribute, _) = values { Some(*attribute) } else { None };
        let converted = altered.values.iter().filter_map(converted).collect();
        let Altered { before, table, dropped_keys, renamed, dropped, cascade, .. } = altered;
        let source = before.source;
        Ok(AlterTable { table, source, rewrites, rows, attributes, converted, dropped_keys, renamed, dropped, cascade })
    }

    fn alter_by<'a>(&mut self, action: &'a Action, altered: &mut Altered<'a>) -> Result<()> {
        let position = altered.table.name.position;
        match action {
            Action::AddColumn { if_not_exists, column_def, column_position: None, .. } => {
                let name = fold(&column_def.name);
                if altered.table.columns.iter().any(|c| c.name == name) {
                    return if *if_not_exists { Ok(()) } else { Err(altered.taken(&name)) };
                }
                altered.has_new_key |=
                    column_def.options.iter().any(|o| matches!(o.option, ast::ColumnOption::PrimaryKey(_)));
                self.column_definition(column_def, &mut altered.table)?;
                altered.values.push(Values::Filling);
                altered.added.push(column_def);
                column_def.options.iter().try_for_each(|option| match &option.option {
                    ast::ColumnOption::ForeignKey(key) => {
                        let name = option.name.as_ref().or(key.name.as_ref());
                        self.add_foreign_key(key, name, std::slice::from_ref(&column_def.name), true, altered)
                    }
                    _ => Ok(()),
                })
            }
            Action::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                altered.cascade |= *drop_behavior == Some(DropBehavior::Cascade);
                column_names.iter().try_for_each(|ident| match altered.column(ident) {
                    Err(_) if *if_exists => Ok(()),
                    at => altered.drop_column(at?, *drop_behavior == Some(DropBehavior::Cascade)),
                })
            }
            Action::RenameColumn { old_column_name, new_column_name } => {
                let at = altered.column(old_column_name)?;
                altered.rename_column(at, new_column_name)
            }
            Action::AlterColumn { column_name, op } => {
                let at = altered.column(column_name)?;
                self.alter_column(at, op, altered)
            }
            Action::AddConstraint { constraint, not_valid } => self.add_constraint(constraint, *not_valid, altered),
            Action::DropConstraint { if_exists, name, .. } => altered.drop_constraint(&fold(name), *if_exists),
            Action::DropPrimaryKey { .. } => altered.drop_constraint(&altered.key_name(), false),
            Action::RenameConstraint { old_name, new_name } => {
                altered.rename_constraint(&fold(old_name), fold(new_name))
            }
            Action::ValidateConstraint { name } => altered.validate_constraint(&fold(name)),
            // There is one user, and no trigger, rule or cluster.
            Action::OwnerTo { .. } | Action::EnableTrigger { .. } | Action::DisableTrigger { .. } => Ok(()),
            other => unsupported(format!("ALTER TABLE ... {other}"), position),
        }
    }

    fn alter_column<'a>(&mut self, at: usize, action: &'a ColumnAction, altered: &mut Altered<'a>) -> Result<()> {
        match action {
            ColumnAction::SetNotNull => altered.table.columns[at].nullable = false,
            ColumnAction::DropNotNull => altered.drop_not_null(at)?,
            ColumnAction::SetDefault { value } if let Some(change) = identity_change(value) => {
                altered.change_identity(at, change)?;
            }
            ColumnAction::SetDefault { value } => {
                altered.refuse_computed(at)?;
                let ColumnDefinition { name, sql_type, .. } = altered.table.columns[at].clone();
                altered.table.columns[at].filling = self.default_of(value, sql_type, &name)?;
            }
            ColumnAction::DropDefault => {
                altered.refuse_computed(at)?;
                altered.table.columns[at].filling = Filling::NULL;
            }
            ColumnAction::SetDataType { data_type, using, .. } => {
                altered.table.columns[at].domain = self.domain_of(data_type)?.map(|(name, _)| name);
                let to = self.sql_type(data_type).map_err(|e| e.at(altered.table.name.position))?;
                self.set_type(at, to, using.as_ref(), altered)?;
            }
            ColumnAction::AddGenerated { generated_as, sequence_options } => {
                let (column, relation) = (altered.table.columns[at].clone(), altered.table.name.name.clone());
                if column.nullable {
                    let message = format!(
                        "column \"{}\" of relation \"{relation}\" must be declared NOT NULL before identity can be added",
                        column.name
                    );
                    return Err(Error::new(NOT_IN_PREREQUISITE_STATE, message));
                }
                if column.filling != Filling::NULL {
                    let message =
                        format!("column \"{}\" of relation \"{relation}\" already has a default value", column.name);
                    return Err(Error::new(NOT_IN_PREREQUISITE_STATE, message));
                }
                let option = ast::ColumnOption::Generated {
                    generated_as: generated_as.unwrap_or(ast::GeneratedAs::Always),
                    sequence_options: sequence_options.clone(),
                    generation_expr: None,
                    generation_expr_mode: None,
                    generated_keyword: true,
                };
                let filling = self.identity(&mut altered.table, &column.name, &option, column.sql_type)?;
                altered.table.columns[at].filling = filling;
            }
        }
        Ok(())
    }

    fn set_type<'a>(
        &mut self,
        at: usize,
        to: SqlType,
        using: Option<&'a ast::Expr>,
        altered: &mut Altered<'a>,
    ) -> Result<()> {
        let ColumnDefinition { name, sql_type: from, filling, .. } = altered.table.columns[at].clone();
        if let Some(reader) = altered.generated_from(&name).first() {
            let detail = format!("Column \"{name}\" is used by generated column \"{reader}\".");
            let message = "cannot alter type of a column used by a generated column";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(detail));
        }
        let uncast = |_| {
            let message = format!("default for column \"{name}\" cannot be cast automatically to type {to}");
            Error::new(SqlState::DATATYPE_MISMATCH, message)
        };
        let filling = match filling {
            Filling::Value(value) if !value.is_null() => {
                let value = assign(Expr::constant(value, from), to, &name).map_err(uncast)?;
                let stored = if to.is_string() { SqlType::Text } else { to };
                Filling::Value(assign_value(&eval::constant(&value)?, stored, to)?)
            }
            Filling::Expression(sql) => self.default_of(&kept_expression(&sql)?, to, &name).map_err(uncast)?,
            Filling::Identity { .. } if !to.is_integer() => {
                let message = "identity column type must be smallint, integer, or bigint";
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
            other => other,
        };
        let Values::Of(attribute) = altered.values[at] else {
            return unsupported("two changes of a column's type", altered.table.name.position);
        };
        let column = &mut altered.table.columns[at];
        (column.sql_type, column.filling) = (to, filling);
        if from != to || using.is_some() || column.domain.is_some() {
            altered.values[at] = Values::Converted(attribute, using);
        }
        Ok(())
    }

    fn add_constraint(
        &mut self,
        constraint: &TableConstraint,
        not_valid: bool,
        altered: &mut Altered<'_>,
    ) -> Result<()> {
        altered.check_name(constraint, |name| self.text.at(name))?;
        match constraint {
            TableConstraint::Check(check) => {
                let scope = self.new_row(&altered.table);
                let check = self.check(check.name.as_ref(), check, &altered.table, &scope)?;
                if !not_valid {
                    altered.new_checks.push(check.name.clone());
                }
                altered.table.checks.push(check);
                Ok(())
            }
            TableConstraint::ForeignKey(key) => {
                self.add_foreign_key(key, key.name.as_ref(), &key.columns, !not_valid, altered)
            }
            other => {
                let is_primary = matches!(other, TableConstraint::PrimaryKey(_));
                if is_primary && altered.has_deferrable_key() {
                    return Err(second_primary_key(&altered.table.name));
                }
                altered.has_new_key |= is_primary;
                self.text.constraint(other, &mut altered.table)?;
                let can_wait = altered.table.indexes.last().is_some_and(|index| index.deferrable.is_some());
                if can_wait && altered.before.is_partitioned() {
                    let what = "keys of partitioned tables that can be deferred";
                    return unsupported(what, altered.table.name.position);
                }
                Ok(())
            }
        }
    }
}

impl Binder<'_> {
    fn add_foreign_key(
        &mut self,
        key: &ast::ForeignKeyConstraint,
        name: Option<&ast::Ident>,
        columns: &[ast::Ident],
        is_valid: bool,
        altered: &mut Altered<'_>,
    ) -> Result<()> {
        let places = altered.attributes();
        let unique = altered.before.statistics.indexes().into_iter().filter(IndexStatistics::is_unique_of_all);
        let moved = |index: IndexStatistics| index.attributes().iter().map(|&a| places[a]).collect::<Option<Vec<_>>>();
        let unique = unique.filter(|index| !index.is_primary).filter_map(moved).collect();
        let names = altered.before.foreign_keys.iter().map(|key| key.name.clone()).collect();
        let is_partitioned = altered.before.is_partitioned();
        let key = self.foreign_key(key, name, columns, &altered.table, &Own { names, unique, is_partitioned })?;
        altered.table.foreign_keys.push(ForeignKey { is_valid, ..key });
        Ok(())
    }
}

impl Altered<'_> {
    /// Whether it has a primary key that can be deferred, and that stays.
    fn has_deferrable_key(&self) -> bool {
        let stays = |name: &String| !self.dropped_keys.iter().any(|(dropped, _)| dropped == name);
        let indexes = self.before.statistics.indexes();
        indexes.iter().any(|index| is_primary(index.deferrable) && stays(&index.name))
    }

    /// A table that stays what it is.
    pub(super) fn new(before: Table, name: ObjectName) -> Self {
        let definition = |(field, filling): (&catalog::Field, Filling)| ColumnDefinition {
            name: field.name.clone(),
            sql_type: field.sql_type,
            nullable: field.nullable,
            filling,
            domain: before
                .domains
                .iter()
                .find(|d| before.fields[d.attribute].name == field.name)
                .map(|d| d.name.clone()),
            collation: before
                .collations
                .iter()
                .find(|(attribute, _)| before.fields[*attribute].name == field.name)
                .map(|(_, collation)| collation.clone()),
        };
        let fillings = (0..before.fields.len()).map(|at| before.fillings.get(at).cloned().unwrap_or(Filling::NULL));
        let table = CreateTable {
            name,
            columns: before.fields.iter().zip(fillings).map(definition).collect(),
            primary_key: key_of(&before).map_or_else(Vec::new, |key| key.attributes()),
            checks: before.checks.clone(),
            computed: before.computed.clone(),
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            sequences: Vec::new(),
            if_not_exists: false,
            or_replace: false,
            kinship: Kinship::default(),
            asked: Vec::new(),
            partition_key: None,
            is_hashed: false,
        };
        Altered {
            values: (0..before.fields.len()).map(Values::Of).collect(),
            computed: (0..before.computed.len()).map(Some).collect(),
            before,
            table,
            new_checks: Vec::new(),
            added: Vec::new(),
            dropped_keys: Vec::new(),
            renamed: Vec::new(),
            dropped: Vec::new(),
            cascade: false,
            has_new_key: false,
        }
    }

    /// Whether the rows have to be written anew: a relation's attributes and key are what they are.
    fn is_rewritten(&self) -> bool {
        let same = |(at, column): (usize, &ColumnDefinition)| {
            let field = self.before.fields.get(at);
            matches!(self.values[at], Values::Of(attribute) if attribute == at)
                && field.is_some_and(|f| f.name == column.name && f.nullable == column.nullable)
        };
        let columns = &self.table.columns;
        columns.len() != self.before.fields.len()
            || self.has_new_key
            || self.computed.contains(&None)
            || self.table.primary_key != key_of(&self.before).map_or_else(Vec::new, |key| key.attributes())
            || !columns.iter().enumerate().all(same)
    }

    /// Where the attributes that it had are now.
    fn attributes(&self) -> Vec<Option<usize>> {
        let now = |attribute: usize| {
            let of = |values: &Values<'_>| matches!(values, Values::Of(a) | Values::Converted(a, _) if *a == attribute);
            self.values.iter().position(of)
        };
        let of_index = |before: usize| {
            let now = self.computed.iter().position(|computed| *computed == Some(before));
            now.map(|at| self.table.columns.len() + at)
        };
        let computed = (0..self.before.computed.len()).map(of_index);
        (0..self.before.fields.len()).map(now).chain(computed).collect()
    }

    fn relation(&self) -> &str {
        &self.table.name.name
    }

    fn column(&self, ident: &ast::Ident) -> Result<usize> {
        let wanted = fold(ident);
        self.table.columns.iter().position(|c| c.name == wanted).ok_or_else(|| {
            let message = format!("column \"{wanted}\" of relation \"{}\" does not exist", self.relation());
            let near = catalog::nearest_name(&wanted, self.table.columns.iter().map(|c| c.name.as_str()));
            let error = Error::new(SqlState::UNDEFINED_COLUMN, message).at(self.table.name.position);
            near.map_or(error.clone(), |near| error.hint(format!("perhaps you meant the column \"{near}\"")))
        })
    }

    #[cold]
    fn taken(&self, column: &str) -> Error {
        let message = format!("column \"{column}\" of relation \"{}\" already exists", self.relation());
        Error::new(SqlState::DUPLICATE_COLUMN, message).at(self.table.name.position)
    }

    /// The generated columns that are computed of a column.
    fn generated_from(&self, column: &str) -> Vec<String> {
        let reads = |c: &&ColumnDefinition| match &c.filling {
            Filling::Generated(sql) => names_in(sql).contains(column),
            _ => false,
        };
        self.table.columns.iter().filter(reads).map(|c| c.name.clone()).collect()
    }

    /// Keeps some of what indexes compute. New indexes are of what is kept.
    fn keep_computed(&mut self, keep: impl Fn(&ComputedColumn) -> bool) {
        let mut computed = self.computed.iter();
        let (mut kept, mut places) = (Vec::new(), Vec::new());
        self.table.computed.retain(|column| {
            let from = computed.next().copied().flatten();
            let stays = keep(column);
            places.push(stays);
            if stays {
                kept.push(from);
            }
            stays
        });
        self.computed = kept;
        let first = self.table.columns.len();
        let now = |attribute: usize| match attribute.checked_sub(first) {
            Some(computed) => first + places[..computed].iter().filter(|stays| **stays).count(),
            None => attribute,
        };
        for index in &mut self.table.indexes {
            index.parts.iter_mut().for_each(|part| part.attribute = now(part.attribute));
            index.only = index.only.map(now);
        }
    }

    fn drop_column(&mut self, at: usize, cascade: bool) -> Result<()> {
        let name = self.table.columns[at].name.clone();
        for reader in self.generated_from(&name) {
            if !cascade {
                let table = self.relation();
                let message = format!("cannot drop column {name} of table {table} because other objects depend on it");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
                    .detail(format!("column {reader} of table {table} depends on column {name} of table {table}"))
                    .hint("DROP ... CASCADE drops the dependent objects too"));
            }
            if let Some(at) = self.table.columns.iter().position(|c| c.name == reader) {
                self.drop_column(at, cascade)?;
            }
        }
        let Some(at) = self.table.columns.iter().position(|c| c.name == name) else { return Ok(()) };
        if self.table.columns.len() == 1 {
            return unsupported("a table without columns", self.table.name.position);
        }
        self.table.columns.remove(at);
        self.values.remove(at);
        if self.table.primary_key.contains(&at) {
            self.table.primary_key.clear();
        }
        self.table.primary_key.iter_mut().filter(|key| **key > at).for_each(|key| *key -= 1);
        self.table.checks.retain(|check| !names_in(&check.sql).contains(&name));
        self.keep_computed(|c| !c.sql.as_ref().is_some_and(|sql| names_in(sql).contains(&name)));
        self.dropped.push(name);
        Ok(())
    }

    fn rename_column(&mut self, at: usize, to: &ast::Ident) -> Result<()> {
        let name = fold(to);
        if self.table.columns.iter().any(|c| c.name == name) {
            return Err(self.taken(&name));
        }
        let before = std::mem::replace(&mut self.table.columns[at].name, name.clone());
        for column in &mut self.table.columns {
            if let Filling::Generated(sql) = &mut column.filling {
                *sql = renamed_in(sql, &before, to)?;
            }
        }
        for check in &mut self.table.checks {
            check.sql = renamed_in(&check.sql, &before, to)?;
        }
        for computed in &mut self.table.computed {
            if let Some(sql) = &mut computed.sql {
                *sql = renamed_in(sql, &before, to)?;
                computed.field.name = shown(&kept_expression(sql)?, sql);
            }
        }
        self.renamed.push((before, name));
        Ok(())
    }

    fn drop_not_null(&mut self, at: usize) -> Result<()> {
        let ColumnDefinition { name, filling, .. } = &self.table.columns[at];
        if matches!(filling, Filling::Identity { .. }) {
            let message = format!("column \"{name}\" of relation \"{}\" is an identity column", self.relation());
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        if self.table.primary_key.contains(&at) {
            return Err(Error::new(
                SqlState::INVALID_TABLE_DEFINITION,
                format!("column \"{name}\" is in a primary key"),
            ));
        }
        self.table.columns[at].nullable = true;
        Ok(())
    }

    /// Refuses a default for a column whose values are computed.
    fn refuse_computed(&self, at: usize) -> Result<()> {
        let ColumnDefinition { name, filling, .. } = &self.table.columns[at];
        let what = match filling {
            Filling::Generated(_) => "a generated column",
            Filling::Identity { .. } => "an identity column",
            _ => return Ok(()),
        };
        let message = format!("column \"{name}\" of relation \"{}\" is {what}", self.relation());
        Err(Error::new(SqlState::SYNTAX_ERROR, message))
    }

    /// The name of the primary key.
    fn key_name(&self) -> String {
        key_of(&self.before).map_or_else(|| format!("{}_pkey", self.relation()), |key| key.name)
    }

    /// Whether an index of the table has that name, besides that of its primary key.
    fn has_index(&self, name: &str) -> bool {
        self.before.statistics.indexes().iter().any(|index| !index.is_primary && index.name == name)
    }

    #[cold]
    fn no_constraint(&self, name: &str) -> Error {
        let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", self.relation());
        let names = self.table.checks.iter().map(|check| check.name.as_str());
        let error = Error::new(SqlState::UNDEFINED_OBJECT, message);
        let near = catalog::nearest_name(name, names);
        near.map_or(error.clone(), |near| error.hint(format!("perhaps you meant the constraint \"{near}\"")))
    }

    fn drop_constraint(&mut self, name: &str, if_exists: bool) -> Result<()> {
        if let Some(at) = self.table.checks.iter().position(|check| check.name == name) {
            self.table.checks.remove(at);
        } else if name == self.key_name() && !self.table.primary_key.is_empty() {
            self.table.primary_key.clear();
        } else {
            self.dropped_keys.push((name.to_owned(), if_exists));
        }
        Ok(())
    }
}

/// The primary key of a table.
fn key_of(table: &Table) -> Option<IndexStatistics> {
    table.statistics.indexes().into_iter().next().filter(|index| index.is_primary)
}
