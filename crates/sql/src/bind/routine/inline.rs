//! Functions in SQL whose body is one query: it is bound in the place of the call, with the arguments in the places of the
//! parameters, so that the optimizer sees through it.

use base::{Error, Result, SqlState, stack};
use catalog::{Field, Language, Returns, Routine, RoutineKind};
use plan::{ColumnId, Expr, ExprKind, Node, Op, Subquery, SubqueryKind};
use sqlparser::ast::{self, TableAlias};
use types::{SqlType, Value};

use super::arguments::may_repeat;
use crate::bind::coerce::{assign, cast_to};
use crate::bind::from::FromItem;
use crate::bind::variables::Variables;
use crate::bind::{Binder, Bound, Output};
use crate::parse::{Ast, bare_expression};
use crate::{ObjectName, Parsed, parse_depth};

/// 42P13: the body gives something else than what the function is said to give.
const INVALID_DEFINITION: SqlState = SqlState("42P13");

impl Binder<'_> {
    /// The value of a call, bound in its place, if that can be.
    pub(super) fn inlined_value(&mut self, routine: &Routine, given: &[Expr], to: SqlType) -> Result<Option<Expr>> {
        if to == SqlType::Text && routine.returns == Returns::Nothing {
            return Ok(None);
        }
        let Some(parsed) = one_query(routine)? else { return Ok(None) };
        let Some(query) = query_of(&parsed) else { return Ok(None) };
        let arguments = given.to_vec();
        let body = self.in_body(routine, arguments, |b| b.value_of_body(query, routine, to))?;
        let Some(value) = body else { return Ok(None) };
        if !routine.is_strict || given.is_empty() {
            return Ok(Some(value));
        }
        let is_null = given.iter().map(|expr| Expr::new(ExprKind::IsNull(Box::new(expr.clone())), SqlType::Bool));
        let any = Expr::new(ExprKind::Or(is_null.collect()), SqlType::Bool);
        let branches = vec![(any, Expr::constant(Value::Null, to))];
        Ok(Some(Expr::new(ExprKind::Case { branches, otherwise: Box::new(value) }, to)))
    }

    fn value_of_body(&mut self, query: &ast::Query, routine: &Routine, to: SqlType) -> Result<Option<Expr>> {
        if let Some(expr) = bare_expression(query)
            && let Some(bound) = self.lone_expr(expr)?
        {
            return converted(bound, to, routine).map(Some);
        }
        let bound = self.query(query)?;
        let mut bound = self.plan.with_known_types(bound);
        let is_row = to.structure().is_some_and(|of| of.is_row && of.fields.len() == bound.output.len());
        let row = |b: &Self, output: &[Output]| {
            let columns = output.iter().map(|o| (o.name.clone(), b.plan.reference(o.column)));
            b.row_of_values(columns.collect(), None)
        };
        let value = match bound.output.as_slice() {
            [one] if !is_row || self.plan.columns[one.column].sql_type.structure().is_some() => {
                self.plan.reference(one.column)
            }
            several if is_row => row(self, several)?,
            _ => return Err(mismatch(routine, "Final statement must return exactly one column.")),
        };
        let value = converted(value, to, routine)?;
        let column = match value.as_column() {
            Some(column) => column,
            None => {
                let column = self.plan.column_for("", &value);
                bound.node = Node::new(Op::Map { input: Box::new(bound.node), columns: vec![(column, value)] });
                column
            }
        };
        // Of several rows, the first counts.
        let plan = match bound.node.limit() {
            Some(0 | 1) => bound.node,
            _ => Node::new(Op::Limit { input: Box::new(bound.node), limit: Some(1), offset: 0 }),
        };
        let subquery = Subquery { kind: SubqueryKind::Scalar { column }, plan };
        Ok(Some(Expr::new(ExprKind::Subquery(Box::new(subquery)), to)))
    }

    /// The rows of a call in FROM, bound in its place, if that can be.
    pub(super) fn inlined_rows(
        &mut self,
        routine: &Routine,
        given: &[Expr],
        columns: &[Field],
        alias: Option<&TableAlias>,
    ) -> Result<Option<FromItem>> {
        if routine.is_strict || routine.returns == Returns::Nothing {
            return Ok(None);
        }
        let Some(parsed) = one_query(routine)? else { return Ok(None) };
        let Some(query) = query_of(&parsed) else { return Ok(None) };
        let bound = self.in_body(routine, given.to_vec(), |b| b.rows_of_body(query, routine, columns).map(Some))?;
        let Some(bound) = bound else { return Ok(None) };
        let mut alias = alias.cloned();
        if let (Some(alias), Returns::Record) = (&mut alias, routine.returns) {
            alias.columns.clear();
        }
        self.derived(bound, alias.as_ref(), Some(&routine.name)).map(Some)
    }

    /// The values of a column of rows, as columns.
    fn parts_of_row(&mut self, node: Node, row: ColumnId) -> Result<(Node, Vec<Output>)> {
        let (mut computed, mut output) = (Vec::new(), Vec::new());
        for (name, value) in self.fields_of(&self.plan.reference(row))? {
            let column = self.plan.column_for(&name, &value);
            computed.push((column, value));
            output.push(Output { name, column, literal: None });
        }
        Ok((Node::new(Op::Map { input: Box::new(node), columns: computed }), output))
    }

    fn rows_of_body(&mut self, query: &ast::Query, routine: &Routine, columns: &[Field]) -> Result<Bound> {
        let bound = self.query(query)?;
        let Bound { mut node, mut output } = self.plan.with_known_types(bound);
        if let ([one], false) = (output.as_slice(), columns.len() == 1)
            && self.plan.columns[one.column].sql_type.structure().is_some_and(|of| of.is_row)
        {
            (node, output) = self.parts_of_row(node, one.column)?;
        }
        if output.len() != columns.len() {
            let what = if output.len() < columns.len() { "few" } else { "many" };
            return Err(mismatch(routine, &format!("Final statement returns too {what} columns.")));
        }
        let (mut computed, mut named) = (Vec::new(), Vec::with_capacity(columns.len()));
        for (output, field) in output.into_iter().zip(columns) {
            let value = converted(self.plan.reference(output.column), field.sql_type, routine)?;
            let column = value.as_column().unwrap_or_else(|| {
                let column = self.plan.column_for(&field.name, &value);
                computed.push((column, value));
                column
            });
            named.push(Output { name: field.name.clone(), column, literal: None });
        }
        if !computed.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        }
        if !routine.is_set {
            // Of several rows the first counts, of none a row of NULLs; who wants the latter has a set.
            node = Node::new(Op::Limit { input: Box::new(node), limit: Some(1), offset: 0 });
        }
        Ok(Bound { node, output: named })
    }

    /// Binds something of a routine's body: nothing of the query around it is seen but what the arguments refer to. None if an
    /// argument would have to be computed more than once.
    fn in_body<T>(
        &mut self,
        routine: &Routine,
        arguments: Vec<Expr>,
        bind: impl FnOnce(&mut Self) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let is_cheap = |(expr, parameter): (&Expr, &catalog::RoutineParameter)| {
            may_repeat(expr) || uses(&routine.body, parameter.name.as_deref(), routine) <= 1
        };
        if !arguments.iter().zip(routine.given()).all(is_cheap) && arguments.iter().any(|expr| !is_pure(expr)) {
            return Ok(None);
        }
        let name = ObjectName { schema: None, name: routine.name.clone(), position: None };
        let given = routine.given().map(|p| p.name.clone()).zip(arguments).collect();
        self.limits.enter_view(&name)?;
        let names = std::mem::take(&mut self.names);
        let positions = self.text.positions.take();
        let parameters = std::mem::take(&mut self.arguments.parameters);
        let around = std::mem::replace(&mut self.variables, Variables::Given(routine.name.clone(), given));
        let levels = parse_depth(&routine.body);
        let bound = self.deeper(|b| stack::with_room(levels, || bind(b))?);
        self.variables = around;
        self.arguments.parameters = parameters;
        self.text.positions = positions;
        self.names = names;
        self.limits.leave_view();
        bound.map_err(|error| {
            let error = error.nowhere();
            error.context(format!("SQL function \"{}\" during inlining", routine.name))
        })
    }

    /// Binds the body of a function that would be bound in the places of its calls, to find its mistakes now.
    pub(super) fn check_inlined(&mut self, routine: &Routine) -> Result<()> {
        let Some(parsed) = one_query(routine)? else { return Ok(()) };
        let Some(query) = query_of(&parsed) else { return Ok(()) };
        let given: Vec<Expr> = routine.given().map(|p| Expr::constant(Value::Null, p.sql_type)).collect();
        let plan = std::mem::take(&mut self.plan);
        let checked = match routine.returns {
            Returns::Value(to) if !routine.is_set => {
                self.in_body(routine, given, |b| b.value_of_body(query, routine, to)).map(|_| ())
            }
            Returns::Value(_) | Returns::Row => {
                let columns = routine.columns();
                self.in_body(routine, given, |b| b.rows_of_body(query, routine, &columns).map(Some)).map(|_| ())
            }
            Returns::Nothing | Returns::Record | Returns::Trigger => Ok(()),
        };
        self.plan = plan;
        checked
    }
}

