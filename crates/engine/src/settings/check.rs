//! Values of settings as they are written: what is wrong with one, and how it is kept.

use base::{Error, Result, SqlState};
use optimizer::KnownRows;
use types::ops::date::{DateOrder, Zone};

use super::memory::parse_memory;
use scheduler::Topology;

use super::{Kind, SETTINGS, Setting, duration, path};

impl Setting {
    /// Whether a statement may say a secret, which nobody else is to read.
    pub(crate) fn is_told_by(sql: &str) -> bool {
        let text = sql.to_ascii_lowercase();
        // CREATE OR REPLACE TEMPORARY SECRET at most.
        let words: Vec<&str> =
            text.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty()).collect();
        let creates_one = words.windows(5).any(|words| words[0] == "create" && words[1..].contains(&"secret"));
        creates_one || SETTINGS.iter().any(|s| matches!(s.kind, Kind::Secret) && text.contains(s.name))
    }

    /// The setting of that name, if there is one.
    pub fn named(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|s| s.name == name)
    }

    /// The setting of that name; error 42704 with the nearest name as a hint.
    pub fn find(name: &str) -> Result<&'static Self> {
        Self::named(name).ok_or_else(|| {
            let error =
                Error::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""));
            match catalog::nearest_name(name, SETTINGS.iter().map(|s| s.name)) {
                Some(near) => error.hint(format!("did you mean \"{near}\"?")),
                None => error.hint("SHOW ALL lists the settings"),
            }
        })
    }

    /// The value in its canonical form, or error 22023.
    pub fn check(&self, value: &str) -> Result<String> {
        let bad = |hint: String| {
            let message = format!("invalid value for parameter \"{}\": \"{value}\"", self.name);
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message).hint(hint)
        };
        let text = value.trim().to_lowercase();
        match self.kind {
            Kind::Bool => match text.as_str() {
                "on" | "true" | "1" | "yes" => Ok("on".into()),
                "off" | "false" | "0" | "no" => Ok("off".into()),
                _ => Err(bad("it is on or off".into())),
            },
            Kind::Integer(low, high) => match text.parse::<i64>() {
                Ok(n) if (low..=high).contains(&n) => Ok(n.to_string()),
                _ => Err(bad(format!("it is a whole number from {low} to {high}"))),
            },
            Kind::Memory => match parse_memory(&text) {
                Some(_) => Ok(text),
                None => Err(bad("write an amount such as 512MB or 4GiB, or none".into())),
            },
            Kind::Duration => match duration::parse(&text) {
                Some(time) => Ok(duration::text(time)),
                None => Err(bad("write milliseconds, or a number with one of the units us, ms, s, min, h, d".into())),
            },
            Kind::DateStyle => {
                let mut order = DateOrder::default();
                for word in text.split([',', ' ']).filter(|word| !matches!(*word, "" | "iso" | "default")) {
                    order = DateOrder::named(word).ok_or_else(|| bad("it is ISO, with MDY, DMY or YMD".into()))?;
                }
                Ok(format!("ISO, {order}"))
            }
            Kind::Zone if matches!(text.as_str(), "default" | "local") => Ok(self.default.to_owned()),
            Kind::Zone => Zone::find(value)
                .map(|zone| zone.name().to_owned())
                .map_err(|_| bad("zones are named as Europe/Berlin or UTC, or by hours east of UTC".into())),
            Kind::Path | Kind::Text | Kind::Secret => Ok(value.to_owned()),
            Kind::Schemas => Ok(path::canonical(value)),
            Kind::Topology if text.is_empty() => Ok(text),
            Kind::Topology => match Topology::parse(value) {
                Ok(_) => Ok(value.trim().to_owned()),
                Err(error) => Err(bad(format!("{}; write nodes and their processors, as 4x8:ring", error.message()))),
            },
            Kind::Choice(known) if known().contains(&text.as_str()) => Ok(text),
            Kind::Choice(known) => Err(bad(format!("it is one of these: {}", known().join(", ")))),
            Kind::JoinRows => match value.parse::<KnownRows>() {
                Ok(_) => Ok(value.trim().to_string()),
                Err(_) => Err(bad("write tables and their join's rows, such as 'a b = 100, a b c = 7'".into())),
            },
            Kind::Words(known) => {
                match text.split(',').map(str::trim).find(|w| !w.is_empty() && !known().contains(w)) {
                    None => Ok(text),
                    Some(_) => Err(bad(format!("it is a list of some of these: {}", known().join(", ")))),
                }
            }
        }
    }
}
