//! The memory of trees. A failed allocation changes nothing, changes with reserved nodes neither
//! allocate nor free, and every node is freed in the end.
#![expect(unsafe_code, reason = "memory for nodes, and a lock that is trusted")]

mod returned;

use std::alloc::{alloc, dealloc};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::{alloc::Layout, sync::Arc};

use furlong::addr::{Extent, VirtAddr};
use furlong::check::Check;
use furlong::maple::{Config, Custom, DuplicateError, Fan, Maple, RcuMaple, Reservation, Source};
use furlong::rcu::{Domain, Rcu, RcuBox};
use furlong::sync::{RawLock, SpinLock};
use furlong_spec::Subject;
use furlong_spec::maple::{
    Mix, Model, Operation, Outcome, RCU, Refusal, SharedTree, Tree, operations,
};

thread_local! {
    /// The number of allocations that this thread may still make.
    static BUDGET: Cell<usize> = const { Cell::new(usize::MAX) };
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
    static FREED: Cell<usize> = const { Cell::new(0) };
}

/// The heap with counted calls and planned failures.
struct Counted;

// SAFETY: it returns the heap's memory, or nothing.
unsafe impl Source for Counted {
    fn allocate(layout: Layout) -> Option<NonNull<u8>> {
        let left = BUDGET.get().checked_sub(1)?;
        BUDGET.set(left);
        ALLOCATED.set(ALLOCATED.get() + 1);
        // SAFETY: the size of a node is not zero.
        NonNull::new(unsafe { alloc(layout) })
    }

    unsafe fn free(memory: NonNull<u8>, layout: Layout) {
        FREED.set(FREED.get() + 1);
        // SAFETY: it came from `alloc` with this layout, as the caller promises.
        unsafe { dealloc(memory.as_ptr(), layout) };
    }
}

type Tiny = Custom<Fan<3, 3, 48>, Counted>;
type Wide = Custom<Fan<15, 32, 12>, Counted>;

fn calls() -> (usize, usize) {
    (ALLOCATED.get(), FREED.get())
}

/// Streams that grow, stay and shrink.
fn stream(seed: u64) -> impl Iterator<Item = Operation> {
    [Mix::Growing, Mix::Steady, Mix::Shrinking]
        .into_iter()
        .flat_map(move |mix| operations(900, mix, 300, seed))
}

/// Makes the first, the second .. allocation of each operation fail.
fn failures_change_nothing<S>(build: impl Fn() -> S)
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    const REFUSED: Outcome = Outcome::Refused(Refusal::NoMemory);
    let everything = Operation::Range(0, u64::MAX);
    let mut refusals = 0;
    for seed in 0..12 {
        let (mut model, mut subject) = (Model::new(), build());
        for operation in stream(seed) {
            for budget in 0.. {
                BUDGET.set(budget);
                let outcome = subject.apply(&operation);
                BUDGET.set(usize::MAX);
                subject
                    .check()
                    .unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
                if outcome != REFUSED {
                    assert_eq!(
                        outcome,
                        model.apply(&operation),
                        "seed {seed}, {operation:?}"
                    );
                    break;
                }
                refusals += 1;
                let left = (subject.apply(&everything), model.apply(&everything));
                assert_eq!(
                    left.0, left.1,
                    "seed {seed}, {operation:?}, allocation {budget}"
                );
            }
        }
    }
    assert!(refusals > 300, "{refusals} allocations failed");
}

#[test]
fn an_allocation_that_fails_changes_nothing() {
    failures_change_nothing(Tree::<Arc<u32>, Tiny>::new);
    failures_change_nothing(Tree::<u32, Wide>::new);
}

#[test]
fn an_allocation_that_fails_beside_readers_changes_nothing() {
    failures_change_nothing(SharedTree::<u32, Tiny>::new);
}

#[test]
fn a_drain_that_finds_no_memory_changes_nothing() {
    let mut refusals = 0;
    for first in 0..60 {
        for last in first..60 {
            for budget in 0.. {
                let entries = (0..30).map(|number| {
                    let (start, last) = (VirtAddr::new(2 * number), VirtAddr::new(2 * number + 1));
                    (Extent::from_last(start, last).unwrap(), number as u32)
                });
                let mut map = Maple::<VirtAddr, u32, Tiny>::from_sorted(entries).unwrap();
                let window = Extent::from_last(VirtAddr::new(first), VirtAddr::new(last)).unwrap();
                BUDGET.set(budget);
                let drained = map.drain(window).map(Iterator::count);
                BUDGET.set(usize::MAX);
                map.check().unwrap();
                let whole = (last / 2 - first / 2 + 1) as usize;
                if let Ok(count) = drained {
                    assert_eq!((count, map.len()), (whole, 30 - whole));
                    break;
                }
                assert_eq!(map.len(), 30);
                refusals += 1;
            }
        }
    }
    assert!(refusals > 300, "{refusals} allocations failed");
}

