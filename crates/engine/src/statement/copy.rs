//! COPY: files into tables and query results into files.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use io::{FileSource, Format};
use sql::{Copy, CopyTarget};
use storage::Relation;
use types::Value;

use super::{load, result_columns, rows_tag};
use crate::environment::Environment;
use crate::rejects::{self, Rejects};
use crate::resolver::Resolver;
use crate::result::QueryResult;
use crate::source::Source;
use crate::{execute, files};

pub(super) fn copy(environment: &Environment, copy: Copy) -> Result<QueryResult> {
    match copy {
        Copy::From { name, table, columns, defaults, target, position, options } => {
            let relation = Source::relation(&table).map_err(|e| e.at(name.position))?;
            let path = path(target, "COPY FROM STDIN").map_err(|e| e.at(position))?;
            from_file(environment, &relation, &columns, defaults, &path, options).map_err(|e| e.at(position))
        }
        Copy::To { plan, target, position, options } => {
            let path = path(target, "COPY TO STDOUT").map_err(|e| e.at(position))?;
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

fn path(target: CopyTarget, what: &str) -> Result<String> {
    match target {
        CopyTarget::File(path) => Ok(path),
        CopyTarget::Stdin => Err(Error::unsupported(what).hint("name a file, which may be '/dev/stdin'")),
        CopyTarget::Stdout => Err(Error::unsupported(what).hint("name a file, which may be '/dev/stdout'")),
    }
}

/// The file's fields are the columns, in order. Other columns of the table get their defaults.
fn from_file(
    environment: &Environment,
    relation: &Arc<Relation>,
    columns: &[usize],
    defaults: Vec<Value>,
    path: &str,
    mut options: Vec<(String, String)>,
) -> Result<QueryResult> {
    let mut context = environment.outside()?;
    let shared = &environment.database.0;
    let attributes = relation.schema().attributes();
    let expected: Vec<_> = columns.iter().map(|&c| (attributes[c].name.clone(), attributes[c].sql_type)).collect();
    context.defaults = defaults;
    let table =
        if io::copy_format(path, &options) == Format::Csv { rejects::take_options(&mut options)? } else { None };
    let rejects = table.map(|table| Rejects::new(shared, table)).transpose()?;
    context.rejects = rejects.as_ref().map(Rejects::sink);
    let file = io::open_for_copy(path, &expected, &options, context)?;
    if file.schema().len() != columns.len() {
        let message = format!("\"{path}\" has {} columns, {} expected", file.schema().len(), columns.len());
        return Err(Error::new(SqlState::BAD_COPY_FILE, message));
    }
    let same = |(field, &c): (&io::Field, &usize)| field.sql_type == attributes[c].sql_type;
    let in_order = columns.iter().copied().eq(0..attributes.len());
    let rows = if in_order && file.schema().iter().zip(columns).all(same) {
        let fields = (0..columns.len()).collect();
        load::fill_from_file(environment, file, fields, relation, environment.call.token())?
    } else {
        through_insert(environment, relation, columns, file)?
    };
    rows_tag("COPY", rows).and_reject(rejects.into_iter().collect())
}

/// Appends a file whose types differ or that lacks columns, the fields of which go to these columns.
fn through_insert(
    environment: &Environment,
    relation: &Arc<Relation>,
    columns: &[usize],
    file: Arc<dyn FileSource>,
) -> Result<usize> {
    let attributes = relation.schema().attributes();
    // Through INSERT ... SELECT over the file as a data frame of a private name.
    let name = format!("copy source {:p}", Arc::as_ptr(&file));
    let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let targets: Vec<String> = columns.iter().map(|&c| quote(&attributes[c].name)).collect();
    let sources: Vec<String> = file.schema().iter().map(|f| quote(&f.name)).collect();
    let sql = format!(
        "insert into {} ({}) select {} from {}",
        quote(relation.name()),
        targets.join(", "),
        sources.join(", "),
        quote(&name)
    );
    match sql::bind(&sql::parse(&sql)?, &Resolver::new(environment).with_frame(name, file), &[])? {
        sql::Statement::Insert(insert) => {
            let plan = execute::optimize(environment, insert.source)?;
            load::fill(environment, &plan, relation)
        }
        _ => Err(Error::internal("an INSERT was bound to something else")),
    }
}
