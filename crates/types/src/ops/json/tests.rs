use super::error::MAX_DEPTH;
use super::*;
use crate::{SqlType, Value};
use base::SqlState;

fn detail(text: &str) -> String {
    check(text).err().and_then(|e| e.get_detail().map(str::to_owned)).unwrap_or_default()
}

#[test]
fn what_is_no_json_is_refused_with_its_reason() {
    for valid in ["1", " -0.5e+3 ", "\"\\u0041\\n\"", "{}", "[ ]", "{\"a\" : [true, false, null]}", "\"ä\""] {
        assert_eq!(check(valid), Ok(()), "{valid}");
    }
    assert_eq!(detail(""), "The input string ended unexpectedly.");
    assert_eq!(detail("{\"a\":1"), "The input string ended unexpectedly.");
    assert_eq!(detail("abc"), "Token \"abc\" is invalid.");
    assert_eq!(detail("01"), "Token \"01\" is invalid.");
    assert_eq!(detail("1."), "Token \"1.\" is invalid.");
    assert_eq!(detail("-"), "Token \"-\" is invalid.");
    assert_eq!(detail("1 2"), "Expected end of input, but found \"2\".");
    assert_eq!(detail("[1,]"), "Expected JSON value, but found \"]\".");
    assert_eq!(detail("[1 2]"), "Expected \",\" or \"]\", but found \"2\".");
    assert_eq!(detail("{1:2}"), "Expected string or \"}\", but found \"1\".");
    assert_eq!(detail("{\"a\" 1}"), "Expected \":\", but found \"1\".");
    assert_eq!(detail("{\"a\":1,}"), "Expected string, but found \"}\".");
    assert_eq!(detail("\"\\x\""), "Escape sequence \"\\x\" is invalid.");
    assert_eq!(detail("\"\\u12\""), "\"\\u\" must be followed by four hexadecimal digits.");
    assert_eq!(detail("\"a\nb\""), "Character with value 0x0a must be escaped.");
    assert_eq!(detail("\"abc"), "Token \"\"abc\" is invalid.");
    assert_eq!(detail("€"), "Token \"€\" is invalid.");
    let deep = "[".repeat(MAX_DEPTH * 100);
    assert_eq!(check(&deep).unwrap_err().state(), SqlState::STATEMENT_TOO_COMPLEX);
}

#[test]
fn numbers_are_written_out() {
    for (written, printed) in [
        ("1", "1"),
        ("-0", "0"),
        ("-0.00", "0.00"),
        ("1.50", "1.50"),
        ("1e5", "100000"),
        ("1.25E1", "12.5"),
        ("-1.5e-3", "-0.0015"),
        ("123e-2", "1.23"),
        ("100e-2", "1.00"),
        ("0.001e3", "1"),
        ("0.0001e2", "0.01"),
    ] {
        assert_eq!(normalised(written).as_deref(), Ok(printed), "{written}");
    }
    assert_eq!(normalised("1e131072").unwrap_err().state(), SqlState::NUMERIC_OUT_OF_RANGE);
    assert_eq!(normalised("1e99999999999999999999").unwrap_err().state(), SqlState::NUMERIC_OUT_OF_RANGE);
    assert!(normalised("1e131071").is_ok());
}

#[test]
fn keys_are_in_the_order_of_their_lengths_and_the_last_of_one_counts() {
    assert_eq!(
        normalised("{\"bb\":1,\"a\":{\"y\":1,\"x\":2},\"bb\":3}").unwrap(),
        "{\"a\": {\"x\": 2, \"y\": 1}, \"bb\": 3}"
    );
    assert_eq!(normalised("[\"\\u00e4\\ud83d\\ude00\\u001f\"]").unwrap(), "[\"ä😀\\u001f\"]");
    assert!(
        normalised("\"\\u0000\"").is_err() && normalised("\"\\ud800\"").is_err() && normalised("\"\\udc00\"").is_err()
    );
}

#[test]
fn the_order_of_sort_keys_is_that_of_values() {
    let ordered = [
        "[]",
        "null",
        "\"\"",
        "\"a\"",
        "\"aa\"",
        "\"b\"",
        "-1000",
        "-10",
        "-1.5",
        "-1",
        "-0.5",
        "0",
        "0.05",
        "0.5",
        "1",
        "1.5",
        "9",
        "10",
        "1000",
        "false",
        "true",
        "[null]",
        "[9]",
        "[1, 2]",
        "[1, 3]",
        "{}",
        "{\"a\": 1}",
        "{\"a\": 2}",
        "{\"b\": 1}",
        "{\"a\": 1, \"b\": 2}",
    ];
    for pair in ordered.windows(2) {
        assert!(sort_key(pair[0]).unwrap() < sort_key(pair[1]).unwrap(), "{pair:?}");
    }
    assert_eq!(sort_key("[1.0]"), sort_key("[1]"));
}

