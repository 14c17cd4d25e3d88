//! The command line. Each setting of the engine is an option, too: they come from its table.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Parser};
use engine::{SETTINGS, Setting, Settings};

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
    /// Close files to SQL and commands, and lock the settings: for statements of others
    #[arg(long)]
    pub safe: bool,
    #[command(flatten)]
    assigned: Assigned,
    /// Change a setting (SHOW ALL lists them); may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
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

/// Settings that options of their own name give values to.
#[derive(Debug, Default)]
struct Assigned(Vec<(&'static Setting, String)>);

/// The option of a setting. The parser keeps it as long as the process lives.
fn option_of(setting: &Setting) -> &'static str {
    String::leak(setting.name.replace('_', "-"))
}

impl Args for Assigned {
    fn augment_args(command: Command) -> Command {
        SETTINGS.iter().fold(command, |command, setting| {
            let arg = Arg::new(setting.name).long(option_of(setting)).value_name("VALUE").help(setting.description);
            let arg = arg.value_parser(|text: &str| Ok::<_, String>(text.to_owned())).help_heading("Settings");
            command.arg(if setting.name == "threads" { arg.short('t') } else { arg })
        })
    }
    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Assigned {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |s: &'static Setting| Some((s, matches.get_one::<String>(s.name)?.clone()));
        Ok(Self(SETTINGS.iter().filter_map(value).collect()))
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Self::from_arg_matches(matches)?.0);
        Ok(())
    }
}

impl Arguments {
    /// The settings that were given; the error is about them.
    pub fn settings(&self) -> Result<Settings, String> {
        let safe: &[(&str, &str)] =
            if self.safe { &[("enable_external_access", "off"), ("lock_configuration", "on")] } else { &[] };
        let own = self.assigned.0.iter().map(|(setting, value)| (setting.name, value.as_str()));
        let set = self.set.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let mut settings = Settings::default();
        own.chain(set)
            .chain(safe.iter().copied())
            .try_for_each(|(name, value)| settings.set(name, value))
            .map_err(|e| readable(&e))?;
        Ok(settings)
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().into(), value.trim().into())),
        _ => Err("write NAME=VALUE".into()),
    }
}

/// An error of a setting as one line.
pub fn readable(error: &base::Error) -> String {
    match error.get_hint() {
        Some(hint) => format!("{} ({hint})", error.message()),
        None => error.message().to_string(),
    }
}
