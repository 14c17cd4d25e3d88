//! Maps: `MAP {'k': 1}`, and the functions that take and make them, whose types follow from their arguments.

use base::{Error, Result, SqlState};
use functions::ScalarFunction;
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, MapEntry};
use types::{MapType, SqlType, Value};

use super::named::{call, no_function};
use crate::bind::Binder;
use crate::bind::coerce::{cast_to, known, unify};
use crate::bind::type_name::array_of;

impl Binder<'_> {
    /// `MAP {key: value}`
    pub(super) fn map_literal(&mut self, entries: &[MapEntry]) -> Result<Expr> {
        let position = entries.first().and_then(|entry| self.text.start(&entry.key));
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for entry in entries {
            keys.push(self.expr(&entry.key)?);
            values.push(self.expr(&entry.value)?);
        }
        let ((keys, key), (values, value)) = (unify(keys, "MAP")?, unify(values, "MAP")?);
        let keys = self.array_of_elements(keys, key, position)?;
        let values = self.array_of_elements(values, value, position)?;
        of_map("map", vec![keys, values], SqlType::map_of(key, value), position)
    }

    /// A call of a function of maps; none for others.
    pub(super) fn map_call(
        &mut self,
        name: &str,
        arguments: &[&ast::Expr],
        position: Option<u32>,
    ) -> Result<Option<Expr>> {
        if !matches!(name, "map" | "element_at" | "cardinality") && !name.starts_with("map_") {
            return Ok(None);
        }
        if name == "map" && arguments.is_empty() {
            return self.map_literal(&[]).map(Some);
        }
        let bound = arguments.iter().map(|a| self.expr(a).map(known)).collect::<Result<Vec<_>>>()?;
        let types: Vec<SqlType> = bound.iter().map(|a| a.sql_type).collect();
        let wrong = || no_function(name, &types).at(position);
        let made = match (name, types.as_slice()) {
            ("map", &[keys, values]) => {
                let (key, value) = keys.element().zip(values.element()).ok_or_else(wrong)?;
                of_map(name, bound, SqlType::map_of(key, value), position)?
            }
            ("map_from_entries", &[entries]) => {
                let entry = entries.element().and_then(SqlType::structure).ok_or_else(wrong)?;
                let [key, value] = entry.fields.as_slice() else { return Err(wrong()) };
                of_map(name, bound, SqlType::map_of(key.sql_type, value.sql_type), position)?
            }
            ("map_concat", [first, rest @ ..]) if !rest.is_empty() => {
                first.map().ok_or_else(wrong)?;
                let (maps, sql_type) = unify(bound, name)?;
                let mut maps = maps.into_iter();
                let first = maps.next().ok_or_else(wrong)?;
                maps.try_fold(first, |all, map| of_map(name, vec![all, map], sql_type, position))?
            }
            (_, &[SqlType::Map(of), ..]) => match self.of_one_map(name, bound, of, position)? {
                Some(made) => made,
                None => return Err(wrong()),
            },
            // Arrays have a cardinality, too.
            ("cardinality", _) => return call(name, bound, position).map(Some),
            _ => return Err(wrong()),
        };
        Ok(Some(made))
    }

    fn of_one_map(&mut self, name: &str, mut bound: Vec<Expr>, of: &MapType, at: Option<u32>) -> Result<Option<Expr>> {
        let (keys, values) = (array_of(of.key)?, array_of(of.value)?);
        let argument = (bound.len() == 2).then(|| bound.remove(1));
        let map = bound.remove(0);
        if !bound.is_empty() {
            return Ok(None);
        }
        Ok(Some(match (name, argument) {
            ("map_keys", None) => of_map(name, vec![map], keys, at)?,
            ("map_values", None) => of_map(name, vec![map], values, at)?,
            ("map_entries", None) => of_map(name, vec![map], array_of(of.entry)?, at)?,
            ("cardinality", None) => call("list_length", vec![of_map("map_keys", vec![map], keys, at)?], at)?,
            ("map_extract" | "element_at", Some(key)) => self.values_of_key(map, key, of, at)?,
            ("map_contains", Some(key)) => {
                call("list_contains", vec![of_map("map_keys", vec![map], keys, at)?, cast_to(key, of.key)?], at)?
            }
            ("map_contains_value", Some(value)) => call(
                "list_contains",
                vec![of_map("map_values", vec![map], values, at)?, cast_to(value, of.value)?],
                at,
            )?,
            _ => return Ok(None),
        }))
    }

    /// A list of the value of a key.
    fn values_of_key(&mut self, map: Expr, key: Expr, of: &MapType, position: Option<u32>) -> Result<Expr> {
        let key = self.alone(cast_to(key, of.key)?)?;
        of_map("map_extract", vec![map, key], array_of(of.value)?, position)
    }

    /// `map[key]`: NULL if the map has no such key.
    pub(super) fn map_value(&mut self, map: Expr, key: Expr, of: &MapType, position: Option<u32>) -> Result<Expr> {
        let values = self.values_of_key(map, key, of, position)?;
        let first = Expr::constant(Value::Int(1), SqlType::BigInt);
        Ok(Expr::new(ExprKind::Call(ScalarFunction::ARRAY_SUBSCRIPT, vec![values, first]), of.value).at(position))
    }
}

/// A call of a function of the table with that result.
fn of_map(name: &str, arguments: Vec<Expr>, sql_type: SqlType, position: Option<u32>) -> Result<Expr> {
    let function =
        ScalarFunction::named(name).ok_or_else(|| Error::new(SqlState::UNDEFINED_FUNCTION, name.to_owned()))?;
    Ok(Expr::new(ExprKind::Call(function, arguments), sql_type).at(position))
}
