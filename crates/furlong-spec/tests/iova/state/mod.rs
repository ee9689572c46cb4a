//! A restored space behaves as the one that was saved, and no corrupted state makes a space with a
//! broken invariant.

mod spoiled;

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    Boundary, ClaimError, Config, Counts, Custom, Runs, Space, Standard, State, VecSpace,
};
use furlong_spec::iova::{Geometry, Mix, Operation, SpaceSubject, all_operations};
use furlong_spec::{Subject, compare};

fn extent(start: u64, len: u64) -> Extent<Iova> {
    Extent::from_len(Iova::new(start), len).expect("an extent of 64 bits")
}

fn written_and_read(state: &State) -> State {
    let text = serde_json::to_string(state).expect("numbers are numbers");
    let read = serde_json::from_str(&text).expect("what was written is read");
    assert_eq!(*state, read);
    read
}

/// False for a cut of a grant, whose data is not saved, and for an operation that drops the grants.
fn is_the_same_on_both(operation: &Operation) -> bool {
    !matches!(
        operation,
        Operation::ReleasePart(..) | Operation::SaveRestore
    )
}

fn behaves_as_the_one_that_was_saved<C: Config>(seeds: u64) {
    let geometry = Geometry::low(256, 4096);
    for seed in 0..seeds {
        let mix = [Mix::Growing, Mix::Steady][seed as usize % 2];
        let mut stream = all_operations(geometry, mix, 1000, seed).filter(is_the_same_on_both);
        let mut old = SpaceSubject::<C>::new(geometry);
        for operation in stream.by_ref().take(40 + 10 * seed as usize) {
            old.apply(&operation);
        }
        let mut new = old.moved(written_and_read);
        let stream = stream.flat_map(|operation| [operation, Operation::Reserved]);
        compare(&mut old, &mut new, stream)
            .unwrap_or_else(|divergence| panic!("seed {seed}: {divergence}"));
        assert_eq!(old.space().save(), new.space().save());
    }
}

#[test]
fn a_restored_space_behaves_as_the_one_that_was_saved() {
    behaves_as_the_one_that_was_saved::<Standard>(30);
}

#[test]
fn a_restored_space_behaves_as_the_one_that_was_saved_whatever_is_known_of_gaps() {
    behaves_as_the_one_that_was_saved::<Custom<Runs<8>>>(10);
    behaves_as_the_one_that_was_saved::<Custom<Counts<8>>>(10);
    behaves_as_the_one_that_was_saved::<Custom<Boundary<3>>>(10);
}

#[test]
fn what_nobody_claims_is_listed_and_released() {
    let mut old = VecSpace::new(extent(0, 1 << 20), 4096, Vec::new()).expect("whole granules");
    old.reserve_fixed(extent(0, 0x1000), drop)
        .expect("it is free");
    let kept = old.reserve_at(extent(0x4000, 0x1000)).expect("it is free");
    let lost = old.reserve_at(extent(0x8000, 0x2000)).expect("it is free");
    let state = old.save().expect("there is memory");
    let mut new = Space::restore(&state, Vec::new()).expect("a good state");
    assert!(new.release(kept).is_err(), "a grant is of one space");
    assert_eq!(new.unclaimed().count(), 2);
    let kept = new.claim(extent(0x4000, 0x1000)).expect("nobody holds it");
    assert_eq!(new.claim(extent(0, 0x1000)), Err(ClaimError::Fixed));
    let leaks: Vec<_> = new.unclaimed().map(|leak| leak.extent).collect();
    assert_eq!(leaks, [lost.extent()]);
    let mut released = Vec::new();
    assert_eq!(new.release_unclaimed(|leak| released.push(leak.extent)), 1);
    assert_eq!(released, leaks);
    assert_eq!(new.release_unclaimed(|_| panic!("there is no other")), 0);
    assert_eq!(new.release(kept), Ok(()));
    assert_eq!(new.len(), 1, "the fixed region stays");
}

#[test]
fn a_leak_is_still_one_after_another_journey() {
    let mut space = VecSpace::new(extent(0, 1 << 20), 4096, Vec::new()).expect("whole granules");
    let lost = space
        .reserve_at(extent(0x8000, 0x2000))
        .expect("it is free");
    for _ in 0..3 {
        let state = space.save().expect("there is memory");
        space = Space::restore(&state, Vec::new()).expect("a good state");
        assert_eq!(
            space.unclaimed().next().map(|leak| leak.extent),
            Some(lost.extent())
        );
    }
}

#[test]
fn the_whole_of_64_bits_is_saved_and_restored() {
    let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).expect("not reversed");
    for granule in [1, 4096, 1 << 63] {
        let mut old = VecSpace::new(all, granule, Vec::new()).expect("whole granules");
        let top = Extent::from_last(Iova::new((u64::MAX / granule) * granule), all.last());
        let top = top.expect("the last granule");
        for range in [extent(0, granule), top] {
            let _ = old.reserve_at(range).expect("it is free");
        }
        let text = serde_json::to_string(&old.save().expect("there is memory"));
        let state: State = serde_json::from_str(&text.expect("numbers")).expect("it is read");
        let mut new = Space::restore(&state, Vec::new()).expect("a good state");
        new.check().expect("no invariant is broken");
        assert_eq!(new.extent(), all);
        assert!(new.claim(top).is_ok());
        assert!(new.free().eq(old.free()));
    }
}
