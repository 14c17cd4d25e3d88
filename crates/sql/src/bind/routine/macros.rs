//! Macros (decision 57): texts in which names stand for what a call is given. A call is bound as what its text says with the
//! arguments in the places of the names, so that these may be anything, aggregates and tables' columns too.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{Language, Mode, Returns, Routine, RoutineKind, RoutineParameter, Volatility, schema_of_routine};
use plan::Expr;
use sqlparser::ast::{self, AccessExpr, FunctionArg, FunctionArgExpr, TableAlias, VisitMut};
use types::SqlType;

use crate::bind::from::FromItem;
use crate::bind::scope::Scope;
use crate::bind::{Binder, fold, unsupported};
use crate::parse::bare_expression;
use crate::parse::{Ast, CreateMacroAst, MacroAst, kept_expression, parse_placeless};
use crate::statement::RoutineChange;
use crate::walk::{self, NodeMut};
use crate::{ObjectName, Statement};

/// What a call puts in the place of each parameter.
type Filled = Vec<(String, ast::Expr)>;

/// What stands for calls: an expression, or a query if these are tables.
pub(super) fn text_of_call(
    name: &ObjectName,
    parameters: Vec<RoutineParameter>,
    is_table: bool,
    body: String,
) -> Routine {
    Routine {
        number: Routine::new_number(),
        schema: schema_of_routine(name.schema.as_deref()),
        name: name.name.clone(),
        kind: RoutineKind::Function,
        parameters,
        returns: if is_table { Returns::Record } else { Returns::Value(SqlType::Null) },
        domain: None,
        is_set: is_table,
        language: Language::Macro,
        volatility: Volatility::Volatile,
        is_strict: false,
        settings: Vec::new(),
        body,
    }
}

impl Binder<'_> {
    pub(super) fn create_macro(&mut self, create: &CreateMacroAst, text: &str) -> Result<Statement> {
        let mut name = self.text.object_name(&create.name)?;
        if create.temporary {
            name.make_temporary()?;
        } else {
            name = self.resolver.new_name(name)?;
        }
        let mut routines: Vec<Routine> = Vec::with_capacity(create.overloads.len());
        for overload in &create.overloads {
            let made = self.macro_of(&name, overload, text)?;
            if routines.iter().any(|other| other.parameters.len() == made.parameters.len()) {
                let message =
                    format!("macro \"{}\" is defined twice for {} arguments", name.name, made.parameters.len());
                return Err(Error::new(SqlState("42723"), message).at(name.position));
            }
            routines.push(made);
        }
        let (or_replace, if_not_exists) = (create.or_replace, create.if_not_exists);
        Ok(Statement::Routine(RoutineChange::CreateMacro {
            name,
            routines,
            or_replace,
            if_not_exists,
            tag: "CREATE MACRO",
        }))
    }

    fn macro_of(&mut self, name: &ObjectName, overload: &MacroAst, text: &str) -> Result<Routine> {
        let mut parameters: Vec<RoutineParameter> = Vec::with_capacity(overload.parameters.len());
        for (ident, default) in &overload.parameters {
            let named = Some(fold(ident));
            if parameters.iter().any(|p| p.name == named) {
                let message = format!("parameter name \"{}\" used more than once", fold(ident));
                return Err(Error::new(super::INVALID_DEFINITION, message).at(self.text.at(ident)));
            }
            if default.is_none() && parameters.iter().any(|p| p.default.is_some()) {
                let message = "parameters after one with a default value must also have defaults";
                return Err(Error::new(super::INVALID_DEFINITION, message).at(self.text.at(ident)));
            }
            let default = default.as_ref().map(ToString::to_string);
            let sql_type = SqlType::Null;
            parameters.push(RoutineParameter {
                name: named,
                mode: Mode::In,
                sql_type,
                domain: None,
                default,
                is_variadic: false,
            });
        }
        let begin = self.text.positions.map_or(0, |p| p.begin());
        let offset = |location| Some((self.text.positions?.offset(location)? - begin) as usize);
        let body = offset(overload.begin).zip(offset(overload.end)).and_then(|(from, to)| text.get(from..to));
        let Some(body) = body else { return unsupported("a macro in this place", name.position) };
        Ok(text_of_call(name, parameters, overload.is_table, body.trim_end().to_owned()))
    }

    /// A call of a macro in an expression.
    pub(super) fn macro_value(
        &mut self,
        found: &[Arc<Routine>],
        call: &ast::Function,
        name: &ObjectName,
    ) -> Result<Expr> {
        let ast::FunctionArguments::List(list) = &call.args else { return Err(Error::internal("a call without ()")) };
        let (routine, filled) = choose(found, &list.args, false, name)?;
        let expr = self.filled_text(&routine.body, &filled)?;
        self.written_out(&expr, "macro", name)
    }

    /// The value of an expression's text, with these in the places of names: the binder's own macros.
    pub(in crate::bind) fn value_of_text(&mut self, text: &str, filled: Vec<(String, ast::Expr)>) -> Result<Expr> {
        let expr = self.filled_text(text, &filled)?;
        self.deeper(|b| b.expr(&expr))
    }

    /// The expression that a text is, with these in the places of names.
    fn filled_text(&self, text: &str, filled: &Filled) -> Result<ast::Expr> {
        let query = parsed(&format!("SELECT {text}"))?;
        let Some(mut expr) = bare_expression(&query).cloned() else {
            return Err(Error::internal("the text of a macro is no expression"));
        };
        Filling::new(filled, self).fill(&mut expr);
        Ok(expr)
    }

    /// The value that stands for a call of a macro or aggregate (`what`).
    pub(super) fn written_out(&mut self, expr: &ast::Expr, what: &str, name: &ObjectName) -> Result<Expr> {
        self.limits.enter_view(name).map_err(|e| e.at(name.position))?;
        let bound = self.deeper(|b| b.expr(expr));
        self.limits.leave_view();
        bound.map(|bound| bound.at(name.position)).map_err(|error| within(error, what, name))
    }

    /// A call of a macro in FROM.
    pub(super) fn macro_rows(
        &mut self,
        found: &[Arc<Routine>],
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        name: &ObjectName,
        seen: &Scope,
    ) -> Result<FromItem> {
        let (routine, filled) = choose(found, arguments, true, name)?;
        let mut query = parsed(&routine.body)?;
        self.limits.enter_view(name).map_err(|e| e.at(name.position))?;
        let bound = self.seeing(seen, |b| {
            Filling::new(&filled, b).fill(&mut query);
            b.deeper(|b| b.query(&query))
        });
        self.limits.leave_view();
        let bound = bound.map_err(|error| within(error, "macro", name))?;
        self.derived(bound, alias, Some(&name.name))
    }

    /// An argument within a query or a lambda of a macro: its names mean what they mean where the call stands. `around` is
    /// what [`Around`] has written of that place.
    pub(in crate::bind) fn argument_of_macro(&mut self, around: &ast::Ident, argument: &ast::Expr) -> Result<Expr> {
        let Some(Around { levels, ctes, lambdas }) = Around::of_mark(around) else {
            return unsupported(format!("the expression {around} {argument}"), self.text.start(argument));
        };
        let inner_levels = self.names.levels.split_off(levels.min(self.names.levels.len()));
        let inner_ctes = self.names.environment.split_off(ctes.min(self.names.environment.len()));
        let inner_lambdas = self.names.lambdas.split_off(lambdas.min(self.names.lambdas.len()));
        let bound = self.expr(argument);
        self.names.levels.extend(inner_levels);
        self.names.environment.extend(inner_ctes);
        self.names.lambdas.extend(inner_lambdas);
        bound
    }
}

