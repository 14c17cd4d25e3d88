//! Shares of remote bytes as recordings have them whose thread sits where each worker does that it plays: of tables as they come, and
//! of tables and directories that lie by the hash of their keys (thesis 4.5.3), which a replay of morsels cannot tell apart.

use std::path::Path;

use base::Result;
use base::traffic::{Access, Traffic};
use engine::{Config, Database, Session};
use scheduler::{Seats, Topology};
use tpch::{QUERIES, SCHEMA, Source, TABLES};

use super::simulate::{ACCESS, LINE};
use super::thesis;

/// Nodes, and hardware threads of each.
const NODES: usize = 4;
const THREADS: usize = 16;

/// What is compared: whether tables are hashed, and how directories are placed.
const VARIANTS: [(&str, bool, &str); 4] = [
    ("as they come", false, "interleaved"),
    ("by hash", true, "interleaved"),
    ("directories too", true, "partitioned"),
    ("only directories", false, "partitioned"),
];

/// Prints the shares of TPC-H's queries with so many workers.
pub(super) fn print(folder: &Path, source: Source, workers: usize) -> Result<()> {
    let mut sessions = [session(folder, source, false)?, session(folder, source, true)?];
    println!(
        "\nremote bytes in percent as played, {workers} workers of {NODES} nodes; tables and directories of joins lie"
    );
    VARIANTS.iter().for_each(|(name, ..)| print!("{name:>18}"));
    println!("{:>10}", "thesis");
    let mut sums = [0.0; VARIANTS.len()];
    for (at, query) in QUERIES.iter().enumerate() {
        print!("Q{:<3}", query.number);
        for (number, (_, is_hashed, placement)) in VARIANTS.iter().enumerate() {
            let session = &mut sessions[usize::from(*is_hashed)];
            run(session, &format!("SET directory_placement = {placement}"))?;
            let recording = session.record(query.sql, workers, Seats::Played)?;
            let traffic = recording.runs.iter().fold(Traffic::default(), |sum, run| sum + run.traffic);
            let share = 100.0 * remote(&traffic);
            sums[number] += share;
            print!("{share:>width$.1}", width = if number == 0 { 14 } else { 18 });
        }
        println!("{:>10}", thesis::TPCH_REMOTE[at]);
    }
    print!("mean");
    sums.iter().enumerate().for_each(|(number, sum)| {
        print!("{:>width$.1}", sum / QUERIES.len() as f64, width = if number == 0 { 14 } else { 18 });
    });
    println!("{:>10.1}", f64::from(thesis::TPCH_REMOTE.iter().sum::<u32>()) / QUERIES.len() as f64);
    Ok(())
}

/// A database of as many workers as nodes, so that tables are loaded on all of them.
fn session(folder: &Path, source: Source, is_hashed: bool) -> Result<Session> {
    let topology = Some(Topology::uniform(NODES, THREADS));
    let mut session = Database::new(Config { threads: Some(NODES), topology, ..Config::default() })?.connect();
    if !is_hashed {
        tpch::load(&mut session, folder, source, |_| {})?;
        return Ok(session);
    }
    run(&mut session, &SCHEMA.replace("\n);", "\n) WITH (distribution = hashed);"))?;
    let extension = if source == Source::Csv { "csv" } else { "parquet" };
    for table in TABLES {
        let path = folder.join(format!("{table}.{extension}")).display().to_string().replace('\'', "''");
        run(&mut session, &format!("INSERT INTO {table} SELECT * FROM '{path}'"))?;
    }
    Ok(session)
}

fn run(session: &mut Session, sql: &str) -> Result<()> {
    session.run_script(sql, |_, result| result.collect().map(drop))
}

/// The part of all bytes that lay on other nodes, where a look at what is shared moves a cache line, as in the replay.
fn remote(traffic: &Traffic) -> f64 {
    let others = traffic.only(&[Access::Table, Access::Area, Access::Written]);
    let shared = traffic.only(&[Access::Shared]);
    let bytes = |of: fn(&Traffic) -> u64| of(&others) as f64 + of(&shared) as f64 * LINE / ACCESS;
    let (local, remote) = (bytes(Traffic::local), bytes(Traffic::remote));
    remote / (local + remote).max(1.0)
}
