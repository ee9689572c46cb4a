//! A server whose allocator is measured, and the benchmark that loads it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::real::{Call, installed, succeeded, task};
use crate::process::finished;
use furlong_lab::measure::launch::finished::Usage;
use furlong_lab::measure::launch::launcher::Launcher;
use furlong_lab::model::Failure;

/// Tests of the benchmark.
const TESTS: &str = "set,get,lpush,lrange_100,mset";

/// Attempts to connect to the server, and the pause between two of them.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// Starts a server with the library preloaded, loads it with `requests` requests of each kind, and
/// stops it. Returns the resources used and the final length of its list.
pub(super) fn once(
    launcher: &Launcher,
    library: &Path,
    home: &Path,
    requests: u64,
) -> Result<(Usage, u64), Failure> {
    let socket = home.join("redis.sock").into_os_string();
    let arguments: [OsString; 10] = [
        "--port".into(),
        "0".into(),
        "--unixsocket".into(),
        socket.clone(),
        "--save".into(),
        "".into(),
        "--appendonly".into(),
        "no".into(),
        "--dir".into(),
        home.into(),
    ];
    let call = Call {
        program: installed("redis-server")?,
        arguments: arguments.into(),
        input: "/dev/null".into(),
        settings: vec![],
    };
    let server = task(&call, library, home.join("said"));
    thread::scope(|scope| {
        let served = scope.spawn(|| launcher.run(&server, None));
        let loaded = load(&socket, requests);
        // Stops the server even after a failure.
        let stopped = client(&socket, &["shutdown", "nosave"]);
        let finished = served
            .join()
            .map_err(|_| Failure("the redis-server process was not awaited".to_owned()))?;
        let usage = succeeded("redis-server", finished)?;
        let length = loaded?;
        stopped.map(|_| (usage, length))
    })
}

fn load(socket: &OsString, requests: u64) -> Result<u64, Failure> {
    let is_there = || client(socket, &["ping"]).is_ok_and(|said| said.trim() == "PONG");
    let waits = (0..TRIES).any(|_| {
        let there = is_there();
        if !there {
            thread::sleep(PAUSE);
        }
        there
    });
    if !waits {
        return Err(Failure("redis-server does not answer".to_owned()));
    }
    let mut benchmark = Command::new(installed("redis-benchmark")?);
    benchmark
        .arg("-s")
        .arg(socket)
        .args(["-q", "-P", "16", "-c", "20", "-d", "180", "-t", TESTS])
        .args(["-n", &requests.to_string()]);
    quiet(&mut benchmark)?;
    let length = client(socket, &["llen", "mylist"])?;
    length.trim().parse().map_err(Failure::of)
}

fn client(socket: &OsString, arguments: &[&str]) -> Result<String, Failure> {
    let mut client = Command::new(installed("redis-cli")?);
    client.arg("-s").arg(socket).args(arguments);
    quiet(&mut client)
}

/// Runs a command without the measured libraries and returns its output.
fn quiet(command: &mut Command) -> Result<String, Failure> {
    finished(command.env_remove("LD_PRELOAD"))
}
