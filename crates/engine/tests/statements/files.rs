//! Files: COPY, FROM 'path', `read_csv`, errors that name their place, rejects; and that nothing is left behind.

use std::path::PathBuf;

use crate::common::{settled_memory, settles};
use base::{Error, Result};
use engine::{Config, Database, Session};
use types::ops::cast::format_value;

/// A folder of its own that goes with the test, and a session.
struct Bench {
    folder: PathBuf,
    database: Database,
    session: Session,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Bench {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("engine-files-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let database =
            Database::new(Config { threads: Some(2), memory_limit: Some(256 << 20), ..Config::default() }).unwrap();
        Self { folder, session: database.connect(), database }
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).unwrap();
    }

    /// `n.csv` with the numbers from 1 to `count` as `i`.
    fn numbers(&self, count: u32) {
        let lines: String = (1..=count).map(|i| format!("{i}\n")).collect();
        self.file("n.csv", &format!("i\n{lines}"));
    }

    /// Runs a statement in which `@` stands for the folder. Rows come as texts, sorted; statements without rows as
    /// their tag.
    fn try_run(&mut self, sql: &str) -> Result<Vec<String>> {
        let sql = sql.replace('@', self.folder.to_str().unwrap());
        let result = self.session.execute(&sql, &[])?;
        if !result.has_rows() {
            return Ok(vec![result.tag().to_string()]);
        }
        let types: Vec<_> = result.columns().iter().map(|c| c.sql_type).collect();
        let text = |row: Vec<types::Value>| {
            let value = |(v, &t): (&types::Value, _)| if v.is_null() { "NULL".into() } else { format_value(v, t) };
            row.iter().zip(&types).map(value).collect::<Vec<String>>().join("|")
        };
        let mut rows: Vec<String> = result.rows()?.into_iter().map(text).collect();
        rows.sort();
        Ok(rows)
    }

    #[track_caller]
    fn check(&mut self, sql: &str, expected: &[&str]) {
        let rows = self.try_run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        assert_eq!(rows, expected, "{sql}");
    }

    #[track_caller]
    fn error(&mut self, sql: &str, state: &str, parts: &[&str]) -> Error {
        let before = settled_memory(&self.database);
        let error = self.try_run(sql).expect_err(sql);
        assert_eq!(error.state().0, state, "{sql}: {error:?}");
        for part in parts {
            assert!(error.message().contains(part), "{sql}: {error:?} does not say {part}");
        }
        settles(&self.database, before, sql);
        error
    }
}

#[test]
fn tables_come_back_from_files() {
    let b = &mut Bench::new("round-trip");
    b.check(
        "create table t (i integer, b bigint, d decimal(10,2), f double precision, s text, day date, ts timestamp, \
         ok boolean)",
        &["CREATE TABLE"],
    );
    b.check(
        "insert into t values (1, 10000000000, 1.50, 0.25, 'a, \"quoted\"', date '2020-02-29', timestamp '2020-01-02 \
         03:04:05', true), (2, null, -3.25, 1e100, E'two\\nlines', null, null, false), (null, 0, null, null, '', date \
         '1999-12-31', null, null), (4, -1, 0, 0, null, null, null, true)",
        &["INSERT 4"],
    );
    let all = b.try_run("select * from t").unwrap();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    for name in ["t.csv", "t.csv.gz", "t.csv.zst", "t.tsv", "t.txt", "t.parquet"] {
        b.check(&format!("copy t to '@/{name}'"), &["COPY 4"]);
        b.check("create or replace table u as select * from t where false", &["SELECT 0"]);
        b.check(&format!("copy u from '@/{name}'"), &["COPY 4"]);
        b.check("select * from u", &all);
    }
    b.check("copy (select i, s from t where i < 3) to '@/part.parquet'", &["COPY 2"]);
    b.check("select i from '@/part.parquet'", &["1", "2"]);
    b.check("copy (select i, s from t where i < 3) to '@/part.csv' with (header, delimiter ';')", &["COPY 2"]);
    b.check("select i, s from '@/part.csv'", &["1|a, \"quoted\"", "2|two\nlines"]);
    // Some columns, in another order.
    b.check("create or replace table u as select * from t where false", &["SELECT 0"]);
    b.check("copy u (s, i) from '@/part.parquet'", &["COPY 2"]);
    b.check("select i, b, s from u", &["1|NULL|a, \"quoted\"", "2|NULL|two\nlines"]);
}

