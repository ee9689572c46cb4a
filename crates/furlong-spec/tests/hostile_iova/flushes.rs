//! Flushes that call back into the domain that flushes. No address is granted before the end of a
//! flush that began after its release, and no lock stays held.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{ChunkSpace, Domain, Flush, Grant, Highest, Lowest, Request, Sealed, Token};
use furlong_spec::Random;
use furlong_spec::hostile::{Ledger, thinned, user_code};

use super::space::{Victim, pages};
use super::user::{Array, HELD, Moving, Tiny};

const PAGE: u64 = 4096;
const PAGES: u64 = 96;

/// The translations that a device may still remember.
#[derive(Default)]
struct Memory {
    /// The current time, in events.
    now: u64,
    /// The start of the latest flush that has ended.
    forgot: u64,
    /// Extents released and not granted again, each with the time of its release.
    released: Vec<(Extent<Iova>, u64)>,
}

impl Memory {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    fn flushed(&mut self, began: u64) {
        self.forgot = self.forgot.max(began);
    }

    /// Records a grant, and checks that the device has forgotten the extent.
    fn grants(&mut self, extent: Extent<Iova>) {
        let forgot = self.forgot;
        self.released.retain(|(old, when)| {
            let meets = old.overlaps(&extent);
            assert!(!meets || *when < forgot, "{old:?} is not forgotten");
            !meets
        });
    }
}

/// State shared by a domain's caller and the domain's flushes.
struct Shared<const N: usize> {
    domain: Domain<Back<N>, Tiny<N>>,
    memory: RefCell<Memory>,
    random: RefCell<Random>,
    grants: RefCell<Vec<Grant>>,
    tokens: RefCell<Vec<Token>>,
    sealed: RefCell<Vec<(Sealed, u64)>>,
    /// The depth of nested flushes, and the number of operations made in flushes.
    depth: Cell<u32>,
    within: Cell<u64>,
}

thread_local! {
    static ROOM: RefCell<Option<Rc<dyn Meddle>>> = const { RefCell::new(None) };
}

/// The work of a flush, independent of the domain's configuration.
trait Meddle {
    fn flush(&self);
}

/// A device whose flushes call back into the domain.
struct Back<const N: usize>;

impl<const N: usize> Flush for Back<N> {
    fn flush(&self) {
        assert_eq!(HELD.get(), 0, "flushed under a lock");
        user_code("Flush::flush");
        let room = ROOM.with_borrow(Clone::clone);
        room.expect("there is a domain").flush();
    }
}

impl<const N: usize> Meddle for Shared<N> {
    fn flush(&self) {
        let began = self.memory.borrow_mut().tick();
        if self.depth.get() < 3 {
            self.depth.set(self.depth.get() + 1);
            for _ in 0..self.below(4) {
                self.within.set(self.within.get() + 1);
                self.operate(self.below(OPERATIONS));
            }
            self.depth.set(self.depth.get() - 1);
        }
        // A panic here comes before the device has forgotten anything.
        user_code("Flush::flush, at its end");
        self.memory.borrow_mut().flushed(began);
    }
}

const OPERATIONS: u64 = 14;

impl<const N: usize> Shared<N> {
    fn new(seed: u64) -> Rc<Self> {
        let space = Victim::with_config(pages(0, PAGES), PAGE, Array(Vec::new()));
        let space = space.expect("it is in order");
        let domain = Domain::with_config(space, Back, Moving(Cell::new(1)), 3);
        let shared = Rc::new(Self {
            domain: domain.map_err(|_| ()).expect("there is memory"),
            memory: RefCell::default(),
            random: RefCell::new(Random::new(seed)),
            grants: RefCell::default(),
            tokens: RefCell::default(),
            sealed: RefCell::default(),
            depth: Cell::new(0),
            within: Cell::new(0),
        });
        ROOM.set(Some(Rc::clone(&shared) as Rc<dyn Meddle>));
        shared
    }

    fn below(&self, end: u64) -> u64 {
        self.random.borrow_mut().below(end)
    }

    fn pop<T>(&self, from: &RefCell<Vec<T>>) -> Option<T> {
        let len = from.borrow().len() as u64;
        (len > 0).then(|| from.borrow_mut().swap_remove(self.below(len) as usize))
    }

    fn granted(&self, grant: Grant) {
        self.memory.borrow_mut().grants(grant.extent());
        for other in self.grants.borrow().iter() {
            assert!(!other.extent().overlaps(&grant.extent()), "granted twice");
        }
        self.grants.borrow_mut().push(grant);
    }

