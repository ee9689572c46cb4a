//! A hostile caller of bounce pools. It panics in every callback, forgets guards and waiters,
//! refuses and lies, and re-enters the pool from callbacks.

mod memory;
mod raw;
mod restored;
mod script;

use std::any::type_name;
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use furlong::bounce::{
    Area, AreaFirst, Counters, Cpu, Custom, Device, Event, Growth, Limits, LockFree, Locked,
    Memory, Order, Plan, Pool, PoolFirst, ToDevice, ZeroPads,
};
use furlong::check::Check;
use furlong::sync::SpinLock;
use furlong_spec::hostile::{Ledger, Outcome, panic_at_every_call, thinned, user_code};

use memory::{Hostile, LIES, Lie};
use script::{Forget, Script};

/// Counters that count nothing, whose every call is user code.
#[derive(Debug)]
pub(crate) struct Loud;

impl Default for Loud {
    fn default() -> Self {
        user_code("Counters::default");
        Self
    }
}

impl Counters for Loud {
    const ON: bool = true;

    fn count(&self, _: Event, _: u64) {
        user_code("Counters::count");
    }

    fn absorb(&mut self, _: &Self) {
        user_code("Counters::absorb");
    }
}

thread_local! {
    static CPU: Cell<usize> = const { Cell::new(0) };
}

/// A CPU that returns another number each time, far from the last one.
pub(crate) struct Lying;

impl Cpu for Lying {
    fn number(&self) -> usize {
        user_code("Cpu::number");
        CPU.set(
            CPU.get()
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_sub(1),
        );
        CPU.get()
    }
}

pub(crate) type Arms<O, A> = Custom<O, A, ZeroPads, Lying, SpinLock, Loud>;
pub(crate) type Tested<O, A> = Pool<Arc<Hostile>, Arms<O, A>>;

/// Two blocks of eight slots, with two areas each, and a transient block.
fn plan(growth: Growth) -> Plan {
    let plan = Plan::new(8, 2).growth(growth).blocks(3).block_slots(8, 2);
    plan.transients(1).waiters(3).patience(1)
}

fn device() -> Device {
    Device::new(7, Limits::new().quota(20)).expect("good limits")
}

/// Checks a pool after an attack: no invariant is broken, only the slots of `lost` mappings are
/// missing, and it can be filled and emptied.
fn is_whole<M: Memory, O: Order, A: Area>(
    pool: &Pool<M, Arms<O, A>>,
    device: &Device,
    lost: usize,
    what: &str,
) {
    pool.check()
        .unwrap_or_else(|broken| panic!("{what}: {broken}"));
    assert_eq!(pool.mappings_of(device), lost, "{what}");
    assert_eq!(pool.waiters(), 0, "{what}");
    let charged = device.used().expect("it has a quota") as usize;
    assert_eq!(charged, pool.used_slots(), "{what}");
    let mut held = Vec::new();
    while let Ok(mapped) = pool.map(device, ToDevice(&[9; 100])) {
        held.push(mapped);
    }
    assert!(
        held.len() + charged >= 8,
        "{what}: {} of {charged}",
        held.len()
    );
    drop(held);
    assert_eq!(pool.used_slots(), charged, "{what}");
    pool.check()
        .unwrap_or_else(|broken| panic!("{what}: {broken}"));
}

/// Makes each call of user code in a script panic once.
fn panics_of<O: Order, A: Area>(seed: u64, ledger: &mut Ledger) {
    let lie = LIES[seed as usize % LIES.len()];
    let growth = [Growth::Inline, Growth::Deferred, Growth::Never][seed as usize % 3];
    let refused = if seed % 4 == 3 {
        seed as usize % 7 + 3
    } else {
        0
    };
    let device = device();
    // Made in the attempt and inspected after it; each attempt has its own.
    let made = Cell::new(None::<(Tested<O, A>, Arc<Hostile>)>);
    let state = Cell::new((0_u64, 0_u64));
    panic_at_every_call(
        |_| {
            let memory = Arc::new(Hostile::new(lie, refused));
            let pool = Pool::with_config(Arc::clone(&memory), Lying, &plan(growth));
            let pool = pool.expect("there is memory for the first block");
            // Returned to the cell however the script ends.
            let kept = script::Kept::new((pool, memory), &made);
            let (pool, _) = kept.get();
            Script::new(seed).run(pool, &device, None, |place, before| {
                state.set((place, before));
            });
        },
        |k, outcome| {
            let (Outcome::Panicked(of), Some((pool, memory))) = (outcome, made.take()) else {
                return;
            };
            let (place, before) = state.get();
            ledger.note(
                "bounce::Pool",
                (place, of, type_name::<(O, A)>()),
                (before, growth as u8, lie),
            );
            let what = format!("seed {seed}, {k}: {of}");
            is_whole(&pool, &device, 0, &what);
            // A `free` that panics has taken the memory nevertheless.
            drop(pool);
            let (out, lost) = (memory.out(), memory.lost());
            assert_eq!(out, lost, "{what}: blocks are out");
        },
    );
}