#[test]
fn many_files_are_one_table() {
    let b = &mut Bench::new("glob");
    b.file("1.csv", "a,b\n1,x\n2,y\n");
    b.file("2.csv", "a,b\n3,z\n");
    b.check("select * from '@/*.csv'", &["1|x", "2|y", "3|z"]);
    b.check("select count(*) from read_csv(['@/1.csv', '@/2.csv', '@/1.csv'])", &["5"]);
    b.error("select * from '@/*.parquet'", "58P01", &["no file matches"]);
    b.file("3.csv", "other\n3\n");
    b.error("select * from '@/*.csv'", "22P04", &["3.csv", "different columns"]);
}

#[test]
fn options_of_read_csv() {
    let b = &mut Bench::new("options");
    b.file("x.csv", "# a remark\n1;'a;b';NA\n2;c;5\n");
    b.check(
        "select * from read_csv('@/x.csv', delim = ';', quote = '''', skip = 1, header = false, nullstr = 'NA')",
        &["1|a;b|NULL", "2|c|5"],
    );
    b.file("y.csv", "a,b\n1,2\n");
    b.check("select a || b from read_csv('@/y.csv', all_varchar = true)", &["12"]);
    b.error("select * from read_csv('@/y.csv', nonsense = 1)", "42601", &["nonsense"]);
    b.error("select * from read_csv('@/y.csv', header = 'perhaps')", "22023", &["header"]);
    b.error("select c from '@/y.csv'", "42703", &["c"]);
}

#[test]
fn bad_records_name_their_place_and_change_nothing() {
    let b = &mut Bench::new("bad");
    b.check("create table t (a integer, s text)", &["CREATE TABLE"]);
    b.check("insert into t values (0, 'zero')", &["INSERT 1"]);
    let mut text: String = (0..100_000).map(|i| format!("{i},text of {i}\n")).collect();
    text.push_str("seven,x\n");
    b.file("bad.csv", &text);
    b.error("copy t from '@/bad.csv'", "22P02", &["bad.csv", "line 100001", "\"a\"", "\"seven\""]);
    b.file("short.csv", "1,x\n2\n");
    b.error("copy t from '@/short.csv'", "22P04", &["short.csv", "line 2", "missing data for column \"s\""]);
    b.file("open.csv", "1,\"x\n2,y\n");
    b.error("copy t from '@/open.csv'", "22P04", &["unterminated"]);
    b.error("copy t from '@/missing.csv'", "58P01", &["missing.csv"]);
    b.error("select * from '@/missing.parquet'", "58P01", &["missing.parquet"]);
    b.error("select * from '@/x.unknown'", "58P01", &["format"]);
    b.error("insert into t select a / 0, s from t", "22012", &[]);
    b.check("select * from t", &["0|zero"]);
}

/// The ends of texts, which files know, say nothing of their lengths.
#[test]
fn lengths_of_texts_in_files() {
    let b = &mut Bench::new("lengths");
    b.numbers(5000);
    b.check(
        "copy (select i, case when i <> 7 then 'text ' || i end as s from '@/n.csv') to '@/x.parquet'",
        &["COPY 5000"],
    );
    b.check("select min(length(s)), max(length(s)) from '@/x.parquet'", &["6|9"]);
    b.check("select sum(length(s)), max(s) from '@/x.parquet' where s < 'text 2'", &["9876|text 1999"]);
}

#[test]
fn damaged_files_are_errors() {
    let b = &mut Bench::new("damaged");
    b.numbers(5000);
    b.check("copy (select i, 'text ' || i as s from '@/n.csv') to '@/x.parquet'", &["COPY 5000"]);
    b.check("copy (select i, 'text ' || i as s from '@/n.csv') to '@/x.csv.gz'", &["COPY 5000"]);
    for name in ["x.parquet", "x.csv.gz"] {
        let whole = std::fs::read(b.folder.join(name)).unwrap();
        for (part, length) in [whole.len() / 2, whole.len() - 1, 10].into_iter().enumerate() {
            std::fs::write(b.folder.join(format!("{part}.{name}")), &whole[..length]).unwrap();
            b.error(&format!("select count(s) from '@/{part}.{name}'"), "XX001", &[name]);
        }
    }
    b.file("text.parquet", "a,b\n1,2\n");
    b.error("select * from '@/text.parquet'", "XX001", &["text.parquet"]);
    b.file("plain.csv.gz", "a,b\n1,2\n");
    b.error("select * from '@/plain.csv.gz'", "XX001", &["plain.csv.gz"]);
}

