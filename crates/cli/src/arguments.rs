//! The command line.

use clap::Parser;

use crate::render::Mode;

/// MorselDB's shell: SQL on tables in memory and on CSV and Parquet files.
#[derive(Parser, Debug)]
#[command(
    name = "morsel",
    version,
    after_help = "Without -c and FILE, statements come from the terminal or from standard input.\n\
                  Examples:\n  morsel -c \"select count(*) from 'lineitem.parquet'\"\n  \
                  morsel --mode csv report.sql > report.csv"
)]
pub struct Arguments {
    /// Run these statements or dot commands and exit; may be repeated
    #[arg(short, long, value_name = "SQL", allow_hyphen_values = true)]
    pub command: Vec<String>,
    /// Run scripts and exit
    #[arg(value_name = "FILE")]
    pub files: Vec<std::path::PathBuf>,
    /// Stay interactive after -c and files
    #[arg(short, long)]
    pub interactive: bool,
    /// Threads that run queries [default: all that affinity and cgroups allow]
    #[arg(short, long, value_name = "N")]
    pub threads: Option<usize>,
    /// Memory that tables and queries may use, such as 4GB [default: 80% of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub memory_limit: Option<String>,
    /// Change a setting (SHOW ALL lists them); may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    pub settings: Vec<(String, String)>,
    /// How results look
    #[arg(short, long, value_enum)]
    pub mode: Option<Mode>,
    /// Show the time that each statement took
    #[arg(long)]
    pub timer: bool,
    /// Leave out the names of columns
    #[arg(long)]
    pub no_headers: bool,
    /// Show NULL as this text
    #[arg(long, value_name = "TEXT")]
    pub null: Option<String>,
    /// Print each statement before it runs
    #[arg(long)]
    pub echo: bool,
    /// Go on after a statement that failed; the exit code is still 1
    #[arg(long = "continue")]
    pub go_on: bool,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().into(), value.trim().into())),
        _ => Err("write NAME=VALUE".into()),
    }
}
