//! Functions whose results are rows: in FROM, of columns of what stands before them too, and in the select list. Each is an array
//! whose elements become rows: its row is repeated as often as the longest array is long, and the element of each number taken.

use base::{Error, Result, SqlState};
use functions::ScalarFunction as F;
use plan::{ColumnId, ColumnInfo, Compare, Expr, ExprKind, Node, Op, array_elements};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, TableAlias};
use types::{SqlType, Value};

use super::coerce::{cast_to, closed, is_untyped};
use super::expr::{call, parts_of_text, paths_of};
use super::from::{FromItem, one_row};
use super::group::keys::same;
use super::parts::PlanBuilder;
use super::scope::{Clause, Level, Relation, Scope, ScopeColumn, Unnested};
use super::series::series_types;
use super::{Binder, fold, zone};

/// An array that is put together of so many values is a choice between them, where it is taken apart.
const FEW_ELEMENTS: usize = 16;

/// Functions that are rows of arrays, besides series.
fn is_unnesting(name: &str) -> bool {
    matches!(
        name,
        "unnest"
            | "string_to_table"
            | "regexp_split_to_table"
            | "regexp_matches"
            | "generate_subscripts"
            | "jsonb_path_query"
            | "jsonb_path_query_tz"
    ) || rows_of_json(name).is_some()
}

/// Whether the rows of a function are the elements of arrays.
pub(super) fn is_rows_function(name: &str) -> bool {
    is_unnesting(name) || matches!(name, "generate_series" | "range")
}

/// The functions whose arrays a function of JSON has as its columns, and what these are called, if not as the function.
fn rows_of_json(name: &str) -> Option<&'static [(&'static str, &'static str)]> {
    if name == "json_each" {
        return Some(&[("json_entry_keys", "key"), ("json_entry_values", "value")]);
    }
    Some(match name.strip_prefix("jsonb_").or_else(|| name.strip_prefix("json_"))? {
        "array_elements" => &[("json_elements", "value")],
        "array_elements_text" => &[("json_elements_text", "value")],
        "object_keys" => &[("json_keys", "")],
        "each" => &[("json_keys", "key"), ("json_values", "value")],
        "each_text" => &[("json_keys", "key"), ("json_values_text", "value")],
        _ => return None,
    })
}

/// Whether the argument is a literal, so that nobody need look what it refers to.
fn is_literal(argument: &FunctionArg) -> bool {
    use ast::Expr as E;
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument else { return true };
    match expr {
        E::Value(_) | E::TypedString(_) | E::Interval(_) => true,
        E::UnaryOp { expr, .. } => matches!(**expr, E::Value(_)),
        _ => false,
    }
}

/// The arguments of a function in FROM that takes expressions.
fn plain_arguments(name: &str, arguments: &[FunctionArg]) -> Result<Vec<ast::Expr>> {
    let plain = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr.clone()),
        other => Err(Error::unsupported(format!("the argument {other} of {name}()"))),
    };
    arguments.iter().map(plain).collect()
}

