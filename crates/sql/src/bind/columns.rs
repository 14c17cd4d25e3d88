//! `COLUMNS(*)`, `COLUMNS(* EXCLUDE a)`, `COLUMNS('pattern')`, `COLUMNS([names])`, `COLUMNS(lambda c: ...)` and `* LIKE 'pattern'`: an item
//! of a select list or of ORDER BY is there once for each such column, and a condition holds for all of them. `*COLUMNS(...)` among
//! arguments or the elements of a list is all of the columns.

use std::borrow::Cow;

use base::{Error, Result, SqlState};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectNamePart};
use types::Value;
use types::ops::like::{DEFAULT_ESCAPE, Syntax, matches, similar};
use types::ops::regex;

use super::conjunction::all_of;
use super::output_name::output_name;
use super::scope::{Clause, Level, find_relation};
use super::{Binder, fold, unsupported};
use crate::parse::glob;
use crate::parse::shorthand::pattern_of_names;
use crate::parse::stars::{Starred, UNPACKED, starred};
use crate::walk;

/// What an expression with COLUMNS stands for: for each column its name, the expression, and what the pattern had in brackets.
pub(super) struct EachColumn {
    pub name: String,
    pub expr: ast::Expr,
    /// The pattern that chose the column.
    pattern: Option<String>,
}

impl EachColumn {
    /// What it is called by an alias, in which `\\1` is what the first brackets of the pattern have found.
    pub fn called(&self, alias: &str) -> String {
        match &self.pattern {
            Some(pattern) if alias.contains('\\') => {
                let whole = format!("^.*?(?:{pattern}).*$");
                regex::replace(&self.name, &whole, alias, 1, 1, options()).unwrap_or_else(|_| alias.to_owned())
            }
            _ => alias.to_owned(),
        }
    }
}

fn options() -> regex::Options {
    regex::Options { advanced: true, ..regex::Options::default() }
}

/// Which columns are meant.
#[derive(Clone)]
enum Chosen {
    All,
    Matching(String),
    /// As a pattern behind `*` says: how it is written, and itself.
    Like(String, String),
    /// All but these, and what stands instead of some.
    Except(Vec<Ident>, Vec<(Ident, ast::Expr)>),
    /// Those for whose names the lambda is true.
    Where(ast::LambdaFunction),
    Named(Vec<String>),
}

