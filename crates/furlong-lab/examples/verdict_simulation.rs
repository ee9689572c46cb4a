//! Simulates runs with a known truth, and prints how often the verdict errs, as a Markdown table.
//!
//! `cargo run --release -p furlong-lab --example verdict_simulation -- --runs 10000`
//!
//! Exit code 1 if a guarantee does not hold, 2 on bad usage.
#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use furlong_stats::bisection;
use furlong_stats::family;
use furlong_stats::promise::{self, Bound, Claim, Promise};
use furlong_stats::simulation::Tally;

/// Measures how often the verdict errs.
#[derive(Debug, Parser)]
struct Options {
    /// Runs of each kind
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..))]
    runs: u32,
    /// Only the levels of error, for these numbers of blocks
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u16).range(2..))]
    blocks: Vec<u16>,
    /// Only rows whose promise or disturbance contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Only this number of searches for a commit, of each kind
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    searches: Option<u32>,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(broken) => {
            eprintln!("{broken} promises do not hold");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cannot write the table: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the table, and returns the number of broken guarantees.
fn run(options: &Options) -> io::Result<u32> {
    let mut out = io::stdout().lock();
    if let Some(runs) = options.searches {
        return ranges(options, runs, &mut out);
    }
    writeln!(
        out,
        "| promise | disturbance | blocks | effect % | CV % | share | found | bound | holds | keep \
         beyond the floor | sign flips p ≤ .05 | control failed \
         |\n|---|---|--:|--:|--:|---|--:|---|---|--:|--:|--:|"
    )?;
    let blocks: Vec<usize> = options
        .blocks
        .iter()
        .map(|blocks| usize::from(*blocks))
        .collect();
    let promises = if blocks.is_empty() {
        promise::all()
    } else {
        promise::errors(&blocks)
    };
    let wanted = |promise: &Promise| {
        let disturbance = promise.cell.disturbance.name();
        promise.name.contains(&options.only) || disturbance.contains(&options.only)
    };
    let mut broken = 0;
    for (place, promise) in promises
        .iter()
        .enumerate()
        .filter(|(_, promise)| wanted(promise))
    {
        let tally = promise.simulate(place, options.runs, options.seed);
        for claim in promise.claims {
            let holds = claim.bound.holds(tally.share((claim.count)(&tally)), 0.0);
            broken += u32::from(!holds);
            writeln!(out, "{}", line(promise, claim, &tally, holds))?;
        }
    }
    if blocks.is_empty() {
        broken += families(options, &mut out)?;
    }
    Ok(broken)
}

/// Prints the table of pull requests, and returns the number of broken guarantees.
fn families(options: &Options, out: &mut impl Write) -> io::Result<u32> {
    writeln!(
        out,
        "\n| pull request | disturbance | CV % | share | found | bound | holds | decided | mean s \
         |\n|---|---|---|---|--:|---|---|--:|--:|"
    )?;
    let mut broken = 0;
    for (one, place) in family::pull_requests().iter().zip(0..) {
        let name = format!("{} benchmarks: {}", one.members, one.name);
        let disturbance = one.disturbance.name();
        if !(name.contains(&options.only) || disturbance.contains(&options.only)) {
            continue;
        }
        let tally = one.simulate(options.runs, options.seed.wrapping_add(place));
        let (claim, bound) = one.claim;
        let share = tally.share(claim);
        let holds = bound.holds(share, 0.0);
        broken += u32::from(!holds);
        let runs = f64::from(tally.runs);
        let cv: Vec<String> = one.cv_pct.iter().map(ToString::to_string).collect();
        writeln!(
            out,
            "| {name} | {disturbance} | {} | {claim} | {share:.4} | {} | {} | {:.3} | {:.0} |",
            cv.join(", "),
            told(bound),
            if holds { "yes" } else { "**no**" },
            f64::from(tally.decided) / runs / one.members as f64,
            tally.seconds / runs,
        )?;
    }
    Ok(broken)
}

/// Prints the table of searches for a commit, and returns the number of broken guarantees.
fn ranges(options: &Options, runs: u32, out: &mut impl Write) -> io::Result<u32> {
    writeln!(
        out,
        "| commits | disturbance | runs | figure | found | bound | holds | mean samples \
         | mean builds | most builds | mean set |\n|---|---|--:|---|--:|---|---|--:|--:|--:|--:|"
    )?;
    let mut broken = 0;
    for (range, place) in bisection::ranges().iter().zip(0..) {
        let name = format!("{} commits: {}", range.commits, range.name);
        let disturbance = range.disturbance.name();
        if !(name.contains(&options.only) || disturbance.contains(&options.only)) {
            continue;
        }
        let tally = range.simulate(runs, options.seed.wrapping_add(place));
        let mean = |sum: u64| sum as f64 / f64::from(runs);
        for (share, bound) in range.claims {
            let found = tally.share(*share);
            let holds = bound.holds(found, 0.0);
            broken += u32::from(!holds);
            writeln!(
                out,
                "| {name} | {disturbance} | {runs} | {} | {found:.3} | {} | {} | {:.0} | {:.1} \
                 | {} | {:.1} |",
                share.name(),
                told(*bound),
                if holds { "yes" } else { "**no**" },
                mean(tally.samples),
                mean(tally.builds),
                tally.builds_max,
                mean(tally.candidates),
            )?;
        }
    }
    Ok(broken)
}

fn told(bound: Bound) -> String {
    match bound {
        Bound::AtMost(most) => format!("≤ {most}"),
        Bound::AtLeast(least) => format!("≥ {least}"),
        Bound::About(wanted) => format!("{wanted} ± .03"),
    }
}

fn line(promise: &Promise, claim: &Claim, tally: &Tally, holds: bool) -> String {
    let bound = told(claim.bound);
    format!(
        "| {} | {} | {} | {:.0} | {} | {} | {:.4} | {bound} | {} | {} | {:.3} | {:.3} |",
        promise.name,
        promise.cell.disturbance.name(),
        promise.cell.blocks,
        100.0 * (1.0 / promise.cell.ratio - 1.0),
        promise.cell.cv_pct,
        claim.name,
        tally.share((claim.count)(tally)),
        if holds { "yes" } else { "**no**" },
        match claim.name {
            "keep" => format!("{:.4}", tally.share(tally.keep_beyond_floor)),
            _ => String::new(),
        },
        tally.share(tally.flips_rejected),
        tally.share(tally.control_failed),
    )
}
