use std::sync::{Arc, Mutex};

use base::{Random, SqlState};
use bytes::Bytes;
use types::{SqlType, Value};

use super::*;
use crate::source::{FileSource, Step, read_all};
use base::helpers::{Helpers, PieceStep};

fn open(text: &str, options: &CsvOptions) -> base::Result<Arc<dyn FileSource>> {
    open_csv_bytes("t.csv", Bytes::from(text.to_owned()), options)
}

fn rows(source: &Arc<dyn FileSource>) -> base::Result<Vec<Vec<Value>>> {
    let all: Vec<usize> = (0..source.schema().len()).collect();
    let chunks = read_all(source, &all)?;
    Ok(chunks.iter().flat_map(|c| (0..c.rows()).map(|r| c.row(r)).collect::<Vec<_>>()).collect())
}

fn types_of(source: &dyn FileSource) -> Vec<(String, SqlType)> {
    source.schema().iter().map(|f| (f.name.clone(), f.sql_type)).collect()
}

fn typed(columns: &[(&str, SqlType)]) -> CsvOptions {
    CsvOptions { columns: Some(columns.iter().map(|(n, t)| ((*n).to_owned(), *t)).collect()), ..CsvOptions::copy() }
}

/// A name that another column has gets the first number behind it that makes it another one, however many there are.
#[test]
fn names_are_made_unique() {
    let names =
        |given: &[&str]| sniff::names(Some(&given.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>()), given.len());
    assert_eq!(names(&["a", "a", "a_1", "a", "", " b "]), ["a", "a_1", "a_1_1", "a_2", "column4", "b"]);
    assert_eq!(names(&["x"; 30_000])[29_999], "x_29999");
    assert_eq!(sniff::names(None, 2), ["column0", "column1"]);
}

#[test]
fn types_and_header_are_found_out() {
    let text = "id,price,day,at,ok,name,code\n1,1.5,2013-01-01,2013-01-01T10:00:00Z,true,\"a,b\",12345678901234567890\n\
                NA,NA,NA,2013-01-01 10:00,FALSE,NA,1\n";
    let source = open(text, &CsvOptions::detect()).unwrap();
    use SqlType::*;
    let expected = [BigInt, Double, Date, Timestamptz, Bool, Text, Text];
    assert_eq!(source.schema().iter().map(|f| f.sql_type).collect::<Vec<_>>(), expected);
    assert_eq!(source.schema()[2].name, "day");
    let rows = rows(&source).unwrap();
    assert_eq!(rows[0][5], Value::str("a,b"));
    assert_eq!(rows[0][3], rows[1][3]);
    assert!(rows[1][0].is_null() && rows[1][1].is_null() && rows[1][2].is_null() && rows[1][5].is_null());
}

#[test]
fn delimiters_are_found_out() {
    for delimiter in [',', ';', '|', '\t'] {
        let text = "a,b\n1,\"x\ny\"\n2,\"u\"\"v\"\n".replace(',', &delimiter.to_string());
        let source = open(&text, &CsvOptions::detect()).unwrap();
        assert_eq!(types_of(&*source), [("a".to_owned(), SqlType::BigInt), ("b".to_owned(), SqlType::Text)]);
        assert_eq!(rows(&source).unwrap()[1][1], Value::str("u\"v"));
    }
    // No header, line ends of other systems, a byte order mark, blank lines.
    let source = open("\u{feff}1,x\r\n\r\n2,y\r\n", &CsvOptions::detect()).unwrap();
    assert_eq!(source.schema()[0].name, "column0");
    assert_eq!(rows(&source).unwrap(), [[Value::Int(1), Value::str("x")], [Value::Int(2), Value::str("y")]]);
    let source =
        open("carrier,name\n9E,Endeavor Air Inc.\nAA,American Airlines Inc.\n", &CsvOptions::detect()).unwrap();
    assert_eq!((source.schema()[0].name.as_str(), rows(&source).unwrap().len()), ("carrier", 2));
    // Decimal commas, which divide every line but the header.
    let source = open(&format!("x;y\n{}", "1,5;2,5\n".repeat(30)), &CsvOptions::detect()).unwrap();
    assert_eq!(rows(&source).unwrap()[29], [Value::str("1,5"), Value::str("2,5")]);
}

