//! Spare pieces for one change, and for the isolated frames that will be removed or taken back.
#![forbid(unsafe_code)]

use super::update::{LEAVES, LEAVES_HELD, SPARES};
use crate::addr::{Extent, Pfn};
use crate::check::Check;
use crate::phys::{Custom, Descriptor, Direct, SegmentTable};
use crate::rcu::Domain;
use crate::sync::SpinLock;

struct Page(#[expect(dead_code, reason = "it has an address")] u8);

impl Descriptor for Page {
    fn of_frame(_: Pfn) -> Self {
        Self(0)
    }
}

fn frames(start: u64, end: u64) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).unwrap()
}

/// Beyond the frames of a near leaf.
const FAR: u64 = 1 << 18;

#[test]
fn what_isolated_frames_will_take_is_kept_and_no_more_than_for_one_change_beside() {
    let table: SegmentTable<Page, Custom<Direct>, 4> =
        SegmentTable::with_config(SpinLock::new(), Domain::new());
    let mut segments = table.lock();
    segments.grow_on_heap();
    segments.start().unwrap();
    segments.plug(frames(FAR, FAR + (10 << 12))).unwrap();
    // Each range is in the middle of a section that its segment had whole, so it takes a leaf.
    for held in 1..=8 {
        let start = FAR + (held << 12) + 100;
        drop(segments.isolate(frames(start, start + 10)).unwrap());
        let (held, private) = (held as usize, &segments.core.index);
        let leaves = private.spare_len;
        assert!(leaves >= LEAVES_HELD * held, "{leaves} leaves for {held}");
        assert!(leaves <= LEAVES + LEAVES_HELD * held, "{leaves} for {held}");
        let runs = private.spare_runs.len;
        assert!(
            (SPARES * held..=SPARES * (1 + held)).contains(&runs),
            "{runs} for {held}"
        );
    }
    // The spares are freed together with the isolations.
    for held in (0..8).rev() {
        let isolated = segments.isolated().next().unwrap();
        let token = segments.adopt(isolated.start()).unwrap();
        segments.abort(token).unwrap();
        let private = &segments.core.index;
        assert!(private.spare_len <= LEAVES + LEAVES_HELD * held);
        assert!(private.spare_runs.len <= SPARES * (1 + held));
    }
    segments.check().unwrap();
}
