//! Structs: `{'a': 1}`, `struct_pack(a := 1)`, their fields, and structs with other fields. A struct is its fields put together as the
//! elements of an array are (decision 54), so that no function makes one.

use base::{Error, Result, SqlState};
use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, BinaryOperator, DictionaryField, FunctionArg, FunctionArgExpr, FunctionArguments, Ident};
use types::ops::{array, structure};
use types::{SqlType, StructField, Value};

use super::json::json_operator;
use super::named::no_function;
use crate::bind::coerce::known;
use crate::bind::type_name::struct_of;
use crate::bind::{Binder, fold};

/// Functions whose arguments have names.
const NAMED: [&str; 3] = ["struct_pack", "struct_insert", "struct_update"];

impl Binder<'_> {
    /// `{'a': 1, 'b': x}`
    pub(super) fn dictionary(&mut self, fields: &[DictionaryField]) -> Result<Expr> {
        let mut bound = Vec::with_capacity(fields.len());
        for field in fields {
            bound.push((field.key.value.clone(), named_value(self.expr(&field.value)?)));
        }
        let position = fields.first().and_then(|field| self.text.at(&field.key));
        self.struct_of_values(bound, position)
    }

    /// A row of those values.
    pub(in crate::bind) fn row_of_values(&self, values: Vec<(String, Expr)>, position: Option<u32>) -> Result<Expr> {
        let field = |(name, value): &(String, Expr)| StructField { name: name.clone(), sql_type: value.sql_type };
        let sql_type = SqlType::row_of(values.iter().map(field).collect());
        self.put_together(values, sql_type, position)
    }

    /// A struct of those values.
    pub(in crate::bind) fn struct_of_values(&self, values: Vec<(String, Expr)>, position: Option<u32>) -> Result<Expr> {
        let field = |(name, value): &(String, Expr)| StructField { name: name.clone(), sql_type: value.sql_type };
        let sql_type = struct_of(values.iter().map(field).collect()).map_err(|e| e.at(position))?;
        self.put_together(values, sql_type, position)
    }

    pub(in crate::bind) fn put_together(
        &self,
        values: Vec<(String, Expr)>,
        sql_type: SqlType,
        position: Option<u32>,
    ) -> Result<Expr> {
        let Some(of) = sql_type.structure() else { return Err(Error::internal("a struct without fields")) };
        let constants: Option<Vec<&Value>> = values.iter().map(|(_, value)| value.as_constant()).collect();
        if let Some(constants) = constants {
            return Ok(Expr::constant(structure::encode(constants, of)?, sql_type).at(position));
        }
        // Behind nothing, so that a struct of one field is put together, too.
        let mut made = Expr::constant(Value::str(""), SqlType::array_of(SqlType::Text));
        for (_, value) in values {
            let value = self.alone(value)?;
            made = Expr::new(ExprKind::Call(F::ARRAY_CAT, vec![made, value]), sql_type).at(position);
        }
        Ok(made)
    }

    /// The field of a struct; NULL where that is NULL.
    pub(in crate::bind) fn struct_field(&self, value: Expr, name: &str, position: Option<u32>) -> Result<Expr> {
        let Some(of) = value.sql_type.structure() else {
            let message = format!("column notation .{name} applied to type {}, which is not a struct", value.sql_type);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position));
        };
        let Some(number) = of.position(name) else {
            let names: Vec<&str> = of.fields.iter().map(|field| field.name.as_str()).collect();
            let message = format!("field \"{name}\" not found in data type {}", value.sql_type);
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message)
                .hint(format!("its fields are {}", names.join(", ")))
                .at(position));
        };
        let at = Expr::constant(Value::Int(number as i64), SqlType::BigInt);
        let sql_type = of.fields[number].sql_type;
        Ok(Expr::new(ExprKind::Call(F::STRUCT_FIELD, vec![value, at]), sql_type).at(position))
    }

    /// `column.field`, `table.column.field.field`, where that is no column itself.
    pub(super) fn path_of(&mut self, parts: &[Ident], error: Error) -> Result<Expr> {
        let states = [SqlState::UNDEFINED_TABLE, SqlState::SYNTAX_ERROR, SqlState::UNDEFINED_COLUMN];
        if !states.contains(&error.state()) {
            return Err(error);
        }
        // A table may have the name of its column.
        let is_table = error.state() == SqlState::UNDEFINED_COLUMN;
        let [first, rest @ ..] = parts else { return Err(error) };
        let begin = match (self.identifier(first), rest) {
            (Ok(value), _) => Some((value, rest)),
            (Err(_), [second, rest @ ..]) if !rest.is_empty() => {
                self.names.resolve_qualified(first, second, &self.text, &mut self.plan).ok().map(|value| (value, rest))
            }
            _ => None,
        };
        let has_members = |of: SqlType| of.structure().is_some() || of.is_json() || of.map().is_some();
        let Some((mut value, fields)) = begin.filter(|(value, _)| has_members(value.sql_type)) else {
            return Err(error);
        };
        for field in fields {
            value = match self.member(value, field, self.text.at(first)) {
                Err(_) if is_table => return Err(error),
                member => member?,
            };
        }
        Ok(value)
    }

    /// What a name behind a point means: the field of a struct, the member of an object in JSON, the value of a key of a map.
    pub(super) fn member(&mut self, value: Expr, name: &Ident, position: Option<u32>) -> Result<Expr> {
        // Keys are as they are written.
        let key = || Expr::constant(Value::str(name.value.as_str()), SqlType::Text);
        if value.sql_type.is_json()
            && let Some(member) = json_operator(&BinaryOperator::Arrow, &value, &key(), position)
        {
            return member;
        }
        match value.sql_type.map() {
            Some(of) if of.key.is_string() => self.map_value(value, key(), of, position),
            _ => self.struct_field(value, &fold(name), position),
        }
    }

    /// The fields of a column that is a struct.
    pub(in crate::bind) fn fields_of(&self, value: &Expr) -> Result<Vec<(String, Expr)>> {
        let fields = value.sql_type.structure().map_or(&[][..], |of| &of.fields);
        let one = |field: &StructField| {
            Ok((field.name.clone(), self.struct_field(value.clone(), &field.name, value.position)?))
        };
        fields.iter().map(one).collect()
    }

    /// `struct_pack(a := 1)`, `struct_insert(s, b := 2)`, `struct_update(s, b := 3)`, `struct_extract(s, 'a')`; none for other functions.
    pub(super) fn struct_call(&mut self, function: &ast::Function) -> Result<Option<Expr>> {
        let ([ast::ObjectNamePart::Identifier(ident)], FunctionArguments::List(list)) =
            (function.name.0.as_slice(), &function.args)
        else {
            return Ok(None);
        };
        let (name, position) = (fold(ident), self.text.at(ident));
        if name == "struct_extract"
            && let [
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(field)),
            ] = list.args.as_slice()
        {
            let (value, field) = (self.expr(value)?, self.expr(field)?);
            return match &field.kind {
                ExprKind::Const(Value::Str(field)) => self.struct_field(value, field, position).map(Some),
                _ => Err(Error::unsupported("struct_extract with anything but the name of a field").at(position)),
            };
        }
        if matches!(name.as_str(), "struct_keys" | "struct_concat" | "struct_extract_at") {
            return self.struct_parts(&name, list, position).map(Some);
        }
        if !NAMED.contains(&name.as_str()) {
            return Ok(None);
        }
        let mut fields = Vec::new();
        for argument in &list.args {
            match argument {
                FunctionArg::Named { name: field, arg: FunctionArgExpr::Expr(value), .. } => {
                    let (value, field) = (named_value(self.expr(value)?), fold(field));
                    let known = fields
                        .iter()
                        .position(|(name, _): &(String, Expr)| name.to_lowercase() == field.to_lowercase());
                    match known.filter(|_| name == "struct_update") {
                        Some(at) => fields[at].1 = value,
                        None => fields.push((field, value)),
                    }
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) if name != "struct_pack" && fields.is_empty() => {
                    let value = self.expr(value)?;
                    if value.sql_type.structure().is_none() {
                        let message = format!("{name} takes a struct, not {}", value.sql_type);
                        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
                    }
                    fields = self.fields_of(&value)?;
                }
                // A column is the field of its name.
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value))
                    if name == "struct_pack" && column(value).is_some() =>
                {
                    let field = column(value).map(fold).unwrap_or_default();
                    fields.push((field, named_value(self.expr(value)?)));
                }
                _ => {
                    let message = format!("the arguments of {name} are fields, such as a := 1");
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
                }
            }
        }
        self.struct_of_values(fields, position).map(Some)
    }

    /// `struct_keys(s)`, `struct_concat(s, ...)` and `struct_extract_at(s, number)`.
    fn struct_parts(&mut self, name: &str, list: &ast::FunctionArgumentList, position: Option<u32>) -> Result<Expr> {
        let mut bound = Vec::with_capacity(list.args.len());
        for argument in &list.args {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => bound.push(self.expr(value)?),
                _ => return Err(Error::unsupported(format!("the argument {argument} of {name}()")).at(position)),
            }
        }
        let types: Vec<SqlType> = bound.iter().map(|e| e.sql_type).collect();
        let wrong = || no_function(name, &types).at(position);
        let of = types.first().and_then(|first| first.structure()).ok_or_else(wrong)?;
        match (name, bound.as_slice()) {
            ("struct_keys", [_]) => {
                let names: Vec<Value> = of.fields.iter().map(|field| Value::str(field.name.as_str())).collect();
                let texts = SqlType::array_of(SqlType::Text);
                Ok(Expr::constant(array::encode(&names, SqlType::Text)?, texts).at(position))
            }
            ("struct_extract_at", [value, at]) => {
                let ExprKind::Const(Value::Int(at)) = at.kind else {
                    return Err(
                        Error::unsupported("struct_extract_at with a number that is not a literal").at(position)
                    );
                };
                let field = usize::try_from(at).ok().and_then(|at| of.fields.get(at.checked_sub(1)?));
                let name = field.map(|field| field.name.clone()).ok_or_else(|| {
                    let message = format!("a struct of {} fields has no field {at}", of.fields.len());
                    Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(position)
                })?;
                self.struct_field(value.clone(), &name, position)
            }
            ("struct_concat", structs) => {
                let mut fields: Vec<(String, Expr)> = Vec::new();
                for value in structs {
                    if value.sql_type.structure().is_none() {
                        return Err(wrong());
                    }
                    fields.extend(self.fields_of(value)?);
                }
                self.struct_of_values(fields, position)
            }
            _ => Err(wrong()),
        }
    }
}

/// The value of a field: a bare NULL stays one, which becomes any type.
pub(super) fn named_value(value: Expr) -> Expr {
    match value.as_constant() {
        Some(constant) if constant.is_null() => value,
        _ => known(value),
    }
}

/// The name of a column, if it is one.
fn column(value: &ast::Expr) -> Option<&ast::Ident> {
    match value {
        ast::Expr::Identifier(ident) => Some(ident),
        ast::Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    }
}
