//! Sequences: their statements, the columns that take their values, and the functions that ask them.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::{DEFAULT_SCHEMA, Filling, Owner, canonical};
use functions::sequence::{Shape, check_bounds};
use functions::{ScalarFunction, Sequence};
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, ColumnOption, DataType, GeneratedAs, ObjectNamePart, SequenceOptions as LibraryOption};
use types::{SqlType, Value};

use super::coerce::convert;
use super::constraint::free_name;
use super::type_name::sql_type;
use super::{Binder, fold, unsupported};
use crate::parse::{SequenceAst, SequenceChangeAst, SequenceOptions};
use crate::{CreateTable, ObjectName, SequenceChange, Statement};

impl Binder<'_> {
    /// CREATE and ALTER SEQUENCE.
    pub(super) fn sequence_statement(&mut self, ast: &SequenceAst) -> Result<Statement> {
        let mut name = self.text.object_name(&ast.name)?;
        if matches!(ast.change, SequenceChangeAst::Create { temporary: true, .. }) {
            name.make_temporary()?;
        } else if matches!(ast.change, SequenceChangeAst::Create { .. }) {
            name = self.resolver.new_name(name)?;
        }
        let position = name.position;
        let options = match &ast.change {
            SequenceChangeAst::Create { options, or_replace, .. } => {
                let shape = new_shape(options, SqlType::BigInt).map_err(|e| e.at(position))?;
                let owner = self.owner(options, &name)?.flatten();
                let (if_not_exists, or_replace) = (ast.conditional, *or_replace);
                return Ok(Statement::CreateSequence { name, shape, owner, if_not_exists, or_replace });
            }
            SequenceChangeAst::Rename(to) => {
                let sequence = self.altered(&name, ast.conditional)?;
                return Ok(Statement::AlterSequence { name, sequence, change: SequenceChange::Name(fold(to)) });
            }
            SequenceChangeAst::Schema(to) => {
                let sequence = self.altered(&name, ast.conditional)?;
                return Ok(Statement::AlterSequence { name, sequence, change: SequenceChange::Schema(fold(to)) });
            }
            SequenceChangeAst::Owner => {
                self.altered(&name, ast.conditional)?;
                return Ok(Statement::Nothing("ALTER SEQUENCE"));
            }
            SequenceChangeAst::Alter(options) => options,
        };
        let owner = self.owner(options, &name)?;
        let sequence = self.altered(&name, ast.conditional)?;
        let Some(before) = sequence.as_ref().map(|s| s.shape()) else {
            let change = SequenceChange::Shape(new_shape(options, SqlType::BigInt)?, None, owner);
            return Ok(Statement::AlterSequence { name, sequence, change });
        };
        let shape = altered_shape(options, before).map_err(|e| e.at(position))?;
        let restart = options.restart.map(|value| value.unwrap_or(shape.start));
        Ok(Statement::AlterSequence { name, sequence, change: SequenceChange::Shape(shape, restart, owner) })
    }

    fn altered(&self, name: &ObjectName, if_exists: bool) -> Result<Option<Arc<Sequence>>> {
        match self.resolver.sequence(name) {
            Ok(sequence) => Ok(Some(sequence)),
            Err(error) if if_exists && error.state() == SqlState::UNDEFINED_TABLE => Ok(None),
            Err(error) => Err(error.at(name.position)),
        }
    }

    /// What OWNED BY names, in the schema of the sequence unless it says another.
    fn owner(&self, options: &SequenceOptions, sequence: &ObjectName) -> Result<Option<Option<Owner>>> {
        let Some(owned_by) = &options.owned_by else { return Ok(None) };
        let Some(named) = owned_by else { return Ok(Some(None)) };
        let position = self.text.name_position(named);
        let parts: Option<Vec<String>> = named.0.iter().map(|p| p.as_ident().map(fold)).collect();
        let own = sequence.schema.clone();
        let (schema, table, column) = match parts.as_deref() {
            Some([table, column]) => (own, table, column),
            Some([schema, table, column]) => (Some(schema.clone()), table, column),
            _ => {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "invalid OWNED BY option")
                    .hint("Specify OWNED BY table.column or OWNED BY NONE.")
                    .at(position));
            }
        };
        let schema = canonical(schema.as_deref()).to_owned();
        Ok(Some(Some(Owner { schema, table: table.clone(), column: column.clone() })))
    }

    /// The sequence of a serial or identity column of the table that is made.
    pub(super) fn own_sequence(
        &mut self,
        table: &mut CreateTable,
        column: &str,
        options: &[LibraryOption],
        sql_type: SqlType,
    ) -> Result<Arc<Sequence>> {
        let position = table.name.position;
        let shape = new_shape(&options_of(options)?, sql_type).map_err(|e| e.at(position))?;
        let is_taken = |name: &str| {
            let full = ObjectName { schema: table.name.schema.clone(), name: name.to_owned(), position: None };
            table.sequences.iter().any(|(own, ..)| own == name) || self.resolver.is_taken(&full)
        };
        let bare = ObjectName { schema: None, ..table.name.clone() };
        let name = free_name(&bare, Some(column), "seq", is_taken);
        let shown = match canonical(table.name.schema.as_deref()) {
            DEFAULT_SCHEMA => name.clone(),
            schema => format!("{schema}.{name}"),
        };
        let sequence = Sequence::new(shown, shape);
        table.sequences.push((name, column.to_owned(), sequence.clone()));
        Ok(sequence)
    }

    /// GENERATED AS IDENTITY.
    pub(super) fn identity(
        &mut self,
        table: &mut CreateTable,
        column: &str,
        option: &ColumnOption,
        sql_type: SqlType,
    ) -> Result<Filling> {
        let ColumnOption::Generated { generated_as, sequence_options, .. } = option else { return Ok(Filling::NULL) };
        if !sql_type.is_integer() {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(table.name.position));
        }
        let options = sequence_options.as_deref().unwrap_or_default();
        let sequence = self.own_sequence(table, column, options, sql_type)?;
        Ok(Filling::Identity { always: *generated_as == GeneratedAs::Always, sequence })
    }

    /// The next value of a sequence, for this session.
    pub(super) fn next_value(&self, sequence: &Sequence) -> Expr {
        self.ask(ScalarFunction::SEQUENCE_NEXT, Some(sequence), Vec::new())
    }

    fn ask(&self, function: ScalarFunction, sequence: Option<&Sequence>, more: Vec<Expr>) -> Expr {
        let number = |number| Expr::constant(Value::Int(number), SqlType::BigInt);
        let sequence = sequence.map(|s| number(s.number()));
        let arguments = sequence.into_iter().chain([number(self.resolver.session())]).chain(more).collect();
        Expr::new(ExprKind::Call(function, arguments), SqlType::BigInt)
    }

    /// A call of nextval, currval, lastval, setval or pg_get_serial_sequence; none if it is no such call.
    pub(super) fn sequence_call(
        &mut self,
        name: &str,
        arguments: &[&ast::Expr],
        position: Option<u32>,
    ) -> Result<Option<Expr>> {
        let call = match (name, arguments) {
            ("nextval", [of]) => {
                let sequence = self.sequence_argument(of)?;
                self.ask(ScalarFunction::SEQUENCE_NEXT, Some(&sequence), Vec::new())
            }
            ("currval", [of]) => {
                let sequence = self.sequence_argument(of)?;
                self.ask(ScalarFunction::SEQUENCE_CURRENT, Some(&sequence), Vec::new())
            }
            ("lastval", []) => self.ask(ScalarFunction::SEQUENCE_LAST, None, Vec::new()),
            ("setval", [of, value, rest @ ..]) if rest.len() < 2 => {
                let sequence = self.sequence_argument(of)?;
                let value = convert(self.expr(value)?, SqlType::BigInt)?;
                let is_called = match rest {
                    [] => Expr::bool(true),
                    [is_called, ..] => convert(self.expr(is_called)?, SqlType::Bool)?,
                };
                self.ask(ScalarFunction::SEQUENCE_SET, Some(&sequence), vec![value, is_called])
            }
            ("pg_get_serial_sequence", [table, column]) => {
                let (Ok(table), Ok(column)) = (self.constant_text(table), self.constant_text(column)) else {
                    return Ok(None);
                };
                let table = qualified(&table, position)?;
                let found = self.resolver.sequence_of(&table, &column);
                let with_schema = |name: String| match name.contains('.') {
                    true => name,
                    false => format!("public.{name}"),
                };
                let value = found.map_or(Value::Null, |name| Value::str(with_schema(name)));
                Expr::constant(value, SqlType::Text)
            }
            _ => return Ok(None),
        };
        Ok(Some(call.at(position)))
    }

    /// The sequence that a bound call of nextval asks.
    pub(super) fn asked(&mut self, call: &ast::Function, bound: &[Expr]) -> Option<Arc<Sequence>> {
        let ast::FunctionArguments::List(list) = &call.args else { return None };
        let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) = list.args.first()? else { return None };
        let sequence = self.sequence_argument(argument).ok()?;
        let is_asked =
            matches!(bound.first()?.kind, ExprKind::Const(Value::Int(number)) if number == sequence.number());
        is_asked.then_some(sequence)
    }

    /// The sequence that the argument of a call names.
    fn sequence_argument(&mut self, argument: &ast::Expr) -> Result<Arc<Sequence>> {
        let position = self.text.start(argument);
        let text = self.constant_text(argument)?;
        let name = qualified(&text, position)?;
        self.resolver.sequence(&name).map_err(|e| e.at(position))
    }

    /// A text that is known now: what names a table or sequence.
    fn constant_text(&mut self, argument: &ast::Expr) -> Result<String> {
        let position = self.text.start(argument);
        let argument = match argument {
            ast::Expr::Cast { expr, data_type, .. } if is_regclass(data_type) => expr,
            other => other,
        };
        let bound = self.expr(argument)?;
        match bound.kind {
            ExprKind::Const(Value::Str(text)) => Ok(text.to_string()),
            _ => unsupported("a name that is not a literal", position),
        }
    }
}

