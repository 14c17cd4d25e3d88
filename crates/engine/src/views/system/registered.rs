//! The numbers of what `regclass` and its kin show by names, and how the names are shown: with the schema where it takes that to find
//! the object.

use catalog::{CatalogSnapshot, Routine};
use sql::Registered;
use types::SqlType;

use super::{
    NUMBERS, OWNER, OWNER_OID, PG_CATALOG, System, TYPES, Type, domain_oid, enum_oid, oid, schema_oid, system_tables,
};
use crate::definitions::quoted;
use crate::environment::Environment;

/// Types that are no type of a value here.
const OTHERS: [(i64, &str); 14] = [
    (18, "\"char\""),
    (19, "name"),
    (24, "regproc"),
    (26, "oid"),
    (2202, "regprocedure"),
    (2205, "regclass"),
    (2206, "regtype"),
    (2249, "record"),
    (2276, "\"any\""),
    (2278, "void"),
    (2279, "trigger"),
    (2277, "anyarray"),
    (4089, "regnamespace"),
    (4096, "regrole"),
];

/// All objects of a kind; `is_seen` says whether names without a schema mean what is in that schema.
pub(crate) fn registered(
    environment: &Environment,
    catalog: &CatalogSnapshot,
    kind: Registered,
    is_seen: &dyn Fn(&str) -> bool,
) -> Vec<(i64, String)> {
    let system = System { environment, catalog };
    let shown = |schema: &str, name: String| match is_seen(schema) {
        true => name,
        false => format!("{}.{name}", quoted(schema)),
    };
    match kind {
        Registered::Class => {
            let entries = catalog.entries().map(|(schema, name, _)| (schema.to_owned(), name.to_owned()));
            let sequences = catalog.sequences().map(|(schema, name, _)| (schema.to_owned(), name.to_owned()));
            let keys = system.keys().into_iter().map(|key| (key.schema.to_owned(), key.name));
            let own = entries.chain(sequences).chain(keys);
            let own = own.map(|(schema, name)| (oid("table", &schema, &name), shown(&schema, quoted(&name))));
            let fixed = NUMBERS.iter().map(|(name, number)| (*number, (*name).to_owned()));
            let of_system = system_tables().filter(|table| table.schema == PG_CATALOG);
            let of_system = of_system.map(|table| (oid("table", PG_CATALOG, table.name), table.name.to_owned()));
            fixed.chain(own).chain(of_system).collect()
        }
        Registered::Type => {
            let built_in = TYPES.iter().flat_map(|row| {
                let array = (row.array != 0).then(|| (row.array, format!("{}[]", row.full)));
                [Some((row.oid, row.full.to_owned())), array].into_iter().flatten()
            });
            let others = OTHERS.iter().map(|(number, name)| (*number, (*name).to_owned()));
            let enums = catalog.user_types().map(|(schema, name, of)| (enum_oid(of.of), shown(schema, quoted(name))));
            let domains =
                catalog.domains().map(|(schema, name, _)| (domain_oid(schema, name), shown(schema, quoted(name))));
            others.chain(built_in).chain(enums).chain(domains).collect()
        }
        Registered::Routine => {
            let of = |routine: &Routine| shown(&routine.schema, quoted(&routine.name));
            catalog.routines().map(|routine| (routine_oid(routine), of(routine))).collect()
        }
        Registered::Signature => {
            let of = |routine: &Routine| {
                let types: Vec<String> = routine.given().map(|p| shown_type(p.sql_type)).collect();
                format!("{}({})", shown(&routine.schema, quoted(&routine.name)), types.join(","))
            };
            catalog.routines().map(|routine| (routine_oid(routine), of(routine))).collect()
        }
        Registered::Schema => system.schemas().into_iter().map(|schema| (schema_oid(schema), quoted(schema))).collect(),
        Registered::Role => vec![(OWNER_OID, OWNER.to_owned())],
    }
}

/// The number of a type that is no domain.
pub(crate) fn number_of_type(of: SqlType) -> i64 {
    Type::of(of).oid
}

/// The number of a routine.
pub(super) fn routine_oid(routine: &Routine) -> i64 {
    oid("routine", &routine.schema, &routine.signature())
}

/// A type as PostgreSQL's tools show it.
pub(super) fn shown_type(sql_type: SqlType) -> String {
    match Type::of(sql_type).full {
        "ARRAY" | "USER-DEFINED" => sql_type.to_string(),
        full => full.to_owned(),
    }
}
