//! Which names mean which variables, and the variables' values while a program runs.

use std::cell::RefCell;
use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::Field;
use types::ops::structure;
use types::{SqlType, StructField, Value};

/// 55000.
const NOT_READY: SqlState = SqlState("55000");

/// A variable.
pub(super) struct Variable {
    pub name: String,
    pub kind: Kind,
    pub is_constant: bool,
    pub not_null: bool,
}

/// What a variable holds.
#[derive(Clone)]
pub(super) enum Kind {
    Scalar(SqlType),
    /// A row of these columns.
    Row(Arc<[Field]>),
    /// Any row.
    Record,
}

/// What a variable of that type holds.
pub(super) fn kind_of(sql_type: SqlType) -> Kind {
    let field = |of: &StructField| Field { name: of.name.clone(), sql_type: of.sql_type, nullable: true };
    match sql_type.structure().filter(|of| of.is_row) {
        Some(of) => Kind::Row(of.fields.iter().map(field).collect()),
        None => Kind::Scalar(sql_type),
    }
}

/// The names of a block, within those around it.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// What qualifies them.
    pub label: Option<String>,
    pub names: Vec<(String, usize)>,
    pub around: Option<Arc<Scope>>,
}

impl Scope {
    fn own(&self, name: &str) -> Option<usize> {
        self.names.iter().rev().find(|(known, _)| known == name).map(|(_, slot)| *slot)
    }

    /// The innermost variable of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.own(name).or_else(|| self.around.as_ref()?.find(name))
    }

    fn labelled(&self, label: &str) -> Option<&Self> {
        if self.label.as_deref() == Some(label) { Some(self) } else { self.around.as_ref()?.labelled(label) }
    }

    /// The variable and the field that the parts of a name mean, if they mean any.
    pub fn resolve(&self, parts: &[String]) -> Option<(usize, Option<String>)> {
        match parts {
            [name] => self.find(name).map(|slot| (slot, None)),
            [first, second] => match self.find(first) {
                Some(slot) => Some((slot, Some(second.clone()))),
                None => self.labelled(first)?.own(second).map(|slot| (slot, None)),
            },
            [label, name, field] => self.labelled(label)?.own(name).map(|slot| (slot, Some(field.clone()))),
            _ => None,
        }
    }
}

/// A record's value.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub fields: Arc<[Field]>,
    pub values: Vec<Value>,
    /// Whether there is no row, rather than one of NULLs.
    pub is_null: bool,
}

impl Record {
    /// A row.
    pub fn new(fields: Arc<[Field]>, values: Vec<Value>) -> Self {
        Self { fields, values, is_null: false }
    }

    /// No row, of these columns.
    pub fn null(fields: Arc<[Field]>) -> Self {
        let values = vec![Value::Null; fields.len()];
        Self { fields, values, is_null: true }
    }

    /// The row that it is as a value, and its type.
    pub fn value(&self) -> Result<(Value, SqlType)> {
        let sql_type = struct_of(&self.fields);
        if self.is_null {
            return Ok((Value::Null, sql_type));
        }
        let Some(of) = sql_type.structure() else { return Err(Error::internal("a record that is no struct")) };
        Ok((structure::encode(&self.values, of)?, sql_type))
    }
}

/// The type of a record of these fields as a value.
pub(super) fn struct_of(fields: &[Field]) -> SqlType {
    let field = |field: &Field| StructField { name: field.name.clone(), sql_type: field.sql_type };
    SqlType::row_of(fields.iter().map(field).collect())
}

/// The record that a struct is.
pub(super) fn record_of(value: &Value, sql_type: SqlType) -> Option<Record> {
    let (Value::Str(form), Some(of)) = (value, sql_type.structure()) else { return None };
    let field = |field: &StructField| Field { name: field.name.clone(), sql_type: field.sql_type, nullable: true };
    let values = structure::values(form, of).collect();
    Some(Record::new(of.fields.iter().map(field).collect(), values))
}

/// A variable's value.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    Scalar(Value),
    /// None: not assigned yet.
    Record(Option<Record>),
}

/// A variable, or a field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub slot: usize,
    pub field: Option<usize>,
}

/// What a record has that is not there.
static NULL: Value = Value::Null;