impl Binder<'_> {
    /// Binds arguments in FROM, which see the items before.
    pub(super) fn seeing<T>(&mut self, seen: &Scope, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let level = self.names.level();
        let hidden = (std::mem::replace(&mut level.scope, seen.clone()), level.clause);
        level.clause = Clause::From;
        let bound = bind(self);
        (self.names.level().scope, self.names.level().clause) = hidden;
        bound
    }

    /// A function in FROM whose rows are the elements of arrays; none if it is another one, or a series with the same bounds for
    /// all rows, which is a table.
    pub(super) fn rows_function(
        &mut self,
        name: &str,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        ordinality: bool,
        seen: &Scope,
    ) -> Result<Option<FromItem>> {
        let is_series = matches!(name, "generate_series" | "range");
        let is_tree = matches!((name, arguments.len()), ("json_tree", 1 | 2) | ("json_each", 2));
        if is_tree && !ordinality {
            let arguments = plain_arguments(name, arguments)?;
            return self.values_within(name, &arguments, alias, seen).map(Some);
        }
        if !is_unnesting(name) && (!is_series || arguments.iter().all(is_literal)) {
            return Ok(None);
        }
        let arguments = plain_arguments(name, arguments)?;
        if is_series && self.constant_series(&arguments, seen)? {
            return Ok(None);
        }
        self.unnest_from(name, &arguments, alias, ordinality, seen).map(Some)
    }

    /// `json_tree(json, path)` and `json_each(json, path)`: a row for each value within what lies at the path.
    fn values_within(
        &mut self,
        name: &str,
        arguments: &[ast::Expr],
        alias: Option<&TableAlias>,
        seen: &Scope,
    ) -> Result<FromItem> {
        let position = arguments.first().and_then(|a| self.text.start(a));
        let mut bound = self.seeing(seen, |b| arguments.iter().map(|a| b.expr(a)).collect::<Result<Vec<_>>>())?;
        if bound.len() == 1 {
            bound.push(Expr::constant(Value::str("$"), SqlType::Text));
        }
        bound.push(Expr::bool(name == "json_tree"));
        let rows = call("json_within", bound, position)?;
        let row = self.plan.element_of("row", rows);
        let whole = self.plan.reference(row.column);
        let node = self.plan.unnested(one_row(), vec![row], None);
        let mut columns = Vec::new();
        let mut computed = Vec::new();
        for (name, expr) in self.fields_of(&whole)? {
            let column = self.plan.column_for(&name, &expr);
            columns.push(ScopeColumn { name, column });
            computed.push((column, expr));
        }
        let node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        let relation = Relation { name: Some(name.to_owned()), columns, ..Relation::default() };
        let relation = self.text.aliased(relation, alias)?;
        Ok(FromItem { node, scope: Scope::of(relation) })
    }

    /// Whether a series has the same bounds for all rows.
    fn constant_series(&mut self, arguments: &[ast::Expr], seen: &Scope) -> Result<bool> {
        let bound = self.seeing(seen, |b| arguments.iter().map(|a| b.expr(a)).collect::<Result<Vec<_>>>())?;
        Ok(bound.iter().all(|e| !e.has_subquery() && !e.uses(|_| true)))
    }

    /// `unnest(array, ...)` and its like in FROM.
    pub(super) fn unnest_from(
        &mut self,
        name: &str,
        arguments: &[ast::Expr],
        alias: Option<&TableAlias>,
        ordinality: bool,
        seen: &Scope,
    ) -> Result<FromItem> {
        let arrays = self.seeing(seen, |b| b.arrays_of(name, arguments))?;
        let relation = alias.map_or_else(|| name.to_owned(), |alias| fold(&alias.name));
        // A function of one column has the table's name for it, if it has one.
        let column_name = if arrays.len() == 1 { relation.clone() } else { name.to_owned() };
        let names = rows_of_json(name).unwrap_or_default();
        let own = |at: usize| names.get(at).map(|(_, own)| *own).filter(|own| !own.is_empty());
        let named = arrays.into_iter().enumerate();
        let named = named.map(|(at, array)| (own(at).unwrap_or(&column_name).to_owned(), array)).collect();
        self.item_of_arrays(relation, named, alias, ordinality)
    }

    /// The item of FROM whose rows are the elements of arrays, each a column of that name.
    pub(super) fn item_of_arrays(
        &mut self,
        relation: String,
        arrays: Vec<(String, Expr)>,
        alias: Option<&TableAlias>,
        ordinality: bool,
    ) -> Result<FromItem> {
        let mut columns = Vec::with_capacity(arrays.len());
        let mut unnested = Vec::with_capacity(arrays.len());
        for (name, array) in arrays {
            let one = self.plan.element_of(&name, array);
            columns.push(ScopeColumn { name, column: one.column });
            unnested.push(one);
        }
        let mut value = if let [one] = unnested.as_slice() { Some(one.column) } else { None };
        let (mut shown, mut computed) = (Vec::with_capacity(columns.len()), Vec::new());
        for column in columns {
            let element = self.plan.reference(column.column);
            if !element.sql_type.structure().is_some_and(|of| of.is_row) {
                shown.push(column);
                continue;
            }
            // A row is its columns.
            value = None;
            for (name, field) in self.fields_of(&element)? {
                let column = self.plan.column_for(&name, &field);
                computed.push((column, field));
                shown.push(ScopeColumn { name, column });
            }
        }
        let mut columns = shown;
        let number = ordinality.then(|| {
            let info = ColumnInfo { name: "ordinality".to_owned(), sql_type: SqlType::BigInt, nullable: false };
            let column = self.plan.columns.push(info);
            columns.push(ScopeColumn { name: "ordinality".to_owned(), column });
            column
        });
        let mut node = self.plan.unnested(one_row(), unnested, number);
        if !computed.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        }
        let relation =
            self.text.aliased(Relation { name: Some(relation), columns, value, ..Relation::default() }, alias)?;
        Ok(FromItem { node, scope: Scope::of(relation) })
    }

    /// The arrays that a call's rows are the elements of.
    pub(super) fn arrays_of(&mut self, name: &str, arguments: &[ast::Expr]) -> Result<Vec<Expr>> {
        let position = arguments.first().and_then(|a| self.text.start(a));
        let mut bound = arguments.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
        bound = bound.into_iter().map(closed).collect();
        let types = || bound.iter().map(|e| e.sql_type.to_string()).collect::<Vec<_>>().join(", ");
        match name {
            "unnest" => {
                if bound.is_empty() || !bound.iter().all(|e| e.sql_type.is_array()) {
                    let message = format!("function unnest({}) does not exist", types());
                    return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).hint("it takes arrays").at(position));
                }
                Ok(bound.into_iter().map(innermost).collect())
            }
            _ if rows_of_json(name).is_some() => {
                let [value] = <[Expr; 1]>::try_from(bound).map_err(|_| {
                    Error::new(SqlState::UNDEFINED_FUNCTION, format!("{name} takes one argument")).at(position)
                })?;
                let sql_type = if name.starts_with("jsonb") { SqlType::Jsonb } else { SqlType::Json };
                let value = if value.sql_type == sql_type { value } else { assign_json(name, value, sql_type)? };
                let parts = rows_of_json(name).unwrap_or_default();
                parts.iter().map(|(part, _)| call(part, vec![value.clone()], position)).collect()
            }
            "string_to_table" => Ok(vec![parts_of_text(bound, position)?]),
            "regexp_matches" => Ok(vec![call("regexp_match_rows", bound, position)?]),
            "regexp_split_to_table" => Ok(vec![call("regexp_split_to_array", bound, position)?]),
            "jsonb_path_query" | "jsonb_path_query_tz" => {
                let mut bound = bound;
                for at in [0, 2] {
                    if let Some(literal) = bound.get_mut(at).filter(|e| is_untyped(e)) {
                        *literal = cast_to(literal.clone(), SqlType::Jsonb)?;
                    }
                }
                Ok(vec![call("jsonb_path_items", bound, position)?])
            }
            "generate_subscripts" => Ok(vec![subscripts(bound, position)?]),
            _ => Ok(vec![series(name, bound, position)?]),
        }
    }

    /// A set-returning function in the select list, if `name` is one: the column of its elements.
    pub(super) fn unnest_in_list(
        &mut self,
        name: &str,
        arguments: &[&ast::Expr],
        position: Option<u32>,
    ) -> Result<Option<Expr>> {
        if !is_unnesting(name) && name != "generate_series" {
            return Ok(None);
        }
        // What DuckDB calls so is a condition, where PostgreSQL has no rows.
        let takes_rows = |level: &Level| {
            let is_plain = level.clause == Clause::Select && !level.inside_aggregate && !level.inside_filter;
            is_plain && level.without_windows.is_none() && !level.inside_condition
        };
        if name == "regexp_matches" && !self.names.levels.last().is_some_and(takes_rows) {
            return Ok(None);
        }
        self.may_make_rows(position)?;
        let arguments: Vec<ast::Expr> = arguments.iter().map(|&argument| argument.clone()).collect();
        let mut arrays = self.arrays_of(name, &arguments)?;
        if let (Some(names), true) = (rows_of_json(name), arrays.len() > 1) {
            let element = |b: &mut Self, array| b.element_in_list(name, array, position);
            let elements = arrays.into_iter().map(|array| element(self, array)).collect::<Result<Vec<_>>>()?;
            let named = names.iter().map(|(_, own)| (*own).to_owned()).zip(elements).collect();
            return self.row_of_values(named, position).map(Some);
        }
        let (Some(array), true) = (arrays.pop(), arrays.is_empty()) else {
            let message = format!("{name}() with several arguments is only allowed in FROM");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
        };
        self.element_in_list(name, array, position).map(Some)
    }

    /// A series of times as a list.
    pub(super) fn times_in_list(&mut self, name: &str, bound: Vec<Expr>, position: Option<u32>) -> Result<Expr> {
        other_series(name, bound, position)
    }

    /// Whether rows may be made where the binder is.
    fn may_make_rows(&mut self, position: Option<u32>) -> Result<()> {
        let message = match self.names.levels.last() {
            Some(level) if takes_sets(level.clause) && level.inside_aggregate => {
                "aggregate function calls cannot contain set-returning function calls"
            }
            Some(level) if takes_sets(level.clause) && level.without_windows.is_none() => "",
            _ => "set-returning functions are not allowed here",
        };
        if !message.is_empty() {
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
        }
        Ok(())
    }

    /// The column of the elements of an array, each of which makes a row of the select list.
    pub(super) fn element_in_list(&mut self, name: &str, array: Expr, position: Option<u32>) -> Result<Expr> {
        self.may_make_rows(position)?;
        let level = self.names.level();
        if level.unnested.iter().any(|u| array.uses(|c| c == u.column)) {
            return Err(Error::unsupported("a set-returning function of another one's rows").at(position));
        }
        // GROUP BY and ORDER BY mean what the select list has.
        let is_other = matches!(level.clause, Clause::GroupBy | Clause::OrderBy);
        let known = level.unnested.iter().find(|u| is_other && same(&u.array, &array));
        if let Some(column) = known.map(|u| u.column) {
            return Ok(self.plan.reference(column).at(position));
        }
        let one = self.plan.element_of(name, array);
        let element = self.plan.reference(one.column).at(position);
        self.names.level().unnested.push(one);
        Ok(element)
    }
}

