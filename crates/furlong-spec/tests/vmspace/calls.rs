//! Single calls whose answers random operations do not reach, or do not look at.

use std::panic::{AssertUnwindSafe, catch_unwind};

use furlong::addr::{Address, VirtAddr};
use furlong::check::Check;
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong::vmspace::{
    Advice, AdviseError, At, Config, Custom, Errno, Flags, ForkError, Freed, Hold, Layout,
    MapError, Maple, Prot, ProtectError, Rbtree, Remap, RemapError, RemapFlags, Request, Shared,
    Space, Unmapped, linux,
};
use furlong_spec::heap::{failing, held_by};

const PAGE: u64 = 0x1000;
const BOTH: Prot = Prot::READ.or(Prot::WRITE);

/// An address in the middle of nowhere, and so many pages on.
fn page(number: u64) -> VirtAddr {
    VirtAddr::new(0x4000_0000 + number * PAGE)
}

fn space<C: Config<Index<u32>: Default>>(layout: Layout) -> Space<u32, C> {
    Space::with_config(layout).expect("a layout")
}

fn map<C: Config, H: Hold>(
    space: &mut Space<u32, C, H>,
    first: u64,
    pages: u64,
    (prot, flags, value): (Prot, Flags, u32),
) {
    let request = Request::anonymous(pages * PAGE, prot, value).flags(flags);
    let mapped = space.map(request.at(At::Fixed(page(first))), drop);
    assert_eq!(mapped, Ok(page(first)));
}

/// The values that a call hands back as those of merged areas.
fn merged(freed: Freed<u32>) -> Option<u32> {
    match freed {
        Freed::Merged(value) => Some(value),
        Freed::Unmapped(_) => None,
    }
}

fn hands_back_what_is_merged<C: Config<Index<u32>: Default>>() {
    let mut space = space::<C>(Layout::LINUX_X86_64);
    map(&mut space, 0, 2, (BOTH, Flags::NONE, 7));
    let mut back = vec![];
    let request = Request::anonymous(PAGE, BOTH, 7).at(At::Fixed(page(2)));
    let mapped = space.map(request, |freed| back.extend(merged(freed)));
    assert_eq!((mapped, &back[..]), (Ok(page(2)), &[7][..]));
    assert_eq!(space.len(), 1);

    let heap = page(100);
    space.start_brk(heap);
    for (end, gives) in [(page(101), &[][..]), (page(103), &[7]), (page(102), &[7])] {
        back.clear();
        let moved = space.set_brk(end, 7, |freed| back.extend(merged(freed)));
        assert_eq!((moved, &back[..]), (Ok(()), gives), "{end:?}");
    }
    space.check().expect("nothing is broken");
}

#[test]
fn the_value_of_what_is_merged_comes_back() {
    hands_back_what_is_merged::<Custom<Rbtree>>();
    hands_back_what_is_merged::<Custom<Maple>>();
}

fn counts_areas_during_a_change<C: Config<Index<u32>: Default>>() {
    for (areas_max, allowed) in [(3, false), (4, true)] {
        let layout = Layout {
            areas_max,
            ..Layout::LINUX_X86_64
        };
        let mut space = space::<C>(layout);
        map(&mut space, 0, 10, (BOTH, Flags::NONE, 0));
        map(&mut space, 10, 10, (Prot::READ, Flags::NONE, 0));
        map(&mut space, 20, 10, (BOTH, Flags::SHARED, 0));
        // A piece of the first area goes to the second one, which leaves their number as it is. A
        // piece of the third one is a new area.
        let changed = space.protect(page(5), 20 * PAGE, Prot::READ, drop);
        let expected = if allowed {
            Ok(())
        } else {
            Err(ProtectError::TooManyAreas)
        };
        assert_eq!(changed, expected);
        assert_eq!(space.len(), areas_max);
    }
}

#[test]
fn a_piece_that_moves_to_a_neighbour_makes_no_room_for_another_area() {
    counts_areas_during_a_change::<Custom<Rbtree>>();
    counts_areas_during_a_change::<Custom<Maple>>();
}