#[test]
fn a_change_after_reserving_neither_allocates_nor_frees() {
    for seed in 0..20 {
        let mut tree = Tree::<u32, Tiny>::new();
        for operation in stream(seed) {
            tree.0.prepare(1).unwrap();
            let before = calls();
            BUDGET.set(0);
            let outcome = tree.apply(&operation);
            BUDGET.set(usize::MAX);
            assert_eq!(calls(), before, "seed {seed}, {operation:?}");
            assert_ne!(
                outcome,
                Outcome::Refused(Refusal::NoMemory),
                "{operation:?}"
            );
        }
    }
}

#[test]
fn a_change_beside_readers_with_a_reservation_neither_allocates_nor_frees() {
    for seed in 0..20 {
        let mut tree = SharedTree::<u32, Tiny>::new();
        let mut reservation = Reservation::<Tiny>::new(0, 0).unwrap();
        for operation in stream(seed) {
            drop(reservation);
            let levels = tree.map.lock().view().levels();
            reservation = Reservation::new(1, levels).unwrap();
            tree.map.lock().supply(&mut reservation, 1).unwrap();
            RCU.poll(usize::MAX);
            let before = calls();
            BUDGET.set(0);
            let outcome = tree.change(&operation);
            BUDGET.set(usize::MAX);
            assert_eq!(calls(), before, "seed {seed}, {operation:?}");
            assert_ne!(
                outcome,
                Some(Outcome::Refused(Refusal::NoMemory)),
                "{operation:?}"
            );
            reservation = tree.map.lock().unused();
        }
    }
}

/// Full leaves of three slots below wide nodes: a new entry may split a node on every level.
type Narrow = Custom<Fan<3, 5, 48>, Counted>;

/// Stores, erasures and stores over several leaves, in a tree of a few levels.
fn changes(seed: u64) -> impl Iterator<Item = Operation> {
    let is_change = |operation: &Operation| {
        matches!(
            operation,
            Operation::Insert(..)
                | Operation::Store(..)
                | Operation::Erase(_)
                | Operation::EraseRange(..)
                | Operation::Resize(..)
        )
    };
    let ascending = (0..300).map(|index| Operation::Insert(10 * index, 10 * index + 1, 1));
    ascending.chain(operations(3000, Mix::Growing, 2000, seed).filter(is_change))
}

fn many_changes_need_no_more_than_was_reserved<C: Config>(many: usize) {
    for seed in 0..3 {
        let mut changes = changes(seed);
        let mut tree = Tree::<u32, C>::new();
        let mut shared = SharedTree::<u32, C>::new();
        loop {
            let these: Vec<_> = changes.by_ref().take(many).collect();
            if these.is_empty() {
                break;
            }
            tree.0.trim();
            tree.0.prepare(these.len()).unwrap();
            drop(shared.map.lock().unused());
            let levels = shared.map.lock().view().levels();
            let mut reservation = Reservation::new(these.len(), levels).unwrap();
            let supplied = shared.map.lock().supply(&mut reservation, these.len());
            supplied.unwrap();
            RCU.poll(usize::MAX);
            let before = calls();
            BUDGET.set(0);
            for operation in &these {
                tree.apply(operation);
                assert!(shared.change(operation).is_some());
            }
            BUDGET.set(usize::MAX);
            assert_eq!(calls(), before, "seed {seed}, {many} changes");
        }
        tree.check().unwrap();
        shared.check().unwrap();
    }
}

#[test]
fn many_changes_after_reserving_neither_allocate_nor_free() {
    for many in [1, 2, 7, 50, 700] {
        many_changes_need_no_more_than_was_reserved::<Tiny>(many);
        many_changes_need_no_more_than_was_reserved::<Narrow>(many);
        many_changes_need_no_more_than_was_reserved::<Wide>(many);
    }
}

#[test]
fn a_reservation_grows_with_the_changes_and_hardly_more() {
    let reserved = |changes| Reservation::<Wide>::new(changes, 4).unwrap().nodes();
    for changes in [1, 100, 10_000] {
        let nodes = reserved(changes);
        assert_eq!(nodes.leaves, 3 * changes);
        // 10 for the three existing levels, and three for each level that may be added.
        let levels = [(1, 0), (100, 3), (10_000, 9)];
        let (_, more) = levels.into_iter().find(|(of, _)| *of == changes).unwrap();
        assert_eq!(nodes.inners, changes * (10 + 3 * more));
    }
    let mut tree = Maple::<VirtAddr, u32, Wide>::with_config();
    for index in 0..10_000 {
        tree.insert(extent(10 * index), 1).unwrap();
    }
    let before = calls();
    tree.prepare(10_000).unwrap();
    let obtained = calls().0 - before.0;
    assert!(obtained < 3 * 10_000, "{obtained} nodes");
}

