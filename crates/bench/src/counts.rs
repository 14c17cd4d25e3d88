//! How many instructions queries take: what a change may not make worse unseen, whatever the machine is busy with. Each
//! query is run in `valgrind --tool=callgrind`, which has a processor of its own (with AVX2, without AVX-512), by one
//! worker, with its code made before; the counts are compared with the last accepted ones, in `instructions.tsv`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base::{Error, Result};
use engine::{Config, Database, Session};
use scheduler::MORSEL_ROWS;
use tpch::{Format, QUERIES, Source};

/// Scale factor of TPC-H.
const SCALE: f64 = 0.02;
/// Runs of each query, of which the least counts: how morsels are cut, and who waits for whom, is left to chance.
const RUNS: usize = 4;
/// Runs before those: code is made, and what is read often comes to lie as suits that.
const WARM_UPS: usize = 2;
/// How much more than the accepted count is a failure, in proportion and beside that: chance moves less than half of it.
const TOLERANCE: f64 = 0.06;
const SLACK: u64 = 300_000;
/// The functions where counting begins and ends, for callgrind.
const BEGIN: &str = "*run_counted*";
const END: &str = "*end_counted*";

/// 200,000 rows of all kinds of columns.
const TABLE: &str = "create table t as select i::bigint as id, i * 7919 % 1000 as small, i * 2654435761 % 200003 as spread, \
     i * 7919 % 1000 / 8.0::double precision as x, (i * 31 % 10000)::decimal(12, 2) as price, \
     'name ' || i * 7919 % 1000 as name, 'customer number ' || i * 2654435761 % 200003 as long_name, \
     date '2000-01-01' + (i % 3000)::int as day, case when i % 5 = 0 then null else i % 100 end as sometimes \
     from (select a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + 100000 * f.n as i from digits a, digits b, \
     digits c, digits d, digits e, digits f where f.n < 2) numbers";

/// What TPC-H has little of.
const QUERIES_OF_T: &[(&str, &str)] = &[
    ("sum", "select sum(spread) from t"),
    ("least, greatest", "select min(spread), max(spread), min(x), max(x) from t"),
    ("sum of doubles", "select sum(x) from t"),
    ("filtered count", "select count(*) from t where spread < 50000 and small > 100"),
    ("like", "select count(*) from t where long_name like '%12%'"),
    ("list", "select count(*) from t where small in (1, 5, 77, 300, 301, 302, 999)"),
    ("groups by an int", "select small, sum(spread), count(*) from t group by small order by 1 limit 3"),
    ("groups by a text", "select name, sum(spread) from t group by name order by 1 limit 3"),
    ("groups by two", "select small, day, sum(x) from t group by small, day order by 1, 2 limit 3"),
    ("unique groups", "select long_name, count(*) from t group by long_name order by 2, 1 limit 3"),
    ("distinct", "select count(distinct small), count(distinct name) from t"),
    ("median", "select day, median(x) from t group by day order by 1 limit 3"),
    ("sort by an int", "select spread, id from t order by spread offset 199999"),
    ("sort by a text", "select long_name from t order by long_name offset 199999"),
    ("sort by two", "select small, x, id from t order by small, x desc, id offset 199999"),
    ("top", "select * from t order by spread desc limit 10"),
    ("join by an int", "select count(*), sum(a.x) from t a join t b on a.spread = b.id"),
    ("join by a text", "select count(*) from t a join t b on a.long_name = b.long_name"),
    ("join by a range", "select count(*) from t a join digits d on a.small < d.n"),
    ("expressions", "select sum(case when sometimes is null then small else coalesce(sometimes, 0) * 2 end) from t"),
    ("texts", "select max(upper(name) || '-' || length(long_name)) from t"),
    ("dates", "select extract(year from day), count(*) from t group by 1 order by 1"),
    ("rank", "select max(r) from (select rank() over (partition by small order by spread) as r from t) ranks"),
    ("moving sum", "select max(s) from (select sum(x) over (order by id rows 100 preceding) as s from t) sums"),
];

