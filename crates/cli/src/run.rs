//! Running one statement: it starts in a thread of its own, while this one shows its progress.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use base::Result;
use engine::{Call, QueryResult, Session};
use indicatif::{ProgressBar, ProgressStyle};
use types::Chunk;

/// A query that takes longer shows its progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// A statement's progress on the terminal, once it has taken long.
pub struct Watch {
    begin: Instant,
    bar: Option<ProgressBar>,
    terminal: bool,
}

impl Watch {
    /// Starts the clock of a statement.
    pub fn new() -> Self {
        Self { begin: Instant::now(), bar: None, terminal: std::io::stderr().is_terminal() }
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Nothing may be printed below the bar: it goes.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn step(&mut self, progress: Option<engine::Progress>) {
        if !self.terminal || self.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(1000).with_elapsed(self.begin.elapsed());
            bar.set_style(style("{spinner} {elapsed} {msg}"));
            bar
        });
        match progress {
            Some(progress) if progress.fraction > 0.0 => {
                bar.set_style(style("{bar:40} {percent:>3}% {elapsed} {msg}"));
                bar.set_position((progress.fraction * 1000.0) as u64);
                if progress.rows > 0 {
                    bar.set_message(format!("{} rows read", grouped(progress.rows)));
                }
            }
            _ => bar.tick(),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸ ")
}

/// Starts the statement. What runs as a whole (CREATE TABLE AS, COPY, INSERT) has ended when this returns.
pub fn start(session: &mut Session, call: &Call, sql: &str, watch: &mut Watch) -> Result<QueryResult> {
    engine::foreground(|| session.execute_in(call, sql, &[]), || watch.step(call.progress()))
}

/// The next rows; none at the end.
pub fn next(result: &mut QueryResult, watch: &mut Watch) -> Result<Option<Chunk>> {
    engine::next_chunk(result, |result| watch.step(Some(result.progress())))
}

/// A number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A time as people read it.
pub fn readable(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1000.0)
    } else if seconds < 120.0 {
        format!("{seconds:.3} s")
    } else {
        format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_readable() {
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(readable(Duration::from_micros(1540)), "1.5 ms");
        assert_eq!(readable(Duration::from_millis(2500)), "2.500 s");
        assert_eq!(readable(Duration::from_secs(150)), "2 min 30 s");
    }
}
