//! Loom models of the state that CPUs share in a pool of bounce buffers; `ci/loom.sh` runs them,
//! and states the bound on preemptions.
//!
//! Words of two slots make segments of four, so that a run may cross the words of its segment.
//!
//! Each rule below was broken by hand, one at a time; these models failed:
//!
//! | broken | models that then fail |
//! |---|---|
//! | a run is freed without `Release` | owner |
//! | a run is taken without `Acquire` | owner |
//! | the low word is not freed when taking the high one fails | across |
//! | a waiter does not settle | waits |
//! | the rest of a quota is read, not exchanged | quota |
//! | an end of a mapping by address does not check whether another was faster | twice |
//! | all CPUs begin in the first segment of an area | apart |
//!
//! Meaning of the names: *owner* `a_slot_has_one_owner_..`, *across* `runs_across_words_..`,
//! *waits*
//! `one_who_waits_is_woken_..`, *quota* `one_who_waits_for_its_quota_..`, *twice* `one_of_two_..`,
//! *apart* `cpus_that_share_an_area_begin_apart_..`.
#![expect(unsafe_code, reason = "memory is brought, and mapped by address")]

mod orders;
mod thread_cpu;

use std::alloc::{Layout, alloc, dealloc};
use std::future::Future;
use std::pin::pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use furlong::addr::{Address, Iova, PhysAddr};
use furlong::bounce::{
    Area, AreaFirst, Back, Backing, Both, Custom, Device, Direction, Growth, Limits, LockFree,
    Locked, MapError, Memory, Misuse, Off, OneCpu, Plan, Pool, SLOT, ToDevice, Wanted, ZeroNothing,
};
use furlong::check::Check;
use furlong::sync::{Cpu, SpinLock};
use loom::cell::UnsafeCell;
use orders::{Start, body, explore, model};
use thread_cpu::{ThreadCpu, on_cpu};

type Small<A, U> = Custom<AreaFirst, A, ZeroNothing, U, SpinLock, Off>;
type Free = LockFree<2>;
type Under = Locked<SpinLock, 4>;

/// A block: real memory, and for each slot a cell in which loom tracks its use.
struct Block {
    device: u64,
    start: NonNull<u8>,
    len: usize,
    slots: Vec<UnsafeCell<()>>,
}

impl Block {
    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, 4096).unwrap()
    }

    /// Uses all slots from an address on.
    fn touch(&self, at: NonNull<u8>, len: usize) {
        let offset = at.as_ptr().addr() - self.start.as_ptr().addr();
        let first = offset / SLOT as usize;
        for slot in first..(offset + len).div_ceil(SLOT as usize) {
            self.slots[slot].with_mut(|_| ());
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: obtained with this layout, and freed here only.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.len)) };
    }
}

/// Memory whose copies are uses of slots that loom tracks.
struct Watched(std::sync::Mutex<Vec<Block>>);

// SAFETY: blocks are under a lock; loom checks the uses of their slots.
unsafe impl Send for Watched {}
// SAFETY: as above.
unsafe impl Sync for Watched {}

impl Watched {
    fn touch(&self, at: NonNull<u8>, len: usize) {
        let blocks = self.0.lock().unwrap();
        let addr = at.as_ptr().addr();
        let holds = |block: &&Block| {
            let start = block.start.as_ptr().addr();
            start <= addr && addr < start + block.len
        };
        let block = blocks.iter().find(holds);
        block
            .expect("a copy in memory that was freed")
            .touch(at, len);
    }
}

