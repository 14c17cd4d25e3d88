//! Keys of texts whose order, by their bytes, is that of a language: the Unicode collation algorithm with the CLDR's rules, by
//! the ICU library (decision 60).

use std::cell::RefCell;

use base::{Error, Result, SqlState};
use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, MaxVariable, Strength};
use icu_collator::{CollationKeySink, Collator, CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;
use icu_locale_core::extensions::unicode::{Key, key};
use types::{Collation, Value};

use super::{Scalar, Typed, text};
use crate::Parameter::Text;

pub(super) const ROWS: &[Scalar] = &[
    Scalar::operator(
        "collate",
        None,
        |c| Ok(c.values[0].clone()),
        "The text, whose order is that of a collation.",
        ("'a' COLLATE \"C\"", "a"),
    ),
    Scalar::operator(
        "collation_key",
        None,
        |c| {
            let mut key = String::new();
            collation_key(c.text(0)?, c.text(1)?, c.text(2)?, &mut key)?;
            Ok(Value::str(key))
        },
        "A text whose order is that of the first argument in a locale: of other texts another one, or the same of all that are \
         the same there.",
        ("'ä' < 'b' COLLATE \"de-x-icu\"", "true"),
    )
    .typed(Typed::TextOfTexts(collation_key)),
    Scalar::new(
        "icu_sort_key",
        &["icu_sort_key"],
        &[text(&[Text, Text])],
        |c| {
            let mut key = String::new();
            let locale = c.text(1)?;
            let known = Collation::built_in(locale).and_then(|collation| collation.locale);
            write_key(c.text(0)?, known.as_deref().unwrap_or(locale), &mut key)?;
            Ok(Value::str(hexadecimal(&key)))
        },
        "The key by which a collation orders a text, in hexadecimal digits.",
        ("icu_sort_key('a', 'de') < icu_sort_key('Ä', 'de')", "true"),
    ),
];

/// The third argument of the function where texts that are the same in the locale are told apart.
pub const TOLD_APART: &str = "told apart";

fn collation_key(text: &str, locale: &str, which: &str, key: &mut String) -> Result<bool> {
    write_key(text, locale, key)?;
    if which == TOLD_APART {
        // No byte of a key is 0, so the text counts only where keys are the same.
        key.push('\0');
        key.push_str(text);
    }
    Ok(true)
}

thread_local! {
    /// The orders that this thread has asked for, by locale.
    static KNOWN: RefCell<Vec<(String, CollatorBorrowed<'static>)>> = const { RefCell::new(Vec::new()) };
}

/// Appends the key of a text, a character for each byte, as strings of bytes are (decision 48). Error 22023 for what is no
/// locale.
fn write_key(text: &str, locale: &str, key: &mut String) -> Result<()> {
    KNOWN.with_borrow_mut(|known| {
        let at = match known.iter().position(|(name, _)| name == locale) {
            Some(at) => at,
            None => {
                known.push((locale.to_owned(), collator(locale)?));
                known.len() - 1
            }
        };
        let Ok(()) = known[at].1.write_sort_key_to(text, &mut Characters(key));
        Ok(())
    })
}

/// The version of the rules: that of the CLDR. Keys that were made by another one may be in another order.
pub const COLLATION_VERSION: &str = "49";

/// Error 22023 for what is no locale.
pub fn check_locale(locale: &str) -> Result<()> {
    collator(locale).map(|_| ())
}

fn collator(name: &str) -> Result<CollatorBorrowed<'static>> {
    let wrong = || {
        let message = format!("could not convert locale name \"{name}\" to language tag");
        Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
            .hint("locales are written as in \"de-AT\" and \"en-u-kn-true\"")
    };
    let locale = Locale::try_from_str(name).map_err(|_| wrong())?;
    let told = |key: Key| locale.extensions.unicode.keywords.get(&key).map(ToString::to_string);
    let mut options = CollatorOptions::default();
    options.strength = told(key!("ks")).and_then(|said| match said.as_str() {
        "level1" => Some(Strength::Primary),
        "level2" => Some(Strength::Secondary),
        "level3" => Some(Strength::Tertiary),
        "level4" => Some(Strength::Quaternary),
        "identic" => Some(Strength::Identical),
        _ => None,
    });
    options.alternate_handling = told(key!("ka")).and_then(|said| match said.as_str() {
        "shifted" => Some(AlternateHandling::Shifted),
        "noignore" => Some(AlternateHandling::NonIgnorable),
        _ => None,
    });
    options.case_level = told(key!("kc")).map(|said| if said == "false" { CaseLevel::Off } else { CaseLevel::On });
    options.max_variable = told(key!("kv")).and_then(|said| match said.as_str() {
        "space" => Some(MaxVariable::Space),
        "punct" => Some(MaxVariable::Punctuation),
        "symbol" => Some(MaxVariable::Symbol),
        "currency" => Some(MaxVariable::Currency),
        _ => None,
    });
    Collator::try_new(CollatorPreferences::from(&locale), options).map_err(|_| wrong())
}

/// Writes each byte as the character of its number.
struct Characters<'a>(&'a mut String);

impl CollationKeySink for Characters<'_> {
    type Error = std::convert::Infallible;
    type State = ();
    type Output = ();

    fn write(&mut self, _: &mut (), bytes: &[u8]) -> std::result::Result<(), Self::Error> {
        self.0.extend(bytes.iter().map(|&byte| char::from(byte)));
        Ok(())
    }

    fn finish(&mut self, _: ()) -> std::result::Result<(), Self::Error> {
        Ok(())
    }
}

fn hexadecimal(key: &str) -> String {
    key.chars().map(|byte| format!("{:02x}", u32::from(byte))).collect()
}
