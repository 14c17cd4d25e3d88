//! Trace events as JSON: complete events ("X") with microseconds, and the names of tracks ("M").

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use base::ids::Id;
use scheduler::{Progress, Run};

/// Most characters of a statement that its span is named by.
const MOST_NAME: usize = 120;
/// Tracks that a session's open statements may have beside one another.
const LANES: u64 = 1000;

const WORKERS: u64 = 1;
const SESSIONS: u64 = 2;

/// A statement that has ended, with the times of its phases.
pub(crate) struct StatementSpans<'a> {
    pub number: u64,
    pub session: u64,
    pub text: &'a str,
    pub begin: Instant,
    pub planning: Duration,
    pub compiling: Option<Duration>,
    pub execution: Option<Duration>,
    pub total: Duration,
    pub state: &'a str,
    pub rows: u64,
}

/// Events that are yet to be written, each with a comma before it.
pub(super) struct Events {
    begin: Instant,
    text: Vec<u8>,
    /// Tracks that have a name: process and thread.
    named: BTreeSet<(u64, u64)>,
    /// Of each session, until when its tracks are taken: spans of a track may not overlap.
    lanes: BTreeMap<u64, Vec<Instant>>,
}

impl Events {
    pub fn new(begin: Instant) -> Self {
        Self { begin, text: Vec::new(), named: BTreeSet::new(), lanes: BTreeMap::new() }
    }

    /// Takes what has come.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }

    /// A worker has run a morsel, or a part of one.
    pub fn run(&mut self, query: u64, stages: &[String], run: &Run) {
        let worker = run.worker.index() as u64;
        self.track(WORKERS, worker, || format!("worker {worker}"));
        let name = stages.get(run.stage).map_or("", String::as_str);
        self.span(WORKERS, worker, "morsel", name, run.begin, run.time);
        self.number(",\"args\":{\"query\":", query);
        self.number(",\"pipeline\":", run.stage as u64);
        let rest = run.progress.and_then(Progress::rest).map_or(0, |rest| rest.len());
        self.number(",\"rows\":", run.morsel.len().saturating_sub(rest));
        match run.node {
            Some(node) => self.number(",\"node\":", u64::from(node.0)),
            None => self.text.extend(b",\"node\":null"),
        }
        self.flag(",\"remote\":", run.remote);
        self.flag(",\"stolen\":", run.stolen);
        self.flag(",\"resumed\":", run.resumed);
        self.flag(",\"yielded\":", rest > 0);
        self.text.extend(b"}}");
    }

    /// A statement has ended.
    pub fn statement(&mut self, spans: &StatementSpans<'_>) {
        let session = spans.session;
        let lane = self.lane(session, spans.begin, spans.begin + spans.total);
        let track = session * LANES + lane;
        self.track(SESSIONS, track, || match lane {
            0 => format!("session {session}"),
            _ => format!("session {session}, beside"),
        });
        let name = &spans.text[..spans.text.floor_char_boundary(MOST_NAME)];
        self.span(SESSIONS, track, "statement", name, spans.begin, spans.total);
        self.number(",\"args\":{\"query\":", spans.number);
        self.text.extend(b",\"text\":");
        self.string(spans.text);
        self.text.extend(b",\"state\":");
        self.string(spans.state);
        self.number(",\"rows\":", spans.rows);
        self.text.extend(b"}}");
        let mut from = spans.begin;
        let phases = [("plan", Some(spans.planning)), ("compile", spans.compiling), ("run", spans.execution)];
        for (name, time) in phases {
            let Some(time) = time.filter(|time| !time.is_zero()) else { continue };
            self.span(SESSIONS, track, "phase", name, from, time);
            self.number(",\"args\":{\"query\":", spans.number);
            self.text.extend(b"}}");
            from += time;
        }
    }

    /// The first track of a session that is free from then on, and is taken until then.
    fn lane(&mut self, session: u64, from: Instant, until: Instant) -> u64 {
        let lanes = self.lanes.entry(session).or_default();
        let free = lanes.iter().position(|&taken| taken <= from).unwrap_or(lanes.len());
        match lanes.get_mut(free) {
            Some(lane) => *lane = until,
            None => lanes.push(until),
        }
        (free as u64).min(LANES - 1)
    }

    /// Names a track, and its process, before its first span.
    fn track(&mut self, process: u64, thread: u64, name: impl FnOnce() -> String) {
        if !self.named.insert((process, thread)) {
            return;
        }
        let kind = if process == WORKERS { "workers" } else { "sessions" };
        for (what, name) in [("process_name", kind.to_owned()), ("thread_name", name())] {
            self.text.extend(b",\n{\"ph\":\"M\",\"name\":");
            self.string(what);
            self.number(",\"pid\":", process);
            self.number(",\"tid\":", thread);
            self.text.extend(b",\"args\":{\"name\":");
            self.string(&name);
            self.text.extend(b"}}");
        }
    }

    /// A span, all but its arguments and its last brace.
    fn span(&mut self, process: u64, thread: u64, kind: &str, name: &str, begin: Instant, time: Duration) {
        self.text.extend(b",\n{\"ph\":\"X\",\"cat\":\"");
        self.text.extend(kind.as_bytes());
        self.text.extend(b"\",\"name\":");
        self.string(name);
        self.number(",\"pid\":", process);
        self.number(",\"tid\":", thread);
        self.micros(",\"ts\":", begin.saturating_duration_since(self.begin));
        self.micros(",\"dur\":", time);
    }

    fn micros(&mut self, key: &str, time: Duration) {
        let nanos = time.as_nanos() as u64;
        self.number(key, nanos / 1000);
        let rest = nanos % 1000;
        let digit = |of: u64| b'0' + (of % 10) as u8;
        self.text.extend([b'.', digit(rest / 100), digit(rest / 10), digit(rest)]);
    }

    /// Formatted here, as it is done six times for each morsel.
    fn number(&mut self, key: &str, mut number: u64) {
        self.text.extend(key.as_bytes());
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.text.extend(&digits[at..]);
    }

    fn flag(&mut self, key: &str, flag: bool) {
        self.text.extend(key.as_bytes());
        self.text.extend(if flag { &b"true"[..] } else { b"false" });
    }

    fn string(&mut self, text: &str) {
        self.text.push(b'"');
        for byte in text.bytes() {
            match byte {
                b'"' | b'\\' => self.text.extend([b'\\', byte]),
                b'\n' => self.text.extend(b"\\n"),
                b'\t' => self.text.extend(b"\\t"),
                ..b' ' => self.text.extend(format!("\\u{byte:04x}").bytes()),
                _ => self.text.push(byte),
            }
        }
        self.text.push(b'"');
    }
}
