//! Functions in SQL with parameters of any type (`anyelement`, `anyarray` and their like): macros by another name. What a call gives
//! decides the types; it stands wherever the body reads it.

use base::{Error, Result, SqlState};
use catalog::{Language, Mode, Routine, RoutineKind, RoutineParameter};
use sqlparser::ast::{self, DataType};
use sqlparser::tokenizer::{Token, Tokenizer};
use types::SqlType;

use super::INVALID_DEFINITION;
use super::macros::text_of_call;
use crate::bind::{Binder, fold, unsupported};
use crate::dialect::MorselDialect;
use crate::parse::{Ast, CreateRoutineAst, ReturnsAst, RoutineTypeAst, bare_expression};
use crate::statement::RoutineChange;
use crate::{ObjectName, Statement};

/// What PostgreSQL calls types that calls decide.
const ANY: [&str; 8] = [
    "anyelement",
    "anyarray",
    "anynonarray",
    "anyenum",
    "anyrange",
    "anycompatible",
    "anycompatiblearray",
    "anycompatiblenonarray",
];

/// Whether a type is one that calls decide.
pub(super) fn is_any(data_type: &DataType) -> bool {
    let DataType::Custom(name, arguments) = data_type else { return false };
    let ident = name.0.last().and_then(|part| part.as_ident());
    arguments.is_empty() && ident.is_some_and(|ident| ANY.contains(&fold(ident).as_str()))
}

impl Binder<'_> {
    /// CREATE FUNCTION, if a parameter is of any type.
    pub(super) fn polymorphic(&mut self, create: &CreateRoutineAst) -> Result<Option<Statement>> {
        let is_polymorphic = |of: &RoutineTypeAst| matches!(of, RoutineTypeAst::Named(of) if is_any(of));
        if !create.parameters.iter().any(|parameter| is_polymorphic(&parameter.data_type)) {
            return Ok(None);
        }
        let name = self.resolver.new_name(self.text.object_name(&create.name)?)?;
        let position = name.position;
        if self.check_language(create.language.as_ref(), &[Language::Sql, Language::Procedural])? != Language::Sql {
            let error = Error::unsupported("anyelement or its like in PL/pgSQL").at(position);
            return Err(error.hint("functions in SQL, and macros, take arguments of any type"));
        }
        let is_given = create.parameters.iter().all(|parameter| parameter.mode == Mode::In);
        if create.kind != RoutineKind::Function || !is_given {
            return unsupported("anyelement or its like in anything but parameters of a function", position);
        }
        let mut parameters: Vec<RoutineParameter> = Vec::with_capacity(create.parameters.len());
        for (at, written) in create.parameters.iter().enumerate() {
            let named = written.name.as_ref().map_or_else(|| format!("#{}", at + 1), fold);
            if parameters.iter().any(|p| p.name.as_ref() == Some(&named)) {
                let message = format!("parameter name \"{named}\" used more than once");
                return Err(Error::new(INVALID_DEFINITION, message).at(self.text.span(written.span)));
            }
            let default = written.default.as_ref().map(ToString::to_string);
            let (name, sql_type) = (Some(named), SqlType::Null);
            parameters.push(RoutineParameter {
                name,
                mode: Mode::In,
                sql_type,
                domain: None,
                default,
                is_variadic: false,
            });
        }
        let is_table = match &create.returns {
            Some(ReturnsAst::Type { is_set, .. } | ReturnsAst::Record { is_set }) => *is_set,
            Some(ReturnsAst::Table) => true,
            _ => false,
        };
        let body = self.body_of_any(create, &parameters, is_table, &name)?;
        let routine = text_of_call(&name, parameters, is_table, body);
        // Those of other numbers of arguments stay.
        let mut known = self.resolver.routines(name.schema.as_deref(), &name.name);
        known.retain(|other| other.language == Language::Macro);
        let is_taken = known.iter().any(|other| other.parameters.len() == routine.parameters.len());
        known.retain(|other| other.parameters.len() != routine.parameters.len());
        let or_replace = create.or_replace || !is_taken && !known.is_empty();
        let routines = known.iter().map(|other| Routine::clone(other)).chain([routine]).collect();
        Ok(Some(Statement::Routine(RoutineChange::CreateMacro {
            name,
            routines,
            or_replace,
            if_not_exists: false,
            tag: "CREATE FUNCTION",
        })))
    }

    /// DROP FUNCTION with parameters of any type: those of other numbers of arguments stay.
    pub(super) fn drop_polymorphic(&mut self, name: ObjectName, arguments: usize, if_exists: bool) -> RoutineChange {
        let tag = "DROP FUNCTION";
        let known = self.resolver.routines(name.schema.as_deref(), &name.name);
        let (gone, stay): (Vec<_>, Vec<_>) = known.into_iter().partition(|other| other.parameters.len() == arguments);
        if gone.is_empty() || stay.is_empty() {
            return RoutineChange::DropMacro { name, if_exists, tag };
        }
        let routines = stay.iter().map(|other| Routine::clone(other)).collect();
        RoutineChange::CreateMacro { name, routines, or_replace: true, if_not_exists: false, tag }
    }

    /// What a call stands for: the query, or the expression that it selects.
    fn body_of_any(
        &mut self,
        create: &CreateRoutineAst,
        parameters: &[RoutineParameter],
        is_table: bool,
        name: &ObjectName,
    ) -> Result<String> {
        let written = match (&create.body, &create.expression) {
            (Some((body, _)), None) => body.clone(),
            (None, Some(expression)) => format!("SELECT {expression}"),
            _ => return Err(Error::new(INVALID_DEFINITION, "no function body specified").at(name.position)),
        };
        let pieces = crate::split(&written);
        let [piece] = pieces.as_slice() else {
            return unsupported("anyelement or its like in a function of several statements", name.position);
        };
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let tokens = Tokenizer::new(&MorselDialect, &written[piece.range.clone()]).tokenize();
        let mut text = String::new();
        for token in tokens.map_err(|e| Error::new(SqlState::SYNTAX_ERROR, e.to_string()).at(name.position))? {
            let number = match &token {
                Token::Placeholder(placeholder) => placeholder.strip_prefix('$').and_then(|n| n.parse::<usize>().ok()),
                _ => None,
            };
            let parameter = number.and_then(|n| parameters.get(n.checked_sub(1)?)?.name.as_deref());
            match (&token, parameter) {
                (_, Some(parameter)) => text += &quoted(parameter),
                (Token::SemiColon | Token::EOF, _) => {}
                _ => text += &token.to_string(),
            }
        }
        let text = text.trim();
        let parsed = crate::parse(text).map_err(|e| e.nowhere().at(name.position))?;
        let query = match &parsed.ast {
            Ast::Library(statement) => match statement.as_ref() {
                ast::Statement::Query(query) => Some(query),
                _ => None,
            },
            _ => None,
        };
        let Some(query) = query else {
            return unsupported("anyelement or its like in a function that is no query", name.position);
        };
        if is_table {
            return Ok(text.to_owned());
        }
        let expression = match bare_expression(query) {
            Some(_) if text.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("select")) => {
                text[6..].trim().to_owned()
            }
            _ => format!("({text})"),
        };
        if create.is_strict != Some(true) || parameters.is_empty() {
            return Ok(expression);
        }
        let given = parameters.iter().filter_map(|p| Some(format!("{} IS NOT NULL", quoted(p.name.as_deref()?))));
        Ok(format!("CASE WHEN {} THEN ({expression}) END", given.collect::<Vec<_>>().join(" AND ")))
    }
}
