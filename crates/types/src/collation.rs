//! How texts are ordered where that is not by their bytes.

use std::fmt;
use std::str::FromStr;

/// An order of texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Collation {
    /// What SQL calls it.
    pub name: String,
    /// The schema, if somebody made it.
    pub schema: Option<String>,
    /// The language whose order it is, as BCP 47 names it, with keywords such as `-u-kn-true`; none: the order of bytes.
    pub locale: Option<String>,
    /// Whether texts that the order takes for the same are told apart, by their bytes.
    pub is_deterministic: bool,
    /// Whether upper and lower case are the same.
    pub ignores_case: bool,
    /// Whether letters with and without accents are the same.
    pub ignores_accents: bool,
}

/// Languages that have a collation by their name: those of the Unicode CLDR.
const LANGUAGES: &str = "af am ar as az be bg bn bo br bs ca ceb chr cs cy da de dsb dz ee el en eo es et eu fa ff fi fil fo \
    fr fy ga gl gu ha haw he hi hr hsb hu hy id ig is it ja ka kk kl km kn ko kok ku ky lb lkt ln lo lt lv mk ml mn mr ms mt my \
    nb ne nl nn no om or pa pl ps pt ro root ru sa se si sk sl smn so sq sr sv sw ta te th tk to tr ug uk und ur uz vi wae wo \
    xh yi yo yue zh zu";

impl Collation {
    /// The order of bytes.
    pub fn of_bytes(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            schema: None,
            locale: None,
            is_deterministic: true,
            ignores_case: false,
            ignores_accents: false,
        }
    }

    /// The one that everybody has by this name: `C` and its like, `unicode`, ICU's as PostgreSQL calls them (`de-AT-x-icu`), the
    /// operating system's (`de_AT.utf8`; they are ICU's), and DuckDB's, which can be joined: `de`, `NOCASE.NOACCENT`.
    pub fn built_in(name: &str) -> Option<Self> {
        let bytes = Self::of_bytes(name);
        let lower = name.to_lowercase();
        match lower.as_str() {
            "c" | "posix" | "default" | "ucs_basic" | "binary" | "c.utf8" | "c.utf-8" => return Some(bytes),
            "unicode" => return Some(Self { locale: Some("und".to_owned()), ..bytes }),
            _ => {}
        }
        if let Some(locale) = name.strip_suffix("-x-icu") {
            return Some(Self { locale: Some(known(locale)?), ..bytes });
        }
        let mut found = bytes;
        for part in lower.split('.') {
            match part {
                "nocase" => found.ignores_case = true,
                "noaccent" => found.ignores_accents = true,
                "nfc" | "utf8" | "utf-8" => {}
                locale if found.locale.is_none() => found.locale = Some(known(&locale.replace('_', "-"))?),
                _ => return None,
            }
        }
        found.is_deterministic = !(found.ignores_case || found.ignores_accents);
        Some(found)
    }

    /// ICU's, one for each language, as PostgreSQL calls them.
    pub fn of_languages() -> impl Iterator<Item = Self> {
        let names = LANGUAGES.split_whitespace().filter(|language| *language != "root");
        names.filter_map(|language| Self::built_in(&format!("{language}-x-icu")))
    }

    /// Whether it is the order of bytes.
    pub fn is_of_bytes(&self) -> bool {
        self.locale.is_none() && !self.ignores_case && !self.ignores_accents
    }
}

/// The locale, in the usual case, if there is its language.
fn known(locale: &str) -> Option<String> {
    let mut parts = locale.split('-');
    let language = parts.next()?.to_lowercase();
    if !LANGUAGES.split_whitespace().any(|known| known == language) {
        return None;
    }
    let language = if language == "root" { "und".to_owned() } else { language };
    let rest = parts.map(|part| match part.len() {
        2 => part.to_uppercase(),
        _ => part.to_owned(),
    });
    Some([language].into_iter().chain(rest).collect::<Vec<_>>().join("-"))
}

/// The name, as SQL writes it.
impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.name.replace('"', "\"\""))
    }
}

impl Collation {
    /// All that there is to know, as a constant of a plan.
    pub fn to_text(&self) -> String {
        let Self { name, schema, locale, is_deterministic, ignores_case, ignores_accents } = self;
        let flags = [(is_deterministic, 'd'), (ignores_case, 'c'), (ignores_accents, 'a')];
        let flags: String = flags.into_iter().filter(|(is, _)| **is).map(|(_, flag)| flag).collect();
        let [schema, locale] = [schema, locale].map(|part| part.as_deref().unwrap_or_default());
        format!("{locale} {flags} {schema}\u{1f}{name}")
    }
}

/// What [`Collation::to_text`] wrote.
impl FromStr for Collation {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.splitn(3, ' ');
        let (locale, flags, name) = (parts.next().ok_or(())?, parts.next().ok_or(())?, parts.next().ok_or(())?);
        let (schema, name) = name.split_once('\u{1f}').ok_or(())?;
        let some = |part: &str| (!part.is_empty()).then(|| part.to_owned());
        Ok(Self {
            name: name.to_owned(),
            schema: some(schema),
            locale: some(locale),
            is_deterministic: flags.contains('d'),
            ignores_case: flags.contains('c'),
            ignores_accents: flags.contains('a'),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_postgresql_and_duckdb() {
        let locale = |name: &str| Collation::built_in(name).map(|c| (c.locale.unwrap_or_default(), c.is_deterministic));
        assert_eq!(locale("C"), Some((String::new(), true)));
        assert_eq!(locale("de-AT-x-icu"), Some(("de-AT".into(), true)));
        assert_eq!(locale("und-x-icu"), Some(("und".into(), true)));
        assert_eq!(locale("en_US.utf8"), Some(("en-US".into(), true)));
        assert_eq!(locale("nocase"), Some((String::new(), false)));
        assert_eq!(locale("de.noaccent"), Some(("de".into(), false)));
        assert_eq!(locale("nowhere"), None);
        assert_eq!(locale("xx-x-icu"), None);
        assert_eq!(locale("de.fr"), None);
    }

    #[test]
    fn what_is_written_is_read() {
        for name in ["C", "de-x-icu", "NOCASE.NOACCENT", "sv.nocase"] {
            let collation = Collation::built_in(name).unwrap();
            assert_eq!(collation.to_text().parse(), Ok(collation));
        }
        let made = Collation { schema: Some("a b".into()), ..Collation::of_bytes("x \" y") };
        assert_eq!(made.to_text().parse(), Ok(made));
    }
}
