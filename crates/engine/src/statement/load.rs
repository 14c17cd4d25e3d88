//! Rows into relations: INSERT, CREATE TABLE AS, COPY FROM. All rows become visible at once, or none.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use base::ids::Id;
use base::{Budget, Error, Result};
use io::{FileSource, Step};
use plan::{Op, Plan, TableSource};
use runtime::result::Sink;
use scheduler::{CancelToken, JobOptions, JobSpec, Pipeline, Progress, Tasks, Waker};
use sql::{Insert, ObjectName};
use storage::{Append, Relation};
use types::{Chunk, FreeRows, SqlType};

use super::rows_tag;
use crate::environment::Environment;
use crate::execute::{self, Running};
use crate::freezing::freeze_behind;
use crate::pieces::{Pieces, prepare_file};
use crate::result::{QueryResult, Tag};
use crate::source::Source;
use crate::transaction::Block;
use crate::typed::typed;

/// How long to wait for rows at a time.
const PATIENCE: Duration = Duration::from_secs(3600);

pub(super) fn insert(environment: &Environment, insert: Insert) -> Result<QueryResult> {
    let relation = Source::relation(&insert.table).map_err(|e| e.at(insert.name.position))?;
    let plan = execute::optimize(environment, insert.source)?;
    Ok(rows_tag("INSERT", fill(environment, &plan, &relation)?))
}

/// As [`insert`], for EXPLAIN ANALYZE: how many rows there were, the plan, and how it ran.
pub(super) fn insert_watched(environment: &Environment, insert: Insert) -> Result<(usize, Ran)> {
    let relation = Source::relation(&insert.table).map_err(|e| e.at(insert.name.position))?;
    let begin = Instant::now();
    let plan = execute::optimize(environment, insert.source)?;
    let optimized = begin.elapsed();
    let (rows, running) = fill_by_plan(environment, &plan, &relation, true)?;
    Ok((rows, Ran { plan, optimized, running }))
}

/// A plan that has run.
pub(super) struct Ran {
    pub plan: Plan,
    pub optimized: Duration,
    pub running: Running,
}

/// REFRESH MATERIALIZED VIEW: other rows in the place of all.
pub(super) fn refresh(
    environment: &Environment,
    name: &ObjectName,
    table: &TableSource,
    plan: Option<Plan>,
) -> Result<QueryResult> {
    let relation = Source::relation(table).map_err(|e| e.at(name.position))?;
    let block = environment.block.clone().ok_or_else(|| Error::internal("a change outside of a transaction"))?;
    block.is_queried();
    block.transaction.delete_all(&relation)?;
    if let Some(plan) = plan {
        let plan = execute::optimize(environment, plan)?;
        fill(environment, &plan, &relation)?;
    }
    Ok(QueryResult::done(Tag::Done("REFRESH MATERIALIZED VIEW")))
}

/// Runs an optimised plan, whose rows go into the relation. Returns how many.
pub(super) fn fill(environment: &Environment, plan: &Plan, relation: &Arc<Relation>) -> Result<usize> {
    let cancel = environment.call.token();
    if let Some((file, fields)) = whole_file(plan)? {
        return fill_from_file(environment, file, fields, relation, cancel);
    }
    fill_by_plan(environment, plan, relation, false).map(|(rows, _)| rows)
}

fn fill_by_plan(
    environment: &Environment,
    plan: &Plan,
    relation: &Arc<Relation>,
    analyze: bool,
) -> Result<(usize, Running)> {
    let sink = OnceLock::new();
    let make = |budget: &Budget| {
        let new = || Arc::new(TableSink::new(environment, relation, budget));
        sink.get_or_init(new).clone() as Arc<dyn Sink>
    };
    let mut running = execute::start_change(environment, plan, analyze, environment.call.token(), &make)?;
    let end = finish(&mut running);
    freeze_behind(&environment.database.0, relation);
    // What is committed is committed, even if it is cancelled just then.
    match sink.get().and_then(|sink| sink.committed.get()) {
        Some(&rows) => Ok((rows, running)),
        None => Err(end.err().unwrap_or_else(|| Error::internal("a change has ended without taking effect"))),
    }
}

/// Runs an optimised plan to its end, whose rows go to a sink.
pub(super) fn run_to(
    environment: &Environment,
    plan: &Plan,
    analyze: bool,
    make: execute::MakeSink<'_>,
) -> Result<Running> {
    let mut running = execute::start_change(environment, plan, analyze, environment.call.token(), make)?;
    finish(&mut running)?;
    Ok(running)
}

/// Waits for the end of a plan without rows of its own.
fn finish(running: &mut Running) -> Result<()> {
    while !matches!(running.next(PATIENCE)?, Some(None)) {}
    Ok(())
}

