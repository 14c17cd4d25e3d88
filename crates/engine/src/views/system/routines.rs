//! Functions and procedures in `information_schema` and `pg_catalog`.

use catalog::{Language, Mode, Returns, Routine, RoutineKind, RoutineParameter, Volatility};
use types::{SqlType, Value};

use super::constraints::array;
use super::registered::{routine_oid, shown_type};
use super::{
    DATABASE, INFORMATION_SCHEMA, OWNER_OID, PG_CATALOG, System, SystemTable, Type, schema_oid, text, yes_or_no,
};
use crate::definitions::{quoted, settings_of};

/// All of them.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        schema: INFORMATION_SCHEMA,
        name: "routines",
        columns: &[
            ("specific_catalog", SqlType::Text),
            ("specific_schema", SqlType::Text),
            ("specific_name", SqlType::Text),
            ("routine_catalog", SqlType::Text),
            ("routine_schema", SqlType::Text),
            ("routine_name", SqlType::Text),
            ("routine_type", SqlType::Text),
            ("data_type", SqlType::Text),
            ("routine_body", SqlType::Text),
            ("routine_definition", SqlType::Text),
            ("external_language", SqlType::Text),
            ("is_deterministic", SqlType::Text),
            ("is_null_call", SqlType::Text),
        ],
        rows: |system| system.catalog.routines().map(|routine| routine_row(routine)).collect(),
    },
    SystemTable {
        schema: INFORMATION_SCHEMA,
        name: "parameters",
        columns: &[
            ("specific_catalog", SqlType::Text),
            ("specific_schema", SqlType::Text),
            ("specific_name", SqlType::Text),
            ("ordinal_position", SqlType::Integer),
            ("parameter_mode", SqlType::Text),
            ("parameter_name", SqlType::Text),
            ("data_type", SqlType::Text),
            ("parameter_default", SqlType::Text),
        ],
        rows: parameters,
    },
    SystemTable {
        schema: PG_CATALOG,
        name: "pg_proc",
        columns: &[
            ("oid", SqlType::BigInt),
            ("proname", SqlType::Text),
            ("pronamespace", SqlType::BigInt),
            ("prokind", SqlType::Text),
            ("proisstrict", SqlType::Bool),
            ("proretset", SqlType::Bool),
            ("provolatile", SqlType::Text),
            ("pronargs", SqlType::SmallInt),
            ("pronargdefaults", SqlType::SmallInt),
            ("prorettype", SqlType::BigInt),
            ("prosrc", SqlType::Text),
            ("proowner", SqlType::BigInt),
            ("prolang", SqlType::BigInt),
            ("prosecdef", SqlType::Bool),
            ("proleakproof", SqlType::Bool),
            ("proparallel", SqlType::Text),
            ("proargtypes", SqlType::Array(&SqlType::BigInt)),
            ("proargnames", SqlType::Array(&SqlType::Text)),
            ("proacl", SqlType::Array(&SqlType::Text)),
            ("proresult", SqlType::Text),
            ("proarguments", SqlType::Text),
            ("prodefinition", SqlType::Text),
        ],
        rows: |system| system.catalog.routines().map(|routine| process_row(routine)).collect(),
    },
];

/// A name that no other routine has.
fn specific_name(routine: &Routine) -> String {
    format!("{}_{}", routine.name, routine_oid(routine))
}

/// What a routine gives, as the standard names it.
fn result_name(routine: &Routine) -> Value {
    match (routine.kind, routine.returns) {
        (RoutineKind::Procedure, _) => Value::Null,
        (_, Returns::Nothing) => text("void"),
        (_, Returns::Trigger) => text("trigger"),
        (_, Returns::Value(sql_type)) => text(Type::of(sql_type).full),
        (_, Returns::Row | Returns::Record) => text("record"),
    }
}

fn routine_row(routine: &Routine) -> Vec<Value> {
    vec![
        text(DATABASE),
        text(&routine.schema),
        text(specific_name(routine)),
        text(DATABASE),
        text(&routine.schema),
        text(&routine.name),
        text(routine.kind.name().to_uppercase()),
        result_name(routine),
        text("EXTERNAL"),
        text(&routine.body),
        text(routine.language.name().to_uppercase()),
        yes_or_no(routine.volatility == Volatility::Immutable),
        yes_or_no(!routine.is_strict),
    ]
}

fn parameters(system: &System<'_>) -> Vec<Vec<Value>> {
    let row = |routine: &Routine, at: usize, parameter: &RoutineParameter| {
        vec![
            text(DATABASE),
            text(&routine.schema),
            text(specific_name(routine)),
            Value::Int(at as i64 + 1),
            text(if parameter.mode == Mode::Table { "OUT" } else { parameter.mode.name() }),
            parameter.name.as_ref().map_or(Value::Null, text),
            text(Type::of(parameter.sql_type).full),
            parameter.default.as_ref().map_or(Value::Null, text),
        ]
    };
    let of = |routine: &Routine| {
        let all = routine.parameters.iter().enumerate();
        all.map(|(at, parameter)| row(routine, at, parameter)).collect::<Vec<_>>()
    };
    system.catalog.routines().flat_map(|routine| of(routine)).collect()
}

