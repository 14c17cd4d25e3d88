//! Settings, each defined once: SET, SHOW, configuration, command-line flags and the reference come from [`SETTINGS`].

use std::collections::BTreeMap;
use std::time::Duration;

use base::Result;
use base::memory::Spread;
use base::traffic::MemoryPlacement;
use optimizer::{Costs, Search, When};
use runtime::window::Algorithm as WindowAlgorithm;
use scheduler::Division;
use sql::Isolation;
use storage::index::IndexUse;
use types::ops::date::{DateOrder, Zone};

use crate::control::ConcurrencyControl;

mod check;
mod duration;
mod memory;
mod path;
mod plans;
mod postgresql;
mod remote;

pub(crate) use memory::parse_memory;
pub(crate) use postgresql::Told;

/// A setting.
#[derive(Debug)]
pub struct Setting {
    /// Its name in SQL and in configurations.
    pub name: &'static str,
    /// What kind of value it has, and its range.
    pub kind: Kind,
    /// The default, as text; empty: worked out from the machine.
    pub default: &'static str,
    /// Whether it belongs to the database or to a session.
    pub scope: Scope,
    /// What it does.
    pub description: &'static str,
}

/// Whom a setting belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All sessions share it.
    Database,
    /// Each session has its own.
    Session,
}

