//! Loom models of `sync` and `rcu`; `ci/loom.sh` runs them, and states the bound on preemptions.
//!
//! A model that cannot fail proves little. Each ordering that the code justifies was weakened by
//! hand, one at a time, and each rule below was broken; these models failed:
//!
//! | weakened or broken | models that then fail |
//! |---|---|
//! | `reader-fence` left out | node, register, later, slot, ready, period, cell |
//! | `period-fence` left out | node, register, later, slot, ready, period, cell |
//! | `snapshot-fence` left out | period |
//! | `quiet-fence` left out | again |
//! | `slot-enter` relaxed | register, later, slot |
//! | `slot-exit` relaxed | node, register, later, slot, ready, period, cell |
//! | `slot-look` relaxed, in `note` or in `is_straggler` | the same, for either |
//! | a straggler not waited for | the same |
//! | a section never left | node |
//! | `claim` or `slot-release` relaxed | register, slot |
//! | `used-raise` one slot short | node, register, later, slot, ready, period, cell |
//! | `inbox-push` relaxed | node, two, period, barrier, cell |
//! | `period-end`, or the load that pairs with it, relaxed | period |
//! | a snapshot during a grace period names its end | period |
//! | `hand-down` or `hand-look` relaxed | barrier |
//! | a barrier that does not wait for the hand | barrier |
//! | a barrier that takes its period without the grace period's lock | barrier |
//! | the try-lock's exchange or `try-unlock` relaxed | ready, period, barrier, locks |
//! | the spin lock's exchange or `spin-unlock` relaxed | locks |
//! | `cell-put` without its release or its acquire, or its load relaxed | cell |
//!
//! No model detects a relaxed `inbox-take`, and none can: `period-fence`, which follows, acquires
//! as well. Nor does one detect a period that begins with a relaxed store: loom takes it for a part
//! of the release sequence of `period-end`, as C++ did before 2020.
//!
//! Meaning of the names: *node* `a_node_is_reclaimed_..`, *register* `readers_that_register_..`,
//! *later* `a_later_section_..`, *again* `what_was_unlinked_is_used_again_..`, *slot*
//! `a_slot_that_changes_..`, *two* `what_two_threads_..`, *ready* `what_one_thread_made_ready_..`,
//! *period* `when_a_period_is_over_..`, *barrier* `after_a_barrier_..`, *cell*
//! `a_cell_publishes_..`, *locks* `locks_exclude_..`.

mod orders;

use std::{ops::ControlFlow, ptr::NonNull, sync::Arc};

use furlong::{
    rcu::{Batch, Domain, Rcu, RcuBox, RcuCell, RcuHead, Reader, ReaderSlot},
    sync::{
        Lock, SpinLock, TryLock, UnsafeCell,
        atomic::{AtomicPtr, Ordering},
    },
};
use loom::thread;
use orders::{body, model};

const ALIVE: usize = 1;
const GONE: usize = 2;

/// An object that is never freed, so that a failing model does no harm: reclaiming it is a write to
/// it. Loom detects a reader that may access it at the same time.
#[repr(C)]
struct Node {
    head: RcuHead,
    state: UnsafeCell<usize>,
}

// SAFETY: loom checks every access to the cell.
unsafe impl Sync for Node {}

impl Node {
    fn new() -> Self {
        Self {
            head: RcuHead::new(),
            state: UnsafeCell::new(ALIVE),
        }
    }

    fn state(&self) -> usize {
        // SAFETY: loom fails the model on any concurrent write.
        self.state.with(|state| unsafe { *state })
    }

    fn set(&self, value: usize) {
        // SAFETY: loom fails the model on any other concurrent access.
        self.state.with_mut(|state| unsafe { *state = value });
    }

    unsafe fn reclaim(head: NonNull<RcuHead>) {
        // SAFETY: the head is the first field of a node, which the world keeps.
        let node = unsafe { head.cast::<Self>().as_ref() };
        assert_eq!(node.state(), ALIVE, "reclaimed once");
        node.set(GONE);
    }
}

/// Two nodes, a link to one of them, and the domain.
struct World<const SLOTS: usize> {
    rcu: Domain<[ReaderSlot; SLOTS]>,
    link: AtomicPtr<Node>,
    nodes: [Node; 2],
}

impl<const SLOTS: usize> World<SLOTS> {
    /// A world with the first node linked.
    fn new() -> Arc<Self> {
        let world = Arc::new(Self {
            rcu: Domain::with_slots(ReaderSlot::array()),
            link: AtomicPtr::new(std::ptr::null_mut()),
            nodes: [Node::new(), Node::new()],
        });
        // Release: pairs with the load in `read`.
        world.link.store(world.node(0), Ordering::Release);
        world
    }

    fn node(&self, index: usize) -> *mut Node {
        (&raw const self.nodes[index]).cast_mut()
    }

