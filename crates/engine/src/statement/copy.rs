//! COPY: files into tables and query results into files.

use base::{Error, Result, SqlState};
use sql::{Copy, CopyTarget};
use storage::Relation;

use super::{load, result_columns, rows_tag};
use crate::result::QueryResult;
use crate::session::Session;
use crate::source::Source;
use crate::{execute, files};

pub(super) fn copy(session: &Session, copy: Copy) -> Result<QueryResult> {
    match copy {
        Copy::From { name, table, columns, target, position, options } => {
            let relation = Source::relation(&table).map_err(|e| e.at(name.position))?;
            let path = path(target, "COPY FROM STDIN").map_err(|e| e.at(position))?;
            let rows = from_file(session, &relation, &columns, &path, &options).map_err(|e| e.at(position))?;
            Ok(rows_tag("COPY", rows))
        }
        Copy::To { plan, target, position, options } => {
            let path = path(target, "COPY TO STDOUT").map_err(|e| e.at(position))?;
            let cancel = session.begin();
            let plan = execute::optimize(session, plan)?;
            let columns = result_columns(&plan);
            let mut writer = files::Writer::create(&path, &columns, &options).map_err(|e| e.at(position))?;
            let mut result = QueryResult::running(columns, execute::start(session, &plan, false, cancel)?);
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
        CopyTarget::Stdin | CopyTarget::Stdout => Err(Error::unsupported(what).hint("name a file")),
    }
}

/// The file's fields are the columns, in order. Other columns of the table get their defaults.
fn from_file(
    session: &Session,
    relation: &std::sync::Arc<Relation>,
    columns: &[usize],
    path: &str,
    options: &[(String, String)],
) -> Result<usize> {
    let attributes = relation.schema().attributes();
    let expected: Vec<_> = columns.iter().map(|&c| (attributes[c].name.clone(), attributes[c].sql_type)).collect();
    let file = files::open_for_copy(path, &expected, options)?;
    if file.schema().len() != columns.len() {
        let message = format!("\"{path}\" has {} columns, {} expected", file.schema().len(), columns.len());
        return Err(Error::new(SqlState::BAD_COPY_FILE, message));
    }
    let same = |(field, &c): (&io::Field, &usize)| field.sql_type == attributes[c].sql_type;
    let in_order = columns.iter().copied().eq(0..attributes.len());
    if in_order && file.schema().iter().zip(columns).all(same) {
        let fields = (0..columns.len()).collect();
        return load::fill_from_file(session, file, fields, relation, session.begin());
    }
    // Types differ or columns are missing: through INSERT ... SELECT over the file as a data frame of a private name.
    let name = format!("copy source {:p}", std::sync::Arc::as_ptr(&file));
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
    session.database.register_frame(&name, file);
    let bound = session.bind_text(&sql);
    session.database.remove_frame(&name);
    match bound? {
        sql::Statement::Insert(insert) => {
            let plan = execute::optimize(session, insert.source)?;
            load::fill(session, &plan, relation)
        }
        _ => Err(Error::internal("an INSERT was bound to something else")),
    }
}