// SAFETY: memory is obtained from the global allocator and freed once; nothing is copied.
unsafe impl Memory for Watched {
    fn obtain(&self, wanted: &Wanted) -> Option<Backing> {
        let mut blocks = self.0.lock().unwrap();
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { alloc(Block::layout(wanted.len)) })?;
        let device = 0x10_0000 * (1 + blocks.len() as u64);
        let slots = (0..wanted.len / SLOT as usize).map(|_| UnsafeCell::new(()));
        blocks.push(Block {
            device,
            start,
            len: wanted.len,
            slots: slots.collect(),
        });
        Some(Backing {
            start,
            device: Iova::new(device),
            len: wanted.len,
        })
    }

    unsafe fn free(&self, backing: Backing) {
        self.touch(backing.start, backing.len);
        let mut blocks = self.0.lock().unwrap();
        blocks.retain(|block| block.device != backing.device.raw());
    }

    unsafe fn read(&self, _: PhysAddr, to: NonNull<u8>, len: usize) {
        self.touch(to, len);
    }

    unsafe fn write(&self, _: PhysAddr, from: NonNull<u8>, len: usize) {
        self.touch(from, len);
    }
}

struct World<A: Area, U: Cpu + Send + Sync + 'static = OneCpu> {
    pool: Pool<Watched, Small<A, U>>,
    device: Device,
}

impl<A: Area, U: Cpu + Default + Send + Sync> World<A, U> {
    fn new(plan: &Plan) -> Arc<Self> {
        Self::limited(plan, Limits::new())
    }

    fn limited(plan: &Plan, limits: Limits) -> Arc<Self> {
        let memory = Watched(std::sync::Mutex::new(Vec::new()));
        let pool = Pool::with_config(memory, U::default(), plan);
        Arc::new(Self {
            pool: pool.unwrap_or_else(|none| panic!("{none}")),
            device: Device::new(1, limits).unwrap(),
        })
    }

    /// Maps `slots` slots, anywhere.
    fn map(&self, slots: usize) -> Option<Iova> {
        let (at, len) = (PhysAddr::new(0), slots * SLOT as usize);
        // SAFETY: originals are not touched.
        let mapped = unsafe { self.pool.map_raw(&self.device, at, len, Direction::Both) };
        mapped.ok()
    }

    fn try_unmap(&self, device: &Device, at: Iova) -> Result<(), Misuse> {
        // SAFETY: as above.
        unsafe { self.pool.unmap_raw(device, at, Direction::Both, Back::All) }
    }

    fn unmap(&self, at: Iova) {
        self.try_unmap(&self.device, at).unwrap();
    }

    /// Maps and unmaps, if there is room.
    fn try_once(&self, slots: usize) {
        if let Some(at) = self.map(slots) {
            self.unmap(at);
        }
    }

    /// Checks that nothing is mapped and nothing is lost.
    fn is_whole(&self) {
        self.pool.check().unwrap();
        assert_eq!(self.pool.free_slots(), self.pool.slots());
        assert_eq!(self.pool.waiters(), 0);
    }
}

/// A pool of one segment.
fn segment() -> Plan {
    Plan::new(4, 1)
}

/// Two threads use the same two slots in turn.
fn make_owners<A: Area>() -> Start<World<A>, 2> {
    let world = World::new(&Plan::new(2, 1));
    let twice = || {
        body(|world: &World<A>| {
            world.try_once(1);
            world.try_once(2);
        })
    };
    (world, [twice(), twice()])
}

#[test]
fn a_slot_has_one_owner_at_a_time_without_a_lock() {
    model(make_owners::<Free>, World::is_whole);
}

#[test]
fn a_slot_has_one_owner_at_a_time_under_a_lock() {
    model(make_owners::<Under>, World::is_whole);
}

/// A run across both words of a segment, and runs within each of them.
fn make_across<A: Area>() -> Start<World<A>, 2> {
    let world = World::<A>::new(&segment());
    let threads = [
        body(|world: &World<A>| world.try_once(3)),
        body(|world: &World<A>| {
            let [low, high] = [world.map(1), world.map(1)];
            [high, low]
                .into_iter()
                .flatten()
                .for_each(|at| world.unmap(at));
            world.try_once(3);
        }),
    ];
    (world, threads)
}

