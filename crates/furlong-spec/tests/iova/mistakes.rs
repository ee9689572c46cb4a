//! Invalid arguments: each has its error, in one order of precedence, and nothing changes.

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    ExtendError, GeometryError, Guard, Kind, Lowest, PartError, ReleaseError, Request,
    ReserveAtError, ReserveError, Reserved, Space, SpaceNode, Split, Stale, Standard, VecSpace,
};
use furlong_spec::Subject;
use furlong_spec::iova::{Geometry, Model, Operation, Outcome, Place, Promise};

use crate::{PAGE, pages};

fn bytes(start: u64, last: u64) -> Extent<Iova> {
    Extent::from_last(Iova::new(start), Iova::new(last)).expect("it is not reversed")
}

/// Pages 0 to 255, of which 0, 8 and 9 are reserved.
fn space() -> VecSpace {
    let mut space = VecSpace::new(pages(0, 256), PAGE, Vec::new()).expect("it is of pages");
    for extent in [pages(0, 1), pages(8, 2)] {
        let _ = space.reserve_at(extent).expect("it is free");
    }
    space
}

/// Makes a call that must be refused, and checks that nothing has changed.
#[track_caller]
fn refused<T, E>(mistake: impl FnOnce(&mut VecSpace) -> Result<T, E>) -> E {
    let mut space = space();
    let error = mistake(&mut space).err().expect("it is refused");
    let reserved: Vec<_> = space.reserved().map(|owned| owned.extent).collect();
    assert_eq!(reserved, [pages(0, 1), pages(8, 2)]);
    assert_eq!(space.check(), Ok(()));
    error
}

/// Checks that a request has this error, for the library and for the model.
#[track_caller]
fn refuse(request: Request, expected: ReserveError) {
    let found = refused(|space| space.reserve(&request, Lowest));
    assert_eq!(found, expected, "{request:?}");
    let mut model = Model::new(Geometry::low(256, PAGE), Promise::Exact);
    for extent in [pages(0, 1), pages(8, 2)] {
        model.apply(&Operation::ReserveAt(extent));
    }
    let answer = model.apply(&Operation::Reserve(request, Place::Lowest));
    assert_eq!(answer, Outcome::Refused(expected), "{request:?}");
}

#[test]
fn a_granule_that_is_no_power_of_two_makes_no_space() {
    for granule in [0, 3, 4097] {
        let space = VecSpace::new(pages(0, 1), granule, Vec::new());
        assert_eq!(space.err(), Some(GeometryError::Granule(granule)));
    }
}

#[test]
fn a_space_of_broken_granules_is_refused() {
    for extent in [
        bytes(1, 4095),
        bytes(0, 4096),
        bytes(2048, 6143),
        bytes(0, u64::MAX - 1),
    ] {
        let space = VecSpace::new(extent, PAGE, Vec::new());
        assert_eq!(space.err(), Some(GeometryError::Ragged(extent)));
    }
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    let one = Request::new(1);
    refuse(Request::new(0), ReserveError::ZeroSize);
    for align in [0, 3, 4097, u64::MAX] {
        refuse(one.align(align), ReserveError::Align(align));
    }
    for offset in [PAGE, u64::MAX] {
        refuse(one.offset(offset), ReserveError::Offset(offset));
    }
    for boundary in [0, 3, u64::MAX] {
        for split in [Split::Never, Split::AtBoundary] {
            let request = one.boundary(boundary).split(split);
            refuse(request, ReserveError::Boundary(boundary));
        }
    }
    let (low, high) = (Iova::new(1), Iova::new(0));
    refuse(one.window(low, high), ReserveError::Window { low, high });
}

#[test]
fn a_boundary_smaller_than_the_size_is_refused_unless_the_request_may_be_cut() {
    for boundary in [1, 2048, PAGE, 16 * PAGE] {
        let size = boundary + 1;
        let request = Request::new(size).boundary(boundary);
        refuse(request, ReserveError::CrossesBoundary { size, boundary });
        let cut = space().reserve(&request.split(Split::AtBoundary), Lowest);
        let data = cut.expect("it is cut").data();
        let end = data.end().expect("it does not end with 64 bits");
        assert!(end.is_aligned(boundary), "{data:?} at {boundary}");
    }
}

const fn no_space(wanted: u64) -> ReserveError {
    let largest = 246 * PAGE;
    ReserveError::NoSpace { wanted, largest }
}

#[test]
fn a_window_without_a_whole_granule_has_no_place() {
    let page = Request::new(PAGE);
    for (low, high) in [
        (1, 4095),
        (4097, 8191),
        (0x2001, 0x2fff),
        (1 << 40, u64::MAX),
    ] {
        let request = page.window(Iova::new(low), Iova::new(high));
        refuse(request, no_space(PAGE));
    }
}

