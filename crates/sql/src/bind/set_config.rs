//! `SELECT set_config(...)`: SET as a query.

use base::Result;
use plan::eval;
use sqlparser::ast;
use types::{SqlType, Value};

use super::coerce::assign;
use super::{Binder, fold, unsupported};
use crate::Statement;
use crate::parse::SetConfigAst;
use crate::statement::SetConfig;

impl Binder<'_> {
    pub(super) fn set_config(&mut self, calls: &[SetConfigAst<'_>]) -> Result<Statement> {
        let bound = calls.iter().map(|SetConfigAst { alias, arguments: [name, value, is_local] }| {
            Ok(SetConfig {
                column: alias.map_or_else(|| "set_config".to_owned(), fold),
                position: self.text.start(name),
                name: self.text_argument(name)?.map(|name| name.to_lowercase()),
                value: self.text_argument(value)?,
                local: self.argument_as(is_local, SqlType::Bool)? == Value::Bool(true),
            })
        });
        Ok(Statement::SetConfig(bound.collect::<Result<_>>()?))
    }

    fn text_argument(&mut self, argument: &ast::Expr) -> Result<Option<String>> {
        Ok(match self.argument_as(argument, SqlType::Text)? {
            Value::Str(text) => Some(text.to_string()),
            _ => None,
        })
    }

    /// The value of an expression without columns.
    fn argument_as(&mut self, argument: &ast::Expr, to: SqlType) -> Result<Value> {
        match self.lone_expr(argument)? {
            Some(bound) if !bound.has_subquery() => eval::constant(&assign(bound, to, "")?),
            _ => unsupported("a query or an aggregate as an argument of set_config", self.text.start(argument)),
        }
    }
}
