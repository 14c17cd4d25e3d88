//! A file on a server as a stream.

use std::io::Read;

use base::CancelToken;

use crate::answer::BLOCK;
use crate::file::{RUN, RemoteFile, Wanted};

/// A file from its beginning to its end, fetched ahead.
pub struct Stream {
    file: RemoteFile,
    at: u64,
    /// What is there or comes, and where that ends.
    ahead: Option<(Wanted, Option<Wanted>, u64)>,
    cancel: CancelToken,
}

impl Stream {
    /// All of a file.
    pub fn new(file: RemoteFile, cancel: CancelToken) -> Self {
        Self { file, at: 0, ahead: None, cancel }
    }
}

impl Read for Stream {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        const AHEAD: u64 = BLOCK * RUN as u64;
        let now = (room.len() as u64).min(self.file.len() - self.at) as usize;
        if now == 0 {
            return Ok(0);
        }
        if self.ahead.as_ref().is_none_or(|(_, _, end)| *end <= self.at) {
            let range = |from: u64| from.min(self.file.len())..(from + AHEAD).min(self.file.len());
            let here = match self.ahead.take() {
                Some((_, Some(next), _)) => next,
                _ => self.file.want(std::iter::once(range(self.at)), false).map_err(std::io::Error::other)?,
            };
            let end = range(self.at).end;
            // Without memory for more, there is no more than is needed.
            let next = self.file.want(std::iter::once(range(end)), false).ok();
            here.wait(&self.cancel).map_err(std::io::Error::other)?;
            self.ahead = Some((here, next, end));
        }
        let end = self.ahead.as_ref().map_or(self.at, |(_, _, end)| *end);
        let now = now.min((end - self.at) as usize);
        self.file.read_into(self.at, &mut room[..now], &self.cancel).map_err(std::io::Error::other)?;
        self.at += now as u64;
        Ok(now)
    }
}
