//! `regclass`, `regtype` and their kin: numbers of objects, which are shown as names. Such a value is a bigint, so that it compares
//! and joins as the numbers of the system's tables do; a call that does nothing else says of which kind it is. Where a statement's
//! result or a text has it, it becomes the name.

use base::{Error, Result, SqlState};
use plan::{ColumnId, Expr, ExprKind, Node, Op};
use sqlparser::ast;
use types::ops::array;
use types::{SqlType, Value};

use super::coerce::cast_to;
use super::expr::call;
use super::registered_kind::{kind_of, marked};
use super::sequence::qualified;
use super::user_type::position_in;
use super::{Binder, Bound, type_name, unsupported};
use crate::parse::kept_expression;
use crate::{ObjectName, Registered};

impl Binder<'_> {
    /// `'t'::regclass`, `n::regtype` and the like.
    pub(super) fn registered(&mut self, kind: Registered, inner: &ast::Expr, position: Option<u32>) -> Result<Expr> {
        let bound = self.expr(inner)?;
        let number = match &bound.kind {
            ExprKind::Const(Value::Str(text)) => {
                let number = self.number_registered(kind, text, position)?;
                Expr::constant(Value::Int(number), SqlType::BigInt)
            }
            _ if bound.sql_type.is_integer() || bound.sql_type == SqlType::Null => cast_to(bound, SqlType::BigInt)?,
            _ if bound.sql_type.as_decimal().is_some() => cast_to(bound, SqlType::BigInt)?,
            _ if kind == Registered::Class => self.expr(&looked_up(inner)?).map_err(|e| e.at(position))?,
            _ => return unsupported(format!("a name that is not a literal as {}", kind.type_name()), position),
        };
        Ok(marked(number, kind).at(position))
    }

    /// The number of the object of that name; a number is its own.
    fn number_registered(&mut self, kind: Registered, text: &str, position: Option<u32>) -> Result<i64> {
        if let Ok(number) = text.trim().parse::<i64>() {
            return Ok(number);
        }
        if text.trim() == "-" {
            return Ok(0);
        }
        let missing = |state: SqlState, what: &str| {
            let message = format!("{what} \"{text}\" does not exist");
            Error::new(state, message).at(position)
        };
        if kind == Registered::Type {
            return self.number_of_type(text).ok_or_else(|| missing(SqlState::UNDEFINED_OBJECT, "type"));
        }
        if kind == Registered::Signature {
            let wanted = without_blanks(&self.signature_shown(text).unwrap_or_else(|| text.to_owned()));
            let mut all = self.resolver.registered(kind).into_iter();
            let found = all.find(|(_, name)| without_blanks(name) == wanted);
            return found.map(|(number, _)| number).ok_or_else(|| missing(SqlState::UNDEFINED_FUNCTION, "function"));
        }
        let name = qualified(text, position)?;
        if kind == Registered::Class {
            return self.resolver.number_of(&name).ok_or_else(|| missing(SqlState::UNDEFINED_TABLE, "relation"));
        }
        let wanted = written(&name);
        let mut found = self.resolver.registered(kind).into_iter().filter(|(_, known)| *known == wanted);
        let number = found.next().map(|(number, _)| number);
        if found.next().is_some() {
            let message = format!("more than one function named \"{text}\"");
            return Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, message).at(position));
        }
        number.ok_or_else(|| match kind {
            Registered::Schema => missing(SqlState("3F000"), "schema"),
            Registered::Role => missing(SqlState::UNDEFINED_OBJECT, "role"),
            _ => missing(SqlState::UNDEFINED_FUNCTION, "function"),
        })
    }

    /// `f(int, text)` with the types as they are shown; none if these are no types.
    fn signature_shown(&self, text: &str) -> Option<String> {
        let (name, types) = text.trim().strip_suffix(')')?.split_once('(')?;
        let known = self.resolver.registered(Registered::Type);
        let shown = |of: &str| {
            let number = self.number_of_type(of)?;
            known.iter().find(|(known, _)| *known == number).map(|(_, name)| name.clone())
        };
        let types = types.split(',').filter(|of| !of.trim().is_empty()).map(shown).collect::<Option<Vec<_>>>()?;
        Some(format!("{}({})", name.trim(), types.join(",")))
    }

    /// The number of the type that a text names; none if it names none.
    fn number_of_type(&self, text: &str) -> Option<i64> {
        let known = |name: &str| self.resolver.registered(Registered::Type).into_iter().find(|(_, n)| *n == *name);
        known(text.trim()).map(|(number, _)| number).or_else(|| {
            let of = type_name::type_named(text, self.resolver).ok()?;
            Some(self.resolver.number_of_type(of))
        })
    }

    /// The name, if the value is shown as one; else the value itself.
    pub(super) fn named_if_registered(&self, value: Expr) -> Result<Expr> {
        match kind_of(&value, &self.plan.registered) {
            Some(kind) => self.name_registered(kind, value),
            None => Ok(value),
        }
    }

    /// The name of the object of a number; the number where there is none.
    fn name_registered(&self, kind: Registered, number: Expr) -> Result<Expr> {
        let position = number.position;
        let (numbers, names): (Vec<Value>, Vec<Value>) = std::iter::once((0, "-".to_owned()))
            .chain(self.resolver.registered(kind))
            .map(|(number, name)| (Value::Int(number), Value::str(name.as_str())))
            .unzip();
        let list = |values: &[Value], of: SqlType| {
            Ok::<_, Error>(Expr::constant(array::encode(values, of)?, SqlType::array_of(of)))
        };
        let numbers = list(&numbers, SqlType::BigInt)?;
        let names = list(&names, SqlType::Text)?;
        let at = position_in(numbers, number.clone(), position)?;
        let name = call("list_extract", vec![names, at], position)?;
        let otherwise = cast_to(number, SqlType::Text)?;
        Ok(Expr::new(ExprKind::Coalesce(vec![name, otherwise]), SqlType::Text).at(position))
    }

    /// The rows of a statement with names in the places of numbers that are shown as such.
    pub(super) fn with_names(&mut self, bound: Bound) -> Result<Bound> {
        let Bound { node, mut output } = bound;
        let mut computed: Vec<(ColumnId, Expr)> = Vec::new();
        for output in &mut output {
            let Some(kind) = self.plan.registered.get(&output.column).copied() else { continue };
            let name = self.name_registered(kind, self.plan.reference(output.column))?;
            output.column = self.plan.column_for(&output.name, &name);
            computed.push((output.column, name));
        }
        let node = match computed.is_empty() {
            true => node,
            false => Node::new(Op::Map { input: Box::new(node), columns: computed }),
        };
        Ok(Bound { node, output })
    }
}

/// What looks a table up by the name that an expression gives.
fn looked_up(name: &ast::Expr) -> Result<ast::Expr> {
    let mut call = kept_expression("to_regclass(NULL)")?;
    if let ast::Expr::Function(function) = &mut call
        && let ast::FunctionArguments::List(list) = &mut function.args
    {
        list.args = vec![ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(name.clone()))];
    }
    Ok(call)
}

/// A name as it is shown.
fn written(name: &ObjectName) -> String {
    let schema = name.schema.as_deref().map(|schema| format!("{schema}.")).unwrap_or_default();
    format!("{schema}{}", name.name)
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
