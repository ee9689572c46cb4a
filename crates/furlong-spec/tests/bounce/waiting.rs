//! Waiting for room: in order, without starvation, and with a deadline. A waiter that gives up
//! holds up no other.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use furlong::addr::Iova;
use furlong::bounce::{
    AreaFirst, Cpu, Custom, Device, Growth, Limits, LockFree, MapError, Mapped, PASSES, Plan, Pool,
    ToDevice, Waiting, ZeroPads,
};
use furlong_spec::bounce::{Addresses, Machine, Refusal, TestCpu, Tried};

type Config = Tried<AreaFirst, LockFree>;
type Tested = Pool<Arc<Machine>, Config>;

fn pool(plan: &Plan) -> Tested {
    let machine = Arc::new(Machine::new(0, Addresses::new(1 << 20, 0)));
    let pool = Pool::with_config(machine, TestCpu::default(), plan);
    pool.unwrap_or_else(|none| panic!("{none}"))
}

fn device(id: u32, limits: Limits) -> Device {
    Device::new(id, limits).expect("good limits")
}

/// Counts its wake-ups.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

type Done<'a> = Result<Mapped<'a, ToDevice<'a>, Arc<Machine>, Config>, MapError>;

/// A waiter and its bell.
struct Waiter<'a> {
    waiting: Waiting<'a, ToDevice<'a>, Arc<Machine>, Config>,
    bell: Arc<Bell>,
}

impl<'a> Waiter<'a> {
    fn new(pool: &'a Tested, device: &'a Device, bytes: &'a [u8]) -> Self {
        Self {
            waiting: pool.wait(device, ToDevice(bytes)),
            bell: Arc::default(),
        }
    }

    fn poll(&mut self) -> Poll<Done<'a>> {
        let waker = Waker::from(Arc::clone(&self.bell));
        Pin::new(&mut self.waiting).poll(&mut Context::from_waker(&waker))
    }

    fn rang(&self) -> usize {
        self.bell.0.load(Ordering::SeqCst)
    }

    fn map(&mut self) -> Mapped<'a, ToDevice<'a>, Arc<Machine>, Config> {
        match self.poll() {
            Poll::Ready(mapped) => mapped.expect("there is room"),
            Poll::Pending => panic!("it was not woken"),
        }
    }
}

#[test]
fn those_who_wait_are_served_in_order() {
    let (pool, any) = (pool(&Plan::new(1, 1)), device(1, Limits::new()));
    let held = pool.map(&any, ToDevice(&[0])).unwrap();
    let mut line: Vec<_> = (0..3).map(|_| Waiter::new(&pool, &any, &[1])).collect();
    line.iter_mut()
        .for_each(|waiter| assert!(waiter.poll().is_pending()));
    drop(held);
    for turn in 0..3 {
        let rang: Vec<_> = line.iter().map(Waiter::rang).collect();
        let expected: Vec<_> = (0..3).map(|waiter| usize::from(waiter <= turn)).collect();
        assert_eq!(rang, expected);
        drop(line[turn].map());
    }
    assert_eq!((pool.waiters(), pool.free_slots()), (0, 1));
}

#[test]
fn a_woken_waiter_that_finds_nothing_keeps_its_place() {
    let (pool, any) = (pool(&Plan::new(1, 1)), device(1, Limits::new()));
    let held = pool.map(&any, ToDevice(&[0])).unwrap();
    let mut first = Waiter::new(&pool, &any, &[1]);
    assert!(first.poll().is_pending());
    drop(held);
    assert_eq!(first.rang(), 1);
    // The slot is taken before its turn.
    let taken = Waiter::new(&pool, &any, &[2]).map();
    assert!(first.poll().is_pending());
    let mut third = Waiter::new(&pool, &any, &[3]);
    assert!(third.poll().is_pending());
    drop(taken);
    assert_eq!((first.rang(), third.rang()), (2, 0));
    drop(first.map());
    drop(third.map());
}

#[test]
fn a_run_that_comes_free_in_any_area_wakes_who_waits() {
    let (pool, any) = (pool(&Plan::new(4, 4)), device(1, Limits::new()));
    for freed in 0..4 {
        let mapped = |_| pool.map(&any, ToDevice(&[0])).unwrap();
        let mut held: Vec<_> = (0..4).map(mapped).collect();
        let mut waiter = Waiter::new(&pool, &any, &[1]);
        assert!(waiter.poll().is_pending());
        drop(held.swap_remove(freed));
        assert_eq!(waiter.rang(), 1);
        drop(waiter.map());
    }
}

