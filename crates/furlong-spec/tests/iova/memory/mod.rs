//! Memory that runs out. For every operation and every k the k-th allocation fails and nothing
//! changes; and what was prepared suffices.

mod tight;

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    Gaps, Highest, Kind, Lowest, PartError, RELEASE_RANGE_NODES, RESERVE_NODES, RangeError,
    Request, ReserveAtError, ReserveError, Reserved, RestoreError, Space, SpaceNode, Standard,
    State, Storage,
};
use furlong_spec::Random;
use furlong_spec::heap::failing_at;

use tight::Tight;

const GRANULE: u64 = 4096;
const GRANULES: u64 = 80;

/// A call number that is never reached.
const NEVER: u64 = u64::MAX;

fn extent(first: u64, granules: u64) -> Extent<Iova> {
    let extent = Extent::from_len(Iova::new(first * GRANULE), granules * GRANULE);
    extent.expect("a run of granules")
}

/// A space with exactly as many nodes as extents.
fn tight(state: &State) -> Space<Standard, Tight<Gaps>> {
    Space::restore(state, Tight(Vec::new())).expect("a good state, and there is memory")
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Reserve(u64),
    ReserveAt(Extent<Iova>),
    ReserveFixed(Extent<Iova>),
    Fill(Extent<Iova>),
    ReleaseRange(Extent<Iova>),
    ReleasePart(Extent<Iova>),
    /// Releases the extent at the beginning of the range.
    ReleaseAt(Extent<Iova>),
    Prepare(usize),
    Save,
}

const KINDS: usize = 9;

impl Operation {
    fn random(random: &mut Random) -> Self {
        let first = random.below(GRANULES);
        let range = extent(first, 1 + random.below(12).min(GRANULES - 1 - first));
        match random.below(28) {
            0..3 => Self::Reserve(1 + random.below(4 * GRANULE)),
            3..8 => Self::ReserveAt(range),
            8..10 => Self::ReserveFixed(range),
            10 => Self::Fill(range),
            11..14 => Self::ReleaseRange(extent(first, 1)),
            14..18 => Self::ReleasePart(extent(first, 1)),
            18 => Self::ReleaseRange(range),
            19 => Self::ReleasePart(range),
            20..26 => Self::ReleaseAt(range),
            26 => Self::Prepare(random.index(9)),
            _ => Self::Save,
        }
    }

    fn kind(self) -> usize {
        match self {
            Self::Reserve(_) => 0,
            Self::ReserveAt(_) => 1,
            Self::ReserveFixed(_) => 2,
            Self::Fill(_) => 3,
            Self::ReleaseRange(_) => 4,
            Self::ReleasePart(_) => 5,
            Self::Prepare(_) => 6,
            Self::Save => 7,
            Self::ReleaseAt(_) => 8,
        }
    }

    /// The number of nodes that the documentation requires.
    fn nodes<S: Storage<Standard>>(self, space: &Space<Standard, S>) -> usize {
        match self {
            Self::Reserve(_) | Self::ReserveAt(_) => RESERVE_NODES,
            Self::ReserveFixed(range) | Self::Fill(range) => space.free_in(range).count(),
            Self::ReleaseRange(_) | Self::ReleasePart(_) => RELEASE_RANGE_NODES,
            Self::ReleaseAt(_) | Self::Prepare(_) | Self::Save => 0,
        }
    }

    /// Runs the operation. Returns false if memory was short; nothing was passed to the caller
    /// then.
    fn apply<S: Storage<Standard>>(self, space: &mut Space<Standard, S>) -> bool {
        let mut handed = 0;
        let had_memory = match self {
            Self::Reserve(size) => {
                let request = Request::new(size);
                let found = match size % 2 {
                    0 => space.reserve(&request, Lowest),
                    _ => space.reserve(&request, Highest),
                };
                found.err() != Some(ReserveError::NoMemory)
            }
            Self::ReserveAt(range) => {
                space.reserve_at(range).err() != Some(ReserveAtError::NoMemory)
            }
            Self::ReserveFixed(range) => {
                let found = space.reserve_fixed(range, |_| handed += 1);
                found != Err(ReserveAtError::NoMemory)
            }
            Self::Fill(range) => space.fill(range, |_| handed += 1) != Err(RangeError::NoMemory),
            Self::ReleaseRange(range) => {
                let found = space.release_range(range, |_| handed += 1);
                found != Err(RangeError::NoMemory)
            }
            Self::ReleasePart(range) => Self::release_part(space, range),
            Self::ReleaseAt(range) => {
                let owner = space.owner(range.start());
                owner.is_none_or(|owner| space.release_at(owner.extent) == Ok(owner.kind))
            }
            Self::Prepare(nodes) => space.prepare(nodes).is_ok(),
            Self::Save => space.save().is_ok(),
        };
        assert!(had_memory || handed == 0);
        had_memory
    }

    /// Releases the part in `range` of the first unclaimed extent there.
    fn release_part<S: Storage<Standard>>(
        space: &mut Space<Standard, S>,
        range: Extent<Iova>,
    ) -> bool {
        let mut owners = space.reserved_in(range);
        let Some(owner) = owners.find(|owner| owner.kind == Kind::Unclaimed) else {
            return true;
        };
        drop(owners);
        let part = owner.extent.intersection(&range).expect("it overlaps");
        let grant = space.claim(owner.extent).expect("nobody holds it");
        match space.release_part(grant, part) {
            Ok(_) => true,
            Err(refused) => {
                assert_eq!(refused.cause, PartError::NoMemory);
                assert!(space.holds(&refused.grant));
                false
            }
        }
    }
}

