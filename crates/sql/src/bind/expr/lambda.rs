//! Lambdas over the elements of a list. Parameters are columns that only the lambda's body sees, and that hide what else has their
//! names. Subqueries, functions of rows and window functions within a body would have to read these columns in other operators: they
//! are refused, as DuckDB does.

use base::{Error, Result, SqlState};
use functions::{Lambda, LambdaKind};
use plan::{ColumnId, ColumnInfo, Each, Expr, ExprKind, Reduced};
use sqlparser::ast::{self, OneOrManyWithParens};
use types::SqlType;

use super::call::CallParts;
use super::named::no_function;
use crate::bind::coerce::{boolean, cast_to, is_untyped, known};
use crate::bind::scope::ScopeColumn;
use crate::bind::type_name::array_of;
use crate::bind::{Binder, fold, unsupported};

/// How often the type of what is reduced may grow.
const MOST_TYPES: usize = 4;

impl Binder<'_> {
    /// A call of a function that takes a lambda.
    pub(super) fn lambda_call(&mut self, function: &Lambda, call: &CallParts<'_>) -> Result<Expr> {
        let (Some(list), Some(ast::Expr::Lambda(lambda))) = (call.arguments.first(), call.arguments.get(1).copied())
        else {
            return Err(self.wrong_lambda(call));
        };
        let list = self.expr(list)?;
        if is_untyped(&list) {
            return Ok(known(list));
        }
        let list = known(list);
        let Some(element) = list.sql_type.element() else {
            let message = format!("{} takes a list, not {}", call.name, list.sql_type);
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(call.position));
        };
        let column = |b: &mut Self, name: &str, sql_type, nullable| {
            b.plan.columns.push(ColumnInfo { name: name.to_owned(), sql_type, nullable })
        };
        let names = self.lambda_parameters(lambda, call)?;
        let taken = if function.kind == LambdaKind::Reduce { 3 } else { 2 };
        if names.len() > taken || names.len() + 2 < taken + usize::from(function.kind == LambdaKind::Reduce) {
            let least = if function.kind == LambdaKind::Reduce { "2 or" } else { "1 or" };
            let message = format!("the lambda of {} has {least} {taken} parameters", call.name);
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(call.position));
        }
        let parts = match function.kind {
            LambdaKind::Reduce => {
                let initial = match &call.arguments[2..] {
                    [] => None,
                    [initial] => Some(self.expr(initial)?),
                    _ => return Err(self.wrong_lambda(call)),
                };
                let index_name = names.get(2).map_or("i", |name| name);
                let made = (column(self, &names[1], element, true), column(self, index_name, SqlType::BigInt, false));
                return self.reduction(list, lambda, &names, made, initial, call);
            }
            LambdaKind::Comprehension => &call.arguments[2..],
            _ if call.arguments.len() > 2 => return Err(self.wrong_lambda(call)),
            _ => &[],
        };
        let index_name = names.get(1).map_or("i", |name| name);
        let (element, index) =
            (column(self, &names[0], element, true), column(self, index_name, SqlType::BigInt, false));
        let seen: Vec<(String, ColumnId)> = names.into_iter().zip([element, index]).collect();
        let (only, body) = match function.kind {
            LambdaKind::Filter => {
                let only = self.body(&seen, &lambda.body, call)?;
                (Some(condition(only)?), self.plan.reference(element))
            }
            _ => {
                let only = match parts {
                    [ast::Expr::Lambda(only)] => Some(condition(self.body(&seen, &only.body, call)?)?),
                    _ => None,
                };
                (only, known(self.body(&seen, &lambda.body, call)?))
            }
        };
        let sql_type = array_of(body.sql_type).map_err(|e| e.at(call.position))?;
        let each = Each { list, element, index, only, body, reduced: None };
        Ok(Expr::new(ExprKind::Each(Box::new(each)), sql_type).at(call.position))
    }

    /// The type is one that the initial value, or the first element, and what the lambda makes of it become.
    fn reduction(
        &mut self,
        list: Expr,
        lambda: &ast::LambdaFunction,
        names: &[String],
        (element, index): (ColumnId, ColumnId),
        initial: Option<Expr>,
        call: &CallParts<'_>,
    ) -> Result<Expr> {
        let of_element = self.plan.reference(element);
        let mut sql_type = match &initial {
            Some(initial) if !is_untyped(initial) => initial.sql_type,
            Some(initial) if !matches!(&initial.kind, ExprKind::Const(value) if value.is_null()) => SqlType::Text,
            _ => of_element.sql_type,
        };
        for attempt in 1.. {
            let info = ColumnInfo { name: names[0].clone(), sql_type, nullable: true };
            let accumulator = self.plan.columns.push(info);
            let seen: Vec<_> = names.iter().cloned().zip([accumulator, element, index]).collect();
            let body = self.body(&seen, &lambda.body, call)?;
            let before = self.plan.reference(accumulator);
            let wanted = match is_untyped(&body) {
                true => sql_type,
                false => crate::bind::coerce::unify(vec![before, body.clone()], "list_reduce")?.1,
            };
            if wanted == sql_type || attempt == MOST_TYPES {
                let body = cast_to(body, sql_type)?;
                let initial = initial.map(|initial| cast_to(initial, sql_type)).transpose()?;
                let reduced = Some(Reduced { accumulator, initial });
                let each = Each { list, element, index, only: None, body, reduced };
                return Ok(Expr::new(ExprKind::Each(Box::new(each)), sql_type).at(call.position));
            }
            // Digits grow with each round; they may as well be all that there are.
            sql_type = match wanted.is_decimal() {
                true => SqlType::decimal(SqlType::MAX_PRECISION, wanted.scale()),
                false => wanted,
            };
        }
        Err(Error::internal("a type that never ends"))
    }

    /// Binds a lambda's body, in which these names are these columns.
    fn body(&mut self, seen: &[(String, ColumnId)], body: &ast::Expr, call: &CallParts<'_>) -> Result<Expr> {
        let outer = self.names.lambdas.len();
        let parameters = seen.iter().map(|(name, column)| ScopeColumn { name: name.clone(), column: *column });
        self.names.lambdas.extend(parameters);
        let before = self.made_elsewhere();
        let bound = self.expr(body);
        self.names.lambdas.truncate(outer);
        let bound = bound?;
        if bound.has_subquery() {
            return unsupported("a subquery within a lambda", call.position);
        }
        if self.made_elsewhere() != before {
            return unsupported("a window function or a function of rows within a lambda", call.position);
        }
        Ok(bound)
    }

    /// How many columns of the query's other operators there are.
    fn made_elsewhere(&self) -> usize {
        self.names.levels.last().map_or(0, |level| level.windows.len() + level.unnested.len())
    }

    fn lambda_parameters(&self, lambda: &ast::LambdaFunction, call: &CallParts<'_>) -> Result<Vec<String>> {
        let parameters = match &lambda.params {
            OneOrManyWithParens::One(one) => std::slice::from_ref(one),
            OneOrManyWithParens::Many(many) => many.as_slice(),
        };
        let names: Vec<String> = parameters.iter().map(|parameter| fold(&parameter.name)).collect();
        match (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
            None => Ok(names),
            Some(i) => {
                let message = format!("two parameters of a lambda are called \"{}\"", names[i]);
                Err(Error::new(SqlState::DUPLICATE_ALIAS, message).at(call.position))
            }
        }
    }

    fn wrong_lambda(&mut self, call: &CallParts<'_>) -> Error {
        let types = call.arguments.iter().filter(|argument| !matches!(argument, ast::Expr::Lambda(_)));
        match types.map(|argument| self.expr(argument).map(|e| e.sql_type)).collect::<Result<Vec<_>>>() {
            Ok(types) => no_function(&call.name, &types).at(call.position),
            Err(error) => error,
        }
    }
}

/// What a lambda decides: a boolean, or a number, which is true unless it is 0.
fn condition(bound: Expr) -> Result<Expr> {
    let bound = match bound.sql_type.is_numeric() {
        true => cast_to(bound, SqlType::Bool)?,
        false => bound,
    };
    boolean(bound, "a lambda")
}
