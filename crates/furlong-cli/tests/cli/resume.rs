//! A run that was killed or interrupted resumes at its last block.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use rustix::process::Signal;

use crate::lab::{EXPERIMENT, Home, is_drawn, read, says, send, text, words};

/// Enough blocks: a run must not end before the test has looked.
const BLOCKS: u32 = 120;

/// The stored data of blocks: the time of each block's end, and all its values.
type Kept = BTreeMap<(String, u32), (String, Vec<(String, u64)>)>;

/// The default path of the record.
fn database(home: &Home) -> PathBuf {
    home.path("data/furlong/furlong.db")
}

fn long_run(home: &Home) -> Child {
    let blocks = BLOCKS.to_string();
    let run = words("run tree-order --profile smoke --workloads plain,ins --seed 5 --blocks");
    home.furlong(&[&run[..], &[&blocks]].concat())
        .spawn()
        .unwrap()
}

fn connect(path: &Path) -> Option<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    Some(connection)
}

fn count_blocks(database: &Path) -> Option<u32> {
    connect(database)?
        .query_row("SELECT count(*) FROM blocks", [], |row| row.get(0))
        .ok()
}

/// Waits for this many more blocks of a run, which must not end before.
fn wait_for_blocks(home: &Home, child: &mut Child, more: u32) {
    let before = count_blocks(&database(home)).unwrap_or(0);
    while count_blocks(&database(home)).unwrap_or(0) < before + more {
        assert_eq!(child.try_wait().unwrap(), None, "it ended too early");
        thread::sleep(Duration::from_millis(2));
    }
}

fn kept(database: &Path) -> Kept {
    let connection = connect(database).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT workloads.name, blocks.number, blocks.finished, samples.runner, value
             FROM blocks JOIN workloads ON workloads.id = blocks.workload
             JOIN samples ON samples.workload = workloads.id AND samples.block = blocks.number
             JOIN sample_values ON sample_values.workload = workloads.id
                 AND sample_values.block = blocks.number
                 AND sample_values.position = samples.position
             ORDER BY samples.position",
        )
        .unwrap();
    let mut kept = Kept::new();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let key = (row.get(0).unwrap(), row.get(1).unwrap());
        let block = kept.entry(key).or_insert((row.get(2).unwrap(), vec![]));
        let value: f64 = row.get(4).unwrap();
        block.1.push((row.get(3).unwrap(), value.to_bits()));
    }
    kept
}

fn only_run(database: &Path) -> String {
    connect(database)
        .unwrap()
        .query_row("SELECT id FROM runs", [], |row| row.get(0))
        .unwrap()
}

