//! CREATE TABLE (LIKE t ...): columns of another table, and what else is asked for of it.

use base::Result;
use catalog::{Field, Filling, IndexMethod, IndexStatistics, Kinship, Unique};
use sqlparser::ast::{CreateTableLike, CreateTableLikeKind};

use super::Binder;
use super::foreign_key::is_primary;
use super::index::label;
use crate::{ColumnDefinition, CreateTable, IndexShape, ObjectName, Resolved, Table};

impl Binder<'_> {
    /// A table of that name with the columns of another one, or of a view.
    pub(super) fn table_like(
        &mut self,
        like: &CreateTableLikeKind,
        name: ObjectName,
        (if_not_exists, or_replace): (bool, bool),
    ) -> Result<CreateTable> {
        let (CreateTableLikeKind::Parenthesized(like) | CreateTableLikeKind::Plain(like)) = like;
        let CreateTableLike { name: from, .. } = like;
        let fields = self.describe(from)?;
        let from = self.text.object_name(from)?;
        let from = match self.resolver.table(&from).map_err(|e| e.at(from.position))? {
            Resolved::Table(table) => Some(table),
            Resolved::View { .. } => None,
        };
        let column = |field: Field| ColumnDefinition {
            nullable: field.nullable || from.is_none(),
            name: field.name,
            sql_type: field.sql_type,
            filling: Filling::NULL,
            domain: None,
            collation: None,
        };
        let mut table = CreateTable {
            name,
            columns: fields.into_iter().map(column).collect(),
            primary_key: Vec::new(),
            checks: Vec::new(),
            computed: Vec::new(),
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            sequences: Vec::new(),
            if_not_exists,
            or_replace,
            kinship: Kinship::default(),
            asked: Vec::new(),
            partition_key: None,
            is_hashed: false,
        };
        if let Some(from) = from {
            for column in &from.domains {
                table.columns[column.attribute].domain = Some(column.name.clone());
            }
            for (attribute, collation) in &from.collations {
                table.columns[*attribute].collation = Some(collation.clone());
            }
            self.copy_fillings(&from, &mut table)?;
            if self.like.constraints {
                table.checks.clone_from(&from.checks);
            }
            if self.like.indexes {
                copy_indexes(&from, &mut table);
            }
        }
        Ok(table)
    }

    fn copy_fillings(&mut self, from: &Table, table: &mut CreateTable) -> Result<()> {
        for (at, filling) in from.fillings.iter().enumerate() {
            let filling = match filling {
                Filling::Generated(_) if self.like.generated => filling.clone(),
                Filling::Identity { always, sequence } if self.like.identity => {
                    let ColumnDefinition { name, sql_type, .. } = table.columns[at].clone();
                    let own = self.own_sequence(table, &name, &[], sql_type)?;
                    let shape = sequence.shape();
                    let start = shape.start;
                    own.alter(shape, Some(start))?;
                    Filling::Identity { always: *always, sequence: own }
                }
                Filling::Generated(_) | Filling::Identity { .. } => Filling::NULL,
                other if self.like.defaults => other.clone(),
                _ => Filling::NULL,
            };
            table.columns[at].filling = filling;
        }
        Ok(())
    }
}

/// The primary key and the indexes of a table, under names of their own.
fn copy_indexes(from: &Table, table: &mut CreateTable) {
    for index in from.statistics.indexes() {
        if index.is_primary {
            table.primary_key = index.attributes();
            continue;
        }
        let method = if index.is_ordered { IndexMethod::Tree } else { IndexMethod::Hash };
        let IndexStatistics { parts, unique, only, deferrable, included, .. } = index;
        let is_unique = unique != Unique::No;
        table.computed.clone_from(&from.computed);
        let computed = from.computed.iter().map(|computed| &computed.field);
        let fields: Vec<Field> = from.fields.iter().chain(computed).cloned().collect();
        let is_plain = only.is_none() && parts.iter().all(|part| part.attribute < from.fields.len());
        let is_constraint = is_unique && is_plain;
        let name = match is_primary(deferrable) {
            true => format!("{}_pkey", table.name.name),
            false => label(&table.name, &parts, &fields, if is_constraint { "key" } else { "idx" }),
        };
        let is_named = false;
        table.indexes.push(IndexShape {
            name,
            is_named,
            parts,
            unique,
            only,
            is_constraint,
            deferrable,
            method,
            included,
        });
    }
}