#[test]
fn a_reservation_for_a_lower_tree_is_not_enough() {
    let mut tree = SharedTree::<u32, Tiny>::new();
    let mut reservation = Reservation::<Tiny>::new(1, 1).unwrap();
    for index in 0..100 {
        tree.apply(&Operation::Insert(10 * index, 10 * index + 1, 1));
    }
    let _ = tree.map.lock().unused();
    let levels = tree.map.lock().view().levels();
    assert!(levels > 3);
    let refused = tree.map.lock().supply(&mut reservation, 1);
    assert_eq!(refused.map_err(|refused| refused.levels), Err(levels));
    assert_eq!(reservation.nodes().leaves, 3);
}

/// A lock that checks that no node is allocated or freed while it is held, until its tree is
/// dropped.
struct Strict<'a>(SpinLock, &'a Cell<bool>);

// SAFETY: the inner lock keeps the contract.
unsafe impl RawLock for Strict<'_> {
    type Token<'a>
        = (usize, usize)
    where
        Self: 'a;

    fn lock(&self) -> (usize, usize) {
        self.0.lock();
        calls()
    }

    unsafe fn unlock(&self, before: (usize, usize)) {
        let now = calls();
        // SAFETY: the caller holds the lock, and its token is ().
        unsafe { self.0.unlock(()) };
        assert!(!self.1.get() || now == before, "under the lock");
    }
}

#[test]
fn a_lock_that_was_prepared_is_held_over_no_call_for_memory() {
    let (rcu, is_strict) = (Domain::<[_; 64]>::new(), Cell::new(true));
    let lock = Strict(SpinLock::new(), &is_strict);
    let map = RcuMaple::<_, u32, _, _, Tiny>::with_config(&rcu, lock);
    for number in 0..300_u64 {
        // Each of 100 places is filled, cleared and filled again.
        let place = 10 * (number * 37 % 100);
        let mut locked = map.lock_prepared(2).unwrap();
        match number / 100 {
            1 => assert!(locked.erase(VirtAddr::new(place)).unwrap().is_some()),
            _ => locked.insert(extent(place), 7).unwrap(),
        }
        drop(locked);
        rcu.poll(usize::MAX);
    }
    drop(map.lock_prepared(50).unwrap());
    let before = calls();
    drop(map.lock_prepared(50).unwrap());
    assert_eq!(calls(), before, "what is left of others is enough");
    BUDGET.set(5);
    assert!(map.lock_prepared(1000).is_err());
    BUDGET.set(usize::MAX);
    assert_eq!(map.lock().view().len(), 100);
    map.check().unwrap();
    is_strict.set(false);
}

#[test]
fn every_node_comes_back() {
    let before = calls();
    for seed in 0..10 {
        let mut tree = Tree::<Arc<u32>, Tiny>::new();
        stream(seed).for_each(|operation| drop(tree.apply(&operation)));
        let mut wide = Tree::<Arc<u32>, Wide>::new();
        stream(seed).for_each(|operation| drop(wide.apply(&operation)));
    }
    let after = calls();
    assert_eq!(after.0 - before.0, after.1 - before.1);
}

/// Drops trees of every height, with one owner and with readers, after filling them one by one,
/// loading, copying or clearing them.
fn destroyed_whole<C: Config>(counts: impl Iterator<Item = u64>) -> BTreeSet<usize> {
    let value = Arc::new(7);
    let rcu = Arc::new(Domain::new());
    let mut heights = BTreeSet::new();
    for count in counts {
        let owned = || (0..count).map(|index| (extent(10 * index), Arc::clone(&value)));
        let boxed = || owned().map(|(at, value)| (at, RcuBox::new(value)));
        let mut tree = Maple::<_, _, C>::with_config();
        let shared = RcuMaple::<_, _, _, _, C>::with_config(Arc::clone(&rcu), SpinLock::new());
        for ((at, one), (_, other)) in owned().zip(boxed()) {
            tree.insert(at, one).unwrap();
            shared.lock().insert(at, other).unwrap();
        }
        let mut loaded = Maple::<_, _, C>::from_sorted(owned()).unwrap();
        let lock = SpinLock::new();
        let from = RcuMaple::<_, _, _, _, C>::from_sorted(Arc::clone(&rcu), lock, boxed()).unwrap();
        let copy = tree
            .duplicate(|_, value| Ok::<_, ()>(value.share()))
            .unwrap();
        let clone = |_, value: &Arc<_>| Ok::<_, ()>(RcuBox::new(Arc::clone(value)));
        let lock = SpinLock::new();
        let copied = from
            .lock()
            .duplicate(Arc::clone(&rcu), lock, clone)
            .unwrap();
        heights.insert(tree.view().levels());
        assert_eq!(Arc::strong_count(&value) as u64, 1 + 6 * count);
        loaded.clear();
        let everything = Extent::from_last(VirtAddr::new(0), VirtAddr::new(u64::MAX)).unwrap();
        drop(from.lock().erase_range(everything).unwrap());
        assert!(loaded.is_empty() && from.lock().view().is_empty());
        rcu.poll(usize::MAX);
        assert_eq!(Arc::strong_count(&value) as u64, 1 + 4 * count);
        drop((tree, shared, copy, copied));
        rcu.poll(usize::MAX);
        assert_eq!(Arc::strong_count(&value), 1);
    }
    heights
}