#[test]
fn empty_files() {
    let b = &mut Bench::new("empty");
    b.check("create table t (a integer, s text)", &["CREATE TABLE"]);
    b.file("empty.csv", "");
    b.file("header.csv", "a,s\n");
    b.check("copy t from '@/empty.csv'", &["COPY 0"]);
    b.check("copy t from '@/header.csv' with (header)", &["COPY 0"]);
    b.check("select * from '@/header.csv'", &[]);
    b.error("select * from '@/empty.csv'", "22P04", &["empty"]);
    b.check("copy t to '@/none.parquet'", &["COPY 0"]);
    b.check("select count(*) from '@/none.parquet'", &["0"]);
}

#[test]
fn rejects_go_to_a_table() {
    let b = &mut Bench::new("rejects");
    b.file("x.csv", "a,s\n1,one\ntwo,2\n3\n4,four\n");
    b.check("create table t (a integer, s text)", &["CREATE TABLE"]);
    let copy = "copy t from '@/x.csv' with (header, on_error ignore, rejects_table 'bad')";
    b.check(copy, &["COPY 2"]);
    b.check("select * from t", &["1|one", "4|four"]);
    let rows = ["3|a|two", "4|NULL|3"];
    b.check("select line, column_name, value from bad", &rows);
    b.check("select count(*) from bad where file like '%x.csv' and message <> ''", &["2"]);
    b.check(copy, &["COPY 2"]);
    b.check("select count(*) from bad", &["4"]);
    let read = "read_csv('@/x.csv', types = '{a: integer, s: text}', store_rejects = true)";
    b.check(&format!("select * from {read}"), &["1|one", "4|four"]);
    b.check("select line, column_name, value from reject_errors", &rows);
    // Read twice, rejected once; not at all by EXPLAIN and by what fails.
    b.check(&format!("select count(*) from {read} x, {read} y"), &["4"]);
    b.check("select count(*) from reject_errors", &["4"]);
    b.try_run(&format!("explain select * from {read}")).unwrap();
    b.error(&format!("select a / 0 from {read}"), "22012", &[]);
    b.check("select count(*) from reject_errors", &["4"]);
    b.error("copy t from '@/x.csv' with (rejects_table 't')", "42804", &["\"t\""]);
    b.error("copy t from '@/x.csv' with (on_error stop, rejects_table 'bad')", "22023", &["ON_ERROR"]);
    b.check("copy t from '@/x.csv' with (header, on_error ignore)", &["COPY 2"]);
}

#[test]
fn options_of_copy() {
    let b = &mut Bench::new("copy");
    b.check("create table t (a integer default 7, s text default 'd', n decimal(6,2) default 1.5)", &["CREATE TABLE"]);
    b.file("x.csv", "1,#,2\n#,\"#\",#\n#,,3.25\n");
    b.check("copy t from '@/x.csv' with (format csv, default '#')", &["COPY 3"]);
    b.check("select * from t", &["1|d|2.00", "7|#|1.50", "7|NULL|3.25"]);
    b.file("x.dat", "5\t\\N\t\\d\n6\ta\\tb\t2\n\\.\n");
    b.check("create or replace table t (a integer, s text, n decimal(6,2) default 9)", &["CREATE TABLE"]);
    b.check("copy t from '@/x.dat' with (format text, default '\\d')", &["COPY 2"]);
    b.check("select * from t", &["5|NULL|9.00", "6|a\tb|2.00"]);
    for (options, state, part) in [
        ("nonsense", "42601", "nonsense"),
        ("columns '{a: text}'", "42601", "columns"),
        ("format avro", "22023", "avro"),
        ("format csv, format csv", "42601", "redundant"),
        ("delimiter ',,'", "22023", "delimiter"),
        ("delimiter '|', quote '|'", "22023", "different"),
        ("format text, quote '|'", "22023", "CSV"),
        ("null 'a,b'", "22023", "NULL"),
        ("null 'x', default 'x'", "22023", "cannot be the same"),
        ("force_quote (a)", "22023", "FORCE_QUOTE"),
        ("force_null (z)", "42P10", "\"z\""),
    ] {
        let error = b.error(&format!("copy t from '@/x.csv' with ({options})"), state, &[part]);
        assert!(error.position().is_some(), "{options}");
    }
    b.error("copy t to '@/y.csv' with (on_error ignore)", "22023", &["COPY TO"]);
    b.error("copy t to '@/y.csv' with (rejects_table 'x')", "42601", &["rejects_table"]);
    b.error("copy t from '@/y.parquet' with (rejects_table 'x')", "42601", &["rejects_table"]);
    b.error("copy t to stdout (format nonsense)", "22023", &["nonsense"]);
    assert!(!b.folder.join("y.csv").exists());
}

