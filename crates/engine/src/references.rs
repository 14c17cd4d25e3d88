//! Foreign keys: after each statement of a transaction, what it has done to rows that need others or that others need. And unique
//! keys that can be deferred, whose indexes take rows as they come.
//!
//! What becomes of rows that referenced others which are gone is a statement of SQL, as PostgreSQL's triggers have it, run in
//! the same transaction, so that it obeys all constraints and is looked after itself. Rows that reference others look for
//! these in their unique index. Both note what they have read whatever the transaction's level is: so two transactions of which
//! one inserts a row and the other deletes what it references do not both commit, and nobody has to lock a row.

use std::ops::Range;
use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{Action, CatalogSnapshot, ForeignKey, Table, TableEntry};
use sql::ObjectName;
use storage::index::RowIndex;
use storage::transaction::{ChangedRows, Effect};
use storage::{Relation, RowId, ScanOp, ScanPredicate};
use types::ops::cast::{assign_value, format_value};
use types::{Chunk, ColumnBuilder, SqlType, Value};

use crate::deferred::{Modes, Pending, Side};
use crate::definitions::quoted;
use crate::environment::Environment;
use crate::gathered::gathered;
use crate::result::QueryResult;
use crate::transaction::Block;

/// More keys than these are told as arrays, or as all between two.
const FEW_KEYS: usize = 64;
const MANY_KEYS: usize = 1000;

/// 0A000 if rows of other tables may need those of this one, all of which are to go; those of some tables go with them.
pub(crate) fn check_truncate(
    environment: &Environment,
    relation: &Arc<Relation>,
    together: &[ObjectName],
) -> Result<()> {
    if !relation.effects_are_noted() {
        return Ok(());
    }
    let catalog = environment.catalog();
    let Some(Named { schema, name, .. }) = Named::of(&catalog, relation) else { return Ok(()) };
    let references = catalog.references_to(schema, name);
    let goes = |schema: &str, name: &str| {
        let is = |known: &ObjectName| {
            (catalog.schema_of(known.schema.as_deref(), &known.name), &*known.name) == (schema, name)
        };
        together.iter().any(is)
    };
    match references.iter().find(|(s, n, _)| (*s, *n) != (schema, name) && !goes(s, n)) {
        None => Ok(()),
        Some((_, table, key)) => {
            let message = "cannot truncate a table referenced in a foreign key constraint";
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .detail(format!("Table \"{table}\" references \"{name}\" by constraint \"{}\".", key.name))
                .hint(format!("Truncate table \"{table}\" at the same time, or use TRUNCATE ... CASCADE.")))
        }
    }
}

/// How a statement is run.
pub(crate) type Run = fn(&mut Environment, &str, &[(Value, SqlType)]) -> Result<QueryResult>;

