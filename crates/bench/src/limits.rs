//! Whether `memory_limit` is obeyed by what the system sees: everything that can take much memory runs in a process of its own,
//! with little memory beyond its tables, and the most that was ever resident is compared with the limit.
//!
//! A limit is obeyed within a tenth and 64 MiB: the program itself, its code and its stacks are not charged.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use base::{Error, Result};
use engine::{Config, Database, QueryResult, Session};

const MIB: usize = 1 << 20;
/// Rows of the table.
const DIGITS: u32 = 6;

/// How the check is run.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct LimitsOptions {
    /// Mebibytes that queries have beyond the tables.
    #[arg(long, default_value_t = 256)]
    room: usize,
    /// Only those whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Threads; by default all that the process may use.
    #[arg(long)]
    threads: Option<usize>,
    /// The case to run here, over the files in a folder.
    #[arg(long, hide = true, num_args = 2)]
    inside: Option<Vec<String>>,
}

impl LimitsOptions {
    /// Whether the case is asked for.
    fn has(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| name.contains(only))
    }
}

/// What is done with a session; of the folder it may read and write files.
type Case = fn(&mut Session, &Path) -> Result<usize>;

/// Runs a statement. Returns how many rows it gave.
fn run_sql(session: &mut Session, sql: impl AsRef<str>) -> Result<usize> {
    read(session.execute(sql.as_ref(), &[])?)
}

/// Reads a result and forgets it. Returns how many rows it had.
fn read(mut result: QueryResult) -> Result<usize> {
    let mut rows = 0;
    while let Some(chunk) = result.next_chunk()? {
        rows += chunk.rows();
    }
    Ok(rows)
}

fn list(count: usize, between: &str, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(between)
}

/// Ten times the table, with other keys.
const TEN: &str = "(select id * 10 + d id, n, label || d label from t, (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) v(d)) x";

/// Another session is busy from now on.
fn busy(session: &Session) {
    let mut other = session.fork();
    std::thread::spawn(move || {
        while run_sql(
            &mut other,
            "select count(*) from (select n, count(*) from t where id % 5 = 0 group by n, label) g",
        )
        .is_ok()
        {}
    });
}

