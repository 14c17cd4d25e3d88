//! A statement whose WITH changes data: its parts run one after the other, those that nobody reads last, and what they give is a
//! table for the others. All were bound before the first one ran, so that none sees what another one does.

use std::collections::HashMap;
use std::sync::Arc;

use base::memory::Reservation;
use base::{Error, Result};
use io::MemorySource;
use plan::{Plan, TableInfo};
use sql::{Outcome, Statement, With, WithPart};
use types::Chunk;

use crate::environment::Environment;
use crate::files;
use crate::result::{QueryResult, Tag};
use crate::source::Source;

pub(super) fn with(environment: &mut Environment, with: With) -> Result<QueryResult> {
    let block = environment.block.clone().ok_or_else(|| Error::internal("a change outside of a transaction"))?;
    block.begin_parts();
    let done = run(environment, &mut Rows::default(), with);
    block.end_parts();
    done
}

fn run(environment: &mut Environment, there: &mut Rows, With { parts, then }: With) -> Result<QueryResult> {
    let mut later = Vec::new();
    for part in parts {
        if part.is_read {
            let chunks = of_part(environment, there, part.statement)?.collect()?;
            there.put(environment, part.number, (part.fields, chunks))?;
        } else {
            later.push(part);
        }
    }
    let (then, counted) = match then {
        Outcome::Of(then) => (Some(*then), None),
        Outcome::Counted(verb, numbers) => (None, Some((verb, numbers))),
    };
    let mut result = then.map(|then| of_part(environment, there, then)).transpose()?;
    if let Some(rows) = result.take_if(|result| result.has_rows()) {
        // The transaction may end before they are read.
        let columns = rows.columns().to_vec();
        result = Some(QueryResult::ready(columns, rows.collect()?));
    }
    let mut count = 0;
    for WithPart { number, statement, .. } in later {
        let done = of_part(environment, there, statement)?;
        if let (Tag::Rows(_, rows), Some((_, numbers))) = (done.tag(), &counted) {
            count += if numbers.contains(&number) { *rows } else { 0 };
        }
        done.collect()?;
    }
    match (result, counted) {
        (Some(result), _) => Ok(result),
        (None, Some((verb, _))) => Ok(QueryResult::done(Tag::Rows(verb, count))),
        (None, None) => Err(Error::internal("a statement of parts that gives nothing")),
    }
}

/// What parts have given, by their numbers.
#[derive(Default)]
struct Rows {
    tables: HashMap<usize, sql::Table>,
    charged: Vec<Reservation>,
}

impl Rows {
    fn put(
        &mut self,
        environment: &Environment,
        number: usize,
        (fields, chunks): (Vec<catalog::Field>, Vec<Chunk>),
    ) -> Result<()> {
        let bytes = chunks.iter().map(Chunk::bytes).sum();
        self.charged.push(environment.statement_budget().reserve(bytes, "with")?);
        let fields = fields.iter().map(|field| io::Field::new(field.name.as_str(), field.sql_type)).collect();
        let file = Arc::new(MemorySource::new(fields, chunks));
        self.tables.insert(number, files::table("with", file, &environment.database.0.samples));
        Ok(())
    }

    /// Puts the rows into the places where a plan reads them.
    fn enter(&self, plan: &mut Plan) -> Result<()> {
        for (_, TableInfo { source, statistics, .. }) in plan.tables.iter_mut() {
            let Source::Part(number) = Source::of(source)? else { continue };
            let Some(table) = self.tables.get(number) else {
                return Err(Error::internal("a part of WITH is read before it has run"));
            };
            (*source, *statistics) = (table.source.clone(), table.statistics.clone());
        }
        Ok(())
    }
}

fn of_part(environment: &mut Environment, there: &mut Rows, mut statement: Statement) -> Result<QueryResult> {
    if let Statement::With(with) = statement {
        return run(environment, there, *with);
    }
    if let Some(plan) = statement.plan_to_run() {
        there.enter(plan)?;
    }
    super::run(environment, statement, Vec::new())
}