#[test]
fn texts_in_memory_are_charged() {
    let b = &mut Bench::new("memory");
    b.numbers(600_000);
    let text = "select i, 'a text that is the same in all rows and fills the file' as s from '@/n.csv'";
    b.check(&format!("copy ({text}) to '@/x.csv.gz'"), &["COPY 600000"]);
    let before = settled_memory(&b.database);
    b.check("select count(*), max(i) from read_csv('@/x.csv.gz', header = false) as x (i, s)", &["600000|600000"]);
    settles(&b.database, before, text);
    let small = Database::new(Config { threads: Some(2), memory_limit: Some(16 << 20), ..Config::default() }).unwrap();
    let error = small
        .connect()
        .execute(&format!("select * from '{}/x.csv.gz'", b.folder.display()), &[])
        .expect_err("it does not fit");
    assert_eq!(error.state().0, "53200", "{error:?}");
    assert!(error.message().contains("file scan"), "{error:?}");
    settles(&small, 0, "a file that does not fit");
}

#[test]
fn big_results_are_stored_by_many() {
    let b = &mut Bench::new("store");
    b.numbers(300_000);
    b.check("create table n as select i, i % 1000 as k from '@/n.csv'", &["SELECT 300000"]);
    b.check(
        "create table j as select a.i, b.k, 'text ' || a.i as s from n a join n b on a.i = b.i",
        &["SELECT 300000"],
    );
    b.check("select count(*), sum(i), count(distinct s) from j", &["300000|45000150000|300000"]);
    let used = settled_memory(&b.database);
    b.error("create table x as select a.i / (b.i - 300000) from n a join n b on a.i = b.i", "22012", &[]);
    b.check("create table p (i bigint primary key)", &["CREATE TABLE"]);
    // The index of the key keeps its room.
    let error = b.try_run("insert into p select a.i % 299999 from n a join n b on a.i = b.i").unwrap_err();
    assert_eq!(error.state().0, "23505", "{error:?}");
    b.check("select count(*) from p", &["0"]);
    b.check("drop table p", &["DROP TABLE"]);
    settles(&b.database, used, "a table that is gone");
}

#[test]
fn a_copy_to_a_file_replaces_it_when_it_is_complete() {
    let mut b = Bench::new("replace");
    b.check("copy (select 1 as a) to '@/self.csv' (header)", &["COPY 1"]);
    // It reads what it replaces.
    b.check("copy (select a + 1 as a from '@/self.csv') to '@/self.csv' (header)", &["COPY 1"]);
    b.check("select a from '@/self.csv'", &["2"]);
    b.check("copy (select a from '@/self.csv') to '@/self.parquet'", &["COPY 1"]);
    b.check("copy (select a * 10 as a from '@/self.parquet') to '@/self.parquet'", &["COPY 1"]);
    b.check("select a from '@/self.parquet'", &["20"]);
    // One that fails leaves what there was, and nothing beside it.
    for file in ["self.csv", "self.parquet", "new.csv"] {
        let error = b.try_run(&format!("copy (select 1 / (a - 2) from '@/self.csv') to '@/{file}'")).unwrap_err();
        assert_eq!(error.state().to_string(), "22012");
    }
    b.check("select a from '@/self.csv'", &["2"]);
    b.check("select a from '@/self.parquet'", &["20"]);
    let mut left: Vec<_> = std::fs::read_dir(&b.folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["self.csv", "self.parquet"]);
}

#[test]
fn a_row_that_looks_like_the_header_is_a_row() {
    let mut b = Bench::new("header");
    b.check("create table w (a text, b text)", &["CREATE TABLE"]);
    b.check("insert into w values ('a', 'b'), ('1', '2')", &["INSERT 2"]);
    for options in ["(format csv)", "(format text)", ""] {
        b.check(&format!("copy w to '@/w' {options}"), &["COPY 2"]);
        b.check("create table v (a text, b text)", &["CREATE TABLE"]);
        b.check(&format!("copy v from '@/w' {options}"), &["COPY 2"]);
        b.check("select * from v", &["1|2", "a|b"]);
        b.check("drop table v", &["DROP TABLE"]);
    }
}

#[test]
fn delimiter_and_quote_differ() {
    let mut b = Bench::new("quote");
    for options in ["delimiter '\"'", "quote ','", "delimiter ';', quote ';'"] {
        let error = b.try_run(&format!("copy (select 1) to '@/q.csv' (format csv, {options})")).unwrap_err();
        assert_eq!(error.message(), "COPY delimiter and quote must be different", "{options}");
    }
    assert!(!b.folder.join("q.csv").exists());
}