fn process_row(routine: &Routine) -> Vec<Value> {
    const VOID: i64 = 2278;
    const RECORD: i64 = 2249;
    const TRIGGER: i64 = 2279;
    let result = match routine.returns {
        Returns::Nothing => VOID,
        Returns::Trigger => TRIGGER,
        Returns::Value(sql_type) => Type::of(sql_type).oid,
        Returns::Row | Returns::Record => RECORD,
    };
    let volatility = match routine.volatility {
        Volatility::Immutable => "i",
        Volatility::Stable => "s",
        Volatility::Volatile => "v",
    };
    let count = |number: usize| Value::Int(number as i64);
    vec![
        Value::Int(routine_oid(routine)),
        text(&routine.name),
        Value::Int(schema_oid(&routine.schema)),
        text(match routine.kind {
            RoutineKind::Function => "f",
            RoutineKind::Procedure => "p",
            RoutineKind::Aggregate => "a",
        }),
        Value::Bool(routine.is_strict),
        Value::Bool(routine.is_set),
        text(volatility),
        count(routine.given().count()),
        count(routine.given().filter(|p| p.default.is_some()).count()),
        Value::Int(result),
        text(&routine.body),
        Value::Int(OWNER_OID),
        Value::Int(if matches!(routine.language, Language::Sql) { 14 } else { 13_500 }),
        Value::Bool(false),
        Value::Bool(false),
        text("u"),
        array(routine.given().map(|p| Type::of(p.sql_type).oid), SqlType::BigInt),
        names(routine),
        Value::Null,
        text(result_text(routine)),
        text(arguments_text(routine)),
        text(definition(routine)),
    ]
}

/// The names of the parameters; NULL if none has one.
fn names(routine: &Routine) -> Value {
    if routine.parameters.iter().all(|p| p.name.is_none()) {
        return Value::Null;
    }
    let names: Vec<Value> = routine.parameters.iter().map(|p| text(p.name.as_deref().unwrap_or_default())).collect();
    types::ops::array::encode(&names, SqlType::Text).unwrap_or(Value::Null)
}

/// What makes a routine, as PostgreSQL writes it.
fn definition(routine: &Routine) -> String {
    let kind = routine.kind.name();
    let name = format!("{}.{}", quoted(&routine.schema), quoted(&routine.name));
    let mut out = format!("CREATE OR REPLACE {} {name}({})\n", kind.to_uppercase(), arguments_text(routine));
    if routine.kind == RoutineKind::Function {
        out += &format!(" RETURNS {}\n", result_text(routine));
    }
    out += &format!(" LANGUAGE {}\n", routine.language.name());
    let volatility = match routine.volatility {
        Volatility::Volatile => None,
        other => Some(other.name()),
    };
    let options: Vec<&str> = volatility.into_iter().chain(routine.is_strict.then_some("STRICT")).collect();
    if !options.is_empty() {
        out += &format!(" {}\n", options.join(" "));
    }
    if !routine.settings.is_empty() {
        out += &format!("{}\n", settings_of(routine));
    }
    let mut tag = format!("${kind}$");
    while routine.body.contains(&tag) {
        tag.insert(1, 'x');
    }
    out + &format!("AS {tag}{}{tag}\n", routine.body)
}

/// What a routine gives, as PostgreSQL's tools show it; empty of a procedure.
fn result_text(routine: &Routine) -> String {
    let set = if routine.is_set { "SETOF " } else { "" };
    match (routine.kind, routine.returns) {
        (RoutineKind::Procedure, _) => String::new(),
        (_, Returns::Nothing) => "void".to_owned(),
        (_, Returns::Trigger) => "trigger".to_owned(),
        (_, Returns::Value(SqlType::Null)) => "any".to_owned(),
        (_, Returns::Value(sql_type)) => format!("{set}{}", shown_type(sql_type)),
        (_, Returns::Row | Returns::Record) => format!("{set}record"),
    }
}

/// What a routine takes, likewise.
fn arguments_text(routine: &Routine) -> String {
    let argument = |p: &RoutineParameter| {
        let mode = match p.mode {
            Mode::In if p.is_variadic => "VARIADIC",
            Mode::In => "",
            mode => mode.name(),
        };
        let default = p.default.as_ref().map(|default| format!("DEFAULT {default}")).unwrap_or_default();
        let sql_type = if p.sql_type == SqlType::Null { String::new() } else { shown_type(p.sql_type) };
        let words = [mode, p.name.as_deref().unwrap_or_default(), &sql_type, &default];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let given = routine.parameters.iter().filter(|p| p.mode != Mode::Table);
    given.map(argument).collect::<Vec<_>>().join(", ")
}
