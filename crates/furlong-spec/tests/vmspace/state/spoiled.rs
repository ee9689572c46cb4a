//! States that no space has saved. Each mistake has its error, and an accepted state is consistent.

use furlong::check::Check;
use furlong::vmspace::{
    At, Custom, Flags, Layout, LayoutError, Maple, Prot, Rbtree, Request, RestoreError, Space,
    State,
};
use furlong_spec::vmspace::{Mix, WORLDS, World, operations};

use super::apply;
use crate::spoiled::judged;

const PAGE: u64 = 4096;

/// A space with an object, a stack above it, and a heap.
fn good() -> State<u32> {
    let mut space: Space<u32> = Space::new(Layout::LINUX_X86_64).expect("a layout");
    let at = |address: u64| At::Fixed(furlong::addr::VirtAddr::new(address));
    let text = Request::object(4 * PAGE, Prot::READ, 0, 7).may(Prot::READ);
    space
        .map(text.at(at(0x40_0000)), drop)
        .expect("there is room");
    let stack = Request::anonymous(4 * PAGE, Prot::READ, 0).flags(Flags::GROWS_DOWN);
    space
        .map(stack.at(at(0x7000_0000)), drop)
        .expect("there is room");
    space.start_brk(furlong::addr::VirtAddr::new(0x50_0000));
    space.save().expect("there is memory")
}

fn refused(spoil: impl Fn(&mut State<u32>)) -> RestoreError {
    let mut state = good();
    Space::<u32>::restore(&state).expect("it is good");
    spoil(&mut state);
    let refused = Space::<u32>::restore(&state).expect_err("it was spoiled");
    let same = Space::<u32, Custom<Maple>>::restore(&state).err();
    assert_eq!(same, Some(refused), "both indexes agree");
    assert!(!refused.to_string().contains('\n'));
    refused
}

#[test]
fn every_mistake_is_refused_by_its_name() {
    use RestoreError::{
        AreasMax, Flags, Heap, Layout, Offset, OutOfOrder, Outside, Prot, Ragged, Version,
    };
    let is = |error, harm: &dyn Fn(&mut State<u32>)| assert_eq!(refused(harm), error);
    is(Version(2), &|state| state.version = 2);
    let [page, ragged] = [LayoutError::Page, LayoutError::Ragged].map(Layout);
    is(page, &|state| state.layout.page = 3000);
    is(ragged, &|state| state.layout.last -= 1);
    is(ragged, &|state| state.layout.top = u64::MAX);
    is(Heap, &|state| state.heap.0 += 1);
    is(Ragged(0), &|state| state.areas[0].start += 1);
    is(Ragged(1), &|state| state.areas[1].last += 1);
    is(Ragged(0), &|state| state.areas[0].start += 8 * PAGE);
    is(Outside(0), &|state| state.areas[0].start = PAGE);
    is(Outside(1), &|state| state.areas[1].last = u64::MAX);
    is(OutOfOrder(1), &|state| state.areas.swap(0, 1));
    is(OutOfOrder(1), &|state| state.areas[1] = state.areas[0]);
    is(Prot(0), &|state| state.areas[0].prot = 3);
    is(Prot(0), &|state| state.areas[0].may = 9);
    is(Flags(0), &|state| state.areas[0].flags |= 0x80);
    is(Flags(1), &|state| state.areas[1].flags |= 1);
    is(Flags(1), &|state| state.areas[1].flags |= 32);
    let late = (1 << 52) - 0x400 - 3;
    is(Offset(0), &|state| state.areas[0].origin = late);
    if usize::try_from(u64::MAX).is_err() {
        let many = AreasMax(u64::MAX);
        is(many, &|state| state.layout.areas_max = u64::MAX);
    }
}

#[test]
fn whatever_is_restored_of_a_spoiled_state_is_sound() {
    let worlds = (0..60).flat_map(|seed| WORLDS.map(|world| (seed, world)));
    let saved = |(seed, world): (u64, World)| {
        let mut space = Space::<u32>::with_config(world.layout()).expect("a layout");
        for operation in operations(world, Mix::Growing, 60, seed) {
            apply(&mut space, &operation);
        }
        space.save().expect("there is memory")
    };
    let (worlds, goods): (Vec<_>, Vec<_>) = worlds.map(|it| (it, saved(it))).unzip();
    let judge = |state: &State<u32>, case: usize| {
        let (seed, world) = worlds[case % worlds.len()];
        let tree = Space::<u32, Custom<Rbtree>>::restore(state);
        let ranges = Space::<u32, Custom<Maple>>::restore(state);
        let (Ok(mut tree), Ok(mut ranges)) = (tree, ranges) else {
            return false;
        };
        for operation in operations(world, Mix::Steady, 40, seed + 1000) {
            let (one, other) = (apply(&mut tree, &operation), apply(&mut ranges, &operation));
            assert_eq!(one, other, "{operation:?}, {state:?}");
            tree.check()
                .unwrap_or_else(|broken| panic!("{broken}: {state:?}"));
            ranges
                .check()
                .unwrap_or_else(|broken| panic!("{broken}: {state:?}"));
        }
        true
    };
    for step in [Some(PAGE), None] {
        let counts = judged(&goods, step, goods.len(), 5, judge);
        let is_enough = counts.iter().all(|count| *count > 20);
        assert!(is_enough, "{counts:?} of each sort");
    }
}
