//! A statement whose WITH changes data: its parts run one after the other, those that nobody reads last, and what they give is a
//! table for the others. All were bound before the first one ran, so that none sees what another one does.

use std::sync::Arc;

use base::memory::Reservation;
use base::{Error, Result};
use io::MemorySource;
use plan::{Plan, TableInfo};
use sql::{Statement, With, WithPart};
use types::Chunk;

use crate::environment::Environment;
use crate::files;
use crate::result::QueryResult;
use crate::source::Source;

pub(super) fn with(environment: &mut Environment, with: With) -> Result<QueryResult> {
    let block = environment.block.clone().ok_or_else(|| Error::internal("a change outside of a transaction"))?;
    block.begin_parts();
    let done = run(environment, with);
    block.end_parts();
    done
}

fn run(environment: &mut Environment, With { parts, then }: With) -> Result<QueryResult> {
    let mut there = Rows::default();
    let mut later = Vec::new();
    for part in parts {
        if part.is_read {
            let chunks = of_part(environment, &there, part.statement)?.collect()?;
            there.put(environment, Some((part.fields, chunks)))?;
        } else {
            there.put(environment, None)?;
            later.push(part);
        }
    }
    let mut result = of_part(environment, &there, then)?;
    if result.has_rows() {
        // The transaction may end before they are read.
        let columns = result.columns().to_vec();
        let chunks = result.collect()?;
        result = QueryResult::ready(columns, chunks);
    }
    for WithPart { statement, .. } in later {
        of_part(environment, &there, statement)?.collect()?;
    }
    Ok(result)
}

/// What parts have given, by their numbers.
#[derive(Default)]
struct Rows {
    tables: Vec<Option<sql::Table>>,
    charged: Vec<Reservation>,
}

impl Rows {
    fn put(&mut self, environment: &Environment, rows: Option<(Vec<catalog::Field>, Vec<Chunk>)>) -> Result<()> {
        let Some((fields, chunks)) = rows else {
            self.tables.push(None);
            return Ok(());
        };
        let bytes = chunks.iter().map(Chunk::bytes).sum();
        self.charged.push(environment.statement_budget().reserve(bytes, "with")?);
        let fields = fields.iter().map(|field| io::Field::new(field.name.as_str(), field.sql_type)).collect();
        let file = Arc::new(MemorySource::new(fields, chunks));
        self.tables.push(Some(files::table("with", file, &environment.database.0.samples)));
        Ok(())
    }

    /// Puts the rows into the places where a plan reads them.
    fn enter(&self, plan: &mut Plan) -> Result<()> {
        for (_, TableInfo { source, statistics, .. }) in plan.tables.iter_mut() {
            let Source::Part(number) = Source::of(source)? else { continue };
            let Some(table) = self.tables.get(*number).and_then(Option::as_ref) else {
                return Err(Error::internal("a part of WITH is read before it has run"));
            };
            (*source, *statistics) = (table.source.clone(), table.statistics.clone());
        }
        Ok(())
    }
}

fn of_part(environment: &mut Environment, there: &Rows, mut statement: Statement) -> Result<QueryResult> {
    if let Some(plan) = statement.plan_to_run() {
        there.enter(plan)?;
    }
    super::run(environment, statement, Vec::new())
}