/// How many names there are where a macro is called: those that come on top are the macro's own.
#[derive(Clone, Copy)]
struct Around {
    levels: usize,
    ctes: usize,
    lambdas: usize,
}

impl Around {
    fn of(binder: &Binder<'_>) -> Self {
        let names = &binder.names;
        Self { levels: names.levels.len(), ctes: names.environment.len(), lambdas: names.lambdas.len() }
    }

    /// As the syntax tree carries it: a prefix that no text has.
    fn mark(self) -> ast::Ident {
        ast::Ident::new(format!("{} {} {}", self.levels, self.ctes, self.lambdas))
    }

    fn of_mark(mark: &ast::Ident) -> Option<Self> {
        let mut numbers = mark.value.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self { levels: next()?, ctes: next()?, lambdas: next()? })
    }
}

/// The macros among routines.
pub(super) fn macros(candidates: &[Arc<Routine>]) -> Vec<Arc<Routine>> {
    candidates.iter().filter(|routine| routine.language == Language::Macro).cloned().collect()
}

fn within(error: Error, what: &str, name: &ObjectName) -> Error {
    let error = if error.position().is_some() { error } else { error.at(name.position) };
    error.context(format!("{what} \"{}\"", name.name))
}

/// The macro that takes so many arguments, and what it is given.
fn choose(
    found: &[Arc<Routine>],
    arguments: &[FunctionArg],
    is_table: bool,
    name: &ObjectName,
) -> Result<(Arc<Routine>, Filled)> {
    let wrong = |state: SqlState, message: String| Error::new(state, message).at(name.position);
    let mut given: Vec<(Option<String>, &ast::Expr)> = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
                if given.last().is_none_or(|(name, _)| name.is_none()) =>
            {
                given.push((None, expr));
            }
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(expr), .. } => given.push((Some(fold(name)), expr)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(_)) => {
                let message = "positional argument cannot follow named argument";
                return Err(wrong(SqlState::SYNTAX_ERROR, message.to_owned()));
            }
            other => return unsupported(format!("the argument {other} of a macro"), name.position),
        }
    }
    let mut fitting = found.iter().filter(|routine| routine.is_set == is_table);
    if let Some((routine, filled)) = fitting.find_map(|routine| Some((routine, filled(routine, &given)?))) {
        let whole = filled.into_iter().map(|(name, expr)| Ok((name, expr?))).collect::<Result<_>>()?;
        return Ok((routine.clone(), whole));
    }
    if found.iter().all(|routine| routine.is_set != is_table) {
        let message = match is_table {
            true => format!("macro \"{}\" is no table", name.name),
            false => format!("macro \"{}\" is a table", name.name),
        };
        let hint = if is_table { "call it where a value stands" } else { "call it in FROM" };
        return Err(wrong(SqlState::WRONG_OBJECT_TYPE, message).hint(hint));
    }
    let forms: Vec<String> = found.iter().map(|routine| form(routine)).collect();
    let message = format!("macro \"{}\" does not take these {} arguments", name.name, given.len());
    Err(wrong(SqlState::UNDEFINED_FUNCTION, message).hint(format!("it is {}", forms.join(", or "))))
}

