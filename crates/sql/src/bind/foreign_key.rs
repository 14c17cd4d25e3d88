//! FOREIGN KEY and REFERENCES: which rows of another table the rows of a table need.

use base::{Error, Result, SqlState};
use catalog::{Action, Deferrable, Field, ForeignKey, TEMPORARY_SCHEMA};
use sqlparser::ast::{
    self, ColumnOption, ConstraintCharacteristics, ConstraintReferenceMatchKind, DeferrableInitial,
    ForeignKeyConstraint, Ident, ReferentialAction,
};
use types::SqlType;

use super::constraint::free_name;
use super::{Binder, fold, unsupported};
use crate::parse::referential;
use crate::{CreateTable, IndexShape, ObjectName, Resolved};

const INVALID_FOREIGN_KEY: SqlState = SqlState("42830");

/// A table as foreign keys see it.
struct Referenced {
    fields: Vec<Field>,
    primary_key: Vec<usize>,
    /// The attributes of each unique key.
    unique: Vec<Vec<usize>>,
    /// And of those that can be deferred, and whether the primary key is one of them.
    deferrable: Vec<Vec<usize>>,
    has_deferrable_primary: bool,
    is_partitioned: bool,
}

/// What a table that is altered has already.
#[derive(Default)]
pub(super) struct Own {
    /// The names of its foreign keys.
    pub names: Vec<String>,
    /// The attributes of each unique index, where they are now.
    pub unique: Vec<Vec<usize>>,
    /// Whether its rows are those of its partitions.
    pub is_partitioned: bool,
}

