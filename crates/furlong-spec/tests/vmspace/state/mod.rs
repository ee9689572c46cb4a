//! A restored space behaves as the one that was saved, and no corrupted state makes a space with a
//! broken invariant.

mod spoiled;

use furlong::check::Check;
use furlong::maple::{self, Fan, Heap};
use furlong::vmspace::{Config, Custom, Maple, Rbtree, Space, State};
use furlong_spec::vmspace::{Mix, Operation, WORLDS, operations};

use crate::memory;

type Tiny = maple::Custom<Fan<3, 3, 32>, Heap>;

/// Carries out an operation. Describes its outcome and the space after it.
fn apply<C: Config>(space: &mut Space<u32, C>, operation: &Operation) -> String {
    let mut freed = Vec::new();
    let done = memory::apply(space, operation, &mut |piece| freed.push(piece));
    let areas: Vec<_> = space.areas().collect();
    format!(
        "{done:?} {freed:?} {areas:?} {:?} {}",
        space.usage(),
        space.brk()
    )
}

/// Converts a state to text and back.
fn through_text(state: &State<u32>) -> State<u32> {
    let text = serde_json::to_string(state).expect("numbers can be written");
    serde_json::from_str(&text).expect("what was written can be read")
}

fn goes_on<C: Config<Index<u32>: Default>>() {
    let mut compared = 0;
    for (seed, world) in (0..4).flat_map(|seed| WORLDS.map(|world| (seed, world))) {
        let mut old = Space::<u32, C>::with_config(world.layout()).expect("a layout");
        for operation in operations(world, Mix::Growing, 120, seed) {
            apply(&mut old, &operation);
        }
        let state = old.save().expect("there is memory");
        let mut new = Space::<u32, C>::restore(&through_text(&state)).expect("it was saved");
        new.check().expect("it is whole");
        assert_eq!(new.save().as_ref(), Ok(&state));
        assert_eq!((new.usage(), new.layout()), (old.usage(), old.layout()));
        for operation in operations(world, Mix::Steady, 200, seed + 100) {
            let (one, other) = (apply(&mut old, &operation), apply(&mut new, &operation));
            assert_eq!(one, other, "{operation:?} in {world:?}, seed {seed}");
            compared += usize::from(!state.areas.is_empty());
        }
        assert_eq!(new.save(), old.save());
    }
    assert!(compared > 4000, "{compared} answers compared");
}

#[test]
fn a_space_that_was_restored_goes_on_as_the_one_that_was_saved() {
    goes_on::<Custom<Rbtree>>();
    goes_on::<Custom<Maple>>();
    goes_on::<Custom<Maple<Tiny>>>();
}

#[test]
fn what_one_index_has_saved_another_one_restores() {
    for world in WORLDS {
        let mut old = Space::<u32, Custom<Rbtree>>::with_config(world.layout()).expect("a layout");
        for operation in operations(world, Mix::Growing, 200, 7) {
            apply(&mut old, &operation);
        }
        let state = old.save().expect("there is memory");
        let new = Space::<u32, Custom<Maple<Tiny>>>::restore(&state).expect("it was saved");
        new.check().expect("it is whole");
        assert_eq!(new.save(), Ok(state));
    }
}
