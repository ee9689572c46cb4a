//! Faults of peers: a test for each row of the table in README.md. A test fails when its finding is
//! gone, so that the row is removed.
//!
//! If the specification's operations can show it, the sequence is the first of the shortest over an
//! alphabet that includes similar operations. Otherwise the test uses the peer's own calls.

use furlong::addr::{Extent, Iova};
use furlong::iova::{Request, ReserveAtError};
use furlong_experiments_devices::iova_gap::{self, AddressAllocator, Ask};
use furlong_peers::iova::{FreeMap, OffsetAllocator, Peer, RangeAlloc, RangeMap, VmAllocator};
use furlong_spec::iova::{Geometry, Granted, Operation, Outcome, Place};
use offset_allocator::Allocator;
use range_alloc::RangeAllocator;
use vm_allocator::{AddressAllocator as VmTheirs, AllocPolicy, Error};

use super::smallest::{Wrong, smallest};

/// Four pages from address 0 on.
const PAGES: Geometry = Geometry::low(4, 4096);

const fn bytes(start: u64, granules: usize) -> Geometry {
    Geometry {
        start,
        granule: 1,
        granules,
    }
}

/// A request for a number of granules.
fn size(space: Geometry, granules: u64, place: Place) -> Operation {
    Operation::Reserve(Request::new(granules * space.granule), place)
}

fn lowest(space: Geometry, granules: u64) -> Operation {
    size(space, granules, Place::Lowest)
}

fn highest(space: Geometry, granules: u64) -> Operation {
    size(space, granules, Place::Highest)
}

fn extent(space: Geometry, first: usize, len: usize) -> Extent<Iova> {
    let extent = space.granules(first, len);
    extent.expect("the granules are in 64 bits")
}

fn reserve_at(space: Geometry, first: usize, len: usize) -> Operation {
    Operation::ReserveAt(extent(space, first, len))
}

fn granted(space: Geometry, first: usize, len: usize) -> Outcome {
    let extent = extent(space, first, len);
    let data = extent;
    Outcome::Granted(Granted { extent, data })
}

/// The smallest wrong sequence, which must be `operations`.
fn finding<P: Peer>(space: Geometry, alphabet: &[Operation], operations: &[Operation]) -> Wrong {
    let wrong = smallest::<P>(space, alphabet, operations.len() as u32);
    let wrong = wrong.expect("the finding is still there");
    assert_eq!(wrong.operations, operations, "{wrong:?}");
    wrong
}

fn is_refused(found: &Option<Outcome>) -> bool {
    matches!(
        found,
        Some(Outcome::Refused(_) | Outcome::RefusedAt(_) | Outcome::Stale(_))
    )
}

#[test]
fn vm_allocator_grants_an_exact_range_that_is_allocated() {
    let inside = |first, len| reserve_at(PAGES, first, len);
    let alphabet = [
        lowest(PAGES, 1),
        lowest(PAGES, 2),
        inside(0, 1),
        inside(0, 2),
        inside(1, 1),
        inside(1, 2),
    ];
    let wrong = finding::<VmAllocator>(PAGES, &alphabet, &[lowest(PAGES, 2), inside(0, 1)]);
    assert_eq!(wrong.found, Some(granted(PAGES, 0, 1)));
    let owner = extent(PAGES, 0, 2);
    assert_eq!(
        wrong.expected,
        Outcome::RefusedAt(ReserveAtError::Occupied(owner))
    );
}

#[test]
fn vm_allocator_then_grants_the_rest_of_that_range_too() {
    let mut theirs = VmTheirs::new(0, 0x4000).unwrap();
    let first = theirs.allocate(0x2000, 0x1000, AllocPolicy::FirstMatch);
    assert_eq!(
        first.map(|range| (range.start(), range.end())),
        Ok((0, 0x1fff))
    );
    theirs
        .allocate(0x1000, 0x1000, AllocPolicy::ExactMatch(0))
        .unwrap();
    let third = theirs.allocate(0x1000, 0x1000, AllocPolicy::FirstMatch);
    assert_eq!(third.map(|range| range.start()), Ok(0x1000));
}

