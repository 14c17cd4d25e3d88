//! Units: layouts, types, places of errors; the same rows however a file is cut.

use types::{Chunk, SqlType};

use super::{JsonOptions, open_json_bytes};
use crate::source::{FileSource, read_all};

fn open(text: &str, options: &JsonOptions) -> base::Result<std::sync::Arc<dyn FileSource>> {
    open_json_bytes("t", text.as_bytes().to_vec().into(), options)
}

fn rows(text: &str, options: &JsonOptions) -> base::Result<Vec<String>> {
    let source = open(text, options)?;
    let all: Vec<usize> = (0..source.schema().len()).collect();
    let row = |chunk: &Chunk, row: usize| {
        let values = chunk.row(row).into_iter().zip(source.schema());
        let text = |(value, field): (types::Value, &crate::Field)| match value.is_null() {
            true => "NULL".to_owned(),
            false => types::ops::cast::format_value(&value, field.sql_type),
        };
        values.map(text).collect::<Vec<_>>().join("|")
    };
    let chunks = read_all(&source, &all)?;
    Ok(chunks.iter().flat_map(|chunk| (0..chunk.rows()).map(|at| row(chunk, at)).collect::<Vec<_>>()).collect())
}

fn types(text: &str) -> String {
    let source = open(text, &JsonOptions::default()).unwrap();
    source.schema().iter().map(|f| format!("{} {}", f.name, f.sql_type)).collect::<Vec<_>>().join(", ")
}

#[test]
fn layouts_are_found() {
    let rows = |text: &str| rows(text, &JsonOptions::default()).unwrap();
    for text in [
        "{\"a\":1}\n{\"a\":2}",
        "\u{feff}{\"a\":1}\r\n\n  {\"a\":2}\n\n",
        "[{\"a\":1},{\"a\":2}]",
        " [\n\t{\"a\":1},\n\t{\"a\":2}\n]\n",
        "{\"a\":1} {\"a\":2}",
        "{\n \"a\": 1\n}\n{\n \"a\": 2\n}",
        "{\"a\":1}{\"a\":2}",
    ] {
        assert_eq!(rows(text), ["1", "2"], "{text}");
    }
    assert_eq!(rows(""), [""; 0]);
    assert_eq!(rows("[]"), [""; 0]);
    assert_eq!(rows("[1, 2,3 ]"), ["1", "2", "3"]);
    assert_eq!(rows("[1]\n[2]"), ["{1}", "{2}"]);
    assert_eq!(rows("{\"a\":1}\nnull\n{}"), ["1", "NULL", "NULL"]);
}

#[test]
fn types_are_those_of_all_values() {
    for (text, expected) in [
        ("{\"a\":1}\n{\"a\":2.5}", "a double"),
        ("{\"a\":1}\n{\"a\":\"x\"}", "a json"),
        ("{\"a\":null}", "a json"),
        ("{\"a\":12345678901234567890}", "a decimal(38,0)"),
        ("{\"a\":true,\"A\":\"2024-01-01\"}", "a boolean, A date"),
        ("{\"a\":\"2024-01-01\"}\n{\"a\":\"2024-01-01 10:00:00\"}", "a timestamp"),
        ("{\"a\":\"2024-01-01T10:00:00Z\"}", "a timestamptz"),
        ("{\"a\":[1,null]}\n{\"b\":{\"c\":[]}}", "a bigint[], b struct(c json[])"),
        ("{\"a\":{}}", "a map(text,json)"),
        ("{\"a\":{\"x\":1,\"X\":2}}", "a json"),
        ("7\n{\"a\":1}", "json json"),
    ] {
        assert_eq!(types(text).replace(", json)", ",json)"), expected, "{text}");
    }
    let wide: Vec<String> = (0..300).map(|i| format!("\"k{i}\":{i}")).collect();
    assert_eq!(types(&format!("{{\"a\":{{{}}}}}", wide.join(","))).replace(", ", ","), "a map(text,bigint)");
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(40), "]".repeat(40));
    assert_eq!(types(&deep), "a json[][][][]");
}

#[test]
fn errors_name_their_place() {
    let error = |text: &str, options: &JsonOptions| rows(text, options).unwrap_err();
    let lines = "{\"a\":1}\n{\"a\":2}\n";
    for (bad, part) in [
        ("{\"a\":}", "invalid input syntax for type json"),
        ("{\"a\":1,\"a\":2}", "the key \"a\" twice"),
        ("{\"a\":\"x\"}", "value \"x\""),
        ("{\"b\":1}", "unknown key \"b\""),
        ("8", "a record is no object"),
        ("{\"a\":99999999999999999999}", "out of range"),
    ] {
        let options = JsonOptions { sample_size: Some(2), ..JsonOptions::default() };
        let error = error(&format!("{lines}{bad}\n"), &options);
        let message = error.message();
        assert!(message.contains(part) && message.contains("file \"t\", line 3"), "{bad}: {error:?}");
        assert!(error.get_hint().is_some(), "{bad}: {error:?}");
    }
    let plain = JsonOptions::default();
    assert!(error("[{\"a\":1},\n{\"a\":2}", &plain).message().contains("does not end in file \"t\", line 2"));
    assert!(error("[{\"a\":1}]]", &plain).message().contains("behind the array"));
    assert!(error("[1 2]", &plain).message().contains("neither"));
    let small = JsonOptions { maximum_object_size: 5, ..JsonOptions::default() };
    assert!(error(lines, &small).message().contains("longer than 5 bytes"));
}

#[test]
fn what_does_not_fit_may_be_null() {
    let options = JsonOptions { sample_size: Some(1), ignore_errors: true, ..JsonOptions::default() };
    let found = rows("{\"a\":1,\"b\":\"u\"}\n{\"a\":\"x\",\"b\":\"v\"}\n{\"a\":}\n{\"c\":3}", &options).unwrap();
    assert_eq!(found, ["1|u", "NULL|v", "NULL|NULL", "NULL|NULL"]);
}

#[test]
fn rows_do_not_depend_on_how_a_file_is_cut() {
    let line = |i: usize| format!("{{\"i\":{i},\"t\":\"{}\\\"\\\\\",\"l\":[{i},null]}}", "é".repeat(i % 40));
    let all: Vec<String> = (0..300).map(line).collect();
    let expected = rows(&all.join("\n"), &JsonOptions::default()).unwrap();
    assert_eq!(expected.len(), 300);
    for morsel_bytes in [1, 7, 100, 5_000] {
        let options = JsonOptions { morsel_bytes, ..JsonOptions::default() };
        assert_eq!(rows(&all.join("\n"), &options).unwrap(), expected);
    }
    for text in [format!("[{}]", all.join(",")), all.join(" "), all.concat()] {
        assert_eq!(rows(&text, &JsonOptions::default()).unwrap(), expected);
    }
    assert_eq!(open(&all.join("\n"), &JsonOptions::default()).unwrap().schema()[0].sql_type, SqlType::BigInt);
}
