//! Memory that runs out at any call, and callers that free invalid blocks. The result is null or a
//! stop, and never a block that belongs to another.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use furlong::malloc::{
    Batched, Checked, Config, Inlined, Linux, Malloc, Misuse, ObjectCache, PageSource, Zone,
    thread_heap,
};

/// Linux, except that the `fail_at`-th call of `map` and all later ones fail; it panics instead of
/// stopping the program.
struct Failing {
    fail_at: usize,
    calls: AtomicUsize,
}

// SAFETY: as Linux; it succeeds less often.
unsafe impl PageSource for Failing {
    fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if call >= self.fail_at {
            None
        } else {
            Linux.map(len, align)
        }
    }

    unsafe fn unmap(&self, start: NonNull<u8>, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { Linux.unmap(start, len) };
    }

    unsafe fn purge(&self, start: NonNull<u8>, len: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { Linux.purge(start, len) }
    }

    /// The same number each time, so that a test is reproducible.
    fn random(&self) -> u64 {
        0x9e37_79b9_7f4a_7c15
    }

    fn stop(&self, misuse: Misuse, _: usize) -> ! {
        resume_unwind(Box::new(misuse))
    }
}

// A thread of a test uses one allocator in its life.
thread_heap!(OfThread);

struct Parts;

impl Config for Parts {
    type Source = Failing;
    type Current = OfThread;
    type Hardening = Checked;
    type Gate = Inlined;
    type Tier = Batched;
}

