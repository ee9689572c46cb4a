use super::log::Event;
use super::tape::{Recorded, Tape};

const BEGUN: u64 = 1;
const FORKED: u64 = 2;
const ALLOCATED: u64 = 3;
const ZEROED: u64 = 4;
const FREED: u64 = 5;
const RESIZING: u64 = 6;
const RESIZED: u64 = 7;
const TOUCHED: u64 = 8;
const SAMPLED: u64 = 9;
const SERVED: u64 = 10;

/// An event of a process and a thread: kind, size, block, old block.
fn event(process: u64, thread: u64, [kind, size, block, old]: [u64; 4]) -> Option<Event> {
    Event::of([kind | thread << 16, size | process << 42, block, old])
}

fn recorded(events: &[Option<Event>]) -> Recorded {
    let mut tape = Tape::default();
    events.iter().for_each(|event| tape.take(*event));
    tape.end(0)
}

fn text(recorded: &Recorded) -> String {
    let mut text = vec![];
    recorded.write(&[], &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn blocks_are_numbered_and_an_address_may_come_again() {
    let recorded = recorded(&[
        event(9, 70, [BEGUN, 0, 0, 0]),
        event(9, 70, [ALLOCATED | 4 << 8, 24, 0x10, 0]),
        event(9, 70, [FREED, 0, 0, 0x10]),
        event(9, 71, [ZEROED, 7, 0x10, 0]),
        event(9, 70, [FREED, 0, 0, 0x10]),
    ]);
    let lines = "# malloctrace 1\np\nt 0\nm 24 16\nf 0\nt 1\nz 7\nt 0\nf 1\n";
    assert_eq!((text(&recorded).as_str(), recorded.calls), (lines, 4));
    assert_eq!((recorded.programs(), recorded.missed.len()), (1, 0));
}

#[test]
fn a_block_that_is_resized_keeps_its_number_wherever_it_goes() {
    let recorded = recorded(&[
        event(9, 1, [BEGUN, 0, 0, 0]),
        event(9, 1, [ALLOCATED, 8, 0x10, 0]),
        event(9, 1, [RESIZING, 0, 0, 0x10]),
        // Another thread gets the old address before the first one's result.
        event(9, 2, [ALLOCATED, 9, 0x10, 0]),
        event(9, 1, [RESIZED, 100, 0x90, 0x10]),
        event(9, 1, [RESIZING, 0, 0, 0x90]),
        event(9, 1, [RESIZED, 1 << 41, 0, 0x90]),
        event(9, 1, [FREED, 0, 0, 0x90]),
        event(9, 2, [FREED, 0, 0, 0x10]),
    ]);
    let lines = "p\nt 0\nm 8\nt 1\nm 9\nt 0\nr 0 100\nf 0\nt 1\nf 1\n";
    assert!(text(&recorded).ends_with(lines), "{}", text(&recorded));
}

#[test]
fn a_child_has_its_own_blocks_and_leaves_its_parents_alone() {
    let recorded = recorded(&[
        event(9, 1, [BEGUN, 0, 0, 0]),
        event(9, 1, [ALLOCATED, 8, 0x10, 0]),
        event(10, 1, [FORKED, 0, 0, 9]),
        event(10, 1, [FREED, 0, 0, 0x10]),
        event(10, 1, [ALLOCATED, 5, 0x10, 0]),
        event(9, 1, [FREED, 0, 0, 0x10]),
        // The process runs another program.
        event(10, 1, [BEGUN, 0, 0, 0]),
        event(10, 1, [ALLOCATED, 6, 0x10, 0]),
    ]);
    let all = text(&recorded);
    assert!(
        all.contains("# 1 calls about blocks of a parent process are left out"),
        "{all}"
    );
    assert!(
        all.ends_with("p\nt 0\nm 8\nf 0\np\nt 0\nm 5\np\nt 0\nm 6\n"),
        "{all}"
    );
}

#[test]
fn what_was_not_finished_or_had_no_room_is_counted() {
    assert_eq!(Event::of([0, 5, 6, 7]), None);
    let mut tape = Tape::default();
    tape.take(None);
    let missed = tape.end(3).missed;
    assert!(
        missed[0].starts_with("3 calls came after the log was full"),
        "{missed:?}"
    );
    assert!(
        missed[1].starts_with("1 calls were incomplete"),
        "{missed:?}"
    );
}

/// A run of pages as an event's word.
fn pages(first: u64, count: u64) -> u64 {
    first << 32 | count
}

#[test]
fn touched_pages_stand_behind_the_call_that_made_their_block() {
    let recorded = recorded(&[
        event(9, 1, [BEGUN, 0, 0, 0]),
        event(9, 1, [ZEROED, 80_000, 0x10, 0]),
        event(9, 1, [ALLOCATED, 90_000, 0x90, 0]),
        event(9, 1, [ALLOCATED, 8, 0x50, 0]),
        // A later report replaces this one, and belongs to the block as it is now.
        event(9, 1, [TOUCHED, 0, 0x10, pages(0, 2)]),
        event(9, 1, [TOUCHED, 0, 0x10, pages(0, 3)]),
        event(9, 1, [TOUCHED, 1, 0x10, pages(7, 4)]),
        event(9, 1, [RESIZING, 0, 0, 0x10]),
        event(9, 1, [RESIZED, 40_000, 0x10, 0x10]),
        event(9, 1, [TOUCHED, 0, 0x10, pages(0, 0)]),
        event(9, 1, [FREED, 0, 0, 0x10]),
        // No block of this process.
        event(9, 1, [TOUCHED, 0, 0x777, pages(0, 1)]),
    ]);
    let lines = "p\nt 0\nz 80000\nw 0 3\nw 7 4\nm 90000\nm 8\nr 0 40000\nw 0 0\nf 0\n";
    assert!(text(&recorded).ends_with(lines), "{}", text(&recorded));
    assert_eq!(recorded.calls, 5);
}

/// A thread that ends its process may look at a block while another one frees it.
#[test]
fn touched_pages_beyond_a_blocks_end_are_left_out() {
    let recorded = recorded(&[
        event(9, 1, [BEGUN, 0, 0, 0]),
        event(9, 2, [ALLOCATED, 40_000, 0x10, 0]),
        event(9, 1, [TOUCHED, 0, 0x10, pages(0, 12)]),
        event(9, 1, [TOUCHED, 1, 0x10, pages(14, 2)]),
    ]);
    let lines = "p\nt 0\nm 40000\nw 0 10\nw 10 0\n";
    assert!(text(&recorded).ends_with(lines), "{}", text(&recorded));
}

#[test]
fn a_sample_has_its_time_and_a_child_its_parents_allocator() {
    let recorded = recorded(&[
        event(9, 1, [BEGUN, 0, 0, 0]),
        event(9, 1, [SERVED, 0, 5, 6]),
        event(9, 1, [ALLOCATED, 8, 0x10, 0]),
        event(9, 1, [SAMPLED, 4096, 30, 1000]),
        event(9, 1, [SAMPLED, 8192, 40, 1500]),
        event(10, 1, [FORKED, 0, 0, 9]),
        event(10, 1, [ALLOCATED, 8, 0x10, 0]),
        event(9, 1, [BEGUN, 0, 0, 0]),
        event(9, 1, [ALLOCATED, 8, 0x10, 0]),
    ]);
    let lines = "p\nt 0\nm 8\no 4096 0 30\no 8192 500 40\np\nt 0\nm 8\np\nt 0\nm 8\n";
    assert!(text(&recorded).ends_with(lines), "{}", text(&recorded));
    assert_eq!(recorded.allocators, [Some([6, 5]), Some([6, 5]), None]);
}