    /// A reader that may move to another thread of the model.
    fn reader(self: &Arc<Self>) -> Reader<'static> {
        // SAFETY: each thread has an `Arc` of the world, which it drops after its reader.
        let world: &'static Self = unsafe { &*Arc::as_ptr(self) };
        world.rcu.register().unwrap()
    }

    /// Enters, and reads the linked node.
    fn read(&self, reader: &Reader<'_>) {
        let _guard = reader.enter();
        // Acquire: pairs with the stores in `new` and `unlink`.
        let node = self.link.load(Ordering::Acquire);
        // SAFETY: nodes live as long as the world.
        let node = unsafe { &*node };
        assert_eq!(
            node.state(),
            ALIVE,
            "a reader reached a node that was reclaimed"
        );
    }

    /// Links the second node in place of the first.
    fn unlink(&self) -> &Node {
        // Release: pairs with the load in `read`.
        self.link.store(self.node(1), Ordering::Release);
        &self.nodes[0]
    }

    fn retire(&self, index: usize) {
        let mut batch = Batch::new();
        let head = NonNull::new(self.node(index)).unwrap().cast();
        // SAFETY: the world keeps the node; it is unlinked, and retired once.
        unsafe { batch.push(head, Node::reclaim) };
        self.rcu.retire(batch);
    }

    fn register_and_read(&self) {
        let reader = self.rcu.register().unwrap();
        self.read(&reader);
    }

    fn unlink_and_retire(&self) {
        self.unlink();
        self.retire(0);
    }

    fn poll_twice(&self) {
        self.rcu.poll(usize::MAX);
        self.rcu.poll(usize::MAX);
    }
}

/// A reader, a writer that unlinks and retires, and a third thread that advances and reclaims.
#[test]
fn a_node_is_reclaimed_only_when_no_reader_reaches_it() {
    let make = || {
        let world = World::<1>::new();
        let reader = world.reader();
        let threads = [
            body(move |world: &World<1>| world.read(&reader)),
            body(World::unlink_and_retire),
            body(World::poll_twice),
        ];
        (world, threads)
    };
    model(make, |world| {
        world.poll_twice();
        assert_eq!((world.nodes[0].state(), world.rcu.pending()), (GONE, 0));
    });
}

/// Two readers that register on their own, and a writer that also reclaims.
#[test]
fn readers_that_register_meanwhile_are_waited_for() {
    let make = || {
        let threads = [
            body(World::<2>::register_and_read),
            body(World::<2>::register_and_read),
            body(|world: &World<2>| {
                world.unlink_and_retire();
                world.poll_twice();
            }),
        ];
        (World::new(), threads)
    };
    model(make, |_| ());
}

/// The grace period notes the first section and next sees the second one, which shows that the
/// first is over.
#[test]
fn a_later_section_tells_that_the_earlier_one_is_over() {
    let make = || {
        let world = World::<1>::new();
        let reader = world.reader();
        let threads = [
            body(move |world: &World<1>| {
                world.read(&reader);
                world.read(&reader);
            }),
            body(World::unlink_and_retire),
            body(World::poll_twice),
        ];
        (world, threads)
    };
    model(make, |_| ());
}

/// A reader ends, and its only slot goes to another, while a node is retired and reclaimed.
#[test]
fn a_slot_that_changes_hands_protects_its_next_reader() {
    fn read_if_there_is_a_slot(world: &World<1>) {
        if let Ok(reader) = world.rcu.register() {
            world.read(&reader);
        }
    }
    let make = || {
        let threads = [
            body(read_if_there_is_a_slot),
            body(read_if_there_is_a_slot),
            body(|world: &World<1>| {
                world.unlink_and_retire();
                world.poll_twice();
            }),
        ];
        (World::new(), threads)
    };
    model(make, |_| ());
}

/// Readers that register meanwhile, and a writer that reuses an unlinked node at once.
#[test]
fn what_was_unlinked_is_used_again_only_where_nobody_is_inside() {
    let make = || {
        let threads = [
            body(World::<2>::register_and_read),
            body(World::<2>::register_and_read),
            body(|world: &World<2>| {
                let node = world.unlink();
                if world.rcu.is_quiet() {
                    node.set(GONE);
                }
            }),
        ];
        (World::new(), threads)
    };
    model(make, |world| assert!(world.rcu.is_quiet()));
}

/// Two threads retire nodes that they wrote to, and a third reclaims.
#[test]
fn what_two_threads_retire_is_reclaimed_once_as_they_left_it() {
    fn write_and_retire<const INDEX: usize>(world: &World<0>) {
        world.nodes[INDEX].set(ALIVE);
        world.retire(INDEX);
    }
    let make = || {
        let threads = [
            body(write_and_retire::<0>),
            body(write_and_retire::<1>),
            body(World::poll_twice),
        ];
        (World::new(), threads)
    };
    model(make, |world| {
        world.poll_twice();
        assert_eq!(world.nodes.each_ref().map(Node::state), [GONE, GONE]);
        assert_eq!(world.rcu.pending(), 0);
    });
}