const CASES: &[(&str, Case)] = &[
    ("hash join: numbers", |s, _| {
        run_sql(s, format!("select count(*) from {TEN} join {TEN} using (id)").replacen(") x", ") a", 1))
    }),
    ("hash join: build of wide rows", |s, _| {
        run_sql(
            s,
            format!("select max(b.label || x.label) from t b join {TEN} on b.id + 1 = x.id and b.label < x.label"),
        )
    }),
    ("group by: numbers", |s, _| {
        run_sql(s, format!("select count(*) from (select id, count(*), sum(n) from {TEN} group by id) g"))
    }),
    ("group by: texts", |s, _| {
        run_sql(s, format!("select count(*) from (select label, min(id) from {TEN} group by label) g"))
    }),
    ("group by: min of long texts", |s, _| {
        run_sql(s, "select count(*), max(m) from (select id, min(repeat(label, 40)) m from t group by id) g")
    }),
    ("group by: string_agg", |s, _| run_sql(s, format!("select n, string_agg(label, ',') from {TEN} group by n"))),
    ("one string_agg", |s, _| run_sql(s, format!("select length(string_agg(label || label, ',')) from {TEN}"))),
    ("percentile", |s, _| run_sql(s, format!("select percentile_cont(0.5) within group (order by id) from {TEN}"))),
    ("count distinct", |s, _| run_sql(s, format!("select count(distinct label) from {TEN}"))),
    ("distinct", |s, _| run_sql(s, format!("select distinct id, label from {TEN}"))),
    ("except", |s, _| run_sql(s, format!("select id, label from {TEN} except select id, label from t"))),
    ("sort: numbers", |s, _| run_sql(s, format!("select id from {TEN} order by id"))),
    ("sort: texts", |s, _| run_sql(s, format!("select label from {TEN} order by label"))),
    ("sort: long texts", |s, _| run_sql(s, "select repeat(label, 20) r from t order by r")),
    ("sort: wide rows", |s, _| {
        run_sql(
            s,
            "select *, label || 1, label || 2, label || 3, label || 4, label || 5, label || 6, label || 7, label || 8 from t order by n, id",
        )
    }),
    ("top: many rows", |s, _| run_sql(s, format!("select * from {TEN} order by label limit 5000000"))),
    ("window: running sum", |s, _| {
        run_sql(s, format!("select max(s) from (select sum(n) over (order by id) s from {TEN}) w"))
    }),
    ("window: texts", |s, _| {
        run_sql(
            s,
            format!("select max(s) from (select lag(label) over (partition by n order by label) s from {TEN}) w"),
        )
    }),
    ("window: median of frames", |s, _| {
        run_sql(s, "select max(s) from (select median(n) over (order by id rows 1000 preceding) s from t) w")
    }),
    ("window: string_agg of frames", |s, _| {
        run_sql(
            s,
            "select max(length(s)) from (select string_agg(label, ',') over (order by id rows 1000 preceding) s from t) w",
        )
    }),
    ("cross join, sorted", |s, _| {
        run_sql(s, "select a.label || b.label x from t a, (select id from t limit 100) c, t b order by x")
    }),
    ("cross join, read", |s, _| {
        run_sql(
            s,
            "select a.label || b.label || repeat('x', 200) from (select * from t limit 3000) a, (select * from t limit 2000) b",
        )
    }),
    ("recursion of views and CTEs", |s, _| {
        run_sql(
            s,
            format!(
                "with a as materialized (select * from {TEN}), b as materialized (select * from a) select count(*) from a join b using (id)"
            ),
        )
    }),
    ("one long text", |s, _| run_sql(s, "select length(repeat('a', 1000000000))")),
    ("long texts, joined", |s, _| {
        run_sql(s, "select max(length(repeat(label, 1000000) || repeat(label, 2000000))) from t")
    }),
    ("long texts, replaced", |s, _| {
        run_sql(
            s,
            "select length(replace(replace(replace(repeat('a', 1000000), 'a', 'bbbbbbbbbb'), 'b', 'cccccccccc'), 'c', 'dddddddddd'))",
        )
    }),
    ("long texts as rows", |s, _| run_sql(s, "select repeat(label, 1000000) from t")),
    ("long texts, lpad and reverse", |s, _| run_sql(s, "select reverse(lpad(label, 200000000, 'x')) from t")),
    ("list of 300,000", |s, _| {
        run_sql(s, format!("select count(*) from t where id in ({})", list(300_000, ", ", |i| i.to_string())))
    }),
    ("list of 100,000 texts", |s, _| {
        run_sql(
            s,
            format!("select count(*) from t where label in ({})", list(100_000, ", ", |i| format!("'text {i}'"))),
        )
    }),
    ("values of 300,000 rows", |s, _| {
        run_sql(
            s,
            format!("select count(*) from (values {}) v(a, b)", list(300_000, ", ", |i| format!("({i}, 'text {i}')"))),
        )
    }),
    ("insert of 300,000 rows", |s, _| {
        run_sql(s, "create table many (a bigint, b text)")?;
        run_sql(s, format!("insert into many values {}", list(300_000, ", ", |i| format!("({i}, 'text {i}')"))))
    }),
    ("800 aggregates", |s, _| {
        run_sql(s, format!("select {} from t", list(800, ", ", |i| format!("sum(n + {i}), min(id % {})", i + 1))))
    }),
    ("2,000 columns", |s, _| run_sql(s, format!("select {} from t", list(2_000, ", ", |i| format!("n + {i}"))))),
    ("1,000 unions", |s, _| {
        run_sql(s, list(1_000, " union all ", |i| format!("select {i} + n from t where id = {i}")))
    }),
    ("create table as", |s, _| {
        run_sql(s, format!("create table copied as select id, n, label || id || n label from {TEN}"))
    }),
    ("insert select", |s, _| {
        run_sql(s, "create table copied (id bigint primary key, label text)")?;
        run_sql(s, format!("insert into copied select id, label from {TEN}"))
    }),
    ("insert of long texts", |s, _| run_sql(s, "create table copied as select repeat(label, 10000) from t")),
    ("copy to csv", |s, f| run_sql(s, format!("copy (select * from {TEN}) to '{}'", f.join("out.csv").display()))),
    ("copy to csv.gz", |s, f| {
        run_sql(s, format!("copy (select * from {TEN}) to '{}'", f.join("out.csv.gz").display()))
    }),
    ("copy to parquet", |s, f| {
        run_sql(s, format!("copy (select * from {TEN}) to '{}'", f.join("out.parquet").display()))
    }),
    ("copy to parquet, one row group", |s, f| {
        run_sql(
            s,
            format!(
                "copy (select *, repeat(label, 8) from {TEN}) to '{}' (row_group_size 100000000)",
                f.join("one.parquet").display()
            ),
        )
    }),
    ("copy from csv", |s, f| {
        run_sql(s, "create table copied (id bigint, n int, label text)")?;
        run_sql(s, format!("copy copied from '{}' (header true)", f.join("large.csv").display()))
    }),
    ("copy from csv.gz", |s, f| {
        run_sql(s, "create table copied (id bigint, n int, label text)")?;
        run_sql(s, format!("copy copied from '{}' (header true)", f.join("large.csv.gz").display()))
    }),
    ("copy from parquet", |s, f| {
        run_sql(s, "create table copied (id bigint, n int, label text)")?;
        run_sql(s, format!("copy copied from '{}'", f.join("large.parquet").display()))
    }),
    ("count of csv", |s, f| {
        run_sql(s, format!("select count(*), max(label) from '{}'", f.join("large.csv").display()))
    }),
    ("select from csv", |s, f| run_sql(s, format!("select * from '{}'", f.join("large.csv").display()))),
    ("bomb: csv.gz", |s, f| run_sql(s, format!("select count(*) from '{}'", f.join("bomb.csv.gz").display()))),
    ("bomb: csv.zst", |s, f| run_sql(s, format!("select count(*) from '{}'", f.join("bomb.csv.zst").display()))),
    ("/dev/zero", |s, _| run_sql(s, "select count(*) from read_csv('/dev/zero')")),
    ("parquet: row group of a million", |s, f| {
        run_sql(s, format!("select max(label), sum(n) from '{}'", f.join("one.group.parquet").display()))
    }),
    ("parquet: row group of a million, read", |s, f| {
        run_sql(s, format!("select * from '{}'", f.join("one.group.parquet").display()))
    }),
    ("parquet: long texts", |s, f| run_sql(s, format!("select max(long) from '{}'", f.join("long.parquet").display()))),
    ("bomb: parquet", |s, f| {
        run_sql(s, format!("select max(length(long)), count(*) from '{}'", f.join("bomb.parquet").display()))
    }),
    ("bomb: parquet, read", |s, f| run_sql(s, format!("select long from '{}'", f.join("bomb.parquet").display()))),
    ("results of ten sessions, half read", |s, _| {
        let mut open = Vec::new();
        for _ in 0..10 {
            let mut session = s.fork();
            let mut result = session.execute(
                "select a.label || b.label || repeat('x', 200) from t a, (select * from t limit 1000) b",
                &[],
            )?;
            result.next_chunk()?;
            open.push((session, result));
        }
        std::thread::sleep(Duration::from_millis(500));
        run_sql(s, "select count(*) from (select id, count(*) from t group by id) g")
    }),
    ("result, all kept", |s, _| {
        let chunks = s.execute(&format!("select * from {TEN}"), &[])?.collect()?;
        Ok(chunks.iter().map(types::Chunk::rows).sum())
    }),
    ("drop table", |s, _| {
        run_sql(s, "create table copied as select id, n, label || n label from t, (values (1), (2), (3)) v(x)")?;
        std::thread::sleep(Duration::from_secs(2));
        run_sql(s, "drop table copied")
    }),
    ("drop table beside a busy session", |s, _| {
        run_sql(s, "create table copied as select id, n, label || n label from t, (values (1), (2), (3)) v(x)")?;
        busy(s);
        std::thread::sleep(Duration::from_secs(2));
        run_sql(s, "drop table copied")
    }),
    ("sort beside a busy session", |s, _| {
        busy(s);
        run_sql(s, "select label from t order by label")
    }),
    ("sorts, one after the other", |s, _| {
        let _ = run_sql(s, "select label from t order by label");
        let _ = run_sql(s, "select count(*) from (select id, label, count(*) from t group by id, label) g");
        let _ = run_sql(s, "create table copied as select id, label || n from t");
        run_sql(s, "select count(*) from t a join t b on a.id = b.id")
    }),
];