/// Looks after rows that other rows need, or that need others, among what a statement has done; further ones are run by `run`.
pub(crate) fn of_effects(
    environment: &mut Environment,
    block: &Arc<Block>,
    statement: u32,
    effects: &[Arc<Effect>],
    run: Run,
) -> Result<()> {
    let catalog = environment.catalog();
    let put_off = |of: &Arc<Relation>, (name, key): (&str, Option<bool>), side: Side, effect: &Arc<Effect>| {
        let mut deferred = block.deferred();
        let (key, is_deferred) = ((of.number(), name.to_owned()), key);
        let is_deferred = is_deferred.is_some_and(|initially| deferred.modes.is_deferred(&key, initially));
        if is_deferred {
            deferred.pending.push(Pending { statement, key, referencing: of.clone(), side, effect: effect.clone() });
        }
        is_deferred
    };
    for effect in effects {
        let Some(referenced) = Named::of(&catalog, &effect.relation) else { continue };
        if referenced.table.ignores_references {
            continue;
        }
        let mut references = Vec::new();
        for (schema, name, key) in catalog.references_to(referenced.schema, referenced.name) {
            if let TableEntry::Table(referencing) = catalog.lookup(Some(schema), name)? {
                references.push((schema, name, key, referencing));
            }
        }
        // In the order in which they were made, as a rule.
        references.sort_by_key(|(.., referencing)| referencing.relation.number());
        for (schema, name, key, referencing) in references {
            let refuses = match &effect.rows {
                ChangedRows::Deleted(_) => key.on_delete == Action::Refuse,
                ChangedRows::Replaced(..) => key.on_update == Action::Refuse,
                ChangedRows::Inserted(_) | ChangedRows::Updated(..) => continue,
            };
            let named = (key.name.as_str(), key.deferrable);
            if refuses && put_off(&referencing.relation, named, Side::Referenced, effect) {
                continue;
            }
            let full = format!("{}.{}", quoted(schema), quoted(name));
            let reference = Reference { key, referencing, full, name, referenced: &referenced, run };
            reference.rows_are_gone(environment, block, effect)?;
        }
    }
    for effect in effects {
        let Some(referencing) = Named::of(&catalog, &effect.relation) else { continue };
        if referencing.table.ignores_references {
            continue;
        }
        for key in &referencing.table.foreign_keys {
            let comes = match &effect.rows {
                ChangedRows::Inserted(_) => true,
                ChangedRows::Updated(_, attributes) => attributes.iter().any(|a| key.columns.contains(a)),
                ChangedRows::Deleted(_) | ChangedRows::Replaced(..) => false,
            };
            let named = (key.name.as_str(), key.deferrable);
            if !comes || put_off(&referencing.table.relation, named, Side::Referencing, effect) {
                continue;
            }
            let TableEntry::Table(to) = catalog.lookup(Some(&key.references.0), &key.references.1)? else { continue };
            block.transaction.depend_on_reads(|| rows_have_come(block, effect, referencing.name, key, &to.relation))?;
        }
    }
    for effect in effects.iter().filter(|effect| matches!(effect.rows, ChangedRows::Inserted(_))) {
        let Some(of) = Named::of(&catalog, &effect.relation) else { continue };
        for index in of.table.indexes.iter().filter(|index| index.index.definition().deferrable.is_some()) {
            let deferrable = index.index.definition().deferrable;
            let named = (index.name(), deferrable.map(|deferrable| deferrable.initially));
            if !put_off(&of.table.relation, named, Side::Unique, effect) {
                block.transaction.depend_on_reads(|| keys_are_unique(block, effect, &index.index))?;
            }
        }
    }
    Ok(())
}

/// Looks after what had been put off and is not any more.
pub(crate) fn look_after_due(environment: &mut Environment, block: &Arc<Block>, run: Run) -> Result<()> {
    let due = block.deferred().take(|modes, pending| !is_put_off(modes, pending));
    check_pending(environment, block, due, run)
}

fn is_put_off(modes: &Modes, pending: &Pending) -> bool {
    // What is checked now was put off when it was noted: it is again unless something else was said since.
    modes.is_deferred(&pending.key, true)
}

/// Looks after all that a transaction has put off, before it ends.
pub(crate) fn look_after_deferred(environment: &mut Environment, block: &Arc<Block>, run: Run) -> Result<()> {
    let due = block.deferred().take(|_, _| true);
    check_pending(environment, block, due, run)
}

fn check_pending(environment: &mut Environment, block: &Arc<Block>, due: Vec<Pending>, run: Run) -> Result<()> {
    if due.is_empty() {
        return Ok(());
    }
    let catalog = environment.catalog();
    block.transaction.next_statement();
    for Pending { key: (_, key), referencing, side, effect, .. } in due {
        let Some(of) = Named::of(&catalog, &referencing) else { continue };
        if side == Side::Unique {
            if let Some(index) = of.table.indexes.iter().find(|index| index.name() == key) {
                block.transaction.depend_on_reads(|| keys_are_unique(block, &effect, &index.index))?;
            }
            continue;
        }
        let Some(key) = of.table.foreign_keys.iter().find(|known| known.name == key) else { continue };
        match side {
            Side::Referencing => {
                let TableEntry::Table(to) = catalog.lookup(Some(&key.references.0), &key.references.1)? else {
                    continue;
                };
                block.transaction.depend_on_reads(|| rows_have_come(block, &effect, of.name, key, &to.relation))?;
            }
            Side::Referenced => {
                let Some(referenced) = Named::of(&catalog, &effect.relation) else { continue };
                let full = format!("{}.{}", quoted(of.schema), quoted(of.name));
                let reference =
                    Reference { key, referencing: of.table, full, name: of.name, referenced: &referenced, run };
                reference.rows_are_gone(environment, block, &effect)?;
            }
            Side::Unique => {}
        }
    }
    Ok(())
}

