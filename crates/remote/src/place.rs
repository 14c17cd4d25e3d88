//! Where a file is: an address, or a bucket and a key.

use std::time::Duration;

use base::{Error, Result, SqlState};
use rusty_s3::actions::{GetObject, S3Action as _};
use rusty_s3::{Bucket, Credentials};

/// How long a signed address holds.
const HOLDS: Duration = Duration::from_secs(15 * 60);

/// How the address of an object has its bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UrlStyle {
    /// `https://example.com/bucket/key`
    Path,
    /// The bucket as the first part of the host.
    Host,
}

/// What buckets are and who may read them; what is not said is as the environment's `AWS_` variables say, or Amazon's.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct S3 {
    /// Who asks; none: nobody in particular, which is enough for public buckets.
    pub access_key_id: Option<String>,
    /// The secret that belongs to it.
    pub secret_access_key: Option<String>,
    /// The token of a session, where keys are for a while.
    pub session_token: Option<String>,
    /// Where buckets are.
    pub region: Option<String>,
    /// The server, if it is not Amazon's: `localhost:9000`, `https://example.com`.
    pub endpoint: Option<String>,
    /// How its addresses are made; none: paths for servers that are not Amazon's.
    pub url_style: Option<UrlStyle>,
    /// Whether an endpoint without a scheme is `http`.
    pub plain: bool,
}

impl std::fmt::Debug for S3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys go nowhere.
        f.debug_struct("S3").field("region", &self.region).field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// Whether a path is an address of a file elsewhere.
pub fn is_remote(path: &str) -> bool {
    ["http://", "https://", "s3://"].iter().any(|scheme| starts_with(path, scheme))
}

/// Whether a path begins so, in letters of any size.
fn starts_with(path: &str, scheme: &str) -> bool {
    path.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
}

/// Where the pattern of an address begins, if it is one: those of `http` are none, as their marks mean something else.
pub fn pattern_of(path: &str) -> Option<usize> {
    if starts_with(path, "s3://") { path.find(['*', '?', '[']) } else { None }
}

/// The part of a path that ends as the file's name does: without the query of an address.
pub fn name_of(path: &str) -> &str {
    let is_address = is_remote(path) && !starts_with(path, "s3://");
    if is_address { path.split(['?', '#']).next().unwrap_or(path) } else { path }
}

/// See the module.
#[derive(Clone)]
pub(crate) enum Place {
    Address(String),
    Object { bucket: Box<Bucket>, credentials: Option<Credentials>, key: String },
}

impl Place {
    /// The place that a path names.
    pub fn of(path: &str, s3: &S3) -> Result<Self> {
        if starts_with(path, "s3://") {
            let (name, key) = parts(path)?;
            let key = key.to_owned();
            return Ok(Self::Object { bucket: Box::new(s3.bucket(name, path)?), credentials: s3.credentials(), key });
        }
        // As browsers do; what else is no address is said when it is asked for.
        Ok(Self::Address(path.trim().replace(' ', "%20")))
    }

    /// An address to read it from, for a while.
    pub fn address(&self) -> String {
        match self {
            Self::Address(address) => address.clone(),
            Self::Object { bucket, credentials: Some(credentials), key } => {
                GetObject::new(bucket, Some(credentials), key).sign(HOLDS).to_string()
            }
            // A key that is no part of an address is answered by the server.
            Self::Object { bucket, credentials: None, key } => {
                bucket.object_url(key).map_or_else(|_| bucket.base_url().to_string(), |url| url.to_string())
            }
        }
    }
}

/// Bucket and key of an `s3://` path.
pub(crate) fn parts(path: &str) -> Result<(&str, &str)> {
    let rest = &path["s3://".len()..];
    match rest.split_once('/') {
        Some((bucket, key)) if !bucket.is_empty() && !key.is_empty() => Ok((bucket, key)),
        _ => {
            let message = format!("\"{path}\" names no object of a bucket");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).hint("write s3://bucket/path/file.parquet"))
        }
    }
}

impl S3 {
    /// A bucket of that name; `path` is for errors.
    pub(crate) fn bucket(&self, name: &str, path: &str) -> Result<Bucket> {
        let region = self.region.clone().or_else(|| variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]));
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let given = self.endpoint.clone().or_else(|| variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]));
        let style = self.url_style.unwrap_or(if given.is_some() { UrlStyle::Path } else { UrlStyle::Host });
        let endpoint = given.unwrap_or_else(|| format!("s3.{region}.amazonaws.com"));
        let scheme = if self.plain { "http" } else { "https" };
        let endpoint = if endpoint.contains("://") { endpoint } else { format!("{scheme}://{endpoint}") };
        let invalid = |what: &dyn std::fmt::Display| {
            let message = format!("could not make an address of \"{path}\" at \"{endpoint}\": {what}");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .hint("s3_endpoint and s3_region say where buckets are")
        };
        let url = endpoint.parse().map_err(|e| invalid(&e))?;
        let style = match style {
            UrlStyle::Path => rusty_s3::UrlStyle::Path,
            UrlStyle::Host => rusty_s3::UrlStyle::VirtualHost,
        };
        Bucket::new(url, style, name.to_owned(), region).map_err(|e| invalid(&e))
    }

    pub(crate) fn credentials(&self) -> Option<Credentials> {
        let (key, secret, token) = match (&self.access_key_id, &self.secret_access_key) {
            (Some(key), Some(secret)) => (key.clone(), secret.clone(), self.session_token.clone()),
            _ => (
                variable(&["AWS_ACCESS_KEY_ID"])?,
                variable(&["AWS_SECRET_ACCESS_KEY"])?,
                variable(&["AWS_SESSION_TOKEN"]),
            ),
        };
        Some(match token {
            Some(token) => Credentials::new_with_token(key, secret, token),
            None => Credentials::new(key, secret),
        })
    }
}

/// The first of these variables that has a value.
fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_objects() {
        let s3 = S3 { region: Some("eu-west-1".into()), ..S3::default() };
        let plain = Place::of("s3://data/a b/ü.parquet", &s3).unwrap().address();
        assert_eq!(plain.split_once("://").unwrap().1, "data.s3.eu-west-1.amazonaws.com/a%20b/%C3%BC.parquet");
        let own = S3 { endpoint: Some("localhost:9000".into()), plain: true, ..s3.clone() };
        assert_eq!(Place::of("S3://data/x", &own).unwrap().address(), "http://localhost:9000/data/x");
        let signed = S3 { access_key_id: Some("me".into()), secret_access_key: Some("secret".into()), ..own };
        let address = Place::of("s3://data/x", &signed).unwrap().address();
        assert!(address.contains("X-Amz-Signature=") && !address.contains("secret"), "{address}");
        for wrong in ["s3://", "s3://data", "s3://data/", "s3:///x"] {
            assert!(Place::of(wrong, &s3).is_err(), "{wrong}");
        }
    }

    #[test]
    fn patterns() {
        assert_eq!(pattern_of("s3://b/part-*.csv"), Some(12));
        assert_eq!(pattern_of("https://example.com/x.csv?raw=1"), None);
        assert_eq!(name_of("https://example.com/x.csv?raw=1"), "https://example.com/x.csv");
        assert_eq!(name_of("s3://b/what?.csv"), "s3://b/what?.csv");
        assert!(
            is_remote("HTTPS://example.com/x") && !is_remote("https") && !is_remote("ftp://x") && !is_remote("s3:/x")
        );
    }
}