impl Binder<'_> {
    /// Adds the foreign keys of a table whose columns and keys are known.
    pub(super) fn foreign_keys(&mut self, create: &ast::CreateTable, table: &mut CreateTable) -> Result<()> {
        let own = Own { is_partitioned: create.partition_by.is_some(), ..Own::default() };
        for column in &create.columns {
            for option in &column.options {
                let ColumnOption::ForeignKey(key) = &option.option else { continue };
                let name = option.name.as_ref().or(key.name.as_ref());
                let key = self.foreign_key(key, name, std::slice::from_ref(&column.name), table, &own)?;
                table.foreign_keys.push(key);
            }
        }
        for constraint in &create.constraints {
            let ast::TableConstraint::ForeignKey(key) = constraint else { continue };
            let key = self.foreign_key(key, key.name.as_ref(), &key.columns, table, &own)?;
            table.foreign_keys.push(key);
        }
        table.foreign_keys.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    pub(super) fn foreign_key(
        &mut self,
        key: &ForeignKeyConstraint,
        name: Option<&Ident>,
        columns: &[Ident],
        table: &CreateTable,
        before: &Own,
    ) -> Result<ForeignKey> {
        let to = self.text.object_name(&key.foreign_table)?;
        let mut to = self.resolver.placed(&to);
        let position = to.position;
        let deferrable = deferrable(key.characteristics.as_ref()).map_err(|e| e.at(position))?;
        let fields: Vec<Field> = table.columns.iter().map(|c| c.field()).collect();
        let own = self.attributes(columns, &fields)?;
        let is_temporary = table.name.schema.as_deref() == Some(TEMPORARY_SCHEMA);
        let is_itself = to.name == table.name.name && (to.schema.is_none() || to.schema == table.name.schema);
        let referenced = match is_itself {
            true => {
                to.schema.clone_from(&table.name.schema);
                self.of_itself(table, fields.clone(), before)
            }
            false => {
                let is_own = self.resolver.is_temporary(&to);
                if is_own != is_temporary {
                    let (this, other) = if is_own { ("permanent", "permanent") } else { ("temporary", "temporary") };
                    let message = format!("constraints on {this} tables may reference only {other} tables");
                    return Err(Error::new(SqlState("42P16"), message).at(position));
                }
                if is_own {
                    to.schema = Some(TEMPORARY_SCHEMA.to_owned());
                }
                self.referenced(&to)?
            }
        };
        let (named, set) = referential::parted(&key.referred_columns);
        let referred = match named.as_slice() {
            [] if referenced.has_deferrable_primary => {
                let message = format!("cannot use a deferrable primary key for referenced table \"{to}\"");
                return Err(Error::new(SqlState("55000"), message).at(position));
            }
            [] if referenced.primary_key.is_empty() => {
                let message = format!("there is no primary key for referenced table \"{to}\"");
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(position));
            }
            [] => referenced.primary_key.clone(),
            named => self.attributes(named, &referenced.fields)?,
        };
        if own.len() != referred.len() {
            let message = "number of referencing and referenced columns for foreign key disagree";
            return Err(Error::new(INVALID_FOREIGN_KEY, message).at(position));
        }
        let is_key =
            |unique: &Vec<usize>| unique.len() == referred.len() && referred.iter().all(|a| unique.contains(a));
        if referenced.deferrable.iter().any(is_key) {
            let message = format!("cannot use a deferrable unique constraint for referenced table \"{to}\"");
            return Err(Error::new(SqlState("55000"), message).at(position));
        }
        if !referenced.unique.iter().any(is_key) {
            let message = format!("there is no unique constraint matching given keys for referenced table \"{to}\"");
            return Err(Error::new(INVALID_FOREIGN_KEY, message).at(position));
        }
        // Its own index has no rows to find.
        if referenced.is_partitioned {
            return unsupported("a foreign key that references a partitioned table", position);
        }
        let of_others = before.names.iter();
        let taken: Vec<&String> = table.foreign_keys.iter().map(|other| &other.name).chain(of_others).collect();
        let is_taken = |name: &str| taken.iter().any(|other| *other == name);
        let name = match name.map(fold) {
            Some(name) if is_taken(&name) => {
                let message = format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message).at(position));
            }
            Some(name) => name,
            None => {
                let names: Vec<&str> = own.iter().map(|&at| fields[at].name.as_str()).collect();
                free_name(&table.name, Some(&names.join("_")), "fkey", is_taken)
            }
        };
        for (&mine, &theirs) in own.iter().zip(&referred) {
            let (mine, theirs) = (&fields[mine], &referenced.fields[theirs]);
            if !fits(mine.sql_type, theirs.sql_type) {
                let message = format!("foreign key constraint \"{name}\" cannot be implemented");
                let detail = format!(
                    "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                    mine.name, theirs.name, mine.sql_type, theirs.sql_type
                );
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).detail(detail).at(position));
            }
        }
        let is_full = match key.match_kind {
            None | Some(ConstraintReferenceMatchKind::Simple) => false,
            Some(ConstraintReferenceMatchKind::Full) => true,
            Some(ConstraintReferenceMatchKind::Partial) => return unsupported("MATCH PARTIAL", position),
        };
        let references = (catalog::canonical(to.schema.as_deref()).to_owned(), to.name);
        let set_on_delete = self.attributes(&set, &fields)?;
        let place = |(attribute, ident): (&usize, &Ident)| {
            own.iter().position(|own| own == attribute).ok_or_else(|| {
                let column = fold(ident);
                let message =
                    format!("column \"{column}\" referenced in ON DELETE SET action must be part of foreign key");
                Error::new(SqlState("42P10"), message).at(position)
            })
        };
        let set_on_delete = set_on_delete.iter().zip(&set).map(place).collect::<Result<_>>()?;
        Ok(ForeignKey {
            name,
            columns: own,
            references,
            referred,
            is_full,
            on_delete: action(key.on_delete),
            set_on_delete,
            on_update: action(key.on_update),
            deferrable,
            is_valid: true,
        })
    }

    fn attributes(&self, columns: &[Ident], fields: &[Field]) -> Result<Vec<usize>> {
        let attribute = |ident: &Ident| {
            let wanted = fold(ident);
            fields.iter().position(|field| field.name == wanted).ok_or_else(|| {
                let message = format!("column \"{wanted}\" referenced in foreign key constraint does not exist");
                Error::new(SqlState::UNDEFINED_COLUMN, message).at(self.text.at(ident))
            })
        };
        columns.iter().map(attribute).collect()
    }

    fn of_itself(&self, table: &CreateTable, fields: Vec<Field>, before: &Own) -> Referenced {
        let (deferrable, others): (Vec<_>, Vec<_>) = table.indexes.iter().partition(|index| index.deferrable.is_some());
        let parts = |index: &IndexShape| index.parts.iter().map(|part| part.attribute).collect::<Vec<_>>();
        let others = others.into_iter().map(parts).chain(before.unique.iter().cloned());
        let unique = others.chain((!table.primary_key.is_empty()).then(|| table.primary_key.clone())).collect();
        Referenced {
            fields,
            primary_key: table.primary_key.clone(),
            unique,
            has_deferrable_primary: deferrable.iter().any(|index| is_primary(index.deferrable)),
            deferrable: deferrable.into_iter().map(parts).collect(),
            is_partitioned: before.is_partitioned,
        }
    }

    fn referenced(&mut self, name: &ObjectName) -> Result<Referenced> {
        let Resolved::Table(table) = self.resolver.table(name).map_err(|e| e.at(name.position))? else {
            let message = format!("referenced relation \"{name}\" is not a table");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position));
        };
        let is_partitioned = table.is_partitioned();
        let all = table.statistics.indexes();
        let deferrable = || all.iter().filter(|index| index.deferrable.is_some());
        let has_deferrable_primary = deferrable().any(|index| is_primary(index.deferrable));
        let deferrable = deferrable().map(catalog::IndexStatistics::attributes).collect();
        let unique = all.iter().filter(|index| index.is_unique_of_all());
        let (primary, unique): (Vec<_>, Vec<_>) = unique.map(|i| (i.is_primary, i.attributes())).partition(|(p, _)| *p);
        let primary_key = primary.into_iter().next().map(|(_, key)| key).unwrap_or_default();
        let unique = unique.into_iter().map(|(_, key)| key);
        let unique = unique.chain((!primary_key.is_empty()).then(|| primary_key.clone())).collect();
        let fields = table.fields;
        Ok(Referenced { fields, primary_key, unique, has_deferrable_primary, deferrable, is_partitioned })
    }
}

