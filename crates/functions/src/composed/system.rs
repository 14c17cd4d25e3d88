//! What tools ask PostgreSQL about itself: names without a schema, rights, sizes and definitions of what there is.

use super::{Composed, scalar};

/// Rights on something of a kind: whoever opens a database has all. With the name of a user before, the answer is the same.
macro_rules! privilege {
    ($name:literal, $of:literal, $right:literal) => {
        [
            scalar(
                &[$name],
                &["of", "right"],
                "CASE WHEN of IS NOT NULL AND right IS NOT NULL THEN true END",
                concat!("Whether the user has a right on a ", $of, ", which is so."),
                (concat!($name, "('x', '", $right, "')"), "true"),
            ),
            scalar(
                &[$name],
                &["role", "of", "right"],
                "CASE WHEN role IS NOT NULL AND of IS NOT NULL AND right IS NOT NULL THEN true END",
                concat!("Whether a user has a right on a ", $of, ", which is so."),
                (concat!($name, "('morseldb', 'x', '", $right, "')"), "true"),
            ),
        ]
    };
}

/// Whether the search path finds what is in a table of the system.
macro_rules! visible {
    ($name:literal, $table:literal, $schema:literal, $of:literal) => {
        scalar(
            &[$name],
            &["n"],
            concat!(
                "(SELECT own_seen FROM (SELECT o.oid AS own_number, array_contains(current_schemas(true), s.nspname) AS own_seen \
                 FROM pg_catalog.",
                $table,
                " o JOIN pg_catalog.pg_namespace s ON s.oid = o.",
                $schema,
                ") AS own WHERE own_number = n)"
            ),
            concat!("Whether a name without a schema finds the ", $of, " of that number."),
            (concat!($name, "(1)"), "NULL"),
        )
    };
}

pub(super) const PRIVILEGES: [[Composed; 2]; 14] = [
    privilege!("has_any_column_privilege", "column of a table", "SELECT"),
    privilege!("has_database_privilege", "database", "CONNECT"),
    privilege!("has_foreign_data_wrapper_privilege", "foreign-data wrapper", "USAGE"),
    privilege!("has_function_privilege", "function", "EXECUTE"),
    privilege!("has_language_privilege", "language", "USAGE"),
    privilege!("has_parameter_privilege", "setting", "SET"),
    privilege!("has_schema_privilege", "schema", "USAGE"),
    privilege!("has_sequence_privilege", "sequence", "USAGE"),
    privilege!("has_server_privilege", "server", "USAGE"),
    privilege!("has_table_privilege", "table", "SELECT"),
    privilege!("has_tablespace_privilege", "tablespace", "CREATE"),
    privilege!("has_type_privilege", "type", "USAGE"),
    privilege!("pg_has_role", "role", "MEMBER"),
    [
        scalar(
            &["has_column_privilege"],
            &["of", "part", "right"],
            "CASE WHEN of IS NOT NULL AND part IS NOT NULL AND right IS NOT NULL THEN true END",
            "Whether the user has a right on a column, which is so.",
            ("has_column_privilege('t', 'a', 'SELECT')", "true"),
        ),
        scalar(
            &["has_column_privilege"],
            &["role", "of", "part", "right"],
            "CASE WHEN role IS NOT NULL AND of IS NOT NULL AND part IS NOT NULL AND right IS NOT NULL THEN true END",
            "Whether a user has a right on a column, which is so.",
            ("has_column_privilege('morseldb', 't', 'a', 'SELECT')", "true"),
        ),
    ],
];

