//! The size of the direct arm's index, to the byte, as its documentation says.

use super::{Page, frames};
use crate::check::Check;
use crate::phys::index::snapshot::Piece;
use crate::phys::{Array, Custom, Direct, SegmentTable};
use crate::rcu::Domain;
use crate::sync::SpinLock;

type Table<D> = SegmentTable<D, Custom<Direct>>;

fn started(segments: impl IntoIterator<Item = (u64, u64)>) -> Table<Page> {
    let mut table: Table<Page> = SegmentTable::with_config(SpinLock::new(), Domain::new());
    let mut writer = table.get_mut();
    writer.grow_on_heap();
    for (start, end) in segments {
        writer.plug(frames(start, end)).unwrap();
    }
    writer.start().unwrap();
    drop(writer);
    table
}

fn bytes(table: &Table<Page>) -> usize {
    table.lock().check().unwrap();
    table.lock().index_bytes()
}

/// Bytes of an allocation of more than 264 bytes.
fn large(bytes: usize) -> usize {
    bytes.next_multiple_of(64)
}

const BLOCK: usize = 24;
const LEAF: usize = 16;
const SECTION: usize = LEAF + 64 * BLOCK;
const CELL: usize = 32;

#[test]
fn an_array_takes_all_its_slots() {
    let table: SegmentTable<Page, Custom<Array>> =
        SegmentTable::with_config(SpinLock::new(), Domain::new());
    let slots = 32 * size_of::<Piece<Page>>();
    assert_eq!(table.lock().index_bytes(), slots + size_of::<usize>());
}

#[test]
fn segments_side_by_side_take_a_block_for_each_64_frames() {
    let table = started((0..32).map(|at| (8 * at, 8 * at + 8)));
    assert_eq!(bytes(&table), LEAF + 4 * BLOCK);
}

#[test]
fn fragments_take_no_more_than_what_they_were_cut_from() {
    const END: u64 = 1 << 16;
    let mut table = started([(0, 256)]);
    let mut writer = table.get_mut();
    writer.plug(frames(256, END)).unwrap();
    for start in (256..END).step_by(8) {
        let len = 1 + start / 8 * 5 % 7;
        writer.unplug(frames(start, start + len)).unwrap();
    }
    assert_eq!(writer.len(), 8161);
    drop(writer);
    assert_eq!(bytes(&table), large(LEAF + 1024 * BLOCK));
}

#[test]
fn two_segments_in_an_octet_take_a_piece() {
    let table = started([(0, 3), (3, 6)]);
    assert_eq!(
        bytes(&table),
        LEAF + BLOCK + (8 + 2 * 2_usize).next_multiple_of(8)
    );
    table.lock().unplug(frames(0, 3)).unwrap();
    assert_eq!(bytes(&table), LEAF + BLOCK);
}

#[test]
fn segments_of_a_block_with_indices_far_apart_take_a_piece() {
    let others = (1..=15).map(|at| (64 * at, 64 * at + 1));
    let table = started([(0, 3)].into_iter().chain(others));
    assert_eq!(bytes(&table), large(LEAF + 16 * BLOCK));
    // This segment has the index 16.
    table.lock().plug(frames(8, 9)).unwrap();
    let piece = (8 + 2 * 2_usize).next_multiple_of(8);
    assert_eq!(bytes(&table), large(LEAF + 16 * BLOCK) + piece);
}

#[test]
fn sections_take_a_word_each_and_share_cells() {
    // Two whole sections and a part of one above; below, a section with one frame.
    let start = 1 << 18;
    let table = started([(4096, 4097), (start, start + 2 * 4096 + 1)]);
    let words = 128 * 8;
    // Cells: the empty one, the segment's shared one, and two of sections with one stretch.
    assert_eq!(bytes(&table), words + 4 * CELL);
    // A section with two stretches takes a leaf.
    table.lock().plug(frames(4200, 4201)).unwrap();
    assert_eq!(bytes(&table), words + 3 * CELL + large(SECTION));
    table.lock().unplug(frames(4200, 4201)).unwrap();
    table.lock().sweep();
    assert_eq!(bytes(&table), words + 4 * CELL);
}

#[test]
fn a_table_with_high_frames_takes_pages_where_there_is_memory() {
    const TIB: u64 = 1 << 28;
    let table = started([(5 * TIB + 7, 5 * TIB + 9)]);
    let (top, middles, pages) = (8 * 8, 2 * large(2048 * 8), 2 * 256);
    assert_eq!(bytes(&table), top + middles + pages + 2 * CELL);
    // Sections that one array reached are now reached through pages.
    let table = started([(0, 1 << 16), (TIB / 4, TIB / 4 + 10)]);
    assert_eq!(bytes(&table), (TIB / 4096 / 2) as usize * 8 + 3 * CELL);
    table.lock().plug(frames(TIB, TIB + 1)).unwrap();
    table.lock().sweep();
    // The 512 MiB at 0, at 256 GiB and at 1 TiB have pages; the fourth page is the empty one.
    let (top, middles, pages) = (2 * 8, 3 * large(2048 * 8), 4 * 256);
    assert_eq!(bytes(&table), top + middles + pages + 4 * CELL);
}
