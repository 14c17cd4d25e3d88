//! What the database does and has done: the statements that run, and the last ones that have ended (decision 29).
//!
//! A statement is here from the call that begins it until its result has been read, has failed or is dropped. While it runs
//! nothing is copied for whoever may look: they ask its job and its budgets, which count anyway.
//!
//! Locks are held for as long as it takes to add, remove or copy handles: nobody who looks holds up a statement.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base::traffic::Traffic;
use base::{Budget, Error, Latch, SqlState};
use scheduler::{JobHandle, StageReport};

use crate::settings::Setting;
use crate::trace::{Recorder, StatementSpans, Trace};

/// Most bytes of a statement's text that are kept.
const MOST_TEXT: usize = 1024;

/// Bytes whose way back to the system is seen to once a statement is done with them.
const MUCH: usize = 8 << 20;

/// The statements of a database.
pub(crate) struct Activity {
    /// In no order.
    running: Latch<Vec<Arc<Statement>>>,
    /// The oldest first.
    ended: Latch<VecDeque<Arc<Statement>>>,
    /// How many of these are kept.
    most_ended: AtomicUsize,
    statements: AtomicU64,
    sessions: AtomicU64,
}

/// A statement that runs, or has run.
pub(crate) struct Statement {
    /// From 1; no other one of the database has it.
    pub number: u64,
    pub session: u64,
    /// Its text, or the beginning of it.
    pub text: Arc<str>,
    begin: Instant,
    started: OnceLock<i64>,
    /// When its plan was made, and when that was compiled.
    planned: Moment,
    compiled: Moment,
    /// How long it has waited for memory, and while it does, since when.
    admission: Stretch,
    /// When it had run on its client's thread, if it did.
    ran_here: Moment,
    /// Rows that the client has been given, or that were changed.
    rows: AtomicU64,
    /// The greatest part of the work that anybody was told was done, by its bits.
    furthest: AtomicU64,
    holds: Latch<Holds>,
    end: OnceLock<End>,
}

/// How long after a statement's beginning something happened to it, if it did: the first time counts. In nanoseconds, and one more.
#[derive(Default)]
struct Moment(AtomicU64);

impl Moment {
    fn is(&self, after: impl FnOnce() -> Duration) {
        if self.0.load(Relaxed) == 0 {
            self.0.store(u64::try_from(after().as_nanos()).map_or(u64::MAX, |nanos| nanos.saturating_add(1)), Relaxed);
        }
    }

    fn get(&self) -> Option<Duration> {
        self.0.load(Relaxed).checked_sub(1).map(Duration::from_nanos)
    }
}

/// Times that are added up, one of which may go on. In nanoseconds.
#[derive(Default)]
struct Stretch {
    over: AtomicU64,
    now: Moment,
}

impl Stretch {
    /// Does something that takes time, of a statement that is so old.
    fn of<T>(&self, age: impl Fn() -> Duration, work: impl FnOnce() -> T) -> T {
        let begin = age();
        self.now.is(|| begin);
        let result = work();
        let took = age().saturating_sub(begin);
        self.over.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Relaxed);
        self.now.0.store(0, Relaxed);
        result
    }

    /// All of it so far, of a statement that is so old; whether it goes on.
    fn get(&self, age: Duration) -> (Duration, bool) {
        let now = self.now.get().map(|begin| age.saturating_sub(begin));
        (Duration::from_nanos(self.over.load(Relaxed)) + now.unwrap_or_default(), now.is_some())
    }
}

/// What a statement holds as long as it runs.
#[derive(Default)]
struct Holds {
    job: Option<JobHandle>,
    budgets: Vec<Budget>,
    /// Where it is recorded, and who records its jobs.
    trace: Option<Arc<Trace>>,
    recorders: Vec<Arc<Recorder>>,
    /// Whether its morsels are to be drawn.
    pictured: bool,
}

/// How a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All of its result was read.
    Finished,
    /// Its client had no use for the rest of its result.
    Closed,
    Failed(SqlState),
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Closed => "closed",
            Self::Failed(_) => "failed",
        }
    }
}

/// What is known of a statement that has ended.
struct End {
    outcome: Outcome,
    after: Duration,
    /// None if it had no job: then what it took is known without.
    work: Option<Box<Work>>,
    peak_memory: usize,
}

/// What a statement's job has taken so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    /// Until there was memory for it, and from the hand-over to the scheduler until a worker took it up.
    pub queued: Duration,
    /// Whether no worker has taken it up yet.
    pub is_queued: bool,
    /// As long as a pipeline could not go on because the client was behind, or only the client had something left to do.
    pub waiting: Duration,
    /// Whether it waits for its client now.
    pub is_waiting: bool,
    /// Time of all workers together.
    pub busy: Duration,
    /// Rows of all sources and intermediate results that were read.
    pub rows_read: u64,
    pub morsels: u64,
    /// What was read and written.
    pub traffic: Traffic,
    pub pipelines: usize,
    pub pipelines_done: usize,
    /// The part that is done, from 0 to 1.
    pub fraction: f64,
}

