//! What an insert of one row costs, alone and with a query after it, by the size of the table: neither the list of chunks
//! nor the sample may make it dearer.

use std::time::{Duration, Instant};

use base::Result;
use engine::{Config, Database, Session};

/// Sizes of the table before, in full chunks.
const CHUNKS: [usize; 3] = [1, 100, 10_000];
const CHUNK_ROWS: usize = 1 << 16;
const INSERTS: usize = 2000;
const QUERIES: usize = 300;

pub(crate) fn run() -> Result<bool> {
    let mut session = Database::new(Config::default())?.connect();
    let mut filler = String::from("create table filler as select 0::smallint as k");
    let bits = CHUNK_ROWS.ilog2();
    for bit in 0..bits {
        let of = if bit == 0 { "(select 1)" } else { "filler" };
        // Doubles the rows; the first makes two of one.
        filler += &format!("; insert into filler select {} from {of} x", if bit == 0 { "0" } else { "k" });
    }
    session.run_script(&filler, |_, _| Ok(()))?;
    println!("{:>8} {:>14} {:>22} {:>12}", "chunks", "insert, us", "and a point query, us", "memory, MiB");
    for chunks in CHUNKS {
        statement(&mut session, "create or replace table t (k smallint, v smallint)")?;
        for _ in 0..chunks {
            statement(&mut session, "insert into t select k, k from filler")?;
        }
        let insert = |n: usize| format!("insert into t values ({}, 1)", n % 1000 + 1);
        let alone = median(INSERTS, |n| statement(&mut session, &insert(n)))?;
        let both = median(QUERIES, |n| {
            statement(&mut session, &insert(n))?;
            statement(&mut session, &format!("select v from t where k = {}", n % 1000 + 1))
        })?;
        let memory = session.database().memory_used() >> 20;
        println!("{chunks:>8} {:>14.1} {:>22.1} {memory:>12}", alone.as_secs_f64() * 1e6, both.as_secs_f64() * 1e6);
    }
    Ok(true)
}

fn statement(session: &mut Session, sql: &str) -> Result<()> {
    session.execute(sql, &[])?.collect().map(drop)
}

fn median(times: usize, mut run: impl FnMut(usize) -> Result<()>) -> Result<Duration> {
    let mut all = Vec::with_capacity(times);
    for n in 0..times {
        let begin = Instant::now();
        run(n)?;
        all.push(begin.elapsed());
    }
    all.sort_unstable();
    Ok(all[times / 2])
}
