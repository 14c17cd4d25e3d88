//! Assignments: values as their variables want them.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::Field;
use types::{SqlType, Value};

use super::convert::converted;
use super::program::Place;
use super::run::Runner;
use super::scope::{Kind, Record, Slot, record_of};

impl Runner<'_> {
    /// Assigns a value.
    pub(super) fn assign(&mut self, place: &Place, value: Value, from: SqlType) -> Result<()> {
        if place.subscript.is_none() && place.field.is_none() && self.program.plain[place.slot] == Some(from) {
            self.frame[place.slot] = Slot::Scalar(value);
            return Ok(());
        }
        let (value, from) = match &place.subscript {
            None => (value, from),
            Some(subscript) => {
                let (at, _) = self.value(subscript)?;
                self.with_element(place, &at, &value, from)?
            }
        };
        let variable = &self.program.variables[place.slot];
        let to = match (&variable.kind, &place.field) {
            (Kind::Scalar(sql_type), None) => *sql_type,
            (Kind::Scalar(_), Some(_)) => return Err(wrong(format!("\"{}\" is not a known variable", place.shown))),
            (Kind::Row(_) | Kind::Record, Some(field)) => return self.assign_field(place.slot, field, &value, from),
            (Kind::Row(_) | Kind::Record, None) if value.is_null() => {
                let empty = self.empty(place.slot);
                self.frame[place.slot] = empty;
                return Ok(());
            }
            (Kind::Row(_) | Kind::Record, None) if let Some(record) = record_of(&value, from) => {
                let slot = place.slot;
                return self.assign_record(slot, &record.fields, Some(record.values));
            }
            (Kind::Row(_) | Kind::Record, None) => {
                return Err(Error::new(
                    SqlState::DATATYPE_MISMATCH,
                    "cannot assign non-composite value to a record variable",
                ));
            }
        };
        if value.is_null() && variable.not_null {
            let message = format!("null value cannot be assigned to variable \"{}\" declared NOT NULL", variable.name);
            return Err(Error::new(SqlState("22004"), message));
        }
        let value = if from == to { value } else { converted(&value, from, to, &self.zone)? };
        self.frame[place.slot] = Slot::Scalar(value);
        self.check_domain(place.slot)
    }

    /// The value of a variable of a domain becomes one of that, or it is an error.
    pub(super) fn check_domain(&mut self, slot: usize) -> Result<()> {
        if !self.program.domains.contains_key(&slot) {
            return Ok(());
        }
        let program = self.program.clone();
        self.frame[slot] = Slot::Scalar(self.value(&program.domains[&slot])?.0);
        Ok(())
    }

    fn assign_field(&mut self, slot: usize, field: &str, value: &Value, from: SqlType) -> Result<()> {
        let zone = self.zone.clone();
        let (sql_type, old) = self.field(slot, field)?;
        *old = converted(value, from, sql_type, &zone)?;
        if let Slot::Record(Some(record)) = &mut self.frame[slot] {
            record.is_null = false;
        }
        self.check_fields(slot, Some(field))
    }

    /// The values of fields that are of domains become ones of these, or it is an error: of one field, or all of them.
    fn check_fields(&mut self, slot: usize, only: Option<&str>) -> Result<()> {
        if !self.program.domains_of_fields.contains_key(&slot) {
            return Ok(());
        }
        let program = self.program.clone();
        for (at, checked) in &program.domains_of_fields[&slot] {
            let is_it = |record: &Record| only.is_none_or(|only| record.fields[*at].name == only);
            if !matches!(&self.frame[slot], Slot::Record(Some(record)) if is_it(record)) {
                continue;
            }
            let (value, _) = self.value(checked)?;
            if let Slot::Record(Some(record)) = &mut self.frame[slot] {
                record.values[*at] = value;
            }
        }
        Ok(())
    }

    /// A record's field: its type, and the value in it.
    fn field(&mut self, slot: usize, field: &str) -> Result<(SqlType, &mut Value)> {
        let name = &self.program.variables[slot].name;
        let Slot::Record(Some(record)) = &mut self.frame[slot] else {
            return Err(Error::new(SqlState("55000"), format!("record \"{name}\" is not assigned yet"))
                .detail("The tuple structure of a not-yet-assigned record is indeterminate."));
        };
        let Some(at) = record.fields.iter().position(|known| known.name == field) else {
            let message = format!("record \"{name}\" has no field \"{field}\"");
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
        };
        Ok((record.fields[at].sql_type, &mut record.values[at]))
    }

    /// The array in a variable or in a record's field with another element.
    fn with_element(&mut self, place: &Place, at: &Value, value: &Value, from: SqlType) -> Result<(Value, SqlType)> {
        let zone = self.zone.clone();
        let (array, old) = match (&self.program.variables[place.slot].kind, &place.field) {
            (Kind::Row(_) | Kind::Record, Some(field)) => self.field(place.slot, field)?,
            (&Kind::Scalar(array), None) => match &mut self.frame[place.slot] {
                Slot::Scalar(old) => (array, old),
                Slot::Record(_) => return Err(Error::internal("an array is no record")),
            },
            _ => return Err(wrong(format!("\"{}\" is no array", place.shown))),
        };
        let Some(element) = array.element() else {
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, format!("\"{}\" is no array", place.shown)));
        };
        let value = converted(value, from, element, &zone)?;
        let old = match old {
            Value::Null => None,
            Value::Str(old) => Some(&**old),
            _ => return Err(Error::internal("an array in another form")),
        };
        let at = if let Value::Int(at) = at { Some(*at) } else { None };
        Ok((types::ops::array::with_element(old, at, value, element)?, array))
    }

    /// Assigns a row: to a record as it is, to variables one by one. Without a row all are NULL.
    pub(super) fn assign_row(
        &mut self,
        places: &[Place],
        fields: &Arc<[Field]>,
        row: Option<Vec<Value>>,
    ) -> Result<()> {
        if let [place] = places
            && place.field.is_none()
            && !matches!(self.program.variables[place.slot].kind, Kind::Scalar(_))
        {
            return self.assign_record(place.slot, fields, row);
        }
        self.assign_values(places, fields, row.into_iter().flatten())
    }

    /// Assigns values to variables one by one; those without one become NULL.
    fn assign_values(
        &mut self,
        places: &[Place],
        fields: &[Field],
        mut values: impl Iterator<Item = Value>,
    ) -> Result<()> {
        for (at, place) in places.iter().enumerate() {
            let value = values.next().unwrap_or(Value::Null);
            let from = fields.get(at).map_or(SqlType::Null, |field| field.sql_type);
            self.assign(place, value, from)?;
        }
        Ok(())
    }

    /// Assigns the row of a statement of one row, whose memory others have again.
    pub(super) fn assign_spare(&mut self, places: &[Place], fields: &Arc<[Field]>) -> Result<()> {
        let mut row = std::mem::take(&mut self.spare.row);
        if let [place] = places
            && !matches!(self.program.variables[place.slot].kind, Kind::Scalar(_))
        {
            return self.assign_row(places, fields, Some(row));
        }
        self.assign_values(places, fields, row.drain(..))?;
        self.spare.row = row;
        Ok(())
    }

    fn assign_record(&mut self, slot: usize, fields: &Arc<[Field]>, row: Option<Vec<Value>>) -> Result<()> {
        let is_there = row.is_some();
        let record = match &self.program.variables[slot].kind {
            Kind::Row(own) => {
                let mut values = Vec::with_capacity(own.len());
                let mut given = row.into_iter().flatten();
                for (at, field) in own.iter().enumerate() {
                    let value = given.next().unwrap_or(Value::Null);
                    let from = fields.get(at).map_or(SqlType::Null, |field| field.sql_type);
                    values.push(converted(&value, from, field.sql_type, &self.zone)?);
                }
                Record::new(own.clone(), values)
            }
            _ => {
                let values = row.unwrap_or_else(|| vec![Value::Null; fields.len()]);
                Record::new(fields.clone(), values)
            }
        };
        self.frame[slot] = Slot::Record(Some(record));
        if is_there { self.check_fields(slot, None) } else { Ok(()) }
    }

    /// What a variable holds before anything is assigned to it.
    pub(super) fn empty(&self, slot: usize) -> Slot {
        match &self.program.variables[slot].kind {
            Kind::Scalar(_) => Slot::Scalar(Value::Null),
            Kind::Row(fields) => Slot::Record(Some(Record::null(fields.clone()))),
            Kind::Record => Slot::Record(None),
        }
    }
}

#[cold]
fn wrong(message: String) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}