/// Whether a key can be deferred that is the primary one.
pub(super) fn is_primary(deferrable: Option<Deferrable>) -> bool {
    deferrable.is_some_and(|deferrable| deferrable.is_primary)
}

/// What is said of when a unique or primary key is looked at.
pub(super) fn deferrable_key(said: Option<&ConstraintCharacteristics>, is_primary: bool) -> Result<Option<Deferrable>> {
    Ok(deferrable(said)?.map(|initially| Deferrable { initially, is_primary }))
}

/// Whether a constraint is deferred from the beginning; none if it never is.
fn deferrable(said: Option<&ConstraintCharacteristics>) -> Result<Option<bool>> {
    let Some(said) = said else { return Ok(None) };
    if said.enforced.is_some() {
        return unsupported("NOT ENFORCED constraints", None);
    }
    let initially = said.initially.map(|initially| initially == DeferrableInitial::Deferred);
    match (said.deferrable, initially) {
        (Some(false), Some(true)) => {
            let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
            Err(Error::new(SqlState::SYNTAX_ERROR, message))
        }
        (Some(true), initially) => Ok(Some(initially.unwrap_or(false))),
        (None, Some(true)) => Ok(Some(true)),
        _ => Ok(None),
    }
}

fn action(action: Option<ReferentialAction>) -> Action {
    match action {
        None | Some(ReferentialAction::NoAction) => Action::Refuse,
        Some(ReferentialAction::Restrict) => Action::Restrict,
        Some(ReferentialAction::Cascade) => Action::Cascade,
        Some(ReferentialAction::SetNull) => Action::SetNull,
        Some(ReferentialAction::SetDefault) => Action::SetDefault,
    }
}

/// Whether values of a type are values of the other one.
fn fits(from: SqlType, to: SqlType) -> bool {
    let is_integer = |t| matches!(t, SqlType::SmallInt | SqlType::Integer | SqlType::BigInt);
    let is_decimal = |t| matches!(t, SqlType::Decimal { .. });
    from == to
        || is_integer(from) && (is_integer(to) || is_decimal(to))
        || is_decimal(from) && is_decimal(to)
        || from.is_long_numeric() && to.is_long_numeric()
        || from.is_string() && to.is_string()
        || [from, to].iter().all(|t| matches!(t, SqlType::Real | SqlType::Double))
}
