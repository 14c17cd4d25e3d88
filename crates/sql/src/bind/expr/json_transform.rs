//! `json_transform` and its kin: JSON as a value of a type that JSON says.

use base::{Error, Result, SqlState};
use plan::{Expr, ExprKind};
use sqlparser::ast;
use types::ops::json::scan::{Kind, content, items, kind, members, trimmed};
use types::ops::json::{check, unescaped};
use types::{SqlType, StructField, Value};

use crate::bind::Binder;
use crate::bind::coerce::cast_to;
use crate::bind::type_name::type_named;

impl Binder<'_> {
    /// `json_transform(json, '{"a": "INTEGER", "b": ["DATE"]}')`: a value as one of the types that the other, which is the same for all
    /// rows, has in the places of its parts. Unless it is strict, parts that are none of their types are NULL.
    pub(super) fn transformed(
        &mut self,
        strict: bool,
        arguments: &[&ast::Expr],
        position: Option<u32>,
    ) -> Result<Expr> {
        let json = cast_to(self.expr(arguments[0])?, SqlType::Json)?;
        let Value::Str(shape) = self.constant(arguments[1], "the structure")? else {
            return cast_to(json, SqlType::Json);
        };
        let at_shape = self.text.start(arguments[1]);
        check(&shape).map_err(|e| e.at(at_shape))?;
        let to = self.type_of_shape(&shape).map_err(|e| e.at(at_shape))?;
        match strict || to == SqlType::Json {
            true => cast_to(json, to),
            false => Ok(Expr::new(ExprKind::TryCast(Box::new(json)), to).at(position)),
        }
    }

    /// The type that such a structure says.
    fn type_of_shape(&mut self, shape: &str) -> Result<SqlType> {
        let shape = trimmed(shape);
        let wrong = |what: &str| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, what.to_owned()));
        match kind(shape) {
            Kind::Object => {
                let mut fields = Vec::new();
                for (name, shape) in members(shape) {
                    let sql_type = self.deeper(|b| b.type_of_shape(shape))?;
                    fields.push(StructField { name: unescaped(name)?.into_owned(), sql_type });
                }
                match fields.is_empty() {
                    true => wrong("the structure of an object has no members"),
                    false => Ok(SqlType::struct_of(fields)),
                }
            }
            Kind::Array => match items(shape).collect::<Vec<_>>().as_slice() {
                [element] => Ok(SqlType::array_of(self.deeper(|b| b.type_of_shape(element))?)),
                _ => wrong("the structure of an array has one element"),
            },
            Kind::String => match &*unescaped(content(shape))? {
                "NULL" => Ok(SqlType::Json),
                name => type_named(name, self.resolver),
            },
            _ => wrong("the structure of a value is the name of a type"),
        }
    }
}
