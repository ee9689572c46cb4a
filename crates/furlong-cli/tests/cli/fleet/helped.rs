//! Runs every example of `--help` that needs a fleet.

use clap::CommandFactory;
use furlong_lab::cli::Cli;

use super::stand_in::StandIn;
use crate::examples::{furnished, shortened};
use crate::help::{examples, is_of_a_fleet};

#[test]
fn every_example_that_needs_a_fleet_runs() {
    let slurm = StandIn::over(furnished());
    let all = examples(&Cli::<furlong_verbs::Verb>::command());
    let of_a_fleet = all.iter().filter(|example| is_of_a_fleet(example));
    let (collect, others): (Vec<_>, Vec<_>) =
        of_a_fleet.partition(|example| example.starts_with("furlong collect"));
    assert!(collect.len() >= 3 && !others.is_empty(), "{all:?}");
    // The directory to collect must exist.
    let dir = collect[0].split(' ').nth(2).unwrap();
    let made = [
        "compare", "true", "true", "--blocks", "6", "--on", "slurm", "--dir", dir,
    ];
    slurm.ends(0, &made);
    for example in collect.into_iter().chain(others) {
        let example = shortened(example);
        let words: Vec<&str> = example.split_whitespace().skip(1).collect();
        slurm.ends(0, &words);
    }
}