#[test]
fn whoever_gives_up_passes_his_turn_on() {
    let (pool, any) = (pool(&Plan::new(1, 1)), device(1, Limits::new()));
    let held = pool.map(&any, ToDevice(&[0])).unwrap();
    let mut first = Waiter::new(&pool, &any, &[1]);
    let mut second = Waiter::new(&pool, &any, &[2]);
    assert!(first.poll().is_pending() && second.poll().is_pending());
    drop(held);
    assert_eq!((first.rang(), second.rang()), (1, 0));
    drop(first);
    assert_eq!((second.rang(), pool.waiters()), (1, 1));
    drop(second.map());
    assert_eq!((pool.waiters(), pool.free_slots()), (0, 1));
}

#[test]
fn a_large_run_is_passed_over_so_often_and_no_more() {
    let (pool, any) = (pool(&Plan::new(4, 1)), device(1, Limits::new()));
    let mut held: Vec<_> = (0..4)
        .map(|_| pool.map(&any, ToDevice(&[0])).unwrap())
        .collect();
    let large = [7; 8192];
    let mut large = Waiter::new(&pool, &any, &large);
    assert!(large.poll().is_pending());
    for _ in 0..PASSES {
        let mut small = Waiter::new(&pool, &any, &[1]);
        assert!(small.poll().is_pending());
        drop(held.pop());
        assert_eq!((small.rang(), large.rang()), (1, 0));
        held.push(small.map());
    }
    // From now on every later waiter waits until the large mapping fits.
    let mut small = Waiter::new(&pool, &any, &[1]);
    assert!(small.poll().is_pending());
    while let Some(one) = held.pop() {
        assert_eq!((small.rang(), large.rang()), (0, 0));
        drop(one);
    }
    assert_eq!((small.rang(), large.rang()), (0, 1));
    drop(large.map());
    assert_eq!(small.rang(), 1);
    drop(small.map());
    assert_eq!(pool.free_slots(), 4);
}

#[test]
fn one_who_is_short_of_quota_holds_nobody_up() {
    let pool = pool(&Plan::new(4, 1));
    let (poor, rich) = (device(1, Limits::new().quota(1)), device(2, Limits::new()));
    let own = pool.map(&poor, ToDevice(&[1])).unwrap();
    // A page: slots 2 and 3. Slot 1 stays free.
    let held = pool.map(&rich, ToDevice(&[0; 4096])).unwrap();
    let mut waits = Waiter::new(&pool, &poor, &[2]);
    let mut behind = Waiter::new(&pool, &rich, &[3; 4096]);
    assert!(waits.poll().is_pending() && behind.poll().is_pending());
    // There is room for the first waiter, but the second has its turn, because the first is over
    // quota.
    drop(held);
    assert!(waits.poll().is_pending());
    drop(behind.map());
    assert_eq!(behind.rang(), 1);
    let before = waits.rang();
    drop(own);
    assert_eq!(waits.rang(), before + 1);
    drop(waits.map());
    assert_eq!((poor.used(), pool.free_slots()), (Some(0), 4));
}

#[test]
fn one_behind_another_grows_the_pool_or_takes_a_place() {
    let plans = [
        Plan::new(128, 1).growth(Growth::Inline).blocks(2),
        Plan::new(128, 1).transients(1),
    ];
    for plan in plans {
        let pool = pool(&plan);
        let (poor, rich) = (device(1, Limits::new().quota(1)), device(2, Limits::new()));
        let own = pool.map(&poor, ToDevice(&[1])).unwrap();
        let held: Vec<_> = (1..128)
            .map(|_| pool.map(&rich, ToDevice(&[2])).unwrap())
            .collect();
        let mut waits = Waiter::new(&pool, &poor, &[3]);
        assert!(waits.poll().is_pending());
        // No slot is free, and whatever the first gets is of no use to the second.
        drop(Waiter::new(&pool, &rich, &[4]).map());
        drop(own);
        drop(waits.map());
        drop(held);
        assert_eq!(pool.waiters(), 0);
    }
}

#[test]
fn a_place_that_the_first_cannot_use_serves_the_next() {
    let pool = pool(&Plan::new(1, 1).transients(1));
    let (near, any) = (
        device(1, Limits::new().reach(Iova::new((1 << 20) + 2047))),
        device(2, Limits::new()),
    );
    let _for_good = pool.map(&any, ToDevice(&[0])).unwrap();
    let transient = pool.map(&any, ToDevice(&[1])).unwrap();
    let mut first = Waiter::new(&pool, &near, &[2]);
    let mut second = Waiter::new(&pool, &any, &[3]);
    assert!(first.poll().is_pending() && second.poll().is_pending());
    drop(transient);
    assert_eq!((first.rang(), second.rang()), (1, 0));
    // No memory is within its reach.
    assert!(first.poll().is_pending());
    assert_eq!((first.rang(), second.rang()), (1, 1));
    drop(second.map());
}

thread_local! {
    static NEXT: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
}

/// A CPU that does `NEXT` when it is asked for its number: in the middle of a map.
struct Busy;