/// SET CONSTRAINTS; outside of a transaction there is nothing to defer. Error 42704 if there is none of a name, 42809 if one cannot be deferred.
pub(crate) fn set_constraints(
    environment: &Environment,
    block: Option<&Block>,
    names: Option<Vec<ObjectName>>,
    deferred: bool,
) -> Result<()> {
    let Some(names) = names else {
        block.iter().for_each(|block| block.deferred().modes.set_all(deferred));
        return Ok(());
    };
    let catalog = environment.catalog();
    for wanted in names {
        let mut keys = Vec::new();
        for (schema, _, entry) in catalog.entries() {
            let TableEntry::Table(table) = entry else { continue };
            if wanted.schema.as_deref().is_some_and(|wanted| wanted != schema) {
                continue;
            }
            let unique = table.indexes.iter().filter(|index| index.is_constraint).map(|index| index.index.definition());
            let unique = unique.map(|key| (&key.name, key.deferrable.map(|deferrable| deferrable.initially)));
            let primary = table.relation.primary_key_name();
            let all = table.foreign_keys.iter().map(|key| (&key.name, key.deferrable)).chain(unique);
            let all = all.chain(primary.iter().map(|name| (name, None)));
            for (name, deferrable) in all.filter(|(name, _)| **name == wanted.name) {
                if deferrable.is_none() {
                    let message = format!("constraint \"{}\" is not deferrable", wanted.name);
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(wanted.position));
                }
                keys.push((table.relation.number(), name.clone()));
            }
        }
        if keys.is_empty() {
            let message = format!("constraint \"{}\" does not exist", wanted.name);
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(wanted.position));
        }
        if let Some(block) = block {
            keys.into_iter().for_each(|key| block.deferred().modes.set(key, deferred));
        }
    }
    Ok(())
}

/// 55006 if checks of a table are put off.
pub(crate) fn check_nothing_pending(block: &Block, relation: &Arc<Relation>, name: &str, what: &str) -> Result<()> {
    let is_of = |pending: &Pending| {
        Arc::ptr_eq(&pending.referencing, relation) || Arc::ptr_eq(&pending.effect.relation, relation)
    };
    if !block.deferred().pending.iter().any(is_of) {
        return Ok(());
    }
    let message = format!("cannot {what} \"{name}\" because it has pending trigger events");
    Err(Error::new(SqlState("55006"), message).hint("SET CONSTRAINTS ALL IMMEDIATE looks after them now"))
}

/// Asks whether all rows of a relation that a transaction sees have what a new foreign key of the table, called `name`, needs.
pub(crate) fn validate(
    block: &Block,
    (relation, name): (&Arc<Relation>, &str),
    key: &ForeignKey,
    to: &Arc<Relation>,
) -> Result<()> {
    let rows = block.transaction.snapshot(relation);
    for number in 0..rows.chunk_count() {
        base::statement::check()?;
        let placed = vec![(number, 0..rows.chunk(number).rows())];
        let rows = ChangedRows::Inserted(placed);
        let effect = Effect { relation: relation.clone(), before: block.transaction.snapshot(relation), rows };
        block.transaction.depend_on_reads(|| rows_have_come(block, &effect, name, key, to))?;
    }
    Ok(())
}

/// A table with its name.
struct Named<'c> {
    schema: &'c str,
    name: &'c str,
    table: &'c Arc<Table>,
}

impl<'c> Named<'c> {
    fn of(catalog: &'c CatalogSnapshot, relation: &Arc<Relation>) -> Option<Self> {
        catalog.entries().find_map(|(schema, name, entry)| match entry {
            TableEntry::Table(table) if Arc::ptr_eq(&table.relation, relation) => Some(Self { schema, name, table }),
            _ => None,
        })
    }
}

/// A foreign key and its two tables.
struct Reference<'a> {
    key: &'a ForeignKey,
    referencing: &'a Arc<Table>,
    /// The referencing table's name in SQL, and for people.
    full: String,
    name: &'a str,
    referenced: &'a Named<'a>,
    run: Run,
}

/// A condition, what is to stand in FROM or USING, and the parameters.
type Condition = (String, String, Vec<(Value, SqlType)>);

/// Keys, by column.
type Keys = Vec<Vec<Value>>;

