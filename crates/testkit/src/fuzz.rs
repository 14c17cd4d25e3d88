//! Mutated input: SQL text, and bytes of files: CSV, Parquet, JSON, Arrow. Any of it gives a result or a typed error; panics and internal
//! errors are findings. And random keys and trees of indexes, beside slow ones that are right. Deterministic by seed, so that a
//! finding can be repeated.

mod keys;
mod trees;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use base::{Error, Result, SqlState};
use engine::{Config, Database, Session};

use crate::differential::{Step, script};
use base::Random;
use tpch::{Format, QUERIES};

/// What is mutated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Statements.
    Sql,
    /// A CSV file.
    Csv,
    /// A Parquet file.
    Parquet,
    /// A JSON file.
    Json,
    /// An Arrow file.
    Arrow,
    /// Values that are keys of an index.
    Keys,
    /// Trees of keys.
    Trees,
}

impl Target {
    /// All of them, by name.
    pub const ALL: [(&str, Self); 7] = [
        ("sql", Self::Sql),
        ("csv", Self::Csv),
        ("parquet", Self::Parquet),
        ("json", Self::Json),
        ("arrow", Self::Arrow),
        ("keys", Self::Keys),
        ("trees", Self::Trees),
    ];

    /// How names of such files end.
    const fn extension(self) -> &'static str {
        match self {
            Self::Sql | Self::Csv | Self::Keys | Self::Trees => "csv",
            Self::Parquet => "parquet",
            Self::Json => "json",
            Self::Arrow => "arrow",
        }
    }
}

/// What a run found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Inputs that were tried.
    pub inputs: u64,
    /// Inputs that MorselDB accepted.
    pub accepted: u64,
    /// Panics and internal errors, with the input (in a lossy form) and its number.
    pub bad: Vec<String>,
}

/// Tries mutated inputs for a while; files are made in `folder`.
pub fn fuzz(target: Target, seed: u64, time: Duration, folder: &Path) -> Result<Findings> {
    match target {
        Target::Keys => return Ok(fuzz_by(keys::check, seed, time)),
        Target::Trees => return Ok(fuzz_by(trees::check, seed, time)),
        _ => {}
    }
    let io = |e: std::io::Error| Error::new(SqlState::IO_ERROR, e.to_string());
    fs::create_dir_all(folder).map_err(io)?;
    let seeds = seeds(target, folder)?;
    let file = folder.join(format!("fuzzed.{}", target.extension()));
    let mut session = open()?;
    let mut random = Random(seed);
    let mut findings = Findings::default();
    let start = Instant::now();
    while start.elapsed() < time && findings.bad.len() < 10 {
        let input = mutate(&mut random, &seeds);
        findings.inputs += 1;
        let sql = if target == Target::Sql {
            String::from_utf8_lossy(&input).into_owned()
        } else {
            fs::write(&file, &input).map_err(io)?;
            format!("SELECT * FROM '{}'", file.display())
        };
        // A statement that reads or writes files of its own choice is none of our business here.
        if target == Target::Sql && ["copy", "'/"].iter().any(|w| sql.to_lowercase().contains(w)) {
            continue;
        }
        match catch_unwind(AssertUnwindSafe(|| run(&mut session, &sql))) {
            Ok(Ok(())) => findings.accepted += 1,
            Ok(Err(error)) if error.state() != SqlState::INTERNAL => {}
            Ok(Err(error)) => findings.bad.push(describe(findings.inputs, &input, &error.to_string())),
            Err(_) => {
                findings.bad.push(describe(findings.inputs, &input, "panic"));
                session = open()?;
            }
        }
    }
    Ok(findings)
}

/// Tries a check of random things for a while, each with a seed of its own.
fn fuzz_by(check: fn(&mut Random) -> Result<()>, seed: u64, time: Duration) -> Findings {
    let mut findings = Findings::default();
    let start = Instant::now();
    while start.elapsed() < time && findings.bad.len() < 10 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ findings.inputs);
        findings.inputs += 1;
        match catch_unwind(AssertUnwindSafe(|| check(&mut random))) {
            Ok(Ok(())) => findings.accepted += 1,
            Ok(Err(error)) => findings.bad.push(format!("input {}: {error}", findings.inputs)),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map_or("panic", String::as_str);
                findings.bad.push(format!("input {}: {text}", findings.inputs));
            }
        }
    }
    findings
}

fn open() -> Result<Session> {
    let mut session =
        Database::new(Config { threads: Some(2), memory_limit: Some(1 << 30), ..Config::default() })?.connect();
    for statement in tpch::SCHEMA.split_inclusive(';').filter(|s| !s.trim().is_empty()) {
        session.execute(statement, &[])?.collect()?;
    }
    Ok(session)
}