/// Kinds of value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// on or off.
    Bool,
    /// A whole number within bounds.
    Integer(i64, i64),
    /// An amount of memory: `4GB`, `512 MiB`, bytes; or `none`.
    Memory,
    /// A time in milliseconds, or with a unit: `5s`, `2 min`; 0: none.
    Duration,
    /// A comma-separated list of some of these words.
    Words(fn() -> Vec<&'static str>),
    /// One of these words.
    Choice(fn() -> Vec<&'static str>),
    /// A file, or nothing.
    Path,
    /// Any text, or nothing.
    Text,
    /// The same, which is not shown to anybody.
    Secret,
    /// Numbers of rows of joins, by the names of their tables.
    JoinRows,
    /// What PostgreSQL calls DateStyle: ISO, and the order in which numbers of dates are read.
    DateStyle,
    /// A time zone: its name, or hours east of UTC.
    Zone,
    /// Names of schemas.
    Schemas,
    /// A machine: its nodes and their processors, as `4x8` or `4x8:ring`.
    Topology,
}

/// Levels of isolation, as they are written.
pub(crate) const ISOLATIONS: [(&str, Isolation); 3] = [
    ("serializable", Isolation::Serializable),
    ("repeatable read", Isolation::RepeatableRead),
    ("read committed", Isolation::ReadCommitted),
];

/// Where NULLs come, as DuckDB calls it.
const NULL_ORDERS: [&str; 4] =
    ["nulls_last_on_asc_first_on_desc", "nulls_first_on_asc_last_on_desc", "nulls_first", "nulls_last"];

/// All settings, by name.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "admission_timeout",
        kind: Kind::Duration,
        default: "10s",
        scope: Scope::Session,
        description: "Time that a query waits for memory that others use before it runs all the same; 0: none.",
    },
    Setting {
        name: "bushy_parallelism",
        kind: Kind::Bool,
        default: "off",
        scope: Scope::Session,
        description: "Run independent pipelines of a query side by side instead of one after the other, for comparisons.",
    },
    Setting {
        name: "check_function_bodies",
        kind: Kind::Bool,
        default: "on",
        scope: Scope::Session,
        description: "Look for mistakes in the body of a function when it is made; dumps set it off, as tables come later.",
    },
    Setting {
        name: "compile",
        kind: Kind::Bool,
        default: "on",
        scope: Scope::Session,
        description: "Compile queries to machine code; off: the slow reference interpreter runs them.",
    },
    Setting {
        name: "concurrency_control",
        kind: Kind::Choice(|| ConcurrencyControl::ALL.map(|(name, _)| name).to_vec()),
        default: "mvcc",
        scope: Scope::Database,
        description: "How transactions that begin are kept apart: by versions (mvcc), serial, partitioned, two_phase_locking or timestamp_ordering.",
    },
    Setting {
        name: "cost_model",
        kind: Kind::Choice(|| Costs::ALL.map(|(name, _)| name).to_vec()),
        default: "hashing",
        scope: Scope::Session,
        description: "What join orders are valued by: hashing as measured, or the rows that joins hand on (cmm).",
    },
    Setting {
        name: "datestyle",
        kind: Kind::DateStyle,
        default: "ISO, MDY",
        scope: Scope::Session,
        description: "How dates are written, which is as ISO 8601 has it, and in which order texts have day, month and year: MDY, DMY or YMD.",
    },
    Setting {
        name: "default_null_order",
        kind: Kind::Choice(|| NULL_ORDERS.to_vec()),
        default: NULL_ORDERS[0],
        scope: Scope::Session,
        description: "Where NULLs come in an ORDER BY that does not say it: PostgreSQL's order, or one of DuckDB's.",
    },
    Setting {
        name: "default_transaction_isolation",
        kind: Kind::Choice(|| ISOLATIONS.map(|(name, _)| name).to_vec()),
        default: "serializable",
        scope: Scope::Session,
        description: "How far transactions are kept from others that do not say it themselves.",
    },
    Setting {
        name: "directory_placement",
        kind: Kind::Choice(|| Spread::ALL.map(|(name, _)| name).to_vec()),
        default: "interleaved",
        scope: Scope::Session,
        description: "How tables of joins lie on the nodes of the machine.",
    },
    Setting {
        name: "disabled_passes",
        kind: Kind::Words(optimizer::pass_names),
        default: "",
        scope: Scope::Session,
        description: "Optimizer passes that are left out, for finding mistakes.",
    },
    Setting {
        name: "eager_groups",
        kind: Kind::Choice(|| When::ALL.map(|(name, _)| name).to_vec()),
        default: "worthwhile",
        scope: Scope::Session,
        description: "When rows are grouped before joins and functions of their keys: where it is worthwhile, or always where it can be done.",
    },
    Setting {
        name: "enable_external_access",
        kind: Kind::Bool,
        default: "on",
        scope: Scope::Database,
        description: "Whether SQL may read and write files; once off, it stays off.",
    },
    Setting {
        name: "http_retries",
        kind: Kind::Integer(0, 100),
        default: "3",
        scope: Scope::Session,
        description: "How often a server is asked again that does not answer, or says that it cannot now.",
    },
    Setting {
        name: "http_retry_wait",
        kind: Kind::Duration,
        default: "100ms",
        scope: Scope::Session,
        description: "Time before it is asked again; three times as long each further time.",
    },
    Setting {
        name: "http_timeout",
        kind: Kind::Duration,
        default: "30s",
        scope: Scope::Session,
        description: "Time that a server may take for an answer, and between two pieces of it.",
    },
    Setting {
        name: "index_use",
        kind: Kind::Choice(|| IndexUse::ALL.map(|(name, _)| name).to_vec()),
        default: "all",
        scope: Scope::Session,
        description: "Which indexes queries may use: all, those of primary keys and unique constraints (keys), or none.",
    },
    Setting {
        name: "join_search",
        kind: Kind::Choice(|| Search::ALL.map(|(name, _)| name).to_vec()),
        default: "exhaustive",
        scope: Scope::Session,
        description: "Which join orders are looked at: all where that is worth its time (exhaustive), or one (greedy).",
    },
    Setting {
        name: "join_tags",
        kind: Kind::Bool,
        default: "on",
        scope: Scope::Session,
        description: "Tell most misses of hash joins apart by tags in the directory; off: by their chains, for comparisons.",
    },
    Setting {
        name: "known_join_rows",
        kind: Kind::JoinRows,
        default: "",
        scope: Scope::Session,
        description: "Rows of joins that are known better than by estimates, by their tables: 'a b = 100, a b c = 7'.",
    },
    Setting {
        name: "lock_configuration",
        kind: Kind::Bool,
        default: "off",
        scope: Scope::Database,
        description: "Whether settings stay as they are; once on, this one does, too.",
    },
    Setting {
        name: "memory_limit",
        kind: Kind::Memory,
        default: "",
        scope: Scope::Database,
        description: "Memory that tables and queries may use together; by default 80% of the machine's.",
    },
    Setting {
        name: "memory_placement",
        kind: Kind::Choice(|| MemoryPlacement::ALL.map(|(name, _)| name).to_vec()),
        default: "first_touch",
        scope: Scope::Session,
        description: "Where memory is taken to lie when accesses are counted and morsels handed out, for experiments.",
    },
    Setting {
        name: "optimize",
        kind: Kind::Bool,
        default: "on",
        scope: Scope::Session,
        description: "Optimise queries; off: only what execution needs is done.",
    },
    Setting {
        name: "plan_cache_mode",
        kind: Kind::Choice(|| vec!["auto", "force_custom_plan", "force_generic_plan"]),
        default: "auto",
        scope: Scope::Session,
        description: "Whether statements that come again are run by plans that were kept (auto), or each is planned (force_custom_plan).",
    },
    Setting {
        name: "priority",
        kind: Kind::Integer(1, 10_000),
        default: "100",
        scope: Scope::Session,
        description: "Share of the workers' time that a query of this session gets beside queries of others.",
    },
    Setting {
        name: "query_history_size",
        kind: Kind::Integer(0, 10_000),
        default: "1000",
        scope: Scope::Database,
        description: "Statements that query_history() remembers.",
    },
    Setting {
        name: "query_memory_limit",
        kind: Kind::Memory,
        default: "none",
        scope: Scope::Session,
        description: "Memory that one query of this session may use.",
    },
    Setting {
        name: "s3_access_key_id",
        kind: Kind::Text,
        default: "",
        scope: Scope::Session,
        description: "Who reads buckets; empty: as AWS_ACCESS_KEY_ID says, or nobody in particular.",
    },
    Setting {
        name: "s3_endpoint",
        kind: Kind::Text,
        default: "",
        scope: Scope::Session,
        description: "The server that buckets are on, if it is not Amazon's: localhost:9000.",
    },
    Setting {
        name: "s3_region",
        kind: Kind::Text,
        default: "",
        scope: Scope::Session,
        description: "The region that buckets are in; empty: as AWS_REGION says, or us-east-1.",
    },
    Setting {
        name: "s3_secret_access_key",
        kind: Kind::Secret,
        default: "",
        scope: Scope::Session,
        description: "The secret that belongs to s3_access_key_id; it is not shown.",
    },
    Setting {
        name: "s3_session_token",
        kind: Kind::Secret,
        default: "",
        scope: Scope::Session,
        description: "The token of keys that hold for a while; it is not shown.",
    },
    Setting {
        name: "s3_url_style",
        kind: Kind::Choice(|| vec!["auto", "path", "vhost"]),
        default: "auto",
        scope: Scope::Session,
        description: "Whether addresses have the bucket in their path or in their host; auto: in the path on servers that are not Amazon's.",
    },
    Setting {
        name: "s3_use_ssl",
        kind: Kind::Bool,
        default: "on",
        scope: Scope::Session,
        description: "Whether an s3_endpoint without a scheme is asked by https.",
    },
    Setting {
        name: "search_path",
        kind: Kind::Schemas,
        default: "\"$user\", public",
        scope: Scope::Session,
        description: "Schemas in which names without a schema are looked for; what is new is in the first one.",
    },
    Setting {
        name: "statement_timeout",
        kind: Kind::Duration,
        default: "0",
        scope: Scope::Session,
        description: "Time that a statement may take until its rows are fetched: 500, 5s, 2min; 0: as long as it likes.",
    },
    Setting {
        name: "threads",
        kind: Kind::Integer(1, 1024),
        default: "",
        scope: Scope::Database,
        description: "Threads that run queries; by default the hardware threads that affinity and cgroups allow.",
    },
    Setting {
        name: "timezone",
        kind: Kind::Zone,
        default: "UTC",
        scope: Scope::Session,
        description: "Time zone in which moments (timestamptz) are read, written and taken apart: Europe/Berlin, UTC, 2.",
    },
    Setting {
        name: "topology",
        kind: Kind::Topology,
        default: "",
        scope: Scope::Database,
        description: "The machine's nodes, said when the database is opened to try machines that are not there: 4x8, 4x8:ring; by default as the system tells.",
    },
    Setting {
        name: "trace",
        kind: Kind::Path,
        default: "",
        scope: Scope::Session,
        description: "File that statements and their morsels are recorded in, for Perfetto and Chrome; empty: none.",
    },
    Setting {
        name: "window_algorithm",
        kind: Kind::Choice(|| WindowAlgorithm::ALL.map(|(name, _)| name).to_vec()),
        default: "auto",
        scope: Scope::Session,
        description: "How aggregates over frames are computed: as the frames suggest (auto), or all in one way.",
    },
    Setting {
        name: "window_fanout",
        kind: Kind::Integer(2, 128),
        default: "16",
        scope: Scope::Session,
        description: "Children of a node in the trees of window functions.",
    },
    Setting {
        name: "work_division",
        kind: Kind::Choice(|| Division::ALL.map(|(name, _)| name).to_vec()),
        default: "morsels",
        scope: Scope::Session,
        description: "How work is divided: by morsels, or in equal parts beforehand (static), for comparisons.",
    },
    Setting {
        name: "worker_limit",
        kind: Kind::Integer(0, 1024),
        default: "0",
        scope: Scope::Session,
        description: "Most workers that a query of this session has at once; 0: as many as there are.",
    },
];