/// How long the phases of a statement took, as far as it has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phases {
    pub total: Duration,
    pub planning: Duration,
    pub compiling: Option<Duration>,
    pub execution: Option<Duration>,
}

/// What is kept of a statement's text.
pub(crate) fn cut(sql: &str) -> Arc<str> {
    sql[..sql.floor_char_boundary(MOST_TEXT)].into()
}

impl Activity {
    /// Of a database that begins, which remembers so many statements.
    pub fn new(most_ended: usize) -> Self {
        Self {
            running: Latch::default(),
            ended: Latch::default(),
            most_ended: AtomicUsize::new(most_ended),
            statements: AtomicU64::new(0),
            sessions: AtomicU64::new(0),
        }
    }

    /// The number of a new session, from 1.
    pub fn new_session(&self) -> u64 {
        self.sessions.fetch_add(1, Relaxed) + 1
    }

    /// A statement begins, with a text that is [cut](cut). It ends with what this returns, at the latest.
    pub fn begin(self: &Arc<Self>, session: u64, text: Arc<str>, trace: Option<Arc<Trace>>) -> Open {
        let number = self.statements.fetch_add(1, Relaxed) + 1;
        let statement = Arc::new(Statement::new(number, session, text, trace));
        self.running.lock().push(statement.clone());
        Open { statement, activity: self.clone() }
    }

    /// The statements that run, in the order in which they began.
    pub fn running(&self) -> Vec<Arc<Statement>> {
        let mut running = self.running.lock().clone();
        running.sort_by_key(|statement| statement.number);
        running
    }

    /// Statements that have ended, in the order in which they did.
    pub fn ended(&self) -> Vec<Arc<Statement>> {
        self.ended.lock().iter().cloned().collect()
    }

    /// How many ended statements are kept.
    pub fn most_ended(&self) -> usize {
        self.most_ended.load(Relaxed)
    }

    /// Keeps so many ended statements from now on.
    pub fn set_most_ended(&self, most: usize) {
        self.most_ended.store(most, Relaxed);
        let mut ended = self.ended.lock();
        let surplus = ended.len().saturating_sub(most);
        ended.drain(..surplus);
        ended.shrink_to_fit();
    }

    fn end(&self, statement: &Arc<Statement>) {
        let mut running = self.running.lock();
        let place = running.iter().position(|other| Arc::ptr_eq(other, statement));
        let last = place.map(|place| running.swap_remove(place));
        drop(running);
        let most = self.most_ended();
        let mut ended = self.ended.lock();
        let oldest = if ended.len() >= most { ended.pop_front() } else { None };
        if most > 0 {
            ended.extend(last);
        }
        // It is freed when nobody waits for that.
        drop(ended);
        drop(oldest);
    }
}

impl Statement {
    /// Its text as others may see it.
    pub fn shown_text(&self) -> &str {
        if Setting::is_told_by(&self.text) { "(a statement that tells a secret)" } else { &self.text }
    }

    fn new(number: u64, session: u64, text: Arc<str>, trace: Option<Arc<Trace>>) -> Self {
        Self {
            number,
            session,
            text,
            begin: Instant::now(),
            started: OnceLock::new(),
            planned: Moment::default(),
            compiled: Moment::default(),
            admission: Stretch::default(),
            ran_here: Moment::default(),
            rows: AtomicU64::new(0),
            furthest: AtomicU64::new(0),
            holds: Latch::new(Holds { trace, ..Holds::default() }),
            end: OnceLock::new(),
        }
    }

    /// When it began, in microseconds since 1970-01-01 00:00 UTC, by the clock on the wall when somebody first asks.
    pub fn started(&self) -> i64 {
        *self.started.get_or_init(|| {
            let began = SystemTime::now().checked_sub(self.begin.elapsed());
            began.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map_or(0, |at| at.as_micros() as i64)
        })
    }

    /// What a session works for that has had no statement yet.
    pub fn none() -> Arc<Self> {
        Arc::new(Self::new(0, 0, Arc::default(), None))
    }

    /// Its plan is made; the first time counts.
    pub fn planned(&self) {
        self.planned.is(|| self.begin.elapsed());
    }

    /// Its plan is compiled, or needed no compiling, and runs from now on.
    pub fn compiled(&self) {
        if self.compiled.get().is_none() {
            let now = self.begin.elapsed();
            self.planned.is(|| now);
            self.compiled.is(|| now);
        }
    }

