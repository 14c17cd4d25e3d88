//! Calls of functions that are SQL of other functions: the arguments are put in the places of the parameters, and what
//! comes out is bound instead of the call.

use base::{Error, Result};
use functions::{AggregateFunction, Composed, WindowFunction};
use sqlparser::ast::{self, DuplicateTreatment, FunctionArgumentClause, FunctionArguments};
use sqlparser::ast::{ObjectNamePart, WindowType};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Tokenizer;

use super::call::CallParts;
use super::ordered_set::is_ordered_set;
use crate::bind::conjunction::all_of;
use crate::bind::{Binder, fold};
use crate::dialect::MorselDialect;
use crate::walk;
use plan::Expr;

impl Binder<'_> {
    /// What a call of a composed function stands for, bound.
    pub(super) fn composed_call(
        &mut self,
        composed: &Composed,
        call: &CallParts<'_>,
        over: Option<&WindowType>,
    ) -> Result<Expr> {
        let is_written = [
            (!composed.is_aggregate && call.distinct, "DISTINCT"),
            (!composed.is_aggregate && !call.order.is_empty(), "ORDER BY"),
            (!call.within_group.is_empty(), "WITHIN GROUP"),
            (call.null_treatment.is_some(), "RESPECT/IGNORE NULLS"),
            (!composed.is_aggregate && call.filter.is_some(), "FILTER"),
            (!composed.is_aggregate && over.is_some(), "OVER"),
        ];
        if let Some((_, clause)) = is_written.iter().find(|(is_written, _)| *is_written) {
            return Err(call.wrong(format!("{clause} specified, but {} does not take it", call.name)));
        }
        let mut expr = parsed(composed)?;
        let filling = Filling { composed, call, over };
        walk::change_each_expr(&mut expr, |expr| filling.fill(expr));
        // What stands for the call is of no position; what is wrong with it is wrong with the call.
        self.expr(&expr).map(|bound| bound.at(call.position)).map_err(|error| match error.position() {
            None => error.at(call.position),
            Some(_) => error,
        })
    }
}

/// The text of a composed function. Nothing of it has a place in the statement.
fn parsed(composed: &Composed) -> Result<ast::Expr> {
    let wrong = |error: &dyn std::fmt::Display| Error::internal(format!("{}: {error}", composed.text));
    let tokens = Tokenizer::new(&MorselDialect, composed.text).tokenize().map_err(|e| wrong(&e))?;
    let mut parser = Parser::new(&MorselDialect).with_tokens(tokens);
    parser.parse_expr().map_err(|e| wrong(&e))
}

impl CallParts<'_> {
    /// The composed function that it is of, if it is one. Those over frames collect all values, in no order.
    pub(super) fn composed(&self, over_frames: bool) -> Option<&'static Composed> {
        let find = |name: &str| Composed::find(name, self.arguments.len());
        let of_frames = || find(&format!("{}_of_frames", self.name)).filter(|_| over_frames);
        of_frames().or_else(|| find(&self.name)).filter(|_| !self.star)
    }
}

/// Puts arguments in the places of parameters; DISTINCT, ORDER BY, FILTER and OVER go to the aggregates.
struct Filling<'a> {
    composed: &'a Composed,
    call: &'a CallParts<'a>,
    over: Option<&'a WindowType>,
}

impl Filling<'_> {
    /// After what is below: arguments may have columns with the names of parameters.
    fn fill(&self, expr: &mut ast::Expr) {
        match expr {
            ast::Expr::Identifier(ident) => {
                if let Some(at) = self.composed.parameters.iter().position(|p| *p == ident.value) {
                    *expr = ast::Expr::Nested(Box::new(self.call.arguments[at].clone()));
                }
            }
            ast::Expr::Function(function) if self.composed.is_aggregate && is_aggregate(function) => {
                let own = function.filter.take().map(|filter| *filter);
                function.filter = all_of(own.into_iter().chain(self.call.filter.cloned())).map(Box::new);
                function.over = self.over.cloned();
                if let FunctionArguments::List(list) = &mut function.args {
                    list.duplicate_treatment = self.call.distinct.then_some(DuplicateTreatment::Distinct);
                    let order = Some(self.call.order.to_vec()).filter(|order| !order.is_empty());
                    list.clauses.extend(order.map(FunctionArgumentClause::OrderBy));
                }
            }
            _ => {}
        }
    }
}

pub(in crate::bind) fn is_aggregate(function: &ast::Function) -> bool {
    let Some(ObjectNamePart::Identifier(name)) = function.name.0.last() else { return false };
    let name = fold(name);
    let composed = functions::composed::all().any(|c| c.is_aggregate && c.names.contains(&name.as_str()));
    let is_list = matches!(WindowFunction::find(&name), Some(WindowFunction::StringAgg | WindowFunction::ArrayAgg));
    composed || is_list || AggregateFunction::find(&name).is_some() || is_ordered_set(&name)
}