#[test]
fn errors_name_file_line_column_and_value() {
    let mut text = "a,b\n".to_owned();
    (0..100_000).for_each(|i| text += &format!("{i},\"x\n{i}\"\n"));
    text += "oops,y\n";
    let options = CsvOptions { sample_size: Some(10), morsel_bytes: 10_000, ..CsvOptions::detect() };
    let error = rows(&open(&text, &options).unwrap()).unwrap_err();
    assert_eq!(error.state(), SqlState::INVALID_TEXT);
    assert!(error.message().contains("in file \"t.csv\", line 200002, column \"a\", value \"oops\""), "{error}");
    assert!(error.get_hint().unwrap().contains("sample_size"));
    // With the whole file sniffed it is text.
    assert_eq!(open(&text, &CsvOptions::detect()).unwrap().schema()[0].sql_type, SqlType::Text);

    for (bad, words) in [
        ("1,2,3\n", "extra data after last expected column"),
        ("1\n", "missing data for column \"b\""),
        ("1,\"x\n", "unterminated quoted field"),
        ("1,\"x\"y\n", "text after a closing quote"),
    ] {
        let options = typed(&[("a", SqlType::BigInt), ("b", SqlType::Text)]);
        let error = rows(&open(&format!("1,a\n{bad}"), &options).unwrap()).unwrap_err();
        assert_eq!(error.state(), SqlState::BAD_COPY_FILE);
        assert!(error.message().contains(words) && error.message().contains("line 2"), "{error}");
    }
    let options = typed(&[("a", SqlType::Text)]);
    let source = open_csv_bytes("t", Bytes::from_static(b"a\n\xff\n"), &options).unwrap();
    assert_eq!(rows(&source).unwrap_err().state(), SqlState::INVALID_ENCODING);
}

#[test]
fn bad_rows_go_to_the_reject_table() {
    let rejected: Arc<Mutex<Vec<RejectedRow>>> = Arc::default();
    let to = rejected.clone();
    let options = CsvOptions {
        rejects: Some(Arc::new(move |row| to.lock().unwrap().push(row))),
        ..typed(&[("a", SqlType::BigInt), ("b", SqlType::Date)])
    };
    let source = open("1,2000-01-01\nx,2000-01-01\n2\n3,2000-02-30\n4,2000-01-04\n", &options).unwrap();
    let good = read_all(&source, &[0]).unwrap();
    assert_eq!(good.iter().map(|c| c.rows()).sum::<usize>(), 2);
    let seen: Vec<_> = rejected.lock().unwrap().iter().map(|r| (r.line, r.column.clone(), r.value.clone())).collect();
    let column = |c: &str| Some(c.to_owned());
    assert_eq!(
        seen.into_iter().collect::<std::collections::BTreeSet<_>>(),
        [(2, column("a"), "x".into()), (3, None, "2".into()), (4, column("b"), "2000-02-30".into())].into()
    );
}

#[test]
fn options_of_copy() {
    let text_columns = [("a", SqlType::Text), ("b", SqlType::Text)];
    let read = |text: &str, set: &[(&str, &str)]| {
        let mut options = typed(&text_columns);
        set.iter().for_each(|(n, v)| options.set(n, v).unwrap());
        open(text, &options).and_then(|s| rows(&s))
    };
    let (null, s) = (Value::Null, Value::str);
    assert_eq!(read("x,\n\"\",y\n", &[]).unwrap(), [[s("x"), null.clone()], [s(""), s("y")]]);
    assert_eq!(read("NA,N\n", &[("null", "NA")]).unwrap(), [[null.clone(), s("N")]]);
    assert_eq!(read("x,\n", &[("force_not_null", "(b)")]).unwrap(), [[s("x"), s("")]]);
    assert_eq!(read("x,\"\"\n", &[("force_null", "(b)")]).unwrap(), [[s("x"), null.clone()]]);
    assert_eq!(
        read("h,i\nx;'y''z'\n", &[("delimiter", ";"), ("quote", "'"), ("header", "true")]).unwrap(),
        [[s("x"), s("y'z")]]
    );
    assert_eq!(read("x,\"a\\\"b\\\\\"\n", &[("escape", "\\")]).unwrap(), [[s("x"), s("a\"b\\")]]);
    assert_eq!(read("a,b\nx,y\n", &[("header", "match")]).unwrap(), [[s("x"), s("y")]]);
    assert!(read("a,c\nx,y\n", &[("header", "match")]).unwrap_err().message().contains("\"c\""));
    assert_eq!(read("x,y,\nz,w,\n", &[]).unwrap().len(), 2, "a delimiter after the last field");
    let text = "x\\ty\t\\N\nline\\nend\t\\x41\\102\nhidden\\\nend\tz\n\\.\n";
    assert_eq!(
        read(text, &[("format", "text")]).unwrap(),
        [[s("x\ty"), null], [s("line\nend"), s("AB")], [s("hidden\nend"), s("z")]]
    );
    let mut options = CsvOptions::copy();
    assert!(options.set("encoding", "latin9").is_err() && options.set("delimiter", "ab").is_err());
    assert!(options.set("nonsense", "1").is_err());
    options.set("types", "{'a': 'decimal(10,2)', 'b': int}").unwrap();
    assert_eq!(options.types, [("a".to_owned(), SqlType::decimal(10, 2)), ("b".to_owned(), SqlType::Integer)]);
}