#[test]
fn trees_of_every_height_are_destroyed_whole() {
    let before = calls();
    let counts = [1, 3, 4, 9, 10, 27, 40, 81, 110, 150, 243, 729];
    let heights = destroyed_whole::<Tiny>(counts.into_iter());
    assert!(heights.into_iter().eq(1..=8));
    let heights = destroyed_whole::<Wide>([15, 16, 400, 9000, 16_000].into_iter());
    assert!(heights.into_iter().eq(1..=4));
    let after = calls();
    assert_eq!(after.0 - before.0, after.1 - before.1);
}

/// A reader's clone of a counted reference outlives the entry. The tree's own count ends after the
/// read section.
#[test]
fn a_counted_reference_that_a_reader_clones_outlives_the_entry() {
    let rcu = Domain::<[_; 64]>::new();
    let map = RcuMaple::<_, RcuBox<Arc<u32>>, _, _>::new(&rcu, SpinLock::new());
    let value = Arc::new(7);
    let entry = RcuBox::new(Arc::clone(&value));
    map.lock().insert(extent(10), entry).unwrap();
    let reader = rcu.register().unwrap();
    let guard = reader.enter();
    let found = map.read(&guard).load(VirtAddr::new(12)).unwrap();
    drop(map.lock().erase(VirtAddr::new(12)).unwrap());
    rcu.poll(usize::MAX);
    let mine = Arc::clone(found);
    assert_eq!(Arc::strong_count(&value), 3, "the tree's, though erased");
    drop(guard);
    rcu.poll(usize::MAX);
    assert_eq!((Arc::strong_count(&value), *mine), (2, 7));
}

fn extent(start: u64) -> Extent<VirtAddr> {
    Extent::from_len(VirtAddr::new(start), 5).unwrap()
}

#[test]
fn a_copy_that_fails_leaves_nothing_behind() {
    let mut tree = Maple::<VirtAddr, Arc<u32>, Tiny>::with_config();
    let value = Arc::new(7);
    for index in 0..60 {
        tree.insert(extent(10 * index), Arc::clone(&value)).unwrap();
    }
    let before = calls();
    for allocations in 0.. {
        BUDGET.set(allocations);
        let copied = tree.duplicate(|_, entry| Ok::<_, ()>(entry.share()));
        BUDGET.set(usize::MAX);
        match copied {
            Ok(copy) => {
                copy.check().unwrap();
                assert_eq!(Arc::strong_count(&value), 121);
                break;
            }
            Err(refused) => assert_eq!(refused, DuplicateError::NoMemory),
        }
        assert_eq!(Arc::strong_count(&value), 61);
    }
    for fails_at in 0..60 {
        let mut copied = 0;
        let result = tree.duplicate(|_, entry| {
            copied += 1;
            if copied > fails_at {
                Err("no more")
            } else {
                Ok(entry.share())
            }
        });
        assert_eq!(result.err(), Some(DuplicateError::Entry("no more")));
        assert_eq!(Arc::strong_count(&value), 61);
    }
    let after = calls();
    assert_eq!(after.0 - before.0, after.1 - before.1);
}

#[test]
fn loading_that_fails_leaves_nothing_behind() {
    let value = Arc::new(7);
    let entries = || (0..100).map(|index| (extent(10 * index), Arc::clone(&value)));
    let before = calls();
    for allocations in 0.. {
        BUDGET.set(allocations);
        let loaded = Maple::<VirtAddr, Arc<u32>, Tiny>::from_sorted(entries());
        BUDGET.set(usize::MAX);
        let Err(refused) = loaded else { break };
        drop(refused.into_entry());
        assert_eq!(Arc::strong_count(&value), 1, "allocation {allocations}");
    }
    let after = calls();
    assert_eq!(after.0 - before.0, after.1 - before.1);
}
