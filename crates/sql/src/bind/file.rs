//! Functions in FROM that read files: paths, and options by name.

use base::{Error, Result, SqlState};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, TableAlias};
use types::ops::date::Zone;
use types::ops::{array, json, structure};
use types::{SqlType, Value};

use super::from::FromItem;
use super::type_name::type_named;
use super::{Binder, fold};

/// Options that name types.
const TYPED: [&str; 5] = ["columns", "types", "dtypes", "column_types", "auto_type_candidates"];

impl Binder<'_> {
    /// `read_csv('a.csv', header = true)`, `read_parquet(['a.parquet', 'b.parquet'])`
    pub(super) fn file_function(
        &mut self,
        function: &str,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        position: Option<u32>,
    ) -> Result<FromItem> {
        let wrong = |message: String| Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(position));
        let (mut paths, mut options) = (Vec::new(), Vec::new());
        for argument in arguments {
            let (name, value) = match argument {
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => (Some(name), value),
                // `name = value` is a comparison to the parser.
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => match value {
                    ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } => match left.as_ref() {
                        ast::Expr::Identifier(name) => (Some(name), right.as_ref()),
                        _ => (None, value),
                    },
                    _ => (None, value),
                },
                _ => return wrong(format!("{function} takes a path, or a list of paths, and options name = value")),
            };
            match name {
                Some(name) => {
                    let name = fold(name);
                    let value = self.option(&name, value)?;
                    options.push((name, value));
                }
                None if paths.is_empty() => paths = self.paths(value)?,
                None => {
                    return wrong(format!("{function} takes a path, or a list of paths, and options name = value"));
                }
            }
        }
        if paths.is_empty() {
            return wrong(format!("{function} needs a path"));
        }
        self.scan_files(function, &paths, options, alias, position)
    }

    /// A path, or a list of such.
    fn paths(&mut self, expr: &ast::Expr) -> Result<Vec<String>> {
        let wrong = Error::new(SqlState::DATATYPE_MISMATCH, "a path must be a string").at(self.text.start(expr));
        let path = |value: Value| match value {
            Value::Str(path) => Some(path.to_string()),
            _ => None,
        };
        let (value, sql_type) = self.typed_constant(expr, "a path")?;
        let paths: Option<Vec<String>> = match (&value, sql_type) {
            (Value::Str(form), SqlType::Array(&element)) if element.is_string() => {
                array::Elements::new(form, element).map(path).collect()
            }
            (Value::Str(_), sql_type) if !sql_type.is_nested() => path(value).map(|path| vec![path]),
            _ => None,
        };
        paths.ok_or(wrong)
    }

    /// The value of an option: lists and structs as JSON, types as they print.
    fn option(&mut self, name: &str, expr: &ast::Expr) -> Result<Value> {
        let (value, sql_type) = self.typed_constant(expr, "an option of a file")?;
        let Value::Str(form) = &value else { return Ok(value) };
        let resolver = self.resolver;
        let written = |value: &Value| match value {
            Value::Str(text) if TYPED.contains(&name) => type_named(text, resolver).map(|of| of.to_string()),
            Value::Str(text) => Ok(text.to_string()),
            _ => Ok(String::new()),
        };
        let mut out = String::new();
        match sql_type {
            SqlType::Array(&element) if element.is_string() => {
                let texts = array::Elements::new(form, element).map(|value| Ok(json::quote(&written(&value)?)));
                out = format!("[{}]", texts.collect::<Result<Vec<_>>>()?.join(","));
            }
            SqlType::Struct(of) if of.fields.iter().all(|field| field.sql_type.is_string()) => {
                let member =
                    |(value, name): (Value, &str)| Ok(json::quote(name) + ":" + &json::quote(&written(&value)?));
                let values = structure::values(form, of).zip(of.fields.iter().map(|field| field.name.as_str()));
                out = format!("{{{}}}", values.map(member).collect::<Result<Vec<_>>>()?.join(","));
            }
            nested if nested.is_nested() => json::write(&mut out, &value, nested, &Zone::default()),
            _ => return Ok(value),
        }
        Ok(Value::str(out))
    }
}