/// Values of settings, of a session or for a database that is to be opened.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    values: BTreeMap<&'static str, String>,
    /// 0 where plans are made as they are for everybody; another number for each other list of values.
    plans: u64,
}

impl Settings {
    /// Sets a value of the setting of that name, or says what is wrong with either.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let setting = Setting::find(name)?;
        self.put(setting, Some(setting.check(value)?));
        Ok(())
    }
    /// Sets a checked value, or the default.
    pub(crate) fn put(&mut self, setting: &'static Setting, value: Option<String>) {
        // In UTC and with the default search path, named or not, plans are as they are for everybody.
        let is_usual = |value: &String| match setting.kind {
            Kind::Zone | Kind::DateStyle => value == setting.default,
            Kind::Schemas => path::is_default(value),
            _ => false,
        };
        match value.filter(|value| !is_usual(value)) {
            Some(value) => self.values.insert(setting.name, value),
            None => self.values.remove(setting.name),
        };
        self.plans = plans::number(&self.values);
    }
    /// They are what they were then; a trace goes on.
    pub(crate) fn restore(&mut self, then: Self) {
        let trace = self.values.remove_entry("trace");
        (self.values, self.plans) = (then.values, then.plans);
        self.values.remove("trace");
        self.values.extend(trace);
    }
    /// What is set of those of a scope, by name.
    pub(crate) fn of(&self, scope: Scope) -> impl Iterator<Item = (&'static Setting, &str)> {
        let set = |s: &'static Setting| self.values.get(s.name).map(|value| (s, value.as_str()));
        SETTINGS.iter().filter(move |s| s.scope == scope).filter_map(set)
    }
    /// The value as text.
    pub fn get(&self, setting: &'static Setting) -> &str {
        self.values.get(setting.name).map_or(setting.default, String::as_str)
    }
    /// The value, if it is not the default.
    pub(crate) fn own(&self, setting: &'static Setting) -> Option<String> {
        self.values.get(setting.name).cloned()
    }
    /// Whether a setting of that name is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        Setting::named(name).is_some_and(|s| self.get(s) == "on")
    }
    /// Whether plans are made as they are for everybody, so that those of others hold here.
    pub(crate) fn plans_as_usual(&self) -> bool {
        self.plans == 0
    }
    /// A number that is another one whenever what is planned, or how values are shown and read, may be.
    pub(crate) fn of_plans(&self) -> u64 {
        self.plans
    }
    /// How queries are optimised.
    pub(crate) fn of_optimizer(&self) -> optimizer::Settings {
        let text = |name| Setting::named(name).map_or("", |s| self.get(s));
        optimizer::Settings {
            optimize: self.is_on("optimize"),
            disabled: self.words("disabled_passes").map(String::from).collect(),
            costs: chosen(&Costs::ALL, text("cost_model")),
            search: chosen(&Search::ALL, text("join_search")),
            eager_groups: chosen(&When::ALL, text("eager_groups")),
            known: text("known_join_rows").parse().unwrap_or_default(),
        }
    }
    /// Which indexes queries may use.
    pub(crate) fn indexes(&self) -> IndexUse {
        chosen(&IndexUse::ALL, Setting::named("index_use").map_or("", |s| self.get(s)))
    }
    /// How far transactions are kept from others that do not say it themselves.
    pub(crate) fn isolation(&self) -> Isolation {
        let word = Setting::named("default_transaction_isolation").map_or("", |s| self.get(s));
        ISOLATIONS.iter().find(|(name, _)| *name == word).map_or(Isolation::Serializable, |(_, isolation)| *isolation)
    }
    /// Whether NULLs come first in an order that does not say it.
    pub(crate) fn nulls_first(&self, descending: bool) -> bool {
        let word = Setting::named("default_null_order").map_or("", |s| self.get(s));
        match NULL_ORDERS.iter().position(|order| *order == word) {
            Some(1) => !descending,
            Some(2) => true,
            Some(3) => false,
            _ => descending,
        }
    }
    /// How work is divided among workers.
    pub(crate) fn division(&self) -> Division {
        chosen(&Division::ALL, Setting::named("work_division").map_or("", |s| self.get(s)))
    }
    /// Where memory is taken to lie.
    pub(crate) fn placement(&self) -> MemoryPlacement {
        chosen(&MemoryPlacement::ALL, Setting::named("memory_placement").map_or("", |s| self.get(s)))
    }
    /// How tables of joins lie on the nodes of the machine.
    pub(crate) fn spread(&self) -> Spread {
        chosen(&Spread::ALL, Setting::named("directory_placement").map_or("", |s| self.get(s)))
    }
    /// How algorithms run.
    pub(crate) fn of_runtime(&self) -> runtime::Settings {
        let text = |name| Setting::named(name).map_or("", |s| self.get(s));
        let windows = runtime::window::Settings {
            algorithm: chosen(&WindowAlgorithm::ALL, text("window_algorithm")),
            fanout: text("window_fanout").parse().unwrap_or(16),
        };
        runtime::Settings { windows, join_tags: self.is_on("join_tags") }
    }
    /// In which order texts have the numbers of dates.
    pub(crate) fn date_order(&self) -> DateOrder {
        let style = self.values.get("datestyle").and_then(|style| style.rsplit(' ').next());
        style.and_then(|order| DateOrder::named(&order.to_lowercase())).unwrap_or_default()
    }
    /// The session's time zone.
    pub(crate) fn time_zone(&self) -> Zone {
        match self.values.get("timezone") {
            Some(name) => Zone::find(name).unwrap_or_default(),
            None => Zone::utc(),
        }
    }
    /// Where names without a schema are looked for, if that is not the default schema.
    pub(crate) fn search_path(&self) -> Option<Vec<String>> {
        self.values.get("search_path").map(|path| path::schemas(path))
    }
    /// The words of a list.
    fn words(&self, name: &str) -> impl Iterator<Item = &str> {
        let text = Setting::named(name).map_or("", |s| self.get(s));
        text.split(',').map(str::trim).filter(|w| !w.is_empty())
    }
    /// A whole number.
    pub(crate) fn number(&self, name: &str) -> u32 {
        Setting::find(name).ok().and_then(|s| self.get(s).parse().ok()).unwrap_or_default()
    }
    /// Whether a setting is not as it is by default.
    pub(crate) fn is_changed(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }
    /// A time; none if there is no limit.
    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        let time = Setting::find(name).ok().and_then(|s| duration::parse(self.get(s)))?;
        (!time.is_zero()).then_some(time)
    }
    /// An amount of memory in bytes.
    pub(crate) fn memory(&self, name: &str) -> usize {
        Setting::find(name).ok().and_then(|s| parse_memory(self.get(s))).unwrap_or(usize::MAX)
    }
}