/// Whether set-returning functions may stand in a clause.
fn takes_sets(clause: Clause) -> bool {
    matches!(clause, Clause::Select | Clause::GroupBy | Clause::OrderBy | Clause::Values)
}

/// What a call of `unnest` in the select list unnests, and how many levels of it.
fn levels_of(expr: &ast::Expr) -> Option<(&ast::Expr, u64)> {
    let ast::Expr::Function(function) = expr else { return None };
    let (ast::FunctionArguments::List(list), [ast::ObjectNamePart::Identifier(name)]) =
        (&function.args, function.name.0.as_slice())
    else {
        return None;
    };
    let (FunctionArg::Unnamed(FunctionArgExpr::Expr(value)), rest) = list.args.split_first()? else { return None };
    let levels = match rest {
        [] => 1,
        [FunctionArg::Named { name, arg: FunctionArgExpr::Expr(ast::Expr::Value(said)), .. }] => {
            match (fold(name).as_str(), &said.value) {
                ("recursive", ast::Value::Boolean(true)) => u64::MAX,
                ("recursive", ast::Value::Boolean(false)) => 1,
                ("max_depth", ast::Value::Number(levels, _)) => levels.parse().ok()?,
                _ => return None,
            }
        }
        _ => return None,
    };
    (name.quote_style.is_none() && fold(name) == "unnest" && levels > 0).then_some((value, levels))
}

