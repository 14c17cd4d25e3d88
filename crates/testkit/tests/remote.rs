//! Files on servers: all formats, what goes wrong on the way, who waits and who does not, buckets.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base::SqlState;
use engine::rows::text_rows;
use engine::{Config, Database, Session};
use testkit::http_server::{Fault, HttpServer, Keys};

/// A table of 300,000 rows in files of all formats, of a folder that goes with it; a server of them, and a database.
struct Bench {
    folder: PathBuf,
    server: HttpServer,
    database: Database,
    session: Session,
}

const FILES: [&str; 7] = ["t.parquet", "t.csv", "quoted.csv", "t.csv.gz", "t.csv.zst", "t.jsonl", "t.arrow"];
const SUMS: &str = "SELECT count(*), sum(i), max(s), min(d) FROM";
const EXPECTED: &str = "300000|45000150000|text 99999|1.5";

impl Bench {
    fn new(name: &str, threads: usize) -> Self {
        let folder = std::env::temp_dir().join(format!("remote-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let config = Config { threads: Some(threads), memory_limit: Some(512 << 20), ..Config::default() };
        let database = Database::new(config).unwrap();
        let mut bench = Self { folder, server: HttpServer::start().unwrap(), session: database.connect(), database };
        bench.run("SET http_retry_wait = '5ms'");
        bench.run("CREATE TABLE t AS SELECT i, 'text ' || i AS s, i * 1.5 AS d FROM generate_series(1, 300000) g(i)");
        for file in FILES {
            let options = match file {
                "t.parquet" => "(FORMAT parquet, ROW_GROUP_SIZE 50000)",
                "quoted.csv" => "(FORMAT csv, HEADER, FORCE_QUOTE (s))",
                "t.jsonl" => "(FORMAT json)",
                "t.arrow" => "(FORMAT arrow)",
                _ => "(FORMAT csv, HEADER)",
            };
            let path = bench.folder.join(file);
            bench.run(&format!("COPY t TO '{}' {options}", path.display()));
            bench.server.put(file, std::fs::read(&path).unwrap());
            bench.server.put(&format!("bucket/all/{file}"), std::fs::read(path).unwrap());
        }
        bench
    }

    fn run(&mut self, sql: &str) -> Vec<String> {
        self.try_run(sql).unwrap_or_else(|e| panic!("{}", e.render(sql)))
    }

    fn try_run(&mut self, sql: &str) -> base::Result<Vec<String>> {
        let sql = sql.replace('@', &format!("http://{}", self.server.host()));
        let rows = self.session.execute(&sql, &[]).and_then(text_rows)?;
        Ok(rows.into_iter().map(|row| row.join("|")).collect())
    }

    fn error(&mut self, sql: &str) -> base::Error {
        self.try_run(sql).map(|rows| rows.len()).expect_err(sql)
    }

    /// Waits for no more memory to be in use than that.
    #[track_caller]
    fn settles(&self, expected: usize) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.database.memory_used() > expected && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        let used = self.database.memory_used();
        assert!(used <= expected, "{} bytes are kept", used - expected);
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn all_formats_are_read_whatever_goes_wrong_for_a_while() {
    let mut bench = Bench::new("formats", 2);
    bench.settles(bench.database.memory_used());
    let used = bench.database.memory_used();
    for file in FILES {
        assert_eq!(bench.run(&format!("{SUMS} '@/{file}'")), [EXPECTED], "{file}");
    }
    for file in FILES {
        let faults = [Fault::Status(503), Fault::Short(1000), Fault::Closed];
        bench.server.fail(faults);
        assert_eq!(bench.run(&format!("{SUMS} '@/{file}?raw=1'")), [EXPECTED], "{file} with faults");
    }
    bench.settles(used);
    let size = std::fs::metadata(bench.folder.join("t.csv")).unwrap().len();
    assert_eq!(bench.run("SELECT size, left(content, 5) FROM read_text('@/t.csv')"), [format!("{size}|i,s,d")]);
    assert_eq!(bench.run("COPY t FROM '@/t.csv' (HEADER)"), Vec::<String>::new());
    assert_eq!(bench.run("CREATE TABLE u AS FROM '@/t.parquet'"), Vec::<String>::new());
    assert_eq!(bench.run("SELECT (SELECT count(*) FROM t), (SELECT sum(i) FROM u)"), ["600000|45000150000"]);
    assert_eq!(bench.run("SELECT num_rows, num_row_groups FROM parquet_file_metadata('@/t.parquet')"), ["300000|6"]);
    bench.server.put("empty.csv", "");
    bench.server.put("small.csv", "a,b\n1,x\n");
    assert_eq!(
        bench.error("SELECT * FROM '@/empty.csv'").state(),
        bench.error("SELECT * FROM read_csv('/dev/null')").state()
    );
    assert_eq!(bench.run("SELECT * FROM read_csv(['@/small.csv', '@/small.csv'], filename = true)").len(), 2);
}

#[test]
fn servers_without_ranges_send_all_of_it() {
    for without_length in [false, true] {
        let mut bench = Bench::new(&format!("ranges-{without_length}"), 2);
        bench.server.forget_ranges(without_length);
        for file in FILES {
            assert_eq!(bench.run(&format!("{SUMS} '@/{file}'")), [EXPECTED], "{file}");
        }
    }
}

#[test]
fn only_what_is_needed_is_asked_for() {
    let mut bench = Bench::new("needed", 2);
    bench.server.take_log();
    assert_eq!(bench.run("SELECT count(*), sum(i) FROM '@/t.parquet' WHERE i > 299000"), ["1000|299500500"]);
    let bytes = |(_, range): &(String, Option<String>)| {
        let (from, to) = range.as_deref().unwrap().strip_prefix("bytes=").unwrap().split_once('-').unwrap();
        to.parse::<u64>().unwrap() - from.parse::<u64>().unwrap() + 1
    };
    let log = bench.server.take_log();
    let asked: u64 = log.iter().map(bytes).sum();
    // The first block, the last one with the footer, and the blocks of one column of one row group.
    assert!(log.len() <= 5 && asked <= 5 * (256 << 10), "{log:?}");
    assert_eq!(bench.run("SELECT count(*) FROM '@/t.parquet'"), ["300000"]);
    assert!(bench.server.take_log().len() <= 2);
    assert_eq!(bench.run("SELECT i FROM '@/t.csv' LIMIT 1"), ["1"]);
}

#[test]
fn what_fails_says_why_and_leaves_nothing_behind() {
    let mut bench = Bench::new("errors", 2);
    bench.run("SELECT 1");
    let used = bench.database.memory_used();
    let mut fails = |faults: &[Fault], sql: &str, state: SqlState, says: &str| {
        bench.server.clear();
        bench.server.fail(faults.iter().cloned());
        let error = bench.error(sql);
        let text = format!("{} {}", error.message(), error.get_detail().unwrap_or_default());
        assert!(error.state() == state && text.contains(says), "{sql}: {} {text}", error.state().0);
    };
    fails(&[], "FROM '@/none.csv'", SqlState::UNDEFINED_FILE, "none.csv\" does not exist");
    // What cannot be bound is bound once more, without open arguments.
    fails(
        &[Fault::Status(403), Fault::Status(403)],
        "SELECT 1 FROM '@/t.csv'",
        SqlState::INSUFFICIENT_PRIVILEGE,
        "403",
    );
    fails(&[Fault::Status(418), Fault::Status(418)], "SELECT 1 FROM '@/t.csv'", SqlState::IO_ERROR, "418");
    fails(&vec![Fault::Status(500); 20], "SELECT sum(i) FROM '@/t.parquet'", SqlState::IO_ERROR, "500");
    let mut changes = vec![Fault::Late(Duration::ZERO); 2];
    changes.extend(vec![Fault::Changed; 20]);
    fails(&changes, "SELECT sum(i) FROM '@/t.parquet'", SqlState::IO_ERROR, "changed while it was read");
    fails(&[], "SELECT 1 FROM 'http://localhost:1/t.csv'", SqlState::IO_ERROR, "takes no connection");
    fails(&[], "SELECT 1 FROM 'http:///t.csv'", SqlState::INVALID_PARAMETER_VALUE, "no address");
    fails(&[], "COPY t TO '@/x.csv'", SqlState::FEATURE_NOT_SUPPORTED, "a file on a server");
    bench.server.clear();
    bench.run("SET query_memory_limit = '1MB'");
    assert_eq!(bench.error("SELECT max(s) FROM '@/t.parquet'").state(), SqlState::OUT_OF_MEMORY);
    bench.run("RESET query_memory_limit");
    bench.run("SET http_timeout = '100ms'");
    bench.server.fail(vec![Fault::Late(Duration::from_millis(400)); 10]);
    let error = bench.error("SELECT sum(i) FROM '@/t.parquet'");
    assert!(error.message().contains("does not answer in time"), "{}", error.message());
    bench.settles(used);
    let closed = Database::new(Config::default()).unwrap();
    closed.connect().execute("SET enable_external_access = off", &[]).unwrap();
    let refused = closed.connect().execute(&format!("FROM '{}'", bench.server.url("t.csv")), &[]);
    assert_eq!(refused.unwrap_err().state(), SqlState::INSUFFICIENT_PRIVILEGE);
}

#[test]
fn a_slow_server_holds_up_nobody_else_and_can_be_left() {
    let mut bench = Bench::new("slow", 1);
    let (database, server) = (bench.database.clone(), bench.server.url("t.parquet"));
    bench.run(&format!("SELECT sum(i) FROM '{server}'"));
    // Its opening goes on at once.
    let late = [Duration::ZERO, Duration::ZERO, Duration::from_secs(3)];
    bench.server.fail(late.map(Fault::Late));
    let slow = std::thread::spawn(move || {
        let begin = Instant::now();
        let sum = database.connect().execute(&format!("SELECT sum(i) FROM '{server}'"), &[]).and_then(text_rows);
        (sum.unwrap(), begin.elapsed())
    });
    std::thread::sleep(Duration::from_millis(500));
    let begin = Instant::now();
    assert_eq!(bench.run("SELECT count(*) FROM t a, t b WHERE a.i = b.i"), ["300000"]);
    let beside = begin.elapsed();
    let (sum, took) = slow.join().unwrap();
    assert_eq!(sum, [["45000150000"]]);
    assert!(took >= Duration::from_secs(3));
    // The only worker was free meanwhile.
    assert!(beside < Duration::from_secs(2), "{beside:?}");
    bench.settles(bench.database.memory_used());
    let used = bench.database.memory_used();
    for after in [0, 2] {
        let late = [Duration::ZERO; 2].into_iter().take(after).chain([Duration::from_secs(20); 8]);
        bench.server.fail(late.map(Fault::Late));
        let interrupt = bench.session.interrupt_handle();
        let stops = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            interrupt.interrupt();
        });
        let begin = Instant::now();
        assert_eq!(bench.error("SELECT sum(i) FROM '@/t.parquet'").state(), SqlState::QUERY_CANCELED);
        assert!(begin.elapsed() < Duration::from_secs(10));
        stops.join().unwrap();
        // Those that nobody has asked for.
        bench.server.clear();
        bench.settles(used);
    }
}

#[test]
fn buckets_are_listed_and_signed_for() {
    let mut bench = Bench::new("bucket", 2);
    let keys = Keys { id: "me".into(), secret: "se/cr+et".into() };
    bench.server.ask_for(keys);
    for year in [2023, 2024] {
        for part in ["a", "b c", "ü", "1+1%"] {
            bench.server.put(&format!("bucket/sales/year={year}/{part}.csv"), format!("n\n{year}\n"));
        }
    }
    let host = bench.server.host();
    for set in [
        format!("SET s3_endpoint = '{host}'"),
        "SET s3_use_ssl = off".into(),
        "SET s3_access_key_id = 'me'".into(),
        "SET s3_secret_access_key = 'wrong'".into(),
    ] {
        bench.run(&set);
    }
    let error = bench.error("FROM 's3://bucket/all/t.csv'");
    assert!(
        error.state() == SqlState::INSUFFICIENT_PRIVILEGE && error.get_hint().unwrap().contains("s3_access_key_id")
    );
    bench.run("SET s3_secret_access_key = 'se/cr+et'");
    assert_eq!(bench.run(&format!("{SUMS} 's3://bucket/all/t.parquet'")), [EXPECTED]);
    let sales = "SELECT year, count(*), sum(n) FROM 's3://bucket/sales/*/*.csv' GROUP BY year ORDER BY year";
    assert_eq!(bench.run(sales), ["2023|4|8092", "2024|4|8096"]);
    assert_eq!(
        bench.run("SELECT file FROM glob('s3://bucket/sales/year=2024/?.csv')"),
        ["s3://bucket/sales/year=2024/a.csv", "s3://bucket/sales/year=2024/ü.csv"]
    );
    assert_eq!(bench.run("SELECT count(*) FROM glob('s3://bucket/**/*.csv')"), ["10"]);
    assert_eq!(bench.error("FROM 's3://bucket/none/*.csv'").state(), SqlState::UNDEFINED_FILE);
    assert_eq!(bench.error("FROM 's3://*/t.csv'").state(), SqlState::INVALID_PARAMETER_VALUE);
    assert_eq!(bench.run("SHOW s3_secret_access_key"), ["***"]);
    bench.run("DROP SECRET s");
    assert_eq!(bench.run("SHOW s3_endpoint"), [""]);
    let secret = "KEY_ID 'me', SECRET 'se/cr+et', USE_SSL false, URL_STYLE 'path'";
    bench.run(&format!("CREATE OR REPLACE SECRET s (TYPE s3, ENDPOINT '{host}', {secret})"));
    assert_eq!(bench.run(&format!("{SUMS} 's3://bucket/all/t.parquet'")), [EXPECTED]);
    assert_eq!(bench.run("SHOW s3_secret_access_key"), ["***"]);
    assert_eq!(bench.error("CREATE SECRET (TYPE s3, SCOPE 's3://bucket')").state(), SqlState::FEATURE_NOT_SUPPORTED);
    assert_eq!(bench.run("SELECT count(*) FROM query_history() WHERE query LIKE '%cr+et%'"), ["0"]);
}
