//! COPY: files into tables and query results into files.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::Filling;
use io::{FileSource, Format};
use sql::{Copy, CopyTarget, ObjectName};
use storage::Relation;
use types::{SqlType, Value};

use super::{load, result_columns, rows_tag};
use crate::environment::Environment;
use crate::rejects::{self, Rejects};
use crate::resolver::Resolver;
use crate::result::{QueryResult, Tag};
use crate::routine::compute_calls;
use crate::source::Source;
use crate::{execute, files};

pub(super) fn copy(environment: &mut Environment, copy: Copy) -> Result<QueryResult> {
    match copy {
        Copy::From { name, table, columns, fillings, checked, condition, target, position, options, .. } => {
            let relation = Source::relation(&table).map_err(|e| e.at(name.position))?;
            let from = match (&environment.given, target) {
                (Some(data), CopyTarget::Stdin) => From::Given(data.clone()),
                (_, target) => From::File(path(target).map_err(|e| e.at(position))?),
            };
            let condition = condition.as_deref();
            let into = Into { name: &name, relation: &relation, columns: &columns, checked, condition };
            from_file(environment, into, &fillings, &from, options).map_err(|e| e.at(position))
        }
        Copy::To { plan, target, position, options } => {
            let (path, options) = to(target, options);
            let outside = environment.outside().map_err(|e| e.at(position))?;
            let cancel = environment.call.token();
            let plan = execute::optimize(environment, plan)?;
            let columns = result_columns(&plan);
            let mut writer = files::Writer::create(&path, &columns, &options, &outside).map_err(|e| e.at(position))?;
            let mut result = QueryResult::running(columns, execute::start(environment, &plan, false, cancel)?);
            while let Some(chunk) = result.next_chunk()? {
                writer.write(&chunk)?;
            }
            writer.finish()?;
            Ok(rows_tag("COPY", result.delivered() as usize))
        }
    }
}

/// Whether more than the rows themselves has to be looked after.
pub(super) fn needs_transaction(copy: &Copy) -> bool {
    match copy {
        Copy::From { table, is_partitioned, .. } => {
            *is_partitioned || Source::relation(table).is_ok_and(|relation| relation.effects_are_noted())
        }
        Copy::To { .. } => false,
    }
}

/// The file that is copied from.
fn path(target: CopyTarget) -> Result<String> {
    match target {
        CopyTarget::File(path) => Ok(path),
        CopyTarget::Stdin | CopyTarget::Stdout => {
            Err(Error::unsupported("COPY FROM STDIN").hint("name a file, which may be '/dev/stdin'"))
        }
    }
}

/// Where rows go. Those for the client are text unless the options say otherwise.
fn to(target: CopyTarget, mut options: Vec<(String, String)>) -> (String, Vec<(String, String)>) {
    match target {
        CopyTarget::File(path) => (path, options),
        CopyTarget::Stdin | CopyTarget::Stdout => {
            if !options.iter().any(|(name, _)| name == "format") {
                options.push(("format".to_owned(), "text".to_owned()));
            }
            ("/dev/stdout".to_owned(), options)
        }
    }
}

/// What is copied into a table.
enum From {
    /// A file.
    File(String),
    /// Data that came with the statement.
    Given(Arc<str>),
}

/// Where a file goes.
#[derive(Clone, Copy)]
struct Into<'a> {
    name: &'a ObjectName,
    relation: &'a Arc<Relation>,
    /// The columns of the table that the file's fields are, in order.
    columns: &'a [usize],
    /// Whether rows go through an INSERT that checks them.
    checked: bool,
    /// Which rows are taken.
    condition: Option<&'a str>,
}

/// The values of DEFAULT where a file writes that. They are the same for each row of it.
fn constants(fillings: &[Filling], options: &[(String, String)]) -> Result<Vec<Value>> {
    let is_used = options.iter().any(|(name, _)| name == "default");
    let constant = |filling: &Filling| match filling {
        Filling::Value(value) => Ok(value.clone()),
        _ if is_used => Err(Error::unsupported("COPY with DEFAULT of a column whose default is no constant")),
        _ => Ok(Value::Null),
    };
    fillings.iter().map(constant).collect()
}

