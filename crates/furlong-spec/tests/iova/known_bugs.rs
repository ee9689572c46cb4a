//! Known bugs of other address allocators, and one of this one. Each test's name is the correct
//! behaviour.

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    Best, Boundary, Config, Counts, Custom, Grant, Guard, Highest, Lowest, Near, Policy, Random,
    Request, ReserveAtError, ReserveError, Runs, Split, Standard, VecSpace,
};

use crate::{PAGE, pages};

const ALL: u64 = u64::MAX / PAGE + 1;

fn request(count: u64) -> Request {
    Request::new(count * PAGE)
}

/// A space of pages.
fn space(first: u64, count: u64) -> VecSpace {
    VecSpace::new(pages(first, count), PAGE, Vec::new()).expect("it is made of pages")
}

/// A space of pages in which these extents stay reserved.
fn space_with(first: u64, count: u64, reserved: &[Extent<Iova>]) -> VecSpace {
    let mut space = space(first, count);
    for extent in reserved {
        let _ = space.reserve_at(*extent).expect("it is free");
    }
    space
}

/// The extent that a policy chooses.
#[track_caller]
fn taken<P: Policy>(space: &mut VecSpace, request: &Request, policy: P) -> Extent<Iova> {
    let grant = space.reserve(request, policy).expect("there is a place");
    assert_eq!(space.check(), Ok(()));
    grant.extent()
}

/// The first pages chosen in such a space by each policy: lowest, highest, nearest to page 0, best.
fn all_taken(space: impl Fn() -> VecSpace, request: &Request) -> [u64; 4] {
    let near = Near(Iova::new(0));
    [
        taken(&mut space(), request, Lowest),
        taken(&mut space(), request, Highest),
        taken(&mut space(), request, near),
        taken(&mut space(), request, Best),
    ]
    .map(|extent| extent.start().raw() / PAGE)
}

#[test]
fn an_exact_extent_inside_a_reserved_one_is_refused() {
    // rust-vmm's vm-allocator grants it.
    let owner = pages(4, 8);
    for first in 4..12 {
        for count in 1..=12 - first {
            let mut space = space_with(0, 64, &[owner]);
            let refused = space.reserve_at(pages(first, count));
            assert_eq!(
                refused,
                Err(ReserveAtError::Occupied(owner)),
                "{first} {count}"
            );
        }
    }
}

#[test]
fn an_exact_extent_around_a_reserved_one_is_refused() {
    // FreeBSD's iommu_gas does not search a region that is covered on both sides.
    let owner = pages(4, 2);
    for (first, count) in [(0, 64), (3, 4), (4, 3), (3, 3)] {
        let refused = space_with(0, 64, &[owner]).reserve_at(pages(first, count));
        assert_eq!(refused, Err(ReserveAtError::Occupied(owner)));
    }
}

#[test]
fn an_exact_extent_that_abuts_others_on_both_sides_is_granted() {
    // FreeBSD's loop over the free parts of a range treats adjacency as overlap.
    let mut space = space_with(0, 64, &[pages(0, 4), pages(6, 58)]);
    assert!(space.reserve_at(pages(4, 2)).is_ok());
    assert_eq!(space.free().count(), 0);
}

#[test]
fn an_exact_extent_at_zero_is_granted() {
    assert!(space(0, 64).reserve_at(pages(0, 1)).is_ok());
    assert!(space(0, ALL).reserve_at(pages(0, ALL)).is_ok());
}

#[test]
fn the_page_at_zero_is_a_page_as_any_other() {
    // FreeBSD keeps it reserved by guards; others by arithmetic in which 0 means none.
    assert_eq!(all_taken(|| space(0, 1), &request(1)), [0; 4]);
    let mut space = space_with(0, 64, &[pages(1, 63)]);
    assert_eq!(taken(&mut space, &request(1), Highest), pages(0, 1));
}

#[test]
fn the_last_page_of_64_bits_is_a_page_as_any_other() {
    // Other allocators leave it out to avoid overflow.
    let top = ALL - 1;
    assert_eq!(all_taken(|| space(top, 1), &request(1)), [top; 4]);
    let below = [pages(0, top)];
    assert_eq!(
        all_taken(|| space_with(0, ALL, &below), &request(1)),
        [top; 4]
    );
    let mut space = space(0, ALL);
    assert_eq!(taken(&mut space, &request(1), Highest), pages(top, 1));
    assert_eq!(taken(&mut space, &request(1), Highest), pages(top - 1, 1));
    let window = request(1).window(Iova::new(top * PAGE), Iova::new(u64::MAX));
    assert!(space.reserve(&window, Lowest).is_err());
}