fn recounts_after_a_panic<C: Config<Index<u32>: Default>>() {
    let mut space = space::<C>(Layout::LINUX_X86_64);
    map(&mut space, 0, 4, (BOTH, Flags::NONE, 0));
    map(&mut space, 8, 4, (BOTH, Flags::NONE, 0));
    let withheld = space.advise(page(0), 4 * PAGE, Advice::DontFork, drop);
    assert_eq!(withheld, Ok(()));
    let panics = AssertUnwindSafe(|| space.unmap(page(9), PAGE, |_| panic!("planted")));
    assert!(catch_unwind(panics).is_err());
    space.check().expect("everything was counted once");
}

#[test]
fn what_a_fork_does_not_copy_is_counted_once_after_a_panic() {
    recounts_after_a_panic::<Custom<Rbtree>>();
    recounts_after_a_panic::<Custom<Maple>>();
}

fn toggles_without_a_merge_on_the_way<C: Config<Index<u32>: Default>>() {
    const TOGGLED: Flags = Flags::from_bits(1 << 8);
    let toggle = |flags: Flags| Flags::from_bits(flags.bits() ^ TOGGLED.bits());
    for areas_max in [2, 3] {
        let layout = Layout {
            areas_max,
            ..Layout::LINUX_X86_64
        };
        let mut space = space::<C>(layout);
        map(&mut space, 0, 4, (BOTH, Flags::NONE, 7));
        map(&mut space, 4, 6, (BOTH, TOGGLED, 7));
        // The first area becomes what the second one is now, and will not be.
        let updated = space.update(page(0), 6 * PAGE, toggle, drop);
        assert_eq!(updated.is_ok(), areas_max == 3, "{updated:?}");
        assert!(space.len() <= areas_max);
        if updated.is_ok() {
            let flags = space.areas().map(|area| area.flags.contains(TOGGLED));
            assert_eq!(flags.collect::<Vec<_>>(), [true, false, true]);
        }
        space.check().unwrap();
    }
}

#[test]
fn flags_that_are_toggled_make_no_more_areas_than_there_may_be() {
    toggles_without_a_merge_on_the_way::<Custom<Rbtree>>();
    toggles_without_a_merge_on_the_way::<Custom<Maple>>();
}

#[test]
fn as_many_pages_move_although_there_are_more_than_there_may_be() {
    let mut space = space::<furlong::vmspace::Standard>(Layout::LINUX_X86_64);
    map(&mut space, 0, 4, (BOTH, Flags::NONE, 7));
    let mut state = space.save().unwrap();
    state.layout.pages_max = 2;
    let mut space = Space::<u32>::restore(&state).unwrap();
    let to = |new_len| Remap {
        start: page(0),
        old_len: 4 * PAGE,
        new_len,
        flags: RemapFlags::MAY_MOVE | RemapFlags::FIXED,
        new_start: page(100),
    };
    let longer = space.remap(&to(5 * PAGE), drop);
    assert_eq!(longer, Err(RemapError::TooManyPages));
    assert_eq!(space.remap(&to(4 * PAGE), drop), Ok(page(100)));
}

#[test]
fn a_hint_within_the_first_page_is_none_and_another_is_raised() {
    let at = |at: At| {
        let mut space = space::<Custom<Maple>>(Layout::LINUX_X86_64);
        space.map(Request::anonymous(PAGE, BOTH, 0).at(at), drop)
    };
    let anywhere = at(At::Anywhere);
    for hint in [0, 1, PAGE - 1] {
        assert_eq!(at(At::Hint(VirtAddr::new(hint))), anywhere);
    }
    let lowest = Layout::LINUX_X86_64.low;
    assert_eq!(at(At::Hint(VirtAddr::new(PAGE))), Ok(lowest));
}

#[test]
#[should_panic(expected = "a child has nothing before")]
fn a_child_that_has_areas_already_is_refused() {
    let parent = space::<Custom<Maple>>(Layout::LINUX_X86_64);
    let mut child = space::<Custom<Maple>>(Layout::LINUX_X86_64);
    map(&mut child, 0, 1, (BOTH, Flags::NONE, 0));
    let _ = child.copy_from(&parent, |area| Ok::<_, ()>(*area.value));
}