impl Binder<'_> {
    /// The columns that `unnest` of a struct is, or of an array of structs to that depth, as DuckDB has it: first arrays are
    /// unnested, then structs, but no arrays in these. None if it is one column.
    pub(super) fn unnested_fields(&mut self, expr: &ast::Expr) -> Result<Option<Vec<(String, Expr)>>> {
        let Some((argument, levels)) = levels_of(expr) else { return Ok(None) };
        if let Some(fields) = self.fields_of_expr(argument, levels)? {
            return Ok(Some(fields));
        }
        if levels == 1 {
            return Ok(None);
        }
        let element = self.unnest_in_list("unnest", &[argument], self.text.start(expr))?;
        let element = element.ok_or_else(|| Error::internal("unnest makes rows"))?;
        if element.sql_type.structure().is_none() {
            return Ok(Some(vec![("unnest".to_owned(), element)]));
        }
        let mut fields = Vec::new();
        for path in paths_of(element.sql_type, levels - 1) {
            let read =
                path.iter().try_fold(element.clone(), |field, name| self.struct_field(field, name, element.position));
            fields.push((path.last().cloned().unwrap_or_default(), read?));
        }
        Ok(Some(fields))
    }
}

/// A literal as JSON of that kind, and a text as `json`.
fn assign_json(name: &str, value: Expr, sql_type: SqlType) -> Result<Expr> {
    if is_untyped(&value) || (sql_type == SqlType::Json && value.sql_type.is_string()) {
        return cast_to(value, sql_type);
    }
    let message = format!("function {name}({}) does not exist", value.sql_type);
    Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).hint(format!("it takes {sql_type}")).at(value.position))
}