fn tree_member<'t>(tree: &'t tree::Tree<'_>, key: &str) -> Option<&'t tree::Tree<'t>> {
    let tree::Tree::Object(members) = tree else { return None };
    members.iter().find(|(known, _)| known == key).map(|(_, value)| value)
}

/// Members by way of a tree.
fn slow_member(json: &str, key: &str) -> Option<String> {
    tree_member(&tree::Tree::normal(json).unwrap(), key).map(|value| value.text().unwrap())
}

#[test]
fn members_are_those_of_the_tree() {
    let json = "{\"k\": 1, \"a\\u0062\": {\"k\": [1, \"}\", \"\\\"\"]}, \"long key with many letters\": \"x\\\\\", \"k\": 2, \"e\":\"\"}";
    let normal = normalised(json).unwrap();
    let (mut made, mut out) = (String::new(), String::new());
    for key in ["k", "ab", "long key with many letters", "e", "missing", "", "a"] {
        let of_json = field(json, key, &mut out).unwrap();
        let of_jsonb = member(&normal, key, &mut made).unwrap();
        let expected = slow_member(json, key);
        assert_eq!(of_json.value("").clone(), slow(of_json, &expected), "{key}");
        assert_eq!(of_jsonb.value(""), expected.map_or(Value::Null, Value::str), "{key}");
    }
    assert_eq!(field_text(json, "long key with many letters", &mut made), Ok(Part::Made));
    assert_eq!(made, "x\\");
}

/// A `json` is what is written, so only whether it is there is the same.
fn slow(found: Part<'_>, expected: &Option<String>) -> Value {
    assert_eq!(found == Part::Nothing, expected.is_none());
    found.value("")
}

/// As [`contains`], of trees.
fn slow_contains(whole: &tree::Tree<'_>, part: &tree::Tree<'_>) -> bool {
    use tree::Tree;
    match (whole, part) {
        (Tree::Object(_), Tree::Object(members)) => {
            members.iter().all(|(key, value)| tree_member(whole, key).is_some_and(|found| slow_contains(found, value)))
        }
        (Tree::Array(all), Tree::Array(parts)) => parts.iter().all(|p| all.iter().any(|item| slow_contains(item, p))),
        (Tree::Array(_) | Tree::Object(_), _) | (_, Tree::Array(_) | Tree::Object(_)) => false,
        (whole, part) => sort_key(&whole.text().unwrap()) == sort_key(&part.text().unwrap()),
    }
}

#[test]
fn what_contains_what_is_what_trees_say() {
    let all = [
        "1",
        "1.0",
        "\"a\"",
        "null",
        "[]",
        "{}",
        "[1]",
        "[1, 2]",
        "[[1]]",
        "[[1, 2], {\"a\": 1}]",
        "{\"a\": 1}",
        "{\"a\": 1.00, \"bb\": []}",
        "{\"a\\\"\": 1, \"zz\": 2}",
        "{\"zz\": 2}",
        "{\"a\": {\"b\": [1, 2]}}",
        "{\"a\": {\"b\": [2]}}",
        "[{\"a\": 1, \"b\": 2}]",
        "[{\"a\": 1}]",
    ];
    for (whole, part) in all.iter().flat_map(|whole| all.iter().map(move |part| (whole, part))) {
        let (whole, part) = (normalised(whole).unwrap(), normalised(part).unwrap());
        let trees = (tree::Tree::normal(&whole).unwrap(), tree::Tree::normal(&part).unwrap());
        let expected = match &trees {
            (tree::Tree::Array(items), part) if !matches!(part, tree::Tree::Array(_) | tree::Tree::Object(_)) => {
                items.iter().any(|item| slow_contains(item, part))
            }
            (whole, part) => slow_contains(whole, part),
        };
        assert_eq!(contains(&whole, &part), expected, "{whole} @> {part}");
    }
}

#[test]
fn what_is_no_json_makes_nothing_fail() {
    let mut out = String::new();
    for broken in [
        "",
        "{",
        "[",
        "{\"",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":\"",
        "[1,",
        "\\",
        "\"",
        "\"\\",
        "{]",
        "[}",
        "{\"a\":[}",
        "]",
    ] {
        for key in ["a", ""] {
            let _ = field(broken, key, &mut out);
            let _ = member_text(broken, key, &mut out);
        }
        let _ = (item(broken, 0, &mut out), item_text(broken, -1, &mut out), length(broken), type_of(broken));
        let _ = (normal_form(broken), sort_key(broken), contains(broken, broken), exists(broken, "a"), pretty(broken));
        let _ = (keys(broken, "json_keys"), elements(broken, "json"), members(broken, "json", true));
        let _ = cast_to(broken, SqlType::Integer);
    }
}
