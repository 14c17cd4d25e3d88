//! `ROWS FROM (f(...), g(...))`, and records of JSON in FROM: `jsonb_to_recordset(x) AS t(a integer, b text)`.

use base::{Error, Result, SqlState};
use plan::Expr;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, Ident, TableAlias};
use types::SqlType;

use super::from::FromItem;
use super::scope::Scope;
use super::unnest::is_rows_function;
use super::{Binder, fold, unsupported};
use crate::parse::{Ast, parse_placeless};
use crate::walk;

/// What stands for the argument in the text of a function of records.
const ARGUMENT: &str = "#json";
/// And the row of whose type it becomes one.
const ROW: &str = "row of json";

impl Binder<'_> {
    /// The rows of several functions beside each other; where one has fewer, its columns are NULL.
    pub(super) fn rows_from(
        &mut self,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        ordinality: bool,
        seen: &Scope,
    ) -> Result<FromItem> {
        let mut named: Vec<(String, Expr)> = Vec::new();
        for argument in arguments {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Function(function))) = argument else {
                return unsupported("anything but a function in ROWS FROM", None);
            };
            let position = self.text.name_position(&function.name);
            let name = self.text.object_name(&function.name)?.name;
            if let Some(user) = self.seeing(seen, |b| b.user_array(function))? {
                named.push(user);
                continue;
            }
            let ast::FunctionArguments::List(list) = &function.args else {
                return unsupported("this call in ROWS FROM", position);
            };
            let plain = |argument: &FunctionArg| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr.clone()),
                other => unsupported(format!("the argument {other} of {name}()"), position),
            };
            let given: Vec<ast::Expr> = list.args.iter().map(plain).collect::<Result<_>>()?;
            let arrays = match is_rows_function(&name) {
                true => self.seeing(seen, |b| b.arrays_of(&name, &given))?,
                // The value of any other function is a row.
                false => {
                    let value = self.seeing(seen, |b| b.expr(&ast::Expr::Function(function.clone())))?;
                    vec![self.alone(value)?]
                }
            };
            named.extend(arrays.into_iter().map(|array| (name.clone(), array)));
        }
        self.item_of_arrays("rows from".to_owned(), named, alias, ordinality)
    }

    /// `json_to_record` and its like, whose columns stand behind the alias; none if it is another function.
    pub(super) fn record_of_json(
        &mut self,
        name: &str,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        seen: &Scope,
        position: Option<u32>,
    ) -> Result<Option<FromItem>> {
        if let Some((prefix, is_set)) = populating(name) {
            return self.populated(name, (prefix, is_set), arguments, alias, (seen, position)).map(Some);
        }
        let Some((prefix, is_set)) = record_function(name) else { return Ok(None) };
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = arguments else {
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, format!("{name} takes one argument")).at(position));
        };
        let columns = alias.map_or(&[][..], |alias| &alias.columns);
        let mut items = Vec::with_capacity(columns.len());
        for column in columns {
            let Some(data_type) = &column.data_type else { continue };
            let field = fold(&column.name);
            let key = format!("'{}'", field.replace('\'', "''"));
            let named = Ident::with_quote('"', field);
            let read = match self.sql_type(data_type)? {
                SqlType::Json | SqlType::Jsonb => {
                    format!(
                        "CASE WHEN {prefix}_typeof(e.v -> {key}) <> 'null' THEN CAST(e.v -> {key} AS {data_type}) END"
                    )
                }
                // Of arrays and objects, or as they are written as texts.
                SqlType::Array(_) | SqlType::Struct(_) => {
                    format!("struct_extract(CAST(e.v AS STRUCT({named} {data_type})), {key})")
                }
                _ => format!("CAST(e.v ->> {key} AS {data_type})"),
            };
            items.push(format!("{read} AS {named}"));
        }
        if items.is_empty() || items.len() < columns.len() {
            let message = "a column definition list is required for functions returning \"record\"";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        let from = match is_set {
            true => format!("{prefix}_array_elements(\"{ARGUMENT}\") AS e (v)"),
            false => format!("(SELECT CAST(\"{ARGUMENT}\" AS {prefix}) AS v) AS e"),
        };
        let text = format!("SELECT {} FROM {from}", items.join(", "));
        let mut alias = alias.cloned();
        alias.iter_mut().for_each(|alias| alias.columns.clear());
        self.rows_of_text(&text, vec![(ARGUMENT, argument)], (name, alias.as_ref()), (seen, position)).map(Some)
    }

    /// `json_populate_record(row, json)` and its like: JSON as rows of the type of another row.
    fn populated(
        &mut self,
        name: &str,
        (prefix, is_set): (&str, bool),
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        around: (&Scope, Option<u32>),
    ) -> Result<FromItem> {
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(row)), FunctionArg::Unnamed(FunctionArgExpr::Expr(json))] =
            arguments
        else {
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, format!("{name} takes two arguments")).at(around.1));
        };
        let text = match is_set {
            true => format!(
                "SELECT ({prefix}_populate_record(\"{ROW}\", e.v)).* FROM {prefix}_array_elements(\"{ARGUMENT}\") AS e (v)"
            ),
            false => format!("SELECT ({prefix}_populate_record(\"{ROW}\", \"{ARGUMENT}\")).*"),
        };
        self.rows_of_text(&text, vec![(ROW, row), (ARGUMENT, json)], (name, alias), around)
    }

    /// The rows of a query with arguments in the places of names.
    fn rows_of_text(
        &mut self,
        text: &str,
        given: Vec<(&'static str, &ast::Expr)>,
        (name, alias): (&str, Option<&TableAlias>),
        (seen, position): (&Scope, Option<u32>),
    ) -> Result<FromItem> {
        let Ast::Library(mut statement) = parse_placeless(text)?.ast else {
            return Err(Error::internal("a query that is none"));
        };
        walk::change_each_expr(&mut statement, |expr| {
            if let ast::Expr::Identifier(ident) = expr
                && let Some((_, given)) = given.iter().find(|(name, _)| *name == ident.value)
            {
                *expr = ast::Expr::Nested(Box::new((*given).clone()));
            }
        });
        let ast::Statement::Query(query) = *statement else { return Err(Error::internal("a query that is none")) };
        let bound = self.seeing(seen, |b| b.query(&query)).map_err(|error| match error.position() {
            None => error.at(position),
            Some(_) => error,
        })?;
        self.derived(bound, alias, Some(name))
    }
}

/// What kind of JSON a function makes rows of a type of, and whether of each element.
fn populating(name: &str) -> Option<(&'static str, bool)> {
    Some(match name {
        "json_populate_record" => ("json", false),
        "jsonb_populate_record" => ("jsonb", false),
        "json_populate_recordset" => ("json", true),
        "jsonb_populate_recordset" => ("jsonb", true),
        _ => return None,
    })
}

/// What kind of JSON a function makes records of, and whether of each element.
fn record_function(name: &str) -> Option<(&'static str, bool)> {
    Some(match name {
        "json_to_record" => ("json", false),
        "jsonb_to_record" => ("jsonb", false),
        "json_to_recordset" => ("json", true),
        "jsonb_to_recordset" => ("jsonb", true),
        _ => return None,
    })
}
