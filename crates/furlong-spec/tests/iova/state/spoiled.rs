//! States that no space has saved.

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    GeometryError, Kind, Reserved, RestoreError, SavedExtent, Space, SpaceNode, Standard, State,
};

use crate::spoiled::judged;

fn saved(start: u64, last: u64, kind: u8) -> SavedExtent {
    SavedExtent { start, last, kind }
}

fn good() -> State {
    State {
        version: State::VERSION,
        start: 0x1_0000,
        last: 0xff_ffff,
        granule: 0x1000,
        extents: vec![
            saved(0x1_0000, 0x1_0fff, 1),
            saved(0x1_1000, 0x1_3fff, 0),
            saved(0x2_0000, 0x2_ffff, 2),
            saved(0x4_0000, 0x4_0fff, 0),
            saved(0xff_e000, 0xff_ffff, 0),
        ],
    }
}

/// The error for a good state after `harm` has changed it.
fn refusal(harm: impl FnOnce(&mut State)) -> RestoreError {
    let mut state = good();
    harm(&mut state);
    let restored = Space::restore(&state, Vec::new());
    restored.expect_err("it was spoiled")
}

#[test]
fn each_fault_of_a_state_is_named() {
    use RestoreError::{
        Empty, Geometry, Kind, NoExtent, OutOfOrder, Outside, Overlap, Ragged, Version,
    };
    assert!(Space::restore(&good(), Vec::new()).is_ok());
    let is = |error, harm: &dyn Fn(&mut State)| assert_eq!(refusal(harm), error);
    for version in [0, 2, u32::MAX] {
        is(Version(version), &|state| state.version = version);
    }
    let reversed = NoExtent { start: 2, last: 1 };
    is(reversed, &|state| (state.start, state.last) = (2, 1));
    for granule in [0, 3, 0x1001, u64::MAX] {
        let error = Geometry(GeometryError::Granule(granule));
        is(error, &|state| state.granule = granule);
    }
    let ragged = Extent::from_last(Iova::new(0x1_0800), Iova::new(0xff_ffff));
    let ragged = GeometryError::Ragged(ragged.expect("not reversed"));
    is(Geometry(ragged), &|state| state.start += 0x800);
    let set = |error, at: usize, start, last| {
        is(error, &|state| state.extents[at] = saved(start, last, 0));
    };
    set(Empty(2), 2, 0x2_1000, 0x2_0fff);
    set(Ragged(2), 2, 0x2_0001, 0x2_0fff);
    set(Ragged(2), 2, 0x2_0000, 0x2_1000);
    set(Ragged(2), 2, 0x2_0800, 0x2_17ff);
    set(Outside(0), 0, 0xf000, 0x1_0fff);
    set(Outside(4), 4, 0xff_e000, 0x100_0fff);
    is(OutOfOrder(3), &|state| state.extents.swap(2, 3));
    let more = |start, last| {
        is(Overlap(3), &|state| {
            state.extents.insert(3, saved(start, last, 0));
        });
    };
    more(0x2_f000, 0x3_0fff);
    more(0x1_f000, 0x2_0fff);
    is(Overlap(5), &|state| state.extents.push(state.extents[4]));
    for kind in [3, 7, u8::MAX] {
        is(Kind(1, kind), &|state| state.extents[1].kind = kind);
    }
}

#[test]
fn a_refused_state_leaves_borrowed_nodes_as_they_were() {
    let mut nodes = [SpaceNode::<Standard>::new(Reserved { start: 0, last: 0 }); 5];
    let mut bad = good();
    bad.extents[4].kind = 9;
    let refused = Space::restore(&bad, &mut nodes[..]);
    assert_eq!(refused.err(), Some(RestoreError::Kind(4, 9)));
    let refused = Space::restore(&good(), &mut nodes[..4]);
    assert_eq!(refused.err(), Some(RestoreError::NoMemory));
    // A node that is linked would be refused here.
    let restored = Space::restore(&good(), &mut nodes[..]);
    assert_eq!(restored.expect("five nodes").len(), 5);
}

/// True if a space could have saved this state, by a definition independent of the library's.
fn is_good(state: &State) -> bool {
    let granule = state.granule;
    if state.version != 1 || granule.count_ones() != 1 || state.start > state.last {
        return false;
    }
    let is_whole = |start: u64, last: u64| {
        start.is_multiple_of(granule) && (u128::from(last) + 1).is_multiple_of(u128::from(granule))
    };
    let is_extent = |extent: &SavedExtent| {
        let SavedExtent { start, last, kind } = *extent;
        let is_in = state.start <= start && start <= last && last <= state.last;
        is_in && is_whole(start, last) && kind <= 2
    };
    is_whole(state.start, state.last)
        && state.extents.iter().all(is_extent)
        && state
            .extents
            .is_sorted_by(|one, next| one.last < next.start)
}

/// Restores a state. It must not panic, and an accepted state must give a consistent space with the
/// same contents. Returns true if it was accepted.
fn judge(state: &State, what: impl core::fmt::Debug) -> bool {
    let restored = Space::restore(state, Vec::new());
    assert_eq!(
        restored.is_ok(),
        is_good(state),
        "{what:?}: {restored:?} of {state:?}"
    );
    let Ok(space) = restored else {
        return false;
    };
    space
        .check()
        .unwrap_or_else(|broken| panic!("{what:?}: {broken}"));
    let mut expected = state.clone();
    for extent in &mut expected.extents {
        extent.kind = extent
            .kind
            .max(u8::from(extent.kind != 1) * Kind::Unclaimed as u8);
    }
    assert_eq!(space.save(), Ok(expected), "{what:?}");
    true
}

#[test]
fn spoiled_states_are_refused_and_never_unsound() {
    let counts = judged(&[good()], Some(0x1000), 60_000, 0x5701, judge);
    let is_enough = counts[..2].iter().all(|count| *count > 5000);
    assert!(is_enough, "{counts:?} of each sort");
}

#[test]
fn spoiled_texts_are_refused_and_never_unsound() {
    // With granules of one byte, almost any number is valid.
    let goods = [0x1000, 1].map(|granule| State { granule, ..good() });
    let counts = judged(&goods, None, 40_000, 0x5702, judge);
    let is_enough = counts.iter().all(|count| *count > 500);
    assert!(is_enough, "{counts:?} of each sort");
}

#[test]
fn the_form_of_a_saved_state_is_kept() {
    let text = r#"{"version":1,"start":0,"last":18446744073709551615,"granule":1,
        "extents":[{"start":5,"last":18446744073709551615,"kind":2}]}"#;
    let state: State = serde_json::from_str(text).expect("this is what version 1 wrote");
    let space = Space::restore(&state, Vec::new()).expect("a good state");
    let last = space
        .reserved()
        .next()
        .map(|owned| owned.extent.last().raw());
    assert_eq!(last, Some(u64::MAX));
    let again = serde_json::to_string(&space.save().expect("there is memory"));
    let packed: String = text.split_whitespace().collect();
    assert_eq!(again.expect("numbers are numbers"), packed);
}
