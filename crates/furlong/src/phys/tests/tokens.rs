//! Tokens of isolated frames: each is valid for one table and one use, and can be replaced if lost.

use super::{Page, found, frames, started, table};
use crate::addr::Pfn;
use crate::check::Check;
use crate::phys::{Custom, Direct, Isolated, SegmentTable, StaleToken, UnplugError};

type Table = SegmentTable<Page, Custom<Direct>, 4>;

/// A table with frames 0..100, of which 50..60 are isolated.
fn isolated() -> (Table, Isolated) {
    let table = started::<Direct>(&[(0, 100)]);
    let isolated = table.lock().isolate(frames(50, 60)).unwrap();
    (table, isolated)
}

#[test]
fn a_token_is_refused_by_another_table_with_the_same_isolation() {
    let (one, ones) = isolated();
    let (other, others) = isolated();
    let refused = other.lock().remove(ones).unwrap_err();
    assert_eq!(refused.cause, UnplugError::StaleToken);
    let StaleToken(ones) = other.lock().abort(refused.frames).unwrap_err();
    assert_eq!(found(&other, 200).len(), 90, "it is still isolated there");
    other.lock().check().unwrap();
    one.lock().remove(ones).unwrap();
    other.lock().abort(others).unwrap();
    assert_eq!(
        (found(&one, 200).len(), found(&other, 200).len()),
        (90, 100)
    );
}

#[test]
fn frames_whose_token_was_dropped_stay_isolated_until_another_one_is_made() {
    let (table, token) = isolated();
    drop(token);
    let mut segments = table.lock();
    let refused = segments.unplug(frames(55, 56));
    assert_eq!(refused, Err(UnplugError::Isolated(frames(50, 60))));
    assert!(segments.isolated().eq([frames(50, 60)]));
    assert!(segments.adopt(Pfn::new(49)).is_none() && segments.adopt(Pfn::new(60)).is_none());
    let token = segments.adopt(Pfn::new(59)).unwrap();
    assert_eq!(token.frames(), frames(50, 60));
    segments.remove(token).unwrap();
    assert_eq!((segments.isolated().len(), segments.len()), (0, 2));
    segments.check().unwrap();
}

#[test]
fn a_token_that_another_one_replaced_is_refused() {
    let (table, old) = isolated();
    let mut segments = table.lock();
    let new = segments.adopt(Pfn::new(50)).unwrap();
    assert_ne!(old, new);
    let refused = segments.remove(old).unwrap_err();
    assert_eq!(refused.cause, UnplugError::StaleToken);
    segments.abort(new).unwrap();
    let StaleToken(old) = segments.abort(refused.frames).unwrap_err();
    assert_eq!(old.frames(), frames(50, 60));
    segments.check().unwrap();
}

#[test]
fn frames_are_not_isolated_before_the_start() {
    let table = table::<Direct>();
    table.lock().plug(frames(0, 10)).unwrap();
    let refused = table.lock().isolate(frames(0, 5));
    assert_eq!(refused, Err(UnplugError::NotStarted));
}

#[test]
fn whole_sections_stay_isolated_while_the_way_to_all_sections_is_made_anew() {
    for is_taken_back in [true, false] {
        let table = started::<Direct>(&[(0x10_0000, 0x10_4000), (0, 10)]);
        let mut segments = table.lock();
        let isolated = segments.isolate(frames(0x10_0000, 0x10_4000)).unwrap();
        // The first frame above 1 TiB.
        segments.plug(frames(1 << 28, (1 << 28) + 1)).unwrap();
        if is_taken_back {
            segments.abort(isolated).unwrap();
        } else {
            segments.remove(isolated).unwrap();
        }
        segments.check().unwrap();
        let is_found = segments.view().find(Pfn::new(0x10_2345)).is_some();
        assert_eq!(is_found, is_taken_back);
    }
}