/// What a checked word stands for.
fn chosen<T: Copy + Default>(all: &[(&str, T)], word: &str) -> T {
    all.iter().find(|(name, _)| *name == word).map_or_else(T::default, |(_, choice)| *choice)
}

#[cfg(test)]
mod tests {
    use base::SqlState;

    use super::*;

    #[test]
    fn values_are_checked_and_canonical() {
        let threads = Setting::find("threads").unwrap();
        assert_eq!(threads.check(" 4 ").unwrap(), "4");
        assert_eq!(threads.check("0").unwrap_err().state(), SqlState::INVALID_PARAMETER_VALUE);
        assert_eq!(Setting::find("compile").unwrap().check("TRUE").unwrap(), "on");
        let passes = Setting::find("disabled_passes").unwrap();
        assert_eq!(Setting::find("join_search").unwrap().check("Greedy").unwrap(), "greedy");
        let known = Setting::find("known_join_rows").unwrap();
        assert!(known.check("a b = 10, a b \"C d\" = 2.5e3").is_ok() && known.check("").is_ok());
        assert!(
            ["a b", "= 3", "a = -1", "a = x", "a = 1 b = 2", "\"a = 1"].iter().all(|text| known.check(text).is_err())
        );
        assert!(passes.check("unnest, fold").is_ok() && passes.check("").is_ok() && passes.check("nonsense").is_err());
        assert!(Setting::find("thread").unwrap_err().get_hint().unwrap().contains("threads"));
    }

    #[test]
    fn the_readme_has_every_setting_with_its_default() {
        let readme = include_str!("../../../README.md");
        for s in SETTINGS {
            let row = readme.lines().find(|l| l.starts_with(&format!("| `{}` | ", s.name)));
            assert!(row.is_some_and(|r| r.contains(s.default)), "{}: {row:?}", s.name);
        }
    }

    #[test]
    fn defaults_are_valid_and_names_sorted() {
        for s in SETTINGS.iter().filter(|s| !s.default.is_empty()) {
            assert_eq!(s.check(s.default).unwrap(), s.default);
        }
        assert!(SETTINGS.is_sorted_by_key(|s| s.name));
    }
}