impl Reference {
    /// Where its value lies; of a record as a whole, which lies nowhere, NULL.
    pub fn borrowed(self, frame: &[Slot]) -> &Value {
        match (&frame[self.slot], self.field) {
            (Slot::Scalar(value), _) => value,
            (Slot::Record(Some(record)), Some(field)) => record.values.get(field).unwrap_or(&NULL),
            (Slot::Record(_), _) => &NULL,
        }
    }

    /// Its value.
    pub fn value(self, frame: &[Slot]) -> Value {
        match (&frame[self.slot], self.field) {
            (Slot::Scalar(value), _) => value.clone(),
            (Slot::Record(Some(record)), None) => record.value().map_or(Value::Null, |(value, _)| value),
            (Slot::Record(Some(record)), Some(field)) => record.values.get(field).cloned().unwrap_or(Value::Null),
            (Slot::Record(_), _) => Value::Null,
        }
    }
}

/// The value of a variable.
pub(super) fn held(frame: &[Slot], slot: usize) -> Value {
    Reference { slot, field: None }.value(frame)
}

/// What a piece of SQL sees: it notes what it refers to.
pub(super) struct Seen<'a> {
    pub scope: &'a Scope,
    pub variables: &'a [Variable],
    pub frame: &'a [Slot],
    pub references: RefCell<Vec<(Reference, SqlType)>>,
    /// The columns of records that it refers to.
    pub shapes: RefCell<Vec<(usize, Arc<[Field]>)>>,
}

impl<'a> Seen<'a> {
    pub fn new(scope: &'a Scope, variables: &'a [Variable], frame: &'a [Slot]) -> Self {
        Self { scope, variables, frame, references: RefCell::default(), shapes: RefCell::default() }
    }

    /// The number and type by which a name is known from now on.
    pub fn variable(&self, parts: &[String]) -> Result<Option<(usize, SqlType)>> {
        let Some((slot, field)) = self.scope.resolve(parts) else { return Ok(None) };
        let (reference, sql_type) = match (&self.variables[slot].kind, field) {
            (Kind::Scalar(sql_type), None) => (Reference { slot, field: None }, *sql_type),
            // It may be a column of a table with the name of a variable.
            (Kind::Scalar(_), Some(_)) => return Ok(None),
            (Kind::Row(_) | Kind::Record, Some(field)) => self.field(slot, &field)?,
            (Kind::Row(_) | Kind::Record, None) => {
                let record = self.record(slot)?;
                (Reference { slot, field: None }, struct_of(&record.fields))
            }
        };
        let mut references = self.references.borrow_mut();
        let known = references.iter().position(|(known, _)| *known == reference);
        let number = known.unwrap_or_else(|| {
            references.push((reference, sql_type));
            references.len() - 1
        });
        Ok(Some((number, sql_type)))
    }

    /// Whether it is a record, rather than a field of one.
    pub fn is_whole_record(&self, reference: Reference) -> bool {
        reference.field.is_none() && !matches!(self.variables[reference.slot].kind, Kind::Scalar(_))
    }

    /// The record in a variable, of which it is noted what columns it has.
    fn record(&self, slot: usize) -> Result<&Record> {
        let name = &self.variables[slot].name;
        let Slot::Record(Some(record)) = &self.frame[slot] else {
            return Err(Error::new(NOT_READY, format!("record \"{name}\" is not assigned yet"))
                .detail("The tuple structure of a not-yet-assigned record is indeterminate."));
        };
        let mut shapes = self.shapes.borrow_mut();
        if shapes.iter().all(|(known, _)| *known != slot) {
            shapes.push((slot, record.fields.clone()));
        }
        Ok(record)
    }

    fn field(&self, slot: usize, field: &str) -> Result<(Reference, SqlType)> {
        let (name, record) = (&self.variables[slot].name, self.record(slot)?);
        match record.fields.iter().position(|f| f.name == field) {
            Some(at) => Ok((Reference { slot, field: Some(at) }, record.fields[at].sql_type)),
            None => {
                let message = format!("record \"{name}\" has no field \"{field}\"");
                Err(Error::new(SqlState::UNDEFINED_COLUMN, message))
            }
        }
    }
}
