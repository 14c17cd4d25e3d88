//! `SELECT set_config('name', 'value', is_local), ...`, which dumps begin with, and by which clients tell who their user is: SET
//! as a query.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectNamePart, SelectItem, Statement,
};

use super::bare::bare_projection;

/// One of its calls.
pub(crate) struct SetConfigAst<'a> {
    /// What its column is called, if not as the function.
    pub alias: Option<&'a Ident>,
    /// The setting, its value, and whether that is the transaction's only.
    pub arguments: [&'a Expr; 3],
}

/// The calls, if the statement consists of them.
pub(crate) fn set_config(statement: &Statement) -> Option<Vec<SetConfigAst<'_>>> {
    let Statement::Query(query) = statement else { return None };
    let calls: Vec<_> = bare_projection(query)?.iter().map(call).collect::<Option<_>>()?;
    (!calls.is_empty()).then_some(calls)
}

fn call(item: &SelectItem) -> Option<SetConfigAst<'_>> {
    let (expr, alias) = match item {
        SelectItem::UnnamedExpr(expr) => (expr, None),
        SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias)),
        _ => return None,
    };
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else { return None };
    let ObjectNamePart::Identifier(name) = name.0.last()? else { return None };
    let [setting, value, is_local] = list.args.as_slice() else { return None };
    let arguments = [argument(setting)?, argument(value)?, argument(is_local)?];
    name.value.eq_ignore_ascii_case("set_config").then_some(SetConfigAst { alias, arguments })
}

fn argument(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}
