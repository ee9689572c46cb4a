//! `--duet`: two commands at once, where planted changes come out right.

use std::fs;

use furlong_lab::measure::launch::pair::two_cores;

use super::place::{only, said, values};
use crate::lab::{Home, ended, read, says};

/// A home whose machine was checked: this part of planted changes came out.
fn checked(part: f64) -> Option<(Home, [usize; 2])> {
    let processors = two_cores().ok()?;
    let place = Home::new();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let of = |work: &str| serde_json::json!({ "work": work, "part": part, "half": 0.05 });
    let found = [of("compute"), of("cache")];
    let boot = boot.trim();
    let check = serde_json::json!({ "boot": boot, "processors": processors, "found": found });
    fs::create_dir_all(place.path("cache/furlong")).unwrap();
    place.write("cache/furlong/duet.json", check.to_string());
    Some((place, processors))
}

#[test]
fn both_run_at_once_and_each_has_either_core_once_in_every_block() {
    let Some((place, processors)) = checked(1.0) else {
        return;
    };
    // Each waits for the other at both pipes: in turn, they would never end.
    ended(
        0,
        &place.command("mkfifo").args(["ab", "ba"]).output().unwrap(),
    );
    let allowed = "sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status";
    let commands = [
        format!("echo > ab; read line < ba; {allowed} >> a.log"),
        format!("read line < ab; echo > ba; {allowed} >> b.log"),
    ];
    let names = ["--names", "one,two", "--duet", "--blocks", "5"];
    let shown = ["--json", "r.json", &commands[0], &commands[1]];
    let (stdout, _) = ended(0, &place.run(&[&names[..], &shown].concat()));
    let result = read(&place.path("r.json"));
    let workload = only(&result);
    assert_eq!(workload.params["duet"], serde_json::json!(processors));
    for arm in &workload.arms {
        assert_eq!(values(arm, "wall_s").len(), 5);
    }
    assert_eq!(workload.control["wall_s"].samples.len(), 5);
    let [a, b] = ["a.log", "b.log"].map(|name| place.lines(name));
    assert_eq!((a.len(), b.len()), (10, 10));
    for (round, (one, other)) in a.iter().zip(&b).enumerate() {
        assert_ne!(one, other, "round {round}");
        let partner = &a[round ^ 1];
        assert_ne!(one, partner, "the cores are swapped within a block");
    }
    let [one, other] = processors;
    says(&stdout, &[&format!("duet on processors {one} and {other}")]);
}

#[test]
fn a_machine_on_which_a_duet_would_be_unfair_is_refused_with_what_was_found() {
    let Some((place, _)) = checked(0.8) else {
        return;
    };
    let why = place.fails(1, &["--duet", "true", "false"]);
    says(
        &why,
        &[
            "--duet: 80 ± 5 % of planted changes came out in programs that compute",
            "`furlong doctor --duet` checks anew",
        ],
    );
    assert!(!place.path("data/furlong").exists(), "nothing is stored");
}

#[test]
fn a_duet_is_of_two_commands_here_in_one_layout() {
    let place = Home::new();
    let three = place.fails(2, &["--duet", "true", "true", "true"]);
    says(
        &three,
        &["runs two commands at once, not one command, or three and more"],
    );
    let one = place.fails(2, &["--duet", "true"]);
    says(&one, &["not one command"]);
    let output = place.run(&["--duet", "--metric", "x", "true", "true"]);
    says(&said(&output), &["cannot be used with '--metric"]);
    let fleet = place.fails(2, &["--duet", "--on", "slurm", "true", "true"]);
    says(&fleet, &["not the nodes of a cluster"]);
}
