//! The objects of a bucket that a pattern names.

use std::sync::Arc;

use base::{CancelToken, Error, Result, SqlState};
use glob::{MatchOptions, Pattern};
use rusty_s3::actions::{ListObjectsV2, S3Action as _};

use crate::Access;
use crate::client::{Failure, Request, unreachable};
use crate::place::{Place, parts, pattern_of};

/// Most bytes of an answer: a thousand keys of a thousand characters, encoded.
const MOST: u64 = 16 << 20;

/// The paths of objects that a pattern names, in the order of their names; `*` and `?` stand for no `/`, `**` for any folders.
pub fn list(access: &Access, pattern: &str, cancel: &CancelToken) -> Result<Vec<String>> {
    let invalid = |e: &dyn std::fmt::Display| {
        Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid pattern \"{pattern}\": {e}"))
    };
    let (name, keys) = parts(pattern)?;
    if name.contains(['*', '?', '[']) {
        return Err(invalid(&"the bucket has to be told"));
    }
    let matches = Pattern::new(keys).map_err(|e| invalid(&e))?;
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::default() };
    let begin = &pattern[pattern.len() - keys.len()..pattern_of(pattern).unwrap_or(pattern.len())];
    let mut found = Vec::new();
    let mut from = None;
    loop {
        let page = page(access, (name, begin, pattern), from, cancel)?;
        let keys = page.contents.into_iter().map(|object| object.key);
        // Those that end with a slash stand for folders.
        found.extend(keys.filter(|key| !key.ends_with('/') && matches.matches_with(key, options)));
        from = page.next_continuation_token;
        if from.is_none() {
            break;
        }
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|key| format!("s3://{name}/{key}")).collect())
}

/// A key as it is, of one that is encoded as forms are.
fn decoded(key: &str) -> String {
    let key = key.replace('+', " ");
    percent_encoding::percent_decode_str(&key).decode_utf8_lossy().into_owned()
}

/// Some of the objects whose keys begin so.
fn page(
    access: &Access,
    (name, begin, pattern): (&str, &str, &str),
    from: Option<String>,
    cancel: &CancelToken,
) -> Result<rusty_s3::actions::ListObjectsV2Response> {
    let (bucket, credentials) = (access.s3.bucket(name, pattern)?, access.s3.credentials());
    let (client, timeout, cancelled) = (access.client.clone(), access.timeout, cancel.clone());
    let retries = access.retries;
    let (begin, pattern): (String, Arc<str>) = (begin.to_owned(), pattern.into());
    access.client.wait_for(cancel, move || {
        client.persist(retries, &|| !cancelled.is_cancelled(), || {
            let mut action = ListObjectsV2::new(&bucket, credentials.as_ref());
            action.with_prefix(begin.clone());
            if let Some(from) = &from {
                action.with_continuation_token(from.clone());
            }
            let address = action.sign(std::time::Duration::from_secs(900)).to_string();
            let place = Place::Address(address);
            let request = Request { place: &place, name: &pattern, range: None, tag: None, timeout };
            let mut answer = client.ask(&request)?;
            let text = answer.body_mut().with_config().limit(MOST).read_to_string();
            let text = text.map_err(|e| unreachable(&pattern, &e))?;
            let mut page = ListObjectsV2::parse_response(&text).map_err(|e| {
                let message = format!("could not list \"{pattern}\": the answer is no list of objects: {e}");
                Failure::Final(Error::new(SqlState::IO_ERROR, message))
            })?;
            // Asked for, as not every key can be written in XML; servers that do not know it say nothing of it.
            if text.contains("<EncodingType>url<") {
                page.contents.iter_mut().for_each(|object| object.key = decoded(&object.key));
            }
            Ok(page)
        })
    })
}
