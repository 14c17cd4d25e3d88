//! INSERT ... ON CONFLICT: the rows that are to be inserted, joined by their keys with those that are there.

use base::{Error, Result, SqlState};
use plan::{ColumnId, Compare, Expr, ExprKind, JoinKind, Node, Op};
use sqlparser::ast::{self, ConflictTarget, OnConflict, OnConflictAction};
use types::SqlType;

use super::{Changed, sole_ident};
use crate::bind::coerce::{cast_to, compare};
use crate::bind::from::table_factor;
use crate::bind::scope::{Clause, Relation, ScopeColumn};
use crate::bind::select::filtered;
use crate::bind::{Binder, Bound, Output, fold};
use crate::{ChangeKind, ObjectName, Statement, Table};

impl Binder<'_> {
    /// The statement that inserts `bound`, a row of the table each, unless their keys are taken.
    pub(in crate::bind) fn on_conflict(
        &mut self,
        bound: Bound,
        insert: &ast::Insert,
        written: &ast::ObjectName,
        (name, table): (ObjectName, Table),
        on: &OnConflict,
    ) -> Result<Statement> {
        let keys = self.arbiters(on, &table, &name)?;
        let alias = insert.table_alias.as_ref().map(|alias| fold(&alias.alias));
        self.at_level(|b| {
            let Changed { item, columns, id, .. } = b.changed(&table_factor(written))?;
            let mut scope = item.scope;
            if let (Some(alias), Some(relation)) = (alias, scope.relations.first_mut()) {
                relation.name = Some(alias);
            }
            let Bound { node, output: proposed } = bound;
            let mut node = node;
            // Rows that only other keys of theirs keep from being inserted.
            for key in keys.iter().skip(1) {
                let other = b.changed(&table_factor(written))?;
                let condition = b.equal_keys(key, &proposed, &other.columns)?;
                let (left, right) = (Box::new(node), Box::new(other.item.node));
                node = Node::new(Op::Join { kind: JoinKind::Anti, left, right, condition, build: Default::default() });
            }
            let node = match keys.first() {
                // No key can be taken.
                None => {
                    let null = Expr::constant(types::Value::Null, SqlType::BigInt);
                    let nothing =
                        columns.iter().map(|&c| (c, Expr::constant(types::Value::Null, b.plan.columns[c].sql_type)));
                    let columns = nothing.chain([(id, null)]).collect();
                    Node::new(Op::Map { input: Box::new(node), columns })
                }
                Some(key) => {
                    let condition = b.equal_keys(key, &proposed, &columns)?;
                    let (left, right) = (Box::new(node), Box::new(item.node));
                    let (kind, build) = (JoinKind::Left, Default::default());
                    Node::new(Op::Join { kind, left, right, condition, build })
                }
            };
            b.plan.padded.extend(columns.iter().copied().chain([id]));
            let excluded = proposed.iter().map(|o| ScopeColumn { name: o.name.clone(), column: o.column }).collect();
            let excluded = Relation { name: Some("excluded".to_owned()), columns: excluded, value: None };
            scope.relations.push(excluded);
            b.names.level().scope = scope;
            let (node, row, updated) = b.resolved(node, &proposed, (&columns, id), (&name, &table), &on.action)?;
            let moves = table.has_key_among(&updated);
            let kind = ChangeKind::Upsert {
                updates: matches!(on.action, OnConflictAction::DoUpdate(_)),
                updated,
                moves,
                keys,
            };
            let attributes = (0..row.len()).collect();
            let bound = Bound { node, output: row };
            b.change(name, table, kind, attributes, Some(id), bound, (&columns, insert.returning.as_deref()))
        })
    }

    /// The rows that are left, inserted or updated, as they are then, and the attributes that an update changes.
    fn resolved(
        &mut self,
        mut node: Node,
        proposed: &[Output],
        (columns, id): (&[ColumnId], ColumnId),
        (name, table): (&ObjectName, &Table),
        action: &OnConflictAction,
    ) -> Result<(Node, Vec<Output>, Vec<usize>)> {
        let is_new = Expr::new(ExprKind::IsNull(Box::new(self.plan.reference(id))), SqlType::Bool);
        let OnConflictAction::DoUpdate(update) = action else {
            return Ok((filtered(node, is_new), proposed.to_vec(), Vec::new()));
        };
        let assigned = self.assigned(&update.assignments, table, name)?;
        if let Some(condition) = &update.selection {
            self.names.level().clause = Clause::Where;
            let condition = self.condition(condition, "WHERE")?;
            let either = ExprKind::Or(vec![is_new.clone(), condition]);
            node = filtered(node, Expr::new(either, SqlType::Bool));
        }
        let mut computed = Vec::new();
        let mut row = Vec::new();
        for (attribute, output) in proposed.iter().enumerate() {
            let now = assigned.iter().find(|(other, _)| *other == attribute).map(|(_, value)| value.clone());
            let now = now.unwrap_or_else(|| self.plan.reference(columns[attribute]));
            let new = self.plan.reference(output.column);
            let sql_type = now.sql_type;
            let new = if new.sql_type == sql_type { new } else { cast_to(new, sql_type)? };
            let branches = vec![(is_new.clone(), new)];
            let value = Expr::new(ExprKind::Case { branches, otherwise: Box::new(now) }, sql_type);
            let column = self.plan.column_for(&output.name, &value);
            computed.push((column, value));
            row.push(Output { name: output.name.clone(), column, literal: None });
        }
        let node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        let Bound { node, output: written } = self.written(Bound { node, output: row.clone() }, table, name)?;
        let mut updated: Vec<usize> = assigned.iter().map(|(attribute, _)| *attribute).collect();
        updated.extend((0..row.len()).filter(|&attribute| written[attribute].column != row[attribute].column));
        updated.sort_unstable();
        updated.dedup();
        Ok((node, written, updated))
    }

    fn equal_keys(&self, key: &[usize], proposed: &[Output], columns: &[ColumnId]) -> Result<Vec<Expr>> {
        let equal = |attribute: &usize| {
            let (mine, theirs) = (proposed[*attribute].column, columns[*attribute]);
            compare(Compare::Eq, self.plan.reference(mine), self.plan.reference(theirs), None)
        };
        key.iter().map(equal).collect()
    }

    /// The keys that decide whether a row is in conflict. Error 42P10 if nothing is unique over the columns that are told.
    fn arbiters(&self, on: &OnConflict, table: &Table, name: &ObjectName) -> Result<Vec<Vec<usize>>> {
        let indexes: Vec<_> = table.statistics.indexes().into_iter().filter(|index| index.is_unique).collect();
        let key = match &on.conflict_target {
            None if matches!(on.action, OnConflictAction::DoNothing) => {
                return Ok(indexes.into_iter().map(|index| index.attributes).collect());
            }
            None => {
                let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message)
                    .hint("For example, ON CONFLICT (column_name).")
                    .at(name.position));
            }
            Some(ConflictTarget::Columns(columns)) => {
                let idents: Vec<&ast::Ident> = columns.iter().collect();
                let sorted = |mut attributes: Vec<usize>| {
                    attributes.sort_unstable();
                    attributes.dedup();
                    attributes
                };
                let targets = self.text.targets(table, name, &idents)?;
                let wanted = sorted(targets.iter().map(|target| target.attribute).collect());
                indexes.into_iter().find(|index| sorted(index.attributes.clone()) == wanted)
            }
            Some(ConflictTarget::OnConstraint(constraint)) => {
                let wanted = sole_ident(constraint).unwrap_or_default();
                let found = indexes.into_iter().find(|index| index.name == wanted);
                if found.is_none() {
                    let message = format!("constraint \"{wanted}\" for table \"{}\" does not exist", name.name);
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(self.text.name_position(constraint)));
                }
                found
            }
        };
        let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
        let none = || Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(name.position);
        Ok(vec![key.ok_or_else(none)?.attributes])
    }
}
