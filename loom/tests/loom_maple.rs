//! Loom models of a tree with readers beside its writer, with nodes of three slots; `ci/loom.sh`
//! runs them.
//!
//! In each, one thread looks up one index twice while another makes changes of one kind. Each
//! result must be one of the states that the index goes through, and the second must not be earlier
//! than the first. The result is an object whose drop is a write that loom tracks: a reader still
//! using it would fail the model.
//!
//! Each rule below was broken by hand, one at a time; these models failed:
//!
//! | broken | models that then fail |
//! |---|---|
//! | `slot-look` relaxed | replaced, behind, last |
//! | `slot-fill` relaxed | behind, last |
//! | `slot-replace` relaxed | replaced |
//! | `link-publish` relaxed | erased, shrinks, copied, split, merged, over, at once, keeps |
//! | more than one word of a slot stored where it stands (I8) | shrinks, put back |
//! | the last index of a slot not checked again | taken |
//! | an entry dropped, not retired | replaced, erased, shrinks, behind, over, at once |
//! | nodes reused before their readers have left | copied, over, again |
//! | `block-leave` relaxed, or the fence of `block-end` left out | block |
//!
//! The names are words of the models' names.

mod number;

use std::{
    alloc::Layout,
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use furlong::{
    addr::{Extent, VirtAddr},
    check::Check,
    maple::{Custom, Fan, Heap, RcuMaple, Source},
    rcu::{Domain, Rcu, RcuBox, ReaderSlot},
    sync::SpinLock,
};
use loom::thread;
use number::Number;

fn boxed(number: u64) -> RcuBox<Number> {
    RcuBox::new(Number::new(number))
}

type Tiny = Custom<Fan<3, 3, 32>, Heap>;
type OneReader = Arc<Domain<[ReaderSlot; 1]>>;
type Map = RcuMaple<VirtAddr, RcuBox<Number>, OneReader, SpinLock, Tiny>;

fn extent(start: u64, last: u64) -> Extent<VirtAddr> {
    Extent::from_last(VirtAddr::new(start), VirtAddr::new(last)).unwrap()
}

/// Definition of a model.
#[derive(Clone, Copy)]
struct Model {
    /// First index, last index and number of each initial entry.
    entries: &'static [(u64, u64, u64)],
    change: fn(&Map),
    /// The index to look up, and its successive states.
    index: u64,
    states: &'static [Option<u64>],
}

impl Model {
    fn build(&self) -> Map {
        let map = Map::with_config(
            Arc::new(Domain::with_slots(ReaderSlot::array())),
            SpinLock::new(),
        );
        for (start, last, number) in self.entries {
            let (at, number) = (extent(*start, *last), boxed(*number));
            assert!(map.lock().insert(at, number).is_ok());
        }
        map.rcu().poll(usize::MAX);
        map.rcu().poll(usize::MAX);
        map
    }

    fn look(&self, map: &Map) {
        let mut from = 0;
        let reader = map.rcu().register().unwrap();
        for _ in 0..2 {
            let guard = reader.enter();
            let found = map.read(&guard).load(VirtAddr::new(self.index));
            let found = found.map(Number::get);
            let later = self.states[from..].iter().position(|state| *state == found);
            let Some(later) = later else {
                panic!("{found:?} was found, from state {from} on");
            };
            from += later;
        }
    }

    fn change(&self, map: &Map) {
        (self.change)(map);
        map.rcu().poll(usize::MAX);
        map.rcu().poll(usize::MAX);
    }

    /// Explores every order of the two, with either one spawned first.
    fn run(self) {
        for reader_first in [true, false] {
            let mut builder = loom::model::Builder::new();
            builder.max_branches = 100_000;
            builder.check(move || {
                let map = Arc::new(self.build());
                let there = Arc::clone(&map);
                let thread = thread::spawn(move || {
                    if reader_first {
                        self.look(&there)
                    } else {
                        self.change(&there)
                    }
                });
                if reader_first {
                    self.change(&map)
                } else {
                    self.look(&map)
                }
                thread.join().unwrap();
                map.check().unwrap();
                let guarded = map.lock();
                let found = guarded.view().load(VirtAddr::new(self.index));
                let found = found.map(Number::get);
                assert_eq!(Some(&found), self.states.last());
            });
        }
    }
}

/// One leaf with room.
const ROOMY: &[(u64, u64, u64)] = &[(10, 19, 1), (30, 39, 2)];
/// Two leaves, of which the second begins at 30: `10 20 | 30 40`.
const TWO: &[(u64, u64, u64)] = &[(10, 14, 1), (20, 24, 2), (40, 44, 4), (30, 34, 3)];

fn store(map: &Map, start: u64, last: u64, number: u64) {
    let (at, number) = (extent(start, last), boxed(number));
    assert!(map.lock().store(at, number).is_ok());
}

fn erase(map: &Map, index: u64) {
    assert!(map.lock().erase(VirtAddr::new(index)).unwrap().is_some());
}

#[test]
fn an_entry_that_is_replaced_is_the_old_one_or_the_new_one() {
    Model {
        entries: ROOMY,
        change: |map| {
            store(map, 30, 39, 5);
            store(map, 30, 39, 6);
        },
        index: 35,
        states: &[Some(2), Some(5), Some(6)],
    }
    .run();
}

#[test]
fn an_entry_that_is_erased_is_there_or_not_and_another_takes_its_place() {
    Model {
        entries: ROOMY,
        change: |map| {
            erase(map, 30);
            store(map, 33, 50, 5);
        },
        index: 35,
        states: &[Some(2), None, Some(5)],
    }
    .run();
}

#[test]
fn an_entry_put_back_where_it_was_erased_grows_in_a_copy() {
    Model {
        entries: ROOMY,
        change: |map| {
            erase(map, 30);
            store(map, 30, 39, 5);
            assert!(map.lock().resize(VirtAddr::new(30), extent(30, 45)).is_ok());
        },
        index: 42,
        states: &[None, Some(5)],
    }
    .run();
}

#[test]
fn an_entry_that_shrinks_and_grows_again_is_never_another() {
    Model {
        entries: ROOMY,
        change: |map| {
            assert!(map.lock().erase_range(extent(34, 39)).is_ok());
            store(map, 30, 33, 5);
            assert!(map.lock().resize(VirtAddr::new(30), extent(30, 39)).is_ok());
        },
        index: 35,
        states: &[Some(2), None, Some(5)],
    }
    .run();
}

#[test]
fn an_entry_whose_start_moves_down_and_up_again_is_never_another() {
    Model {
        entries: ROOMY,
        change: |map| {
            assert!(map.lock().resize(VirtAddr::new(35), extent(25, 39)).is_ok());
            assert!(map.lock().resize(VirtAddr::new(35), extent(30, 39)).is_ok());
        },
        index: 27,
        states: &[None, Some(2), None],
    }
    .run();
}

#[test]
fn an_entry_stays_while_nodes_that_were_given_up_are_used_again() {
    Model {
        entries: ROOMY,
        change: |map| {
            store(map, 22, 23, 5);
            erase(map, 22);
            store(map, 26, 27, 6);
        },
        index: 35,
        states: &[Some(2)],
    }
    .run();
}

#[test]
fn an_entry_behind_all_others_of_its_leaf_is_there_whole_or_not() {
    Model {
        entries: ROOMY,
        change: |map| {
            store(map, 50, 59, 5);
            erase(map, 50);
        },
        index: 55,
        states: &[None, Some(5), None],
    }
    .run();
}

#[test]
fn an_index_behind_an_entry_that_is_put_in_is_not_taken_for_it() {
    Model {
        entries: ROOMY,
        change: |map| store(map, 50, 52, 5),
        index: 55,
        states: &[None],
    }
    .run();
}

#[test]
fn the_last_index_is_found_when_its_entry_is_put_in() {
    Model {
        entries: ROOMY,
        change: |map| store(map, 50, u64::MAX, 5),
        index: u64::MAX,
        states: &[None, Some(5)],
    }
    .run();
}

#[test]
fn a_leaf_is_copied_with_an_entry_in_the_middle() {
    Model {
        entries: ROOMY,
        change: |map| {
            store(map, 22, 25, 5);
            store(map, 24, 35, 6);
        },
        index: 24,
        states: &[None, Some(5), Some(6)],
    }
    .run();
}

#[test]
fn an_entry_stays_while_its_leaf_is_split() {
    Model {
        entries: &[(10, 14, 1), (20, 24, 2), (30, 34, 3)],
        change: |map| store(map, 26, 27, 5),
        index: 32,
        states: &[Some(3)],
    }
    .run();
}

#[test]
fn an_entry_of_a_full_leaf_stays_or_goes_while_another_leaf_is_put_behind() {
    Model {
        entries: &[(10, 14, 1), (20, 24, 2), (30, 34, 3)],
        change: |map| {
            store(map, 40, 44, 5);
            erase(map, 30);
        },
        index: 32,
        states: &[Some(3), None],
    }
    .run();
}

#[test]
fn an_entry_stays_while_its_leaf_is_merged() {
    Model {
        entries: TWO,
        change: |map| {
            erase(map, 40);
            erase(map, 10);
            erase(map, 20);
        },
        index: 32,
        states: &[Some(3)],
    }
    .run();
}

#[test]
fn an_index_that_goes_over_to_the_leaf_before_is_found_there() {
    Model {
        entries: TWO,
        change: |map| {
            erase(map, 30);
            store(map, 28, 35, 5);
        },
        index: 32,
        states: &[Some(3), None, Some(5)],
    }
    .run();
}

#[test]
fn an_index_that_comes_from_the_leaf_before_is_found_here() {
    Model {
        entries: TWO,
        change: |map| {
            assert!(map.lock().resize(VirtAddr::new(30), extent(26, 34)).is_ok());
        },
        index: 27,
        states: &[None, Some(3)],
    }
    .run();
}

#[test]
fn a_store_over_two_leaves_is_seen_at_once() {
    Model {
        entries: TWO,
        change: |map| store(map, 22, 42, 5),
        index: 32,
        states: &[Some(3), Some(5)],
    }
    .run();
}

#[test]
fn a_store_over_two_leaves_keeps_what_it_does_not_cover() {
    Model {
        entries: TWO,
        change: |map| store(map, 22, 42, 5),
        index: 43,
        states: &[Some(4)],
    }
    .run();
}

#[test]
fn entries_that_are_loaded_are_there_all_at_once() {
    Model {
        entries: &[],
        change: |map| {
            let entries = [10, 20, 30, 40].map(|start| (extent(start, start + 4), start));
            let boxed = entries.map(|(at, number)| (at, boxed(number)));
            assert!(map.lock().load_sorted(boxed).is_ok());
        },
        index: 42,
        states: &[None, Some(40)],
    }
    .run();
}

#[test]
fn a_counted_reference_that_a_reader_has_cloned_outlives_the_entry() {
    loom::model(|| {
        let rcu: OneReader = Arc::new(Domain::with_slots(ReaderSlot::array()));
        let map = RcuMaple::<VirtAddr, RcuBox<loom::sync::Arc<Number>>, _, _, Tiny>::with_config(
            rcu,
            SpinLock::new(),
        );
        let number = loom::sync::Arc::new(Number::new(7));
        let inserted = map.lock().insert(extent(10, 19), RcuBox::new(number));
        assert!(inserted.is_ok());
        let map = Arc::new(map);
        let there = Arc::clone(&map);
        let thread = thread::spawn(move || {
            let reader = there.rcu().register().unwrap();
            let guard = reader.enter();
            let found = there.read(&guard).load(VirtAddr::new(15)).cloned();
            drop(guard);
            found.is_none_or(|found| found.get() == 7)
        });
        drop(map.lock().erase(VirtAddr::new(15)).unwrap());
        map.rcu().poll(usize::MAX);
        assert!(thread.join().unwrap());
    });
}

/// The heap, with blocks of two of a model's leaves.
struct Blocks;

/// Number of allocations that were too large for one leaf.
static BLOCKS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the heap makes the same promises.
unsafe impl Source for Blocks {
    const BLOCK: usize = 320;

    fn allocate(layout: Layout) -> Option<NonNull<u8>> {
        BLOCKS.fetch_add(usize::from(layout.size() > 256), Ordering::SeqCst);
        Heap::allocate(layout)
    }

    unsafe fn free(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { Heap::free(memory, layout) };
    }
}

#[test]
fn a_block_goes_back_with_the_last_of_its_nodes_whoever_reclaims_that() {
    type Blocked = Custom<Fan<3, 3, 32>, Blocks>;
    loom::model(|| {
        let rcu: OneReader = Arc::new(Domain::with_slots(ReaderSlot::array()));
        let new = |rcu| RcuMaple::<VirtAddr, u32, _, _, Blocked>::with_config(rcu, SpinLock::new());
        let map = new(Arc::clone(&rcu));
        for &(start, last, number) in TWO {
            let inserted = map.lock().insert(extent(start, last), number as u32);
            assert!(inserted.is_ok());
        }
        let copy = |_, number| Ok::<_, ()>(number);
        let copied = map
            .lock()
            .duplicate(Arc::clone(&rcu), SpinLock::new(), copy)
            .unwrap();
        rcu.poll(usize::MAX);
        rcu.poll(usize::MAX);
        // Without a reader inside they would be reused.
        let reader = rcu.register().unwrap();
        let guard = reader.enter();
        assert!(copied.lock().erase_range(extent(0, u64::MAX)).is_ok());
        drop(guard);
        assert_eq!(rcu.pending(), 3, "two leaves and the root");
        rcu.advance();
        rcu.advance();
        let there = Arc::clone(&rcu);
        let thread = thread::spawn(move || there.reclaim(1));
        let mine = rcu.reclaim(2);
        let reclaimed = mine + thread.join().unwrap();
        assert_eq!(reclaimed + rcu.reclaim(usize::MAX), 3);
    });
    assert!(BLOCKS.load(Ordering::SeqCst) > 0, "leaves were in blocks");
}