#[test]
#[should_panic(expected = "a child has its parent's page size")]
fn a_child_with_pages_of_another_size_is_refused() {
    let parent = space::<Custom<Maple>>(Layout::LINUX_X86_64);
    let layout = Layout {
        page: PAGE / 2,
        ..Layout::LINUX_X86_64
    };
    let mut child = space::<Custom<Maple>>(layout);
    let _ = child.copy_from(&parent, |area| Ok::<_, ()>(*area.value));
}

#[test]
fn records_that_a_fork_left_empty_are_used_again() {
    let mut parent = space::<Custom<Maple>>(Layout::LINUX_X86_64);
    for number in 0..8 {
        map(&mut parent, 2 * number, 1, (BOTH, Flags::NONE, 0));
    }
    for number in 1..6 {
        let withheld = parent.advise(page(2 * number), PAGE, Advice::DontFork, drop);
        assert_eq!(withheld, Ok(()));
    }
    let mut child = parent
        .fork(|area| Ok::<_, ()>(*area.value))
        .expect("memory");
    assert_eq!(child.len(), 3);
    let bytes = child.index().record_bytes();
    for number in 1..6 {
        map(&mut child, 2 * number, 1, (BOTH, Flags::NONE, 0));
    }
    assert_eq!((child.len(), child.index().record_bytes()), (8, bytes));
}

/// An end of an area is cut off without another area: no memory is needed, and none is asked for.
#[test]
fn cutting_an_end_off_an_area_needs_no_memory() {
    for (first, keeps) in [(0, 1), (3, 0)] {
        let mut space = space::<Custom<Rbtree>>(Layout::LINUX_X86_64);
        // For fewer, the array would have room for one more.
        for number in 0..5 {
            map(&mut space, 8 * number, 4, (BOTH, Flags::NONE, 0));
        }
        let mut space = space.fork(|area| Ok::<_, ()>(*area.value)).expect("memory");
        let (cut, _) = failing(0..u64::MAX, || space.unmap(page(first), PAGE, drop));
        assert_eq!(cut, Ok(()));
        assert_eq!(space.areas().next().unwrap().extent.start(), page(keeps));
        let (cut, _) = failing(0..u64::MAX, || space.unmap(page(keeps + 1), PAGE, drop));
        assert_eq!(cut.unwrap_err().errno(), Errno::Enomem, "in the middle");
    }
}

#[test]
fn a_space_with_readers_tells_its_records_and_keeps_what_a_fork_had_copied() {
    let domain = Domain::new();
    let shared = || Shared::<u32, _, _>::new(Layout::LINUX_X86_64, &domain, SpinLock::new());
    let (parent, child) = (shared().unwrap(), shared().unwrap());
    let mut parent = parent.lock();
    assert_eq!(parent.index().record_bytes(), 0);
    for number in 0..4 {
        map(
            &mut parent,
            2 * number,
            1,
            (BOTH, Flags::NONE, number as u32),
        );
    }
    let bytes = parent.index().record_bytes();
    assert!(bytes >= 4 * size_of::<Unmapped<u32>>() / 2, "{bytes}");
    map(&mut parent, 8, 1, (BOTH, Flags::NONE, 4));
    assert_eq!(parent.index().record_bytes(), bytes / 4 * 5);

    let mut child = child.lock();
    let refused = child.copy_from(&parent, |area| match *area.value {
        3 => Err("enough"),
        value => Ok(value),
    });
    assert_eq!(refused, Err(ForkError::Refused("enough")));
    let values: Vec<u32> = child.areas().map(|area| *area.value).collect();
    assert_eq!(values, [0, 1, 2]);
}

