//! Functions in FROM that are queries of the system's tables: DuckDB's `duckdb_tables()` and `pragma_table_info('t')`, as far as tools
//! read them. The statements PRAGMA and SHOW ALL TABLES are queries of these.

use base::{Error, Result, SqlState};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, TableAlias};

use super::described::query_of;
use super::from::FromItem;
use super::{Binder, fold};
use crate::walk;

/// What stands for the argument in their texts.
const ARGUMENT: &str = "argument";

/// Names, whether they take the name of a table, and their texts.
const SHOWN: &[(&str, bool, &str)] = &[
    (
        "duckdb_tables",
        false,
        "SELECT current_database() AS database_name, table_schema AS schema_name, table_name, \
         r.oid AS table_oid, \
         false AS internal, table_schema = 'pg_temp' AS temporary, EXISTS (SELECT FROM information_schema.table_constraints c \
         WHERE (c.table_schema, c.table_name, c.constraint_type) = (t.table_schema, t.table_name, 'PRIMARY KEY')) AS has_primary_key, \
         reltuples::bigint AS estimated_size, (SELECT count(*) FROM information_schema.columns c \
         WHERE (c.table_schema, c.table_name) = (t.table_schema, t.table_name)) AS column_count, \
         obj_description(r.oid, 'pg_class') AS comment \
         FROM information_schema.tables t JOIN pg_namespace n ON nspname = table_schema \
         JOIN pg_class r ON relname = table_name AND relnamespace = n.oid WHERE table_type = 'BASE TABLE'",
    ),
    (
        "duckdb_views",
        false,
        "SELECT current_database() AS database_name, table_schema AS schema_name, table_name AS view_name, false AS internal, \
         table_schema = 'pg_temp' AS temporary, view_definition AS sql FROM information_schema.views",
    ),
    (
        "duckdb_columns",
        false,
        "SELECT current_database() AS database_name, table_schema AS schema_name, table_name, column_name, \
         ordinal_position AS column_index, false AS internal, column_default, is_nullable = 'YES' AS is_nullable, data_type, \
         character_maximum_length, numeric_precision, numeric_scale FROM information_schema.columns",
    ),
    (
        "duckdb_schemas",
        false,
        "SELECT current_database() AS database_name, schema_name, \
         schema_name IN ('information_schema', 'pg_catalog') AS internal FROM information_schema.schemata",
    ),
    (
        "duckdb_sequences",
        false,
        "SELECT current_database() AS database_name, sequence_schema AS schema_name, sequence_name, \
         start_value::bigint AS start_value, minimum_value::bigint AS min_value, maximum_value::bigint AS max_value, \
         increment::bigint AS increment_by, cycle_option = 'YES' AS cycle FROM information_schema.sequences",
    ),
    (
        "duckdb_functions",
        false,
        "SELECT current_database() AS database_name, routine_schema AS schema_name, routine_name AS function_name, \
         CASE WHEN external_language = 'MACRO' THEN 'macro' ELSE lower(routine_type) END AS function_type, \
         data_type AS return_type, routine_definition AS macro_definition, false AS internal FROM information_schema.routines",
    ),
    ("duckdb_settings", false, "SELECT name, setting AS value, short_desc AS description FROM pg_settings"),
    (
        "duckdb_types",
        false,
        "SELECT current_database() AS database_name, nspname AS schema_name, typname AS type_name, t.oid AS type_oid, \
         typlen AS type_size, upper(format_type(t.oid, NULL)) AS logical_type, typcategory AS type_category, nspname = 'pg_catalog' AS internal \
         FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace",
    ),
    (
        "duckdb_indexes",
        false,
        "SELECT current_database() AS database_name, schemaname AS schema_name, indexname AS index_name, \
         tablename AS table_name, (SELECT indisunique FROM pg_index JOIN pg_class c ON c.oid = indexrelid \
         JOIN pg_namespace n ON n.oid = relnamespace WHERE (nspname, relname) = (schemaname, indexname)) AS is_unique, \
         (SELECT indisprimary FROM pg_index JOIN pg_class c ON c.oid = indexrelid \
         JOIN pg_namespace n ON n.oid = relnamespace WHERE (nspname, relname) = (schemaname, indexname)) AS is_primary, \
         indexdef AS sql FROM pg_indexes",
    ),
    (
        "duckdb_constraints",
        false,
        "SELECT current_database() AS database_name, nspname AS schema_name, relname AS table_name, \
         CASE contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' WHEN 'f' THEN 'FOREIGN KEY' ELSE 'CHECK' END AS constraint_type, \
         pg_get_constraintdef(c.oid) AS constraint_text, (SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute \
         WHERE attrelid = conrelid AND attnum = ANY (conkey)) AS constraint_column_names, conname AS constraint_name \
         FROM pg_constraint c JOIN pg_class r ON r.oid = conrelid JOIN pg_namespace n ON n.oid = relnamespace",
    ),
    (
        "duckdb_extensions",
        false,
        "SELECT name AS extension_name, true AS loaded, true AS installed \
         FROM (VALUES ('core_functions'), ('httpfs'), ('icu'), ('json'), ('parquet')) e (name)",
    ),
    ("duckdb_temporary_files", false, "SELECT NULL::text AS path, NULL::bigint AS size WHERE false"),
    (
        "duckdb_databases",
        false,
        "SELECT datname AS database_name, oid AS database_oid, NULL AS path, false AS internal FROM pg_database",
    ),
    (
        "pragma_table_info",
        true,
        "SELECT ordinal_position - 1 AS cid, column_name AS name, upper(data_type) AS type, is_nullable = 'NO' AS notnull, \
         column_default AS dflt_value, EXISTS (SELECT FROM information_schema.key_column_usage k \
         JOIN information_schema.table_constraints s USING (constraint_schema, constraint_name, table_name) \
         WHERE (k.table_schema, k.table_name, k.column_name) = (c.table_schema, c.table_name, c.column_name) \
         AND s.constraint_type = 'PRIMARY KEY') AS pk \
         FROM information_schema.columns c JOIN pg_class r ON relname = table_name AND r.oid = argument::regclass::bigint \
         JOIN pg_namespace n ON n.oid = relnamespace AND nspname = table_schema ORDER BY cid",
    ),
    ("pragma_database_list", false, "SELECT 0::bigint AS seq, current_database() AS name, NULL AS file"),
    ("pragma_version", false, "SELECT version() AS library_version, '' AS source_id, '' AS codename"),
    ("pragma_show_tables", false, "SELECT table_name AS name FROM information_schema.tables ORDER BY name"),
    (
        "pragma_show_tables_expanded",
        false,
        "SELECT current_database() AS database, table_schema AS schema, table_name AS name, \
         array_agg(column_name ORDER BY ordinal_position) AS column_names, \
         array_agg(data_type ORDER BY ordinal_position) AS column_types, table_schema = 'pg_temp' AS temporary \
         FROM information_schema.columns GROUP BY table_schema, table_name ORDER BY schema, name",
    ),
];

