//! States that no space has saved. Each mistake has its error, and an accepted state is consistent.
#![forbid(unsafe_code)]

use furlong::check::Check;
use furlong::vmspace::{
    At, Custom, Flags, Layout, LayoutError, Maple, Prot, Rbtree, Request, RestoreError, Space,
    State,
};
use furlong_spec::Random;
use furlong_spec::vmspace::{Mix, WORLDS, operations};
use serde_json::Value;

use super::apply;

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
    assert_eq!(refused(|state| state.version = 2), Version(2));
    assert_eq!(
        refused(|state| state.layout.page = 3000),
        Layout(LayoutError::Page)
    );
    assert_eq!(
        refused(|state| state.layout.last -= 1),
        Layout(LayoutError::Ragged)
    );
    assert_eq!(
        refused(|state| state.layout.top = u64::MAX),
        Layout(LayoutError::Ragged)
    );
    assert_eq!(refused(|state| state.heap.0 += 1), Heap);
    assert_eq!(refused(|state| state.areas[0].start += 1), Ragged(0));
    assert_eq!(refused(|state| state.areas[1].last += 1), Ragged(1));
    assert_eq!(refused(|state| state.areas[0].start += 8 * PAGE), Ragged(0));
    assert_eq!(refused(|state| state.areas[0].start = PAGE), Outside(0));
    assert_eq!(refused(|state| state.areas[1].last = u64::MAX), Outside(1));
    assert_eq!(refused(|state| state.areas.swap(0, 1)), OutOfOrder(1));
    let doubled = |state: &mut State<u32>| state.areas[1] = state.areas[0];
    assert_eq!(refused(doubled), OutOfOrder(1));
    assert_eq!(refused(|state| state.areas[0].prot = 3), Prot(0));
    assert_eq!(refused(|state| state.areas[0].may = 9), Prot(0));
    assert_eq!(refused(|state| state.areas[0].flags |= 0x80), Flags(0));
    assert_eq!(refused(|state| state.areas[1].flags |= 1), Flags(1));
    assert_eq!(refused(|state| state.areas[1].flags |= 32), Flags(1));
    let late = |state: &mut State<u32>| state.areas[0].origin = (1 << 52) - 0x400 - 3;
    assert_eq!(refused(late), Offset(0));
    if usize::try_from(u64::MAX).is_err() {
        let many = |state: &mut State<u32>| state.layout.areas_max = u64::MAX;
        assert_eq!(refused(many), AreasMax(u64::MAX));
    }
}

/// All numbers in a value.
fn numbers(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Number(_) => vec![value],
        Value::Array(values) => values.iter_mut().flat_map(numbers).collect(),
        Value::Object(fields) => fields
            .iter_mut()
            .flat_map(|(_, value)| numbers(value))
            .collect(),
        _ => vec![],
    }
}

/// Replaces a number by another one.
fn spoil(random: &mut Random, value: &mut Value) {
    let mut numbers = numbers(value);
    let at = random.index(numbers.len());
    let old = numbers[at].as_u64().unwrap_or(0);
    let new = match random.below(8) {
        0 => 0,
        1 => u64::MAX,
        2 => old.wrapping_add(1),
        3 => old.wrapping_sub(1),
        4 => old ^ 1 << random.below(64),
        5 => old.wrapping_add(PAGE),
        6 => old.wrapping_sub(PAGE),
        _ => random.next(),
    };
    *numbers[at] = new.into();
}

#[test]
fn whatever_is_restored_of_a_spoiled_state_is_sound() {
    let mut random = Random::new(5);
    let (mut restored, mut refused) = (0, 0);
    for (seed, world) in (0..60).flat_map(|seed| WORLDS.map(|world| (seed, world))) {
        let mut space = Space::<u32>::with_config(world.layout()).expect("a layout");
        for operation in operations(world, Mix::Growing, 60, seed) {
            apply(&mut space, &operation);
        }
        let state = space.save().expect("there is memory");
        let mut value = serde_json::to_value(state).expect("numbers can be written");
        for _ in 0..=random.below(2) {
            spoil(&mut random, &mut value);
        }
        let Ok(state) = serde_json::from_value::<State<u32>>(value) else {
            refused += 1;
            continue;
        };
        let tree = Space::<u32, Custom<Rbtree>>::restore(&state);
        let ranges = Space::<u32, Custom<Maple>>::restore(&state);
        let (Ok(mut tree), Ok(mut ranges)) = (tree, ranges) else {
            refused += 1;
            continue;
        };
        restored += 1;
        for operation in operations(world, Mix::Steady, 40, seed + 1000) {
            let (one, other) = (apply(&mut tree, &operation), apply(&mut ranges, &operation));
            assert_eq!(one, other, "{operation:?}, {state:?}");
            tree.check()
                .unwrap_or_else(|broken| panic!("{broken}: {state:?}"));
            ranges
                .check()
                .unwrap_or_else(|broken| panic!("{broken}: {state:?}"));
        }
    }
    assert!(
        restored > 50 && refused > 50,
        "{restored} restored, {refused} refused"
    );
}