#[test]
fn the_sharing_of_a_linux_call_decides_what_its_offset_means() {
    use linux::{MAP_ANONYMOUS, MAP_DROPPABLE, MAP_PRIVATE, MAP_SHARED, MAP_SHARED_VALIDATE, Mmap};
    const OFFSET: u64 = 0x2000;
    const UNKNOWN: u64 = 0x20_0000;
    const LOCKED: u64 = 0x2000;
    const HUGE: u64 = 0x4_0000;
    let dropped = Flags::DROPPABLE;
    let kind = Some(MapError::Kind);
    for (flags, sharing, offset, refusal) in [
        (MAP_PRIVATE | MAP_ANONYMOUS, Flags::NONE, None, None),
        (MAP_SHARED | MAP_ANONYMOUS, Flags::SHARED, Some(0), None),
        (MAP_PRIVATE, Flags::NONE, Some(OFFSET), None),
        (MAP_SHARED, Flags::SHARED, Some(OFFSET), None),
        (MAP_SHARED | UNKNOWN, Flags::SHARED, Some(OFFSET), None),
        (MAP_SHARED_VALIDATE, Flags::SHARED, Some(OFFSET), None),
        (
            MAP_SHARED_VALIDATE | UNKNOWN,
            Flags::SHARED,
            Some(OFFSET),
            Some(MapError::Unsupported),
        ),
        (MAP_SHARED_VALIDATE | MAP_ANONYMOUS, Flags::NONE, None, kind),
        (MAP_ANONYMOUS, Flags::NONE, None, kind),
        (4, Flags::NONE, Some(OFFSET), kind),
        (MAP_DROPPABLE | MAP_ANONYMOUS, dropped, None, None),
        (MAP_DROPPABLE | MAP_ANONYMOUS | LOCKED, dropped, None, kind),
        (MAP_DROPPABLE | MAP_ANONYMOUS | HUGE, dropped, None, kind),
        (MAP_DROPPABLE, Flags::NONE, Some(OFFSET), kind),
    ] {
        let call = Mmap {
            address: 0,
            len: PAGE,
            prot: 3,
            flags,
            offset: OFFSET,
        };
        let request = call.request(0_u32);
        let made = (request.flags, request.offset, request.refusal);
        assert_eq!(made, (sharing, offset, refusal), "{flags:#x}");
        // An offset that is not at a page is refused, also where none is needed.
        let call = Mmap { offset: 1, ..call };
        let mut space = Space::<u32>::new(Layout::LINUX_X86_64).expect("the layout makes sense");
        let refused = space.map(call.request(0_u32), drop).unwrap_err();
        assert_eq!(refused.cause, MapError::Offset, "{flags:#x}");
    }
}

#[test]
fn the_flags_that_may_stand_beside_a_validated_sharing_are_linuxs() {
    use linux::{MAP_SHARED_VALIDATE, Mmap};
    // Of each bit from 2^5 on: true if it existed before unknown ones were refused.
    let known = [
        5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18, 26, 27, 28, 29, 30,
    ];
    for bit in 5..64 {
        let flags = MAP_SHARED_VALIDATE | 1 << bit;
        let (address, len, prot, offset) = (0, PAGE, 1, 0);
        let call = Mmap {
            address,
            len,
            prot,
            flags,
            offset,
        };
        let is_refused = call.request(0_u32).refusal == Some(MapError::Unsupported);
        // Anonymous memory is of another kind.
        let expected = bit != 5 && !known.contains(&bit);
        assert_eq!(is_refused, expected, "{bit}");
    }
}

#[test]
fn a_mapping_ignores_bits_of_its_protection_that_have_no_meaning() {
    use linux::{MAP_ANONYMOUS, MAP_PRIVATE, Mmap};
    for (bits, prot) in [
        (1 << 32, Prot::NONE),
        (1 << 32 | 1, Prot::READ),
        (u64::MAX, Prot::ALL),
        (0x18 | 4, Prot::EXEC),
    ] {
        let call = Mmap {
            address: 0,
            len: PAGE,
            prot: bits,
            flags: MAP_PRIVATE | MAP_ANONYMOUS,
            offset: 0,
        };
        assert_eq!(call.request(0_u32).prot, prot, "{bits:#x}");
    }
}

#[test]
fn error_numbers_have_their_names() {
    for errno in Errno::ALL {
        assert_eq!(errno.name(), format!("{errno:?}").to_uppercase());
        assert_eq!(errno.to_string(), errno.name());
    }
}

#[test]
fn memory_that_may_be_dropped_stays_wiped_and_apart() {
    let mut space = space::<furlong::vmspace::Standard>(Layout::LINUX_X86_64);
    let dropped = Flags::DROPPABLE | Flags::WIPE_ON_FORK;
    map(&mut space, 0, 1, (BOTH, dropped, 7));
    map(&mut space, 1, 1, (BOTH, Flags::WIPE_ON_FORK, 7));
    assert_eq!(space.len(), 2);
    let kept = space.advise(page(0), PAGE, Advice::KeepOnFork, drop);
    assert_eq!(kept, Err(AdviseError::Kind));
    for advice in [Advice::WipeOnFork, Advice::DontFork, Advice::DoFork] {
        assert_eq!(space.advise(page(0), PAGE, advice, drop), Ok(()));
    }
    let grows = Request::anonymous(PAGE, BOTH, 7).flags(dropped | Flags::GROWS_DOWN);
    assert_eq!(space.map(grows, drop).unwrap_err().cause, MapError::Growing);
}

