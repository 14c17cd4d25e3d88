//! Functions in FROM: series, files, views of the database, and whatever else gives rows.

use base::{Error, Result, SqlState};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, TableAlias};
use types::Value;

use super::FromItem;
use crate::bind::scope::Scope;
use crate::bind::{Binder, fold, unsupported};
use crate::parse::described::described;
use crate::parse::shorthand::is_rows_from;

impl Binder<'_> {
    /// `read_csv('a.csv', header = true)`, `generate_series(1, 3)`.
    pub(super) fn table_function(
        &mut self,
        name: &ast::ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        ordinality: bool,
        seen: &Scope,
    ) -> Result<FromItem> {
        let position = self.text.name_position(name);
        if let Some(item) = self.user_rows(name, arguments, alias, ordinality, seen)? {
            return Ok(item);
        }
        if let Some(what) = described(name) {
            return self.described(what, arguments, alias);
        }
        if is_rows_from(name) {
            return self.rows_from(arguments, alias, ordinality, seen);
        }
        let function = self.text.object_name(name)?.name;
        if let Some(item) = self.record_of_json(&function, arguments, alias, seen, position)? {
            return Ok(item);
        }
        if !ordinality && let Some(item) = self.query_of_text(&function, arguments, alias, position)? {
            return Ok(item);
        }
        // Each value as one of `json`.
        if let Some(reading) = objects(&function)
            && !ordinality
        {
            return self.file_function(reading, &with_objects(arguments), alias, position);
        }
        if let Some(item) = self.rows_function(&function, arguments, alias, ordinality, seen)? {
            return Ok(item);
        }
        match function.as_str() {
            "generate_series" | "range" => self.series(&function, arguments, alias, ordinality, position),
            "storage_info" if !ordinality => self.storage_info(arguments, alias, position),
            name if self.resolver.file_functions().contains(&name) && !ordinality => {
                self.file_function(name, arguments, alias, position)
            }
            _ => {
                let found = match ordinality {
                    true => unsupported("WITH ORDINALITY behind this function", position),
                    false => self.view_function(&function, arguments, alias).map_err(|e| e.at(position)),
                };
                found.or_else(|error| self.value_as_row(name, arguments, alias, ordinality, seen, error))
            }
        }
    }

    /// A function whose value is a row, as `FROM upper('x')`; the error if there is no such function.
    fn value_as_row(
        &mut self,
        name: &ast::ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        ordinality: bool,
        seen: &Scope,
        error: Error,
    ) -> Result<FromItem> {
        let function = self.text.object_name(name)?.name;
        if !matches!(error.state(), SqlState::UNDEFINED_FUNCTION | SqlState::FEATURE_NOT_SUPPORTED)
            || self.resolver.view_functions().contains(&function.as_str())
        {
            return Err(error);
        }
        let call = call_of(name, arguments);
        match self.seeing(seen, |b| b.expr(&call)) {
            Ok(value) => {
                let array = self.alone(value)?;
                let relation = alias.map_or_else(|| function.clone(), |alias| fold(&alias.name));
                self.item_of_arrays(relation.clone(), vec![(relation, array)], alias, ordinality)
            }
            // What is wrong may be the arguments of a function that there is.
            Err(inner) if inner.state() != SqlState::UNDEFINED_FUNCTION => Err(inner),
            Err(_) => Err(error),
        }
    }

    /// `running_queries()`, or whatever else of its kind the engine has.
    fn view_function(
        &mut self,
        function: &str,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
    ) -> Result<FromItem> {
        let wrong = |message| Error::new(SqlState::UNDEFINED_FUNCTION, message);
        match self.resolver.view_function(function) {
            Some(table) if arguments.is_empty() => self.scan(table, None, alias),
            Some(_) => Err(wrong(format!("{function} takes no arguments"))),
            None => {
                if let Some(item) = self.shown_rows(function, arguments, alias)? {
                    return Ok(item);
                }
                let mut names = vec!["generate_series", "range"];
                names.extend(self.resolver.file_functions());
                names.extend(self.resolver.view_functions());
                let hint = format!("functions in FROM are {} and storage_info", names.join(", "));
                Err(wrong(format!("table function {function} does not exist")).hint(hint))
            }
        }
    }

    /// `storage_info('t')`, or `storage_info('schema.t')`: of a name as it is stored, without quotes.
    fn storage_info(
        &mut self,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        position: Option<u32>,
    ) -> Result<FromItem> {
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(name))] = arguments else {
            let message = "storage_info takes the name of a table";
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(position));
        };
        let name_at = self.text.start(name);
        let Value::Str(name) = self.constant(name, "the name of a table")? else {
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, "the name of a table must be a string").at(name_at));
        };
        let (schema, name) = match name.split_once('.') {
            Some((schema, name)) => (Some(schema.to_owned()), name),
            None => (None, &*name),
        };
        let name = crate::ObjectName { schema, name: name.to_owned(), position: name_at };
        let table = self.resolver.storage_info(&name).map_err(|e| e.at(name_at))?;
        self.scan(table, None, alias)
    }
}

/// What reads the files of a function that leaves objects as they are.
fn objects(function: &str) -> Option<&'static str> {
    Some(match function {
        "read_json_objects" | "read_json_objects_auto" => "read_json",
        "read_ndjson_objects" => "read_ndjson",
        _ => return None,
    })
}

/// Its arguments: members are no columns, a record is the value of one.
fn with_objects(arguments: &[FunctionArg]) -> Vec<FunctionArg> {
    let named = |name: &str, value: ast::Expr| FunctionArg::Named {
        name: ast::Ident::new(name),
        arg: FunctionArgExpr::Expr(value),
        operator: ast::FunctionArgOperator::Assignment,
    };
    let json = Box::new(ast::Expr::value(ast::Value::SingleQuotedString("json".to_owned())));
    let columns = vec![ast::DictionaryField { key: ast::Ident::new("json"), value: json }];
    let own = [
        named("records", ast::Expr::value(ast::Value::Boolean(false))),
        named("columns", ast::Expr::Dictionary(columns)),
    ];
    arguments.iter().cloned().chain(own).collect()
}

/// A call as an expression.
fn call_of(name: &ast::ObjectName, arguments: &[FunctionArg]) -> ast::Expr {
    ast::Expr::Function(ast::Function {
        name: name.clone(),
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(ast::FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.to_vec(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
