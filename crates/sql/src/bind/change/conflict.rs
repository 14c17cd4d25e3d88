//! INSERT ... ON CONFLICT: the rows that are to be inserted, joined by their keys with those that are there.

use base::{Error, Result, SqlState};
use catalog::{Event, IndexStatistics};
use plan::{ColumnId, ColumnInfo, Compare, Expr, ExprKind, JoinKind, Node, Op, split_conjuncts};
use sqlparser::ast::{self, ConflictTarget, OnConflict, OnConflictAction};
use types::SqlType;

use super::returning::{Returning, Versions};
use super::{Changed, sole_ident};
use crate::bind::coerce::{boolean, cast_to, compare};
use crate::bind::from::table_factor;
use crate::bind::scope::{Clause, Relation, Scope, ScopeColumn};
use crate::bind::select::filtered;
use crate::bind::{Binder, Bound, Output, fold};
use crate::parse::Arbiter;
use crate::{ChangeKind, ObjectName, Statement, Table, UniqueKey};

/// What is left of the rows when conflicts are resolved.
struct Resolved {
    node: Node,
    /// The rows as they are then.
    row: Vec<Output>,
    /// The attributes that an update changes.
    updated: Vec<usize>,
    /// The columns that it sets.
    set: Vec<String>,
}

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
            let excluded = b.names_of_row(&table, &proposed[..table.fields.len()]);
            let excluded = Relation { name: Some("excluded".to_owned()), columns: excluded, ..Relation::default() };
            scope.relations.push(excluded);
            b.names.level().scope = scope;
            let Resolved { node, row, updated, set } =
                b.resolved(node, &proposed, (&columns, id), (&name, &table), &on.action)?;
            let node = if insert.returning.is_some() { b.with_mark(node, id) } else { node };
            let moves = table.has_key_among(&updated);
            let events = match on.action {
                OnConflictAction::DoUpdate(_) => &[Event::Insert, Event::Update][..],
                OnConflictAction::DoNothing => &[Event::Insert],
            };
            let fires = table.fires(b.resolver.placed(&name), events, set);
            let kind = ChangeKind::Upsert {
                updates: matches!(on.action, OnConflictAction::DoUpdate(_)),
                updated,
                moves,
                keys,
            };
            let attributes = (0..row.len()).collect();
            let bound = Bound { node, output: row };
            let returning = insert.returning.as_deref();
            let returning = returning.map(|items| Returning { items, columns: &columns, versions: Versions::Both });
            b.change(name, table, (kind, fires), attributes, Some(id), bound, returning)
        })
    }

    /// RETURNING tells by `xmax` which rows were inserted: theirs is 0, as PostgreSQL has it; that of others is not.
    fn with_mark(&mut self, node: Node, id: ColumnId) -> Node {
        let number = |number| Expr::constant(types::Value::Int(number), SqlType::BigInt);
        let is_new = Expr::new(ExprKind::IsNull(Box::new(self.plan.reference(id))), SqlType::Bool);
        let kind = ExprKind::Case { branches: vec![(is_new, number(0))], otherwise: Box::new(number(1)) };
        let mark = Expr::new(kind, SqlType::BigInt);
        let (name, column) = ("xmax".to_owned(), self.plan.column_for("xmax", &mark));
        if let Some(target) = self.names.level().scope.relations.first_mut() {
            target.hidden = Some(ScopeColumn { name, column });
        }
        Node::new(Op::Map { input: Box::new(node), columns: vec![(column, mark)] })
    }

    /// The rows that are left, inserted or updated.
    fn resolved(
        &mut self,
        mut node: Node,
        proposed: &[Output],
        (columns, id): (&[ColumnId], ColumnId),
        (name, table): (&ObjectName, &Table),
        action: &OnConflictAction,
    ) -> Result<Resolved> {
        let is_new = Expr::new(ExprKind::IsNull(Box::new(self.plan.reference(id))), SqlType::Bool);
        let OnConflictAction::DoUpdate(update) = action else {
            let (row, updated, set) = (proposed.to_vec(), Vec::new(), Vec::new());
            return Ok(Resolved { node: filtered(node, is_new), row, updated, set });
        };
        let assigned = self.assigned(&update.assignments, (table, name), columns)?;
        let guard = assigned.has_queries().then(|| Expr::new(ExprKind::Not(Box::new(is_new.clone())), SqlType::Bool));
        if let Some(condition) = &update.selection {
            self.names.level().clause = Clause::Where;
            let condition = self.condition(condition, "WHERE")?;
            let either = ExprKind::Or(vec![is_new.clone(), condition]);
            node = filtered(node, Expr::new(either, SqlType::Bool));
        }
        let (node, assigned) = self.guarded(assigned, node, guard);
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
        let set = table.names_of(assigned.iter().map(|(attribute, _)| *attribute));
        let mut bound = Bound { node, output: row.clone() };
        let new: Vec<ColumnId> = row.iter().map(|output| output.column).collect();
        if let Some(call) = self.before_row((table, name), Event::Update, (Some(columns), Some(&new)), &set)? {
            // Rows that are new have been asked for already.
            let (sql_type, as_it_is) = (call.sql_type, self.row_struct(table, &new)?);
            let case = ExprKind::Case { branches: vec![(is_new.clone(), as_it_is)], otherwise: Box::new(call) };
            bound = self.rows_of_calls(bound, table, Expr::new(case, sql_type), true)?;
        }
        let bound = self.written(bound, table, name)?;
        let Bound { node, output: written } = self.with_computed(bound, (table, name), &[])?;
        let mut updated: Vec<usize> = assigned.iter().map(|(attribute, _)| *attribute).collect();
        updated.extend((0..row.len()).filter(|&attribute| written[attribute].column != row[attribute].column));
        updated.sort_unstable();
        updated.dedup();
        Ok(Resolved { node, row: written, updated, set })
    }

    fn equal_keys(&self, key: &UniqueKey, proposed: &[Output], columns: &[ColumnId]) -> Result<Vec<Expr>> {
        let has_key = |only: usize| [proposed[only].column, columns[only]].map(|column| self.plan.reference(column));
        let equal = |attribute: &usize| {
            let (mine, theirs) = (proposed[*attribute].column, columns[*attribute]);
            compare(Compare::Eq, self.plan.reference(mine), self.plan.reference(theirs), None)
        };
        let only = key.only.into_iter().flat_map(has_key).map(Ok);
        key.attributes.iter().map(equal).chain(only).collect()
    }

    /// The keys that decide whether a row is in conflict. Error 42P10 if nothing is unique over the columns that are told.
    fn arbiters(&mut self, on: &OnConflict, table: &Table, name: &ObjectName) -> Result<Vec<UniqueKey>> {
        let key_of = |index: IndexStatistics| UniqueKey { attributes: index.attributes(), only: index.only };
        let (deferrable, others): (Vec<_>, Vec<_>) =
            table.statistics.indexes().into_iter().partition(|index| index.deferrable.is_some());
        let indexes: Vec<_> = others.into_iter().filter(|index| index.is_unique()).collect();
        let refused = || {
            let message =
                "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters";
            Error::new(SqlState("55000"), message).at(name.position)
        };
        let key = match &on.conflict_target {
            None if matches!(on.action, OnConflictAction::DoNothing) && !deferrable.is_empty() => return Err(refused()),
            None if matches!(on.action, OnConflictAction::DoNothing) => {
                return Ok(indexes.into_iter().map(key_of).collect());
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
                let has_all = |index: &IndexStatistics| index.only.is_none() && sorted(index.attributes()) == wanted;
                let found = indexes.into_iter().find(has_all);
                if found.is_none() && deferrable.iter().any(has_all) {
                    return Err(refused());
                }
                found
            }
            Some(ConflictTarget::OnConstraint(_)) if self.insert.arbiter.is_some() => {
                let arbiter = self.insert.arbiter.clone();
                arbiter.map_or(Ok(None), |arbiter| self.inferred(&arbiter, indexes, table, name))?
            }
            Some(ConflictTarget::OnConstraint(constraint)) => {
                let wanted = sole_ident(constraint).unwrap_or_default();
                let found = indexes.into_iter().find(|index| index.name == wanted);
                if deferrable.iter().any(|index| index.name == wanted) {
                    return Err(refused());
                }
                if found.is_none() {
                    let message = format!("constraint \"{wanted}\" for table \"{}\" does not exist", name.name);
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(self.text.name_position(constraint)));
                }
                found
            }
        };
        let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
        let none = || Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(name.position);
        Ok(vec![key_of(key.ok_or_else(none)?)])
    }

    /// The index over these keys, of rows that the arbiter says are such.
    fn inferred(
        &mut self,
        arbiter: &Arbiter,
        indexes: Vec<IndexStatistics>,
        table: &Table,
        name: &ObjectName,
    ) -> Result<Option<IndexStatistics>> {
        let mut columns = Vec::new();
        let mut named = Vec::new();
        for (attribute, field) in table.fields.iter().enumerate() {
            let info = ColumnInfo { name: field.name.clone(), sql_type: field.sql_type, nullable: field.nullable };
            let column = self.plan.columns.push(info);
            columns.push((attribute, column));
            named.push(ScopeColumn { name: field.name.clone(), column });
        }
        let computed = self.computed_columns(table, &named, &mut columns)?;
        let scope = Scope::of(Relation { name: Some(name.name.clone()), columns: named, ..Relation::default() });
        let attribute_of = |expr: &Expr| {
            let column = expr.as_column().or_else(|| computed.iter().find(|(_, e)| e.same_form(expr)).map(|(c, _)| *c));
            columns.iter().find(|(_, c)| Some(*c) == column).map(|(attribute, _)| *attribute)
        };
        let mut wanted = Vec::with_capacity(arbiter.keys.len());
        for key in &arbiter.keys {
            match attribute_of(&self.expr_in(key, Clause::IndexKey, scope.clone())?) {
                Some(attribute) => wanted.push(attribute),
                None => return Ok(None),
            }
        }
        let mut rows = Vec::new();
        if let Some(condition) = &arbiter.rows {
            let condition = boolean(self.expr_in(condition, Clause::IndexPredicate, scope)?, "WHERE")?;
            split_conjuncts(condition, &mut rows);
        }
        let has_rows = |only: usize| {
            let column = columns.iter().find(|(attribute, _)| *attribute == only).map(|(_, column)| *column);
            let predicate = computed.iter().find(|(c, _)| Some(*c) == column).map(|(_, e)| e.clone());
            let mut parts = Vec::new();
            predicate.into_iter().for_each(|predicate| split_conjuncts(predicate, &mut parts));
            !parts.is_empty() && parts.iter().all(|part| rows.iter().any(|row| row.same_form(part)))
        };
        wanted.sort_unstable();
        wanted.dedup();
        Ok(indexes.into_iter().find(|index| {
            let mut attributes = index.attributes();
            attributes.sort_unstable();
            attributes.dedup();
            attributes == wanted && index.only.is_none_or(has_rows)
        }))
    }
}