impl Binder<'_> {
    /// The expressions that an item of the select list with COLUMNS stands for, and the names of the columns that they are made
    /// for; none if it has no COLUMNS.
    pub(super) fn each_column(&mut self, expr: &ast::Expr) -> Result<Option<Vec<EachColumn>>> {
        let unpacked = self.unpacked(expr)?;
        let expr = unpacked.as_ref().unwrap_or(expr);
        let Some(columns) = find(expr, "columns")? else {
            let alone = |expr: ast::Expr| vec![EachColumn { name: output_name(&expr), expr, pattern: None }];
            return Ok(unpacked.map(alone));
        };
        let made = |(name, value): (String, ast::Expr)| {
            let mut expr = expr.clone();
            walk::change_each_expr(&mut expr, |expr| {
                if call(expr, "columns").is_some() {
                    *expr = value.clone();
                }
            });
            let pattern = if let Chosen::Matching(pattern) = &columns.chosen { Some(pattern.clone()) } else { None };
            EachColumn { name, expr, pattern }
        };
        Ok(Some(self.columns_meant(&columns)?.into_iter().map(made).collect()))
    }

    /// A condition with COLUMNS as one that holds for each of the columns; any other as it is.
    pub(super) fn for_all_columns<'e>(&mut self, condition: &'e ast::Expr) -> Result<Cow<'e, ast::Expr>> {
        let Some(each) = self.each_column(condition)? else { return Ok(Cow::Borrowed(condition)) };
        let each = each.into_iter().map(|each| each.expr);
        Ok(all_of(each).map_or(Cow::Borrowed(condition), Cow::Owned))
    }

    /// The expression with all the columns in the place of each `*COLUMNS(...)`; none if it has none.
    fn unpacked(&mut self, expr: &ast::Expr) -> Result<Option<ast::Expr>> {
        if !walk::has_expr(expr, |expr| call(expr, UNPACKED).is_some()) {
            return Ok(None);
        }
        let mut changed = expr.clone();
        let mut failed = None;
        let mut all = |binder: &mut Self, expr: &ast::Expr| -> Option<Vec<ast::Expr>> {
            call(expr, UNPACKED)?;
            match find(expr, UNPACKED).and_then(|found| found.map(|found| binder.columns_meant(&found)).transpose()) {
                Ok(columns) => columns.map(|columns| columns.into_iter().map(|(_, value)| value).collect()),
                Err(error) => {
                    failed.get_or_insert(error);
                    None
                }
            }
        };
        walk::change_each_expr(&mut changed, |expr| match expr {
            ast::Expr::Array(ast::Array { elem: values, .. })
            | ast::Expr::Tuple(values)
            | ast::Expr::InList { list: values, .. } => {
                let each = values.drain(..).flat_map(|value| all(self, &value).unwrap_or_else(|| vec![value]));
                *values = each.collect();
            }
            ast::Expr::Function(ast::Function { args: FunctionArguments::List(list), .. }) => {
                let each = list.args.drain(..).flat_map(|argument| match &argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => {
                        let plain = |value| FunctionArg::Unnamed(FunctionArgExpr::Expr(value));
                        all(self, value).map_or_else(|| vec![argument.clone()], |v| v.into_iter().map(plain).collect())
                    }
                    _ => vec![argument],
                });
                list.args = each.collect();
            }
            _ => {}
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(Some(changed)),
        }
    }

    /// The columns that COLUMNS means: their names, and what stands for each.
    fn columns_meant(&mut self, columns: &Columns) -> Result<Vec<(String, ast::Expr)>> {
        let Columns { chosen, ident, table } = columns;
        let position = self.text.at(ident);
        let scope = &self.names.level().scope;
        let of_table = table.as_ref().map(|table| match find_relation(scope, table) {
            Some(relation) => Ok(&relation.columns),
            None => {
                let message = format!("missing FROM-clause entry for table \"{}\"", fold(table));
                Err(Error::new(SqlState::UNDEFINED_TABLE, message).at(position))
            }
        });
        let visible = of_table.transpose()?.unwrap_or(&scope.visible);
        let names = visible.iter().map(|c| c.name.clone()).collect();
        let names = self.chosen_names(chosen, names, position)?;
        if names.is_empty() {
            let message = "COLUMNS stands for no column";
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message)
                .hint("no name matches the pattern")
                .at(position));
        }
        let value = |name: String| {
            let column = Ident { value: name.clone(), quote_style: Some('"'), span: ident.span };
            let instead = match chosen {
                Chosen::Except(_, instead) => instead.iter().find(|(ident, _)| fold(ident) == name),
                _ => None,
            };
            let value = match (instead, table) {
                (Some((_, value)), _) => ast::Expr::Nested(Box::new(value.clone())),
                (None, Some(table)) => ast::Expr::CompoundIdentifier(vec![table.clone(), column]),
                (None, None) => ast::Expr::Identifier(column),
            };
            (name, value)
        };
        Ok(names.into_iter().map(value).collect())
    }

    /// Which of the names are chosen.
    fn chosen_names(&mut self, chosen: &Chosen, mut names: Vec<String>, position: Option<u32>) -> Result<Vec<String>> {
        match chosen {
            Chosen::All => {}
            Chosen::Matching(pattern) => {
                let mut matching = Vec::new();
                for name in names {
                    if matches(&name, pattern, Syntax::Regex { fold: false }).map_err(|e| e.at(position))? {
                        matching.push(name);
                    }
                }
                names = matching;
            }
            Chosen::Like(how, pattern) => {
                let (negated, how) = how.strip_prefix("not ").map_or((false, how.as_str()), |how| (true, how));
                let like = |fold| Syntax::Like { escape: DEFAULT_ESCAPE, fold };
                let regex = Syntax::Regex { fold: false };
                let (pattern, syntax) = match how {
                    "ilike" => (pattern.clone(), like(true)),
                    "similar to" => (similar(pattern, "\\").map_err(|e| e.at(position))?, regex),
                    "glob" => (glob::regex(pattern), regex),
                    _ => (pattern.clone(), like(false)),
                };
                let mut matching = Vec::new();
                for name in names {
                    if matches(&name, &pattern, syntax).map_err(|e| e.at(position))? != negated {
                        matching.push(name);
                    }
                }
                names = matching;
            }
            Chosen::Except(gone, instead) => {
                let named = gone.iter().chain(instead.iter().map(|(ident, _)| ident));
                if let Some(missing) = named.into_iter().find(|ident| !names.contains(&fold(ident))) {
                    let message = format!("column \"{}\" is not among the columns of *", fold(missing));
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(self.text.at(missing)));
                }
                names.retain(|name| !gone.iter().any(|ident| fold(ident) == *name));
            }
            Chosen::Where(lambda) => {
                let mut wanted = Vec::new();
                for name in names {
                    if self.is_wanted(lambda, &name, position)? {
                        wanted.push(name);
                    }
                }
                names = wanted;
            }
            Chosen::Named(wanted) => {
                if let Some(missing) = wanted.iter().find(|name| !names.contains(name)) {
                    let message = format!("column \"{missing}\" does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(position));
                }
                names.clone_from(wanted);
            }
        }
        Ok(names)
    }

    /// Whether a lambda is true for the name of a column.
    fn is_wanted(&mut self, lambda: &ast::LambdaFunction, name: &str, position: Option<u32>) -> Result<bool> {
        let parameters: Vec<&Ident> = match &lambda.params {
            ast::OneOrManyWithParens::One(one) => vec![&one.name],
            ast::OneOrManyWithParens::Many(many) => many.iter().map(|p| &p.name).collect(),
        };
        let [parameter] = parameters.as_slice() else {
            return unsupported("COLUMNS of a lambda with other than one parameter", position);
        };
        let mut body = (*lambda.body).clone();
        let value = ast::Expr::value(ast::Value::SingleQuotedString(name.to_owned()));
        let parameter = fold(parameter);
        walk::change_each_expr(&mut body, |expr| {
            if matches!(expr, ast::Expr::Identifier(ident) if fold(ident) == parameter) {
                *expr = value.clone();
            }
        });
        self.names.levels.push(Level::new(Clause::Select));
        let bound = self.condition(&body, "COLUMNS");
        self.names.levels.pop();
        match plan::eval::constant(&bound?).map_err(|e| e.at(position))? {
            Value::Bool(wanted) => Ok(wanted),
            _ => Ok(false),
        }
    }
}