#[test]
fn what_overflows_64_bits_is_too_large() {
    let guard = |before, after| Request::new(1).guard(Guard { before, after });
    let large = Request::new(u64::MAX).offset(2);
    let requests = [
        large,
        Request::new(u64::MAX - 4093).offset(PAGE - 1),
        guard(u64::MAX, 0),
        guard(0, u64::MAX),
        guard(1 << 63, 1 << 63),
        // All arguments are wrong, and this error has precedence.
        large.boundary(1),
        large.boundary(1 << 62),
        large.boundary(1).split(Split::AtBoundary),
    ];
    for request in requests {
        refuse(request, ReserveError::TooLarge(request.size));
    }
}

#[test]
fn a_size_near_the_end_of_64_bits_finds_no_space() {
    for size in [u64::MAX, u64::MAX - PAGE + 1, 1 << 63] {
        let wanted = size.div_ceil(PAGE).saturating_mul(PAGE);
        refuse(Request::new(size), no_space(wanted));
    }
}

#[test]
fn mistakes_are_named_in_the_order_of_their_variants() {
    let worst = Request {
        size: 0,
        offset: PAGE,
        align: 3,
        low: Iova::new(1),
        high: Iova::new(0),
        exclusion: None,
        boundary: Some(3),
        split: Split::Never,
        guard: Guard {
            before: u64::MAX,
            after: u64::MAX,
        },
    };
    let (low, high, size, boundary) = (worst.low, worst.high, 2, 1);
    refuse(worst, ReserveError::ZeroSize);
    let worst = worst.size(size);
    refuse(worst, ReserveError::Align(3));
    let worst = worst.align(4);
    refuse(worst, ReserveError::Offset(PAGE));
    let worst = worst.offset(0);
    refuse(worst, ReserveError::Boundary(3));
    let worst = worst.boundary(boundary);
    refuse(worst, ReserveError::Window { low, high });
    let worst = worst.window(high, low);
    refuse(worst, ReserveError::TooLarge(size));
    let worst = worst.guard(Guard::NONE);
    refuse(worst, ReserveError::CrossesBoundary { size, boundary });
    refuse(worst.size(1), no_space(PAGE));
}

#[test]
fn an_exact_extent_that_cannot_be_had_is_refused_by_what_is_in_the_way() {
    let at = |extent| refused(|space| space.reserve_at(extent));
    let ragged = [
        bytes(PAGE, PAGE),
        bytes(PAGE + 1, 3 * PAGE),
        bytes(1, u64::MAX),
    ];
    for extent in ragged {
        assert_eq!(at(extent), ReserveAtError::Ragged(extent));
    }
    for extent in [pages(255, 2), pages(256, 1), bytes(0, u64::MAX)] {
        assert_eq!(at(extent), ReserveAtError::Outside(pages(0, 256)));
    }
    assert_eq!(at(pages(9, 1)), ReserveAtError::Occupied(pages(8, 2)));
    assert_eq!(at(pages(7, 4)), ReserveAtError::Occupied(pages(8, 2)));
    // The lower one of two.
    assert_eq!(at(pages(0, 256)), ReserveAtError::Occupied(pages(0, 1)));
}

#[test]
fn what_was_never_reserved_is_not_released() {
    let at = |extent| refused(|space| space.release_at(extent));
    assert_eq!(at(pages(1, 1)), ReleaseError::NotReserved);
    assert_eq!(at(pages(1, 7)), ReleaseError::NotReserved);
    assert_eq!(at(pages(10, 246)), ReleaseError::NotReserved);
    assert_eq!(at(pages(1 << 40, 1)), ReleaseError::NotReserved);
    assert_eq!(at(bytes(0, PAGE)), ReleaseError::Ragged(bytes(0, PAGE)));
}

#[test]
fn half_of_an_extent_is_not_released_as_if_it_were_all() {
    let at = |extent| refused(|space| space.release_at(extent));
    for extent in [
        pages(8, 1),
        pages(9, 1),
        pages(7, 3),
        pages(8, 3),
        pages(9, 2),
    ] {
        assert_eq!(at(extent), ReleaseError::Partial(pages(8, 2)), "{extent:?}");
    }
    assert_eq!(at(pages(0, 10)), ReleaseError::Partial(pages(0, 1)));
}

#[test]
fn a_space_does_not_shrink() {
    let at = |extent| refused(|space| space.extend(extent));
    for extent in [pages(1, 300), pages(0, 255), pages(9, 2), pages(300, 1)] {
        assert_eq!(
            at(extent),
            ExtendError::Smaller(pages(0, 256)),
            "{extent:?}"
        );
    }
    let ragged = bytes(0, 256 * PAGE);
    assert_eq!(at(ragged), ExtendError::Ragged(ragged));
}

