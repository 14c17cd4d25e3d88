//! Cursors: their queries, and what they are given.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use sql::procedure::{self as tree, Shape};
use types::SqlType;

use super::super::embedded::Embedded;
use super::super::program::{BoundCursor, Motion, Opening, Place};
use super::super::scope::{Kind, Scope};
use super::Compiler;

impl Compiler<'_> {
    /// The variable in a slot is a cursor with this query.
    pub(super) fn bound_cursor(&mut self, slot: usize, cursor: &tree::BoundCursor) -> Result<()> {
        let (mut names, mut parameters) = (Vec::new(), Vec::new());
        for (name, sql_type) in &cursor.parameters {
            let kind = self.kind(&Shape::Type(sql_type.clone())).map_err(|e| e.nowhere())?;
            let parameter = self.variable(name, kind);
            names.push((name.clone(), parameter));
            parameters.push(parameter);
        }
        let label = Some(self.variables[slot].name.clone());
        let scope = Arc::new(Scope { label, names, around: Some(self.scope.clone()) });
        let query = Embedded::new(cursor.query.text.clone(), scope);
        self.cursors.insert(slot, BoundCursor { scrolls: cursor.scrolls, parameters, query });
        Ok(())
    }

    /// The variable that holds a cursor.
    pub(super) fn cursor(&self, target: &tree::Target) -> Result<Place> {
        let place = self.place(target)?;
        match (&self.variables[place.slot].kind, &place.field, &place.subscript) {
            (Kind::Scalar(SqlType::Text), None, None) => Ok(place),
            _ => {
                let message = format!("variable \"{}\" must be of type cursor or refcursor", place.shown);
                Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
            }
        }
    }

    /// The cursor that a query is the name of, and what that is given.
    pub(super) fn cursor_named(&self, query: &tree::Sql) -> Option<(Place, Vec<tree::Argument>)> {
        let (name, arguments) = tree::cursor_call(&query.text)?;
        let (slot, _) = self.scope.resolve(std::slice::from_ref(&name))?;
        let place = Place { slot, field: None, subscript: None, shown: name };
        self.cursors.contains_key(&slot).then_some((place, arguments))
    }

    pub(super) fn opening(&self, place: &Place, opening: &tree::Opening) -> Result<Opening> {
        let shown = &place.shown;
        let wrong = |message: String| Error::new(SqlState::SYNTAX_ERROR, message);
        match (opening, self.cursors.get(&place.slot)) {
            (tree::Opening::Query(scrolls, query), None) => Ok(Opening::Query(*scrolls, self.query(query))),
            (tree::Opening::Query(..), Some(_)) => {
                Err(wrong(format!("cursor variable \"{shown}\" has a query already: OPEN names none")))
            }
            (tree::Opening::Bound(_), None) => {
                Err(wrong(format!("cursor variable \"{shown}\" has no query: OPEN ... FOR names one")))
            }
            (tree::Opening::Bound(arguments), Some(cursor)) => {
                let (given, wanted) = (arguments.len(), cursor.parameters.len());
                if given != wanted {
                    return Err(wrong(match (given, wanted) {
                        (_, 0) => format!("cursor \"{shown}\" has no arguments"),
                        (0, _) => format!("cursor \"{shown}\" has arguments"),
                        (more, most) if more > most => format!("too many arguments for cursor \"{shown}\""),
                        _ => format!("not enough arguments for cursor \"{shown}\""),
                    }));
                }
                let mut bound = Vec::with_capacity(given);
                for (at, argument) in arguments.iter().enumerate() {
                    let slot = match &argument.name {
                        None => cursor.parameters[at],
                        Some(name) => {
                            let is_it = |slot: &&usize| self.variables[**slot].name == *name;
                            let found = cursor.parameters.iter().find(is_it);
                            *found
                                .ok_or_else(|| wrong(format!("cursor \"{shown}\" has no argument named \"{name}\"")))?
                        }
                    };
                    if bound.iter().any(|(other, _)| *other == slot) {
                        let name = &self.variables[slot].name;
                        return Err(wrong(format!(
                            "value for parameter \"{name}\" of cursor \"{shown}\" specified more than once"
                        )));
                    }
                    bound.push((slot, self.expression(&argument.value)));
                }
                Ok(Opening::Bound(bound))
            }
        }
    }

    pub(super) fn motion(&self, motion: &tree::Motion) -> Motion {
        match motion {
            tree::Motion::Forward(count) => Motion::Forward(self.expression(count)),
            tree::Motion::Backward(count) => Motion::Backward(self.expression(count)),
            tree::Motion::All { backward } => Motion::All { backward: *backward },
            tree::Motion::Absolute(number) => Motion::Absolute(self.expression(number)),
            tree::Motion::Relative(by) => Motion::Relative(self.expression(by)),
        }
    }
}

/// A text as SQL has it.
pub(super) fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
