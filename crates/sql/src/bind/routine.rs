//! Functions and procedures: what defines and drops them, CALL and DO. How calls are bound is in `call`.

mod aggregate;
mod arguments;
mod call;
mod inline;
mod macros;
mod polymorphic;
mod preferred;

use base::{Error, Result, SqlState};
pub(super) use call::{is_of_system, is_volatile_itself};
use catalog::{
    Language, Mode, Name, Returns, Routine, RoutineAlteration, RoutineKind, RoutineName, RoutineParameter,
    TEMPORARY_SCHEMA, Volatility, schema_of_routine,
};
use plan::Expr;
use sqlparser::ast::{self, FunctionArg};
use types::SqlType;

use super::scope::{Clause, Level};
use super::variables::VARIABLE_CONFLICT;
use super::{Binder, fold, unsupported};
use crate::parse::{CreateRoutineAst, ParameterAst, ReturnsAst, RoutineAst, RoutineNameAst, RoutineTypeAst};
use crate::procedure::{parse_body, variable_conflict};
use crate::statement::RoutineChange;
use crate::{ObjectName, Resolved, Statement};
use arguments::Given;

/// Most parameters of a routine, as in PostgreSQL.
const MAX_PARAMETERS: usize = 100;

/// 42P13.
const INVALID_DEFINITION: SqlState = SqlState("42P13");

