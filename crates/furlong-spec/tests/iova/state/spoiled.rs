//! States that no space has saved.
#![forbid(unsafe_code)]

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    GeometryError, Kind, Reserved, RestoreError, SavedExtent, Space, SpaceNode, Standard, State,
};
use furlong_spec::Random;

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
    assert!(Space::restore(&good(), Vec::new()).is_ok());
    for version in [0, 2, u32::MAX] {
        let found = refusal(|state| state.version = version);
        assert_eq!(found, RestoreError::Version(version));
    }
    let reversed = RestoreError::NoExtent { start: 2, last: 1 };
    assert_eq!(
        refusal(|state| (state.start, state.last) = (2, 1)),
        reversed
    );
    for granule in [0, 3, 0x1001, u64::MAX] {
        let found = refusal(|state| state.granule = granule);
        assert_eq!(
            found,
            RestoreError::Geometry(GeometryError::Granule(granule))
        );
    }
    let ragged = Extent::from_last(Iova::new(0x1_0800), Iova::new(0xff_ffff));
    let ragged = GeometryError::Ragged(ragged.expect("not reversed"));
    let found = refusal(|state| state.start += 0x800);
    assert_eq!(found, RestoreError::Geometry(ragged));
    let found = refusal(|state| state.extents[2] = saved(0x2_1000, 0x2_0fff, 0));
    assert_eq!(found, RestoreError::Empty(2));
    for (start, last) in [
        (0x2_0001, 0x2_0fff),
        (0x2_0000, 0x2_1000),
        (0x2_0800, 0x2_17ff),
    ] {
        let found = refusal(|state| state.extents[2] = saved(start, last, 0));
        assert_eq!(found, RestoreError::Ragged(2));
    }
    let found = refusal(|state| state.extents[0] = saved(0xf000, 0x1_0fff, 0));
    assert_eq!(found, RestoreError::Outside(0));
    let found = refusal(|state| state.extents[4].last = 0x100_0fff);
    assert_eq!(found, RestoreError::Outside(4));
    let found = refusal(|state| state.extents.swap(2, 3));
    assert_eq!(found, RestoreError::OutOfOrder(3));
    let found = refusal(|state| state.extents.insert(3, saved(0x2_f000, 0x3_0fff, 0)));
    assert_eq!(found, RestoreError::Overlap(3));
    let found = refusal(|state| state.extents.insert(3, saved(0x1_f000, 0x2_0fff, 0)));
    assert_eq!(found, RestoreError::Overlap(3));
    let found = refusal(|state| state.extents.push(state.extents[4]));
    assert_eq!(found, RestoreError::Overlap(5));
    for kind in [3, 7, u8::MAX] {
        let found = refusal(|state| state.extents[1].kind = kind);
        assert_eq!(found, RestoreError::Kind(1, kind));
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

/// Another number, near or far.
fn other(random: &mut Random, number: u64) -> u64 {
    match random.below(9) {
        0 => 0,
        1 => u64::MAX,
        2 => random.next(),
        3 => number ^ (1 << random.below(64)),
        4 => number.wrapping_add(1),
        5 => number.wrapping_sub(1),
        6 => number.wrapping_add(0x1000),
        7 => number.wrapping_sub(0x1000),
        _ => number.wrapping_mul(2),
    }
}

fn spoil(random: &mut Random, state: &mut State) {
    let n = state.extents.len();
    let [one, two] = [random.index(n.max(1)), random.index(n.max(1))];
    match random.below(if n == 0 { 4 } else { 13 }) {
        0 => state.version = other(random, u64::from(state.version)) as u32,
        1 => state.start = other(random, state.start),
        2 => state.last = other(random, state.last),
        3 => state.granule = other(random, state.granule),
        4 | 5 => state.extents[one].start = other(random, state.extents[one].start),
        6 | 7 => state.extents[one].last = other(random, state.extents[one].last),
        8 => state.extents[one].kind = other(random, u64::from(state.extents[one].kind)) as u8,
        9 => state.extents.swap(one, two),
        10 => drop(state.extents.remove(one)),
        11 => state.extents.insert(one, state.extents[two]),
        _ => {
            let moved = random.below(64) * 0x1000;
            state.extents[one].start = state.extents[one].start.wrapping_add(moved);
            state.extents[one].last = state.extents[one].last.wrapping_add(moved);
        }
    }
}

#[test]
fn spoiled_states_are_refused_and_never_unsound() {
    let mut random = Random::new(0x5701);
    let mut counts = [0, 0];
    for case in 0..60_000 {
        let mut state = good();
        for _ in 0..1 + random.below(3) {
            spoil(&mut random, &mut state);
        }
        counts[usize::from(judge(&state, case))] += 1;
    }
    assert!(
        counts.iter().all(|count| *count > 5000),
        "{counts:?} of each sort"
    );
}

/// Changes a digit of a number in the text, or less often adds, changes or removes a byte or
/// truncates the text.
fn spoil_text(random: &mut Random, text: &mut Vec<u8>) {
    const BYTES: &[u8] = b"0123456789,:{}[]\"-.e \x00\xff";
    if text.is_empty() {
        return;
    }
    let at = random.index(text.len());
    match random.below(20) {
        0 => drop(text.remove(at)),
        1 => text.insert(at, BYTES[random.index(BYTES.len())]),
        2 => text.truncate(at + 1),
        3 => text[at] ^= 1 << random.below(8),
        4 => text[at] = BYTES[random.index(BYTES.len())],
        _ => {
            let digit = text[at..].iter_mut().find(|byte| byte.is_ascii_digit());
            if let Some(digit) = digit {
                *digit = b'0' + random.below(10) as u8;
            }
        }
    }
}

#[test]
fn spoiled_texts_are_refused_and_never_unsound() {
    // With granules of one byte, almost any number is valid.
    let texts = [0x1000, 1].map(|granule| State { granule, ..good() });
    let texts = texts.map(|state| serde_json::to_vec(&state).expect("numbers are numbers"));
    let mut random = Random::new(0x5702);
    let mut counts = [0, 0, 0];
    for case in 0..40_000 {
        let mut text = texts[case % 2].clone();
        for _ in 0..1 + random.below(3) {
            spoil_text(&mut random, &mut text);
        }
        let read = serde_json::from_slice::<State>(&text);
        let accepted = read.ok().map(|state| judge(&state, case));
        counts[accepted.map_or(2, usize::from)] += 1;
    }
    assert!(
        counts.iter().all(|count| *count > 500),
        "{counts:?} of each sort"
    );
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