pub(super) const SYSTEM: &[Composed] = &[
    scalar(&["current_database"], &[], "'morseldb'", "The name of the database.", ("current_database()", "morseldb")),
    scalar(
        &["pg_get_userbyid"],
        &["n"],
        "'morseldb'",
        "The owner of that number.",
        ("pg_get_userbyid(10)", "morseldb"),
    ),
    scalar(&["getpgusername"], &[], "current_user", "The name of the user.", ("getpgusername()", "morseldb")),
    scalar(
        &["getdatabaseencoding", "pg_client_encoding"],
        &[],
        "'UTF8'",
        "The encoding of texts.",
        ("getdatabaseencoding()", "UTF8"),
    ),
    scalar(
        &["pg_encoding_to_char"],
        &["n"],
        "'UTF8'",
        "The encoding of that number.",
        ("pg_encoding_to_char(6)", "UTF8"),
    ),
    scalar(
        &["pg_char_to_encoding"],
        &["t"],
        "CASE WHEN lower(t) IN ('utf8', 'utf-8', 'unicode') THEN 6 WHEN t IS NOT NULL THEN -1 END",
        "The number of an encoding; -1 of those that are not here.",
        ("pg_char_to_encoding('UTF8')", "6"),
    ),
    scalar(
        &["pg_encoding_max_length"],
        &["n"],
        "CASE n WHEN 6 THEN 4 END",
        "The most bytes of a character in an encoding.",
        ("pg_encoding_max_length(6)", "4"),
    ),
    scalar(
        &["convert"],
        &["b", "source", "destination"],
        "convert_to(convert_from(b, source), destination)",
        "The bytes of a text in another encoding.",
        ("convert('abc'::bytea, 'UTF8', 'UTF8')", "\\x616263"),
    ),
    scalar(
        &[
            "pg_operator_is_visible",
            "pg_collation_is_visible",
            "pg_conversion_is_visible",
            "pg_opclass_is_visible",
            "pg_opfamily_is_visible",
            "pg_ts_config_is_visible",
            "pg_ts_dict_is_visible",
            "pg_ts_parser_is_visible",
            "pg_ts_template_is_visible",
        ],
        &["n"],
        "CASE WHEN n IS NOT NULL THEN true END",
        "Whether a name without a schema means the object of that number.",
        ("pg_operator_is_visible(1)", "true"),
    ),
    visible!("pg_table_is_visible", "pg_class", "relnamespace", "table, view, sequence or index"),
    visible!("pg_type_is_visible", "pg_type", "typnamespace", "type"),
    visible!("pg_function_is_visible", "pg_proc", "pronamespace", "function"),
    scalar(
        &["in_search_path"],
        &["database", "schema"],
        "array_contains(current_schemas(true), CAST(schema AS text)) AND database = current_database()",
        "Whether names without a schema are looked for in a schema.",
        ("in_search_path('morseldb', 'public')", "true"),
    ),
    scalar(
        &["pg_my_temp_schema"],
        &[],
        "coalesce((SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'pg_temp'), 0)",
        "The number of the session's own schema, or 0.",
        ("pg_my_temp_schema() >= 0", "true"),
    ),
    scalar(
        &["pg_is_other_temp_schema"],
        &["n"],
        "CASE WHEN n IS NOT NULL THEN false END",
        "Whether a schema is another session's own: those are not to be seen.",
        ("pg_is_other_temp_schema(1)", "false"),
    ),
    scalar(
        &["pg_is_in_recovery"],
        &[],
        "false",
        "Whether the database recovers, which it never does.",
        ("pg_is_in_recovery()", "false"),
    ),
    scalar(&["pg_jit_available"], &[], "true", "Whether queries become machine code.", ("pg_jit_available()", "true")),
    scalar(
        &["pg_get_expr"],
        &["n", "of"],
        "CAST(n AS text)",
        "The text of an expression of the system's tables, which have these as texts.",
        ("pg_get_expr('1', 2)", "1"),
    ),
    scalar(
        &["pg_get_expr"],
        &["n", "of", "pretty"],
        "CAST(n AS text)",
        "The text of an expression of the system's tables, which have these as texts.",
        ("pg_get_expr('1', 2, true)", "1"),
    ),
    scalar(
        &["pg_get_constraintdef"],
        &["n"],
        "(SELECT own_text FROM (SELECT oid AS own_number, condef AS own_text FROM pg_catalog.pg_constraint) AS own \
         WHERE own_number = n)",
        "What makes the constraint of that number.",
        ("pg_get_constraintdef(1)", "NULL"),
    ),
    scalar(
        &["pg_get_constraintdef"],
        &["n", "pretty"],
        "pg_get_constraintdef(n)",
        "What makes the constraint of that number.",
        ("pg_get_constraintdef(1, true)", "NULL"),
    ),
    scalar(
        &["pg_get_triggerdef"],
        &["n"],
        "(SELECT own_text FROM (SELECT oid AS own_number, tgdef AS own_text FROM pg_catalog.pg_trigger) AS own \
         WHERE own_number = n)",
        "What makes the trigger of that number.",
        ("pg_get_triggerdef(1)", "NULL"),
    ),
    scalar(
        &["pg_get_partkeydef"],
        &["n"],
        "(SELECT own_text FROM (SELECT partrelid AS own_number, partkeydef AS own_text \
         FROM pg_catalog.pg_partitioned_table) AS own WHERE own_number = n)",
        "By what the table of that number is partitioned.",
        ("pg_get_partkeydef(1)", "NULL"),
    ),
    scalar(
        &["pg_get_triggerdef"],
        &["n", "pretty"],
        "pg_get_triggerdef(n)",
        "What makes the trigger of that number.",
        ("pg_get_triggerdef(1, true)", "NULL"),
    ),
    scalar(
        &["pg_get_function_result"],
        &["n"],
        "(SELECT own_text FROM (SELECT oid AS own_number, proresult AS own_text FROM pg_catalog.pg_proc) AS own \
         WHERE own_number = n)",
        "What the function of that number gives.",
        ("pg_get_function_result(1)", "NULL"),
    ),
    scalar(
        &["pg_get_function_arguments"],
        &["n"],
        "(SELECT own_text FROM (SELECT oid AS own_number, proarguments AS own_text FROM pg_catalog.pg_proc) AS own \
         WHERE own_number = n)",
        "What the function of that number takes.",
        ("pg_get_function_arguments(1)", "NULL"),
    ),
    scalar(
        &["pg_get_functiondef"],
        &["n"],
        "(SELECT own_text FROM (SELECT oid AS own_number, prodefinition AS own_text FROM pg_catalog.pg_proc) AS own \
         WHERE own_number = n)",
        "What makes the function of that number.",
        ("pg_get_functiondef(1)", "NULL"),
    ),
    scalar(
        &["pg_get_function_identity_arguments"],
        &["n"],
        "regexp_replace(pg_get_function_arguments(n), ' DEFAULT [^,]*', '', 'g')",
        "What the function of that number takes, without what stands for arguments that are not given.",
        ("pg_get_function_identity_arguments(1)", "NULL"),
    ),
    scalar(
        &["pg_get_function_sqlbody"],
        &["n"],
        "CASE WHEN n IS NULL THEN '' END",
        "The body of a function that is no text, which none is.",
        ("pg_get_function_sqlbody(1)", "NULL"),
    ),
    scalar(
        &["pg_partition_ancestors"],
        &["n"],
        "CAST(n AS regclass)",
        "The tables that a table is a part of: itself, as there are no others.",
        ("pg_partition_ancestors(1)", "1"),
    ),
    scalar(
        &["pg_get_indexdef"],
        &["n"],
        "(SELECT own_text FROM (SELECT indexrelid AS own_number, indexdef AS own_text FROM pg_catalog.pg_index) AS own \
         WHERE own_number = n)",
        "What makes the index of that number.",
        ("pg_get_indexdef(1)", "NULL"),
    ),
    scalar(
        &["pg_get_indexdef"],
        &["n", "part", "pretty"],
        "CASE WHEN part = 0 THEN pg_get_indexdef(n) ELSE (SELECT own_name FROM (SELECT attrelid AS own_number, \
         attnum AS own_part, attname AS own_name FROM pg_catalog.pg_attribute) AS own WHERE own_number = n AND own_part = part) END",
        "What makes the index of that number, or the name of one of its columns.",
        ("pg_get_indexdef(1, 0, true)", "NULL"),
    ),
    scalar(
        &["pg_relation_is_publishable"],
        &["n"],
        "CASE WHEN n IS NOT NULL THEN false END",
        "Whether a table can be replicated, which none can.",
        ("pg_relation_is_publishable(1)", "false"),
    ),
    scalar(
        &["pg_get_statisticsobjdef_columns", "pg_get_statisticsobjdef", "pg_get_ruledef"],
        &["n"],
        "CASE WHEN n IS NULL THEN '' END",
        "What makes an object of a kind that is not here.",
        ("pg_get_ruledef(1)", "NULL"),
    ),
    scalar(
        &["pg_get_ruledef"],
        &["n", "pretty"],
        "CASE WHEN n IS NULL THEN '' END",
        "What makes an object of a kind that is not here.",
        ("pg_get_ruledef(1, true)", "NULL"),
    ),
    scalar(
        &["pg_tablespace_location"],
        &["n"],
        "CASE WHEN n IS NOT NULL THEN '' END",
        "Where tables lie: in memory.",
        ("length(pg_tablespace_location(1663))", "0"),
    ),
    scalar(
        &["obj_description", "shobj_description"],
        &["n", "class"],
        "(SELECT description FROM pg_catalog.pg_description WHERE objoid = n AND objsubid = 0 AND classoid = CASE class \
         WHEN 'pg_class' THEN 1259 WHEN 'pg_type' THEN 1247 WHEN 'pg_namespace' THEN 2615 WHEN 'pg_constraint' THEN 2606 \
         WHEN 'pg_database' THEN 1262 END)",
        "The comment on an object, by its number and the table of the system that has it.",
        ("obj_description(1, 'pg_class')", "NULL"),
    ),
    scalar(
        &["obj_description"],
        &["n"],
        "(SELECT min(description) FROM pg_catalog.pg_description WHERE objoid = n AND objsubid = 0)",
        "The comment on an object, by its number alone.",
        ("obj_description(1)", "NULL"),
    ),
    scalar(
        &["col_description"],
        &["n", "number"],
        "(SELECT description FROM pg_catalog.pg_description WHERE objoid = n AND objsubid = number AND classoid = 1259)",
        "The comment on a column of a table, by the table's number and its own.",
        ("col_description(1, 1)", "NULL"),
    ),
    scalar(
        &["format_type"],
        &["n", "modifier"],
        "coalesce(CASE n WHEN 16 THEN 'boolean' WHEN 17 THEN 'bytea' WHEN 20 THEN 'bigint' WHEN 21 THEN 'smallint' WHEN 23 THEN 'integer' \
         WHEN 25 THEN 'text' WHEN 114 THEN 'json' WHEN 700 THEN 'real' WHEN 701 THEN 'double precision' \
         WHEN 1042 THEN 'character' || CASE WHEN modifier > 4 THEN '(' || (modifier - 4) || ')' ELSE '' END \
         WHEN 1043 THEN 'character varying' || CASE WHEN modifier > 4 THEN '(' || (modifier - 4) || ')' ELSE '' END \
         WHEN 1082 THEN 'date' WHEN 1083 THEN 'time without time zone' WHEN 1114 THEN 'timestamp without time zone' \
         WHEN 1184 THEN 'timestamp with time zone' WHEN 1186 THEN 'interval' WHEN 1700 THEN 'numeric' || CASE WHEN modifier > 4 \
         THEN '(' || ((modifier - 4) / 65536) || ',' || ((((modifier - 4) & 2047) # 1024) - 1024) || ')' ELSE '' END \
         WHEN 2950 THEN 'uuid' WHEN 3802 THEN 'jsonb' END, \
         (SELECT coalesce(own_element || '[]', own_name) FROM (SELECT t.oid AS own_number, quote_ident(t.typname) AS own_name, \
         CASE e.typname WHEN 'bool' THEN 'boolean' WHEN 'int2' THEN 'smallint' WHEN 'int4' THEN 'integer' WHEN 'int8' THEN 'bigint' \
         WHEN 'float4' THEN 'real' WHEN 'float8' THEN 'double precision' WHEN 'bpchar' THEN 'character' \
         WHEN 'varchar' THEN 'character varying' WHEN 'time' THEN 'time without time zone' \
         WHEN 'timestamp' THEN 'timestamp without time zone' WHEN 'timestamptz' THEN 'timestamp with time zone' ELSE e.typname END \
         AS own_element FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem) AS own \
         WHERE own_number = n), CASE WHEN n IS NOT NULL THEN '???' END)",
        "What a type is called, by its number and modifier in pg_attribute.",
        ("format_type(1700, 655366)", "numeric(10,2)"),
    ),
    scalar(
        &["pg_get_viewdef"],
        &["v"],
        "(SELECT max(\"#v\".definition) FROM pg_catalog.pg_views \"#v\" JOIN pg_catalog.pg_class \"#c\" ON \"#c\".relname = \"#v\".viewname \
         AND \"#c\".relkind = 'v' JOIN pg_catalog.pg_namespace \"#n\" ON \"#n\".oid = \"#c\".relnamespace AND \"#n\".nspname = \"#v\".schemaname \
         WHERE CAST(v AS text) IN (CAST(\"#c\".oid AS text), \"#v\".viewname, \"#v\".schemaname || '.' || \"#v\".viewname))",
        "The query of a view, by its number or name.",
        ("pg_get_viewdef(1)", "NULL"),
    ),
    scalar(
        &["pg_get_viewdef"],
        &["v", "pretty"],
        "pg_get_viewdef(v)",
        "The query of a view, as it was written.",
        ("pg_get_viewdef(1, true)", "NULL"),
    ),
    scalar(
        &["pg_relation_is_updatable"],
        &["n", "triggers"],
        "CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_class \"#c\" WHERE \"#c\".oid = n AND \"#c\".relkind = 'r') THEN 28 ELSE 0 END",
        "Which changes a table takes: 28, which is all of them, or 0 for what is no table.",
        ("pg_relation_is_updatable(1, false)", "0"),
    ),
    scalar(
        &["pg_column_is_updatable"],
        &["n", "number", "triggers"],
        "pg_relation_is_updatable(n, triggers) = 28 AND number > 0",
        "Whether a table's column takes changes.",
        ("pg_column_is_updatable(1, 1, false)", "false"),
    ),
    scalar(
        &["to_regclass"],
        &["t"],
        "(SELECT min(own_number) FROM (SELECT c.oid AS own_number, c.relname AS own_name, n.nspname AS own_schema \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace) AS own WHERE CAST(t AS text) \
         IN (CAST(own_number AS text), own_name, own_schema || '.' || own_name, \
         CASE own_schema WHEN 'public' THEN 'main.' || own_name END))",
        "The number of a table, view, sequence or index, by its name or number.",
        ("to_regclass('nothing' || '_here')", "NULL"),
    ),
    scalar(
        &["pg_get_serial_sequence"],
        &["t", "part"],
        "(SELECT max(own_schema || '.' || own_name) FROM (SELECT \
         d.refobjid AS own_table, a.attname AS own_part, n.nspname AS own_schema, c.relname AS own_name \
         FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid = d.objid \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid) AS own \
         WHERE own_table = to_regclass(CAST(t AS text)) AND own_part = CAST(part AS text))",
        "The sequence of a column.",
        ("pg_get_serial_sequence('nothing' || '_here', 'a')", "NULL"),
    ),
    scalar(
        &["pg_relation_size", "pg_table_size", "pg_total_relation_size"],
        &["t"],
        "(SELECT max(own_bytes) FROM (SELECT oid AS own_number, relbytes AS own_bytes FROM pg_catalog.pg_class) AS own \
         WHERE own_number = to_regclass(CAST(t AS text)))",
        "The memory of a table's columns, by its name or number.",
        ("pg_relation_size('numbers') > 0", "true"),
    ),
    scalar(
        &["to_regnamespace"],
        &["t"],
        "(SELECT max(nspname) FROM pg_catalog.pg_namespace WHERE nspname = t)",
        "The name of a schema; NULL if there is none.",
        ("to_regnamespace('public')", "public"),
    ),
    scalar(
        &["to_regrole"],
        &["t"],
        "(SELECT max(rolname) FROM pg_catalog.pg_roles WHERE rolname = t)",
        "The name of a role; NULL if there is none.",
        ("to_regrole('nobody')", "NULL"),
    ),
    scalar(
        &["to_regcollation"],
        &["t"],
        "CASE WHEN t IN ('default', '\"default\"', 'C', '\"C\"', 'POSIX', '\"POSIX\"') THEN t END",
        "The name of a collation; NULL if there is none.",
        ("to_regcollation('\"C\"')", "\"C\""),
    ),
    // With the beginnings and ends of periods in order; an end that is not known is NULL.
    scalar(
        &["overlaps_in_order"],
        &["a", "b", "c", "d"],
        "CASE WHEN a > c THEN CASE WHEN a < d THEN true WHEN b IS NOT NULL AND d IS NOT NULL THEN false END \
         WHEN a < c THEN CASE WHEN c < b THEN true WHEN b IS NOT NULL AND d IS NOT NULL THEN false END \
         WHEN a = c AND b IS NOT NULL AND d IS NOT NULL THEN true END",
        "Whether two periods have a time in common.",
        ("(date '2020-01-01', date '2020-02-01') OVERLAPS (date '2020-01-31', interval '1 day')", "true"),
    ),
    scalar(
        &["pg_sleep_for"],
        &["i"],
        "pg_sleep(CAST(date_part('epoch', CAST(i AS interval)) AS double precision))",
        "Waits so long.",
        ("pg_sleep_for('0 seconds')", ""),
    ),
    scalar(
        &["pg_sleep_until"],
        &["t"],
        "pg_sleep(CAST(date_part('epoch', CAST(t AS timestamptz) - clock_timestamp()) AS double precision))",
        "Waits until that time.",
        ("pg_sleep_until(now())", ""),
    ),
    scalar(
        &["timeofday"],
        &[],
        "to_char(clock_timestamp(), 'Dy Mon DD HH24:MI:SS.US YYYY TZ')",
        "The time as text, which goes on while a statement runs.",
        ("length(timeofday()) > 30", "true"),
    ),
    scalar(
        &["current_localtimestamp"],
        &[],
        "localtimestamp",
        "The time in the session's zone.",
        ("current_localtimestamp() = localtimestamp", "true"),
    ),
    scalar(
        &["current_localtime"],
        &[],
        "CAST(localtimestamp AS time)",
        "The time of day in the session's zone.",
        ("current_localtime() = CAST(localtimestamp AS time)", "true"),
    ),
    scalar(
        &["get_current_timestamp"],
        &[],
        "now()",
        "The time at which the statement began.",
        ("get_current_timestamp() = now()", "true"),
    ),
    scalar(
        &["get_current_time"],
        &[],
        "CAST(now() AS time)",
        "The time of day at which the statement began.",
        ("get_current_time() = CAST(now() AS time)", "true"),
    ),
];