/// The file's fields are the columns, in order. Other columns of the table get their defaults.
fn from_file(
    environment: &mut Environment,
    into: Into<'_>,
    fillings: &[Filling],
    from: &From,
    mut options: Vec<(String, String)>,
) -> Result<QueryResult> {
    let Into { relation, columns, .. } = into;
    let (path, mut context) = match from {
        From::File(path) => (path.as_str(), environment.outside()?),
        From::Given(_) => ("STDIN", environment.helped()),
    };
    let shared = &environment.database.0;
    let attributes = relation.schema().attributes();
    let expected: Vec<_> = columns.iter().map(|&c| (attributes[c].name.clone(), attributes[c].sql_type)).collect();
    context.defaults = constants(fillings, &options)?;
    let table =
        if io::copy_format(path, &options) == Format::Csv { rejects::take_options(&mut options)? } else { None };
    let rejects = table.map(|table| Rejects::new(shared, table)).transpose()?;
    context.rejects = rejects.as_ref().map(Rejects::sink);
    let file = match from {
        From::File(path) => io::open_for_copy(path, &expected, &options, context)?,
        From::Given(data) => io::open_given_for_copy(data, &expected, &options, context)?,
    };
    if file.schema().len() != columns.len() {
        let message = format!("\"{path}\" has {} columns, {} expected", file.schema().len(), columns.len());
        return Err(Error::new(SqlState::BAD_COPY_FILE, message));
    }
    let same = |(field, &c): (&io::Field, &usize)| field.sql_type == attributes[c].sql_type;
    let in_order = columns.iter().copied().eq(0..attributes.len());
    let rows = if !into.checked && in_order && file.schema().iter().zip(columns).all(same) {
        let fields = (0..columns.len()).collect();
        load::fill_from_file(environment, file, fields, relation, environment.call.token())?
    } else {
        through_insert(environment, into, file)?
    };
    rows_tag("COPY", rows).and_reject(rejects.into_iter().collect())
}

/// Appends a file whose types differ, that lacks columns, or whose rows are checked.
fn through_insert(environment: &mut Environment, into: Into<'_>, file: Arc<dyn FileSource>) -> Result<usize> {
    let Into { relation, columns, .. } = into;
    let attributes = relation.schema().attributes();
    // Through INSERT ... SELECT over the file as a data frame of a private name.
    let name = format!("copy source {:p}", Arc::as_ptr(&file));
    let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let targets: Vec<String> = columns.iter().map(|&c| quote(&attributes[c].name)).collect();
    let catalog = environment.catalog();
    // Files have no enums, no numbers of any length, no ranges and no times with offsets: their texts become such.
    let source = |(field, &column): (&io::Field, &usize)| {
        let name = quote(&field.name);
        let to = attributes[column].sql_type;
        let of = to.enumeration().filter(|_| field.sql_type != to).and_then(|of| catalog.name_of(of));
        match of {
            Some((schema, of)) => {
                format!("{name}::{}.{}{}", quote(schema), quote(of), "[]".repeat(to.dimensions()))
            }
            None if to.is_long_numeric() && field.sql_type.is_string() => format!("{name}::numeric"),
            None if matches!(to, SqlType::Timetz | SqlType::Range(_)) && field.sql_type.is_string() => {
                format!("{name}::{to}")
            }
            None => name,
        }
    };
    let sources: Vec<String> = file.schema().iter().zip(columns).map(source).collect();
    let rows = match into.condition {
        None => format!("select {} from {}", sources.join(", "), quote(&name)),
        Some(condition) => {
            let named = sources.iter().zip(&targets).map(|(value, name)| format!("{value} as {name}"));
            let named: Vec<String> = named.collect();
            let (all, table) = (targets.join(", "), quote(&into.name.name));
            format!(
                "select {all} from (select {} from {}) as {table} where {condition}",
                named.join(", "),
                quote(&name)
            )
        }
    };
    let sql = format!(
        "insert into {}{} ({}) overriding system value {rows}",
        into.name.schema.as_ref().map_or_else(String::new, |schema| quote(schema) + "."),
        quote(&into.name.name),
        targets.join(", "),
    );
    let bound = sql::bind(&sql::parse(&sql)?, &Resolver::new(environment).with_frame(name, file), &[])?;
    match bound {
        sql::Statement::Insert(mut insert) => {
            compute_calls(environment, &mut insert.source)?;
            let plan = execute::optimize(environment, insert.source)?;
            load::fill(environment, &plan, relation)
        }
        parts => {
            let done = super::run(environment, parts, Vec::new())?;
            match done.tag() {
                Tag::Rows(_, rows) => Ok(*rows as usize),
                _ => Err(Error::internal("an INSERT was bound to something else")),
            }
        }
    }
}
