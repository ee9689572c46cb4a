//! Resident memory of a process through the phases of its life:
//! - many small blocks, all of them freed, then a little work
//! - large blocks, freed, and two idle seconds
//! - many short threads that leave a block each
//! - threads with much to free
//! - a producer with a consumer
#![forbid(unsafe_code)]

use std::fs;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use crate::block::Marked;
use crate::clock::timed;
use crate::options::Options;
use crate::said::{Said, die};

/// KiB of a page, as the kernel counts them here.
const PAGE_KIB: u64 = 4;

/// Figures by name, in the order of the phases.
type Figures = Vec<(&'static str, u64)>;

pub(crate) fn run(options: &Options) -> Said {
    let blocks = options.take("operations");
    let idle = Duration::from_millis(options.take("idle_ms"));
    options.done();
    let mut figures = vec![("start_rss_kib", resident_kib())];
    let ((), elapsed) = timed(|| {
        small(blocks as usize, idle, &mut figures);
        large(blocks as usize / 1000, idle, &mut figures);
        let left = short_threads(blocks as usize / 500, &mut figures);
        greedy_threads(blocks as usize / 10_000, &mut figures);
        pass_on(blocks as usize * 3 / 2, &mut figures);
        left.into_iter().for_each(Marked::free);
    });
    Said {
        operations: blocks,
        elapsed,
        digest: blocks,
        more: figures,
        lines: vec![],
    }
}

/// Resident memory of the whole process.
pub(crate) fn resident_kib() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    match pages {
        Some(pages) => pages * PAGE_KIB,
        None => die("/proc/self/statm cannot be read"),
    }
}

fn blocks(count: usize, len: usize) -> Vec<Marked> {
    let block = |_| {
        let mut block = Marked::new(len);
        block.touch();
        block
    };
    (0..count).map(block).collect()
}

/// Blocks of 100 bytes: live, just freed, and after a pause and 2,000 pairs.
fn small(count: usize, idle: Duration, figures: &mut Figures) {
    let live = blocks(count, 100);
    figures.push(("live_rss_kib", resident_kib()));
    live.into_iter().for_each(Marked::free);
    figures.push(("freed_rss_kib", resident_kib()));
    thread::sleep(idle);
    (0..2000).for_each(|_| Marked::new(100).free());
    figures.push(("later_rss_kib", resident_kib()));
}

/// Blocks of 100,000 bytes: freed, and after a pause without any call.
fn large(count: usize, idle: Duration, figures: &mut Figures) {
    blocks(count, 100_000).into_iter().for_each(Marked::free);
    thread::sleep(idle);
    figures.push(("large_freed_rss_kib", resident_kib()));
}

/// Threads that each leave a block of 256 bytes and free another hundred.
fn short_threads(count: usize, figures: &mut Figures) -> Vec<Marked> {
    let live = || {
        let mut live = blocks(101, 256);
        let last = live.pop().expect("there are 101");
        live.into_iter().for_each(Marked::free);
        last
    };
    let left = (0..count).map(|_| thread::spawn(live).join().expect("it ends"));
    let left = left.collect();
    figures.push(("threads_rss_kib", resident_kib()));
    left
}

/// Successive threads of 10 MiB each.
fn greedy_threads(count: usize, figures: &mut Figures) {
    for _ in 0..count {
        let work = || {
            blocks(10 << 10, 1 << 10).into_iter().for_each(Marked::free);
        };
        thread::spawn(work).join().expect("it ends");
    }
    figures.push(("greedy_rss_kib", resident_kib()));
}

/// Blocks of 200 bytes that one thread allocates and another frees.
fn pass_on(count: usize, figures: &mut Figures) {
    let (sender, receiver) = sync_channel::<Vec<Marked>>(16);
    let consumer = thread::spawn(move || {
        receiver.iter().flatten().for_each(Marked::free);
    });
    for _ in 0..count / 100 {
        sender.send(blocks(100, 200)).expect("somebody frees them");
    }
    drop(sender);
    consumer.join().expect("it ends");
    figures.push(("passed_rss_kib", resident_kib()));
}
