//! Users' aggregates: the rows of a group are collected by `array_agg`, over which the function of the state is folded. What a call
//! says besides (DISTINCT, ORDER BY, FILTER, OVER) is said of that.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{Language, Mode, Returns, Routine, RoutineKind, RoutineParameter, Volatility, schema_of_routine};
use plan::Expr;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr};
use types::SqlType;

use super::INVALID_DEFINITION;
use crate::bind::Binder;
use crate::bind::conjunction::all_of;
use crate::parse::{CreateAggregateAst, aggregate_options, kept_expression};
use crate::statement::RoutineChange;
use crate::walk;
use crate::{ObjectName, Statement};

/// Functions of PostgreSQL's catalog that have no name here: what they are of the state and a value.
const STEPS: &[(&str, &str)] = &[
    ("int2pl", "s + x"),
    ("int4pl", "s + x"),
    ("int8pl", "s + x"),
    ("float4pl", "s + x"),
    ("float8pl", "s + x"),
    ("numeric_add", "s + x"),
    ("interval_pl", "s + x"),
    ("int4mul", "s * x"),
    ("int8mul", "s * x"),
    ("float8mul", "s * x"),
    ("numeric_mul", "s * x"),
    ("int8inc", "s + 1"),
    ("textcat", "s || x"),
    ("int4larger", "greatest(s, x)"),
    ("int8larger", "greatest(s, x)"),
    ("float8larger", "greatest(s, x)"),
    ("numeric_larger", "greatest(s, x)"),
    ("text_larger", "greatest(s, x)"),
    ("date_larger", "greatest(s, x)"),
    ("timestamp_larger", "greatest(s, x)"),
    ("int4smaller", "least(s, x)"),
    ("int8smaller", "least(s, x)"),
    ("float8smaller", "least(s, x)"),
    ("numeric_smaller", "least(s, x)"),
    ("text_smaller", "least(s, x)"),
    ("date_smaller", "least(s, x)"),
    ("timestamp_smaller", "least(s, x)"),
    ("booland_statefunc", "s AND x"),
    ("boolor_statefunc", "s OR x"),
];

/// What stands for the collected rows in the text of an aggregate.
const COLLECTED: &str = "collected ";