#[test]
fn json_files_are_tables() {
    let mut bench = Bench::new("json");
    bench.file("t.jsonl", "{\"a\":1,\"b\":\"x\",\"s\":{\"q\":1.5,\"l\":[1,null]}}\n\n{\"a\":2,\"d\":\"2024-01-01\"}\n");
    let all = ["1|x|{'q': 1.5, 'l': {1,NULL}}|NULL", "2|NULL|NULL|2024-01-01"];
    bench.check("select * from '@/t.jsonl'", &all);
    bench.check("select (s).l[1] + a from read_json('@/t.jsonl') where d is null", &["2"]);
    bench.check("copy (from '@/t.jsonl') to '@/array.json.zst' (array true)", &["COPY 2"]);
    bench.check("from read_json_auto('@/array.json.zst')", &all);
    bench.check("copy (from '@/t.jsonl') to '@/lines' (format json)", &["COPY 2"]);
    bench.check("from read_ndjson('@/lines', sample_size = -1)", &all);
    let columns = "columns = {'a': 'VARCHAR', 's': 'STRUCT(q INTEGER[], l JSON)', 'z': 'INT'}";
    bench.check(
        &format!("from read_json('@/t.jsonl', ignore_errors := true, {columns})"),
        &["1|NULL|NULL", "2|NULL|NULL"],
    );
    bench.check(
        "select * from read_json('@/array.json.zst', records = false) as t (o) where (o).a = 2",
        &["{'a': 2, 'b': NULL, 's': NULL, 'd': 2024-01-01}"],
    );
    bench.check("create table t (d date, a smallint, b varchar(3), s json)", &["CREATE TABLE"]);
    bench.check("copy t from '@/t.jsonl'", &["COPY 2"]);
    bench.check("copy t from '@/array.json.zst' (format json)", &["COPY 2"]);
    bench.check("select count(*), sum(a), min(d), max(b) from t", &["4|6|2024-01-01|x"]);
    bench.check("copy (select e'[1,\n2]'::json as j, 'x' as t) to '@/one.json'", &["COPY 1"]);
    bench.check("select j[2], t from '@/one.json'", &["2|x"]);
    bench.file("empty.json", "");
    bench.check("select count(*) from '@/empty.json'", &["0"]);
}

#[test]
fn bad_json_names_its_place() {
    let mut bench = Bench::new("bad-json");
    let lines: String = (1..=30_000).map(|i| format!("{{\"i\":{i}}}\n")).collect();
    bench.file("late.json", &format!("{lines}{{\"i\":\"x\"}}\n"));
    let late = "late.json\", line 30001, column \"i\"";
    let error = bench.error("select sum(i) from '@/late.json'", "22P02", &[late]);
    assert!(error.get_hint().is_some_and(|hint| hint.contains("sample_size")), "{error:?}");
    bench.check("select count(i) from read_json('@/late.json', sample_size = -1)", &["30001"]);
    bench.check("select count(i) from read_json('@/late.json', ignore_errors = true)", &["30000"]);
    bench.file("new.json", &format!("{lines}{{\"j\":1}}\n"));
    bench.error("select count(*) from '@/new.json'", "22P04", &["unknown key \"j\"", "line 30001"]);
    bench.file("half.json", &format!("{lines}{{\"i\":"));
    bench.error("select count(*) from '@/half.json'", "22P02", &["line 30001"]);
    std::fs::write(bench.folder.join("bytes.json"), b"{\"i\":\"\xff\"}").unwrap();
    bench.error("select * from '@/bytes.json'", "22021", &["bytes.json\", line 1"]);
    bench.file("deep.json", &("[".repeat(2_000) + &"]".repeat(2_000)));
    bench.error("select * from '@/deep.json'", "54001", &["deep.json\", line 1"]);
    bench.file("long.json", &format!("{{\"i\":\"{}\"}}", "x".repeat(20 << 20)));
    bench.error("select * from '@/long.json'", "54000", &["longer than 16777216 bytes"]);
    bench.check("select length(i) from read_json('@/long.json', maximum_object_size = 30000000)", &["20971520"]);
    let error = bench.error("from read_json('@/late.json', sampel_size = 1)", "42601", &["sampel_size"]);
    assert!(error.get_hint().is_some_and(|hint| hint.contains("sample_size")), "{error:?}");
    bench.error("copy (select 1 a, 2 a) to '@/twice.json'", "42701", &["a"]);
}

