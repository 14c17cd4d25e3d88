//! Settings of PostgreSQL that its tools and users set: what they ask for is as it is here anyhow, or has no meaning here. They are
//! what was said last, as long as that means nothing else. Settings of users, which have a point in their names, are values that
//! sessions keep.

use std::collections::BTreeMap;

use base::{Error, Result, SqlState};

/// Each with the only values that may be set, if others would mean something else: the first of these is shown.
const FIXED: &[(&str, &[&str])] = &[
    ("bytea_output", &["hex"]),
    ("client_encoding", &["utf8", "utf-8", "unicode"]),
    ("default_table_access_method", &["heap"]),
    ("default_tablespace", &[""]),
    ("default_transaction_read_only", &["off", "false"]),
    ("default_with_oids", &["off", "false"]),
    ("intervalstyle", &["postgres"]),
    ("role", &["none", "morseldb"]),
    ("session_authorization", &["morseldb", "default"]),
    ("session_replication_role", &["origin", "local"]),
    ("transaction_deferrable", &["off", "false", "on", "true"]),
    ("xmloption", &["content"]),
];

/// What others are until somebody says something else.
const FREE: &str = "standard_conforming_strings=on \
    application_name= backtrace_functions= dynamic_library_path=$libdir lc_messages=C lc_monetary=C lc_numeric=C lc_time=C \
    local_preload_libraries= restrict_nonsystem_relation_kind= session_preload_libraries= temp_tablespaces= transaction_timeout=0 \
    wal_consistency_checking= allow_in_place_tablespaces=off allow_system_table_mods=off array_nulls=on backend_flush_after=0 \
    backslash_quote=safe_encoding check_function_bodies=on client_connection_check_interval=0 client_min_messages=notice \
    commit_delay=0 commit_siblings=5 compute_query_id=auto constraint_exclusion=partition cpu_index_tuple_cost=0.005 \
    cpu_operator_cost=0.0025 cpu_tuple_cost=0.01 cursor_tuple_fraction=0.1 deadlock_timeout=1s debug_discard_caches=0 \
    debug_pretty_print=on debug_print_parse=off debug_print_plan=off debug_print_rewritten=off \
    default_statistics_target=100 default_text_search_config=pg_catalog.english default_toast_compression=pglz \
    default_transaction_deferrable=off effective_cache_size=4GB effective_io_concurrency=1 enable_async_append=on \
    enable_bitmapscan=on enable_gathermerge=on enable_hashagg=on enable_hashjoin=on enable_incremental_sort=on \
    enable_indexonlyscan=on enable_indexscan=on enable_material=on enable_memoize=on enable_mergejoin=on \
    enable_nestloop=on enable_parallel_append=on enable_parallel_hash=on enable_partition_pruning=on \
    enable_partitionwise_aggregate=off enable_partitionwise_join=off enable_seqscan=on enable_sort=on enable_tidscan=on \
    escape_string_warning=on exit_on_error=off extra_float_digits=1 force_parallel_mode=off from_collapse_limit=8 geqo=on \
    geqo_effort=5 geqo_generations=0 geqo_pool_size=0 geqo_seed=0 geqo_selection_bias=2 geqo_threshold=12 \
    gin_fuzzy_search_limit=0 gin_pending_list_limit=4MB hash_mem_multiplier=2 idle_in_transaction_session_timeout=0 \
    idle_session_timeout=0 ignore_checksum_failure=off jit=on jit_above_cost=100000 jit_dump_bitcode=off \
    jit_expressions=on jit_inline_above_cost=500000 jit_optimize_above_cost=500000 jit_tuple_deforming=on \
    join_collapse_limit=8 lo_compat_privileges=off lock_timeout=0 log_duration=off log_error_verbosity=default \
    log_executor_stats=off log_lock_waits=off log_min_duration_sample=-1 log_min_duration_statement=-1 \
    log_min_error_statement=error log_min_messages=warning log_parameter_max_length=-1 log_parameter_max_length_on_error=0 \
    log_parser_stats=off log_planner_stats=off log_replication_commands=off log_statement=none log_statement_sample_rate=1 \
    log_statement_stats=off log_temp_files=-1 log_transaction_sample_rate=0 logical_decoding_work_mem=64MB \
    maintenance_io_concurrency=10 maintenance_work_mem=64MB max_parallel_maintenance_workers=2 max_parallel_workers=8 \
    max_parallel_workers_per_gather=2 max_stack_depth=2MB min_parallel_index_scan_size=512kB \
    min_parallel_table_scan_size=8MB parallel_leader_participation=on parallel_setup_cost=1000 parallel_tuple_cost=0.1 \
    password_encryption=scram-sha-256 quote_all_identifiers=off random_page_cost=4 recursive_worktable_factor=10 \
    row_security=on seq_page_cost=1 stats_fetch_consistency=cache synchronize_seqscans=on synchronous_commit=on \
    tcp_keepalives_count=0 tcp_keepalives_idle=0 tcp_keepalives_interval=0 tcp_user_timeout=0 temp_buffers=8MB \
    temp_file_limit=-1 timezone_abbreviations=Default trace_notify=off trace_sort=off track_activities=on track_counts=on \
    track_functions=none track_io_timing=off track_wal_io_timing=off transform_null_equals=off update_process_title=on \
    vacuum_cost_delay=0 vacuum_cost_limit=200 vacuum_cost_page_dirty=20 vacuum_cost_page_hit=1 vacuum_cost_page_miss=2 \
    vacuum_failsafe_age=1600000000 vacuum_freeze_min_age=50000000 vacuum_freeze_table_age=150000000 \
    vacuum_multixact_failsafe_age=1600000000 vacuum_multixact_freeze_min_age=5000000 \
    vacuum_multixact_freeze_table_age=150000000 wal_compression=off wal_init_zero=on wal_recycle=on \
    wal_sender_timeout=1min wal_skip_threshold=2MB work_mem=4MB xmlbinary=base64 zero_damaged_pages=off";

