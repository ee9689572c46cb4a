//! Options of hyperfine that have another name here. Their error says which.

use std::convert::Infallible;

/// Options that are always refused.
#[derive(Debug, clap::Args)]
pub struct OtherNames {
    #[arg(long, hide = true, value_name = "TYPE", value_parser = style)]
    style: Option<Infallible>,
    #[arg(long, hide = true, value_name = "FILE", value_parser = table)]
    export_asciidoc: Option<Infallible>,
    #[arg(long, hide = true, value_name = "FILE", value_parser = table)]
    export_orgmode: Option<Infallible>,
    #[arg(long, hide = true, value_name = "SECONDS", value_parser = least_time)]
    min_benchmarking_time: Option<Infallible>,
}

fn style(_: &str) -> Result<Infallible, &'static str> {
    Err("here NO_COLOR=1 turns colours off, and --quiet the progress")
}

fn table(_: &str) -> Result<Infallible, &'static str> {
    Err("here --export-markdown writes the table, which pandoc converts")
}

fn least_time(_: &str) -> Result<Infallible, &'static str> {
    Err("here --min-runs sets the least number of runs, and --max-time the most time")
}