pub(super) fn is_regclass(data_type: &DataType) -> bool {
    match data_type {
        DataType::Regclass => true,
        DataType::Custom(name, _) => match name.0.last() {
            Some(ObjectNamePart::Identifier(ident)) => ident.value.eq_ignore_ascii_case("regclass"),
            _ => false,
        },
        _ => false,
    }
}

/// A name in a text: `t`, `s.t`, `"T"`.
pub(super) fn qualified(text: &str, position: Option<u32>) -> Result<ObjectName> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let end = quoted.find('"').unwrap_or(quoted.len());
                (quoted[..end].to_owned(), quoted.get(end + 1..).unwrap_or_default())
            }
            None => {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].trim().to_lowercase(), &rest[end..])
            }
        };
        parts.push(part);
        match after.trim_start().strip_prefix('.') {
            Some(next) => rest = next.trim_start(),
            None => break,
        }
    }
    match parts.as_slice() {
        [name] if !name.is_empty() => Ok(ObjectName { schema: None, name: name.clone(), position }),
        [schema, name] => Ok(ObjectName { schema: Some(schema.clone()), name: name.clone(), position }),
        _ => Err(Error::new(SqlState("42602"), "invalid name syntax").at(position)),
    }
}

/// The type of a serial column by the name of its type.
pub(super) fn serial(data_type: &DataType) -> Option<SqlType> {
    let DataType::Custom(name, arguments) = data_type else { return None };
    let (Some(ObjectNamePart::Identifier(ident)), []) = (name.0.last(), arguments.as_slice()) else { return None };
    match ident.value.to_ascii_lowercase().as_str() {
        "serial" | "serial4" => Some(SqlType::Integer),
        "bigserial" | "serial8" => Some(SqlType::BigInt),
        "smallserial" | "serial2" => Some(SqlType::SmallInt),
        _ => None,
    }
}

