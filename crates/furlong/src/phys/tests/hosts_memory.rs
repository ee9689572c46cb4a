//! The memory of hosts and of the heap, without a table: the source of a piece, the number of nodes
//! visited for it, and memory that is given back.

use core::alloc::Layout;

use super::{Page, frames, lent, table};
use crate::addr::Pfn;
use crate::check::Check;
use crate::phys::segment::Frames;
use crate::phys::storage::by_address::tests::LOOKED_AT;
use crate::phys::storage::memory::{Host, Memory};
use crate::phys::storage::slab::Slabs;
use crate::phys::{Custom, Direct, NoMemory, Plug, PlugError, SegmentTable, Standard};

fn bytes(size: usize) -> Layout {
    Layout::from_size_align(size, 8).unwrap()
}

/// A host with `room` bytes for pieces.
fn host(memory: &mut Memory, room: usize) -> Host {
    let frames = Frames { start: 0, end: 1 };
    let lent = lent(room + Memory::HOST_OVERHEAD);
    memory.host(frames, lent).expect("there is room")
}

#[test]
fn a_small_piece_is_found_where_nothing_longer_has_room() {
    let mut memory = Memory::new();
    let [small, large] = [1 << 10, 1 << 14].map(|room| host(&mut memory, room));
    // The first piece takes the smaller host's only chunk, most of which stays free.
    memory.set_closed(large, true);
    memory.alloc(bytes(16)).unwrap();
    memory.set_closed(large, false);
    memory.alloc(bytes(1 << 13)).unwrap();
    memory.set_closed(large, true);
    let before = memory.live();
    memory.alloc(bytes(16)).unwrap();
    assert_eq!((memory.live_in(small), memory.live()), (32, before + 16));
    assert!(memory.alloc(bytes(1 << 10)).is_err());
    assert_eq!(memory.live(), before + 16);
}

#[test]
fn all_of_what_is_given_but_a_header_can_be_taken_as_one_piece() {
    let mut memory = Memory::new();
    // The header takes a grain of 64 bytes, and an unaligned start up to another one.
    memory.donate(lent(1 << 13));
    let most = (1 << 13) - 2 * 64;
    assert_eq!(memory.alloc(bytes((1 << 13) + 1)).err(), Some(NoMemory));
    memory.alloc(bytes(most)).unwrap();
    assert_eq!(memory.live(), most);
}

#[test]
fn the_one_host_with_room_is_found_among_many_without() {
    let mut memory = Memory::new();
    for _ in 0..500 {
        let full = host(&mut memory, 1 << 12);
        memory.alloc_in(full, bytes(1 << 12)).unwrap();
    }
    let hosts = [1 << 14, 1 << 12].map(|room| host(&mut memory, room));
    let before = LOOKED_AT.get();
    memory.alloc(bytes(1 << 13)).unwrap();
    let looked_at = LOOKED_AT.get() - before;
    assert!(looked_at < 500, "{looked_at}");
    assert_eq!(hosts.map(|host| memory.live_in(host)), [1 << 13, 0]);
}

#[test]
fn a_host_too_small_for_the_index_is_refused_and_comes_back_whole() {
    let table: SegmentTable<Page, Standard, 4> = SegmentTable::new();
    let mut segments = table.lock();
    segments.start().unwrap();
    let range = frames(1 << 20, (1 << 20) + 40_000);
    let wanted = segments.judge(Plug::new(range)).unwrap();
    // Room for descriptors alone, and there is no other memory.
    let descriptors = Slabs::<Page>::footprint_late(wanted.frames).unwrap();
    let len = descriptors + Memory::HOST_OVERHEAD;
    let memory = segments.core.memory.host(wanted.frames, lent(len));
    let host = memory.expect("it is long enough for a head");
    let refused = segments.link_hosted(wanted, host);
    assert_eq!(refused, Err(PlugError::NoMemory));
    assert_eq!(segments.core.slabs.used(), (0, 0));
    let back = segments.core.memory.undo_host(host);
    assert_eq!(back.map(|memory| memory.len()), Some(len));
    segments.check().unwrap();
}

#[test]
fn a_block_of_the_heap_that_nothing_is_out_of_leaves_with_the_lock() {
    let table: SegmentTable<Page, Custom<Direct>, 4> = table();
    let mut segments = table.lock();
    segments.grow_on_heap();
    segments.plug(frames(10, 20)).unwrap();
    segments.start().unwrap();
    for start in [40_000, 80_000] {
        segments.plug(frames(start, start + 30_000)).unwrap();
    }
    for start in [40_000, 80_000] {
        segments.unplug(frames(start, start + 30_000)).unwrap();
    }
    for _ in 0..3 {
        segments.sweep();
    }
    assert!(segments.view().find(Pfn::new(40_000)).is_none());
    assert!(!segments.core.memory.released().is_none());
    drop(segments);
    assert!(table.lock().core.memory.released().is_none());
}
