//! Memory returned to the system: after a peak of which part stays, and over days with busy and
//! quiet hours.
//!
//! Sizes are mostly small, with a tail. The part of the peak that stays was allocated together, as
//! long-lived blocks mostly are.
#![forbid(unsafe_code)]

use std::thread;
use std::time::{Duration, Instant};

use crate::block::Marked;
use crate::clock::timed;
use crate::options::Options;
use crate::phases::resident_kib;
use crate::random::Random;
use crate::said::Said;

/// Live blocks at night and at noon.
const NIGHT: usize = 4_000;
const NOON: usize = 40_000;

/// Replacements in an hour.
const HOUR: usize = 8_000;

/// One operation is one MiB of the peak.
pub(crate) fn run(options: &Options) -> Said {
    let (peak, stays) = (
        options.size("operations") << 20,
        options.size("stays_mib") << 20,
    );
    let wait = Duration::from_millis(options.take("wait_ms"));
    let days = options.size("days");
    let mut random = Random::of_thread(options.take("seed"), 0);
    options.done();
    let ((digest, more), elapsed) = timed(|| {
        let (live, mut more) = after_peak(peak, stays, wait, &mut random);
        more.push(("grown_pct", over_days(days, &mut random)));
        (live, more)
    });
    Said {
        operations: (peak >> 20) as u64,
        elapsed,
        digest,
        more,
        lines: vec![],
    }
}

fn block(random: &mut Random) -> Marked {
    let len = match random.below(100) {
        0 => random.below(600_000),
        1..10 => random.below(30_000),
        _ => random.below(2_000),
    };
    let mut block = Marked::new(len);
    block.touch();
    block
}

/// Fills a peak, then frees all but the part that stays. Returns the bytes of that part. Also
/// returns resident memory beyond that at the start, in per cent of the memory in use: at once, and
/// after a wait with a little work.
fn after_peak(
    peak: usize,
    stays: usize,
    wait: Duration,
    random: &mut Random,
) -> (u64, Vec<(&'static str, u64)>) {
    let own_kib = resident_kib();
    let (mut live, mut rest) = (Vec::new(), Vec::new());
    let (mut bytes, mut all) = (0, 0);
    while all < peak {
        let block = block(random);
        all += block.len();
        if bytes < stays {
            bytes += block.len();
            live.push(block);
        } else {
            rest.push(block);
        }
    }
    rest.into_iter().for_each(Marked::free);
    // The program's list of its blocks is in use, too.
    let in_use = (bytes + live.capacity() * size_of::<Marked>()) as u64;
    let pct = || ((resident_kib() - own_kib) * 1024 * 100).div_ceil(in_use);
    let at_once = pct();
    let began = Instant::now();
    while began.elapsed() < wait {
        (0..100).for_each(|_| block(random).free());
        thread::sleep(Duration::from_millis(5));
    }
    let later = pct();
    live.into_iter().for_each(Marked::free);
    (
        bytes as u64,
        vec![("freed_pct", at_once), ("returned_pct", later)],
    )
}

/// Peak resident memory in the last third of the days, in per cent of the second third's.
fn over_days(days: usize, random: &mut Random) -> u64 {
    let mut held: Vec<Marked> = Vec::with_capacity(NOON);
    let most: Vec<u64> = (0..days.max(3)).map(|_| day(&mut held, random)).collect();
    held.into_iter().for_each(Marked::free);
    let third = most.len() / 3;
    let (early, late) = (&most[third..2 * third], &most[2 * third..]);
    let of = |days: &[u64]| days.iter().copied().max().unwrap_or(1);
    of(late) * 100 / of(early)
}

/// Fills up until noon and empties until night, replacing blocks all the time. Returns the peak
/// resident memory.
fn day(held: &mut Vec<Marked>, random: &mut Random) -> u64 {
    let hours = [NIGHT, NOON / 2, NOON, NOON, NOON / 2, NIGHT];
    let hour = |hour: &usize| {
        while held.len() > *hour {
            held.swap_remove(random.below(held.len())).free();
        }
        while held.len() < *hour {
            held.push(block(random));
        }
        for _ in 0..HOUR {
            let place = random.below(held.len());
            std::mem::replace(&mut held[place], block(random)).free();
        }
        resident_kib()
    };
    hours.iter().map(hour).max().unwrap_or_default()
}
