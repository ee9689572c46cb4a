//! Whether a machine has the memory that a replay would take.
#![forbid(unsafe_code)]

use std::fs;

/// Of what is free, so much may be taken: one part in so many.
const SHARE: u64 = 2;

/// What is assumed to be free where the system does not say.
const UNKNOWN: u64 = 4 << 30;

/// Bytes that the system could give to a new program.
fn available() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map_or(UNKNOWN, |kib| kib.saturating_mul(1024))
}

/// Why so many bytes cannot be had, if they cannot.
pub(super) fn refusal(bytes: u64) -> Option<String> {
    let most = available() / SHARE;
    (bytes > most).then(|| {
        format!(
            "it would take {:.1} GiB, and {:.1} may be taken",
            gib(bytes),
            gib(most)
        )
    })
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}