/// A run with some finished blocks that was interrupted.
fn interrupted(home: &Home) -> (ExitStatus, String, String) {
    let mut child = long_run(home);
    wait_for_blocks(home, &mut child, 3);
    send(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    (output.status, text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_killed_run_goes_on_without_losing_or_repeating_a_block() {
    let home = Home::new();
    let database = database(&home);
    let mut before = Kept::new();
    let mut operations = None;
    for round in 0..3 {
        let mut child = if round == 0 {
            long_run(&home)
        } else {
            let resume = ["run", "--resume", &only_run(&database)];
            home.furlong(&resume).spawn().unwrap()
        };
        wait_for_blocks(&home, &mut child, 20 * (round + 1));
        child.kill().unwrap();
        child.wait().unwrap();
        let (_, told) = home.ends(0, &["show"]);
        says(&told, &["or its process was killed; `--resume "]);
        let after = kept(&database);
        assert!(after.len() > before.len());
        for (key, block) in &before {
            assert_eq!(&after[key], block, "{key:?} was lost or measured again");
        }
        let frozen: String = connect(&database)
            .unwrap()
            .query_row(
                "SELECT params FROM workloads WHERE name = 'plain'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert!(frozen.contains("operations"));
        assert_eq!(operations.get_or_insert(frozen.clone()), &frozen);
        before = after;
    }
    let id = &only_run(&database)[..6];
    home.ends(0, &["run", "--resume", id, "--json", "whole.json"]);
    let after = kept(&database);
    assert_eq!(after.len(), 2 * BLOCKS as usize);
    for (key, block) in &before {
        assert_eq!(&after[key], block, "{key:?} was lost or measured again");
    }
    let whole = read(&home.path("whole.json"));
    for workload in &whole.experiments[0].workloads {
        assert_eq!(workload.blocks, (1..=BLOCKS).collect::<Vec<_>>());
        is_drawn(workload, 5);
    }
    says(
        &home.refuses(&["run", "--resume", &whole.run.id]),
        &["is already finished"],
    );
}

#[test]
fn ctrl_c_keeps_the_finished_blocks_and_says_how_to_go_on() {
    let home = Home::new();
    let (status, stdout, stderr) = interrupted(&home);
    assert_eq!(status.code(), Some(130), "{stderr}");
    let id = only_run(&database(&home));
    let blocks = count_blocks(&database(&home)).unwrap();
    let last = stderr.lines().last().unwrap();
    let goes_on = format!("continue with: furlong run --resume {id}");
    assert!(last.starts_with("furlong: interrupted; "), "{stderr}");
    assert!(
        last.contains(&format!(" {blocks} finished blocks")),
        "{stderr}"
    );
    assert!(last.ends_with(&goes_on), "{stderr}");
    says(&stdout, &[EXPERIMENT, "ins: not reached"]);
    let (shown, told) = home.ends(0, &["show", &id]);
    assert_eq!(shown, stdout.replace(&goes_on, ""));
    let how = format!("is not complete: interrupted; `--resume {id}` continues it");
    says(&told, &[&how]);
}

#[test]
fn the_way_to_go_on_names_the_database_where_it_is_not_the_usual_one() {
    let home = Home::new();
    let run = words("run tree-order --profile smoke --blocks 100000 --db");
    let run = [&run[..], &["my runs.db"]].concat();
    let mut child = home.furlong(&run).spawn().unwrap();
    while count_blocks(&home.path("my runs.db")).unwrap_or(0) < 1 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended too early");
        thread::sleep(Duration::from_millis(2));
    }
    send(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    let stderr = text(&output.stderr);
    assert!(
        stderr.trim_end().ends_with(" --db 'my runs.db'"),
        "{stderr}"
    );
}

#[test]
fn a_run_that_is_being_measured_is_not_resumed() {
    let home = Home::new();
    let mut child = long_run(&home);
    wait_for_blocks(&home, &mut child, 1);
    let said = home.refuses(&["run", "--resume", &only_run(&database(&home))]);
    says(&said, &[&format!("measured by process {}", child.id())]);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_run_beside_another_is_warned() {
    let home = Home::new();
    let mut child = long_run(&home);
    wait_for_blocks(&home, &mut child, 1);
    let warnings = home.smoke(&["--blocks", "1"]).run.warnings;
    let told = format!("process {} is measuring at the same time", child.id());
    assert!(
        warnings.iter().any(|warning| warning.starts_with(&told)),
        "{warnings:?}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let warnings = home.smoke(&["--blocks", "1"]).run.warnings;
    assert!(
        !warnings
            .iter()
            .any(|warning| warning.contains("measuring at the same time")),
        "{warnings:?}"
    );
}

#[test]
fn another_build_or_machine_does_not_go_on() {
    let home = Home::new();
    interrupted(&home);
    let id = only_run(&database(&home));
    let change = |sql: &str| {
        let connection = Connection::open(database(&home)).unwrap();
        connection.busy_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(connection.execute(sql, []).unwrap(), 1);
    };
    change("UPDATE runs SET binary = 'x' || binary");
    let said = home.refuses(&["run", "--resume", &id]);
    says(
        &said,
        &["it was started by another build of furlong: begin a new one"],
    );
    change("UPDATE runs SET binary = substr(binary, 2), version = 'x' || version");
    says(&home.refuses(&["run", "--resume", &id]), &["furlong x"]);
    change("UPDATE runs SET version = substr(version, 2)");
    change(
        "UPDATE runs SET machine =
            json_set(machine, '$.id', 'other', '$.host', 'farm', '$.kernel', 'Linux 9.9')",
    );
    let said = home.refuses(&["run", "--resume", &id]);
    says(&said, &["started on farm with Linux 9.9, and this is "]);
}

#[test]
fn a_beginning_that_fits_several_runs_is_refused() {
    let home = Home::new();
    let (first, second) = (home.smoke(&[]).run.id, home.smoke(&[]).run.id);
    let said = home.refuses(&["run", "--resume", ""]);
    says(&said, &[&first, &second]);
    says(
        &home.refuses(&["run", "--resume", "uuuu"]),
        &["no run begins with `uuuu`"],
    );
}
