//! A hostile caller of the allocator. It forgets zones, caches, objects and collections in them,
//! and panics in every `Drop` and `Clone` of a value. From there it also re-enters the allocator,
//! ends threads' heaps and switches profiles.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec as VecIn;
use furlong::malloc::{
    Batched, Checked, Config, Global, Inlined, Linux, Malloc, NoHardening, Object, ObjectCache,
    PerCall, Profile, Reserve, Secure, Zone, thread_heap,
};
use furlong_spec::hostile::{
    Ledger, Outcome, Tracked, Watch, panic_at, panic_at_every_call, thinned,
};

/// The maximum number of elements of a structure.
const MOST: usize = 64;

macro_rules! allocators {
    ($($name:ident, $thread:ident, $malloc:ident: $hardening:ty, $tier:ty;)*) => {$(
        struct $name;

        thread_heap!($thread, static $malloc: Malloc<$name> = Linux);

        impl Config for $name {
            type Source = Linux;
            type Current = $thread;
            type Hardening = $hardening;
            type Gate = Inlined;
            type Tier = $tier;
        }
    )*};
}

allocators! {
    Plain, PlainThread, PLAIN: NoHardening, Batched;
    Looked, LookedThread, LOOKED: Checked, PerCall;
    Sealed, SealedThread, SEALED: Secure, Batched;
    Kept, KeptThread, KEPT: Checked, Batched;
}

/// A value of a selectable size, so that attacks cover several size classes.
struct Long<const WORDS: usize>(Tracked, [u64; WORDS]);

impl<const WORDS: usize> Long<WORDS> {
    fn new(watch: &Watch, number: usize) -> Self {
        Self(watch.value(number as u64), [number as u64; WORDS])
    }

    fn is_whole(&self) -> bool {
        self.1.iter().all(|word| *word == self.0.number())
    }
}

impl<const WORDS: usize> Clone for Long<WORDS> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), self.1)
    }
}

/// Checks that all invariants hold and that `used` blocks are in use.
fn is_whole<C: Config>(malloc: &'static Malloc<C>, used: usize, what: &str) {
    malloc
        .check()
        .unwrap_or_else(|broken| panic!("{what}: {broken}"));
    assert_eq!(malloc.statistics().used_blocks, used, "{what}");
}

/// Forgets one of several objects, boxes or vectors. Its cache or zone frees its memory.
fn forgotten_in<const WORDS: usize, C: Config>(malloc: &'static Malloc<C>, ledger: &mut Ledger) {
    let name = std::any::type_name::<C>();
    for len in thinned(1..=MOST) {
        for which in 0..len {
            let watch = Watch::new();
            let cache = ObjectCache::<Long<WORDS>, C>::new(malloc).expect("there is memory");
            let mut objects: Vec<Object<'_, Long<WORDS>, C>> = (0..len)
                .filter_map(|at| cache.make(Long::new(&watch, at)).ok())
                .collect();
            mem::forget(objects.remove(which));
            assert!(objects.iter().all(|object| object.is_whole()));
            assert_eq!((cache.len(), watch.alive()), (len, len as u64));
            drop(objects);
            assert_eq!((cache.len(), watch.alive()), (1, 1));
            drop(cache);
            ledger.note("malloc::Object", (which, WORDS, name), len);

            let zone = Zone::new(malloc).expect("there is memory");
            let mut rows: Vec<VecIn<Long<WORDS>, &Zone<C>>> = (0..len)
                .map(|at| {
                    let mut row = VecIn::new_in(&zone);
                    row.extend((0..at % 3).map(|_| Long::new(&watch, at)));
                    row
                })
                .collect();
            mem::forget(rows.remove(which));
            assert!(rows.iter().flatten().all(Long::is_whole));
            drop(rows);
            drop(zone);
            ledger.note("malloc::Zone", (which, WORDS, name), len);
        }
        is_whole(malloc, 0, &format!("{len} of {WORDS} words"));
    }
}

