//! Makes random calls to the running kernel and to the specification of address spaces, for as long
//! as the caller likes.
//!
//! `cargo run --release -p furlong-spec --example vmspace_kernel -- [CALLS] [SEED]`: CALLS calls,
//! 1,000,000 by default. Prints what was compared, and stops at the first call with another result
//! in the kernel.
#![deny(unsafe_code)]
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]

use std::process::ExitCode;

use furlong_spec::long_run;

#[cfg(target_os = "linux")]
#[path = "../tests/vmspace_kernel/kernel/mod.rs"]
mod kernel;

/// The number of calls to one process.
#[cfg(target_os = "linux")]
const CALLS: u64 = 100_000;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    long_run("CALLS", 1_000_000, |calls, first| {
        if let Some(reason) = kernel::unable() {
            println!("SKIPPED: {reason}");
            return Ok(());
        }
        let mut rest = calls;
        for seed in first.. {
            let tally = kernel::compare(rest.min(CALLS), seed)?;
            println!("seed {seed}: {tally}");
            if let Some(call) = tally.lacks().filter(|_| calls >= CALLS) {
                return Err(format!("{call} was not compared"));
            }
            rest -= tally.calls().min(rest);
            if rest == 0 {
                println!("{calls} calls, seeds {first} to {seed}");
                break;
            }
        }
        Ok(())
    })
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!("SKIPPED: this is not Linux");
    ExitCode::SUCCESS
}