impl Cpu for Busy {
    fn number(&self) -> usize {
        if let Some(act) = NEXT.take() {
            act();
        }
        0
    }
}

#[test]
fn who_waits_for_quota_is_woken_when_the_map_that_had_it_fails() {
    type Config = Custom<AreaFirst, LockFree, ZeroPads, Busy>;
    let machine = Arc::new(Machine::new(0, Addresses::new(1 << 20, 0)));
    let pool = Pool::<_, Config>::with_config(machine, Busy, &Plan::new(2, 1));
    let pool = Arc::new(pool.unwrap_or_else(|none| panic!("{none}")));
    let (poor, rich) = (device(1, Limits::new().quota(2)), device(2, Limits::new()));
    let poor = Arc::new(poor);
    let _held = pool.map(&rich, ToDevice(&[0])).unwrap();
    let (bell, theirs) = (
        Arc::new(Bell::default()),
        (Arc::clone(&pool), Arc::clone(&poor)),
    );
    let waits = Rc::new(RefCell::new(Box::pin(async move {
        let (pool, poor) = theirs;
        pool.wait(&poor, ToDevice(&[1])).await.map(drop)
    })));
    let poll = {
        let (waits, waker) = (Rc::clone(&waits), Waker::from(Arc::clone(&bell)));
        move || {
            waits
                .borrow_mut()
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
        }
    };
    // A slot is free, but this map has all of the quota until it finds no run of two slots.
    let first = poll.clone();
    NEXT.set(Some(Box::new(move || assert!(first().is_pending()))));
    let none = pool.map(&poor, ToDevice(&[2; 4096])).map(drop);
    assert_eq!(none, Err(MapError::Full { wanted: 2, free: 1 }));
    let rang = bell.0.load(Ordering::SeqCst);
    assert!(rang > 0, "nobody else will wake it");
    assert_eq!(poll(), Poll::Ready(Ok(())));
}

#[test]
fn one_whose_device_reaches_no_block_holds_nobody_up() {
    // A further block may be in its reach, so it waits.
    let plan = Plan::new(4, 1).block_slots(4, 4).blocks(2);
    let pool = pool(&plan.growth(Growth::Deferred));
    let low = Limits::new().reach(Iova::new(0xf_ffff));
    let (any, low) = (device(1, Limits::new()), device(2, low));
    let mapped = |_| pool.map(&any, ToDevice(&[0])).unwrap();
    let mut held: Vec<_> = (0..4).map(mapped).collect();
    let mut ahead = Waiter::new(&pool, &any, &[1]);
    let mut first = Waiter::new(&pool, &low, &[1]);
    assert!(ahead.poll().is_pending() && first.poll().is_pending());
    drop(held.pop());
    held.push(ahead.map());
    for _ in 0..2 * PASSES {
        let mut behind = Waiter::new(&pool, &any, &[1]);
        assert!(behind.poll().is_pending());
        drop(held.pop());
        assert_eq!((behind.rang(), first.rang()), (1, 0));
        held.push(behind.map());
    }
}

#[test]
fn the_place_of_a_transient_block_is_waited_for_too() {
    let (pool, any) = (
        pool(&Plan::new(1, 1).transients(1)),
        device(1, Limits::new()),
    );
    let _for_good = pool.map(&any, ToDevice(&[0])).unwrap();
    let transient = pool.map(&any, ToDevice(&[1])).unwrap();
    assert_eq!((pool.transient_blocks(), pool.free_slots()), (1, 0));
    let mut first = Waiter::new(&pool, &any, &[2]);
    let mut second = Waiter::new(&pool, &any, &[3]);
    assert!(first.poll().is_pending() && second.poll().is_pending());
    drop(transient);
    assert_eq!((first.rang(), second.rang()), (1, 0));
    let transient = first.map();
    assert!(second.poll().is_pending());
    drop(transient);
    drop(second.map());
    // If no memory is left for the block, the waiter that was woken waits on.
    let transient = pool.map(&any, ToDevice(&[1])).unwrap();
    let mut third = Waiter::new(&pool, &any, &[4]);
    assert!(third.poll().is_pending());
    pool.memory().refuse(Refusal::Obtain, 0);
    drop(transient);
    assert_eq!(third.rang(), 1);
    assert!(third.poll().is_pending());
    assert_eq!((pool.waiters(), pool.transient_blocks()), (1, 0));
}

