//! A candidate's memory over time.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use furlong_experiments::malloc_suite::Done;

/// Bytes of a step.
const STEP_BYTES: usize = 24;

/// A program's memory with one candidate.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Forecast {
    /// The allocator, and its setting as for a shell.
    pub name: String,
    /// The reason if it cannot run the recording.
    pub na: Option<String>,
    /// Largest resident size of the program.
    pub peak_kib: u64,
    /// The heap's part of it.
    pub heap_peak_kib: u64,
    /// Resident size at the end.
    pub end_kib: u64,
    /// Time of all calls, without the program's other work: the shortest of some replays.
    pub calls_ms: f64,
    /// Largest resident size of the program when it really ran with the candidate, if asked.
    pub live_peak_kib: Option<u64>,
    /// The reason if it did not.
    pub live_na: Option<String>,
    /// Memory over time.
    pub series: Vec<Point>,
    /// Blocks at the peak, by size class.
    pub classes: Vec<SizeClass>,
}

/// Memory at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Time since the first sample of the recorded program.
    pub at_ms: f64,
    /// Outside the heap.
    pub own_kib: u64,
    /// The heap.
    pub heap_kib: u64,
    /// Largest size of the heap since the point before.
    pub heap_peak_kib: u64,
}

/// Blocks of similar size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SizeClass {
    /// Largest requested size.
    pub size_max_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes that the program requested.
    pub requested_bytes: u64,
    /// Bytes that the allocator gave; absent if it does not tell.
    pub given_bytes: Option<u64>,
}

impl Forecast {
    /// Takes the result of a replay.
    ///
    /// # Shapes
    ///
    /// `own` are the recorded samples. `base_kib` is the memory of the
    /// replaying program alone, taken from the first result of all.
    pub(super) fn take(
        &mut self,
        done: &Done,
        own: &[[u64; 3]],
        sizes: &[[u64; 2]],
        base_kib: &mut Option<u64>,
    ) {
        let spent = done.more.get("sampling_ns").copied().unwrap_or(0.0);
        let calls_ms = done.elapsed_s * 1e3 - spent / 1e6;
        if !self.series.is_empty() {
            self.calls_ms = self.calls_ms.min(calls_ms);
            return;
        }
        self.calls_ms = calls_ms;
        let samples = numbers(&done.lines, "sample");
        let start = samples.first().map_or(0, |sample| sample[1]);
        let base = *base_kib.get_or_insert(start);
        self.series = series(&samples, own, base);
        let own_before = std::iter::once(self.series.first().map_or(0, |point| point.own_kib));
        let own_before = own_before.chain(self.series.iter().map(|point| point.own_kib));
        for (point, before) in self.series.iter().zip(own_before) {
            let peak = point.heap_peak_kib + point.own_kib.max(before);
            if peak > self.peak_kib {
                self.peak_kib = peak;
                self.heap_peak_kib = point.heap_peak_kib;
            }
        }
        let last = self.series.last().copied().unwrap_or_default();
        self.end_kib = last.own_kib + last.heap_kib;
        self.classes = classes(sizes, &numbers(&done.lines, "usable"));
    }
}

impl Forecast {
    /// Error of the forecast against the live peak, in percent; `None` without one.
    #[must_use]
    pub fn error_pct(&self) -> Option<f64> {
        let live = self.live_peak_kib.filter(|live| *live > 0)?;
        Some((self.peak_kib as f64 / live as f64 - 1.0) * 100.0)
    }
}

/// The numbers of the lines that begin with a word.
fn numbers(lines: &[String], word: &str) -> Vec<Vec<u64>> {
    let of = |line: &String| {
        let mut words = line.split(' ');
        (words.next()? == word).then(|| words.filter_map(|word| word.parse().ok()).collect())
    };
    lines.iter().filter_map(of).collect()
}

/// The points of a series. The sample of the start has no recorded counterpart.
fn series(samples: &[Vec<u64>], own: &[[u64; 3]], base_kib: u64) -> Vec<Point> {
    let pairs = samples.iter().skip(1).zip(own);
    let point = |(sample, [own, at_ns, _]): (&Vec<u64>, &[u64; 3])| {
        let heap = sample[1].saturating_sub(base_kib);
        Point {
            at_ms: *at_ns as f64 / 1e6,
            own_kib: own >> 10,
            heap_kib: heap,
            heap_peak_kib: sample[2].saturating_sub(base_kib).max(heap),
        }
    };
    pairs.map(point).collect()
}

/// The sizes of all blocks that are live after these steps, each with its number of blocks.
pub(super) fn sizes_at(steps: &[u8]) -> Vec<[u64; 2]> {
    let mut live: HashMap<u32, u64> = HashMap::new();
    for step in steps.as_chunks::<STEP_BYTES>().0 {
        let slot = u32::from_le_bytes([step[4], step[5], step[6], step[7]]);
        let size = step[16..].try_into().map_or(0, u64::from_le_bytes);
        match step[12] {
            0 | 1 | 3 => drop(live.insert(slot, size)),
            2 => drop(live.remove(&slot)),
            _ => {}
        }
    }
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    for size in live.into_values() {
        *sizes.entry(size).or_default() += 1;
    }
    sizes
        .into_iter()
        .map(|(size, blocks)| [size, blocks])
        .collect()
}

/// Groups sizes by powers of two. `usable` are the bytes that a block of each size can hold.
fn classes(sizes: &[[u64; 2]], usable: &[Vec<u64>]) -> Vec<SizeClass> {
    let usable: HashMap<u64, u64> = usable.iter().map(|pair| (pair[0], pair[1])).collect();
    let mut classes: BTreeMap<u64, SizeClass> = BTreeMap::new();
    for [size, blocks] in sizes {
        let size_max_bytes = size.next_power_of_two().max(16);
        let class = classes.entry(size_max_bytes).or_insert(SizeClass {
            size_max_bytes,
            given_bytes: Some(0),
            ..SizeClass::default()
        });
        class.blocks += blocks;
        class.requested_bytes += size * blocks;
        let given = usable.get(size).filter(|given| **given > 0);
        class.given_bytes = class
            .given_bytes
            .zip(given)
            .map(|(sum, given)| sum + given * blocks);
    }
    classes.into_values().collect()
}