/// Whether computing an expression twice gives the same twice.
fn is_pure(expr: &Expr) -> bool {
    !expr.is_volatile() && !expr.has_subquery()
}

/// How often a body names a parameter, at most.
fn uses(body: &str, name: Option<&str>, routine: &Routine) -> usize {
    let lower = body.to_lowercase();
    let by_name = name.map_or(0, |name| lower.matches(&name.to_lowercase()).count());
    let by_number = if routine.given().count() > 0 { lower.matches('$').count() } else { 0 };
    by_name + by_number
}

/// A value as what the function gives.
fn converted(value: Expr, to: SqlType, routine: &Routine) -> Result<Expr> {
    let from = value.sql_type;
    if from == SqlType::Null {
        return cast_to(value, to);
    }
    let converted = match from.is_numeric() && to.is_numeric() || from.is_string() && to.is_string() {
        true => cast_to(value, to),
        false => assign(value, to, ""),
    };
    converted.map_err(|_| mismatch(routine, &format!("Actual return type is {from}.")))
}

#[cold]
fn mismatch(routine: &Routine, detail: &str) -> Error {
    let returns = match routine.returns {
        Returns::Value(sql_type) => sql_type.to_string(),
        _ => "record".to_owned(),
    };
    Error::new(INVALID_DEFINITION, format!("return type mismatch in function declared to return {returns}"))
        .detail(detail)
}

/// Whether a text may call a function of that name: one that calls itself is never at an end where it is put in place.
fn calls(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.match_indices(&name).any(|(at, _)| {
        let behind = text[at + name.len()..].trim_start_matches('"').trim_start();
        behind.starts_with('(') && !text[..at].ends_with(is_part)
    })
}

/// The body, if it is one query, of a function that does not call itself.
fn one_query(routine: &Routine) -> Result<Option<Parsed>> {
    // Settings are those of a call.
    if routine.language != Language::Sql || routine.kind == RoutineKind::Procedure || !routine.settings.is_empty() {
        return Ok(None);
    }
    let pieces = crate::split(&routine.body);
    let [piece] = pieces.as_slice() else { return Ok(None) };
    let text = &routine.body[piece.range.clone()];
    if calls(text, &routine.name) {
        return Ok(None);
    }
    let parsed = stack::with_room(parse_depth(text), || crate::parse(text))??;
    Ok(Some(parsed).filter(Parsed::is_query))
}

fn query_of(parsed: &Parsed) -> Option<&ast::Query> {
    let Ast::Library(statement) = &parsed.ast else { return None };
    match &**statement {
        ast::Statement::Query(query) => Some(query),
        _ => None,
    }
}