impl Binder<'_> {
    pub(super) fn routine_statement(&mut self, routine: &RoutineAst, text: &str) -> Result<Statement> {
        Ok(match routine {
            RoutineAst::Create(create) => {
                if let Some(made) = self.polymorphic(create)? {
                    return Ok(made);
                }
                let (made, or_replace) = (self.routine(create)?, create.or_replace);
                let position = self.text.name_position(&create.name);
                Statement::Routine(RoutineChange::Create { routine: Box::new(made), or_replace, position })
            }
            RoutineAst::CreateAggregate(create) => return self.create_aggregate(create),
            RoutineAst::CreateMacro(create) => return self.create_macro(create, text),
            RoutineAst::DropMacro { name, if_exists } => {
                let (name, if_exists) = (self.text.object_name(name)?, *if_exists);
                Statement::Routine(RoutineChange::DropMacro { name, if_exists, tag: "DROP MACRO" })
            }
            RoutineAst::Drop { names, if_exists, .. }
                if let [RoutineNameAst { name, types: Some(types) }] = names.as_slice()
                    && types.iter().any(polymorphic::is_any) =>
            {
                let (name, if_exists) = (self.text.object_name(name)?, *if_exists);
                Statement::Routine(self.drop_polymorphic(name, types.len(), if_exists))
            }
            RoutineAst::Drop { kind, names, if_exists, cascade } => {
                let position = names.first().and_then(|name| self.text.name_position(&name.name));
                let names = names.iter().map(|name| self.routine_name(name)).collect::<Result<_>>()?;
                let (kind, if_exists, cascade) = (*kind, *if_exists, *cascade);
                Statement::Routine(RoutineChange::Drop { kind, names, if_exists, cascade, position })
            }
            RoutineAst::Rename { kind, name, to } => {
                let position = self.text.name_position(&name.name);
                let name = self.routine_name(name)?;
                Statement::Routine(RoutineChange::Rename { kind: *kind, name, to: fold(to), position })
            }
            RoutineAst::Alter { kind, name, options, resets_all } => {
                let position = self.text.name_position(&name.name);
                let change = RoutineAlteration {
                    volatility: options.volatility,
                    is_strict: options.is_strict,
                    settings: options.settings.clone(),
                    resets_all: *resets_all,
                };
                let name = self.routine_name(name)?;
                Statement::Routine(RoutineChange::Alter { kind: *kind, name, change, position })
            }
            RoutineAst::Nothing { kind } => Statement::Nothing(match kind {
                Some(RoutineKind::Function) => "ALTER FUNCTION",
                Some(RoutineKind::Procedure) => "ALTER PROCEDURE",
                Some(RoutineKind::Aggregate) => "ALTER AGGREGATE",
                None => "ALTER ROUTINE",
            }),
            RoutineAst::Call { name, arguments } => return self.call_statement(name, arguments),
            RoutineAst::Do { language, body, span } => {
                self.check_language(language.as_ref(), &[Language::Procedural])?;
                let begin = self.body_begin(body, *span);
                let block = parse_body(body).map_err(|error| in_body(error, begin))?;
                Statement::Do(Box::new(block))
            }
        })
    }

    /// Where the text of a body begins in the statement's; none if it is not there as it is.
    fn body_begin(&self, body: &str, span: sqlparser::tokenizer::Span) -> Option<u32> {
        let positions = self.text.positions?;
        let (begin, end) = (positions.offset(span.start)?, positions.offset(span.end)?);
        let quotes = (end - begin).checked_sub(u32::try_from(body.len()).ok()?)?;
        Some(begin + quotes / 2)
    }

    fn check_language(&self, name: Option<&ast::Ident>, known: &[Language]) -> Result<Language> {
        let Some(ident) = name else { return Ok(Language::Procedural) };
        let name = fold(ident);
        match [Language::Sql, Language::Procedural].into_iter().find(|language| language.name() == name) {
            Some(language) if known.contains(&language) => Ok(language),
            Some(_) => unsupported(format!("DO in the language {name}"), self.text.at(ident)),
            None => {
                let message = format!("language \"{name}\" does not exist");
                let error = Error::new(SqlState::UNDEFINED_OBJECT, message).hint("languages are sql and plpgsql");
                Err(error.at(self.text.at(ident)))
            }
        }
    }

    fn routine_name(&mut self, name: &RoutineNameAst) -> Result<RoutineName> {
        let types = name.types.as_ref();
        let types = types.map(|types| types.iter().map(|t| self.sql_type(t).map(given_type)).collect::<Result<_>>());
        let ObjectName { schema, name, .. } = self.text.object_name(&name.name)?;
        Ok(RoutineName { schema, name, types: types.transpose()? })
    }

    fn routine(&mut self, create: &CreateRoutineAst) -> Result<Routine> {
        let name = self.resolver.new_name(self.text.object_name(&create.name)?)?;
        let invalid = |message: &str| Err(Error::new(INVALID_DEFINITION, message).at(name.position));
        if name.schema.as_deref() == Some(TEMPORARY_SCHEMA) {
            return unsupported("a temporary function", name.position);
        }
        let parameters = self.parameters(&create.parameters)?;
        let (returns, is_set) = self.returns(create, &parameters, name.position)?;
        let domain = match &create.returns {
            Some(ReturnsAst::Type { data_type, is_set: false }) => self.domain_of_routine(data_type)?,
            _ => None,
        };
        let language = match (&create.language, &create.expression) {
            (None, Some(_)) => Language::Sql,
            (None, None) if create.is_atomic => Language::Sql,
            (None, None) => return invalid("no language specified"),
            (some, _) => self.check_language(some.as_ref(), &[Language::Sql, Language::Procedural])?,
        };
        if create.is_atomic && language != Language::Sql {
            return invalid("inline SQL function body only valid for language SQL");
        }
        let body = match (&create.body, &create.expression) {
            (Some((body, _)), None) => body.clone(),
            (None, Some(expression)) if language == Language::Sql => format!("SELECT {expression}"),
            (None, Some(_)) => return invalid("inline SQL function body only valid for language SQL"),
            (None, None) => return invalid("no function body specified"),
            (Some(_), Some(_)) => return invalid("duplicate function body specified"),
        };
        let begin = create.body.as_ref().and_then(|(body, span)| self.body_begin(body, *span));
        match language {
            Language::Procedural => _ = parse_body(&body).map_err(|error| in_body(error, begin))?,
            // No statement names the language of macros.
            Language::Sql | Language::Macro | Language::Aggregate => {
                for piece in crate::split(&body) {
                    let text = &body[piece.range.clone()];
                    let error = |error: Error| in_body(error.shifted(piece.range.start), begin);
                    crate::parse(text).map_err(error)?;
                }
            }
        }
        let said = |(name, value): &(String, Option<String>)| Some((name.clone(), value.clone()?));
        let mut settings: Vec<(String, String)> = create.settings.iter().filter_map(said).collect();
        if let Some(said) = variable_conflict(&body).filter(|_| language == Language::Procedural) {
            settings.push((VARIABLE_CONFLICT.to_owned(), said.to_owned()));
        }
        let routine = Routine {
            number: Routine::new_number(),
            schema: schema_of_routine(name.schema.as_deref()),
            name: name.name.clone(),
            kind: create.kind,
            parameters,
            returns,
            domain,
            is_set,
            language,
            volatility: create.volatility.unwrap_or(Volatility::Volatile),
            is_strict: create.is_strict.unwrap_or(false),
            settings,
            body,
        };
        if self.resolver.setting("check_function_bodies").as_deref() != Some("off") {
            self.check_inlined(&routine).map_err(|error| error.at(name.position))?;
        }
        Ok(routine)
    }

    fn parameters(&mut self, written: &[ParameterAst]) -> Result<Vec<RoutineParameter>> {
        if written.len() > MAX_PARAMETERS {
            let message = format!("functions cannot have more than {MAX_PARAMETERS} arguments");
            return Err(Error::new(SqlState("54023"), message).at(self.text.span(written[0].span)));
        }
        let mut parameters: Vec<RoutineParameter> = Vec::with_capacity(written.len());
        for parameter in written {
            let position = self.text.span(parameter.span);
            let name = parameter.name.as_ref().map(fold);
            let sql_type = given_type(self.routine_type(&parameter.data_type, position)?);
            let clashes = |known: &RoutineParameter| {
                known.name == name
                    && (known.mode.is_given() == parameter.mode.is_given() || parameter.mode == Mode::Table)
            };
            if let Some(name) = name.as_ref().filter(|_| parameters.iter().any(clashes)) {
                let message = format!("parameter name \"{name}\" used more than once");
                return Err(Error::new(INVALID_DEFINITION, message).at(position));
            }
            let default = match &parameter.default {
                None => None,
                Some(_) if !parameter.mode.is_given() => {
                    let message = "only input parameters can have default values";
                    return Err(Error::new(INVALID_DEFINITION, message).at(position));
                }
                Some(expr) => {
                    self.names.levels.push(Level::new(Clause::Default));
                    let bound = self.expr(expr);
                    self.names.levels.pop();
                    super::coerce::assign(bound?, sql_type, "")?;
                    Some(expr.to_string())
                }
            };
            let before = parameters.iter().any(|p| p.mode.is_given() && p.default.is_some());
            if before && default.is_none() && parameter.mode.is_given() && !parameter.is_variadic {
                let message = "input parameters after one with a default value must also have defaults";
                return Err(Error::new(INVALID_DEFINITION, message).at(position));
            }
            let domain = self.domain_of_routine(&parameter.data_type)?;
            let is_variadic = parameter.is_variadic;
            let invalid = |message: &str| Err(Error::new(INVALID_DEFINITION, message).at(position));
            if is_variadic && !sql_type.is_array() {
                return invalid("VARIADIC parameter must be an array");
            }
            if parameters.iter().any(|p: &RoutineParameter| p.is_variadic) && parameter.mode.is_given() {
                return invalid("VARIADIC parameter must be the last input parameter");
            }
            parameters.push(RoutineParameter { name, mode: parameter.mode, sql_type, domain, default, is_variadic });
        }
        Ok(parameters)
    }

    /// The domain that a parameter or result is of, if it is one.
    fn domain_of_routine(&mut self, written: &RoutineTypeAst) -> Result<Option<Name>> {
        match written {
            RoutineTypeAst::Named(data_type) => Ok(self.domain_of(data_type)?.map(|(name, _)| name)),
            RoutineTypeAst::Like(_) => Ok(None),
        }
    }

    /// A value as one of a domain, of which only the name is known.
    pub(in crate::bind) fn as_named_domain(&mut self, value: Expr, domain: Option<&Name>) -> Result<Expr> {
        let Some((schema, name)) = domain else { return Ok(value) };
        let named = ObjectName { schema: Some(schema.clone()), name: name.clone(), position: None };
        match self.resolver.domain(&named) {
            Some((name, domain)) => self.as_domain(value, &name, &domain),
            None => Ok(value),
        }
    }

    /// The type of a parameter or result.
    fn routine_type(&mut self, written: &RoutineTypeAst, position: Option<u32>) -> Result<SqlType> {
        let name = match written {
            RoutineTypeAst::Named(data_type) => return self.sql_type(data_type).map_err(|e| e.at(position)),
            RoutineTypeAst::Like(name) => name,
        };
        let mut parts = Vec::new();
        for part in &name.0 {
            match part {
                ast::ObjectNamePart::Identifier(ident) => parts.push(fold(ident)),
                ast::ObjectNamePart::Function(_) => return unsupported("a function that makes a name", position),
            }
        }
        column_type(self.resolver, &parts).map_err(|e| e.at(position))
    }

    fn returns(
        &mut self,
        create: &CreateRoutineAst,
        parameters: &[RoutineParameter],
        position: Option<u32>,
    ) -> Result<(Returns, bool)> {
        let invalid = |message: String| Err(Error::new(INVALID_DEFINITION, message).at(position));
        let results: Vec<SqlType> = parameters.iter().filter(|p| p.mode.is_result()).map(|p| p.sql_type).collect();
        if create.kind == RoutineKind::Procedure {
            return match create.returns {
                Some(_) => Err(Error::new(SqlState::SYNTAX_ERROR, "a procedure has no RETURNS").at(position)),
                None if results.is_empty() => Ok((Returns::Nothing, false)),
                None => Ok((Returns::Row, false)),
            };
        }
        let of_results = match results.as_slice() {
            [] => None,
            [one] => Some(Returns::Value(*one)),
            _ => Some(Returns::Row),
        };
        match (&create.returns, of_results) {
            (None, Some(returns)) => Ok((returns, false)),
            (None, None) => invalid("function result type must be specified".into()),
            (Some(ReturnsAst::Table), Some(returns)) => Ok((returns, true)),
            (Some(ReturnsAst::Table), None) => invalid("RETURNS TABLE needs columns".into()),
            (Some(ReturnsAst::Trigger), None) if parameters.is_empty() => match create.language.as_ref().map(fold) {
                Some(language) if language == Language::Sql.name() => {
                    invalid("SQL functions cannot return type trigger".into())
                }
                _ => Ok((Returns::Trigger, false)),
            },
            (Some(ReturnsAst::Trigger), _) => {
                Err(Error::new(INVALID_DEFINITION, "trigger functions cannot have declared arguments")
                    .hint("The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.")
                    .at(position))
            }
            (Some(ReturnsAst::Void), None) => Ok((Returns::Nothing, false)),
            (Some(ReturnsAst::Void), Some(_)) => {
                invalid("function result type must be record because of OUT parameters".into())
            }
            (Some(ReturnsAst::Record { is_set }), returns) => Ok((returns.unwrap_or(Returns::Record), *is_set)),
            (Some(ReturnsAst::Type { data_type, is_set }), of_results) => {
                let sql_type = given_type(self.routine_type(data_type, position)?);
                match of_results {
                    Some(Returns::Value(one)) if one != sql_type => {
                        invalid(format!("function result type must be {one} because of OUT parameters"))
                    }
                    Some(Returns::Row) => {
                        invalid("function result type must be record because of OUT parameters".into())
                    }
                    _ => Ok((Returns::Value(sql_type), *is_set)),
                }
            }
        }
    }

    fn call_statement(&mut self, name: &ast::ObjectName, arguments: &[FunctionArg]) -> Result<Statement> {
        let named = self.text.object_name(name)?;
        let candidates = self.resolver.routines(named.schema.as_deref(), &named.name);
        self.names.levels.push(Level::new(Clause::Execute));
        let given = self.given_arguments(&named.name, arguments);
        self.names.levels.pop();
        let given: Vec<Given> = given?;
        let (routine, arguments) =
            self.matching(&named, &candidates, given, RoutineKind::Procedure).map_err(|e| e.at(named.position))?;
        if let Some(argument) = arguments.iter().find(|argument| argument.has_subquery()) {
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot use subquery in CALL argument")
                .at(argument.position));
        }
        Ok(Statement::Call { routine, arguments })
    }
}