/// Runs text as a script and reads what it gives, up to a bound: a cross product is not a finding.
fn run(session: &mut Session, sql: &str) -> Result<()> {
    session.run_script(sql, |_, mut result| {
        while result.delivered() < 100_000 && result.next_chunk()?.is_some() {}
        Ok(())
    })
}

fn describe(number: u64, input: &[u8], what: &str) -> String {
    let text: String = String::from_utf8_lossy(input).chars().take(400).collect();
    format!("input {number}: {what}\n  {}", text.escape_debug())
}

/// Valid inputs to start from.
fn seeds(target: Target, folder: &Path) -> Result<Vec<Vec<u8>>> {
    if target == Target::Sql {
        let random = script(1, 400).into_iter().map(|s| match s {
            Step::Setup(sql) | Step::Query(sql) | Step::Drop(sql) => sql,
        });
        let queries = QUERIES.iter().map(|q| q.sql.to_string());
        return Ok(queries.chain(random).filter(|s| s.len() < 3000).map(String::into_bytes).collect());
    }
    let extension = target.extension();
    if matches!(target, Target::Json | Target::Arrow) {
        return written(folder, extension);
    }
    let format = if target == Target::Csv { Format::Csv } else { Format::Parquet };
    tpch::generate(0.001, folder, format, |_| {})?;
    let read = |table: &&str| fs::read(folder.join(format!("{table}.{extension}")));
    let mut files = ["region", "nation", "supplier"].iter().map(read).collect::<Result<Vec<_>, _>>();
    if let (Ok(files), Target::Csv) = (&mut files, target) {
        files.push(b"a,b\n1,\"x\"\"y\"\n,\"two\nlines\"\n3.5,2001-02-03\r\n".to_vec());
        files.push("é;ß\nNA;1e300\ntrue;2020-01-01 10:11:12\n".as_bytes().to_vec());
    }
    files.map_err(|e| Error::new(SqlState::IO_ERROR, e.to_string()))
}

/// Files that MorselDB writes.
fn written(folder: &Path, extension: &str) -> Result<Vec<Vec<u8>>> {
    const QUERIES: [&str; 2] = [
        "select i, i / 4.0 as d, 'é\"' || i as t, [i, null] as l, {'a': i, 'b': date '2024-01-01'} as s from range(20) as r (i)",
        "select case when i > 2 then i end as n, i = 1 as b, timestamp '2024-01-01 10:00' as ts from range(5) as r (i)",
    ];
    let mut session = open()?;
    let mut seeds = Vec::new();
    for query in QUERIES {
        for options in ["(compression none)", if extension == "json" { "(array true)" } else { "(compression lz4)" }] {
            let path = folder.join(format!("seed.{extension}"));
            session.execute(&format!("copy ({query}) to '{}' {options}", path.display()), &[])?.collect()?;
            seeds.push(fs::read(path).map_err(|e| Error::new(SqlState::IO_ERROR, e.to_string()))?);
        }
    }
    Ok(seeds)
}

/// A seed with a few places changed, cut, doubled, or spliced with another.
fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    const TOKENS: &[&str] = &[
        "(",
        ")",
        "'",
        "\"",
        ",",
        ";",
        "NULL",
        "-1",
        "9223372036854775807",
        "1e400",
        "0",
        " SELECT ",
        " FROM ",
        " WHERE ",
        " GROUP BY ",
        "((((((((",
        "--",
        "/*",
        "$1",
        "é",
        "\0",
        "\n",
        "::integer",
        " IN ",
        " JOIN ",
        "count(*)",
        " UNION ",
    ];
    let mut bytes = random.pick(seeds).clone();
    for _ in 0..1 + random.index(6) {
        let at = random.index(bytes.len() + 1);
        let end = (at + random.index(20)).min(bytes.len());
        match random.index(7) {
            0 if at < bytes.len() => bytes[at] = random.bits() as u8,
            1 if at < bytes.len() => bytes[at] ^= 1 << random.index(8),
            2 => drop(bytes.drain(at..end)),
            3 => drop(bytes.splice(at..at, random.pick(TOKENS).bytes())),
            4 => {
                let piece = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            5 if random.one_in(4) => bytes.truncate(at),
            _ => {
                let other = random.pick(seeds);
                let from = random.index(other.len() + 1);
                let piece = &other[from..(from + random.index(40)).min(other.len())];
                drop(bytes.splice(at..end, piece.iter().copied()));
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_trees_are_as_slow_ones_are() {
        for number in 0..500 {
            keys::check(&mut Random(number)).unwrap();
            trees::check(&mut Random(number)).unwrap();
        }
    }
}
