//! Unsigned integers and those of a byte, as DuckDB has them and files do: ranges of wider types, and so domains that every database
//! has.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use types::SqlType;

use crate::tables::Name;
use crate::{Check, Domain};

/// Where they are, as far as names say it.
pub(crate) const PG_CATALOG: &str = "pg_catalog";

/// Names, the types below, and the least and the greatest values.
const TYPES: [(&str, SqlType, &str, &str); 6] = [
    ("tinyint", SqlType::SmallInt, "-128", "127"),
    ("utinyint", SqlType::SmallInt, "0", "255"),
    ("usmallint", SqlType::Integer, "0", "65535"),
    ("uinteger", SqlType::BigInt, "0", "4294967295"),
    ("ubigint", SqlType::decimal(20, 0), "0", "18446744073709551615"),
    ("uhugeint", SqlType::NUMERIC, "0", "340282366920938463463374607431768211455"),
];

static DOMAINS: LazyLock<BTreeMap<Name, Arc<Domain>>> = LazyLock::new(|| {
    let domain = |(name, sql_type, least, most): (&str, SqlType, &str, &str)| {
        let sql = match sql_type {
            SqlType::Numeric { .. } => format!("value >= {least} AND value <= {most} AND value = trunc(value)"),
            _ => format!("value >= {least} AND value <= {most}"),
        };
        let check = Check { name: format!("{name}_check"), sql };
        let domain = Domain { checks: vec![check], ..Domain::of(sql_type) };
        ((PG_CATALOG.to_owned(), name.to_owned()), Arc::new(domain))
    };
    TYPES.map(domain).into()
});

/// The domain of an unsigned type, with its schema and name.
pub(crate) fn unsigned(name: &str) -> Option<(&'static Name, &'static Arc<Domain>)> {
    DOMAINS.get_key_value(&(PG_CATALOG.to_owned(), name.to_owned()))
}

/// The type below an unsigned one.
pub fn below_unsigned(name: &str) -> Option<SqlType> {
    TYPES.iter().find(|(known, ..)| *known == name).map(|(_, below, ..)| *below)
}