/// An error in a body, as one of the statement.
fn in_body(error: Error, begin: Option<u32>) -> Error {
    match begin {
        Some(begin) => error.shifted(begin as usize),
        None => error.nowhere(),
    }
}

/// A type as that of what goes in and out: lengths of texts do not count there, as in PostgreSQL.
fn given_type(sql_type: SqlType) -> SqlType {
    if matches!(sql_type, SqlType::Varchar(_)) { SqlType::Text } else { sql_type }
}

/// The type of `table.column`, by the parts of the name.
pub fn column_type(resolver: &dyn crate::Resolver, parts: &[String]) -> Result<SqlType> {
    let [table @ .., column] = parts else { return Err(Error::internal("a name without parts")) };
    let fields = row_type(resolver, table)?;
    match fields.iter().find(|field| field.name == *column) {
        Some(field) => Ok(field.sql_type),
        None => {
            let message = format!("column \"{column}\" of relation \"{}\" does not exist", table.join("."));
            Err(Error::new(SqlState::UNDEFINED_COLUMN, message))
        }
    }
}

/// The columns of a table or view, by the parts of its name.
pub fn row_type(resolver: &dyn crate::Resolver, parts: &[String]) -> Result<Vec<catalog::Field>> {
    let (schema, name) = match parts {
        [name] => (None, name),
        [schema, name] => (Some(schema.clone()), name),
        _ => {
            let message = "improper qualified name: a column is written table.column";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
    };
    let name = ObjectName { schema, name: name.clone(), position: None };
    match resolver.table(&name)? {
        Resolved::Table(table) => Ok(table.fields),
        Resolved::View { sql, columns, path, .. } => {
            let session = resolver.set_search_path(path);
            let prepared = super::prepare(&sql, resolver, &[]);
            resolver.set_search_path(session);
            let mut prepared = prepared?.columns;
            prepared.iter_mut().zip(columns).for_each(|(field, name)| field.name = name);
            Ok(prepared)
        }
    }
}