/// Runs a test with its own allocator, in a thread with enough stack to construct one.
fn with<T: Send>(fail_at: usize, test: impl FnOnce(&'static Malloc<Parts>) -> T + Send) -> T {
    let run = || {
        let source = Failing {
            fail_at,
            calls: AtomicUsize::new(0),
        };
        let place = Linux.map(size_of::<Malloc<Parts>>(), 4096);
        let place = place.expect("there are 3 MiB of addresses").cast();
        // SAFETY: fresh pages; the thread is new, and uses no other allocator in its life.
        unsafe { Malloc::new_at(place, source) };
        // SAFETY: it was made there, and is never freed.
        test(unsafe { place.as_ref() })
    };
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(64 << 20);
        let thread = builder
            .spawn_scoped(scope, run)
            .expect("a thread can be made");
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

const SIZES: [usize; 9] = [0, 16, 100, 1000, 5000, 20_000, 65_000, 200_000, 5 << 20];

#[test]
fn memory_that_ends_at_any_call_gives_null_and_changes_nothing() {
    let mut refused = 0;
    for fail_at in 0..24 {
        refused += with(fail_at, |malloc| {
            let mut held = Vec::new();
            let mut refused = 0;
            for size in SIZES.iter().cycle().take(90).copied() {
                let block = malloc.allocate(size);
                if block.is_null() {
                    refused += 1;
                    continue;
                }
                // SAFETY: a block of at least this size.
                unsafe { block.write_bytes(7, size) };
                // SAFETY: it is live.
                let longer = unsafe { malloc.resize(block, size * 3 + 1, 16) };
                let now = if longer.is_null() { block } else { longer };
                // SAFETY: at least as long as before.
                let bytes = unsafe { std::slice::from_raw_parts(now, size) };
                assert!(bytes.iter().all(|byte| *byte == 7));
                held.push(now);
            }
            malloc
                .check()
                .unwrap_or_else(|broken| panic!("call {fail_at}: {broken}"));
            for block in held {
                // SAFETY: it is live.
                unsafe { malloc.free(block) };
            }
            malloc.trim();
            malloc
                .check()
                .unwrap_or_else(|broken| panic!("call {fail_at}: {broken}"));
            assert_eq!(malloc.statistics().used_blocks, 0, "call {fail_at}");
            refused
        });
    }
    assert!(
        refused > 100,
        "only {refused} allocations met the end of memory"
    );
}

/// A zone and a cache of objects over memory that runs out: a failed request takes nothing.
#[test]
fn a_zone_whose_memory_ends_at_any_call_refuses_and_gives_everything_back() {
    let mut refused = 0;
    for fail_at in 0..16 {
        refused += with(fail_at, |malloc| {
            let mut refused = 0;
            for _ in 0..2 {
                let Some(zone) = Zone::new(malloc) else {
                    return 1;
                };
                let blocks = SIZES.map(|size| zone.allocate(size, 64));
                refused += blocks.iter().filter(|block| block.is_none()).count();
            }
            let Some(cache) = ObjectCache::new(malloc) else {
                return refused + 1;
            };
            match cache.make([5_u64; 700]) {
                Ok(object) => assert_eq!(object[699], 5),
                Err(value) => refused += usize::from(value[699] == 5),
            }
            if cache.reserve::<200>().is_none() {
                refused += 1;
            }
            drop(cache);
            let checked = malloc.check();
            checked.unwrap_or_else(|broken| panic!("call {fail_at}: {broken}"));
            assert_eq!(malloc.statistics().used_blocks, 0, "call {fail_at}");
            refused
        });
    }
    assert!(refused > 20, "only {refused} met the end of memory");
}

/// The misuse that an allocator reports for a misdeed, if it does.
fn stopped_by(misdeed: impl FnOnce(&'static Malloc<Parts>) + Send) -> Option<Misuse> {
    with(usize::MAX, |malloc| {
        let done = catch_unwind(AssertUnwindSafe(|| misdeed(malloc)));
        done.err()
            .and_then(|panic| panic.downcast_ref::<Misuse>().copied())
    })
}

/// Frees an address.
fn free(malloc: &'static Malloc<Parts>, block: *mut u8) {
    // SAFETY: it is no longer used; if it is no block, the allocator must detect that.
    unsafe { malloc.free(block) };
}

#[test]
fn a_second_free_of_any_size_stops_the_program() {
    for size in SIZES {
        let stop = stopped_by(move |malloc| {
            let (block, other) = (malloc.allocate(size), malloc.allocate(size));
            free(malloc, block);
            free(malloc, other);
            free(malloc, block);
        });
        let expected = match size {
            0..=65_536 => Misuse::DoubleFree,
            _ if size < 2 << 20 => Misuse::NotABlock,
            _ => Misuse::Foreign,
        };
        assert_eq!(stop, Some(expected), "{size}");
    }
}

#[test]
fn a_second_free_is_found_after_the_heap_gave_the_block_back() {
    let stop = stopped_by(|malloc| {
        let blocks: Vec<_> = (0..500).map(|_| malloc.allocate(64)).collect();
        for block in &blocks {
            free(malloc, *block);
        }
        free(malloc, blocks[3]);
    });
    assert_eq!(stop, Some(Misuse::DoubleFree));
}

#[test]
fn a_pointer_into_a_block_of_any_size_stops_the_program() {
    for size in SIZES.into_iter().filter(|size| *size > 16) {
        for inside in [1, 8, 16] {
            let stop = stopped_by(move |malloc| {
                free(malloc, malloc.allocate(size).wrapping_add(inside));
            });
            let huge = size > 2 << 20;
            let expected = if huge {
                Misuse::Foreign
            } else {
                Misuse::NotABlock
            };
            assert_eq!(stop, Some(expected), "{inside} in {size}");
        }
    }
}

#[test]
fn a_pointer_from_elsewhere_stops_the_program() {
    let stop = stopped_by(|malloc| {
        let mut local = [0_u8; 64];
        free(malloc, local.as_mut_ptr());
    });
    assert_eq!(stop, Some(Misuse::Foreign));
    let stop = stopped_by(|malloc| {
        assert!(!malloc.allocate(16).is_null());
        let mut elsewhere = vec![0_u8; 4096];
        free(malloc, elsewhere.as_mut_ptr());
    });
    assert_eq!(stop, Some(Misuse::Foreign));
}

#[test]
fn a_wrong_size_stops_the_program() {
    let stop = stopped_by(|malloc| {
        let block = malloc.allocate(100);
        // SAFETY: live, and no longer used.
        unsafe { malloc.free_sized(block, 5000) };
    });
    assert_eq!(stop, Some(Misuse::WrongSize));
}

#[test]
fn a_block_of_another_heap_that_a_zone_frees_stops_the_program() {
    for size in SIZES {
        let stop = stopped_by(move |malloc| {
            let zone = Zone::new(malloc).expect("there is memory");
            let block = malloc.try_allocate(size, 16).expect("there is memory");
            // SAFETY: it is live, but not of this zone, which must detect that.
            unsafe { zone.free(block) };
        });
        assert_eq!(stop, Some(Misuse::Foreign), "{size}");
    }
}

/// A block whose content looks like a free one's is not treated as free: only the records count.
#[test]
fn a_block_with_a_copy_of_a_free_blocks_words_is_freed() {
    let stop = stopped_by(|malloc| {
        let (one, two) = (malloc.allocate(64), malloc.allocate(64));
        free(malloc, one);
        // SAFETY: `one` is free, which a wrong program may read; `two` is live.
        unsafe { two.copy_from_nonoverlapping(one, 64) };
        free(malloc, two);
        assert_eq!(malloc.statistics().used_blocks, 0);
    });
    assert_eq!(stop, None);
}