/// The elements of all dimensions, as PostgreSQL's unnest gives them.
fn innermost(mut array: Expr) -> Expr {
    while let Some(inner) = array.sql_type.element().filter(|t| t.is_array()) {
        let position = array.position;
        array = Expr::new(ExprKind::Call(F::FLATTEN, vec![array]), inner).at(position);
    }
    array
}

/// The subscripts of a dimension of an array, from the last one if that is asked for.
fn subscripts(mut bound: Vec<Expr>, position: Option<u32>) -> Result<Expr> {
    let reversed = match bound.get(2).map(|reversed| &reversed.kind) {
        None => false,
        Some(ExprKind::Const(Value::Bool(reversed))) => *reversed,
        Some(_) => return Err(Error::unsupported("generate_subscripts in an order that is not constant").at(position)),
    };
    bound.truncate(2);
    let [first, step] = [1, if reversed { -1 } else { 1 }].map(|n| Expr::constant(Value::Int(n), SqlType::Integer));
    let length = call("array_length", bound, position)?;
    let bounds = if reversed { vec![length, first, step] } else { vec![first, length, step] };
    series("generate_series", bounds, position)
}

/// A series as an array of its values.
fn series(name: &str, mut bound: Vec<Expr>, position: Option<u32>) -> Result<Expr> {
    if name == "range" && bound.len() == 1 {
        bound.insert(0, Expr::constant(Value::Int(0), SqlType::Integer));
    }
    let integers = bound.iter().all(|e| e.sql_type.is_integer() || is_untyped(e)) && !bound.iter().all(is_untyped);
    if !integers || !(2..=3).contains(&bound.len()) {
        return other_series(name, bound, position);
    }
    let wide = bound.iter().any(|e| e.sql_type == SqlType::BigInt);
    let mut arguments = bound.into_iter().map(|e| cast_to(e, SqlType::BigInt)).collect::<Result<Vec<_>>>()?;
    if arguments.len() == 2 {
        arguments.push(Expr::constant(Value::Int(1), SqlType::BigInt));
    }
    let bigints = SqlType::array_of(SqlType::BigInt);
    if name != "generate_series" {
        return Ok(Expr::new(ExprKind::Call(F::LIST_RANGE, arguments), bigints).at(position));
    }
    let made = Expr::new(ExprKind::Call(F::ARRAY_SERIES, arguments), bigints).at(position);
    if wide { Ok(made) } else { cast_to(made, SqlType::array_of(SqlType::Integer)) }
}

