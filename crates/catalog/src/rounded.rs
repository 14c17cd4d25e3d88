//! Times with less than six digits of a second, such as `timestamp(0)`: domains of those with six, which every database has, and
//! whose values are rounded.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use types::SqlType;

use crate::Domain;
use crate::tables::Name;
use crate::unsigned::PG_CATALOG;

/// Digits that all times have.
const ALL: u8 = 6;

static DOMAINS: LazyLock<BTreeMap<Name, Arc<Domain>>> = LazyLock::new(|| {
    let types = [SqlType::Timestamp, SqlType::Timestamptz, SqlType::Time];
    let all = types.into_iter().flat_map(|sql_type| (0..ALL).map(move |digits| (sql_type, digits)));
    let domain = |(sql_type, digits): (SqlType, u8)| {
        let checks = Vec::new();
        let domain = Domain { checks, digits: Some(digits), ..Domain::of(sql_type) };
        ((PG_CATALOG.to_owned(), rounded_name(sql_type, digits).unwrap_or_default()), Arc::new(domain))
    };
    all.map(domain).collect()
});

/// What a type with so many digits of a second is called, if it has fewer than all.
pub fn rounded_name(sql_type: SqlType, digits: u8) -> Option<String> {
    let (name, zone) = match sql_type {
        SqlType::Timestamp => ("timestamp", "without"),
        SqlType::Timestamptz => ("timestamp", "with"),
        SqlType::Time => ("time", "without"),
        _ => return None,
    };
    (digits < ALL).then(|| format!("{name}({digits}) {zone} time zone"))
}

/// The domain of that name.
pub(crate) fn rounded(name: &str) -> Option<(&'static Name, &'static Arc<Domain>)> {
    DOMAINS.get_key_value(&(PG_CATALOG.to_owned(), name.to_owned()))
}
