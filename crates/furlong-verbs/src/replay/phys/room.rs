//! Check that a machine has enough memory for a replay.

use std::fs;

/// Divisor of the free memory: one part in so many may be used.
const SHARE: u64 = 2;

/// Free bytes that are assumed if the system does not report them.
const UNKNOWN: u64 = 4 << 30;

/// Bytes available to a new program.
fn available() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map_or(UNKNOWN, |kib| kib.saturating_mul(1024))
}

/// The reason if `bytes` bytes are not available, otherwise `None`.
pub(super) fn refusal(bytes: u64) -> Option<String> {
    let most = available() / SHARE;
    (bytes > most).then(|| {
        format!(
            "it would need {:.1} GiB, and {:.1} are allowed",
            gib(bytes),
            gib(most)
        )
    })
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}
