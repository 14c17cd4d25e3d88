//! Rows into relations: INSERT, CREATE TABLE AS, COPY FROM. All rows become visible at once, or none.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::ids::Id;
use base::{Error, Result};
use io::FileSource;
use plan::{Op, Plan};
use scheduler::{CancelToken, JobOptions, JobSpec, MorselRanges, Pipeline, Tasks};
use sql::Insert;
use storage::{Append, Relation};
use types::ops::cast::{TooLong, to_char_n, to_varchar};
use types::{Chunk, Column, ColumnBuilder, SqlType};

use super::rows_tag;
use crate::execute::{self, Running};
use crate::result::QueryResult;
use crate::session::Session;
use crate::source::Source;

/// Rows of a result that one thread appends before others help it.
const SMALL_RESULT: usize = 1 << 16;
/// Threads that append a large result.
const APPENDERS: usize = 16;
/// How long a thread waits for rows before it looks whether another one has failed.
const PATIENCE: Duration = Duration::from_millis(20);

pub(super) fn insert(session: &Session, insert: Insert) -> Result<QueryResult> {
    let relation = Source::relation(&insert.table).map_err(|e| e.at(insert.name.position))?;
    let plan = execute::optimize(session, insert.source)?;
    Ok(rows_tag("INSERT", fill(session, &plan, &relation)?))
}

/// Runs an optimised plan and appends its rows. Returns how many.
pub(super) fn fill(session: &Session, plan: &Plan, relation: &Arc<Relation>) -> Result<usize> {
    let cancel = session.cancel_token();
    if let Some((file, fields)) = whole_file(plan)? {
        return fill_from_file(session, file, fields, relation, cancel);
    }
    let running = execute::start(session, plan, false, cancel)?;
    drain(running, relation, session.database.threads())
}

/// Appends the rows of a query that runs. Once it turns out to be a large one, several threads do: each takes the next
/// chunk and appends it to a zone of its own, which costs more than taking it. They are no workers of the scheduler,
/// which must go on producing while they wait for chunks. Rows in an order stay in it: one thread appends them.
fn drain(mut running: Running, relation: &Arc<Relation>, threads: usize) -> Result<usize> {
    let threads = if running.is_ordered() { 1 } else { threads.clamp(1, APPENDERS) };
    let append = relation.append(threads);
    let mut rows = 0;
    while threads == 1 || rows < SMALL_RESULT {
        match running.next(PATIENCE)? {
            Some(Some(chunk)) => {
                rows += chunk.rows();
                append.append(0, typed_as(chunk, relation)?)?;
            }
            Some(None) => return append.commit(),
            None => {}
        }
    }
    let source = Mutex::new(running);
    // Set with the first error, for the others to stop.
    let stop = AtomicBool::new(false);
    let work = |zone: usize| {
        let result = base::panics::catch(|| drain_into(&append, zone, relation, &source, &stop))
            .unwrap_or_else(|panic| Err(Error::internal(panic)));
        if result.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        result
    };
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let work = &work;
        let spawn =
            |zone| std::thread::Builder::new().name("append".to_owned()).spawn_scoped(scope, move || work(zone));
        // Threads that the system does not grant are done without.
        let helpers: Vec<_> = (1..threads).map_while(|zone| spawn(zone).ok()).collect();
        let mine = work(0);
        let theirs = helpers.into_iter().map(|h| h.join().unwrap_or_else(|_| Err(Error::internal("a thread died"))));
        std::iter::once(mine).chain(theirs).collect()
    });
    // Ends the query if an append failed before it did.
    drop(source);
    results.into_iter().collect::<Result<()>>()?;
    append.commit()
}

/// What one thread does until the rows end or another one fails.
fn drain_into(
    append: &Append,
    zone: usize,
    relation: &Relation,
    source: &Mutex<Running>,
    stop: &AtomicBool,
) -> Result<()> {
    while !stop.load(Ordering::Relaxed) {
        let next = source.lock().unwrap_or_else(PoisonError::into_inner).next(PATIENCE)?;
        match next {
            Some(Some(chunk)) => append.append(zone, typed_as(chunk, relation)?)?,
            Some(None) => break,
            None => {}
        }
    }
    Ok(())
}

