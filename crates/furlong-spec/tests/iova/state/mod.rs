//! A restored space behaves as the one that was saved, and no corrupted state makes a space with a
//! broken invariant.
#![forbid(unsafe_code)]

mod requests;
mod spoiled;

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    Boundary, ClaimError, Config, Counts, Custom, Grant, Kind, Request, Runs, Space, Standard,
    State, VecSpace,
};
use furlong_spec::Random;

use requests::{Choice, extent, request};

const GRANULES: u64 = 256;
const GRANULE: u64 = 4096;

/// A space and its grants.
struct Side<C: Config> {
    space: VecSpace<C>,
    grants: Vec<Grant>,
}

#[derive(Clone, Debug)]
enum Step {
    Reserve(Request, Choice),
    ReserveAt(Extent<Iova>),
    ReserveFixed(Extent<Iova>),
    Fill(Extent<Iova>),
    Release(usize),
    ReleaseRange(Extent<Iova>),
}

/// A random step: mostly a reservation while there are few grants, mostly a release while there are
/// many.
fn step(random: &mut Random, grants: usize) -> Step {
    let first = random.below(GRANULES);
    let len = 1 + random.below(8).min(GRANULES - 1 - first);
    let range = extent(first * GRANULE, len * GRANULE);
    match random.below(24) {
        0..12 => Step::Reserve(
            request(random, GRANULES, GRANULE),
            Choice::random(random, GRANULES * GRANULE),
        ),
        12 => Step::ReserveAt(range),
        13 => Step::ReserveFixed(range),
        14 => Step::Fill(range),
        15 => Step::ReleaseRange(range),
        _ if grants == 0 => Step::ReserveAt(range),
        _ => Step::Release(random.index(grants)),
    }
}

impl<C: Config> Side<C> {
    fn new() -> Self {
        let all = extent(0, GRANULES * GRANULE);
        Self {
            space: Space::with_config(all, GRANULE, Vec::new()).expect("whole granules"),
            grants: Vec::new(),
        }
    }

    /// Carries out a step, and describes its outcome.
    fn apply(&mut self, step: &Step) -> String {
        let mut parts = Vec::new();
        let said = match step {
            Step::Reserve(request, choice) => {
                let found = choice.reserve(&mut self.space, request);
                self.keep(found)
            }
            Step::ReserveAt(range) => {
                let found = self.space.reserve_at(*range);
                self.keep(found)
            }
            Step::ReserveFixed(range) => {
                let found = self.space.reserve_fixed(*range, |part| parts.push(part));
                format!("{found:?}")
            }
            Step::Fill(range) => {
                let found = self.space.fill(*range, |grant| self.grants.push(grant));
                format!("{found:?}")
            }
            Step::Release(at) => {
                let grant = self.grants.swap_remove(*at);
                let extent = grant.extent();
                format!("{extent:?} {:?}", self.space.release(grant).is_ok())
            }
            Step::ReleaseRange(range) => {
                let space = &mut self.space;
                let found = space.release_range(*range, |piece| parts.push(piece.extent));
                format!("{found:?}")
            }
        };
        format!("{said} {parts:?}")
    }

    fn keep<E: core::fmt::Debug>(&mut self, found: Result<Grant, E>) -> String {
        match found {
            Ok(grant) => {
                let said = format!("{:?} {:?}", grant.extent(), grant.data());
                self.grants.push(grant);
                said
            }
            Err(error) => format!("{error:?}"),
        }
    }

    /// The same space after a save and restore through text. Every grant is claimed again.
    fn moved(&self) -> Self {
        let state = self.space.save().expect("there is memory");
        let text = serde_json::to_string(&state).expect("numbers are numbers");
        let read: State = serde_json::from_str(&text).expect("what was written is read");
        assert_eq!(read, state);
        let mut space = Space::restore_with_config(&read, Vec::new()).expect("a good state");
        space.check().expect("no invariant is broken");
        assert!(space.reserved().all(|owned| owned.kind != Kind::Granted));
        // A grant is stale if a range operation has cut it.
        let held = self.grants.iter().filter(|grant| self.space.holds(grant));
        let claim = |grant: &Grant| space.claim(grant.extent()).expect("nobody holds it");
        let grants = held.map(claim).collect();
        Self { space, grants }
    }

    fn holds_only_what_is_held(&mut self) {
        let space = &self.space;
        self.grants.retain(|grant| space.holds(grant));
    }
}

fn behaves_as_the_one_that_was_saved<C: Config>(seeds: u64) {
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let mut old = Side::<C>::new();
        for _ in 0..40 + 10 * seed {
            old.apply(&step(&mut random, old.grants.len()));
        }
        old.holds_only_what_is_held();
        let mut new = old.moved();
        for at in 0..400 {
            let step = step(&mut random, old.grants.len());
            let said = [old.apply(&step), new.apply(&step)];
            assert_eq!(said[0], said[1], "seed {seed}, step {at}: {step:?}");
            let extents = |side: &Side<C>| {
                let owned = side.space.reserved();
                owned
                    .map(|owned| (owned.extent, owned.kind))
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                extents(&old),
                extents(&new),
                "seed {seed}, step {at}: {step:?}"
            );
        }
        new.space.check().expect("no invariant is broken");
        assert_eq!(old.space.save(), new.space.save());
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
