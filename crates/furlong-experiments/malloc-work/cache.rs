//! False sharing, after the two benchmarks of Hoard (ASPLOS 2000).
//!
//! Each thread allocates a small block, writes to it repeatedly, and frees it. Two ways of placing
//! blocks make threads slow each other down:
//! - parts of one cache line are handed out to several threads (`given=0`, Hoard's cache-thrash)
//! - a thread reuses its part of a line that another thread allocated (`given=1`, Hoard's
//!   cache-scratch: each thread's first block comes from the main thread)
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::sync::Mutex;

use crate::block::{Bytes, Marked};
use crate::clock::timed;
use crate::options::Options;
use crate::said::Said;
use crate::threads::on_threads;

pub(crate) fn run(options: &Options) -> Said {
    let threads = options.size("threads");
    let (size, writes) = (options.size("size"), options.take("writes").max(1));
    let given = options.take("given") != 0;
    let each = options.take("operations").div_ceil(threads as u64);
    options.done();
    let block = |_| Mutex::new(given.then(|| Marked::new(size)));
    let first: Vec<Mutex<Option<Marked>>> = (0..threads).map(block).collect();
    let done = timed(|| {
        on_threads(threads, |thread| {
            if let Some(block) = first[thread].lock().expect("nobody panics").take() {
                block.free();
            }
            (0..each)
                .map(|turn| scribble(size, writes, turn))
                .fold(0, u64::wrapping_add)
        })
    });
    Said::new(each * threads as u64, done)
}

/// Writes to every byte of a block `writes` times.
fn scribble(size: usize, writes: u64, turn: u64) -> u64 {
    let mut bytes = Bytes::new(size, turn as u8);
    for _ in 0..writes {
        for byte in bytes.iter_mut() {
            *byte = black_box(byte.wrapping_add(1));
        }
    }
    let last = bytes.iter().map(|byte| u64::from(*byte)).sum();
    bytes.free();
    last
}
