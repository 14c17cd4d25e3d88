//! JSON that is built of values of any types, and rows of tables as objects (decision 45).

use base::{Error, Result, SqlState};
use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use sqlparser::ast;
use types::{SqlType, Value};

use super::json::along;
use super::named::call;
use crate::bind::Binder;
use crate::bind::coerce::{cast_to, is_untyped, known, padded};
use crate::bind::scope::find_relation;

/// Functions whose argument may be a table's name, for its rows as objects.
const OF_ROWS: [&str; 3] = ["to_json", "to_jsonb", ROW_OR_VALUE];
/// What stands in the texts of functions that are made up of others for an argument that may be such a name.
const ROW_OR_VALUE: &str = "row_or_value";

impl Binder<'_> {
    /// A call that builds JSON of values of any types, or takes a path of several arguments; none if it is another one.
    pub(super) fn json_call(
        &mut self,
        name: &str,
        arguments: &[&ast::Expr],
        position: Option<u32>,
    ) -> Result<Option<Expr>> {
        let normal = name.starts_with("jsonb");
        let built = match name {
            "json_build_array" | "jsonb_build_array" | "json_array" => self.built_array(arguments, position)?,
            "json_build_object" | "jsonb_build_object" => self.built_object(arguments, position)?,
            "json_object" if arguments.len() > 2 => self.built_object(arguments, position)?,
            "json_object" if arguments.len() == 2 => {
                let key = self.expr(arguments[0])?;
                let is_array = |e: &Expr| matches!(&e.kind, ExprKind::Const(Value::Str(s)) if s.starts_with('{'));
                match key.sql_type.is_array() || (is_untyped(&key) && is_array(&key)) {
                    true => return Ok(None),
                    false => self.built_object(arguments, position)?,
                }
            }
            "json_extract_path" | "jsonb_extract_path" if arguments.len() > 1 => {
                return self.path_call(name, arguments, position).map(Some);
            }
            "json_extract_path_text" | "jsonb_extract_path_text" if arguments.len() > 1 => {
                return self.path_call(name, arguments, position).map(Some);
            }
            "json_transform" | "from_json" | "json_transform_strict" | "from_json_strict" if arguments.len() == 2 => {
                return self.transformed(name.ends_with("_strict"), arguments, position).map(Some);
            }
            "json_populate_record" | "jsonb_populate_record" if arguments.len() == 2 => {
                return self.populated_record(arguments, position).map(Some);
            }
            _ if OF_ROWS.contains(&name) && !arguments.is_empty() => {
                let Some(row) = self.row_as_json(arguments[0], position)? else {
                    return if name == ROW_OR_VALUE { self.expr(arguments[0]).map(Some) } else { Ok(None) };
                };
                if name == "to_jsonb" { cast_to(row, SqlType::Jsonb)? } else { row }
            }
            _ => return Ok(None),
        };
        Ok(Some(if normal { cast_to(built, SqlType::Jsonb)? } else { built }))
    }

    /// `json_populate_record(row, json)`: an object as a row of that type, the row's values where the object has none.
    fn populated_record(&mut self, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        let (base, json) = (self.expr(arguments[0])?, self.expr(arguments[1])?);
        let to = base.sql_type;
        if !to.structure().is_some_and(|of| of.is_row) {
            let message = "first argument of json_populate_record must be a row type";
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
        }
        let json = if json.sql_type.is_json() { json } else { cast_to(json, SqlType::Jsonb)? };
        if matches!(base.kind, ExprKind::Const(Value::Null)) {
            return cast_to(json, to);
        }
        let made = cast_to(json.clone(), to)?;
        let keys = cast_to(json, SqlType::Jsonb)?;
        let mut values = Vec::new();
        for ((name, own), (_, other)) in self.fields_of(&base)?.into_iter().zip(self.fields_of(&made)?) {
            let key = Expr::constant(Value::str(name.as_str()), SqlType::Text);
            let has = call("jsonb_exists", vec![keys.clone(), key], position)?;
            let sql_type = own.sql_type;
            let case = ExprKind::Case { branches: vec![(has, other)], otherwise: Box::new(own) };
            values.push((name, Expr::new(case, sql_type)));
        }
        self.row_of_values(values, position)
    }

    /// `json_extract_path(json, key, ...)`
    fn path_call(&mut self, name: &str, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        let value = self.expr(arguments[0])?;
        let value =
            if is_untyped(&value) && name.starts_with("jsonb") { cast_to(value, SqlType::Jsonb)? } else { value };
        let mut steps = Vec::with_capacity(arguments.len());
        for step in &arguments[1..] {
            let step = self.expr(step)?;
            steps.push(cast_to(step, SqlType::Text)?);
        }
        let path = self.array_of_elements(steps, SqlType::Text, position)?;
        along(value, path, name.ends_with("_text"), position)
    }

    /// A value as JSON, NULL as its null.
    fn as_json(&mut self, value: Expr) -> Result<Expr> {
        let (position, null) = (value.position, Expr::constant(Value::str("null"), SqlType::Json));
        let value = known(padded(value));
        let is_nullable = self.plan.is_nullable(&value);
        let made = if value.sql_type == SqlType::Json { value } else { call("to_json", vec![value], position)? };
        if !is_nullable {
            return Ok(made);
        }
        Ok(Expr::new(ExprKind::Coalesce(vec![made, null]), SqlType::Json).at(position))
    }

    fn built_array(&mut self, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let value = self.expr(argument)?;
            values.push(self.as_json(value)?);
        }
        Ok(Expr::new(ExprKind::Call(F::JSON_BUILD_ARRAY, values), SqlType::Json).at(position))
    }

    fn built_object(&mut self, arguments: &[&ast::Expr], position: Option<u32>) -> Result<Expr> {
        let wrong = |message: &str| Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(position);
        if !arguments.len().is_multiple_of(2) {
            return Err(wrong("argument list must have even number of elements")
                .hint("The arguments of json_build_object() must consist of alternating keys and values."));
        }
        let mut entries = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.iter().enumerate() {
            let bound = self.expr(argument)?;
            entries.push(match at % 2 {
                0 if matches!(bound.kind, ExprKind::Const(Value::Null)) => {
                    return Err(
                        wrong(&format!("argument {} cannot be null", at + 1)).hint("Object keys should be text.")
                    );
                }
                0 => cast_to(padded(bound), SqlType::Text)?,
                _ => self.as_json(bound)?,
            });
        }
        Ok(Expr::new(ExprKind::Call(F::JSON_BUILD_OBJECT, entries), SqlType::Json).at(position))
    }

    /// The row of a table in FROM as an object, if the expression is the table's name, and none of a column.
    fn row_as_json(&mut self, expr: &ast::Expr, position: Option<u32>) -> Result<Option<Expr>> {
        let mut expr = expr;
        while let ast::Expr::Nested(inner) = expr {
            expr = inner;
        }
        let ast::Expr::Identifier(name) = expr else { return Ok(None) };
        if self.names.resolve(name, &self.text, &mut self.plan).is_ok() {
            return Ok(None);
        }
        let found = self.names.levels.iter().rev().find_map(|level| find_relation(&level.scope, name));
        let Some(relation) = found else { return Ok(None) };
        let columns: Vec<_> = relation.columns.iter().map(|c| (c.name.clone(), c.column)).collect();
        let mut entries = Vec::with_capacity(2 * columns.len());
        for (name, column) in columns {
            entries.push(Expr::constant(Value::str(name), SqlType::Text));
            let value = self.plan.reference(column);
            entries.push(self.as_json(value)?);
        }
        Ok(Some(Expr::new(ExprKind::Call(F::JSON_OF_ROW, entries), SqlType::Json).at(position)))
    }
}

/// A value that is no text as the value that it is in JSON.
pub(super) fn as_json(value: Expr, position: Option<u32>) -> Result<Expr> {
    call("to_json", vec![value], position)
}