fn form(routine: &Routine) -> String {
    let parameter = |p: &RoutineParameter| {
        let name = p.name.clone().unwrap_or_default();
        p.default.as_ref().map_or_else(|| name.clone(), |default| format!("{name} := {default}"))
    };
    let parameters: Vec<String> = routine.parameters.iter().map(parameter).collect();
    format!("{}({})", routine.name, parameters.join(", "))
}

/// What stands for each parameter, if these arguments fit.
fn filled(routine: &Routine, given: &[(Option<String>, &ast::Expr)]) -> Option<Vec<(String, Result<ast::Expr>)>> {
    let positional = given.iter().take_while(|(name, _)| name.is_none()).count();
    let is_known = |name: &String| routine.parameters.iter().skip(positional).any(|p| p.name.as_ref() == Some(name));
    if positional > routine.parameters.len() || !given.iter().filter_map(|(name, _)| name.as_ref()).all(is_known) {
        return None;
    }
    let of = |(at, parameter): (usize, &RoutineParameter)| {
        let name = parameter.name.clone()?;
        let named = given.iter().find(|(given, _)| given.as_ref() == Some(&name));
        let expr = match (given[..positional].get(at).or(named), &parameter.default) {
            (Some((_, expr)), _) => Ok((*expr).clone()),
            (None, Some(default)) => kept_expression(default),
            (None, None) => return None,
        };
        Some((name, expr))
    };
    routine.parameters.iter().enumerate().map(of).collect()
}

/// The query of a text, of which nothing has a place in the statement.
fn parsed(text: &str) -> Result<ast::Query> {
    match parse_placeless(text)?.ast {
        Ast::Library(statement) => match *statement {
            ast::Statement::Query(query) => Ok(*query),
            _ => Err(Error::internal("the text of a macro is no query")),
        },
        _ => Err(Error::internal("the text of a macro is no query")),
    }
}

/// Puts arguments in the places of parameters.
struct Filling<'a> {
    filled: &'a Filled,
    around: Around,
    /// How many queries and lambdas of the macro are around the current place.
    inside: usize,
}

impl<'a> Filling<'a> {
    fn new(filled: &'a Filled, binder: &Binder<'_>) -> Self {
        Self { filled, around: Around::of(binder), inside: 0 }
    }

    fn argument(&self, ident: &ast::Ident) -> Option<ast::Expr> {
        let wanted = fold(ident);
        let found = self.filled.iter().find(|(name, _)| *name == wanted)?;
        let value = Box::new(found.1.clone());
        Some(match self.inside > 0 && has_names(&found.1) {
            true => ast::Expr::Prefixed { prefix: self.around.mark(), value },
            false => ast::Expr::Nested(value),
        })
    }
}

/// Whether an expression has names, of columns or of what its subqueries read.
fn has_names(expr: &ast::Expr) -> bool {
    walk::has_expr(expr, |expr| {
        matches!(
            expr,
            ast::Expr::Identifier(_)
                | ast::Expr::CompoundIdentifier(_)
                | ast::Expr::Subquery(_)
                | ast::Expr::Exists { .. }
                | ast::Expr::InSubquery { .. }
        )
    })
}

impl Filling<'_> {
    fn fill(&mut self, tree: &mut impl VisitMut) {
        walk::change_each_node(tree, |node| match node {
            NodeMut::Query(_) => self.inside += 1,
            NodeMut::QueryEnd => self.inside -= 1,
            NodeMut::Expr(expr) => self.inside += usize::from(matches!(expr, ast::Expr::Lambda(_))),
            NodeMut::ExprEnd(expr) => {
                self.inside -= usize::from(matches!(expr, ast::Expr::Lambda(_)));
                self.put(expr);
            }
        });
    }

    /// After what is below: arguments may have columns with the names of parameters.
    fn put(&self, expr: &mut ast::Expr) {
        let filled = match expr {
            ast::Expr::Identifier(ident) => self.argument(ident),
            ast::Expr::CompoundIdentifier(parts) => self.argument(&parts[0]).map(|root| {
                let field = |part: &ast::Ident| AccessExpr::Dot(ast::Expr::Identifier(part.clone()));
                let access_chain = parts[1..].iter().map(field).collect();
                ast::Expr::CompoundFieldAccess { root: Box::new(root), access_chain }
            }),
            _ => None,
        };
        if let Some(filled) = filled {
            *expr = filled;
        }
    }
}