/// The text of a function, and whether it takes the name of a table.
fn shown(name: &str) -> Option<(bool, &'static str)> {
    SHOWN.iter().find(|(known, ..)| *known == name).map(|&(_, takes, text)| (takes, text))
}

impl Binder<'_> {
    /// The rows of such a function; none if it is another one.
    pub(super) fn shown_rows(
        &mut self,
        name: &str,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
    ) -> Result<Option<FromItem>> {
        let Some((takes, text)) = shown(name) else { return Ok(None) };
        let wrong = |message: String| Error::new(SqlState::UNDEFINED_FUNCTION, message);
        let argument = match (takes, arguments) {
            (false, []) => None,
            (false, _) => return Err(wrong(format!("{name} takes no arguments"))),
            (true, [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))]) => Some(match argument {
                ast::Expr::Identifier(ident) => ast::Expr::value(ast::Value::SingleQuotedString(fold(ident))),
                other => other.clone(),
            }),
            (true, _) => return Err(wrong(format!("{name} takes the name of a table"))),
        };
        let mut query = query_of(text)?;
        if let Some(argument) = &argument {
            walk::change_each_expr(query.as_mut(), |expr| {
                if matches!(expr, ast::Expr::Identifier(ident) if ident.value == ARGUMENT) {
                    *expr = argument.clone();
                }
            });
        }
        let bound = self.query(&query)?;
        self.derived(bound, alias, Some(name)).map(Some)
    }
}