/// Forgets a reserve of which some places are used.
fn forgotten_reserves<C: Config>(malloc: &'static Malloc<C>, ledger: &mut Ledger) {
    for made in 0..=16 {
        for before in 0..=MOST {
            let watch = Watch::new();
            let cache = ObjectCache::<Long<9>, C>::new(malloc).expect("there is memory");
            let make = |at| cache.make(Long::new(&watch, at)).ok();
            let objects: Vec<_> = (0..before).filter_map(make).collect();
            let mut reserve: Reserve<'_, _, C, 16> = cache.reserve().expect("there is memory");
            let more: Vec<_> = (0..made)
                .filter_map(|at| reserve.make(Long::new(&watch, at)).ok())
                .collect();
            assert_eq!((more.len(), reserve.left()), (made, 16 - made));
            mem::forget(reserve);
            drop((objects, more));
            assert_eq!((cache.len(), watch.alive()), (0, 0));
            drop(cache);
            ledger.note(
                "malloc::Reserve",
                (made, std::any::type_name::<C>()),
                before,
            );
        }
    }
    is_whole(malloc, 0, "after all reserves");
}

/// Forgets zones and caches with their contents. Only their own memory is lost.
fn forgotten_zones<C: Config>(malloc: &'static Malloc<C>, ledger: &mut Ledger) {
    let mut lost = 0;
    for len in thinned((0..=MOST).step_by(2)) {
        let zone = Zone::new(malloc).expect("there is memory");
        let blocks = (0..len).filter_map(|at| zone.allocate(at * 50, 16)).count();
        mem::forget(zone);
        let cache = ObjectCache::<[u64; 7], C>::new(malloc).expect("there is memory");
        for at in 0..len {
            mem::forget(cache.make([at as u64; 7]).ok());
        }
        mem::forget(cache);
        lost += blocks + len;
        is_whole(malloc, lost, &format!("zones of {len} were forgotten"));
        ledger.note("malloc::ObjectCache", std::any::type_name::<C>(), len);
    }
}

/// Makes the k-th `Drop` or `Clone` panic, in collections over each allocator and in objects.
fn panics_in<const WORDS: usize, C: Config>(malloc: &'static Malloc<C>, ledger: &mut Ledger) {
    let name = std::any::type_name::<C>();
    for len in thinned(0..=MOST) {
        let watch = Watch::new();
        panic_at_every_call(
            |_| {
                let zone = Zone::new(malloc).expect("there is memory");
                let mut row = VecIn::new_in(&zone);
                row.extend((0..len).map(|at| Long::<WORDS>::new(&watch, at)));
                let copy = row.clone();
                row.truncate(len / 2);
                drop((row, copy));
            },
            |k, outcome| {
                is_whole(malloc, 0, &format!("{len}, {k}: {:?}", outcome_of(outcome)));
                ledger.note("malloc::Zone", (k, outcome_of(outcome), WORDS, name), len);
            },
        );
        let watch = Watch::new();
        panic_at_every_call(
            |_| {
                let cache = ObjectCache::new(malloc).expect("there is memory");
                let make = |at| cache.make(Long::<WORDS>::new(&watch, at)).ok();
                let objects: Vec<_> = (0..len).filter_map(make).collect();
                let used = malloc.statistics().used_blocks;
                // An object whose drop panics frees its slot nevertheless.
                let caught = catch_unwind(AssertUnwindSafe(|| drop(objects)));
                assert_eq!(
                    (cache.len(), malloc.statistics().used_blocks),
                    (0, used - len)
                );
                if let Err(panic) = caught {
                    std::panic::resume_unwind(panic);
                }
            },
            |k, outcome| {
                is_whole(malloc, 0, &format!("objects of {len}, {k}"));
                assert_eq!(watch.alive(), 0);
                ledger.note("malloc::Object", (k, outcome_of(outcome), WORDS, name), len);
            },
        );
        let watch = Watch::new();
        for k in 1..=len as u64 {
            let outcome = panic_at(k, || {
                let mut row = VecIn::new_in(Global::new(malloc));
                row.extend((0..len).map(|at| Long::<WORDS>::new(&watch, at)));
                row.shrink_to_fit();
                drop(row);
            });
            assert!(matches!(outcome, Outcome::Panicked("Drop")));
            is_whole(malloc, 0, &format!("rows of {len}, {k}"));
            ledger.note("malloc::Global", (k, WORDS, name), len);
        }
    }
}