#[test]
fn a_grant_that_was_given_up_is_released_by_its_address_alone() {
    let (mut space, mut other) = (space(), space());
    let grant = other
        .reserve(&Request::new(1), Lowest)
        .expect("there is space");
    let Stale(grant) = space.disown(grant).expect_err("it is of another space");
    let extent = other.disown(grant).expect("it is its own");
    let owner = other.owner(extent.start()).expect("it is reserved");
    assert_eq!(owner.kind, Kind::Unclaimed);
    assert_eq!(other.release_at(extent), Ok(Kind::Unclaimed));
    assert_eq!(other.check(), Ok(()));
}

/// An array that no code has filled when the program starts.
static NODES: std::sync::Mutex<[SpaceNode; 2]> = {
    let unused = SpaceNode::<Standard>::new(Reserved { start: 0, last: 0 });
    std::sync::Mutex::new([unused; 2])
};

#[test]
fn a_static_has_the_nodes_of_a_space() {
    let mut nodes = NODES.lock().expect("nothing panics");
    let mut space = Space::new(pages(0, 4), PAGE, &mut nodes[..]).expect("it is of pages");
    for _ in 0..2 {
        let _ = space
            .reserve(&Request::new(1), Lowest)
            .expect("there is space");
    }
    let third = space.reserve(&Request::new(1), Lowest);
    assert_eq!(third.err(), Some(ReserveError::NoMemory));
    assert_eq!(space.check(), Ok(()));
}

#[test]
fn release_twice_is_refused() {
    let mut space = space();
    let grant = space
        .reserve(&Request::new(1), Lowest)
        .expect("there is space");
    let extent = grant.extent();
    assert_eq!(space.release_at(extent), Ok(Kind::Granted));
    assert_eq!(space.release_at(extent), Err(ReleaseError::NotReserved));
    assert!(!space.holds(&grant));
    let Err(Stale(back)) = space.release(grant) else {
        panic!("it was released by its address");
    };
    assert_eq!(back.extent(), extent);
}

#[test]
fn a_grant_of_another_space_is_refused() {
    let mut other = space();
    let grant = other
        .reserve(&Request::new(3 * PAGE), Lowest)
        .expect("there is space");
    let Stale(back) = refused(|space| space.release(grant));
    assert_eq!(other.release(back), Ok(()));
}

#[test]
fn a_grant_of_another_space_is_refused_where_both_have_the_same_extent() {
    let (mut ours, mut other) = (space(), space());
    let page = Request::new(PAGE);
    let [own, foreign] = [&mut ours, &mut other].map(|space| space.reserve(&page, Lowest));
    let (own, foreign) = (
        own.expect("there is space"),
        foreign.expect("there is space"),
    );
    assert_eq!(
        (own.extent(), own.index()),
        (foreign.extent(), foreign.index())
    );
    assert!(!ours.holds(&foreign) && ours.holds(&own));
    let part = foreign.extent();
    let error = ours.release_part(foreign, part).expect_err("it is foreign");
    assert_eq!(error.cause, PartError::Stale);
    let Err(Stale(foreign)) = ours.release(error.grant) else {
        panic!("it is foreign");
    };
    assert_eq!(
        (other.release(foreign), ours.release(own)),
        (Ok(()), Ok(()))
    );
}

#[test]
fn a_space_without_a_node_more_refuses_and_keeps_what_it_has() {
    type Slice<'a> = &'a mut [SpaceNode<Standard>];
    let reserved = Reserved { start: 0, last: 0 };
    let mut nodes = [SpaceNode::<Standard>::new(reserved); 2];
    let mut space = Space::new(pages(0, 8), PAGE, &mut nodes[..] as Slice<'_>).expect("pages");
    let low = space.reserve(&Request::new(PAGE), Lowest).expect("a node");
    let _ = space.reserve_at(pages(7, 1)).expect("a node");
    let error = space.reserve(&Request::new(PAGE), Lowest);
    assert_eq!(error, Err(ReserveError::NoMemory));
    assert_eq!(space.reserve_at(pages(2, 1)), Err(ReserveAtError::NoMemory));
    // Mistakes in the arguments have precedence.
    assert_eq!(
        space.reserve(&Request::new(0), Lowest),
        Err(ReserveError::ZeroSize)
    );
    let occupied = space.reserve_at(pages(6, 2));
    assert_eq!(occupied, Err(ReserveAtError::Occupied(pages(7, 1))));
    assert_eq!(space.check(), Ok(()));
    assert_eq!(space.len(), 2);
    space.release(low).expect("it is held");
    assert!(space.reserve(&Request::new(PAGE), Lowest).is_ok());
}
