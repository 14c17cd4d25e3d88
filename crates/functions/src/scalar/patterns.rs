//! Functions of regular expressions; decision 36.

use base::{Error, Result, SqlState};
use types::ops::regex::{self, Occurrence, Options};
use types::ops::{array, like};
use types::{SqlType, Value};

use super::{Call, Scalar, Typed, over, rule, text, with_default};
use crate::Parameter::{Integer, Text};

/// An array of texts.
const TEXTS: fn(&[SqlType], &[Option<i64>]) -> SqlType = |_, _| SqlType::array_of(SqlType::Text);

/// An array of such.
const ROWS_OF_TEXTS: fn(&[SqlType], &[Option<i64>]) -> SqlType =
    |_, _| SqlType::array_of(SqlType::array_of(SqlType::Text));

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "regexp_replace",
        &["regexp_replace"],
        &[
            with_default(&[Text, Text, Text], &[""]),
            text(&[Text, Text, Text, Text]),
            text(&[Text, Text, Text, Integer]),
            text(&[Text, Text, Text, Integer, Integer]),
            text(&[Text, Text, Text, Integer, Integer, Text]),
        ],
        replace,
        "Matches of a regular expression replaced, in which \\1 to \\9 and \\& stand for what was matched: the first; all with the flag g; from a character on; the n-th (0: all).",
        ("regexp_replace('Thomas', '.[mN]a.', 'M')", "ThM"),
    )
    .typed(Typed::TextOfFour(|text, pattern, replacement, flags, to| {
        let options = replace_options(flags)?;
        let number = i64::from(!options.global);
        regex::replace_to(text, pattern, replacement, (1, number), options, to)
    })),
    Scalar::new(
        "regexp_like",
        &["regexp_like"],
        &[over(&[Text, Text], SqlType::Bool), over(&[Text, Text, Text], SqlType::Bool)],
        |c| {
            let options = Options::of_function(c.text_or(2, "")?, "regexp_like")?;
            Ok(Value::Bool(regex::is_match(c.text(0)?, c.text(1)?, options)?))
        },
        "Whether a regular expression matches anywhere in the text.",
        ("regexp_like('Hello World', 'world$', 'i')", "true"),
    ),
    Scalar::new(
        "regexp_matches",
        &["regexp_matches"],
        &[over(&[Text, Text], SqlType::Bool), over(&[Text, Text, Text], SqlType::Bool)],
        |c| Ok(Value::Bool(regex::is_match(c.text(0)?, c.text(1)?, Options::of(c.text_or(2, "")?)?)?)),
        "Whether a regular expression matches anywhere in the text, in conditions; in a select list and in FROM it has a row for each match, as in PostgreSQL.",
        ("NOT regexp_matches('anabanana', 'x')", "true"),
    ),
    Scalar::new(
        "regexp_full_match",
        &["regexp_full_match"],
        &[over(&[Text, Text], SqlType::Bool), over(&[Text, Text, Text], SqlType::Bool)],
        |c| Ok(Value::Bool(regex::is_whole(c.text(0)?, c.text(1)?, Options::of(c.text_or(2, "")?)?)?)),
        "Whether a regular expression matches the whole text.",
        ("regexp_full_match('anabanana', '(an)*')", "false"),
    ),
    Scalar::new(
        "regexp_count",
        &["regexp_count"],
        &[
            over(&[Text, Text], SqlType::Integer),
            over(&[Text, Text, Integer], SqlType::Integer),
            over(&[Text, Text, Integer, Text], SqlType::Integer),
        ],
        |c| {
            let options = Options::of_function(c.text_or(3, "")?, "regexp_count")?;
            Ok(Value::Int(regex::count(c.text(0)?, c.text(1)?, int_or(c, 2, 1)?, options)?))
        },
        "Number of matches of a regular expression, from a character on.",
        ("regexp_count('123456789012', '\\d\\d\\d', 2)", "3"),
    ),
    Scalar::new(
        "regexp_instr",
        &["regexp_instr"],
        &[
            over(&[Text, Text], SqlType::Integer),
            over(&[Text, Text, Integer], SqlType::Integer),
            over(&[Text, Text, Integer, Integer], SqlType::Integer),
            over(&[Text, Text, Integer, Integer, Integer], SqlType::Integer),
            over(&[Text, Text, Integer, Integer, Integer, Text], SqlType::Integer),
            over(&[Text, Text, Integer, Integer, Integer, Text, Integer], SqlType::Integer),
        ],
        instr,
        "Where the n-th match of a regular expression begins (or, with 1 as fifth argument, where what follows does), or a group of it; 0 if there is none.",
        ("regexp_instr('number of your street, town zip, FR', '[^,]+', 1, 2)", "23"),
    ),
    Scalar::new(
        "regexp_substr",
        &["regexp_substr"],
        &[
            text(&[Text, Text]),
            text(&[Text, Text, Integer]),
            text(&[Text, Text, Integer, Integer]),
            text(&[Text, Text, Integer, Integer, Text]),
            text(&[Text, Text, Integer, Integer, Text, Integer]),
        ],
        |c| {
            let options = Options::of_function(c.text_or(4, "")?, "regexp_substr")?;
            let which = Occurrence { start: int_or(c, 2, 1)?, number: int_or(c, 3, 1)?, group: int_or(c, 5, 0)? };
            Ok(or_null(regex::substring(c.text(0)?, c.text(1)?, which, options)?))
        },
        "The n-th match of a regular expression, from a character on, or a group of it; NULL if there is none.",
        ("regexp_substr('number of your street, town zip, FR', '[^,]+', 1, 2)", " town zip"),
    )
    .or_null(),
    // The grammar's `substring(text from pattern)`.
    Scalar::new(
        "regexp_substring",
        &["regexp_substring"],
        &[text(&[Text, Text])],
        |c| Ok(or_null(regex::substring_of_group(c.text(0)?, c.text(1)?)?)),
        "What a regular expression matches, or its first group; NULL if it does not match.",
        ("substring('Thomas' from 'o(.)')", "m"),
    )
    .or_null(),
    Scalar::new(
        "regexp_extract",
        &["regexp_extract"],
        &[text(&[Text, Text]), text(&[Text, Text, Integer]), text(&[Text, Text, Integer, Text])],
        |c| {
            let options = Options::of(c.text_or(3, "")?)?;
            Ok(Value::str(regex::extract(c.text(0)?, c.text(1)?, int_or(c, 2, 0)?, options)?))
        },
        "What a regular expression matches, or a group of it; an empty text if it does not match.",
        ("regexp_extract('hello_world', '([a-z ]+)_?', 1)", "hello"),
    ),
    Scalar::new(
        "regexp_split_to_array",
        &["regexp_split_to_array", "string_split_regex", "str_split_regex"],
        &[rule(&[Text, Text], TEXTS), rule(&[Text, Text, Text], TEXTS)],
        |c| {
            let options = Options::of_function(c.text_or(2, "")?, "regexp_split_to_array")?;
            let mut parts = Vec::new();
            regex::split(c.text(0)?, c.text(1)?, options, &mut |part| {
                array::push(&mut parts, &Value::str(part), SqlType::Text)
            })?;
            array::finish(parts)
        },
        "The parts of a text between matches of a regular expression.",
        ("regexp_split_to_array('hello world', '\\s+')", "{hello,world}"),
    ),
    Scalar::new(
        "regexp_match",
        &["regexp_match"],
        &[rule(&[Text, Text], TEXTS), rule(&[Text, Text, Text], TEXTS)],
        |c| {
            let options = Options::of_function(c.text_or(2, "")?, "regexp_match")?;
            let Some(groups) = regex::first_match(c.text(0)?, c.text(1)?, options)? else { return Ok(Value::Null) };
            let groups: Vec<Value> = groups.into_iter().map(or_null).collect();
            array::encode(&groups, SqlType::Text)
        },
        "The groups of the first match of a regular expression, or the match if it has no groups; NULL if there is none.",
        ("regexp_match('foobarbequebaz', '(bar)(beque)')", "{bar,beque}"),
    )
    .or_null(),
    Scalar::new(
        "regexp_match_rows",
        &["regexp_match_rows"],
        &[rule(&[Text, Text], ROWS_OF_TEXTS), rule(&[Text, Text, Text], ROWS_OF_TEXTS)],
        |c| {
            let options = Options::of(c.text_or(2, "")?)?;
            let (mut rows, texts) = (Vec::new(), ROWS_OF_TEXTS(&[], &[]).element().unwrap_or(SqlType::Text));
            regex::each_match(c.text(0)?, c.text(1)?, options, &mut |groups| {
                let groups: Vec<Value> = groups.into_iter().map(or_null).collect();
                array::push(&mut rows, &array::encode(&groups, SqlType::Text)?, texts)
            })?;
            array::finish(rows)
        },
        "The groups of each match of a regular expression: what the rows of PostgreSQL's regexp_matches are.",
        ("regexp_match_rows('foobarbequebazilbarfbonk', '(b[^b]+)(b[^b]+)', 'g')", "{{bar,beque},{bazil,barf}}"),
    ),
    Scalar::new(
        "regexp_extract_all",
        &["regexp_extract_all"],
        &[rule(&[Text, Text], TEXTS), rule(&[Text, Text, Integer], TEXTS), rule(&[Text, Text, Integer, Text], TEXTS)],
        |c| {
            let options = Options::of(c.text_or(3, "")?)?;
            let mut parts = Vec::new();
            regex::extract_all(c.text(0)?, c.text(1)?, int_or(c, 2, 0)?, options, &mut |part| {
                array::push(&mut parts, &Value::str(part), SqlType::Text)
            })?;
            array::finish(parts)
        },
        "All that a regular expression matches, or a group of each match.",
        ("regexp_extract_all('Peter: 33, Paul:14', '(\\w+):\\s*(\\d+)', 2)", "{33,14}"),
    ),
    Scalar::new(
        "like_escape",
        &["like_escape"],
        &[text(&[Text, Text])],
        |c| Ok(Value::str(like::with_backslash(c.text(0)?, c.text(1)?)?)),
        "The pattern of LIKE with another escape character as one with a backslash.",
        ("like_escape('a#%b', '#')", "a\\%b"),
    ),
    Scalar::new(
        "similar_to_escape",
        &["similar_to_escape"],
        &[with_default(&[Text], &["\\"]), text(&[Text, Text])],
        |c| Ok(Value::str(like::similar(c.text(0)?, c.text(1)?)?)),
        "The regular expression of a pattern of SIMILAR TO.",
        ("similar_to_escape('%(b|c)_')", "^(?:.*(?:b|c).)$"),
    ),
];

