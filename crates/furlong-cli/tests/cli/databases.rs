//! Locations of a store: a new file, or a new database of a server that the test starts.

use std::fs;
use std::io::{self, Write as _};
use std::net::TcpListener;
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
    /// Port on 127.0.0.1, if it listens there.
    port: Option<u16>,
}

/// Sections of openssl's configuration: an authority, and a server named `localhost`.
const CERTIFICATES: &str = "[req]
distinguished_name = name
prompt = no
[name]
CN = lab
[authority]
basicConstraints = critical, CA:TRUE
subjectKeyIdentifier = hash
[server]
basicConstraints = CA:FALSE
subjectAltName = DNS:localhost
";

/// Local clients as they like, others by TLS only.
const RULES: &str = "local all all trust\nhostssl all all 127.0.0.1/32 trust\n";

impl Server {
    /// Starts a server; `None`, with a note, without PostgreSQL.
    pub(crate) fn start() -> Option<Server> {
        Server::prepared(None)
    }

    /// Starts one that other hosts reach by TLS only; its certificate is for `localhost`.
    pub(crate) fn encrypted() -> Option<Server> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        Server::prepared(Some(free.unwrap().port()))
    }

    fn prepared(port: Option<u16>) -> Option<Server> {
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
        if port.is_some() {
            fs::write(home.path().join("data/pg_hba.conf"), RULES).unwrap();
            // Not on the command line, which would take precedence over a later change.
            fs::write(home.path().join("data/postgresql.auto.conf"), "ssl = on\n").unwrap();
            certify(&home.path().join("data"), as_root);
        }
        let child = serve(&programs, &home, port, as_root);
        let mut server = Server { home, child, port };
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
        let port = self.port.unwrap_or(5432);
        format!("postgres:///postgres?host={socket}&user=lab&port={port}")
    }

    /// The same over TCP, by a name and with further parameters.
    pub(crate) fn remote_url(&self, host: &str, parameters: &str) -> String {
        let port = self.port.unwrap();
        format!("postgres://lab@{host}:{port}/postgres?{parameters}")
    }

    /// A file of its data.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.path().join("data").join(name)
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
        self.child = serve(&programs().unwrap(), &self.home, self.port, as_root);
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

/// Makes an authority, another one, and the server's certificate by the first.
fn certify(data: &Path, as_root: bool) {
    fs::write(data.join("openssl.cnf"), CERTIFICATES).unwrap();
    let new =
        "req -x509 -config openssl.cnf -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for (name, more) in [
        ("ca", "-extensions authority"),
        ("other", "-extensions authority -subj /CN=other"),
        ("server", "-extensions server -CA ca.crt -CAkey ca.key"),
    ] {
        let mut openssl = program(Path::new("openssl"), as_root);
        openssl.current_dir(data).args(words(new)).args(words(more));
        openssl.args([
            "-keyout",
            &format!("{name}.key"),
            "-out",
            &format!("{name}.crt"),
        ]);
        ended(0, &openssl.output().unwrap());
    }
}

fn serve(programs: &Path, home: &TempDir, port: Option<u16>, as_root: bool) -> Child {
    let mut server = program(&programs.join("postgres"), as_root);
    server.arg("-D").arg(home.path().join("data"));
    server.arg("-k").arg(home.path());
    match port {
        None => server.args(["-c", "listen_addresses="]),
        Some(port) => server
            .args(words("-c listen_addresses=127.0.0.1 -p"))
            .arg(port.to_string()),
    };
    server.args(["-c", "max_connections=10", "-c", "shared_buffers=4MB"]);
    server
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    server.spawn().unwrap()
}
