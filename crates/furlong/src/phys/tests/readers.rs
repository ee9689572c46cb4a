//! Readers beside the writer, and stale handles.

use super::{Page, frames, table};
use crate::addr::{Pfn, PhysAddr};
use crate::check::Check;
use crate::phys::{Custom, Direct, SegmentTable, Segments, Stale, UnplugError};
use crate::rcu::Domain;

type Table = SegmentTable<Page, Custom<Direct>, 4>;

fn started() -> Table {
    super::started::<Direct>(&[(0, 100)])
}

#[test]
fn a_reader_inside_keeps_the_descriptors_of_isolated_frames() {
    let table = started();
    let reader = table.rcu().register().unwrap();
    let guard = reader.enter();
    let page = table.read(&guard).page_of(Pfn::new(50)).unwrap();
    let isolated = table.lock().isolate(frames(50, 60)).unwrap();
    assert!(table.read(&guard).page_of(Pfn::new(50)).is_none());
    let refused = table.lock().remove(isolated).unwrap_err();
    assert_eq!(
        (refused.cause, page.0),
        (UnplugError::Readers, Pfn::new(50))
    );
    drop(guard);
    table.lock().remove(refused.frames).unwrap();
    table.lock().check().unwrap();
}

#[test]
fn an_unplug_in_one_step_beside_a_reader_is_refused_and_changes_nothing() {
    let table = started();
    let reader = table.rcu().register().unwrap();
    let guard = reader.enter();
    let refused = table.lock().unplug(frames(50, 60));
    assert_eq!(refused, Err(UnplugError::Readers));
    assert!(table.read(&guard).page_of(Pfn::new(50)).is_some());
    assert_eq!(table.lock().len(), 1);
    drop(guard);
    table.lock().unplug(frames(50, 60)).unwrap();
}

#[test]
fn who_has_the_table_alone_waits_for_nobody() {
    let mut table = started();
    let before = table.lock().memory_bytes();
    let mut segments = table.get_mut();
    let isolated = segments.isolate(frames(10, 90)).unwrap();
    segments.remove(isolated).unwrap();
    segments.plug(frames(10, 90)).unwrap();
    segments.unplug(frames(90, 100)).unwrap();
    segments.unplug(frames(10, 90)).unwrap();
    assert!(segments.memory_bytes() <= before + 4096, "nothing waits");
}

#[test]
fn a_view_finds_nothing_before_the_start() {
    let table = table::<Direct>();
    let id = table.lock().plug(frames(0, 10)).unwrap();
    let reader = table.rcu().register().unwrap();
    let guard = reader.enter();
    let view = table.read(&guard);
    assert!(view.find(Pfn::new(3)).is_none() && view.page_of(Pfn::new(3)).is_none());
    assert_eq!(table.lock().find(Pfn::new(3)), Some((id, 3)));
}

#[test]
fn a_handle_outlives_a_shrinking_segment_and_is_refused_when_it_is_gone() {
    let table = started();
    let mut segments = table.lock();
    let low = segments.first().unwrap();
    let high = segments.plug(frames(200, 300)).unwrap();
    segments.unplug(frames(0, 40)).unwrap();
    segments.unplug(frames(60, 70)).unwrap();
    assert_eq!(segments.get(low).unwrap().frames, frames(40, 60));
    segments.unplug(frames(40, 60)).unwrap();
    assert_eq!(segments.get(low), Err(Stale(low)));
    assert_eq!(segments.next(low), Err(Stale(low)));
    // The entry is used again, the handle is not.
    let again = segments.plug(frames(0, 10)).unwrap();
    assert_ne!(again, low);
    assert_eq!(segments.get(low), Err(Stale(low)));
    assert_eq!(segments.next(again).unwrap(), segments.prev(high).unwrap());
}

#[test]
#[should_panic(expected = "another domain")]
fn a_guard_of_another_domain_is_refused() {
    let table = started();
    let other = Domain::new();
    let reader = other.register().unwrap();
    let guard = reader.enter();
    let _ = table.read(&guard);
}

#[test]
fn frames_of_a_block_with_descriptors_in_many_slabs_have_their_own() {
    let table = started();
    let mut segments = table.lock();
    // Takes the places next to those of the first segment.
    segments.plug(frames(1000, 1028)).unwrap();
    for start in [103, 107, 113, 119] {
        segments.plug(frames(start, start + 3)).unwrap();
    }
    segments.unplug(frames(20, 60)).unwrap();
    segments.plug(frames(2000, 2040)).unwrap();
    segments.plug(frames(22, 24)).unwrap();
    segments.check().unwrap();
    let view = segments.view();
    let probes = |frame: u64| view.probes_of_page(PhysAddr::new(frame << 12));
    assert!(probes(23) > probes(1010) && probes(104) > probes(1010));
    drop(segments);
    let expected = (0..20).chain(22..24).chain(60..100);
    let expected = expected.chain(103..106).chain(107..110);
    let expected = expected.chain(113..116).chain(119..122);
    assert!(super::found(&table, 200).into_iter().eq(expected));
}

#[test]
fn a_hole_that_is_plugged_again_has_its_descriptors_where_they_were() {
    let table = started();
    let mut segments = table.lock();
    let places = |segments: &Segments<'_, Page, Custom<Direct>, 4>| -> Vec<_> {
        let view = segments.view();
        let page = |frame| view.page_of(Pfn::new(frame)).map(core::ptr::from_ref);
        (0..100).map(page).collect()
    };
    let before = places(&segments);
    for start in [30, 50, 70] {
        segments.unplug(frames(start, start + 10)).unwrap();
    }
    for start in [70, 30, 50] {
        segments.plug(frames(start, start + 10)).unwrap();
    }
    assert_eq!(places(&segments), before);
    // If the places there are not free, the descriptors are elsewhere.
    segments.unplug(frames(20, 30)).unwrap();
    segments.unplug(frames(60, 70)).unwrap();
    segments.plug(frames(200, 210)).unwrap();
    segments.plug(frames(20, 30)).unwrap();
    segments.plug(frames(60, 70)).unwrap();
    segments.check().unwrap();
}