pub(crate) fn run(options: &LimitsOptions) -> Result<bool> {
    if let Some([name, folder]) = options.inside.as_deref() {
        return inside(options, name, Path::new(folder)).map(|()| true);
    }
    let folder = std::env::temp_dir().join(format!("morsel-limits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let reads_files = |name: &str| ["copy", "csv", "parquet"].iter().any(|word| name.contains(word));
    let made =
        if CASES.iter().any(|(name, _)| options.has(name) && reads_files(name)) { files(&folder) } else { Ok(()) };
    let outcome = made.and_then(|()| all(options, &folder));
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

fn failed(error: std::io::Error) -> Error {
    Error::internal(error.to_string())
}

fn all(options: &LimitsOptions, folder: &Path) -> Result<bool> {
    println!(
        "{:38} {:>8} {:>8} {:>8} {:>9} {:>8} {:>7}  outcome",
        "MiB", "limit", "before", "peak", "over", "1 s on", "s"
    );
    let mut right = true;
    for (name, _) in CASES.iter().filter(|(name, _)| options.has(name)) {
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["limits", "--room", &options.room.to_string()]);
        if let Some(threads) = options.threads {
            command.args(["--threads", &threads.to_string()]);
        }
        let output = command.arg("--inside").arg(name).arg(folder).output().map_err(failed)?;
        let text = String::from_utf8_lossy(&output.stdout);
        match text.lines().find_map(|line| line.strip_prefix("outcome ")) {
            Some(line) => {
                right &= !line.contains(" OVER ");
                println!("{line}");
            }
            None => {
                right = false;
                println!("{name:38} died: {} {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
            }
        }
    }
    Ok(right)
}

fn open(options: Option<&LimitsOptions>) -> Result<Session> {
    let threads = options.and_then(|options| options.threads);
    let mut session = Database::new(Config { threads, ..Config::default() })?.connect();
    let digits = "(values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))";
    let from = list(DIGITS as usize, ", ", |i| format!("{digits} d{i}(n)"));
    let number = list(DIGITS as usize, " + ", |i| format!("d{i}.n * {}", 10u64.pow(i as u32)));
    let spread = "i * 2654435761::bigint % 4294967296::bigint";
    let sql = format!(
        "create table t as select {spread} id, (i % 1000)::int n, 'a label of ' || lpad(({spread})::text, 13, '0') label \
         from (select ({number})::bigint i from {from}) ids"
    );
    run_sql(&mut session, sql)?;
    Ok(session)
}

/// The files that cases read.
fn files(folder: &Path) -> Result<()> {
    let mut session = open(None)?;
    let path = |name: &str| -> PathBuf { folder.join(name) };
    for (name, query, options) in [
        ("large.csv", format!("select * from {TEN}"), "(header true)"),
        ("large.csv.gz", format!("select * from {TEN}"), "(header true)"),
        ("large.parquet", format!("select * from {TEN}"), ""),
        ("one.group.parquet", "select *, repeat(label, 10) long from t".into(), "(row_group_size 100000000)"),
        ("long.parquet", "select repeat(label, 10000) long from t limit 2000".into(), "(row_group_size 100000000)"),
        (
            "bomb.parquet",
            "select repeat('x', 1000000) long from t limit 2000".into(),
            "(row_group_size 100000000, compression 'zstd')",
        ),
        ("bomb.csv.gz", "select repeat('x', 1000000) long from t limit 1000".into(), ""),
        ("bomb.csv.zst", "select repeat('x', 1000000) long from t limit 1000".into(), ""),
    ] {
        let path = path(name);
        run_sql(&mut session, format!("copy ({query}) to '{}' {options}", path.display()))
            .inspect_err(|error| println!("{name}: {error}"))?;
    }
    Ok(())
}

/// Runs a case and prints what became of it.
fn inside(options: &LimitsOptions, name: &str, folder: &Path) -> Result<()> {
    let (_, case_of) = CASES.iter().find(|(known, _)| *known == name).ok_or_else(|| Error::internal("no such case"))?;
    let mut session = open(Some(options))?;
    // What was needed for the tables has gone back by then.
    std::thread::sleep(Duration::from_millis(2_500));
    let limit = session.database().memory_used() + options.room * MIB;
    run_sql(&mut session, format!("set memory_limit = '{limit}B'"))
        .or_else(|_| run_sql(&mut session, format!("set memory_limit = '{}MiB'", limit / MIB)))?;
    std::fs::write("/proc/self/clear_refs", "5").map_err(failed)?;
    let before = status("VmRSS:");
    let begin = Instant::now();
    let outcome = case_of(&mut session, folder);
    let (seconds, peak) = (begin.elapsed().as_secs_f64(), status("VmHWM:"));
    std::thread::sleep(Duration::from_secs(1));
    let after = status("VmRSS:");
    let allowed = limit + limit / 10 + 64 * MIB;
    let mib = |bytes: usize| bytes as f64 / MIB as f64;
    let over = if peak > allowed { format!("OVER {:.0}", mib(peak - allowed)) } else { "-".into() };
    let outcome = match outcome {
        Ok(rows) => format!("{rows} rows"),
        Err(error) => {
            let text = format!("{} {} ({})", error.state().0, error.message(), error.get_detail().unwrap_or(""));
            text.chars().take(300).collect()
        }
    };
    println!(
        "outcome {name:38} {:>8.0} {:>8.0} {:>8.0} {over:>9} {:>8.0} {seconds:>7.1}  {outcome}",
        mib(limit),
        mib(before),
        mib(peak),
        mib(after)
    );
    Ok(())
}

/// A number of bytes that the system tells of the process.
fn status(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<usize>().ok()).map_or(0, |kib| kib << 10)
}
