//! States that no table has saved.

use furlong::check::Check;
use furlong::phys::{
    Array, Direct, Linear, Lookup, RestoreError, SavedFrames, SavedHandle, SavedSegment, State,
};

use super::table;
use crate::frames;
use crate::spoiled::judged;

fn handle(index: u32, generation: u32) -> SavedHandle {
    SavedHandle { index, generation }
}

fn saved(start: u64, end: u64) -> SavedFrames {
    SavedFrames { start, end }
}

fn segment(index: u32, start: u64, end: u64) -> SavedSegment {
    SavedSegment {
        handle: handle(index, 1),
        frames: saved(start, end),
        avail: saved(start, end - 2),
        node: 1,
        start_hint: 3,
        user: 7,
    }
}

fn good() -> State {
    State {
        version: State::VERSION,
        page_bits: 12,
        started: true,
        segments: vec![
            segment(1, 10, 40),
            segment(3, 40, 60),
            segment(0, 100, 170),
            segment(5, 300, 310),
        ],
        gone: vec![handle(4, 8), handle(2, 2)],
        isolated: vec![saved(12, 15), saved(15, 17), saved(300, 310)],
    }
}

/// The error for a good state after `harm` has changed it. Checks that the table is unchanged.
fn refusal(harm: impl FnOnce(&mut State)) -> RestoreError {
    let mut state = good();
    harm(&mut state);
    let table = table::<Direct>();
    let fresh = table.lock().save();
    let refused = table.lock().restore(&state);
    assert_eq!(table.lock().save(), fresh);
    table.lock().check().expect("no invariant is broken");
    let id = table.lock().plug(frames(0, 5)).expect("it is free");
    assert_eq!(format!("{id:?}"), "segment 0.0");
    refused.expect_err("it was spoiled")
}

#[test]
fn each_fault_of_a_state_is_named() {
    use RestoreError::{
        Avail, Beyond, Empty, Generation, Handle, Hint, Isolated, OutOfOrder, PageBits, Version,
    };
    assert_eq!(table::<Direct>().lock().restore(&good()), Ok(()));
    let is = |error, harm: &dyn Fn(&mut State)| assert_eq!(refusal(harm), error);
    is(Version(2), &|state| state.version = 2);
    is(PageBits(16), &|state| state.page_bits = 16);
    let [twice, unknown] = [handle(1, 1), handle(6, 2)];
    is(Handle(twice), &|state| state.segments[2].handle = twice);
    is(Handle(unknown), &|state| state.gone[0] = unknown);
    let [even, odd] = [handle(1, 2), handle(2, 1)];
    is(Generation(even), &|state| state.segments[0].handle = even);
    is(Generation(odd), &|state| state.gone[1] = odd);
    for end in [0, 99, 100] {
        is(Empty(2), &|state| state.segments[2].frames.end = end);
    }
    for end in [(1 << 40) + 1, u64::MAX] {
        is(Beyond(3), &|state| state.segments[3].frames.end = end);
    }
    is(OutOfOrder(2), &|state| state.segments.swap(1, 2));
    is(OutOfOrder(1), &|state| state.segments[1].frames.start = 39);
    for (start, end) in [(39, 50), (50, 61), (55, 54), (60, 61), (u64::MAX, 0)] {
        is(Avail(1), &|state| {
            state.segments[1].avail = saved(start, end);
        });
    }
    is(Hint(1), &|state| state.segments[1].start_hint = 19);
    let pairs = [
        (17, 17),
        (14, 15),
        (11, 41),
        (39, 41),
        (60, 61),
        (9, 11),
        (61, 60),
    ];
    for (start, end) in pairs {
        is(Isolated(1), &|state| state.isolated[1] = saved(start, end));
    }
    is(Isolated(0), &|state| state.started = false);
}

#[test]
fn the_first_frame_may_be_isolated() {
    let state = State {
        segments: vec![segment(0, 0, 40)],
        gone: vec![],
        isolated: vec![saved(0, 3)],
        ..good()
    };
    assert_eq!(table::<Direct>().lock().restore(&state), Ok(()));
}

#[test]
fn a_table_that_was_in_use_is_not_restored() {
    let table = table::<Direct>();
    table.lock().plug(frames(0, 5)).expect("it is free");
    assert_eq!(table.lock().restore(&good()), Err(RestoreError::Used));
    let empty = super::table::<Direct>();
    empty.lock().start().expect("there is memory");
    assert_eq!(empty.lock().restore(&good()), Err(RestoreError::Used));
    assert_eq!((table.lock().len(), empty.lock().len()), (1, 0));
}

