//! Text search: lexemes of texts, and what is asked of them.

use base::Result;
use types::ops::array;
use types::ops::search::{self, Configuration};
use types::{SqlType, Value};

use super::{Call, Scalar, over, rule, text};
use crate::Parameter::Text;

/// The configuration that a call names, and the text: `english` if it names none.
fn given<'c>(call: &'c Call<'_>) -> Result<(Configuration, &'c str)> {
    match call.len() {
        1 => Ok((Configuration::English, call.text(0)?)),
        _ => Ok((Configuration::named(call.text(0)?)?, call.text(1)?)),
    }
}

pub(super) const ROWS: &[Scalar] = &[
    Scalar::new(
        "to_tsvector",
        &["to_tsvector"],
        &[text(&[Text]), text(&[Text, Text])],
        |c| given(c).map(|(configuration, text)| Value::str(search::vector(configuration, text))),
        "The lexemes of a text with their places.",
        ("to_tsvector('english', 'The fat cats')", "'cat':3 'fat':2"),
    ),
    Scalar::new(
        "to_tsquery",
        &["to_tsquery"],
        &[text(&[Text]), text(&[Text, Text])],
        |c| given(c).and_then(|(configuration, text)| Ok(Value::str(search::query(configuration, text)?))),
        "What is asked of lexemes, by words with &, |, ! and <-> between them.",
        ("to_tsquery('fat & (cats | rat:*)')", "'fat' & ( 'cat' | 'rat':* )"),
    ),
    Scalar::new(
        "plainto_tsquery",
        &["plainto_tsquery"],
        &[text(&[Text]), text(&[Text, Text])],
        |c| given(c).map(|(configuration, text)| Value::str(search::plain_query(configuration, text))),
        "The question for all words of a text.",
        ("plainto_tsquery('The fat cats')", "'fat' & 'cat'"),
    ),
    Scalar::new(
        "phraseto_tsquery",
        &["phraseto_tsquery"],
        &[text(&[Text]), text(&[Text, Text])],
        |c| given(c).map(|(configuration, text)| Value::str(search::phrase_query(configuration, text))),
        "The question for the words of a text one behind the other.",
        ("phraseto_tsquery('cats ate the rats')", "'cat' <-> 'ate' <2> 'rat'"),
    ),
    Scalar::new(
        "websearch_to_tsquery",
        &["websearch_to_tsquery"],
        &[text(&[Text]), text(&[Text, Text])],
        |c| given(c).map(|(configuration, text)| Value::str(search::web_query(configuration, text))),
        "The question that a line of a search on the web is.",
        ("websearch_to_tsquery('\"fat cats\" or -dog')", "'fat' <-> 'cat' | !'dog'"),
    ),
    Scalar::new(
        "ts_match_vq",
        &["ts_match_vq"],
        &[over(&[Text, Text], SqlType::Bool)],
        |c| Ok(Value::Bool(search::matches(c.text(0)?, c.text(1)?)?)),
        "Whether lexemes are what is asked for: the operator @@.",
        ("ts_match_vq(to_tsvector('fat cats'), to_tsquery('cat'))", "true"),
    ),
    Scalar::new(
        "tsvector_in",
        &["tsvectorin"],
        &[text(&[Text])],
        |c| Ok(Value::str(search::shown_vector(c.text(0)?)?)),
        "Lexemes in the form in which they are shown.",
        ("tsvectorin('fat:2 cat:3 fat:4')", "'cat':3 'fat':2,4"),
    ),
    Scalar::new(
        "tsquery_in",
        &["tsqueryin"],
        &[text(&[Text])],
        |c| Ok(Value::str(search::shown_query(c.text(0)?)?)),
        "What is asked of lexemes in the form in which it is shown.",
        ("tsqueryin('fat&(rat|cat)')", "'fat' & ( 'rat' | 'cat' )"),
    ),
    Scalar::new(
        "tsvector_concat",
        &["tsvector_concat"],
        &[text(&[Text, Text])],
        |c| Ok(Value::str(search::joined(c.text(0)?, c.text(1)?)?)),
        "Lexemes of two texts, one behind the other.",
        ("tsvector_concat('''a'':1', '''b'':1')", "'a':1 'b':2"),
    ),
    Scalar::new(
        "strip",
        &["strip"],
        &[text(&[Text])],
        |c| Ok(Value::str(search::stripped(c.text(0)?)?)),
        "Lexemes without their places.",
        ("strip(to_tsvector('fat cats'))", "'cat' 'fat'"),
    ),
    Scalar::new(
        "setweight",
        &["setweight"],
        &[text(&[Text, Text])],
        |c| Ok(Value::str(search::weighted(c.text(0)?, c.text(1)?)?)),
        "Lexemes whose places have a weight, A to D.",
        ("setweight(to_tsvector('fat cats'), 'A')", "'cat':2A 'fat':1A"),
    ),
    Scalar::new(
        "tsvector_to_array",
        &["tsvector_to_array"],
        &[rule(&[Text], |_, _| SqlType::array_of(SqlType::Text))],
        |c| {
            let lexemes: Vec<Value> = search::lexemes(c.text(0)?)?.into_iter().map(Value::str).collect();
            array::encode(&lexemes, SqlType::Text)
        },
        "The lexemes alone, in order.",
        ("tsvector_to_array(to_tsvector('fat cats'))", "{cat,fat}"),
    ),
];
