//! Statements whose phases outside of morsels take long: planning, compiling, opening files, functions of long texts. Each time they
//! are others, so that no plan and no code is known.

use std::path::{Path, PathBuf};
use std::process::Command;

use base::{Error, Result};

/// A statement, by a number that is another one each time, and the folder of its files.
type Make = fn(usize, &Path) -> String;

/// By name. Over TPC-H's tables.
pub(super) const PHASES: &[(&str, Make)] = &[
    ("800 aggregates", |n, _| {
        format!(
            "select {} from lineitem",
            list(800 + n, |i| format!("sum(l_quantity + {i}), min(l_partkey % {})", i + 1))
        )
    }),
    ("1,600 expressions", |n, _| {
        format!("select {} from lineitem", list(1600 + n, |i| format!("l_partkey * {i} + l_suppkey % {}", i + 1)))
    }),
    ("1,000 unions", |n, _| {
        let selects = (0..1000 + n).map(|i| format!("select {i} + n_nationkey from nation where n_regionkey = {i}"));
        selects.collect::<Vec<_>>().join(" union all ")
    }),
    ("250 left joins", |n, _| {
        let joins = (0..250 + n).map(|i| format!(" left join nation n{i} on n{i}.n_nationkey = r_regionkey + {i}"));
        format!("select count(*) from region{}", joins.collect::<String>())
    }),
    ("40 subqueries of 40 tables", |n, _| {
        let table = |i: usize| format!("nation t{i}");
        let equal = |i: usize| format!("t{i}.n_nationkey = t{}.n_regionkey", i + 1);
        let conditions = (0..39).map(equal).collect::<Vec<_>>().join(" and ");
        let subquery = |i: usize| {
            format!(
                "(select count(*) c from {} where {conditions} and t0.n_nationkey < {}) s{i}",
                list(40, table),
                i + n
            )
        };
        format!("select * from {}", list(40, subquery))
    }),
    ("a pipe that nobody writes to", |_, f| format!("select * from read_csv('{}')", f.join("pipe").display())),
    ("a large tree of files", |_, _| "select count(*) from glob('/usr/share/**/*.none')".into()),
    ("a header of 30,000 columns", |n, f| format!("select {n}, c7 from read_csv('{}')", f.join("wide.csv").display())),
    ("LIKE with many wildcards", |n, _| format!("select repeat('ab{n}', 1000000) like '%{}c'", "a%b%".repeat(30))),
    ("replace of a long text", |n, _| {
        format!("select length(replace(replace(repeat('a', {}), 'a', 'bbbbbbbb'), 'b', 'cccccccc'))", 3_000_000 + n)
    }),
    ("a pattern of long texts", |n, _| {
        format!("select regexp_replace(repeat('ab', {}), 'a+b', 'c', 'g') = ''", 3_000_000 + n)
    }),
];

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(", ")
}

/// A folder with the files that statements read, which goes when this does.
pub(super) struct Files(pub(super) PathBuf);

impl Files {
    pub(super) fn new() -> Result<Self> {
        let files = Self(std::env::temp_dir().join(format!("morsel-cancel-{}", std::process::id())));
        files.make().map_err(|error| Error::internal(error.to_string()))?;
        Ok(files)
    }

    fn make(&self) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.0)?;
        Command::new("mkfifo").arg(self.0.join("pipe")).status()?;
        let row = |item: fn(usize) -> String| (0..30_000).map(item).collect::<Vec<_>>().join(",");
        std::fs::write(self.0.join("wide.csv"), row(|i| format!("c{i}")) + "\n" + &row(|i| i.to_string()) + "\n")
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // It is in the folder for what may be forgotten.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
