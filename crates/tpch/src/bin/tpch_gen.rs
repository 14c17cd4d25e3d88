//! Writes the tables of TPC-H as Parquet or CSV files.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tpch::{Format, generate};

/// Writes the tables of TPC-H as Parquet or CSV files.
#[derive(Parser)]
struct Arguments {
    /// Scale factor: 1 is about a gigabyte of CSV.
    #[arg(long, default_value_t = 1.0)]
    sf: f64,
    /// The folder to write into.
    #[arg(long)]
    out: PathBuf,
    /// `parquet` or `csv`.
    #[arg(long, default_value = "parquet", value_parser = ["parquet", "csv"])]
    format: String,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !(arguments.sf > 0.0 && arguments.sf <= 100_000.0) {
        eprintln!("the scale factor must be above 0");
        return ExitCode::FAILURE;
    }
    let format = if arguments.format == "csv" { Format::Csv } else { Format::Parquet };
    let written = generate(arguments.sf, &arguments.out, format, |step| {
        if step.done == step.parts {
            eprintln!("{}: {} part(s)", step.table, step.parts);
        }
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
