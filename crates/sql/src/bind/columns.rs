//! `COLUMNS(*)`, `COLUMNS(* EXCLUDE a)`, `COLUMNS('pattern')`, `COLUMNS([names])`, `COLUMNS(lambda c: ...)` and `* LIKE 'pattern'` in a
//! select list: the item is there once for each such column.

use base::{Error, Result, SqlState};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectNamePart};
use types::Value;
use types::ops::like::{DEFAULT_ESCAPE, Syntax, matches, similar};

use super::scope::{Clause, Level};
use super::{Binder, fold, unsupported};
use crate::parse::glob;
use crate::parse::shorthand::pattern_of_names;
use crate::walk;

/// Which columns are meant.
enum Chosen {
    All,
    Matching(String),
    /// As a pattern behind `*` says: how it is written, and itself.
    Like(String, String),
    /// All but these.
    Except(Vec<Ident>),
    /// Those for whose names the lambda is true.
    Where(ast::LambdaFunction),
    Named(Vec<String>),
}

impl Binder<'_> {
    /// The expressions that an item of the select list with COLUMNS stands for, and the names of the columns that they are made
    /// for; none if it has no COLUMNS.
    pub(super) fn each_column(&mut self, expr: &ast::Expr) -> Result<Option<Vec<(String, ast::Expr)>>> {
        let Some((chosen, ident)) = find(expr)? else { return Ok(None) };
        let position = self.text.at(&ident);
        let visible = self.names.level().scope.visible.iter().map(|c| c.name.clone());
        let mut names: Vec<String> = visible.collect();
        match &chosen {
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
            Chosen::Except(gone) => {
                if let Some(missing) = gone.iter().find(|ident| !names.contains(&fold(ident))) {
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
        if names.is_empty() {
            let message = "COLUMNS stands for no column";
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message)
                .hint("no name matches the pattern")
                .at(position));
        }
        let made = |name: String| {
            let mut expr = expr.clone();
            let column = ast::Expr::Identifier(Ident { value: name.clone(), quote_style: Some('"'), span: ident.span });
            walk::change_each_expr(&mut expr, |expr| {
                if call(expr).is_some() {
                    *expr = column.clone();
                }
            });
            (name, expr)
        };
        Ok(Some(names.into_iter().map(made).collect()))
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

fn call(expr: &ast::Expr) -> Option<(&ast::Function, &Ident)> {
    let ast::Expr::Function(function) = expr else { return None };
    match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] if ident.quote_style.is_none() && fold(ident) == "columns" => {
            Some((function, ident))
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

fn find(expr: &ast::Expr) -> Result<Option<(Chosen, Ident)>> {
    let mut first = None;
    walk::has_expr(expr, |expr| {
        first = call(expr).map(|(function, ident)| (function.clone(), ident.clone()));
        first.is_some()
    });
    let Some((function, ident)) = first else { return Ok(None) };
    let wrong = || unsupported("COLUMNS of anything but *, a pattern or a list of names", None);
    let FunctionArguments::List(list) = &function.args else { return wrong() };
    let text = |expr: &ast::Expr| match expr {
        ast::Expr::Value(value) => value.value.clone().into_string(),
        _ => None,
    };
    let chosen = match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => Chosen::All,
        [FunctionArg::Unnamed(FunctionArgExpr::WildcardWithOptions(options))] => match &options.opt_exclude {
            Some(ast::ExcludeSelectItem::Single(name)) => Chosen::Except(last_names(std::slice::from_ref(name))),
            Some(ast::ExcludeSelectItem::Multiple(names)) => Chosen::Except(last_names(names)),
            None => return wrong(),
        },
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
    Ok(Some((chosen, ident)))
}
