//! Types that users have made: names of types, statements about them, and the functions of enums.

use base::{Error, Result, SqlState};
use catalog::{Domain, DomainChange, Field, Name};
use functions::ScalarFunction;
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, DataType};
use types::ops::array;
use types::{EnumType, SqlType, StructField, Value};

use super::coerce::{cast_to, unify};
use super::expr::{call, no_function};
use super::type_name::sql_type;
use super::{Binder, fold, row_type};
use crate::parse::{AttributeChange, TypeAction, TypeAst};
use crate::{DomainStatement, ObjectName, Resolver, Statement, TypeStatement};

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
            TypeAction::CreateEnumOf(query) => {
                let name = self.resolver.new_name(name)?;
                let plan = self.plan_of(query)?;
                let wrong = |what: &str| Err(Error::new(SqlState::DATATYPE_MISMATCH, what).at(name.position));
                match plan.output.as_slice() {
                    [(_, column)] if plan.columns[*column].sql_type.is_string() => {}
                    [_] => return wrong("the labels of an enum are texts"),
                    _ => return wrong("a query for labels of an enum gives one column"),
                }
                Statement::Type(TypeStatement::CreateEnumOf { name, plan: Box::new(plan) })
            }
            TypeAction::Alter(change) => Statement::Type(TypeStatement::Alter { name, change: change.clone() }),
            TypeAction::Attributes(changes) => return self.alter_attributes(&name, changes),
            TypeAction::Owner if self.resolver.user_type(&name).is_some() => Statement::Nothing("ALTER TYPE"),
            TypeAction::Owner => {
                let message = format!("type \"{name}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(name.position));
            }
        })
    }

    /// ALTER TYPE ... ADD, DROP, ALTER or RENAME ATTRIBUTE.
    fn alter_attributes(&mut self, name: &ObjectName, changes: &[AttributeChange]) -> Result<Statement> {
        let composite = self.resolver.domain(name).filter(|(_, domain)| is_composite(domain));
        let Some((full, domain)) = composite else {
            let known = self.resolver.domain(name).is_some() || self.resolver.user_type(name).is_some();
            return Err(match known {
                true => Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a composite type")),
                false => Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")),
            }
            .at(name.position));
        };
        let of = domain.sql_type.structure().map_or(&[][..], |of| &of.fields);
        let mut fields: Vec<(StructField, Option<Name>)> = of
            .iter()
            .enumerate()
            .map(|(at, field)| (field.clone(), domain.fields.get(at).cloned().flatten()))
            .collect();
        for change in changes {
            self.alter_attribute(&mut fields, change, &full.1)?;
        }
        let domains: Vec<Option<Name>> = fields.iter().map(|(_, domain)| domain.clone()).collect();
        let domains = if domains.iter().any(Option::is_some) { domains } else { Vec::new() };
        let sql_type = SqlType::row_of(fields.into_iter().map(|(field, _)| field).collect());
        let name = ObjectName { schema: Some(full.0.clone()), name: full.1.clone(), position: name.position };
        let change = DomainChange::Attributes(sql_type, domains);
        Ok(Statement::Domain(DomainStatement::Alter { name, change, asked: Vec::new() }))
    }

    fn alter_attribute(
        &mut self,
        fields: &mut Vec<(StructField, Option<Name>)>,
        change: &AttributeChange,
        of: &str,
    ) -> Result<()> {
        let place = |fields: &[(StructField, Option<Name>)], ident: &ast::Ident| {
            let name = fold(ident);
            fields.iter().position(|(field, _)| field.name == name)
        };
        let missing = |ident: &ast::Ident| {
            let message = format!("column \"{}\" of relation \"{of}\" does not exist", fold(ident));
            Error::new(SqlState::UNDEFINED_COLUMN, message)
        };
        let taken = |ident: &ast::Ident| {
            let message = format!("column \"{}\" of relation \"{of}\" already exists", fold(ident));
            Error::new(SqlState::DUPLICATE_COLUMN, message)
        };
        let at = |ident: &ast::Ident| self.text.at(ident);
        match change {
            AttributeChange::Add(ident, data_type) => {
                if place(fields, ident).is_some() {
                    return Err(taken(ident).at(at(ident)));
                }
                let sql_type = self.sql_type(data_type).map_err(|e| e.at(at(ident)))?;
                let domain = self.domain_of(data_type)?.map(|(name, _)| name);
                fields.push((StructField { name: fold(ident), sql_type }, domain));
            }
            AttributeChange::Drop(ident, if_exists) => match place(fields, ident) {
                Some(found) => drop(fields.remove(found)),
                None if *if_exists => {}
                None => return Err(missing(ident).at(at(ident))),
            },
            AttributeChange::Type(ident, data_type) => {
                let found = place(fields, ident).ok_or_else(|| missing(ident).at(at(ident)))?;
                fields[found].0.sql_type = self.sql_type(data_type).map_err(|e| e.at(at(ident)))?;
                fields[found].1 = self.domain_of(data_type)?.map(|(name, _)| name);
            }
            AttributeChange::Rename(from, to) => {
                let found = place(fields, from).ok_or_else(|| missing(from).at(at(from)))?;
                if place(fields, to).is_some() {
                    return Err(taken(to).at(at(to)));
                }
                fields[found].0.name = fold(to);
            }
        }
        Ok(())
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
            let place = cast_to(position_in(all(of)?, value.clone(), position)?, SqlType::Integer)?;
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

/// Whether a domain is what CREATE TYPE ... AS (...) makes.
fn is_composite(domain: &Domain) -> bool {
    domain.sql_type.structure().is_some_and(|of| of.is_row) && domain.checks.is_empty() && !domain.not_null
}

/// The array of all values.
fn all(of: &'static EnumType) -> Result<Expr> {
    let sql_type = SqlType::Enum(of);
    let values: Vec<Value> = of.labels().iter().map(|(code, _)| Value::Enum(code)).collect();
    Ok(Expr::constant(array::encode(&values, sql_type)?, SqlType::array_of(sql_type)))
}

/// The number of a value in a list.
pub(super) fn position_in(list: Expr, value: Expr, position: Option<u32>) -> Result<Expr> {
    call("array_position", vec![list, value], position)
}

/// The values between two, which are among them; NULL is before the first one, and behind the last one.
fn range(of: &'static EnumType, first: &Expr, last: &Expr, position: Option<u32>) -> Result<Expr> {
    let number = |n: usize| Expr::constant(Value::Int(n as i64), SqlType::Integer);
    let place = |value: &Expr, otherwise: usize| {
        let found = position_in(all(of)?, value.clone(), position)?;
        let found = cast_to(found, SqlType::Integer)?;
        Ok::<_, Error>(Expr::new(ExprKind::Coalesce(vec![found, number(otherwise)]), SqlType::Integer))
    };
    let (from, to) = (place(first, 1)?, place(last, of.labels().iter().len())?);
    call("list_slice", vec![all(of)?, from, to], position)
}