#[test]
fn files_have_labels_and_columns_by_name() {
    let mut bench = Bench::new("labels");
    for (folder, text) in [("year=2023/m=a%20b", "i,t\n1,x\n2,y\n"), ("year=2024/m=c", "i,u\n3,2024-01-01\n")] {
        std::fs::create_dir_all(bench.folder.join("h").join(folder)).unwrap();
        bench.file(&format!("h/{folder}/f.csv"), text);
    }
    let all = "read_csv('@/h/**/*.csv', union_by_name = true";
    let rows = ["1|x|NULL|a b|2023", "2|y|NULL|a b|2023", "3|NULL|2024-01-01|c|2024"];
    bench.check(&format!("select * from {all})"), &rows);
    bench.check(&format!("select i from {all}) where year = 2024 and u is not null"), &["3"]);
    bench.check(&format!("select i from {all}) where t is null or m = 'c'"), &["3"]);
    bench.check(
        &format!("select count(*), min(year), max(year) from {all}, hive_partitioning := true)"),
        &["3|2023|2024"],
    );
    bench.check(&format!("select i from {all}, filename = true) where filename like '%year=2024%'"), &["3"]);
    bench.check(&format!("select year || 'x' from {all}, hive_types = {{'year': 'text'}}) where i = 1"), &["2023x"]);
    bench.check(&format!("select * from {all}, hive_partitioning = false) where i = 1"), &["1|x|NULL"]);
    bench.error("from '@/h/**/*.csv'", "22P04", &["different columns"]);
    bench.file("h/g.csv", "i,t\n9,z\n");
    bench.check(&format!("select * from {all}) where i = 9"), &["9|z|NULL"]);
    bench.error(&format!("from {all}, hive_partitioning = true)"), "22023", &["different partition columns"]);
    // What one file alone would take for a number is read as the text that it is in all.
    bench.file("a.json", "{\"k\":1,\"v\":10}\n");
    bench.file("b.json", "{\"k\":\"007\"}\n{\"k\":\"x\",\"w\":true}\n");
    bench.check(
        "select * from read_json(['@/a.json', '@/b.json'], union_by_name = true)",
        &["007|NULL|NULL", "1|10|NULL", "x|NULL|true"],
    );
    bench.file("a.csv", "k\n007\n");
    bench.file("b.csv", "k,n\nx,1.5\n");
    bench.check("from read_csv(['@/a.csv', '@/b.csv'], union_by_name = true)", &["007|NULL", "x|1.5"]);
    for (name, query) in [("a", "select 1 as k, 2 as n"), ("b", "select 2.5::float8 as n, 'z' as t")] {
        bench.check(&format!("copy ({query}) to '@/{name}.parquet'"), &["COPY 1"]);
    }
    let both = "read_parquet(['@/a.parquet', '@/b.parquet'], union_by_name = true, filename = 'f')";
    bench.check(&format!("select k, n, t, right(f, 9) from {both}"), &["1|2|NULL|a.parquet", "NULL|2.5|z|b.parquet"]);
    bench.check(&format!("select n from {both} where k is null"), &["2.5"]);
    bench.check(&format!("select n from {both} where t = 'z' and n > 1"), &["2.5"]);
    bench.check(&format!("select count(*) from {both}"), &["2"]);
}

#[test]
fn options_as_duckdb_names_them() {
    let mut bench = Bench::new("duckdb-options");
    bench.file("f", "# made \"by\" hand\na|b|d\n# more\n1,5|-|03.02.2024\n2|'x''y'|04.02.2024\n");
    let read =
        "read_csv('@/f', sep = '|', header = true, comment = '#', quote = '''', nullstr = '-', decimal_separator = ','";
    bench.check(
        &format!("select a * 2, b, d + 1 from {read}, dateformat = '%d.%m.%Y')"),
        &["3|NULL|2024-02-04", "4|x'y|2024-02-05"],
    );
    bench.check(
        &format!("select x, d from {read}, names = ['x'], types = ['DECIMAL(5,2)', 'TEXT', 'VARCHAR'])"),
        &["1.50|03.02.2024", "2.00|04.02.2024"],
    );
    bench.check(
        "select column1 from read_csv('@/f', delim = '|', header = false, skip = 3, all_varchar = true, \
            new_line = '\\n', encoding = 'utf-8', nullstr = ['-', ''])",
        &["NULL", "x'y"],
    );
    bench.file("short", "First Name,x-y,1st\nq,2,3\nr,5\ns\n");
    bench.check(
        "select first_name, xy * 2, _1st from read_csv('@/short', null_padding = true, normalize_names = true)",
        &["q|4|3", "r|10|NULL", "s|NULL|NULL"],
    );
    bench.check(
        "select count(*) from read_csv('@/short', null_padding = true, nullstr = 'q') where \"1st\" is null",
        &["2"],
    );
    bench.check(
        "select typeof(a), typeof(b) from read_csv('@/short', null_padding = true, column_names = ['a', 'b'], \
            auto_type_candidates = ['DATE', 'VARCHAR'], buffer_size = 1000) limit 1",
        &["text|text"],
    );
    bench.error("from read_csv('@/f', names = ['a', 'a'])", "22023", &["given twice"]);
    bench.error("from read_csv('@/f', names = ['a', 'b', 'c', 'd', 'e', 'f'])", "22P04", &["6 names"]);
    bench.error("from read_csv('@/f', encoding = 'ebcdic')", "0A000", &["ebcdic"]);
    std::fs::write(bench.folder.join("latin"), b"a\ncaf\xe9\n").unwrap();
    bench.check("from read_csv('@/latin', encoding = 'latin-1', header = true)", &["café"]);
    let error = bench.error("from read_csv('@/f', delimeter = '|')", "42601", &["delimeter"]);
    assert!(error.get_hint().is_some_and(|hint| hint.contains("delimiter")), "{error:?}");
    bench.error("from read_parquet('@/f', delim = '|')", "42601", &["delim"]);
}

