//! `SELECT set_config('name', 'value', is_local)`, which dumps begin with: SET as a query.

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart, SelectItem, SetExpr, Statement, Value,
};

/// Name and value of the setting, if that is what the statement sets.
pub(crate) fn set_config(statement: &Statement) -> Option<(String, String)> {
    let Statement::Query(query) = statement else { return None };
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let [SelectItem::UnnamedExpr(Expr::Function(function))] = select.projection.as_slice() else { return None };
    let ObjectNamePart::Identifier(name) = function.name.0.last()? else { return None };
    if !select.from.is_empty() || !name.value.eq_ignore_ascii_case("set_config") {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    let [setting, value, _] = list.args.as_slice() else { return None };
    Some((text(setting)?.to_lowercase(), text(value)?))
}

/// The text of a literal.
fn text(argument: &FunctionArg) -> Option<String> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) = argument else { return None };
    match &value.value {
        Value::SingleQuotedString(text) => Some(text.clone()),
        _ => None,
    }
}