#[test]
fn vm_allocator_releases_what_is_free() {
    let release_at = |first, len| Operation::ReleaseAt(extent(PAGES, first, len));
    let alphabet = [
        lowest(PAGES, 1),
        lowest(PAGES, 2),
        Operation::Release(0),
        release_at(0, 1),
        release_at(1, 3),
        release_at(0, 4),
    ];
    let wrong = finding::<VmAllocator>(PAGES, &alphabet, &[release_at(0, 4)]);
    assert!(
        matches!(wrong.found, Some(Outcome::ReleasedAt(_))),
        "{wrong:?}"
    );
}

#[test]
fn vm_allocator_finds_no_highest_place_for_an_exact_fit_at_0() {
    let all = [1, 2, 3, 4].map(|granules| highest(PAGES, granules));
    let wrong = finding::<VmAllocator>(PAGES, &all, &[highest(PAGES, 4)]);
    assert!(is_refused(&wrong.found));
    assert_eq!(wrong.expected, granted(PAGES, 0, 4));
}

#[test]
fn vm_allocator_grants_nothing_that_ends_with_64_bits() {
    let space = Geometry::high(2, 4096);
    let alphabet = [lowest(space, 1), highest(space, 1)];
    let wrong = finding::<VmAllocator>(space, &alphabet, &[highest(space, 1)]);
    assert!(
        is_refused(&wrong.found),
        "the other page is free, and not tried"
    );
    assert_eq!(wrong.expected, granted(space, 1, 1));
}

#[test]
fn vm_allocator_finds_no_exact_place_of_one_byte() {
    let space = bytes(0, 3);
    let exact = |first| reserve_at(space, first, 1);
    let alphabet = [exact(0), exact(1), exact(2)];
    let wrong = finding::<VmAllocator>(space, &alphabet, &[exact(2)]);
    assert!(is_refused(&wrong.found));
    assert_eq!(wrong.expected, granted(space, 2, 1));
}

#[test]
fn vm_allocator_does_not_join_a_gap_of_one_byte() {
    let space = bytes(0, 3);
    let alphabet = [
        lowest(space, 1),
        lowest(space, 2),
        lowest(space, 3),
        Operation::Release(0),
    ];
    let sequence = [lowest(space, 2), Operation::Release(0), lowest(space, 3)];
    let wrong = finding::<VmAllocator>(space, &alphabet, &sequence);
    assert!(is_refused(&wrong.found));
    assert_eq!(wrong.expected, granted(space, 0, 3));
}

#[test]
fn vm_allocator_loses_what_begins_at_1_when_it_is_released() {
    let space = bytes(1, 2);
    let alphabet = [lowest(space, 1), lowest(space, 2), Operation::Release(0)];
    let sequence = [lowest(space, 1), Operation::Release(0)];
    let wrong = finding::<VmAllocator>(space, &alphabet, &sequence);
    assert!(is_refused(&wrong.found));

    let mut peer = VmAllocator::new(space.extent(), space.granule).unwrap();
    let first = peer.reserve_at(extent(space, 0, 2)).unwrap();
    assert!(!peer.try_release(first));
    assert_eq!(peer.ranges(), Ok(vec![]), "neither allocated nor free");
}

#[test]
fn vm_allocator_loses_what_ends_one_byte_below_the_end_when_it_is_released() {
    let mut theirs = VmTheirs::new(u64::MAX - 4096, 4096).unwrap();
    let all = theirs.allocate(4096, 1, AllocPolicy::FirstMatch).unwrap();
    assert_eq!(theirs.free(&all), Err(Error::Overflow));
    let again = theirs.allocate(4096, 1, AllocPolicy::FirstMatch);
    assert_eq!(again, Err(Error::ResourceNotAvailable));
}

#[test]
fn range_alloc_takes_back_what_overlaps_a_free_range() {
    // The documentation says that this panics.
    let mut theirs = RangeAllocator::new(0_u64..3);
    assert_eq!(theirs.allocate_range(1), Ok(0..1));
    assert_eq!(theirs.allocate_range(1), Ok(1..2));
    theirs.free_range(0..1);
    theirs.free_range(1..3);
    assert_eq!(theirs.allocate_range(3), Ok(0..3));
    assert_eq!(theirs.allocate_range(1), Ok(2..3), "a second time");
}

