//! The number of cells that each arm looks at to find a frame, as its algorithm implies.

use super::{Page, frames, table};
use crate::addr::{Pfn, PhysAddr};
use crate::check::Check;
use crate::phys::index::array::Contiguous;
use crate::phys::{
    Array, BigFirst, BinarySearch, Branchless, Custom, Direct, Flat, Linear, Lookup, SegmentTable,
    Tree,
};

type Table<L> = SegmentTable<Page, Custom<L>, 4>;

/// A table that started before these segments were plugged, in this order.
fn plugged<L: Lookup>(segments: &[(u64, u64)]) -> Table<L> {
    let table = table::<L>();
    let mut writer = table.lock();
    writer.grow_on_heap();
    writer.start().unwrap();
    for (start, end) in segments {
        writer.plug(frames(*start, *end)).unwrap();
    }
    writer.check().unwrap();
    drop(writer);
    table
}

/// The numbers of cells for finding the segments of these frames, and for finding their pages.
fn probes<L: Lookup, const N: usize>(table: &Table<L>, of: [u64; N]) -> ([u64; N], [u64; N]) {
    let segments = table.lock();
    let view = segments.view();
    let find = of.map(|frame| view.probes_of_find(Pfn::new(frame)));
    let page = of.map(|frame| view.probes_of_page(PhysAddr::new(frame << 12)));
    (find, page)
}

/// In the order of plugging: the second, the first and the third by address.
const THREE: [(u64, u64); 3] = [(100, 110), (0, 50), (200, 1200)];
/// A frame of each in that order, and one between the lower two.
const OF_THREE: [u64; 4] = [105, 5, 300, 55];

fn alike<L: Lookup>(expected: [u64; 4]) {
    let found = probes(&plugged::<L>(&THREE), OF_THREE);
    assert_eq!(
        found,
        (expected, expected),
        "{}",
        core::any::type_name::<L>()
    );
}

#[test]
fn arrays_and_trees_look_at_as_many_pieces_as_their_order_says() {
    alike::<Array<Linear>>([1, 2, 3, 3]);
    // The longest is the first.
    alike::<Array<BigFirst>>([3, 2, 1, 3]);
    alike::<Array<BinarySearch>>([1, 2, 2, 2]);
    alike::<Branchless>([2, 2, 2, 2]);
    alike::<Tree>([1, 2, 2, 2]);
}

#[test]
fn one_segment_takes_one_comparison_and_none_takes_none() {
    let of = [5, 50];
    assert_eq!(
        probes(&plugged::<Array<Contiguous>>(&[]), of),
        ([0; 2], [0; 2])
    );
    assert_eq!(
        probes(&plugged::<Array<Contiguous>>(&[(0, 50)]), of),
        ([1; 2], [1; 2])
    );
}

#[test]
fn a_pointer_a_frame_takes_one_look_for_a_page() {
    let (find, page) = probes(&plugged::<Flat>(&THREE), OF_THREE);
    assert_eq!((find, page), ([2; 4], [1; 4]));
}

#[test]
fn the_direct_arm_looks_at_a_cell_a_level_whatever_the_frame() {
    // A block; no cell for a frame above the table.
    let near = plugged::<Direct>(&THREE);
    assert_eq!(probes(&near, OF_THREE), ([1; 4], [1; 4]));
    assert_eq!(probes(&near, [1 << 30]), ([0], [0]));
    // A word, and a block or a cell.
    let far = 1 << 20;
    let low = plugged::<Direct>(&[(0, 50), (far, far + 5000)]);
    let of = [5, 55, far, far + 4200, far - 1];
    assert_eq!(probes(&low, of), ([2; 5], [2; 5]));
    // In addition, the top, a middle table and a page.
    let high = 1 << 30;
    let wide = plugged::<Direct>(&[(0, 50), (high, high + 5000)]);
    let of = [5, 55, high, high + 4200, high / 2];
    assert_eq!(probes(&wide, of), ([4; 5], [4; 5]));
}
