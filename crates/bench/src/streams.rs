//! TPC-H in streams beside one another, each a permutation of the queries (thesis figure 4.13), and a query that joins
//! another one (figure 4.14).

use std::time::Instant;

use base::{Error, Random, Result};
use engine::{Database, Session};
use tpch::{QUERIES, Query};

use crate::DataOptions;
use crate::plot::{Chart, PlotOption};
use crate::tpch::{open, prepare, source};
use crate::traces::{self, Span};

/// A run.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct StreamsOptions {
    #[command(flatten)]
    data: DataOptions,
    #[command(flatten)]
    plot: PlotOption,
}

/// Streams at once.
const STREAMS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Queries of a measurement, at least.
const QUERIES_AT_LEAST: usize = 4 * 22;
/// Pieces of time in which workers are counted.
const PIECES: usize = 16;

pub(crate) fn run(StreamsOptions { data: options, plot }: &StreamsOptions) -> Result<bool> {
    let folder = prepare(options)?;
    let mut session = open(options)?;
    tpch::load(&mut session, &folder, source(options), |_| {})?;
    // Code is compiled, and texts that are read have forms that suit that.
    (0..2).try_for_each(|_| QUERIES.iter().try_for_each(|query| ask(&mut session, query)))?;
    let database = session.database().clone();
    println!("TPC-H at scale factor {}, {} workers", options.sf, database.threads());
    println!("{:>7} {:>8} {:>10} {:>8}", "streams", "queries", "queries/s", "of best");
    let rates = STREAMS.map(|count| throughput(&database, count));
    let rates = rates.into_iter().collect::<Result<Vec<_>>>()?;
    let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    for (count, (queries, rate)) in STREAMS.iter().zip(&rates) {
        println!("{count:7} {queries:8} {rate:10.1} {:7.1}%", 100.0 * rate / best);
    }
    let points = STREAMS.iter().map(|&count| count as f64).zip(rates.iter().map(|(_, rate)| *rate));
    let rates = Chart { name: "queries a second by streams".into(), lines: vec![points.collect()] };
    let workers = elasticity(&mut session)?;
    plot.write("Streams", &["all queries, or Q13", "Q14"], &[rates, workers], false)?;
    Ok(true)
}

fn ask(session: &mut Session, query: &Query) -> Result<()> {
    session.execute(query.sql, &[])?.collect().map(drop)
}

/// Queries, and how many of them end in a second.
fn throughput(database: &Database, streams: usize) -> Result<(usize, f64)> {
    let rounds = QUERIES_AT_LEAST.div_ceil(22 * streams);
    let stream = |number: usize| -> Result<()> {
        let (mut session, mut random) = (database.connect(), Random(number as u64 + 1));
        for _ in 0..rounds {
            let mut order: Vec<&Query> = QUERIES.iter().collect();
            (1..order.len()).rev().for_each(|at| order.swap(at, random.index(at + 1)));
            order.into_iter().try_for_each(|query| ask(&mut session, query))?;
        }
        Ok(())
    };
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let stream = &stream;
        let all: Vec<_> = (0..streams).map(|number| scope.spawn(move || stream(number))).collect();
        all.into_iter().try_for_each(|one| one.join().map_err(|_| Error::internal("a stream panicked"))?)
    })?;
    let queries = rounds * 22 * streams;
    Ok((queries, queries as f64 / begin.elapsed().as_secs_f64()))
}

/// Q13, and Q14 beside it from a third of its time on: what each has of the workers.
fn elasticity(session: &mut Session) -> Result<Chart> {
    let (first, second) = (&QUERIES[12], &QUERIES[13]);
    let begin = Instant::now();
    ask(session, first)?;
    let pause = begin.elapsed() / 3;
    let file = std::env::temp_dir().join(format!("morsel-elasticity-{}.json", std::process::id()));
    session.execute(&format!("set trace = '{}'", file.display()), &[])?;
    let mut beside = session.fork();
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            std::thread::sleep(pause);
            ask(&mut beside, second)
        });
        ask(session, first)?;
        other.join().map_err(|_| Error::internal("a session panicked"))?
    })?;
    session.execute("set trace = ''", &[])?;
    // The setting itself has no morsels.
    let spans = traces::morsels(&file)?;
    let _ = std::fs::remove_file(&file);
    println!("\nQ13, and Q14 from {:.1} ms on: workers that each has", pause.as_secs_f64() * 1e3);
    println!("{:>8} {:>6} {:>6}", "ms", "Q13", "Q14");
    let from = spans.iter().map(|span| span.begin).fold(f64::MAX, f64::min);
    let to = spans.iter().map(|span| span.end).fold(from, f64::max);
    let piece = (to - from) / PIECES as f64;
    let numbers = traces::queries(&spans);
    let mut lines = vec![Vec::new(); numbers.len()];
    for at in 0..PIECES {
        let (begin, end) = (from + at as f64 * piece, from + (at + 1) as f64 * piece);
        let within = |span: &Span| (span.end.min(end) - span.begin.max(begin)).max(0.0);
        let workers = |query: &u64| spans.iter().filter(|span| span.query == *query).map(within).sum::<f64>() / piece;
        let each: Vec<f64> = numbers.iter().map(workers).collect();
        let shown: Vec<String> = each.iter().map(|workers| format!("{workers:6.2}")).collect();
        println!("{:8.2} {}", (begin - from) / 1e3, shown.join(" "));
        lines.iter_mut().zip(each).for_each(|(line, workers)| line.push(((begin - from) / 1e3, workers)));
    }
    Ok(Chart { name: "workers by ms".into(), lines })
}
