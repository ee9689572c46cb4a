//! Memory of this process over time, read without the allocator that is measured.
#![forbid(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::block::mapped;
use crate::said::die;

/// One reading, and the time that it took.
#[derive(Default)]
struct Reading {
    at_ns: AtomicU64,
    resident_kib: AtomicU64,
    peak_kib: AtomicU64,
    spent_ns: AtomicU64,
}

/// Files that tell of this process, and the readings.
pub(crate) struct Gauge {
    status: File,
    /// Resets the peak; not every kernel has it.
    reset: Option<File>,
    began: Instant,
    readings: &'static [Reading],
    next: AtomicUsize,
}

impl Gauge {
    pub(crate) fn new(readings: usize) -> Self {
        let Ok(status) = File::open("/proc/self/status") else {
            die("/proc/self/status cannot be read: mount /proc");
        };
        Self {
            status,
            reset: OpenOptions::new()
                .write(true)
                .open("/proc/self/clear_refs")
                .ok(),
            began: Instant::now(),
            readings: mapped(readings, Reading::default),
            next: AtomicUsize::new(0),
        }
    }

    /// Waits for a time, reads the memory and resets the peak. Only one thread may do so at a time.
    pub(crate) fn read(&self, at: Duration) {
        let began = self.began.elapsed();
        thread::sleep(at.saturating_sub(began));
        let mut text = [0; 4096];
        let len = self.status.read_at(&mut text, 0).unwrap_or(0);
        let text = &text[..len];
        if let Some(mut reset) = self.reset.as_ref() {
            // A kernel without it has a peak of all the time, which is right at the end.
            let _ = reset.write_all(b"5");
        }
        let place = self.next.fetch_add(1, Ordering::SeqCst);
        let Some(reading) = self.readings.get(place) else {
            return;
        };
        let put = |into: &AtomicU64, value| into.store(value, Ordering::SeqCst);
        put(&reading.at_ns, began.as_nanos() as u64);
        put(&reading.resident_kib, kib(text, b"VmRSS:"));
        put(&reading.peak_kib, kib(text, b"VmHWM:"));
        let spent = self.began.elapsed() - began;
        put(&reading.spent_ns, spent.as_nanos() as u64);
    }

    fn taken(&self) -> &[Reading] {
        let taken = self.next.load(Ordering::SeqCst);
        &self.readings[..taken.min(self.readings.len())]
    }

    /// The time that all readings took.
    pub(crate) fn spent_ns(&self) -> u64 {
        let spent = |reading: &Reading| reading.spent_ns.load(Ordering::SeqCst);
        self.taken().iter().map(spent).sum()
    }

    /// A line for each reading: its time without that of the readings before it, resident and peak.
    pub(crate) fn lines(&self) -> Vec<String> {
        let get = |from: &AtomicU64| from.load(Ordering::SeqCst);
        let mut spent = 0;
        let line = |reading: &Reading| {
            let at = get(&reading.at_ns) - spent;
            spent += get(&reading.spent_ns);
            let (resident, peak) = (get(&reading.resident_kib), get(&reading.peak_kib));
            format!("sample {at} {resident} {peak}")
        };
        self.taken().iter().map(line).collect()
    }
}

/// The number behind a name in `/proc/self/status`.
fn kib(text: &[u8], name: &[u8]) -> u64 {
    let at = text.windows(name.len()).position(|part| part == name);
    let rest = at.map_or(&[][..], |at| &text[at + name.len()..]);
    let digits = rest.iter().skip_while(|byte| !byte.is_ascii_digit());
    let digits = digits.take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}
