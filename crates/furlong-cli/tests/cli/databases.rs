//! Locations of a store: a new file, or a new database of a server that the test starts.
#![forbid(unsafe_code)]

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use furlong_lab::record::store::Location;
use tempfile::TempDir;

use crate::lab::{ended, wait_until, words};

/// Runs a test on every engine, each time with a new database.
pub(crate) fn on_each(test: impl Fn(&Location)) {
    let home = tempfile::tempdir().unwrap();
    test(&Location::File(home.path().join("runs.db")));
    if let Some(server) = Server::start() {
        test(&server.location());
    }
}

/// A separate server on a separate socket; it is killed on drop.
pub(crate) struct Server {
    home: TempDir,
    child: Child,
}

impl Server {
    /// Starts a server; `None`, with a note, without PostgreSQL.
    pub(crate) fn start() -> Option<Server> {
        let Some(programs) = programs() else {
            // Not `eprintln!`, which the harness captures: a skipped test must be visible.
            let _ = writeln!(io::stderr(), "left out: there is no PostgreSQL here");
            return None;
        };
        let home = tempfile::tempdir().unwrap();
        let as_root = rustix::process::geteuid().is_root();
        if as_root {
            // The server refuses to run as root.
            let owned = Command::new("chown")
                .arg("postgres")
                .arg(home.path())
                .status();
            assert!(owned.unwrap().success());
        }
        let mut make = program(&programs.join("initdb"), as_root);
        make.args(words(
            "--auth=trust --username=lab --encoding=UTF8 --locale=C -D",
        ));
        ended(0, &make.arg(home.path().join("data")).output().unwrap());
        let child = serve(&programs, &home, as_root);
        let mut server = Server { home, child };
        server.wait();
        Some(server)
    }

    /// Its database.
    pub(crate) fn location(&self) -> Location {
        Location::of(Path::new(&self.url()))
    }

    /// The same in the form of `--db`.
    pub(crate) fn url(&self) -> String {
        let socket = self.home.path().display();
        format!("postgres:///postgres?host={socket}&user=lab")
    }

    /// Kills it, like a power failure.
    pub(crate) fn kill(&mut self) {
        let pid = fs::read_to_string(self.home.path().join("data/postmaster.pid")).unwrap();
        let pid: i32 = pid.lines().next().unwrap().trim().parse().unwrap();
        let children = format!("/proc/{pid}/task/{pid}/children");
        let children = fs::read_to_string(children).unwrap_or_default();
        let children = children
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok());
        let all: Vec<i32> = [pid].into_iter().chain(children).collect();
        for pid in &all {
            if let Some(pid) = rustix::process::Pid::from_raw(*pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        let _ = self.child.wait();
        // A process that still holds the shared memory would prevent the next server's start.
        wait_until("the server's end", || !all.iter().any(|pid| is_alive(*pid)));
    }

    /// Starts it again at the same place.
    pub(crate) fn restart(&mut self) {
        let as_root = rustix::process::geteuid().is_root();
        self.child = serve(&programs().unwrap(), &self.home, as_root);
        self.wait();
    }

    fn wait(&mut self) {
        wait_until("an answer of the server", || {
            assert!(self.child.try_wait().unwrap().is_none(), "it has ended");
            postgres::Client::connect(&self.url(), postgres::NoTls).is_ok()
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// True if a process still exists; a zombie, whose parent has not waited for it, does not count.
fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_some_and(|rest| !rest.starts_with(['Z', 'X']))
}

/// The folder of the server's programs: on the path, or Debian's.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    places.extend(versions.map(|version| version.path().join("bin")));
    places
        .into_iter()
        .find(|dir| dir.join("initdb").is_file() && dir.join("postgres").is_file())
}

fn program(path: &Path, as_root: bool) -> Command {
    if !as_root {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(words("--reuid=postgres --regid=postgres --init-groups --"));
    command.arg(path);
    command
}

fn serve(programs: &Path, home: &TempDir, as_root: bool) -> Child {
    let mut server = program(&programs.join("postgres"), as_root);
    server.arg("-D").arg(home.path().join("data"));
    server
        .arg("-k")
        .arg(home.path())
        .args(["-c", "listen_addresses="]);
    server.args(["-c", "max_connections=10", "-c", "shared_buffers=4MB"]);
    server
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    server.spawn().unwrap()
}
