//! Blocks: their variables and handlers.

use std::sync::Arc;

use base::{Error, Result};
use sql::procedure::{self as tree, Shape};
use types::SqlType;

use super::super::program::{BlockCode, Guard};
use super::super::scope::{Kind, Scope, kind_of};
use super::cursor::quoted_text;
use super::{Compiler, no_variable};
use crate::resolver::Resolver;

impl Compiler<'_> {
    pub(super) fn block(&mut self, block: &tree::Block) -> Result<BlockCode> {
        let (number, outside) = (self.number(), self.scope.clone());
        let mut scope = Scope { label: block.label.clone(), names: Vec::new(), around: Some(outside.clone()) };
        let mut begins = Vec::with_capacity(block.declarations.len());
        for declaration in &block.declarations {
            self.scope = Arc::new(Scope {
                label: scope.label.clone(),
                names: scope.names.clone(),
                around: scope.around.clone(),
            });
            let slot = match &declaration.shape {
                Shape::Alias(of) => {
                    let parts: Vec<String> = of.split('.').map(str::to_owned).collect();
                    match self.scope.resolve(&parts) {
                        Some((slot, None)) => slot,
                        _ => return Err(no_variable(of)),
                    }
                }
                Shape::Cursor(cursor) => {
                    let slot = self.variable(&declaration.name, Kind::Scalar(SqlType::Text));
                    self.bound_cursor(slot, cursor)?;
                    // Its name is the variable's, unless somebody gives it another one.
                    let name = self.sql(&format!("SELECT {}", quoted_text(&declaration.name)));
                    begins.push((slot, Some(name), declaration.line));
                    self.variables[slot].is_constant = declaration.is_constant;
                    slot
                }
                shape => {
                    let kind = self.kind(shape).map_err(|e| e.nowhere())?;
                    let slot = self.variable(&declaration.name, kind);
                    if let (Shape::Type(name), Kind::Scalar(_)) = (shape, &self.variables[slot].kind)
                        && sql::names_domain(name, &Resolver::new(self.environment))
                    {
                        self.is_of_domain(slot, name);
                    }
                    if let Shape::Type(name) = shape {
                        let domains = sql::domains_of_fields(name, &Resolver::new(self.environment));
                        self.has_fields_of_domains(slot, &domains);
                    }
                    let default = declaration.default.as_ref().map(|sql| self.expression(sql));
                    begins.push((slot, default, declaration.line));
                    let variable = &mut self.variables[slot];
                    (variable.is_constant, variable.not_null) = (declaration.is_constant, declaration.not_null);
                    slot
                }
            };
            scope.names.push((declaration.name.clone(), slot));
        }
        self.scope = Arc::new(scope);
        self.around.push((block.label.clone(), number, false));
        let body = self.steps(&block.body)?;
        let guard = if block.is_guarded { Some(self.guard(&block.handlers)?) } else { None };
        self.around.pop();
        self.scope = outside;
        Ok(BlockCode { number, begins, body, guard })
    }

    pub(super) fn guard(&mut self, handlers: &[tree::Handler]) -> Result<Guard> {
        let state = self.variable("sqlstate", Kind::Scalar(SqlType::Text));
        let message = self.variable("sqlerrm", Kind::Scalar(SqlType::Text));
        let outside = self.scope.clone();
        let names = vec![("sqlstate".to_owned(), state), ("sqlerrm".to_owned(), message)];
        self.scope = Arc::new(Scope { label: None, names, around: Some(outside.clone()) });
        let mut compiled = Vec::with_capacity(handlers.len());
        for handler in handlers {
            compiled.push((handler.conditions.clone(), self.steps(&handler.body)?));
        }
        self.scope = outside;
        Ok(Guard { state, message, handlers: compiled })
    }

    /// What a variable of that type holds.
    pub(super) fn kind(&self, shape: &Shape) -> Result<Kind> {
        let resolver = Resolver::new(self.environment);
        match shape {
            Shape::Type(name) => {
                if let Ok(sql_type) = sql::type_named(name, &resolver) {
                    return Ok(kind_of(sql_type));
                }
                // The name of a table is the type of its rows.
                let parts: Vec<String> = name.split('.').map(|part| part.trim().to_lowercase()).collect();
                match sql::row_type(&resolver, &parts) {
                    Ok(fields) => Ok(Kind::Row(fields.into())),
                    Err(_) => sql::type_named(name, &resolver).map(Kind::Scalar),
                }
            }
            Shape::Like(parts) => {
                if let Some((slot, None)) = self.scope.resolve(parts) {
                    return Ok(self.variables[slot].kind.clone());
                }
                sql::column_type(&resolver, parts).map(Kind::Scalar)
            }
            Shape::RowOf(parts) => sql::row_type(&resolver, parts).map(|fields| Kind::Row(fields.into())),
            Shape::Record => Ok(Kind::Record),
            Shape::Alias(_) | Shape::Cursor(_) => Err(Error::internal("what is declared otherwise is no type")),
        }
    }
}
