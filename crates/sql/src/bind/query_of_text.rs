//! `query('SELECT ...')` and `query_table('t')` in FROM: queries and tables that constant texts name.

use base::{Error, Result, SqlState};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, TableAlias};
use types::ops::array;
use types::{SqlType, Value};

use super::Binder;
use super::from::FromItem;
use crate::parse::{Ast, parse_placeless};

impl Binder<'_> {
    /// The rows of such a function; none if it is another one.
    pub(super) fn query_of_text(
        &mut self,
        function: &str,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        position: Option<u32>,
    ) -> Result<Option<FromItem>> {
        let wrong = |message: &str| Error::new(SqlState::UNDEFINED_FUNCTION, message.to_owned()).at(position);
        let given = |argument: &FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. }
                if name.value.eq_ignore_ascii_case("by_name") =>
            {
                Some(value.clone())
            }
            _ => None,
        };
        let arguments = || arguments.iter().map(given).collect::<Option<Vec<ast::Expr>>>();
        let text = match function {
            "query" => match arguments().as_deref() {
                Some([text]) => match self.constant(text, "a query")? {
                    Value::Str(text) => text.to_string(),
                    _ => return Err(wrong("query takes a text")),
                },
                _ => return Err(wrong("query takes a text")),
            },
            "query_table" => match arguments().as_deref() {
                Some([tables]) => self.text_of_tables(tables, false)?,
                Some([tables, by_name]) => {
                    let by_name = matches!(self.constant(by_name, "BY NAME")?, Value::Bool(true));
                    self.text_of_tables(tables, by_name)?
                }
                _ => return Err(wrong("query_table takes the name of a table, or a list of names")),
            },
            _ => return Ok(None),
        };
        let placed = |error: Error| if error.position().is_none() { error.at(position) } else { error };
        let parsed = parse_placeless(&text).map_err(|error| Error::new(error.state(), error.message()).at(position))?;
        let query = match parsed.ast {
            Ast::Library(statement) => match *statement {
                ast::Statement::Query(query) => query,
                _ => return Err(Error::new(SqlState::SYNTAX_ERROR, "the text is no query").at(position)),
            },
            _ => return Err(Error::new(SqlState::SYNTAX_ERROR, "the text is no query").at(position)),
        };
        let bound = self.deeper(|b| b.query(&query)).map_err(placed)?;
        self.derived(bound, alias, Some(function)).map(Some)
    }

    /// The query of all rows of the tables that a constant names.
    fn text_of_tables(&mut self, tables: &ast::Expr, by_name: bool) -> Result<String> {
        let position = self.text.start(tables);
        let wrong = || Error::new(SqlState::DATATYPE_MISMATCH, "the name of a table must be a string").at(position);
        let name = |value: Value| match value {
            Value::Str(name) => Ok(name.to_string()),
            _ => Err(wrong()),
        };
        let names: Vec<String> = match self.typed_constant(tables, "the name of a table")? {
            (Value::Str(form), SqlType::Array(&element)) if element.is_string() => {
                array::Elements::new(&form, element).map(name).collect::<Result<_>>()?
            }
            (value, _) => vec![name(value)?],
        };
        if names.is_empty() {
            return Err(wrong());
        }
        let quoted = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
        let of_one =
            |name: &String| format!("SELECT * FROM {}", name.split('.').map(quoted).collect::<Vec<_>>().join("."));
        let union = if by_name { " UNION ALL BY NAME " } else { " UNION ALL " };
        Ok(names.iter().map(of_one).collect::<Vec<_>>().join(union))
    }
}
