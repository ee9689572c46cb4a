//! A run that was killed or interrupted resumes at its last block.
#![forbid(unsafe_code)]

mod lab;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use furlong_lab::measure::block_order::BlockOrder;
use furlong_lab::model::result::CONTROL;
use lab::{EXPERIMENT, Home, read, text};
use rusqlite::{Connection, OpenFlags};

/// Enough blocks: a run must not end before the test has looked.
const BLOCKS: u32 = 400;

/// The stored data of blocks: the time of each block's end, and all its values.
type Kept = BTreeMap<(String, u32), (String, Vec<(String, u64)>)>;

/// The default path of the record.
fn database(home: &Home) -> PathBuf {
    home.path("data/furlong/furlong.db")
}

fn spawn(home: &Home, arguments: &[&str]) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin("furlong"))
        .args(arguments)
        .current_dir(home.path(""))
        .env("XDG_DATA_HOME", home.path("data"))
        .env("COLUMNS", "100")
        .env_remove("FURLONG_DB")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn long_run(home: &Home) -> Child {
    let blocks = BLOCKS.to_string();
    let run = [
        "run",
        EXPERIMENT,
        "--profile",
        "smoke",
        "--workloads",
        "plain,ins",
    ];
    spawn(
        home,
        &[&run[..], &["--seed", "5", "--blocks", &blocks]].concat(),
    )
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

fn kill(pid: u32, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &pid.to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// A run with some finished blocks that was interrupted.
fn interrupted(home: &Home) -> (ExitStatus, String, String) {
    let mut child = long_run(home);
    wait_for_blocks(home, &mut child, 3);
    kill(child.id(), "-INT");
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
            spawn(&home, &["run", "--resume", &only_run(&database)])
        };
        wait_for_blocks(&home, &mut child, 20 * (round + 1));
        child.kill().unwrap();
        child.wait().unwrap();
        let (_, told) = home.ends(0, &["show"]);
        assert!(
            told.contains("or its process was killed; `--resume "),
            "{told}"
        );
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
    home.ends(
        0,
        &[
            "run",
            "--resume",
            &only_run(&database)[..6],
            "--json",
            "whole.json",
        ],
    );
    let after = kept(&database);
    assert_eq!(after.len(), 2 * BLOCKS as usize);
    for (key, block) in &before {
        assert_eq!(&after[key], block, "{key:?} was lost or measured again");
    }
    let whole = read(&home.path("whole.json"));
    for workload in &whole.experiments[0].workloads {
        assert_eq!(workload.blocks, (1..=BLOCKS).collect::<Vec<_>>());
        let mut runners: Vec<&str> = workload.arms.iter().map(|arm| arm.name.as_str()).collect();
        runners.push(CONTROL);
        for (order, number) in workload.order.iter().zip(1..) {
            let drawn = BlockOrder::new(5, EXPERIMENT, &workload.name, number, runners.len());
            let drawn_order: Vec<&str> =
                drawn.order.iter().map(|runner| runners[*runner]).collect();
            assert_eq!(*order, drawn_order, "block {number} of {}", workload.name);
        }
    }
    assert!(
        home.refuses(&["run", "--resume", &whole.run.id])
            .contains("is already finished")
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
    assert!(
        stdout.contains(EXPERIMENT),
        "what there is, is shown: {stdout}"
    );
    assert!(stdout.contains("ins: not reached"), "{stdout}");
    let (shown, told) = home.ends(0, &["show", &id]);
    assert_eq!(shown, stdout.replace(&goes_on, ""));
    let how = format!("is not complete: interrupted; `--resume {id}` continues it");
    assert!(told.contains(&how), "{told}");
}

#[test]
fn the_way_to_go_on_names_the_database_where_it_is_not_the_usual_one() {
    let home = Home::new();
    let more = [
        "run",
        EXPERIMENT,
        "--profile",
        "smoke",
        "--blocks",
        "100000",
        "--db",
        "my runs.db",
    ];
    let mut child = spawn(&home, &more);
    while count_blocks(&home.path("my runs.db")).unwrap_or(0) < 1 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended too early");
        thread::sleep(Duration::from_millis(2));
    }
    kill(child.id(), "-TERM");
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
    assert!(
        said.contains(&format!("measured by process {}", child.id())),
        "{said}"
    );
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
    assert!(
        said.contains("it was started by another build of furlong: begin a new one"),
        "{said}"
    );
    change("UPDATE runs SET binary = substr(binary, 2), version = 'x' || version");
    assert!(
        home.refuses(&["run", "--resume", &id])
            .contains("furlong x")
    );
    change("UPDATE runs SET version = substr(version, 2)");
    change(
        "UPDATE runs SET machine =
            json_set(machine, '$.id', 'other', '$.host', 'farm', '$.kernel', 'Linux 9.9')",
    );
    let said = home.refuses(&["run", "--resume", &id]);
    assert!(
        said.contains("started on farm with Linux 9.9, and this is "),
        "{said}"
    );
}

#[test]
fn a_beginning_that_fits_several_runs_is_refused() {
    let home = Home::new();
    let (first, second) = (home.smoke(&[]).run.id, home.smoke(&[]).run.id);
    let said = home.refuses(&["run", "--resume", ""]);
    assert!(said.contains(&first) && said.contains(&second), "{said}");
    assert!(
        home.refuses(&["run", "--resume", "uuuu"])
            .contains("no run begins with `uuuu`")
    );
}
