//! Files behind `http://`, `https://` and `s3://`, as bytes by position.
//!
//! - [`RemoteFile`] is a file that is read in blocks, which threads of the [`Client`] fetch; [`Wanted`] is some of its bytes on their
//!   way, and says when they are there.
//! - [`list`] finds the objects of a bucket that a pattern names.
//!
//! Nobody who computes waits here unless asked to: [`RemoteFile::want`] comes back at once. Nothing is known of formats or of SQL.

mod answer;
mod client;
mod file;
mod list;
mod place;
mod stream;
mod threads;

pub use client::Client;
pub use file::{RemoteFile, Wanted};
pub use list::list;
pub use place::{S3, UrlStyle, is_remote, name_of, pattern_of};
pub use stream::Stream;

use std::collections::HashMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::{Budget, CancelToken, Result};

/// Whose memory blocks are.
pub const OPERATOR: &str = "remote files";
/// How often somebody who waits looks whether that is wanted.
const LOOK: Duration = Duration::from_millis(20);

/// With what servers are asked.
#[derive(Clone, Debug)]
pub struct Access {
    /// Who asks.
    pub client: Arc<Client>,
    /// What buckets are and who may read them.
    pub s3: S3,
    /// How long a server may take for an answer, and between two pieces of it.
    pub timeout: Duration,
    /// How often it is asked again, and how long is waited before that: three times as long each time.
    pub retries: (u32, Duration),
    /// Files that have been opened and that nobody has taken yet.
    ahead: Arc<Mutex<HashMap<String, Result<RemoteFile>>>>,
}

impl Access {
    /// How this client asks servers for files.
    pub fn new(client: Arc<Client>, s3: S3, timeout: Duration, retries: (u32, Duration)) -> Self {
        Self { client, s3, timeout, retries, ahead: Arc::default() }
    }

    /// Opens a file: its first bytes come with that, all of them if the server knows no ranges. Blocks are charged to the budget.
    pub fn open(&self, path: &str, budget: Option<&Budget>, cancel: &CancelToken) -> Result<RemoteFile> {
        let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
        match ahead {
            Some(file) => file,
            None => {
                let opens = RemoteFile::opening(self, path, budget, cancel)?;
                self.client.wait_for(cancel, opens)
            }
        }
    }

    /// Opens files for those who will ask for them one after the other: many at once.
    pub fn open_ahead(&self, paths: &[&str], budget: Option<&Budget>, cancel: &CancelToken) -> Result<()> {
        let (sender, receiver) = channel();
        for path in paths {
            let opens = RemoteFile::opening(self, path, budget, cancel)?;
            let (sender, path) = (sender.clone(), (*path).to_owned());
            self.client.threads.run(move || drop(sender.send((path, opens()))));
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok((path, file)) => {
                    self.ahead.lock().unwrap_or_else(PoisonError::into_inner).insert(path, file);
                }
                Err(RecvTimeoutError::Timeout) => cancel.check()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }
}