#[test]
fn runs_across_words_take_both_or_none() {
    model(make_across::<Free>, World::is_whole);
}

/// Two CPUs share an area of two segments. Each finds room for everything that fits into one of its
/// own.
fn make_apart<A: Area>() -> Start<World<A, ThreadCpu>, 2> {
    let threads = [0, 1].map(|cpu| {
        body(move |world: &World<A, ThreadCpu>| {
            on_cpu(cpu);
            let own = [3, 1].map(|slots| world.map(slots).expect("nobody else begins there"));
            for at in own {
                assert_eq!((at.raw() / SLOT / 4) as usize % 2, cpu);
                world.unmap(at);
            }
        })
    });
    (World::new(&Plan::new(8, 1)), threads)
}

#[test]
fn cpus_that_share_an_area_begin_apart_without_a_lock() {
    model(make_apart::<Free>, World::is_whole);
}

#[test]
fn cpus_that_share_an_area_begin_apart_under_a_lock() {
    model(make_apart::<Under>, World::is_whole);
}

/// The first CPU's segment is full, so it searches the other CPU's segment.
fn make_beyond<A: Area>() -> Start<World<A, ThreadCpu>, 2> {
    let world = World::<A, ThreadCpu>::new(&Plan::new(8, 1));
    let near = world.map(4).unwrap();
    let threads = [
        body(move |world: &World<A, ThreadCpu>| {
            world.try_once(1);
            world.unmap(near);
        }),
        body(|world: &World<A, ThreadCpu>| {
            on_cpu(1);
            world.try_once(1);
        }),
    ];
    (world, threads)
}

#[test]
fn cpus_that_share_an_area_take_what_is_free_elsewhere_without_a_lock() {
    model(make_beyond::<Free>, World::is_whole);
}

#[test]
fn cpus_that_share_an_area_take_what_is_free_elsewhere_under_a_lock() {
    model(make_beyond::<Under>, World::is_whole);
}

/// Two threads end one mapping; the winner maps the freed slot for another device.
fn make_twice<A: Area>() -> Start<World<A>, 2> {
    let world = World::<A>::new(&Plan::new(1, 1));
    let at = world.map(1).unwrap();
    let ends = Arc::new(AtomicUsize::new(0));
    let threads = [0, 1].map(|_| {
        let ends = Arc::clone(&ends);
        body(
            move |world: &World<A>| match world.try_unmap(&world.device, at) {
                Ok(()) => {
                    assert_eq!(ends.fetch_add(1, Ordering::SeqCst), 0);
                    let other = Device::new(2, Limits::new()).unwrap();
                    let (from, len) = (PhysAddr::new(0), SLOT as usize);
                    // SAFETY: originals are not touched.
                    let again = unsafe { world.pool.map_raw(&other, from, len, Direction::Both) };
                    assert_eq!(again, Ok(at));
                    assert_eq!(world.try_unmap(&other, at), Ok(()));
                }
                Err(misuse) => assert!(matches!(misuse, Misuse::NotMapped(_) | Misuse::Foreign(2))),
            },
        )
    });
    (world, threads)
}

#[test]
fn one_of_two_who_end_a_mapping_is_told_that_there_is_none() {
    model(make_twice::<Free>, World::is_whole);
}

#[test]
fn one_of_two_who_end_a_mapping_is_told_that_there_is_none_under_a_lock() {
    model(make_twice::<Under>, World::is_whole);
}

/// A sleeping thread of the model.
struct Sleeper(loom::thread::Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Sleeps until the future is done; a model in which this thread is never woken fails.
fn sleep_until<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Sleeper(loom::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => loom::thread::park(),
        }
    }
}

