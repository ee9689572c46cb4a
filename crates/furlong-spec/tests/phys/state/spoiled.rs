//! States that no table has saved.
#![forbid(unsafe_code)]

use furlong::check::Check;
use furlong::phys::{
    Array, Direct, Linear, Lookup, RestoreError, SavedFrames, SavedHandle, SavedSegment, State,
};
use furlong_spec::Random;

use super::{frames, table};

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
    assert_eq!(table::<Direct>().lock().restore(&good()), Ok(()));
    assert_eq!(refusal(|state| state.version = 2), RestoreError::Version(2));
    assert_eq!(
        refusal(|state| state.page_bits = 16),
        RestoreError::PageBits(16)
    );
    let twice = handle(1, 1);
    assert_eq!(
        refusal(|state| state.segments[2].handle = twice),
        RestoreError::Handle(twice)
    );
    assert_eq!(
        refusal(|state| state.gone[0] = handle(6, 2)),
        RestoreError::Handle(handle(6, 2))
    );
    assert_eq!(
        refusal(|state| state.segments[0].handle.generation = 2),
        RestoreError::Generation(handle(1, 2))
    );
    assert_eq!(
        refusal(|state| state.gone[1].generation = 1),
        RestoreError::Generation(handle(2, 1))
    );
    for end in [0, 99, 100] {
        let found = refusal(|state| state.segments[2].frames.end = end);
        assert_eq!(found, RestoreError::Empty(2));
    }
    for end in [(1 << 40) + 1, u64::MAX] {
        let found = refusal(|state| state.segments[3].frames.end = end);
        assert_eq!(found, RestoreError::Beyond(3));
    }
    assert_eq!(
        refusal(|state| state.segments.swap(1, 2)),
        RestoreError::OutOfOrder(2)
    );
    assert_eq!(
        refusal(|state| state.segments[1].frames.start = 39),
        RestoreError::OutOfOrder(1)
    );
    for (start, end) in [(39, 50), (50, 61), (55, 54), (60, 61), (u64::MAX, 0)] {
        let found = refusal(|state| state.segments[1].avail = saved(start, end));
        assert_eq!(found, RestoreError::Avail(1));
    }
    assert_eq!(
        refusal(|state| state.segments[1].start_hint = 19),
        RestoreError::Hint(1)
    );
    for (start, end) in [
        (17, 17),
        (14, 15),
        (11, 41),
        (39, 41),
        (60, 61),
        (9, 11),
        (61, 60),
    ] {
        let found = refusal(|state| state.isolated[1] = saved(start, end));
        assert_eq!(found, RestoreError::Isolated(1), "{start}..{end}");
    }
    assert_eq!(
        refusal(|state| state.started = false),
        RestoreError::Isolated(0)
    );
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

/// Another number, near or far.
fn other(random: &mut Random, number: u64) -> u64 {
    match random.below(9) {
        0 => 0,
        1 => u64::MAX,
        2 => random.next(),
        3 => number ^ (1 << random.below(64)),
        4 => number.wrapping_add(1),
        5 => number.wrapping_sub(1),
        6 => number.wrapping_add(64),
        7 => number.wrapping_sub(64),
        _ => number.wrapping_mul(2),
    }
}

fn spoil_frames(random: &mut Random, frames: &mut SavedFrames) {
    match random.below(3) {
        0 => frames.start = other(random, frames.start),
        1 => frames.end = other(random, frames.end),
        _ => {
            let moved = random.below(128);
            frames.start = frames.start.wrapping_add(moved);
            frames.end = frames.end.wrapping_add(moved);
        }
    }
}

fn spoil_handle(random: &mut Random, handle: &mut SavedHandle) {
    match random.below(4) {
        0 => handle.index = other(random, u64::from(handle.index)) as u32,
        1 => handle.generation = other(random, u64::from(handle.generation)) as u32,
        _ => handle.generation = handle.generation.wrapping_add(2),
    }
}

fn spoil(random: &mut Random, state: &mut State) {
    let n = state.segments.len();
    if n == 0 {
        state.started = !state.started;
        return;
    }
    let [one, two] = [random.index(n), random.index(n)];
    match random.below(16) {
        0 => state.version = other(random, u64::from(state.version)) as u32,
        1 => state.page_bits = other(random, u64::from(state.page_bits)) as u32,
        2 => state.started = !state.started,
        3 | 4 => spoil_frames(random, &mut state.segments[one].frames),
        5 | 6 => spoil_frames(random, &mut state.segments[one].avail),
        7 => state.segments[one].start_hint = other(random, state.segments[one].start_hint),
        8 => spoil_handle(random, &mut state.segments[one].handle),
        9 => state.segments.swap(one, two),
        10 => drop(state.segments.remove(one)),
        11 => state.segments.insert(one, state.segments[two]),
        12 => state.gone.reverse(),
        13 => state
            .gone
            .iter_mut()
            .take(1)
            .for_each(|gone| spoil_handle(random, gone)),
        14 => drop(state.isolated.pop()),
        _ => state
            .isolated
            .iter_mut()
            .take(two)
            .for_each(|it| spoil_frames(random, it)),
    }
}

#[test]
fn spoiled_states_are_refused_and_never_unsound() {
    let mut random = Random::new(0x5711);
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
    const BYTES: &[u8] = b"0123456789,:{}[]\"-.e \x00\xfft";
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
    let text = serde_json::to_vec(&good()).expect("numbers are numbers");
    let mut random = Random::new(0x5712);
    let mut counts = [0, 0, 0];
    for case in 0..40_000 {
        let mut text = text.clone();
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
