//! The functions for triggers that PostgreSQL has by itself, in the words of a user's.

use std::sync::{Arc, OnceLock};

use crate::{Language, Returns, Routine, RoutineKind, Volatility};

/// The schema of what is the system's.
pub const SYSTEM_SCHEMA: &str = "pg_catalog";

/// Names and bodies.
const FUNCTIONS: [(&str, &str); 2] = [
    (
        "tsvector_update_trigger",
        "DECLARE
    columns jsonb := to_jsonb(NEW);
    words text := '';
BEGIN
    IF TG_NARGS < 3 THEN
        RAISE EXCEPTION 'tsvector_update_trigger: arguments must be tsvector_field, ts_config, text_field1, ...';
    END IF;
    FOR at IN 2 .. TG_NARGS - 1 LOOP
        words := words || coalesce(columns ->> TG_ARGV[at], '') || ' ';
    END LOOP;
    RETURN jsonb_populate_record(NEW, jsonb_build_object(TG_ARGV[0], to_tsvector(TG_ARGV[1], words)));
END",
    ),
    (
        "suppress_redundant_updates_trigger",
        "BEGIN
    IF NEW.* IS NOT DISTINCT FROM OLD.* THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END",
    ),
];

/// The system's function for triggers of that name.
pub fn system_trigger(name: &str) -> Option<Arc<Routine>> {
    static ALL: OnceLock<Vec<Arc<Routine>>> = OnceLock::new();
    let made = |(name, body): (&str, &str)| {
        Arc::new(Routine {
            number: Routine::new_number(),
            schema: SYSTEM_SCHEMA.to_owned(),
            name: name.to_owned(),
            kind: RoutineKind::Function,
            parameters: Vec::new(),
            returns: Returns::Trigger,
            domain: None,
            is_set: false,
            language: Language::Procedural,
            volatility: Volatility::Volatile,
            is_strict: false,
            settings: Vec::new(),
            body: body.to_owned(),
        })
    };
    let all = ALL.get_or_init(|| FUNCTIONS.into_iter().map(made).collect());
    all.iter().find(|routine| routine.name == name).cloned()
}
