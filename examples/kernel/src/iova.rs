//! The bus: allocation of its addresses.
//!
//! There is no IOMMU here. What a device puts on the bus is an address of memory, so that the space
//! of device addresses is also the one of pages that are free: whatever is not memory that anyone
//! may have is a fixed extent, the heap takes its pages above 4 GiB, and devices get theirs below.
//! Its nodes lie in memory that was set aside before there is a heap.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    Grant, Highest, Kind, Lowest, Request, ReserveError, Reserved, Space, SpaceNode, Standard,
};
use furlong::sync::{Lock, SpinLock};

use crate::direct::{self, PAGE};
use crate::phys;
use crate::serial::say;

type Bus = Space<Standard, &'static mut [SpaceNode]>;

static BUS: Lock<SpinLock, Option<Bus>> = Lock::new(SpinLock::new(), None);

/// Extents that can be reserved at a time.
const NODES: usize = 4096;

/// First and last address.
type Window = (Iova, Iova);
/// The addresses that a device with 32 address lines reaches.
pub(crate) const LOW: Window = (Iova::new(0), Iova::new(0xffff_ffff));
/// All others.
pub(crate) const HIGH: Window = (Iova::new(1 << 32), Iova::new(u64::MAX));

/// Works with the bus.
fn with<R>(work: impl FnOnce(&mut Bus) -> R) -> R {
    work(BUS.lock().as_mut().expect("the bus was opened"))
}

fn extent(first: u64, last: u64) -> Extent<Iova> {
    let extent = Extent::from_last(Iova::new(first), Iova::new(last));
    extent.expect("the first address is not above the last one")
}

/// Opens the bus: all that is not memory which anyone may have is reserved for good.
pub(crate) fn open() {
    let unused = SpaceNode::<Standard>::new(Reserved { start: 0, last: 0 });
    let nodes = direct::fill(phys::set_aside(NODES), unused);
    let last = phys::last_byte();
    let mut bus = Space::new(extent(0, last), PAGE, nodes).expect("memory is made of pages");
    let mut next = 0;
    let mut reserve = |first: u64, end: u64| {
        if first < end {
            let fixed = bus.reserve_fixed(extent(first, end - 1), |_| ());
            fixed.expect("nobody has reserved anything");
        }
    };
    phys::available(|first, last| {
        reserve(next, first);
        next = last + 1;
    });
    reserve(next, last + 1);
    *BUS.lock() = Some(bus);
}

/// True once the free memory belongs to the bus.
pub(crate) fn is_open() -> bool {
    BUS.lock().is_some()
}

/// Reserves `len` bytes, until they are given back by their address.
pub(crate) fn take(len: u64, align: u64, window: Window) -> Option<Iova> {
    let request = Request::new(len).align(align).window(window.0, window.1);
    let grant = with(|bus| bus.reserve(&request, Lowest)).ok()?;
    Some(grant.iova())
}

/// Gives all or a part of what was taken back.
pub(crate) fn give_back(first: Iova, len: u64) {
    let range = Extent::from_len(first, len).expect("what was taken has a length");
    let mut bytes = 0;
    let released = with(|bus| {
        bus.release_range(range, |piece| {
            bytes += piece.extent.len().unwrap_or_default();
        })
    });
    released.expect("it was taken in whole pages");
    assert_eq!(bytes, len, "nothing is given back that was not taken");
}

/// Bytes of a window that nobody has.
pub(crate) fn free_bytes((first, last): Window) -> u64 {
    let window = extent(first.raw(), last.raw());
    with(|bus| bus.free_in(window).filter_map(|gap| gap.len()).sum())
}

/// Sizes from one page to 64, alignments from a page to 16, as drivers ask for.
fn wanted(number: u64) -> Request {
    let size = 1 + number * 37 % (64 * PAGE);
    let request = Request::new(size)
        .align(PAGE << (number % 5))
        .window(LOW.0, LOW.1);
    // Some devices cannot count across a multiple of 64 KiB.
    if size <= 1 << 16 {
        request.boundary(1 << 16)
    } else {
        request
    }
}

/// Holds a grant against what was asked for.
fn judge(grant: &Grant, request: &Request) {
    let data = grant.data();
    let (first, last) = (data.start().raw(), data.last().raw());
    assert!(last <= LOW.1.raw(), "{data:?} is beyond 32 address lines");
    assert_eq!(last - first + 1, request.size);
    assert!(
        grant.iova().is_aligned(request.align),
        "{data:?} is not aligned"
    );
    if let Some(boundary) = request.boundary {
        assert_eq!(
            first / boundary,
            last / boundary,
            "{data:?} crosses a boundary"
        );
    }
    assert!(
        phys::is_available(first, last),
        "{data:?} is not memory that anyone may have"
    );
}

/// Reserves addresses for devices, below 4 GiB, from both ends, and releases them in another order.
pub(crate) fn run() {
    const COUNT: u64 = 1000;
    let free = free_bytes(LOW);
    let mut grants = Vec::new();
    for number in 0..COUNT {
        let request = wanted(number);
        let granted = with(|bus| match number % 2 {
            0 => bus.reserve(&request, Lowest),
            _ => bus.reserve(&request, Highest),
        });
        let grant = granted.expect("there is room below 4 GiB");
        judge(&grant, &request);
        grants.push(grant);
    }
    let mut extents: Vec<_> = grants.iter().map(Grant::extent).collect();
    extents.sort_by_key(Extent::start);
    let apart = extents
        .windows(2)
        .all(|pair| pair[0].last() < pair[1].start());
    assert!(apart, "no two devices have the same address");
    let bytes: u64 = extents.iter().filter_map(Extent::len).sum();
    assert_eq!(free_bytes(LOW), free - bytes);
    let fixed = with(|bus| {
        bus.reserved()
            .filter(|owned| owned.kind == Kind::Fixed)
            .count()
    });

    let too_much = Request::new(1 << 32).window(LOW.0, LOW.1);
    let refused = with(|bus| bus.reserve(&too_much, Lowest));
    let is_full = matches!(refused, Err(ReserveError::NoSpace { .. }));
    assert!(is_full, "4 GiB below 4 GiB: {refused:?}");

    let (even, odd): (Vec<_>, Vec<_>) = grants
        .into_iter()
        .enumerate()
        .partition(|(number, _)| number % 3 == 0);
    for (_, grant) in odd.into_iter().chain(even) {
        with(|bus| bus.release(grant)).expect("it is released once");
    }
    assert_eq!(free_bytes(LOW), free, "all is free again");
    with(|bus| bus.check()).expect("every invariant holds");
    say!(
        "iova",
        "no IOMMU: an address on the bus is one of memory; {COUNT} extents with {bytes} bytes \
         reserved below 4 GiB and released, none in {fixed} fixed ones; 4 GiB refused",
    );
}