/// What is as it is: of the server, which is none. Its version is that whose manual and answers are followed.
const SERVER: &str = "server_version=15.0 server_version_num=150000 is_superuser=on in_hot_standby=off \
    autovacuum=on block_size=8192 data_checksums=off debug_assertions=off fsync=on integer_datetimes=on \
    max_connections=100 max_function_args=100 max_identifier_length=63 max_index_keys=32 max_locks_per_transaction=64 \
    max_prepared_transactions=0 max_worker_processes=8 segment_size=1GB server_encoding=UTF8 shared_buffers=128MB ssl=off \
    wal_block_size=8192 wal_level=replica";

fn default_of(name: &str, all: &'static str) -> Option<&'static str> {
    all.split_whitespace()
        .find_map(|one| one.split_once('=').filter(|(known, _)| *known == name))
        .map(|(_, value)| value)
}

/// What a session has said of settings that mean nothing here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told(BTreeMap<String, String>);

impl Told {
    /// Whether it is such a setting.
    pub fn is_known(name: &str) -> bool {
        let is_fixed = FIXED.iter().any(|(known, _)| *known == name);
        is_fixed || name.contains('.') || default_of(name, FREE).is_some() || default_of(name, SERVER).is_some()
    }

    /// Its value, if there is one: not of a setting of users that nobody has set.
    pub fn get(&self, name: &str) -> Option<String> {
        if let Some(value) = self.0.get(name) {
            return Some(value.clone());
        }
        let fixed = FIXED.iter().find(|(known, _)| *known == name).map(|(_, values)| match values[0] {
            "utf8" => "UTF8",
            "iso" => "ISO, MDY",
            other => other,
        });
        fixed.or_else(|| default_of(name, FREE)).or_else(|| default_of(name, SERVER)).map(str::to_owned)
    }

    /// Sets it, or unsets it, and returns what was said before; error 22023 if the value would mean something else or is none.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<Option<String>> {
        let Some(value) = value else {
            // As in PostgreSQL, what was there once is empty afterwards.
            return Ok(match name.contains('.') {
                true => self.0.insert(name.to_owned(), String::new()),
                false => self.0.remove(name),
            });
        };
        if default_of(name, SERVER).is_some() {
            let message = format!("parameter \"{name}\" cannot be changed");
            return Err(Error::new(SqlState::CANNOT_CHANGE_PARAMETER, message));
        }
        let wrong = |hint: String| {
            let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).hint(hint))
        };
        if let Some((_, values)) = FIXED.iter().find(|(known, _)| *known == name) {
            return match values.contains(&value.trim().to_lowercase().as_str()) {
                true => Ok(None),
                false => wrong(format!("it is {}", values[0])),
            };
        }
        let shown = match default_of(name, FREE) {
            Some("on" | "off") => match value.trim().to_lowercase().as_str() {
                "on" | "true" | "yes" | "1" | "t" | "y" => "on",
                "off" | "false" | "no" | "0" | "f" | "n" => "off",
                _ => return wrong("it is on or off".to_owned()),
            },
            Some(default) if default.starts_with(|c: char| c.is_ascii_digit()) => {
                let value = value.trim();
                let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
                if number.parse::<f64>().is_err() && !matches!(value, "on" | "off" | "auto") {
                    return wrong("it is a number".to_owned());
                }
                value
            }
            _ => value,
        };
        Ok(self.0.insert(name.to_owned(), shown.to_owned()))
    }

    /// Whether backslashes in strings are escapes, which they are not here.
    pub fn escapes_strings(&self) -> bool {
        self.0.get("standard_conforming_strings").is_some_and(|value| value == "off")
    }

    /// All are as they were at first, but for those of users.
    pub fn reset(&mut self) {
        self.0.retain(|name, _| name.contains('.'));
    }
}