impl Binder<'_> {
    pub(super) fn create_aggregate(&mut self, create: &CreateAggregateAst) -> Result<Statement> {
        let name = self.resolver.new_name(self.text.object_name(&create.name)?)?;
        let position = name.position;
        let invalid = |message: &str| Err(Error::new(INVALID_DEFINITION, message).at(position));
        if let Some(unknown) = &create.unknown {
            let message = format!("aggregate attribute \"{unknown}\" not recognized");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        let Some(state) = &create.options.state else { return invalid("aggregate stype must be specified") };
        let Some(step) = &create.options.step else { return invalid("aggregate sfunc must be specified") };
        let state = self.sql_type(state).map_err(|e| e.at(position))?;
        let types = create.types.iter().map(|of| self.sql_type(of)).collect::<Result<Vec<_>>>();
        let types = types.map_err(|e| e.at(position))?;
        self.check_step(step, state, &types)?;
        let returns = match &create.options.last {
            None => state,
            Some(last) => self.result_of(last, state)?,
        };
        let parameter = |sql_type: &SqlType| RoutineParameter {
            name: None,
            mode: Mode::In,
            sql_type: *sql_type,
            domain: None,
            default: None,
            is_variadic: false,
        };
        let routine = Routine {
            number: Routine::new_number(),
            schema: schema_of_routine(name.schema.as_deref()),
            name: name.name,
            kind: RoutineKind::Aggregate,
            parameters: types.iter().map(parameter).collect(),
            returns: Returns::Value(returns),
            domain: None,
            is_set: false,
            language: Language::Aggregate,
            volatility: Volatility::Immutable,
            is_strict: false,
            settings: Vec::new(),
            body: create.options.text(),
        };
        Ok(Statement::Routine(RoutineChange::Create {
            routine: Box::new(routine),
            or_replace: create.or_replace,
            position,
        }))
    }

    /// 42883 unless there is a function of the state.
    fn check_step(&self, step: &ast::ObjectName, state: SqlType, types: &[SqlType]) -> Result<()> {
        let named = self.text.object_name(step)?;
        let is_known = STEPS.iter().any(|(known, _)| *known == named.name) || self.is_function(&named, types.len() + 1);
        if is_known {
            return Ok(());
        }
        let all: Vec<String> = [state].iter().chain(types).map(SqlType::to_string).collect();
        let message = format!("function {}({}) does not exist", named.name, all.join(", "));
        Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(named.position))
    }

    fn is_function(&self, name: &ObjectName, arguments: usize) -> bool {
        let own = self.resolver.routines(name.schema.as_deref(), &name.name);
        own.iter().any(|routine| routine.kind == RoutineKind::Function && routine.given_types().len() == arguments)
            || functions::ScalarFunction::find(&name.name).is_some()
    }

    /// The type of what the last function makes of a state.
    fn result_of(&mut self, last: &ast::ObjectName, state: SqlType) -> Result<SqlType> {
        let call = kept_expression(&format!("{last}(CAST(NULL AS {state}))"))?;
        let position = self.text.name_position(last);
        let bound = self.expr_in(&call, crate::bind::scope::Clause::Select, Default::default());
        Ok(bound.map_err(|e| e.at(position))?.sql_type)
    }

    /// A call of a user's aggregate.
    pub(super) fn aggregate_value(
        &mut self,
        found: &[Arc<Routine>],
        call: &ast::Function,
        name: &ObjectName,
    ) -> Result<Expr> {
        let ast::FunctionArguments::List(list) = &call.args else { return Err(Error::internal("a call without ()")) };
        let mut given = Vec::new();
        for argument in &list.args {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => given.push(expr.clone()),
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => {}
                other => {
                    return crate::bind::unsupported(format!("the argument {other} of an aggregate"), name.position);
                }
            }
        }
        let fits = |routine: &&Arc<Routine>| routine.parameters.len() == given.len();
        let Some(routine) = found.iter().find(fits) else {
            let message = format!("aggregate {} does not take {} arguments", name.name, given.len());
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message)
                .hint(format!("it is {}", found[0].signature()))
                .at(name.position));
        };
        let options = aggregate_options(&routine.body)?;
        let (Some(step), Some(state)) = (&options.step, &options.state) else {
            return Err(Error::internal("an aggregate without a state"));
        };
        let named = self.text.object_name(step)?;
        let known = STEPS.iter().find(|(known, _)| *known == named.name);
        let own = self.resolver.routines(named.schema.as_deref(), &named.name);
        let is_strict =
            known.is_some() || own.iter().any(|own| own.given_types().len() == given.len() + 1 && own.is_strict);
        let is_wrapped = given.len() > 1 || routine.parameters.iter().any(|p| matches!(p.sql_type, SqlType::Array(_)));
        let values: Vec<String> = match (given.len(), is_wrapped) {
            (0, _) => Vec::new(),
            (1, false) => vec!["x".to_owned()],
            (several, _) => (1..=several).map(|at| format!("(x).f{at}")).collect(),
        };
        let next = match known {
            Some((_, text)) => (*text).to_owned(),
            None => format!("{step}({})", ["s".to_owned()].into_iter().chain(values).collect::<Vec<_>>().join(", ")),
        };
        let first = match &options.first {
            Some(first) => Some(format!("CAST('{}' AS {state})", first.replace('\'', "''"))),
            None if is_strict => None,
            None => Some(format!("CAST(NULL AS {state})")),
        };
        let or_none = first.clone().unwrap_or_else(|| format!("CAST(NULL AS {state})"));
        let first = first.map_or_else(String::new, |first| format!(", {first}"));
        let collected = format!("\"{COLLECTED}\"");
        let folded = format!("list_reduce({collected}, (s, x) -> CAST({next} AS {state}){first})");
        let mut text = format!("CASE WHEN {collected} IS NULL THEN {or_none} ELSE {folded} END");
        if let Some(last) = &options.last {
            text = format!("{last}({text})");
        }
        let collected = collecting(call, given, is_wrapped, is_strict);
        let mut expr = kept_expression(&text)?;
        walk::change_each_expr(&mut expr, |expr| {
            if matches!(expr, ast::Expr::Identifier(ident) if ident.value == COLLECTED) {
                *expr = collected.clone();
            }
        });
        self.written_out(&expr, "aggregate", name)
    }
}

/// The call that collects what the aggregate is of.
fn collecting(call: &ast::Function, given: Vec<ast::Expr>, is_wrapped: bool, is_strict: bool) -> ast::Expr {
    let mut collecting = call.clone();
    collecting.name = ast::ObjectName::from(vec![ast::Ident::new("array_agg")]);
    if is_strict {
        let conditions =
            given.iter().map(|value| ast::Expr::IsNotNull(Box::new(ast::Expr::Nested(Box::new(value.clone())))));
        let all = collecting.filter.take().map(|filter| *filter).into_iter().chain(conditions);
        collecting.filter = all_of(all).map(Box::new);
    }
    if let ast::FunctionArguments::List(list) = &mut collecting.args {
        let value = match (given.len(), is_wrapped) {
            (0, _) => ast::Expr::value(ast::Value::Number("1".to_owned(), false)),
            (1, false) => given[0].clone(),
            _ => ast::Expr::Function(ast::Function {
                name: ast::ObjectName::from(vec![ast::Ident::new("row")]),
                args: ast::FunctionArguments::List(ast::FunctionArgumentList {
                    duplicate_treatment: None,
                    args: given.into_iter().map(|value| FunctionArg::Unnamed(FunctionArgExpr::Expr(value))).collect(),
                    clauses: Vec::new(),
                }),
                filter: None,
                over: None,
                within_group: Vec::new(),
                ..call.clone()
            }),
        };
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(value))];
    }
    ast::Expr::Function(collecting)
}
