//! FOREACH: the values of an array, or its parts of so many dimensions.

use base::{Error, Result, SqlState};
use types::ops::array::Elements;
use types::{SqlType, Value};

use super::embedded::Embedded;
use super::loops::after;
use super::program::{Code, Place};
use super::run::{Flow, Runner};
use super::scope::Kind;

impl Runner<'_> {
    pub(super) fn each_element(
        &mut self,
        (number, place): (usize, &Place),
        (array, slice): (&Embedded, usize),
        code: &Code,
    ) -> Result<Flow> {
        let (value, sql_type) = self.value(array)?;
        let wrong = |message: String| Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        if !sql_type.is_array() {
            return wrong(format!("FOREACH expression must yield an array, not type {sql_type}"));
        }
        let Value::Str(array) = value else {
            return Err(Error::new(SqlState("22004"), "FOREACH expression must not be null"));
        };
        let dimensions = dimensions(sql_type);
        if slice > dimensions {
            let message = format!("slice dimension ({slice}) is out of the valid range 0..{dimensions}");
            return Err(Error::new(SqlState("2202E"), message));
        }
        let takes_array = match (&self.program.variables[place.slot].kind, &place.field) {
            (Kind::Scalar(of), None) => of.is_array(),
            _ => slice > 0,
        };
        match (slice, takes_array) {
            (0, true) => return wrong("FOREACH loop variable must not be of an array type".to_owned()),
            (1.., false) => return wrong("FOREACH ... SLICE loop variable must be of an array type".to_owned()),
            _ => {}
        }
        let mut values = Vec::new();
        parts(&Value::Str(array), sql_type, dimensions - slice, &mut values);
        let found = !values.is_empty();
        for (value, part) in values {
            self.token.check()?;
            self.assign(place, value, part)?;
            if let Some(flow) = after(self.steps(code)?, number) {
                self.set_found(true);
                return Ok(flow);
            }
        }
        self.set_found(found);
        Ok(Flow::On)
    }
}

fn dimensions(sql_type: SqlType) -> usize {
    sql_type.element().map_or(0, |element| 1 + dimensions(element))
}

/// What is so many levels below in an array, with its type.
fn parts(value: &Value, sql_type: SqlType, levels: usize, all: &mut Vec<(Value, SqlType)>) {
    match (value, sql_type.element()) {
        (Value::Str(array), Some(element)) if levels > 0 => {
            Elements::new(array, element).for_each(|inner| parts(&inner, element, levels - 1, all));
        }
        _ => all.push((value.clone(), sql_type)),
    }
}
