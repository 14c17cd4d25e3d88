//! The database: what all sessions share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use base::{Budget, Result};
use catalog::Catalog;
use codegen::CodeCache;
use io::FileSource;
use io::parquet_in::Footers;
use scheduler::{Scheduler, SchedulerOptions, Topology};
use storage::transaction::Clock;

use crate::activity::Activity;
use crate::admission::Admission;
use crate::control::Control;
use crate::kept::plans::KeptPlans;
use crate::samples::Samples;
use crate::settings::{Scope, Settings};
use crate::timeouts::Timeouts;
use crate::trace::{Trace, Traces};

/// What the code cache holds at most: bytes of machine code, and programs.
const CODE_BYTES: usize = 64 << 20;
const CODE_PROGRAMS: usize = 1024;

/// Ended statements that are remembered unless somebody says otherwise.
pub(crate) const HISTORY: usize = 1000;

/// How a database is set up.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Threads that run queries; none: the hardware threads that affinity and cgroups allow.
    pub threads: Option<usize>,
    /// Bytes that tables and queries may use together; none: 80% of the machine's memory.
    pub memory_limit: Option<usize>,
    /// Settings as text, of the database and for its sessions to begin with.
    pub settings: Settings,
    /// The nodes of the machine; none: as the system tells. A description tries queries on machines that are not there.
    pub topology: Option<Topology>,
    /// Rows of a morsel; none: as many as take about a millisecond. Results do not depend on it, which tests try.
    pub morsel_rows: Option<u64>,
    /// How long a morsel runs before others get a turn; none: a millisecond.
    pub slice: Option<Duration>,
    /// Steps within a batch (candidates of joins) between two looks at the clock; none: some thousand. Tests make them few.
    pub steps: Option<u64>,
}

/// A database in main memory. Cheap to clone; it goes when its last clone, session and result go.
#[derive(Clone, Debug)]
pub struct Database(pub(crate) Arc<Shared>);

/// What sessions share.
pub(crate) struct Shared {
    pub catalog: Catalog,
    pub scheduler: Scheduler,
    /// The order of commits.
    pub clock: Arc<Clock>,
    /// How transactions are kept apart.
    pub control: Arc<Control>,
    pub budget: Budget,
    pub code: CodeCache,
    pub kept: KeptPlans,
    pub activity: Arc<Activity>,
    pub traces: Traces,
    /// What sessions write from their beginning.
    pub first_trace: OnceLock<Arc<Trace>>,
    /// Of files that were read lately.
    pub samples: Arc<Samples>,
    /// Likewise.
    pub footers: Arc<Footers>,
    /// Queries by the memory that they need.
    pub admission: Arc<Admission>,
    /// Of statements.
    pub timeouts: Timeouts,
    /// Data frames of the host language by name.
    pub frames: Mutex<HashMap<String, Arc<dyn FileSource>>>,
    /// Who asks servers for files.
    pub remote: Arc<io::Client>,
    /// What sessions begin with.
    pub session_settings: Settings,
    /// The machine as the settings have described it, or nothing.
    pub topology: String,
    /// Whether files are closed to SQL, and settings to all; neither is ever undone.
    closed: AtomicBool,
    locked: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Database")
    }
}

impl Drop for Shared {
    /// Nobody comes back for the memory of its queries.
    fn drop(&mut self) {
        base::memory::expect_nobody();
    }
}

impl Database {
    /// An empty database, to which its settings still have to be applied.
    pub(crate) fn bare(config: &Config) -> Result<Self> {
        let mut session_settings = Settings::default();
        config.settings.of(Scope::Session).for_each(|(s, value)| session_settings.put(s, Some(value.to_string())));
        let threads = config.settings.of(Scope::Database).find(|(s, _)| s.name == "threads");
        let threads = config.threads.or_else(|| threads?.1.parse().ok());
        let topology = config.settings.of(Scope::Database).find(|(s, _)| s.name == "topology");
        let topology = topology.map_or_else(String::new, |(_, text)| text.to_string());
        let described = if topology.is_empty() { None } else { Some(Topology::parse(&topology)?) };
        let usual = SchedulerOptions::default();
        let options = SchedulerOptions {
            threads,
            topology: config.topology.clone().or(described),
            morsel_rows: config.morsel_rows.unwrap_or(usual.morsel_rows),
            adapts: config.morsel_rows.is_none(),
            slice: config.slice.unwrap_or(usual.slice),
            steps: config.steps.unwrap_or(usual.steps),
            ..usual
        };
        let budget = Budget::new(config.memory_limit.unwrap_or_else(default_memory));
        Ok(Self(Arc::new(Shared {
            catalog: Catalog::new(),
            scheduler: Scheduler::new(&options)?,
            clock: Arc::default(),
            control: Arc::default(),
            budget: budget.clone(),
            code: CodeCache::new(CODE_BYTES, CODE_PROGRAMS),
            kept: KeptPlans::default(),
            activity: Arc::new(Activity::new(HISTORY)),
            traces: Traces::default(),
            first_trace: OnceLock::new(),
            samples: Arc::new(Samples::new(budget.clone())),
            footers: Arc::new(Footers::new(budget)),
            admission: Arc::default(),
            timeouts: Timeouts::default(),
            frames: Mutex::default(),
            remote: Arc::default(),
            session_settings,
            topology,
            closed: AtomicBool::new(false),
            locked: AtomicBool::new(false),
        })))
    }

    /// Makes a data frame usable in FROM until it is replaced or [removed](Self::remove_frame). Tables come first.
    pub fn register_frame(&self, name: &str, frame: Arc<dyn FileSource>) {
        self.0.frames.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_string(), frame);
    }

    /// Forgets a data frame.
    pub fn remove_frame(&self, name: &str) {
        self.0.frames.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// Bytes that tables and running queries use.
    pub fn memory_used(&self) -> usize {
        self.0.budget.used()
    }

    /// How many statements ran by a plan that was kept of an earlier one: neither parsed nor planned.
    pub fn runs_of_kept_plans(&self) -> u64 {
        self.0.kept.runs()
    }

    /// Whether SQL may read and write files, and see more of its host than what was registered.
    pub fn has_external_access(&self) -> bool {
        !self.0.is_closed()
    }

    /// Threads that run queries.
    pub fn threads(&self) -> usize {
        self.0.scheduler.threads()
    }
}

impl Shared {
    /// What a transaction begins with.
    pub fn keeping_apart(&self) -> (&Arc<Clock>, &Arc<Control>) {
        (&self.clock, &self.control)
    }
    /// Whether files are closed to SQL.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
    /// Closes files to SQL.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }
    /// Whether no setting can be changed.
    pub fn is_locked(&self) -> bool {
        self.locked.load(Ordering::Relaxed)
    }
    /// Keeps all settings as they are.
    pub fn lock(&self) {
        self.locked.store(true, Ordering::Relaxed);
    }

    pub fn frame(&self, name: &str) -> Option<Arc<dyn FileSource>> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

/// 80% of the memory that the machine, or the control group, has.
pub(crate) fn default_memory() -> usize {
    let number = |path: &str| std::fs::read_to_string(path).ok().and_then(|t| t.trim().parse::<u64>().ok());
    let group = number("/sys/fs/cgroup/memory.max").or_else(|| number("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let kib = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
        kib.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|k| k << 10)
    });
    let all = group.into_iter().chain(machine).min().unwrap_or(u64::MAX);
    usize::try_from(all / 5 * 4).unwrap_or(usize::MAX)
}
