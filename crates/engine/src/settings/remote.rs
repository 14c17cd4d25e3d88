//! With what servers are asked for files.

use std::time::Duration;

use io::{S3, UrlStyle};

use super::{Setting, Settings};

impl Settings {
    /// How often a server is asked again, and how long is waited before that.
    pub(crate) fn retries(&self) -> (u32, Duration) {
        (self.number("http_retries"), self.duration("http_retry_wait").unwrap_or_default())
    }
    /// What buckets are, and who may read them.
    pub(crate) fn of_s3(&self) -> S3 {
        let text = |name| Setting::named(name).map(|s| self.get(s).to_owned()).filter(|text| !text.is_empty());
        S3 {
            access_key_id: text("s3_access_key_id"),
            secret_access_key: text("s3_secret_access_key"),
            session_token: text("s3_session_token"),
            region: text("s3_region"),
            endpoint: text("s3_endpoint"),
            url_style: match text("s3_url_style").as_deref() {
                Some("path") => Some(UrlStyle::Path),
                Some("vhost") => Some(UrlStyle::Host),
                _ => None,
            },
            plain: !self.is_on("s3_use_ssl"),
        }
    }
}
