//! Our sqllogictest files in PostgreSQL, whose answers they hold. What is not PostgreSQL's there says `skipif postgresql` or
//! `onlyif morseldb`.

use std::future::{Ready, ready};
use std::io;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sqllogictest::{
    DB, DBOutput, DefaultColumnType, Runner, default_column_validator, default_normalizer, default_validator,
};

use crate::postgres::{Connection, Postgres};

/// A connection as the runner sees it.
#[derive(Debug)]
pub struct Peer(Connection);

impl DB for Peer {
    type Error = io::Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> io::Result<DBOutput<DefaultColumnType>> {
        let answer = self.0.query(sql)?.map_err(|failure| io::Error::other(failure.to_string()))?;
        let Some(types) = &answer.types else { return Ok(DBOutput::StatementComplete(answer.count)) };
        let types = types.iter().copied().map(column_type).collect();
        let mut rows = answer.text_rows();
        rows.iter_mut().flatten().filter(|text| text.is_empty()).for_each(|text| "(empty)".clone_into(text));
        Ok(DBOutput::Rows { rows, types })
    }

    fn engine_name(&self) -> &str {
        "postgresql"
    }
}

fn column_type(type_id: u32) -> DefaultColumnType {
    match type_id {
        20 | 21 | 23 => DefaultColumnType::Integer,
        700 | 701 | 1700 => DefaultColumnType::FloatingPoint,
        _ => DefaultColumnType::Text,
    }
}

type Connect = Box<dyn FnMut() -> Ready<io::Result<Peer>>>;

/// A runner with a database of its own.
fn runner(server: &Postgres) -> Result<Runner<Peer, Connect>, String> {
    let mut first = Some(server.new_database().map_err(|e| e.to_string())?);
    let mut connect = move || match first.take() {
        Some(connection) => Ok(Peer(connection)),
        None => Err(io::Error::other("files have one connection")),
    };
    Ok(Runner::new(Box::new(move || ready(connect())) as Connect))
}

/// Runs a file in a fresh database; an error says where and what.
pub fn run_file(server: &Postgres, path: &Path) -> Result<(), String> {
    runner(server)?.run_file(path).map_err(|e| e.to_string())
}

/// Rewrites a file with PostgreSQL's answers, where they are others.
pub fn write_answers(server: &Postgres, path: &Path) -> Result<(), String> {
    let mut runner = runner(server)?;
    let written = runner.update_test_file(path, " ", default_validator, default_normalizer, default_column_validator);
    // Connections answer before they return: nothing is left to wait for.
    match pin!(written).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(written) => written.map_err(|e| e.to_string()),
        Poll::Pending => Err("the runner waits".to_owned()),
    }
}
