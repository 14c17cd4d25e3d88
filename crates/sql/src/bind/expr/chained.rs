//! `x.f(y)` for `f(x, y)`, as DuckDB has it: functions one behind the other, in the order in which they are applied.

use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, ObjectNamePart};

use crate::bind::Binder;

/// The call with the value as its first argument.
pub(super) fn with_first(function: &ast::Function, value: ast::Expr) -> ast::Expr {
    let mut function = function.clone();
    if let FunctionArguments::List(list) = &mut function.args {
        list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(value)));
    }
    ast::Expr::Function(function)
}

impl Binder<'_> {
    /// The call that `x.f(y)` is, where `x` is a column, which hides a schema of that name.
    pub(super) fn chained(&mut self, function: &ast::Function) -> Option<ast::Expr> {
        let (name, before) = function.name.0.split_last()?;
        let ident = |part: &ObjectNamePart| part.as_ident().cloned();
        let before: Vec<ast::Ident> = before.iter().map(ident).collect::<Option<_>>()?;
        let value = match before.as_slice() {
            [column]
                if self.names.lambda_parameter(column).is_some()
                    || self.names.resolve(column, &self.text, &mut self.plan).is_ok() =>
            {
                ast::Expr::Identifier(column.clone())
            }
            [table, column] if self.names.resolve_qualified(table, column, &self.text, &mut self.plan).is_ok() => {
                ast::Expr::CompoundIdentifier(before)
            }
            _ => return None,
        };
        let call = ast::Function { name: ObjectName(vec![name.clone()]), ..function.clone() };
        Some(with_first(&call, value))
    }
}
