//! Command lines that are refused before any work, each in a line with a remedy.

use std::fs;

use super::stand_in::StandIn;
use crate::lab::{Home, ended, read, says};

const COMPARE: [&str; 5] = ["compare", "true", "true", "--on", "slurm"];

fn refused(slurm: &StandIn, arguments: &[&str]) -> String {
    let said = slurm.ends(2, arguments);
    assert_eq!(said.lines().count(), 1, "{said}");
    let left = fs::read_dir(slurm.0.path("")).unwrap().count();
    assert_eq!(left, 1, "only the stand-in is there: nothing was begun");
    said
}

#[test]
fn without_slurm_it_is_said_what_to_install() {
    let home = Home::new();
    let mut compare = home.furlong(&COMPARE);
    compare.env("PATH", home.path("bin"));
    let (_, said) = ended(2, &compare.output().unwrap());
    assert_eq!(
        said,
        "furlong: Slurm's programs are not on this machine: install them (on Debian: apt-get \
         install slurm-client), or run it here with --on local\n"
    );
    assert_eq!(
        fs::read_dir(home.path("")).unwrap().count(),
        0,
        "nothing was begun"
    );
}

#[test]
fn a_slurm_that_is_down_is_refused() {
    let slurm = StandIn::new();
    let down = "#!/bin/sh\necho 'Slurmctld(primary) at head is DOWN'\nexit 1\n";
    slurm.program("scontrol", down);
    let said = refused(&slurm, &COMPARE);
    says(
        &said,
        &["Slurm does not answer (Slurmctld(primary) at head is DOWN): start slurmctld"],
    );
    let lost = "#!/bin/sh\necho 'scontrol: fatal: Could not establish a configuration source' >&2\n\
                exit 1\n";
    slurm.program("scontrol", lost);
    let said = refused(&slurm, &COMPARE);
    says(&said, &["(Could not establish a configuration source)"]);
}

#[test]
fn what_sbatch_would_refuse_is_refused_before_anything_is_begun() {
    let slurm = StandIn::new();
    let refuses =
        "#!/bin/sh\necho 'sbatch: error: invalid partition specified: nope' >&2\nexit 1\n";
    slurm.program("sbatch", refuses);
    let said = refused(
        &slurm,
        &[&COMPARE[..], &["--slurm=--partition=nope"]].concat(),
    );
    says(
        &said,
        &["sbatch would refuse the tasks: invalid partition specified: nope"],
    );
}

#[test]
fn a_fleet_cannot_stop_early_nor_go_on_where_another_began() {
    let slurm = StandIn::new();
    for more in [&["--early"][..], &["--until", "1"], &["--max-time", "5"]] {
        let said = refused(&slurm, &[&COMPARE[..], more].concat());
        says(&said, &["a fleet runs all blocks of its plan"]);
    }
    let said = slurm.ends(2, &["compare", "true", "true", "--dir", "x"]);
    says(&said, &["--dir needs --on slurm"]);
    let said = slurm.ends(2, &["run", "--resume", "abc", "--on", "slurm"]);
    says(&said, &["cannot be used with"]);
}

#[test]
fn a_directory_that_is_there_is_not_written_to() {
    let slurm = StandIn::new();
    fs::create_dir(slurm.0.path("mine")).unwrap();
    let said = slurm.ends(2, &[&COMPARE[..], &["--dir", "mine"]].concat());
    says(
        &said,
        &["mine cannot be created (File exists): name another with --dir"],
    );
    assert_eq!(fs::read_dir(slurm.0.path("mine")).unwrap().count(), 0);
}

#[test]
fn what_is_no_fleets_directory_is_refused() {
    let home = Home::new();
    let said = home.refuses(&["collect", "nowhere"]);
    says(
        &said,
        &["nowhere cannot be read (No such file or directory)"],
    );
    fs::create_dir(home.path("empty")).unwrap();
    let said = home.refuses(&["collect", "empty"]);
    says(
        &said,
        &["empty is not the directory of a fleet: name the directory"],
    );
    for text in ["", "{}"] {
        home.write("empty/order.json", text);
        let said = home.refuses(&["collect", "empty"]);
        says(
            &said,
            &["order.json", "is damaged, or written by another furlong"],
        );
    }
}

#[test]
fn a_slurm_that_goes_down_while_tasks_are_missing_costs_nothing_that_arrived() {
    let slurm = StandIn::new();
    let mut run = slurm.furlong(&[&COMPARE[..], &["--dir", "fleet", "--blocks", "3"]].concat());
    ended(1, &run.env("STAND_IN_SKIPS", "2").output().unwrap());
    let down = "#!/bin/sh\necho 'slurm_load_jobs error: Unable to contact slurm controller' >&2\n\
                exit 1\n";
    slurm.program("squeue", down);
    let said = slurm.ends(1, &["collect", "fleet", "--json", "r.json"]);
    says(
        &said,
        &[
            "warning: Slurm does not answer: ",
            "1 of 3 blocks are missing: block 2 (",
        ],
    );
    let result = read(&slurm.0.path("r.json"));
    assert_eq!(result.experiments[0].workloads[0].blocks, [1, 3]);
}