/// Random text of quotes, delimiters and line ends that is well formed, read in tiny ranges, against the `csv` crate.
#[test]
fn ranges_begin_at_records() {
    let mut random = Random(42);
    for _ in 0..300 {
        let mut text = String::new();
        let records = random.below(60);
        for _ in 0..records {
            for column in 0..3 {
                if column > 0 {
                    text.push(',');
                }
                match random.below(4) {
                    0 => (0..random.below(6)).for_each(|_| text.push(['a', 'b', '"'][random.index(2)])),
                    1 => text += "x",
                    _ => {
                        text.push('"');
                        for _ in 0..random.below(8) {
                            text += ["\n", ",", "\"\"", "z", "\n\"\"", ",\"\""][random.index(6)];
                        }
                        text.push('"');
                    }
                }
            }
            text.push('\n');
        }
        let mut reference = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let expected: Vec<Vec<String>> =
            reference.records().map(|r| r.unwrap().iter().map(str::to_owned).collect()).collect();
        let columns = [("a", SqlType::Text), ("b", SqlType::Text), ("c", SqlType::Text)];
        for morsel_bytes in [1, 3, 7, 20, 1000] {
            let options = CsvOptions { morsel_bytes, force_not_null: Columns::All, ..typed(&columns) };
            let got = rows(&open(&text, &options).unwrap()).unwrap();
            let got: Vec<Vec<String>> = got
                .iter()
                .map(|r| {
                    r.iter().map(|v| if let Value::Str(s) = v { s.to_string() } else { panic!("{v:?}") }).collect()
                })
                .collect();
            assert_eq!(got, expected, "{morsel_bytes} {text:?}");
        }
    }
}

#[test]
fn a_step_is_a_window_of_the_text_or_a_batch_of_records() {
    let columns = [("n", SqlType::BigInt), ("t", SqlType::Text)];
    let steps = |mut step: Box<dyn FnMut() -> bool>| (1..).find(|_| step()).unwrap();
    let read = |text: &str| {
        let mut reader = open(text, &typed(&columns)).unwrap().read(0, &[0, 1], &[], crate::CHUNK_ROWS).unwrap();
        steps(Box::new(move || matches!(reader.step().unwrap(), Step::End)))
    };
    let text: String = (0..20_000).map(|n| format!("{n},\"text of row {n}\"\n")).collect();
    assert!(read(&text) > 20_000 / 1024);
    // Long records, and lines that are no records.
    let long: String = (0..20).map(|n| format!("{n},{}\n", "x".repeat(100_000))).collect();
    assert!(read(&long) > 2_000_000 / (2 * (128 << 10)));
    let options = CsvOptions { morsel_bytes: text.len(), ..typed(&columns) };
    let source = open(&text.repeat(2), &options).unwrap();
    assert_eq!(source.preparations(), 2);
    for piece in 0..2 {
        let source = source.clone();
        assert!(steps(Box::new(move || source.prepare(piece).unwrap())) > text.len() / (256 << 10));
    }
    assert_eq!(rows(&source).unwrap().len(), 40_000);
}