#[test]
fn range_alloc_grants_outside_its_range_where_an_alignment_overflows() {
    let space = bytes(u64::MAX - 8, 8);
    let aligned = Operation::Reserve(Request::new(1).align(16), Place::Random(0));
    let alphabet = [size(space, 1, Place::Best), aligned.clone()];
    let wrong = finding::<RangeAlloc>(space, &alphabet, &[aligned]);
    assert!(matches!(wrong.expected, Outcome::Refused(_)));
    if cfg!(debug_assertions) {
        assert_eq!(wrong.found, None, "it panics");
    } else {
        assert_eq!(wrong.found, Some(granted(bytes(0, 1), 0, 1)));
    }
}

#[test]
fn range_alloc_panics_at_half_of_all_numbers() {
    if !cfg!(debug_assertions) {
        return; // only where overflow is looked for
    }
    let space = bytes(0, 8);
    let alphabet = [1 << 3, 1 << 62, 1 << 63].map(|granules| size(space, granules, Place::Best));
    let wrong = finding::<RangeAlloc>(space, &alphabet, &alphabet[2..]);
    assert_eq!(wrong.found, None);
    assert!(matches!(wrong.expected, Outcome::Refused(_)));
}

#[test]
fn offset_allocator_refuses_17_where_17_are_free() {
    let any = |granules| size(bytes(0, 1), granules, Place::Random(0));
    let refuses = |granules: u64| {
        let space = bytes(0, granules as usize);
        smallest::<OffsetAllocator>(space, &[any(granules)], 1)
    };
    assert!((1..17).all(|granules| refuses(granules).is_none()));
    let wrong = refuses(17).expect("the finding is still there");
    assert!(is_refused(&wrong.found));
    assert_eq!(wrong.expected, granted(bytes(0, 17), 0, 17));
}

#[test]
fn offset_allocator_grants_nothing_at_the_place_of_the_next() {
    let space = bytes(0, 4);
    let mut peer = OffsetAllocator::new(space.extent(), space.granule).unwrap();
    let any = |size| Ask {
        size,
        align: 1,
        low: 0,
        high: 3,
        place: iova_gap::Place::Lowest,
    };
    let starts = [0, 0, 1].map(|size| peer.reserve(&any(size)).map(|(start, _)| start));
    assert_eq!(starts, [Some(0); 3]);
}

#[test]
fn offset_allocator_has_room_for_two_allocations_less_than_it_is_asked_for() {
    for max in [3, 4, 100] {
        let mut theirs = Allocator::<u32>::with_max_allocs(1 << 20, max);
        let allocations = std::iter::from_fn(|| theirs.allocate(1)).count();
        assert_eq!(allocations as u32, max - 2);
    }
}

#[test]
fn the_search_for_sequences_finds_nothing_where_nothing_is_wrong() {
    let alphabet = [
        lowest(PAGES, 1),
        lowest(PAGES, 2),
        highest(PAGES, 1),
        reserve_at(PAGES, 1, 2),
        Operation::Release(0),
        Operation::Release(1),
    ];
    assert_eq!(smallest::<FreeMap>(PAGES, &alphabet, 5), None);
    assert_eq!(smallest::<RangeMap>(PAGES, &alphabet, 5), None);
}

#[test]
fn each_row_of_the_table_has_a_test_and_each_peer_its_version() {
    let (readme, manifest) = (
        include_str!("../../README.md"),
        include_str!("../../Cargo.toml"),
    );
    let table = readme.split("## Findings").nth(1).expect("it is there");
    for peer in ["vm-allocator", "range-alloc", "offset-allocator"] {
        let row = format!("| {peer} |");
        let test = format!("fn {}_", peer.replace('-', "_"));
        let count =
            |text: &str, start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        assert!(count(table, &row) > 0, "{peer}");
        assert_eq!(
            count(table, &row),
            count(include_str!("findings.rs"), &test),
            "{peer}"
        );
    }
    let pins = manifest.split("\"=").skip(1);
    let pins: Vec<&str> = pins.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(pins.len(), 16);
    assert!(
        pins.iter().all(|version| readme.contains(version)),
        "{pins:?}"
    );
}