/// One thread waits for `SLOTS` slots. Another ends the last of `RUNS` mappings of that size, which
/// fill the pool.
fn make_waiter<A: Area, const SLOTS: usize, const RUNS: usize>() -> Start<World<A>, 2> {
    let world = World::<A>::new(&Plan::new(SLOTS * RUNS, 1));
    let mut runs = [(); RUNS].map(|()| Some(world.map(SLOTS).unwrap()));
    let last = runs[RUNS - 1].take().unwrap();
    let threads = [
        body(move |world: &World<A>| {
            let bytes = [1; 4 * SLOT as usize];
            let from = ToDevice(&bytes[..SLOTS * SLOT as usize]);
            drop(sleep_until(world.pool.wait(&world.device, from)).unwrap());
            for run in runs.into_iter().flatten() {
                world.unmap(run);
            }
        }),
        body(move |world: &World<A>| world.unmap(last)),
    ];
    (world, threads)
}

#[test]
fn one_who_waits_is_woken_without_a_lock() {
    model(make_waiter::<Free, 2, 1>, World::is_whole);
}

#[test]
fn one_who_waits_is_woken_under_a_lock() {
    model(make_waiter::<Under, 2, 1>, World::is_whole);
}

#[test]
fn one_who_waits_is_woken_from_another_segment_without_a_lock() {
    model(make_waiter::<Free, 4, 2>, World::is_whole);
}

#[test]
fn one_who_waits_is_woken_from_another_segment_under_a_lock() {
    model(make_waiter::<Under, 4, 2>, World::is_whole);
}

/// There is room, but the device has used its whole quota: only its own unmapping helps.
fn make_quota() -> Start<World<Free>, 2> {
    let world = World::<Free>::limited(&segment(), Limits::new().quota(1));
    let held = world.map(1).unwrap();
    let threads = [
        body(|world: &World<Free>| {
            let waiting = world.pool.wait(&world.device, ToDevice(&[1]));
            drop(sleep_until(waiting).unwrap());
        }),
        body(move |world: &World<Free>| world.unmap(held)),
    ];
    (world, threads)
}

#[test]
fn one_who_waits_for_its_quota_is_woken() {
    model(make_quota, World::is_whole);
}

/// The first of two waiters gives up, perhaps after it was woken.
fn make_line() -> Start<World<Free>, 2> {
    let world = World::<Free>::new(&Plan::new(1, 1));
    let held = world.map(1).unwrap();
    let threads = [
        body(|world: &World<Free>| {
            let pause = || core::ops::ControlFlow::Break(());
            let mut second = [2];
            let second = world.pool.wait(&world.device, Both(&mut second));
            let first = world.pool.wait(&world.device, ToDevice(&[1]));
            match first.block_while(pause) {
                Ok(mapped) => drop(mapped),
                Err(error) => assert_eq!(error, MapError::TimedOut),
            }
            drop(sleep_until(second).unwrap());
        }),
        body(move |world: &World<Free>| world.unmap(held)),
    ];
    (world, threads)
}

#[test]
fn a_place_in_line_that_is_given_up_is_passed_on() {
    // It has so many steps that three preemptions take minutes.
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.map(|bound| bound.min(2));
    explore(&builder, make_line, World::is_whole);
}

/// A block is put to sleep while another thread maps.
fn make_sleeper<A: Area>() -> Start<World<A>, 2> {
    let plan = Plan::new(1, 1).growth(Growth::Deferred).blocks(2);
    let world = World::<A>::new(&plan.patience(1));
    world.pool.grow().unwrap();
    let threads = [
        body(|world: &World<A>| {
            let _ = world.pool.tend();
        }),
        body(|world: &World<A>| {
            let both = [world.map(1), world.map(1)];
            both.into_iter().flatten().for_each(|at| world.unmap(at));
        }),
    ];
    (world, threads)
}

#[test]
fn a_block_that_goes_has_no_slot_in_use() {
    model(make_sleeper::<Free>, World::is_whole);
}

#[test]
fn a_block_that_goes_has_no_slot_in_use_under_a_lock() {
    model(make_sleeper::<Under>, World::is_whole);
}