fn int_or(call: &Call<'_>, i: usize, default: i64) -> Result<i64> {
    if i < call.len() { call.int(i) } else { Ok(default) }
}

fn or_null(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::str)
}

/// A digit among the flags is a start that was written as a text.
fn replace_options(flags: &str) -> Result<Options> {
    Options::of(flags).map_err(|error| {
        if !flags.starts_with(|c: char| c.is_ascii_digit()) {
            return error;
        }
        error.hint("if you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly")
    })
}

fn replace(call: &Call<'_>) -> Result<Value> {
    let (text, pattern, replacement) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let (start, number, options) = if call.types.get(3).is_none_or(|t| t.is_string()) {
        let options = replace_options(call.text_or(3, "")?)?;
        (1, i64::from(!options.global), options)
    } else {
        let options = Options::of(call.text_or(5, "")?)?;
        // Without a number, the flags say how many; they cannot stand before one.
        (call.int(3)?, int_or(call, 4, 1)?, options)
    };
    Ok(Value::str(regex::replace(text, pattern, replacement, start, number, options)?))
}

fn instr(call: &Call<'_>) -> Result<Value> {
    let options = Options::of_function(call.text_or(5, "")?, "regexp_instr")?;
    let end = int_or(call, 4, 0)?;
    if !matches!(end, 0 | 1) {
        let message = format!("invalid value for parameter \"endoption\": {end}");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let which = Occurrence { start: int_or(call, 2, 1)?, number: int_or(call, 3, 1)?, group: int_or(call, 6, 0)? };
    Ok(Value::Int(regex::instr(call.text(0)?, call.text(1)?, which, end == 1, options)?))
}