    /// Its plan was there, and is run as it is: that takes no look at the clock.
    pub fn needs_no_code(&self) {
        let nothing = || self.planned.get().unwrap_or_default();
        self.planned.is(nothing);
        self.compiled.is(nothing);
    }

    /// It waits for memory that others have.
    pub fn is_admitted<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.admission.of(|| self.begin.elapsed(), wait)
    }

    /// What it makes is charged to this.
    pub fn charges(&self, budget: &Budget) {
        if self.end.get().is_none() {
            self.holds.lock().budgets.push(budget.clone());
        }
    }

    /// It has given a job to the scheduler.
    pub fn runs(&self, job: &JobHandle) {
        self.compiled();
        self.holds.lock().job = Some(job.clone());
    }

    /// The morsels of its jobs from now on are to be drawn.
    pub fn picture(&self) {
        self.holds.lock().pictured = true;
    }

    pub fn is_pictured(&self) -> bool {
        self.holds.lock().pictured
    }

    /// Who has recorded its jobs so far.
    pub fn recorders(&self) -> Vec<Arc<Recorder>> {
        self.holds.lock().recorders.clone()
    }

    /// A job of it is recorded.
    pub fn is_recorded_by(&self, recorder: Arc<Recorder>) {
        if self.end.get().is_none() {
            self.holds.lock().recorders.push(recorder);
        }
    }

    /// It has run, on its client's thread.
    pub fn ran_here(&self) {
        self.ran_here.is(|| self.begin.elapsed());
    }

    /// It has given so many rows to its client, or changed them.
    pub fn has_rows(&self, rows: u64) {
        self.rows.store(rows, Relaxed);
    }

    pub fn rows(&self) -> u64 {
        self.rows.load(Relaxed)
    }

    /// How it ended; none while it runs.
    pub fn outcome(&self) -> Option<Outcome> {
        self.end.get().map(|end| end.outcome)
    }

    /// Bytes that are charged to it now, and the most that any of its budgets has had at once.
    pub fn memory(&self) -> (usize, usize) {
        match self.end.get() {
            Some(end) => (0, end.peak_memory),
            None => self.holds.lock().memory(),
        }
    }

    /// Bytes that are charged to it now, by operator.
    pub fn holders(&self) -> Vec<(&'static str, usize)> {
        let budgets = self.holds.lock().budgets.clone();
        let mut sums: Vec<(&'static str, usize)> = Vec::new();
        for (operator, bytes) in budgets.iter().flat_map(Budget::holders) {
            match sums.iter_mut().find(|(known, _)| *known == operator) {
                Some((_, sum)) => *sum += bytes,
                None => sums.push((operator, bytes)),
            }
        }
        sums
    }

    /// The scheduler's number of the job that it has given it last.
    pub fn job_number(&self) -> Option<u64> {
        self.holds.lock().job.as_ref().map(JobHandle::number)
    }

    /// How long its phases took so far.
    pub fn phases(&self) -> Phases {
        let total = self.end.get().map_or_else(|| self.begin.elapsed(), |end| end.after);
        let planned = self.planned.get();
        let compiled = self.compiled.get();
        Phases {
            total,
            planning: planned.unwrap_or(total),
            compiling: planned.map(|planned| compiled.unwrap_or(total).saturating_sub(planned)),
            execution: compiled.map(|compiled| total.saturating_sub(compiled)),
        }
    }

    /// What it has taken so far; nothing of what is done on its client's thread.
    pub fn work(&self) -> Work {
        if let Some(end) = self.end.get() {
            return end.work.as_deref().copied().unwrap_or_else(|| self.work_of(None, end.after));
        }
        let job = self.holds.lock().job.clone();
        self.work_of(job.as_ref(), self.begin.elapsed())
    }

    /// Its pipelines, while it runs.
    pub fn pipelines(&self) -> Vec<StageReport> {
        let job = self.holds.lock().job.clone();
        job.map_or_else(Vec::new, |job| job.report())
    }

    fn work_of(&self, job: Option<&JobHandle>, now: Duration) -> Work {
        let (waited, waits) = self.admission.get(now);
        let work = self.work_of_job(job, now, waited);
        Work { queued: work.queued + waited, is_queued: work.is_queued || waits, ..work }
    }

    /// The same of a statement that has waited so long before its job was there.
    fn work_of_job(&self, job: Option<&JobHandle>, now: Duration, waited: Duration) -> Work {
        let Some(job) = job else {
            return self.ran_here.get().map_or_else(Work::default, |ran| Work {
                waiting: now.saturating_sub(ran),
                is_waiting: true,
                fraction: 1.0,
                ..Work::default()
            });
        };
        let (progress, times, stages) = (job.progress(), job.times(), job.report());
        // When it was handed over.
        let from = self.compiled.get().unwrap_or_default() + waited;
        let after_its_end = times.total.map_or(Duration::ZERO, |total| now.saturating_sub(from + total));
        // The bits of numbers that are not negative are in the numbers' order.
        let fraction = progress.fraction();
        let before = f64::from_bits(self.furthest.fetch_max(fraction.to_bits(), Relaxed));
        Work {
            queued: times.queued.unwrap_or(now.saturating_sub(from)),
            is_queued: times.queued.is_none() && times.total.is_none(),
            waiting: times.held_up + after_its_end,
            is_waiting: times.is_held_up || times.total.is_some(),
            busy: stages.iter().map(|stage| stage.busy).sum(),
            rows_read: progress.rows,
            morsels: progress.morsels,
            traffic: stages.iter().fold(Traffic::default(), |sum, stage| sum + stage.traffic),
            pipelines: progress.total_stages,
            pipelines_done: progress.stages,
            fraction: fraction.max(before),
        }
    }
}

