//! Ranges that host their own bookkeeping.

use super::{Page, frames, lent};
use crate::addr::{Address, Extent, Pfn, PhysAddr};
use crate::check::Check;
use crate::phys::{Descriptor, MakeError, Plug, PlugError, SegmentTable, Standard, UnplugError};

/// A descriptor of one byte.
struct Small(u8);

impl Descriptor for Small {
    fn of_frame(frame: Pfn) -> Self {
        Self(frame.raw() as u8)
    }
}

const TIB: u64 = 1 << 28;

#[test]
fn a_terabyte_is_plugged_without_any_other_memory() {
    static TABLE: SegmentTable<Small> = SegmentTable::new();
    let range = frames(1 << 20, (1 << 20) + TIB);
    let mut segments = TABLE.lock();
    let refused = segments.plug_hosted(range, lent(0)).unwrap_err();
    assert_eq!(refused.cause, PlugError::NotStarted);
    segments.start().unwrap();
    let need = segments.hosted_bytes(range).unwrap();
    let rest = need as u64 - TIB * size_of::<Small>() as u64;
    assert!(
        rest * 10_000 <= TIB * 4096 * 2,
        "{rest} bytes are more than 0.02 %"
    );
    let id = segments.plug_hosted(range, lent(need)).unwrap();
    segments.check().unwrap();
    let last = Pfn::new((1 << 20) + TIB - 1);
    assert_eq!(segments.view().find(last), Some((id, TIB - 1)));
    assert!(segments.view().page_of(last).is_none(), "it is made later");
    let address = PhysAddr::new(last.raw() << 12);
    let page = segments.page_or_make(address).unwrap();
    assert_eq!(page.0, last.raw() as u8);
    assert!(segments.view().page(address).is_some());
    assert!(
        segments
            .view()
            .page_of(Pfn::new(last.raw() - 4096))
            .is_none()
    );
    assert_eq!(segments.make(last), Ok(false));
    segments.check().unwrap();
    assert!(
        segments.index_bytes() < 1 << 20,
        "{}",
        segments.index_bytes()
    );
    let host = need as u64 >> 12;
    let managed = segments.managed();
    assert!(managed + host <= TIB && managed + host + 1 >= TIB - 1);
}

fn hosted(table: &SegmentTable<Page>, range: Extent<Pfn>) {
    let mut segments = table.lock();
    segments.start().unwrap();
    let need = segments.hosted_bytes(range).unwrap();
    segments.plug_hosted(range, lent(need)).unwrap();
}

#[test]
fn frames_that_hold_bookkeeping_are_not_unplugged() {
    let table = SegmentTable::<Page>::new();
    hosted(&table, frames(0, 40_000));
    let mut segments = table.lock();
    let avail = segments.iter().next().unwrap().avail_start.raw();
    let refused = segments.unplug(frames(avail - 1, avail + 1));
    assert_eq!(refused, Err(UnplugError::Bookkeeping(frames(0, avail))));
    segments.unplug(frames(39_000, 40_000)).unwrap();
    segments.check().unwrap();
}

#[test]
fn frames_that_only_the_hosting_ones_could_give_are_not_available() {
    let range = frames(0, 40_000);
    let table = SegmentTable::<Page>::new();
    let mut segments = table.lock();
    segments.start().unwrap();
    let need = segments.hosted_bytes(range).unwrap();
    let plug = Plug::new(range).avail(Pfn::new(3), Pfn::new(7));
    segments.plug_hosted(plug, lent(need)).unwrap();
    assert_eq!(segments.managed(), 0);
    segments.check().unwrap();
}

#[test]
fn what_descriptors_made_late_unlink_comes_back_when_readers_have_left() {
    const FAR: u64 = 1 << 18;
    let table = SegmentTable::<Page>::new();
    // Its first section is not whole, so that its cell is its own, and is replaced.
    hosted(&table, frames(FAR + 100, FAR + 40_000));
    let reader = table.rcu().register().unwrap();
    let guard = reader.enter();
    let before = table.lock().core.deferred.len();
    assert_eq!(table.lock().make(Pfn::new(FAR + 200)), Ok(true));
    assert!(table.lock().core.deferred.len() > before);
    drop(guard);
    for _ in 0..3 {
        table.lock().sweep();
    }
    assert_eq!(table.lock().core.deferred.len(), 0);
}

#[test]
fn parts_of_a_section_on_both_sides_of_a_hole_are_made_together() {
    let table = SegmentTable::<Page>::new();
    hosted(&table, frames(0, 40_000));
    let mut segments = table.lock();
    segments.unplug(frames(21_000, 21_100)).unwrap();
    segments.check().unwrap();
    assert_eq!(segments.make(Pfn::new(21_200)), Ok(true));
    segments.check().unwrap();
    for frame in [20_480, 20_999, 21_100, 24_575] {
        let page = segments.view().page_of(Pfn::new(frame)).unwrap();
        assert_eq!(page.0, Pfn::new(frame));
    }
    assert!(segments.view().page_of(Pfn::new(24_576)).is_none());
    assert_eq!(
        segments.make(Pfn::new(21_050)),
        Err(MakeError::Unknown(Pfn::new(21_050)))
    );
    segments.unplug(frames(20_900, 20_950)).unwrap();
    segments.unplug(frames(24_000, 30_000)).unwrap();
    segments.check().unwrap();
}

#[test]
fn too_little_memory_for_the_bookkeeping_is_refused_before_it_is_taken() {
    let table = SegmentTable::<Page>::new();
    let mut segments = table.lock();
    segments.start().unwrap();
    let need = segments.hosted_bytes(frames(0, 40_000)).unwrap();
    let refused = segments.plug_hosted(frames(0, 40_000), lent(need - 1));
    let refused = refused.unwrap_err();
    assert_eq!(refused.cause, PlugError::TooSmall(need));
    assert_eq!(refused.memory.unwrap().len(), need - 1, "it comes back");
    assert_eq!((segments.len(), segments.memory_bytes()), (0, 0));
}

/// Random numbers below `end`.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |end| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % end
    }
}

#[test]
fn what_a_range_hosts_is_enough_whatever_the_table_keeps() {
    for seed in 0..12 {
        let mut below = numbers(seed);
        let table = SegmentTable::<Small, Standard, 2>::new();
        let reader = table.rcu().register().unwrap();
        let mut guard = None;
        table.lock().start().unwrap();
        let mut start = below(1 << 20);
        for step in 0..14 {
            // Memory that is unlinked while a reader is inside has to be kept.
            if step == 4 {
                guard = Some(reader.enter());
            }
            let range = frames(start, start + 20_000 + below(100_000));
            let mut segments = table.lock();
            let need = segments.hosted_bytes(range).unwrap();
            let plugged = segments.plug_hosted(range, lent(need));
            assert!(plugged.is_ok(), "seed {seed}, step {step}: {plugged:?}");
            segments.check().unwrap();
            let last = range.last().raw();
            let hole = frames(last - 600 - below(3000), last - below(500));
            // There may be no memory for it.
            drop(segments.isolate(hole));
            let gap_bits = below(28);
            start = last + 1 + below(1 << gap_bits);
        }
        assert!(guard.is_some() && table.lock().len() == 14);
    }
}
