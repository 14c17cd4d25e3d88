//! The 22 queries, one after the other, each the best of several runs.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base::Result;
use engine::rows::text_rows;
use engine::{Config, Database, Session};
use tpch::{Format, QUERIES, Query, Source};

use crate::{DataOptions, TpchOptions};

/// What came of a query.
pub(crate) struct Outcome {
    /// The first run: planning, compilation, caches that are not warm.
    pub first: Duration,
    /// The best run.
    pub best: Duration,
    /// Rows of the result.
    pub rows: usize,
    /// What is wrong with the answer; none where it is right or not known.
    pub wrong: Option<String>,
}

pub(crate) fn run(options: &TpchOptions) -> Result<bool> {
    let folder = prepare(&options.data)?;
    let mut session = open(&options.data)?;
    let start = Instant::now();
    tpch::load(&mut session, &folder, source(&options.data), |_| {})?;
    println!("loaded in {:.0} ms, {} MiB", millis(start.elapsed()), session.database().memory_used() >> 20);
    for statement in &options.set {
        session.execute(statement, &[])?.collect()?;
    }
    let chosen = |q: &&Query| options.query.is_empty() || options.query.contains(&(q.number as u8));
    let (mut logs, mut right, mut count) = (0.0, true, 0);
    println!("query   first ms    best ms     rows");
    for query in QUERIES.iter().filter(chosen) {
        match measure(&mut session, query, options.runs, options.data.sf == 1.0) {
            Ok(o) => {
                let verdict = o.wrong.map(|w| format!("  WRONG: {w}")).unwrap_or_default();
                right &= verdict.is_empty();
                println!(
                    "Q{:<5}{:>10.2} {:>10.2} {:>8}{verdict}",
                    query.number,
                    millis(o.first),
                    millis(o.best),
                    o.rows
                );
                logs += millis(o.best).ln();
                count += 1;
            }
            Err(error) => {
                right = false;
                println!("Q{:<5}  {error:?}", query.number);
            }
        }
        if options.explain {
            for row in text_rows(session.execute(&format!("EXPLAIN ANALYZE {}", query.sql), &[])?)? {
                println!("    {}", row.join(" "));
            }
        }
    }
    if count > 0 {
        println!("geometric mean of {count}: {:.2} ms", (logs / f64::from(count)).exp());
    }
    Ok(right)
}

/// Runs a query several times, and checks its answer if there is one for the data.
pub(crate) fn measure(session: &mut Session, query: &Query, runs: usize, check: bool) -> Result<Outcome> {
    let mut outcome = Outcome { first: Duration::ZERO, best: Duration::MAX, rows: 0, wrong: None };
    for run in 0..runs.max(1) {
        let start = Instant::now();
        let result = session.execute(query.sql, &[])?;
        let columns = result.columns().to_vec();
        let chunks = result.collect()?;
        let time = start.elapsed();
        outcome.best = outcome.best.min(time);
        if run == 0 {
            outcome.first = time;
            outcome.rows = chunks.iter().map(types::Chunk::rows).sum();
            if check {
                let types: Vec<_> = columns.iter().map(|c| c.sql_type).collect();
                let rows: Vec<_> = chunks
                    .iter()
                    .flat_map(|c| engine::rows::chunk_rows(c, &types, &types::ops::date::Zone::utc()))
                    .collect();
                outcome.wrong = tpch::compare_answers(query.answer, &rows, true).err();
            }
        }
    }
    Ok(outcome)
}

/// A session of a fresh database.
pub(crate) fn open(options: &DataOptions) -> Result<Session> {
    Ok(Database::new(Config { threads: options.threads, ..Config::default() })?.connect())
}

/// Where the tables of a run come from.
pub(crate) fn source(options: &DataOptions) -> Source {
    if options.csv { Source::Csv } else { Source::Parquet }
}

/// The folder with the files; they are generated first if the last of them is missing.
pub(crate) fn prepare(options: &DataOptions) -> Result<PathBuf> {
    let folder = options.data.clone().unwrap_or_else(|| PathBuf::from(format!("data/tpch-sf{}", options.sf)));
    let (format, extension) = if options.csv { (Format::Csv, "csv") } else { (Format::Parquet, "parquet") };
    if tpch::TABLES.iter().all(|t| folder.join(format!("{t}.{extension}")).exists()) {
        return Ok(folder);
    }
    let bar = indicatif::ProgressBar::new(100);
    bar.set_style(crate::demo::style("generating {msg:10}"));
    let all: u64 = tpch::TABLES.iter().map(|t| tpch::rows(t, options.sf)).sum();
    let mut finished = 0;
    tpch::generate(options.sf, &folder, format, |step| {
        let rows = tpch::rows(step.table, options.sf);
        bar.set_message(step.table);
        bar.set_position((finished + rows * step.done as u64 / step.parts as u64) * 100 / all.max(1));
        finished += if step.done == step.parts { rows } else { 0 };
    })?;
    bar.finish_and_clear();
    Ok(folder)
}

/// Milliseconds.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
