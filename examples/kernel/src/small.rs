//! The first heap: 64 KiB of a static, before anything is known of memory.
//!
//! It serves all of Rust's collections while [`run`] uses it. Then none of its blocks is left, and
//! the heap of `malloc` serves them.
#![forbid(unsafe_code)]

use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};

use furlong::check::Check;
use furlong::malloc::{SmallGlobal, StaticRegion};
use furlong::sync::SpinLock;

use crate::serial::say;

const LEN: usize = 64 << 10;

static REGION: StaticRegion<LEN> = StaticRegion::new();
/// There is one processor, and no handler allocates: the lock never spins.
static HEAP: SmallGlobal<SpinLock, StaticRegion<LEN>> = SmallGlobal::new(SpinLock::new(), &REGION);

static IS_SERVING: AtomicBool = AtomicBool::new(false);

/// The heap, while it serves all requests.
pub(crate) fn serving() -> Option<&'static SmallGlobal<SpinLock, StaticRegion<LEN>>> {
    IS_SERVING.load(Ordering::SeqCst).then_some(&HEAP)
}

/// A byte and a length for the block of a number.
fn shape(number: usize) -> (u8, usize) {
    ((number * 7 + 1) as u8, 1 + number * number % 3000)
}

/// A block of a number, or nothing if the heap has no room for it in the list.
fn add(blocks: &mut Vec<(usize, Vec<u8>)>, number: usize) -> Result<(), TryReserveError> {
    let (byte, len) = shape(number);
    let mut block = Vec::new();
    block.try_reserve_exact(len)?;
    blocks.try_reserve(1)?;
    block.resize(len, byte);
    blocks.push((number, block));
    Ok(())
}

/// True if every byte is the written one.
fn holds((number, block): &(usize, Vec<u8>)) -> bool {
    let (byte, len) = shape(*number);
    block.len() == len && block.iter().all(|found| *found == byte)
}

/// Adds blocks, and drops a third of them whenever one is refused. Returns the number of refusals,
/// and the most bytes in use.
fn fill() -> (usize, usize) {
    let mut blocks = Vec::new();
    let (mut refused, mut most) = (0, 0);
    for number in 0..2000 {
        if add(&mut blocks, number).is_err() {
            assert!(blocks.iter().all(holds), "each block is as it was written");
            refused += 1;
            most = most.max(HEAP.lock().statistics().used_bytes);
            // Room again, but in pieces.
            blocks.retain(|(number, _)| number % 3 != refused % 3);
        }
        HEAP.lock().check().expect("every invariant holds");
    }
    (refused, most)
}

/// Uses the heap to its end again and again, and sees it empty at last.
pub(crate) fn run() {
    IS_SERVING.store(true, Ordering::SeqCst);
    let (refused, most) = fill();
    IS_SERVING.store(false, Ordering::SeqCst);
    let after = HEAP.lock().statistics();
    assert_eq!(after.used_blocks, 0, "all of it is free again");
    assert_eq!(after.longest_free_bytes, after.free_bytes, "in one piece");
    assert!(refused > 0, "it was full");
    say!(
        "small",
        "a heap of {LEN} bytes, {most} of them in use at most; {refused} requests refused when it \
         was full, nothing lost; {} bytes free again in one piece",
        after.free_bytes,
    );
}
