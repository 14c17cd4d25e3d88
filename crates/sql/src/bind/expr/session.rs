//! Functions of what the session is set to, and the statements that set its variables.

use base::{Error, Result, SqlState};
use functions::ScalarFunction;
use plan::{Expr, ExprKind};
use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};
use types::ops::array;
use types::{SqlType, Value};

use crate::Statement;
use crate::bind::coerce::cast_to;
use crate::bind::routine::is_of_system;
use crate::bind::sequence::qualified;
use crate::bind::{Binder, fold, unsupported};
use crate::dialect::MorselDialect;
use crate::parse::{Ast, SecretAst, SessionAst, is_built_in, parse_placeless};

/// The schemas in which names are looked for, without being named in the path.
const IMPLICIT: &str = "pg_catalog";

impl Binder<'_> {
    /// `current_schemas(implicit)`, `current_setting(name [, missing_ok])`, `getvariable(name)` and those that look names up, if the
    /// call is one of these.
    pub(super) fn session_function(
        &mut self,
        name: &str,
        arguments: &[&ast::Expr],
        position: Option<u32>,
    ) -> Result<Option<Expr>> {
        match (name, arguments) {
            ("current_schemas", &[implicit]) => {
                let implicit = self.expr(implicit)?;
                let ExprKind::Const(Value::Bool(implicit)) = cast_to(implicit, SqlType::Bool)?.kind else {
                    return unsupported("an argument of current_schemas that is not a literal", position);
                };
                let own = self.resolver.schemas_of_path();
                let first = implicit.then(|| IMPLICIT.to_owned());
                let all: Vec<Value> = first.into_iter().chain(own).map(Value::str).collect();
                let texts = SqlType::array_of(SqlType::Text);
                Ok(Some(Expr::constant(array::encode(&all, SqlType::Text)?, texts).at(position)))
            }
            ("current_setting", &[setting] | &[setting, _]) => {
                let missing_ok = match arguments.get(1) {
                    Some(missing_ok) => cast_to(self.expr(missing_ok)?, SqlType::Bool)?.kind,
                    None => ExprKind::Const(Value::Bool(false)),
                };
                let setting = cast_to(self.expr(setting)?, SqlType::Text)?;
                let (ExprKind::Const(Value::Str(setting)), ExprKind::Const(Value::Bool(missing_ok))) =
                    (setting.kind, missing_ok)
                else {
                    return unsupported("a name of a setting that is not a literal", position);
                };
                let value = match self.resolver.setting(&setting.to_lowercase()) {
                    Some(value) => Value::str(value),
                    None if missing_ok => Value::Null,
                    None => {
                        let message = format!("unrecognized configuration parameter \"{setting}\"");
                        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(position));
                    }
                };
                Ok(Some(Expr::constant(value, SqlType::Text).at(position)))
            }
            // Statements that consist of such calls do not come here.
            ("set_config", &[_, _, _]) => Err(Error::unsupported("set_config beside anything else")
                .hint("write a SELECT whose columns are calls of set_config only")
                .at(position)),
            ("pg_backend_pid", []) => {
                Ok(Some(Expr::constant(Value::Int(self.resolver.session()), SqlType::Integer).at(position)))
            }
            ("txid_current" | "pg_current_xact_id", []) => {
                let number = Expr::constant(Value::Int(self.resolver.transaction_number()), SqlType::BigInt);
                let call = ExprKind::Call(ScalarFunction::TRANSACTION_NUMBER, vec![number]);
                Ok(Some(Expr::new(call, SqlType::BigInt).at(position)))
            }
            ("pg_trigger_depth", []) => {
                let depth = self.resolver.trigger_depth();
                Ok(Some(Expr::constant(Value::Int(depth), SqlType::Integer).at(position)))
            }
            ("to_regclass" | "to_regtype" | "to_regproc", &[of]) => {
                let of = cast_to(self.expr(of)?, SqlType::Text)?;
                if name == "to_regclass" && !matches!(of.kind, ExprKind::Const(_)) {
                    return Ok(None);
                }
                let (value, sql_type) = match (&of.kind, name) {
                    (ExprKind::Const(Value::Null), "to_regclass") => (Value::Null, SqlType::BigInt),
                    (ExprKind::Const(Value::Null), _) => (Value::Null, SqlType::Text),
                    (ExprKind::Const(Value::Str(text)), "to_regclass") => {
                        let number = self.resolver.number_of(&qualified(text, position)?);
                        (number.map_or(Value::Null, Value::Int), SqlType::BigInt)
                    }
                    (ExprKind::Const(Value::Str(text)), "to_regtype") => {
                        (self.type_of_name(text).map_or(Value::Null, Value::str), SqlType::Text)
                    }
                    (ExprKind::Const(Value::Str(text)), _) => {
                        let name = qualified(text, position)?.name;
                        let is_there = is_of_system(&name) || !self.resolver.routines(None, &name).is_empty();
                        (if is_there { Value::str(name) } else { Value::Null }, SqlType::Text)
                    }
                    _ => return unsupported(format!("an argument of {name} that is not a literal"), position),
                };
                Ok(Some(Expr::constant(value, sql_type).at(position)))
            }
            ("getvariable", &[variable]) => {
                let ExprKind::Const(Value::Str(variable)) = cast_to(self.expr(variable)?, SqlType::Text)?.kind else {
                    return unsupported("a name of a variable that is not a literal", position);
                };
                let null = (Value::Null, SqlType::Null);
                let (value, sql_type) = self.resolver.session_variable(&variable.to_lowercase()).unwrap_or(null);
                Ok(Some(Expr::constant(value, sql_type).at(position)))
            }
            _ => Ok(None),
        }
    }

    /// What a type is called in full, by any of its names; none if there is no such type.
    fn type_of_name(&self, name: &str) -> Option<String> {
        let tokens = Tokenizer::new(&MorselDialect, name).tokenize().ok()?;
        let mut parser = Parser::new(&MorselDialect).with_tokens(tokens);
        let written = parser.parse_data_type().ok()?;
        if parser.peek_token().token != Token::EOF {
            return None;
        }
        self.sql_type(&written).ok().map(|sql_type| sql_type.to_string())
    }

    /// USE: the schema is the only one of the search path. Error 3F000 if there is none of that name.
    fn use_schema(&self, name: &ast::ObjectName) -> Result<Statement> {
        let Some(ident) = name.0.last().and_then(|part| part.as_ident()) else {
            return Err(Error::internal("USE of no name"));
        };
        let (schema, position) = (fold(ident), self.text.at(ident));
        let before = self.resolver.set_search_path(Some(vec![catalog::canonical(Some(&schema)).to_owned()]));
        let is_there = !self.resolver.schemas_of_path().is_empty();
        self.resolver.set_search_path(before);
        if !is_there {
            let error = Error::new(SqlState("3F000"), format!("schema \"{schema}\" does not exist")).at(position);
            return Err(error.hint("CREATE SCHEMA makes one; information_schema.schemata lists those that there are"));
        }
        let path = format!("\"{}\"", schema.replace('"', "\"\""));
        Ok(Statement::Set { name: "search_path".to_owned(), value: Some(path), local: false, position })
    }

    /// SET VARIABLE, DISCARD, extensions.
    pub(in crate::bind) fn session_statement(&mut self, session: &SessionAst) -> Result<Statement> {
        Ok(match session {
            SessionAst::SetVariable { name, value } => {
                let item = ast::SelectItem::UnnamedExpr((**value).clone());
                let Ast::Library(mut statement) = parse_placeless("SELECT 1")?.ast else {
                    return Err(Error::internal("a query that is none"));
                };
                let ast::Statement::Query(query) = statement.as_mut() else {
                    return Err(Error::internal("a query that is none"));
                };
                if let ast::SetExpr::Select(select) = query.body.as_mut() {
                    select.projection = vec![item];
                }
                Statement::SetVariable { name: fold(name).to_lowercase(), plan: Some(self.plan_of(query)?) }
            }
            SessionAst::ResetVariable { name } => {
                Statement::SetVariable { name: fold(name).to_lowercase(), plan: None }
            }
            SessionAst::Discard(tag) => Statement::Discard(tag),
            SessionAst::Use(name) => self.use_schema(name)?,
            SessionAst::Query(_) | SessionAst::Set { .. } | SessionAst::Lock(_) => {
                return Err(Error::internal("a statement of another kind"));
            }
            SessionAst::Secret(SecretAst { settings, unknown, span }) => {
                if let Some(option) = unknown {
                    let error = Error::unsupported(format!("the option \"{}\" of a secret", option.value));
                    return Err(error
                        .hint(
                            "secrets of S3 have KEY_ID, SECRET, SESSION_TOKEN, REGION, ENDPOINT, URL_STYLE and USE_SSL",
                        )
                        .at(self.text.at(option)));
                }
                let position = self.text.span(*span);
                let set = |(name, value): &(&str, Option<String>)| Statement::Set {
                    name: (*name).to_owned(),
                    value: value.clone(),
                    local: false,
                    position,
                };
                Statement::Together(settings.iter().map(set).collect())
            }
            SessionAst::Extension { tag, name } => {
                let named = fold(name);
                if !is_built_in(&named) {
                    let error = Error::unsupported(format!("the extension \"{named}\""));
                    return Err(error.at(self.text.at(name)));
                }
                Statement::Told(tag, format!("extension \"{named}\" is built in"))
            }
        })
    }

    /// The schema in which something new is, if it is given none.
    pub(super) fn current_schema(&self) -> Value {
        self.resolver.schemas_of_path().into_iter().next().map_or(Value::Null, Value::str)
    }
}