#[test]
fn more_segments_than_an_arm_has_room_for_are_refused() {
    fn restored<L: Lookup>() -> Result<(), RestoreError> {
        let table = table::<L>();
        let restored = table.lock().restore(&good());
        table.lock().check().expect("no invariant is broken");
        assert_eq!(table.lock().is_empty(), restored.is_err());
        restored
    }
    assert_eq!(restored::<Array<Linear, 3>>(), Err(RestoreError::Full(3)));
    // The isolations cut a piece in two before they remove another one.
    assert_eq!(restored::<Array<Linear, 4>>(), Err(RestoreError::Full(4)));
    assert_eq!(restored::<Array<Linear, 5>>(), Ok(()));
}

/// True if a table could have saved this state, by a definition independent of the library's.
fn is_good(state: &State) -> bool {
    let count = state.segments.len() + state.gone.len();
    let live = state.segments.iter().map(|segment| segment.handle);
    let mut indices: Vec<u32> = live
        .chain(state.gone.iter().copied())
        .map(|it| it.index)
        .collect();
    indices.sort_unstable();
    let is_segment = |segment: &SavedSegment| {
        let SavedSegment { frames, avail, .. } = *segment;
        let ends = [frames.start, avail.start, avail.end, frames.end];
        segment.handle.generation % 2 == 1
            && frames.start < frames.end
            && frames.end <= 1 << 40
            && ends.is_sorted()
            && segment.start_hint <= avail.end - avail.start
    };
    let has = |isolated: &SavedFrames| {
        let its = |segment: &&SavedSegment| {
            segment.frames.start <= isolated.start && isolated.end <= segment.frames.end
        };
        isolated.start < isolated.end && state.segments.iter().filter(its).count() == 1
    };
    (state.version, state.page_bits) == (1, 12)
        && indices.iter().copied().eq(0..count as u32)
        && state.gone.iter().all(|handle| handle.generation % 2 == 0)
        && state.segments.iter().all(is_segment)
        && state
            .segments
            .is_sorted_by(|one, next| one.frames.end <= next.frames.start)
        && (state.started || state.isolated.is_empty())
        && state.isolated.iter().all(has)
        && state
            .isolated
            .is_sorted_by(|one, next| one.end <= next.start)
}

/// Restores a state. It must not panic, and an accepted state must give a consistent table with the
/// same contents. Returns true if it was accepted.
fn judge(state: &State, what: impl core::fmt::Debug) -> bool {
    let is_small = |segment: &SavedSegment| {
        let SavedFrames { start, end } = segment.frames;
        end < start || end - start < 1 << 14
    };
    if !state.segments.iter().all(is_small) && is_good(state) {
        // Valid, but it would take longer than all other states together.
        return true;
    }
    let table = table::<Direct>();
    let restored = table.lock().restore(state);
    assert_eq!(
        restored.is_ok(),
        is_good(state),
        "{what:?}: {restored:?} of {state:?}"
    );
    let checked = table.lock().check();
    checked.unwrap_or_else(|broken| panic!("{what:?}: {broken}"));
    if restored.is_ok() {
        assert_eq!(table.lock().save().as_ref(), Ok(state), "{what:?}");
    } else {
        assert!(table.lock().is_empty(), "{what:?}");
    }
    restored.is_ok()
}

#[test]
fn spoiled_states_are_refused_and_never_unsound() {
    let counts = judged(&[good()], Some(64), 60_000, 0x5711, judge);
    let is_enough = counts[..2].iter().all(|count| *count > 5000);
    assert!(is_enough, "{counts:?} of each sort");
}

#[test]
fn spoiled_texts_are_refused_and_never_unsound() {
    let counts = judged(&[good()], None, 40_000, 0x5712, judge);
    let is_enough = counts.iter().all(|count| *count > 500);
    assert!(is_enough, "{counts:?} of each sort");
}

#[test]
fn the_form_of_a_saved_state_is_kept() {
    let text = r#"{"version":1,"page_bits":12,"started":true,"segments":[
        {"handle":{"index":1,"generation":5},"frames":{"start":8,"end":1099511627776},
        "avail":{"start":9,"end":9},"node":2,"start_hint":0,"user":18446744073709551615}],
        "gone":[{"index":0,"generation":2}],"isolated":[{"start":8,"end":9}]}"#;
    let mut state: State = serde_json::from_str(text).expect("this is what version 1 wrote");
    let again = serde_json::to_string(&state).expect("numbers are numbers");
    let packed: String = text.split_whitespace().collect();
    assert_eq!(again, packed);
    state.segments[0].frames.end = 10;
    assert!(judge(&state, "with less frames"));
}