#[test]
fn helpers_look_at_all_records() {
    /// Counts the pieces and takes steps in turns.
    struct Turns(Mutex<Vec<usize>>);
    impl Helpers for Turns {
        fn each(&self, count: usize, step: PieceStep) -> base::Result<()> {
            let mut left: Vec<usize> = (0..count).collect();
            while !left.is_empty() {
                let mut rest = Vec::new();
                for piece in left {
                    if !step(piece)? {
                        rest.push(piece);
                    }
                }
                left = rest;
            }
            self.0.lock().unwrap().push(count);
            Ok(())
        }
    }
    let turns = Arc::new(Turns(Mutex::default()));
    let mut text: String = (0..300_000).map(|n| format!("{n},{n}\n")).collect();
    text += "1,\"no\nnumber\"\n";
    let options = CsvOptions { helpers: Some(turns.clone()), ..CsvOptions::detect() };
    let source = open(&text, &options).unwrap();
    assert_eq!(source.schema().iter().map(|f| f.sql_type).collect::<Vec<_>>(), [SqlType::BigInt, SqlType::Text]);
    let pieces = text.len() / (128 << 10);
    assert_eq!(*turns.0.lock().unwrap(), [pieces, pieces], "quotes are walked over, then records looked at");
    let cancelled = CsvOptions::detect();
    cancelled.cancel.cancel();
    assert_eq!(open(&text, &cancelled).err().map(|e| e.state()), Some(SqlState::QUERY_CANCELED));
    let small = CsvOptions { budget: Some(base::Budget::new(1 << 10)), ..CsvOptions::detect() };
    let path = std::env::temp_dir().join(format!("io-csv-{}.csv", std::process::id()));
    std::fs::write(&path, &text).unwrap();
    assert_eq!(open_csv(std::slice::from_ref(&path), &small).err().map(|e| e.state()), Some(SqlState::OUT_OF_MEMORY));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn any_bytes_are_survived() {
    let mut random = Random(7);
    for _ in 0..3000 {
        let bytes: Vec<u8> = (0..random.below(60)).map(|_| b"\",\n\r\\;'|\t12.-aNA\xff\0"[random.index(17)]).collect();
        for format in ["csv", "text"] {
            for detect in [false, true] {
                let mut options =
                    if detect { CsvOptions::detect() } else { typed(&[("a", SqlType::BigInt), ("b", SqlType::Text)]) };
                options.set("format", format).unwrap();
                options.morsel_bytes = 1 + random.index(20);
                if let Ok(source) = open_csv_bytes("fuzz", bytes.clone().into(), &options) {
                    let _ = rows(&source);
                }
            }
        }
    }
}

#[test]
fn what_is_written_is_read() {
    let mut random = Random(3);
    let fields = crate::tests::fields();
    for format in ["csv", "text"] {
        for _ in 0..20 {
            let chunk = crate::tests::random_chunk(&mut random, 200);
            let mut options = CsvOptions::copy();
            options.set("format", format).unwrap();
            options.set("header", "true").unwrap();
            let mut writer = CsvWriter::new(Vec::new(), &fields, &options).unwrap();
            writer.write(&chunk).unwrap();
            let bytes = writer.finish().unwrap();
            options.columns = Some(fields.iter().map(|f| (f.name.clone(), f.sql_type)).collect());
            options.header = Some(Header::Match);
            options.morsel_bytes = 500;
            let source = open_csv_bytes("t", bytes.into(), &options).unwrap();
            let expected: Vec<_> = (0..chunk.rows()).map(|r| chunk.row(r)).collect();
            assert_eq!(rows(&source).unwrap(), expected);
        }
    }
}

/// Truth is a letter in PostgreSQL's text format, a word in CSV.
#[test]
fn truth_is_written_as_the_format_has_it() {
    let fields = [crate::Field::new("a", SqlType::Bool)];
    for (format, expected) in [("csv", "true\nfalse\n\n"), ("text", "t\nf\n\\N\n")] {
        let mut column = types::ColumnBuilder::new(SqlType::Bool, 3);
        [Value::Bool(true), Value::Bool(false), Value::Null].iter().for_each(|value| column.push_value(value));
        let mut options = CsvOptions::copy();
        options.set("format", format).unwrap();
        let mut writer = CsvWriter::new(Vec::new(), &fields, &options).unwrap();
        writer.write(&types::Chunk::new(3, vec![column.finish()])).unwrap();
        assert_eq!(String::from_utf8(writer.finish().unwrap()).unwrap(), expected, "{format}");
    }
}

/// The data of the R package nycflights13, if `MORSEL_TEST_DATA` names a folder that has it.
#[test]
fn flights() {
    let Some(folder) = std::env::var_os("MORSEL_TEST_DATA") else { return };
    let folder = std::path::Path::new(&folder).join("nycflights13");
    let open = |name: &str| open_csv(&[folder.join(name)], &CsvOptions::detect()).unwrap();
    let flights = open("flights.csv.gz");
    let columns: Vec<usize> = (0..flights.schema().len()).collect();
    let chunks = read_all(&flights, &columns).unwrap();
    assert_eq!(chunks.iter().map(|c| c.rows()).sum::<usize>(), 336_776);
    let at = |name: &str| flights.schema().iter().position(|f| f.name == name).unwrap();
    let nulls =
        |c: usize| chunks.iter().map(|k| (0..k.rows()).filter(|&r| k.column(c).is_null(r)).count()).sum::<usize>();
    for (name, sql_type, null) in [
        ("dep_time", SqlType::BigInt, 8255),
        ("tailnum", SqlType::Text, 2512),
        ("time_hour", SqlType::Timestamptz, 0),
        ("air_time", SqlType::BigInt, 9430),
    ] {
        assert_eq!((flights.schema()[at(name)].sql_type, nulls(at(name))), (sql_type, null), "{name}");
    }
    for (name, rows) in [("airlines", 16), ("airports", 1458), ("planes", 3322), ("weather", 26115)] {
        let source = open(&format!("{name}.csv.gz"));
        let chunks = read_all(&source, &[0]).unwrap();
        assert_eq!(chunks.iter().map(|c| c.rows()).sum::<usize>(), rows, "{name} {:?}", source.schema());
    }
}