/// Of several causes Linux names the place before the object's end, and the object's permission
/// before growth.
#[test]
fn of_several_causes_the_first_in_linuxs_order_is_named() {
    let mut space = space::<furlong::vmspace::Standard>(Layout::LINUX_X86_64);
    map(&mut space, 0, 1, (BOTH, Flags::NONE, 7));
    let beyond = Request::object(2 * PAGE, BOTH, u64::MAX - PAGE + 1, 7);
    let kind = Some(MapError::Kind);
    let low = At::Fixed(VirtAddr::new(PAGE));
    let grows = Request::object(PAGE, BOTH, 0, 7).flags(Flags::GROWS_DOWN);
    let denied = grows.clone().may(Prot::READ);
    let refused = |request: &Request<u32>, refusal| Request {
        refusal,
        ..request.clone()
    };
    for (request, cause) in [
        (beyond.clone().at(At::Vacant(page(0))), MapError::Occupied),
        (beyond.clone().at(low), MapError::BelowLow),
        (refused(&beyond, kind), MapError::OffsetOverflow),
        (refused(&denied, kind), MapError::Kind),
        (denied.clone(), MapError::Access),
        (refused(&denied, Some(MapError::NoExec)), MapError::Access),
        (
            refused(&grows, Some(MapError::NoDevice)),
            MapError::NoDevice,
        ),
        (grows, MapError::Growing),
    ] {
        let said = space.map(request.clone(), drop).unwrap_err().cause;
        assert_eq!(said, cause, "{request:?}");
    }
}

#[test]
fn a_move_that_keeps_the_old_place_does_not_raise_its_hint() {
    let mut space = space::<furlong::vmspace::Standard>(Layout::LINUX_X86_64);
    map(&mut space, 0, 2, (BOTH, Flags::NONE, 7));
    let mut moved = |new_start| {
        let remap = Remap {
            start: page(0),
            old_len: PAGE,
            new_len: PAGE,
            flags: RemapFlags::MAY_MOVE | RemapFlags::DONT_UNMAP,
            new_start: VirtAddr::new(new_start),
        };
        space.remap(&remap, drop)
    };
    let least = Layout::LINUX_X86_64.low.raw();
    assert_eq!(moved(least - PAGE), Err(RemapError::BelowLow));
    assert_eq!(moved(least), Ok(VirtAddr::new(least)));
    assert!(moved(0).is_ok_and(|start| start > page(0)));
}

#[test]
fn what_was_prepared_is_freed_when_it_is_trimmed() {
    let mut space = space::<furlong::vmspace::Standard>(Layout::LINUX_X86_64);
    map(&mut space, 0, 1, (BOTH, Flags::NONE, 7));
    // The first time, other memory may be obtained for good.
    for is_first in [true, false] {
        let (_, more) = held_by(|| space.prepare(1000).expect("there is memory"));
        let (_, less) = held_by(|| space.trim());
        assert!(is_first || more > 0 && more + less == 0, "{more} {less}");
    }
    assert_eq!(space.check(), Ok(()));

    let domain = Domain::new();
    let shared = Shared::<u32, _, _>::new(Layout::LINUX_X86_64, &domain, SpinLock::new()).unwrap();
    map(&mut shared.lock(), 0, 1, (BOTH, Flags::NONE, 7));
    for is_first in [true, false] {
        let (locked, more) = held_by(|| shared.lock_prepared(1000).expect("there is memory"));
        let (_, less) = held_by(|| {
            let mut locked = locked;
            locked.trim();
        });
        assert!(is_first || more > 0 && more + less == 0, "{more} {less}");
    }
    map(&mut shared.lock(), 1, 1, (BOTH, Flags::SHARED, 7));
    assert_eq!(shared.lock().check(), Ok(()));
}