#[test]
fn user_code_that_panics_at_any_call_leaves_a_pool_whole() {
    let mut ledger = Ledger::new();
    for seed in thinned(0..200) {
        panics_of::<AreaFirst, LockFree>(seed, &mut ledger);
        panics_of::<PoolFirst, Locked>(seed, &mut ledger);
    }
    ledger.report(5000);
}

/// Forgets each guard and each waiter at each step of a script.
fn forgets_of<O: Order, A: Area>(seed: u64, ledger: &mut Ledger) {
    for (step, which) in
        (0..script::STEPS).flat_map(|step| (0..script::HELD).map(move |which| (step, which)))
    {
        let forget = Forget { step, which };
        let (memory, device) = (Arc::new(Hostile::new(Lie::None, 0)), device());
        let made = Pool::with_config(Arc::clone(&memory), Lying, &plan(Growth::Inline));
        let pool: Tested<O, A> = made.unwrap_or_else(|none| panic!("{none}"));
        let lost = Script::new(seed).run(&pool, &device, Some(forget), |_, _| {});
        let Some((kind, state)) = lost else {
            continue;
        };
        ledger.note(kind, (step, which, type_name::<(O, A)>()), state);
        let what = format!("seed {seed}, {forget:?}");
        pool.check()
            .unwrap_or_else(|broken| panic!("{what}: {broken}"));
        let charged = device.used().expect("it has a quota") as usize;
        assert_eq!(pool.used_slots(), charged, "{what}");
        assert_eq!(pool.waiters(), usize::from(charged == 0), "{what}");
        assert_eq!(
            pool.mappings_of(&device),
            usize::from(charged > 0),
            "{what}"
        );
        drop(pool);
        // A forgotten mapping belongs to its device for ever, and its block is never freed.
        assert_eq!(memory.out(), i64::from(charged > 0), "{what}");
    }
}

#[test]
fn guards_and_waiters_that_are_forgotten_cost_their_slots_and_nothing_else() {
    let mut ledger = Ledger::new();
    for seed in thinned(0..250) {
        forgets_of::<AreaFirst, LockFree>(seed, &mut ledger);
        forgets_of::<PoolFirst, Locked>(seed, &mut ledger);
    }
    ledger.report(5000);
}

type Static = Pool<&'static Hostile, Arms<AreaFirst, LockFree>>;

/// Re-enters the pool when it is woken.
struct Returning(&'static Static, &'static Device);

impl Wake for Returning {
    fn wake(self: Arc<Self>) {
        let mapped = self.0.map(self.1, ToDevice(&[1; 3000]));
        drop(self.0.allocate(self.1, 100));
        self.0.tend();
        drop(mapped);
        assert!(self.0.check().is_ok());
    }
}

#[test]
fn who_is_woken_may_use_the_pool_at_once() {
    let memory: &'static Hostile = Box::leak(Box::new(Hostile::new(Lie::None, 0)));
    let made = Pool::with_config(memory, Lying, &plan(Growth::Never));
    let pool: &'static Static = Box::leak(Box::new(made.unwrap_or_else(|none| panic!("{none}"))));
    let device: &'static Device = Box::leak(Box::new(device()));
    let waker = Waker::from(Arc::new(Returning(pool, device)));
    let mut held = Vec::new();
    while let Ok(mapped) = pool.map(device, ToDevice(&[1])) {
        held.push(mapped);
    }
    for _ in 0..20 {
        let mut waiting = pin!(pool.wait(device, ToDevice(&[2])));
        let polled = waiting.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        held.pop();
        let polled = waiting.as_mut().poll(&mut Context::from_waker(&waker));
        let std::task::Poll::Ready(Ok(mapped)) = polled else {
            panic!("there is room");
        };
        held.push(mapped);
    }
    drop(held);
    is_whole(pool, device, 0, "after all were woken");
}
