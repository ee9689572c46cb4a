//! A running server.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};

use furlong_lab::record::store::Location;
use tempfile::TempDir;

use super::client::{Reply, get};
use super::crowd;
use crate::lab::{FURLONG, send};

/// The running command; it is killed on drop.
pub(crate) struct Started {
    child: Child,
    /// Its address.
    pub(crate) address: String,
}

/// The command over a store, on any free port.
pub(crate) fn command(location: &Location, more: &[&str]) -> Command {
    let mut command = Command::new(FURLONG);
    command.arg("serve").args(more).arg("--db");
    match location {
        Location::File(path) => command.arg(path),
        Location::Server(url) => command.arg(url),
    };
    if !more.contains(&"--listen") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Started {
    /// Starts a server, and returns after it has printed its address.
    pub(crate) fn over(location: &Location, more: &[&str]) -> Started {
        let mut child = command(location, more).spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("http://")
            .and_then(|rest| rest.strip_suffix('/'));
        let Some(address) = address.map(str::to_owned) else {
            panic!("{line:?} {}", told(&mut child));
        };
        Started { child, address }
    }

    /// Starts a server over a new file with this number of runs and of blocks in each.
    pub(crate) fn filled(runs: u32, blocks: u32, more: &[&str]) -> (TempDir, Started) {
        let home = tempfile::tempdir().unwrap();
        let location = Location::File(home.path().join("runs.db"));
        crowd::fill(&location, runs, blocks);
        let server = Started::over(&location, more);
        (home, server)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        get(&self.address, path)
    }

    /// A page that must exist.
    pub(crate) fn page(&self, path: &str) -> String {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}\n{}", reply.body);
        reply.body
    }

    /// Sends it a signal, waits for its end, and returns the exit status and stderr.
    pub(crate) fn end(mut self, signal: rustix::process::Signal) -> (ExitStatus, String) {
        send(&self.child, signal);
        let status = self.child.wait().unwrap();
        (status, told(&mut self.child))
    }
}

fn told(child: &mut Child) -> String {
    std::io::read_to_string(child.stderr.take().unwrap()).unwrap()
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