/// A file and the numbers of some of its fields.
type FileFields = (Arc<dyn FileSource>, Vec<usize>);

/// The file and its fields, if the plan is nothing but reading them: then its chunks can be stored as they are.
fn whole_file(plan: &Plan) -> Result<Option<FileFields>> {
    let Op::Scan { table, columns, predicates } = &plan.root.op else { return Ok(None) };
    let Source::File(file) = Source::of(&plan.tables[*table].source)? else { return Ok(None) };
    if !predicates.is_empty() {
        return Ok(None);
    }
    let field = |c| columns.iter().find(|(_, column)| *column == c).map(|(attribute, _)| *attribute);
    let fields: Option<Vec<usize>> = plan.output.iter().map(|(_, c)| field(*c)).collect();
    Ok(fields.map(|fields| (file.clone(), fields)))
}

/// Every worker reads pieces of the file into a zone of its own.
pub(super) fn fill_from_file(
    session: &Session,
    file: Arc<dyn FileSource>,
    fields: Vec<usize>,
    relation: &Arc<Relation>,
    cancel: CancelToken,
) -> Result<usize> {
    fields.iter().try_for_each(|&f| file.schema()[f].check_supported())?;
    let scheduler = &session.database.0.scheduler;
    let workers = scheduler.max_workers();
    let append: Arc<Append> = Arc::new(relation.append(workers));
    let (to, target) = (append.clone(), relation.clone());
    let mut job = JobSpec::new();
    let stage = Pipeline::new(format!("load {}", relation.name()), move || {
        let (append, file, fields, target) = (to.clone(), file.clone(), fields.clone(), target.clone());
        let morsels = MorselRanges::new(file.morsels() as u64, workers, 1);
        Ok(Tasks::boxed(morsels, move |worker, morsel| {
            for piece in morsel.rows() {
                file.read(piece as usize, &fields, &[], &mut |chunk| {
                    append.append(worker.index(), typed_as(chunk, &target)?)
                })?;
            }
            Ok(())
        }))
    });
    job.add(stage, &[]);
    let handle = scheduler.submit(job, JobOptions { cancel, ..JobOptions::default() });
    session.runs(&handle, false);
    handle.wait()?;
    let append = Arc::into_inner(append).expect("the job is over and gone");
    append.commit()
}

/// The chunk with exactly the relation's types. Only bare NULLs and the lengths of strings can differ: texts that are too
/// long are error 22001.
fn typed_as(chunk: Chunk, relation: &Relation) -> Result<Chunk> {
    let rows = chunk.rows();
    let attributes = relation.schema().attributes();
    let columns = chunk.into_columns().into_iter().zip(attributes).map(|(column, attribute)| {
        match (column.sql_type(), attribute.sql_type) {
            (from, to) if from == to => Ok(column),
            (SqlType::Null, to) => {
                let mut nulls = ColumnBuilder::new(to, rows);
                (0..rows).for_each(|_| nulls.push_null());
                Ok(nulls.finish())
            }
            (_, to @ (SqlType::Varchar(_) | SqlType::Char(_))) => fitted(column, to)
                .map_err(|e| e.detail(format!("column \"{}\" of \"{}\"", attribute.name, relation.name()))),
            (_, to) => Ok(column.with_type(to)),
        }
    });
    Ok(Chunk::new(rows, columns.collect::<Result<_>>()?))
}

/// Strings as `varchar(n)` or `char(n)`; copied only if some of them changes.
fn fitted(column: Column, to: SqlType) -> Result<Column> {
    let fit = |text| match to {
        SqlType::Char(n) => to_char_n(text, n, TooLong::Refuse),
        SqlType::Varchar(n) => to_varchar(text, n, TooLong::Refuse),
        _ => Ok(text),
    };
    let rows = column.rows();
    let mut changed = false;
    for row in 0..rows {
        let text = column.str(row);
        changed |= fit(text)?.len() != text.len();
    }
    if !changed {
        return Ok(column.with_type(to));
    }
    let mut builder = ColumnBuilder::new(to, rows);
    for row in 0..rows {
        if column.is_null(row) {
            builder.push_null();
        } else {
            builder.push_str(fit(column.str(row))?);
        }
    }
    Ok(builder.finish())
}