/// COLUMNS: what it chooses, where it stands, and the table that is written before it.
struct Columns {
    chosen: Chosen,
    ident: Ident,
    table: Option<Ident>,
}

/// A call of COLUMNS, or of what `*COLUMNS` travels as.
fn call<'e>(expr: &'e ast::Expr, called: &str) -> Option<(&'e ast::Function, &'e Ident, Option<&'e Ident>)> {
    let ast::Expr::Function(function) = expr else { return None };
    let is = |ident: &Ident| match called {
        UNPACKED => ident.quote_style.is_some() && ident.value == UNPACKED,
        _ => ident.quote_style.is_none() && fold(ident) == called,
    };
    match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] if is(ident) => Some((function, ident, None)),
        [ObjectNamePart::Identifier(table), ObjectNamePart::Identifier(ident)] if is(ident) => {
            Some((function, ident, Some(table)))
        }
        _ => None,
    }
}

fn last_names(names: &[ast::ObjectName]) -> Vec<Ident> {
    let last = |name: &ast::ObjectName| match name.0.last() {
        Some(ObjectNamePart::Identifier(ident)) => Some(ident.clone()),
        _ => None,
    };
    names.iter().filter_map(last).collect()
}

fn find(expr: &ast::Expr, called: &str) -> Result<Option<Columns>> {
    let mut first = None;
    walk::has_expr(expr, |expr| {
        first = call(expr, called).map(|(function, ident, table)| (function.clone(), ident.clone(), table.cloned()));
        first.is_some()
    });
    let Some((function, ident, mut table)) = first else { return Ok(None) };
    let wrong = || unsupported("COLUMNS of anything but *, a pattern or a list of names", None);
    let FunctionArguments::List(list) = &function.args else { return wrong() };
    let text = |expr: &ast::Expr| match expr {
        ast::Expr::Value(value) => value.value.clone().into_string(),
        _ => None,
    };
    let chosen = match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => Chosen::All,
        [FunctionArg::Unnamed(FunctionArgExpr::WildcardWithOptions(options))] => {
            let gone = match &options.opt_exclude {
                Some(ast::ExcludeSelectItem::Single(name)) => last_names(std::slice::from_ref(name)),
                Some(ast::ExcludeSelectItem::Multiple(names)) => last_names(names),
                None => Vec::new(),
            };
            let instead = options.opt_replace.iter().flat_map(|replace| &replace.items);
            let instead: Vec<_> = instead.map(|one| (one.column_name.clone(), one.expr.clone())).collect();
            if gone.is_empty() && instead.is_empty() {
                return wrong();
            }
            Chosen::Except(gone, instead)
        }
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(all))] if let Some(Starred::Name([name])) = starred(all) => {
            table = Some(name.clone());
            Chosen::All
        }
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Identifier(name)))] => Chosen::Named(vec![fold(name)]),
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Lambda(lambda)))] => Chosen::Where(lambda.clone()),
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(how)), FunctionArg::Unnamed(FunctionArgExpr::Expr(pattern))] => {
            match (pattern_of_names(how), text(pattern)) {
                (Some(how), Some(pattern)) => Chosen::Like(how.to_owned(), pattern),
                _ => return wrong(),
            }
        }
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Array(names)))] => {
            match names.elem.iter().map(text).collect::<Option<_>>() {
                Some(names) => Chosen::Named(names),
                None => return wrong(),
            }
        }
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(pattern))] => match text(pattern) {
            Some(pattern) => Chosen::Matching(pattern),
            None => return wrong(),
        },
        _ => return wrong(),
    };
    Ok(Some(Columns { chosen, ident, table }))
}
