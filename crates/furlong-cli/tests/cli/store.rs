//! Faults of the database: a run reports it once and continues without it. Commands that need it
//! are refused, and other programs' files are not changed.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;

use crate::lab::{EXPERIMENT, FURLONG, Home, ended, is_spoiler, read, says, words};

/// A run's database in the first version of the schema.
const VERSION_1: &str = include_str!("vectors/store/version-1.sql");

/// The run in it.
const RUN_1: &str = "0wzbhrhn";

fn smoke(database: &str) -> Vec<&str> {
    let run = words("run tree-order --profile smoke --json r.json --db");
    [&run[..], &[database]].concat()
}

/// A run with an unusable database: one warning, all the data, exit 0. `show` and `--resume`, which
/// need it, are then refused for the same reason.
fn goes_on_without(home: &Home, database: &str, reason: &str) {
    let (stdout, stderr) = home.ends(0, &smoke(database));
    let warnings: Vec<&str> = stderr
        .lines()
        .filter(|line| line.starts_with("warning: ") && !is_spoiler(line))
        .collect();
    assert_eq!(warnings.len(), 1, "{stderr}");
    assert!(
        warnings[0].starts_with("warning: this run is not stored: "),
        "{stderr}"
    );
    assert!(
        warnings[0].contains(reason) && warnings[0].contains("--db FILE"),
        "{stderr}"
    );
    assert!(stdout.contains(EXPERIMENT));
    let result = read(&home.path("r.json"));
    assert!(
        result
            .run
            .warnings
            .iter()
            .any(|warning| warning.contains(reason))
    );
    assert_eq!(result.experiments[0].workloads[0].blocks, [1, 2, 3]);
    fs::remove_file(home.path("r.json")).unwrap();
    for needs_it in [
        &["show", "--db", database][..],
        &["run", "--resume", "a", "--db", database],
    ] {
        let said = home.refuses(needs_it);
        says(&said, &[reason, "--db FILE"]);
    }
}

/// The same, and the file is unchanged.
fn leaves_alone(content: &[u8], reason: &str) {
    let home = Home::new();
    home.write("some.db", content);
    goes_on_without(&home, "some.db", reason);
    assert_eq!(fs::read(home.path("some.db")).unwrap(), content);
}

/// The bytes of a database made by these statements.
fn made_by(sql: &str) -> Vec<u8> {
    let home = Home::new();
    Connection::open(home.path("made.db"))
        .unwrap()
        .execute_batch(sql)
        .unwrap();
    fs::read(home.path("made.db")).unwrap()
}

#[test]
fn what_is_no_database_is_left_alone() {
    leaves_alone(
        &b"Dear diary, today I measured nothing at all.\n".repeat(200),
        "is not a database",
    );
}

#[test]
fn another_programs_database_is_left_alone() {
    leaves_alone(
        &made_by("CREATE TABLE cookies (name TEXT);"),
        "belongs to another program",
    );
    leaves_alone(
        &made_by("PRAGMA user_version = 1;"),
        "belongs to another program",
    );
}

#[test]
fn a_newer_furlongs_database_is_left_alone() {
    leaves_alone(
        &made_by(&format!("{VERSION_1} PRAGMA user_version = 99;")),
        "newer furlong",
    );
}

#[test]
fn a_damaged_database_is_told() {
    let home = Home::new();
    for _ in 0..3 {
        home.smoke(&["--db", "runs.db"]);
    }
    let mut file = fs::OpenOptions::new()
        .write(true)
        .open(home.path("runs.db"))
        .unwrap();
    let length = file.metadata().unwrap().len();
    assert!(length > 3 * 4096);
    // The first page stays: the file is still a database of furlong.
    file.seek(SeekFrom::Start(4096)).unwrap();
    file.write_all(&vec![0xa5; usize::try_from(length).unwrap() - 4096])
        .unwrap();
    drop(file);
    goes_on_without(&home, "runs.db", "is damaged");
}

#[test]
fn a_locked_database_is_waited_for_and_then_told() {
    let home = Home::new();
    home.ends(0, &smoke("runs.db"));
    let holder = Connection::open(home.path("runs.db")).unwrap();
    holder
        .execute_batch("PRAGMA locking_mode = exclusive; BEGIN EXCLUSIVE;")
        .unwrap();
    goes_on_without(&home, "runs.db", "is locked by another program");
    drop(holder);
    home.ends(0, &smoke("runs.db"));
    home.ends(0, &["show", "--db", "runs.db"]);
}

#[test]
fn a_folder_and_a_place_that_takes_no_file_are_told() {
    let home = Home::new();
    fs::create_dir(home.path("folder")).unwrap();
    goes_on_without(&home, "folder", "is a directory");
    for database in ["nowhere/runs.db", "/proc/runs.db"] {
        let (_, stderr) = home.ends(0, &smoke(database));
        says(
            &stderr,
            &["cannot be opened: check that its directory exists"],
        );
        let said = home.refuses(&["show", "--db", database]);
        says(&said, &["there is no database at"]);
    }
}