#[test]
fn results_are_parted_into_folders() {
    let mut bench = Bench::new("parted");
    bench.check(
        "create table t as select i, i % 3 as k, case when i % 2 = 0 then 'a/b' end as t from range(10) as r (i)",
        &["SELECT 10"],
    );
    for format in ["parquet", "csv", "json"] {
        let header = if format == "csv" { ", header" } else { "" };
        let copy = format!("copy t to '@/{format}' (format {format}, partition_by (k, t){header}");
        bench.check(&format!("{copy})"), &["COPY 10"]);
        assert!(bench.folder.join(format!("{format}/k=1/t=a%2Fb/data_0.{format}")).is_file());
        bench.check(
            &format!("select k, t, sum(i), count(*) from '@/{format}/**/*.{format}' group by k, t"),
            &["0|NULL|12|2", "0|a/b|6|2", "1|NULL|8|2", "1|a/b|4|1", "2|NULL|5|1", "2|a/b|10|2"],
        );
        bench.error(&format!("{copy})"), "58P02", &["is not empty"]);
        bench.check(&format!("{copy}, overwrite_or_ignore)"), &["COPY 10"]);
        bench.check(&format!("select sum(i) from '@/{format}/**/*.{format}' where k = 1"), &["12"]);
    }
    // What becomes of files that are there, and what new ones are called.
    let copy = "copy (select 1 as i, 7 as k) to '@/csv' (format csv, header, partition_by (k)";
    bench.check(&format!("{copy}, append)"), &["COPY 1"]);
    bench.check(&format!("{copy}, append, filename_pattern 'more_{{i}}')"), &["COPY 1"]);
    bench.check("select sum(i), count(*) from '@/csv/**'", &["47|12"]);
    bench.check(&format!("{copy}, overwrite, filename_pattern 'f_{{i}}')"), &["COPY 1"]);
    bench.check("select sum(i), count(*) from '@/csv/**'", &["1|1"]);
    assert!(bench.folder.join("csv/k=7/f_0.csv").is_file());
    bench.check("copy t to '@/whole' (format parquet, per_thread_output)", &["COPY 10"]);
    bench.error(&format!("{copy}, append, overwrite)"), "22023", &["only one of"]);
    // More parts than files may be open.
    bench.check(
        "copy (select i, i % 250 as k from range(1000) as r (i)) to '@/many' (format parquet, partition_by (k), \
            compression snappy, row_group_size 100)",
        &["COPY 1000"],
    );
    // The file of a row has a name though nobody asks for it, unless a column has that name.
    bench.check("select count(distinct filename) from '@/many/k=7/*.parquet'", &["1"]);
    bench.check("select * from '@/whole/*.parquet' where filename like '%whole%' and i = 3", &["3|0|NULL"]);
    bench.error("select s.filename from (select * from '@/whole/*.parquet') s", "42703", &["filename"]);
    bench.check("create view of_files as select i, filename as f from '@/whole/*.parquet'", &["CREATE VIEW"]);
    bench.check("select count(*) from of_files where f like '%whole%'", &["10"]);
    bench.check("copy (select 'own' as filename) to '@/own.parquet' (format parquet)", &["COPY 1"]);
    bench.check("select filename from '@/own.parquet'", &["own"]);
    bench.check("select count(*), sum(i), count(distinct k) from '@/many/**/*.parquet'", &["1000|499500|250"]);
    bench.check("select sum(i) from '@/many/**/*.parquet' where k = 7", &["1528"]);
    bench.error("copy t to '@/x' (format csv, partition_by (z))", "42703", &["\"z\" does not exist"]);
    bench.error("copy t to '@/x' (format csv, partition_by (i, k, t))", "22023", &["no column"]);
    bench.error("copy t to '@/x' (format parquet, partition_by (k), compression nothing)", "22023", &["compression"]);
    assert!(!bench.folder.join("x").exists());
}