impl Reference<'_> {
    fn names(&self) -> Vec<String> {
        let attributes = self.referencing.relation.schema().attributes();
        self.key.columns.iter().map(|&at| quoted(&attributes[at].name)).collect()
    }

    /// The types of the referenced columns.
    fn types(&self) -> Vec<SqlType> {
        let attributes = self.referenced.table.relation.schema().attributes();
        self.key.referred.iter().map(|&at| attributes[at].sql_type).collect()
    }

    /// Does what the key says with rows that referenced rows which are gone.
    fn rows_are_gone(&self, environment: &mut Environment, block: &Arc<Block>, effect: &Effect) -> Result<()> {
        let (ids, new, action) = match &effect.rows {
            ChangedRows::Deleted(ids) => (ids, None, self.key.on_delete),
            ChangedRows::Replaced(ids, rows) => (ids, Some(rows), self.key.on_update),
            ChangedRows::Inserted(_) | ChangedRows::Updated(..) => return Ok(()),
        };
        let old = gathered(&effect.before, ids, &self.key.referred);
        let now = block.transaction.snapshot(&effect.relation);
        let there = now.find_unique(&self.key.referred, &old);
        let is_gone = |row: &usize| {
            let has_null = old.columns().iter().any(|column| column.is_null(*row));
            // What is to be done with rows is done for the key that its own row had, whoever else has it now.
            let is_other = |new: &Chunk| {
                let mut keys = old.columns().iter().zip(&self.key.referred);
                keys.any(|(old, &at)| !old.value(*row).is_identical(&new.column(at).value(*row)))
            };
            !has_null
                && match new {
                    Some(new) if action != Action::Refuse => is_other(new),
                    _ => there.as_ref().is_none_or(|there| there[*row].is_none()),
                }
        };
        let gone: Vec<usize> = (0..old.rows()).filter(is_gone).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let keys = |of: &dyn Fn(usize, usize) -> Value| -> Keys {
            (0..self.key.referred.len()).map(|at| gone.iter().map(|&row| of(at, row)).collect()).collect()
        };
        let old = keys(&|at, row| old.column(at).value(row));
        let new = new.map(|rows| keys(&|at, row| rows.column(self.key.referred[at]).value(row)));
        block.transaction.depend_on_reads(|| match (action, &new) {
            (Action::Refuse | Action::Restrict, _) => self.refuse(environment, &old),
            (Action::Cascade, None) => self.change(environment, &format!("DELETE FROM {}", self.full), &old, None),
            (Action::Cascade, Some(new)) => {
                self.change(environment, &format!("UPDATE {} SET ", self.full), &old, Some(new))
            }
            (Action::SetNull, new) => self.set(environment, "NULL", &old, new.is_none()),
            (Action::SetDefault, new) => self.set(environment, "DEFAULT", &old, new.is_none()),
        })
    }

    /// Sets the columns of rows which reference these keys, whose rows are gone or have others.
    fn set(&self, environment: &mut Environment, value: &str, keys: &Keys, are_gone: bool) -> Result<()> {
        let (names, some) = (self.names(), &self.key.set_on_delete);
        let is_set = |at: &usize| !are_gone || some.is_empty() || some.contains(at);
        let sets: Vec<String> = (0..names.len()).filter(is_set).map(|at| format!("{} = {value}", names[at])).collect();
        self.change(environment, &format!("UPDATE {} SET {}", self.full, sets.join(", ")), keys, None)
    }

    /// Which rows reference these keys.
    fn condition(&self, keys: &Keys, new: Option<&Keys>) -> Result<Condition> {
        let (names, types) = (self.names(), self.types());
        if let ([name], [values], None) = (names.as_slice(), keys.as_slice(), new)
            && values.len() <= FEW_KEYS
        {
            let places: Vec<String> = (1..=values.len()).map(|number| format!("${number}")).collect();
            let parameters = values.iter().map(|value| (value.clone(), types[0])).collect();
            return Ok((format!("{}.{name} IN ({})", self.full, places.join(", ")), String::new(), parameters));
        }
        let columns = keys.iter().chain(new.into_iter().flatten());
        let all_types = types.iter().cycle();
        let parameters: Vec<(Value, SqlType)> = columns
            .zip(all_types)
            .map(|(values, sql_type)| Ok((types::ops::array::encode(values, *sql_type)?, SqlType::array_of(*sql_type))))
            .collect::<Result<_>>()?;
        let numbers: Vec<String> = (1..=parameters.len()).map(|number| format!("${number}")).collect();
        let labels: Vec<String> = (1..=parameters.len()).map(|number| format!("k{number}")).collect();
        let from = format!("unnest({}) AS gone({})", numbers.join(", "), labels.join(", "));
        let equal = names.iter().zip(&labels).map(|(name, label)| format!("{}.{name} = gone.{label}", self.full));
        Ok((equal.collect::<Vec<_>>().join(" AND "), from, parameters))
    }

    /// Runs a statement that changes the rows which reference these keys.
    fn change(&self, environment: &mut Environment, statement: &str, keys: &Keys, new: Option<&Keys>) -> Result<()> {
        let (condition, from, parameters) = self.condition(keys, new)?;
        let mut sql = statement.to_owned();
        if new.is_some() {
            let first = keys.len() + 1;
            let sets = self.names();
            let sets = sets.iter().enumerate().map(|(at, name)| format!("{name} = gone.k{}", first + at));
            sql += &sets.collect::<Vec<_>>().join(", ");
        }
        if !from.is_empty() {
            sql += if statement.starts_with("DELETE") { " USING " } else { " FROM " };
            sql += &from;
        }
        sql += &format!(" WHERE {condition}");
        let done = (self.run)(environment, &sql, &parameters).and_then(QueryResult::collect);
        done.map(drop).map_err(Error::nowhere)
    }

    /// Error 23503 if a row references one of these keys.
    fn refuse(&self, environment: &mut Environment, keys: &Keys) -> Result<()> {
        let (condition, from, parameters) = self.condition(keys, None)?;
        let columns: Vec<String> = self.names().iter().map(|name| format!("{}.{name}", self.full)).collect();
        let from = if from.is_empty() { from } else { format!(", {from}") };
        let sql = format!("SELECT {} FROM {}{from} WHERE {condition} LIMIT 1", columns.join(", "), self.full);
        let mut found = (self.run)(environment, &sql, &parameters).map_err(Error::nowhere)?;
        while let Some(chunk) = found.next_chunk().map_err(Error::nowhere)? {
            if chunk.rows() > 0 {
                return Err(self.is_referenced(&chunk));
            }
        }
        Ok(())
    }

    #[cold]
    fn is_referenced(&self, found: &Chunk) -> Error {
        let (table, key) = (self.referenced.name, &self.key.name);
        let message = format!(
            "update or delete on table \"{table}\" violates foreign key constraint \"{key}\" on table \"{}\"",
            self.name
        );
        let schema = self.referenced.table.relation.schema();
        let key = key_text(
            schema.attributes(),
            &self.key.referred,
            &found.row(0),
            &self.key.columns,
            &self.referencing.relation,
        );
        Error::new(SqlState::FOREIGN_KEY_VIOLATION, message)
            .detail(format!("Key {key} is still referenced from table \"{}\".", self.name))
            .about("constraint_name", self.key.name.as_str())
            .about_relation(self.referencing.relation.number())
    }
}