impl Holds {
    fn memory(&self) -> (usize, usize) {
        let used = self.budgets.iter().map(Budget::used).sum();
        let peak = self.budgets.iter().map(Budget::peak).max().unwrap_or(0);
        (used, peak)
    }
}

impl Holds {
    /// Writes what was recorded of a statement that has ended.
    fn write_trace(&self, statement: &Statement) {
        let Some(trace) = &self.trace else { return };
        self.recorders.iter().for_each(|recorder| recorder.write());
        let Phases { total, planning, compiling, execution } = statement.phases();
        trace.statement(&StatementSpans {
            number: statement.number,
            session: statement.session,
            text: statement.shown_text(),
            begin: statement.begin,
            planning,
            compiling,
            execution,
            total,
            state: statement.outcome().map_or("", Outcome::name),
            rows: statement.rows(),
        });
    }
}

/// A statement whose end is still to come: whoever has its result has this.
pub(crate) struct Open {
    statement: Arc<Statement>,
    activity: Arc<Activity>,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Open({})", self.statement.number)
    }
}

impl Open {
    pub fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    /// The statement has failed.
    pub fn fail(&self, error: &Error) {
        self.end(Outcome::Failed(error.state()));
    }

    /// The statement has ended; the first time counts.
    pub fn end(&self, outcome: Outcome) {
        let statement = &self.statement;
        if statement.end.get().is_some() {
            return;
        }
        let after = statement.begin.elapsed();
        let holds = std::mem::take(&mut *statement.holds.lock());
        let work = holds.job.as_ref().map(|job| Box::new(statement.work_of(Some(job), after)));
        let peak_memory = holds.memory().1;
        if peak_memory >= MUCH {
            base::memory::look_soon();
        }
        let end = End { outcome, after, work, peak_memory };
        if statement.end.set(end).is_ok() {
            self.activity.end(statement);
            holds.write_trace(statement);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.end(Outcome::Closed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_that_ended_are_kept() {
        let activity = Arc::new(Activity::new(2));
        let numbers = |activity: &Activity| activity.ended().iter().map(|s| s.number).collect::<Vec<_>>();
        let first = activity.begin(activity.new_session(), cut("first"), None);
        let running = activity.running();
        assert_eq!((running.len(), &*running[0].text, running[0].outcome()), (1, "first", None));
        for _ in 0..3 {
            activity.begin(1, cut("next"), None).end(Outcome::Finished);
        }
        assert_eq!(numbers(&activity), [3, 4]);
        drop(first);
        assert!(activity.running().is_empty());
        assert_eq!(numbers(&activity), [4, 1]);
        assert_eq!(activity.ended()[1].outcome(), Some(Outcome::Closed));
        activity.set_most_ended(1);
        assert_eq!(numbers(&activity), [1]);
        activity.set_most_ended(0);
        activity.begin(1, cut("unseen"), None).end(Outcome::Finished);
        assert!(numbers(&activity).is_empty());
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let activity = Arc::new(Activity::new(1));
        let open = activity.begin(1, cut(&"ü".repeat(MOST_TEXT)), None);
        assert_eq!(open.statement().text.len(), MOST_TEXT);
        let open = activity.begin(1, cut(&format!("x{}", "ü".repeat(MOST_TEXT))), None);
        assert_eq!(open.statement().text.len(), MOST_TEXT - 1);
    }

    #[test]
    fn phases_follow_one_another() {
        let open = Arc::new(Activity::new(1)).begin(1, cut("select 1"), None);
        let statement = open.statement();
        assert!(statement.phases().compiling.is_none() && statement.phases().execution.is_none());
        statement.planned();
        assert!(statement.phases().compiling.is_some() && statement.phases().execution.is_none());
        statement.compiled();
        open.end(Outcome::Failed(SqlState::DIVISION_BY_ZERO));
        let Phases { total, planning, compiling, execution } = statement.phases();
        assert_eq!(planning + compiling.unwrap() + execution.unwrap(), total);
    }
}
