//! Answers of servers: which version of a file they are of, which of its bytes they have, and these, block by block.

use std::io::Read;
use std::ops::Range;

use base::{Error, Result, SqlState};
use bytes::Bytes;
use ureq::Body;
use ureq::http::{HeaderMap, Response};

use crate::client::{Failure, header, unreachable};

/// Bytes of a block.
pub(crate) const BLOCK: u64 = 256 << 10;

/// What tells a file from what comes in its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    /// If it is a strong one: two answers that have it are of the same bytes.
    pub tag: Option<String>,
    modified: Option<String>,
}

impl Version {
    pub fn of(headers: &HeaderMap) -> Self {
        let tag = header(headers, "etag").filter(|tag| !tag.starts_with("W/"));
        Self { tag: tag.map(str::to_owned), modified: header(headers, "last-modified").map(str::to_owned) }
    }

    /// Whether an answer is of another version, as far as one can tell.
    pub fn differs(&self, other: &Self) -> bool {
        match (&self.tag, &other.tag) {
            (Some(own), Some(others)) => own != others,
            _ => self.modified.is_some() && other.modified.is_some() && self.modified != other.modified,
        }
    }
}

/// The bytes that an answer has, and how many the file has, by its `Content-Range`.
pub(crate) fn content_range(headers: &HeaderMap) -> Option<(Range<u64>, u64)> {
    let (range, len) = header(headers, "content-range")?.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, len) = (first.parse().ok()?, last.parse::<u64>().ok()?, len.parse().ok()?);
    (first <= last && last < len).then_some((first..last + 1, len))
}

/// Reads blocks of an answer.
pub(crate) fn read_blocks(
    answer: Response<Body>,
    name: &str,
    numbers: Range<u64>,
    bytes_of: &dyn Fn(u64) -> usize,
    is_wanted: &dyn Fn() -> bool,
    take: &mut dyn FnMut(u64, Bytes) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if header(answer.headers(), "content-encoding").is_some_and(|by| !by.eq_ignore_ascii_case("identity")) {
        let message = format!("could not read file \"{name}\": the server sends it compressed");
        return Err(Failure::Final(Error::new(SqlState::IO_ERROR, message)));
    }
    let mut body = answer.into_body().into_with_config().limit(u64::MAX).reader();
    for number in numbers {
        let mut block = vec![0; bytes_of(number)];
        let mut have = 0;
        while have < block.len() {
            if !is_wanted() {
                return Err(Failure::Final(base::cancel::canceled()));
            }
            match body.read(&mut block[have..]) {
                Ok(0) => return Err(broken(name, &"the answer ends early")),
                Ok(read) => have += read,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(unreachable(name, &ureq::Error::from(e))),
            }
        }
        take(number, block.into())?;
    }
    Ok(())
}

#[cold]
pub(crate) fn broken(name: &str, what: &dyn std::fmt::Display) -> Failure {
    Failure::Passing(Error::new(SqlState::IO_ERROR, format!("could not read file \"{name}\": {what}")))
}

/// Reads a file that comes whole: how many bytes there were.
pub(crate) fn read_whole(
    answer: Response<Body>,
    name: &str,
    is_wanted: &dyn Fn() -> bool,
    take: &mut dyn FnMut(u64, Bytes) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let told: Option<u64> = header(answer.headers(), "content-length").and_then(|len| len.parse().ok());
    if let Some(len) = told {
        let bytes_of = |number: u64| BLOCK.min(len - number * BLOCK) as usize;
        read_blocks(answer, name, 0..len.div_ceil(BLOCK), &bytes_of, is_wanted, take)?;
        return Ok(len);
    }
    let mut body = answer.into_body().into_with_config().limit(u64::MAX).reader();
    let mut len = 0;
    for number in 0.. {
        if !is_wanted() {
            return Err(Failure::Final(base::cancel::canceled()));
        }
        let mut block = Vec::new();
        let read = (&mut body).take(BLOCK).read_to_end(&mut block);
        read.map_err(|e| unreachable(name, &ureq::Error::from(e)))?;
        len += block.len() as u64;
        let is_last = (block.len() as u64) < BLOCK;
        if !block.is_empty() {
            take(number, block.into())?;
        }
        if is_last {
            break;
        }
    }
    Ok(len)
}