fn outcome_of<T>(outcome: &Outcome<T>) -> &'static str {
    match outcome {
        Outcome::Done(_) => "done",
        Outcome::Panicked(of) => of,
    }
}

#[test]
fn forgotten_values_cost_their_memory_and_no_more_than_until_their_zone_goes() {
    let mut ledger = Ledger::new();
    forgotten_in::<1, _>(&PLAIN, &mut ledger);
    forgotten_in::<40, _>(&LOOKED, &mut ledger);
    forgotten_in::<6, _>(&SEALED, &mut ledger);
    forgotten_reserves(&PLAIN, &mut ledger);
    forgotten_reserves(&SEALED, &mut ledger);
    panics_in::<1, _>(&PLAIN, &mut ledger);
    panics_in::<40, _>(&LOOKED, &mut ledger);
    panics_in::<6, _>(&SEALED, &mut ledger);
    // Run last, because it leaks blocks.
    forgotten_zones(&LOOKED, &mut ledger);
    forgotten_zones(&SEALED, &mut ledger);
    ledger.report(20_000);
}

thread_local! {
    /// The actions that values take when they are dropped, last one first.
    static AS_IT_GOES: RefCell<Vec<fn()>> = const { RefCell::new(Vec::new()) };
}

/// A value that re-enters the allocator when it is dropped.
struct Returning;

impl Drop for Returning {
    fn drop(&mut self) {
        let next = AS_IT_GOES.with_borrow_mut(Vec::pop);
        if let Some(act) = next {
            act();
        }
    }
}

/// The actions that are allowed on an allocator at any time.
const ACTS: [fn(); 8] = [
    || assert!(KEPT.check().is_ok()),
    || assert!(KEPT.statistics().arena_bytes > 0),
    || {
        KEPT.trim();
    },
    || KEPT.end_thread(),
    || KEPT.follow(&Profile::CONSERVATIVE),
    || {
        KEPT.follow(&Profile {
            kept_blocks_max: 0,
            ..Profile::STANDARD
        });
    },
    || {
        let zone = Zone::new(&KEPT).expect("there is memory");
        assert!(zone.allocate_zeroed(100_000, 4096).is_some());
    },
    || {
        let cache = ObjectCache::new(&KEPT).expect("there is memory");
        drop(cache.make(Returning));
    },
];

/// Drops values, one action each, from within a cache and from collections.
#[test]
fn who_is_dropped_may_use_the_allocator_at_once() {
    let mut ledger = Ledger::new();
    for first in 0..ACTS.len() {
        for second in 0..ACTS.len() {
            for len in [0_usize, 1, 2, 5, 40] {
                // In a separate thread, because its heap may end.
                let attack = move || {
                    let zone = Zone::new(&KEPT).expect("there is memory");
                    let cache = ObjectCache::new(&KEPT).expect("there is memory");
                    let objects: Vec<_> = (0..len)
                        .filter_map(|_| cache.make(Returning).ok())
                        .collect();
                    let mut row = VecIn::new_in(&zone);
                    row.extend((0..len).map(|_| Box::new_in(Returning, Global::new(&KEPT))));
                    let acts = [first, second].map(|act| ACTS[act]);
                    AS_IT_GOES.set(acts.into_iter().cycle().take(len).collect());
                    drop((objects, row));
                    assert!(cache.is_empty());
                };
                let ended = thread::spawn(attack).join();
                ended.expect("what it asserts holds");
                ledger.note("malloc::Malloc", (first, second), len);
            }
        }
    }
    is_whole(&KEPT, 0, "after all have gone");
    ledger.report(300);
}