/// Counts, and compares or accepts.
pub(crate) fn run(accept: bool) -> Result<bool> {
    let folder = std::env::temp_dir().join(format!("morsel-counts-{}", std::process::id()));
    let counts = counted(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    let counts = counts?;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.tsv");
    if accept {
        let lines: String = counts.iter().map(|(name, count)| format!("{name}\t{count}\n")).collect();
        std::fs::write(&file, lines).map_err(|e| failed(&file.display().to_string(), e))?;
        println!("accepted: {}", file.display());
        return Ok(true);
    }
    let accepted = std::fs::read_to_string(&file).map_err(|e| failed(&file.display().to_string(), e))?;
    let accepted: BTreeMap<&str, u64> = accepted
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(n, c)| Some((n, c.parse().ok()?)))
        .collect();
    let mut right = true;
    println!("{:20} {:>14} {:>14} {:>7}", "instructions", "accepted", "now", "ratio");
    for (name, now) in &counts {
        let Some(&before) = accepted.get(name.as_str()) else {
            println!("{name:20} {:>14} {now:>14}         not accepted yet", "");
            right = false;
            continue;
        };
        let ratio = *now as f64 / before as f64;
        let verdict = if *now as f64 > before as f64 * (1.0 + TOLERANCE) + SLACK as f64 {
            right = false;
            "  WORSE"
        } else if ratio < 1.0 - TOLERANCE {
            "  better"
        } else {
            ""
        };
        println!("{name:20} {before:>14} {now:>14} {ratio:>7.3}{verdict}");
    }
    if !right {
        println!("more instructions than accepted: mend it, or say in the commit why and run `make accept-counts`");
    }
    Ok(right)
}

fn statements() -> impl Iterator<Item = (String, &'static str)> {
    let tpch = QUERIES.iter().map(|query| (format!("TPC-H Q{}", query.number), query.sql));
    tpch.chain(QUERIES_OF_T.iter().map(|&(name, sql)| (name.to_owned(), sql)))
}

/// Runs this program under callgrind and reads what it has counted, by the names of the queries.
fn counted(folder: &Path) -> Result<Vec<(String, u64)>> {
    let data = folder.join("data");
    std::fs::create_dir_all(&data).map_err(|e| failed("a folder for data", e))?;
    tpch::generate(SCALE, &data, Format::Parquet, |_| {})?;
    let out = folder.join("out");
    let program = std::env::current_exe().map_err(|e| failed("this program", e))?;
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .args([format!("--zero-before={BEGIN}"), format!("--dump-before={END}")])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .args(["counts", "--inside"])
        .arg(&data)
        .stdout(Stdio::null())
        .status()
        .map_err(|e| failed("valgrind (Debian's package of that name)", e))?;
    if !status.success() {
        return Err(Error::internal(format!("valgrind ended with {status}")));
    }
    let total = |number: usize| -> Option<u64> {
        let text = std::fs::read_to_string(PathBuf::from(format!("{}.{number}", out.display()))).ok()?;
        text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok())
    };
    let least = |i: usize| (i * RUNS + 1..=(i + 1) * RUNS).map(total).min().flatten();
    let named = statements().enumerate().map(|(i, (name, _))| Some((name, least(i)?)));
    named.collect::<Option<_>>().ok_or_else(|| Error::internal("callgrind has not counted each query"))
}

/// What runs under callgrind: loads, and runs each query once before it counts.
pub(crate) fn inside(data: &Path) -> Result<bool> {
    // Of one size, as adapted ones depend on times.
    let config = Config { threads: Some(1), morsel_rows: Some(MORSEL_ROWS), ..Config::default() };
    let mut session = Database::new(config)?.connect();
    tpch::load(&mut session, data, Source::Parquet, |_| {})?;
    let digits = "create table digits(n bigint); \
                  insert into digits values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)";
    for sql in digits.split(';').chain([TABLE]) {
        session.execute(sql, &[])?.collect()?;
    }
    settle(&mut session)?;
    for (_, sql) in statements() {
        for _ in 0..WARM_UPS {
            session.execute(sql, &[])?.collect()?;
        }
        for _ in 0..RUNS {
            settle(&mut session)?;
            run_counted(&mut session, sql)?;
            end_counted();
        }
    }
    Ok(true)
}

/// Has done what goes on behind statements: freezing what was loaded, and taking the symbols out of texts that are read often.
fn settle(session: &mut Session) -> Result<()> {
    for table in tpch::TABLES.iter().copied().chain(["t"]) {
        session.execute(&format!("select * from storage_info('{table}')"), &[])?.collect()?;
    }
    Ok(())
}

/// One run: [`BEGIN`].
#[inline(never)]
fn run_counted(session: &mut Session, sql: &str) -> Result<()> {
    session.execute(sql, &[])?.collect()?;
    Ok(())
}

/// [`END`].
#[inline(never)]
fn end_counted() {
    std::hint::black_box(());
}

fn failed(what: &str, error: std::io::Error) -> Error {
    Error::internal(format!("{what}: {error}"))
}
