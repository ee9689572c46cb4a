//! Measures pages of `furlong serve` and their statements, in a store of ten thousand runs: `cargo
//! run --release --example serve_cost [RUNS [BLOCKS]]`.
//!
//! Each page is requested once, and then many times, over a connection like a browser's. The output
//! has the time of the whole page and of its statements, from the server's own header.
#![forbid(unsafe_code)]

#[path = "../tests/cli/serve/client.rs"]
mod client;
#[path = "../../furlong-lab/src/serve/tests/crowd.rs"]
mod crowd;

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::process::ExitCode;
use std::{env, thread};

use furlong_lab::record::store::Location;
use furlong_lab::serve::{Hosts, Options, serve};
use furlong_lab::talk::Voice;

/// Number of requests for each page after the first.
const TIMES: usize = 31;

fn main() -> ExitCode {
    let mut numbers = env::args().skip(1).map(|text| text.parse::<u32>());
    let (runs, blocks) = match (
        numbers.next().unwrap_or(Ok(10_000)),
        numbers.next().unwrap_or(Ok(10)),
    ) {
        (Ok(runs), Ok(blocks)) if runs >= 100 && blocks > 0 => (runs, blocks),
        _ => {
            eprintln!("give a number of runs from 100 on, and of blocks");
            return ExitCode::from(2);
        }
    };
    match measure(runs, blocks) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(runs: u32, blocks: u32) -> io::Result<()> {
    let home = tempfile::tempdir()?;
    let location = Location::File(home.path().join("runs.db"));
    crowd::fill(&location, runs, blocks);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let options = Options {
        location,
        hosts: Hosts::default(),
        voice: Voice::Quiet,
    };
    // The thread ends with the process.
    thread::spawn(move || serve(listener, &options, || Ok(())));
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{runs} runs, {blocks} blocks each; milliseconds, the median of {TIMES}"
    )?;
    writeln!(
        out,
        "{:>10} {:>8} {:>8} {:>6} {:>7}  page",
        "statements", "queries", "page", "ratio", "first"
    )?;
    for path in paths(runs) {
        let first = timing(&address, &path);
        let mut all: Vec<Timing> = (0..TIMES).map(|_| timing(&address, &path)).collect();
        let queries = median(&mut all, |one| one.queries_ms);
        let page = median(&mut all, |one| one.page_ms);
        let (statements, ratio) = (all[0].statements, page / queries);
        let first = first.page_ms / first.queries_ms;
        writeln!(
            out,
            "{statements:>10} {queries:>8.2} {page:>8.2} {ratio:>6.2} {first:>7.2}  {path}"
        )?;
    }
    Ok(())
}

fn paths(runs: u32) -> Vec<String> {
    let (run, base) = (runs - 5, runs - 8);
    [
        "/".to_owned(),
        "/experiments/steady".to_owned(),
        "/experiments/steady?machine=m1&tag=release".to_owned(),
        format!("/runs/run{run}"),
        format!("/runs/run{run}.json"),
        format!("/compare?base=run{base}&with=run{run}"),
        "/metric?experiment=steady&workload=plain&arm=b".to_owned(),
        "/metric?experiment=steady&workload=plain&arm=b&last=1000".to_owned(),
    ]
    .into()
}

/// The figures in the server's header of a page.
struct Timing {
    statements: u32,
    queries_ms: f64,
    page_ms: f64,
}

fn timing(address: &str, path: &str) -> Timing {
    let reply = client::get(address, path);
    assert_eq!(reply.status, 200, "{path}\n{}", reply.body);
    let said = reply.header("server-timing");
    let mut times = said.split("dur=").skip(1).map(|rest| {
        let number = rest.split(',').next().unwrap_or_default();
        number.parse().unwrap_or(f64::NAN)
    });
    Timing {
        statements: reply.statements(),
        queries_ms: times.next().unwrap_or(f64::NAN),
        page_ms: times.next().unwrap_or(f64::NAN),
    }
}

fn median(all: &mut [Timing], of: impl Fn(&Timing) -> f64) -> f64 {
    all.sort_by(|a, b| of(a).total_cmp(&of(b)));
    of(&all[all.len() / 2])
}
