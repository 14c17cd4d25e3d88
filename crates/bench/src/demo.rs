//! `make demo`: everything at once, for somebody who sees MorselDB for the first time.

use std::time::Instant;

use base::Result;
use indicatif::{ProgressBar, ProgressStyle};
use tpch::QUERIES;

use crate::DataOptions;
use crate::tpch::{measure, millis, open, prepare, source};

/// Runs of each query.
const RUNS: usize = 3;

pub(crate) fn run(options: &DataOptions) -> Result<bool> {
    println!("TPC-H at scale factor {}", options.sf);
    let folder = prepare(options)?;
    println!("  data in {}", folder.display());
    let mut session = open(options)?;

    let bar = ProgressBar::new(tpch::TABLES.len() as u64);
    bar.set_style(style("loading {msg:10}"));
    let start = Instant::now();
    tpch::load(&mut session, &folder, source(options), |table| {
        bar.set_message(table);
        bar.inc(1);
    })?;
    bar.finish_and_clear();
    let memory = session.database().memory_used() >> 20;
    println!(
        "  loaded in {:.2} s into {memory} MiB, {} threads",
        start.elapsed().as_secs_f64(),
        session.database().threads()
    );

    let check = options.sf == 1.0;
    let bar = ProgressBar::new(QUERIES.len() as u64);
    bar.set_style(style("running {msg:10}"));
    let mut outcomes = Vec::new();
    for query in QUERIES {
        bar.set_message(format!("Q{}", query.number));
        outcomes.push((query, measure(&mut session, query, RUNS, check)));
        bar.inc(1);
    }
    bar.finish_and_clear();

    println!("\n  query   first ms    best ms      rows  answer");
    let (mut failures, mut logs) = (0, 0.0);
    for (query, outcome) in outcomes {
        match outcome {
            Ok(o) => {
                failures += usize::from(o.wrong.is_some());
                logs += millis(o.best).ln();
                let verdict = match o.wrong {
                    Some(what) => format!("WRONG: {what}"),
                    None if check => "right".into(),
                    None => "not checked at this scale".into(),
                };
                println!(
                    "  Q{:<5}{:>10.2} {:>10.2}  {:>8}  {verdict}",
                    query.number,
                    millis(o.first),
                    millis(o.best),
                    o.rows
                );
            }
            Err(error) => {
                failures += 1;
                println!("  Q{:<5}{error:?}", query.number);
            }
        }
    }
    match failures {
        0 => println!("\n  geometric mean {:.2} ms", (logs / QUERIES.len() as f64).exp()),
        n => println!("\n  {n} queries failed or gave wrong answers"),
    }
    Ok(failures == 0)
}

/// The look of the progress bars; `label` may name `{msg}`.
pub(crate) fn style(label: &str) -> ProgressStyle {
    ProgressStyle::with_template(&format!("  {label} [{{bar:40}}] {{pos}}/{{len}}"))
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}