    /// Takes a grant whose translation is removed now.
    fn taken_down(&self) -> Option<Grant> {
        let grant = self.pop(&self.grants)?;
        let mut memory = self.memory.borrow_mut();
        let when = memory.tick();
        memory.released.push((grant.extent(), when));
        Some(grant)
    }

    /// Flushes the device directly, without the domain.
    fn flush_outside(&self) {
        let mut memory = self.memory.borrow_mut();
        let began = memory.tick();
        memory.flushed(began);
    }

    fn operate(&self, operation: u64) {
        let domain = &self.domain;
        let request = Request::new(PAGE * (1 + self.below(6)));
        match operation {
            0..=2 => {
                let reserved = domain.reserve(&request, Highest);
                reserved.into_iter().for_each(|grant| self.granted(grant));
            }
            3 => {
                let reserved = domain.try_reserve(&request.size(PAGE * 9), Lowest);
                reserved.into_iter().for_each(|grant| self.granted(grant));
            }
            4 => {
                let placed = domain.place(&request, Lowest);
                placed.into_iter().for_each(|grant| self.granted(grant));
            }
            5 | 6 => {
                if let Some(grant) = self.taken_down() {
                    let _ = domain.release_later(grant).expect("it is the domain's");
                }
            }
            7 => {
                if let Some(grant) = self.taken_down() {
                    let token = domain.release(grant).expect("it is the domain's");
                    self.tokens.borrow_mut().push(token);
                }
            }
            8 => {
                if let Some(token) = self.pop(&self.tokens) {
                    let _ = domain.quarantine(token).expect("it is the domain's");
                }
            }
            9 => {
                if let Some(token) = self.pop(&self.tokens) {
                    self.flush_outside();
                    domain.redeem(token).expect("it is the domain's");
                }
            }
            10 => {
                let sealed = domain.seal();
                let when = self.memory.borrow_mut().tick();
                self.sealed.borrow_mut().push((sealed, when));
            }
            11 => {
                if let Some((sealed, when)) = self.pop(&self.sealed) {
                    if self.memory.borrow().forgot <= when {
                        self.flush_outside();
                    }
                    domain.redeem_sealed(sealed).expect("it is the domain's");
                }
            }
            12 => _ = domain.flush(),
            _ => _ = (domain.drain_cpu(1), domain.drain_all()),
        }
    }

    /// Checks that no lock is held, and that no more than `lost` extents have leaked.
    fn look(&self, lost: usize, told: &str) {
        assert_eq!(HELD.get(), 0, "{told}: a lock is held");
        if let Err(broken) = self.domain.check() {
            panic!("{told}: {broken}");
        }
        self.depth.set(3);
        while let Some(grant) = self.taken_down() {
            let _ = self.domain.release_later(grant).expect("it is held");
        }
        while let Some(token) = self.pop(&self.tokens) {
            let _ = self.domain.quarantine(token).expect("it is held");
        }
        self.domain.drain_all();
        self.domain.check().expect("it is in order");
        let left = self.domain.with_space(ChunkSpace::len);
        assert!(left <= lost, "{told}: {left} extents are lost");
    }
}

/// Runs operations whose flushes run further operations, without a panic.
pub(crate) fn come_back<const N: usize>(ledger: &mut Ledger) {
    for seed in thinned(0..60) {
        let shared = Shared::<N>::new(seed);
        for step in 0..120 {
            let operation = shared.below(OPERATIONS);
            let before = shared.within.get();
            shared.operate(operation);
            for within in before..shared.within.get() {
                let place = (operation, within - before);
                ledger.note("iova::Flush", place, (seed, step, N));
            }
        }
        shared.look(0, &format!("seed {seed}"));
        ROOM.set(None);
    }
}

/// The same with panics. Each leaks the extents that were in transit.
pub(crate) fn come_back_and_panic<const N: usize>(ledger: &mut Ledger) {
    for seed in thinned(0..60) {
        let shared = Shared::<N>::new(seed);
        let mut panicked = 0;
        for step in 0..60 {
            let (operation, call) = (shared.below(OPERATIONS), 1 + shared.below(300));
            let attempt = || furlong_spec::hostile::panic_at(call, || shared.operate(operation));
            let outcome = catch_unwind(AssertUnwindSafe(attempt));
            let outcome = outcome.unwrap_or_else(|error| std::panic::resume_unwind(error));
            shared.depth.set(0);
            panicked += usize::from(outcome != furlong_spec::hostile::Outcome::Done(()));
            ledger.note("iova::Flush", (operation, call), (seed, step, N));
        }
        // Up to three nested flushes, with one operation in each.
        shared.look(panicked * 4 * 33, &format!("seed {seed}"));
        ROOM.set(None);
    }
}
