//! A small domain, its device, and a list of the owner of each page.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{
    Cpu, Domain, DomainConfig, Flush, Grant, Request, Standard, Token, Traffic, VecSpace,
};
use furlong::sync::SpinLock;

pub(crate) const PAGE: u64 = 4096;
pub(crate) const PAGES: usize = 64;
pub(crate) const CPUS: usize = 3;

/// Capacities so small that rare paths become common.
pub(crate) struct Tiny;

impl DomainConfig for Tiny {
    type Space = Standard;
    type Lock = SpinLock;
    type Cpu = Seat;
    type Counters = Traffic;
    const CLASSES: usize = 3;
    const MAGAZINE: usize = 2;
    const DEPOT: usize = 2;
    const QUARANTINE: usize = 4;
    const HIGH_WATER: usize = 3;
}

/// The CPU number that the test has set.
#[derive(Clone, Default)]
pub(crate) struct Seat(pub(crate) Rc<Cell<usize>>);

impl Cpu for Seat {
    fn number(&self) -> usize {
        self.0.get()
    }
}

/// The state of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not held by a user; free or in a magazine.
    Free,
    /// Held by a user, as a grant, a token or an address.
    Held,
    /// In the quarantine of the CPU with this number.
    Waiting(usize),
    /// Reserved for the firmware.
    Fixed,
}

/// A device. A flush frees all pages that wait in a quarantine.
#[derive(Clone)]
pub(crate) struct Device {
    pub(crate) states: Rc<RefCell<Vec<State>>>,
    pub(crate) flushes: Rc<Cell<u32>>,
}

impl Flush for Device {
    fn flush(&self) {
        self.flushes.set(self.flushes.get() + 1);
        for state in self.states.borrow_mut().iter_mut() {
            if matches!(state, State::Waiting(_)) {
                *state = State::Free;
            }
        }
    }
}

/// A domain over the first pages, and the test's record of it.
pub(crate) struct World {
    pub(crate) domain: Domain<Device, Tiny>,
    pub(crate) device: Device,
    pub(crate) seat: Seat,
    pub(crate) grants: Vec<Grant>,
    pub(crate) tokens: Vec<Token>,
    /// Extents whose grants were given up, in any order.
    pub(crate) loose: Vec<Extent<Iova>>,
    pub(crate) fixed: Vec<Extent<Iova>>,
    pub(crate) leaked: u64,
}

pub(crate) fn pages(extent: Extent<Iova>) -> Range<usize> {
    let first = (extent.start().raw() / PAGE) as usize;
    first..first + (extent.len().unwrap() / PAGE) as usize
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_cpus(CPUS)
    }

    pub(crate) fn with_cpus(cpus: usize) -> Self {
        let extent = Extent::from_len(Iova::new(0), PAGES as u64 * PAGE).unwrap();
        let space = VecSpace::new(extent, PAGE, Vec::new()).unwrap();
        let device = Device {
            states: Rc::new(RefCell::new(vec![State::Free; PAGES])),
            flushes: Rc::default(),
        };
        let seat = Seat::default();
        Self {
            domain: Domain::with_config(space, device.clone(), seat.clone(), cpus).unwrap(),
            device,
            seat,
            grants: Vec::new(),
            tokens: Vec::new(),
            loose: Vec::new(),
            fixed: Vec::new(),
            leaked: 0,
        }
    }

    pub(crate) fn set(&self, extent: Extent<Iova>, from: impl Fn(State) -> bool, to: State) {
        let mut states = self.device.states.borrow_mut();
        for page in pages(extent) {
            assert!(from(states[page]), "page {page} is {:?}", states[page]);
            states[page] = to;
        }
    }

    /// Records a grant. Checks that its pages had no holder and that it satisfies the request.
    pub(crate) fn granted(&mut self, request: &Request, grant: Grant) {
        self.set(grant.extent(), |state| state == State::Free, State::Held);
        let (start, data) = (grant.extent().start(), grant.data());
        assert_eq!(data.len(), Some(request.size));
        assert_eq!(data.start().raw(), start.raw() + request.offset);
        assert!(grant.extent().contains(data.last()));
        assert!(suits(request, start), "{request:?} at {start}");
        self.guarded(request, pages(grant.extent()));
        self.grants.push(grant);
    }

    /// Checks that the guard pages of a grant lie in the space and have no holder.
    fn guarded(&self, request: &Request, granted: Range<usize>) {
        let states = self.device.states.borrow();
        for distance in 1..=request.guard.before as usize {
            assert_eq!(states[granted.start - distance], State::Free);
        }
        for distance in 0..request.guard.after as usize {
            assert_eq!(states[granted.end + distance], State::Free);
        }
    }

    /// True if the pages without a holder have room for the request.
    pub(crate) fn fits(&self, request: &Request) -> bool {
        let states = self.device.states.borrow();
        let len = (request.offset + request.size).div_ceil(PAGE) as usize;
        let (before, after) = (request.guard.before as usize, request.guard.after as usize);
        (before..PAGES).any(|page| {
            let end = page + len + after;
            let start = Iova::new(page as u64 * PAGE);
            let is_free = |page| states[page] == State::Free;
            end <= PAGES && suits(request, start) && (page - before..end).all(is_free)
        })
    }

    pub(crate) fn expected_outstanding(&self) -> u64 {
        self.tokens.len() as u64 + self.leaked + self.domain.quarantined()
    }

    /// Drains all caches into the tree. Checks that only the held pages are reserved there.
    pub(crate) fn drain(&self) {
        self.domain.drain_all();
        assert_eq!((self.domain.cached(), self.domain.quarantined()), (0, 0));
        let mut reserved = vec![false; PAGES];
        self.domain.with_space(|space| {
            for owned in space.reserved() {
                reserved[pages(owned.extent)].fill(true);
            }
        });
        let states = self.device.states.borrow();
        let is_held = |state: &State| matches!(state, State::Held | State::Fixed);
        let held: Vec<_> = states.iter().map(is_held).collect();
        assert_eq!(reserved, held);
    }
}

/// True if a grant at `start` would satisfy the request, byte by byte.
pub(crate) fn suits(request: &Request, start: Iova) -> bool {
    let first = start.raw() + request.offset;
    let last = first + request.size - 1;
    let crosses = |boundary: u64| first / boundary != last / boundary;
    let is_excluded =
        |(low, high): (Iova, Iova)| low < high && last > low.raw() && start.raw() <= high.raw();
    start.raw().is_multiple_of(request.align)
        && start >= request.low
        && last <= request.high.raw()
        && !request.boundary.is_some_and(crosses)
        && !request.exclusion.is_some_and(is_excluded)
}