#[test]
fn arrow_files_are_tables() {
    let mut bench = Bench::new("arrow");
    bench.check(
        "create table t as select i, i::text || 'x' as t, case when i % 2 = 0 then i / 4.0 end as d, [i, null] as l, \
            {'a': i, 'b': date '2024-01-01'} as s from range(100000) as r (i)",
        &["SELECT 100000"],
    );
    let sums = "select count(*), sum(i), max(t), sum(d), sum(l[1]), max((s).b) from";
    let expected = bench.try_run(&format!("{sums} t")).unwrap();
    for (file, options) in
        [("a.arrow", ""), ("a.feather", "(compression lz4)"), ("a.x", "(format arrow, compression zstd)")]
    {
        bench.check(&format!("copy t to '@/{file}' {options}"), &["COPY 100000"]);
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        bench.check(&format!("{sums} read_arrow('@/{file}')"), &expected);
        bench.check(&format!("select count(*) from read_arrow('@/{file}')"), &["100000"]);
        bench.check(&format!("select t, i, t from read_arrow('@/{file}') where i = 70000"), &["70000x|70000|70000x"]);
    }
    bench.check("select count(*) from '@/a.arrow' a join '@/a.feather' b on a.i = b.i", &["100000"]);
    bench.check("create table u (t text, i bigint)", &["CREATE TABLE"]);
    bench.check("copy u from '@/a.feather'", &["COPY 100000"]);
    bench.check("select count(*), sum(i), max(t) from u", &["100000|4999950000|9x"]);
    // Whatever is damaged, it is an error or what was written.
    let whole = std::fs::read(bench.folder.join("a.feather")).unwrap();
    for at in (0..600).chain(whole.len() - 1500..whole.len()) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        std::fs::write(bench.folder.join("bad.arrow"), &bytes).unwrap();
        let _ = bench.try_run("select count(*), sum(i), max(t) from '@/bad.arrow'");
    }
    std::fs::write(bench.folder.join("bad.arrow"), &whole[..whole.len() / 2]).unwrap();
    bench.error("from '@/bad.arrow'", "XX001", &["not a valid Arrow file"]);
    bench.file("empty.arrow", "");
    bench.error("from '@/empty.arrow'", "XX001", &["not a valid Arrow file"]);
}

#[test]
fn files_are_looked_at() {
    let mut bench = Bench::new("looks");
    bench.file("a.txt", "one\ntwo");
    bench.file("b.txt", "");
    std::fs::write(bench.folder.join("c.bin"), b"\xff\x00").unwrap();
    bench.check("select right(file, 5) from glob('@/*.txt')", &["a.txt", "b.txt"]);
    bench.check("select count(*) from glob('@/*.nothing')", &["0"]);
    bench.check(
        "select content, size, last_modified > timestamptz '2020-01-01 00:00+0' from read_text('@/*.txt')",
        &["one\ntwo|7|true", "|0|true"],
    );
    bench.check("select content, right(filename, 5) from read_blob('@/c.bin')", &["\\xff00|c.bin"]);
    bench.error("from read_text('@/c.bin')", "22021", &["c.bin"]);
    bench.check(
        "copy (select i, i::text as t from range(1000) as r (i)) to '@/p.parquet' (row_group_size 400)",
        &["COPY 1000"],
    );
    bench.check(
        "select name, type, num_children from parquet_schema('@/p.parquet') where column_id > 0",
        &["i|INT64|NULL", "t|BYTE_ARRAY|NULL"],
    );
    bench.check(
        "select row_group_id, row_group_num_rows, stats_min_value, stats_max_value, stats_null_count \
            from parquet_metadata('@/p.parquet') where path_in_schema = 'i'",
        &["0|400|0|399|0", "1|400|400|799|0", "2|200|800|999|0"],
    );
    bench.check(
        "select num_rows, num_row_groups, created_by from parquet_file_metadata('@/p.parquet')",
        &["1000|3|MorselDB"],
    );
    bench.file("s.csv", "n;d\n1;2024-01-01\n2;NA\n");
    bench.check(
        "select delimiter, quote, hasheader, skiprows, columns from sniff_csv('@/s.csv')",
        &[";|\"|true|0|{\"{'name': n, 'type': bigint}\",\"{'name': d, 'type': date}\"}"],
    );
    bench.check("select hasheader, (columns[1]).name from sniff_csv('@/s.csv', skip = 1)", &["false|column0"]);
    bench.error("from glob('@/*', a = 1)", "42601", &["\"a\""]);
}
