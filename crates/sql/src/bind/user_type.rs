//! Types that users have made: names of types, statements about them, and the functions of enums.

use base::{Error, Result, SqlState};
use catalog::Field;
use functions::ScalarFunction;
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, DataType};
use types::ops::array;
use types::{EnumType, SqlType, StructField, Value};

use super::coerce::{cast_to, unify};
use super::expr::{call, no_function};
use super::type_name::sql_type;
use super::{Binder, row_type};
use crate::parse::{TypeAction, TypeAst};
use crate::{ObjectName, Resolver, Statement, TypeStatement};

/// The functions of enums: they know their values by the type of their argument.
const FUNCTIONS: [&str; 5] = ["enum_first", "enum_last", "enum_range", "enum_range_boundary", "enum_code"];

const NOT_IN_PREREQUISITE_STATE: SqlState = SqlState("55000");

/// The type of the rows of a table or view.
fn row_type_of(resolver: &dyn Resolver, name: &ObjectName) -> Option<SqlType> {
    let parts: Vec<String> = name.schema.iter().cloned().chain([name.name.clone()]).collect();
    let fields = row_type(resolver, &parts).ok()?;
    let field = |field: Field| StructField { name: field.name, sql_type: field.sql_type };
    Some(SqlType::row_of(fields.into_iter().map(field).collect()))
}

impl Binder<'_> {
    /// The type that a type name means: one that is built in, or one that somebody has made.
    pub(super) fn sql_type(&self, name: &DataType) -> Result<SqlType> {
        let resolver = self.resolver;
        let text = &self.text;
        sql_type(name, &|custom: &ast::ObjectName| {
            let name = text.object_name(custom)?;
            let domain = || resolver.domain(&name).map(|(_, domain)| domain.sql_type);
            let known = resolver.user_type(&name).map(|user_type| user_type.sql_type()).or_else(domain);
            // A table's name is the type of its rows.
            Ok(known.or_else(|| row_type_of(resolver, &name)))
        })
    }

    pub(super) fn type_statement(&mut self, ast: &TypeAst) -> Result<Statement> {
        let name = self.text.object_name(&ast.name)?;
        Ok(match &ast.action {
            TypeAction::CreateEnum(labels) => {
                let name = self.resolver.new_name(name)?;
                Statement::Type(TypeStatement::CreateEnum { name, labels: labels.clone() })
            }
            TypeAction::Alter(change) => Statement::Type(TypeStatement::Alter { name, change: change.clone() }),
            TypeAction::Owner if self.resolver.user_type(&name).is_some() => Statement::Nothing("ALTER TYPE"),
            TypeAction::Owner => {
                let message = format!("type \"{name}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(name.position));
            }
        })
    }

    /// `enum_first(x)`, `enum_last(x)`, `enum_range(x)` and `enum_range(a, b)`, if the call is one of these.
    pub(super) fn enum_function(
        &mut self,
        name: &str,
        arguments: &[&ast::Expr],
        position: Option<u32>,
    ) -> Result<Option<Expr>> {
        if !FUNCTIONS.contains(&name) {
            return Ok(None);
        }
        let bound = arguments.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
        let types: Vec<SqlType> = bound.iter().map(|a| a.sql_type).collect();
        let wrong = || no_function(name, &types).at(position);
        if bound.is_empty() || bound.len() > 1 + usize::from(name.starts_with("enum_range")) {
            return Err(wrong());
        }
        let (bound, sql_type) = unify(bound, name)?;
        let SqlType::Enum(of) = sql_type else { return Err(wrong()) };
        if let [first, last] = bound.as_slice() {
            return range(of, first, last, position).map(Some);
        }
        if let ("enum_code", [value]) = (name, bound.as_slice()) {
            let place = cast_to(call("array_position", vec![all(of)?, value.clone()], position)?, SqlType::Integer)?;
            let one = Expr::constant(Value::Int(1), SqlType::Integer);
            return Ok(Some(
                Expr::new(ExprKind::Call(ScalarFunction::SUBTRACT, vec![place, one]), SqlType::Integer).at(position),
            ));
        }
        let mut labels = of.labels().iter();
        let found = match name {
            "enum_range" => return all(of).map(|all| Some(all.at(position))),
            "enum_first" => labels.next(),
            _ => labels.next_back(),
        };
        let Some((code, _)) = found else {
            let message = format!("enum {sql_type} contains no values");
            return Err(Error::new(NOT_IN_PREREQUISITE_STATE, message).at(position));
        };
        Ok(Some(Expr::constant(Value::Enum(code), sql_type).at(position)))
    }
}

/// The array of all values.
fn all(of: &'static EnumType) -> Result<Expr> {
    let sql_type = SqlType::Enum(of);
    let values: Vec<Value> = of.labels().iter().map(|(code, _)| Value::Enum(code)).collect();
    Ok(Expr::constant(array::encode(&values, sql_type)?, SqlType::array_of(sql_type)))
}

/// The values between two, which are among them; NULL is before the first one, and behind the last one.
fn range(of: &'static EnumType, first: &Expr, last: &Expr, position: Option<u32>) -> Result<Expr> {
    let number = |n: usize| Expr::constant(Value::Int(n as i64), SqlType::Integer);
    let place = |value: &Expr, otherwise: usize| {
        let found = call("array_position", vec![all(of)?, value.clone()], position)?;
        let found = cast_to(found, SqlType::Integer)?;
        Ok::<_, Error>(Expr::new(ExprKind::Coalesce(vec![found, number(otherwise)]), SqlType::Integer))
    };
    let (from, to) = (place(first, 1)?, place(last, of.labels().iter().len())?);
    call("list_slice", vec![all(of)?, from, to], position)
}
