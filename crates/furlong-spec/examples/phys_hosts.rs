//! Measures the plug and unplug of 64 ordinary frames beside many ranges that host their own
//! descriptors: beside 12,000 of them against beside 1,000, by turns, below, amid and above them.
//!
//! `cargo run --release -p furlong-spec --example phys_hosts`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its answer")]

use std::mem::MaybeUninit;
use std::time::Instant;

use furlong::addr::{Address, Extent, Pfn};
use furlong::phys::{Descriptor, SegmentTable, Standard};

const HOSTS: [u64; 2] = [1_000, 12_000];
/// The first host is at 4 GiB, above the memory of a computer's boot.
const BASE: u64 = 1 << 20;
/// Frames of a host; hosts begin twice as far apart.
const HOST: u64 = 256;
const FRAMES: u64 = 64;
const PAIRS: u32 = 2_000;
const ROUNDS: usize = 15;
/// A descriptor of 16 bytes.
struct Page(
    Pfn,
    #[expect(dead_code, reason = "fills the descriptor")] u64,
);

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        Self(frame, 0)
    }

    fn is_pinned(&self) -> bool {
        self.0.raw() == u64::MAX
    }
}

type Table = SegmentTable<Page, Standard, 4>;

fn frames(start: u64, count: u64) -> Extent<Pfn> {
    Extent::from_len(Pfn::new(start), count).expect("it does not wrap")
}

/// A table with so many hosts.
fn table(hosts: u64) -> Table {
    let table = Table::new();
    let mut segments = table.lock();
    segments.grow_on_heap();
    segments.plug(frames(0, 10)).expect("there is memory");
    segments.start().expect("there is memory");
    for at in 0..hosts {
        let range = frames(BASE + 2 * HOST * at, HOST);
        let bytes = segments.hosted_bytes(range).expect("it has frames");
        let memory: &'static mut [MaybeUninit<u8>] = Box::leak(Box::new_uninit_slice(bytes));
        segments
            .plug_hosted(range, memory)
            .expect("it hosts itself");
    }
    drop(segments);
    table
}

/// Nanoseconds of a plug and an unplug behind one of the hosts.
fn pair_ns(table: &Table, host: u64) -> f64 {
    let beside = frames(BASE + 2 * HOST * host + HOST + 7, FRAMES);
    let mut segments = table.lock();
    let begun = Instant::now();
    for _ in 0..PAIRS {
        segments.plug(beside).expect("there is memory");
        segments.unplug(beside).expect("nobody reads it");
    }
    begun.elapsed().as_nanos() as f64 / f64::from(PAIRS)
}

fn main() {
    let tables = HOSTS.map(table);
    let mut worst = 0.0_f64;
    for (place, half) in [("below", 0), ("amid", 1), ("above", 2)] {
        let mut least = [f64::INFINITY; 2];
        for _ in 0..ROUNDS {
            for ((least, table), hosts) in least.iter_mut().zip(&tables).zip(HOSTS) {
                let ns = pair_ns(table, (hosts - 1) * half / 2);
                *least = least.min(ns);
            }
        }
        for (hosts, ns) in HOSTS.iter().zip(least) {
            println!("{place} {hosts:>6} hosts: {ns:.0} ns a plug and unplug of {FRAMES} frames");
        }
        worst = worst.max(least[1] / least[0]);
    }
    println!("highest ratio: {worst:.2}");
}