#[test]
fn all_of_64_bits_but_one_byte_can_be_reserved_by_size() {
    let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).expect("it is not empty");
    let mut space = VecSpace::new(all, 1, Vec::new()).expect("bytes are granules");
    let grant = space
        .reserve(&Request::new(u64::MAX), Highest)
        .expect("it fits");
    assert_eq!(grant.extent().start(), Iova::new(1));
    assert_eq!(grant.extent().last(), Iova::new(u64::MAX));
    let byte = space
        .reserve(&Request::new(1), Lowest)
        .expect("byte 0 is free");
    assert_eq!(byte.iova(), Iova::new(0));
    let none = space.reserve(&Request::new(1), Lowest);
    let (wanted, largest) = (1, 0);
    assert_eq!(none, Err(ReserveError::NoSpace { wanted, largest }));
}

#[test]
fn the_last_granule_of_a_space_and_of_a_window_can_be_had() {
    // Bounds were off by one in vm-allocator and by one and by two in Cloud Hypervisor.
    let mut space = space_with(0, 64, &[pages(0, 63)]);
    assert_eq!(taken(&mut space, &request(1), Lowest), pages(63, 1));
    let window = |first: u64, count: u64| {
        let extent = pages(first, count);
        request(count).window(extent.start(), extent.last())
    };
    for (first, count) in [(0, 1), (7, 1), (7, 5), (63, 1), (0, 64)] {
        let asked = window(first, count);
        assert_eq!(all_taken(|| self::space(0, 64), &asked), [first; 4]);
        let short = Request {
            high: Iova::new(asked.high.raw() - 1),
            ..asked
        };
        assert!(
            self::space(0, 64).reserve(&short, Lowest).is_err(),
            "{first} {count}"
        );
        let late = Request {
            low: Iova::new(asked.low.raw() + 1),
            ..asked
        };
        assert!(
            self::space(0, 64).reserve(&late, Highest).is_err(),
            "{first} {count}"
        );
    }
}

#[test]
fn a_gap_of_exactly_the_size_is_taken() {
    // Quark requires a gap that is longer than the request.
    for size in 1..20 {
        let around = [pages(0, 5), pages(5 + size, 64 - 5 - size)];
        let space = || space_with(0, 64, &around);
        assert_eq!(all_taken(space, &request(size)), [5; 4]);
        let wanted = (size + 1) * PAGE;
        let largest = size * PAGE;
        let refused = space().reserve(&request(size + 1), Lowest);
        assert_eq!(refused, Err(ReserveError::NoSpace { wanted, largest }));
    }
}

#[test]
fn a_gap_of_exactly_the_size_is_taken_before_the_first_and_behind_the_last_extent() {
    let before = || space_with(0, 64, &[pages(3, 61)]);
    assert_eq!(all_taken(before, &request(3)), [0; 4]);
    let behind = || space_with(0, 64, &[pages(0, 61)]);
    assert_eq!(all_taken(behind, &request(3)), [61; 4]);
}

#[test]
fn neighbours_that_are_released_make_one_gap_in_every_order() {
    // OpenVMM's pool never merges its fragments.
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for order in orders {
        let mut space = space_with(0, 64, &[pages(0, 10), pages(40, 24)]);
        let mut grants: Vec<Option<Grant>> = (0..3)
            .map(|_| space.reserve(&request(10), Lowest).ok())
            .collect();
        for which in order {
            let grant = grants[which].take().expect("it is there");
            space.release(grant).expect("it is held");
            assert_eq!(space.check(), Ok(()));
        }
        assert!(space.free().eq([pages(10, 30)]), "{order:?}");
        assert_eq!(taken(&mut space, &request(30), Lowest), pages(10, 30));
    }
}

#[test]
fn grants_that_abut_stay_two() {
    // A map that merges equal neighbours can release them only together.
    let mut space = space(0, 64);
    let low = space.reserve(&request(1), Lowest).expect("there is space");
    let high = space.reserve(&request(1), Lowest).expect("there is space");
    assert_eq!(space.len(), 2);
    space.release(low).expect("it is held");
    assert!(space.holds(&high));
    assert!(space.owner(Iova::new(0)).is_none());
    assert_eq!(
        space.owner(Iova::new(PAGE)).map(|owned| owned.extent),
        Some(pages(1, 1))
    );
}

#[test]
fn a_released_extent_is_found_again_wherever_it_is_in_the_tree() {
    // A gap is lost for ever if it opens below a subtree whose summary is not updated.
    for count in 1..70 {
        let mut space = space(0, count);
        for page in 0..count {
            let _ = space.reserve_at(pages(page, 1)).expect("it is free");
        }
        for page in 0..count {
            space.release_at(pages(page, 1)).expect("it is reserved");
            assert_eq!(space.check(), Ok(()));
            let found = match page % 3 {
                0 => taken(&mut space, &request(1), Lowest),
                1 => taken(&mut space, &request(1), Highest),
                _ => taken(&mut space, &request(1), Best),
            };
            assert_eq!(found, pages(page, 1), "of {count}");
        }
    }
}

