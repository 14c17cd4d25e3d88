//! CASE, loops, and what leaves them.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use sql::procedure as tree;
use types::SqlType;

use super::super::embedded::Embedded;
use super::super::program::{Action, Code, Place, Range};
use super::super::scope::{Kind, Scope};
use super::Compiler;

impl Compiler<'_> {
    /// The operand's value is a variable of its own, with which each value is compared.
    pub(super) fn case(
        &mut self,
        operand: Option<&tree::Sql>,
        branches: &[(Vec<tree::Sql>, Vec<tree::Step>)],
        otherwise: Option<&[tree::Step]>,
    ) -> Result<Action> {
        let slot = self.variables.len();
        let outside = self.scope.clone();
        let operand = operand.map(|sql| (slot, self.expression(sql)));
        let name = format!("__case__{slot}");
        if operand.is_some() {
            // Its type is that of the operand, when that is known.
            self.variable(&name, Kind::Record);
            let names = vec![(name.clone(), slot)];
            self.scope = Arc::new(Scope { label: None, names, around: Some(outside.clone()) });
        }
        let mut compiled = Vec::with_capacity(branches.len());
        for (values, steps) in branches {
            let condition = |sql: &tree::Sql| match &operand {
                Some(_) => self.sql(&format!("SELECT \"{name}\".value = ({})", sql.text)),
                None => self.expression(sql),
            };
            let conditions: Vec<Embedded> = values.iter().map(condition).collect();
            compiled.push((conditions, self.steps(steps)?));
        }
        let otherwise = otherwise.map(|steps| self.steps(steps)).transpose()?;
        self.scope = outside;
        Ok(Action::Case(operand, compiled, otherwise))
    }

    pub(super) fn loop_body(&mut self, label: Option<&String>, steps: &[tree::Step]) -> Result<(usize, Code)> {
        let number = self.number();
        self.around.push((label.cloned(), number, true));
        let code = self.steps(steps)?;
        self.around.pop();
        Ok((number, code))
    }

    pub(super) fn for_loop(
        &mut self,
        label: Option<&String>,
        targets: &[tree::Target],
        range: &tree::Range,
        steps: &[tree::Step],
    ) -> Result<Action> {
        let outside = self.scope.clone();
        let (range, places) = match range {
            tree::Range::Integers { reverse, from, to, step } => {
                let [tree::Target { name, subscript: None }] = targets else {
                    return Err(Error::new(
                        SqlState::SYNTAX_ERROR,
                        "integer FOR loop must have only one target variable",
                    ));
                };
                let (from, to) = (self.expression(from), self.expression(to));
                let step = step.as_ref().map(|sql| self.expression(sql));
                // The variable is the loop's own.
                let shown = name.join(".");
                let slot = self.variable(&shown, Kind::Scalar(SqlType::Integer));
                let names = vec![(shown.clone(), slot)];
                self.scope = Arc::new(Scope { label: label.cloned(), names, around: Some(outside.clone()) });
                let places = vec![Place { slot, field: None, subscript: None, shown }];
                (Range::Integers { reverse: *reverse, from, to, step }, places)
            }
            tree::Range::Rows(tree::Query::Written(sql)) if let Some((cursor, arguments)) = self.cursor_named(sql) => {
                let [tree::Target { name, subscript: None }] = targets else {
                    let message = "cursor FOR loop must have only one target variable";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                };
                let opening = self.opening(&cursor, &tree::Opening::Bound(arguments))?;
                let shown = name.join(".");
                let slot = self.variable(&shown, Kind::Record);
                let names = vec![(shown.clone(), slot)];
                self.scope = Arc::new(Scope { label: label.cloned(), names, around: Some(outside.clone()) });
                (Range::Cursor(cursor, opening), vec![Place { slot, field: None, subscript: None, shown }])
            }
            tree::Range::Rows(query) => (Range::Rows(self.query(query)), self.places(targets)?),
            tree::Range::Elements(array, slice) => {
                (Range::Elements(self.expression(array), *slice), self.places(targets)?)
            }
        };
        let (number, code) = self.loop_body(label, steps)?;
        self.scope = outside;
        Ok(Action::For(number, places, range, code))
    }

    /// What EXIT or CONTINUE leaves.
    pub(super) fn left(&self, goes_on: bool, label: Option<&str>) -> Result<usize> {
        let word = if goes_on { "CONTINUE" } else { "EXIT" };
        let Some(label) = label else {
            let innermost = self.around.iter().rev().find(|(_, _, is_loop)| *is_loop);
            let outside = || {
                let message = format!("{word} cannot be used outside a loop, unless it has a label");
                Error::new(SqlState::SYNTAX_ERROR, message)
            };
            return innermost.map(|(_, number, _)| *number).ok_or_else(outside);
        };
        match self.around.iter().rev().find(|(known, ..)| known.as_deref() == Some(label)) {
            Some((_, _, false)) if goes_on => {
                let message = format!("block label \"{label}\" cannot be used in CONTINUE");
                Err(Error::new(SqlState::SYNTAX_ERROR, message))
            }
            Some((_, number, _)) => Ok(*number),
            None => {
                let message =
                    format!("there is no label \"{label}\" attached to any block or loop enclosing this statement");
                Err(Error::new(SqlState::SYNTAX_ERROR, message))
            }
        }
    }
}