/// A series of times or decimals.
fn other_series(name: &str, mut bound: Vec<Expr>, position: Option<u32>) -> Result<Expr> {
    let (sql_type, step) = series_types(name, &bound).map_err(|e| e.at(position))?;
    if bound.len() == 2 {
        bound.push(Expr::constant(Value::Int(1), SqlType::Integer));
    }
    let function = match sql_type {
        SqlType::Timestamp | SqlType::Timestamptz => F::TIME_SERIES,
        SqlType::Decimal { .. } => F::NUMBER_SERIES,
        _ => {
            let what = format!("{name} of {sql_type} that is not the same for all rows");
            return Err(Error::unsupported(what).at(position));
        }
    };
    let types = [sql_type, sql_type, step.unwrap_or(sql_type)];
    let mut arguments = bound.into_iter().zip(types).map(|(e, to)| cast_to(e, to)).collect::<Result<Vec<_>>>()?;
    arguments.push(Expr::bool(name == "generate_series"));
    if function == F::TIME_SERIES {
        arguments.push(zone::name());
    }
    Ok(Expr::new(ExprKind::Call(function, arguments), SqlType::array_of(sql_type)).at(position))
}

/// The value of that number, counted from 1; NULL behind the last one.
fn numbered(values: Vec<Expr>, number: ColumnId, sql_type: SqlType) -> Expr {
    let branch = |(at, value): (usize, Expr)| {
        let at = Expr::constant(Value::Int(at as i64 + 1), SqlType::BigInt);
        let is_it = ExprKind::Compare(Compare::Eq, Box::new(Expr::column(number, SqlType::BigInt)), Box::new(at));
        (Expr::new(is_it, SqlType::Bool), value)
    };
    let branches = values.into_iter().enumerate().map(branch).collect();
    let otherwise = Box::new(Expr::constant(Value::Null, sql_type));
    Expr::new(ExprKind::Case { branches, otherwise }, sql_type)
}

impl PlanBuilder {
    /// A column for the elements of an array.
    fn element_of(&mut self, name: &str, array: Expr) -> Unnested {
        let sql_type = array.sql_type.element().unwrap_or(SqlType::Null);
        let column = self.columns.push(ColumnInfo { name: name.to_owned(), sql_type, nullable: true });
        Unnested { array, column }
    }

    /// Each row as often as its longest array is long, with the arrays' elements of that number, which is a column of its own
    /// if there is one for it.
    pub(super) fn unnested(&mut self, node: Node, unnested: Vec<Unnested>, number: Option<ColumnId>) -> Node {
        let (mut arrays, mut elements, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
        let number = number.unwrap_or_else(|| {
            let info = ColumnInfo { name: "number".to_owned(), sql_type: SqlType::BigInt, nullable: false };
            self.columns.push(info)
        });
        for Unnested { array, column } in unnested {
            let sql_type = self.columns[column].sql_type;
            // What is put together of single values is not put together to be taken apart.
            let is_made = !matches!(array.kind, ExprKind::Const(_) | ExprKind::Column(_));
            let fits = |values: &Vec<Expr>| {
                (1..=FEW_ELEMENTS).contains(&values.len()) && values.iter().all(|value| value.sql_type == sql_type)
            };
            if let Some(values) = array_elements(&array).filter(|values| is_made && fits(values)) {
                lengths.push(Expr::constant(Value::Int(values.len() as i64), SqlType::BigInt));
                elements.push((column, numbered(values, number, sql_type)));
                continue;
            }
            let array = match array.as_column() {
                Some(_) => array,
                None => {
                    let made = self.column_for("array", &array);
                    arrays.push((made, array));
                    self.reference(made)
                }
            };
            lengths.push(Expr::new(ExprKind::Call(F::LIST_LENGTH, vec![array.clone()]), SqlType::BigInt));
            let arguments = vec![array, Expr::column(number, SqlType::BigInt)];
            elements.push((column, Expr::new(ExprKind::Call(F::ARRAY_SUBSCRIPT, arguments), sql_type)));
        }
        let node = if arrays.is_empty() { node } else { Node::new(Op::Map { input: Box::new(node), columns: arrays }) };
        let times = match lengths.len() {
            1 => lengths.swap_remove(0),
            _ => Expr::new(ExprKind::Call(F::GREATEST, lengths), SqlType::BigInt),
        };
        let repeated = Node::new(Op::Repeat { input: Box::new(node), times: Box::new(times), number });
        Node::new(Op::Map { input: Box::new(repeated), columns: elements })
    }
}
