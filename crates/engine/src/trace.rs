//! `SET trace = 'file'`: what statements and workers did when, as Chrome's trace events, which Perfetto opens (decision 29).
//!
//! A span of the process "workers" is a run of a morsel, one of "sessions" a statement, in which its planning, compiling and
//! running lie.
//!
//! Invariant: between two writes the file is a JSON array, whatever ends the process. The bracket that closes it is written over
//! by what comes next.

mod events;
mod picture;
mod recorder;

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use base::{Error, Result, SqlState};
use scheduler::Run;

use events::Events;
pub(crate) use events::StatementSpans;
pub(crate) use picture::Picture;
pub(crate) use recorder::Recorder;

/// What ends the file.
const END: &[u8] = b"\n]\n";

/// A trace that is written. Sessions that name the same file share it; it is complete when the last of them has left.
pub(crate) struct Trace {
    /// Device and number of the file.
    identity: (u64, u64),
    out: Mutex<Out>,
}

struct Out {
    file: File,
    /// Where what ends it stands.
    end: u64,
    events: Events,
    /// Why there will be no more.
    error: Option<Error>,
}

/// The traces of a database.
#[derive(Default)]
pub(crate) struct Traces(Mutex<Vec<Weak<Trace>>>);

impl Traces {
    /// The trace in this file: one that is being written, or a new one in the place of what the file holds.
    pub fn open(&self, file: File) -> Result<Arc<Trace>> {
        let identity = file.metadata().map(|m| (m.dev(), m.ino())).map_err(|e| failed(&e))?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|trace| trace.strong_count() > 0);
        if let Some(known) = all.iter().filter_map(Weak::upgrade).find(|trace| trace.identity == identity) {
            return Ok(known);
        }
        let trace = Arc::new(Trace::new(file, identity)?);
        all.push(Arc::downgrade(&trace));
        Ok(trace)
    }
}

impl Trace {
    fn new(file: File, identity: (u64, u64)) -> Result<Self> {
        let begin = file.set_len(0).and_then(|()| file.write_all_at(b"[", 0)).and_then(|()| file.write_all_at(END, 1));
        begin.map_err(|e| failed(&e))?;
        let out = Out { file, end: 1, events: Events::new(Instant::now()), error: None };
        Ok(Self { identity, out: Mutex::new(out) })
    }

    /// Why nothing more is written, if that is so.
    pub fn error(&self) -> Option<Error> {
        self.lock().error.clone()
    }

    /// A statement has ended.
    pub fn statement(&self, spans: &StatementSpans<'_>) {
        let mut out = self.lock();
        out.events.statement(spans);
        out.write();
    }

    /// A worker has run these, of a query whose stages have these names.
    fn runs(out: &mut Out, query: u64, stages: &[String], runs: &[Run]) {
        runs.iter().for_each(|run| out.events.run(query, stages, run));
        out.write();
    }

    fn lock(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Out {
    /// Writes the events that have come, and what ends the file, at once.
    fn write(&mut self) {
        let bytes = self.events.take();
        if self.error.is_some() || bytes.is_empty() {
            return;
        }
        // The first event has no other one before it.
        let bytes = if self.end == 1 { &bytes[1..] } else { &bytes[..] };
        let text = [bytes, END].concat();
        match self.file.write_all_at(&text, self.end) {
            Ok(()) => self.end += bytes.len() as u64,
            Err(error) => {
                self.error = Some(failed(&error));
                // What is there of the last write is no event.
                let _ = self.file.set_len(self.end).and_then(|()| self.file.write_all_at(END, self.end));
            }
        }
    }
}

#[cold]
fn failed(error: &std::io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("could not write the trace: {error}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn spans(text: &str) -> StatementSpans<'_> {
        let time = Duration::from_micros(10);
        StatementSpans {
            number: 1,
            session: 1,
            text,
            begin: Instant::now(),
            planning: time,
            compiling: None,
            execution: None,
            total: time,
            state: "finished",
            rows: 0,
        }
    }

    #[test]
    fn the_file_is_complete_after_each_write_and_shared_by_who_names_it() {
        let path = std::env::temp_dir().join(format!("engine-trace-{}", std::process::id()));
        let open = || File::options().write(true).create(true).truncate(false).open(&path).unwrap();
        let text = || std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, "what was there before, which is longer than what comes").unwrap();
        let traces = Traces::default();
        let trace = traces.open(open()).unwrap();
        assert_eq!(text(), "[\n]\n");
        trace.statement(&spans("select '\"\\\n'"));
        let first = text();
        assert!(first.starts_with("[\n{") && first.ends_with("}\n]\n"), "{first}");
        assert!(first.contains(r#"select '\"\\\n'"#), "{first}");
        assert!(Arc::ptr_eq(&trace, &traces.open(open()).unwrap()));
        trace.statement(&spans("select 2"));
        assert!(text().starts_with(first.trim_end_matches("\n]\n")) && text().ends_with("}\n]\n"));
        drop(trace);
        // The last has left: it begins anew.
        let _next = traces.open(open()).unwrap();
        assert_eq!(text(), "[\n]\n");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_write_that_fails_ends_the_trace_and_nothing_else() {
        let path = std::env::temp_dir().join(format!("engine-trace-failing-{}", std::process::id()));
        std::fs::write(&path, "").unwrap();
        let trace = Trace::new(File::options().write(true).open(&path).unwrap(), (0, 0)).unwrap();
        trace.lock().file = File::open(&path).unwrap();
        trace.statement(&spans("select 1"));
        trace.statement(&spans("select 2"));
        assert_eq!(trace.error().unwrap().state(), SqlState::IO_ERROR);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[\n]\n");
        std::fs::remove_file(&path).unwrap();
    }
}
