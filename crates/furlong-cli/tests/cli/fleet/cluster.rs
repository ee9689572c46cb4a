//! Munge, a controller and three nodes of Slurm on this machine, for one test.
//!
//! A node has its own PID namespace. It can thus be switched off: all its processes end at once. A
//! cluster ends with its test, even one that fails.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::lab::{Home, ended, wait_until, words};

/// The nodes.
pub(crate) const NODES: [&str; 3] = ["n1", "n2", "n3"];

/// Only one cluster at a time: each has three nodes.
static TURN: Mutex<()> = Mutex::new(());

/// A running cluster.
pub(crate) struct Cluster {
    pub(crate) home: Home,
    daemons: Vec<(String, Child)>,
    _turn: MutexGuard<'static, ()>,
}

impl Cluster {
    /// Starts a cluster; `None` if Slurm is not installed, or this user lacks the permissions.
    pub(crate) fn start() -> Option<Cluster> {
        let has = |program: &str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).any(|dir| dir.join(program).exists())
        };
        let needed = words("munged slurmctld slurmd sbatch unshare setpriv");
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || !needed.into_iter().all(has) {
            eprintln!("there is no Slurm that root could start: nothing is tested here");
            assert!(
                std::env::var_os("CI").is_none(),
                "Slurm is to be installed there"
            );
            return None;
        }
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cluster = Cluster {
            home: Home::new(),
            daemons: vec![],
            _turn: turn,
        };
        cluster.configure();
        cluster.munge();
        let conf = cluster.conf().display().to_string();
        cluster.daemon("slurmctld", &["slurmctld", "-D", "-f", &conf]);
        NODES.iter().for_each(|node| cluster.switch_on(node));
        cluster.wait_until("three idle nodes", |cluster| {
            cluster.slurm("sinfo", &["-h", "-o", "%T %D"]).trim() == "idle 3"
        });
        Some(cluster)
    }

    fn conf(&self) -> PathBuf {
        self.home.path("slurm/slurm.conf")
    }

    fn configure(&self) {
        let place = self.home.path("slurm");
        fs::create_dir_all(place.join("state")).unwrap();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap().to_owned();
        // All ports stay open until all are known: no port is given twice.
        let ports: Vec<TcpListener> = (0..4)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let port = |index: usize| ports[index].local_addr().unwrap().port();
        let mut text = include_str!("slurm.conf")
            .replace("PLACE", &place.display().to_string())
            .replace("HOST", &host)
            .replace("PORT", &port(0).to_string());
        for (index, node) in NODES.iter().enumerate() {
            text += &format!(
                "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1 Boards=1 \
                 SocketsPerBoard=1 CoresPerSocket=1 ThreadsPerCore=1 RealMemory=100\n",
                port(index + 1)
            );
        }
        fs::write(self.conf(), text).unwrap();
    }

    fn munge(&mut self) {
        let path = |name: &str| {
            self.home
                .path(&format!("slurm/{name}"))
                .display()
                .to_string()
        };
        let mut key = fs::OpenOptions::new();
        let mut key = key
            .write(true)
            .create_new(true)
            .mode(0o400)
            .open(path("key"))
            .unwrap();
        let mut bytes = [0; 128];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).unwrap();
        key.write_all(&bytes).unwrap();
        let options = [
            "munged".to_owned(),
            "--foreground".to_owned(),
            "--force".to_owned(),
            format!("--key-file={}", path("key")),
            format!("--socket={}", path("munge.socket")),
            format!("--pid-file={}", path("munge.pid")),
            format!("--seed-file={}", path("munge.seed")),
        ];
        let socket = path("munge.socket");
        self.daemon("munged", &options.each_ref().map(String::as_str));
        self.wait_until("munge", |_| fs::exists(&socket).unwrap());
    }

    fn daemon(&mut self, name: &str, words: &[&str]) {
        let log = fs::File::create(self.home.path(&format!("slurm/{name}.out"))).unwrap();
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .args(words)
            .env("SLURM_CONF", self.conf())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.daemons.push((name.to_owned(), child));
    }

    /// Starts a node.
    pub(crate) fn switch_on(&mut self, node: &str) {
        let conf = self.conf().display().to_string();
        let alone = "unshare --pid --mount-proc --fork --kill-child=KILL slurmd -D";
        self.daemon(node, &words(&format!("{alone} -f {conf} -N {node}")));
    }

    /// Ends every process of a node, like a power failure.
    pub(crate) fn switch_off(&mut self, node: &str) {
        let place = self
            .daemons
            .iter()
            .position(|(name, _)| name == node)
            .unwrap();
        let (_, mut child) = self.daemons.swap_remove(place);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Runs a program of Slurm; returns its output.
    pub(crate) fn slurm(&self, program: &str, words: &[&str]) -> String {
        let output = Command::new(program)
            .args(words)
            .env("SLURM_CONF", self.conf())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts `furlong`.
    pub(crate) fn spawn(&self, words: &[&str]) -> Child {
        self.command(words).spawn().unwrap()
    }

    /// Runs `furlong`, checks the exit code, and returns stdout and stderr.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, words: &[&str]) -> (String, String) {
        ended(code, &self.command(words).output().unwrap())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.home.furlong(words);
        command.env("SLURM_CONF", self.conf());
        command
    }

    /// The running tasks: their numbers in the array and their nodes.
    pub(crate) fn running(&self) -> Vec<(String, String)> {
        let said = self.slurm("squeue", &["-h", "-r", "-t", "running", "-o", "%F_%K %N"]);
        let lines = said.lines().filter_map(|line| line.split_once(' '));
        lines
            .map(|(task, node)| (task.to_owned(), node.to_owned()))
            .collect()
    }

    /// Waits for a condition, and fails if it does not hold in time.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&Cluster) -> bool) {
        wait_until(what, || is_so(self));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (_, child) in &mut self.daemons {
            // It may already have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
