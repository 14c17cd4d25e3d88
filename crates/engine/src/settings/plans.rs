//! Which settings leave plans as they are.

use std::collections::BTreeMap;

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

/// Whether some of the settings change how plans are made: those of others do not hold then.
pub(super) fn change(values: &BTreeMap<&'static str, String>) -> bool {
    let keeps = |(name, value): (&&'static str, &String)| *name == "plan_cache_mode" && value != "force_custom_plan";
    !values.iter().all(|setting| HARMLESS.contains(setting.0) || keeps(setting))
}