/// The observable state of a space. Leaves out the claims, which need no memory.
fn seen<S: Storage<Standard>>(space: &Space<Standard, S>) -> (Vec<(Extent<Iova>, bool)>, usize) {
    space.check().expect("no invariant is broken");
    let owned = space.reserved();
    let owned = owned.map(|owned| (owned.extent, owned.kind == Kind::Fixed));
    (owned.collect(), space.len())
}

#[test]
fn a_call_for_memory_that_fails_changes_nothing() {
    let mut random = Random::new(17);
    let mut failures = [0; KINDS];
    let mut state = Space::new(extent(0, GRANULES), GRANULE, Tight(Vec::new()))
        .expect("whole granules")
        .save()
        .expect("there is memory");
    for step in 0..6000 {
        let operation = Operation::random(&mut random);
        for failing in 0.. {
            let mut space = tight(&state);
            let before = seen(&space);
            let (had_memory, calls) = failing_at(failing, || operation.apply(&mut space));
            let has_failed = failing < calls;
            assert_eq!(
                had_memory, !has_failed,
                "step {step}, call {failing}: {operation:?}"
            );
            if !has_failed {
                state = space.save().expect("there is memory");
                break;
            }
            assert_eq!(
                seen(&space),
                before,
                "step {step}, call {failing}: {operation:?}"
            );
            failures[operation.kind()] += 1;
        }
        let (restored, calls) = failing_at(0, || Space::restore(&state, Tight(Vec::new())));
        match state.extents.is_empty() {
            true => assert_eq!((restored.map(|space| space.len()), calls), (Ok(0), 0)),
            false => assert_eq!(restored.err(), Some(RestoreError::NoMemory)),
        }
    }
    let [needy @ .., frugal] = failures;
    assert!(
        needy.iter().all(|count| *count > 20),
        "{failures:?} of each sort"
    );
    assert_eq!(frugal, 0, "an extent is released without memory");
}

#[test]
fn what_was_prepared_is_enough() {
    let mut random = Random::new(18);
    let all = extent(0, GRANULES);
    let mut space = Space::new(all, GRANULE, Tight(Vec::new())).expect("whole granules");
    for step in 0..20_000 {
        let operation = Operation::random(&mut random);
        if matches!(operation, Operation::Save | Operation::Prepare(_)) {
            continue;
        }
        let nodes = operation.nodes(&space);
        space.prepare(nodes).expect("there is memory");
        let (had_memory, calls) = failing_at(0, || operation.apply(&mut space));
        assert!(had_memory && calls == 0, "step {step}: {operation:?}");
        space.check().expect("no invariant is broken");
        // Creates unclaimed extents occasionally.
        if step % 64 == 0 {
            let state = space.save().expect("there is memory");
            space = tight(&state);
        }
    }
}

/// Runs `work` on a space with as many nodes as `state` has extents, `spare` more, and no way to
/// get others.
fn over_a_slice<T>(
    state: &State,
    spare: usize,
    work: impl FnOnce(&mut Space<Standard, &mut [SpaceNode]>) -> T,
) -> T {
    let free = SpaceNode::<Standard>::new(Reserved { start: 0, last: 0 });
    let mut nodes = vec![free; state.extents.len() + spare];
    let mut space = Space::restore(state, &mut nodes[..]).expect("there are nodes");
    work(&mut space)
}

#[test]
fn a_full_slice_refuses_and_changes_nothing() {
    let mut random = Random::new(19);
    let mut refusals = [0; KINDS];
    let mut state = tight(&State {
        version: State::VERSION,
        start: 0,
        last: GRANULES * GRANULE - 1,
        granule: GRANULE,
        extents: Vec::new(),
    })
    .save()
    .expect("there is memory");
    for step in 0..6000 {
        let operation = Operation::random(&mut random);
        if matches!(operation, Operation::Prepare(_)) {
            continue;
        }
        let nodes = over_a_slice(&state, 0, |space| operation.nodes(space));
        if nodes > 0 {
            // One node less than the maximum that it may need.
            let had_memory = over_a_slice(&state, nodes - 1, |space| {
                let before = seen(space);
                let had_memory = operation.apply(space);
                assert!(
                    had_memory || seen(space) == before,
                    "step {step}: {operation:?}"
                );
                had_memory
            });
            refusals[operation.kind()] += u32::from(!had_memory);
        }
        state = over_a_slice(&state, nodes, |space| {
            assert!(operation.apply(space), "step {step}: {operation:?}");
            space.check().expect("no invariant is broken");
            space.save().expect("there is memory")
        });
    }
    let needy = &refusals[..Operation::Prepare(0).kind()];
    assert!(
        needy.iter().all(|count| *count > 20),
        "{refusals:?} of each sort"
    );
}

#[test]
fn no_memory_at_all_is_needed_where_nothing_is_kept() {
    let (space, calls) = failing_at(0, || {
        Space::new(extent(0, GRANULES), GRANULE, Vec::new()).expect("whole granules")
    });
    assert_eq!((space.len(), calls), (0, 0));
    let (_, calls) = failing_at(NEVER, || vec![0_u8; 100]);
    assert_eq!(calls, 1, "calls are counted");
}