#[test]
fn waiting_beyond_a_deadline_or_a_full_line_is_refused() {
    let (pool, any) = (pool(&Plan::new(1, 1).waiters(1)), device(1, Limits::new()));
    let held = pool.map(&any, ToDevice(&[0])).unwrap();
    let deadline = Instant::now() + Duration::from_millis(5);
    let late = pool.wait(&any, ToDevice(&[1])).block_until(deadline);
    assert_eq!(late.map(|_| ()), Err(MapError::TimedOut));
    assert_eq!(pool.waiters(), 0);
    let mut first = Waiter::new(&pool, &any, &[1]);
    assert!(first.poll().is_pending());
    let many = pool
        .wait(&any, ToDevice(&[2]))
        .block(|| panic!("it is refused"));
    assert_eq!(many.map(|_| ()), Err(MapError::TooManyWaiters(1)));
    let never = pool
        .wait(&any, ToDevice(&[]))
        .block(|| panic!("it is refused"));
    assert_eq!(never.map(|_| ()), Err(MapError::ZeroSize));
    drop(held);
    drop(first.map());
}

#[test]
fn threads_that_wait_for_each_other_all_come_through() {
    let (pool, any) = (pool(&Plan::new(4, 1)), device(1, Limits::new()));
    let deadline = Instant::now() + Duration::from_secs(120);
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (pool, any) = (&pool, &any);
            scope.spawn(move || {
                for round in 0..500 {
                    let bytes = vec![thread as u8; 2048 * (1 + (thread + round) % 3)];
                    let mapped = pool.wait(any, ToDevice(&bytes)).block_until(deadline);
                    drop(mapped.expect("it has its turn"));
                }
            });
        }
    });
    assert_eq!((pool.waiters(), pool.free_slots()), (0, 4));
}

#[test]
fn who_could_never_be_served_does_not_wait() {
    let any = device(1, Limits::new());
    let short = pool(&Plan::new(8, 8));
    let mut waiter = Waiter::new(&short, &any, &[0; 4096]);
    let full = MapError::Full { wanted: 2, free: 8 };
    assert!(matches!(waiter.poll(), Poll::Ready(Err(error)) if error == full));

    let (wide, poor) = (pool(&Plan::new(8, 1)), device(2, Limits::new().quota(1)));
    let mut waiter = Waiter::new(&wide, &poor, &[0; 4096]);
    let quota = MapError::Quota {
        quota: 1,
        used: 0,
        wanted: 2,
    };
    assert!(matches!(waiter.poll(), Poll::Ready(Err(error)) if error == quota));

    // It does not join the queue of requests that can succeed either.
    let _held = wide.map(&any, ToDevice(&[0; 8 * 2048])).unwrap();
    let mut first = Waiter::new(&wide, &any, &[0]);
    assert!(first.poll().is_pending());
    let mut waiter = Waiter::new(&wide, &any, &[0; 9 * 2048]);
    let full = MapError::Full { wanted: 9, free: 0 };
    assert!(matches!(waiter.poll(), Poll::Ready(Err(error)) if error == full));
    assert_eq!((short.waiters(), wide.waiters()), (0, 1));
}

#[test]
fn who_is_served_at_once_needs_no_place_in_the_queue() {
    let (pool, any) = (pool(&Plan::new(1, 1).waiters(0)), device(1, Limits::new()));
    let held = Waiter::new(&pool, &any, &[1]).map();
    let many = Waiter::new(&pool, &any, &[2]).poll();
    assert!(matches!(
        many,
        Poll::Ready(Err(MapError::TooManyWaiters(0)))
    ));
    drop(held);
    drop(Waiter::new(&pool, &any, &[3]).map());
}

#[test]
fn who_fits_only_into_a_further_block_waits_if_there_may_be_one() {
    let any = device(1, Limits::new());
    // Areas of one slot, and of two in further blocks.
    let plan = Plan::new(4, 4).block_slots(8, 8);
    let asks = |plan: &Plan, slots: usize| {
        let pool = pool(plan);
        let bytes = vec![0; slots * 2048];
        match Waiter::new(&pool, &any, &bytes).poll() {
            Poll::Pending => Ok(()),
            Poll::Ready(done) => Err(done.map(|_| ()).expect_err("no area has so much")),
        }
    };
    let full = |wanted| Err(MapError::Full { wanted, free: 4 });
    let grows = plan.growth(Growth::Deferred);
    assert_eq!(asks(&grows.blocks(2), 2), Ok(()));
    assert_eq!(asks(&grows.blocks(2), 3), full(3));
    assert_eq!(asks(&grows.blocks(1), 2), full(2));
    assert_eq!(asks(&plan.blocks(2), 2), full(2));

    let pool = pool(&grows.blocks(2));
    let mut waiter = Waiter::new(&pool, &any, &[0; 4096]);
    assert!(waiter.poll().is_pending());
    // What had no memory is tried again.
    pool.memory().refuse(Refusal::Obtain, 0);
    assert_eq!(pool.tend().grown, 0);
    assert_eq!(pool.tend().grown, 8);
    assert_eq!(waiter.rang(), 1);
    drop(waiter.map());
}