/// Rows on their way into a relation.
#[derive(Debug)]
struct TableSink {
    /// The transaction whose rows they are; none: they are committed when all are there.
    block: Option<Arc<Block>>,
    relation: Arc<Relation>,
    append: Append,
    /// How many rows there were.
    committed: OnceLock<usize>,
}

impl TableSink {
    fn new(environment: &Environment, relation: &Arc<Relation>, budget: &Budget) -> Self {
        let (relation, append) = (relation.clone(), relation.append(budget));
        Self { block: environment.block.clone(), relation, append, committed: OnceLock::new() }
    }
}

impl Sink for TableSink {
    fn append(&self, worker: usize, morsel: u64, chunk: Chunk) -> Result<()> {
        self.append.append(worker, morsel, typed_as(chunk, &self.relation)?)
    }
    fn free_rows(&self, worker: usize, types: &[SqlType], most: usize) -> Result<Option<FreeRows>> {
        let attributes = self.relation.schema().attributes().iter().map(|a| &a.sql_type);
        if attributes.eq(types) { self.append.free_rows(worker, most) } else { Ok(None) }
    }
    unsafe fn advance(&self, worker: usize, morsel: u64, rows: usize, nulls: &[Option<&[u8]>]) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.append.advance(worker, morsel, rows, nulls) }
    }
    fn end_morsel(&self, worker: usize, rows: Range<u64>, broken: bool) {
        self.append.end_morsel(worker, rows, broken);
    }
    fn finish(&self) -> Result<()> {
        let rows = match &self.block {
            Some(block) => block.transaction.insert(&self.append)?,
            None => self.append.commit()?.rows(),
        };
        self.committed.set(rows).expect("a change ends once");
        Ok(())
    }
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
    environment: &Environment,
    file: Arc<dyn FileSource>,
    fields: Vec<usize>,
    relation: &Arc<Relation>,
    cancel: CancelToken,
) -> Result<usize> {
    let pieces = Arc::new(Pieces::<()>::new(file.clone(), fields, Vec::new(), false)?);
    let scheduler = &environment.database.0.scheduler;
    let sink = Arc::new(TableSink::new(environment, relation, &environment.statement_budget()));
    let to = sink.clone();
    let mut job = JobSpec::new();
    let prepare = job.add(Pipeline::new("prepare", move |cut| Ok(prepare_file(file.clone(), cut))), &[]);
    let name = format!("load {}", relation.name());
    // Who wakes the job when bytes of a file on a server are there.
    let waker = Arc::new(OnceLock::<Waker>::new());
    let wakes = waker.clone();
    let stage = Pipeline::new(name.clone(), move |cut| {
        let (sink, pieces, cut, waker) = (to.clone(), pieces.clone(), cut.clone(), wakes.clone());
        Ok(Tasks::boxed(pieces.cut(&cut), move |worker, morsel| {
            let (mut piece, slice) = (pieces.take(morsel)?, cut.begin());
            loop {
                match piece.reader.step()? {
                    Step::Chunk(chunk) => {
                        let (begin, rows) = (piece.number(), chunk.rows());
                        sink.append(worker.index(), begin, chunk)?;
                        let (end, broken) = piece.advance(rows);
                        sink.end_morsel(worker.index(), begin..end, broken);
                    }
                    Step::More => {}
                    Step::Wait(wanted) => {
                        let waker = waker.clone();
                        wanted.then(move || waker.get().into_iter().for_each(Waker::wake));
                        return Ok(Progress::NotNow(pieces.put(piece)));
                    }
                    Step::End => {
                        sink.end_morsel(worker.index(), piece.rest(), false);
                        return Ok(Progress::Done);
                    }
                }
                if slice.is_over() {
                    return Ok(Progress::Yielded(pieces.put(piece)));
                }
            }
        }))
    });
    job.add(stage, &[prepare]);
    let observer = environment.observer(["prepare", &name].into_iter(), None);
    let handle = scheduler.submit(job, JobOptions { cancel, observer, ..environment.job_options() });
    let _ = waker.set(handle.waker());
    // For whatever came before that.
    handle.wake();
    environment.runs(&handle, false);
    handle.wait()?;
    sink.finish()?;
    freeze_behind(&environment.database.0, relation);
    Ok(*sink.committed.get().expect("just committed"))
}

/// The chunk with exactly the relation's types. Only bare NULLs and the lengths of strings can differ: texts that are too
/// long are error 22001.
fn typed_as(chunk: Chunk, relation: &Relation) -> Result<Chunk> {
    let rows = chunk.rows();
    let attributes = relation.schema().attributes();
    let columns = chunk.into_columns().into_iter().zip(attributes);
    let columns = columns.map(|(column, attribute)| typed(column, attribute, relation.name()));
    Ok(Chunk::new(rows, columns.collect::<Result<_>>()?))
}