/// One thread advances beside a reader, and another reclaims: the first one's observation of the
/// reader also holds for the second.
#[test]
fn what_one_thread_made_ready_another_reclaims() {
    let make = || {
        let world = World::<1>::new();
        let reader = world.reader();
        let threads = [
            body(move |world: &World<1>| world.read(&reader)),
            body(|world: &World<1>| {
                world.unlink_and_retire();
                world.rcu.advance();
                world.rcu.advance();
            }),
            body(|world: &World<1>| {
                world.rcu.reclaim(usize::MAX);
            }),
        ];
        (world, threads)
    };
    model(make, |_| ());
}

/// A writer keeps the node itself and requests a period. Another one retires and advances, so that
/// a grace period may be running already.
#[test]
fn when_a_period_is_over_no_reader_reaches_what_was_unlinked_before() {
    let make = || {
        let world = World::<1>::new();
        let reader = world.reader();
        let threads = [
            body(move |world: &World<1>| world.read(&reader)),
            body(|world: &World<1>| {
                let node = world.unlink();
                let period = world.rcu.snapshot();
                if !world.rcu.elapsed(period) {
                    world.rcu.advance();
                }
                if world.rcu.elapsed(period) {
                    node.set(GONE);
                }
            }),
            body(|world: &World<1>| {
                world.retire(1);
                world.rcu.advance();
            }),
        ];
        (world, threads)
    };
    model(make, |_| ());
}

/// A barrier beside another thread that advances and reclaims. That thread may have begun a grace
/// period for an earlier node, or have the node in its hand.
#[test]
fn after_a_barrier_what_was_retired_before_is_reclaimed() {
    let make = || {
        let world = World::<0>::new();
        world.retire(1);
        let threads = [
            body(|world: &World<0>| {
                world.retire(0);
                let mut pauses = 0;
                let done = world.rcu.barrier(|| {
                    thread::yield_now();
                    pauses += 1;
                    if pauses > 3 {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                });
                if done.is_ok() {
                    assert_eq!(world.nodes[0].state(), GONE);
                }
            }),
            body(World::poll_twice),
        ];
        (world, threads)
    };
    model(make, |_| ());
}

/// A value that its maker writes to before it is stored, and that is written to when it is dropped.
struct Value(UnsafeCell<usize>);

// SAFETY: loom checks every access to the cell.
unsafe impl Sync for Value {}

impl Value {
    fn boxed() -> RcuBox<Self> {
        let value = RcuBox::new(Self(UnsafeCell::new(0)));
        value.set(ALIVE);
        value
    }

    fn set(&self, state: usize) {
        // SAFETY: loom fails the model on any other concurrent access.
        self.0.with_mut(|value| unsafe { *value = state });
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.set(GONE);
    }
}

type ValueCell = RcuCell<Value, Arc<Domain<[ReaderSlot; 1]>>>;

/// One thread stores a value, another replaces it and reclaims it, a third reads.
#[test]
fn a_cell_publishes_its_value_whole_and_drops_it_whole() {
    let make = || {
        let rcu = Arc::new(Domain::with_slots(ReaderSlot::array()));
        let threads = [
            body(|cell: &ValueCell| {
                let reader = cell.rcu().register().unwrap();
                let guard = reader.enter();
                let value = cell.load(&guard);
                // SAFETY: loom fails the model on any concurrent write.
                assert_eq!(value.0.with(|value| unsafe { *value }), ALIVE);
            }),
            body(|cell: &ValueCell| cell.replace(Value::boxed())),
            body(|cell: &ValueCell| {
                cell.replace(Value::boxed());
                cell.rcu().poll(usize::MAX);
            }),
        ];
        (Arc::new(RcuCell::new(rcu, Value::boxed())), threads)
    };
    model(make, |_| ());
}

/// Two threads count under each kind of lock; a lost count or a data race fails.
#[test]
fn locks_exclude_and_order() {
    struct Locks {
        spin: Lock<SpinLock, usize>,
        attempt: TryLock<usize>,
    }
    fn count(locks: &Locks) {
        *locks.spin.lock() += 1;
        if let Some(mut count) = locks.attempt.try_lock() {
            *count += 1;
        }
    }
    let make = || {
        let spin = Lock::new(SpinLock::new(), 0);
        let locks = Arc::new(Locks {
            spin,
            attempt: TryLock::new(0),
        });
        (locks, [body(count), body(count)])
    };
    model(make, |locks| {
        assert_eq!(*locks.spin.lock(), 2);
        let count = *locks.attempt.try_lock().unwrap();
        assert!(count == 1 || count == 2);
    });
}