/// The options of an identity column, as the parser library reads them: its `Cycle(true)` is NO CYCLE.
fn options_of(options: &[LibraryOption]) -> Result<SequenceOptions> {
    let number = |expr: &ast::Expr| {
        let text = expr.to_string().replace(' ', "");
        text.parse::<i64>()
            .map_err(|_| Error::new(SqlState::SYNTAX_ERROR, format!("{text} is not an integer of 64 bits")))
    };
    let mut all = SequenceOptions::default();
    for option in options {
        match option {
            LibraryOption::IncrementBy(value, _) => all.increment = Some(number(value)?),
            LibraryOption::MinValue(value) => all.min = Some(value.as_ref().map(number).transpose()?),
            LibraryOption::MaxValue(value) => all.max = Some(value.as_ref().map(number).transpose()?),
            LibraryOption::StartWith(value, _) => all.start = Some(number(value)?),
            LibraryOption::Cache(value) => all.cache = Some(number(value)?),
            LibraryOption::Cycle(no) => all.cycle = Some(!no),
        }
    }
    Ok(all)
}

fn new_shape(options: &SequenceOptions, default: SqlType) -> Result<Shape> {
    let sql_type = type_of(options, default)?;
    let ascends = options.increment.is_none_or(|increment| increment > 0);
    let (least, greatest) = bounds(sql_type);
    let (min, max) = if ascends { (1, greatest) } else { (least, -1) };
    let shape = Shape { sql_type, start: 0, increment: 1, min, max, cache: 1, cycle: false };
    let shape = with_options(options, shape)?;
    let start = options.start.unwrap_or(if ascends { shape.min } else { shape.max });
    checked(Shape { start, ..shape })
}

