//! Which settings leave plans as they are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// What says how plans are run, or is none of their business.
const HARMLESS: &[&str] = &[
    "admission_timeout",
    "bushy_parallelism",
    "concurrency_control",
    "default_transaction_isolation",
    "directory_placement",
    "http_retries",
    "http_retry_wait",
    "http_timeout",
    "join_tags",
    "memory_limit",
    "memory_placement",
    "priority",
    "query_memory_limit",
    "s3_access_key_id",
    "s3_endpoint",
    "s3_region",
    "s3_secret_access_key",
    "s3_session_token",
    "s3_url_style",
    "s3_use_ssl",
    "statement_timeout",
    "threads",
    "topology",
    "trace",
    "work_division",
    "worker_limit",
];

/// 0 if none of the settings change how plans are made: those of others hold then. Else a number that no other settings have.
pub(super) fn number(values: &BTreeMap<&'static str, String>) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let keeps = |(name, value): (&&'static str, &String)| *name == "plan_cache_mode" && value != "force_custom_plan";
    match values.iter().all(|setting| HARMLESS.contains(setting.0) || keeps(setting)) {
        true => 0,
        false => NEXT.fetch_add(1, Ordering::Relaxed),
    }
}
