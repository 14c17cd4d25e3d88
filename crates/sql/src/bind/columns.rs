//! `COLUMNS(*)`, `COLUMNS('pattern')` and `COLUMNS([names])` in a select list: the item is there once for each such column.

use std::ops::ControlFlow;

use base::{Error, Result, SqlState};
use sqlparser::ast::{
    self, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectNamePart, VisitMut, VisitorMut,
};
use types::ops::like::{Syntax, matches};

use super::{Binder, fold, unsupported};

/// Which columns are meant.
enum Chosen {
    All,
    Matching(String),
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
            let _ = expr.visit(&mut Replacer(&column));
            (name, expr)
        };
        Ok(Some(names.into_iter().map(made).collect()))
    }
}

/// Puts a column in the place of each COLUMNS.
struct Replacer<'a>(&'a ast::Expr);

impl VisitorMut for Replacer<'_> {
    type Break = ();
    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        if call(expr).is_some() {
            *expr = self.0.clone();
        }
        ControlFlow::Continue(())
    }
}

/// Finds the first COLUMNS.
#[derive(Default)]
struct Finder(Option<(ast::Function, Ident)>);

impl ast::Visitor for Finder {
    type Break = ();
    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        match call(expr) {
            Some((function, ident)) => {
                self.0 = Some((function.clone(), ident.clone()));
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
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

fn find(expr: &ast::Expr) -> Result<Option<(Chosen, Ident)>> {
    let mut finder = Finder::default();
    let _ = ast::Visit::visit(expr, &mut finder);
    let Some((function, ident)) = finder.0 else { return Ok(None) };
    let wrong = || unsupported("COLUMNS of anything but *, a pattern or a list of names", None);
    let FunctionArguments::List(list) = &function.args else { return wrong() };
    let text = |expr: &ast::Expr| match expr {
        ast::Expr::Value(value) => value.value.clone().into_string(),
        _ => None,
    };
    let chosen = match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => Chosen::All,
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