/// What is not said stays; bounds that were those of the old type become those of the new one.
pub(super) fn altered_shape(options: &SequenceOptions, before: Shape) -> Result<Shape> {
    let sql_type = type_of(options, before.sql_type)?;
    let ((old_least, old_greatest), (least, greatest)) = (bounds(before.sql_type), bounds(sql_type));
    let min = if before.min == old_least { least } else { before.min };
    let max = if before.max == old_greatest { greatest } else { before.max };
    let shape = with_options(options, Shape { sql_type, min, max, ..before })?;
    checked(Shape { start: options.start.unwrap_or(before.start), ..shape })
}

fn with_options(options: &SequenceOptions, shape: Shape) -> Result<Shape> {
    let increment = options.increment.unwrap_or(shape.increment);
    let (least, greatest) = bounds(shape.sql_type);
    let (no_min, no_max) = if increment > 0 { (1, greatest) } else { (least, -1) };
    Ok(Shape {
        increment,
        min: options.min.map_or(shape.min, |min| min.unwrap_or(no_min)),
        max: options.max.map_or(shape.max, |max| max.unwrap_or(no_max)),
        cache: options.cache.unwrap_or(shape.cache),
        cycle: options.cycle.unwrap_or(shape.cycle),
        ..shape
    })
}

fn checked(shape: Shape) -> Result<Shape> {
    let Shape { sql_type, increment, min, max, cache, .. } = shape;
    let wrong = |message: String| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    let (least, greatest) = bounds(sql_type);
    if increment == 0 {
        return wrong("INCREMENT must not be zero".to_owned());
    }
    for (word, value) in [("MAXVALUE", max), ("MINVALUE", min)] {
        if !(least..=greatest).contains(&value) {
            return wrong(format!("{word} ({value}) is out of range for sequence data type {sql_type}"));
        }
    }
    if min >= max {
        return wrong(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})"));
    }
    check_bounds("START value", shape.start, &shape)?;
    if cache <= 0 {
        return wrong(format!("CACHE ({cache}) must be greater than zero"));
    }
    Ok(shape)
}

fn type_of(options: &SequenceOptions, default: SqlType) -> Result<SqlType> {
    let Some(named) = &options.data_type else { return Ok(default) };
    match sql_type(named, &|_| Ok(None))? {
        integer if integer.is_integer() => Ok(integer),
        _ => {
            let message = "sequence type must be smallint, integer, or bigint";
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

fn bounds(sql_type: SqlType) -> (i64, i64) {
    match sql_type {
        SqlType::SmallInt => (i16::MIN.into(), i16::MAX.into()),
        SqlType::Integer => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}