/// `(a, b)=(1, 2)`: names of these attributes, values of others.
fn key_text(named: &[storage::Attribute], names: &[usize], values: &[Value], typed: &[usize], of: &Relation) -> String {
    let names: Vec<&str> = names.iter().map(|&at| named[at].name.as_str()).collect();
    let types = typed.iter().map(|&at| of.schema().attributes()[at].sql_type);
    let values: Vec<String> = values.iter().zip(types).map(|(value, t)| format_value(value, t)).collect();
    format!("({})=({})", names.join(", "), values.join(", "))
}

/// Error 23503 if rows that are new, or have another key, reference what is not there.
fn rows_have_come(block: &Block, effect: &Effect, name: &str, key: &ForeignKey, to: &Arc<Relation>) -> Result<()> {
    let mut ids: Vec<RowId> = match &effect.rows {
        ChangedRows::Inserted(placed) => inserted(placed).collect(),
        ChangedRows::Updated(ids, attributes) if attributes.iter().any(|a| key.columns.contains(a)) => ids.clone(),
        _ => return Ok(()),
    };
    let now = block.transaction.snapshot(&effect.relation);
    // Others were changed again by what was done for them.
    ids.retain(|&id| now.sees(id));
    let found = gathered(&now, &ids, &key.columns);
    let (from, referred) = (now.schema().attributes(), to.schema().attributes());
    let mut wanted: Vec<_> =
        key.referred.iter().map(|&at| ColumnBuilder::new(referred[at].sql_type, found.rows())).collect();
    let mut rows = Vec::with_capacity(found.rows());
    for row in 0..found.rows() {
        let nulls = found.columns().iter().filter(|column| column.is_null(row)).count();
        if nulls > 0 {
            if key.is_full && nulls < key.columns.len() {
                return Err(violated(name, &effect.relation, key)
                    .detail("MATCH FULL does not allow mixing of null and nonnull key values."));
            }
            continue;
        }
        let missing = || is_missing(name, &effect.relation, key, &found.row(row));
        for (at, column) in wanted.iter_mut().enumerate() {
            let (value, own) = (found.column(at).value(row), from[key.columns[at]].sql_type);
            let other = referred[key.referred[at]].sql_type;
            // What is no value of the other type is not there.
            let same = own == other || own.is_string() && other.is_string();
            let value = if same { value } else { exact(&value, own, other).ok_or_else(missing)? };
            column.push_value(&value);
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return Ok(());
    }
    let wanted = Chunk::new(rows.len(), wanted.into_iter().map(ColumnBuilder::finish).collect());
    let there = block.transaction.snapshot(to);
    let Some(there) = there.find_unique(&key.referred, &wanted) else {
        return Err(Error::internal("a foreign key to columns that are not unique"));
    };
    if let Some(at) = there.iter().position(Option::is_none) {
        return Err(is_missing(name, &effect.relation, key, &found.row(rows[at])));
    }
    note_keys(block, to, &key.referred, |at| {
        let column = wanted.column(at);
        (0..column.rows()).map(|row| column.value(row)).collect()
    });
    Ok(())
}

/// Error 23505 if one of the rows that have been inserted has the key of another one.
fn keys_are_unique(block: &Block, effect: &Effect, index: &RowIndex) -> Result<()> {
    let ChangedRows::Inserted(placed) = &effect.rows else { return Ok(()) };
    let keys = block.transaction.snapshot(&effect.relation).check_unique(index, inserted(placed))?;
    if !keys.is_empty() {
        let attributes: Vec<usize> = index.definition().parts.iter().map(|part| part.attribute).collect();
        note_keys(block, &effect.relation, &attributes, |at| keys.iter().map(|key| key[at].clone()).collect());
    }
    Ok(())
}

/// Rows with keys of a relation are read, whether they are there or not: `values` are those of each of the attributes.
fn note_keys(block: &Block, relation: &Arc<Relation>, attributes: &[usize], values: impl Fn(usize) -> Vec<Value>) {
    let Some(reads) = block.transaction.reads() else { return };
    let schema = relation.schema().attributes();
    let predicate = |(at, &attribute): (usize, &usize)| {
        let values = values(at);
        // Which rows have NULL is left open.
        if values.iter().any(Value::is_null) {
            return None;
        }
        let op = if values.len() <= MANY_KEYS {
            ScanOp::In(values)
        } else {
            let end = |value: Option<&Value>| value.map(|value| (value.clone(), true));
            let least = values.iter().min_by(|a, b| a.total_cmp(b));
            let greatest = values.iter().max_by(|a, b| a.total_cmp(b));
            ScanOp::Between { low: end(least), high: end(greatest) }
        };
        Some(ScanPredicate::new(attribute, schema[attribute].sql_type, op))
    };
    let predicates: Vec<ScanPredicate> = attributes.iter().enumerate().filter_map(predicate).collect();
    reads.note(relation, &predicates, attributes.iter().copied());
}

/// The ids of rows that were inserted.
fn inserted(placed: &[(usize, Range<usize>)]) -> impl Iterator<Item = RowId> {
    placed.iter().flat_map(|(chunk, rows)| rows.clone().map(|row| RowId::new(*chunk, row)))
}

/// The same value of another type.
fn exact(value: &Value, from: SqlType, to: SqlType) -> Option<Value> {
    let other = assign_value(value, from, to).ok()?;
    let again = assign_value(&other, to, from).ok()?;
    (again.total_cmp(value).is_eq()).then_some(other)
}

#[cold]
fn violated(table: &str, relation: &Relation, key: &ForeignKey) -> Error {
    let message = format!("insert or update on table \"{table}\" violates foreign key constraint \"{}\"", key.name);
    let error = Error::new(SqlState::FOREIGN_KEY_VIOLATION, message);
    error.about("constraint_name", key.name.as_str()).about_relation(relation.number())
}

#[cold]
fn is_missing(name: &str, relation: &Relation, key: &ForeignKey, values: &[Value]) -> Error {
    let text = key_text(relation.schema().attributes(), &key.columns, values, &key.columns, relation);
    violated(name, relation, key).detail(format!("Key {text} is not present in table \"{}\".", key.references.1))
}