#[test]
fn a_refusal_is_not_remembered() {
    // A cache of failed requests, as Linux has for 32-bit devices, can outlive the cause of the
    // failure.
    let mut space = space(0, 8);
    let mut grants: Vec<Grant> = Vec::new();
    while let Ok(grant) = space.reserve(&request(1), Lowest) {
        grants.push(grant);
    }
    assert_eq!(grants.len(), 8);
    for _ in 0..3 {
        assert!(space.reserve(&request(2), Lowest).is_err());
    }
    for _ in 0..2 {
        let last = grants.pop().expect("there are eight");
        space.release(last).expect("it is held");
    }
    assert_eq!(taken(&mut space, &request(2), Lowest), pages(6, 2));
}

#[test]
fn the_lowest_place_is_the_lowest_whatever_the_tree_looks_like() {
    // FreeBSD before 14 chose the gap above an entry before the gaps below it.
    for count in 2..40 {
        let mut space = space(0, 2 * count);
        for page in (0..count).rev() {
            let _ = space
                .reserve_at(pages(2 * page + 1, 1))
                .expect("it is free");
        }
        for page in 0..count {
            assert_eq!(taken(&mut space, &request(1), Lowest), pages(2 * page, 1));
        }
    }
}

#[test]
fn neighbours_share_one_guard() {
    // One free page between two grants, as in FreeBSD's packed layout.
    let mut space = space(0, 8);
    let guarded = request(1).guard(Guard::ONE);
    let found: Vec<_> = core::iter::from_fn(|| {
        let grant = space.reserve(&guarded, Lowest).ok()?;
        Some(grant.extent().start().raw() / PAGE)
    })
    .collect();
    assert_eq!(found, [1, 3, 5]);
}

#[test]
fn a_grant_that_is_cut_keeps_its_guard() {
    // FreeBSD may lose the guard of a grant that is cut exactly where the next one begins.
    let gap_of = |count: u64| space_with(0, 64, &[pages(0, 14), pages(14 + count, 50 - count)]);
    let cut = request(3).boundary(8 * PAGE).split(Split::AtBoundary);
    assert_eq!(taken(&mut gap_of(3), &cut, Lowest), pages(14, 2));
    let guard = Guard {
        before: 0,
        after: 1,
    };
    assert_eq!(
        taken(&mut gap_of(4), &cut.guard(guard), Lowest),
        pages(14, 2)
    );
    assert!(gap_of(3).reserve(&cut.guard(guard), Lowest).is_err());
}

#[test]
fn an_alignment_is_of_the_start_and_not_of_the_data() {
    let mut space = space_with(0, 64, &[pages(0, 1)]);
    let request = Request::new(PAGE).offset(100).align(16 * PAGE);
    let grant = space.reserve(&request, Lowest).expect("there is a place");
    assert_eq!(grant.extent(), pages(16, 2));
    assert_eq!(grant.iova(), Iova::new(16 * PAGE + 100));
    assert_eq!(grant.data().len(), Some(PAGE));
}

#[test]
fn the_highest_place_of_an_empty_space_is_its_end() {
    for (first, count) in [(0, 64), (0, ALL), (ALL - 64, 64), (5, 1)] {
        let top = first + count - 1;
        assert_eq!(
            taken(&mut space(first, count), &request(1), Highest),
            pages(top, 1)
        );
        let mut emptied = space_with(first, count, &[pages(first, 1)]);
        emptied.release_at(pages(first, 1)).expect("it is reserved");
        assert_eq!(taken(&mut emptied, &request(1), Highest), pages(top, 1));
    }
}

/// Reserves in a space of all 2^64 addresses, with granules of one byte.
fn takes_all_of_64_bits<C: Config>() {
    let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).expect("it is not empty");
    let half = Request::new(1 << 63).align(1 << 63);
    let all_but_one = Request::new(u64::MAX);
    for request in [
        Request::new(1),
        half,
        all_but_one,
        Request::new(7).boundary(8),
    ] {
        let space = || VecSpace::<C>::with_config(all, 1, Vec::new()).expect("bytes are granules");
        let lowest = space().reserve(&request, Lowest).expect("there is a place");
        assert_eq!(lowest.iova(), Iova::new(0));
        let best = space().reserve(&request, Best).expect("there is a place");
        assert_eq!(best.iova(), Iova::new(0));
        let highest = space()
            .reserve(&request, Highest)
            .expect("there is a place");
        let room = request.size.wrapping_neg();
        assert_eq!(highest.iova(), Iova::new(room & !(request.align - 1)));
        let mut bits = furlong_spec::Random::new(1);
        let random = Random::new(|| bits.next());
        let drawn = space().reserve(&request, random).expect("there is a place");
        assert_eq!(drawn.data().len(), Some(request.size));
    }
}

#[test]
fn every_measure_knows_the_gap_that_is_all_of_64_bits() {
    // The count 2^64 of its granules overflows a counter: one was added to the last granule's
    // number.
    takes_all_of_64_bits::<Standard>();
    takes_all_of_64_bits::<Custom<Runs<63>>>();
    takes_all_of_64_bits::<Custom<Counts<1>>>();
    takes_all_of_64_bits::<Custom<Counts<63>>>();
    takes_all_of_64_bits::<Custom<Boundary<63>>>();
}
