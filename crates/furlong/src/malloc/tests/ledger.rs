//! The memory that a fixed stream leaves in an allocator, and its calls of the system, to the last
//! byte. A change that is meant to alter how much is kept or given back must alter these figures
//! and say why. In any other change a new figure is a mistake that no block shows.

use core::ptr;
use std::thread;

use super::super::{Checked, Hardening, NoHardening};
use super::source::{Call, Source};
use super::{Sourced as Tested, numbers, with_new};
use crate::sync::atomic::{AtomicBool, Ordering};

/// A size: mostly small, sometimes of a page or more, rarely of megabytes.
fn size(below: &mut impl FnMut(usize) -> usize) -> usize {
    let most = match below(100) {
        0 => 3 << 20,
        1..6 => 300_000,
        6..20 => 9000,
        _ => 500,
    };
    1 + below(most)
}

/// Fields of the statistics, summed over a stream, and the bytes given back to and moved by the
/// system.
#[derive(Debug, Default, PartialEq)]
struct Ledger {
    used: [usize; 2],
    free_bytes: usize,
    dirty_bytes: usize,
    arena_bytes: usize,
    huge: [usize; 2],
    heaps: [usize; 2],
    unmapped: usize,
    purged: usize,
    resized: usize,
}

impl Ledger {
    fn note<H: Hardening + 'static>(&mut self, malloc: Tested<H>) {
        let now = malloc.statistics();
        self.used[0] += now.used_blocks;
        self.used[1] += now.used_bytes;
        self.free_bytes += now.free_bytes;
        self.dirty_bytes += now.dirty_bytes;
        self.arena_bytes += now.arena_bytes;
        self.huge[0] += now.huge_blocks;
        self.huge[1] += now.huge_bytes;
        self.heaps[0] += now.heaps_running;
        self.heaps[1] += now.heaps_ended;
    }
}

/// Allocates, resizes and frees blocks, now and then in another thread; time passes.
fn ledger<H: Hardening + 'static>(steps: usize) -> Ledger {
    let source = Source {
        moves: AtomicBool::new(true),
        ..Source::default()
    };
    with_new(source, move |malloc: Tested<H>| {
        let mut below = numbers(1);
        let mut places = [0_usize; 700];
        let mut ledger = Ledger::default();
        let block = |at: usize| ptr::with_exposed_provenance_mut::<u8>(at);
        for step in 1..=steps {
            let place = below(places.len());
            let size = size(&mut below);
            let old = block(places[place]);
            places[place] = if places[place] != 0 && below(6) == 0 {
                // SAFETY: a live object, which the result replaces.
                unsafe { malloc.resize(old, size, 16) }.expose_provenance()
            } else {
                // SAFETY: nobody uses it any more; null is ignored.
                unsafe { malloc.free(old) };
                match below(5) {
                    0 | 1 => 0,
                    2 => malloc.allocate_zeroed(size, 16).expose_provenance(),
                    3 => malloc
                        .allocate_aligned(size, 16 << below(10))
                        .expose_provenance(),
                    _ => malloc.allocate(size).expose_provenance(),
                }
            };
            if step % 500 == 0 {
                ledger.note(malloc);
            }
            if step % 1000 == 0 {
                add_time(malloc, below(900) as u64);
            }
            if step % 4000 == 0 {
                let from = below(500);
                let theirs: Vec<usize> = places[from..from + 200]
                    .iter_mut()
                    .map(core::mem::take)
                    .collect();
                let other = thread::spawn(move || {
                    for at in theirs {
                        // SAFETY: nobody uses it any more.
                        unsafe { malloc.free(block(at)) };
                    }
                    // SAFETY: its own block.
                    unsafe { malloc.free(malloc.allocate(100)) };
                    malloc.end_thread();
                });
                other.join().expect("it frees");
            }
        }
        for at in places {
            // SAFETY: nobody uses it any more.
            unsafe { malloc.free(block(at)) };
        }
        ledger.note(malloc);
        malloc.trim();
        ledger.note(malloc);
        malloc.check().expect("nothing is broken");
        assert_eq!(malloc.statistics().used_blocks, 0);
        let source = malloc.source();
        ledger.unmapped = source.bytes(Call::Unmap);
        ledger.purged = source.bytes(Call::Purge);
        ledger.resized = source.bytes(Call::Relocate);
        ledger
    })
}

fn add_time<H: Hardening + 'static>(malloc: Tested<H>, ms: u64) {
    malloc.source().now.fetch_add(ms, Ordering::SeqCst);
}

/// The figures so far; checks do not change them.
fn as_ever() -> Ledger {
    Ledger {
        used: [51813, 1_380_432_400],
        free_bytes: 197_695_072,
        dirty_bytes: 1_166_974_976,
        arena_bytes: 2_877_292_544,
        huge: [196, 532_815_872],
        heaps: [122, 114],
        unmapped: 134_012_928,
        purged: 67_547_136,
        resized: 97_697_792,
    }
}

#[test]
fn a_fixed_stream_leaves_what_it_ever_left() {
    assert_eq!(ledger::<NoHardening>(60_000), as_ever());
}

#[test]
fn a_fixed_stream_leaves_with_checks_what_it_ever_left() {
    assert_eq!(ledger::<Checked>(60_000), as_ever());
}