/// The command without the superuser's privilege to write read-only files.
fn unprivileged(home: &Home, arguments: &[&str]) -> (String, String) {
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = home.command("setpriv");
        command.args(["--inh-caps=-all", "--bounding-set=-all", FURLONG]);
        command
    } else {
        home.command(FURLONG)
    };
    ended(0, &command.args(arguments).output().unwrap())
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_database_that_cannot_be_written_is_told_and_can_be_shown() {
    let home = Home::new();
    fs::create_dir(home.path("shelf")).unwrap();
    let (first, _) = home.ends(0, &smoke("shelf/runs.db"));
    set_mode(&home.path("shelf/runs.db"), 0o444);
    set_mode(&home.path("shelf"), 0o555);
    let (_, stderr) = unprivileged(&home, &smoke("shelf/runs.db"));
    says(&stderr, &["warning: this run is not stored: "]);
    let (shown, stderr) = unprivileged(&home, &["show", "--db", "shelf/runs.db"]);
    set_mode(&home.path("shelf"), 0o755);
    assert_eq!(shown, first, "{stderr}");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Runs with a umask that takes nothing away.
fn generous(home: &Home, arguments: &str) -> String {
    let script = format!("umask 000; exec '{FURLONG}' {arguments}");
    let mut shell = home.command("sh");
    ended(0, &shell.args(["-c", &script]).output().unwrap()).1
}

#[test]
fn what_the_command_creates_is_private_and_what_the_user_names_is_not() {
    let home = Home::new();
    let run = "run tree-order --profile smoke";
    generous(&home, &format!("{run} --json r.json"));
    let page = format!("reports/{}.html", read(&home.path("r.json")).run.id);
    let data = home.path("data/furlong");
    for dir in [&data, &data.join("reports")] {
        assert_eq!(mode(dir), 0o700, "{}", dir.display());
    }
    let files = ["furlong.db", &page];
    for file in files {
        assert_eq!(mode(&data.join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&home.path("r.json")), 0o666, "by the umask");
    // What was wider is narrowed, and the log and its index are as the database.
    set_mode(&data, 0o755);
    set_mode(&data.join("furlong.db"), 0o644);
    let reader = Connection::open(data.join("furlong.db")).unwrap();
    let count = "SELECT count(*) FROM runs";
    let _: u32 = reader.query_row(count, [], |row| row.get(0)).unwrap();
    let said = generous(&home, run);
    assert!(!said.contains("other users"), "{said}");
    assert_eq!(mode(&data), 0o700);
    for file in ["furlong.db", "furlong.db-wal", "furlong.db-shm"] {
        assert_eq!(mode(&data.join(file)), 0o600, "{file}");
    }
    drop(reader);
    // A named database is created in private. One that the user shares stays, and is told.
    let said = generous(&home, &format!("{run} --db named.db"));
    assert!(!said.contains("other users"), "{said}");
    assert_eq!(mode(&home.path("named.db")), 0o600);
    set_mode(&home.path("named.db"), 0o640);
    let said = generous(&home, &format!("{run} --db named.db"));
    says(
        &said,
        &["other users may use the database named.db (mode 640)"],
    );
    assert_eq!(mode(&home.path("named.db")), 0o640);
}

#[test]
fn an_older_database_is_brought_up_to_date_with_all_that_is_in_it() {
    let home = Home::new();
    let old = Connection::open(home.path("old.db")).unwrap();
    old.execute_batch(VERSION_1).unwrap();
    drop(old);
    home.ends(0, &["show", RUN_1, "--db", "old.db", "--json", "old.json"]);
    let run = read(&home.path("old.json"));
    assert_eq!((run.run.seed, run.run.tag.as_deref()), (5, Some("first")));
    let plain = &run.experiments[0].workloads[0];
    assert_eq!(
        (plain.name.as_str(), &plain.blocks[..]),
        ("plain", &[1, 2][..])
    );
    assert_eq!(
        plain.arms[0].samples["time_ns_per_op"],
        [Some(14.5), Some(15.25)]
    );
    assert_eq!(plain.arms[1].samples["time_ns_per_op"], [Some(14.75), None]);
    assert_eq!(plain.arms[0].samples["calls_per_op"], [Some(3.5)]);
    assert_eq!(
        plain.control["time_ns_per_op"].samples,
        [Some(14.625), Some(15.5)]
    );
    home.ends(0, &smoke("old.db"));
    let version: u32 = Connection::open(home.path("old.db"))
        .unwrap()
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert!(version >= 2);
    home.ends(
        0,
        &["show", RUN_1, "--db", "old.db", "--json", "again.json"],
    );
    assert_eq!(read(&home.path("again.json")), run);
}

#[test]
fn two_furlongs_at_once_share_a_database() {
    let home = Home::new();
    let results: Vec<String> = std::thread::scope(|scope| {
        let run = |name: &'static str| {
            let home = &home;
            scope.spawn(move || {
                let run = words("run tree-order --profile smoke --blocks 10 --json");
                home.ends(0, &[&run[..], &[name]].concat());
                read(&home.path(name)).run.id
            })
        };
        let runs = [run("1.json"), run("2.json"), run("3.json")];
        runs.map(|run| run.join().unwrap()).into()
    });
    for (id, name) in results.iter().zip(["1.json", "2.json", "3.json"]) {
        home.ends(0, &["show", id, "--json", "shown.json"]);
        let (shown, run) = (read(&home.path("shown.json")), read(&home.path(name)));
        assert_eq!(shown, run);
        for workload in &shown.experiments[0].workloads {
            assert_eq!(workload.blocks, (1..=10).collect::<Vec<_>>());
        }
    }
}

#[test]
fn without_a_home_a_run_is_told_that_it_is_not_stored() {
    let home = Home::new();
    let mut command = home.furlong(&["run", EXPERIMENT, "--profile", "smoke", "--html", "none"]);
    command.env_remove("XDG_DATA_HOME").env_remove("HOME");
    let (_, stderr) = ended(0, &command.output().unwrap());
    says(&stderr, &["not stored: set --db, XDG_DATA_HOME or HOME"]);
}
